/* interp_builtin.c: truth and equality of any values, questions whose answer does not depend on the
 * model, and which table has an operator. */
#include "export/interp_builtin.h"

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
void onx_py_guess_size(onx_interp *in, const char *word, const onx_xv *a, const onx_xv *b,
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

static bool is_equal(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                     onx_xv *out) {
    (void)n;
    if (a[0].v.kind == ONX_X_TENSOR || a[1].v.kind == ONX_X_TENSOR) return false;
    *out = onx_py_equal(in, &a[0].v, &a[1].v);
    if (onx_xv_is_number(&a[0].v) && onx_xv_is_number(&a[1].v))
        onx_py_guess_size(in, "eq", &a[0].v, &a[1].v, out);
    if (row->word[0] == 'n') *out = onx_py_not(in, *out);
    return true;
}

static bool invert(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    (void)row, (void)n;
    if (a[0].v.kind == ONX_X_TENSOR) return false;
    *out = onx_py_not(in, a[0].v);
    return true;
}

/* ─ Questions ────────────────────────────────────────────────────────────────────────────────── */

static bool is_same(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                    onx_xv *out) {
    const onx_xv *x = &a[0].v, *y = &a[1].v;
    (void)n;
    bool none = x->kind == ONX_X_NONE || y->kind == ONX_X_NONE;
    const onx_py_maybe *maybe = onx_py_maybe_of(x->kind == ONX_X_NONE ? y : x);
    bool differ = row->word[0] == 'n', absent = none && maybe;
    *out = absent ? maybe->there
           : none ? onx_xv_bool(in->x, x->kind == y->kind)
                  : onx_py_equal(in, x, y);
    if (absent != differ) *out = onx_py_not(in, *out);
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
    const onx_py_maybe *maybe = onx_py_maybe_of(&a[0].v);
    (void)in, (void)row, (void)n;
    *out = maybe ? maybe->value : a[0].v;
    return true;
}

static bool is_quantized(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                         onx_xv *out) {
    (void)row, (void)n;
    *out = onx_xv_bool(in->x, a[0].v.kind == ONX_X_TENSOR && a[0].v.tensor->quant);
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

const onx_py_row onx_py_questions[] = {
    {"eq", 2, 2, is_equal, "eq"},
    {"ne", 2, 2, is_equal, "ne"},
    {"__not__", 1, 1, invert, ""},
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
    {"prim::is_sparse", 1, 1, give_word, "F"},
    {"prim::is_sparse_csr", 1, 1, give_word, "F"},
    {"prim::is_quantized", 1, 1, is_quantized, ""},
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

static bool has_unknown(size_t n, const onx_xarg *a) {
    for (size_t i = 0; i < n; i++)
        if (a[i].v.kind == ONX_X_UNKNOWN) return true;
    return false;
}

bool onx_interp_add_builtins(onx_interp *in) {
    static const onx_py_row *const tables[] = {onx_py_lists, onx_py_dicts, onx_py_strings,
                                               onx_py_numbers, onx_py_questions};
    for (size_t i = 0; i < ONX_COUNT(tables); i++)
        for (const onx_py_row *row = tables[i]; row->name; row++)
            if (!onx_map_put(&in->builtins, tables[i], onx_str_of(row->name),
                             (void *)(uintptr_t)row))
                return onx_x_nomem(in->x);
    return true;
}

bool onx_py_builtin(onx_interp *in, onx_str name, size_t n, const onx_xarg *args, onx_xv *out) {
    static const onx_py_row *const tables[] = {onx_py_lists, onx_py_dicts, onx_py_strings,
                                               onx_py_numbers, onx_py_questions};
    for (size_t i = 0; i < ONX_COUNT(tables); i++) {
        const onx_py_row *row = onx_map_get(&in->builtins, tables[i], name);
        if (!row || n < row->least || n > row->most) continue;
        bool unknown =
            tables[i] != onx_py_lists && tables[i] != onx_py_dicts && has_unknown(n, args);
        *out = onx_py_unknown();
        if (unknown || row->fn(in, row, n, args, out) || !onx_x_ok(in->x)) return true;
    }
    return false;
}
