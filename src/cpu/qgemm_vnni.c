/* qgemm_vnni.c: products of bytes with AVX512-VNNI: four products of unsigned with signed bytes are
 * added to each of 16 sums at once. */
#include "cpu/qend.h"
#include "cpu/qgemm.h"

enum { ROWS = 12, LANES = 16, COLUMNS = 2 * LANES };

/* What becomes of a tile: bytes, if there is an end; else its sums. */
typedef struct results {
    const onx_qend *end;
    size_t col, stride;
    uint8_t *y;
} results;

/* m rows by v vectors of columns, both known to the compiler: all sums are registers. */
static inline __attribute__((always_inline)) void store(const onx_qtile *t, const results *r,
                                                        __m512i acc[ROWS][2], int m, int v) {
    if (!r) {
#pragma GCC unroll 12
        for (int i = 0; i < m; i++) {
            _mm512_storeu_si512(t->sums + i * COLUMNS, acc[i][0]);
            if (v > 1) _mm512_storeu_si512(t->sums + i * COLUMNS + LANES, acc[i][1]);
        }
        return;
    }
    const onx_qbytes q = onx_qbytes_of(r->end);
    const __mmask32 some = t->n < COLUMNS ? (1u << t->n) - 1 : ~0u;
    __m512 factors[2];
    for (int j = 0; j < v; j++) factors[j] = _mm512_loadu_ps(r->end->factors + r->col + j * LANES);
#pragma GCC unroll 6
    for (int i = 0; i < m; i += 2) {
        int last = i + 1 < m ? i + 1 : i;
        for (int j = 0; j < v; j++) {
            acc[i][j] = onx_qend_round(acc[i][j], factors[j]);
            if (last != i) acc[last][j] = onx_qend_round(acc[last][j], factors[j]);
        }
        __m512i two = onx_qbytes_rows(&q, acc[i], acc[last]);
        uint8_t *y = r->y + (size_t)i * r->stride;
        _mm256_mask_storeu_epi8(y, some, _mm512_castsi512_si256(two));
        if (last != i)
            _mm256_mask_storeu_epi8(y + r->stride, some, _mm512_extracti64x4_epi64(two, 1));
    }
}

static inline __attribute__((always_inline)) void tile_of(const onx_qtile *t, const results *r,
                                                          int m, int v, bool flips) {
    __m512i acc[ROWS][2];
    const int8_t *w = t->panel;
    const __m512i flip = _mm512_set1_epi32((int)t->flip);
    __m512i start[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (int j = 0; r && j < v; j++)
        start[j] = _mm512_loadu_si512(r->end->offsets + r->col + j * LANES);
#pragma GCC unroll 12
    for (int i = 0; i < m; i++) acc[i][0] = start[0], acc[i][1] = start[1];
    for (size_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *const *rows = t->rows + tap * t->m;
        for (size_t k = 0; k < t->k; k += 4, w += COLUMNS * 4) {
            __m512i b0 = _mm512_loadu_si512(w), b1 = _mm512_loadu_si512(w + 64);
#pragma GCC unroll 12
            for (int i = 0; i < m; i++) {
                int32_t four;
                memcpy(&four, rows[i] + k, sizeof four);
                __m512i a = _mm512_set1_epi32(four);
                if (flips) a = _mm512_xor_si512(a, flip);
                acc[i][0] = _mm512_dpbusd_epi32(acc[i][0], a, b0);
                if (v > 1) acc[i][1] = _mm512_dpbusd_epi32(acc[i][1], a, b1);
            }
        }
    }
    store(t, r, acc, m, v);
}

#define CHOOSE(t, r, m)                                                                            \
    bool wide = (t)->n > LANES;                                                                    \
    if ((t)->flip)                                                                                 \
        wide ? tile_of(t, r, m, 2, true) : tile_of(t, r, m, 1, true);                              \
    else                                                                                           \
        wide ? tile_of(t, r, m, 2, false) : tile_of(t, r, m, 1, false);
#define TILE(m)                                                                                    \
    static void tile_##m(const onx_qtile *t) {                                                     \
        CHOOSE(t, NULL, m)                                                                         \
    }                                                                                              \
    static void bytes_##m(const onx_qtile *t, const results *r) {                                  \
        CHOOSE(t, r, m)                                                                            \
    }
#define TILES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
TILES(TILE)

static void tile(const onx_qtile *t) {
#define TILE_NAME(m) tile_##m,
    static void (*const tiles[])(const onx_qtile *) = {TILES(TILE_NAME)};
    tiles[t->m - 1](t);
}

/* Of 16 bits; all columns. */
static inline __attribute__((always_inline)) void wide_of(const onx_qtile *t, int m) {
    __m512i acc[ROWS][2];
    const int8_t *w = t->panel;
#pragma GCC unroll 12
    for (int i = 0; i < m; i++) acc[i][0] = acc[i][1] = _mm512_setzero_si512();
    for (size_t k = 0; k < t->k; k += 2, w += COLUMNS * 4) {
        __m512i b0 = _mm512_loadu_si512(w), b1 = _mm512_loadu_si512(w + 64);
#pragma GCC unroll 12
        for (int i = 0; i < m; i++) {
            int32_t two;
            memcpy(&two, t->rows[i] + 2 * k, sizeof two);
            __m512i a = _mm512_set1_epi32(two);
            acc[i][0] = _mm512_dpwssd_epi32(acc[i][0], a, b0);
            acc[i][1] = _mm512_dpwssd_epi32(acc[i][1], a, b1);
        }
    }
    store(t, NULL, acc, m, 2);
}
#define WIDE(m)                                                                                    \
    static void wide_##m(const onx_qtile *t) {                                                     \
        wide_of(t, m);                                                                             \
    }
TILES(WIDE)
static void wide(const onx_qtile *t) {
#define WIDE_NAME(m) wide_##m,
    static void (*const tiles[])(const onx_qtile *) = {TILES(WIDE_NAME)};
    tiles[t->m - 1](t);
}

static void bytes(const onx_qtile *t, const onx_qend *end, size_t col, uint8_t *y, size_t stride) {
#define BYTES_NAME(m) bytes_##m,
    static void (*const tiles[])(const onx_qtile *, const results *) = {TILES(BYTES_NAME)};
    tiles[t->m - 1](t, &(results){end, col, stride, y});
}

const onx_qgemm onx_qgemm_vnni = {
    .dynamic = &onx_dynamic_avx512,
    .rows = ROWS,
    .columns = COLUMNS,
    .tile = tile,
    .wide = wide,
    .winograd = onx_qwinograd_avx512,
    .winograd_outs = 4,
    .end = onx_qgemm_end_avx512,
    .bytes = bytes,
    .depth = &onx_qdepth_vnni,
    .k = 4,
    .work = 1 << 23,
};
