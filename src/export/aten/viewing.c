/* viewing.c: operators whose results are views of the same elements: shapes, permutations, parts.
 *
 * Each has a way back (unview): the whole as it is when the part is another. That of parts puts the
 * new part between what is before and behind it. */
#include "export/aten/parts.h"
#include "export/strides.h"

/* ─ Other shapes ─────────────────────────────────────────────────────────────────────────────── */

/* The last axis of a complex tensor's value is no dimension of it. */
static onx_xv give_like(onx_export *x, const onx_xv *self, onx_value *value) {
    onx_xv v = onx_xv_tensor(x, value);
    if (v.kind != ONX_X_TENSOR) return v;
    v.tensor->dtype = self->tensor->dtype;
    v.tensor->wrapped = self->tensor->wrapped && !onx_x_fact(x, value)->rank;
    return v;
}

static onx_value *to_shape(onx_export *x, const onx_xv *self, size_t n, const onx_xv *sizes) {
    onx_value *value = onx_xv_value(x, self);
    if (!onx_dtype_is_complex(self->tensor->dtype)) return onx_x_reshape(x, value, n, sizes);
    onx_xv *all = onx_x_array(x, n + 1, sizeof *all);
    if (!all) return NULL;
    memcpy(all, sizes, n * sizeof *all);
    all[n] = onx_xv_int(x, 2);
    return onx_x_reshape(x, value, n + 1, all);
}

/* `copies`: a copy where strides do not allow a view. */
static void give_shaped(onx_export *x, const onx_xv *self, bool copies, onx_value *value,
                        onx_xv *out) {
    out[0] = give_like(x, self, value);
    onx_lay_shaped(x, self, copies, out);
}

static void lower_view(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_shaped(x, &a[0], false, to_shape(x, &a[0], a[1].list->n, a[1].list->v), out);
}

static void lower_reshape(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_shaped(x, &a[0], true, to_shape(x, &a[0], a[1].list->n, a[1].list->v), out);
}

/* The same value seen as another type of the same width. */
static void lower_view_dtype(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_dtype(x, &a[1]), own = a->tensor->dtype;
    size_t to, from;
    if (!dtype || dtype == own) {
        *out = a[0];
        return;
    }
    if (!onx_dtype_bytes(dtype, 1, &to) || !onx_dtype_bytes(own, 1, &from) || to != from ||
        x->opset < 26) {
        onx_x_fail(x, ONX_UNSUPPORTED, "the bits of %s as %s", onx_dtype_name(own),
                   onx_dtype_name(dtype));
        onx_x_hint(x, "from opset 26 on types of one width can be seen as each other: --opset 26");
        return;
    }
    out[0] = onx_xv_tensor(
        x, onx_emit_with(x, "BitCast", ONX_ATTRS(ONX_AI("to", dtype)), onx_xv_value(x, a)));
}

static void lower_ravel(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv all = onx_xv_int(x, -1), list = onx_xv_list(x, ONX_X_LIST, 1, &all);
    onx_xv args[2] = {a[0], list};
    if (onx_x_ok(x)) lower_reshape(x, args, out);
}

static void lower_view_as(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *value = onx_xv_value(x, &a[0]), *like = onx_xv_value(x, &a[1]);
    give_shaped(x, &a[0], onx_x_op(x).data[0] == 'r', onx_x_reshape_like(x, value, like), out);
}

static onx_value *unview_shape(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    (void)a, (void)index;
    return onx_x_reshape_like(x, part, base);
}

/* The sizes of self with dimensions [from, to) replaced. */
static void splice(onx_export *x, const onx_xv *a, size_t from, size_t to, size_t n,
                   const onx_xv *sizes, onx_xv *out) {
    size_t rank = onx_lower_rank(x, &a[0]), k = 0;
    onx_value *value = onx_xv_value(x, &a[0]);
    onx_xv *all = onx_x_array(x, rank + n + 1, sizeof *all);
    if (!all || !value) return;
    for (size_t i = 0; i < from; i++) all[k++] = onx_x_size_of(x, value, i);
    for (size_t i = 0; i < n; i++) all[k++] = sizes[i];
    for (size_t i = to; i < rank; i++) all[k++] = onx_x_size_of(x, value, i);
    give_shaped(x, &a[0], true, to_shape(x, &a[0], k, all), out);
}

