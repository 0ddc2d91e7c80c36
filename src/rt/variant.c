/* variant.c: one program of a session: the model rewritten, types inferred, steps built. */
#include "rt/eval.h"
#include "rt/lower/lower.h"
#include "rt/session.h"

#include "pass/pass.h"

typedef struct making {
    onx_session *session;
    onx_variant *variant;
    onx_diag *diag;
} making;

/* ─ Callbacks of the passes ──────────────────────────────────────────────────────────────────── */

static bool is_asked(void *user, const onx_value *value) {
    const onx_variant *variant = ((making *)user)->variant;
    if (variant->all) return value->def != NULL;
    for (size_t i = 0; i < variant->n_names; i++)
        if (onx_str_eq(variant->names[i], value->name)) return true;
    return false;
}

static bool has_kernel(void *user, const char *op) {
    const onx_provider *cpu = &((making *)user)->session->cpu.provider;
    for (size_t t = 0; cpu->tables[t]; t++)
        for (const onx_kernel *row = cpu->tables[t]; row->op; row++)
            if ((cpu->fast || !(row->flags & ONX_KERNEL_FAST)) && row->domain &&
                strcmp(row->domain, ONX_INTERNAL) == 0 && strcmp(row->op, op) == 0)
                return true;
    return false;
}

static onx_status evaluate(void *user, const onx_node *node, size_t n_in,
                           const onx_tensor *const *in, size_t n_out, onx_tensor **out) {
    const onx_session *s = ((making *)user)->session;
    return onx_lower_eval(s->ctx, &s->cpu.provider, node, n_in, in, n_out, out);
}

/* ─ Rewriting ────────────────────────────────────────────────────────────────────────────────── */

static size_t block_of(const onx_session *session) {
    const struct {
        const char *isa;
        size_t block;
    } blocks[] = {{"amx", 16}, {"bf16", 16}, {"vnni", 16}, {"avx512", 16},
                  {"avx2", 8}, {"base", 4},  {"neon", 4}};
    for (size_t i = 0; i < ONX_COUNT(blocks); i++)
        if (strcmp(blocks[i].isa, session->cpu.isa) == 0) return blocks[i].block;
    return 0;
}

static bool has_fast_rows(const onx_session *session) {
    return strcmp(session->cpu.isa, "amx") == 0 || strcmp(session->cpu.isa, "bf16") == 0;
}

static onx_status rewrite(making *m, onx_facts **facts) {
    onx_session *s = m->session;
    onx_facts_options infer = {.n_sizes = s->n_sizes, .sizes = s->sizes, .sceptical = true};
    onx_pass_ctx ctx = {.model = m->variant->model,
                        .diag = m->diag,
                        .user = m,
                        .eval = evaluate,
                        .pinned = is_asked,
                        .infer = &infer,
                        .has_kernel = has_kernel,
                        .disable = s->disable,
                        .enable = s->enable,
                        .block = block_of(s),
                        .fast = s->cpu.provider.fast && has_fast_rows(s)};
    onx_status status = onx_facts_new(m->variant->model, &infer, &ctx.facts, m->diag);
    if (status == ONX_OK) status = onx_passes_run(&ctx, s->level);
    if (status == ONX_OK) status = onx_lower_run(&ctx, s->level);
    onx_facts_free(ctx.facts); /* rewriting leaves gaps: the program is built from fresh ones */
    return status == ONX_OK ? onx_facts_new(m->variant->model, &infer, facts, m->diag) : status;
}

/* ─ Pins ─────────────────────────────────────────────────────────────────────────────────────── */

static onx_status collect_pins(making *m, const onx_program *program, size_t *cap) {
    onx_variant *v = m->variant;
    for (size_t i = 0; i < program->n_outputs + program->n_pins; i++) {
        if (program->depth == 0 && i < program->n_outputs) continue;
        uint32_t slot = program->outputs[i];
        if (i < program->n_outputs && program->slots[slot].role != ONX_ROLE_TEMP) continue;
        if (!onx_arena_grow(&v->arena, &v->pins, cap, v->n_pins, sizeof *v->pins))
            return onx_fail_nomem(m->diag);
        v->pins[v->n_pins++] = (onx_pin){program->slots[slot].name, program, slot};
    }
    for (size_t s = 0; s < program->n_steps; s++)
        for (uint32_t c = 0; c < program->steps[s].n_children; c++)
            ONX_TRY(collect_pins(m, program->steps[s].children[c], cap));
    return ONX_OK;
}

static onx_status copy_names(making *m, size_t n, const char *const *names) {
    onx_variant *v = m->variant;
    v->names = onx_arena_array(&v->arena, n, sizeof *v->names);
    if (!v->names) return onx_fail_nomem(m->diag);
    for (size_t i = 0; i < n; i++)
        if (names[i] && !onx_arena_str(&v->arena, onx_str_of(names[i]), &v->names[v->n_names++]))
            return onx_fail_nomem(m->diag);
    return ONX_OK;
}

static onx_status read_defaults(making *m) {
    onx_variant *v = m->variant;
    const onx_graph *graph = v->model->graph;
    v->defaults = onx_arena_array(&v->arena, graph->ins.n, sizeof *v->defaults);
    if (!v->defaults) return onx_fail_nomem(m->diag);
    for (size_t i = 0; i < graph->ins.n; i++) {
        const onx_value *value = graph->ins.v[i]->value;
        onx_default *d = &v->defaults[i];
        if (!value->init) continue;
        ONX_TRY(
            onx_operand_of_tensor(m->session->ctx, value->init, &d->value, &d->copied, m->diag));
        d->there = true;
    }
    return ONX_OK;
}

