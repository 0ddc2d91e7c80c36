/* concat_ref.c: tensors put together, taken apart and repeated: Concat, Split, Expand, Tile:
 * kernels. All of them are copies of boxes. */
#include "ops/view/move_ref.h"

/* ── Concat ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status concat_init(onx_call *call) {
    int64_t *axis = onx_call_state(call, sizeof *axis);
    if (!axis) return onx_fail_nomem(call->diag);
    bool written = onx_op_has(call->node, "axis");
    *axis = written || call->op->since > 1 ? onx_call_int(call, "axis") : 1;
    return ONX_OK;
}

/* Is input `index` like the first one, but for the size along the axis? */
static bool fits(const onx_call *call, size_t index, size_t axis) {
    const onx_operand *first = call->in[0], *in = call->in[index];
    bool same = in && in->dtype == first->dtype && in->rank == first->rank;
    for (size_t i = 0; same && i < in->rank; i++) same = i == axis || in->dims[i] == first->dims[i];
    return same;
}

static onx_status concat_bind(onx_call *call) {
    const onx_operand *first = call->in[0];
    int64_t dims[ONX_RANK_MAX];
    size_t axis;
    ONX_TRY(onx_axis_of(call, *(const int64_t *)call->state, first->rank, &axis));
    for (size_t i = 0; i < first->rank; i++) dims[i] = first->dims[i];
    dims[axis] = 0;
    for (size_t i = 0; i < call->n_in; i++) {
        if (!fits(call, i, axis))
            return onx_call_fail(call, ONX_INVALID,
                                 "input %zu differs from the first in type, rank, or a size "
                                 "that is not along axis %zu",
                                 i, axis);
        if (!onx_add_i64(dims[axis], call->in[i]->dims[axis], &dims[axis]))
            return onx_call_fail(call, ONX_INVALID, "the sizes along the axis overflow");
    }
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)first->dtype, first->rank, dims));
    return onx_move_bind(call);
}

/* A box of [rows][n] elements between rows of different length. */
static onx_status copy_rows(onx_call *call, size_t size, int64_t rows, int64_t n, const char *from,
                            int64_t from_row, char *to, int64_t to_row) {
    onx_copy box = onx_copy_begin(size);
    onx_copy_dim(&box, rows, from_row, to_row);
    onx_copy_dim(&box, n, 1, 1);
    return onx_copy_run(call, &box, from, to);
}

/* The product of the dimensions before `axis`. */
static int64_t outer_count(const onx_operand *operand, size_t axis) {
    int64_t inner = onx_inner_count(operand, axis);
    return inner ? operand->count / inner : 0;
}

static onx_status concat_run(onx_call *call) {
    const onx_operand *out = call->out[0];
    size_t axis = 0, size = onx_move_size((onx_dtype)out->dtype);
    (void)onx_axis(*(const int64_t *)call->state, out->rank, &axis);
    onx_mover mover = onx_move_begin(call);
    char *to = onx_move_out(&mover, 0), *at = to;
    int64_t row = onx_inner_count(out, axis);
    for (size_t i = 0; i < call->n_in && to; i++) {
        int64_t n = onx_inner_count(call->in[i], axis), rows = outer_count(call->in[i], axis);
        ONX_TRY(copy_rows(call, size, rows, n, onx_move_in(&mover, i), n, at, row));
        at += (size_t)n * size;
    }
    return onx_move_end(call, 0, to);
}

/* ── Split ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct split {
    int64_t axis;
    bool listed; /* by the attribute */
    size_t n;
    int64_t sizes[];
} split;

static onx_status split_init(onx_call *call) {
    size_t n = 0, bytes;
    const int64_t *sizes = onx_op_ints(call->node, "split", &n);
    if (!onx_mul_size(n, sizeof *sizes, &bytes) || !onx_add_size(bytes, sizeof(split), &bytes))
        return onx_fail_nomem(call->diag);
    split *state = onx_call_state(call, bytes);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (split){.axis = onx_call_int(call, "axis"), .listed = sizes != NULL, .n = n};
    for (size_t i = 0; i < n; i++) state->sizes[i] = sizes[i];
    return ONX_OK;
}

/* The size of part `i` of a dimension of `whole`, of which `left` remains. Even parts: as many as
 * outputs, the last ones smaller. */
static int64_t part_size(const onx_call *call, size_t i, int64_t whole, int64_t left) {
    const split *state = call->state;
    const onx_operand *list = onx_call_in(call, 1);
    int64_t size;
    if (list) return onx_ints_at(list, (int64_t)i, &size) ? size : -1;
    if (state->listed) return state->sizes[i];
    int64_t n = (int64_t)call->n_out, even = whole / n + (whole % n != 0);
    return even < left ? even : left;
}

