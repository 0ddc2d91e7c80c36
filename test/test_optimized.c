/* test_optimized.c: random small graphs compute the same, rewritten or not: level NONE against
 * BASIC, EXTENDED and ALL, on every instruction set, bound ahead or step by step, also when values
 * inside are asked for; with each pass alone; and written to a file by onx_model_optimize. All for
 * two sizes of the dimension that is open. */
#include "test.h"

#include "kernel.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_VALUES = 40, MAX_OUTS = 4, GRAPHS = 100 }; /* $ONX_GRAPHS: as many of each kind */

/* A graph that grows: values to choose from, all of one shape. */
typedef struct garden {
    test_random random;
    onx_graph *graph;
    onx_value *values[MAX_VALUES];
    size_t n;
    size_t rank;
    int64_t dims[4];
} garden;

static onx_value *pick(garden *g) {
    size_t recent = g->n < 6 ? g->n : 6; /* mostly long chains */
    bool any = test_random_below(&g->random, 4) == 0;
    return g->values[any ? test_random_below(&g->random, g->n)
                         : g->n - 1 - test_random_below(&g->random, recent)];
}

static float number(garden *g) {
    static const float special[] = {0, 1, 0.5f, -1, 2, 6, 0.70710678f, 1.41421354f};
    if (test_random_below(&g->random, 3) == 0) return special[test_random_below(&g->random, 8)];
    return (float)test_random_below(&g->random, 2001) / 1000 - 1;
}

static onx_value *constant(garden *g, size_t rank, const int64_t *dims, float scale) {
    float data[2048];
    size_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
    if (n > 2048) abort();
    for (size_t i = 0; i < n; i++) data[i] = number(g) * scale;
    const char *name = onx_graph_new_name(g->graph, "k");
    return onx_graph_add_initializer(g->graph, name, ONX_DTYPE_F32, rank, dims, data, n * 4);
}

/* A value, or a constant that broadcasts to its shape. */
static onx_value *operand(garden *g) {
    int64_t dims[4];
    size_t first = test_random_below(&g->random, g->rank + 1);
    if (test_random_below(&g->random, 3)) return pick(g);
    for (size_t i = first; i < g->rank; i++)
        dims[i - first] = test_random_below(&g->random, 2) && i ? g->dims[i] : 1;
    return constant(g, g->rank - first, dims, 1);
}

/* All are continuous: what differs by rounding stays near. */
static onx_value *elementwise(garden *g) {
    static const char *const one[] = {"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Erf", "Exp"};
    static const char *const two[] = {"Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"};
    onx_value *x = pick(g), *y = operand(g);
    switch (test_random_below(&g->random, 6)) {
    case 0:
        return onx_graph_add_op(g->graph, "Where", NULL,
                                onx_graph_add_op(g->graph, "Greater", NULL, x, y), x, y);
    case 1:
        return onx_graph_add_op(g->graph, "Mul", NULL,
                                onx_graph_add_op(g->graph, "Sigmoid", NULL, x), x);
    case 2:
    case 3: return onx_graph_add_op(g->graph, one[test_random_below(&g->random, 7)], NULL, x);
    default:
        return test_random_below(&g->random, 2)
                   ? onx_graph_add_op(g->graph, two[test_random_below(&g->random, 7)], NULL, x, y)
                   : onx_graph_add_op(g->graph, two[test_random_below(&g->random, 7)], NULL, y, x);
    }
}

static onx_value *product(garden *g) {
    int64_t side = g->dims[g->rank - 1];
    return onx_graph_add_op(g->graph, "MatMul", NULL, pick(g),
                            constant(g, 2, (int64_t[]){side, side}, 0.2f));
}

static onx_value *convolution(garden *g) {
    static const int64_t ones[] = {1, 1, 1, 1};
    int64_t c = g->dims[1], size = 1 + 2 * (int64_t)test_random_below(&g->random, 2);
    bool depthwise = size == 3;
    onx_value *w = constant(g, 4, (int64_t[]){c, depthwise ? 1 : c, size, size}, 0.1f);
    onx_value *y =
        test_random_below(&g->random, 2)
            ? onx_graph_add_op(g->graph, "Conv", NULL, pick(g), w)
            : onx_graph_add_op(g->graph, "Conv", NULL, pick(g), w, constant(g, 1, &c, 1));
    onx_node *node = onx_value_node(y);
    if (depthwise &&
        (onx_node_set_ints(node, "pads", 4, ones) || onx_node_set_int(node, "group", c)))
        abort();
    if (test_random_below(&g->random, 2)) return onx_graph_add_op(g->graph, "Relu", NULL, y);
    return test_random_below(&g->random, 2) ? onx_graph_add_op(g->graph, "Add", NULL, y, pick(g))
                                            : y;
}

