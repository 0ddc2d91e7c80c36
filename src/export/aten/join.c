/* join.c: tensors put together and taken apart: cat, stack, split, repeat, roll, flip, pad. */
#include "export/aten/parts.h"
#include "export/strides.h"

/* ─ Together ─────────────────────────────────────────────────────────────────────────────────── */

/* Nothing along the axis. An empty vector joins anything, from times when tensors without elements
 * had no shape. */
static bool is_nothing(onx_export *x, onx_value *value, int64_t axis) {
    size_t rank = onx_x_rank(x, value), place = rank == 1 ? 0 : (size_t)axis;
    int64_t size;
    return place < rank && rank != SIZE_MAX && onx_x_known_dim(x, value, place, &size) && size == 0;
}

static void join(onx_export *x, const onx_xlist *list, int64_t axis, onx_xv *out) {
    onx_dtype dtype = onx_x_promote(x, list->n, list->v);
    onx_dtype real = onx_dtype_is_complex(dtype) ? ONX_DTYPE_F32 : dtype;
    onx_value **values = onx_x_array(x, list->n + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; values && i < list->n; i++) {
        onx_value *value = onx_x_as(x, &list->v[i], real);
        if (!value) return;
        if (list->n == 1 || !is_nothing(x, value, axis)) values[n++] = value;
    }
    if (!values) return;
    if (!list->n) {
        onx_x_fail(x, ONX_INVALID, "no tensors to join");
        return;
    }
    if (!n) values[n++] = onx_x_as(x, &list->v[0], real);
    *out = onx_xv_tensor(x, onx_x_concat(x, n, values, axis));
    if (out->kind == ONX_X_TENSOR) out->tensor->dtype = dtype;
}

static void lower_cat(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = 0, axis;
    for (size_t i = 0; i < a[0].list->n; i++) {
        size_t own = onx_lower_rank(x, &a[0].list->v[i]);
        if (own > rank) rank = own;
    }
    if (onx_lower_axis(x, &a[1], rank, &axis)) join(x, a[0].list, (int64_t)axis, out);
}

/* Each with the dimensions that `shape` gives it, then joined along an axis. */
static void join_as(onx_export *x, const onx_xlist *list, int64_t axis,
                    onx_value *(*shape)(onx_export *x, onx_value *value, int64_t axis),
                    onx_xv *out) {
    onx_xv all = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < list->n && onx_x_ok(x); i++) {
        onx_xv one = onx_xv_tensor(x, shape(x, onx_xv_value(x, &list->v[i]), axis));
        if (one.kind == ONX_X_TENSOR && list->v[i].kind == ONX_X_TENSOR)
            one.tensor->dtype = list->v[i].tensor->dtype;
        onx_xlist_add(x, all.list, one);
    }
    if (onx_x_ok(x)) join(x, all.list, axis, out);
}

static void lower_stack(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    if (!a[0].list->n) {
        onx_x_fail(x, ONX_INVALID, "no tensors to stack");
        return;
    }
    size_t rank = onx_lower_rank(x, &a[0].list->v[0]);
    if (onx_lower_axis(x, &a[1], rank + 1, &axis))
        join_as(x, a[0].list, (int64_t)axis, onx_x_unsqueeze, out);
}

/* At least that many dimensions, as numpy.atleast_1d … have it. */
static onx_value *at_least(onx_export *x, onx_value *value, size_t least) {
    size_t rank = onx_x_rank(x, value);
    if (rank == SIZE_MAX || rank >= least) return value;
    if (rank == 0) value = onx_x_unsqueeze(x, value, 0);
    if (rank <= 1 && least >= 2) value = onx_x_unsqueeze(x, value, 0);
    if (least >= 3) value = onx_x_unsqueeze(x, value, 2);
    return value;
}

static onx_value *at_least_1(onx_export *x, onx_value *value, int64_t axis) {
    (void)axis;
    return at_least(x, value, 1);
}
static onx_value *at_least_2(onx_export *x, onx_value *value, int64_t axis) {
    (void)axis;
    return at_least(x, value, 2);
}
static onx_value *at_least_3(onx_export *x, onx_value *value, int64_t axis) {
    (void)axis;
    return at_least(x, value, 3);
}
static onx_value *as_column(onx_export *x, onx_value *value, int64_t axis) {
    (void)axis;
    size_t rank = onx_x_rank(x, value);
    if (rank == 0) value = onx_x_unsqueeze(x, value, 0);
    return rank <= 1 ? onx_x_unsqueeze(x, value, 1) : value;
}

