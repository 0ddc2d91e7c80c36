/* batchnorm.c: BatchNormalization in inference as one factor and one offset for each channel:
 *
 *     scale * (x - mean) / sqrt(var + epsilon) + bias = x * f + (bias - mean * f)
 *     f = scale / sqrt(var + epsilon)
 *
 * for float32 constants, computed in double precision. */
#include "pass/pass.h"

#include <math.h>

float *onx_pass_floats(onx_pass_ctx *ctx, const onx_value *value, size_t rank, int64_t first) {
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
        if (!(inputs[i] = onx_pass_floats(ctx, onx_node_input(node, i + 1), 1, channels)))
            return false;
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
