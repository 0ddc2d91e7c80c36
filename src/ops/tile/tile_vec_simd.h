/* tile_vec_simd.h: the vector functions of tile instructions that cpu/vec_math.h does not have,
 * made of those it has. Like them, they give what C's functions give for infinities, NaN and
 * zeros. */
#ifndef ONX_TILE_VEC_SIMD_H
#define ONX_TILE_VEC_SIMD_H

#include "cpu/vec_math.h"
#include "cpu/vec_wide_math.h"

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
/* x/2 (1 + erf(x/sqrt(2))). erf(z)/z is a polynomial of z², moved to [-1,1] where its terms are
 * small, up to where erf rounds to 1: there it is not below that, and cut. The error is at most
 * 1.5e-7 |x|, as of what is written out in floats. */
static inline vf vf_gelu(vf x) {
    const float end = 3.9f;
    vf z = vf_min(vf_set(end), vf_max(vf_set(-end), x * 0.707106781f)); /* NaN passes */
    vf u = vf_fma(z * z, vf_set(2 / (end * end)), vf_set(-1.0f));
    vf p = VF_POLY(u, 0.362583995f, -0.181011543f, 0.134689033f, -0.109514177f, 0.0907062739f,
                   -0.0740129426f, 0.0576666817f, -0.0417209938f, 0.0298780631f, -0.0222792421f,
                   0.0124063268f, -0.00336030102f, 0.00281915604f, -0.00408509932f, 0.00164503395f);
    vf erf = vf_min(vf_set(1.0f), vf_max(vf_set(-1.0f), z * p)), half = x * 0.5f;
    return vf_fma(half, erf, half);
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
    vi lanes = (y == 2.0f) | (y == 3.0f) | (y == 0.5f) | ~((x > 0.0f) & (x < INFINITY)) |
               ~(vf_abs(y) < INFINITY);
    vf z = vf_pow_near(x, y);
    for (int i = 0; vf_any(lanes) && i < VF; i++)
        if (lanes[i]) z[i] = pow_lane(x[i], y[i]);
    return z;
}

#endif
