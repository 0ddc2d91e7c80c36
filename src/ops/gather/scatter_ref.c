/* scatter_ref.c: a copy of a tensor with elements put in by index: Scatter, ScatterElements,
 * ScatterND. Updates are made one after the other, in the order of the indices: where two have the
 * same place, the last one wins. */
#include "ops/gather/scatter_ref.h"

#include "ops/gather/combine_ref.h"

typedef struct scatter {
    int64_t axis;
    onx_reduction how;
} scatter;

onx_status onx_scatter_init(onx_call *call) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    scatter *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    onx_str name = onx_call_string(call, "reduction");
    size_t i = 0;
    while (name.size && i < ONX_COUNT(names) && !onx_str_is(name, names[i])) i++;
    if (i == ONX_COUNT(names))
        return onx_call_fail(call, ONX_INVALID, "there is no reduction '%.*s'", ONX_FMT(name));
    *state = (scatter){onx_call_int(call, "axis"), (onx_reduction)i};
    if (onx_combine_knows((onx_dtype)call->in[0]->dtype, state->how)) return ONX_OK;
    return onx_call_fail(call, ONX_UNSUPPORTED, "%s cannot be combined with '%s'",
                         onx_dtype_name((onx_dtype)call->in[0]->dtype), names[i]);
}

/* ── Putting elements in ─────────────────────────────────────────────────────────────────────── */

typedef struct target {
    char *to;
    const char *from;   /* updates */
    const onx_str *old; /* what strings there were: those that are elsewhere now are sums */
    onx_dtype dtype;
    size_t size;
    onx_reduction how;
    onx_arena texts; /* sums of strings, until they are handed in */
} target;

static void add_floats(char *restrict to, const char *restrict from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float a, b;
        memcpy(&a, to + i * sizeof a, sizeof a);
        memcpy(&b, from + i * sizeof b, sizeof b);
        a += b;
        memcpy(to + i * sizeof a, &a, sizeof a);
    }
}

/* n elements from `from_at` of the updates to `to_at`. */
static onx_status put(const onx_call *call, target *t, int64_t to_at, int64_t from_at, int64_t n) {
    char *to = t->to + (size_t)to_at * t->size;
    const char *from = t->from + (size_t)from_at * t->size;
    if (t->how == ONX_REDUCE_NONE) {
        onx_mem_copy(to, from, (size_t)n * t->size);
        return ONX_OK;
    }
    if (t->dtype == ONX_DTYPE_F32 && t->how == ONX_REDUCE_ADD) {
        add_floats(to, from, (size_t)n);
        return ONX_OK;
    }
    for (int64_t i = 0; i < n; i++, to += t->size, from += t->size) {
        bool own = t->old && ((const onx_str *)to)->data != t->old[to_at + i].data;
        if (!onx_combine(t->dtype, t->how, to, from, own, &t->texts))
            return onx_fail_nomem(call->diag);
    }
    return ONX_OK;
}

/* Output 0 with the elements of input 0, unless that is where they are already. `end` follows. */
static onx_status begin(onx_call *call, target *t) {
    const onx_operand *data = call->in[0];
    onx_mover mover = onx_move_begin(call);
    const char *from = onx_move_in(&mover, 0);
    *t = (target){.dtype = (onx_dtype)data->dtype,
                  .size = onx_move_size((onx_dtype)data->dtype),
                  .how = ((const scatter *)call->state)->how};
    t->old = t->dtype == ONX_DTYPE_STRING ? (const onx_str *)from : NULL;
    t->from = onx_move_in(&mover, 2);
    t->to = onx_move_out(&mover, 0);
    onx_arena_init(&t->texts, call->ctx);
    onx_copy all = onx_copy_begin(t->size);
    onx_copy_dim(&all, data->count, 1, 1);
    return from == t->to ? ONX_OK : onx_copy_run(call, &all, from, t->to);
}

static onx_status end(onx_call *call, target *t, onx_status status) {
    if (!status) status = onx_move_end(call, 0, t->to);
    onx_arena_fini(&t->texts);
    return status;
}

static onx_status bad_index(const onx_call *call, int64_t index, int64_t size) {
    return onx_call_fail(call, ONX_INVALID, "index %lld is out of range for a dimension of %lld",
                         (long long)index, (long long)size);
}

/* ── ScatterElements ─────────────────────────────────────────────────────────────────────────── */

