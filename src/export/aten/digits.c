/* digits.c: how numbers are made: common divisors of integers, mantissas and exponents of floats,
 * and their neighbours. */
#include "export/aten/lowering.h"

#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)
#define WHERE(is, a, b) onx_emit(x, "Where", is, a, b)

/* ─ Common divisors ──────────────────────────────────────────────────────────────────────────── */

/* (a, b): Euclid's algorithm, until all b are 0. */
static onx_value *euclid_turn(onx_export *x, const void *user, onx_value *turn, onx_value **v) {
    (void)user, (void)turn;
    onx_value *none = N("Equal", v[1], 0), *one = onx_x_int(x, 1);
    onx_value *rest = G("Mod", v[0], WHERE(none, one, v[1]));
    v[0] = WHERE(none, v[0], v[1]);
    v[1] = WHERE(none, v[1], rest);
    return onx_x_cast(x, onx_x_reduce(x, "ReduceSum", F("Sign", v[1]), 0, NULL, false),
                      ONX_DTYPE_BOOL);
}

/* |a|, |b| and their divisor, as int64; the type that they promote to is returned. */
static onx_dtype divisor(onx_export *x, const onx_xv *a, onx_value *v[3]) {
    enum { TURNS = 92 }; /* of the Fibonacci numbers of 64 bits */
    onx_dtype dtype = onx_x_promote(x, 2, a);
    for (size_t i = 0; i < 2; i++) v[i] = F("Abs", onx_x_as(x, &a[i], ONX_DTYPE_I64));
    onx_value *none = N("Mul", G("Add", v[0], v[1]), 0); /* of the shape of both */
    onx_value *round[] = {G("Add", v[0], none), G("Add", v[1], none)};
    if (!onx_x_ok(x) || !onx_x_repeat(x, onx_xv_int(x, TURNS), euclid_turn, NULL, 2, round))
        return ONX_DTYPE_NONE;
    v[2] = round[0];
    return dtype;
}

static void lower_gcd(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[3];
    onx_dtype dtype = divisor(x, a, v);
    if (dtype) onx_x_give(x, out, onx_x_cast(x, v[2], dtype));
}

static void lower_lcm(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[3];
    onx_dtype dtype = divisor(x, a, v);
    if (!dtype) return;
    onx_value *part = G("Div", v[0], G("Max", v[2], onx_x_int(x, 1)));
    onx_x_give(x, out, onx_x_cast(x, G("Mul", part, v[1]), dtype));
}

/* ─ Mantissas ────────────────────────────────────────────────────────────────────────────────── */

static onx_value *power_of_two(onx_export *x, onx_value *exponent) {
    return G("Pow", onx_x_number(x, ONX_DTYPE_F64, 2), exponent);
}

/* v = m·2^e, m in [1/2, 1): by the logarithm, whose error the last step mends. 0 is 0·2^0. */
static void split_float(onx_export *x, onx_value *v, onx_value *parts[2]) {
    onx_value *size = F("Abs", v), *none = N("Equal", size, 0);
    size = WHERE(none, onx_x_number(x, ONX_DTYPE_F64, 0.5), size);
    onx_value *e = N("Add", F("Floor", N("Mul", F("Log", size), 1.4426950408889634)), 1);
    onx_value *m = G("Div", size, power_of_two(x, e));
    onx_value *up = onx_x_cast(x, N("GreaterOrEqual", m, 1), ONX_DTYPE_F64);
    onx_value *down = onx_x_cast(x, N("Less", m, 0.5), ONX_DTYPE_F64);
    e = G("Add", e, G("Sub", up, down));
    parts[0] = WHERE(none, v, G("Div", v, power_of_two(x, e)));
    parts[1] = e;
}

static void lower_frexp(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *parts[2], *v = onx_x_floating(x, a);
    if (!v) return;
    split_float(x, onx_x_cast(x, v, ONX_DTYPE_F64), parts);
    onx_x_give(x, &out[0], onx_x_cast(x, parts[0], onx_x_dtype(x, v)));
    onx_x_give(x, &out[1], onx_x_cast(x, parts[1], ONX_DTYPE_I32));
}

/* One step of the last digit from a towards b: of 2^(e - digits), or half of that from a power of
 * two downwards; the smallest one next to 0. */
static void lower_nextafter(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2], *parts[2];
    if (!onx_x_pair(x, &a[0], &a[1], &v[0], &v[1])) return;
    onx_dtype dtype = onx_x_dtype(x, v[0]);
    bool is_double = dtype == ONX_DTYPE_F64;
    if (!is_double && dtype != ONX_DTYPE_F32) {
        onx_x_fail(x, ONX_UNSUPPORTED, "of %s", onx_dtype_name(dtype));
        return;
    }
    for (size_t i = 0; i < 2; i++) v[i] = onx_x_cast(x, v[i], ONX_DTYPE_F64);
    split_float(x, v[0], parts);
    onx_value *side = F("Sign", G("Sub", v[1], v[0]));
    onx_value *inwards = N("Less", G("Mul", side, v[0]), 0);
    onx_value *edge = G("And", inwards, N("Equal", F("Abs", parts[0]), 0.5));
    onx_value *e = N("Sub", parts[1], is_double ? 53 : 24);
    e = N("Max", G("Sub", e, onx_x_cast(x, edge, ONX_DTYPE_F64)), is_double ? -1074 : -149);
    e = WHERE(N("Equal", v[0], 0), onx_x_number(x, ONX_DTYPE_F64, is_double ? -1074 : -149), e);
    onx_value *next = G("Add", v[0], G("Mul", side, power_of_two(x, e)));
    onx_x_give(x, out, onx_x_cast(x, next, dtype));
}

const onx_aten onx_aten_digits[] = {
    {"gcd(Any self, Any other)", lower_gcd, NULL},
    {"lcm(Any self, Any other)", lower_lcm, NULL},
    {"frexp(Tensor self) -> (Tensor, Tensor)", lower_frexp, NULL},
    {"nextafter(Tensor self, Tensor other)", lower_nextafter, NULL},
    {NULL, NULL, NULL},
};
