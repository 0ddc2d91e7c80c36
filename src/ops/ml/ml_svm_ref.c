/* ml_svm_ref.c: SVMClassifier, SVMRegressor: with support vectors, or linear, without. Scores of
 * pairs of classes become votes, and, with prob_a and prob_b, probabilities by the method of Wu,
 * Lin and Weng, as in libsvm. */
#include "ops/ml/ml_ref.h"

#include <math.h>

typedef enum svm_kernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID } svm_kernel;

typedef struct svm_state {
    onx_ml_model model;
    svm_kernel kernel;
    double gamma, coef0, degree;
    const double *weights, *vectors, *rho, *prob_a, *prob_b;
    size_t n_weights, n_values, n_rho, n_a, n_b; /* n_values: of all vectors */
    size_t vectors_n, columns;                   /* columns: of a vector */
    size_t classes, pairs;
    const int64_t *per_class;
    bool positive;  /* no weight is negative */
    bool one_class; /* the sign alone */
} svm_state;

static size_t pairs_of(size_t classes) {
    return classes ? classes * (classes - 1) / 2 : 0;
}

/* ── Kernels ─────────────────────────────────────────────────────────────────────────────────── */

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double apply_kernel(const svm_state *st, const double *x, const double *v) {
    double sum = 0;
    switch (st->kernel) {
    case SVM_POLY: return pow(st->gamma * dot(x, v, st->columns) + st->coef0, st->degree);
    case SVM_SIGMOID: return tanh(st->gamma * dot(x, v, st->columns) + st->coef0);
    case SVM_LINEAR: return dot(x, v, st->columns);
    case SVM_RBF: break;
    }
    for (size_t i = 0; i < st->columns; i++) sum += (x[i] - v[i]) * (x[i] - v[i]);
    return exp(-st->gamma * sum);
}

/* The kernel of the row with each vector; false: the run was stopped. */
static bool apply_kernels(const onx_call *call, const svm_state *st, const double *x, double *out) {
    for (size_t i = 0; i < st->vectors_n; i++) {
        if (i % 1024 == 1023 && onx_call_stopped(call)) return false;
        out[i] = apply_kernel(st, x, st->vectors + i * st->columns);
    }
    return true;
}

/* ── Setting up ──────────────────────────────────────────────────────────────────────────────── */

static onx_status get_kernel(onx_call *call, svm_state *st) {
    const double *params = NULL;
    size_t n = 0;
    int which;
    ONX_TRY(onx_call_choice(call, "kernel_type", "LINEAR, POLY, RBF, SIGMOID", &which));
    st->kernel = (svm_kernel)which;
    ONX_TRY(onx_ml_doubles(call, "kernel_params", &params, &n));
    if (n && n != 3)
        return onx_call_fail(call, ONX_INVALID,
                             "kernel_params has %zu elements; it needs 3: gamma, coef0, degree", n);
    if (n) st->gamma = params[0], st->coef0 = params[1], st->degree = params[2];
    return ONX_OK;
}

static onx_status svm_init(onx_call *call, const char *labels, svm_state **out) {
    svm_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ml_model_init(call, &st->model, labels));
    ONX_TRY(onx_ml_transform_get(call, &st->model.transform));
    ONX_TRY(get_kernel(call, st));
    ONX_TRY(onx_ml_doubles(call, "coefficients", &st->weights, &st->n_weights));
    ONX_TRY(onx_ml_doubles(call, "support_vectors", &st->vectors, &st->n_values));
    ONX_TRY(onx_ml_doubles(call, "rho", &st->rho, &st->n_rho));
    st->positive = true;
    for (size_t i = 0; i < st->n_weights; i++) st->positive &= st->weights[i] >= 0;
    *out = st;
    return ONX_OK;
}

/* So many vectors, or, without any, weights for the columns themselves. */
static onx_status set_vectors(onx_call *call, svm_state *st, size_t n, size_t linear) {
    size_t values = n ? st->n_values : st->n_weights, each = n ? n : linear;
    if (values % each)
        return onx_call_fail(call, ONX_INVALID, "%zu numbers do not make %zu vectors of one length",
                             values, each);
    st->vectors_n = n;
    st->columns = values / each;
    st->model.cost = values;
    st->model.work = n;
    return ONX_OK;
}

static onx_status check_columns(const onx_call *call, const svm_state *st,
                                const onx_ml_plan *plan) {
    if (plan->columns == st->columns) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "the input has %zu columns; the model was made for %zu",
                         plan->columns, st->columns);
}

/* ── SVMRegressor ────────────────────────────────────────────────────────────────────────────── */

static onx_status fit_regressor(const onx_call *call, const onx_ml_model *model,
                                onx_ml_plan *plan) {
    plan->scores = 1;
    return check_columns(call, (const svm_state *)model, plan);
}

