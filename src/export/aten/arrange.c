/* arrange.c: elements repeated, moved, mirrored, cut to triangles and diagonals, seen through
 * windows. */
#include "export/aten/parts.h"
#include "export/strides.h"

/* ─ Repeated ─────────────────────────────────────────────────────────────────────────────────── */

/* repeat(2, 3) and tile(2, 3): where there are more numbers than dimensions, ones are put in front;
 * tile also where there are fewer. */
static void lower_repeat(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t n = a[1].list->n, rank = onx_lower_rank(x, &a[0]);
    onx_value *value = onx_xv_value(x, &a[0]);
    onx_xv *times = onx_x_array(x, rank + n + 1, sizeof *times);
    if (!times || !value) return;
    size_t all = n > rank ? n : rank, k = 0;
    for (; k < all - n; k++) times[k] = onx_xv_int(x, 1);
    for (size_t i = 0; i < n; i++) times[k++] = a[1].list->v[i];
    if (n > rank) {
        onx_xv *shape = onx_x_array(x, all + 1, sizeof *shape);
        for (size_t i = 0; shape && i < all; i++)
            shape[i] = i < n - rank ? onx_xv_int(x, 1) : onx_x_size_of(x, value, i - (n - rank));
        value = shape ? onx_x_reshape(x, value, all, shape) : NULL;
    }
    bool once = true;
    for (size_t i = 0; i < all; i++) {
        int64_t number;
        once &= onx_xv_known_int(&times[i], &number) && number == 1;
    }
    if (value && !once) value = onx_emit(x, "Tile", value, onx_x_shape(x, all, times));
    out[0] = onx_xv_tensor(x, value);
}

/* The whole as one dimension. */
static onx_value *flat(onx_export *x, onx_value *value) {
    onx_xv all = onx_xv_int(x, -1);
    return onx_x_reshape(x, value, 1, &all);
}

/* Each element as often: a new dimension of that size, joined with the one before it. */
static onx_value *interleave(onx_export *x, onx_value *value, size_t axis, const onx_xv *times) {
    size_t rank = onx_x_rank(x, value);
    onx_xv *wide = onx_x_array(x, rank + 2, sizeof *wide);
    onx_xv *shape = onx_x_array(x, rank + 2, sizeof *shape);
    if (!wide || !shape || rank == SIZE_MAX) return NULL;
    for (size_t i = 0; i < rank; i++) {
        onx_xv size = onx_x_size_of(x, value, i);
        wide[i + (i > axis)] = size;
        shape[i] = i == axis ? onx_x_arith(x, "mul", size, *times) : size;
    }
    wide[axis + 1] = *times;
    value = onx_x_unsqueeze(x, value, (int64_t)axis + 1);
    if (!value || !onx_x_ok(x)) return NULL;
    value = onx_emit(x, "Expand", value, onx_x_shape(x, rank + 1, wide));
    return onx_x_reshape(x, value, rank, shape);
}

static void lower_interleave(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis = 0;
    onx_value *value = onx_xv_value(x, &a[0]);
    if (a[2].kind == ONX_X_NONE)
        value = flat(x, value);
    else if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis))
        return;
    out[0] = onx_xv_tensor(x, interleave(x, value, axis, &a[1]));
}

/* Which element of a list of counts each place belongs to: as many sums are at most its number. */
static onx_value *owner_of_places(onx_export *x, onx_value *counts) {
    int64_t zero = 0;
    counts = onx_x_cast(x, counts, ONX_DTYPE_I64);
    onx_value *ends = onx_emit(x, "CumSum", counts, onx_x_int(x, 0));
    onx_value *total = onx_x_reduce(x, "ReduceSum", counts, 1, &zero, false);
    onx_value *places = onx_emit(x, "Range", onx_x_int(x, 0), total, onx_x_int(x, 1));
    places = onx_x_unsqueeze(x, places, 1);
    if (!places || !ends) return NULL;
    int64_t last = 1;
    onx_value *over = onx_x_cast(x, onx_emit(x, "GreaterOrEqual", places, ends), ONX_DTYPE_I64);
    return onx_x_reduce(x, "ReduceSum", over, 1, &last, false);
}

