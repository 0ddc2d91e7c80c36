/* qdepth_vnni.c: depthwise convolutions of bytes with AVX512-VNNI.
 *
 * Four rows of the image are interleaved, byte by byte, so that a product of four bytes is a column
 * of the window; and kept for all windows that see them, also those of the next lines of outputs,
 * whose weights lie further down. Within 128 bits that leaves channels in the order of unpacking,
 * which packing to bytes undoes: place 16v + 4l + e of a block has channel 16l + 4v + e.
 *
 * Of 32 channels or less, vectors hold two neighbouring outputs. */
#include "cpu/qend.h"
#include "cpu/qgemm.h"

enum { LANES = 16, BLOCK = 64, VECTORS = BLOCK / LANES, GROUP = 4, HALF = BLOCK / 2 };

static size_t channel_at(size_t place) {
    size_t v = place / 16 % 4, l = place / 4 % 4, e = place % 4;
    return place / BLOCK * BLOCK + 16 * l + 4 * v + e;
}

static size_t groups_of(size_t kh) {
    return (kh + GROUP - 1) / GROUP;
}

static size_t lines(size_t kh) {
    return groups_of(kh) * GROUP - kh + 1;
}

/* [lines][blocks][kw][groups][BLOCK places][4 taps]. */
static size_t line_bytes(size_t channels, size_t kh, size_t kw) {
    return (channels + BLOCK - 1) / BLOCK * kw * groups_of(kh) * BLOCK * GROUP;
}

static size_t depth_bytes(size_t channels, size_t kh, size_t kw) {
    return lines(kh) * line_bytes(channels, kh, kw);
}

static void pack_line(const int16_t *w, size_t channels, size_t kh, size_t kw, size_t line,
                      int8_t *to) {
    size_t groups = groups_of(kh), all = (channels + BLOCK - 1) / BLOCK * BLOCK;
    for (size_t place = 0; place < all; place++)
        for (size_t kx = 0; kx < kw; kx++)
            for (size_t y = 0; y < groups * GROUP; y++) {
                size_t c = channel_at(place), block = place / BLOCK, ky = y - line;
                size_t at = ((block * kw + kx) * groups + y / GROUP) * BLOCK + place % BLOCK;
                bool there = c < channels && ky < kh;
                to[at * GROUP + y % GROUP] = there ? (int8_t)w[(c * kh + ky) * kw + kx] : 0;
            }
}

static void depth_pack(const int16_t *w, size_t channels, size_t kh, size_t kw, void *packed) {
    for (size_t line = 0; line < lines(kh); line++)
        pack_line(w, channels, kh, kw, line,
                  (int8_t *)packed + line * line_bytes(channels, kh, kw));
}

/* Where columns lie: those of neighbouring outputs one after the other. */
typedef struct columns {
    size_t n, groups;
    size_t each;        /* columns of each remainder modulo the stride, and one more */
    size_t step, plane; /* bytes from one to the next; from vector to vector of one */
} columns;

static columns columns_of(const onx_qdepth_row *r, bool half) {
    columns c = {.n = (r->n - 1) * r->stride + (r->kw - 1) * r->dilation + 1,
                 .groups = groups_of(r->kh)};
    c.each = (c.n - 1) / r->stride + 2;
    c.step = half ? HALF : c.groups * BLOCK * GROUP;
    c.plane = half ? r->stride * c.each * c.step : BLOCK;
    return c;
}
static size_t column_at(const onx_qdepth_row *r, const columns *c, size_t column) {
    return (column % r->stride * c->each + column / r->stride) * c->step;
}

static size_t depth_scratch(const onx_qdepth_row *r) {
    columns c = columns_of(r, false);
    return r->stride * c.each * c.step + BLOCK;
}

/* One column of a group of taps, 64 channels, from up to four rows. */
static inline void interleave(const onx_qdepth_row *r, size_t ky, size_t at, size_t c,
                              __mmask64 some, __m512i out[VECTORS]) {
    __m512i x[GROUP], zero = _mm512_set1_epi8((char)r->zero);
    __m512i flip = _mm512_set1_epi8((char)r->flip);
    size_t rows = r->kh + r->lines - 1;
    for (size_t i = 0; i < GROUP; i++) {
        const uint8_t *row = ky + i < rows ? r->rows[ky + i] : NULL;
        x[i] = zero;
        if (row && at < r->iw)
            x[i] =
                _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, row + at * r->channels + c), flip);
    }
    __m512i low = _mm512_unpacklo_epi8(x[0], x[1]), high = _mm512_unpackhi_epi8(x[0], x[1]);
    __m512i low2 = _mm512_unpacklo_epi8(x[2], x[3]), high2 = _mm512_unpackhi_epi8(x[2], x[3]);
    out[0] = _mm512_unpacklo_epi16(low, low2);
    out[1] = _mm512_unpackhi_epi16(low, low2);
    out[2] = _mm512_unpacklo_epi16(high, high2);
    out[3] = _mm512_unpackhi_epi16(high, high2);
}

