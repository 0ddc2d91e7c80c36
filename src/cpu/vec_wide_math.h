/* vec_wide_math.h: further functions on vectors of floats, each computed in doubles, which are
 * accurate enough for the textbook's formulas.
 *
 * Errors are at most ONX_VF_ULP_WIDE units in the last place of the exact result, on every
 * instruction set, over all floats; infinities, NaN, zeros (with their sign) and denormals give
 * what C's functions give. Polynomials interpolate at Chebyshev's points. The functions of doubles
 * are good to nine digits, of floats alone: they know no denormals. No lane depends on another.
 */
#ifndef ONX_VEC_WIDE_MATH_H
#define ONX_VEC_WIDE_MATH_H

#include "cpu/vec_double.h"

#include <math.h>

#define ONX_VF_ULP_WIDE 0.55

/* What several functions are made of stands once. */
#define VD_SHARED __attribute__((noinline, unused))

static inline __attribute__((always_inline)) vd vd_poly(vd x, const double *c, int n) {
    vd y = vd_set(c[n - 1]);
    VF_UNROLL for (int i = n - 2; i >= 0; i--) y = vd_fma(y, x, vd_set(c[i]));
    return y;
}
#define VD_POLY(x, ...)                                                                            \
    vd_poly(x, (const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static inline vd vd_select(vd_lanes m, vd a, vd b) {
    return (vd)((m & (vd_lanes)a) | (~m & (vd_lanes)b));
}
static inline vd vd_abs(vd x) {
    return (vd)((vd_lanes)x & INT64_MAX);
}

/* Adding it leaves an integer in the low bits. */
#define VD_MAGIC 6755399441055744.0 /* 1.5 * 2^52 */

/* ─ Exponentials ─────────────────────────────────────────────────────────────────────────────── */

/* exp(x) = 2^n exp(r), for -700 < x < 700, or NaN. */
static inline vd vd_exp(vd x) {
    vd shifted = vd_fma(x, vd_set(1.4426950408889634), vd_set(VD_MAGIC)), n = shifted - VD_MAGIC;
    vd r = vd_fma(n, vd_set(-0.6931471805599453), x);
    vd q = VD_POLY(r, 0.5000000013457727, 0.16666666681614256, 0.04166646500604005,
                   0.008333310934448869, 0.0013933641031986701, 0.00019890980869750327);
    vd y = vd_fma(r * r, q, r) + 1;
    return (vd)((vd_lanes)y + (vd_lanes)((vd_bits)shifted << 52));
}
/* Of what overflows float, something that does so too. */
static VD_SHARED vd vd_exp_clamped(vd x) {
    vd y = vd_select(x > 150, vd_set(150), x);
    return vd_exp(vd_select(y < -150, vd_set(-150), y));
}
static inline vd vd_sinh(vd x) {
    vd u = x * x, e = vd_exp_clamped(vd_abs(x));
    vd p = VD_POLY(u, 0.16666666646842135, 0.00833333967591706, 0.00019838101968683888,
                   2.8062802582276946e-06);
    vd large = vd_copysign(0.5 * (e - 1 / e), x);
    return vd_select(u < 1, x * vd_fma(u, p, vd_set(1)), large);
}
static inline vd vd_cosh(vd x) {
    vd e = vd_exp_clamped(vd_abs(x));
    return 0.5 * (e + 1 / e);
}

/* ─ Logarithms ───────────────────────────────────────────────────────────────────────────────── */

/* log(x) = e log 2 + 2 atanh((m-1) / (m+1)), m in [sqrt(1/2), sqrt(2)), for x > 0; NaN below, and
 * -infinity of 0. */
static VD_SHARED vd vd_log(vd x) {
    const uint64_t root_half = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    vd_bits above = (vd_bits)x - root_half;
    vd_bits biased = (above + ((uint64_t)1024 << 52)) >> 52; /* e + 1024, at most 11 bits */
    vd e = (vd)(biased | 0x4330000000000000) - (0x1p52 + 1024);
    vd m = (vd)((above & 0xfffffffffffff) + root_half), s = (m - 1) / (m + 1), u = s * s;
    vd p = VD_POLY(u, 0.33333333333687726, 0.19999999398424337, 0.1428587731786638,
                   0.11095697246587528, 0.09681388418373767);
    vd y = vd_fma(e, vd_set(0.6931471805599453), 2 * vd_fma(s * u, p, s));
    y = vd_select(x == INFINITY, x, y);
    return vd_select(x > 0, y, vd_select(x == 0, vd_set(-INFINITY), vd_set(NAN)));
}
/* Where x is small, the first terms of their series. */
static inline vd vd_asinh(vd x) {
    vd a = vd_abs(x), u = a * a;
    vd y = vd_copysign(vd_log(a + vd_sqrt(u + 1)), x);
    return vd_select(a < 1e-4, x * (1 - u / 6), y);
}
static inline vd vd_acosh(vd x) {
    return vd_select(x >= 1, vd_log(x + vd_sqrt((x - 1) * (x + 1))), vd_set(NAN));
}
static inline vd vd_atanh(vd x) {
    vd y = 0.5 * vd_log((1 + x) / (1 - x));
    return vd_select(vd_abs(x) < 1e-4, x * (1 + x * x / 3), y);
}

/* ─ Angles ───────────────────────────────────────────────────────────────────────────────────── */

#define VD_HALF_PI 1.5707963267948966

/* atan(x) = pi/2 + atan(-1/x) = pi/4 + atan((x-1) / (x+1)). */
static VD_SHARED vd vd_atan(vd x) {
    const double near = 0.41421356237309503, far = 2.414213562373095; /* tan(pi/8), tan(3 pi/8) */
    vd a = vd_abs(x);
    vd_lanes is_far = a > far, is_mid = (a > near) & ~is_far;
    vd base =
        vd_select(is_far, vd_set(VD_HALF_PI), vd_select(is_mid, vd_set(VD_HALF_PI / 2), vd_set(0)));
    vd z = vd_select(is_far, -1 / a, vd_select(is_mid, (a - 1) / (a + 1), a)), u = z * z;
    vd p = VD_POLY(u, -0.3333333333144073, 0.1999999891728858, -0.14285612511387016,
                   0.11107495135714474, -0.09028983500350463, 0.07135325122330678,
                   -0.04043224825887161);
    return vd_copysign(base + vd_fma(z * u, p, z), x);
}
static inline vd vd_asin(vd x) {
    return vd_atan(x / vd_sqrt((1 - x) * (1 + x)));
}
static inline vd vd_acos(vd x) {
    return VD_HALF_PI - vd_asin(x);
}

/* Sine (odd 0) or cosine (1) of floats up to VD_ANGLE. x = n pi/2 + r, |r| <= pi/4; the first part
 * of pi/2 has 33 bits, so that its product with n is exact. */
#define VD_ANGLE 1e6
static VD_SHARED vd vd_turn(vd x, int64_t odd) {
    vd shifted = vd_fma(x, vd_set(0.6366197723675814), vd_set(VD_MAGIC)), n = shifted - VD_MAGIC;
    vd r = vd_fma(n, vd_set(-6.077100506506192e-11), vd_fma(n, vd_set(-1.5707963267341256), x));
    vd_lanes quarter = (vd_lanes)shifted + odd, even = (quarter & 1) == 0;
    vd u = r * r;
    vd s = VD_POLY(u, -0.1666666666385529, 0.008333331874710208, -0.00019840086735384846,
                   2.724992580305979e-06);
    vd c = VD_POLY(u, 0.04166666465950221, -0.0013888303035894866, 2.4547942085071572e-05);
    vd y = vd_select(even, r * vd_fma(u, s, vd_set(1)),
                     vd_fma(u * u, c, vd_fma(u, vd_set(-0.5), vd_set(1))));
    return (vd)((vd_lanes)y ^ (vd_lanes)((vd_bits)(quarter & 2) << 62));
}
/* Beyond it, C's functions. */
static VD_SHARED vd vd_turn_far(vd x, vd y, double (*far)(double)) {
    for (int i = 0; i < VD; i++)
        if (fabs(x[i]) > VD_ANGLE) y[i] = far(x[i]);
    return y;
}
static inline vd vd_angle(vd x, vd y, double (*far)(double)) {
    return vf_any((vi)(vd_abs(x) > VD_ANGLE)) ? vd_turn_far(x, y, far) : y;
}
static inline vd vd_sin(vd x) {
    return vd_angle(x, vd_turn(x, 0), sin);
}
static inline vd vd_cos(vd x) {
    return vd_angle(x, vd_turn(x, 1), cos);
}
static inline vd vd_tan(vd x) {
    return vd_angle(x, vd_turn(x, 0) / vd_turn(x, 1), tan);
}

/* ─ Floats ───────────────────────────────────────────────────────────────────────────────────── */

/* A vector of floats is two of doubles. */
#define VD_FLOATS(name)                                                                            \
    static VD_SHARED vf vf_##name(vf x) {                                                          \
        float h[VF];                                                                               \
        vf_store(h, x);                                                                            \
        for (int i = 0; i < VF; i += VD) vd_store_f32(h + i, vd_##name(vd_load_f32(h + i)));       \
        return vf_load(h);                                                                         \
    }
VD_FLOATS(sinh)
VD_FLOATS(cosh)
VD_FLOATS(asinh)
VD_FLOATS(acosh)
VD_FLOATS(atanh)
VD_FLOATS(atan)
VD_FLOATS(asin)
VD_FLOATS(acos)
VD_FLOATS(sin)
VD_FLOATS(cos)
VD_FLOATS(tan)

/* x^y for 0 < x < infinity and finite y. */
static VD_SHARED vf vf_pow_near(vf x, vf y) {
    float h[VF], g[VF];
    vf_store(h, x);
    vf_store(g, y);
    for (int i = 0; i < VF; i += VD) {
        vd power = vd_load_f32(g + i) * vd_log(vd_load_f32(h + i));
        vd_store_f32(h + i, vd_exp_clamped(power));
    }
    return vf_load(h);
}

#endif
