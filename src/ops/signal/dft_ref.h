/* dft_ref.h: kernels of DFT and STFT (dft_ref.c), and of windows and mel weights (window_ref.c). */
#ifndef ONX_DFT_REF_H
#define ONX_DFT_REF_H

#include "ops/eltwise/widen_ref.h"
#include "ops/signal/fft_ref.h"

/* Signals of numbers with `parts` parts in input 0, lines of length n, cut out of it or filled up
 * with zeros, and spectra of which the first `bins` are wanted, with `out_parts` parts. */
typedef struct onx_dft_plan {
    int64_t n, bins, parts, out_parts;
    int64_t lines, inner; /* lines in all; of them, those that lie side by side */
    int64_t taken, room;  /* what a line takes of the input, and how long the input is there */
    int64_t frames, step; /* of STFT: frames of one signal, and how far apart they begin */
} onx_dft_plan;

typedef struct onx_dft_state {
    int64_t axis;
    bool inverse, onesided;
} onx_dft_state;

onx_status onx_dft_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dft_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_stft_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dft_run(onx_call *call) ONX_MUST_CHECK;
/* NULL: there is none. */
const onx_operand *onx_dft_window(const onx_call *call);

onx_status onx_window_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_window_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_window_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_mel_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_mel_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_mel_run(onx_call *call) ONX_MUST_CHECK;
/* An integer input that is one number. */
onx_status onx_signal_number(const onx_call *call, size_t index, const char *name, int64_t *out)
    ONX_MUST_CHECK;

#endif
