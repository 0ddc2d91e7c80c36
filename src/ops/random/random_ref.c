/* random_ref.c: numbers drawn at random: RandomNormal, RandomUniform, those like another tensor,
 * Bernoulli, Multinomial, and Dropout's rows (dropout_ref.c).
 *
 * Seeds, and what runs have in common: twister_ref.h. Numbers are drawn one after the other. */
#include "ops/random/dropout_ref.h"
#include "ops/random/twister_ref.h"

#include <math.h>

enum { SPAN = 256, CHECK = 64 * SPAN };

/* ─ Normal, Uniform ──────────────────────────────────────────────────────────────────────────── */

typedef struct state {
    onx_seed seed;
    double add, times;
    bool normal;
    onx_dtype dtype; /* NONE: that of the input */
    size_t rank;
    int64_t dims[ONX_RANK_MAX];
} state;

static onx_status init_shape(onx_call *call, state *st) {
    const int64_t *dims = onx_op_ints(call->node, "shape", &st->rank);
    if (!onx_op_has(call->node, "shape"))
        return onx_call_fail(call, ONX_INVALID, "attribute shape is missing");
    if (st->rank > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_UNSUPPORTED, "the shape has %zu dimensions; %d are possible",
                             st->rank, ONX_RANK_MAX);
    if (st->rank) memcpy(st->dims, dims, st->rank * sizeof *dims);
    return ONX_OK;
}

static bool is_drawn(int64_t dtype) {
    return dtype > 0 && dtype < 32 && (ONX_T_FLOATS >> dtype & 1);
}

static onx_status init_dtype(onx_call *call, state *st) {
    bool like = call->n_in > 0;
    if (like && !onx_op_has(call->node, "dtype")) {
        if (is_drawn(call->in[0]->dtype)) return ONX_OK;
        return onx_call_fail(call, ONX_INVALID, "the input is %s: without dtype it must be a float",
                             onx_dtype_name((onx_dtype)call->in[0]->dtype));
    }
    int64_t dtype = onx_call_int(call, "dtype");
    if (!is_drawn(dtype))
        return onx_call_fail(call, ONX_INVALID, "dtype is %lld, which is not a float",
                             (long long)dtype);
    st->dtype = (onx_dtype)dtype;
    return ONX_OK;
}

static onx_status init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    onx_seed_init(&st->seed, call);
    st->normal = strncmp(call->op->name, "RandomNormal", 12) == 0;
    st->add = (double)onx_call_float(call, st->normal ? "mean" : "low");
    st->times = (double)onx_call_float(call, st->normal ? "scale" : "high");
    if (!st->normal) st->times -= st->add;
    ONX_TRY(init_dtype(call, st));
    return call->n_in ? ONX_OK : init_shape(call, st);
}

static onx_status bind(onx_call *call) {
    const state *st = call->state;
    const onx_operand *like = onx_call_in(call, 0);
    if (!like) return onx_call_shape(call, 0, st->dtype, st->rank, st->dims);
    onx_dtype dtype = st->dtype ? st->dtype : (onx_dtype)like->dtype;
    return onx_call_shape(call, 0, dtype, like->rank, like->dims);
}

static onx_status run(onx_call *call) {
    state *st = call->state;
    const onx_operand *out = call->out[0];
    double x[SPAN];
    onx_twister t;
    onx_twister_start(&t, &st->seed);
    for (int64_t i = 0; i < out->count; i += SPAN) {
        size_t n = out->count - i < SPAN ? (size_t)(out->count - i) : SPAN;
        for (size_t e = 0; e < n; e++) {
            x[e] = st->normal ? onx_twister_normal(&t) : onx_twister_uniform(&t);
            x[e] = st->add + st->times * x[e];
        }
        onx_operand_put(out, (size_t)i, n, x);
        if (i % CHECK == 0) ONX_TRY(onx_call_check(call));
    }
    return ONX_OK;
}

/* ─ Bernoulli ────────────────────────────────────────────────────────────────────────────────── */

typedef struct bernoulli {
    onx_seed seed;
    onx_dtype dtype;
} bernoulli;

static onx_status init_bernoulli(onx_call *call) {
    bernoulli *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    onx_seed_init(&st->seed, call);
    int64_t dtype = call->in[0]->dtype;
    if (onx_op_has(call->node, "dtype")) dtype = onx_call_int(call, "dtype");
    if (dtype <= 0 || dtype >= 32 || !((ONX_T_NUMBERS | ONX_T(BOOL)) >> dtype & 1))
        return onx_call_fail(call, ONX_INVALID, "dtype is %lld, which is no number or bool",
                             (long long)dtype);
    st->dtype = (onx_dtype)dtype;
    return ONX_OK;
}

static onx_status bind_bernoulli(onx_call *call) {
    const bernoulli *st = call->state;
    return onx_call_shape(call, 0, st->dtype, call->in[0]->rank, call->in[0]->dims);
}

/* As NumPy's binomial(1, p) has it. */
static double draw_bernoulli(onx_twister *t, double p) {
    double u = onx_twister_uniform(t);
    return p > 0.5 ? u <= p : p > 0 && u > 1 - p;
}

static onx_status run_bernoulli(onx_call *call) {
    bernoulli *st = call->state;
    const onx_operand *in = call->in[0], *out = call->out[0];
    double x[SPAN];
    onx_twister t;
    onx_twister_start(&t, &st->seed);
    for (int64_t i = 0; i < in->count; i += SPAN) {
        size_t n = in->count - i < SPAN ? (size_t)(in->count - i) : SPAN;
        onx_operand_get(in, (size_t)i, n, x);
        for (size_t e = 0; e < n; e++) x[e] = draw_bernoulli(&t, x[e]);
        onx_operand_put(out, (size_t)i, n, x);
        if (i % CHECK == 0) ONX_TRY(onx_call_check(call));
    }
    return ONX_OK;
}

