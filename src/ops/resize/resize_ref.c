/* resize_ref.c: pictures in other sizes: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_resize_ref;
onx_kernel_rows onx_kernels_resize_ref = {
    {0},
};
