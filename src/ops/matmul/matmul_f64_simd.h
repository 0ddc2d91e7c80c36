/* matmul_f64_simd.h: bind and run of MatMul and Gemm of doubles, for the table in matmul_simd.c. */
#ifndef ONX_MATMUL_F64_SIMD_H
#define ONX_MATMUL_F64_SIMD_H

#include "cpu/vec.h"
#include "ops/matmul/matmul_ref.h"

onx_status ONX_TIER(onx_matmul_bind_f64)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_gemm_bind_f64)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_matmul_run_f64)(onx_call *call) ONX_MUST_CHECK;

#endif
