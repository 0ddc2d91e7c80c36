/* complex.c: complex numbers: a complex tensor is a real value with a last axis of 2. */
#include "export/aten/lowering.h"

onx_dtype onx_complex_part(onx_dtype dtype) {
    return dtype == ONX_DTYPE_C128 || dtype == ONX_DTYPE_F64 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
}

onx_dtype onx_complex_of(onx_dtype part) {
    return part == ONX_DTYPE_F64 ? ONX_DTYPE_C128 : ONX_DTYPE_C64;
}

onx_xv onx_xv_complex(onx_export *x, onx_value *pairs) {
    onx_xv v = onx_xv_tensor(x, pairs);
    if (v.kind == ONX_X_TENSOR) v.tensor->dtype = onx_complex_of(onx_x_dtype(x, pairs));
    return v;
}

onx_value *onx_complex_re(onx_export *x, onx_value *pairs) {
    return onx_x_pick(x, pairs, -1, 0);
}

onx_value *onx_complex_im(onx_export *x, onx_value *pairs) {
    return onx_x_pick(x, pairs, -1, 1);
}

onx_value *onx_complex_pair(onx_export *x, onx_value *re, onx_value *im) {
    onx_value *both[2] = {onx_x_unsqueeze(x, re, -1), onx_x_unsqueeze(x, im, -1)};
    return onx_x_ok(x) ? onx_x_concat(x, 2, both, -1) : NULL;
}

/* Times (re, im), each part by itself. */
static onx_value *times(onx_export *x, onx_value *pairs, double re, double im) {
    int64_t two = 2;
    double f64[2] = {re, im};
    float f32[2] = {(float)re, (float)im};
    if (!pairs) return NULL;
    bool is_double = onx_x_dtype(x, pairs) == ONX_DTYPE_F64;
    onx_value *pair = is_double ? onx_x_constant(x, ONX_DTYPE_F64, 1, &two, f64, sizeof f64)
                                : onx_x_constant(x, ONX_DTYPE_F32, 1, &two, f32, sizeof f32);
    return onx_emit(x, "Mul", pairs, pair);
}

/* ─ Arithmetic ───────────────────────────────────────────────────────────────────────────────── */

/* As a real number with an axis more, or as pairs, of that type of parts. */
static onx_value *operand(onx_export *x, const onx_xv *v, onx_dtype part) {
    if (v->kind == ONX_X_COMPLEX)
        return onx_complex_pair(x, onx_x_number(x, part, v->f), onx_x_number(x, part, v->im));
    onx_value *value = onx_x_as(x, v, part);
    return onx_xv_is_complex(v) ? value : onx_x_unsqueeze(x, value, -1);
}

onx_value *onx_complex_pairs(onx_export *x, const onx_xv *v, onx_dtype part) {
    onx_value *value = operand(x, v, part);
    return onx_xv_is_complex(v) ? value : times(x, value, 1, 0);
}

onx_value *onx_complex_mul(onx_export *x, onx_value *a, onx_value *b) {
    onx_value *ar = onx_complex_re(x, a), *ai = onx_complex_im(x, a);
    onx_value *br = onx_complex_re(x, b), *bi = onx_complex_im(x, b);
    onx_value *re = onx_emit(x, "Sub", onx_emit(x, "Mul", ar, br), onx_emit(x, "Mul", ai, bi));
    onx_value *im = onx_emit(x, "Add", onx_emit(x, "Mul", ar, bi), onx_emit(x, "Mul", ai, br));
    return onx_complex_pair(x, re, im);
}

static onx_value *size_squared(onx_export *x, onx_value *pairs) {
    int64_t last = -1;
    return onx_x_reduce(x, "ReduceSumSquare", pairs, 1, &last, true);
}

/* a/b = a·conj(b)/|b|² */
static onx_value *divide(onx_export *x, onx_value *a, bool a_pairs, onx_value *b) {
    onx_value *conj = times(x, b, 1, -1);
    onx_value *top = a_pairs ? onx_complex_mul(x, a, conj) : onx_emit(x, "Mul", a, conj);
    return onx_emit(x, "Div", top, size_squared(x, b));
}

onx_value *onx_complex_binary(onx_export *x, const char *op, const onx_xv *a, const onx_xv *b) {
    onx_xv both[2] = {*a, *b};
    onx_dtype part = onx_complex_part(onx_x_promote(x, 2, both));
    bool a_pairs = onx_xv_is_complex(a), b_pairs = onx_xv_is_complex(b);
    onx_value *va = operand(x, a, part), *vb = operand(x, b, part);
    if (!onx_x_ok(x)) return NULL;
    if (strcmp(op, "Mul") == 0 && a_pairs && b_pairs) return onx_complex_mul(x, va, vb);
    if (strcmp(op, "Div") == 0 && b_pairs) return divide(x, va, a_pairs, vb);
    if (strcmp(op, "Add") == 0 || strcmp(op, "Sub") == 0) {
        va = onx_complex_pairs(x, a, part);
        vb = onx_complex_pairs(x, b, part);
    } else if (strcmp(op, "Mul") != 0 && strcmp(op, "Div") != 0) {
        return onx_x_fail(x, ONX_UNSUPPORTED, "%s of complex numbers", op);
    }
    return onx_emit(x, op, va, vb);
}

