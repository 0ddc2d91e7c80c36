/* attend_ref.c: the loops of attention, in double precision, for all types. Where a type is given
 * for a stage, values are rounded to it there, as the bodies of the operators do. */
#include "ops/attention/attend_ref.h"
#include "ops/softmax/softmax_ref.h"
#include "ops/view/move_ref.h"

#include <math.h>

enum { SPAN = 256, MOST_ROWS = 64, BLOCK_SCORES = 1 << 16, TOGETHER = 4 };

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

onx_rows onx_rows_in(void *data, onx_dtype dtype, int64_t heads, int64_t length, int64_t size) {
    onx_rows rows = {.data = data, .dtype = dtype, .row = (size_t)size};
    rows.head = (size_t)length * rows.row;
    rows.batch = (size_t)heads * rows.head;
    return rows;
}

onx_rows onx_rows_of(const onx_operand *operand, int64_t heads) {
    const int64_t *dims = operand->dims;
    onx_dtype dtype = (onx_dtype)operand->dtype;
    if (operand->rank == 4) return onx_rows_in(operand->data, dtype, dims[1], dims[2], dims[3]);
    onx_rows rows = {.data = operand->data, .dtype = dtype, .row = (size_t)dims[2]};
    rows.batch = (size_t)dims[1] * rows.row;
    rows.head = rows.row / (size_t)heads;
    return rows;
}

void onx_rows_get(const onx_rows *rows, size_t at, int64_t n, double *out) {
    size_t size = onx_dtype_bits(rows->dtype) / 8;
    if (!n) return;
    (void)onx_dtype_convert(rows->dtype, rows->data + at * size, ONX_DTYPE_F64, out, (uint64_t)n,
                            false);
}

void onx_rows_put(const onx_rows *rows, size_t at, int64_t n, const double *x) {
    size_t size = onx_dtype_bits(rows->dtype) / 8;
    if (!n) return;
    (void)onx_dtype_convert(ONX_DTYPE_F64, x, rows->dtype, rows->data + at * size, (uint64_t)n,
                            false);
}

onx_status onx_rows_copy(onx_call *call, const onx_rows *from, const onx_rows *to, int64_t at,
                         int64_t batch, int64_t heads, int64_t length, int64_t size) {
    onx_copy copy = onx_copy_begin(onx_dtype_bits(to->dtype) / 8);
    onx_copy_dim(&copy, batch, (int64_t)from->batch, (int64_t)to->batch);
    onx_copy_dim(&copy, heads, (int64_t)from->head, (int64_t)to->head);
    onx_copy_dim(&copy, length, (int64_t)from->row, (int64_t)to->row);
    onx_copy_dim(&copy, size, 1, 1);
    copy.to_at = at * (int64_t)to->row;
    return onx_copy_run(call, &copy, from->data, to->data);
}

onx_status onx_attend_types(const onx_call *call, size_t n, const uint32_t *types) {
    for (size_t i = 0; i < n; i++) {
        const onx_operand *in = onx_call_in(call, 5 + i);
        if (in && !(types[i] >> in->dtype & 1))
            return onx_call_fail(call, ONX_UNSUPPORTED, "input %zu cannot be %s", 5 + i,
                                 onx_dtype_name((onx_dtype)in->dtype));
    }
    return ONX_OK;
}

/* ─ Blocks ───────────────────────────────────────────────────────────────────────────────────── */

static int64_t rows_of_block(int64_t q_len, int64_t keys) {
    int64_t rows = keys > 0 ? BLOCK_SCORES / keys : MOST_ROWS;
    if (rows > MOST_ROWS) rows = MOST_ROWS;
    if (rows > q_len) rows = q_len;
    return rows > 0 ? rows : 1;
}

/* A block of rows of one head, and its scratch. */
typedef struct block {
    const onx_attend *of;
    int64_t b, h, first, rows, keys, past, stride; /* stride: scores of a row */
    double *q, *scores, *y, *row;                  /* row: of a key, or of a value */
    const onx_attend_vectors *vectors;             /* q, scores and y are floats then, */
    double *wide;                                  /* but for the scores of a row, */
    float by[MOST_ROWS];                           /* and chances are to be multiplied by this */
    onx_seen seen[MOST_ROWS];
} block;

