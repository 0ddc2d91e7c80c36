/* subgraph.c: programs of subgraphs, run by kernels such as If and Loop, and the values that pass
 * in and out of them.
 *
 * A result holds the block of its bytes, so it outlives the frame it came from, and is handed on
 * without a copy. */
#include "rt/engine.h"

typedef struct onx_result {
    onx_operand operand; /* first: a result is known by the address of its operand */
    onx_block *block;
    struct onx_result *next;
} onx_result;

static onx_result *result_new(onx_frame *frame) {
    onx_result *result = frame->results;
    if (result)
        frame->results = result->next;
    else
        result = onx_arena_alloc(&frame->arena, sizeof *result);
    if (result) *result = (onx_result){.next = NULL};
    return result;
}

/* The slot that an operand is of; ONX_NO_SLOT: it is a result. */
static uint32_t slot_of(const onx_frame *frame, const onx_operand *operand) {
    uintptr_t first = (uintptr_t)frame->values, at = (uintptr_t)operand;
    uintptr_t end = (uintptr_t)(frame->values + frame->program->n_slots);
    return at >= first && at < end ? (uint32_t)(operand - frame->values) : ONX_NO_SLOT;
}

static onx_block *block_of(const onx_frame *frame, const onx_operand *operand) {
    uint32_t slot = slot_of(frame, operand);
    return slot == ONX_NO_SLOT ? ((const onx_result *)operand)->block : frame->blocks[slot];
}

/* Does nobody read the slot after this step? */
static bool ends_here(const onx_program *program, uint32_t slot, const onx_step *step) {
    const onx_slot *s = &program->slots[slot];
    for (size_t i = 0; i < program->n_outputs; i++) /* `output` is not set for inputs */
        if (program->outputs[i] == slot) return false;
    return !s->output && s->last == (uint32_t)(step - program->steps);
}

bool onx_call_owns(const onx_call *call, size_t index) {
    const onx_operand *in = call->in[index];
    if (!call->frame || !in->object || atomic_load(&in->object->refs) != 1) return false;
    const onx_program *program = call->frame->program;
    uint32_t slot = call->step->in[index];
    onx_role role = (onx_role)program->slots[slot].role;
    bool ours = role == ONX_ROLE_TEMP || (role == ONX_ROLE_INPUT && in->handed);
    return ours && ends_here(program, slot, call->step);
}

void onx_call_release(onx_call *call, onx_operand *value) {
    if (!value || slot_of(call->frame, value) != ONX_NO_SLOT) return;
    onx_result *result = (onx_result *)value;
    onx_block_release(result->block);
    onx_object_release(result->operand.object);
    result->next = call->frame->results;
    call->frame->results = result;
}

onx_status onx_call_temporary(onx_call *call, onx_dtype dtype, size_t rank, const int64_t *dims,
                              onx_operand **out) {
    onx_frame *frame = call->frame;
    onx_result *result = frame ? result_new(frame) : NULL;
    if (!result) return onx_fail_nomem(call->diag);
    onx_status status = ONX_OK;
    if (!onx_operand_shape(&result->operand, dtype, rank, dims))
        status = onx_call_fail(call, ONX_LIMIT, "a value inside is too large for this machine");
    else if (result->operand.bytes)
        status = onx_blocks_take(&frame->pools[frame->program->engine->host], result->operand.bytes,
                                 &result->block, call->diag);
    if (status != ONX_OK) {
        onx_call_release(call, &result->operand);
        return status;
    }
    result->operand.data = result->block ? result->block->data : NULL;
    *out = &result->operand;
    return ONX_OK;
}

onx_status onx_call_give(onx_call *call, size_t index, onx_operand *value) {
    if (index >= call->n_out || !call->out[index]) return ONX_OK;
    if (value->object) return onx_call_object(call, index, onx_object_retain(value->object));
    onx_frame *frame = call->frame; /* outside a program there is nothing to share */
    onx_block *block = frame ? block_of(frame, value) : NULL;
    if (block) {
        uint32_t slot = call->step->out[index];
        ONX_TRY(onx_call_shape(call, index, (onx_dtype)value->dtype, value->rank, value->dims));
        block->refs++;
        onx_block_release(frame->blocks[slot]);
        frame->blocks[slot] = block;
        frame->values[slot].data = value->data;
        return ONX_OK;
    }
    ONX_TRY(onx_call_output(call, index, (onx_dtype)value->dtype, value->rank, value->dims));
    if (value->bytes) onx_mem_copy(call->out[index]->data, value->data, value->bytes);
    return ONX_OK;
}

static onx_status child_frame(onx_call *call, size_t which, onx_frame **out) {
    onx_frame **child = &call->frame->children[call->step->first_child + which];
    if (!*child)
        ONX_TRY(onx_frame_new(call->step->children[which], call->frame->pools, child, call->diag));
    *out = *child;
    return ONX_OK;
}

