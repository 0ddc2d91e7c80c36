/* pointwise.c: functions of one tensor, element by element.
 *
 * Most are one operator of ONNX: a table of names. What ONNX has no operator for is made of two or
 * three. Integers become float32 where the function is one of real numbers. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

#include <math.h>

/* ─ One operator ─────────────────────────────────────────────────────────────────────────────── */

typedef enum domain { REAL, ANY, WHOLE } domain; /* WHOLE: integers stay as they are */

/* clang-format off */
#define UNARIES(X)                                                                                \
    X("abs", "Abs", ANY) X("absolute", "Abs", ANY) X("acos", "Acos", REAL)                        \
    X("acosh", "Acosh", REAL) X("arccos", "Acos", REAL) X("arccosh", "Acosh", REAL)               \
    X("arcsin", "Asin", REAL) X("arcsinh", "Asinh", REAL) X("arctan", "Atan", REAL)               \
    X("arctanh", "Atanh", REAL) X("asin", "Asin", REAL) X("asinh", "Asinh", REAL)                 \
    X("atan", "Atan", REAL) X("atanh", "Atanh", REAL) X("ceil", "Ceil", WHOLE)                    \
    X("cos", "Cos", REAL) X("cosh", "Cosh", REAL) X("erf", "Erf", REAL) X("exp", "Exp", REAL)     \
    X("floor", "Floor", WHOLE) X("hardswish", "HardSwish", REAL) X("log", "Log", REAL)            \
    X("mish", "Mish", REAL) X("neg", "Neg", ANY) X("negative", "Neg", ANY)                        \
    X("reciprocal", "Reciprocal", REAL) X("relu", "Relu", ANY) X("round", "Round", WHOLE)         \
    X("selu", "Selu", REAL) X("sgn", "Sign", ANY) X("sigmoid", "Sigmoid", REAL)                   \
    X("sign", "Sign", ANY) X("sin", "Sin", REAL) X("sinh", "Sinh", REAL)                          \
    X("special_erf", "Erf", REAL) X("special_expit", "Sigmoid", REAL) X("sqrt", "Sqrt", REAL)     \
    X("tan", "Tan", REAL) X("tanh", "Tanh", REAL)
/* clang-format on */
static const struct unary {
    const char *aten, *onnx;
    domain domain;
} unaries[] = {
#define ROW(aten, onnx, domain) {aten, onnx, domain},
    UNARIES(ROW)
#undef ROW
};

static const struct unary *find(onx_str aten) {
    const struct unary *u = unaries;
    while (u < unaries + ONX_COUNT(unaries) - 1 && !onx_str_is(aten, u->aten)) u++;
    return u;
}

static void lower_unary(onx_export *x, const onx_xv *a, onx_xv *out) {
    const struct unary *u = find(onx_x_op(x));
    if (u->domain == WHOLE && !onx_dtype_is_float(onx_xv_type(x, a))) {
        onx_x_give(x, out, onx_xv_value(x, a));
    } else {
        onx_value *v = u->domain == REAL ? onx_x_floating(x, a) : onx_xv_value(x, a);
        onx_x_give(x, out, onx_emit_wide(x, u->onnx, v));
    }
}

/* ─ Several operators ────────────────────────────────────────────────────────────────────────── */

/* a·f(x·c) + b, of which any part may be missing: f NULL, numbers 1, 1 and 0. */
static const struct scaled {
    const char *aten;
    double in;
    const char *f;
    double out, plus;
} scaleds[] = {
    {"log2", 1, "Log", 1.4426950408889634, 0},
    {"log10", 1, "Log", 0.43429448190325183, 0},
    {"expm1", 1, "Exp", 1, -1},
    {"special_expm1", 1, "Exp", 1, -1},
    {"erfc", 1, "Erf", -1, 1},
    {"special_erfc", 1, "Erf", -1, 1},
    {"special_ndtr", 0.70710678118654752, "Erf", 0.5, 0.5},
    {"exp2", 0.69314718055994531, "Exp", 1, 0},
    {"special_exp2", 0.69314718055994531, "Exp", 1, 0},
    {"deg2rad", 1, NULL, 0.017453292519943295, 0},
    {"rad2deg", 1, NULL, 57.295779513082321, 0},
};