static void lower_flatten(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_lower_rank(x, &a[0]), from, to;
    onx_value *value = onx_xv_value(x, &a[0]);
    if (!onx_lower_axis(x, &a[1], rank, &from) || !onx_lower_axis(x, &a[2], rank, &to)) return;
    if (from > to) {
        onx_x_fail(x, ONX_INVALID, "flatten from dimension %zu to %zu", from, to);
        return;
    }
    onx_xv all = rank ? onx_x_size_of(x, value, from) : onx_xv_int(x, 1);
    for (size_t i = from + 1; i <= to && i < rank; i++)
        all = onx_x_arith(x, "mul", all, onx_x_size_of(x, value, i));
    splice(x, a, from, rank ? to + 1 : 0, 1, &all, out);
}

static void lower_unflatten(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_lower_rank(x, &a[0]), axis;
    if (onx_lower_axis(x, &a[1], rank, &axis))
        splice(x, a, axis, axis + 1, a[2].list->n, a[2].list->v, out);
}

static void lower_unsqueeze(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis, rank = onx_lower_rank(x, &a[0]);
    if (onx_lower_axis(x, &a[1], rank + 1, &axis))
        give_shaped(x, &a[0], false, onx_x_unsqueeze(x, onx_xv_value(x, &a[0]), (int64_t)axis),
                    out);
}

/* Dimensions of `axes` that are 1, or surely can be: those of unknown size are taken to be more. */
static void squeeze(onx_export *x, const onx_xv *self, const bool *wanted, onx_xv *out) {
    int64_t axes[ONX_RANK_MAX], size;
    size_t n = 0, rank = onx_lower_rank(x, self);
    onx_value *value = onx_xv_value(x, self);
    for (size_t i = 0; value && i < rank; i++) {
        if (!wanted[i]) continue;
        if (!onx_x_known_dim(x, value, i, &size))
            onx_x_note(x, "squeeze: dimension %zu is taken not to be 1", i);
        else if (size == 1)
            axes[n++] = (int64_t)i;
    }
    if (n && value) value = onx_emit(x, "Squeeze", value, onx_x_ints(x, n, axes));
    if (n)
        give_shaped(x, self, false, value, out);
    else
        out[0] = *self;
}

static void lower_squeeze(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool all[ONX_RANK_MAX];
    memset(all, 1, sizeof all);
    squeeze(x, &a[0], all, out);
}

static void lower_squeeze_dims(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool wanted[ONX_RANK_MAX] = {false};
    size_t axis, rank = onx_lower_rank(x, &a[0]);
    for (size_t i = 0; i < a[1].list->n; i++)
        if (onx_lower_axis(x, &a[1].list->v[i], rank, &axis)) wanted[axis] = true;
    squeeze(x, &a[0], wanted, out);
}

/* ─ Permutations ─────────────────────────────────────────────────────────────────────────────── */

/* A permutation of the dimensions as PyTorch counts them; that of the value may have one more. */
static onx_value *permute(onx_export *x, const onx_xv *self, onx_value *value, int64_t *perm) {
    size_t rank = onx_lower_rank(x, self);
    bool complex = onx_dtype_is_complex(self->tensor->dtype);
    if (complex) perm[rank] = (int64_t)rank;
    return onx_x_transpose(x, value, rank + complex, perm);
}

static void give_permuted(onx_export *x, const onx_xv *self, int64_t *perm, onx_xv *out) {
    out[0] = give_like(x, self, permute(x, self, onx_xv_value(x, self), perm));
    onx_lay_permuted(x, self, perm, out);
}

static onx_value *permute_back(onx_export *x, const onx_xv *self, const int64_t *perm,
                               onx_value *part) {
    int64_t back[ONX_RANK_MAX];
    size_t rank = onx_lower_rank(x, self);
    for (size_t i = 0; i < rank; i++) back[perm[i]] = (int64_t)i;
    return permute(x, self, part, back);
}

