/* neutral.c: arithmetic that changes nothing makes way for its operand: x + 0, x - 0, x * 1, x / 1,
 * x ^ 1, and Where that always takes one side. -0 + 0 is 0: so it is no rewrite that keeps every
 * bit. */
#include "pass/pass.h"

static const struct {
    const char *op;
    double neutral;
    bool either; /* also as first operand */
} rules[] = {
    {"Add", 0, true}, {"Sub", 0, false}, {"Mul", 1, true}, {"Div", 1, false}, {"Pow", 1, false}};

/* Is the result as large as the operand, and of its type? */
static bool is_like(const onx_pass_ctx *ctx, const onx_node *node, const onx_value *operand) {
    const onx_fact *in = onx_pass_fact(ctx, operand);
    const onx_fact *out = onx_pass_fact(ctx, onx_node_output(node, 0));
    return onx_pass_same_type(in, out) && onx_pass_same_shape(in, out);
}

static onx_value *operand_of(const onx_pass_ctx *ctx, const onx_node *node, size_t rule) {
    for (size_t i = 0; i < 2; i++) {
        onx_value *x = onx_node_input(node, i);
        if ((i == 0 || rules[rule].either) && x && is_like(ctx, node, x) &&
            onx_pass_is_uniform(ctx, onx_node_input(node, 1 - i), rules[rule].neutral))
            return x;
    }
    return NULL;
}

/* The side that a Where always takes; NULL: it depends. */
static onx_value *side_of(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_value *condition = onx_node_input(node, 0);
    for (size_t i = 0; i < 2; i++) {
        onx_value *side = onx_node_input(node, 2 - i);
        if (onx_pass_is_uniform(ctx, condition, (double)i) && side && is_like(ctx, node, side))
            return side;
    }
    return NULL;
}

static onx_value *same_as(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_op *op = onx_pass_op(ctx, node);
    if (!op || op->domain || node->output.n != 1) return NULL;
    if (onx_pass_is(op, "Where")) return side_of(ctx, node);
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (onx_pass_is(op, rules[i].op) && op->since >= 7) return operand_of(ctx, node, i);
    return NULL;
}

extern onx_pass_fn onx_pass_neutral;
onx_status onx_pass_neutral(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        onx_value *in = same_as(ctx, node), *out = onx_node_output(node, 0);
        bool done = false;
        if (in && onx_pass_can_replace(ctx, out, in))
            ONX_TRY(onx_pass_replace(ctx, out, in, &done));
        if (done) ONX_TRY(onx_pass_remove(ctx, node));
    }
    return ONX_OK;
}
