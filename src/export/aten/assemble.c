/* assemble.c: tensors put together from others, in terms of simpler operators: blocks, products and
 * combinations of lists, sequences of one length, what numpy has other names for. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

#include <math.h>

/* ─ Other names ──────────────────────────────────────────────────────────────────────────────── */

/* tensor_split along the second dimension (of a list: the first), the first, the third. */
static void lower_named_split(onx_export *x, const onx_xv *a, onx_xv *out) {
    char first = onx_x_op(x).data[0];
    size_t rank = onx_lower_rank(x, a);
    int64_t dim = first == 'v' ? 0 : first == 'd' ? 2 : rank > 1;
    onx_xv args[3] = {a[0], a[1], onx_xv_int(x, dim)};
    if (onx_x_ok(x)) *out = onx_aten_do(x, "tensor_split", 3, args);
}

static void lower_adjoint(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv args[3] = {a[0], onx_xv_int(x, -2), onx_xv_int(x, -1)};
    *out = onx_aten_do(x, "transpose", 3, args);
    if (onx_x_ok(x) && onx_xv_is_complex(a)) *out = onx_aten_do(x, "conj", 1, out);
}

static void lower_linalg_diagonal(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_aten_do(x, "diagonal", 4, a);
}

static void lower_diagflat(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1);
    onx_xv args[2] = {onx_xv_tensor(x, onx_x_reshape(x, onx_xv_value(x, a), 1, &rest)), a[1]};
    if (onx_x_ok(x)) *out = onx_aten_do(x, "diag_embed", 2, args);
}

/* ─ Blocks ───────────────────────────────────────────────────────────────────────────────────── */

/* A matrix of it: a list is one row, a number one element. */
static onx_value *matrix(onx_export *x, const onx_xv *v, onx_dtype dtype) {
    onx_value *value = onx_x_as(x, v, dtype);
    for (size_t rank = onx_x_rank(x, value); rank < 2; rank++) value = onx_x_unsqueeze(x, value, 0);
    return value;
}

static void lower_block_diag(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t n = a->list->n;
    onx_dtype dtype = onx_x_promote(x, n, a->list->v);
    onx_value **rows = onx_x_array(x, n + 1, sizeof *rows);
    onx_xv all = onx_xv_int(x, 0), before = all;
    for (size_t i = 0; rows && i < n && onx_x_ok(x); i++) {
        rows[i] = matrix(x, &a->list->v[i], dtype);
        all = onx_x_arith(x, "add", all, onx_x_size_of(x, rows[i], 1));
    }
    for (size_t i = 0; rows && i < n && onx_x_ok(x); i++) {
        onx_xv end = onx_x_arith(x, "add", before, onx_x_size_of(x, rows[i], 1));
        onx_xv pads[4] = {onx_xv_int(x, 0), before, onx_xv_int(x, 0),
                          onx_x_arith(x, "sub", all, end)};
        rows[i] = onx_emit(x, "Pad", rows[i], onx_x_shape(x, 4, pads));
        before = end;
    }
    if (rows && onx_x_ok(x)) onx_x_give(x, out, onx_x_concat(x, n, rows, 0));
}

/* ─ Lists with lists ─────────────────────────────────────────────────────────────────────────── */

/* A list along axis i of n. */
static onx_value *along(onx_export *x, onx_value *list, size_t i, size_t n) {
    int64_t axes[ONX_RANK_MAX];
    size_t k = 0;
    for (size_t j = 0; j < n; j++)
        if (j != i) axes[k++] = (int64_t)j;
    return k ? onx_emit(x, "Unsqueeze", list, onx_x_ints(x, k, axes)) : list;
}

