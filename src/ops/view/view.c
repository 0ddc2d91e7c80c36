/* view.c: the same elements in another shape: Reshape, Squeeze, Unsqueeze, Flatten, Identity; and
 * Shape, Size: meaning.
 *
 * Elements that are known stay known through all of them: this is how sizes computed in the graph
 * become sizes of its tensors. */
#include "ops/op.h"

static const onx_sym **new_dims(onx_infer *in, size_t n) {
    return onx_arena_array(onx_infer_arena(in), n + 1, sizeof(const onx_sym *));
}

/* Output 0 of this shape, with the elements of input 0. */
static onx_status view_as(onx_infer *in, size_t rank, const onx_sym *const *dims) {
    ONX_TRY(onx_infer_tensor(in, 0, onx_infer_in(in, 0)->dtype, rank, dims));
    return onx_infer_same_elems(in);
}

/* Of this rank, or of none that is known. */
static onx_status view_unknown(onx_infer *in, bool ranked, int64_t rank) {
    const onx_fact *data = onx_infer_in(in, 0);
    if (!ranked || rank < 0 || rank > ONX_RANK_MAX) return onx_infer_unranked(in, 0, data->dtype);
    const onx_sym *dims[ONX_RANK_MAX] = {NULL};
    return onx_infer_tensor(in, 0, data->dtype, (size_t)rank, dims);
}

/* ── Reshape ─────────────────────────────────────────────────────────────────────────────────── */

/* The elements of the target shape, from the attribute or the input; false: not known. */
static bool target_of(onx_infer *in, size_t *n, const onx_sym *const **out) {
    const int64_t *ints = onx_op_ints(onx_infer_node(in), "shape", n);
    const onx_fact *shape = onx_infer_in(in, 1);
    if (!ints && (!shape->elems || !shape->ranked || shape->rank != 1)) return false;
    if (!ints) {
        *n = shape->n_elems;
        *out = shape->elems;
        return true;
    }
    const onx_sym **dims = new_dims(in, *n);
    for (size_t i = 0; dims && i < *n; i++) dims[i] = onx_sym_int(onx_infer_syms(in), ints[i]);
    *out = dims;
    return dims != NULL;
}

static bool has_zero(size_t n, const onx_sym *const *dims) {
    int64_t size;
    for (size_t i = 0; i < n; i++)
        if (onx_sym_is_int(dims[i], &size) && size == 0) return true;
    return false;
}

/* Sizes as they are meant: 0 copies. *rest: where -1 stands; SIZE_MAX: nowhere. */
static onx_status copy_sizes(onx_infer *in, size_t n, const onx_sym **dims, size_t *rest) {
    const onx_fact *data = onx_infer_in(in, 0);
    bool zero_copies = !onx_infer_int(in, "allowzero");
    *rest = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t size;
        if (!onx_sym_is_int(dims[i], &size) || size > 0 || (size == 0 && !zero_copies)) continue;
        if (size < -1)
            return onx_infer_fail(in, "the new shape has the size %lld", (long long)size);
        if (size == -1 && *rest != SIZE_MAX)
            return onx_infer_fail(in, "the new shape has -1 more than once");
        if (size == -1 && !zero_copies && has_zero(n, dims))
            return onx_infer_fail(in, "the new shape has no elements, so -1 can be any size");
        if (size == 0 && data->ranked && i >= data->rank)
            return onx_infer_fail(in, "the new shape copies size %zu of a tensor of rank %zu", i,
                                  data->rank);
        if (size == -1) *rest = i;
        dims[i] = size == 0 && data->ranked ? data->dims[i] : NULL;
    }
    return ONX_OK;
}

/* The size for -1, and whether the numbers of elements agree. */
static onx_status fill_rest(onx_infer *in, size_t n, const onx_sym **dims, size_t rest) {
    const onx_fact *data = onx_infer_in(in, 0);
    onx_syms *syms = onx_infer_syms(in);
    int64_t have, want;
    if (!data->ranked) return ONX_OK;
    if (rest != SIZE_MAX) dims[rest] = onx_sym_int(syms, 1);
    const onx_sym *total = onx_infer_product(in, data->rank, data->dims);
    const onx_sym *others = onx_infer_product(in, n, dims);
    if (rest != SIZE_MAX) dims[rest] = onx_sym_floordiv(syms, total, others);
    if (!onx_sym_is_int(total, &have) || !onx_sym_is_int(others, &want)) return ONX_OK;
    bool fits = rest == SIZE_MAX ? have == want : want ? have % want == 0 : have == 0;
    if (fits) return ONX_OK;
    return onx_infer_fail(in, "%lld elements do not fit the new shape", (long long)have);
}