static void lower_hstack(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool vectors = a[0].list->n && onx_lower_rank(x, &a[0].list->v[0]) <= 1;
    join_as(x, a[0].list, vectors ? 0 : 1, at_least_1, out);
}
static void lower_vstack(onx_export *x, const onx_xv *a, onx_xv *out) {
    join_as(x, a[0].list, 0, at_least_2, out);
}
static void lower_dstack(onx_export *x, const onx_xv *a, onx_xv *out) {
    join_as(x, a[0].list, 2, at_least_3, out);
}
static void lower_column_stack(onx_export *x, const onx_xv *a, onx_xv *out) {
    join_as(x, a[0].list, 1, as_column, out);
}

static void lower_atleast_1(onx_export *x, const onx_xv *a, onx_xv *out) {
    out[0] = onx_xv_tensor(x, at_least(x, onx_xv_value(x, &a[0]), 1));
}
static void lower_atleast_2(onx_export *x, const onx_xv *a, onx_xv *out) {
    out[0] = onx_xv_tensor(x, at_least(x, onx_xv_value(x, &a[0]), 2));
}
static void lower_atleast_3(onx_export *x, const onx_xv *a, onx_xv *out) {
    out[0] = onx_xv_tensor(x, at_least(x, onx_xv_value(x, &a[0]), 3));
}

/* The same of each tensor of a list. */
static void lower_atleast_each(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t least = (size_t)(onx_x_op(x).data[strlen("atleast_")] - '0');
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < a[0].list->n && onx_x_ok(x); i++) {
        onx_value *v = at_least(x, onx_xv_value(x, &a[0].list->v[i]), least);
        if (v) onx_xlist_add(x, out->list, onx_xv_tensor(x, v));
    }
}

static void lower_broadcast_tensors(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t n = a[0].list->n;
    onx_value **values = onx_x_array(x, n + 1, sizeof *values);
    for (size_t i = 0; values && i < n; i++) values[i] = onx_xv_value(x, &a[0].list->v[i]);
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    if (!values || !onx_x_ok(x) || !onx_lower_broadcast(x, n, values)) return;
    for (size_t i = 0; i < n; i++) onx_xlist_add(x, out->list, onx_xv_tensor(x, values[i]));
}

/* Each vector along its own dimension; "xy" swaps the first two. */
static void meshgrid(onx_export *x, const onx_xlist *list, bool xy, onx_xv *out) {
    size_t n = list->n;
    const onx_sym *dims[ONX_RANK_MAX];
    onx_xv minus = onx_xv_int(x, -1), one = onx_xv_int(x, 1);
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < n && n <= ONX_RANK_MAX; i++) {
        size_t at = xy && n > 1 && i < 2 ? 1 - i : i;
        onx_value *v = onx_xv_value(x, &list->v[i]);
        dims[at] = onx_x_rank(x, v) ? onx_x_dim(x, v, 0) : onx_sym_int(x->syms, 1);
    }
    for (size_t i = 0; i < n && n <= ONX_RANK_MAX && onx_x_ok(x); i++) {
        size_t at = xy && n > 1 && i < 2 ? 1 - i : i;
        onx_xv shape[ONX_RANK_MAX];
        for (size_t k = 0; k < n; k++) shape[k] = k == at ? minus : one;
        onx_value *v = onx_x_reshape(x, onx_xv_value(x, &list->v[i]), n, shape);
        onx_xlist_add(x, out->list, onx_xv_tensor(x, onx_x_expand(x, v, n, dims)));
    }
}

static void lower_meshgrid(onx_export *x, const onx_xv *a, onx_xv *out) {
    meshgrid(x, a[0].list, a[1].kind == ONX_X_STR && onx_str_is(a[1].str, "xy"), out);
}

/* ─ Apart ────────────────────────────────────────────────────────────────────────────────────── */

