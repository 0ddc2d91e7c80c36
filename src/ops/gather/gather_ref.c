/* gather_ref.c: elements chosen by index: Gather, GatherElements, GatherND, OneHot: kernels; and
 * the table of the family. An index out of range fails; negative ones count from the end. */
#include "ops/gather/compress_ref.h"
#include "ops/gather/scatter_ref.h"
#include "ops/gather/tensor_scatter_ref.h"
#include "ops/gather/topk_ref.h"
#include "ops/gather/unique_ref.h"
#include "ops/view/move_ref.h"

typedef struct gather {
    int64_t axis;  /* as written */
    int64_t batch; /* batch_dims of GatherND */
} gather;

static onx_status gather_init(onx_call *call) {
    gather *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (gather){onx_call_int(call, "axis"), onx_call_int(call, "batch_dims")};
    return ONX_OK;
}

static size_t axis_at(const onx_call *call, size_t rank) {
    size_t axis = 0;
    (void)onx_axis(((const gather *)call->state)->axis, rank, &axis);
    return axis;
}

static onx_status bad_index(const onx_call *call, int64_t index, int64_t size) {
    return onx_call_fail(call, ONX_INVALID, "index %lld is out of range for a dimension of %lld",
                         (long long)index, (long long)size);
}

/* Are all indices within [-size, size)? */
static onx_status check_indices(const onx_call *call, int64_t size) {
    const onx_operand *indices = call->in[1];
    int64_t least = 0, most = -1;
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t index = onx_operand_int(indices, i);
        least = index < least ? index : least;
        most = index > most ? index : most;
    }
    if (least < -size) return bad_index(call, least, size);
    return most >= size ? bad_index(call, most, size) : ONX_OK;
}

/* ── Gather ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status gather_bind(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    int64_t dims[2 * ONX_RANK_MAX];
    size_t axis, n = 0;
    ONX_TRY(onx_axis_of(call, ((const gather *)call->state)->axis, data->rank, &axis));
    for (size_t i = 0; i < axis; i++) dims[n++] = data->dims[i];
    for (size_t i = 0; i < indices->rank; i++) dims[n++] = indices->dims[i];
    for (size_t i = axis + 1; i < data->rank; i++) dims[n++] = data->dims[i];
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)data->dtype, n, dims));
    return onx_move_bind(call);
}

/* Blocks of `bytes`, each from a place of its own: shared by the kernels that move such. */
typedef struct blocks {
    const char *from;
    char *to;
    int64_t bytes, count, per_task;
    /* Gather: [outer][size] blocks in, [outer][n] out. GatherND: index rows of `depth`. */
    int64_t size, n, depth;
    const int64_t *strides; /* of GatherND, in blocks; and sizes */
    const int64_t *sizes;
    int64_t batch_blocks, batch_rows; /* of GatherND: blocks in, and rows of indices, per batch */
} blocks;

static onx_status run_blocks(onx_call *call, blocks *b, onx_task *task) {
    b->per_task = 1 + 65536 / (b->bytes ? b->bytes : 1);
    if (!b->from || !b->to) return ONX_OK;
    return onx_call_parallel(call, (size_t)((b->count + b->per_task - 1) / b->per_task), task, b);
}

static onx_status gather_task(void *user, onx_call *call, size_t task, void *scratch) {
    const blocks *b = user;
    const onx_operand *indices = call->in[1];
    int64_t first = (int64_t)task * b->per_task, end = first + b->per_task;
    (void)scratch;
    for (int64_t i = first; i < end && i < b->count; i++) {
        int64_t index = onx_operand_int(indices, i % b->n);
        if (index < 0) index += b->size;
        onx_mem_copy(b->to + i * b->bytes, b->from + (i / b->n * b->size + index) * b->bytes,
                     (size_t)b->bytes);
    }
    return ONX_OK;
}

static onx_status gather_run(onx_call *call) {
    const onx_operand *data = call->in[0], *out = call->out[0];
    size_t axis = axis_at(call, data->rank), size = onx_move_size((onx_dtype)data->dtype);
    ONX_TRY(check_indices(call, data->dims[axis]));
    onx_mover mover = onx_move_begin(call);
    blocks b = {.from = onx_move_in(&mover, 0),
                .to = onx_move_out(&mover, 0),
                .bytes = onx_inner_count(data, axis + 1) * (int64_t)size,
                .size = data->dims[axis],
                .n = call->in[1]->count};
    if (out->count) {
        b.count = out->count * (int64_t)size / b.bytes;
        ONX_TRY(run_blocks(call, &b, gather_task));
    }
    return onx_move_end(call, 0, b.to);
}

