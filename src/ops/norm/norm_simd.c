/* norm_simd.c: LayerNormalization, BatchNormalization and others of floats: vectors. The mean is
 * found first, then the deviation from it, then the result: three passes over a row. */
#include "ops/norm/along_simd.h"
#include "ops/norm/lrn_simd.h"
#include "ops/reduce/row_simd.h"

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

static void normalize_row(const onx_call *call, int64_t row) {
    const onx_norm_plan *plan = call->plan;
    const onx_norm_state *st = call->state;
    size_t n = (size_t)plan->n;
    const float *x = (const float *)call->in[0]->data + row * plan->n;
    float *y = (float *)call->out[0]->data + row * plan->n;
    float mean = st->centred ? (float)(row_sum(x, n, 0) / (double)plan->n) : 0;
    double variance = row_sum_deviation(x, n, mean) / (double)plan->n;
    float inverse = (float)(1 / sqrt(variance + (double)st->epsilon));
    save(call, 1, row, st->simplified ? inverse : mean);
    save(call, 2, row, inverse);
    if (plan->divisor == 1 && plan->modulus == plan->n) {
        scale_each(x, y, n, mean, inverse, param(call, 1), param(call, 2));
        return;
    }
    for (int64_t at = 0; at < plan->n; at += plan->divisor) {
        int64_t which = (row * plan->n + at) / plan->divisor % plan->modulus;
        scale_all(x + at, y + at, (size_t)plan->divisor, mean, inverse * param_at(call, 1, which),
                  param_at(call, 2, which));
    }
}

static onx_status row_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_norm_plan *plan = call->plan;
    int64_t grain = onx_norm_grain(plan->n), first = (int64_t)index * grain;
    for (int64_t i = first; i < first + grain && i < plan->rows; i++) normalize_row(call, i);
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
