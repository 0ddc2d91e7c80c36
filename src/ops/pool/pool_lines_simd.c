/* pool_lines_simd.c: MaxPool and AveragePool of float32 with any number of spatial dimensions, line
 * by line: the lines of the input that windows see are put together in vectors, then neighbours
 * along the line, at every place, of which each output takes its own. Where the places of maxima
 * are asked for, each output looks at its taps one by one. NaN wins every maximum; that of nothing
 * is -inf, at -1, its average 0. */
#include "ops/pool/pool_lines_simd.h"

#include "ops/reduce/row_simd.h"

enum {
    LINES = 16,       /* that are put together in one go */
    FOLD_TAPS = 64,   /* of wider windows only the taps on the input are looked at */
    FOLD_REACH = 1024 /* from its first tap to the last, or to the line */
};

typedef struct plan {
    onx_images images;
    size_t lines, task;          /* of outputs, in a task */
    size_t step[ONX_RANK_MAX];   /* of the input, in floats */
    size_t places[ONX_RANK_MAX]; /* where those of an axis begin */
    size_t count;                /* of all places */
    bool folds;                  /* in vectors; else tap by tap */
    size_t left, room;           /* floats before a line that is put together; and in all */
} plan;

/* Along an axis, the taps of an output on the input, and with its padding. */
typedef struct place {
    size_t first, count, padded;
} place;

typedef struct work {
    const place *places;
    const float *counts; /* of the last axis: taps that an average is over */
    bool max;
    float none;
} work;

static bool has_places(const onx_call *call) {
    return call->n_out > 1 && call->out[1];
}

onx_status ONX_TIER(onx_pool_lines_init)(onx_call *call) {
    ONX_TRY(onx_pooling_init(call));
    const onx_pooling_state *s = call->state;
    if (has_places(call) && (s->columns || !call->out[0])) return ONX_UNSUPPORTED;
    call->plan_bytes = sizeof(plan);
    return ONX_OK;
}

/* Room for a line with what windows see before and after it. */
static void place_line(plan *p) {
    const onx_images *m = &p->images;
    size_t last = m->window.axes - 1, taps = (size_t)m->window.kernel[last];
    size_t reach = (taps - 1) * (size_t)m->window.dilation[last];
    size_t ends = (m->out[last] - 1) * (size_t)m->window.stride[last] + 1;
    p->left = (size_t)m->span[last].before;
    p->folds = taps <= FOLD_TAPS && reach <= FOLD_REACH && p->left <= FOLD_REACH;
    p->left = p->folds ? p->left : 0;
    p->room = p->left + m->in[last];
    if (p->folds && p->room < ends)
        p->room = ends;
    else if (p->room < m->out[last])
        p->room = m->out[last];
    p->room += (p->folds ? reach : 0) + 2 * VF;
}

onx_status ONX_TIER(onx_pool_lines_bind)(onx_call *call) {
    enum { TASK = 1 << 16 };
    plan *p = call->plan;
    onx_images *m = &p->images;
    size_t step = 1;
    ONX_TRY(onx_pooling_bind(call, m));
    size_t last = m->window.axes - 1, width = m->out[last];
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    p->lines = m->batch * m->groups * (m->out_pixels / width);
    size_t taps = m->taps < m->in_pixels ? m->taps : m->in_pixels;
    p->task = TASK / (m->in[last] * taps / (size_t)m->window.kernel[last] + width + 1) + 1;
    place_line(p);
    for (size_t i = m->window.axes; i-- > 0; step *= m->in[i]) {
        p->step[i] = step;
        p->places[i] = p->count;
        p->count += m->out[i];
    }
    if (!onx_mul_size(p->count, sizeof(place) + sizeof(float), &call->scratch_bytes) ||
        !onx_mul_size(p->room, 2 * sizeof(float), &call->scratch_each))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    return ONX_OK;
}

/* ── Putting lines together ── */

static void fill(float *to, size_t n, float value) {
    for (size_t i = 0; i < n; i++) to[i] = value;
}

static inline vf join(bool max, vf a, vf b) {
    return max ? vf_max_nan(a, b) : a + b;
}

/* sum[0 … n-1]: what is there, unless this is the first, and `count` lines of x; whole vectors are
 * written. */
static inline void add_lines(bool max, bool first, const float *x, const size_t *lines,
                             size_t count, size_t n, float *sum) {
    size_t i = 0;
    for (; i + VF <= n; i += VF) {
        vf v = vf_load(first ? x + lines[0] + i : sum + i);
        for (size_t k = first; k < count; k++) v = join(max, v, vf_load(x + lines[k] + i));
        vf_store(sum + i, v);
    }
    if (i == n) return;
    vf v = first ? vf_load_n(x + lines[0] + i, n - i) : vf_load(sum + i);
    for (size_t k = first; k < count; k++) v = join(max, v, vf_load_n(x + lines[k] + i, n - i));
    vf_store(sum + i, v);
}

/* The lines of the input that output line `line` sees, one after the other. */
typedef struct walk {
    size_t count, padded; /* outer taps that lie on the input, and with the padding */
    size_t tap, next;     /* the next one, and where its line begins */
    size_t counts[ONX_RANK_MAX], at[ONX_RANK_MAX];
} walk;

