/* frame.c: the memory of one run of a program: operands, plans, slabs, blocks. Everything a run
 * needs is allocated here, once; what grows afterwards is the slab and the pool. */
#include "rt/engine.h"

/* Large weights of one of the next steps are known to the call, which can fetch them. */
static void look_ahead(const onx_program *program, uint32_t index, onx_call *call) {
    enum { SOON = 4, LARGE = 16 << 10 };
    call->fetches = program->engine->fetches;
    for (size_t i = index + 1;
         call->fetches && !call->ahead && i < program->n_steps && i <= index + SOON; i++) {
        const onx_step *step = &program->steps[i];
        if (!step->holds || step->device || onx_packed_bytes(step->holds) < LARGE) continue;
        call->ahead = step->packed;
        call->ahead_bytes = onx_packed_bytes(step->holds);
    }
}

static void wire_call(onx_frame *frame, uint32_t index, onx_operand ***edge) {
    const onx_step *step = &frame->program->steps[index];
    onx_call *call = &frame->calls[index];
    *call = (onx_call){.kernel = step->kernel,
                       .op = step->op,
                       .node = step->node,
                       .ctx = frame->ctx,
                       .n_in = step->n_in,
                       .n_out = step->n_out,
                       .state = step->state,
                       .packed = step->packed,
                       .plan = step->plan_bytes ? frame->plans + step->plan_offset : NULL,
                       .plan_bytes = step->plan_bytes,
                       .step = step,
                       .frame = frame};
    look_ahead(frame->program, index, call);
    call->in = *edge;
    for (uint32_t i = 0; i < step->n_in; i++)
        *(*edge)++ = step->in[i] == ONX_NO_SLOT ? NULL : &frame->values[step->in[i]];
    call->out = *edge;
    for (uint32_t i = 0; i < step->n_out; i++)
        *(*edge)++ = step->out[i] == ONX_NO_SLOT ? NULL : &frame->values[step->out[i]];
}

static bool allocate(onx_frame *frame, const onx_program *program) {
    onx_arena *a = &frame->arena;
    frame->values = onx_arena_array(a, program->n_slots, sizeof *frame->values);
    frame->places = onx_arena_array(a, program->n_slots, sizeof *frame->places);
    frame->blocks = onx_arena_array(a, program->n_slots, sizeof(onx_block *));
    frame->calls = onx_arena_array(a, program->n_steps, sizeof *frame->calls);
    frame->edges = onx_arena_array(a, program->n_edges, sizeof(onx_operand *));
    frame->holds = onx_arena_array(a, program->n_steps, sizeof(onx_packed *));
    frame->overwrites = onx_arena_array(a, program->n_steps, sizeof *frame->overwrites);
    frame->scratch = onx_arena_array(a, program->n_steps, sizeof *frame->scratch);
    frame->plans = onx_arena_alloc(a, program->plan_bytes);
    frame->signature =
        onx_arena_array(a, program->n_inputs + program->n_captures, sizeof *frame->signature);
    for (size_t i = 0; i < program->n_steps; i++) frame->n_children += program->steps[i].n_children;
    frame->children = onx_arena_array(a, frame->n_children, sizeof(onx_frame *));
    size_t stays = (size_t)program->n_slots + program->n_steps; /* values, and scratch */
    for (size_t d = 0; d < program->engine->n_providers; d++)
        if (!onx_slab_init(&frame->slabs[d], a, stays)) return false;
    return frame->values && frame->places && frame->blocks && frame->calls && frame->edges &&
           frame->holds && frame->overwrites && frame->scratch && frame->plans && frame->children &&
           frame->signature;
}

onx_status onx_frame_new(const onx_program *program, onx_blocks *pools, onx_frame **out,
                         onx_diag *diag) {
    onx_context *ctx = program->engine->ctx;
    onx_frame *frame = onx_mem_alloc(ctx, sizeof *frame);
    if (!frame) return onx_fail_nomem(diag);
    *frame = (onx_frame){.program = program, .ctx = ctx, .pools = pools};
    onx_arena_init(&frame->arena, ctx);
    if (!allocate(frame, program)) {
        onx_frame_free(frame);
        return onx_fail_nomem(diag);
    }
    for (size_t i = 0; i < program->n_slots; i++) frame->values[i] = program->slots[i].constant;
    onx_operand **edge = frame->edges;
    for (uint32_t i = 0; i < program->n_steps; i++) wire_call(frame, i, &edge);
    *out = frame;
    return ONX_OK;
}

/* Constants are the program's; objects of captures and inputs are borrowed. */
static bool owns_object(const onx_slot *slot) {
    return slot->role == ONX_ROLE_TEMP;
}

void onx_frame_drop(onx_frame *frame, size_t i) {
    const onx_slot *slot = &frame->program->slots[i];
    onx_block_release(frame->blocks[i]);
    frame->blocks[i] = NULL;
    if (slot->role == ONX_ROLE_CONSTANT) return;
    if (owns_object(slot)) onx_object_release(frame->values[i].object);
    frame->values[i].object = NULL;
    frame->values[i].data = NULL;
}

void onx_frame_clear(onx_frame *frame) {
    for (size_t i = 0; i < frame->program->n_slots; i++)
        if (!frame->program->slots[i].early || !frame->bound) onx_frame_drop(frame, i);
    frame->run = NULL;
}

/* Children before their parent, without recursion: a frame whose children are gone has none. */
void onx_frame_free(onx_frame *frame) {
    onx_frame *todo = frame;
    if (frame) frame->next = NULL;
    while (todo) {
        onx_frame *top = todo, *child = NULL;
        for (size_t i = 0; i < top->n_children && top->children && !child; i++) {
            child = top->children[i];
            top->children[i] = NULL;
        }
        if (child) {
            child->next = top;
            todo = child;
            continue;
        }
        todo = top->next;
        top->bound = false;
        if (top->values && top->blocks) onx_frame_clear(top);
        for (size_t i = 0; i < top->program->n_steps && top->holds; i++)
            onx_packed_release(top->program->engine->store, top->holds[i]);
        for (size_t d = 0; d < top->program->engine->n_providers; d++)
            onx_device_free(top->program->engine->providers[d], top->ctx, top->slabs[d].data,
                            top->slabs[d].bytes);
        onx_context *ctx = top->ctx;
        onx_arena_fini(&top->arena);
        onx_mem_free(ctx, top, sizeof *top);
    }
}

onx_status onx_frame_take(onx_frame *frame, uint32_t slot, onx_diag *diag) {
    onx_operand *value = &frame->values[slot];
    onx_block_release(frame->blocks[slot]);
    frame->blocks[slot] = NULL;
    value->data = NULL;
    if (!value->bytes) return ONX_OK;
    onx_blocks *pool = &frame->pools[frame->program->slots[slot].device];
    ONX_TRY(onx_blocks_take(pool, value->bytes, &frame->blocks[slot], diag));
    value->data = frame->blocks[slot]->data;
    return ONX_OK;
}
