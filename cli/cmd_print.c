/* cmd_print.c: onx print: a listing of a model, to be read on a terminal. */
#include "cli.h"

enum { PRINT_GRAPH, PRINT_ALL, PRINT_MAX, PRINT_WIDTH, PRINT_COLOUR, PRINT_PLAIN, PRINT_FROM };
static const cli_option options[] = {
    {"graph", 0, "NAME", "only the graphs and functions of this name"},
    {"all", 0, NULL, "all elements of constants, and whole strings"},
    {"max-elements", 0, "N", "elements of a constant to show (8)"},
    {"width", 0, "N", "fold lines to N columns; 0: do not (the terminal's width)"},
    {"color", 0, NULL, "in colour even if the output is no terminal"},
    {"no-color", 0, NULL, "without colour"},
    {"from", 0, "FORMAT", "format of the model, if its name does not tell"},
    {NULL, 0, NULL, NULL},
};

static int print_model(const cli_args *args, const onx_model *model, const onx_print_options *how) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_writer writer = cli_stdout();
    onx_status status = onx_model_print(model, &writer, how, &diag);
    if (status == ONX_OK) return CLI_OK;
    if (status == ONX_IO) return CLI_BAD; /* cli_finish tells */
    return cli_fail(args->command, &diag);
}

static int run(const cli_args *args) {
    onx_format format = ONX_FORMAT_AUTO;
    uint64_t max = 0, width = cli_width();
    if (!cli_get_format(args, PRINT_FROM, &format) || !cli_get_number(args, PRINT_MAX, &max) ||
        !cli_get_number(args, PRINT_WIDTH, &width))
        return CLI_USAGE;
    onx_print_options how = ONX_INIT(onx_print_options);
    how.graph = args->values[PRINT_GRAPH];
    how.max_elements = args->values[PRINT_ALL] ? SIZE_MAX : (size_t)max;
    how.width = (size_t)width;
    how.colour =
        args->values[PRINT_COLOUR] || (cli_wants_colour(stdout) && !args->values[PRINT_PLAIN]);
    onx_model *model;
    onx_diag external = ONX_INIT(onx_diag);
    int status = cli_load(args->command, args->files[0], format, &external, &model);
    if (status != CLI_OK) return status;
    if (external.status) cli_warn(args->command, "without external data: ", &external);
    status = print_model(args, model, &how);
    onx_model_free(model);
    return status;
}

const cli_command cli_print = {
    "print",
    "[OPTIONS] MODEL",
    "a listing of a model, to be read by people",
    "Lists a model: inputs and outputs, initializers with their first elements, the nodes one by "
    "one\n"
    "with the types that are declared, subgraphs below their node, then functions. Small "
    "constants\n"
    "stand where they are used. The listing does not say everything and is not meant to be parsed: "
    "for\n"
    "text that can be edited and read back, convert to .onnxtxt.",
    options,
    1,
    1,
    run,
};
