/* pool_lines_simd.c: MaxPool and AveragePool of float32 with three and more spatial dimensions,
 * line by line: the lines of the input that windows see are put together in vectors, then what
 * windows see of that. NaN wins every maximum; that of nothing is -inf, its average 0. */
#include "ops/pool/pool_lines_simd.h"

#include <math.h>

typedef struct plan {
    onx_images images;
    size_t lines, task; /* of outputs, in a task */
} plan;

/* Along a line, the taps of an output on the input, and with its padding. */
typedef struct place {
    size_t first, count, padded;
} place;

typedef struct work {
    const place *places;
    bool max;
} work;

onx_status ONX_TIER(onx_pool_lines_init)(onx_call *call) {
    ONX_TRY(onx_pooling_init(call));
    bool indices = call->n_out > 1 && call->out[1];
    if (indices) return ONX_UNSUPPORTED;
    call->plan_bytes = sizeof(plan);
    return ONX_OK;
}

onx_status ONX_TIER(onx_pool_lines_bind)(onx_call *call) {
    enum { TASK = 1 << 16 };
    plan *p = call->plan;
    onx_images *m = &p->images;
    ONX_TRY(onx_pooling_bind(call, m));
    size_t last = m->window.axes - 1, width = m->out[last];
    p->lines = width ? m->batch * m->groups * (m->out_pixels / width) : 0;
    size_t taps = m->taps < m->in_pixels ? m->taps : m->in_pixels;
    p->task = TASK / (m->in[last] * taps / (size_t)m->window.kernel[last] + width + 1) + 1;
    if (!onx_mul_size(width, sizeof(place), &call->scratch_bytes) ||
        !onx_mul_size(m->in[last] + VF, sizeof(float), &call->scratch_each))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    return ONX_OK;
}

static inline vf most_of(vf a, vf b) {
    return vf_select((b > a) | (b != b), b, a);
}

/* sum[0 … n-1]: with x, or of x alone. */
static void add_line(bool max, bool first, const float *x, size_t n, float *sum) {
    for (size_t i = 0; i < n; i += VF) {
        size_t some = n - i < VF ? n - i : VF;
        vf v = vf_load_n(x + i, some), s = first ? v : vf_load(sum + i);
        vf_store(sum + i, first ? v : max ? most_of(s, v) : s + v);
    }
}

/* Where outer tap `tap` of the part lies in its plane: the line that begins there. */
static size_t line_at(const onx_images *m, const onx_pool_part *part, size_t tap) {
    size_t last = m->window.axes - 1, at = 0, step = m->in[last];
    for (size_t i = last; i-- > 0; tap /= part->count[i]) {
        at += (part->first[i] + tap % part->count[i] * (size_t)m->window.dilation[i]) * step;
        step *= m->in[i];
    }
    return at;
}

/* Without branches that depend on numbers. */
static inline float across(size_t step, const place *w, const float *sum, bool max) {
    const float *x = sum + w->first;
    float y = max ? -INFINITY : 0;
    int odd = 0;
    for (size_t k = 0; k < w->count; k++, x += step) {
        odd |= *x != *x;
        y = !max ? y + *x : *x > y ? *x : y;
    }
    return odd ? NAN : y;
}

static void make_line(const onx_call *call, const work *j, size_t line, float *sum) {
    const plan *p = call->plan;
    const onx_images *m = &p->images;
    const onx_pooling_state *st = call->state;
    size_t last = m->window.axes - 1, width = m->out[last], lines = m->out_pixels / width;
    size_t step = (size_t)m->window.dilation[last];
    const float *x = (const float *)call->in[0]->data + line / lines * m->in_pixels;
    float *y = (float *)call->out[0]->data + line * width;
    const onx_pool_part part = onx_pool_part_of(m, line % lines * width);
    size_t outer = 1, padded = part.padded / j->places[0].padded;
    for (size_t i = 0; i < last; i++) outer *= part.count[i];
    for (size_t tap = 0; tap < outer; tap++)
        add_line(j->max, !tap, x + line_at(m, &part, tap), m->in[last], sum);
    for (size_t i = 0; i < width; i++) {
        place w = j->places[i];
        if (!outer) w.count = 0;
        size_t n = st->count_padding ? padded * w.padded : outer * w.count;
        float value = j->max ? across(step, &w, sum, true) : across(step, &w, sum, false);
        if (!j->max) value = n ? value / (float)n : 0;
        memcpy((void *)(y + i), &value, sizeof value); /* y need not be aligned */
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const plan *p = call->plan;
    size_t line = index * p->task, end = p->lines - line < p->task ? p->lines : line + p->task;
    for (; line < end && !onx_call_stopped(call); line++) make_line(call, user, line, scratch);
    return line < end ? ONX_CANCELLED : ONX_OK;
}

static onx_status run(onx_call *call, bool max) {
    const plan *p = call->plan;
    const onx_images *m = &p->images;
    size_t last = m->window.axes - 1;
    place *places = call->scratch;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    onx_images along = *m; /* the last axis alone */
    along.window.axes = 1;
    along.window.kernel[0] = m->window.kernel[last];
    along.window.stride[0] = m->window.stride[last];
    along.window.dilation[0] = m->window.dilation[last];
    along.span[0] = m->span[last];
    along.in[0] = m->in[last];
    along.out[0] = m->out[last];
    for (size_t i = 0; i < m->out[last]; i++) {
        onx_pool_part part = onx_pool_part_of(&along, i);
        places[i] = (place){part.first[0], part.count[0], part.padded};
    }
    if (!places[0].padded) places[0].padded = 1; /* there is nothing at all */
    return onx_call_parallel(call, (p->lines - 1) / p->task + 1, task, &(work){places, max});
}

onx_status ONX_TIER(onx_pool_lines_max)(onx_call *call) {
    return run(call, true);
}
onx_status ONX_TIER(onx_pool_lines_average)(onx_call *call) {
    return run(call, false);
}
