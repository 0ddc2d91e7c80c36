/* arith.c: numbers of a program: known, symbolic, or computed by the model, and Python's arithmetic
 * on them. What can be known is known: two sizes add up to a size, and only what depends on data
 * becomes nodes. */
#include "export/export.h"
#include "ir/ir.h"
#include "ir/sym_internal.h"

#include <math.h>

/* ─ Making values ────────────────────────────────────────────────────────────────────────────── */

onx_xv onx_xv_sym(onx_xkind kind, const onx_sym *sym) {
    return (onx_xv){.kind = kind, .sym = sym};
}

onx_xv onx_xv_int(onx_export *x, int64_t value) {
    const onx_sym *sym = onx_sym_int(x->syms, value);
    if (!sym) onx_x_nomem(x);
    return onx_xv_sym(ONX_X_INT, sym);
}

onx_xv onx_xv_bool(onx_export *x, bool value) {
    const onx_sym *sym = onx_sym_int(x->syms, value);
    if (!sym) onx_x_nomem(x);
    return onx_xv_sym(ONX_X_BOOL, sym);
}

onx_xv onx_xv_float(double value) {
    return (onx_xv){.kind = ONX_X_FLOAT, .f = value};
}

onx_xv onx_xv_str(onx_str str) {
    return (onx_xv){.kind = ONX_X_STR, .str = str};
}

onx_xv onx_xv_run(onx_xkind kind, onx_value *value) {
    return value ? (onx_xv){.kind = kind, .value = value} : (onx_xv){.kind = ONX_X_NONE};
}

bool onx_xlist_add(onx_export *x, onx_xlist *list, onx_xv v) {
    if (!onx_arena_grow(&x->arena, &list->v, &list->cap, list->n, sizeof *list->v))
        return onx_x_nomem(x);
    list->v[list->n++] = v;
    return true;
}