onx_status onx_attend_scratch(onx_call *call, int64_t q_len, int64_t keys, int64_t head,
                              int64_t v_head) {
    size_t rows = (size_t)rows_of_block(q_len, keys), width, row = 0, bytes;
    size_t wider = (size_t)(head > v_head ? head : v_head);
    bool shows = call->n_out > 3 && call->out[3];
    if (v_head == 0 && !shows) return ONX_OK;
    bool fits = onx_add_size((size_t)head, (size_t)v_head, &width) &&
                onx_add_size(width, (size_t)keys, &width) && onx_mul_size(width, rows, &row) &&
                onx_add_size(row, wider, &row) && onx_add_size(row, (size_t)keys, &row) &&
                onx_mul_size(row, sizeof(double), &bytes) &&
                onx_add_size(call->scratch_each, bytes, &call->scratch_each);
    return fits ? ONX_OK : onx_fail_nomem(call->diag);
}

/* Integers of a cache become what they stand for. */
static void expand(const onx_rows *part, int64_t head, int64_t n, double *x) {
    const onx_operand *by = part->scales;
    onx_rows scales = {.data = by->data, .dtype = (onx_dtype)by->dtype};
    double scale = 1;
    for (int64_t i = n; i-- > 0;) {
        if (part->bits == 4) x[i] = (double)(((unsigned)x[i / 2] >> (i % 2 * 4) & 15) - 8.0);
        if (by->count > 1 || i == n - 1)
            onx_rows_get(&scales, by->count > 1 ? (size_t)(head * n + i) : 0, 1, &scale);
        x[i] *= scale;
    }
}

/* Row `j` of key or value, rounded to the type of the stage. */
static void fetch(const block *k, const onx_rows parts[2], int64_t j, int64_t n, double factor) {
    bool old = j < k->past;
    const onx_rows *part = &parts[!old];
    int64_t head = k->h / (k->of->q_heads / k->of->kv_heads);
    int64_t stored = part->bits == 4 ? (n + 1) / 2 : n;
    onx_rows_get(part, onx_rows_at(part, k->b, head, old ? j : j - k->past), stored, k->row);
    if (part->bits) expand(part, head, n, k->row);
    for (int64_t i = 0; i < n && factor != 1; i++) k->row[i] *= factor;
    if (factor != 1 || part->dtype != k->of->stage) onx_dtype_round(k->of->stage, k->row, n);
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int64_t l = 0; l < 4; l++) sum[l] += a[i + l] * b[i + l];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

static bool make_products(const block *k) {
    const onx_attend *of = k->of;
    for (int64_t r = 0; r < k->rows; r++) {
        double *q = k->q + r * of->head;
        onx_rows_get(&of->q, onx_rows_at(&of->q, k->b, k->h, k->first + r), of->head, q);
        for (int64_t i = 0; i < of->head && of->root != 1; i++) q[i] *= of->root;
        if (of->root != 1) onx_dtype_round(of->stage, q, of->head);
    }
    for (int64_t j = 0; j < k->keys; j++) {
        if (j % SPAN == 0 && onx_call_stopped(of->call)) return false;
        fetch(k, of->k, j, of->head, of->root);
        for (int64_t r = 0; r < k->rows; r++)
            k->scores[r * k->stride + j] = dot(k->q + r * of->head, k->row, of->head) * of->scale;
    }
    return true;
}

/* ─ On vectors ───────────────────────────────────────────────────────────────────────────────── */

static bool is_floats(const onx_rows *rows) {
    return !rows->data || (rows->dtype == ONX_DTYPE_F32 && !rows->bits);
}
static const onx_attend_vectors *vectors_of(const onx_attend *of) {
    bool fits = of->vectors && of->stage == ONX_DTYPE_F32 && of->soft == ONX_DTYPE_F32 &&
                is_floats(&of->q) && is_floats(&of->y);
    for (size_t i = 0; i < 2; i++) fits = fits && is_floats(&of->k[i]) && is_floats(&of->v[i]);
    return fits ? of->vectors : NULL;
}

/* Rows of key or value from `j` on that lie one after the other, `end` excluded and SPAN at most;
 * the first is *row. */
static int64_t next_rows(const block *k, const onx_rows parts[2], int64_t j, int64_t end,
                         const float **row) {
    const bool old = j < k->past;
    const onx_rows *part = &parts[!old];
    int64_t head = k->h / (k->of->q_heads / k->of->kv_heads), stop = old ? k->past : end;
    *row = (const float *)(const void *)part->data +
           onx_rows_at(part, k->b, head, old ? j : j - k->past);
    if (stop > end) stop = end;
    return stop - j < SPAN ? stop - j : SPAN;
}

