/* conv_simd.c: Conv: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_conv);
onx_kernel_rows ONX_TIER(onx_kernels_conv) = {
    {0},
};
