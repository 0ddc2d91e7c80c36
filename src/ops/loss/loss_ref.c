/* loss_ref.c: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: plain kernels.
 *
 * The scores are [batch][classes][places]; each of the batch × places has a target class, or the
 * one that is ignored. Sums are made in double precision, in an order that depends on the shape
 * alone, and rounded once. A target that is no class is an error. */
#include "ops/eltwise/widen_ref.h"

#include <math.h>

enum { CHUNK = 64, WORK = 1 << 15 }; /* elements rounded at a time; scores of a task */

typedef enum reduction { NONE, MEAN, SUM } reduction;

typedef struct state {
    reduction reduction;
    bool softmax; /* the scores are not logarithms of probabilities yet */
    bool ignores;
    int64_t ignored;
} state;

typedef struct plan {
    size_t classes, places, targets; /* targets: batch × places */
    size_t grain, tasks;             /* targets of a task */
} plan;

/* ─ init, bind ───────────────────────────────────────────────────────────────────────────────── */

static onx_status init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    int which;
    if (!st) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_call_choice(call, "reduction", "none, mean, sum", &which));
    st->reduction = (reduction)which;
    st->softmax = strcmp(call->op->name, "SoftmaxCrossEntropyLoss") == 0;
    st->ignores = onx_op_has(call->node, "ignore_index");
    st->ignored = onx_call_int(call, "ignore_index");
    return ONX_OK;
}

static onx_status check_shapes(const onx_call *call) {
    const onx_operand *x = call->in[0], *t = call->in[1], *w = onx_call_in(call, 2);
    if (x->rank < 2) return onx_call_fail(call, ONX_INVALID, "the scores need batch and classes");
    bool fits = t->rank == x->rank - 1;
    for (size_t d = 0; fits && d < t->rank; d++) fits = t->dims[d] == x->dims[d ? d + 1 : 0];
    if (!fits)
        return onx_call_fail(call, ONX_INVALID,
                             "the target must have the sizes of the scores without the classes");
    if (w && (w->rank != 1 || w->dims[0] != x->dims[1]))
        return onx_call_fail(call, ONX_INVALID, "there must be a weight for each of %lld classes",
                             (long long)x->dims[1]);
    return ONX_OK;
}

static onx_status bind(onx_call *call) {
    const state *st = call->state;
    const onx_operand *x = call->in[0], *t = call->in[1];
    onx_dtype dtype = (onx_dtype)x->dtype;
    plan *p = call->plan;
    ONX_TRY(check_shapes(call));
    *p = (plan){.classes = (size_t)x->dims[1], .targets = (size_t)t->count, .places = 1};
    for (size_t d = 2; d < x->rank && t->count; d++) p->places *= (size_t)x->dims[d];
    p->grain = WORK / (p->classes ? p->classes : 1) + 1;
    p->tasks = p->targets / p->grain + (p->targets % p->grain != 0);
    call->scratch_bytes = p->tasks * 2 * sizeof(double);
    for (size_t i = 0; i < call->n_in; i++)
        if (i != 1 && !onx_wide_bytes(call->in[i], &call->scratch_bytes))
            return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    ONX_TRY(onx_call_shape(call, 1, dtype, x->rank, x->dims));
    return st->reduction == NONE ? onx_call_shape(call, 0, dtype, t->rank, t->dims)
                                 : onx_call_shape(call, 0, dtype, 0, NULL);
}

/* ─ run ──────────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const plan *p;
    const state *st;
    onx_wide x, w;
    double (*sums)[2]; /* per task: of losses, and of weights */
    onx_operand *log_prob;
} job;

/* Where the scores of a target begin; they lie `places` apart. */
static size_t scores_of(const plan *p, size_t target) {
    return target / p->places * p->classes * p->places + target % p->places;
}

/* The logarithm of the sum of exponentials, which makes logarithms of probabilities of scores. */
static double log_sum(const job *j, size_t first) {
    double most = -INFINITY, sum = 0;
    for (size_t c = 0; c < j->p->classes; c++)
        most = fmax(most, onx_wide_at(j->x, first + c * j->p->places));
    for (size_t c = 0; c < j->p->classes; c++)
        sum += exp(onx_wide_at(j->x, first + c * j->p->places) - most);
    return most + log(sum);
}