static bool score_regressor(const onx_call *call, const onx_ml_model *model,
                            const onx_ml_plan *plan, const double *x, double *scores, double *work,
                            size_t *pick) {
    const svm_state *st = (const svm_state *)model;
    (void)plan, (void)pick;
    if (!apply_kernels(call, st, x, work)) return false;
    double sum =
        st->vectors_n ? dot(work, st->weights, st->vectors_n) : dot(x, st->weights, st->columns);
    if (st->n_rho) sum += st->rho[0];
    scores[0] = !st->one_class ? sum : sum > 0 ? 1 : -1;
    if (!st->one_class) onx_ml_transform_run(model->transform, scores, 1);
    return true;
}

onx_status onx_ml_svm_regressor_init(onx_call *call) {
    svm_state *st = NULL;
    int64_t n = onx_call_int(call, "n_supports");
    ONX_TRY(svm_init(call, NULL, &st));
    st->model.fit = fit_regressor;
    st->model.score = score_regressor;
    st->one_class = onx_call_int(call, "one_class") != 0;
    if (n < 0) return onx_call_fail(call, ONX_INVALID, "n_supports is %lld", (long long)n);
    if (n > 0 && (size_t)n != st->n_weights)
        return onx_call_fail(call, ONX_INVALID, "there are %zu coefficients for %lld vectors",
                             st->n_weights, (long long)n);
    return set_vectors(call, st, (size_t)n, 1);
}

/* ── SVMClassifier: pairs of classes ─────────────────────────────────────────────────────────── */

/* Row j-1 of the weights is for class i against j, row i for j against i. */
static void vote(const svm_state *st, const double *kernels, double *scores, size_t *votes) {
    size_t pair = 0, at_i = 0, n = st->vectors_n;
    for (size_t i = 0; i < st->classes; i++) {
        size_t n_i = (size_t)st->per_class[i], at_j = at_i + n_i;
        for (size_t j = i + 1; j < st->classes; j++) {
            size_t n_j = (size_t)st->per_class[j];
            double sum = dot(st->weights + n * (j - 1) + at_i, kernels + at_i, n_i) +
                         dot(st->weights + n * i + at_j, kernels + at_j, n_j) + st->rho[pair];
            votes[sum > 0 ? i : j]++;
            scores[pair++] = sum;
            at_j += n_j;
        }
        at_i += n_i;
    }
}

/* q: what is to be minimised, from the probabilities r of pairs. */
static void pair_matrix(size_t k, const double *r, double *q) {
    for (size_t t = 0; t < k; t++) {
        q[t * k + t] = 0;
        for (size_t j = 0; j < k; j++) {
            if (j == t) continue;
            q[t * k + t] += r[j * k + t] * r[j * k + t];
            q[t * k + j] = -r[j * k + t] * r[t * k + j];
        }
    }
}

static void couple(size_t k, const double *r, double *p, double *q, double *qp) {
    double eps = 0.005 / (double)k;
    pair_matrix(k, r, q);
    for (size_t t = 0; t < k; t++) p[t] = 1 / (double)k;
    for (size_t turn = 0; turn < (k > 100 ? k : 100); turn++) {
        double pqp = 0, error = 0;
        for (size_t t = 0; t < k; t++) pqp += p[t] * (qp[t] = dot(q + t * k, p, k));
        for (size_t t = 0; t < k; t++) error = fmax(error, fabs(qp[t] - pqp));
        if (error < eps) return;
        for (size_t t = 0; t < k; t++) {
            double d = (pqp - qp[t]) / q[t * k + t];
            pqp = (pqp + d * (d * q[t * k + t] + 2 * qp[t])) / (1 + d) / (1 + d);
            p[t] += d;
            for (size_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + d * q[t * k + j]) / (1 + d);
                p[j] /= 1 + d;
            }
        }
    }
}

/* Scores of pairs become probabilities of classes. */
static void find_probabilities(const svm_state *st, double *scores, double *work) {
    size_t k = st->classes, pair = 0;
    double *r = work, *q = r + k * k, *p = q + k * k, *qp = p + k;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, pair++) {
            double v = 1 - onx_ml_logistic(scores[pair] * st->prob_a[pair] + st->prob_b[pair]);
            v = fmin(fmax(v, 1e-7), 1 - 1e-7);
            r[i * k + j] = v;
            r[j * k + i] = 1 - v;
        }
    couple(k, r, p, q, qp);
    memcpy(scores, p, k * sizeof *p);
}

