/* arithmetic.c: arithmetic of two tensors, or of a tensor and a number, in the type that PyTorch
 * computes in. Rounding is PyTorch's: floor_divide rounds down, remainder has the sign of the
 * divisor. */
#include "export/aten/lowering.h"

typedef enum domain { ANY, REAL } domain; /* REAL: integers are computed with as float32 */

/* Both in the type that they promote to, which is returned; NONE: failed. */
static onx_dtype promoted(onx_export *x, const onx_xv *a, const onx_xv *b, domain of,
                          onx_value *v[2]) {
    onx_xv pair[2] = {*a, *b};
    onx_dtype dtype = onx_x_promote(x, 2, pair);
    if (of == REAL && !onx_dtype_is_float(dtype)) dtype = ONX_DTYPE_F32;
    v[0] = onx_x_as(x, a, dtype);
    v[1] = onx_x_as(x, b, dtype);
    return onx_x_ok(x) ? dtype : ONX_DTYPE_NONE;
}

static void give_binary(onx_export *x, const char *op, const char *of_bools, const onx_xv *a,
                        const onx_xv *b, onx_xv *out) {
    onx_value *v[2];
    if (onx_xv_is_complex(a) || onx_xv_is_complex(b)) {
        *out = onx_xv_complex(x, onx_complex_binary(x, op, a, b));
        return;
    }
    bool is_bool = promoted(x, a, b, ANY, v) == ONX_DTYPE_BOOL && of_bools;
    onx_x_give(x, out, onx_emit_wide(x, is_bool ? of_bools : op, v[0], v[1]));
}

/* b·alpha: the number itself where alpha is 1. The type of the sum is that of a and b. */
static onx_xv scaled(onx_export *x, const onx_xv *a, const onx_xv *b, const onx_xv *alpha) {
    onx_xv pair[2] = {*a, *b};
    if (onx_xv_is_one(x, alpha, 1)) return *b;
    if (onx_xv_is_number(b)) return onx_x_arith(x, "mul", *b, *alpha);
    onx_dtype dtype = onx_x_promote(x, 2, pair);
    return onx_xv_tensor(x,
                         onx_emit_wide(x, "Mul", onx_x_as(x, b, dtype), onx_x_as(x, alpha, dtype)));
}

static void lower_add(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv b = scaled(x, &a[0], &a[1], &a[2]);
    give_binary(x, "Add", "Or", &a[0], &b, out);
}

static void lower_sub(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv b = scaled(x, &a[0], &a[1], &a[2]);
    give_binary(x, "Sub", NULL, &a[0], &b, out);
}

static void lower_rsub(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv b = scaled(x, &a[1], &a[0], &a[2]);
    give_binary(x, "Sub", NULL, &a[1], &b, out);
}

static void lower_mul(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_binary(x, "Mul", "And", &a[0], &a[1], out);
}

static void lower_maximum(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_binary(x, "Max", "Or", &a[0], &a[1], out);
}

static void lower_minimum(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_binary(x, "Min", "And", &a[0], &a[1], out);
}

/* The one that is a number where the other is none. */
static void give_present(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], ANY, v);
    if (!dtype) return;
    onx_value *best = onx_emit_wide(x, op, v[0], v[1]);
    for (size_t i = 0; i < 2 && onx_dtype_is_float(dtype); i++)
        best = onx_emit(x, "Where", onx_emit_wide(x, "IsNaN", v[i]), v[1 - i], best);
    onx_x_give(x, out, best);
}
static void lower_fmax(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_present(x, "Max", a, out);
}
static void lower_fmin(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_present(x, "Min", a, out);
}

/* ─ Division ─────────────────────────────────────────────────────────────────────────────────── */

static void lower_floor_divide(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], ANY, v);
    if (!dtype) return;
    onx_x_give(x, out,
               onx_dtype_is_float(dtype) ? onx_emit(x, "Floor", onx_emit(x, "Div", v[0], v[1]))
                                         : onx_x_floor_div(x, v[0], v[1]));
}

