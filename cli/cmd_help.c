/* cmd_help.c: onx help: the commands, or one of them. */
#include "cli.h"

enum { HELP_LIST };
static const cli_option options[] = {
    {"list-options", 0, NULL,
     "only the names of the options, one to a line (for shell completion)"},
    {NULL, 0, NULL, NULL},
};

static void put_overview(void) {
    printf("usage: onx COMMAND [OPTIONS] ...\n\n"
           "onx reads, shows, writes and runs ONNX models.\n\ncommands:\n");
    const cli_command *c;
    for (size_t i = 0; (c = cli_command_at(i)); i++) printf("  %-9s %s\n", c->name, c->summary);
    printf("\n'onx help COMMAND' or 'onx COMMAND --help' says more about a command.\n"
           "Exit status: 0 all is well, 1 the model or data is bad or a file cannot be read or "
           "written,\n"
           "2 the command line is wrong.\n");
}

static void put_options(const cli_command *command) {
    for (const cli_option *o = command->options; o->name; o++) printf("--%s\n", o->name);
    puts("--library\n--help");
}

static void put_names(void) {
    const cli_command *c;
    for (size_t i = 0; (c = cli_command_at(i)); i++) puts(c->name);
}

static int run(const cli_args *args) {
    bool list = args->values[HELP_LIST] != NULL;
    if (args->n_files == 0) {
        if (list)
            put_names();
        else
            put_overview();
        return CLI_OK;
    }
    const cli_command *command = cli_command_find(args->files[0]);
    if (!command) return cli_usage(args->command, "there is no command '%s'", args->files[0]);
    if (list)
        put_options(command);
    else
        cli_print_help(command, stdout);
    return CLI_OK;
}

const cli_command cli_help = {
    "help",
    "[COMMAND]",
    "the commands, or more about one of them",
    "Shows the commands, or what one of them does and which options it has.",
    options,
    0,
    1,
    run,
};
