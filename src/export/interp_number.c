/* interp_number.c: Python's operators on numbers: known, symbolic, or computed by the model. */
#include "export/interp_builtin.h"

#include "ir/sym.h"

#include <math.h>

#define PI 3.14159265358979323846

static bool arith(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)n;
    if (!onx_xv_is_number(&a[0].v) || !onx_xv_is_number(&a[1].v)) return false;
    *out = onx_x_arith(in->x, row->word, a[0].v, a[1].v);
    return true;
}

static bool order(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    if (!arith(in, row, n, a, out)) return false;
    onx_py_guess_size(in, row->word, &a[0].v, &a[1].v, out);
    return true;
}

static bool power(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    if (!arith(in, row, n, a, out)) return false;
    *out = onx_x_to_float(in->x, *out);
    return true;
}

/* & | ^ of bools, and of ints that are known. */
static bool bitwise(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                    onx_xv *out) {
    int64_t x, y;
    (void)n;
    if (!onx_xv_is_number(&a[0].v) || !onx_xv_is_number(&a[1].v)) return false;
    bool bools = a[0].v.kind == ONX_X_BOOL && a[1].v.kind == ONX_X_BOOL;
    if (onx_xv_known_int(&a[0].v, &x) && onx_xv_known_int(&a[1].v, &y)) {
        int64_t r = row->word[0] == 'a' ? x & y : row->word[0] == 'o' ? x | y : x ^ y;
        *out = bools ? onx_xv_bool(in->x, r != 0) : onx_xv_int(in->x, r);
    } else if (bools) {
        *out = onx_x_arith(in->x, row->word[0] == 'x' ? "ne" : row->word, a[0].v, a[1].v);
    } else {
        onx_x_fail(in->x, ONX_UNSUPPORTED, "bits of an int that is not known");
    }
    return true;
}

static bool gcd(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    int64_t x, y;
    (void)row, (void)n;
    if (!onx_xv_is_number(&a[0].v) || !onx_xv_is_number(&a[1].v)) return false;
    if (!onx_xv_known_int(&a[0].v, &x) || !onx_xv_known_int(&a[1].v, &y))
        return onx_x_fail(in->x, ONX_UNSUPPORTED, "gcd of an int that is not known");
    uint64_t u = x < 0 ? -(uint64_t)x : (uint64_t)x, v = y < 0 ? -(uint64_t)y : (uint64_t)y;
    while (v) {
        uint64_t rest = u % v;
        u = v, v = rest;
    }
    *out = onx_xv_int(in->x, (int64_t)u);
    return true;
}

static bool negate(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    (void)row, (void)n;
    if (!onx_xv_is_number(&a[0].v)) return false;
    *out = onx_x_negate(in->x, a[0].v);
    return true;
}

static bool absolute(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    onx_xv minus;
    if (!negate(in, row, n, a, &minus)) return false;
    *out = onx_x_arith(in->x, "max", a[0].v, minus);
    return true;
}

static double degrees(double v) {
    return v * (180 / PI);
}
static double radians(double v) {
    return v * (PI / 180);
}

static const struct function {
    const char *name;
    double (*f)(double);
    const char *node; /* that computes it; NULL: none does */
} functions[] = {
    {"sqrt", sqrt, "Sqrt"},    {"exp", exp, "Exp"},        {"log", log, "Log"},
    {"sin", sin, "Sin"},       {"cos", cos, "Cos"},        {"tan", tan, "Tan"},
    {"asin", asin, "Asin"},    {"acos", acos, "Acos"},     {"atan", atan, "Atan"},
    {"sinh", sinh, "Sinh"},    {"cosh", cosh, "Cosh"},     {"tanh", tanh, "Tanh"},
    {"round", rint, "Round"},  {"log2", log2, NULL},       {"log10", log10, NULL},
    {"log1p", log1p, NULL},    {"expm1", expm1, NULL},     {"erf", erf, "Erf"},
    {"fabs", fabs, "Abs"},     {"lgamma", lgamma, NULL},   {"gamma", tgamma, NULL},
    {"acosh", acosh, "Acosh"}, {"asinh", asinh, "Asinh"},  {"atanh", atanh, "Atanh"},
    {"erfc", erfc, NULL},      {"degrees", degrees, NULL}, {"radians", radians, NULL},
};

