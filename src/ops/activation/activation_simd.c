/* activation_simd.c: Relu and other functions of one element: vectors. Each node is a tile program
 * of one instruction, so that it gives the same bits alone and as a part of a larger one. */
#include "ops/tile/tile_simd.h"

#define ROW(op_, name_, overwrite_, t)                                                             \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(t), ONX_T(t), ONX_T(t)}, .name = name_,             \
        .flags = ONX_KERNEL_LAYOUTS, .overwrite = overwrite_, .plan_bytes = sizeof(onx_tile_plan), \
        .init = onx_tile_init, .bind = onx_tile_bind_call, .run = ONX_TIER(onx_tile_run)           \
    }
#define ROWS(op, name, overwrite)                                                                  \
    ROW(op, name "_f32", overwrite, F32), ROW(op, name "_f16", overwrite, F16),                    \
        ROW(op, name "_bf16", overwrite, BF16)
#define FLOATS(op, name) ROWS(op, name, 1)

extern onx_kernel_rows ONX_TIER(onx_kernels_activation);
onx_kernel_rows ONX_TIER(onx_kernels_activation) = {
    FLOATS("Abs", "abs"),
    FLOATS("Ceil", "ceil"),
    FLOATS("Celu", "celu"),
    FLOATS("Clip", "clip"),
    FLOATS("Elu", "elu"),
    FLOATS("Erf", "erf"),
    FLOATS("Exp", "exp"),
    FLOATS("Floor", "floor"),
    FLOATS("Gelu", "gelu"),
    FLOATS("HardSigmoid", "hard_sigmoid"),
    FLOATS("HardSwish", "hard_swish"),
    ROWS("IsNaN", "is_nan", 0),
    FLOATS("LeakyRelu", "leaky_relu"),
    FLOATS("Log", "log"),
    FLOATS("Mish", "mish"),
    FLOATS("Neg", "neg"),
    ROW("Not", "not_bool", 1, BOOL),
    FLOATS("Reciprocal", "reciprocal"),
    FLOATS("Relu", "relu"),
    FLOATS("Round", "round"),
    FLOATS("Selu", "selu"),
    FLOATS("Sigmoid", "sigmoid"),
    FLOATS("Sign", "sign"),
    FLOATS("Softplus", "softplus"),
    FLOATS("Softsign", "softsign"),
    FLOATS("Sqrt", "sqrt"),
    FLOATS("Swish", "swish"),
    FLOATS("Tanh", "tanh"),
    FLOATS("ThresholdedRelu", "thresholded_relu"),
    {0},
};