static bool perm_of(onx_export *x, const onx_xv *a, int64_t *perm) {
    size_t axis, rank = onx_lower_rank(x, &a[0]);
    bool seen[ONX_RANK_MAX] = {false};
    for (size_t i = 0; i < a[1].list->n && i < rank; i++) {
        if (!onx_lower_axis(x, &a[1].list->v[i], rank, &axis)) return false;
        perm[i] = (int64_t)axis;
        seen[axis] = true;
    }
    for (size_t i = 0; i < rank; i++)
        if (a[1].list->n != rank || !seen[i])
            return onx_x_fail(x, ONX_INVALID, "permute does not name each dimension once");
    return onx_x_ok(x);
}

static void lower_permute(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t perm[ONX_RANK_MAX];
    if (perm_of(x, a, perm)) give_permuted(x, &a[0], perm, out);
}

static onx_value *unview_permute(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                 onx_value *part) {
    int64_t perm[ONX_RANK_MAX];
    (void)index, (void)base;
    return perm_of(x, a, perm) ? permute_back(x, &a[0], perm, part) : NULL;
}

static bool swap_of(onx_export *x, const onx_xv *self, const onx_xv *d0, const onx_xv *d1,
                    int64_t *perm) {
    size_t rank = onx_lower_rank(x, self), i, j;
    if (!onx_lower_axis(x, d0, rank, &i) || !onx_lower_axis(x, d1, rank, &j)) return false;
    for (size_t k = 0; k < rank; k++) perm[k] = (int64_t)k;
    if (rank) perm[i] = (int64_t)j, perm[j] = (int64_t)i;
    return true;
}

static void lower_transpose(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t perm[ONX_RANK_MAX];
    if (swap_of(x, &a[0], &a[1], &a[2], perm)) give_permuted(x, &a[0], perm, out);
}

static onx_value *unview_transpose(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                   onx_value *part) {
    int64_t perm[ONX_RANK_MAX];
    (void)index, (void)base;
    return swap_of(x, &a[0], &a[1], &a[2], perm) ? permute(x, &a[0], part, perm) : NULL;
}

/* The last two dimensions, or of a vector nothing. */
static void lower_t(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t perm[ONX_RANK_MAX];
    if (onx_lower_rank(x, &a[0]) < 2) {
        out[0] = a[0];
        return;
    }
    onx_xv last = onx_xv_int(x, -1), before = onx_xv_int(x, -2);
    if (swap_of(x, &a[0], &before, &last, perm)) give_permuted(x, &a[0], perm, out);
}

static onx_value *unview_t(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                           onx_value *part) {
    int64_t perm[ONX_RANK_MAX];
    onx_xv last = onx_xv_int(x, -1), before = onx_xv_int(x, -2);
    (void)index, (void)base;
    return swap_of(x, &a[0], &before, &last, perm) ? permute(x, &a[0], part, perm) : NULL;
}

static void lower_reversed(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t perm[ONX_RANK_MAX];
    size_t rank = onx_lower_rank(x, &a[0]);
    for (size_t i = 0; i < rank; i++) perm[i] = (int64_t)(rank - 1 - i);
    give_permuted(x, &a[0], perm, out);
}

static onx_value *unview_reversed(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                  onx_value *part) {
    int64_t perm[ONX_RANK_MAX];
    size_t rank = onx_lower_rank(x, &a[0]);
    (void)index, (void)base;
    for (size_t i = 0; i < rank; i++) perm[i] = (int64_t)(rank - 1 - i);
    return permute(x, &a[0], part, perm);
}

