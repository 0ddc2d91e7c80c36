/* cmd_tensor.c: onx tensor: data files, and the tensors of a model: shown, compared, converted. */
#include "compare.h"
#include "show.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

enum {
    TENSOR_TYPE,
    TENSOR_NAME,
    TENSOR_OUT,
    TENSOR_DTYPE,
    TENSOR_FULL,
    TENSOR_STATS,
    TENSOR_COMPARE,
    TENSOR_RTOL,
    TENSOR_ATOL,
};
static const cli_option options[] = {
    {"type", 0, "KIND", "tensor, sequence, map, optional or sparse, if the content does not tell"},
    {"name", 0, "NAME", "the tensor of this name in a sequence, .npz file or model"},
    {"output", 'o', "FILE", "write to FILE instead: .pb .npy .npz .json .textproto"},
    {"dtype", 0, "TYPE", "convert the elements first: float, float16, int64, …"},
    {"full", 0, NULL, "show all elements"},
    {"stats", 0, NULL, "show no elements, only how many there are, and their range"},
    {"compare", 0, NULL, "compare two files value by value"},
    {"rtol", 0, "R", "with --compare: relative tolerance (0)"},
    {"atol", 0, "A", "with --compare: absolute tolerance (0)"},
    {NULL, 0, NULL, NULL},
};

/* ── Sources ─────────────────────────────────────────────────────────────────────────────────── */

/* What was asked for of a file, and what keeps it alive. */
typedef struct source {
    const char *path;
    onx_model *model;
    onx_data *file, *data;
} source;

static void source_close(source *s) {
    onx_data_free(s->file);
    onx_model_free(s->model);
}

static int fail(const cli_args *args, const source *s, onx_diag *diag) {
    if (!diag->file[0]) snprintf(diag->file, sizeof diag->file, "%s", s->path);
    cli_fail(args->command, diag);
    return CLI_BAD;
}

static int fail_name(const cli_args *args, const source *s, const char *what) {
    onx_diag diag = ONX_INIT(onx_diag);
    diag.status = ONX_NOT_FOUND;
    diag.offset = -1;
    snprintf(diag.message, sizeof diag.message, "there is no %s '%.200s'", what,
             args->values[TENSOR_NAME]);
    return fail(args, s, &diag);
}

static bool is_model(const char *path) {
    size_t n = strlen(path);
    return onx_format_from_path(path) == ONX_FORMAT_TEXT ||
           (n > 5 && !strcmp(path + n - 5, ".onnx"));
}

/* An initializer, or what a Constant node holds. */
static onx_tensor *constant(const onx_value *value) {
    onx_tensor *t = value ? onx_value_initializer(value) : NULL;
    const onx_node *node = value && !t ? onx_value_node(value) : NULL;
    const onx_attr *attr =
        node && !strcmp(onx_node_op(node), "Constant") ? onx_node_attr(node, "value") : NULL;
    return attr ? onx_attr_tensor(attr) : t;
}

static onx_status gather(source *s, onx_diag *diag) {
    onx_graph *root = onx_model_graph(s->model);
    onx_status status = onx_sequence_new(NULL, &s->file, diag);
    for (onx_graph *g = root; g && !status; g = cli_graph_next(root, g))
        for (onx_tensor *t = onx_graph_initializer_first(g); t && !status; t = onx_tensor_next(t))
            status = onx_sequence_append(s->file, NULL, t, diag);
    s->data = s->file;
    return status;
}

static int open_model(const cli_args *args, source *s) {
    const char *name = args->values[TENSOR_NAME];
    onx_diag diag = ONX_INIT(onx_diag);
    int status = cli_load(args->command, s->path, ONX_FORMAT_AUTO, NULL, &s->model);
    if (status != CLI_OK) return status;
    if (!name) return gather(s, &diag) ? fail(args, s, &diag) : CLI_OK;
    onx_graph *root = onx_model_graph(s->model);
    for (onx_graph *g = root; g && !s->data; g = cli_graph_next(root, g))
        s->data = onx_tensor_data(constant(onx_graph_find(g, name)));
    return s->data ? CLI_OK : fail_name(args, s, "initializer or constant");
}

/* The element of a sequence that has this name or, if none has, this number. */
static onx_data *pick(const onx_data *sequence, const char *name) {
    char *end;
    onx_data *d = onx_data_at(sequence, 0);
    while (d && strcmp(onx_data_name(d), name) != 0) d = onx_data_next(d);
    unsigned long long index = strtoull(name, &end, 10);
    if (!d && *name && !*end && index < SIZE_MAX) d = onx_data_at(sequence, (size_t)index);
    return d;
}

