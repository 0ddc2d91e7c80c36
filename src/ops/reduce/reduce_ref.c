/* reduce_ref.c: ReduceSum and others: plain loops, all types.
 *
 * Floats are added in double precision, integers in 64 bits, of which the low ones are kept. A
 * quotient of integers is rounded to zero. Nothing at all adds up to 0, multiplies to 1, has the
 * largest element -inf (or the least number of the type) and the mean NaN (of integers: 0). */
#include "ops/reduce/reduce_ref.h"

#include <math.h>

enum { SPAN = 256 };

/* ─ Axes ─────────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_reduce_init(onx_call *call) {
    onx_reduce_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    const int64_t *axes = onx_op_ints(call->node, "axes", &st->n_axes);
    st->keepdims = onx_call_int(call, "keepdims") != 0;
    st->noop = onx_call_int(call, "noop_with_empty_axes") != 0;
    st->by_input = onx_call_in(call, 1);
    if (st->by_input || !axes) st->n_axes = 0;
    if (st->n_axes > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_INVALID, "there are %zu axes", st->n_axes);
    if (st->n_axes) memcpy(st->axes, axes, st->n_axes * sizeof *axes);
    return ONX_OK;
}

onx_status onx_reduce_mark(const onx_call *call, const onx_reduce_state *st, bool *reduced) {
    size_t rank = call->in[0]->rank;
    int64_t n = st->by_input ? call->in[1]->count : (int64_t)st->n_axes;
    for (size_t d = 0; d < rank; d++) reduced[d] = n == 0 && !st->noop;
    for (int64_t i = 0; i < n; i++) {
        size_t d;
        int64_t axis = st->by_input ? onx_operand_int(call->in[1], i) : st->axes[i];
        if (!onx_axis(axis, rank, &d))
            return onx_call_fail(call, ONX_INVALID, "axis %lld is not a dimension of rank %zu",
                                 (long long)axis, rank);
        reduced[d] = true;
    }
    return ONX_OK;
}

/* Of an empty tensor the other sizes can have any product. */
static void multiply(int64_t *product, int64_t factor) {
    if (!onx_mul_i64(*product, factor, product)) *product = INT64_MAX;
}

/* Adds a dimension of the input that lies inside those before it. */
static void add_axis(onx_reduce_axes *axes, int64_t dim, int64_t stride, bool merge) {
    multiply(&axes->count, dim);
    if (dim == 1) return;
    if (!merge || !axes->n) axes->dims[axes->n++] = 1;
    multiply(&axes->dims[axes->n - 1], dim);
    axes->strides[axes->n - 1] = stride;
}

void onx_reduce_split(const onx_operand *in, const bool *reduced, onx_reduce_plan *plan) {
    int64_t stride = in->count;
    const onx_reduce_axes *last = NULL;
    *plan = (onx_reduce_plan){.kept = {.count = 1}, .reduced = {.count = 1}};
    for (size_t d = 0; d < in->rank; d++) {
        onx_reduce_axes *axes = reduced[d] ? &plan->reduced : &plan->kept;
        stride = in->dims[d] ? stride / in->dims[d] : 0;
        add_axis(axes, in->dims[d], stride, last == axes);
        if (in->dims[d] != 1) last = axes;
    }
}

onx_status onx_reduce_shape(onx_call *call, onx_dtype dtype, const bool *reduced, bool keepdims,
                            onx_reduce_plan *plan) {
    const onx_operand *in = call->in[0];
    int64_t dims[ONX_RANK_MAX];
    size_t rank = 0;
    onx_reduce_split(in, reduced, plan);
    for (size_t d = 0; d < in->rank; d++)
        if (!reduced[d] || keepdims) dims[rank++] = reduced[d] ? 1 : in->dims[d];
    return onx_call_shape(call, 0, dtype, rank, dims);
}

onx_status onx_reduce_bind(onx_call *call) {
    const onx_reduce_state *st = call->state;
    bool reduced[ONX_RANK_MAX];
    ONX_TRY(onx_reduce_mark(call, st, reduced));
    return onx_reduce_shape(call, (onx_dtype)call->in[0]->dtype, reduced, st->keepdims, call->plan);
}

/* ─ Steps ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct rule {
    const char *op;
    double start;                         /* of nothing */
    double (*f)(double sum, double x);    /* one element more */
    double (*end)(double sum, double n);  /* NULL: that is it */
    int64_t (*s)(int64_t sum, int64_t x); /* NULL: integers are computed as doubles, too */
    uint64_t (*u)(uint64_t sum, uint64_t x);
    bool extreme; /* starts with an element */
    bool mean;    /* of integers: divide in the end */
    bool shifted; /* log_sum_exp */
} rule;

