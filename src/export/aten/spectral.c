/* spectral.c: eigenvalues of symmetric matrices, singular values, and what is made of them.
 *
 * Jacobi's way, in float64: pairs of columns are rotated until they are orthogonal, in twelve
 * rounds over all pairs, which is as far as numbers go. Eigenvectors and singular vectors are what
 * PyTorch gives but for their signs, which are free, and for those of equal values. */
#include "export/aten/matrices.h"

#include <float.h>
#include <math.h>

#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)
#define WHERE(is, a, b) onx_emit(x, "Where", is, a, b)

/* ─ Rotations ────────────────────────────────────────────────────────────────────────────────── */

enum { ROUNDS = 12 };

struct pairs {
    onx_value *first, *second; /* int64[pairs] */
    onx_value *n;
    bool symmetric;
};

/* All p < q below the number of columns. */
static bool make_pairs(onx_export *x, onx_value *m, struct pairs *out) {
    onx_value *places = onx_mat_places(x, m, true);
    onx_value *both = F("NonZero", G("Less", onx_x_unsqueeze(x, places, 1), places));
    if (!both) return false;
    out->first = onx_x_pick(x, both, 0, 0);
    out->second = onx_x_pick(x, both, 0, 1);
    out->n = F("Size", out->first);
    return onx_x_ok(x);
}

/* Columns p and q become c·p - s·q and s·p + c·q. */
static onx_value *rotated(onx_export *x, onx_value *m, onx_value *const at[2], onx_value *c,
                          onx_value *s) {
    onx_value *places = onx_mat_places(x, m, true);
    onx_value *p = onx_mat_column(x, m, at[0]), *q = onx_mat_column(x, m, at[1]);
    onx_value *new_p = G("Sub", G("Mul", c, p), G("Mul", s, q));
    onx_value *new_q = G("Add", G("Mul", s, p), G("Mul", c, q));
    m = WHERE(G("Equal", places, at[0]), onx_x_unsqueeze(x, new_p, -1), m);
    return WHERE(G("Equal", places, at[1]), onx_x_unsqueeze(x, new_q, -1), m);
}

/* (A, V): a rotation of columns, and of rows where A is symmetric; t is the tangent of its angle,
 * from the products of the two columns, or from the four places where they cross. */
static onx_value *jacobi_turn(onx_export *x, const void *user, onx_value *turn, onx_value **v) {
    const struct pairs *pairs = user;
    onx_value *k = G("Mod", turn, pairs->n);
    onx_value *at[2] = {G("Gather", pairs->first, k), G("Gather", pairs->second, k)};
    onx_value *p = onx_mat_column(x, v[0], at[0]), *q = onx_mat_column(x, v[0], at[1]);
    bool is = pairs->symmetric;
    onx_value *pp = is ? onx_mat_at(x, p, at[0]) : onx_mat_sum(x, G("Mul", p, p));
    onx_value *qq = is ? onx_mat_at(x, q, at[1]) : onx_mat_sum(x, G("Mul", q, q));
    onx_value *pq = is ? onx_mat_at(x, p, at[1]) : onx_mat_sum(x, G("Mul", p, q));
    onx_value *none = N("Equal", pq, 0), *one = onx_x_number(x, ONX_DTYPE_F64, 1);
    onx_value *angle = G("Div", G("Sub", qq, pp), N("Mul", WHERE(none, one, pq), 2));
    onx_value *root = F("Sqrt", N("Add", G("Mul", angle, angle), 1));
    onx_value *sign = WHERE(N("Less", angle, 0), onx_x_number(x, ONX_DTYPE_F64, -1), one);
    onx_value *t = G("Div", sign, G("Add", F("Abs", angle), root));
    t = WHERE(none, onx_x_number(x, ONX_DTYPE_F64, 0), t);
    onx_value *c = F("Reciprocal", F("Sqrt", N("Add", G("Mul", t, t), 1))), *s = G("Mul", t, c);
    v[0] = rotated(x, v[0], at, c, s);
    if (is) v[0] = rotated(x, onx_x_swap(x, v[0], -2, -1), at, c, s);
    v[1] = rotated(x, v[1], at, c, s);
    return NULL;
}

