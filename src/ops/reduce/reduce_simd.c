/* reduce_simd.c: ReduceSum, ArgMax and others over float: vectors.
 *
 * Where the reduced elements lie together, a result is a few rows (row_simd.h). Where results lie
 * together, they are made VF at a time, down the reduced axes: within blocks of COLUMN_BLOCK, then
 * over the blocks. Both orders are fixed by the shapes. */
#include "cpu/vec_math.h"
#include "ops/reduce/reduce_ref.h"
#include "ops/reduce/reduce_typed_simd.h"
#include "ops/reduce/row_simd.h"

enum {
    COLUMN_BLOCK = 64,
    WIDE = 4, /* vectors of columns side by side */
    SOME = 8, /* vectors of a short row */
};

typedef enum kind { SUM, MEAN, MAX, MIN, L1, L2, SUM_SQUARE, LOG_SUM, KINDS } kind;
static const char *const names[KINDS] = {"ReduceSum",       "ReduceMean",  "ReduceMax",
                                         "ReduceMin",       "ReduceL1",    "ReduceL2",
                                         "ReduceSumSquare", "ReduceLogSum"};

static kind kind_of(const onx_call *call) {
    kind k = SUM;
    while (strcmp(names[k], call->op->name) != 0) k++;
    return k;
}

static double start(kind k) {
    return k == MAX ? -INFINITY : k == MIN ? INFINITY : 0;
}
static double join(kind k, double a, double b) {
    if (k == MAX) return a != a || a > b ? a : b;
    if (k == MIN) return a != a || a < b ? a : b;
    return a + b;
}
static double finish(kind k, double a, double n) {
    return k == MEAN ? a / n : k == L2 ? sqrt(a) : k == LOG_SUM ? log(a) : a;
}

static double row(kind k, const float *p, size_t n) {
    switch (k) {
    case MAX: return (double)row_max(p, n);
    case MIN: return (double)row_min(p, n);
    case L1: return row_sum_abs(p, n, 0);
    case L2:
    case SUM_SQUARE: return row_sum_square(p, n, 0);
    default: return row_sum(p, n, 0);
    }
}

/* Results at … end-1, whose elements are rows of the innermost reduced size. */
static void reduce_rows(const onx_call *call, kind k, int64_t at, int64_t end) {
    const onx_reduce_plan *plan = call->plan;
    const float *in = call->in[0]->data;
    onx_reduce_axes outer = plan->reduced;
    int64_t n = outer.n ? outer.dims[--outer.n] : 1, count = n ? plan->reduced.count / n : 0;
    for (; at < end; at++) {
        const float *base = in + onx_reduce_offset(&plan->kept, at);
        double all = start(k);
        for (int64_t r = 0; r < count; r++)
            all = join(k, all, row(k, base + onx_reduce_offset(&outer, r), (size_t)n));
        float result = (float)finish(k, all, (double)plan->reduced.count);
        memcpy((char *)call->out[0]->data + (size_t)at * sizeof result, &result, sizeof result);
    }
}

static inline vf column_step(kind k, vf sum, vf x) {
    switch (k) {
    case MAX: return vf_max_nan(sum, x);
    case MIN: return vf_min_nan(sum, x);
    case L1: return sum + vf_abs(x);
    case L2:
    case SUM_SQUARE: return sum + x * x;
    default: return sum + x;
    }
}
static inline vf column_join(kind k, vf a, vf b) {
    return k == MAX ? vf_max_nan(a, b) : k == MIN ? vf_min_nan(a, b) : a + b;
}

static inline vf column_finish(kind k, vf all, int64_t n) {
    if (k == LOG_SUM) return vf_log(all);
    return k == MEAN ? all / vf_set((float)n) : k == L2 ? vf_sqrt(all) : all;
}

/* Results that lie together, from `at` on: vectors of `lanes`; `k` and `vectors` are constants
 * where it is called; `how` is the kind, or one that takes the same steps. */
static inline __attribute__((always_inline)) void columns(const onx_call *call, kind k, kind how,
                                                          int64_t at, size_t vectors,
                                                          size_t lanes) {
    const onx_reduce_plan *plan = call->plan;
    onx_reduce_axes outer = plan->reduced;
    int64_t n = outer.dims[--outer.n], stride = outer.strides[outer.n];
    int64_t base = onx_reduce_offset(&plan->kept, at), count = n ? plan->reduced.count / n : 0;
    float *out = (float *)call->out[0]->data + at;
    vf none = vf_set((float)start(k)), all[WIDE], some[WIDE];
    VF_UNROLL for (size_t v = 0; v < vectors; v++) all[v] = none;
    for (int64_t r = 0; r < count; r++) {
        const float *in = (const float *)call->in[0]->data + base + onx_reduce_offset(&outer, r);
        for (int64_t i = 0; i < n;) {
            VF_UNROLL for (size_t v = 0; v < vectors; v++) some[v] = none;
            for (int64_t end = n - i < COLUMN_BLOCK ? n : i + COLUMN_BLOCK; i < end; i++)
                VF_UNROLL for (size_t v = 0; v < vectors; v++) some[v] =
                    column_step(k, some[v], vf_load_n(in + i * stride + v * VF, lanes));
            VF_UNROLL for (size_t v = 0; v < vectors; v++) all[v] = column_join(k, all[v], some[v]);
        }
    }
    VF_UNROLL for (size_t v = 0; v < vectors; v++)
        vf_store_n(out + v * VF, column_finish(how, all[v], plan->reduced.count), lanes);
}

