/* unexpand.c: what is expanded only to meet an operand of the full size is not: operators that
 * broadcast do it themselves. */
#include "pass/pass.h"

static bool broadcasts(const onx_op *op) {
    static const struct {
        const char *op;
        int32_t since;
    } rows[] = {
        {"Add", 7},          {"Sub", 7},
        {"Mul", 7},          {"Div", 7},
        {"Pow", 7},          {"Max", 8},
        {"Min", 8},          {"Sum", 8},
        {"Mean", 8},         {"Where", 9},
        {"Greater", 7},      {"Less", 7},
        {"Equal", 7},        {"GreaterOrEqual", 12},
        {"LessOrEqual", 12}, {"And", 7},
        {"Or", 7},
    };
    for (size_t i = 0; i < ONX_COUNT(rows); i++)
        if (onx_pass_is(op, rows[i].op) && op->since >= rows[i].since) return true;
    return false;
}

/* Has another input the shape of the result? */
static bool has_full(const onx_pass_ctx *ctx, const onx_node *node, size_t but) {
    const onx_fact *out = onx_pass_fact(ctx, onx_node_output(node, 0));
    for (size_t i = 0; i < node->input.n; i++)
        if (i != but && onx_pass_same_shape(onx_pass_fact(ctx, onx_node_input(node, i)), out))
            return true;
    return false;
}

extern onx_pass_fn onx_pass_unexpand;
onx_status onx_pass_unexpand(onx_pass_ctx *ctx, onx_graph *graph) {
    ONX_EACH (onx_node, node, graph->node) {
        if (!broadcasts(onx_pass_op(ctx, node))) continue;
        for (size_t i = 0; i < node->input.n; i++) {
            const onx_value *in = onx_node_input(node, i);
            const onx_node *expand = in ? in->def : NULL;
            if (!expand || expand->graph != graph || !onx_pass_named(ctx, expand, "Expand"))
                continue;
            if (!has_full(ctx, node, i)) continue;
            ONX_TRY(onx_node_set_input(node, i, onx_node_input(expand, 0), ctx->diag));
            ctx->changes++, ctx->touched++;
        }
    }
    return ONX_OK;
}
