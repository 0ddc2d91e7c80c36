/* attend_rows_simd.c: the products and powers of a block of attention (attend_ref.c) on vectors of
 * floats. Sums go in an order that depends on sizes alone. */
#include "cpu/vec_math.h"
#include "cpu/vec_transpose.h"
#include "ops/attention/attend_ref.h"

enum { TOGETHER = 4 }; /* values that are added at once */

static inline vf load_some(const float *p, size_t n) {
    return n < VF ? vf_load_n(p, n) : vf_load(p);
}

/* Products of a row with VF keys. */
static inline vf dots_of(const float *q, const float *k, size_t step, size_t head) {
    vf sum[VF];
    VF_UNROLL for (size_t i = 0; i < VF; i++) sum[i] = vf_zero();
    for (size_t c = 0; c < head; c += VF) {
        const size_t n = head - c;
        vf x = load_some(q + c, n);
        VF_UNROLL for (size_t i = 0; i < VF; i++) sum[i] =
            vf_fma(x, load_some(k + i * step + c, n), sum[i]);
    }
    vf_transpose(sum);
    VF_UNROLL for (size_t i = 1; i < VF; i++) sum[0] += sum[i];
    return sum[0];
}

static void dots(const onx_attend_dots *d) {
    for (size_t j = 0; j < d->n; j += VF) {
        const size_t n = d->n - j < VF ? d->n - j : VF;
        const float *k = d->k + j * d->step;
        for (size_t r = 0; r < d->rows; r++) {
            const float *q = d->q + r * d->head;
            float all[VF];
            if (n == VF)
                vf_store(all, dots_of(q, k, d->step, d->head));
            else
                for (size_t i = 0; i < n; i++) {
                    vf sum = vf_zero();
                    for (size_t c = 0; c < d->head; c += VF)
                        sum = vf_fma(load_some(q + c, d->head - c),
                                     load_some(k + i * d->step + c, d->head - c), sum);
                    all[i] = vf_sum(sum);
                }
            for (size_t i = 0; i < n; i++) d->scores[r * d->stride + j + i] = all[i] * d->scale;
        }
    }
}

static void powers(double *x, size_t n, double max) {
    for (size_t j = 0; j < n; j += VF) {
        const size_t some = n - j < VF ? n - j : VF;
        float all[VF] = {0};
        for (size_t i = 0; i < some; i++) all[i] = (float)(x[j + i] - max);
        vf_store(all, vf_exp(vf_load(all)));
        for (size_t i = 0; i < some; i++) x[j + i] = all[i];
    }
}

/* y += chances V, of a few values. */
static inline __attribute__((always_inline)) void add_some(float *y, size_t n, const float *v,
                                                           size_t step, const float *chances,
                                                           size_t values) {
    for (size_t c = 0; c < n; c += VF) {
        const size_t some = n - c;
        vf sum = load_some(y + c, some);
        for (size_t i = 0; i < values; i++)
            sum = vf_fma(vf_set(chances[i]), load_some(v + i * step + c, some), sum);
        if (some < VF)
            vf_store_n(y + c, sum, some);
        else
            vf_store(y + c, sum);
    }
}

static void add(float *y, size_t n, const float *v, size_t step, const double *chances,
                size_t values) {
    for (size_t j = 0; j < values; j += TOGETHER, v += TOGETHER * step) {
        const size_t some = values - j < TOGETHER ? values - j : TOGETHER;
        float all[TOGETHER];
        for (size_t i = 0; i < some; i++) all[i] = (float)chances[j + i];
        if (some == TOGETHER)
            add_some(y, n, v, step, all, TOGETHER);
        else
            for (size_t i = 0; i < some; i++) add_some(y, n, v + i * step, step, all + i, 1);
    }
}

extern const onx_attend_vectors ONX_TIER(onx_attend_vectors);
const onx_attend_vectors ONX_TIER(onx_attend_vectors) = {dots, powers, add};
