/* conv_transpose_ref.c: ConvTranspose: plain loops, for any number of dimensions; sums are made in
 * double, a row of the output at a time. */
#include "ops/spread/spread_ref.h"

typedef struct job {
    const onx_transpose_plan *plan;
    onx_wide x, w, b;
    size_t rows, per_task; /* of all images; in a task */
} job;

static onx_status read_spatial(const onx_call *call, const char *name, onx_ints *out) {
    ONX_TRY(onx_ints_attr(call, name, out));
    for (size_t i = 0; i < out->n; i++)
        if (out->v[i] < 0 || out->v[i] > INT32_MAX)
            return onx_call_fail(call, ONX_INVALID,
                                 "attribute %s has the element %lld: it must be from 0 to 2^31 - 1",
                                 name, (long long)out->v[i]);
    return ONX_OK;
}

onx_status onx_conv_transpose_init(onx_call *call) {
    onx_transpose_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    call->plan_bytes = sizeof(onx_transpose_plan);
    state->groups = onx_call_int(call, "group");
    if (state->groups < 1)
        return onx_call_fail(call, ONX_INVALID, "group is %lld", (long long)state->groups);
    ONX_TRY(read_spatial(call, "output_padding", &state->more));
    ONX_TRY(read_spatial(call, "output_shape", &state->sizes));
    return onx_window_read(call->op, call->node, &state->window, call->diag);
}

/* ── Sizes ── */

static onx_status check_channels(const onx_call *call, int64_t groups, int64_t *out) {
    const onx_operand *x = call->in[0], *w = call->in[1], *b = onx_call_in(call, 2);
    if (w->rank != x->rank)
        return onx_call_fail(call, ONX_INVALID, "the weights have %d dimensions, the input %d",
                             (int)w->rank, (int)x->rank);
    if (w->dims[0] != x->dims[1])
        return onx_call_fail(call, ONX_INVALID,
                             "the input has %lld channels; the weights take %lld",
                             (long long)x->dims[1], (long long)w->dims[0]);
    if (x->dims[1] % groups)
        return onx_call_fail(call, ONX_INVALID,
                             "the input has %lld channels, which are not %lld equal groups",
                             (long long)x->dims[1], (long long)groups);
    if (!onx_mul_i64(w->dims[1], groups, out))
        return onx_call_fail(call, ONX_LIMIT, "there are too many channels in the output");
    if (b && (b->rank != 1 || b->dims[0] != *out))
        return onx_call_fail(call, ONX_INVALID,
                             "the bias must have one dimension of %lld, as many as there are "
                             "channels in the output",
                             (long long)*out);
    return ONX_OK;
}

static onx_status check_lists(const onx_call *call, size_t axes) {
    const onx_transpose_state *state = call->state;
    const onx_ints *lists[] = {&state->more, &state->sizes};
    for (size_t i = 0; i < ONX_COUNT(lists); i++)
        if (lists[i]->n && lists[i]->n != axes)
            return onx_call_fail(call, ONX_INVALID,
                                 "attribute %s has %zu elements for %zu spatial dimensions",
                                 i ? "output_shape" : "output_padding", lists[i]->n, axes);
    return ONX_OK;
}

/* The size of the output along an axis, and what is cut off before it. Padding that follows from
 * the size is never negative; it lies rather before, but for SAME_UPPER. */
static onx_status place_axis(const onx_call *call, const onx_window *w, size_t axis, int64_t in,
                             int64_t *out, int64_t *before) {
    const onx_transpose_state *state = call->state;
    int64_t stride = w->stride[axis], all, size, total = 0;
    int64_t reach = (int64_t)(w->kernel[axis] - 1) * w->dilation[axis] + 1;
    if (state->more.n) reach += state->more.v[axis];
    bool same = w->auto_pad == ONX_AUTO_PAD_SAME_UPPER || w->auto_pad == ONX_AUTO_PAD_SAME_LOWER;
    if (!onx_mul_i64(in, stride, &size) || !onx_add_i64(size - stride, reach, &all))
        return onx_call_fail(call, ONX_LIMIT, "the output is too large along dimension %zu",
                             axis + 2);
    if (state->sizes.n) size = state->sizes.v[axis];
    if (!same && !state->sizes.n) {
        *before = w->before[axis];
        *out = all - *before - w->after[axis];
        return ONX_OK;
    }
    if (all > size) total = all - size;
    *before = w->auto_pad == ONX_AUTO_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    *out = state->sizes.n ? size : all - total;
    return ONX_OK;
}