static void lower_interleave_by(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis = 0;
    onx_value *value = onx_xv_value(x, &a[0]), *counts = onx_xv_value(x, &a[1]);
    int64_t size;
    if (a[2].kind == ONX_X_NONE)
        value = flat(x, value);
    else if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis))
        return;
    if (!value || !counts) return;
    if (onx_x_rank(x, counts) == 0 || (onx_x_known_dim(x, counts, 0, &size) && size == 1)) {
        onx_xv times = onx_x_item(x, a[1].tensor);
        out[0] = onx_xv_tensor(x, interleave(x, value, axis, &times));
        return;
    }
    out[0] = onx_xv_tensor(x, onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", (int64_t)axis)),
                                            value, owner_of_places(x, counts)));
}

/* repeat_interleave(counts): which element each place belongs to. */
static void lower_interleave_places(onx_export *x, const onx_xv *a, onx_xv *out) {
    out[0] = onx_xv_tensor(x, owner_of_places(x, onx_xv_value(x, &a[0])));
}

/* ─ Moved ────────────────────────────────────────────────────────────────────────────────────── */

static onx_value *roll(onx_export *x, onx_value *value, size_t axis, onx_xv shift) {
    int64_t known;
    onx_xv none = {.kind = ONX_X_NONE};
    if (onx_xv_known_int(&shift, &known) && known == 0) return value;
    onx_xv cut = onx_x_arith(x, "mod", shift, onx_x_size_of(x, value, axis));
    if (onx_xv_known_int(&cut, &known) && known == 0) return value;
    cut = onx_x_arith(x, "sub", onx_x_size_of(x, value, axis), cut);
    onx_value *parts[] = {onx_lower_slice(x, value, axis, cut, none, 1),
                          onx_lower_slice(x, value, axis, none, cut, 1)};
    return onx_x_ok(x) ? onx_x_concat(x, 2, parts, (int64_t)axis) : NULL;
}

static void lower_roll(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_lower_rank(x, &a[0]), axis;
    onx_value *value = onx_xv_value(x, &a[0]);
    if (!a[2].list->n && a[1].list->n) { /* as if it were flat */
        onx_value *rolled = roll(x, flat(x, value), 0, a[1].list->v[0]);
        out[0] = onx_xv_tensor(x, onx_x_reshape_like(x, rolled, value));
        return;
    }
    for (size_t i = 0; i < a[2].list->n && i < a[1].list->n && value; i++)
        if (onx_lower_axis(x, &a[2].list->v[i], rank, &axis))
            value = roll(x, value, axis, a[1].list->v[i]);
    out[0] = onx_xv_tensor(x, value);
}

static onx_value *flip(onx_export *x, onx_value *value, size_t n, const int64_t *axes) {
    int64_t starts[ONX_RANK_MAX], ends[ONX_RANK_MAX], steps[ONX_RANK_MAX];
    for (size_t i = 0; i < n; i++) starts[i] = steps[i] = -1, ends[i] = INT64_MIN;
    if (!n || !value) return value;
    return onx_emit(x, "Slice", value, onx_x_ints(x, n, starts), onx_x_ints(x, n, ends),
                    onx_x_ints(x, n, axes), onx_x_ints(x, n, steps));
}

static void lower_flip(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t axes[ONX_RANK_MAX];
    size_t n = 0, axis, rank = onx_lower_rank(x, &a[0]);
    for (size_t i = 0; i < a[1].list->n && n < ONX_RANK_MAX; i++)
        if (onx_lower_axis(x, &a[1].list->v[i], rank, &axis)) axes[n++] = (int64_t)axis;
    if (onx_x_ok(x)) out[0] = onx_xv_tensor(x, flip(x, onx_xv_value(x, &a[0]), n, axes));
}

static void lower_fliplr(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t axis = 1;
    out[0] = onx_xv_tensor(x, flip(x, onx_xv_value(x, &a[0]), 1, &axis));
}

