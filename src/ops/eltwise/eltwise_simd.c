/* eltwise_simd.c: Add, Max and other functions of several tensors, element by element: vectors. Of
 * floats, each node is a tile program of one instruction, so that it gives the same bits alone and
 * as a part of a larger one; other types have loops of their own (typed_simd.h). */
#include "ops/eltwise/typed_simd.h"
#include "ops/tile/tile_simd.h"

#define ROW(op_, name_, overwrite_, ...)                                                           \
    {                                                                                              \
        .op = op_, .first = 1, .types = {__VA_ARGS__}, .name = name_, .flags = ONX_KERNEL_LAYOUTS, \
        .overwrite = overwrite_, .plan_bytes = sizeof(onx_tile_plan), .init = onx_tile_init,       \
        .bind = onx_tile_bind_call, .run = ONX_TIER(onx_tile_run)                                  \
    }
#define SIX(t) t, t, t, t, t, t
#define HALF (ONX_T(F16) | ONX_T(BF16))
#define FLOATS(op, name, overwrite)                                                                \
    ROW(op, name "_f32", overwrite, SIX(ONX_T(F32))), ROW(op, name "_half", overwrite, SIX(HALF))
#define NUMBERS(op, name, overwrite) FLOATS(op, name, overwrite), ONX_TYPED(op, name, overwrite)

extern onx_kernel_rows ONX_TIER(onx_kernels_eltwise);
onx_kernel_rows ONX_TIER(onx_kernels_eltwise) = {
    NUMBERS("Add", "add", 3),
    ONX_TYPED("And", "and", 3),
    ONX_TYPED("BitShift", "bit_shift", 3),
    ONX_TYPED("BitwiseAnd", "bitwise_and", 3),
    ONX_TYPED("BitwiseOr", "bitwise_or", 3),
    ONX_TYPED("BitwiseXor", "bitwise_xor", 3),
    NUMBERS("Div", "div", 3),
    NUMBERS("Equal", "equal", 0),
    NUMBERS("Greater", "greater", 0),
    NUMBERS("GreaterOrEqual", "greater_or_equal", 0),
    NUMBERS("Less", "less", 0),
    NUMBERS("LessOrEqual", "less_or_equal", 0),
    NUMBERS("Max", "max", 0xff),
    FLOATS("Mean", "mean", 0xff),
    NUMBERS("Min", "min", 0xff),
    ONX_TYPED("Mod", "mod", 3),
    NUMBERS("Mul", "mul", 3),
    ONX_TYPED("Or", "or", 3),
    FLOATS("PRelu", "prelu", 3),
    FLOATS("Pow", "pow", 3),
    NUMBERS("Sub", "sub", 3),
    NUMBERS("Sum", "sum", 0xff),
    FLOATS("SwiGLU", "swiglu", 3),
    ROW("Where", "where_f32", 6, ONX_T(BOOL), ONX_T(F32), ONX_T(F32)),
    ONX_TYPED_ROW("Where", "where_typed", 6, ONX_T(BOOL), ONX_T_WHOLE),
    ONX_TYPED("Xor", "xor", 3),
    {0},
};
