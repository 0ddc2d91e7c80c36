/* grid_sample_simd.h: GridSample of float32; see grid_sample_simd.c. */
#ifndef ONX_GRID_SAMPLE_SIMD_H
#define ONX_GRID_SAMPLE_SIMD_H

#include "cpu/vec.h"
#include "ops/resize/sample_ref.h"

onx_status ONX_TIER(onx_grid_sample_init)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_grid_sample_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_grid_sample_run)(onx_call *call) ONX_MUST_CHECK;

#endif
