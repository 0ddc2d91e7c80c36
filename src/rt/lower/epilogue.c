/* epilogue.c: MatMul and the elementwise work on its result to one onx.internal::MatMulTile,
 * Channels and that on its result to one Channels, and ConvBlocked and that on its result alone to
 * one ConvBlocked.
 *
 *     MatMulTile(A, B, operands …) { code, consts }     input 0 of the program is the product, the
 *                                                       others are the operands
 *     Channels(X …, operands …) { …, code, consts }
 *     ConvBlocked(X, W, B, R) { …, code, consts }       input 0 of the program is the result
 *
 * The program must leave the shape of the product as it is. */
#include "rt/lower/lower.h"

static bool is_matrix(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    return fact->kind == ONX_TYPE_TENSOR && fact->dtype == ONX_DTYPE_F32 && fact->ranked &&
           fact->rank >= 2;
}

static bool is_product(const onx_pass_ctx *ctx, const onx_node *node) {
    return onx_pass_is(onx_pass_op(ctx, node), "MatMul") && node->input.n == 2 &&
           node->output.n == 1 && onx_node_output(node, 0) &&
           is_matrix(ctx, onx_node_input(node, 0)) && is_matrix(ctx, onx_node_input(node, 1));
}

/* The program of a Tile, or of one node. */
static bool program_of(const onx_pass_ctx *ctx, onx_node *node, onx_tile_group *group) {
    if (!onx_lower_is(node, "Tile")) return onx_tile_group_init(group, ctx, node);
    if (node->input.n > ONX_TILE_INPUTS) return false;
    for (size_t i = 0; i < node->input.n; i++) group->in[i] = onx_node_input(node, i);
    return onx_tile_get(node, node->input.n, &group->program, NULL) == ONX_OK;
}

/* Input `at` of the program becomes the first; those before it move up. */
static void put_first(onx_tile_group *group, size_t at) {
    onx_tile_program *p = &group->program;
    for (size_t i = at; i > 0; i--) group->in[i] = group->in[i - 1];
    for (size_t i = 0; i < p->n_code; i++) {
        for (size_t k = 0; k < onx_tile_arity((onx_tile_op)p->code[i].op); k++) {
            uint8_t *operand = &p->code[i].args[k];
            if (*operand == at)
                *operand = 0;
            else if (*operand < at)
                ++*operand;
        }
    }
}

static onx_status fuse(onx_pass_ctx *ctx, onx_node *product, onx_node *user,
                       onx_tile_group *group) {
    size_t n = group->program.n_in, at = 0;
    onx_value *result = onx_node_output(product, 0);
    onx_value *in[ONX_TILE_INPUTS + 1] = {onx_node_input(product, 0), onx_node_input(product, 1)};
    while (at < n && group->in[at] != result) at++;
    if (at == n) return ONX_OK;
    put_first(group, at);
    for (size_t i = 1; i < n; i++) in[i + 1] = group->in[i];
    ONX_TRY(onx_pass_remake(ctx, user, ONX_INTERNAL "::MatMulTile", n + 1, in));
    if (onx_tile_put(&group->program, user)) return onx_fail_nomem(ctx->diag);
    return onx_pass_remove(ctx, product);
}

/* The user takes over inputs and attributes of the convolution. */
static onx_status fuse_conv(onx_pass_ctx *ctx, onx_node *conv, onx_node *user,
                            const onx_tile_group *group) {
    onx_value *in[4];
    size_t n = conv->input.n;
    for (size_t i = 0; i < n; i++) in[i] = onx_node_input(conv, i);
    ONX_TRY(onx_pass_remake(ctx, user, ONX_INTERNAL "::ConvBlocked", n, in));
    ONX_TRY(onx_pass_copy_attrs(ctx, user, conv));
    if (onx_tile_put(&group->program, user)) return onx_fail_nomem(ctx->diag);
    return onx_pass_remove(ctx, conv);
}

static onx_status visit_conv(onx_pass_ctx *ctx, onx_node *conv, onx_tile_group *group) {
    size_t index;
    onx_node *user = onx_pass_only_use(ctx, onx_node_output(conv, 0), &index);
    if (!user || onx_op_has(conv, "code") || conv->input.n > 4 || !program_of(ctx, user, group) ||
        group->program.n_in != 1 || onx_tile_dtype(&group->program) != ONX_DTYPE_F32)
        return ONX_OK;
    return fuse_conv(ctx, conv, user, group);
}

/* Inputs of the user that are not `result` follow those of the node. */
static onx_status fuse_channels(onx_pass_ctx *ctx, onx_node *node, onx_node *user,
                                onx_tile_group *group) {
    const onx_value *result = onx_node_output(node, 0);
    size_t n = node->input.n, more = group->program.n_in, at = 0;
    onx_value **in = onx_arena_array(&ctx->arena, n + more, sizeof *in);
    if (!in) return onx_fail_nomem(ctx->diag);
    while (at < more && group->in[at] != result) at++;
    if (at == more) return ONX_OK;
    put_first(group, at);
    for (size_t i = 0; i < n; i++) in[i] = onx_node_input(node, i);
    for (size_t i = 1; i < more; i++) in[n + i - 1] = group->in[i];
    ONX_TRY(onx_pass_remake(ctx, user, ONX_INTERNAL "::Channels", n + more - 1, in));
    ONX_TRY(onx_pass_copy_attrs(ctx, user, node));
    if (onx_tile_put(&group->program, user)) return onx_fail_nomem(ctx->diag);
    return onx_pass_remove(ctx, node);
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node, onx_tile_group *group) {
    size_t index;
    const onx_value *result = onx_node_output(node, 0);
    onx_node *user = onx_pass_only_use(ctx, result, &index);
    if (!user || !program_of(ctx, user, group)) return ONX_OK;
    if (onx_tile_dtype(&group->program) != ONX_DTYPE_F32) return ONX_OK;
    bool same = group->program.n_in == 1 ||
                onx_pass_same_shape(onx_pass_fact(ctx, result),
                                    onx_pass_fact(ctx, onx_node_output(user, 0)));
    if (!same || onx_op_has(node, "code")) return ONX_OK;
    bool channels = onx_lower_is(node, "Channels");
    return channels ? fuse_channels(ctx, node, user, group) : fuse(ctx, node, user, group);
}

extern onx_pass_fn onx_lower_epilogue;
onx_status onx_lower_epilogue(onx_pass_ctx *ctx, onx_graph *graph) {
    if (!onx_lower_has(ctx, "MatMulTile")) return ONX_OK;
    onx_tile_group *group = onx_arena_alloc(&ctx->arena, sizeof *group);
    if (!group) return onx_fail_nomem(ctx->diag);
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        if (is_product(ctx, node) || onx_lower_is(node, "Channels"))
            ONX_TRY(visit(ctx, node, group));
        if (onx_lower_is(node, "ConvBlocked")) ONX_TRY(visit_conv(ctx, node, group));
    }
    return ONX_OK;
}
