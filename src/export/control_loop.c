/* control_loop.c: Loop nodes, from code that runs in their body.
 *
 * A loop is tried: the body is run with what is known before it. Where a turn gives a carried value
 * another size than it had, or writes to a storage, that was too much to believe: the size becomes
 * open, the storage is carried, and the node is thrown away and made again. What was found stays,
 * so this ends: after a few tries all sizes are open.
 *
 *     Loop (trips, go, slots …, storages …) <body = (turn, go, slots …, storages …) =>
 *                                                   (go, slots …, storages …, stacked …)> */
#include "export/aten.h"
#include "export/if_loop.h"
#include "export/leaves.h"
#include "ir/edit.h"

enum { TRIES = 6, OPEN_ALL = 3 };

/* What goes round: a leaf, or a storage. */
typedef struct slot {
    size_t leaf;           /* index */
    onx_xstorage *storage; /* NULL: it is a leaf */
    onx_value *before;
    onx_value *inner; /* the input of the body */
    onx_value *after; /* a turn: the value in the body */
    uint64_t open;    /* sizes that are not those from before */
} slot;

typedef struct state {
    onx_xloop *loop;
    onx_value *trips, *go;
    onx_xleaves all; /* before the loop */
    slot *slots;
    size_t n, cap;
    onx_node *node;
    onx_graph *body;
    onx_value *turn, *going;
    unsigned tries;
    bool changed;
} state;

static slot *add_slot(onx_export *x, state *s, slot new) {
    if (!onx_arena_grow(&x->arena, &s->slots, &s->cap, s->n, sizeof *s->slots))
        return onx_x_nomem(x);
    s->slots[s->n] = new;
    return &s->slots[s->n++];
}

/* ─ Before ───────────────────────────────────────────────────────────────────────────────────── */

static bool prepare(onx_export *x, state *s) {
    const onx_xloop *loop = s->loop;
    if (loop->trips) s->trips = onx_x_scalar(x, loop->trips, ONX_DTYPE_I64);
    if (loop->go) s->go = onx_x_scalar(x, loop->go, ONX_DTYPE_BOOL);
    if (!onx_xleaves_take(x, loop->n, loop->carried, &s->all)) return false;
    for (size_t i = 0; i < s->all.n; i++) {
        onx_xleaf *l = &s->all.v[i];
        if (!onx_xleaf_is_slot(l)) continue;
        onx_value *before = onx_xleaf_value(x, l, onx_xleaf_type(x, l));
        if (!before || !add_slot(x, s, (slot){.leaf = i, .before = before})) return false;
    }
    return onx_x_ok(x);
}

/* An input of the body, of which that is known. */
static onx_value *add_input(onx_export *x, const state *s, const char *hint, const onx_fact *fact) {
    onx_buf type;
    int64_t dim;
    onx_buf_init(&type, x->ctx);
    onx_buf_puts(&type, onx_dtype_name(fact->dtype));
    for (size_t i = 0; i < fact->rank; i++) {
        onx_buf_putc(&type, i ? ',' : '[');
        if (onx_sym_is_int(fact->dims[i], &dim))
            onx_buf_printf(&type, "%lld", (long long)dim);
        else
            onx_buf_putc(&type, '?');
    }
    onx_buf_puts(&type, fact->rank ? "]" : "");
    onx_buf_putc(&type, '\0');
    const char *name = type.failed ? NULL : onx_graph_new_name(s->body, hint);
    onx_value *value = name ? onx_graph_add_input(s->body, name, type.data) : NULL;
    onx_buf_fini(&type);
    if (!value || onx_facts_add(x->facts, value, fact, &x->diag)) return onx_x_nomem(x);
    fact = onx_x_fact(x, value);
    for (size_t i = 0; i < fact->rank; i++)
        if (!onx_x_own(x, fact->dims[i], value, i)) return NULL;
    return value;
}

static onx_value *add_slot_input(onx_export *x, state *s, const slot *p) {
    onx_fact fact = *onx_x_fact(x, p->before);
    const onx_sym **dims = onx_x_array(x, fact.rank + 1, sizeof *dims);
    if (!dims) return NULL;
    for (size_t i = 0; i < fact.rank; i++) dims[i] = p->open >> (i & 63) & 1 ? NULL : fact.dims[i];
    fact = (onx_fact){
        .kind = fact.kind, .dtype = fact.dtype, .ranked = true, .rank = fact.rank, .dims = dims};
    return add_input(x, s, "carried", &fact);
}

