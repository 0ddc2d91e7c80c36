/* tile_vec_simd.h: the vector functions of tile instructions that cpu/vec_math.h does not have,
 * made of those it has. Like them, they give what C's functions give for infinities, NaN and
 * zeros. */
#ifndef ONX_TILE_VEC_SIMD_H
#define ONX_TILE_VEC_SIMD_H

#include "cpu/vec_math.h"

static inline vf vf_floor(vf x) {
    vf r = vf_round(x);
    return vf_select(r > x, r - 1.0f, r);
}
static inline vf vf_ceil(vf x) {
    vf r = vf_round(x);
    return vf_copysign(vf_select(r < x, r + 1.0f, r), x);
}
/* exp(x) - 1: what the subtraction of u = exp(x) loses is the same as what log(u) loses. */
static inline vf vf_expm1(vf x) {
    vf u = vf_exp(x), less = u - 1.0f;
    vf y = vf_select(less == 0.0f, x, less * (x / vf_log(u)));
    return vf_select((less == -1.0f) | (u == INFINITY), less, y);
}
/* log(1 + exp(x)), with log1p of e = exp(-|x|) by the same argument. */
static inline vf vf_softplus(vf x) {
    vf e = vf_exp(-vf_abs(x)), u = 1.0f + e, less = u - 1.0f;
    return vf_max(vf_zero(), x) + vf_select(less == 0.0f, e, vf_log(u) * e / less);
}
/* x^y; the exponents that models are full of without C's pow. What a lane gives does not depend on
 * the others: the same rules hold one by one where exponents differ. */
static inline float pow_lane(float x, float y) {
    if (y == 2.0f) return x * x;
    if (y == 3.0f) return x * x * x;
    if (y == 0.5f && !(x < 0.0f)) return sqrtf(x + 0.0f);
    return powf(x, y);
}
static inline vf vf_pow(vf x, vf y) {
    if (!vf_any(y != 2.0f)) return x * x;
    if (!vf_any(y != 3.0f)) return x * x * x;
    if (!vf_any((y != 0.5f) | (x < 0.0f))) return vf_sqrt(x + 0.0f);
    float a[VF], b[VF];
    vf_store(a, x);
    vf_store(b, y);
    for (int i = 0; i < VF; i++) a[i] = pow_lane(a[i], b[i]);
    return vf_load(a);
}

#endif
