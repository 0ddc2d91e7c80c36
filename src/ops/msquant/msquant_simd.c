/* msquant_simd.c: products of bytes in com.microsoft: the plain kernels with wider vectors in the
 * innermost loop. The same bits. */
#include "cpu/vec.h"
#include "ops/quant/product_ref.h"

static onx_status run(onx_call *call) {
    return onx_qmatmul_run_with(call, VF > 4 ? onx_dots : onx_dots_plain);
}

#define F32 ONX_T(F32)
#define BYTES (ONX_T(I8) | ONX_T(U8))
#define ROW(op_, name_)                                                                            \
    .op = op_, .first = 1, .name = name_, .domain = "com.microsoft",                               \
    .plan_bytes = sizeof(onx_matmul_plan), .init = onx_qmatmul_init, .bind = onx_qmatmul_bind,     \
    .run = run

extern onx_kernel_rows ONX_TIER(onx_kernels_msquant);
onx_kernel_rows ONX_TIER(onx_kernels_msquant) = {
    {ROW("DynamicQuantizeMatMul", "dynamic_quantize_matmul_i16"),
     .types = {F32, BYTES, F32, BYTES, F32}},
    {ROW("MatMulIntegerToFloat", "matmul_integer_to_float_i16"),
     .types = {BYTES, BYTES, F32 | ONX_T(F16), F32 | ONX_T(F16), BYTES}},
    {ROW("QGemm", "q_gemm_i16"), .types = {BYTES, F32, BYTES, BYTES, F32}},
    {0},
};
