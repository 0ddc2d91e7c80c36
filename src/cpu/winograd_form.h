/* winograd_form.h: the transforms of winograd_simd.c, by interpolation (Cook and Toom).
 *
 * A form makes out x out outputs from in x in inputs with one product for each of in x in points.
 * Along an axis, with stride 1, these are values at 0, a, -a, 2a, -2a and infinity, a = 3/4: of 3
 * weights and 4 outputs, or 5 and 2. With stride 2 the even inputs meet the weights 0 and 2 alone,
 * as if those were a kernel of 2 with stride 1, and have points 1/2, -1/2, 5/4, -5/4 and infinity;
 * the odd ones meet weight 1 and are points themselves. So weights have SIX values along an axis
 * in every form, the last for all the points from there on. These constants lose least: errors
 * are about twice those of direct sums, with stride 2 no larger (conv.h). */
#ifndef ONX_WINOGRAD_FORM_H
#define ONX_WINOGRAD_FORM_H

#include "cpu/conv_tile.h"

enum {
    SIX = 6,
    UNITS = SIX * SIX, /* values of a kernel */
    MOST_IN = 9,
    MOST_TAPS = 5,
    MOST_OUT = 4
};

typedef struct form {
    size_t stride, taps, in, out;
    /* w: [taps][taps], u: [UNITS], vectors of which HALF are used; those of u are `step` apart. */
    void (*weights)(const float *w, float *u, size_t step);
    /* v [in*in][step] from the pixels of x [ih][iw][b] from (y, x0) on, modulo 2^64; zeros outside.
     * Returns the sum of their magnitudes. */
    vf (*inputs)(const onx_conv *c, const float *x, size_t y, size_t x0, float *v, size_t step);
    /* y [out][out][b] from m [in*in][step]. */
    void (*outputs)(const float *m, size_t step, float *y);
} form;

/* ── Stride 1 ── */

#define A1 0.75f /* a, and its powers: all exact */
#define A2 (A1 * A1)
#define A3 (A2 * A1)
#define A4 (A2 * A2)

/* Half of VF output channels: as doubles they fill a vector. */
enum { HALF = VF / 2 };
typedef double vd __attribute__((vector_size(HALF * sizeof(double))));
typedef float vh __attribute__((vector_size(HALF * sizeof(float))));

/* u[6] from w[taps], each with its step. */
TILE_INLINE void weights_once(const vd *w, size_t w_step, size_t taps, vd *u, size_t u_step) {
    static const double a = 0.75, a4 = a * a * a * a;
    static const double points[SIX - 1] = {0, a, -a, 2 * a, -2 * a};
    static const double scales[SIX - 1] = {1 / (4 * a4), -1 / (6 * a4), -1 / (6 * a4),
                                           1 / (24 * a4), 1 / (24 * a4)};
    VF_UNROLL for (size_t i = 0; i < SIX - 1; i++) {
        vd sum = w[(taps - 1) * w_step];
        VF_UNROLL for (size_t k = taps - 1; k-- > 0;) sum = w[k * w_step] + points[i] * sum;
        u[i * u_step] = sum * scales[i];
    }
    u[(SIX - 1) * u_step] = w[(taps - 1) * w_step];
}

/* v[6] from d[6]: vectors, each with its step, in floats. */
TILE_INLINE void inputs_once(const float *d, size_t d_step, float *v, size_t v_step) {
    vf d0 = vf_load(d), d1 = vf_load(d + d_step), d2 = vf_load(d + 2 * d_step);
    vf d3 = vf_load(d + 3 * d_step), d4 = vf_load(d + 4 * d_step), d5 = vf_load(d + 5 * d_step);
    vf even = vf_fma(vf_set(-4 * A2), d2, d4), odd = A1 * d3 - (4 * A3) * d1;
    vf even2 = vf_fma(vf_set(-A2), d2, d4), odd2 = (2 * A1) * d3 - (2 * A3) * d1;
    vf_store(v, vf_fma(vf_set(4 * A4), d0, vf_fma(vf_set(-5 * A2), d2, d4)));
    vf_store(v + v_step, even + odd);
    vf_store(v + 2 * v_step, even - odd);
    vf_store(v + 3 * v_step, even2 + odd2);
    vf_store(v + 4 * v_step, even2 - odd2);
    vf_store(v + 5 * v_step, vf_fma(vf_set(4 * A4), d1, vf_fma(vf_set(-5 * A2), d3, d5)));
}

