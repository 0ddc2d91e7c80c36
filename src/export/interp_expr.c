/* interp_expr.c: expressions of TorchScript to values. */
#include "export/interp_internal.h"

const char *onx_py_kind(const onx_xv *v) {
    static const char *const kinds[] = {
        [ONX_X_NONE] = "None",        [ONX_X_TENSOR] = "a tensor",
        [ONX_X_INT] = "an int",       [ONX_X_FLOAT] = "a float",
        [ONX_X_BOOL] = "a bool",      [ONX_X_COMPLEX] = "a complex number",
        [ONX_X_STR] = "a string",     [ONX_X_LIST] = "a list",
        [ONX_X_TUPLE] = "a tuple",    [ONX_X_DICT] = "a dict",
        [ONX_X_OBJECT] = "an object", [ONX_X_DEVICE] = "a device",
        [ONX_X_OTHER] = "a function", [ONX_X_UNKNOWN] = "unknown",
    };
    return kinds[v->kind];
}

bool onx_py_spend(onx_interp *in, size_t steps) {
    in->steps += steps < ONX_INTERP_STEPS ? steps : ONX_INTERP_STEPS;
    if (in->steps <= ONX_INTERP_STEPS) return onx_x_ok(in->x);
    onx_x_fail(in->x, ONX_LIMIT, "the program takes more than %d steps", ONX_INTERP_STEPS);
    return false;
}

bool onx_py_enter(onx_interp *in) {
    if (++in->depth <= ONX_INTERP_DEPTH) return onx_x_ok(in->x);
    onx_x_fail(in->x, ONX_LIMIT, "the program is nested more than %d levels deep",
               ONX_INTERP_DEPTH);
    return false;
}

void onx_py_leave(onx_interp *in) {
    in->depth--;
}

const onx_xv *onx_py_items(const onx_xv *v, size_t *n) {
    static const onx_xv nothing;
    const onx_py_object *object = v->kind == ONX_X_OBJECT ? v->object : NULL;
    if (onx_xv_is_list(v)) {
        *n = v->list->n;
        return *n ? v->list->v : &nothing;
    }
    if (!object || object->cls->kind != ONX_CLASS_NAMED_TUPLE) return NULL;
    *n = object->cls->attr_count;
    return object->attrs;
}

/* ─ Names and attributes ─────────────────────────────────────────────────────────────────────── */

static onx_xv eval_name(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    bool bound = frame && e->slot >= 0;
    if (bound && !onx_py_is_other(&frame->locals[e->slot], onx_py_unset))
        return frame->locals[e->slot];
    onx_x_fail(in->x, ONX_MALFORMED, "'%.*s' has no value", ONX_FMT(e->text));
    return onx_py_none();
}

/* "__torch__.a.f", "__torch__.a.C", "__torch__.a.E.RED" */
static onx_xv eval_symbol(onx_interp *in, const onx_script_expr *e, onx_str name) {
    onx_script_symbol found = {0};
    onx_status status = onx_script_find(in->script, name, &found, &in->x->diag);
    if (status) in->x->status = status;
    if (found.func) return onx_py_other(onx_py_func, found.func);
    if (found.cls) return onx_py_other(onx_py_class, found.cls);
    onx_str outer = onx_script_dotted(e->items[0]);
    if (!status) status = onx_script_find(in->script, outer, &found, &in->x->diag);
    if (status) in->x->status = status;
    if (found.cls && found.cls->kind == ONX_CLASS_ENUM)
        for (size_t i = 0; i < found.cls->attr_count; i++)
            if (onx_str_eq(found.cls->attrs[i].name, e->text)) return onx_py_enum(in, found.cls, i);
    onx_x_fail(in->x, ONX_MALFORMED, "the archive has no code for '%.*s'", ONX_FMT(name));
    return onx_py_none();
}

static bool starts(onx_str text, const char *front) {
    size_t n = strlen(front);
    return text.size > n && memcmp(text.data, front, n) == 0;
}

static onx_xv eval_attr(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_str name = onx_script_dotted(e);
    if (starts(name, "CONSTANTS.")) return onx_py_constant(in, e->text);
    if (starts(name, "__torch__.")) return eval_symbol(in, e, name);
    onx_xv base = onx_py_eval(in, frame, e->items[0]);
    return onx_x_ok(in->x) ? onx_py_get(in, &base, e->text) : onx_py_none();
}

/* ─ Constants, lists ─────────────────────────────────────────────────────────────────────────── */

static onx_xv eval_constant(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    (void)frame;
    switch (e->kind) {
    case ONX_EXPR_BOOL: return onx_xv_bool(in->x, e->i != 0);
    case ONX_EXPR_INT: return onx_xv_int(in->x, e->i);
    case ONX_EXPR_FLOAT: return onx_xv_float(e->f);
    case ONX_EXPR_COMPLEX: return (onx_xv){.kind = ONX_X_COMPLEX, .f = e->f, .im = e->imag};
    case ONX_EXPR_STR: return onx_xv_str(e->text);
    default: return onx_py_none();
    }
}

