/* grad_ref.c: what derivatives need beyond ONNX's operators (pass/grad makes these nodes): plain
 * kernels, in double precision, for any number of dimensions.
 *
 *     SumTo           a tensor summed to the shape of one that broadcasts to it
 *     AddAt           elements added up at given places of a tensor of zeros
 *     ConvGradX       Conv, by its input and by its weights
 *     ConvGradW
 *     AveragePoolGrad
 *
 * Every one of them is linear in what it sums, so that their own derivatives are among these and
 * the operators they come from. */
#include "ops/pool/pool_ref.h"

enum { CHUNK = 64, WORK = 1 << 16 }; /* elements rounded at a time; operations of a task */
enum { BLOCK = 16 };                 /* channels that share what they read */

static bool same_shape(const onx_operand *a, const onx_operand *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* The output is like input `index`; scratch for inputs that must be widened. */
static onx_status bind_like(onx_call *call, size_t index) {
    const onx_operand *like = call->in[index];
    for (size_t i = 0; i < call->n_in; i++)
        if (!onx_wide_bytes(call->in[i], &call->scratch_bytes))
            return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    return onx_call_shape(call, 0, (onx_dtype)like->dtype, like->rank, like->dims);
}

/* One element after the other, each by a function. */
typedef struct job job;
struct job {
    const onx_images *images;
    onx_wide x, w, dy;
    size_t outputs, task;
    double (*at)(const job *j, size_t at);
};

static onx_status job_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const job *j = user;
    double values[CHUNK];
    size_t first = index * j->task;
    size_t last = j->outputs - first < j->task ? j->outputs : first + j->task;
    for (size_t at = first; at < last; at += CHUNK) {
        size_t n = last - at < CHUNK ? last - at : CHUNK;
        for (size_t i = 0; i < n; i++) values[i] = j->at(j, at + i);
        onx_operand_put(call->out[0], at, n, values);
        if (onx_call_stopped(call)) return ONX_CANCELLED;
    }
    return ONX_OK;
}

/* `each`: operations that one element takes. */
static onx_status job_run(onx_call *call, job *j, size_t each) {
    j->outputs = (size_t)call->out[0]->count;
    j->task = WORK / (each ? each : 1) + 1;
    return onx_call_parallel(call, j->outputs / j->task + (j->outputs % j->task != 0), job_task, j);
}

/* ─ SumTo ────────────────────────────────────────────────────────────────────────────────────── */

/* For each dimension of the larger tensor: its size, and how far apart its elements lie in the
 * smaller one (0: they are summed). */
typedef struct sum_plan {
    size_t rank, kept[ONX_RANK_MAX], n_kept, summed[ONX_RANK_MAX], n_summed;
    size_t dims[ONX_RANK_MAX], strides[ONX_RANK_MAX];
    size_t each; /* elements of a sum */
} sum_plan;

static onx_status bind_sum(onx_call *call) {
    const onx_operand *x = call->in[0], *like = call->in[1];
    sum_plan *p = call->plan;
    *p = (sum_plan){.rank = x->rank, .each = 1};
    if (like->rank > x->rank)
        return onx_call_fail(call, ONX_INVALID, "%u dimensions are summed to %u", (unsigned)x->rank,
                             (unsigned)like->rank);
    for (size_t d = x->rank, step = 1; d-- > 0; step *= x->count ? p->dims[d] : 1) {
        size_t lost = x->rank - like->rank;
        int64_t to = d < lost ? 1 : like->dims[d - lost];
        p->dims[d] = (size_t)x->dims[d];
        p->strides[d] = step;
        if (to != x->dims[d] && to != 1)
            return onx_call_fail(call, ONX_INVALID, "a size of %lld cannot be summed to %lld",
                                 (long long)x->dims[d], (long long)to);
        if (to == 1 && x->dims[d] != 1) {
            p->summed[p->n_summed++] = d;
            p->each *= x->count ? p->dims[d] : 1;
        } else {
            p->kept[p->n_kept++] = d;
        }
    }
    return bind_like(call, 1);
}

