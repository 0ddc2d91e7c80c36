/* watch_value.c: looks at a value inside a model while it runs.
 *
 *     watch_value MODEL INPUT [VALUE]
 *
 * Without VALUE it lists the values that can be watched. Any value can be asked for by its name,
 * also one in the body of a Loop or a branch of an If: then it is what was computed there last. */
#include <onx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void list_values(const onx_graph *graph) {
    for (const onx_node *n = onx_graph_node_first(graph); n; n = onx_node_next(n))
        for (size_t i = 0; i < onx_node_output_count(n); i++)
            if (onx_node_output(n, i))
                printf("%s  (%s)\n", onx_value_name(onx_node_output(n, i)), onx_node_op(n));
}

static void describe(const onx_arg *value) {
    const float *x = value->data;
    size_t count = value->bytes / sizeof *x, odd = 0;
    double least = INFINITY, most = -INFINITY;
    printf("%s: %s[", value->name, onx_dtype_name(value->dtype));
    for (size_t i = 0; i < value->rank; i++)
        printf("%s%lld", i ? "," : "", (long long)value->dims[i]);
    printf("]");
    for (size_t i = 0; value->dtype == ONX_DTYPE_F32 && i < count; i++) {
        if (!isfinite(x[i]))
            odd++;
        else if (x[i] < least)
            least = x[i];
        if (isfinite(x[i]) && x[i] > most) most = x[i];
    }
    if (value->dtype == ONX_DTYPE_F32) printf(", from %g to %g, %zu not finite", least, most, odd);
    printf("\n");
}

int main(int argc, char **argv) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_data *data = NULL;
    onx_session *session = NULL;
    onx_arg in = {0}, out[2] = {{0}, {0}};
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: watch_value MODEL INPUT [VALUE]\n");
        return 2;
    }
    out[1].name = argc > 3 ? argv[3] : NULL; /* beside the first output */
    onx_status status = onx_model_load(NULL, argv[1], NULL, &model, &diag);
    if (!status && argc == 3) list_values(onx_model_graph(model));
    if (!status && argc == 4) {
        status = onx_session_new(model, NULL, &session, &diag);
        if (!status) status = onx_data_load(NULL, argv[2], ONX_DATA_TENSOR, &data, &diag);
        if (!status) status = onx_arg_from_data(data, &in, &diag);
        if (!status) status = onx_session_run(session, 1, &in, 2, out, NULL, &diag);
        if (!status) describe(&out[1]);
    }
    for (int i = 0; i < 2; i++) onx_arg_clear(&out[i]);
    onx_arg_clear(&in);
    onx_data_free(data);
    onx_session_free(session);
    onx_model_free(model);
    if (status) fprintf(stderr, "watch_value: %s %s\n", diag.file, diag.message);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
