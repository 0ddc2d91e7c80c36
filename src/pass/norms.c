/* norms.c: normalization of rows, written out, to the operator:
 *
 *     d = x - mean(x)                                      LayerNormalization; RMSNormalization
 *     y = d / sqrt(mean(d * d) + epsilon) [* scale] [+ bias]    where d is x itself
 *
 * of float32, along the last axis. Where the model's opset does not have the operator, it is the
 * one of the same name in onx.internal, if the engine has it; else nothing is done. */
#include "pass/pass.h"

typedef struct norm {
    onx_pass_ctx *ctx;
    onx_value *x, *scale, *bias;
    onx_node *last; /* its output is the result */
    float epsilon;
    bool centred;
} norm;

static bool named(const norm *m, const onx_node *node, const char *name) {
    return node && onx_pass_is(onx_pass_op(m->ctx, node), name);
}

static bool scalar(const norm *m, const onx_value *value, float *out) {
    const onx_tensor *t = onx_pass_constant(m->ctx, value);
    uint64_t count;
    if (!t || onx_tensor_count(t, &count, NULL) || count != 1) return false;
    return onx_tensor_read_as(t, ONX_DTYPE_F32, out, sizeof *out, NULL) == ONX_OK;
}

/* The other input of a node of two, one of which is `value`. */
static onx_value *other(const onx_node *node, const onx_value *value) {
    return onx_node_input(node, onx_node_input(node, 0) == value);
}

/* The only user of the value, if it is that operator. */
static onx_node *next(const norm *m, const onx_value *value, const char *name) {
    size_t index;
    onx_node *user = onx_pass_only_use(m->ctx, value, &index);
    return named(m, user, name) ? user : NULL;
}

/* Is the node a mean along the last axis that keeps it? */
static bool is_mean(const norm *m, const onx_node *node) {
    const onx_op *op = node ? onx_pass_op(m->ctx, node) : NULL;
    const onx_fact *x = node ? onx_pass_fact(m->ctx, onx_node_input(node, 0)) : NULL;
    size_t n = 0;
    int64_t axis;
    if (!onx_pass_is(op, "ReduceMean") || !onx_op_int(op, node, "keepdims")) return false;
    const int64_t *axes = onx_op_ints(node, "axes", &n);
    const onx_tensor *t = axes ? NULL : onx_pass_constant(m->ctx, onx_node_input(node, 1));
    uint64_t count;
    if (t && !onx_tensor_count(t, &count, NULL) && count == 1 &&
        onx_tensor_read_as(t, ONX_DTYPE_I64, &axis, sizeof axis, NULL) == ONX_OK)
        axes = &axis, n = 1;
    return axes && n == 1 && x->kind == ONX_TYPE_TENSOR && x->dtype == ONX_DTYPE_F32 && x->ranked &&
           x->rank > 0 && (axes[0] == -1 || axes[0] == (int64_t)x->rank - 1);
}

/* What is squared; NULL: nothing is. */
static onx_value *squared(const norm *m, const onx_value *value) {
    const onx_node *node = value ? value->def : NULL;
    float two;
    if (named(m, node, "Pow") && scalar(m, onx_node_input(node, 1), &two) && two == 2)
        return onx_node_input(node, 0);
    bool twice = named(m, node, "Mul") && onx_node_input(node, 0) == onx_node_input(node, 1);
    return twice ? onx_node_input(node, 0) : NULL;
}

/* d = x - mean(x): then x; else d itself. */
static onx_value *before_centring(norm *m, onx_value *d) {
    const onx_node *sub = d->def;
    if (!named(m, sub, "Sub")) return d;
    onx_value *x = onx_node_input(sub, 0), *mean = onx_node_input(sub, 1);
    if (!x || !mean || !is_mean(m, mean->def) || onx_node_input(mean->def, 0) != x) return d;
    m->centred = true;
    return x;
}

