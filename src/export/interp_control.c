/* interp_control.c: branches and loops of TorchScript that the model decides: If and Loop.
 *
 * Locals are what they change. A branch gives those that are assigned in it and used behind it; a
 * loop carries those that are assigned in it and had a value before (names are assigned once in a
 * function, but for what branches join and loops carry). So are lists, dicts and attributes that
 * change in there, wherever that happens (cells). Which these are, and in what form they are given
 * or carried, is found by running: when something new is found the node is given up, and made
 * again. */
#include "export/if_loop.h"
#include "export/interp_form.h"

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

/* ─ What goes in and out ─────────────────────────────────────────────────────────────────────── */

enum { TRIES = 12 };

typedef struct branch {
    onx_interp *in;
    onx_frame *frame;
    const onx_script_stmt *s;
    slots which;
    onx_py_cell *cells;
    size_t n, cap;             /* of cells */
    const onx_py_form **forms; /* of locals, then of cells; NULL: not known yet */
    size_t n_forms;
    unsigned tries;
    bool again; /* something was found that is not given or carried yet */
} branch;

static bool ready(branch *b) {
    size_t n = b->which.n + b->n;
    const onx_py_form **forms = onx_x_array(b->in->x, n + 1, sizeof *forms);
    if (!forms) return false;
    if (b->n_forms) memcpy(forms, b->forms, b->n_forms * sizeof *forms);
    b->forms = forms;
    b->n_forms = n;
    b->again = false;
    if (++b->tries <= TRIES) return true;
    return onx_x_fail(b->in->x, ONX_UNSUPPORTED, "what a branch or loop changes does not settle");
}

static void add_cells(branch *b, const onx_py_changes *changes) {
    for (size_t i = 0; i < changes->n && onx_x_ok(b->in->x); i++) {
        bool known = !onx_py_spend(b->in, b->n);
        for (size_t k = 0; k < b->n && !known; k++)
            known = onx_py_cell_same(&b->cells[k], &changes->v[i].cell);
        if (known) continue;
        if (!onx_arena_grow(&b->in->x->arena, &b->cells, &b->cap, b->n, sizeof *b->cells))
            onx_x_nomem(b->in->x);
        else
            b->cells[b->n++] = changes->v[i].cell;
        b->again = true;
    }
}

static void take_all(const branch *b, const onx_frame *frame, onx_xv *out) {
    take_locals(frame, &b->which, out);
    for (size_t i = b->which.n; i < b->n_forms && onx_x_ok(b->in->x); i++)
        out[i] = onx_py_cell_get(b->in, &b->cells[i - b->which.n]);
}

/* Values that a node is to be given; `first`: no others were encoded yet. */
static void encode_all(branch *b, bool first, onx_xv *values) {
    for (size_t i = 0; i < b->n_forms && onx_x_ok(b->in->x) && !b->in->x->survey; i++) {
        bool changed = false;
        b->forms[i] = onx_py_form_join(b->in, b->forms[i], &values[i], &changed);
        if (b->forms[i]) values[i] = onx_py_encode(b->in, &values[i], b->forms[i]);
        b->again |= changed && !first;
    }
}

static void put_all(const branch *b, onx_frame *frame, onx_xv *values) {
    for (size_t i = 0; i < b->n_forms && onx_x_ok(b->in->x); i++)
        if (b->forms[i]) values[i] = onx_py_decode(b->in, &values[i], b->forms[i]);
    put_locals(frame, &b->which, values);
    for (size_t i = b->which.n; i < b->n_forms && onx_x_ok(b->in->x); i++)
        onx_py_cell_set(b->in, &b->cells[i - b->which.n], values[i]);
}

static bool run_block(branch *b, onx_frame *inner, const onx_script_block *block) {
    onx_py_exec(b->in, inner, block);
    if (inner->returned)
        onx_x_fail(b->in->x, ONX_UNSUPPORTED, "'return' in a branch that depends on data");
    return onx_x_ok(b->in->x);
}

/* ─ If ───────────────────────────────────────────────────────────────────────────────────────── */

static bool run_side(onx_export *x, void *user, bool then, onx_xv *out) {
    branch *b = user;
    onx_frame inner = inside(b->in, b->frame);
    onx_py_changes changes;
    if (!onx_x_ok(x)) return false;
    onx_py_changes_begin(b->in, &changes);
    if (run_block(b, &inner, then ? &b->s->body : &b->s->otherwise)) take_all(b, &inner, out);
    onx_py_changes_end(b->in, &changes);
    add_cells(b, &changes);
    encode_all(b, then, out);
    return onx_x_ok(x) && (then || !b->again);
}

void onx_py_if(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, onx_xv cond) {
    branch b = {.in = in, .frame = frame, .s = s, .which = assigned(in, frame, s, false)};
    if (!onx_x_ok(in->x) || select_bool(in, frame, s, &b.which, cond)) return;
    onx_py_place(in, frame, s->at);
    onx_value *value = onx_x_scalar(in->x, &cond, ONX_DTYPE_BOOL);
    while (value && ready(&b)) {
        onx_xv *out = onx_x_array(in->x, b.n_forms + 1, sizeof *out);
        if (out && onx_x_if(in->x, value, b.n_forms, run_side, &b, out)) {
            put_all(&b, frame, out);
            return;
        }
    }
}

