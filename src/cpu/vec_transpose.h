/* vec_transpose.h: squares of VF by VF floats, row to column. Included by the *_simd.c files. */
#ifndef ONX_VEC_TRANSPOSE_H
#define ONX_VEC_TRANSPOSE_H

#include "cpu/vec.h"

/* The lanes of a and b in turn: of their first halves, of their second halves. */
#if defined(__AVX512F__)
#define VF_FIRST(a, b)                                                                             \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define VF_SECOND(a, b)                                                                            \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined(__AVX2__)
#define VF_FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define VF_SECOND(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define VF_FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define VF_SECOND(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

/* Dealing rows i and i + VF/2 together, log2(VF) times, brings row to column. */
static inline void vf_transpose(vf v[VF]) {
    vf t[VF];
    VF_UNROLL for (size_t n = 1; n < VF; n *= 2) {
        VF_UNROLL for (size_t i = 0; i < VF / 2; i++) {
            t[2 * i] = VF_FIRST(v[i], v[i + VF / 2]);
            t[2 * i + 1] = VF_SECOND(v[i], v[i + VF / 2]);
        }
        VF_UNROLL for (size_t i = 0; i < VF; i++) v[i] = t[i];
    }
}

/* The [rows][n] floats at `from`, rows of which lie `step` apart, as columns: lane i of v[p] is
 * element p of row i. Zeros where there is none. */
static inline void vf_columns(const float *from, size_t step, size_t rows, size_t n, vf v[VF]) {
    if (rows == VF && n >= VF) {
        VF_UNROLL for (size_t i = 0; i < VF; i++) v[i] = vf_load(from + i * step);
    } else {
        for (size_t i = 0; i < VF; i++)
            v[i] = i < rows ? vf_load_n(from + i * step, n < VF ? n : VF) : vf_zero();
    }
    vf_transpose(v);
}

#endif
