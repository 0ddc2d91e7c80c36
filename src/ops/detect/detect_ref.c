/* detect_ref.c: boxes: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_detect_ref;
onx_kernel_rows onx_kernels_detect_ref = {
    {0},
};
