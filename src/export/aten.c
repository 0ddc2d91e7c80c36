/* aten.c: calls of operators: the row that fits, its lowering, what is written, what is a view. */
#include "export/aten.h"
#include "export/bind_args.h"
#include "export/told.h"

/* The first row whose schema takes the arguments; one of that overload before the others. */
static const onx_xschema *resolve(onx_export *x, const onx_xschema *first, onx_str overload,
                                  size_t n, const onx_xarg *args, onx_xv **out) {
    size_t most = 0;
    for (const onx_xschema *s = first; s; s = s->next)
        if (s->n_params > most) most = s->n_params;
    *out = onx_x_array(x, most + 1, sizeof **out);
    for (int named = overload.size ? 1 : 0; *out && named >= 0; named--)
        for (const onx_xschema *s = first; s; s = s->next) {
            if (named && !onx_str_eq(s->overload, overload)) continue;
            if (onx_xargs_bind(x, s, n, args, *out)) return s;
            if (!onx_x_ok(x)) return NULL;
        }
    return NULL;
}

static bool has_unknown(size_t n, const onx_xarg *args) {
    for (size_t i = 0; i < n; i++) {
        const onx_xv *v = &args[i].v;
        if (v->kind == ONX_X_UNKNOWN) return true;
        for (size_t k = 0; onx_xv_is_list(v) && k < v->list->n; k++)
            if (v->list->v[k].kind == ONX_X_UNKNOWN) return true;
    }
    return false;
}

static bool give_unknown(onx_xv out[ONX_X_OUTS], size_t *n_out, size_t n) {
    *n_out = n;
    for (size_t i = 0; i < ONX_X_OUTS; i++) out[i] = (onx_xv){.kind = ONX_X_UNKNOWN};
    return true;
}

/* ─ Views ────────────────────────────────────────────────────────────────────────────────────── */

static void view_of(onx_export *x, const onx_aten *row, onx_xv *args, onx_xt *base, onx_xt *t,
                    size_t index) {
    if (t == base || t->fresh) {
        t->fresh = false;
        return;
    }
    onx_xview *view = onx_x_alloc(x, sizeof *view);
    if (!view) return;
    *view = (onx_xview){t->rooted ? NULL : base->view, row, args, index, base->dtype, base->layout};
    if (!t->layout) t->layout = &onx_xlayout_unknown;
    t->storage = base->storage;
    t->view = view;
    t->version = base->storage->version;
}

/* Results of a view operator share the storage of the first argument. */
static void keep_views(onx_export *x, const onx_aten *row, onx_xv *args, const onx_xv *out) {
    if (args[0].kind != ONX_X_TENSOR || !onx_x_ok(x)) return;
    onx_xt *base = args[0].tensor;
    if (out->kind == ONX_X_TENSOR) view_of(x, row, args, base, out->tensor, 0);
    if (!onx_xv_is_list(out)) return;
    for (size_t i = 0; i < out->list->n; i++)
        if (out->list->v[i].kind == ONX_X_TENSOR)
            view_of(x, row, args, base, out->list->v[i].tensor, i);
}

/* ─ Calls ────────────────────────────────────────────────────────────────────────────────────── */

static void mismatch(onx_export *x, onx_str name, size_t n, const onx_xarg *args) {
    static const char *const kinds[] = {
        [ONX_X_NONE] = "None",   [ONX_X_TENSOR] = "Tensor",   [ONX_X_INT] = "int",
        [ONX_X_FLOAT] = "float", [ONX_X_BOOL] = "bool",       [ONX_X_COMPLEX] = "complex",
        [ONX_X_STR] = "str",     [ONX_X_LIST] = "list",       [ONX_X_TUPLE] = "tuple",
        [ONX_X_DICT] = "dict",   [ONX_X_OBJECT] = "object",   [ONX_X_DEVICE] = "device",
        [ONX_X_OTHER] = "value", [ONX_X_UNKNOWN] = "unknown",
    };
    onx_buf text;
    onx_buf_init(&text, x->ctx);
    for (size_t i = 0; i < n; i++) {
        if (i) onx_buf_puts(&text, ", ");
        if (args[i].name.data) onx_buf_printf(&text, "%.*s=", ONX_FMT(args[i].name));
        onx_buf_puts(&text, kinds[args[i].v.kind]);
    }
    if (!text.failed)
        onx_x_missing(x, name, (onx_str){text.data, text.size});
    else
        onx_x_nomem(x);
    onx_buf_fini(&text);
}

