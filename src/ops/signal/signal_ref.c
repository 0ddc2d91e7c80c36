/* signal_ref.c: spectra and windows: plain kernels. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_signal_ref;
onx_kernel_rows onx_kernels_signal_ref = {
    {0},
};
