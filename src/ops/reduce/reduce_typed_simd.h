/* reduce_typed_simd.h: reductions in the type that the elements have: integers, doubles, and
 * products of floats. The same results as the plain kernels, but for rounding.
 *
 * A row says which types it takes; where an operator has no loop for one of them, its init answers
 * UNSUPPORTED, and the plain row is next. */
#ifndef ONX_REDUCE_TYPED_SIMD_H
#define ONX_REDUCE_TYPED_SIMD_H

#include "cpu/vec.h"
#include "ops/reduce/reduce_ref.h"

onx_status ONX_TIER(onx_reduce_typed_init)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_reduce_typed_run)(onx_call *call) ONX_MUST_CHECK;

#endif
