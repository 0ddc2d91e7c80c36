/* gemm_turned_simd.c: see gemm_turned.h. Blocks of ROWS × COLS dot products go through A and B
 * together: memory gives B no faster than that, when it is asked for many rows ahead of time. */
#include "cpu/gemm_turned.h"

#include "cpu/vec.h"

enum { ROWS = 2, COLS = VF_REGISTERS > 16 ? 8 : 4, DEPTH = 256 * VF, AHEAD = 128 };

#define FLAT static inline __attribute__((always_inline))

FLAT vf load(const float *p, size_t some) {
    return some == VF ? vf_load(p) : vf_load_n(p, some);
}

/* sum[i][j] += A[i,l…] B[j,l…], `some` elements of a vector. */
FLAT void add_step(const float *a, size_t a_row, const float *b, size_t b_row, size_t some,
                   size_t rows, size_t cols, vf sum[ROWS][COLS]) {
    vf x[ROWS];
    VF_UNROLL for (size_t i = 0; i < rows; i++) x[i] = load(a + i * a_row, some);
    VF_UNROLL for (size_t j = 0; j < cols; j++) {
        vf y = load(b + j * b_row, some);
        VF_UNROLL for (size_t i = 0; i < rows; i++) sum[i][j] = vf_fma(x[i], y, sum[i][j]);
    }
}

/* dots[i][j] += A[i,:] · B[j,:] for `rows` rows of A and `cols` of B, `n` <= DEPTH products. */
FLAT void add_block(const float *a, size_t a_row, const float *b, size_t b_row, size_t n,
                    size_t rows, size_t cols, float dots[ROWS][COLS]) {
    vf sum[ROWS][COLS];
    size_t l = 0;
    VF_UNROLL for (size_t i = 0; i < rows; i++) VF_UNROLL for (size_t j = 0; j < cols; j++)
        sum[i][j] = vf_zero();
    for (; l + VF <= n; l += VF) {
        VF_UNROLL for (size_t j = 0; j < cols; j++) vf_prefetch(b + j * b_row + l + AHEAD);
        add_step(a + l, a_row, b + l, b_row, VF, rows, cols, sum);
    }
    if (l < n) add_step(a + l, a_row, b + l, b_row, n - l, rows, cols, sum);
    VF_UNROLL for (size_t i = 0; i < rows; i++) VF_UNROLL for (size_t j = 0; j < cols; j++)
        dots[i][j] += vf_sum(sum[i][j]);
}

FLAT void run_block(const onx_gemm_args *g, size_t row, size_t col, size_t rows, size_t cols) {
    float dots[ROWS][COLS] = {{0}};
    const float *a = g->a, *b = g->b;
    for (size_t k = 0; k < g->k; k += DEPTH)
        add_block(a + row * g->a_row + k, g->a_row, b + col * g->k + k, g->k,
                  g->k - k < DEPTH ? g->k - k : DEPTH, rows, cols, dots);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            float d = 0, c;
            if (g->d) memcpy(&d, g->d + (row + i) * g->ldd + col + j, sizeof d);
            c = g->alpha * dots[i][j] + d;
            memcpy(g->c + (row + i) * g->ldc + col + j, &c, sizeof c);
        }
}

static void run_rows(const onx_gemm_args *g, size_t col, size_t cols) {
    for (size_t row = 0; row < g->m; row += ROWS)
        if (g->m - row >= ROWS && cols == COLS)
            run_block(g, row, col, ROWS, COLS);
        else if (cols == COLS)
            run_block(g, row, col, 1, COLS);
        else
            for (size_t i = row; i < g->m && i < row + ROWS; i++)
                for (size_t j = 0; j < cols; j++) run_block(g, i, col + j, 1, 1);
}

void ONX_TIER(onx_gemm_turned)(const onx_gemm_args *args, size_t first, size_t end) {
    for (size_t col = first; col < end; col += COLS)
        run_rows(args, col, end - col < COLS ? end - col : COLS);
    for (size_t i = 0; i < args->m && args->epilogue && first < end; i++)
        args->epilogue(args->user, args->c + i * args->ldc + first, i, 1, first, end - first,
                       args->ldc);
}
