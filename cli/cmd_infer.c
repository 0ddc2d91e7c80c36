/* cmd_infer.c: onx infer: types and shapes of the values of a model, with symbolic sizes; written
 * into a copy of it; and why a size is not known. */
#include "json.h"
#include "sizes.h"

#include <stdlib.h>
#include <string.h>

enum { INFER_OUT, INFER_TO, INFER_SET, INFER_STRICT, INFER_WHY, INFER_ALL, INFER_JSON, INFER_FROM };
static const cli_option options[] = {
    {"output", 'o', "OUT", "write the model with the types that were inferred"},
    {"to", 0, "FORMAT", "format of OUT, if its name does not tell"},
    {"set", 0, "DIM=N", "size of a symbolic dimension; may be given many times"},
    {"strict", 0, NULL, "fail where a node cannot be right, or a declared type is wrong"},
    {"why", 0, "NAME", "why sizes of this value are not known; may be given many times"},
    {"all", 0, NULL, "show every value, not only inputs and outputs"},
    {"json", 0, NULL, "as a JSON document, with every value"},
    {"from", 0, "FORMAT", "format of MODEL, if its name does not tell"},
    {NULL, 0, NULL, NULL},
};

typedef struct count {                            /* of sizes, and of values without them */
    uint64_t values, untyped, unranked, sizes[3]; /* by onx_extent_kind */
} count;

typedef struct work {
    const cli_args *args;
    onx_model *model;
    onx_inference *inference;
    uint64_t problems;
    json *report; /* where problems go; NULL: to stderr */
} work;

/* A text of the library, to be freed; NULL when memory ran out. */
typedef size_t ask(const onx_inference *inference, const onx_value *value, size_t index, char *out,
                   size_t size);
static char *text_of(const work *w, ask *get, const onx_value *value, size_t index) {
    size_t n = get(w->inference, value, index, NULL, 0);
    char *text = malloc(n + 1);
    if (text) get(w->inference, value, index, text, n + 1);
    return text;
}
static size_t ask_type(const onx_inference *inference, const onx_value *value, size_t index,
                       char *out, size_t size) {
    (void)index;
    return onx_inference_type(inference, value, out, size);
}
static size_t ask_elements(const onx_inference *inference, const onx_value *value, size_t index,
                           char *out, size_t size) {
    (void)index;
    return onx_inference_elements(inference, value, out, size);
}

/* ── All values ──────────────────────────────────────────────────────────────────────────────── */

typedef void visit(const work *w, const onx_value *value, void *user);

/* Inputs and what nodes compute, graph by graph. */
static void each_value(const work *w, visit *call, void *user) {
    const onx_graph *root = onx_model_graph(w->model);
    for (const onx_graph *g = root; g; g = cli_graph_next(root, g)) {
        for (size_t i = 0; i < onx_graph_input_count(g); i++)
            if (onx_graph_input(g, i)) call(w, onx_graph_input(g, i), user);
        for (const onx_node *n = onx_graph_node_first(g); n; n = onx_node_next(n))
            for (size_t i = 0; i < onx_node_output_count(n); i++)
                if (onx_node_output(n, i)) call(w, onx_node_output(n, i), user);
    }
}

static void count_value(const work *w, const onx_value *value, void *user) {
    count *c = user;
    onx_type_kind kind = onx_inference_kind(w->inference, value);
    if (!onx_value_node(value)) return;
    c->values++;
    c->untyped += kind == ONX_TYPE_NONE;
    c->unranked += kind == ONX_TYPE_TENSOR && !onx_inference_has_shape(w->inference, value);
    for (size_t i = 0; i < onx_inference_rank(w->inference, value); i++)
        c->sizes[onx_inference_dim_kind(w->inference, value, i)]++;
}

/* ── For people ──────────────────────────────────────────────────────────────────────────────── */

static void put_value(const work *w, const onx_value *value, void *user) {
    (void)user;
    char *type = text_of(w, ask_type, value, 0), *elements = text_of(w, ask_elements, value, 0);
    fputs("  ", stdout);
    cli_puts(stdout, onx_value_name(value));
    fputs(": ", stdout);
    if (type) cli_puts(stdout, type);
    if (elements && *elements && strlen(elements) < 60) {
        fputs(" = ", stdout);
        cli_puts(stdout, elements);
    }
    putchar('\n');
    free(type);
    free(elements);
}

static void put_counts(const count *c) {
    printf("%s value%s: %s size%s known, %s symbolic, %s unknown", cli_count(c->values).s,
           cli_plural(c->values), cli_count(c->sizes[ONX_EXTENT_NUMBER]).s,
           cli_plural(c->sizes[ONX_EXTENT_NUMBER]), cli_count(c->sizes[ONX_EXTENT_SYMBOLIC]).s,
           cli_count(c->sizes[ONX_EXTENT_UNKNOWN]).s);
    if (c->unranked) printf("; %s without a rank", cli_count(c->unranked).s);
    if (c->untyped) printf("; %s without a type", cli_count(c->untyped).s);
    putchar('\n');
}

