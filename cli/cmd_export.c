/* cmd_export.c: onx export: an ONNX model of a file that PyTorch wrote. */
#include "compare.h"
#include "edit.h"
#include "feed.h"

#include <stdlib.h>
#include <string.h>

enum {
    EXPORT_OPSET = EDIT_FROM,
    EXPORT_INPUTS,
    EXPORT_OUTPUTS,
    EXPORT_AXES,
    EXPORT_SAMPLES,
    EXPORT_SHAPE,
    EXPORT_NO_PARAMS,
    EXPORT_AS_INPUTS,
    EXPORT_NO_FOLDING,
    EXPORT_FUNCTIONS,
    EXPORT_CUSTOM,
    EXPORT_LOWERINGS,
    EXPORT_TRAINING,
    EXPORT_MUTATIONS,
    EXPORT_METHOD,
    EXPORT_VERIFY,
    EXPORT_REPORT,
};
static const cli_option options[] = {
    EDIT_WRITE_OPTIONS,
    {"opset", 0, "N", "version of the operators, 7 to 28 (18)"},
    {"input-names", 0, "NAMES", "of the inputs, in order, with commas"},
    {"output-names", 0, "NAMES", "of the outputs, in order, with commas"},
    {"dynamic-axes", 0, "AXES", "x:0=batch,2=height,y:0=batch: dimensions of any size"},
    {"sample-inputs", 0, "DIR", "types and shapes are those of DIR/input_0.pb (or .npy) …"},
    {"input-shape", 0, "NAME=SHAPE", "x=1x3x224x224:f32, or n=5 for a number; may be repeated"},
    {"no-params", 0, NULL, "leave the weights out: they become inputs"},
    {"keep-initializers-as-inputs", 0, NULL, "weights are inputs, too, as before IR version 4"},
    {"no-constant-folding", 0, NULL, "keep what is done to weights as nodes"},
    {"modules-as-functions", 0, NULL, "each kind of module becomes a function"},
    {"custom-opset", 0, "DOMAIN=N", "version of a domain of --lowerings; may be repeated"},
    {"lowerings", 0, "FILE", "operators as ONNX functions, in any format of models"},
    {"training", 0, NULL, "as in training: with dropout and batch statistics"},
    {"expose-mutations", 0, NULL, "buffers that the program writes to are further outputs"},
    {"method", 0, "NAME", "of a TorchScript module, in the place of forward"},
    {"verify", 0, "DIR", "run the model with DIR/input_0.pb … and compare with DIR/output_0.pb …"},
    {"report", 0, NULL, "say what was lowered, assumed and fixed"},
    {NULL, 0, NULL, NULL},
};

enum { MAX_PARTS = 256 };

typedef struct exporting {
    const cli_args *args;
    cli_progress progress;
    onx_export_options how;
    edit_list inputs, outputs, axis_list, opset_list;
    onx_export_axis axes[MAX_PARTS];
    onx_export_input types[MAX_PARTS];
    onx_opset_target opsets[MAX_PARTS];
    char *texts[MAX_PARTS]; /* of the types, to be freed */
    onx_model *lowerings;
} exporting;

/* ── Reading options ─────────────────────────────────────────────────────────────────────────── */

/* "x:0=batch", or "2=height" of the name before it. */
static int read_axes(exporting *e) {
    const cli_command *command = e->args->command;
    const char *name = NULL;
    if (!edit_list_get(e->args, EXPORT_AXES, &e->axis_list)) return CLI_BAD;
    for (size_t i = 0; i < e->axis_list.n; i++) {
        char *text = (char *)(uintptr_t)e->axis_list.v[i], *end;
        char *size = edit_split(text, '='), *axis = edit_split(text, ':');
        if (axis) name = text;
        if (!axis) axis = text;
        long number = strtol(axis, &end, 10);
        if (!size || !*size || !name || end == axis || *end)
            return cli_usage(command, "--dynamic-axes: '%s' should be like x:0=batch", text);
        if (e->how.n_axes == MAX_PARTS) return cli_usage(command, "too many dynamic axes");
        e->axes[e->how.n_axes++] = (onx_export_axis){name, number, size};
    }
    e->how.axes = e->axes;
    return CLI_OK;
}

