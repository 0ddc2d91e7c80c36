/* einsum_ref.c: sums by equation: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_einsum_ref;
onx_kernel_rows onx_kernels_einsum_ref = {
    {0},
};
