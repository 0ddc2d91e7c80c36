/* eltwise.c: Add, Max and other functions of several tensors, element by element: meaning. Small
 * integer tensors are followed element by element: they are computed from shapes and become
 * shapes. */
#include "ops/rows.h"

typedef const onx_sym *rule(onx_infer *in, const onx_sym *a, const onx_sym *b);

static bool is_float(const onx_infer *in) {
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    return dtype == ONX_DTYPE_F32 || dtype == ONX_DTYPE_F64;
}
/* Is the result of float arithmetic on them exact? */
static bool is_exact(const onx_sym *a, const onx_sym *b) {
    return a && b && onx_sym_is_binary(a) && onx_sym_is_binary(b);
}

static const onx_sym *add(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return is_exact(a, b) ? onx_sym_add(onx_infer_syms(in), a, b) : NULL;
}
static const onx_sym *sub(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return is_exact(a, b) ? onx_sym_sub(onx_infer_syms(in), a, b) : NULL;
}
static const onx_sym *mul(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return is_exact(a, b) ? onx_sym_mul(onx_infer_syms(in), a, b) : NULL;
}
static const onx_sym *max(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return onx_sym_max(onx_infer_syms(in), a, b);
}
static const onx_sym *min(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return onx_sym_min(onx_infer_syms(in), a, b);
}

static bool never_negative(onx_infer *in, const onx_sym *a) {
    return onx_sym_at_least(onx_infer_syms(in), a, onx_sym_int(onx_infer_syms(in), 0));
}
/* Rounding down and rounding to zero are the same for what is not negative. */
static const onx_sym *divide(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *an, *ad, *bn, *bd;
    int64_t x, y;
    if (is_float(in)) {
        if (!is_exact(a, b) || !onx_sym_fraction(syms, a, &an, &ad) ||
            !onx_sym_fraction(syms, b, &bn, &bd))
            return NULL;
        return onx_sym_ratio(syms, onx_sym_mul(syms, an, bd), onx_sym_mul(syms, ad, bn));
    }
    if (onx_sym_is_int(a, &x) && onx_sym_is_int(b, &y))
        return y && y != -1 ? onx_sym_int(syms, x / y) : NULL;
    return never_negative(in, a) && never_negative(in, b) ? onx_sym_floordiv(syms, a, b) : NULL;
}
/* With the sign of the divisor or, as fmod, of the dividend. */
static const onx_sym *mod(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    if (!a || !b || !onx_sym_is_whole(a) || !onx_sym_is_whole(b)) return NULL;
    bool sign = onx_infer_int(in, "fmod") != 0;
    if (sign && (!never_negative(in, a) || !never_negative(in, b))) return NULL;
    return sub(in, a, mul(in, onx_sym_floordiv(onx_infer_syms(in), a, b), b));
}
static const onx_sym *power(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    const onx_sym *result = onx_sym_int(onx_infer_syms(in), 1);
    int64_t n;
    if (!onx_sym_is_int(b, &n) || n < 0 || n > 4) return NULL;
    while (n-- > 0) result = mul(in, result, a);
    return result;
}

/* Is a - b at least `least`, or surely less? NULL: it cannot be told. */
static const onx_sym *differs_by(onx_infer *in, const onx_sym *a, const onx_sym *b, int64_t least) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *one = onx_sym_int(syms, 1);
    const onx_sym *bound = onx_sym_add(syms, b, onx_sym_int(syms, least));
    if (onx_sym_at_least(syms, a, bound)) return one;
    bool whole = a && b && onx_sym_is_whole(a) && onx_sym_is_whole(b);
    bool below = whole && onx_sym_at_least(syms, onx_sym_sub(syms, bound, one), a);
    return below ? onx_sym_int(syms, 0) : NULL;
}
static const onx_sym *inverted(onx_infer *in, const onx_sym *truth) {
    return onx_sym_sub(onx_infer_syms(in), onx_sym_int(onx_infer_syms(in), 1), truth);
}
static const onx_sym *greater(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return differs_by(in, a, b, 1);
}
static const onx_sym *greater_equal(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return differs_by(in, a, b, 0);
}
static const onx_sym *less(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return differs_by(in, b, a, 1);
}
static const onx_sym *less_equal(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return differs_by(in, b, a, 0);
}
static const onx_sym *equal(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    const onx_sym *one = onx_sym_int(onx_infer_syms(in), 1);
    if (a && a == b) return one;
    bool differ = greater(in, a, b) == one || less(in, a, b) == one;
    return differ ? onx_sym_int(onx_infer_syms(in), 0) : NULL;
}