static walk walk_of(const onx_call *call, const work *j, size_t line) {
    const plan *p = call->plan;
    const onx_images *m = &p->images;
    size_t last = m->window.axes - 1, lines = m->out_pixels / m->out[last], rest = line % lines;
    walk w = {.count = 1, .padded = 1, .next = line / lines * m->in_pixels};
    for (size_t i = last; i-- > 0; rest /= m->out[i]) {
        const place *here = j->places + p->places[i] + rest % m->out[i];
        w.next += here->first * p->step[i];
        w.counts[i] = here->count;
        w.count *= here->count;
        w.padded *= here->padded;
    }
    return w;
}

/* Where the next lines begin; how many, 0 after the last. */
static size_t take_lines(const plan *p, walk *w, size_t starts[LINES]) {
    const onx_window *window = &p->images.window;
    size_t n = 0;
    for (; n < LINES && w->tap < w->count; n++, w->tap++) {
        starts[n] = w->next;
        for (size_t i = window->axes - 1; i-- > 0; w->at[i] = 0) {
            size_t step = (size_t)window->dilation[i] * p->step[i];
            w->next += step;
            if (++w->at[i] < w->counts[i]) break;
            w->next -= w->counts[i] * step;
        }
    }
    return n;
}

static void put_together(const onx_call *call, const work *j, walk *w, float *sum) {
    const plan *p = call->plan;
    const onx_images *m = &p->images;
    size_t last = m->window.axes - 1, starts[LINES];
    const float *x = call->in[0]->data;
    if (!w->count) fill(sum, m->in[last], j->none);
    for (size_t n; m->in[last] && (n = take_lines(p, w, starts));) {
        bool first = w->tap == n;
        if (j->max)
            add_lines(true, first, x, starts, n, m->in[last], sum);
        else
            add_lines(false, first, x, starts, n, m->in[last], sum);
    }
    if (p->folds)
        vf_store(sum + m->in[last], vf_set(j->none)); /* what was written beyond the line */
}

/* ── Along a line ── */

/* out[i], i < n: of `count` elements from line[i] on, `step` apart. */
static inline void fold(bool max, const float *line, size_t n, size_t count, size_t step,
                        float *out) {
    for (size_t i = 0; i < n; i += VF) {
        vf v = vf_load(line + i);
        for (size_t k = 1; k < count; k++) {
            v = join(max, v, vf_load(line + i + k * step));
        }
        vf_store(out + i, v);
    }
}

static float across(size_t step, const place *w, const float *sum, bool max) {
    const float *x = sum + w->first;
    float y = max ? -INFINITY : 0;
    for (size_t k = 0; k < w->count; k++, x += step)
        y = !max ? y + *x : *x > y || *x != *x ? *x : y;
    return y;
}

/* From sums, or extremes, to outputs: averages of `outer` times counts[i] elements each. */
static void store_line(const work *j, const float *x, size_t n, float outer, float *y) {
    for (size_t i = 0; i < n; i += VF) {
        size_t some = n - i < VF ? n - i : VF;
        vf v = vf_load_n(x + i, some), count = vf_load_n(j->counts + i, some) * outer;
        vf_store_n(y + i, j->max ? v : vf_select(count == 0, vf_zero(), v / count), some);
    }
}

static void make_line(const onx_call *call, const work *j, size_t line, float *scratch) {
    const plan *p = call->plan;
    const onx_images *m = &p->images;
    const onx_pooling_state *st = call->state;
    size_t last = m->window.axes - 1, width = m->out[last];
    size_t stride = (size_t)m->window.stride[last], step = (size_t)m->window.dilation[last];
    float *sum = scratch + p->left, *folded = scratch + p->room;
    walk outer = walk_of(call, j, line);
    put_together(call, j, &outer, sum);
    size_t ends = (width - 1) * stride + 1, kernel = (size_t)m->window.kernel[last];
    if (p->folds && j->max) fold(true, scratch, ends, kernel, step, folded);
    if (p->folds && !j->max) fold(false, scratch, ends, kernel, step, folded);
    for (size_t i = 0; i < width && p->folds && stride > 1; i++) folded[i] = folded[i * stride];
    for (size_t i = 0; i < width && !p->folds; i++)
        folded[i] = across(step, j->places + p->places[last] + i, sum, j->max);
    store_line(j, folded, width, (float)(st->count_padding ? outer.padded : outer.count),
               (float *)call->out[0]->data + line * width);
}

/* A maximum and where it is; -1: nowhere yet. The first of equals counts, NaN beats all numbers. */
typedef struct most {
    float value;
    int64_t at;
} most;

static inline float float_at(const float *x, size_t at) { /* which need not be aligned */
    float v;
    memcpy(&v, (const char *)x + at * sizeof v, sizeof v);
    return v;
}

