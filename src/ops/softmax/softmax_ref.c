/* softmax_ref.c: Softmax, LogSoftmax, Hardmax: plain loops, all types, in double precision; but the
 * steps of Softmax in types of 16 bits round to them, as those of ONNX's reference do. */
#include "ops/softmax/softmax_ref.h"
#include "ir/dtype.h"

#include <math.h>

enum { SPAN = 256 };

onx_status onx_softmax_init(onx_call *call) {
    onx_softmax_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->axis = onx_call_int(call, "axis");
    st->flat = call->op->since < 13;
    st->log = strcmp(call->op->name, "LogSoftmax") == 0;
    st->hard = strcmp(call->op->name, "Hardmax") == 0;
    return ONX_OK;
}

/* Products of an empty tensor's sizes are not needed, and might overflow. */
onx_status onx_softmax_bind(onx_call *call) {
    const onx_softmax_state *st = call->state;
    const onx_operand *in = call->in[0];
    onx_softmax_plan *plan = call->plan;
    size_t axis = 0;
    bool behind = st->flat && st->axis == in->rank; /* then each element stands alone */
    if (behind)
        axis = in->rank;
    else if (!onx_axis(st->axis, in->rank, &axis) && !(in->rank == 0 && st->axis == -1))
        return onx_call_fail(call, ONX_INVALID, "axis %lld is not a dimension of rank %u",
                             (long long)st->axis, (unsigned)in->rank);
    *plan = (onx_softmax_plan){1, 1, 1};
    for (size_t d = 0; d < in->rank && in->count; d++) {
        bool together = st->flat ? d >= axis : d == axis;
        *(together ? &plan->n : d < axis ? &plan->outer : &plan->inner) *= in->dims[d];
    }
    return onx_bind_same(call);
}

/* n elements from `at` of the ones that lie `stride` apart, as doubles; and back. */
static void fetch(const onx_operand *in, int64_t base, int64_t stride, int64_t at, size_t n,
                  double *out) {
    char raw[SPAN * sizeof(double)];
    size_t size = onx_dtype_bits((onx_dtype)in->dtype) / 8;
    for (size_t i = 0; i < n; i++)
        memcpy(raw + i * size,
               (const char *)in->data + (size_t)(base + (at + (int64_t)i) * stride) * size, size);
    (void)onx_dtype_convert((onx_dtype)in->dtype, raw, ONX_DTYPE_F64, out, n, false);
}
static void store(const onx_operand *out, int64_t base, int64_t stride, int64_t at, size_t n,
                  const double *x) {
    char raw[SPAN * sizeof(double)];
    size_t size = onx_dtype_bits((onx_dtype)out->dtype) / 8;
    (void)onx_dtype_convert(ONX_DTYPE_F64, x, (onx_dtype)out->dtype, raw, n, false);
    for (size_t i = 0; i < n; i++)
        memcpy((char *)out->data + (size_t)(base + (at + (int64_t)i) * stride) * size,
               raw + i * size, size);
}

/* Ends early when the run is to stop: tasks say so in the end. */
#define EACH_SPAN(at, some, n)                                                                     \
    for (int64_t at = 0, some;                                                                     \
         some = (n)-at < SPAN ? (n)-at : SPAN, at < (n) && !onx_call_stopped(call); at += SPAN)

double onx_softmax_sum(onx_dtype dtype, const double *x, int64_t n) {
    enum { RUN = 8 };
    double sum = 0, run = 0;
    for (int64_t i = 0; i < n; i++) {
        run += x[i];
        if (dtype == ONX_DTYPE_BF16) onx_dtype_round(dtype, &run, 1);
        if (i % RUN < RUN - 1 && i < n - 1) continue;
        sum += run;
        run = 0;
    }
    return sum;
}

/* exp(x - max), from x. */
static void powers(onx_dtype dtype, double max, double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] -= max;
    onx_dtype_round(dtype, x, n);
    for (int64_t i = 0; i < n; i++) x[i] = exp(x[i]);
    onx_dtype_round(dtype, x, n);
}

static void softmax(const onx_call *call, int64_t base) {
    const onx_softmax_plan *plan = call->plan;
    const onx_softmax_state *st = call->state;
    onx_dtype dtype = (onx_dtype)call->in[0]->dtype;
    if (st->log || onx_dtype_bits(dtype) != 16) dtype = ONX_DTYPE_F64; /* rounds in the end alone */
    double x[SPAN], max = -INFINITY, sum = 0;
    int64_t largest = 0;
    EACH_SPAN(at, some, plan->n) {
        fetch(call->in[0], base, plan->inner, at, (size_t)some, x);
        for (int64_t i = 0; i < some; i++)
            if (x[i] > max) {
                max = x[i];
                largest = at + i;
            }
    }
    EACH_SPAN(at, some, plan->n) {
        fetch(call->in[0], base, plan->inner, at, (size_t)some, x);
        powers(dtype, max, x, some);
        sum += onx_softmax_sum(dtype, x, some);
    }
    double rounded = sum;
    onx_dtype_round(dtype, &rounded, 1);
    if (isfinite(rounded)) sum = rounded; /* a long row sums up to more than float16 holds */
    EACH_SPAN(at, some, plan->n) {
        fetch(call->in[0], base, plan->inner, at, (size_t)some, x);
        if (!st->log && !st->hard) powers(dtype, max, x, some);
        for (int64_t i = 0; i < some; i++) {
            if (st->hard)
                x[i] = at + i == largest;
            else
                x[i] = st->log ? x[i] - max - log(sum) : x[i] / sum;
        }
        store(call->out[0], base, plan->inner, at, (size_t)some, x);
    }
}

static int64_t grain_of(const onx_softmax_plan *plan) {
    return plan->n < 16384 ? 16384 / plan->n + 1 : 1;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_softmax_plan *plan = call->plan;
    int64_t grain = grain_of(plan), first = (int64_t)index * grain;
    for (int64_t i = first; i < first + grain && i < plan->outer * plan->inner; i++)
        softmax(call, i / plan->inner * plan->n * plan->inner + i % plan->inner);
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

static onx_status run(onx_call *call) {
    const onx_softmax_plan *plan = call->plan;
    int64_t grain = grain_of(plan), n = plan->outer * plan->inner;
    if (call->out[0]->count == 0) return ONX_OK;
    return onx_call_parallel(call, (size_t)((n + grain - 1) / grain), task, NULL);
}

#define ROW(op_, name_)                                                                            \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T_FLOATS}, .name = name_, .overwrite = 1,             \
        .plan_bytes = sizeof(onx_softmax_plan), .init = onx_softmax_init,                          \
        .bind = onx_softmax_bind, .run = run                                                       \
    }

extern onx_kernel_rows onx_kernels_softmax_ref;
onx_kernel_rows onx_kernels_softmax_ref = {
    ROW("Hardmax", "hardmax"),
    ROW("LogSoftmax", "log_softmax"),
    ROW("Softmax", "softmax"),
    {0},
};
