/* dce.c: nodes, their last results, and initializers that nothing needs go. Nodes come from the
 * last to the first, and graphs from the inside out, so what only they needed goes in the same
 * walk. */
#include "ir/edit.h"
#include "pass/pass.h"

static bool is_wanted(const onx_pass_ctx *ctx, const onx_value *value) {
    return onx_value_is_needed(value) || onx_value_is_output(value) ||
           (ctx->pinned && ctx->pinned(ctx->user, value));
}

static bool is_dead(const onx_pass_ctx *ctx, const onx_node *node) {
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *value = onx_node_output(node, i);
        if (value && is_wanted(ctx, value)) return false;
    }
    return true;
}

/* Results at the end that the operator need not give, and nobody wants. How many results a
 * BatchNormalization has tells whether it is in training. */
static onx_status drop_outputs(onx_pass_ctx *ctx, onx_node *node) {
    const onx_value *last = onx_node_output(node, node->output.n - 1);
    const onx_op *op = onx_pass_op(ctx, node);
    onx_signature signature;
    if ((last && is_wanted(ctx, last)) || !op || onx_pass_is(op, "BatchNormalization"))
        return ONX_OK;
    ONX_TRY(onx_signature_parse(op, &ctx->arena, &signature, ctx->diag));
    while (node->output.n > 1 && node->output.n <= signature.n_outputs) {
        const onx_param *param = &signature.outputs[node->output.n - 1];
        last = onx_node_output(node, node->output.n - 1);
        if (!param->optional || param->variadic || (last && is_wanted(ctx, last))) break;
        ONX_TRY(onx_node_remove_output(node, ctx->diag));
        ctx->changes++, ctx->touched++;
    }
    return ONX_OK;
}

static onx_status remove_initializer(onx_pass_ctx *ctx, onx_graph *graph, onx_tensor *values) {
    onx_value *value = values && values->ref ? values->ref->value : NULL;
    if (!value || value->input || is_wanted(ctx, value)) return ONX_OK;
    ctx->changes++, ctx->touched++;
    return onx_graph_remove_initializer(graph, value, ctx->diag);
}

extern onx_pass_fn onx_pass_dce;
onx_status onx_pass_dce(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_last(graph), *prev; node; node = prev) {
        prev = onx_node_prev(node);
        if (is_dead(ctx, node))
            ONX_TRY(onx_pass_remove(ctx, node));
        else if (node->output.n > 1)
            ONX_TRY(drop_outputs(ctx, node));
    }
    for (onx_tensor *t = onx_graph_initializer_first(graph), *next; t; t = next) {
        next = onx_tensor_next(t);
        ONX_TRY(remove_initializer(ctx, graph, t));
    }
    for (onx_msg *m = graph->sparse_initializer.first, *next; m; m = next) {
        next = m->next;
        ONX_TRY(remove_initializer(ctx, graph, ((onx_sparse *)m)->values));
    }
    return ONX_OK;
}
