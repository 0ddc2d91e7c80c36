/* cmd_strip.c: onx strip: a model without what its results do not depend on. */
#include "edit.h"

enum { STRIP_FIRST = EDIT_OWN };
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"docs", 0, NULL, "doc strings of the model, its graphs, nodes, values, tensors, functions"},
    {"metadata", 0, NULL, "metadata of all of these"},
    {"names", 0, NULL, "names of nodes"},
    {"value-info", 0, NULL, "declared types, but for inputs and outputs"},
    {"unused", 0, NULL, "nodes, initializers, functions, opsets that no output needs"},
    {"producer", 0, NULL, "who made the model, its domain and its version"},
    {"all", 0, NULL, "all of the above"},
    {"inputs", 0, NULL, "inputs that no output needs, and --unused"},
    {"training", 0, NULL, "training information"},
    {NULL, 0, NULL, NULL},
};
/* In the order of the options. */
static const unsigned parts[] = {ONX_STRIP_DOCS,  ONX_STRIP_METADATA, ONX_STRIP_NAMES,
                                 ONX_STRIP_TYPES, ONX_STRIP_UNUSED,   ONX_STRIP_PRODUCER,
                                 ONX_STRIP_ALL,   ONX_STRIP_INPUTS,   ONX_STRIP_TRAINING};

static void note(size_t n, const char *one, const char *many, bool *first) {
    if (!n) return;
    fprintf(stderr, "%s%s %s", *first ? "" : ", ", cli_count(n).s, n == 1 ? one : many);
    *first = false;
}

static void tell(const cli_command *command, const onx_stripped *s) {
    bool first = true;
    fprintf(stderr, "onx %s: removed ", command->name);
    note(s->docs, "doc string", "doc strings", &first);
    note(s->metadata, "metadata entry", "metadata entries", &first);
    note(s->names, "node name", "node names", &first);
    note(s->types, "declared type", "declared types", &first);
    note(s->nodes, "node", "nodes", &first);
    note(s->initializers, "initializer", "initializers", &first);
    note(s->inputs, "input", "inputs", &first);
    note(s->functions, "function", "functions", &first);
    note(s->opsets, "opset import", "opset imports", &first);
    note(s->producer, "field of the producer", "fields of the producer", &first);
    note(s->training, "training step", "training steps", &first);
    if (first) fputs("nothing", stderr);
    if (s->bytes_before >= s->bytes_after && s->bytes_after)
        fprintf(stderr, ": %s of %s less", cli_bytes(s->bytes_before - s->bytes_after).s,
                cli_bytes(s->bytes_before).s);
    fputc('\n', stderr);
}

static int run(const cli_args *args) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_stripped counts = ONX_INIT(onx_stripped);
    onx_model *model;
    unsigned what = 0;
    int status = edit_check(args);
    if (status != CLI_OK) return status;
    for (size_t i = 0; i < CLI_COUNT(parts); i++)
        if (args->values[STRIP_FIRST + i]) what |= parts[i];
    if (!what) return cli_usage(args->command, "what should go? --docs, --unused, ... or --all");
    status = edit_load(args, args->files[0], &model);
    if (status != CLI_OK) return status;
    if (onx_model_strip(model, what, &counts, &diag)) {
        status = cli_fail(args->command, &diag);
    } else {
        status = edit_save(args, model);
        if (status == CLI_OK) tell(args->command, &counts);
    }
    onx_model_free(model);
    return status;
}

const cli_command cli_strip = {
    "strip",
    "[OPTIONS] MODEL -o OUT",
    "a model without what its results do not depend on",
    "Says on standard error what was removed. Inputs and outputs stay as they are, with their "
    "names,\n"
    "unless --inputs is given.",
    options,
    1,
    1,
    run,
};
