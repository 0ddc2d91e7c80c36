/* half_vnni.h: products of floats by float16 with AVX512-VNNI, for files *_vnni.c.
 *
 * 32 neighbouring factors of a sum are a step. As 16-bit integers with a scale in common, chosen so
 * that the root of the sum of their squares is just below 2^15, each of them is exact but for 2^-16
 * of that root; sums of their products are exact in 32 bits. So for each step
 *
 *     |sum - exact| <= 2^-12.5 |a| |b|        |a|: the root of the sum of squares
 *
 * which is about what it takes to round the largest of the factors to float16.
 *
 *     A      [steps][rows][32] integers and [steps][rows] scales
 *     B      [panels of 32 columns][steps]: [16 pairs of factors][32 columns][2] and 32 scales */
#ifndef ONX_HALF_VNNI_H
#define ONX_HALF_VNNI_H

#include "cpu/vec.h"

#include <math.h>

enum {
    DEPTH = 32, /* factors of a step */
    COLS = 32,  /* of a panel */
    ROWS = 6,   /* of a tile, at most */
    LINE = DEPTH * sizeof(int16_t),
    STEP = COLS * LINE + COLS * sizeof(float), /* bytes of B */
};

#define LARGEST 0x1p120f /* of a sum of squares */
#define LEAST 0x1p-100f  /* what is below counts as zeros: float16 ends at 2^-24 */
#define UNIT 32700.0f    /* the root, as an integer: rounding adds at most 3 */

/* 32 factors as integers. False: some are not finite, or too large. */
static inline bool fix(vf a, vf b, int16_t *to, float *scale) {
    float squares = _mm512_reduce_add_ps((__m512)(a * a + b * b));
    float root = sqrtf(squares), by = squares < LEAST ? 0 : UNIT / root;
    __m512i first = _mm512_cvtps_epi32((__m512)(a * by)),
            last = _mm512_cvtps_epi32((__m512)(b * by));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtsepi32_epi16(first));
    _mm256_storeu_si256((__m256i *)(void *)(to + VF), _mm512_cvtsepi32_epi16(last));
    memcpy(scale, &(float){root * (1 / UNIT)}, sizeof root);
    return squares < LARGEST;
}

/* Rows of A at work with a panel of B. */
typedef struct tile {
    const int16_t *a;
    const float *scales;
    size_t a_step, steps; /* rows from step to step */
    const char *b;
    float *sums[2]; /* of 16 columns each: [rows][VF] */
} tile;

static inline __attribute__((always_inline)) void multiply_rows(const tile *t, int rows) {
    const int16_t *a = t->a;
    const float *scales = t->scales;
    const char *b = t->b;
    __m512 sums[ROWS][2];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) sums[i][0] = sums[i][1] = _mm512_setzero_ps();
    for (size_t step = 0; step < t->steps; step++, a += t->a_step * DEPTH, scales += t->a_step) {
        __m512i part[ROWS][2];
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) part[i][0] = part[i][1] = _mm512_setzero_si512();
        for (int k = 0; k < DEPTH; k += 2, b += 2 * LINE) {
            __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + LINE);
#pragma GCC unroll 6
            for (int i = 0; i < rows; i++) {
                int32_t two;
                memcpy(&two, a + i * DEPTH + k, sizeof two);
                part[i][0] = _mm512_dpwssd_epi32(part[i][0], _mm512_set1_epi32(two), b0);
                part[i][1] = _mm512_dpwssd_epi32(part[i][1], _mm512_set1_epi32(two), b1);
            }
        }
        __m512 s0 = _mm512_loadu_ps(b), s1 = _mm512_loadu_ps(b + LINE);
        b += 2 * LINE;
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            __m512 scale = _mm512_set1_ps(scales[i]);
            sums[i][0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part[i][0]), scale * s0, sums[i][0]);
            sums[i][1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part[i][1]), scale * s1, sums[i][1]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
        _mm512_storeu_ps(t->sums[0] + i * VF, sums[i][0]);
        _mm512_storeu_ps(t->sums[1] + i * VF, sums[i][1]);
    }
}

/* The sums of 1 to ROWS rows. */
static inline void multiply(const tile *t, size_t rows) {
    switch (rows) {
    case 1: multiply_rows(t, 1); break;
    case 2: multiply_rows(t, 2); break;
    case 3: multiply_rows(t, 3); break;
    case 4: multiply_rows(t, 4); break;
    case 5: multiply_rows(t, 5); break;
    default: multiply_rows(t, ROWS);
    }
}

/* 16 columns of a step of B, the first ones or the others. False: some are not finite. Their root
 * may be twice as large, if no factor is: sums still fit in 32 bits. */
static inline bool fix_columns(float from[DEPTH][VF], size_t half, char *step) {
    const __m512 unit = _mm512_set1_ps(2 * UNIT), most = _mm512_set1_ps(32767);
    vf squares = vf_zero(), largest = vf_zero();
    for (size_t k = 0; k < DEPTH; k++) {
        vf x = vf_load(from[k]);
        squares += x * x;
        largest = vf_max(largest, vf_abs(x));
    }
    __mmask16 some = _mm512_cmp_ps_mask((__m512)squares, _mm512_set1_ps(LEAST), _CMP_GE_OQ);
    __m512 by =
        _mm512_maskz_min_ps(some, unit / _mm512_sqrt_ps((__m512)squares), most / (__m512)largest);
    step += half * LINE;
    for (size_t k = 0; k < DEPTH; k += 2) {
        __m512i first = _mm512_cvtps_epi32((__m512)vf_load(from[k]) * by);
        __m512i second = _mm512_cvtps_epi32((__m512)vf_load(from[k + 1]) * by);
        first = _mm512_and_si512(first, _mm512_set1_epi32(0xffff));
        _mm512_storeu_si512(step + k * LINE, _mm512_or_si512(first, _mm512_slli_epi32(second, 16)));
    }
    _mm512_storeu_ps(step + COLS * LINE, _mm512_maskz_div_ps(some, _mm512_set1_ps(1), by));
    return _mm512_cmp_ps_mask((__m512)squares, _mm512_set1_ps(LARGEST), _CMP_LT_OQ) == 0xffff;
}

#endif
