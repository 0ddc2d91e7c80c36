/* lrn_simd.c: LRN in float32: vectors of places. The power is exp(-beta log x). */
#include "ops/norm/lrn_simd.h"
#include "cpu/vec_math.h"

enum { SPAN = 256 }; /* places whose channels stay in the cache while their neighbours need them */

static void make_channel(const onx_lrn_state *st, const float *x, float *y, int64_t c,
                         int64_t channels, size_t places, size_t n) {
    const vf scale = vf_set((float)(st->alpha / (double)st->size));
    const vf bias = vf_set((float)st->bias), power = vf_set((float)-st->beta);
    int64_t first, last;
    onx_lrn_window(st, c, channels, &first, &last);
    for (size_t i = 0; i < n; i += VF) {
        size_t some = n - i < VF ? n - i : VF;
        vf sum = vf_zero();
        for (int64_t k = first; k <= last; k++) {
            vf v = vf_load_n(x + (size_t)k * places + i, some);
            sum = vf_fma(v, v, sum);
        }
        vf v = vf_load_n(x + (size_t)c * places + i, some);
        v *= vf_exp(power * vf_log(vf_fma(sum, scale, bias)));
        vf_store_n(y + (size_t)c * places + i, v, some);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_operand *in = call->in[0];
    int64_t channels = in->dims[1];
    size_t places = (size_t)(in->count / in->dims[0] / channels), spans = (places - 1) / SPAN + 1;
    size_t at = index % spans * SPAN, n = places - at < SPAN ? places - at : SPAN;
    size_t start = index / spans * (size_t)channels * places + at;
    (void)user, (void)scratch;
    for (int64_t c = 0; c < channels; c++)
        make_channel(call->state, (const float *)in->data + start,
                     (float *)call->out[0]->data + start, c, channels, places, n);
    return ONX_OK;
}

onx_status ONX_TIER(onx_lrn_run)(onx_call *call) {
    const onx_operand *x = call->in[0];
    if (!x->count) return ONX_OK;
    size_t places = (size_t)(x->count / x->dims[0] / x->dims[1]);
    return onx_call_parallel(call, (size_t)x->dims[0] * ((places - 1) / SPAN + 1), task, NULL);
}