/* ─ Multinomial: classes drawn by their logarithmic weights ──────────────────────────────────── */

typedef struct multinomial {
    onx_seed seed;
    onx_dtype dtype;
    int64_t samples;
} multinomial;

static onx_status init_multinomial(onx_call *call) {
    multinomial *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    onx_seed_init(&st->seed, call);
    st->dtype = (onx_dtype)onx_call_int(call, "dtype");
    st->samples = onx_call_int(call, "sample_size");
    if (st->dtype != ONX_DTYPE_I32 && st->dtype != ONX_DTYPE_I64)
        return onx_call_fail(call, ONX_INVALID, "dtype must be int32 or int64");
    if (st->samples < 0)
        return onx_call_fail(call, ONX_INVALID, "sample_size is %lld", (long long)st->samples);
    return ONX_OK;
}

static onx_status bind_multinomial(onx_call *call) {
    const multinomial *st = call->state;
    const onx_operand *in = call->in[0];
    if (in->rank != 2)
        return onx_call_fail(call, ONX_INVALID,
                             "the input has %u dimensions; it needs batch and "
                             "classes",
                             (unsigned)in->rank);
    if (in->dims[1] > INT32_MAX ||
        !onx_mul_size((size_t)in->dims[1], sizeof(double), &call->scratch_bytes))
        return onx_call_fail(call, ONX_LIMIT, "%lld are too many classes", (long long)in->dims[1]);
    if (in->dims[0] && st->samples && !in->dims[1])
        return onx_call_fail(call, ONX_INVALID, "there are no classes to draw from");
    return onx_call_shape(call, 0, st->dtype, 2, (int64_t[]){in->dims[0], st->samples});
}

/* The sums of the weights up to each class, of which the largest is 1. False: a row is not fit. */
static bool sum_weights(const onx_operand *in, int64_t row, double *sums) {
    size_t n = (size_t)in->dims[1];
    double largest = -INFINITY, sum = 0;
    onx_operand_get(in, (size_t)row * n, n, sums);
    for (size_t i = 0; i < n; i++) {
        if (isnan(sums[i])) return false;
        if (sums[i] > largest) largest = sums[i];
    }
    if (isinf(largest)) return false;
    for (size_t i = 0; i < n; i++) sums[i] = sum += exp(sums[i] - largest);
    return true;
}

/* The first class whose sum is above the number; never one of weight 0. */
static int64_t find_class(const double *sums, size_t n, double number) {
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sums[middle] > number)
            high = middle;
        else
            low = middle + 1;
    }
    return (int64_t)low;
}

static onx_status draw_row(onx_call *call, onx_twister *t, int64_t row, const double *sums) {
    const multinomial *st = call->state;
    size_t n = (size_t)call->in[0]->dims[1], size = onx_dtype_bits(st->dtype) / 8;
    char *out = (char *)call->out[0]->data + (size_t)(row * st->samples) * size;
    for (int64_t i = 0; i < st->samples; i++) {
        int64_t class = find_class(sums, n, onx_twister_uniform(t) * sums[n - 1]);
        memcpy(out + (size_t)i * size, &class, size);
        if (i % CHECK == 0) ONX_TRY(onx_call_check(call));
    }
    return ONX_OK;
}

static onx_status run_multinomial(onx_call *call) {
    multinomial *st = call->state;
    onx_twister t;
    onx_twister_start(&t, &st->seed);
    for (int64_t row = 0; row < call->in[0]->dims[0] && call->out[0]->count; row++) {
        if (!sum_weights(call->in[0], row, call->scratch))
            return onx_call_fail(call, ONX_INVALID,
                                 "row %lld is no distribution: it needs a largest, finite number",
                                 (long long)row);
        ONX_TRY(draw_row(call, &t, row, call->scratch));
    }
    return ONX_OK;
}

#define ROW(op_, name_)                                                                            \
    { .op = op_, .first = 1, .name = name_, .init = init, .bind = bind, .run = run }
#define LIKE(op_, name_)                                                                           \
    {                                                                                              \
        .op = op_, .first = 1, .name = name_, .flags = ONX_KERNEL_SHAPE | ONX_KERNEL_OBJECTS,      \
        .init = init, .bind = bind, .run = run                                                     \
    }

extern onx_kernel_rows onx_kernels_random_ref;
onx_kernel_rows onx_kernels_random_ref = {
    {.op = "Bernoulli",
     .first = 15,
     .types = {ONX_T_FLOATS},
     .name = "bernoulli",
     .overwrite = 1,
     .init = init_bernoulli,
     .bind = bind_bernoulli,
     .run = run_bernoulli},
    {.op = "Dropout",
     .first = 1,
     .types = {ONX_DROPOUT_TYPES},
     .name = "dropout_none",
     .flags = ONX_KERNEL_VIEW,
     .init = onx_dropout_init_none,
     .bind = onx_bind_same},
    {.op = "Dropout",
     .first = 1,
     .types = {ONX_DROPOUT_TYPES},
     .name = "dropout",
     .overwrite = 1,
     .init = onx_dropout_init,
     .bind = onx_dropout_bind,
     .run = onx_dropout_run},
    {.op = "Multinomial",
     .first = 7,
     .types = {ONX_T_FLOATS},
     .name = "multinomial",
     .init = init_multinomial,
     .bind = bind_multinomial,
     .run = run_multinomial},
    ROW("RandomNormal", "random_normal"),
    LIKE("RandomNormalLike", "random_normal_like"),
    ROW("RandomUniform", "random_uniform"),
    LIKE("RandomUniformLike", "random_uniform_like"),
    {0},
};
