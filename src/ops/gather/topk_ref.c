/* topk_ref.c: TopK: the k largest or smallest elements along an axis, with their indices.
 *
 * A heap of k candidates for each line: n log k. Equal elements come in the order of their indices,
 * NaN counts as larger than everything else, and the result is always sorted. Elements become keys,
 * integers in the order of the result, so that all types are compared alike. */
#include "ops/gather/topk_ref.h"
#include "ops/view/move_ref.h"

typedef struct topk {
    int64_t axis, k; /* k: the attribute of opset 1 */
    bool largest;
} topk;

typedef struct item { /* an element; the smaller key comes first, then the smaller index */
    uint64_t key;
    int64_t index;
} item;

onx_status onx_topk_init(onx_call *call) {
    topk *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    bool smallest = call->op->since >= 11 && !onx_call_int(call, "largest");
    *state = (topk){onx_call_int(call, "axis"), onx_call_int(call, "k"), !smallest};
    return ONX_OK;
}

onx_status onx_topk_bind(onx_call *call) {
    const topk *state = call->state;
    const onx_operand *in = call->in[0];
    int64_t dims[ONX_RANK_MAX], k = state->k;
    size_t axis;
    ONX_TRY(onx_axis_of(call, state->axis, in->rank, &axis));
    if (call->op->since > 1) {
        onx_ints list;
        ONX_TRY(onx_ints_input(call, 1, &list));
        if (list.n != 1) return onx_call_fail(call, ONX_INVALID, "K is not one number");
        k = list.v[0];
    }
    if (k < 0 || k > in->dims[axis])
        return onx_call_fail(call, ONX_INVALID, "k is %lld for a dimension of %lld", (long long)k,
                             (long long)in->dims[axis]);
    for (size_t i = 0; i < in->rank; i++) dims[i] = i == axis ? k : in->dims[i];
    *(int64_t *)call->plan = k;
    if (!onx_mul_size((size_t)k, sizeof(item), &call->scratch_each)) return ONX_LIMIT;
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, in->rank, dims));
    return onx_call_shape(call, 1, ONX_DTYPE_I64, in->rank, dims);
}

