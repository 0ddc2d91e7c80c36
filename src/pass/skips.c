/* skips.c: SkipLayerNormalization of com.microsoft, and its simplified form, as sums that are
 * normalized: LayerNormalization or RMSNormalization (Add (Add (x, skip), bias), gamma, beta).
 * Those whose statistics somebody wants stay. */
#include "ir/edit.h"
#include "pass/pass.h"

static bool is_floats(const onx_pass_ctx *ctx, const onx_value *x, size_t least) {
    const onx_fact *f = onx_pass_fact(ctx, x);
    return f->kind == ONX_TYPE_TENSOR && f->dtype == ONX_DTYPE_F32 && f->ranked && f->rank >= least;
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node, const onx_op *op, bool centred) {
    size_t bias = centred ? 4 : 3;
    float epsilon = onx_op_float(op, node, "epsilon");
    onx_value *in[3] = {onx_node_input(node, 0), onx_node_input(node, 1)};
    onx_value *sum, *all = onx_node_output(node, 3);
    bool done = true;
    for (size_t i = 1; i < 3; i++)
        if (onx_node_output(node, i)) return ONX_OK;
    for (size_t i = 0; i < node->input.n; i++)
        if (onx_node_input(node, i) && !is_floats(ctx, onx_node_input(node, i), i < 2 ? 2 : 1))
            return ONX_OK;
    bool fits = onx_node_output(node, 0) && onx_model_opset(ctx->model, "") >= 7 &&
                onx_pass_fact(ctx, in[1])->rank <= onx_pass_fact(ctx, in[0])->rank &&
                !(all && onx_pass_held(ctx, all));
    const char *norm = !fits ? NULL
                             : onx_pass_pick(ctx,
                                             centred ? "onx.internal::LayerNormalization"
                                                     : "onx.internal::RMSNormalization",
                                             centred ? 17 : 23);
    if (!norm) return ONX_OK;
    ONX_TRY(onx_pass_add_node(ctx, node, "Add", 2, in, &sum));
    in[0] = sum;
    if ((in[1] = onx_node_input(node, bias)))
        ONX_TRY(onx_pass_add_node(ctx, node, "Add", 2, in, &sum));
    if (all) ONX_TRY(onx_pass_replace(ctx, all, sum, &done));
    if (!done) return ONX_OK;
    while (node->output.n > 1) ONX_TRY(onx_node_remove_output(node, ctx->diag));
    in[0] = sum;
    in[1] = onx_node_input(node, 2);
    in[2] = centred ? onx_node_input(node, 3) : NULL;
    ONX_TRY(onx_pass_remake(ctx, node, norm, in[2] ? 3 : 2, in));
    bool set = !onx_node_set_int(node, "axis", -1) && !onx_node_set_float(node, "epsilon", epsilon);
    return set ? ONX_OK : onx_fail_nomem(ctx->diag);
}

extern onx_pass_fn onx_pass_skips;
onx_status onx_pass_skips(onx_pass_ctx *ctx, onx_graph *graph) {
    ONX_EACH (onx_node, node, graph->node) {
        const onx_op *op = onx_pass_op(ctx, node);
        bool centred = onx_pass_is_microsoft(op, "SkipLayerNormalization");
        if (centred || onx_pass_is_microsoft(op, "SkipSimplifiedLayerNormalization"))
            ONX_TRY(visit(ctx, node, op, centred));
    }
    return ONX_OK;
}
