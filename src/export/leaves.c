/* leaves.c: values taken apart and put together again; what goes through a node with graphs. */
#include "export/leaves.h"
#include "export/strides.h"
#include "ir/edit.h"
#include "ir/ir.h"

#include <stdio.h>

enum { DEPTH = 32, NESTED = 8, LEAVES = 1 << 16 };

/* ─ Leaves ───────────────────────────────────────────────────────────────────────────────────── */

static onx_xleaf *push(onx_export *x, onx_xleaves *all, onx_xv v) {
    if (all->n == LEAVES) return onx_x_fail(x, ONX_LIMIT, "values of more than %d parts", LEAVES);
    if (!onx_arena_grow(&x->arena, &all->v, &all->cap, all->n, sizeof *all->v))
        return onx_x_nomem(x);
    all->v[all->n] = (onx_xleaf){.v = v};
    return &all->v[all->n++];
}

/* Numbers that the model does not compute stay as they are. */
static bool take_apart(onx_export *x, const onx_xv *v, onx_xleaves *all, unsigned depth) {
    onx_xleaf *top = push(x, all, *v);
    if (!top) return false;
    const onx_xlist *list = NULL;
    if (v->kind == ONX_X_TENSOR) {
        onx_value *value = onx_xt_value(x, v->tensor);
        all->v[all->n - 1].value = value;
        return value != NULL;
    }
    if (onx_xv_is_list(v))
        list = v->list;
    else if (v->kind == ONX_X_DICT)
        list = &v->dict->values;
    if (!list) return true;
    if (depth == DEPTH) return onx_x_fail(x, ONX_LIMIT, "lists within more than %d lists", DEPTH);
    top->n = list->n;
    for (size_t i = 0; i < list->n; i++)
        if (!take_apart(x, &list->v[i], all, depth + 1)) return false;
    return true;
}

bool onx_xleaves_take(onx_export *x, size_t n, const onx_xv *v, onx_xleaves *all) {
    bool ok = onx_x_ok(x);
    for (size_t i = 0; i < n && ok; i++) ok = take_apart(x, &v[i], all, 0);
    return ok;
}

/* The value that begins at onx_xleaf *at, in new lists. */
static onx_xv put_together(onx_export *x, const onx_xleaves *all, size_t *at) {
    const onx_xleaf *top = &all->v[(*at)++];
    onx_xv v = top->v;
    if (!onx_xv_is_list(&v) && v.kind != ONX_X_DICT) return v;
    onx_xv *parts = onx_x_array(x, top->n + 1, sizeof *parts);
    for (size_t i = 0; i < top->n && parts; i++) parts[i] = put_together(x, all, at);
    if (!parts) return (onx_xv){.kind = ONX_X_NONE};
    if (v.kind != ONX_X_DICT) return onx_xv_list(x, v.kind, top->n, parts);
    onx_xv dict = onx_xv_dict(x);
    for (size_t i = 0; i < top->n && onx_x_ok(x); i++) {
        (void)onx_xlist_add(x, &dict.dict->keys, v.dict->keys.v[i]);
        (void)onx_xlist_add(x, &dict.dict->values, parts[i]);
    }
    return dict;
}

void onx_xleaves_make(onx_export *x, const onx_xleaves *all, size_t n, onx_xv *out) {
    size_t at = 0;
    for (size_t i = 0; i < n && onx_x_ok(x); i++) out[i] = put_together(x, all, &at);
}

bool onx_xleaf_same(const onx_xleaf *a, const onx_xleaf *b) {
    const onx_xv *u = &a->v, *v = &b->v;
    if (u->kind != v->kind) return false;
    switch (u->kind) {
    case ONX_X_NONE:
    case ONX_X_UNKNOWN: return true;
    case ONX_X_TENSOR: return u->tensor == v->tensor;
    case ONX_X_INT:
    case ONX_X_BOOL: return u->sym == v->sym && u->value == v->value;
    case ONX_X_FLOAT:
        return u->sym == v->sym && u->value == v->value && memcmp(&u->f, &v->f, sizeof u->f) == 0;
    case ONX_X_COMPLEX: return u->f == v->f && u->im == v->im;
    case ONX_X_STR:
    case ONX_X_DEVICE: return onx_str_eq(u->str, v->str);
    case ONX_X_LIST:
    case ONX_X_TUPLE:
    case ONX_X_DICT: return a->n == b->n;
    default: return u->object == v->object;
    }
}

