/* matmul_amx.c: MatMul, Gemm and MatMulTile on tiles of AMX: the rows of matmul_bf16.h; and those
 * whose B is a constant matrix of float16. */
#include "ops/matmul/matmul_bf16.h"

#define HALF_GEMM onx_half_gemm_amx
#include "ops/matmul/matmul_half_simd.h"

static onx_status run_bf16(onx_call *call) {
    return onx_matmul_run_bf16(call, onx_gemm_run_amx);
}

extern onx_kernel_rows onx_kernels_matmul_amx;
onx_kernel_rows onx_kernels_matmul_amx = {
    ONX_MATMUL_ROWS_BF16(run_bf16),
    HALF_ROWS,
    {0},
};
