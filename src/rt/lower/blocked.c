/* blocked.c: convolutional networks in the blocked layout (rt/kernel.h: onx_layout).
 *
 * A node that is understood gets a twin before it, that works on the blocked values, and itself
 * becomes the way back:
 *
 *     y = Conv(x, W)      y' = ConvBlocked(x', W)      x': the blocked twin of x, from the
 *                         y  = FromBlocked(y')             node that made x, or from a ToBlocked
 *
 * In the end what nobody wants is removed: ways back that nobody takes, twins that nobody reads. */
#include "rt/lower/blocked.h"

#include <stdio.h>

onx_value *onx_blocked_twin(const onx_blocked *b, const onx_value *value) {
    return value ? onx_map_get(&b->twins, value, (onx_str){0}) : NULL;
}

onx_status onx_blocked_set_twin(onx_blocked *b, const onx_value *value, onx_value *twin) {
    if (!onx_map_put(&b->twins, value, (onx_str){0}, twin)) return onx_fail_nomem(b->ctx->diag);
    return onx_pass_inherit(b->ctx, twin, value);
}

onx_status onx_blocked_take_name(onx_blocked *b, onx_node *node, const onx_node *from) {
    onx_status status = onx_node_set_name(node, from->name.size ? onx_node_name(from) : NULL);
    return status ? onx_fail_nomem(b->ctx->diag) : ONX_OK;
}

onx_status onx_blocked_add_twin(onx_blocked *b, const onx_value *value, const char *op, size_t n_in,
                                onx_value *const *in, onx_node *before, bool like) {
    onx_graph *graph = before->graph;
    char hint[100] = "blocked"; /* a name that is longer might be cut inside a character */
    if (value->name.size < 80)
        (void)snprintf(hint, sizeof hint, "%s_c%zu", onx_value_name(value), b->ctx->block);
    const char *name = onx_graph_new_name(graph, hint);
    onx_node *node = name ? onx_graph_add_node(graph, op, n_in, in, 1, &name) : NULL;
    if (!node || onx_node_move(node, before)) return onx_fail_nomem(b->ctx->diag);
    ONX_TRY(onx_blocked_take_name(b, node, before));
    if (like) ONX_TRY(onx_pass_copy_attrs(b->ctx, node, before));
    b->ctx->changes++;
    return onx_blocked_set_twin(b, value, onx_node_output(node, 0));
}

onx_status onx_blocked_need(onx_blocked *b, onx_value *value, onx_node *before, onx_value **out) {
    if (!onx_blocked_twin(b, value))
        ONX_TRY(
            onx_blocked_add_twin(b, value, ONX_INTERNAL "::ToBlocked", 1, &value, before, false));
    *out = onx_blocked_twin(b, value);
    return ONX_OK;
}

onx_status onx_blocked_back(onx_blocked *b, onx_node *node, onx_value *twin) {
    ONX_TRY(onx_blocked_set_twin(b, onx_node_output(node, 0), twin));
    return onx_pass_remake(b->ctx, node, ONX_INTERNAL "::FromBlocked", 1, &twin);
}

onx_status onx_blocked_replace(onx_blocked *b, onx_node *node, const char *op, size_t n_in,
                               onx_value *const *in, bool like) {
    const onx_value *out = onx_node_output(node, 0);
    ONX_TRY(onx_blocked_add_twin(b, out, op, n_in, in, node, like));
    return onx_blocked_back(b, node, onx_blocked_twin(b, out));
}

bool onx_blocked_image(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    return value && fact->kind == ONX_TYPE_TENSOR && fact->ranked && fact->rank == 4 &&
           fact->dtype == ONX_DTYPE_F32;
}

int64_t onx_blocked_size(const onx_pass_ctx *ctx, const onx_value *value, size_t index) {
    const onx_tensor *constant = onx_pass_constant(ctx, value);
    const onx_fact *fact = onx_pass_fact(ctx, value);
    size_t rank = constant ? onx_tensor_rank(constant) : fact->rank;
    int64_t dim;
    if (!constant && (fact->kind != ONX_TYPE_TENSOR || !fact->ranked)) return -1;
    if (index >= rank) return 1;
    if (constant) return onx_tensor_dim(constant, rank - 1 - index);
    const onx_sym *sym = fact->dims[rank - 1 - index];
    return sym && onx_sym_is_int(sym, &dim) ? dim : -1;
}

static onx_blocked_visit *const visitors[] = {
    onx_blocked_conv,    onx_blocked_add,         onx_blocked_clamp, onx_blocked_pool,
    onx_blocked_resize,  onx_blocked_join,        onx_blocked_split, onx_blocked_slice,
    onx_blocked_shuffle, onx_blocked_elementwise,
};

static onx_status visit(onx_blocked *b, onx_node *node) {
    const onx_op *op = onx_pass_op(b->ctx, node);
    bool done = !op || op->domain || !onx_node_output(node, 0);
    for (size_t i = 0; i < ONX_COUNT(visitors) && !done; i++)
        ONX_TRY(visitors[i](b, node, op, &done));
    return ONX_OK;
}

static onx_status walk(onx_blocked *b, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(b, node));
    }
    return b->ctx->changes ? onx_lower_sweep(b->ctx, graph) : ONX_OK;
}

extern onx_pass_fn onx_lower_blocked;
onx_status onx_lower_blocked(onx_pass_ctx *ctx, onx_graph *graph) {
    static const char *const needs[] = {"ConvBlocked", "ToBlocked", "FromBlocked"};
    if (!ctx->block) return ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(needs); i++)
        if (!onx_lower_has(ctx, needs[i])) return ONX_OK;
    onx_blocked *b = onx_arena_alloc(&ctx->arena, sizeof *b);
    if (!b) return onx_fail_nomem(ctx->diag);
    b->ctx = ctx;
    onx_map_init(&b->twins, ctx->arena.ctx);
    onx_status status = walk(b, graph);
    onx_map_fini(&b->twins);
    return status;
}
