/* sequence_ref.c: sequences and optionals: plain loops. Sequences share their items: taking one out
 * or putting one in copies references, never elements, where the engine has an object for them. */
#include "rt/object.h"

/* `position` in [-n, end) from the back made one from the front. */
static onx_status position(const onx_call *call, const onx_operand *operand, int64_t n, int64_t end,
                           int64_t *out) {
    if (operand->count != 1)
        return onx_call_fail(call, ONX_INVALID, "position has %lld elements; it must be a scalar",
                             (long long)operand->count);
    int64_t at = onx_operand_int(operand, 0);
    if (at < -n || at >= end)
        return onx_call_fail(call, ONX_INVALID,
                             "position %lld is out of range for a sequence of %lld tensors",
                             (long long)at, (long long)n);
    *out = at < 0 ? at + n : at;
    return ONX_OK;
}

/* The sequence in input 0, checked. */
static onx_status sequence_of(const onx_call *call, onx_object **out) {
    const onx_operand *in = call->in[0];
    if (!in || !in->object || in->kind != ONX_TYPE_SEQUENCE)
        return onx_call_fail(call, ONX_INVALID, "the input is not a sequence");
    *out = in->object;
    return ONX_OK;
}

/* The sequence in input 0, to be changed: itself where nobody else needs it, else a copy that
 * shares its items. */
static onx_status sequence_take(const onx_call *call, onx_object *list, onx_object **out) {
    bool ours = onx_call_owns(call, 0);
    *out = onx_object_retain(list);
    return ours ? ONX_OK : onx_object_unshare(*out, out, call->diag);
}

static onx_status add(const onx_call *call, onx_object *list, int64_t at, const onx_operand *item) {
    onx_object *object = NULL;
    if (item->kind != ONX_TYPE_TENSOR || (list->count && list->items[0]->dtype != item->dtype))
        return onx_call_fail(call, ONX_INVALID,
                             "only tensors, all of one type, can be in a sequence");
    ONX_TRY(onx_object_of(call->ctx, item, &object, call->diag));
    return onx_object_insert(list, at, object, call->diag);
}

/* The output, if all went well; else nothing is left of it. */
static onx_status finish(onx_call *call, onx_object *object, onx_status status) {
    if (status == ONX_OK) return onx_call_object(call, 0, object);
    onx_object_release(object);
    return status;
}

static onx_status empty_run(onx_call *call) {
    onx_object *list = NULL;
    ONX_TRY(onx_object_list(call->ctx, ONX_TYPE_SEQUENCE, 0, &list, call->diag));
    return onx_call_object(call, 0, list);
}

static onx_status construct_run(onx_call *call) {
    onx_object *list = NULL;
    ONX_TRY(onx_object_list(call->ctx, ONX_TYPE_SEQUENCE, call->n_in, &list, call->diag));
    onx_status status = ONX_OK;
    for (size_t i = 0; i < call->n_in && status == ONX_OK; i++)
        status = add(call, list, list->count, call->in[i]);
    return finish(call, list, status);
}

static onx_status insert_run(onx_call *call) {
    onx_object *list = NULL, *taken = NULL;
    ONX_TRY(sequence_of(call, &list));
    int64_t at = list->count;
    if (onx_call_in(call, 2)) ONX_TRY(position(call, call->in[2], at, at + 1, &at));
    ONX_TRY(sequence_take(call, list, &taken));
    return finish(call, taken, add(call, taken, at, call->in[1]));
}

static onx_status erase_run(onx_call *call) {
    onx_object *list = NULL, *taken = NULL;
    ONX_TRY(sequence_of(call, &list));
    int64_t at = list->count - 1;
    if (onx_call_in(call, 1)) ONX_TRY(position(call, call->in[1], list->count, list->count, &at));
    if (at < 0) return onx_call_fail(call, ONX_INVALID, "the sequence is empty: nothing to erase");
    ONX_TRY(sequence_take(call, list, &taken));
    onx_object_erase(taken, at);
    return onx_call_object(call, 0, taken);
}

