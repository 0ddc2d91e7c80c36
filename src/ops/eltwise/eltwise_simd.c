/* eltwise_simd.c: Add, Max and other functions of several float tensors, element by element:
 * vectors. Each node is a tile program of one instruction, so that it gives the same bits alone and
 * as a part of a larger one. */
#include "ops/tile/tile_simd.h"

#define F32 ONX_T(F32)
#define BIT ONX_T(BOOL)
#define ROW(op_, types_, name_, overwrite_)                                                        \
    {                                                                                              \
        .op = op_, .first = 1, .types = types_, .name = name_, .flags = ONX_KERNEL_LAYOUTS,        \
        .overwrite = overwrite_, .plan_bytes = sizeof(onx_tile_plan), .init = onx_tile_init,       \
        .bind = onx_tile_bind_call, .run = ONX_TIER(onx_tile_run)                                  \
    }
#define FLOATS                                                                                     \
    { F32, F32, F32, F32, F32, F32 }
#define BITS                                                                                       \
    { BIT, BIT }
#define CHOICE                                                                                     \
    { BIT, F32, F32 }

extern onx_kernel_rows ONX_TIER(onx_kernels_eltwise);
onx_kernel_rows ONX_TIER(onx_kernels_eltwise) = {
    ROW("Add", FLOATS, "add_f32", 3),
    ROW("And", BITS, "and_bool", 3),
    ROW("Div", FLOATS, "div_f32", 3),
    ROW("Equal", FLOATS, "equal_f32", 0),
    ROW("Greater", FLOATS, "greater_f32", 0),
    ROW("GreaterOrEqual", FLOATS, "greater_or_equal_f32", 0),
    ROW("Less", FLOATS, "less_f32", 0),
    ROW("LessOrEqual", FLOATS, "less_or_equal_f32", 0),
    ROW("Max", FLOATS, "max_f32", 0xff),
    ROW("Mean", FLOATS, "mean_f32", 0xff),
    ROW("Min", FLOATS, "min_f32", 0xff),
    ROW("Mul", FLOATS, "mul_f32", 3),
    ROW("Or", BITS, "or_bool", 3),
    ROW("PRelu", FLOATS, "prelu_f32", 3),
    ROW("Pow", FLOATS, "pow_f32", 3),
    ROW("Sub", FLOATS, "sub_f32", 3),
    ROW("Sum", FLOATS, "sum_f32", 0xff),
    ROW("Where", CHOICE, "where_f32", 6),
    ROW("Xor", BITS, "xor_bool", 3),
    {0},
};
