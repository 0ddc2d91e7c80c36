/* interp_stmt.c: statements of TorchScript. Branches and loops that are decided here leave nothing
 * behind; the others go to interp_control.c. */
#include "export/interp_internal.h"

/* ─ Assignments ──────────────────────────────────────────────────────────────────────────────── */

static void unpack(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    size_t n = 0;
    onx_xv v = onx_py_eval(in, frame, s->values[0]);
    const onx_xv *items = onx_py_items(&v, &n);
    bool unknown = v.kind == ONX_X_UNKNOWN;
    if (!onx_x_ok(in->x)) return;
    if (!unknown && (!items || n != s->target_count))
        onx_x_fail(in->x, ONX_MALFORMED, "%s of %zu values is taken apart into %u", onx_py_kind(&v),
                   n, (unsigned)s->target_count);
    for (size_t i = 0; i < s->target_count && onx_x_ok(in->x); i++)
        frame->locals[s->targets[i].slot] = unknown ? v : items[i];
}

static void assign(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    if (s->unpack || s->target_count != s->value_count) {
        unpack(in, frame, s);
        return;
    }
    onx_xv one, *values = &one;
    if (s->value_count > 1) values = onx_x_array(in->x, s->value_count, sizeof *values);
    for (size_t i = 0; i < s->value_count && onx_x_ok(in->x); i++)
        values[i] = onx_py_eval(in, frame, s->values[i]);
    for (size_t i = 0; i < s->value_count && onx_x_ok(in->x); i++)
        frame->locals[s->targets[i].slot] = values[i];
}

static void set_attr(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    const onx_script_expr *place = s->values[0];
    onx_xv base = onx_py_eval(in, frame, place->items[0]);
    onx_xarg args[] = {{.v = base}, {.v = onx_py_none()}, {.v = onx_py_none()}};
    if (place->kind == ONX_EXPR_INDEX) args[1].v = onx_py_eval(in, frame, place->items[1]);
    args[2].v = onx_py_eval(in, frame, s->values[1]);
    if (!onx_x_ok(in->x)) return;
    onx_py_place(in, frame, s->at);
    if (place->kind == ONX_EXPR_ATTR)
        onx_py_set(in, &base, place->text, args[2].v);
    else
        onx_py_operator(in, ONX_LIT("_set_item"), 3, args);
}

static void evaluate(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    (void)onx_py_eval(in, frame, s->values[0]);
}

static void give_back(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    frame->result = s->value_count ? onx_py_eval(in, frame, s->values[0]) : onx_py_none();
    frame->returned = true;
}

static void pass(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    (void)in, (void)frame, (void)s;
}

static void define(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    (void)in;
    frame->locals[s->targets[0].slot] = onx_py_other(onx_py_inner, s);
}

/* ─ Branches ─────────────────────────────────────────────────────────────────────────────────── */

/* The call of RaiseException that a block makes whatever happens; NULL: there is none. */
static const onx_script_expr *raise_of(const onx_script_block *block) {
    for (size_t i = 0; i < block->n; i++) {
        const onx_script_stmt *s = block->stmts[i];
        const onx_script_expr *e = s->value_count == 1 ? s->values[0] : NULL;
        bool simple = s->kind == ONX_STMT_EXPR || s->kind == ONX_STMT_ASSIGN;
        if (simple && e && e->kind == ONX_EXPR_CALL &&
            onx_str_is(onx_script_dotted(e->items[0]), "ops.prim.RaiseException"))
            return e;
    }
    return NULL;
}

/* The side that raises is not the one that the user wants. */
static void assume(onx_interp *in, onx_frame *frame, const onx_script_stmt *s,
                   const onx_script_expr *raise) {
    bool text = raise->n > 1 && raise->items[1]->kind == ONX_EXPR_STR;
    onx_str why = text ? raise->items[1]->text : ONX_LIT("an exception");
    onx_py_place(in, frame, s->at);
    onx_x_note(in->x, "a check of data is left out, which could raise: %.*s", ONX_FMT(why));
    onx_py_exec(in, frame, raise_of(&s->body) ? &s->otherwise : &s->body);
}

static void take_guess(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, bool yes) {
    onx_py_place(in, frame, s->at);
    onx_x_note(in->x, "a size that the program compares with 0 is taken not to be 0");
    onx_py_exec(in, frame, yes ? &s->body : &s->otherwise);
}

static void exec_both(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    if (!in->x->survey)
        onx_x_fail(in->x, ONX_UNSUPPORTED, "a branch depends on a value that was never set");
    onx_py_exec(in, frame, &s->body);
    onx_py_exec(in, frame, &s->otherwise);
}

