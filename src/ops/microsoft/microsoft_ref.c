/* microsoft_ref.c: attention, norms and activations of com.microsoft: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_microsoft_ref;
onx_kernel_rows onx_kernels_microsoft_ref = {
    {0},
};
