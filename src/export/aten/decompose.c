/* decompose.c: matrices as products of triangles, by loops over their columns: Cholesky, LU, QR,
 * and systems of equations. All is computed in float64, for any number of matrices of any size.
 *
 * Pivots and signs are those of LAPACK, so that the factors are PyTorch's. Where a matrix is not
 * positive definite, or singular, PyTorch raises an error and the model computes NaN or infinity.
 */
#include "export/aten/matrices.h"

#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)
#define WHERE(is, a, b) onx_emit(x, "Where", is, a, b)

/* ─ Parts of matrices ────────────────────────────────────────────────────────────────────────── */

onx_value *onx_mat_take(onx_export *x, const onx_xv *v, onx_dtype *dtype) {
    if (onx_xv_is_complex(v)) return onx_x_fail(x, ONX_UNSUPPORTED, "matrices of complex numbers");
    onx_value *m = onx_x_floating(x, v);
    size_t rank = onx_x_rank(x, m);
    if (rank == SIZE_MAX) return NULL;
    if (rank < 2) return onx_x_fail(x, ONX_INVALID, "a tensor of rank %zu is no matrix", rank);
    *dtype = onx_x_dtype(x, m);
    return onx_x_cast(x, m, ONX_DTYPE_F64);
}

static onx_xv size_at(onx_export *x, onx_value *m, size_t from_end) {
    size_t rank = onx_x_rank(x, m);
    return rank == SIZE_MAX || rank < from_end ? onx_xv_int(x, 0)
                                               : onx_x_size_of(x, m, rank - from_end);
}
onx_xv onx_mat_rows(onx_export *x, onx_value *m) {
    return size_at(x, m, 2);
}
onx_xv onx_mat_columns(onx_export *x, onx_value *m) {
    return size_at(x, m, 1);
}
onx_value *onx_mat_places(onx_export *x, onx_value *m, bool columns) {
    onx_xv n = columns ? onx_mat_columns(x, m) : onx_mat_rows(x, m);
    return onx_x_count(x, &n);
}

onx_value *onx_mat_column(onx_export *x, onx_value *m, onx_value *j) {
    return onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", -1)), m, j);
}
onx_value *onx_mat_row(onx_export *x, onx_value *m, onx_value *j) {
    return onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", -2)), m, j);
}
onx_value *onx_mat_at(onx_export *x, onx_value *column, onx_value *j) {
    return onx_mat_column(x, column, onx_x_unsqueeze(x, j, 0));
}
onx_value *onx_mat_outer(onx_export *x, onx_value *column, onx_value *row) {
    return G("Mul", onx_x_unsqueeze(x, column, -1), onx_x_unsqueeze(x, row, -2));
}
onx_value *onx_mat_times(onx_export *x, onx_value *m, onx_value *column) {
    return onx_x_squeeze(x, G("MatMul", m, onx_x_unsqueeze(x, column, -1)), -1);
}
onx_value *onx_mat_sum(onx_export *x, onx_value *v) {
    int64_t last = -1;
    return onx_x_reduce(x, "ReduceSum", v, 1, &last, true);
}
onx_value *onx_mat_eye(onx_export *x, onx_value *places) {
    return onx_x_cast(x, G("Equal", onx_x_unsqueeze(x, places, 1), places), ONX_DTYPE_F64);
}
onx_value *onx_mat_tri(onx_export *x, onx_value *m, bool upper, int64_t diagonal) {
    onx_xv args[] = {onx_xv_tensor(x, m), onx_xv_int(x, diagonal)};
    onx_xv half = onx_aten_do(x, upper ? "triu" : "tril", 2, args);
    return onx_x_ok(x) ? onx_xv_value(x, &half) : NULL;
}
onx_value *onx_mat_part(onx_export *x, onx_value *m, bool columns, onx_xv from, onx_xv to) {
    return onx_x_slice(x, m, columns ? -1 : -2, from, to, 1);
}

