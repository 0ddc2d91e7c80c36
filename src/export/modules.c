/* modules.c: modules as functions: nodes that stand together and come from one module become a call
 * of a function, innermost modules first, so that functions call those of the modules inside.
 *
 *     path of a node: "layer1.0.conv1" of "layer1.0.conv1/Conv"
 *     a module: a run of nodes whose paths begin with its path: nothing outside it stands between
 *
 * All that a run takes from outside becomes an input of the function, weights too, so modules of a
 * kind share one. Values in it are named after operators and places: equal modules have equal
 * functions. Nodes with graphs inside stay where they are. */
#include "export/modules.h"

#include "ir/edit.h"

#include <stdio.h>

enum { DEPTH_MAX = 64 }; /* of modules in modules; nodes that are deeper stay */

static const onx_str no_name = {NULL, 0};

/* ─ Kinds of modules ─────────────────────────────────────────────────────────────────────────── */

/* "__torch__.a.___torch_mangle_3.B" is "a.B". */
static onx_str plain_class(onx_export *x, onx_str class) {
    static const onx_str drop[] = {{"__torch__", 9}, {"___torch_mangle_", 16}};
    char *out = onx_x_alloc(x, class.size + 1);
    size_t n = 0;
    for (size_t at = 0; out && at < class.size;) {
        size_t end = at;
        while (end < class.size && class.data[end] != '.') end++;
        bool dropped = false;
        for (size_t k = 0; k < ONX_COUNT(drop); k++)
            dropped |= end - at >= drop[k].size &&
                       memcmp(class.data + at, drop[k].data, drop[k].size) == 0;
        if (!dropped && n) out[n++] = '.';
        if (!dropped) memcpy(out + n, class.data + at, end - at), n += end - at;
        at = end + 1;
    }
    return (onx_str){out, out ? n : 0};
}

void onx_x_module(onx_export *x, onx_str path, onx_str class) {
    if (!x->functions || !path.size || onx_map_get(&x->modules, NULL, path)) return;
    onx_str *kept = onx_x_alloc(x, sizeof *kept), key;
    if (!kept) return;
    *kept = plain_class(x, class);
    if (!onx_arena_str(&x->arena, path, &key) || !onx_map_put(&x->modules, NULL, key, kept))
        onx_x_nomem(x);
}

/* ─ Runs of nodes ────────────────────────────────────────────────────────────────────────────── */

typedef struct grouping {
    onx_export *x; /* for the kinds */
    onx_model *model;
    onx_graph *graph;
    onx_arena arena;
    onx_map paths; /* node to onx_str */
    onx_map calls; /* path to size_t: how many runs of it there were */
    onx_diag *diag;
} grouping;

/* A run, and what goes in and out of it. */
typedef struct run {
    onx_str path;
    onx_node *first, *last;
    onx_value **in, **out;
    size_t n_in, n_out, cap_in, cap_out;
    onx_map inside, seen; /* values that nodes of the run compute; values in `in`: their place */
} run;

static onx_str path_of(const grouping *g, const onx_node *node) {
    const onx_str *path = onx_map_get(&g->paths, node, no_name);
    return path ? *path : (onx_str){"", 0};
}

/* The first `depth` parts of a path; nothing where it has fewer. */
static onx_str head_of(onx_str path, size_t depth) {
    for (size_t i = 0; i < path.size; i++)
        if (path.data[i] == '.' && --depth == 0) return (onx_str){path.data, i};
    return depth == 1 && path.size ? path : no_name;
}

static size_t depth_of(onx_str path) {
    size_t n = path.size ? 1 : 0;
    for (size_t i = 0; i < path.size; i++) n += path.data[i] == '.';
    return n;
}

static bool has_graphs(const onx_node *node) {
    ONX_EACH (const onx_attr, a, node->attribute)
        if (a->g || a->graphs.count) return true;
    return false;
}

static onx_status set_path(grouping *g, const onx_node *node, onx_str path) {
    onx_str *kept = onx_arena_alloc(&g->arena, sizeof *kept);
    if (!kept || !onx_arena_str(&g->arena, path, kept) ||
        !onx_map_put(&g->paths, node, no_name, kept))
        return onx_fail_nomem(g->diag);
    return ONX_OK;
}

