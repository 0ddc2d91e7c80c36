/* gemm_half.h: products of a matrix of floats by one of float16, with sums in float:
 * C[m,n] = alpha A[m,k] B[k,n] + beta D, in tiers amx (cpu/half_amx.h) and vnni (cpu/half_vnni.h).
 *
 *     A ──pack_a──▶ steps of 32 products: two halves, or integers
 *     B ──pack_b──▶ panels of 32 columns: still float16, or integers
 *
 * Any number of parts of C are then computed, by any thread and in any order; the bits do not
 * depend on how C is cut. With eps = 2^-24,
 *     amx   |C - exact| <= (2^10 + 3 k + 4) eps (|alpha| |A||B| + |beta D|)
 *     vnni  |C - exact| <= (2^11.5 + k/32 + 4) eps (|alpha| |A||B| + |beta D|)
 * where |A||B| of vnni is, for each step, the product of the roots of the sums of squares; and half
 * of the 2^10 where A, too, is float16 in floats. Rows of A with numbers that are not
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
    const char *b;      /* packed */
    bool b_odd;         /* not finite */
    float *c;           /* [m,n], rows ldc >= n apart */
    size_t ldc;
    float alpha, beta;
    const float *d;              /* D[i,j] is d[i * ldd + j * d_col]; NULL: zeros; not c */
    size_t ldd, d_col;           /* d_col: 0 or 1 */
    onx_gemm_epilogue *epilogue; /* may be NULL */
    void *user;
} onx_half_args;

typedef struct onx_half_gemm {
    bool finite;                     /* B must be */
    size_t (*block_bytes)(size_t k); /* of A */
    size_t (*panel_bytes)(size_t k); /* of B */
    /* Panel `index` of B[k,n], where B[l,j] is b[l * b_row + j * b_col], to its place; is it
     * finite? */
    bool (*pack_b)(size_t k, size_t n, const uint16_t *b, size_t b_row, size_t b_col, size_t index,
                   char *packed);
    void (*pack_a)(const onx_half_args *args, size_t index); /* block `index` to its place */
    /* Rows and panels of C; scratch: so many bytes for so many rows, aligned to 64. */
    size_t (*scratch)(size_t rows);
    void (*run)(const onx_half_args *args, onx_gemm_part part, void *scratch);
} onx_half_gemm;

extern const onx_half_gemm onx_half_gemm_amx, onx_half_gemm_vnni;

#endif
