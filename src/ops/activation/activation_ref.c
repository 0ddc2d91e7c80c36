/* activation_ref.c: Relu and other functions of one element: plain loops, all types, by
 * wide_ref.h. What is an instruction of tile programs means here what it means there. */
#include "ops/eltwise/wide_ref.h"

#include <math.h>

#define INTS(name, signed_, unsigned_)                                                             \
    FUNCTION(int64_t, s_##name, signed_)                                                           \
    FUNCTION(uint64_t, u_##name, unsigned_)
#define FUNCTION(type, name, expression)                                                           \
    static type name(type a, type b, type c) {                                                     \
        (void)b, (void)c;                                                                          \
        return (type)(expression);                                                                 \
    }
#define WRAP(x) ((int64_t)(0 - (uint64_t)(x)))

INTS(abs, a < 0 ? WRAP(a) : a, a)
INTS(neg, WRAP(a), 0 - a)
INTS(sign, (a > 0) - (a < 0), a > 0)
INTS(relu, a > 0 ? a : 0, a)
INTS(not, a == 0, a == 0)
INTS(bit_not, ~a, ~a)
INTS(clip, (a < b ? b : a) > c ? c : (a < b ? b : a), (a < b ? b : a) > c ? c : (a < b ? b : a))

FUNCTION(double, f_is_inf, isinf(a) && (a < 0 ? b : c) != 0)

static const onx_wide_rule rules[] = {
    {.op = "Abs", .s = s_abs, .u = u_abs},
    {.op = "Acos"},
    {.op = "Acosh"},
    {.op = "Asin"},
    {.op = "Asinh"},
    {.op = "Atan"},
    {.op = "Atanh"},
    {.op = "BitwiseNot", .s = s_bit_not, .u = u_bit_not},
    {.op = "Ceil"},
    {.op = "Celu"},
    {.op = "Clip", .s = s_clip, .u = u_clip},
    {.op = "Cos"},
    {.op = "Cosh"},
    {.op = "Elu"},
    {.op = "Erf"},
    {.op = "Exp"},
    {.op = "Floor"},
    {.op = "Gelu"},
    {.op = "HardSigmoid"},
    {.op = "HardSwish"},
    {.op = "IsInf",
     .f = f_is_inf,
     .is_bool = true,
     .attrs = {"detect_negative", "detect_positive"}},
    {.op = "IsNaN", .is_bool = true},
    {.op = "LeakyRelu"},
    {.op = "Log"},
    {.op = "Mish"},
    {.op = "Neg", .s = s_neg, .u = u_neg},
    {.op = "Not", .s = s_not, .u = u_not, .is_bool = true},
    {.op = "Reciprocal"},
    {.op = "Relu", .s = s_relu, .u = u_relu},
    {.op = "Round"},
    {.op = "Selu"},
    {.op = "Shrink"},
    {.op = "Sigmoid"},
    {.op = "Sign", .s = s_sign, .u = u_sign},
    {.op = "Sin"},
    {.op = "Sinh"},
    {.op = "Softplus"},
    {.op = "Softsign"},
    {.op = "Sqrt"},
    {.op = "Swish"},
    {.op = "Tan"},
    {.op = "Tanh"},
    {.op = "ThresholdedRelu"},
};

static onx_status init(onx_call *call) {
    return onx_wide_init(call, rules, ONX_COUNT(rules));
}

#define ROW(op_, types_, name_, overwrite_)                                                        \
    {                                                                                              \
        .op = op_, .first = 1, .types = {types_, types_, types_}, .name = name_,                   \
        .overwrite = overwrite_, .init = init, .bind = onx_wide_bind, .run = onx_wide_run          \
    }
#define FLOATS(op, name) ROW(op, ONX_T_FLOATS, name, 1)
#define EIGHT_BITS (ONX_T(F8E4M3FN) | ONX_T(F8E4M3FNUZ) | ONX_T(F8E5M2) | ONX_T(F8E5M2FNUZ))

extern onx_kernel_rows onx_kernels_activation_ref;
onx_kernel_rows onx_kernels_activation_ref = {
    ROW("Abs", ONX_T_NUMBERS, "abs", 1),
    FLOATS("Acos", "acos"),
    FLOATS("Acosh", "acosh"),
    FLOATS("Asin", "asin"),
    FLOATS("Asinh", "asinh"),
    FLOATS("Atan", "atan"),
    FLOATS("Atanh", "atanh"),
    ROW("BitwiseNot", ONX_T_INTS, "bitwise_not", 1),
    FLOATS("Ceil", "ceil"),
    FLOATS("Celu", "celu"),
    ROW("Clip", ONX_T_NUMBERS, "clip", 1),
    FLOATS("Cos", "cos"),
    FLOATS("Cosh", "cosh"),
    FLOATS("Elu", "elu"),
    ROW("Erf", ONX_T_NUMBERS, "erf", 1),
    FLOATS("Exp", "exp"),
    FLOATS("Floor", "floor"),
    FLOATS("Gelu", "gelu"),
    FLOATS("HardSigmoid", "hard_sigmoid"),
    FLOATS("HardSwish", "hard_swish"),
    ROW("IsInf", ONX_T_FLOATS | EIGHT_BITS, "is_inf", 0),
    ROW("IsNaN", ONX_T_FLOATS | EIGHT_BITS, "is_nan", 0),
    FLOATS("LeakyRelu", "leaky_relu"),
    FLOATS("Log", "log"),
    FLOATS("Mish", "mish"),
    ROW("Neg", ONX_T_FLOATS | ONX_T_SIGNED, "neg", 1),
    ROW("Not", ONX_T(BOOL), "not", 1),
    FLOATS("Reciprocal", "reciprocal"),
    ROW("Relu", ONX_T_FLOATS | ONX_T_SIGNED, "relu", 1),
    FLOATS("Round", "round"),
    FLOATS("Selu", "selu"),
    ROW("Shrink", ONX_T_NUMBERS, "shrink", 1),
    FLOATS("Sigmoid", "sigmoid"),
    ROW("Sign", ONX_T_NUMBERS, "sign", 1),
    FLOATS("Sin", "sin"),
    FLOATS("Sinh", "sinh"),
    FLOATS("Softplus", "softplus"),
    FLOATS("Softsign", "softsign"),
    FLOATS("Sqrt", "sqrt"),
    FLOATS("Swish", "swish"),
    FLOATS("Tan", "tan"),
    FLOATS("Tanh", "tanh"),
    FLOATS("ThresholdedRelu", "thresholded_relu"),
    {0},
};
