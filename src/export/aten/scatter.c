/* scatter.c: elements taken and put along one dimension: gather, scatter, index_add, copy … */
#include "export/aten/parts.h"

#include <math.h>

static onx_value *along(onx_export *x, const char *op, size_t axis, onx_value *data,
                        onx_value *index) {
    if (!data || !index) return NULL;
    return onx_emit_with(x, op, ONX_ATTRS(ONX_AI("axis", (int64_t)axis)), data, index);
}

static onx_value *index_of(onx_export *x, const onx_xv *v) {
    onx_value *value = onx_xv_value(x, v);
    onx_dtype dtype = onx_x_dtype(x, value);
    return dtype == ONX_DTYPE_I32 ? value : onx_x_cast(x, value, ONX_DTYPE_I64);
}

/* ─ Taking ───────────────────────────────────────────────────────────────────────────────────── */

/* Tensors without dimensions count as having one of size 1. */
static onx_value *at_least_one(onx_export *x, onx_value *value) {
    return value && onx_x_rank(x, value) == 0 ? onx_x_unsqueeze(x, value, 0) : value;
}

static void lower_gather(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis, rank = onx_lower_rank(x, &a[0]);
    onx_value *index = index_of(x, &a[2]);
    if (!onx_lower_axis(x, &a[1], rank, &axis)) return;
    onx_value *got = along(x, "GatherElements", axis, at_least_one(x, onx_xv_value(x, &a[0])),
                           at_least_one(x, index));
    if (onx_x_rank(x, index) == 0) got = onx_x_squeeze(x, got, 0);
    out[0] = onx_xv_tensor(x, got);
}

static void lower_index_select(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis)) return;
    onx_value *index = at_least_one(x, index_of(x, &a[2])), *v = onx_xv_value(x, &a[0]);
    if (onx_lower_rank(x, &a[0]) == 0) v = onx_x_unsqueeze(x, v, 0);
    onx_value *y = along(x, "Gather", axis, v, index);
    out[0] = onx_xv_tensor(x, onx_lower_rank(x, &a[0]) ? y : onx_x_squeeze(x, y, 0));
    if (out->kind == ONX_X_TENSOR) out->tensor->dtype = a[0].tensor->dtype;
}

static void lower_take(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv all = onx_xv_int(x, -1);
    out[0] =
        onx_xv_tensor(x, along(x, "Gather", 0, onx_x_reshape(x, onx_xv_value(x, &a[0]), 1, &all),
                               index_of(x, &a[1])));
}

static void lower_take_along(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis = 0;
    onx_xv all = onx_xv_int(x, -1);
    onx_value *data = onx_xv_value(x, &a[0]), *index = index_of(x, &a[1]);
    const onx_sym *dims[2][ONX_RANK_MAX];
    if (a[2].kind == ONX_X_NONE) {
        data = onx_x_reshape(x, data, 1, &all);
        index = onx_x_reshape(x, index, 1, &all);
        out[0] = onx_xv_tensor(x, along(x, "GatherElements", 0, data, index));
        return;
    }
    size_t rank = onx_x_rank(x, data);
    if (!onx_lower_axis(x, &a[2], rank, &axis) || onx_x_rank(x, index) != rank) return;
    for (size_t i = 0; i < rank; i++) { /* all but the axis broadcast */
        const onx_sym *d = onx_x_dim(x, data, i), *n = onx_x_dim(x, index, i);
        dims[0][i] = i == axis ? d : onx_sym_broadcast(x->syms, d, n);
        dims[1][i] = i == axis ? n : dims[0][i];
    }
    data = onx_x_expand(x, data, rank, dims[0]);
    index = onx_x_expand(x, index, rank, dims[1]);
    out[0] = onx_xv_tensor(x, along(x, "GatherElements", axis, data, index));
}

/* ─ Putting ──────────────────────────────────────────────────────────────────────────────────── */

/* Only as much of `src` as there are indices counts. */
static onx_value *cut_to(onx_export *x, onx_value *src, onx_value *index) {
    size_t rank = onx_x_rank(x, index);
    for (size_t i = 0; rank != SIZE_MAX && i < rank && src; i++)
        if (onx_x_dim(x, src, i) != onx_x_dim(x, index, i))
            src = onx_lower_slice(x, src, i, onx_xv_int(x, 0), onx_x_size_of(x, index, i), 1);
    return src;
}

static onx_value *scatter(onx_export *x, size_t axis, const char *reduce, onx_value *data,
                          onx_value *index, onx_value *src) {
    if (!data || !index || !src) return NULL;
    return onx_emit_with(x, "ScatterElements",
                         reduce
                             ? ONX_ATTRS(ONX_AI("axis", (int64_t)axis), ONX_AS("reduction", reduce))
                             : ONX_ATTRS(ONX_AI("axis", (int64_t)axis)),
                         data, index, src);
}

