/* check_function.c: functions of the model, and calls to them.
 *
 * Functions are found by domain, name and overload, one after the other, in one map:
 *
 *     (NULL, domain)          first function of the domain
 *     (that, name)            first of them with the name
 *     (its body, overload)    the function */
#include "check/checker.h"
#include "ir/edit.h"

typedef struct onx_checked_call {
    const onx_function *from, *to;
    struct onx_checked_call *next; /* of the same `from` */
} onx_checked_call;

/* ── Finding ─────────────────────────────────────────────────────────────────────────────────── */

static const onx_function *find(const onx_checker *c, onx_str domain, onx_str name,
                                onx_str overload) {
    const onx_function *f = onx_map_get(&c->functions, NULL, onx_domain_plain(domain));
    if (f) f = onx_map_get(&c->functions, f, name);
    return f ? onx_map_get(&c->functions, &f->body, overload) : NULL;
}

/* What (owner, name) leads to: `f`, unless something stands there. NULL: memory ran out. */
static const onx_function *enter(onx_checker *c, const void *owner, onx_str name,
                                 const onx_function *f) {
    const onx_function *there = onx_map_get(&c->functions, owner, name);
    if (there) return there;
    return onx_map_put(&c->functions, owner, name, (void *)(uintptr_t)f) ? f : NULL;
}

bool onx_check_functions(onx_checker *c, const onx_model *model) {
    ONX_EACH (onx_function, f, model->functions) {
        const onx_function *first = enter(c, NULL, onx_domain_plain(f->domain), f);
        if (first) first = enter(c, first, f->name, f);
        if (first) first = enter(c, &first->body, f->overload, f);
        if (!first) return false;
        ONX_EACH (onx_opset, o, f->opset_import) onx_check_enter_import(c, f, o);
        for (size_t i = 0; i < f->attribute.n; i++)
            onx_check_once(c, &c->names, &f->attribute_proto, f->attribute.v[i]);
        ONX_EACH (onx_attr, a, f->attribute_proto)
            onx_check_once(c, &c->names, &f->attribute_proto, a->name);
    }
    return !c->no_memory;
}

const onx_function *onx_check_called(const onx_checker *c, const onx_node *node) {
    return c->functions.used ? find(c, node->domain, node->op_type, node->overload) : NULL;
}

/* ── Functions ───────────────────────────────────────────────────────────────────────────────── */

static void check_identity(onx_checker *c, const onx_function *f) {
    if (!f->name.size)
        onx_check_tell(c, ONX_RULE_FUNCTION_NAME, f, "give it a name", "the function has no name");
    if (!onx_msg_has(f, ONX_ROW(function, domain)) && c->model->ir_version >= 8)
        onx_check_tell(c, ONX_RULE_FUNCTION_NAME, f, "give it a domain",
                       "the function '%.*s' has no domain", ONX_FMT(f->name));
    if (find(c, f->domain, f->name, f->overload) != f)
        onx_check_tell(c, ONX_RULE_FUNCTION_DUPLICATE, f, "rename one, or give it an overload",
                       "there are two functions '%.*s' in the domain '%.*s'", ONX_FMT(f->name),
                       ONX_FMT(f->domain));
    if (f->overload.size) onx_check_ir(c, ONX_RULE_IR_FEATURE, f, 10, "overloads of functions");
}

static void check_attributes(onx_checker *c, const onx_function *f) {
    if (f->attribute_proto.count)
        onx_check_ir(c, ONX_RULE_IR_FEATURE, f, 9, "defaults of function attributes");
    for (size_t i = 0; i < f->attribute.n; i++)
        if (!onx_check_once(c, &c->names, &f->attribute, f->attribute.v[i]))
            onx_check_tell(c, ONX_RULE_FUNCTION_PARAMETER, f, "rename one of the two",
                           "the function has two attributes '%.*s'", ONX_FMT(f->attribute.v[i]));
    ONX_EACH (onx_attr, a, f->attribute_proto)
        if (!onx_check_once(c, &c->names, &f->attribute, a->name))
            onx_check_tell(c, ONX_RULE_FUNCTION_PARAMETER, f, "keep one of the two",
                           "the function has two attributes '%.*s'", ONX_FMT(a->name));
}

void onx_check_function(onx_checker *c, const onx_function *f) {
    onx_check_leave_all(c);
    c->function = f;
    check_identity(c, f);
    onx_check_imports(c, f, &f->opset_import);
    check_attributes(c, f);
    onx_check_body(c, f);
    onx_check_metadata(c, &f->msg, &f->metadata_props);
}

/* ── Calls ───────────────────────────────────────────────────────────────────────────────────── */

/* One that is missing is enough to tell. */
static void check_call_attrs(onx_checker *c, const onx_node *node, const onx_function *f) {
    size_t i = 0;
    while (i < f->attribute.n && onx_check_has_attr(c, node, f->attribute.v[i])) i++;
    if (i < f->attribute.n)
        onx_check_tell(c, ONX_RULE_CALL_ATTR, node, "give it a value, or the function a default",
                       "the attribute '%.*s' of the function has no value here",
                       ONX_FMT(f->attribute.v[i]));
    ONX_EACH (onx_attr, a, node->attribute)
        if (a->name.size && !onx_map_get(&c->names, &f->attribute_proto, a->name))
            onx_check_tell(c, ONX_RULE_CALL_UNKNOWN, a, "remove it",
                           "the function '%.*s' has no attribute '%.*s'", ONX_FMT(f->name),
                           ONX_FMT(a->name));
}

