/* cmd_convert.c: onx convert: a model from one format to another, its data inside or beside it. */
#include "cli.h"

enum {
    CONVERT_FROM,
    CONVERT_TO,
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

static int run(const cli_args *args) {
    onx_format from = ONX_FORMAT_AUTO;
    onx_save_options to = ONX_INIT(onx_save_options);
    onx_model *model;
    if (!parse(args, &from, &to)) return CLI_USAGE;
    int status = cli_load(args->command, args->files[0], from, NULL, &model);
    if (status != CLI_OK) return status;
    if (args->values[CONVERT_TOUCH]) onx_model_touch(model);
    status = save(args, model, &to);
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
    "and are copied along, unless an option says otherwise.",
    options,
    2,
    2,
    run,
};
