/* slice_ref.c: parts of a tensor, and a tensor with a border: Slice, Trilu, Pad: kernels;
 * and the table of the folder. */
#include "ops/slice/reverse_ref.h"
#include "ops/slice/slice.h"
#include "ops/view/move_ref.h"

/* Which axes a list of n entries is for: those of `axes`, or the first n. */
static onx_status axes_for(const onx_call *call, const onx_ints *axes, size_t n, size_t rank,
                           size_t out[ONX_RANK_MAX]) {
    uint32_t seen = 0;
    if (axes->given ? axes->n != n : n > rank)
        return onx_call_fail(call, ONX_INVALID, "there are %zu entries for %zu axes", n,
                             axes->given ? axes->n : rank);
    if (n > rank)
        return onx_call_fail(call, ONX_INVALID, "%zu axes are listed for rank %zu", n, rank);
    for (size_t i = 0; i < n; i++) {
        out[i] = i;
        if (axes->given) ONX_TRY(onx_axis_of(call, axes->v[i], rank, &out[i]));
        if (seen >> out[i] & 1)
            return onx_call_fail(call, ONX_INVALID, "axis %zu is listed twice", out[i]);
        seen |= 1u << out[i];
    }
    return ONX_OK;
}

/* ── Slice ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct slice_lists { /* the attributes of opset 1; inputs 1 to 4 later */
    onx_ints starts, ends, axes, steps;
} slice_lists;

typedef struct slice_plan {
    int64_t first[ONX_RANK_MAX], step[ONX_RANK_MAX];
} slice_plan;

static onx_status slice_init(onx_call *call) {
    slice_lists *lists = onx_call_state(call, sizeof *lists);
    if (!lists) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ints_attr(call, "starts", &lists->starts));
    ONX_TRY(onx_ints_attr(call, "ends", &lists->ends));
    return onx_ints_attr(call, "axes", &lists->axes);
}

static onx_status slice_lists_of(const onx_call *call, slice_lists *lists) {
    *lists = *(const slice_lists *)call->state;
    if (call->op->since > 1) {
        ONX_TRY(onx_ints_input(call, 1, &lists->starts));
        ONX_TRY(onx_ints_input(call, 2, &lists->ends));
        ONX_TRY(onx_ints_input(call, 3, &lists->axes));
        ONX_TRY(onx_ints_input(call, 4, &lists->steps));
    }
    size_t n = lists->starts.n;
    if (lists->ends.n == n && (!lists->steps.given || lists->steps.n == n)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "starts, ends and steps differ in length");
}

static onx_status slice_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    slice_plan *plan = call->plan;
    slice_lists lists;
    int64_t dims[ONX_RANK_MAX];
    size_t axes[ONX_RANK_MAX];
    ONX_TRY(slice_lists_of(call, &lists));
    ONX_TRY(axes_for(call, &lists.axes, lists.starts.n, in->rank, axes));
    for (size_t i = 0; i < in->rank; i++) {
        dims[i] = in->dims[i];
        plan->first[i] = 0;
        plan->step[i] = 1;
    }
    for (size_t i = 0; i < lists.starts.n; i++) {
        size_t axis = axes[i];
        int64_t step = lists.steps.given ? lists.steps.v[i] : 1;
        if (step == 0) return onx_call_fail(call, ONX_INVALID, "step %zu is 0", i);
        dims[axis] = onx_slice_range(in->dims[axis], lists.starts.v[i], lists.ends.v[i], step,
                                     &plan->first[axis]);
        plan->step[axis] = dims[axis] > 1 ? step : 0; /* a lone element takes no step */
    }
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, in->rank, dims));
    return onx_move_bind(call);
}

static onx_status slice_run(onx_call *call) {
    const onx_operand *in = call->in[0], *out = call->out[0];
    const slice_plan *plan = call->plan;
    int64_t from[ONX_RANK_MAX], to[ONX_RANK_MAX];
    onx_strides(in, from);
    onx_strides(out, to);
    onx_copy box = onx_copy_begin(onx_move_size((onx_dtype)in->dtype));
    for (size_t i = 0; i < in->rank && out->count; i++) {
        box.from_at += plan->first[i] * from[i];
        onx_copy_dim(&box, out->dims[i], from[i] * plan->step[i], to[i]);
    }
    onx_mover mover = onx_move_begin(call);
    const char *data = onx_move_in(&mover, 0);
    char *result = onx_move_out(&mover, 0);
    ONX_TRY(onx_copy_run(call, &box, data, result));
    return onx_move_end(call, 0, result);
}

