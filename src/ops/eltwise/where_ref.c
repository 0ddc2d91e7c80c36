/* where_ref.c: Where, which copies elements of any type, and Equal of strings: plain loops. */
#include "ops/eltwise/wide_ref.h"
#include "rt/object.h"

enum { SPAN = 256 };

onx_status onx_where_bind(onx_call *call) {
    if (call->in[1]->dtype != call->in[2]->dtype)
        return onx_call_fail(call, ONX_INVALID, "inputs 1 and 2 must be of one type");
    return onx_bind_broadcast(call, (onx_dtype)call->in[1]->dtype);
}

/* Elements at … of the broadcast of an input: in place where they lie there, else in `buffer`. */
static const char *elements(const onx_call *call, size_t index, int64_t at, size_t n,
                            char *buffer) {
    const onx_operand *in = call->in[index];
    if (!in->object && in->count == call->out[0]->count)
        return (const char *)in->data + (size_t)at * onx_wide_size(in);
    onx_wide_gather(call->out[0], in, 0, at, n, buffer);
    return buffer;
}

static onx_status where_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_operand *out = call->out[0];
    size_t size = onx_wide_size(out);
    char b[SPAN], x[SPAN * sizeof(onx_str)], y[SPAN * sizeof(onx_str)];
    int64_t at = (int64_t)index * ONX_WIDE_TASK, end = at + ONX_WIDE_TASK;
    if (end > out->count) end = out->count;
    for (; at < end; at += SPAN) {
        size_t n = (size_t)(end - at < SPAN ? end - at : SPAN);
        const char *which = elements(call, 0, at, n, b);
        const char *from_x = elements(call, 1, at, n, x), *from_y = elements(call, 2, at, n, y);
        char *to = (char *)out->data + (size_t)at * size;
        for (size_t i = 0; i < n; i++)
            memmove(to + i * size, (which[i] ? from_x : from_y) + i * size, size);
    }
    return ONX_OK;
}

onx_status onx_where_run(onx_call *call) {
    size_t n = ((size_t)call->out[0]->count + ONX_WIDE_TASK - 1) / ONX_WIDE_TASK;
    return onx_call_parallel(call, n, where_task, NULL);
}

static onx_status pick_string(const onx_call *call, int64_t at, onx_object *object) {
    char which;
    onx_str text;
    onx_wide_gather(call->out[0], call->in[0], 0, at, 1, &which);
    onx_wide_gather(call->out[0], call->in[which ? 1 : 2], 0, at, 1, &text);
    return onx_object_set_string(object, at, text, call->diag);
}

onx_status onx_where_run_strings(onx_call *call) {
    const onx_operand *out = call->out[0];
    onx_object *object = NULL;
    ONX_TRY(
        onx_object_tensor(call->ctx, ONX_DTYPE_STRING, out->rank, out->dims, &object, call->diag));
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < object->count && status == ONX_OK; i++)
        status = pick_string(call, i, object);
    if (status == ONX_OK) return onx_call_object(call, 0, object);
    onx_object_release(object);
    return status;
}

onx_status onx_equal_bind_strings(onx_call *call) {
    return onx_bind_broadcast(call, ONX_DTYPE_BOOL);
}

onx_status onx_equal_run_strings(onx_call *call) {
    const onx_operand *out = call->out[0];
    for (int64_t i = 0; i < out->count; i++) {
        onx_str a, b;
        onx_wide_gather(out, call->in[0], 0, i, 1, &a);
        onx_wide_gather(out, call->in[1], 0, i, 1, &b);
        ((uint8_t *)out->data)[i] = onx_str_eq(a, b);
    }
    return ONX_OK;
}
