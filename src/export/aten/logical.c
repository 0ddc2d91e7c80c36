/* logical.c: comparisons, logic and bits. Comparisons are made in the type that both sides promote
 * to, and give bools. */
#include "export/aten/lowering.h"

#include <math.h>

/* ─ Comparisons ──────────────────────────────────────────────────────────────────────────────── */

static const struct comparison {
    const char *aten, *onnx;
} comparisons[] = {
    {"eq", "Equal"},
    {"ne", "Equal"},
    {"not_equal", "Equal"},
    {"lt", "Less"},
    {"less", "Less"},
    {"le", "LessOrEqual"},
    {"less_equal", "LessOrEqual"},
    {"gt", "Greater"},
    {"greater", "Greater"},
    {"ge", "GreaterOrEqual"},
    {"greater_equal", "GreaterOrEqual"},
};

static onx_value *compare(onx_export *x, const char *op, const onx_xv *a, const onx_xv *b) {
    onx_value *va, *vb;
    return onx_x_pair(x, a, b, &va, &vb) ? onx_emit_wide(x, op, va, vb) : NULL;
}

static void lower_compare(onx_export *x, const onx_xv *a, onx_xv *out) {
    const struct comparison *c = comparisons;
    while (c < comparisons + ONX_COUNT(comparisons) - 1 && !onx_str_is(onx_x_op(x), c->aten)) c++;
    onx_value *v = compare(x, c->onnx, &a[0], &a[1]);
    onx_x_give(x, out, c->aten[0] == 'n' ? onx_emit(x, "Not", v) : v);
}

static onx_value *close_to(onx_export *x, const onx_xv *a) {
    onx_value *v, *w;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &w)) return NULL;
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *same = onx_emit(x, "Equal", v, w);
    if (!onx_dtype_is_float(dtype)) {
        v = onx_x_cast(x, v, dtype = ONX_DTYPE_F64);
        w = onx_x_cast(x, w, dtype);
    } else if (onx_xv_true(&a[4])) {
        onx_value *none =
            onx_emit(x, "And", onx_emit_wide(x, "IsNaN", v), onx_emit_wide(x, "IsNaN", w));
        same = onx_emit(x, "Or", same, none);
    }
    onx_value *gap = onx_emit(x, "Abs", onx_emit(x, "Sub", v, w));
    onx_value *part = onx_emit(x, "Mul", onx_emit(x, "Abs", w), onx_x_as(x, &a[2], dtype));
    onx_value *allowed = onx_emit(x, "Add", part, onx_x_as(x, &a[3], dtype));
    onx_value *near = onx_emit(x, "And", onx_emit_wide(x, "LessOrEqual", gap, allowed),
                               onx_emit_number(x, "Less", gap, (double)INFINITY));
    return onx_emit(x, "Or", same, near);
}

static void lower_isclose(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, close_to(x, a));
}

static onx_xv all_of(onx_export *x, onx_value *bools) {
    onx_value *all = onx_emit_wide_with(x, "ReduceMin", ONX_ATTRS(ONX_AI("keepdims", 0)), bools);
    return onx_xv_run(ONX_X_BOOL, all);
}

static void lower_allclose(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = all_of(x, close_to(x, a));
}

static void lower_equal(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = all_of(x, compare(x, "Equal", &a[0], &a[1]));
}

/* Is an element one of those? All are compared with all. */
static void lower_isin(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *w;
    onx_xv rest = onx_xv_int(x, -1);
    int64_t last = -1;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &w)) return;
    onx_value *same =
        onx_emit_wide(x, "Equal", onx_x_unsqueeze(x, v, -1), onx_x_reshape(x, w, 1, &rest));
    onx_value *any = onx_emit_wide_with(x, "ReduceMax", ONX_ATTRS(ONX_AI("keepdims", 0)), same,
                                        onx_x_ints(x, 1, &last));
    onx_x_give(x, out, onx_xv_true(&a[3]) ? onx_emit(x, "Not", any) : any);
}

static void lower_heaviside(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *at_0;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &at_0)) return;
    onx_value *step = onx_x_cast(x, onx_emit_number(x, "Greater", v, 0), onx_x_dtype(x, v));
    onx_x_give(x, out, onx_emit(x, "Where", onx_emit_number(x, "Equal", v, 0), at_0, step));
}

/* ─ Logic ────────────────────────────────────────────────────────────────────────────────────── */