/* f32 for float, and so on; other names stay. */
static const char *long_type(const char *name) {
    static const char *const names[][2] = {
        {"f32", "float"},    {"f16", "float16"}, {"bf16", "bfloat16"}, {"f64", "double"},
        {"i8", "int8"},      {"i16", "int16"},   {"i32", "int32"},     {"i64", "int64"},
        {"u8", "uint8"},     {"u16", "uint16"},  {"u32", "uint32"},    {"u64", "uint64"},
        {"c64", "complex64"}};
    for (size_t i = 0; i < CLI_COUNT(names); i++)
        if (!strcmp(names[i][0], name)) return names[i][1];
    return name;
}

/* "1x3x224x224:f32" as "float[1,3,224,224]"; what is not like that, a number or a type, stays. */
static char *type_text(char *shape) {
    bool plain = shape[strspn(shape, "0123456789.-+e")] == '\0';
    bool lists = strchr(shape, 'x') || strchr(shape, ':');
    char *type = strchr(shape, '[') ? NULL : edit_split(shape, ':');
    size_t size = strlen(shape) + 40;
    char *text = malloc(size);
    if (!text) return NULL;
    if ((plain && !lists) || strchr(shape, '[') || (!type && !strpbrk(shape, "0123456789"))) {
        snprintf(text, size, "%s", shape);
        return text;
    }
    for (char *p = shape; *p; p++)
        if (*p == 'x') *p = ',';
    snprintf(text, size, *shape ? "%s[%s]" : "%s", type ? long_type(type) : "float", shape);
    return text;
}

static int add_type(exporting *e, const char *name, char *text) {
    if (!text) return cli_no_memory(e->args->command);
    if (e->how.n_inputs == MAX_PARTS) return cli_usage(e->args->command, "too many inputs");
    e->texts[e->how.n_inputs] = text;
    e->types[e->how.n_inputs++] = (onx_export_input){name, text};
    return CLI_OK;
}

static int read_shapes(exporting *e) {
    size_t at = 0;
    int status = CLI_OK;
    for (const char *value; (value = cli_next_value(e->args, EXPORT_SHAPE, &at)) && !status;) {
        const char *equal = strchr(value, '=');
        if (!equal || equal == value)
            return cli_usage(e->args->command, "--input-shape: '%s' should be like x=1x3x224x224",
                             value);
        char *shape = malloc(strlen(equal)), *name = malloc((size_t)(equal - value) + 1);
        if (shape && name) {
            strcpy(shape, equal + 1);
            snprintf(name, (size_t)(equal - value) + 1, "%s", value);
            status = add_type(e, name, type_text(shape));
        }
        free(shape);
        if (!name) return cli_no_memory(e->args->command);
    }
    return status;
}

/* The file of an input: NULL, without a word, where there is none. */
static onx_data *load_sample(const char *folder, const char *kind, size_t i, onx_diag *diag) {
    static const char *const ends[] = {"pb", "npy"};
    char path[4096];
    onx_data *data = NULL;
    for (size_t k = 0; k < CLI_COUNT(ends) && !data; k++) {
        snprintf(path, sizeof path, "%s/%s_%zu.%s", folder, kind, i, ends[k]);
        if (onx_data_load(cli_context(), path, ONX_DATA_TENSOR, &data, diag)) data = NULL;
    }
    return data;
}

static int read_samples(exporting *e) {
    const char *folder = e->args->values[EXPORT_SAMPLES];
    onx_diag diag = ONX_INIT(onx_diag);
    int status = CLI_OK;
    bool asked = folder != NULL;
    if (!folder && !e->how.n_inputs) folder = e->args->values[EXPORT_VERIFY];
    for (size_t i = 0; folder && status == CLI_OK; i++) {
        onx_data *data = load_sample(folder, "input", i, &diag);
        if (!data && !i && asked)
            return cli_usage(e->args->command,
                             "--sample-inputs: there is no %s/input_0.pb (or .npy)", folder);
        if (!data) return CLI_OK;
        const onx_tensor *t = onx_data_tensor(data);
        cli_text text = cli_dims(onx_tensor_dtype(t), onx_tensor_rank(t), onx_tensor_dims(t));
        char *copy = malloc(strlen(text.s) + 1);
        if (copy) strcpy(copy, text.s);
        status = add_type(e, NULL, copy);
        onx_data_free(data);
    }
    return status;
}

static int read_opsets(exporting *e) {
    if (!edit_list_get(e->args, EXPORT_CUSTOM, &e->opset_list)) return CLI_BAD;
    for (size_t i = 0; i < e->opset_list.n && i < MAX_PARTS; i++) {
        char *text = (char *)(uintptr_t)e->opset_list.v[i], *version = edit_split(text, '=');
        if (!version || strtol(version, NULL, 10) < 1)
            return cli_usage(e->args->command, "--custom-opset: '%s' should be like my.ops=1",
                             text);
        e->opsets[e->how.n_opsets++] = (onx_opset_target){text, strtol(version, NULL, 10)};
    }
    e->how.opsets = e->opsets;
    return CLI_OK;
}