/* Where index `at` over the listed dimensions, the fastest first, lies in the larger tensor. */
static size_t place(const sum_plan *p, const size_t *dims, size_t n, size_t at) {
    size_t where = 0;
    for (size_t i = 0; i < n; i++) {
        where += at % p->dims[dims[i]] * p->strides[dims[i]];
        at /= p->dims[dims[i]];
    }
    return where;
}

typedef struct sum_job {
    job base;
    const sum_plan *plan;
} sum_job;

static double sum_at(const job *j, size_t at) {
    const sum_plan *p = ((const sum_job *)j)->plan;
    size_t from = place(p, p->kept, p->n_kept, at);
    size_t run = p->n_summed ? p->dims[p->summed[0]] : 1;
    size_t step = p->n_summed ? p->strides[p->summed[0]] : 0;
    double sum = 0;
    for (size_t i = 0; i < p->each; i += run) {
        size_t where = from + place(p, p->summed, p->n_summed, i);
        for (size_t e = 0; e < run; e++) sum += onx_wide_at(j->x, where + e * step);
    }
    return sum;
}

static double zero_at(const job *j, size_t at) {
    (void)j, (void)at;
    return 0;
}

static onx_status run_sum(onx_call *call) {
    char *scratch = call->scratch;
    sum_job j = {.base = {.at = call->in[0]->count ? sum_at : zero_at}, .plan = call->plan};
    j.base.x = onx_wide_of(call->in[0], &scratch);
    return job_run(call, &j.base, j.plan->each);
}

/* ─ AddAt ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status bind_add(onx_call *call) {
    const onx_operand *like = call->in[2];
    if (!same_shape(call->in[0], call->in[1]))
        return onx_call_fail(call, ONX_INVALID, "there must be one index for each element");
    if (!onx_mul_size((size_t)like->count, sizeof(double), &call->scratch_bytes))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    return onx_call_shape(call, 0, (onx_dtype)like->dtype, like->rank, like->dims);
}

/* Several elements may go to one place, and -1 is none: they are added in their order. */
static onx_status run_add(onx_call *call) {
    const onx_operand *x = call->in[0], *out = call->out[0];
    double *sums = call->scratch, values[CHUNK];
    if (out->count) memset(sums, 0, (size_t)out->count * sizeof *sums);
    for (int64_t i = 0; i < x->count; i += CHUNK) {
        size_t n = x->count - i < CHUNK ? (size_t)(x->count - i) : CHUNK;
        onx_operand_get(x, (size_t)i, n, values);
        for (size_t e = 0; e < n; e++) {
            int64_t to = onx_operand_int(call->in[1], i + (int64_t)e);
            if (to >= out->count || to < -1)
                return onx_call_fail(call, ONX_INVALID, "place %lld is not in a tensor of %lld",
                                     (long long)to, (long long)out->count);
            if (to >= 0) sums[to] += values[e];
        }
        if (i % WORK == 0) ONX_TRY(onx_call_check(call));
    }
    if (out->count) onx_operand_put(out, 0, (size_t)out->count, sums);
    return ONX_OK;
}

/* ─ Conv ─────────────────────────────────────────────────────────────────────────────────────── */