static onx_status infer_reshape(onx_infer *in) {
    size_t n = 0, rest;
    const onx_sym *const *target;
    const onx_fact *shape = onx_infer_in(in, 1);
    ONX_TRY(onx_infer_check_rank(in, 1, 1, 1));
    if (!target_of(in, &n, &target)) {
        int64_t rank = -1;
        bool known = shape->ranked && shape->rank == 1 && onx_sym_is_int(shape->dims[0], &rank);
        return view_unknown(in, known, rank);
    }
    const onx_sym **dims = new_dims(in, n);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) dims[i] = target[i];
    ONX_TRY(copy_sizes(in, n, dims, &rest));
    ONX_TRY(fill_rest(in, n, dims, rest));
    return view_as(in, n, dims);
}

static onx_status infer_flatten(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    int64_t axis = onx_infer_int(in, "axis"), rank = (int64_t)data->rank;
    if (!data->ranked) return view_unknown(in, true, 2);
    if (axis < (onx_infer_op(in)->since < 11 ? 0 : -rank) || axis > rank)
        return onx_infer_fail(in, "axis %lld is out of range for rank %lld", (long long)axis,
                              (long long)rank);
    size_t at = (size_t)(axis < 0 ? axis + rank : axis);
    const onx_sym *dims[2] = {onx_infer_product(in, at, data->dims),
                              onx_infer_product(in, data->rank - at, data->dims + at)};
    return view_as(in, 2, dims);
}

/* ── Squeeze, Unsqueeze ──────────────────────────────────────────────────────────────────────── */

/* Which of `rank` dimensions are listed; each may be so once. NULL in *marks: no memory. */
static onx_status mark_axes(onx_infer *in, size_t rank, size_t n, const int64_t *axes,
                            bool **marks) {
    bool *marked = *marks = onx_arena_array(onx_infer_arena(in), rank + 1, sizeof **marks);
    if (!marked) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        size_t axis;
        if (!onx_axis(axes[i], rank, &axis))
            return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)axes[i],
                                  rank);
        if (marked[axis])
            return onx_infer_fail(in, "axis %lld is listed twice", (long long)axes[i]);
        marked[axis] = true;
    }
    return ONX_OK;
}

/* How many axes an input lists that is not known itself; -1: not known either. */
static int64_t axes_count(onx_infer *in) {
    const onx_fact *axes = onx_infer_in(in, 1);
    int64_t n;
    if (axes->ranked && axes->rank == 0) return 1;
    return axes->ranked && axes->rank == 1 && onx_sym_is_int(axes->dims[0], &n) ? n : -1;
}

/* Without axes, all sizes of 1 go; false when a size is not known. */
static bool mark_ones(const onx_fact *data, bool *marks) {
    for (size_t i = 0; i < data->rank; i++) {
        int64_t size;
        if (!onx_sym_is_int(data->dims[i], &size)) return false;
        marks[i] = size == 1;
    }
    return true;
}

static onx_status infer_squeeze(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    size_t n = 0, rank = 0;
    const int64_t *axes = NULL;
    bool listed = onx_infer_list(in, "axes", 1, &n, &axes), *marks;
    if (!data->ranked) return view_unknown(in, false, 0);
    if (!listed && onx_infer_has_in(in, 1)) {
        int64_t gone = axes_count(in);
        return view_unknown(in, gone >= 0, gone < 0 ? 0 : (int64_t)data->rank - gone);
    }
    ONX_TRY(mark_axes(in, data->rank, n, axes, &marks));
    if (!listed && !mark_ones(data, marks)) return view_unknown(in, false, 0);
    const onx_sym **dims = new_dims(in, data->rank);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < data->rank; i++) {
        int64_t size;
        if (!marks[i])
            dims[rank++] = data->dims[i];
        else if (onx_sym_is_int(data->dims[i], &size) && size != 1)
            return onx_infer_fail(in, "dimension %zu has the size %lld and cannot be squeezed", i,
                                  (long long)size);
    }
    return view_as(in, rank, dims);
}

static onx_status infer_unsqueeze(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    size_t n = 0, from = 0;
    const int64_t *axes = NULL;
    bool *marks;
    if (!data->ranked) return view_unknown(in, false, 0);
    if (!onx_infer_list(in, "axes", 1, &n, &axes)) {
        int64_t more = axes_count(in);
        return view_unknown(in, more >= 0 && more <= ONX_RANK_MAX, (int64_t)data->rank + more);
    }
    ONX_TRY(mark_axes(in, data->rank + n, n, axes, &marks));
    const onx_sym **dims = new_dims(in, data->rank + n);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < data->rank + n; i++)
        dims[i] = marks[i] ? onx_sym_int(onx_infer_syms(in), 1) : data->dims[from++];
    return view_as(in, data->rank + n, dims);
}

