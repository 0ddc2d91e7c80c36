/* ml_model_ref.c: models that give each row of a table scores: transforms of scores, and the run,
 * in parallel over rows, all in double. Where ONNX's text leaves open what two classes with one
 * score mean, it is as in ONNX Runtime. */
#include "ops/ml/ml_ref.h"

#include <math.h>

/* ── Transforms ──────────────────────────────────────────────────────────────────────────────── */

double onx_ml_logistic(double x) {
    double v = 1 / (1 + exp(-fabs(x)));
    return x < 0 ? 1 - v : v;
}

/* The approximation that runtimes have agreed on: sqrt(2) erfinv(2x - 1), to three digits. */
static double probit(double x) {
    double y = 2 * x - 1, l = log((1 - y) * (1 + y));
    double a = 2 / (3.14159265358979323846 * 0.147) + 0.5 * l;
    return (y < 0 ? -1 : 1) * 1.41421356 * sqrt(sqrt(a * a - l / 0.147) - a);
}

static void softmax(double *x, size_t n) {
    double max = x[onx_ml_largest(x, n)], sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] = exp(x[i] - max);
    for (size_t i = 0; i < n; i++) x[i] /= sum;
}

/* Zeros stay zeros, and the others share what there is. */
static void softmax_zero(double *x, size_t n) {
    double max = x[onx_ml_largest(x, n)], sum = 0;
    for (size_t i = 0; i < n; i++) {
        bool zero = x[i] >= -1e-7 && x[i] <= 1e-7;
        sum += x[i] = zero ? x[i] * exp(-max) : exp(x[i] - max);
    }
    for (size_t i = 0; i < n; i++) x[i] = sum == 0 ? 0.5 : x[i] / sum;
}

void onx_ml_transform_run(onx_ml_transform transform, double *x, size_t n) {
    if (!n) return;
    switch (transform) {
    case ONX_ML_SOFTMAX: softmax(x, n); break;
    case ONX_ML_SOFTMAX_ZERO: softmax_zero(x, n); break;
    case ONX_ML_LOGISTIC:
        for (size_t i = 0; i < n; i++) x[i] = onx_ml_logistic(x[i]);
        break;
    case ONX_ML_PROBIT:
        for (size_t i = 0; i < n; i++) x[i] = probit(x[i]);
        break;
    case ONX_ML_NONE: break;
    }
}

void onx_ml_transform_pair(onx_ml_transform transform, bool signed_, double *x) {
    double s = x[0];
    x[1] = s;
    x[0] = transform == ONX_ML_LOGISTIC || signed_ ? -s : 1 - s;
    if (transform == ONX_ML_LOGISTIC || transform == ONX_ML_PROBIT)
        onx_ml_transform_run(transform, x, 2);
}