static void put_table(const work *w) {
    const onx_graph *graph = onx_model_graph(w->model);
    count c = {0};
    if (w->args->values[INFER_ALL]) {
        puts("values");
        each_value(w, put_value, NULL);
    } else {
        puts("inputs");
        for (size_t i = 0; graph && i < onx_graph_input_count(graph); i++)
            if (onx_graph_input(graph, i)) put_value(w, onx_graph_input(graph, i), NULL);
        puts("outputs");
        for (size_t i = 0; graph && i < onx_graph_output_count(graph); i++)
            if (onx_graph_output(graph, i)) put_value(w, onx_graph_output(graph, i), NULL);
    }
    each_value(w, count_value, &c);
    put_counts(&c);
}

/* ── Why ─────────────────────────────────────────────────────────────────────────────────────── */

static const onx_value *find(const work *w, const char *name) {
    const onx_graph *root = onx_model_graph(w->model);
    for (const onx_graph *g = root; g; g = cli_graph_next(root, g)) {
        const onx_value *value = onx_graph_find(g, name);
        if (value) return value;
    }
    return NULL;
}

/* The lines about one dimension, or about all of the shape. False: there is nothing to say. */
static bool put_reason(const work *w, const onx_value *value, size_t index) {
    char *why = text_of(w, onx_inference_why, value, index);
    bool any = why && *why;
    if (any && index != SIZE_MAX) printf("    dimension %zu has ", index);
    for (const char *line = why; any && *line;) {
        size_t n = strcspn(line, "\n");
        if (line != why || index == SIZE_MAX) fputs("    ", stdout);
        cli_put(stdout, (onx_str){line, n});
        putchar('\n');
        line += line[n] ? n + 1 : n;
    }
    free(why);
    return any;
}

static int put_why(const work *w, const char *name) {
    const onx_value *value = find(w, name);
    if (!value) return cli_usage(w->args->command, "there is no value '%s'", name);
    put_value(w, value, NULL);
    bool any = put_reason(w, value, SIZE_MAX);
    for (size_t i = 0; i < onx_inference_rank(w->inference, value); i++)
        any |= put_reason(w, value, i);
    if (!any) puts("    all of it is known");
    return CLI_OK;
}

/* ── For programs ────────────────────────────────────────────────────────────────────────────── */

static void json_value(const work *w, const onx_value *value, void *user) {
    json *j = user;
    const onx_inference *inference = w->inference;
    char *type = text_of(w, ask_type, value, 0), *elements = text_of(w, ask_elements, value, 0);
    json_open(j, NULL, '{');
    json_string(j, "name", onx_value_name(value));
    json_string(j, "graph", onx_graph_name(onx_value_graph(value)));
    if (type) json_string(j, "type", type);
    if (onx_inference_dtype(inference, value))
        json_string(j, "dtype", onx_dtype_name(onx_inference_dtype(inference, value)));
    if (onx_inference_has_shape(inference, value)) {
        json_open(j, "shape", '[');
        for (size_t i = 0; i < onx_inference_rank(inference, value); i++) {
            onx_extent_kind kind = onx_inference_dim_kind(inference, value, i);
            char *text = text_of(w, onx_inference_dim_text, value, i);
            if (kind == ONX_EXTENT_NUMBER)
                json_number(j, NULL, onx_inference_dim(inference, value, i));
            else if (kind == ONX_EXTENT_SYMBOLIC && text)
                json_string(j, NULL, text);
            else
                json_null(j, NULL);
            free(text);
        }
        json_close(j);
    }
    if (elements && *elements) json_string(j, "elements", elements);
    json_close(j);
    free(type);
    free(elements);
}

static void json_counts(const work *w, json *j) {
    count c = {0};
    each_value(w, count_value, &c);
    json_size(j, "values_computed", c.values);
    json_size(j, "sizes_known", c.sizes[ONX_EXTENT_NUMBER]);
    json_size(j, "sizes_symbolic", c.sizes[ONX_EXTENT_SYMBOLIC]);
    json_size(j, "sizes_unknown", c.sizes[ONX_EXTENT_UNKNOWN]);
    json_size(j, "without_rank", c.unranked);
    json_size(j, "without_type", c.untyped);
}

static int json_why(const work *w, json *j) {
    const char *name;
    size_t at = 0;
    json_open(j, "why", '[');
    while ((name = cli_next_value(w->args, INFER_WHY, &at))) {
        const onx_value *value = find(w, name);
        if (!value) return cli_usage(w->args->command, "there is no value '%s'", name);
        for (size_t i = 0; i <= onx_inference_rank(w->inference, value); i++) {
            size_t index = i ? i - 1 : SIZE_MAX;
            char *why = text_of(w, onx_inference_why, value, index);
            if (why && *why) {
                json_open(j, NULL, '{');
                json_string(j, "name", name);
                if (i) json_size(j, "dimension", index);
                json_string(j, "why", why);
                json_close(j);
            }
            free(why);
        }
    }
    json_close(j);
    return CLI_OK;
}

