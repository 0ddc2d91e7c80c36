/* main.c: the program onx: a table of commands. */
#include "cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const cli_command *const commands[] = {
    &cli_info,
    &cli_print,
    &cli_check,
    &cli_infer,
    &cli_convert,
    &cli_extract,
    &cli_merge,
    &cli_inline,
    &cli_rename,
    &cli_dims_cmd,
    &cli_strip,
    &cli_optimize,
    &cli_constants,
    &cli_export,
    &cli_code,
    &cli_tensor,
    &cli_run,
    &cli_conform,
    &cli_diff,
    &cli_bench,
    &cli_plan,
    &cli_ops,
    &cli_version,
    &cli_help,
};
/* clang-format on */

const cli_command *cli_command_at(size_t index) {
    return index < CLI_COUNT(commands) ? commands[index] : NULL;
}

const cli_command *cli_command_find(const char *name) {
    for (size_t i = 0; i < CLI_COUNT(commands); i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

static const char *command_name(const void *names, size_t index) {
    (void)names;
    return index < CLI_COUNT(commands) ? commands[index]->name : NULL;
}

static int unknown(const char *name) {
    const char *near = cli_nearest(name, command_name, NULL);
    if (near)
        fprintf(stderr, "onx: unknown command '%s'; did you mean '%s'?\n", name, near);
    else
        fprintf(stderr, "onx: unknown command '%s'; see 'onx help'\n", name);
    return CLI_USAGE;
}

static int run(const cli_command *command, int argc, char **argv) {
    cli_args args;
    bool help;
    int status = cli_parse(command, argc, argv, &args, &help);
    if (status == CLI_OK && !help) status = command->run(&args);
    if (status == CLI_OK && help) cli_print_help(command, stdout);
    cli_args_free(&args);
    cli_context_close();
    return status;
}

/* A write to a pipe that nobody reads should fail, not end the program. */
static void ignore_broken_pipes(void) {
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv) {
    static const char *const aliases[][2] = {
        {"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};
    const char *name = argc > 1 ? argv[1] : "help";
    int skipped = argc > 1 ? 2 : argc;
    ignore_broken_pipes();
    for (size_t i = 0; i < CLI_COUNT(aliases); i++)
        if (!strcmp(name, aliases[i][0])) name = aliases[i][1];
    const cli_command *command = cli_command_find(name);
    int status = command ? run(command, argc - skipped, argv + skipped) : unknown(name);
    int written = cli_finish();
    return status != CLI_OK ? status : written;
}