size_t onx_ml_largest(const double *x, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

/* ── Setting up ──────────────────────────────────────────────────────────────────────────────── */

onx_status onx_ml_transform_get(onx_call *call, onx_ml_transform *out) {
    int which;
    ONX_TRY(onx_call_choice(call, "post_transform", "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT",
                            &which));
    *out = (onx_ml_transform)which;
    return ONX_OK;
}

/* An empty list is none. */
static onx_status get_labels(onx_call *call, const char *ints, onx_ml_values *out) {
    onx_ml_values numbers, names;
    ONX_TRY(onx_ml_values_get(call, ints, &numbers));
    ONX_TRY(onx_ml_values_get(call, "classlabels_strings", &names));
    if (numbers.n && names.n)
        return onx_call_fail(call, ONX_INVALID,
                             "labels are strings or integers: leave %s or classlabels_strings out",
                             ints);
    *out = names.n ? names : numbers;
    if (!out->n) out->dtype = ONX_DTYPE_I64;
    if (out->dtype == (names.n ? ONX_DTYPE_STRING : ONX_DTYPE_I64)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "%s is not a list of labels",
                         names.n ? "classlabels_strings" : ints);
}

onx_status onx_ml_model_init(onx_call *call, onx_ml_model *model, const char *labels) {
    model->dtype = ONX_DTYPE_F32;
    model->classifies = labels != NULL;
    return labels ? get_labels(call, labels, &model->labels) : ONX_OK;
}

onx_status onx_ml_table(const onx_call *call, size_t index, size_t *rows, size_t *columns) {
    const onx_operand *in = call->in[index];
    if (in->rank != 1 && in->rank != 2)
        return onx_call_fail(call, ONX_INVALID,
                             "input %zu has %u dimensions; it needs 2, or 1 for one row", index,
                             (unsigned)in->rank);
    *rows = in->rank == 2 ? (size_t)in->dims[0] : 1;
    *columns = (size_t)in->dims[in->rank - 1];
    return ONX_OK;
}

enum { TASK = 100000 }; /* multiplications of a task, about */

onx_status onx_ml_model_bind(onx_call *call) {
    const onx_ml_model *model = call->state;
    onx_ml_plan *plan = call->plan;
    size_t doubles = model->work;
    ONX_TRY(onx_ml_table(call, 0, &plan->rows, &plan->columns));
    ONX_TRY(model->fit(call, model, plan));
    plan->grain = model->cost < TASK ? TASK / (model->cost + plan->columns + 1) + 1 : 1;
    int64_t dims[2] = {(int64_t)plan->rows, (int64_t)plan->scores};
    ONX_TRY(onx_call_shape(call, model->classifies, model->dtype, 2, dims));
    if (model->classifies) ONX_TRY(onx_ml_pick_bind(call, model->labels.dtype, 1, dims));
    if (!onx_add_size(doubles, plan->columns, &doubles) ||
        !onx_add_size(doubles, plan->scores + 2, &doubles) ||
        !onx_mul_size(doubles, sizeof(double), &call->scratch_each))
        return onx_call_fail(call, ONX_LIMIT, "the table is too wide for this machine");
    return ONX_OK;
}

/* ── Running ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status do_row(onx_call *call, size_t row, double *x) {
    const onx_ml_model *model = call->state;
    const onx_ml_plan *plan = call->plan;
    const onx_operand *in = call->in[0];
    onx_operand *out = model->classifies < call->n_out ? call->out[model->classifies] : NULL;
    size_t n = plan->scores, pick = 0;
    double *scores = x + plan->columns;
    if (plan->columns) onx_operand_get(in, row * plan->columns, plan->columns, x);
    if (!model->score(call, model, plan, x, scores, scores + n + 2, &pick)) return ONX_CANCELLED;
    if (model->classifies) ((size_t *)call->scratch)[row] = pick;
    if (!out || !n) return ONX_OK;
    char *to = (char *)out->data + row * n * (onx_dtype_bits(model->dtype) / 8);
    return onx_dtype_convert(ONX_DTYPE_F64, scores, model->dtype, to, n, false);
}

static onx_status model_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_ml_plan *plan = call->plan;
    size_t end = (index + 1) * plan->grain;
    (void)user;
    if (end > plan->rows) end = plan->rows;
    for (size_t row = index * plan->grain; row < end; row++) ONX_TRY(do_row(call, row, scratch));
    return ONX_OK;
}

/* Without labels the places are labels. */
static onx_status put_places(onx_call *call) {
    const size_t *picks = call->scratch;
    char *to = call->out[0]->data;
    for (int64_t i = 0; i < call->out[0]->count; i++) {
        int64_t label = (int64_t)picks[i];
        memcpy(to + (size_t)i * sizeof label, &label, sizeof label);
    }
    return ONX_OK;
}

onx_status onx_ml_model_run(onx_call *call) {
    const onx_ml_model *model = call->state;
    const onx_ml_plan *plan = call->plan;
    size_t tasks = plan->rows / plan->grain + (plan->rows % plan->grain != 0);
    ONX_TRY(onx_call_parallel(call, tasks, model_task, NULL));
    if (!model->classifies) return ONX_OK;
    return model->labels.n ? onx_ml_pick(call, &model->labels, call->scratch) : put_places(call);
}