/* Scores of pairs lie in front of the matrices, for they may be more than come out. */
static bool score_pairs(const onx_call *call, const onx_ml_model *model, const onx_ml_plan *plan,
                        const double *x, double *scores, double *work, size_t *pick) {
    const svm_state *st = (const svm_state *)model;
    double *pairs = work + st->vectors_n, *rest = pairs + st->pairs + st->classes;
    size_t *votes = (size_t *)(void *)rest, best = 0;
    if (!apply_kernels(call, st, x, work)) return false;
    memset(votes, 0, st->classes * sizeof *votes);
    vote(st, work, pairs, votes);
    for (size_t i = 1; i < st->classes; i++)
        if (votes[i] > votes[best]) best = i;
    *pick = best;
    if (st->n_a) find_probabilities(st, pairs, rest + st->classes);
    memcpy(scores, pairs, (st->n_a ? st->classes : st->pairs) * sizeof *scores);
    if (!st->n_a && st->pairs == 1)
        onx_ml_transform_pair(model->transform, model->transform == ONX_ML_NONE, scores);
    else
        onx_ml_transform_run(model->transform, scores, plan->scores);
    return true;
}

static onx_status fit_pairs(const onx_call *call, const onx_ml_model *model, onx_ml_plan *plan) {
    const svm_state *st = (const svm_state *)model;
    plan->scores = st->n_a ? st->classes : st->pairs == 1 ? 2 : st->pairs;
    return check_columns(call, st, plan);
}

static onx_status init_pairs(onx_call *call, svm_state *st, size_t vectors) {
    size_t k = st->classes, needed, squares;
    st->model.fit = fit_pairs;
    st->model.score = score_pairs;
    ONX_TRY(onx_ml_doubles(call, "prob_a", &st->prob_a, &st->n_a));
    ONX_TRY(onx_ml_doubles(call, "prob_b", &st->prob_b, &st->n_b));
    ONX_TRY(set_vectors(call, st, vectors, 1));
    if (k < 2 || !onx_mul_size(k, k, &squares) || !onx_mul_size(k - 1, vectors, &needed) ||
        needed != st->n_weights)
        return onx_call_fail(call, ONX_INVALID,
                             "there are %zu coefficients, for %zu vectors of %zu classes",
                             st->n_weights, vectors, k);
    st->pairs = pairs_of(k);
    if (st->n_rho != st->pairs || (st->n_a && st->n_a != st->pairs) || st->n_a != st->n_b)
        return onx_call_fail(call, ONX_INVALID,
                             "rho has %zu, prob_a %zu, prob_b %zu elements; there are %zu pairs of"
                             " classes",
                             st->n_rho, st->n_a, st->n_b, st->pairs);
    st->model.work = vectors + st->pairs + 4 * k + (st->n_a ? 2 * squares : 0);
    return ONX_OK;
}

/* ── SVMClassifier: linear ───────────────────────────────────────────────────────────────────── */

static onx_status fit_linear(const onx_call *call, const onx_ml_model *model, onx_ml_plan *plan) {
    const svm_state *st = (const svm_state *)model;
    plan->scores = st->classes;
    return check_columns(call, st, plan);
}

/* Of two classes the second wins as soon as a score is high enough. */
static bool score_linear(const onx_call *call, const onx_ml_model *model, const onx_ml_plan *plan,
                         const double *x, double *scores, double *work, size_t *pick) {
    const svm_state *st = (const svm_state *)model;
    size_t n = plan->scores;
    (void)call, (void)work;
    for (size_t k = 0; k < n; k++)
        scores[k] =
            dot(x, st->weights + k * st->columns, st->columns) + (st->n_rho ? st->rho[0] : 0);
    *pick = onx_ml_largest(scores, n);
    double top = scores[*pick];
    if (n == 2 && (st->positive ? top >= 0.5 : top > 0)) *pick = 1;
    onx_ml_transform_run(model->transform, scores, n);
    return true;
}

onx_status onx_ml_svm_classifier_init(onx_call *call) {
    svm_state *st = NULL;
    onx_ml_values per_class;
    int64_t vectors = 0;
    ONX_TRY(svm_init(call, "classlabels_ints", &st));
    ONX_TRY(onx_ml_values_get(call, "vectors_per_class", &per_class));
    if (per_class.dtype != ONX_DTYPE_I64) per_class.n = 0;
    st->per_class = (const int64_t *)(void *)per_class.data;
    for (size_t i = 0; i < per_class.n; i++)
        if (st->per_class[i] < 0 || !onx_add_i64(vectors, st->per_class[i], &vectors))
            return onx_call_fail(call, ONX_INVALID, "vectors_per_class has the element %lld",
                                 (long long)st->per_class[i]);
    st->classes = st->model.labels.n ? st->model.labels.n : per_class.n ? per_class.n : 1;
    if (vectors) {
        if (per_class.n != st->classes)
            return onx_call_fail(call, ONX_INVALID,
                                 "vectors_per_class has %zu elements for %zu"
                                 " labels",
                                 per_class.n, st->classes);
        return init_pairs(call, st, (size_t)vectors);
    }
    st->model.fit = fit_linear;
    st->model.score = score_linear;
    return set_vectors(call, st, 0, st->classes);
}
