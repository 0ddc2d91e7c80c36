/* unpool_ref.c: MaxUnpool: elements back to where a MaxPool found them. Indices count the elements
 * of the size that the attributes give; where output_shape says another, they keep their
 * coordinates. Of two elements with one index the later stays. */
#include "ops/pool/unpool_ref.h"
#include "ops/pool/pool_ref.h"
#include "ops/view/move_ref.h"

typedef struct unpool_plan {
    size_t rank;
    int64_t pooled[ONX_RANK_MAX]; /* what indices are counted in */
    int64_t count;
} unpool_plan;

onx_status onx_unpool_init(onx_call *call) {
    ONX_TRY(onx_pooling_init(call));
    call->plan_bytes = sizeof(unpool_plan);
    return ONX_OK;
}

static onx_status place(onx_call *call, unpool_plan *plan) {
    const onx_operand *x = call->in[0];
    onx_window w = ((const onx_pooling_state *)call->state)->window;
    ONX_TRY(onx_window_fit(&w, x->rank, call->diag));
    *plan = (unpool_plan){.rank = x->rank, .count = 1};
    for (size_t i = 0; i < x->rank; i++) {
        int64_t *size = &plan->pooled[i];
        *size = x->dims[i];
        if (i > 1 && !onx_mul_i64(x->dims[i] - 1, w.stride[i - 2], size))
            return onx_call_fail(call, ONX_LIMIT, "the output is too large");
        if (i > 1) *size += (int64_t)w.kernel[i - 2] - w.before[i - 2] - w.after[i - 2];
        if (*size < 0)
            return onx_call_fail(call, ONX_INVALID, "the output would have %lld elements along %zu",
                                 (long long)*size, i);
        if (!onx_mul_i64(plan->count, *size, &plan->count))
            return onx_call_fail(call, ONX_LIMIT, "the output is too large");
    }
    return ONX_OK;
}

onx_status onx_unpool_bind(onx_call *call) {
    const onx_operand *x = call->in[0], *indices = call->in[1];
    unpool_plan *plan = call->plan;
    onx_ints sizes;
    ONX_TRY(place(call, plan));
    bool same = indices->rank == x->rank;
    for (size_t i = 0; same && i < x->rank; i++) same = indices->dims[i] == x->dims[i];
    if (!same) return onx_call_fail(call, ONX_INVALID, "X and I must have the same shape");
    ONX_TRY(onx_ints_input(call, 2, &sizes));
    if (sizes.given && sizes.n != x->rank)
        return onx_call_fail(call, ONX_INVALID, "output_shape has %zu elements for %u dimensions",
                             sizes.n, (unsigned)x->rank);
    return onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank,
                          sizes.given ? sizes.v : plan->pooled);
}

static bool is_pooled(const unpool_plan *plan, const onx_operand *y) {
    return memcmp(plan->pooled, y->dims, plan->rank * sizeof *y->dims) == 0;
}

/* Where an index lies in the output, which `same` says is what was pooled; -1: it does not. */
static int64_t place_of(const unpool_plan *plan, const onx_operand *y, int64_t index, bool same) {
    int64_t at = 0, step = 1;
    if (index < 0 || index >= plan->count) return -1;
    if (same) return index;
    for (size_t i = plan->rank; i-- > 0; index /= plan->pooled[i]) {
        int64_t coordinate = index % plan->pooled[i];
        if (coordinate >= y->dims[i]) return -1;
        at += coordinate * step;
        step *= y->dims[i];
    }
    return at;
}

onx_status onx_unpool_run(onx_call *call) {
    const onx_operand *x = call->in[0];
    onx_operand *y = call->out[0];
    size_t size = onx_dtype_bits((onx_dtype)x->dtype) / 8;
    if (!y) return ONX_OK;
    if (y->bytes) memset(y->data, 0, y->bytes);
    bool same = is_pooled(call->plan, y);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t index = onx_operand_int(call->in[1], i), at = place_of(call->plan, y, index, same);
        if (i % 65536 == 0) ONX_TRY(onx_call_check(call));
        if (at < 0)
            return onx_call_fail(call, ONX_INVALID, "I has the element %lld, outside the output",
                                 (long long)index);
        memcpy((char *)y->data + (size_t)at * size, (const char *)x->data + (size_t)i * size, size);
    }
    return ONX_OK;
}
