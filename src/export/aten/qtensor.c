/* qtensor.c: quantized tensors: integers, and how they stand for numbers. QuantizeLinear and
 * DequantizeLinear where their types will do, else what they are made of. */
#include "export/aten/qtensor.h"

#include "ir/ir.h"

#include <float.h>

static const struct range {
    onx_dtype dtype;
    int64_t lo, hi;
    int64_t opset; /* of QuantizeLinear */
} ranges[] = {
    {ONX_DTYPE_U8, 0, UINT8_MAX, 10},
    {ONX_DTYPE_I8, INT8_MIN, INT8_MAX, 10},
    {ONX_DTYPE_U16, 0, UINT16_MAX, 21},
    {ONX_DTYPE_I16, INT16_MIN, INT16_MAX, 21},
};

static const struct range *range_of(const onx_export *x, onx_dtype dtype) {
    for (size_t i = 0; i < ONX_COUNT(ranges); i++)
        if (ranges[i].dtype == dtype && x->opset >= ranges[i].opset) return &ranges[i];
    return NULL;
}

onx_dtype onx_quant_narrow(const onx_export *x, int64_t lo, int64_t hi) {
    for (size_t i = 0; i < ONX_COUNT(ranges); i++)
        if (lo >= ranges[i].lo && hi <= ranges[i].hi && range_of(x, ranges[i].dtype))
            return ranges[i].dtype;
    return ONX_DTYPE_I32;
}

onx_dtype onx_quant_dtype(onx_export *x, const onx_xv *v) {
    static const onx_dtype quantized[] = {ONX_DTYPE_I8, ONX_DTYPE_U8, ONX_DTYPE_I32};
    int64_t c10;
    if (onx_xv_known_int(v, &c10) && c10 >= 12 && c10 <= 14) return quantized[c10 - 12];
    return onx_xv_dtype(x, v);
}

/* ─ Parameters ───────────────────────────────────────────────────────────────────────────────── */

/* Parameters are constants of the nodes that use them, also where they come from buffers. */
static onx_value *settled(onx_export *x, const onx_tensor *t, onx_dtype dtype, bool vector) {
    uint64_t count;
    size_t bytes;
    if (!dtype) dtype = onx_tensor_dtype(t);
    if (onx_tensor_count(t, &count, &x->diag) || !onx_dtype_bytes(dtype, count, &bytes))
        return onx_x_nomem(x);
    void *data = onx_x_alloc(x, bytes + 1);
    if (!data || (x->status = onx_tensor_read_as(t, dtype, data, bytes, &x->diag))) return NULL;
    int64_t dim = (int64_t)count;
    return onx_x_constant(x, dtype, vector, &dim, data, bytes);
}

/* A number or a tensor of one element as rank 0; along an axis as it is. NONE: of any type. */
static onx_value *parameter(onx_export *x, const onx_xv *v, onx_dtype dtype, bool vector) {
    onx_value *value = onx_nn_tensor(x, v);
    const onx_tensor *known = value ? onx_x_fact(x, value)->constant : NULL;
    uint64_t count;
    if (known && !onx_tensor_count(known, &count, NULL) && (vector || count == 1))
        return settled(x, known, dtype, vector);
    if (dtype) value = onx_x_cast(x, value, dtype);
    if (!value || vector || onx_x_rank(x, value) == 0) return value;
    return onx_x_reshape(x, value, 0, NULL);
}

bool onx_quant_read(onx_export *x, onx_xquant *q, const onx_xv *scale, const onx_xv *zero,
                    int64_t axis, onx_dtype dtype) {
    const struct range *range = range_of(x, dtype);
    *q = (onx_xquant){.axis = axis, .dtype = dtype};
    q->scale = parameter(x, scale, ONX_DTYPE_F32, axis >= 0);
    q->zero = parameter(x, zero, ONX_DTYPE_NONE, axis >= 0);
    q->lo = range ? range->lo : INT32_MIN;
    q->hi = range ? range->hi : INT32_MAX;
    return q->scale && onx_x_ok(x);
}