/* v where the place is j, and elsewhere `other`. */
static onx_value *set_at(onx_export *x, onx_value *places, onx_value *j, onx_value *v,
                         onx_value *other) {
    return WHERE(G("Equal", places, j), v, other);
}
/* A row of a matrix is another. */
static onx_value *set_row(onx_export *x, onx_value *m, onx_value *j, onx_value *row) {
    onx_value *is = G("Equal", onx_mat_places(x, m, false), j);
    return WHERE(onx_x_unsqueeze(x, is, -1), onx_x_unsqueeze(x, row, -2), m);
}
static onx_value *zero(onx_export *x) {
    return onx_x_number(x, ONX_DTYPE_F64, 0);
}

/* ─ Cholesky ─────────────────────────────────────────────────────────────────────────────────── */

/* (A, L): a column of L is one of A over the root of its diagonal, and leaves A. */
static onx_value *cholesky_turn(onx_export *x, const void *user, onx_value *j, onx_value **v) {
    (void)user;
    onx_value *places = onx_mat_places(x, v[0], false), *c = onx_mat_column(x, v[0], j);
    c = G("Div", c, F("Sqrt", onx_mat_at(x, c, j)));
    c = WHERE(G("Less", places, j), zero(x), c);
    onx_value *unit = onx_x_cast(x, G("Equal", places, j), ONX_DTYPE_F64);
    v[0] = G("Sub", v[0], onx_mat_outer(x, c, c));
    v[1] = G("Add", v[1], onx_mat_outer(x, c, unit));
    return NULL;
}

/* Reads the lower triangle; or the upper one, and gives that. */
static onx_value *cholesky(onx_export *x, onx_value *m, bool upper) {
    if (upper) m = onx_x_swap(x, m, -2, -1);
    onx_value *v[] = {m, N("Mul", m, 0)};
    if (!onx_x_ok(x) || !onx_x_repeat(x, onx_mat_columns(x, m), cholesky_turn, NULL, 2, v))
        return NULL;
    return upper ? onx_x_swap(x, v[1], -2, -1) : v[1];
}

static void lower_cholesky(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *m = onx_mat_take(x, &a[0], &dtype);
    if (m) onx_x_give(x, out, onx_x_cast(x, cholesky(x, m, onx_xv_true(&a[1])), dtype));
}
static void lower_cholesky_info(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cholesky(x, a, out);
    onx_x_give(x, &out[1], onx_x_number(x, ONX_DTYPE_I32, 0));
}

/* ─ Triangular systems ───────────────────────────────────────────────────────────────────────── */

struct triangle {
    onx_value *m, *b;
    bool upper;
};

/* (X): row j is that of B, less what the rows that are known make of it, over the diagonal. */
static onx_value *substitute_turn(onx_export *x, const void *user, onx_value *turn, onx_value **v) {
    const struct triangle *t = user;
    onx_xv n = onx_mat_rows(x, t->m);
    onx_value *j = turn;
    if (t->upper) j = G("Sub", N("Sub", onx_x_scalar(x, &n, ONX_DTYPE_I64), 1), turn);
    onx_value *row = onx_mat_row(x, t->m, j);
    onx_value *sum = onx_x_squeeze(x, G("MatMul", onx_x_unsqueeze(x, row, -2), v[0]), -2);
    onx_value *rest = G("Sub", onx_mat_row(x, t->b, j), sum);
    v[0] = set_row(x, v[0], j, G("Div", rest, onx_mat_at(x, row, j)));
    return NULL;
}

/* Of which only that half of `m` is read; the diagonal is 1 where `unit`. */
static onx_value *solve_triangle(onx_export *x, onx_value *m, onx_value *b, bool upper, bool unit) {
    m = onx_mat_tri(x, m, upper, unit ? (upper ? 1 : -1) : 0);
    if (unit) m = G("Add", m, onx_mat_eye(x, onx_mat_places(x, m, true)));
    struct triangle t = {m, b, upper};
    onx_value *y = N("Mul", G("MatMul", m, b), 0); /* of the shape of the result */
    if (!onx_x_ok(x) || !onx_x_repeat(x, onx_mat_rows(x, m), substitute_turn, &t, 1, &y))
        return NULL;
    return y;
}