/* The paths that names begin with. Returns, in `depth`, how deep they go. */
static onx_status read_paths(grouping *g, size_t *depth) {
    for (onx_node *n = onx_graph_node_first(g->graph); n; n = onx_node_next(n)) {
        size_t end = n->name.size;
        while (end && n->name.data[end - 1] != '/') end--;
        if (!end || has_graphs(n)) continue;
        onx_str path = {n->name.data, end - 1};
        size_t parts = depth_of(path);
        if (parts > DEPTH_MAX) continue;
        ONX_TRY(set_path(g, n, path));
        if (parts > *depth) *depth = parts;
    }
    return ONX_OK;
}

static bool push(grouping *g, onx_value ***v, size_t *n, size_t *cap, onx_value *value) {
    if (!onx_arena_grow(&g->arena, v, cap, *n, sizeof **v)) return false;
    (*v)[(*n)++] = value;
    return true;
}

static bool is_inside(const run *r, const onx_value *value) {
    return onx_map_get(&r->inside, value, no_name) != NULL;
}

static bool is_used_outside(const run *r, const onx_value *value) {
    onx_use use = {0};
    if (value->output) return true;
    while (onx_value_use_next(value, &use))
        if (!use.node || !onx_map_get(&r->inside, use.node, no_name)) return true;
    return false;
}

static onx_status look_at(grouping *g, run *r) {
    onx_node *end = onx_node_next(r->last);
    for (onx_node *n = r->first; n != end; n = onx_node_next(n)) {
        if (!onx_map_put(&r->inside, n, no_name, n)) return onx_fail_nomem(g->diag);
        for (size_t i = 0; i < n->output.n; i++)
            if (onx_node_output(n, i) &&
                !onx_map_put(&r->inside, onx_node_output(n, i), no_name, n))
                return onx_fail_nomem(g->diag);
    }
    for (onx_node *n = r->first; n != end; n = onx_node_next(n)) {
        for (size_t i = 0; i < n->input.n; i++) {
            onx_value *v = onx_node_input(n, i);
            if (!v || is_inside(r, v) || onx_map_get(&r->seen, v, no_name)) continue;
            if (!push(g, &r->in, &r->n_in, &r->cap_in, v) || !onx_map_put(&r->seen, v, no_name, v))
                return onx_fail_nomem(g->diag);
        }
        for (size_t i = 0; i < n->output.n; i++) {
            onx_value *v = onx_node_output(n, i);
            if (v && is_used_outside(r, v) && !push(g, &r->out, &r->n_out, &r->cap_out, v))
                return onx_fail_nomem(g->diag);
        }
    }
    return ONX_OK;
}

/* ─ Functions ────────────────────────────────────────────────────────────────────────────────── */

/* "weight" of "layer1.0.conv1.weight" in that module, "x0" of what comes from elsewhere. */
static void input_name(const run *r, size_t i, char *out, size_t size) {
    onx_str name = r->in[i]->name;
    bool own = name.size > r->path.size + 1 && name.data[r->path.size] == '.' &&
               memcmp(name.data, r->path.data, r->path.size) == 0 && r->in[i]->init;
    if (own)
        snprintf(out, size, "%.*s", (int)(name.size - r->path.size - 1),
                 name.data + r->path.size + 1);
    else
        snprintf(out, size, "x%zu", i);
}

static onx_status failed(const grouping *g) {
    const onx_diag *error = onx_model_error(g->model);
    if (!error || !error->status) return onx_fail_nomem(g->diag);
    if (g->diag) *g->diag = *error;
    return error->status;
}