static void reduce_columns(const onx_call *call, kind k, int64_t at, size_t lanes) {
    bool wide = lanes == WIDE * VF;
#define COLUMNS(step)                                                                              \
    wide ? columns(call, step, k, at, WIDE, VF) : columns(call, step, k, at, 1, lanes)
    switch (k) {
    case MAX: COLUMNS(MAX); break;
    case MIN: COLUMNS(MIN); break;
    case L1: COLUMNS(L1); break;
    case L2:
    case SUM_SQUARE: COLUMNS(SUM_SQUARE); break;
    default: COLUMNS(SUM);
    }
#undef COLUMNS
}

/* Up to VF results from `at` on, of a row each that is shorter than a vector: turned, they are
 * columns. */
static void reduce_short(const onx_call *call, kind k, int64_t at, size_t lanes) {
    const onx_reduce_plan *plan = call->plan;
    size_t n = (size_t)plan->reduced.count;
    float turned[VF][VF];
    vf all = vf_set((float)start(k));
    if (lanes < VF) memset(turned, 0, sizeof turned);
    for (size_t l = 0; n && l < lanes; l++) {
        const char *p = (const char *)call->in[0]->data +
                        onx_reduce_offset(&plan->kept, at + (int64_t)l) * (int64_t)sizeof(float);
        for (size_t i = 0; i < n; i++) memcpy(&turned[i][l], p + i * sizeof(float), sizeof(float));
    }
    for (size_t i = 0; i < n; i++) all = column_step(k, all, vf_load(turned[i]));
    vf_store_n((float *)call->out[0]->data + at, column_finish(k, all, (int64_t)n), lanes);
}

/* VF results from `at` on that are sums, of a row each of a few vectors: their lanes are added up
 * side by side. */
static void reduce_some(const onx_call *call, kind k, int64_t at) {
    const onx_reduce_plan *plan = call->plan;
    size_t n = (size_t)plan->reduced.count;
    vf sums[VF], none = vf_zero();
    for (size_t l = 0; l < VF; l++) {
        const float *p =
            (const float *)call->in[0]->data + onx_reduce_offset(&plan->kept, at + (int64_t)l);
        sums[l] = k == L1                      ? row_sum_abs_lanes(p, n, none)
                  : k == L2 || k == SUM_SQUARE ? row_sum_square_lanes(p, n, none)
                                               : row_sum_lanes(p, n, none);
    }
    vf_store((float *)call->out[0]->data + at,
             column_finish(k, row_lanes_sums(sums), plan->reduced.count));
}

/* Are elements of one result next to each other? */
static bool by_rows(const onx_reduce_plan *plan) {
    const onx_reduce_axes *reduced = &plan->reduced;
    return reduced->n == 0 || plan->kept.n == 0 || reduced->strides[reduced->n - 1] == 1;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_reduce_plan *plan = call->plan;
    kind k = kind_of(call);
    int64_t grain = onx_reduce_grain(plan, VF), at = (int64_t)index * grain;
    int64_t end = at + grain < plan->kept.count ? at + grain : plan->kept.count;
    if (by_rows(plan) && plan->reduced.n == 1 && plan->reduced.count < VF) {
        for (; at < end; at += VF)
            reduce_short(call, k, at, (size_t)(end - at < VF ? end - at : VF));
        return ONX_OK;
    }
    bool few = plan->reduced.n == 1 && plan->reduced.count <= SOME * VF && k != MAX && k != MIN;
    if (by_rows(plan)) {
        for (; few && at + VF <= end; at += VF) reduce_some(call, k, at);
        reduce_rows(call, k, at, end);
        return ONX_OK;
    }
    int64_t inner = plan->kept.dims[plan->kept.n - 1];
    while (at < end) {
        int64_t lanes = inner - at % inner;
        if (lanes > end - at) lanes = end - at;
        if (lanes > VF) lanes = lanes < WIDE * VF ? VF : WIDE * VF;
        reduce_columns(call, k, at, (size_t)lanes);
        at += lanes;
    }
    return ONX_OK;
}

