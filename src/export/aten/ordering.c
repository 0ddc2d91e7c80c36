/* ordering.c: what depends on the order of elements: sorting, the k largest, medians, quantiles,
 * distinct values, counting into bins, places in sorted lists. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

#include <math.h>

/* ─ Sorting ──────────────────────────────────────────────────────────────────────────────────── */

/* TopK is stable: of equal elements the first comes first. A tensor of rank 0 is sorted. */
static bool sorted(onx_export *x, onx_value *v, const onx_xv *k, int64_t dim, bool largest,
                   onx_value *out[2]) {
    out[0] = v, out[1] = NULL;
    size_t rank = onx_x_rank(x, v), axis;
    if (!onx_x_ok(x) || !onx_x_axis(x, dim, rank, &axis)) return false;
    if (!rank) return (out[1] = onx_x_int(x, 0)) != NULL;
    onx_xv n = k ? *k : onx_x_size_of(x, v, axis);
    onx_value *in[2] = {v, onx_x_shape(x, 1, &n)};
    return onx_emit_wide_node(x, "TopK",
                              ONX_ATTRS(ONX_AI("axis", (int64_t)axis), ONX_AI("largest", largest)),
                              2, in, 2, out);
}

static void give_sorted(onx_export *x, const onx_xv *a, const onx_xv *k, const onx_xv *dim,
                        bool largest, onx_xv *out) {
    onx_value *both[2];
    if (!sorted(x, onx_xv_value(x, a), k, onx_xv_whole(x, dim, -1), largest, both)) return;
    onx_x_give(x, &out[0], both[0]);
    onx_x_give(x, &out[1], both[1]);
}

static void lower_sort(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_sorted(x, a, NULL, &a[1], onx_xv_true(&a[2]), out);
}
static void lower_sort_stable(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_sorted(x, a, NULL, &a[2], onx_xv_true(&a[3]), out);
}
static void lower_topk(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_sorted(x, a, &a[1], &a[2], onx_xv_true(&a[3]), out);
}
static void lower_argsort(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv both[2] = {{.kind = ONX_X_NONE}, {.kind = ONX_X_NONE}};
    lower_sort(x, a, both);
    *out = both[1];
}
static void lower_argsort_stable(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv both[2] = {{.kind = ONX_X_NONE}, {.kind = ONX_X_NONE}};
    lower_sort_stable(x, a, both);
    *out = both[1];
}
static void lower_msort(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv first = onx_xv_int(x, 0), both[2] = {{.kind = ONX_X_NONE}, {.kind = ONX_X_NONE}};
    give_sorted(x, a, NULL, &first, false, both);
    *out = both[0];
}

/* ─ One element of the sorted ones ───────────────────────────────────────────────────────────── */

/* Number k - 1 of the k smallest. */
static void give_kth(onx_export *x, onx_value *v, const onx_xv *k, int64_t dim, bool keep,
                     onx_xv *out) {
    onx_value *both[2];
    onx_xv last = onx_x_arith(x, "sub", *k, onx_xv_int(x, 1));
    if (!sorted(x, v, k, dim, false, both)) return;
    for (size_t i = 0; i < 2; i++) {
        bool is_flat = onx_x_rank(x, v) == 0;
        onx_value *index = keep ? onx_x_shape(x, 1, &last) : onx_x_scalar(x, &last, ONX_DTYPE_I64);
        onx_value *kth =
            is_flat ? both[i]
                    : onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", dim)), both[i], index);
        onx_x_give(x, &out[i], kth);
    }
}

static void lower_kthvalue(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_kth(x, onx_xv_value(x, a), &a[1], onx_xv_whole(x, &a[2], -1), onx_xv_true(&a[3]), out);
}

/* The lower one of two in the middle. */
static void give_median(onx_export *x, onx_value *v, int64_t dim, bool keep, onx_xv *out) {
    size_t axis, rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || !onx_x_axis(x, dim, rank, &axis)) return;
    onx_xv n = rank ? onx_x_size_of(x, v, axis) : onx_xv_int(x, 1), one = onx_xv_int(x, 1);
    onx_xv k = onx_x_arith(x, "floordiv", onx_x_arith(x, "add", n, one), onx_xv_int(x, 2));
    give_kth(x, v, &k, dim, keep, out);
}

static void lower_median(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1), both[2] = {{.kind = ONX_X_NONE}, {.kind = ONX_X_NONE}};
    give_median(x, onx_x_reshape(x, onx_xv_value(x, a), 1, &rest), 0, false, both);
    *out = both[0];
}

