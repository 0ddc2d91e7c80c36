/* cmd_info.c: onx info: what is in a model, for people. info_json.c says the same to programs. */
#include "info_json.h"
#include "survey.h"

#include <stdlib.h>
#include <string.h>

enum { INFO_JSON, INFO_FROM };
static const cli_option options[] = {
    {"json", 0, NULL, "write a JSON document"},
    {"from", 0, "FORMAT", "format of the models, if their names do not tell"},
    {NULL, 0, NULL, NULL},
};

static void put_key(const char *key) {
    printf("  %-15s ", key);
}

static void put_line(const char *key, const char *text) {
    if (!*text) return;
    put_key(key);
    cli_puts(stdout, text);
    putchar('\n');
}

/* The first line of a text that may have many. */
static void put_first_line(const char *text) {
    size_t n = strcspn(text, "\n");
    cli_put(stdout, (onx_str){text, n});
    puts(text[n] ? " …" : "");
}

static void put_opsets(const onx_model *m) {
    const onx_opset *first = onx_model_opset_first(m);
    put_key("opsets");
    for (const onx_opset *o = first; o; o = onx_opset_next(o)) {
        const char *domain = onx_opset_domain(o);
        fputs(o == first ? "" : ", ", stdout);
        cli_puts(stdout, *domain ? domain : "ai.onnx");
        printf(" %lld", (long long)onx_opset_version(o));
    }
    puts(first ? "" : "none");
}

static void put_head(const survey *s) {
    const onx_model *m = s->model;
    char version[32] = "";
    put_key("IR version");
    printf("%lld\n", (long long)onx_model_ir_version(m));
    put_opsets(m);
    if (*onx_model_producer(m)) {
        put_key("producer");
        cli_puts(stdout, onx_model_producer(m));
        fputs(*onx_model_producer_version(m) ? " " : "", stdout);
        cli_puts(stdout, onx_model_producer_version(m));
        putchar('\n');
    }
    put_line("domain", onx_model_domain(m));
    if (onx_model_version(m))
        snprintf(version, sizeof version, "%lld", (long long)onx_model_version(m));
    put_line("model version", version);
    if (*onx_model_doc(m)) put_key("doc"), put_first_line(onx_model_doc(m));
    const onx_entry *meta = onx_model_meta_first(m);
    for (const onx_entry *e = meta; e; e = onx_entry_next(e)) {
        put_key(e == meta ? "metadata" : "");
        cli_puts(stdout, onx_entry_key(e));
        fputs(": ", stdout);
        put_first_line(onx_entry_value(e));
    }
}

static void put_value(const char *key, const onx_value *v) {
    if (!v) return;
    put_key(key);
    cli_puts(stdout, onx_value_name(v));
    char *type = cli_type(onx_value_type(v));
    fputs(type && *type ? ": " : "", stdout);
    if (type) cli_puts(stdout, type);
    putchar('\n');
    free(type);
}

/* An initializer gives an input a value that callers may override. */
static void put_inputs(const onx_graph *g, const char *key, bool overridable) {
    for (size_t i = 0, shown = 0; i < onx_graph_input_count(g); i++) {
        const onx_value *v = onx_graph_input(g, i);
        if (!v || (onx_value_initializer(v) != NULL) != overridable) continue;
        put_value(shown++ ? "" : key, v);
    }
}

static void put_graph(const survey *s) {
    const onx_graph *g = onx_model_graph(s->model);
    if (!g) {
        put_line("graph", "none");
        return;
    }
    put_line("graph", onx_graph_name(g));
    put_inputs(g, "inputs", false);
    put_inputs(g, "overridable", true);
    for (size_t i = 0; i < onx_graph_output_count(g); i++)
        put_value(i ? "" : "outputs", onx_graph_output(g, i));
    put_key("nodes");
    printf("%s", cli_count(s->graph_nodes).s);
    if (s->subgraphs)
        printf(" and %s in %s subgraph%s", cli_count(s->sub_nodes).s, cli_count(s->subgraphs).s,
               cli_plural(s->subgraphs));
    if (s->functions)
        printf(" and %s in %s function%s", cli_count(s->function_nodes).s,
               cli_count(s->functions).s, cli_plural(s->functions));
    putchar('\n');
}

static void put_ops(const survey *s) {
    int width = s->n_ops ? (int)strlen(cli_count(s->ops[0].count).s) : 0; /* the largest is first */
    for (size_t i = 0; i < s->n_ops; i++) {
        const survey_op *op = &s->ops[i];
        put_key(i ? "" : "operators");
        printf("%*s ", width, cli_count(op->count).s);
        cli_puts(stdout, op->domain);
        fputs(*op->domain ? "::" : "", stdout);
        cli_puts(stdout, op->op);
        fputs(*op->overload ? ":" : "", stdout);
        cli_puts(stdout, op->overload);
        puts(op->is_function ? " (function)" : "");
    }
}

static void put_total(const char *key, const survey_total *t, const char *dtype) {
    if (t->tensors == 0) return;
    put_key(key);
    printf("%s%s%s in %s tensor%s", cli_count(t->elements).s, *dtype ? " " : "", dtype,
           cli_count(t->tensors).s, cli_plural(t->tensors));
    if (t->bytes || t->elements == 0)
        printf(", %s", cli_bytes(t->bytes).s); /* strings have no size */
    putchar('\n');
}

