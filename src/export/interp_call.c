/* interp_call.c: calls in TorchScript: of functions and methods, which are inlined; of operators,
 * which Python or the table of ATen's operators has; and of forms like annotate and isinstance. */
#include "export/interp_internal.h"
#include "export/modules.h"

#include "base/number.h"

#include <stdio.h>

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

/* All arguments of a call, evaluated from left to right, behind room for one more. */
static onx_xarg *eval_args(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xarg *args = onx_x_array(in->x, e->n + 1, sizeof *args);
    for (size_t i = 1; args && i < e->n && onx_x_ok(in->x); i++) {
        onx_str keyword = e->items[i]->keyword;
        args[i] = (onx_xarg){.name = keyword.size ? keyword : (onx_str){NULL, 0},
                             .v = onx_py_eval(in, frame, e->items[i])};
    }
    return onx_x_ok(in->x) ? args : NULL;
}

static onx_xv eval_arg(onx_interp *in, onx_frame *frame, const onx_script_expr *e, size_t i) {
    if (i < e->n) return onx_py_eval(in, frame, e->items[i]);
    onx_x_fail(in->x, ONX_MALFORMED, "a call with too few arguments");
    return onx_py_none();
}

/* ─ Functions ────────────────────────────────────────────────────────────────────────────────── */

static size_t find_arg(const onx_script_func *func, onx_str name) {
    size_t i = 0;
    while (i < func->arg_count && !onx_str_eq(func->args[i].name, name)) i++;
    return i;
}

static bool bind_args(onx_interp *in, const onx_script_func *func, size_t n, const onx_xarg *args,
                      onx_xv *locals) {
    for (size_t i = 0; i < func->local_count; i++) locals[i] = onx_py_other(onx_py_unset, NULL);
    for (size_t i = 0; i < n; i++) {
        size_t at = args[i].name.data ? find_arg(func, args[i].name) : i;
        if (at >= func->arg_count)
            return onx_x_fail(in->x, ONX_MALFORMED,
                              "'%.*s' is called with arguments that it does "
                              "not take",
                              ONX_FMT(func->name));
        locals[at] = args[i].v;
    }
    for (size_t i = 0; i < func->arg_count && onx_x_ok(in->x); i++) {
        if (!onx_py_is_other(&locals[i], onx_py_unset)) continue;
        if (!func->args[i].value)
            return onx_x_fail(in->x, ONX_MALFORMED, "'%.*s' is called without '%.*s'",
                              ONX_FMT(func->name), ONX_FMT(func->args[i].name));
        locals[i] = onx_py_eval(in, NULL, func->args[i].value);
    }
    return onx_x_ok(in->x);
}

onx_xv onx_py_call_func(onx_interp *in, const onx_script_func *func, size_t n,
                        const onx_xarg *args) {
    onx_frame frame = {.func = func, .result = {.kind = ONX_X_NONE}};
    if (in->calls == ONX_INTERP_CALLS) {
        onx_x_fail(in->x, ONX_LIMIT, "more than %d calls within calls", ONX_INTERP_CALLS);
        onx_x_hint(in->x, "a function that calls itself cannot be exported");
        return onx_py_none();
    }
    frame.locals = onx_x_array(in->x, func->local_count + 1, sizeof *frame.locals);
    if (!frame.locals || !bind_args(in, func, n, args, frame.locals)) return onx_py_none();
    in->calls++;
    onx_py_exec(in, &frame, &func->body);
    in->calls--;
    return frame.result;
}

onx_xv onx_py_call_method(onx_interp *in, const onx_xv *self, onx_str name, size_t n,
                          const onx_xarg *args) {
    const onx_py_object *object = self->object;
    const onx_script_func *method = onx_script_method(object->cls, name);
    onx_xarg *all = onx_x_array(in->x, n + 1, sizeof *all);
    if (!method)
        onx_x_fail(in->x, ONX_MALFORMED, "'%.*s' has no method '%.*s'", ONX_FMT(object->cls->name),
                   ONX_FMT(name));
    if (!method || !all) return onx_py_none();
    all[0] = (onx_xarg){.v = *self};
    if (n) memcpy(all + 1, args, n * sizeof *args);
    onx_str path = in->x->path;
    if (object->cls->kind == ONX_CLASS_MODULE) {
        in->x->path = object->path;
        onx_x_module(in->x, object->path, object->cls->name);
    }
    onx_xv result = onx_py_call_func(in, method, n + 1, all);
    if (onx_x_ok(in->x)) in->x->path = path; /* else it is part of the message */
    return result;
}

