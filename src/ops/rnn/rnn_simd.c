/* rnn_simd.c: LSTM: vectors. */
#include "cpu/vec.h"
#include "rt/kernel.h"

extern onx_kernel_rows ONX_TIER(onx_kernels_rnn);
onx_kernel_rows ONX_TIER(onx_kernels_rnn) = {
    {0},
};