/* What PyTorch calls a reduction, and ONNX. */
static const char *reduction_of(onx_export *x, onx_str name) {
    static const char *const names[][2] = {{"add", "add"},  {"sum", "add"},  {"multiply", "mul"},
                                           {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (onx_str_is(name, names[i][0])) return names[i][1];
    return onx_x_fail(x, ONX_UNSUPPORTED, "the reduction '%.*s'", ONX_FMT(name));
}

/* src: a tensor, or one number for all places. */
static void put(onx_export *x, const onx_xv *a, const onx_xv *src, const char *reduce,
                onx_xv *out) {
    size_t axis;
    onx_value *data = onx_xv_value(x, &a[0]), *index = index_of(x, &a[2]);
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis) || !data) return;
    onx_value *values = onx_x_as(x, src, onx_x_dtype(x, data));
    bool flat = onx_x_rank(x, data) == 0;
    data = at_least_one(x, data);
    index = at_least_one(x, index);
    if (src->kind == ONX_X_TENSOR && onx_x_rank(x, values))
        values = cut_to(x, values, index);
    else
        values = onx_lower_expand_like(x, values, index);
    onx_value *done = scatter(x, axis, reduce, data, index, values);
    out[0] = onx_xv_tensor(x, flat ? onx_x_squeeze(x, done, 0) : done);
}

static void lower_scatter(onx_export *x, const onx_xv *a, onx_xv *out) {
    put(x, a, &a[3], NULL, out);
}

static void lower_scatter_mode(onx_export *x, const onx_xv *a, onx_xv *out) {
    const char *reduce = reduction_of(x, a[4].str);
    if (reduce) put(x, a, &a[3], reduce, out);
}

static void lower_scatter_add(onx_export *x, const onx_xv *a, onx_xv *out) {
    put(x, a, &a[3], "add", out);
}

/* Of what is scattered to, the places that something goes to start from nothing. */
static onx_value *without_self(onx_export *x, const onx_xv *a, const char *reduce) {
    onx_value *data = onx_xv_value(x, &a[0]);
    onx_dtype dtype = onx_x_dtype(x, data);
    double zero = strcmp(reduce, "mul") == 0 ? 1 : 0;
    if (strcmp(reduce, "max") == 0 || strcmp(reduce, "min") == 0) {
        zero = onx_dtype_is_float(dtype) ? (double)INFINITY : 9e18;
        if (strcmp(reduce, "max") == 0) zero = -zero;
    }
    onx_xv cleared[1], start = onx_xv_tensor(x, onx_x_number(x, dtype, zero));
    put(x, a, &start, NULL, cleared);
    return onx_x_ok(x) ? onx_xv_value(x, &cleared[0]) : NULL;
}

static void lower_scatter_reduce(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool mean = onx_str_is(a[4].str, "mean"), include = true;
    const char *reduce = mean ? "add" : reduction_of(x, a[4].str);
    if (!reduce) return;
    onx_xv_known_bool(&a[5], &include);
    onx_xv args[] = {a[0], a[1], a[2]};
    if (!include) args[0] = onx_xv_tensor(x, without_self(x, a, reduce));
    put(x, args, &a[3], reduce, out);
    if (!mean || !onx_x_ok(x)) return;
    /* Divided by how many came together. */
    onx_value *sum = onx_xv_value(x, out);
    onx_dtype dtype = onx_x_dtype(x, sum);
    onx_xv ones = onx_xv_tensor(
        x, onx_lower_expand_like(x, onx_x_number(x, dtype, 1), onx_xv_value(x, &a[0])));
    onx_xv counted[1], counts[] = {ones, a[1], a[2]}, one = onx_xv_int(x, 1);
    if (!include) counts[0] = onx_xv_tensor(x, without_self(x, counts, "add"));
    put(x, counts, &one, "add", counted);
    onx_value *n = onx_xv_value(x, &counted[0]);
    if (!n || !sum) return;
    n = onx_emit(x, "Max", n, onx_x_number(x, dtype, 1));
    bool is_float = onx_dtype_is_float(dtype);
    out[0] = onx_xv_tensor(x, is_float ? onx_emit(x, "Div", sum, n) : onx_x_floor_div(x, sum, n));
}

/* Whole slices, one for each index: ScatterND with the dimension first. */
static void put_slices(onx_export *x, const onx_xv *a, onx_value *source, const char *reduce,
                       onx_xv *out) {
    size_t axis;
    onx_value *data = onx_xv_value(x, &a[0]), *index = at_least_one(x, index_of(x, &a[2]));
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis) || !source || !index) return;
    onx_value *front = onx_x_swap(x, data, 0, (int64_t)axis);
    onx_value *rows = onx_x_swap(x, source, 0, (int64_t)axis);
    onx_value *places = onx_x_unsqueeze(x, onx_x_cast(x, index, ONX_DTYPE_I64), -1);
    if (!front || !rows || !places) return;
    onx_value *done =
        onx_emit_with(x, "ScatterND", reduce ? ONX_ATTRS(ONX_AS("reduction", reduce)) : NULL, front,
                      places, rows);
    out[0] = onx_xv_tensor(x, onx_x_swap(x, done, 0, (int64_t)axis));
}

