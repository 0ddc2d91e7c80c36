/* distribution.c: how numbers are spread: histograms, quantiles of those that are numbers, and
 * slopes between neighbours. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

#include <math.h>

#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)
#define WHERE(is, a, b) onx_emit(x, "Where", is, a, b)

/* ─ Histograms ───────────────────────────────────────────────────────────────────────────────── */

/* All but the first, and all but the last, along an axis. */
static void neighbours(onx_export *x, onx_value *v, int64_t axis, onx_value *out[2]) {
    out[0] = onx_x_slice(x, v, axis, onx_xv_int(x, 0), onx_xv_int(x, -1), 1);
    out[1] = onx_x_slice(x, v, axis, onx_xv_int(x, 1), onx_xv_int(x, INT64_MAX), 1);
}

/* How many elements, or how much weight, lie in each bin; the last one has both its ends. */
static onx_value *in_bins(onx_export *x, onx_value *v, onx_value *edges, onx_value *weight) {
    onx_value *ends[2];
    int64_t first = 0;
    neighbours(x, edges, 0, ends);
    onx_value *top = onx_x_reduce(x, "ReduceMax", edges, 0, NULL, false);
    v = onx_x_unsqueeze(x, v, 1);
    onx_value *last = G("And", G("Equal", ends[1], top), G("Equal", v, top));
    onx_value *in = G("And", G("GreaterOrEqual", v, ends[0]), G("Or", G("Less", v, ends[1]), last));
    if (!in) return NULL;
    onx_value *counts = onx_x_cast(x, in, onx_x_dtype(x, v));
    if (weight) counts = G("Mul", counts, onx_x_unsqueeze(x, weight, 1));
    return onx_x_reduce(x, "ReduceSum", counts, 1, &first, false);
}

/* (self, …, weight, density), with the edges of the bins. */
static void give_histogram(onx_export *x, const onx_xv *a, onx_value *edges, const onx_xv *weight,
                           const onx_xv *density, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1);
    onx_value *v = onx_x_reshape(x, onx_xv_value(x, a), 1, &rest), *ends[2];
    bool weighed = !onx_xv_is(weight, ONX_X_NONE);
    onx_value *w = weighed ? onx_x_reshape(x, onx_xv_value(x, weight), 1, &rest) : NULL;
    onx_value *counts = onx_x_ok(x) ? in_bins(x, v, edges, w) : NULL;
    if (onx_xv_true(density)) {
        neighbours(x, edges, 0, ends);
        onx_value *all = onx_x_reduce(x, "ReduceSum", counts, 0, NULL, false);
        counts = G("Div", G("Div", counts, G("Sub", ends[1], ends[0])), all);
    }
    onx_x_give(x, &out[0], counts);
    onx_x_give(x, &out[1], edges);
}

/* (self, bins, range, weight, density) */
static void lower_histogram(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a), *low, *high;
    if (!v) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    if (onx_xv_is_list(&a[2]) && a[2].list->n == 2) {
        low = onx_x_as(x, &a[2].list->v[0], dtype);
        high = onx_x_as(x, &a[2].list->v[1], dtype);
    } else {
        low = onx_x_reduce(x, "ReduceMin", v, 0, NULL, false);
        high = onx_x_reduce(x, "ReduceMax", v, 0, NULL, false);
    }
    onx_xv count = onx_x_arith(x, "add", a[1], onx_xv_int(x, 1));
    onx_value *step = G("Div", G("Sub", high, low), onx_x_as(x, &a[1], dtype));
    onx_value *edges = G("Add", G("Mul", onx_x_cast(x, onx_x_count(x, &count), dtype), step), low);
    give_histogram(x, a, edges, &a[3], &a[4], out);
}
/* (self, bins, weight, density) */
static void lower_histogram_at(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_histogram(x, a, onx_xv_value(x, &a[1]), &a[2], &a[3], out);
}

/* ─ Quantiles without NaN ────────────────────────────────────────────────────────────────────── */

/* Where between the two elements around a place the result is: 0 … 1. */
static onx_value *part_of(onx_export *x, onx_value *place, onx_value *low, onx_str mode) {
    if (onx_str_is(mode, "linear")) return G("Sub", place, low);
    if (onx_str_is(mode, "nearest")) return G("Sub", F("Round", place), low);
    if (onx_str_is(mode, "midpoint")) return N("Mul", G("Sub", F("Ceil", place), low), 0.5);
    return onx_x_number(x, ONX_DTYPE_F64, onx_str_is(mode, "higher"));
}

