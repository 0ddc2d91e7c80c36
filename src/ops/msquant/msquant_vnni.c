/* msquant_vnni.c: products of bytes in com.microsoft by AVX512-VNNI: rows. The same bits as the
 * plain kernels. */
#include "cpu/qgemm.h"

static onx_status init(onx_call *call) {
    return onx_bytes_matmul_init(call, &onx_qgemm_vnni);
}

#define F32 ONX_T(F32)
#define BYTES (ONX_T(I8) | ONX_T(U8))
#define ROW(op_, name_, b_)                                                                        \
    .op = op_, .first = 1, .name = name_, .domain = "com.microsoft", ONX_BYTES_MATMUL(init, b_)

extern onx_kernel_rows onx_kernels_msquant_vnni;
onx_kernel_rows onx_kernels_msquant_vnni = {
    {ROW("DynamicQuantizeMatMul", "dynamic_quantize_matmul_vnni", 1),
     .types = {F32, BYTES, F32, BYTES, F32}},
    {ROW("MatMulIntegerToFloat", "matmul_integer_to_float_vnni", 1),
     .types = {BYTES, BYTES, F32, F32, BYTES}},
    {ROW("QGemm", "q_gemm_vnni", 3), .types = {BYTES, F32, BYTES, BYTES, F32}},
    {0},
};
