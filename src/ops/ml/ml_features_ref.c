/* ml_features_ref.c: Binarizer, Scaler, Imputer, element by element; Normalizer, row by row. Floats
 * are computed as doubles and rounded once; integers stay integers where integers come out. */
#include "ops/ml/ml_ref.h"

#include <math.h>

enum { BLOCK = 256, TASK = 64 * BLOCK }; /* elements that are converted at once; of a task */

/* ── Element by element ──────────────────────────────────────────────────────────────────────── */

/* A list that has an element for each column, or one for all. */
typedef struct per_column {
    size_t n;
    const double *reals;
    const int64_t *wholes;
} per_column;

typedef struct feature_state feature_state;
struct feature_state {
    /* `n` elements in place, the first in column `column` of `columns`; wholes NULL: integers are
     * computed as doubles. */
    void (*reals)(const feature_state *st, size_t column, size_t columns, double *x, size_t n);
    void (*wholes)(const feature_state *st, size_t column, size_t columns, int64_t *x, size_t n);
    const char *names[2]; /* of the lists */
    per_column lists[2];
    double real; /* the threshold; what is replaced */
    int64_t whole;
    bool to_float; /* the output is float, whatever the input is */
};

static feature_state *state_new(onx_call *call) {
    return onx_call_state(call, sizeof(feature_state));
}

static bool is_float(onx_dtype dtype) {
    return ONX_T_FLOATS >> dtype & 1;
}

static void binarize_reals(const feature_state *st, size_t column, size_t columns, double *x,
                           size_t n) {
    (void)column, (void)columns;
    for (size_t i = 0; i < n; i++) x[i] = x[i] > st->real;
}
static void binarize_wholes(const feature_state *st, size_t column, size_t columns, int64_t *x,
                            size_t n) {
    (void)column, (void)columns;
    for (size_t i = 0; i < n; i++) x[i] = x[i] > st->whole;
}

/* An integer is above a number when it is above the whole number below. */
onx_status onx_ml_binarizer_init(onx_call *call) {
    feature_state *st = state_new(call);
    if (!st) return onx_fail_nomem(call->diag);
    *st = (feature_state){.reals = binarize_reals, .wholes = binarize_wholes};
    st->real = (double)onx_call_float(call, "threshold");
    double below = floor(st->real);
    if (below >= -0x1p63 && below < 0x1p63)
        st->whole = (int64_t)below;
    else
        st->wholes = NULL; /* above it are all, or none: doubles can tell */
    return ONX_OK;
}

static void scale(const feature_state *st, size_t column, size_t columns, double *x, size_t n) {
    const per_column *offset = &st->lists[0], *factor = &st->lists[1];
    for (size_t i = 0; i < n; i++) {
        x[i] = (x[i] - offset->reals[offset->n > 1 ? column : 0]) *
               factor->reals[factor->n > 1 ? column : 0];
        if (++column == columns) column = 0;
    }
}

onx_status onx_ml_scaler_init(onx_call *call) {
    static const double zero = 0, one = 1;
    feature_state *st = state_new(call);
    if (!st) return onx_fail_nomem(call->diag);
    *st = (feature_state){.reals = scale, .to_float = true, .names = {"offset", "scale"}};
    for (size_t i = 0; i < 2; i++) {
        per_column *list = &st->lists[i];
        ONX_TRY(onx_ml_doubles(call, st->names[i], &list->reals, &list->n));
        if (!list->n) *list = (per_column){1, i ? &one : &zero, NULL};
    }
    return ONX_OK;
}

static void impute_reals(const feature_state *st, size_t column, size_t columns, double *x,
                         size_t n) {
    const per_column *list = &st->lists[0];
    for (size_t i = 0; i < n; i++) {
        if (x[i] == st->real || (isnan(x[i]) && isnan(st->real)))
            x[i] = list->reals[list->n > 1 ? column : 0];
        if (++column == columns) column = 0;
    }
}
static void impute_wholes(const feature_state *st, size_t column, size_t columns, int64_t *x,
                          size_t n) {
    const per_column *list = &st->lists[0];
    for (size_t i = 0; i < n; i++) {
        if (x[i] == st->whole) x[i] = list->wholes[list->n > 1 ? column : 0];
        if (++column == columns) column = 0;
    }
}

