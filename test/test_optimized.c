/* test_optimized.c: random small graphs compute the same, rewritten or not: level NONE against
 * BASIC and ALL, on every instruction set, bound ahead or step by step, also when values inside are
 * asked for. */
#include "test.h"

#include "kernel.h"
#include "support.h"

#include <math.h>

enum { MAX_VALUES = 40, MAX_OUTS = 4, GRAPHS = 150 };

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
        dims[i - first] = test_random_below(&g->random, 2) ? g->dims[i] : 1;
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

static bool run(const onx_model *model, onx_level level, const char *cpu, bool dynamic,
                const onx_arg *in, onx_arg *out, onx_diag *diag) {
    onx_session_options options = ONX_INIT(onx_session_options);
    options.level = level;
    options.cpu = cpu;
    options.threads = 1;
    options.dynamic = dynamic;
    onx_session *session;
    if (onx_session_new(model, &options, &session, diag)) return false;
    bool ok = !onx_session_run(session, 2, in, MAX_OUTS, out, NULL, diag);
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

static void check_graph(const onx_model *model, uint64_t seed, const onx_arg *in) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg plain[MAX_OUTS], other[MAX_OUTS];
    name_outputs(model, seed, plain);
    bool ok = CHECK(run(model, ONX_LEVEL_NONE, "base", false, in, plain, &diag));
    for (const char *const *tier = kernel_tiers(); *tier && ok; tier++) {
        for (onx_level level = ONX_LEVEL_BASIC; level <= ONX_LEVEL_ALL && ok; level++) {
            name_outputs(model, seed, other);
            bool dynamic = level == ONX_LEVEL_ALL && seed % 4 == 0;
            ok = CHECK(run(model, level, *tier, dynamic, in, other, &diag));
            for (size_t i = 0; i < MAX_OUTS && ok; i++) {
                double d = plain[i].dtype == ONX_DTYPE_F32 ? distance(&other[i], &plain[i]) : 0;
                ok = CHECK(d <= 1e-3);
                if (!ok)
                    fprintf(stderr, "    %s, level %d: '%s' differs by %g\n", *tier, level,
                            plain[i].name, d);
            }
            for (size_t i = 0; i < MAX_OUTS; i++) onx_arg_clear(&other[i]);
        }
    }
    if (!ok) fprintf(stderr, "    seed %" PRIu64 ": %s %s\n", seed, diag.place, diag.message);
    for (size_t i = 0; i < MAX_OUTS; i++) onx_arg_clear(&plain[i]);
}

static void check_kind(size_t rank, const int64_t *dims, grow *const *kinds, size_t n_kinds) {
    static float x[8192], z[8192];
    size_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
    kernel_fill(x, n, 1, -2, 2);
    kernel_fill(z, n, 2, -2, 2);
    onx_arg in[2] = {{.dtype = ONX_DTYPE_F32, .rank = rank, .data = x, .bytes = n * 4},
                     {.dtype = ONX_DTYPE_F32, .rank = rank, .data = z, .bytes = n * 4}};
    for (size_t i = 0; i < 2; i++) memcpy(in[i].dims, dims, rank * sizeof *dims);
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        size_t before = test_failures;
        onx_model *model = plant(seed, rank, dims, kinds, n_kinds);
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
static grow *const of_images[] = {elementwise, convolution, convolution, pool, mixed};

TEST(images) {
    check_kind(4, (int64_t[]){2, 16, 5, 6}, of_images, 5);
}
TEST(images_in_part_blocks) { /* of 16 channels, or of 8 and 16, or of all sizes */
    check_kind(4, (int64_t[]){1, 24, 5, 6}, of_images, 5);
    check_kind(4, (int64_t[]){1, 12, 5, 6}, of_images, 5);
    check_kind(4, (int64_t[]){1, 6, 5, 6}, of_images, 5);
}

TEST_MAIN(E(elementwise) E(plumbing) E(products) E(images) E(images_in_part_blocks))
