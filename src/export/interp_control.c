/* interp_control.c: branches and loops of TorchScript that the model decides: If and Loop.
 *
 * Locals are what they change. A branch gives those that are assigned in it and used behind it; a
 * loop carries those that are assigned in it and had a value before (names are assigned once in a
 * function, but for what branches join and loops carry). So are lists and dicts that statements in
 * there change, and attributes that they set (cells): they run on copies. What functions that are
 * called from there change must be their own. */
#include "export/if_loop.h"
#include "export/interp_builtin.h"

/* ─ Which locals ─────────────────────────────────────────────────────────────────────────────── */

typedef struct slots {
    int32_t *v;
    size_t n;
} slots;

static bool has_slot(const slots *all, int32_t slot) {
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i] == slot) return true;
    return false;
}

/* Statements in statements: ONX_SCRIPT_DEPTH. */
static void mark_assigned(const onx_script_block *block, bool *marks) {
    for (size_t i = 0; i < block->n; i++) {
        const onx_script_stmt *s = block->stmts[i];
        for (size_t k = 0; k < s->target_count; k++) marks[s->targets[k].slot] = true;
        mark_assigned(&s->body, marks);
        mark_assigned(&s->otherwise, marks);
    }
}

static bool has_value(const onx_frame *frame, size_t slot) {
    return !onx_py_is_other(&frame->locals[slot], onx_py_unset);
}

static slots assigned(onx_interp *in, const onx_frame *frame, const onx_script_stmt *s, bool loop) {
    const onx_script_func *f = frame->func;
    slots out = {onx_x_array(in->x, f->local_count + 1, sizeof *out.v), 0};
    bool *marks = onx_x_array(in->x, f->local_count + 1, sizeof *marks);
    if (!marks || !out.v) return out;
    mark_assigned(&s->body, marks);
    mark_assigned(&s->otherwise, marks);
    for (size_t i = 0; i < f->local_count; i++)
        if (marks[i] && (loop ? has_value(frame, i) : f->locals[i].last_use >= s->end))
            out.v[out.n++] = (int32_t)i;
    return out;
}

/* A copy of the locals, which run in it and are then forgotten. */
static onx_frame inside(onx_interp *in, const onx_frame *frame) {
    onx_frame inner = *frame;
    size_t n = frame->func->local_count;
    inner.locals = onx_x_array(in->x, n + 1, sizeof *inner.locals);
    if (inner.locals) memcpy(inner.locals, frame->locals, n * sizeof *inner.locals);
    return inner;
}

/* ─ Cells ────────────────────────────────────────────────────────────────────────────────────── */

/* A list or dict, or an attribute of an object, that a local from outside leads to. */
typedef struct cell {
    int32_t slot;
    onx_str attr; /* empty: the list or dict itself */
} cell;

typedef struct cells {
    cell *v;
    size_t n, cap;
} cells;

static void add_cell(onx_interp *in, cells *all, int32_t slot, onx_str attr) {
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].slot == slot && onx_str_eq(all->v[i].attr, attr)) return;
    if (onx_arena_grow(&in->x->arena, &all->v, &all->cap, all->n, sizeof *all->v))
        all->v[all->n++] = (cell){slot, attr};
    else
        onx_x_nomem(in->x);
}

/* The local that a call like torch.append(l, x) changes; -1: it changes none. */
static int32_t changed_by(const onx_script_expr *e) {
    static const char *const names[] = {"torch.append", "torch._set_item", "torch.extend",
                                        "torch.insert", "torch.pop",       "torch.clear",
                                        "torch.update", "torch.reverse",   "torch.Delete"};
    if (e->kind != ONX_EXPR_CALL || e->n < 2 || e->items[1]->kind != ONX_EXPR_NAME) return -1;
    onx_str name = onx_script_dotted(e->items[0]);
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (onx_str_is(name, names[i])) return e->items[1]->slot;
    return -1;
}

static void find_cells(onx_interp *in, const onx_frame *frame, const onx_script_block *block,
                       cells *all) {
    for (size_t i = 0; i < block->n; i++) {
        const onx_script_stmt *s = block->stmts[i];
        const onx_script_expr *e = s->value_count ? s->values[0] : NULL;
        bool set = s->kind == ONX_STMT_SETATTR && e->kind == ONX_EXPR_ATTR &&
                   e->items[0]->kind == ONX_EXPR_NAME;
        int32_t slot = set ? e->items[0]->slot : e ? changed_by(e) : -1;
        onx_xkind kind = slot >= 0 ? frame->locals[slot].kind : ONX_X_NONE;
        if (set ? kind == ONX_X_OBJECT : kind == ONX_X_LIST || kind == ONX_X_DICT)
            add_cell(in, all, slot, set ? e->text : (onx_str){NULL, 0});
        find_cells(in, frame, &s->body, all);
        find_cells(in, frame, &s->otherwise, all);
    }
}

