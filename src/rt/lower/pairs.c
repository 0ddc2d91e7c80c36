/* pairs.c: models that were quantized with pairs of QuantizeLinear and DequantizeLinear compute
 * with bytes.
 *
 *     Q(Conv(DQ(x), DQ(w), b))       QLinearConv                 MatMul, Gemm, Add, Mul, pools and
 *                                                                Concat in the same way
 *     Move(DQ(x))                    DQ(Move(x))                 what only moves elements, or
 *     Q(Move(x))                     Move(Q(x))                  chooses among them
 *     Q(DQ(x)), coded alike          x
 *     Q(f(DQ(x)))                    a table: pair_table.c
 *
 * A Relu or Clip before Q goes where Q alone cuts as much. Sums of integers are exact, so that a
 * result may differ by one step from that of sums of floats. Constants that are left to be
 * dequantized are computed in the end (dequantize). */
#include "rt/lower/pairs.h"

#include <math.h>

#define MS "com.microsoft"
enum { ROUNDS = 4, INPUTS = 9 };

/* ─ What is cut ──────────────────────────────────────────────────────────────────────────────── */

/* Is `node` an activation that keeps what q can code? */
static bool is_redundant(const onx_pass_ctx *ctx, const onx_node *node, const onx_coded *q) {
    const onx_op *op = onx_pass_op(ctx, node);
    float lo = -INFINITY, hi = INFINITY, scale;
    int zero, least = q->dtype == ONX_DTYPE_I8 ? -128 : 0;
    size_t rank;
    if (!onx_coded_numbers(ctx, q, &scale, &zero)) return false;
    if (onx_pass_is(op, "Relu"))
        lo = 0;
    else if (onx_pass_is(op, "Clip") && op->since >= 11) {
        const onx_value *min = onx_node_input(node, 1), *max = onx_node_input(node, 2);
        if ((min && !onx_lower_scalar(ctx, min, &lo, &rank)) ||
            (max && !onx_lower_scalar(ctx, max, &hi, &rank)))
            return false;
    } else
        return false;
    return rintf(lo / scale) + (float)zero <= (float)least &&
           rintf(hi / scale) + (float)zero >= (float)(least + 255);
}

/* The node that computes what q codes, and nobody else sees; activations in between that q makes
 * superfluous are counted: the last of them is *over. */
static onx_node *source_of(const onx_pass_ctx *ctx, const onx_coded *q, onx_node **over) {
    size_t index;
    const onx_value *x = q->x;
    *over = NULL;
    onx_node *node = onx_pass_only_use(ctx, x, &index) == q->node ? x->def : NULL;
    if (node && is_redundant(ctx, node, q)) {
        const onx_value *before = onx_node_input(node, 0);
        if (before && before->def && onx_pass_only_use(ctx, before, &index) == node) {
            *over = node;
            node = before->def;
        }
    }
    return node && node->output.n == 1 ? node : NULL;
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct match {
    onx_pass_ctx *ctx;
    onx_coded q; /* the result */
    onx_node *node, *over;
    const onx_op *op;
} match;

/* The node of Q becomes this one; what it stood for goes. */
static onx_status become(match *m, const char *op, size_t n_in, onx_value *const *in, bool like) {
    ONX_TRY(onx_pass_remake(m->ctx, m->q.node, op, n_in, in));
    if (like) ONX_TRY(onx_pass_copy_attrs(m->ctx, m->q.node, m->node));
    if (m->over) ONX_TRY(onx_pass_remove(m->ctx, m->over));
    return onx_pass_remove(m->ctx, m->node);
}

static int64_t dim_of(const onx_pass_ctx *ctx, const onx_value *value, size_t axis) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    const onx_fact *fact = onx_pass_fact(ctx, value);
    int64_t dim;
    if (t) return axis < onx_tensor_rank(t) ? onx_tensor_dim(t, axis) : -1;
    bool known = fact->kind == ONX_TYPE_TENSOR && fact->ranked && axis < fact->rank &&
                 fact->dims[axis] && onx_sym_is_int(fact->dims[axis], &dim);
    return known ? dim : -1;
}

