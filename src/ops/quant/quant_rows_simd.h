/* quant_rows_simd.h: products of bytes by the instructions of one of ONX_EXTRAS: its rows. The same
 * bits as the plain kernels. For quant_vnni.c and quant_amx.c. */
#ifndef ONX_QUANT_ROWS_SIMD_H
#define ONX_QUANT_ROWS_SIMD_H

#include "cpu/qgemm.h"
#include "cpu/vec.h"

static onx_status init_conv(onx_call *call) {
    return onx_bytes_conv_init(call, &ONX_TIER(onx_qgemm));
}

static onx_status init_matmul(onx_call *call) {
    return onx_bytes_matmul_init(call, &ONX_TIER(onx_qgemm));
}

#define BYTES (ONX_T(U8) | ONX_T(I8))

extern onx_kernel_rows ONX_TIER(onx_kernels_quant);
onx_kernel_rows ONX_TIER(onx_kernels_quant) = {
    {.op = "QConv",
     .first = 1,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "q_conv_" ONX_TIER_TEXT,
     .domain = "onx.internal",
     ONX_BYTES_CONV(init_conv)},
    {.op = "QConvInteger",
     .first = 1,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "q_conv_integer_" ONX_TIER_TEXT,
     .domain = "onx.internal",
     ONX_BYTES_CONV_INTEGER(init_conv)},
    {.op = "MatMulInteger",
     .first = 10,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "matmul_integer_" ONX_TIER_TEXT,
     ONX_BYTES_MATMUL(init_matmul, 1)},
    {.op = "QLinearMatMul",
     .first = 10,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "qlinear_matmul_" ONX_TIER_TEXT,
     ONX_BYTES_MATMUL(init_matmul, 3)},
    {0},
};

#endif
