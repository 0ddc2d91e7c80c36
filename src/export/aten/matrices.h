/* matrices.h: what the factorings of matrices share. Matrices are the last two axes; they are of
 * float64, and so are columns and rows, which are the last axis. */
#ifndef ONX_ATEN_MATRICES_H
#define ONX_ATEN_MATRICES_H

#include "export/aten/nn_args.h"

/* A tensor as matrices of float64; `dtype` is what the results are to be. NULL: x failed. */
onx_value *onx_mat_take(onx_export *x, const onx_xv *v, onx_dtype *dtype);
onx_xv onx_mat_rows(onx_export *x, onx_value *m);
onx_xv onx_mat_columns(onx_export *x, onx_value *m);
/* 0, 1 … along the rows of a matrix, or its columns, as int64. */
onx_value *onx_mat_places(onx_export *x, onx_value *m, bool columns);
onx_value *onx_mat_column(onx_export *x, onx_value *m, onx_value *j);
onx_value *onx_mat_row(onx_export *x, onx_value *m, onx_value *j);
/* One place of columns: an axis of 1. */
onx_value *onx_mat_at(onx_export *x, onx_value *column, onx_value *j);
onx_value *onx_mat_outer(onx_export *x, onx_value *column, onx_value *row);
onx_value *onx_mat_times(onx_export *x, onx_value *m, onx_value *column);
/* Sums along the last axis, which stays. */
onx_value *onx_mat_sum(onx_export *x, onx_value *v);
/* 1 on the diagonal: as many rows as that has columns (or rows). */
onx_value *onx_mat_eye(onx_export *x, onx_value *places);
onx_value *onx_mat_tri(onx_export *x, onx_value *m, bool upper, int64_t diagonal);
/* Rows or columns from one on, up to another. */
onx_value *onx_mat_part(onx_export *x, onx_value *m, bool columns, onx_xv from, onx_xv to);

/* A = QR, all of Q (decompose.c). */
bool onx_mat_qr(onx_export *x, onx_value *m, onx_value **q, onx_value **r);
/* A⁻¹B of any size, by pivots. */
onx_value *onx_mat_solve(onx_export *x, onx_value *a, onx_value *b);

/* ReduceMax, ReduceMin or ReduceSum of the singular values along two axes (spectral.c). */
void onx_lower_values_norm(onx_export *x, onx_value *v, const char *reduce, const int64_t axes[2],
                           bool keep, onx_xv *out);

#endif
