/* optimize.c: the portable passes over a copy of a model: onx_model_optimize. */
#include "base/options.h"
#include "rt/lower/lower.h"

enum { MAX_PASSES = 128 };

typedef struct optimizing {
    onx_optimize_options options;
    onx_cpu cpu;
    onx_model *model;
    size_t counts[MAX_PASSES];
} optimizing;

bool onx_pass_at(size_t index, onx_pass_info *out) {
    size_t n = 0;
    while (onx_passes_at(n)) n++;
    bool portable = index < n;
    const onx_pass *pass = portable ? onx_passes_at(index) : onx_lower_at(index - n);
    if (pass)
        *out = (onx_pass_info){.name = pass->name,
                               .summary = pass->summary ? pass->summary : "",
                               .level = pass->level,
                               .portable = portable};
    return pass != NULL;
}

/* ─ Callbacks of the passes ──────────────────────────────────────────────────────────────────── */

static bool is_kept(void *user, const onx_value *value) {
    const onx_optimize_options *options = &((const optimizing *)user)->options;
    for (size_t i = 0; i < options->n_keep; i++)
        if (options->keep[i] && onx_str_is(value->name, options->keep[i])) return true;
    return false;
}

static onx_status evaluate(void *user, const onx_node *node, size_t n_in,
                           const onx_tensor *const *in, size_t n_out, onx_tensor **out) {
    const optimizing *o = user;
    return onx_lower_eval(o->model->msg.doc->ctx, &o->cpu.provider, node, n_in, in, n_out, out);
}

static void tell_progress(void *user, size_t round, const char *pass) {
    const onx_optimize_options *options = &((const optimizing *)user)->options;
    options->progress(options->user, round, pass);
}

/* ─ Counts ───────────────────────────────────────────────────────────────────────────────────── */

static void count(const onx_model *model, size_t *nodes, size_t *initializers, uint64_t *bytes) {
    const onx_graph *top = model->graph, *g = top;
    *nodes = *initializers = 0;
    *bytes = 0;
    while (g) {
        *nodes += g->node.count;
        *initializers += g->initializer.count;
        ONX_EACH (onx_tensor, t, g->initializer) {
            size_t size;
            if (!onx_tensor_bytes(t, &size, NULL)) *bytes += size;
        }
        if (g->first_sub) {
            g = g->first_sub;
        } else {
            while (g != top && !g->next_sub) g = g->outer;
            g = g == top ? NULL : g->next_sub;
        }
    }
}

static void tell(const optimizing *o, const onx_pass_ctx *ctx, onx_level level) {
    onx_pass_info info;
    for (size_t i = 0; o->options.report && onx_passes_at(i); i++)
        if (onx_pass_wanted(ctx, onx_passes_at(i), level) && onx_pass_at(i, &info))
            o->options.report(o->options.user, &info, o->counts[i]);
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

static onx_status optimize(optimizing *o, onx_diag *diag) {
    onx_facts_options infer = {.sceptical = true};
    onx_level level = o->options.level == ONX_LEVEL_DEFAULT ? ONX_LEVEL_ALL : o->options.level;
    onx_pass_ctx ctx = {.model = o->model,
                        .infer = &infer,
                        .diag = diag,
                        .user = o,
                        .eval = evaluate,
                        .pinned = is_kept,
                        .disable = o->options.disable,
                        .enable = o->options.enable,
                        .progress = o->options.progress ? tell_progress : NULL,
                        .counts = o->counts,
                        .fold_bytes = (size_t)o->options.fold_limit};
    ONX_TRY(onx_pass_check_names(ctx.disable, onx_passes_has, diag));
    ONX_TRY(onx_pass_check_names(ctx.enable, onx_passes_has, diag));
    ONX_TRY(onx_cpu_init(&o->cpu, NULL, diag));
    ONX_TRY(onx_facts_new(o->model, &infer, &ctx.facts, diag));
    onx_status status = onx_passes_run(&ctx, level);
    onx_facts_free(ctx.facts);
    if (!status) tell(o, &ctx, level);
    return status;
}

/* Functions that are not called any more go, where the nodes do that nobody needs. */
static onx_status drop_functions(const optimizing *o, onx_diag *diag) {
    const onx_optimize_options *how = &o->options;
    const onx_pass_ctx ctx = {.disable = how->disable, .enable = how->enable};
    onx_level level = how->level == ONX_LEVEL_DEFAULT ? ONX_LEVEL_ALL : how->level;
    bool wanted = false;
    for (size_t i = 0; onx_passes_at(i); i++)
        if (strcmp(onx_passes_at(i)->name, "dce") == 0)
            wanted = onx_pass_wanted(&ctx, onx_passes_at(i), level);
    if (!wanted || how->n_keep || !o->model->functions.count) return ONX_OK;
    return onx_model_strip(o->model, ONX_STRIP_UNUSED, NULL, diag);
}

onx_status onx_model_optimize(const onx_model *model, const onx_optimize_options *options,
                              onx_model **out, onx_optimized *counts, onx_diag *diag) {
    optimizing o = {.model = NULL};
    onx_optimized found;
    ONX_TRY(ONX_OPTIONS(&o.options, options, diag));
    ONX_TRY(ONX_OPTIONS(&found, counts, diag));
    if (!model || !model->graph || !out)
        return onx_fail(diag, ONX_USAGE, "a model with a graph, and a place for the new one");
    found = (onx_optimized){.size = counts ? counts->size : 0};
    count(model, &found.nodes_before, &found.initializers_before, &found.bytes_before);
    ONX_TRY(onx_model_clone(model, &o.model, diag));
    onx_status status = optimize(&o, diag);
    if (!status) status = drop_functions(&o, diag);
    if (status) {
        onx_model_free(o.model);
        return status;
    }
    count(o.model, &found.nodes_after, &found.initializers_after, &found.bytes_after);
    if (counts) memcpy(counts, &found, found.size < sizeof found ? found.size : sizeof found);
    *out = o.model;
    return ONX_OK;
}