/* A named tuple, or an object that is then initialised. */
static onx_xv construct(onx_interp *in, const onx_script_class *cls, size_t n,
                        const onx_xarg *args) {
    onx_xv v = onx_py_new(in, cls, ONX_LIT(""), NULL);
    if (v.kind != ONX_X_OBJECT) return v;
    if (cls->kind != ONX_CLASS_NAMED_TUPLE) {
        onx_py_call_method(in, &v, ONX_LIT("__init__"), n, args);
        return v;
    }
    if (n != cls->attr_count)
        onx_x_fail(in->x, ONX_MALFORMED, "a '%.*s' of %zu values", ONX_FMT(cls->name), n);
    for (size_t i = 0; i < n && onx_x_ok(in->x); i++) {
        onx_str name = args[i].name.data ? args[i].name : cls->attrs[i].name;
        onx_py_set(in, &v, name, args[i].v);
    }
    return v;
}

static onx_xv call_value(onx_interp *in, const onx_xv *callee, size_t n, const onx_xarg *args) {
    if (onx_py_is_other(callee, onx_py_func)) return onx_py_call_func(in, callee->object, n, args);
    if (onx_py_is_other(callee, onx_py_class)) return construct(in, callee->object, n, args);
    if (callee->kind != ONX_X_UNKNOWN)
        onx_x_fail(in->x, ONX_MALFORMED, "%s is called", onx_py_kind(callee));
    return onx_py_unknown();
}

/* ─ Operators ────────────────────────────────────────────────────────────────────────────────── */

onx_xv onx_py_operator(onx_interp *in, onx_str name, size_t n, const onx_xarg *args) {
    onx_xv out[ONX_X_OUTS], result;
    size_t count = 0;
    if (!onx_x_ok(in->x)) return onx_py_none();
    if (onx_py_stack_call(in, name, n, args, &result)) return result;
    if (onx_py_builtin(in, name, n, args, &result)) return result;
    if (++in->operators > ONX_INTERP_OPERATORS) {
        onx_x_fail(in->x, ONX_LIMIT, "more than %d operators are called", ONX_INTERP_OPERATORS);
        onx_x_hint(in->x, "long loops are unrolled unless their length depends on an input's size");
        return onx_py_none();
    }
    onx_interp_warn_traced(in, name, n, args);
    onx_py_upgrade(in, name, &n, &args);
    onx_py_autocast(in, name, n, &args);
    if (!onx_aten_call(in->x, name, (onx_str){NULL, 0}, n, args, out, &count)) return onx_py_none();
    if (count == 1) return out[0];
    return count ? onx_xv_list(in->x, ONX_X_TUPLE, count, out) : onx_py_none();
}

/* "ops.torchvision.nms" is torchvision::nms; "ops.aten.add" and "torch.add" are add. */
static onx_str operator_name(onx_interp *in, onx_str dotted) {
    onx_str rest = {dotted.data + strlen("ops."), dotted.size - strlen("ops.")};
    if (dotted.data[0] == 't') return (onx_str){dotted.data + 6, dotted.size - 6};
    const char *dot = memchr(rest.data, '.', rest.size);
    size_t space = dot ? (size_t)(dot - rest.data) : rest.size;
    if (dot && onx_str_is((onx_str){rest.data, space}, "aten"))
        return (onx_str){dot + 1, rest.size - space - 1};
    char *text = onx_x_alloc(in->x, rest.size + 2);
    if (!text || !dot) return rest;
    memcpy(text, rest.data, space);
    memcpy(text + space, "::", 2);
    memcpy(text + space + 2, dot + 1, rest.size - space - 1);
    return (onx_str){text, rest.size + 1};
}

void onx_py_place(onx_interp *in, const onx_frame *frame, uint32_t at) {
    if (!frame) return;
    const onx_script_file *file = frame->func->file;
    onx_str origin = onx_script_origin(in->script, file, at);
    if (origin.size) {
        in->x->where = origin;
        return;
    }
    char *text = onx_x_alloc(in->x, file->path.size + 24);
    if (!text) return;
    int n = snprintf(text, file->path.size + 24, "%.*s:%zu", (int)file->path.size, file->path.data,
                     onx_script_line(file, at));
    in->x->where = (onx_str){text, (size_t)n};
}

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

static bool all_are(onx_interp *in, const onx_xlist *list, const onx_script_expr *type) {
    if (!onx_py_spend(in, list->n)) return false;
    for (size_t i = 0; i < list->n; i++)
        if (!onx_py_is_a(in, &list->v[i], type)) return false;
    return true;
}

