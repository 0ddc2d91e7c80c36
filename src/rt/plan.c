/* plan.c: what a session would do with inputs of given shapes, as a table to look at. */
#include "rt/session.h"

#include <stdio.h>

struct onx_plan {
    onx_context *ctx;
    onx_arena arena;
    onx_plan_step *steps;
    onx_plan_value *values;
    size_t n_steps, n_values, slab, bound, packed;
};

static const char *text_of(onx_plan *plan, onx_str text) {
    onx_str copy = {NULL, 0};
    return onx_arena_str(&plan->arena, text, &copy) && copy.data ? copy.data : "";
}

static void write_type(const onx_slot *slot, const onx_operand *value, char *out, size_t size) {
    size_t at = 0;
    (void)snprintf(out, size, "?");
    if (slot->late || value->kind != ONX_TYPE_TENSOR) return;
    at = (size_t)snprintf(out, size, "%s", onx_dtype_name((onx_dtype)value->dtype));
    for (size_t d = 0; d < value->rank && at < size; d++)
        at += (size_t)snprintf(out + at, size - at, "%s%lld", d ? "," : "[",
                               (long long)value->dims[d]);
    if (value->rank && at < size) (void)snprintf(out + at, size - at, "]");
}

static const char *where(const onx_frame *frame, uint32_t i) {
    const onx_slot *slot = &frame->program->slots[i];
    static const char *const roles[] = {"", "input", "constant", "capture"};
    if (slot->role != ONX_ROLE_TEMP) return roles[slot->role];
    if (slot->early) return "bind";
    if (slot->late) return "run";
    if (slot->output) return "output";
    return frame->places[i].root == i ? "slab" : "share";
}

static void fill_value(onx_plan *plan, const onx_frame *frame, uint32_t i) {
    const onx_slot *slot = &frame->program->slots[i];
    const onx_place *root = &frame->places[frame->places[i].root];
    onx_plan_value *v = &plan->values[i];
    v->name = text_of(plan, slot->name);
    write_type(slot, &frame->values[i], v->type, sizeof v->type);
    v->where = where(frame, i);
    v->offset = slot->role == ONX_ROLE_TEMP && root->slab ? root->offset : 0;
    v->bytes = slot->late ? 0 : frame->values[i].bytes;
    v->first = slot->role == ONX_ROLE_TEMP ? slot->maker : 0;
    v->last = slot->output || slot->last == ONX_NO_SLOT ? frame->program->n_steps : slot->last;
}

static void fill_step(onx_plan *plan, const onx_frame *frame, uint32_t i) {
    const onx_step *step = &frame->program->steps[i];
    const onx_call *call = &frame->calls[i];
    static const char *const whens[] = {"run", "bind", "late"};
    char text[300];
    onx_plan_step *s = &plan->steps[i];
    s->node = text_of(plan, step->node ? step->node->name : (onx_str){NULL, 0});
    (void)snprintf(text, sizeof text, "%s%s%s", step->op->domain ? step->op->domain : "",
                   step->op->domain ? "::" : "", step->op->name);
    s->op = text_of(plan, onx_str_of(text));
    (void)snprintf(text, sizeof text, "%s%s%s", step->kernel->name ? step->kernel->name : "",
                   step->tier[0] ? " " : "", step->tier);
    s->kernel = text_of(plan, onx_str_of(text));
    s->when = whens[step->when];
    s->n_in = step->n_in;
    s->n_out = step->n_out;
    s->in = step->in;
    s->out = step->out;
    s->overwrites = step->when == ONX_WHEN_RUN ? frame->overwrites[i] : -1;
    s->scratch = step->when == ONX_WHEN_RUN
                     ? onx_align_up(call->scratch_bytes) +
                           frame->program->engine->threads * onx_align_up(call->scratch_each)
                     : 0;
    if (step->holds) plan->packed += onx_packed_bytes(step->holds);
}

/* Edges are copied: the plan outlives the session. */
static bool copy_edges(onx_plan *plan, onx_plan_step *s) {
    uint32_t *edges = onx_arena_array(&plan->arena, s->n_in + s->n_out, sizeof *edges);
    if (!edges) return false;
    if (s->n_in) memcpy(edges, s->in, s->n_in * sizeof *edges);
    if (s->n_out) memcpy(edges + s->n_in, s->out, s->n_out * sizeof *edges);
    s->in = edges;
    s->out = edges + s->n_in;
    return true;
}

static onx_status fill(onx_plan *plan, const onx_frame *frame, onx_diag *diag) {
    const onx_program *program = frame->program;
    plan->values = onx_arena_array(&plan->arena, program->n_slots, sizeof *plan->values);
    plan->steps = onx_arena_array(&plan->arena, program->n_steps, sizeof *plan->steps);
    if (!plan->values || !plan->steps) return onx_fail_nomem(diag);
    for (; plan->n_values < program->n_slots; plan->n_values++)
        fill_value(plan, frame, (uint32_t)plan->n_values);
    for (; plan->n_steps < program->n_steps; plan->n_steps++) {
        fill_step(plan, frame, (uint32_t)plan->n_steps);
        if (!copy_edges(plan, &plan->steps[plan->n_steps])) return onx_fail_nomem(diag);
    }
    for (size_t d = 0; d < program->engine->n_providers; d++) {
        plan->slab += frame->slabs[d].peak;
        plan->bound += frame->slabs[d].bound;
    }
    return ONX_OK;
}

onx_status onx_plan_new(onx_session *s, size_t n_in, const onx_arg *in, onx_plan **out,
                        onx_diag *diag) {
    onx_plan *plan = onx_mem_alloc(s->ctx, sizeof *plan);
    if (!plan) return onx_fail_nomem(diag);
    *plan = (onx_plan){.ctx = s->ctx};
    onx_context_retain(plan->ctx);
    onx_arena_init(&plan->arena, plan->ctx);
    onx_lane *lane = NULL;
    onx_variant *variant = s->variants;
    onx_status status = onx_lane_take(s, variant, n_in, in, &lane, diag);
    if (status == ONX_OK) {
        lane->frame->diag = diag;
        status = onx_lane_feed(s, variant, lane, n_in, in, true, diag);
        if (status == ONX_OK) status = onx_frame_bind(lane->frame);
        if (status == ONX_OK) status = fill(plan, lane->frame, diag);
        onx_lane_unfeed(lane);
        onx_lane_give(s, variant, lane);
    }
    if (status != ONX_OK)
        onx_plan_free(plan);
    else
        *out = plan;
    return status;
}

void onx_plan_free(onx_plan *plan) {
    if (!plan) return;
    onx_context *ctx = plan->ctx;
    onx_arena_fini(&plan->arena);
    onx_mem_free(ctx, plan, sizeof *plan);
    onx_context_free(ctx);
}
size_t onx_plan_step_count(const onx_plan *plan) {
    return plan->n_steps;
}
const onx_plan_step *onx_plan_step_at(const onx_plan *plan, size_t index) {
    return index < plan->n_steps ? &plan->steps[index] : NULL;
}
size_t onx_plan_value_count(const onx_plan *plan) {
    return plan->n_values;
}
const onx_plan_value *onx_plan_value_at(const onx_plan *plan, size_t index) {
    return index < plan->n_values ? &plan->values[index] : NULL;
}
size_t onx_plan_slab(const onx_plan *plan) {
    return plan->slab;
}
size_t onx_plan_bound(const onx_plan *plan) {
    return plan->bound;
}
size_t onx_plan_packed(const onx_plan *plan) {
    return plan->packed;
}