/* A function of one float. */
static bool function(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    const struct function *f = functions;
    double value;
    (void)n;
    if (!onx_xv_is_number(&a[0].v)) return false;
    while (strcmp(f->name, row->word) != 0) f++;
    if (onx_xv_known_float(in->x, &a[0].v, &value)) {
        *out = onx_xv_float(f->f(value));
        return true;
    }
    onx_value *v = f->node ? onx_x_scalar(in->x, &a[0].v, ONX_DTYPE_F32) : NULL;
    if (!f->node) onx_x_fail(in->x, ONX_UNSUPPORTED, "%s of a number that is not known", f->name);
    *out = onx_xv_run(ONX_X_FLOAT, v ? onx_emit(in->x, f->node, v) : NULL);
    return true;
}

static double log_to(double v, double base) {
    return log(v) / log(base);
}
static double scaled(double v, double exponent) {
    return v * exp2(exponent);
}

/* A function of two floats that are known. */
static const struct function2 {
    const char *name;
    double (*f)(double, double);
} functions2[] = {
    {"atan2", atan2}, {"fmod", fmod},    {"copysign", copysign}, {"mathremainder", remainder},
    {"log", log_to},  {"ldexp", scaled},
};

static bool function2(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                      onx_xv *out) {
    const struct function2 *f = functions2;
    double x, y;
    if (n == 1) return function(in, row, n, a, out);
    if (!onx_xv_is_number(&a[0].v) || !onx_xv_is_number(&a[1].v)) return false;
    while (strcmp(f->name, row->word) != 0) f++;
    if (!onx_xv_known_float(in->x, &a[0].v, &x) || !onx_xv_known_float(in->x, &a[1].v, &y))
        return onx_x_fail(in->x, ONX_UNSUPPORTED, "%s of a number that is not known", f->name);
    *out = onx_xv_float(f->f(x, y));
    return true;
}

static bool both_parts(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out) {
    (void)row, (void)n;
    if (!onx_xv_is_number(&a[0].v) || !onx_xv_is_number(&a[1].v)) return false;
    onx_xv parts[] = {onx_x_arith(in->x, "floordiv", a[0].v, a[1].v),
                      onx_x_arith(in->x, "mod", a[0].v, a[1].v)};
    *out = onx_xv_list(in->x, ONX_X_TUPLE, 2, parts);
    return true;
}

/* floor and ceil, which give an int. */
static bool whole_part(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out) {
    bool up = strcmp(row->word, "ceil") == 0;
    double f;
    (void)n;
    if (!onx_xv_is_number(&a[0].v)) return false;
    if (a[0].v.kind != ONX_X_FLOAT) {
        *out = onx_x_to_int(in->x, a[0].v);
    } else if (onx_xv_known_float(in->x, &a[0].v, &f)) {
        *out = onx_x_to_int(in->x, onx_xv_float(up ? ceil(f) : floor(f)));
    } else if (a[0].v.sym) {
        const onx_sym *(*part)(onx_syms *, const onx_sym *) = up ? onx_sym_ceil : onx_sym_floor;
        *out = onx_xv_sym(ONX_X_INT, part(in->x->syms, a[0].v.sym));
    } else {
        onx_value *v = onx_x_scalar(in->x, &a[0].v, ONX_DTYPE_NONE);
        v = v ? onx_emit(in->x, up ? "Ceil" : "Floor", v) : NULL;
        *out = onx_xv_run(ONX_X_INT, onx_x_cast(in->x, v, ONX_DTYPE_I64));
    }
    return true;
}

/* min and max of two numbers, or of a list of them. */
static bool extreme(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                    onx_xv *out) {
    if (n == 2) return arith(in, row, n, a, out);
    if (a[0].v.kind != ONX_X_LIST || a[0].v.list->n == 0) return false;
    *out = a[0].v.list->v[0];
    for (size_t i = 1; i < a[0].v.list->n && onx_x_ok(in->x); i++)
        *out = onx_x_arith(in->x, row->word, *out, a[0].v.list->v[i]);
    return true;
}