static onx_status at_run(onx_call *call) {
    onx_object *list = NULL;
    int64_t at = 0;
    ONX_TRY(sequence_of(call, &list));
    ONX_TRY(position(call, call->in[1], list->count, list->count, &at));
    return onx_call_object(call, 0, onx_object_retain(list->items[at]));
}

static onx_status length_bind(onx_call *call) {
    return onx_call_shape(call, 0, ONX_DTYPE_I64, 0, NULL);
}
static onx_status length_run(onx_call *call) {
    onx_object *list = NULL;
    ONX_TRY(sequence_of(call, &list));
    memcpy(call->out[0]->data, &list->count, sizeof list->count);
    return ONX_OK;
}

/* ─ To and from tensors ──────────────────────────────────────────────────────────────────────── */

typedef struct axis_state {
    int64_t axis;
    bool flag; /* SplitToSequence: drop the axis; ConcatFromSequence: insert it */
} axis_state;

static onx_status split_init(onx_call *call) {
    axis_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->axis = onx_call_int(call, "axis");
    state->flag = (call->n_in < 2 || !call->in[1]) && onx_call_int(call, "keepdims") == 0;
    return ONX_OK;
}

static onx_status concat_init(onx_call *call) {
    axis_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->axis = onx_call_int(call, "axis");
    state->flag = onx_call_int(call, "new_axis") != 0;
    return ONX_OK;
}

static onx_status find_axis(const onx_call *call, size_t rank, size_t *axis) {
    const axis_state *state = call->state;
    if (onx_axis(state->axis, rank, axis)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "axis %lld is out of range for rank %zu",
                         (long long)state->axis, rank);
}

/* Of a part of the sizes of a tensor that is not empty, so that it cannot overflow. */
static int64_t product(const int64_t *dims, size_t from, size_t to) {
    int64_t n = 1;
    for (size_t i = from; i < to; i++) n *= dims[i];
    return n;
}

/* How many parts, and how long each is where they are equal (the last may be shorter). */
static onx_status split_parts(const onx_call *call, int64_t size, int64_t *count, int64_t *part) {
    const onx_operand *split = onx_call_in(call, 1);
    *part = 1;
    if (split && split->rank > 0) {
        int64_t sum = 0;
        for (int64_t i = 0; i < split->count; i++) {
            int64_t n = onx_operand_int(split, i);
            if (n < 0 || n > size - sum)
                return onx_call_fail(call, ONX_INVALID,
                                     "part %lld is %lld long, which does not fit in size %lld",
                                     (long long)i, (long long)n, (long long)size);
            sum += n;
        }
        *count = split->count;
        if (sum == size) return ONX_OK;
        return onx_call_fail(call, ONX_INVALID, "the parts are %lld long together, not %lld",
                             (long long)sum, (long long)size);
    }
    if (split) *part = onx_operand_int(split, 0);
    if (*part <= 0)
        return onx_call_fail(call, ONX_INVALID, "split is %lld; it must be positive",
                             (long long)*part);
    *count = size / *part + (size % *part != 0);
    return ONX_OK;
}

/* x: [outer, size, inner]; the part: [outer, n, inner] from x[:, first:first+n, :]. */
static onx_status split_one(const onx_call *call, size_t axis, int64_t first, int64_t n,
                            onx_object *list) {
    const axis_state *state = call->state;
    const onx_operand *x = call->in[0];
    size_t rank = x->rank;
    int64_t dims[ONX_RANK_MAX];
    int64_t outer = x->count ? product(x->dims, 0, axis) : 0;
    int64_t inner = x->count ? product(x->dims, axis + 1, rank) : 0;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = n;
    if (state->flag) {
        memmove(dims + axis, dims + axis + 1, (rank - axis - 1) * sizeof *dims);
        rank--;
    }
    onx_object *part = NULL;
    onx_operand to;
    onx_status status =
        onx_object_tensor(call->ctx, (onx_dtype)x->dtype, rank, dims, &part, call->diag);
    if (status != ONX_OK) return status;
    onx_operand_show(&to, part);
    for (int64_t o = 0; o < outer && status == ONX_OK; o++)
        status = onx_operand_copy(&to, o * n * inner, x, (o * x->dims[axis] + first) * inner,
                                  n * inner, call->diag);
    if (status == ONX_OK) return onx_object_insert(list, list->count, part, call->diag);
    onx_object_release(part);
    return status;
}