/* y[n] from m[6], n: 2 or 4. */
TILE_INLINE void outputs_once(const float *m, size_t m_step, float *y, size_t y_step, size_t n) {
    vf m1 = vf_load(m + m_step), m2 = vf_load(m + 2 * m_step), sum = m1 + m2, less = m1 - m2;
    vf m3 = vf_load(m + 3 * m_step), m4 = vf_load(m + 4 * m_step);
    vf sum2 = m3 + m4, less2 = m3 - m4, last = vf_load(m + 5 * m_step);
    vf_store(y, vf_load(m) + sum + sum2);
    vf_store(y + y_step, A1 * less + (2 * A1) * less2 + (n == 2 ? last : vf_zero()));
    if (n == 2) return;
    vf_store(y + 2 * y_step, A2 * sum + (4 * A2) * sum2);
    vf_store(y + 3 * y_step, A3 * less + (8 * A3) * less2 + last);
}

/* ── Stride 2 ── */

#define P1 0.5f /* the points; their squares are exact, too */
#define P2 1.25f
#define P1_2 (P1 * P1)
#define P2_2 (P2 * P2)

/* u[6] from w[3]. */
TILE_INLINE void weights_twice(const vd *w, size_t w_step, vd *u, size_t u_step) {
    static const double p1 = 0.5, p2 = 1.25, d = p2 * p2 - p1 * p1;
    vd w0 = w[0], w2 = w[2 * w_step];
    u[0] = (w0 + p1 * w2) * (-1 / (2 * p1 * d));
    u[u_step] = (w0 - p1 * w2) * (1 / (2 * p1 * d));
    u[2 * u_step] = (w0 + p2 * w2) * (1 / (2 * p2 * d));
    u[3 * u_step] = (w0 - p2 * w2) * (-1 / (2 * p2 * d));
    u[4 * u_step] = w2;
    u[5 * u_step] = w[w_step];
}

/* v[5] from the even ones of d[9]. */
TILE_INLINE void inputs_twice(const float *d, size_t d_step, float *v, size_t v_step) {
    vf d0 = vf_load(d), d1 = vf_load(d + 2 * d_step), d2 = vf_load(d + 4 * d_step);
    vf d3 = vf_load(d + 6 * d_step), d4 = vf_load(d + 8 * d_step);
    vf odd = vf_fma(vf_set(-P2_2), d1, d3), even = P1 * vf_fma(vf_set(-P2_2), d0, d2);
    vf odd2 = vf_fma(vf_set(-P1_2), d1, d3), even2 = P2 * vf_fma(vf_set(-P1_2), d0, d2);
    vf_store(v, odd + even);
    vf_store(v + v_step, odd - even);
    vf_store(v + 2 * v_step, odd2 + even2);
    vf_store(v + 3 * v_step, odd2 - even2);
    vf_store(v + 4 * v_step, vf_fma(vf_set(P1_2 * P2_2), d0, vf_fma(vf_set(-P1_2 - P2_2), d2, d4)));
}

/* y[4] from m[9]. */
TILE_INLINE void outputs_twice(const float *m, size_t m_step, float *y, size_t y_step) {
    vf m0 = vf_load(m), m1 = vf_load(m + m_step), sum = m0 + m1, less = m0 - m1;
    vf m2 = vf_load(m + 2 * m_step), m3 = vf_load(m + 3 * m_step), sum2 = m2 + m3, less2 = m2 - m3;
    const float *odd = m + 5 * m_step;
    vf last = vf_load(m + 4 * m_step) + vf_load(odd + 3 * m_step);
    vf_store(y, sum + sum2 + vf_load(odd));
    vf_store(y + y_step,
             vf_fma(vf_set(P1), less, vf_fma(vf_set(P2), less2, vf_load(odd + m_step))));
    vf_store(y + 2 * y_step,
             vf_fma(vf_set(P1_2), sum, vf_fma(vf_set(P2_2), sum2, vf_load(odd + 2 * m_step))));
    vf_store(y + 3 * y_step,
             vf_fma(vf_set(P1_2 * P1), less, vf_fma(vf_set(P2_2 * P2), less2, last)));
}

/* ── Both axes ── */

TILE_INLINE void weights_of(const float *w, size_t taps, size_t stride, float *u, size_t step) {
    vd wide[MOST_TAPS * MOST_TAPS], rows[SIX * MOST_TAPS], all[SIX];
    VF_UNROLL for (size_t i = 0; i < taps * taps; i++) {
        vh v;
        memcpy(&v, w + i * VF, sizeof v);
        wide[i] = __builtin_convertvector(v, vd);
    }
    VF_UNROLL for (size_t x = 0; x < taps; x++) {
        if (stride == 2)
            weights_twice(wide + x, taps, rows + x, taps);
        else
            weights_once(wide + x, taps, taps, rows + x, taps);
    }
    VF_UNROLL for (size_t y = 0; y < SIX; y++) {
        if (stride == 2)
            weights_twice(rows + y * taps, 1, all, 1);
        else
            weights_once(rows + y * taps, 1, taps, all, 1);
        VF_UNROLL for (size_t x = 0; x < SIX; x++) {
            vh v = __builtin_convertvector(all[x], vh);
            memcpy(u + (y * SIX + x) * step, &v, sizeof v);
        }
    }
}

