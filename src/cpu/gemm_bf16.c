/* gemm_bf16.c: what the tiers of gemm_bf16.h share, packing and the walk over C; and the kernel for
 * dot products of pairs (AVX512-BF16).
 *
 *     for each GROUP of panels of B            stays in the second-level cache
 *       for each 32 rows of A                  one panel after the other; then the epilogue
 *
 * Weights come from memory, once for each tile: while a group is computed, the next one is fetched,
 * a part of it with each 32 rows. */
#include "cpu/gemm_bf16.h"
#include "cpu/shares.h"
#include "cpu/vec.h"

#include <immintrin.h>

enum {
    ROWS = ONX_BF16_ROWS,
    COLS = ONX_BF16_COLS,
    DEPTH = ONX_BF16_DEPTH,
    PART = ONX_BF16_PART,
    PAIRS = DEPTH / 2,
    LANES = 16,
    GROUP = 8,               /* panels, at most, */
    GROUP_BYTES = 512 << 10, /* and bytes */
    LINE = 64,
};

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

static __m512i pairs_of(const void *from, size_t n, bool rounded) {
    uint32_t mask = n < 32 ? (1u << n) - 1 : ~0u;
    if (rounded) return _mm512_maskz_loadu_epi16(mask, from);
    __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, from);
    __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), (const char *)from + 64);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Elements [i, j … j+31] as bfloat16; zeros where there are none. */
static __m512i fetch(const onx_bf16_source *s, size_t i, size_t j) {
    size_t n = i < s->rows && j < s->cols ? least(DEPTH, s->cols - j) : 0;
    size_t each = s->rounded ? sizeof(uint16_t) : sizeof(float);
    if (!n) return _mm512_setzero_si512();
    const char *from = (const char *)s->data + (i * s->row + j * s->col) * each;
    char line[DEPTH * sizeof(float)];
    if (s->col == 1) return pairs_of(from, n, s->rounded);
    for (size_t l = 0; l < n; l++) memcpy(line + l * each, from + l * s->col * each, each);
    return pairs_of(line, n, s->rounded);
}

/* to[i] = { low[i], high[i] } for 16 columns. */
static void interleave(uint16_t *to, __m256i low, __m256i high) {
    __m512i pair = _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16);
    _mm512_storeu_si512(to, _mm512_or_si512(pair, _mm512_cvtepu16_epi32(low)));
}

/* 32 rows of B from l on: rows as they lie. */
static void pack_rows(const onx_bf16_source *b, size_t l, size_t col, uint16_t *to) {
    for (size_t i = 0; i < DEPTH; i += 2, to += 2 * COLS) {
        __m512i low = fetch(b, l + i, col), high = fetch(b, l + i + 1, col);
        interleave(to, _mm512_castsi512_si256(low), _mm512_castsi512_si256(high));
        interleave(to + COLS, _mm512_extracti64x4_epi64(low, 1),
                   _mm512_extracti64x4_epi64(high, 1));
    }
}

/* 16 lines of 16 pairs, `from` the next one `step` pairs on, as columns. */
static void turn_pairs(const uint32_t *from, int step, uint16_t *to, size_t to_step) {
    const __m512i at =
        _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32(step));
    for (size_t p = 0; p < PAIRS; p++)
        _mm512_storeu_si512(to + p * to_step, _mm512_i32gather_epi32(at, from + p, 4));
}

/* The same where columns are what lies in a row: pairs are there, and lines become columns. */
static void pack_cols(const onx_bf16_source *turned, size_t l, size_t col, uint16_t *to) {
    uint32_t lines[LANES][PAIRS];
    for (size_t half = 0; half < COLS; half += LANES) {
        for (size_t j = 0; j < LANES; j++)
            _mm512_storeu_si512(lines[j], fetch(turned, col + half + j, l));
        turn_pairs(lines[0], PAIRS, to + half * 2, 2 * COLS);
    }
}

static bool is_turned(const onx_bf16_source *s) {
    return s->row == 1 && s->col != 1;
}
static onx_bf16_source turn(const onx_bf16_source *s) {
    return (onx_bf16_source){s->data, s->cols, s->rows, s->col, s->row, s->rounded};
}

