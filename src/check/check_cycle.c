/* check_cycle.c: the cycle, if there is one, of a graph whose nodes are not in order.
 *
 *     edges    from a node to those that use its results; what graphs inside a node use, it uses
 *     ready    nodes that wait for nothing; what is left when there are none goes round */
#include "check/checker.h"

typedef struct finder {
    onx_map waiting; /* node to its state */
    struct state *ready;
} finder;

typedef struct state {
    const onx_node *node;
    size_t waits; /* for so many inputs */
    bool done;
    struct state *next; /* in `ready` */
    bool seen;
} state;

static const onx_str no_name = {NULL, 0};

/* The node of `graph` that `msg` is, or lies in. */
static const onx_node *node_around(const onx_msg *msg, const onx_graph *graph) {
    for (; msg; msg = msg->parent)
        if (msg->desc == &onx_desc_node && ((const onx_node *)msg)->graph == graph)
            return (const onx_node *)msg;
    return NULL;
}

static state *user_of(const finder *f, const onx_ref *r, const onx_graph *graph) {
    const onx_node *node = r->kind == ONX_REF_INPUT ? node_around(r->owner, graph) : NULL;
    return node ? onx_map_get(&f->waiting, node, no_name) : NULL;
}

/* A step to every user of every result of a node. */
static void each_user(finder *f, const onx_node *node, void (*visit)(finder *f, state *user)) {
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *value = onx_node_output(node, i);
        for (const onx_ref *r = value ? value->first : NULL; r; r = r->next) {
            state *user = user_of(f, r, node->graph);
            if (user) visit(f, user);
        }
    }
}

static void wait(finder *f, state *user) {
    (void)f;
    user->waits++;
}

static void supply(finder *f, state *user) {
    if (--user->waits) return;
    user->next = f->ready;
    f->ready = user;
}

static void tell_cycle(onx_checker *c, const state *s) {
    const onx_node *node = s->node;
    onx_str name = node->name.size ? node->name : node->output.n ? node->output.v[0] : node->name;
    onx_check_tell(c, ONX_RULE_GRAPH_CYCLE, node->graph, "break the cycle",
                   "node '%.*s' (%.*s) needs its own result, by way of other nodes or at once",
                   ONX_FMT(name), ONX_FMT(node->op_type));
}

/* A node that is left waits for another that is left: going from one to the next comes round. */
static const state *step_back(const finder *f, const state *s) {
    const onx_graph *graph = s->node->graph;
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(s->node); (m = onx_walk_next(&w));) {
        const onx_node *node = (const onx_node *)m;
        if (m->desc != &onx_desc_node) continue;
        for (size_t i = 0; i < node->input.n; i++) {
            const onx_value *value = onx_node_input(node, i);
            const state *from = value && value->def && value->graph == graph
                                    ? onx_map_get(&f->waiting, value->def, no_name)
                                    : NULL;
            if (from && !from->done) return from;
        }
    }
    return NULL;
}

static bool enter_all(finder *f, const onx_graph *graph, state *states) {
    size_t i = 0;
    ONX_EACH (onx_node, node, graph->node) {
        states[i].node = node;
        if (!onx_map_put(&f->waiting, node, no_name, &states[i++])) return false;
    }
    return true;
}

static void find_cycle(onx_checker *c, finder *f, state *states, size_t n) {
    for (size_t i = 0; i < n; i++) each_user(f, states[i].node, wait);
    for (size_t i = 0; i < n; i++)
        if (!states[i].waits) states[i].next = f->ready, f->ready = &states[i];
    while (f->ready) {
        state *s = f->ready;
        f->ready = s->next;
        s->done = true;
        each_user(f, s->node, supply);
    }
    for (size_t i = 0; i < n; i++) {
        if (states[i].done) continue;
        state *s = &states[i];
        while (s && !s->seen) {
            s->seen = true;
            s = (state *)(uintptr_t)step_back(f, s);
        }
        if (s) tell_cycle(c, s);
        return;
    }
}

void onx_check_cycle(onx_checker *c, const onx_graph *graph) {
    size_t n = graph->node.count;
    state *states = onx_arena_array(&c->arena, n + 1, sizeof *states);
    finder f = {.ready = NULL};
    onx_map_init(&f.waiting, c->ctx);
    if (states && enter_all(&f, graph, states))
        find_cycle(c, &f, states, n);
    else
        c->no_memory = true;
    onx_map_fini(&f.waiting);
}
