/* qgemm_simd.c: products of bytes with vectors that have no instruction for them, by products of 16
 * bits, which are exact. Rows are made that wide before, weights when they are loaded: a panel is
 * [taps][k / 2][columns][2]. */
#include "cpu/qbytes.h"
#include "cpu/qgemm.h"
#include "cpu/vec_pairs.h"

#include <math.h>

enum {
    ROWS = 6,
    VECTORS = 2, /* of a panel */
    COLUMNS = VECTORS * VF,
};

static inline vi load(const void *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* From fours of each column to pairs. */
static void arrange(int8_t *panel, size_t bytes) {
    uint16_t fours[2 * COLUMNS], pairs[2 * COLUMNS];
    for (size_t at = 0; at < bytes; at += sizeof fours) {
        memcpy(fours, panel + at, sizeof fours);
        for (size_t j = 0; j < COLUMNS; j++) {
            pairs[j] = fours[2 * j];
            pairs[COLUMNS + j] = fours[2 * j + 1];
        }
        memcpy(panel + at, pairs, sizeof pairs);
    }
}

/* ── Tiles ───────────────────────────────────────────────────────────────────────────────────── */

static void widen(const uint8_t *from, size_t n, uint8_t flip, uint16_t *to) {
    size_t i = 0;
    for (; i + V16 <= n; i += V16) {
        v16 x = v16_load_u8(from + i, flip);
        memcpy(to + i, &x, sizeof x);
    }
    for (; i < n; i++) to[i] = from[i] ^ flip;
}

/* Where results go, whose columns are col … of the lists; none: sums are stored. */
typedef struct results {
    const onx_qend *end;
    size_t col, stride;
    uint8_t *y;
} results;

/* A row that is not whole goes through `part`: a call in the loop would cost the registers. */
static inline __attribute__((always_inline)) void store_bytes(const onx_qtile *t, const results *r,
                                                              vu acc[ROWS][VECTORS], size_t m,
                                                              size_t v) {
    const vq q = vq_of(r->end);
    const bool whole = t->n == v * VF;
    uint8_t part[ROWS * COLUMNS], *y = whole ? r->y : part;
    const size_t stride = whole ? r->stride : COLUMNS;
    vf factors[VECTORS];
    for (size_t j = 0; j < v; j++) factors[j] = vf_load(r->end->factors + r->col + j * VF);
    VF_UNROLL
    for (size_t i = 0; i < m; i += 2, y += 2 * stride) {
        vi two[2][VECTORS] = {{{0}}};
        VF_UNROLL
        for (size_t j = 0; j < 2 * v; j++)
            if (i + j / v < m)
                two[j / v][j % v] = vq_round(&q, (vi)acc[i + j / v][j % v], factors[j % v]);
        vo bytes = vq_bytes(&q, two[0][0], two[0][1], two[1][0], two[1][1]);
        memcpy(y, &bytes, v * VF);
        if (i + 1 < m) memcpy(y + stride, (const char *)&bytes + COLUMNS, v * VF);
    }
    for (size_t i = 0; !whole && i < m; i++) memcpy(r->y + i * r->stride, part + i * COLUMNS, t->n);
}

/* m rows with v vectors of columns; `wide`: of int16. */
static inline __attribute__((always_inline)) void tile_of(const onx_qtile *t, const results *r,
                                                          size_t m, size_t v, bool wide) {
    vu acc[ROWS][VECTORS], start[VECTORS] = {{0}};
    const int8_t *w = t->panel;
    for (size_t j = 0; r && j < v; j++) start[j] = (vu)load(r->end->offsets + r->col + j * VF);
    VF_UNROLL
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < v; j++) acc[i][j] = start[j];
    for (size_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *rows[ROWS];
        VF_UNROLL
        for (size_t i = 0; i < m; i++) rows[i] = t->rows[tap * t->m + i];
        for (size_t k = 0; k < t->k; k += 2, w += COLUMNS * (wide ? 4 : 2)) {
            v16 b[VECTORS];
            for (size_t j = 0; j < v; j++)
                b[j] = wide ? v16_load(w + j * VF_BYTES) : v16_load_i8(w + j * V16);
            VF_UNROLL
            for (size_t i = 0; i < m; i++) {
                v16 x = v16_load_pair(rows[i] + 2 * k);
                for (size_t j = 0; j < v; j++) acc[i][j] += v16_pairs(x, b[j]);
            }
        }
    }
    if (r) {
        store_bytes(t, r, acc, m, v);
        return;
    }
    VF_UNROLL
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < v; j++)
            memcpy(t->sums + i * COLUMNS + j * VF, &acc[i][j], sizeof acc[i][j]);
}

#define TILE(m)                                                                                    \
    static void tile_##m(const onx_qtile *t, const results *r) {                                   \
        if (t->n > VF)                                                                             \
            r ? tile_of(t, r, m, 2, false) : tile_of(t, NULL, m, 2, false);                        \
        else                                                                                       \
            r ? tile_of(t, r, m, 1, false) : tile_of(t, NULL, m, 1, false);                        \
    }                                                                                              \
    static void wide_##m(const onx_qtile *t) {                                                     \
        tile_of(t, NULL, m, 2, true);                                                              \
    }
#define TILES(X) X(1) X(2) X(3) X(4) X(5) X(6)
TILES(TILE)
#define TILE_NAME(m) tile_##m,
static void (*const tiles[ROWS])(const onx_qtile *, const results *) = {TILES(TILE_NAME)};