/* v[0]: A, rotated; v[1]: the rotation. */
static bool jacobi(onx_export *x, onx_value *m, bool symmetric, onx_value *v[2]) {
    struct pairs pairs = {.symmetric = symmetric};
    onx_value *square = m ? G("MatMul", onx_x_swap(x, m, -2, -1), m) : NULL;
    if (!square || !make_pairs(x, m, &pairs)) return false;
    v[0] = m;
    v[1] = G("Add", N("Mul", square, 0), onx_mat_eye(x, onx_mat_places(x, m, true)));
    onx_xv trips = onx_xv_run(ONX_X_INT, N("Mul", pairs.n, ROUNDS));
    return onx_x_ok(x) && onx_x_repeat(x, trips, jacobi_turn, &pairs, 2, v);
}

/* The first k values in order, and where they are. */
static bool sort_values(onx_export *x, onx_value *values, onx_xv k, bool falling,
                        onx_value *out[2]) {
    onx_value *in[2] = {values, onx_x_shape(x, 1, &k)};
    return onx_emit_node(x, "TopK", ONX_ATTRS(ONX_AI("largest", falling)), 2, in, 2, out);
}

/* The columns of m at those places of each matrix. */
static onx_value *columns_at(onx_export *x, onx_value *m, onx_value *places) {
    size_t rank = onx_x_rank(x, m);
    onx_xv sizes[ONX_RANK_MAX];
    if (rank == SIZE_MAX || rank < 2 || !places) return NULL;
    for (size_t i = 0; i < rank; i++) sizes[i] = onx_x_size_of(x, m, i);
    sizes[rank - 1] = onx_x_size_of(x, places, rank - 2);
    places = G("Expand", onx_x_unsqueeze(x, places, -2), onx_x_shape(x, rank, sizes));
    return onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", -1)), m, places);
}

static void note_signs(onx_export *x) {
    onx_x_note(x, "vectors of %.*s: their signs are free, and may not be those of PyTorch",
               ONX_FMT(onx_x_op(x)));
}

/* ─ Eigenvalues ──────────────────────────────────────────────────────────────────────────────── */

/* (A, UPLO): that half is read. `vectors` NULL: they are not asked for. */
static void give_eigh(onx_export *x, const onx_xv *a, bool upper, onx_xv *values, onx_xv *vectors) {
    onx_dtype dtype;
    onx_value *v[2], *order[2], *m = onx_mat_take(x, a, &dtype);
    if (!m) return;
    onx_value *other = onx_mat_tri(x, m, upper, upper ? 1 : -1);
    m = G("Add", onx_mat_tri(x, m, upper, 0), onx_x_swap(x, other, -2, -1));
    if (!jacobi(x, m, true, v)) return;
    onx_value *eye = onx_mat_eye(x, onx_mat_places(x, m, true));
    onx_value *diagonal = onx_x_squeeze(x, onx_mat_sum(x, G("Mul", v[0], eye)), -1);
    if (!sort_values(x, diagonal, onx_mat_columns(x, m), false, order)) return;
    onx_x_give(x, values, onx_x_cast(x, order[0], dtype));
    if (!vectors) return;
    onx_x_give(x, vectors, onx_x_cast(x, columns_at(x, v[1], order[1]), dtype));
    note_signs(x);
}
static bool is_upper(const onx_xv *uplo) {
    return onx_xv_is(uplo, ONX_X_STR) && (onx_str_is(uplo->str, "U") || onx_str_is(uplo->str, "u"));
}
static void lower_eigh(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_eigh(x, a, is_upper(&a[1]), &out[0], &out[1]);
}
static void lower_eigvalsh(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_eigh(x, a, is_upper(&a[1]), out, NULL);
}

/* ─ Singular values ──────────────────────────────────────────────────────────────────────────── */

struct svd {
    onx_value *m;    /* A */
    onx_value *s;    /* the values, falling; as many as A has rows or columns */
    onx_value *left; /* US: the columns of AV */
    onx_value *v;
};