/* (A, B, upper, left, unitriangular) */
static void lower_solve_triangular(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *m = onx_mat_take(x, &a[0], &dtype), *b = onx_mat_take(x, &a[1], &dtype);
    bool upper = onx_xv_true(&a[2]), left = onx_xv_true(&a[3]);
    if (!m || !b) return;
    if (!left) m = onx_x_swap(x, m, -2, -1), b = onx_x_swap(x, b, -2, -1); /* XA = B */
    onx_value *y = solve_triangle(x, m, b, left ? upper : !upper, onx_xv_true(&a[4]));
    onx_x_give(x, out, onx_x_cast(x, left ? y : onx_x_swap(x, y, -2, -1), dtype));
}

/* (B, A, upper, transpose, unitriangular) -> (X, A) */
static void lower_triangular_solve(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *b = onx_mat_take(x, &a[0], &dtype), *m = onx_mat_take(x, &a[1], &dtype);
    bool upper = onx_xv_true(&a[2]), turn = onx_xv_true(&a[3]);
    if (!m || !b) return;
    if (turn) m = onx_x_swap(x, m, -2, -1);
    onx_value *y = solve_triangle(x, m, b, turn ? !upper : upper, onx_xv_true(&a[4]));
    onx_x_give(x, out, onx_x_cast(x, y, dtype));
    out[1] = a[1];
}

/* L and B to the X of LLᵀX = B, or of UᵀUX = B. */
static onx_value *solve_both(onx_export *x, onx_value *m, onx_value *b, bool upper) {
    if (upper) m = onx_x_swap(x, m, -2, -1);
    b = solve_triangle(x, m, b, false, false);
    return b ? solve_triangle(x, onx_x_swap(x, m, -2, -1), b, true, false) : NULL;
}

/* (B, L, upper) */
static void lower_cholesky_solve(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *b = onx_mat_take(x, &a[0], &dtype), *m = onx_mat_take(x, &a[1], &dtype);
    if (m && b) onx_x_give(x, out, onx_x_cast(x, solve_both(x, m, b, onx_xv_true(&a[2])), dtype));
}

/* (L, upper) */
static void lower_cholesky_inverse(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *m = onx_mat_take(x, &a[0], &dtype);
    if (!m) return;
    onx_value *one = onx_mat_eye(x, onx_mat_places(x, m, true));
    onx_x_give(x, out, onx_x_cast(x, solve_both(x, m, one, onx_xv_true(&a[1])), dtype));
}

/* ─ LU ───────────────────────────────────────────────────────────────────────────────────────── */

/* The rows in another order: `order` has the shape of their column. */
static onx_value *reordered(onx_export *x, onx_value *m, onx_value *order) {
    onx_value *at = G("Expand", onx_x_unsqueeze(x, order, -1), onx_x_shape_of(x, m));
    return onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", -2)), m, at);
}

/* (A, the order of rows, pivots): the row with the largest element of column j is row j; what is
 * below it is replaced by the factors that make it 0, and the rest loses their product. */
static onx_value *lu_turn(onx_export *x, const void *user, onx_value *j, onx_value **v) {
    (void)user;
    onx_value *rows = onx_mat_places(x, v[0], false), *columns = onx_mat_places(x, v[0], true);
    onx_value *size = F("Abs", onx_mat_column(x, v[0], j));
    size = WHERE(G("Less", rows, j), onx_x_number(x, ONX_DTYPE_F64, -1), size);
    onx_value *best = onx_emit_with(x, "ArgMax", ONX_ATTRS(ONX_AI("axis", -1)), size);
    onx_value *order = set_at(x, rows, best, j, set_at(x, rows, j, best, rows));
    onx_value *m = reordered(x, v[0], order), *pivot = onx_mat_row(x, m, j);
    onx_value *factors = G("Div", onx_mat_column(x, m, j), onx_mat_at(x, pivot, j));
    onx_value *below = G("Greater", rows, j);
    factors = WHERE(below, factors, zero(x));
    m = G("Sub", m, onx_mat_outer(x, factors, WHERE(G("Greater", columns, j), pivot, zero(x))));
    onx_value *is = G("And", onx_x_unsqueeze(x, below, -1), G("Equal", columns, j));
    v[0] = WHERE(is, onx_x_unsqueeze(x, factors, -1), m);
    v[1] = onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", -1)), v[1], order);
    v[2] = set_at(x, rows, j, N("Add", best, 1), v[2]);
    return NULL;
}