/* ─ Loop ─────────────────────────────────────────────────────────────────────────────────────── */

/* How often expressions ask for a local: they are only so high (onx_script_expr.height). */
static size_t uses_in(const onx_script_expr *e, int32_t slot) {
    size_t n = e->kind == ONX_EXPR_NAME && e->slot == slot;
    for (size_t i = 0; i < e->n; i++) n += e->items[i] ? uses_in(e->items[i], slot) : 0;
    return n;
}

static size_t uses_of(const onx_script_block *block, int32_t slot) {
    size_t n = 0;
    for (size_t i = 0; i < block->n; i++) {
        const onx_script_stmt *s = block->stmts[i];
        for (size_t k = 0; k < s->value_count; k++) n += uses_in(s->values[k], slot);
        n += uses_of(&s->body, slot) + uses_of(&s->otherwise, slot);
    }
    return n;
}

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

/* The lists that every turn appends one element to and does not look at: what the turns give is
 * stacked by the node itself. */
static slots appended(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    const onx_script_block *block = &s->body;
    slots out = {onx_x_array(in->x, frame->func->local_count + 1, sizeof *out.v), 0};
    for (size_t i = 0; out.v && i < block->n; i++)
        for (size_t k = 0; k < block->stmts[i]->value_count; k++) {
            int32_t slot = appends_to(frame, block->stmts[i], k);
            if (slot < 0 || uses_of(block, slot) + uses_in(s->values[0], slot) != 1) continue;
            if (is_call(block->stmts[i]->values[k], "torch.add"))
                frame->locals[slot] = another(in, &frame->locals[slot]);
            out.v[out.n++] = slot;
        }
    return out;
}

/* They are not carried. */
static void leave_out(slots *which, const slots *lists) {
    size_t n = 0;
    for (size_t i = 0; i < which->n; i++)
        if (!has_slot(lists, which->v[i])) which->v[n++] = which->v[i];
    which->n = n;
}

typedef struct turns {
    branch b;
    slots lists;
    onx_xv *filled; /* the lists of the last turn */
} turns;

static bool run_turn(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                     onx_xv *go) {
    turns *t = user;
    branch *b = &t->b;
    onx_interp *in = b->in;
    onx_frame inner = inside(in, b->frame);
    onx_py_changes changes;
    if (!onx_x_ok(x)) return false;
    if (b->s->kind == ONX_STMT_FOR) inner.locals[b->s->targets[0].slot] = turn;
    onx_py_changes_begin(in, &changes);
    put_all(b, &inner, carried);
    for (size_t i = 0; i < t->lists.n; i++)
        inner.locals[t->lists.v[i]] = t->filled[i] = onx_py_stack_open(in);
    if (run_block(b, &inner, &b->s->body)) take_all(b, &inner, carried);
    for (size_t i = 0; i < t->lists.n && onx_x_ok(x) && !x->survey; i++)
        stacked[i] = onx_py_stack_turn(in, &t->filled[i]);
    if (b->s->kind == ONX_STMT_WHILE && onx_x_ok(x))
        *go = onx_py_truth(in, onx_py_eval(in, &inner, b->s->values[0]));
    onx_py_changes_end(in, &changes);
    add_cells(b, &changes);
    encode_all(b, false, carried);
    return onx_x_ok(x) && !b->again;
}

static bool make_loop(turns *t, const onx_xv *trips, const onx_xv *cond) {
    onx_export *x = t->b.in->x;
    onx_frame *frame = t->b.frame;
    onx_xv *carried = onx_x_array(x, t->b.n_forms + 1, sizeof *carried);
    onx_xv *stacked = onx_x_array(x, t->lists.n + 1, sizeof *stacked);
    if (!carried || !stacked) return false;
    take_all(&t->b, frame, carried);
    encode_all(&t->b, true, carried);
    onx_xloop loop = {trips, cond, t->b.n_forms, carried, t->lists.n, stacked, run_turn, t};
    if (!onx_x_ok(x) || !onx_x_loop(x, &loop)) return false;
    put_all(&t->b, frame, carried);
    for (size_t i = 0; i < t->lists.n; i++)
        onx_py_stack_close(t->b.in, &frame->locals[t->lists.v[i]], &t->filled[i], stacked[i]);
    return true;
}

void onx_py_loop(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, const onx_xv *trips,
                 const onx_xv *cond) {
    turns t = {.b = {.in = in, .frame = frame, .s = s, .which = assigned(in, frame, s, true)},
               .lists = appended(in, frame, s)};
    leave_out(&t.b.which, &t.lists);
    t.filled = onx_x_array(in->x, t.lists.n + 1, sizeof *t.filled);
    if (!onx_x_ok(in->x)) return;
    onx_py_place(in, frame, s->at);
    for (size_t i = 0; i < t.lists.n; i++)
        if (!onx_py_may_change(in, &frame->locals[t.lists.v[i]], 0)) return;
    while (ready(&t.b) && !make_loop(&t, trips, cond)) continue;
}