static onx_value *pool(garden *g) {
    static const int64_t ones[] = {1, 1, 1, 1}, threes[] = {3, 3};
    const char *op = test_random_below(&g->random, 2) ? "MaxPool" : "AveragePool";
    onx_value *y = onx_graph_add_op(g->graph, op, NULL, pick(g));
    onx_node *node = onx_value_node(y);
    if (onx_node_set_ints(node, "pads", 4, ones) ||
        onx_node_set_ints(node, "kernel_shape", 2, threes))
        abort();
    return y;
}

/* Two images of channels, made one again; an image scaled by its channels. */
static onx_value *mixed(garden *g) {
    int64_t c = g->dims[1];
    if (test_random_below(&g->random, 2))
        return onx_graph_add_op(g->graph, "Mul", NULL, pick(g),
                                onx_graph_add_op(g->graph, "GlobalAveragePool", NULL, pick(g)));
    onx_value *both = onx_graph_add_op(g->graph, "Concat", NULL, pick(g), pick(g));
    if (onx_node_set_int(onx_value_node(both), "axis", 1)) abort();
    return onx_graph_add_op(g->graph, "Conv", NULL, both,
                            constant(g, 4, (int64_t[]){c, 2 * c, 1, 1}, 0.1f));
}

static onx_value *ints(garden *g, size_t n, const int64_t *values) {
    const char *name = onx_graph_new_name(g->graph, "i");
    int64_t dim = (int64_t)n;
    return onx_graph_add_initializer(g->graph, name, ONX_DTYPE_I64, 1, &dim, values, n * 8);
}

static onx_value *with_int(onx_value *value, const char *attribute, int64_t number) {
    if (onx_node_set_int(onx_value_node(value), attribute, number)) abort();
    return value;
}

static onx_value *cast(garden *g, onx_value *x, onx_dtype to) {
    return with_int(onx_graph_add_op(g->graph, "Cast", NULL, x), "to", to);
}

/* The shape that all values have, in a roundabout way. */
static onx_value *shape(garden *g) {
    static const int64_t first[] = {0}, rest[] = {1, 2, 3};
    onx_value *s = onx_graph_add_op(g->graph, "Shape", NULL, pick(g));
    if (test_random_below(&g->random, 2)) return s;
    onx_value *n = onx_graph_add_op(g->graph, "Gather", NULL, s, ints(g, 1, first));
    onx_value *o = onx_graph_add_op(g->graph, "Gather", NULL, s, ints(g, g->rank - 1, rest));
    return with_int(onx_graph_add_op(g->graph, "Concat", NULL, n, o), "axis", 0);
}

/* A choice that nothing, or the shape, or an element decides; both branches use what is outside. */
static onx_value *choice(garden *g) {
    bool yes = test_random_below(&g->random, 2);
    onx_value *x = pick(g), *y = pick(g), *which;
    if (test_random_below(&g->random, 2)) {
        const char *name = onx_graph_new_name(g->graph, "c");
        which = onx_graph_add_initializer(g->graph, name, ONX_DTYPE_BOOL, 0, NULL, &yes, 1);
    } else {
        which = cast(g, onx_graph_add_op(g->graph, "Size", NULL, x), ONX_DTYPE_BOOL);
    }
    onx_node *node = onx_graph_add_node(g->graph, "If", 1, &which, 1, NULL);
    for (int i = 0; i < 2; i++) {
        onx_graph *branch =
            onx_node_add_graph(node, i ? "else_branch" : "then_branch", i ? "else" : "then");
        onx_value *a = onx_graph_add_op(branch, "Identity", NULL, i ? y : x);
        onx_value *b = onx_graph_add_op(branch, i ? "Neg" : "Abs", NULL, a);
        onx_graph_add_output(branch, onx_graph_add_op(branch, "Add", NULL, b, x), NULL);
    }
    return onx_node_output(node, 0);
}

