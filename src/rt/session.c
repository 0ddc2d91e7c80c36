/* session.c: making sessions, and running them. */
#include "rt/session.h"

#include "base/options.h"
#include "ir/edit.h"
#include "pass/inline.h"
#include "rt/eval.h"
#include "rt/lower/lower.h"

#include <stdlib.h>

/* ─ Making ───────────────────────────────────────────────────────────────────────────────────── */

/* The byte of ONX_POISON, or of the options; 0: none. */
static uint8_t poison_of(const onx_context *ctx, const onx_session_options *options) {
    const char *text = ctx->os->variable("ONX_POISON");
    return options->poison || !text ? options->poison : (uint8_t)strtoul(text, NULL, 0);
}

/* The context that all memory of the session comes from: one of its own when it has a limit. */
static onx_context *choose_context(onx_context *ctx, const onx_session_options *options) {
    uint8_t poison = poison_of(ctx, options);
    if (!options->memory_limit && !poison) {
        onx_context_retain(ctx);
        return ctx;
    }
    onx_context *child = onx_context_child(ctx, options->memory_limit);
    if (child) child->poison = poison;
    return child;
}

static onx_status copy_sizes(onx_session *s, const onx_session_options *options, onx_diag *diag) {
    s->sizes = onx_arena_array(&s->arena, options->n_sizes, sizeof *s->sizes);
    if (!s->sizes) return onx_fail_nomem(diag);
    for (size_t i = 0; i < options->n_sizes; i++) {
        onx_str name = {NULL, 0};
        if (!onx_arena_str(&s->arena, onx_str_of(options->sizes[i].name), &name))
            return onx_fail_nomem(diag);
        s->sizes[s->n_sizes++] = (onx_size){name.data, options->sizes[i].value};
    }
    return ONX_OK;
}

/* Nodes of onx.internal come from the engine alone. And an attribute is there once: of two, kernels
 * would see the first, and what rewrites the node perhaps the other. */
static onx_status refuse_node(const onx_node *node, onx_map *many, onx_diag *diag) {
    bool full = false;
    if (onx_str_is(node->domain, "onx.internal"))
        return onx_fail(diag, ONX_INVALID, "files cannot use nodes of the domain onx.internal");
    ONX_EACH (onx_attr, attr, node->attribute)
        if (!onx_attr_is_first(node, attr, many, &full))
            return onx_fail(diag, ONX_INVALID, "the node has two attributes '%.*s': keep one",
                            ONX_FMT(attr->name));
    return full ? onx_fail_nomem(diag) : ONX_OK;
}

static onx_status refuse_nodes(const onx_model *model, onx_map *many, onx_diag *diag) {
    const onx_graph *graph = model->graph;
    char path[160];
    while (graph) {
        ONX_EACH (onx_node, node, graph->node) {
            onx_status status = refuse_node(node, many, diag);
            if (status == ONX_OK) continue;
            onx_msg_path(&node->msg, path, sizeof path);
            onx_diag_place(diag, "%s", path);
            return status;
        }
        if (graph->first_sub)
            graph = graph->first_sub;
        else {
            while (graph && !graph->next_sub) graph = graph->outer;
            if (graph) graph = graph->next_sub;
        }
    }
    return ONX_OK;
}
static onx_status refuse(const onx_session *s, onx_diag *diag) {
    onx_map many;
    onx_map_init(&many, s->ctx);
    onx_status status = refuse_nodes(s->source, &many, diag);
    onx_map_fini(&many);
    return status;
}

/* Before IR version 4 every initializer had to be an input, too: they are constants all the
 * same. */
static onx_status fix_initializers(onx_graph *graph, onx_diag *diag) {
    for (size_t i = graph->ins.n; i-- > 0;) {
        onx_value *value = graph->ins.v[i]->value;
        if (value->init) ONX_TRY(onx_graph_remove_input(graph, value, diag));
    }
    return ONX_OK;
}

static bool has_row(const onx_kernel *rows, const onx_op *op) {
    for (const onx_kernel *row = rows; row->op; row++)
        if (onx_kernel_is_for(row, op)) return true;
    return false;
}

static bool has_kernel(const onx_engine *engine, const onx_op *op) {
    for (size_t i = 0; i < engine->n_providers; i++)
        for (size_t t = 0; engine->providers[i]->tables[t]; t++)
            if (has_row(engine->providers[i]->tables[t], op)) return true;
    return false;
}

