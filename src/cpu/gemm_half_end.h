/* gemm_half_end.h: what the products of cpu/gemm_half.h share: how sums become elements of C, and
 * the epilogue. For files of the instruction sets above avx512. */
#ifndef ONX_GEMM_HALF_END_H
#define ONX_GEMM_HALF_END_H

#include "cpu/gemm_half.h"
#include "cpu/vec.h"

enum { HALF_GROUP = 8 }; /* panels between epilogues, which go along rows */

static inline size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}
static inline vf load_one(const float *p) {
    float x;
    memcpy(&x, (const void *)p, sizeof x);
    return vf_set(x);
}

/* n <= 16 elements of a row of C. */
static inline void half_finish(const onx_half_args *g, size_t row, size_t col, size_t n,
                               const float *sums) {
    vf c = vf_set(g->alpha) * vf_load(sums), d = vf_zero();
    const float *from = g->d ? g->d + row * g->ldd + col * g->d_col : NULL;
    if (from) d = g->d_col ? vf_load_n(from, n) : load_one(from);
    if (from) c = vf_fma(vf_set(g->beta), d, c);
    vf_store_n(g->c + row * g->ldc + col, c, n);
}

static inline void half_end_rows(const onx_half_args *g, onx_gemm_part part) {
    size_t col = part.panel * ONX_HALF_COLS, n = least(part.panel_end * ONX_HALF_COLS, g->n) - col;
    for (size_t row = part.row; g->epilogue && row < part.row_end; row += ONX_HALF_PART)
        g->epilogue(g->user, g->c + row * g->ldc + col, row,
                    least(ONX_HALF_PART, part.row_end - row), col, n, g->ldc);
}

#endif