static void tile(const onx_qtile *t) {
    tiles[t->m - 1](t, NULL);
}
static void wide(const onx_qtile *t) {
#define WIDE_NAME(m) wide_##m,
    static void (*const wides[ROWS])(const onx_qtile *) = {TILES(WIDE_NAME)};
    wides[t->m - 1](t);
}
static void bytes(const onx_qtile *t, const onx_qend *end, size_t col, uint8_t *y, size_t stride) {
    tiles[t->m - 1](t, &(results){end, col, stride, y});
}

/* ── Results ─────────────────────────────────────────────────────────────────────────────────── */

/* A vector of columns of a row: offsets and zeros are those of the columns. */
static inline vi sum_of(const onx_qend *e, const int32_t *sums, size_t i, vi offsets, vi zeros) {
    vu s = (vu)load(sums) + (vu)offsets;
    return (vi)(e->zeros ? s - (vu)zeros * (uint32_t)e->row_sums[i] : s);
}

static inline void end_bytes(const onx_qend *e, const int32_t *sums, size_t m, size_t at, size_t n,
                             uint8_t *y, size_t stride) {
    const vf lo = vf_set(e->lo), hi = vf_set(e->hi), factors = vf_load(e->factors + at);
    const vi offsets = load(e->offsets + at), zeros = e->zeros ? load(e->zeros + at) : offsets;
    for (size_t i = 0; i < m; i++, y += stride) {
        vf x = vf_float(sum_of(e, sums + i * COLUMNS, i, offsets, zeros)) * factors;
        vi_store_bytes(y, vf_int(vf_min(vf_max(x, lo), hi)) + e->zero, n);
    }
}

/* Floats, or the sums themselves. */
static void end_words(const onx_qend *e, const int32_t *sums, size_t m, size_t at, size_t n,
                      char *y, size_t stride) {
    const vf bias = e->bias ? vf_load(e->bias + at) : vf_zero();
    const vi offsets = load(e->offsets + at), zeros = e->zeros ? load(e->zeros + at) : offsets;
    for (size_t i = 0; i < m; i++, y += stride) {
        vi s = sum_of(e, sums + i * COLUMNS, i, offsets, zeros);
        if (e->factors) { /* integers are not touched as floats: some are NaN, and would change */
            vf x = vf_float(s) * vf_load(e->factors + at);
            s = vf_bits(e->bias ? x + bias : x);
        }
        if (n < VF)
            memcpy(y, &s, n * sizeof(float));
        else
            memcpy(y, &s, sizeof s);
    }
}

void ONX_TIER(onx_qgemm_end)(const onx_qend *e, const int32_t *sums, size_t m, size_t col, size_t n,
                             char *y, size_t stride) {
    bool bytes = e->dtype == ONX_DTYPE_U8 || e->dtype == ONX_DTYPE_I8;
    size_t size = bytes ? 1 : sizeof(float);
    for (size_t j = 0; j < n; j += VF) {
        uint8_t *to = (uint8_t *)y + j * size;
        if (!bytes)
            end_words(e, sums + j, m, col + j, n - j, (char *)to, stride);
        else if (n - j < VF)
            end_bytes(e, sums + j, m, col + j, n - j, to, stride);
        else
            end_bytes(e, sums + j, m, col + j, VF, to, stride);
    }
}

/* ── Quantizing ──────────────────────────────────────────────────────────────────────────────── */

static void range(const float *x, size_t n, float *lo, float *hi) {
    vf least = vf_set(*lo), most = vf_set(*hi);
    vi odd = least != least;
    size_t i = 0;
    for (; i + VF <= n; i += VF) {
        vf v = vf_load(x + i);
        odd |= v != v;
        least = vf_min(v, least);
        most = vf_max(v, most);
    }
    *lo = -vf_largest(-least);
    *hi = vf_largest(most);
    for (; i < n; i++) {
        float v;
        memcpy(&v, x + i, sizeof v);
        *lo = v < *lo || v != v ? v : *lo;
        *hi = v > *hi || v != v ? v : *hi;
    }
    if (vf_any(odd)) *lo = *hi = (float)NAN;
}

static void quantize(const float *x, size_t n, const onx_dynamic *with, uint8_t *to) {
    float zero = (float)with->zero;
    for (size_t i = 0; i < n; i += VF) {
        vf v = (n - i < VF ? vf_load_n(x + i, n - i) : vf_load(x + i)) / with->scale;
        v = vf_min(vf_max(v, vf_set(-zero)), vf_set(255 - zero));
        vi_store_bytes(to + i, vf_int(v) + (int32_t)with->zero, n - i);
    }
}

const onx_dynamic_fns ONX_TIER(onx_dynamic) = {range, quantize};

const onx_qgemm ONX_TIER(onx_qgemm) = {
    .dynamic = &ONX_TIER(onx_dynamic),
    .rows = ROWS,
    .columns = COLUMNS,
    .widen = widen,
    .arrange = arrange,
    .tile = tile,
    .wide = wide,
    .winograd = ONX_TIER(onx_qwinograd),
    .end = ONX_TIER(onx_qgemm_end),
    .bytes = bytes,
    .depth = &ONX_TIER(onx_qdepth),
    .k = 4,
    .work = 1 << 22,
};
