/* vec_double.h: vectors of doubles, half as many lanes as of floats. For *_simd.c files, after
 * vec.h. */
#ifndef ONX_VEC_DOUBLE_H
#define ONX_VEC_DOUBLE_H

#include "cpu/vec.h"

#include <math.h>

enum { VD = VF / 2 };
typedef double vd __attribute__((vector_size(VF_BYTES)));
typedef int64_t vd_lanes __attribute__((vector_size(VF_BYTES)));
typedef uint64_t vd_bits __attribute__((vector_size(VF_BYTES)));

static inline vd vd_load(const void *p) {
    vd v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void vd_store(void *p, vd v) {
    memcpy(p, &v, sizeof v);
}
static inline vd vd_set(double x) {
    return x - (vd){0};
}

/* a*b + c, in one rounding where the instruction set has it. */
static inline vd vd_fma(vd a, vd b, vd c) {
#if defined(__AVX512F__)
    return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__ARM_NEON)
    return (vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}
static inline vd vd_sqrt(vd a) {
#if defined(__AVX512F__)
    return (vd)_mm512_sqrt_pd((__m512d)a);
#elif defined(__AVX2__)
    return (vd)_mm256_sqrt_pd((__m256d)a);
#elif defined(__ARM_NEON)
    return (vd)vsqrtq_f64((float64x2_t)a);
#else
    return (vd){sqrt(a[0]), sqrt(a[1])};
#endif
}
/* The nearest integer, ties to even. */
static inline vd vd_round(vd a) {
#if defined(__AVX512F__)
    return (vd)_mm512_roundscale_pd((__m512d)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
    return (vd)_mm256_round_pd((__m256d)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__ARM_NEON)
    return (vd)vrndnq_f64((float64x2_t)a);
#else
    return (vd){rint(a[0]), rint(a[1])};
#endif
}

static inline vd vd_copysign(vd magnitude, vd sign) {
    return (vd)(((vd_lanes)magnitude & INT64_MAX) | ((vd_lanes)sign & INT64_MIN));
}
static inline vd vd_floor(vd x) {
    vd r = vd_round(x);
    return vd_copysign(r - (vd)((vd_lanes)vd_set(1) & (r > x)), x);
}
static inline vd vd_ceil(vd x) {
    vd r = vd_round(x);
    return vd_copysign(r + (vd)((vd_lanes)vd_set(1) & (r < x)), x);
}

#endif