static onx_value *plumbing(garden *g) {
    static const int64_t flat[] = {-1}, zero[] = {0};
    onx_value *x = pick(g);
    switch (test_random_below(&g->random, 9)) {
    case 0: return onx_graph_add_op(g->graph, "Identity", NULL, x);
    case 1: return onx_graph_add_op(g->graph, "Reshape", NULL, x, shape(g));
    case 2:
        x = onx_graph_add_op(g->graph, "Reshape", NULL, x, ints(g, 1, flat));
        return onx_graph_add_op(g->graph, "Reshape", NULL, x, shape(g));
    case 3:
        x = onx_graph_add_op(g->graph, "Transpose", NULL, x);
        return onx_graph_add_op(g->graph, "Transpose", NULL, x);
    case 4: return cast(g, cast(g, x, ONX_DTYPE_F64), ONX_DTYPE_F32);
    case 5: return cast(g, x, ONX_DTYPE_F32);
    case 6: return choice(g);
    case 7:
        x = onx_graph_add_op(g->graph, "Unsqueeze", NULL, x, ints(g, 1, zero));
        return onx_graph_add_op(g->graph, "Squeeze", NULL, x, ints(g, 1, zero));
    default:
        x = onx_graph_add_op(g->graph, "Exp", NULL, constant(g, 0, NULL, 0.5f));
        return onx_graph_add_op(g->graph, "Expand", NULL, x, shape(g));
    }
}

/* ─ What the portable passes look for ────────────────────────────────────────────────────────── */

static onx_value *turn(garden *g, onx_value *x, const int64_t *perm) {
    onx_value *y = onx_graph_add_op(g->graph, "Transpose", NULL, x);
    if (onx_node_set_ints(onx_value_node(y), "perm", g->rank, perm)) abort();
    return y;
}

static onx_value *with_axes(garden *g, const char *op, onx_value *x, int64_t axis, bool keep) {
    onx_value *y = onx_graph_add_op(g->graph, op, NULL, x, ints(g, 1, &axis));
    return with_int(y, "keepdims", keep);
}

/* One step that keeps the shape, which is that of the garden with its dimensions turned. */
static onx_value *turned_step(garden *g, onx_value *x, onx_value *z, const int64_t *dims) {
    int64_t axis = (int64_t)test_random_below(&g->random, g->rank);
    size_t first = test_random_below(&g->random, g->rank + 1);
    int64_t sizes[4], pads[8] = {0};
    switch (test_random_below(&g->random, 8)) {
    case 0: return onx_graph_add_op(g->graph, "Sigmoid", NULL, x);
    case 1: return onx_graph_add_op(g->graph, "Add", NULL, x, z);
    case 2: return with_int(onx_graph_add_op(g->graph, "Softmax", NULL, x), "axis", axis);
    case 3:
        return onx_graph_add_op(g->graph, "Sub", NULL, x, with_axes(g, "ReduceMean", x, axis, 1));
    case 4:
        if (!dims[axis]) return onx_graph_add_op(g->graph, "Max", NULL, x, z);
        x = with_int(onx_graph_add_op(g->graph, "Concat", NULL, z, x), "axis", axis);
        return onx_graph_add_op(g->graph, "Slice", NULL, x, ints(g, 1, &pads[0]),
                                ints(g, 1, &dims[axis]), ints(g, 1, &axis));
    case 5:
        pads[axis] = 1;
        x = onx_graph_add_op(g->graph, "Pad", NULL, x, ints(g, 2 * g->rank, pads));
        return onx_graph_add_op(g->graph, "Slice", NULL, x, ints(g, 1, (int64_t[]){1}),
                                ints(g, 1, (int64_t[]){INT64_MAX}), ints(g, 1, &axis));
    default:
        for (size_t i = first; i < g->rank; i++)
            sizes[i - first] = dims[i] > 0 && test_random_below(&g->random, 2) ? dims[i] : 1;
        return onx_graph_add_op(g->graph, "Mul", NULL, x, constant(g, g->rank - first, sizes, 1));
    }
}