/* Parts of these sizes as a list of views. */
static void split_sizes(onx_export *x, const onx_xv *self, size_t axis, size_t n,
                        const int64_t *sizes, onx_xv *out) {
    onx_value *value = onx_xv_value(x, self);
    onx_value **parts = onx_x_array(x, n + 1, sizeof *parts);
    bool even = true;
    int64_t total = 0;
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    if (!parts || !value) return;
    for (size_t i = 0; sizes && i < n; i++) total += sizes[i];
    for (size_t i = 0; sizes && i < n; i++) /* as num_outputs has it: the last may be smaller */
        even &= sizes[i] > 0 && (i == n - 1 || sizes[i] == (total + (int64_t)n - 1) / (int64_t)n);
    onx_value *in[] = {value, sizes && !even ? onx_x_ints(x, n, sizes) : NULL};
    onx_xattr attrs[] = {
        ONX_AI("axis", (int64_t)axis), ONX_AI("num_outputs", (int64_t)n), {.name = NULL}};
    if (in[1]) attrs[1].name = NULL;
    if (n == 1)
        parts[0] = value;
    else if (!onx_emit_node(x, "Split", attrs, 2, in, n, parts))
        return;
    onx_xv at = onx_xv_int(x, 0);
    for (size_t i = 0; i < n && onx_x_ok(x); i++) {
        onx_xv part = onx_xv_tensor(x, parts[i]);
        if (part.kind != ONX_X_TENSOR) return;
        part.tensor->dtype = self->tensor->dtype;
        onx_lay_part(x, self, axis, at, 1, false, &part);
        onx_xlist_add(x, out->list, part);
        at = onx_x_arith(x, "add", at, onx_x_size_of(x, parts[i], axis));
    }
}

enum { MAX_PARTS = 4096 };

static void split_at(onx_export *x, const onx_xv *self, size_t axis, size_t n, const onx_xv *sizes,
                     onx_xv *out);

/* As many parts as the program says: the last one is the rest. */
static void split_parts(onx_export *x, const onx_xv *self, size_t axis, int64_t each, onx_xv *out) {
    size_t n = x->parts;
    onx_xv *sizes = onx_x_array(x, n, sizeof *sizes), rest;
    if (!sizes) return;
    onx_x_note(x, "split: a dimension of any size has %zu parts", n);
    rest = onx_x_size_of(x, onx_xv_value(x, self), axis);
    for (size_t i = 0; i < n; i++) {
        sizes[i] = i + 1 < n ? onx_xv_int(x, each) : rest;
        rest = onx_x_arith(x, "sub", rest, sizes[i]);
    }
    split_at(x, self, axis, n, sizes, out);
}

/* Into parts of `each`, the last one smaller; the size, or the number of parts, must be known. */
static void split_each(onx_export *x, const onx_xv *self, size_t axis, int64_t each, onx_xv *out) {
    int64_t size;
    if (!onx_x_known_dim(x, onx_xv_value(x, self), axis, &size)) {
        if (x->parts) {
            split_parts(x, self, axis, each, out);
            return;
        }
        onx_x_fail(x, ONX_UNSUPPORTED, "how many parts there are is only known in a run");
        onx_x_hint(x, "make dimension %zu static, or use chunk()", axis);
        return;
    }
    size_t n = each > 0 && size > 0 ? (size_t)((size + each - 1) / each) : 1;
    int64_t *sizes = onx_x_array(x, n + 1, sizeof *sizes);
    if (!sizes || n > MAX_PARTS) {
        onx_x_fail(x, ONX_LIMIT, "%zu parts", n);
        return;
    }
    for (size_t i = 0; i < n; i++, size -= each) sizes[i] = size < each ? size : each;
    split_sizes(x, self, axis, n, sizes, out);
}

static void lower_split(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    int64_t each;
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return;
    if (!onx_xv_known_int(&a[1], &each))
        onx_x_fail(x, ONX_UNSUPPORTED, "how large the parts are is only known in a run");
    else
        split_each(x, &a[0], axis, each, out);
}

static void add_part(onx_export *x, const onx_xv *self, size_t axis, onx_xv start, onx_xv end,
                     onx_xv *out) {
    onx_value *value = onx_lower_slice(x, onx_xv_value(x, self), axis, start, end, 1);
    onx_xv part = onx_xv_tensor(x, value);
    if (part.kind != ONX_X_TENSOR) return;
    part.tensor->dtype = self->tensor->dtype;
    onx_lay_part(x, self, axis, start, 1, false, &part);
    onx_xlist_add(x, out->list, part);
}

