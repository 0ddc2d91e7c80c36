/* ops_model.c: the operators that a model needs: how often, in which version, and whether onx knows
 * and can run them. Counting is sorting and comparing neighbours. */
#include "json.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

typedef struct needed {
    const char *domain, *op, *overload;
    const onx_function *scope; /* whose opset imports count; NULL: the model's */
    const onx_node *node;
    int64_t since;
    uint64_t count;
    enum { UNKNOWN, STUCK, INLINED, RUNS, FUNCTION } state;
} needed;

typedef struct needs {
    needed *v;
    size_t n;
    bool all; /* memory did not run out */
} needs;

static const char *const states[] = {"not known", "cannot be run", "runs as a function", "runs",
                                     "function of the model"};

/* ── Collecting ──────────────────────────────────────────────────────────────────────────────── */

static int by_op(const void *a, const void *b) {
    const needed *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    if (!order) order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->overload, y->overload);
}

static int by_scope(const void *a, const void *b) {
    const needed *x = a, *y = b;
    int order = by_op(a, b);
    return order ? order : (x->scope > y->scope) - (x->scope < y->scope);
}

static int by_version(const void *a, const void *b) {
    const needed *x = a, *y = b;
    int order = by_op(a, b);
    if (!order) order = (x->state > y->state) - (x->state < y->state);
    return order ? order : (x->since > y->since) - (x->since < y->since);
}

static const char *plain_domain(const char *domain) {
    return strcmp(domain, "ai.onnx") ? domain : "";
}

static void add_graph(needs *all, const onx_graph *g, const onx_function *scope, size_t *room) {
    for (const onx_node *node = onx_graph_node_first(g); node && all->all;
         node = onx_node_next(node)) {
        if (all->n == *room) {
            *room = *room ? *room * 2 : 64;
            needed *grown = realloc(all->v, *room * sizeof *grown);
            all->all = grown != NULL;
            if (!grown) return;
            all->v = grown;
        }
        all->v[all->n++] = (needed){.domain = plain_domain(onx_node_domain(node)),
                                    .op = onx_node_op(node),
                                    .overload = onx_node_overload(node),
                                    .scope = scope,
                                    .node = node,
                                    .count = 1};
    }
}

/* Equal neighbours become one. */
static void unite(needs *all, int (*order)(const void *, const void *)) {
    size_t n = 0;
    if (all->n) qsort(all->v, all->n, sizeof *all->v, order);
    for (size_t i = 0; i < all->n; i++) {
        if (n && order(&all->v[n - 1], &all->v[i]) == 0)
            all->v[n - 1].count += all->v[i].count;
        else
            all->v[n++] = all->v[i];
    }
    all->n = n;
}

static void look_up(needed *need, const onx_function *const *own, size_t n_own) {
    onx_op_info info;
    const onx_schema *schema = NULL;
    for (size_t low = 0, high = n_own; low < high;) {
        size_t middle = low + (high - low) / 2;
        needed f = {.domain = plain_domain(onx_function_domain(own[middle])),
                    .op = onx_function_name(own[middle]),
                    .overload = onx_function_overload(own[middle])};
        int order = by_op(need, &f);
        if (order == 0) {
            need->state = FUNCTION;
            return;
        }
        *(order < 0 ? &high : &low) = order < 0 ? middle : middle + 1;
    }
    if (!onx_node_op_info(need->node, &info)) return;
    need->since = info.since;
    need->state = STUCK;
    if (onx_schema_find(cli_context(), info.domain, info.name, info.since, &schema, NULL) != ONX_OK)
        return;
    need->state = onx_schema_runs(schema, NULL) ? RUNS : schema->is_function ? INLINED : STUCK;
    onx_schema_free(schema);
}

static int by_function(const void *a, const void *b) {
    const onx_function *f = *(const onx_function *const *)a, *g = *(const onx_function *const *)b;
    int order = strcmp(plain_domain(onx_function_domain(f)), plain_domain(onx_function_domain(g)));
    if (!order) order = strcmp(onx_function_name(f), onx_function_name(g));
    return order ? order : strcmp(onx_function_overload(f), onx_function_overload(g));
}

