/* batchnorm.c: BatchNormalization after a convolution goes into its weights:
 *
 *     scale * (conv(x, W) + B - mean) / sqrt(var + epsilon) + bias
 *         = conv(x, W * f) + (B - mean) * f + bias,    f = scale / sqrt(var + epsilon)
 *
 * for float32 constants, computed in double precision. */
#include "pass/pass.h"

#include <math.h>

/* A constant of float32, of that rank and first dimension, in memory of the context; NULL: it is
 * something else, or there is no memory. */
static float *floats_of(onx_pass_ctx *ctx, const onx_value *value, size_t rank, int64_t first) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    size_t bytes;
    if (!t || onx_tensor_dtype(t) != ONX_DTYPE_F32 || onx_tensor_rank(t) != rank) return NULL;
    if (!rank || onx_tensor_dim(t, 0) != first || onx_tensor_bytes(t, &bytes, NULL)) return NULL;
    float *data = onx_arena_alloc(&ctx->arena, bytes);
    return data && onx_tensor_read(t, data, bytes, NULL) == ONX_OK ? data : NULL;
}

bool onx_pass_batchnorm_factors(onx_pass_ctx *ctx, const onx_node *node, const onx_op *op,
                                int64_t channels, float **factors, float **offsets) {
    if (!onx_pass_is(op, "BatchNormalization") || op->since < 7 || node->input.n != 5) return false;
    if (node->output.n != 1 || onx_op_int(op, node, "training_mode")) return false;
    if (op->since < 9 && !onx_op_int(op, node, "spatial")) return false;
    float *inputs[4]; /* scale, bias, mean, variance */
    for (size_t i = 0; i < 4; i++)
        if (!(inputs[i] = floats_of(ctx, onx_node_input(node, i + 1), 1, channels))) return false;
    double epsilon = (double)onx_op_float(op, node, "epsilon");
    for (int64_t c = 0; c < channels; c++) {
        double f = (double)inputs[0][c] / sqrt((double)inputs[3][c] + epsilon);
        inputs[1][c] = (float)((double)inputs[1][c] - (double)inputs[2][c] * f);
        inputs[0][c] = (float)f;
        if (!isfinite(inputs[0][c]) || !isfinite(inputs[1][c])) return false;
    }
    *factors = inputs[0];
    *offsets = inputs[1];
    return true;
}

/* The convolution before the node, if nobody else sees its result and its weights are constant. */
static onx_node *conv_before(onx_pass_ctx *ctx, const onx_node *node, const onx_tensor **weights) {
    size_t index;
    const onx_value *x = onx_node_input(node, 0);
    onx_node *conv = x ? x->def : NULL;
    if (!conv || !onx_pass_is(onx_pass_op(ctx, conv), "Conv")) return NULL;
    if (onx_pass_only_use(ctx, x, &index) != node || index != 0 || conv->input.n < 2) return NULL;
    *weights = onx_pass_constant(ctx, onx_node_input(conv, 1));
    return *weights && onx_tensor_rank(*weights) > 2 ? conv : NULL;
}

static onx_status fuse(onx_pass_ctx *ctx, onx_node *node, onx_node *conv, const onx_tensor *w,
                       const float *factors, float *offsets) {
    int64_t channels = onx_tensor_dim(w, 0);
    uint64_t count;
    size_t bytes;
    const onx_value *bias = onx_node_input(conv, 2);
    if (onx_tensor_count(w, &count, NULL) || onx_tensor_bytes(w, &bytes, NULL)) return ONX_OK;
    if (!onx_pass_afford(ctx, bytes)) return ONX_OK;
    float *weights = floats_of(ctx, onx_node_input(conv, 1), onx_tensor_rank(w), channels);
    float *biases = bias ? floats_of(ctx, bias, 1, channels) : NULL;
    if (!weights || (bias && !biases)) return ONX_OK;
    for (uint64_t i = 0; i < count; i++) weights[i] *= factors[i / (count / (uint64_t)channels)];
    for (int64_t c = 0; c < channels && biases; c++) offsets[c] += biases[c] * factors[c];
    onx_value *in[3] = {onx_node_input(conv, 0)};
    ONX_TRY(onx_pass_add_floats(ctx, node->graph, onx_value_name(onx_node_input(conv, 1)),
                                onx_tensor_rank(w), onx_tensor_dims(w), weights, &in[1]));
    ONX_TRY(onx_pass_add_floats(ctx, node->graph, bias ? onx_value_name(bias) : "bias", 1,
                                &channels, offsets, &in[2]));
    ONX_TRY(onx_pass_remake(ctx, node, "Conv", 3, in));
    ONX_TRY(onx_pass_copy_attrs(ctx, node, conv));
    return onx_pass_remove(ctx, conv);
}

extern onx_pass_fn onx_pass_batchnorm;
onx_status onx_pass_batchnorm(onx_pass_ctx *ctx, onx_graph *graph) {
    if (ctx->model->ir_version < 4) return ONX_OK; /* no initializers but inputs */
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        const onx_tensor *w;
        float *factors, *offsets;
        onx_node *conv = conv_before(ctx, node, &w);
        if (conv && onx_pass_batchnorm_factors(ctx, node, onx_pass_op(ctx, node),
                                               onx_tensor_dim(w, 0), &factors, &offsets))
            ONX_TRY(fuse(ctx, node, conv, w, factors, offsets));
    }
    return ONX_OK;
}
