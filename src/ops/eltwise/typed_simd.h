/* typed_simd.h: operators element by element in the type that the elements have: integers, doubles
 * and bools, which tile programs, all floats inside, do not compute. The same results as the plain
 * kernels, bit by bit.
 *
 * A row says which types it takes; where an operator has no loop for one of them, its init answers
 * UNSUPPORTED, and the plain row is next. */
#ifndef ONX_TYPED_SIMD_H
#define ONX_TYPED_SIMD_H

#include "cpu/vec.h"
#include "ops/eltwise/typed_ref.h"

onx_status ONX_TIER(onx_typed_init)(onx_call *call) ONX_MUST_CHECK;

/* A row: inputs that may be written over, types of input 0, and of the others. */
#define ONX_TYPED_ROW(op_, name_, overwrite_, types_, more_)                                       \
    {                                                                                              \
        .op = op_, .first = 1, .types = {types_, more_, more_}, .name = name_,                     \
        .overwrite = overwrite_, .plan_bytes = sizeof(onx_tile_plan),                              \
        .init = ONX_TIER(onx_typed_init), .bind = onx_tile_bind_call, .run = onx_typed_run         \
    }
#define ONX_TYPED(op, name, overwrite)                                                             \
    ONX_TYPED_ROW(op, name "_typed", overwrite, ONX_TYPED_TYPES, ONX_TYPED_TYPES)
#define ONX_TYPED_TYPES                                                                            \
    (ONX_T(BOOL) | ONX_T(U8) | ONX_T(I8) | ONX_T(I32) | ONX_T(U32) | ONX_T(I64) | ONX_T(U64) |     \
     ONX_T(F64))

#endif
