/* quantize.c: quantization of PyTorch: eager (quantize_per_tensor, fake_quantize*) and that of
 * exported programs (quantized_decomposed::*). QuantizeLinear and DequantizeLinear where their
 * types will do, else what they are made of.
 *
 * A quantized tensor of PyTorch is its integers here; dequantize looks for what made them. */
#include "export/aten/nn_args.h"

#include "ir/ir.h"

/* How numbers become integers of type `dtype` in lo … hi: along `axis`, or all alike (-1). */
typedef struct scheme {
    onx_value *scale, *zero; /* scale: a float; zero: of any type */
    int64_t axis, lo, hi;
    onx_dtype dtype;
} scheme;

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

/* PyTorch's quantized types are those of their integers. */
static onx_dtype dtype_of(onx_export *x, const onx_xv *v) {
    static const onx_dtype quantized[] = {ONX_DTYPE_I8, ONX_DTYPE_U8, ONX_DTYPE_I32};
    int64_t c10;
    if (onx_xv_known_int(v, &c10) && c10 >= 12 && c10 <= 14) return quantized[c10 - 12];
    return onx_xv_dtype(x, v);
}

/* A number or a tensor of one element as rank 0; along an axis as it is. NONE: of any type. */
static onx_value *parameter(onx_export *x, const onx_xv *v, onx_dtype dtype, bool vector) {
    onx_value *value = onx_nn_tensor(x, v);
    if (dtype) value = onx_x_cast(x, value, dtype);
    if (!value || vector || onx_x_rank(x, value) == 0) return value;
    return onx_x_reshape(x, value, 0, NULL);
}

static bool read_scheme(onx_export *x, scheme *s, const onx_xv *scale, const onx_xv *zero,
                        int64_t axis, onx_dtype dtype) {
    const struct range *range = range_of(x, dtype);
    *s = (scheme){.axis = axis, .dtype = dtype};
    s->scale = parameter(x, scale, ONX_DTYPE_F32, axis >= 0);
    s->zero = parameter(x, zero, ONX_DTYPE_NONE, axis >= 0);
    s->lo = range ? range->lo : INT32_MIN;
    s->hi = range ? range->hi : INT32_MAX;
    return s->scale && onx_x_ok(x);
}

static int64_t axis_of(onx_export *x, const onx_xv *tensor, const onx_xv *axis) {
    size_t at, rank = onx_x_rank(x, onx_nn_tensor(x, tensor));
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, axis, 0), rank, &at)) return 0;
    return (int64_t)at;
}

/* ─ By parts ─────────────────────────────────────────────────────────────────────────────────── */

/* A parameter of an axis in a shape that broadcasts with a tensor of that rank. */
static onx_value *spread(onx_export *x, const scheme *s, onx_value *v, size_t rank) {
    onx_xv shape[ONX_RANK_MAX];
    if (s->axis < 0 || !v || rank > ONX_RANK_MAX) return v;
    for (size_t i = 0; i < rank; i++) shape[i] = onx_xv_int(x, (int64_t)i == s->axis ? -1 : 1);
    return onx_x_reshape(x, v, rank, shape);
}

/* Integers, as floats: round(v / scale) + zero, in lo … hi. */
static onx_value *integers(onx_export *x, const scheme *s, onx_value *v) {
    size_t rank = onx_x_rank(x, v);
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *scale = onx_x_cast(x, spread(x, s, s->scale, rank), dtype);
    onx_value *zero = onx_x_cast(x, spread(x, s, s->zero, rank), dtype);
    v = onx_emit(x, "Round", onx_emit(x, "Div", v, scale));
    if (zero && !onx_nn_is_zero(x, zero)) v = onx_emit(x, "Add", v, zero);
    return onx_emit(x, "Clip", v, onx_x_number(x, dtype, (double)s->lo),
                    onx_x_number(x, dtype, (double)s->hi));
}