static void lower_cartesian_prod(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t n = a->list->n;
    onx_value *columns[ONX_RANK_MAX];
    onx_xv rows[2] = {onx_xv_int(x, -1), onx_xv_int(x, 1)};
    if (n == 1 || n > ONX_RANK_MAX) {
        *out = n == 1 ? a->list->v[0] : *out;
        if (n > 1) onx_x_fail(x, ONX_LIMIT, "the product of %zu lists", n);
        return;
    }
    for (size_t i = 0; i < n; i++) columns[i] = along(x, onx_xv_value(x, &a->list->v[i]), i, n);
    if (!onx_x_ok(x) || !onx_lower_broadcast(x, n, columns)) return;
    for (size_t i = 0; i < n; i++) columns[i] = onx_x_reshape(x, columns[i], 2, rows);
    if (onx_x_ok(x)) onx_x_give(x, out, onx_x_concat(x, n, columns, 1));
}

/* Places that rise, or do not fall, of r from n. */
static void lower_combinations(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t turn[] = {1, 0};
    onx_value *v = onx_xv_value(x, a), *mask = NULL;
    int64_t r = onx_xv_whole(x, &a[1], 2);
    if (!v) return;
    if (r < 1 || r > 8) {
        onx_x_fail(x, ONX_UNSUPPORTED, "combinations of %lld", (long long)r);
        return;
    }
    onx_xv n = onx_x_size_of(x, v, 0);
    onx_value *places = onx_x_count(x, &n);
    const char *op = onx_xv_true(&a[2]) ? "LessOrEqual" : "Less";
    for (int64_t i = 0; i + 1 < r; i++) {
        onx_value *rises = onx_emit(x, op, along(x, places, (size_t)i, (size_t)r),
                                    along(x, places, (size_t)i + 1, (size_t)r));
        mask = mask ? onx_emit(x, "And", mask, rises) : rises;
    }
    onx_value *index = mask ? onx_x_transpose(x, onx_emit(x, "NonZero", mask), 2, turn)
                            : onx_x_unsqueeze(x, places, 1);
    onx_x_give(x, out, onx_emit(x, "Gather", v, index));
}

/* ─ Of one length ────────────────────────────────────────────────────────────────────────────── */

/* Each padded behind (or in front of) its first dimension to the longest. */
static void lower_pad_sequence(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t n = a->list->n;
    onx_xv longest = onx_xv_int(x, 0), pads[2 * ONX_RANK_MAX], zero = onx_xv_int(x, 0);
    bool front = onx_xv_is(&a[3], ONX_X_STR) && onx_str_is(a[3].str, "left");
    onx_value **parts = onx_x_array(x, n + 1, sizeof *parts);
    for (size_t i = 0; parts && i < n && onx_x_ok(x); i++) {
        parts[i] = onx_xv_value(x, &a->list->v[i]);
        longest = onx_x_arith(x, "max", longest, onx_x_size_of(x, parts[i], 0));
    }
    for (size_t i = 0; parts && i < n && onx_x_ok(x); i++) {
        size_t rank = onx_x_rank(x, parts[i]);
        for (size_t k = 0; k < 2 * rank; k++) pads[k] = zero;
        pads[front ? 0 : rank] = onx_x_arith(x, "sub", longest, onx_x_size_of(x, parts[i], 0));
        onx_value *number = onx_x_as(x, &a[2], onx_x_dtype(x, parts[i]));
        parts[i] = onx_emit(x, "Pad", parts[i], onx_x_shape(x, 2 * rank, pads), number);
        parts[i] = onx_x_unsqueeze(x, parts[i], onx_xv_true(&a[1]) ? 0 : 1);
    }
    if (parts && onx_x_ok(x))
        onx_x_give(x, out, onx_x_concat(x, n, parts, onx_xv_true(&a[1]) ? 0 : 1));
}

