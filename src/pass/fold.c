/* fold.c: nodes whose inputs are constants are computed now. Bounded: a result larger than the
 * constants that go with the node (in a session: than what goes in) may have fold_bytes at most,
 * all together must stay in proportion to the model, and sizes must be known before. */
#include "pass/pass.h"

/* Operators to keep: the engine computes with the quantized form. */
static bool is_kept(const onx_op *op) {
    return onx_pass_is(op, "DequantizeLinear");
}

static bool collect_inputs(const onx_pass_ctx *ctx, const onx_node *node, const onx_tensor **in) {
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        in[i] = onx_pass_constant(ctx, value);
        if (value && !in[i]) return false;
    }
    return true;
}

static bool fact_bytes(const onx_fact *fact, size_t *bytes) {
    uint64_t count = 1;
    if (fact->kind != ONX_TYPE_TENSOR || !fact->ranked) return false;
    for (size_t i = 0; i < fact->rank; i++) {
        int64_t dim;
        if (!fact->dims[i] || !onx_sym_is_int(fact->dims[i], &dim) || dim < 0) return false;
        if (__builtin_mul_overflow(count, (uint64_t)dim, &count)) return false;
    }
    return onx_dtype_bytes(fact->dtype, count, bytes);
}

/* Is the constant needed elsewhere, too? In a session speed counts more. */
static bool stays(const onx_pass_ctx *ctx, const onx_value *value) {
    return !ctx->has_kernel && (value->n_uses > 1 || onx_pass_held(ctx, value));
}

static bool is_small(onx_pass_ctx *ctx, const onx_node *node, const onx_tensor *const *in) {
    size_t bytes, before = 0, after = 0;
    for (size_t i = 0; i < node->input.n; i++) {
        if (!in[i] || stays(ctx, onx_node_input(node, i))) continue;
        if (onx_tensor_bytes(in[i], &bytes, NULL) || !onx_add_size(before, bytes, &before))
            return false;
    }
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *out = onx_node_output(node, i);
        if (!out) continue;
        if (!fact_bytes(onx_pass_fact(ctx, out), &bytes) || !onx_add_size(after, bytes, &after))
            return false;
    }
    return (after <= ctx->fold_bytes || after <= before) && onx_pass_afford(ctx, after);
}

/* The tensor of a Constant node, in whichever attribute it is. */
static const onx_tensor *written(const onx_pass_ctx *ctx, const onx_op *op, const onx_node *node) {
    if (!onx_pass_is(op, "Constant") || node->output.n != 1) return NULL;
    const onx_attr *attr = onx_node_attr(node, "value");
    if (attr && attr->type == ONX_ATTR_TENSOR) return attr->t;
    return onx_pass_constant(ctx, onx_node_output(node, 0));
}

static onx_status compute(onx_pass_ctx *ctx, onx_node *node, const onx_tensor *const *in) {
    size_t n = node->output.n;
    onx_tensor **out = onx_arena_array(&ctx->arena, n, sizeof(onx_tensor *));
    if (!out) return onx_fail_nomem(ctx->diag);
    onx_status status = ctx->eval(ctx->user, node, node->input.n, in, n, out);
    if (status) {
        bool stop = status == ONX_NO_MEMORY || status == ONX_CANCELLED;
        return stop ? onx_fail(ctx->diag, status, "a constant could not be computed") : ONX_OK;
    }
    status = onx_pass_become(ctx, node, (const onx_tensor *const *)out);
    for (size_t i = 0; i < n; i++) onx_tensor_free(out[i]);
    return status;
}

/* What nobody reads will go, and may be large. */
static bool is_read(const onx_pass_ctx *ctx, const onx_node *node) {
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *out = onx_node_output(node, i);
        if (out && (out->n_uses || onx_pass_held(ctx, out))) return true;
    }
    return false;
}

static onx_status fold(onx_pass_ctx *ctx, onx_node *node, const onx_op *op) {
    const onx_tensor *constant = written(ctx, op, node);
    if (constant) return onx_pass_become(ctx, node, &constant);
    const onx_tensor **in = onx_arena_array(&ctx->arena, node->input.n, sizeof(onx_tensor *));
    if (!in) return onx_fail_nomem(ctx->diag);
    if (!ctx->eval || !is_read(ctx, node) || !collect_inputs(ctx, node, in)) return ONX_OK;
    return is_small(ctx, node, in) ? compute(ctx, node, in) : ONX_OK;
}

extern onx_pass_fn onx_pass_fold;
onx_status onx_pass_fold(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        const onx_op *op = onx_pass_op(ctx, node);
        if (onx_pass_pure(op, node) && !op->domain && !is_kept(op)) ONX_TRY(fold(ctx, node, op));
    }
    return ONX_OK;
}