static void lower_median_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_median(x, onx_xv_value(x, a), onx_xv_whole(x, &a[1], -1), onx_xv_true(&a[2]), out);
}

/* Of what are numbers: the others are sorted behind all, and not counted. */
static void give_nanmedian(onx_export *x, onx_value *v, int64_t dim, bool keep, onx_xv *out) {
    onx_value *both[2];
    size_t axis, rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || !onx_x_axis(x, dim, rank, &axis)) return;
    if (!rank || !onx_dtype_is_float(onx_x_dtype(x, v))) {
        give_median(x, v, dim, keep, out);
        return;
    }
    int64_t at = (int64_t)axis;
    onx_value *none = onx_emit_wide(x, "IsNaN", v);
    onx_value *top = onx_x_number(x, onx_x_dtype(x, v), (double)INFINITY);
    onx_value *is = onx_x_cast(x, onx_emit(x, "Not", none), ONX_DTYPE_I64);
    onx_value *count = onx_x_reduce(x, "ReduceSum", is, 1, &at, true);
    onx_value *k = onx_emit_number(x, "Sub", count, 1);
    k = onx_emit_number(x, "Div", onx_emit_number(x, "Max", k, 0), 2);
    if (!sorted(x, onx_emit(x, "Where", none, top, v), NULL, at, false, both)) return;
    for (size_t i = 0; i < 2; i++) {
        onx_value *mid =
            onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", at)), both[i], k);
        onx_x_give(x, &out[i], keep ? mid : onx_x_squeeze(x, mid, at));
    }
}

static void lower_nanmedian(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1), both[2] = {{.kind = ONX_X_NONE}, {.kind = ONX_X_NONE}};
    give_nanmedian(x, onx_x_reshape(x, onx_xv_value(x, a), 1, &rest), 0, false, both);
    *out = both[0];
}

static void lower_nanmedian_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_nanmedian(x, onx_xv_value(x, a), onx_xv_whole(x, &a[1], -1), onx_xv_true(&a[2]), out);
}

/* The most frequent value, the smallest of those that are equally frequent, and its last place:
 * all elements of the sorted axis are compared with all. */
static void lower_mode(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a), *both[2];
    size_t rank = onx_x_rank(x, v), axis;
    bool keep = onx_xv_true(&a[2]);
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, &a[1], -1), rank, &axis)) return;
    if (!rank || !sorted(x, v, NULL, (int64_t)axis, false, both)) return;
    int64_t at = (int64_t)axis, next = at + 1;
    onx_value *same = onx_emit_wide(x, "Equal", onx_x_unsqueeze(x, both[0], next),
                                    onx_x_unsqueeze(x, both[0], at));
    onx_value *count =
        onx_x_reduce(x, "ReduceSum", onx_x_cast(x, same, ONX_DTYPE_I64), 1, &next, false);
    onx_value *best =
        onx_emit_with(x, "ArgMax", ONX_ATTRS(ONX_AI("axis", at), ONX_AI("keepdims", 1)), count);
    onx_value *value =
        onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", at)), both[0], best);
    onx_value *is = onx_x_cast(x, onx_emit_wide(x, "Equal", v, value), ONX_DTYPE_I32);
    onx_value *place = onx_emit_with(
        x, "ArgMax",
        ONX_ATTRS(ONX_AI("axis", at), ONX_AI("keepdims", keep), ONX_AI("select_last_index", 1)),
        is);
    onx_x_give(x, &out[0], keep ? value : onx_x_squeeze(x, value, at));
    onx_x_give(x, &out[1], place);
}

/* ─ Quantiles ────────────────────────────────────────────────────────────────────────────────── */

/* Where between two sorted elements the quantile is: from 0, the lower one, to 1. */
static onx_value *part_of(onx_export *x, onx_value *place, onx_value *low, onx_value *high,
                          onx_str mode) {
    if (onx_str_is(mode, "linear")) return onx_emit(x, "Sub", place, low);
    if (onx_str_is(mode, "nearest"))
        return onx_emit(x, "Sub", onx_emit_wide(x, "Round", place), low);
    if (onx_str_is(mode, "midpoint"))
        return onx_emit_number(x, "Mul", onx_emit(x, "Sub", high, low), 0.5);
    return place ? onx_x_number(x, onx_x_dtype(x, place), onx_str_is(mode, "higher")) : NULL;
}

