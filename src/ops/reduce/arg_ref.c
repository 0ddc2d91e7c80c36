/* arg_ref.c: ArgMax, ArgMin: plain loops, all types. The first of equal elements counts, or the
 * last with select_last_index; NaN is beyond every number, as for numpy. */
#include "ops/reduce/reduce_ref.h"

typedef struct state {
    int64_t axis;
    bool keepdims, last, min;
} state;

onx_status onx_arg_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->axis = onx_call_int(call, "axis");
    st->keepdims = onx_call_int(call, "keepdims") != 0;
    st->last = onx_call_int(call, "select_last_index") != 0;
    st->min = strcmp(call->op->name, "ArgMin") == 0;
    return ONX_OK;
}

onx_status onx_arg_bind(onx_call *call) {
    const state *st = call->state;
    const onx_operand *in = call->in[0];
    bool reduced[ONX_RANK_MAX] = {false};
    size_t axis;
    if (in->rank == 0 && (st->axis == 0 || st->axis == -1))
        return onx_reduce_shape(call, ONX_DTYPE_I64, reduced, true, call->plan);
    if (!onx_axis(st->axis, in->rank, &axis))
        return onx_call_fail(call, ONX_INVALID, "axis %lld is not a dimension of rank %u",
                             (long long)st->axis, (unsigned)in->rank);
    if (in->dims[axis] == 0)
        return onx_call_fail(call, ONX_INVALID,
                             "dimension %zu is empty: it has no largest or "
                             "smallest element",
                             axis);
    reduced[axis] = true;
    return onx_reduce_shape(call, ONX_DTYPE_I64, reduced, st->keepdims, call->plan);
}

/* Does x take the place of `best`? One function per kind of type; the bytes are widened first. */
#define BEATS(name, type)                                                                          \
    static bool name(const state *st, const void *x_, const void *best_) {                         \
        type x, best;                                                                              \
        memcpy(&x, x_, sizeof x);                                                                  \
        memcpy(&best, best_, sizeof best);                                                         \
        if (best != best) return st->last && x != x;                                               \
        if (x != x) return true;                                                                   \
        return (st->min ? x < best : x > best) || (st->last && x == best);                         \
    }
BEATS(beats_f64, double)
BEATS(beats_i64, int64_t)
BEATS(beats_u64, uint64_t)

static int64_t find(const onx_call *call, const state *st, int64_t base) {
    const onx_operand *in = call->in[0];
    const onx_reduce_plan *plan = call->plan;
    onx_dtype dtype = (onx_dtype)in->dtype, type = ONX_DTYPE_F64;
    bool (*beats)(const state *, const void *, const void *) = beats_f64;
    if (ONX_T_INTS >> dtype & 1) {
        type = dtype == ONX_DTYPE_U64 ? dtype : ONX_DTYPE_I64;
        beats = dtype == ONX_DTYPE_U64 ? beats_u64 : beats_i64;
    }
    size_t size = onx_dtype_bits(dtype) / 8;
    int64_t found = 0;
    char x[8], best[8];
    for (int64_t i = 0; i < plan->reduced.count; i++) {
        int64_t offset = base + onx_reduce_offset(&plan->reduced, i);
        (void)onx_dtype_convert(dtype, (const char *)in->data + (size_t)offset * size, type, x, 1,
                                false);
        if (i > 0 && !beats(st, x, best)) continue;
        memcpy(best, x, sizeof x);
        found = i;
    }
    return found;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, 1), at = (int64_t)index * grain;
    for (int64_t i = at; i < at + grain && i < call->out[0]->count; i++) {
        int64_t found = find(call, call->state, onx_reduce_offset(&plan->kept, i));
        memcpy((char *)call->out[0]->data + (size_t)i * sizeof found, &found, sizeof found);
    }
    return ONX_OK;
}

onx_status onx_arg_run(onx_call *call) {
    int64_t grain = onx_reduce_grain(call->plan, 1);
    return onx_call_parallel(call, (size_t)((call->out[0]->count + grain - 1) / grain), task, NULL);
}