static bool is_tuple_of(onx_interp *in, const onx_xv *v, const onx_script_type *type) {
    size_t n = 0;
    const onx_xv *items = v->kind == ONX_X_LIST ? NULL : onx_py_items(v, &n);
    if (!items || n != type->n) return false;
    for (size_t i = 0; i < n; i++)
        if (!onx_py_is_a(in, &items[i], type->items[i])) return false;
    return true;
}

static bool is_object_of(const onx_xv *v, onx_str name) {
    const onx_py_object *object = v->kind == ONX_X_OBJECT ? v->object : NULL;
    return object && onx_str_eq(object->cls->name, name);
}

/* Types have only so many levels (onx_script_expr.height). */
bool onx_py_is_a(onx_interp *in, const onx_xv *v, const onx_script_expr *e) {
    static const onx_xkind plain[] = {
        [ONX_PY_TENSOR] = ONX_X_TENSOR,   [ONX_PY_INT] = ONX_X_INT,
        [ONX_PY_FLOAT] = ONX_X_FLOAT,     [ONX_PY_BOOL] = ONX_X_BOOL,
        [ONX_PY_COMPLEX] = ONX_X_COMPLEX, [ONX_PY_STR] = ONX_X_STR,
        [ONX_PY_DEVICE] = ONX_X_DEVICE,   [ONX_PY_ANY_LIST] = ONX_X_LIST,
        [ONX_PY_ANY_TUPLE] = ONX_X_TUPLE,
    };
    onx_script_type type = onx_script_type_of(e);
    switch (type.kind) {
    case ONX_PY_ANY: return true;
    case ONX_PY_NONE: return v->kind == ONX_X_NONE;
    case ONX_PY_NUMBER: return onx_xv_is_number(v) || v->kind == ONX_X_COMPLEX;
    case ONX_PY_OPTIONAL: return v->kind == ONX_X_NONE || onx_py_is_a(in, v, type.items[0]);
    case ONX_PY_LIST: return v->kind == ONX_X_LIST && all_are(in, v->list, type.items[0]);
    case ONX_PY_DICT:
        return v->kind == ONX_X_DICT && all_are(in, &v->dict->keys, type.items[0]) &&
               all_are(in, &v->dict->values, type.items[1]);
    case ONX_PY_TUPLE: return is_tuple_of(in, v, &type);
    case ONX_PY_UNION:
        for (size_t i = 0; i < type.n; i++)
            if (onx_py_is_a(in, v, type.items[i])) return true;
        return false;
    case ONX_PY_FUTURE:
    case ONX_PY_FINAL: return onx_py_is_a(in, v, type.items[0]);
    case ONX_PY_CLASS: return is_object_of(v, type.name);
    default:
        return type.kind < ONX_COUNT(plain) && plain[type.kind] == v->kind &&
               plain[type.kind] != ONX_X_NONE;
    }
}

/* ─ Forms ────────────────────────────────────────────────────────────────────────────────────── */

static onx_xv form_cast(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv v = eval_arg(in, frame, e, 2);
    const onx_py_maybe *maybe = onx_py_maybe_of(&v);
    return maybe ? maybe->value : v;
}

static bool is_number_type(onx_script_type_kind kind) {
    return kind == ONX_PY_INT || kind == ONX_PY_FLOAT || kind == ONX_PY_BOOL ||
           kind == ONX_PY_NUMBER || kind == ONX_PY_COMPLEX;
}

/* A tensor that is said to be a number is its element. */
static onx_xv form_annotate(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv v = eval_arg(in, frame, e, 2);
    onx_script_type type = onx_script_type_of(e->items[1]);
    if (type.kind == ONX_PY_OPTIONAL) type = onx_script_type_of(type.items[0]);
    if (v.kind != ONX_X_TENSOR || !is_number_type(type.kind)) return v;
    return onx_py_number(in, v, type.kind);
}

static onx_xv form_uninitialized(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    (void)in, (void)frame, (void)e;
    return onx_py_unknown();
}

static onx_xv form_isinstance(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv v = eval_arg(in, frame, e, 1);
    if (!onx_x_ok(in->x) || e->n < 3 || v.kind == ONX_X_UNKNOWN) return onx_py_unknown();
    const onx_script_expr *types = e->items[2];
    bool several = types->kind == ONX_EXPR_TUPLE || types->kind == ONX_EXPR_LIST, is = false;
    for (size_t i = 0; several && i < types->n; i++) is |= onx_py_is_a(in, &v, types->items[i]);
    return onx_xv_bool(in->x, several ? is : onx_py_is_a(in, &v, types));
}

