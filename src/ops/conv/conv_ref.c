/* conv_ref.c: Conv: plain loops, for any number of dimensions. Sums are made in double. */
#include "ops/conv/conv_ref.h"

#include <math.h>

/* ── Sizes ── */

onx_status onx_conv_init(onx_call *call) {
    if (call->n_in < 2 || !call->in[0] || !call->in[1])
        return onx_call_fail(call, ONX_INVALID, "X or W is missing");
    onx_conv_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->bias = 2;
    state->lo = -INFINITY;
    state->hi = INFINITY;
    state->groups = onx_call_int(call, "group");
    if (state->groups < 1)
        return onx_call_fail(call, ONX_INVALID, "group is %lld", (long long)state->groups);
    return onx_window_read(call->op, call->node, &state->window, call->diag);
}

onx_status onx_images_place(onx_call *call, onx_images *images, int64_t *dims) {
    const onx_operand *x = call->in[0];
    images->in_pixels = images->out_pixels = images->taps = 1;
    for (size_t i = 0; i < images->window.axes; i++) {
        onx_span *span = &images->span[i];
        ONX_TRY(onx_window_span(&images->window, i, x->dims[i + 2], span, call->diag));
        images->in[i] = (size_t)x->dims[i + 2];
        images->out[i] = (size_t)span->out;
        dims[i + 2] = span->out;
        if (!onx_mul_size(images->in_pixels, images->in[i], &images->in_pixels) ||
            !onx_mul_size(images->out_pixels, images->out[i], &images->out_pixels) ||
            !onx_mul_size(images->taps, (size_t)images->window.kernel[i], &images->taps))
            return onx_call_fail(call, ONX_LIMIT, "an image is too large to count its elements");
    }
    return ONX_OK;
}

static onx_status check_channels(const onx_call *call) {
    const onx_conv_state *state = call->state;
    const onx_operand *x = call->in[0], *w = call->in[1], *b = onx_call_in(call, state->bias);
    int64_t groups = state->groups, wanted;
    if (w->rank != x->rank)
        return onx_call_fail(call, ONX_INVALID, "the weights have %d dimensions, the input %d",
                             (int)w->rank, (int)x->rank);
    if (!onx_mul_i64(w->dims[1], groups, &wanted) || wanted != x->dims[1])
        return onx_call_fail(call, ONX_INVALID,
                             "the input has %lld channels; the weights take %lld in each of %lld "
                             "groups",
                             (long long)x->dims[1], (long long)w->dims[1], (long long)groups);
    if (w->dims[0] % groups)
        return onx_call_fail(call, ONX_INVALID,
                             "the weights make %lld channels, which are not %lld equal groups",
                             (long long)w->dims[0], (long long)groups);
    if (b && (b->rank != 1 || b->dims[0] != w->dims[0]))
        return onx_call_fail(call, ONX_INVALID,
                             "the bias must have one dimension of %lld, as many as there are "
                             "channels in the output",
                             (long long)w->dims[0]);
    return ONX_OK;
}

onx_status onx_conv_bind(onx_call *call, onx_images *out) {
    const onx_conv_state *state = call->state;
    const onx_operand *x = call->in[0], *w = call->in[1];
    int64_t dims[ONX_RANK_MAX];
    *out = (onx_images){.window = state->window};
    ONX_TRY(onx_window_fit(&out->window, x->rank, call->diag));
    ONX_TRY(check_channels(call));
    for (size_t i = 0; i < out->window.axes; i++)
        ONX_TRY(onx_window_size(&out->window, i, w->dims[i + 2], call->diag));
    dims[0] = x->dims[0];
    dims[1] = w->dims[0];
    ONX_TRY(onx_images_place(call, out, dims));
    out->batch = (size_t)x->dims[0];
    out->groups = (size_t)state->groups;
    out->ic = (size_t)w->dims[1];
    out->oc = (size_t)(w->dims[0] / state->groups);
    return onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank, dims);
}

