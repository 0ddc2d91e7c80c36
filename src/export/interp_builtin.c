/* interp_builtin.c: Python's operators on numbers, comparison of any values, and questions whose
 * answer does not depend on the model. */
#include "export/interp_builtin.h"

#include "ir/sym.h"

#include <math.h>

/* ─ Truth and equality ───────────────────────────────────────────────────────────────────────── */

onx_xv onx_py_number(onx_interp *in, onx_xv v, onx_script_type_kind type) {
    if (!onx_x_ok(in->x) || v.kind == ONX_X_UNKNOWN) return v;
    if (v.kind == ONX_X_TENSOR) v = onx_x_item(in->x, v.tensor);
    if (type == ONX_PY_BOOL) return onx_py_truth(in, v);
    if (type == ONX_PY_NUMBER || v.kind == ONX_X_COMPLEX || v.kind == ONX_X_UNKNOWN) return v;
    if (type == ONX_PY_STR) {
        onx_xarg args[] = {{.v = onx_xv_str(ONX_LIT("{}"))}, {.v = v}};
        return onx_py_operator(in, ONX_LIT("format"), 2, args);
    }
    if (onx_xv_is_number(&v) && type == ONX_PY_INT) return onx_x_to_int(in->x, v);
    if (onx_xv_is_number(&v) && type == ONX_PY_FLOAT) return onx_x_to_float(in->x, v);
    onx_x_fail(in->x, ONX_UNSUPPORTED, "%s as a number", onx_py_kind(&v));
    return onx_py_none();
}

onx_xv onx_py_truth(onx_interp *in, onx_xv v) {
    size_t n = 0;
    if (!onx_x_ok(in->x) || v.kind == ONX_X_UNKNOWN) return onx_py_unknown();
    if (v.kind == ONX_X_TENSOR) v = onx_x_item(in->x, v.tensor);
    if (v.kind == ONX_X_BOOL) return v;
    if (onx_xv_is_number(&v)) return onx_x_arith(in->x, "ne", v, onx_xv_int(in->x, 0));
    if (onx_py_is_stack(in, &v))
        return onx_x_arith(in->x, "gt", onx_py_stack_length(in, &v), onx_xv_int(in->x, 0));
    if (v.kind == ONX_X_STR) return onx_xv_bool(in->x, v.str.size > 0);
    if (v.kind == ONX_X_DICT) return onx_xv_bool(in->x, v.dict->keys.n > 0);
    if (onx_py_items(&v, &n)) return onx_xv_bool(in->x, n > 0);
    return onx_xv_bool(in->x, v.kind != ONX_X_NONE);
}

/* ─ Guesses ──────────────────────────────────────────────────────────────────────────────────── */

static void guess(onx_interp *in, const onx_xv *cond, bool holds) {
    static char no[] = "no", yes[] = "yes";
    if (onx_x_ok(in->x) && cond->kind == ONX_X_BOOL && cond->value &&
        !onx_map_put(&in->guesses, cond->value, (onx_str){NULL, 0}, holds ? yes : no))
        onx_x_nomem(in->x);
}

bool onx_py_guess(onx_interp *in, const onx_xv *cond, bool *holds) {
    const char *is = onx_map_get(&in->guesses, cond->value, (onx_str){NULL, 0});
    if (is) *holds = is[0] == 'y';
    return is != NULL;
}

/* Programs ask whether there is anything at all (`if n > 0`): there is, or they would not be run.
 * `word` compares a with b, of which one is 0 and the other a size. */
static void guess_size(onx_interp *in, const char *word, const onx_xv *a, const onx_xv *b,
                       const onx_xv *cond) {
    int64_t ia, ib;
    bool ka = onx_xv_known_int(a, &ia), kb = onx_xv_known_int(b, &ib);
    const onx_xv *size = ka ? b : a;
    if (ka == kb || !size->sym || size->kind != ONX_X_INT || (ka ? ia : ib) != 0) return;
    bool greater = word[0] == 'g', less = word[0] == 'l';
    if (word[1] == 'e' && (greater || less)) greater = less = false;
    guess(in, cond, ka ? less || word[0] == 'n' : greater || word[0] == 'n');
}

onx_xv onx_py_not(onx_interp *in, onx_xv v) {
    bool known;
    v = onx_py_truth(in, v);
    if (v.kind == ONX_X_UNKNOWN || !onx_x_ok(in->x)) return v;
    if (onx_xv_known_bool(&v, &known)) return onx_xv_bool(in->x, !known);
    onx_value *value = onx_x_scalar(in->x, &v, ONX_DTYPE_BOOL);
    onx_xv inverse = onx_xv_run(ONX_X_BOOL, value ? onx_emit(in->x, "Not", value) : NULL);
    if (onx_py_guess(in, &v, &known)) guess(in, &inverse, !known);
    return inverse;
}

