/* pool_quant_simd.c: QLinearAveragePool of images whose channels are last: vectors of channels. The
 * same bits as the plain kernel. */
#include "ops/pool/pool_quant_simd.h"
#include "cpu/vec_bytes.h"

/* Averages of n channels, or of a vector of them. */
static inline void average_some(const onx_qpool_coding *c, size_t count, const uint8_t *const *x,
                                size_t at, size_t n, float taps, uint8_t *y) {
    const float lo = c->flip ? -128 : 0;
    vf sum = vf_zero();
    for (size_t tap = 0; tap < count; tap++) {
        vi number = (vi_load_bytes(x[tap] + at, n) ^ c->flip) - (c->flip + c->x_zero);
        sum += c->x_scale * vf_float(number);
    }
    vf mean = sum / taps / c->y_scale + (float)c->y_zero;
    mean = vf_min(vf_max(mean, vf_set(lo)), vf_set(lo + 255));
    vi_store_bytes(y + at, vf_int(vf_round(mean)), n);
}

static void average(const onx_qpool_coding *c, size_t count, const uint8_t *const *x, size_t n,
                    float taps, uint8_t *y) {
    size_t i = 0;
    for (; i + VF <= n; i += VF) average_some(c, count, x, i, VF, taps, y);
    if (i < n) average_some(c, count, x, i, n - i, taps, y);
}

onx_status ONX_TIER(onx_qpool_run)(onx_call *call) {
    return onx_qpool_run_with(call, average);
}
