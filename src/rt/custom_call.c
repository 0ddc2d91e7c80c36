/* custom_call.c: what kernels of programs can ask for, and say: the functions of rt/kernel.h,
 * checked. Whatever is called at a wrong time, or about something that is not there, answers with
 * nothing or USAGE. */
#include "rt/custom_row.h"
#include "rt/object.h"

#include <stdio.h>

static onx_status wrong_time(const onx_call *call, const char *what, const char *when) {
    return onx_call_fail(call, ONX_USAGE, "%s is for the %s of a kernel", what, when);
}

/* ─ State and attributes ─────────────────────────────────────────────────────────────────────── */

void *onx_kernel_new_state(onx_call *call, size_t bytes) {
    return call->phase == ONX_PHASE_INIT && !call->state ? onx_call_state(call, bytes) : NULL;
}
void *onx_kernel_state(const onx_call *call) {
    return call->state;
}
int64_t onx_kernel_int(const onx_call *call, const char *attribute) {
    return onx_call_int(call, attribute);
}
float onx_kernel_float(const onx_call *call, const char *attribute) {
    return onx_call_float(call, attribute);
}
onx_str onx_kernel_string(const onx_call *call, const char *attribute) {
    return onx_call_string(call, attribute);
}
const int64_t *onx_kernel_ints(const onx_call *call, const char *attribute, size_t *n) {
    return onx_op_ints(call->node, attribute, n);
}
const float *onx_kernel_floats(const onx_call *call, const char *attribute, size_t *n) {
    return onx_op_floats(call->node, attribute, n);
}
const onx_node *onx_kernel_node(const onx_call *call) {
    return call->node;
}

/* ─ Inputs ───────────────────────────────────────────────────────────────────────────────────── */

size_t onx_kernel_input_count(const onx_call *call) {
    return call->n_in;
}
onx_dtype onx_kernel_dtype(const onx_call *call, size_t input) {
    const onx_operand *in = onx_call_in(call, input);
    return in ? (onx_dtype)in->dtype : ONX_DTYPE_NONE;
}
int64_t onx_kernel_rank(const onx_call *call, size_t input) {
    const onx_operand *in = onx_call_in(call, input);
    return in && in->rank != ONX_RANK_UNKNOWN ? in->rank : -1;
}
const int64_t *onx_kernel_dims(const onx_call *call, size_t input) {
    return onx_kernel_rank(call, input) >= 0 ? call->in[input]->dims : NULL;
}

/* In init sizes may be unknown, and the product is not there yet. */
int64_t onx_kernel_count(const onx_call *call, size_t input) {
    if (call->phase != ONX_PHASE_INIT && onx_call_in(call, input)) return call->in[input]->count;
    int64_t rank = onx_kernel_rank(call, input), count = 1;
    const int64_t *dims = onx_kernel_dims(call, input);
    for (int64_t i = 0; i < rank; i++) {
        if (dims[i] == 0) return 0;
        if (dims[i] < 0 || !onx_mul_i64(count, dims[i], &count)) return -1;
    }
    return rank < 0 ? -1 : count;
}

/* Is the value of an input known now? */
static const onx_operand *readable(const onx_call *call, size_t input) {
    const onx_operand *in = onx_call_in(call, input);
    bool host = input < 32 && call->kernel->host >> input & 1 && call->phase == ONX_PHASE_BIND;
    return in && (in->constant || host || call->phase == ONX_PHASE_RUN) ? in : NULL;
}

const void *onx_kernel_input(const onx_call *call, size_t input) {
    const onx_operand *in = readable(call, input);
    return in && in->dtype != ONX_DTYPE_STRING ? in->data : NULL;
}

onx_str onx_kernel_text(const onx_call *call, size_t input, int64_t index) {
    const onx_operand *in = readable(call, input);
    bool there = in && in->object && in->dtype == ONX_DTYPE_STRING && index >= 0 &&
                 index < in->object->count;
    return there ? in->object->strings[index] : (onx_str){NULL, 0};
}