/* A copy of a node at the end of the body. `values`: what stands for values of the graph there. */
static onx_status copy_node(grouping *g, onx_function *f, const onx_node *node, size_t place,
                            onx_map *values) {
    onx_graph *body = onx_function_body(f);
    onx_value **in = onx_arena_array(&g->arena, node->input.n + 1, sizeof *in);
    const char **names = onx_arena_array(&g->arena, node->output.n + 1, sizeof *names);
    char op[512];
    if (!in || !names) return onx_fail_nomem(g->diag);
    snprintf(op, sizeof op, "%.*s%s%.*s", ONX_FMT(node->domain), node->domain.size ? "::" : "",
             ONX_FMT(node->op_type));
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *v = onx_node_input(node, i);
        in[i] = v ? onx_map_get(values, v, no_name) : NULL;
    }
    for (size_t i = 0; i < node->output.n; i++) {
        char text[300];
        snprintf(text, sizeof text, i ? "%.*s_%zu_%zu" : "%.*s_%zu", ONX_FMT(node->op_type), place,
                 i);
        names[i] = onx_node_output(node, i) ? onx_graph_new_name(body, text) : "";
    }
    onx_node *copy = onx_graph_add_node(body, op, node->input.n, in, node->output.n, names);
    if (!copy) return failed(g);
    ONX_EACH (const onx_attr, a, node->attribute) ONX_TRY(onx_node_set_attr(copy, a, g->diag));
    if (node->domain.size && !onx_function_opset(f, node->domain.data))
        ONX_TRY(onx_function_set_opset(f, node->domain.data,
                                       onx_model_opset(g->model, node->domain.data)));
    for (size_t i = 0; i < node->output.n; i++)
        if (onx_node_output(node, i) &&
            !onx_map_put(values, onx_node_output(node, i), no_name, onx_node_output(copy, i)))
            return onx_fail_nomem(g->diag);
    return ONX_OK;
}

static onx_status fill_function(grouping *g, const run *r, onx_function *f, onx_map *values) {
    onx_graph *body = onx_function_body(f);
    size_t place = 0;
    for (size_t i = 0; i < r->n_in; i++) {
        char name[300];
        input_name(r, i, name, sizeof name);
        onx_value *v = onx_graph_add_input(body, onx_graph_new_name(body, name), NULL);
        if (!v) return failed(g);
        if (!onx_map_put(values, r->in[i], no_name, v)) return onx_fail_nomem(g->diag);
    }
    for (onx_node *n = r->first;; n = onx_node_next(n)) {
        ONX_TRY(copy_node(g, f, n, place++, values));
        if (n == r->last) break;
    }
    for (size_t i = 0; i < r->n_out; i++)
        if (!onx_graph_add_output(body, onx_map_get(values, r->out[i], no_name), NULL))
            return failed(g);
    return ONX_OK;
}

static bool same_names(const onx_strs *a, const onx_strs *b) {
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (!onx_str_eq(a->v[i], b->v[i])) return false;
    return a->n == b->n;
}

static bool same_body(const onx_function *a, const onx_function *b) {
    const onx_node *m = onx_graph_node_first(&a->body), *n = onx_graph_node_first(&b->body);
    if (!same_names(&a->input, &b->input) || !same_names(&a->output, &b->output)) return false;
    for (; m && n; m = onx_node_next(m), n = onx_node_next(n))
        if (!onx_msg_equal(m, n, NULL)) return false;
    return !m && !n;
}

/* "torch.nn.modules.conv" and "Conv2d"; of a module of unknown kind "modules" and its own name. */
static void name_kind(const grouping *g, onx_str path, char domain[200], char name[200]) {
    const onx_str *class = onx_map_get(&g->x->modules, NULL, path);
    onx_str full = class && class->size ? *class : path;
    size_t dot = full.size;
    while (dot && full.data[dot - 1] != '.') dot--;
    snprintf(name, 200, "%.*s", (int)(full.size - dot), full.data + dot);
    snprintf(domain, 200, "%.*s", class && dot ? (int)dot - 1 : 7,
             class && dot ? full.data : "modules");
}

/* The function of the run: one that is there already, or a new one. */
static onx_status find_function(grouping *g, const run *r, onx_function **out) {
    char domain[200], name[200], full[240];
    onx_map values;
    name_kind(g, r->path, domain, name);
    snprintf(full, sizeof full, "%s", name);
    for (size_t i = 1; onx_model_function_find(g->model, domain, full, NULL); i++)
        snprintf(full, sizeof full, "%s_%zu", name, i);
    onx_function *f = onx_model_add_function(g->model, domain, full);
    if (!f) return failed(g);
    onx_map_init(&values, g->model->msg.doc->ctx);
    onx_status status = fill_function(g, r, f, &values);
    onx_map_fini(&values);
    ONX_TRY(status);
    *out = f;
    ONX_EACH (onx_function, old, g->model->functions)
        if (old != f && onx_str_is(old->domain, domain) && same_body(old, f)) {
            *out = old;
            return onx_function_remove(f);
        }
    return ONX_OK;
}

