/* transpose_ref.c: Transpose: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_transpose_ref;
onx_kernel_rows onx_kernels_transpose_ref = {
    {0},
};