onx_status onx_ml_imputer_init(onx_call *call) {
    feature_state *st = state_new(call);
    bool real = is_float((onx_dtype)call->in[0]->dtype);
    if (!st) return onx_fail_nomem(call->diag);
    *st = (feature_state){.reals = impute_reals, .wholes = impute_wholes};
    st->names[0] = real ? "imputed_value_floats" : "imputed_value_int64s";
    st->real = (double)onx_call_float(call, "replaced_value_float");
    st->whole = onx_call_int(call, "replaced_value_int64");
    onx_ml_values wholes;
    ONX_TRY(onx_ml_values_get(call, "imputed_value_int64s", &wholes));
    if (real)
        ONX_TRY(onx_ml_doubles(call, st->names[0], &st->lists[0].reals, &st->lists[0].n));
    else if (wholes.dtype == ONX_DTYPE_I64)
        st->lists[0] = (per_column){wholes.n, NULL, (const int64_t *)(void *)wholes.data};
    if (st->lists[0].n) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "there is nothing to impute: give %s", st->names[0]);
}

static size_t columns_of(const onx_operand *in) {
    return in->rank ? (size_t)in->dims[in->rank - 1] : 1;
}

onx_status onx_ml_features_bind(onx_call *call) {
    const feature_state *st = call->state;
    const onx_operand *in = call->in[0];
    for (size_t i = 0; i < 2; i++)
        if (st->lists[i].n > 1 && st->lists[i].n != columns_of(in))
            return onx_call_fail(call, ONX_INVALID,
                                 "%s has %zu elements; it needs 1, or one for each of %zu columns",
                                 st->names[i], st->lists[i].n, columns_of(in));
    return onx_call_shape(call, 0, st->to_float ? ONX_DTYPE_F32 : (onx_dtype)in->dtype, in->rank,
                          in->dims);
}

/* Up to BLOCK elements: to the wide type of their kind, and back. */
static onx_status do_block(const feature_state *st, const onx_call *call, size_t at, size_t n) {
    const onx_operand *in = call->in[0], *out = call->out[0];
    onx_dtype from = (onx_dtype)in->dtype, to = (onx_dtype)out->dtype;
    const char *src = (const char *)in->data + at * (onx_dtype_bits(from) / 8);
    char *dst = (char *)out->data + at * (onx_dtype_bits(to) / 8);
    size_t columns = columns_of(in);
    if (!is_float(from) && st->wholes) {
        int64_t x[BLOCK];
        ONX_TRY(onx_dtype_convert(from, src, ONX_DTYPE_I64, x, n, false));
        st->wholes(st, at % columns, columns, x, n);
        return onx_dtype_convert(ONX_DTYPE_I64, x, to, dst, n, false);
    }
    double x[BLOCK];
    ONX_TRY(onx_dtype_convert(from, src, ONX_DTYPE_F64, x, n, false));
    st->reals(st, at % columns, columns, x, n);
    return onx_dtype_convert(ONX_DTYPE_F64, x, to, dst, n, false);
}

static onx_status feature_task(void *user, onx_call *call, size_t index, void *scratch) {
    size_t end = (index + 1) * TASK;
    (void)user, (void)scratch;
    if (end > (size_t)call->in[0]->count) end = (size_t)call->in[0]->count;
    for (size_t at = index * TASK; at < end; at += BLOCK)
        ONX_TRY(do_block(call->state, call, at, end - at < BLOCK ? end - at : BLOCK));
    return ONX_OK;
}

onx_status onx_ml_features_run(onx_call *call) {
    size_t n = (size_t)call->in[0]->count;
    return onx_call_parallel(call, n / TASK + (n % TASK != 0), feature_task, NULL);
}