/* movedim: those named go to their places, the others fill the rest in order. */
static bool moved_of(onx_export *x, const onx_xv *a, int64_t *perm) {
    size_t rank = onx_lower_rank(x, &a[0]), from, to;
    bool used[ONX_RANK_MAX] = {false};
    for (size_t i = 0; i < rank; i++) perm[i] = -1;
    for (size_t i = 0; i < a[1].list->n && i < a[2].list->n; i++) {
        if (!onx_lower_axis(x, &a[1].list->v[i], rank, &from) ||
            !onx_lower_axis(x, &a[2].list->v[i], rank, &to))
            return false;
        perm[to] = (int64_t)from;
        used[from] = true;
    }
    for (size_t i = 0, k = 0; i < rank; i++) {
        if (perm[i] >= 0) continue;
        while (k < rank && used[k]) k++;
        perm[i] = (int64_t)k++;
    }
    return onx_x_ok(x);
}

static void lower_movedim(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t perm[ONX_RANK_MAX];
    if (moved_of(x, a, perm)) give_permuted(x, &a[0], perm, out);
}

static onx_value *unview_movedim(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                 onx_value *part) {
    int64_t perm[ONX_RANK_MAX];
    (void)index, (void)base;
    return moved_of(x, a, perm) ? permute_back(x, &a[0], perm, part) : NULL;
}

/* ─ Expansion ────────────────────────────────────────────────────────────────────────────────── */

