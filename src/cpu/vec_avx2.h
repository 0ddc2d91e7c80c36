/* vec_avx2.h: vec.h for AVX2 with FMA and F16C. */
#ifndef ONX_VEC_AVX2_H
#define ONX_VEC_AVX2_H

#include <immintrin.h>

enum { VF = 8, VF_BYTES = 32, VF_REGISTERS = 16 };
typedef float vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));

static inline vf vf_fma(vf a, vf b, vf c) {
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
static inline vf vf_max(vf a, vf b) {
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
}
static inline vf vf_min(vf a, vf b) {
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
}
static inline vf vf_sqrt(vf a) {
    return (vf)_mm256_sqrt_ps((__m256)a);
}
static inline vf vf_reciprocal(vf a) {
    return 1.0f / a;
}
static inline vf vf_round(vf a) {
    return (vf)_mm256_round_ps((__m256)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vi vf_int(vf a) {
    return (vi)_mm256_cvtps_epi32((__m256)a);
}
static inline vf vf_float(vi a) {
    return (vf)_mm256_cvtepi32_ps((__m256i)a);
}
static inline vf vf_select(vi m, vf a, vf b) {
    return (vf)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
}
static inline vf vf_permute(vf a, vi index) {
    return (vf)_mm256_permutevar8x32_ps((__m256)a, (__m256i)index);
}
static inline bool vf_any(vi m) {
    return _mm256_movemask_ps((__m256)m) != 0;
}
static inline __m256i vf_lanes(size_t n) { /* -1 in the first n lanes */
    return (__m256i)((vi){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)n - (vi){0});
}
/* All lanes, where that is known or likely: masked stores are slow on AMD's processors. */
static inline vf vf_load_n(const float *p, size_t n) {
    return (vf)(n == VF ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, vf_lanes(n)));
}
static inline void vf_store_n(float *p, vf a, size_t n) {
    if (n == VF)
        _mm256_storeu_ps(p, (__m256)a);
    else
        _mm256_maskstore_ps(p, vf_lanes(n), (__m256)a);
}
static inline vf vf_load_f16(const uint16_t *p) {
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline void vf_store_f16(uint16_t *p, vf a) {
    _mm_storeu_si128((__m128i *)p,
                     _mm256_cvtps_ph((__m256)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline void vf_prefetch(const void *p) {
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