/* n x n pixels: where they are, with *step between their rows; or in `copy`, with the zeros
 * around the image. */
TILE_INLINE const float *pixels_of(const onx_conv *c, const float *x, size_t y, size_t x0, size_t n,
                                   float *copy, size_t *step) {
    if (y < c->ih && n <= c->ih - y && x0 < c->iw && n <= c->iw - x0) {
        *step = c->iw * VF;
        return x + (y * c->iw + x0) * VF;
    }
    *step = n * VF;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            bool inside = y + i < c->ih && x0 + j < c->iw;
            vf v = inside ? vf_load(x + ((y + i) * c->iw + x0 + j) * VF) : vf_zero();
            vf_store(copy + (i * n + j) * VF, v);
        }
    return copy;
}

TILE_INLINE vf magnitudes(const float *d, size_t step, size_t n) {
    vf sum[3] = {vf_zero(), vf_zero(), vf_zero()};
    for (size_t i = 0; i < n; i++, d += step) {
        VF_UNROLL for (size_t j = 0; j < n; j++) sum[j % 3] += vf_abs(vf_load(d + j * VF));
    }
    return sum[0] + sum[1] + sum[2];
}

static vf inputs_6(const onx_conv *c, const float *x, size_t y, size_t x0, float *v, size_t step) {
    enum { ROW = SIX * VF };
    float copy[SIX * ROW], half[SIX * ROW];
    size_t row;
    const float *d = pixels_of(c, x, y, x0, SIX, copy, &row);
    VF_UNROLL for (size_t i = 0; i < SIX; i++) inputs_once(d + i * VF, row, half + i * VF, ROW);
    for (size_t i = 0; i < SIX; i++) inputs_once(half + i * ROW, VF, v + i * SIX * step, step);
    return magnitudes(d, row, SIX);
}

static vf inputs_9(const onx_conv *c, const float *x, size_t y, size_t x0, float *v, size_t step) {
    enum { EVEN = 5, N = MOST_IN, ROW = N * VF };
    float copy[N * ROW], half[EVEN * ROW];
    size_t row;
    const float *d = pixels_of(c, x, y, x0, N, copy, &row);
    for (size_t i = 0; i < N; i++) inputs_twice(d + i * VF, row, half + i * VF, ROW);
    for (size_t i = 0; i < N; i++, v += N * step) {
        const float *from = i < EVEN ? half + i * ROW : d + (2 * (i - EVEN) + 1) * row;
        inputs_twice(from, VF, v, step);
        VF_UNROLL for (size_t j = EVEN; j < N; j++) {
            vf_store(v + j * step, vf_load(from + (2 * (j - EVEN) + 1) * VF));
        }
    }
    return magnitudes(d, row, N);
}

TILE_INLINE void outputs_6(const float *m, size_t step, float *y, size_t n) {
    float half[MOST_OUT * SIX * VF];
    VF_UNROLL for (size_t i = 0; i < SIX; i++) {
        outputs_once(m + i * step, SIX * step, half + i * VF, SIX * VF, n);
    }
    VF_UNROLL for (size_t i = 0; i < n; i++) {
        outputs_once(half + i * SIX * VF, VF, y + i * n * VF, VF, n);
    }
}

static void outputs_9(const float *m, size_t step, float *y) {
    enum { N = MOST_IN };
    float half[MOST_OUT * N * VF];
    for (size_t i = 0; i < N; i++) outputs_twice(m + i * step, N * step, half + i * VF, N * VF);
    for (size_t i = 0; i < MOST_OUT; i++)
        outputs_twice(half + i * N * VF, VF, y + i * MOST_OUT * VF, VF);
}

/* ── The forms ── */

static void weights_3(const float *w, float *u, size_t step) {
    weights_of(w, 3, 1, u, step);
}
static void weights_5(const float *w, float *u, size_t step) {
    weights_of(w, 5, 1, u, step);
}
static void weights_3_2(const float *w, float *u, size_t step) {
    weights_of(w, 3, 2, u, step);
}
static void outputs_6_4(const float *m, size_t step, float *y) {
    outputs_6(m, step, y, 4);
}
static void outputs_6_2(const float *m, size_t step, float *y) {
    outputs_6(m, step, y, 2);
}

static const form forms[] = {
    {1, 3, 6, 4, weights_3, inputs_6, outputs_6_4},
    {1, 5, 6, 2, weights_5, inputs_6, outputs_6_2},
    {2, 3, 9, 4, weights_3_2, inputs_9, outputs_9},
};

/* NULL: none fits. */
static const form *form_of(const onx_conv *c) {
    bool fits = c->kw == c->kh && c->sw == c->sh && c->dh == 1 && c->dw == 1 && c->groups == 1;
    for (size_t i = 0; i < ONX_COUNT(forms) && fits; i++)
        if (forms[i].taps == c->kh && forms[i].stride == c->sh) return &forms[i];
    return NULL;
}

#endif