/* The places of what is not 0: the first `size` of them, filled up. */
static void lower_nonzero_static(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t turn[] = {1, 0};
    onx_value *v = onx_xv_value(x, a);
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX) return;
    onx_xv shape[2] = {a[1], onx_xv_int(x, (int64_t)rank)}, zero = onx_xv_int(x, 0);
    onx_value *rest = onx_x_fill(x, onx_x_as(x, &a[2], ONX_DTYPE_I64), 2, shape);
    onx_value *parts[2] = {onx_x_transpose(x, onx_emit(x, "NonZero", v), 2, turn), rest};
    if (!onx_x_ok(x)) return;
    v = onx_x_slice(x, onx_x_concat(x, 2, parts, 0), 0, zero, a[1], 1);
    onx_x_give(x, out, onx_x_reshape(x, v, 2, shape));
}

/* ─ Sums and places ──────────────────────────────────────────────────────────────────────────── */

/* What broadcasting to the shape of self had repeated is summed up. */
static void lower_sum_to_size(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    size_t rank = onx_x_rank(x, v), n = a[1].list->n, more = rank - n, k = 0;
    int64_t axes[ONX_RANK_MAX], size, own;
    if (rank == SIZE_MAX || n > rank) return;
    for (size_t i = 0; i < more; i++) axes[i] = (int64_t)i;
    if (more) v = onx_x_reduce(x, "ReduceSum", v, more, axes, false);
    for (size_t i = 0; i < n; i++) {
        bool one = onx_xv_known_int(&a[1].list->v[i], &size) && size == 1;
        if (one && !(onx_x_known_dim(x, v, i, &own) && own == 1)) axes[k++] = (int64_t)i;
    }
    onx_x_give(x, out, k ? onx_x_reduce(x, "ReduceSum", v, k, axes, true) : v);
}

/* Into the flat tensor, at these places. */
static void lower_put(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv rest = onx_xv_int(x, -1);
    onx_value *v = onx_xv_value(x, &a[0]);
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX) return;
    onx_value *index = onx_x_reshape(x, onx_x_as(x, &a[1], ONX_DTYPE_I64), 1, &rest);
    onx_value *source = onx_x_reshape(x, onx_x_as(x, &a[2], onx_x_dtype(x, v)), 1, &rest);
    const onx_xattr *attrs = onx_xv_true(&a[3]) ? ONX_ATTRS(ONX_AS("reduction", "add")) : NULL;
    onx_value *flat =
        onx_emit_with(x, "ScatterElements", attrs, onx_x_reshape(x, v, 1, &rest), index, source);
    onx_x_give(x, out, onx_x_reshape_like(x, flat, v));
}

/* Slices along a dimension combined with those of self at these places. */
static void lower_index_reduce(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *index = onx_x_as(x, &a[2], ONX_DTYPE_I64), *source = onx_xv_value(x, &a[3]);
    size_t rank = onx_x_rank(x, source), axis;
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, &a[1], 0), rank, &axis)) return;
    onx_value *wide = onx_lower_expand_like(x, along(x, index, axis, rank), source);
    onx_xv args[6] = {a[0], a[1], onx_xv_tensor(x, wide), a[3], a[4], a[5]};
    onx_xarg list[6];
    onx_xv results[ONX_X_OUTS];
    size_t n;
    for (size_t i = 0; i < 6; i++) list[i] = (onx_xarg){.v = args[i]};
    list[5].name = onx_str_of("include_self");
    onx_aten_call(x, onx_str_of("scatter_reduce"), (onx_str){NULL, 0}, 6, list, results, &n);
    *out = results[0];
}

/* The number of the segment of every element along the first axis: how many end before it. */
static onx_value *segment_numbers(onx_export *x, onx_value *data, onx_value *lengths) {
    onx_xv n = onx_x_size_of(x, data, 0);
    int64_t last = -1;
    onx_value *ends = onx_emit(x, "CumSum", lengths, onx_x_int(x, 0));
    onx_value *past =
        onx_emit(x, "GreaterOrEqual", onx_x_unsqueeze(x, onx_x_count(x, &n), 1), ends);
    return onx_x_reduce(x, "ReduceSum", onx_x_cast(x, past, ONX_DTYPE_I64), 1, &last, false);
}

