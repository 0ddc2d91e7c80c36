/* matmul_ref.c: MatMul, Gemm: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_matmul_ref;
onx_kernel_rows onx_kernels_matmul_ref = {
    {0},
};
