/* ms_matmul_ref.c: FusedMatMul and FusedGemm: plain kernels. The first is a contraction (its
 * matrices may be turned, and their rows may stand before the batch); the second is Gemm, and then
 * a function of each element. */
#include "ops/einsum/contract_ref.h"
#include "ops/matmul/matmul_ref.h"
#include "ops/microsoft/microsoft_ref.h"

#include <math.h>

/* ─ FusedMatMul ──────────────────────────────────────────────────────────────────────────────── */

typedef struct state {
    bool turn[2], batch[2]; /* transA, transB; transBatchA, transBatchB */
    float alpha;
} state;

onx_status onx_ms_matmul_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->alpha = onx_call_float(call, "alpha");
    st->turn[0] = onx_call_int(call, "transA") != 0;
    st->turn[1] = onx_call_int(call, "transB") != 0;
    st->batch[0] = onx_call_int(call, "transBatchA") != 0;
    st->batch[1] = onx_call_int(call, "transBatchB") != 0;
    return onx_contract_bytes(call, 2, &call->plan_bytes);
}

enum {
    ROWS,
    COLUMNS,
    INNER,
    BATCH
}; /* labels; the last one of the batch is BATCH, the one before
                                         it BATCH + 1 … */

/* The label of a dimension of an operand. */
static uint8_t label_of(const onx_call *call, size_t index, size_t dim) {
    const state *st = call->state;
    size_t rank = call->in[index]->rank, row = st->batch[index] ? 0 : rank - 2;
    if (rank == 1) return INNER;
    if (dim != row && dim != rank - 1) return (uint8_t)(BATCH + rank - 3 - dim + st->batch[index]);
    bool outer = (dim == row) == (index == 0);
    return outer == st->turn[index] ? INNER : index ? COLUMNS : ROWS;
}

static int64_t inner_of(const onx_call *call, size_t index) {
    size_t d = 0;
    while (label_of(call, index, d) != INNER) d++;
    return call->in[index]->dims[d];
}

static onx_status check(const onx_call *call) {
    const state *st = call->state;
    const onx_operand *a = call->in[0], *b = call->in[1];
    if (a->rank == 0 || b->rank == 0)
        return onx_call_fail(call, ONX_INVALID,
                             "FusedMatMul needs operands of at least one dimension");
    if ((st->batch[0] || st->batch[1]) && (a->rank < 3 || a->rank != b->rank))
        return onx_call_fail(call, ONX_INVALID,
                             "transBatchA and transBatchB need operands of one rank, of at least "
                             "3, not %u and %u",
                             (unsigned)a->rank, (unsigned)b->rank);
    return ONX_OK;
}

onx_status onx_ms_matmul_bind(onx_call *call) {
    const state *st = call->state;
    uint8_t out[ONX_RANK_MAX];
    size_t rank = 0;
    ONX_TRY(check(call));
    onx_contract *plan = onx_contract_begin(call, 2);
    plan->alpha = (double)st->alpha;
    for (size_t i = 0; i < 2; i++)
        for (size_t d = 0; d < call->in[i]->rank; d++)
            ONX_TRY(onx_contract_size(call, plan, i, d, label_of(call, i, d)));
    int64_t a = inner_of(call, 0), b = inner_of(call, 1);
    if (a != b)
        return onx_call_fail(call, ONX_INVALID,
                             "FusedMatMul needs as many columns in A as there are rows in B, not "
                             "%lld and %lld",
                             (long long)a, (long long)b);
    for (size_t i = 0; i < 2; i++)
        for (size_t d = 0; d < call->in[i]->rank; d++)
            onx_contract_dim(call, plan, i, d, label_of(call, i, d));
    size_t most = call->in[0]->rank > call->in[1]->rank ? call->in[0]->rank : call->in[1]->rank;
    for (size_t i = most > 2 ? most - 2 : 0; i-- > 0;) out[rank++] = (uint8_t)(BATCH + i);
    if (call->in[0]->rank > 1) out[rank++] = ROWS;
    if (call->in[1]->rank > 1) out[rank++] = COLUMNS;
    return onx_contract_end(call, plan, rank, out);
}

/* ─ FusedGemm ────────────────────────────────────────────────────────────────────────────────── */

typedef double function(double x, double a, double b, double c);

#define FUNCTION(name, expression)                                                                 \
    static double name(double x, double a, double b, double c) {                                   \
        (void)a, (void)b, (void)c;                                                                 \
        return expression;                                                                         \
    }
