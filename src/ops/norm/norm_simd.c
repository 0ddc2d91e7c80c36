/* norm_simd.c: LayerNormalization, BatchNormalization and others of floats: vectors. The mean is
 * found first, then the deviation from it, then the result: three passes over a row. */
#include "ops/norm/along_simd.h"
#include "ops/norm/lrn_simd.h"
#include "ops/reduce/row_simd.h"

enum { NEAR_FLOATS = 3 * ROW_BLOCK };

/* y = (x - mean) * inverse * scale[i] + bias[i]; bias may be NULL. */
static void scale_each(const float *x, float *y, size_t n, float mean, float inverse,
                       const float *scale, const float *bias) {
    size_t i = 0;
    for (; i + VF <= n; i += VF) {
        vf v = (vf_load(x + i) - mean) * inverse * vf_load(scale + i);
        vf_store(y + i, bias ? v + vf_load(bias + i) : v);
    }
    vf v = (vf_load_n(x + i, n - i) - mean) * inverse * vf_load_n(scale + i, n - i);
    vf_store_n(y + i, bias ? v + vf_load_n(bias + i, n - i) : v, n - i);
}

/* y = (x - mean) * factor + bias. */
static void scale_all(const float *x, float *y, size_t n, float mean, float factor, float bias) {
    for (; n >= VF; n -= VF, x += VF, y += VF) vf_store(y, (vf_load(x) - mean) * factor + bias);
    if (n) vf_store_n(y, (vf_load_n(x, n) - mean) * factor + bias, n);
}

static const float *param(const onx_call *call, size_t index) {
    return index < call->n_in && call->in[index] ? call->in[index]->data : NULL;
}
static float param_at(const onx_call *call, size_t index, int64_t at) {
    float value = 0;
    const char *data = (const char *)param(call, index);
    if (data) memcpy(&value, data + (size_t)at * sizeof value, sizeof value);
    return value;
}

static void save(const onx_call *call, size_t index, int64_t row, float value) {
    if (index >= call->n_out || !call->out[index]) return;
    (void)onx_dtype_convert(ONX_DTYPE_F32, &value, (onx_dtype)call->out[index]->dtype,
                            (char *)call->out[index]->data +
                                (size_t)row * (onx_dtype_bits(call->out[index]->dtype) / 8),
                            1, false);
}

/* What rows have in common with themselves alone. */
typedef struct moments {
    float mean[VF], inverse[VF];
} moments;

/* Of `count` <= VF short rows at once: the steps from sums to moments are longer than such rows. */
static void short_moments(const onx_norm_state *st, const float *x, size_t n, size_t count,
                          moments *m) {
    vf sums[VF], mean = vf_zero(), size = vf_set((float)n);
    if (st->centred) {
        for (size_t i = 0; i < VF; i++)
            sums[i] = i < count ? row_sum_lanes(x + i * n, n, mean) : vf_zero();
        mean = row_lanes_sums(sums) / size;
    }
    vf_store(m->mean, mean);
    for (size_t i = 0; i < VF; i++)
        sums[i] = i < count ? row_sum_deviation_lanes(x + i * n, n, vf_set(m->mean[i])) : vf_zero();
    vf_store(m->inverse, 1.0f / vf_sqrt(row_lanes_sums(sums) / size + st->epsilon));
}

static void long_moments(const onx_norm_state *st, const float *x, size_t n, moments *m) {
    float mean = st->centred ? (float)(row_sum(x, n, 0) / (double)n) : 0;
    double variance = row_sum_deviation(x, n, mean) / (double)n;
    m->mean[0] = mean;
    m->inverse[0] = (float)(1 / sqrt(variance + (double)st->epsilon));
}

static void finish_row(const onx_call *call, int64_t row, float mean, float inverse) {
    const onx_norm_plan *plan = call->plan;
    const onx_norm_state *st = call->state;
    const float *x = (const float *)call->in[0]->data + row * plan->n;
    float *y = (float *)call->out[0]->data + row * plan->n;
    save(call, 1, row, st->simplified ? inverse : mean);
    save(call, 2, row, inverse);
    if (plan->divisor == 1 && plan->modulus == plan->n) {
        scale_each(x, y, (size_t)plan->n, mean, inverse, param(call, 1), param(call, 2));
        return;
    }
    for (int64_t at = 0; at < plan->n; at += plan->divisor) {
        int64_t which = (row * plan->n + at) / plan->divisor % plan->modulus;
        scale_all(x + at, y + at, (size_t)plan->divisor, mean, inverse * param_at(call, 1, which),
                  param_at(call, 2, which));
    }
}