/* Where the parts of a list of sizes, which may be symbolic, begin and end. */
static void split_at(onx_export *x, const onx_xv *self, size_t axis, size_t n, const onx_xv *sizes,
                     onx_xv *out) {
    onx_xv at = onx_xv_int(x, 0);
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < n && onx_x_ok(x); i++) {
        onx_xv end = onx_x_arith(x, "add", at, sizes[i]);
        add_part(x, self, axis, at, end, out);
        at = end;
    }
}

static void lower_split_sizes(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis, n = a[1].list->n;
    int64_t *sizes = onx_x_array(x, n + 1, sizeof *sizes);
    bool known = true;
    if (!sizes || !onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return;
    for (size_t i = 0; i < n; i++) known &= onx_xv_known_int(&a[1].list->v[i], &sizes[i]);
    if (known)
        split_sizes(x, &a[0], axis, n, sizes, out);
    else
        split_at(x, &a[0], axis, n, a[1].list->v, out);
}

static void lower_chunk(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    int64_t n, size;
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return;
    if (!onx_xv_known_int(&a[1], &n) || n < 1 || n > MAX_PARTS) {
        onx_x_fail(x, ONX_UNSUPPORTED, "how many chunks there are is only known in a run");
        return;
    }
    if (onx_x_known_dim(x, onx_xv_value(x, &a[0]), axis, &size))
        split_each(x, &a[0], axis, size > 0 ? (size + n - 1) / n : 1, out);
    else
        split_sizes(x, &a[0], axis, (size_t)n, NULL, out);
}

/* tensor_split: n parts whose sizes differ by at most 1, or parts that end at indices. */
static void lower_tensor_split(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    int64_t n, size;
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return;
    if (!onx_xv_known_int(&a[1], &n) || n < 1 || n > MAX_PARTS) {
        onx_x_fail(x, ONX_UNSUPPORTED, "how many parts there are is only known in a run");
        return;
    }
    int64_t *sizes = onx_x_array(x, (size_t)n, sizeof *sizes);
    onx_xv *open = onx_x_array(x, (size_t)n, sizeof *open);
    if (!sizes || !open) return;
    onx_xv whole = onx_x_size_of(x, onx_xv_value(x, &a[0]), axis);
    bool known = onx_xv_known_int(&whole, &size);
    for (int64_t i = 0; i < n; i++) {
        onx_xv more = onx_x_arith(x, "add", whole, onx_xv_int(x, n - 1 - i));
        open[i] = onx_x_arith(x, "floordiv", more, onx_xv_int(x, n));
        if (known) sizes[i] = size / n + (i < size % n);
    }
    if (known)
        split_sizes(x, &a[0], axis, (size_t)n, sizes, out);
    else
        split_at(x, &a[0], axis, (size_t)n, open, out);
}

static void lower_tensor_split_at(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis, n = a[1].list->n;
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return;
    onx_xv at = onx_xv_int(x, 0), none = {.kind = ONX_X_NONE};
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i <= n && onx_x_ok(x); i++) {
        onx_xv end = i < n ? a[1].list->v[i] : none;
        add_part(x, &a[0], axis, at, end, out);
        at = end;
    }
}

static void lower_unbind(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    int64_t n;
    onx_value *value = onx_xv_value(x, &a[0]);
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis)) return;
    if (!onx_x_known_dim(x, value, axis, &n) || n > MAX_PARTS) {
        onx_x_fail(x, ONX_UNSUPPORTED, "unbind of a dimension whose size is only known in a run");
        return;
    }
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (int64_t i = 0; i < n && onx_x_ok(x); i++) {
        onx_xv part = onx_xv_tensor(x, onx_x_pick(x, value, (int64_t)axis, i));
        if (part.kind != ONX_X_TENSOR) return;
        part.tensor->dtype = a[0].tensor->dtype;
        onx_lay_part(x, &a[0], axis, onx_xv_int(x, i), 1, true, &part);
        onx_xlist_add(x, out->list, part);
    }
}