/* ─ Functions ────────────────────────────────────────────────────────────────────────────────── */

static onx_value *size_of(onx_export *x, onx_value *pairs) {
    int64_t last = -1;
    return onx_x_reduce(x, "ReduceL2", pairs, 1, &last, false);
}

static onx_value *angle_of(onx_export *x, onx_value *pairs) {
    return onx_x_atan2(x, onx_complex_im(x, pairs), onx_complex_re(x, pairs));
}

static onx_value *turned(onx_export *x, onx_value *size, onx_value *angle) {
    return onx_complex_pair(x, onx_emit(x, "Mul", size, onx_emit_wide(x, "Cos", angle)),
                            onx_emit(x, "Mul", size, onx_emit_wide(x, "Sin", angle)));
}

static onx_value *exp_of(onx_export *x, onx_value *pairs) {
    return turned(x, onx_emit(x, "Exp", onx_complex_re(x, pairs)), onx_complex_im(x, pairs));
}

static onx_value *log_of(onx_export *x, onx_value *pairs) {
    return onx_complex_pair(x, onx_emit(x, "Log", size_of(x, pairs)), angle_of(x, pairs));
}

static onx_value *sqrt_of(onx_export *x, onx_value *pairs) {
    onx_value *half = onx_emit_number(x, "Mul", angle_of(x, pairs), 0.5);
    return turned(x, onx_emit(x, "Sqrt", size_of(x, pairs)), half);
}

static onx_value *neg_of(onx_export *x, onx_value *pairs) {
    return onx_emit(x, "Neg", pairs);
}

static onx_value *sign_of(onx_export *x, onx_value *pairs) {
    onx_value *size = onx_x_unsqueeze(x, size_of(x, pairs), -1);
    onx_value *none = size ? onx_emit_number(x, "Equal", size, 0) : NULL;
    return onx_emit(x, "Where", none, pairs, onx_emit(x, "Div", pairs, size));
}

static onx_value *reciprocal_of(onx_export *x, onx_value *pairs) {
    return onx_emit(x, "Div", times(x, pairs, 1, -1), size_squared(x, pairs));
}

static onx_value *square_of(onx_export *x, onx_value *pairs) {
    return onx_complex_mul(x, pairs, pairs);
}

static onx_value *rsqrt_of(onx_export *x, onx_value *pairs) {
    return reciprocal_of(x, sqrt_of(x, pairs));
}

/* f(re)·cosh(im) + i·g(re)·sinh(im), and what is like it: four functions of the two parts. */
static onx_value *wave(onx_export *x, onx_value *pairs, const char *const f[4], double sign) {
    onx_value *part[4];
    for (size_t i = 0; i < 4; i++)
        part[i] =
            onx_emit_wide(x, f[i], i % 2 ? onx_complex_im(x, pairs) : onx_complex_re(x, pairs));
    onx_value *im = onx_emit(x, "Mul", part[2], part[3]);
    if (sign < 0) im = onx_emit(x, "Neg", im);
    return onx_complex_pair(x, onx_emit(x, "Mul", part[0], part[1]), im);
}
static onx_value *sin_of(onx_export *x, onx_value *pairs) {
    return wave(x, pairs, (const char *const[]){"Sin", "Cosh", "Cos", "Sinh"}, 1);
}
static onx_value *cos_of(onx_export *x, onx_value *pairs) {
    return wave(x, pairs, (const char *const[]){"Cos", "Cosh", "Sin", "Sinh"}, -1);
}
static onx_value *sinh_of(onx_export *x, onx_value *pairs) {
    return wave(x, pairs, (const char *const[]){"Sinh", "Cos", "Cosh", "Sin"}, 1);
}
static onx_value *cosh_of(onx_export *x, onx_value *pairs) {
    return wave(x, pairs, (const char *const[]){"Cosh", "Cos", "Sinh", "Sin"}, 1);
}
static onx_value *tan_of(onx_export *x, onx_value *pairs) {
    return divide(x, sin_of(x, pairs), true, cos_of(x, pairs));
}
static onx_value *tanh_of(onx_export *x, onx_value *pairs) {
    return divide(x, sinh_of(x, pairs), true, cosh_of(x, pairs));
}

/* Is either part so? */
static onx_value *any_part(onx_export *x, const char *op, onx_value *pairs) {
    onx_value *is = onx_emit_wide(x, op, pairs);
    return onx_emit(x, "Or", onx_complex_re(x, is), onx_complex_im(x, is));
}
static onx_value *is_nan(onx_export *x, onx_value *pairs) {
    return any_part(x, "IsNaN", pairs);
}
static onx_value *is_inf(onx_export *x, onx_value *pairs) {
    return any_part(x, "IsInf", pairs);
}
static onx_value *is_finite(onx_export *x, onx_value *pairs) {
    return onx_emit(x, "Not", onx_emit(x, "Or", is_nan(x, pairs), is_inf(x, pairs)));
}

