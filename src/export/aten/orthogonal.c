/* orthogonal.c: polynomials by the recurrence of three, and functions that are sums and integrals:
 * zeta, incomplete gamma, Bessel. All are computed in float64. */
#include "export/aten/lowering.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)
#define WHERE(is, a, b) onx_emit(x, "Where", is, a, b)

static onx_value *number(onx_export *x, double v) {
    return onx_x_number(x, ONX_DTYPE_F64, v);
}

/* Two arguments as float64; the float type of the result is returned. */
static onx_dtype take_two(onx_export *x, const onx_xv *a, onx_value *v[2]) {
    onx_dtype dtype = onx_x_promote(x, 2, a);
    for (size_t i = 0; i < 2; i++) v[i] = onx_x_as(x, &a[i], ONX_DTYPE_F64);
    if (!onx_x_ok(x)) return ONX_DTYPE_NONE;
    return onx_dtype_is_float(dtype) ? dtype : ONX_DTYPE_F32;
}

/* ─ Polynomials ──────────────────────────────────────────────────────────────────────────────── */

/* P0 = 1, P1 = a·x + b, Pk+1 = ((A + A'k)x + B + B'k)Pk - (C + C'k)Pk-1, over k + 1 where `over`.
 * Shifted ones are those of 2x - 1. */
static const struct recurrence {
    const char *name;
    double a, b, A[2], B[2], C[2];
    bool over;
} recurrences[] = {
    {"chebyshev_polynomial_t", 1, 0, {2, 0}, {0, 0}, {1, 0}, false},
    {"chebyshev_polynomial_u", 2, 0, {2, 0}, {0, 0}, {1, 0}, false},
    {"chebyshev_polynomial_v", 2, -1, {2, 0}, {0, 0}, {1, 0}, false},
    {"chebyshev_polynomial_w", 2, 1, {2, 0}, {0, 0}, {1, 0}, false},
    {"hermite_polynomial_h", 2, 0, {2, 0}, {0, 0}, {0, 2}, false},
    {"hermite_polynomial_he", 1, 0, {1, 0}, {0, 0}, {0, 1}, false},
    {"laguerre_polynomial_l", -1, 1, {-1, 0}, {1, 2}, {0, 1}, true},
    {"legendre_polynomial_p", 1, 0, {1, 2}, {0, 0}, {0, 1}, true},
};

struct polynomial {
    const struct recurrence *r;
    onx_value *t, *n; /* at which place, of which degree */
};

static onx_value *term(onx_export *x, const double of[2], onx_value *k) {
    return of[1] != 0 ? N("Add", N("Mul", k, of[1]), of[0]) : number(x, of[0]);
}

/* (Pk, Pk+1, result): it is Pk where the degree is k. */
static onx_value *polynomial_turn(onx_export *x, const void *user, onx_value *turn, onx_value **v) {
    const struct polynomial *p = user;
    onx_value *degree = onx_x_cast(x, turn, ONX_DTYPE_F64), *k = N("Add", degree, 1);
    v[2] = WHERE(G("Equal", p->n, degree), v[0], v[2]);
    onx_value *factor = G("Add", G("Mul", term(x, p->r->A, k), p->t), term(x, p->r->B, k));
    onx_value *next = G("Sub", G("Mul", factor, v[1]), G("Mul", term(x, p->r->C, k), v[0]));
    v[0] = v[1];
    v[1] = p->r->over ? G("Div", next, N("Add", k, 1)) : next;
    return NULL;
}

