/* blocked_between.c: what stands between convolutions, in the blocked layout: pools and elementwise
 * nodes. These work on blocked values as they are, where all their inputs have the shape of the
 * result, or one element for each channel, or only one. */
#include "rt/lower/blocked.h"

onx_status onx_blocked_pool(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    static const struct {
        const char *op, *blocked;
    } pools[] = {
        {"MaxPool", ONX_INTERNAL "::MaxPoolBlocked"},
        {"AveragePool", ONX_INTERNAL "::AveragePoolBlocked"},
        {"GlobalAveragePool", ONX_INTERNAL "::GlobalAveragePoolBlocked"},
    };
    bool mean = onx_lower_spatial_mean(b->ctx, node, op);
    onx_value *x = onx_blocked_twin(b, onx_node_input(node, 0));
    if (!x || node->output.n != 1) return ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(pools); i++) {
        if (!onx_pass_is(op, pools[i].op) && !(mean && i == 2)) continue;
        if (!onx_lower_has(b->ctx, pools[i].blocked + strlen(ONX_INTERNAL "::"))) return ONX_OK;
        *done = true;
        return onx_blocked_replace(b, node, pools[i].blocked, 1, &x, !mean);
    }
    return ONX_OK;
}

/* Do images and channels of a Resize stay as they are, whatever their number? */
static bool keeps_images(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_fact *x = onx_pass_fact(ctx, onx_node_input(node, 0));
    const onx_fact *y = onx_pass_fact(ctx, onx_node_output(node, 0));
    const onx_tensor *scales = onx_pass_constant(ctx, onx_node_input(node, 2));
    float read[4];
    size_t n = 0;
    const int64_t *axes = onx_op_ints(node, "axes", &n);
    if (n) return n == 2 && axes[0] + axes[1] == 2 + 3 && axes[0] * axes[1] == 2 * 3;
    if (!onx_node_input(node, 2) || (scales && onx_tensor_dim(scales, 0) == 0)) /* sizes */
        return x->dims[0] && x->dims[0] == y->dims[0] && x->dims[1] && x->dims[1] == y->dims[1];
    return scales && onx_tensor_rank(scales) == 1 && onx_tensor_dim(scales, 0) == 4 &&
           onx_tensor_read_as(scales, ONX_DTYPE_F32, read, sizeof read, NULL) == ONX_OK &&
           read[0] == 1 && read[1] == 1;
}

/* What nobody reads but the caller stays plain: it would be put into blocks for nothing. */
onx_status onx_blocked_resize(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    onx_value *in[4] = {onx_blocked_twin(b, onx_node_input(node, 0))};
    const onx_value *out = onx_node_output(node, 0);
    if (!onx_pass_is(op, "Resize") || op->since < 11 || !in[0] || node->input.n > 4 ||
        !onx_blocked_image(b->ctx, out) || !out->n_uses ||
        !onx_lower_has(b->ctx, "ResizeBlocked") || !keeps_images(b->ctx, node) ||
        onx_str_is(onx_op_string(op, node, "coordinate_transformation_mode"),
                   "tf_crop_and_resize") ||
        (onx_op_has(node, "keep_aspect_ratio_policy") &&
         !onx_str_is(onx_op_string(op, node, "keep_aspect_ratio_policy"), "stretch")))
        return ONX_OK;
    for (size_t i = 1; i < node->input.n; i++) in[i] = onx_node_input(node, i);
    *done = true;
    return onx_blocked_replace(b, node, ONX_INTERNAL "::ResizeBlocked", node->input.n, in, true);
}

/* Has it no height and width, and one number for all channels, or for each of whole blocks? Then
 * its elements lie in blocks as they lie plain. */
static bool is_flat(const onx_blocked *b, const onx_value *value) {
    int64_t channels = onx_blocked_size(b->ctx, value, 2);
    return onx_blocked_size(b->ctx, value, 0) == 1 && onx_blocked_size(b->ctx, value, 1) == 1 &&
           onx_blocked_size(b->ctx, value, 4) == 1 &&
           (channels == 1 || (channels > 1 && channels % (int64_t)b->ctx->block == 0));
}

/* One number for each channel, [C, 1, 1] or [N, C, 1, 1], that can be put into blocks. */
static bool has_channels(const onx_blocked *b, const onx_value *value) {
    const onx_tensor *constant = onx_pass_constant(b->ctx, value);
    return (constant && onx_tensor_rank(constant) == 3 ? onx_tensor_dtype(constant) == ONX_DTYPE_F32
                                                       : onx_blocked_image(b->ctx, value)) &&
           onx_blocked_size(b->ctx, value, 0) == 1 && onx_blocked_size(b->ctx, value, 1) == 1 &&
           onx_blocked_size(b->ctx, value, 2) > 1;
}

/* Can the operands of the program be used with a blocked result? At least one has its shape. */
static bool operands_fit(const onx_blocked *b, const onx_fact *out) {
    bool full = false;
    for (size_t i = 0; i < b->group.program.n_in; i++) {
        const onx_value *value = b->group.in[i];
        bool same = onx_pass_same_shape(onx_pass_fact(b->ctx, value), out);
        if (same ? !onx_blocked_twin(b, value) : !is_flat(b, value) && !has_channels(b, value))
            return false;
        full |= same;
    }
    return full;
}

/* The constant [C, 1, 1] as [1, C, 1, 1]. */
static onx_status with_batch(onx_blocked *b, const onx_value *value, onx_graph *graph,
                             onx_value **out) {
    const onx_tensor *constant = onx_pass_constant(b->ctx, value);
    int64_t dims[4] = {1, onx_tensor_dim(constant, 0), 1, 1};
    size_t bytes = (size_t)dims[1] * sizeof(float);
    float *data = onx_arena_alloc(&b->ctx->arena, bytes);
    if (!data) return onx_fail_nomem(b->ctx->diag);
    ONX_TRY(onx_tensor_read_as(constant, ONX_DTYPE_F32, data, bytes, b->ctx->diag));
    return onx_pass_add_floats(b->ctx, graph, "channels", 4, dims, data, out);
}

/* The operand of a blocked node in place of `value`. */
static onx_status operand_for(onx_blocked *b, onx_value *value, onx_node *node, onx_value **out) {
    const onx_tensor *constant = onx_pass_constant(b->ctx, value);
    onx_value *twin = onx_blocked_twin(b, value);
    bool one = value && onx_blocked_size(b->ctx, value, 2) == 1 && is_flat(b, value);
    *out = twin && !one ? twin : value;
    if (twin || !value || is_flat(b, value)) return ONX_OK;
    if (!constant || onx_tensor_rank(constant) == 4) return onx_blocked_need(b, value, node, out);
    ONX_TRY(with_batch(b, value, node->graph, out));
    return onx_blocked_need(b, *out, node, out);
}

onx_status onx_blocked_elementwise(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    onx_value *in[ONX_TILE_INPUTS];
    const onx_fact *out = onx_pass_fact(b->ctx, onx_node_output(node, 0));
    if (onx_pass_is(op, "Identity") || onx_pass_is(op, "Cast")) return ONX_OK; /* plain alone */
    if (out->dtype != ONX_DTYPE_F32 || !onx_tile_group_init(&b->group, b->ctx, node) ||
        !operands_fit(b, out))
        return ONX_OK;
    for (size_t i = 0; i < node->input.n; i++)
        ONX_TRY(operand_for(b, onx_node_input(node, i), node, &in[i]));
    *done = true;
    return onx_blocked_replace(b, node, op->name, node->input.n, in, true);
}
