/* cast_ref.c: element types: Cast, CastLike: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_cast_ref;
onx_kernel_rows onx_kernels_cast_ref = {
    {0},
};
