/* lfilter.c: the loop of torchaudio's recursive filters (lfilter, biquads, loudness): every sample
 * less what the filter makes of those before it. Samples follow each other, so it is a Loop. */
#include "export/aten/nn_args.h"
#include "export/if_loop.h"

typedef struct filter {
    onx_value *samples; /* [time, batch, channel] */
    onx_value *past;    /* of the filter: [channel, order] */
} filter;

/* carried[0]: the last samples that were made, [batch, channel, order]. */
static bool make_sample(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                        onx_xv *go) {
    static const int64_t last = 2;
    const filter *f = user;
    onx_value *before = onx_xv_value(x, &carried[0]);
    (void)go;
    onx_value *sum =
        onx_x_reduce(x, "ReduceSum", onx_emit(x, "Mul", before, f->past), 1, &last, false);
    onx_value *sample = onx_emit(x, "Gather", f->samples, onx_x_scalar(x, &turn, ONX_DTYPE_I64));
    sample = onx_emit(x, "Sub", sample, sum);
    onx_value *parts[] = {onx_x_slice(x, before, 2, onx_xv_int(x, 1), onx_xv_int(x, INT64_MAX), 1),
                          onx_x_unsqueeze(x, sample, 2)};
    stacked[0] = onx_xv_tensor(x, sample);
    carried[0] = onx_xv_tensor(x, onx_x_concat(x, 2, parts, 2));
    return onx_x_ok(x);
}

/* (input_signal_windows [batch, channel, time], a_coeff_flipped [channel, order + 1],
 * padded_output_waveform [batch, channel, order + time]), which is written to. */
static void lower_lfilter(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t time_first[] = {2, 0, 1}, time_last[] = {1, 2, 0};
    onx_value *v = onx_nn_tensor(x, &a[0]), *filters = onx_nn_tensor(x, &a[1]);
    onx_value *made = onx_nn_tensor(x, &a[2]);
    int64_t n;
    *out = a[2];
    if (!v || !filters || !made || onx_x_rank(x, v) != 3 || onx_x_rank(x, filters) != 2) return;
    if (!onx_x_known_dim(x, filters, 1, &n) || n < 2) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a filter whose order is 0 or not known");
        return;
    }
    onx_xv none = onx_xv_int(x, 0), order = onx_xv_int(x, n - 1), end = onx_xv_int(x, INT64_MAX);
    onx_value *now = onx_x_slice(x, filters, 1, order, end, 1);
    onx_value *there = onx_x_slice(x, made, 2, order, end, 1);
    v = onx_emit(x, "Sub", v, onx_emit(x, "Mul", there, now));
    filter f = {onx_x_transpose(x, v, 3, time_first), onx_x_slice(x, filters, 1, none, order, 1)};
    onx_value *begin = onx_x_slice(x, made, 2, none, order, 1);
    if (!onx_x_ok(x)) return;
    onx_xv carried = onx_xv_tensor(x, begin), stacked, trips = onx_x_size_of(x, v, 2);
    onx_xloop loop = {.trips = &trips, .n = 1, .carried = &carried, .n_stacked = 1};
    loop.stacked = &stacked;
    loop.body = make_sample;
    loop.user = &f;
    if (!onx_x_loop(x, &loop)) return;
    onx_value *parts[] = {begin, onx_x_transpose(x, onx_xv_value(x, &stacked), 3, time_last)};
    onx_xt_write(x, a[2].tensor, onx_x_concat(x, 2, parts, 2));
}

const onx_aten onx_aten_lfilter[] = {
    {"torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, "
     "Tensor padded_output_waveform)",
     lower_lfilter, NULL},
    {.schema = NULL},
};
