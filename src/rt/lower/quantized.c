/* quantized.c: quantized images with their channels last.
 *
 * A node that is understood gets a twin before it that works on values with their channels last,
 * and itself becomes the way back, as in blocked.c:
 *
 *     y = QLinearConv(x, …)      y' = onx.internal::QConv(x', …)      x': the twin of x, or
 *                                y  = Transpose(y')                       Transpose(x)
 *
 * Nodes that work element by element take twins as they are; pools and QLinearConcat are told where
 * the channels are. In the end the ways back that nobody takes are removed. Bytes stay the same. */
#include "rt/lower/lower.h"

#include <stdio.h>

#define MS "com.microsoft"

typedef struct quantized {
    onx_pass_ctx *ctx;
    onx_map twins; /* value to the one with its channels last */
} quantized;

static onx_value *twin_of(const quantized *q, const onx_value *value) {
    return value ? onx_map_get(&q->twins, value, (onx_str){0}) : NULL;
}

static onx_status no_memory(const quantized *q) {
    return onx_fail_nomem(q->ctx->diag);
}

static bool is_ms(const onx_op *op, const char *name) {
    return op->domain && strcmp(op->domain, MS) == 0 && strcmp(op->name, name) == 0;
}

static bool is_image(const quantized *q, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(q->ctx, value);
    return value && fact->kind == ONX_TYPE_TENSOR && fact->ranked && fact->rank == 4 &&
           (fact->dtype == ONX_DTYPE_U8 || fact->dtype == ONX_DTYPE_I8);
}

/* A node before `before`, with its name, whose output is the twin of `value`. */
static onx_status add_twin(quantized *q, const onx_value *value, const char *op, size_t n_in,
                           onx_value *const *in, onx_node *before, onx_node **out) {
    char hint[100] = "last"; /* a name that is longer might be cut inside a character */
    if (value->name.size < 80) (void)snprintf(hint, sizeof hint, "%s_last", onx_value_name(value));
    const char *name = onx_graph_new_name(before->graph, hint);
    onx_node *node = name ? onx_graph_add_node(before->graph, op, n_in, in, 1, &name) : NULL;
    if (!node || onx_node_move(node, before) ||
        onx_node_set_name(node, before->name.size ? onx_node_name(before) : NULL) ||
        !onx_map_put(&q->twins, value, (onx_str){0}, onx_node_output(node, 0)))
        return no_memory(q);
    q->ctx->changes++;
    *out = node;
    return ONX_OK;
}

static onx_status need_twin(quantized *q, onx_value *value, onx_node *before, onx_value **out) {
    static const int64_t last[] = {0, 2, 3, 1};
    onx_node *node;
    if (!twin_of(q, value)) {
        ONX_TRY(add_twin(q, value, "Transpose", 1, &value, before, &node));
        if (onx_node_set_ints(node, "perm", 4, last)) return no_memory(q);
    }
    *out = twin_of(q, value);
    return ONX_OK;
}

/* A twin does what the node did, which becomes the way back. */
static onx_status replace(quantized *q, onx_node *node, const char *op, size_t n_in,
                          onx_value *const *in, const char *attribute, int64_t value) {
    static const int64_t first[] = {0, 3, 1, 2};
    onx_node *twin;
    ONX_TRY(add_twin(q, onx_node_output(node, 0), op, n_in, in, node, &twin));
    ONX_TRY(onx_pass_copy_attrs(q->ctx, twin, node));
    if (attribute && onx_node_set_int(twin, attribute, value)) return no_memory(q);
    onx_value *y = onx_node_output(twin, 0);
    ONX_TRY(onx_pass_remake(q->ctx, node, "Transpose", 1, &y));
    return onx_node_set_ints(node, "perm", 4, first) ? no_memory(q) : ONX_OK;
}

/* The inputs of the node, in memory of the context; NULL: there is none. */
static onx_value **inputs_of(const quantized *q, const onx_node *node) {
    onx_value **in = onx_arena_array(&q->ctx->arena, node->input.n, sizeof(onx_value *));
    for (size_t i = 0; in && i < node->input.n; i++) in[i] = onx_node_input(node, i);
    return in;
}

/* Input 0 is the image; the twin must be there already unless `makes`. */
static onx_status on_twin(quantized *q, onx_node *node, const char *op, const char *attribute,
                          int64_t value, bool makes) {
    onx_value **in = inputs_of(q, node);
    if (!in) return no_memory(q);
    if (!is_image(q, in[0]) || (!makes && !twin_of(q, in[0]))) return ONX_OK;
    ONX_TRY(need_twin(q, in[0], node, &in[0]));
    return replace(q, node, op, node->input.n, in, attribute, value);
}

