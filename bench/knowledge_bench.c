/* knowledge_bench.c: what it costs to load, check and infer models.
 *
 *     knowledge_bench zoo FILE...       the sum over the files, each the best of a few rounds
 *     knowledge_bench scale             generated graphs of a thousand to a million nodes */
#define _POSIX_C_SOURCE 200809L
#include <onx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5 };

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct cost { /* in milliseconds */
    double load, check, infer;
} cost;

static double least(double a, double b) {
    return a < b ? a : b;
}

/* One round; false when anything fails. Tensors of slim models have no data: that is not
 * counted. */
static bool measure(const void *data, size_t size, const char *path, cost *c) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_inference *inference = NULL;
    onx_check_options how = ONX_INIT(onx_check_options);
    how.full = true;
    double t0 = now_ms();
    onx_status status = path ? onx_model_load(NULL, path, NULL, &model, &diag)
                             : onx_model_load_memory(NULL, data, size, NULL, &model, &diag);
    double t1 = now_ms();
    if (!status) status = onx_model_check(model, &how, &diag);
    if (status == ONX_INVALID && path) status = ONX_OK;
    double t2 = now_ms();
    if (!status) status = onx_inference_new(model, NULL, &inference, &diag);
    double t3 = now_ms();
    if (status) fprintf(stderr, "%s: %s: %s\n", path ? path : "graph", diag.place, diag.message);
    onx_inference_free(inference);
    onx_model_free(model);
    *c = (cost){least(c->load, t1 - t0), least(c->check, t2 - t1), least(c->infer, t3 - t2)};
    return status == ONX_OK;
}

static int zoo(int n, char **paths) {
    cost sum = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        cost c = {1e9, 1e9, 1e9};
        for (int round = 0; round < ROUNDS; round++)
            if (!measure(NULL, 0, paths[i], &c)) return 1;
        sum = (cost){sum.load + c.load, sum.check + c.check, sum.infer + c.infer};
    }
    printf("%d models: load %.1f ms, check %.1f ms, infer %.1f ms, together %.1f ms\n", n, sum.load,
           sum.check, sum.infer, sum.load + sum.check + sum.infer);
    return 0;
}

/* ── Graphs ── */

static void chain(onx_graph *g, size_t n) {
    onx_value *x = onx_graph_add_input(g, "x", "float[batch,64]"), *v = x;
    for (size_t i = 0; i < n; i += 2) {
        v = onx_graph_add_op(g, "Relu", NULL, v);
        v = onx_graph_add_op(g, "Add", NULL, v, x);
    }
    onx_graph_add_output(g, v, "float[batch,64]");
}

/* What exporters make of x.view(x.shape[0], -1), again and again. */
static void shapes(onx_graph *g, size_t n) {
    onx_value *v = onx_graph_add_input(g, "x", "float[batch,8,8]");
    const int64_t zero = 0, rest[] = {8, 8};
    onx_value *first = onx_graph_add_initializer(g, "first", ONX_DTYPE_I64, 0, NULL, &zero, 8);
    onx_value *axes =
        onx_graph_add_initializer(g, "axes", ONX_DTYPE_I64, 1, (int64_t[]){1}, &zero, 8);
    onx_value *sizes =
        onx_graph_add_initializer(g, "sizes", ONX_DTYPE_I64, 1, (int64_t[]){2}, rest, sizeof rest);
    for (size_t i = 0; i < n; i += 5) {
        onx_value *shape = onx_graph_add_op(g, "Shape", NULL, v);
        onx_value *batch = onx_graph_add_op(g, "Gather", NULL, shape, first);
        onx_value *list = onx_graph_add_op(g, "Unsqueeze", NULL, batch, axes);
        onx_value *all = onx_graph_add_op(g, "Concat", NULL, list, sizes);
        onx_node_set_int(onx_value_node(all), "axis", 0);
        v = onx_graph_add_op(g, "Reshape", NULL, v, all);
    }
    onx_graph_add_output(g, v, "float[batch,8,8]");
}

/* Every fourth node has two graphs inside. */
static void branches(onx_graph *g, size_t n) {
    onx_value *v = onx_graph_add_input(g, "x", "float[batch,64]");
    onx_value *c = onx_graph_add_input(g, "c", "bool");
    for (size_t i = 0; i < n; i += 4) {
        char name[32];
        onx_node *node = onx_graph_add_node(g, "If", 1, &c, 1, (const char *[]){NULL});
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "inner_%zu_%d", i, k);
            onx_graph *inner = onx_node_add_graph(node, k ? "else_branch" : "then_branch", name);
            onx_value *y = onx_graph_add_op(inner, k ? "Relu" : "Neg", name, v);
            onx_graph_add_output(inner, y, "float[batch,64]");
        }
        v = onx_graph_add_op(g, "Relu", NULL, onx_node_output(node, 0));
    }
    onx_graph_add_output(g, v, "float[batch,64]");
}

static const struct {
    const char *name;
    void (*make)(onx_graph *g, size_t n);
} graphs[] = {{"chain", chain}, {"shapes", shapes}, {"branches", branches}};

static bool scale_one(size_t i, size_t n) {
    cost c = {1e9, 1e9, 1e9};
    void *data = NULL;
    size_t size = 0;
    onx_model *model = onx_model_new(NULL, "g", 18);
    graphs[i].make(onx_model_graph(model), n);
    bool ok = onx_model_save_memory(model, NULL, &data, &size, NULL) == ONX_OK;
    onx_model_free(model);
    for (int round = 0; round < (n < 1000000 ? ROUNDS : 2) && ok; round++)
        ok = measure(data, size, NULL, &c);
    double each = 1e6 / (double)n;
    if (ok)
        printf("%-9s %8zu nodes: load %5.0f ns, check %5.0f ns, infer %5.0f ns a node\n",
               graphs[i].name, n, c.load * each, c.check * each, c.infer * each);
    onx_buffer_free(NULL, data, size);
    return ok;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "zoo") == 0) return zoo(argc - 2, argv + 2);
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
        for (size_t n = 1000; n <= 1000000; n *= 10)
            if (!scale_one(i, n)) return 1;
    return 0;
}