/* len(range(lo, hi, step)), and its element i. */
static bool range_length(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                         onx_xv *out) {
    int64_t step;
    onx_export *x = in->x;
    (void)row, (void)n;
    if (!onx_xv_known_int(&a[2].v, &step) || step == 0)
        return onx_x_fail(x, ONX_UNSUPPORTED, "a range whose step is 0 or not known");
    onx_xv lo = a[step > 0 ? 0 : 1].v, hi = a[step > 0 ? 1 : 0].v;
    onx_xv span = onx_x_arith(x, "sub", hi, lo), size = onx_xv_int(x, step > 0 ? step : -step);
    span = onx_x_arith(x, "add", span, onx_x_arith(x, "sub", size, onx_xv_int(x, 1)));
    span = onx_x_arith(x, "floordiv", span, size);
    *out = onx_x_arith(x, "max", span, onx_xv_int(x, 0));
    return true;
}

static bool derive_index(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                         onx_xv *out) {
    (void)row, (void)n;
    *out = onx_x_arith(in->x, "add", a[1].v, onx_x_arith(in->x, "mul", a[0].v, a[2].v));
    return true;
}

const onx_py_row onx_py_numbers[] = {
    {"add", 2, 2, arith, "add"},
    {"sub", 2, 2, arith, "sub"},
    {"mul", 2, 2, arith, "mul"},
    {"div", 2, 2, arith, "truediv"},
    {"floordiv", 2, 2, arith, "floordiv"},
    {"remainder", 2, 2, arith, "mod"},
    {"pow", 2, 2, power, "pow"},
    {"lt", 2, 2, order, "lt"},
    {"le", 2, 2, order, "le"},
    {"gt", 2, 2, order, "gt"},
    {"ge", 2, 2, order, "ge"},
    {"__and__", 2, 2, bitwise, "and"},
    {"__or__", 2, 2, bitwise, "or"},
    {"__xor__", 2, 2, bitwise, "xor"},
    {"gcd", 2, 2, gcd, ""},
    {"neg", 1, 1, negate, ""},
    {"abs", 1, 1, absolute, ""},
    {"prim::abs", 1, 1, absolute, ""},
    {"prim::min", 1, 2, extreme, "min"},
    {"prim::max", 1, 2, extreme, "max"},
    {"min", 1, 2, extreme, "min"},
    {"max", 1, 2, extreme, "max"},
    {"sqrt", 1, 1, function, "sqrt"},
    {"exp", 1, 1, function, "exp"},
    {"log", 1, 2, function2, "log"},
    {"sin", 1, 1, function, "sin"},
    {"cos", 1, 1, function, "cos"},
    {"tan", 1, 1, function, "tan"},
    {"asin", 1, 1, function, "asin"},
    {"acos", 1, 1, function, "acos"},
    {"atan", 1, 1, function, "atan"},
    {"sinh", 1, 1, function, "sinh"},
    {"cosh", 1, 1, function, "cosh"},
    {"tanh", 1, 1, function, "tanh"},
    {"round", 1, 1, function, "round"},
    {"log2", 1, 1, function, "log2"},
    {"log10", 1, 1, function, "log10"},
    {"log1p", 1, 1, function, "log1p"},
    {"expm1", 1, 1, function, "expm1"},
    {"erf", 1, 1, function, "erf"},
    {"fabs", 1, 1, function, "fabs"},
    {"lgamma", 1, 1, function, "lgamma"},
    {"gamma", 1, 1, function, "gamma"},
    {"acosh", 1, 1, function, "acosh"},
    {"asinh", 1, 1, function, "asinh"},
    {"atanh", 1, 1, function, "atanh"},
    {"erfc", 1, 1, function, "erfc"},
    {"degrees", 1, 1, function, "degrees"},
    {"radians", 1, 1, function, "radians"},
    {"atan2", 2, 2, function2, "atan2"},
    {"fmod", 2, 2, function2, "fmod"},
    {"copysign", 2, 2, function2, "copysign"},
    {"ldexp", 2, 2, function2, "ldexp"},
    {"mathremainder", 2, 2, function2, "mathremainder"},
    {"divmod", 2, 2, both_parts, ""},
    {"floor", 1, 1, whole_part, "floor"},
    {"ceil", 1, 1, whole_part, "ceil"},
    {"__range_length", 3, 3, range_length, ""},
    {"__derive_index", 3, 3, derive_index, ""},
    {NULL, 0, 0, NULL, NULL},
};
