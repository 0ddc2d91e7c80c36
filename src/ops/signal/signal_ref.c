/* signal_ref.c: spectra and windows: the table of plain kernels. */
#include "ops/signal/dft_ref.h"

#define DFT(op_, host_, name_, bind_, ...)                                                         \
    {                                                                                              \
        .op = op_, .first = 17, .types = {__VA_ARGS__}, .name = name_, .host = host_,              \
        .plan_bytes = sizeof(onx_dft_plan), .init = onx_dft_init, .bind = bind_,                   \
        .run = onx_dft_run                                                                         \
    }
#define WINDOW(op_, name_)                                                                         \
    {                                                                                              \
        .op = op_, .first = 17, .types = {ONX_T_INDEX}, .name = name_, .host = 1,                  \
        .init = onx_window_init, .bind = onx_window_bind, .run = onx_window_run                    \
    }

extern onx_kernel_rows onx_kernels_signal_ref;
onx_kernel_rows onx_kernels_signal_ref = {
    DFT("DFT", 6, "dft", onx_dft_bind, ONX_T_FLOATS, ONX_T_INDEX, ONX_T(I64)),
    DFT("STFT", 10, "stft", onx_stft_bind, ONX_T_FLOATS, ONX_T_INDEX, ONX_T_FLOATS, ONX_T_INDEX),
    WINDOW("BlackmanWindow", "blackman_window"),
    WINDOW("HammingWindow", "hamming_window"),
    WINDOW("HannWindow", "hann_window"),
    {.op = "MelWeightMatrix",
     .first = 17,
     .types = {ONX_T_INDEX, ONX_T_INDEX, ONX_T_INDEX, ONX_T_FLOATS, ONX_T_FLOATS},
     .name = "mel_weight_matrix",
     .host = 7,
     .plan_bytes = 4 * sizeof(int64_t),
     .init = onx_mel_init,
     .bind = onx_mel_bind,
     .run = onx_mel_run},
    {0},
};
