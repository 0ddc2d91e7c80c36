/* cancel.c: a flag that stops runs. */
#include "rt/session.h"

struct onx_cancel {
    onx_context *ctx;
    atomic_bool flag;
};

onx_status onx_cancel_new(onx_context *ctx, onx_cancel **out) {
    ctx = onx_context_or_default(ctx);
    onx_cancel *cancel = onx_mem_alloc(ctx, sizeof *cancel);
    if (!cancel) return ONX_NO_MEMORY;
    cancel->ctx = ctx;
    atomic_init(&cancel->flag, false);
    onx_context_retain(ctx);
    *out = cancel;
    return ONX_OK;
}

void onx_cancel_set(onx_cancel *cancel, bool cancelled) {
    atomic_store(&cancel->flag, cancelled);
}

const atomic_bool *onx_cancel_flag(const onx_cancel *cancel) {
    return &cancel->flag;
}

void onx_cancel_free(onx_cancel *cancel) {
    if (!cancel) return;
    onx_context *ctx = cancel->ctx;
    onx_mem_free(ctx, cancel, sizeof *cancel);
    onx_context_free(ctx);
}
