/* sequence_ref.c: sequences and optionals: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_sequence_ref;
onx_kernel_rows onx_kernels_sequence_ref = {
    {0},
};