static onx_value *unview_unbind(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                onx_value *part) {
    size_t axis;
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis)) return NULL;
    return onx_lower_put_at(x, base, part, axis, onx_xv_int(x, (int64_t)index));
}

/* A part of a split: where it begins is the sum of the parts before it, all as large as the first
 * but for those of a list. */
static onx_value *unview_split(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    size_t axis;
    onx_xv start = onx_xv_int(x, 0);
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return NULL;
    onx_xv each = onx_xv_is_list(&a[1]) ? start : a[1];
    for (size_t i = 0; i < index; i++)
        start = onx_x_arith(x, "add", start, onx_xv_is_list(&a[1]) ? a[1].list->v[i] : each);
    onx_xv end = onx_x_arith(x, "add", start, onx_x_size_of(x, part, axis));
    return onx_lower_put_slice(x, base, part, axis, start, end, 1);
}

static onx_value *unview_chunk(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    size_t axis;
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return NULL;
    onx_xv size = onx_x_size_of(x, base, axis), n = a[1];
    onx_xv less = onx_x_arith(x, "sub", n, onx_xv_int(x, 1));
    onx_xv each = onx_x_arith(x, "floordiv", onx_x_arith(x, "add", size, less), n);
    onx_xv start = onx_x_arith(x, "mul", each, onx_xv_int(x, (int64_t)index));
    onx_xv end = onx_x_arith(x, "add", start, onx_x_size_of(x, part, axis));
    return onx_lower_put_slice(x, base, part, axis, start, end, 1);
}

const onx_aten onx_aten_join[] = {
    {"cat(Tensor[] tensors, int dim=0)", lower_cat, NULL},
    {"concat(Tensor[] tensors, int dim=0)", lower_cat, NULL},
    {"concatenate(Tensor[] tensors, int dim=0)", lower_cat, NULL},
    {"_cat(Tensor[] tensors, int dim=0)", lower_cat, NULL},
    {"stack(Tensor[] tensors, int dim=0)", lower_stack, NULL},
    {"hstack(Tensor[] tensors)", lower_hstack, NULL},
    {"vstack(Tensor[] tensors)", lower_vstack, NULL},
    {"row_stack(Tensor[] tensors)", lower_vstack, NULL},
    {"dstack(Tensor[] tensors)", lower_dstack, NULL},
    {"column_stack(Tensor[] tensors)", lower_column_stack, NULL},
    {"atleast_1d(Tensor self)", lower_atleast_1, NULL},
    {"atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", lower_atleast_each, NULL},
    {"atleast_2d(Tensor self)", lower_atleast_2, NULL},
    {"atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", lower_atleast_each, NULL},
    {"atleast_3d(Tensor self)", lower_atleast_3, NULL},
    {"atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", lower_atleast_each, NULL},
    {"broadcast_tensors(Tensor[] tensors)", lower_broadcast_tensors, NULL},
    {"meshgrid(Tensor[] tensors, *, str indexing=\"ij\")", lower_meshgrid, NULL},
    {"split.Tensor(Tensor self, int split_size, int dim=0)", lower_split, unview_split},
    {"split.sizes(Tensor self, int[] split_size, int dim=0)", lower_split_sizes, unview_split},
    {"split_with_sizes(Tensor self, int[] split_sizes, int dim=0)", lower_split_sizes,
     unview_split},
    {"split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0)", lower_split_sizes, NULL},
    {"split_copy.Tensor(Tensor self, int split_size, int dim=0)", lower_split, NULL},
    {"unsafe_split.Tensor(Tensor self, int split_size, int dim=0)", lower_split, NULL},
    {"unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0)", lower_split_sizes, NULL},
    {"chunk(Tensor self, int chunks, int dim=0)", lower_chunk, unview_chunk},
    {"unsafe_chunk(Tensor self, int chunks, int dim=0)", lower_chunk, NULL},
    {"tensor_split.sections(Tensor self, int sections, int dim=0)", lower_tensor_split, NULL},
    {"tensor_split.indices(Tensor self, int[] indices, int dim=0)", lower_tensor_split_at, NULL},
    {"unbind.int(Tensor self, int dim=0)", lower_unbind, unview_unbind},
    {"unbind_copy.int(Tensor self, int dim=0)", lower_unbind, NULL},
    {NULL, NULL, NULL},
};
