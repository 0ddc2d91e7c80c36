/* eltwise.c: Add, Max and other functions of several tensors, element by element: meaning. Small
 * integer tensors are followed element by element: they are computed from shapes and become
 * shapes. */
#include "ops/op.h"

typedef const onx_sym *rule(onx_infer *in, const onx_sym *a, const onx_sym *b);

static const onx_sym *add(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return onx_sym_add(onx_infer_syms(in), a, b);
}
static const onx_sym *sub(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return onx_sym_sub(onx_infer_syms(in), a, b);
}
static const onx_sym *mul(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return onx_sym_mul(onx_infer_syms(in), a, b);
}
static const onx_sym *max(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return a && b ? onx_sym_max(onx_infer_syms(in), a, b) : NULL;
}
static const onx_sym *min(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    return a && b ? onx_sym_min(onx_infer_syms(in), a, b) : NULL;
}

/* Rounding down and rounding to zero are the same for what is not negative. */
static bool never_negative(onx_infer *in, const onx_sym *a) {
    return max(in, a, onx_sym_int(onx_infer_syms(in), 0)) == a;
}
static const onx_sym *divide(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    int64_t x, y;
    if (!a || !b || !onx_sym_is_int(b, &y) || y == 0) return NULL;
    if (onx_sym_is_int(a, &x) && y != -1) return onx_sym_int(onx_infer_syms(in), x / y);
    if (y < 0 || !never_negative(in, a)) return NULL;
    return onx_sym_floordiv(onx_infer_syms(in), a, b);
}
static const onx_sym *mod(onx_infer *in, const onx_sym *a, const onx_sym *b) {
    int64_t y;
    if (!a || !b || !onx_sym_is_int(b, &y) || y <= 0 || !never_negative(in, a)) return NULL;
    const onx_sym *whole = onx_sym_floordiv(onx_infer_syms(in), a, b);
    return sub(in, a, mul(in, whole, b));
}

/* Comparisons follow from the difference, where that is a number. */
#define COMPARE(name, condition)                                                                   \
    static const onx_sym *name(onx_infer *in, const onx_sym *a, const onx_sym *b) {                \
        int64_t d;                                                                                 \
        const onx_sym *difference = sub(in, a, b);                                                 \
        if (!difference || !onx_sym_is_int(difference, &d)) return NULL;                           \
        return onx_sym_int(onx_infer_syms(in), condition);                                         \
    }
COMPARE(equal, d == 0)
COMPARE(greater, d > 0)
COMPARE(greater_equal, d >= 0)
COMPARE(less, d < 0)
COMPARE(less_equal, d <= 0)

#define LOGIC(name, condition)                                                                     \
    static const onx_sym *name(onx_infer *in, const onx_sym *a, const onx_sym *b) {                \
        int64_t x, y;                                                                              \
        if (!a || !b || !onx_sym_is_int(a, &x) || !onx_sym_is_int(b, &y)) return NULL;             \
        return onx_sym_int(onx_infer_syms(in), condition);                                         \
    }
LOGIC(and, x &&y)
LOGIC(or, x || y)
LOGIC(xor, !x != !y)

static rule *rule_of(const onx_infer *in) {
    static const struct {
        const char *op;
        rule *rule;
    } rules[] = {
        {"Add", add},         {"Sub", sub},
        {"Mul", mul},         {"Div", divide},
        {"Mod", mod},         {"Max", max},
        {"Min", min},         {"Equal", equal},
        {"Greater", greater}, {"GreaterOrEqual", greater_equal},
        {"Less", less},       {"LessOrEqual", less_equal},
        {"And", and},         {"Or", or },
        {"Xor", xor},
    };
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (strcmp(rules[i].op, onx_infer_op(in)->name) == 0) return rules[i].rule;
    return NULL;
}

static bool has_elems(const onx_fact *f) {
    return f->elems && f->ranked && f->rank <= 1 &&
           (f->dtype == ONX_DTYPE_I64 || f->dtype == ONX_DTYPE_I32 || f->dtype == ONX_DTYPE_BOOL);
}
static const onx_sym *elem(const onx_fact *f, size_t i) {
    return f->elems[f->n_elems == 1 ? 0 : i];
}
/* int32 wraps around: what may not fit is not known. */
static const onx_sym *fitting(onx_dtype dtype, const onx_sym *value) {
    int64_t x;
    if (dtype != ONX_DTYPE_I32 || !value || !onx_sym_is_int(value, &x)) return value;
    return x >= INT32_MIN && x <= INT32_MAX ? value : NULL;
}

/* The elements of all inputs, one after the other; unknown when the shapes do not fit. */
static onx_status infer_elems(onx_infer *in) {
    const onx_fact *first = onx_infer_in(in, 0);
    size_t n = has_elems(first) ? first->n_elems : 0;
    for (size_t i = 1; i < onx_infer_n_in(in); i++) {
        const onx_fact *next = onx_infer_in(in, i);
        if (!has_elems(next) || n == 0) return ONX_OK;
        if (n == 1) n = next->n_elems;
        if (next->n_elems != n && next->n_elems != 1) return ONX_OK;
    }
    if (n == 0) return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), n, sizeof *elems);
    rule *apply = rule_of(in);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t e = 0; e < n; e++) {
        elems[e] = elem(first, e);
        for (size_t i = 1; i < onx_infer_n_in(in); i++)
            elems[e] = fitting(first->dtype, apply(in, elems[e], elem(onx_infer_in(in, i), e)));
    }
    return onx_infer_elems(in, 0, n, elems);
}

/* Before opset 7 the result has the shape of input 0. */
static bool is_old(const onx_infer *in) {
    return onx_infer_op(in)->since < 7 && onx_infer_n_in(in) == 2;
}