static void put_data(const survey *s) {
    survey_total all = {s->inside.tensors + s->external.tensors,
                        s->inside.elements + s->external.elements,
                        s->inside.bytes + s->external.bytes};
    const char *only = "";
    for (int i = 0; i < ONX_DTYPE_COUNT; i++)
        if (s->types[i].tensors == all.tensors) only = onx_dtype_name((onx_dtype)i);
    put_total("parameters", &all, only);
    for (int i = 0; i < ONX_DTYPE_COUNT && !*only; i++)
        put_total("", &s->types[i], onx_dtype_name((onx_dtype)i));
    if (s->external.tensors) put_total("  in the model", &s->inside, "");
    put_total("  external", &s->external, "");
    put_total("constants", &s->constants, "");
    if (s->sparse) put_line("sparse", cli_count(s->sparse).s);
}

static void put_file(const survey_file *f, bool first) {
    put_key(first ? "external files" : "");
    cli_puts(stdout, f->location);
    printf(": %s", survey_state_name(f->state));
    if (f->state == SURVEY_COMPLETE) printf(", %s", cli_bytes(f->size).s);
    if (f->state == SURVEY_CUT)
        printf(", has %s of %s", cli_bytes(f->size).s, cli_bytes(f->needed).s);
    printf(" (%s tensor%s)\n", cli_count(f->tensors).s, cli_plural(f->tensors));
}

static void put_functions(const onx_model *m) {
    const char *key = "functions";
    for (const onx_function *f = onx_model_function_first(m); f;
         f = onx_function_next(f), key = "") {
        put_key(key);
        cli_puts(stdout, onx_function_domain(f));
        fputs("::", stdout);
        cli_puts(stdout, onx_function_name(f));
        fputs(*onx_function_overload(f) ? ":" : "", stdout);
        cli_puts(stdout, onx_function_overload(f));
        size_t nodes = onx_graph_node_count(onx_function_body(f));
        printf(" (%s node%s)\n", cli_count(nodes).s, cli_plural(nodes));
    }
}

static void put_note(const char *what, const onx_diag *diag) {
    put_key("note");
    puts(what);
    put_line(" ", diag->place);
    put_line(" ", diag->message);
    put_line(" ", diag->hint);
}

static void put_notes(const survey *s) {
    char what[320] = "one tensor has no valid data:";
    if (s->bad_tensors > 1)
        snprintf(what, sizeof what,
                 "%s tensors have no valid data; the first:", cli_count(s->bad_tensors).s);
    if (s->external_error.status) put_note("the external data cannot be used:", &s->external_error);
    if (s->bad_tensors) put_note(what, &s->bad);
}

static void put_survey(const survey *s) {
    cli_puts(stdout, cli_is_stdio(s->path) ? "standard input" : s->path);
    if (s->size) printf(": %s", cli_bytes(s->size).s);
    if (s->format != ONX_FORMAT_AUTO) printf(", %s", onx_format_name(s->format));
    putchar('\n');
    put_head(s);
    put_graph(s);
    put_ops(s);
    put_data(s);
    for (size_t i = 0; i < s->n_files; i++) put_file(&s->files[i], i == 0);
    put_functions(s->model);
    if (onx_model_training_count(s->model))
        put_line("training", cli_count(onx_model_training_count(s->model)).s);
    for (const onx_device *d = onx_model_device_first(s->model); d; d = onx_device_next(d))
        put_line("device", onx_device_name(d));
    put_notes(s);
}

static int show(const cli_args *args, const char *path, onx_format format, bool *shown) {
    onx_model *model;
    survey s = {.path = path, .format = format};
    int status = cli_load(args->command, path, format, &s.external_error, &model);
    if (status != CLI_OK) return status;
    s.model = model;
    if (format == ONX_FORMAT_AUTO) s.format = onx_format_from_path(path);
    if (survey_make(&s)) {
        bool json = args->values[INFO_JSON] != NULL;
        if (*shown && !json) putchar('\n');
        *shown = true;
        if (json)
            info_json(&s);
        else
            put_survey(&s);
    } else {
        onx_diag diag = {.size = sizeof diag, .status = ONX_NO_MEMORY, .offset = -1};
        status = cli_fail(args->command, &diag);
    }
    survey_free(&s);
    onx_model_free(model);
    return status;
}

static int run(const cli_args *args) {
    onx_format format = ONX_FORMAT_AUTO;
    int worst = CLI_OK;
    bool shown = false;
    if (!cli_get_format(args, INFO_FROM, &format)) return CLI_USAGE;
    for (size_t i = 0; i < args->n_files; i++) {
        int status = show(args, args->files[i], format, &shown);
        if (status > worst) worst = status;
    }
    return worst;
}

const cli_command cli_info = {
    "info",
    "[--json] MODEL...",
    "what is in a model: versions, inputs and outputs, operators, parameters",
    "Shows what is in a model: versions, inputs and outputs with their types, operators with how "
    "often\n"
    "each occurs, parameters by element type, external files and whether they are all there. Reads "
    "the\n"
    "structure only, so the size of the weights does not matter. External data may be missing.\n"
    "MODEL is a file in any format, or - for standard input. With --json, one document for each "
    "model.",
    options,
    1,
    SIZE_MAX,
    run,
};
