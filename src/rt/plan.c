/* plan.c: what a session would do with inputs of given shapes, as a table to look at.
 *
 * Plans of subgraphs hang on the steps that run them. They are filled by recursion, as deep as
 * programs are nested. */
#include "rt/session.h"

#include <stdio.h>

struct onx_plan {
    onx_context *ctx;
    onx_arena own;    /* of a plan that is no child */
    onx_arena *arena; /* that all of it lies in */
    const char *name;
    onx_plan_step *steps;
    onx_plan_value *values;
    size_t n_steps, n_values, slab, bound, packed;
};

static const char *text_of(onx_plan *plan, onx_str text) {
    onx_str copy = {NULL, 0};
    return onx_arena_str(plan->arena, text, &copy) && copy.data ? copy.data : "";
}

static void write_type(const onx_slot *slot, const onx_operand *value, bool bound, char *out,
                       size_t size) {
    size_t at = 0;
    if (!bound || slot->late) value = &slot->constant;
    (void)snprintf(out, size, "?");
    if (value->kind != ONX_TYPE_TENSOR || value->rank == ONX_RANK_UNKNOWN) return;
    at = (size_t)snprintf(out, size, "%s", onx_dtype_name((onx_dtype)value->dtype));
    for (size_t d = 0; d < value->rank && at < size; d++) {
        char number[24] = "?";
        if (value->dims[d] >= 0)
            (void)snprintf(number, sizeof number, "%lld", (long long)value->dims[d]);
        at += (size_t)snprintf(out + at, size - at, "%s%s", d ? "," : "[", number);
    }
    if (value->rank && at < size) (void)snprintf(out + at, size - at, "]");
}

static const char *where(const onx_frame *frame, uint32_t i) {
    const onx_slot *slot = &frame->program->slots[i];
    static const char *const roles[] = {"", "input", "constant", "capture"};
    if (slot->role != ONX_ROLE_TEMP) return roles[slot->role];
    if (slot->early) return "bind";
    if (slot->late || !frame->bound) return "run";
    if (slot->output) return "output";
    return frame->places[i].root == i ? "slab" : "share";
}

static void fill_value(onx_plan *plan, const onx_frame *frame, uint32_t i) {
    const onx_slot *slot = &frame->program->slots[i];
    const onx_place *root = &frame->places[frame->places[i].root];
    onx_plan_value *v = &plan->values[i];
    v->name = text_of(plan, slot->name);
    write_type(slot, &frame->values[i], frame->bound, v->type, sizeof v->type);
    v->where = where(frame, i);
    bool placed = frame->bound && slot->role == ONX_ROLE_TEMP && root->slab;
    v->offset = placed ? root->offset : 0;
    v->bytes = slot->late || !frame->bound ? 0 : frame->values[i].bytes;
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
    bool bound = frame->bound && step->when == ONX_WHEN_RUN;
    s->overwrites = bound ? frame->overwrites[i] : -1;
    s->scratch = bound ? onx_align_up(call->scratch_bytes) +
                             frame->program->engine->threads * onx_align_up(call->scratch_each)
                       : 0;
    if (step->holds) plan->packed += onx_packed_bytes(step->holds);
}

/* Edges are copied: the plan outlives the session. */
static bool copy_edges(onx_plan *plan, onx_plan_step *s) {
    uint32_t *edges = onx_arena_array(plan->arena, s->n_in + s->n_out, sizeof *edges);
    if (!edges) return false;
    if (s->n_in) memcpy(edges, s->in, s->n_in * sizeof *edges);
    if (s->n_out) memcpy(edges + s->n_in, s->out, s->n_out * sizeof *edges);
    s->in = edges;
    s->out = edges + s->n_in;
    return true;
}

/* ─ Subgraphs ────────────────────────────────────────────────────────────────────────────────── */

static bool is_known(const onx_operand *value) {
    if (value->kind != ONX_TYPE_TENSOR || value->rank == ONX_RANK_UNKNOWN) return false;
    for (size_t d = 0; d < value->rank; d++)
        if (value->dims[d] < 0) return false;
    return value->dtype != ONX_DTYPE_STRING;
}

/* What comes in: inputs as they are inferred, and captures as they are around. False: some of it is
 * not known. */
