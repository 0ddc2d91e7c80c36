/* gemm_simd.c: the blocked product of gemm.h, compiled once per instruction set.
 *
 *     for a few panels of B                    then the epilogue
 *       for each DEPTH of k                    partial sums go through C
 *         for each panel: DEPTH × NR           comes from memory once, ahead of its use
 *           for each group of rows: kernel     MR × NR sums in registers
 *
 * Rows are shared out evenly over groups of at most MR, one kernel for each number of rows, so that
 * no row is computed in vain; one vector where fewer columns are left. While a panel is used, the
 * next one is fetched. Rows of A that lie well are read in place.
 */
#include "cpu/gemm.h"
#include "cpu/turn.h"
#include "cpu/vec.h"

#define ROWS_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define ROWS_12(X) ROWS_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#if defined(__AVX512F__) /* 28 sums, 2 vectors of B, 1 of A: 32 registers */
#define MR 14
#define READS_A true
#define EACH_ROWS(X) ROWS_12(X) X(13) X(14)
#elif defined(__ARM_NEON) /* the same, but A is loaded several rows ahead */
#define MR 12
#define READS_A false
#define EACH_ROWS(X) ROWS_12(X)
#else
#define MR 6
#define READS_A true
#define EACH_ROWS(X) ROWS_6(X)
#endif
enum {
    NV = 2,
    NR = NV * VF,
    DEPTH = ONX_GEMM_DEPTH,
    WIDE = 4,        /* panels for a single row */
    BLOCK = 1 << 15, /* floats of C that the epilogue gets at once, about */
};

/* Operands may lie in a file, at any byte. */
static inline float load(const float *p) {
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* c[rows][NR] = alpha a[rows][depth] b[depth][NR] + d[rows][NR]; the rows of b, c and d are their
 * strides apart, a has strides for both. d may be NULL, or c. `ahead` is fetched for later, in
 * `depth` steps. */
typedef struct tile {
    size_t depth;
    const float *a, *b;
    size_t a_row, a_step;
    size_t ldb;
    float alpha;
    const float *d;
    size_t ldd;
    float *c;
    size_t ldc;
    const char *ahead;
    size_t ahead_step;
} tile;

/* *x times b plus c. Of two rows, one takes x from memory for each product, the other once for all:
 * so that neither the loads nor the instructions are too many, also for half a processor. */
static inline vf fma_at(const float *x, vf b, vf c, bool from_memory) {
#if defined(__AVX512F__)
    if (from_memory) return vf_fma_at(x, b, c);
#else
    (void)from_memory;
#endif
    return vf_fma(vf_set(load(x)), b, c);
}

/* The rows of A four by four: a processor adds up to three strides to an address by itself. */
static inline __attribute__((always_inline)) void kernel(const tile *from, int rows, int nv) {
    const tile t = *from;
    vf sum[MR][NV];
    VF_UNROLL for (int i = 0; i < rows; i++) VF_UNROLL for (int j = 0; j < nv; j++) sum[i][j] =
        vf_zero();
    const size_t a_row = READS_A ? t.a_row : 1;
    const float *a[(MR + 3) / 4], *b = t.b;
    VF_UNROLL for (int i = 0; i < rows; i += 4) a[i / 4] = t.a + (size_t)i * a_row;
    const char *ahead = t.ahead;
    for (size_t l = 0; l < t.depth; l++, b += t.ldb, ahead += t.ahead_step) {
        __builtin_prefetch(ahead, 0, 2);
        vf row[NV];
        VF_UNROLL for (int j = 0; j < nv; j++) row[j] = vf_load(b + j * VF);
        VF_UNROLL for (int i = 0; i < rows; i++) VF_UNROLL for (int j = 0; j < nv; j++) sum[i][j] =
            fma_at(a[i / 4] + (size_t)(i % 4) * a_row, row[j], sum[i][j], i % 2);
        VF_UNROLL for (int i = 0; i < rows; i += 4) a[i / 4] += t.a_step;
    }
    vf alpha = vf_set(t.alpha);
    VF_UNROLL for (int i = 0; i < rows; i++) VF_UNROLL for (int j = 0; j < nv; j++) {
        vf d = t.d ? vf_load(t.d + (size_t)i * t.ldd + j * VF) : vf_zero();
        vf_store(t.c + (size_t)i * t.ldc + j * VF, vf_fma(alpha, sum[i][j], d));
    }
}

#define KERNEL(rows)                                                                               \
    static void kernel_##rows(const tile *t) {                                                     \
        kernel(t, rows, NV);                                                                       \
    }                                                                                              \
    static void narrow_##rows(const tile *t) {                                                     \
        kernel(t, rows, 1);                                                                        \
    }
