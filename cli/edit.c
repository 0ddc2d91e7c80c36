/* edit.c: see edit.h. */
#include "edit.h"

#include <stdlib.h>
#include <string.h>

static bool save_options(const cli_args *args, onx_save_options *how) {
    const char *out = args->values[EDIT_OUT], *file = args->values[EDIT_EXTERNAL];
    how->format = onx_format_from_path(out);
    if (!cli_get_format(args, EDIT_TO, &how->format)) return false;
    if (file) how->external = ONX_EXTERNAL_ONE;
    if (file && *file) how->external_file = file;
    return true;
}

int edit_check(const cli_args *args) {
    onx_format from = ONX_FORMAT_AUTO;
    return cli_get_format(args, EDIT_FROM, &from) ? edit_check_out(args) : CLI_USAGE;
}

int edit_check_out(const cli_args *args) {
    onx_save_options how = ONX_INIT(onx_save_options);
    const char *out = args->values[EDIT_OUT];
    if (!out) return cli_usage(args->command, "where should the model go? -o FILE");
    if (!save_options(args, &how)) return CLI_USAGE;
    if (how.format != ONX_FORMAT_AUTO) return CLI_OK;
    return cli_is_stdio(out)
               ? cli_usage(args->command, "standard output needs a format: --to FORMAT")
               : cli_usage(args->command, "the name '%s' tells no format: use --to FORMAT", out);
}

int edit_load(const cli_args *args, const char *path, onx_model **out) {
    onx_format from = ONX_FORMAT_AUTO;
    if (!cli_get_format(args, EDIT_FROM, &from)) return CLI_USAGE;
    return cli_load(args->command, path, from, NULL, out);
}

int edit_save(const cli_args *args, onx_model *model) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_save_options how = ONX_INIT(onx_save_options);
    onx_writer writer = cli_stdout();
    const char *out = args->values[EDIT_OUT];
    bool to_stdout = cli_is_stdio(out);
    if (!save_options(args, &how)) return CLI_USAGE;
    onx_status status = to_stdout ? onx_model_save_stream(model, &writer, &how, &diag)
                                  : onx_model_save(model, out, &how, &diag);
    if (status == ONX_OK) return CLI_OK;
    if (status == ONX_IO && to_stdout) return CLI_BAD; /* cli_finish tells */
    return cli_fail(args->command, &diag);
}

bool edit_list_get(const cli_args *args, size_t option, edit_list *out) {
    size_t at = 0, size = 1, parts = 1;
    *out = (edit_list){NULL, 0, NULL};
    for (const char *value; (value = cli_next_value(args, option, &at));) {
        size += strlen(value) + 1;
        parts++;
        for (const char *p = value; *p; p++) parts += *p == ',';
    }
    out->text = malloc(size);
    out->v = malloc(parts * sizeof *out->v);
    if (!out->text || !out->v) {
        edit_list_free(out);
        cli_no_memory(args->command);
        return false;
    }
    char *to = out->text;
    at = 0;
    for (const char *value; (value = cli_next_value(args, option, &at));) {
        char *part = to;
        strcpy(to, value);
        to += strlen(value) + 1;
        for (char *comma; part; part = comma) {
            comma = strchr(part, ',');
            if (comma) *comma++ = '\0';
            if (*part) out->v[out->n++] = part;
        }
    }
    return true;
}

void edit_list_free(edit_list *list) {
    free(list->text);
    free(list->v);
    *list = (edit_list){NULL, 0, NULL};
}

char *edit_split(char *text, char at) {
    char *end = strrchr(text, at);
    if (!end) return NULL;
    *end = '\0';
    return end + 1;
}
