/* gemm_half.h: products of a matrix of floats by one of float16, with sums in float:
 * C[m,n] = alpha A[m,k] B[k,n] + beta D, in tier amx (cpu/half_amx.h).
 *
 *     A ──pack_a──▶ blocks of 16 rows: [steps of 32 products][16] rows of two halves
 *     B ──pack_b──▶ panels of 32 columns, still float16
 *
 * Any number of parts of C are then computed, by any thread and in any order; the bits do not
 * depend on how C is cut. With eps = 2^-24,
 *     |C - exact| <= (2^10 + 3 k + 4) eps (|alpha| |A||B| + |beta D|)
 * and half of the 2^10 where A, too, is float16 in floats. Rows of A with numbers that are not
 * finite, or 2^127 and more, are multiplied one by one, and so are all if they are few or B is not
 * finite. Nothing is allocated; A and B need no alignment. */
#ifndef ONX_GEMM_HALF_H
#define ONX_GEMM_HALF_H

#include "cpu/gemm.h"

enum {
    ONX_HALF_ROWS = 16,  /* of a block of A */
    ONX_HALF_COLS = 32,  /* of a panel of B */
    ONX_HALF_DEPTH = 32, /* of a step */
    ONX_HALF_PART = 32,  /* parts begin at rows that are a multiple of this */
};

typedef struct onx_half_args {
    size_t m, n, k;
    const float *a; /* [m,k], rows a_row apart, */
    size_t a_row;
    char *packed_a;     /* packed: an even number of blocks, */
    unsigned char *odd; /* and for each row: is it to be multiplied alone? */
    const uint16_t *b;  /* packed */
    bool b_odd;         /* not finite */
    float *c;           /* [m,n], rows ldc >= n apart */
    size_t ldc;
    float alpha, beta;
    const float *d;              /* D[i,j] is d[i * ldd + j * d_col]; NULL: zeros; not c */
    size_t ldd, d_col;           /* d_col: 0 or 1 */
    onx_gemm_epilogue *epilogue; /* may be NULL */
    void *user;
} onx_half_args;

/* Bytes of a block of A, and elements of a panel of B. */
size_t onx_half_block_bytes(size_t k);
size_t onx_half_panel_size(size_t k);
/* Panel `index` of B[k,n], where B[l,j] is b[l * b_row + j * b_col], to its place; is it finite? */
bool onx_half_pack_b(size_t k, size_t n, const uint16_t *b, size_t b_row, size_t b_col,
                     size_t index, uint16_t *packed);
/* Block `index` of A to its place. */
void onx_half_pack_a(const onx_half_args *args, size_t index);
/* Rows and panels of C; scratch: onx_half_scratch(rows) bytes, aligned to 64. */
size_t onx_half_scratch(size_t rows);
void onx_half_run_amx(const onx_half_args *args, onx_gemm_part part, void *scratch);

#endif