/* ── GatherElements ──────────────────────────────────────────────────────────────────────────── */

static onx_status elements_bind(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    size_t axis;
    ONX_TRY(onx_axis_of(call, ((const gather *)call->state)->axis, data->rank, &axis));
    bool fit = indices->rank == data->rank;
    for (size_t i = 0; fit && i < data->rank; i++)
        fit = i == axis || indices->dims[i] <= data->dims[i];
    if (!fit)
        return onx_call_fail(call, ONX_INVALID, "the shape of indices does not fit that of data");
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)data->dtype, indices->rank, indices->dims));
    return onx_move_bind(call);
}

/* n elements of `size` bytes: the k-th from `from` plus k `step` plus its index times `stride`, all
 * in bytes; constants where it is called: size, and whether indices are int64. False: one of the
 * indices is out of range. */
typedef struct picks {
    const char *from, *indices;
    char *to;
    int64_t n, step, stride, limit;
} picks;
static inline __attribute__((always_inline)) bool pick_each(const picks *p, size_t size,
                                                            bool wide) {
    bool all = true;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t k;
        int32_t narrow;
        if (wide)
            memcpy(&k, p->indices + i * 8, 8);
        else
            memcpy(&narrow, p->indices + i * 4, 4), k = narrow;
        if (k < 0) k += p->limit;
        bool there = (uint64_t)k < (uint64_t)p->limit;
        all &= there;
        if (!there) k = 0;
        memcpy(p->to + i * (int64_t)size, p->from + i * p->step + k * p->stride, size);
    }
    return all;
}
static bool pick(const picks *p, size_t size, bool wide) {
    switch (size) {
    case 1: return wide ? pick_each(p, 1, true) : pick_each(p, 1, false);
    case 2: return wide ? pick_each(p, 2, true) : pick_each(p, 2, false);
    case 4: return wide ? pick_each(p, 4, true) : pick_each(p, 4, false);
    case 8: return wide ? pick_each(p, 8, true) : pick_each(p, 8, false);
    default: return pick_each(p, 16, wide);
    }
}

/* Row `index` of the output: all dimensions but the last. */
static bool element_row(const onx_call *call, const blocks *b, int64_t index) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    size_t last = (size_t)(data->rank - 1), axis = axis_at(call, data->rank);
    int64_t strides[ONX_RANK_MAX], width = indices->dims[last], at = index * width, row = 0;
    onx_strides(data, strides);
    for (size_t i = last; i-- > 0; index /= indices->dims[i])
        if (i != axis) row += index % indices->dims[i] * strides[i];
    picks p = {.from = b->from + row * b->size,
               .indices = onx_operand_at(indices, (size_t)at),
               .to = b->to + at * b->size,
               .n = width,
               .step = axis == last ? 0 : b->size,
               .stride = strides[axis] * b->size,
               .limit = data->dims[axis]};
    return pick(&p, (size_t)b->size, indices->dtype == ONX_DTYPE_I64);
}

static onx_status elements_task(void *user, onx_call *call, size_t task, void *scratch) {
    const blocks *b = user;
    int64_t first = (int64_t)task * b->per_task, end = first + b->per_task;
    (void)scratch;
    for (int64_t i = first; i < end && i < b->count; i++)
        if (!element_row(call, b, i)) return ONX_INVALID;
    return ONX_OK;
}

static onx_status elements_run(onx_call *call) {
    const onx_operand *data = call->in[0], *out = call->out[0];
    int64_t limit = data->dims[axis_at(call, data->rank)];
    if (!data->count) ONX_TRY(check_indices(call, limit));
    onx_mover mover = onx_move_begin(call);
    blocks b = {.from = onx_move_in(&mover, 0),
                .to = onx_move_out(&mover, 0),
                .size = (int64_t)onx_move_size((onx_dtype)data->dtype)};
    if (out->count) {
        b.bytes = out->dims[out->rank - 1] * b.size;
        b.count = out->count / out->dims[out->rank - 1];
        onx_status status = run_blocks(call, &b, elements_task);
        if (status) return status == ONX_INVALID ? check_indices(call, limit) : status;
    }
    return onx_move_end(call, 0, b.to);
}

/* ── GatherND ────────────────────────────────────────────────────────────────────────────────── */

