/* name.c: which value a name means.
 *
 * In each graph a name means one value: the table of the model says which. Files may define a name
 * twice: the later definitions are twins, which no name leads to. They stand in a ring with the
 * value that has the name, oldest first, and the next one gets the name when that value goes:
 *
 *     table ──▶ x ──▶ twin ──▶ twin ─┐
 *               ▲────────────────────┘
 */
#include "ir/edit.h"

#include <stdio.h>

onx_value *onx_value_find(const onx_graph *graph, onx_str name) {
    return onx_map_get(&graph->model->values, graph, name);
}

onx_value *onx_value_lookup(const onx_graph *graph, onx_str name) {
    for (; graph; graph = graph->outer) {
        onx_value *value = onx_value_find(graph, name);
        if (value) return value;
    }
    return NULL;
}

onx_value *onx_value_bare(onx_graph *graph, onx_str name) {
    onx_value *value = onx_arena_alloc(&graph->model->msg.doc->arena, sizeof *value);
    if (!value) return NULL;
    value->graph = graph;
    value->name = name;
    value->next = graph->values;
    graph->values = value;
    return value;
}

/* A name of a graph that lies in another is also entered under no graph, and stays there: to see
 * that a name is not used inside a graph, the graphs in it need not be searched. */
static bool table_put(onx_value *value, onx_str name) {
    onx_map *table = &value->graph->model->values;
    if (value->graph->outer && !onx_map_put(table, NULL, name, value)) return false;
    return onx_map_put(table, value->graph, name, value);
}

onx_value *onx_value_new(onx_graph *graph, onx_str name) {
    onx_value *value = onx_value_bare(graph, name);
    if (!value) return NULL;
    if (table_put(value, name)) return value;
    value->dead = true;
    return NULL;
}

/* Into the ring of `value`, as the youngest: before the oldest. */
static void ring_join(onx_value *twin, onx_value *value) {
    if (!value->younger) value->younger = value->older = value;
    twin->younger = value;
    twin->older = value->older;
    value->older->younger = twin;
    value->older = twin;
}

static void ring_leave(onx_value *value) {
    onx_value *younger = value->younger;
    if (!younger) return;
    younger->older = value->older;
    value->older->younger = younger;
    if (younger->younger == younger) younger->younger = younger->older = NULL;
    value->younger = value->older = NULL;
}

onx_value *onx_value_twin(onx_value *value) {
    onx_value *twin = onx_value_bare(value->graph, value->name);
    if (twin) ring_join(twin, value);
    return twin;
}

/* A name that is in the table can be given to another value without memory. */
static void table_set(onx_value *value, onx_str name) {
    bool there = onx_map_put(&value->graph->model->values, value->graph, name, value);
    (void)there;
}

void onx_value_unname(onx_value *value) {
    onx_value *heir = value->younger;
    bool named = onx_value_find(value->graph, value->name) == value;
    ring_leave(value);
    if (named && heir)
        table_set(heir, heir->name);
    else if (named)
        onx_map_remove(&value->graph->model->values, value->graph, value->name);
}

bool onx_value_take_name(onx_value *value, onx_str name) {
    if (!table_put(value, name)) return false;
    onx_value_unname(value);
    value->name = name;
    return true;
}

bool onx_value_swap_name(onx_value *from, onx_value *to, onx_str fresh) {
    onx_str name = from->name;
    if (!table_put(from, fresh)) return false;
    onx_value_unname(to);
    if (from->younger) ring_join(to, from);
    ring_leave(from);
    table_set(to, name);
    from->name = fresh;
    to->name = name;
    return true;
}

onx_graph *onx_graph_inner(const onx_graph *root, const onx_graph *at) {
    if (at->first_sub) return at->first_sub;
    while (at != root && !at->next_sub) at = at->outer;
    return at == root ? NULL : at->next_sub;
}

onx_value *onx_name_conflict(const onx_graph *graph, onx_str name) {
    onx_value *value = onx_value_lookup(graph, name);
    if (value || !onx_map_get(&graph->model->values, NULL, name)) return value;
    for (onx_graph *g = graph->first_sub; g && !value; g = onx_graph_inner(graph, g))
        value = onx_value_find(g, name);
    return value;
}

/* A hint is cut where a character begins. */
static size_t hint_size(const char *hint) {
    size_t n = strlen(hint);
    if (n <= 200) return n;
    for (n = 200; n && ((unsigned char)hint[n] & 0xc0) == 0x80;) n--;
    return n;
}

const char *onx_graph_new_name(onx_graph *graph, const char *hint) {
    onx_model *model = graph->model;
    char name[256];
    onx_str out;
    if (!hint || !*hint) hint = "value";
    int n = snprintf(name, sizeof name, "%.*s", (int)hint_size(hint), hint);
    while (onx_name_conflict(graph, onx_str_of(name)))
        snprintf(name + n, sizeof name - (size_t)n, "_%llu",
                 (unsigned long long)++model->next_name);
    return onx_doc_str(model->msg.doc, onx_str_of(name), &out) ? out.data : NULL;
}

onx_status onx_value_claim(onx_graph *graph, const char *name, onx_value **out, onx_diag *diag) {
    onx_str wanted = onx_str_of(name), copy;
    if (!wanted.size) return onx_fail(diag, ONX_USAGE, "a value needs a name");
    onx_value *value = onx_value_find(graph, wanted);
    if (!value || onx_value_is_defined(value)) {
        if (onx_name_conflict(graph, wanted)) {
            onx_fail(diag, ONX_CONFLICT, "there is a value '%.*s' already", ONX_FMT(wanted));
            onx_diag_hint(diag, "take another name: onx_graph_new_name makes one");
            return ONX_CONFLICT;
        }
        bool copied = onx_doc_str(graph->model->msg.doc, wanted, &copy);
        value = copied ? onx_value_new(graph, copy) : NULL;
        if (!value) return onx_fail_nomem(diag);
    }
    *out = value;
    return ONX_OK;
}

void onx_value_unclaim(onx_value *value) {
    if (!value->first) onx_value_drop(value);
}

bool onx_graph_sees(const onx_graph *inner, const onx_graph *outer) {
    while (inner && inner != outer) inner = inner->outer;
    return inner != NULL;
}

onx_status onx_value_check_seen(const onx_value *value, const onx_graph *from, onx_diag *diag) {
    if (value->dead) return onx_fail(diag, ONX_USAGE, "'%.*s' was removed", ONX_FMT(value->name));
    if (!value->name.size) return onx_fail(diag, ONX_USAGE, "a value without a name has no uses");
    if (!onx_graph_sees(from, value->graph))
        return onx_fail(diag, ONX_USAGE, "'%.*s' lies in a graph that '%.100s' does not see",
                        ONX_FMT(value->name), from ? onx_graph_name(from) : "");
    if (onx_value_lookup(from, value->name) == value) return ONX_OK;
    onx_fail(diag, ONX_CONFLICT, "in graph '%.100s' the name '%.*s' means another value",
             onx_graph_name(from), ONX_FMT(value->name));
    onx_diag_hint(diag, "rename one of the two first: onx_value_rename");
    return ONX_CONFLICT;
}