bool onx_images_at(const onx_images *images, size_t pixel, size_t tap, size_t *at) {
    const onx_window *w = &images->window;
    size_t step = 1;
    *at = 0;
    for (size_t i = w->axes; i-- > 0;) {
        size_t o = pixel % images->out[i], k = tap % (size_t)w->kernel[i];
        /* Modulo 2^64: what lies before the image is large. */
        size_t position =
            o * (size_t)w->stride[i] + k * (size_t)w->dilation[i] - (size_t)images->span[i].before;
        if (position >= images->in[i]) return false;
        *at += position * step;
        step *= images->in[i];
        pixel /= images->out[i];
        tap /= (size_t)w->kernel[i];
    }
    return true;
}

/* ── Conv ── */

enum { CHUNK = 64 }; /* outputs that are made before they are given their type */

typedef struct job {
    const onx_images *images;
    onx_wide x, w, b;
    size_t outputs, task; /* in all, in a task */
} job;

static onx_status bind_conv(onx_call *call) {
    ONX_TRY(onx_conv_bind(call, call->plan));
    for (size_t i = 0; i < call->n_in; i++)
        if (!onx_wide_bytes(call->in[i], &call->scratch_bytes))
            return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    return ONX_OK;
}

/* Output `at` of all: [batch][groups*oc][pixels]. */
static double conv_at(const job *j, size_t at) {
    const onx_images *m = j->images;
    size_t pixel = at % m->out_pixels, channel = at / m->out_pixels % (m->groups * m->oc);
    size_t image = at / m->out_pixels / (m->groups * m->oc), group = channel / m->oc, in;
    size_t x = (image * m->groups + group) * m->ic * m->in_pixels, w = channel * m->ic * m->taps;
    double sum = j->b.data ? onx_wide_at(j->b, channel) : 0;
    for (size_t tap = 0; tap < m->taps; tap++)
        if (onx_images_at(m, pixel, tap, &in))
            for (size_t c = 0; c < m->ic; c++)
                sum += onx_wide_at(j->x, x + c * m->in_pixels + in) *
                       onx_wide_at(j->w, w + c * m->taps + tap);
    return sum;
}

static onx_status conv_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    onx_operand *y = call->out[0];
    size_t size = y->bytes / (size_t)y->count, first = index * j->task;
    size_t last = j->outputs - first < j->task ? j->outputs : first + j->task;
    double values[CHUNK];
    for (size_t at = first; at < last; at += CHUNK) {
        size_t n = last - at < CHUNK ? last - at : CHUNK;
        for (size_t i = 0; i < n; i++) values[i] = conv_at(j, at + i);
        (void)onx_dtype_convert(ONX_DTYPE_F64, values, (onx_dtype)y->dtype,
                                (char *)y->data + at * size, n, false);
    }
    (void)scratch;
    return ONX_OK;
}

static onx_status run_conv(onx_call *call) {
    const onx_images *m = call->plan;
    char *scratch = call->scratch;
    if (!call->out[0]) return ONX_OK;
    job j = {.images = m, .outputs = (size_t)call->out[0]->count};
    j.x = onx_wide_of(call->in[0], &scratch);
    j.w = onx_wide_of(call->in[1], &scratch);
    j.b = onx_wide_of(onx_call_in(call, 2), &scratch);
    size_t products = m->ic * m->taps;
    j.task = ((size_t)1 << 16) / (products ? products : 1) + 1;
    return onx_call_parallel(call, j.outputs / j.task + (j.outputs % j.task != 0), conv_task, &j);
}

extern onx_kernel_rows onx_kernels_conv_ref;
onx_kernel_rows onx_kernels_conv_ref = {
    {.op = "Conv",
     .first = 1,
     .types = {ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS},
     .name = "conv",
     .plan_bytes = sizeof(onx_images),
     .init = onx_conv_init,
     .bind = bind_conv,
     .run = run_conv},
    {0},
};
