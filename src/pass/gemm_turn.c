/* gemm_turn.c: Gemm takes its operands turned as well as not: transpositions before it go. */
#include "pass/pass.h"

/* What the value is the transposition of; NULL: it is none of a matrix. */
static onx_value *turned_matrix(const onx_pass_ctx *ctx, const onx_node *user,
                                const onx_value *value) {
    const onx_node *turn = value ? value->def : NULL;
    size_t n = 0;
    if (!turn || turn->graph != user->graph || !onx_pass_named(ctx, turn, "Transpose")) return NULL;
    const int64_t *perm = onx_op_ints(turn, "perm", &n);
    if (perm && (n != 2 || perm[0] != 1 || perm[1] != 0)) return NULL;
    return onx_node_input(turn, 0); /* of two dimensions, for Gemm takes no others */
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    static const char *const attributes[] = {"transA", "transB"};
    const onx_op *op = onx_pass_op(ctx, node);
    for (size_t i = 0; i < 2 && onx_pass_is(op, "Gemm"); i++) {
        onx_value *x = turned_matrix(ctx, node, onx_node_input(node, i));
        if (!x) continue;
        bool turned = onx_op_int(op, node, attributes[i]) != 0;
        ONX_TRY(onx_node_set_input(node, i, x, ctx->diag));
        if (onx_node_set_int(node, attributes[i], !turned)) return onx_fail_nomem(ctx->diag);
        ctx->changes++, ctx->touched++;
    }
    return ONX_OK;
}

extern onx_pass_fn onx_pass_gemm;
onx_status onx_pass_gemm(onx_pass_ctx *ctx, onx_graph *graph) {
    ONX_EACH (onx_node, node, graph->node) ONX_TRY(visit(ctx, node));
    return ONX_OK;
}
