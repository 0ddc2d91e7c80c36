/* pool_quant_simd.h: see pool_quant_simd.c. */
#ifndef ONX_POOL_QUANT_SIMD_H
#define ONX_POOL_QUANT_SIMD_H

#include "cpu/vec.h"
#include "ops/pool/pool_ref.h"

onx_status ONX_TIER(onx_qpool_run)(onx_call *call) ONX_MUST_CHECK;

#endif