/* ── Trilu ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status trilu_init(onx_call *call) {
    bool *upper = onx_call_state(call, sizeof *upper);
    if (!upper) return onx_fail_nomem(call->diag);
    *upper = onx_call_int(call, "upper") != 0;
    return ONX_OK;
}

static onx_status trilu_bind(onx_call *call) {
    onx_ints k;
    ONX_TRY(onx_ints_input(call, 1, &k));
    if (k.given && k.n != 1) return onx_call_fail(call, ONX_INVALID, "k is not one number");
    if (call->in[0]->rank < 2)
        return onx_call_fail(call, ONX_INVALID, "the input has no two dimensions");
    *(int64_t *)call->plan = k.given ? k.v[0] : 0;
    ONX_TRY(onx_bind_same(call));
    return onx_move_bind(call);
}

/* Row by row: what lies before or after the diagonal becomes 0. */
static onx_status trilu_run(onx_call *call) {
    const onx_operand *in = call->in[0];
    bool upper = *(const bool *)call->state;
    int64_t k = *(const int64_t *)call->plan, size = (int64_t)onx_move_size((onx_dtype)in->dtype);
    int64_t rows = in->dims[in->rank - 2], cols = in->dims[in->rank - 1];
    onx_mover mover = onx_move_begin(call);
    const char *from = onx_move_in(&mover, 0);
    char *to = onx_move_out(&mover, 0);
    k = k < -rows ? -rows : k > cols ? cols : k;
    for (int64_t i = 0; to && i < in->count / cols; i++) {
        int64_t edge = i % rows + k + !upper; /* the first column after the part on the left */
        edge = edge < 0 ? 0 : edge > cols ? cols : edge;
        int64_t first = upper ? edge : 0, end = upper ? cols : edge, at = i * cols;
        memset(to + at * size, 0, (size_t)(first * size));
        memmove(to + (at + first) * size, from + (at + first) * size,
                (size_t)((end - first) * size));
        memset(to + (at + end) * size, 0, (size_t)((cols - end) * size));
    }
    return onx_move_end(call, 0, to);
}

/* ── Pad ─────────────────────────────────────────────────────────────────────────────────────── */

#define PAD_MAX (INT64_MAX / 4) /* so that positions beyond a border can be counted */

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

typedef struct pad_state {
    pad_mode mode;
    float value; /* the attribute of opsets 1 and 2 */
    onx_ints pads;
} pad_state;

typedef struct pad_plan {
    int64_t before[ONX_RANK_MAX]; /* how far the input is moved in; negative: cut off */
} pad_plan;

static onx_status pad_init(onx_call *call) {
    pad_state *state = onx_call_state(call, sizeof *state);
    int mode;
    if (!state) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_call_choice(call, "mode", "constant, reflect, edge, wrap", &mode));
    state->mode = (pad_mode)mode;
    state->value = onx_call_float(call, "value");
    return onx_ints_attr(call, call->op->since == 1 ? "paddings" : "pads", &state->pads);
}

/* Can a border be made of what is there? */
static onx_status check_border(const onx_call *call, size_t axis, int64_t size) {
    const pad_state *state = call->state;
    if (state->mode == PAD_CONSTANT || call->in[0]->dims[axis] || !size) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "dimension %zu is empty: it has no border to repeat",
                         axis);
}