/* Padding must not be taken for elements: an operator that does not know of it is declined. */
static void check_nested(onx_export *x, const onx_xschema *s, const onx_xv *bound, onx_xv *out) {
    bool nested = false;
    for (size_t i = 0; i < s->n_params; i++)
        nested |= bound[i].kind == ONX_X_TENSOR && bound[i].tensor->inside;
    if (!nested || out->kind != ONX_X_TENSOR || out->tensor->inside) return;
    if (strncmp(s->row->schema, "to_padded_tensor", 16) == 0) return;
    onx_x_fail(x, ONX_UNSUPPORTED, "a nested tensor");
    onx_x_hint(x, "use torch.export, or padded tensors (enable_nested_tensor=False)");
}

static bool lower(onx_export *x, const onx_xschema *s, onx_xv *bound, onx_xv *out) {
    const char *op = x->op;
    x->op = s->row->schema;
    if (onx_quant_among(s->n_params, bound))
        onx_quant_lower(x, s, bound, out);
    else if (onx_complex_in(s->n_params, bound))
        onx_complex_lower(x, s, bound, out);
    else
        s->row->lower(x, bound, out);
    check_nested(x, s, bound, out);
    if (s->row->unview)
        keep_views(x, s->row, bound, out);
    else
        onx_lay_results(x, s->keeping, s->n_params, bound, s->n_outs, out);
    if (onx_x_ok(x)) x->op = op; /* else it is part of the message */
    return onx_x_ok(x);
}

/* The name of what an operator writes back: "add" of "add_", "__and__" of "__iand__". */
static onx_str plain_name(onx_export *x, onx_str name) {
    bool under = name.size > 5 && memcmp(name.data, "__i", 3) == 0 &&
                 memcmp(name.data + name.size - 2, "__", 2) == 0;
    if (!under) return (onx_str){name.data, name.size - (name.data[name.size - 1] == '_')};
    char *plain = onx_x_alloc(x, name.size);
    if (!plain) return name;
    memcpy(plain, "__", 2);
    memcpy(plain + 2, name.data + 3, name.size - 3);
    return (onx_str){plain, name.size - 1};
}

static bool is_written_back(onx_export *x, onx_str *name) {
    if (name->size < 2 || name->data[name->size - 1] != '_' || onx_xschema_find(x, *name))
        return false;
    onx_str plain = plain_name(x, *name);
    if (onx_str_eq(plain, *name) || !onx_xschema_find(x, plain)) return false;
    *name = plain;
    return true;
}

bool onx_aten_has(onx_export *x, onx_str name) {
    return onx_xschema_find(x, name) || is_written_back(x, &name);
}

bool onx_aten_call(onx_export *x, onx_str name, onx_str overload, size_t n, const onx_xarg *args,
                   onx_xv out[ONX_X_OUTS], size_t *n_out) {
    onx_xv *bound;
    memset(out, 0, ONX_X_OUTS * sizeof *out);
    *n_out = 1;
    if (!onx_x_ok(x)) return false;
    onx_str asked = name;
    bool back = is_written_back(x, &name);
    const onx_xschema *first = onx_xschema_find(x, name);
    bool open = x->survey || has_unknown(n, args);
    size_t custom = onx_custom_outs(x, asked);
    if (open && custom) return give_unknown(out, n_out, custom);
    if (!open && onx_custom_call(x, asked, n, args, out, n_out)) {
        onx_x_lowered(x, asked);
        return onx_x_ok(x);
    }
    if (first && open) return give_unknown(out, n_out, first->n_outs);
    const onx_xschema *s = first ? resolve(x, first, overload, n, args, &bound) : NULL;
    if (!onx_x_ok(x)) return false;
    if (!s) {
        mismatch(x, asked, n, args);
        return give_unknown(out, n_out, first ? first->n_outs : 1) && onx_x_ok(x);
    }
    *n_out = s->n_outs;
    onx_x_lowered(x, name);
    if (!lower(x, s, bound, out)) return false;
    if (back && bound[0].kind == ONX_X_TENSOR && out[0].kind == ONX_X_TENSOR) {
        onx_xt_write(x, bound[0].tensor, onx_xt_value(x, out[0].tensor));
        out[0] = bound[0];
    }
    return onx_x_ok(x);
}

onx_xv onx_aten_do(onx_export *x, const char *name, size_t n, const onx_xv *args) {
    onx_xv out[ONX_X_OUTS];
    size_t n_out;
    onx_xarg *list = onx_x_array(x, n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++) list[i] = (onx_xarg){.v = args[i]};
    if (list) onx_aten_call(x, onx_str_of(name), (onx_str){NULL, 0}, n, list, out, &n_out);
    return list ? out[0] : (onx_xv){.kind = ONX_X_NONE};
}

bool onx_aten_among(const char *names, onx_str name) {
    for (const char *at = names; (at = strchr(at, ' ')) != NULL && at[1]; at++)
        if (!strncmp(at + 1, name.data, name.size) && at[1 + name.size] == ' ') return true;
    return false;
}
