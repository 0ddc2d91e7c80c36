/* roi_align_ref.c: RoiAlign: the average or maximum of points in the bins of a region, each point
 * read between four pixels. Sums are made in double; where the regions lie is computed in the
 * precision of their type, for the number of points jumps with it. Points outside the image count
 * as 0 and cost nothing, so a region may be far larger than the image. */
#include "ops/detect/roi_align_ref.h"

#include <math.h>

enum { CHANNELS = 32, RATIO_MAX = 1024 };

typedef onx_align_state align_state;
typedef onx_align_plan align_plan;
typedef onx_align_point point;
typedef onx_align_bin bin;
typedef onx_align_axis axis;
typedef onx_align_job job;

onx_status onx_roi_align_init(onx_call *call) {
    align_state *state = onx_call_state(call, sizeof *state);
    onx_str mode = onx_call_string(call, "mode");
    onx_str coords = onx_call_string(call, "coordinate_transformation_mode");
    if (!state) return onx_fail_nomem(call->diag);
    call->plan_bytes = sizeof(align_plan);
    state->max = onx_str_is(mode, "max");
    state->half_pixel = onx_str_is(coords, "half_pixel");
    state->height = onx_call_int(call, "output_height");
    state->width = onx_call_int(call, "output_width");
    state->ratio = onx_call_int(call, "sampling_ratio");
    state->scale = (double)onx_call_float(call, "spatial_scale");
    if (!state->max && !onx_str_is(mode, "avg"))
        return onx_call_fail(call, ONX_INVALID, "attribute mode is '%.*s': it must be avg or max",
                             ONX_FMT(mode));
    if (coords.size && !state->half_pixel && !onx_str_is(coords, "output_half_pixel"))
        return onx_call_fail(call, ONX_INVALID,
                             "attribute coordinate_transformation_mode is '%.*s': it must be "
                             "half_pixel or output_half_pixel",
                             ONX_FMT(coords));
    if (state->height < 1 || state->width < 1)
        return onx_call_fail(call, ONX_INVALID, "output_height and output_width must be positive");
    if (state->ratio < 0 || state->ratio > RATIO_MAX)
        return onx_call_fail(call, ONX_INVALID, "sampling_ratio is %lld: it must be from 0 to %d",
                             (long long)state->ratio, RATIO_MAX);
    return ONX_OK;
}

/* ── Sizes ── */

/* A sampling_ratio of 0 takes about one point for each pixel, and at least one for each bin. */
static bool count_points(int64_t bins, int64_t ratio, size_t pixels, size_t *out) {
    return onx_mul_size((size_t)bins, (size_t)(ratio ? ratio : 2), out) &&
           onx_add_size(*out, 4, out) && onx_add_size(*out, 2 * pixels, out);
}

static bool count_scratch(onx_call *call) {
    const align_state *state = call->state;
    align_plan *plan = call->plan;
    size_t points, bins;
    return count_points(state->height, state->ratio, plan->height, &plan->points[0]) &&
           count_points(state->width, state->ratio, plan->width, &plan->points[1]) &&
           onx_add_size(plan->points[0], plan->points[1], &points) &&
           onx_mul_size(points, sizeof(point), &points) &&
           onx_mul_size((size_t)(state->height + state->width), sizeof(bin), &bins) &&
           onx_add_size(points, bins, &call->scratch_each) &&
           onx_wide_bytes(call->in[0], &call->scratch_bytes) &&
           onx_wide_bytes(call->in[1], &call->scratch_bytes);
}