static onx_xv eval_list(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xkind kind = e->kind == ONX_EXPR_LIST ? ONX_X_LIST : ONX_X_TUPLE;
    onx_xv list = onx_xv_list(in->x, kind, 0, NULL);
    for (size_t i = 0; i < e->n && onx_x_ok(in->x); i++)
        onx_xlist_add(in->x, list.list, onx_py_eval(in, frame, e->items[i]));
    return onx_py_fresh(in, list);
}

static onx_xv eval_dict(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv v = onx_xv_dict(in->x);
    for (size_t i = 0; i + 1 < e->n && onx_x_ok(in->x); i += 2) {
        onx_xlist_add(in->x, &v.dict->keys, onx_py_eval(in, frame, e->items[i]));
        onx_xlist_add(in->x, &v.dict->values, onx_py_eval(in, frame, e->items[i + 1]));
    }
    return onx_py_fresh(in, v);
}

/* ─ Elements ─────────────────────────────────────────────────────────────────────────────────── */

static onx_xv item_of_str(onx_interp *in, onx_str str, int64_t i) {
    i += i < 0 ? (int64_t)str.size : 0;
    if (i >= 0 && (uint64_t)i < str.size) return onx_xv_str((onx_str){str.data + i, 1});
    onx_x_fail(in->x, ONX_INVALID, "a character that the string does not have");
    return onx_py_none();
}

onx_xv onx_py_item(onx_interp *in, const onx_xv *v, const onx_xv *index) {
    size_t n = 0;
    int64_t i;
    const onx_xv *items = onx_py_items(v, &n);
    if (v->kind == ONX_X_UNKNOWN || index->kind == ONX_X_UNKNOWN) return onx_py_unknown();
    if (v->kind == ONX_X_DICT) {
        const onx_xv *found = onx_py_find_key(in, v->dict, index);
        if (!found) onx_x_fail(in->x, ONX_INVALID, "a key that the dict does not have");
        return found ? *found : onx_py_none();
    }
    bool known = onx_xv_known_int(index, &i);
    if (v->kind == ONX_X_LIST && (!known || onx_py_is_stack(in, v)))
        return onx_py_stack_item(in, v, *index);
    if (!known) {
        onx_x_fail(in->x, ONX_UNSUPPORTED, "which element of %s is taken depends on data",
                   onx_py_kind(v));
        return onx_py_none();
    }
    if (v->kind == ONX_X_STR) return item_of_str(in, v->str, i);
    i += i < 0 ? (int64_t)n : 0;
    if (items && i >= 0 && (uint64_t)i < n) return items[i];
    onx_x_fail(in->x, ONX_INVALID,
               items ? "an element that the list does not have" : "an element of what has none");
    return onx_py_none();
}

static onx_xv eval_index(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    onx_xv base = onx_py_eval(in, frame, e->items[0]), index = onx_py_eval(in, frame, e->items[1]);
    return onx_x_ok(in->x) ? onx_py_item(in, &base, &index) : onx_py_none();
}

static bool bound_of(onx_interp *in, onx_frame *frame, const onx_script_expr *e, size_t n,
                     size_t none, size_t *out) {
    int64_t i = (int64_t)none;
    *out = none;
    if (!e) return true;
    onx_xv v = onx_py_eval(in, frame, e);
    if (!onx_xv_known_int(&v, &i)) return onx_x_fail(in->x, ONX_UNSUPPORTED, "a slice by data");
    i += i < 0 ? (int64_t)n : 0;
    *out = i < 0 ? 0 : (uint64_t)i > n ? n : (size_t)i;
    return true;
}

static onx_xv eval_slice(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    size_t n = 0, from, to;
    onx_xv base = onx_py_eval(in, frame, e->items[0]);
    const onx_xv *items = onx_py_items(&base, &n);
    if (!onx_x_ok(in->x) || base.kind == ONX_X_UNKNOWN) return base;
    if (!items) onx_x_fail(in->x, ONX_UNSUPPORTED, "a slice of %s", onx_py_kind(&base));
    if (!items || !bound_of(in, frame, e->items[1], n, 0, &from) ||
        !bound_of(in, frame, e->items[2], n, n, &to))
        return onx_py_none();
    return onx_xv_list(in->x, ONX_X_TUPLE, to > from ? to - from : 0, items + from);
}

onx_xv onx_py_eval(onx_interp *in, onx_frame *frame, const onx_script_expr *e) {
    static onx_xv (*const evals[])(onx_interp *, onx_frame *, const onx_script_expr *) = {
        [ONX_EXPR_NAME] = eval_name,      [ONX_EXPR_NONE] = eval_constant,
        [ONX_EXPR_BOOL] = eval_constant,  [ONX_EXPR_INT] = eval_constant,
        [ONX_EXPR_FLOAT] = eval_constant, [ONX_EXPR_COMPLEX] = eval_constant,
        [ONX_EXPR_STR] = eval_constant,   [ONX_EXPR_ATTR] = eval_attr,
        [ONX_EXPR_CALL] = onx_py_call,    [ONX_EXPR_INDEX] = eval_index,
        [ONX_EXPR_SLICE] = eval_slice,    [ONX_EXPR_LIST] = eval_list,
        [ONX_EXPR_TUPLE] = eval_list,     [ONX_EXPR_DICT] = eval_dict,
    };
    onx_xv v = onx_py_none();
    if (onx_py_enter(in)) v = evals[e->kind](in, frame, e);
    onx_py_leave(in);
    return v;
}