/* There, some steps, and back again; sometimes the turn is seen from outside. */
static onx_value *turns(garden *g) {
    int64_t perm[4], back[4], dims[4];
    for (size_t i = 0; i < g->rank; i++) perm[i] = (int64_t)i;
    for (size_t i = g->rank - 1; i > 0; i--) {
        size_t j = test_random_below(&g->random, i + 1);
        int64_t swap = perm[i];
        perm[i] = perm[j], perm[j] = swap;
    }
    for (size_t i = 0; i < g->rank; i++) back[perm[i]] = (int64_t)i;
    for (size_t i = 0; i < g->rank; i++) dims[i] = perm[i] ? g->dims[perm[i]] : 0;
    onx_value *x = turn(g, pick(g), perm), *z = turn(g, pick(g), perm), *both[2] = {x, z};
    for (size_t n = test_random_below(&g->random, 5); n > 0; n--)
        both[n % 2] = turned_step(g, both[n % 2], both[1 - n % 2], dims);
    x = turn(g, both[0], back);
    z = test_random_below(&g->random, 2) ? turn(g, both[1], back) : pick(g);
    return onx_graph_add_op(g->graph, "Add", NULL, x, z);
}

/* Factors and offsets for the last dimension or, in images, the channels. */
static onx_value *scaled(garden *g, onx_value *x) {
    static const char *const ops[] = {"Mul", "Add", "Sub", "Mul"};
    int64_t dims[4] = {1, 1, 1, 1};
    bool image = g->rank == 4;
    size_t axis = image ? 1 : g->rank - 1;
    for (size_t n = test_random_below(&g->random, 4); n > 0; n--) {
        const char *op = ops[test_random_below(&g->random, 4)];
        dims[axis] = test_random_below(&g->random, 3) ? g->dims[axis] : 1;
        size_t first = test_random_below(&g->random, axis + 1);
        onx_value *k = constant(g, g->rank - first, dims + first, 1);
        x = test_random_below(&g->random, 2) ? onx_graph_add_op(g->graph, op, NULL, x, k)
                                             : onx_graph_add_op(g->graph, op, NULL, k, x);
    }
    return x;
}

static onx_value *normalized(garden *g, onx_value *x) {
    int64_t c = g->dims[1];
    float data[64];
    onx_value *scale = constant(g, 1, &c, 1), *bias = constant(g, 1, &c, 1);
    onx_value *mean = constant(g, 1, &c, 1);
    for (int64_t i = 0; i < c; i++) data[i] = 0.5f + (float)i / 16;
    onx_value *variance =
        onx_graph_add_initializer(g->graph, onx_graph_new_name(g->graph, "v"), ONX_DTYPE_F32, 1, &c,
                                  data, (size_t)c * sizeof *data);
    return onx_graph_add_op(g->graph, "BatchNormalization", NULL, x, scale, bias, mean, variance);
}

static onx_value *scaled_product(garden *g) {
    return scaled(g, product(g));
}

static onx_value *scaled_image(garden *g) {
    static const int64_t around[] = {0, 0, 1, 1, 0, 0, 1, 1}, ones[] = {1, 1, 1, 1};
    int64_t c = g->dims[1];
    onx_value *x = pick(g), *w;
    switch (test_random_below(&g->random, 3)) {
    case 0:
        x = onx_graph_add_op(g->graph, "Pad", NULL, x, ints(g, 8, around));
        w = constant(g, 4, (int64_t[]){c, 1, 3, 3}, 0.2f);
        x = with_int(onx_graph_add_op(g->graph, "Conv", NULL, x, w), "group", c);
        break;
    case 1:
        w = constant(g, 4, (int64_t[]){c, c / 2, 3, 3}, 0.1f);
        x = with_int(onx_graph_add_op(g->graph, "ConvTranspose", NULL, x, w), "group", 2);
        if (onx_node_set_ints(onx_value_node(x), "pads", 4, ones)) abort();
        break;
    default: x = convolution(g);
    }
    return scaled(g, test_random_below(&g->random, 2) ? normalized(g, x) : x);
}

