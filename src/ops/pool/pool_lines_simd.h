/* pool_lines_simd.h: pools of any number of dimensions, line by line; see pool_lines_simd.c. */
#ifndef ONX_POOL_LINES_SIMD_H
#define ONX_POOL_LINES_SIMD_H

#include "cpu/vec.h"
#include "ops/pool/pool_ref.h"

onx_status ONX_TIER(onx_pool_lines_init)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_pool_lines_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_pool_lines_max)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_pool_lines_average)(onx_call *call) ONX_MUST_CHECK;

#endif