static onx_status infer_plain(onx_infer *in) {
    return is_old(in) ? onx_infer_same(in) : onx_infer_broadcast(in);
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

static onx_status where_elems(onx_infer *in) {
    const onx_fact *facts[3];
    size_t n = 1;
    for (size_t i = 0; i < 3; i++) {
        facts[i] = onx_infer_in(in, i);
        if (!has_elems(facts[i])) return ONX_OK;
        if (n == 1) n = facts[i]->n_elems;
        if (facts[i]->n_elems != n && facts[i]->n_elems != 1) return ONX_OK;
    }
    if (n == 0) return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), n, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t e = 0; e < n; e++) {
        int64_t which;
        const onx_sym *condition = elem(facts[0], e);
        if (condition && onx_sym_is_int(condition, &which))
            elems[e] = elem(facts[which ? 1 : 2], e);
    }
    return onx_infer_elems(in, 0, n, elems);
}

static onx_status infer_where(onx_infer *in) {
    ONX_TRY(onx_infer_broadcast(in));
    onx_infer_out(in, 0)->dtype = onx_infer_in(in, 1)->dtype;
    return where_elems(in);
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

#define OP(name, since, signature, infer_)                                                         \
    { name, since, signature, .infer = infer_ }
#define FN(name, since, signature, infer_, function_)                                              \
    { name, since, signature, .infer = infer_, .function = function_ }
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
    OP("Max", 1, "(data_0*:T) -> (max:T) {consumed_inputs?:ints} [T:f0]", infer_arithmetic),
    OP("Max", 6, "(data_0*:T) -> (max:T) [T:f0]", infer_arithmetic),
    OP("Max", 8, "(data_0*:T) -> (max:T) [T:f0]", infer_arithmetic),
    OP("Max", 12, "(data_0*:T) -> (max:T) [T:n0]", infer_arithmetic),
    OP("Max", 13, "(data_0*:T) -> (max:T) [T:n]", infer_arithmetic),
    OP("Mean", 1, "(data_0*:T) -> (mean:T) {consumed_inputs?:ints} [T:f0]", infer_plain),
    OP("Mean", 6, "(data_0*:T) -> (mean:T) [T:f0]", infer_plain),
    OP("Mean", 8, "(data_0*:T) -> (mean:T) [T:f0]", infer_plain),
    OP("Mean", 13, "(data_0*:T) -> (mean:T) [T:f]", infer_plain),
    OP("Min", 1, "(data_0*:T) -> (min:T) {consumed_inputs?:ints} [T:f0]", infer_arithmetic),
    OP("Min", 6, "(data_0*:T) -> (min:T) [T:f0]", infer_arithmetic),
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
    OP("PRelu", 7, "(X:T, slope:T) -> (Y:T) [T:f0]", onx_infer_same),
    OP("PRelu", 9, "(X:T, slope:T) -> (Y:T) [T:f0|w]", onx_infer_same),
    FN("PRelu", 16, "(X:T, slope:T) -> (Y:T) [T:f|w]", onx_infer_same, prelu_body),
    OP("Pow", 1, "(X:T, Y:T) -> (Z:T) {axis?:int, broadcast:int=0} [T:f0]", infer_plain),
    OP("Pow", 7, "(X:T, Y:T) -> (Z:T) [T:f0]", infer_plain),
    OP("Pow", 12, "(X:T, Y:T1) -> (Z:T) [T:f0|int32|int64, T1:n0]", infer_plain),
    OP("Pow", 13, "(X:T, Y:T1) -> (Z:T) [T:f|int32|int64, T1:n0]", infer_plain),
    OP("Pow", 15, "(X:T, Y:T1) -> (Z:T) [T:f|int32|int64, T1:n]", infer_plain),
    OP("Sub", 1, "(A:T, B:T) -> (C:T) {axis?:int, consumed_inputs?:ints, broadcast:int=0} [T:f0]",
       infer_arithmetic),
    OP("Sub", 6, "(A:T, B:T) -> (C:T) {axis?:int, broadcast:int=0} [T:f0|w]", infer_arithmetic),
    OP("Sub", 7, "(A:T, B:T) -> (C:T) [T:f0|w]", infer_arithmetic),
    OP("Sub", 13, "(A:T, B:T) -> (C:T) [T:f|w]", infer_arithmetic),
    OP("Sub", 14, "(A:T, B:T) -> (C:T) [T:n]", infer_arithmetic),
    OP("Sum", 1, "(data_0*:T) -> (sum:T) {consumed_inputs?:ints} [T:f0]", infer_plain),
    OP("Sum", 6, "(data_0*:T) -> (sum:T) [T:f0]", infer_plain),
    OP("Sum", 8, "(data_0*:T) -> (sum:T) [T:f0]", infer_plain),
    OP("Sum", 13, "(data_0*:T) -> (sum:T) [T:f]", infer_plain),
    FN("SwiGLU", 28, "(A:T, B:T) -> (Y:T) {alpha:float=1.0} [T:f]", infer_plain, swi_glu_body),
    OP("Where", 9, "(condition:B, X:T, Y:T) -> (output:T) [B:bool, T:all1]", infer_where),
    OP("Where", 16, "(condition:B, X:T, Y:T) -> (output:T) [B:bool, T:all13]", infer_where),
    OP("Xor", 1, "(A:T, B:T) -> (C:T1) {axis?:int, broadcast:int=0} [T:bool, T1:bool]",
       infer_compare),
    OP("Xor", 7, "(A:T, B:T) -> (C:T1) [T:bool, T1:bool]", infer_compare),
    {0},
};
