/* special.c: functions of one number that ONNX has no operator for, by approximations.
 *
 * All are computed in float64 and good to 1e-6 or better. Polynomials are one Pow and one MatMul,
 * series one Div and one ReduceSum, along an axis of their own. */
#include "export/aten/lowering.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ─ What they are made of ────────────────────────────────────────────────────────────────────── */

static onx_value *list_of(onx_export *x, size_t n, const double *v) {
    int64_t dim = (int64_t)n;
    return onx_x_constant(x, ONX_DTYPE_F64, 1, &dim, v, n * sizeof *v);
}

/* v[0] + v[1]·t + v[2]·t² … */
static onx_value *polynomial(onx_export *x, onx_value *t, size_t n, const double *v) {
    double powers[16] = {0};
    for (size_t i = 0; i < n && i < ONX_COUNT(powers); i++) powers[i] = (double)i;
    return onx_emit(x, "MatMul",
                    onx_emit(x, "Pow", onx_x_unsqueeze(x, t, -1), list_of(x, n, powers)),
                    list_of(x, n, v));
}

/* Sum of v[i]/(t + i)^power. */
static onx_value *series(onx_export *x, onx_value *t, size_t n, const double *v, double power) {
    double steps[16] = {0};
    int64_t last = -1;
    for (size_t i = 0; i < n && i < ONX_COUNT(steps); i++) steps[i] = (double)i;
    onx_value *below = onx_emit(x, "Add", onx_x_unsqueeze(x, t, -1), list_of(x, n, steps));
    if (power != 1) below = onx_emit_number(x, "Pow", below, power);
    return onx_x_reduce(x, "ReduceSum", onx_emit(x, "Div", list_of(x, n, v), below), 1, &last,
                        false);
}

static onx_value *number(onx_export *x, double v) {
    return onx_x_number(x, ONX_DTYPE_F64, v);
}
static onx_value *minus(onx_export *x, double a, onx_value *v) {
    return onx_emit(x, "Sub", number(x, a), v);
}
static onx_value *choose(onx_export *x, onx_value *is, onx_value *a, onx_value *b) {
    return onx_emit(x, "Where", is, a, b);
}
#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)

/* ─ The error function and what belongs to it ────────────────────────────────────────────────── */

