/* attend_product_simd.h: products for attention: their first factor lies anywhere, and is read
 * element by element. */
#ifndef ONX_ATTEND_PRODUCT_SIMD_H
#define ONX_ATTEND_PRODUCT_SIMD_H

#include "ops/attention/attend_job_simd.h"

#define ROWS_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if defined(__AVX512F__) || defined(__ARM_NEON)
#define MR 12
#define EACH_ROWS(X) ROWS_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#else
#define MR 6
#define EACH_ROWS(X) ROWS_6(X)
#endif
enum { GROUP = 3 }; /* rows of a product that share a pointer */

/* c[rows][LANES] = a[rows][depth] b[depth][LANES], or added to it; a[i,l] is at
 * i * row + l * col. */
typedef struct product {
    size_t rows, depth;
    const float *a;
    size_t row, col;
    const float *b;
    float *c;
    bool add;
} product;

static inline __attribute__((always_inline)) void kernel(const product *from, int rows, int nv) {
    const product p = *from;
    const float *a[(MR + GROUP - 1) / GROUP], *b = p.b;
    vf sum[MR][NV];
    VF_UNROLL for (int i = 0; i < rows; i += GROUP) a[i / GROUP] = p.a + (size_t)i * p.row;
    VF_UNROLL for (int i = 0; i < rows; i++) VF_UNROLL for (int j = 0; j < nv; j++) sum[i][j] =
        p.add ? vf_load(p.c + i * LANES + j * VF) : vf_zero();
    for (size_t l = 0; l < p.depth; l++, b += LANES) {
        vf x[NV];
        VF_UNROLL for (int j = 0; j < nv; j++) x[j] = vf_load(b + j * VF);
        VF_UNROLL for (int i = 0; i < rows; i++) {
            vf y = vf_set(load(a[i / GROUP] + (size_t)(i % GROUP) * p.row));
            VF_UNROLL for (int j = 0; j < nv; j++) sum[i][j] = vf_fma(y, x[j], sum[i][j]);
        }
        VF_UNROLL for (int i = 0; i < rows; i += GROUP) a[i / GROUP] += p.col;
    }
    VF_UNROLL for (int i = 0; i < rows; i++) VF_UNROLL for (int j = 0; j < nv; j++)
        vf_store(p.c + i * LANES + j * VF, sum[i][j]);
}

#define KERNEL(rows)                                                                               \
    static void narrow_##rows(const product *p) {                                                  \
        kernel(p, rows, 1);                                                                        \
    }                                                                                              \
    static void wide_##rows(const product *p) {                                                    \
        kernel(p, rows, NV);                                                                       \
    }
#define NARROW(rows) narrow_##rows,
#define WIDE(rows) wide_##rows,
EACH_ROWS(KERNEL)
static void (*const kernels[NV][MR])(const product *) = {{EACH_ROWS(NARROW)}, {EACH_ROWS(WIDE)}};

/* All rows, shared out evenly over kernels. */
static void multiply(product p, int nv) {
    size_t parts = (p.rows + MR - 1) / MR, left = p.rows;
    for (; parts; parts--) {
        size_t rows = (left + parts - 1) / parts;
        kernels[nv - 1][rows - 1](&p);
        p.a += rows * p.row;
        p.c += rows * LANES;
        left -= rows;
    }
}

#endif
