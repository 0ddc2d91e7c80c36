/* deform_conv_ref.c: DeformConv: a convolution whose taps lie where offsets say, for any number of
 * dimensions. Between elements they are read linearly; what is outside the image, or nowhere, is 0.
 * For a block of output pixels all taps are read once, then every output channel is their product
 * with its weights, in double. */
#include "ops/spread/spread_ref.h"

#include <math.h>

enum { BLOCK = 16 }; /* output pixels */

typedef struct job {
    const onx_deform_plan *plan;
    onx_wide x, w, offset, b, mask;
    size_t blocks; /* of an image */
} job;

onx_status onx_deform_conv_init(onx_call *call) {
    ONX_TRY(onx_conv_init(call));
    onx_deform_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->conv = *(const onx_conv_state *)call->state;
    state->conv.bias = 3;
    call->state = state;
    call->plan_bytes = sizeof(onx_deform_plan);
    state->offset_groups = onx_call_int(call, "offset_group");
    if (state->offset_groups >= 1) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "offset_group is %lld",
                         (long long)state->offset_groups);
}

/* ── Sizes ── */

/* offset or mask: [batch, offset_group * (elements of the kernel) * each, sizes of the output…]. */
static onx_status check_offsets(const onx_call *call, size_t index, size_t each) {
    const onx_deform_plan *plan = call->plan;
    const onx_operand *o = onx_call_in(call, index);
    const char *name = index == 2 ? "offset" : "mask";
    size_t channels;
    if (!o) return ONX_OK;
    if (!onx_mul_size(plan->images.taps, plan->offset_groups, &channels) ||
        !onx_mul_size(channels, each, &channels) || channels > INT64_MAX)
        return onx_call_fail(call, ONX_LIMIT, "%s has too many channels to count", name);
    bool fits = o->rank == plan->images.window.axes + 2 && o->dims[0] == call->in[0]->dims[0] &&
                o->dims[1] == (int64_t)channels;
    for (size_t i = 0; fits && i < plan->images.window.axes; i++)
        fits = o->dims[i + 2] == (int64_t)plan->images.out[i];
    if (fits) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "%s must have the batch, %zu channels, and the sizes of the output", name,
                         channels);
}

onx_status onx_deform_conv_bind(onx_call *call) {
    const onx_deform_state *state = call->state;
    onx_deform_plan *plan = call->plan;
    bool counted = true;
    ONX_TRY(onx_conv_bind(call, &plan->images));
    plan->offset_groups = (size_t)state->offset_groups;
    if (call->in[0]->dims[1] % state->offset_groups)
        return onx_call_fail(call, ONX_INVALID,
                             "the input has %lld channels, which are not %lld equal groups",
                             (long long)call->in[0]->dims[1], (long long)state->offset_groups);
    ONX_TRY(check_offsets(call, 2, plan->images.window.axes));
    ONX_TRY(check_offsets(call, 4, 1));
    for (size_t i = 0; i < call->n_in; i++)
        counted = counted && onx_wide_bytes(call->in[i], &call->scratch_bytes);
    counted = counted &&
              onx_mul_size((size_t)call->in[0]->dims[1], plan->images.taps, &plan->products) &&
              onx_mul_size(plan->products, BLOCK * sizeof(double), &call->scratch_each);
    return counted ? ONX_OK : onx_call_fail(call, ONX_LIMIT, "the scratch memory is too large");
}

/* ── Taps ── */

/* A place in the image, and how far it is from the element before, along each axis. */
typedef struct place {
    int64_t at[ONX_RANK_MAX];
    double part[ONX_RANK_MAX];
} place;

/* Where tap `tap` of an offset group lies for a pixel. False: where all is 0. */
static bool locate(const job *j, size_t image, size_t group, size_t tap, size_t pixel, place *out) {
    const onx_images *m = &j->plan->images;
    const onx_window *w = &m->window;
    size_t first = ((image * j->plan->offset_groups + group) * m->taps + tap) * w->axes;
    size_t o = pixel, k = tap;
    for (size_t i = w->axes; i-- > 0; o /= m->out[i], k /= (size_t)w->kernel[i]) {
        size_t window = o % m->out[i] * (size_t)w->stride[i];
        size_t inside = k % (size_t)w->kernel[i] * (size_t)w->dilation[i];
        double at = (double)window + (double)inside - (double)m->span[i].before +
                    onx_wide_at(j->offset, (first + i) * m->out_pixels + pixel);
        if (!(at > -1 && at < (double)m->in[i])) return false;
        out->at[i] = (int64_t)floor(at);
        out->part[i] = at - floor(at);
    }
    return true;
}