static inline __attribute__((always_inline)) void gather(const onx_qdepth_row *r, const columns *cs,
                                                         size_t c, __mmask64 some, bool half) {
    const size_t plane = half ? cs->plane : BLOCK;
    for (size_t rest = 0; rest < r->stride; rest++) {
        uint8_t *line = (uint8_t *)r->scratch + rest * cs->each * cs->step;
        for (size_t i = rest; i < cs->n; i += r->stride, line += cs->step)
            for (size_t g = 0; g < cs->groups; g++) {
                __m512i x[VECTORS];
                interleave(r, g * GROUP, (size_t)r->first + i, c, some, x);
#pragma GCC unroll 4
                for (size_t v = 0; v < VECTORS; v++) {
                    uint8_t *to = line + (g * VECTORS + v) * plane;
                    if (half)
                        _mm256_store_si256((__m256i *)(void *)to, _mm512_castsi512_si256(x[v]));
                    else
                        _mm512_store_si512(to, x[v]);
                }
            }
    }
}

/* A vector of what belongs to places; of half a block, twice the first 32 bytes. */
static inline __m512i load_places(const void *from, bool half) {
    return half ? _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)from))
                : _mm512_loadu_si512(from);
}

/* Outputs of one line, of 64 channels from c on; `known` taps stay in registers. */
static inline __attribute__((always_inline)) void outputs(const onx_qdepth_row *r,
                                                          const columns *cs, size_t line, size_t c,
                                                          __mmask64 some, size_t known, bool half) {
    const size_t groups = known ? 1 : cs->groups, taps = known ? known : r->kw * groups;
    const size_t plane = half ? cs->plane : BLOCK, step = known && !half ? 256 : cs->step;
    const size_t next = r->channels, n = r->n, two = half ? 2 : 1;
    const uint8_t *w = (const uint8_t *)r->weights + line * line_bytes(next, r->kh, r->kw) +
                       c / BLOCK * r->kw * cs->groups * BLOCK * GROUP;
    const onx_qbytes q = onx_qbytes_of(r->end);
    uint8_t *y = r->y + line * r->y_line + c;
    const uint8_t *x = r->scratch, *tap[3];
    __m512i held[3 * VECTORS], offsets[VECTORS];
    __m512 factors[VECTORS];
#pragma GCC unroll 4
    for (size_t v = 0; v < VECTORS; v++) {
        offsets[v] = load_places(r->end->offsets + c + v * LANES, half);
        factors[v] = _mm512_castsi512_ps(load_places(r->end->factors + c + v * LANES, half));
#pragma GCC unroll 3
        for (size_t t = 0; t < known; t++)
            held[t * VECTORS + v] = load_places(w + (t * VECTORS + v) * 64, half);
    }
    for (size_t t = 0; t < known; t++) tap[t] = x + column_at(r, cs, t * r->dilation);
    for (size_t i = 0; i < n; i += two, y += two * next) {
        __m512i acc[VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) acc[v] = offsets[v];
#pragma GCC unroll 3
        for (size_t t = 0; t < taps; t++) {
            const uint8_t *column = known ? tap[t] + i * step
                                          : x + column_at(r, cs, t / groups * r->dilation) +
                                                i * step + t % groups * VECTORS * plane;
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                acc[v] = _mm512_dpbusd_epi32(acc[v], _mm512_loadu_si512(column + v * plane),
                                             known ? held[t * VECTORS + v]
                                                   : load_places(w + (t * VECTORS + v) * 64, half));
        }
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) acc[v] = onx_qend_round(acc[v], factors[v]);
        __m512i all = onx_qbytes_pack(&q, acc[0], acc[1], acc[2], acc[3]);
        if (!half) {
            _mm512_mask_storeu_epi8(y, some, all);
            continue;
        }
        _mm256_mask_storeu_epi8(y, (__mmask32)some, _mm512_castsi512_si256(all));
        if (i + 1 < n)
            _mm256_mask_storeu_epi8(y + next, (__mmask32)some, _mm512_extracti64x4_epi64(all, 1));
    }
}

/* All lines of 64 channels from c on. */
static inline __attribute__((always_inline)) void block(const onx_qdepth_row *r, size_t c,
                                                        __mmask64 some, bool half) {
    const columns cs = columns_of(r, half);
    gather(r, &cs, c, some, half);
    for (size_t line = 0; line < r->lines; line++)
        if (r->kw == 3 && cs.groups == 1)
            outputs(r, &cs, line, c, some, 3, half);
        else
            outputs(r, &cs, line, c, some, 0, half);
}

static void depth(const onx_qdepth_row *r) {
    size_t c = 0;
    for (; r->channels - c > HALF; c += BLOCK) {
        size_t left = r->channels - c;
        block(r, c, left < BLOCK ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0, false);
        if (left <= BLOCK) return;
    }
    if (c < r->channels) block(r, c, ((__mmask64)1 << (r->channels - c)) - 1, true);
}

static bool depth_fits(int low, int high) {
    return low >= -128 && high <= 127;
}

const onx_qdepth onx_qdepth_vnni = {
    .block = BLOCK,
    .bytes = depth_bytes,
    .pack = depth_pack,
    .lines = lines,
    .scratch = depth_scratch,
    .run = depth,
    .channel_at = channel_at,
    .fits = depth_fits,
};