static bool is_weights(const quantized *q, const onx_node *node, size_t index, const char *op) {
    const onx_tensor *w = onx_pass_constant(q->ctx, onx_node_input(node, index));
    return w && onx_tensor_rank(w) == 4 && onx_lower_has(q->ctx, op);
}

/* Operands of four dimensions are broadcast to one another wherever their channels are. */
static onx_status visit_binary(quantized *q, onx_node *node, const char *op) {
    onx_value **in = inputs_of(q, node);
    if (!in) return no_memory(q);
    if (!is_image(q, in[0]) || !is_image(q, in[3])) return ONX_OK;
    if (!twin_of(q, in[0]) && !twin_of(q, in[3])) return ONX_OK;
    ONX_TRY(need_twin(q, in[0], node, &in[0]));
    ONX_TRY(need_twin(q, in[3], node, &in[3]));
    return replace(q, node, op, node->input.n, in, NULL, 0);
}

/* Inputs: scale and zero point of the result, then each tensor with its own. */
static onx_status visit_concat(quantized *q, onx_node *node, const onx_op *op) {
    onx_value **in = inputs_of(q, node);
    size_t axis;
    bool any = false;
    if (!in) return no_memory(q);
    if (!onx_axis(onx_op_int(op, node, "axis"), 4, &axis) || axis != 1) return ONX_OK;
    for (size_t i = 2; i < node->input.n; i += 3) {
        if (!is_image(q, in[i])) return ONX_OK;
        any |= twin_of(q, in[i]) != NULL;
    }
    for (size_t i = 2; any && i < node->input.n; i += 3) ONX_TRY(need_twin(q, in[i], node, &in[i]));
    return any ? replace(q, node, MS "::QLinearConcat", node->input.n, in, "axis", 3) : ONX_OK;
}

static onx_status visit(quantized *q, onx_node *node) {
    const onx_op *op = onx_pass_op(q->ctx, node);
    if (!op || !onx_node_output(node, 0) || node->output.n != 1) return ONX_OK;
    if (onx_pass_is(op, "QLinearConv") && is_weights(q, node, 3, "QConv"))
        return on_twin(q, node, ONX_INTERNAL "::QConv", NULL, 0, true);
    if (onx_pass_is(op, "ConvInteger") && is_weights(q, node, 1, "QConvInteger") &&
        onx_op_int(op, node, "group") == 1)
        return on_twin(q, node, ONX_INTERNAL "::QConvInteger", NULL, 0, true);
    if (onx_pass_is(op, "MaxPool") && onx_lower_has(q->ctx, "QMaxPool"))
        return on_twin(q, node, ONX_INTERNAL "::QMaxPool", NULL, 0, true);
    if (onx_lower_is(node, "QTable"))
        return on_twin(q, node, ONX_INTERNAL "::QTable", NULL, 0, false);
    if (is_ms(op, "QLinearAdd")) return visit_binary(q, node, MS "::QLinearAdd");
    if (is_ms(op, "QLinearMul")) return visit_binary(q, node, MS "::QLinearMul");
    if (is_ms(op, "QLinearConcat")) return visit_concat(q, node, op);
    if (is_ms(op, "QLinearSigmoid")) return on_twin(q, node, MS "::QLinearSigmoid", NULL, 0, false);
    bool last = (is_ms(op, "QLinearAveragePool") || is_ms(op, "QLinearGlobalAveragePool")) &&
                !onx_op_int(op, node, "channels_last");
    if (!last) return ONX_OK;
    return on_twin(q, node,
                   is_ms(op, "QLinearAveragePool") ? MS "::QLinearAveragePool"
                                                   : MS "::QLinearGlobalAveragePool",
                   "channels_last", 1, false);
}

static onx_status walk(quantized *q, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(q, node));
    }
    for (onx_node *node = onx_graph_node_last(graph), *prev; node; node = prev) {
        prev = onx_node_prev(node);
        const onx_value *out = onx_node_output(node, 0);
        if (out && twin_of(q, out) && onx_pass_named(q->ctx, node, "Transpose") && !out->n_uses &&
            !onx_pass_held(q->ctx, out))
            ONX_TRY(onx_pass_remove(q->ctx, node));
    }
    return ONX_OK;
}

extern onx_pass_fn onx_lower_quantized;
onx_status onx_lower_quantized(onx_pass_ctx *ctx, onx_graph *graph) {
    quantized q = {.ctx = ctx};
    onx_map_init(&q.twins, ctx->arena.ctx);
    onx_status status = walk(&q, graph);
    onx_map_fini(&q.twins);
    return status;
}