static void lower_index_add(onx_export *x, const onx_xv *a, onx_xv *out) {
    double alpha;
    onx_dtype dtype = onx_x_dtype(x, onx_xv_value(x, &a[0]));
    onx_value *source = onx_x_as(x, &a[3], dtype);
    if (!onx_xv_known_float(x, &a[4], &alpha) || alpha != 1)
        source = onx_emit(x, "Mul", source, onx_x_scalar(x, &a[4], dtype));
    put_slices(x, a, source, "add", out);
}

static void lower_index_copy(onx_export *x, const onx_xv *a, onx_xv *out) {
    put_slices(x, a, onx_x_as(x, &a[3], onx_x_dtype(x, onx_xv_value(x, &a[0]))), NULL, out);
}

static void lower_index_fill(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    onx_value *data = onx_xv_value(x, &a[0]), *index = at_least_one(x, index_of(x, &a[2]));
    if (!onx_lower_axis(x, &a[1], onx_lower_rank(x, &a[0]), &axis) || !data) return;
    onx_value *like = along(x, "Gather", axis, data, index);
    onx_value *value = onx_x_as(x, &a[3], onx_x_dtype(x, data));
    put_slices(x, a, onx_lower_expand_like(x, value, like), NULL, out);
}

static void lower_slice_scatter(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    int64_t step;
    onx_value *base = onx_xv_value(x, &a[0]);
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return;
    if (!onx_xv_known_int(&a[5], &step) || step < 1) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a step that is not a known positive number");
        return;
    }
    onx_value *part = onx_x_as(x, &a[1], onx_x_dtype(x, base));
    out[0] = onx_xv_tensor(x, onx_lower_put_slice(x, base, part, axis, a[3], a[4], step));
}

static void lower_select_scatter(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t axis;
    onx_value *base = onx_xv_value(x, &a[0]);
    if (!onx_lower_axis(x, &a[2], onx_lower_rank(x, &a[0]), &axis)) return;
    onx_value *part = onx_x_as(x, &a[1], onx_x_dtype(x, base));
    out[0] = onx_xv_tensor(x, onx_lower_put_at(x, base, part, axis, a[3]));
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

/* copy_(src): broadcast, and of the type of self. */
static void lower_copy(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *self = onx_xv_value(x, &a[0]);
    out[0] =
        onx_xv_tensor(x, onx_lower_expand_like(x, onx_x_as(x, &a[1], onx_x_dtype(x, self)), self));
}

static void lower_zero(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *self = onx_xv_value(x, &a[0]);
    if (!self) return;
    out[0] =
        onx_xv_tensor(x, onx_lower_expand_like(x, onx_x_number(x, onx_x_dtype(x, self), 0), self));
}

const onx_aten onx_aten_scatter[] = {
    {"gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)", lower_gather, NULL},
    {"index_select(Tensor self, int dim, Tensor index)", lower_index_select, NULL},
    {"take(Tensor self, Tensor index)", lower_take, NULL},
    {"take_along_dim(Tensor self, Tensor indices, int? dim=None)", lower_take_along, NULL},
    {"scatter.src(Tensor self, int dim, Tensor index, Tensor src)", lower_scatter, NULL},
    {"scatter.value(Tensor self, int dim, Tensor index, Scalar value)", lower_scatter, NULL},
    {"scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce)",
     lower_scatter_mode, NULL},
    {"scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)",
     lower_scatter_mode, NULL},
    {"scatter_add(Tensor self, int dim, Tensor index, Tensor src)", lower_scatter_add, NULL},
    {"scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
     "bool include_self=True)",
     lower_scatter_reduce, NULL},
    {"index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)",
     lower_index_add, NULL},
    {"index_copy(Tensor self, int dim, Tensor index, Tensor source)", lower_index_copy, NULL},
    {"index_fill(Tensor self, int dim, Tensor index, Any value)", lower_index_fill, NULL},
    {"slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "
     "int step=1)",
     lower_slice_scatter, NULL},
    {"select_scatter(Tensor self, Tensor src, int dim, int index)", lower_select_scatter, NULL},
    {"copy(Tensor self, Any src, bool non_blocking=False)", lower_copy, NULL},
    {"fill(Tensor self, Any value)", lower_copy, NULL},
    {"zero(Tensor self)", lower_zero, NULL},
    {NULL, NULL, NULL},
};