static onx_status check_list(const onx_call *call, int64_t whole) {
    const split *state = call->state;
    const onx_operand *list = onx_call_in(call, 1);
    bool uneven = call->op->since < 18 && whole % (int64_t)call->n_out != 0;
    if (list && (list->rank != 1 || (list->count && !list->data)))
        return onx_call_fail(call, ONX_INVALID, "'split' is not a list of integers");
    if (list ? list->count != (int64_t)call->n_out : state->listed && state->n != call->n_out)
        return onx_call_fail(call, ONX_INVALID, "'split' does not list one size for each output");
    if (!list && !state->listed && uneven)
        return onx_call_fail(call, ONX_INVALID, "%lld cannot be split into %zu equal parts",
                             (long long)whole, call->n_out);
    return ONX_OK;
}

static onx_status split_bind(onx_call *call) {
    const split *state = call->state;
    const onx_operand *in = call->in[0];
    int64_t dims[ONX_RANK_MAX];
    size_t axis;
    if (!call->n_out) return onx_call_fail(call, ONX_INVALID, "there are no outputs");
    ONX_TRY(onx_axis_of(call, state->axis, in->rank, &axis));
    for (size_t i = 0; i < in->rank; i++) dims[i] = in->dims[i];
    int64_t left = in->dims[axis];
    ONX_TRY(check_list(call, left));
    for (size_t i = 0; i < call->n_out; i++) {
        dims[axis] = part_size(call, i, in->dims[axis], left);
        if (dims[axis] < 0 || dims[axis] > left)
            return onx_call_fail(call, ONX_INVALID, "part %zu of %lld does not fit into %lld", i,
                                 (long long)dims[axis], (long long)in->dims[axis]);
        left -= dims[axis];
        ONX_TRY(onx_call_shape(call, i, (onx_dtype)in->dtype, in->rank, dims));
    }
    if (left)
        return onx_call_fail(call, ONX_INVALID, "the parts are %lld short of the whole",
                             (long long)left);
    return onx_move_bind(call);
}

static onx_status split_run(onx_call *call) {
    const onx_operand *in = call->in[0];
    size_t axis = 0, size = onx_move_size((onx_dtype)in->dtype);
    (void)onx_axis(((const split *)call->state)->axis, in->rank, &axis);
    onx_mover mover = onx_move_begin(call);
    const char *from = onx_move_in(&mover, 0);
    int64_t row = onx_inner_count(in, axis), rows = outer_count(in, axis);
    int64_t width = in->rank > axis && in->dims[axis] ? row / in->dims[axis] : 0;
    int64_t left = in->dims[axis], at = 0;
    for (size_t i = 0; i < call->n_out; i++) {
        int64_t part = part_size(call, i, in->dims[axis], left), n = part * width;
        char *to = onx_move_out(&mover, i);
        if (from && to)
            ONX_TRY(copy_rows(call, size, rows, n, from + at * (int64_t)size, row, to, n));
        ONX_TRY(onx_move_end(call, i, to));
        left -= part;
        at += n;
    }
    return ONX_OK;
}

