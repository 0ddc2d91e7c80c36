/* quantize.c: numbers to integers and back: eager (quantize_per_tensor, fake_quantize*) and in
 * exported programs (quantized_decomposed::*), whose tensors are plain integers. */
#include "export/aten/qtensor.h"

/* ─ Eager ────────────────────────────────────────────────────────────────────────────────────── */

/* (self, scale, zero_point, dtype) */
static void lower_quantize_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_read(x, &q, &a[1], &a[2], -1, onx_quant_dtype(x, &a[3]))) return;
    *out = onx_xv_quantized(x, &q, onx_quantize(x, &q, onx_nn_tensor(x, &a[0])));
}

/* (self, scales, zero_points, axis, dtype) */
static void lower_quantize_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_read(x, &q, &a[1], &a[2], onx_quant_axis(x, &a[0], &a[3]),
                        onx_quant_dtype(x, &a[4])))
        return;
    *out = onx_xv_quantized(x, &q, onx_quantize(x, &q, onx_nn_tensor(x, &a[0])));
}

/* (self, dtype, reduce_range): with a scale from its own numbers. */
static void lower_quantize_dynamic(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (onx_quant_dynamic(x, &a[0], onx_quant_dtype(x, &a[1]), onx_xv_true(&a[2]), &q))
        *out = onx_xv_quantized(x, &q, onx_quantize(x, &q, onx_nn_tensor(x, &a[0])));
}
/* (self, reduce_range) */
static void lower_choose_dynamic(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_dynamic(x, &a[0], ONX_DTYPE_U8, onx_xv_true(&a[1]), &q)) return;
    out[0] = onx_xv_run(ONX_X_FLOAT, q.scale);
    out[1] = onx_xv_run(ONX_X_INT, onx_x_cast(x, q.zero, ONX_DTYPE_I64));
}

static void lower_dequantize(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]);
    const onx_xquant *q = onx_xv_quant(&a[0]);
    if (q)
        onx_x_give(x, out, onx_dequantize(x, q, v, ONX_DTYPE_F32));
    else
        onx_x_give(x, out, onx_x_as(x, &a[0], ONX_DTYPE_F32));
}
static void lower_dequantize_list(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < a[0].list->n && onx_x_ok(x); i++) {
        onx_xv v;
        lower_dequantize(x, &a[0].list->v[i], &v);
        onx_xlist_add(x, out->list, v);
    }
}

static void lower_int_repr(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_nn_tensor(x, &a[0]));
}

/* How it is quantized; NULL, and x failed: it is not. */
static const onx_xquant *asked(onx_export *x, const onx_xv *v, bool channels) {
    const onx_xquant *q = onx_xv_quant(v);
    if (q && (q->axis >= 0) == channels) return q;
    return onx_x_fail(x, ONX_INVALID, "the tensor is not quantized %s",
                      channels ? "per channel" : "as a whole");
}
static void lower_q_scale(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xquant *q = asked(x, &a[0], false);
    if (q) *out = onx_x_item(x, onx_xv_tensor(x, q->scale).tensor);
}
static void lower_q_zero(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xquant *q = asked(x, &a[0], false);
    *out = onx_xv_int(x, 0);
    if (q && q->zero)
        *out = onx_x_item(x, onx_xv_tensor(x, onx_x_cast(x, q->zero, ONX_DTYPE_I64)).tensor);
}
static void lower_q_scales(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xquant *q = asked(x, &a[0], true);
    if (q) onx_x_give(x, out, onx_x_cast(x, q->scale, ONX_DTYPE_F64));
}
static void lower_q_axis(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xquant *q = asked(x, &a[0], true);
    if (q) *out = onx_xv_int(x, q->axis);
}

/* (ints, scale, zero_point[, axis]) */
static void lower_make_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    onx_value *v = onx_nn_tensor(x, &a[0]);
    if (onx_quant_read(x, &q, &a[1], &a[2], -1, onx_x_dtype(x, v)))
        *out = onx_xv_quantized(x, &q, v);
}
static void lower_make_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    onx_value *v = onx_nn_tensor(x, &a[0]);
    if (onx_quant_read(x, &q, &a[1], &a[2], onx_quant_axis(x, &a[0], &a[3]), onx_x_dtype(x, v)))
        *out = onx_xv_quantized(x, &q, v);
}

/* There and back again, with integers in quant_min … quant_max, of the type that has just those or
 * the next larger one. */
static onx_value *fake(onx_export *x, const onx_xv *self, const onx_xv *scale, const onx_xv *zero,
                       int64_t axis, const onx_xv *bounds) {
    int64_t lo = onx_xv_whole(x, &bounds[0], 0), hi = onx_xv_whole(x, &bounds[1], 0);
    onx_value *v = onx_nn_tensor(x, self);
    onx_dtype dtype = onx_quant_narrow(x, lo, hi);
    onx_xquant q;
    if (!onx_quant_read(x, &q, scale, zero, axis, dtype)) return NULL;
    q.lo = lo, q.hi = hi;
    if (dtype == ONX_DTYPE_I32 || onx_x_dtype(x, v) != ONX_DTYPE_F32)
        return onx_dequantize_parts(x, &q, onx_quantize_float(x, &q, v), onx_x_dtype(x, v));
    return onx_dequantize(x, &q, onx_quantize(x, &q, v), ONX_DTYPE_F32);
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
    onx_x_give(x, out, fake(x, &a[0], &a[1], &a[2], onx_quant_axis(x, &a[0], &a[3]), &a[4]));
}
static void lower_fake_channel_mask(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_fake_channel(x, a, out);
    onx_nn_give_nothing(x, ONX_DTYPE_BOOL, &out[1]);
}
/* (self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point,
 * averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant …): with the scale that was
 * observed. */
