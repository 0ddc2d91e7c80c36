/* quantized_lines.c: convolutions of quantized lines as those of images that are one pixel high, so
 * that quantized.c finds them:
 *
 *     y = QLinearConv(x, …)      x' = Unsqueeze(x)
 *                                y' = QLinearConv(x', …)
 *                                y  = Squeeze(y')
 *
 * and ConvInteger in the same way. Their weights are constant, and get a dimension more, too. */
#include "rt/lower/quantized_lines.h"

enum { AXIS = 2, INPUTS = 9 };

/* The weights with a dimension more; *out is not set where there is no room for that. */
static onx_status add_weights(onx_pass_ctx *ctx, onx_graph *graph, const onx_value *from,
                              onx_value **out) {
    const onx_tensor *w = onx_pass_constant(ctx, from);
    onx_dtype dtype = onx_tensor_dtype(w);
    uint64_t count;
    int64_t dims[] = {onx_tensor_dim(w, 0), onx_tensor_dim(w, 1), 1, onx_tensor_dim(w, AXIS)};
    if (onx_dtype_bits(dtype) != 8 || onx_tensor_count(w, &count, NULL) || count > SIZE_MAX - 1 ||
        !onx_pass_takes_constants(graph) || !onx_pass_afford(ctx, (size_t)count))
        return ONX_OK;
    void *data = onx_mem_alloc(ctx->arena.ctx, (size_t)count + 1);
    const char *name = onx_graph_new_name(graph, onx_value_name(from));
    if (data && name && !onx_tensor_read_as(w, dtype, data, (size_t)count, ctx->diag))
        *out = onx_graph_add_initializer(graph, name, dtype, 4, dims, data, (size_t)count);
    onx_mem_free(ctx->arena.ctx, data, data ? (size_t)count + 1 : 0);
    return *out ? ONX_OK : onx_fail_nomem(ctx->diag);
}

/* The lists of a window: how many numbers those of a line have, and what the height adds. */
static const struct {
    const char *name;
    size_t n;
    int64_t height;
} lists[] = {{"kernel_shape", 1, 1}, {"strides", 1, 1}, {"dilations", 1, 1}, {"pads", 2, 0}};

static bool is_window(const onx_node *node) {
    size_t n;
    for (size_t i = 0; i < ONX_COUNT(lists); i++)
        if (onx_op_ints(node, lists[i].name, &n) && n != lists[i].n) return false;
    return true;
}

static onx_status stretch(onx_pass_ctx *ctx, onx_node *node) {
    for (size_t i = 0; i < ONX_COUNT(lists); i++) {
        size_t n;
        const int64_t *list = onx_op_ints(node, lists[i].name, &n);
        int64_t more[4];
        for (size_t k = 0; list && k < n; k++)
            more[2 * k] = lists[i].height, more[2 * k + 1] = list[k];
        if (list && onx_node_set_ints(node, lists[i].name, 2 * n, more))
            return onx_fail_nomem(ctx->diag);
    }
    return ONX_OK;
}

/* The axis of Squeeze and Unsqueeze: an input, or, where *axes is not set, an attribute. */
static onx_status add_axes(onx_pass_ctx *ctx, onx_graph *graph, onx_value **axes) {
    static const int64_t axis = AXIS;
    if (onx_model_opset(ctx->model, "") < 13) return ONX_OK;
    return onx_pass_add_ints(ctx, graph, "axes", 1, &axis, axes);
}
static onx_status set_axes(onx_pass_ctx *ctx, onx_node *node, const onx_value *axes) {
    static const int64_t axis = AXIS;
    bool failed = !axes && onx_node_set_ints(node, "axes", 1, &axis);
    return failed ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

static onx_status raise(onx_pass_ctx *ctx, onx_node *node, const onx_op *op, size_t weights) {
    onx_value *in[INPUTS] = {0}, *view[2] = {0}, *w = NULL, *y;
    if (node->input.n > INPUTS) return ONX_OK;
    ONX_TRY(add_weights(ctx, node->graph, onx_node_input(node, weights), &w));
    if (!w) return ONX_OK;
    ONX_TRY(add_axes(ctx, node->graph, &view[1]));
    size_t n_view = view[1] ? 2 : 1;
    for (size_t i = 0; i < node->input.n; i++) in[i] = onx_node_input(node, i);
    in[weights] = w;
    view[0] = in[0];
    ONX_TRY(onx_pass_add_node(ctx, node, "Unsqueeze", n_view, view, &in[0]));
    ONX_TRY(set_axes(ctx, in[0]->def, view[1]));
    ONX_TRY(onx_pass_add_node(ctx, node, op->name, node->input.n, in, &y));
    ONX_TRY(onx_pass_copy_attrs(ctx, y->def, node));
    ONX_TRY(stretch(ctx, y->def));
    view[0] = y;
    ONX_TRY(onx_pass_remake(ctx, node, "Squeeze", n_view, view));
    return set_axes(ctx, node, view[1]);
}

static bool is_line(const onx_pass_ctx *ctx, const onx_node *node, size_t weights) {
    const onx_tensor *w = onx_pass_constant(ctx, onx_node_input(node, weights));
    const onx_fact *x = onx_pass_fact(ctx, onx_node_input(node, 0));
    return w && onx_tensor_rank(w) == 3 && x->kind == ONX_TYPE_TENSOR && x->ranked &&
           x->rank == 3 && onx_node_output(node, 0) && is_window(node);
}

onx_status onx_lower_quantized_lines(onx_pass_ctx *ctx, onx_graph *graph) {
    size_t before = ctx->changes;
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        const onx_op *op = onx_pass_op(ctx, node);
        size_t weights = onx_pass_is(op, "QLinearConv") ? 3 : onx_pass_is(op, "ConvInteger");
        next = onx_node_next(node);
        if (weights && is_line(ctx, node, weights)) ONX_TRY(raise(ctx, node, op, weights));
    }
    return ctx->changes == before ? ONX_OK : onx_pass_refresh(ctx);
}
