/* eltwise_simd.c: arithmetic, comparisons and logic, element by element: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_eltwise);
onx_kernel_rows ONX_TIER(onx_kernels_eltwise) = {
    {0},
};
