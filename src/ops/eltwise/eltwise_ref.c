/* eltwise_ref.c: Add, Max and other functions of several tensors, element by element: plain loops,
 * all types, by wide_ref.h.
 *
 * Integers wrap around. Division by zero gives 0, and so does the remainder; a negative power of an
 * integer is 0 unless the base is 1 or -1. */
#include "ops/eltwise/wide_ref.h"

#include <math.h>

/* ─ Integers ─────────────────────────────────────────────────────────────────────────────────── */

/* The same expression on int64 and uint64: s_name, u_name. T is the type. */
#define INTS(name, expression)                                                                     \
    SIGNED(name, expression)                                                                       \
    UNSIGNED(name, expression)
#define SIGNED(name, expression) FUNCTION(int64_t, s_##name, expression)
#define UNSIGNED(name, expression) FUNCTION(uint64_t, u_##name, expression)
#define FUNCTION(type, name, expression)                                                           \
    static type name(type a, type b, type c) {                                                     \
        (void)b, (void)c;                                                                          \
        return (type)(expression);                                                                 \
    }
#define U(x) ((uint64_t)(x))

INTS(add, U(a) + U(b))
INTS(sub, U(a) - U(b))
INTS(mul, U(a) * U(b))
SIGNED(div, b == 0 ? 0 : b == -1 ? (int64_t)(0 - U(a)) : a / b)
UNSIGNED(div, b == 0 ? 0 : a / b)
INTS(max, a > b ? a : b)
INTS(min, a < b ? a : b)
INTS(equal, a == b)
INTS(greater, a > b)
INTS(greater_equal, a >= b)
INTS(less, a < b)
INTS(less_equal, a <= b)
INTS(and, a != 0 && b != 0)
INTS(or, a != 0 || b != 0)
INTS(xor, (a != 0) != (b != 0))
INTS(bit_and, a &b)
INTS(bit_or, a | b)
INTS(bit_xor, a ^ b)
INTS(shift_left, U(b) < 64 ? U(a) << U(b) : 0)
SIGNED(shift_right, U(b) < 64 ? a >> b : a < 0 ? -1 : 0)
UNSIGNED(shift_right, b < 64 ? a >> b : 0)
SIGNED(prelu, a < 0 ? (int64_t)(U(a) * U(b)) : a)
UNSIGNED(prelu, a)
SIGNED(fmod, b == 0 || b == -1 ? 0 : a % b)
UNSIGNED(fmod, b == 0 ? 0 : a % b)
#define u_mod u_fmod