static size_t rank_of(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    const onx_fact *fact = onx_pass_fact(ctx, value);
    if (t) return onx_tensor_rank(t);
    return fact->kind == ONX_TYPE_TENSOR && fact->ranked ? fact->rank : 0;
}

/* Both operands are bytes; those of b have one scale, or one for each index of `axis`. */
static bool read_operands(match *m, size_t axis, onx_coded *a, onx_coded *b) {
    const onx_pass_ctx *ctx = m->ctx;
    size_t d;
    if (!onx_coded_of(ctx, onx_node_input(m->node, 0), a) || !a->single ||
        a->dtype == ONX_DTYPE_I32)
        return false;
    if (!onx_coded_of(ctx, onx_node_input(m->node, 1), b) || b->dtype == ONX_DTYPE_I32)
        return false;
    return b->single || (onx_axis(b->axis, rank_of(ctx, b->x), &d) && d == axis);
}

static onx_status need_zeros(match *m, onx_coded *a, onx_coded *b) {
    ONX_TRY(onx_coded_zero(m->ctx, a));
    if (b) ONX_TRY(onx_coded_zero(m->ctx, b));
    return onx_coded_zero(m->ctx, &m->q);
}

static onx_status visit_conv(match *m, bool *done) {
    onx_coded a, b;
    onx_value *bias = NULL;
    if (!onx_pass_is(m->op, "Conv") || !read_operands(m, 0, &a, &b)) return ONX_OK;
    if (onx_node_input(m->node, 2)) {
        ONX_TRY(onx_coded_bias(m->ctx, onx_node_input(m->node, 2), &a, &b, dim_of(m->ctx, b.x, 0),
                               &bias));
        if (!bias) return ONX_OK;
    }
    *done = true;
    ONX_TRY(need_zeros(m, &a, &b));
    onx_value *in[INPUTS] = {a.x,    a.scale,    a.zero,    b.x, b.scale,
                             b.zero, m->q.scale, m->q.zero, bias};
    return become(m, "QLinearConv", bias ? 9 : 8, in, true);
}

static onx_status visit_matmul(match *m, bool *done) {
    onx_coded a, b;
    if (!onx_pass_is(m->op, "MatMul")) return ONX_OK;
    size_t rank = rank_of(m->ctx, onx_node_input(m->node, 1));
    if (rank < 2 || !read_operands(m, rank - 1, &a, &b) || (!b.single && rank != 2)) return ONX_OK;
    *done = true;
    ONX_TRY(need_zeros(m, &a, &b));
    onx_value *in[INPUTS] = {a.x, a.scale, a.zero, b.x, b.scale, b.zero, m->q.scale, m->q.zero};
    return become(m, "QLinearMatMul", 8, in, false);
}

static onx_status visit_gemm(match *m, bool *done) {
    onx_coded a, b;
    onx_value *bias = NULL;
    if (!onx_pass_is(m->op, "Gemm") || m->op->since < 7) return ONX_OK;
    bool turned = onx_op_int(m->op, m->node, "transB") != 0;
    float alpha = onx_op_float(m->op, m->node, "alpha"),
          beta = onx_op_float(m->op, m->node, "beta");
    if (alpha != 1 || !read_operands(m, !turned, &a, &b)) return ONX_OK;
    if (onx_node_input(m->node, 2)) {
        if (beta != 1) return ONX_OK;
        ONX_TRY(onx_coded_bias(m->ctx, onx_node_input(m->node, 2), &a, &b,
                               dim_of(m->ctx, b.x, !turned), &bias));
        if (!bias) return ONX_OK;
    }
    *done = true;
    ONX_TRY(need_zeros(m, &a, &b));
    int64_t turns[] = {onx_op_int(m->op, m->node, "transA"), turned};
    onx_value *in[INPUTS] = {a.x,    a.scale, a.zero,     b.x,      b.scale,
                             b.zero, bias,    m->q.scale, m->q.zero};
    ONX_TRY(become(m, MS "::QGemm", 9, in, false));
    if (onx_node_set_int(m->q.node, "transA", turns[0]) ||
        onx_node_set_int(m->q.node, "transB", turns[1]))
        return onx_fail_nomem(m->ctx->diag);
    return ONX_OK;
}

