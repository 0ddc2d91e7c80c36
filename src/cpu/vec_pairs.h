/* vec_pairs.h: vectors of 16-bit integers, made from bytes, whose products are added two and two:
 * sums of bytes' products that are exact. For *_simd.c files, after vec.h. */
#ifndef ONX_VEC_PAIRS_H
#define ONX_VEC_PAIRS_H

#include "cpu/vec.h"

enum { V16 = VF_BYTES / 2 };
typedef int16_t v16 __attribute__((vector_size(VF_BYTES)));
typedef uint16_t vu16 __attribute__((vector_size(VF_BYTES)));

/* Products of two and two neighbours, added. */
static inline vu v16_pairs(v16 a, v16 b) {
#if defined(__AVX512BW__)
    return (vu)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (vu)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (vu)__builtin_ia32_pmaddwd128(a, b);
#elif defined(__ARM_NEON)
    int32x4_t low = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
    return (vu)vpaddq_s32(low, vmull_high_s16((int16x8_t)a, (int16x8_t)b));
#else
    vi even = (((vi)a << 16) >> 16) * (((vi)b << 16) >> 16);
    return (vu)(even + ((vi)a >> 16) * ((vi)b >> 16));
#endif
}

/* V16 bytes: unsigned, with these bits turned; and signed. */
static inline v16 v16_load_u8(const uint8_t *p, uint8_t flip) {
#if defined(__AVX512BW__)
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return (v16)_mm512_cvtepu8_epi16(x) ^ (int16_t)flip;
#elif defined(__AVX2__)
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    return (v16)_mm256_cvtepu8_epi16(x) ^ (int16_t)flip;
#else
    uint8_t __attribute__((vector_size(V16))) x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, v16) ^ (int16_t)flip;
#endif
}
static inline v16 v16_load_i8(const int8_t *p) {
#if defined(__AVX512BW__)
    return (v16)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif defined(__AVX2__)
    return (v16)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    int8_t __attribute__((vector_size(V16))) x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, v16);
#endif
}
static inline v16 v16_load(const void *p) {
    v16 v;
    memcpy(&v, p, sizeof v);
    return v;
}
/* The same pair in each 32 bits. */
static inline v16 v16_load_pair(const void *p) {
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return (v16)vi_set(pair);
}

#endif