static const char *kind_name(const onx_xv *v) {
    static const char *const names[] = {
        [ONX_X_NONE] = "None",     [ONX_X_TENSOR] = "a tensor",      [ONX_X_INT] = "an int",
        [ONX_X_FLOAT] = "a float", [ONX_X_BOOL] = "a bool",          [ONX_X_COMPLEX] = "a complex",
        [ONX_X_STR] = "a string",  [ONX_X_LIST] = "a list",          [ONX_X_TUPLE] = "a tuple",
        [ONX_X_DICT] = "a dict",   [ONX_X_OBJECT] = "an object",     [ONX_X_DEVICE] = "a device",
        [ONX_X_OTHER] = "a thing", [ONX_X_UNKNOWN] = "nothing known"};
    return names[v->kind];
}

/* "a list of 3", "a float tensor of rank 2". */
static const char *describe(onx_export *x, const onx_xleaf *l, char out[80]) {
    if (l->v.kind == ONX_X_TENSOR)
        snprintf(out, 80, "a tensor of %s of rank %zu", onx_dtype_name(l->v.tensor->dtype),
                 onx_x_fact(x, l->value)->rank);
    else if (onx_xv_is_list(&l->v) || l->v.kind == ONX_X_DICT)
        snprintf(out, 80, "%s of %zu", kind_name(&l->v), l->n);
    else
        snprintf(out, 80, "%s", kind_name(&l->v));
    return out;
}

bool onx_x_fail_differ(onx_export *x, const char *where, const onx_xleaf *a, const onx_xleaf *b) {
    char ta[80], tb[80];
    onx_x_fail(x, ONX_UNSUPPORTED, "%s is %s and %s", where, describe(x, a, ta),
               describe(x, b, tb));
    onx_x_hint(x, "give it one type, rank and length in Python, and export again");
    return false;
}

/* ─ Slots ────────────────────────────────────────────────────────────────────────────────────── */

onx_dtype onx_xleaf_type(const onx_export *x, const onx_xleaf *l) {
    if (l->value) return onx_x_dtype(x, l->value);
    if (l->v.kind == ONX_X_FLOAT && l->v.value && onx_x_dtype(x, l->v.value) == ONX_DTYPE_F64)
        return ONX_DTYPE_F64;
    return l->v.kind == ONX_X_INT    ? ONX_DTYPE_I64
           : l->v.kind == ONX_X_BOOL ? ONX_DTYPE_BOOL
                                     : ONX_DTYPE_F32;
}

static onx_value *identity(onx_export *x, onx_value *value) {
    onx_node *node = value ? onx_emit_open(x, "Identity", 1, &value) : NULL;
    return node && onx_emit_close(x, node, 1, &value) ? value : NULL;
}

/* The value as one that a node of the current graph computes, and that is no output yet. */
static onx_value *inside(onx_export *x, onx_value *value) {
    if (!value || (value->graph == x->graph && value->def && !value->output)) return value;
    return identity(x, value);
}

onx_value *onx_xleaf_value(onx_export *x, const onx_xleaf *l, onx_dtype dtype) {
    return l->value ? l->value : onx_x_scalar(x, &l->v, dtype);
}

onx_value *onx_x_blank(onx_export *x, onx_dtype dtype, const onx_fact *like) {
    const onx_sym *dims[ONX_RANK_MAX], *one = onx_sym_int(x->syms, 1);
    size_t rank = like->ranked && like->rank <= ONX_RANK_MAX ? like->rank : 0;
    for (size_t i = 0; i < rank; i++)
        dims[i] = onx_x_has_size(x, like->dims[i]) ? like->dims[i] : one;
    return onx_x_expand(x, onx_x_number(x, dtype, 0), rank, dims);
}

void onx_x_add_result(onx_export *x, onx_value *value) {
    value = inside(x, value);
    if (value && !onx_graph_add_output(x->graph, value, NULL)) onx_x_nomem(x);
}

void onx_xleaf_give(onx_export *x, onx_xleaf *l, onx_value *value) {
    if (l->v.kind == ONX_X_TENSOR) {
        const onx_xt *was = l->v.tensor;
        bool plain = onx_xt_is_contiguous(x, was) == ONX_X_YES;
        l->v = onx_xv_tensor(x, value);
        if (l->v.kind != ONX_X_TENSOR) return;
        l->v.tensor->dtype = was->dtype;
        if (!plain) l->v.tensor->layout = l->v.tensor->storage->layout = &onx_xlayout_unknown;
    } else {
        l->v = onx_xv_run(l->v.kind, value);
    }
}

const onx_xwrite *onx_xscope_write(const onx_xscope *scope, const onx_xstorage *storage) {
    for (size_t i = 0; i < scope->n; i++)
        if (scope->writes[i].storage == storage) return &scope->writes[i];
    return NULL;
}

bool onx_x_may_nest(onx_export *x) {
    unsigned depth = 0;
    for (const onx_xscope *scope = x->scope; scope; scope = scope->outer) depth++;
    if (depth < NESTED) return onx_x_ok(x);
    return onx_x_fail(x, ONX_LIMIT, "branches and loops are nested more than %d deep", NESTED);
}