static onx_status split_run(onx_call *call) {
    const onx_operand *x = call->in[0], *split = onx_call_in(call, 1);
    bool listed = split && split->rank > 0;
    size_t axis = 0;
    int64_t count = 0, part = 1;
    ONX_TRY(find_axis(call, x->rank, &axis));
    ONX_TRY(split_parts(call, x->dims[axis], &count, &part));
    onx_object *list = NULL;
    ONX_TRY(onx_object_list(call->ctx, ONX_TYPE_SEQUENCE, (size_t)count, &list, call->diag));
    onx_status status = ONX_OK;
    for (int64_t i = 0, at = 0; i < count && status == ONX_OK; i++) {
        int64_t left = x->dims[axis] - at;
        int64_t n = listed ? onx_operand_int(split, i) : part < left ? part : left;
        status = split_one(call, axis, at, n, list);
        if (status == ONX_OK) status = onx_call_check(call);
        at += n;
    }
    return finish(call, list, status);
}

/* The shape of the result; all items agree but along the axis. */
static onx_status concat_shape(const onx_call *call, const onx_object *list, size_t *axis,
                               size_t *rank, int64_t *dims) {
    const axis_state *state = call->state;
    const onx_object *first = list->items[0];
    *rank = (size_t)first->rank + state->flag;
    if (*rank > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_UNSUPPORTED, "the result has rank %zu; at most %d", *rank,
                             ONX_RANK_MAX);
    ONX_TRY(find_axis(call, *rank, axis));
    size_t skip = state->flag ? first->rank : *axis; /* the one size that may differ */
    int64_t along = 0;
    for (int64_t i = 0; i < list->count; i++) {
        const onx_object *item = list->items[i];
        bool same = item->rank == first->rank && item->dtype == first->dtype;
        for (size_t d = 0; same && d < first->rank; d++)
            same = d == skip || item->dims[d] == first->dims[d];
        if (!same)
            return onx_call_fail(call, ONX_INVALID,
                                 "tensor %lld of the sequence differs from the first in type or "
                                 "shape, beyond axis %zu",
                                 (long long)i, *axis);
        if (!onx_add_i64(along, state->flag ? 1 : item->dims[*axis], &along))
            return onx_call_fail(call, ONX_INVALID, "the result is too large");
    }
    memcpy(dims, first->dims, *axis * sizeof *dims);
    dims[*axis] = along;
    size_t after = *axis + !state->flag;
    memcpy(dims + *axis + 1, first->dims + after, (*rank - *axis - 1) * sizeof *dims);
    return ONX_OK;
}

/* to: [outer, sum of n, inner]; items: [outer, n, inner], or [outer, inner] with n = 1. */
static onx_status concat_copy(onx_call *call, const onx_object *list, size_t axis,
                              const onx_operand *to) {
    if (to->count == 0) return ONX_OK;
    int64_t outer = product(to->dims, 0, axis), row = to->count / outer, at = 0;
    for (int64_t i = 0; i < list->count; i++) {
        onx_operand item;
        onx_operand_show(&item, list->items[i]);
        int64_t n = item.count / outer;
        for (int64_t o = 0; o < outer; o++)
            ONX_TRY(onx_operand_copy(to, o * row + at, &item, o * n, n, call->diag));
        at += n;
    }
    return ONX_OK;
}