/* ─ Elements, pools, parts ───────────────────────────────────────────────────────────────────── */

static onx_status visit_binary(match *m, bool *done) {
    onx_coded a, b;
    bool adds = onx_pass_is(m->op, "Add");
    if ((!adds && !onx_pass_is(m->op, "Mul")) || m->op->since < 7) return ONX_OK;
    if (!read_operands(m, SIZE_MAX, &a, &b) || a.dtype != b.dtype || a.dtype != m->q.dtype)
        return ONX_OK;
    *done = true;
    ONX_TRY(need_zeros(m, &a, &b));
    onx_value *in[INPUTS] = {a.x, a.scale, a.zero, b.x, b.scale, b.zero, m->q.scale, m->q.zero};
    return become(m, adds ? MS "::QLinearAdd" : MS "::QLinearMul", 8, in, false);
}

static onx_status visit_pool(match *m, bool *done) {
    onx_coded a;
    bool mean = rank_of(m->ctx, onx_node_input(m->node, 0)) == 4 &&
                onx_lower_spatial_mean(m->ctx, m->node, m->op);
    bool global = onx_pass_is(m->op, "GlobalAveragePool") || mean;
    if (!global && !onx_pass_is(m->op, "AveragePool")) return ONX_OK;
    if (!onx_coded_of(m->ctx, onx_node_input(m->node, 0), &a) || !a.single ||
        a.dtype != m->q.dtype || onx_op_has(m->node, "dilations"))
        return ONX_OK;
    *done = true;
    ONX_TRY(need_zeros(m, &a, NULL));
    onx_value *in[INPUTS] = {a.x, a.scale, a.zero, m->q.scale, m->q.zero};
    return become(m, global ? MS "::QLinearGlobalAveragePool" : MS "::QLinearAveragePool", 5, in,
                  !global);
}

static onx_status visit_concat(match *m, bool *done) {
    size_t n = m->node->input.n;
    onx_coded a;
    if (!onx_pass_is(m->op, "Concat")) return ONX_OK;
    onx_value **in = onx_arena_array(&m->ctx->arena, 2 + 3 * n, sizeof(onx_value *));
    if (!in) return onx_fail_nomem(m->ctx->diag);
    for (size_t i = 0; i < n; i++)
        if (!onx_coded_of(m->ctx, onx_node_input(m->node, i), &a) || !a.single ||
            a.dtype != m->q.dtype)
            return ONX_OK;
    *done = true;
    for (size_t i = 0; i < n; i++) {
        (void)onx_coded_of(m->ctx, onx_node_input(m->node, i), &a);
        ONX_TRY(onx_coded_zero(m->ctx, &a));
        in[2 + 3 * i] = a.x;
        in[3 + 3 * i] = a.scale;
        in[4 + 3 * i] = a.zero;
    }
    ONX_TRY(onx_coded_zero(m->ctx, &m->q));
    in[0] = m->q.scale;
    in[1] = m->q.zero;
    return become(m, MS "::QLinearConcat", 2 + 3 * n, in, true);
}

/* ─ Moves ────────────────────────────────────────────────────────────────────────────────────── */

