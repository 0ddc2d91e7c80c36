/* strings_ref.c: strings: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_strings_ref;
onx_kernel_rows onx_kernels_strings_ref = {
    {0},
};