int64_t onx_quant_axis(onx_export *x, const onx_xv *tensor, const onx_xv *axis) {
    size_t at, rank = onx_x_rank(x, onx_nn_tensor(x, tensor));
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, axis, 0), rank, &at)) return 0;
    return (int64_t)at;
}

static bool only_number(const onx_export *x, const onx_value *v, double *out) {
    const onx_tensor *t = onx_x_fact(x, v)->constant;
    uint64_t count;
    return t && !onx_tensor_count(t, &count, NULL) && count == 1 &&
           !onx_tensor_read_as(t, ONX_DTYPE_F64, out, sizeof *out, NULL);
}

bool onx_quant_known(onx_export *x, const onx_xquant *q, double *scale, int64_t *zero) {
    double z = 0;
    if (q->axis >= 0 || !only_number(x, q->scale, scale)) return false;
    if (q->zero && !only_number(x, q->zero, &z)) return false;
    *zero = (int64_t)z;
    return true;
}

/* ─ By parts ─────────────────────────────────────────────────────────────────────────────────── */

/* A parameter of an axis in a shape that broadcasts with a tensor of that rank. */
static onx_value *spread(onx_export *x, const onx_xquant *q, onx_value *v, size_t rank) {
    onx_xv shape[ONX_RANK_MAX];
    if (q->axis < 0 || !v || rank > ONX_RANK_MAX) return v;
    for (size_t i = 0; i < rank; i++) shape[i] = onx_xv_int(x, (int64_t)i == q->axis ? -1 : 1);
    return onx_x_reshape(x, v, rank, shape);
}

/* round(v / scale) + zero, in lo … hi */
onx_value *onx_quantize_float(onx_export *x, const onx_xquant *q, onx_value *v) {
    size_t rank = onx_x_rank(x, v);
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *scale = onx_x_cast(x, spread(x, q, q->scale, rank), dtype);
    onx_value *zero = onx_x_cast(x, spread(x, q, q->zero, rank), dtype);
    v = onx_emit(x, "Round", onx_emit(x, "Div", v, scale));
    if (zero && !onx_nn_is_zero(x, zero)) v = onx_emit(x, "Add", v, zero);
    return onx_emit(x, "Clip", v, onx_x_number(x, dtype, (double)q->lo),
                    onx_x_number(x, dtype, (double)q->hi));
}

/* (v - zero) * scale */
onx_value *onx_dequantize_parts(onx_export *x, const onx_xquant *q, onx_value *v,
                                onx_dtype result) {
    size_t rank = onx_x_rank(x, v);
    onx_value *zero = onx_x_cast(x, spread(x, q, q->zero, rank), result);
    v = onx_x_cast(x, v, result);
    if (zero && !onx_nn_is_zero(x, zero)) v = onx_emit(x, "Sub", v, zero);
    return onx_emit(x, "Mul", v, onx_x_cast(x, spread(x, q, q->scale, rank), result));
}

void onx_quant_choose(onx_export *x, onx_value *low, onx_value *high, double lo, double hi,
                      double eps, onx_value **scale, onx_value **zero) {
    onx_dtype dtype = onx_x_dtype(x, low);
    onx_value *none = onx_x_number(x, dtype, 0); /* is among them */
    low = onx_emit(x, "Min", low, none);
    high = onx_emit(x, "Max", high, none);
    onx_value *span = onx_emit(x, "Sub", high, low);
    *scale = onx_nn_times(x, span, 1 / (hi - lo));
    *scale = onx_emit(x, "Max", *scale, onx_x_number(x, dtype, eps));
    onx_value *at = onx_emit(x, "Round", onx_emit(x, "Div", low, *scale));
    at = onx_emit(x, "Sub", onx_x_number(x, dtype, lo), at);
    *zero = onx_emit(x, "Clip", at, onx_x_number(x, dtype, lo), onx_x_number(x, dtype, hi));
}

