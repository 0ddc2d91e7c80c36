/* lrn_simd.h: LRN in vectors; see lrn_simd.c. */
#ifndef ONX_LRN_SIMD_H
#define ONX_LRN_SIMD_H

#include "cpu/vec.h"
#include "ops/norm/norm_ref.h"

onx_status ONX_TIER(onx_lrn_run)(onx_call *call) ONX_MUST_CHECK;

#endif