static void exec_if(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    bool yes;
    onx_xv cond = onx_py_truth(in, onx_py_eval(in, frame, s->values[0]));
    const onx_script_expr *raises[] = {raise_of(&s->body), raise_of(&s->otherwise)};
    if (!onx_x_ok(in->x)) return;
    if (cond.kind == ONX_X_UNKNOWN)
        exec_both(in, frame, s);
    else if (onx_xv_known_bool(&cond, &yes))
        onx_py_exec(in, frame, yes ? &s->body : &s->otherwise);
    else if (onx_py_guess(in, &cond, &yes))
        take_guess(in, frame, s, yes);
    else if (!raises[0] != !raises[1])
        assume(in, frame, s, raises[0] ? raises[0] : raises[1]);
    else
        onx_py_if(in, frame, s, cond);
}

/* ─ Loops ────────────────────────────────────────────────────────────────────────────────────── */

static void exec_for(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    const onx_script_expr *range = s->values[0];
    int64_t n;
    if (range->kind != ONX_EXPR_CALL || range->n != 2) {
        onx_x_fail(in->x, ONX_MALFORMED, "'for' over what is not a range");
        return;
    }
    onx_xv trips = onx_py_eval(in, frame, range->items[1]);
    if (!onx_x_ok(in->x)) return;
    if (trips.kind == ONX_X_UNKNOWN) trips = onx_xv_int(in->x, in->x->survey);
    if (!onx_xv_known_int(&trips, &n)) {
        onx_py_loop(in, frame, s, &trips, NULL);
        return;
    }
    for (int64_t i = 0; i < n && onx_x_ok(in->x); i++) {
        frame->locals[s->targets[0].slot] = onx_xv_int(in->x, i);
        onx_py_exec(in, frame, &s->body);
    }
}

/* Which locals have a value, and: those that had none then have none again. */
static const bool *values_set(onx_interp *in, const onx_frame *frame) {
    bool *set = onx_x_array(in->x, frame->func->local_count + 1, sizeof *set);
    for (size_t i = 0; set && i < frame->func->local_count; i++)
        set[i] = !onx_py_is_other(&frame->locals[i], onx_py_unset);
    return set;
}

static void forget_others(onx_frame *frame, const bool *set) {
    for (size_t i = 0; set && i < frame->func->local_count; i++)
        if (!set[i]) frame->locals[i] = onx_py_other(onx_py_unset, NULL);
}

static void exec_while(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    const bool *before = values_set(in, frame);
    while (onx_x_ok(in->x)) {
        bool yes = false;
        onx_xv cond = onx_py_truth(in, onx_py_eval(in, frame, s->values[0]));
        if (!onx_x_ok(in->x)) return;
        if (cond.kind == ONX_X_UNKNOWN) {
            onx_py_exec(in, frame, &s->body);
            return;
        }
        if (!onx_xv_known_bool(&cond, &yes)) {
            forget_others(frame, before); /* what only turns have that ran here */
            onx_py_loop(in, frame, s, NULL, &cond);
            return;
        }
        if (!yes) return;
        onx_py_exec(in, frame, &s->body);
    }
}

/* Context managers of Python classes run; those of PyTorch (no_grad …) change nothing here. */
static void exec_with(onx_interp *in, onx_frame *frame, const onx_script_stmt *s) {
    onx_xv v = onx_py_eval(in, frame, s->values[0]), entered = v;
    const onx_py_object *object = onx_x_ok(in->x) && v.kind == ONX_X_OBJECT ? v.object : NULL;
    bool enter = object && onx_script_method(object->cls, ONX_LIT("__enter__"));
    bool leave = object && onx_script_method(object->cls, ONX_LIT("__exit__"));
    onx_xarg none[3] = {{.v = onx_py_none()}, {.v = onx_py_none()}, {.v = onx_py_none()}};
    if (enter) entered = onx_py_call_method(in, &v, ONX_LIT("__enter__"), 0, none);
    if (s->target_count) frame->locals[s->targets[0].slot] = entered;
    onx_autocast outer = in->autocast;
    (void)onx_py_read_autocast(in, &v, &in->autocast);
    onx_py_exec(in, frame, &s->body);
    in->autocast = outer;
    if (leave && onx_x_ok(in->x)) onx_py_call_method(in, &v, ONX_LIT("__exit__"), 3, none);
}

/* ─ Blocks ───────────────────────────────────────────────────────────────────────────────────── */

void onx_py_exec(onx_interp *in, onx_frame *frame, const onx_script_block *block) {
    static void (*const execs[])(onx_interp *, onx_frame *, const onx_script_stmt *) = {
        [ONX_STMT_PASS] = pass,        [ONX_STMT_EXPR] = evaluate,    [ONX_STMT_ASSIGN] = assign,
        [ONX_STMT_SETATTR] = set_attr, [ONX_STMT_RETURN] = give_back, [ONX_STMT_IF] = exec_if,
        [ONX_STMT_FOR] = exec_for,     [ONX_STMT_WHILE] = exec_while, [ONX_STMT_WITH] = exec_with,
        [ONX_STMT_DEF] = define,
    };
    if (onx_py_enter(in))
        for (size_t i = 0; i < block->n && onx_x_ok(in->x) && !frame->returned; i++) {
            if (onx_py_spend(in, 1)) execs[block->stmts[i]->kind](in, frame, block->stmts[i]);
        }
    onx_py_leave(in);
}