/* Keys that some row of the block may see, from the first on. */
static int64_t most_keys(const block *k) {
    const onx_attend *of = k->of;
    int64_t most = 0;
    if (!of->bias || of->shown) return k->keys;
    for (int64_t r = 0; r < k->rows; r++) {
        onx_seen seen = of->bias(of, k->b, k->h, k->first + r, k->keys, NULL);
        if (seen.end > most) most = seen.end;
    }
    return most;
}

static bool make_products_f32(const block *k) {
    const onx_attend *of = k->of;
    float *q = (float *)(void *)k->q, *scores = (float *)(void *)k->scores;
    int64_t keys = most_keys(k);
    memset(scores, 0, (size_t)(k->rows * k->stride) * sizeof *scores);
    if (!of->head) return true;
    for (int64_t r = 0; r < k->rows; r++)
        memcpy(q + r * of->head,
               of->q.data + onx_rows_at(&of->q, k->b, k->h, k->first + r) * sizeof *q,
               (size_t)of->head * sizeof *q);
    onx_attend_dots d = {.q = q, .rows = (size_t)k->rows, .head = (size_t)of->head};
    d.stride = (size_t)k->stride;
    d.scale = (float)(of->root * of->root * of->scale);
    for (int64_t j = 0, n; j < keys; j += n) {
        if (onx_call_stopped(of->call)) return false;
        n = next_rows(k, of->k, j, keys, &d.k);
        d.step = of->k[j >= k->past].row;
        d.n = (size_t)n;
        d.scores = scores + j;
        k->vectors->dots(&d);
    }
    return true;
}

/* Values [first, end) of the span that begins with key `at`, for a few rows. */
static void add_values(const block *k, int64_t r, size_t rows, int64_t first, int64_t end,
                       int64_t at, const float *v, size_t step) {
    const onx_attend *of = k->of;
    if (first >= end) return;
    onx_attend_add a = {.y = (float *)(void *)k->y + r * of->v_head,
                        .v = v + (size_t)(first - at) * step,
                        .chances = (const float *)(const void *)k->scores + r * k->stride + first,
                        .rows = rows,
                        .n = (size_t)of->v_head,
                        .step = step,
                        .stride = (size_t)k->stride,
                        .values = (size_t)(end - first)};
    k->vectors->add(&a);
}

/* n values from `at` on: those that a few rows see together, and what each sees besides. */
static void add_span(const block *k, int64_t at, int64_t n, const float *v, size_t step) {
    for (int64_t r = 0, rows; r < k->rows; r += rows) {
        int64_t first = at, end = at + n;
        rows = k->rows - r < TOGETHER ? 1 : TOGETHER;
        for (int64_t i = r; i < r + rows; i++) {
            if (k->seen[i].first > first) first = k->seen[i].first;
            if (k->seen[i].end < end) end = k->seen[i].end;
        }
        if (first >= end) first = end = at;
        add_values(k, r, (size_t)rows, first, end, at, v, step);
        for (int64_t i = r; i < r + rows && rows > 1; i++) {
            onx_seen seen = k->seen[i];
            if (seen.first < at) seen.first = at;
            if (seen.end > at + n) seen.end = at + n;
            add_values(k, i, 1, seen.first, seen.end < first ? seen.end : first, at, v, step);
            add_values(k, i, 1, seen.first > end ? seen.first : end, seen.end, at, v, step);
        }
    }
}

static bool make_rows_f32(const block *k) {
    const onx_attend *of = k->of;
    float *y = (float *)(void *)k->y;
    if (!of->v_head) return true;
    memset(y, 0, (size_t)(k->rows * of->v_head) * sizeof *y);
    for (int64_t j = 0, n; j < k->keys; j += n) {
        const float *v;
        if (onx_call_stopped(of->call)) return false;
        n = next_rows(k, of->v, j, k->keys, &v);
        add_span(k, j, n, v, of->v[j >= k->past].row);
    }
    for (int64_t r = 0; r < k->rows; r++) {
        for (int64_t i = 0; i < of->v_head; i++) y[r * of->v_head + i] *= k->by[r];
        memcpy(of->y.data + onx_rows_at(&of->y, k->b, k->h, k->first + r) * sizeof *y,
               y + r * of->v_head, (size_t)of->v_head * sizeof *y);
    }
    return true;
}

