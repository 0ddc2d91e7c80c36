/* arg_ref.c: ArgMax, ArgMin: plain loops, all types. The first of equal elements counts, or the
 * last with select_last_index; NaN is beyond every number, as for numpy. */
#include "ops/reduce/reduce_ref.h"

enum { SPAN = 256 };

onx_status onx_arg_init(onx_call *call) {
    onx_arg_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->axis = onx_call_int(call, "axis");
    st->keepdims = onx_call_int(call, "keepdims") != 0;
    st->last = onx_call_int(call, "select_last_index") != 0;
    st->min = strcmp(call->op->name, "ArgMin") == 0;
    return ONX_OK;
}

onx_status onx_arg_bind(onx_call *call) {
    const onx_arg_state *st = call->state;
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

/* Goes on through n elements, the first of which has number `at`; one function per kind of type. */
#define SEARCH(name, type)                                                                         \
    static void name(const onx_arg_state *st, const void *from, int64_t at, size_t n, void *best_, \
                     int64_t *found) {                                                             \
        const type *x = from;                                                                      \
        type *best = best_;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                           \
            bool beats = st->min ? x[i] < *best : x[i] > *best;                                    \
            if (st->last) beats |= x[i] == *best || x[i] != x[i];                                  \
            beats = *best == *best ? beats | (x[i] != x[i]) : st->last && x[i] != x[i];            \
            if (!beats && at + (int64_t)i > 0) continue;                                           \
            *best = x[i];                                                                          \
            *found = at + (int64_t)i;                                                              \
        }                                                                                          \
    }
SEARCH(search_f64, double)
SEARCH(search_i64, int64_t)
SEARCH(search_u64, uint64_t)

static int64_t find(const onx_call *call, const onx_arg_state *st, int64_t base) {
    const onx_operand *in = call->in[0];
    const onx_reduce_axes *axes = &((const onx_reduce_plan *)call->plan)->reduced;
    onx_dtype dtype = (onx_dtype)in->dtype;
    bool whole = ONX_T_INTS >> dtype & 1, large = dtype == ONX_DTYPE_U64;
    uint64_t raw[SPAN], x[SPAN], best = 0;
    int64_t found = 0;
    for (int64_t at = 0; at < axes->count; at += SPAN) {
        size_t n = (size_t)(axes->count - at < SPAN ? axes->count - at : SPAN);
        onx_reduce_gather(in, axes, base, at, n, raw);
        onx_dtype type = large ? dtype : whole ? ONX_DTYPE_I64 : ONX_DTYPE_F64;
        (void)onx_dtype_convert(dtype, raw, type, x, n, false);
        (large ? search_u64 : whole ? search_i64 : search_f64)(st, x, at, n, &best, &found);
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
