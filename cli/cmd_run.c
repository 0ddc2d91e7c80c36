/* cmd_run.c: onx run: a model with inputs from files or made up; outputs shown or written. */
#define _POSIX_C_SOURCE 200809L
#include "feed.h"
#include "folder.h"
#include "show.h"
#include "timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    RUN_RANDOM = RUNNER_OPTIONS,
    RUN_OUTPUT,
    RUN_ALL,
    RUN_FOLDER,
    RUN_PROFILE,
};
static const cli_option options[] = {
    RUNNER_ROWS,
    {"random", 0, NULL, "inputs that are not given are random"},
    {"output", 0, "NAME", "only this output, or any value of the model; may be given many times"},
    {"all-values", 0, NULL, "every value that the nodes of the graph compute"},
    {"output-dir", 'o', "DIR", "write outputs to DIR/output_0.pb …, or values to DIR/NAME.pb"},
    {"profile", 0, "FILE", "write a trace for Chrome or Perfetto, and show where the time went"},
    {NULL, 0, NULL, NULL},
};

/* ── Outputs ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct outputs {
    size_t count;
    onx_arg *args;
} outputs;

/* What the nodes compute, one by one: `list` NULL only counts. */
static size_t list_values(const onx_graph *graph, onx_arg *list) {
    cli_computed each = {.graph = graph};
    const onx_value *value;
    size_t n = 0;
    for (; (value = cli_computed_next(&each)); n++)
        if (list) list[n].name = onx_value_name(value);
    return n;
}

static size_t list_given(const cli_args *args, onx_arg *list) {
    const char *name;
    size_t n = 0, at = 0;
    for (; (name = cli_next_value(args, RUN_OUTPUT, &at)); n++)
        if (list) list[n].name = name;
    return n;
}

static size_t list_outputs(const onx_session *session, onx_arg *list) {
    size_t n = onx_session_output_count(session);
    for (size_t i = 0; list && i < n; i++) list[i].name = onx_session_output_name(session, i);
    return n;
}

static size_t list_wanted(const runner *r, onx_arg *list) {
    if (r->args->values[RUN_OUTPUT]) return list_given(r->args, list);
    if (r->args->values[RUN_ALL]) return list_values(onx_model_graph(r->model), list);
    return list_outputs(r->session, list);
}

static void outputs_close(outputs *out) {
    for (size_t i = 0; i < out->count; i++) onx_arg_clear(&out->args[i]);
    free(out->args);
}

static onx_status save(const runner *r, const onx_data *data, const char *name, size_t index,
                       onx_diag *diag) {
    const char *folder = r->args->values[RUN_FOLDER];
    char path[4096], file[2048];
    if (r->args->values[RUN_ALL])
        folder_plain_name(name, file, sizeof file);
    else
        snprintf(file, sizeof file, "output_%zu", index);
    snprintf(path, sizeof path, "%s/%s.pb", folder, file);
    return onx_data_save(data, path, diag);
}

/* One output: written, or shown. */
static int put_output(const runner *r, const onx_arg *arg, const char *name, size_t index) {
    const cli_args *args = r->args;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *data = NULL;
    int result = CLI_OK;
    if (arg->dtype == ONX_DTYPE_NONE && !arg->value) {
        cli_note(args->command, "%s was not computed in this run", name);
        return CLI_OK;
    }
    onx_status status = onx_arg_to_data(NULL, arg, &data, &diag);
    if (!status && (status = onx_data_set_name(data, name))) diag.status = status;
    if (!status && args->values[RUN_FOLDER]) {
        status = save(r, data, name, index, &diag);
    } else if (!status) {
        show_options how = {.command = args->command,
                            .file = args->files[0],
                            .brief = true,
                            .stats = args->values[RUN_ALL] != NULL};
        result = show_data(&how, data);
    }
    onx_data_free(data);
    return status ? runner_fail(r, &diag) : result;
}

static int make_folder(const runner *r) {
    const char *folder = r->args->values[RUN_FOLDER];
    if (!folder || mkdir(folder, 0777) == 0 || errno == EEXIST) return CLI_OK;
    cli_note(r->args->command, "%s: cannot be made: %s", folder, strerror(errno));
    return CLI_BAD;
}