/* ── Expand ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status expand_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    onx_ints shape;
    int64_t dims[ONX_RANK_MAX];
    ONX_TRY(onx_ints_input(call, 1, &shape));
    if (shape.n > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_UNSUPPORTED, "the shape has %zu dimensions", shape.n);
    size_t rank = shape.n > in->rank ? shape.n : in->rank;
    for (size_t i = 0; i < rank; i++) {
        int64_t a = i < rank - in->rank ? 1 : in->dims[i - (rank - in->rank)];
        int64_t b = i < rank - shape.n ? 1 : shape.v[i - (rank - shape.n)];
        if (a != b && a != 1 && b != 1)
            return onx_call_fail(call, ONX_INVALID,
                                 "dimension %zu is %lld and does not broadcast to %lld", i,
                                 (long long)a, (long long)b);
        dims[i] = a == 1 ? b : a;
    }
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, rank, dims));
    return onx_move_bind(call);
}

static onx_status expand_run(onx_call *call) {
    const onx_operand *in = call->in[0], *out = call->out[0];
    int64_t from[ONX_RANK_MAX], to[ONX_RANK_MAX];
    onx_strides(in, from);
    onx_strides(out, to);
    onx_copy box = onx_copy_begin(onx_move_size((onx_dtype)in->dtype));
    for (size_t i = 0; i < out->rank; i++) {
        size_t lead = (size_t)(out->rank - in->rank), j = i - lead;
        bool repeated = i < lead || in->dims[j] == 1;
        onx_copy_dim(&box, out->dims[i], repeated ? 0 : from[j], to[i]);
    }
    onx_mover mover = onx_move_begin(call);
    const char *data = onx_move_in(&mover, 0);
    char *result = onx_move_out(&mover, 0);
    ONX_TRY(onx_copy_run(call, &box, data, result));
    return onx_move_end(call, 0, result);
}

/* ── Tile ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status tile_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    onx_ints repeats;
    int64_t dims[ONX_RANK_MAX];
    ONX_TRY(onx_ints_input(call, 1, &repeats));
    if (repeats.n != in->rank)
        return onx_call_fail(call, ONX_INVALID, "%zu repeats are listed for rank %u", repeats.n,
                             (unsigned)in->rank);
    for (size_t i = 0; i < in->rank; i++)
        if (repeats.v[i] < 0 || !onx_mul_i64(in->dims[i], repeats.v[i], &dims[i]))
            return onx_call_fail(call, ONX_INVALID, "repeat %zu is %lld", i,
                                 (long long)repeats.v[i]);
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, in->rank, dims));
    return onx_move_bind(call);
}

/* The first version repeats along one axis, and has both numbers as floats. */
static onx_status tile1_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    onx_ints tiles, axis;
    int64_t dims[ONX_RANK_MAX];
    size_t at;
    ONX_TRY(onx_ints_input(call, 1, &tiles));
    ONX_TRY(onx_ints_input(call, 2, &axis));
    if (tiles.n != 1 || axis.n != 1)
        return onx_call_fail(call, ONX_INVALID, "tiles and axis must be single numbers");
    ONX_TRY(onx_axis_of(call, axis.v[0], in->rank, &at));
    memcpy(dims, in->dims, in->rank * sizeof *dims);
    if (tiles.v[0] < 0 || !onx_mul_i64(dims[at], tiles.v[0], &dims[at]))
        return onx_call_fail(call, ONX_INVALID, "tiles is %lld", (long long)tiles.v[0]);
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, in->rank, dims));
    return onx_move_bind(call);
}

/* The output as [r0][d0][r1][d1]…: the r do not move in the input. */
static onx_status tile_run(onx_call *call) {
    const onx_operand *in = call->in[0], *out = call->out[0];
    int64_t from[ONX_RANK_MAX], to[ONX_RANK_MAX];
    onx_strides(in, from);
    onx_strides(out, to);
    onx_copy box = onx_copy_begin(onx_move_size((onx_dtype)in->dtype));
    for (size_t i = 0; i < out->rank && out->count; i++) {
        onx_copy_dim(&box, out->dims[i] / in->dims[i], 0, to[i] * in->dims[i]);
        onx_copy_dim(&box, in->dims[i], from[i], to[i]);
    }
    onx_mover mover = onx_move_begin(call);
    const char *data = onx_move_in(&mover, 0);
    char *result = onx_move_out(&mover, 0);
    ONX_TRY(onx_copy_run(call, &box, data, result));
    return onx_move_end(call, 0, result);
}

#define INDEX                                                                                      \
    { 0, ONX_T_INDEX }
#define HOST 2

extern onx_kernel_rows onx_kernels_concat_ref;
onx_kernel_rows onx_kernels_concat_ref = {
    {.op = "Concat",
     .first = 1,
     .name = "concat",
     .flags = ONX_KERNEL_OBJECTS,
     .init = concat_init,
     .bind = concat_bind,
     .run = concat_run},
    {.op = "Split",
     .first = 1,
     .types = {0, ONX_T_INDEX | ONX_T_FLOATS}, /* floats in version 1 */
     .name = "split",
     .flags = ONX_KERNEL_OBJECTS,
     .host = HOST,
     .init = split_init,
     .bind = split_bind,
     .run = split_run},
    {.op = "Expand",
     .first = 8,
     .types = INDEX,
     .name = "expand",
     .flags = ONX_KERNEL_OBJECTS,
     .host = HOST,
     .bind = expand_bind,
     .run = expand_run},
    {.op = "Tile",
     .first = 1,
     .last = 1,
     .types = {0, ONX_T_FLOATS, ONX_T_FLOATS},
     .name = "tile_1",
     .host = 6,
     .bind = tile1_bind,
     .run = tile_run},
    {.op = "Tile",
     .first = 6,
     .types = INDEX,
     .name = "tile",
     .flags = ONX_KERNEL_OBJECTS,
     .host = HOST,
     .bind = tile_bind,
     .run = tile_run},
    {0},
};
