/* control_ref.c: If, Loop, Scan: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_control_ref;
onx_kernel_rows onx_kernels_control_ref = {
    {0},
};
