/* roi_align_simd.h: RoiAlign of floats, averages: the image is turned so that its channels lie
 * together, and VF of them are sampled at once. Where that is more work than the regions are, and
 * for maxima, the plain kernel runs. For detect_simd.c. */
#ifndef ONX_ROI_ALIGN_SIMD_H
#define ONX_ROI_ALIGN_SIMD_H

#include "cpu/vec.h"
#include "ops/detect/roi_align_ref.h"

enum { ROI_CHANNELS = 64 }; /* of a task */

static onx_status roi_align_init(onx_call *call) {
    ONX_TRY(onx_roi_align_init(call));
    return ((const onx_align_state *)call->state)->max ? ONX_UNSUPPORTED : ONX_OK;
}

/* Is the image, turned, paid for by the regions? */
static bool roi_turns(const onx_call *call) {
    const onx_align_state *state = call->state;
    const onx_operand *x = call->in[0];
    double bins = (double)call->in[1]->dims[0] * (double)state->height * (double)state->width;
    return bins * 16 >= (double)x->dims[0] * (double)x->dims[2] * (double)x->dims[3];
}

static onx_status roi_align_bind(onx_call *call) {
    const onx_align_state *state = call->state;
    size_t sums;
    ONX_TRY(onx_roi_align_bind(call));
    if (!call->out[0] || !call->out[0]->count || !roi_turns(call)) return ONX_OK;
    if (onx_mul_size((size_t)state->height, (size_t)state->width, &sums) &&
        onx_mul_size(sums, ROI_CHANNELS * sizeof(float), &sums) &&
        onx_add_size(call->scratch_each, sums, &call->scratch_each) &&
        onx_add_size(call->scratch_bytes, call->in[0]->bytes, &call->scratch_bytes))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* One row of one image: [channels][width] to [width][channels]. */
static onx_status roi_turn(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_align_plan *plan = call->plan;
    float *to = (float *)user + index * plan->width * plan->channels;
    size_t image = index / plan->height * plan->channels, row = index % plan->height;
    (void)scratch;
    for (size_t first = 0; first < plan->channels; first += VF)
        for (size_t c = first; c < plan->channels && c < first + VF; c++) {
            const char *from = (const char *)call->in[0]->data +
                               ((image + c) * plan->height + row) * plan->width * sizeof(float);
            for (size_t i = 0; i < plan->width; i++)
                memcpy(to + i * plan->channels + c, from + i * sizeof(float), sizeof(float));
        }
    return ONX_OK;
}

typedef struct roi_job {
    onx_align_job base;
    const float *turned; /* [image][height][width][channels] */
} roi_job;

/* sum[0 … n-1] += what a point sees in channels. */
static void roi_add(float *sum, const float *const at[4], const float weight[4], size_t n) {
    vf w[4];
    for (size_t k = 0; k < 4; k++) w[k] = vf_set(weight[k]);
    size_t c = 0;
    for (; c + VF <= n; c += VF) {
        vf s = vf_load(sum + c);
        for (size_t k = 0; k < 4; k++) s = vf_fma(w[k], vf_load(at[k] + c), s);
        vf_store(sum + c, s);
    }
    if (c == n) return;
    vf s = vf_load_n(sum + c, n - c);
    for (size_t k = 0; k < 4; k++) s = vf_fma(w[k], vf_load_n(at[k] + c, n - c), s);
    vf_store_n(sum + c, s, n - c);
}

/* The sums of one bin over `n` channels of an image. */
static void roi_bin(const roi_job *j, const float *image, size_t n, const onx_align_axis *y,
                    const onx_align_axis *x, size_t row, size_t col, float *sum) {
    const onx_align_plan *plan = j->base.plan;
    onx_align_bin by = y->bins[row], bx = x->bins[col];
    double count = y->grid * x->grid, share = 1 / (count > 1 ? count : 1);
    memset(sum, 0, n * sizeof *sum);
    for (size_t i = by.first; i < by.first + by.n; i++)
        for (size_t k = bx.first; k < bx.first + bx.n; k++) {
            const onx_align_point *a = &y->points[i], *b = &x->points[k];
            const float *low = image + a->low * plan->width * plan->channels;
            const float *high = image + a->high * plan->width * plan->channels;
            const float *const at[4] = {
                low + b->low * plan->channels, low + b->high * plan->channels,
                high + b->low * plan->channels, high + b->high * plan->channels};
            const float weight[4] = {
                (float)(a->to_low * b->to_low * share), (float)(a->to_low * b->to_high * share),
                (float)(a->to_high * b->to_low * share), (float)(a->to_high * b->to_high * share)};
            roi_add(sum, at, weight, n);
        }
}

static onx_status roi_task(void *user, onx_call *call, size_t index, void *scratch) {
    const roi_job *j = user;
    const onx_align_plan *plan = j->base.plan;
    size_t h = (size_t)j->base.state->height, w = (size_t)j->base.state->width;
    size_t roi = index / j->base.blocks, first = index % j->base.blocks * ROI_CHANNELS;
    size_t n = plan->channels - first < ROI_CHANNELS ? plan->channels - first : ROI_CHANNELS;
    size_t image = (size_t)onx_operand_int(call->in[2], (int64_t)roi);
    const float *from = j->turned + image * plan->height * plan->width * plan->channels + first;
    char *to = (char *)call->out[0]->data + (roi * plan->channels + first) * h * w * sizeof(float);
    float *sums = scratch;
    onx_align_axis y, x;
    onx_roi_align_axes(&j->base, roi, sums + h * w * ROI_CHANNELS, &y, &x);
    for (size_t i = 0; i < h * w; i++) {
        if (i % w == 0 && onx_call_stopped(call)) return ONX_CANCELLED;
        roi_bin(j, from, n, &y, &x, i / w, i % w, sums + i * ROI_CHANNELS);
    }
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < h * w; i++)
            memcpy(to + (c * h * w + i) * sizeof(float), sums + i * ROI_CHANNELS + c,
                   sizeof(float));
    return ONX_OK;
}

static onx_status roi_align_run(onx_call *call) {
    roi_job j;
    if (!call->out[0] || !call->out[0]->count || !roi_turns(call)) return onx_roi_align_run(call);
    ONX_TRY(onx_roi_align_begin(call, &j.base));
    const onx_align_plan *plan = j.base.plan;
    float *turned = call->scratch; /* floats are not widened: nothing else is there */
    j.base.blocks = (plan->channels + ROI_CHANNELS - 1) / ROI_CHANNELS;
    j.turned = turned;
    ONX_TRY(onx_call_parallel(call, (size_t)call->in[0]->dims[0] * plan->height, roi_turn, turned));
    return onx_call_parallel(call, (size_t)call->in[1]->dims[0] * j.base.blocks, roi_task, &j);
}

#endif