/* ─ Outputs ──────────────────────────────────────────────────────────────────────────────────── */

size_t onx_kernel_output_count(const onx_call *call) {
    return call->n_out;
}
bool onx_kernel_has_output(const onx_call *call, size_t output) {
    return output < call->n_out && call->out[output];
}

static onx_status check_shape(const onx_call *call, onx_dtype dtype, size_t rank,
                              const int64_t *dims) {
    if ((unsigned)dtype >= ONX_DTYPE_COUNT || dtype == ONX_DTYPE_NONE)
        return onx_call_fail(call, ONX_USAGE, "%d is no element type", (int)dtype);
    if (rank && !dims) return onx_call_fail(call, ONX_USAGE, "the sizes of an output are NULL");
    return ONX_OK;
}

onx_status onx_kernel_set_shape(onx_call *call, size_t output, onx_dtype dtype, size_t rank,
                                const int64_t *dims) {
    if (call->phase != ONX_PHASE_BIND) return wrong_time(call, "onx_kernel_set_shape", "bind");
    ONX_TRY(check_shape(call, dtype, rank, dims));
    return onx_call_shape(call, output, dtype, rank, dims);
}

onx_status onx_kernel_make_output(onx_call *call, size_t output, onx_dtype dtype, size_t rank,
                                  const int64_t *dims, void **data) {
    if (call->phase != ONX_PHASE_RUN || !(call->kernel->flags & ONX_KERNEL_LATE))
        return wrong_time(call, "onx_kernel_make_output", "run of a late one, not for this one");
    ONX_TRY(check_shape(call, dtype, rank, dims));
    if (dtype == ONX_DTYPE_STRING) {
        onx_object *object = NULL;
        ONX_TRY(onx_object_tensor(call->ctx, dtype, rank, dims, &object, call->diag));
        ONX_TRY(onx_call_object(call, output, object));
    } else
        ONX_TRY(onx_call_output(call, output, dtype, rank, dims));
    if (data) *data = onx_kernel_output(call, output);
    return ONX_OK;
}

void *onx_kernel_output(const onx_call *call, size_t output) {
    bool there = call->phase == ONX_PHASE_RUN && onx_kernel_has_output(call, output);
    return there && call->out[output]->dtype != ONX_DTYPE_STRING ? call->out[output]->data : NULL;
}

/* Tasks may call it for different elements: the diagnostic stays as it is. */
onx_status onx_kernel_set_text(onx_call *call, size_t output, int64_t index, onx_str text) {
    if (!onx_kernel_has_output(call, output)) return ONX_OK;
    onx_object *object = call->out[output]->object;
    bool there = call->phase == ONX_PHASE_RUN && object && object->strings && index >= 0 &&
                 index < object->count;
    return there ? onx_object_set_string(object, index, text, NULL) : ONX_USAGE;
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_kernel_set_scratch(onx_call *call, size_t bytes, size_t each) {
    if (call->phase != ONX_PHASE_BIND) return wrong_time(call, "onx_kernel_set_scratch", "bind");
    call->scratch_bytes = bytes;
    call->scratch_each = each;
    return ONX_OK;
}

void *onx_kernel_scratch(const onx_call *call) {
    return call->phase == ONX_PHASE_RUN ? call->scratch : NULL;
}

onx_status onx_kernel_parallel(onx_call *call, size_t count, onx_kernel_task *task, void *user) {
    if (call->phase != ONX_PHASE_RUN) return wrong_time(call, "onx_kernel_parallel", "run");
    if (!task) return onx_call_fail(call, ONX_USAGE, "there is no task to run");
    return onx_call_parallel(call, count, task, user);
}

bool onx_kernel_stopped(const onx_call *call) {
    return onx_call_stopped(call);
}

onx_status onx_kernel_fail(onx_call *call, onx_status status, const char *fmt, ...) {
    char sentence[sizeof call->diag->message];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return onx_fail(call->diag, status == ONX_OK ? ONX_INVALID : status, "%s", sentence);
}
