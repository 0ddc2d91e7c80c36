/* quant_ref.c: quantized tensors: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_quant_ref;
onx_kernel_rows onx_kernels_quant_ref = {
    {0},
};
