/* gemm_turned.h: products of a few rows with a matrix that lies turned, as the weights of fully
 * connected layers do in a file: C[i,j] = alpha (A[i,:] · B[j,:]) + D[i,j]. B is read once, in
 * order, where it lies.
 *
 * Every element is the sum over blocks of DEPTH products, in lanes: within the bound of cpu/gemm.h,
 * and the same for any m, n and cut of the columns. */
#ifndef ONX_GEMM_TURNED_H
#define ONX_GEMM_TURNED_H

#include "cpu/gemm.h"

/* Columns first … end - 1 of C, all rows. Of `args`, a_col is 1, and b is [n,k], without gaps. */
#define ONX_GEMM_TURNED_DECLARE(isa)                                                               \
    void onx_gemm_turned_##isa(const onx_gemm_args *args, size_t first, size_t end);
ONX_ISAS(ONX_GEMM_TURNED_DECLARE)
#undef ONX_GEMM_TURNED_DECLARE

#endif
