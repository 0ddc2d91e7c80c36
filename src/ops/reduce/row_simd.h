/* row_simd.h: sums and extremes of contiguous floats, in one fixed order: within blocks of
 * ROW_BLOCK in float on vectors, over the blocks in double. */
#ifndef ONX_ROW_SIMD_H
#define ONX_ROW_SIMD_H

#include "cpu/vec.h"

#include <math.h>

enum { ROW_BLOCK = 2048 };

/* NaN wins over numbers. */
static inline vf vf_max_nan(vf a, vf b) {
    return vf_select(a != a, a, vf_max(a, b));
}
static inline vf vf_min_nan(vf a, vf b) {
    return vf_select(a != a, a, vf_min(a, b));
}

/* The sum of `expression` in x, and in m, which is the same everywhere, over n floats. */
#define ROW_SUM(name, expression)                                                                  \
    static inline double name(const float *p, size_t n, float m_) {                                \
        double sum = 0;                                                                            \
        vf m = vf_set(m_);                                                                         \
        (void)m;                                                                                   \
        while (n) {                                                                                \
            size_t some = n < ROW_BLOCK ? n : ROW_BLOCK, i = 0;                                    \
            vf s0 = vf_zero(), s1 = vf_zero();                                                     \
            for (; i + 2 * VF <= some; i += 2 * VF) {                                              \
                vf x = vf_load(p + i);                                                             \
                s0 += (expression);                                                                \
                x = vf_load(p + i + VF);                                                           \
                s1 += (expression);                                                                \
            }                                                                                      \
            float tail = 0;                                                                        \
            for (; i < some; i += VF) {                                                            \
                float lanes[VF];                                                                   \
                size_t left = some - i < VF ? some - i : VF;                                       \
                vf x = vf_load_n(p + i, left);                                                     \
                vf_store(lanes, (expression));                                                     \
                for (size_t k = 0; k < left; k++) tail += lanes[k];                                \
            }                                                                                      \
            sum += (double)(vf_sum(s0 + s1) + tail);                                               \
            p += some;                                                                             \
            n -= some;                                                                             \
        }                                                                                          \
        return sum;                                                                                \
    }
ROW_SUM(row_sum, x)
ROW_SUM(row_sum_abs, vf_abs(x))
ROW_SUM(row_sum_square, x *x)
ROW_SUM(row_sum_deviation, (x - m) * (x - m)) /* from m */

/* The largest and smallest of n floats, NaN if there is one. */
static inline float row_max(const float *p, size_t n) {
    float lanes[VF], max = -INFINITY;
    vf all = vf_set(-INFINITY);
    for (; n >= VF; n -= VF, p += VF) all = vf_max_nan(all, vf_load(p));
    vf_store(lanes, all);
    for (int k = 0; k < VF; k++) max = max != max || max > lanes[k] ? max : lanes[k];
    vf_store(lanes, vf_load_n(p, n));
    for (size_t k = 0; k < n; k++) max = max != max || max > lanes[k] ? max : lanes[k];
    return max;
}
static inline float row_min(const float *p, size_t n) {
    float lanes[VF], min = INFINITY;
    vf all = vf_set(INFINITY);
    for (; n >= VF; n -= VF, p += VF) all = vf_min_nan(all, vf_load(p));
    vf_store(lanes, all);
    for (int k = 0; k < VF; k++) min = min != min || min < lanes[k] ? min : lanes[k];
    vf_store(lanes, vf_load_n(p, n));
    for (size_t k = 0; k < n; k++) min = min != min || min < lanes[k] ? min : lanes[k];
    return min;
}

#endif
