/* reverse_ref.c: ReverseSequence: one axis of the first two is time, the other the batch, and each
 * sequence of the batch is turned around as far as its own length says. A length that is negative
 * or beyond the input is refused. */
#include "ops/slice/reverse_ref.h"
#include "ops/view/move_ref.h"

typedef struct reverse_state {
    size_t batch, time; /* axes: 0 and 1 */
} reverse_state;

onx_status onx_reverse_init(onx_call *call) {
    reverse_state *state = onx_call_state(call, sizeof *state);
    int64_t batch = onx_call_int(call, "batch_axis"), time = onx_call_int(call, "time_axis");
    if (!state) return onx_fail_nomem(call->diag);
    if (!(batch == 0 && time == 1) && !(batch == 1 && time == 0))
        return onx_call_fail(call, ONX_INVALID,
                             "batch_axis is %lld and time_axis %lld: one must be 0, the other 1",
                             (long long)batch, (long long)time);
    *state = (reverse_state){(size_t)batch, (size_t)time};
    return ONX_OK;
}

onx_status onx_reverse_bind(onx_call *call) {
    const reverse_state *state = call->state;
    const onx_operand *in = call->in[0], *lens = call->in[1];
    if (in->rank < 2)
        return onx_call_fail(call, ONX_INVALID, "the input has rank %u: it needs time and batch",
                             (unsigned)in->rank);
    if (lens->rank != 1 || lens->dims[0] != in->dims[state->batch])
        return onx_call_fail(call, ONX_INVALID, "sequence_lens is not a list of %lld, the batch",
                             (long long)in->dims[state->batch]);
    ONX_TRY(onx_bind_same(call));
    return onx_move_bind(call);
}

static onx_status check_lens(const onx_call *call) {
    const reverse_state *state = call->state;
    int64_t most = call->in[0]->dims[state->time];
    for (int64_t i = 0; i < call->in[1]->count; i++) {
        int64_t n = onx_operand_int(call->in[1], i);
        if (n < 0 || n > most)
            return onx_call_fail(call, ONX_INVALID,
                                 "sequence %lld has length %lld: it must be from 0 to %lld",
                                 (long long)i, (long long)n, (long long)most);
    }
    return ONX_OK;
}

typedef struct rows {
    const char *from; /* [dims[0] * dims[1]][bytes] */
    char *to;
    int64_t count, bytes, per_task;
} rows;

static onx_status reverse_task(void *user, onx_call *call, size_t index, void *scratch) {
    const rows *r = user;
    const reverse_state *state = call->state;
    int64_t width = call->in[0]->dims[1], first = (int64_t)index * r->per_task;
    (void)scratch;
    for (int64_t i = first; i < first + r->per_task && i < r->count; i++) {
        int64_t at[2] = {i / width, i % width};
        int64_t n = onx_operand_int(call->in[1], at[state->batch]), *time = &at[state->time];
        if (*time < n) *time = n - 1 - *time;
        onx_mem_copy(r->to + i * r->bytes, r->from + (at[0] * width + at[1]) * r->bytes,
                     (size_t)r->bytes);
    }
    return ONX_OK;
}

onx_status onx_reverse_run(onx_call *call) {
    const onx_operand *in = call->in[0];
    ONX_TRY(check_lens(call));
    onx_mover mover = onx_move_begin(call);
    rows r = {.from = onx_move_in(&mover, 0), .to = onx_move_out(&mover, 0)};
    if (in->count) {
        r.count = in->dims[0] * in->dims[1];
        r.bytes = in->count / r.count * (int64_t)onx_move_size((onx_dtype)in->dtype);
        r.per_task = 1 + 65536 / r.bytes;
        ONX_TRY(onx_call_parallel(call, (size_t)((r.count + r.per_task - 1) / r.per_task),
                                  reverse_task, &r));
    }
    return onx_move_end(call, 0, r.to);
}
