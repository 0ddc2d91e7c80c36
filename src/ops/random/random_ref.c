/* random_ref.c: random numbers: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_random_ref;
onx_kernel_rows onx_kernels_random_ref = {
    {0},
};
