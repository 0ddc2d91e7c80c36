/* exec.c: the steps of a program, in order. */
#include "rt/engine.h"

#include "base/thread.h"
#include "rt/profile.h"

/* A step has ended that began at `start`, when those before it had taken `before`. */
static onx_status profile_step(const onx_frame *frame, uint32_t index, int64_t start,
                               int64_t before) {
    onx_run *run = frame->run;
    onx_profile_event event = {.start_ns = start, .ns = onx_clock_ns() - start};
    event.own_ns = event.ns - run->inside_ns;
    run->inside_ns = before + event.ns;
    return onx_profile_add(run->profile, frame, index, &event);
}

static onx_status run_step(onx_frame *frame, uint32_t index) {
    const onx_step *step = &frame->program->steps[index];
    onx_call *call = &frame->calls[index];
    onx_run *run = frame->run;
    onx_status status = onx_run_check(run);
    if (status == ONX_OK && step->when == ONX_WHEN_LATE) status = onx_step_bind(frame, index);
    if (status == ONX_OK) {
        int64_t start = run->profile ? onx_clock_ns() : 0, before = run->inside_ns;
        run->inside_ns = 0;
        call->run = run;
        call->diag = frame->diag;
        status = onx_call_launch(call, step->provider);
        if (status == ONX_OK && step->when == ONX_WHEN_LATE) status = onx_step_verify(frame, index);
        if (status != ONX_OK && status != ONX_CANCELLED) onx_step_blame(frame, index, frame->diag);
        if (run->profile && status == ONX_OK) status = profile_step(frame, index, start, before);
    }
    if (step->when == ONX_WHEN_LATE) {
        onx_step_unbind(frame, index);
        for (uint32_t i = 0; i < step->n_dies; i++) onx_frame_drop(frame, step->dies[i]);
    }
    return status;
}

/* Pointers for everything that was placed at bind. Outputs have theirs already. */
static void point(onx_frame *frame) {
    const onx_program *program = frame->program;
    for (uint32_t i = 0; i < program->n_slots; i++) {
        const onx_slot *slot = &program->slots[i];
        const onx_place *place = &frame->places[i];
        if (slot->role != ONX_ROLE_TEMP || slot->late || slot->early || slot->output) continue;
        if (!frame->values[i].bytes)
            frame->values[i].data = NULL;
        else if (frame->places[place->root].slab)
            frame->values[i].data =
                (char *)frame->slabs[slot->device].data + frame->places[place->root].offset;
        else
            frame->values[i].data = frame->values[place->root].data;
    }
    for (uint32_t i = 0; i < program->n_steps; i++)
        if (program->steps[i].when == ONX_WHEN_RUN)
            frame->calls[i].scratch =
                frame->scratch[i] == SIZE_MAX
                    ? NULL
                    : (char *)frame->slabs[program->steps[i].device].data + frame->scratch[i];
}

/* A kernel that reads what nobody wrote is found by results that change with the poison. */
static void poison(const onx_frame *frame) {
    const onx_engine *engine = frame->program->engine;
    const onx_slab *slab = &frame->slabs[engine->host];
    if (engine->poison && slab->bytes) memset(slab->data, engine->poison, slab->bytes);
}

static void tell(const onx_frame *frame, const onx_run *run, uint32_t index) {
    const onx_node *node = frame->program->steps[index].node;
    run->progress(run->progress_user, index, frame->program->n_steps,
                  node ? onx_node_name(node) : "");
}

onx_status onx_frame_run(onx_frame *frame, onx_run *run) {
    const onx_program *program = frame->program;
    frame->run = run;
    frame->diag = run->diag;
    poison(frame);
    point(frame);
    for (uint32_t i = 0; i < program->n_steps; i++) {
        if (program->steps[i].when == ONX_WHEN_EARLY) continue;
        if (run->progress && program->depth == 0) tell(frame, run, i);
        ONX_TRY(run_step(frame, i));
    }
    return ONX_OK;
}

/* ─ Errors ───────────────────────────────────────────────────────────────────────────────────── */

void onx_step_blame(const onx_frame *frame, uint32_t index, onx_diag *diag) {
    const onx_step *step = &frame->program->steps[index];
    const onx_call *call = &frame->calls[index];
    if (!diag || diag->place[0]) return;
    char shapes[160];
    onx_call_shapes(call, false, shapes, sizeof shapes);
    onx_str name = step->node ? step->node->name : (onx_str){NULL, 0};
    if (!name.size && step->n_out && step->out[0] != ONX_NO_SLOT)
        name = frame->program->slots[step->out[0]].name;
    onx_diag_place(diag, "node '%.*s' (%s) with inputs %s", ONX_FMT(name), step->op->name, shapes);
}