static onx_status pad_bind(onx_call *call) {
    const onx_operand *in = call->in[0], *value = onx_call_in(call, 2);
    onx_ints pads = ((const pad_state *)call->state)->pads, axes = {.given = false};
    pad_plan *plan = call->plan;
    int64_t dims[ONX_RANK_MAX];
    size_t at[ONX_RANK_MAX];
    if (call->op->since > 2) ONX_TRY(onx_ints_input(call, 1, &pads));
    if (call->op->since > 2) ONX_TRY(onx_ints_input(call, 3, &axes));
    if (pads.n % 2 || (!axes.given && pads.n != 2 * (size_t)in->rank))
        return onx_call_fail(call, ONX_INVALID, "%zu pads are listed for rank %u", pads.n,
                             (unsigned)in->rank);
    if (value && (value->dtype != in->dtype || value->count > 1))
        return onx_call_fail(call, ONX_INVALID,
                             "constant_value is not one element of the type of"
                             " data");
    ONX_TRY(axes_for(call, &axes, pads.n / 2, in->rank, at));
    for (size_t i = 0; i < in->rank; i++) {
        dims[i] = in->dims[i];
        plan->before[i] = 0;
    }
    for (size_t i = 0; i < pads.n / 2; i++) {
        int64_t before = pads.v[i], after = pads.v[i + pads.n / 2], *size = &dims[at[i]];
        plan->before[at[i]] = before;
        if (before < -PAD_MAX || before > PAD_MAX || after < -PAD_MAX || after > PAD_MAX)
            return onx_call_fail(call, ONX_INVALID, "the pads of axis %zu are out of range", at[i]);
        if (!onx_add_i64(*size, before, size) || !onx_add_i64(*size, after, size) || *size < 0)
            return onx_call_fail(call, ONX_INVALID,
                                 "pads %lld and %lld of axis %zu leave no tensor",
                                 (long long)before, (long long)after, at[i]);
        ONX_TRY(check_border(call, at[i], *size));
    }
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, in->rank, dims));
    return onx_move_bind(call);
}

/* Where position `at` of the padded dimension comes from in one of `size`; -1: it is the
 * constant. */
static int64_t source_of(pad_mode mode, int64_t at, int64_t size) {
    if (at >= 0 && at < size) return at;
    if (mode == PAD_CONSTANT) return -1;
    if (mode == PAD_EDGE) return at < 0 ? 0 : size - 1;
    int64_t period = mode == PAD_WRAP ? size : size > 1 ? 2 * (size - 1) : 1;
    if (at < -period || at >= 2 * period) at %= period;
    at += at < 0 ? period : at >= period ? -period : 0;
    return at < size ? at : period - at;
}

typedef struct border {
    const char *from, *value; /* value: the constant */
    char *to;
    size_t size;
    int64_t rows, per_task;
} border;

enum { LOOK_EVERY = 1 << 14 }; /* elements until the deadline is looked at */

/* Which of the input's places along its first `axes` dimensions place `index` of the output is made
 * of; -1: none is. */
static int64_t pad_source(const onx_call *call, size_t axes, int64_t index) {
    const onx_operand *in = call->in[0], *out = call->out[0];
    const pad_plan *plan = call->plan;
    pad_mode mode = ((const pad_state *)call->state)->mode;
    int64_t source = 0, step = 1;
    for (size_t i = axes; i-- > 0; index /= out->dims[i]) {
        int64_t at = source_of(mode, index % out->dims[i] - plan->before[i], in->dims[i]);
        if (at < 0) return -1;
        source += step * at;
        step *= in->dims[i];
    }
    return source;
}

static inline void put_one(char *to, const char *from, size_t size) {
    if (size == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, size);
}

/* Positions i … end-1 of a row that lie beyond what is there. */
static void pad_beyond(const onx_call *call, const border *b, const char *from, char *to, int64_t i,
                       int64_t end) {
    pad_mode mode = ((const pad_state *)call->state)->mode;
    size_t last = (size_t)(call->out[0]->rank - 1);
    int64_t size = (int64_t)b->size, n = call->in[0]->dims[last];
    int64_t before = ((const pad_plan *)call->plan)->before[last];
    if (mode == PAD_CONSTANT) {
        onx_move_fill(to + i * size, b->value, b->size, end - i);
        return;
    }
    for (; i < end && ((i + 1) % LOOK_EVERY || !onx_call_stopped(call)); i++)
        put_one(to + i * size, from + source_of(mode, i - before, n) * size, b->size);
}

/* Row `row` of the input (-1: none) in its place of the output. */
static void pad_row(const onx_call *call, const border *b, int64_t row, char *to) {
    size_t last = (size_t)(call->out[0]->rank - 1);
    int64_t width = call->out[0]->dims[last], n = call->in[0]->dims[last], size = (int64_t)b->size;
    int64_t before = ((const pad_plan *)call->plan)->before[last];
    int64_t first = before > 0 ? before : 0, end = n + before < width ? n + before : width;
    const char *from = row > 0 && n > 0 ? b->from + row * n * size : b->from;
    if (row < 0 || first >= end) {
        pad_beyond(call, b, from, to, 0, width);
        return;
    }
    pad_beyond(call, b, from, to, 0, first);
    onx_mem_copy(to + first * size, from + (first - before) * size, (size_t)((end - first) * size));
    pad_beyond(call, b, from, to, end, width);
}