static onx_status place(onx_call *call, onx_window *w, onx_spread *s, int64_t *dims) {
    for (size_t i = 0; i < w->axes; i++) {
        int64_t in = call->in[0]->dims[i + 2];
        ONX_TRY(onx_window_size(w, i, call->in[1]->dims[i + 2], call->diag));
        ONX_TRY(place_axis(call, w, i, in, &dims[i + 2], &s->before[i]));
        s->in[i] = (size_t)in;
        s->out[i] = (size_t)dims[i + 2];
        s->kernel[i] = (size_t)w->kernel[i];
        s->stride[i] = (size_t)w->stride[i];
        s->dilation[i] = (size_t)w->dilation[i];
        if (dims[i + 2] < 0)
            return onx_call_fail(call, ONX_INVALID, "the output would have %lld elements along %zu",
                                 (long long)dims[i + 2], i + 2);
    }
    s->axes = w->axes;
    return ONX_OK;
}

onx_status onx_conv_transpose_bind(onx_call *call) {
    const onx_transpose_state *state = call->state;
    const onx_operand *x = call->in[0], *w = call->in[1];
    onx_transpose_plan *plan = call->plan;
    onx_window window = state->window;
    int64_t dims[ONX_RANK_MAX];
    *plan = (onx_transpose_plan){.groups = (size_t)state->groups};
    ONX_TRY(onx_window_fit(&window, x->rank, call->diag));
    ONX_TRY(check_channels(call, state->groups, &dims[1]));
    ONX_TRY(check_lists(call, window.axes));
    ONX_TRY(place(call, &window, &plan->spread, dims));
    dims[0] = x->dims[0];
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank, dims));
    plan->ic = (size_t)(x->dims[1] / state->groups);
    plan->oc = (size_t)w->dims[1];
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    bool counted = onx_spread_count(&plan->spread);
    for (size_t i = 0; i < call->n_in; i++)
        counted = counted && onx_wide_bytes(call->in[i], &call->scratch_bytes);
    counted = counted &&
              onx_mul_size(plan->spread.out[window.axes - 1], sizeof(double), &call->scratch_each);
    return counted ? ONX_OK : onx_call_fail(call, ONX_LIMIT, "the scratch memory is too large");
}

/* ── One row ── */

static void add_run(onx_wide x, size_t at, size_t n, double w, double *sum, size_t stride) {
    for (size_t i = 0; i < n; i++) sum[i * stride] += w * onx_wide_at(x, at + i);
}

/* Row `row` of channel `out` of an image: every tap of every channel of the group. */
static void make_row(const job *j, size_t image, size_t out, size_t row, double *sum) {
    const onx_spread *s = &j->plan->spread;
    size_t width = s->out[s->axes - 1], in_width = s->in[s->axes - 1],
           kernel = s->kernel[s->axes - 1];
    size_t ic = j->plan->ic, oc = j->plan->oc, first = out / oc * ic, at;
    double bias = j->b.data ? onx_wide_at(j->b, out) : 0;
    for (size_t i = 0; i < width; i++) sum[i] = bias;
    for (size_t tap = 0; tap < s->row_taps && ic && s->in_pixels; tap++) {
        if (!onx_spread_row(s, row, tap, &at)) continue;
        for (size_t k = 0; k < kernel; k++) {
            const onx_spread_run run = onx_spread_run_of(s, k);
            for (size_t c = first; c < first + ic && run.n; c++)
                add_run(j->x,
                        (image * j->plan->groups * ic + c) * s->in_pixels + at * in_width +
                            run.first,
                        run.n, onx_wide_at(j->w, (c * oc + out % oc) * s->taps + tap * kernel + k),
                        sum + run.to, s->stride[s->axes - 1]);
        }
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_spread *s = &j->plan->spread;
    onx_operand *y = call->out[0];
    size_t width = s->out[s->axes - 1], channels = j->plan->groups * j->plan->oc;
    size_t size = onx_dtype_bits((onx_dtype)y->dtype) / 8, first = index * j->per_task;
    size_t last = j->rows - first < j->per_task ? j->rows : first + j->per_task;
    for (size_t r = first; r < last; r++) {
        size_t plane = r / s->rows;
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        make_row(j, plane / channels, plane % channels, r % s->rows, scratch);
        (void)onx_dtype_convert(ONX_DTYPE_F64, scratch, (onx_dtype)y->dtype,
                                (char *)y->data + r * width * size, width, false);
    }
    return ONX_OK;
}

onx_status onx_conv_transpose_run(onx_call *call) {
    const onx_transpose_plan *plan = call->plan;
    const onx_spread *s = &plan->spread;
    char *scratch = call->scratch;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    job j = {.plan = plan, .rows = (size_t)call->out[0]->count / s->out[s->axes - 1]};
    j.x = onx_wide_of(call->in[0], &scratch);
    j.w = onx_wide_of(call->in[1], &scratch);
    j.b = onx_wide_of(onx_call_in(call, 2), &scratch);
    size_t products = (size_t)call->in[1]->count / (plan->groups * plan->oc) * s->in[s->axes - 1];
    j.per_task = ((size_t)1 << 16) / (products + s->out[s->axes - 1]) + 1;
    return onx_call_parallel(call, (j.rows + j.per_task - 1) / j.per_task, task, &j);
}
