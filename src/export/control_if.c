/* control_if.c: If nodes, from code that runs in their two graphs.
 *
 * Each side runs in a scope of its own, so that what it writes to storages is taken back; its
 * values are taken apart while they are there. Then the leaves are compared, the outputs of both
 * graphs are added, and what the node gives takes their place. */
#include "export/aten.h"
#include "export/if_loop.h"
#include "export/leaves.h"
#include "ir/edit.h"

typedef struct side {
    onx_graph *graph;
    onx_xscope scope;
    onx_xleaves all;
} side;

typedef struct branch {
    side sides[2];
    size_t n_stores;
    onx_xstorage **stores; /* that were there before, and that one of the sides wrote to */
} branch;

static bool run_side(onx_export *x, side *s, onx_xside_fn *fn, void *user, bool then, size_t n) {
    onx_xv *out = onx_x_array(x, n + 1, sizeof *out);
    if (!s->graph || !out) return onx_x_nomem(x);
    onx_xscope_begin(x, &s->scope, s->graph);
    bool ok = fn(x, user, then, out) && (x->survey || onx_xleaves_take(x, n, out, &s->all));
    onx_xscope_end(x, &s->scope);
    return ok && onx_x_ok(x);
}

/* One leaf of both sides; false: x failed. Of an uninitialized value the other side decides. */
static bool agree(onx_export *x, const onx_xleaf *a, const onx_xleaf *b) {
    bool unset_a = a->v.kind == ONX_X_UNKNOWN, unset_b = b->v.kind == ONX_X_UNKNOWN;
    if (onx_xleaf_same(a, b)) return true;
    bool ok = a->v.kind == b->v.kind ? onx_xleaf_is_slot(a)
              : unset_a              ? onx_xleaf_is_slot(b)
                                     : unset_b && onx_xleaf_is_slot(a);
    if (ok && a->v.kind == ONX_X_TENSOR && b->v.kind == ONX_X_TENSOR)
        ok = onx_x_rank(x, a->value) == onx_x_rank(x, b->value) &&
             a->v.tensor->dtype == b->v.tensor->dtype;
    return ok || onx_x_fail_differ(x, "what a branch gives", a, b);
}

static bool find_stores(onx_export *x, branch *b) {
    const onx_xscope *first = &b->sides[0].scope;
    b->stores = onx_x_array(x, first->n + b->sides[1].scope.n + 1, sizeof *b->stores);
    if (!b->stores) return false;
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < b->sides[s].scope.n; i++) {
            const onx_xwrite *w = &b->sides[s].scope.writes[i];
            bool again = s == 1 && onx_xscope_write(first, w->storage);
            if (!again && onx_graph_sees(x->graph, w->before->graph))
                b->stores[b->n_stores++] = w->storage;
        }
    return true;
}

/* The result of one side for a leaf, which goes with `other` of the other side. */
static onx_value *result_of(onx_export *x, const onx_xleaf *l, const onx_xleaf *other) {
    onx_dtype da = onx_xleaf_type(x, l), db = onx_xleaf_type(x, other);
    onx_fact scalar = {.ranked = true};
    if (l->v.kind == ONX_X_UNKNOWN)
        return onx_x_blank(x, db, other->value ? onx_x_fact(x, other->value) : &scalar);
    bool own = other->v.kind == ONX_X_UNKNOWN || da == ONX_DTYPE_F64;
    return onx_xleaf_value(x, l, own ? da : db);
}

static void add_results(onx_export *x, const branch *b, size_t which) {
    const side *s = &b->sides[which], *other = &b->sides[1 - which];
    onx_xscope scope;
    onx_xscope_begin(x, &scope, s->graph);
    for (size_t i = 0; i < s->all.n && onx_x_ok(x); i++)
        if (!onx_xleaf_same(&s->all.v[i], &other->all.v[i]))
            onx_x_add_result(x, result_of(x, &s->all.v[i], &other->all.v[i]));
    for (size_t i = 0; i < b->n_stores && onx_x_ok(x); i++) {
        const onx_xwrite *w = onx_xscope_write(&s->scope, b->stores[i]);
        onx_x_add_result(x, w ? w->after : b->stores[i]->value);
    }
    onx_xscope_end(x, &scope);
}

/* The leaves of the first side become those of the whole. */
static void take_results(onx_export *x, onx_node *node, branch *b) {
    size_t n = onx_graph_output_count(b->sides[0].graph), at = 0;
    onx_value **outs = onx_x_array(x, n + 1, sizeof *outs);
    if (!outs || !onx_emit_close(x, node, n, outs)) return;
    for (size_t i = 0; i < b->sides[0].all.n; i++) {
        onx_xleaf *l = &b->sides[0].all.v[i], *other = &b->sides[1].all.v[i];
        if (onx_xleaf_same(l, other)) continue;
        if (l->v.kind == ONX_X_UNKNOWN) l->v = other->v;
        onx_xleaf_give(x, l, outs[at++]);
    }
    for (size_t i = 0; i < b->n_stores; i++) onx_xstorage_write(x, b->stores[i], outs[at++]);
}

static bool join(onx_export *x, onx_node *node, branch *b) {
    for (size_t i = 0; i < b->sides[0].all.n; i++)
        if (!agree(x, &b->sides[0].all.v[i], &b->sides[1].all.v[i])) return false;
    if (!find_stores(x, b)) return false;
    for (size_t s = 0; s < 2; s++) add_results(x, b, s);
    if (!onx_x_ok(x)) return false;
    if (onx_graph_output_count(b->sides[0].graph))
        take_results(x, node, b);
    else if (onx_node_remove(node, &x->diag))
        x->status = x->diag.status;
    return onx_x_ok(x);
}

bool onx_x_if(onx_export *x, onx_value *cond, size_t n, onx_xside_fn *fn, void *user, onx_xv *out) {
    onx_node *node = cond && onx_x_may_nest(x) ? onx_emit_open(x, "If", 1, &cond) : NULL;
    if (!node) return false;
    branch b = {.sides = {{.graph = onx_node_add_graph(node, "then_branch", "then_branch")},
                          {.graph = onx_node_add_graph(node, "else_branch", "else_branch")}}};
    for (size_t s = 0; s < 2; s++)
        if (!run_side(x, &b.sides[s], fn, user, s == 0, n))
            return onx_x_ok(x) && onx_node_remove(node, &x->diag) && onx_x_nomem(x);
    for (size_t i = 0; i < n; i++) out[i].kind = ONX_X_UNKNOWN;
    if (x->survey) return true;
    if (!join(x, node, &b)) return false;
    onx_xleaves_make(x, &b.sides[0].all, n, out);
    return onx_x_ok(x);
}
