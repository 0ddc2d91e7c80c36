/* pool_ref.c: pooling: plain loops, for any number of dimensions. NaN wins every maximum; that of
 * nothing is -inf (integers: the lowest) with index -1; the average and the norm of nothing are 0.
 * Norms do not overflow on the way. */
#include "ops/pool/pool_ref.h"
#include "ops/pool/unpool_ref.h"

#include <math.h>

/* ── Sizes ── */

onx_status onx_pooling_init(onx_call *call) {
    if (call->n_in < 1 || !call->in[0]) return onx_call_fail(call, ONX_INVALID, "X is missing");
    onx_pooling_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->count_padding = onx_call_int(call, "count_include_pad") != 0;
    state->columns = onx_call_int(call, "storage_order") != 0;
    ONX_TRY(onx_window_read(call->op, call->node, &state->window, call->diag));
    if (!state->window.sized)
        return onx_call_fail(call, ONX_INVALID, "attribute kernel_shape is missing");
    return ONX_OK;
}

onx_status onx_pooling_bind(onx_call *call, onx_images *out) {
    const onx_pooling_state *state = call->state;
    const onx_operand *x = call->in[0];
    int64_t dims[ONX_RANK_MAX];
    *out = (onx_images){.window = state->window, .ic = 1, .oc = 1};
    ONX_TRY(onx_window_fit(&out->window, x->rank, call->diag));
    ONX_TRY(onx_images_place(call, out, dims));
    out->batch = (size_t)(dims[0] = x->dims[0]);
    out->groups = (size_t)(dims[1] = x->dims[1]);
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank, dims));
    return onx_call_shape(call, 1, ONX_DTYPE_I64, x->rank, dims);
}

onx_status onx_global_bind(onx_call *call) {
    const onx_operand *x = call->n_in ? call->in[0] : NULL;
    int64_t dims[ONX_RANK_MAX];
    if (!x) return onx_call_fail(call, ONX_INVALID, "X is missing");
    if (x->rank < 2)
        return onx_call_fail(call, ONX_INVALID,
                             "the input has %d dimensions; it needs batch and channels",
                             (int)x->rank);
    for (size_t i = 0; i < x->rank; i++) dims[i] = i < 2 ? x->dims[i] : 1;
    return onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank, dims);
}

onx_planes onx_planes_of(const onx_operand *x) {
    onx_planes p = {(size_t)(x->dims[0] * x->dims[1]), 0}; /* the output has as many elements */
    if (x->count) p.pixels = (size_t)x->count / p.count;
    return p;
}

/* ── One output ── */

typedef struct job job;
typedef struct found {
    double value;
    int64_t index; /* in all of X */
} found;
struct job {
    const onx_images *images;
    const onx_pooling_state *state;
    onx_wide x;
    size_t outputs, task;
    found (*at)(const job *j, size_t at);
};

/* How many of n taps, d apart from `from` on, lie before `end`. */
static size_t taps_before(size_t from, size_t n, size_t d, size_t end) {
    size_t most = from < end ? end - from : 0;
    if (d > 1) most = (most + d - 1) / d;
    return most < n ? most : n;
}

onx_pool_part onx_pool_part_of(const onx_images *m, size_t pixel) {
    onx_pool_part p; /* of as many axes as there are */
    p.taps = p.padded = 1;
    for (size_t i = m->window.axes; i-- > 0; pixel /= m->out[i]) {
        size_t n = (size_t)m->window.kernel[i], d = (size_t)m->window.dilation[i];
        size_t from = pixel % m->out[i] * (size_t)m->window.stride[i];
        size_t before = (size_t)m->span[i].before, end = before + m->in[i];
        size_t outside = taps_before(from, n, d, before);
        p.first[i] = from + outside * d - before;
        p.count[i] = taps_before(from, n, d, end) - outside;
        p.taps *= p.count[i];
        p.padded *= taps_before(from, n, d, end + (size_t)m->span[i].after);
    }
    return p;
}

size_t onx_pool_part_at(const onx_images *m, const onx_pool_part *p, size_t tap) {
    size_t at = 0, step = 1;
    for (size_t i = m->window.axes; i-- > 0; tap /= p->count[i]) {
        at += (p->first[i] + tap % p->count[i] * (size_t)m->window.dilation[i]) * step;
        step *= m->in[i];
    }
    return at;
}

/* Every tap of a part, number `tap`, at `in`: lines along the last axis. */
#define EACH_TAP(m, p, tap, in)                                                                    \
    for (size_t tap = 0, last_ = (m)->window.axes - 1, line_ = 0; tap < (p)->taps; line_ = tap)    \
        for (size_t in = onx_pool_part_at(m, p, tap); tap < line_ + (p)->count[last_];             \
             tap++, in += (size_t)(m)->window.dilation[last_])

