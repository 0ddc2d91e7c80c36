/* alias.c: tensors that share storage, in a graph of values that never change.
 *
 * PyTorch writes into tensors, and what shares their memory changes with them. Here a tensor is a
 * storage and a chain of views of it; a write computes the storage's next value, from the last view
 * back to the first, and views are computed again when somebody asks:
 *
 *     y = x[1:]          y: storage of x, view slice(1)
 *     y.add_(1)          storage of x := unview(slice(1), x, y + 1)
 *     x.sum()            reads the new value
 *
 * Writes in branches and loops are taken back at their end, and reported to who joins them. */
#include "export/aten.h"
#include "ir/edit.h"

enum { MAX_VIEWS = 256 };

onx_xv onx_xv_tensor(onx_export *x, onx_value *value) {
    if (!value) return (onx_xv){.kind = ONX_X_NONE};
    onx_xt *t = onx_x_alloc(x, sizeof *t);
    onx_xstorage *storage = onx_x_alloc(x, sizeof *storage);
    if (!t || !storage) return (onx_xv){.kind = ONX_X_NONE};
    storage->value = value;
    *t = (onx_xt){.storage = storage, .value = value, .dtype = onx_x_dtype(x, value)};
    return (onx_xv){.kind = ONX_X_TENSOR, .tensor = t};
}

/* What a view is given when it is looked at again. */
static onx_xv base_of(onx_export *x, const onx_xt *t, const onx_xview *view, onx_value *base) {
    onx_xv v = onx_xv_tensor(x, base);
    if (v.kind != ONX_X_TENSOR) return v;
    v.tensor->dtype = view->dtype;
    v.tensor->layout = view->layout;
    v.tensor->storage->layout = t->storage->layout; /* for those of the whole storage */
    return v;
}

/* What a view of `t` shows of `base`. */
static onx_value *look(onx_export *x, const onx_xt *t, const onx_xview *view, onx_value *base) {
    onx_xv out[ONX_X_OUTS] = {{.kind = ONX_X_NONE}}, *args = view->args;
    args[0] = base_of(x, t, view, base);
    if (!onx_x_ok(x)) return NULL;
    view->row->lower(x, args, out);
    const onx_xv *result = &out[0];
    if (onx_xv_is_list(result) && view->index < result->list->n)
        result = &result->list->v[view->index];
    if (!onx_x_ok(x) || result->kind != ONX_X_TENSOR) return NULL;
    return result->tensor->value;
}

/* The views from the storage on; returns how many. */
static size_t chain_of(onx_export *x, const onx_xt *t, const onx_xview *chain[MAX_VIEWS]) {
    size_t n = 0;
    for (const onx_xview *v = t->view; v; v = v->before) n++;
    if (n > MAX_VIEWS) onx_x_fail(x, ONX_LIMIT, "a view of more than %d views", MAX_VIEWS);
    if (n > MAX_VIEWS) return 0;
    size_t i = n;
    for (const onx_xview *v = t->view; v; v = v->before) chain[--i] = v;
    return n;
}

onx_value *onx_xt_value(onx_export *x, onx_xt *t) {
    const onx_xview *chain[MAX_VIEWS];
    if (!onx_x_ok(x)) return NULL;
    if (t->version == t->storage->version && onx_graph_sees(x->graph, t->value->graph))
        return t->value;
    onx_value *value = t->storage->value;
    size_t n = chain_of(x, t, chain);
    for (size_t i = 0; i < n && value; i++) value = look(x, t, chain[i], value);
    if (!value || !onx_x_ok(x)) return NULL;
    t->value = value;
    t->version = t->storage->version;
    return value;
}

onx_value *onx_xv_value(onx_export *x, const onx_xv *v) {
    if (v->kind == ONX_X_TENSOR) return onx_xt_value(x, v->tensor);
    if (onx_xv_is_number(v)) return onx_x_scalar(x, v, ONX_DTYPE_NONE);
    return onx_x_fail(x, ONX_INVALID, "a tensor is expected");
}

/* ─ Writing ──────────────────────────────────────────────────────────────────────────────────── */

/* The first write of a scope to a storage is remembered. */
static bool record(onx_export *x, onx_xstorage *storage) {
    onx_xscope *scope = x->scope;
    if (!scope) return true;
    for (size_t i = 0; i < scope->n; i++)
        if (scope->writes[i].storage == storage) return true;
    if (!onx_arena_grow(&x->arena, &scope->writes, &scope->cap, scope->n, sizeof *scope->writes))
        return onx_x_nomem(x);
    scope->writes[scope->n++] =
        (onx_xwrite){.storage = storage, .before = storage->value, .version = storage->version};
    return true;
}

void onx_xstorage_write(onx_export *x, onx_xstorage *storage, onx_value *value) {
    if (!value || !onx_x_ok(x) || !record(x, storage)) return;
    storage->value = value;
    storage->version = ++x->clock;
}

void onx_xt_write(onx_export *x, onx_xt *t, onx_value *value) {
    const onx_xview *chain[MAX_VIEWS];
    onx_value *bases[MAX_VIEWS];
    size_t n = chain_of(x, t, chain);
    onx_dtype dtype = onx_x_dtype(x, t->value);
    value = onx_x_cast(x, value, dtype);
    if (t->storage->unsure)
        onx_x_note(x, "what reshape() gave is written to: it is taken to be a copy");
    onx_value *part = value;
    for (size_t i = 0; i < n && onx_x_ok(x); i++)
        bases[i] = i ? look(x, t, chain[i - 1], bases[i - 1]) : t->storage->value;
    for (size_t i = n; i-- > 0 && onx_x_ok(x);) {
        onx_xv *args = chain[i]->args;
        args[0] = base_of(x, t, chain[i], bases[i]);
        if (!onx_x_ok(x)) return;
        part = chain[i]->row->unview(x, args, chain[i]->index, bases[i], part);
    }
    onx_xstorage_write(x, t->storage, part);
    if (!onx_x_ok(x) || !value) return;
    t->value = value;
    t->version = t->storage->version;
}

/* ─ Scopes ───────────────────────────────────────────────────────────────────────────────────── */

void onx_xscope_begin(onx_export *x, onx_xscope *scope, onx_graph *graph) {
    *scope = (onx_xscope){.outer = x->scope, .graph = graph, .around = x->graph};
    x->scope = scope;
    x->graph = graph;
}

void onx_xscope_end(onx_export *x, onx_xscope *scope) {
    x->scope = scope->outer;
    x->graph = scope->around;
    for (size_t i = 0; i < scope->n; i++) {
        onx_xwrite *w = &scope->writes[i];
        w->after = w->storage->value;
        w->storage->value = w->before;
        w->storage->version = w->version;
    }
}