/* From the mean of squares of d to d / sqrt(mean + epsilon). */
static onx_node *find_quotient(norm *m, const onx_node *mean, const onx_value *d) {
    onx_node *add = next(m, onx_node_output(mean, 0), "Add");
    if (!add || !scalar(m, other(add, onx_node_output(mean, 0)), &m->epsilon)) return NULL;
    onx_node *root = next(m, onx_node_output(add, 0), "Sqrt"), *user;
    if (!root) return NULL;
    const onx_value *sd = onx_node_output(root, 0);
    if ((user = next(m, sd, "Div")) && onx_node_input(user, 0) == d) return user;
    bool inverts = false;
    float one;
    if ((user = next(m, sd, "Reciprocal")))
        inverts = true;
    else if ((user = next(m, sd, "Div")))
        inverts = scalar(m, onx_node_input(user, 0), &one) && one == 1;
    if (!inverts) return NULL;
    const onx_value *inverse = onx_node_output(user, 0);
    user = next(m, inverse, "Mul");
    return user && other(user, inverse) == d ? user : NULL;
}

/* Is it one number for each element of a row, or for all? */
static bool is_row(const norm *m, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(m->ctx, value), *x = onx_pass_fact(m->ctx, m->x);
    return fact->kind == ONX_TYPE_TENSOR && fact->dtype == ONX_DTYPE_F32 && fact->ranked &&
           fact->rank == 1 && fact->dims[0] && fact->dims[0] == x->dims[x->rank - 1];
}

/* The product, or sum, of the result with such numbers, which it has no other use than. */
static onx_value *absorb(norm *m, const char *op) {
    onx_value *result = onx_node_output(m->last, 0);
    onx_node *user = next(m, result, op);
    onx_value *row = user ? other(user, result) : NULL;
    if (!row || row == result || !is_row(m, row)) return NULL;
    m->last = user;
    return row;
}

static onx_status add_ones(norm *m) {
    const onx_fact *x = onx_pass_fact(m->ctx, m->x);
    int64_t n;
    size_t bytes;
    if (!x->dims[x->rank - 1] || !onx_sym_is_int(x->dims[x->rank - 1], &n) || n < 1) return ONX_OK;
    if (!onx_mul_size((size_t)n, sizeof(float), &bytes) || !onx_pass_afford(m->ctx, bytes))
        return ONX_OK;
    float *ones = onx_arena_alloc(&m->ctx->arena, bytes);
    if (!ones) return onx_fail_nomem(m->ctx->diag);
    for (int64_t i = 0; i < n; i++) ones[i] = 1;
    return onx_pass_add_floats(m->ctx, m->last->graph, "ones", 1, &n, ones, &m->scale);
}

/* Numbers on the way may have dimensions of their own, which the result has then, too. */
static bool keeps_rank(const norm *m) {
    const onx_fact *x = onx_pass_fact(m->ctx, m->x);
    const onx_fact *y = onx_pass_fact(m->ctx, onx_node_output(m->last, 0));
    return x->ranked && y->ranked && x->rank == y->rank && x->rank > 0;
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    norm m = {.ctx = ctx};
    if (!is_mean(&m, node)) return ONX_OK;
    onx_value *d = squared(&m, onx_node_input(node, 0));
    if (!d || !(m.last = find_quotient(&m, node, d))) return ONX_OK;
    m.x = before_centring(&m, d);
    if (!keeps_rank(&m)) return ONX_OK;
    bool shifts = m.centred;
    const char *op = shifts ? onx_pass_pick(ctx, "onx.internal::LayerNormalization", 17)
                            : onx_pass_pick(ctx, "onx.internal::RMSNormalization", 23);
    if (!op || !(m.epsilon >= 0)) return ONX_OK;
    m.scale = absorb(&m, "Mul");
    if (shifts && m.scale) m.bias = absorb(&m, "Add");
    if (!m.scale) ONX_TRY(add_ones(&m));
    if (!m.scale) return ONX_OK;
    onx_value *in[] = {m.x, m.scale, m.bias};
    ONX_TRY(onx_pass_remake(ctx, m.last, op, m.bias ? 3 : 2, in));
    bool set =
        !onx_node_set_int(m.last, "axis", -1) && !onx_node_set_float(m.last, "epsilon", m.epsilon);
    return set ? ONX_OK : onx_fail_nomem(ctx->diag);
}

extern onx_pass_fn onx_pass_norms;
onx_status onx_pass_norms(onx_pass_ctx *ctx, onx_graph *graph) {
    if (ctx->model->ir_version < 4) return ONX_OK; /* no initializers but inputs */
    for (onx_node *node = onx_graph_node_first(graph), *after; node; node = after) {
        after = onx_node_next(node);
        ONX_TRY(visit(ctx, node));
    }
    return ONX_OK;
}
