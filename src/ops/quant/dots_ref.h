/* dots_ref.h: products of a row of int16 with many rows: the inner loops of all integer products.
 * Compiled once for each instruction set, with vectors that the compiler finds. */
#ifndef ONX_DOTS_REF_H
#define ONX_DOTS_REF_H

#include "base/base.h"

/* sums[r] = the product of x with row r; rows are n long and follow one another. Modulo 2^32; all
 * numbers are below 2^8. */
typedef void onx_dots_fn(const int16_t *x, const int16_t *rows, size_t count, size_t n,
                         int32_t *sums);

enum { ONX_DOTS_PART = 1 << 15 }; /* products of which int32 can hold the sum */

static inline uint32_t onx_dot_part(const int16_t *x, const int16_t *row, size_t n) {
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * row[i];
    return (uint32_t)sum;
}

/* Four rows at once: x is loaded once, and no sum waits for another. */
static inline void onx_dot_four(const int16_t *x, const int16_t *rows, size_t step, size_t n,
                                uint32_t sums[4]) {
    const int16_t *a = rows, *b = a + step, *c = b + step, *d = c + step;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (size_t i = 0; i < n; i++) {
        s0 += x[i] * a[i];
        s1 += x[i] * b[i];
        s2 += x[i] * c[i];
        s3 += x[i] * d[i];
    }
    sums[0] += (uint32_t)s0;
    sums[1] += (uint32_t)s1;
    sums[2] += (uint32_t)s2;
    sums[3] += (uint32_t)s3;
}

static inline void onx_dots(const int16_t *x, const int16_t *rows, size_t count, size_t n,
                            int32_t *sums) {
    size_t r = 0;
    for (; r < count; r += count - r < 4 ? 1 : 4) {
        uint32_t sum[4] = {0};
        for (size_t at = 0; at < n; at += ONX_DOTS_PART) {
            size_t part = n - at < ONX_DOTS_PART ? n - at : ONX_DOTS_PART;
            if (count - r < 4)
                sum[0] += onx_dot_part(x + at, rows + r * n + at, part);
            else
                onx_dot_four(x + at, rows + r * n + at, n, part, sum);
        }
        for (size_t i = 0; i < 4 && r + i < count; i++) sums[r + i] = (int32_t)sum[i];
    }
}

#endif