/* ── Row by row ──────────────────────────────────────────────────────────────────────────────── */

typedef enum norm { NORM_MAX, NORM_L1, NORM_L2 } norm;

onx_status onx_ml_normalizer_init(onx_call *call) {
    norm *st = onx_call_state(call, sizeof *st);
    int which;
    if (!st) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_call_choice(call, "norm", "MAX, L1, L2", &which));
    *st = (norm)which;
    return ONX_OK;
}

onx_status onx_ml_normalizer_bind(onx_call *call) {
    onx_ml_plan *plan = call->plan;
    ONX_TRY(onx_ml_table(call, 0, &plan->rows, &plan->columns));
    plan->grain = plan->columns < TASK ? TASK / (plan->columns + 1) + 1 : 1;
    return onx_call_shape(call, 0, ONX_DTYPE_F32, call->in[0]->rank, call->in[0]->dims);
}

typedef struct row_sums {
    double max, largest, absolute, squares; /* largest: of the absolutes; squares: of x/largest */
} row_sums;

static onx_status read_block(const onx_operand *in, size_t at, size_t n, double *x) {
    onx_dtype dtype = (onx_dtype)in->dtype;
    return onx_dtype_convert(dtype, (const char *)in->data + at * (onx_dtype_bits(dtype) / 8),
                             ONX_DTYPE_F64, x, n, false);
}

static onx_status sum_row(const onx_operand *in, size_t first, size_t columns, row_sums *out) {
    double x[BLOCK];
    row_sums s = {.max = -HUGE_VAL};
    for (size_t at = 0; at < columns; at += BLOCK) {
        size_t n = columns - at < BLOCK ? columns - at : BLOCK;
        ONX_TRY(read_block(in, first + at, n, x));
        for (size_t i = 0; i < n; i++) {
            s.max = fmax(s.max, x[i]);
            s.largest = fmax(s.largest, fabs(x[i]));
            s.absolute += fabs(x[i]);
        }
    }
    for (size_t at = 0; at < columns && s.largest > 0; at += BLOCK) {
        size_t n = columns - at < BLOCK ? columns - at : BLOCK;
        ONX_TRY(read_block(in, first + at, n, x));
        for (size_t i = 0; i < n; i++) s.squares += x[i] / s.largest * (x[i] / s.largest);
    }
    *out = s;
    return ONX_OK;
}

static onx_status normalize_row(onx_call *call, size_t first, size_t columns) {
    double x[BLOCK];
    row_sums s;
    norm kind = *(const norm *)call->state;
    ONX_TRY(sum_row(call->in[0], first, columns, &s));
    double divisor = kind == NORM_MAX  ? s.max
                     : kind == NORM_L1 ? s.absolute
                                       : s.largest * sqrt(s.squares);
    if (divisor == 0) divisor = 1;
    for (size_t at = 0; at < columns; at += BLOCK) {
        size_t n = columns - at < BLOCK ? columns - at : BLOCK;
        ONX_TRY(read_block(call->in[0], first + at, n, x));
        for (size_t i = 0; i < n; i++) x[i] /= divisor;
        char *to = (char *)call->out[0]->data + (first + at) * sizeof(float);
        ONX_TRY(onx_dtype_convert(ONX_DTYPE_F64, x, ONX_DTYPE_F32, to, n, false));
    }
    return ONX_OK;
}

static onx_status normalizer_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_ml_plan *plan = call->plan;
    (void)user, (void)scratch;
    for (size_t row = index * plan->grain; row < (index + 1) * plan->grain && row < plan->rows;
         row++)
        ONX_TRY(normalize_row(call, row * plan->columns, plan->columns));
    return ONX_OK;
}

onx_status onx_ml_normalizer_run(onx_call *call) {
    const onx_ml_plan *plan = call->plan;
    if (!call->in[0]->count) return ONX_OK;
    return onx_call_parallel(call, (plan->rows + plan->grain - 1) / plan->grain, normalizer_task,
                             NULL);
}