#define ENTRY(rows) {narrow_##rows, kernel_##rows},
EACH_ROWS(KERNEL)
static void (*const kernels[][2])(const tile *) = {EACH_ROWS(ENTRY)}; /* of one vector, of NV */

/* The last columns, fewer than NR: through a buffer unless they are whole vectors. */
static void copy_columns(float *to, size_t to_row, const float *from, size_t from_row, size_t rows,
                         size_t n) {
    for (size_t i = 0; i < rows; i++, to += to_row, from += from_row) {
        if (n > VF) vf_store(to, vf_load(from));
        size_t at = n > VF ? VF : 0;
        vf_store_n(to + at, vf_load_n(from + at, n - at), n - at);
    }
}
static void run_edge(tile t, size_t rows, size_t n) {
    float sums[MR * NR], *c = t.c;
    size_t ldc = t.ldc;
    if (n == VF) {
        kernels[rows - 1][0](&t);
        return;
    }
    if (t.d) {
        copy_columns(sums, NR, t.d, t.ldd, rows, n);
        t.d = sums;
        t.ldd = NR;
    }
    t.c = sums;
    t.ldc = NR;
    kernels[rows - 1][n > VF](&t);
    copy_columns(c, ldc, sums, NR, rows, n);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}
/* to[l * width + i] = from[i * row + l * col] for i < rows <= width and l < depth. Whole vectors
 * where the strides allow; the last of them overlaps the one before instead of being cut. */
static void interleave(float *to, size_t width, const float *from, size_t row, size_t col,
                       size_t rows, size_t depth) {
    if (row == 1 && rows >= VF) {
        for (size_t l = 0; l < depth; l++)
            for (size_t i = 0; i < rows; i += VF) {
                size_t at = least(i, rows - VF);
                vf_store(to + l * width + at, vf_load(from + l * col + at));
            }
    } else if (col == 1 && rows >= 4 && depth >= 4) {
        for (size_t i = 0; i < rows; i += 4)
            for (size_t l = 0; l < depth; l += 4) {
                size_t x = least(i, rows - 4), y = least(l, depth - 4);
                onx_turn_4x4(to + y * width + x, width, from + x * row + y, row);
            }
    } else {
        for (size_t i = 0; i < rows; i++)
            for (size_t l = 0; l < depth; l++) to[l * width + i] = load(from + i * row + l * col);
    }
}

/* Rows of the group that begins at `row`, of m rows. */
static size_t group_rows(size_t m, size_t row) {
    size_t n = m / MR + (m % MR != 0);
    return m / n + (row < m % n * (m / n + 1));
}
/* Blocks that k is cut into: at least one, which sets C. */
static size_t blocks(size_t k) {
    return k > DEPTH ? k / DEPTH + (k % DEPTH != 0) : 1;
}

/* ─ Halves ───────────────────────────────────────────────────────────────────────────────────── */

typedef uint16_t half_vector __attribute__((vector_size(VF * 2)));

static inline vf load_half(onx_gemm_type type, const uint16_t *p) {
    half_vector h;
    if (type == ONX_GEMM_F16) return vf_load_f16(p);
    memcpy(&h, p, sizeof h);
    return vi_bits(__builtin_convertvector(h, vi) << 16);
}
/* bfloat16: to nearest, ties to even; what is not a number stays one. */
static inline void store_half(onx_gemm_type type, uint16_t *p, vf v) {
    if (type == ONX_GEMM_F16) {
        vf_store_f16(p, v);
        return;
    }
    vi bits = vf_bits(v), up = (bits >> 16 & 1) + 0x7fff, nan = v != v;
    bits = (~nan & (bits + up)) | (nan & (bits | 0x400000));
    half_vector h = __builtin_convertvector(bits >> 16 & 0xffff, half_vector);
    memcpy(p, &h, sizeof h);
}