/* Corner `corner` of the cell a place lies in: its weight, 0 outside the image. */
static double corner_of(const onx_images *m, const place *p, size_t corner, size_t *at) {
    double weight = 1;
    size_t step = 1;
    *at = 0;
    for (size_t i = m->window.axes; i-- > 0; corner >>= 1) {
        int64_t element = p->at[i] + (int64_t)(corner & 1);
        weight *= corner & 1 ? p->part[i] : 1 - p->part[i];
        if (weight == 0 || element < 0 || element >= (int64_t)m->in[i]) return 0;
        *at += (size_t)element * step;
        step *= m->in[i];
    }
    return weight;
}

/* What a pixel sees: [channels][taps]. */
static void see(const job *j, size_t image, size_t pixel, double *seen) {
    const onx_images *m = &j->plan->images;
    size_t groups = j->plan->offset_groups, channels = m->groups * m->ic, each = channels / groups;
    place p;
    for (size_t i = 0; i < j->plan->products; i++) seen[i] = 0;
    for (size_t group = 0; group < groups; group++)
        for (size_t tap = 0; tap < m->taps; tap++) {
            size_t mask = ((image * groups + group) * m->taps + tap) * m->out_pixels + pixel, at;
            if (!locate(j, image, group, tap, pixel, &p)) continue;
            double scale = j->mask.data ? onx_wide_at(j->mask, mask) : 1;
            for (size_t corner = 0; corner < (size_t)1 << m->window.axes; corner++) {
                double weight = scale * corner_of(m, &p, corner, &at);
                if (weight == 0) continue;
                for (size_t c = group * each; c < (group + 1) * each; c++)
                    seen[c * m->taps + tap] +=
                        weight * onx_wide_at(j->x, (image * channels + c) * m->in_pixels + at);
            }
        }
}

/* ── Pixels ── */

static double dot(const job *j, size_t channel, const double *seen) {
    const onx_images *m = &j->plan->images;
    size_t n = m->ic * m->taps;
    double sum = j->b.data ? onx_wide_at(j->b, channel) : 0;
    seen += channel / m->oc * n;
    for (size_t i = 0; i < n; i++) sum += seen[i] * onx_wide_at(j->w, channel * n + i);
    return sum;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_images *m = &j->plan->images;
    onx_operand *y = call->out[0];
    size_t image = index / j->blocks, first = index % j->blocks * BLOCK;
    size_t n = m->out_pixels - first < BLOCK ? m->out_pixels - first : BLOCK;
    size_t channels = m->groups * m->oc, size = onx_dtype_bits((onx_dtype)y->dtype) / 8;
    double *seen = scratch, values[BLOCK];
    for (size_t i = 0; i < n; i++) see(j, image, first + i, seen + i * j->plan->products);
    for (size_t c = 0; c < channels; c++) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        for (size_t i = 0; i < n; i++) values[i] = dot(j, c, seen + i * j->plan->products);
        (void)onx_dtype_convert(
            ONX_DTYPE_F64, values, (onx_dtype)y->dtype,
            (char *)y->data + ((image * channels + c) * m->out_pixels + first) * size, n, false);
    }
    return ONX_OK;
}

onx_status onx_deform_conv_run(onx_call *call) {
    const onx_deform_plan *plan = call->plan;
    char *scratch = call->scratch;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    job j = {.plan = plan, .blocks = (plan->images.out_pixels + BLOCK - 1) / BLOCK};
    onx_wide *const all[] = {&j.x, &j.w, &j.offset, &j.b, &j.mask};
    for (size_t i = 0; i < ONX_COUNT(all); i++)
        *all[i] = onx_wide_of(onx_call_in(call, i), &scratch);
    return onx_call_parallel(call, plan->images.batch * j.blocks, task, &j);
}