static void lower_flipud(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t axis = 0;
    out[0] = onx_xv_tensor(x, flip(x, onx_xv_value(x, &a[0]), 1, &axis));
}

static void lower_rot90(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t k = 0, axes[2];
    size_t from, to, rank = onx_lower_rank(x, &a[0]);
    onx_value *value = onx_xv_value(x, &a[0]);
    if (!onx_xv_known_int(&a[1], &k) || a[2].list->n != 2 ||
        !onx_lower_axis(x, &a[2].list->v[0], rank, &from) ||
        !onx_lower_axis(x, &a[2].list->v[1], rank, &to)) {
        onx_x_fail(x, ONX_UNSUPPORTED, "rot90 by a number of turns that is not known");
        return;
    }
    k = ((k % 4) + 4) % 4;
    axes[0] = (int64_t)(k == 3 ? from : to);
    axes[1] = (int64_t)from;
    if (k == 2) {
        value = flip(x, value, 2, (int64_t[]){(int64_t)from, (int64_t)to});
    } else if (k) {
        value = onx_x_swap(x, flip(x, value, 1, axes), (int64_t)from, (int64_t)to);
    }
    out[0] = onx_xv_tensor(x, value);
}

/* ─ Diagonals ────────────────────────────────────────────────────────────────────────────────── */

/* The elements (i, i + offset) of the last two dimensions. */
static onx_value *diagonal_of(onx_export *x, onx_value *value, int64_t offset) {
    size_t rank = onx_x_rank(x, value);
    int64_t last = -1;
    if (rank == SIZE_MAX || rank < 2) return NULL;
    onx_xv rows = onx_x_size_of(x, value, rank - 2), columns = onx_x_size_of(x, value, rank - 1);
    onx_xv shift = onx_xv_int(x, offset < 0 ? -offset : offset);
    onx_xv n = offset < 0 ? onx_x_arith(x, "min", onx_x_arith(x, "sub", rows, shift), columns)
                          : onx_x_arith(x, "min", rows, onx_x_arith(x, "sub", columns, shift));
    n = onx_x_arith(x, "max", n, onx_xv_int(x, 0));
    onx_xv none = {.kind = ONX_X_NONE};
    value = onx_lower_slice(x, value, rank - 2, offset < 0 ? shift : none, none, 1);
    value = onx_lower_slice(x, value, rank - 2, none, n, 1);
    value = onx_lower_slice(x, value, rank - 1, offset > 0 ? shift : none, none, 1);
    onx_value *index = onx_x_unsqueeze(x, onx_x_count(x, &n), 1);
    if (!value || !index) return NULL;
    const onx_sym *dims[ONX_RANK_MAX];
    for (size_t i = 0; i < rank; i++) dims[i] = onx_x_dim(x, value, i);
    dims[rank - 1] = onx_sym_int(x->syms, 1);
    index = onx_x_expand(x, index, rank, dims);
    value = onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", -1)), value, index);
    return onx_x_squeeze(x, value, last);
}

/* Two dimensions last, in this order. */
static onx_value *to_back(onx_export *x, onx_value *value, size_t d1, size_t d2) {
    int64_t perm[ONX_RANK_MAX];
    size_t rank = onx_x_rank(x, value), k = 0;
    for (size_t i = 0; rank != SIZE_MAX && i < rank; i++)
        if (i != d1 && i != d2) perm[k++] = (int64_t)i;
    perm[k++] = (int64_t)d1;
    perm[k++] = (int64_t)d2;
    return rank == SIZE_MAX || d1 == d2 ? NULL : onx_x_transpose(x, value, rank, perm);
}