static onx_xv copy_of(onx_interp *in, const onx_xv *v) {
    if (v->kind == ONX_X_DICT) return onx_py_dict_copy(in, v->dict);
    if (v->kind == ONX_X_LIST) return onx_py_list_new(in, v->list->n, v->list->v);
    const onx_py_object *object = v->object;
    onx_xv copy = onx_py_new(in, object->cls, object->path, NULL);
    if (!onx_x_ok(in->x)) return copy;
    onx_py_object *made = copy.object;
    made->state = object->state;
    if (object->cls->attr_count)
        memcpy(made->attrs, object->attrs, object->cls->attr_count * sizeof *made->attrs);
    return copy;
}

/* Put copies in the place of what cells change. */
static void copy_cells(onx_interp *in, const onx_frame *frame, onx_frame *inner, const cells *all) {
    for (size_t i = 0; i < all->n && onx_x_ok(in->x); i++) {
        const onx_xv *outside = &frame->locals[all->v[i].slot];
        onx_xv *inside_too = &inner->locals[all->v[i].slot];
        if (inside_too->object == outside->object) *inside_too = copy_of(in, outside);
    }
}

static onx_xv get_cell(onx_interp *in, const onx_frame *frame, const cell *c) {
    const onx_xv *v = &frame->locals[c->slot];
    return c->attr.size ? onx_py_get(in, v, c->attr) : *v;
}

static void set_cell(onx_interp *in, onx_frame *frame, const cell *c, onx_xv value) {
    const onx_xv *v = &frame->locals[c->slot];
    if (c->attr.size)
        onx_py_set(in, v, c->attr, value);
    else if (!onx_py_may_change(in, v) || value.kind != v->kind)
        return;
    else if (v->kind == ONX_X_DICT)
        *v->dict = *value.dict;
    else
        *v->list = *value.list;
}

/* Run a block in a branch of its own, which begin_branch began. */
static size_t begin_branch(onx_interp *in) {
    size_t outer = in->branch;
    in->branch = ++in->branches;
    return outer;
}

static bool run_inside(onx_interp *in, onx_frame *inner, const onx_script_block *block,
                       size_t outer) {
    onx_py_exec(in, inner, block);
    in->branch = outer;
    if (inner->returned)
        onx_x_fail(in->x, ONX_UNSUPPORTED, "'return' in a branch that depends on data");
    return onx_x_ok(in->x);
}

static void take_locals(const onx_frame *frame, const slots *which, onx_xv *out) {
    for (size_t i = 0; i < which->n; i++)
        out[i] =
            has_value(frame, (size_t)which->v[i]) ? frame->locals[which->v[i]] : onx_py_unknown();
}

static void put_locals(onx_frame *frame, const slots *which, const onx_xv *values) {
    for (size_t i = 0; i < which->n; i++) frame->locals[which->v[i]] = values[i];
}

/* ─ Branches of bools ────────────────────────────────────────────────────────────────────────── */

/* Conditions are often written as branches: `a and b` is `b if a else False`. */
static bool is_plain(const onx_script_expr *e) {
    static const char *const words[] = {"torch.lt", "torch.le", "torch.gt",     "torch.ge",
                                        "torch.eq", "torch.ne", "torch.__not__"};
    if (e->kind == ONX_EXPR_BOOL || e->kind == ONX_EXPR_INT || e->kind == ONX_EXPR_FLOAT)
        return true;
    if (e->kind == ONX_EXPR_NAME) return e->slot >= 0;
    if (e->kind != ONX_EXPR_CALL) return false;
    bool known = false;
    for (size_t i = 0; i < ONX_COUNT(words); i++)
        known |= onx_str_is(onx_script_dotted(e->items[0]), words[i]);
    for (size_t i = 1; i < e->n; i++) known = known && is_plain(e->items[i]);
    return known;
}