static onx_status bring_in(onx_call *call, onx_frame *child, size_t n_in, onx_operand *const *ins) {
    const onx_program *program = child->program;
    if (n_in != program->n_inputs)
        return onx_call_fail(call, ONX_INVALID, "the subgraph has %zu inputs, but %zu are needed",
                             program->n_inputs, n_in);
    for (size_t i = 0; i < n_in; i++) {
        onx_operand *value = &child->values[program->inputs[i]];
        *value = *ins[i];
        value->constant = false;
        value->handed = slot_of(call->frame, ins[i]) == ONX_NO_SLOT;
        ONX_TRY(onx_slot_verify(&program->slots[program->inputs[i]], ins[i], call->diag));
    }
    for (size_t i = 0; i < program->n_captures; i++) {
        uint32_t slot = program->captures[i];
        child->values[slot] = call->frame->values[program->slots[slot].outer];
        child->values[slot].constant = false;
    }
    return ONX_OK;
}

/* Memory for the outputs whose sizes are known; the others become blocks as they are computed. */
static onx_status make_room(onx_frame *child) {
    const onx_program *program = child->program;
    for (size_t i = 0; i < program->n_outputs + program->n_pins; i++) {
        const onx_slot *slot = &program->slots[program->outputs[i]];
        if (slot->role == ONX_ROLE_TEMP && !slot->late && !slot->early)
            ONX_TRY(onx_frame_take(child, program->outputs[i], child->diag));
    }
    return ONX_OK;
}

/* What an output of the child is held by: its own block, or, when the child only passes an input
 * on, the block of that. */
static onx_block *holder(onx_call *call, const onx_frame *child, uint32_t slot, size_t n_in,
                         onx_operand *const *ins) {
    const onx_program *program = child->program;
    if (program->slots[slot].role == ONX_ROLE_CAPTURE)
        return call->frame->blocks[program->slots[slot].outer];
    for (size_t i = 0; i < n_in; i++)
        if (program->inputs[i] == slot) return block_of(call->frame, ins[i]);
    return child->blocks[slot];
}

static onx_status take_out(onx_call *call, onx_frame *child, size_t n_in, onx_operand *const *ins,
                           size_t n_out, onx_operand **outs) {
    for (size_t i = 0; i < n_out; i++) {
        uint32_t slot = child->program->outputs[i];
        onx_result *result = result_new(call->frame);
        if (!result) {
            while (i) onx_call_release(call, outs[--i]);
            return onx_fail_nomem(call->diag);
        }
        result->operand = child->values[slot];
        result->operand.constant = false;
        result->block = holder(call, child, slot, n_in, ins);
        if (result->block) result->block->refs++;
        if (result->operand.object) (void)onx_object_retain(result->operand.object);
        outs[i] = &result->operand;
    }
    return ONX_OK;
}

void onx_wanted_clear(onx_wanted *wanted) {
    onx_block_release(wanted->block);
    onx_object_release(wanted->value.object);
    wanted->block = NULL;
    wanted->value = (onx_operand){0};
}

/* Values that were asked for by name: this run of the graph takes the place of the one before. */
static void keep_wanted(const onx_run *run, const onx_frame *child) {
    for (size_t i = 0; i < run->n_wanted; i++) {
        onx_wanted *wanted = &run->wanted[i];
        if (wanted->program != child->program) continue;
        onx_wanted_clear(wanted);
        wanted->value = child->values[wanted->slot];
        wanted->block = child->blocks[wanted->slot];
        if (wanted->block) wanted->block->refs++;
        if (wanted->value.object) (void)onx_object_retain(wanted->value.object);
    }
}

onx_status onx_call_graph(onx_call *call, size_t which, size_t n_in, onx_operand *const *ins,
                          size_t n_out, onx_operand **outs) {
    onx_frame *child = NULL;
    if (!call->frame)
        return onx_call_fail(call, ONX_UNSUPPORTED, "a subgraph runs only within a program");
    ONX_TRY(child_frame(call, which, &child));
    child->diag = call->diag;
    child->run = call->run;
    onx_status status = bring_in(call, child, n_in, ins);
    if (status == ONX_OK && n_out > child->program->n_outputs)
        status =
            onx_call_fail(call, ONX_INVALID, "the subgraph has %zu outputs, but %zu are needed",
                          child->program->n_outputs, n_out);
    if (status == ONX_OK) status = onx_frame_bind(child);
    if (status == ONX_OK) status = make_room(child);
    if (status == ONX_OK) status = onx_frame_run(child, call->run);
    if (status == ONX_OK) keep_wanted(call->run, child);
    if (status == ONX_OK) status = take_out(call, child, n_in, ins, n_out, outs);
    onx_frame_clear(child);
    return status;
}
