/* cmd_ops.c: onx ops: the operators that onx knows; those that a model needs, as a table to
 * link. */
#include "cli.h"

#include <string.h>

enum { OPTION_MODEL, OPTION_EMIT };
static const cli_option options[] = {
    {"model", 0, "MODEL", "the operators of this model"},
    {"emit-table", 0, "FILE",
     "write the C source of a table with only the operator families that the model\n"
     "needs: a static program that links it before libonx.a is small"},
    {NULL, 0, NULL, NULL}};

static void show(const onx_op_info *op) {
    printf("%s%s%s-%lld  %s\n", op->domain, op->domain[0] ? "::" : "", op->name,
           (long long)op->since, op->signature);
}

static int list(const cli_args *args) {
    onx_op_info op;
    size_t shown = 0;
    const char *last = "";
    for (size_t i = 0; onx_op_info_at(i, &op); i++) {
        if (strcmp(op.domain, "onx.internal") == 0) continue;
        if (args->n_files && strcmp(op.name, args->files[0]) != 0) continue;
        if (args->n_files)
            show(&op);
        else if (strcmp(op.name, last) != 0)
            printf("%s%s%s\n", op.domain, op.domain[0] ? "::" : "", op.name);
        last = op.name;
        shown++;
    }
    if (shown) return CLI_OK;
    fprintf(stderr, "onx ops: there is no operator '%s'\n", args->n_files ? args->files[0] : "");
    return CLI_BAD;
}

static bool is_known(const onx_node *node, const char *const *seen, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(seen[i], onx_node_op(node)) == 0) return true;
    return false;
}

/* Each operator once, in the order of their first use. */
static int list_model(const onx_model *model) {
    enum { MOST = 512 };
    const char *seen[MOST];
    size_t n = 0;
    const onx_graph *root = onx_model_graph(model);
    for (onx_graph *g = cli_graph_next(root, NULL); g; g = cli_graph_next(root, g))
        for (onx_node *node = onx_graph_node_first(g); node; node = onx_node_next(node)) {
            if (n == MOST || is_known(node, seen, n)) continue;
            const char *domain = onx_node_domain(node);
            printf("%s%s%s\n", domain, domain[0] ? "::" : "", onx_node_op(node));
            seen[n++] = onx_node_op(node);
        }
    return CLI_OK;
}

static int write_file(void *user, const void *data, size_t size) {
    return fwrite(data, 1, size, user) == size ? 0 : -1;
}

static int emit(const onx_model *model, const char *path) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session = NULL;
    FILE *file = cli_is_stdio(path) ? stdout : fopen(path, "w");
    if (!file) {
        fprintf(stderr, "onx ops: %s cannot be written\n", path);
        return CLI_BAD;
    }
    onx_writer writer = {file, write_file};
    onx_status status = onx_session_new(model, NULL, &session, &diag);
    if (status == ONX_OK) status = onx_session_table(session, &writer, &diag);
    onx_session_free(session);
    bool closed = file == stdout || fclose(file) == 0;
    if (status != ONX_OK) return cli_fail(&cli_ops, &diag);
    if (!closed) fprintf(stderr, "onx ops: %s could not be written\n", path);
    return closed ? CLI_OK : CLI_BAD;
}

static int run(const cli_args *args) {
    const char *path = args->values[OPTION_MODEL], *table = args->values[OPTION_EMIT];
    if (table && !path) return cli_usage(&cli_ops, "--emit-table needs --model");
    if (path && args->n_files) return cli_usage(&cli_ops, "name an operator or a model, not both");
    if (!path) return list(args);
    onx_model *model = NULL;
    int status = cli_load(&cli_ops, path, ONX_FORMAT_AUTO, NULL, &model);
    if (status != CLI_OK) return status;
    status = table ? emit(model, table) : list_model(model);
    onx_model_free(model);
    return status;
}

const cli_command cli_ops = {
    "ops",
    "[NAME | --model MODEL] [--emit-table FILE]",
    "operators that onx knows, or that a model uses",
    "Lists the operators that onx can run; with NAME, every version of that operator: inputs, "
    "outputs,\nattributes and types. With --model, the operators of a model.",
    options,
    0,
    1,
    run,
};