/* ─ From products to chances ─────────────────────────────────────────────────────────────────── */

/* A row of the output that shows scores; keys that it has beyond are 0. */
static void show(const block *k, int64_t s, int64_t stage, const onx_seen *seen, double *scores) {
    const onx_attend *of = k->of;
    if (!of->shown || !of->shown->count || of->show != stage) return;
    int64_t width = of->shown->dims[3], n = k->keys < width ? k->keys : width;
    onx_rows to = onx_rows_of(of->shown, 0);
    size_t at = onx_rows_at(&to, k->b, k->h, s), size = onx_dtype_bits(to.dtype) / 8;
    for (int64_t j = 0; j < n && of->bare && seen; j++)
        if (j < seen->first || j >= seen->end) scores[j] = 0;
    onx_rows_put(&to, at, n, scores);
    memset(to.data + (at + (size_t)n) * size, 0, (size_t)(width - n) * size);
}

static void bend(const onx_attend *of, double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] /= of->cap;
    onx_dtype_round(of->stage, x, n);
    for (int64_t i = 0; i < n; i++) x[i] = tanh(x[i]);
    onx_dtype_round(of->stage, x, n);
    for (int64_t i = 0; i < n; i++) x[i] *= of->cap;
    onx_dtype_round(of->stage, x, n);
}

/* A score that takes part in the sum; -infinity where there is none. */
static double sink_of(const onx_attend *of, int64_t h) {
    double sink = 0;
    if (!of->sink) return of->smooth ? 0 : -INFINITY;
    onx_rows sinks = {.data = of->sink->data, .dtype = (onx_dtype)of->sink->dtype};
    onx_rows_get(&sinks, (size_t)h, 1, &sink);
    return sink;
}

/* In steps as NumPy makes them in a small type: the differences, their powers and the sum round. */
static void softmax(const onx_attend *of, int64_t h, double *x, int64_t n) {
    double sink = sink_of(of, h), max = sink, sum;
    for (int64_t j = 0; j < n; j++)
        if (x[j] > max) max = x[j];
    for (int64_t j = 0; j < n; j++) x[j] -= max;
    onx_dtype_round(of->soft, x, n);
    for (int64_t j = 0; j < n; j++) x[j] = exp(x[j]);
    onx_dtype_round(of->soft, x, n);
    sum = onx_softmax_sum(of->soft, x, n);
    if (of->sink || of->smooth) sum += exp(sink - max);
    double rounded = sum;
    onx_dtype_round(of->soft, &rounded, 1);
    if (isfinite(rounded)) sum = rounded; /* a long row sums up to more than float16 holds */
    for (int64_t j = 0; j < n; j++) x[j] /= sum;
}

/* What becomes of the n products of a row before the softmax. */
static onx_seen make_scores(const block *k, int64_t s, double *x, int64_t n) {
    const onx_attend *of = k->of;
    onx_dtype_round(of->stage, x, n);
    show(k, s, 0, NULL, x);
    if (of->cap != 0) bend(of, x, n);
    show(k, s, 1, NULL, x);
    onx_seen seen = of->bias ? of->bias(of, k->b, k->h, s, n, x) : (onx_seen){0, n};
    if (of->bias) onx_dtype_round(of->stage, x, n);
    show(k, s, 2, &seen, x);
    for (int64_t j = 0; j < n; j++)
        if (j < seen.first || j >= seen.end) x[j] = 0;
    return seen;
}

static void make_chances(block *k, int64_t r) {
    const onx_attend *of = k->of;
    double *x = k->scores + r * k->stride;
    onx_seen seen = make_scores(k, k->first + r, x, k->keys);
    double *from = x + seen.first;
    int64_t some = seen.end - seen.first;
    onx_dtype_round(of->soft, from, some);
    softmax(of, k->h, from, some);
    onx_dtype_round(of->soft, from, some);
    onx_dtype_round(of->stage, from, some);
    show(k, k->first + r, 3, &seen, x);
    k->seen[r] = seen;
}