/* Does it only move elements of input 0, or choose among them, whatever their type? */
static bool moves(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op) {
    static const struct {
        const char *op;
        int since; /* from which version on it takes bytes */
    } all[] = {{"Reshape", 5},      {"Transpose", 1},    {"Flatten", 9}, {"Squeeze", 1},
               {"Unsqueeze", 1},    {"Slice", 10},       {"Gather", 1},  {"MaxPool", 12},
               {"DepthToSpace", 1}, {"SpaceToDepth", 1}, {"Expand", 8},  {"Tile", 6}};
    (void)ctx;
    if (!op || op->domain || node->output.n != 1 || !onx_node_output(node, 0)) return false;
    for (size_t i = 0; i < ONX_COUNT(all); i++)
        if (onx_pass_is(op, all[i].op)) return op->since >= all[i].since;
    return false;
}

/* A new value like `like`, by its name, that nobody makes yet. */
static const char *name_like(onx_pass_ctx *ctx, onx_node *node, const onx_value *like) {
    (void)ctx;
    return onx_graph_new_name(node->graph, onx_value_name(like));
}

/* Move(DQ(x)): the move works on bytes, and a new DQ makes what it made. */
static onx_status dequantize_after(onx_pass_ctx *ctx, onx_node *node, const onx_coded *c) {
    onx_graph *graph = node->graph;
    onx_value *y = onx_node_output(node, 0);
    onx_value *in[ONX_RANK_MAX] = {c->x};
    const char *name = name_like(ctx, node, y);
    if (!name || node->input.n > ONX_COUNT(in)) return name ? ONX_OK : onx_fail_nomem(ctx->diag);
    for (size_t i = 1; i < node->input.n; i++) in[i] = onx_node_input(node, i);
    onx_node *moved = onx_graph_add_node(graph, onx_node_op(node), node->input.n, in, 1, &name);
    if (!moved || onx_node_move(moved, node)) return onx_fail_nomem(ctx->diag);
    ONX_TRY(onx_pass_copy_attrs(ctx, moved, node));
    onx_value *params[] = {onx_node_output(moved, 0), c->scale, c->zero};
    return onx_pass_remake(ctx, node, "DequantizeLinear", c->zero ? 3 : 2, params);
}

/* Q(Move(x)): Q comes first. */
static onx_status quantize_before(onx_pass_ctx *ctx, const onx_coded *q, onx_node *node,
                                  onx_node **made) {
    onx_graph *graph = node->graph;
    onx_value *in[ONX_RANK_MAX] = {onx_node_input(node, 0), q->scale, q->zero};
    const char *name = name_like(ctx, node, in[0]);
    if (!name || node->input.n > ONX_COUNT(in)) return name ? ONX_OK : onx_fail_nomem(ctx->diag);
    onx_node *first = onx_graph_add_node(graph, "QuantizeLinear", q->zero ? 3 : 2, in, 1, &name);
    if (!first || onx_node_move(first, node)) return onx_fail_nomem(ctx->diag);
    in[0] = onx_node_output(first, 0);
    for (size_t i = 1; i < node->input.n; i++) in[i] = onx_node_input(node, i);
    ONX_TRY(onx_pass_copy_attrs(ctx, first, q->node));
    ONX_TRY(onx_pass_remake(ctx, q->node, onx_node_op(node), node->input.n, in));
    ONX_TRY(onx_pass_copy_attrs(ctx, q->node, node));
    *made = first;
    return onx_pass_remove(ctx, node);
}

/* ─ Walking ──────────────────────────────────────────────────────────────────────────────────── */

typedef onx_status visitor(match *m, bool *done);
static visitor *const visitors[] = {visit_conv,   visit_matmul, visit_gemm,
                                    visit_binary, visit_pool,   visit_concat};

