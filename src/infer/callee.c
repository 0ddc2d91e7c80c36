/* callee.c: facts through calls: of functions of the model, and of operators that are functions and
 * have no inference of their own.
 *
 * The call is put alone into a scratch model that imports what the function imports, and inlined
 * there: so attributes have their values, and inputs that are missing are missing. That graph is
 * made once for all calls that give the same attributes and inputs, and gone through once for all
 * that have the same facts about them, unless sizes come out of it that depend on data. So a chain
 * of functions each of which calls the next one twice takes linear time.
 *
 *     (function, attributes, which inputs)  ──▶  graph
 *     (graph, facts of inputs)              ──▶  facts of outputs
 *
 * What all graphs and walks may take is bounded. Past it, and for calls that are nested too deep,
 * nothing is known about the outputs, which is reported once. */
#include "infer/infer_internal.h"
#include "ir/edit.h"

#include <stdio.h>

enum { CALL_DEPTH = 128 };                         /* of calls in calls, and graphs around them */
static const size_t walk_bytes = (size_t)96 << 20; /* of all that is copied or gone through */
static const size_t model_bytes = 8192;            /* that a scratch model takes at least */

typedef struct scratch {
    onx_model *model;
    size_t bytes;
    struct scratch *next;
} scratch;

/* A call that is gone through now. Then facts->depth is that of graphs in the function alone. */
typedef struct active {
    const onx_function *function;
    const struct active *outer;
    size_t depth; /* of the call, graphs included */
} active;

struct onx_callees {
    onx_map bodies;    /* (function, key) to scratch: a graph with one call, inlined */
    onx_map results;   /* (scratch, key) to onx_fact[]: the outputs */
    onx_map operators; /* row to scratch: the body of an operator, the same for all nodes */
    scratch *all;
    const active *active;
    onx_buf key;
    size_t left; /* bytes that may still be copied or gone through */
    bool told;
};

static const onx_str no_name = {NULL, 0};

static struct onx_callees *state_of(onx_facts *facts) {
    struct onx_callees *c = facts->callees;
    if (c) return c;
    c = facts->callees = onx_arena_alloc(&facts->arena, sizeof *c);
    if (!c) return NULL;
    onx_map_init(&c->bodies, facts->ctx);
    onx_map_init(&c->results, facts->ctx);
    onx_map_init(&c->operators, facts->ctx);
    onx_buf_init(&c->key, facts->ctx);
    c->left = walk_bytes;
    return c;
}

void onx_callees_free(onx_facts *facts) {
    struct onx_callees *c = facts->callees;
    if (!c) return;
    for (const scratch *s = c->all; s; s = s->next) onx_model_free(s->model);
    onx_map_fini(&c->bodies);
    onx_map_fini(&c->results);
    onx_map_fini(&c->operators);
    onx_buf_fini(&c->key);
}

/* Takes over the model. */
static scratch *hold(onx_facts *facts, onx_model *model) {
    scratch *s = onx_arena_alloc(&facts->arena, sizeof *s);
    if (!s) {
        onx_model_free(model);
        return NULL;
    }
    *s = (scratch){.model = model, .next = facts->callees->all};
    facts->callees->all = s;
    return s;
}

/* Nothing is known about the outputs. */
static onx_status give_up(onx_infer *in, const char *why) {
    struct onx_callees *c = in->facts->callees;
    onx_diag diag = ONX_INIT(onx_diag);
    if (c->told || !in->facts->options.report) return ONX_OK;
    c->told = true;
    onx_fail(&diag, ONX_LIMIT, "what the function '%.*s' computes is not followed: %s",
             ONX_FMT(in->node->op_type), why);
    onx_diag_place(&diag, "graph '%.100s'", onx_graph_name(in->node->graph));
    in->facts->options.report(in->facts->options.user, in->node, NULL, &diag);
    return ONX_OK;
}

/* ── Keys ────────────────────────────────────────────────────────────────────────────────────── */

static void put(onx_buf *key, const void *data, size_t size) {
    onx_buf_put(key, data, size);
}

/* By content, or, when that is long, by where it stands. */
static void put_attr(onx_buf *key, const onx_attr *attr) {
    uint64_t size = 0;
    onx_writer writer = onx_buf_writer(key);
    bool is_short = onx_wire_size(attr, &size, NULL) == ONX_OK && size <= 4096;
    put(key, &size, sizeof size);
    if (!is_short)
        put(key, &attr, sizeof attr);
    else if (onx_wire_encode(attr, &writer, NULL) != ONX_OK)
        key->failed = true;
}

static onx_str call_key(struct onx_callees *c, const onx_node *call) {
    c->key.size = 0;
    put(&c->key, &call->input.n, sizeof call->input.n);
    put(&c->key, &call->output.n, sizeof call->output.n);
    for (size_t i = 0; i < call->input.n; i++)
        onx_buf_putc(&c->key, call->input.v[i].size ? '1' : '0');
    for (size_t i = 0; i < call->output.n; i++)
        onx_buf_putc(&c->key, call->output.v[i].size ? '1' : '0');
    ONX_EACH (onx_attr, attr, call->attribute) put_attr(&c->key, attr);
    return (onx_str){c->key.data, c->key.size};
}