static onx_value *times(onx_export *x, onx_value *v, double number) {
    if (number == 1) return v;
    return number == -1 ? onx_emit(x, "Neg", v) : onx_emit_number(x, "Mul", v, number);
}

static void lower_scaled(onx_export *x, const onx_xv *a, onx_xv *out) {
    const struct scaled *s = scaleds;
    while (s < scaleds + ONX_COUNT(scaleds) - 1 && !onx_str_is(onx_x_op(x), s->aten)) s++;
    onx_value *v = times(x, onx_x_floating(x, a), s->in);
    v = times(x, s->f ? onx_emit_wide(x, s->f, v) : v, s->out);
    onx_x_give(x, out, s->plus != 0 ? onx_emit_number(x, "Add", v, s->plus) : v);
}

static void lower_rsqrt(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_emit(x, "Reciprocal", onx_emit(x, "Sqrt", onx_x_floating(x, a))));
}

static void lower_log1p(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    onx_x_give(x, out, onx_emit(x, "Log", onx_emit_number(x, "Add", v, 1)));
}

static void lower_square(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_type(x, a);
    onx_value *v = onx_x_as(x, a, dtype == ONX_DTYPE_BOOL ? ONX_DTYPE_I64 : dtype);
    onx_x_give(x, out, onx_emit_wide(x, "Mul", v, v));
}

static void lower_trunc(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_x_trunc(x, onx_xv_value(x, a)));
}

static void lower_frac(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    onx_x_give(x, out, onx_emit(x, "Sub", v, onx_x_trunc(x, v)));
}

static void lower_round(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    double scale = pow(10, onx_xv_real(x, &a[1], 0));
    if (!onx_dtype_is_float(onx_xv_type(x, a))) {
        onx_x_give(x, out, v);
        return;
    }
    if (scale != 1) v = onx_emit_number(x, "Mul", v, scale);
    v = onx_emit_wide(x, "Round", v);
    onx_x_give(x, out, scale != 1 ? onx_emit_number(x, "Div", v, scale) : v);
}

/* sin(pi x) / (pi x), and 1 at 0. */
static void lower_sinc(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_emit_number(x, "Mul", onx_x_floating(x, a), 3.14159265358979323846);
    onx_value *ratio = onx_emit(x, "Div", onx_emit_wide(x, "Sin", v), v);
    onx_value *one = v ? onx_x_number(x, onx_x_dtype(x, v), 1) : NULL;
    onx_x_give(x, out, onx_emit(x, "Where", onx_emit_number(x, "Equal", v, 0), one, ratio));
}

/* log(x / (1 - x)), x kept eps away from 0 and 1 where that is given. */
static void lower_logit(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    onx_dtype dtype = onx_x_dtype(x, v);
    if (!onx_xv_is(&a[1], ONX_X_NONE)) {
        double eps = onx_xv_real(x, &a[1], 0);
        v = onx_emit(x, "Clip", v, onx_x_number(x, dtype, eps), onx_x_number(x, dtype, 1 - eps));
    }
    onx_value *rest = onx_emit(x, "Sub", onx_x_number(x, dtype, 1), v);
    onx_x_give(x, out, onx_emit(x, "Log", onx_emit(x, "Div", v, rest)));
}

/* ─ What kind of number it is ────────────────────────────────────────────────────────────────── */

/* Of integers: what is true of none of them, or of all. */
static onx_value *always(onx_export *x, onx_value *v, bool is) {
    return onx_lower_expand_like(x, onx_x_number(x, ONX_DTYPE_BOOL, is), v);
}

static void lower_isnan(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    bool is_float = onx_dtype_is_float(onx_xv_type(x, a));
    onx_x_give(x, out, is_float ? onx_emit_wide(x, "IsNaN", v) : always(x, v, false));
}

static void give_isinf(onx_export *x, const onx_xv *a, bool below, bool above, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    const onx_xattr *attrs = below && above ? NULL
                                            : ONX_ATTRS(ONX_AI("detect_negative", below),
                                                        ONX_AI("detect_positive", above));
    bool is_float = onx_dtype_is_float(onx_xv_type(x, a));
    onx_x_give(x, out, is_float ? onx_emit_wide_with(x, "IsInf", attrs, v) : always(x, v, false));
}