static void lower_true_divide(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    if (onx_xv_is_complex(&a[0]) || onx_xv_is_complex(&a[1]))
        *out = onx_xv_complex(x, onx_complex_binary(x, "Div", &a[0], &a[1]));
    else if (promoted(x, &a[0], &a[1], REAL, v))
        onx_x_give(x, out, onx_emit(x, "Div", v[0], v[1]));
}

static void lower_div(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    if (onx_xv_is(&a[2], ONX_X_NONE)) {
        lower_true_divide(x, a, out);
    } else if (onx_str_is(a[2].str, "floor")) {
        lower_floor_divide(x, a, out);
    } else if (!onx_str_is(a[2].str, "trunc")) {
        onx_x_fail(x, ONX_INVALID, "rounding mode '%.*s': \"floor\" and \"trunc\" are known",
                   ONX_FMT(a[2].str));
    } else if (promoted(x, &a[0], &a[1], ANY, v)) {
        onx_x_give(x, out, onx_x_trunc(x, onx_emit_wide(x, "Div", v[0], v[1])));
    }
}

static void lower_fmod(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], ANY, v);
    if (!dtype) return;
    onx_x_give(x, out, onx_emit_wide_with(x, "Mod", ONX_ATTRS(ONX_AI("fmod", 1)), v[0], v[1]));
}

static void lower_remainder(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], ANY, v);
    if (!dtype) return;
    if (!onx_dtype_is_float(dtype)) {
        onx_x_give(x, out, onx_emit_wide(x, "Mod", v[0], v[1]));
        return;
    }
    onx_value *times = onx_emit(x, "Floor", onx_emit(x, "Div", v[0], v[1]));
    onx_x_give(x, out, onx_emit(x, "Sub", v[0], onx_emit(x, "Mul", times, v[1])));
}

/* ─ Powers ───────────────────────────────────────────────────────────────────────────────────── */

/* The powers that have an operator of their own; NULL: this has none. */
static onx_value *special_power(onx_export *x, onx_value *v, double exponent) {
    bool is_float = onx_dtype_is_float(onx_x_dtype(x, v));
    if (exponent == 1) return v;
    if (exponent == 2) return onx_emit_wide(x, "Mul", v, v);
    if (exponent == 0.5 && is_float) return onx_emit(x, "Sqrt", v);
    if (exponent == -0.5 && is_float) return onx_emit(x, "Reciprocal", onx_emit(x, "Sqrt", v));
    if (exponent == -1 && is_float) return onx_emit(x, "Reciprocal", v);
    return NULL;
}

/* z², or exp(e·log(z)). */
static void give_complex_pow(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv step = a[0];
    if (onx_xv_is_one(x, &a[1], 2) || onx_xv_is_one(x, &a[1], 1)) {
        *out = onx_xv_is_one(x, &a[1], 1)
                   ? a[0]
                   : onx_xv_complex(x, onx_complex_binary(x, "Mul", &a[0], &a[0]));
        return;
    }
    onx_complex_unary(x, onx_str_of("log"), &a[0], &step);
    if (onx_x_ok(x)) step = onx_xv_complex(x, onx_complex_binary(x, "Mul", &step, &a[1]));
    if (onx_x_ok(x)) onx_complex_unary(x, onx_str_of("exp"), &step, out);
}

