/* msquant_ref.c: quantized tensors of com.microsoft: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_msquant_ref;
onx_kernel_rows onx_kernels_msquant_ref = {
    {0},
};