static onx_status visit_quantize(onx_pass_ctx *ctx, const onx_coded *q) {
    match m = {.ctx = ctx, .q = *q};
    onx_coded before;
    onx_node *made;
    bool done = false;
    if (onx_coded_of(ctx, q->x, &before) && onx_coded_same(ctx, &before, q))
        return onx_pass_replace(ctx, onx_node_output(q->node, 0), before.x, &done);
    ONX_TRY(onx_pairs_table(ctx, q->node, &done));
    if (done) return ONX_OK;
    m.node = source_of(ctx, q, &m.over);
    m.op = m.node ? onx_pass_op(ctx, m.node) : NULL;
    if (!m.op || m.op->domain) return ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(visitors) && !done; i++) ONX_TRY(visitors[i](&m, &done));
    if (done || m.over || !moves(ctx, m.node, m.op) || onx_pass_is(m.op, "MaxPool")) return ONX_OK;
    return quantize_before(ctx, q, m.node, &made);
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    onx_coded c;
    bool done;
    if (onx_coded_by(ctx, node, &c)) return visit_quantize(ctx, &c);
    if (onx_pairs_maps_bytes(ctx, node)) return onx_pairs_table(ctx, node, &done);
    if (!moves(ctx, node, onx_pass_op(ctx, node))) return ONX_OK;
    bool bytes = onx_coded_of(ctx, onx_node_input(node, 0), &c) && c.single &&
                 c.dtype != ONX_DTYPE_I32 && !onx_pass_constant(ctx, c.x);
    return bytes ? dequantize_after(ctx, node, &c) : ONX_OK;
}

static bool has_pairs(const onx_pass_ctx *ctx, const onx_graph *graph) {
    for (const onx_node *node = onx_graph_node_first(graph); node; node = onx_node_next(node))
        if (onx_pass_named(ctx, node, "DequantizeLinear")) return true;
    return false;
}

extern onx_pass_fn onx_lower_pairs;
onx_status onx_lower_pairs(onx_pass_ctx *ctx, onx_graph *graph) {
    if (ctx->model->ir_version < 4 || !has_pairs(ctx, graph)) return ONX_OK;
    for (int round = 0; round < ROUNDS; round++) {
        size_t before = ctx->changes;
        for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
            next = onx_node_next(node);
            ONX_TRY(visit(ctx, node));
        }
        ONX_TRY(onx_lower_sweep(ctx, graph));
        if (ctx->changes == before) return ONX_OK;
        if (onx_model_set_opset(ctx->model, MS, 1) ||
            onx_model_set_opset(ctx->model, ONX_INTERNAL, 1))
            return onx_fail_nomem(ctx->diag);
        ONX_TRY(onx_pass_refresh(ctx));
    }
    return ONX_OK;
}

/* ─ Constants ────────────────────────────────────────────────────────────────────────────────── */

static onx_status compute(onx_pass_ctx *ctx, onx_node *node) {
    const onx_tensor *in[3];
    onx_tensor *out;
    uint64_t count;
    if (!onx_node_input(node, 0) || node->input.n > ONX_COUNT(in) || node->output.n != 1)
        return ONX_OK;
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        in[i] = onx_pass_constant(ctx, value);
        if (value && !in[i]) return ONX_OK;
    }
    if (onx_tensor_count(in[0], &count, NULL) || count > SIZE_MAX / 4 ||
        !onx_pass_afford(ctx, (size_t)count * 4))
        return ONX_OK;
    onx_status status = ctx->eval(ctx->user, node, node->input.n, in, 1, &out);
    if (status) {
        bool stop = status == ONX_NO_MEMORY || status == ONX_CANCELLED;
        return stop ? onx_fail(ctx->diag, status, "a constant could not be computed") : ONX_OK;
    }
    status = onx_pass_become(ctx, node, (const onx_tensor *const *)&out);
    onx_tensor_free(out);
    return status;
}

extern onx_pass_fn onx_lower_dequantize;
onx_status onx_lower_dequantize(onx_pass_ctx *ctx, onx_graph *graph) {
    size_t before = ctx->changes;
    for (onx_node *node = onx_graph_node_first(graph), *next; node && ctx->eval; node = next) {
        next = onx_node_next(node);
        const onx_op *op = onx_pass_op(ctx, node);
        if (onx_pass_is(op, "DequantizeLinear")) ONX_TRY(compute(ctx, node));
    }
    return ctx->changes == before ? ONX_OK : onx_pass_refresh(ctx);
}