static void give_pow(onx_export *x, const onx_xv *a, onx_dtype dtype, onx_xv *out) {
    double exponent;
    onx_value *v[2];
    onx_xv pair[2] = {a[0], a[1]};
    if (onx_xv_is_complex(&a[0])) {
        give_complex_pow(x, a, out);
        return;
    }
    if (dtype == ONX_DTYPE_NONE) dtype = onx_x_promote(x, 2, pair);
    if (dtype == ONX_DTYPE_BOOL) dtype = ONX_DTYPE_I64;
    if (!(v[0] = onx_x_as(x, &a[0], dtype))) return;
    onx_value *special = onx_xv_is_number(&a[1]) && onx_xv_known_float(x, &a[1], &exponent)
                             ? special_power(x, v[0], exponent)
                             : NULL;
    v[1] = special ? NULL : onx_x_as(x, &a[1], dtype);
    onx_x_give(x, out, special ? special : onx_emit_wide(x, "Pow", v[0], v[1]));
}

static void lower_pow(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_pow(x, a, ONX_DTYPE_NONE, out);
}

static void lower_float_power(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_pow(x, a, ONX_DTYPE_F64, out);
}

/* a·2^b */
static void lower_ldexp(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], REAL, v);
    if (!dtype) return;
    onx_value *two = onx_x_number(x, dtype, 2);
    onx_x_give(x, out, onx_emit(x, "Mul", v[0], onx_emit(x, "Pow", two, v[1])));
}

/* ─ Functions of two real numbers ────────────────────────────────────────────────────────────── */

onx_value *onx_x_atan2(onx_export *x, onx_value *y, onx_value *re) {
    const double pi = 3.14159265358979323846;
    if (!y || !re) return NULL;
    onx_dtype dtype = onx_x_dtype(x, y);
    onx_value *zero = onx_x_number(x, dtype, 0);
    onx_value *at_0 =
        onx_emit_wide(x, "And", onx_emit(x, "Equal", y, zero), onx_emit(x, "Equal", re, zero));
    onx_value *slope = onx_emit(x, "Where", at_0, zero, onx_emit(x, "Div", y, re));
    onx_value *half = onx_emit(x, "Where", onx_emit(x, "Less", y, zero),
                               onx_x_number(x, dtype, -pi), onx_x_number(x, dtype, pi));
    onx_value *turn = onx_emit(x, "Where", onx_emit(x, "Less", re, zero), half, zero);
    return onx_emit(x, "Add", onx_emit_wide(x, "Atan", slope), turn);
}

static void lower_atan2(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    if (promoted(x, &a[0], &a[1], REAL, v)) onx_x_give(x, out, onx_x_atan2(x, v[0], v[1]));
}

static void lower_hypot(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], REAL, v);
    if (!dtype) return;
    onx_value *sum =
        onx_emit(x, "Add", onx_emit(x, "Mul", v[0], v[0]), onx_emit(x, "Mul", v[1], v[1]));
    onx_x_give(x, out, onx_emit(x, "Sqrt", sum));
}

/* The larger one, and log(1 + exp(-|a - b|)): in base 2, all of it times ln 2. */
static void give_logaddexp(onx_export *x, const onx_xv *a, double base, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], REAL, v);
    if (!dtype) return;
    onx_value *gap = onx_emit(x, "Neg", onx_emit(x, "Abs", onx_emit(x, "Sub", v[0], v[1])));
    if (base != 1) gap = onx_emit_number(x, "Mul", gap, base);
    onx_value *more = onx_emit_wide(x, "Softplus", gap);
    if (base != 1) more = onx_emit_number(x, "Div", more, base);
    onx_x_give(x, out, onx_emit(x, "Add", onx_emit(x, "Max", v[0], v[1]), more));
}
static void lower_logaddexp(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_logaddexp(x, a, 1, out);
}
static void lower_logaddexp2(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_logaddexp(x, a, 0.69314718055994531, out);
}

/* a·log(b + plus), and 0 where a is 0. */
static void give_xlog(onx_export *x, const onx_xv *a, double plus, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], REAL, v);
    if (!dtype) return;
    if (plus != 0) v[1] = onx_emit_number(x, "Add", v[1], plus);
    onx_value *product = onx_emit(x, "Mul", v[0], onx_emit(x, "Log", v[1]));
    onx_x_give(x, out,
               onx_emit(x, "Where", onx_emit_number(x, "Equal", v[0], 0), onx_x_number(x, dtype, 0),
                        product));
}
static void lower_xlogy(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_xlog(x, a, 0, out);
}
static void lower_xlog1py(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_xlog(x, a, 1, out);
}

