/* quantized_elements.c: what quantized modules do element by element, and norms: the operator of
 * plain tensors, between numbers and integers. A scalar changes the scale, not the integers. */
#include "export/aten/qtensor.h"

#include <math.h>

/* ─ Two tensors ──────────────────────────────────────────────────────────────────────────────── */

/* (qa, qb, scale, zero_point) */
static void binary(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    onx_value *y = onx_emit(x, op, onx_quant_numbers(x, &a[0]), onx_quant_numbers(x, &a[1]));
    onx_quant_finish(x, y, &a[0], &a[2], &a[3], onx_quant_is_relu(x), out);
}
static void lower_add(onx_export *x, const onx_xv *a, onx_xv *out) {
    binary(x, "Add", a, out);
}
static void lower_mul(onx_export *x, const onx_xv *a, onx_xv *out) {
    binary(x, "Mul", a, out);
}
static void lower_matmul(onx_export *x, const onx_xv *a, onx_xv *out) {
    binary(x, "MatMul", a, out);
}

/* (qx, dim, scale, zero_point): None: those of the first. */
static void lower_cat(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool anew = !onx_xv_is(&a[2], ONX_X_NONE) && a[0].list->n;
    onx_xv parts = anew ? onx_xv_list(x, ONX_X_LIST, 0, NULL) : a[0];
    for (size_t i = 0; i < a[0].list->n && anew && onx_x_ok(x); i++)
        onx_xlist_add(x, parts.list, onx_quant_plain(x, &a[0].list->v[i]));
    onx_xv args[] = {parts, a[1]};
    if (onx_x_ok(x)) *out = onx_aten_do(x, "cat", 2, args);
    if (anew && onx_x_ok(x))
        onx_quant_finish(x, onx_nn_tensor(x, out), a[0].list->v, &a[2], &a[3], onx_quant_is_relu(x),
                         out);
}

/* ─ A tensor and a number ────────────────────────────────────────────────────────────────────── */

/* A quantized tensor and a number, in either order; the latter may be a tensor of one element. */
typedef struct scaled {
    const onx_xv *tensor;
    const onx_xquant *q;
    double scale, number;
    int64_t zero;
} scaled;

static bool read_scaled(onx_export *x, const onx_xv *a, scaled *s) {
    const onx_xv *number = onx_xv_quant(&a[0]) ? &a[1] : &a[0];
    s->tensor = onx_xv_quant(&a[0]) ? &a[0] : &a[1];
    s->q = onx_xv_quant(s->tensor);
    onx_xv item = number->kind == ONX_X_TENSOR ? onx_x_item(x, number->tensor) : *number;
    s->number = onx_xv_real(x, &item, 0);
    if (s->q && onx_quant_known(x, s->q, &s->scale, &s->zero)) return onx_x_ok(x);
    return onx_x_fail(x, ONX_UNSUPPORTED, "a tensor whose scale is not known, and a number");
}

/* The same integers, or numbers quantized anew, by this scale and zero point. */
static void rescale(onx_export *x, const scaled *s, onx_value *integers, onx_value *numbers,
                    double scale, int64_t zero, onx_xv *out) {
    onx_xv by = onx_xv_float(scale), at = onx_xv_int(x, zero);
    onx_xquant q;
    if (!onx_quant_read(x, &q, &by, &at, -1, s->q->dtype)) return;
    if (!integers) integers = onx_quantize(x, &q, numbers);
    if (onx_quant_is_relu(x)) {
        onx_value *least = onx_x_number(x, s->q->dtype, (double)zero);
        integers = onx_emit(x, "Max", integers, least);
    }
    *out = onx_xv_quantized(x, &q, integers);
}

/* The zero point moves; where it cannot move that far, the scale grows. */
static void lower_add_scalar(onx_export *x, const onx_xv *a, onx_xv *out) {
    scaled s;
    if (!read_scaled(x, a, &s)) return;
    int64_t zero = s.zero - (int64_t)nearbyint(s.number / s.scale), lo = s.q->lo, hi = s.q->hi;
    double steps = (double)(hi - lo);
    onx_value *v = onx_nn_tensor(x, s.tensor), *sum = NULL;
    if (zero < lo || zero > hi) sum = onx_nn_plus(x, onx_quant_numbers(x, s.tensor), s.number);
    if (zero < lo)
        rescale(x, &s, NULL, sum, (double)(hi - zero) / steps * s.scale, lo, out);
    else if (zero > hi)
        rescale(x, &s, NULL, sum, (double)(zero - lo) / steps * s.scale, hi, out);
    else
        rescale(x, &s, v, NULL, s.scale, zero, out);
}