onx_xv onx_xv_list(onx_export *x, onx_xkind kind, size_t n, const onx_xv *v) {
    onx_xlist *list = onx_x_alloc(x, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        if (!onx_xlist_add(x, list, v[i])) list = NULL;
    return list ? (onx_xv){.kind = kind, .list = list} : (onx_xv){.kind = ONX_X_NONE};
}

onx_xv onx_xv_dict(onx_export *x) {
    onx_xdict *dict = onx_x_alloc(x, sizeof *dict);
    return dict ? (onx_xv){.kind = ONX_X_DICT, .dict = dict} : (onx_xv){.kind = ONX_X_NONE};
}

/* ─ Asking ───────────────────────────────────────────────────────────────────────────────────── */

static bool is_whole(const onx_xv *v) {
    return v->kind == ONX_X_INT || v->kind == ONX_X_BOOL;
}

bool onx_xv_known_int(const onx_xv *v, int64_t *out) {
    return is_whole(v) && v->sym && onx_sym_is_int(v->sym, out);
}

bool onx_xv_known_bool(const onx_xv *v, bool *out) {
    int64_t value;
    if (!onx_xv_known_int(v, &value)) return false;
    *out = value != 0;
    return true;
}

bool onx_xv_known_float(const onx_export *x, const onx_xv *v, double *out) {
    int64_t value;
    if (onx_xv_known_int(v, &value)) {
        *out = (double)value;
        return true;
    }
    if (v->kind != ONX_X_FLOAT || v->value) return false;
    if (v->sym) return onx_sym_is_real(x->syms, v->sym, out);
    *out = v->f;
    return true;
}

bool onx_xv_elems(onx_export *x, const onx_xv *v, size_t *n, const onx_sym *const **elems) {
    if (v->kind != ONX_X_TENSOR) return false;
    const onx_fact *fact = onx_x_fact(x, onx_xt_value(x, v->tensor));
    if (!fact->elems || !fact->ranked || fact->rank > 1) return false;
    for (size_t i = 0; i < fact->n_elems; i++)
        if (!fact->elems[i]) return false;
    *n = fact->n_elems;
    *elems = fact->elems;
    return true;
}

/* ─ Numbers as tensors, and back ─────────────────────────────────────────────────────────────── */

static onx_value *make_real(onx_export *x, const onx_sym *sym);

/* A factor of a number that is not whole; recursion is as deep as atoms in atoms. */
static onx_value *make_factor(onx_export *x, const onx_atom *atom) {
    const char *op = atom->kind == ONX_ATOM_MIN   ? "Min"
                     : atom->kind == ONX_ATOM_MAX ? "Max"
                                                  : "Div";
    if (onx_sym_is_whole(atom->self))
        return onx_x_cast(x, onx_x_size(x, atom->self), ONX_DTYPE_F64);
    return onx_emit(x, op, make_real(x, atom->a), make_real(x, atom->b));
}

/* A number made of sizes, in doubles, as Python computes. */
static onx_value *make_real(onx_export *x, const onx_sym *sym) {
    onx_value *sum = NULL;
    if (!sym) return onx_x_fail(x, ONX_UNSUPPORTED, "a number made of sizes is too involved");
    if (onx_sym_is_whole(sym)) return onx_x_cast(x, onx_x_size(x, sym), ONX_DTYPE_F64);
    for (uint32_t i = 0; i < sym->n && onx_x_ok(x); i++) {
        const onx_term *term = &sym->terms[i];
        onx_value *product =
            term->n && term->coef == 1 ? NULL : onx_x_number(x, ONX_DTYPE_F64, (double)term->coef);
        for (uint32_t k = 0; k < term->n && onx_x_ok(x); k++) {
            onx_value *factor = make_factor(x, term->factors[k]);
            product = product ? onx_emit(x, "Mul", product, factor) : factor;
        }
        sum = sum ? onx_emit(x, "Add", sum, product) : product;
    }
    return sum;
}

/* A ratio of sizes as a float. */
static onx_value *make_ratio(onx_export *x, const onx_sym *sym, onx_dtype dtype) {
    const onx_sym *num, *den;
    if (!onx_sym_fraction(x->syms, sym, &num, &den)) return make_real(x, sym);
    onx_value *top = onx_x_cast(x, onx_x_size(x, num), dtype);
    int64_t one;
    if (onx_sym_is_int(den, &one) && one == 1) return top;
    return top ? onx_emit(x, "Div", top, onx_x_cast(x, onx_x_size(x, den), dtype)) : NULL;
}

static onx_dtype own_dtype(const onx_export *x, const onx_xv *number) {
    if (number->value) return onx_x_dtype(x, number->value);
    return number->kind == ONX_X_FLOAT  ? ONX_DTYPE_F32
           : number->kind == ONX_X_BOOL ? ONX_DTYPE_BOOL
                                        : ONX_DTYPE_I64;
}

onx_value *onx_x_scalar(onx_export *x, const onx_xv *number, onx_dtype dtype) {
    double known;
    int64_t whole;
    if (!onx_x_ok(x)) return NULL;
    if (!onx_xv_is_number(number)) return onx_x_fail(x, ONX_INVALID, "a number is expected");
    if (!dtype) dtype = own_dtype(x, number);
    if (number->value) return onx_x_cast(x, number->value, dtype);
    if (onx_xv_known_int(number, &whole) && dtype == ONX_DTYPE_I64) return onx_x_int(x, whole);
    if (onx_xv_known_float(x, number, &known)) return onx_x_number(x, dtype, known);
    if (!onx_sym_is_whole(number->sym))
        return onx_x_cast(x, make_ratio(x, number->sym, ONX_DTYPE_F32), dtype);
    return onx_x_cast(x, onx_x_size(x, number->sym), dtype);
}

static onx_xkind kind_of(onx_dtype dtype) {
    if (dtype == ONX_DTYPE_BOOL) return ONX_X_BOOL;
    return onx_dtype_is_int(dtype) ? ONX_X_INT : ONX_X_FLOAT;
}

/* Of a tensor of one element that is always the same. */
static bool constant_item(const onx_fact *fact, double *out) {
    uint64_t count;
    return fact->constant && !onx_tensor_count(fact->constant, &count, NULL) && count == 1 &&
           !onx_tensor_read_as(fact->constant, ONX_DTYPE_F64, out, sizeof *out, NULL);
}

onx_xv onx_x_item(onx_export *x, onx_xt *t) {
    onx_value *value = onx_xt_value(x, t);
    const onx_fact *fact = onx_x_fact(x, value);
    onx_xkind kind = kind_of(fact->dtype);
    double number;
    if (!value) return (onx_xv){.kind = ONX_X_NONE};
    if (kind == ONX_X_FLOAT && constant_item(fact, &number)) return onx_xv_float(number);
    if (fact->elems && fact->n_elems == 1 && fact->elems[0] &&
        (kind == ONX_X_FLOAT || onx_sym_is_whole(fact->elems[0])))
        return onx_xv_sym(kind, fact->elems[0]);
    if (kind != ONX_X_FLOAT && constant_item(fact, &number))
        return onx_xv_sym(kind, onx_sym_int(x->syms, (int64_t)number));
    if (fact->ranked && fact->rank > 0) value = onx_x_reshape(x, value, 0, NULL);
    return onx_xv_run(kind, value);
}

/* ─ Arithmetic ───────────────────────────────────────────────────────────────────────────────── */

typedef enum result_kind { SAME, FLOAT, BOOL } result_kind;

typedef struct rule {
    const char *word;
    result_kind result;
    const onx_sym *(*sym)(onx_syms *syms, const onx_sym *a, const onx_sym *b); /* of sizes */
    double (*f)(double a, double b);
    const char *node; /* of ONNX */
} rule;

static const onx_sym *sym_mod(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return onx_sym_sub(syms, a, onx_sym_mul(syms, b, onx_sym_floordiv(syms, a, b)));
}
/* 1 or 0 where it can be told whatever the sizes are. */
static const onx_sym *truth(onx_syms *syms, bool yes, bool no) {
    return yes || no ? onx_sym_int(syms, yes) : NULL;
}
static bool above(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return onx_sym_at_least(syms, a, onx_sym_add(syms, b, onx_sym_int(syms, 1)));
}
static const onx_sym *sym_eq(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return truth(syms, a == b, a != b && (above(syms, a, b) || above(syms, b, a)));
}
static const onx_sym *sym_ne(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return truth(syms, a != b && (above(syms, a, b) || above(syms, b, a)), a == b);
}
static const onx_sym *sym_ge(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return truth(syms, onx_sym_at_least(syms, a, b), above(syms, b, a));
}
static const onx_sym *sym_gt(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return truth(syms, above(syms, a, b), onx_sym_at_least(syms, b, a));
}
static const onx_sym *sym_le(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return sym_ge(syms, b, a);
}
static const onx_sym *sym_lt(onx_syms *syms, const onx_sym *a, const onx_sym *b) {
    return sym_gt(syms, b, a);
}

static double f_add(double a, double b) {
    return a + b;
}
static double f_sub(double a, double b) {
    return a - b;
}
static double f_mul(double a, double b) {
    return a * b;
}
static double f_div(double a, double b) {
    return a / b;
}
static double f_floordiv(double a, double b) {
    return floor(a / b);
}
static double f_mod(double a, double b) {
    return a - b * floor(a / b);
}
static double f_min(double a, double b) {
    return a < b ? a : b;
}
static double f_max(double a, double b) {
    return a > b ? a : b;
}
static double f_eq(double a, double b) {
    return a == b;
}
static double f_ne(double a, double b) {
    return a != b;
}
static double f_lt(double a, double b) {
    return a < b;
}
static double f_le(double a, double b) {
    return a <= b;
}
static double f_gt(double a, double b) {
    return a > b;
}
static double f_ge(double a, double b) {
    return a >= b;
}
static double f_and(double a, double b) {
    return a != 0 && b != 0;
}
static double f_or(double a, double b) {
    return a != 0 || b != 0;
}

static const rule rules[] = {
    {"add", SAME, onx_sym_add, f_add, "Add"},
    {"sub", SAME, onx_sym_sub, f_sub, "Sub"},
    {"mul", SAME, onx_sym_mul, f_mul, "Mul"},
    {"floordiv", SAME, onx_sym_floordiv, f_floordiv, NULL},
    {"mod", SAME, sym_mod, f_mod, "Mod"},
    {"truediv", FLOAT, onx_sym_ratio, f_div, "Div"},
    {"min", SAME, onx_sym_min, f_min, "Min"},
    {"max", SAME, onx_sym_max, f_max, "Max"},
    {"pow", SAME, NULL, pow, "Pow"},
    {"eq", BOOL, sym_eq, f_eq, "Equal"},
    {"ne", BOOL, sym_ne, f_ne, NULL},
    {"lt", BOOL, sym_lt, f_lt, "Less"},
    {"le", BOOL, sym_le, f_le, "LessOrEqual"},
    {"gt", BOOL, sym_gt, f_gt, "Greater"},
    {"ge", BOOL, sym_ge, f_ge, "GreaterOrEqual"},
    {"and", BOOL, NULL, f_and, "And"},
    {"or", BOOL, NULL, f_or, "Or"},
};

static const rule *find_rule(const char *word) {
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (strcmp(rules[i].word, word) == 0) return &rules[i];
    return NULL;
}

static onx_value *floor_divide(onx_export *x, onx_value *a, onx_value *b) {
    if (onx_dtype_is_float(onx_x_dtype(x, a)))
        return onx_emit(x, "Floor", onx_emit(x, "Div", a, b));
    return onx_emit(x, "Div", onx_emit(x, "Sub", a, onx_emit(x, "Mod", a, b)), b);
}

/* By the model. */
static onx_value *run(onx_export *x, const rule *r, const onx_xv *a, const onx_xv *b) {
    bool logic = r->f == f_and || r->f == f_or;
    bool real = r->result == FLOAT || a->kind == ONX_X_FLOAT || b->kind == ONX_X_FLOAT;
    onx_dtype dtype = logic ? ONX_DTYPE_BOOL : real ? ONX_DTYPE_F32 : ONX_DTYPE_I64;
    onx_value *va = onx_x_scalar(x, a, dtype), *vb = onx_x_scalar(x, b, dtype);
    if (!va || !vb) return NULL;
    if (r->f == f_floordiv) return floor_divide(x, va, vb);
    if (r->f == f_ne) return onx_emit(x, "Not", onx_emit(x, "Equal", va, vb));
    if (r->f == f_mod && real)
        return onx_emit(x, "Sub", va, onx_emit(x, "Mul", vb, floor_divide(x, va, vb)));
    return onx_emit(x, r->node, va, vb);
}

static onx_xkind result_of(const rule *r, const onx_xv *a, const onx_xv *b) {
    if (r->result == BOOL) return ONX_X_BOOL;
    bool real = r->result == FLOAT || a->kind == ONX_X_FLOAT || b->kind == ONX_X_FLOAT;
    return real ? ONX_X_FLOAT : ONX_X_INT;
}

/* As floats, which Python's ints beyond 2^53 are not: those are left to `sym`. */
static bool compute(onx_export *x, const rule *r, onx_xkind kind, const onx_xv *a, const onx_xv *b,
                    onx_xv *out) {
    double fa, fb;
    if (!onx_xv_known_float(x, a, &fa) || !onx_xv_known_float(x, b, &fb)) return false;
    if (fb == 0 && (r->f == f_div || r->f == f_floordiv || r->f == f_mod)) {
        onx_x_fail(x, ONX_INVALID, "division by zero");
        return false;
    }
    double f = r->f(fa, fb);
    *out =
        kind == ONX_X_FLOAT ? onx_xv_float(f) : onx_xv_sym(kind, onx_sym_int(x->syms, (int64_t)f));
    return true;
}

/* As an expression: sizes, and floats that are exactly a ratio; NULL: it is none. */
static const onx_sym *sym_of(const onx_export *x, const onx_xv *v) {
    bool plain = v->kind == ONX_X_FLOAT && !v->sym && !v->value;
    return plain ? onx_sym_real(x->syms, v->f) : v->sym;
}

/* Is there such an expression? Ratios are not divided with a rest. */
static bool has_sym(const rule *r, const onx_sym *a, const onx_sym *b) {
    if (!r->sym || !a || !b) return false;
    bool rest = r->sym == onx_sym_floordiv || r->sym == sym_mod;
    return !rest || (onx_sym_is_whole(a) && onx_sym_is_whole(b));
}

onx_xv onx_x_arith(onx_export *x, const char *op, onx_xv a, onx_xv b) {
    const rule *r = find_rule(op);
    onx_xv none = {.kind = ONX_X_NONE}, out;
    if (!onx_x_ok(x)) return none;
    if (!r || !onx_xv_is_number(&a) || !onx_xv_is_number(&b)) {
        onx_x_fail(x, ONX_INVALID, "'%s' of what are not numbers", op);
        return none;
    }
    onx_xkind kind = result_of(r, &a, &b);
    bool whole = is_whole(&a) && is_whole(&b);
    int64_t ia, ib;
    bool known = onx_xv_known_int(&a, &ia) && onx_xv_known_int(&b, &ib);
    if (!(known && whole && r->result == SAME) && compute(x, r, kind, &a, &b, &out)) return out;
    if (!onx_x_ok(x)) return none;
    const onx_sym *sa = sym_of(x, &a), *sb = sym_of(x, &b);
    if (has_sym(r, sa, sb) && (whole || r->result != BOOL)) {
        const onx_sym *sym = r->sym(x->syms, sa, sb);
        if (sym) return onx_xv_sym(kind, sym);
    }
    if (compute(x, r, kind, &a, &b, &out)) return out;
    return onx_xv_run(kind, run(x, r, &a, &b));
}

onx_xv onx_x_negate(onx_export *x, onx_xv number) {
    bool plain =
        number.kind == ONX_X_FLOAT && !number.sym && !number.value; /* 0 - 0.0 is no -0.0 */
    return plain ? onx_xv_float(-number.f) : onx_x_arith(x, "sub", onx_xv_int(x, 0), number);
}

onx_xv onx_x_to_int(onx_export *x, onx_xv number) {
    double f;
    if (number.kind == ONX_X_INT || number.kind == ONX_X_BOOL) {
        number.kind = ONX_X_INT;
        return number;
    }
    if (onx_xv_known_float(x, &number, &f)) return onx_xv_int(x, (int64_t)trunc(f));
    if (number.sym) return onx_xv_sym(ONX_X_INT, onx_sym_floor(x->syms, number.sym));
    return onx_xv_run(ONX_X_INT, onx_x_scalar(x, &number, ONX_DTYPE_I64));
}

onx_xv onx_x_to_float(onx_export *x, onx_xv number) {
    double f;
    if (onx_xv_known_float(x, &number, &f)) return onx_xv_float(f);
    if (number.sym) return onx_xv_sym(ONX_X_FLOAT, number.sym);
    onx_dtype own = number.value ? onx_x_dtype(x, number.value) : ONX_DTYPE_NONE;
    return onx_xv_run(ONX_X_FLOAT,
                      onx_x_scalar(x, &number, onx_dtype_is_float(own) ? own : ONX_DTYPE_F32));
}