static onx_status make(making *m, size_t n, const char *const *names) {
    onx_session *s = m->session;
    onx_variant *v = m->variant;
    size_t cap = 0;
    ONX_TRY(copy_names(m, n, names));
    ONX_TRY(onx_model_clone(s->source, &v->model, m->diag));
    ONX_TRY(rewrite(m, &v->facts));
    ONX_TRY(read_defaults(m));
    onx_build build = {.engine = &s->engine,
                       .facts = v->facts,
                       .arena = &v->arena,
                       .pinned = n || v->all ? is_asked : NULL,
                       .user = m,
                       .diag = m->diag};
    build.threads = onx_thread_available();
    if (build.threads > 1)
        ONX_TRY(onx_workers_retain(s->ctx, build.threads, &build.workers, m->diag));
    onx_status status = onx_program_build(&build, v->model->graph, &v->program);
    onx_workers_release(build.workers);
    ONX_TRY(status);
    onx_store_trim(s->engine.store);
    onx_session_log_variant(s, v, s->source->graph->node.count);
    return build.pinned ? collect_pins(m, v->program, &cap) : ONX_OK;
}

onx_status onx_variant_new(onx_session *session, size_t n, const char *const *names, bool all,
                           onx_variant **out, onx_diag *diag) {
    onx_variant *variant = onx_mem_alloc(session->ctx, sizeof *variant);
    if (!variant) return onx_fail_nomem(diag);
    *variant = (onx_variant){.all = all};
    onx_arena_init(&variant->arena, session->ctx);
    making m = {session, variant, diag};
    onx_status status = make(&m, n, names);
    if (status != ONX_OK)
        onx_variant_free(session, variant);
    else
        *out = variant;
    return status;
}

static void free_lane(onx_session *session, onx_lane *lane) {
    onx_frame_free(lane->frame);
    for (size_t d = 0; d < session->engine.n_providers; d++) onx_blocks_fini(&lane->pools[d]);
    onx_mem_free(session->ctx, lane, sizeof *lane);
}

void onx_variant_free(onx_session *session, onx_variant *variant) {
    while (variant->idle) {
        onx_lane *lane = variant->idle;
        variant->idle = lane->next;
        free_lane(session, lane);
    }
    size_t n = variant->defaults ? variant->model->graph->ins.n : 0;
    for (size_t i = 0; i < n; i++)
        if (variant->defaults[i].copied) onx_eval_clear(session->ctx, &variant->defaults[i].value);
    onx_program_fini(variant->program);
    onx_facts_free(variant->facts);
    onx_model_free(variant->model);
    onx_arena_fini(&variant->arena);
    onx_mem_free(session->ctx, variant, sizeof *variant);
}

/* ─ Lanes ────────────────────────────────────────────────────────────────────────────────────── */

/* Bound to these shapes? Arguments by name are not looked up: they count as different. */
static bool suits(const onx_lane *lane, size_t n_in, const onx_arg *in) {
    const onx_frame *frame = lane->frame;
    if (!frame->bound || n_in != frame->program->n_inputs) return false;
    for (size_t i = 0; i < n_in; i++) {
        const onx_operand *was = &frame->signature[i];
        if (in[i].name || in[i].rank != was->rank || in[i].dtype != was->dtype ||
            (was->rank && memcmp(in[i].dims, was->dims, was->rank * sizeof *was->dims) != 0))
            return false;
    }
    return true;
}

static onx_status new_lane(onx_session *session, onx_variant *variant, onx_lane **out,
                           onx_diag *diag) {
    onx_lane *lane = onx_mem_alloc(session->ctx, sizeof *lane);
    if (!lane) return onx_fail_nomem(diag);
    *lane = (onx_lane){.next = NULL};
    for (size_t d = 0; d < session->engine.n_providers; d++)
        onx_blocks_init(&lane->pools[d], session->ctx, session->engine.providers[d]);
    onx_status status = onx_frame_new(variant->program, lane->pools, &lane->frame, diag);
    if (status == ONX_OK) {
        lane->wanted = onx_arena_array(&lane->frame->arena, variant->n_pins, sizeof *lane->wanted);
        if (!lane->wanted) status = onx_fail_nomem(diag);
    }
    if (status != ONX_OK) {
        free_lane(session, lane);
        return status;
    }
    for (size_t i = 0; i < variant->n_pins; i++)
        lane->wanted[i] =
            (onx_wanted){.program = variant->pins[i].program, .slot = variant->pins[i].slot};
    *out = lane;
    return ONX_OK;
}

onx_status onx_lane_take(onx_session *session, onx_variant *variant, size_t n_in, const onx_arg *in,
                         onx_lane **out, onx_diag *diag) {
    onx_mutex_lock(&session->lock);
    onx_lane **at = &variant->idle;
    while (*at && !suits(*at, n_in, in)) at = &(*at)->next;
    if (!*at) at = &variant->idle;
    onx_lane *lane = *at;
    if (lane) *at = lane->next;
    onx_mutex_unlock(&session->lock);
    if (!lane) return new_lane(session, variant, out, diag);
    *out = lane;
    return ONX_OK;
}

void onx_lane_give(onx_session *session, onx_variant *variant, onx_lane *lane) {
    for (size_t i = 0; i < variant->n_pins; i++) onx_wanted_clear(&lane->wanted[i]);
    onx_frame_clear(lane->frame);
    onx_mutex_lock(&session->lock);
    lane->next = variant->idle;
    variant->idle = lane;
    onx_mutex_unlock(&session->lock);
}