/* The remainder with the sign of the divisor, as Python's. */
static int64_t s_mod(int64_t a, int64_t b, int64_t c) {
    int64_t r = s_fmod(a, b, c);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static uint64_t u_pow(uint64_t a, uint64_t b, uint64_t c) {
    (void)c;
    uint64_t power = 1;
    for (; b; b >>= 1, a *= a)
        if (b & 1) power *= a;
    return power;
}
static int64_t s_pow(int64_t a, int64_t b, int64_t c) {
    if (b >= 0) return (int64_t)u_pow(U(a), U(b), U(c));
    return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
}

/* ─ Floats that are not instructions of tile programs ────────────────────────────────────────── */

static double f_fmod(double a, double b, double c) {
    (void)c;
    return fmod(a, b);
}
static double f_mod(double a, double b, double c) {
    (void)c;
    double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}
static double f_prelu(double a, double b, double c) {
    (void)c;
    return a < 0 ? a * b : a;
}

static bool is_fmod(const onx_call *call) {
    return onx_call_int(call, "fmod") != 0;
}
static bool is_left(const onx_call *call) {
    return onx_str_is(onx_call_string(call, "direction"), "LEFT");
}

#define RULE(op_, name_, ...)                                                                      \
    { .op = op_, .s = s_##name_, .u = u_##name_, __VA_ARGS__ }
static const onx_wide_rule rules[] = {
    RULE("Add", add, .is_bool = false),
    RULE("And", and, .is_bool = true),
    RULE("BitShift", shift_left, .when = is_left),
    RULE("BitShift", shift_right, .is_bool = false),
    RULE("BitwiseAnd", bit_and, .is_bool = false),
    RULE("BitwiseOr", bit_or, .is_bool = false),
    RULE("BitwiseXor", bit_xor, .is_bool = false),
    RULE("Div", div, .is_bool = false),
    RULE("Equal", equal, .is_bool = true),
    RULE("Greater", greater, .is_bool = true),
    RULE("GreaterOrEqual", greater_equal, .is_bool = true),
    RULE("Less", less, .is_bool = true),
    RULE("LessOrEqual", less_equal, .is_bool = true),
    RULE("Max", max, .is_bool = false),
    {.op = "Mean"},
    RULE("Min", min, .is_bool = false),
    RULE("Mod", fmod, .f = f_fmod, .when = is_fmod),
    RULE("Mod", mod, .f = f_mod),
    RULE("Mul", mul, .is_bool = false),
    RULE("Or", or, .is_bool = true),
    RULE("PRelu", prelu, .f = f_prelu),
    RULE("Pow", pow, .is_bool = false),
    RULE("Sub", sub, .is_bool = false),
    {.op = "Sum"},
    {.op = "SwiGLU"},
    RULE("Xor", xor, .is_bool = true),
};

static onx_status init(onx_call *call) {
    return onx_wide_init(call, rules, ONX_COUNT(rules));
}

#define SAME(t)                                                                                    \
    { t, t, t, t, t, t }
#define ROW(op_, first_, last_, types_, name_, overwrite_)                                         \
    {                                                                                              \
        .op = op_, .first = first_, .last = last_, .types = SAME(types_), .name = name_,           \
        .overwrite = overwrite_, .init = init, .bind = onx_wide_bind, .run = onx_wide_run          \
    }
#define ALL ~0u
#define BOTH 3u
#define LOGIC (ONX_T_NUMBERS | ONX_T(BOOL))

extern onx_kernel_rows onx_kernels_eltwise_ref;
onx_kernel_rows onx_kernels_eltwise_ref = {
    ROW("Add", 1, 0, ONX_T_NUMBERS, "add", BOTH),
    ROW("And", 1, 0, ONX_T(BOOL), "and", BOTH),
    ROW("BitShift", 11, 0, ONX_T_INTS, "bit_shift", BOTH),
    ROW("BitwiseAnd", 18, 0, ONX_T_INTS, "bitwise_and", BOTH),
    ROW("BitwiseOr", 18, 0, ONX_T_INTS, "bitwise_or", BOTH),
    ROW("BitwiseXor", 18, 0, ONX_T_INTS, "bitwise_xor", BOTH),
    ROW("Div", 1, 0, ONX_T_NUMBERS, "div", BOTH),
    ROW("Equal", 1, 0, LOGIC, "equal", 0),
    ROW("Greater", 1, 0, ONX_T_NUMBERS, "greater", 0),
    ROW("GreaterOrEqual", 12, 0, ONX_T_NUMBERS, "greater_or_equal", 0),
    ROW("Less", 1, 0, ONX_T_NUMBERS, "less", 0),
    ROW("LessOrEqual", 12, 0, ONX_T_NUMBERS, "less_or_equal", 0),
    ROW("Max", 1, 0, ONX_T_NUMBERS, "max", ALL),
    ROW("Mean", 1, 0, ONX_T_FLOATS, "mean", ALL),
    ROW("Min", 1, 0, ONX_T_NUMBERS, "min", ALL),
    ROW("Mod", 10, 0, ONX_T_NUMBERS, "mod", BOTH),
    ROW("Mul", 1, 0, ONX_T_NUMBERS, "mul", BOTH),
    ROW("Or", 1, 0, ONX_T(BOOL), "or", BOTH),
    ROW("PRelu", 1, 0, ONX_T_NUMBERS, "prelu", BOTH),
    ROW("Pow", 1, 0, ONX_T_NUMBERS, "pow", 1),
    ROW("Sub", 1, 0, ONX_T_NUMBERS, "sub", BOTH),
    ROW("Sum", 1, 0, ONX_T_FLOATS, "sum", ALL),
    ROW("SwiGLU", 28, 0, ONX_T_FLOATS, "swiglu", BOTH),
    ROW("Xor", 1, 0, ONX_T(BOOL), "xor", BOTH),
    {.op = "Equal",
     .first = 19,
     .types = SAME(ONX_T(STRING)),
     .name = "equal_string",
     .flags = ONX_KERNEL_OBJECTS,
     .bind = onx_equal_bind_strings,
     .run = onx_equal_run_strings},
    {.op = "Where",
     .first = 9,
     .types = {ONX_T(BOOL), ONX_T_WHOLE, ONX_T_WHOLE},
     .name = "where",
     .overwrite = 6,
     .bind = onx_where_bind,
     .run = onx_where_run},
    {.op = "Where",
     .first = 9,
     .types = {ONX_T(BOOL), ONX_T(STRING), ONX_T(STRING)},
     .name = "where_string",
     .flags = ONX_KERNEL_OBJECTS,
     .bind = onx_where_bind,
     .run = onx_where_run_strings},
    {0},
};