/* Elements q·(n - 1) of sorted ones along an axis, which goes, or becomes that of q. */
static onx_value *between(onx_export *x, onx_value *v, size_t axis, onx_value *q, onx_str mode) {
    size_t rank = onx_x_rank(x, v);
    onx_xattr at[] = {ONX_AI("axis", (int64_t)axis), {.name = NULL}};
    onx_xv n = onx_x_arith(x, "sub", onx_x_size_of(x, v, axis), onx_xv_int(x, 1));
    onx_value *place = onx_emit(x, "Mul", q, onx_x_as(x, &n, onx_x_dtype(x, v)));
    onx_value *low = onx_emit(x, "Floor", place), *high = onx_emit(x, "Ceil", place);
    onx_value *part = part_of(x, place, low, high, mode);
    for (size_t i = axis + 1; onx_x_rank(x, q) == 1 && i < rank; i++)
        part = onx_x_unsqueeze(x, part, -1);
    onx_value *from = onx_emit_with(x, "Gather", at, v, onx_x_cast(x, low, ONX_DTYPE_I64));
    onx_value *to = onx_emit_with(x, "Gather", at, v, onx_x_cast(x, high, ONX_DTYPE_I64));
    return onx_emit(x, "Add", from, onx_emit(x, "Mul", onx_emit(x, "Sub", to, from), part));
}

static onx_value *axis_to_front(onx_export *x, onx_value *v, size_t axis) {
    int64_t perm[ONX_RANK_MAX];
    size_t rank = onx_x_rank(x, v), k = 0;
    if (rank == SIZE_MAX) return NULL;
    perm[k++] = (int64_t)axis;
    for (size_t i = 0; i < rank; i++)
        if (i != axis) perm[k++] = (int64_t)i;
    return onx_x_transpose(x, v, rank, perm);
}

/* A list of q becomes the first dimension of the result. */
static void lower_quantile(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1);
    bool flat = onx_xv_is(&a[2], ONX_X_NONE);
    onx_value *v = onx_xv_value(x, a), *both[2];
    size_t all = onx_x_rank(x, v), axis;
    if (flat) v = onx_x_reshape(x, v, 1, &rest);
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, &a[2], 0), rank, &axis)) return;
    if (!sorted(x, v, NULL, (int64_t)axis, false, both)) return;
    onx_value *q = onx_x_as(x, &a[1], onx_x_dtype(x, v));
    bool many = onx_x_rank(x, q) == 1;
    v = between(x, both[0], axis, q, a[4].str);
    if (many) v = axis_to_front(x, v, axis);
    for (size_t i = 0; onx_xv_true(&a[3]) && i < (flat ? all : 1); i++)
        v = onx_x_unsqueeze(x, v, (int64_t)axis + many);
    onx_x_give(x, out, v);
}

/* ─ Distinct values ──────────────────────────────────────────────────────────────────────────── */

/* values, inverse, counts; the inverse has the shape of what went in. */
static void give_unique(onx_export *x, onx_value *v, const int64_t *axis, onx_xv *out) {
    onx_value *all[4];
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX) return;
    onx_xattr attrs[] = {ONX_AI("sorted", 1), {.name = NULL}, {.name = NULL}};
    if (axis) attrs[1] = ONX_AI("axis", *axis);
    if (!onx_emit_wide_node(x, "Unique", attrs, 1, &v, 4, all)) return;
    onx_x_give(x, &out[0], all[0]);
    onx_x_give(x, &out[1], axis ? all[2] : onx_x_reshape_like(x, all[2], v));
    onx_x_give(x, &out[2], all[3]);
}

static void lower_unique(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_unique(x, onx_xv_value(x, a), NULL, out);
}

static void lower_unique_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t axis = onx_xv_whole(x, &a[1], 0);
    give_unique(x, onx_xv_value(x, a), &axis, out);
}

/* Are slices `i` and `i` + 1 along an axis equal? [n - 1] */
static onx_value *equal_neighbours(onx_export *x, onx_value *v, size_t axis, size_t rank) {
    int64_t axes[ONX_RANK_MAX], at = (int64_t)axis;
    size_t n = 0;
    onx_xv zero = onx_xv_int(x, 0), one = onx_xv_int(x, 1), last = onx_xv_int(x, -1);
    for (size_t i = 0; i < rank; i++)
        if (i != axis) axes[n++] = (int64_t)i;
    onx_value *same =
        onx_emit_wide(x, "Equal", onx_x_slice(x, v, at, one, onx_xv_int(x, INT64_MAX), 1),
                      onx_x_slice(x, v, at, zero, last, 1));
    if (!n || !same) return same;
    return onx_emit_wide_with(x, "ReduceMin", ONX_ATTRS(ONX_AI("keepdims", 0)), same,
                              onx_x_ints(x, n, axes));
}

