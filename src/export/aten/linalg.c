/* linalg.c: linear algebra of PyTorch, as far as products and determinants go.
 *
 * An inverse is the matrix of cofactors, turned, over the determinant: each cofactor is the
 * determinant of what is left without a row and a column. That is good for small matrices of known
 * size; others are inverted by pivots (decompose.c). */
#include "export/aten/matrices.h"

#include <math.h>

enum { MOST = 8 }; /* rows of a matrix that is inverted by cofactors */

static onx_value *det(onx_export *x, const onx_xv *a) {
    onx_value *v = onx_nn_tensor(x, a);
    return v ? onx_emit_wide(x, "Det", v) : NULL;
}

static void lower_det(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, det(x, &a[0]));
}
static void lower_det_parts(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_det(x, a, out);
    onx_nn_give_nothing(x, ONX_DTYPE_F32, &out[1]);
    onx_nn_give_nothing(x, ONX_DTYPE_I32, &out[2]);
}
static void lower_logdet(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_emit(x, "Log", det(x, &a[0])));
}
static void lower_slogdet(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *d = det(x, &a[0]);
    onx_x_give(x, &out[0], onx_emit(x, "Sign", d));
    onx_x_give(x, &out[1], onx_emit(x, "Log", onx_emit(x, "Abs", d)));
}
static void lower_slogdet_parts(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_slogdet(x, a, out);
    onx_nn_give_nothing(x, ONX_DTYPE_F32, &out[2]);
    onx_nn_give_nothing(x, ONX_DTYPE_I32, &out[3]);
}

static void lower_trace(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]);
    if (onx_x_dim(x, v, 0) != onx_x_dim(x, v, 1)) {
        onx_xv diagonal = onx_aten_do(x, "diagonal", 1, a);
        if (onx_x_ok(x)) *out = onx_aten_do(x, "sum", 1, &diagonal);
        return;
    }
    onx_x_give(x, out,
               onx_emit_wide_with(x, "Einsum", ONX_ATTRS(ONX_AS("equation", "ii->")),
                                  onx_nn_tensor(x, &a[0])));
}

/* ─ Triangles ────────────────────────────────────────────────────────────────────────────────── */

/* Where column - row compares with the diagonal as `op` says, for opsets without Trilu. */
static onx_value *triangle(onx_export *x, onx_value *v, size_t rank, const char *op,
                           const onx_xv *diagonal) {
    onx_xv rows = onx_x_size_of(x, v, rank - 2), columns = onx_x_size_of(x, v, rank - 1);
    onx_value *row = onx_x_unsqueeze(x, onx_x_count(x, &rows), 1);
    onx_value *limit = onx_emit(x, "Add", row, onx_x_scalar(x, diagonal, ONX_DTYPE_I64));
    onx_value *kept = onx_emit(x, op, onx_x_count(x, &columns), limit);
    return onx_emit(x, "Where", kept, v, onx_x_number(x, onx_x_dtype(x, v), 0));
}

/* (self, diagonal) */
static void trilu(onx_export *x, const onx_xv *a, bool upper, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]);
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || rank < 2) return;
    if (x->opset < 14) {
        const char *op = upper ? "GreaterOrEqual" : "LessOrEqual";
        onx_x_give(x, out, triangle(x, v, rank, op, &a[1]));
        return;
    }
    onx_value *k = onx_xv_is_one(x, &a[1], 0) ? NULL : onx_x_scalar(x, &a[1], ONX_DTYPE_I64);
    onx_xattr lower[] = {ONX_AI("upper", 0), {.name = NULL}};
    onx_x_give(x, out, onx_emit_wide_with(x, "Trilu", upper ? NULL : lower, v, k));
}
static void lower_tril(onx_export *x, const onx_xv *a, onx_xv *out) {
    trilu(x, a, false, out);
}
static void lower_triu(onx_export *x, const onx_xv *a, onx_xv *out) {
    trilu(x, a, true, out);
}

