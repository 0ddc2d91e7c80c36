/* concat_ref.c: Concat, Split, Expand, Tile: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_concat_ref;
onx_kernel_rows onx_kernels_concat_ref = {
    {0},
};
