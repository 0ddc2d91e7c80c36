/* contract_ref.c: contractions: the loops. Elements are 8 bytes wide on the way: doubles, or
 * integers modulo 2^64. */
#include "ops/einsum/contract_ref.h"

enum { SPAN = 256, COLUMNS = 64, TASK_ELEMENTS = 1 << 15, TASK_PRODUCTS = 1 << 18 };

typedef union wide {
    double f;
    uint64_t u;
} wide;

static onx_dtype wide_dtype(onx_dtype dtype) {
    return ONX_T_FLOATS >> dtype & 1     ? ONX_DTYPE_F64
           : ONX_T_UNSIGNED >> dtype & 1 ? ONX_DTYPE_U64
                                         : ONX_DTYPE_I64;
}

/* ─ Elements of a term, in another order ─────────────────────────────────────────────────────── */

/* Number i is the sum of elements i * sum … (i + 1) * sum - 1 of the walk through all
 * dimensions. */
typedef struct walk {
    const char *data;
    onx_dtype dtype;
    bool floats;
    size_t size; /* of an element */
    size_t count, sum;
    size_t rank, dims[ONX_LABELS], steps[ONX_LABELS];
} walk;

static void walk_dim(walk *w, const onx_contract *plan, const onx_term *term, uint8_t label) {
    size_t i = 0;
    while (i < term->n && term->label[i] != label) i++;
    w->dims[w->rank] = plan->sizes[label];
    w->steps[w->rank++] = i < term->n ? term->step[i] : 0;
}

static walk walk_begin(const onx_call *call, const onx_contract *plan, size_t index) {
    const onx_operand *first = call->in[0];
    walk w = {.dtype = wide_dtype((onx_dtype)first->dtype), .size = sizeof(wide)};
    w.floats = w.dtype == ONX_DTYPE_F64;
    if (index >= plan->n)
        w.data = (const char *)call->scratch + onx_contract_term(plan, index)->at * sizeof(wide);
    else {
        w.dtype = (onx_dtype)call->in[index]->dtype;
        w.size = onx_dtype_bits(w.dtype) / 8;
        w.data = call->in[index]->data;
    }
    return w;
}

/* The labels of the result, one after the other, are those given; all others are summed. */
static void walk_end(walk *w, const onx_contract *plan, const onx_term *term, size_t n,
                     const uint8_t *labels) {
    w->count = w->sum = 1;
    for (size_t i = 0; i < n; i++) {
        walk_dim(w, plan, term, labels[i]);
        w->count *= plan->sizes[labels[i]];
    }
    for (size_t i = 0; i < term->n; i++) {
        size_t at = 0;
        while (at < n && labels[at] != term->label[i]) at++;
        if (at < n) continue;
        walk_dim(w, plan, term, term->label[i]);
        w->sum *= plan->sizes[term->label[i]];
    }
}

/* A place in a walk. */
typedef struct cursor {
    const walk *of;
    size_t at, index[ONX_LABELS]; /* at: the element */
} cursor;

static cursor cursor_at(const walk *w, size_t number) {
    cursor c = {.of = w};
    for (size_t d = w->rank; d-- > 0; number /= w->dims[d]) {
        c.index[d] = number % w->dims[d];
        c.at += c.index[d] * w->steps[d];
    }
    return c;
}

static void cursor_next(cursor *c) {
    const walk *w = c->of;
    for (size_t d = w->rank; d-- > 0;) {
        c->at += w->steps[d];
        if (++c->index[d] < w->dims[d]) return;
        c->at -= w->dims[d] * w->steps[d];
        c->index[d] = 0;
    }
}

/* The next n elements, at most SPAN. */
static void cursor_take(cursor *c, size_t n, wide *out) {
    const walk *w = c->of;
    char raw[SPAN * sizeof(wide)];
    for (size_t i = 0; i < n; i++, cursor_next(c))
        memcpy(raw + i * w->size, w->data + c->at * w->size, w->size);
    (void)onx_dtype_convert(w->dtype, raw, wide_dtype(w->dtype), out, n, false);
}

static wide take_sum(const onx_call *call, cursor *c) {
    const walk *w = c->of;
    wide some[SPAN], total = {.u = 0}; /* which is also the double 0 */
    for (size_t left = w->sum, n; left && !onx_call_stopped(call); left -= n) {
        n = left < SPAN ? left : SPAN;
        cursor_take(c, n, some);
        for (size_t i = 0; i < n && w->floats; i++) total.f += some[i].f;
        for (size_t i = 0; i < n && !w->floats; i++) total.u += some[i].u;
    }
    return total;
}

static void walk_get(const onx_call *call, const walk *w, size_t first, size_t n, wide *out) {
    if (w->sum == 0) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    cursor c = cursor_at(w, first * w->sum);
    for (size_t i = 0, some; i < n; i += some) {
        some = w->sum > 1 ? 1 : n - i < SPAN ? n - i : SPAN;
        if (w->sum > 1)
            out[i] = take_sum(call, &c);
        else
            cursor_take(&c, some, out + i);
    }
}

static size_t grain_of(const walk *w) {
    return w->sum < TASK_ELEMENTS ? TASK_ELEMENTS / (w->sum + 1) + 1 : 1;
}

typedef struct staging {
    walk from;
    wide *to;
} staging;

static onx_status stage_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const staging *s = user;
    size_t grain = grain_of(&s->from), first = index * grain, left = s->from.count - first;
    walk_get(call, &s->from, first, left < grain ? left : grain, s->to + first);
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

