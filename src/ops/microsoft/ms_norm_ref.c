/* ms_norm_ref.c: SkipLayerNormalization, its simplified form, and EmbedLayerNormalization: plain
 * kernels, in double precision. Rows of several tensors are added up, and normalized:
 *
 *     y = (sum - mean) / deviation * gamma + beta        simplified: the mean counts as 0 */
#include "ops/attention/attend_ref.h"
#include "ops/microsoft/microsoft_ref.h"

#include <math.h>

enum { TASK_ELEMENTS = 1 << 14 };

typedef struct state {
    float epsilon;
    bool simplified;
} state;

onx_status onx_ms_norm_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->epsilon = onx_call_float(call, "epsilon");
    st->simplified = strcmp(call->op->name, "SkipSimplifiedLayerNormalization") == 0;
    return ONX_OK;
}

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

/* Rows of n elements that are made by `add`, which puts their sum into `x`. */
typedef struct job {
    int64_t rows, n;
    const onx_operand *gamma, *beta;   /* beta NULL: none */
    onx_operand *sum, *mean, *inverse; /* NULL: nobody wants it */
    void (*add)(const onx_call *call, int64_t row, double *x, double *more);
} job;

static void get(const onx_operand *in, int64_t at, int64_t n, double *out) {
    onx_rows rows = {.data = in->data, .dtype = (onx_dtype)in->dtype};
    onx_rows_get(&rows, (size_t)at, n, out);
}

static void put(const onx_operand *out, int64_t at, int64_t n, const double *x) {
    onx_rows rows = {.data = out->data, .dtype = (onx_dtype)out->dtype};
    onx_rows_put(&rows, (size_t)at, n, x);
}

static void add_row(const onx_operand *in, int64_t at, int64_t n, double *x, double *more) {
    get(in, at, n, more);
    for (int64_t i = 0; i < n; i++) x[i] += more[i];
}

static void normalize(const onx_call *call, const job *j, int64_t row, double *x, double *more) {
    const state *st = call->state;
    double mean = 0, squares = 0;
    j->add(call, row, x, more);
    if (j->sum) put(j->sum, row * j->n, j->n, x);
    for (int64_t i = 0; i < j->n && !st->simplified; i++) mean += x[i];
    mean /= (double)j->n;
    for (int64_t i = 0; i < j->n; i++) squares += (x[i] - mean) * (x[i] - mean);
    double inverse = 1 / sqrt(squares / (double)j->n + (double)st->epsilon);
    get(j->gamma, 0, j->n, more);
    for (int64_t i = 0; i < j->n; i++) x[i] = (x[i] - mean) * inverse * more[i];
    if (j->beta) add_row(j->beta, 0, j->n, x, more);
    put(call->out[0], row * j->n, j->n, x);
    if (j->mean) put(j->mean, row, 1, &mean);
    if (j->inverse) put(j->inverse, row, 1, &inverse);
}

static int64_t grain_of(const job *j) {
    return 1 + TASK_ELEMENTS / (j->n + 1);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    int64_t first = (int64_t)index * grain_of(j), end = first + grain_of(j);
    double *x = scratch, *more = x + j->n;
    for (int64_t row = first; row < end && row < j->rows; row++) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        normalize(call, j, row, x, more);
    }
    return ONX_OK;
}

static onx_status run_rows(onx_call *call, job *j) {
    if (!j->rows) return ONX_OK;
    return onx_call_parallel(call, (size_t)((j->rows - 1) / grain_of(j) + 1), task, j);
}

static onx_status bind_scratch(onx_call *call, int64_t n) {
    return onx_mul_size((size_t)n, 2 * sizeof(double), &call->scratch_each)
               ? ONX_OK
               : onx_fail_nomem(call->diag);
}

static onx_status check_width(const onx_call *call, size_t index, int64_t n) {
    const onx_operand *x = onx_call_in(call, index);
    if (!x || (x->rank == 1 && x->dims[0] == n)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "input %zu needs one dimension, of %lld", index,
                         (long long)n);
}