static int open_data(const cli_args *args, onx_data_kind kind, source *s) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_reader reader = cli_stdin();
    onx_status status = cli_is_stdio(s->path)
                            ? onx_data_load_stream(NULL, &reader, kind, &s->file, &diag)
                            : onx_data_load(NULL, s->path, kind, &s->file, &diag);
    if (status) return fail(args, s, &diag);
    s->data = s->file;
    if (!args->values[TENSOR_NAME] || onx_data_kind_of(s->file) == ONX_DATA_TENSOR) return CLI_OK;
    s->data = pick(s->file, args->values[TENSOR_NAME]);
    return s->data ? CLI_OK : fail_name(args, s, "element");
}

static onx_status convert_tensor(onx_tensor *t, onx_dtype dtype, onx_diag *diag) {
    uint64_t count;
    size_t bytes;
    onx_status status = onx_tensor_count(t, &count, diag);
    if (status || onx_tensor_dtype(t) == dtype) return status;
    void *dense = onx_dtype_bytes(dtype, count, &bytes) ? malloc(bytes + 1) : NULL;
    if (!dense) {
        diag->status = ONX_NO_MEMORY;
        return ONX_NO_MEMORY;
    }
    status = onx_tensor_read_as(t, dtype, dense, bytes, diag);
    if (!status)
        status =
            onx_tensor_set(t, dtype, onx_tensor_rank(t), onx_tensor_dims(t), dense, bytes, diag);
    free(dense);
    return status;
}

/* Every tensor in the data. */
static int convert(const cli_args *args, source *s) {
    const char *name = args->values[TENSOR_DTYPE];
    onx_diag diag = ONX_INIT(onx_diag);
    parts p = {.root = s->data};
    if (!name) return CLI_OK;
    for (const onx_data *part; (part = parts_next(&p));) {
        onx_tensor *t = onx_data_tensor(part);
        if (t && convert_tensor(t, onx_dtype_from_name(name), &diag)) return fail(args, s, &diag);
    }
    return CLI_OK;
}

static int source_open(const cli_args *args, const char *path, source *s) {
    static const char *const names[] = {"tensor", "sparse", "sequence", "map", "optional", NULL};
    size_t choice = 0;
    *s = (source){.path = path};
    if (!cli_get_choice(args, TENSOR_TYPE, names, &choice)) return CLI_USAGE;
    onx_data_kind kind = args->values[TENSOR_TYPE] ? (onx_data_kind)(choice + 1) : ONX_DATA_NONE;
    int status = is_model(path) ? open_model(args, s) : open_data(args, kind, s);
    return status == CLI_OK ? convert(args, s) : status;
}

/* ── Showing ─────────────────────────────────────────────────────────────────────────────────── */

static int show(const cli_args *args, const source *s) {
    show_options how = {.command = args->command,
                        .file = s->path,
                        .full = args->values[TENSOR_FULL] != NULL,
                        .stats = args->values[TENSOR_STATS] != NULL};
    if (cli_is_stdio(s->path))
        fputs("standard input", stdout);
    else
        cli_puts(stdout, s->path);
    fputs(": ", stdout);
    return show_data(&how, s->data);
}

/* ── Writing ─────────────────────────────────────────────────────────────────────────────────── */

static bool ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && !strcmp(path + n - m, ending);
}

/* "input_0" for "data/input_0.pb". */
static void stem(const char *path, char *out, size_t size) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(out, size, "%.*s", (int)strcspn(name, "."), name);
}

static onx_status append(const source *s, onx_data *sequence, onx_diag *diag) {
    char name[256];
    onx_tensor *t = onx_data_kind_of(s->data) == ONX_DATA_TENSOR ? onx_data_tensor(s->data) : NULL;
    if (!t) {
        diag->status = ONX_UNSUPPORTED;
        diag->offset = -1;
        snprintf(diag->message, sizeof diag->message, "only tensors can be gathered in one file");
        return ONX_UNSUPPORTED;
    }
    stem(s->path, name, sizeof name);
    return onx_sequence_append(sequence, *onx_tensor_name(t) ? NULL : name, t, diag);
}

