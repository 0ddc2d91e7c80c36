/* eltwise_ref.c: arithmetic, comparisons and logic, element by element: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_eltwise_ref;
onx_kernel_rows onx_kernels_eltwise_ref = {
    {0},
};
