/* pool_ref.c: pooling: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_pool_ref;
onx_kernel_rows onx_kernels_pool_ref = {
    {0},
};
