/* qend.h: sums of products of bytes become bytes, with AVX-512: times a factor, rounded, plus the
 * zero point, within the range of the type. The same bits as the plain kernels. For *_vnni.c and
 * *_amx.c. */
#ifndef ONX_QEND_H
#define ONX_QEND_H

#include "ops/quant/bytes_ref.h"

#include <immintrin.h>

/* The nearest integers, or the least one for NaN. No result that matters is as large as 2^30. */
static inline __m512i onx_qend_round(__m512i sums, __m512 factors) {
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), factors);
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(0x1p30f), x));
}

/* int8 is made as uint8 with 128 more, and the highest bit turned. */
typedef struct onx_qbytes {
    __m512i zero, flip;
} onx_qbytes;

static inline onx_qbytes onx_qbytes_of(const onx_qend *e) {
    int flip = e->dtype == ONX_DTYPE_I8 ? 128 : 0;
    return (onx_qbytes){_mm512_set1_epi16((short)(e->zero + flip)), _mm512_set1_epi8((char)flip)};
}

/* Four vectors as bytes: within each 128 bits, four of a, of b, of c, of d. */
static inline __m512i onx_qbytes_pack(const onx_qbytes *q, __m512i a, __m512i b, __m512i c,
                                      __m512i d) {
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(a, b), q->zero);
    __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(c, d), q->zero);
    return _mm512_xor_si512(_mm512_packus_epi16(low, high), q->flip);
}

/* Two rows of two vectors as two times 32 bytes. */
static inline __m512i onx_qbytes_rows(const onx_qbytes *q, const __m512i row[2],
                                      const __m512i next[2]) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, onx_qbytes_pack(q, row[0], row[1], next[0], next[1]));
}

#endif
