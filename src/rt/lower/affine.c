/* affine.c: BatchNormalization to Mul and Add, which go on into tiles and blocked layouts. */
#include "rt/lower/lower.h"

static onx_status split(onx_pass_ctx *ctx, onx_node *node, size_t rank, int64_t channels,
                        const float *factors, const float *offsets) {
    onx_graph *graph = node->graph;
    int64_t dims[ONX_RANK_MAX] = {channels, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    onx_value *x = onx_node_input(node, 0), *y = onx_node_output(node, 0), *factor, *offset;
    ONX_TRY(onx_pass_add_floats(ctx, graph, "factor", rank - 1, dims, factors, &factor));
    ONX_TRY(onx_pass_add_floats(ctx, graph, "offset", rank - 1, dims, offsets, &offset));
    onx_value *scaled = onx_graph_add_op(graph, "Mul", NULL, x, factor);
    if (!scaled || onx_node_move(scaled->def, node)) return onx_fail_nomem(ctx->diag);
    ONX_TRY(onx_pass_inherit(ctx, scaled, y));
    return onx_pass_remake(ctx, node, "Add", 2, (onx_value *const[]){scaled, offset});
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    const onx_op *op = onx_pass_op(ctx, node);
    const onx_fact *x = onx_pass_fact(ctx, onx_node_input(node, 0));
    const onx_tensor *scale = onx_pass_constant(ctx, onx_node_input(node, 1));
    float *factors, *offsets;
    if (!onx_pass_is(op, "BatchNormalization") || !scale || onx_tensor_rank(scale) != 1)
        return ONX_OK;
    if (x->kind != ONX_TYPE_TENSOR || x->dtype != ONX_DTYPE_F32 || !x->ranked) return ONX_OK;
    if (x->rank < 2 || x->rank > ONX_RANK_MAX || !onx_node_output(node, 0)) return ONX_OK;
    int64_t channels = onx_tensor_dim(scale, 0), c;
    if (!x->dims[1] || !onx_sym_is_int(x->dims[1], &c) || c != channels) return ONX_OK;
    if (!onx_pass_batchnorm_factors(ctx, node, op, channels, &factors, &offsets)) return ONX_OK;
    return split(ctx, node, x->rank, channels, factors, offsets);
}

extern onx_pass_fn onx_lower_affine;
onx_status onx_lower_affine(onx_pass_ctx *ctx, onx_graph *graph) {
    if (!onx_lower_has(ctx, "Tile") || onx_model_opset(ctx->model, "") < 7) return ONX_OK;
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(ctx, node));
    }
    return ONX_OK;
}
