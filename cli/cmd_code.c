/* cmd_code.c: onx code: a model as the program that builds it, its weights beside it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { CODE_OUTPUT, CODE_LANG, CODE_WEIGHTS, CODE_INLINE, CODE_FROM };
static const cli_option options[] = {
    {"output", 'o', "FILE", "write the program there, instead of to standard output"},
    {"lang", 0, "LANG", "c or python, if the name of FILE does not tell"},
    {"weights", 0, "FILE", "put the data of tensors there (beside the program, .weights)"},
    {"inline", 0, NULL, "put all data into the program"},
    {"from", 0, "FORMAT", "format of MODEL, if its name does not tell"},
    {NULL, 0, NULL, NULL},
};

/* ── Files ───────────────────────────────────────────────────────────────────────────────────── */

/* A file that takes its name only when all is written, and is there only if something was. */
typedef struct file {
    const char *path;
    char *part; /* the name until then */
    FILE *out;
} file;

static int write_file(void *user, const void *data, size_t size) {
    file *f = user;
    if (!f->part) {
        size_t n = strlen(f->path);
        f->part = malloc(n + 6);
        if (!f->part) return -1;
        memcpy(f->part, f->path, n);
        memcpy(f->part + n, ".part", 6);
        f->out = fopen(f->part, "wb");
    }
    return f->out && fwrite(data, 1, size, f->out) == size ? 0 : -1;
}

/* False, after saying so, when it could not be written. */
static bool finish(file *f, bool keep) {
    if (!f->part) return true;
    bool written = f->out && !fclose(f->out);
    bool good = keep && written && rename(f->part, f->path) == 0;
    if (f->out && !good) remove(f->part);
    if (keep && !good) cli_note(&cli_code, "%s cannot be written", f->path);
    free(f->part);
    *f = (file){.path = f->path};
    return good || !keep;
}

/* ── Options ─────────────────────────────────────────────────────────────────────────────────── */

static bool ends(const char *text, const char *tail) {
    size_t n = strlen(text), k = strlen(tail);
    return n >= k && strcmp(text + n - k, tail) == 0;
}

static bool language_of(const cli_args *args, onx_language *out) {
    static const char *const names[] = {"c", "python", NULL};
    const char *path = args->values[CODE_OUTPUT];
    size_t place = path && ends(path, ".py") ? ONX_LANGUAGE_PYTHON : ONX_LANGUAGE_C;
    if (!cli_get_choice(args, CODE_LANG, names, &place)) return false;
    *out = (onx_language)place;
    return true;
}

/* "dir/model.c" to "dir/model.weights", to be freed. */
static char *weights_beside(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t n =
        dot && (!slash || dot > slash + 1) && dot != path ? (size_t)(dot - path) : strlen(path);
    char *out = malloc(n + 9);
    if (!out) return NULL;
    memcpy(out, path, n);
    memcpy(out + n, ".weights", 9);
    return out;
}

/* ── The command ─────────────────────────────────────────────────────────────────────────────── */

static int write_code(const onx_model *model, const onx_code_options *how, const char *path) {
    onx_diag diag = ONX_INIT(onx_diag);
    bool to_stdout = !path || cli_is_stdio(path);
    file program = {.path = path}, data = {.path = how->weights};
    onx_writer code = to_stdout ? cli_stdout() : (onx_writer){&program, write_file};
    onx_writer weights = {&data, write_file};
    onx_status status = onx_model_code(model, how, &code, how->weights ? &weights : NULL, &diag);
    bool good = finish(&data, status == ONX_OK);
    good = finish(&program, good && status == ONX_OK) && good;
    if (status == ONX_IO && to_stdout && !data.path) return CLI_BAD; /* cli_finish tells */
    if (status == ONX_IO) {
        cli_note(&cli_code, "%s cannot be written", to_stdout ? data.path : path);
        return CLI_BAD;
    }
    if (status != ONX_OK) return cli_fail(&cli_code, &diag);
    return good ? CLI_OK : CLI_BAD;
}

static int run(const cli_args *args) {
    onx_code_options how = ONX_INIT(onx_code_options);
    onx_format from = ONX_FORMAT_AUTO;
    const char *path = args->values[CODE_OUTPUT], *given = args->values[CODE_WEIGHTS];
    bool beside = path && !cli_is_stdio(path) && !given && !args->values[CODE_INLINE];
    if (given && args->values[CODE_INLINE])
        return cli_usage(&cli_code, "only one of --weights and --inline");
    if (!language_of(args, &how.language) || !cli_get_format(args, CODE_FROM, &from))
        return CLI_USAGE;
    char *made = beside ? weights_beside(path) : NULL;
    if (beside && !made) return cli_no_memory(&cli_code);
    how.weights = given ? given : made;
    onx_model *model = NULL;
    onx_diag lenient = ONX_INIT(onx_diag);
    int status = cli_load(&cli_code, args->files[0], from, &lenient, &model);
    if (status == CLI_OK) status = write_code(model, &how, path);
    onx_model_free(model);
    free(made);
    return status;
}

const cli_command cli_code = {
    "code",
    "[OPTIONS] MODEL",
    "a model as the program, in C or Python, that builds it",
    "Writes a program that builds MODEL, with the functions of onx.h or with onnx.helper. Run with "
    "the\n"
    "name of a file, it writes a model there that is equal to MODEL, message by message. Tensors "
    "of\n"
    "more than 16 elements go to a file of weights, which the program reads: that of its second\n"
    "argument, or the one that was written here. To standard output, all data stand in the "
    "program.",
    options,
    1,
    1,
    run,
};