/* ─ Inverses ─────────────────────────────────────────────────────────────────────────────────── */

/* [n, n - 1]: all numbers but i, for every i. */
static onx_value *all_but_one(onx_export *x, int64_t n) {
    int64_t dims[] = {n, n - 1}, at[MOST * MOST];
    for (int64_t i = 0, k = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (j != i) at[k++] = j;
    return onx_x_constant(x, ONX_DTYPE_I64, 2, dims, at, (size_t)(n * (n - 1)) * sizeof *at);
}

/* [n, n]: 1 and -1 in turns. */
static onx_value *signs(onx_export *x, onx_dtype dtype, int64_t n) {
    int64_t dims[] = {n, n};
    double v[MOST * MOST];
    for (int64_t i = 0; i < n * n; i++) v[i] = (i / n + i % n) % 2 ? -1 : 1;
    return onx_nn_floats(x, dtype, 2, dims, v);
}

/* [… n, n] */
static onx_value *cofactors(onx_export *x, onx_value *v, int64_t n) {
    size_t rank = onx_x_rank(x, v);
    int64_t rows = (int64_t)rank - 2, perm[ONX_RANK_MAX];
    onx_value *others = all_but_one(x, n);
    v = onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", rows + 1)), v, others);
    v = onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", rows)), v, others);
    for (size_t i = 0; i < rank + 2; i++) perm[i] = (int64_t)i;
    perm[rows + 1] = rows + 2, perm[rows + 2] = rows + 1; /* [row, column, n - 1, n - 1] */
    v = onx_emit(x, "Det", onx_x_transpose(x, v, rank + 2, perm));
    return v ? onx_emit(x, "Mul", v, signs(x, onx_x_dtype(x, v), n)) : NULL;
}

static onx_value *inverse(onx_export *x, onx_value *v) {
    static const int64_t last[] = {-2, -1};
    size_t rank = onx_x_rank(x, v);
    int64_t n;
    if (rank == SIZE_MAX) return NULL;
    if (rank < 2) return onx_x_fail(x, ONX_INVALID, "a tensor of rank %zu is no matrix", rank);
    if (rank + 2 > ONX_RANK_MAX || !onx_x_known_dim(x, v, rank - 1, &n) || n < 1 || n > MOST) {
        onx_dtype dtype = onx_x_dtype(x, v);
        onx_value *wide = onx_x_cast(x, v, ONX_DTYPE_F64);
        onx_value *one = onx_mat_eye(x, onx_mat_places(x, wide, true));
        return onx_x_cast(x, onx_mat_solve(x, wide, one), dtype);
    }
    if (n == 1) return onx_emit(x, "Reciprocal", v);
    onx_value *over = onx_emit(x, "Unsqueeze", onx_emit(x, "Det", v), onx_x_ints(x, 2, last));
    return onx_emit(x, "Div", onx_x_swap(x, cofactors(x, v, n), -2, -1), over);
}

static void lower_inverse(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, inverse(x, onx_nn_tensor(x, &a[0])));
}
static void lower_inverse_info(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_inverse(x, a, out);
    onx_x_give(x, &out[1], onx_x_number(x, ONX_DTYPE_I32, 0));
}

/* (A, B, left): A⁻¹B, or BA⁻¹; one axis less in B is a vector for each matrix. */
static onx_value *solve(onx_export *x, const onx_xv *a, const onx_xv *left) {
    onx_value *m = onx_nn_tensor(x, &a[0]), *b = onx_nn_tensor(x, &a[1]);
    size_t rank = onx_x_rank(x, m), of_b = onx_x_rank(x, b);
    if (rank == SIZE_MAX || of_b == SIZE_MAX) return NULL;
    bool vector = of_b == 1 || of_b + 1 == rank;
    if (vector) b = onx_x_unsqueeze(x, b, -1);
    onx_value *inv = inverse(x, m);
    onx_value *y =
        onx_xv_true(left) ? onx_emit(x, "MatMul", inv, b) : onx_emit(x, "MatMul", b, inv);
    return vector ? onx_x_squeeze(x, y, -1) : y;
}
static void lower_solve(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, solve(x, a, &a[2]));
}
static void lower_solve_info(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_solve(x, a, out);
    onx_x_give(x, &out[1], onx_x_number(x, ONX_DTYPE_I32, 0));
}

