/* test_gemm_half.c: products of floats by float16 (cpu/gemm_half.h): in integers and on tiles, if
 * the processor has them, and on plain tiles. */
#include "test.h"

#if !defined(__x86_64__)
TEST(sizes) {
    SKIP("there is no tier amx");
}
TEST_MAIN(E(sizes))
#else
#include "cpu/cpu.h"
#include "cpu/gemm_half.h"
#include "ir/dtype.h"

#include <math.h>

static uint32_t seed = 1;
static size_t pick(size_t n) { /* 0 … n-1 */
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}
static void *room(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!p) exit(1);
    return p;
}
static float *numbers(size_t n) {
    float *p = room(n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = ldexpf((float)pick(1 << 24) - 0x1p23f, -23 - (int)pick(6));
    return p;
}

extern const onx_half_gemm onx_half_gemm_plain;
static const onx_half_gemm *tier(size_t i) {
    bool has[] = {__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"),
                  __builtin_cpu_supports("avx512vnni"), strcmp(onx_cpu_best(), "amx") == 0};
    const onx_half_gemm *all[] = {&onx_half_gemm_plain, &onx_half_gemm_vnni, &onx_half_gemm_amx};
    return has[0] && has[i] ? all[i] : NULL;
}
#define EACH_TIER(t)                                                                               \
    for (size_t i_ = 0; i_ < 3; i_++)                                                              \
        for (const onx_half_gemm *t = tier(i_); t; t = NULL)

/* B, rounded to float16, packed; and as floats again. */
static bool pack_b(const onx_half_gemm *t, const onx_half_args *g, float *b, size_t b_row,
                   size_t b_col, char *to) {
    uint16_t *half = room(g->k * g->n * sizeof *half);
    bool fit = true;
    (void)onx_dtype_convert(ONX_DTYPE_F32, b, ONX_DTYPE_F16, half, g->k * g->n, false);
    (void)onx_dtype_convert(ONX_DTYPE_F16, half, ONX_DTYPE_F32, b, g->k * g->n, false);
    for (size_t p = 0; p * ONX_HALF_COLS < g->n; p++)
        fit &= t->pack_b(g->k, g->n, half, b_row, b_col, p, to);
    free(half);
    return fit;
}

static void halve(void *user, float *c, size_t row, size_t n_rows, size_t col, size_t n_cols,
                  size_t ldc) {
    (void)row, (void)col;
    *(size_t *)user += n_rows * n_cols;
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_cols; j++) c[i * ldc + j] /= 2;
}

/* All of C, in parts of some rows and panels. */
static void multiply(const onx_half_gemm *t, const onx_half_args *g, size_t rows, size_t panels) {
    void *scratch = room(t->scratch(rows));
    size_t all = (g->n + ONX_HALF_COLS - 1) / ONX_HALF_COLS;
    for (size_t i = 0; i < g->m; i += rows)
        for (size_t p = 0; p < all; p += panels) {
            onx_gemm_part part = {i, i + rows < g->m ? i + rows : g->m, p,
                                  p + panels < all ? p + panels : all};
            t->run(g, part, scratch);
        }
    free(scratch);
}

/* `odd`: a row of A, or an element of B, is not finite. */
static void check(const onx_half_gemm *t, size_t m, size_t n, size_t k, bool turned, int odd) {
    size_t blocks = (m + ONX_HALF_PART - 1) / ONX_HALF_PART * 2, wrong = 0, done = 0;
    size_t panels = (n + ONX_HALF_COLS - 1) / ONX_HALF_COLS;
    float *a = numbers(m * k), *b = numbers(k * n), *d = numbers(n), *c[2];
    size_t b_row = turned ? 1 : n, b_col = turned ? k : 1;
    if (odd == 1) a[pick(m * k)] = pick(2) ? INFINITY : NAN;
    if (odd == 2) b[pick(k * n)] = INFINITY;
    char *packed = room(panels * t->panel_bytes(k));
    onx_half_args g = {.m = m, .n = n, .k = k, .a = a, .a_row = k, .b = packed, .ldc = n};
    g.packed_a = room(blocks * t->block_bytes(k));
    g.odd = room(m);
    g.alpha = 2, g.beta = 0.5f, g.d = d, g.d_col = 1, g.epilogue = halve, g.user = &done;
    g.b_odd = !pack_b(t, &g, b, b_row, b_col, packed);
    CHECK_EQ(g.b_odd, odd == 2);
    for (size_t i = 0; i * ONX_HALF_ROWS < m; i++) t->pack_a(&g, i);
    for (int i = 0; i < 2; i++) {
        g.c = c[i] = room(m * n * sizeof(float));
        multiply(t, &g, i ? 32 : 96, i ? 1 : 20);
    }
    CHECK_EQ(done, 2 * m * n);
    CHECK(memcmp(c[0], c[1], m * n * sizeof(float)) == 0);
    for (size_t i = 0; i < m * n; i++) {
        double sum = 0, magnitude = 0, roots = 0, squares[2] = {0};
        for (size_t l = 0; l < k; l++) {
            double x = (double)a[i / n * k + l], y = (double)b[l * b_row + i % n * b_col];
            if (l % ONX_HALF_DEPTH == 0) squares[0] = squares[1] = 0;
            squares[0] += x * x, squares[1] += y * y;
            if (l + 1 == k || (l + 1) % ONX_HALF_DEPTH == 0) roots += sqrt(squares[0] * squares[1]);
            sum += x * y, magnitude += fabs(x * y);
        }
        double want = sum + 0.25 * (double)d[i % n];
        double bound = t == &onx_half_gemm_vnni
                           ? (0x1.7p11 + (double)k / 32 + 4) * 0x1p-24 * (roots + fabs(want))
                           : (0x1p10 + 3 * (double)k + 4) * 0x1p-24 * (magnitude + fabs(want));
        wrong += isnan(want)   ? !isnan(c[0][i])
                 : isinf(want) ? (double)c[0][i] != want
                               : !(fabs((double)c[0][i] - want) <= bound);
    }
    CHECK_EQ(wrong, 0);
    free(a), free(b), free(d), free(c[0]), free(c[1]), free(packed), free(g.packed_a), free(g.odd);
}

TEST(sizes) {
    static const size_t sizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 100};
    EACH_TIER(t) {
        for (size_t i = 0; i < 60; i++)
            check(t, sizes[pick(11)], sizes[pick(11)], sizes[pick(11)], i % 2, 0);
        check(t, 200, 300, 700, false, 0);
        check(t, 70, 310, 520, true, 0);
    }
}

TEST(not_finite) {
    EACH_TIER(t) {
        for (int i = 0; i < (t->finite ? 5 : 10); i++) check(t, 40, 50, 70, i % 2, 1 + i / 5);
    }
}

TEST_MAIN(E(sizes) E(not_finite))
#endif