static onx_xv form_getattr(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv v = eval_arg(in, frame, e, 1), name = eval_arg(in, frame, e, 2);
    if (!onx_x_ok(in->x) || v.kind == ONX_X_UNKNOWN) return v;
    if (name.kind == ONX_X_STR) return onx_py_get(in, &v, name.str);
    onx_x_fail(in->x, ONX_MALFORMED, "getattr without a name");
    return onx_py_none();
}

static onx_xv form_number(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv v = eval_arg(in, frame, e, 1);
    if (!onx_x_ok(in->x) || v.kind == ONX_X_UNKNOWN) return v;
    return onx_py_number(in, v, onx_script_type_of(e->items[0]).kind);
}

static onx_xv form_sorted(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xarg *args = eval_args(in, frame, e);
    return args ? onx_py_operator(in, ONX_LIT("sorted"), e->n - 1, args + 1) : onx_py_none();
}

static onx_xv form_print(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    for (size_t i = 1; i < e->n; i++) (void)onx_py_eval(in, frame, e->items[i]);
    return onx_py_none();
}

/* What is to run beside the rest runs here and now; a Future is its value. */
static onx_xv form_fork(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv callee = eval_arg(in, frame, e, 1);
    if (!onx_x_ok(in->x) || !onx_py_is_other(&callee, onx_py_inner)) {
        onx_xarg *args = eval_args(in, frame, e);
        return args ? call_value(in, &callee, e->n - 2, args + 2) : onx_py_none();
    }
    const onx_script_stmt *def = callee.object;
    onx_frame inner = *frame;
    inner.returned = false;
    inner.result = onx_py_none();
    onx_py_exec(in, &inner, &def->body);
    return inner.result;
}

typedef onx_xv form_fn(onx_interp *in, onx_frame *frame, const onx_script_expr *e);

static form_fn *find_form(onx_str name) {
    static const struct {
        const char *name;
        form_fn *fn;
    } forms[] = {
        {"annotate", form_annotate}, {"unchecked_cast", form_cast},
        {"getattr", form_getattr},   {"isinstance", form_isinstance},
        {"int", form_number},        {"float", form_number},
        {"bool", form_number},       {"complex", form_number},
        {"str", form_number},        {"uninitialized", form_uninitialized},
        {"print", form_print},       {"fork", form_fork},
        {"awaitable", form_fork},    {"sorted", form_sorted},
    };
    for (size_t i = 0; i < ONX_COUNT(forms); i++)
        if (onx_str_is(name, forms[i].name)) return forms[i].fn;
    return NULL;
}

/* ─ All calls ────────────────────────────────────────────────────────────────────────────────── */

/* (x).method(...), C.__new__(C) */
static onx_xv call_member(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_str name = e->items[0]->text;
    onx_xv self = onx_py_eval(in, frame, e->items[0]->items[0]);
    onx_xarg *args = eval_args(in, frame, e);
    if (!args || self.kind == ONX_X_UNKNOWN) return onx_py_unknown();
    onx_py_place(in, frame, e->at);
    if (self.kind == ONX_X_OBJECT) return onx_py_call_method(in, &self, name, e->n - 1, args + 1);
    if (onx_py_is_other(&self, onx_py_class) && onx_str_is(name, "__new__"))
        return onx_py_new(in, self.object, ONX_LIT(""), NULL);
    args[0] = (onx_xarg){.v = self};
    return onx_py_operator(in, name, e->n, args);
}

static bool is_operator(onx_str dotted) {
    return dotted.size > 6 &&
           (memcmp(dotted.data, "torch.", 6) == 0 || memcmp(dotted.data, "ops.", 4) == 0);
}

onx_xv onx_py_call(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    const onx_script_expr *callee = e->items[0];
    onx_str dotted = onx_script_dotted(callee);
    form_fn *form = dotted.size && callee->kind == ONX_EXPR_NAME ? find_form(dotted) : NULL;
    if (form) return form(in, frame, e);
    bool named = callee->kind == ONX_EXPR_ATTR && dotted.size;
    if (callee->kind == ONX_EXPR_ATTR && !is_operator(dotted) &&
        (!named || onx_str_is(callee->text, "__new__")))
        return call_member(in, frame, e);
    onx_xv function = onx_py_none();
    if (!is_operator(dotted)) function = onx_py_eval(in, frame, callee);
    onx_xarg *args = eval_args(in, frame, e);
    if (!args) return onx_py_none();
    onx_py_place(in, frame, e->at);
    if (is_operator(dotted))
        return onx_py_operator(in, operator_name(in, dotted), e->n - 1, args + 1);
    return call_value(in, &function, e->n - 1, args + 1);
}
