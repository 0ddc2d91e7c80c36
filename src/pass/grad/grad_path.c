/* grad_path.c: the nodes that y depends on, in order; which of them depend on the xs; and copies of
 * them that start from other values. Nothing recurses. */
#include "pass/grad/gradient.h"

static char opened, done, end; /* marks */
static const onx_str no_name = {NULL, 0};

static void *mark_of(const onx_grad_path *p, const void *object) {
    return onx_map_get(&p->marks, object, no_name);
}

/* ─ Inputs of a node, with those that graphs inside it take from around it ───────────────────── */

typedef struct inputs {
    const onx_node *node, *at; /* of which inputs are listed */
    onx_walk walk;
    size_t next;
} inputs;

static inputs inputs_begin(const onx_node *node) {
    return (inputs){node, node, onx_walk_begin(node), 0};
}

static bool is_inside(const onx_value *value, const onx_node *node) {
    const onx_graph *graph = value->graph;
    while (graph && graph != node->graph) graph = graph->outer;
    return graph && value->graph != node->graph;
}

/* NULL: the end. A value that an inner graph gives back from around it counts, too. */
static onx_value *inputs_next(inputs *in) {
    for (;;) {
        while (in->at && in->next < in->at->input.n) {
            onx_value *value = onx_node_input(in->at, in->next++);
            if (value && !is_inside(value, in->node)) return value;
        }
        const onx_msg *msg = onx_walk_next(&in->walk);
        if (!msg) return NULL;
        in->at = NULL;
        if (msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type)
            onx_walk_skip(&in->walk);
        else if (msg->desc == &onx_desc_node && msg != &in->node->msg)
            in->at = (const onx_node *)msg, in->next = 0;
        else if (msg->desc == &onx_desc_value_info && ((const onx_value_info *)msg)->ref) {
            onx_value *value = ((const onx_value_info *)msg)->ref->value;
            if (value && !is_inside(value, in->node)) return value;
        }
    }
}

/* ─ The search ───────────────────────────────────────────────────────────────────────────────── */

typedef struct open_node {
    onx_node *node;
    inputs in;
} open_node;

typedef struct search {
    onx_grad_path *path;
    open_node *stack;
    size_t n, cap;
    onx_diag *diag;
} search;

static onx_status set_mark(search *s, const void *object, void *mark) {
    return onx_map_put(&s->path->marks, object, no_name, mark) ? ONX_OK : onx_fail_nomem(s->diag);
}

/* Go into the node that computes the value, unless that was done. */
static onx_status enter(search *s, const onx_value *value) {
    onx_grad_path *p = s->path;
    void *mark = value->def ? mark_of(p, value->def) : NULL;
    if (!value->def || mark_of(p, value) == &end || mark == &done) return ONX_OK;
    if (mark == &opened)
        return onx_fail(s->diag, ONX_INVALID, "'%.*s' is computed from itself",
                        ONX_FMT(value->name));
    if (!onx_arena_grow(&p->arena, &s->stack, &s->cap, s->n, sizeof *s->stack))
        return onx_fail_nomem(s->diag);
    s->stack[s->n++] = (open_node){value->def, inputs_begin(value->def)};
    p->blocked |= onx_node_is_gradient(value->def);
    return set_mark(s, value->def, &opened);
}

static onx_status leave(search *s, onx_node *node) {
    onx_grad_path *p = s->path;
    if (!onx_arena_grow(&p->arena, &p->nodes, &p->cap, p->n, sizeof *p->nodes))
        return onx_fail_nomem(s->diag);
    p->nodes[p->n++] = node;
    s->n--;
    return set_mark(s, node, &done);
}

void onx_grad_path_init(onx_grad_path *path, onx_context *ctx) {
    *path = (onx_grad_path){.n = 0};
    onx_arena_init(&path->arena, ctx);
    onx_map_init(&path->marks, ctx);
    onx_map_init(&path->active, ctx);
}

onx_status onx_grad_path_find(onx_grad_path *path, onx_value *y, size_t n, onx_value *const *ends,
                              onx_diag *diag) {
    search s = {.path = path, .diag = diag};
    for (size_t i = 0; i < n; i++) ONX_TRY(set_mark(&s, ends[i], &end));
    ONX_TRY(enter(&s, y));
    while (s.n) {
        const onx_value *value = inputs_next(&s.stack[s.n - 1].in);
        ONX_TRY(value ? enter(&s, value) : leave(&s, s.stack[s.n - 1].node));
    }
    return ONX_OK;
}

void onx_grad_path_fini(onx_grad_path *path) {
    onx_map_fini(&path->active);
    onx_map_fini(&path->marks);
    onx_arena_fini(&path->arena);
}

/* ─ What depends on certain values ───────────────────────────────────────────────────────────── */

bool onx_grad_path_has(const onx_grad_path *path, const void *object) {
    return onx_map_get(&path->active, object, no_name) != NULL;
}

