/* qgemm_vnni.c: products of bytes with AVX512-VNNI: four products of unsigned with signed bytes are
 * added to each of 16 sums at once. */
#include "cpu/qgemm.h"

#include <immintrin.h>

enum { ROWS = 12, LANES = 16, COLUMNS = 2 * LANES };

/* m rows by v vectors of columns, both known to the compiler: all sums are registers. */
static inline __attribute__((always_inline)) void tile_of(const onx_qtile *t, int m, int v,
                                                          bool flips) {
    __m512i acc[ROWS][2];
    const int8_t *w = t->panel;
    const __m512i flip = _mm512_set1_epi32((int)t->flip);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < v; j++) acc[i][j] = _mm512_setzero_si512();
    for (size_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *rows[ROWS];
        for (int i = 0; i < m; i++) rows[i] = t->rows[tap * t->m + (size_t)i];
        for (size_t k = 0; k < t->k; k += 4, w += COLUMNS * 4) {
            __m512i b[2];
            for (int j = 0; j < v; j++) b[j] = _mm512_loadu_si512(w + j * 64);
#pragma GCC unroll 12
            for (int i = 0; i < m; i++) {
                int32_t four;
                memcpy(&four, rows[i] + k, sizeof four);
                __m512i a = _mm512_set1_epi32(four);
                if (flips) a = _mm512_xor_si512(a, flip);
                for (int j = 0; j < v; j++) acc[i][j] = _mm512_dpbusd_epi32(acc[i][j], a, b[j]);
            }
        }
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < v; j++)
            _mm512_storeu_si512(t->sums + i * COLUMNS + j * LANES, acc[i][j]);
}

#define TILE(m)                                                                                    \
    static void tile_##m(const onx_qtile *t) {                                                     \
        bool wide = t->n > LANES;                                                                  \
        if (t->flip)                                                                               \
            wide ? tile_of(t, m, 2, true) : tile_of(t, m, 1, true);                                \
        else                                                                                       \
            wide ? tile_of(t, m, 2, false) : tile_of(t, m, 1, false);                              \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)

static void tile(const onx_qtile *t) {
    static void (*const tiles[])(const onx_qtile *) = {
        tile_1, tile_2, tile_3, tile_4,  tile_5,  tile_6,
        tile_7, tile_8, tile_9, tile_10, tile_11, tile_12,
    };
    tiles[t->m - 1](t);
}

/* ── Depthwise ───────────────────────────────────────────────────────────────────────────────────
 *
 * Columns of up to four taps lie together: rows of the image are interleaved, byte by byte, and kept
 * for all windows that see them. Within 128 bits that leaves channels in the order of unpacking,
 * which packing to bytes undoes: place 16v + 4l + e of a block has channel 16l + 4v + e. */

enum { BLOCK = 64, VECTORS = BLOCK / LANES, GROUP = 4 };

static size_t channel_at(size_t place) {
    size_t v = place / 16 % 4, l = place / 4 % 4, e = place % 4;
    return place / BLOCK * BLOCK + 16 * l + 4 * v + e;
}

static size_t groups_of(size_t kh) {
    return (kh + GROUP - 1) / GROUP;
}

/* [blocks][kw][groups][BLOCK places][4 taps]. */
static size_t depth_bytes(size_t channels, size_t kh, size_t kw) {
    return (channels + BLOCK - 1) / BLOCK * kw * groups_of(kh) * BLOCK * GROUP;
}

static void depth_pack(const int16_t *w, size_t channels, size_t kh, size_t kw, void *packed) {
    size_t groups = groups_of(kh), all = (channels + BLOCK - 1) / BLOCK * BLOCK;
    int8_t *to = packed;
    for (size_t place = 0; place < all; place++)
        for (size_t kx = 0; kx < kw; kx++)
            for (size_t ky = 0; ky < groups * GROUP; ky++) {
                size_t c = channel_at(place), block = place / BLOCK;
                size_t at = ((block * kw + kx) * groups + ky / GROUP) * BLOCK + place % BLOCK;
                bool there = c < channels && ky < kh;
                to[at * GROUP + ky % GROUP] = there ? (int8_t)w[(c * kh + ky) * kw + kx] : 0;
            }
}

static size_t columns_of(const onx_qdepth_row *r) {
    return (r->n - 1) * r->stride + (r->kw - 1) * r->dilation + 1;
}

static size_t depth_scratch(const onx_qdepth_row *r) {
    return columns_of(r) * groups_of(r->kh) * BLOCK * GROUP;
}