/* Shapes in a roundabout way, casts, and arithmetic that changes nothing. */
static onx_value *views(garden *g) {
    int64_t at = (int64_t)test_random_below(&g->random, g->rank + 1), minus = -1;
    onx_value *x = pick(g), *s;
    float neutral[] = {0, 1};
    bool one = test_random_below(&g->random, 2);
    switch (test_random_below(&g->random, 6)) {
    case 0:
        x = with_int(onx_graph_add_op(g->graph, "Flatten", NULL, x), "axis", at);
        return onx_graph_add_op(g->graph, "Reshape", NULL, x, shape(g));
    case 1:
        x = onx_graph_add_op(g->graph, "Unsqueeze", NULL, x, ints(g, 1, &at));
        x = onx_graph_add_op(g->graph, "Relu", NULL, x);
        return onx_graph_add_op(g->graph, "Reshape", NULL, x, shape(g));
    case 2:
        s = onx_graph_add_op(g->graph, "ReduceProd", NULL, shape(g));
        x = onx_graph_add_op(g->graph, "Reshape", NULL, x, with_int(s, "keepdims", 1));
        s = onx_graph_add_op(g->graph, "Identity", NULL, shape(g));
        return onx_graph_add_op(g->graph, "Reshape", NULL, x, s);
    case 3: return cast(g, cast(g, cast(g, x, ONX_DTYPE_F16), ONX_DTYPE_F64), ONX_DTYPE_F32);
    case 4:
        s = with_axes(g, "ReduceMax", x, g->rank > 2 ? -1 : 1, 1);
        return onx_graph_add_op(g->graph, "Expand", NULL, s, shape(g));
    default:
        s = onx_graph_add_initializer(g->graph, onx_graph_new_name(g->graph, "n"), ONX_DTYPE_F32, 0,
                                      NULL, &neutral[one], 4);
        x = onx_graph_add_op(g->graph, one ? "Mul" : "Add", NULL, s, x);
        return onx_graph_add_op(
            g->graph, "Reshape", NULL, x,
            with_int(
                onx_graph_add_op(g->graph, "Concat", NULL,
                                 onx_graph_add_op(g->graph, "Slice", NULL, shape(g),
                                                  ints(g, 1, (int64_t[]){0}), ints(g, 1, &minus)),
                                 ints(g, 1, &minus)),
                "axis", 0));
    }
}

typedef onx_value *grow(garden *g);

static onx_model *plant(uint64_t seed, size_t rank, const int64_t *dims, grow *const *kinds,
                        size_t n_kinds) {
    onx_model *model = onx_model_new(NULL, "g", 18);
    garden g = {.random = {seed}, .graph = onx_model_graph(model), .rank = rank};
    char type[64];
    int at = snprintf(type, sizeof type, "float[N");
    memcpy(g.dims, dims, rank * sizeof *dims);
    for (size_t i = 1; i < rank; i++)
        at += snprintf(type + at, sizeof type - (size_t)at, ",%d", (int)dims[i]);
    (void)snprintf(type + at, sizeof type - (size_t)at, "]");
    g.values[0] = onx_graph_add_input(g.graph, "x", type);
    g.values[1] = onx_graph_add_input(g.graph, "z", type);
    g.n = 2;
    for (size_t n = 6 + test_random_below(&g.random, MAX_VALUES - 8); g.n < n; g.n++)
        g.values[g.n] = kinds[test_random_below(&g.random, n_kinds)](&g);
    onx_graph_add_output(g.graph, g.values[g.n - 1], type);
    onx_value *other = g.values[2 + test_random_below(&g.random, g.n - 3)];
    onx_graph_add_output(g.graph, other, type);
    if (onx_model_error(model)) fprintf(stderr, "    %s\n", onx_model_error(model)->message);
    return model;
}

static bool run(const onx_model *model, const onx_session_options *options, const onx_arg *in,
                size_t n_out, onx_arg *out, onx_diag *diag) {
    onx_session *session;
    if (onx_session_new(model, options, &session, diag)) return false;
    bool ok = !onx_session_run(session, 2, in, n_out, out, NULL, diag);
    onx_session_free(session);
    return ok;
}

static double distance(const onx_arg *a, const onx_arg *b) {
    onx_operand x = {.data = a->data, .dtype = (uint8_t)a->dtype, .rank = (uint8_t)a->rank};
    onx_operand y = {.data = b->data, .dtype = (uint8_t)b->dtype, .rank = (uint8_t)b->rank};
    memcpy(x.dims, a->dims, sizeof x.dims);
    memcpy(y.dims, b->dims, sizeof y.dims);
    x.count = y.count = (int64_t)(a->bytes / 4);
    return a->bytes == b->bytes ? kernel_distance(&x, &y) : HUGE_VAL;
}

