/* gemm_simd.c: the blocked product of gemm.h, compiled once per instruction set.
 *
 *     for each DEPTH of k                      partial sums go through C
 *       for each ROWS of A: pack it            stays in the second-level cache
 *         for each panel of B                  DEPTH × NR, streams through the first level
 *           for each MR rows: kernel           MR × NR sums in registers
 *
 * The rows of a block are shared out evenly over kernels of at most MR rows, one kernel for each
 * number of rows, so that no row is computed in vain. A single row is read in place.
 */
#include "cpu/gemm.h"
#include "cpu/vec.h"

#define ROWS_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define ROWS_12(X) ROWS_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#if defined(__AVX512F__) /* 28 sums, 2 vectors of B, 1 of A: 32 registers */
#define MR 14
#define EACH_ROWS(X) ROWS_12(X) X(13) X(14)
#elif defined(__ARM_NEON) /* the same, but A is loaded several rows ahead */
#define MR 12
#define EACH_ROWS(X) ROWS_12(X)
#else
#define MR 6
#define EACH_ROWS(X) ROWS_6(X)
#endif
enum { NV = 2, NR = NV * VF, ROWS = MR * 16, DEPTH = ONX_GEMM_DEPTH };

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Operands may lie in a file, at any byte. */
static inline float load(const float *p) {
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* c[rows][NR] = alpha a[depth][rows]ᵀ b[depth][NR] + d[rows][NR]; the rows of b, c and d are their
 * strides apart. d may be NULL, or c. */
typedef struct tile {
    size_t depth;
    const float *a, *b;
    size_t ldb;
    float alpha;
    const float *d;
    size_t ldd;
    float *c;
    size_t ldc;
} tile;

static inline __attribute__((always_inline)) void kernel(const tile *from, int rows) {
    const tile t = *from;
    vf sum[MR][NV];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < NV; j++) sum[i][j] = vf_zero();
    const float *a = t.a, *b = t.b;
    for (size_t l = 0; l < t.depth; l++, a += rows, b += t.ldb) {
        vf row[NV];
        UNROLL for (int j = 0; j < NV; j++) row[j] = vf_load(b + j * VF);
        UNROLL for (int i = 0; i < rows; i++) {
            vf x = vf_set(load(a + i));
            UNROLL for (int j = 0; j < NV; j++) sum[i][j] = vf_fma(x, row[j], sum[i][j]);
        }
    }
    vf alpha = vf_set(t.alpha);
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < NV; j++) {
        vf d = t.d ? vf_load(t.d + (size_t)i * t.ldd + j * VF) : vf_zero();
        vf_store(t.c + (size_t)i * t.ldc + j * VF, vf_fma(alpha, sum[i][j], d));
    }
}

#define KERNEL(rows)                                                                               \
    static void kernel_##rows(const tile *t) {                                                     \
        kernel(t, rows);                                                                           \
    }
#define ENTRY(rows) kernel_##rows,
EACH_ROWS(KERNEL)
static void (*const kernels[])(const tile *) = {EACH_ROWS(ENTRY)};

/* The last columns, fewer than NR: through a buffer of whole vectors. */
static void run_edge(tile t, size_t rows, size_t n) {
    float sums[MR * NR] = {0};
    float *c = t.c;
    size_t ldc = t.ldc, bytes = n * sizeof *c;
    if (t.d) {
        for (size_t i = 0; i < rows; i++) memcpy(sums + i * NR, t.d + i * t.ldd, bytes);
        t.d = sums;
        t.ldd = NR;
    }
    t.c = sums;
    t.ldc = NR;
    kernels[rows - 1](&t);
    for (size_t i = 0; i < rows; i++) memcpy(c + i * ldc, sums + i * NR, bytes);
}

typedef float v4 __attribute__((vector_size(16)));

/* to[l * width + i] = from[i * row + l] for four i and four l. */
static inline __attribute__((always_inline)) void transpose_4x4(float *to, size_t width,
                                                                const float *from, size_t row) {
    v4 r[4], c[4];
    UNROLL for (size_t i = 0; i < 4; i++) memcpy(&r[i], from + i * row, sizeof(v4));
    v4 even_low = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    v4 even_high = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    v4 odd_low = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    v4 odd_high = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    c[0] = __builtin_shufflevector(even_low, odd_low, 0, 1, 4, 5);
    c[1] = __builtin_shufflevector(even_low, odd_low, 2, 3, 6, 7);
    c[2] = __builtin_shufflevector(even_high, odd_high, 0, 1, 4, 5);
    c[3] = __builtin_shufflevector(even_high, odd_high, 2, 3, 6, 7);
    UNROLL for (size_t l = 0; l < 4; l++) memcpy(to + l * width, &c[l], sizeof(v4));
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
                transpose_4x4(to + y * width + x, width, from + x * row + y, row);
            }
    } else {
        for (size_t i = 0; i < rows; i++)
            for (size_t l = 0; l < depth; l++) to[l * width + i] = load(from + i * row + l * col);
    }
}

/* Cut `count` into parts of at most `most`, as even as can be: where part i begins. */
static size_t parts(size_t count, size_t most) {
    return count / most + (count % most != 0);
}
static size_t part_start(size_t count, size_t n_parts, size_t i) {
    return count / n_parts * i + least(i, count % n_parts);
}