static bool open_node(onx_export *x, state *s) {
    onx_value **in = onx_x_array(x, s->n + 2, sizeof *in);
    if (!in) return false;
    in[0] = s->trips, in[1] = s->go;
    if (!s->n && !s->go) /* a Loop has at least two inputs, and at its end none can be missing */
        in[1] = onx_x_constant(x, ONX_DTYPE_BOOL, 0, NULL, &(bool){true}, 1);
    for (size_t i = 0; i < s->n; i++) in[2 + i] = s->slots[i].before;
    s->node = onx_emit_open(x, "Loop", s->n + 2, in);
    s->body = s->node ? onx_node_add_graph(s->node, "body", "body") : NULL;
    if (!s->body) return s->node && onx_x_nomem(x);
    onx_fact number = {.kind = ONX_TYPE_TENSOR, .dtype = ONX_DTYPE_I64, .ranked = true};
    s->turn = add_input(x, s, "turn", &number);
    number.dtype = ONX_DTYPE_BOOL;
    s->going = add_input(x, s, "go", &number);
    for (size_t i = 0; i < s->n && onx_x_ok(x); i++)
        s->slots[i].inner = add_slot_input(x, s, &s->slots[i]);
    return onx_x_ok(x);
}

/* ─ A turn ───────────────────────────────────────────────────────────────────────────────────── */

/* The values of the loop as a turn finds them. */
static bool enter(onx_export *x, const state *s, onx_xv *carried) {
    onx_xleaves now = {.n = s->all.n};
    now.v = onx_x_array(x, now.n + 1, sizeof *now.v);
    if (!now.v) return false;
    if (now.n) memcpy(now.v, s->all.v, now.n * sizeof *now.v);
    for (size_t i = 0; i < s->n; i++)
        if (s->slots[i].storage)
            onx_xstorage_write(x, s->slots[i].storage, s->slots[i].inner);
        else
            onx_xleaf_give(x, &now.v[s->slots[i].leaf], s->slots[i].inner);
    onx_xleaves_make(x, &now, s->loop->n, carried);
    return onx_x_ok(x);
}

/* Is what a turn gives for the slot of the sizes that it found? */
static void compare(onx_export *x, state *s, slot *p) {
    const onx_fact *in = onx_x_fact(x, p->inner), *out = onx_x_fact(x, p->after);
    for (size_t i = 0; i < in->rank && i < out->rank && i < 64; i++) {
        if (p->open >> i & 1 || in->dims[i] == out->dims[i]) continue;
        p->open |= UINT64_C(1) << i;
        s->changed = true;
    }
}

/* A leaf that was not set before the loop is one of the kind that a turn gives. */
static bool settle(onx_export *x, state *s, size_t i, const onx_xleaf *after) {
    onx_xleaf *l = &s->all.v[i];
    onx_fact scalar = {.ranked = true};
    if (!onx_xleaf_is_slot(after)) return onx_x_fail_differ(x, "what a loop carries", l, after);
    onx_dtype dtype = onx_xleaf_type(x, after);
    slot p = {.leaf = i};
    onx_graph *body = x->graph;
    x->graph = s->node->graph; /* the node will be made again, behind this */
    p.before = onx_x_blank(x, dtype, after->value ? onx_x_fact(x, after->value) : &scalar);
    x->graph = body;
    l->v = after->v;
    l->value = p.before;
    s->changed = true;
    return p.before && add_slot(x, s, p);
}

static bool check_leaf(onx_export *x, const onx_xleaf *before, const onx_xleaf *after) {
    if (onx_xleaf_same(before, after)) return true;
    bool ok = before->v.kind == after->v.kind && onx_xleaf_is_slot(before);
    if (ok && before->v.kind == ONX_X_TENSOR)
        ok = before->v.tensor->dtype == after->v.tensor->dtype &&
             onx_x_rank(x, before->value) == onx_x_rank(x, after->value);
    return ok || onx_x_fail_differ(x, "what a loop carries", before, after);
}

/* The storages that the body wrote to and that are older than it. */
static bool find_stores(onx_export *x, state *s, const onx_xscope *scope) {
    for (size_t i = 0; i < scope->n; i++) {
        const onx_xwrite *w = &scope->writes[i];
        bool known = !onx_graph_sees(scope->around, w->before->graph);
        for (size_t k = 0; k < s->n && !known; k++) known = s->slots[k].storage == w->storage;
        if (known) continue;
        if (!add_slot(x, s, (slot){.storage = w->storage, .before = w->before})) return false;
        s->changed = true;
    }
    return true;
}

