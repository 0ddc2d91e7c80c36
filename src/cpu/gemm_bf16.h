/* gemm_bf16.h: products of matrices whose elements are rounded to bfloat16, with sums in float:
 * C[m,n] = alpha A[m,k] B[k,n] + beta D. For tiers bf16 and amx, which share the packed forms:
 *
 *     A ──pack_a──▶ blocks of 16 rows:     [depth / 32][16][32]     what one tile of AMX holds
 *     B ──pack_b──▶ panels of 32 columns:  [depth / 2][32][2]       two products for each sum
 *
 * Rows, columns and depth are filled up with zeros. Any number of parts of C are then computed, by
 * any thread and in any order; the bits do not depend on how C is cut. With eps = 2^-24,
 *     |C - exact| <= onx_bf16_bound(k) eps (|alpha| |A||B| + |beta D|)
 * for finite operands: what is beyond the largest bfloat16 becomes infinite, and numbers that are
 * not normal (below 2^-126) count as zeros. Nothing is allocated; no operand needs alignment. */
#ifndef ONX_GEMM_BF16_H
#define ONX_GEMM_BF16_H

#include "cpu/gemm.h"

enum {
    ONX_BF16_ROWS = 16,  /* of a block of A */
    ONX_BF16_COLS = 32,  /* of a panel of B */
    ONX_BF16_DEPTH = 32, /* that k is filled up to a multiple of */
    ONX_BF16_PART = 32,  /* parts begin at rows that are a multiple of this */
};

/* A matrix: element [i,j] is number i * row + j * col of `data`. */
typedef struct onx_bf16_source {
    const void *data;
    size_t rows, cols, row, col;
    bool rounded; /* bfloat16 already; else float */
} onx_bf16_source;

static inline size_t onx_bf16_ceil(size_t a, size_t b) {
    return a / b + (a % b != 0);
}
/* Elements of a block of A, and of a panel of B: they are called with the depth k. */
static inline size_t onx_bf16_block_size(size_t k) {
    return onx_bf16_ceil(k, ONX_BF16_DEPTH) * ONX_BF16_DEPTH * ONX_BF16_ROWS;
}
static inline size_t onx_bf16_panel_size(size_t k) {
    return onx_bf16_ceil(k, ONX_BF16_DEPTH) * ONX_BF16_DEPTH * ONX_BF16_COLS;
}
static inline double onx_bf16_bound(size_t k) {
    return 0x1p17 + 0x1p8 + 2 * (double)k + 8; /* two roundings of 2^-8, their product, the sums */
}

/* Blocks of A, or panels of B, from `first` on. */
void onx_bf16_pack_a(const onx_bf16_source *a, size_t first, size_t count, uint16_t *packed);
void onx_bf16_pack_b(const onx_bf16_source *b, size_t first, size_t count, uint16_t *packed);

typedef struct onx_bf16_args {
    size_t m, n, k;
    const uint16_t *a, *b; /* packed */
    void *c;               /* [m,n], rows ldc >= n apart; floats, or, with half, bfloat16 */
    size_t ldc;
    float alpha, beta;
    const void *d;     /* as c: D[i,j] is d[i * ldd + j * d_col]; NULL: zeros; not c */
    size_t ldd, d_col; /* d_col: 0 or 1 */
    bool half;
    onx_gemm_epilogue *epilogue; /* may be NULL; for floats */
    void *user;
} onx_bf16_args;

/* part.row is a multiple of ONX_BF16_PART, and so is part.row_end, or it is m. */
typedef void onx_bf16_run(const onx_bf16_args *args, onx_gemm_part part);
onx_bf16_run onx_gemm_run_bf16, onx_gemm_run_amx;

/* For the tiers: c[rows][32] = the sums of `rows` <= 32 rows of A and one panel of B. Rows of c up
 * to 16 or 32 may be written. While it computes, memory that is needed later is fetched. */
typedef struct onx_bf16_block {
    size_t rows, depth;
    const uint16_t *a, *b;
    size_t a_next; /* elements from one block of A to the next */
    float *c;
    size_t ldc;
    const char *ahead;
    size_t lines; /* of 64 bytes, for each ONX_BF16_DEPTH */
} onx_bf16_block;
typedef void onx_bf16_kernel(const onx_bf16_block *block);
onx_bf16_kernel onx_bf16_kernel_bf16, onx_bf16_kernel_amx;
void onx_bf16_run_with(const onx_bf16_args *args, onx_gemm_part part, onx_bf16_kernel *kernel);

/* As in gemm.h: how to cut C, by shape alone. Where rows are shared out, the tiles of the same
 * rows, n_across of them, follow each other. */
bool onx_bf16_shares_rows(size_t m, size_t n, size_t k);
onx_gemm_tiling onx_bf16_tile(size_t m, size_t n, size_t k);
onx_gemm_part onx_bf16_tile_at(const onx_gemm_tiling *tiling, size_t m, size_t n, size_t k,
                               size_t index);

#endif
