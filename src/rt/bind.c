/* bind.c: from the shapes of inputs to sizes, plans and places: cheap enough to be done before
 * every run. No graph work and no allocation, but for a slab that must grow.
 *
 * Steps are walked in the order in which they run: once for sizes, once for places. Outputs get
 * places, scratch a place for the one step, and what dies gives its place back; so the plan is
 * right by construction. A value that an output of the program is written over, step by step,
 * lodges in the memory of that output: Add(x, y) → z; Abs(z) → w is computed in w alone. So does
 * one that is shown as an output in another shape. */
#include "rt/engine.h"

#include "base/thread.h"

static bool same_shape(const onx_operand *a, const onx_operand *b) {
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
           a->layout == b->layout &&
           (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* Inputs and captures, as they are now. */
static uint32_t source(const onx_program *program, size_t i) {
    return i < program->n_inputs ? program->inputs[i] : program->captures[i - program->n_inputs];
}

static bool is_bound(const onx_frame *frame) {
    const onx_program *program = frame->program;
    if (!frame->bound) return false;
    for (size_t i = 0; i < program->n_inputs + program->n_captures; i++)
        if (!same_shape(&frame->signature[i], &frame->values[source(program, i)])) return false;
    return true;
}

static void save_signature(onx_frame *frame) {
    const onx_program *program = frame->program;
    for (size_t i = 0; i < program->n_inputs + program->n_captures; i++)
        frame->signature[i] = frame->values[source(program, i)];
    frame->bound = true;
}

/* ─ Places ───────────────────────────────────────────────────────────────────────────────────── */

static bool dies_at(const onx_frame *frame, uint32_t slot, uint32_t step) {
    const onx_slot *s = &frame->program->slots[slot];
    return s->role == ONX_ROLE_TEMP && !s->output && s->last == step;
}

/* Does the kernel let output 0 be written over input `i`, wherever else the step reads that
 * value? */
static bool is_open(const onx_step *step, uint32_t i) {
    for (uint32_t k = 0; k < step->n_in; k++)
        if (step->in[k] == step->in[i] && !(k < 32 && step->kernel->overwrite >> k & 1))
            return false;
    return step->in[i] != ONX_NO_SLOT;
}

/* May output 0 be written over input `i`? */
static bool can_overwrite(const onx_frame *frame, uint32_t index, uint32_t i, size_t bytes) {
    const onx_step *step = &frame->program->steps[index];
    uint32_t slot = step->in[i];
    if (!is_open(step, i)) return false;
    const onx_place *root = &frame->places[frame->places[slot].root];
    bool alone = root->slab ? root->shares == 1 : root->lodged && root->shares == 2;
    return alone && dies_at(frame, slot, index) && frame->values[slot].bytes == bytes &&
           frame->program->slots[slot].device == step->device;
}

/* Does the step show a value, for the last time, as an output of the program? */
static bool shows_output(const onx_program *p, const onx_step *step, uint32_t slot) {
    return step->kernel->flags & ONX_KERNEL_VIEW && step->in[0] == slot &&
           step->out[0] != ONX_NO_SLOT && p->slots[step->out[0]].output;
}

/* The output that a new value is written over in the end, or shown as; ONX_NO_SLOT: none. */
static uint32_t output_ahead(const onx_frame *frame, uint32_t slot) {
    const onx_program *p = frame->program;
    size_t bytes = frame->values[slot].bytes;
    while (!p->slots[slot].output) {
        uint32_t last = p->slots[slot].last, i = 0;
        if (last == ONX_NO_SLOT || p->steps[last].when != ONX_WHEN_RUN) return ONX_NO_SLOT;
        const onx_step *step = &p->steps[last];
        while (i < step->n_in && step->in[i] != slot) i++;
        if (i == step->n_in || !step->n_out || step->out[0] == ONX_NO_SLOT) return ONX_NO_SLOT;
        if (p->slots[slot].viewed ? !shows_output(p, step, slot) : !is_open(step, i))
            return ONX_NO_SLOT;
        if (p->slots[slot].device != step->device || frame->values[step->out[0]].bytes != bytes)
            return ONX_NO_SLOT;
        slot = step->out[0];
    }
    return p->slots[slot].device == p->engine->host ? slot : ONX_NO_SLOT;
}

static void share(onx_frame *frame, uint32_t slot, uint32_t with) {
    uint32_t root = frame->places[with].root;
    frame->places[slot].root = root;
    frame->places[root].shares++;
}

/* Which input lies where the output of the program goes? */
static onx_status note_lodger(onx_frame *frame, uint32_t index, uint32_t o) {
    const onx_step *step = &frame->program->steps[index];
    for (uint32_t i = 0; o == 0 && i < step->n_in && i < 32; i++)
        if (step->in[i] != ONX_NO_SLOT && step->in[i] != step->out[0] &&
            frame->places[step->in[i]].root == step->out[0])
            frame->overwrites[index] = (int32_t)i;
    frame->places[step->out[o]].lodged = false; /* from now on it is there itself */
    return ONX_OK;
}

static onx_status place_output(onx_frame *frame, uint32_t index, uint32_t o) {
    const onx_step *step = &frame->program->steps[index];
    uint32_t slot = step->out[o];
    if (slot == ONX_NO_SLOT) return ONX_OK;
    size_t bytes = frame->values[slot].bytes;
    onx_place *place = &frame->places[slot];
    if (frame->program->slots[slot].output) return note_lodger(frame, index, o);
    *place = (onx_place){.root = slot, .shares = 1, .bytes = bytes};
    if (!bytes) return ONX_OK;
    if (o == 0 && step->kernel->flags & ONX_KERNEL_VIEW) {
        share(frame, slot, step->in[0]);
        return ONX_OK;
    }
    for (uint32_t i = 0; o == 0 && i < step->n_in && i < 32; i++) {
        if (!can_overwrite(frame, index, i, bytes)) continue;
        share(frame, slot, step->in[i]);
        frame->overwrites[index] = (int32_t)i;
        return ONX_OK;
    }
    uint32_t output = output_ahead(frame, slot);
    if (output != ONX_NO_SLOT && frame->places[output].shares == 1) {
        share(frame, slot, output);
        frame->places[output].lodged = true;
        return ONX_OK;
    }
    place->slab = true;
    if (!onx_slab_take(&frame->slabs[step->device], bytes, &place->offset))
        return onx_fail_nomem(frame->diag);
    return ONX_OK;
}

static void give_place(onx_frame *frame, uint32_t slot) {
    onx_place *root = &frame->places[frame->places[slot].root];
    if (--root->shares || !root->slab) return;
    onx_slab_give(&frame->slabs[frame->program->slots[slot].device], root->offset);
}

static bool scratch_total(const onx_frame *frame, const onx_call *call, size_t *bytes) {
    size_t each = 0, shared = onx_align_up(call->scratch_bytes);
    return call->scratch_each <= SIZE_MAX - ONX_ALIGN && shared >= call->scratch_bytes &&
           onx_mul_size(onx_align_up(call->scratch_each), frame->program->engine->threads, &each) &&
           onx_add_size(shared, each, bytes);
}

static onx_status place_scratch(onx_frame *frame, uint32_t index) {
    size_t bytes = 0;
    uint8_t device = frame->program->steps[index].device;
    frame->scratch[index] = SIZE_MAX;
    if (!scratch_total(frame, &frame->calls[index], &bytes)) return onx_fail_nomem(frame->diag);
    if (!bytes) return ONX_OK;
    if (!onx_slab_take(&frame->slabs[device], bytes, &frame->scratch[index]))
        return onx_fail_nomem(frame->diag);
    onx_slab_give(&frame->slabs[device], frame->scratch[index]);
    return ONX_OK;
}

/* ─ Steps ────────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_slot_verify(const onx_slot *slot, const onx_operand *value, onx_diag *diag) {
    const onx_operand *known = &slot->constant;
    if (known->kind != value->kind || known->dtype != value->dtype)
        return onx_fail(diag, ONX_INVALID, "'%.*s' is declared as %s, but it is %s",
                        ONX_FMT(slot->name), onx_dtype_name((onx_dtype)known->dtype),
                        onx_dtype_name((onx_dtype)value->dtype));
    if (known->layout != value->layout)
        return onx_fail(diag, ONX_INVALID, "'%.*s' has another layout than was planned",
                        ONX_FMT(slot->name));
    if (known->kind != ONX_TYPE_TENSOR) return ONX_OK;
    if (value->rank == ONX_RANK_UNKNOWN)
        return onx_fail(diag, ONX_UNSUPPORTED, "'%.*s' is not computed", ONX_FMT(slot->name));
    if (known->rank == ONX_RANK_UNKNOWN) return ONX_OK;
    if (known->rank != value->rank)
        return onx_fail(diag, ONX_INVALID, "'%.*s' should have %d dimensions, but it has %d",
                        ONX_FMT(slot->name), known->rank, value->rank);
    for (size_t i = 0; i < known->rank; i++)
        if (known->dims[i] >= 0 && known->dims[i] != value->dims[i])
            return onx_fail(
                diag, ONX_INVALID, "dimension %zu of '%.*s' should be %lld, but is %lld", i,
                ONX_FMT(slot->name), (long long)known->dims[i], (long long)value->dims[i]);
    return ONX_OK;
}

onx_status onx_step_verify(const onx_frame *frame, uint32_t index) {
    const onx_step *step = &frame->program->steps[index];
    for (uint32_t o = 0; o < step->n_out; o++)
        if (step->out[o] != ONX_NO_SLOT)
            ONX_TRY(onx_slot_verify(&frame->program->slots[step->out[o]],
                                    &frame->values[step->out[o]], frame->diag));
    return ONX_OK;
}

static onx_status bind_call(onx_call *call) {
    call->scratch_bytes = call->scratch_each = 0;
    call->pack_late = false;
    if (call->plan) memset(call->plan, 0, call->plan_bytes);
    return call->kernel->bind(call);
}

/* Weights that only some shapes of inputs want packed: from now on they are. */
static onx_status pack_late(onx_frame *frame, uint32_t index) {
    onx_call *call = &frame->calls[index];
    ONX_TRY(onx_store_pack(frame->program->engine->store, call, call->step->provider,
                           &frame->holds[index]));
    if (!frame->holds[index]) return ONX_OK;
    call->packed = onx_packed_data(frame->holds[index]);
    return bind_call(call);
}

static onx_status sizes(onx_frame *frame, uint32_t index) {
    onx_call *call = &frame->calls[index];
    call->diag = frame->diag;
    call->run = frame->run;
    for (size_t i = 0; i < call->n_out; i++)
        if (call->out[i]) {
            call->out[i]->layout = ONX_LAYOUT_PLAIN;
            call->out[i]->rank = ONX_RANK_UNKNOWN; /* until the row says what it is */
        }
    if (!call->kernel->bind) return ONX_OK;
    onx_status status = bind_call(call);
    if (status == ONX_OK && call->pack_late) status = pack_late(frame, index);
    if (status == ONX_OK && !(call->kernel->flags & ONX_KERNEL_LATE))
        status = onx_step_verify(frame, index);
    if (status != ONX_OK) onx_step_blame(frame, index, frame->diag);
    return status;
}

static onx_status place_step(onx_frame *frame, uint32_t index) {
    const onx_step *step = &frame->program->steps[index];
    frame->overwrites[index] = -1;
    for (uint32_t o = 0; o < step->n_out; o++) ONX_TRY(place_output(frame, index, o));
    return place_scratch(frame, index);
}

/* Bound and computed at once, in memory that stays as long as the binding. */
static onx_status bind_early(onx_frame *frame, uint32_t index) {
    ONX_TRY(onx_step_bind(frame, index));
    onx_call *call = &frame->calls[index];
    onx_status status = onx_call_launch(call, call->step->provider);
    if (status != ONX_OK) onx_step_blame(frame, index, frame->diag);
    onx_step_unbind(frame, index);
    return status;
}

/* The block of an input that nobody needs after this step, and that has the size of output 0. */
static uint32_t block_to_overwrite(const onx_frame *frame, uint32_t index, size_t bytes) {
    const onx_step *step = &frame->program->steps[index];
    for (uint32_t i = 0; i < step->n_in && i < 32; i++) {
        uint32_t slot = step->in[i];
        if (!is_open(step, i)) continue;
        const onx_block *block = frame->blocks[slot];
        if (block && block->refs == 1 && dies_at(frame, slot, index) &&
            frame->values[slot].bytes == bytes &&
            frame->program->slots[slot].device == step->device)
            return i;
    }
    return ONX_NO_SLOT;
}

/* Views of blocks share them; so do views of what stays where it is during the whole run. */
static bool share_block(onx_frame *frame, uint32_t from, uint32_t to) {
    const onx_slot *slot = &frame->program->slots[from];
    bool stays = slot->role != ONX_ROLE_TEMP && !frame->program->slots[to].output;
    if (!frame->blocks[from] && !stays) return false;
    onx_block_release(frame->blocks[to]);
    frame->blocks[to] = frame->blocks[from];
    if (frame->blocks[to]) frame->blocks[to]->refs++;
    frame->values[to].data = frame->values[from].data;
    return true;
}

static onx_status take_output(onx_frame *frame, uint32_t index, uint32_t o) {
    const onx_step *step = &frame->program->steps[index];
    uint32_t slot = step->out[o];
    if (slot == ONX_NO_SLOT || frame->values[slot].dtype == ONX_DTYPE_STRING) return ONX_OK;
    if (o == 0 && step->kernel->flags & ONX_KERNEL_VIEW && step->when == ONX_WHEN_LATE &&
        share_block(frame, step->in[0], slot))
        return ONX_OK;
    uint32_t over = o == 0 && step->when == ONX_WHEN_LATE
                        ? block_to_overwrite(frame, index, frame->values[slot].bytes)
                        : ONX_NO_SLOT;
    if (over != ONX_NO_SLOT && share_block(frame, step->in[over], slot)) {
        frame->overwrites[index] = (int32_t)over;
        return ONX_OK;
    }
    return onx_frame_take(frame, slot, frame->diag);
}

onx_status onx_step_bind(onx_frame *frame, uint32_t index) {
    const onx_step *step = &frame->program->steps[index];
    onx_call *call = &frame->calls[index];
    size_t bytes = 0;
    ONX_TRY(sizes(frame, index));
    frame->overwrites[index] = -1;
    call->scratch = NULL;
    if (!scratch_total(frame, call, &bytes)) return onx_fail_nomem(frame->diag);
    if (bytes) {
        ONX_TRY(
            onx_blocks_take(&frame->pools[step->device], bytes, &frame->late_scratch, frame->diag));
        call->scratch = frame->late_scratch->data;
    }
    if (step->kernel->flags & ONX_KERNEL_LATE) return ONX_OK;
    for (uint32_t o = 0; o < step->n_out; o++) ONX_TRY(take_output(frame, index, o));
    return ONX_OK;
}

void onx_step_unbind(onx_frame *frame, uint32_t index) {
    onx_block_release(frame->late_scratch);
    frame->late_scratch = NULL;
    frame->calls[index].scratch = NULL;
}

static void start_over(onx_frame *frame) {
    const onx_program *program = frame->program;
    frame->bound = false;
    for (uint32_t i = 0; i < program->n_slots; i++) {
        frame->places[i] = (onx_place){.root = i, .shares = 1};
        if (!program->slots[i].early || program->slots[i].role == ONX_ROLE_CONSTANT) continue;
        onx_block_release(frame->blocks[i]);
        frame->blocks[i] = NULL;
        frame->values[i].data = NULL;
    }
    for (size_t d = 0; d < program->engine->n_providers; d++) onx_slab_reset(&frame->slabs[d]);
}

/* Memory for the plan. What is fresh is going to be written from end to end. */
static onx_status back(onx_frame *frame, size_t device) {
    const onx_provider *provider = frame->program->engine->providers[device];
    onx_slab *slab = &frame->slabs[device];
    size_t before = slab->bytes;
    if (!onx_slab_plan(slab)) return onx_fail_nomem(frame->diag);
    ONX_TRY(onx_slab_back(slab, provider, frame->ctx, frame->diag));
    onx_call call = {.ctx = frame->ctx, .run = frame->run, .diag = frame->diag};
    if (slab->bytes == before || provider->alloc) return ONX_OK;
    return onx_call_touch(&call, slab->data, slab->bytes, true);
}

static onx_status bind_all(onx_frame *frame) {
    const onx_program *program = frame->program;
    start_over(frame);
    for (uint32_t i = 0; i < program->n_steps; i++)
        if (program->steps[i].when == ONX_WHEN_EARLY)
            ONX_TRY(bind_early(frame, i));
        else if (program->steps[i].when == ONX_WHEN_RUN)
            ONX_TRY(sizes(frame, i));
    for (uint32_t i = 0; i < program->n_steps; i++) {
        const onx_step *step = &program->steps[i];
        if (step->when == ONX_WHEN_RUN) ONX_TRY(place_step(frame, i));
        for (uint32_t d = 0; d < step->n_dies && step->when != ONX_WHEN_EARLY; d++)
            if (!program->slots[step->dies[d]].late) give_place(frame, step->dies[d]);
    }
    for (size_t d = 0; d < program->engine->n_providers; d++) ONX_TRY(back(frame, d));
    return ONX_OK;
}

onx_status onx_frame_bind(onx_frame *frame) {
    if (is_bound(frame)) return ONX_OK;
    int64_t start = onx_clock_ns();
    onx_status status = bind_all(frame);
    if (status == ONX_OK) save_signature(frame);
    frame->binds++;
    frame->bind_ns += onx_clock_ns() - start;
    return status;
}