static void hear_progress(void *user, size_t done, size_t total, const char *what) {
    exporting *e = user;
    cli_progress_show(&e->progress, done, total, what);
}

static void hear_report(void *user, onx_export_note kind, const char *text, size_t count) {
    static const char *const words[] = {"lowered", "missing", "fixed", "assumed"};
    exporting *e = user;
    cli_progress_hide(&e->progress);
    if (!e->args->values[EXPORT_REPORT] && kind != ONX_EXPORT_ASSUMPTION &&
        kind != ONX_EXPORT_MISSING)
        return;
    if (count > 1)
        cli_note(e->args->command, "%s: %s (%zu times)", words[kind], text, count);
    else
        cli_note(e->args->command, "%s: %s", words[kind], text);
}

static int read_options(exporting *e) {
    const cli_args *args = e->args;
    uint64_t opset = 0;
    if (!cli_get_number(args, EXPORT_OPSET, &opset)) return CLI_USAGE;
    if (!edit_list_get(args, EXPORT_INPUTS, &e->inputs) ||
        !edit_list_get(args, EXPORT_OUTPUTS, &e->outputs))
        return CLI_BAD;
    e->how.opset = (int64_t)opset;
    e->how.n_input_names = e->inputs.n;
    e->how.input_names = e->inputs.v;
    e->how.n_output_names = e->outputs.n;
    e->how.output_names = e->outputs.v;
    e->how.no_params = args->values[EXPORT_NO_PARAMS] != NULL;
    e->how.initializers_as_inputs = args->values[EXPORT_AS_INPUTS] != NULL;
    e->how.no_folding = args->values[EXPORT_NO_FOLDING] != NULL;
    e->how.functions = args->values[EXPORT_FUNCTIONS] != NULL;
    e->how.training = args->values[EXPORT_TRAINING] != NULL;
    e->how.mutations = args->values[EXPORT_MUTATIONS] != NULL;
    e->how.method = args->values[EXPORT_METHOD];
    e->how.progress = hear_progress;
    e->how.report = hear_report;
    e->how.user = e;
    e->how.inputs = e->types;
    if (e->how.no_params && args->values[EXPORT_VERIFY])
        return cli_usage(args->command, "--verify needs the weights, which --no-params leaves out");
    int status = read_axes(e);
    if (status == CLI_OK) status = read_shapes(e);
    if (status == CLI_OK) status = read_samples(e);
    if (status == CLI_OK) status = read_opsets(e);
    if (status == CLI_OK && args->values[EXPORT_LOWERINGS])
        status = cli_load(args->command, args->values[EXPORT_LOWERINGS], ONX_FORMAT_AUTO, NULL,
                          &e->lowerings);
    e->how.lowerings = e->lowerings;
    return status;
}

/* ── Verifying ───────────────────────────────────────────────────────────────────────────────── */

/* What results of a type may differ by, relative to their magnitude. */
static double tolerance_of(onx_dtype dtype) {
    return dtype == ONX_DTYPE_BF16 ? 2e-2 : dtype == ONX_DTYPE_F16 ? 1e-2 : 1e-4;
}

static int compare_output(const exporting *e, size_t i, const onx_arg *out, bool *found) {
    const char *folder = e->args->values[EXPORT_VERIFY];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *expected = load_sample(folder, "output", i, &diag), *got = NULL;
    char name[64];
    snprintf(name, sizeof name, "output_%zu", i);
    *found = expected != NULL;
    if (!expected) return CLI_OK;
    const onx_tensor *tensor = onx_data_tensor(expected);
    double rtol = tolerance_of(tensor ? onx_tensor_dtype(tensor) : ONX_DTYPE_F32);
    compare_how how = {e->args->command, {name, "recorded"}, rtol, rtol / 10, stderr, true};
    int status = onx_arg_to_data(cli_context(), out, &got, &diag)
                     ? cli_fail(e->args->command, &diag)
                     : compare_data(&how, got, expected);
    if (status != CLI_OK) cli_note(e->args->command, "%s is not as recorded in %s", name, folder);
    onx_data_free(expected);
    onx_data_free(got);
    return status;
}