static void give_expanded(onx_export *x, const onx_xv *self, size_t n, onx_xv *sizes, onx_xv *out) {
    size_t rank = onx_lower_rank(x, self);
    int64_t size;
    bool same = n == rank;
    onx_value *value = onx_xv_value(x, self);
    if (!value) return;
    if (n < rank) {
        onx_x_fail(x, ONX_INVALID, "a tensor of rank %zu cannot be expanded to %zu", rank, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bool old = i + rank >= n;
        size_t axis = i + rank - n;
        if (onx_xv_known_int(&sizes[i], &size) && size == -1 && old)
            sizes[i] = onx_x_size_of(x, value, axis);
        same = same && old && sizes[i].sym && sizes[i].sym == onx_x_dim(x, value, axis);
    }
    if (onx_dtype_is_complex(self->tensor->dtype)) sizes[n++] = onx_xv_int(x, 2);
    if (!same) value = onx_emit(x, "Expand", value, onx_x_shape(x, n, sizes));
    out[0] = give_like(x, self, value);
    onx_lay_expanded(x, self, out);
}

static void lower_expand(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t n = a[1].list->n;
    onx_xv *sizes = onx_x_array(x, n + 2, sizeof *sizes);
    if (!sizes) return;
    memcpy(sizes, a[1].list->v, n * sizeof *sizes);
    give_expanded(x, &a[0], n, sizes, out);
}

static void lower_expand_as(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *like = onx_xv_value(x, &a[1]);
    size_t n = onx_lower_rank(x, &a[1]);
    onx_xv *sizes = onx_x_array(x, n + 2, sizeof *sizes);
    for (size_t i = 0; sizes && i < n; i++) sizes[i] = onx_x_size_of(x, like, i);
    if (sizes) give_expanded(x, &a[0], n, sizes, out);
}

static onx_value *unview_never(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    (void)a, (void)index, (void)base, (void)part;
    onx_x_fail(x, ONX_UNSUPPORTED, "a write to a view of which one element stands for several");
    onx_x_hint(x, "clone() the tensor before it is written to");
    return NULL;
}

/* ─ Parts ────────────────────────────────────────────────────────────────────────────────────── */

static const int64_t the_end = INT64_MAX;

static bool is_number(const onx_xv *v, int64_t number) {
    int64_t value;
    return onx_xv_known_int(v, &value) && value == number;
}

/* Is it all of the dimension? Ends beyond it are. */
static bool is_whole(onx_export *x, onx_value *value, size_t axis, const onx_xv *start,
                     const onx_xv *end, int64_t step) {
    int64_t last, size;
    if (step != 1 || !is_number(start, 0)) return false;
    if (end->sym && end->sym == onx_x_dim(x, value, axis)) return true;
    if (!onx_xv_known_int(end, &last)) return false;
    return last == the_end || (onx_x_known_dim(x, value, axis, &size) && last >= size);
}

onx_value *onx_lower_slice(onx_export *x, onx_value *value, size_t axis, onx_xv start, onx_xv end,
                           int64_t step) {
    if (start.kind == ONX_X_NONE) start = onx_xv_int(x, 0);
    if (end.kind == ONX_X_NONE) end = onx_xv_int(x, the_end);
    if (!value || is_whole(x, value, axis, &start, &end, step)) return value;
    return onx_x_slice(x, value, (int64_t)axis, start, end, step);
}

/* A number that counts from the end, counted from the beginning. */
static onx_xv from_start(onx_export *x, onx_value *value, size_t axis, onx_xv number) {
    int64_t known;
    if (onx_xv_known_int(&number, &known) && known < 0)
        return onx_x_arith(x, "add", number, onx_x_size_of(x, value, axis));
    return number;
}

/* Every step-th place along an axis, through ScatterND with that axis first. */
static onx_value *scatter_steps(onx_export *x, onx_value *base, onx_value *part, size_t axis,
                                onx_xv start, onx_xv end, int64_t step) {
    onx_value *places =
        onx_emit(x, "Range", onx_x_int(x, 0),
                 onx_x_scalar(x, &(onx_xv){.kind = ONX_X_INT, .sym = onx_x_dim(x, base, axis)},
                              ONX_DTYPE_I64),
                 onx_x_int(x, 1));
    places = onx_x_unsqueeze(x, onx_lower_slice(x, places, 0, start, end, step), 1);
    onx_value *front = onx_x_swap(x, base, 0, (int64_t)axis);
    onx_value *rows = onx_x_swap(x, part, 0, (int64_t)axis);
    if (!front || !rows || !places) return NULL;
    return onx_x_swap(x, onx_emit(x, "ScatterND", front, places, rows), 0, (int64_t)axis);
}

onx_value *onx_lower_put_slice(onx_export *x, onx_value *base, onx_value *part, size_t axis,
                               onx_xv start, onx_xv end, int64_t step) {
    onx_value *parts[3];
    size_t n = 0;
    int64_t known, size;
    if (start.kind == ONX_X_NONE) start = onx_xv_int(x, 0);
    if (end.kind == ONX_X_NONE) end = onx_xv_int(x, the_end);
    if (!base || !part) return NULL;
    if (is_whole(x, base, axis, &start, &end, step)) return part;
    start = from_start(x, base, axis, start);
    if (!is_number(&end, the_end)) end = from_start(x, base, axis, end);
    if (step != 1) return scatter_steps(x, base, part, axis, start, end, step);
    if (!is_number(&start, 0))
        parts[n++] = onx_lower_slice(x, base, axis, onx_xv_int(x, 0), start, 1);
    parts[n++] = part;
    bool all = onx_xv_known_int(&end, &known) &&
               (known == the_end || (onx_x_known_dim(x, base, axis, &size) && known >= size));
    if (!all && !(end.sym && end.sym == onx_x_dim(x, base, axis)))
        parts[n++] = onx_lower_slice(x, base, axis, end, onx_xv_int(x, the_end), 1);
    return onx_x_ok(x) ? onx_x_concat(x, n, parts, (int64_t)axis) : NULL;
}

static bool step_of(onx_export *x, const onx_xv *v, int64_t *step) {
    if (onx_xv_known_int(v, step) && *step > 0) return true;
    return onx_x_fail(x, ONX_UNSUPPORTED, "a slice whose step is not a known positive number");
}

static void lower_slice(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    int64_t step;
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis) || !step_of(x, &a[4], &step))
        return;
    onx_value *value = onx_xv_value(x, &a[0]);
    onx_value *part = onx_lower_slice(x, value, axis, a[2], a[3], step);
    if (part && part == value && a[0].tensor->value == value) {
        out[0] = a[0];
        return;
    }
    out[0] = give_like(x, &a[0], part);
    onx_lay_part(x, &a[0], axis, a[2], step, false, out);
}

static onx_value *unview_slice(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    size_t axis;
    int64_t step;
    (void)index;
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis) || !step_of(x, &a[4], &step))
        return NULL;
    return onx_lower_put_slice(x, base, part, axis, a[2], a[3], step);
}