static void lower_solve_parts(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_solve(x, a, out);
    onx_nn_give_nothing(x, ONX_DTYPE_F32, &out[1]);
    onx_nn_give_nothing(x, ONX_DTYPE_I32, &out[2]);
    onx_x_give(x, &out[3], onx_x_number(x, ONX_DTYPE_I32, 0));
}

/* The first n axes as rows, the others as columns. */
static onx_value *as_matrix(onx_export *x, onx_value *v, size_t n) {
    size_t rank = onx_x_rank(x, v);
    onx_xv shape[2] = {onx_xv_int(x, 1), onx_xv_int(x, -1)};
    if (rank == SIZE_MAX || n > rank) return NULL;
    for (size_t i = 0; i < n; i++)
        shape[0] = onx_x_arith(x, "mul", shape[0], onx_x_size_of(x, v, i));
    return onx_x_reshape(x, v, 2, shape);
}

/* (self, ind) */
static void lower_tensorinv(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, &a[0]);
    size_t rank = onx_x_rank(x, v), n = (size_t)onx_xv_whole(x, &a[1], 2);
    onx_xv shape[ONX_RANK_MAX];
    if (rank == SIZE_MAX || n >= rank) return;
    for (size_t i = 0; i < rank; i++) shape[i] = onx_x_size_of(x, v, (n + i) % rank);
    onx_x_give(x, out, onx_x_reshape(x, inverse(x, as_matrix(x, v, n)), rank, shape));
}

/* (self, other, dims) */
static void lower_tensorsolve(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, &a[0]), *b = onx_x_floating(x, &a[1]);
    size_t rank = onx_x_rank(x, v), n = onx_x_rank(x, b);
    onx_xv flat[] = {onx_xv_int(x, -1), onx_xv_int(x, 1)}, shape[ONX_RANK_MAX];
    if (rank == SIZE_MAX || n == SIZE_MAX || n >= rank) return;
    if (!onx_nn_is_empty(&a[2])) {
        onx_x_fail(x, ONX_UNSUPPORTED, "tensorsolve with dims");
        onx_x_hint(x, "permute the tensor first");
        return;
    }
    for (size_t i = n; i < rank; i++) shape[i - n] = onx_x_size_of(x, v, i);
    onx_value *y =
        onx_emit(x, "MatMul", inverse(x, as_matrix(x, v, n)), onx_x_reshape(x, b, 2, flat));
    onx_x_give(x, out, onx_x_reshape(x, y, rank - n, shape));
}

/* (self, n): by squaring. */
static void lower_matrix_power(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t n = onx_xv_whole(x, &a[1], 1);
    onx_value *base = onx_nn_tensor(x, &a[0]), *y = NULL;
    size_t rank = onx_x_rank(x, base);
    if (rank == SIZE_MAX || rank < 2) return;
    if (n < 0) base = inverse(x, base);
    if (n < -1024 || n > 1024) {
        onx_x_fail(x, ONX_UNSUPPORTED, "power %lld of a matrix", (long long)n);
        return;
    }
    if (n == 0 && base) {
        onx_value *one =
            onx_x_cast(x, onx_mat_eye(x, onx_mat_places(x, base, true)), onx_x_dtype(x, base));
        onx_x_give(x, out, onx_emit_wide(x, "Add", onx_emit_number(x, "Mul", base, 0), one));
        return;
    }
    for (n = n < 0 ? -n : n; n && base; n /= 2) {
        if (n % 2) y = y ? onx_emit(x, "MatMul", y, base) : base;
        if (n > 1) base = onx_emit(x, "MatMul", base, base);
    }
    onx_x_give(x, out, y);
}