/* Of truth values, one may be enough. */
static const onx_sym *logic_and(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    const onx_sym *no = onx_sym_int(onx_infer_syms(in), 0);
    return a == no || b == no ? no : a && b ? min(in, a, b) : NULL;
}
static const onx_sym *logic_or(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    const onx_sym *yes = onx_sym_int(onx_infer_syms(in), 1);
    return a == yes || b == yes ? yes : a && b ? max(in, a, b) : NULL;
}
static const onx_sym *logic_xor(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    int64_t x, y;
    if (!onx_sym_is_int(a, &x) || !onx_sym_is_int(b, &y)) return NULL;
    const onx_sym *yes = onx_sym_int(onx_infer_syms(in), 1);
    return x != y ? yes : inverted(in, yes);
}

static rule *rule_of(const onx_infer *in) {
    static const struct {
        const char *op;
        rule *rule;
    } rules[] = {
        {"Add", add},         {"Sub", sub},
        {"Mul", mul},         {"Div", divide},
        {"Mod", mod},         {"Max", max},
        {"Min", min},         {"Sum", add},
        {"Pow", power},       {"Equal", equal},
        {"Greater", greater}, {"GreaterOrEqual", greater_equal},
        {"Less", less},       {"LessOrEqual", less_equal},
        {"And", logic_and},   {"Or", logic_or},
        {"Xor", logic_xor},
    };
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (strcmp(rules[i].op, onx_infer_op(in)->name) == 0) return rules[i].rule;
    return NULL;
}

/* int32 wraps around: what may not fit is not known. */
static const onx_sym *fitting(const onx_infer *in, const onx_sym *value) {
    int64_t x;
    if (onx_infer_in(in, 0)->dtype != ONX_DTYPE_I32 || !onx_sym_is_int(value, &x)) return value;
    return x >= INT32_MIN && x <= INT32_MAX ? value : NULL;
}

/* Floats that are known are computed with as floats, rounding and all. False: one is not known. */
static bool compute(onx_infer *in, rule *apply, const onx_sym *a, const onx_sym *b,
                    const onx_sym **out) {
    onx_syms *syms = onx_infer_syms(in);
    double x, y, z;
    bool arithmetic = apply == add || apply == sub || apply == mul || apply == divide;
    if (!arithmetic || !is_float(in) || !onx_sym_is_real(syms, a, &x) ||
        !onx_sym_is_real(syms, b, &y))
        return false;
    z = apply == add ? x + y : apply == sub ? x - y : apply == mul ? x * y : y == 0 ? 0 : x / y;
    bool single =
        onx_infer_in(in, 0)->dtype == ONX_DTYPE_F32; /* a double is wide enough to round */
    *out = apply == divide && y == 0 ? NULL : onx_sym_real(syms, single ? (double)(float)z : z);
    return true;
}

static const onx_sym *fold(onx_infer *in, size_t n, const onx_sym *const *operands) {
    rule *apply = rule_of(in);
    const onx_sym *all = apply ? operands[0] : NULL;
    for (size_t i = 1; apply && i < n; i++)
        if (!compute(in, apply, all, operands[i], &all))
            all = fitting(in, apply(in, all, operands[i]));
    return all;
}