static onx_status run_tasks(onx_call *call, onx_task *some) {
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, VF);
    if (call->out[0]->count == 0) return ONX_OK;
    return onx_call_parallel(call, (size_t)((plan->kept.count + grain - 1) / grain), some, NULL);
}
static onx_status run(onx_call *call) {
    return run_tasks(call, task);
}

/* ─ The logarithm of a sum of powers ─────────────────────────────────────────────────────────── */

/* log(sum(exp(x))) = m + log(sum(exp(x - m))), of the largest element m if that is finite. */
ROW_SUM(row_sum_exp, vf_exp(x - m))

static void powers_of_rows(const onx_call *call, int64_t at) {
    const onx_reduce_plan *plan = call->plan;
    onx_reduce_axes outer = plan->reduced;
    int64_t n = outer.n ? outer.dims[--outer.n] : 1, count = n ? plan->reduced.count / n : 0;
    const float *base = call->in[0]->data; /* of nothing: NULL */
    if (count) base += onx_reduce_offset(&plan->kept, at);
    double m = start(MAX), sum = 0;
    for (int64_t r = 0; r < count; r++)
        m = join(MAX, m, (double)row_max(base + onx_reduce_offset(&outer, r), (size_t)n));
    if (!isfinite(m)) m = 0;
    for (int64_t r = 0; r < count; r++)
        sum += row_sum_exp(base + onx_reduce_offset(&outer, r), (size_t)n, (float)m);
    float result = (float)(m + log(sum));
    memcpy((char *)call->out[0]->data + (size_t)at * sizeof result, &result, sizeof result);
}

/* Up to VF results that lie together, from `at` on. */
static void powers_of_columns(const onx_call *call, int64_t at, size_t lanes) {
    const onx_reduce_plan *plan = call->plan;
    onx_reduce_axes outer = plan->reduced;
    int64_t n = outer.dims[--outer.n], stride = outer.strides[outer.n];
    int64_t base = onx_reduce_offset(&plan->kept, at), count = n ? plan->reduced.count / n : 0;
    const float *in = call->in[0]->data;
    vf m = vf_set(-INFINITY), all = vf_zero();
    if (count) in += base;
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0, from = onx_reduce_offset(&outer, r); i < n; i++, from += stride)
            m = vf_max_nan(m, vf_load_n(in + from, lanes));
    m = vf_select(vf_abs(m) < INFINITY, m, vf_zero());
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0, from = onx_reduce_offset(&outer, r); i < n;) {
            vf some = vf_zero();
            for (int64_t end = n - i < COLUMN_BLOCK ? n : i + COLUMN_BLOCK; i < end; i++) {
                some += vf_exp(vf_load_n(in + from, lanes) - m);
                from += stride;
            }
            all += some;
        }
    vf_store_n((float *)call->out[0]->data + at, m + vf_log(all), lanes);
}

static onx_status powers_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, VF), at = (int64_t)index * grain;
    int64_t end = at + grain < plan->kept.count ? at + grain : plan->kept.count;
    bool rows = by_rows(plan);
    while (at < end) {
        int64_t inner = rows ? 1 : plan->kept.dims[plan->kept.n - 1], lanes = inner - at % inner;
        if (lanes > end - at) lanes = end - at;
        if (lanes > VF) lanes = VF;
        if (rows)
            powers_of_rows(call, at);
        else
            powers_of_columns(call, at, (size_t)lanes);
        at += lanes;
    }
    return ONX_OK;
}

static onx_status powers_run(onx_call *call) {
    return run_tasks(call, powers_task);
}

/* ─ Where the extreme is ─────────────────────────────────────────────────────────────────────── */

/* The first place, or the last, where x stands or, if that is NaN, a NaN. It is there. */
static int64_t find_in_row(const float *p, int64_t n, float x, bool last) {
    int64_t at = last ? n - 1 : 0, step = last ? -1 : 1;
    for (;; at += step) {
        float y;
        memcpy(&y, (const char *)p + (size_t)at * sizeof y, sizeof y);
        if (y == x || (y != y && x != x)) return at;
    }
}

static onx_status arg_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_reduce_plan *plan = call->plan;
    const onx_arg_state *st = call->state;
    int64_t n = plan->reduced.count, grain = onx_reduce_grain(plan, 1);
    for (int64_t i = (int64_t)index * grain; grain-- > 0 && i < plan->kept.count; i++) {
        const float *p = (const float *)call->in[0]->data + onx_reduce_offset(&plan->kept, i);
        float extreme = st->min ? row_min(p, (size_t)n) : row_max(p, (size_t)n);
        int64_t found = find_in_row(p, n, extreme, st->last);
        memcpy((char *)call->out[0]->data + (size_t)i * sizeof found, &found, sizeof found);
    }
    return ONX_OK;
}