static onx_status nd_bind(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    int64_t batch = ((const gather *)call->state)->batch, dims[2 * ONX_RANK_MAX];
    size_t n = 0;
    if (!data->rank || !indices->rank || batch < 0 || batch >= data->rank || batch >= indices->rank)
        return onx_call_fail(call, ONX_INVALID, "batch_dims %lld is out of range",
                             (long long)batch);
    int64_t depth = indices->dims[indices->rank - 1];
    if (depth < 1 || depth > data->rank - batch)
        return onx_call_fail(call, ONX_INVALID, "indices of length %lld do not fit rank %u",
                             (long long)depth, (unsigned)data->rank);
    for (size_t i = 0; i < (size_t)batch; i++)
        if (indices->dims[i] != data->dims[i])
            return onx_call_fail(call, ONX_INVALID, "dimension %zu of the batch is %lld and %lld",
                                 i, (long long)data->dims[i], (long long)indices->dims[i]);
    for (size_t i = 0; i + 1 < indices->rank; i++) dims[n++] = indices->dims[i];
    for (size_t i = (size_t)(batch + depth); i < data->rank; i++) dims[n++] = data->dims[i];
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)data->dtype, n, dims));
    return onx_move_bind(call);
}

/* The block that row `row` of the indices means; false: it is out of range. */
static bool nd_block(const onx_call *call, const blocks *b, int64_t row, int64_t *block,
                     int64_t *bad) {
    *block = row / b->batch_rows * b->batch_blocks;
    for (int64_t i = 0; i < b->depth; i++) {
        int64_t index = onx_operand_int(call->in[1], row * b->depth + i);
        *bad = index;
        if (index < -b->sizes[i] || index >= b->sizes[i]) return false;
        *block += (index < 0 ? index + b->sizes[i] : index) * b->strides[i];
    }
    return true;
}

static onx_status nd_task(void *user, onx_call *call, size_t task, void *scratch) {
    const blocks *b = user;
    int64_t first = (int64_t)task * b->per_task, end = first + b->per_task, block, bad;
    (void)scratch;
    for (int64_t i = first; i < end && i < b->count; i++)
        if (nd_block(call, b, i, &block, &bad))
            onx_mem_copy(b->to + i * b->bytes, b->from + block * b->bytes, (size_t)b->bytes);
    return ONX_OK;
}

static onx_status nd_run(onx_call *call) {
    const onx_operand *data = call->in[0], *indices = call->in[1];
    size_t batch = (size_t)((const gather *)call->state)->batch;
    int64_t strides[ONX_RANK_MAX], depth = indices->dims[indices->rank - 1], block, bad;
    size_t inner = batch + (size_t)depth;
    int64_t width = onx_inner_count(data, inner);
    onx_strides(data, strides);
    for (size_t i = 0; i < inner; i++) strides[i] = width ? strides[i] / width : 0;
    onx_mover mover = onx_move_begin(call);
    blocks b = {.from = onx_move_in(&mover, 0),
                .to = onx_move_out(&mover, 0),
                .bytes = width * (int64_t)onx_move_size((onx_dtype)data->dtype),
                .count = indices->count / depth,
                .depth = depth,
                .strides = strides + batch,
                .sizes = data->dims + batch};
    b.batch_rows = onx_inner_count(indices, batch) / depth;
    b.batch_blocks = width ? onx_inner_count(data, batch) / width : 0;
    for (int64_t i = 0; i < b.count; i++)
        if (!nd_block(call, &b, i, &block, &bad))
            return onx_call_fail(call, ONX_INVALID, "index %lld in row %lld is out of range",
                                 (long long)bad, (long long)i);
    ONX_TRY(run_blocks(call, &b, nd_task));
    return onx_move_end(call, 0, b.to);
}

/* ── OneHot ──────────────────────────────────────────────────────────────────────────────────── */

/* One number of any type, as an integer. */
static int64_t number_at(const onx_operand *operand, int64_t at) {
    int64_t value = 0;
    onx_dtype dtype = (onx_dtype)operand->dtype;
    const char *p = (const char *)operand->data + at * (onx_dtype_bits(dtype) / 8);
    (void)onx_dtype_convert(dtype, p, ONX_DTYPE_I64, &value, 1, true);
    return value;
}

static onx_status onehot_bind(onx_call *call) {
    const onx_operand *indices = call->in[0], *depth = call->in[1], *values = call->in[2];
    int64_t dims[ONX_RANK_MAX + 1];
    size_t axis;
    ONX_TRY(
        onx_axis_of(call, ((const gather *)call->state)->axis, (size_t)indices->rank + 1, &axis));
    if (depth->count != 1 || !depth->data || number_at(depth, 0) < 0)
        return onx_call_fail(call, ONX_INVALID, "depth is not one size");
    if (values->count != 2)
        return onx_call_fail(call, ONX_INVALID, "values are %lld, not an off and an on value",
                             (long long)values->count);
    for (size_t i = 0; i < axis; i++) dims[i] = indices->dims[i];
    dims[axis] = number_at(depth, 0);
    for (size_t i = axis; i < indices->rank; i++) dims[i + 1] = indices->dims[i];
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)values->dtype, (size_t)indices->rank + 1, dims));
    return onx_move_bind(call);
}