static const struct connective {
    const char *aten, *bools, *bits;
} connectives[] = {
    {"logical_and", "And", NULL},      {"logical_or", "Or", NULL},
    {"logical_xor", "Xor", NULL},      {"bitwise_and", "And", "BitwiseAnd"},
    {"bitwise_or", "Or", "BitwiseOr"}, {"bitwise_xor", "Xor", "BitwiseXor"},
    {"__and__", "And", "BitwiseAnd"},  {"__or__", "Or", "BitwiseOr"},
    {"__xor__", "Xor", "BitwiseXor"},
};

static void lower_connective(onx_export *x, const onx_xv *a, onx_xv *out) {
    const struct connective *c = connectives;
    while (c < connectives + ONX_COUNT(connectives) - 1 && !onx_str_is(onx_x_op(x), c->aten)) c++;
    onx_dtype dtype = c->bits ? onx_x_promote(x, 2, a) : ONX_DTYPE_BOOL;
    onx_x_give(x, out,
               onx_emit_wide(x, dtype == ONX_DTYPE_BOOL ? c->bools : c->bits,
                             onx_x_as(x, &a[0], dtype), onx_x_as(x, &a[1], dtype)));
}

static void lower_logical_not(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_emit(x, "Not", onx_x_as(x, a, ONX_DTYPE_BOOL)));
}

static void lower_bitwise_not(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    const char *op = onx_xv_type(x, a) == ONX_DTYPE_BOOL ? "Not" : "BitwiseNot";
    onx_x_give(x, out, onx_emit(x, op, v));
}

/* BitShift of ONNX is for unsigned numbers only: times 2^n, and divided by it, rounded down. */
static onx_value *power_of_2(onx_export *x, onx_value *n) {
    return n ? onx_emit_wide(x, "Pow", onx_x_number(x, onx_x_dtype(x, n), 2), n) : NULL;
}

static void lower_left_shift(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *n;
    if (onx_x_pair(x, &a[0], &a[1], &v, &n))
        onx_x_give(x, out, onx_emit_wide(x, "Mul", v, power_of_2(x, n)));
}

static void lower_right_shift(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *n;
    if (onx_x_pair(x, &a[0], &a[1], &v, &n))
        onx_x_give(x, out, onx_x_floor_div(x, v, power_of_2(x, n)));
}

#define COMPARE(name)                                                                              \
    { name "(Any self, Any other)", lower_compare, NULL }
#define CONNECT(name)                                                                              \
    { name "(Any self, Any other)", lower_connective, NULL }
#define SHIFT(name, lower)                                                                         \
    { name "(Any self, Any other)", lower, NULL }
const onx_aten onx_aten_logical[] = {
    COMPARE("eq"),
    COMPARE("ne"),
    COMPARE("not_equal"),
    COMPARE("lt"),
    COMPARE("less"),
    COMPARE("le"),
    COMPARE("less_equal"),
    COMPARE("gt"),
    COMPARE("greater"),
    COMPARE("ge"),
    COMPARE("greater_equal"),
    {"isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
     "bool equal_nan=False)",
     lower_isclose, NULL},
    {"allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
     "bool equal_nan=False) -> bool",
     lower_allclose, NULL},
    {"equal(Tensor self, Tensor other) -> bool", lower_equal, NULL},
    {"isin.Tensor_Tensor(Any elements, Tensor test_elements, *, bool assume_unique=False, "
     "bool invert=False)",
     lower_isin, NULL},
    {"isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
     "bool invert=False)",
     lower_isin, NULL},
    {"isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
     "bool invert=False)",
     lower_isin, NULL},
    {"heaviside(Tensor self, Tensor values)", lower_heaviside, NULL},
    CONNECT("logical_and"),
    CONNECT("logical_or"),
    CONNECT("logical_xor"),
    CONNECT("bitwise_and"),
    CONNECT("bitwise_or"),
    CONNECT("bitwise_xor"),
    CONNECT("__and__"),
    CONNECT("__or__"),
    CONNECT("__xor__"),

    {"logical_not(Tensor self)", lower_logical_not, NULL},
    {"bitwise_not(Tensor self)", lower_bitwise_not, NULL},
    SHIFT("bitwise_left_shift", lower_left_shift),
    SHIFT("bitwise_right_shift", lower_right_shift),
    SHIFT("__lshift__", lower_left_shift),
    SHIFT("__rshift__", lower_right_shift),
    {NULL, NULL, NULL},
};