static onx_operand *out_of(const onx_call *call, size_t index) {
    return index < call->n_out ? call->out[index] : NULL;
}

/* ─ SkipLayerNormalization ───────────────────────────────────────────────────────────────────── */

/* `skip` may lack the first dimensions of the input, or have 1 there. */
static bool repeats(const onx_operand *skip, const onx_operand *x) {
    bool inside = false;
    for (size_t d = 0; d < x->rank; d++) {
        int64_t size = d + skip->rank < x->rank ? 1 : skip->dims[d + skip->rank - x->rank];
        inside |= size != 1;
        if (size != x->dims[d] && (inside || d + 1 == x->rank)) return false;
    }
    return skip->rank <= x->rank;
}

onx_status onx_ms_skip_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    int64_t dims[ONX_RANK_MAX];
    if (x->rank == 0) return onx_call_fail(call, ONX_INVALID, "a scalar has no rows");
    int64_t n = x->dims[x->rank - 1];
    if (!repeats(call->in[1], x))
        return onx_call_fail(call, ONX_INVALID,
                             "skip has not the shape of the input, nor of a part "
                             "of it that can be repeated");
    for (size_t i = 2; i < 5; i++) ONX_TRY(check_width(call, i, n));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = 1;
    ONX_TRY(onx_call_shape(call, 1, ONX_DTYPE_F32, x->rank, dims));
    ONX_TRY(onx_call_shape(call, 2, ONX_DTYPE_F32, x->rank, dims));
    ONX_TRY(onx_call_shape(call, 3, (onx_dtype)x->dtype, x->rank, x->dims));
    ONX_TRY(onx_bind_same(call));
    return x->count ? bind_scratch(call, n) : ONX_OK;
}

static void add_skip(const onx_call *call, int64_t row, double *x, double *more) {
    const state *st = call->state;
    const onx_operand *in = call->in[0], *skip = call->in[1];
    const onx_operand *bias = onx_call_in(call, st->simplified ? 3 : 4);
    int64_t n = in->dims[in->rank - 1];
    get(in, row * n, n, x);
    add_row(skip, row * n % skip->count, n, x, more);
    if (bias) add_row(bias, 0, n, x, more);
}

/* Statistics of rows without elements: of nothing. */
static void fill(onx_operand *out, double value) {
    for (int64_t i = 0; out && i < out->count; i++) put(out, i, 1, &value);
}

onx_status onx_ms_skip_run(onx_call *call) {
    const state *st = call->state;
    const onx_operand *x = call->in[0];
    job j = {.n = x->dims[x->rank - 1], .gamma = call->in[2], .add = add_skip};
    j.beta = st->simplified ? NULL : onx_call_in(call, 3);
    j.mean = out_of(call, 1);
    j.inverse = out_of(call, 2);
    j.sum = out_of(call, 3);
    j.rows = x->count ? x->count / j.n : 0;
    if (x->count) return run_rows(call, &j);
    fill(j.mean, st->simplified ? 0 : (double)NAN);
    fill(j.inverse, (double)NAN);
    return ONX_OK;
}

/* ─ EmbedLayerNormalization ──────────────────────────────────────────────────────────────────── */

static bool same_shape(const onx_operand *a, const onx_operand *b) {
    return a->rank == 2 && b->rank == 2 && a->dims[0] == b->dims[0] && a->dims[1] == b->dims[1];
}

