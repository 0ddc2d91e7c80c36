/* pool_quant_ref.c: QLinearAveragePool and QLinearGlobalAveragePool, as ONNX Runtime has them:
 * plain kernels. Averages are made in float and in its order, because halves are frequent. The
 * average of nothing is 0. */
#include "ops/pool/pool_ref.h"
#include "ops/quant/grid_ref.h"

enum { WINDOW = 64 /* taps of those that are averaged for many channels at once */ };

typedef onx_qpool_coding coding;

static coding coding_of(const onx_call *call) {
    onx_dtype dtype = (onx_dtype)call->in[0]->dtype;
    return (coding){.x_scale = (float)onx_param_one(call->in[1], 1),
                    .y_scale = (float)onx_param_one(call->in[3], 1),
                    .x_zero = (int)onx_param_one(onx_call_in(call, 2), 0),
                    .y_zero = (int)onx_param_one(onx_call_in(call, 4), 0),
                    .flip = dtype == ONX_DTYPE_I8 ? 128 : 0};
}

static uint8_t code(const coding *c, float y, int zero) {
    const onx_range range = {c->flip ? -128 : 0, c->flip ? 127 : 255, false};
    return (uint8_t)(int)onx_range_round((double)y, (double)zero, &range);
}

static int number_at(const coding *c, const uint8_t *x, size_t at) {
    return (x[at] ^ c->flip) - c->flip - c->x_zero;
}

/* ── Shapes ──────────────────────────────────────────────────────────────────────────────────── */

/* The call as other pools have it: X alone, channels before the pixels. */
typedef struct plain_call {
    onx_call call;
    onx_operand x, y, *in[1], *out[1];
} plain_call;

static onx_status make_plain(const onx_call *call, plain_call *p) {
    const onx_operand *x = call->in[0];
    const onx_pooling_state *st = call->state;
    for (size_t i = 1; i < call->n_in; i++)
        if (call->in[i] && !onx_param_single(call->in[i]))
            return onx_call_fail(call, ONX_INVALID, "input %zu must be a scalar", i);
    if (x->rank < 3)
        return onx_call_fail(call, ONX_INVALID, "the input has %u dimensions; it needs 3 at least",
                             (unsigned)x->rank);
    *p = (plain_call){.call = *call, .x = *x};
    p->in[0] = &p->x;
    p->out[0] = &p->y;
    p->call.in = p->in;
    p->call.out = p->out;
    p->call.n_in = p->call.n_out = 1;
    for (size_t i = 1; st->channels_last && i < x->rank; i++)
        p->x.dims[i] = x->dims[i == 1 ? x->rank - 1u : i - 1];
    return ONX_OK;
}

static onx_status shape_result(onx_call *call, const plain_call *p) {
    const onx_pooling_state *st = call->state;
    int64_t dims[ONX_RANK_MAX];
    size_t rank = p->y.rank;
    for (size_t i = 0; i < rank; i++) dims[i] = p->y.dims[i];
    for (size_t i = 1; st->channels_last && i < rank; i++)
        dims[i] = p->y.dims[i + 1 == rank ? 1 : i + 1];
    return onx_call_shape(call, 0, (onx_dtype)call->in[0]->dtype, rank, dims);
}

onx_status onx_qpool_init(onx_call *call) {
    ONX_TRY(onx_pooling_init(call));
    ((onx_pooling_state *)call->state)->channels_last = onx_call_int(call, "channels_last") != 0;
    return ONX_OK;
}

onx_status onx_qpool_bind(onx_call *call) {
    plain_call p;
    ONX_TRY(make_plain(call, &p));
    ONX_TRY(onx_pooling_bind(&p.call, call->plan));
    return shape_result(call, &p);
}

onx_status onx_qglobal_init(onx_call *call) {
    onx_pooling_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->channels_last = onx_call_int(call, "channels_last") != 0;
    return ONX_OK;
}

onx_status onx_qglobal_bind(onx_call *call) {
    plain_call p;
    ONX_TRY(make_plain(call, &p));
    ONX_TRY(onx_global_bind(&p.call));
    return shape_result(call, &p);
}

/* ── Averages ────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    coding coding;
    onx_qpool_fn *average;
    const onx_images *images; /* NULL: one average of each plane */
    size_t channels, pixels, out_pixels, task;
    bool channels_last, count_padding, whole; /* whole: the window is all of the image */
} job;

/* Where pixel 0 of a plane is, and how far the next one. */
static size_t plane_at(const job *j, size_t plane, size_t pixels, size_t *step) {
    *step = j->channels_last ? j->channels : 1;
    if (!j->channels_last) return plane * pixels;
    return plane / j->channels * j->channels * pixels + plane % j->channels;
}

static uint8_t average_all(const job *j, const uint8_t *x, size_t plane) {
    size_t step, first = plane_at(j, plane, j->pixels, &step);
    const coding *c = &j->coding;
    float factor = j->pixels ? c->x_scale / (c->y_scale * (float)j->pixels) : 0;
    int64_t sum = 0;
    for (size_t i = 0; i < j->pixels; i++) sum += number_at(c, x, first + i * step);
    return code(c, (float)sum * factor, c->y_zero);
}

