/* vec_bytes.h: as many bytes as a vector has lanes, as int32: what compilers make of
 * __builtin_convertvector is slow; and bytes in vectors of their own. For *_simd.c and *_vnni.c
 * files, after vec.h. */
#ifndef ONX_VEC_BYTES_H
#define ONX_VEC_BYTES_H

#include "cpu/vec.h"

typedef uint8_t vb __attribute__((vector_size(VF)));

static inline vi vi_of_bytes(vb v) {
#if defined(__AVX512F__)
    return (vi)_mm512_cvtepu8_epi32((__m128i)v);
#elif defined(__AVX2__)
    return (vi)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)v));
#else
    return __builtin_convertvector(v, vi);
#endif
}

/* The low byte of each lane. */
static inline vb vi_to_bytes(vi v) {
#if defined(__AVX512F__)
    return (vb)_mm512_cvtepi32_epi8((__m512i)v);
#elif defined(__AVX2__)
    const __m256i low = _mm256_set1_epi32(0x0c080400),
                  first = _mm256_setr_epi32(0, 4, 0, 0, 0, 0, 0, 0);
    __m256i four = _mm256_shuffle_epi8((__m256i)v, low); /* of each half, in all its lanes */
    return (vb)_mm_cvtsi128_si64(_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(four, first)));
#else
    return __builtin_convertvector(v, vb);
#endif
}

/* The first n of VF, or all; the rest reads as 0. */
static inline vi vi_load_bytes(const uint8_t *p, size_t n) {
    vb v = {0};
    if (n >= VF)
        memcpy(&v, p, sizeof v);
    else
#if defined(__AVX512BW__)
        v = (vb)_mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1), p);
#else
        memcpy(&v, p, n);
#endif
    return vi_of_bytes(v);
}
static inline void vi_store_bytes(uint8_t *p, vi x, size_t n) {
    vb v = vi_to_bytes(x);
    if (n >= VF)
        memcpy(p, &v, sizeof v);
    else
#if defined(__AVX512BW__)
        _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), (__m128i)v);
#else
        memcpy(p, &v, n);
#endif
}

/* As many bytes as fit into a vector. */
typedef uint8_t vo __attribute__((vector_size(VF_BYTES)));

static inline vo vo_load(const uint8_t *p) {
    vo v;
    memcpy(&v, p, sizeof v);
    return v;
}
/* Less than a vector; the rest reads as 0. */
static inline vo vo_load_n(const uint8_t *p, size_t n) {
#if defined(__AVX512BW__)
    return (vo)_mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, p);
#else
    vo v = {0};
    memcpy(&v, p, n);
    return v;
#endif
}
static inline void vo_store_n(uint8_t *p, vo v, size_t n) {
#if defined(__AVX512BW__)
    _mm512_mask_storeu_epi8(p, ((__mmask64)1 << n) - 1, (__m512i)v);
#else
    memcpy(p, &v, n);
#endif
}
/* VF bytes each to places that are `step` apart. */
static inline void vo_store_quarters(uint8_t *p, size_t step, vo v) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    __m128i low = _mm256_castsi256_si128((__m256i)v);
    __m128i high = _mm256_extracti128_si256((__m256i)v, 1);
    _mm_storeu_si64(p, low);
    _mm_storeu_si64(p + step, _mm_unpackhi_epi64(low, low));
    _mm_storeu_si64(p + 2 * step, high);
    _mm_storeu_si64(p + 3 * step, _mm_unpackhi_epi64(high, high));
#else
    for (size_t i = 0; i < 4; i++) memcpy(p + i * step, (const char *)&v + i * VF, VF);
#endif
}
static inline vo vo_max(vo a, vo b) {
#if defined(__AVX512BW__)
    return (vo)_mm512_max_epu8((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vo)_mm256_max_epu8((__m256i)a, (__m256i)b);
#else
    vo is = (vo)(a > b);
    return (a & is) | (b & ~is);
#endif
}

#endif