static onx_status activate(onx_grad_path *p, const void *object, onx_diag *diag) {
    return onx_map_put(&p->active, object, no_name, &done) ? ONX_OK : onx_fail_nomem(diag);
}

/* Can it have a gradient? */
static bool is_real(const onx_fact *fact) {
    const uint32_t reals =
        1u << ONX_DTYPE_F32 | 1u << ONX_DTYPE_F64 | 1u << ONX_DTYPE_F16 | 1u << ONX_DTYPE_BF16;
    return fact->kind == ONX_TYPE_NONE || fact->dtype == ONX_DTYPE_NONE ||
           (fact->kind == ONX_TYPE_TENSOR && (reals >> fact->dtype & 1));
}

static bool depends(const onx_grad_path *p, const onx_node *node) {
    const onx_value *value;
    for (inputs in = inputs_begin(node); (value = inputs_next(&in));)
        if (onx_grad_path_has(p, value)) return true;
    return false;
}

onx_status onx_grad_path_spread(onx_grad_path *p, size_t n_x, onx_value *const *xs,
                                const onx_facts *facts, onx_diag *diag) {
    for (size_t i = 0; i < n_x; i++) ONX_TRY(activate(p, xs[i], diag));
    for (size_t i = 0; i < p->n; i++) {
        onx_node *node = p->nodes[i];
        if (!depends(p, node)) continue;
        for (size_t o = 0; o < node->output.n; o++) {
            const onx_value *value = onx_node_output(node, o);
            if (!value || mark_of(p, value) == &end) continue;
            if (facts && !is_real(onx_facts_of(facts, value))) continue;
            ONX_TRY(activate(p, value, diag));
            ONX_TRY(activate(p, node, diag));
        }
    }
    return ONX_OK;
}

/* ─ Copies ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct copier {
    onx_grad_path *path;
    onx_graph *graph;
    onx_map map; /* value to its copy */
    onx_diag *diag;
} copier;

static onx_value *copied(const copier *c, onx_value *value) {
    onx_value *copy = value ? onx_map_get(&c->map, value, no_name) : NULL;
    return copy ? copy : value;
}

static onx_status copy_node(copier *c, const onx_node *node) {
    onx_arena *arena = &c->path->arena;
    onx_value **ins = onx_arena_array(arena, node->input.n + 1, sizeof(onx_value *));
    const char **outs = onx_arena_array(arena, node->output.n + 1, sizeof(char *));
    if (!ins || !outs) return onx_fail_nomem(c->diag);
    for (size_t i = 0; i < node->input.n; i++) ins[i] = copied(c, onx_node_input(node, i));
    for (size_t i = 0; i < node->output.n; i++) outs[i] = node->output.v[i].size ? NULL : "";
    onx_node *copy =
        onx_graph_add_node(c->graph, "Identity", node->input.n, ins, node->output.n, outs);
    if (!copy || onx_str_set(copy, ONX_ROW(node, op_type), node->op_type.data) ||
        onx_str_set(copy, ONX_ROW(node, domain), node->domain.data))
        return onx_fail_nomem(c->diag);
    ONX_EACH (const onx_attr, a, node->attribute)
        if (a->name.size) ONX_TRY(onx_node_set_attr(copy, a, c->diag));
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *from = onx_node_output(node, i);
        onx_value *to = onx_node_output(copy, i);
        if (from && to && !onx_map_put(&c->map, from, no_name, to)) return onx_fail_nomem(c->diag);
    }
    return ONX_OK;
}

/* What an inner graph takes from around it cannot be another value there. */
static onx_status check_captures(const onx_grad_path *p, const onx_node *node, onx_diag *diag) {
    const onx_value *value;
    size_t n = 0;
    for (inputs in = inputs_begin(node); (value = inputs_next(&in)); n++)
        if (in.at != node && onx_grad_path_has(p, value))
            return onx_fail(diag, ONX_UNSUPPORTED,
                            "'%.*s' is used inside %.*s, and cannot be replaced there",
                            ONX_FMT(value->name), ONX_FMT(node->op_type));
    return ONX_OK;
}

onx_status onx_grad_path_copy(onx_grad_path *p, onx_graph *graph, size_t n, onx_value *const *from,
                              onx_value *const *to, onx_value **y, onx_diag *diag) {
    copier c = {.path = p, .graph = graph, .diag = diag};
    onx_status status = onx_grad_path_spread(p, n, from, NULL, diag);
    onx_map_init(&c.map, graph->msg.doc->ctx);
    for (size_t i = 0; i < n && !status; i++)
        if (!onx_map_put(&c.map, from[i], no_name, to[i])) status = onx_fail_nomem(diag);
    for (size_t i = 0; i < p->n && !status; i++) {
        if (!onx_grad_path_has(p, p->nodes[i])) continue;
        status = check_captures(p, p->nodes[i], diag);
        if (!status) status = copy_node(&c, p->nodes[i]);
    }
    if (!status) *y = copied(&c, *y);
    onx_map_fini(&c.map);
    return status;
}