/* exp(A) = exp(A/2^8)^(2^8), and of what is that small by 10 terms of its series, innermost first:
 * 1 + A(1 + A/2(1 + A/3 …)). */
static void lower_matrix_exp(onx_export *x, const onx_xv *a, onx_xv *out) {
    enum { HALVED = 8, TERMS = 10 };
    onx_value *v = onx_x_floating(x, &a[0]), *y = NULL;
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || rank < 2) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_xv n = onx_x_size_of(x, v, rank - 1);
    onx_value *places = onx_x_count(x, &n);
    onx_value *one =
        onx_x_cast(x, onx_emit(x, "Equal", onx_x_unsqueeze(x, places, 1), places), ONX_DTYPE_F64);
    v = onx_emit_number(x, "Mul", onx_x_cast(x, v, ONX_DTYPE_F64), 1.0 / (1 << HALVED));
    for (int k = TERMS; k > 0 && onx_x_ok(x); k--) {
        onx_value *part = k > 1 ? onx_emit_number(x, "Div", v, k) : v;
        y = onx_emit(x, "Add", y ? onx_emit(x, "MatMul", part, y) : part, one);
    }
    for (int k = 0; k < HALVED && onx_x_ok(x); k++) y = onx_emit(x, "MatMul", y, y);
    onx_x_give(x, out, onx_x_cast(x, y, dtype));
}

/* ─ Norms ────────────────────────────────────────────────────────────────────────────────────── */

/* The largest or smallest sum of |v| along one axis. */
static onx_value *sums_norm(onx_export *x, onx_value *v, const int64_t *axes, bool rows, bool least,
                            bool keep) {
    int64_t sum = axes[rows], most = axes[!rows];
    v = onx_x_reduce(x, "ReduceL1", v, 1, &sum, true);
    v = onx_x_reduce(x, least ? "ReduceMin" : "ReduceMax", v, 1, &most, true);
    return keep ? v : onx_emit(x, "Squeeze", v, onx_x_ints(x, 2, axes));
}

/* (self, ord, dim, keepdim, dtype): "fro" and "nuc" are 0 and NAN. */
static void matrix_norm(onx_export *x, const onx_xv *a, double ord, onx_xv *out) {
    onx_value *v = onx_x_floats(x, &a[0], onx_xv_dtype(x, &a[4]));
    int64_t axes[ONX_RANK_MAX];
    size_t rank = onx_x_rank(x, v);
    bool keep = onx_xv_true(&a[3]), rows = ord == INFINITY || ord == -INFINITY;
    if (rank == SIZE_MAX) return;
    size_t n = onx_x_axes(x, &a[2], rank, axes);
    if (!n && rank == 2) n = 2, axes[0] = 0, axes[1] = 1;
    if (n != 2)
        onx_x_fail(x, ONX_INVALID, "a norm of matrices along %zu dimensions", n);
    else if (ord == 0)
        onx_x_give(x, out, onx_x_reduce(x, "ReduceL2", v, 2, axes, keep));
    else if (rows || ord == 1 || ord == -1)
        onx_x_give(x, out, sums_norm(x, v, axes, rows, ord < 0, keep));
    else if (isnan(ord))
        onx_lower_values_norm(x, v, "ReduceSum", axes, keep, out);
    else if (ord == 2 || ord == -2)
        onx_lower_values_norm(x, v, ord > 0 ? "ReduceMax" : "ReduceMin", axes, keep, out);
    else
        onx_x_fail(x, ONX_INVALID, "norm %g of matrices", ord);
}

