/* norm_ref.c: LayerNormalization, BatchNormalization and others: plain loops, all types, in double
 * precision. */
#include "ops/norm/norm_ref.h"
#include "ops/eltwise/wide_ref.h"
#include "ops/reduce/reduce_ref.h"

#include <math.h>

enum { SPAN = 256 };

/* Ends early when the run is to stop: tasks say so in the end. */
#define EACH_SPAN(at, some, n)                                                                     \
    for (int64_t at = 0, some;                                                                     \
         some = (n)-at < SPAN ? (n)-at : SPAN, at < (n) && !onx_call_stopped(call); at += SPAN)

/* Scales, biases … of elements at … at+n-1 of the input. */
static void fetch_params(const onx_call *call, size_t index, int64_t at, int64_t n, double *out) {
    const onx_norm_plan *plan = call->plan;
    const onx_operand *in = call->in[index];
    char raw[SPAN * sizeof(double)];
    size_t size = onx_wide_size(in);
    if (plan->spread) onx_wide_gather(call->in[0], in, 0, at, (size_t)n, raw);
    for (int64_t i = 0; i < n && !plan->spread; i++) {
        size_t which = (size_t)((at + i) / plan->divisor % plan->modulus);
        memcpy(raw + (size_t)i * size, (const char *)in->data + which * size, size);
    }
    (void)onx_dtype_convert((onx_dtype)in->dtype, raw, ONX_DTYPE_F64, out, (uint64_t)n, false);
}

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

static void statistics(const onx_call *call, int64_t base, double *mean, double *inverse) {
    const onx_norm_plan *plan = call->plan;
    const onx_norm_state *st = call->state;
    double x[SPAN], sum = 0, squares = 0;
    EACH_SPAN(at, some, plan->n) {
        onx_operand_get(call->in[0], base + at, some, x);
        for (int64_t i = 0; i < some; i++) sum += x[i];
    }
    *mean = st->centred ? sum / (double)plan->n : 0;
    EACH_SPAN(at, some, plan->n) {
        onx_operand_get(call->in[0], base + at, some, x);
        for (int64_t i = 0; i < some; i++) squares += (x[i] - *mean) * (x[i] - *mean);
    }
    *inverse = 1 / sqrt(squares / (double)plan->n + (double)st->epsilon);
}

