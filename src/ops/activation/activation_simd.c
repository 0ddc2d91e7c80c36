/* activation_simd.c: Relu and other functions of one element: vectors. Of floats, each node is a
 * tile program of one instruction, so that it gives the same bits alone and as a part of a larger
 * one; other types have loops of their own (typed_simd.h). */
#include "ops/eltwise/typed_simd.h"
#include "ops/tile/tile_simd.h"

#define ROW(op_, name_, overwrite_, t)                                                             \
    {                                                                                              \
        .op = op_, .first = 1, .types = {t, t, t}, .name = name_, .flags = ONX_KERNEL_LAYOUTS,     \
        .overwrite = overwrite_, .plan_bytes = sizeof(onx_tile_plan), .init = onx_tile_init,       \
        .bind = onx_tile_bind_call, .run = ONX_TIER(onx_tile_run)                                  \
    }
#define ROWS(op, name, overwrite)                                                                  \
    ROW(op, name "_f32", overwrite, ONX_T(F32)), ROW(op, name "_half", overwrite, HALF)
#define HALF (ONX_T(F16) | ONX_T(BF16))
#define FLOATS(op, name) ROWS(op, name, 1)
#define NUMBERS(op, name) FLOATS(op, name), ONX_TYPED(op, name, 1)

extern onx_kernel_rows ONX_TIER(onx_kernels_activation);
onx_kernel_rows ONX_TIER(onx_kernels_activation) = {
    NUMBERS("Abs", "abs"),
    FLOATS("Acos", "acos"),
    FLOATS("Acosh", "acosh"),
    FLOATS("Asin", "asin"),
    FLOATS("Asinh", "asinh"),
    FLOATS("Atan", "atan"),
    FLOATS("Atanh", "atanh"),
    ONX_TYPED("BitwiseNot", "bitwise_not", 1),
    NUMBERS("Ceil", "ceil"),
    FLOATS("Celu", "celu"),
    NUMBERS("Clip", "clip"),
    FLOATS("Cos", "cos"),
    FLOATS("Cosh", "cosh"),
    FLOATS("Elu", "elu"),
    FLOATS("Erf", "erf"),
    FLOATS("Exp", "exp"),
    NUMBERS("Floor", "floor"),
    FLOATS("Gelu", "gelu"),
    FLOATS("HardSigmoid", "hard_sigmoid"),
    FLOATS("HardSwish", "hard_swish"),
    ROWS("IsInf", "is_inf", 0),
    ROWS("IsNaN", "is_nan", 0),
    ONX_TYPED("IsNaN", "is_nan", 0),
    FLOATS("LeakyRelu", "leaky_relu"),
    FLOATS("Log", "log"),
    FLOATS("Mish", "mish"),
    NUMBERS("Neg", "neg"),
    ONX_TYPED("Not", "not", 1),
    NUMBERS("Reciprocal", "reciprocal"),
    NUMBERS("Relu", "relu"),
    NUMBERS("Round", "round"),
    FLOATS("Selu", "selu"),
    FLOATS("Shrink", "shrink"),
    FLOATS("Sigmoid", "sigmoid"),
    NUMBERS("Sign", "sign"),
    FLOATS("Sin", "sin"),
    FLOATS("Sinh", "sinh"),
    FLOATS("Softplus", "softplus"),
    FLOATS("Softsign", "softsign"),
    NUMBERS("Sqrt", "sqrt"),
    FLOATS("Swish", "swish"),
    FLOATS("Tan", "tan"),
    FLOATS("Tanh", "tanh"),
    FLOATS("ThresholdedRelu", "thresholded_relu"),
    {0},
};