/* (v - zero) * scale */
static onx_value *reals(onx_export *x, const scheme *s, onx_value *v, onx_dtype dtype) {
    size_t rank = onx_x_rank(x, v);
    onx_value *zero = onx_x_cast(x, spread(x, s, s->zero, rank), dtype);
    v = onx_x_cast(x, v, dtype);
    if (zero && !onx_nn_is_zero(x, zero)) v = onx_emit(x, "Sub", v, zero);
    return onx_emit(x, "Mul", v, onx_x_cast(x, spread(x, s, s->scale, rank), dtype));
}

/* ─ QuantizeLinear and DequantizeLinear ──────────────────────────────────────────────────────── */

static void axis_attr(const scheme *s, onx_xattr *at) {
    if (s->axis >= 0 && s->axis != 1) *at = ONX_AI("axis", s->axis);
}

static onx_value *quantize(onx_export *x, const scheme *s, onx_value *v) {
    const struct range *range = range_of(x, s->dtype);
    onx_xattr attrs[2] = {{.name = NULL}};
    onx_dtype dtype = onx_x_dtype(x, v);
    if (!v || !onx_x_ok(x)) return NULL;
    if (!range || dtype == ONX_DTYPE_F64) return onx_x_cast(x, integers(x, s, v), s->dtype);
    axis_attr(s, attrs);
    onx_value *zero = s->zero ? onx_x_cast(x, s->zero, s->dtype) : onx_x_number(x, s->dtype, 0);
    onx_value *y =
        onx_emit_with(x, "QuantizeLinear", attrs, v, onx_x_cast(x, s->scale, dtype), zero);
    if (s->lo <= range->lo && s->hi >= range->hi) return y;
    return onx_emit(x, "Clip", y, onx_x_number(x, s->dtype, (double)s->lo),
                    onx_x_number(x, s->dtype, (double)s->hi));
}

static onx_value *dequantize(onx_export *x, const scheme *s, onx_value *v, onx_dtype result) {
    onx_xattr attrs[2] = {{.name = NULL}};
    onx_dtype dtype = onx_x_dtype(x, v);
    bool whole = dtype == ONX_DTYPE_I32 && (!s->zero || onx_nn_is_zero(x, s->zero));
    if (!v || !onx_x_ok(x)) return NULL;
    if (result == ONX_DTYPE_NONE) result = ONX_DTYPE_F32;
    if ((!range_of(x, dtype) && !whole) || result != ONX_DTYPE_F32) return reals(x, s, v, result);
    axis_attr(s, attrs);
    onx_value *zero = whole || !s->zero ? NULL : onx_x_cast(x, s->zero, dtype);
    return onx_emit_with(x, "DequantizeLinear", attrs, v, s->scale, zero);
}

/* ─ Eager ────────────────────────────────────────────────────────────────────────────────────── */

/* (self, scale, zero_point, dtype) */
static void lower_quantize_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_scheme(x, &s, &a[1], &a[2], -1, dtype_of(x, &a[3]))) return;
    onx_x_give(x, out, quantize(x, &s, onx_nn_tensor(x, &a[0])));
}

/* (self, scales, zero_points, axis, dtype) */
static void lower_quantize_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_scheme(x, &s, &a[1], &a[2], axis_of(x, &a[0], &a[3]), dtype_of(x, &a[4]))) return;
    onx_x_give(x, out, quantize(x, &s, onx_nn_tensor(x, &a[0])));
}

/* The QuantizeLinear that the integers come from, through what only moves or picks them. */
static const onx_node *maker_of(const onx_value *v) {
    static const char *const keeps[] = {"Reshape", "Transpose", "Slice",   "Gather",
                                        "MaxPool", "Concat",    "Squeeze", "Unsqueeze",
                                        "Flatten", "Expand",    "Clip"};
    for (size_t steps = 0; v && steps < 64; steps++) {
        const onx_node *node = onx_value_node(v);
        if (!node || !strcmp(onx_node_op(node), "QuantizeLinear")) return node;
        size_t i = 0;
        while (i < ONX_COUNT(keeps) && strcmp(onx_node_op(node), keeps[i])) i++;
        v = i < ONX_COUNT(keeps) ? onx_node_input(node, 0) : NULL;
    }
    return NULL;
}