static void normalize_row(const onx_call *call, int64_t row) {
    const onx_norm_plan *plan = call->plan;
    int64_t base = row * plan->n;
    double x[SPAN], scale[SPAN], bias[SPAN] = {0}, mean, inverse;
    statistics(call, base, &mean, &inverse);
    EACH_SPAN(at, some, plan->n) {
        onx_operand_get(call->in[0], base + at, some, x);
        fetch_params(call, 1, base + at, some, scale);
        if (onx_call_in(call, 2)) fetch_params(call, 2, base + at, some, bias);
        for (int64_t i = 0; i < some; i++) x[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
        onx_operand_put(call->out[0], base + at, some, x);
    }
    const onx_norm_state *st = call->state;
    if (call->n_out > 1 && call->out[1])
        onx_operand_put(call->out[1], row, 1, st->simplified ? &inverse : &mean);
    if (call->n_out > 2 && call->out[2]) onx_operand_put(call->out[2], row, 1, &inverse);
}

static onx_status row_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_norm_plan *plan = call->plan;
    int64_t grain = onx_norm_grain(plan->n), first = (int64_t)index * grain;
    for (int64_t i = first; i < first + grain && i < plan->rows; i++) normalize_row(call, i);
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

onx_status onx_norm_run(onx_call *call) {
    const onx_norm_plan *plan = call->plan;
    int64_t grain = onx_norm_grain(plan->n);
    return onx_call_parallel(call, (size_t)((plan->rows + grain - 1) / grain), row_task, NULL);
}

/* ─ Batches ──────────────────────────────────────────────────────────────────────────────────── */

/* Mean and variance of one channel, over the batch; NaN when that is empty. */
static void channel_statistics(const onx_call *call, int64_t channel, double *mean,
                               double *variance) {
    const onx_norm_plan *plan = call->plan;
    int64_t rows = call->in[0]->count ? plan->rows : 0;
    double x[SPAN], sum = 0, squares = 0, n = 0;
    for (int64_t row = channel; row < rows; row += plan->modulus) {
        EACH_SPAN(at, some, plan->n) {
            onx_operand_get(call->in[0], row * plan->n + at, some, x);
            for (int64_t i = 0; i < some; i++) sum += x[i];
            n += (double)some;
        }
    }
    *mean = sum / n;
    for (int64_t row = channel; row < rows; row += plan->modulus) {
        EACH_SPAN(at, some, plan->n) {
            onx_operand_get(call->in[0], row * plan->n + at, some, x);
            for (int64_t i = 0; i < some; i++) squares += (x[i] - *mean) * (x[i] - *mean);
        }
    }
    *variance = squares / n;
}

/* The statistics of this batch to `out` ([channels] means, then variances), running ones to the
 * outputs 1 and 2, and, of old opsets, those of the batch to 3 and 4. */
static void train(const onx_call *call, double *out) {
    const onx_norm_state *st = call->state;
    int64_t channels = call->in[1]->count;
    double momentum = (double)st->momentum;
    for (int64_t c = 0; c < channels; c++) {
        double now[2], before[2];
        channel_statistics(call, c, &now[0], &now[1]);
        onx_operand_get(call->in[3], c, 1, &before[0]);
        onx_operand_get(call->in[4], c, 1, &before[1]);
        for (int64_t i = 0; i < 2; i++) {
            double running = before[i] * momentum + now[i] * (1 - momentum);
            size_t o = (size_t)i + 1;
            out[i * channels + c] = now[i];
            if (o < call->n_out && call->out[o]) onx_operand_put(call->out[o], c, 1, &running);
            if (o + 2 < call->n_out && call->out[o + 2])
                onx_operand_put(call->out[o + 2], c, 1, &now[i]);
        }
    }
}

static void normalize_span(const onx_call *call, const double *statistics_, int64_t at, int64_t n) {
    const onx_norm_plan *plan = call->plan;
    const onx_norm_state *st = call->state;
    double x[SPAN], p[4][SPAN]; /* scale, bias, mean, variance */
    onx_operand_get(call->in[0], at, n, x);
    for (size_t k = 0; k < (st->training ? 2 : 4); k++) fetch_params(call, k + 1, at, n, p[k]);
    for (int64_t i = 0; i < n && st->training; i++) {
        int64_t c = (at + i) / plan->divisor % plan->modulus;
        p[2][i] = statistics_[c];
        p[3][i] = statistics_[plan->modulus + c];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = (x[i] - p[2][i]) / sqrt(p[3][i] + (double)st->epsilon) * p[0][i] + p[1][i];
    onx_operand_put(call->out[0], at, n, x);
}

static onx_status batch_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    int64_t at = (int64_t)index * ONX_WIDE_TASK, left = call->out[0]->count - at;
    if (left > ONX_WIDE_TASK) left = ONX_WIDE_TASK;
    EACH_SPAN(from, some, left) normalize_span(call, user, at + from, some);
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

onx_status onx_norm_run_batch(onx_call *call) {
    const onx_norm_state *st = call->state;
    if (st->training) train(call, call->scratch);
    size_t n = ((size_t)call->out[0]->count + ONX_WIDE_TASK - 1) / ONX_WIDE_TASK;
    return onx_call_parallel(call, n, batch_task, call->scratch);
}

#define ROW_OF(domain_, op_, name_, init_, bind_, run_, plan_)                                     \
    {                                                                                              \
        .op = op_, .first = 1,                                                                     \
        .types = {ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS},           \
        .name = name_, .overwrite = 1, .plan_bytes = sizeof(plan_), .domain = domain_,             \
        .init = init_, .bind = bind_, .run = run_                                                  \
    }
#define ROW(op, name, init, bind, run, plan) ROW_OF(NULL, op, name, init, bind, run, plan)
#define INTERNAL(op, name)                                                                         \
    ROW_OF("onx.internal", op, name, onx_norm_init, onx_norm_bind_layer, onx_norm_run,             \
           onx_norm_plan)
#define ROWS(op, name, bind, run) ROW(op, name, onx_norm_init, bind, run, onx_norm_plan)
#define ALONG(op, name, init)                                                                      \
    ROW(op, name, init, onx_norm_bind_along, onx_norm_run_along, onx_reduce_plan)

extern onx_kernel_rows onx_kernels_norm_ref;
onx_kernel_rows onx_kernels_norm_ref = {
    ROWS("BatchNormalization", "batch_norm", onx_norm_bind_batch, onx_norm_run_batch),
    ROWS("GroupNormalization", "group_norm", onx_norm_bind_group, onx_norm_run),
    ROWS("InstanceNormalization", "instance_norm", onx_norm_bind_instance, onx_norm_run),
    {.op = "LRN",
     .first = 1,
     .types = {ONX_T_FLOATS},
     .name = "lrn",
     .init = onx_norm_init_lrn,
     .bind = onx_norm_bind_lrn,
     .run = onx_norm_run_lrn},
    ROWS("LayerNormalization", "layer_norm", onx_norm_bind_layer, onx_norm_run),
    ALONG("LpNormalization", "lp_norm", onx_norm_init_along),
    ALONG("MeanVarianceNormalization", "mean_variance_norm", onx_norm_init_along),
    ROWS("RMSNormalization", "rms_norm", onx_norm_bind_layer, onx_norm_run),
    ROWS("SimplifiedLayerNormalization", "simplified_norm", onx_norm_bind_layer, onx_norm_run),
    INTERNAL("LayerNormalization", "layer_norm"),
    INTERNAL("RMSNormalization", "rms_norm"),
    {0},
};