/* Term `index` with its dimensions in that order, in the stage. */
static onx_status stage(onx_call *call, size_t index, size_t n, const uint8_t *labels, wide *to) {
    const onx_contract *plan = call->plan;
    staging s = {walk_begin(call, plan, index), to};
    walk_end(&s.from, plan, onx_contract_term(plan, index), n, labels);
    if (!s.from.count) return ONX_OK;
    return onx_call_parallel(call, (s.from.count - 1) / grain_of(&s.from) + 1, stage_task, &s);
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct product {
    size_t rows, m, k, n, grain; /* rows: batches * m */
    bool floats;
    const wide *a, *b;
    wide *y;
} product;

#define DEFINE_ROW(name, T, member)                                                                \
    static void name(const product *p, const wide *a, const wide *b, wide *y) {                    \
        for (size_t at = 0; at < p->n; at += COLUMNS) {                                            \
            size_t width = p->n - at < COLUMNS ? p->n - at : COLUMNS;                              \
            T sums[COLUMNS] = {0};                                                                 \
            for (size_t l = 0; l < p->k; l++) {                                                    \
                T x = a[l].member;                                                                 \
                const wide *row = b + l * p->n + at;                                               \
                for (size_t j = 0; j < width; j++) sums[j] += x * row[j].member;                   \
            }                                                                                      \
            for (size_t j = 0; j < width; j++) y[at + j].member = sums[j];                         \
        }                                                                                          \
    }
DEFINE_ROW(row_f64, double, f)
DEFINE_ROW(row_u64, uint64_t, u)

static onx_status product_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const product *p = user;
    size_t row = index * p->grain, end = row + p->grain < p->rows ? row + p->grain : p->rows;
    for (; row < end; row++) {
        const wide *a = p->a + row * p->k, *b = p->b + row / p->m * p->k * p->n;
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        (p->floats ? row_f64 : row_u64)(p, a, b, p->y + row * p->n);
    }
    return ONX_OK;
}

static size_t count(const onx_contract *plan, size_t n, const uint8_t *labels) {
    size_t all = 1;
    for (size_t i = 0; i < n; i++) all *= plan->sizes[labels[i]];
    return all;
}

static onx_status multiply(onx_call *call, size_t step) {
    const onx_contract *plan = call->plan;
    const onx_pair *p = onx_contract_pair(plan, step);
    const onx_term *y = onx_contract_term(plan, plan->n + step);
    const uint8_t *m = y->label + p->n_batch, *n = m + p->n_m;
    uint8_t a[ONX_LABELS], b[ONX_LABELS];
    wide *scratch = call->scratch;
    product job = {.a = scratch + plan->stage[0], .b = scratch + plan->stage[1]};
    memcpy(a, y->label, p->n_batch + p->n_m); /* [batch][m][k] */
    memcpy(a + p->n_batch + p->n_m, p->k, p->n_k);
    memcpy(b, y->label, p->n_batch); /* [batch][k][n] */
    memcpy(b + p->n_batch, p->k, p->n_k);
    memcpy(b + p->n_batch + p->n_k, n, p->n_n);
    job.m = count(plan, p->n_m, m);
    job.n = count(plan, p->n_n, n);
    job.k = count(plan, p->n_k, p->k);
    job.rows = count(plan, p->n_batch, y->label) * job.m;
    job.floats = wide_dtype((onx_dtype)call->in[0]->dtype) == ONX_DTYPE_F64;
    job.y = scratch + y->at;
    if (!job.rows || !job.n) return ONX_OK;
    ONX_TRY(stage(call, p->a, p->n_batch + p->n_m + p->n_k, a, scratch + plan->stage[0]));
    ONX_TRY(stage(call, p->b, p->n_batch + p->n_k + p->n_n, b, scratch + plan->stage[1]));
    size_t products = job.n * (job.k + 1);
    job.grain = products < TASK_PRODUCTS ? TASK_PRODUCTS / products : 1;
    return onx_call_parallel(call, (job.rows - 1) / job.grain + 1, product_task, &job);
}

/* ─ The output ───────────────────────────────────────────────────────────────────────────────── */

static onx_status output_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const onx_contract *plan = call->plan;
    const walk *w = user;
    onx_operand *y = call->out[0];
    size_t grain = grain_of(w), at = index * grain,
           end = at + grain < w->count ? at + grain : w->count;
    size_t size = onx_dtype_bits((onx_dtype)y->dtype) / 8;
    wide some[SPAN];
    for (size_t n; at < end && !onx_call_stopped(call); at += n) {
        n = end - at < SPAN ? end - at : SPAN;
        walk_get(call, w, at, n, some);
        for (size_t i = 0; i < n && w->floats; i++) some[i].f *= plan->alpha;
        (void)onx_dtype_convert(wide_dtype((onx_dtype)y->dtype), some, (onx_dtype)y->dtype,
                                (char *)y->data + at * size, n, false);
    }
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

onx_status onx_contract_run(onx_call *call) {
    const onx_contract *plan = call->plan;
    if (!call->n_out || !call->out[0] || !call->out[0]->count) return ONX_OK;
    for (size_t step = 0; step + 1 < plan->n; step++) ONX_TRY(multiply(call, step));
    size_t last = 2 * plan->n - 2;
    walk w = walk_begin(call, plan, last);
    walk_end(&w, plan, onx_contract_term(plan, last), plan->n_out, plan->out);
    return onx_call_parallel(call, (w.count - 1) / grain_of(&w) + 1, output_task, &w);
}