static bool add_results(onx_export *x, state *s, const onx_xv *go, const onx_xv *stacked) {
    bool goes;
    bool always = onx_xv_known_bool(go, &goes) && goes;
    onx_x_add_result(x, always ? s->going : onx_x_scalar(x, go, ONX_DTYPE_BOOL));
    for (size_t i = 0; i < s->n && onx_x_ok(x); i++) onx_x_add_result(x, s->slots[i].after);
    for (size_t i = 0; i < s->loop->n_stacked && onx_x_ok(x); i++)
        onx_x_add_result(x, onx_xv_value(x, &stacked[i]));
    return onx_x_ok(x);
}

/* After the body: what each slot is now, and whether that was foreseen. */
static bool look(onx_export *x, state *s, const onx_xscope *scope, const onx_xv *carried) {
    onx_xleaves after = {.n = 0};
    size_t n = s->n;
    if (!onx_xleaves_take(x, s->loop->n, carried, &after)) return false;
    for (size_t i = 0; i < s->all.n; i++)
        if (s->all.v[i].v.kind == ONX_X_UNKNOWN && after.v[i].v.kind != ONX_X_UNKNOWN) {
            if (!settle(x, s, i, &after.v[i])) return false;
        } else if (!check_leaf(x, &s->all.v[i], &after.v[i])) {
            return false;
        }
    for (size_t i = 0; i < n && onx_x_ok(x); i++) {
        slot *p = &s->slots[i];
        p->after = p->storage ? p->storage->value
                              : onx_xleaf_value(x, &after.v[p->leaf], onx_x_dtype(x, p->before));
        p->after = onx_x_cast(x, p->after, onx_x_dtype(x, p->before));
        if (p->after) compare(x, s, p);
    }
    if (!onx_x_ok(x) || !find_stores(x, s, scope)) return false;
    for (size_t i = 0; i < s->n && s->changed && s->tries >= OPEN_ALL; i++)
        s->slots[i].open = UINT64_MAX;
    return true;
}

static bool try_once(onx_export *x, state *s) {
    const onx_xloop *loop = s->loop;
    onx_xscope scope;
    onx_xv *carried = onx_x_array(x, loop->n + 1, sizeof *carried);
    onx_xv *stacked = onx_x_array(x, loop->n_stacked + 1, sizeof *stacked);
    onx_xv go = onx_xv_bool(x, true);
    s->changed = false;
    s->tries++;
    if (!carried || !stacked || !open_node(x, s)) return false;
    onx_xscope_begin(x, &scope, s->body);
    bool ok = enter(x, s, carried) &&
              loop->body(x, loop->user, onx_xv_run(ONX_X_INT, s->turn), carried, stacked, &go);
    if (ok && !x->survey)
        ok = look(x, s, &scope, carried) && (s->changed || add_results(x, s, &go, stacked));
    onx_xscope_end(x, &scope);
    return ok && onx_x_ok(x);
}

/* ─ After ────────────────────────────────────────────────────────────────────────────────────── */

static bool finish(onx_export *x, state *s) {
    size_t n = s->n + s->loop->n_stacked;
    onx_value **outs = onx_x_array(x, n + 1, sizeof *outs);
    if (!outs || !onx_emit_close(x, s->node, n, outs)) return false;
    for (size_t i = 0; i < s->n; i++)
        if (s->slots[i].storage)
            onx_xstorage_write(x, s->slots[i].storage, outs[i]);
        else
            onx_xleaf_give(x, &s->all.v[s->slots[i].leaf], outs[i]);
    for (size_t i = 0; i < s->loop->n_stacked; i++)
        s->loop->stacked[i] = onx_xv_tensor(x, outs[s->n + i]);
    onx_xleaves_make(x, &s->all, s->loop->n, s->loop->carried);
    return onx_x_ok(x);
}

bool onx_x_loop(onx_export *x, onx_xloop *loop) {
    state s = {.loop = loop};
    if (!onx_x_may_nest(x) || !prepare(x, &s)) return false;
    bool ran;
    while ((ran = try_once(x, &s)) && s.changed && s.tries < TRIES)
        if (onx_node_remove(s.node, &x->diag)) return onx_x_nomem(x);
    if (!onx_x_ok(x)) return false;
    if (!ran) return onx_node_remove(s.node, &x->diag) && onx_x_nomem(x);
    if (x->survey) {
        for (size_t i = 0; i < loop->n; i++) loop->carried[i].kind = ONX_X_UNKNOWN;
        for (size_t i = 0; i < loop->n_stacked; i++) loop->stacked[i].kind = ONX_X_UNKNOWN;
        return true;
    }
    if (s.changed) return onx_x_fail(x, ONX_UNSUPPORTED, "what a loop carries does not settle");
    return finish(x, &s);
}