/* Negative numbers turn the integers round. */
static void lower_mul_scalar(onx_export *x, const onx_xv *a, onx_xv *out) {
    scaled s;
    if (!read_scaled(x, a, &s)) return;
    onx_value *v = onx_nn_tensor(x, s.tensor);
    if (s.number > 0) {
        rescale(x, &s, v, NULL, s.number * s.scale, s.zero, out);
        return;
    }
    onx_value *numbers = onx_nn_times(x, onx_quant_numbers(x, s.tensor), s.number);
    if (s.number < 0)
        rescale(x, &s, NULL, numbers, -s.number * s.scale, s.q->hi + s.q->lo - s.zero, out);
    else
        rescale(x, &s, NULL, numbers, 1, 0, out);
}

/* ─ Functions and norms ──────────────────────────────────────────────────────────────────────── */

/* The operator of plain tensors, given numbers first and then `rest`. */
static void through(onx_export *x, const char *op, const onx_xv *a, size_t n, const onx_xv *rest,
                    const onx_xv *scale, onx_xv *out) {
    onx_xv args[12] = {onx_quant_plain(x, &a[0])};
    for (size_t i = 0; i < n; i++) args[1 + i] = rest[i];
    if (!onx_x_ok(x)) return;
    onx_xv y = onx_aten_do(x, op, 1 + n, args);
    if (onx_x_ok(x))
        onx_quant_finish(x, onx_nn_tensor(x, &y), &a[0], scale, scale + 1, onx_quant_is_relu(x),
                         out);
}

/* "quantized::hardswish" is hardswish. */
static const char *plain_name(onx_export *x) {
    onx_str op = onx_x_op(x), copy;
    const char *colon = memchr(op.data, ':', op.size);
    if (colon) op.size -= (size_t)(colon + 2 - op.data), op.data = colon + 2;
    return onx_arena_str(&x->arena, op, &copy) ? copy.data : onx_x_nomem(x);
}

/* (self, output_scale, output_zero_point, …): what the operator takes comes last, */
static void lower_first(onx_export *x, const onx_xv *a, size_t n, onx_xv *out) {
    const char *name = plain_name(x);
    if (name) through(x, name, a, n, a + 3, a + 1, out);
}
static void lower_only(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_first(x, a, 0, out);
}
static void lower_celu(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_first(x, a, 1, out);
}
static void lower_elu(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_first(x, a, 3, out);
}
/* … or before them. */
static void lower_last(onx_export *x, const onx_xv *a, size_t n, onx_xv *out) {
    const char *name = plain_name(x);
    if (name) through(x, name, a, n, a + 1, a + 1 + n, out);
}
static void lower_one(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_last(x, a, 1, out);
}
static void lower_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_last(x, a, 4, out);
}
/* (qx, negative_slope, inplace, output_scale, output_zero_point) */
static void lower_leaky(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv numbers = onx_quant_plain(x, &a[0]), args[] = {numbers, a[1]};
    onx_xv y = onx_x_ok(x) ? onx_aten_do(x, "leaky_relu", 2, args) : numbers;
    if (onx_x_ok(x)) onx_quant_finish(x, onx_nn_tensor(x, &y), &a[0], &a[3], &a[4], false, out);
}
/* (qx, weight, bias, mean, var, eps, output_scale, output_zero_point) */
static void lower_batch_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv off = onx_xv_bool(x, false),
           rest[] = {a[1], a[2], a[3], a[4], off, onx_xv_float(0), a[5], off};
    through(x, "batch_norm", a, ONX_COUNT(rest), rest, a + 6, out);
}
/* (input, weight, bias, eps, output_scale, output_zero_point) */
static void lower_instance_norm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv none = {.kind = ONX_X_NONE};
    onx_xv rest[] = {
        a[1], a[2], none, none, onx_xv_bool(x, true), onx_xv_float(0), a[3], onx_xv_bool(x, false)};
    through(x, "instance_norm", a, ONX_COUNT(rest), rest, a + 4, out);
}
/* (self, output_scale, output_zero_point, p, training) */
static void lower_dropout(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)x;
    *out = a[0];
}