static onx_status infer_elems(onx_infer *in) {
    switch (onx_infer_in(in, 0)->dtype) {
    case ONX_DTYPE_I64:
    case ONX_DTYPE_I32:
    case ONX_DTYPE_BOOL:
    case ONX_DTYPE_F32:
    case ONX_DTYPE_F64: return onx_infer_elementwise(in, fold);
    default: return ONX_OK;
    }
}

/* Before opset 7 the result has the shape of input 0. */
static bool is_old(const onx_infer *in) {
    return onx_infer_op(in)->since < 7 && onx_infer_n_in(in) == 2;
}

static onx_status infer_plain(onx_infer *in) {
    return is_old(in) ? onx_infer_same(in) : onx_infer_broadcast(in);
}

/* All have one shape, they do not broadcast: SwiGLU, and before opset 8 Max, Mean, Min and Sum. */
static onx_status infer_alike(onx_infer *in) {
    const onx_fact *shape = onx_infer_in(in, 0);
    size_t n = onx_infer_n_in(in);
    onx_dtype dtype = shape->dtype;
    for (size_t i = 1; i < n && !shape->ranked; i++) shape = onx_infer_in(in, i);
    if (!shape->ranked) return onx_infer_unranked(in, 0, dtype);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), shape->rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t d = 0; d < shape->rank; d++) dims[d] = shape->dims[d];
    for (size_t i = 0; i < n; i++) {
        const onx_fact *fact = onx_infer_in(in, i);
        ONX_TRY(onx_infer_check_rank(in, i, shape->rank, shape->rank));
        for (size_t d = 0; fact->ranked && d < shape->rank; d++) {
            onx_extent size = {"size that all inputs share", dims[d]};
            ONX_TRY(onx_infer_meet(in, &size, fact->dims[d]));
            dims[d] = size.size;
        }
    }
    return onx_infer_tensor(in, 0, dtype, shape->rank, dims);
}

static onx_status infer_arithmetic(onx_infer *in) {
    ONX_TRY(infer_plain(in));
    return infer_elems(in);
}

static onx_status infer_compare(onx_infer *in) {
    if (is_old(in)) {
        ONX_TRY(onx_infer_same(in));
        onx_infer_out(in, 0)->dtype = ONX_DTYPE_BOOL;
        return ONX_OK;
    }
    ONX_TRY(onx_infer_compare(in));
    return infer_elems(in);
}

static const onx_sym *choose(onx_infer *in, size_t n, const onx_sym *const *operands) {
    int64_t which;
    (void)in;
    if (n != 3 || operands[1] == operands[2]) return operands[n - 1];
    return onx_sym_is_int(operands[0], &which) ? operands[which ? 1 : 2] : NULL;
}

static onx_status infer_where(onx_infer *in) {
    ONX_TRY(onx_infer_broadcast(in));
    onx_infer_out(in, 0)->dtype = onx_infer_in(in, 1)->dtype;
    return onx_infer_elementwise(in, choose);
}