onx_status onx_scatter_elements_bind(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1], *updates = call->in[2];
    size_t axis;
    ONX_TRY(onx_axis_of(call, ((const scatter *)call->state)->axis, data->rank, &axis));
    bool fit =
        indices->rank == data->rank && updates->rank == data->rank && updates->dtype == data->dtype;
    for (size_t i = 0; fit && i < data->rank; i++)
        fit = indices->dims[i] == updates->dims[i] &&
              (i == axis || indices->dims[i] <= data->dims[i]);
    if (!fit)
        return onx_call_fail(call, ONX_INVALID,
                             "the shapes of indices and updates do not fit that of data");
    ONX_TRY(onx_bind_same(call));
    return onx_move_bind(call);
}

/* The updates from number `first` on, `n` that lie together: along the last dimension. */
static onx_status put_row(const onx_call *call, target *t, const int64_t *strides, size_t axis,
                          int64_t first, int64_t n) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    int64_t rest = first, at = 0, size = data->dims[axis], step = axis + 1 < data->rank;
    for (size_t d = data->rank; d-- > 0; rest /= indices->dims[d])
        if (d != axis) at += rest % indices->dims[d] * strides[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t index = onx_operand_int(indices, first + i);
        ONX_TRY(put(call, t, at + i * step + (index < 0 ? index + size : index) * strides[axis],
                    first + i, 1));
    }
    return ONX_OK;
}

onx_status onx_scatter_elements_run(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    int64_t strides[ONX_RANK_MAX];
    size_t axis = 0;
    target t;
    (void)onx_axis(((const scatter *)call->state)->axis, data->rank, &axis);
    onx_strides(data, strides);
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t index = onx_operand_int(indices, i), size = data->dims[axis];
        if (index < -size || index >= size) return bad_index(call, index, size);
    }
    onx_status status = begin(call, &t);
    int64_t row = indices->rank ? indices->dims[indices->rank - 1] : 1;
    for (int64_t i = 0; i < indices->count && !status; i += row)
        status = put_row(call, &t, strides, axis, i, row);
    return end(call, &t, status);
}

/* ── ScatterND ───────────────────────────────────────────────────────────────────────────────── */

onx_status onx_scatter_nd_bind(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1], *updates = call->in[2];
    size_t outer = indices->rank ? (size_t)indices->rank - 1 : 0;
    int64_t depth = indices->rank ? indices->dims[outer] : 0;
    if (depth < 1 || depth > data->rank)
        return onx_call_fail(call, ONX_INVALID, "indices of length %lld do not fit rank %u",
                             (long long)depth, (unsigned)data->rank);
    bool fit = updates->rank == outer + data->rank - (size_t)depth && updates->dtype == data->dtype;
    for (size_t i = 0; fit && i < updates->rank; i++)
        fit = updates->dims[i] == (i < outer ? indices->dims[i] : data->dims[i - outer + depth]);
    if (!fit)
        return onx_call_fail(call, ONX_INVALID,
                             "the shape of updates does not fit those of data and indices");
    ONX_TRY(onx_bind_same(call));
    return onx_move_bind(call);
}

/* Where the rows of indices point, in elements; INVALID when one is out of range. */
static onx_status nd_place(const onx_call *call, const int64_t *strides, int64_t row, int64_t *at) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    int64_t depth = indices->dims[indices->rank - 1];
    *at = 0;
    for (int64_t i = 0; i < depth; i++) {
        int64_t index = onx_operand_int(indices, row * depth + i), size = data->dims[i];
        if (index < -size || index >= size) return bad_index(call, index, size);
        *at += (index < 0 ? index + size : index) * strides[i];
    }
    return ONX_OK;
}

onx_status onx_scatter_nd_run(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    int64_t strides[ONX_RANK_MAX], depth = indices->dims[indices->rank - 1], at;
    int64_t rows = indices->count / depth, width = onx_inner_count(data, (size_t)depth);
    target t;
    onx_strides(data, strides);
    for (int64_t i = 0; i < rows; i++) ONX_TRY(nd_place(call, strides, i, &at));
    onx_status status = begin(call, &t);
    for (int64_t i = 0; i < rows && width && !status; i++) {
        status = nd_place(call, strides, i, &at);
        if (!status) status = put(call, &t, at, i * width, width);
    }
    return end(call, &t, status);
}