/* Giles, "Approximating the erfinv function": one polynomial in the middle, one in the tails. */
static onx_value *erfinv(onx_export *x, onx_value *v) {
    static const double middle[] = {1.50140941,     0.246640727,    -0.00417768164,
                                    -0.00125372503, 0.000218580870, -4.39150654e-06,
                                    -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
    static const double tail[] = {2.83297682,    1.00167406,     0.00943887047,
                                  -0.0076224613, 0.00573950773,  -0.00367342844,
                                  0.00134934322, 0.000100950558, -0.000200214257};
    onx_value *w = F("Neg", F("Log", minus(x, 1, G("Mul", v, v))));
    onx_value *near = polynomial(x, N("Sub", w, 2.5), ONX_COUNT(middle), middle);
    onx_value *far = polynomial(x, N("Sub", F("Sqrt", w), 3), ONX_COUNT(tail), tail);
    onx_value *p = G("Mul", choose(x, N("Less", w, 5), near, far), v);
    return choose(x, N("Equal", F("Abs", v), 1), N("Mul", v, (double)INFINITY), p);
}

static onx_value *ndtri(onx_export *x, onx_value *v) {
    return N("Mul", erfinv(x, N("Sub", N("Mul", v, 2), 1)), sqrt(2));
}

/* exp(v²)·erfc(v) of v >= 0: t·exp(polynomial of t), t = 1/(1 + v/2). */
static onx_value *scaled_tail(onx_export *x, onx_value *v) {
    static const double p[] = {-1.26551223, 1.00002368,  0.37409196, 0.09678418,  -0.18628806,
                               0.27886807,  -1.13520398, 1.48851587, -0.82215223, 0.17087277};
    onx_value *t = F("Reciprocal", N("Add", N("Mul", v, 0.5), 1));
    return G("Mul", t, F("Exp", polynomial(x, t, ONX_COUNT(p), p)));
}

static onx_value *erfcx(onx_export *x, onx_value *v) {
    onx_value *tail = scaled_tail(x, F("Abs", v));
    onx_value *twice = N("Mul", F("Exp", G("Mul", v, v)), 2);
    return choose(x, N("Less", v, 0), G("Sub", twice, tail), tail);
}

/* log(erfc(-v/sqrt(2))/2) */
static onx_value *log_ndtr(onx_export *x, onx_value *v) {
    onx_value *z = N("Mul", F("Abs", v), sqrt(0.5)), *square = G("Mul", z, z);
    onx_value *tail = N("Mul", scaled_tail(x, z), 0.5);
    onx_value *below = G("Sub", F("Log", tail), square);
    onx_value *above = F("Log", minus(x, 1, G("Mul", tail, F("Exp", F("Neg", square)))));
    return choose(x, N("Less", v, 0), below, above);
}

static onx_value *entr(onx_export *x, onx_value *v) {
    onx_value *other = choose(x, N("Less", v, 0), number(x, -(double)INFINITY), number(x, 0));
    return choose(x, N("Greater", v, 0), F("Neg", G("Mul", v, F("Log", v))), other);
}

/* ─ The gamma function and its derivatives ───────────────────────────────────────────────────── */

/* Lanczos, g = 7; below 1/2 by reflection. */
static onx_value *lgamma_of(onx_export *x, onx_value *v) {
    static const double c[] = {676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                               -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                               9.9843695780195716e-6, 1.5056327351493116e-7};
    onx_value *is_low = N("Less", v, 0.5);
    onx_value *z = choose(x, is_low, minus(x, 1, v), v), *t = N("Add", z, 6.5);
    onx_value *sum = N("Add", series(x, z, ONX_COUNT(c), c, 1), 0.99999999999980993);
    onx_value *power = G("Mul", N("Sub", z, 0.5), F("Log", t));
    onx_value *high = G("Sub", G("Add", power, F("Log", sum)), N("Sub", t, 0.91893853320467274));
    onx_value *sine = F("Abs", F("Sin", N("Mul", v, pi)));
    onx_value *low = G("Sub", minus(x, log(pi), F("Log", sine)), high);
    onx_value *pole = G("And", N("LessOrEqual", v, 0), G("Equal", F("Floor", v), v));
    return choose(x, pole, number(x, (double)INFINITY), choose(x, is_low, low, high));
}

/* log(y) - 1/2y - 1/12y² + 1/120y⁴ - 1/252y⁶ at y = v + 8, and back; below 0 by reflection. */
static onx_value *digamma(onx_export *x, onx_value *v) {
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const double p[] = {0, 1.0 / 12, -1.0 / 120, 1.0 / 252};
    onx_value *is_low = N("Less", v, 0);
    onx_value *z = choose(x, is_low, minus(x, 1, v), v), *y = N("Add", z, 8);
    onx_value *square = F("Reciprocal", G("Mul", y, y));
    onx_value *high = G("Sub", F("Log", y), N("Mul", F("Reciprocal", y), 0.5));
    high = G("Sub", high, polynomial(x, square, ONX_COUNT(p), p));
    high = G("Sub", high, series(x, z, ONX_COUNT(ones), ones, 1));
    onx_value *turn = G("Div", number(x, pi), F("Tan", N("Mul", v, pi)));
    return choose(x, is_low, G("Sub", high, turn), high);
}

/* (-1)^(n + 1)·n!·(sum of 1/(v + k)^(n + 1)), the rest of the sum by Euler and Maclaurin. */
static onx_value *polygamma(onx_export *x, onx_value *v, int64_t n) {
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    double s = (double)n + 1, sign = n % 2 ? 1 : -1;
    onx_value *y = N("Add", v, (double)ONX_COUNT(ones));
    double terms[] = {1 / (s - 1), 0.5, s / 12, 0, -s * (s + 1) * (s + 2) / 720};
    onx_value *rest = polynomial(x, F("Reciprocal", y), ONX_COUNT(terms), terms);
    onx_value *sum =
        G("Add", series(x, v, ONX_COUNT(ones), ones, s), G("Mul", rest, N("Pow", y, 1 - s)));
    return N("Mul", sum, sign * tgamma(s));
}

/* ─ Modified Bessel functions ────────────────────────────────────────────────────────────────── */

/* Abramowitz and Stegun 9.8: a polynomial of (v/3.75)² in the middle, one of 3.75/|v| outside. */
static onx_value *bessel(onx_export *x, onx_value *v, const double middle[7], const double far[9],
                         bool scaled) {
    onx_value *size = F("Abs", v), *t = N("Div", v, 3.75), *e = F("Exp", size);
    onx_value *near = polynomial(x, G("Mul", t, t), 7, middle);
    onx_value *u = F("Reciprocal", N("Max", F("Abs", t), 1));
    onx_value *out = G("Div", polynomial(x, u, 9, far), F("Sqrt", size));
    if (scaled)
        near = G("Div", near, e);
    else
        out = G("Mul", out, e);
    return choose(x, N("Less", size, 3.75), near, out);
}

static onx_value *bessel_0(onx_export *x, onx_value *v, bool scaled) {
    static const double middle[] = {1,         3.5156229, 3.0899424, 1.2067492,
                                    0.2659732, 0.0360768, 0.0045813};
    static const double far[] = {0.39894228,  0.01328592, 0.00225319,  -0.00157565, 0.00916281,
                                 -0.02057706, 0.02635537, -0.01647633, 0.00392377};
    return bessel(x, v, middle, far, scaled);
}

/* Odd: far out the sign is that of v, in the middle the polynomial is times v. */
static onx_value *bessel_1(onx_export *x, onx_value *v, bool scaled) {
    static const double middle[] = {0.5,        0.87890594, 0.51498869, 0.15084934,
                                    0.02658733, 0.00301532, 0.00032411};
    static const double far[] = {0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555,
                                 0.02282967, -0.02895312, 0.01787654,  -0.00420059};
    onx_value *factor = choose(x, N("Less", F("Abs", v), 3.75), v, F("Sign", v));
    return G("Mul", bessel(x, v, middle, far, scaled), factor);
}

static onx_value *i0(onx_export *x, onx_value *v) {
    return bessel_0(x, v, false);
}
static onx_value *i0e(onx_export *x, onx_value *v) {
    return bessel_0(x, v, true);
}
static onx_value *i1(onx_export *x, onx_value *v) {
    return bessel_1(x, v, false);
}
static onx_value *i1e(onx_export *x, onx_value *v) {
    return bessel_1(x, v, true);
}

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

static const struct function {
    const char *aten;
    onx_value *(*f)(onx_export *x, onx_value *v);
} functions[] = {
    {"erfinv", erfinv},
    {"special_erfinv", erfinv},
    {"special_ndtri", ndtri},
    {"special_erfcx", erfcx},
    {"special_log_ndtr", log_ndtr},
    {"special_entr", entr},
    {"lgamma", lgamma_of},
    {"special_gammaln", lgamma_of},
    {"digamma", digamma},
    {"special_digamma", digamma},
    {"special_psi", digamma},
    {"i0", i0},
    {"special_i0", i0},
    {"special_i0e", i0e},
    {"special_i1", i1},
    {"special_i1e", i1e},
    {"special_modified_bessel_i0", i0},
    {"special_modified_bessel_i1", i1},
};

/* In float64, and back to the type that it came from; integers become float32. */
static void give(onx_export *x, const onx_xv *a, onx_value *(*f)(onx_export *x, onx_value *v),
                 int64_t n, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    if (!v) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    v = onx_x_cast(x, v, ONX_DTYPE_F64);
    onx_x_give(x, out, onx_x_cast(x, f ? f(x, v) : polygamma(x, v, n), dtype));
}

static void lower_function(onx_export *x, const onx_xv *a, onx_xv *out) {
    const struct function *f = functions;
    while (f < functions + ONX_COUNT(functions) - 1 && !onx_str_is(onx_x_op(x), f->aten)) f++;
    give(x, a, f->f, 0, out);
}

static void lower_polygamma(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t n = onx_xv_whole(x, &a[0], 0);
    if (n < 0 || n > 100)
        onx_x_fail(x, ONX_INVALID, "derivative number %lld of digamma", (long long)n);
    else
        give(x, &a[1], n ? NULL : digamma, n, out);
}

/* Sum of lgamma(v - i/2), i below p, and p(p - 1)/4·log(pi). */
static void lower_mvlgamma(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t p = onx_xv_whole(x, &a[1], 1);
    onx_value *v = onx_x_floating(x, a);
    if (!v) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *wide = onx_x_cast(x, v, ONX_DTYPE_F64);
    onx_value *sum = number(x, (double)(p * (p - 1)) / 4 * log(pi));
    for (int64_t i = 0; i < p && i < 64 && onx_x_ok(x); i++)
        sum = G("Add", sum, lgamma_of(x, i ? N("Sub", wide, (double)i / 2) : wide));
    onx_x_give(x, out, onx_x_cast(x, sum, dtype));
}

#define FUNCTION(name)                                                                             \
    { name "(Tensor self)", lower_function, NULL }
const onx_aten onx_aten_special[] = {
    FUNCTION("erfinv"),
    FUNCTION("special_erfinv"),
    FUNCTION("special_ndtri"),
    FUNCTION("special_erfcx"),
    FUNCTION("special_log_ndtr"),
    FUNCTION("special_entr"),
    FUNCTION("lgamma"),
    FUNCTION("special_gammaln"),
    FUNCTION("digamma"),
    FUNCTION("special_digamma"),
    FUNCTION("special_psi"),
    FUNCTION("i0"),
    FUNCTION("special_i0"),
    FUNCTION("special_i0e"),
    FUNCTION("special_i1"),
    FUNCTION("special_i1e"),
    FUNCTION("special_modified_bessel_i0"),
    FUNCTION("special_modified_bessel_i1"),
    {"mvlgamma(Tensor self, int p)", lower_mvlgamma, NULL},
    {"special_multigammaln(Tensor self, int p)", lower_mvlgamma, NULL},
    {"polygamma(int n, Tensor self)", lower_polygamma, NULL},
    {"special_polygamma(int n, Tensor self)", lower_polygamma, NULL},
    {NULL, NULL, NULL},
};