/* ── Identity, Shape, Size ───────────────────────────────────────────────────────────────────── */

static onx_status infer_identity(onx_infer *in) {
    *onx_infer_out(in, 0) = *onx_infer_in(in, 0);
    return ONX_OK;
}

/* An end of a range of dimensions, as Shape counts them. */
static size_t clamp(int64_t at, size_t rank) {
    int64_t r = (int64_t)rank;
    if (at < 0) at = at < -r ? 0 : at + r;
    return (size_t)(at > r ? r : at);
}

static onx_status infer_shape(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    const onx_sym *size = NULL;
    if (!data->ranked) return onx_infer_tensor(in, 0, ONX_DTYPE_I64, 1, &size);
    bool ends = onx_op_has(onx_infer_node(in), "end");
    size_t from = clamp(onx_infer_int(in, "start"), data->rank);
    size_t to = ends ? clamp(onx_infer_int(in, "end"), data->rank) : data->rank;
    size_t n = to > from ? to - from : 0;
    size = onx_sym_int(onx_infer_syms(in), (int64_t)n);
    ONX_TRY(onx_infer_tensor(in, 0, ONX_DTYPE_I64, 1, &size));
    return onx_infer_elems(in, 0, n, data->dims + from);
}

static onx_status infer_size(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    ONX_TRY(onx_infer_tensor(in, 0, ONX_DTYPE_I64, 0, NULL));
    if (!data->ranked) return ONX_OK;
    const onx_sym *size = onx_infer_product(in, data->rank, data->dims);
    return onx_infer_elems(in, 0, 1, &size);
}

#define RESHAPE_5 "(data:T, shape:int64) -> (reshaped:T) "
#define RESHAPE_14 "(data:T, shape:int64) -> (reshaped:T) {allowzero:int=0} "
#define FLATTEN_1 "(input:T) -> (output:T) {axis:int=1} "
#define SQUEEZE_1 "(data:T) -> (squeezed:T) {axes?:ints} "
#define SQUEEZE_13 "(data:T, axes?:int64) -> (squeezed:T) "
#define UNSQUEEZE_1 "(data:T) -> (expanded:T) {axes:ints} "
#define UNSQUEEZE_13 "(data:T, axes:int64) -> (expanded:T) "
#define IDENTITY_1 "(input:T) -> (output:T) "
#define IDENTITY_14 "(input:V) -> (output:V) "
#define SHAPE_1 "(data:T) -> (shape:T1) "
#define SHAPE_15 "(data:T) -> (shape:T1) {end?:int, start:int=0} "
#define SIZE_1 "(data:T) -> (size:T1) "
#define LISTS "|seq(all1)|optional(seq(all1))|optional(all1)"

