/* blocked_conv.c: convolutions in the blocked layout, and what is done while their results are
 * stored:
 *
 *     Add(y, r)           ConvBlocked(x', W, B, r')         of equal shapes
 *     Relu(y), Clip(y)    ConvBlocked(…) { lo, hi }         after the sum
 *
 * ConvBlocked reads a plain x where that has few channels, and no twin yet. */
#include "rt/lower/blocked.h"

#include <math.h>

enum { MERGED_MAX = 4 }; /* groups */

/* Can the groups be cut into blocks? Narrow ones are merged (`merge`: if the weights are there to
 * be packed), at the cost of products with zero, unless they do not leave their block. */
static bool groups_fit(int64_t block, int64_t groups, int64_t in, int64_t out, bool merge) {
    int64_t m = 1, most = merge ? MERGED_MAX : 1;
    if (groups == 1 || (in == out && in < block && block % in == 0)) return true;
    while (m < most && (m * in % block || m * out % block)) m *= 2;
    return m * in % block == 0 && m * out % block == 0 && groups % m == 0;
}

/* The weights, if they are constant: of half precision they stay as they are. */
static const onx_tensor *weights_of(const onx_pass_ctx *ctx, const onx_node *node) {
    return onx_pass_constant(ctx, onx_lower_uncast(ctx, onx_node_input(node, 1)));
}

/* Windows side by side over few channels, as images are cut into patches for transformers: a plain
 * product, which is faster than the blocked layout where there are faster products. */
static bool is_product(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op,
                       const onx_tensor *w) {
    size_t n = 0;
    const int64_t *strides = onx_op_ints(node, "strides", &n);
    if (!ctx->fast || n != 2 || onx_op_int(op, node, "group") != 1) return false;
    return onx_tensor_dim(w, 1) < (int64_t)ctx->block && strides[0] > 1 &&
           strides[0] == onx_tensor_dim(w, 2) && strides[1] == onx_tensor_dim(w, 3);
}

static bool conv_fits(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op) {
    const onx_value *x = onx_node_input(node, 0), *bias = onx_node_input(node, 2);
    const onx_tensor *w = weights_of(ctx, node);
    if (!w || onx_tensor_rank(w) != 4 || is_product(ctx, node, op, w)) return false;
    if (bias && onx_pass_fact(ctx, bias)->dtype != ONX_DTYPE_F32) return false;
    int64_t groups = onx_op_int(op, node, "group"), out = onx_tensor_dim(w, 0);
    int64_t channels = onx_tensor_dim(w, 1);
    if (groups < 1 || out < 1 || channels < 1 || out % groups) return false;
    return onx_blocked_image(ctx, x) && onx_blocked_image(ctx, onx_node_output(node, 0)) &&
           groups_fit((int64_t)ctx->block, groups, channels, out / groups,
                      !onx_lower_uncast(ctx, onx_node_input(node, 1))->def);
}

/* Has the input few channels, and is it plain? Then it is read as it is. */
static bool reads_plain(const onx_blocked *b, const onx_node *node, const onx_op *op) {
    const onx_tensor *w = weights_of(b->ctx, node);
    return !onx_blocked_twin(b, onx_node_input(node, 0)) && onx_op_int(op, node, "group") == 1 &&
           onx_tensor_dim(w, 1) < (int64_t)b->ctx->block;
}

onx_status onx_blocked_conv(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    onx_value *in[3];
    if (!onx_pass_is(op, "Conv") || node->input.n > 3 || !conv_fits(b->ctx, node, op))
        return ONX_OK;
    for (size_t i = 0; i < node->input.n; i++) in[i] = onx_node_input(node, i);
    in[1] = onx_lower_uncast(b->ctx, in[1]);
    if (!reads_plain(b, node, op)) ONX_TRY(onx_blocked_need(b, in[0], node, &in[0]));
    *done = true;
    return onx_blocked_replace(b, node, ONX_INTERNAL "::ConvBlocked", node->input.n, in, true);
}

/* The convolution that computes the twin of `value`, if only `user` wants it, plain or blocked, and
 * nothing but the sum is done in it yet. */
static onx_node *open_conv(const onx_blocked *b, const onx_value *value, const onx_node *user) {
    size_t index;
    const onx_value *twin = onx_blocked_twin(b, value);
    onx_node *conv = twin ? twin->def : NULL;
    if (!conv || !onx_lower_is(conv, "ConvBlocked") || twin->n_uses != 1) return NULL;
    if (onx_pass_only_use(b->ctx, value, &index) != user) return NULL;
    return onx_op_has(conv, "lo") || onx_op_has(conv, "hi") ? NULL : conv;
}

/* What `node` makes of `value` is now done by the convolution. */
static onx_status join(onx_blocked *b, onx_node *node, onx_node *conv, const onx_value *value) {
    onx_node *back = value->def;
    ONX_TRY(onx_blocked_back(b, node, onx_node_output(conv, 0)));
    ONX_TRY(onx_blocked_take_name(b, conv, node));
    return onx_pass_remove(b->ctx, back);
}

static bool clamp_of(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op, float *lo,
                     float *hi) {
    size_t rank;
    *lo = -INFINITY;
    *hi = INFINITY;
    if (onx_pass_is(op, "Relu")) return *lo = 0, true;
    if (!onx_pass_is(op, "Clip")) return false;
    if (op->since < 11) {
        *lo = onx_op_float(op, node, "min");
        *hi = onx_op_float(op, node, "max");
        return true;
    }
    const onx_value *min = onx_node_input(node, 1), *max = onx_node_input(node, 2);
    return (!min || onx_lower_scalar(ctx, min, lo, &rank)) &&
           (!max || onx_lower_scalar(ctx, max, hi, &rank));
}

onx_status onx_blocked_clamp(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    float lo, hi;
    onx_node *conv = open_conv(b, onx_node_input(node, 0), node);
    if (!conv || !clamp_of(b->ctx, node, op, &lo, &hi) || !(lo <= hi)) return ONX_OK;
    if ((lo > -INFINITY && onx_node_set_float(conv, "lo", lo)) ||
        (hi < INFINITY && onx_node_set_float(conv, "hi", hi)))
        return onx_fail_nomem(b->ctx->diag);
    *done = true;
    return join(b, node, conv, onx_node_input(node, 0));
}

/* The convolution moves to where the residual is there, too. */
static onx_status add_residual(onx_blocked *b, onx_node *node, onx_node *conv, const onx_value *sum,
                               onx_value *residual) {
    ONX_TRY(onx_blocked_need(b, residual, node, &residual));
    ONX_TRY(onx_node_move(conv, node));
    ONX_TRY(join(b, node, conv, sum));
    if (conv->input.n < 3) ONX_TRY(onx_node_set_input(conv, 2, NULL, b->ctx->diag));
    return onx_node_set_input(conv, 3, residual, b->ctx->diag);
}

onx_status onx_blocked_add(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    if (!onx_pass_is(op, "Add") || op->since < 7 || node->input.n != 2) return ONX_OK;
    for (size_t i = 0; i < 2; i++) {
        onx_value *sum = onx_node_input(node, i), *other = onx_node_input(node, 1 - i);
        onx_node *conv = open_conv(b, sum, node);
        if (!conv || conv->input.n > 3 || !onx_blocked_image(b->ctx, other)) continue;
        if (!onx_pass_same_shape(onx_pass_fact(b->ctx, sum), onx_pass_fact(b->ctx, other)))
            continue;
        *done = true;
        return add_residual(b, node, conv, sum, other);
    }
    return ONX_OK;
}