static most most_of(const float *x, const place *w, size_t step, const size_t *starts, size_t n,
                    most m) {
    for (size_t l = 0; l < n; l++)
        for (size_t k = 0, at = starts[l] + w->first; k < w->count; k++, at += step) {
            float v = float_at(x, at);
            bool beats = (v > m.value) | ((v != v) & (m.value == m.value)) | (m.at < 0);
            m.value = beats ? v : m.value;
            m.at = beats ? (int64_t)at : m.at;
        }
    return m;
}

/* The same for VF outputs at once, the first of which sees x[0], the next one x[stride]: places
 * from there on. */
static inline vi most_of_lanes(const float *x, size_t taps, size_t step, size_t stride,
                               const size_t *starts, size_t n, float *y) {
    vi at = vi_set(0);
    vf best = vf_zero();
    for (size_t l = 0; l < n; l++)
        for (size_t k = 0; k < taps; k++) {
            size_t tap = starts[l] - starts[0] + k * step;
            vf v = vf_zero();
            if (stride == 1)
                v = vf_load(x + tap);
            else
                VF_UNROLL for (size_t i = 0; i < VF; i++) v[i] = float_at(x, tap + i * stride);
            vi beats = (v > best) | ((v != v) & (best == best)) | vi_set(l || k ? 0 : -1);
            best = vf_select(beats, v, best);
            at = (at & ~beats) | (vi_set((int32_t)tap) & beats);
        }
    vf_store(y, best);
    return at;
}

/* A line of outputs with the places of their maxima in all of X. */
static void make_places(const onx_call *call, const work *j, size_t line, float *y) {
    const plan *p = call->plan;
    const onx_images *m = &p->images;
    size_t last = m->window.axes - 1, width = m->out[last], starts[LINES];
    size_t taps = (size_t)m->window.kernel[last], step = (size_t)m->window.dilation[last];
    size_t stride = (size_t)m->window.stride[last];
    const float *x = call->in[0]->data;
    const place *places = j->places + p->places[last];
    char *where = (char *)call->out[1]->data + line * width * sizeof(int64_t);
    walk w = walk_of(call, j, line);
    bool lanes = w.count <= LINES && m->in_pixels <= INT32_MAX;
    fill(y, width, j->none);
    memset(where, 0xff, width * sizeof(int64_t)); /* -1 */
    for (size_t n; (n = take_lines(p, &w, starts));)
        for (size_t i = 0; i < width;) {
            if (lanes && i + VF <= width && places[i].count == taps &&
                places[i + VF - 1].count == taps) {
                size_t first = starts[0] + places[i].first;
                vi at = most_of_lanes(x + first, taps, step, stride, starts, n, y + i);
                for (size_t l = 0; l < VF; l++, i++) {
                    int64_t found = (int64_t)(first + l * stride) + at[l];
                    memcpy(where + i * sizeof found, &found, sizeof found);
                }
                continue;
            }
            most best = {.value = y[i]};
            memcpy(&best.at, where + i * sizeof best.at, sizeof best.at);
            best = most_of(x, &places[i], step, starts, n, best);
            y[i] = best.value;
            memcpy(where + i++ * sizeof best.at, &best.at, sizeof best.at);
        }
    memcpy((char *)call->out[0]->data + line * width * sizeof *y, y, width * sizeof *y);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const plan *p = call->plan;
    const work *j = user;
    bool places = has_places(call);
    size_t line = index * p->task, end = p->lines - line < p->task ? p->lines : line + p->task;
    fill(scratch, p->room, j->none);
    for (; line < end && !onx_call_stopped(call); line++)
        if (places)
            make_places(call, j, line, scratch);
        else
            make_line(call, j, line, scratch);
    return line < end ? ONX_CANCELLED : ONX_OK;
}

/* The outputs of each axis, as if it were alone. */
static void find_places(const plan *p, place *to) {
    const onx_images *m = &p->images;
    onx_images one = {.window = {.axes = 1}};
    for (size_t i = 0; i < m->window.axes; i++) {
        one.window.kernel[0] = m->window.kernel[i];
        one.window.stride[0] = m->window.stride[i];
        one.window.dilation[0] = m->window.dilation[i];
        one.span[0] = m->span[i];
        one.in[0] = m->in[i];
        one.out[0] = m->out[i];
        for (size_t o = 0; o < m->out[i]; o++) {
            onx_pool_part part = onx_pool_part_of(&one, o);
            to[p->places[i] + o] = (place){part.first[0], part.count[0], part.padded};
        }
    }
}

static onx_status run(onx_call *call, bool max) {
    const plan *p = call->plan;
    const onx_pooling_state *st = call->state;
    size_t last = p->images.window.axes - 1;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    place *places = call->scratch;
    float *counts = (float *)(places + p->count);
    find_places(p, places);
    for (size_t i = 0; i < p->images.out[last]; i++) {
        const place *w = places + p->places[last] + i;
        counts[i] = (float)(st->count_padding ? w->padded : w->count);
    }
    work j = {places, counts, max, max ? -INFINITY : 0};
    return onx_call_parallel(call, (p->lines - 1) / p->task + 1, task, &j);
}

onx_status ONX_TIER(onx_pool_lines_max)(onx_call *call) {
    return run(call, true);
}
onx_status ONX_TIER(onx_pool_lines_average)(onx_call *call) {
    return run(call, false);
}