static void put_log_prob(const job *j, size_t first, double level) {
    const onx_operand *out = j->log_prob;
    size_t size = onx_dtype_bits((onx_dtype)out->dtype) / 8;
    double values[CHUNK];
    char raw[CHUNK * sizeof(double)];
    for (size_t c = 0; c < j->p->classes; c += CHUNK) {
        size_t n = j->p->classes - c < CHUNK ? j->p->classes - c : CHUNK;
        for (size_t i = 0; i < n; i++)
            values[i] = onx_wide_at(j->x, first + (c + i) * j->p->places) - level;
        (void)onx_dtype_convert(ONX_DTYPE_F64, values, (onx_dtype)out->dtype, raw, n, false);
        for (size_t i = 0; i < n; i++)
            memcpy(onx_operand_at(out, first + (c + i) * j->p->places), raw + i * size, size);
    }
}

static bool is_ignored(const state *st, int64_t class) {
    return st->ignores && class == st->ignored;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const job *j = user;
    onx_operand *out = call->out[0];
    double sum = 0, weights = 0;
    size_t end = (index + 1) * j->p->grain;
    for (size_t t = index * j->p->grain; t < end && t < j->p->targets; t++) {
        int64_t class = onx_operand_int(call->in[1], (int64_t)t);
        size_t first = scores_of(j->p, t);
        double level = j->st->softmax ? log_sum(j, first) : 0, weight = 0, loss = 0;
        if (j->log_prob) put_log_prob(j, first, level);
        if (!is_ignored(j->st, class)) {
            weight = j->w.data ? onx_wide_at(j->w, (size_t) class) : 1;
            loss = weight * (level - onx_wide_at(j->x, first + (size_t) class * j->p->places));
        }
        if (j->st->reduction == NONE) onx_operand_put(out, t, 1, &loss);
        sum += loss;
        weights += weight;
    }
    j->sums[index][0] = sum;
    j->sums[index][1] = weights;
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

static onx_status check_targets(const onx_call *call) {
    const state *st = call->state;
    const plan *p = call->plan;
    for (size_t i = 0; i < p->targets; i++) {
        int64_t class = onx_operand_int(call->in[1], (int64_t)i);
        if (!is_ignored(st, class) && (class < 0 || (size_t) class >= p->classes))
            return onx_call_fail(call, ONX_INVALID, "target %lld is none of %zu classes",
                                 (long long)class, p->classes);
    }
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const plan *p = call->plan;
    char *scratch = call->scratch;
    if (p->tasks) scratch += p->tasks * 2 * sizeof(double);
    job j = {.p = p, .st = call->state, .sums = call->scratch};
    double sum = 0, weights = 0;
    ONX_TRY(check_targets(call));
    j.x = onx_wide_of(call->in[0], &scratch);
    j.w = onx_wide_of(onx_call_in(call, 2), &scratch);
    j.log_prob = call->n_out > 1 ? call->out[1] : NULL;
    ONX_TRY(onx_call_parallel(call, p->tasks, task, &j));
    if (j.st->reduction == NONE) return ONX_OK;
    for (size_t i = 0; i < p->tasks; i++) {
        sum += j.sums[i][0];
        weights += j.sums[i][1];
    }
    if (j.st->reduction == MEAN) sum /= weights;
    onx_operand_put(call->out[0], 0, 1, &sum);
    return ONX_OK;
}

#define ROW(op_, name_)                                                                            \
    {                                                                                              \
        .op = op_, .first = 12, .types = {ONX_T_FLOATS, ONX_T_INDEX, ONX_T_FLOATS}, .name = name_, \
        .plan_bytes = sizeof(plan), .init = init, .bind = bind, .run = run                         \
    }

extern onx_kernel_rows onx_kernels_loss_ref;
onx_kernel_rows onx_kernels_loss_ref = {
    ROW("NegativeLogLikelihoodLoss", "negative_log_likelihood"),
    ROW("SoftmaxCrossEntropyLoss", "softmax_cross_entropy"),
    {0},
};