/* (data, reduce, lengths, indices, offsets, axis, unsafe, initial) */
static void lower_segment_reduce(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const struct {
        const char *name, *scatter;
        double empty;
    } ways[] = {{"sum", "sum", 0},
                {"mean", "sum", 0},
                {"max", "amax", -(double)INFINITY},
                {"min", "amin", (double)INFINITY},
                {"prod", "prod", 1}};
    size_t k = 0, rank = onx_xv_rank(x, &a[0]);
    onx_value *data = onx_xv_value(x, &a[0]);
    while (k < ONX_COUNT(ways) && !onx_str_is(a[1].str, ways[k].name)) k++;
    if (rank == SIZE_MAX) return;
    if (k == ONX_COUNT(ways) || onx_xv_is(&a[2], ONX_X_NONE) || onx_xv_rank(x, &a[2]) != 1) {
        onx_x_fail(x, ONX_UNSUPPORTED, "segments along other axes than the first, or by offsets");
        return;
    }
    onx_value *lengths = onx_x_as(x, &a[2], ONX_DTYPE_I64);
    onx_xv sizes[ONX_RANK_MAX] = {onx_x_size_of(x, lengths, 0)};
    for (size_t i = 1; i < rank; i++) sizes[i] = onx_x_size_of(x, data, i);
    onx_dtype dtype = onx_x_dtype(x, data);
    double empty = onx_xv_real(x, &a[7], ways[k].empty);
    onx_value *base = onx_x_fill(x, onx_x_number(x, dtype, empty), rank, sizes);
    onx_xv args[] = {onx_xv_tensor(x, base),
                     onx_xv_int(x, 0),
                     onx_xv_tensor(x, segment_numbers(x, data, lengths)),
                     a[0],
                     onx_xv_str(onx_str_of(ways[k].scatter)),
                     onx_xv_bool(x, true)};
    if (!onx_x_ok(x)) return;
    lower_index_reduce(x, args, out);
    if (k != 1 || !onx_x_ok(x)) return;
    onx_value *count = onx_x_cast(x, lengths, dtype);
    for (size_t i = 1; i < rank; i++) count = onx_x_unsqueeze(x, count, -1);
    onx_x_give(x, out, onx_emit(x, "Div", onx_xv_value(x, out), count));
}

#define SPLIT(name)                                                                                \
    {name ".int(Tensor self, int sections) -> Tensor[]", lower_named_split, NULL}, {               \
        name ".array(Tensor self, int[] indices) -> Tensor[]", lower_named_split, NULL             \
    }
const onx_aten onx_aten_assemble[] = {
    SPLIT("hsplit"),
    SPLIT("vsplit"),
    SPLIT("dsplit"),
    {"adjoint(Tensor self)", lower_adjoint, NULL},
    {"mH(Tensor self)", lower_adjoint, NULL},
    {"matrix_H(Tensor self)", lower_adjoint, NULL},
    {"linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)", lower_linalg_diagonal,
     NULL},
    {"diagflat(Tensor self, int offset=0)", lower_diagflat, NULL},
    {"block_diag(Tensor[] tensors)", lower_block_diag, NULL},
    {"cartesian_prod(Tensor[] tensors)", lower_cartesian_prod, NULL},
    {"combinations(Tensor self, int r=2, bool with_replacement=False)", lower_combinations, NULL},
    {"pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., "
     "str padding_side=\"right\")",
     lower_pad_sequence, NULL},
    {"nonzero_static(Tensor self, *, int size, int fill_value=-1)", lower_nonzero_static, NULL},
    {"sum_to_size(Tensor self, int[] size)", lower_sum_to_size, NULL},
    {"put(Tensor self, Tensor index, Tensor source, bool accumulate=False)", lower_put, NULL},
    {"index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
     "bool include_self=True)",
     lower_index_reduce, NULL},
    {"segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
     "Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None)",
     lower_segment_reduce, NULL},
    {NULL, NULL, NULL},
};
