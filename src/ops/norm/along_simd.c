/* along_simd.c: LpNormalization and MeanVarianceNormalization of floats: vectors. Elements that are
 * normalized together are rows, where the innermost axis is among them; else VF such sets lie side
 * by side and are columns. Sums go as in row_simd.h, or down the columns in blocks. */
#include "ops/norm/along_simd.h"

#include "ops/reduce/row_simd.h"

enum { BLOCK = 64 }; /* elements of a column that are added up before they are added to others */

/* y = (x - shift) / divisor; 0 where that is 0. */
static void divide_row(const float *x, float *y, size_t n, float shift, float divisor) {
    vf by = vf_set(divisor);
    vi none = by == 0;
    for (size_t lanes; n; n -= lanes, x += lanes, y += lanes) {
        lanes = n < VF ? n : VF;
        vf_store_n(y, vf_select(none, vf_zero(), (vf_load_n(x, lanes) - shift) / by), lanes);
    }
}

static double row_of(const onx_along_state *st, const float *x, size_t n, float shift) {
    if (!st->lp) return row_sum_deviation(x, n, shift);
    return st->p == 1 ? row_sum_abs(x, n, 0) : row_sum_square(x, n, 0);
}

/* The set at `base`: rows of the innermost size. */
static void rows(const onx_call *call, const onx_along_state *st, int64_t base) {
    const onx_reduce_plan *plan = call->plan;
    const float *x = (const float *)call->in[0]->data + base;
    float *y = (float *)call->out[0]->data + base;
    onx_reduce_axes outer = plan->reduced;
    int64_t n = outer.n ? outer.dims[--outer.n] : 1, count = plan->reduced.count / n;
    double all = (double)plan->reduced.count, sum = 0;
    for (int64_t r = 0; r < count && !st->lp; r++)
        sum += row_sum(x + onx_reduce_offset(&outer, r), (size_t)n, 0);
    float shift = (float)(sum / all);
    sum = 0;
    for (int64_t r = 0; r < count; r++)
        sum += row_of(st, x + onx_reduce_offset(&outer, r), (size_t)n, shift);
    double divisor = st->lp ? (st->p == 1 ? sum : sqrt(sum)) : sqrt(sum / all) + 1e-9;
    for (int64_t r = 0; r < count; r++) {
        int64_t at = onx_reduce_offset(&outer, r);
        divide_row(x + at, y + at, (size_t)n, shift, (float)divisor);
    }
}

/* The sum over a column of x, or of |x|, or of (x - shift)^2. */
static vf column_sum(const onx_reduce_axes *axes, const float *x, size_t lanes, int power,
                     vf shift) {
    vf all = vf_zero();
    for (int64_t i = 0; i < axes->count;) {
        vf some = vf_zero();
        for (int64_t end = axes->count - i < BLOCK ? axes->count : i + BLOCK; i < end; i++) {
            vf v = vf_load_n(x + onx_reduce_offset(axes, i), lanes) - shift;
            some += power == 2 ? v * v : power == 1 ? vf_abs(v) : v;
        }
        all += some;
    }
    return all;
}

/* `lanes` sets that lie side by side, from `base` on. */
static void columns(const onx_call *call, const onx_along_state *st, int64_t base, size_t lanes) {
    const onx_reduce_axes *axes = &((const onx_reduce_plan *)call->plan)->reduced;
    const float *x = (const float *)call->in[0]->data + base;
    float *y = (float *)call->out[0]->data + base;
    vf n = vf_set((float)axes->count), shift = vf_zero();
    if (!st->lp) shift = column_sum(axes, x, lanes, 0, shift) / n;
    vf sum = column_sum(axes, x, lanes, st->lp ? (int)st->p : 2, shift);
    vf divisor = st->lp ? (st->p == 1 ? sum : vf_sqrt(sum)) : vf_sqrt(sum / n) + 1e-9f;
    for (int64_t i = 0; i < axes->count; i++) {
        int64_t at = onx_reduce_offset(axes, i);
        vf v = (vf_load_n(x + at, lanes) - shift) / divisor;
        vf_store_n(y + at, vf_select(divisor == 0, vf_zero(), v), lanes);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_reduce_plan *plan = call->plan;
    const onx_reduce_axes *kept = &plan->kept, *reduced = &plan->reduced;
    int64_t grain = onx_reduce_grain(plan, VF), at = (int64_t)index * grain;
    int64_t end = kept->count - at < grain ? kept->count : at + grain;
    bool by_rows = !reduced->n || !kept->n || reduced->strides[reduced->n - 1] == 1;
    int64_t inner = by_rows ? 1 : kept->dims[kept->n - 1];
    (void)user, (void)scratch;
    for (int64_t lanes; at < end; at += lanes) {
        int64_t base = onx_reduce_offset(kept, at);
        lanes = inner - at % inner < end - at ? inner - at % inner : end - at;
        if (lanes > VF) lanes = VF;
        if (by_rows)
            rows(call, call->state, base);
        else
            columns(call, call->state, base, (size_t)lanes);
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_along_run)(onx_call *call) {
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, VF);
    if (call->out[0]->count == 0) return ONX_OK;
    return onx_call_parallel(call, (size_t)((plan->kept.count + grain - 1) / grain), task, NULL);
}
