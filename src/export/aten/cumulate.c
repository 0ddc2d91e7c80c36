/* cumulate.c: results for every beginning of an axis: cumsum, cumprod, cummax …
 *
 * ONNX has CumSum, and CumProd from opset 26. The others are reductions of a square: row i of it
 * has the first i + 1 elements, and in the rest what does not change the result. */
#include "export/aten/lowering.h"

#include <math.h>

typedef struct square {
    onx_value *value; /* elements along `axis` + 1 */
    int64_t axis;
} square;

/* n numbers along `axis` of the square, which has `rank` axes. */
static onx_value *along(onx_export *x, onx_value *numbers, size_t axis, size_t rank) {
    int64_t axes[ONX_RANK_MAX];
    size_t n = 0;
    for (size_t i = axis + 1; i < rank; i++) axes[n++] = (int64_t)(i - axis);
    return n ? onx_emit(x, "Unsqueeze", numbers, onx_x_ints(x, n, axes)) : numbers;
}

static bool square_of(onx_export *x, onx_value *v, const onx_xv *dim, double rest, square *out) {
    size_t rank = onx_x_rank(x, v), axis;
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, dim, 0), rank, &axis)) return false;
    if (rank + 1 > ONX_RANK_MAX) return onx_x_fail(x, ONX_LIMIT, "a tensor of rank %zu", rank);
    onx_xv size = onx_x_size_of(x, v, axis);
    onx_value *numbers = onx_x_count(x, &size);
    onx_value *is = onx_emit(x, "LessOrEqual", along(x, numbers, axis + 1, rank + 1),
                             along(x, numbers, axis, rank + 1));
    onx_value *none = onx_x_number(x, onx_x_dtype(x, v), rest);
    out->axis = (int64_t)axis;
    out->value = onx_emit(x, "Where", is, onx_x_unsqueeze(x, v, (int64_t)axis), none);
    return onx_x_ok(x);
}

static onx_value *reduce(onx_export *x, const char *op, const square *s) {
    int64_t axis = s->axis + 1;
    return onx_emit_wide_with(x, op, ONX_ATTRS(ONX_AI("keepdims", 0)), s->value,
                              onx_x_ints(x, 1, &axis));
}

static onx_value *summands(onx_export *x, const onx_xv *a) {
    onx_dtype dtype = onx_xv_dtype(x, &a[2]), own = onx_xv_type(x, a);
    if (!dtype) dtype = onx_dtype_is_float(own) ? own : ONX_DTYPE_I64;
    return onx_x_as(x, a, dtype);
}

static void lower_cumsum(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = summands(x, a);
    bool flat = onx_x_rank(x, v) == 0;
    onx_value *axis = onx_x_int(x, onx_xv_whole(x, &a[1], 0));
    onx_x_give(x, out, flat ? v : onx_emit_wide(x, "CumSum", v, axis));
}

static void lower_cumprod(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = summands(x, a);
    square s;
    if (onx_x_rank(x, v) == 0) {
        onx_x_give(x, out, v);
    } else if (x->opset >= 26) {
        onx_x_give(x, out, onx_emit_wide(x, "CumProd", v, onx_x_int(x, onx_xv_whole(x, &a[1], 0))));
    } else if (square_of(x, v, &a[1], 1, &s)) {
        onx_x_give(x, out, reduce(x, "ReduceProd", &s));
    }
}

static void lower_logcumsumexp(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    square s;
    if (onx_x_rank(x, v) == 0)
        onx_x_give(x, out, v);
    else if (square_of(x, v, &a[1], -(double)INFINITY, &s))
        onx_x_give(x, out, reduce(x, "ReduceLogSumExp", &s));
}

/* The place is that of the last one of those that are equal. */
static void give_extreme(onx_export *x, const onx_xv *a, bool max, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    double rest = max ? -(double)INFINITY : (double)INFINITY;
    square s;
    if (onx_x_rank(x, v) == 0) {
        onx_x_give(x, &out[0], v);
        onx_x_give(x, &out[1], onx_x_int(x, 0));
    } else if (square_of(x, v, &a[1], rest, &s)) {
        onx_xattr attrs[] = {ONX_AI("axis", s.axis + 1),
                             ONX_AI("keepdims", 0),
                             ONX_AI("select_last_index", 1),
                             {.name = NULL}};
        onx_x_give(x, &out[0], reduce(x, max ? "ReduceMax" : "ReduceMin", &s));
        onx_x_give(x, &out[1], onx_emit_wide_with(x, max ? "ArgMax" : "ArgMin", attrs, s.value));
    }
}
static void lower_cummax(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_extreme(x, a, true, out);
}
static void lower_cummin(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_extreme(x, a, false, out);
}

/* Each element minus the one before it, n times. */
static void lower_diff(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *parts[3], *v = onx_xv_value(x, a);
    int64_t dim = onx_xv_whole(x, &a[2], -1);
    size_t n = 0;
    if (!onx_xv_is(&a[3], ONX_X_NONE)) parts[n++] = onx_xv_value(x, &a[3]);
    parts[n++] = v;
    if (!onx_xv_is(&a[4], ONX_X_NONE)) parts[n++] = onx_xv_value(x, &a[4]);
    if (!onx_x_ok(x)) return;
    v = onx_x_concat(x, n, parts, dim);
    onx_xv one = onx_xv_int(x, 1), end = onx_xv_int(x, INT64_MAX), zero = onx_xv_int(x, 0);
    onx_xv last = onx_xv_int(x, -1);
    int64_t times = onx_xv_whole(x, &a[1], 1);
    bool is_bool = onx_xv_type(x, a) == ONX_DTYPE_BOOL;
    for (int64_t i = 0; i < times && onx_x_ok(x); i++)
        v = onx_emit_wide(x, is_bool ? "Xor" : "Sub", onx_x_slice(x, v, dim, one, end, 1),
                          onx_x_slice(x, v, dim, zero, last, 1));
    onx_x_give(x, out, v);
}

const onx_aten onx_aten_cumulate[] = {
    {"cumsum(Tensor self, int dim, *, ScalarType? dtype=None)", lower_cumsum, NULL},
    {"cumprod(Tensor self, int dim, *, ScalarType? dtype=None)", lower_cumprod, NULL},
    {"logcumsumexp(Tensor self, int dim)", lower_logcumsumexp, NULL},
    {"cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", lower_cummax, NULL},
    {"cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", lower_cummin, NULL},
    {"diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)",
     lower_diff, NULL},
    {NULL, NULL, NULL},
};