/* In floats; what only hides keys need not become doubles first, nor what nobody is shown. */
static onx_seen make_scores_f32(const block *k, int64_t s, float *x, int64_t n) {
    const onx_attend *of = k->of;
    onx_seen seen = {0, n};
    if (of->cap != 0 && !of->shown) k->vectors->bend(x, (size_t)n, (float)of->cap);
    if (!of->shown && !of->bias) return seen;
    if (!of->shown && of->hides) return of->bias(of, k->b, k->h, s, n, NULL);
    for (int64_t j = 0; j < n; j++) k->wide[j] = (double)x[j];
    seen = of->shown ? make_scores(k, s, k->wide, n) : of->bias(of, k->b, k->h, s, n, k->wide);
    for (int64_t j = 0; j < n; j++) x[j] = (float)k->wide[j];
    return seen;
}

static void make_chances_f32(block *k, int64_t r) {
    const onx_attend *of = k->of;
    float *x = (float *)(void *)k->scores + r * k->stride;
    onx_seen seen = make_scores_f32(k, k->first + r, x, k->keys);
    size_t some = (size_t)(seen.end - seen.first);
    float sink = (float)sink_of(of, k->h), max = k->vectors->largest(x + seen.first, some);
    if (sink > max) max = sink;
    double sum = k->vectors->powers(x + seen.first, some, max);
    if (of->sink || of->smooth) sum += exp((double)sink - (double)max);
    k->by[r] = some ? (float)(1 / sum) : 1;
    k->seen[r] = seen;
    if (!of->shown) return;
    for (int64_t j = 0; j < k->keys; j++)
        k->wide[j] = j < seen.first || j >= seen.end ? 0 : (double)(x[j] * k->by[r]);
    show(k, k->first + r, 3, &seen, k->wide);
}

static bool make_rows(const block *k) {
    const onx_attend *of = k->of;
    int64_t first = k->keys, end = 0, n = of->v_head;
    for (int64_t i = 0; i < k->rows * n; i++) k->y[i] = 0;
    for (int64_t r = 0; r < k->rows; r++) {
        if (k->seen[r].first < first) first = k->seen[r].first;
        if (k->seen[r].end > end) end = k->seen[r].end;
    }
    for (int64_t j = first; j < end; j++) {
        if ((j - first) % SPAN == 0 && onx_call_stopped(of->call)) return false;
        fetch(k, of->v, j, n, 1);
        for (int64_t r = 0; r < k->rows; r++) {
            double chance = k->scores[r * k->stride + j], *y = k->y + r * n;
            if (j < k->seen[r].first || j >= k->seen[r].end) continue;
            for (int64_t i = 0; i < n; i++) y[i] += chance * k->row[i];
        }
    }
    for (int64_t r = 0; r < k->rows; r++)
        onx_rows_put(&of->y, onx_rows_at(&of->y, k->b, k->h, k->first + r), n, k->y + r * n);
    return true;
}

/* ─ Tasks ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const onx_attend *attend;
    int64_t rows, blocks, keys; /* rows of a block, blocks of a head, the most keys */
} job;

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call;
    const job *j = user;
    const onx_attend *of = j->attend;
    int64_t at = (int64_t)index / j->blocks;
    block k = {.of = of, .b = at / of->q_heads, .h = at % of->q_heads, .stride = j->keys};
    k.first = (int64_t)index % j->blocks * j->rows;
    k.rows = of->q_len - k.first < j->rows ? of->q_len - k.first : j->rows;
    k.past = of->past;
    k.keys = of->count ? of->count(of, k.b, &k.past) : of->keys;
    k.q = scratch;
    k.y = k.q + j->rows * of->head;
    k.row = k.y + j->rows * of->v_head;
    k.scores = k.row + (of->head > of->v_head ? of->head : of->v_head);
    k.wide = k.scores + j->rows * j->keys;
    k.vectors = vectors_of(of);
    if (!(k.vectors ? make_products_f32 : make_products)(&k)) return ONX_CANCELLED;
    for (int64_t r = 0; r < k.rows; r++) (k.vectors ? make_chances_f32 : make_chances)(&k, r);
    return (k.vectors ? make_rows_f32 : make_rows)(&k) ? ONX_OK : ONX_CANCELLED;
}

onx_status onx_attend_run(onx_call *call, const onx_attend *attend, int64_t keys) {
    job j = {attend, rows_of_block(attend->q_len, keys), 0, keys};
    bool nothing = attend->v_head == 0 && (!attend->shown || !attend->shown->count);
    if (nothing || !attend->batch || !attend->q_heads || !attend->q_len) return ONX_OK;
    j.blocks = (attend->q_len - 1) / j.rows + 1;
    return onx_call_parallel(call, (size_t)(attend->batch * attend->q_heads * j.blocks), task, &j);
}