/* x = e, and nothing else. */
static const onx_script_expr *only_value(const onx_script_block *block, const slots *which) {
    const onx_script_stmt *s = block->n == 1 ? block->stmts[0] : NULL;
    bool one = s && s->kind == ONX_STMT_ASSIGN && s->value_count == 1 && s->target_count == 1 &&
               !s->unpack && which->n == 1 && s->targets[0].slot == which->v[0];
    return one && is_plain(s->values[0]) ? s->values[0] : NULL;
}

static bool select_bool(onx_interp *in, onx_frame *frame, const onx_script_stmt *s,
                        const slots *which, onx_xv cond) {
    const onx_script_expr *yes = only_value(&s->body, which);
    const onx_script_expr *no = only_value(&s->otherwise, which);
    if (!yes || !no) return false;
    onx_xv a = onx_py_eval(in, frame, yes), b = onx_py_eval(in, frame, no);
    if (!onx_x_ok(in->x) || a.kind != ONX_X_BOOL || b.kind != ONX_X_BOOL) return !onx_x_ok(in->x);
    onx_xv both = onx_x_arith(in->x, "and", cond, a);
    bool known;
    if (onx_xv_known_bool(&a, &known)) both = known ? cond : a;
    if (!onx_xv_known_bool(&b, &known) || known)
        both = onx_x_arith(in->x, "or", both, onx_x_arith(in->x, "and", onx_py_not(in, cond), b));
    frame->locals[which->v[0]] = both;
    return true;
}

/* ─ If ───────────────────────────────────────────────────────────────────────────────────────── */

typedef struct branch {
    onx_interp *in;
    const onx_frame *frame;
    const onx_script_stmt *s;
    slots which;
    cells cells;
} branch;

/* What goes in and out: locals, then cells. */
static void take_all(const branch *b, const onx_frame *frame, onx_xv *out) {
    take_locals(frame, &b->which, out);
    for (size_t i = 0; i < b->cells.n && onx_x_ok(b->in->x); i++)
        out[b->which.n + i] = get_cell(b->in, frame, &b->cells.v[i]);
}

static void put_all(const branch *b, onx_frame *frame, const onx_xv *values) {
    put_locals(frame, &b->which, values);
    for (size_t i = 0; i < b->cells.n && onx_x_ok(b->in->x); i++)
        set_cell(b->in, frame, &b->cells.v[i], values[b->which.n + i]);
}

static bool run_side(onx_export *x, void *user, bool then, onx_xv *out) {
    const branch *b = user;
    onx_frame inner = inside(b->in, b->frame);
    const onx_script_block *block = then ? &b->s->body : &b->s->otherwise;
    if (!onx_x_ok(x)) return false;
    size_t outer = begin_branch(b->in);
    copy_cells(b->in, b->frame, &inner, &b->cells);
    if (!run_inside(b->in, &inner, block, outer)) return false;
    take_all(b, &inner, out);
    return onx_x_ok(x);
}

void onx_py_if(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, onx_xv cond) {
    branch b = {in, frame, s, assigned(in, frame, s, false), {0}};
    find_cells(in, frame, &s->body, &b.cells);
    find_cells(in, frame, &s->otherwise, &b.cells);
    size_t n = b.which.n + b.cells.n;
    onx_xv *out = onx_x_array(in->x, n + 1, sizeof *out);
    if (!onx_x_ok(in->x) || select_bool(in, frame, s, &b.which, cond)) return;
    onx_py_place(in, frame, s->at);
    onx_value *value = onx_x_scalar(in->x, &cond, ONX_DTYPE_BOOL);
    if (value && out && onx_x_if(in->x, value, n, run_side, &b, out)) put_all(&b, frame, out);
}

/* ─ Loop ─────────────────────────────────────────────────────────────────────────────────────── */

static bool is_call(const onx_script_expr *e, const char *name) {
    return onx_str_is(onx_script_dotted(e->items[0]), name);
}

/* The list that statement `s` appends one element to, by the call that is its value k; a local from
 * before the loop; -1: it does no such thing. torch.add(l, [e]) is such a call where it is assigned
 * to l again. */
static int32_t appends_to(const onx_frame *frame, const onx_script_stmt *s, size_t k) {
    const onx_script_expr *e = s->values[k];
    if (e->kind != ONX_EXPR_CALL || e->n != 3 || e->items[1]->kind != ONX_EXPR_NAME) return -1;
    int32_t slot = e->items[1]->slot;
    bool one = e->items[2]->kind == ONX_EXPR_LIST && e->items[2]->n == 1;
    bool again = s->kind == ONX_STMT_ASSIGN && s->target_count == s->value_count && !s->unpack &&
                 s->targets[k].slot == slot;
    bool grows = is_call(e, "torch.append") || (one && is_call(e, "torch.add_")) ||
                 (one && again && is_call(e, "torch.add"));
    return grows && slot >= 0 && frame->locals[slot].kind == ONX_X_LIST ? slot : -1;
}