/* Rows together that the first cache holds until they are written. */
static int64_t rows_at_once(int64_t n) {
    return n > ROW_BLOCK ? 1 : NEAR_FLOATS / n < VF ? NEAR_FLOATS / n : VF;
}

static onx_status row_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_norm_plan *plan = call->plan;
    int64_t grain = onx_norm_grain(plan->n), row = (int64_t)index * grain;
    int64_t end = plan->rows - row < grain ? plan->rows : row + grain;
    for (int64_t some = rows_at_once(plan->n); row < end; row += some) {
        const float *x = (const float *)call->in[0]->data + row * plan->n;
        moments m;
        if (some > end - row) some = end - row;
        if (plan->n > ROW_BLOCK)
            long_moments(call->state, x, (size_t)plan->n, &m);
        else
            short_moments(call->state, x, (size_t)plan->n, (size_t)some, &m);
        for (int64_t i = 0; i < some; i++) finish_row(call, row + i, m.mean[i], m.inverse[i]);
    }
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const onx_norm_plan *plan = call->plan;
    int64_t grain = onx_norm_grain(plan->n);
    if (plan->spread || plan->n == 0) return onx_norm_run(call);
    return onx_call_parallel(call, (size_t)((plan->rows + grain - 1) / grain), row_task, NULL);
}

/* Rows of `divisor` elements have one set of numbers. */
static onx_status batch_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_norm_plan *plan = call->plan;
    const onx_norm_state *st = call->state;
    int64_t n = plan->divisor, rows = call->out[0]->count / n;
    int64_t grain = onx_norm_grain(n), first = (int64_t)index * grain;
    for (int64_t i = first; i < first + grain && i < rows; i++) {
        int64_t c = i % plan->modulus;
        double variance = (double)param_at(call, 4, c) + (double)st->epsilon;
        float factor = (float)((double)param_at(call, 1, c) / sqrt(variance));
        scale_all((const float *)call->in[0]->data + i * n, (float *)call->out[0]->data + i * n,
                  (size_t)n, param_at(call, 3, c), factor, param_at(call, 2, c));
    }
    return ONX_OK;
}

static onx_status run_batch(onx_call *call) {
    const onx_norm_plan *plan = call->plan;
    const onx_norm_state *st = call->state;
    if (st->training) return onx_norm_run_batch(call);
    if (call->out[0]->count == 0) return ONX_OK;
    int64_t grain = onx_norm_grain(plan->divisor), rows = call->out[0]->count / plan->divisor;
    return onx_call_parallel(call, (size_t)((rows + grain - 1) / grain), batch_task, NULL);
}

#define ROW_OF(domain_, op_, name_, bind_, run_)                                                   \
    {                                                                                              \
        .op = op_, .first = 1,                                                                     \
        .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32), ONX_T(F32), ONX_T(F32)}, .name = name_,      \
        .overwrite = 1, .plan_bytes = sizeof(onx_norm_plan), .domain = domain_,                    \
        .init = onx_norm_init, .bind = bind_, .run = run_                                          \
    }
#define ROW(op, name, bind, run) ROW_OF(NULL, op, name, bind, run)
#define INTERNAL(op, name) ROW_OF("onx.internal", op, name, onx_norm_bind_layer, run)
#define ALONG(op_, name_)                                                                          \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(F32)}, .name = name_,                               \
        .plan_bytes = sizeof(onx_reduce_plan), .init = onx_norm_init_along,                        \
        .bind = onx_norm_bind_along, .run = ONX_TIER(onx_along_run)                                \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_norm);
onx_kernel_rows ONX_TIER(onx_kernels_norm) = {
    ROW("BatchNormalization", "batch_norm_f32", onx_norm_bind_batch, run_batch),
    ROW("GroupNormalization", "group_norm_f32", onx_norm_bind_group, run),
    ROW("InstanceNormalization", "instance_norm_f32", onx_norm_bind_instance, run),
    ROW("LayerNormalization", "layer_norm_f32", onx_norm_bind_layer, run),
    ROW("RMSNormalization", "rms_norm_f32", onx_norm_bind_layer, run),
    ROW("SimplifiedLayerNormalization", "simplified_norm_f32", onx_norm_bind_layer, run),
    {.op = "LRN",
     .first = 1,
     .types = {ONX_T(F32)},
     .name = "lrn_f32",
     .init = onx_norm_init_lrn,
     .bind = onx_norm_bind_lrn,
     .run = ONX_TIER(onx_lrn_run)},
    ALONG("LpNormalization", "lp_norm_f32"),
    ALONG("MeanVarianceNormalization", "mean_variance_f32"),
    INTERNAL("LayerNormalization", "layer_norm_f32"),
    INTERNAL("RMSNormalization", "rms_norm_f32"),
    {0},
};