static void lower_dequantize(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]);
    if (v && onx_dtype_is_float(onx_x_dtype(x, v))) {
        *out = a[0];
        return;
    }
    const onx_node *node = maker_of(v);
    if (!node) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a quantized tensor of which the scale is not known");
        onx_x_hint(x, "quantize it in the model, or export with torch.export (pt2e)");
        return;
    }
    const onx_attr *axis = onx_node_attr(node, "axis");
    onx_value *scale = onx_node_input(node, 1);
    scheme s = {.scale = scale, .zero = onx_node_input(node, 2), .axis = -1};
    if (onx_x_rank(x, scale) == 1) s.axis = axis ? onx_attr_int(axis) : 1;
    onx_x_give(x, out, dequantize(x, &s, v, ONX_DTYPE_F32));
}

static void lower_int_repr(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_nn_tensor(x, &a[0]));
}

/* There and back again, with integers in quant_min … quant_max, of the type that has just those or
 * the next larger one. */
static onx_value *fake(onx_export *x, const onx_xv *self, const onx_xv *scale, const onx_xv *zero,
                       int64_t axis, const onx_xv *bounds) {
    int64_t lo = onx_xv_whole(x, &bounds[0], 0), hi = onx_xv_whole(x, &bounds[1], 0);
    onx_value *v = onx_nn_tensor(x, self);
    onx_dtype dtype = ONX_DTYPE_I32;
    scheme s;
    for (size_t i = ONX_COUNT(ranges); i-- > 0;)
        if (lo >= ranges[i].lo && hi <= ranges[i].hi && range_of(x, ranges[i].dtype))
            dtype = ranges[i].dtype;
    if (!read_scheme(x, &s, scale, zero, axis, dtype)) return NULL;
    s.lo = lo, s.hi = hi;
    if (dtype == ONX_DTYPE_I32 || onx_x_dtype(x, v) != ONX_DTYPE_F32)
        return reals(x, &s, integers(x, &s, v), onx_x_dtype(x, v));
    return dequantize(x, &s, quantize(x, &s, v), ONX_DTYPE_F32);
}

/* (self, scale, zero_point, quant_min, quant_max) */
static void lower_fake_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, fake(x, &a[0], &a[1], &a[2], -1, &a[3]));
}
static void lower_fake_tensor_mask(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_fake_tensor(x, a, out);
    onx_nn_give_nothing(x, ONX_DTYPE_BOOL, &out[1]);
}
/* (self, scale, zero_point, fake_quant_enabled, quant_min, quant_max) */
static void lower_fake_enabled(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, fake(x, &a[0], &a[1], &a[2], -1, &a[4]));
    onx_nn_give_nothing(x, ONX_DTYPE_BOOL, &out[1]);
}
/* (self, scale, zero_point, axis, quant_min, quant_max) */
static void lower_fake_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, fake(x, &a[0], &a[1], &a[2], axis_of(x, &a[0], &a[3]), &a[4]));
}
static void lower_fake_channel_mask(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_fake_channel(x, a, out);
    onx_nn_give_nothing(x, ONX_DTYPE_BOOL, &out[1]);
}
/* (self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point,
 * averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant …): with the scale that was
 * observed. */
static void lower_fake_observed(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t axis = onx_xv_true(&a[11]) ? axis_of(x, &a[0], &a[10]) : -1;
    onx_x_note(x, "fake quantization uses the scale that is in the module; it observes no more");
    onx_x_give(x, out, fake(x, &a[0], &a[5], &a[6], axis, &a[8]));
}

/* ─ Exported programs ────────────────────────────────────────────────────────────────────────── */

static void set_bounds(scheme *s, const onx_xv *bounds) {
    int64_t v;
    if (onx_xv_known_int(&bounds[0], &v)) s->lo = v;
    if (onx_xv_known_int(&bounds[1], &v)) s->hi = v;
}