/* Places i … i+VF-1, whose elements lie together, down the axis. NaN is beyond every number. */
static void arg_columns(const onx_call *call, int64_t i, int64_t n, int64_t stride) {
    const onx_reduce_plan *plan = call->plan;
    const onx_arg_state *st = call->state;
    const float *p = (const float *)call->in[0]->data + onx_reduce_offset(&plan->kept, i);
    const vi last = vi_set(st->last ? -1 : 0);
    vf best = vf_load(p);
    vi found = vi_set(0);
    int32_t at[VF];
    for (int64_t r = 1; r < n; r++) {
        vf x = vf_load(p + r * stride);
        vi odd = x != x, is_odd = best != best;
        vi beats = (st->min ? x < best : x > best) | (odd & ~is_odd) |
                   (last & ((x == best) | (odd & is_odd)));
        best = vf_select(beats, x, best);
        found = (found & ~beats) | (vi_set((int32_t)r) & beats);
    }
    memcpy(at, &found, sizeof at);
    for (size_t l = 0; l < VF; l++) {
        int64_t place = at[l];
        memcpy((char *)call->out[0]->data + ((size_t)i + l) * sizeof place, &place, sizeof place);
    }
}

/* A task is one run of places that lie together; the last vector overlaps the one before. */
static onx_status arg_columns_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_reduce_plan *plan = call->plan;
    int64_t width = plan->reduced.strides[0], first = (int64_t)index * width;
    (void)user, (void)scratch;
    for (int64_t i = 0; i < width; i += VF)
        arg_columns(call, first + (i + VF <= width ? i : width - VF), plan->reduced.count, width);
    return ONX_OK;
}

static onx_status arg_run(onx_call *call) {
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, 1);
    bool rows = plan->reduced.n == 1 && plan->reduced.strides[0] == 1;
    bool columns_lie =
        plan->reduced.n == 1 && plan->reduced.strides[0] >= VF && plan->reduced.count <= INT32_MAX;
    if (call->out[0]->count && columns_lie)
        return onx_call_parallel(call, (size_t)(plan->kept.count / plan->reduced.strides[0]),
                                 arg_columns_task, NULL);
    if (!rows || call->out[0]->count == 0) return onx_arg_run(call);
    return onx_call_parallel(call, (size_t)((plan->kept.count + grain - 1) / grain), arg_task,
                             NULL);
}

#define ARG(op_, name_)                                                                            \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(F32)}, .name = name_,                               \
        .plan_bytes = sizeof(onx_reduce_plan), .init = onx_arg_init, .bind = onx_arg_bind,         \
        .run = arg_run                                                                             \
    }
#define RUN(op_, name_, run_)                                                                      \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(F32), ONX_T_INDEX}, .name = name_, .host = 2,       \
        .plan_bytes = sizeof(onx_reduce_plan), .init = onx_reduce_init, .bind = onx_reduce_bind,   \
        .run = run_                                                                                \
    }
#define ROW(op_, name_) RUN(op_, name_, run)
#define TYPED(op_, name_)                                                                          \
    {                                                                                              \
        .op = op_, .first = 1,                                                                     \
        .types = {ONX_T(U8) | ONX_T(I8) | ONX_T_INDEX | ONX_T(F32) | ONX_T(F64), ONX_T_INDEX},     \
        .name = name_, .host = 2, .plan_bytes = sizeof(onx_reduce_plan),                           \
        .init = ONX_TIER(onx_reduce_typed_init), .bind = onx_reduce_bind,                          \
        .run = ONX_TIER(onx_reduce_typed_run)                                                      \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_reduce);
onx_kernel_rows ONX_TIER(onx_kernels_reduce) = {
    ARG("ArgMax", "arg_max_f32"),
    ARG("ArgMin", "arg_min_f32"),
    ROW("ReduceL1", "reduce_l1_f32"),
    TYPED("ReduceL1", "reduce_l1_typed"),
    ROW("ReduceL2", "reduce_l2_f32"),
    TYPED("ReduceL2", "reduce_l2_typed"),
    ROW("ReduceLogSum", "reduce_log_sum_f32"),
    RUN("ReduceLogSumExp", "reduce_log_sum_exp_f32", powers_run),
    ROW("ReduceMax", "reduce_max_f32"),
    TYPED("ReduceMax", "reduce_max_typed"),
    ROW("ReduceMean", "reduce_mean_f32"),
    TYPED("ReduceMean", "reduce_mean_typed"),
    ROW("ReduceMin", "reduce_min_f32"),
    TYPED("ReduceMin", "reduce_min_typed"),
    TYPED("ReduceProd", "reduce_prod_typed"),
    ROW("ReduceSum", "reduce_sum_f32"),
    TYPED("ReduceSum", "reduce_sum_typed"),
    ROW("ReduceSumSquare", "reduce_sum_square_f32"),
    TYPED("ReduceSumSquare", "reduce_sum_square_typed"),
    {0},
};
