/* pool_simd.c: pooling: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_pool);
onx_kernel_rows ONX_TIER(onx_kernels_pool) = {
    {0},
};