/* (input, scale, zero_point, quant_min, quant_max, dtype) */
static void lower_q_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_scheme(x, &s, &a[1], &a[2], -1, dtype_of(x, &a[5]))) return;
    set_bounds(&s, &a[3]);
    onx_x_give(x, out, quantize(x, &s, onx_nn_tensor(x, &a[0])));
}
/* (…, *, out_dtype) */
static void lower_dq_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_scheme(x, &s, &a[1], &a[2], -1, dtype_of(x, &a[5]))) return;
    onx_x_give(x, out, dequantize(x, &s, onx_nn_tensor(x, &a[0]), onx_xv_dtype(x, &a[6])));
}
/* (input, scales, zero_points, axis, quant_min, quant_max, dtype) */
static void lower_q_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_scheme(x, &s, &a[1], &a[2], axis_of(x, &a[0], &a[3]), dtype_of(x, &a[6]))) return;
    set_bounds(&s, &a[4]);
    onx_x_give(x, out, quantize(x, &s, onx_nn_tensor(x, &a[0])));
}
static void lower_dq_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_scheme(x, &s, &a[1], &a[2], axis_of(x, &a[0], &a[3]), dtype_of(x, &a[6]))) return;
    onx_x_give(x, out, dequantize(x, &s, onx_nn_tensor(x, &a[0]), onx_xv_dtype(x, &a[7])));
}

/* Scales and zeros with a last axis of 1, one for each token: they broadcast as they are. */
static bool read_tokens(onx_export *x, scheme *s, const onx_xv *a, onx_dtype dtype) {
    *s = (scheme){onx_x_as(x, &a[1], ONX_DTYPE_F32), onx_x_as(x, &a[2], ONX_DTYPE_I32), .axis = -1,
                  .dtype = dtype};
    set_bounds(s, &a[3]);
    return s->scale && onx_x_ok(x);
}
static void lower_q_token(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_tokens(x, &s, a, dtype_of(x, &a[5]))) return;
    onx_x_give(x, out, onx_x_cast(x, integers(x, &s, onx_nn_tensor(x, &a[0])), s.dtype));
}
static void lower_dq_token(onx_export *x, const onx_xv *a, onx_xv *out) {
    scheme s;
    if (!read_tokens(x, &s, a, dtype_of(x, &a[5]))) return;
    onx_x_give(x, out, reals(x, &s, onx_nn_tensor(x, &a[0]), onx_xv_dtype(x, &a[6])));
}

/* ─ Scales from numbers ──────────────────────────────────────────────────────────────────────── */

/* From the smallest and largest, with 0 among them. */
static void choose(onx_export *x, onx_value *low, onx_value *high, double lo, double hi, double eps,
                   onx_xv *out) {
    onx_dtype dtype = onx_x_dtype(x, low);
    onx_value *zero = onx_x_number(x, dtype, 0);
    low = onx_emit(x, "Min", low, zero);
    high = onx_emit(x, "Max", high, zero);
    onx_value *span = onx_emit(x, "Sub", high, low);
    onx_value *scale = onx_nn_times(x, span, 1 / (hi - lo));
    scale = onx_emit(x, "Max", scale, onx_x_number(x, dtype, eps));
    onx_value *at = onx_emit(x, "Round", onx_emit(x, "Div", low, scale));
    at = onx_emit(x, "Sub", onx_x_number(x, dtype, lo), at);
    at = onx_emit(x, "Clip", at, onx_x_number(x, dtype, lo), onx_x_number(x, dtype, hi));
    onx_x_give(x, &out[0], onx_x_cast(x, scale, ONX_DTYPE_F64));
    onx_x_give(x, &out[1], onx_x_cast(x, at, ONX_DTYPE_I64));
}