/* The slope broadcasts to X, not X to the slope. */
static onx_status infer_prelu(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *slope = onx_infer_in(in, 1);
    int64_t a, b;
    if (x->ranked) ONX_TRY(onx_infer_check_rank(in, 1, 0, x->rank));
    for (size_t i = 1; x->ranked && slope->ranked && i <= slope->rank; i++) {
        bool known = onx_sym_is_int(x->dims[x->rank - i], &a) &&
                     onx_sym_is_int(slope->dims[slope->rank - i], &b);
        if (known && b != 1 && a != b)
            return onx_infer_fail(in,
                                  "dimension %zu of the slope, %lld, does not broadcast to %lld",
                                  slope->rank - i, (long long)b, (long long)a);
    }
    return onx_infer_same(in);
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

static const char greater_or_equal_body[] = "O1 = Greater (A, B)"
                                            " O2 = Equal (A, B)"
                                            " C = Or (O1, O2)";

static const char less_or_equal_body[] = "O1 = Less (A, B)"
                                         " O2 = Equal (A, B)"
                                         " C = Or (O1, O2)";

static const char prelu_body[] = "Zero = Constant <value = float {0}> ()"
                                 " ZeroCast = CastLike (Zero, X)"
                                 " XLessThanZero = Less (X, ZeroCast)"
                                 " SlopeMulX = Mul (slope, X)"
                                 " Y = Where (XLessThanZero, SlopeMulX, X)";

static const char swi_glu_body[] = "SwishGate = Swish <alpha: float = @alpha> (A)"
                                   " Y = Mul (SwishGate, B)";

extern onx_op_rows onx_ops_eltwise;
onx_op_rows onx_ops_eltwise = {
    OP("Add", 1, "(A:T, B:T) -> (C:T) {axis?:int, consumed_inputs?:ints, broadcast:int=0} [T:f0]",
       infer_arithmetic),
    OP("Add", 6, "(A:T, B:T) -> (C:T) {axis?:int, broadcast:int=0} [T:f0|w]", infer_arithmetic),
    OP("Add", 7, "(A:T, B:T) -> (C:T) [T:f0|w]", infer_arithmetic),
    OP("Add", 13, "(A:T, B:T) -> (C:T) [T:f|w]", infer_arithmetic),
    OP("Add", 14, "(A:T, B:T) -> (C:T) [T:n]", infer_arithmetic),
    OP("And", 1, "(A:T, B:T) -> (C:T1) {axis?:int, broadcast:int=0} [T:bool, T1:bool]",
       infer_compare),
    OP("And", 7, "(A:T, B:T) -> (C:T1) [T:bool, T1:bool]", infer_compare),
    OP("BitShift", 11, "(X:T, Y:T) -> (Z:T) {direction:string} [T:u]", infer_plain),
    OP("BitShift", 28, "(X:T, Y:T) -> (Z:T) {direction:string} [T:i]", infer_plain),
    OP("BitwiseAnd", 18, "(A:T, B:T) -> (C:T) [T:i]", infer_plain),
    OP("BitwiseOr", 18, "(A:T, B:T) -> (C:T) [T:i]", infer_plain),
    OP("BitwiseXor", 18, "(A:T, B:T) -> (C:T) [T:i]", infer_plain),
    OP("Div", 1, "(A:T, B:T) -> (C:T) {axis?:int, consumed_inputs?:ints, broadcast:int=0} [T:f0]",
       infer_arithmetic),
    OP("Div", 6, "(A:T, B:T) -> (C:T) {axis?:int, broadcast:int=0} [T:f0|w]", infer_arithmetic),
    OP("Div", 7, "(A:T, B:T) -> (C:T) [T:f0|w]", infer_arithmetic),
    OP("Div", 13, "(A:T, B:T) -> (C:T) [T:f|w]", infer_arithmetic),
    OP("Div", 14, "(A:T, B:T) -> (C:T) [T:n]", infer_arithmetic),
    OP("Equal", 1,
       "(A:T, B:T) -> (C:T1) {axis?:int, broadcast:int=0} [T:bool|int32|int64, T1:bool]",
       infer_compare),
    OP("Equal", 7, "(A:T, B:T) -> (C:T1) [T:bool|int32|int64, T1:bool]", infer_compare),
    OP("Equal", 11, "(A:T, B:T) -> (C:T1) [T:n0|bool, T1:bool]", infer_compare),
    OP("Equal", 13, "(A:T, B:T) -> (C:T1) [T:n|bool, T1:bool]", infer_compare),
    OP("Equal", 19, "(A:T, B:T) -> (C:T1) [T:n|bool|string, T1:bool]", infer_compare),
    OP("Greater", 1, "(A:T, B:T) -> (C:T1) {axis?:int, broadcast:int=0} [T:f0, T1:bool]",
       infer_compare),
    OP("Greater", 7, "(A:T, B:T) -> (C:T1) [T:f0, T1:bool]", infer_compare),
    OP("Greater", 9, "(A:T, B:T) -> (C:T1) [T:n0, T1:bool]", infer_compare),
    OP("Greater", 13, "(A:T, B:T) -> (C:T1) [T:n, T1:bool]", infer_compare),
    FN("GreaterOrEqual", 12, "(A:T, B:T) -> (C:T1) [T:n0, T1:bool]", infer_compare,
       greater_or_equal_body),
    FN("GreaterOrEqual", 16, "(A:T, B:T) -> (C:T1) [T:n, T1:bool]", infer_compare,
       greater_or_equal_body),
    OP("Less", 1, "(A:T, B:T) -> (C:T1) {axis?:int, broadcast:int=0} [T:f0, T1:bool]",
       infer_compare),
    OP("Less", 7, "(A:T, B:T) -> (C:T1) [T:f0, T1:bool]", infer_compare),
    OP("Less", 9, "(A:T, B:T) -> (C:T1) [T:n0, T1:bool]", infer_compare),
    OP("Less", 13, "(A:T, B:T) -> (C:T1) [T:n, T1:bool]", infer_compare),
    FN("LessOrEqual", 12, "(A:T, B:T) -> (C:T1) [T:n0, T1:bool]", infer_compare,
       less_or_equal_body),
    FN("LessOrEqual", 16, "(A:T, B:T) -> (C:T1) [T:n, T1:bool]", infer_compare, less_or_equal_body),
    OP("Max", 1, "(data_0*:T) -> (max:T) {consumed_inputs?:ints} [T:f0]", infer_alike),
    OP("Max", 6, "(data_0*:T) -> (max:T) [T:f0]", infer_alike),
    OP("Max", 8, "(data_0*:T) -> (max:T) [T:f0]", infer_arithmetic),
    OP("Max", 12, "(data_0*:T) -> (max:T) [T:n0]", infer_arithmetic),
    OP("Max", 13, "(data_0*:T) -> (max:T) [T:n]", infer_arithmetic),
    OP("Mean", 1, "(data_0*:T) -> (mean:T) {consumed_inputs?:ints} [T:f0]", infer_alike),
    OP("Mean", 6, "(data_0*:T) -> (mean:T) [T:f0]", infer_alike),
    OP("Mean", 8, "(data_0*:T) -> (mean:T) [T:f0]", infer_plain),
    OP("Mean", 13, "(data_0*:T) -> (mean:T) [T:f]", infer_plain),
    OP("Min", 1, "(data_0*:T) -> (min:T) {consumed_inputs?:ints} [T:f0]", infer_alike),
    OP("Min", 6, "(data_0*:T) -> (min:T) [T:f0]", infer_alike),
    OP("Min", 8, "(data_0*:T) -> (min:T) [T:f0]", infer_arithmetic),
    OP("Min", 12, "(data_0*:T) -> (min:T) [T:n0]", infer_arithmetic),
    OP("Min", 13, "(data_0*:T) -> (min:T) [T:n]", infer_arithmetic),
    OP("Mod", 10, "(A:T, B:T) -> (C:T) {fmod:int=0} [T:n0]", infer_arithmetic),
    OP("Mod", 13, "(A:T, B:T) -> (C:T) {fmod:int=0} [T:n]", infer_arithmetic),
    OP("Mod", 28, "(A:T, B:T) -> (C:T) {fmod:int=0} [T:n]", infer_arithmetic),
    OP("Mul", 1, "(A:T, B:T) -> (C:T) {axis?:int, consumed_inputs?:ints, broadcast:int=0} [T:f0]",
       infer_arithmetic),
    OP("Mul", 6, "(A:T, B:T) -> (C:T) {axis?:int, broadcast:int=0} [T:f0|w]", infer_arithmetic),
    OP("Mul", 7, "(A:T, B:T) -> (C:T) [T:f0|w]", infer_arithmetic),
    OP("Mul", 13, "(A:T, B:T) -> (C:T) [T:f|w]", infer_arithmetic),
    OP("Mul", 14, "(A:T, B:T) -> (C:T) [T:n]", infer_arithmetic),
    OP("Or", 1, "(A:T, B:T) -> (C:T1) {axis?:int, broadcast:int=0} [T:bool, T1:bool]",
       infer_compare),
    OP("Or", 7, "(A:T, B:T) -> (C:T1) [T:bool, T1:bool]", infer_compare),
    OP("PRelu", 1, "(X:T, slope:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", onx_infer_same),
    OP("PRelu", 6, "(X:T, slope:T) -> (Y:T) [T:f0]", onx_infer_same),
    OP("PRelu", 7, "(X:T, slope:T) -> (Y:T) [T:f0]", infer_prelu),
    OP("PRelu", 9, "(X:T, slope:T) -> (Y:T) [T:f0|w]", infer_prelu),
    FN("PRelu", 16, "(X:T, slope:T) -> (Y:T) [T:f|w]", infer_prelu, prelu_body),
    OP("Pow", 1, "(X:T, Y:T) -> (Z:T) {axis?:int, broadcast:int=0} [T:f0]", infer_plain),
    OP("Pow", 7, "(X:T, Y:T) -> (Z:T) [T:f0]", infer_arithmetic),
    OP("Pow", 12, "(X:T, Y:T1) -> (Z:T) [T:f0|int32|int64, T1:n0]", infer_arithmetic),
    OP("Pow", 13, "(X:T, Y:T1) -> (Z:T) [T:f|int32|int64, T1:n0]", infer_arithmetic),
    OP("Pow", 15, "(X:T, Y:T1) -> (Z:T) [T:f|int32|int64, T1:n]", infer_arithmetic),
    OP("Sub", 1, "(A:T, B:T) -> (C:T) {axis?:int, consumed_inputs?:ints, broadcast:int=0} [T:f0]",
       infer_arithmetic),
    OP("Sub", 6, "(A:T, B:T) -> (C:T) {axis?:int, broadcast:int=0} [T:f0|w]", infer_arithmetic),
    OP("Sub", 7, "(A:T, B:T) -> (C:T) [T:f0|w]", infer_arithmetic),
    OP("Sub", 13, "(A:T, B:T) -> (C:T) [T:f|w]", infer_arithmetic),
    OP("Sub", 14, "(A:T, B:T) -> (C:T) [T:n]", infer_arithmetic),
    OP("Sum", 1, "(data_0*:T) -> (sum:T) {consumed_inputs?:ints} [T:f0]", infer_alike),
    OP("Sum", 6, "(data_0*:T) -> (sum:T) [T:f0]", infer_alike),
    OP("Sum", 8, "(data_0*:T) -> (sum:T) [T:f0]", infer_arithmetic),
    OP("Sum", 13, "(data_0*:T) -> (sum:T) [T:f]", infer_arithmetic),
    FN("SwiGLU", 28, "(A:T, B:T) -> (Y:T) {alpha:float=1.0} [T:f]", infer_alike, swi_glu_body),
    OP("Where", 9, "(condition:B, X:T, Y:T) -> (output:T) [B:bool, T:all1]", infer_where),
    OP("Where", 16, "(condition:B, X:T, Y:T) -> (output:T) [B:bool, T:all13]", infer_where),
    OP("Xor", 1, "(A:T, B:T) -> (C:T1) {axis?:int, broadcast:int=0} [T:bool, T1:bool]",
       infer_compare),
    OP("Xor", 7, "(A:T, B:T) -> (C:T1) [T:bool, T1:bool]", infer_compare),
    {0},
};