static void lay_diagonal(onx_export *x, const onx_xv *self, int64_t offset, size_t d1, size_t d2,
                         const onx_xv *out) {
    onx_xlayout *l = onx_xt_layout(x, self->tensor, 0);
    if (out->kind != ONX_X_TENSOR || !l) return;
    size_t rank = onx_xt_rank(x, self->tensor), k = 0;
    const onx_sym *a = l->strides[d1], *b = l->strides[d2];
    const onx_sym *skip = onx_sym_int(x->syms, offset < 0 ? -offset : offset);
    l->offset = onx_sym_add(x->syms, l->offset, onx_sym_mul(x->syms, skip, offset < 0 ? a : b));
    for (size_t i = 0; i < rank; i++)
        if (i != d1 && i != d2) l->strides[k++] = l->strides[i];
    l->strides[k] = onx_sym_add(x->syms, a, b);
    out->tensor->layout = l;
}

static void lower_diagonal(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t d1, d2, rank = onx_lower_rank(x, &a[0]);
    int64_t offset = 0;
    if (!onx_lower_axis(x, &a[2], rank, &d1) || !onx_lower_axis(x, &a[3], rank, &d2)) return;
    if (!onx_xv_known_int(&a[1], &offset))
        onx_x_fail(x, ONX_UNSUPPORTED, "which diagonal is meant is only known in a run");
    else
        out[0] =
            onx_xv_tensor(x, diagonal_of(x, to_back(x, onx_xv_value(x, &a[0]), d1, d2), offset));
    lay_diagonal(x, &a[0], offset, d1, d2, out);
}

/* A vector, or the last dimension, on a diagonal of a square of zeros. */
static onx_value *embed(onx_export *x, onx_value *value, int64_t offset) {
    size_t rank = onx_x_rank(x, value);
    if (rank == SIZE_MAX || !rank) return NULL;
    onx_xv n = onx_x_size_of(x, value, rank - 1);
    onx_xv side = onx_x_arith(x, "add", n, onx_xv_int(x, offset < 0 ? -offset : offset));
    onx_value *all = onx_x_count(x, &side);
    onx_value *rows = onx_x_unsqueeze(x, all, 1), *columns = onx_x_unsqueeze(x, all, 0);
    if (!rows || !columns) return NULL;
    onx_value *on = onx_emit(x, "Equal", onx_emit(x, "Sub", columns, rows), onx_x_int(x, offset));
    /* Along the row of a diagonal below, along the column of one above, the elements are in order:
     * padded with whatever to the side of the square. */
    int64_t pad[2] = {offset < 0 ? -offset : offset, 0};
    if (offset) {
        int64_t last = -1;
        value = onx_emit(x, "Pad", value, onx_x_ints(x, 2, pad), NULL, onx_x_ints(x, 1, &last));
    }
    value = onx_x_unsqueeze(x, value, offset < 0 ? -1 : -2);
    return value ? onx_emit(x, "Where", on, value, onx_x_number(x, onx_x_dtype(x, value), 0))
                 : NULL;
}

static void lower_diag_embed(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t offset = 0, perm[ONX_RANK_MAX];
    size_t d1, d2, k = 0, rank = onx_lower_rank(x, &a[0]) + 1;
    if (!onx_lower_axis(x, &a[2], rank, &d1) || !onx_lower_axis(x, &a[3], rank, &d2)) return;
    if (!onx_xv_known_int(&a[1], &offset)) {
        onx_x_fail(x, ONX_UNSUPPORTED, "which diagonal is meant is only known in a run");
        return;
    }
    onx_value *value = embed(x, onx_xv_value(x, &a[0]), offset);
    for (size_t i = 0; i < rank; i++)
        perm[i] = (int64_t)(i == d1 ? rank - 2 : i == d2 ? rank - 1 : k++);
    out[0] = onx_xv_tensor(x, onx_x_transpose(x, value, rank, perm));
}

static void lower_diag(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t offset = 0;
    onx_value *value = onx_xv_value(x, &a[0]);
    if (!onx_xv_known_int(&a[1], &offset))
        onx_x_fail(x, ONX_UNSUPPORTED, "which diagonal is meant is only known in a run");
    else if (onx_x_rank(x, value) == 1)
        out[0] = onx_xv_tensor(x, embed(x, value, offset));
    else
        out[0] = onx_xv_tensor(x, diagonal_of(x, value, offset));
}

/* ─ Windows ──────────────────────────────────────────────────────────────────────────────────── */

