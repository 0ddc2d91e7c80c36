/* along_simd.h: LpNormalization and MeanVarianceNormalization of floats; see along_simd.c. */
#ifndef ONX_ALONG_SIMD_H
#define ONX_ALONG_SIMD_H

#include "cpu/vec.h"
#include "ops/norm/norm_ref.h"

onx_status ONX_TIER(onx_along_run)(onx_call *call) ONX_MUST_CHECK;

#endif
