/* interp_change.c: lists, dicts and objects that branches and loops of the model's change.
 *
 * They are changed where they are, whoever leads there; what each was before is kept. When the
 * branch ends it is put back, and what it became is known to who joins the branches. */
#include "export/interp_builtin.h"

static const void *thing_of(const onx_xv *v) {
    return v->kind == ONX_X_DICT ? v->dict : v->kind == ONX_X_OBJECT ? v->object : (void *)v->list;
}

onx_xv onx_py_fresh(onx_interp *in, onx_xv v) {
    bool thing = v.kind == ONX_X_LIST || v.kind == ONX_X_DICT || v.kind == ONX_X_OBJECT;
    if (thing && in->branch && onx_x_ok(in->x) &&
        !onx_map_put(&in->fresh, thing_of(&v), (onx_str){NULL, 0}, (void *)(uintptr_t)in->branch))
        onx_x_nomem(in->x);
    return v;
}

onx_xv onx_py_cell_get(onx_interp *in, const onx_py_cell *cell) {
    const onx_xv *v = &cell->of;
    if (v->kind == ONX_X_OBJECT) return ((const onx_py_object *)v->object)->attrs[cell->attr];
    if (v->kind == ONX_X_DICT) return onx_py_dict_copy(in, v->dict);
    onx_xv copy = onx_py_list_new(in, v->list->n, v->list->v);
    if (onx_x_ok(in->x)) onx_py_stack_copy(in, v, &copy);
    return copy;
}

static void put(onx_interp *in, const onx_py_cell *cell, onx_xv value) {
    const onx_xv *v = &cell->of;
    if (v->kind == ONX_X_OBJECT) {
        ((onx_py_object *)v->object)->attrs[cell->attr] = value;
    } else if (value.kind == v->kind && v->kind == ONX_X_DICT) {
        *v->dict = *value.dict;
    } else if (value.kind == v->kind) {
        *v->list = *value.list;
        onx_py_stack_copy(in, &value, v);
    }
}

void onx_py_cell_set(onx_interp *in, const onx_py_cell *cell, onx_xv value) {
    const onx_py_object *object = cell->of.kind == ONX_X_OBJECT ? cell->of.object : NULL;
    if (object)
        onx_py_set(in, &cell->of, object->cls->attrs[cell->attr].name, value);
    else if (onx_py_may_change(in, &cell->of, cell->attr))
        put(in, cell, value);
}

bool onx_py_cell_same(const onx_py_cell *a, const onx_py_cell *b) {
    return a->of.kind == b->of.kind && a->attr == b->attr && thing_of(&a->of) == thing_of(&b->of);
}

bool onx_py_may_change(onx_interp *in, const onx_xv *v, size_t attr) {
    onx_py_changes *all = in->changes;
    onx_py_cell cell = {*v, attr};
    size_t made = (uintptr_t)onx_map_get(&in->fresh, thing_of(v), (onx_str){NULL, 0});
    if (!all || made >= in->branch) return onx_x_ok(in->x);
    if (!onx_py_spend(in, all->n + 1)) return false;
    for (size_t i = 0; i < all->n; i++)
        if (onx_py_cell_same(&all->v[i].cell, &cell)) return true;
    if (!onx_arena_grow(&in->x->arena, &all->v, &all->cap, all->n, sizeof *all->v))
        return onx_x_nomem(in->x);
    onx_xv before = onx_py_cell_get(in, &cell);
    all->v[all->n++] = (onx_py_change){cell, before};
    return onx_x_ok(in->x);
}

void onx_py_changes_begin(onx_interp *in, onx_py_changes *changes) {
    *changes = (onx_py_changes){.outer = in->changes, .branch = in->branch};
    in->changes = changes;
    in->branch = ++in->branches;
}

void onx_py_changes_end(onx_interp *in, const onx_py_changes *changes) {
    for (size_t i = changes->n; i-- > 0;) put(in, &changes->v[i].cell, changes->v[i].before);
    in->changes = changes->outer;
    in->branch = changes->branch;
}
