/* norm_simd.c: LayerNormalization, BatchNormalization: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_norm);
onx_kernel_rows ONX_TIER(onx_kernels_norm) = {
    {0},
};