/* One column of a group of taps, 64 channels, from up to four rows. */
static inline void interleave(const onx_qdepth_row *r, size_t ky, size_t at, size_t c,
                              __mmask64 some, uint8_t *to) {
    __m512i x[GROUP], zero = _mm512_set1_epi8((char)r->zero),
                      flip = _mm512_set1_epi8((char)r->flip);
    for (size_t i = 0; i < GROUP; i++) {
        const uint8_t *row = ky + i < r->kh ? r->rows[ky + i] : NULL;
        x[i] = zero;
        if (row && at < r->iw)
            x[i] =
                _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, row + at * r->channels + c), flip);
    }
    __m512i low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]);
    __m512i low2 = _mm512_unpacklo_epi8(x[2], x[3]), high2 = _mm512_unpackhi_epi8(x[2], x[3]);
    _mm512_store_si512(to, _mm512_unpacklo_epi16(low, low2));
    _mm512_store_si512(to + 64, _mm512_unpackhi_epi16(low, low2));
    _mm512_store_si512(to + 128, _mm512_unpacklo_epi16(high, high2));
    _mm512_store_si512(to + 192, _mm512_unpackhi_epi16(high, high2));
}

static inline __m512i finish(const onx_qend *e, __m512i sum, size_t at) {
    __m512 x = _mm512_cvtepi32_ps(_mm512_add_epi32(sum, _mm512_loadu_si512(e->offsets + at)));
    x = _mm512_mul_ps(x, _mm512_loadu_ps(e->factors + at));
    x = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(e->lo)), _mm512_set1_ps(e->hi));
    __m512i y = _mm512_add_epi32(_mm512_cvtps_epi32(x), _mm512_set1_epi32(e->zero));
    return _mm512_and_si512(y, _mm512_set1_epi32(255));
}

/* The output whose window begins at column `x`: 64 channels from c on. */
static inline void depth_output(const onx_qdepth_row *r, const uint8_t *x, size_t c, __mmask64 some,
                                uint8_t *y) {
    size_t groups = groups_of(r->kh), step = groups * BLOCK * GROUP;
    const uint8_t *w = (const uint8_t *)r->weights + c / BLOCK * r->kw * step;
    __m512i acc[VECTORS];
    for (size_t v = 0; v < VECTORS; v++) acc[v] = _mm512_setzero_si512();
    for (size_t kx = 0; kx < r->kw; kx++, x += r->dilation * step, w += step)
        for (size_t g = 0; g < step; g += BLOCK * GROUP)
            for (size_t v = 0; v < VECTORS; v++)
                acc[v] = _mm512_dpbusd_epi32(acc[v], _mm512_load_si512(x + g + v * 64),
                                             _mm512_loadu_si512(w + g + v * 64));
    for (size_t v = 0; v < VECTORS; v++) acc[v] = finish(r->end, acc[v], c + v * LANES);
    __m512i all =
        _mm512_packus_epi16(_mm512_packs_epi32(acc[0], acc[1]), _mm512_packs_epi32(acc[2], acc[3]));
    _mm512_mask_storeu_epi8(y + c, some, all);
}

static void depth(const onx_qdepth_row *r) {
    size_t groups = groups_of(r->kh), step = groups * BLOCK * GROUP, columns = columns_of(r);
    uint8_t *x = r->scratch;
    for (size_t c = 0; c < r->channels; c += BLOCK) {
        size_t left = r->channels - c;
        __mmask64 some = left < BLOCK ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
        for (size_t i = 0; i < columns; i++)
            for (size_t g = 0; g < groups; g++)
                interleave(r, g * GROUP, (size_t)r->first + i, c, some,
                           x + i * step + g * BLOCK * GROUP);
        for (size_t i = 0; i < r->n; i++)
            depth_output(r, x + i * r->stride * step, c, some, r->y + i * r->channels);
    }
}

static bool depth_fits(int low, int high) {
    return low >= -128 && high <= 127;
}

const onx_qgemm onx_qgemm_vnni = {
    .rows = ROWS,
    .columns = COLUMNS,
    .tile = tile,
    .end = onx_qgemm_end_avx512,
    .block = BLOCK,
    .depth_bytes = depth_bytes,
    .depth_pack = depth_pack,
    .depth_scratch = depth_scratch,
    .depth = depth,
    .channel_at = channel_at,
    .depth_fits = depth_fits,
};
