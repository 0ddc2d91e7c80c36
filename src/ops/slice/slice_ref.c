/* slice_ref.c: Slice, Pad: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_slice_ref;
onx_kernel_rows onx_kernels_slice_ref = {
    {0},
};
