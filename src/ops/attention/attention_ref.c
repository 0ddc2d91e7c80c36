/* attention_ref.c: attention, its rotary positions and its linear relatives: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_attention_ref;
onx_kernel_rows onx_kernels_attention_ref = {
    {0},
};
