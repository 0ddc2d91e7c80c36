/* tile_ref.c: fused elementwise programs of the domain onx.internal: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_tile_ref;
onx_kernel_rows onx_kernels_tile_ref = {
    {0},
};
