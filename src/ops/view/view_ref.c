/* view_ref.c: the same elements in another shape: Reshape, Squeeze, Unsqueeze, Flatten, Identity; and Shape, Size: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_view_ref;
onx_kernel_rows onx_kernels_view_ref = {
    {0},
};
