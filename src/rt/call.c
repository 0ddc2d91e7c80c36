/* call.c: what a kernel can ask for, but for subgraphs (exec.c). A call without a frame stands
 * alone (eval.c): its outputs are plain allocations, its tasks run in order. */
#include "rt/engine.h"

#include <stdio.h>

void *onx_call_state(onx_call *call, size_t bytes) {
    void *memory = onx_arena_alloc(call->arena, bytes ? bytes : 1);
    if (memory && !call->state) call->state = memory;
    return memory;
}

int64_t onx_call_int(const onx_call *call, const char *name) {
    return onx_op_int(call->op, call->node, name);
}
float onx_call_float(const onx_call *call, const char *name) {
    return onx_op_float(call->op, call->node, name);
}
onx_str onx_call_string(const onx_call *call, const char *name) {
    return onx_op_string(call->op, call->node, name);
}

onx_status onx_call_choice(const onx_call *call, const char *name, const char *words, int *out) {
    onx_str is = onx_call_string(call, name);
    const char *word = words;
    for (*out = 0;; ++*out) {
        size_t n = strcspn(word, ",");
        if (onx_str_eq(is, (onx_str){word, n})) return ONX_OK;
        if (!word[n]) break;
        word += n + 2;
    }
    return onx_call_fail(call, ONX_INVALID, "%s is '%.*s'; it must be one of %s", name, ONX_FMT(is),
                         words);
}

onx_status onx_call_fail(const onx_call *call, onx_status status, const char *fmt, ...) {
    char sentence[sizeof call->diag->message];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return onx_fail(call->diag, status, "%s", sentence);
}

onx_status onx_call_output(onx_call *call, size_t index, onx_dtype dtype, size_t rank,
                           const int64_t *dims) {
    ONX_TRY(onx_call_shape(call, index, dtype, rank, dims));
    if (index >= call->n_out || !call->out[index]) return ONX_OK;
    if (call->frame) return onx_frame_take(call->frame, call->step->out[index], call->diag);
    onx_operand *out = call->out[index];
    out->data = out->bytes ? onx_mem_alloc(call->ctx, out->bytes) : NULL;
    return out->bytes && !out->data ? onx_fail_nomem(call->diag) : ONX_OK;
}

onx_status onx_call_object(onx_call *call, size_t index, onx_object *object) {
    if (index >= call->n_out || !call->out[index]) {
        onx_object_release(object);
        return ONX_OK;
    }
    onx_object *old = call->out[index]->object;
    onx_operand_show(call->out[index], object);
    onx_object_release(old);
    return ONX_OK;
}

onx_status onx_call_check(const onx_call *call) {
    return call->run ? onx_run_check(call->run) : ONX_OK;
}

bool onx_call_stopped(const onx_call *call) {
    return call->run && onx_run_stopped(call->run);
}

onx_status onx_call_parallel(onx_call *call, size_t count, onx_task *task, void *user) {
    if (call->run && count > 1) return onx_run_parallel(call->run, call, count, task, user);
    for (size_t i = 0; i < count; i++) {
        ONX_TRY(onx_call_check(call));
        ONX_TRY(task(user, call, i, onx_call_worker_scratch(call, 0)));
    }
    return ONX_OK;
}

typedef struct pages {
    uintptr_t from, to;
    bool write;
} pages;

/* The part of the range that lies in the piece: pieces begin at multiples of their size. */
static onx_status touch_piece(void *user, onx_call *call, size_t index, void *scratch) {
    const pages *p = user;
    uintptr_t from = (p->from / ONX_OS_LARGE_PAGE + index) * ONX_OS_LARGE_PAGE;
    uintptr_t to = from + ONX_OS_LARGE_PAGE;
    if (from < p->from) from = p->from;
    if (to > p->to) to = p->to;
    (void)scratch;
    (void)call->ctx->os->touch((const void *)from, to - from, p->write);
    return ONX_OK;
}

onx_status onx_call_touch(onx_call *call, const void *data, size_t bytes, bool write) {
    enum { WORTH = 1 << 20 };
    pages p = {(uintptr_t)data, (uintptr_t)data + bytes, write};
    if (bytes < WORTH) return ONX_OK;
    size_t last = (p.to - 1) / ONX_OS_LARGE_PAGE;
    return onx_call_parallel(call, last - p.from / ONX_OS_LARGE_PAGE + 1, touch_piece, &p);
}

void onx_call_spent(const onx_call *call, const void *data, size_t bytes) {
    if (call->node) onx_doc_drop(call->node->msg.doc, (onx_str){data, bytes});
}

/* A view that cannot share its bytes: they are copied, on the device they are on. */
static onx_status copy_view(onx_call *call) {
    const onx_operand *in = call->in[0];
    onx_operand *out = call->out[0];
    if (onx_operand_is_object(in)) return onx_call_object(call, 0, onx_object_retain(in->object));
    if (out->bytes && out->data != in->data) onx_mem_copy(out->data, in->data, out->bytes);
    return ONX_OK;
}
static const onx_kernel view_row = {.op = "Identity", .run = copy_view};

onx_status onx_call_launch(onx_call *call, const onx_provider *provider) {
    const onx_kernel *row = call->kernel->flags & ONX_KERNEL_VIEW ? &view_row : call->kernel;
    if (row == &view_row && (!call->n_out || !call->out[0])) return ONX_OK;
    onx_call_point(call);
    onx_status status =
        provider->launch ? provider->launch(provider->user, row, call) : row->run(call);
    onx_call_unpoint(call);
    return status;
}
