/* conv_ref.c: Conv: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_conv_ref;
onx_kernel_rows onx_kernels_conv_ref = {
    {0},
};