/* ─ Calls ────────────────────────────────────────────────────────────────────────────────────── */

/* A module whose nodes do not stand together is called more than once: then with a number. */
static onx_status name_call(grouping *g, onx_node *call, onx_str path) {
    size_t *count = onx_map_get(&g->calls, NULL, path), size = path.size + 24;
    char *name = onx_arena_alloc(&g->arena, size);
    if (!name) return onx_fail_nomem(g->diag);
    if (!count) {
        count = onx_arena_alloc(&g->arena, sizeof *count);
        if (!count || !onx_map_put(&g->calls, NULL, path, count)) return onx_fail_nomem(g->diag);
    }
    int n = snprintf(name, size, "%.*s", ONX_FMT(path));
    if (*count) snprintf(name + n, size - (size_t)n, "_%zu", *count);
    ++*count;
    return onx_node_set_name(call, name);
}

static onx_status put_call(grouping *g, const run *r, const onx_function *f) {
    const char **names = onx_arena_array(&g->arena, r->n_out + 1, sizeof *names);
    char op[500];
    if (!names) return onx_fail_nomem(g->diag);
    snprintf(op, sizeof op, "%.*s::%.*s", ONX_FMT(f->domain), ONX_FMT(f->name));
    onx_node *call = onx_graph_add_node(g->graph, op, r->n_in, r->in, r->n_out, names);
    if (!call) return failed(g);
    ONX_TRY(onx_node_move(call, r->first));
    for (size_t i = 0; i < r->n_out; i++)
        ONX_TRY(onx_value_replace(r->out[i], onx_node_output(call, i), g->diag));
    for (onx_node *n = r->last, *before; n != call; n = before) {
        before = onx_node_prev(n);
        ONX_TRY(onx_node_remove(n, g->diag));
    }
    onx_str outer = r->path;
    while (outer.size && outer.data[outer.size - 1] != '.') outer.size--;
    if (outer.size) outer.size--;
    ONX_TRY(name_call(g, call, r->path));
    return set_path(g, call, outer);
}

static onx_status group_run(grouping *g, run *r) {
    onx_function *f = NULL;
    onx_context *ctx = g->model->msg.doc->ctx;
    onx_map_init(&r->inside, ctx);
    onx_map_init(&r->seen, ctx);
    onx_status status = look_at(g, r);
    if (!status) status = find_function(g, r, &f);
    if (!status) status = put_call(g, r, f);
    onx_map_fini(&r->inside);
    onx_map_fini(&r->seen);
    return status;
}

static onx_status group_depth(grouping *g, size_t depth) {
    for (onx_node *n = onx_graph_node_first(g->graph), *next; n; n = next) {
        run r = {.path = head_of(path_of(g, n), depth), .first = n, .last = n};
        while ((next = onx_node_next(r.last)) && r.path.size &&
               onx_str_eq(head_of(path_of(g, next), depth), r.path))
            r.last = next;
        if (r.path.size) ONX_TRY(group_run(g, &r));
    }
    return ONX_OK;
}

onx_status onx_export_modules(onx_export *x, onx_model *model, onx_diag *diag) {
    grouping g = {.x = x, .model = model, .graph = onx_model_graph(model), .diag = diag};
    size_t depth = 0;
    onx_arena_init(&g.arena, x->ctx);
    onx_map_init(&g.paths, x->ctx);
    onx_map_init(&g.calls, x->ctx);
    onx_status status = read_paths(&g, &depth);
    for (; depth > 0 && !status; depth--) status = group_depth(&g, depth);
    if (!status && model->functions.count && onx_model_ir_version(model) < 8)
        status = onx_model_set_ir_version(model, 8); /* the first with functions */
    onx_map_fini(&g.calls);
    onx_map_fini(&g.paths);
    onx_arena_fini(&g.arena);
    return status;
}
