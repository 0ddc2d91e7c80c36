/* row_simd.h: sums and extremes of contiguous floats, in one fixed order: within blocks of
 * ROW_BLOCK in float on vectors, over the blocks in double. */
#ifndef ONX_ROW_SIMD_H
#define ONX_ROW_SIMD_H

#include "cpu/vec_transpose.h"

#include <math.h>

enum { ROW_BLOCK = 2048 };

/* -1 in the first n lanes. */
static inline vi row_first(size_t n) {
    static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    vi lane;
    memcpy(&lane, lanes, sizeof lane);
    return lane < vi_set((int32_t)n);
}

/* Over the lanes in quarters, for rows so short that this is much of the work. vf_sum's order. */
typedef float vq __attribute__((vector_size(16)));
typedef int32_t vqi __attribute__((vector_size(16)));
static inline vq vq_load(const float *p) {
    vq v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline vq vq_max(vq a, vq b) {
    vqi m = a > b;
    return (vq)(((vqi)a & m) | ((vqi)b & ~m));
}
static inline float row_lanes_sum(vf v) {
    float a[VF];
    vf_store(a, v);
    vq p = vq_load(a);
    if (VF == 16) p = (p + vq_load(a + 8 % VF)) + (vq_load(a + 4 % VF) + vq_load(a + 12 % VF));
    if (VF == 8) p += vq_load(a + 4 % VF);
    return (p[0] + p[2]) + (p[1] + p[3]);
}
static inline float row_lanes_max(vf v) { /* NaN may be passed over */
    float a[VF];
    vf_store(a, v);
    vq p = vq_load(a);
    if (VF == 16) p = vq_max(vq_max(p, vq_load(a + 8 % VF)), vq_load(a + 12 % VF));
    if (VF >= 8) p = vq_max(p, vq_load(a + 4 % VF));
    float x = p[0] > p[1] ? p[0] : p[1], y = p[2] > p[3] ? p[2] : p[3];
    return x > y ? x : y;
}

/* Lane i: the sum of the lanes of v[i]. The vectors are used up. */
static inline vf row_lanes_sums(vf v[VF]) {
    VF_UNROLL for (size_t n = VF / 2; n; n /= 2) VF_UNROLL for (size_t i = 0; i < n; i++) v[i] =
        VF_FIRST(v[i], v[i + n]) + VF_SECOND(v[i], v[i + n]);
    return v[0];
}

/* NaN wins over numbers: where there is one, both orders give both operands; elsewhere the same. */
static inline vf vf_max_nan(vf a, vf b) {
    return vi_bits(vf_bits(vf_max(a, b)) | vf_bits(vf_max(b, a)));
}
static inline vf vf_min_nan(vf a, vf b) {
    return vi_bits(vf_bits(vf_min(a, b)) | vf_bits(vf_min(b, a)));
}

/* The sum of `expression` in x, and in m, which is the same everywhere, over n floats: of at most
 * ROW_BLOCK by lanes, or of any number. */
#define ROW_SUM(name, expression)                                                                  \
    static inline vf name##_lanes(const float *p, size_t n, vf m) {                                \
        size_t i = 0;                                                                              \
        vf s0 = vf_zero(), s1 = vf_zero(), s2 = vf_zero(), s3 = vf_zero();                         \
        (void)m;                                                                                   \
        for (; i + 4 * VF <= n; i += 4 * VF) {                                                     \
            vf x = vf_load(p + i);                                                                 \
            s0 += (expression);                                                                    \
            x = vf_load(p + i + VF);                                                               \
            s1 += (expression);                                                                    \
            x = vf_load(p + i + 2 * VF);                                                           \
            s2 += (expression);                                                                    \
            x = vf_load(p + i + 3 * VF);                                                           \
            s3 += (expression);                                                                    \
        }                                                                                          \
        for (; i + VF <= n; i += VF) {                                                             \
            vf x = vf_load(p + i);                                                                 \
            s0 += (expression);                                                                    \
        }                                                                                          \
        if (i < n) {                                                                               \
            vf x = vf_load_n(p + i, n - i);                                                        \
            s1 += vf_select(row_first(n - i), (expression), vf_zero());                            \
        }                                                                                          \
        return (s0 + s1) + (s2 + s3);                                                              \
    }                                                                                              \
    static inline double name(const float *p, size_t n, float m) {                                 \
        double sum = 0;                                                                            \
        for (size_t some; n; p += some, n -= some) {                                               \
            some = n < ROW_BLOCK ? n : ROW_BLOCK;                                                  \
            sum += (double)row_lanes_sum(name##_lanes(p, some, vf_set(m)));                        \
        }                                                                                          \
        return sum;                                                                                \
    }
ROW_SUM(row_sum, x)
ROW_SUM(row_sum_abs, vf_abs(x))
ROW_SUM(row_sum_square, x *x)
ROW_SUM(row_sum_deviation, (x - m) * (x - m)) /* from m */

/* The largest and smallest of n floats, NaN if there is one; of none, `start`. `sign`: that of the
 * largest lane. */
#define ROW_EXTREME(name, step, sign, start)                                                       \
    static inline float name(const float *p, size_t n) {                                           \
        vf m0 = vf_set(start), m1 = m0, m2 = m0, m3 = m0;                                          \
        for (; n >= 4 * VF; n -= 4 * VF, p += 4 * VF) {                                            \
            m0 = step(m0, vf_load(p));                                                             \
            m1 = step(m1, vf_load(p + VF));                                                        \
            m2 = step(m2, vf_load(p + 2 * VF));                                                    \
            m3 = step(m3, vf_load(p + 3 * VF));                                                    \
        }                                                                                          \
        for (; n >= VF; n -= VF, p += VF) m0 = step(m0, vf_load(p));                               \
        if (n) m1 = step(m1, vf_select(row_first(n), vf_load_n(p, n), vf_set(start)));             \
        m0 = step(step(m0, m1), step(m2, m3));                                                     \
        return vf_any(m0 != m0) ? NAN : sign row_lanes_max(sign m0);                               \
    }
ROW_EXTREME(row_max, vf_max_nan, +, -INFINITY)
ROW_EXTREME(row_min, vf_min_nan, -, INFINITY)

#endif
