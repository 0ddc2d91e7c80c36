/* cmd_inline.c: onx inline: calls of functions replaced by what the functions compute. */
#include "edit.h"

enum { INLINE_ONLY = EDIT_OWN, INLINE_EXCEPT, INLINE_SCHEMA, INLINE_KEEP };
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"only", 0, "NAMES", "these functions alone, with commas between them: DOMAIN::NAME"},
    {"except", 0, "NAMES", "all functions but these"},
    {"schema", 0, "[NAMES]", "also operators that are functions: all, or these"},
    {"keep", 0, NULL, "functions stay in the model, though nothing calls them any more"},
    {NULL, 0, NULL, NULL},
};

static int inline_model(const cli_args *args, const onx_inline_options *how) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model, *inlined = NULL;
    int status = edit_load(args, args->files[0], &model);
    if (status != CLI_OK) return status;
    status = onx_model_inline(model, how, &inlined, &diag) ? cli_fail(args->command, &diag)
                                                           : edit_save(args, inlined);
    onx_model_free(inlined);
    onx_model_free(model);
    return status;
}

static int run(const cli_args *args) {
    onx_inline_options how = ONX_INIT(onx_inline_options);
    edit_list only = {0}, except = {0}, schema = {0};
    int status = edit_check(args);
    if (status != CLI_OK) return status;
    bool ok = edit_list_get(args, INLINE_ONLY, &only) &&
              edit_list_get(args, INLINE_EXCEPT, &except) &&
              edit_list_get(args, INLINE_SCHEMA, &schema);
    how.n_only = only.n, how.only = only.v;
    how.n_except = except.n, how.except = except.v;
    how.n_operators = schema.n, how.operators = schema.v;
    how.all_operators = args->values[INLINE_SCHEMA] && !schema.n;
    how.keep = args->values[INLINE_KEEP] != NULL;
    status = ok ? inline_model(args, &how) : CLI_BAD;
    edit_list_free(&only);
    edit_list_free(&except);
    edit_list_free(&schema);
    return status;
}

const cli_command cli_inline = {
    "inline",
    "[OPTIONS] MODEL -o OUT",
    "calls of functions replaced by what the functions compute",
    "Functions are written DOMAIN::NAME, or DOMAIN::NAME:OVERLOAD for one of several; a star is "
    "all "
    "of\n"
    "a domain. Names of inner values begin with that of the call. With --schema, nodes of "
    "operators "
    "that\n"
    "are functions themselves, as Celu, become their bodies; without NAMES, those that cannot be "
    "stay.\n"
    "A function that calls itself is refused, and so are functions that would multiply without "
    "end.",
    options,
    1,
    1,
    run,
};
