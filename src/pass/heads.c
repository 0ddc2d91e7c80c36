/* heads.c: Attention and MultiHeadAttention of com.microsoft, without a past, in parts that can be
 * computed one by one:
 *
 *     Attention (x, w, b)                 MultiHeadAttention (q, k, v)
 *                                         with slices of Add (MatMul (x, w), b)
 *     MultiHeadAttention (q, k, v, b)     MultiHeadAttention (Add (q, c), Add (k, d), Add (v, e))
 *                                         with slices of b */
#include "pass/pass.h"

static bool is_alone(const onx_node *node, size_t first_in) {
    for (size_t i = first_in; i < node->input.n; i++)
        if (onx_node_input(node, i)) return false;
    for (size_t i = 1; i < node->output.n; i++)
        if (onx_node_output(node, i)) return false;
    return onx_node_output(node, 0);
}

/* A tensor of floats of that rank, whose last size is known. */
static bool last_size(const onx_pass_ctx *ctx, const onx_value *x, size_t rank, int64_t *out) {
    const onx_fact *f = onx_pass_fact(ctx, x);
    return f->kind == ONX_TYPE_TENSOR && f->dtype == ONX_DTYPE_F32 && f->ranked &&
           f->rank == rank && f->dims[rank - 1] && onx_sym_is_int(f->dims[rank - 1], out);
}

/* Elements `from` … `to`-1 of x along an axis. */
static onx_status slice(onx_pass_ctx *ctx, onx_node *node, onx_value *x, int64_t axis, int64_t from,
                        int64_t to, onx_value **out) {
    onx_value *in[4] = {x};
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "from", 1, &from, &in[1]));
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "to", 1, &to, &in[2]));
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "axis", 1, &axis, &in[3]));
    return onx_pass_add_node(ctx, node, "Slice", 4, in, out);
}

static onx_status add_biases(onx_pass_ctx *ctx, onx_node *node) {
    onx_value *bias = onx_node_input(node, 3), *sums[3];
    int64_t widths[3], all, at = 0;
    for (size_t i = 0; i < 3; i++)
        if (!last_size(ctx, onx_node_input(node, i), 3, &widths[i])) return ONX_OK;
    if (!last_size(ctx, bias, 1, &all) || widths[0] != widths[1] || widths[0] > all ||
        widths[2] != all - widths[0] - widths[1])
        return ONX_OK;
    for (size_t i = 0; i < 3; at += widths[i++]) {
        onx_value *in[2] = {onx_node_input(node, i)};
        ONX_TRY(slice(ctx, node, bias, 0, at, at + widths[i], &in[1]));
        ONX_TRY(onx_pass_add_node(ctx, node, "Add", 2, in, &sums[i]));
    }
    for (size_t i = 0; i < 3; i++) ONX_TRY(onx_node_set_input(node, i, sums[i], ctx->diag));
    ctx->changes++, ctx->touched++;
    return node->input.n > 4 ? onx_node_set_input(node, 3, NULL, ctx->diag)
                             : onx_node_remove_input(node, 3);
}

/* Widths of query, key and value, side by side in the weights. */
static bool find_widths(const onx_pass_ctx *ctx, const onx_node *node, int64_t widths[3]) {
    size_t n = 0;
    int64_t width, all;
    const onx_value *bias = onx_node_input(node, 2), *mask = onx_node_input(node, 3);
    const onx_fact *m = onx_pass_fact(ctx, mask);
    if (!last_size(ctx, onx_node_input(node, 0), 3, &width) ||
        !last_size(ctx, onx_node_input(node, 1), 2, &all) ||
        (bias && !last_size(ctx, bias, 1, &width)) || (mask && (!m->ranked || m->rank != 2)))
        return false;
    const int64_t *given = onx_op_ints(node, "qkv_hidden_sizes", &n);
    for (size_t i = 0; i < 3; i++) widths[i] = given && n == 3 ? given[i] : all / 3;
    for (size_t i = 0; i < 3; i++)
        if (widths[i] < 1 || widths[i] > all) return false;
    return widths[0] == widths[1] && widths[2] == all - 2 * widths[0];
}

static onx_status split_off(onx_pass_ctx *ctx, onx_node *node, const onx_op *op) {
    static const char *const floats[] = {"scale", "mask_filter_value"};
    onx_value *in[6] = {NULL}, *product[2] = {onx_node_input(node, 0), onx_node_input(node, 1)};
    onx_value *bias = onx_node_input(node, 2);
    int64_t widths[3], at = 0, heads = onx_op_int(op, node, "num_heads");
    bool causal = onx_op_int(op, node, "unidirectional") == 1, has[2];
    float numbers[2];
    if (onx_op_int(op, node, "do_rotary") || !find_widths(ctx, node, widths)) return ONX_OK;
    for (size_t i = 0; i < 2; i++) {
        has[i] = onx_op_has(node, floats[i]);
        numbers[i] = onx_op_float(op, node, floats[i]);
    }
    in[4] = onx_node_input(node, 3);
    in[5] = onx_node_input(node, 5);
    ONX_TRY(onx_pass_add_node(ctx, node, "MatMul", 2, product, &product[0]));
    product[1] = bias;
    if (bias) ONX_TRY(onx_pass_add_node(ctx, node, "Add", 2, product, &product[0]));
    for (size_t i = 0; i < 3; at += widths[i++])
        ONX_TRY(slice(ctx, node, product[0], 2, at, at + widths[i], &in[i]));
    ONX_TRY(onx_pass_remake(ctx, node, "com.microsoft::MultiHeadAttention",
                            in[5]   ? 6
                            : in[4] ? 5
                                    : 3,
                            in));
    onx_status status = onx_node_set_int(node, "num_heads", heads);
    if (!status && causal) status = onx_node_set_int(node, "unidirectional", 1);
    for (size_t i = 0; i < 2 && !status; i++)
        if (has[i]) status = onx_node_set_float(node, floats[i], numbers[i]);
    return status ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

extern onx_pass_fn onx_pass_heads;
onx_status onx_pass_heads(onx_pass_ctx *ctx, onx_graph *graph) {
    if (onx_model_opset(ctx->model, "") < 10 || !onx_pass_takes_constants(graph)) return ONX_OK;
    ONX_EACH (onx_node, node, graph->node) {
        const onx_op *op = onx_pass_op(ctx, node);
        bool past = onx_node_input(node, 4) || onx_node_input(node, 6);
        if (onx_pass_is_microsoft(op, "Attention") && !past && is_alone(node, 6))
            ONX_TRY(split_off(ctx, node, op));
        else if (onx_pass_is_microsoft(op, "MultiHeadAttention") && onx_node_input(node, 3) &&
                 is_alone(node, 6))
            ONX_TRY(add_biases(ctx, node));
    }
    return ONX_OK;
}
