/* roi_pool_ref.c: MaxRoiPool: the maximum of the pixels in each bin of a region. Regions are
 * rounded to pixels and have at least one; bins are whole pixels, overlap where they must, and are
 * cut to the image; the maximum of none is 0, and NaN wins. Bins are placed in the precision of the
 * regions. */
#include "ops/eltwise/widen_ref.h"
#include "ops/pool/unpool_ref.h"
#include "ops/view/move_ref.h"

#include <math.h>

typedef struct pool_state {
    int64_t bins[2]; /* along y and x */
    double scale;
} pool_state;

onx_status onx_roi_pool_init(onx_call *call) {
    pool_state *state = onx_call_state(call, sizeof *state);
    onx_ints bins;
    if (!state) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ints_attr(call, "pooled_shape", &bins));
    if (bins.n != 2 || bins.v[0] < 1 || bins.v[1] < 1)
        return onx_call_fail(call, ONX_INVALID,
                             "attribute pooled_shape must be two positive sizes");
    *state = (pool_state){{bins.v[0], bins.v[1]}, (double)onx_call_float(call, "spatial_scale")};
    return ONX_OK;
}

onx_status onx_roi_pool_bind(onx_call *call) {
    const pool_state *state = call->state;
    const onx_operand *x = call->in[0], *rois = call->in[1];
    if (x->rank != 4) return onx_call_fail(call, ONX_INVALID, "X must have 4 dimensions");
    if (rois->rank != 2 || rois->dims[1] != 5)
        return onx_call_fail(call, ONX_INVALID, "rois must be [regions, 5]");
    const int64_t dims[] = {rois->dims[0], x->dims[1], state->bins[0], state->bins[1]};
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, 4, dims));
    if (onx_wide_bytes(x, &call->scratch_bytes) && onx_wide_bytes(rois, &call->scratch_bytes))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* ── Bins ── */

typedef struct job {
    const pool_state *state;
    onx_wide x, rois;
    bool is_double;
} job;

static double single(const job *j, double v) {
    return j->is_double ? v : (double)(float)v;
}

static size_t cut(double at, int64_t size) {
    return at > 0 ? at < (double)size ? (size_t)at : (size_t)size : 0;
}

/* Pixels from … to-1 of bin `bin` of `n`, in a region from `low` to `high`, over `size` pixels. */
static void place(const job *j, double low, double high, int64_t bin, int64_t n, int64_t size,
                  size_t *from, size_t *to) {
    double start = round(single(j, low * j->state->scale));
    double length = round(single(j, high * j->state->scale)) - start + 1;
    if (!(length >= 1)) length = 1;
    double each = single(j, length / (double)n);
    *from = cut(floor(single(j, (double)bin * each)) + start, size);
    *to = cut(ceil(single(j, (double)(bin + 1) * each)) + start, size);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_operand *x = call->in[0];
    onx_operand *y = call->out[0];
    size_t channels = (size_t)x->dims[1], width = (size_t)x->dims[3], roi = index / channels;
    size_t top, bottom, left, right;
    const int64_t *bins = j->state->bins;
    double at[5];
    for (size_t i = 0; i < 5; i++) at[i] = onx_wide_at(j->rois, roi * 5 + i);
    size_t plane = ((size_t)at[0] * channels + index % channels) * (size_t)x->dims[2] * width;
    (void)scratch;
    for (int64_t b = 0; b < bins[0] * bins[1]; b++) {
        place(j, at[2], at[4], b / bins[1], bins[0], x->dims[2], &top, &bottom);
        place(j, at[1], at[3], b % bins[1], bins[1], x->dims[3], &left, &right);
        double most = top < bottom && left < right ? -INFINITY : 0;
        for (size_t r = top; r < bottom; r++)
            for (size_t c = left; c < right; c++) {
                double v = onx_wide_at(j->x, plane + r * width + c);
                if (v > most || isnan(v)) most = v;
            }
        if (b % 64 == 0 && onx_call_stopped(call)) return ONX_CANCELLED;
        onx_operand_put(y, index * (size_t)(bins[0] * bins[1]) + (size_t)b, 1, &most);
    }
    return ONX_OK;
}

onx_status onx_roi_pool_run(onx_call *call) {
    const onx_operand *x = call->in[0], *rois = call->in[1];
    char *scratch = call->scratch;
    job j = {.state = call->state, .is_double = x->dtype == ONX_DTYPE_F64};
    j.x = onx_wide_of(x, &scratch);
    j.rois = onx_wide_of(rois, &scratch);
    for (size_t i = 0; i < (size_t)rois->dims[0]; i++) {
        double image = onx_wide_at(j.rois, i * 5);
        if (!(image >= 0 && image < (double)x->dims[0]))
            return onx_call_fail(call, ONX_INVALID, "region %zu is of image %g; there are %lld", i,
                                 image, (long long)x->dims[0]);
    }
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    return onx_call_parallel(call, (size_t)(rois->dims[0] * x->dims[1]), task, &j);
}