FUNCTION(celu, fmax(x, 0) + fmin(a * expm1(x / a), 0))
FUNCTION(elu, x >= 0 ? x : a * expm1(x))
FUNCTION(hard_sigmoid, fmax(fmin(a *x + b, 1), 0))
FUNCTION(leaky_relu, x >= 0 ? x : a * x)
FUNCTION(parametric_softplus, a *(x > 0 ? x * b + log1p(exp(-x * b)) : log1p(exp(x * b))))
FUNCTION(relu, x > 0 || isnan(x) ? x : 0)
FUNCTION(scaled_tanh, a *tanh(b *x))
FUNCTION(selu, x > 0 ? c * x : c * a * expm1(x))
FUNCTION(sigmoid, 1 / (1 + exp(-x)))
FUNCTION(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
FUNCTION(softsign, x / (1 + fabs(x)))
FUNCTION(tanh_of, tanh(x))
FUNCTION(thresholded_relu, x > a ? x : 0)

static const struct activation {
    const char *name;
    function *f;
    float alpha, beta, gamma; /* where the node has none */
} activations[] = {
    {"Celu", celu, 1, 0, 0},
    {"Elu", elu, 1, 0, 0},
    {"HardSigmoid", hard_sigmoid, 0.2f, 0.5f, 0},
    {"LeakyRelu", leaky_relu, 0.01f, 0, 0},
    {"ParametricSoftplus", parametric_softplus, 1, 1, 0},
    {"Relu", relu, 0, 0, 0},
    {"ScaledTanh", scaled_tanh, 1, 1, 0},
    {"Selu", selu, 1.67326319217681884765625f, 0, 1.05070102214813232421875f},
    {"Sigmoid", sigmoid, 0, 0, 0},
    {"Softplus", softplus, 0, 0, 0},
    {"Softsign", softsign, 0, 0, 0},
    {"Tanh", tanh_of, 0, 0, 0},
    {"ThresholdedRelu", thresholded_relu, 1, 0, 0},
};

typedef struct gemm_state {
    onx_matmul_state gemm; /* first: Gemm reads it */
    function *f;           /* NULL: none */
    double a, b, c;
} gemm_state;

static double parameter(const onx_call *call, const char *name, float otherwise) {
    return (double)(onx_op_has(call->node, name) ? onx_call_float(call, name) : otherwise);
}

onx_status onx_ms_gemm_init(onx_call *call) {
    gemm_state *st = onx_call_state(call, sizeof *st);
    onx_str name = onx_call_string(call, "activation");
    if (!st) return onx_fail_nomem(call->diag);
    st->gemm.alpha = onx_call_float(call, "alpha");
    st->gemm.beta = onx_call_float(call, "beta");
    st->gemm.turn_a = onx_call_int(call, "transA") != 0;
    st->gemm.turn_b = onx_call_int(call, "transB") != 0;
    if (!name.size) return ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(activations); i++) {
        const struct activation *a = &activations[i];
        if (!onx_str_is(name, a->name)) continue;
        st->f = a->f;
        st->a = parameter(call, "activation_alpha", a->alpha);
        st->b = parameter(call, "activation_beta", a->beta);
        st->c = parameter(call, "activation_gamma", a->gamma);
        return ONX_OK;
    }
    return onx_call_fail(call, ONX_INVALID, "there is no activation '%.*s'", ONX_FMT(name));
}

enum { SPAN = 256, TASK = 1 << 14 };

static onx_status activate(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const gemm_state *st = call->state;
    const onx_operand *y = call->out[0];
    size_t at = index * TASK, all = (size_t)y->count;
    size_t end = all - at < TASK ? all : at + TASK;
    double some[SPAN];
    for (size_t n; at < end; at += n) {
        n = end - at < SPAN ? end - at : SPAN;
        onx_operand_get(y, at, n, some);
        for (size_t i = 0; i < n; i++) some[i] = st->f(some[i], st->a, st->b, st->c);
        onx_operand_put(y, at, n, some);
    }
    return ONX_OK;
}

onx_status onx_ms_gemm_run(onx_call *call) {
    const gemm_state *st = call->state;
    ONX_TRY(onx_matmul_run_ref(call));
    if (!st->f || !call->out[0]->count) return ONX_OK;
    return onx_call_parallel(call, ((size_t)call->out[0]->count - 1) / TASK + 1, activate, NULL);
}
