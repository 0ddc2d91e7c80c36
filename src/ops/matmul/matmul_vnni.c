/* matmul_vnni.c: MatMul, Gemm and MatMulTile whose B is a constant matrix of float16, in 16-bit
 * integers. */
#define HALF_GEMM onx_half_gemm_vnni
#include "ops/matmul/matmul_half_simd.h"

extern onx_kernel_rows onx_kernels_matmul_vnni;
onx_kernel_rows onx_kernels_matmul_vnni = {HALF_ROWS, {0}};