onx_status onx_roi_align_bind(onx_call *call) {
    const align_state *state = call->state;
    const onx_operand *x = call->in[0], *rois = call->in[1], *batch = call->in[2];
    align_plan *plan = call->plan;
    if (x->rank != 4) return onx_call_fail(call, ONX_INVALID, "X must have 4 dimensions");
    if (rois->rank != 2 || rois->dims[1] != 4)
        return onx_call_fail(call, ONX_INVALID, "rois must be [regions, 4]");
    if (batch->rank != 1 || batch->dims[0] != rois->dims[0])
        return onx_call_fail(call, ONX_INVALID, "batch_indices must have %lld elements, as rois",
                             (long long)rois->dims[0]);
    const int64_t dims[] = {rois->dims[0], x->dims[1], state->height, state->width};
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, 4, dims));
    *plan = (align_plan){(size_t)x->dims[1], (size_t)x->dims[2], (size_t)x->dims[3], {0}};
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    if (!x->count)
        return onx_call_fail(call, ONX_INVALID, "there is nothing to sample in an empty image");
    if (count_scratch(call)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* ── One region ── */

static double single(const job *j, double v) {
    return j->is_double ? v : (double)(float)v;
}

static bool place(double at, size_t size, point *out) {
    double last = (double)size - 1;
    if (!(at >= -1 && at <= (double)size)) return false;
    if (at < 0) at = 0;
    if (at > last) at = last;
    out->low = (size_t)at;
    out->high = out->low + 1 < size ? out->low + 1 : out->low;
    out->to_high = at - (double)out->low;
    out->to_low = 1 - out->to_high;
    return true;
}

/* The points of one bin that begins at `from` and is `each` long. Only those that may lie in the
 * image are looked at. */
static bin fill_bin(const job *j, const axis *a, size_t used, size_t room, double from, double each,
                    size_t size) {
    bin b = {.first = used};
    double low = 0, high = a->grid - 1, step = each / a->grid;
    if (step > 0) {
        low = fmax(low, floor((-1 - from) / step) - 2);
        high = fmin(high, ceil(((double)size - from) / step) + 2);
    }
    for (double i = low; i <= high && used + b.n < room; i++)
        if (place(single(j, from + single(j, single(j, (i + 0.5) * each) / a->grid)), size,
                  &a->points[used + b.n]))
            b.n++;
    b.outside = (double)b.n < a->grid;
    return b;
}

/* Along one axis: the region from `start` to `end` in `n` bins, over `size` pixels. Beyond 2^40 no
 * point could be told from the next one: all count as outside. */
static void fill_axis(const job *j, double start, double end, size_t n, size_t size, size_t room,
                      axis *a) {
    const align_state *state = j->state;
    double offset = state->half_pixel ? 0.5 : 0;
    start = single(j, single(j, start * state->scale) - offset);
    end = single(j, single(j, end * state->scale) - offset);
    double length = single(j, end - start);
    if (!state->half_pixel && !(length >= 1)) length = 1;
    double each = single(j, length / (double)n);
    a->grid = state->ratio ? (double)state->ratio : each > 0 ? ceil(each) : 0;
    bool far = !(fabs(start) < 0x1p40 && fabs(length) < 0x1p40);
    for (size_t i = 0, used = 0; i < n; i++) {
        double from = single(j, start + single(j, (double)i * each));
        a->bins[i] =
            far ? (bin){.outside = a->grid > 0} : fill_bin(j, a, used, room, from, each, size);
        used += a->bins[i].n;
    }
}

/* What one point sees: four pixels and their weights. */
static void see(const job *j, size_t plane, const point *y, const point *x, double out[4]) {
    size_t low = plane + y->low * j->plan->width, high = plane + y->high * j->plan->width;
    out[0] = y->to_low * x->to_low * onx_wide_at(j->x, low + x->low);
    out[1] = y->to_low * x->to_high * onx_wide_at(j->x, low + x->high);
    out[2] = y->to_high * x->to_low * onx_wide_at(j->x, high + x->low);
    out[3] = y->to_high * x->to_high * onx_wide_at(j->x, high + x->high);
}

static double average(const job *j, size_t plane, const axis *y, const axis *x, bin by, bin bx) {
    double sum = 0, v[4], count = y->grid * x->grid;
    for (size_t i = by.first; i < by.first + by.n; i++)
        for (size_t k = bx.first; k < bx.first + bx.n; k++) {
            see(j, plane, &y->points[i], &x->points[k], v);
            sum += v[0] + v[1] + v[2] + v[3];
        }
    return sum / (count > 1 ? count : 1);
}

/* The largest of the weighted pixels, not of their sums: so the operator was defined by its first
 * implementation, and so are the test data. */
static double maximum(const job *j, size_t plane, const axis *y, const axis *x, bin by, bin bx) {
    bool any = by.outside || bx.outside;
    double most = 0, v[4];
    for (size_t i = by.first; i < by.first + by.n; i++)
        for (size_t k = bx.first; k < bx.first + bx.n; k++) {
            see(j, plane, &y->points[i], &x->points[k], v);
            for (size_t p = 0; p < 4; p++, any = true)
                if (!any || v[p] > most || isnan(v[p])) most = v[p];
        }
    return most;
}

/* ── All regions ── */

void onx_roi_align_axes(const job *j, size_t roi, void *scratch, axis *y, axis *x) {
    const align_state *state = j->state;
    size_t h = (size_t)state->height, w = (size_t)state->width;
    double at[4];
    for (size_t i = 0; i < 4; i++) at[i] = onx_wide_at(j->rois, roi * 4 + i);
    y->points = scratch;
    x->points = y->points + j->plan->points[0];
    y->bins = (bin *)(x->points + j->plan->points[1]);
    x->bins = y->bins + h;
    fill_axis(j, at[1], at[3], h, j->plan->height, j->plan->points[0], y);
    fill_axis(j, at[0], at[2], w, j->plan->width, j->plan->points[1], x);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    onx_operand *out = call->out[0];
    size_t roi = index / j->blocks, h = (size_t)j->state->height, w = (size_t)j->state->width;
    size_t first = index % j->blocks * CHANNELS, channels = j->plan->channels;
    size_t last = channels - first < CHANNELS ? channels : first + CHANNELS;
    size_t image = (size_t)onx_operand_int(call->in[2], (int64_t)roi) * channels;
    axis y, x;
    onx_roi_align_axes(j, roi, scratch, &y, &x);
    for (size_t c = first; c < last; c++) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        size_t plane = (image + c) * j->plan->height * j->plan->width;
        for (size_t i = 0; i < h * w; i++) {
            bin by = y.bins[i / w], bx = x.bins[i % w];
            double v = (j->state->max ? maximum : average)(j, plane, &y, &x, by, bx);
            onx_operand_put(out, (roi * channels + c) * h * w + i, 1, &v);
        }
    }
    return ONX_OK;
}

onx_status onx_roi_align_begin(onx_call *call, job *j) {
    const onx_operand *x = call->in[0];
    char *scratch = call->scratch;
    *j = (job){.state = call->state, .plan = call->plan, .is_double = x->dtype == ONX_DTYPE_F64};
    for (int64_t i = 0; i < call->in[2]->count; i++) {
        int64_t image = onx_operand_int(call->in[2], i);
        if (image < 0 || image >= x->dims[0])
            return onx_call_fail(call, ONX_INVALID,
                                 "batch_indices has the element %lld; there are %lld images",
                                 (long long)image, (long long)x->dims[0]);
    }
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    j->x = onx_wide_of(x, &scratch);
    j->rois = onx_wide_of(call->in[1], &scratch);
    return ONX_OK;
}

onx_status onx_roi_align_run(onx_call *call) {
    job j;
    ONX_TRY(onx_roi_align_begin(call, &j));
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    j.blocks = (j.plan->channels + CHANNELS - 1) / CHANNELS;
    return onx_call_parallel(call, (size_t)call->in[1]->dims[0] * j.blocks, task, &j);
}