static void lower_isinf(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_isinf(x, a, true, true, out);
}
static void lower_isposinf(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_isinf(x, a, false, true, out);
}
static void lower_isneginf(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_isinf(x, a, true, false, out);
}

static void lower_isfinite(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    bool is_float = onx_dtype_is_float(onx_xv_type(x, a));
    onx_x_give(x, out,
               is_float ? onx_emit_number(x, "Less", onx_emit(x, "Abs", v), (double)INFINITY)
                        : always(x, v, true));
}

static void lower_signbit(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_x_is_minus(x, onx_xv_value(x, a)));
}

static double largest(onx_dtype dtype) {
    switch (dtype) {
    case ONX_DTYPE_F16: return 65504;
    case ONX_DTYPE_BF16: return 0x1.fep127;
    case ONX_DTYPE_F32: return 0x1.fffffep127;
    default: return 0x1.fffffffffffffp1023;
    }
}

static void lower_nan_to_num(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    onx_dtype dtype = onx_xv_type(x, a);
    if (!onx_dtype_is_float(dtype)) {
        onx_x_give(x, out, v);
        return;
    }
    double top = largest(dtype), above = onx_xv_real(x, &a[2], top);
    double below = onx_xv_real(x, &a[3], -top);
    onx_value *nan = onx_x_number(x, dtype, onx_xv_real(x, &a[1], 0));
    onx_value *high = onx_x_number(x, dtype, above), *low = onx_x_number(x, dtype, below);
    v = onx_emit(x, "Where", onx_emit_wide(x, "IsNaN", v), nan, v);
    if (above == top && below == -top) {
        v = onx_emit(x, "Clip", v, low, high);
    } else {
        v = onx_emit(x, "Where", onx_emit_number(x, "Equal", v, (double)INFINITY), high, v);
        v = onx_emit(x, "Where", onx_emit_number(x, "Equal", v, -(double)INFINITY), low, v);
    }
    onx_x_give(x, out, v);
}

#define UNARY(aten, onnx, domain) {aten "(Tensor self)", lower_unary, NULL},
#define SCALED(name)                                                                               \
    { name "(Tensor self)", lower_scaled, NULL }
const onx_aten onx_aten_pointwise[] = {
    UNARIES(UNARY) SCALED("log2"),
    SCALED("log10"),
    SCALED("expm1"),
    SCALED("special_expm1"),
    SCALED("erfc"),
    SCALED("special_erfc"),
    SCALED("special_ndtr"),
    SCALED("exp2"),
    SCALED("special_exp2"),
    SCALED("deg2rad"),
    SCALED("rad2deg"),
    {"round.decimals(Tensor self, *, int decimals)", lower_round, NULL},
    {"special_round(Tensor self, *, int decimals=0)", lower_round, NULL},
    {"rsqrt(Tensor self)", lower_rsqrt, NULL},
    {"log1p(Tensor self)", lower_log1p, NULL},
    {"special_log1p(Tensor self)", lower_log1p, NULL},
    {"square(Tensor self)", lower_square, NULL},
    {"trunc(Tensor self)", lower_trunc, NULL},
    {"fix(Tensor self)", lower_trunc, NULL},
    {"frac(Tensor self)", lower_frac, NULL},
    {"sinc(Tensor self)", lower_sinc, NULL},
    {"special_sinc(Tensor self)", lower_sinc, NULL},
    {"logit(Tensor self, float? eps=None)", lower_logit, NULL},
    {"special_logit(Tensor self, float? eps=None)", lower_logit, NULL},
    {"isnan(Tensor self)", lower_isnan, NULL},
    {"isinf(Tensor self)", lower_isinf, NULL},
    {"isposinf(Tensor self)", lower_isposinf, NULL},
    {"isneginf(Tensor self)", lower_isneginf, NULL},
    {"isfinite(Tensor self)", lower_isfinite, NULL},
    {"signbit(Tensor self)", lower_signbit, NULL},
    {"nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)",
     lower_nan_to_num, NULL},
    {NULL, NULL, NULL},
};