/* The places that windows show: [windows, size]. */
static onx_value *window_places(onx_export *x, onx_xv windows, int64_t size, int64_t step) {
    onx_xv width = onx_xv_int(x, size);
    onx_value *starts = onx_emit(x, "Mul", onx_x_count(x, &windows), onx_x_int(x, step));
    starts = onx_x_unsqueeze(x, starts, 1);
    return starts ? onx_emit(x, "Add", starts, onx_x_count(x, &width)) : NULL;
}

static void lay_unfolded(onx_export *x, const onx_xt *self, size_t axis, int64_t step,
                         const onx_xv *out) {
    onx_xlayout *l = onx_xt_layout(x, self, 1);
    size_t rank = onx_xt_rank(x, self);
    if (out->kind != ONX_X_TENSOR || !l || axis >= rank) return;
    l->strides[rank] = l->strides[axis];
    l->strides[axis] = onx_sym_mul(x->syms, l->strides[axis], onx_sym_int(x->syms, step));
    out->tensor->layout = l;
}

static void lower_unfold(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis, rank = onx_lower_rank(x, &a[0]);
    int64_t size, step, perm[ONX_RANK_MAX];
    onx_value *value = onx_xv_value(x, &a[0]);
    if (!onx_lower_axis(x, &a[1], rank, &axis)) return;
    if (!onx_xv_known_int(&a[2], &size) || !onx_xv_known_int(&a[3], &step) || step < 1) {
        onx_x_fail(x, ONX_UNSUPPORTED, "unfold with a size that is only known in a run");
        return;
    }
    if (!rank) value = onx_x_unsqueeze(x, value, 0);
    onx_xv n = onx_x_arith(x, "sub", onx_x_size_of(x, value, axis), onx_xv_int(x, size));
    n = onx_x_arith(x, "floordiv", n, onx_xv_int(x, step));
    n = onx_x_arith(x, "add", n, onx_xv_int(x, 1));
    onx_value *index = window_places(x, n, size, step);
    if (!index) return;
    value = onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", (int64_t)axis)), value, index);
    rank = onx_x_rank(x, value);
    if (rank == SIZE_MAX) return;
    for (size_t i = 0; i < rank; i++) /* the window is the last dimension */
        perm[i] = (int64_t)(i <= axis ? i : i + 1 < rank ? i + 1 : axis + 1);
    out[0] = onx_xv_tensor(x, onx_x_transpose(x, value, rank, perm));
    lay_unfolded(x, a[0].tensor, axis, step, out);
}

/* ─ Strides ──────────────────────────────────────────────────────────────────────────────────── */

static bool no_strides(onx_export *x) {
    onx_x_fail(x, ONX_UNSUPPORTED,
               "as_strided of a tensor of which it is not known how it lies in memory");
    onx_x_hint(x, "call contiguous() before as_strided() in Python, or index instead");
    return false;
}

/* Where as_strided begins: at what is said, else where the tensor does. */
static bool offset_of(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = a[3];
    if (out->kind != ONX_X_NONE) return true;
    const onx_xlayout *l = a[0].tensor->layout;
    *out = l ? onx_xv_sym(ONX_X_INT, l->offset) : onx_xv_int(x, 0);
    return out->sym || no_strides(x);
}

/* The places in memory that it shows. */
static onx_value *strided_places(onx_export *x, const onx_xv *a, onx_xv offset) {
    size_t n = a[1].list->n;
    onx_value *places = onx_x_scalar(x, &offset, ONX_DTYPE_I64);
    for (size_t i = 0; i < n && i < a[2].list->n && onx_x_ok(x); i++) {
        onx_value *along = onx_emit(x, "Mul", onx_x_count(x, &a[1].list->v[i]),
                                    onx_x_scalar(x, &a[2].list->v[i], ONX_DTYPE_I64));
        for (size_t k = i + 1; k < n; k++) along = onx_x_unsqueeze(x, along, -1);
        bool first = i == 0 && onx_xv_is_one(x, &offset, 0);
        places = first ? along : onx_emit(x, "Add", places, along);
    }
    return places;
}