/* Are there such values, in any graph of the model? */
static int check_names(const runner *r) {
    const char *name;
    const onx_graph *root = onx_model_graph(r->model);
    for (size_t at = 0; (name = cli_next_value(r->args, RUN_OUTPUT, &at));) {
        const onx_graph *g = root;
        while (g && !onx_graph_find(g, name)) g = cli_graph_next(root, g);
        if (!g) return cli_usage(r->args->command, "the model has no value '%s'", name);
    }
    return CLI_OK;
}

/* ── The run ─────────────────────────────────────────────────────────────────────────────────── */

static int put_profile(const cli_args *args, const onx_profile *profile) {
    timing t;
    if (!timing_open(profile, 1, &t)) return cli_no_memory(args->command);
    timing_print(&t, stderr);
    timing_close(&t);
    return timing_save(args->command, profile, args->values[RUN_PROFILE]);
}

static int compute(const runner *r, const feed *in, outputs *out, onx_profile *profile) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_run_options how = ONX_INIT(onx_run_options);
    cli_progress progress = {.start = 0};
    how.profile = profile;
    how.progress = cli_progress_step;
    how.progress_user = &progress;
    onx_status status =
        onx_session_run(r->session, in->count, in->args, out->count, out->args, &how, &diag);
    cli_progress_hide(&progress);
    return status ? runner_fail(r, &diag) : CLI_OK;
}

static int run_outputs(const runner *r, const feed *in, outputs *out) {
    onx_profile *profile = NULL;
    int status = make_folder(r);
    if (status == CLI_OK && r->args->values[RUN_PROFILE] && onx_profile_new(NULL, &profile))
        status = cli_no_memory(r->args->command);
    if (status == CLI_OK) status = compute(r, in, out, profile);
    for (size_t i = 0; i < out->count && status == CLI_OK; i++)
        status = put_output(r, &out->args[i], out->args[i].name, i);
    if (status == CLI_OK && profile) status = put_profile(r->args, profile);
    onx_profile_free(profile);
    return status;
}

static int run_feed(const runner *r, const feed *in) {
    outputs out = {.count = list_wanted(r, NULL)};
    out.args = calloc(out.count + 1, sizeof *out.args);
    if (!out.args) return cli_no_memory(r->args->command);
    list_wanted(r, out.args);
    int status = run_outputs(r, in, &out);
    outputs_close(&out);
    return status;
}

static int run(const cli_args *args) {
    runner r;
    feed in = {.count = 0};
    if (args->values[RUN_ALL] && args->values[RUN_OUTPUT])
        return cli_usage(args->command, "only one of --all-values and --output");
    int status = runner_open(args, args->values[RUN_ALL] != NULL, &r);
    if (status == CLI_OK) status = check_names(&r);
    if (status == CLI_OK)
        status = feed_open(&r, args->values[RUN_RANDOM] ? FEED_RANDOM : FEED_NONE, &in);
    if (status == CLI_OK) status = run_feed(&r, &in);
    feed_close(&in);
    runner_close(&r);
    return status;
}

const cli_command cli_run = {
    "run",
    "[OPTIONS] MODEL",
    "a model: compute its outputs, or any of its values",
    "Runs a model and shows its outputs: type, range of the elements, and the elements. Inputs "
    "come "
    "from\n"
    "  --inputs DIR         input_0.pb (or .npy), input_1.pb …, in the order of the graph\n"
    "  --input NAME=FILE    .pb .npy .npz .json .textproto\n"
    "  --random             made up: numbers from 0 to 1, integers from 0 to 9; dimensions without "
    "a\n"
    "                       size are what --set says, or 1\n"
    "With --output-dir, outputs are written as output_0.pb …, as tensors, sequences, maps or "
    "optionals,\n"
    "by their type. With --all-values, everything that the nodes compute is kept, and shown or "
    "written\n"
    "as NAME.pb, where '/' and the like in a name become %2F.",
    options,
    1,
    1,
    run,
};
