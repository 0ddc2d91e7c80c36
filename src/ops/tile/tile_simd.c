/* tile_simd.c: fused elementwise programs of the domain onx.internal: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_tile);
onx_kernel_rows ONX_TIER(onx_kernels_tile) = {
    {0},
};