/* The outputs, and two values from inside. */
static void name_outputs(const onx_model *model, uint64_t seed, onx_arg *out) {
    const onx_graph *graph = onx_model_graph(model);
    test_random random = {seed};
    memset(out, 0, MAX_OUTS * sizeof *out);
    for (size_t i = 0; i < MAX_OUTS; i++) {
        if (i < 2) {
            out[i].name = onx_value_name(onx_graph_output(graph, i));
            continue;
        }
        const onx_node *node = onx_graph_node_first(graph);
        for (size_t k = test_random_below(&random, onx_graph_node_count(graph)); k > 0; k--)
            node = onx_node_next(node);
        out[i].name = onx_value_name(onx_node_output(node, 0));
    }
}

/* A graph, its inputs, and what it gives as it is. */
typedef struct subject {
    const onx_model *model;
    uint64_t seed;
    const onx_arg *in;
    onx_arg plain[MAX_OUTS];
} subject;

/* The first n outputs, made in some way, are the plain ones. */
static bool check_way(const subject *s, const onx_model *model, const onx_session_options *options,
                      size_t n, const char *what) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg other[MAX_OUTS];
    name_outputs(s->model, s->seed, other);
    bool ok = CHECK(run(model, options, s->in, n, other, &diag));
    for (size_t i = 0; i < n && ok; i++) {
        double d = s->plain[i].dtype == ONX_DTYPE_F32 ? distance(&other[i], &s->plain[i]) : 0;
        ok = CHECK(d <= 1e-3);
        if (!ok) fprintf(stderr, "    '%s' differs by %g\n", s->plain[i].name, d);
    }
    if (!ok)
        fprintf(stderr, "    seed %" PRIu64 ", %s, level %d, %s: %s %s\n", s->seed, what,
                (int)options->level, options->cpu, diag.place, diag.message);
    for (size_t i = 0; i < MAX_OUTS; i++) onx_arg_clear(&other[i]);
    return ok;
}

static bool check_levels(const subject *s) {
    onx_session_options options = ONX_INIT(onx_session_options);
    bool ok = true;
    options.threads = 1;
    for (const char *const *tier = kernel_tiers(); *tier && ok; tier++) {
        options.cpu = *tier;
        for (options.level = ONX_LEVEL_BASIC; options.level <= ONX_LEVEL_ALL && ok;
             options.level++) {
            options.dynamic = options.level == ONX_LEVEL_ALL && s->seed % 4 == 0;
            ok = s->seed % 2 ? check_way(s, s->model, &options, MAX_OUTS, "values inside")
                             : check_way(s, s->model, &options, 2, "outputs");
        }
    }
    return ok;
}

static bool check_each_pass(const subject *s) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_pass_info pass;
    bool ok = true;
    options.threads = 1;
    options.cpu = "base";
    options.level = ONX_LEVEL_NONE;
    for (size_t i = 0; onx_pass_at(i, &pass) && ok; i++) {
        options.enable = pass.name;
        ok = check_way(s, s->model, &options, 2, pass.name);
    }
    return ok;
}

/* Optimized, written, checked, read again, and run as it is. */
static bool check_file(const subject *s) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_optimize_options how = ONX_INIT(onx_optimize_options);
    onx_model *better = NULL, *read = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf bytes;
    onx_buf_init(&bytes, onx_context_or_default(NULL));
    onx_writer writer = onx_buf_writer(&bytes);
    options.threads = 1;
    options.cpu = "base";
    options.level = ONX_LEVEL_NONE;
    how.level = (onx_level)(ONX_LEVEL_BASIC + s->seed % 3);
    bool ok = CHECK(!onx_model_optimize(s->model, &how, &better, NULL, &diag)) &&
              CHECK(!onx_model_check(better, NULL, &diag)) &&
              CHECK(!onx_model_save_stream(better, &writer, NULL, &diag)) &&
              CHECK(!onx_model_load_memory(NULL, bytes.data, bytes.size, NULL, &read, &diag)) &&
              check_way(s, read, &options, 2, "written");
    if (!ok) fprintf(stderr, "    seed %" PRIu64 ": %s %s\n", s->seed, diag.place, diag.message);
    onx_model_free(better);
    onx_model_free(read);
    onx_buf_fini(&bytes);
    return ok;
}