void onx_bf16_pack_b(const onx_bf16_source *b, size_t first, size_t count, uint16_t *packed) {
    onx_bf16_source turned = turn(b);
    for (size_t p = first; p < first + count; p++)
        for (size_t l = 0; l < b->rows; l += DEPTH, packed += DEPTH * COLS) {
            if (is_turned(b))
                pack_cols(&turned, l, p * COLS, packed);
            else
                pack_rows(b, l, p * COLS, packed);
        }
}

/* One row of a block. */
static void pack_row(const onx_bf16_source *a, size_t row, uint16_t *to) {
    size_t l = 0;
    if (a->col == 1 && !a->rounded && row < a->rows) {
        const float *from = (const float *)a->data + row * a->row;
        for (; l + DEPTH <= a->cols; l += DEPTH, to += ROWS * DEPTH) {
            __m512 low = _mm512_loadu_ps(from + l), high = _mm512_loadu_ps(from + l + LANES);
            _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        }
    }
    for (; l < a->cols; l += DEPTH, to += ROWS * DEPTH) _mm512_storeu_si512(to, fetch(a, row, l));
}

/* A block of which columns lie in a row: as if it were of B, then turned. */
static void pack_turned(const onx_bf16_source *turned, size_t row, uint16_t *to) {
    uint32_t pairs[PAIRS * COLS];
    for (size_t l = 0; l < turned->rows; l += DEPTH, to += ROWS * DEPTH) {
        pack_rows(turned, l, row, (uint16_t *)pairs);
        turn_pairs(pairs, COLS, to, DEPTH);
    }
}

void onx_bf16_pack_a(const onx_bf16_source *a, size_t first, size_t count, uint16_t *packed) {
    onx_bf16_source turned = turn(a);
    for (size_t i = first; i < first + count; i++, packed += onx_bf16_block_size(a->cols)) {
        if (is_turned(a))
            pack_turned(&turned, i * ROWS, packed);
        else
            for (size_t row = 0; row < ROWS; row++)
                pack_row(a, i * ROWS + row, packed + row * DEPTH);
    }
}

/* ─ The walk ─────────────────────────────────────────────────────────────────────────────────── */

/* D[row, col … col + 15]. */
static __m512 load_d(const onx_bf16_args *g, size_t row, size_t col, __mmask16 mask) {
    size_t each = g->half ? sizeof(uint16_t) : sizeof(float);
    const char *from = (const char *)g->d + (row * g->ldd + col * g->d_col) * each;
    if (!g->d) return _mm512_setzero_ps();
    if (g->d_col == 0) mask &= 1;
    __m512 d = g->half ? (__m512)_mm512_slli_epi32(
                             _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16)
                       : _mm512_maskz_loadu_ps(mask, from);
    return g->d_col ? d : _mm512_broadcastss_ps(_mm512_castps512_ps128(d));
}

/* c = alpha sums + beta d, for n columns. */
static void add_up(const onx_bf16_args *g, size_t row, size_t rows, size_t col, size_t n,
                   const float *sums) {
    __m512 alpha = _mm512_set1_ps(g->alpha), beta = _mm512_set1_ps(g->beta);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j += LANES) {
            __mmask16 mask = (__mmask16)(n - j < LANES ? (1u << (n - j)) - 1 : 0xffff);
            __m512 d = load_d(g, row + i, col + j, mask);
            __m512 x = _mm512_loadu_ps(sums + i * COLS + j);
            size_t at = (row + i) * g->ldc + col + j;
            x = _mm512_fmadd_ps(alpha, x, _mm512_mul_ps(beta, d));
            if (g->half)
                _mm256_mask_storeu_epi16((uint16_t *)g->c + at, mask,
                                         (__m256i)_mm512_cvtneps_pbh(x));
            else
                _mm512_mask_storeu_ps((float *)g->c + at, mask, x);
        }
}

/* Panels that are computed row by row. */
static size_t group_of(size_t k) {
    return least(GROUP, 1 + GROUP_BYTES / (onx_bf16_panel_size(k) * sizeof(uint16_t) + 1));
}