/* Position `at` in a plane, counted with the first dimension as the fastest. */
static size_t by_columns(const onx_images *m, size_t at) {
    size_t index = 0;
    for (size_t i = m->window.axes; i-- > 0;) {
        index = index * m->in[i] + at % m->in[i];
        at /= m->in[i];
    }
    return index;
}

static found max_at(const job *j, size_t at) {
    const onx_images *m = j->images;
    const onx_pool_part p = onx_pool_part_of(m, at % m->out_pixels);
    size_t plane = at / m->out_pixels * m->in_pixels, best = 0;
    found f = {-INFINITY, -1};
    EACH_TAP(m, &p, tap, in) {
        double v = onx_wide_at(j->x, plane + in);
        if (tap && !(v > f.value) && (!isnan(v) || isnan(f.value))) continue;
        f.value = v;
        best = in;
    }
    if (p.taps) f.index = (int64_t)(plane + (j->state->columns ? by_columns(m, best) : best));
    return f;
}

static found average_at(const job *j, size_t at) {
    const onx_images *m = j->images;
    const onx_pool_part p = onx_pool_part_of(m, at % m->out_pixels);
    size_t plane = at / m->out_pixels * m->in_pixels;
    size_t n = j->state->count_padding ? p.padded : p.taps;
    double sum = 0;
    EACH_TAP(m, &p, tap, in) sum += onx_wide_at(j->x, plane + in);
    return (found){n ? sum / (double)n : 0, -1};
}

/* A norm as it grows: most * sum^(1/p), where `most` is the largest |x| so far. */
typedef struct norm {
    double most, sum;
} norm;

static double power(double x, double p) {
    return p == 2 ? x * x : p == 1 ? x : pow(x, p);
}
static void norm_add(norm *n, double x, double p) {
    x = fabs(x);
    if (x > n->most) {
        n->sum = n->sum * power(n->most / x, p) + 1;
        n->most = x;
    } else {
        n->sum += x == n->most ? 1 : power(x / n->most, p);
    }
}
static double norm_end(const norm *n, double p) {
    return n->most == 0 && !isnan(n->sum) ? 0 : n->most * pow(n->sum, 1 / p);
}

static found norm_at(const job *j, size_t at) {
    const onx_images *m = j->images;
    const onx_pool_part p = onx_pool_part_of(m, at % m->out_pixels);
    size_t plane = at / m->out_pixels * m->in_pixels;
    norm n = {0, 0};
    EACH_TAP(m, &p, tap, in) norm_add(&n, onx_wide_at(j->x, plane + in), j->state->p);
    return (found){norm_end(&n, j->state->p), -1};
}

/* ── All outputs ── */

enum { CHUNK = 64 };

static onx_status pool_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    onx_operand *y = call->out[0], *where = call->n_out > 1 ? call->out[1] : NULL;
    size_t first = index * j->task;
    size_t last = j->outputs - first < j->task ? j->outputs : first + j->task;
    double values[CHUNK];
    for (size_t at = first; at < last; at += CHUNK) {
        size_t n = last - at < CHUNK ? last - at : CHUNK;
        for (size_t i = 0; i < n; i++) {
            found f = j->at(j, at + i);
            values[i] = f.value;
            if (where) memcpy((char *)where->data + (at + i) * sizeof f.index, &f.index, 8);
        }
        if (y) onx_operand_put(y, at, n, values);
    }
    (void)scratch;
    return ONX_OK;
}