/* v[0]: L below the diagonal, U above; v[1]: which row of A each is; v[2]: swaps, from 1 on. */
static bool lu(onx_export *x, onx_value *m, onx_value *v[3]) {
    onx_xv n = onx_x_arith(x, "min", onx_mat_rows(x, m), onx_mat_columns(x, m));
    onx_value *first = m ? onx_mat_column(x, m, onx_x_int(x, 0)) : NULL;
    if (!first) return false;
    onx_value *none = onx_x_cast(x, N("Mul", first, 0), ONX_DTYPE_I64);
    v[0] = m;
    v[1] = v[2] = G("Add", none, onx_mat_places(x, m, false));
    return onx_x_ok(x) && onx_x_repeat(x, n, lu_turn, NULL, 3, v);
}

onx_value *onx_mat_solve(onx_export *x, onx_value *a, onx_value *b) {
    onx_value *v[3];
    if (!lu(x, a, v)) return NULL;
    size_t rank = onx_x_rank(x, a), of_b = onx_x_rank(x, b);
    if (of_b == SIZE_MAX) return NULL;
    for (; of_b < rank; of_b++) b = onx_x_unsqueeze(x, b, 0);
    onx_value *rows = onx_mat_places(x, a, false);
    onx_value *is = G("Equal", onx_x_unsqueeze(x, v[1], -1), rows); /* P⁻¹ */
    b = G("MatMul", onx_x_cast(x, is, ONX_DTYPE_F64), b);
    b = solve_triangle(x, v[0], b, false, true);
    return b ? solve_triangle(x, v[0], b, true, false) : NULL;
}

static void give_i32(onx_export *x, onx_xv *out, onx_value *v) {
    onx_x_give(x, out, onx_x_cast(x, v, ONX_DTYPE_I32));
}

/* (A, pivot) -> (LU, pivots, info) */
static void lower_lu_factor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *v[3], *m = onx_mat_take(x, &a[0], &dtype);
    if (!m || !lu(x, m, v)) return;
    onx_xv n = onx_x_arith(x, "min", onx_mat_rows(x, m), onx_mat_columns(x, m));
    onx_x_give(x, &out[0], onx_x_cast(x, v[0], dtype));
    give_i32(x, &out[1], onx_x_slice(x, v[2], -1, onx_xv_int(x, 0), n, 1));
    onx_x_give(x, &out[2], onx_x_number(x, ONX_DTYPE_I32, 0));
}

/* (A, pivot) -> (P, L, U) */
static void lower_lu(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *v[3], *m = onx_mat_take(x, &a[0], &dtype);
    if (!m || !lu(x, m, v)) return;
    onx_xv rows = onx_mat_rows(x, m), columns = onx_mat_columns(x, m), zero_ = onx_xv_int(x, 0);
    onx_xv n = onx_x_arith(x, "min", rows, columns);
    onx_value *places = onx_x_unsqueeze(x, onx_mat_places(x, m, false), 1);
    onx_value *p = G("Equal", places, onx_x_unsqueeze(x, v[1], -2));
    onx_value *l = onx_mat_part(x, onx_mat_tri(x, v[0], false, -1), true, zero_, n);
    l = G("Add", l, onx_x_cast(x, G("Equal", places, onx_x_count(x, &n)), ONX_DTYPE_F64));
    onx_value *u = onx_mat_part(x, onx_mat_tri(x, v[0], true, 0), false, zero_, n);
    onx_x_give(x, &out[0], onx_x_cast(x, p, dtype));
    onx_x_give(x, &out[1], onx_x_cast(x, l, dtype));
    onx_x_give(x, &out[2], onx_x_cast(x, u, dtype));
}

/* (B): rows j and pivots[j] - 1 change places. */
static onx_value *swap_turn(onx_export *x, const void *user, onx_value *j, onx_value **v) {
    onx_value *const *pivots = user, *rows = onx_mat_places(x, v[0], false);
    onx_value *other = N("Sub", onx_mat_at(x, *pivots, j), 1);
    v[0] = reordered(x, v[0], set_at(x, rows, other, j, set_at(x, rows, j, other, rows)));
    return NULL;
}

