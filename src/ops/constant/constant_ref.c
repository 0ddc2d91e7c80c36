/* constant_ref.c: Constant, ConstantOfShape, Range: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_constant_ref;
onx_kernel_rows onx_kernels_constant_ref = {
    {0},
};
