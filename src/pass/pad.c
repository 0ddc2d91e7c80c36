/* pad.c: zeros around what a convolution reads become its own padding. */
#include "pass/pass.h"

/* The pads of a Pad of zeros around the last dimensions; false: it is something else. */
static bool read_pad(const onx_pass_ctx *ctx, const onx_node *node, size_t rank, int64_t *pads) {
    size_t n;
    const onx_op *op = onx_pass_op(ctx, node);
    const onx_value *value = onx_node_input(node, 2);
    if (!onx_pass_is(op, "Pad") || op->since < 2 || onx_node_input(node, 3)) return false;
    if (!onx_str_is(onx_op_string(op, node, "mode"), "constant")) return false;
    if (value && !onx_pass_is_uniform(ctx, value, 0)) return false;
    if (op->since < 11 && onx_op_float(op, node, "value") != 0) return false;
    if (!onx_pass_ints(ctx, node, "pads", 1, 2 * ONX_RANK_MAX, pads, &n) || n != 2 * rank)
        return false;
    for (size_t i = 0; i < n; i++)
        if (pads[i] < 0 || pads[i] > INT32_MAX || (i % rank < 2 && pads[i])) return false;
    return true;
}

/* Both together, as the convolution writes them. */
static bool add_pads(const onx_node *conv, size_t rank, const int64_t *pads, int64_t *out) {
    size_t n = 0, spatial = rank - 2;
    const int64_t *own = onx_op_ints(conv, "pads", &n);
    if (own && n != 2 * spatial) return false;
    for (size_t i = 0; i < 2 * spatial; i++) {
        int64_t more = pads[i / spatial * rank + 2 + i % spatial];
        if (!onx_add_i64(own ? own[i] : 0, more, &out[i])) return false;
    }
    return true;
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *conv) {
    const onx_op *op = onx_pass_op(ctx, conv);
    const onx_value *x = onx_node_input(conv, 0);
    const onx_fact *fact = onx_pass_fact(ctx, x);
    int64_t pads[2 * ONX_RANK_MAX], sum[2 * ONX_RANK_MAX];
    onx_node *pad = x ? x->def : NULL;
    if (!onx_pass_is(op, "Conv") || !pad || pad->graph != conv->graph) return ONX_OK;
    if (!onx_str_is(onx_op_string(op, conv, "auto_pad"), "NOTSET") || !fact->ranked ||
        fact->rank < 3 || fact->rank > ONX_RANK_MAX)
        return ONX_OK;
    if (!read_pad(ctx, pad, fact->rank, pads) || !add_pads(conv, fact->rank, pads, sum))
        return ONX_OK;
    ONX_TRY(onx_node_set_input(conv, 0, onx_node_input(pad, 0), ctx->diag));
    ctx->changes++, ctx->touched++;
    return onx_node_set_ints(conv, "pads", 2 * (fact->rank - 2), sum) ? onx_fail_nomem(ctx->diag)
                                                                      : ONX_OK;
}

extern onx_pass_fn onx_pass_pad;
onx_status onx_pass_pad(onx_pass_ctx *ctx, onx_graph *graph) {
    ONX_EACH (onx_node, node, graph->node) ONX_TRY(visit(ctx, node));
    return ONX_OK;
}
