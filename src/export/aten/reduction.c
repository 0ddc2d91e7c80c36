/* reduction.c: one number from many: sums, means, extremes, variances, norms.
 *
 * A dim argument that is None or an empty list means all dimensions. Sums and products of integers
 * and bools are int64. */
#include "export/aten/lowering.h"

#include <math.h>

/* ─ Over some dimensions ─────────────────────────────────────────────────────────────────────── */

typedef struct range {
    size_t n; /* 0: all */
    int64_t axes[ONX_RANK_MAX];
    bool keep;
} range;

/* Of complex tensors all means all but the last axis. */
static range range_of(onx_export *x, const onx_xv *v, const onx_xv *dims, const onx_xv *keep) {
    range r = {.keep = keep && onx_xv_true(keep)};
    size_t rank = onx_xv_rank(x, v);
    if (rank == SIZE_MAX) return r;
    r.n = dims ? onx_x_axes(x, dims, rank, r.axes) : 0;
    if (!r.n && onx_xv_is_complex(v))
        for (; r.n < rank; r.n++) r.axes[r.n] = (int64_t)r.n;
    return r;
}

static onx_value *reduce(onx_export *x, const char *op, onx_value *v, const range *r) {
    if (!v) return NULL;
    return onx_emit_wide_with(x, op, ONX_ATTRS(ONX_AI("keepdims", r->keep)), v,
                              r->n ? onx_x_ints(x, r->n, r->axes) : NULL);
}

static onx_xv give_like(onx_export *x, const onx_xv *a, onx_value *v) {
    return onx_xv_is_complex(a) ? onx_xv_complex(x, v) : onx_xv_tensor(x, v);
}

/* What is summed, in the type of the result. */
static onx_value *summands(onx_export *x, const onx_xv *a, const onx_xv *dtype_arg) {
    onx_dtype dtype = onx_xv_dtype(x, dtype_arg), own = onx_xv_type(x, a);
    if (onx_dtype_is_complex(own)) return onx_xv_value(x, a);
    if (!dtype) dtype = onx_dtype_is_float(own) ? own : ONX_DTYPE_I64;
    return onx_x_as(x, a, dtype);
}

static void give_sum(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    range r = range_of(x, a, &a[1], &a[2]);
    *out = give_like(x, a, reduce(x, op, summands(x, a, &a[3]), &r));
}
static void lower_sum(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_sum(x, "ReduceSum", a, out);
}
static void lower_mean(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_sum(x, "ReduceMean", a, out);
}
static void lower_prod(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_sum(x, "ReduceProd", a, out);
}

/* What is no number counts as 0, and for the mean not at all. */
static void give_nansum(onx_export *x, const onx_xv *a, bool mean, onx_xv *out) {
    range r = range_of(x, a, &a[1], &a[2]);
    onx_value *v = summands(x, a, &a[3]);
    if (!v) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *none = onx_emit_wide(x, "IsNaN", v);
    onx_value *sum =
        reduce(x, "ReduceSum", onx_emit(x, "Where", none, onx_x_number(x, dtype, 0), v), &r);
    onx_value *count = mean ? onx_x_cast(x, onx_emit(x, "Not", none), dtype) : NULL;
    onx_x_give(x, out, mean ? onx_emit(x, "Div", sum, reduce(x, "ReduceSum", count, &r)) : sum);
}
static void lower_nansum(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (onx_dtype_is_float(onx_xv_type(x, a)))
        give_nansum(x, a, false, out);
    else
        lower_sum(x, a, out);
}
static void lower_nanmean(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_nansum(x, a, true, out);
}

static void give_extreme(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    range r = range_of(x, a, &a[1], &a[2]);
    onx_x_give(x, out, reduce(x, op, onx_xv_value(x, a), &r));
}
static void lower_amax(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_extreme(x, "ReduceMax", a, out);
}
static void lower_amin(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_extreme(x, "ReduceMin", a, out);
}

static void lower_aminmax(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_extreme(x, "ReduceMin", a, &out[0]);
    give_extreme(x, "ReduceMax", a, &out[1]);
}

static void give_whole(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    range r = {.n = 0};
    onx_x_give(x, out, reduce(x, op, onx_xv_value(x, a), &r));
}
static void lower_max(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_whole(x, "ReduceMax", a, out);
}
static void lower_min(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_whole(x, "ReduceMin", a, out);
}

/* ─ Where the extreme is ─────────────────────────────────────────────────────────────────────── */

static onx_value *place(onx_export *x, const char *op, onx_value *v, int64_t axis, bool keep) {
    if (!v) return NULL;
    if (onx_x_rank(x, v) == 0) return onx_x_int(x, 0);
    return onx_emit_wide_with(x, op, ONX_ATTRS(ONX_AI("axis", axis), ONX_AI("keepdims", keep)), v);
}