/* AV has orthogonal columns, as long as the singular values. */
static bool find_svd(onx_export *x, onx_value *m, struct svd *out) {
    onx_value *v[2], *order[2];
    if (!jacobi(x, m, false, v)) return false;
    int64_t rows = -2;
    onx_value *sizes = onx_x_reduce(x, "ReduceL2", v[0], 1, &rows, false);
    onx_xv k = onx_x_arith(x, "min", onx_mat_rows(x, m), onx_mat_columns(x, m));
    if (!sizes || !sort_values(x, sizes, k, true, order)) return false;
    out->m = m;
    out->s = order[0];
    out->left = columns_at(x, v[0], order[1]);
    out->v = columns_at(x, v[1], order[1]);
    return onx_x_ok(x);
}

/* Orthogonal columns, and more of them until they are as many as rows. */
static onx_value *completed(onx_export *x, onx_value *columns) {
    onx_value *q, *r;
    if (!columns || !onx_mat_qr(x, columns, &q, &r)) return NULL;
    onx_value *more =
        onx_mat_part(x, q, true, onx_mat_columns(x, columns), onx_xv_int(x, INT64_MAX));
    onx_value *both[] = {columns, more};
    return onx_x_ok(x) ? onx_x_concat(x, 2, both, -1) : NULL;
}

/* (A) -> (U, S, V), or Vᵀ */
static void give_svd(onx_export *x, const onx_xv *a, bool full, bool turn, onx_xv *out) {
    onx_dtype dtype;
    struct svd f;
    onx_value *m = onx_mat_take(x, a, &dtype);
    if (!m || !find_svd(x, m, &f)) return;
    onx_value *u = G("Div", f.left, onx_x_unsqueeze(x, f.s, -2)), *v = f.v;
    size_t rank = onx_x_rank(x, m);
    if (full && onx_x_dim(x, m, rank - 1) != onx_x_dim(x, m, rank - 2))
        u = completed(x, u), v = completed(x, v);
    onx_x_give(x, &out[0], onx_x_cast(x, u, dtype));
    onx_x_give(x, &out[1], onx_x_cast(x, f.s, dtype));
    onx_x_give(x, &out[2], onx_x_cast(x, turn ? onx_x_swap(x, v, -2, -1) : v, dtype));
    note_signs(x);
}
static void lower_linalg_svd(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_svd(x, a, onx_xv_true(&a[1]), true, out);
}
/* (A, some, compute_uv) */
static void lower_svd(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_svd(x, a, !onx_xv_true(&a[1]), false, out);
}
static void lower_svdvals(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    struct svd f;
    onx_value *m = onx_mat_take(x, a, &dtype);
    if (m && find_svd(x, m, &f)) onx_x_give(x, out, onx_x_cast(x, f.s, dtype));
}

/* ─ What is made of them ─────────────────────────────────────────────────────────────────────── */

/* What counts as 0: the larger one of `absolute` and `relative` times the largest value; where
 * neither is said, as many times the precision of the type as there are rows or columns. */
static onx_value *bound(onx_export *x, const struct svd *f, onx_dtype dtype, const onx_xv *absolute,
                        const onx_xv *relative) {
    onx_value *largest = onx_mat_at(x, f->s, onx_x_int(x, 0));
    bool has_absolute = absolute && !onx_xv_is(absolute, ONX_X_NONE);
    onx_xv n = onx_x_arith(x, "max", onx_mat_rows(x, f->m), onx_mat_columns(x, f->m));
    onx_value *part;
    if (!onx_xv_is(relative, ONX_X_NONE))
        part = onx_x_as(x, relative, ONX_DTYPE_F64);
    else if (has_absolute)
        part = onx_x_number(x, ONX_DTYPE_F64, 0);
    else
        part = N("Mul", onx_x_scalar(x, &n, ONX_DTYPE_F64),
                 dtype == ONX_DTYPE_F64 ? DBL_EPSILON : (double)FLT_EPSILON);
    onx_value *at = G("Mul", largest, part);
    return has_absolute ? G("Max", at, onx_x_as(x, absolute, ONX_DTYPE_F64)) : at;
}