/* Everything off, then one element on for each index: [outer][depth][inner] */
static onx_status onehot_run(onx_call *call) {
    const onx_operand *indices = call->in[0], *out = call->out[0];
    size_t axis = axis_at(call, out->rank), size = onx_move_size((onx_dtype)out->dtype);
    int64_t depth = out->dims[axis], inner = onx_inner_count(out, axis + 1);
    onx_mover mover = onx_move_begin(call);
    const char *values = onx_move_in(&mover, 2);
    char *to = onx_move_out(&mover, 0);
    onx_copy fill = onx_copy_begin(size);
    onx_copy_dim(&fill, out->count, 0, 1);
    ONX_TRY(onx_copy_run(call, &fill, values, to));
    for (int64_t i = 0; to && i < indices->count; i++) {
        int64_t index = number_at(indices, i), at = i / inner * depth;
        if (index < -depth || index >= depth) continue;
        at += index < 0 ? index + depth : index;
        memcpy(to + (at * inner + i % inner) * (int64_t)size, values + size, size);
    }
    return onx_move_end(call, 0, to);
}

#define NUMBER (ONX_T_NUMBERS | ONX_T(BOOL))

#define SCATTER(op_, first_, bind_, run_)                                                          \
    {                                                                                              \
        .op = op_, .first = first_, .types = {0, ONX_T_INDEX}, .name = "scatter",                  \
        .flags = ONX_KERNEL_OBJECTS, .overwrite = 1, .init = onx_scatter_init, .bind = bind_,      \
        .run = run_                                                                                \
    }

extern onx_kernel_rows onx_kernels_gather_ref;
onx_kernel_rows onx_kernels_gather_ref = {
    {.op = "Gather",
     .first = 1,
     .types = {0, ONX_T_INDEX},
     .name = "gather",
     .flags = ONX_KERNEL_OBJECTS,
     .init = gather_init,
     .bind = gather_bind,
     .run = gather_run},
    {.op = "GatherElements",
     .first = 11,
     .types = {0, ONX_T_INDEX},
     .name = "gather_elements",
     .flags = ONX_KERNEL_OBJECTS,
     .init = gather_init,
     .bind = elements_bind,
     .run = elements_run},
    {.op = "GatherND",
     .first = 11,
     .types = {0, ONX_T(I64)},
     .name = "gather_nd",
     .flags = ONX_KERNEL_OBJECTS,
     .init = gather_init,
     .bind = nd_bind,
     .run = nd_run},
    {.op = "OneHot",
     .first = 9,
     .types = {NUMBER, NUMBER, 0},
     .name = "one_hot",
     .flags = ONX_KERNEL_OBJECTS,
     .host = 2,
     .init = gather_init,
     .bind = onehot_bind,
     .run = onehot_run},
    {.op = "Compress",
     .first = 9,
     .types = {0, ONX_T(BOOL)},
     .name = "compress",
     .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS,
     .init = onx_compress_init,
     .run = onx_compress_run},
    {.op = "NonZero",
     .first = 9,
     .types = {ONX_T_WHOLE | ONX_T(STRING)},
     .name = "non_zero",
     .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS,
     .run = onx_nonzero_run},
    SCATTER("Scatter", 9, onx_scatter_elements_bind, onx_scatter_elements_run),
    SCATTER("ScatterElements", 11, onx_scatter_elements_bind, onx_scatter_elements_run),
    SCATTER("ScatterND", 11, onx_scatter_nd_bind, onx_scatter_nd_run),
    {.op = "TensorScatter",
     .first = 24,
     .types = {0, 0, ONX_T(I64)},
     .name = "tensor_scatter",
     .flags = ONX_KERNEL_OBJECTS,
     .overwrite = 1,
     .init = onx_tensor_scatter_init,
     .bind = onx_tensor_scatter_bind,
     .run = onx_tensor_scatter_run},
    {.op = "TopK",
     .first = 1,
     .types = {ONX_T_NUMBERS, ONX_T(I64)},
     .name = "top_k",
     .host = 2,
     .plan_bytes = sizeof(int64_t),
     .init = onx_topk_init,
     .bind = onx_topk_bind,
     .run = onx_topk_run},
    {.op = "Unique",
     .first = 11,
     .types = {ONX_T_WHOLE | ONX_T(STRING)},
     .name = "unique",
     .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS,
     .init = onx_unique_init,
     .run = onx_unique_run},
    {0},
};