static void widen(onx_gemm_type type, const void *from, size_t count, float *to) {
    const char *p = from;
    size_t i = 0;
    uint16_t part[VF] = {0};
    for (; i + VF <= count; i += VF) {
        memcpy(part, p + i * 2, sizeof part);
        vf_store(to + i, load_half(type, part));
    }
    if (i == count) return;
    memcpy(part, p + i * 2, (count - i) * 2);
    vf_store_n(to + i, load_half(type, part), count - i);
}
static void narrow(onx_gemm_type type, const float *from, size_t count, void *to) {
    uint16_t part[VF];
    for (size_t i = 0; i < count; i += VF) {
        size_t n = least(VF, count - i);
        store_half(type, part, vf_load_n(from + i, n));
        memcpy((char *)to + i * 2, part, n * 2);
    }
}

/* interleave() of elements of any type: halves go through a strip of floats. */
static void interleave_any(onx_gemm_type type, float *to, size_t width, const void *from,
                           size_t row, size_t col, size_t rows, size_t depth) {
    enum { STRIP = 64 };
    float strip[(MR > NR ? MR : NR) * STRIP];
    const char *p = from;
    if (type == ONX_GEMM_F32) {
        interleave(to, width, from, row, col, rows, depth);
        return;
    }
    if (row == 1) {
        for (size_t l = 0; l < depth; l++) widen(type, p + l * col * 2, rows, to + l * width);
        return;
    }
    for (size_t l = 0, n; l < depth; l += n) {
        n = least(STRIP, depth - l);
        for (size_t i = 0; i < rows; i++) /* col is 1 */
            widen(type, p + (i * row + l) * 2, n, strip + i * STRIP);
        interleave(to + l * width, width, strip, STRIP, 1, rows, n);
    }
}

