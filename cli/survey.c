/* survey.c: see survey.h. Counting is sorting pointers and comparing neighbours: no step depends on
 * pairs of things in the file. */
#define _POSIX_C_SOURCE 200809L
#include "survey.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *survey_state_name(survey_state state) {
    static const char *const names[] = {"complete", "missing", "cut off", "refused"};
    return names[state];
}

/* ── Walking ─────────────────────────────────────────────────────────────────────────────────── */

/* Graphs of training steps hang below the main graph too, but belong to no node. */
static bool is_training(const onx_graph *g) {
    for (; g; g = onx_graph_outer(g))
        if (onx_graph_outer(g) && !onx_graph_owner(g)) return true;
    return false;
}

/* Every graph of the model: its own, those of functions, and those inside them. */
typedef struct graphs {
    const onx_graph *root, *at;
    const onx_function *function; /* whose turn is next */
} graphs;

static graphs graphs_of(const onx_model *model) {
    return (graphs){onx_model_graph(model), NULL, onx_model_function_first(model)};
}

static const onx_graph *next_graph(graphs *w) {
    for (;;) {
        if (w->root) w->at = cli_graph_next(w->root, w->at);
        if (w->root && w->at && is_training(w->at)) continue;
        if (w->root && w->at) return w->at;
        if (!w->function) return NULL;
        w->root = onx_function_body(w->function);
        w->at = NULL;
        w->function = onx_function_next(w->function);
    }
}

/* ── Operators ───────────────────────────────────────────────────────────────────────────────── */

static const char *plain_domain(const char *domain) {
    return strcmp(domain, "ai.onnx") ? domain : "";
}

static int compare_names(const survey_op *a, const survey_op *b) {
    int order = strcmp(a->domain, b->domain);
    if (order == 0) order = strcmp(a->op, b->op);
    return order ? order : strcmp(a->overload, b->overload);
}

static survey_op op_of(const onx_node *n) {
    return (survey_op){.domain = plain_domain(onx_node_domain(n)),
                       .op = onx_node_op(n),
                       .overload = onx_node_overload(n)};
}

static int by_name(const void *a, const void *b) {
    return compare_names(a, b);
}

static int by_op(const void *a, const void *b) {
    survey_op x = op_of(*(const onx_node *const *)a), y = op_of(*(const onx_node *const *)b);
    return compare_names(&x, &y);
}

static int by_count(const void *a, const void *b) {
    const survey_op *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : compare_names(x, y);
}

static void mark_functions(survey *s, survey_op *own) {
    size_t n = 0;
    for (const onx_function *f = onx_model_function_first(s->model); f; f = onx_function_next(f))
        own[n++] = (survey_op){.domain = plain_domain(onx_function_domain(f)),
                               .op = onx_function_name(f),
                               .overload = onx_function_overload(f)};
    qsort(own, n, sizeof *own, by_name);
    for (size_t i = 0; i < s->n_ops; i++)
        s->ops[i].is_function = bsearch(&s->ops[i], own, n, sizeof *own, by_name) != NULL;
}

static void count_ops(survey *s, const onx_node **nodes, size_t n) {
    qsort(nodes, n, sizeof *nodes, by_op);
    for (size_t i = 0; i < n; i++) {
        survey_op op = op_of(nodes[i]);
        if (s->n_ops == 0 || compare_names(&s->ops[s->n_ops - 1], &op)) s->ops[s->n_ops++] = op;
        s->ops[s->n_ops - 1].count++;
    }
}

static uint64_t count_nodes(survey *s) {
    graphs w = graphs_of(s->model);
    for (const onx_graph *g; (g = next_graph(&w));) {
        uint64_t n = onx_graph_node_count(g);
        const onx_graph *top = w.root;
        if (onx_graph_function(top))
            s->function_nodes += n;
        else
            *(g == top ? &s->graph_nodes : &s->sub_nodes) += n;
        s->subgraphs += g != top;
    }
    for (const onx_function *f = onx_model_function_first(s->model); f; f = onx_function_next(f))
        s->functions++;
    return s->graph_nodes + s->sub_nodes + s->function_nodes;
}

static bool survey_ops(survey *s) {
    uint64_t total = count_nodes(s), n = 0;
    const onx_node **nodes = calloc(total + 1, sizeof *nodes);
    survey_op *own = calloc(s->functions + 1, sizeof *own);
    s->ops = calloc(total + 1, sizeof *s->ops);
    bool ok = nodes && own && s->ops;
    if (ok) {
        graphs w = graphs_of(s->model);
        for (const onx_graph *g; (g = next_graph(&w));)
            for (const onx_node *node = onx_graph_node_first(g); node; node = onx_node_next(node))
                nodes[n++] = node;
        count_ops(s, nodes, n);
        mark_functions(s, own);
        qsort(s->ops, s->n_ops, sizeof *s->ops, by_count);
    }
    free(nodes);
    free(own);
    return ok;
}

/* ── Tensors ─────────────────────────────────────────────────────────────────────────────────── */