/* V·(US/s²)ᵀ, without the columns whose value counts as 0. */
static onx_value *pseudo_inverse(onx_export *x, onx_value *m, onx_dtype dtype,
                                 const onx_xv *absolute, const onx_xv *relative) {
    struct svd f;
    if (!find_svd(x, m, &f)) return NULL;
    onx_value *is = G("Greater", f.s, bound(x, &f, dtype, absolute, relative));
    onx_value *over = WHERE(is, F("Reciprocal", G("Mul", f.s, f.s)), N("Mul", f.s, 0));
    onx_value *left = G("Mul", f.left, onx_x_unsqueeze(x, over, -2));
    return left ? G("MatMul", f.v, onx_x_swap(x, left, -2, -1)) : NULL;
}

static void give_pinv(onx_export *x, const onx_xv *a, const onx_xv *absolute,
                      const onx_xv *relative, onx_xv *out) {
    onx_dtype dtype;
    onx_value *m = onx_mat_take(x, a, &dtype);
    if (m)
        onx_x_give(x, out, onx_x_cast(x, pseudo_inverse(x, m, dtype, absolute, relative), dtype));
}
static void lower_pinv(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_pinv(x, a, NULL, &a[1], out);
}
static void lower_pinv_tol(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_pinv(x, a, &a[1], &a[2], out);
}

/* How many values do not count as 0. */
static void give_rank(onx_export *x, const onx_xv *a, const onx_xv *absolute,
                      const onx_xv *relative, onx_xv *out) {
    onx_dtype dtype;
    struct svd f;
    onx_value *m = onx_mat_take(x, a, &dtype);
    if (!m || !find_svd(x, m, &f)) return;
    onx_value *is = G("Greater", f.s, bound(x, &f, dtype, absolute, relative));
    onx_x_give(x, out, onx_x_squeeze(x, onx_mat_sum(x, onx_x_cast(x, is, ONX_DTYPE_I64)), -1));
}
static void lower_rank(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv zero = onx_xv_float(0);
    give_rank(x, a, &a[1], &zero, out);
}
static void lower_rank_tol(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_rank(x, a, &a[1], &a[2], out);
}

/* (A, B, rcond) -> (solution, residuals, rank, singular values): of what PyTorch computes by QR
 * with pivots, which has no singular values. */
static void lower_lstsq(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    int64_t rows = -2, m_rows, m_columns;
    onx_value *m = onx_mat_take(x, &a[0], &dtype), *b = onx_mat_take(x, &a[1], &dtype);
    size_t rank = onx_x_rank(x, m);
    if (!m || !b || rank == SIZE_MAX) return;
    onx_value *y = G("MatMul", pseudo_inverse(x, m, dtype, NULL, &a[2]), b);
    onx_x_give(x, &out[0], onx_x_cast(x, y, dtype));
    onx_nn_give_nothing(x, dtype, &out[1]);
    if (onx_x_known_dim(x, m, rank - 2, &m_rows) && onx_x_known_dim(x, m, rank - 1, &m_columns) &&
        m_rows > m_columns) {
        onx_value *rest = G("Sub", G("MatMul", m, y), b);
        rest = onx_x_reduce(x, "ReduceSumSquare", rest, 1, &rows, false);
        onx_x_give(x, &out[1], onx_x_cast(x, rest, dtype));
    }
    onx_xv none = {.kind = ONX_X_NONE};
    give_rank(x, a, NULL, &none, &out[2]);
    onx_nn_give_nothing(x, dtype, &out[3]);
}

/* The largest, the smallest, or the sum of them all. */
static onx_value *values_norm(onx_export *x, onx_value *m, const char *reduce) {
    struct svd f;
    int64_t last = -1;
    return find_svd(x, m, &f) ? onx_x_reduce(x, reduce, f.s, 1, &last, false) : NULL;
}

