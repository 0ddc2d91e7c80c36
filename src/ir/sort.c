/* sort.c: order of nodes. Depth first from each node in its present order: a graph that is sorted
 * stays as it is.
 *
 *     edges    from the users of a value to the node that computes it; what graphs inside a node
 *              use, the node uses
 *     stack    nodes being visited; one met twice on it is a cycle
 */
#include "ir/edit.h"

typedef struct sorter {
    onx_node **nodes; /* by index */
    size_t *start;    /* of node i's dependencies in `edges`; start[n] is the end */
    size_t *edges;
    size_t *stack, *next; /* open nodes, and the edge each goes on with */
    unsigned char *state; /* 0 new, 1 open, 2 done */
    onx_node **order;
    size_t n, n_edges;
} sorter;

/* The node of `graph` that `msg` is, or lies in. */
static onx_node *node_around(const onx_msg *msg, const onx_graph *graph) {
    for (; msg; msg = msg->parent)
        if (msg->desc == &onx_desc_node && ((const onx_node *)msg)->graph == graph)
            return (onx_node *)(uintptr_t)msg;
    return NULL;
}

/* Count the edges of each node into start[i + 1], or, when they are counted, fill them in. */
static void each_edge(sorter *s, const onx_graph *graph, bool fill) {
    for (const onx_value *v = graph->values; v; v = v->next) {
        if (v->dead || !v->def || v->def->graph != graph) continue;
        for (const onx_ref *r = v->first; r; r = r->next) {
            onx_node *user = onx_ref_is_use(r) ? node_around(r->owner, graph) : NULL;
            if (!user) continue;
            if (fill)
                s->edges[s->next[user->order]++] = v->def->order;
            else
                s->start[user->order + 1]++, s->n_edges++;
        }
    }
}

static onx_status fail_cycle(const onx_node *node, onx_diag *diag) {
    onx_fail(diag, ONX_INVALID, "the graph has a cycle: node '%.*s' (%.*s) needs its own result",
             ONX_FMT(node->name), ONX_FMT(node->op_type));
    onx_diag_place(diag, "graph '%.100s'", onx_graph_name(node->graph));
    return ONX_INVALID;
}

static onx_status visit(sorter *s, size_t root, size_t *done, onx_diag *diag) {
    size_t depth = 0;
    if (s->state[root]) return ONX_OK;
    s->stack[depth++] = root;
    s->next[root] = s->start[root];
    s->state[root] = 1;
    while (depth) {
        size_t at = s->stack[depth - 1];
        if (s->next[at] == s->start[at + 1]) {
            s->state[at] = 2;
            s->order[(*done)++] = s->nodes[at];
            depth--;
            continue;
        }
        size_t needed = s->edges[s->next[at]++];
        if (s->state[needed] == 1) return fail_cycle(s->nodes[needed], diag);
        if (s->state[needed] == 2) continue;
        s->state[needed] = 1;
        s->next[needed] = s->start[needed];
        s->stack[depth++] = needed;
    }
    return ONX_OK;
}

static onx_status sort(sorter *s, onx_graph *graph, onx_arena *arena, onx_diag *diag) {
    size_t n = graph->node.count, done = 0, i = 0;
    s->n = n;
    s->nodes = onx_arena_array(arena, n, sizeof *s->nodes);
    s->order = onx_arena_array(arena, n, sizeof *s->order);
    s->start = onx_arena_array(arena, n + 1, sizeof *s->start);
    s->stack = onx_arena_array(arena, n, sizeof *s->stack);
    s->next = onx_arena_array(arena, n, sizeof *s->next);
    s->state = onx_arena_array(arena, n, sizeof *s->state);
    if (!s->nodes || !s->order || !s->start || !s->stack || !s->next || !s->state)
        return onx_fail_nomem(diag);
    ONX_EACH (onx_node, node, graph->node) {
        node->order = i;
        s->nodes[i++] = node;
    }
    each_edge(s, graph, false);
    for (i = 0; i < n; i++) s->start[i + 1] += s->start[i], s->next[i] = s->start[i];
    s->edges = onx_arena_array(arena, s->n_edges, sizeof *s->edges);
    if (!s->edges) return onx_fail_nomem(diag);
    each_edge(s, graph, true);
    for (i = 0; i < n; i++) ONX_TRY(visit(s, i, &done, diag));
    bool moved = false;
    for (i = 0; i < n; i++) moved = moved || s->order[i] != s->nodes[i];
    for (i = 0; moved && i < n; i++)
        if (onx_node_move(s->order[i], NULL)) return onx_fail(diag, ONX_USAGE, "a node is gone");
    return ONX_OK;
}

onx_status onx_graph_sort(onx_graph *graph, onx_diag *diag) {
    if (!graph) return onx_fail(diag, ONX_USAGE, "there is no graph");
    sorter s = {0};
    onx_arena arena;
    onx_arena_init(&arena, graph->model->msg.doc->ctx);
    onx_status status = sort(&s, graph, &arena, diag);
    onx_arena_fini(&arena);
    return status;
}
