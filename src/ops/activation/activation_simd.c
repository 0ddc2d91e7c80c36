/* activation_simd.c: Relu and other functions of one element: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_activation);
onx_kernel_rows ONX_TIER(onx_kernels_activation) = {
    {0},
};