static void lower_polynomial(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const char special[] = "special_", shifted[] = "shifted_";
    onx_str name = onx_x_op(x);
    onx_value *in[2];
    onx_dtype dtype = take_two(x, a, in);
    const struct recurrence *r = recurrences;
    if (!dtype) return;
    name = (onx_str){name.data + strlen(special), name.size - strlen(special)};
    bool is_shifted = name.size > strlen(shifted) && !memcmp(name.data, shifted, strlen(shifted));
    if (is_shifted) name = (onx_str){name.data + strlen(shifted), name.size - strlen(shifted)};
    while (r < recurrences + ONX_COUNT(recurrences) - 1 && !onx_str_is(name, r->name)) r++;
    onx_value *t = is_shifted ? N("Sub", N("Mul", in[0], 2), 1) : in[0];
    onx_value *n = N("Max", F("Floor", in[1]), 0);
    struct polynomial p = {r, t, n};
    onx_value *none = N("Mul", G("Add", t, n), 0);
    onx_value *first = N("Add", N("Mul", t, r->a), r->b);
    onx_value *v[] = {N("Add", none, 1), G("Add", none, first), none};
    onx_value *turns = N("Add", onx_x_reduce(x, "ReduceMax", n, 0, NULL, false), 1);
    onx_xv trips = onx_xv_run(ONX_X_INT, onx_x_cast(x, turns, ONX_DTYPE_I64));
    if (onx_x_ok(x) && onx_x_repeat(x, trips, polynomial_turn, &p, 3, v))
        onx_x_give(x, out, onx_x_cast(x, v[2], dtype));
}

/* ─ Sums ─────────────────────────────────────────────────────────────────────────────────────── */

static onx_value *steps(onx_export *x, int64_t n) {
    onx_xv count = onx_xv_int(x, n);
    return onx_x_cast(x, onx_x_count(x, &count), ONX_DTYPE_F64);
}
static onx_value *sum_last(onx_export *x, onx_value *v) {
    int64_t last = -1;
    return onx_x_reduce(x, "ReduceSum", v, 1, &last, false);
}

/* Sum of 1/(q + k)^s: twelve terms, and the rest by Euler and Maclaurin at y = q + 12. */
static void lower_zeta(onx_export *x, const onx_xv *a, onx_xv *out) {
    enum { TERMS = 12 };
    onx_value *v[2];
    onx_dtype dtype = take_two(x, a, v);
    if (!dtype) return;
    onx_value *s = v[0], *power = F("Neg", s), *y = N("Add", v[1], TERMS);
    onx_value *at = G("Add", onx_x_unsqueeze(x, v[1], -1), steps(x, TERMS));
    onx_value *sum = sum_last(x, G("Pow", at, onx_x_unsqueeze(x, power, -1)));
    onx_value *rest = G("Add", G("Div", y, N("Sub", s, 1)), number(x, 0.5));
    onx_value *factor = s, *over = y, *square = G("Mul", y, y);
    static const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600};
    for (int k = 0; k < (int)ONX_COUNT(bernoulli) && onx_x_ok(x); k++) {
        rest = G("Add", rest, N("Mul", G("Div", factor, over), bernoulli[k]));
        factor = G("Mul", factor, G("Mul", N("Add", s, 2 * k + 1), N("Add", s, 2 * k + 2)));
        over = G("Mul", over, square);
    }
    sum = G("Add", sum, G("Mul", rest, G("Pow", y, power)));
    sum = WHERE(N("Equal", s, 1), number(x, (double)INFINITY), sum);
    sum = WHERE(N("Less", s, 1), number(x, (double)NAN), sum);
    onx_x_give(x, out, onx_x_cast(x, sum, dtype));
}

struct gamma {
    onx_value *a, *t;
};

/* (term, sum) of t^k/(a(a + 1)…(a + k)), until no term counts any more. */
static onx_value *gamma_turn(onx_export *x, const void *user, onx_value *turn, onx_value **v) {
    const struct gamma *g = user;
    onx_value *k = N("Add", onx_x_cast(x, turn, ONX_DTYPE_F64), 1);
    v[0] = G("Mul", v[0], G("Div", g->t, G("Add", g->a, k)));
    v[1] = G("Add", v[1], v[0]);
    onx_value *counts = G("Greater", v[0], N("Mul", v[1], 1e-17));
    onx_value *any =
        onx_x_reduce(x, "ReduceMax", onx_x_cast(x, counts, ONX_DTYPE_I32), 0, NULL, false);
    return onx_x_cast(x, any, ONX_DTYPE_BOOL);
}

