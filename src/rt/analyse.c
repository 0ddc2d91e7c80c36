/* analyse.c: when each step is bound, and how long each slot lives.
 *
 * Forward: a value is known at bind if it is constant, or computed from shapes or known values
 * alone; it is late if a step makes its shape up in the run. Backward: of the steps that could run
 * at bind, those do that a host input waits for. */
#include "rt/engine.h"

static const onx_slot *input_slot(const onx_program *p, const onx_step *step, uint32_t i) {
    return step->in[i] == ONX_NO_SLOT ? NULL : &p->slots[step->in[i]];
}

static bool is_object(const onx_slot *slot) {
    return onx_operand_is_object(&slot->constant);
}

/* Known: `early` is used for it until the steps that really run early are chosen. */
static bool could_be_early(const onx_program *p, const onx_step *step) {
    if (step->kernel->flags & ONX_KERNEL_LATE || step->device != p->engine->host ||
        step->n_children || p->engine->dynamic)
        return false;
    for (uint32_t i = 0; i < step->n_in; i++) {
        const onx_slot *slot = input_slot(p, step, i);
        if (!slot) continue;
        if (slot->late || is_object(slot)) return false;
        if (!(step->kernel->flags & ONX_KERNEL_SHAPE) && !slot->early &&
            slot->role != ONX_ROLE_CONSTANT)
            return false;
    }
    for (uint32_t i = 0; i < step->n_out; i++)
        if (step->out[i] != ONX_NO_SLOT && is_object(&p->slots[step->out[i]])) return false;
    return true;
}

static bool must_be_late(const onx_program *p, const onx_step *step) {
    if (step->kernel->flags & ONX_KERNEL_LATE || p->engine->dynamic) return true;
    for (uint32_t i = 0; i < step->n_in; i++) {
        const onx_slot *slot = input_slot(p, step, i);
        if (!slot) continue;
        bool host = i < 32 && step->kernel->host >> i & 1;
        if (slot->late || is_object(slot)) return true;
        if (host && !slot->early && slot->role != ONX_ROLE_CONSTANT) return true;
    }
    for (uint32_t i = 0; i < step->n_out; i++)
        if (step->out[i] != ONX_NO_SLOT && is_object(&p->slots[step->out[i]])) return true;
    return false;
}

static void forward(onx_program *p) {
    for (size_t s = 0; s < p->n_steps; s++) {
        onx_step *step = &p->steps[s];
        bool early = could_be_early(p, step), late = must_be_late(p, step);
        step->when = early ? ONX_WHEN_EARLY : late ? ONX_WHEN_LATE : ONX_WHEN_RUN;
        for (uint32_t i = 0; i < step->n_out; i++) {
            if (step->out[i] == ONX_NO_SLOT) continue;
            p->slots[step->out[i]].early = early;
            p->slots[step->out[i]].late = step->when == ONX_WHEN_LATE;
        }
    }
}

/* `needed`: slots that a step reads while it is bound. */
static void backward(onx_program *p, bool *needed) {
    for (size_t s = p->n_steps; s-- > 0;) {
        onx_step *step = &p->steps[s];
        bool wanted = false;
        for (uint32_t i = 0; i < step->n_out; i++)
            wanted |= step->out[i] != ONX_NO_SLOT && needed[step->out[i]];
        if (step->when == ONX_WHEN_EARLY && !wanted) step->when = ONX_WHEN_RUN;
        for (uint32_t i = 0; i < step->n_out; i++)
            if (step->out[i] != ONX_NO_SLOT && step->when != ONX_WHEN_EARLY)
                p->slots[step->out[i]].early = false;
        bool reads_all = step->when == ONX_WHEN_EARLY && !(step->kernel->flags & ONX_KERNEL_SHAPE);
        for (uint32_t i = 0; i < step->n_in; i++)
            if (step->in[i] != ONX_NO_SLOT &&
                (reads_all || (i < 32 && step->kernel->host >> i & 1)))
                needed[step->in[i]] = true;
    }
}

/* A step reads its inputs, and what its subgraphs take from this program. */
static void mark_lives(onx_program *p) {
    for (size_t s = 0; s < p->n_steps; s++) {
        const onx_step *step = &p->steps[s];
        if (step->when == ONX_WHEN_EARLY) continue;
        for (uint32_t i = 0; i < step->n_in; i++)
            if (step->in[i] != ONX_NO_SLOT) p->slots[step->in[i]].last = (uint32_t)s;
        if (step->kernel->flags & ONX_KERNEL_VIEW) p->slots[step->in[0]].viewed = true;
        for (uint32_t c = 0; c < step->n_children; c++)
            for (size_t k = 0; k < step->children[c]->n_captures; k++) {
                const onx_program *child = step->children[c];
                p->slots[child->slots[child->captures[k]].outer].last = (uint32_t)s;
            }
    }
}

/* The step at whose end a slot is given back; ONX_NO_SLOT: never. */
static uint32_t end_of(const onx_slot *slot) {
    if (slot->role != ONX_ROLE_TEMP || slot->output || slot->early) return ONX_NO_SLOT;
    return slot->last == ONX_NO_SLOT ? slot->maker : slot->last;
}

static bool list_dead(onx_program *p, onx_arena *arena) {
    for (size_t i = 0; i < p->n_slots; i++)
        if (end_of(&p->slots[i]) != ONX_NO_SLOT) p->steps[end_of(&p->slots[i])].n_dies++;
    for (size_t s = 0; s < p->n_steps; s++) {
        p->steps[s].dies = onx_arena_array(arena, p->steps[s].n_dies, sizeof(uint32_t));
        if (!p->steps[s].dies) return false;
        p->steps[s].n_dies = 0;
    }
    for (size_t i = 0; i < p->n_slots; i++) {
        uint32_t end = end_of(&p->slots[i]);
        if (end != ONX_NO_SLOT) p->steps[end].dies[p->steps[end].n_dies++] = (uint32_t)i;
    }
    return true;
}

static bool lay_out(onx_program *p) {
    uint32_t children = 0;
    for (size_t s = 0; s < p->n_steps; s++) {
        onx_step *step = &p->steps[s];
        step->first_child = children;
        step->plan_offset = p->plan_bytes;
        children += step->n_children;
        p->n_edges += (size_t)step->n_in + step->n_out;
        if (!onx_add_size(p->plan_bytes, (step->plan_bytes + 15) & ~(size_t)15, &p->plan_bytes))
            return false;
    }
    return true;
}

onx_status onx_program_analyse(onx_program *p, onx_arena *arena, onx_diag *diag) {
    bool *needed = onx_arena_array(arena, p->n_slots, sizeof *needed);
    if (!needed) return onx_fail_nomem(diag);
    forward(p);
    backward(p, needed);
    mark_lives(p);
    return list_dead(p, arena) && lay_out(p) ? ONX_OK : onx_fail_nomem(diag);
}
