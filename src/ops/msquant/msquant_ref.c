/* msquant_ref.c: quantized tensors of com.microsoft: the table of plain kernels. */
#include "ops/msquant/msquant_ref.h"

#include "ops/quant/product_ref.h"

#define F32 ONX_T(F32)
#define FLOATS (ONX_T(F32) | ONX_T(F16) | ONX_T(BF16))
#define BYTES (ONX_T(I8) | ONX_T(U8))
#define ROW(op_, name_) .op = op_, .first = 1, .name = name_, .domain = "com.microsoft"
#define MATMUL                                                                                     \
    .plan_bytes = sizeof(onx_matmul_plan), .init = onx_qmatmul_init, .bind = onx_qmatmul_bind,     \
    .run = onx_qmatmul_run

extern onx_kernel_rows onx_kernels_msquant_ref;
onx_kernel_rows onx_kernels_msquant_ref = {
    {ROW("DynamicQuantizeMatMul", "dynamic_quantize_matmul"),
     .types = {F32, BYTES, F32, BYTES, F32}, MATMUL},
    {ROW("GatherBlockQuantized", "gather_block_quantized"),
     .types = {ONX_T(U8) | ONX_T(I4) | ONX_T(U4), ONX_T_INDEX, FLOATS,
               ONX_T(U8) | ONX_T(I4) | ONX_T(U4)},
     .plan_bytes = sizeof(onx_gather_blocks), .init = onx_gather_blocks_init,
     .bind = onx_gather_blocks_bind, .run = onx_gather_blocks_run},
    {ROW("MatMulIntegerToFloat", "matmul_integer_to_float"),
     .types = {BYTES, BYTES, F32 | ONX_T(F16), F32 | ONX_T(F16), BYTES}, MATMUL},
    {ROW("MatMulNBits", "matmul_n_bits"),
     .types = {FLOATS, ONX_T(U8), FLOATS, FLOATS | ONX_T(U8), ONX_T(I32), FLOATS},
     .init = onx_nbits_init, .bind = onx_nbits_bind, .run = onx_nbits_run},
    {ROW("QGemm", "q_gemm"), .types = {BYTES, F32, BYTES, BYTES, F32}, MATMUL},
    {ROW("QLinearAdd", "qlinear_add"), .types = {BYTES, F32, BYTES, BYTES, F32},
     .overwrite = 1 | 1 << 3, .bind = onx_qbinary_bind, .run = onx_qadd_run},
    {ROW("QLinearConcat", "qlinear_concat"), .types = {F32, BYTES}, .init = onx_qconcat_init,
     .bind = onx_qconcat_bind, .run = onx_qconcat_run},
    {ROW("QLinearMul", "qlinear_mul"), .types = {BYTES, F32, BYTES, BYTES, F32},
     .overwrite = 1 | 1 << 3, .bind = onx_qbinary_bind, .run = onx_qmul_run},
    {ROW("QLinearSigmoid", "qlinear_sigmoid"), .types = {BYTES, F32, BYTES, F32, BYTES},
     .overwrite = 1, .bind = onx_qsigmoid_bind, .run = onx_qsigmoid_run},
    {0},
};