/* P(a, t) = t^a·e^-t/Γ(a) times that sum; far above a it is 1. */
static onx_value *lower_part(onx_export *x, onx_value *a, onx_value *t) {
    enum { TURNS = 20000 };
    onx_value *far = G("Greater", t, N("Add", N("Mul", a, 2), 200));
    t = WHERE(far, number(x, 0), t);
    struct gamma g = {a, t};
    onx_value *none = N("Mul", G("Add", a, t), 0), *first = G("Add", none, F("Reciprocal", a));
    onx_value *v[] = {first, first};
    if (!onx_x_ok(x) || !onx_x_repeat(x, onx_xv_int(x, TURNS), gamma_turn, &g, 2, v)) return NULL;
    onx_xv whole = onx_xv_tensor(x, a), size = onx_aten_do(x, "lgamma", 1, &whole);
    if (!onx_x_ok(x)) return NULL;
    onx_value *log = G("Sub", G("Mul", a, F("Log", t)), G("Add", t, onx_xv_value(x, &size)));
    onx_value *p = WHERE(N("Equal", t, 0), number(x, 0), G("Mul", F("Exp", log), v[1]));
    p = WHERE(N("Equal", a, 0), number(x, 1), p);
    return WHERE(far, number(x, 1), p);
}
static void lower_igamma(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = take_two(x, a, v);
    if (dtype) onx_x_give(x, out, onx_x_cast(x, lower_part(x, v[0], v[1]), dtype));
}
static void lower_igammac(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    onx_dtype dtype = take_two(x, a, v);
    if (!dtype) return;
    onx_value *p = lower_part(x, v[0], v[1]);
    onx_x_give(x, out, onx_x_cast(x, G("Sub", number(x, 1), p), dtype));
}

/* ─ Integrals: of smooth functions sums of a few places are as good ──────────────────────────── */

/* J of order n: the mean of cos(nθ - t·sin(θ)), θ up to π; from 25 on by Hankel's expansion. */
static onx_value *bessel_j(onx_export *x, onx_value *t, int n) {
    enum { PLACES = 48 };
    double mu = 4.0 * n * n;
    onx_value *angle = N("Mul", N("Add", steps(x, PLACES), 0.5), pi / PLACES);
    onx_value *phase = G("Mul", onx_x_unsqueeze(x, t, -1), F("Sin", angle));
    phase = G("Sub", N("Mul", angle, n), phase);
    onx_value *near = N("Mul", sum_last(x, F("Cos", phase)), 1.0 / PLACES);
    onx_value *size = F("Abs", t), *z = F("Reciprocal", N("Mul", N("Max", size, 1), 8));
    onx_value *square = G("Mul", z, z);
    double p1 = -(mu - 1) * (mu - 9) / 2, p2 = -p1 * (mu - 25) * (mu - 49) / 12;
    double q1 = mu - 1, q2 = -(mu - 1) * (mu - 9) * (mu - 25) / 6;
    onx_value *p = N("Add", G("Mul", square, N("Add", N("Mul", square, p2), p1)), 1);
    onx_value *q = G("Mul", z, N("Add", N("Mul", square, q2), q1));
    onx_value *chi = N("Sub", size, (0.5 * n + 0.25) * pi);
    onx_value *wave = G("Sub", G("Mul", p, F("Cos", chi)), G("Mul", q, F("Sin", chi)));
    onx_value *far = G("Mul", wave, F("Sqrt", G("Div", number(x, 2 / pi), N("Max", size, 1))));
    if (n % 2) far = G("Mul", far, F("Sign", t));
    return WHERE(N("Less", size, 25), near, far);
}

/* K of order n, times e^t: the integral of exp(-t(cosh(u) - 1))·cosh(nu) up to where that is
 * e^-40. */
static onx_value *bessel_k(onx_export *x, onx_value *t, int n) {
    enum { PLACES = 96 };
    onx_value *end = F("Acosh", N("Add", G("Div", number(x, 40), t), 1));
    onx_value *step = N("Mul", end, 1.0 / PLACES);
    onx_value *u = G("Mul", onx_x_unsqueeze(x, step, -1), steps(x, PLACES));
    onx_value *cosh = F("Cosh", u);
    onx_value *power = G("Mul", onx_x_unsqueeze(x, F("Neg", t), -1), N("Sub", cosh, 1));
    onx_value *f = F("Exp", power);
    if (n) f = G("Mul", f, cosh);
    return G("Mul", step, N("Sub", sum_last(x, f), 0.5));
}