static int put_json(const work *w, json *j) {
    int status = CLI_OK;
    json_open(j, "values", '[');
    each_value(w, json_value, j);
    json_close(j);
    if (w->args->values[INFER_WHY]) status = json_why(w, j);
    json_counts(w, j);
    return status;
}

/* ── The command ─────────────────────────────────────────────────────────────────────────────── */

static void hear(void *user, const onx_diag *diag) {
    work *w = user;
    w->problems++;
    if (!w->report) {
        cli_warn(w->args->command, "", diag);
        return;
    }
    json_open(w->report, NULL, '{');
    json_string(w->report, "place", diag->place);
    json_string(w->report, "message", diag->message);
    json_string(w->report, "hint", diag->hint);
    json_close(w->report);
}

static int show(const work *w) {
    const char *name;
    size_t at = 0;
    int status = CLI_OK;
    bool quiet = w->args->values[INFER_OUT] && !w->args->values[INFER_ALL];
    if (w->report) return put_json(w, w->report);
    if (!w->args->values[INFER_WHY] && !quiet) put_table(w);
    while (status == CLI_OK && (name = cli_next_value(w->args, INFER_WHY, &at)))
        status = put_why(w, name);
    return status;
}

static int save(const work *w, const onx_infer_options *how, onx_save_options *to) {
    const char *out = w->args->values[INFER_OUT];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_writer writer = cli_stdout();
    onx_infer_options again = *how;
    again.report = NULL; /* all has been said */
    onx_status status = onx_model_infer(w->model, &again, &diag);
    if (!status && cli_is_stdio(out)) status = onx_model_save_stream(w->model, &writer, to, &diag);
    if (!status && !cli_is_stdio(out)) status = onx_model_save(w->model, out, to, &diag);
    return status ? cli_fail(w->args->command, &diag) : CLI_OK;
}

static int infer(work *w, const onx_infer_options *how, onx_save_options *to) {
    onx_diag diag = ONX_INIT(onx_diag);
    if (w->report) json_open(w->report, "problems", '[');
    onx_status failed = onx_inference_new(w->model, how, &w->inference, &diag);
    if (w->report) json_close(w->report);
    int status = CLI_OK;
    if (failed) status = w->problems ? CLI_BAD : cli_fail(w->args->command, &diag);
    if (!failed) status = show(w);
    if (status == CLI_OK && w->args->values[INFER_OUT]) status = save(w, how, to);
    onx_inference_free(w->inference);
    return status;
}

static bool read_formats(const cli_args *args, onx_format *from, onx_save_options *to) {
    const char *out = args->values[INFER_OUT];
    if (out) to->format = onx_format_from_path(out);
    if (!cli_get_format(args, INFER_FROM, from) || !cli_get_format(args, INFER_TO, &to->format))
        return false;
    if (!out || to->format != ONX_FORMAT_AUTO) return true;
    cli_usage(args->command, "the name '%s' tells no format: use --to FORMAT", out);
    return false;
}

static int run(const cli_args *args) {
    onx_format from = ONX_FORMAT_AUTO;
    onx_save_options to = ONX_INIT(onx_save_options);
    onx_diag lenient = ONX_INIT(onx_diag);
    work w = {.args = args};
    cli_sizes sizes = {0};
    json j;
    if (!read_formats(args, &from, &to)) return CLI_USAGE;
    int status = cli_load(args->command, args->files[0], from, &lenient, &w.model);
    if (status != CLI_OK) return status;
    status = cli_sizes_read(args, INFER_SET, onx_model_graph(w.model), &sizes);
    onx_infer_options how = {.size = sizeof how,
                             .n_sizes = sizes.n,
                             .sizes = sizes.sizes,
                             .strict = args->values[INFER_STRICT] != NULL,
                             .report = hear,
                             .user = &w};
    if (status == CLI_OK && args->values[INFER_JSON]) {
        w.report = &j;
        json_begin(&j, stdout);
        json_open(&j, NULL, '{');
        json_string(&j, "model", args->files[0]);
    }
    if (status == CLI_OK) status = infer(&w, &how, &to);
    if (w.report) json_close(&j);
    cli_sizes_free(&sizes);
    onx_model_free(w.model);
    return status;
}

const cli_command cli_infer = {
    "infer",
    "[OPTIONS] MODEL",
    "types and shapes of a model's values, with symbolic sizes, and why one is not known",
    "Finds the types and shapes of all values of a model. Sizes are numbers, or expressions over "
    "the\n"
    "names that its inputs declare: float[batch,2*seq + 1]. A size that is not known has a name of "
    "its\n"
    "own, ?7, which is the same wherever that size is meant; --why tells which operator lost it, "
    "and\n"
    "why. Declared types fill in what cannot be inferred; where the two contradict each other, "
    "what is\n"
    "inferred stands, and a warning is given, as for nodes that cannot be right.\n"
    "With --output, writes the model with these types as value_info; sizes that are not known have "
    "no\n"
    "name there, and those of --set are numbers. MODEL may be - for standard input, OUT - for "
    "standard\n"
    "output (with --to). External data may be missing.",
    options,
    1,
    1,
    run,
};