static void give_lu_solve(onx_export *x, const onx_xv *b, const onx_xv *lu_, const onx_xv *pivots,
                          onx_xv *out) {
    onx_dtype dtype;
    onx_value *v = onx_mat_take(x, b, &dtype), *m = onx_mat_take(x, lu_, &dtype);
    onx_value *swaps = onx_x_as(x, pivots, ONX_DTYPE_I64);
    if (!v || !m || !onx_x_repeat(x, onx_mat_rows(x, m), swap_turn, &swaps, 1, &v)) return;
    v = solve_triangle(x, m, v, false, true);
    if (v) onx_x_give(x, out, onx_x_cast(x, solve_triangle(x, m, v, true, false), dtype));
}
static void lower_lu_solve(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_lu_solve(x, &a[0], &a[1], &a[2], out);
}
static void lower_linalg_lu_solve(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (!onx_xv_true(&a[3]) || onx_xv_true(&a[4]))
        onx_x_fail(x, ONX_UNSUPPORTED, "lu_solve from the right, or of the adjoint");
    else
        give_lu_solve(x, &a[2], &a[0], &a[1], out);
}

/* ─ QR ───────────────────────────────────────────────────────────────────────────────────────── */

/* (R, Q): column j is reflected on its first axis that is left: w = v - βe, H = 1 - 2wwᵀ/wᵀw. The
 * sign of β is the other one than that of the diagonal; nothing is done where 0 is below it. */
static onx_value *qr_turn(onx_export *x, const void *user, onx_value *j, onx_value **v) {
    (void)user;
    onx_value *rows = onx_mat_places(x, v[0], false), *c = onx_mat_column(x, v[0], j);
    c = WHERE(G("Less", rows, j), zero(x), c);
    onx_value *first = onx_mat_at(x, c, j), *norm = F("Sqrt", onx_mat_sum(x, G("Mul", c, c)));
    onx_value *below = set_at(x, rows, j, zero(x), c);
    onx_value *rest = onx_mat_sum(x, F("Abs", below));
    onx_value *beta = WHERE(N("Less", first, 0), norm, F("Neg", norm));
    onx_value *w = set_at(x, rows, j, G("Sub", first, beta), c);
    onx_value *factor = G("Div", onx_x_number(x, ONX_DTYPE_F64, 2), onx_mat_sum(x, G("Mul", w, w)));
    onx_value *scaled = G("Mul", w, WHERE(N("Equal", rest, 0), zero(x), factor));
    v[0] =
        G("Sub", v[0], onx_mat_outer(x, scaled, onx_mat_times(x, onx_x_swap(x, v[0], -2, -1), w)));
    v[1] = G("Sub", v[1], onx_mat_outer(x, onx_mat_times(x, v[1], w), scaled));
    return NULL;
}

bool onx_mat_qr(onx_export *x, onx_value *m, onx_value **q, onx_value **r) {
    onx_xv n = onx_x_arith(x, "min", onx_mat_rows(x, m), onx_mat_columns(x, m));
    onx_value *square = m ? G("MatMul", m, onx_x_swap(x, m, -2, -1)) : NULL;
    onx_value *v[] = {m, square};
    if (!square) return false;
    v[1] = G("Add", N("Mul", square, 0), onx_mat_eye(x, onx_mat_places(x, m, false)));
    if (!onx_x_repeat(x, n, qr_turn, NULL, 2, v)) return false;
    *q = v[1];
    *r = onx_mat_tri(x, v[0], true, 0);
    return onx_x_ok(x);
}

