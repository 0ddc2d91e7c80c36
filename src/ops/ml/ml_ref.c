/* ml_ref.c: ai.onnx.ml: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_ml_ref;
onx_kernel_rows onx_kernels_ml_ref = {
    {0},
};
