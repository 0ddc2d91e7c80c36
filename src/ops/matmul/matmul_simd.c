/* matmul_simd.c: MatMul, Gemm: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_matmul);
onx_kernel_rows ONX_TIER(onx_kernels_matmul) = {
    {0},
};