static void lower_matrix_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    matrix_norm(x, a, onx_xv_real(x, &a[1], 2), out);
}
static void lower_matrix_norm_named(onx_export *x, const onx_xv *a, onx_xv *out) {
    matrix_norm(x, a, onx_str_is(a[1].str, "nuc") ? (double)NAN : 0, out);
}
/* (self, dim, keepdim) */
static void lower_nuclear_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv all[] = {a[0], {.kind = ONX_X_NONE}, a[1], a[2], {.kind = ONX_X_NONE}};
    matrix_norm(x, all, (double)NAN, out);
}
static void lower_nuclear_norm_all(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv all[] = {a[0], {.kind = ONX_X_NONE}, a[1]};
    lower_nuclear_norm(x, all, out);
}

/* (self, ord, dim, keepdim, dtype): of vectors where one axis is named, or no order is. */
static void lower_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_x_rank(x, onx_nn_tensor(x, &a[0]));
    bool named = onx_xv_is_list(&a[2]) && a[2].list->n;
    size_t n = named ? a[2].list->n : rank;
    onx_xv vector[] = {a[0], a[1], a[2], a[3], a[4]};
    if (rank == SIZE_MAX) return;
    if (onx_xv_is(&a[1], ONX_X_NONE)) vector[1] = onx_xv_float(2);
    if (n != 2 || onx_xv_is(&a[1], ONX_X_NONE))
        *out = onx_aten_do(x, "linalg_vector_norm", 5, vector);
    else
        lower_matrix_norm(x, a, out);
}

#define NORM ", bool keepdim=False, *, ScalarType? dtype=None)"
#define INFO ", *, bool check_errors=False) -> (Tensor, Tensor)"

const onx_aten onx_aten_linalg[] = {
    {"det(Tensor self)", lower_det, NULL},
    {"linalg_det(Tensor A)", lower_det, NULL},
    {"_linalg_det(Tensor A) -> (Tensor, Tensor, Tensor)", lower_det_parts, NULL},
    {"logdet(Tensor self)", lower_logdet, NULL},
    {"slogdet(Tensor self) -> (Tensor, Tensor)", lower_slogdet, NULL},
    {"linalg_slogdet(Tensor A) -> (Tensor, Tensor)", lower_slogdet, NULL},
    {"_linalg_slogdet(Tensor A) -> (Tensor, Tensor, Tensor, Tensor)", lower_slogdet_parts, NULL},
    {"trace(Tensor self)", lower_trace, NULL},
    {"tril(Tensor self, int diagonal=0)", lower_tril, NULL},
    {"triu(Tensor self, int diagonal=0)", lower_triu, NULL},
    {"inverse(Tensor self)", lower_inverse, NULL},
    {"linalg_inv(Tensor A)", lower_inverse, NULL},
    {"linalg_inv_ex(Tensor A" INFO, lower_inverse_info, NULL},
    {"linalg_solve(Tensor A, Tensor B, *, bool left=True)", lower_solve, NULL},
    {"linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
     "-> (Tensor, Tensor)",
     lower_solve_info, NULL},
    {"linalg_tensorinv(Tensor self, int ind=2)", lower_tensorinv, NULL},
    {"linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None)", lower_tensorsolve, NULL},
    {"_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
     "-> (Tensor, Tensor, Tensor, Tensor)",
     lower_solve_parts, NULL},
    {"matrix_exp(Tensor self)", lower_matrix_exp, NULL},
    {"linalg_matrix_exp(Tensor self)", lower_matrix_exp, NULL},
    {"matrix_power(Tensor self, int n)", lower_matrix_power, NULL},
    {"linalg_matrix_power(Tensor self, int n)", lower_matrix_power, NULL},
    {"linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1]" NORM, lower_matrix_norm,
     NULL},
    {"linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1]" NORM,
     lower_matrix_norm_named, NULL},
    {"nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False)", lower_nuclear_norm, NULL},
    {"nuclear_norm(Tensor self, bool keepdim=False)", lower_nuclear_norm_all, NULL},
    {"linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None" NORM, lower_norm, NULL},
    {"linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None" NORM, lower_matrix_norm_named,
     NULL},
    {.schema = NULL},
};
