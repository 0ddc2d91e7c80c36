/* norm_along_ref.c: LpNormalization and MeanVarianceNormalization, along axes, and LRN, across
 * channels: plain loops, all types, in double precision. */
#include "ops/eltwise/wide_ref.h"
#include "ops/norm/norm_ref.h"

#include <math.h>

static double load(const onx_operand *in, int64_t at) {
    double x = 0;
    onx_operand_get(in, (size_t)at, 1, &x);
    return x;
}
static void store(const onx_operand *out, int64_t at, double x) {
    onx_operand_put(out, (size_t)at, 1, &x);
}

/* ─ Along axes ───────────────────────────────────────────────────────────────────────────────── */

onx_status onx_norm_init_along(onx_call *call) {
    onx_along_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    size_t n = 0;
    const int64_t *axes = onx_op_ints(call->node, "axes", &n);
    st->lp = strcmp(call->op->name, "LpNormalization") == 0;
    st->p = onx_call_int(call, "p");
    if (st->lp && st->p != 1 && st->p != 2)
        return onx_call_fail(call, ONX_INVALID, "the attribute 'p' must be 1 or 2, not %lld",
                             (long long)st->p);
    if (n > ONX_RANK_MAX) return onx_call_fail(call, ONX_INVALID, "there are %zu axes", n);
    if (n) memcpy(st->axes.axes, axes, n * sizeof *axes);
    st->axes.n_axes = n;
    if (st->lp) st->axes = (onx_reduce_state){.n_axes = 1, .axes = {onx_call_int(call, "axis")}};
    if (!st->lp && !axes) st->axes = (onx_reduce_state){.n_axes = 3, .axes = {0, 2, 3}};
    return ONX_OK;
}

onx_status onx_norm_bind_along(onx_call *call) {
    const onx_along_state *st = call->state;
    bool reduced[ONX_RANK_MAX];
    ONX_TRY(onx_reduce_mark(call, &st->axes, reduced));
    onx_reduce_split(call->in[0], reduced, call->plan);
    return onx_bind_same(call);
}

/* The elements along the axes, at `base`: (x - shift) * factor. */
static void normalize(const onx_call *call, const onx_along_state *st, int64_t base) {
    const onx_reduce_axes *axes = &((const onx_reduce_plan *)call->plan)->reduced;
    const onx_operand *in = call->in[0];
    double n = (double)axes->count, shift = 0, sum = 0;
    for (int64_t i = 0; i < axes->count && !st->lp; i++)
        shift += load(in, base + onx_reduce_offset(axes, i)) / n;
    for (int64_t i = 0; i < axes->count; i++) {
        double x = load(in, base + onx_reduce_offset(axes, i)) - shift;
        sum += st->lp && st->p == 1 ? fabs(x) : x * x;
    }
    double divisor = st->lp ? (st->p == 1 ? sum : sqrt(sum)) : sqrt(sum / n) + 1e-9;
    for (int64_t i = 0; i < axes->count; i++) {
        int64_t at = base + onx_reduce_offset(axes, i);
        store(call->out[0], at, divisor == 0 ? 0 : (load(in, at) - shift) / divisor);
    }
}

static onx_status along_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, 1), at = (int64_t)index * grain;
    for (int64_t i = at; i < at + grain && i < plan->kept.count; i++)
        normalize(call, call->state, onx_reduce_offset(&plan->kept, i));
    return ONX_OK;
}

onx_status onx_norm_run_along(onx_call *call) {
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, 1);
    if (call->out[0]->count == 0) return ONX_OK;
    return onx_call_parallel(call, (size_t)((plan->kept.count + grain - 1) / grain), along_task,
                             NULL);
}

/* ─ Across channels ──────────────────────────────────────────────────────────────────────────── */

onx_status onx_norm_init_lrn(onx_call *call) {
    onx_lrn_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->alpha = (double)onx_call_float(call, "alpha");
    st->beta = (double)onx_call_float(call, "beta");
    st->bias = (double)onx_call_float(call, "bias");
    st->size = onx_call_int(call, "size");
    if (st->size > 0) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "the attribute 'size' must be positive, not %lld",
                         (long long)st->size);
}

onx_status onx_norm_bind_lrn(onx_call *call) {
    if (call->in[0]->rank < 2)
        return onx_call_fail(call, ONX_INVALID, "input 0 has no channels: its rank is below 2");
    return onx_bind_same(call);
}

/* The channels of one place, `stride` apart. */
static void lrn_place(const onx_call *call, const onx_lrn_state *st, int64_t base, int64_t channels,
                      int64_t stride) {
    for (int64_t c = 0; c < channels; c++) {
        int64_t first, last;
        onx_lrn_window(st, c, channels, &first, &last);
        double sum = 0, x = load(call->in[0], base + c * stride);
        for (int64_t k = first; k <= last; k++) {
            double y = load(call->in[0], base + k * stride);
            sum += y * y;
        }
        store(call->out[0], base + c * stride,
              x / pow(st->bias + st->alpha / (double)st->size * sum, st->beta));
    }
}

static onx_status lrn_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_operand *x = call->in[0];
    int64_t channels = x->dims[1], places = x->count / x->dims[0] / channels;
    for (int64_t i = 0; i < places; i++)
        lrn_place(call, call->state, (int64_t)index * channels * places + i, channels, places);
    return ONX_OK;
}

onx_status onx_norm_run_lrn(onx_call *call) {
    if (call->out[0]->count == 0) return ONX_OK;
    return onx_call_parallel(call, (size_t)call->in[0]->dims[0], lrn_task, NULL);
}
