/* vec_avx512.h: vec.h for AVX-512 (F, BW, DQ, VL). */
#ifndef ONX_VEC_AVX512_H
#define ONX_VEC_AVX512_H

#include <immintrin.h>

enum { VF = 16, VF_BYTES = 64, VF_REGISTERS = 32 };
typedef float vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));

static inline vf vf_fma(vf a, vf b, vf c) {
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
/* As an operand of the instruction: gcc would load x once for several, which takes more of them. */
static inline vf vf_fma_at(const float *x, vf b, vf c) {
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*x));
    return c;
}
static inline vf vf_max(vf a, vf b) {
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}
static inline vf vf_min(vf a, vf b) {
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
}
static inline vf vf_sqrt(vf a) {
    return (vf)_mm512_sqrt_ps((__m512)a);
}
static inline vf vf_reciprocal(vf a) { /* 14 bits, and a step of Newton's */
    vf r = (vf)_mm512_rcp14_ps((__m512)a);
    return vf_fma(r, vf_fma(-a, r, 1.0f - (vf){0}), r);
}
static inline vf vf_scale(vf a, vf n) { /* a * 2^n, for vec_math.h */
    return (vf)_mm512_scalef_ps((__m512)a, (__m512)n);
}
static inline vf vf_round(vf a) {
    return (vf)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vi vf_int(vf a) {
    return (vi)_mm512_cvtps_epi32((__m512)a);
}
static inline vf vf_float(vi a) {
    return (vf)_mm512_cvtepi32_ps((__m512i)a);
}
static inline vf vf_select(vi m, vf a, vf b) {
    return (vf)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)m), (__m512)b, (__m512)a);
}
static inline vf vf_permute(vf a, vi index) {
    return (vf)_mm512_permutexvar_ps((__m512i)index, (__m512)a);
}
static inline bool vf_any(vi m) {
    return _mm512_movepi32_mask((__m512i)m) != 0;
}
static inline vf vf_load_n(const float *p, size_t n) {
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}
static inline void vf_store_n(float *p, vf a, size_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)a);
}
/* {low, high} of each lane as bfloat16, ties away from 0; a NaN may become something else. */
static inline void vf_store_bf16_pairs(void *p, vf low, vf high) {
    const __m512i half = _mm512_set1_epi32(0x8000), mask = _mm512_set1_epi32(-0x10000);
    __m512i a = _mm512_add_epi32((__m512i)low, half), b = _mm512_add_epi32((__m512i)high, half);
    _mm512_storeu_si512(p, _mm512_or_si512(_mm512_srli_epi32(a, 16), _mm512_and_si512(b, mask)));
}
static inline vf vf_load_f16(const uint16_t *p) {
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline void vf_store_f16(uint16_t *p, vf a) {
    _mm256_storeu_si256((__m256i *)p,
                        _mm512_cvtps_ph((__m512)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline void vf_prefetch(const void *p) {
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
