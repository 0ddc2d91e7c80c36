/* rnn_ref.c: LSTM: plain loops. */
#include "rt/kernel.h"

extern onx_kernel_rows onx_kernels_rnn_ref;
onx_kernel_rows onx_kernels_rnn_ref = {
    {0},
};