/* Runs of equal elements of the flat tensor, or of equal slices along a dimension. */
static void give_runs(onx_export *x, const onx_xv *a, const onx_xv *dim, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a), *whole = v;
    size_t all = onx_x_rank(x, v), axis = 0;
    onx_xv rest = onx_xv_int(x, -1), one = onx_xv_int(x, 1), end = onx_xv_int(x, INT64_MAX);
    bool flat = onx_xv_is(dim, ONX_X_NONE);
    static const uint8_t yes = 1;
    if (all == SIZE_MAX) return;
    if (flat) v = onx_x_reshape(x, v, 1, &rest);
    size_t rank = flat ? 1 : all;
    if (!flat && !onx_x_axis(x, onx_xv_whole(x, dim, 0), rank, &axis)) return;
    onx_value *same = equal_neighbours(x, v, axis, rank);
    onx_value *parts[2] = {onx_x_constant(x, ONX_DTYPE_BOOL, 1, (int64_t[]){1}, &yes, 1),
                           onx_emit(x, "Not", same)};
    onx_value *starts = onx_x_ok(x) ? onx_x_concat(x, 2, parts, 0) : NULL;
    onx_value *number =
        onx_emit(x, "CumSum", onx_x_cast(x, starts, ONX_DTYPE_I64), onx_x_int(x, 0));
    onx_value *places = onx_x_pick(x, onx_emit(x, "NonZero", starts), 0, 0);
    onx_xv n = onx_x_size_of(x, v, axis);
    onx_value *ends[2] = {onx_x_slice(x, places, 0, one, end, 1), onx_x_shape(x, 1, &n)};
    onx_value *inverse = onx_emit_number(x, "Sub", number, 1);
    if (!onx_x_ok(x)) return;
    if (flat) inverse = onx_x_reshape_like(x, inverse, whole);
    onx_x_give(x, &out[0],
               onx_emit_with(x, "Compress", ONX_ATTRS(ONX_AI("axis", (int64_t)axis)), v, starts));
    onx_x_give(x, &out[1], inverse);
    onx_x_give(x, &out[2], onx_emit(x, "Sub", onx_x_concat(x, 2, ends, 0), places));
}

static void lower_unique_consecutive(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_runs(x, a, &a[3], out);
}
static void lower_unique_dim_consecutive(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_runs(x, a, &a[1], out);
}

/* ─ Bins ─────────────────────────────────────────────────────────────────────────────────────── */

static void lower_bincount(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_as(x, a, ONX_DTYPE_I64);
    bool weighted = !onx_xv_is(&a[1], ONX_X_NONE);
    onx_dtype dtype = weighted ? onx_xv_type(x, &a[1]) : ONX_DTYPE_I64;
    onx_value *one = onx_x_number(x, dtype, 1), *zero = onx_x_number(x, dtype, 0);
    onx_value *top = onx_emit_number(x, "Add", onx_x_reduce(x, "ReduceMax", v, 0, NULL, true), 1);
    onx_value *size = onx_emit(x, "Max", top, onx_x_shape(x, 1, &a[2]));
    onx_value *updates = weighted ? onx_xv_value(x, &a[1]) : onx_lower_expand_like(x, one, v);
    onx_x_give(x, out,
               onx_emit_with(x, "ScatterElements",
                             ONX_ATTRS(ONX_AI("axis", 0), ONX_AS("reduction", "add")),
                             onx_emit(x, "Expand", zero, size), v, updates));
}