/* The averages of n planes of an image whose channels are last: many sums at once. */
static void average_last(const job *j, const uint8_t *x, size_t plane, size_t n, uint8_t *y) {
    enum { FEW = 64 };
    const coding *c = &j->coding;
    float factor = c->x_scale / (c->y_scale * (float)j->pixels);
    for (size_t at = 0; at < n; at += FEW) {
        size_t few = n - at < FEW ? n - at : FEW, step;
        const uint8_t *from = x + plane_at(j, plane + at, j->pixels, &step);
        int32_t sums[FEW] = {0};
        for (size_t i = 0; i < j->pixels; i++, from += step)
            for (size_t k = 0; k < few; k++) sums[k] += from[k] ^ c->flip;
        for (size_t k = 0; k < few; k++) {
            int64_t sum = sums[k] - (int64_t)j->pixels * (c->flip + c->x_zero);
            y[at + k] = code(c, (float)sum * factor, c->y_zero);
        }
    }
}

void onx_qpool_average(const coding *c, size_t count, const uint8_t *const *x, size_t n, float taps,
                       uint8_t *y) {
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t tap = 0; tap < count; tap++) sum += c->x_scale * (float)number_at(c, x[tap], i);
        y[i] = code(c, sum / taps / c->y_scale + (float)c->y_zero, 0);
    }
}

static float taps_of(const job *j, const onx_pool_part *p) {
    size_t n = j->count_padding ? j->images->taps : p->taps;
    return n ? (float)n : 1;
}

static uint8_t average_window(const job *j, const uint8_t *x, size_t plane, size_t pixel) {
    const onx_images *m = j->images;
    const coding *c = &j->coding;
    const onx_pool_part p = onx_pool_part_of(m, pixel);
    size_t step, first = plane_at(j, plane, j->pixels, &step);
    float sum = 0;
    for (size_t tap = 0; tap < p.taps; tap++)
        sum += c->x_scale * (float)number_at(c, x, first + onx_pool_part_at(m, &p, tap) * step);
    return code(c, sum / taps_of(j, &p) / c->y_scale + (float)c->y_zero, 0);
}

/* The same for outputs first … end-1 of images whose channels are last: pixel by pixel. */
static void average_windows(const job *j, const uint8_t *x, size_t first, size_t end, uint8_t *y) {
    const onx_images *m = j->images;
    const uint8_t *seen[WINDOW];
    while (first < end) {
        size_t at = first % j->channels, left = j->channels - at, out = first / j->channels;
        size_t n = end - first < left ? end - first : left;
        const onx_pool_part p = onx_pool_part_of(m, out % j->out_pixels);
        const uint8_t *image = x + out / j->out_pixels * j->pixels * j->channels + at;
        for (size_t tap = 0; tap < p.taps; tap++)
            seen[tap] = image + onx_pool_part_at(m, &p, tap) * j->channels;
        j->average(&j->coding, p.taps, seen, n, taps_of(j, &p), y + first);
        first += n;
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const uint8_t *x = call->in[0]->data;
    uint8_t *y = call->out[0]->data;
    size_t first = index * j->task, all = (size_t)call->out[0]->count, step;
    size_t end = all - first < j->task ? all : first + j->task;
    (void)scratch;
    if (!j->whole && j->channels_last && j->images->taps <= WINDOW) {
        average_windows(j, x, first, end, y);
        return ONX_OK;
    }
    while (j->whole && j->channels_last && j->pixels && j->pixels < (size_t)1 << 22 &&
           first < end) {
        size_t left = j->channels - first % j->channels,
               n = end - first < left ? end - first : left;
        average_last(j, x, first, n, y + first);
        first += n;
    }
    for (size_t i = first; i < end; i++) {
        size_t plane = i / j->out_pixels, pixel = i % j->out_pixels;
        size_t at = plane_at(j, plane, j->out_pixels, &step) + pixel * step;
        y[at] = j->whole ? average_all(j, x, plane) : average_window(j, x, plane, pixel);
    }
    return ONX_OK;
}

static onx_status run(onx_call *call, job *j, size_t work) {
    const onx_pooling_state *st = call->state;
    const onx_operand *x = call->in[0];
    size_t all = (size_t)call->out[0]->count;
    if (!all) return ONX_OK;
    j->coding = coding_of(call);
    j->channels_last = st->channels_last;
    j->count_padding = st->count_padding;
    j->channels = (size_t)x->dims[st->channels_last ? x->rank - 1u : 1];
    j->pixels = (size_t)x->count / (size_t)(x->dims[0] * (int64_t)j->channels);
    j->task = ((size_t)1 << 16) / (work ? work : 1) + 1;
    return onx_call_parallel(call, (all - 1) / j->task + 1, task, j);
}

/* A window that is all of the image is a global pool, which rounds before it adds. */
static bool is_whole(const onx_images *m) {
    for (size_t i = 0; i < m->window.axes; i++)
        if ((size_t)m->window.kernel[i] != m->in[i] || m->span[i].before || m->span[i].after)
            return false;
    return true;
}

onx_status onx_qpool_run_with(onx_call *call, onx_qpool_fn *average) {
    const onx_images *m = call->plan;
    job j = {.average = average, .images = m, .out_pixels = m->out_pixels, .whole = is_whole(m)};
    return run(call, &j, m->taps < m->in_pixels ? m->taps : m->in_pixels);
}

onx_status onx_qpool_run(onx_call *call) {
    return onx_qpool_run_with(call, onx_qpool_average);
}

onx_status onx_qglobal_run(onx_call *call) {
    const onx_operand *x = call->in[0], *y = call->out[0];
    return run(call, &(job){.out_pixels = 1, .whole = true},
               y->count ? (size_t)(x->count / y->count) : 0);
}