/* narrow(dim, start, length) is a slice. */
static bool narrow_of(onx_export *x, const onx_xv *a, size_t *axis, onx_xv *start, onx_xv *end) {
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), axis)) return false;
    *start = a[2].kind == ONX_X_TENSOR ? onx_x_item(x, a[2].tensor) : a[2];
    *start = from_start(x, onx_xv_value(x, &a[0]), *axis, *start);
    *end = onx_x_arith(x, "add", *start, a[3]);
    return onx_x_ok(x);
}

static void lower_narrow(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    onx_xv start, end;
    if (!narrow_of(x, a, &axis, &start, &end)) return;
    onx_value *part = onx_lower_slice(x, onx_xv_value(x, &a[0]), axis, start, end, 1);
    out[0] = give_like(x, &a[0], part);
    onx_lay_part(x, &a[0], axis, start, 1, false, out);
}

static onx_value *unview_narrow(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                onx_value *part) {
    size_t axis;
    onx_xv start, end;
    (void)index;
    if (!narrow_of(x, a, &axis, &start, &end)) return NULL;
    return onx_lower_put_slice(x, base, part, axis, start, end, 1);
}

static onx_value *select_at(onx_export *x, onx_value *value, size_t axis, const onx_xv *index) {
    if (!value) return NULL;
    return onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", (int64_t)axis)), value,
                         onx_x_scalar(x, index, ONX_DTYPE_I64));
}

onx_value *onx_lower_put_at(onx_export *x, onx_value *base, onx_value *part, size_t axis,
                            onx_xv index) {
    onx_xv start = from_start(x, base, axis, index);
    onx_xv end = onx_x_arith(x, "add", start, onx_xv_int(x, 1));
    return onx_lower_put_slice(x, base, onx_x_unsqueeze(x, part, (int64_t)axis), axis, start, end,
                               1);
}

static void lower_select(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis)) return;
    out[0] = give_like(x, &a[0], select_at(x, onx_xv_value(x, &a[0]), axis, &a[2]));
    onx_lay_part(x, &a[0], axis, a[2], 1, true, out);
}

static onx_value *unview_select(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                onx_value *part) {
    size_t axis;
    (void)index;
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis)) return NULL;
    return onx_lower_put_at(x, base, part, axis, a[2]);
}

static void lower_alias(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)x;
    out[0] = a[0];
}

/* The same value in a storage of its own. */
static void give_copy(onx_export *x, const onx_xv *self, const onx_xv *format, onx_xv *out) {
    out[0] = give_like(x, self, onx_xv_value(x, self));
    if (out->kind != ONX_X_TENSOR) return;
    out->tensor->fresh = true;
    onx_lay_formatted(x, self, format, out->tensor);
}

static void lower_clone(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_copy(x, &a[0], &a[1], out);
}

static void lower_fresh(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_copy(x, &a[0], &(onx_xv){.kind = ONX_X_NONE}, out);
}

static void lower_contiguous(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xanswer is = onx_lay_has_format(x, a[0].tensor, &a[1]);
    out[0] = a[0];
    if (is == ONX_X_YES) return;
    give_copy(x, &a[0], &a[1], out);
    if (out->kind == ONX_X_TENSOR) out->tensor->storage->unsure = is == ONX_X_UNSURE;
}

static onx_value *unview_alias(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    (void)x, (void)a, (void)index, (void)base;
    return part;
}