extern onx_op_rows onx_ops_view;
onx_op_rows onx_ops_view = {
    {"Reshape", 1, "(data:T) -> (reshaped:T) {consumed_inputs?:ints, shape?:ints} [T:f0]",
     .infer = infer_reshape},
    {"Reshape", 5, RESHAPE_5 "[T:all1]", .infer = infer_reshape},
    {"Reshape", 13, RESHAPE_5 "[T:all13]", .infer = infer_reshape},
    {"Reshape", 14, RESHAPE_14 "[T:all13]", .infer = infer_reshape},
    {"Reshape", 19, RESHAPE_14 "[T:all19]", .infer = infer_reshape},
    {"Reshape", 21, RESHAPE_14 "[T:all21]", .infer = infer_reshape},
    {"Reshape", 23, RESHAPE_14 "[T:all23]", .infer = infer_reshape},
    {"Reshape", 24, RESHAPE_14 "[T:all24]", .infer = infer_reshape},
    {"Reshape", 25, RESHAPE_14 "[T:all25]", .infer = infer_reshape},
    {"Flatten", 1, FLATTEN_1 "[T:f0]", .infer = infer_flatten},
    {"Flatten", 9, FLATTEN_1 "[T:all1]", .infer = infer_flatten},
    {"Flatten", 11, FLATTEN_1 "[T:all1]", .infer = infer_flatten},
    {"Flatten", 13, FLATTEN_1 "[T:all13]", .infer = infer_flatten},
    {"Flatten", 21, FLATTEN_1 "[T:all21]", .infer = infer_flatten},
    {"Flatten", 23, FLATTEN_1 "[T:all23]", .infer = infer_flatten},
    {"Flatten", 24, FLATTEN_1 "[T:all24]", .infer = infer_flatten},
    {"Flatten", 25, FLATTEN_1 "[T:all25]", .infer = infer_flatten},
    {"Squeeze", 1, SQUEEZE_1 "[T:all1]", .infer = infer_squeeze},
    {"Squeeze", 11, SQUEEZE_1 "[T:all1]", .infer = infer_squeeze},
    {"Squeeze", 13, SQUEEZE_13 "[T:all13]", .infer = infer_squeeze},
    {"Squeeze", 21, SQUEEZE_13 "[T:all21]", .infer = infer_squeeze},
    {"Squeeze", 23, SQUEEZE_13 "[T:all23]", .infer = infer_squeeze},
    {"Squeeze", 24, SQUEEZE_13 "[T:all24]", .infer = infer_squeeze},
    {"Squeeze", 25, SQUEEZE_13 "[T:all25]", .infer = infer_squeeze},
    {"Unsqueeze", 1, UNSQUEEZE_1 "[T:all1]", .infer = infer_unsqueeze},
    {"Unsqueeze", 11, UNSQUEEZE_1 "[T:all1]", .infer = infer_unsqueeze},
    {"Unsqueeze", 13, UNSQUEEZE_13 "[T:all13]", .infer = infer_unsqueeze},
    {"Unsqueeze", 21, UNSQUEEZE_13 "[T:all21]", .infer = infer_unsqueeze},
    {"Unsqueeze", 23, UNSQUEEZE_13 "[T:all23]", .infer = infer_unsqueeze},
    {"Unsqueeze", 24, UNSQUEEZE_13 "[T:all24]", .infer = infer_unsqueeze},
    {"Unsqueeze", 25, UNSQUEEZE_13 "[T:all25]", .infer = infer_unsqueeze},
    {"Identity", 1, IDENTITY_1 "[T:all1]", .infer = infer_identity},
    {"Identity", 13, IDENTITY_1 "[T:all13]", .infer = infer_identity},
    {"Identity", 14, IDENTITY_14 "[V:all13|seq(all1)]", .infer = infer_identity},
    {"Identity", 16, IDENTITY_14 "[V:all13" LISTS "]", .infer = infer_identity},
    {"Identity", 19, IDENTITY_14 "[V:all19" LISTS "]", .infer = infer_identity},
    {"Identity", 21, IDENTITY_14 "[V:all21" LISTS "]", .infer = infer_identity},
    {"Identity", 23, IDENTITY_14 "[V:all23" LISTS "]", .infer = infer_identity},
    {"Identity", 24, IDENTITY_14 "[V:all24" LISTS "]", .infer = infer_identity},
    {"Identity", 25, IDENTITY_14 "[V:all25" LISTS "]", .infer = infer_identity},
    {"Shape", 1, SHAPE_1 "[T:all1, T1:int64]", .infer = infer_shape},
    {"Shape", 13, SHAPE_1 "[T:all13, T1:int64]", .infer = infer_shape},
    {"Shape", 15, SHAPE_15 "[T:all13, T1:int64]", .infer = infer_shape},
    {"Shape", 19, SHAPE_15 "[T:all19, T1:int64]", .infer = infer_shape},
    {"Shape", 21, SHAPE_15 "[T:all21, T1:int64]", .infer = infer_shape},
    {"Shape", 23, SHAPE_15 "[T:all23, T1:int64]", .infer = infer_shape},
    {"Shape", 24, SHAPE_15 "[T:all24, T1:int64]", .infer = infer_shape},
    {"Shape", 25, SHAPE_15 "[T:all25, T1:int64]", .infer = infer_shape},
    {"Size", 1, SIZE_1 "[T:all1, T1:int64]", .infer = infer_size},
    {"Size", 13, SIZE_1 "[T:all13, T1:int64]", .infer = infer_size},
    {"Size", 19, SIZE_1 "[T:all19, T1:int64]", .infer = infer_size},
    {"Size", 21, SIZE_1 "[T:all21, T1:int64]", .infer = infer_size},
    {"Size", 23, SIZE_1 "[T:all23, T1:int64]", .infer = infer_size},
    {"Size", 24, SIZE_1 "[T:all24, T1:int64]", .infer = infer_size},
    {"Size", 25, SIZE_1 "[T:all25, T1:int64]", .infer = infer_size},
    {0},
};
