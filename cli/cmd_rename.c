/* cmd_rename.c: onx rename: new names for what has one in a model. */
#include "edit.h"

#include <stdlib.h>

enum { RENAME_PREFIX = EDIT_OWN, RENAME_KINDS };
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"prefix", 0, "TEXT", "put TEXT before every name that no OLD=NEW is about"},
    {"inputs", 0, NULL, "names of inputs of the model"},
    {"outputs", 0, NULL, "of its outputs"},
    {"initializers", 0, NULL, "of initializers"},
    {"values", 0, NULL, "of all other values, and those of subgraphs"},
    {"nodes", 0, NULL, "of nodes"},
    {"functions", 0, NULL, "of functions"},
    {"dims", 0, NULL, "of symbolic dimensions"},
    {"graphs", 0, NULL, "of the graph and its subgraphs"},
    {"all", 0, NULL, "of values of all kinds, nodes and functions"},
    {NULL, 0, NULL, NULL},
};
/* Beside the options from --inputs on. */
static const unsigned kinds[] = {
    ONX_NAMES_INPUTS, ONX_NAMES_OUTPUTS, ONX_NAMES_INITIALIZERS,
    ONX_NAMES_VALUES, ONX_NAMES_NODES,   ONX_NAMES_FUNCTIONS,
    ONX_NAMES_DIMS,   ONX_NAMES_GRAPHS,  ONX_NAMES_ALL,
};

static int rename_all(const cli_args *args, const onx_rename_options *how) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model;
    int status = edit_load(args, args->files[0], &model);
    if (status != CLI_OK) return status;
    status = onx_model_rename(model, how, &diag) ? cli_fail(args->command, &diag)
                                                 : edit_save(args, model);
    onx_model_free(model);
    return status;
}

static int run(const cli_args *args) {
    onx_rename_options how = ONX_INIT(onx_rename_options);
    int status = edit_check(args);
    if (status != CLI_OK) return status;
    how.prefix = args->values[RENAME_PREFIX];
    how.n_pairs = args->n_files - 1;
    if (!how.n_pairs && !how.prefix) return cli_usage(args->command, "no OLD=NEW, no --prefix");
    for (size_t i = 0; i < CLI_COUNT(kinds); i++)
        if (args->values[RENAME_KINDS + i]) how.what |= kinds[i];
    if (!how.what && how.prefix) how.what = ONX_NAMES_ALL;
    onx_name_pair *pairs = calloc(how.n_pairs + 1, sizeof *pairs);
    if (!pairs) return cli_no_memory(args->command);
    for (size_t i = 0; i < how.n_pairs && status == CLI_OK; i++) {
        pairs[i].from = args->files[i + 1];
        pairs[i].to = edit_split(args->files[i + 1], '=');
        if (!pairs[i].to) status = cli_usage(args->command, "'%s' is no OLD=NEW", pairs[i].from);
    }
    how.pairs = pairs;
    if (status == CLI_OK) status = rename_all(args, &how);
    free(pairs);
    return status;
}

const cli_command cli_rename = {
    "rename",
    "[OPTIONS] MODEL [OLD=NEW ...] -o OUT",
    "new names for values, nodes, functions and dimensions of a model",
    "Names change wherever they are written, all at once: a=b b=a exchanges two. A star stands for "
    "any\n"
    "text: 'encoder.*=enc.*'. OLD=NEW is about values of all kinds, --prefix about values, nodes "
    "and\n"
    "functions, unless options say what else. A name that is taken is refused, and nothing is "
    "written.",
    options,
    1,
    SIZE_MAX,
    run,
};
