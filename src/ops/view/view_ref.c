/* view_ref.c: the same elements in another shape: Reshape, Squeeze, Unsqueeze, Flatten, Identity;
 * and Shape, Size: kernels. Dense views have nothing to run; strings are copied. */
#include "ops/view/move_ref.h"
#include "rt/object.h"

/* Output 0: the elements of input 0, in this shape. */
static onx_status view_as(onx_call *call, size_t rank, const int64_t *dims) {
    const onx_operand *in = call->in[0];
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, rank, dims));
    if (call->n_out && call->out[0] && call->out[0]->count != in->count)
        return onx_call_fail(call, ONX_INVALID, "%lld elements do not fit the new shape",
                             (long long)in->count);
    return onx_move_bind(call);
}

static onx_status copy_run(onx_call *call) {
    onx_mover mover = onx_move_begin(call);
    const char *from = onx_move_in(&mover, 0);
    char *to = onx_move_out(&mover, 0);
    if (from && to)
        onx_mem_copy(to, from,
                     (size_t)call->in[0]->count * onx_move_size((onx_dtype)call->in[0]->dtype));
    return onx_move_end(call, 0, to);
}

/* ── Reshape ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct reshape {
    onx_ints shape; /* the attribute of opset 1 */
    bool zero_is_zero;
} reshape;

static onx_status reshape_init(onx_call *call) {
    reshape *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->zero_is_zero = onx_call_int(call, "allowzero") != 0;
    return onx_ints_attr(call, "shape", &state->shape);
}

/* The size that -1 stands for. */
static onx_status fill_rest(onx_call *call, onx_ints *shape, size_t rest) {
    int64_t others = 1;
    for (size_t i = 0; i < shape->n; i++)
        if (i != rest && !onx_mul_i64(others, shape->v[i], &others))
            return onx_call_fail(call, ONX_INVALID, "the new shape is too large");
    if (others == 0)
        return onx_call_fail(call, ONX_INVALID,
                             "the new shape has a 0 and a -1, which can then be anything");
    shape->v[rest] = call->in[0]->count / others;
    return ONX_OK;
}

static onx_status reshape_bind(onx_call *call) {
    const reshape *state = call->state;
    const onx_operand *in = call->in[0];
    size_t rest = SIZE_MAX;
    onx_ints shape;
    ONX_TRY(onx_ints_of(call, 1, &shape));
    if (shape.n > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_UNSUPPORTED, "the new shape has %zu dimensions", shape.n);
    for (size_t i = 0; i < shape.n; i++) {
        if (shape.v[i] > 0 || (shape.v[i] == 0 && state->zero_is_zero)) continue;
        if (shape.v[i] < -1 || (shape.v[i] == -1 && rest != SIZE_MAX))
            return onx_call_fail(call, ONX_INVALID, "entry %zu of the new shape is %lld", i,
                                 (long long)shape.v[i]);
        if (shape.v[i] == 0 && i >= in->rank)
            return onx_call_fail(call, ONX_INVALID,
                                 "the new shape copies dimension %zu of a tensor of rank %u", i,
                                 (unsigned)in->rank);
        if (shape.v[i] == -1) rest = i;
        if (shape.v[i] == 0) shape.v[i] = in->dims[i];
    }
    if (rest != SIZE_MAX) ONX_TRY(fill_rest(call, &shape, rest));
    return view_as(call, shape.n, shape.v);
}

/* ── Flatten, Squeeze, Unsqueeze ─────────────────────────────────────────────────────────────── */

static onx_status axis_init(onx_call *call) {
    int64_t *axis = onx_call_state(call, sizeof *axis);
    if (!axis) return onx_fail_nomem(call->diag);
    *axis = onx_call_int(call, "axis");
    return ONX_OK;
}

static onx_status flatten_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    int64_t axis = *(const int64_t *)call->state, dims[2] = {1, 1};
    if (axis < -(int64_t)in->rank || axis > in->rank)
        return onx_call_fail(call, ONX_INVALID, "axis %lld is out of range for rank %u",
                             (long long)axis, (unsigned)in->rank);
    if (axis < 0) axis += in->rank;
    for (size_t i = 0; i < in->rank; i++) {
        int64_t *side = &dims[i >= (size_t)axis];
        if (!onx_mul_i64(*side, in->dims[i], side))
            return onx_call_fail(call, ONX_INVALID, "the flattened shape is too large");
    }
    return view_as(call, 2, dims);
}

static onx_status axes_init(onx_call *call) {
    return onx_ints_init(call, "axes");
}

/* Which of `rank` dimensions are listed. */
static onx_status mark_axes(onx_call *call, const onx_ints *axes, size_t rank, uint32_t *marks) {
    *marks = 0;
    for (size_t i = 0; i < axes->n; i++) {
        size_t axis;
        ONX_TRY(onx_axis_of(call, axes->v[i], rank, &axis));
        if (*marks >> axis & 1)
            return onx_call_fail(call, ONX_INVALID, "axis %zu is listed twice", axis);
        *marks |= 1u << axis;
    }
    return ONX_OK;
}

static onx_status squeeze_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    int64_t dims[ONX_RANK_MAX];
    size_t rank = 0;
    uint32_t marks;
    onx_ints axes;
    ONX_TRY(onx_ints_of(call, 1, &axes));
    ONX_TRY(mark_axes(call, &axes, in->rank, &marks));
    for (size_t i = 0; i < in->rank; i++) {
        bool gone = axes.given ? marks >> i & 1 : in->dims[i] == 1;
        if (gone && in->dims[i] != 1)
            return onx_call_fail(call, ONX_INVALID,
                                 "dimension %zu has the size %lld and cannot be squeezed", i,
                                 (long long)in->dims[i]);
        if (!gone) dims[rank++] = in->dims[i];
    }
    return view_as(call, rank, dims);
}

