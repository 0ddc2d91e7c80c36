/* activation_ref.c: Relu and other functions of one element: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_activation_ref;
onx_kernel_rows onx_kernels_activation_ref = {
    {0},
};