/* Sizes are one object each, so where they stand says what they are. */
static void put_fact(onx_buf *key, const onx_fact *fact) {
    for (; fact; fact = fact->elem) {
        const size_t parts[] = {(size_t)fact->kind,
                                (size_t)fact->dtype,
                                fact->ranked,
                                fact->ranked ? fact->rank : 0,
                                fact->elems ? fact->n_elems + 1 : 0,
                                (size_t)(uintptr_t)fact->constant,
                                fact->elem != NULL};
        put(key, parts, sizeof parts);
        if (fact->ranked) put(key, fact->dims, fact->rank * sizeof *fact->dims);
        if (fact->elems) put(key, fact->elems, fact->n_elems * sizeof *fact->elems);
    }
}

static onx_str fact_key(struct onx_callees *c, const onx_infer *in) {
    c->key.size = 0;
    for (size_t i = 0; i < in->n_in; i++) put_fact(&c->key, in->ins[i]);
    return (onx_str){c->key.data, c->key.size};
}

static bool remember(onx_facts *facts, onx_map *map, const void *owner, onx_str key, void *value) {
    return !facts->callees->key.failed && onx_arena_str(&facts->arena, key, &key) &&
           onx_map_put(map, owner, key, value);
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

/* The call, alone in the graph: y0, y1 = F (x0, , x2). */
static onx_node *copy_call(onx_model *model, const onx_node *call) {
    onx_graph *graph = model->graph;
    onx_node *copy = onx_graph_add_node(graph, "call", 0, NULL, 0, NULL);
    char name[40];
    for (size_t i = 0; copy && i < call->input.n; i++) {
        onx_value *value = NULL;
        snprintf(name, sizeof name, "x%zu", i);
        if (call->input.v[i].size) value = onx_graph_add_input(graph, name, NULL);
        if (call->input.v[i].size && !value) return NULL;
        if (onx_node_set_input(copy, i, value, NULL)) return NULL;
    }
    for (size_t i = 0; copy && i < call->output.n; i++) {
        snprintf(name, sizeof name, "y%zu", i);
        onx_value *value = onx_node_add_output(copy, call->output.v[i].size ? name : "");
        if (value && !onx_graph_add_output(graph, value, NULL)) return NULL;
    }
    return copy;
}

static onx_status set_imports(onx_model *model, const onx_function *f) {
    ONX_TRY(onx_model_set_opset(model, "", 0));
    ONX_EACH (onx_opset, o, f->opset_import)
        ONX_TRY(onx_model_set_opset(model, onx_str_z(o->domain), o->version));
    return ONX_OK;
}

static onx_status fill(onx_infer *in, onx_model *model, const onx_function *f) {
    onx_node *call = copy_call(model, in->node);
    if (!call || onx_model_error(model) || set_imports(model, f)) return onx_fail_nomem(in->diag);
    ONX_EACH (onx_attr, attr, in->node->attribute) {
        onx_attr *copy;
        ONX_TRY(onx_attr_copy(call->graph, call, attr, &copy, in->diag));
        onx_msg_append(call, ONX_ROW(node, attribute), copy);
    }
    return onx_node_inline(call, f, NULL, in->diag);
}

/* A graph like the call, inlined; NULL: that is too much. */
static onx_status make_body(onx_infer *in, const onx_function *f, scratch **out) {
    onx_facts *facts = in->facts;
    size_t bytes = onx_node_inline_bytes(in->node, f), all;
    *out = NULL;
    if (!onx_add_size(bytes, model_bytes, &all) || all > facts->callees->left) return ONX_OK;
    facts->callees->left -= all;
    onx_model *model = onx_model_new(facts->ctx, onx_function_name(f), 1);
    scratch *s = model ? hold(facts, model) : NULL;
    if (!s) return onx_fail_nomem(in->diag);
    ONX_TRY(fill(in, model, f));
    s->bytes = bytes;
    *out = s;
    return ONX_OK;
}

static onx_status get_body(onx_infer *in, const onx_function *f, scratch **out) {
    struct onx_callees *c = in->facts->callees;
    onx_str key = call_key(c, in->node);
    if (c->key.failed) return onx_fail_nomem(in->diag);
    *out = onx_map_get(&c->bodies, f, key);
    if (*out) return ONX_OK;
    ONX_TRY(make_body(in, f, out));
    key = call_key(c, in->node);
    bool ok = !*out || remember(in->facts, &c->bodies, f, key, *out);
    return ok ? ONX_OK : onx_fail_nomem(in->diag);
}

/* ── Walks ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct search {
    onx_infer *in;
    bool found;
} search;

static bool mentions(const onx_fact *fact, const onx_sym *name) {
    while (fact && !onx_fact_has(fact, name)) fact = fact->elem;
    return fact != NULL;
}

/* Is it a size that came up in the function, and may be another next time? */
static void look(void *user, const onx_sym *name) {
    search *s = user;
    if (s->found || !onx_facts_unknown(s->in->facts, name)) return;
    for (size_t i = 0; i < s->in->n_in; i++)
        if (mentions(s->in->ins[i], name)) return;
    s->found = true;
}

static bool depends_on_data(onx_infer *in) {
    search s = {in, false};
    for (size_t o = 0; o < in->n_out; o++) {
        for (const onx_fact *fact = &in->outs[o]; fact; fact = fact->elem) {
            for (size_t i = 0; fact->ranked && i < fact->rank; i++)
                if (fact->dims[i]) onx_sym_names(fact->dims[i], look, &s);
            for (size_t i = 0; fact->elems && i < fact->n_elems; i++)
                if (fact->elems[i]) onx_sym_names(fact->elems[i], look, &s);
        }
    }
    return s.found;
}

/* How often a graph may be gone through is a matter of loops, not of calls. */
static void forget_runs(onx_facts *facts, const onx_graph *top) {
    for (const onx_graph *g = top; g; g = onx_graph_inner(top, g)) {
        size_t *runs = onx_map_get(&facts->graphs, g, no_name);
        if (runs) *runs = 0;
    }
}

/* How deep the node lies that is gone through now. */
static size_t depth_of(const onx_facts *facts) {
    return facts->depth + (facts->callees->active ? facts->callees->active->depth : 0);
}

static onx_status walk(onx_infer *in, const onx_function *f, const scratch *body) {
    onx_facts *facts = in->facts;
    struct onx_callees *c = facts->callees;
    const onx_graph *graph = body->model->graph;
    const onx_fact **ins = onx_arena_array(&facts->arena, in->n_in + 1, sizeof(onx_fact *));
    active here = {.function = f, .outer = c->active, .depth = depth_of(facts)};
    uint32_t depth = facts->depth;
    size_t n = 0;
    if (!ins) return onx_fail_nomem(in->diag);
    for (size_t i = 0; i < in->n_in; i++)
        if (onx_infer_has_in(in, i)) ins[n++] = in->ins[i];
    c->active = &here;
    facts->depth = 0;
    onx_status status = onx_facts_graph(facts, graph, n, ins, in->diag);
    facts->depth = depth;
    c->active = here.outer;
    forget_runs(facts, graph);
    for (size_t i = 0, o = 0; !status && i < in->n_out; i++)
        if (in->node->output.v[i].size)
            in->outs[i] = *onx_facts_of(facts, onx_graph_output(graph, o++));
    return status;
}

static bool recall(onx_infer *in, const scratch *body) {
    struct onx_callees *c = in->facts->callees;
    const onx_fact *outs = onx_map_get(&c->results, body, fact_key(c, in));
    if (outs && in->n_out) memcpy(in->outs, outs, in->n_out * sizeof *outs);
    return outs != NULL;
}

static onx_status memorize(onx_infer *in, const scratch *body) {
    struct onx_callees *c = in->facts->callees;
    if (depends_on_data(in)) return ONX_OK;
    onx_fact *outs = onx_arena_array(&in->facts->arena, in->n_out + 1, sizeof *outs);
    if (!outs) return onx_fail_nomem(in->diag);
    memcpy(outs, in->outs, in->n_out * sizeof *outs);
    bool ok = remember(in->facts, &c->results, body, fact_key(c, in), outs);
    return ok ? ONX_OK : onx_fail_nomem(in->diag);
}

onx_status onx_infer_call(onx_infer *in, const onx_function *function) {
    struct onx_callees *c = state_of(in->facts);
    scratch *body = NULL;
    if (!c) return onx_fail_nomem(in->diag);
    for (const active *a = c->active; a; a = a->outer)
        if (a->function == function)
            return onx_infer_fail(in, "the function '%.*s' calls itself", ONX_FMT(function->name));
    if (depth_of(in->facts) >= CALL_DEPTH) return give_up(in, "calls are nested too deep");
    ONX_TRY(get_body(in, function, &body));
    if (body && recall(in, body)) return ONX_OK;
    if (!body || body->bytes > c->left) return give_up(in, "all calls together take too much");
    c->left -= body->bytes;
    ONX_TRY(walk(in, function, body));
    return memorize(in, body);
}

onx_status onx_infer_body(onx_infer *in) {
    struct onx_callees *c = state_of(in->facts);
    const onx_op *op = in->op;
    if (!c) return onx_fail_nomem(in->diag);
    scratch *s = op->body ? NULL : onx_map_get(&c->operators, op, no_name);
    if (!s) {
        onx_model *model;
        onx_status status =
            onx_op_body(op, in->node, in->n_in, in->ins, in->facts->ctx, &model, in->diag);
        if (status == ONX_NOT_FOUND) return ONX_OK;
        if (status) return status;
        s = hold(in->facts, model);
        if (!s || (!op->body && !onx_map_put(&c->operators, op, no_name, s)))
            return onx_fail_nomem(in->diag);
    }
    return onx_infer_call(in, onx_model_function_first(s->model));
}