static void lower_copysign(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = promoted(x, &a[0], &a[1], REAL, v);
    if (!dtype) return;
    onx_value *size = onx_emit(x, "Abs", v[0]);
    onx_x_give(x, out,
               onx_emit(x, "Where", onx_x_is_minus(x, v[1]), onx_emit(x, "Neg", size), size));
}

/* ─ Three tensors ────────────────────────────────────────────────────────────────────────────── */

static void lower_lerp(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_x_promote(x, 2, a);
    onx_value *from = onx_x_as(x, &a[0], dtype), *to = onx_x_as(x, &a[1], dtype);
    onx_value *part = onx_emit(x, "Mul", onx_emit(x, "Sub", to, from), onx_x_as(x, &a[2], dtype));
    onx_x_give(x, out, onx_emit(x, "Add", from, part));
}

static void give_addc(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_x_promote(x, 3, a);
    onx_value *b = onx_x_as(x, &a[1], dtype);
    if (!onx_xv_is_one(x, &a[3], 1)) b = onx_emit_wide(x, "Mul", b, onx_x_as(x, &a[3], dtype));
    onx_value *term = onx_emit_wide(x, op, b, onx_x_as(x, &a[2], dtype));
    onx_x_give(x, out, onx_emit_wide(x, "Add", onx_x_as(x, &a[0], dtype), term));
}
static void lower_addcmul(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_addc(x, "Mul", a, out);
}
static void lower_addcdiv(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_addc(x, "Div", a, out);
}

#define PAIR(name, lower)                                                                          \
    { name "(Any self, Any other)", lower, NULL }
#define SUM(name, lower)                                                                           \
    { name "(Any self, Any other, Scalar alpha=1)", lower, NULL }
#define DIV(name)                                                                                  \
    { name "(Any self, Any other, str? rounding_mode=None)", lower_div, NULL }
const onx_aten onx_aten_arithmetic[] = {
    SUM("add", lower_add),
    SUM("sub", lower_sub),
    SUM("subtract", lower_sub),
    SUM("rsub", lower_rsub),
    PAIR("mul", lower_mul),
    PAIR("multiply", lower_mul),
    PAIR("maximum", lower_maximum),
    {"max.other(Tensor self, Tensor other)", lower_maximum, NULL},
    {"min.other(Tensor self, Tensor other)", lower_minimum, NULL},
    PAIR("minimum", lower_minimum),
    PAIR("fmax", lower_fmax),
    PAIR("fmin", lower_fmin),
    DIV("div"),
    DIV("divide"),
    PAIR("true_divide", lower_true_divide),
    PAIR("floor_divide", lower_floor_divide),
    PAIR("fmod", lower_fmod),
    PAIR("remainder", lower_remainder),
    {"pow(Any self, Any exponent)", lower_pow, NULL},
    {"float_power(Any self, Any exponent)", lower_float_power, NULL},
    PAIR("ldexp", lower_ldexp),
    PAIR("atan2", lower_atan2),
    PAIR("arctan2", lower_atan2),
    PAIR("hypot", lower_hypot),
    PAIR("logaddexp", lower_logaddexp),
    PAIR("logaddexp2", lower_logaddexp2),
    PAIR("xlogy", lower_xlogy),
    PAIR("special_xlogy", lower_xlogy),
    PAIR("special_xlog1py", lower_xlog1py),
    PAIR("copysign", lower_copysign),
    {"lerp(Tensor self, Tensor end, Any weight)", lower_lerp, NULL},
    {"addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", lower_addcmul,
     NULL},
    {"addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", lower_addcdiv,
     NULL},
    {NULL, NULL, NULL},
};