static bool bring_in(onx_frame *child, const onx_frame *outer) {
    const onx_program *program = child->program;
    for (size_t i = 0; i < program->n_inputs; i++) {
        onx_operand *value = &child->values[program->inputs[i]];
        if (!is_known(value) ||
            !onx_operand_shape(value, (onx_dtype)value->dtype, value->rank, value->dims))
            return false;
    }
    for (size_t i = 0; i < program->n_captures; i++) {
        uint32_t slot = program->captures[i], from = program->slots[slot].outer;
        const onx_slot *around = &outer->program->slots[from];
        if (around->late || !outer->bound || !is_known(&outer->values[from])) return false;
        child->values[slot] = outer->values[from];
        child->values[slot].constant = false;
    }
    return true;
}

static onx_status fill(onx_plan *plan, const onx_frame *frame, onx_diag *diag);

static onx_status fill_child(onx_plan *plan, const onx_frame *outer, const onx_program *program,
                             onx_diag *diag) {
    onx_frame *frame = NULL;
    ONX_TRY(onx_frame_new(program, outer->pools, &frame, diag));
    onx_diag ignored = ONX_INIT(onx_diag);
    frame->diag = &ignored; /* a graph that cannot be bound may never run */
    onx_status status = bring_in(frame, outer) ? onx_frame_bind(frame) : ONX_OK;
    if (status != ONX_NO_MEMORY) status = fill(plan, frame, diag);
    onx_frame_clear(frame);
    onx_frame_free(frame);
    return status == ONX_NO_MEMORY ? onx_fail_nomem(diag) : status;
}

static onx_str graph_name(const onx_node *node, size_t which) {
    ONX_EACH (onx_attr, attr, node->attribute)
        if (attr->type == ONX_ATTR_GRAPH && attr->g && which-- == 0) return attr->name;
    return (onx_str){NULL, 0};
}

static onx_status fill_children(onx_plan *plan, const onx_frame *frame, uint32_t i,
                                onx_diag *diag) {
    const onx_step *step = &frame->program->steps[i];
    if (!step->n_children) return ONX_OK;
    onx_plan **list = onx_arena_array(plan->arena, step->n_children, sizeof(onx_plan *));
    if (!list) return onx_fail_nomem(diag);
    for (uint32_t c = 0; c < step->n_children; c++) {
        onx_plan *child = onx_arena_alloc(plan->arena, sizeof *child);
        if (!child) return onx_fail_nomem(diag);
        child->arena = plan->arena;
        child->name = text_of(plan, graph_name(step->node, c));
        ONX_TRY(fill_child(child, frame, step->children[c], diag));
        plan->packed += child->packed;
        list[c] = child;
    }
    plan->steps[i].children = (const onx_plan *const *)list;
    plan->steps[i].n_children = step->n_children;
    return ONX_OK;
}

static onx_status fill(onx_plan *plan, const onx_frame *frame, onx_diag *diag) {
    const onx_program *program = frame->program;
    plan->values = onx_arena_array(plan->arena, program->n_slots, sizeof *plan->values);
    plan->steps = onx_arena_array(plan->arena, program->n_steps, sizeof *plan->steps);
    if (!plan->values || !plan->steps) return onx_fail_nomem(diag);
    for (; plan->n_values < program->n_slots; plan->n_values++)
        fill_value(plan, frame, (uint32_t)plan->n_values);
    for (; plan->n_steps < program->n_steps; plan->n_steps++) {
        fill_step(plan, frame, (uint32_t)plan->n_steps);
        if (!copy_edges(plan, &plan->steps[plan->n_steps])) return onx_fail_nomem(diag);
        ONX_TRY(fill_children(plan, frame, (uint32_t)plan->n_steps, diag));
    }
    for (size_t d = 0; d < program->engine->n_providers && frame->bound; d++) {
        plan->slab += frame->slabs[d].peak;
        plan->bound += frame->slabs[d].bound;
    }
    return ONX_OK;
}

onx_status onx_plan_new(onx_session *s, size_t n_in, const onx_arg *in, onx_plan **out,
                        onx_diag *diag) {
    onx_plan *plan = onx_mem_alloc(s->ctx, sizeof *plan);
    if (!plan) return onx_fail_nomem(diag);
    *plan = (onx_plan){.ctx = s->ctx, .arena = &plan->own, .name = ""};
    onx_context_retain(plan->ctx);
    onx_arena_init(&plan->own, plan->ctx);
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
    onx_arena_fini(&plan->own);
    onx_mem_free(ctx, plan, sizeof *plan);
    onx_context_free(ctx);
}
const char *onx_plan_name(const onx_plan *plan) {
    return plan->name;
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
