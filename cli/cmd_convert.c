/* cmd_convert.c: onx convert: a model from one format to another, its data inside or beside it, for
 * other versions of its opsets. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TARGETS = 16 };
enum {
    CONVERT_FROM,
    CONVERT_TO,
    CONVERT_OPSET,
    CONVERT_EXTERNAL,
    CONVERT_MANY,
    CONVERT_INLINE,
    CONVERT_THRESHOLD,
    CONVERT_ALIGN,
    CONVERT_ATTRIBUTES,
    CONVERT_TOUCH,
};
static const cli_option options[] = {
    {"from", 0, "FORMAT", "format of IN, if its name does not tell"},
    {"to", 0, "FORMAT", "format of OUT, if its name does not tell"},
    {"opset", 0, "VERSION", "of ai.onnx (18), or of another opset (ai.onnx.ml=3); may be repeated"},
    {"external", 0, "[FILE]", "move tensor data into one file beside OUT (OUT.data)"},
    {"external-many", 0, NULL, "move tensor data into one file per tensor"},
    {"inline", 0, NULL, "move all tensor data into OUT"},
    {"threshold", 0, "BYTES", "only move tensors of at least this size (1k)"},
    {"align", 0, "BYTES", "alignment of tensors in data files, a power of two (4k)"},
    {"attributes", 0, NULL, "also move tensors in attributes of nodes"},
    {"touch", 0, NULL, "write every message anew, instead of keeping its bytes"},
    {NULL, 0, NULL, NULL},
};

static bool external_of(const cli_args *args, onx_external *out) {
    static const struct {
        size_t option;
        onx_external external;
    } rows[] = {{CONVERT_EXTERNAL, ONX_EXTERNAL_ONE},
                {CONVERT_MANY, ONX_EXTERNAL_MANY},
                {CONVERT_INLINE, ONX_EXTERNAL_INLINE}};
    size_t given = 0;
    for (size_t i = 0; i < CLI_COUNT(rows); i++)
        if (args->values[rows[i].option]) *out = rows[i].external, given++;
    if (given > 1) cli_usage(args->command, "only one of --external, --external-many and --inline");
    return given <= 1;
}

static bool parse(const cli_args *args, onx_format *from, onx_save_options *to) {
    const char *out = args->files[1], *file = args->values[CONVERT_EXTERNAL];
    to->format = onx_format_from_path(out);
    if (!cli_get_format(args, CONVERT_FROM, from) ||
        !cli_get_format(args, CONVERT_TO, &to->format) ||
        !cli_get_number(args, CONVERT_THRESHOLD, &to->threshold) ||
        !cli_get_number(args, CONVERT_ALIGN, &to->alignment) || !external_of(args, &to->external))
        return false;
    if (args->values[CONVERT_THRESHOLD] && to->threshold == 0)
        to->threshold = 1; /* 0 is the default */
    if (file && *file) to->external_file = file;
    to->attributes = args->values[CONVERT_ATTRIBUTES] != NULL;
    if (to->format != ONX_FORMAT_AUTO) return true;
    if (cli_is_stdio(out))
        cli_usage(args->command, "standard output needs a format: --to FORMAT");
    else
        cli_usage(args->command, "the name '%s' tells no format: use --to FORMAT", out);
    return false;
}

static int save(const cli_args *args, onx_model *model, const onx_save_options *how) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_writer writer = cli_stdout();
    bool to_stdout = cli_is_stdio(args->files[1]);
    onx_status status = to_stdout ? onx_model_save_stream(model, &writer, how, &diag)
                                  : onx_model_save(model, args->files[1], how, &diag);
    if (status == ONX_OK) return CLI_OK;
    if (status == ONX_IO && to_stdout) return CLI_BAD; /* cli_finish tells */
    return cli_fail(args->command, &diag);
}

typedef struct opsets { /* that the result is to import */
    size_t n;
    onx_opset_target targets[MAX_TARGETS];
    char domains[MAX_TARGETS][128];
} opsets;

/* "18" or "ai.onnx.ml=3". */
static bool parse_target(const char *text, char *domain, size_t size, onx_opset_target *out) {
    const char *equals = strrchr(text, '='), *digits = equals ? equals + 1 : text;
    size_t n = equals ? (size_t)(equals - text) : 0;
    char *end;
    long version = strtol(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end || version < 1 || version > INT32_MAX || n >= size)
        return false;
    memcpy(domain, text, n);
    domain[n] = '\0';
    *out = (onx_opset_target){domain, version};
    return true;
}

static bool parse_opsets(const cli_args *args, opsets *out) {
    size_t at = 0;
    for (const char *text; (text = cli_next_value(args, CONVERT_OPSET, &at)); out->n++) {
        bool ok = out->n < MAX_TARGETS &&
                  parse_target(text, out->domains[out->n], 128, &out->targets[out->n]);
        if (ok) continue;
        cli_usage(args->command, "--opset: '%s' is not a version, such as 18 or ai.onnx.ml=3",
                  text);
        return false;
    }
    return true;
}

typedef struct telling {
    const cli_command *command;
    size_t *count;
} telling;

static void tell(void *user, const onx_diag *diag) {
    const telling *t = user;
    ++*t->count;
    cli_fail(t->command, diag);
}

/* What is in the way was told by then. */
static int convert_opsets(const cli_args *args, const opsets *to, onx_model **model) {
    onx_convert_options how = ONX_INIT(onx_convert_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *converted;
    size_t told = 0;
    if (!to->n) return CLI_OK;
    how.n_targets = to->n;
    how.targets = to->targets;
    how.report = tell;
    how.user = &(telling){args->command, &told};
    onx_status status = onx_model_convert(*model, &how, &converted, &diag);
    if (status && told) {
        cli_note(args->command, "%zu thing%s cannot be kept: nothing was written", told,
                 cli_plural(told));
        return CLI_BAD;
    }
    if (status) return cli_fail(args->command, &diag);
    onx_model_free(*model);
    *model = converted;
    return CLI_OK;
}

static int run(const cli_args *args) {
    onx_format from = ONX_FORMAT_AUTO;
    onx_save_options to = ONX_INIT(onx_save_options);
    opsets targets = {0};
    onx_model *model;
    if (!parse(args, &from, &to) || !parse_opsets(args, &targets)) return CLI_USAGE;
    int status = cli_load(args->command, args->files[0], from, NULL, &model);
    if (status != CLI_OK) return status;
    status = convert_opsets(args, &targets, &model);
    if (args->values[CONVERT_TOUCH]) onx_model_touch(model);
    if (!status) status = save(args, model, &to);
    onx_model_free(model);
    return status;
}

const cli_command cli_convert = {
    "convert",
    "[OPTIONS] IN OUT",
    "a model from any format to any other, with its data inside or beside it",
    "Reads the model IN and writes it as OUT. The endings choose the formats:\n"
    "  .onnx .pb                               protobuf\n"
    "  .onnxtxt .onnxtext                      onnxtxt, the ONNX text syntax\n"
    "  .json .onnxjson                         json\n"
    "  .textproto .txtpb .prototxt .pbtxt      textproto, the protobuf text format\n"
    "IN may be - for standard input, and OUT - for standard output (with --to). Nothing is lost on "
    "the\n"
    "way between any two formats. OUT is replaced whole or not at all. External data stay "
    "external,\n"
    "and are copied along, unless an option says otherwise. With --opset the model is rewritten "
    "for\n"
    "other versions of its opsets, up or down: what cannot be kept is listed, and nothing "
    "written.",
    options,
    2,
    2,
    run,
};