static const struct {
    const char *aten;
    onx_value *(*f)(onx_export *x, onx_value *pairs);
    bool real; /* the result */
} functions[] = {
    {"abs", size_of, true},
    {"absolute", size_of, true},
    {"exp", exp_of, false},
    {"log", log_of, false},
    {"sqrt", sqrt_of, false},
    {"neg", neg_of, false},
    {"negative", neg_of, false},
    {"sgn", sign_of, false},
    {"reciprocal", reciprocal_of, false},
    {"square", square_of, false},
    {"rsqrt", rsqrt_of, false},
    {"sin", sin_of, false},
    {"cos", cos_of, false},
    {"tan", tan_of, false},
    {"sinh", sinh_of, false},
    {"cosh", cosh_of, false},
    {"tanh", tanh_of, false},
    {"isnan", is_nan, true},
    {"isinf", is_inf, true},
    {"isfinite", is_finite, true},
};

bool onx_complex_has(onx_str op) {
    for (size_t i = 0; i < ONX_COUNT(functions); i++)
        if (onx_str_is(op, functions[i].aten)) return true;
    return false;
}

void onx_complex_unary(onx_export *x, onx_str op, const onx_xv *a, onx_xv *out) {
    for (size_t i = 0; i < ONX_COUNT(functions); i++)
        if (onx_str_is(op, functions[i].aten)) {
            onx_value *v = functions[i].f(x, onx_xv_value(x, a));
            *out = functions[i].real ? onx_xv_tensor(x, v) : onx_xv_complex(x, v);
            return;
        }
    onx_x_fail(x, ONX_UNSUPPORTED, "%.*s of complex numbers", ONX_FMT(op));
}

static void lower_angle(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    if (onx_xv_is_complex(a)) {
        onx_x_give(x, out, angle_of(x, v));
        return;
    }
    v = onx_x_floating(x, a);
    if (!v) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_x_give(x, out,
               onx_emit(x, "Where", onx_emit_number(x, "Less", v, 0),
                        onx_x_number(x, dtype, 3.14159265358979323846),
                        onx_emit_number(x, "Mul", v, 0)));
}

static void lower_conj(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (onx_xv_is_complex(a))
        *out = onx_xv_complex(x, times(x, onx_xv_value(x, a), 1, -1));
    else
        *out = a[0];
}

/* ─ Parts ────────────────────────────────────────────────────────────────────────────────────── */

static void lower_real(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (onx_xv_is_complex(a))
        onx_x_give(x, out, onx_complex_re(x, onx_xv_value(x, a)));
    else
        *out = a[0];
}

static void lower_imag(onx_export *x, const onx_xv *a, onx_xv *out) {
    if (onx_xv_is_complex(a))
        onx_x_give(x, out, onx_complex_im(x, onx_xv_value(x, a)));
    else
        onx_x_fail(x, ONX_INVALID, "imag of a tensor that is not complex");
}

static onx_value *unview_real(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                              onx_value *part) {
    (void)a, (void)index;
    return onx_complex_pair(x, part, onx_complex_im(x, base));
}

static onx_value *unview_imag(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                              onx_value *part) {
    (void)a, (void)index;
    return onx_complex_pair(x, onx_complex_re(x, base), part);
}

static void lower_as_real(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_xv_value(x, a));
}

static void lower_as_complex(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_complex(x, onx_xv_value(x, a));
}

static onx_value *unview_whole(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                               onx_value *part) {
    (void)x, (void)a, (void)index, (void)base;
    return part;
}

static void lower_complex(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *re, *im;
    if (onx_x_pair(x, &a[0], &a[1], &re, &im))
        *out = onx_xv_complex(x, onx_complex_pair(x, re, im));
}

static void lower_polar(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *size, *angle;
    if (onx_x_pair(x, &a[0], &a[1], &size, &angle))
        *out = onx_xv_complex(x, turned(x, size, angle));
}

const onx_aten onx_aten_complex[] = {
    {"angle(Tensor self)", lower_angle, NULL},
    {"conj(Tensor self)", lower_conj, NULL},
    {"_conj(Tensor self)", lower_conj, NULL},
    {"conj_physical(Tensor self)", lower_conj, NULL},
    {"_conj_physical(Tensor self)", lower_conj, NULL},
    {"real(Tensor self)", lower_real, unview_real},
    {"imag(Tensor self)", lower_imag, unview_imag},
    {"view_as_real(Tensor self)", lower_as_real, unview_whole},
    {"view_as_complex(Tensor self)", lower_as_complex, unview_whole},
    {"view_as_real_copy(Tensor self)", lower_as_real, NULL},
    {"view_as_complex_copy(Tensor self)", lower_as_complex, NULL},
    {"complex(Tensor real, Tensor imag)", lower_complex, NULL},
    {"polar(Tensor abs, Tensor angle)", lower_polar, NULL},
    {NULL, NULL, NULL},
};
