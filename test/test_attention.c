/* test_attention.c: the operators of attention through their bodies, for they have no kernels: all
 * their backend tests give what was recorded, also when nothing is known ahead of the sizes. */
#include "test.h"

#include "ops/op.h"
#include "support.h"

#include <math.h>

enum { INS = 8, OUTS = 4, ELEMS = 1 << 16 };

static bool is_ours(const onx_node *node) {
    const onx_op *op = node ? onx_op_of(node) : NULL;
    for (const onx_family *f = onx_op_table; op && f->name; f++)
        for (const onx_op *row = f->ops; row->name && strcmp(f->name, "attention") == 0; row++)
            if (row == op) return true;
    return false;
}

static double tolerance(onx_dtype dtype) {
    return dtype == ONX_DTYPE_BF16 ? 2e-2 : dtype == ONX_DTYPE_F16 ? 2e-3 : 2e-5;
}

static bool same(const onx_tensor *a, const onx_tensor *b) {
    static double x[ELEMS], y[ELEMS];
    uint64_t n = 0;
    size_t rank = onx_tensor_rank(a);
    if (onx_tensor_dtype(a) != onx_tensor_dtype(b) || rank != onx_tensor_rank(b)) return false;
    for (size_t i = 0; i < rank; i++)
        if (onx_tensor_dim(a, i) != onx_tensor_dim(b, i)) return false;
    if (onx_tensor_count(a, &n, NULL) || n > ELEMS) return false;
    if (onx_tensor_read_as(a, ONX_DTYPE_F64, x, n * sizeof *x, NULL) ||
        onx_tensor_read_as(b, ONX_DTYPE_F64, y, n * sizeof *y, NULL))
        return false;
    double most = tolerance(onx_tensor_dtype(a));
    for (uint64_t i = 0; i < n; i++)
        if (!(x[i] == y[i] || fabs(x[i] - y[i]) <= most * (1 + fabs(y[i])))) return false;
    return true;
}

/* A tensor recorded for the model at `path`. */
static onx_data *load(const char *path, const char *what, size_t index) {
    char file[1024];
    onx_data *data = NULL;
    (void)snprintf(file, sizeof file, "%.*stest_data_set_0/%s_%zu.pb",
                   (int)(strlen(path) - strlen("model.onnx")), path, what, index);
    (void)onx_data_load(NULL, file, ONX_DATA_TENSOR, &data, NULL);
    return data;
}

/* Sizes of the inputs become names, and outputs lose theirs. */
static bool forget_sizes(onx_graph *graph) {
    for (size_t i = 0; i < onx_graph_input_count(graph); i++) {
        onx_value *value = onx_graph_input(graph, i);
        char text[128];
        int n = snprintf(text, sizeof text, "%s",
                         onx_dtype_name(onx_type_dtype(onx_value_type(value))));
        for (size_t d = 0; d < onx_type_rank(onx_value_type(value)); d++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%ci%zu_%zu", d ? ',' : '[', i, d);
        if (onx_type_rank(onx_value_type(value)))
            (void)snprintf(text + n, sizeof text - (size_t)n, "]");
        if (onx_value_set_type(value, text, NULL)) return false;
    }
    for (size_t i = 0; i < onx_graph_output_count(graph); i++)
        if (onx_value_set_type(onx_graph_output(graph, i), NULL, NULL)) return false;
    return true;
}

static bool check_outputs(const char *path, size_t n, const onx_arg *out) {
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        onx_data *wanted = load(path, "output", i), *got = NULL;
        good = good && wanted && !onx_arg_to_data(NULL, &out[i], &got, NULL) &&
               same(onx_data_tensor(got), onx_data_tensor(wanted));
        onx_data_free(got);
        onx_data_free(wanted);
    }
    return good;
}

static bool runs(const onx_model *model, const char *path) {
    const onx_graph *graph = onx_model_graph(model);
    size_t n_in = onx_graph_input_count(graph), n_out = onx_graph_output_count(graph);
    onx_data *data[INS] = {NULL};
    onx_arg in[INS] = {{0}}, out[OUTS] = {{0}};
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    bool good = n_in <= INS && n_out <= OUTS && !onx_session_new(model, NULL, &session, &diag);
    for (size_t i = 0; i < n_in && good; i++) {
        data[i] = load(path, "input", i);
        good = data[i] && !onx_arg_from_data(data[i], &in[i], &diag);
    }
    good = good && !onx_session_run(session, n_in, in, n_out, out, NULL, &diag);
    if (!good) fprintf(stderr, "    %s: %s: %s\n", path, diag.place, diag.message);
    if (good && !check_outputs(path, n_out, out)) {
        fprintf(stderr, "    %s: the outputs differ\n", path);
        good = false;
    }
    for (size_t i = 0; i < n_out; i++) onx_arg_clear(&out[i]);
    for (size_t i = 0; i < n_in && i < INS; i++) {
        onx_arg_clear(&in[i]);
        onx_data_free(data[i]);
    }
    onx_session_free(session);
    return good;
}

/* Both ways, if it is one of our operators alone. */
static void try_model(const char *path, size_t *n) {
    onx_model *model = NULL;
    if (onx_model_load(NULL, path, NULL, &model, NULL)) return;
    onx_graph *graph = onx_model_graph(model);
    const onx_node *node = onx_graph_node_first(graph);
    if (is_ours(node) && !onx_node_next(node)) {
        *n += 1;
        CHECK(runs(model, path));
        bool sized =
            strcmp(onx_node_op(node), "CausalConvWithState") == 0; /* Conv needs its groups */
        if (!sized && CHECK(forget_sizes(graph))) CHECK(runs(model, path));
    }
    onx_model_free(model);
}

TEST(recorded) {
    char node[512];
    size_t n = 0;
    if (!test_data()) SKIP("ONX_DATA is not set");
    (void)snprintf(node, sizeof node, "%s/node", test_data());
    test_files files = test_files_find(node, "/model.onnx");
    for (size_t i = 0; i < files.count; i++) try_model(files.paths[i], &n);
    test_files_free(&files);
    CHECK(n >= 100);
}

TEST_MAIN(E(recorded))