static onx_status concat_run(onx_call *call) {
    onx_object *list = NULL, *strings = NULL;
    size_t axis = 0, rank = 0;
    int64_t dims[ONX_RANK_MAX];
    ONX_TRY(sequence_of(call, &list));
    if (list->count == 0)
        return onx_call_fail(call, ONX_INVALID, "the sequence is empty: it has no shape");
    ONX_TRY(concat_shape(call, list, &axis, &rank, dims));
    onx_dtype dtype = (onx_dtype)list->items[0]->dtype;
    if (dtype != ONX_DTYPE_STRING) {
        ONX_TRY(onx_call_output(call, 0, dtype, rank, dims));
        return concat_copy(call, list, axis, call->out[0]);
    }
    onx_operand to;
    ONX_TRY(onx_object_tensor(call->ctx, dtype, rank, dims, &strings, call->diag));
    onx_operand_show(&to, strings);
    return finish(call, strings, concat_copy(call, list, axis, &to));
}

/* ─ Optionals ────────────────────────────────────────────────────────────────────────────────── */

static onx_status optional_run(onx_call *call) {
    onx_object *list = NULL, *item = NULL;
    ONX_TRY(onx_object_list(call->ctx, ONX_TYPE_OPTIONAL, 1, &list, call->diag));
    if (call->n_in == 0 || !call->in[0]) return onx_call_object(call, 0, list);
    onx_status status = onx_object_of(call->ctx, call->in[0], &item, call->diag);
    if (status == ONX_OK) status = onx_object_insert(list, 0, item, call->diag);
    return finish(call, list, status);
}

static onx_status get_run(onx_call *call) {
    onx_operand *in = call->in[0];
    if (in->kind != ONX_TYPE_OPTIONAL) return onx_call_give(call, 0, in);
    if (!in->object || in->object->count == 0)
        return onx_call_fail(call, ONX_INVALID, "the optional is empty: it has no element");
    return onx_call_object(call, 0, onx_object_retain(in->object->items[0]));
}

static onx_status has_bind(onx_call *call) {
    return onx_call_shape(call, 0, ONX_DTYPE_BOOL, 0, NULL);
}
static onx_status has_run(onx_call *call) {
    const onx_operand *in = call->n_in ? call->in[0] : NULL;
    bool empty = !in || (in->kind == ONX_TYPE_OPTIONAL && (!in->object || !in->object->count));
    *(uint8_t *)call->out[0]->data = !empty;
    return ONX_OK;
}

enum { LATE = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS, ANY = 0 };

extern onx_kernel_rows onx_kernels_sequence_ref;
onx_kernel_rows onx_kernels_sequence_ref = {
    {"SequenceEmpty", 11, 0, {ANY}, "sequence_empty", LATE, .run = empty_run},
    {"SequenceConstruct", 11, 0, {ANY}, "sequence_construct", LATE, .run = construct_run},
    {"SequenceInsert",
     11,
     0,
     {ANY, ANY, ONX_T_INDEX},
     "sequence_insert",
     LATE,
     .host = 1 | 1 << 2,
     .run = insert_run},
    {"SequenceErase",
     11,
     0,
     {ANY, ONX_T_INDEX},
     "sequence_erase",
     LATE,
     .host = 3,
     .run = erase_run},
    {"SequenceAt", 11, 0, {ANY, ONX_T_INDEX}, "sequence_at", LATE, .host = 3, .run = at_run},
    {"SequenceLength",
     11,
     0,
     {ANY},
     "sequence_length",
     ONX_KERNEL_OBJECTS,
     .bind = length_bind,
     .run = length_run},
    {"SplitToSequence",
     11,
     0,
     {ANY, ONX_T_INDEX},
     "split_to_sequence",
     LATE,
     .host = 1 << 1,
     .init = split_init,
     .run = split_run},
    {"ConcatFromSequence",
     11,
     0,
     {ANY},
     "concat_from_sequence",
     LATE,
     .init = concat_init,
     .run = concat_run},
    {"Optional", 15, 0, {ANY}, "optional", LATE, .run = optional_run},
    {"OptionalGetElement", 15, 0, {ANY}, "optional_get", LATE, .run = get_run},
    {"OptionalHasElement",
     15,
     0,
     {ANY},
     "optional_has",
     ONX_KERNEL_OBJECTS,
     .bind = has_bind,
     .run = has_run},
    {0},
};