/* A group of panels at work. */
typedef struct walk {
    const onx_bf16_args *g;
    onx_bf16_kernel *kernel;
    size_t group, lines; /* panels to the next group; lines of it to fetch with each depth */
    size_t slice;        /* bytes of a panel that are fetched with each 32 rows */
} walk;

static void run_panel(const walk *w, size_t row, size_t rows, size_t panel, size_t part) {
    float sums[PART * COLS] __attribute__((aligned(64)));
    const onx_bf16_args *g = w->g;
    size_t col = panel * COLS, n = least(COLS, g->n - col), size = onx_bf16_panel_size(g->k);
    bool direct = n == COLS && rows % ROWS == 0 && g->alpha == 1 && !g->d && !g->half;
    onx_bf16_block b = {.rows = rows, .depth = g->k, .b = g->b + panel * size, .lines = w->lines};
    b.a_next = onx_bf16_block_size(g->k);
    b.a = g->a + row / ROWS * b.a_next;
    b.c = direct ? (float *)g->c + row * g->ldc + col : sums;
    b.ldc = direct ? g->ldc : COLS;
    b.ahead = (const char *)(b.b + w->group * size) + part * w->slice;
    if (panel + w->group >= onx_bf16_ceil(g->n, COLS)) b.lines = 0;
    w->kernel(&b);
    if (!direct) add_up(g, row, rows, col, n, sums);
}

void onx_bf16_run_with(const onx_bf16_args *g, onx_gemm_part part, onx_bf16_kernel *kernel) {
    size_t group = group_of(g->k), parts = onx_bf16_ceil(part.row_end - part.row, PART);
    walk w = {g, kernel, least(group, part.panel_end - part.panel), 0, 0};
    if (parts) w.lines = onx_bf16_ceil(2 * DEPTH * COLS / LINE, parts);
    w.slice = w.lines * LINE * onx_bf16_ceil(g->k, DEPTH);
    for (size_t p = part.panel, end; p < part.panel_end; p = end) {
        end = least(p + group, part.panel_end);
        size_t col = p * COLS, n = least(end * COLS, g->n) - col;
        for (size_t row = part.row; row < part.row_end; row += PART) {
            size_t rows = least(PART, part.row_end - row);
            for (size_t i = p; i < end; i++) run_panel(&w, row, rows, i, (row - part.row) / PART);
            if (g->epilogue)
                g->epilogue(g->user, (float *)g->c + row * g->ldc + col, row, rows, col, n, g->ldc);
        }
    }
}

/* ─ Tiles for threads ────────────────────────────────────────────────────────────────────────── */

enum {
    TILE_ROWS = 128,
    TILE_BYTES = 768 << 10, /* of A: it stays in the second-level cache */
    TILE_PANELS = 4,        /* at least: the epilogue goes along rows */
    TILE_WORK = 12 << 20,   /* products: 10 µs and more */
    SHARED_ROWS = 3 * PART,
    SHARED_BYTES = 3 << 17,
};

/* The even share when `count` is cut into parts of at most `most`, or of 1. */
static size_t share(size_t count, size_t most) {
    return count ? onx_bf16_ceil(count, onx_bf16_ceil(count, most ? most : 1)) : 1;
}

/* The panels of a tile: an even number of tiles along the panels, so that two threads have about
 * the same to do, whatever the rows are. */
static size_t panels_of(size_t panels, size_t most) {
    size_t across = onx_bf16_ceil(panels, most);
    if (across % 2 && panels >= 2 * (across + 1)) across++;
    return across ? onx_bf16_ceil(panels, across) : 1;
}

/* What a thread wrote is slow to read for another. So the rows of C are shared out rather than its
 * columns, where B is in the second-level cache when it is needed again. */
bool onx_bf16_shares_rows(size_t m, size_t n, size_t k) {
    return m >= SHARED_ROWS && k && n <= SHARED_BYTES / sizeof(uint16_t) / k;
}

