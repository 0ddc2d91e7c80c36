/* scatter_ref.c: a copy of a tensor with elements put in by index: Scatter, ScatterElements,
 * ScatterND. Updates are made one after the other, in the order of the indices: where two have the
 * same place, the last one wins. */
#include "ops/gather/scatter_ref.h"

typedef enum reduction { NONE, ADD, MUL, MAX, MIN } reduction;

typedef struct scatter {
    int64_t axis;
    reduction how;
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
    *state = (scatter){onx_call_int(call, "axis"), (reduction)i};
    bool numbers = (ONX_T_NUMBERS | ONX_T(BOOL)) >> call->in[0]->dtype & 1;
    if (i == NONE || numbers) return ONX_OK;
    return onx_call_fail(call, ONX_UNSUPPORTED, "%s cannot be combined with '%s'",
                         onx_dtype_name((onx_dtype)call->in[0]->dtype), names[i]);
}

/* ── Putting elements in ─────────────────────────────────────────────────────────────────────── */

/* Sums and products are made in `W`: unsigned for integers, which wrap around. */
#define COMBINE(T, W)                                                                              \
    {                                                                                              \
        T a, b;                                                                                    \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        switch (how) {                                                                             \
        case ADD: a = (T)((W)a + (W)b); break;                                                     \
        case MUL: a = (T)((W)a * (W)b); break;                                                     \
        case MAX: a = a > b || a != a ? a : b; break;                                              \
        default: a = a < b || a != a ? a : b; break;                                               \
        }                                                                                          \
        memcpy(to, &a, sizeof a);                                                                  \
        return;                                                                                    \
    }

static void combine(onx_dtype dtype, reduction how, char *to, const char *from);

/* Half floats are combined as floats, and rounded. */
static void combine_half(onx_dtype dtype, reduction how, char *to, const char *from) {
    float a = 0, b = 0;
    (void)onx_dtype_convert(dtype, to, ONX_DTYPE_F32, &a, 1, true);
    (void)onx_dtype_convert(dtype, from, ONX_DTYPE_F32, &b, 1, true);
    combine(ONX_DTYPE_F32, how, (char *)&a, (const char *)&b);
    (void)onx_dtype_convert(ONX_DTYPE_F32, &a, dtype, to, 1, true);
}

static void combine(onx_dtype dtype, reduction how, char *to, const char *from) {
    switch (dtype) {
    case ONX_DTYPE_F32: COMBINE(float, float)
    case ONX_DTYPE_F64: COMBINE(double, double)
    case ONX_DTYPE_I8: COMBINE(int8_t, uint64_t)
    case ONX_DTYPE_I16: COMBINE(int16_t, uint64_t)
    case ONX_DTYPE_I32: COMBINE(int32_t, uint64_t)
    case ONX_DTYPE_I64: COMBINE(int64_t, uint64_t)
    case ONX_DTYPE_U8: COMBINE(uint8_t, uint64_t)
    case ONX_DTYPE_U16: COMBINE(uint16_t, uint64_t)
    case ONX_DTYPE_U32: COMBINE(uint32_t, uint64_t)
    case ONX_DTYPE_U64: COMBINE(uint64_t, uint64_t)
    case ONX_DTYPE_BOOL:
        *to = (char)(how == ADD || how == MAX ? *to || *from : *to && *from);
        return;
    default: combine_half(dtype, how, to, from); return;
    }
}

typedef struct target {
    char *to;
    const char *from; /* updates */
    onx_dtype dtype;
    size_t size;
    reduction how;
} target;

/* n elements from `from_at` of the updates to `to_at`. */
static void put(const target *t, int64_t to_at, int64_t from_at, int64_t n) {
    char *to = t->to + (size_t)to_at * t->size;
    const char *from = t->from + (size_t)from_at * t->size;
    if (t->how == NONE) {
        memcpy(to, from, (size_t)n * t->size);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        combine(t->dtype, t->how, to + (size_t)i * t->size, from + (size_t)i * t->size);
}

/* Output 0 with the elements of input 0, unless that is where they are already. */
static onx_status begin(onx_call *call, target *t) {
    const onx_operand *data = call->in[0];
    onx_mover mover = onx_move_begin(call);
    const char *from = onx_move_in(&mover, 0);
    *t = (target){.dtype = (onx_dtype)data->dtype,
                  .size = onx_move_size((onx_dtype)data->dtype),
                  .how = ((const scatter *)call->state)->how};
    t->from = onx_move_in(&mover, 2);
    t->to = onx_move_out(&mover, 0);
    onx_copy all = onx_copy_begin(t->size);
    onx_copy_dim(&all, data->count, 1, 1);
    return from == t->to ? ONX_OK : onx_copy_run(call, &all, from, t->to);
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
    ONX_TRY(begin(call, &t));
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t index = onx_operand_int(indices, i), rest = i, at = 0;
        if (index < 0) index += data->dims[axis];
        for (size_t d = data->rank; d-- > 0; rest /= indices->dims[d])
            at += (d == axis ? index : rest % indices->dims[d]) * strides[d];
        put(&t, at, i, 1);
    }
    return onx_move_end(call, 0, t.to);
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
    ONX_TRY(begin(call, &t));
    for (int64_t i = 0; i < rows && width; i++) {
        ONX_TRY(nd_place(call, strides, i, &at));
        put(&t, at, i * width, width);
    }
    return onx_move_end(call, 0, t.to);
}