static size_t type_size(onx_gemm_type type) {
    return type == ONX_GEMM_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

/* Columns k … k + depth - 1 of rows, whole groups, of A. */
static void pack_groups(const onx_gemm_args *g, size_t row, size_t row_end, size_t k, size_t depth,
                        float *to) {
    const char *a = g->a;
    for (size_t i = row, rows; i < row_end; i += rows, to += rows * depth) {
        rows = group_rows(g->m, i);
        interleave_any(g->a_type, to, rows,
                       a + (i * g->a_row + k * g->a_col) * type_size(g->a_type), g->a_row, g->a_col,
                       rows, depth);
    }
}
static void pack_a(const onx_gemm_args *g, size_t row, size_t row_end, float *packed) {
    pack_groups(g, row, row_end, 0, g->k, packed);
}

static void pack_panel(const float *b, size_t b_row, size_t b_col, size_t n, size_t depth,
                       float *to) {
    if (n < NR) memset(to, 0, depth * NR * sizeof *to);
    interleave(to, NR, b, b_col, b_row, n, depth);
}

static void pack_b(size_t k, size_t n, const float *b, size_t b_row, size_t b_col, size_t first,
                   size_t count, float *packed) {
    enum { ROWS = 16 };
    size_t step = b_col == 1 ? ROWS : DEPTH;
    for (size_t l = 0; l < k; l += step)
        for (size_t p = first; p < first + count; p++)
            pack_panel(b + l * b_row + p * NR * b_col, b_row, b_col, least(NR, n - p * NR),
                       least(step, k - l), packed + ((p - first) * k + l) * NR);
}

static void pack_half(onx_gemm_type type, bool keep, size_t k, size_t n, const void *b,
                      size_t b_row, size_t b_col, size_t first, size_t count, void *packed) {
    enum { ROWS = 32 };
    float rows[ROWS * NR];
    for (size_t p = first; p < first + count; p++)
        for (size_t l = 0, depth; l < k; l += depth) {
            size_t width = least(NR, n - p * NR), at = ((p - first) * k + l) * NR;
            depth = least(ROWS, k - l);
            float *to = keep ? rows : (float *)packed + at;
            if (width < NR) memset(to, 0, depth * NR * sizeof *to);
            interleave_any(type, to, NR, (const char *)b + (l * b_row + p * NR * b_col) * 2, b_col,
                           b_row, width, depth);
            if (keep) narrow(type, rows, depth * NR, (uint16_t *)packed + at);
        }
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

/* One row times WIDE panels at once, `step` elements apart: more sums at a time, and more streams.
 * Halves are widened on their way. */
static inline __attribute__((always_inline)) void wide(const tile *from, size_t step,
                                                       onx_gemm_type type) {
    const tile t = *from;
    const char *b = (const char *)t.b;
    vf sum[WIDE][NV];
    VF_UNROLL for (int p = 0; p < WIDE; p++) VF_UNROLL for (int j = 0; j < NV; j++) sum[p][j] =
        vf_zero();
    for (size_t l = 0; l < t.depth; l++) {
        vf x = vf_set(load(t.a + l));
        VF_UNROLL for (size_t p = 0; p < WIDE; p++) VF_UNROLL for (size_t j = 0; j < NV; j++) {
            const void *at = b + (p * step + l * t.ldb + j * VF) * type_size(type);
            vf y = type == ONX_GEMM_F32 ? vf_load(at) : load_half(type, at);
            sum[p][j] = vf_fma(x, y, sum[p][j]);
        }
    }
    vf alpha = vf_set(t.alpha);
    VF_UNROLL for (int i = 0; i < WIDE * NV; i++) {
        vf d = t.d ? vf_load(t.d + i * VF) : vf_zero();
        vf_store(t.c + i * VF, vf_fma(alpha, sum[i / NV][i % NV], d));
    }
}
static void wide_f32(const tile *t, size_t step) {
    wide(t, step, ONX_GEMM_F32);
}
static void wide_f16(const tile *t, size_t step) {
    wide(t, step, ONX_GEMM_F16);
}
static void wide_bf16(const tile *t, size_t step) {
    wide(t, step, ONX_GEMM_BF16);
}
static void (*const wide_kernels[])(const tile *, size_t) = {wide_f32, wide_f16, wide_bf16};

/* What a part is at work on: products k … k + depth - 1. */
typedef struct work {
    const onx_gemm_args *g;
    onx_gemm_part part;
    size_t k, depth;
    float *a; /* the part's rows at this depth; NULL: they are packed, or read in place */
    float *b; /* room for a panel: the last of a B that is not packed, or one of halves */
} work;

static void set_block(work *w, size_t i) {
    size_t n = blocks(w->g->k);
    w->k = onx_part_at(w->g->k, n, i);
    w->depth = onx_part_at(w->g->k, n, i + 1) - w->k;
}

/* The group at `row` as the kernel reads it. */
static const float *group_at(const work *w, size_t row, size_t rows) {
    const onx_gemm_args *g = w->g;
    static const float nothing[1];
    const float *a = g->a;
    if (!w->depth) return nothing;
    if (g->a_packed) return a + row * g->k + w->k * rows;
    return w->a ? w->a + (row - w->part.row) * w->depth : a + row * g->a_row + w->k;
}

/* Sets b of the tile, as floats if it is one panel, and `ahead`: what is needed next. */
static void set_panel(const work *w, tile *t, size_t panel, size_t count) {
    const onx_gemm_args *g = w->g;
    size_t col = panel * NR, n = least(NR, g->n - col), size = type_size(g->b_type);
    size_t at = g->ldb ? w->k * g->ldb + col : ((panel - g->b_first) * g->k + w->k) * NR;
    const char *b = (const char *)g->b + at * size;
    bool more = panel + 1 < w->part.panel_end || (!w->a && w->k + w->depth < g->k);
    t->ahead = b;
    if (more && !g->ldb)
        t->ahead = b + (w->a ? g->k : w->depth) * NR * size;
    else if (g->ahead)
        t->ahead = g->ahead;
    t->b = (const float *)(const void *)b;
    t->ldb = g->ldb ? g->ldb : NR;
    if (g->ldb && n < NR)
        pack_panel(t->b, g->ldb, 1, n, w->depth, w->b);
    else if (g->b_type && count == 1)
        widen(g->b_type, b, w->depth * NR, w->b);
    else
        return;
    t->b = w->b;
    t->ldb = NR;
}

/* Where C[row, col] is. */
static float *c_at(const onx_gemm_args *g, size_t row, size_t col) {
    return g->c + (row - g->c_row) * g->ldc + (col - g->c_col);
}

/* `count` panels of B times all rows of the part: 1, or of one row WIDE. */
static void run_panel(const work *w, size_t panel, size_t count) {
    const onx_gemm_args *g = w->g;
    size_t col = panel * NR, n = least(NR, g->n - col), all = w->part.row_end - w->part.row;
    bool onto_c = w->k || g->d == g->c, in_place = !g->a_packed && !w->a;
    tile t = {.depth = w->depth, .alpha = g->alpha, .ldc = g->ldc};
    t.ldd = onto_c ? g->ldc : g->ldd;
    set_panel(w, &t, panel, count);
    for (size_t row = w->part.row, rows; row < w->part.row_end; row += rows) {
        rows = group_rows(g->m, row);
        t.a = group_at(w, row, rows);
        t.a_row = in_place ? g->a_row : 1;
        t.a_step = in_place ? 1 : rows;
        t.c = c_at(g, row, col);
        t.d = onto_c ? t.c : g->d ? g->d + row * t.ldd + col : NULL;
        t.ahead_step = rows * NR * type_size(g->b_type) / all;
        if (count > 1)
            wide_kernels[g->b_type](&t, g->ldb ? NR : g->k * NR);
        else if (n == NR)
            kernels[rows - 1][1](&t);
        else
            run_edge(t, rows, n);
        t.ahead += t.ahead_step * w->depth;
    }
}

static void finish(const work *w, size_t panel, size_t panel_end) {
    const onx_gemm_args *g = w->g;
    size_t row = w->part.row, col = panel * NR, n = least(panel_end * NR, g->n) - col;
    if (g->epilogue)
        g->epilogue(g->user, c_at(g, row, col), row, w->part.row_end - row, col, n, g->ldc);
}

/* Block after block, the part's rows packed anew for each. */
static void run_blocks(work *w, size_t few) {
    size_t n = blocks(w->g->k);
    for (size_t i = 0; i < n; i++) {
        set_block(w, i);
        pack_groups(w->g, w->part.row, w->part.row_end, w->k, w->depth, w->a);
        for (size_t p = w->part.panel, end; p < w->part.panel_end; p = end) {
            end = least(p + few, w->part.panel_end);
            for (size_t j = p; j < end; j++) run_panel(w, j, 1);
            if (i + 1 == n) finish(w, p, end);
        }
    }
}

/* Panel after panel, each from the first row of B to the last. */
static void run_panels(work *w, size_t few) {
    size_t n = blocks(w->g->k), one_row = w->part.row_end - w->part.row == 1;
    for (size_t p = w->part.panel, end; p < w->part.panel_end; p = end) {
        end = least(p + few, w->part.panel_end);
        for (size_t j = p, count; j < end; j += count) {
            count = one_row && j + WIDE <= end && (j + WIDE) * NR <= w->g->n ? WIDE : 1;
            for (size_t i = 0; i < n; i++) {
                set_block(w, i);
                run_panel(w, j, count);
            }
        }
        finish(w, p, end);
    }
}

static void run(const onx_gemm_args *g, onx_gemm_part part, void *space) {
    size_t rows = part.row_end - part.row;
    if (!rows) return;
    work w = {.g = g, .part = part, .b = space};
    size_t few = BLOCK / (rows * NR) + 1;
    if (g->a_packed || onx_gemm_reads_a(&ONX_TIER(onx_gemm), g)) {
        run_panels(&w, few);
        return;
    }
    w.a = space;
    w.b += rows * least(DEPTH, g->k);
    run_blocks(&w, few);
}

const onx_gemm ONX_TIER(onx_gemm) = {NR,  MR,     pack_a, pack_b, pack_half,
                                     run, narrow, widen,  READS_A};
