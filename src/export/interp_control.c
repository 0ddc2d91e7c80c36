/* interp_control.c: branches and loops of TorchScript that the model decides: If and Loop.
 *
 * Locals are what they change. A branch gives those that are assigned in it and used behind it; a
 * loop carries those that are assigned in it and had a value before (names are assigned once in a
 * function, but for what branches join and loops carry). Objects, lists and dicts from outside must
 * not change in there. */
#include "export/if_loop.h"
#include "export/interp_internal.h"

/* ─ Which locals ─────────────────────────────────────────────────────────────────────────────── */

typedef struct slots {
    int32_t *v;
    size_t n;
} slots;

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
} branch;

static bool run_side(onx_export *x, void *user, bool then, onx_xv *out) {
    const branch *b = user;
    onx_frame inner = inside(b->in, b->frame);
    const onx_script_block *block = then ? &b->s->body : &b->s->otherwise;
    if (!onx_x_ok(x) || !run_inside(b->in, &inner, block, begin_branch(b->in))) return false;
    take_locals(&inner, &b->which, out);
    return true;
}

void onx_py_if(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, onx_xv cond) {
    branch b = {in, frame, s, assigned(in, frame, s, false)};
    onx_xv *out = onx_x_array(in->x, b.which.n + 1, sizeof *out);
    if (!onx_x_ok(in->x) || select_bool(in, frame, s, &b.which, cond)) return;
    onx_py_place(in, frame, s->at);
    onx_value *value = onx_x_scalar(in->x, &cond, ONX_DTYPE_BOOL);
    if (value && out && onx_x_if(in->x, value, b.which.n, run_side, &b, out))
        put_locals(frame, &b.which, out);
}

/* ─ Loop ─────────────────────────────────────────────────────────────────────────────────────── */

/* The list that a statement appends to, a local from before the loop; -1: it does no such thing. */
static int32_t appends_to(const onx_frame *frame, const onx_script_stmt *s) {
    const onx_script_expr *e = s->value_count == 1 ? s->values[0] : NULL;
    bool call = e && (s->kind == ONX_STMT_EXPR || s->kind == ONX_STMT_ASSIGN) && e->n == 3 &&
                e->kind == ONX_EXPR_CALL && e->items[1]->kind == ONX_EXPR_NAME &&
                onx_str_is(onx_script_dotted(e->items[0]), "torch.append");
    int32_t slot = call ? e->items[1]->slot : -1;
    return slot >= 0 && frame->locals[slot].kind == ONX_X_LIST ? slot : -1;
}

/* The lists that every turn appends one element to. */
static slots appended(onx_interp *in, const onx_frame *frame, const onx_script_stmt *s) {
    const onx_script_block *block = &s->body;
    slots out = {onx_x_array(in->x, block->n + 1, sizeof *out.v), 0};
    for (size_t i = 0; out.v && i < block->n; i++) {
        int32_t slot = appends_to(frame, block->stmts[i]);
        if (slot >= 0) out.v[out.n++] = slot;
    }
    return out;
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
    put_locals(&inner, &t->b.which, carried);
    if (s->kind == ONX_STMT_FOR) inner.locals[s->targets[0].slot] = turn;
    size_t outer = begin_branch(in);
    for (size_t i = 0; i < t->lists.n; i++)
        inner.locals[t->lists.v[i]] = t->filled[i] = onx_py_stack_open(in);
    if (!run_inside(in, &inner, &s->body, outer)) return false;
    take_locals(&inner, &t->b.which, carried);
    for (size_t i = 0; i < t->lists.n && onx_x_ok(x); i++)
        stacked[i] = onx_py_stack_turn(in, &t->filled[i]);
    if (s->kind == ONX_STMT_WHILE) *go = onx_py_truth(in, onx_py_eval(in, &inner, s->values[0]));
    return onx_x_ok(x);
}

void onx_py_loop(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, const onx_xv *trips,
                 const onx_xv *cond) {
    turns t = {{in, frame, s, assigned(in, frame, s, true)}, appended(in, frame, s), NULL};
    onx_xv *carried = onx_x_array(in->x, t.b.which.n + 1, sizeof *carried);
    onx_xv *stacked = onx_x_array(in->x, t.lists.n + 1, sizeof *stacked);
    t.filled = onx_x_array(in->x, t.lists.n + 1, sizeof *t.filled);
    if (!onx_x_ok(in->x)) return;
    onx_py_place(in, frame, s->at);
    take_locals(frame, &t.b.which, carried);
    onx_xloop loop = {.trips = trips, .go = cond, .body = run_turn, .user = &t};
    loop.n = t.b.which.n;
    loop.carried = carried;
    loop.n_stacked = t.lists.n;
    loop.stacked = stacked;
    for (size_t i = 0; i < t.lists.n; i++)
        if (!onx_py_may_change(in, &frame->locals[t.lists.v[i]])) return;
    if (!onx_x_loop(in->x, &loop)) return;
    put_locals(frame, &t.b.which, carried);
    for (size_t i = 0; i < t.lists.n; i++)
        onx_py_stack_close(in, &frame->locals[t.lists.v[i]], &t.filled[i], stacked[i]);
}