static int compare_outputs(const exporting *e, const runner *r, const feed *in) {
    onx_diag diag = ONX_INIT(onx_diag);
    size_t n = onx_session_output_count(r->session), compared = 0;
    onx_arg *outs = calloc(n + 1, sizeof *outs);
    if (!outs) return cli_no_memory(e->args->command);
    int status = onx_session_run(r->session, in->count, in->args, n, outs, NULL, &diag)
                     ? cli_fail(e->args->command, &diag)
                     : CLI_OK;
    for (size_t i = 0; i < n && status == CLI_OK; i++) {
        bool found;
        status = compare_output(e, i, &outs[i], &found);
        compared += found;
    }
    for (size_t i = 0; i < n; i++) onx_arg_clear(&outs[i]);
    free(outs);
    if (status == CLI_OK && !compared)
        return cli_usage(e->args->command, "--verify: there is no output_0.pb to compare with");
    if (status == CLI_OK)
        cli_note(e->args->command, "verified: %zu of %zu outputs are as recorded", compared, n);
    return status;
}

/* Is there anything to run the model with? */
static int check_recorded(const exporting *e, size_t n_inputs) {
    const char *folder = e->args->values[EXPORT_VERIFY];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *first = n_inputs ? load_sample(folder, "input", 0, &diag) : NULL;
    bool missing = n_inputs && !first;
    onx_data_free(first);
    if (!missing) return CLI_OK;
    return cli_usage(e->args->command, "--verify: there is no %s/input_0.pb (or .npy)", folder);
}

static int verify(const exporting *e, onx_model *model) {
    cli_args args = {
        .command = e->args->command, .files = e->args->files, .n_files = e->args->n_files};
    onx_diag diag = ONX_INIT(onx_diag);
    runner r = {.args = &args, .model = model};
    feed in = {.count = 0};
    if (onx_model_check(model, NULL, &diag)) return cli_fail(args.command, &diag);
    args.values[RUNNER_INPUTS] = e->args->values[EXPORT_VERIFY];
    int status =
        onx_session_new(model, NULL, &r.session, &diag) ? cli_fail(args.command, &diag) : CLI_OK;
    if (status == CLI_OK) status = check_recorded(e, onx_session_input_count(r.session));
    if (status == CLI_OK) status = feed_open(&r, FEED_NONE, &in);
    if (status == CLI_OK) status = compare_outputs(e, &r, &in);
    feed_close(&in);
    onx_session_free(r.session);
    return status;
}

/* ── The command ─────────────────────────────────────────────────────────────────────────────── */

static int export_file(exporting *e) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model;
    onx_status bad = onx_model_export(cli_context(), e->args->files[0], &e->how, &model, &diag);
    cli_progress_hide(&e->progress);
    if (bad) return cli_fail(e->args->command, &diag);
    int status = e->args->values[EXPORT_VERIFY] ? verify(e, model) : CLI_OK;
    if (status == CLI_OK) status = edit_save(e->args, model);
    onx_model_free(model);
    return status;
}

static int run(const cli_args *args) {
    exporting e = {.args = args, .how = ONX_INIT(onx_export_options)};
    int status = edit_check_out(args);
    if (status == CLI_OK) status = read_options(&e);
    if (status == CLI_OK) status = export_file(&e);
    for (size_t i = 0; i < e.how.n_inputs; i++) {
        free(e.texts[i]);
        free((char *)(uintptr_t)e.types[i].name);
    }
    onx_model_free(e.lowerings);
    edit_list_free(&e.inputs);
    edit_list_free(&e.outputs);
    edit_list_free(&e.axis_list);
    edit_list_free(&e.opset_list);
    return status;
}

const cli_command cli_export = {
    "export",
    "[OPTIONS] ARCHIVE -o OUT",
    "an ONNX model of a PyTorch file: TorchScript (.pt) or torch.export (.pt2)",
    "Nothing of the file is executed, and neither Python nor PyTorch is needed.\n"
    "  onx export model.pt2 -o model.onnx\n"
    "  onx export traced.pt -o model.onnx --dynamic-axes x:0=batch\n"
    "  onx export scripted.pt -o model.onnx --input-shape x=1x3x224x224:f32\n"
    "  onx export model.pt2 -o model.onnx --opset 21 --verify DIR\n"
    "What can be exported: files of torch.jit.save(torch.jit.trace(model, x)) or "
    "torch.jit.script(model),\n"
    "and of torch.export.save. A file of torch.save holds weights, and no program.\n"
    "Dimensions are fixed unless they were exported as dynamic, or --dynamic-axes names them.\n"
    "Exit status: 0 written, 1 it cannot be exported, or --verify found a difference.",
    options,
    1,
    1,
    run,
};