const onx_aten onx_aten_viewing[] = {
    {"view.dtype(Tensor self, ScalarType dtype)", lower_view_dtype, NULL},
    {"view(Tensor self, int[] size)", lower_view, unview_shape},
    {"reshape(Tensor self, int[] shape)", lower_reshape, unview_shape},
    {"ravel(Tensor self)", lower_ravel, unview_shape},
    {"_unsafe_view(Tensor self, int[] size)", lower_view, NULL},
    {"view_copy.dtype(Tensor self, ScalarType dtype)", lower_view_dtype, NULL},
    {"view_copy(Tensor self, int[] size)", lower_view, NULL},
    {"_reshape_copy(Tensor self, int[] size)", lower_view, NULL},
    {"_reshape_alias(Tensor self, int[] size, int[] stride)", lower_view, unview_shape},
    {"view_as(Tensor self, Tensor other)", lower_view_as, unview_shape},
    {"reshape_as(Tensor self, Tensor other)", lower_view_as, unview_shape},
    {"flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1)", lower_flatten,
     unview_shape},
    {"unflatten.int(Tensor self, int dim, int[] sizes)", lower_unflatten, unview_shape},
    {"unsqueeze(Tensor self, int dim)", lower_unsqueeze, unview_shape},
    {"unsqueeze_copy(Tensor self, int dim)", lower_unsqueeze, NULL},
    {"squeeze(Tensor self)", lower_squeeze, unview_shape},
    {"squeeze.dim(Tensor self, int[] dim)", lower_squeeze_dims, unview_shape},
    {"squeeze_copy(Tensor self)", lower_squeeze, NULL},
    {"squeeze_copy.dim(Tensor self, int[] dim)", lower_squeeze_dims, NULL},
    {"permute(Tensor self, int[] dims)", lower_permute, unview_permute},
    {"permute_copy(Tensor self, int[] dims)", lower_permute, NULL},
    {"transpose.int(Tensor self, int dim0, int dim1)", lower_transpose, unview_transpose},
    {"transpose_copy.int(Tensor self, int dim0, int dim1)", lower_transpose, NULL},
    {"swapaxes(Tensor self, int axis0, int axis1)", lower_transpose, unview_transpose},
    {"swapdims(Tensor self, int dim0, int dim1)", lower_transpose, unview_transpose},
    {"t(Tensor self)", lower_t, unview_t},
    {"t_copy(Tensor self)", lower_t, NULL},
    {"mT(Tensor self)", lower_t, unview_t},
    {"numpy_T(Tensor self)", lower_reversed, unview_reversed},
    {"movedim.intlist(Tensor self, int[] source, int[] destination)", lower_movedim,
     unview_movedim},
    {"moveaxis.intlist(Tensor self, int[] source, int[] destination)", lower_movedim,
     unview_movedim},
    {"expand(Tensor self, int[] size, *, bool implicit=False)", lower_expand, unview_never},
    {"expand_copy(Tensor self, int[] size, *, bool implicit=False)", lower_expand, NULL},
    {"broadcast_to(Tensor self, int[] size)", lower_expand, unview_never},
    {"expand_as(Tensor self, Tensor other)", lower_expand_as, unview_never},
    {"slice.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)",
     lower_slice, unview_slice},
    {"slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)",
     lower_slice, NULL},
    {"narrow(Tensor self, int dim, Any start, int length)", lower_narrow, unview_narrow},
    {"narrow_copy(Tensor self, int dim, Any start, int length)", lower_narrow, NULL},
    {"select.int(Tensor self, int dim, int index)", lower_select, unview_select},
    {"select_copy.int(Tensor self, int dim, int index)", lower_select, NULL},
    {"alias(Tensor self)", lower_alias, unview_alias},
    {"alias_copy(Tensor self)", lower_fresh, NULL},
    {"detach(Tensor self)", lower_alias, unview_alias},
    {"detach_copy(Tensor self)", lower_fresh, NULL},
    {"data(Tensor self)", lower_alias, unview_alias},
    {"prim::data(Tensor self)", lower_alias, unview_alias},
    {"lift(Tensor self)", lower_alias, unview_alias},
    {"lift_fresh(Tensor self)", lower_fresh, unview_alias},
    {"lift_fresh_copy(Tensor self)", lower_fresh, unview_alias},
    {"requires_grad_(Tensor self, bool requires_grad=True)", lower_alias, unview_alias},
    {"clone(Tensor self, *, MemoryFormat? memory_format=None)", lower_clone, unview_alias},
    {"contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format)", lower_contiguous,
     unview_alias},
    {"resolve_conj(Tensor self)", lower_alias, unview_alias},
    {"resolve_neg(Tensor self)", lower_alias, unview_alias},
    {"cpu(Tensor self)", lower_alias, unview_alias},
    {"cuda(Tensor self)", lower_alias, unview_alias},
    {NULL, NULL, NULL},
};
