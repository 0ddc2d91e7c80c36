/* packed.c: sequences that are packed and padded again. What was packed here is remembered, so that
 * a recurrent layer, which needs it padded, takes it as it was. */
#include "export/aten/packed.h"
#include "export/aten/nn_args.h"

static const onx_str no_name = {NULL, 0};

/* All axes but the last as one; NULL where there is no value. */
static onx_value *as_rows(onx_export *x, onx_value *v) {
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || !rank) return NULL;
    onx_xv shape[] = {onx_xv_int(x, -1), onx_x_size_of(x, v, rank - 1)};
    return onx_x_reshape(x, v, 2, shape);
}

static onx_value *as_vector(onx_export *x, onx_value *v) {
    onx_xv all = onx_xv_int(x, -1);
    return onx_x_reshape(x, v, 1, &all);
}

onx_value *onx_packed_close(onx_export *x, const onx_packed *packed) {
    onx_packed *kept = onx_x_alloc(x, sizeof *kept);
    if (!kept || !packed->padded) return NULL;
    *kept = *packed;
    onx_value *data = onx_emit_with(x, "Compress", ONX_ATTRS(ONX_AI("axis", 0)),
                                    as_rows(x, packed->padded), as_vector(x, packed->inside));
    if (data && !onx_map_put(&x->packed, data, no_name, kept)) return onx_x_nomem(x);
    return data;
}

/* Steps from batch sizes: sequence b has one at time t where b is below the size at t. */
static void open_sizes(onx_export *x, onx_value *sizes, onx_packed *out) {
    static const int64_t time = 0;
    onx_xv batch = onx_xv_run(ONX_X_INT, onx_x_pick(x, sizes, 0, 0));
    onx_value *sequence = onx_x_count(x, &batch);
    out->inside = onx_emit(x, "Less", sequence, onx_x_unsqueeze(x, sizes, 1));
    out->lengths =
        onx_x_reduce(x, "ReduceSum", onx_x_cast(x, out->inside, ONX_DTYPE_I64), 1, &time, false);
}

/* Every step to its place among zeros. */
static void spread(onx_export *x, onx_value *data, onx_packed *out) {
    onx_xv width = onx_x_size_of(x, data, 1);
    onx_value *at = onx_emit(x, "NonZero", as_vector(x, out->inside));
    onx_value *places = onx_emit(x, "Shape", out->inside);
    onx_value *parts[] = {places, onx_x_shape(x, 1, &width)};
    onx_value *shape = onx_x_concat(x, 2, parts, 0);
    onx_value *zero = onx_x_number(x, onx_x_dtype(x, data), 0);
    onx_value *rows = as_rows(x, onx_emit(x, "Expand", zero, shape));
    rows = onx_emit(x, "ScatterND", rows, onx_x_swap(x, at, 0, 1), data);
    out->padded = onx_emit(x, "Reshape", rows, shape);
    out->zeros = true;
}

bool onx_packed_open(onx_export *x, onx_value *data, onx_value *batch_sizes, onx_packed *out) {
    const onx_packed *kept = data ? onx_map_get(&x->packed, data, no_name) : NULL;
    *out = (onx_packed){.zeros = false};
    if (kept) {
        *out = *kept;
        return true;
    }
    if (!data || !batch_sizes || onx_x_rank(x, data) != 2) return false;
    open_sizes(x, batch_sizes, out);
    if (onx_x_ok(x)) spread(x, data, out);
    return onx_x_ok(x);
}

/* (input, lengths, batch_first): lengths fall; what is after the longest is cut off. */
static void lower_pack(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t batch = 1;
    onx_value *v = onx_nn_tensor(x, &a[0]);
    onx_packed p = {.lengths = onx_x_as(x, &a[1], ONX_DTYPE_I64)};
    if (v && onx_xv_true(&a[2])) v = onx_x_swap(x, v, 0, 1);
    onx_value *longest = onx_x_reduce(x, "ReduceMax", p.lengths, 0, NULL, false);
    p.padded = onx_x_slice(x, v, 0, onx_xv_int(x, 0), onx_xv_run(ONX_X_INT, longest), 1);
    if (!p.padded) return;
    onx_xv time = onx_x_size_of(x, p.padded, 0);
    onx_value *at = onx_x_unsqueeze(x, onx_x_count(x, &time), 1);
    p.inside = onx_emit(x, "Less", at, p.lengths);
    onx_value *sizes = onx_x_cast(x, p.inside, ONX_DTYPE_I64);
    onx_x_give(x, &out[0], onx_packed_close(x, &p));
    onx_x_give(x, &out[1], onx_x_reduce(x, "ReduceSum", sizes, 1, &batch, false));
}

/* As long as that: cut off, or with more of the number behind it. */
static onx_value *as_long(onx_export *x, onx_value *v, const onx_xv *total, onx_value *number) {
    int64_t known;
    onx_xv none = onx_xv_int(x, 0), time = onx_x_size_of(x, v, 0);
    if ((onx_xv_known_int(total, &known) && known <= 0) || (total->sym && total->sym == time.sym))
        return v;
    onx_xv pads[] = {none, none, none, onx_x_arith(x, "sub", *total, time), none, none};
    return onx_emit(x, "Pad", v, onx_x_shape(x, 6, pads), number);
}

/* (data, batch_sizes, batch_first, padding_value, total_length) */
static void lower_pad_packed(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_packed p;
    if (!onx_packed_open(x, onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[1]), &p)) return;
    onx_value *number = onx_x_scalar(x, &a[3], onx_x_dtype(x, p.padded));
    onx_value *v = p.padded;
    if (!p.zeros || !onx_xv_is_one(x, &a[3], 0))
        v = onx_emit(x, "Where", onx_x_unsqueeze(x, p.inside, 2), v, number);
    v = v ? as_long(x, v, &a[4], number) : NULL;
    onx_x_give(x, &out[0], v && onx_xv_true(&a[2]) ? onx_x_swap(x, v, 0, 1) : v);
    onx_x_give(x, &out[1], p.lengths);
}

const onx_aten onx_aten_packed[] = {
    {"_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
     lower_pack, NULL},
    {"_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, "
     "Scalar padding_value, int total_length) -> (Tensor, Tensor)",
     lower_pad_packed, NULL},
    {.schema = NULL},
};
