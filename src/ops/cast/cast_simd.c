/* cast_simd.c: Cast between the floats of 16 and 32 bits and bool: vectors. A cast is the tile
 * program that does nothing, or asks whether a number is zero; only the types at its ends
 * differ. */
#include "ops/cast/cast.h"
#include "ops/tile/tile_simd.h"

#define TYPES (ONX_T(F32) | ONX_T(F16) | ONX_T(BF16) | ONX_T(BOOL))

static onx_status init(onx_call *call) {
    onx_dtype to = onx_cast_to(call->op, call->node);
    onx_tile_program program = {.n_in = 1};
    const onx_tile *tile;
    if (!(TYPES >> to & 1))
        return onx_call_fail(call, ONX_UNSUPPORTED, "casts to %s are not on vectors",
                             onx_dtype_name(to));
    (void)onx_tile_emit(&program, to == ONX_DTYPE_BOOL ? ONX_TILE_BOOL : ONX_TILE_IDENTITY, 0, 0,
                        0);
    ONX_TRY(onx_tile_new(call, &program, &tile));
    ((onx_tile *)call->state)->to = (uint8_t)to;
    return ONX_OK;
}

extern onx_kernel_rows ONX_TIER(onx_kernels_cast);
onx_kernel_rows ONX_TIER(onx_kernels_cast) = {
    {.op = "Cast",
     .first = 1,
     .types = {TYPES},
     .name = "cast_f32",
     .flags = ONX_KERNEL_LAYOUTS,
     .plan_bytes = sizeof(onx_tile_plan),
     .init = init,
     .bind = onx_tile_bind_call,
     .run = ONX_TIER(onx_tile_run)},
    {0},
};