static onx_xv equal_lists(onx_interp *in, const onx_xv *a, size_t na, const onx_xv *b, size_t nb) {
    onx_xv all = onx_xv_bool(in->x, na == nb);
    if (!onx_py_spend(in, na)) return all;
    for (size_t i = 0; na == nb && i < na && onx_x_ok(in->x); i++) {
        onx_xv same = onx_py_equal(in, &a[i], &b[i]);
        if (same.kind == ONX_X_UNKNOWN) return same;
        all = onx_x_arith(in->x, "and", all, same);
    }
    return all;
}

static onx_xv compare(onx_interp *in, const onx_xv *a, const onx_xv *b) {
    size_t na = 0, nb = 0;
    const onx_xv *ia = onx_py_items(a, &na), *ib = onx_py_items(b, &nb);
    if (a->kind == ONX_X_UNKNOWN || b->kind == ONX_X_UNKNOWN) return onx_py_unknown();
    if (onx_xv_is_number(a) && onx_xv_is_number(b)) return onx_x_arith(in->x, "eq", *a, *b);
    if (ia && ib) return equal_lists(in, ia, na, ib, nb);
    if (a->kind != b->kind) return onx_xv_bool(in->x, false);
    switch (a->kind) {
    case ONX_X_STR: return onx_xv_bool(in->x, onx_str_eq(a->str, b->str));
    case ONX_X_COMPLEX: return onx_xv_bool(in->x, a->f == b->f && a->im == b->im);
    case ONX_X_TENSOR: return onx_xv_bool(in->x, a->tensor == b->tensor);
    case ONX_X_OBJECT: return onx_xv_bool(in->x, a->object == b->object);
    default: return onx_xv_bool(in->x, true); /* None, devices */
    }
}

onx_xv onx_py_equal(onx_interp *in, const onx_xv *a, const onx_xv *b) {
    onx_xv result = onx_py_none();
    if (onx_py_enter(in)) result = compare(in, a, b);
    onx_py_leave(in);
    return result;
}

/* ─ Arithmetic ───────────────────────────────────────────────────────────────────────────────── */

static bool arith(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)n;
    if (!onx_xv_is_number(&a[0].v) || !onx_xv_is_number(&a[1].v)) return false;
    *out = onx_x_arith(in->x, row->word, a[0].v, a[1].v);
    return true;
}

static bool order(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    if (!arith(in, row, n, a, out)) return false;
    guess_size(in, row->word, &a[0].v, &a[1].v, out);
    return true;
}

static bool power(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    if (!arith(in, row, n, a, out)) return false;
    *out = onx_x_to_float(in->x, *out);
    return true;
}