/* Does an operator in the body need the input? Operators mean there what the function imports. */
static bool is_needed(onx_checker *c, const onx_function *f, const onx_value *input) {
    const onx_function *outside = c->function;
    bool needed = false;
    c->function = f;
    for (const onx_ref *r = input->first; r && !needed; r = r->next) {
        const onx_node *user = r->kind == ONX_REF_INPUT ? (const onx_node *)r->owner : NULL;
        const onx_checked_op *callee =
            user && !onx_check_called(c, user) ? onx_check_callee(c, user) : NULL;
        size_t n = callee ? callee->signature.n_inputs : 0;
        needed = r->index < n && !callee->signature.inputs[r->index].optional;
    }
    c->function = outside;
    return needed;
}

typedef struct needs {
    bool *input;
    size_t end; /* no input from here on is needed */
} needs;

/* Which inputs of a function are needed, found out once. NULL: memory ran out. */
static const needs *needs_of(onx_checker *c, const onx_function *f) {
    needs *known = onx_map_get(&c->functions, &f->input, (onx_str){NULL, 0});
    if (known) return known;
    known = onx_arena_alloc(&c->arena, sizeof *known);
    if (known) known->input = onx_arena_array(&c->arena, f->input.n + 1, sizeof *known->input);
    if (!known || !known->input ||
        !onx_map_put(&c->functions, &f->input, (onx_str){NULL, 0}, known)) {
        c->no_memory = true;
        return NULL;
    }
    for (size_t i = 0; i < f->input.n; i++)
        if ((known->input[i] = is_needed(c, f, f->body.ins.v[i]->value))) known->end = i + 1;
    return known;
}

static void check_call_inputs(onx_checker *c, const onx_node *node, const onx_function *f) {
    const needs *n = needs_of(c, f);
    size_t i = 0;
    if (!n) return;
    while (i < node->input.n && (i >= n->end || node->input.v[i].size || !n->input[i])) i++;
    if (i >= n->end) return;
    if (i == node->input.n) i = n->end - 1;
    onx_check_tell(c, ONX_RULE_CALL_MISSING, node, NULL,
                   "the function '%.*s' needs its input %zu, '%.*s'", ONX_FMT(f->name), i,
                   ONX_FMT(f->input.v[i]));
}

void onx_check_call(onx_checker *c, const onx_node *node, const onx_function *f) {
    check_call_inputs(c, node, f);
    if (node->input.n > f->input.n)
        onx_check_tell(c, ONX_RULE_CALL_INPUTS, node, NULL,
                       "the call has %zu inputs, the function '%.*s' has %zu", node->input.n,
                       ONX_FMT(f->name), f->input.n);
    if (node->output.n > f->output.n)
        onx_check_tell(c, ONX_RULE_CALL_OUTPUTS, node, NULL,
                       "the call has %zu outputs, the function '%.*s' has %zu", node->output.n,
                       ONX_FMT(f->name), f->output.n);
    check_call_attrs(c, node, f);
    if (!c->function) return;
    if (!onx_arena_grow(&c->arena, &c->calls, &c->calls_cap, c->n_calls, sizeof *c->calls)) {
        c->no_memory = true;
        return;
    }
    c->calls[c->n_calls++] = (onx_checked_call){.from = c->function, .to = f};
}

/* ── Recursion ───────────────────────────────────────────────────────────────────────────────── */

typedef struct function_state {
    const onx_function *function;
    onx_checked_call *calls, *at; /* from it; the one that is followed */
    struct function_state *caller;
    bool open, done;
} function_state;

static function_state *state_of(const onx_map *states, const onx_function *f) {
    return onx_map_get(states, f, (onx_str){NULL, 0});
}

static void tell_recursion(onx_checker *c, const function_state *s) {
    onx_check_tell(c, ONX_RULE_FUNCTION_RECURSION, s->function,
                   "inline a call, or break the circle",
                   "the function '%.*s' calls itself, by way of other functions or at once",
                   ONX_FMT(s->function->name));
}

/* Depth first; the way back is in `caller`. */
static void follow(onx_checker *c, const onx_map *states, function_state *s) {
    for (s->open = true; s;) {
        if (!s->at) {
            s->open = false;
            s->done = true;
            s = s->caller;
            continue;
        }
        function_state *to = state_of(states, s->at->to);
        s->at = s->at->next;
        if (to && to->open) tell_recursion(c, to);
        if (!to || to->open || to->done) continue;
        to->open = true;
        to->caller = s;
        s = to;
    }
}

static bool enter_states(onx_checker *c, onx_map *states, function_state *all) {
    size_t i = 0;
    ONX_EACH (onx_function, f, c->model->functions) {
        all[i].function = f;
        if (!onx_map_put(states, f, (onx_str){NULL, 0}, &all[i++])) return false;
    }
    for (i = c->n_calls; i-- > 0;) {
        function_state *from = state_of(states, c->calls[i].from);
        c->calls[i].next = from->calls;
        from->calls = from->at = &c->calls[i];
    }
    return true;
}

void onx_check_recursion(onx_checker *c) {
    size_t n = c->model->functions.count;
    function_state *all = onx_arena_array(&c->arena, n + 1, sizeof *all);
    onx_map states;
    onx_map_init(&states, c->ctx);
    if (!all || !enter_states(c, &states, all)) c->no_memory = true;
    for (size_t i = 0; i < n && !c->no_memory; i++)
        if (!all[i].done) follow(c, &states, &all[i]);
    onx_map_fini(&states);
}