static void add(survey_total *total, const onx_tensor *t) {
    uint64_t count;
    size_t bytes;
    total->tensors++;
    if (onx_tensor_count(t, &count, NULL)) return;
    total->elements += count;
    if (onx_dtype_bytes(onx_tensor_dtype(t), count, &bytes)) total->bytes += bytes;
}

static void check(survey *s, const onx_tensor *t) {
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_tensor_check(t, &diag) == ONX_OK) return;
    if (s->bad_tensors++ == 0) s->bad = diag;
}

typedef struct tensors {
    const onx_tensor **external;
    size_t n, cap;
    bool failed;
} tensors;

static void keep_external(tensors *list, const onx_tensor *t) {
    if (list->n == list->cap && !list->failed) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        const onx_tensor **grown = realloc(list->external, cap * sizeof *grown);
        list->failed = !grown;
        if (grown) list->external = grown, list->cap = cap;
    }
    if (!list->failed) list->external[list->n++] = t;
}

static void see_initializers(survey *s, const onx_graph *g, tensors *list) {
    uint64_t dense = 0, all = 0;
    for (const onx_tensor *t = onx_graph_initializer_first(g); t; t = onx_tensor_next(t), dense++) {
        bool external = onx_tensor_is_external(t);
        add(&s->types[onx_tensor_dtype(t)], t);
        add(external ? &s->external : &s->inside, t);
        check(s, t);
        if (external) keep_external(list, t);
    }
    for (const onx_value *v = onx_graph_value_first(g); v; v = onx_value_next(v))
        all += onx_value_initializer(v) != NULL;
    s->sparse += all - dense;
}

static void see_constants(survey *s, const onx_graph *g, tensors *list) {
    for (const onx_node *n = onx_graph_node_first(g); n; n = onx_node_next(n))
        for (const onx_attr *a = onx_node_attr_first(n); a; a = onx_attr_next(a)) {
            const onx_tensor *t = onx_attr_tensor(a);
            if (!t) t = onx_attr_tensor_at(a, 0);
            for (; t; t = onx_tensor_next(t)) {
                add(&s->constants, t);
                check(s, t);
                if (onx_tensor_is_external(t)) keep_external(list, t);
            }
        }
}

/* ── External files ──────────────────────────────────────────────────────────────────────────── */

static int by_location(const void *a, const void *b) {
    return strcmp(onx_tensor_location(*(const onx_tensor *const *)a),
                  onx_tensor_location(*(const onx_tensor *const *)b));
}

/* As the library sees it: beneath the model's folder, links aside. */
static bool is_beneath(const char *location) {
    if (*location == '/' || !*location) return false;
    for (const char *p = location; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2])) return false;
    return true;
}

static bool stat_beside(const char *model, const char *location, struct stat *info) {
    const char *slash = strrchr(model, '/');
    char path[4096];
    int folder = slash ? (int)(slash - model + 1) : 0;
    int n = snprintf(path, sizeof path, "%.*s%s", folder, model, location);
    return n >= 0 && (size_t)n < sizeof path && stat(path, info) == 0;
}

static void look_at_file(const survey *s, survey_file *f) {
    struct stat info;
    if (!is_beneath(f->location))
        f->state = SURVEY_REFUSED;
    else if (!stat_beside(s->path, f->location, &info))
        f->state = SURVEY_MISSING;
    else {
        f->size = (uint64_t)info.st_size;
        f->state = f->size < f->needed ? SURVEY_CUT : SURVEY_COMPLETE;
    }
}

static bool survey_files(survey *s, const tensors *list) {
    s->files = calloc(list->n + 1, sizeof *s->files);
    if (!s->files || list->failed) return false;
    if (list->n) qsort(list->external, list->n, sizeof *list->external, by_location);
    for (size_t i = 0; i < list->n; i++) {
        const onx_tensor *t = list->external[i];
        uint64_t offset, length;
        if (s->n_files == 0 || strcmp(s->files[s->n_files - 1].location, onx_tensor_location(t)))
            s->files[s->n_files++].location = onx_tensor_location(t);
        survey_file *f = &s->files[s->n_files - 1];
        f->tensors++;
        if (!onx_tensor_extent(t, &offset, &length)) continue;
        f->bytes += length;
        if (offset + length > f->needed) f->needed = offset + length;
    }
    for (size_t i = 0; i < s->n_files; i++) look_at_file(s, &s->files[i]);
    return true;
}

static bool survey_tensors(survey *s) {
    tensors list = {NULL, 0, 0, false};
    graphs w = graphs_of(s->model);
    for (const onx_graph *g; (g = next_graph(&w));) {
        see_initializers(s, g, &list);
        see_constants(s, g, &list);
    }
    bool ok = survey_files(s, &list);
    free(list.external);
    return ok;
}

bool survey_make(survey *s) {
    struct stat info;
    if (!cli_is_stdio(s->path) && stat(s->path, &info) == 0) s->size = (uint64_t)info.st_size;
    return survey_ops(s) && survey_tensors(s);
}

void survey_free(survey *s) {
    free(s->ops);
    free(s->files);
}