onx_gemm_tiling onx_bf16_tile(size_t m, size_t n, size_t k) {
    size_t panels = onx_bf16_ceil(n, COLS), depth = k / DEPTH * DEPTH + DEPTH;
    size_t most = least(TILE_ROWS, TILE_BYTES / sizeof(uint16_t) / depth);
    onx_gemm_tiling t = {.rows = share(onx_bf16_ceil(m, PART), most / PART) * PART};
    t.n_down = onx_bf16_ceil(m, t.rows);
    if (onx_bf16_shares_rows(m, n, k)) {
        t.n_down = least(m / PART, 2 * onx_bf16_ceil(m, 2 * t.rows));
        t.rows = onx_bf16_ceil(m / PART, t.n_down) * PART;
    }
    double wide = TILE_WORK / ((double)depth * (double)t.rows * COLS);
    t.panels = panels_of(panels, wide < TILE_PANELS ? TILE_PANELS : (size_t)wide);
    t.n_across = onx_bf16_ceil(panels, t.panels);
    return t;
}

onx_gemm_part onx_bf16_tile_at(const onx_gemm_tiling *t, size_t m, size_t n, size_t k,
                               size_t index) {
    size_t panels = onx_bf16_ceil(n, COLS), down = index % t->n_down, across = index / t->n_down;
    onx_gemm_part part;
    if (onx_bf16_shares_rows(m, n, k)) {
        down = index / t->n_across, across = index % t->n_across;
        part.row = onx_share_at(m / PART, t->n_down, down) * PART;
        part.row_end = onx_share_at(m / PART, t->n_down, down + 1) * PART;
        if (down + 1 == t->n_down) part.row_end = m;
    } else {
        part.row = down * t->rows;
        part.row_end = least(m, part.row + t->rows);
    }
    part.panel = across * t->panels;
    part.panel_end = least(panels, part.panel + t->panels);
    return part;
}

/* ─ The kernel ───────────────────────────────────────────────────────────────────────────────── */

enum { KERNEL_ROWS = 8 };

static inline __attribute__((always_inline)) void dots(size_t k, const uint16_t *a,
                                                       const uint16_t *b, float *c, size_t ldc,
                                                       int rows) {
    __m512 sum[KERNEL_ROWS][2];
    VF_UNROLL for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (size_t l = 0; l < k; l += DEPTH, a += ROWS * DEPTH)
        for (size_t p = 0; p < PAIRS; p++, b += 2 * COLS) {
            __m512bh b0 = (__m512bh)_mm512_loadu_si512(b);
            __m512bh b1 = (__m512bh)_mm512_loadu_si512(b + COLS);
            VF_UNROLL for (int i = 0; i < rows; i++) {
                int32_t pair;
                memcpy(&pair, a + i * DEPTH + 2 * p, sizeof pair);
                __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
                sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, b0);
                sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, b1);
            }
        }
    VF_UNROLL for (int i = 0; i < rows; i++) {
        _mm512_storeu_ps(c + (size_t)i * ldc, sum[i][0]);
        _mm512_storeu_ps(c + (size_t)i * ldc + LANES, sum[i][1]);
    }
}

#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define DOTS(rows)                                                                                 \
    static void dots_##rows(size_t k, const uint16_t *a, const uint16_t *b, float *c,              \
                            size_t ldc) {                                                          \
        dots(k, a, b, c, ldc, rows);                                                               \
    }
#define ENTRY(rows) dots_##rows,
EACH_ROWS(DOTS)
static void (*const by_rows[])(size_t, const uint16_t *, const uint16_t *, float *,
                               size_t) = {EACH_ROWS(ENTRY)};

void onx_bf16_kernel_bf16(const onx_bf16_block *b) {
    for (size_t i = 0; i < b->rows; i += KERNEL_ROWS)
        by_rows[least(KERNEL_ROWS, b->rows - i) - 1](b->depth,
                                                     b->a + i / ROWS * b->a_next + i % ROWS * DEPTH,
                                                     b->b, b->c + i * b->ldc, b->ldc);
}

void onx_gemm_run_bf16(const onx_bf16_args *args, onx_gemm_part part) {
    onx_bf16_run_with(args, part, onx_bf16_kernel_bf16);
}
