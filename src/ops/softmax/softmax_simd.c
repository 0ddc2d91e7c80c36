/* softmax_simd.c: Softmax, LogSoftmax: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_softmax);
onx_kernel_rows ONX_TIER(onx_kernels_softmax) = {
    {0},
};
