/* attend_rows_simd.c: the products and powers of a block of attention (attend_ref.c) on vectors of
 * floats. Sums go in an order that depends on sizes alone. */
#include "cpu/vec_math.h"
#include "cpu/vec_transpose.h"
#include "ops/attention/attend_ref.h"

#include <math.h>

enum {
    ROWS = 4,      /* whose scores are made at once, */
    KEYS = 2 * VF, /* for so many keys */
    MANY = 64,     /* rows for which keys are turned, */
    COLUMNS = 64,  /* so many columns of them */
    TOGETHER = 4,  /* rows that values are added to at once, */
    WIDE = 2,      /* vectors of them */
};

static inline vf load_some(const float *p, size_t n) {
    return n < VF ? vf_load_n(p, n) : vf_load(p);
}
static inline void store_some(float *p, vf v, size_t n) {
    if (n < VF)
        vf_store_n(p, v, n);
    else
        vf_store(p, v);
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

/* A few rows: as many keys at a time as there are lanes. */
static void dots_by_rows(const onx_attend_dots *d) {
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

/* m columns of n <= VF keys, as rows of `out`, which are KEYS apart; zeros where no keys are. */
static void turn_keys(const float *k, size_t step, size_t n, size_t m, float *out) {
    for (size_t c = 0; c < m; c += VF) {
        vf v[VF];
        for (size_t i = 0; i < VF; i++)
            v[i] = i < n ? load_some(k + i * step + c, m - c) : vf_zero();
        vf_transpose(v);
        for (size_t i = 0; i < VF && c + i < m; i++) vf_store(out + (c + i) * KEYS, v[i]);
    }
}

/* Sums of `rows` rows and the keys that were turned, added to those so far. */
static inline __attribute__((always_inline)) void add_dots(const float *q, size_t head,
                                                           const float *turned, size_t m,
                                                           float *sums, size_t rows) {
    vf sum[ROWS][2];
    VF_UNROLL for (size_t r = 0; r < rows; r++) {
        sum[r][0] = vf_load(sums + r * KEYS);
        sum[r][1] = vf_load(sums + r * KEYS + VF);
    }
    for (size_t c = 0; c < m; c++) {
        vf first = vf_load(turned + c * KEYS), second = vf_load(turned + c * KEYS + VF);
        VF_UNROLL for (size_t r = 0; r < rows; r++) {
            vf x = vf_set(q[r * head + c]);
            sum[r][0] = vf_fma(x, first, sum[r][0]);
            sum[r][1] = vf_fma(x, second, sum[r][1]);
        }
    }
    VF_UNROLL for (size_t r = 0; r < rows; r++) {
        vf_store(sums + r * KEYS, sum[r][0]);
        vf_store(sums + r * KEYS + VF, sum[r][1]);
    }
}

/* Rows [first, last) and n <= KEYS keys from key j on. */
static void dots_of_keys(const onx_attend_dots *d, size_t j, size_t n, size_t first, size_t last) {
    float sums[MANY * KEYS] = {0}, turned[COLUMNS * KEYS];
    const size_t some = n < VF ? n : VF;
    for (size_t c = 0; c < d->head; c += COLUMNS) {
        const size_t m = d->head - c < COLUMNS ? d->head - c : COLUMNS;
        const float *k = d->k + j * d->step + c;
        size_t r = first;
        turn_keys(k, d->step, some, m, turned);
        turn_keys(k + some * d->step, d->step, n - some, m, turned + VF);
        for (; r + ROWS <= last; r += ROWS)
            add_dots(d->q + r * d->head + c, d->head, turned, m, sums + (r - first) * KEYS, ROWS);
        for (; r < last; r++)
            add_dots(d->q + r * d->head + c, d->head, turned, m, sums + (r - first) * KEYS, 1);
    }
    for (size_t r = first; r < last; r++)
        for (size_t i = 0; i < n; i++)
            d->scores[r * d->stride + j + i] = sums[(r - first) * KEYS + i] * d->scale;
}

static void dots(const onx_attend_dots *d) {
    if (d->rows < ROWS) {
        dots_by_rows(d);
        return;
    }
    for (size_t j = 0; j < d->n; j += KEYS)
        for (size_t r = 0, end; r < d->rows; r = end) {
            end = d->rows - r < MANY ? d->rows : r + MANY;
            dots_of_keys(d, j, d->n - j < KEYS ? d->n - j : KEYS, r, end);
        }
}

static void bend(float *x, size_t n, float cap) {
    for (size_t j = 0; j < n; j += VF) {
        vf y = vf_set(cap) * vf_tanh(load_some(x + j, n - j) / vf_set(cap));
        store_some(x + j, y, n - j);
    }
}

static float largest(const float *x, size_t n) {
    vf most = vf_set(-INFINITY);
    size_t j = 0;
    for (; j + VF <= n; j += VF) most = vf_max(vf_load(x + j), most);
    float all = vf_largest(most);
    for (; j < n; j++)
        if (!(x[j] <= all)) all = x[j];
    return all;
}

static double powers(float *x, size_t n, float max) {
    vf sum = vf_zero(), base = vf_set(max);
    double rest = 0;
    size_t j = 0;
    for (; j + VF <= n; j += VF) {
        vf y = vf_exp(vf_load(x + j) - base);
        vf_store(x + j, y);
        sum += y;
    }
    if (j < n) {
        float all[VF];
        vf_store(all, vf_exp(vf_load_n(x + j, n - j) - base));
        for (size_t i = 0; j < n; i++, j++) rest += (double)(x[j] = all[i]);
    }
    return rest + (double)vf_sum(sum);
}

/* Columns [c, c + wide vectors) of a few rows; of the last vector `some`. */
static inline __attribute__((always_inline)) void add_tile(const onx_attend_add *a, size_t r,
                                                           size_t c, size_t rows, size_t wide,
                                                           size_t some) {
    float *y = a->y + r * a->n + c;
    const float *v = a->v + c, *chances = a->chances + r * a->stride;
    vf sum[TOGETHER][WIDE];
    VF_UNROLL for (size_t i = 0; i < rows; i++) VF_UNROLL for (size_t l = 0; l < wide; l++)
        sum[i][l] = load_some(y + i * a->n + l * VF, some);
    for (size_t j = 0; j < a->values; j++, v += a->step) {
        vf x[WIDE];
        VF_UNROLL for (size_t l = 0; l < wide; l++) x[l] = load_some(v + l * VF, some);
        VF_UNROLL for (size_t i = 0; i < rows; i++) {
            vf chance = vf_set(chances[i * a->stride + j]);
            VF_UNROLL for (size_t l = 0; l < wide; l++) sum[i][l] = vf_fma(chance, x[l], sum[i][l]);
        }
    }
    VF_UNROLL for (size_t i = 0; i < rows; i++) VF_UNROLL for (size_t l = 0; l < wide; l++)
        store_some(y + i * a->n + l * VF, sum[i][l], some);
}

static inline __attribute__((always_inline)) void add_rows(const onx_attend_add *a, size_t r,
                                                           size_t rows) {
    size_t c = 0;
    for (; c + WIDE * VF <= a->n; c += WIDE * VF) add_tile(a, r, c, rows, WIDE, VF);
    for (; c + VF <= a->n; c += VF) add_tile(a, r, c, rows, 1, VF);
    if (c < a->n) add_tile(a, r, c, rows, 1, a->n - c);
}

static void add(const onx_attend_add *a) {
    size_t r = 0;
    for (; r + TOGETHER <= a->rows; r += TOGETHER) add_rows(a, r, TOGETHER);
    for (; r < a->rows; r++) add_rows(a, r, 1);
}

extern const onx_attend_vectors ONX_TIER(onx_attend_vectors);
const onx_attend_vectors ONX_TIER(onx_attend_vectors) = {dots, bend, largest, powers, add};
