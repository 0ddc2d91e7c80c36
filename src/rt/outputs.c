/* outputs.c: the outputs of a run: where they are written, and how they come to who asked. */
#include "rt/eval.h"
#include "rt/session.h"

/* Where the value of an output argument is: a slot of the main program, or something wanted. */
typedef struct source {
    uint32_t slot;          /* ONX_NO_SLOT: one of the others */
    onx_wanted *wanted;     /* of a subgraph */
    const onx_tensor *init; /* that the program does not need */
    const char *name;
} source;

static onx_status find_output(const onx_session *s, const onx_variant *v, const onx_lane *lane,
                              const onx_arg *arg, size_t position, size_t n_out, source *out,
                              onx_diag *diag) {
    const onx_program *program = v->program;
    *out = (source){.slot = ONX_NO_SLOT, .name = arg->name};
    for (size_t i = 0; i < program->n_outputs; i++)
        if (arg->name ? strcmp(onx_session_output_name(s, i), arg->name) == 0 : i == position) {
            out->slot = program->outputs[i];
            out->name = onx_session_output_name(s, i);
            return ONX_OK;
        }
    for (size_t i = 0; arg->name && i < v->n_pins; i++) {
        if (!onx_str_is(v->pins[i].name, arg->name)) continue;
        if (v->pins[i].program == program)
            out->slot = v->pins[i].slot;
        else
            out->wanted = &lane->wanted[i];
        return ONX_OK;
    }
    for (uint32_t i = 0; arg->name && i < program->n_slots; i++)
        if (program->slots[i].role != ONX_ROLE_TEMP &&
            onx_str_is(program->slots[i].name, arg->name)) {
            out->slot = i;
            return ONX_OK;
        }
    const onx_value *value = arg->name ? onx_graph_find(s->source->graph, arg->name) : NULL;
    out->init = value ? value->init : NULL;
    if (out->init) return ONX_OK;
    return onx_fail(diag, ONX_USAGE,
                    "the model has %zu output%s, but there are %zu arguments for it",
                    program->n_outputs, program->n_outputs == 1 ? "" : "s", n_out);
}

static onx_status room_for(onx_session *s, onx_arg *arg, const char *name, size_t bytes,
                           onx_diag *diag) {
    if (arg->data && arg->bytes >= bytes) return ONX_OK;
    if (arg->data)
        return onx_fail(diag, ONX_USAGE, "output '%.100s' needs %zu bytes, but has room for %zu",
                        name, bytes, arg->bytes);
    if (!bytes) return ONX_OK;
    arg->data = onx_mem_alloc(s->ctx, bytes);
    if (!arg->data) return onx_fail_nomem(diag);
    arg->bytes = bytes;
    arg->owned = s->ctx;
    onx_context_retain(s->ctx);
    return ONX_OK;
}

static bool goes_straight(const onx_program *program, uint32_t slot) {
    const onx_slot *s = &program->slots[slot];
    return s->role == ONX_ROLE_TEMP && s->output && !s->late && !s->early;
}

/* Before the run: outputs of known size are written where they are wanted; those nobody asks for go
 * to blocks. */
onx_status onx_lane_direct(onx_session *s, onx_variant *v, onx_lane *lane, size_t n_out,
                           onx_arg *out, onx_diag *diag) {
    onx_frame *frame = lane->frame;
    const onx_program *program = v->program;
    for (size_t i = 0; i < program->n_outputs + program->n_pins; i++)
        if (goes_straight(program, program->outputs[i]))
            frame->values[program->outputs[i]].data = NULL;
    for (size_t i = 0; i < n_out; i++) {
        source from;
        ONX_TRY(find_output(s, v, lane, &out[i], i, n_out, &from, diag));
        if (from.slot == ONX_NO_SLOT || !goes_straight(program, from.slot)) continue;
        onx_operand *value = &frame->values[from.slot];
        if (value->data) continue; /* asked for twice: copied in the end */
        ONX_TRY(room_for(s, &out[i], from.name, value->bytes, diag));
        value->data = out[i].data;
    }
    for (size_t i = 0; i < program->n_outputs + program->n_pins; i++) {
        uint32_t slot = program->outputs[i];
        if (goes_straight(program, slot) && !frame->values[slot].data)
            ONX_TRY(onx_frame_take(frame, slot, diag));
    }
    return ONX_OK;
}

static onx_status deliver(onx_session *s, const onx_operand *value, const char *name, onx_arg *arg,
                          onx_diag *diag) {
    if (value->object && onx_operand_is_object(value)) {
        onx_data *made = NULL;
        ONX_TRY(onx_data_of_object(s->ctx, value->object, &made, diag));
        arg->value = made;
        arg->owned = s->ctx;
        onx_context_retain(s->ctx);
        arg->dtype = (onx_dtype)value->dtype;
        arg->rank = value->kind == ONX_TYPE_TENSOR ? value->rank : 0;
        memcpy(arg->dims, value->dims, arg->rank * sizeof *arg->dims);
        return ONX_OK;
    }
    if (value->kind == ONX_TYPE_NONE) {
        arg->dtype = ONX_DTYPE_NONE;
        return ONX_OK;
    }
    if (value->data != arg->data || !value->data) {
        ONX_TRY(room_for(s, arg, name, value->bytes, diag));
        if (value->bytes) onx_mem_copy(arg->data, value->data, value->bytes);
    }
    arg->dtype = (onx_dtype)value->dtype;
    arg->rank = value->rank;
    if (value->rank) memcpy(arg->dims, value->dims, value->rank * sizeof *arg->dims);
    return ONX_OK;
}

static onx_status deliver_tensor(onx_session *s, const source *from, onx_arg *arg, onx_diag *diag) {
    onx_operand value = {0};
    bool copied = false;
    ONX_TRY(onx_operand_of_tensor(s->ctx, from->init, &value, &copied, diag));
    onx_status status = deliver(s, &value, from->name, arg, diag);
    if (copied) onx_eval_clear(s->ctx, &value);
    return status;
}

onx_status onx_lane_deliver(onx_session *s, onx_variant *v, onx_lane *lane, size_t n_out,
                            onx_arg *out, onx_diag *diag) {
    for (size_t i = 0; i < n_out; i++) {
        source from;
        ONX_TRY(find_output(s, v, lane, &out[i], i, n_out, &from, diag));
        if (from.init)
            ONX_TRY(deliver_tensor(s, &from, &out[i], diag));
        else
            ONX_TRY(deliver(s, from.wanted ? &from.wanted->value : &lane->frame->values[from.slot],
                            from.name, &out[i], diag));
    }
    return ONX_OK;
}