static void lower_fake_observed(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t axis = onx_xv_true(&a[11]) ? onx_quant_axis(x, &a[0], &a[10]) : -1;
    onx_x_note(x, "fake quantization uses the scale that is in the module; it observes no more");
    onx_x_give(x, out, fake(x, &a[0], &a[5], &a[6], axis, &a[8]));
}

/* ─ Exported programs ────────────────────────────────────────────────────────────────────────── */

static void set_bounds(onx_xquant *q, const onx_xv *bounds) {
    int64_t v;
    if (onx_xv_known_int(&bounds[0], &v)) q->lo = v;
    if (onx_xv_known_int(&bounds[1], &v)) q->hi = v;
}

/* (input, scale, zero_point, quant_min, quant_max, dtype) */
static void lower_q_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_read(x, &q, &a[1], &a[2], -1, onx_quant_dtype(x, &a[5]))) return;
    set_bounds(&q, &a[3]);
    onx_x_give(x, out, onx_quantize(x, &q, onx_nn_tensor(x, &a[0])));
}
/* (…, *, out_dtype) */
static void lower_dq_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_read(x, &q, &a[1], &a[2], -1, onx_quant_dtype(x, &a[5]))) return;
    onx_x_give(x, out, onx_dequantize(x, &q, onx_nn_tensor(x, &a[0]), onx_xv_dtype(x, &a[6])));
}
/* (input, scales, zero_points, axis, quant_min, quant_max, dtype) */
static void lower_q_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_read(x, &q, &a[1], &a[2], onx_quant_axis(x, &a[0], &a[3]),
                        onx_quant_dtype(x, &a[6])))
        return;
    set_bounds(&q, &a[4]);
    onx_x_give(x, out, onx_quantize(x, &q, onx_nn_tensor(x, &a[0])));
}
static void lower_dq_channel(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!onx_quant_read(x, &q, &a[1], &a[2], onx_quant_axis(x, &a[0], &a[3]),
                        onx_quant_dtype(x, &a[6])))
        return;
    onx_x_give(x, out, onx_dequantize(x, &q, onx_nn_tensor(x, &a[0]), onx_xv_dtype(x, &a[7])));
}

/* Scales and zeros with a last axis of 1, one for each token: they broadcast as they are. */
static bool read_tokens(onx_export *x, onx_xquant *q, const onx_xv *a, onx_dtype dtype) {
    *q = (onx_xquant){onx_x_as(x, &a[1], ONX_DTYPE_F32), onx_x_as(x, &a[2], ONX_DTYPE_I32),
                      .axis = -1, .dtype = dtype};
    set_bounds(q, &a[3]);
    return q->scale && onx_x_ok(x);
}
static void lower_q_token(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!read_tokens(x, &q, a, onx_quant_dtype(x, &a[5]))) return;
    onx_x_give(x, out, onx_x_cast(x, onx_quantize_float(x, &q, onx_nn_tensor(x, &a[0])), q.dtype));
}
static void lower_dq_token(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xquant q;
    if (!read_tokens(x, &q, a, onx_quant_dtype(x, &a[5]))) return;
    onx_x_give(x, out,
               onx_dequantize_parts(x, &q, onx_nn_tensor(x, &a[0]), onx_xv_dtype(x, &a[6])));
}

/* ─ Scales from numbers ──────────────────────────────────────────────────────────────────────── */

static void choose(onx_export *x, onx_value *low, onx_value *high, double lo, double hi, double eps,
                   onx_xv *out) {
    onx_value *scale, *zero;
    onx_quant_choose(x, low, high, lo, hi, eps, &scale, &zero);
    onx_x_give(x, &out[0], onx_x_cast(x, scale, ONX_DTYPE_F64));
    onx_x_give(x, &out[1], onx_x_cast(x, zero, ONX_DTYPE_I64));
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
    {"quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range)",
     lower_quantize_dynamic, NULL},
    {"_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)",
     lower_choose_dynamic, NULL},
    {"dequantize.self(Tensor self)", lower_dequantize, NULL},
    {"dequantize.tensors(Tensor[] tensors)", lower_dequantize_list, NULL},
    {"q_scale(Tensor self)", lower_q_scale, NULL},
    {"q_zero_point(Tensor self)", lower_q_zero, NULL},
    {"q_per_channel_scales(Tensor self)", lower_q_scales, NULL},
    {"q_per_channel_axis(Tensor self)", lower_q_axis, NULL},
    {"_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point)",
     lower_make_tensor, NULL},
    {"_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis)",
     lower_make_channel, NULL},
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
