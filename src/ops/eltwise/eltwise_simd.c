/* eltwise_simd.c: Add, Max and other functions of several tensors of floats or bools, element by
 * element: vectors. Each node is a tile program of one instruction, so that it gives the same bits
 * alone and as a part of a larger one. */
#include "ops/tile/tile_simd.h"

#define ROW(op_, name_, overwrite_, ...)                                                           \
    {                                                                                              \
        .op = op_, .first = 1, .types = {__VA_ARGS__}, .name = name_, .flags = ONX_KERNEL_LAYOUTS, \
        .overwrite = overwrite_, .plan_bytes = sizeof(onx_tile_plan), .init = onx_tile_init,       \
        .bind = onx_tile_bind_call, .run = ONX_TIER(onx_tile_run)                                  \
    }
#define SIX(t) ONX_T(t), ONX_T(t), ONX_T(t), ONX_T(t), ONX_T(t), ONX_T(t)
#define FLOATS(op, name, overwrite)                                                                \
    ROW(op, name "_f32", overwrite, SIX(F32)), ROW(op, name "_f16", overwrite, SIX(F16)),          \
        ROW(op, name "_bf16", overwrite, SIX(BF16))
#define BOOLS(op, name) ROW(op, name "_bool", 3, ONX_T(BOOL), ONX_T(BOOL))
#define CHOICE(op, name, t) ROW(op, name, 6, ONX_T(BOOL), ONX_T(t), ONX_T(t))

extern onx_kernel_rows ONX_TIER(onx_kernels_eltwise);
onx_kernel_rows ONX_TIER(onx_kernels_eltwise) = {
    FLOATS("Add", "add", 3),
    BOOLS("And", "and"),
    FLOATS("Div", "div", 3),
    FLOATS("Equal", "equal", 0),
    FLOATS("Greater", "greater", 0),
    FLOATS("GreaterOrEqual", "greater_or_equal", 0),
    FLOATS("Less", "less", 0),
    FLOATS("LessOrEqual", "less_or_equal", 0),
    FLOATS("Max", "max", 0xff),
    FLOATS("Mean", "mean", 0xff),
    FLOATS("Min", "min", 0xff),
    FLOATS("Mul", "mul", 3),
    BOOLS("Or", "or"),
    FLOATS("PRelu", "prelu", 3),
    FLOATS("Pow", "pow", 3),
    FLOATS("Sub", "sub", 3),
    FLOATS("Sum", "sum", 0xff),
    CHOICE("Where", "where_f32", F32),
    CHOICE("Where", "where_f16", F16),
    CHOICE("Where", "where_bf16", BF16),
    BOOLS("Xor", "xor"),
    {0},
};