static void give_extreme_at(onx_export *x, const char *op, const char *arg, const onx_xv *a,
                            onx_xv *out) {
    give_extreme(x, op, a, &out[0]);
    onx_value *at =
        place(x, arg, onx_xv_value(x, a), onx_xv_whole(x, &a[1], 0), onx_xv_true(&a[2]));
    onx_x_give(x, &out[1], at);
}
static void lower_max_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_extreme_at(x, "ReduceMax", "ArgMax", a, out);
}
static void lower_min_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_extreme_at(x, "ReduceMin", "ArgMin", a, out);
}

/* Without a dimension: in the flat tensor. */
static void give_arg(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    size_t rank = onx_x_rank(x, v);
    bool keep = onx_xv_true(&a[2]);
    onx_xv rest = onx_xv_int(x, -1), ones[ONX_RANK_MAX];
    if (!onx_x_ok(x)) return;
    if (!onx_xv_is(&a[1], ONX_X_NONE)) {
        onx_x_give(x, out, place(x, op, v, onx_xv_whole(x, &a[1], 0), keep));
        return;
    }
    v = place(x, op, onx_x_reshape(x, v, 1, &rest), 0, false);
    for (size_t i = 0; i < rank; i++) ones[i] = onx_xv_int(x, 1);
    onx_x_give(x, out, keep && rank ? onx_x_reshape(x, v, rank, ones) : v);
}
static void lower_argmax(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_arg(x, "ArgMax", a, out);
}
static void lower_argmin(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_arg(x, "ArgMin", a, out);
}

/* ─ Truth ────────────────────────────────────────────────────────────────────────────────────── */

static void give_truth(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    range r = range_of(x, a, &a[1], &a[2]);
    onx_value *v = reduce(x, op, onx_x_as(x, a, ONX_DTYPE_BOOL), &r);
    bool is_byte = onx_xv_type(x, a) == ONX_DTYPE_U8;
    onx_x_give(x, out, is_byte ? onx_x_cast(x, v, ONX_DTYPE_U8) : v);
}
static void lower_any(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_truth(x, "ReduceMax", a, out);
}
static void lower_all(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_truth(x, "ReduceMin", a, out);
}

static void lower_count_nonzero(onx_export *x, const onx_xv *a, onx_xv *out) {
    range r = range_of(x, a, &a[1], NULL);
    onx_value *is = onx_x_cast(x, onx_x_as(x, a, ONX_DTYPE_BOOL), ONX_DTYPE_I64);
    onx_x_give(x, out, reduce(x, "ReduceSum", is, &r));
}

/* ─ Variances ────────────────────────────────────────────────────────────────────────────────── */

/* The mean, with dimensions kept as asked for, and the variance: sum (v - mean)²/(n - correction).
 */
static onx_value *variance(onx_export *x, const onx_xv *a, const onx_xv *dims,
                           const onx_xv *correction, const onx_xv *keep, onx_value **mean) {
    range r = range_of(x, a, dims, keep), kept = r;
    onx_value *v = onx_xv_value(x, a);
    if (!v) return NULL;
    kept.keep = true;
    onx_value *center = reduce(x, "ReduceMean", v, &kept);
    onx_value *sum = reduce(x, "ReduceSumSquare", onx_emit(x, "Sub", v, center), &r);
    onx_xv n = onx_x_arith(x, "sub", onx_x_extent(x, v, r.n, r.axes), *correction);
    *mean = r.keep ? center : reduce(x, "ReduceMean", v, &r);
    return onx_emit(x, "Div", sum, onx_x_as(x, &n, onx_x_dtype(x, v)));
}

/* unbiased is a correction of 1, as is None. */
static onx_xv correction_of(onx_export *x, const onx_xv *v) {
    if (onx_xv_is(v, ONX_X_BOOL)) return onx_xv_int(x, onx_xv_true(v));
    return onx_xv_is(v, ONX_X_NONE) ? onx_xv_int(x, 1) : *v;
}

/* var, std, var_mean and std_mean, by the name of the row; `a`: self, and these. */
static void give_variance(onx_export *x, const onx_xv *a, const onx_xv *dims,
                          const onx_xv *correction, const onx_xv *keep, onx_xv *out) {
    onx_str op = onx_x_op(x);
    onx_xv number = correction_of(x, correction);
    onx_value *mean = NULL, *var = variance(x, a, dims, &number, keep, &mean);
    if (op.data[0] == 's') var = onx_emit(x, "Sqrt", var);
    onx_x_give(x, &out[0], var);
    if (op.size > 3) onx_x_give(x, &out[1], mean);
}

static void lower_var(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_variance(x, a, NULL, &a[1], NULL, out);
}
static void lower_var_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_variance(x, a, &a[1], &a[2], &a[3], out);
}

/* ─ Norms ────────────────────────────────────────────────────────────────────────────────────── */

