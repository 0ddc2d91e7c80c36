/* eval.c: one node, computed outside a program. */
#include "rt/eval.h"
#include "rt/object.h"

static void *get(onx_call *call, size_t bytes) {
    return bytes ? onx_mem_alloc(call->ctx, bytes) : NULL;
}

void onx_eval_clear(onx_context *ctx, onx_operand *operand) {
    if (operand->object)
        onx_object_release(operand->object);
    else
        onx_mem_free(ctx, operand->data, operand->bytes);
    *operand = (onx_operand){0};
}

static onx_status run_bound(onx_call *call, const onx_provider *provider) {
    bool late = call->kernel->flags & ONX_KERNEL_LATE;
    for (size_t i = 0; i < call->n_out && !late; i++) {
        onx_operand *out = call->out[i];
        if (!out || out->dtype == ONX_DTYPE_STRING) continue;
        out->data = get(call, out->bytes);
        if (out->bytes && !out->data) return onx_fail_nomem(call->diag);
    }
    return onx_call_launch(call, provider);
}

/* Plan and scratch in one block. */
static onx_status bind_and_run(onx_call *call, const onx_provider *provider) {
    void *plan = get(call, call->plan_bytes), *scratch = NULL;
    size_t scratch_bytes = 0;
    onx_status status = ONX_OK;
    if (call->plan_bytes && !plan) status = onx_fail_nomem(call->diag);
    if (plan) memset(plan, 0, call->plan_bytes);
    call->plan = plan;
    if (status == ONX_OK && call->kernel->bind) status = call->kernel->bind(call);
    if (status == ONX_OK) {
        if (!onx_add_size(call->scratch_bytes, call->scratch_each, &scratch_bytes) ||
            !onx_add_size(scratch_bytes, 3 * ONX_ALIGN, &scratch_bytes))
            status = onx_fail_nomem(call->diag);
        else
            scratch = get(call, scratch_bytes);
        if (!scratch) status = onx_fail_nomem(call->diag);
    }
    if (status == ONX_OK) {
        uintptr_t aligned = ((uintptr_t)scratch + ONX_ALIGN - 1) & ~(uintptr_t)(ONX_ALIGN - 1);
        call->scratch = (void *)aligned;
        status = run_bound(call, provider);
    }
    if (scratch) onx_mem_free(call->ctx, scratch, scratch_bytes);
    onx_mem_free(call->ctx, plan, call->plan_bytes);
    return status;
}

onx_status onx_eval_node(onx_context *ctx, const onx_provider *provider, const onx_node *node,
                         size_t n_in, onx_operand *const *in, size_t n_out, onx_operand *const *out,
                         const onx_kernel **kernel, onx_diag *diag) {
    const onx_op *op = onx_op_of(node);
    if (!op)
        return onx_fail(diag, ONX_UNSUPPORTED, "the operator %.*s is not known",
                        ONX_FMT(node->op_type));
    onx_arena arena;
    onx_arena_init(&arena, ctx);
    onx_call call = {.op = op,
                     .node = node,
                     .ctx = ctx,
                     .diag = diag,
                     .arena = &arena,
                     .n_in = n_in,
                     .n_out = n_out,
                     .in = (onx_operand **)(uintptr_t)in,
                     .out = (onx_operand **)(uintptr_t)out};
    for (size_t i = 0; i < n_out; i++)
        if (out[i]) *out[i] = (onx_operand){0};
    while (call.n_in && !in[call.n_in - 1]) call.n_in--; /* as if they were not written */
    const char *tier = NULL;
    onx_status status = onx_kernel_select(provider, &call, &tier);
    bool made = status == ONX_OK;
    void *packed = NULL;
    size_t bytes = status == ONX_OK && call.kernel->pack_bytes ? call.kernel->pack_bytes(&call) : 0;
    if (bytes) {
        packed = onx_mem_alloc(ctx, bytes);
        status = packed ? call.kernel->pack(&call, packed) : onx_fail_nomem(diag);
        call.packed = packed;
    }
    if (status == ONX_OK) status = bind_and_run(&call, provider);
    if (made) onx_kernel_end(call.kernel, call.state);
    if (packed) onx_mem_free(ctx, packed, bytes);
    if (status == ONX_OK && kernel) *kernel = call.kernel;
    for (size_t i = 0; i < n_out && status != ONX_OK; i++)
        if (out[i]) onx_eval_clear(ctx, out[i]);
    onx_arena_fini(&arena);
    return status;
}

onx_status onx_operand_of_tensor(onx_context *ctx, const onx_tensor *tensor, onx_operand *out,
                                 bool *copied, onx_diag *diag) {
    size_t rank = onx_tensor_rank(tensor);
    if (rank > ONX_RANK_MAX)
        return onx_fail(diag, ONX_UNSUPPORTED, "a tensor has %zu dimensions; %d are possible", rank,
                        ONX_RANK_MAX);
    ONX_TRY(onx_tensor_check(tensor, diag));
    onx_operand made = {.constant = true};
    if (!onx_operand_shape(&made, onx_tensor_dtype(tensor), rank, onx_tensor_dims(tensor)))
        return onx_fail(diag, ONX_INVALID, "the dimensions of tensor '%.*s' make no sense",
                        ONX_FMT(tensor->name));
    if (made.dtype == ONX_DTYPE_STRING) {
        onx_object *object = NULL;
        ONX_TRY(onx_object_tensor(ctx, ONX_DTYPE_STRING, rank, made.dims, &object, diag));
        onx_status status = ONX_OK;
        for (int64_t i = 0; i < made.count && status == ONX_OK; i++) {
            onx_str text = {NULL, 0};
            status = onx_tensor_string_at(tensor, (uint64_t)i, &text, diag);
            if (status == ONX_OK) status = onx_object_set_string(object, i, text, diag);
        }
        if (status != ONX_OK) {
            onx_object_release(object);
            return status;
        }
        onx_operand_show(&made, object);
        made.constant = true;
        *copied = true;
        *out = made;
        return ONX_OK;
    }
    onx_str view = onx_tensor_view(tensor);
    *copied = made.bytes && !view.data;
    if (!*copied)
        made.data = (void *)(uintptr_t)view.data;
    else {
        made.data = onx_mem_alloc(ctx, made.bytes);
        if (!made.data) return onx_fail_nomem(diag);
        onx_status status = onx_tensor_read(tensor, made.data, made.bytes, diag);
        if (status != ONX_OK) {
            onx_mem_free(ctx, made.data, made.bytes);
            return status;
        }
    }
    *out = made;
    return ONX_OK;
}
