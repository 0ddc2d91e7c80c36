/* reduce_simd.c: reductions and ArgMax: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_reduce);
onx_kernel_rows ONX_TIER(onx_kernels_reduce) = {
    {0},
};