static void lower_histc(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1);
    int64_t bins = onx_xv_whole(x, &a[1], 100), first = 0;
    onx_value *v = onx_x_reshape(x, onx_xv_value(x, a), 1, &rest);
    onx_dtype dtype = onx_x_dtype(x, v);
    bool open = onx_xv_is_one(x, &a[2], 0) && onx_xv_is_one(x, &a[3], 0);
    onx_value *low =
        open ? onx_x_reduce(x, "ReduceMin", v, 0, NULL, false) : onx_x_as(x, &a[2], dtype);
    onx_value *high =
        open ? onx_x_reduce(x, "ReduceMax", v, 0, NULL, false) : onx_x_as(x, &a[3], dtype);
    onx_value *scaled =
        onx_emit(x, "Div", onx_emit(x, "Sub", v, low), onx_emit(x, "Sub", high, low));
    onx_value *bin = onx_emit(x, "Floor", onx_emit_number(x, "Mul", scaled, (double)bins));
    bin = onx_emit(x, "Where", onx_emit(x, "Equal", v, high),
                   onx_x_number(x, dtype, (double)bins - 1), bin);
    onx_xv n = onx_xv_int(x, bins);
    onx_value *numbers = onx_x_cast(x, onx_x_count(x, &n), dtype);
    onx_value *is = onx_emit_wide(x, "Equal", onx_x_unsqueeze(x, bin, 1), numbers);
    onx_x_give(x, out, onx_x_reduce(x, "ReduceSum", onx_x_cast(x, is, dtype), 1, &first, false));
}

/* How many of the sorted ones are below a value; with `right`, below or equal. */
static void give_search(onx_export *x, const onx_xv *list, const onx_xv *v, bool right, bool narrow,
                        onx_xv *out) {
    onx_value *values, *bounds;
    int64_t last = -1;
    if (!onx_x_pair(x, v, list, &values, &bounds)) return;
    size_t rank = onx_x_rank(x, bounds);
    onx_value *wide = rank > 1 ? onx_x_unsqueeze(x, bounds, -2) : bounds;
    onx_value *below = onx_emit_wide(x, right ? "GreaterOrEqual" : "Greater",
                                     onx_x_unsqueeze(x, values, -1), wide);
    onx_value *count =
        onx_x_reduce(x, "ReduceSum", onx_x_cast(x, below, ONX_DTYPE_I64), 1, &last, false);
    onx_x_give(x, out, narrow ? onx_x_cast(x, count, ONX_DTYPE_I32) : count);
}

static void lower_searchsorted(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool right = onx_xv_true(&a[3]);
    if (onx_xv_is(&a[4], ONX_X_STR)) right = onx_str_is(a[4].str, "right");
    onx_xv list = a[0];
    if (!onx_xv_is(&a[5], ONX_X_NONE))
        list = onx_xv_tensor(x, onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", -1)),
                                              onx_xv_value(x, &a[0]), onx_xv_value(x, &a[5])));
    give_search(x, &list, &a[1], right, onx_xv_true(&a[2]), out);
}

static void lower_bucketize(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_search(x, &a[1], &a[0], onx_xv_true(&a[3]), onx_xv_true(&a[2]), out);
}

const onx_aten onx_aten_ordering[] = {
    {"sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
     lower_sort, NULL},
    {"sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
     "(Tensor values, Tensor indices)",
     lower_sort_stable, NULL},
    {"topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> "
     "(Tensor values, Tensor indices)",
     lower_topk, NULL},
    {"argsort(Tensor self, int dim=-1, bool descending=False)", lower_argsort, NULL},
    {"argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False)",
     lower_argsort_stable, NULL},
    {"msort(Tensor self)", lower_msort, NULL},
    {"kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> "
     "(Tensor values, Tensor indices)",
     lower_kthvalue, NULL},
    {"median(Tensor self)", lower_median, NULL},
    {"median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     lower_median_dim, NULL},
    {"nanmedian(Tensor self)", lower_nanmedian, NULL},
    {"nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     lower_nanmedian_dim, NULL},
    {"mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     lower_mode, NULL},
    {"quantile(Tensor self, Any q, int? dim=None, bool keepdim=False, *, "
     "str interpolation=\"linear\")",
     lower_quantile, NULL},
    {"_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
     lower_unique, NULL},
    {"_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
     "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
     lower_unique, NULL},
    {"unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
     "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
     lower_unique_dim, NULL},
    {"unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
     "int? dim=None) -> (Tensor, Tensor, Tensor)",
     lower_unique_consecutive, NULL},
    {"unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, "
     "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
     lower_unique_dim_consecutive, NULL},
    {"bincount(Tensor self, Tensor? weights=None, int minlength=0)", lower_bincount, NULL},
    {"histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0)", lower_histc, NULL},
    {"searchsorted(Tensor sorted_sequence, Any self, *, bool out_int32=False, bool right=False, "
     "str? side=None, Tensor? sorter=None)",
     lower_searchsorted, NULL},
    {"bucketize(Any self, Tensor boundaries, *, bool out_int32=False, bool right=False)",
     lower_bucketize, NULL},
    {NULL, NULL, NULL},
};