static void lay_strided(onx_export *x, const onx_xv *a, onx_xv offset, const onx_xv *out) {
    onx_xlayout *l = onx_x_alloc(x, sizeof *l + a[2].list->n * sizeof *l->strides);
    if (!l || out->kind != ONX_X_TENSOR) return;
    l->offset = offset.sym;
    for (size_t i = 0; i < a[2].list->n; i++) l->strides[i] = a[2].list->v[i].sym;
    out->tensor->layout = l;
    out->tensor->dtype = a[0].tensor->dtype;
    out->tensor->rooted = true;
}

/* One Gather of the elements of the storage, whichever way the tensor looks at them. */
static void lower_as_strided(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv offset;
    if (!offset_of(x, a, &offset)) return;
    onx_value *flat = onx_xstorage_flat(x, a[0].tensor);
    if (!flat || a[0].tensor->storage->unsure) {
        no_strides(x);
        return;
    }
    onx_value *places = strided_places(x, a, offset);
    if (!places) return;
    out[0] = onx_xv_tensor(x, onx_emit_with(x, "Gather", NULL, flat, places));
    lay_strided(x, a, offset, out);
}

/* Do the strides, from the smallest on, keep clear of what lies within them? */
static bool overlaps(const onx_xv *a) {
    int64_t size[ONX_RANK_MAX], stride[ONX_RANK_MAX], reach = 0;
    size_t n = a[1].list->n;
    if (n != a[2].list->n || n > ONX_RANK_MAX) return true;
    for (size_t i = 0; i < n; i++) {
        if (!onx_xv_known_int(&a[1].list->v[i], &size[i]) ||
            !onx_xv_known_int(&a[2].list->v[i], &stride[i]))
            return true;
        for (size_t k = i; k > 0 && stride[k] < stride[k - 1]; k--) {
            int64_t s = stride[k], m = size[k];
            stride[k] = stride[k - 1], size[k] = size[k - 1];
            stride[k - 1] = s, size[k - 1] = m;
        }
    }
    for (size_t i = 0; i < n; i++) {
        int64_t extent;
        if (size[i] == 1) continue;
        if (stride[i] <= reach || !onx_mul_i64(size[i] - 1, stride[i], &extent) ||
            !onx_add_i64(reach, extent, &reach))
            return true;
    }
    return false;
}

/* (self, src, size, stride, storage_offset) */
static void lower_as_strided_scatter(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xv view[] = {a[0], a[2], a[3], a[4]};
    onx_xv offset;
    if (!offset_of(x, view, &offset)) return;
    onx_value *memory = onx_xstorage_flat(x, a[0].tensor);
    if (!memory || a[0].tensor->storage->unsure) {
        no_strides(x);
        return;
    }
    onx_value *y = onx_emit(x, "ScatterElements", memory, flat(x, strided_places(x, view, offset)),
                            flat(x, onx_xv_value(x, &a[1])));
    if (y) out[0] = onx_xv_tensor(x, onx_x_reshape_like(x, y, onx_xv_value(x, &a[0])));
}

static onx_value *unview_never(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    (void)a, (void)index, (void)base, (void)part;
    onx_x_fail(x, ONX_UNSUPPORTED, "a write to a view by windows or strides");
    onx_x_hint(x, "clone() the tensor before it is written to");
    return NULL;
}

static onx_value *unview_as_strided(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                    onx_value *part) {
    onx_xv offset;
    if (overlaps(a)) return unview_never(x, a, index, base, part);
    if (!offset_of(x, a, &offset)) return NULL;
    onx_value *flat = onx_xstorage_flat(x, a[0].tensor);
    onx_value *places = onx_x_unsqueeze(x, strided_places(x, a, offset), -1);
    if (!flat || !places) return no_strides(x) ? base : NULL;
    return onx_xstorage_of_flat(x, a[0].tensor, onx_emit(x, "ScatterND", flat, places, part));
}

