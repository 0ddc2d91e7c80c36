/* image_ref.c: pictures, decoded: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_image_ref;
onx_kernel_rows onx_kernels_image_ref = {
    {0},
};
