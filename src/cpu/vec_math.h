/* vec_math.h: exp, log, tanh, erf and the logistic function on vectors of floats.
 *
 * Errors are at most ONX_VF_ULP_* units in the last place of the exact result, on every instruction
 * set, over all floats; infinities, NaN, zeros (with their sign) and denormals give what C's
 * functions give. Polynomials are minimax fits whose coefficients were rounded one by one, each
 * time fitting those left again. No lane depends on another, and no flag is raised on purpose.
 */
#ifndef ONX_VEC_MATH_H
#define ONX_VEC_MATH_H

#include "cpu/vec.h"

#include <math.h>

#define ONX_VF_ULP_EXP 1.5
#define ONX_VF_ULP_LOG 1.5
#define ONX_VF_ULP_SIGMOID 2.5
#define ONX_VF_ULP_TANH 2.5
#define ONX_VF_ULP_ERF 2.0

/* c[0] + c[1] x + … + c[n-1] x^(n-1), by Horner's rule; `n` is a constant. */
static inline __attribute__((always_inline)) vf vf_poly(vf x, const float *c, int n) {
    vf y = vf_set(c[n - 1]);
    VF_UNROLL for (int i = n - 2; i >= 0; i--) y = vf_fma(y, x, vf_set(c[i]));
    return y;
}
#define VF_POLY(x, ...)                                                                            \
    vf_poly(x, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

static inline vf vf_copysign(vf magnitude, vf sign) {
    return vi_bits((vf_bits(magnitude) & INT32_MAX) | (vf_bits(sign) & INT32_MIN));
}

/* exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2. Adding `magic` to x / ln 2 leaves n in
 * the low bits, and there with an offset: what exponents of floats are counted from. */
static inline vf vf_shifted(vf x, float magic) {
    return vf_fma(x, vf_set(1.44269504f), vf_set(magic));
}
/* exp(r) - 1. n ln 2 is taken away from x in two parts, the first of few bits so that its product
 * with n is exact. */
static inline vf vf_exp_rest(vf x, vf n) {
    vf r = vf_fma(n, vf_set(2.12194440e-4f), vf_fma(n, vf_set(-0.693359375f), x));
    vf q = VF_POLY(r, 0.49999994f, 0.166665211f, 0.0416682884f, 0.00836870354f, 0.00138189388f);
    return vf_fma(r * r, q, r);
}
/* 2^n from such low bits; shifted as unsigned, since NaN makes its lane meaningless. */
static inline vf vf_exp2i(vi low) {
    return (vf)((vu)low << 23);
}
#define VF_MAGIC (12582912.0f + 127) /* 1.5 * 2^23, and the offset */
#define VF_MAGIC_TWICE (12582912.0f + 2 * 127)

/* Clamped where the result is 0 or infinite. Scaled by halves, so that the last product alone
 * rounds, into the denormals too. */
static inline vf vf_exp(vf x) {
    x = vf_min(vf_set(89.0f), vf_max(vf_set(-104.0f), x)); /* in this order NaN passes */
    vf shifted = vf_shifted(x, VF_MAGIC_TWICE), n = shifted - VF_MAGIC_TWICE;
    vf e = vf_exp_rest(x, n) + 1.0f;
#if defined(__AVX512F__)
    return vf_scale(e, n);
#else
    vi both = vf_bits(shifted), half = both >> 1;
    return e * vf_exp2i(half) * vf_exp2i(both - half);
#endif
}
/* The same for -86 <= x <= 86, or NaN. */
static inline vf vf_exp_near(vf x) {
    vf shifted = vf_shifted(x, VF_MAGIC);
    return (vf_exp_rest(x, shifted - VF_MAGIC) + 1.0f) * vf_exp2i(vf_bits(shifted));
}

/* log(x) = e ln 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)). Denormals are scaled up first. */
static inline vf vf_log(vf x) {
    const vi root_half = vi_set(0x3f3504f3); /* sqrt(1/2) */
    vi tiny = x < 0x1p-126f;
    vf y = vf_select(x > 0.0f, vf_select(tiny, x * 0x1p23f, x), vf_set(1.0f));
    vi above = vf_bits(y) - root_half;
    vf e = vf_float((above >> 23) - (tiny & 23));
    vf f = vi_bits((above & 0x7fffff) + root_half) - 1.0f;
    vf p = VF_POLY(f, 0.333333313f, -0.250008196f, 0.200012416f, -0.166234091f, 0.1420158f,
                   -0.131596103f, 0.127622172f, -0.0763643906f);
    vf square = f * f;
    vf low = vf_fma(e, vf_set(-2.12194440e-4f), square * f * p);
    vf result = vf_fma(e, vf_set(0.693359375f), f - vf_fma(vf_set(0.5f), square, -low));
    vf outside = vf_select(x == 0.0f, vf_set(-INFINITY), vf_set(NAN));
    result = vf_select(x == INFINITY, x, result);
    return vf_select(x > 0.0f, result, outside);
}

/* 1 / (1 + exp(-x)), from exp(-|x|) so that small results keep their digits. */
static inline vf vf_sigmoid(vf x) {
    vf e = vf_exp(-vf_abs(x));
    return vf_select(vf_bits(x) >> 31, e, vf_set(1.0f)) * vf_reciprocal(1.0f + e);
}

/* tanh(a) = e / (e + 2), e = exp(2a) - 1, of the magnitude a. */
static inline vf vf_tanh(vf x) {
    vf a = vf_min(vf_set(10.0f), vf_abs(x)); /* where the result is 1 already */
    vf shifted = vf_shifted(a + a, VF_MAGIC), power = vf_exp2i(vf_bits(shifted));
    vf e = vf_fma(vf_exp_rest(a + a, shifted - VF_MAGIC), power, power - 1.0f);
    return vf_copysign(e / (e + 2.0f), x);
}

/* erf(a) = 1 - exp(log erfc(a)), the logarithm as a polynomial up to where erf rounds to 1, and an
 * odd polynomial near zero. */
static inline vf vf_erf(vf x) {
    vf a = vf_abs(x), b = vf_min(vf_set(3.95f), a);
    vf p = VF_POLY(b * b, 0.128379166f, -0.376126289f, 0.112836257f, -0.0268557277f, 0.00519237667f,
                   -0.000804915151f, 7.99257978e-05f);
    vf log_erfc = VF_POLY(b, -0.000195675413f, -1.12767565f, -0.637182176f, -0.103931665f,
                          0.0222269464f, -0.00304321968f, 0.000195936809f);
    vf large = 1.0f - vf_exp_near(log_erfc);
    return vf_copysign(vf_select(a < 0.92f, vf_fma(b, p, b), large), x);
}

#endif