/* Bits of a double in the order of its values: -0 is 0, NaN is the largest. */
static uint64_t order_of(double real) {
    uint64_t bits;
    if (real != real) return UINT64_MAX;
    real += 0.0;
    memcpy(&bits, &real, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

/* What has the largest value first is counted down. */
static item read_item(onx_dtype dtype, const char *p, int64_t index, bool largest) {
    double real = 0;
    int64_t whole = 0;
    float single;
    uint64_t key;
    if (dtype == ONX_DTYPE_I64) {
        memcpy(&whole, p, sizeof whole);
        key = (uint64_t)whole ^ 1ull << 63;
    } else if (dtype == ONX_DTYPE_F32) {
        memcpy(&single, p, sizeof single);
        key = order_of((double)single);
    } else if (ONX_T_FLOATS >> dtype & 1) {
        (void)onx_dtype_convert(dtype, p, ONX_DTYPE_F64, &real, 1, true);
        key = order_of(real);
    } else {
        (void)onx_dtype_convert(dtype, p, ONX_DTYPE_I64, &whole, 1, true);
        key = (uint64_t)whole ^ (dtype == ONX_DTYPE_U64 ? 0 : 1ull << 63);
    }
    return (item){largest ? ~key : key, index};
}

static bool before(const item *a, const item *b) {
    return a->key != b->key ? a->key < b->key : a->index < b->index;
}

/* The heap has the item that comes last on top. */
static void sift_down(item *heap, int64_t n, int64_t at) {
    item it = heap[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(&heap[child], &heap[child + 1])) child++;
        if (!before(&it, &heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = it;
}

enum { CHECK_EVERY = 1 << 14 }; /* items until the deadline is looked at */

static onx_status look(const onx_call *call) {
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

/* The first element from i on, before `end`, that may come before `last`; of floats others are
 * passed over in blocks. */
static int64_t next_of(const char *line, int64_t i, int64_t end, int64_t step, onx_dtype dtype,
                       const char *last, bool largest) {
    enum { SPAN = 32 };
    float sign = largest ? 1 : -1, limit, x[SPAN];
    if (dtype != ONX_DTYPE_F32) return i;
    memcpy(&limit, last, sizeof limit);
    limit *= sign;
    for (; step == sizeof limit && i + SPAN <= end; i += SPAN) {
        int hits = 0;
        memcpy(x, line + i * step, sizeof x);
        for (int j = 0; j < SPAN; j++) hits |= !(x[j] * sign <= limit);
        if (hits) break;
    }
    for (; i < end; i++) {
        memcpy(x, line + i * step, sizeof *x);
        if (!(x[0] * sign <= limit)) break;
    }
    return i;
}

/* The k first items of a line, in order. */
static onx_status choose(const onx_call *call, item *heap, int64_t k, const char *line, int64_t n,
                         int64_t step, onx_dtype dtype, bool largest) {
    for (int64_t i = 0; i < k; i++) {
        if (i % CHECK_EVERY == 0) ONX_TRY(look(call));
        heap[i] = read_item(dtype, line + i * step, i, largest);
    }
    for (int64_t j = k / 2; j-- > 0;) sift_down(heap, k, j);
    for (int64_t i = k, end = k; i < n; i++) {
        if (i >= end) {
            ONX_TRY(look(call));
            end = n - i < CHECK_EVERY ? n : i + CHECK_EVERY;
        }
        i = next_of(line, i, end, step, dtype, line + heap[0].index * step, largest);
        if (i == end) {
            i--;
            continue;
        }
        item it = read_item(dtype, line + i * step, i, largest);
        if (!before(&it, &heap[0])) continue;
        heap[0] = it;
        sift_down(heap, k, 0);
    }
    for (int64_t end = k - 1; end > 0; end--) {
        if (end % CHECK_EVERY == 0) ONX_TRY(look(call));
        item t = heap[0];
        heap[0] = heap[end];
        heap[end] = t;
        sift_down(heap, end, 0);
    }
    return ONX_OK;
}

/* One line along the axis: in and out are [outer][n or k][inner]. */
static onx_status line_task(void *user, onx_call *call, size_t task, void *scratch) {
    const topk *state = call->state;
    const onx_operand *in = call->in[0];
    onx_operand *values = call->out[0], *indices = call->n_out > 1 ? call->out[1] : NULL;
    size_t axis = *(size_t *)user, size = onx_dtype_bits((onx_dtype)in->dtype) / 8;
    int64_t k = *(int64_t *)call->plan, inner = onx_inner_count(in, axis + 1);
    int64_t outer = (int64_t)task / inner, at = (int64_t)task % inner, n = in->dims[axis];
    const char *line = (const char *)in->data + (size_t)(outer * n * inner + at) * size;
    item *heap = scratch;
    ONX_TRY(choose(call, heap, k, line, n, inner * (int64_t)size, (onx_dtype)in->dtype,
                   state->largest));
    for (int64_t i = 0; i < k; i++) {
        int64_t to = (outer * k + i) * inner + at, from = heap[i].index;
        if (values)
            memcpy((char *)values->data + (size_t)to * size, line + (size_t)(from * inner) * size,
                   size);
        if (indices) memcpy((char *)indices->data + (size_t)to * sizeof from, &from, sizeof from);
    }
    return ONX_OK;
}

onx_status onx_topk_run(onx_call *call) {
    const onx_operand *in = call->in[0];
    size_t axis = 0;
    (void)onx_axis(((const topk *)call->state)->axis, in->rank, &axis);
    if (!in->count || !*(int64_t *)call->plan) return ONX_OK;
    return onx_call_parallel(call, (size_t)(in->count / in->dims[axis]), line_task, &axis);
}