/* Inputs are X, W, none, dY. The derivative is like input `index`. */
static onx_status bind_conv(onx_call *call, size_t index) {
    onx_operand y = {0}, *one[] = {&y}, *dy = onx_call_in(call, 3);
    if (onx_call_in(call, 2) || !dy)
        return onx_call_fail(call, ONX_INVALID, "the inputs must be X, W, none and dY");
    onx_call forward = *call;
    forward.out = one;
    forward.n_out = 1;
    ONX_TRY(onx_conv_bind(&forward, call->plan));
    if (!same_shape(&y, dy))
        return onx_call_fail(call, ONX_INVALID, "dY does not have the shape of Y");
    return bind_like(call, index);
}
static onx_status bind_conv_x(onx_call *call) {
    return bind_conv(call, 0);
}
static onx_status bind_conv_w(onx_call *call) {
    const onx_images *m = call->plan;
    ONX_TRY(bind_conv(call, 1));
    if (onx_mul_size(m->ic, (BLOCK + 1) * sizeof(double), &call->scratch_each)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* The output whose window has its tap `tap` on `pixel` of the input; false: there is none. */
static bool output_at(const onx_images *m, size_t pixel, size_t tap, size_t *at) {
    const onx_window *w = &m->window;
    size_t step = 1;
    *at = 0;
    for (size_t i = w->axes; i-- > 0;) {
        size_t k = tap % (size_t)w->kernel[i] * (size_t)w->dilation[i];
        size_t from = pixel % m->in[i] + (size_t)m->span[i].before;
        size_t position = (from - k) / (size_t)w->stride[i];
        if (from < k || (from - k) % (size_t)w->stride[i] || position >= m->out[i]) return false;
        *at += position * step;
        step *= m->out[i];
        pixel /= m->in[i];
        tap /= (size_t)w->kernel[i];
    }
    return true;
}

/* Element `at` of X: [batch][groups*ic][pixels]. */
static double conv_x_at(const job *j, size_t at) {
    const onx_images *m = j->images;
    size_t pixel = at % m->in_pixels, channel = at / m->in_pixels % (m->groups * m->ic);
    size_t image = at / m->in_pixels / (m->groups * m->ic), group = channel / m->ic, out;
    size_t dy = (image * m->groups + group) * m->oc * m->out_pixels;
    size_t w = (group * m->oc * m->ic + channel % m->ic) * m->taps;
    double sum = 0;
    for (size_t tap = 0; tap < m->taps; tap++)
        if (output_at(m, pixel, tap, &out))
            for (size_t o = 0; o < m->oc; o++)
                sum += onx_wide_at(j->dy, dy + o * m->out_pixels + out) *
                       onx_wide_at(j->w, w + o * m->ic * m->taps + tap);
    return sum;
}

/* By the weights: a task is one tap of some channels of a group, for all that they see through it.
 * `sums` has a row of `ic` for each of the channels. */
static size_t blocks_of(const onx_images *m) {
    return m->oc / BLOCK + (m->oc % BLOCK != 0);
}

static void add_pixel(const job *j, size_t image, size_t channel, size_t n, size_t out, size_t in,
                      double *row, double *sums) {
    const onx_images *m = j->images;
    size_t x = (image * m->groups + channel / m->oc) * m->ic * m->in_pixels + in;
    size_t dy = (image * m->groups * m->oc + channel) * m->out_pixels + out;
    for (size_t c = 0; c < m->ic; c++) row[c] = onx_wide_at(j->x, x + c * m->in_pixels);
    for (size_t o = 0; o < n; o++) {
        double g = onx_wide_at(j->dy, dy + o * m->out_pixels);
        for (size_t c = 0; c < m->ic; c++) sums[o * m->ic + c] += g * row[c];
    }
}

static onx_status conv_w_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_images *m = j->images;
    size_t tap = index % m->taps, block = index / m->taps % blocks_of(m), in;
    size_t channel = index / m->taps / blocks_of(m) * m->oc + block * BLOCK;
    size_t n = m->oc - block * BLOCK < BLOCK ? m->oc - block * BLOCK : BLOCK;
    double *row = scratch, *sums = row + m->ic;
    memset(sums, 0, n * m->ic * sizeof *sums);
    for (size_t image = 0; image < m->batch; image++) {
        for (size_t out = 0; out < m->out_pixels; out++)
            if (onx_images_at(m, out, tap, &in))
                add_pixel(j, image, channel, n, out, in, row, sums);
        if (onx_call_stopped(call)) return ONX_CANCELLED;
    }
    for (size_t i = 0; i < n * m->ic; i++)
        onx_operand_put(call->out[0], (channel * m->ic + i) * m->taps + tap, 1, &sums[i]);
    return ONX_OK;
}

static job conv_job(onx_call *call) {
    char *scratch = call->scratch;
    job j = {.images = call->plan};
    j.x = onx_wide_of(call->in[0], &scratch);
    j.w = onx_wide_of(call->in[1], &scratch);
    j.dy = onx_wide_of(call->in[3], &scratch);
    return j;
}
static onx_status run_conv_x(onx_call *call) {
    const onx_images *m = call->plan;
    job j = conv_job(call);
    j.at = conv_x_at;
    return job_run(call, &j, m->oc * m->taps);
}
static onx_status run_conv_w(onx_call *call) {
    const onx_images *m = call->plan;
    job j = conv_job(call);
    if (!call->out[0]->count) return ONX_OK;
    return onx_call_parallel(call, m->groups * blocks_of(m) * m->taps, conv_w_task, &j);
}

/* ─ AveragePool ──────────────────────────────────────────────────────────────────────────────── */

/* Inputs are X and dY. */
static onx_status bind_pool(onx_call *call) {
    onx_operand y = {0}, *one[] = {&y};
    onx_images *images = call->plan;
    onx_call forward = *call;
    forward.out = one;
    forward.n_out = 1;
    ONX_TRY(onx_pooling_bind(&forward, images));
    if (!same_shape(&y, call->in[1]))
        return onx_call_fail(call, ONX_INVALID, "dY does not have the shape of Y");
    if (!onx_mul_size(images->in_pixels, sizeof(double), &call->scratch_each))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    return bind_like(call, 0);
}

static onx_status pool_task(void *user, onx_call *call, size_t plane, void *scratch) {
    const job *j = user;
    const onx_pooling_state *st = call->state;
    const onx_images *m = j->images;
    double *sums = scratch;
    memset(sums, 0, m->in_pixels * sizeof *sums);
    for (size_t pixel = 0; pixel < m->out_pixels; pixel++) {
        const onx_pool_part p = onx_pool_part_of(m, pixel);
        double dy = onx_wide_at(j->dy, plane * m->out_pixels + pixel);
        dy /= (double)(st->count_padding ? p.padded : p.taps);
        for (size_t tap = 0; tap < p.taps; tap++) sums[onx_pool_part_at(m, &p, tap)] += dy;
        if (onx_call_stopped(call)) return ONX_CANCELLED;
    }
    onx_operand_put(call->out[0], plane * m->in_pixels, m->in_pixels, sums);
    return ONX_OK;
}

static onx_status run_pool(onx_call *call) {
    const onx_images *m = call->plan;
    char *scratch = call->scratch;
    job j = {.images = m, .dy = onx_wide_of(call->in[1], &scratch)};
    if (!call->out[0]->count) return ONX_OK;
    return onx_call_parallel(call, m->batch * m->groups, pool_task, &j);
}

#define ROW(op_, name_, second_, third_, plan_, init_, bind_, run_)                                \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T_FLOATS, second_, third_, ONX_T_FLOATS},             \
        .name = name_, .plan_bytes = plan_, .domain = "onx.internal", .init = init_,               \
        .bind = bind_, .run = run_                                                                 \
    }

extern onx_kernel_rows onx_kernels_grad_ref;
onx_kernel_rows onx_kernels_grad_ref = {
    ROW("AddAt", "add_at", ONX_T(I64), ONX_T_FLOATS, 0, NULL, bind_add, run_add),
    ROW("AveragePoolGrad", "average_pool_grad", ONX_T_FLOATS, 0, sizeof(onx_images),
        onx_pooling_init, bind_pool, run_pool),
    ROW("ConvGradW", "conv_grad_w", ONX_T_FLOATS, 0, sizeof(onx_images), onx_conv_init, bind_conv_w,
        run_conv_w),
    ROW("ConvGradX", "conv_grad_x", ONX_T_FLOATS, 0, sizeof(onx_images), onx_conv_init, bind_conv_x,
        run_conv_x),
    ROW("SumTo", "sum_to", ONX_T_FLOATS, 0, sizeof(sum_plan), NULL, bind_sum, run_sum),
    {0},
};
