/* vec_look.h: bytes through a table of 256, by shuffles of 16 and a choice among their results by
 * the upper four bits. The same bits as the plain loop. For *_simd.c files, after vec.h. */
#ifndef ONX_VEC_LOOK_H
#define ONX_VEC_LOOK_H

#include "cpu/vec_bytes.h"
#include "ops/quant/quant_ref.h"

#if defined(__AVX512BW__)
typedef __mmask64 look_bit;
static inline vo look_row(const uint8_t *row) {
    return (vo)_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)row));
}
static inline look_bit look_bit_of(vo x, int bit) {
    return _mm512_test_epi8_mask((__m512i)x, _mm512_set1_epi8((char)(1 << bit)));
}
static inline vo look_choose(look_bit bit, vo clear, vo set) {
    return (vo)_mm512_mask_blend_epi8(bit, (__m512i)clear, (__m512i)set);
}
static inline vo look_pair(look_bit bit, const vo rows[2], vo low) {
    __m512i y = _mm512_shuffle_epi8((__m512i)rows[0], (__m512i)low);
    return (vo)_mm512_mask_shuffle_epi8(y, bit, (__m512i)rows[1], (__m512i)low);
}
#elif defined(__AVX2__)
typedef vo look_bit; /* the highest bit of each byte */
static inline vo look_row(const uint8_t *row) {
    return (vo)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)row));
}
static inline look_bit look_bit_of(vo x, int bit) {
    return (vo)_mm256_slli_epi16((__m256i)x, 7 - bit);
}
static inline vo look_choose(look_bit bit, vo clear, vo set) {
    return (vo)_mm256_blendv_epi8((__m256i)clear, (__m256i)set, (__m256i)bit);
}
static inline vo look_pair(look_bit bit, const vo rows[2], vo low) {
    return look_choose(bit, (vo)_mm256_shuffle_epi8((__m256i)rows[0], (__m256i)low),
                       (vo)_mm256_shuffle_epi8((__m256i)rows[1], (__m256i)low));
}
#endif

#if defined(__AVX2__)
static inline vo look_vector(const vo rows[16], vo x) {
    const look_bit bits[] = {look_bit_of(x, 4), look_bit_of(x, 5), look_bit_of(x, 6),
                             look_bit_of(x, 7)};
    vo low = x & 15, y[8];
    VF_UNROLL for (size_t j = 0; j < 8; j++) y[j] = look_pair(bits[0], rows + 2 * j, low);
    VF_UNROLL for (size_t j = 0; j < 4; j++) y[j] = look_choose(bits[1], y[2 * j], y[2 * j + 1]);
    vo even = look_choose(bits[2], y[0], y[1]), odd = look_choose(bits[2], y[2], y[3]);
    return look_choose(bits[3], even, odd);
}
#endif

/* Rows of n bytes, as onx_look. */
static void look(const uint8_t *table, size_t n_rows, size_t n, const uint8_t *from, uint8_t *to,
                 size_t to_row) {
#if defined(__AVX2__)
    vo rows[16];
    for (size_t r = 0; r < 16; r++) rows[r] = look_row(table + r * 16);
    for (size_t r = 0; r < n_rows; r++, from += n, to += to_row) {
        size_t i = 0;
        for (; i + VF_BYTES <= n; i += VF_BYTES) {
            vo y = look_vector(rows, vo_load(from + i));
            memcpy(to + i, &y, sizeof y);
        }
        if (i < n) vo_store_n(to + i, look_vector(rows, vo_load_n(from + i, n - i)), n - i);
    }
#else
    onx_look(table, n_rows, n, from, to, to_row);
#endif
}

#endif