static void check_graph(const onx_model *model, uint64_t seed, const onx_arg *in) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_diag diag = ONX_INIT(onx_diag);
    subject s = {.model = model, .seed = seed, .in = in};
    options.level = ONX_LEVEL_NONE;
    options.cpu = "base";
    options.threads = 1;
    name_outputs(model, seed, s.plain);
    if (!CHECK(run(model, &options, in, MAX_OUTS, s.plain, &diag)))
        fprintf(stderr, "    seed %" PRIu64 ": %s %s\n", seed, diag.place, diag.message);
    else if (check_levels(&s) && (seed % 3 || check_each_pass(&s)))
        check_file(&s);
    for (size_t i = 0; i < MAX_OUTS; i++) onx_arg_clear(&s.plain[i]);
}

static void check_kind(size_t rank, const int64_t *dims, grow *const *kinds, size_t n_kinds) {
    static float x[8192], z[8192];
    size_t n = 1;
    for (size_t i = 1; i < rank; i++) n *= (size_t)dims[i];
    kernel_fill(x, n * (size_t)dims[0], 1, -2, 2);
    kernel_fill(z, n * (size_t)dims[0], 2, -2, 2);
    onx_arg in[2] = {{.dtype = ONX_DTYPE_F32, .rank = rank, .data = x},
                     {.dtype = ONX_DTYPE_F32, .rank = rank, .data = z}};
    for (size_t i = 0; i < 2; i++) memcpy(in[i].dims, dims, rank * sizeof *dims);
    const char *more = getenv("ONX_GRAPHS");
    uint64_t graphs = more ? strtoull(more, NULL, 10) : GRAPHS;
    for (uint64_t seed = 1; seed <= graphs; seed++) {
        size_t before = test_failures;
        onx_model *model = plant(seed, rank, dims, kinds, n_kinds);
        for (size_t i = 0; i < 2; i++) {
            in[i].dims[0] = seed / 2 % 2 && dims[0] > 1 ? dims[0] - 1 : dims[0];
            in[i].bytes = n * (size_t)in[i].dims[0] * sizeof *x;
        }
        check_graph(model, seed, in);
        onx_model_free(model);
        if (test_failures > before + 3) return;
    }
}

TEST(elementwise) {
    check_kind(3, (int64_t[]){2, 3, 5}, (grow *const[]){elementwise}, 1);
}
TEST(plumbing) {
    check_kind(3, (int64_t[]){2, 3, 5}, (grow *const[]){elementwise, plumbing, plumbing}, 3);
}
TEST(products) {
    check_kind(3, (int64_t[]){2, 3, 7}, (grow *const[]){elementwise, elementwise, product}, 3);
}
TEST(turns) {
    check_kind(3, (int64_t[]){2, 3, 5}, (grow *const[]){elementwise, turns, turns, plumbing}, 4);
    check_kind(4, (int64_t[]){2, 2, 3, 4}, (grow *const[]){elementwise, turns, turns, pool}, 4);
}
TEST(views) {
    check_kind(3, (int64_t[]){2, 3, 5}, (grow *const[]){elementwise, views, views, plumbing}, 4);
    check_kind(2, (int64_t[]){2, 6}, (grow *const[]){elementwise, views, turns, plumbing}, 4);
}
TEST(scales) {
    check_kind(3, (int64_t[]){2, 3, 7}, (grow *const[]){elementwise, scaled_product, views}, 3);
    check_kind(4, (int64_t[]){2, 4, 5, 6}, (grow *const[]){elementwise, scaled_image, turns}, 3);
}
static grow *const of_images[] = {elementwise, convolution, convolution, pool, mixed};

TEST(images) {
    check_kind(4, (int64_t[]){2, 16, 5, 6}, of_images, 5);
}
TEST(images_in_part_blocks) { /* of 16 channels, or of 8 and 16, or of all sizes */
    check_kind(4, (int64_t[]){1, 24, 5, 6}, of_images, 5);
    check_kind(4, (int64_t[]){1, 12, 5, 6}, of_images, 5);
    check_kind(4, (int64_t[]){1, 6, 5, 6}, of_images, 5);
}

TEST_MAIN(E(elementwise) E(plumbing) E(products) E(turns) E(views) E(scales) E(images)
              E(images_in_part_blocks))
