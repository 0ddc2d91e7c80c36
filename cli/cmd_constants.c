/* cmd_constants.c: onx constants: where the constants of a model stand. */
#include "edit.h"

enum { CONSTANTS_FIRST = EDIT_OWN };
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"to-initializers", 0, NULL, "Constant nodes become initializers"},
    {"to-nodes", 0, NULL, "initializers that are no inputs become Constant nodes"},
    {"to-inputs", 0, NULL, "initializers become inputs with a default, too"},
    {"fixed", 0, NULL, "inputs with a default are no inputs any more"},
    {NULL, 0, NULL, NULL},
};

/* In the order of the options. */
static const onx_constants places[] = {ONX_CONSTANTS_INITIALIZERS, ONX_CONSTANTS_NODES,
                                       ONX_CONSTANTS_INPUTS, ONX_CONSTANTS_FIXED};

static int run(const cli_args *args) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model;
    size_t given = 0, which = 0, count = 0;
    int status = edit_check(args);
    if (status != CLI_OK) return status;
    for (size_t i = 0; i < CLI_COUNT(places); i++)
        if (args->values[CONSTANTS_FIRST + i]) which = i, given++;
    if (given != 1)
        return cli_usage(args->command,
                         "one of --to-initializers, --to-nodes, --to-inputs and --fixed");
    status = edit_load(args, args->files[0], &model);
    if (status != CLI_OK) return status;
    if (onx_model_move_constants(model, places[which], &count, &diag)) {
        status = cli_fail(args->command, &diag);
    } else {
        cli_note(args->command, "%zu constant%s moved", count, cli_plural(count));
        status = edit_save(args, model);
    }
    onx_model_free(model);
    return status;
}

const cli_command cli_constants = {
    "constants",
    "--to-initializers|--to-nodes|--to-inputs|--fixed MODEL -o OUT",
    "where constants stand: in nodes, as initializers, as inputs with a default",
    "Values keep their names. Subgraphs are gone into; functions, which cannot have initializers, "
    "are\n"
    "not. A Constant that is an output of its graph stays. --to-inputs lets callers replace "
    "weights,\n"
    "--fixed ends that, which lets programs fold and pack them.",
    options,
    1,
    1,
    run,
};
