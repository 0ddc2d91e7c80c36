/* reduce_ref.c: reductions and ArgMax: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_reduce_ref;
onx_kernel_rows onx_kernels_reduce_ref = {
    {0},
};
