/* statistic.c: covariances, integrals along an axis, and rows of bounded length. */
#include "export/aten/parts.h"

/* ─ Covariances: rows are variables, columns are observations ────────────────────────────────── */

/* Without their means; a single variable becomes one row. */
static onx_value *centered(onx_export *x, const onx_xv *a, bool *single) {
    int64_t last = -1;
    onx_value *v = onx_x_floating(x, a);
    size_t rank = onx_x_rank(x, v);
    *single = rank < 2;
    if (rank == 0) v = onx_x_unsqueeze(x, v, 0);
    if (*single) v = onx_x_unsqueeze(x, v, 0);
    return onx_emit(x, "Sub", v, onx_x_reduce(x, "ReduceMean", v, 1, &last, true));
}

static onx_value *products(onx_export *x, onx_value *rows) {
    return rows ? onx_emit(x, "MatMul", rows, onx_x_swap(x, rows, 0, 1)) : NULL;
}

static void give_square(onx_export *x, onx_value *v, bool single, onx_xv *out) {
    if (single) v = onx_x_reshape(x, v, 0, NULL);
    onx_x_give(x, out, v);
}

/* (self, correction, fweights, aweights): the counts of observations multiply their weights. The
 * mean is a weighted one, and so is what the sum of products is divided by. */
static void give_weighted_cov(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    if (rank < 2) v = onx_x_unsqueeze(x, v, 0);
    bool counted = !onx_xv_is(&a[2], ONX_X_NONE), weighed = !onx_xv_is(&a[3], ONX_X_NONE);
    onx_value *count = counted ? onx_x_as(x, &a[2], dtype) : NULL;
    onx_value *weight = weighed ? onx_x_as(x, &a[3], dtype) : NULL, *w = count ? count : weight;
    if (count && weight) w = onx_emit(x, "Mul", count, weight);
    onx_value *all = onx_x_reduce(x, "ReduceSum", w, 0, NULL, false);
    int64_t last = -1;
    onx_value *mean = onx_x_reduce(x, "ReduceSum", onx_emit(x, "Mul", v, w), 1, &last, true);
    v = onx_emit(x, "Sub", v, onx_emit(x, "Div", mean, all));
    onx_value *less = onx_x_as(x, &a[1], dtype);
    if (weight) {
        onx_value *squares =
            onx_x_reduce(x, "ReduceSum", onx_emit(x, "Mul", w, weight), 0, NULL, false);
        less = onx_emit(x, "Mul", less, onx_emit(x, "Div", squares, all));
    }
    onx_value *over = onx_emit_number(x, "Max", onx_emit(x, "Sub", all, less), 0);
    if (!onx_x_ok(x)) return;
    onx_value *sum = onx_emit(x, "MatMul", onx_emit(x, "Mul", v, w), onx_x_swap(x, v, 0, 1));
    give_square(x, onx_emit(x, "Div", sum, over), rank < 2, out);
}

static void lower_cov(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool single;
    if (!onx_xv_is(&a[2], ONX_X_NONE) || !onx_xv_is(&a[3], ONX_X_NONE)) {
        give_weighted_cov(x, a, out);
        return;
    }
    onx_value *rows = centered(x, a, &single);
    if (!rows) return;
    onx_xv n = onx_x_arith(x, "sub", onx_x_size_of(x, rows, 1), a[1]);
    onx_value *size = onx_x_as(x, &n, onx_x_dtype(x, rows));
    give_square(x, onx_emit(x, "Div", products(x, rows), size), single, out);
}

static void lower_corrcoef(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool single;
    int64_t last = -1;
    onx_value *rows = centered(x, a, &single);
    onx_value *unit = onx_emit(x, "Div", rows, onx_x_norm(x, rows, 2, 1, &last, true));
    onx_value *v = products(x, unit);
    if (!v) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    v = onx_emit(x, "Clip", v, onx_x_number(x, dtype, -1), onx_x_number(x, dtype, 1));
    give_square(x, v, single, out);
}

/* ─ Integrals ────────────────────────────────────────────────────────────────────────────────── */

/* All but the first, and all but the last. */
static void neighbours(onx_export *x, onx_value *v, int64_t dim, onx_value *out[2]) {
    onx_xv one = onx_xv_int(x, 1), end = onx_xv_int(x, INT64_MAX);
    out[0] = onx_x_slice(x, v, dim, one, end, 1);
    out[1] = onx_x_slice(x, v, dim, onx_xv_int(x, 0), onx_xv_int(x, -1), 1);
}

/* Areas between neighbours, which are dx apart, or as far as `at` says. */
static onx_value *areas(onx_export *x, const onx_xv *y, const onx_xv *at, const onx_xv *dx,
                        int64_t dim) {
    onx_value *v[2], *w[2];
    neighbours(x, onx_x_floating(x, y), dim, v);
    onx_value *sum = onx_emit(x, "Add", v[0], v[1]);
    if (!at) {
        double step = onx_xv_real(x, dx, 1);
        return onx_emit_number(x, "Mul", sum, step / 2);
    }
    bool is_list = onx_xv_rank(x, at) == 1; /* of places: along the last axis */
    neighbours(x, onx_x_floating(x, at), is_list ? 0 : dim, w);
    onx_value *gap = onx_emit_number(x, "Mul", onx_emit(x, "Sub", w[0], w[1]), 0.5);
    size_t rank = onx_xv_rank(x, y), axis;
    if (is_list && rank != SIZE_MAX && onx_x_axis(x, dim, rank, &axis))
        for (size_t i = axis + 1; i < rank; i++) gap = onx_x_unsqueeze(x, gap, -1);
    return onx_emit(x, "Mul", sum, gap);
}

