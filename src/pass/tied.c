/* tied.c: a product with the transposition of a large constant that is needed as it is, too: the
 * table of embeddings that also makes logits. Folding would keep it twice; Gemm reads it turned:
 *
 *     MatMul(x, Transpose(W)) = Reshape(Gemm(Reshape(x, [-1, K]), W, transB = 1), […, N])
 */
#include "pass/pass.h"

/* The constant that input 1 of the node is the transposition of; NULL: it is something else, or
 * folding does no harm. */
static onx_value *turned_constant(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_value *b = onx_node_input(node, 1);
    const onx_node *turn = b ? b->def : NULL;
    size_t n = 0, bytes;
    if (!turn || turn->graph != node->graph || !onx_pass_named(ctx, turn, "Transpose")) return NULL;
    const int64_t *perm = onx_op_ints(turn, "perm", &n);
    onx_value *w = onx_node_input(turn, 0);
    const onx_tensor *constant = onx_pass_constant(ctx, w);
    if (!constant || w->n_uses < 2 || onx_tensor_rank(constant) != 2) return NULL;
    if (perm && (n != 2 || perm[0] != 1 || perm[1] != 0)) return NULL;
    if (onx_tensor_bytes(constant, &bytes, NULL) || bytes <= ctx->fold_bytes) return NULL;
    return w;
}

/* The shape of the result: constant, or made of that of x. */
static onx_status shape_of(onx_pass_ctx *ctx, onx_node *node, onx_value *x, int64_t width,
                           onx_value **out) {
    onx_graph *graph = node->graph;
    onx_value *first, *last, *columns, *sizes, *head;
    static const int64_t zero = 0, before_last = -1;
    ONX_TRY(onx_pass_add_ints(ctx, graph, "first", 1, &zero, &first));
    ONX_TRY(onx_pass_add_ints(ctx, graph, "last", 1, &before_last, &last));
    ONX_TRY(onx_pass_add_ints(ctx, graph, "columns", 1, &width, &columns));
    ONX_TRY(onx_pass_add_node(ctx, node, "Shape", 1, &x, &sizes));
    ONX_TRY(
        onx_pass_add_node(ctx, node, "Slice", 3, (onx_value *const[]){sizes, first, last}, &head));
    ONX_TRY(onx_pass_add_node(ctx, node, "Concat", 2, (onx_value *const[]){head, columns}, out));
    return onx_node_set_int((*out)->def, "axis", 0) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

static onx_status rewrite(onx_pass_ctx *ctx, onx_node *node, onx_value *w) {
    const onx_tensor *constant = onx_pass_constant(ctx, w);
    int64_t flat[] = {-1, onx_tensor_dim(constant, 1)};
    onx_value *x = onx_node_input(node, 0), *flat_shape, *rows, *product, *shape;
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "flat", 2, flat, &flat_shape));
    ONX_TRY(onx_pass_add_node(ctx, node, "Reshape", 2, (onx_value *const[]){x, flat_shape}, &rows));
    ONX_TRY(onx_pass_add_node(ctx, node, "Gemm", 2, (onx_value *const[]){rows, w}, &product));
    if (onx_node_set_int(product->def, "transB", 1)) return onx_fail_nomem(ctx->diag);
    ONX_TRY(shape_of(ctx, node, x, onx_tensor_dim(constant, 0), &shape));
    ONX_TRY(onx_pass_remake(ctx, node, "Reshape", 2, (onx_value *const[]){product, shape}));
    return onx_node_set_int(node, "allowzero", 1) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

extern onx_pass_fn onx_pass_tied;
onx_status onx_pass_tied(onx_pass_ctx *ctx, onx_graph *graph) {
    if (onx_model_opset(ctx->model, "") < 14 || !onx_pass_takes_constants(graph))
        return ONX_OK; /* sizes of 0 could not be told from those that stay */
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        if (!onx_pass_named(ctx, node, "MatMul")) continue;
        onx_value *w = turned_constant(ctx, node);
        const onx_fact *x = onx_pass_fact(ctx, onx_node_input(node, 0));
        if (w && x->kind == ONX_TYPE_TENSOR && x->ranked && x->rank > 1)
            ONX_TRY(rewrite(ctx, node, w));
    }
    return ONX_OK;
}