/* As their namesakes do with quantized tensors: the arguments are the same. */
static void lower_same(onx_export *x, const onx_xv *a, size_t n, onx_xv *out) {
    const char *name = plain_name(x);
    if (name) *out = onx_aten_do(x, name, n, a);
}
static void lower_relu6(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_same(x, a, 1, out);
}
static void lower_three(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_same(x, a, 3, out);
}
static void lower_max_pool(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_same(x, a, 6, out);
}

#define Q "quantized::"
#define OUTPUT "float output_scale, int output_zero_point"
#define TWO "(Tensor qa, Tensor qb, float scale, int zero_point)"
#define ARITHMETIC(name, tensors, scalar)                                                          \
    {Q name TWO, tensors, NULL}, {Q name ".Scalar(Any qa, Any b)", scalar, NULL},                  \
        {Q name "_relu" TWO, tensors, NULL}, {Q name "_relu.Scalar(Any qa, Any b)", scalar, NULL}, \
        {Q name "_scalar(Tensor qa, Any b)", scalar, NULL}, {                                      \
        Q name "_scalar_relu(Tensor qa, Any b)", scalar, NULL                                      \
    }
#define CAT "(Tensor[] qx, int dim, float? scale, int? zero_point)"
#define AFFINE "Tensor? weight, Tensor? bias, "
#define BATCH "(Tensor qx, " AFFINE "Tensor mean, Tensor var, float eps, " OUTPUT ")"
#define BATCHES(n)                                                                                 \
    {Q "batch_norm" n BATCH, lower_batch_norm, NULL}, {                                            \
        Q "batch_norm" n "_relu" BATCH, lower_batch_norm, NULL                                     \
    }
#define POOL                                                                                       \
    "(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode)"

const onx_aten onx_aten_quantized_elements[] = {
    ARITHMETIC("add", lower_add, lower_add_scalar),
    ARITHMETIC("mul", lower_mul, lower_mul_scalar),
    {Q "matmul" TWO, lower_matmul, NULL},
    {Q "cat" CAT, lower_cat, NULL},
    {Q "cat_relu" CAT, lower_cat, NULL},
    BATCHES(""),
    BATCHES("1d"),
    BATCHES("2d"),
    BATCHES("3d"),
    {"quantized_batch_norm(Tensor input, " AFFINE "Tensor mean, Tensor var, float eps, " OUTPUT ")",
     lower_batch_norm, NULL},
    {Q "hardswish(Tensor input, " OUTPUT ")", lower_only, NULL},
    {Q "sigmoid(Tensor qx, " OUTPUT ")", lower_only, NULL},
    {Q "celu(Tensor self, " OUTPUT ", Scalar alpha=1)", lower_celu, NULL},
    {Q "elu(Tensor self, " OUTPUT ", Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)",
     lower_elu, NULL},
    {Q "dropout(Tensor self, " OUTPUT ", Scalar p=0.5, bool training=False)", lower_dropout, NULL},
    {Q "softmax(Tensor qx, int dim, " OUTPUT ")", lower_one, NULL},
    {Q "prelu(Tensor qx, Tensor weight, " OUTPUT ")", lower_one, NULL},
    {Q "leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, " OUTPUT ")", lower_leaky, NULL},
    {Q "layer_norm(Tensor input, int[] normalized_shape, " AFFINE "float eps, " OUTPUT ")",
     lower_norm, NULL},
    {Q "group_norm(Tensor input, int num_groups, " AFFINE "float eps, " OUTPUT ")", lower_norm,
     NULL},
    {Q "instance_norm(Tensor input, " AFFINE "float eps, " OUTPUT ")", lower_instance_norm, NULL},
    {Q "relu6(Tensor qx, bool inplace=False)", lower_relu6, NULL},
    {Q "clamp(Tensor qx, Scalar? min=None, Scalar? max=None)", lower_three, NULL},
    {Q "threshold(Tensor qx, Scalar threshold, Scalar value)", lower_three, NULL},
    {Q "max_pool1d" POOL, lower_max_pool, NULL},
    {Q "max_pool2d" POOL, lower_max_pool, NULL},
    {.schema = NULL},
};