/* (input, quant_min, quant_max, eps, dtype) */
static void lower_choose(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_as(x, &a[0], ONX_DTYPE_F32);
    onx_xv one = onx_xv_int(x, 1);
    onx_value *low = onx_x_reshape(x, onx_x_reduce(x, "ReduceMin", v, 0, NULL, false), 1, &one);
    onx_value *high = onx_x_reshape(x, onx_x_reduce(x, "ReduceMax", v, 0, NULL, false), 1, &one);
    if (low && high)
        choose(x, low, high, onx_xv_real(x, &a[1], 0), onx_xv_real(x, &a[2], 255),
               onx_xv_real(x, &a[3], 0), out);
}

/* (input, dtype): int8, along the last axis. */
static void lower_choose_token(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t last = -1;
    onx_value *v = onx_x_as(x, &a[0], ONX_DTYPE_F32);
    onx_value *low = onx_x_reduce(x, "ReduceMin", v, 1, &last, true);
    onx_value *high = onx_x_reduce(x, "ReduceMax", v, 1, &last, true);
    if (low && high) choose(x, low, high, -128, 127, 1e-5, out);
}

#define TWO " -> (Tensor, Tensor)"
#define QD "quantized_decomposed::"
#define TENSOR                                                                                     \
    "(Tensor input, Any scale, Any zero_point, Any quant_min, Any quant_max, ScalarType dtype"
#define CHANNEL                                                                                    \
    "(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, "                 \
    "int quant_max, ScalarType dtype"
#define TOKEN                                                                                      \
    "(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "             \
    "ScalarType dtype"
#define FAKE "(Tensor self, Any scale, Any zero_point, int quant_min, int quant_max"
#define FAKE_CHANNEL                                                                               \
    "(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max"

const onx_aten onx_aten_quantize[] = {
    {"quantize_per_tensor(Tensor self, Any scale, Any zero_point, ScalarType dtype)",
     lower_quantize_tensor, NULL},
    {"quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
     "ScalarType dtype)",
     lower_quantize_channel, NULL},
    {"dequantize.self(Tensor self)", lower_dequantize, NULL},
    {"int_repr(Tensor self)", lower_int_repr, NULL},
    {"fake_quantize_per_tensor_affine" FAKE ")", lower_fake_tensor, NULL},
    {"fake_quantize_per_tensor_affine_cachemask" FAKE ")" TWO, lower_fake_tensor_mask, NULL},
    {"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, "
     "Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max)" TWO,
     lower_fake_enabled, NULL},
    {"_fake_quantize_learnable_per_tensor_affine" FAKE ", float grad_factor=1.)", lower_fake_tensor,
     NULL},
    {"fake_quantize_per_channel_affine" FAKE_CHANNEL ")", lower_fake_channel, NULL},
    {"fake_quantize_per_channel_affine_cachemask" FAKE_CHANNEL ")" TWO, lower_fake_channel_mask,
     NULL},
    {"_fake_quantize_learnable_per_channel_affine" FAKE_CHANNEL ", float grad_factor=1.)",
     lower_fake_channel, NULL},
    {"fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, "
     "Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, "
     "float averaging_const, int quant_min, int quant_max, int ch_axis, "
     "bool per_row_fake_quant=False, bool symmetric_quant=False)",
     lower_fake_observed, NULL},
    {QD "quantize_per_tensor" TENSOR ")", lower_q_tensor, NULL},
    {QD "dequantize_per_tensor" TENSOR ", *, ScalarType? out_dtype=None)", lower_dq_tensor, NULL},
    {QD "quantize_per_channel" CHANNEL ")", lower_q_channel, NULL},
    {QD "dequantize_per_channel" CHANNEL ", *, ScalarType? out_dtype=None)", lower_dq_channel,
     NULL},
    {QD "quantize_per_token" TOKEN ")", lower_q_token, NULL},
    {QD "dequantize_per_token" TOKEN ", ScalarType output_dtype)", lower_dq_token, NULL},
    {QD "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, "
        "ScalarType dtype)" TWO,
     lower_choose, NULL},
    {QD "choose_qparams_per_token(Tensor input, ScalarType dtype)" TWO, lower_choose_token, NULL},
    {QD "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype)" TWO,
     lower_choose_token, NULL},
    {.schema = NULL},
};