static void give_qr(onx_export *x, const onx_xv *a, bool reduced, onx_xv *out) {
    onx_dtype dtype;
    onx_value *q, *r, *m = onx_mat_take(x, a, &dtype);
    if (!m || !onx_mat_qr(x, m, &q, &r)) return;
    if (reduced) {
        onx_xv n = onx_x_arith(x, "min", onx_mat_rows(x, m), onx_mat_columns(x, m));
        q = onx_mat_part(x, q, true, onx_xv_int(x, 0), n);
        r = onx_mat_part(x, r, false, onx_xv_int(x, 0), n);
    }
    onx_x_give(x, &out[0], onx_x_cast(x, q, dtype));
    onx_x_give(x, &out[1], onx_x_cast(x, r, dtype));
}
static void lower_linalg_qr(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_qr(x, a, !onx_str_is(a[1].str, "complete"), out);
    if (onx_str_is(a[1].str, "r")) onx_nn_give_nothing(x, onx_xv_type(x, &out[1]), &out[0]);
}
static void lower_qr(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_qr(x, a, onx_xv_true(&a[1]), out);
}

struct reflectors {
    onx_value *m, *tau;
};

/* (Q): Q - τ(Qw)wᵀ, w the column of m below the diagonal, where it is 1. */
static onx_value *reflect_turn(onx_export *x, const void *user, onx_value *j, onx_value **v) {
    const struct reflectors *r = user;
    onx_value *rows = onx_mat_places(x, r->m, false), *w = onx_mat_column(x, r->m, j);
    w = WHERE(G("Less", rows, j), zero(x), w);
    w = set_at(x, rows, j, onx_x_number(x, ONX_DTYPE_F64, 1), w);
    onx_value *scaled = G("Mul", w, onx_mat_at(x, r->tau, j));
    v[0] = G("Sub", v[0], onx_mat_outer(x, onx_mat_times(x, v[0], w), scaled));
    return NULL;
}

/* (input, tau) */
static void lower_householder(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    onx_value *m = onx_mat_take(x, &a[0], &dtype);
    struct reflectors r = {m, m ? onx_x_as(x, &a[1], ONX_DTYPE_F64) : NULL};
    size_t rank = onx_x_rank(x, r.tau);
    if (rank == SIZE_MAX || rank < 1) return;
    onx_value *square = G("MatMul", m, onx_x_swap(x, m, -2, -1));
    onx_value *q = G("Add", N("Mul", square, 0), onx_mat_eye(x, onx_mat_places(x, m, false)));
    if (!onx_x_ok(x) ||
        !onx_x_repeat(x, onx_x_size_of(x, r.tau, rank - 1), reflect_turn, &r, 1, &q))
        return;
    q = onx_mat_part(x, q, true, onx_xv_int(x, 0), onx_mat_columns(x, m));
    onx_x_give(x, out, onx_x_cast(x, q, dtype));
}

#define TRIANGLE ", bool upper=True, bool transpose=False, bool unitriangular=False) "
const onx_aten onx_aten_decompose[] = {
    {"cholesky(Tensor self, bool upper=False)", lower_cholesky, NULL},
    {"linalg_cholesky(Tensor self, *, bool upper=False)", lower_cholesky, NULL},
    {"linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) "
     "-> (Tensor, Tensor)",
     lower_cholesky_info, NULL},
    {"cholesky_solve(Tensor self, Tensor input2, bool upper=False)", lower_cholesky_solve, NULL},
    {"cholesky_inverse(Tensor self, bool upper=False)", lower_cholesky_inverse, NULL},
    {"linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
     "bool unitriangular=False)",
     lower_solve_triangular, NULL},
    {"triangular_solve(Tensor self, Tensor A" TRIANGLE "-> (Tensor, Tensor)",
     lower_triangular_solve, NULL},
    {"linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor, Tensor)", lower_lu_factor, NULL},
    {"linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) "
     "-> (Tensor, Tensor, Tensor)",
     lower_lu_factor, NULL},
    {"_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) "
     "-> (Tensor, Tensor, Tensor)",
     lower_lu_factor, NULL},
    {"linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor, Tensor, Tensor)", lower_lu, NULL},
    {"lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots)", lower_lu_solve, NULL},
    {"linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)",
     lower_linalg_lu_solve, NULL},
    {"linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor, Tensor)", lower_linalg_qr, NULL},
    {"qr(Tensor self, bool some=True) -> (Tensor, Tensor)", lower_qr, NULL},
    {"linalg_householder_product(Tensor input, Tensor tau)", lower_householder, NULL},
    {"orgqr(Tensor self, Tensor input2)", lower_householder, NULL},
    {NULL, NULL, NULL},
};
