/* profile.c: a list of events, added to by runs of any thread. */
#include "rt/profile.h"

#include "base/thread.h"
#include "rt/work.h"

#include <stdio.h>

struct onx_profile {
    onx_context *ctx;
    onx_mutex lock;
    onx_arena arena; /* texts */
    onx_profile_event *events;
    size_t n, cap;
    const void **threads; /* that ran steps: see here() */
    size_t n_threads, cap_threads;
};

onx_context *onx_profile_context(const onx_profile *profile) {
    return profile->ctx;
}

static void put(char *text, size_t size, size_t *at, const char *piece) {
    while (*piece && *at + 1 < size) text[(*at)++] = *piece++;
    text[*at] = 0;
}

static void put_operand(const onx_operand *operand, char *text, size_t size, size_t *at) {
    char number[32];
    if (!operand) {
        put(text, size, at, "none");
        return;
    }
    static const char *const kinds[] = {"?", "", "sparse", "sequence", "map", "optional", "opaque"};
    if (operand->kind != ONX_TYPE_TENSOR) {
        put(text, size, at, kinds[operand->kind < ONX_COUNT(kinds) ? operand->kind : 0]);
        return;
    }
    put(text, size, at, onx_dtype_name((onx_dtype)operand->dtype));
    if (operand->rank == ONX_RANK_UNKNOWN) return;
    for (size_t d = 0; d < operand->rank; d++) {
        (void)snprintf(number, sizeof number, "%s%lld", d ? "," : "[", (long long)operand->dims[d]);
        put(text, size, at, number);
    }
    if (operand->rank) put(text, size, at, "]");
}

void onx_operand_text(const onx_operand *operand, char *text, size_t size) {
    size_t at = 0;
    text[0] = 0;
    put_operand(operand, text, size, &at);
}

void onx_call_shapes(const onx_call *call, bool outputs, char *text, size_t size) {
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < call->n_in; i++) {
        if (i) put(text, size, &at, " ");
        put_operand(call->in[i], text, size, &at);
    }
    if (outputs) put(text, size, &at, " ->");
    for (size_t i = 0; i < call->n_out && outputs; i++) {
        put(text, size, &at, " ");
        put_operand(call->out[i], text, size, &at);
    }
}

onx_status onx_profile_new(onx_context *ctx, onx_profile **out) {
    ctx = onx_context_or_default(ctx);
    onx_profile *profile = onx_mem_alloc(ctx, sizeof *profile);
    if (!profile) return ONX_NO_MEMORY;
    *profile = (onx_profile){.ctx = ctx};
    onx_context_retain(ctx);
    onx_mutex_init(&profile->lock);
    onx_arena_init(&profile->arena, ctx);
    *out = profile;
    return ONX_OK;
}

void onx_profile_free(onx_profile *profile) {
    if (!profile) return;
    onx_context *ctx = profile->ctx;
    onx_mutex_fini(&profile->lock);
    onx_arena_fini(&profile->arena);
    onx_mem_free(ctx, profile, sizeof *profile);
    onx_context_free(ctx);
}

size_t onx_profile_count(const onx_profile *profile) {
    return profile->n;
}

const onx_profile_event *onx_profile_event_at(const onx_profile *profile, size_t index) {
    return index < profile->n ? &profile->events[index] : NULL;
}

static const char *copy(onx_profile *profile, const char *text) {
    onx_str out = {NULL, 0};
    return onx_arena_str(&profile->arena, onx_str_of(text), &out) ? out.data : NULL;
}

static size_t bytes_moved(const onx_call *call) {
    size_t bytes = 0;
    if (call->kernel->flags & ONX_KERNEL_VIEW) return 0;
    for (size_t i = 0; i < call->n_in; i++) bytes += call->in[i] ? call->in[i]->bytes : 0;
    for (size_t i = 0; i < call->n_out; i++) bytes += call->out[i] ? call->out[i]->bytes : 0;
    return bytes;
}

static bool describe(onx_profile *profile, const onx_frame *frame, uint32_t index,
                     onx_profile_event *event) {
    const onx_step *step = &frame->program->steps[index];
    char text[512];
    onx_str name = step->node ? step->node->name : (onx_str){NULL, 0};
    if (!name.size && step->n_out && step->out[0] != ONX_NO_SLOT)
        name = frame->program->slots[step->out[0]].name;
    (void)snprintf(text, sizeof text, "%.*s", ONX_FMT(name));
    event->node = copy(profile, text);
    (void)snprintf(text, sizeof text, "%s%s%s", step->op->domain ? step->op->domain : "",
                   step->op->domain ? "::" : "", step->op->name);
    event->op = copy(profile, text);
    (void)snprintf(text, sizeof text, "%s %s", step->kernel->name ? step->kernel->name : "",
                   step->tier);
    event->kernel = copy(profile, text);
    onx_call_shapes(&frame->calls[index], true, text, sizeof text);
    event->shapes = copy(profile, text);
    event->bytes = bytes_moved(&frame->calls[index]);
    event->flops = onx_call_work(&frame->calls[index]);
    event->depth = (uint32_t)frame->program->depth;
    return event->node && event->op && event->kernel && event->shapes;
}

/* An address that no other thread has. */
static const void *here(void) {
    static _Thread_local const char mark = 0;
    return &mark;
}

static bool number_thread(onx_profile *profile, uint32_t *out) {
    size_t i = 0;
    while (i < profile->n_threads && profile->threads[i] != here()) i++;
    *out = (uint32_t)i;
    if (i < profile->n_threads) return true;
    if (!onx_arena_grow(&profile->arena, &profile->threads, &profile->cap_threads, i,
                        sizeof *profile->threads))
        return false;
    profile->threads[profile->n_threads++] = here();
    return true;
}

onx_status onx_profile_add(onx_profile *profile, const onx_frame *frame, uint32_t step,
                           onx_profile_event *event) {
    onx_mutex_lock(&profile->lock);
    bool ok =
        describe(profile, frame, step, event) && number_thread(profile, &event->thread) &&
        onx_arena_grow(&profile->arena, &profile->events, &profile->cap, profile->n, sizeof *event);
    if (ok) profile->events[profile->n++] = *event;
    onx_mutex_unlock(&profile->lock);
    return ok ? ONX_OK : onx_fail_nomem(frame->diag);
}
