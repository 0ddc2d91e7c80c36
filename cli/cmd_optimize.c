/* cmd_optimize.c: onx optimize: a model that computes the same with less work. */
#include "diff.h"
#include "edit.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPTIMIZE_LEVEL = EDIT_OWN,
    OPTIMIZE_DISABLE,
    OPTIMIZE_ENABLE,
    OPTIMIZE_KEEP,
    OPTIMIZE_FOLD,
    OPTIMIZE_VERIFY,
    OPTIMIZE_LIST,
};
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"level", 0, "N", "0 nothing, 1 what keeps every bit, 2 also other arithmetic, 3 all (3)"},
    {"disable", 0, "PASS", "without this pass; may be repeated"},
    {"enable", 0, "PASS", "with this pass, whatever the level; may be repeated"},
    {"keep", 0, "NAMES", "values that stay, with commas; may be repeated"},
    {"fold-limit", 0, "BYTES", "a constant computed from smaller ones is at most this large (1M)"},
    {"verify", 0, "[DIR]", "run both models, with random inputs or those of DIR, and compare"},
    {"list", 0, NULL, "list the passes"},
    {NULL, 0, NULL, NULL},
};

typedef struct optimizing {
    const cli_args *args;
    cli_progress progress;
    runner_passes passes;
    edit_list keep;
    size_t changed; /* of the passes told so far */
    cli_text text;  /* "identity 3, fold 12" */
} optimizing;

/* ── The list ────────────────────────────────────────────────────────────────────────────────── */

static int put_list(void) {
    onx_pass_info pass;
    puts("level  pass            what it does");
    for (size_t i = 0; onx_pass_at(i, &pass); i++)
        if (pass.portable)
            printf("%5d  %-14s  %s\n", (int)(pass.level - ONX_LEVEL_NONE), pass.name, pass.summary);
    fputs("in sessions, at level 3, also:", stdout);
    for (size_t i = 0; onx_pass_at(i, &pass); i++)
        if (!pass.portable) printf(" %s", pass.name);
    putchar('\n');
    return CLI_OK;
}

/* ── Optimizing ──────────────────────────────────────────────────────────────────────────────── */

static void hear_progress(void *user, size_t round, const char *pass) {
    optimizing *o = user;
    char name[100];
    snprintf(name, sizeof name, "round %zu: %s", round + 1, pass);
    cli_progress_show(&o->progress, round, 8, name);
}

static void hear_report(void *user, const onx_pass_info *pass, size_t changed) {
    optimizing *o = user;
    size_t used = strlen(o->text.s);
    if (!changed) return;
    snprintf(o->text.s + used, sizeof o->text.s - used, "%s%s %s", used ? ", " : "", pass->name,
             cli_count(changed).s);
    o->changed += changed;
}

static bool read_options(optimizing *o, onx_optimize_options *how) {
    static const char *const levels[] = {"0", "1", "2", "3", NULL};
    const cli_args *args = o->args;
    size_t level = 3;
    if (!cli_get_choice(args, OPTIMIZE_LEVEL, levels, &level) ||
        !cli_get_number(args, OPTIMIZE_FOLD, &how->fold_limit) ||
        !cli_get_list(args, OPTIMIZE_DISABLE, o->passes.disable, sizeof o->passes.disable) ||
        !cli_get_list(args, OPTIMIZE_ENABLE, o->passes.enable, sizeof o->passes.enable) ||
        !edit_list_get(args, OPTIMIZE_KEEP, &o->keep))
        return false;
    how->level = (onx_level)(ONX_LEVEL_NONE + level);
    how->disable = o->passes.disable;
    how->enable = o->passes.enable;
    how->n_keep = o->keep.n;
    how->keep = o->keep.v;
    how->progress = hear_progress;
    how->report = hear_report;
    how->user = o;
    return true;
}

static void tell(const optimizing *o, const onx_optimized *counts) {
    const cli_command *command = o->args->command;
    cli_note(command, "nodes %s -> %s, initializers %s -> %s, their bytes %s -> %s",
             cli_count(counts->nodes_before).s, cli_count(counts->nodes_after).s,
             cli_count(counts->initializers_before).s, cli_count(counts->initializers_after).s,
             cli_bytes(counts->bytes_before).s, cli_bytes(counts->bytes_after).s);
    if (o->changed) cli_note(command, "changed by %s", o->text.s);
}

/* ── Verifying ───────────────────────────────────────────────────────────────────────────────── */

/* The outputs of a model, as it is written. */
static int run_plain(const runner *r, const feed *in, size_t n, onx_arg *outs) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_session_run(r->session, in->count, in->args, n, outs, NULL, &diag);
    return status ? runner_fail(r, &diag) : CLI_OK;
}

static int open_plain(const cli_args *args, onx_model *model, runner *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options how = ONX_INIT(onx_session_options);
    how.level = ONX_LEVEL_NONE;
    *out = (runner){.args = args, .model = model};
    return onx_session_new(model, &how, &out->session, &diag) ? runner_fail(out, &diag) : CLI_OK;
}

