/* quant_amx.c: products of bytes by AMX-INT8: rows. The same bits as the plain kernels. */
#include "cpu/qgemm.h"

static onx_status init_conv(onx_call *call) {
    return onx_bytes_conv_init(call, &onx_qgemm_amx);
}

static onx_status init_matmul(onx_call *call) {
    return onx_bytes_matmul_init(call, &onx_qgemm_amx);
}

#define BYTES (ONX_T(U8) | ONX_T(I8))

extern onx_kernel_rows onx_kernels_quant_amx;
onx_kernel_rows onx_kernels_quant_amx = {
    {.op = "QConv",
     .first = 1,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "q_conv_amx",
     .domain = "onx.internal",
     ONX_BYTES_CONV(init_conv)},
    {.op = "MatMulInteger",
     .first = 10,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "matmul_integer_amx",
     ONX_BYTES_MATMUL(init_matmul, 1)},
    {.op = "QLinearMatMul",
     .first = 10,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "qlinear_matmul_amx",
     ONX_BYTES_MATMUL(init_matmul, 3)},
    {0},
};
