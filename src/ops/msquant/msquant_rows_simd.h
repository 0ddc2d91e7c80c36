/* msquant_rows_simd.h: products of bytes in com.microsoft by the instructions of one of ONX_EXTRAS:
 * its rows. The same bits as the plain kernels. For msquant_vnni.c and msquant_amx.c. */
#ifndef ONX_MSQUANT_ROWS_SIMD_H
#define ONX_MSQUANT_ROWS_SIMD_H

#include "cpu/qgemm.h"
#include "cpu/vec.h"

static onx_status init(onx_call *call) {
    return onx_bytes_matmul_init(call, &ONX_TIER(onx_qgemm));
}

#define F32 ONX_T(F32)
#define BYTES (ONX_T(I8) | ONX_T(U8))
#define ROW(op_, name_, b_)                                                                        \
    .op = op_, .first = 1, .name = name_ "_" ONX_TIER_TEXT, .domain = "com.microsoft",             \
    ONX_BYTES_MATMUL(init, b_)

#ifndef MORE_ROWS
#define MORE_ROWS
#endif

extern onx_kernel_rows ONX_TIER(onx_kernels_msquant);
onx_kernel_rows ONX_TIER(onx_kernels_msquant) = {
    {ROW("DynamicQuantizeMatMul", "dynamic_quantize_matmul", 1),
     .types = {F32, BYTES, F32, BYTES, F32}},
    {ROW("MatMulIntegerToFloat", "matmul_integer_to_float", 1),
     .types = {BYTES, BYTES, F32, F32, BYTES}},
    {ROW("QGemm", "q_gemm", 3), .types = {BYTES, F32, BYTES, BYTES, F32}},
    MORE_ROWS{0},
};

#endif