static onx_value *gathered(onx_export *x, onx_value *v, onx_value *at) {
    at = N("Max", onx_x_cast(x, at, ONX_DTYPE_I64), 0);
    return onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", -1)), v, at);
}

/* Quantiles along the last axis, which becomes that of q: NaN is sorted to the end. */
static onx_value *nanquantile(onx_export *x, onx_value *v, onx_value *q, onx_str mode) {
    int64_t last = -1;
    size_t rank = onx_x_rank(x, v);
    onx_value *top[2], *nan = onx_emit_wide(x, "IsNaN", v);
    if (rank == SIZE_MAX || !nan) return NULL;
    onx_value *count = onx_x_cast(x, F("Not", nan), ONX_DTYPE_F64);
    count = onx_x_reduce(x, "ReduceSum", count, 1, &last, true);
    onx_xv n = onx_x_size_of(x, v, rank - 1);
    onx_value *in[2] = {WHERE(nan, onx_x_number(x, ONX_DTYPE_F64, (double)INFINITY), v),
                        onx_x_shape(x, 1, &n)};
    if (!onx_emit_node(x, "TopK", ONX_ATTRS(ONX_AI("largest", 0)), 2, in, 2, top)) return NULL;
    onx_value *place = G("Mul", N("Sub", count, 1), q), *low = F("Floor", place);
    onx_value *from = gathered(x, top[0], low), *to = gathered(x, top[0], F("Ceil", place));
    onx_value *part = G("Mul", G("Sub", to, from), part_of(x, place, low, mode));
    onx_value *y = WHERE(G("Equal", from, to), from, G("Add", from, part));
    return WHERE(N("Equal", count, 0), onx_x_number(x, ONX_DTYPE_F64, (double)NAN), y);
}

/* (self, q, dim, keepdim, interpolation) */
static void lower_nanquantile(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1);
    bool flat = onx_xv_is(&a[2], ONX_X_NONE);
    onx_value *v = onx_xv_value(x, a), *q = onx_x_as(x, &a[1], ONX_DTYPE_F64);
    size_t all = onx_x_rank(x, v), axis;
    if (all == SIZE_MAX || !q) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    if (flat) v = onx_x_reshape(x, v, 1, &rest);
    size_t rank = flat ? 1 : all;
    if (!onx_x_axis(x, onx_xv_whole(x, &a[2], 0), rank, &axis)) return;
    int64_t last = (int64_t)rank - 1;
    bool many = onx_x_rank(x, q) == 1;
    if (!many) q = onx_x_unsqueeze(x, q, 0);
    if ((int64_t)axis != last) v = onx_x_swap(x, v, (int64_t)axis, last);
    v = nanquantile(x, onx_x_cast(x, v, ONX_DTYPE_F64), q, a[4].str);
    /* The axis of q goes to the front, and where it came from there is 1, or nothing. */
    onx_value *one = onx_x_unsqueeze(x, v, 0);
    if (!one) return;
    v = onx_x_swap(x, one, 0, last + 1);
    if ((int64_t)axis != last) v = onx_x_swap(x, v, (int64_t)axis + 1, last + 1);
    if (!onx_xv_true(&a[3])) v = onx_x_squeeze(x, v, (int64_t)axis + 1);
    for (size_t i = 1; onx_xv_true(&a[3]) && flat && i < all; i++) v = onx_x_unsqueeze(x, v, 1);
    onx_x_give(x, out, onx_x_cast(x, many ? v : onx_x_squeeze(x, v, 0), dtype));
}

/* ─ Slopes ───────────────────────────────────────────────────────────────────────────────────── */

/* Along one axis: between the slopes on both sides, weighted by how near they are; at the ends the
 * one slope there is, or what the next two lead to. `gap`: a number, or one for each step. */
