/* matmul_amx.c: MatMul, Gemm and MatMulTile on tiles of AMX: the rows of matmul_bf16.h. */
#include "ops/matmul/matmul_bf16.h"

static onx_status run(onx_call *call) {
    return onx_matmul_run_bf16(call, onx_gemm_run_amx);
}

extern onx_kernel_rows onx_kernels_matmul_amx;
onx_kernel_rows onx_kernels_matmul_amx = ONX_MATMUL_ROWS_BF16(run);