/* An operator is expanded: a small program for the model needs its row, too. */
static bool remember(void *user, const onx_op *op) {
    onx_session *s = user;
    for (size_t i = 0; i < s->n_expanded; i++)
        if (s->expanded[i] == op) return true;
    if (!onx_arena_grow(&s->arena, &s->expanded, &s->cap_expanded, s->n_expanded, sizeof(onx_op *)))
        return false;
    s->expanded[s->n_expanded++] = op;
    onx_session_log(s, ONX_LOG_INFO, "what %s is a function of is run in its place", op->name);
    return true;
}

static bool has_no_kernel(void *user, const onx_node *node, const onx_op *op) {
    onx_session *s = user;
    (void)node;
    return !has_kernel(&s->engine, op) && remember(s, op);
}

/* Functions are inlined, and operators that are functions where there is no kernel for them. */
static onx_status inline_functions(onx_session *s, onx_diag *diag) {
    onx_facts_options infer = {.n_sizes = s->n_sizes, .sizes = s->sizes};
    onx_inline how = {.user = s, .expands = has_no_kernel, .infer = &infer};
    return onx_inline_run(s->source, &how, diag);
}

static onx_status take_model(onx_session *s, const onx_model *model,
                             const onx_session_options *options, onx_diag *diag) {
    if (!model->graph) return onx_fail(diag, ONX_INVALID, "the model has no graph");
    ONX_TRY(onx_model_clone_to(s->ctx, model, &s->source, diag));
    if (s->source->ir_version < 4) ONX_TRY(fix_initializers(s->source->graph, diag));
    ONX_TRY(onx_session_supply(s->source, options->n_initializers, options->initializers, diag));
    ONX_TRY(inline_functions(s, diag));
    ONX_TRY(refuse(s, diag));
    ONX_TRY(onx_session_write_out(s->source, diag));
    onx_facts_options infer = {.n_sizes = s->n_sizes, .sizes = s->sizes};
    if (!onx_session_gradient) return ONX_OK;
    return onx_session_gradient(s->source, &infer, remember, s, diag);
}

/* The packed weights of a model: made by its first session. One that counts its memory has its
 * own. */
static onx_status share_store(onx_session *s, const onx_model *model, onx_diag *diag) {
    if (s->ctx != model->msg.doc->ctx) return onx_store_new(s->ctx, &s->engine.store, diag);
    onx_shared *shared = &((onx_model *)(uintptr_t)model)->packed;
    onx_store *store = NULL, *made = NULL;
    while (atomic_flag_test_and_set(&shared->lock)) onx_thread_yield();
    store = shared->object;
    onx_status status = ONX_OK;
    if (!store) {
        status = onx_store_new(model->msg.doc->ctx, &made, diag);
        if (status == ONX_OK) {
            shared->object = store = made;
            shared->release = onx_store_release;
        }
    }
    if (store) s->engine.store = onx_store_retain(store);
    atomic_flag_clear(&shared->lock);
    return status;
}

/* A list of passes; NULL stays NULL. */
static onx_status copy_list(onx_session *s, const char *list, const char **out, onx_diag *diag) {
    onx_str copy = {NULL, 0};
    ONX_TRY(onx_pass_check_names(list, onx_lower_knows, diag));
    if (list && !onx_arena_str(&s->arena, onx_str_of(list), &copy)) return onx_fail_nomem(diag);
    *out = copy.data;
    return ONX_OK;
}

/* From this size on, the second-level cache has room for weights that are fetched before their
 * time. */
enum { FETCH_CACHE = 3 << 19 };

static onx_status make(onx_session *s, const onx_model *model, const onx_session_options *options,
                       const onx_provider *const *providers, size_t n, onx_diag *diag) {
    s->log = options->log;
    s->log_user = options->log_user;
    s->engine.threads = options->threads ? options->threads : onx_thread_available();
    s->engine.fetches = onx_thread_cache() >= FETCH_CACHE;
    if (s->engine.threads > 1)
        ONX_TRY(onx_workers_retain(s->ctx, s->engine.threads, &s->engine.workers, diag));
    ONX_TRY(onx_session_choose(s, options, providers, n, diag));
    ONX_TRY(copy_sizes(s, options, diag));
    ONX_TRY(share_store(s, model, diag));
    s->engine.ctx = s->ctx;
    s->engine.dynamic = options->dynamic;
    s->engine.poison = s->ctx->poison;
    s->numerics = options->numerics;
    s->level = options->level == ONX_LEVEL_DEFAULT ? ONX_LEVEL_ALL : options->level;
    ONX_TRY(copy_list(s, options->disable, &s->disable, diag));
    ONX_TRY(copy_list(s, options->enable, &s->enable, diag));
    ONX_TRY(take_model(s, model, options, diag));
    return onx_variant_new(s, options->n_pins, options->pins, options->pin_all, &s->variants, diag);
}