static void give_integral(onx_export *x, const onx_xv *a, bool at, onx_xv *out) {
    bool cumulative = onx_x_op(x).data[0] == 'c';
    int64_t dim = onx_xv_whole(x, &a[2], -1);
    onx_value *v = areas(x, a, at ? &a[1] : NULL, &a[1], dim);
    if (cumulative)
        v = onx_emit(x, "CumSum", v, onx_x_int(x, dim));
    else
        v = onx_x_reduce(x, "ReduceSum", v, 1, &dim, false);
    onx_x_give(x, out, v);
}
static void lower_integral(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_integral(x, a, false, out);
}
static void lower_integral_at(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_integral(x, a, true, out);
}

/* ─ The rest ─────────────────────────────────────────────────────────────────────────────────── */

/* Parts along `dim` whose norm is above a bound are shortened to it. */
static void lower_renorm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    size_t rank = onx_x_rank(x, v), axis, n = 0;
    int64_t axes[ONX_RANK_MAX];
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, &a[2], 0), rank, &axis)) return;
    for (size_t i = 0; i < rank; i++)
        if (i != axis) axes[n++] = (int64_t)i;
    onx_dtype dtype = onx_x_dtype(x, v);
    double bound = onx_xv_real(x, &a[3], 0);
    onx_value *norm =
        n ? onx_x_norm(x, v, onx_xv_real(x, &a[1], 2), n, axes, true) : onx_emit(x, "Abs", v);
    onx_value *factor =
        onx_emit(x, "Div", onx_x_number(x, dtype, bound), onx_emit_number(x, "Add", norm, 1e-7));
    factor = onx_emit(x, "Where", onx_emit_number(x, "Greater", norm, bound), factor,
                      onx_x_number(x, dtype, 1));
    onx_x_give(x, out, onx_emit(x, "Mul", v, factor));
}

/* (weight, indices, max_norm, norm_type): the rows that are looked up are shortened. */
static void lower_embedding_renorm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv args[] = {a[0], a[3], onx_xv_int(x, 0), a[2]}, rest = onx_xv_int(x, -1);
    onx_value *v = onx_xv_value(x, a), *at = onx_x_as(x, &a[1], ONX_DTYPE_I64);
    if (!v || !at) return;
    lower_renorm(x, args, out);
    onx_xv rows = onx_x_size_of(x, v, 0);
    at = onx_x_reshape(x, at, 1, &rest);
    onx_value *none = onx_x_fill(x, onx_x_number(x, ONX_DTYPE_I32, 0), 1, &rows);
    onx_value *ones = onx_lower_expand_like(x, onx_x_number(x, ONX_DTYPE_I32, 1), at);
    onx_value *used = onx_emit(x, "ScatterElements", none, at, ones);
    used = onx_x_unsqueeze(x, onx_x_cast(x, used, ONX_DTYPE_BOOL), 1);
    if (onx_x_ok(x)) onx_x_give(x, out, onx_emit(x, "Where", used, onx_xv_value(x, out), v));
}

/* Powers of each element: N - 1 to 0, or 0 to N - 1. */
static void lower_vander(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    if (!v) return;
    onx_xv n = onx_xv_is(&a[1], ONX_X_NONE) ? onx_x_size_of(x, v, 0) : a[1];
    onx_value *powers = onx_x_count(x, &n);
    if (!onx_xv_true(&a[2])) {
        onx_xv last = onx_x_arith(x, "sub", n, onx_xv_int(x, 1));
        powers = onx_emit(x, "Sub", onx_x_scalar(x, &last, ONX_DTYPE_I64), powers);
    }
    powers = onx_x_cast(x, powers, onx_x_dtype(x, v));
    onx_x_give(x, out, onx_emit_wide(x, "Pow", onx_x_unsqueeze(x, v, -1), powers));
}
/* (x, N): of each list along the last axis, rising. */
static void lower_linalg_vander(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_xv_rank(x, a);
    if (rank == SIZE_MAX || rank < 1) return;
    onx_value *v = onx_xv_value(x, a);
    onx_xv n = onx_xv_is(&a[1], ONX_X_NONE) ? onx_x_size_of(x, v, rank - 1) : a[1];
    onx_value *powers = onx_x_cast(x, onx_x_count(x, &n), onx_x_dtype(x, v));
    onx_x_give(x, out, onx_emit_wide(x, "Pow", onx_x_unsqueeze(x, v, -1), powers));
}

#define INTEGRAL(name)                                                                             \
    {name ".x(Tensor y, Tensor x, *, int dim=-1)", lower_integral_at, NULL}, {                     \
        name ".dx(Tensor y, *, Scalar dx=1, int dim=-1)", lower_integral, NULL                     \
    }
const onx_aten onx_aten_statistic[] = {
    {"cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)",
     lower_cov, NULL},
    {"corrcoef(Tensor self)", lower_corrcoef, NULL},
    INTEGRAL("trapezoid"),
    INTEGRAL("trapz"),
    INTEGRAL("cumulative_trapezoid"),
    {"renorm(Tensor self, Scalar p, int dim, Scalar maxnorm)", lower_renorm, NULL},
    {"embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type)",
     lower_embedding_renorm, NULL},
    {"vander(Tensor x, int? N=None, bool increasing=False)", lower_vander, NULL},
    {"linalg_vander(Tensor x, *, int? N=None)", lower_linalg_vander, NULL},
    {NULL, NULL, NULL},
};