#define STEP(type, name, expression)                                                               \
    static type name(type sum, type x) {                                                           \
        return (type)(expression);                                                                 \
    }
#define STEPS(name, floats, ints)                                                                  \
    STEP(double, f_##name, floats)                                                                 \
    STEP(int64_t, s_##name, ints)                                                                  \
    STEP(uint64_t, u_##name, ints)
#define U(x) ((uint64_t)(x))

STEPS(add, sum + x, U(sum) + U(x))
STEPS(mul, sum *x, U(sum) * U(x))
STEPS(square, sum + x * x, U(sum) + U(x) * U(x))
STEPS(max, sum > x || sum != sum ? sum : x, sum > x ? sum : x)
STEPS(min, sum < x || sum != sum ? sum : x, sum < x ? sum : x)
STEP(double, f_abs, sum + fabs(x))
STEP(int64_t, s_abs, x < 0 ? U(sum) - U(x) : U(sum) + U(x))

static double end_mean(double sum, double n) {
    return sum / n;
}
static double end_sqrt(double sum, double n) {
    (void)n;
    return sqrt(sum);
}
static double end_log(double sum, double n) {
    (void)n;
    return log(sum);
}

static const rule largest = {
    .op = "ReduceMax", .start = -INFINITY, .f = f_max, .s = s_max, .u = u_max, .extreme = true};
static const rule rules[] = {
    {.op = "ReduceL1", .f = f_abs, .s = s_abs, .u = u_add},
    {.op = "ReduceL2", .f = f_square, .end = end_sqrt},
    {.op = "ReduceLogSum", .f = f_add, .end = end_log},
    {.op = "ReduceLogSumExp", .f = f_add, .shifted = true},
    {.op = "ReduceMean", .f = f_add, .end = end_mean, .s = s_add, .u = u_add, .mean = true},
    {.op = "ReduceMin", .start = INFINITY, .f = f_min, .s = s_min, .u = u_min, .extreme = true},
    {.op = "ReduceProd", .start = 1, .f = f_mul, .s = s_mul, .u = u_mul},
    {.op = "ReduceSum", .f = f_add, .s = s_add, .u = u_add},
    {.op = "ReduceSumSquare", .f = f_square, .s = s_square, .u = u_square},
};

static onx_status init(onx_call *call) {
    ONX_TRY(onx_reduce_init(call));
    onx_reduce_state *st = call->state;
    st->rule = &largest;
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (strcmp(rules[i].op, call->op->name) == 0) st->rule = &rules[i];
    return ONX_OK;
}

/* ─ Elements ─────────────────────────────────────────────────────────────────────────────────── */

typedef union wide {
    double f;
    int64_t s;
    uint64_t u;
} wide;

static onx_dtype wide_type(const rule *r, onx_dtype dtype) {
    if (!r->s || !((ONX_T_INTS | ONX_T(BOOL)) >> dtype & 1)) return ONX_DTYPE_F64;
    return dtype == ONX_DTYPE_U64 ? dtype : ONX_DTYPE_I64;
}

void onx_reduce_gather(const onx_operand *in, const onx_reduce_axes *axes, int64_t base, int64_t at,
                       size_t n, void *to) {
    size_t size = onx_dtype_bits((onx_dtype)in->dtype) / 8;
    int64_t index[ONX_RANK_MAX], offset = base;
    for (size_t d = axes->n; d-- > 0; at /= axes->dims[d]) {
        index[d] = at % axes->dims[d];
        offset += index[d] * axes->strides[d];
    }
    if (axes->n == 1 && axes->strides[0] == 1) {
        memcpy(to, (const char *)in->data + (size_t)offset * size, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)to + i * size, (const char *)in->data + (size_t)offset * size, size);
        for (size_t d = axes->n; d-- > 0;) {
            offset += axes->strides[d];
            if (++index[d] < axes->dims[d]) break;
            offset -= index[d] * axes->strides[d];
            index[d] = 0;
        }
    }
}

/* The same, widened. */
static void fetch(const onx_operand *in, const onx_reduce_axes *axes, int64_t base, int64_t at,
                  size_t n, onx_dtype to, wide *out) {
    char raw[SPAN * sizeof(wide)];
    onx_reduce_gather(in, axes, base, at, n, raw);
    (void)onx_dtype_convert((onx_dtype)in->dtype, raw, to, out, n, false);
}

static void step(const rule *r, onx_dtype type, const wide *x, size_t n, wide *sum) {
    if (type == ONX_DTYPE_F64)
        for (size_t i = 0; i < n; i++) sum->f = r->f(sum->f, x[i].f);
    else if (type == ONX_DTYPE_I64)
        for (size_t i = 0; i < n; i++) sum->s = r->s(sum->s, x[i].s);
    else
        for (size_t i = 0; i < n; i++) sum->u = r->u(sum->u, x[i].u);
}

/* All elements of one result; of exp(x - *shift) where there is one. */
static wide fold(const onx_call *call, const rule *r, int64_t base, onx_dtype type,
                 const double *shift) {
    const onx_reduce_axes *axes = &((const onx_reduce_plan *)call->plan)->reduced;
    wide x[SPAN], sum;
    (void)onx_dtype_convert(ONX_DTYPE_F64, &r->start, type, &sum, 1, true);
    for (int64_t at = 0; at < axes->count && !onx_call_stopped(call); at += SPAN) {
        size_t n = (size_t)(axes->count - at < SPAN ? axes->count - at : SPAN);
        fetch(call->in[0], axes, base, at, n, type, x);
        for (size_t i = 0; shift && i < n; i++) x[i].f = exp(x[i].f - *shift);
        if (r->extreme && at == 0) sum = x[0];
        step(r, type, x, n, &sum);
    }
    return sum;
}

/* log(sum(exp(x))) = m + log(sum(exp(x - m))), of the largest element m if that is finite. */
static double log_sum_exp(const onx_call *call, const rule *r, int64_t base) {
    double m = fold(call, &largest, base, ONX_DTYPE_F64, NULL).f;
    if (!isfinite(m)) m = 0;
    return m + log(fold(call, r, base, ONX_DTYPE_F64, &m).f);
}

static void reduce(const onx_call *call, const rule *r, int64_t at) {
    const onx_reduce_plan *plan = call->plan;
    const onx_operand *out = call->out[0];
    onx_dtype dtype = (onx_dtype)out->dtype, type = wide_type(r, dtype);
    char *to = (char *)out->data + (size_t)at * (onx_dtype_bits(dtype) / 8);
    int64_t n = plan->reduced.count, base = onx_reduce_offset(&plan->kept, at);
    if (r->extreme && n == 0) { /* straight to the type, for its own limits */
        double none = dtype == ONX_DTYPE_BOOL ? r->start > 0 : r->start;
        (void)onx_dtype_convert(ONX_DTYPE_F64, &none, dtype, to, 1, true);
        return;
    }
    wide sum;
    if (r->shifted)
        sum.f = log_sum_exp(call, r, base);
    else
        sum = fold(call, r, base, type, NULL);
    if (type == ONX_DTYPE_F64 && r->end) sum.f = r->end(sum.f, (double)n);
    if (type == ONX_DTYPE_I64 && r->mean) sum.s = n ? sum.s / n : 0;
    if (type == ONX_DTYPE_U64 && r->mean) sum.u = n ? sum.u / (uint64_t)n : 0;
    (void)onx_dtype_convert(type, &sum, dtype, to, 1, false);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_reduce_state *st = call->state;
    int64_t grain = onx_reduce_grain(call->plan, 1), at = (int64_t)index * grain;
    for (int64_t i = at; i < at + grain && i < call->out[0]->count; i++) reduce(call, st->rule, i);
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

static onx_status run(onx_call *call) {
    int64_t grain = onx_reduce_grain(call->plan, 1);
    return onx_call_parallel(call, (size_t)((call->out[0]->count + grain - 1) / grain), task, NULL);
}

#define INTEGERS (ONX_T_INTS | ONX_T(BOOL))
#define ROW(op_, name_)                                                                            \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T_FLOATS | INTEGERS, ONX_T_INDEX}, .name = name_,     \
        .host = 2, .plan_bytes = sizeof(onx_reduce_plan), .init = init, .bind = onx_reduce_bind,   \
        .run = run                                                                                 \
    }
#define ARG(op_, name_)                                                                            \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T_NUMBERS}, .name = name_,                            \
        .plan_bytes = sizeof(onx_reduce_plan), .init = onx_arg_init, .bind = onx_arg_bind,         \
        .run = onx_arg_run                                                                         \
    }

extern onx_kernel_rows onx_kernels_reduce_ref;
onx_kernel_rows onx_kernels_reduce_ref = {
    ARG("ArgMax", "arg_max"),
    ARG("ArgMin", "arg_min"),
    ROW("ReduceL1", "reduce_l1"),
    ROW("ReduceL2", "reduce_l2"),
    ROW("ReduceLogSum", "reduce_log_sum"),
    ROW("ReduceLogSumExp", "reduce_log_sum_exp"),
    ROW("ReduceMax", "reduce_max"),
    ROW("ReduceMean", "reduce_mean"),
    ROW("ReduceMin", "reduce_min"),
    ROW("ReduceProd", "reduce_prod"),
    ROW("ReduceSum", "reduce_sum"),
    ROW("ReduceSumSquare", "reduce_sum_square"),
    {0},
};
