/* qbytes.h: sums of products of bytes become bytes, over the vectors of vec.h: times a factor,
 * rounded, plus the zero point, within the range of the type. The same bits as the plain kernels.
 * For *_simd.c files. */
#ifndef ONX_QBYTES_H
#define ONX_QBYTES_H

#include "cpu/vec_bytes.h"
#include "ops/quant/bytes_ref.h"

#if defined(__AVX2__) && !defined(__AVX512F__)

/* Packing saturates. int8 is made as uint8 with 128 more, and the highest bit turned. */
typedef struct vq {
    __m256i zero, flip;
} vq;

static inline vq vq_of(const onx_qend *e) {
    int flip = e->dtype == ONX_DTYPE_I8 ? 128 : 0;
    return (vq){_mm256_set1_epi16((short)(e->zero + flip)), _mm256_set1_epi8((char)flip)};
}
/* The nearest integers, or the least one for NaN. No result that matters is as large as 2^30. */
static inline vi vq_round(const vq *q, vi sums, vf factors) {
    (void)q;
    return vf_int(vf_min(vf_set(0x1p30f), vf_float(sums) * factors));
}
static inline vo vq_bytes(const vq *q, vi a, vi b, vi c, vi d) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i low = _mm256_adds_epi16(_mm256_packs_epi32((__m256i)a, (__m256i)b), q->zero);
    __m256i high = _mm256_adds_epi16(_mm256_packs_epi32((__m256i)c, (__m256i)d), q->zero);
    __m256i all = _mm256_xor_si256(_mm256_packus_epi16(low, high), q->flip);
    return (vo)_mm256_permutevar8x32_epi32(all, order);
}

#else

typedef struct vq {
    vf lo, hi;
    vi zero;
} vq;

static inline vq vq_of(const onx_qend *e) {
    return (vq){vf_set(e->lo), vf_set(e->hi), vi_set(e->zero)};
}
static inline vi vq_round(const vq *q, vi sums, vf factors) {
    vf x = vf_float(sums) * factors;
    return vf_int(vf_min(vf_max(x, q->lo), q->hi)) + q->zero;
}
static inline vo vq_bytes(const vq *q, vi a, vi b, vi c, vi d) {
    vb all[4] = {vi_to_bytes(a), vi_to_bytes(b), vi_to_bytes(c), vi_to_bytes(d)};
    vo bytes;
    (void)q;
    memcpy(&bytes, all, sizeof bytes);
    return bytes;
}

#endif

#endif
