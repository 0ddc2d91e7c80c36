/* cmd_ops.c: onx ops: the operators that onx knows; those that a model needs, also as a table to
 * link. */
#include "ops.h"

#include <stdlib.h>
#include <string.h>

enum { OPTION_MODEL, OPTION_JSON, OPTION_EMIT };
static const cli_option options[] = {
    {"model", 0, "MODEL", "the operators that this model needs"},
    {"json", 0, NULL, "as JSON"},
    {"emit-table", 0, "FILE",
     "write the C source of a table with only the operator families that the model\n"
     "needs: a static program that links it before libonx.a is small"},
    {NULL, 0, NULL, NULL}};

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in one domain. */
static int list_domain(const char *domain) {
    const char *names[4096], *last = "";
    size_t n = 0;
    onx_op_info op;
    for (size_t i = 0; onx_op_info_at(i, &op); i++) {
        if (strcmp(op.domain, domain) != 0 || strcmp(op.name, last) == 0) continue;
        if (n < CLI_COUNT(names)) names[n++] = op.name;
        last = op.name;
    }
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++)
        if (!i || strcmp(names[i], names[i - 1]) != 0)
            printf("%s%s%s\n", domain, domain[0] ? "::" : "", names[i]);
    return CLI_OK;
}

static int list(void) {
    const char *domains[64] = {""};
    size_t n = 1, known;
    onx_op_info op;
    for (size_t i = 0; onx_op_info_at(i, &op); i++) {
        for (known = 0; known < n && strcmp(domains[known], op.domain) != 0;) known++;
        bool internal = strcmp(op.domain, "onx.internal") == 0;
        if (known == n && !internal && n < CLI_COUNT(domains)) domains[n++] = op.domain;
    }
    qsort(domains, n, sizeof *domains, by_text);
    for (size_t i = 0; i < n; i++) list_domain(domains[i]);
    return CLI_OK;
}

/* A name without a domain means ai.onnx or, if there is none, whichever domain has it. */
static const char *domain_of(const char *name) {
    onx_op_info op;
    const char *found = NULL;
    for (size_t i = 0; onx_op_info_at(i, &op); i++)
        if (strcmp(op.name, name) == 0 && strcmp(op.domain, "onx.internal") != 0 &&
            (!found || !op.domain[0]))
            found = op.domain;
    return found ? found : "";
}

/* [DOMAIN::]NAME[@VERSION]; `text` is taken apart. */
static int show_one(char *text, bool as_json) {
    char *name = strstr(text, "::"), *at = strrchr(text, '@'), *end = at;
    onx_diag diag = ONX_INIT(onx_diag);
    const onx_schema *schema = NULL;
    long long version = at ? strtoll(at + 1, &end, 10) : 0;
    if (at && (*end || version <= 0 || end == at + 1))
        return cli_usage(&cli_ops, "'%s' is not a version", at + 1);
    if (at) *at = '\0';
    if (name) *name = '\0', name += 2;
    const char *domain = name ? text : domain_of(text);
    if (onx_schema_find(cli_context(), domain, name ? name : text, version, &schema, &diag) !=
        ONX_OK)
        return cli_fail(&cli_ops, &diag);
    (as_json ? ops_json : ops_show)(schema);
    onx_schema_free(schema);
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
    bool as_json = args->values[OPTION_JSON] != NULL;
    if (table && !path) return cli_usage(&cli_ops, "--emit-table needs --model");
    if (path && args->n_files) return cli_usage(&cli_ops, "name an operator or a model, not both");
    if (!path && args->n_files) return show_one(args->files[0], as_json);
    if (!path) return as_json ? ops_json_all() : list();
    onx_model *model = NULL;
    onx_diag lenient = ONX_INIT(onx_diag);
    int status = cli_load(&cli_ops, path, ONX_FORMAT_AUTO, table ? NULL : &lenient, &model);
    if (status != CLI_OK) return status;
    status = table ? emit(model, table) : ops_model(model, as_json);
    onx_model_free(model);
    return status;
}

const cli_command cli_ops = {
    "ops",
    "[[DOMAIN::]NAME[@VERSION] | --model MODEL] [OPTIONS]",
    "operators that onx knows, or that a model needs",
    "Lists the operators that onx knows. With NAME, the schema of the newest version of that "
    "operator, or of\nthe one that counts in opset VERSION: inputs, outputs, attributes, types, "
    "its body if it is a\nfunction, and whether it can be run. With --model, the operators that a "
    "model needs: how often, in\nwhich version, and which of them onx does not know or cannot run.",
    options,
    0,
    1,
    run,
};
