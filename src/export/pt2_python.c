/* pt2_python.c: functions of Python in torch.export graphs, which compute with numbers: sizes that
 * are symbols, and numbers that the model computes. */
#include "export/pt2_walk.h"

#include <math.h>

enum { POWER = 8 };

/* ─ One number ───────────────────────────────────────────────────────────────────────────────── */

typedef onx_xv number_fn(onx_export *x, onx_xv a);

static onx_xv positive(onx_export *x, onx_xv a) {
    (void)x;
    return a;
}

static onx_xv inverse(onx_export *x, onx_xv a) {
    return onx_x_arith(x, "eq", a, onx_xv_bool(x, false));
}

static onx_xv magnitude(onx_export *x, onx_xv a) {
    return onx_x_arith(x, "max", a, onx_x_negate(x, a));
}

/* math.floor, math.ceil: the symbolic, the known, the model's. */
static onx_xv rounded(onx_export *x, onx_xv a, bool up) {
    double f;
    if (a.kind != ONX_X_FLOAT) return a;
    const onx_sym *whole = up ? onx_sym_ceil(x->syms, a.sym) : onx_sym_floor(x->syms, a.sym);
    if (a.sym && whole) return onx_xv_sym(ONX_X_INT, whole);
    if (onx_xv_known_float(x, &a, &f))
        return onx_x_to_int(x, onx_xv_float(up ? ceil(f) : floor(f)));
    onx_value *value = onx_emit(x, up ? "Ceil" : "Floor", onx_x_scalar(x, &a, ONX_DTYPE_NONE));
    return onx_xv_run(ONX_X_INT, onx_x_cast(x, value, ONX_DTYPE_I64));
}

static onx_xv floored(onx_export *x, onx_xv a) {
    return rounded(x, a, false);
}

static onx_xv ceiled(onx_export *x, onx_xv a) {
    return rounded(x, a, true);
}

static onx_xv root(onx_export *x, onx_xv a) {
    double f;
    if (onx_xv_known_float(x, &a, &f)) return onx_xv_float(sqrt(f));
    return onx_xv_run(ONX_X_FLOAT, onx_emit(x, "Sqrt", onx_x_scalar(x, &a, ONX_DTYPE_F32)));
}

/* ─ More ─────────────────────────────────────────────────────────────────────────────────────── */

static onx_xv power(onx_export *x, onx_xv a, onx_xv b) {
    int64_t n;
    onx_xv result = onx_xv_int(x, 1);
    if (onx_xv_known_int(&b, &n) && n >= 0 && n <= POWER) {
        for (int64_t i = 0; i < n; i++) result = i ? onx_x_arith(x, "mul", result, a) : a;
        return result;
    }
    onx_value *base = onx_x_scalar(x, &a, ONX_DTYPE_F32), *by = onx_x_scalar(x, &b, ONX_DTYPE_F32);
    return onx_xv_run(ONX_X_FLOAT, base && by ? onx_emit(x, "Pow", base, by) : NULL);
}

static onx_xv choice(onx_export *x, onx_xv cond, onx_xv a, onx_xv b) {
    bool known;
    if (onx_xv_known_bool(&cond, &known)) return known ? a : b;
    onx_dtype type = a.kind == ONX_X_INT    ? ONX_DTYPE_I64
                     : a.kind == ONX_X_BOOL ? ONX_DTYPE_BOOL
                                            : ONX_DTYPE_F32;
    onx_value *c = onx_x_scalar(x, &cond, ONX_DTYPE_BOOL);
    onx_value *va = onx_x_scalar(x, &a, type), *vb = onx_x_scalar(x, &b, type);
    return onx_xv_run(a.kind, c && va && vb ? onx_emit(x, "Where", c, va, vb) : NULL);
}

static onx_xv sum(onx_export *x, const onx_xlist *list) {
    onx_xv result = onx_xv_int(x, 0);
    for (size_t i = 0; i < list->n; i++) result = onx_x_arith(x, "add", result, list->v[i]);
    return result;
}

/* ─ By name ──────────────────────────────────────────────────────────────────────────────────── */

static const struct {
    const char *name;
    number_fn *one;
    const char *two; /* a word of onx_x_arith */
} functions[] = {
    {"_operator.neg", onx_x_negate, NULL},
    {"_operator.pos", positive, NULL},
    {"_operator.abs", magnitude, NULL},
    {"_operator.not_", inverse, NULL},
    {"torch.sym_not", inverse, NULL},
    {"torch.sym_int", onx_x_to_int, NULL},
    {"torch.sym_float", onx_x_to_float, NULL},
    {"math.trunc", onx_x_to_int, NULL},
    {"math.floor", floored, NULL},
    {"math.ceil", ceiled, NULL},
    {"math.sqrt", root, NULL},
    {"torch.sym_sqrt", root, NULL},
    {"torch._sym_sqrt", root, NULL},
    {"_operator.add", NULL, "add"},
    {"_operator.iadd", NULL, "add"},
    {"_operator.sub", NULL, "sub"},
    {"_operator.mul", NULL, "mul"},
    {"_operator.imul", NULL, "mul"},
    {"_operator.floordiv", NULL, "floordiv"},
    {"_operator.mod", NULL, "mod"},
    {"_operator.truediv", NULL, "truediv"},
    {"_operator.eq", NULL, "eq"},
    {"_operator.ne", NULL, "ne"},
    {"_operator.lt", NULL, "lt"},
    {"_operator.le", NULL, "le"},
    {"_operator.gt", NULL, "gt"},
    {"_operator.ge", NULL, "ge"},
    {"_operator.and_", NULL, "and"},
    {"_operator.or_", NULL, "or"},
    {"torch.sym_max", NULL, "max"},
    {"torch.sym_min", NULL, "min"},
};

bool onx_pt2_python(onx_export *x, onx_str target, size_t n, const onx_xv *args, onx_xv *out) {
    for (size_t i = 0; i < n; i++)
        if (args[i].kind == ONX_X_UNKNOWN) return *out = args[i], true;
    for (size_t i = 0; i < n; i++)
        if (!onx_xv_is_number(&args[i]) && !onx_xv_is_list(&args[i])) return false;
    for (size_t i = 0; i < ONX_COUNT(functions); i++) {
        if (!onx_str_is(target, functions[i].name)) continue;
        if (n != (functions[i].one ? 1 : 2)) return false;
        *out = functions[i].one ? functions[i].one(x, args[0])
                                : onx_x_arith(x, functions[i].two, args[0], args[1]);
        return true;
    }
    bool list = n == 1 && onx_xv_is_list(&args[0]);
    if (n == 2 && onx_str_is(target, "_operator.pow"))
        *out = power(x, args[0], args[1]);
    else if (n == 3 && onx_str_is(target, "torch.sym_ite"))
        *out = choice(x, args[0], args[1], args[2]);
    else if (list && onx_str_is(target, "torch.sym_sum"))
        *out = sum(x, args[0].list);
    else
        return false;
    return true;
}