/* (self, dims …, keepdim): of the matrices along two axes, of which the first are rows. */
void onx_lower_values_norm(onx_export *x, onx_value *v, const char *reduce, const int64_t axes[2],
                           bool keep, onx_xv *out) {
    size_t rank = onx_x_rank(x, v), n = 0;
    int64_t perm[ONX_RANK_MAX];
    if (rank == SIZE_MAX || rank < 2) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    for (size_t i = 0; i < rank; i++)
        if ((int64_t)i != axes[0] && (int64_t)i != axes[1]) perm[n++] = (int64_t)i;
    perm[n++] = axes[0], perm[n++] = axes[1];
    v = onx_x_cast(x, onx_x_transpose(x, v, rank, perm), ONX_DTYPE_F64);
    v = onx_x_cast(x, values_norm(x, v, reduce), dtype);
    int64_t sorted[2] = {axes[0] < axes[1] ? axes[0] : axes[1],
                         axes[0] < axes[1] ? axes[1] : axes[0]};
    onx_x_give(x, out, keep ? G("Unsqueeze", v, onx_x_ints(x, 2, sorted)) : v);
}

/* (self, p): of singular values, or |A|·|A⁻¹|. */
static void lower_cond(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype;
    struct svd f;
    double p = onx_xv_is(&a[1], ONX_X_STR) ? 0 : onx_xv_real(x, &a[1], 2);
    if (p == 2 || p == -2) {
        onx_value *m = onx_mat_take(x, a, &dtype);
        if (!m || !find_svd(x, m, &f)) return;
        int64_t last = -1;
        onx_value *most = onx_x_reduce(x, "ReduceMax", f.s, 1, &last, false);
        onx_value *least = onx_x_reduce(x, "ReduceMin", f.s, 1, &last, false);
        onx_x_give(x, out,
                   onx_x_cast(x, p > 0 ? G("Div", most, least) : G("Div", least, most), dtype));
        return;
    }
    onx_xv args[] = {a[0], a[1]}, of[] = {a[0], a[1]};
    of[0] = onx_aten_do(x, "linalg_inv", 1, a);
    if (!onx_x_ok(x)) return;
    onx_xv norms[] = {onx_aten_do(x, "linalg_matrix_norm", 2, args),
                      onx_aten_do(x, "linalg_matrix_norm", 2, of)};
    if (onx_x_ok(x)) *out = onx_aten_do(x, "mul", 2, norms);
}

#define SVD ", bool full_matrices=True, *, str? driver=None) -> (Tensor, Tensor, Tensor)"
#define TOL "*, float? atol=None, float? rtol=None, bool hermitian=False)"
#define TOLS "*, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)"
const onx_aten onx_aten_spectral[] = {
    {"linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor, Tensor)", lower_eigh, NULL},
    {"_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor, Tensor)", lower_eigh,
     NULL},
    {"linalg_eigvalsh(Tensor self, str UPLO=\"L\")", lower_eigvalsh, NULL},
    {"linalg_svd(Tensor A" SVD, lower_linalg_svd, NULL},
    {"_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) "
     "-> (Tensor, Tensor, Tensor)",
     lower_linalg_svd, NULL},
    {"svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor, Tensor, Tensor)",
     lower_svd, NULL},
    {"linalg_svdvals(Tensor A, *, str? driver=None)", lower_svdvals, NULL},
    {"linalg_pinv(Tensor self, Any rcond, bool hermitian=False)", lower_pinv, NULL},
    {"linalg_pinv.atol_rtol_float(Tensor self, " TOL, lower_pinv_tol, NULL},
    {"linalg_pinv.atol_rtol_tensor(Tensor self, " TOLS, lower_pinv_tol, NULL},
    {"pinverse(Tensor self, float rcond=1e-15)", lower_pinv, NULL},
    {"linalg_matrix_rank(Tensor self, Any tol, bool hermitian=False)", lower_rank, NULL},
    {"linalg_matrix_rank.atol_rtol_float(Tensor self, " TOL, lower_rank_tol, NULL},
    {"linalg_matrix_rank.atol_rtol_tensor(Tensor input, " TOLS, lower_rank_tol, NULL},
    {"linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) "
     "-> (Tensor, Tensor, Tensor, Tensor)",
     lower_lstsq, NULL},
    {"linalg_cond(Tensor self, Scalar? p=None)", lower_cond, NULL},
    {"linalg_cond.p_str(Tensor self, str p)", lower_cond, NULL},
    {NULL, NULL, NULL},
};