static onx_value *j0(onx_export *x, onx_value *t) {
    return bessel_j(x, t, 0);
}
static onx_value *j1(onx_export *x, onx_value *t) {
    return bessel_j(x, t, 1);
}
static onx_value *k0e(onx_export *x, onx_value *t) {
    return bessel_k(x, t, 0);
}
static onx_value *k1e(onx_export *x, onx_value *t) {
    return bessel_k(x, t, 1);
}
static onx_value *k0(onx_export *x, onx_value *t) {
    return G("Mul", k0e(x, t), F("Exp", F("Neg", t)));
}
static onx_value *k1(onx_export *x, onx_value *t) {
    return G("Mul", k1e(x, t), F("Exp", F("Neg", t)));
}
static onx_value *spherical_j0(onx_export *x, onx_value *t) {
    onx_value *none = N("Equal", t, 0), *safe = WHERE(none, number(x, 1), t);
    return WHERE(none, number(x, 1), G("Div", F("Sin", safe), safe));
}

static const struct function {
    const char *aten;
    onx_value *(*f)(onx_export *x, onx_value *t);
} functions[] = {
    {"special_bessel_j0", j0},
    {"special_bessel_j1", j1},
    {"special_modified_bessel_k0", k0},
    {"special_modified_bessel_k1", k1},
    {"special_scaled_modified_bessel_k0", k0e},
    {"special_scaled_modified_bessel_k1", k1e},
    {"special_spherical_bessel_j0", spherical_j0},
};

static void lower_function(onx_export *x, const onx_xv *a, onx_xv *out) {
    const struct function *f = functions;
    while (f < functions + ONX_COUNT(functions) - 1 && !onx_str_is(onx_x_op(x), f->aten)) f++;
    onx_value *v = onx_x_floating(x, a);
    if (!v) return;
    onx_value *y = f->f(x, onx_x_cast(x, v, ONX_DTYPE_F64));
    onx_x_give(x, out, onx_x_cast(x, y, onx_x_dtype(x, v)));
}

#define POLYNOMIAL(name)                                                                           \
    { "special_" name "(Any x, Any n)", lower_polynomial, NULL }
#define PAIR(name, lower)                                                                          \
    { name "(Any self, Any other)", lower, NULL }
const onx_aten onx_aten_orthogonal[] = {
    POLYNOMIAL("chebyshev_polynomial_t"),
    POLYNOMIAL("chebyshev_polynomial_u"),
    POLYNOMIAL("chebyshev_polynomial_v"),
    POLYNOMIAL("chebyshev_polynomial_w"),
    POLYNOMIAL("shifted_chebyshev_polynomial_t"),
    POLYNOMIAL("shifted_chebyshev_polynomial_u"),
    POLYNOMIAL("shifted_chebyshev_polynomial_v"),
    POLYNOMIAL("shifted_chebyshev_polynomial_w"),
    POLYNOMIAL("hermite_polynomial_h"),
    POLYNOMIAL("hermite_polynomial_he"),
    POLYNOMIAL("laguerre_polynomial_l"),
    POLYNOMIAL("legendre_polynomial_p"),
    PAIR("special_zeta", lower_zeta),
    PAIR("igamma", lower_igamma),
    PAIR("igammac", lower_igammac),
    PAIR("special_gammainc", lower_igamma),
    PAIR("special_gammaincc", lower_igammac),
    {"special_bessel_j0(Tensor self)", lower_function, NULL},
    {"special_bessel_j1(Tensor self)", lower_function, NULL},
    {"special_modified_bessel_k0(Tensor self)", lower_function, NULL},
    {"special_modified_bessel_k1(Tensor self)", lower_function, NULL},
    {"special_scaled_modified_bessel_k0(Tensor x)", lower_function, NULL},
    {"special_scaled_modified_bessel_k1(Tensor x)", lower_function, NULL},
    {"special_spherical_bessel_j0(Tensor x)", lower_function, NULL},
    {NULL, NULL, NULL},
};
