/* cmd_extract.c: onx extract: the part of a model between some of its values. */
#include "edit.h"

enum { EXTRACT_INPUTS = EDIT_OWN, EXTRACT_OUTPUTS };
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"inputs", 0, "NAMES", "values that become the inputs, with commas between them"},
    {"outputs", 0, "NAMES", "values that become the outputs"},
    {NULL, 0, NULL, NULL},
};

static int extract(const cli_args *args, const edit_list *inputs, const edit_list *outputs) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_extract_options what = ONX_INIT(onx_extract_options);
    onx_model *model, *part = NULL;
    int status = edit_load(args, args->files[0], &model);
    if (status != CLI_OK) return status;
    what.n_inputs = inputs->n;
    what.inputs = inputs->v;
    what.n_outputs = outputs->n;
    what.outputs = outputs->v;
    if (onx_model_extract(model, &what, &part, &diag))
        status = cli_fail(args->command, &diag);
    else
        status = edit_save(args, part);
    onx_model_free(part);
    onx_model_free(model);
    return status;
}

static int run(const cli_args *args) {
    edit_list inputs = {0}, outputs = {0};
    int status = edit_check(args);
    if (status != CLI_OK) return status;
    bool ok = edit_list_get(args, EXTRACT_INPUTS, &inputs) &&
              edit_list_get(args, EXTRACT_OUTPUTS, &outputs);
    status = ok ? extract(args, &inputs, &outputs) : CLI_BAD;
    edit_list_free(&inputs);
    edit_list_free(&outputs);
    return status;
}

const cli_command cli_extract = {
    "extract",
    "[--inputs NAMES] [--outputs NAMES] MODEL -o OUT",
    "the part of a model between some of its values, as a model",
    "The values may be any of the main graph. Without --inputs the part has those inputs of MODEL "
    "that\n"
    "it needs; without --outputs it has all outputs. Nodes, initializers, functions and opset "
    "imports\n"
    "that are not needed stay behind; types that are not declared are inferred. When the outputs "
    "need\n"
    "more than the inputs given, the message shows the way to what is missing.",
    options,
    1,
    1,
    run,
};
