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

static void bytes(const onx_qtile *t, const onx_qend *end, size_t col, uint8_t *y, size_t stride) {
#define BYTES_NAME(m) bytes_##m,
    static void (*const tiles[])(const onx_qtile *, const results *) = {TILES(BYTES_NAME)};
    tiles[t->m - 1](t, &(results){end, col, stride, y});
}

/* ── Depthwise ───────────────────────────────────────────────────────────────────────────────────
 *
 * Columns of up to four taps lie together: rows of the image are interleaved, byte by byte, and
 * kept for all windows that see them. Within 128 bits that leaves channels in the order of
 * unpacking, which packing to bytes undoes: place 16v + 4l + e of a block has
 * channel 16l + 4v + e. */

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
    __m512i x[GROUP], zero = _mm512_set1_epi8((char)r->zero);
    __m512i flip = _mm512_set1_epi8((char)r->flip);
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

/* All outputs of 64 channels from c on, from columns x; `known` taps stay in registers. */
static inline __attribute__((always_inline)) void depth_outputs(const onx_qdepth_row *r,
                                                                const uint8_t *x, size_t c,
                                                                __mmask64 some, size_t known) {
    const size_t groups = known ? 1 : groups_of(r->kh), taps = known ? known : r->kw * groups;
    const size_t step = groups * BLOCK * GROUP, across = r->dilation * step, next = r->channels;
    const size_t along = r->stride * step, n = r->n;
    const uint8_t *w = (const uint8_t *)r->weights + c / BLOCK * r->kw * step;
    const onx_qend e = *r->end;
    const onx_qbytes q = onx_qbytes_of(&e);
    uint8_t *y = r->y + c;
    __m512i held[3 * VECTORS], offsets[VECTORS];
    __m512 factors[VECTORS];
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        offsets[v] = _mm512_loadu_si512(e.offsets + c + v * LANES);
        factors[v] = _mm512_loadu_ps(e.factors + c + v * LANES);
#pragma GCC unroll 3
        for (size_t t = 0; t < known; t++)
            held[t * VECTORS + v] = _mm512_loadu_si512(w + (t * VECTORS + v) * 64);
    }
    for (size_t i = 0; i < n; i++, x += along, y += next) {
        __m512i acc[VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) acc[v] = offsets[v];
#pragma GCC unroll 3
        for (size_t t = 0; t < taps; t++) {
            const uint8_t *column =
                x + (known ? t * across : t / groups * across + t % groups * BLOCK * GROUP);
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                acc[v] = _mm512_dpbusd_epi32(
                    acc[v], _mm512_load_si512(column + v * 64),
                    known ? held[t * VECTORS + v] : _mm512_loadu_si512(w + (t * VECTORS + v) * 64));
        }
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) acc[v] = onx_qend_round(acc[v], factors[v]);
        _mm512_mask_storeu_epi8(y, some, onx_qbytes_pack(&q, acc[0], acc[1], acc[2], acc[3]));
    }
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
        if (r->kw == 3 && groups == 1)
            depth_outputs(r, x, c, some, 3);
        else
            depth_outputs(r, x, c, some, 0);
    }
}

static bool depth_fits(int low, int high) {
    return low >= -128 && high <= 127;
}

const onx_qdepth onx_qdepth_vnni = {
    .block = BLOCK,
    .bytes = depth_bytes,
    .pack = depth_pack,
    .scratch = depth_scratch,
    .run = depth,
    .channel_at = channel_at,
    .fits = depth_fits,
};

const onx_qgemm onx_qgemm_vnni = {
    .dynamic = &onx_dynamic_avx512,
    .rows = ROWS,
    .columns = COLUMNS,
    .tile = tile,
    .end = onx_qgemm_end_avx512,
    .bytes = bytes,
    .depth = &onx_qdepth_vnni,
    .k = 4,
    .work = 1 << 21,
};