bool onx_quant_dynamic(onx_export *x, const onx_xv *numbers, onx_dtype dtype, bool reduced,
                       onx_xquant *q) {
    onx_value *v = onx_x_as(x, numbers, ONX_DTYPE_F32);
    int64_t half = dtype == ONX_DTYPE_I8 ? reduced ? -64 : -128 : 0;
    *q = (onx_xquant){.axis = -1, .dtype = dtype, .lo = half, .hi = half + (reduced ? 127 : 255)};
    onx_value *low = onx_x_reduce(x, "ReduceMin", v, 0, NULL, false);
    onx_value *high = onx_x_reduce(x, "ReduceMax", v, 0, NULL, false);
    if (!low || !high) return false;
    onx_quant_choose(x, low, high, (double)q->lo, (double)q->hi, FLT_MIN, &q->scale, &q->zero);
    return q->scale && onx_x_ok(x);
}

/* ─ QuantizeLinear and DequantizeLinear ──────────────────────────────────────────────────────── */

static void axis_attr(const onx_xquant *q, onx_xattr *at) {
    if (q->axis >= 0 && q->axis != 1) *at = ONX_AI("axis", q->axis);
}

onx_value *onx_quantize(onx_export *x, const onx_xquant *q, onx_value *v) {
    const struct range *range = range_of(x, q->dtype);
    onx_xattr attrs[2] = {{.name = NULL}};
    onx_dtype dtype = onx_x_dtype(x, v);
    if (!v || !onx_x_ok(x)) return NULL;
    if (!range || dtype == ONX_DTYPE_F64)
        return onx_x_cast(x, onx_quantize_float(x, q, v), q->dtype);
    axis_attr(q, attrs);
    onx_value *zero = q->zero ? onx_x_cast(x, q->zero, q->dtype) : onx_x_number(x, q->dtype, 0);
    onx_value *y =
        onx_emit_with(x, "QuantizeLinear", attrs, v, onx_x_cast(x, q->scale, dtype), zero);
    if (q->lo <= range->lo && q->hi >= range->hi) return y;
    return onx_emit(x, "Clip", y, onx_x_number(x, q->dtype, (double)q->lo),
                    onx_x_number(x, q->dtype, (double)q->hi));
}

onx_value *onx_dequantize(onx_export *x, const onx_xquant *q, onx_value *v, onx_dtype result) {
    onx_xattr attrs[2] = {{.name = NULL}};
    onx_dtype dtype = onx_x_dtype(x, v);
    bool nil = !q->zero || onx_nn_is_zero(x, q->zero);
    bool whole = dtype == ONX_DTYPE_I32 && nil;
    bool between = !nil && onx_dtype_is_float(onx_x_dtype(x, q->zero)); /* no integer is 0 */
    if (!v || !onx_x_ok(x)) return NULL;
    if (result == ONX_DTYPE_NONE) result = ONX_DTYPE_F32;
    if ((!range_of(x, dtype) && !whole) || result != ONX_DTYPE_F32 || between)
        return onx_dequantize_parts(x, q, v, result);
    axis_attr(q, attrs);
    onx_value *zero = whole || !q->zero ? NULL : onx_x_cast(x, q->zero, dtype);
    return onx_emit_with(x, "DequantizeLinear", attrs, v, q->scale, zero);
}

/* ─ Tensors ──────────────────────────────────────────────────────────────────────────────────── */

const onx_xquant *onx_xv_quant(const onx_xv *v) {
    return v->kind == ONX_X_TENSOR ? v->tensor->quant : NULL;
}

onx_xv onx_xv_quantized(onx_export *x, const onx_xquant *q, onx_value *integers) {
    onx_xv v = onx_xv_tensor(x, integers);
    onx_xquant *kept = onx_x_alloc(x, sizeof *kept);
    if (v.kind != ONX_X_TENSOR || !kept) return (onx_xv){.kind = ONX_X_NONE};
    *kept = *q;
    v.tensor->quant = kept;
    return v;
}

onx_value *onx_quant_numbers(onx_export *x, const onx_xv *v) {
    const onx_xquant *q = onx_xv_quant(v);
    onx_value *value = onx_nn_tensor(x, v);
    return q ? onx_dequantize(x, q, value, ONX_DTYPE_F32) : value;
}

onx_xv onx_quant_plain(onx_export *x, const onx_xv *v) {
    return onx_xv_quant(v) ? onx_xv_tensor(x, onx_quant_numbers(x, v)) : *v;
}
