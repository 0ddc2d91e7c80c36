/* ml_columns_ref.c: FeatureVectorizer, tables side by side; ArrayFeatureExtractor, columns. */
#include "ops/ml/ml_ref.h"

#include "ops/view/move_ref.h"

enum { TASK = 16384 }; /* elements of a task, about */

/* ── FeatureVectorizer ───────────────────────────────────────────────────────────────────────── */

typedef struct widths {
    bool given;
    size_t n;
    const int64_t *v; /* how wide each input becomes */
} widths;

onx_status onx_ml_vectorizer_init(onx_call *call) {
    widths *st = onx_call_state(call, sizeof *st);
    onx_ml_values list;
    if (!st) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ml_values_get(call, "inputdimensions", &list));
    if (list.dtype != ONX_DTYPE_I64) return ONX_OK;
    *st = (widths){true, list.n, (const int64_t *)(void *)list.data};
    if (list.n != call->n_in)
        return onx_call_fail(call, ONX_INVALID,
                             "inputdimensions has %zu elements; there are %zu inputs", list.n,
                             call->n_in);
    for (size_t i = 0; i < list.n; i++)
        if (st->v[i] < 0)
            return onx_call_fail(call, ONX_INVALID, "inputdimensions has the element %lld",
                                 (long long)st->v[i]);
    return ONX_OK;
}

static size_t width_of(const onx_call *call, size_t i) {
    const widths *st = call->state;
    const onx_operand *in = call->in[i];
    return (size_t)(st->given ? st->v[i] : in->dims[in->rank - 1]);
}

onx_status onx_ml_vectorizer_bind(onx_call *call) {
    onx_ml_plan *plan = call->plan;
    int64_t width = 0;
    *plan = (onx_ml_plan){0};
    for (size_t i = 0; i < call->n_in; i++) {
        size_t rows = 0, columns = 0;
        if (!call->in[i]) return onx_call_fail(call, ONX_INVALID, "input %zu is absent", i);
        ONX_TRY(onx_ml_table(call, i, &rows, &columns));
        if (i && rows != plan->rows)
            return onx_call_fail(call, ONX_INVALID, "input %zu has %zu rows, but input 0 has %zu",
                                 i, rows, plan->rows);
        plan->rows = rows;
        if (!onx_add_i64(width, (int64_t)width_of(call, i), &width))
            return onx_call_fail(call, ONX_LIMIT, "the table is too wide");
    }
    plan->columns = (size_t)width;
    plan->grain = plan->columns < TASK ? TASK / (plan->columns + 1) + 1 : 1;
    return onx_call_shape(call, 0, ONX_DTYPE_F32, 2, (int64_t[]){(int64_t)plan->rows, width});
}

/* Rows of one input: cut, or filled up with zeros. */
static onx_status place_input(const onx_call *call, size_t i, size_t offset, size_t row,
                              size_t end) {
    const onx_ml_plan *plan = call->plan;
    const onx_operand *in = call->in[i];
    onx_dtype dtype = (onx_dtype)in->dtype;
    size_t own = (size_t)in->dims[in->rank - 1], width = width_of(call, i);
    size_t n = own < width ? own : width, size = onx_dtype_bits(dtype) / 8;
    for (; row < end; row++) {
        char *to = (char *)call->out[0]->data + (row * plan->columns + offset) * sizeof(float);
        if (n)
            ONX_TRY(onx_dtype_convert(dtype, (const char *)in->data + row * own * size,
                                      ONX_DTYPE_F32, to, n, false));
        memset(to + n * sizeof(float), 0, (width - n) * sizeof(float));
    }
    return ONX_OK;
}

static onx_status vectorizer_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_ml_plan *plan = call->plan;
    size_t row = index * plan->grain, end = row + plan->grain, offset = 0;
    (void)user, (void)scratch;
    if (end > plan->rows) end = plan->rows;
    for (size_t i = 0; i < call->n_in; i++) {
        ONX_TRY(place_input(call, i, offset, row, end));
        offset += width_of(call, i);
    }
    return ONX_OK;
}

onx_status onx_ml_vectorizer_run(onx_call *call) {
    const onx_ml_plan *plan = call->plan;
    if (!call->out[0]->count) return ONX_OK;
    return onx_call_parallel(call, (plan->rows + plan->grain - 1) / plan->grain, vectorizer_task,
                             NULL);
}

/* ── ArrayFeatureExtractor ───────────────────────────────────────────────────────────────────── */

/* A row alone becomes a table. */
onx_status onx_ml_extractor_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    int64_t dims[ONX_RANK_MAX] = {1};
    size_t rank = x->rank > 1 ? x->rank : 2;
    if (!x->rank) return onx_call_fail(call, ONX_INVALID, "a scalar has no features");
    for (size_t i = 0; i + 1 < x->rank; i++) dims[i] = x->dims[i];
    dims[rank - 1] = call->in[1]->count;
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, rank, dims));
    return onx_move_bind(call);
}

typedef struct extraction {
    const char *from;
    char *to;
    size_t size, columns, picked, grain, rows;
} extraction;

static onx_status extractor_task(void *user, onx_call *call, size_t index, void *scratch) {
    const extraction *e = user;
    const onx_operand *y = call->in[1];
    size_t end = (index + 1) * e->grain < e->rows ? (index + 1) * e->grain : e->rows;
    (void)scratch;
    for (size_t row = index * e->grain; row < end; row++)
        for (size_t i = 0; i < e->picked; i++)
            memcpy(e->to + (row * e->picked + i) * e->size,
                   e->from + (row * e->columns + (size_t)onx_operand_int(y, (int64_t)i)) * e->size,
                   e->size);
    return ONX_OK;
}

onx_status onx_ml_extractor_run(onx_call *call) {
    const onx_operand *x = call->in[0], *y = call->in[1];
    int64_t columns = x->dims[x->rank - 1];
    for (int64_t i = 0; i < y->count; i++) {
        int64_t at = onx_operand_int(y, i);
        if (at < 0 || at >= columns)
            return onx_call_fail(call, ONX_INVALID, "index %lld is not a column of %lld",
                                 (long long)at, (long long)columns);
    }
    onx_mover mover = onx_move_begin(call);
    extraction e = {.from = onx_move_in(&mover, 0), .to = onx_move_out(&mover, 0)};
    e.size = onx_move_size((onx_dtype)x->dtype);
    e.columns = (size_t)columns;
    e.picked = (size_t)y->count;
    e.rows = call->out[0]->count ? (size_t)call->out[0]->count / e.picked : 0;
    e.grain = TASK / (e.picked + 1) + 1;
    ONX_TRY(onx_call_parallel(call, (e.rows + e.grain - 1) / e.grain, extractor_task, &e));
    return onx_move_end(call, 0, e.to);
}