onx_value *onx_x_norm(onx_export *x, onx_value *v, double p, size_t n, const int64_t *axes,
                      bool keep) {
    range r = {.n = n, .keep = keep};
    if (n) memcpy(r.axes, axes, n * sizeof *axes);
    if (!v) return NULL;
    if (p == 2) return reduce(x, "ReduceL2", v, &r);
    if (p == 1) return reduce(x, "ReduceL1", v, &r);
    onx_value *size = onx_emit(x, "Abs", v);
    if (isinf(p)) return reduce(x, p > 0 ? "ReduceMax" : "ReduceMin", size, &r);
    if (p == 0) {
        onx_value *is = onx_emit_number(x, "Greater", size, 0);
        return reduce(x, "ReduceSum", onx_x_cast(x, is, onx_x_dtype(x, v)), &r);
    }
    onx_value *sum = reduce(x, "ReduceSum", onx_emit_number(x, "Pow", size, p), &r);
    return onx_emit_number(x, "Pow", sum, 1 / p);
}

static void give_norm(onx_export *x, const onx_xv *a, double p, const onx_xv *dims,
                      const onx_xv *keep, const onx_xv *dtype_arg, onx_xv *out) {
    onx_dtype dtype = dtype_arg ? onx_xv_dtype(x, dtype_arg) : ONX_DTYPE_NONE;
    range r = range_of(x, a, dims, keep);
    onx_value *v;
    if (onx_xv_is_complex(a)) {
        onx_xv size;
        onx_complex_unary(x, onx_str_of("abs"), a, &size);
        v = onx_x_ok(x) ? onx_xv_value(x, &size) : NULL;
    } else {
        v = onx_x_floats(x, a, dtype);
    }
    onx_x_give(x, out, onx_x_norm(x, v, p, r.n, r.axes, r.keep));
}

static void lower_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_norm(x, a, onx_xv_real(x, &a[1], 2), &a[2], &a[3], &a[4], out);
}
static void lower_frobenius_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_norm(x, a, 2, &a[1], &a[2], NULL, out);
}

static void lower_logsumexp(onx_export *x, const onx_xv *a, onx_xv *out) {
    range r = range_of(x, a, &a[1], &a[2]);
    onx_x_give(x, out, reduce(x, "ReduceLogSumExp", onx_x_floating(x, a), &r));
}

#define SUM(name, lower)                                                                           \
    {                                                                                              \
        name "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",     \
            lower, NULL                                                                            \
    }
#define OVER(name, lower)                                                                          \
    { name "(Tensor self, int[]? dim=None, bool keepdim=False)", lower, NULL }
#define EXTREME(name, lower, lower_dim)                                                            \
    {name "(Tensor self)", lower, NULL}, {                                                         \
        name ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",  \
            lower_dim, NULL                                                                        \
    }
#define VARIANCE(name, outs)                                                                       \
    {name "(Tensor self, bool unbiased=True)" outs, lower_var, NULL},                              \
        {name ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)" outs,       \
         lower_var_dim, NULL},                                                                     \
    {                                                                                              \
        name ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "             \
             "bool keepdim=False)" outs,                                                           \
            lower_var_dim, NULL                                                                    \
    }
const onx_aten onx_aten_reduction[] = {
    SUM("sum", lower_sum),
    SUM("mean", lower_mean),
    SUM("prod", lower_prod),
    SUM("nansum", lower_nansum),
    SUM("nanmean", lower_nanmean),
    OVER("amax", lower_amax),
    OVER("amin", lower_amin),
    OVER("any", lower_any),
    OVER("all", lower_all),
    {"count_nonzero(Tensor self, int[]? dim=None)", lower_count_nonzero, NULL},
    {"aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
     lower_aminmax, NULL},
    {"_aminmax(Tensor self, int? dim=None, bool keepdim=False) -> (Tensor, Tensor)", lower_aminmax,
     NULL},
    EXTREME("max", lower_max, lower_max_dim),
    EXTREME("min", lower_min, lower_min_dim),
    {"argmax(Tensor self, int? dim=None, bool keepdim=False)", lower_argmax, NULL},
    {"argmin(Tensor self, int? dim=None, bool keepdim=False)", lower_argmin, NULL},
    VARIANCE("var", ""),
    VARIANCE("std", ""),
    VARIANCE("var_mean", " -> (Tensor, Tensor)"),
    VARIANCE("std_mean", " -> (Tensor, Tensor)"),
    {"norm(Tensor self, Scalar? p=2, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None)",
     lower_norm, NULL},
    {"native_norm(Tensor self, Scalar? p=2, int[1]? dim=None, bool keepdim=False, "
     "ScalarType? dtype=None)",
     lower_norm, NULL},
    {"linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, "
     "ScalarType? dtype=None)",
     lower_norm, NULL},
    {"frobenius_norm(Tensor self, int[1] dim=[], bool keepdim=False)", lower_frobenius_norm, NULL},
    {"logsumexp(Tensor self, int[1] dim, bool keepdim=False)", lower_logsumexp, NULL},
    {"special_logsumexp(Tensor self, int[1] dim, bool keepdim=False)", lower_logsumexp, NULL},
    {NULL, NULL, NULL},
};
