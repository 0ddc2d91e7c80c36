/* softmax_simd.c: Softmax, LogSoftmax of floats: vectors. Rows that lie together go through three
 * passes in the cache: largest element, exponentials and their sum, scaling. Along other axes,
 * VF columns go through the same side by side; of fewer, several rows. Hardmax, without any sums,
 * goes element by element. */
#include "cpu/vec_math.h"
#include "ops/reduce/row_simd.h"
#include "ops/softmax/softmax_ref.h"

/* The largest; NaN may be passed over, for it makes the sum NaN. */
static float max_row(const float *x, size_t n) {
    vf m0 = vf_set(-INFINITY), m1 = m0;
    size_t i = 0;
    for (; i + 2 * VF <= n; i += 2 * VF) {
        m0 = vf_max(vf_load(x + i), m0);
        m1 = vf_max(vf_load(x + i + VF), m1);
    }
    if (i + VF <= n) {
        m0 = vf_max(vf_load(x + i), m0);
        i += VF;
    }
    if (i < n) {
        vf tail = vf_select(row_first(n - i), vf_load_n(x + i, n - i), vf_set(-INFINITY));
        m1 = vf_max(tail, m1);
    }
    return row_lanes_max(vf_max(m0, m1));
}

/* y = exp(x - max); their sum, in blocks like row_sum's. */
static double exp_row(const float *x, float *y, size_t n, float max) {
    double sum = 0;
    for (size_t at = 0; at < n; at += ROW_BLOCK) {
        size_t end = n - at < ROW_BLOCK ? n : at + ROW_BLOCK, i = at;
        vf s0 = vf_zero(), s1 = vf_zero();
        for (; i + 2 * VF <= end; i += 2 * VF) {
            vf e0 = vf_exp(vf_load(x + i) - max), e1 = vf_exp(vf_load(x + i + VF) - max);
            vf_store(y + i, e0);
            vf_store(y + i + VF, e1);
            s0 += e0;
            s1 += e1;
        }
        for (; i < end; i += VF) {
            size_t lanes = end - i < VF ? end - i : VF;
            vf e = vf_exp(vf_load_n(x + i, lanes) - max);
            vf_store_n(y + i, e, lanes);
            s0 += vf_select(row_first(lanes), e, vf_zero());
        }
        sum += (double)row_lanes_sum(s0 + s1);
    }
    return sum;
}

static void scale_row(float *y, size_t n, float a) {
    size_t i = 0;
    for (; i + VF <= n; i += VF) vf_store(y + i, vf_load(y + i) * a);
    if (i < n) vf_store_n(y + i, vf_load_n(y + i, n - i) * a, n - i);
}

/* y = x - a - b, in this order, for a is near x. */
static void shift_row(const float *x, float *y, size_t n, float a, float b) {
    size_t i = 0;
    for (; i + VF <= n; i += VF) vf_store(y + i, vf_load(x + i) - a - b);
    if (i < n) vf_store_n(y + i, vf_load_n(x + i, n - i) - a - b, n - i);
}

/* The sum of exp(x - max), which are not kept. */
static double sum_exp(const float *x, size_t n, float max) {
    float y[256];
    double sum = 0;
    for (size_t at = 0; at < n; at += 256)
        sum += exp_row(x + at, y, n - at < 256 ? n - at : 256, max);
    return sum;
}

static void softmax_row(const float *x, float *y, size_t n, bool log_) {
    float max = max_row(x, n);
    if (log_)
        shift_row(x, y, n, max, (float)log(sum_exp(x, n, max)));
    else
        scale_row(y, n, (float)(1 / exp_row(x, y, n, max)));
}

/* x, y: [n] rows, `stride` apart, of `lanes` columns. */
static void softmax_columns(const float *x, float *y, int64_t n, int64_t stride, size_t lanes,
                            bool log_) {
    vf max = vf_set(-INFINITY), sum = vf_zero();
    for (int64_t i = 0; i < n; i++) max = vf_max(vf_load_n(x + i * stride, lanes), max);
    for (int64_t i = 0; i < n; i++) {
        vf e = vf_exp(vf_load_n(x + i * stride, lanes) - max);
        if (!log_) vf_store_n(y + i * stride, e, lanes);
        sum += e;
    }
    vf scale = 1.0f / sum, shift = vf_log(sum);
    for (int64_t i = 0; i < n; i++) {
        vf v = log_ ? vf_load_n(x + i * stride, lanes) - max - shift
                    : vf_load_n(y + i * stride, lanes) * scale;
        vf_store_n(y + i * stride, v, lanes);
    }
}

/* Rows of fewer than VF columns, one after the other: what a lane of a vector belongs to comes
 * again after some vectors. Of each of these, lanes for all columns. */
typedef struct woven {
    size_t columns, vectors;
    vf lanes[VF];
} woven;

static woven weave(size_t columns, float value) {
    woven w = {.columns = columns, .vectors = 1};
    while (w.vectors * VF % columns) w.vectors++;
    for (size_t v = 0; v < w.vectors; v++) w.lanes[v] = vf_set(value);
    return w;
}

/* All lanes of a column get what they are together: their largest, or their sum. */
static void join(woven *w, bool sum) {
    float lane[VF * VF], all[VF];
    memcpy(lane, w->lanes, w->vectors * sizeof *w->lanes);
    memcpy(all, lane, w->columns * sizeof *all);
    for (size_t i = w->columns; i < w->vectors * VF; i++) {
        float *to = all + i % w->columns;
        *to = sum ? *to + lane[i] : lane[i] > *to ? lane[i] : *to;
    }
    for (size_t i = 0; i < w->vectors * VF; i++) lane[i] = all[i % w->columns];
    memcpy(w->lanes, lane, w->vectors * sizeof *w->lanes);
}

