/* activation_simd.c: Relu and other functions of one float: vectors. Each node is a tile program of
 * one instruction, so that it gives the same bits alone and as a part of a larger one. */
#include "ops/tile/tile_simd.h"

#define ROW(op_, type_, name_, overwrite_)                                                         \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(type_), ONX_T(type_), ONX_T(type_)}, .name = name_, \
        .flags = ONX_KERNEL_LAYOUTS, .overwrite = overwrite_, .plan_bytes = sizeof(onx_tile_plan), \
        .init = onx_tile_init, .bind = onx_tile_bind_call, .run = ONX_TIER(onx_tile_run)           \
    }
#define FLOATS(op, name) ROW(op, F32, name, 1)

extern onx_kernel_rows ONX_TIER(onx_kernels_activation);
onx_kernel_rows ONX_TIER(onx_kernels_activation) = {
    FLOATS("Abs", "abs_f32"),
    FLOATS("Ceil", "ceil_f32"),
    FLOATS("Celu", "celu_f32"),
    FLOATS("Clip", "clip_f32"),
    FLOATS("Elu", "elu_f32"),
    FLOATS("Erf", "erf_f32"),
    FLOATS("Exp", "exp_f32"),
    FLOATS("Floor", "floor_f32"),
    FLOATS("Gelu", "gelu_f32"),
    FLOATS("HardSigmoid", "hard_sigmoid_f32"),
    FLOATS("HardSwish", "hard_swish_f32"),
    ROW("IsNaN", F32, "is_nan_f32", 0),
    FLOATS("LeakyRelu", "leaky_relu_f32"),
    FLOATS("Log", "log_f32"),
    FLOATS("Mish", "mish_f32"),
    FLOATS("Neg", "neg_f32"),
    ROW("Not", BOOL, "not_bool", 1),
    FLOATS("Reciprocal", "reciprocal_f32"),
    FLOATS("Relu", "relu_f32"),
    FLOATS("Round", "round_f32"),
    FLOATS("Selu", "selu_f32"),
    FLOATS("Sigmoid", "sigmoid_f32"),
    FLOATS("Sign", "sign_f32"),
    FLOATS("Softplus", "softplus_f32"),
    FLOATS("Softsign", "softsign_f32"),
    FLOATS("Sqrt", "sqrt_f32"),
    FLOATS("Swish", "swish_f32"),
    FLOATS("Tanh", "tanh_f32"),
    FLOATS("ThresholdedRelu", "thresholded_relu_f32"),
    {0},
};