static onx_status bind_pool(onx_call *call) {
    ONX_TRY(onx_pooling_bind(call, call->plan));
    if (onx_wide_bytes(call->in[0], &call->scratch_bytes)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

static onx_status run_pool(onx_call *call, found (*at)(const job *j, size_t at)) {
    const onx_images *m = call->plan;
    char *scratch = call->scratch;
    job j = {.images = m, .state = call->state, .at = at};
    j.outputs = m->out_pixels ? m->batch * m->groups * m->out_pixels : 0;
    j.x = onx_wide_of(call->in[0], &scratch);
    j.task = ((size_t)1 << 15) / m->taps + 1;
    return onx_call_parallel(call, j.outputs / j.task + (j.outputs % j.task != 0), pool_task, &j);
}
static onx_status run_max(onx_call *call) {
    return run_pool(call, max_at);
}
static onx_status run_average(onx_call *call) {
    return run_pool(call, average_at);
}

static onx_status run_norm(onx_call *call) {
    return run_pool(call, norm_at);
}

static onx_status read_p(onx_call *call) {
    onx_pooling_state *state = call->state;
    state->p =
        call->op->since > 1 ? (double)onx_call_int(call, "p") : (double)onx_call_float(call, "p");
    if (state->p > 0 && isfinite(state->p)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "attribute p is %g: it must be positive", state->p);
}
static onx_status init_norm(onx_call *call) {
    ONX_TRY(onx_pooling_init(call));
    return read_p(call);
}

/* ── Global ── */

static onx_status init_global_norm(onx_call *call) {
    if (!onx_call_state(call, sizeof(onx_pooling_state))) return onx_fail_nomem(call->diag);
    return read_p(call);
}

static onx_status bind_global(onx_call *call) {
    ONX_TRY(onx_global_bind(call));
    if (onx_wide_bytes(call->in[0], &call->scratch_bytes)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* n pixels of one plane, from `first` on. */
typedef double plane_fn(const onx_call *call, onx_wide x, size_t first, size_t n);

static double plane_max(const onx_call *call, onx_wide x, size_t first, size_t n) {
    double most = -INFINITY;
    (void)call;
    for (size_t i = first; i < first + n; i++) {
        double v = onx_wide_at(x, i);
        if (v > most || isnan(v)) most = v;
    }
    return most;
}
static double plane_average(const onx_call *call, onx_wide x, size_t first, size_t n) {
    double sum = 0;
    (void)call;
    for (size_t i = first; i < first + n; i++) sum += onx_wide_at(x, i);
    return sum / (double)n;
}
static double plane_norm(const onx_call *call, onx_wide x, size_t first, size_t n) {
    double p = ((const onx_pooling_state *)call->state)->p;
    norm all = {0, 0};
    for (size_t i = first; i < first + n; i++) norm_add(&all, onx_wide_at(x, i), p);
    return norm_end(&all, p);
}

static onx_status run_global(onx_call *call, plane_fn *of) {
    char *scratch = call->scratch;
    onx_operand *y = call->out[0];
    onx_wide x = onx_wide_of(call->in[0], &scratch);
    onx_planes p = onx_planes_of(call->in[0]);
    for (size_t i = 0; y && i < p.count; i++) {
        ONX_TRY(onx_call_check(call));
        double v = of(call, x, i * p.pixels, p.pixels);
        onx_operand_put(y, i, 1, &v);
    }
    return ONX_OK;
}
static onx_status run_global_max(onx_call *call) {
    return run_global(call, plane_max);
}
static onx_status run_global_average(onx_call *call) {
    return run_global(call, plane_average);
}
static onx_status run_global_norm(onx_call *call) {
    return run_global(call, plane_norm);
}

#define WINDOW .plan_bytes = sizeof(onx_images), .init = onx_pooling_init, .bind = bind_pool
#define BYTES (ONX_T(I8) | ONX_T(U8))
extern onx_kernel_rows onx_kernels_pool_ref;
onx_kernel_rows onx_kernels_pool_ref = {
    {.op = "MaxPool",
     .first = 1,
     .types = {ONX_T_FLOATS | BYTES},
     .name = "max_pool",
     WINDOW,
     .run = run_max},
    {.op = "AveragePool",
     .first = 1,
     .types = {ONX_T_FLOATS},
     .name = "average_pool",
     WINDOW,
     .run = run_average},
    {.op = "LpPool",
     .first = 1,
     .types = {ONX_T_FLOATS},
     .name = "lp_pool",
     .plan_bytes = sizeof(onx_images),
     .init = init_norm,
     .bind = bind_pool,
     .run = run_norm},
    {.op = "GlobalMaxPool",
     .first = 1,
     .types = {ONX_T_FLOATS},
     .name = "global_max_pool",
     .bind = bind_global,
     .run = run_global_max},
    {.op = "GlobalAveragePool",
     .first = 1,
     .types = {ONX_T_FLOATS},
     .name = "global_average_pool",
     .bind = bind_global,
     .run = run_global_average},
    {.op = "GlobalLpPool",
     .first = 1,
     .types = {ONX_T_FLOATS},
     .name = "global_lp_pool",
     .init = init_global_norm,
     .bind = bind_global,
     .run = run_global_norm},
    {.op = "QLinearAveragePool",
     .first = 1,
     .types = {BYTES, ONX_T(F32), BYTES, ONX_T(F32), BYTES},
     .name = "qlinear_average_pool",
     .domain = "com.microsoft",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qpool_init,
     .bind = onx_qpool_bind,
     .run = onx_qpool_run},
    {.op = "QLinearGlobalAveragePool",
     .first = 1,
     .types = {BYTES, ONX_T(F32), BYTES, ONX_T(F32), BYTES},
     .name = "qlinear_global_average_pool",
     .domain = "com.microsoft",
     .init = onx_qglobal_init,
     .bind = onx_qglobal_bind,
     .run = onx_qglobal_run},
    {.op = "MaxUnpool",
     .first = 9,
     .types = {ONX_T_FLOATS, ONX_T(I64), ONX_T(I64)},
     .name = "max_unpool",
     .host = 4,
     .init = onx_unpool_init,
     .bind = onx_unpool_bind,
     .run = onx_unpool_run},
    {.op = "MaxRoiPool",
     .first = 1,
     .types = {ONX_T_FLOATS, ONX_T_FLOATS},
     .name = "max_roi_pool",
     .init = onx_roi_pool_init,
     .bind = onx_roi_pool_bind,
     .run = onx_roi_pool_run},
    {0},
};