static void find_all(needs *all, const onx_model *model) {
    size_t n = 0, i = 0;
    for (const onx_function *f = onx_model_function_first(model); f; f = onx_function_next(f)) n++;
    const onx_function **own = calloc(n + 1, sizeof *own);
    all->all = all->all && own;
    if (!own) return;
    for (const onx_function *f = onx_model_function_first(model); f; f = onx_function_next(f))
        own[i++] = f;
    qsort(own, n, sizeof *own, by_function);
    for (i = 0; i < all->n; i++) look_up(&all->v[i], own, n);
    free(own);
}

static needs needs_of(const onx_model *model) {
    needs all = {.all = true};
    size_t room = 0;
    const onx_graph *root = onx_model_graph(model);
    const onx_function *f = onx_model_function_first(model);
    for (const onx_graph *g = root; g; g = cli_graph_next(root, g)) add_graph(&all, g, NULL, &room);
    for (; f; f = onx_function_next(f)) {
        root = onx_function_body(f);
        for (const onx_graph *g = root; g; g = cli_graph_next(root, g))
            add_graph(&all, g, f, &room);
    }
    unite(&all, by_scope);
    find_all(&all, model);
    unite(&all, by_version);
    return all;
}

/* ── Showing ─────────────────────────────────────────────────────────────────────────────────── */

static void show_need(const needed *need) {
    printf("%8s  ", cli_count(need->count).s);
    cli_puts(stdout, need->domain);
    fputs(*need->domain ? "::" : "", stdout);
    cli_puts(stdout, need->op);
    if (need->since) printf("-%lld", (long long)need->since);
    fputs(*need->overload ? ":" : "", stdout);
    cli_puts(stdout, need->overload);
    if (need->state != RUNS) printf(", %s", states[need->state]);
    printf("\n");
}

static void show(const onx_model *model, const needs *all) {
    for (const onx_opset *o = onx_model_opset_first(model); o; o = onx_opset_next(o)) {
        const char *domain = plain_domain(onx_opset_domain(o));
        printf("opset ");
        cli_puts(stdout, *domain ? domain : "ai.onnx");
        printf(" %lld\n", (long long)onx_opset_version(o));
    }
    for (size_t i = 0; i < all->n; i++) show_need(&all->v[i]);
}

static void put(const onx_model *model, const needs *all) {
    json j;
    json_begin(&j, stdout);
    json_open(&j, NULL, '{');
    json_open(&j, "opsets", '[');
    for (const onx_opset *o = onx_model_opset_first(model); o; o = onx_opset_next(o)) {
        const char *domain = plain_domain(onx_opset_domain(o));
        json_open(&j, NULL, '{');
        json_string(&j, "domain", *domain ? domain : "ai.onnx");
        json_number(&j, "version", onx_opset_version(o));
        json_close(&j);
    }
    json_close(&j);
    json_open(&j, "operators", '[');
    for (size_t i = 0; i < all->n; i++) {
        const needed *need = &all->v[i];
        json_open(&j, NULL, '{');
        json_string(&j, "domain", *need->domain ? need->domain : "ai.onnx");
        json_string(&j, "name", need->op);
        json_string(&j, "overload", need->overload);
        json_number(&j, "since", need->since);
        json_size(&j, "count", need->count);
        json_bool(&j, "known", need->state != UNKNOWN);
        json_bool(&j, "runs", need->state != UNKNOWN && need->state != STUCK);
        json_bool(&j, "is_function", need->state == FUNCTION);
        json_close(&j);
    }
    json_close(&j), json_close(&j);
}

int ops_model(const onx_model *model, bool as_json) {
    needs all = needs_of(model);
    if (all.all) (as_json ? put : show)(model, &all);
    free(all.v);
    return all.all ? CLI_OK : cli_no_memory(&cli_ops);
}