/* The diagonal's elements, its dimension in front: at (i, i + offset) of the first two. */
static onx_value *put_diagonal(onx_export *x, onx_value *base, onx_value *part, int64_t offset) {
    onx_xv n = onx_x_size_of(x, part, 0);
    onx_value *at = onx_x_unsqueeze(x, onx_x_count(x, &n), 1), *pairs[] = {at, at};
    if (offset < 0) pairs[0] = onx_emit(x, "Add", at, onx_x_int(x, -offset));
    if (offset > 0) pairs[1] = onx_emit(x, "Add", at, onx_x_int(x, offset));
    onx_value *index = onx_x_ok(x) ? onx_x_concat(x, 2, pairs, 1) : NULL;
    return onx_emit(x, "ScatterND", base, index, part);
}

/* A write to a diagonal: both dimensions in front, and back. */
static onx_value *unview_diagonal(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                  onx_value *part) {
    int64_t offset = 0, perm[ONX_RANK_MAX], back[ONX_RANK_MAX], last[ONX_RANK_MAX];
    size_t d1, d2, k = 2, rank = onx_lower_rank(x, &a[0]);
    if (!onx_lower_axis(x, &a[2], rank, &d1) || !onx_lower_axis(x, &a[3], rank, &d2)) return NULL;
    if (!onx_xv_known_int(&a[1], &offset)) return unview_never(x, a, index, base, part);
    perm[0] = (int64_t)d1, perm[1] = (int64_t)d2;
    for (size_t i = 0; i < rank; i++)
        if (i != d1 && i != d2) perm[k++] = (int64_t)i;
    for (size_t i = 0; i < rank; i++) back[perm[i]] = (int64_t)i;
    for (size_t i = 0; i + 1 < rank; i++) last[i] = i ? (int64_t)i - 1 : (int64_t)rank - 2;
    base = onx_x_transpose(x, base, rank, perm);
    part = onx_x_transpose(x, part, rank - 1, last);
    if (!base || !part) return NULL;
    return onx_x_transpose(x, put_diagonal(x, base, part, offset), rank, back);
}

static void lower_diagonal_scatter(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv args[] = {a[0], a[2], a[3], a[4]};
    onx_value *base = onx_xv_value(x, &a[0]), *part = onx_xv_value(x, &a[1]);
    if (base && part) out[0] = onx_xv_tensor(x, unview_diagonal(x, args, 0, base, part));
}

const onx_aten onx_aten_arrange[] = {
    {"repeat(Tensor self, int[] repeats)", lower_repeat, NULL},
    {"tile(Tensor self, int[] dims)", lower_repeat, NULL},
    {"repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, "
     "int? output_size=None)",
     lower_interleave, NULL},
    {"repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
     "int? output_size=None)",
     lower_interleave_by, NULL},
    {"repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None)", lower_interleave_places,
     NULL},
    {"roll(Tensor self, int[1] shifts, int[1] dims=[])", lower_roll, NULL},
    {"flip(Tensor self, int[] dims)", lower_flip, NULL},
    {"fliplr(Tensor self)", lower_fliplr, NULL},
    {"flipud(Tensor self)", lower_flipud, NULL},
    {"rot90(Tensor self, int k=1, int[] dims=[0, 1])", lower_rot90, NULL},
    {"diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)", lower_diagonal,
     unview_diagonal},
    {"diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)",
     lower_diagonal_scatter, NULL},
    {"diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)", lower_diagonal, NULL},
    {"diag(Tensor self, int diagonal=0)", lower_diag, NULL},
    {"diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)", lower_diag_embed, NULL},
    {"unfold(Tensor self, int dimension, int size, int step)", lower_unfold, unview_never},
    {"unfold_copy(Tensor self, int dimension, int size, int step)", lower_unfold, NULL},
    {"as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None)",
     lower_as_strided, unview_as_strided},
    {"as_strided_copy(Tensor self, int[] size, int[] stride, int? storage_offset=None)",
     lower_as_strided, NULL},
    {"as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, "
     "int? storage_offset=None)",
     lower_as_strided_scatter, NULL},
    {NULL, NULL, NULL},
};
