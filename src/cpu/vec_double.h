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
/* VD floats or int32 in memory as doubles, and back: int32 rounded to zero, of what is in their
 * range. (gcc 12 gives up over vectors of eight bytes on ARM.) */
typedef float vd_floats __attribute__((vector_size(VF_BYTES / 2)));
typedef int32_t vd_ints __attribute__((vector_size(VF_BYTES / 2)));
static inline vd vd_load_f32(const void *p) {
#if defined(__ARM_NEON)
    return (vd)vcvt_f64_f32(vreinterpret_f32_u8(vld1_u8(p)));
#else
    vd_floats v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, vd);
#endif
}
static inline void vd_store_f32(void *p, vd v) {
#if defined(__ARM_NEON)
    vst1_u8(p, vreinterpret_u8_f32(vcvt_f32_f64((float64x2_t)v)));
#else
    vd_floats y = __builtin_convertvector(v, vd_floats);
    memcpy(p, &y, sizeof y);
#endif
}
static inline vd vd_load_i32(const void *p) {
#if defined(__ARM_NEON)
    return (vd)vcvtq_f64_s64(vmovl_s32(vreinterpret_s32_u8(vld1_u8(p))));
#else
    vd_ints v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, vd);
#endif
}
static inline void vd_store_i32(void *p, vd v) {
#if defined(__ARM_NEON)
    vst1_u8(p, vreinterpret_u8_s32(vmovn_s64(vcvtq_s64_f64((float64x2_t)v))));
#else
    vd_ints y = __builtin_convertvector(v, vd_ints);
    memcpy(p, &y, sizeof y);
#endif
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