/* Memory that ran out where there is a limit: says so. */
static onx_status within(onx_status status, size_t limit, onx_diag *diag) {
    if (status == ONX_NO_MEMORY && limit)
        (void)onx_fail(diag, status, "out of memory: the session may allocate %zu bytes", limit);
    return status;
}

onx_status onx_session_make(const onx_model *model, const onx_session_options *options,
                            const onx_provider *const *providers, size_t n_providers,
                            onx_session **out, onx_diag *diag) {
    onx_session_options given;
    ONX_TRY(ONX_OPTIONS(&given, options, diag));
    if (!model || !out) return onx_fail(diag, ONX_USAGE, "a model and a place for the session");
    onx_context *ctx = choose_context(model->msg.doc->ctx, &given);
    onx_session *s = ctx ? onx_mem_alloc(ctx, sizeof *s) : NULL;
    if (!s) {
        onx_context_free(ctx);
        return within(onx_fail_nomem(diag), given.memory_limit, diag);
    }
    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    onx_arena_init(&s->arena, s->ctx);
    onx_mutex_init(&s->lock);
    onx_status status = make(s, model, &given, providers, n_providers, diag);
    if (status != ONX_OK)
        onx_session_free(s);
    else
        *out = s;
    return within(status, given.memory_limit, diag);
}

onx_status onx_session_new(const onx_model *model, const onx_session_options *options,
                           onx_session **out, onx_diag *diag) {
    return onx_session_make(model, options, NULL, 0, out, diag);
}

void onx_session_free(onx_session *s) {
    if (!s) return;
    while (s->variants) {
        onx_variant *variant = s->variants;
        s->variants = variant->next;
        onx_variant_free(s, variant);
    }
    onx_workers_release(s->engine.workers);
    onx_store_release(s->engine.store);
    onx_model_free(s->source);
    onx_arena_fini(&s->arena);
    onx_mutex_fini(&s->lock);
    onx_context *ctx = s->ctx;
    onx_mem_free(ctx, s, sizeof *s);
    onx_context_free(ctx);
}

/* ─ Looking at it ────────────────────────────────────────────────────────────────────────────── */

size_t onx_session_input_count(const onx_session *s) {
    return onx_graph_input_count(s->source->graph);
}
const char *onx_session_input_name(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_input(s->source->graph, index);
    return value ? onx_value_name(value) : NULL;
}
const onx_type *onx_session_input_type(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_input(s->source->graph, index);
    return value ? onx_value_type(value) : NULL;
}
bool onx_session_input_optional(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_input(s->source->graph, index);
    return value && value->init;
}
size_t onx_session_output_count(const onx_session *s) {
    return onx_graph_output_count(s->source->graph);
}
const char *onx_session_output_name(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_output(s->source->graph, index);
    return value ? onx_value_name(value) : NULL;
}
const onx_type *onx_session_output_type(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_output(s->source->graph, index);
    return value ? onx_value_type(value) : NULL;
}
size_t onx_session_threads(const onx_session *s) {
    return s->engine.threads;
}
const char *onx_session_cpu(const onx_session *s) {
    return s->cpu.isa;
}

/* ─ Which program ────────────────────────────────────────────────────────────────────────────── */

static bool is_output(const onx_session *s, const char *name) {
    for (size_t i = 0; i < onx_session_output_count(s); i++)
        if (strcmp(onx_session_output_name(s, i), name) == 0) return true;
    return false;
}

static bool keeps(const onx_session *s, const onx_variant *v, const char *name) {
    if (!name || is_output(s, name)) return true;
    for (size_t i = 0; i < v->n_pins; i++)
        if (onx_str_is(v->pins[i].name, name)) return true;
    const onx_value *value = onx_graph_find(s->source->graph, name);
    return value && !value->def && onx_value_is_defined(value); /* an input or an initializer */
}

static bool keeps_all(const onx_session *s, const onx_variant *v, size_t n, const onx_arg *out) {
    for (size_t i = 0; i < n; i++)
        if (!keeps(s, v, out[i].name)) return false;
    return true;
}

