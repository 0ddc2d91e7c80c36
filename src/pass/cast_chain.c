/* cast_chain.c: a Cast of what was cast from a smaller type casts that itself: where the first one
 * loses nothing, it makes no difference. */
#include "pass/pass.h"

/* Bits of the integers that a type holds, all of them; of floats also the exponent's bits. */
typedef struct extent {
    unsigned char whole, exponent;
    bool negative;
} extent;

static const extent extents[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_BOOL] = {1, 0, false}, [ONX_DTYPE_U8] = {8, 0, false},
    [ONX_DTYPE_I8] = {7, 0, true},    [ONX_DTYPE_U16] = {16, 0, false},
    [ONX_DTYPE_I16] = {15, 0, true},  [ONX_DTYPE_U32] = {32, 0, false},
    [ONX_DTYPE_I32] = {31, 0, true},  [ONX_DTYPE_U64] = {64, 0, false},
    [ONX_DTYPE_I64] = {63, 0, true},  [ONX_DTYPE_F16] = {11, 5, true},
    [ONX_DTYPE_BF16] = {8, 8, true},  [ONX_DTYPE_F32] = {24, 8, true},
    [ONX_DTYPE_F64] = {53, 11, true},
};

/* Is every value of `from` also one of `to`? Integers in floats have no exponent to lose. */
static bool is_within(onx_dtype from, onx_dtype to) {
    if (from >= ONX_DTYPE_COUNT || to >= ONX_DTYPE_COUNT || to == ONX_DTYPE_BOOL) return false;
    const extent *a = &extents[from], *b = &extents[to];
    return a->whole && a->whole <= b->whole && a->exponent <= b->exponent &&
           (b->negative || !a->negative);
}

/* Texts show the type that they come from, and integers wrap where floats do not. */
static bool is_same_from(onx_dtype from, onx_dtype middle, onx_dtype to) {
    if (to >= ONX_DTYPE_COUNT || to == ONX_DTYPE_STRING) return false;
    bool floats = extents[to].exponent || to == ONX_DTYPE_BOOL;
    return floats || !extents[from].exponent == !extents[middle].exponent || is_within(from, to);
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    const onx_value *middle = onx_node_input(node, 0);
    const onx_node *first = middle ? middle->def : NULL;
    if (!onx_pass_named(ctx, node, "Cast") || !first || first->graph != node->graph ||
        !onx_pass_named(ctx, first, "Cast"))
        return ONX_OK;
    onx_value *x = onx_node_input(first, 0);
    const onx_fact *from = onx_pass_fact(ctx, x), *to = onx_pass_fact(ctx, middle);
    if (!x || from->kind != ONX_TYPE_TENSOR || to->kind != ONX_TYPE_TENSOR) return ONX_OK;
    if (!is_within(from->dtype, to->dtype)) return ONX_OK;
    const onx_fact *last = onx_pass_fact(ctx, onx_node_output(node, 0));
    if (!is_same_from(from->dtype, to->dtype, last->dtype)) return ONX_OK;
    ctx->changes++, ctx->touched++;
    return onx_node_set_input(node, 0, x, ctx->diag);
}

extern onx_pass_fn onx_pass_cast;
onx_status onx_pass_cast(onx_pass_ctx *ctx, onx_graph *graph) {
    if (onx_model_opset(ctx->model, "") < 6) return ONX_OK; /* `to` was a string */
    ONX_EACH (onx_node, node, graph->node) ONX_TRY(visit(ctx, node));
    return ONX_OK;
}