/* Rows [row, row + rows) of A at depth k, in groups as the kernels take them. */
static void pack_a(const onx_gemm_args *g, size_t row, size_t rows, size_t k, float *to) {
    size_t depth = least(DEPTH, g->k - k), n_parts = parts(rows, MR);
    for (size_t i = 0; i < n_parts; i++) {
        size_t first = part_start(rows, n_parts, i), end = part_start(rows, n_parts, i + 1);
        interleave(to + first * depth, end - first, g->a + (row + first) * g->a_row + k * g->a_col,
                   g->a_row, g->a_col, end - first, depth);
    }
}

static void pack_panel(const float *b, size_t b_row, size_t b_col, size_t n, size_t depth,
                       float *to) {
    if (n < NR) memset(to, 0, depth * NR * sizeof *to);
    interleave(to, NR, b, b_col, b_row, n, depth);
}

static void pack_b(size_t k, size_t n, const float *b, size_t b_row, size_t b_col, size_t first,
                   size_t count, float *packed) {
    for (size_t p = first; p < first + count; p++, packed += k * NR)
        for (size_t l = 0; l < k; l += DEPTH)
            pack_panel(b + l * b_row + p * NR * b_col, b_row, b_col, least(NR, n - p * NR),
                       least(DEPTH, k - l), packed + l * NR);
}

typedef struct scratch {
    float a[ROWS * DEPTH];
    float b[DEPTH * NR]; /* the last panel of a B that is not packed */
} scratch;

/* One panel of B times packed rows of A, at depth k. */
static void run_panel(const onx_gemm_args *g, size_t row, size_t rows, size_t k, const float *a,
                      size_t panel, scratch *s) {
    size_t depth = least(DEPTH, g->k - k), col = panel * NR, n = least(NR, g->n - col);
    const float *d = k ? g->c : g->d;
    tile t = {.depth = depth, .alpha = g->alpha, .ldc = g->ldc, .ldd = k ? g->ldc : g->ldd};
    t.b = g->ldb ? g->b + k * g->ldb + col : g->b + ((panel - g->b_first) * g->k + k) * NR;
    t.ldb = g->ldb ? g->ldb : NR;
    if (g->ldb && n < NR) {
        pack_panel(t.b, g->ldb, 1, n, depth, s->b);
        t.b = s->b;
        t.ldb = NR;
    }
    size_t n_parts = parts(rows, MR);
    for (size_t i = 0; i < n_parts; i++) {
        size_t first = part_start(rows, n_parts, i), end = part_start(rows, n_parts, i + 1);
        t.a = a + first * depth;
        t.c = g->c + (row + first) * g->ldc + col;
        t.d = d ? d + (row + first) * t.ldd + col : NULL;
        if (n == NR)
            kernels[end - first - 1](&t);
        else
            run_edge(t, end - first, n);
    }
}

static void finish(const onx_gemm_args *g, size_t row, size_t rows, size_t panel,
                   size_t panel_end) {
    size_t col = panel * NR, n = least(panel_end * NR, g->n) - col;
    if (g->epilogue) g->epilogue(g->user, g->c + row * g->ldc + col, row, rows, col, n, g->ldc);
}

/* Rows of A, packed, times all panels of the part, at depth k. */
static void run_rows(const onx_gemm_args *g, size_t row, size_t rows, size_t k, onx_gemm_part part,
                     scratch *s) {
    pack_a(g, row, rows, k, s->a);
    for (size_t p = part.panel, end; p < part.panel_end; p = end) {
        end = least(p + ONX_GEMM_GROUP, part.panel_end);
        for (size_t i = p; i < end; i++) run_panel(g, row, rows, k, s->a, i, s);
        if (k + DEPTH >= g->k) finish(g, row, rows, p, end);
    }
}

/* One row, read in place: nothing is gained by cutting the depth, and panels stream by whole. */
static void run_row(const onx_gemm_args *g, onx_gemm_part part, scratch *s) {
    const float *a = g->a + part.row * g->a_row;
    for (size_t p = part.panel; p < part.panel_end; p++)
        for (size_t k = 0; k == 0 || k < g->k; k += DEPTH)
            run_panel(g, part.row, 1, k, a + k, p, s);
    finish(g, part.row, 1, part.panel, part.panel_end);
}

static void run(const onx_gemm_args *g, onx_gemm_part part, void *space) {
    size_t rows = part.row_end - part.row, n_parts = parts(rows, ROWS);
    if (part.panel == part.panel_end) return;
    if (rows == 1 && g->a_col == 1) {
        run_row(g, part, space);
        return;
    }
    for (size_t k = 0; k == 0 || k < g->k; k += DEPTH)
        for (size_t i = 0; i < n_parts; i++) {
            size_t first = part_start(rows, n_parts, i), end = part_start(rows, n_parts, i + 1);
            run_rows(g, part.row + first, end - first, k, part, space);
        }
}

const onx_gemm ONX_TIER(onx_gemm) = {NR, MR, sizeof(scratch), pack_b, run};
