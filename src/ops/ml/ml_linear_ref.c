/* ml_linear_ref.c: LinearClassifier, LinearRegressor. */
#include "ops/ml/ml_ref.h"

typedef struct linear_state {
    onx_ml_model model;
    const double *weights, *intercepts; /* [scores][columns]; [scores] */
    size_t n_weights, n_intercepts, targets;
} linear_state;

static onx_status linear_init(onx_call *call, const char *labels, linear_state **out) {
    linear_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ml_model_init(call, &st->model, labels));
    ONX_TRY(onx_ml_transform_get(call, &st->model.transform));
    ONX_TRY(onx_ml_doubles(call, "coefficients", &st->weights, &st->n_weights));
    ONX_TRY(onx_ml_doubles(call, "intercepts", &st->intercepts, &st->n_intercepts));
    st->model.cost = st->n_weights;
    *out = st;
    return ONX_OK;
}

static onx_status check_weights(const onx_call *call, const linear_state *st, size_t scores,
                                const onx_ml_plan *plan) {
    size_t needed;
    if (!onx_mul_size(scores, plan->columns, &needed) || needed != st->n_weights)
        return onx_call_fail(call, ONX_INVALID,
                             "there are %zu coefficients, for %zu scores of %zu columns",
                             st->n_weights, scores, plan->columns);
    if (st->n_intercepts && st->n_intercepts != scores)
        return onx_call_fail(call, ONX_INVALID, "there are %zu intercepts for %zu scores",
                             st->n_intercepts, scores);
    return ONX_OK;
}

static void multiply(const linear_state *st, const onx_ml_plan *plan, const double *x, size_t n,
                     double *scores) {
    for (size_t k = 0; k < n; k++) {
        const double *w = st->weights + k * plan->columns;
        double sum = 0;
        for (size_t i = 0; i < plan->columns; i++) sum += x[i] * w[i];
        scores[k] = st->n_intercepts ? sum + st->intercepts[k] : sum;
    }
}

/* ── LinearClassifier ────────────────────────────────────────────────────────────────────────── */

/* One score can stand for two classes. */
static bool is_pair(const linear_state *st, size_t rows) {
    return rows == 1 && st->model.labels.n == 2;
}

static size_t rows_of(const linear_state *st, const onx_ml_plan *plan) {
    if (st->n_intercepts) return st->n_intercepts;
    return plan->columns ? st->n_weights / plan->columns : st->model.labels.n;
}

static onx_status fit_classes(const onx_call *call, const onx_ml_model *model, onx_ml_plan *plan) {
    const linear_state *st = (const linear_state *)model;
    size_t rows = rows_of(st, plan), labels = model->labels.n;
    ONX_TRY(check_weights(call, st, rows, plan));
    plan->scores = is_pair(st, rows) ? 2 : rows;
    if (rows && (!labels || labels == plan->scores)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "there are %zu labels for %zu scores", labels, rows);
}

/* The label is chosen before the transform; of one score the sign decides. */
static bool score_classes(const onx_call *call, const onx_ml_model *model, const onx_ml_plan *plan,
                          const double *x, double *scores, double *work, size_t *pick) {
    const linear_state *st = (const linear_state *)model;
    size_t rows = rows_of(st, plan);
    (void)call, (void)work;
    multiply(st, plan, x, rows, scores);
    *pick = rows == 1 ? plan->scores == 2 || !model->labels.n ? scores[0] > 0 : 0
                      : onx_ml_largest(scores, rows);
    if (is_pair(st, rows))
        onx_ml_transform_pair(model->transform, false, scores);
    else
        onx_ml_transform_run(model->transform, scores, rows);
    return true;
}

onx_status onx_ml_linear_classifier_init(onx_call *call) {
    linear_state *st = NULL;
    ONX_TRY(linear_init(call, "classlabels_ints", &st));
    st->model.fit = fit_classes;
    st->model.score = score_classes;
    return ONX_OK;
}

/* ── LinearRegressor ─────────────────────────────────────────────────────────────────────────── */

static onx_status fit_targets(const onx_call *call, const onx_ml_model *model, onx_ml_plan *plan) {
    const linear_state *st = (const linear_state *)model;
    plan->scores = st->targets;
    return check_weights(call, st, st->targets, plan);
}

static bool score_targets(const onx_call *call, const onx_ml_model *model, const onx_ml_plan *plan,
                          const double *x, double *scores, double *work, size_t *pick) {
    (void)call, (void)work, (void)pick;
    multiply((const linear_state *)model, plan, x, plan->scores, scores);
    onx_ml_transform_run(model->transform, scores, plan->scores);
    return true;
}

onx_status onx_ml_linear_regressor_init(onx_call *call) {
    linear_state *st = NULL;
    int64_t targets = onx_call_int(call, "targets");
    ONX_TRY(linear_init(call, NULL, &st));
    if (targets < 1)
        return onx_call_fail(call, ONX_INVALID, "targets is %lld; it must be at least 1",
                             (long long)targets);
    st->targets = (size_t)targets;
    st->model.fit = fit_targets;
    st->model.score = score_targets;
    return ONX_OK;
}
