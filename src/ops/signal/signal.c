/* signal.c: signals and their spectra: DFT, STFT, the windows, MelWeightMatrix: meaning. */
#include "ops/op.h"

#define DFT17                                                                                      \
    "(input:T1, dft_length?:T2) -> (output:T1) {axis:int=1, inverse:int=0, onesided:int=0} "
#define DFT20                                                                                      \
    "(input:T1, dft_length?:T2, axis?:int64) -> (output:T1) {inverse:int=0, onesided:int=0} "
#define STFT                                                                                       \
    "(signal:T1, frame_step:T2, window?:T1, frame_length?:T2) -> (output:T1) {onesided:int=1} "
#define WINDOW                                                                                     \
    "(size:T1) -> (output:T2) {output_datatype:int=1, periodic:int=1} [T1:int32|int64, T2:n]"
#define MEL                                                                                        \
    "(num_mel_bins:T1, dft_length:T1, sample_rate:T1, lower_edge_hertz:T2, upper_edge_hertz:T2) "  \
    "-> (output:T3) {output_datatype:int=1} [T1:int32|int64, T2:f, T3:n]"

extern onx_op_rows onx_ops_signal;
onx_op_rows onx_ops_signal = {
    {"DFT", 17, DFT17 "[T1:f, T2:int32|int64]", .infer = NULL},
    {"DFT", 20, DFT20 "[T1:f, T2:int32|int64]", .infer = NULL},
    {"STFT", 17, STFT "[T1:f, T2:int32|int64]", .infer = NULL},
    {"BlackmanWindow", 17, WINDOW, .infer = NULL},
    {"HammingWindow", 17, WINDOW, .infer = NULL},
    {"HannWindow", 17, WINDOW, .infer = NULL},
    {"MelWeightMatrix", 17, MEL, .infer = NULL},
    {0},
};