/* A list of the same elements. */
static onx_xv another(onx_interp *in, const onx_xv *list) {
    onx_xarg self = {.v = *list};
    return onx_py_operator(in, ONX_LIT("copy"), 1, &self);
}

/* The lists that every turn appends one element to. */
static slots appended(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    const onx_script_block *block = &s->body;
    slots out = {onx_x_array(in->x, frame->func->local_count + 1, sizeof *out.v), 0};
    for (size_t i = 0; out.v && i < block->n; i++)
        for (size_t k = 0; k < block->stmts[i]->value_count; k++) {
            int32_t slot = appends_to(frame, block->stmts[i], k);
            if (slot < 0 || has_slot(&out, slot)) continue;
            if (is_call(block->stmts[i]->values[k], "torch.add"))
                frame->locals[slot] = another(in, &frame->locals[slot]);
            out.v[out.n++] = slot;
        }
    return out;
}

/* Lists that are only appended to are no cells, and are not carried. */
static void leave_out(branch *b, const slots *lists) {
    size_t n = 0, carried = 0;
    for (size_t i = 0; i < b->cells.n; i++)
        if (!has_slot(lists, b->cells.v[i].slot)) b->cells.v[n++] = b->cells.v[i];
    for (size_t i = 0; i < b->which.n; i++)
        if (!has_slot(lists, b->which.v[i])) b->which.v[carried++] = b->which.v[i];
    b->cells.n = n;
    b->which.n = carried;
}

typedef struct turns {
    branch b;
    slots lists;
    onx_xv *filled; /* the lists of the last turn */
} turns;

static bool run_turn(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                     onx_xv *go) {
    const turns *t = user;
    onx_interp *in = t->b.in;
    const onx_script_stmt *s = t->b.s;
    onx_frame inner = inside(in, t->b.frame);
    if (!onx_x_ok(x)) return false;
    if (s->kind == ONX_STMT_FOR) inner.locals[s->targets[0].slot] = turn;
    size_t outer = begin_branch(in);
    copy_cells(in, t->b.frame, &inner, &t->b.cells);
    put_all(&t->b, &inner, carried);
    for (size_t i = 0; i < t->lists.n; i++)
        inner.locals[t->lists.v[i]] = t->filled[i] = onx_py_stack_open(in);
    if (!run_inside(in, &inner, &s->body, outer)) return false;
    take_all(&t->b, &inner, carried);
    for (size_t i = 0; i < t->lists.n && onx_x_ok(x); i++)
        stacked[i] = onx_py_stack_turn(in, &t->filled[i]);
    if (s->kind == ONX_STMT_WHILE) *go = onx_py_truth(in, onx_py_eval(in, &inner, s->values[0]));
    return onx_x_ok(x);
}

void onx_py_loop(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, const onx_xv *trips,
                 const onx_xv *cond) {
    turns t = {{in, frame, s, assigned(in, frame, s, true), {0}}, appended(in, frame, s), NULL};
    find_cells(in, frame, &s->body, &t.b.cells);
    leave_out(&t.b, &t.lists);
    size_t n = t.b.which.n + t.b.cells.n;
    onx_xv *carried = onx_x_array(in->x, n + 1, sizeof *carried);
    onx_xv *stacked = onx_x_array(in->x, t.lists.n + 1, sizeof *stacked);
    t.filled = onx_x_array(in->x, t.lists.n + 1, sizeof *t.filled);
    if (!onx_x_ok(in->x)) return;
    onx_py_place(in, frame, s->at);
    take_all(&t.b, frame, carried);
    onx_xloop loop = {.trips = trips, .go = cond, .body = run_turn, .user = &t};
    loop.n = n;
    loop.carried = carried;
    loop.n_stacked = t.lists.n;
    loop.stacked = stacked;
    for (size_t i = 0; i < t.lists.n; i++)
        if (!onx_py_may_change(in, &frame->locals[t.lists.v[i]])) return;
    if (!onx_x_loop(in->x, &loop)) return;
    put_all(&t.b, frame, carried);
    for (size_t i = 0; i < t.lists.n; i++)
        onx_py_stack_close(in, &frame->locals[t.lists.v[i]], &t.filled[i], stacked[i]);
}