static bool is_equal(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    (void)n;
    if (a[0].v.kind == ONX_X_TENSOR || a[1].v.kind == ONX_X_TENSOR) return false;
    *out = onx_py_equal(in, &a[0].v, &a[1].v);
    if (onx_xv_is_number(&a[0].v) && onx_xv_is_number(&a[1].v))
        guess_size(in, "eq", &a[0].v, &a[1].v, out);
    if (row->word[0] == 'n') *out = onx_py_not(in, *out);
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

static bool negate(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    (void)row, (void)n;
    if (!onx_xv_is_number(&a[0].v)) return false;
    *out = a[0].v.kind == ONX_X_FLOAT && !a[0].v.sym && !a[0].v.value
               ? onx_xv_float(-a[0].v.f)
               : onx_x_arith(in->x, "sub", onx_xv_int(in->x, 0), a[0].v);
    return true;
}

static bool absolute(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    onx_xv minus;
    if (!negate(in, row, n, a, &minus)) return false;
    *out = onx_x_arith(in->x, "max", a[0].v, minus);
    return true;
}

static bool invert(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    (void)row, (void)n;
    if (a[0].v.kind == ONX_X_TENSOR) return false;
    *out = onx_py_not(in, a[0].v);
    return true;
}

static const struct function {
    const char *name;
    double (*f)(double);
    const char *node; /* that computes it; NULL: none does */
} functions[] = {
    {"sqrt", sqrt, "Sqrt"},   {"exp", exp, "Exp"},      {"log", log, "Log"},
    {"sin", sin, "Sin"},      {"cos", cos, "Cos"},      {"tan", tan, "Tan"},
    {"asin", asin, "Asin"},   {"acos", acos, "Acos"},   {"atan", atan, "Atan"},
    {"sinh", sinh, "Sinh"},   {"cosh", cosh, "Cosh"},   {"tanh", tanh, "Tanh"},
    {"round", rint, "Round"}, {"log2", log2, NULL},     {"log10", log10, NULL},
    {"log1p", log1p, NULL},   {"expm1", expm1, NULL},   {"erf", erf, "Erf"},
    {"fabs", fabs, "Abs"},    {"lgamma", lgamma, NULL},
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

/* ─ Questions ────────────────────────────────────────────────────────────────────────────────── */

static bool is_same(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                    onx_xv *out) {
    const onx_xv *x = &a[0].v, *y = &a[1].v;
    (void)n;
    bool none = x->kind == ONX_X_NONE || y->kind == ONX_X_NONE;
    *out = none ? onx_xv_bool(in->x, x->kind == y->kind) : onx_py_equal(in, x, y);
    if (row->word[0] == 'n') *out = onx_py_not(in, *out);
    return true;
}

static bool give_word(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                      onx_xv *out) {
    (void)n, (void)a;
    *out = row->word[0] == 'N' ? onx_py_none() : onx_xv_bool(in->x, row->word[0] == 'T');
    return true;
}

static bool give_first(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out) {
    (void)in, (void)row, (void)n;
    *out = a[0].v;
    return true;
}

static bool dtype_of(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    (void)row, (void)n;
    if (a[0].v.kind != ONX_X_TENSOR) return false;
    const onx_torch_dtype_info *info = onx_torch_dtype_of_onx(a[0].v.tensor->dtype);
    *out = info ? onx_xv_int(in->x, info->dtype) : onx_py_none();
    return info || onx_x_fail(in->x, ONX_UNSUPPORTED, "a tensor of a type that PyTorch lacks");
}

static bool device_of(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                      onx_xv *out) {
    (void)in, (void)row, (void)n, (void)a;
    *out = (onx_xv){.kind = ONX_X_DEVICE, .str = ONX_LIT("cpu")};
    return true;
}

static bool layout_of(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                      onx_xv *out) {
    (void)row, (void)n, (void)a;
    *out = onx_xv_int(in->x, 0);
    return true;
}

static bool type_text(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                      onx_xv *out) {
    (void)in, (void)row, (void)n, (void)a;
    *out = onx_xv_str(ONX_LIT("cpu"));
    return true;
}

static bool num_to_tensor(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                          onx_xv *out) {
    (void)row, (void)n;
    if (!onx_xv_is_number(&a[0].v)) return give_first(in, row, n, a, out);
    *out = onx_xv_tensor(in->x, onx_x_scalar(in->x, &a[0].v, ONX_DTYPE_NONE));
    if (out->kind == ONX_X_TENSOR) out->tensor->wrapped = true;
    return true;
}

static bool raise(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)row, (void)n;
    *out = onx_py_none();
    onx_str why = a[0].v.kind == ONX_X_STR ? a[0].v.str : ONX_LIT("an exception");
    onx_x_fail(in->x, ONX_INVALID, "with these inputs the model raises: %.*s", ONX_FMT(why));
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
    {"eq", 2, 2, is_equal, "eq"},
    {"ne", 2, 2, is_equal, "ne"},
    {"__and__", 2, 2, bitwise, "and"},
    {"__or__", 2, 2, bitwise, "or"},
    {"__xor__", 2, 2, bitwise, "xor"},
    {"__not__", 1, 1, invert, ""},
    {"neg", 1, 1, negate, ""},
    {"abs", 1, 1, absolute, ""},
    {"prim::abs", 1, 1, absolute, ""},
    {"prim::min", 1, 2, extreme, "min"},
    {"prim::max", 1, 2, extreme, "max"},
    {"min", 1, 2, extreme, "min"},
    {"max", 1, 2, extreme, "max"},
    {"sqrt", 1, 1, function, "sqrt"},
    {"exp", 1, 1, function, "exp"},
    {"log", 1, 1, function, "log"},
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
    {"floor", 1, 1, whole_part, "floor"},
    {"ceil", 1, 1, whole_part, "ceil"},
    {"__range_length", 3, 3, range_length, ""},
    {"__derive_index", 3, 3, derive_index, ""},
    {"__is__", 2, 2, is_same, "is"},
    {"__isnot__", 2, 2, is_same, "not"},
    {"is_scripting", 0, 0, give_word, "T"},
    {"is_tracing", 0, 0, give_word, "F"},
    {"_get_tracing_state", 0, 0, give_word, "F"},
    {"is_grad_enabled", 0, 0, give_word, "F"},
    {"is_autocast_enabled", 0, 1, give_word, "F"},
    {"is_autocast_cpu_enabled", 0, 0, give_word, "F"},
    {"has_torch_function", 0, 9, give_word, "F"},
    {"_use_cudnn_rnn_flatten_weight", 0, 0, give_word, "F"},
    {"cudnn_is_acceptable", 1, 1, give_word, "F"},
    {"is_inference", 1, 1, give_word, "T"},
    {"set_grad_enabled", 1, 1, give_word, "N"},
    {"manual_seed", 1, 2, give_word, "N"},
    {"warn", 1, 2, give_word, "N"},
    {"_print", 1, 1, give_word, "N"},
    {"_assert", 1, 2, give_word, "N"},
    {"prim::Print", 0, 99, give_word, "N"},
    {"prim::requires_grad", 1, 1, give_word, "F"},
    {"detach_", 1, 1, give_first, ""},
    {"requires_grad_", 1, 2, give_first, ""},
    {"prim::is_cpu", 1, 1, give_word, "T"},
    {"prim::is_leaf", 1, 1, give_word, "T"},
    {"prim::is_cuda", 1, 1, give_word, "F"},
    {"prim::is_xla", 1, 1, give_word, "F"},
    {"prim::is_xpu", 1, 1, give_word, "F"},
    {"prim::is_mps", 1, 1, give_word, "F"},
    {"prim::is_mkldnn", 1, 1, give_word, "F"},
    {"prim::is_mtia", 1, 1, give_word, "F"},
    {"prim::is_maia", 1, 1, give_word, "F"},
    {"prim::is_vulkan", 1, 1, give_word, "F"},
    {"prim::is_ipu", 1, 1, give_word, "F"},
    {"prim::is_meta", 1, 1, give_word, "F"},
    {"prim::is_ort", 1, 1, give_word, "F"},
    {"prim::is_nested", 1, 1, give_word, "F"},
    {"prim::is_sparse", 1, 1, give_word, "F"},
    {"prim::is_sparse_csr", 1, 1, give_word, "F"},
    {"prim::is_quantized", 1, 1, give_word, "F"},
    {"prim::grad", 1, 1, give_word, "N"},
    {"prim::name", 1, 1, give_word, "N"},
    {"prim::index", 1, 1, give_word, "N"},
    {"prim::type", 1, 1, type_text, ""},
    {"prim::dtype", 1, 1, dtype_of, ""},
    {"prim::device", 1, 1, device_of, ""},
    {"prim::layout", 1, 1, layout_of, ""},
    {"device", 1, 2, device_of, ""},
    {"prim::data", 1, 1, give_first, ""},
    {"prim::unchecked_unwrap_optional", 1, 1, give_first, ""},
    {"_unwrap_optional", 1, 1, give_first, ""},
    {"wait", 1, 1, give_first, ""},
    {"prim::awaitable_wait", 1, 1, give_first, ""},
    {"Size", 1, 1, give_first, ""},
    {"prim::NumToTensor", 1, 1, num_to_tensor, ""},
    {"prim::RaiseException", 1, 2, raise, ""},
    {NULL, 0, 0, NULL, NULL},
};

/* ─ Finding the row ──────────────────────────────────────────────────────────────────────────── */

bool onx_py_has_unknown(size_t n, const onx_xarg *a) {
    for (size_t i = 0; i < n; i++)
        if (a[i].v.kind == ONX_X_UNKNOWN) return true;
    return false;
}

bool onx_interp_add_builtins(onx_interp *in) {
    static const onx_py_row *const tables[] = {onx_py_lists, onx_py_strings, onx_py_numbers};
    for (size_t i = 0; i < ONX_COUNT(tables); i++)
        for (const onx_py_row *row = tables[i]; row->name; row++)
            if (!onx_map_put(&in->builtins, tables[i], onx_str_of(row->name),
                             (void *)(uintptr_t)row))
                return onx_x_nomem(in->x);
    return true;
}

bool onx_py_builtin(onx_interp *in, onx_str name, size_t n, const onx_xarg *args, onx_xv *out) {
    static const onx_py_row *const tables[] = {onx_py_lists, onx_py_strings, onx_py_numbers};
    for (size_t i = 0; i < ONX_COUNT(tables); i++) {
        const onx_py_row *row = onx_map_get(&in->builtins, tables[i], name);
        if (!row || n < row->least || n > row->most) continue;
        bool unknown = tables[i] != onx_py_lists && onx_py_has_unknown(n, args);
        *out = onx_py_unknown();
        if (unknown || row->fn(in, row, n, args, out) || !onx_x_ok(in->x)) return true;
    }
    return false;
}