/* x, y: count floats, rows of so many columns. */
static void softmax_woven(const float *x, float *y, size_t count, size_t columns, bool log_) {
    woven max = weave(columns, -INFINITY), sum = weave(columns, 0);
    size_t v = 0, last = count / VF * VF, rest = count - last;
    for (size_t i = 0; i < last; i += VF, v = v + 1 < max.vectors ? v + 1 : 0)
        max.lanes[v] = vf_max(vf_load(x + i), max.lanes[v]);
    vf tail = vf_select(row_first(rest), vf_load_n(x + last, rest), vf_set(-INFINITY));
    max.lanes[v] = vf_max(tail, max.lanes[v]);
    join(&max, false);
    v = 0;
    for (size_t i = 0; i < last; i += VF, v = v + 1 < max.vectors ? v + 1 : 0) {
        vf e = vf_exp(vf_load(x + i) - max.lanes[v]);
        if (!log_) vf_store(y + i, e);
        sum.lanes[v] += e;
    }
    vf e = vf_exp(tail - max.lanes[v]);
    if (!log_) vf_store_n(y + last, e, rest);
    sum.lanes[v] += vf_select(row_first(rest), e, vf_zero());
    join(&sum, true);
    for (size_t k = 0; k < sum.vectors; k++)
        sum.lanes[k] = log_ ? vf_log(sum.lanes[k]) : 1.0f / sum.lanes[k];
    v = 0;
    for (size_t i = 0; i < count; i += VF, v = v + 1 < max.vectors ? v + 1 : 0) {
        size_t n = count - i < VF ? count - i : VF;
        vf to = log_ ? vf_load_n(x + i, n) - max.lanes[v] - sum.lanes[v]
                     : vf_load_n(y + i, n) * sum.lanes[v];
        vf_store_n(y + i, to, n);
    }
}

/* 1 for the first of the largest of n elements, `stride` apart; NaN is passed over. */
static void hardmax(const char *x, char *y, int64_t n, int64_t stride) {
    float max = -INFINITY, v;
    int64_t largest = 0, step = stride * (int64_t)sizeof v;
    for (int64_t i = 0; i < n; i++) {
        memcpy(&v, x + i * step, sizeof v);
        if (v > max) max = v, largest = i;
    }
    for (int64_t i = 0; i < n; i++) memset(y + i * step, 0, sizeof v);
    memcpy(y + largest * step, &(float){1}, sizeof v);
}

/* The work is cut into units: a row, or some columns of one outer index; a task is enough of them
 * to make 32K elements. */
typedef struct cut {
    int64_t width, across, units, grain; /* across: units of one outer index */
} cut;

static cut cut_of(const onx_softmax_plan *plan) {
    cut c = {.width = 1};
    if (plan->inner > 1) c.width = VF * (1 + 32768 / VF / plan->n);
    if (c.width > plan->inner) c.width = plan->inner;
    c.across = (plan->inner + c.width - 1) / c.width;
    c.units = plan->outer * c.across;
    c.grain = 1 + 32768 / c.width / plan->n;
    return c;
}

static void unit(const onx_call *call, const onx_softmax_plan *plan, cut c, int64_t index) {
    const onx_softmax_state *st = call->state;
    int64_t column = index % c.across * c.width, end = column + c.width;
    int64_t base = index / c.across * plan->n * plan->inner;
    const float *x = (const float *)call->in[0]->data + base;
    float *y = (float *)call->out[0]->data + base;
    if (end > plan->inner) end = plan->inner;
    for (; st->hard && column < end; column++)
        hardmax((const char *)(x + column), (char *)(y + column), plan->n, plan->inner);
    if (st->hard) return;
    if (plan->inner == 1) {
        softmax_row(x, y, (size_t)plan->n, st->log);
        return;
    }
    if (plan->inner < VF) {
        softmax_woven(x, y, (size_t)(plan->n * plan->inner), (size_t)plan->inner, st->log);
        return;
    }
    for (; column < end; column += VF) {
        size_t lanes = (size_t)(end - column < VF ? end - column : VF);
        softmax_columns(x + column, y + column, plan->n, plan->inner, lanes, st->log);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    cut c = cut_of(call->plan);
    int64_t first = (int64_t)index * c.grain;
    for (int64_t i = first; i < first + c.grain && i < c.units; i++) unit(call, call->plan, c, i);
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    if (call->out[0]->count == 0) return ONX_OK;
    cut c = cut_of(call->plan);
    return onx_call_parallel(call, (size_t)((c.units + c.grain - 1) / c.grain), task, NULL);
}

#define ROW(op_, name_)                                                                            \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(F32)}, .name = name_, .overwrite = 1,               \
        .plan_bytes = sizeof(onx_softmax_plan), .init = onx_softmax_init,                          \
        .bind = onx_softmax_bind, .run = run                                                       \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_softmax);
onx_kernel_rows ONX_TIER(onx_kernels_softmax) = {
    ROW("Hardmax", "hardmax_f32"),
    ROW("LogSoftmax", "log_softmax_f32"),
    ROW("Softmax", "softmax_f32"),
    {0},
};