static onx_status unsqueeze_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    int64_t dims[ONX_RANK_MAX];
    size_t from = 0;
    uint32_t marks;
    onx_ints axes;
    ONX_TRY(onx_ints_of(call, 1, &axes));
    size_t rank = in->rank + axes.n;
    if (rank > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_UNSUPPORTED, "the output would have %zu dimensions", rank);
    ONX_TRY(mark_axes(call, &axes, rank, &marks));
    for (size_t i = 0; i < rank; i++) dims[i] = marks >> i & 1 ? 1 : in->dims[from++];
    return view_as(call, rank, dims);
}

/* ── Identity ────────────────────────────────────────────────────────────────────────────────── */

static onx_status identity_run(onx_call *call) {
    onx_object *object = NULL;
    ONX_TRY(onx_object_of(call->ctx, call->in[0], &object, call->diag));
    return onx_call_object(call, 0, object);
}

/* ── Shape, Size ─────────────────────────────────────────────────────────────────────────────── */

typedef struct bounds {
    int64_t start, end; /* of the dimensions asked for */
} bounds;

static onx_status shape_init(onx_call *call) {
    bounds *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    bool ends = onx_op_has(call->node, "end");
    *state = (bounds){onx_call_int(call, "start"), ends ? onx_call_int(call, "end") : INT64_MAX};
    return ONX_OK;
}

/* The dimensions from *first on, and how many. */
static size_t shape_range(const onx_call *call, size_t *first) {
    const bounds *state = call->state;
    int64_t rank = call->in[0]->rank, ends[2] = {state->start, state->end};
    for (size_t i = 0; i < 2; i++) {
        if (ends[i] < 0) ends[i] += rank;
        ends[i] = ends[i] < 0 ? 0 : ends[i] > rank ? rank : ends[i];
    }
    *first = (size_t)ends[0];
    return ends[1] > ends[0] ? (size_t)(ends[1] - ends[0]) : 0;
}

static onx_status shape_bind(onx_call *call) {
    size_t first;
    int64_t n = (int64_t)shape_range(call, &first);
    return onx_call_shape(call, 0, ONX_DTYPE_I64, 1, &n);
}

static onx_status shape_run(onx_call *call) {
    size_t first, n = shape_range(call, &first);
    if (n) memcpy(call->out[0]->data, call->in[0]->dims + first, n * sizeof(int64_t));
    return ONX_OK;
}

static onx_status size_bind(onx_call *call) {
    return onx_call_shape(call, 0, ONX_DTYPE_I64, 0, NULL);
}

static onx_status size_run(onx_call *call) {
    memcpy(call->out[0]->data, &call->in[0]->count, sizeof(int64_t));
    return ONX_OK;
}

/* The same where the input is an object, whose shape is not known before it is there. */
static onx_status late_shape_run(onx_call *call) {
    size_t first;
    int64_t n = (int64_t)shape_range(call, &first);
    ONX_TRY(onx_call_output(call, 0, ONX_DTYPE_I64, 1, &n));
    return shape_run(call);
}

static onx_status late_size_run(onx_call *call) {
    ONX_TRY(onx_call_output(call, 0, ONX_DTYPE_I64, 0, NULL));
    return size_run(call);
}

/* ── Rows ────────────────────────────────────────────────────────────────────────────────────── */

#define VIEW(op_, first_, last_, init_, bind_, host_)                                              \
    {.op = op_,                                                                                    \
     .first = first_,                                                                              \
     .last = last_,                                                                                \
     .name = "view",                                                                               \
     .flags = ONX_KERNEL_VIEW,                                                                     \
     .host = host_,                                                                                \
     .init = init_,                                                                                \
     .bind = bind_},                                                                               \
    {                                                                                              \
        .op = op_, .first = first_, .last = last_, .types = {ONX_T(STRING)},                       \
        .name = "view_strings", .flags = ONX_KERNEL_OBJECTS, .host = host_, .init = init_,         \
        .bind = bind_, .run = copy_run                                                             \
    }
#define OBJECT (ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS)

extern onx_kernel_rows onx_kernels_view_ref;
onx_kernel_rows onx_kernels_view_ref = {
    VIEW("Reshape", 1, 0, reshape_init, reshape_bind, 2),
    VIEW("Flatten", 1, 0, axis_init, flatten_bind, 0),
    VIEW("Squeeze", 1, 0, axes_init, squeeze_bind, 2),
    VIEW("Unsqueeze", 1, 0, axes_init, unsqueeze_bind, 2),
    {.op = "Identity", .first = 1, .name = "view", .flags = ONX_KERNEL_VIEW, .bind = onx_bind_same},
    {.op = "Identity", .first = 1, .name = "share", .flags = OBJECT, .run = identity_run},
    {.op = "Shape",
     .first = 1,
     .name = "shape",
     .flags = ONX_KERNEL_SHAPE,
     .init = shape_init,
     .bind = shape_bind,
     .run = shape_run},
    {.op = "Shape",
     .first = 1,
     .types = {ONX_T(STRING)},
     .name = "shape_strings",
     .flags = OBJECT,
     .init = shape_init,
     .run = late_shape_run},
    {.op = "Size",
     .first = 1,
     .name = "size",
     .flags = ONX_KERNEL_SHAPE,
     .bind = size_bind,
     .run = size_run},
    {.op = "Size",
     .first = 1,
     .types = {ONX_T(STRING)},
     .name = "size_strings",
     .flags = OBJECT,
     .run = late_size_run},
    {0},
};
