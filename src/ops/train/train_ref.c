/* train_ref.c: optimizers: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_train_ref;
onx_kernel_rows onx_kernels_train_ref = {
    {0},
};
