/* context.c: the context of all models that the program loads, and libraries of operators in it. */
#include "cli.h"

static onx_context *context; /* NULL: the default one */

onx_context *cli_context(void) {
    return context;
}

int cli_load_ops(const cli_command *command, const char *path) {
    onx_diag diag = ONX_INIT(onx_diag);
    if (!context && onx_context_new(NULL, &context)) return cli_no_memory(command);
    return onx_context_load_ops(context, path, &diag) ? cli_fail(command, &diag) : CLI_OK;
}

void cli_context_close(void) {
    onx_context_free(context);
    context = NULL;
}
