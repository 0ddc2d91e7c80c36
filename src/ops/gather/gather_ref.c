/* gather_ref.c: Gather and its kin: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_gather_ref;
onx_kernel_rows onx_kernels_gather_ref = {
    {0},
};