static onx_value *slope(onx_export *x, onx_value *v, int64_t axis, onx_value *gap, bool even,
                        bool second) {
    onx_value *both[2], *sides[2], *gaps[2];
    neighbours(x, v, axis, both);
    onx_value *d = G("Div", G("Sub", both[1], both[0]), gap);
    neighbours(x, d, axis, sides);
    if (!onx_x_ok(x)) return NULL;
    onx_value *w = onx_x_number(x, onx_x_dtype(x, v), 0.5);
    if (!even) {
        neighbours(x, gap, axis, gaps);
        w = G("Div", gaps[0], G("Add", gaps[0], gaps[1]));
    }
    onx_value *step = G("Mul", G("Sub", sides[1], sides[0]), w);
    onx_xv zero = onx_xv_int(x, 0), one = onx_xv_int(x, 1), last = onx_xv_int(x, -1);
    onx_xv end = onx_xv_int(x, INT64_MAX);
    onx_value *parts[3] = {onx_x_slice(x, d, axis, zero, one, 1), G("Add", sides[0], step),
                           onx_x_slice(x, d, axis, last, end, 1)};
    if (second) {
        onx_value *other = G("Sub", G("Sub", sides[1], sides[0]), step);
        parts[0] = G("Sub", parts[0], onx_x_slice(x, step, axis, zero, one, 1));
        parts[2] = G("Add", parts[2], onx_x_slice(x, other, axis, last, end, 1));
    }
    return onx_x_ok(x) ? onx_x_concat(x, 3, parts, axis) : NULL;
}

/* The gaps along an axis: a number, or the differences of places. */
static onx_value *gap_of(onx_export *x, const onx_xv *spacing, onx_dtype dtype, size_t rank,
                         size_t axis, bool *even) {
    onx_value *both[2];
    *even = spacing->kind != ONX_X_TENSOR || onx_xv_rank(x, spacing) == 0;
    if (spacing->kind == ONX_X_NONE) return onx_x_number(x, dtype, 1);
    onx_value *gap = onx_x_as(x, spacing, dtype);
    if (*even) return gap;
    neighbours(x, gap, 0, both);
    gap = G("Sub", both[1], both[0]);
    for (size_t i = axis + 1; i < rank; i++) gap = onx_x_unsqueeze(x, gap, -1);
    return gap;
}

/* (self, spacing, dim, edge_order) */
static void lower_gradient(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    size_t rank = onx_x_rank(x, v);
    int64_t axes[ONX_RANK_MAX];
    if (rank == SIZE_MAX) return;
    size_t n = onx_x_axes(x, &a[2], rank, axes);
    for (size_t i = 0; !n && i < rank; i++) axes[i] = (int64_t)i;
    if (!n) n = rank;
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < n && onx_x_ok(x); i++) {
        const onx_xv *spacing = &a[1];
        bool even, second = onx_xv_is_one(x, &a[3], 2);
        if (onx_xv_is_list(spacing) && spacing->list->n)
            spacing = &spacing->list->v[spacing->list->n == 1 ? 0 : i];
        onx_value *gap = gap_of(x, spacing, onx_x_dtype(x, v), rank, (size_t)axes[i], &even);
        onx_value *d = slope(x, v, axes[i], gap, even, second);
        if (d) onx_xlist_add(x, out->list, onx_xv_tensor(x, d));
    }
}

#define GRADIENT(spacing, dim)                                                                     \
    "(Tensor self, *, " spacing ", " dim ", int edge_order=1) -> Tensor[]"
const onx_aten onx_aten_distribution[] = {
    {"histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, "
     "bool density=False) -> (Tensor, Tensor)",
     lower_histogram, NULL},
    {"histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, "
     "bool density=False) -> (Tensor, Tensor)",
     lower_histogram_at, NULL},
    {"nanquantile(Tensor self, Any q, int? dim=None, bool keepdim=False, *, "
     "str interpolation=\"linear\")",
     lower_nanquantile, NULL},
    {"gradient.scalarint" GRADIENT("Scalar? spacing=None", "int? dim=None"), lower_gradient, NULL},
    {"gradient.scalararray" GRADIENT("Scalar? spacing=None", "int[]? dim=None"), lower_gradient,
     NULL},
    {"gradient.tensorarray" GRADIENT("Tensor[] spacing", "int[]? dim=None"), lower_gradient, NULL},
    {"gradient.scalarrayarray" GRADIENT("Scalar[] spacing", "int[]? dim=None"), lower_gradient,
     NULL},
    {NULL, NULL, NULL},
};
