/* names.c: many values get new names at once.
 *
 * The table of names is made anew beside the old one; when nothing stands in the way, it takes its
 * place and the names are written. Until then nothing has changed. Names that were equal before may
 * stay equal: what shadows another value in a file that breaks the rules does so afterwards. */
#include "ir/edit.h"
#include "pass/surgery.h"

static const onx_str no_name = {NULL, 0};

static onx_graph *function_graph(const onx_function *f) {
    return f ? onx_function_body(f) : NULL;
}

onx_graph *onx_model_graph_next(const onx_model *model, const onx_graph *at) {
    onx_function *first = onx_model_function_first(model);
    if (!at) return model->graph ? model->graph : function_graph(first);
    if (at->first_sub) return at->first_sub;
    while (!at->next_sub && at->outer) at = at->outer;
    if (at->next_sub) return at->next_sub;
    return function_graph(at->function ? onx_function_next(at->function) : first);
}

typedef struct renaming {
    onx_model *model;
    onx_map changes; /* value to onx_new_name */
    onx_map table;   /* as onx_model.values */
    onx_diag *diag;
} renaming;

static onx_str final_name(const renaming *r, const onx_value *value) {
    const onx_new_name *change = onx_map_get(&r->changes, value, no_name);
    return change ? change->name : value->name;
}

static onx_status fail(const renaming *r, const onx_value *value, const onx_value *other) {
    onx_str name = final_name(r, value);
    onx_fail(r->diag, ONX_CONFLICT, "'%.*s' cannot be called '%.*s': '%.*s' of graph '%.60s' %s",
             ONX_FMT(value->name), ONX_FMT(name), ONX_FMT(other->name),
             onx_graph_name(other->graph),
             onx_str_eq(other->name, name) ? "has that name" : "is to have that name, too");
    onx_diag_place(r->diag, "graph '%.100s'", onx_graph_name(value->graph));
    onx_diag_hint(r->diag, "choose another name, or give the other value a new one as well");
    return ONX_CONFLICT;
}

/* The one that changes is named first. */
static onx_status clash(const renaming *r, const onx_value *a, const onx_value *b) {
    return onx_map_get(&r->changes, a, no_name) ? fail(r, a, b) : fail(r, b, a);
}

static onx_status enter(renaming *r, onx_value *value) {
    onx_str name = final_name(r, value);
    const onx_value *there = onx_map_get(&r->table, value->graph, name);
    if (there) return clash(r, value, there);
    if (value->graph->outer && !onx_map_put(&r->table, NULL, name, value))
        return onx_fail_nomem(r->diag);
    return onx_map_put(&r->table, value->graph, name, value) ? ONX_OK : onx_fail_nomem(r->diag);
}

static bool is_named(const onx_value *value) {
    return !value->dead && value->name.size && onx_value_find(value->graph, value->name) == value;
}

/* Does a graph around the value's have the name? */
static onx_status check_around(const renaming *r, const onx_value *value) {
    onx_str name = final_name(r, value);
    for (const onx_graph *g = value->graph->outer; g; g = g->outer) {
        const onx_value *other = onx_map_get(&r->table, g, name);
        if (other && !onx_str_eq(other->name, value->name)) return clash(r, value, other);
    }
    return ONX_OK;
}

static onx_status make_table(renaming *r) {
    for (onx_graph *g = NULL; (g = onx_model_graph_next(r->model, g));)
        for (onx_value *v = g->values; v; v = v->next)
            if (is_named(v)) ONX_TRY(enter(r, v));
    for (onx_graph *g = NULL; (g = onx_model_graph_next(r->model, g));)
        for (const onx_value *v = g->values; v && g->outer; v = v->next)
            if (is_named(v)) ONX_TRY(check_around(r, v));
    return ONX_OK;
}

/* The value, and other definitions of its name. */
static void write_names(onx_value *value, onx_str name) {
    onx_value *v = value;
    do {
        v->name = name;
        onx_value_write_name(v);
        v = v->younger;
    } while (v && v != value);
}

static onx_status prepare(renaming *r, size_t n, const onx_new_name *changes) {
    for (size_t i = 0; i < n; i++)
        if (!onx_map_put(&r->changes, changes[i].value, no_name, (void *)(uintptr_t)&changes[i]))
            return onx_fail_nomem(r->diag);
    return make_table(r);
}

onx_status onx_names_apply(onx_model *model, size_t n, const onx_new_name *changes,
                           onx_diag *diag) {
    renaming r = {.model = model, .diag = diag};
    onx_map_init(&r.changes, model->msg.doc->ctx);
    onx_map_init(&r.table, model->msg.doc->ctx);
    onx_status status = n ? prepare(&r, n, changes) : ONX_OK;
    if (!status && n) {
        onx_map old = model->values;
        model->values = r.table;
        r.table = old;
        for (size_t i = 0; i < n; i++) write_names(changes[i].value, changes[i].name);
    }
    onx_map_fini(&r.table);
    onx_map_fini(&r.changes);
    return status;
}