static onx_status save(const onx_data *data, const char *path, onx_diag *diag) {
    onx_writer writer = cli_stdout();
    return cli_is_stdio(path) ? onx_data_save_stream(data, &writer, diag)
                              : onx_data_save(data, path, diag);
}

/* Several files, or a single tensor for .npz, become a sequence. */
static int write_all(const cli_args *args) {
    const char *out = args->values[TENSOR_OUT];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *sequence = NULL;
    onx_status status = ONX_OK;
    int result = CLI_OK;
    bool many = args->n_files > 1;
    for (size_t i = 0; i < args->n_files && result == CLI_OK; i++) {
        source s;
        result = source_open(args, args->files[i], &s);
        bool single = result == CLI_OK && onx_data_kind_of(s.data) == ONX_DATA_TENSOR;
        many = many || (single && ends_with(out, ".npz"));
        if (result == CLI_OK && many && !sequence)
            status = onx_sequence_new(NULL, &sequence, &diag);
        if (result == CLI_OK && !status)
            status = many ? append(&s, sequence, &diag) : save(s.data, out, &diag);
        if (status) result = fail(args, &s, &diag);
        source_close(&s);
    }
    if (sequence && result == CLI_OK && save(sequence, out, &diag))
        result = cli_fail(args->command, &diag);
    onx_data_free(sequence);
    return result;
}

/* ── The command ─────────────────────────────────────────────────────────────────────────────── */

static int compare(const cli_args *args) {
    double rtol = 0, atol = 0;
    source s[2] = {{.path = NULL}, {.path = NULL}};
    if (args->n_files != 2) return cli_usage(args->command, "--compare needs two files");
    if (!cli_get_real(args, TENSOR_RTOL, &rtol) || !cli_get_real(args, TENSOR_ATOL, &atol))
        return CLI_USAGE;
    int status = source_open(args, args->files[0], &s[0]);
    if (status == CLI_OK) status = source_open(args, args->files[1], &s[1]);
    if (status == CLI_OK) {
        compare_how how = {.command = args->command,
                           .names = {args->files[0], args->files[1]},
                           .rtol = rtol,
                           .atol = atol,
                           .out = stdout};
        status = compare_data(&how, s[0].data, s[1].data);
    }
    source_close(&s[0]);
    source_close(&s[1]);
    return status;
}

static int show_all(const cli_args *args) {
    int worst = CLI_OK;
    for (size_t i = 0; i < args->n_files; i++) {
        source s;
        int status = source_open(args, args->files[i], &s);
        if (status == CLI_OK) status = show(args, &s);
        if (status > worst) worst = status;
        source_close(&s);
    }
    return worst;
}

static bool is_known_ending(const char *path) {
    onx_format format = onx_format_from_path(path);
    bool message =
        format != ONX_FORMAT_AUTO && format != ONX_FORMAT_TEXT && !ends_with(path, ".onnx");
    return message || cli_is_stdio(path) || ends_with(path, ".npy") || ends_with(path, ".npz");
}

static int run(const cli_args *args) {
    const char *out = args->values[TENSOR_OUT], *dtype = args->values[TENSOR_DTYPE];
    if (dtype && onx_dtype_bits(onx_dtype_from_name(dtype)) == 0)
        return cli_usage(args->command, "--dtype needs an element type such as float16, not '%s'",
                         dtype);
    if (out && !is_known_ending(out))
        return cli_usage(args->command, "'%s' ends in none of .pb .npy .npz .json .textproto", out);
    if (args->values[TENSOR_COMPARE]) return compare(args);
    return out ? write_all(args) : show_all(args);
}

const cli_command cli_tensor = {
    "tensor",
    "[OPTIONS] FILE...",
    "tensors and other data: shown, compared, converted",
    "Shows data files: type, range of the elements, and the elements, as NumPy does. FILE is one "
    "of\n"
    "  .pb .json .textproto    a tensor, sequence, map, optional or sparse tensor of ONNX\n"
    "  .npy .npz               NumPy's; an .npz file is a sequence of named tensors\n"
    "  .onnx .onnxtxt          a model: its initializers, or with --name one of them\n"
    "or - for standard input. With --output, writes a file instead; several tensors become a "
    "sequence.\n"
    "With --compare, tells whether two files hold the same values, in the same order: dtypes and "
    "shapes\n"
    "must agree, and |a - b| <= atol + rtol * |b| for each element. NaN equals NaN.",
    options,
    1,
    SIZE_MAX,
    run,
};