/* Rows lie along the last dimension; those of one plane, along the last but one. */
static onx_status pad_task(void *user, onx_call *call, size_t index, void *scratch) {
    const border *b = user;
    const onx_operand *in = call->in[0], *out = call->out[0];
    size_t axes = out->rank > 2 ? (size_t)out->rank - 2 : 0;
    bool flat = out->rank < 2;
    int64_t bytes = out->dims[out->rank - 1] * (int64_t)b->size, plane = -1;
    int64_t height = flat ? 1 : out->dims[axes], rows = flat ? 1 : in->dims[axes];
    int64_t before = flat ? 0 : ((const pad_plan *)call->plan)->before[axes];
    int64_t i = (int64_t)index * b->per_task, end = i + b->per_task, y = i % height;
    (void)scratch;
    for (bool begins = true; i < end && i < b->rows; i++, begins = false) {
        if (y == 0 || begins) plane = pad_source(call, axes, i / height);
        int64_t row = source_of(((const pad_state *)call->state)->mode, y - before, rows);
        pad_row(call, b, plane < 0 || row < 0 ? -1 : plane * rows + row, b->to + i * bytes);
        if (++y == height) y = 0;
    }
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

static onx_status pad_border(onx_call *call, const char *value, const char *from, char *to) {
    const onx_operand *out = call->out[0];
    size_t size = onx_move_size((onx_dtype)out->dtype);
    if (!out->count) return ONX_OK;
    if (!out->rank) {
        memcpy(to, from, size);
        return ONX_OK;
    }
    int64_t width = out->dims[out->rank - 1], rows = out->count / width;
    border b = {from, value, to, size, rows, 1 + 65536 / (width * (int64_t)size)};
    return onx_call_parallel(call, (size_t)((rows + b.per_task - 1) / b.per_task), pad_task, &b);
}

static onx_status pad_run(onx_call *call) {
    const pad_state *state = call->state;
    const onx_operand *in = call->in[0];
    onx_dtype dtype = (onx_dtype)in->dtype;
    onx_mover mover = onx_move_begin(call);
    const char *from = onx_move_in(&mover, 0), *value = onx_move_in(&mover, 2);
    char *to = onx_move_out(&mover, 0), zero[16] = {0};
    if (call->op->since < 11 && state->mode == PAD_CONSTANT)
        ONX_TRY(onx_dtype_convert(ONX_DTYPE_F32, &state->value, dtype, zero, 1, true));
    ONX_TRY(pad_border(call, value ? value : zero, from, to));
    return onx_move_end(call, 0, to);
}

extern onx_kernel_rows onx_kernels_slice_ref;
onx_kernel_rows onx_kernels_slice_ref = {
    {.op = "Slice",
     .first = 1,
     .types = {0, ONX_T_INDEX, ONX_T_INDEX, ONX_T_INDEX, ONX_T_INDEX},
     .name = "slice",
     .flags = ONX_KERNEL_OBJECTS,
     .host = 2 | 4 | 8 | 16,
     .plan_bytes = sizeof(slice_plan),
     .init = slice_init,
     .bind = slice_bind,
     .run = slice_run},
    {.op = "Pad",
     .first = 1,
     .types = {0, ONX_T_INDEX, 0, ONX_T_INDEX},
     .name = "pad",
     .flags = ONX_KERNEL_OBJECTS,
     .host = 2 | 8,
     .plan_bytes = sizeof(pad_plan),
     .init = pad_init,
     .bind = pad_bind,
     .run = pad_run},
    {.op = "ReverseSequence",
     .first = 10,
     .types = {0, ONX_T(I64)},
     .name = "reverse_sequence",
     .flags = ONX_KERNEL_OBJECTS,
     .init = onx_reverse_init,
     .bind = onx_reverse_bind,
     .run = onx_reverse_run},
    {.op = "Trilu",
     .first = 14,
     .types = {0, ONX_T(I64)},
     .name = "trilu",
     .flags = ONX_KERNEL_OBJECTS,
     .overwrite = 1,
     .host = 2,
     .plan_bytes = sizeof(int64_t),
     .init = trilu_init,
     .bind = trilu_bind,
     .run = trilu_run},
    {0},
};