static onx_status pick_variant(onx_session *s, size_t n, const onx_arg *out, onx_variant **picked,
                               onx_diag *diag) {
    enum { NAMES_MAX = 1024 };
    const char *names[NAMES_MAX];
    onx_mutex_lock(&s->lock);
    onx_variant *v = s->variants;
    while (v && !keeps_all(s, v, n, out)) v = v->next;
    onx_mutex_unlock(&s->lock);
    *picked = v;
    if (v) return ONX_OK;
    if (n > NAMES_MAX) return onx_fail(diag, ONX_LIMIT, "%zu outputs are asked for at once", n);
    for (size_t i = 0; i < n; i++) names[i] = out[i].name;
    ONX_TRY(onx_variant_new(s, n, names, false, &v, diag));
    if (!keeps_all(s, v, n, out)) {
        size_t i = 0;
        while (keeps(s, v, out[i].name)) i++;
        onx_variant_free(s, v);
        onx_fail(diag, ONX_NOT_FOUND, "the model has no value '%.200s'", out[i].name);
        onx_names_hint(diag, "outputs", out[i].name, onx_session_output_count(s),
                       onx_session_output_name, s);
        return ONX_NOT_FOUND;
    }
    onx_mutex_lock(&s->lock);
    onx_variant **end = &s->variants;
    while (*end) end = &(*end)->next;
    *end = v;
    onx_mutex_unlock(&s->lock);
    *picked = v;
    return ONX_OK;
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status run_lane(onx_session *s, onx_variant *v, onx_lane *lane, size_t n_in,
                           const onx_arg *in, size_t n_out, onx_arg *out, onx_run *run) {
    lane->frame->diag = run->diag;
    lane->frame->run = run;
    run->wanted = lane->wanted;
    run->n_wanted = v->n_pins;
    ONX_TRY(onx_lane_feed(s, v, lane, n_in, in, false, run->diag));
    ONX_TRY(onx_frame_bind(lane->frame));
    ONX_TRY(onx_lane_direct(s, v, lane, n_out, out, run->diag));
    ONX_TRY(onx_frame_run(lane->frame, run));
    return onx_lane_deliver(s, v, lane, n_out, out, run->diag);
}

/* On failure outputs are as they were. */
static void take_back(size_t n, onx_arg *out, const onx_arg *before) {
    for (size_t i = 0; i < n; i++) {
        if (out[i].owned && !before[i].owned) onx_arg_clear(&out[i]);
        out[i] = before[i];
    }
}

onx_status onx_session_run(onx_session *s, size_t n_in, const onx_arg *in, size_t n_out,
                           onx_arg *out, const onx_run_options *options, onx_diag *diag) {
    enum { OUT_FEW = 16 };
    onx_run_options given;
    ONX_TRY(ONX_OPTIONS(&given, options, diag));
    if (!s || (n_in && !in) || (n_out && !out))
        return onx_fail(diag, ONX_USAGE, "a session, inputs and outputs are needed");
    onx_arg few[OUT_FEW], *before = few;
    if (n_out > OUT_FEW) before = onx_mem_alloc(s->ctx, n_out * sizeof *before);
    if (!before) return onx_fail_nomem(diag);
    if (n_out) memcpy(before, out, n_out * sizeof *before);
    onx_run run = {.engine = &s->engine,
                   .profile = given.profile,
                   .progress = given.progress,
                   .progress_user = given.progress_user,
                   .diag = diag};
    run.cancel = given.cancel ? onx_cancel_flag(given.cancel) : NULL;
    if (given.timeout > 0 && given.timeout < 1e9) /* longer than that is for ever */
        run.deadline = onx_clock_ns() + (int64_t)(given.timeout * 1e9);
    onx_variant *variant = NULL;
    onx_lane *lane = NULL;
    onx_status status = pick_variant(s, n_out, out, &variant, diag);
    if (status == ONX_OK) status = onx_lane_take(s, variant, n_in, in, &lane, diag);
    if (status == ONX_OK) {
        status = run_lane(s, variant, lane, n_in, in, n_out, out, &run);
        onx_lane_unfeed(lane);
        onx_lane_give(s, variant, lane);
    }
    if (status != ONX_OK) take_back(n_out, out, before);
    if (before != few) onx_mem_free(s->ctx, before, n_out * sizeof *before);
    return within(status, s->ctx->memory_limit, diag);
}
