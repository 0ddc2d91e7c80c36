/* transpose_simd.c: Transpose: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_transpose);
onx_kernel_rows ONX_TIER(onx_kernels_transpose) = {
    {0},
};