static int compare_output(const runner *r, size_t index, const onx_arg *was, const onx_arg *is,
                          double *worst) {
    const diff_tolerance tolerance = {.rtol = -1};
    onx_data *data[2] = {NULL, NULL};
    diff_distance distance = {.different = true};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_arg_to_data(NULL, was, &data[0], &diag);
    if (!status) status = onx_arg_to_data(NULL, is, &data[1], &diag);
    bool fine = !status && diff_measure(&tolerance, data[1], data[0], &distance);
    onx_data_free(data[0]);
    onx_data_free(data[1]);
    if (!fine) return cli_no_memory(r->args->command);
    double error = distance.scale > 0 ? distance.error / distance.scale : distance.error;
    if (error > *worst) *worst = error;
    if (!distance.different) return CLI_OK;
    cli_note(r->args->command, "output %s differs: %s", onx_session_output_name(r->session, index),
             distance.first.s);
    return CLI_BAD;
}

static int compare(const runner *before, const runner *after, const feed *in) {
    size_t n = onx_session_output_count(before->session);
    onx_arg *outs = calloc(2 * n + 1, sizeof *outs);
    double worst = 0;
    if (!outs) return cli_no_memory(before->args->command);
    int status = run_plain(before, in, n, outs);
    if (status == CLI_OK) status = run_plain(after, in, n, outs + n);
    for (size_t i = 0; i < n && status == CLI_OK; i++)
        status = compare_output(before, i, &outs[i], &outs[n + i], &worst);
    for (size_t i = 0; i < 2 * n; i++) onx_arg_clear(&outs[i]);
    free(outs);
    if (status == CLI_OK)
        cli_note(before->args->command, "verified: %zu output%s, the largest error is %.3g", n,
                 cli_plural(n), worst);
    return status;
}

/* Both models give the same outputs; then CLI_OK. */
static int verify(const cli_args *given, onx_model *before, onx_model *after) {
    const char *folder = given->values[OPTIMIZE_VERIFY];
    cli_args args = {.command = given->command, .files = given->files, .n_files = given->n_files};
    runner was, is = {.args = NULL};
    feed in = {.count = 0};
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_model_check(after, NULL, &diag)) return cli_fail(args.command, &diag);
    if (*folder) args.values[RUNNER_INPUTS] = folder;
    int status = open_plain(&args, before, &was);
    if (status == CLI_OK) status = open_plain(&args, after, &is);
    if (status == CLI_OK) status = feed_open(&was, FEED_RANDOM, &in);
    if (status == CLI_OK) status = compare(&was, &is, &in);
    feed_close(&in);
    onx_session_free(was.session);
    onx_session_free(is.session);
    return status;
}

/* ── The command ─────────────────────────────────────────────────────────────────────────────── */

static int optimize(optimizing *o, const onx_optimize_options *how, onx_model *model) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_optimized counts = ONX_INIT(onx_optimized);
    onx_model *better;
    onx_status bad = onx_model_optimize(model, how, &better, &counts, &diag);
    cli_progress_hide(&o->progress);
    if (bad) return cli_fail(o->args->command, &diag);
    int status = o->args->values[OPTIMIZE_VERIFY] ? verify(o->args, model, better) : CLI_OK;
    if (status == CLI_OK) status = edit_save(o->args, better);
    if (status == CLI_OK) tell(o, &counts);
    onx_model_free(better);
    return status;
}

static int run(const cli_args *args) {
    optimizing o = {.args = args};
    onx_optimize_options how = ONX_INIT(onx_optimize_options);
    onx_model *model;
    if (args->values[OPTIMIZE_LIST]) return put_list();
    if (!args->n_files) return cli_usage(args->command, "which model should be optimized?");
    int status = edit_check(args);
    if (status == CLI_OK && !read_options(&o, &how)) status = CLI_USAGE;
    if (status == CLI_OK) status = edit_load(args, args->files[0], &model);
    if (status == CLI_OK) {
        status = optimize(&o, &how, model);
        onx_model_free(model);
    }
    edit_list_free(&o.keep);
    return status;
}

const cli_command cli_optimize = {
    "optimize",
    "[OPTIONS] MODEL -o OUT",
    "a model that computes the same with less work, in portable ONNX",
    "Folds constants, removes what does nothing or is not needed, and recognises patterns. Inputs, "
    "outputs\n"
    "and opsets stay, so any runtime runs OUT. Says on standard error what was changed.\n"
    "  onx optimize resnet50.onnx -o fast.onnx\n"
    "  onx optimize model.onnx -o out.onnx --level 1        only what keeps every bit\n"
    "  onx optimize model.onnx -o out.onnx --disable fold   all but one pass\n"
    "  onx optimize model.onnx -o out.onnx --verify         compare the results of both\n"
    "With --verify nothing is written when they differ. Sessions do all of this on their own, and "
    "more.\n"
    "Exit status: 0 written, 1 the model is wrong, or results differ.",
    options,
    0,
    1,
    run,
};