onx_status onx_ms_embed_bind(onx_call *call) {
    const onx_operand *ids = call->in[0], *words = call->in[2], *places = onx_call_in(call, 8);
    const onx_operand *segments = onx_call_in(call, 1), *mask = onx_call_in(call, 7);
    int64_t n = words->rank == 2 ? words->dims[1] : -1;
    for (size_t i = 2; i < 5; i++)
        if (call->in[i] && (call->in[i]->rank != 2 || call->in[i]->dims[1] != n))
            return onx_call_fail(call, ONX_INVALID,
                                 "input %zu needs two dimensions, and rows as "
                                 "wide as those of word_embedding",
                                 i);
    for (size_t i = 5; i < 7; i++) ONX_TRY(check_width(call, i, n));
    if (ids->rank != 2 || (segments && !same_shape(segments, ids)) ||
        (mask && !same_shape(mask, ids)))
        return onx_call_fail(call, ONX_INVALID,
                             "input_ids, segment_ids and mask need two dimensions, the same");
    if (places && (places->rank != 2 || places->dims[1] != ids->dims[1] ||
                   (places->dims[0] != 1 && places->dims[0] != ids->dims[0])))
        return onx_call_fail(call, ONX_INVALID,
                             "position_ids has not the shape of input_ids, nor of one row of it");
    if (segments && !call->in[4])
        return onx_call_fail(call, ONX_INVALID, "segment_ids need a segment_embedding");
    int64_t dims[3] = {ids->dims[0], ids->dims[1], n};
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)words->dtype, 3, dims));
    ONX_TRY(onx_call_shape(call, 1, ONX_DTYPE_I32, 1, dims));
    ONX_TRY(onx_call_shape(call, 2, (onx_dtype)words->dtype, 3, dims));
    return ids->count && n ? bind_scratch(call, n) : ONX_OK;
}

static int64_t place_of(const onx_call *call, int64_t row) {
    const onx_operand *places = onx_call_in(call, 8);
    int64_t length = call->in[0]->dims[1];
    if (!places) return row % length;
    return onx_operand_int(places, places->dims[0] == 1 ? row % length : row);
}

/* Which row of input 2, 3 or 4 is added; -1: none. */
static int64_t index_of(const onx_call *call, size_t table, int64_t row) {
    if (table == 2) return onx_operand_int(call->in[0], row);
    if (table == 3) return place_of(call, row);
    return call->in[1] ? onx_operand_int(call->in[1], row) : 0;
}

static void add_embeddings(const onx_call *call, int64_t row, double *x, double *more) {
    int64_t n = call->in[2]->dims[1];
    for (int64_t i = 0; i < n; i++) x[i] = 0;
    for (size_t t = 2; t < 5; t++)
        if (call->in[t]) add_row(call->in[t], index_of(call, t, row) * n, n, x, more);
}

static onx_status check_indices(const onx_call *call) {
    for (size_t t = 2; t < 5; t++)
        for (int64_t row = 0; call->in[t] && row < call->in[0]->count; row++) {
            int64_t index = index_of(call, t, row);
            if (index < 0 || index >= call->in[t]->dims[0])
                return onx_call_fail(call, ONX_INVALID,
                                     "there is no row %lld in input %zu, which "
                                     "has %lld",
                                     (long long)index, t, (long long)call->in[t]->dims[0]);
        }
    return ONX_OK;
}

/* How many elements of each row of the mask are 1; 0 without one. */
static void count_mask(const onx_call *call, onx_operand *out) {
    const onx_operand *mask = onx_call_in(call, 7);
    int64_t length = call->in[0]->dims[1];
    for (int64_t b = 0; b < out->count; b++) {
        int32_t count = 0;
        for (int64_t s = 0; mask && s < length; s++)
            count += onx_operand_int(mask, b * length + s) == 1;
        memcpy((char *)out->data + (size_t)b * sizeof count, &count, sizeof count);
    }
}

onx_status onx_ms_embed_run(onx_call *call) {
    job j = {.n = call->in[2]->dims[1], .gamma = call->in[5], .beta = call->in[6]};
    j.add = add_embeddings;
    j.sum = out_of(call, 2);
    j.rows = j.n ? call->in[0]->count : 0;
    ONX_TRY(check_indices(call));
    if (out_of(call, 1)) count_mask(call, out_of(call, 1));
    return run_rows(call, &j);
}
