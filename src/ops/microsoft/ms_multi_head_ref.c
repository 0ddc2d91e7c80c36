/* ms_multi_head_ref.c: MultiHeadAttention: plain kernel: its inputs, in all their forms; the rest
 * is in ms_heads_ref.c.
 *
 *     query [B,S,D]       key, value [B,L,D]          each by itself
 *     query [B,S,D]       key, value [B,N,L,H]        from a cache
 *     query [B,S,D]       key [B,L,N,2,H]             key and value in one
 *     query [B,S,N,3,H]                               all in one */
#include "ops/microsoft/ms_heads_ref.h"

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status wrong(const onx_call *call, const char *what) {
    return onx_call_fail(call, ONX_INVALID, "%s: the sizes do not fit those of the query", what);
}

static bool is_packed(const onx_operand *x, int64_t batch, int64_t heads, int64_t parts) {
    return x->rank == 5 && x->dims[0] == batch && x->dims[2] == heads && x->dims[3] == parts;
}

static onx_status bind_key(const onx_call *call, onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *k = call->in[1], *v = onx_call_in(call, 2);
    const int64_t *kd = k->dims;
    if (!v) {
        if (!is_packed(k, p->batch, st->heads, 2) || kd[4] != p->head)
            return wrong(call, "key and value in one");
        p->kv_len = kd[1], p->v_head = p->head;
        return ONX_OK;
    }
    const int64_t *vd = v->dims;
    if (k->rank != v->rank || kd[0] != p->batch || vd[0] != p->batch)
        return wrong(call, "key or value");
    if (k->rank == 4) {
        if (kd[1] != st->heads || vd[1] != st->heads || kd[2] != vd[2] || kd[3] != p->head)
            return wrong(call, "key or value of rank 4");
        p->kv_len = kd[2], p->v_head = vd[3];
        return ONX_OK;
    }
    if (k->rank != 3 || kd[1] != vd[1] || kd[2] % st->heads || kd[2] / st->heads != p->head ||
        vd[2] % st->heads)
        return wrong(call, "key or value of rank 3");
    p->kv_len = kd[1], p->v_head = vd[2] / st->heads;
    return ONX_OK;
}

static onx_status bind_query(const onx_call *call, onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *q = call->in[0];
    *p = (onx_ms_plan){.mask = 4, .bias = 5, .length = 8};
    if (!onx_call_in(call, 1)) {
        if (onx_call_in(call, 2) || q->rank != 5 || !is_packed(q, q->dims[0], st->heads, 3))
            return wrong(call, "query, key and value in one");
        p->batch = q->dims[0], p->q_len = p->kv_len = q->dims[1];
        p->head = p->v_head = q->dims[4];
        return ONX_OK;
    }
    if (q->rank != 3 || q->dims[2] % st->heads)
        return onx_call_fail(call, ONX_INVALID,
                             "query needs 3 dimensions, the last one a multiple of num_heads, %lld",
                             (long long)st->heads);
    p->batch = q->dims[0], p->q_len = q->dims[1], p->head = q->dims[2] / st->heads;
    return bind_key(call, p);
}

static bool has_dims(const onx_operand *x, int64_t a, int64_t b, int64_t c, int64_t d) {
    return x->rank == 4 && x->dims[0] == a && x->dims[1] == b && x->dims[2] == c && x->dims[3] == d;
}

static onx_status bind_past(onx_call *call, onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *k = onx_call_in(call, 6), *v = onx_call_in(call, 7);
    int64_t heads = st->heads;
    if (!k != !v)
        return onx_call_fail(call, ONX_INVALID,
                             "past_key and past_value go together: give both or none");
    p->past = k && k->rank == 4 ? k->dims[2] : 0;
    if (k && (!has_dims(k, p->batch, heads, p->past, p->head) ||
              !has_dims(v, p->batch, heads, p->past, p->v_head)))
        return wrong(call, "past_key or past_value");
    if (!onx_add_i64(p->past, p->kv_len, &p->most))
        return onx_call_fail(call, ONX_LIMIT, "there are too many keys");
    p->shared = k && st->shared;
    int64_t keys = p->shared ? p->past : p->most;
    int64_t key[4] = {p->batch, heads, keys, p->head},
            value[4] = {p->batch, heads, keys, p->v_head};
    int64_t scores[4] = {p->batch, heads, p->q_len, p->most};
    if (p->shared && call->n_out > 3 && call->out[3])
        return onx_call_fail(call, ONX_UNSUPPORTED,
                             "qk is not possible with a past that shares its memory: its size is "
                             "not known before the run");
    p->most = keys;
    onx_dtype dtype = (onx_dtype)call->in[0]->dtype;
    ONX_TRY(onx_call_shape(call, 1, dtype, 4, key));
    ONX_TRY(onx_call_shape(call, 2, dtype, 4, value));
    return onx_call_shape(call, 3, dtype, 4, scores);
}

/* Room for what gets a bias. */
static onx_status bind_bias(onx_call *call, const onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *bias = onx_call_in(call, 3);
    bool cached = onx_call_in(call, 2) && call->in[2]->rank == 4;
    size_t q, k, v, all;
    if (!bias || !p->batch) return ONX_OK;
    if (!onx_mul_size((size_t)p->q_len, (size_t)p->head, &q) ||
        !onx_mul_size((size_t)p->kv_len, (size_t)p->head, &k) ||
        !onx_mul_size((size_t)p->kv_len, (size_t)p->v_head, &v) || !onx_add_size(k, v, &k) ||
        !onx_add_size(q, k, &all) || !onx_mul_size(all, (size_t)st->heads, &all) ||
        !onx_mul_size(all, (size_t)p->batch, &all) ||
        !onx_mul_size(all, onx_dtype_bits((onx_dtype)call->in[0]->dtype) / 8, &call->scratch_bytes))
        return onx_fail_nomem(call->diag);
    size_t each = (size_t)(p->head > p->v_head ? p->head : p->v_head);
    if (!onx_mul_size(each, 2 * sizeof(double), &each)) return onx_fail_nomem(call->diag);
    if (call->scratch_each < each) call->scratch_each = each;
    size_t width = (2 * (size_t)p->head + (size_t)p->v_head) * (size_t)st->heads;
    if (bias->rank == 1 && (size_t)bias->dims[0] == width &&
        (cached || onx_call_in(call, 2) || !onx_call_in(call, 1)))
        return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "bias needs one dimension, of %zu, and key and value that are not in one",
                         width);
}

/* Room for the past of all beams, behind what gets a bias. */
static onx_status bind_beams(onx_call *call, const onx_ms_plan *p) {
    const onx_ms_state *st = call->state;
    const onx_operand *beams = onx_call_in(call, 9);
    size_t rows, all;
    if (!beams || !p->past || !p->batch) return ONX_OK;
    const int64_t *d = beams->dims;
    if (beams->rank != 3 || d[1] < 1 || p->batch % d[1] || d[0] != p->batch / d[1] ||
        d[2] < p->past)
        return wrong(call, "cache_indirection");
    if (!onx_mul_size((size_t)p->batch, (size_t)st->heads, &rows) ||
        !onx_mul_size(rows, (size_t)p->past, &rows) ||
        !onx_add_size((size_t)p->head, (size_t)p->v_head, &all) || !onx_mul_size(rows, all, &all) ||
        !onx_mul_size(all, onx_dtype_bits((onx_dtype)call->in[0]->dtype) / 8, &all) ||
        !onx_add_size(call->scratch_bytes, all, &call->scratch_bytes))
        return onx_fail_nomem(call->diag);
    return ONX_OK;
}

onx_status onx_ms_multi_head_init(onx_call *call) {
    ONX_TRY(onx_ms_heads_init(call));
    onx_ms_state *st = call->state;
    st->shared = onx_call_in(call, 6) && onx_call_in(call, 8);
    static const uint32_t types[] = {ONX_MS_FLOATS, ONX_MS_FLOATS, ONX_MS_FLOATS, ONX_T(I32),
                                     ONX_T(I32)};
    return onx_attend_types(call, ONX_COUNT(types), types);
}

onx_status onx_ms_multi_head_bind(onx_call *call) {
    onx_ms_plan *p = call->plan;
    const onx_ms_state *st = call->state;
    ONX_TRY(bind_query(call, p));
    ONX_TRY(bind_past(call, p));
    int64_t dims[3] = {p->batch, p->q_len};
    if (!onx_mul_i64(p->v_head, st->heads, &dims[2]))
        return onx_call_fail(call, ONX_LIMIT, "output 0 is too large for this machine");
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)call->in[0]->dtype, 3, dims));
    ONX_TRY(onx_ms_heads_bind(call, p));
    ONX_TRY(bind_bias(call, p));
    return bind_beams(call, p);
}

/* ─ Biases ───────────────────────────────────────────────────────────────────────────────────── */

/* Rows that get a bias on their way to scratch. */
typedef struct shift {
    const onx_operand *bias;
    onx_rows from, to;
    size_t at; /* of the bias for the first head */
    int64_t heads, length, size;
} shift;

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call;
    const shift *s = user;
    int64_t b = (int64_t)index / s->heads, h = (int64_t)index % s->heads;
    double *x = scratch, *more = x + s->size;
    onx_rows bias = {.data = s->bias->data, .dtype = (onx_dtype)s->bias->dtype};
    onx_rows_get(&bias, s->at + (size_t)(h * s->size), s->size, more);
    for (int64_t l = 0; l < s->length; l++) {
        onx_rows_get(&s->from, onx_rows_at(&s->from, b, h, l), s->size, x);
        for (int64_t i = 0; i < s->size; i++) x[i] += more[i];
        onx_rows_put(&s->to, onx_rows_at(&s->to, b, h, l), s->size, x);
    }
    return ONX_OK;
}

/* `rows` with its part of the bias, in scratch. */
static onx_status add_bias(onx_call *call, onx_rows *rows, size_t at, int64_t length, int64_t size,
                           char **scratch) {
    const onx_ms_plan *p = call->plan;
    const onx_ms_state *st = call->state;
    const onx_operand *bias = onx_call_in(call, 3);
    if (!bias || !p->batch || !length || !size) return ONX_OK;
    shift s = {bias, *rows,     onx_rows_in(*scratch, rows->dtype, st->heads, length, size),
               at,   st->heads, length,
               size};
    *scratch += (size_t)p->batch * s.to.batch * (onx_dtype_bits(rows->dtype) / 8);
    *rows = s.to;
    return onx_call_parallel(call, (size_t)(p->batch * st->heads), task, &s);
}

/* ─ Beams ────────────────────────────────────────────────────────────────────────────────────── */

/* Keys, or values, of the past of each beam: row j of them is that of the beam that
 * cache_indirection names for it, in the same group of beams. */
typedef struct beaming {
    const onx_operand *by;
    onx_rows from, to;
    int64_t heads, past;
    size_t bytes; /* of a row */
} beaming;

static onx_status beam_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call, (void)scratch;
    const beaming *g = user;
    int64_t b = (int64_t)index / g->heads, h = (int64_t)index % g->heads, n = g->by->dims[1];
    size_t size = onx_dtype_bits(g->from.dtype) / 8;
    for (int64_t j = 0; j < g->past; j++) {
        int64_t beam = onx_operand_int(g->by, b * g->by->dims[2] + j);
        size_t at = onx_rows_at(&g->from, b / n * n + beam, h, j);
        memcpy(g->to.data + onx_rows_at(&g->to, b, h, j) * size, g->from.data + at * size,
               g->bytes);
    }
    return ONX_OK;
}

static onx_status check_beams(const onx_call *call, const onx_operand *by, int64_t past) {
    const onx_ms_plan *p = call->plan;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t j = 0; j < past; j++) {
            int64_t beam = onx_operand_int(by, b * by->dims[2] + j);
            if (beam < 0 || beam >= by->dims[1])
                return onx_call_fail(call, ONX_INVALID, "there is no beam %lld: there are %lld",
                                     (long long)beam, (long long)by->dims[1]);
        }
    return ONX_OK;
}

static onx_status follow_beams(onx_call *call, onx_ms_rows *r, char *scratch) {
    const onx_ms_plan *p = call->plan;
    const onx_ms_state *st = call->state;
    const onx_operand *by = onx_call_in(call, 9);
    int64_t past;
    ONX_TRY(onx_ms_heads_past(call, &past));
    if (!by || !past || !p->batch) return ONX_OK;
    ONX_TRY(check_beams(call, by, past));
    for (size_t i = 0; i < 2; i++) {
        int64_t size = i ? p->v_head : p->head;
        onx_rows from = i ? r->v[0] : r->k[0];
        onx_rows to = onx_rows_in(scratch, from.dtype, st->heads, past, size);
        beaming g = {by,        from, to,
                     st->heads, past, (size_t)size * (onx_dtype_bits(from.dtype) / 8)};
        scratch += (size_t)p->batch * to.batch * (onx_dtype_bits(from.dtype) / 8);
        *(i ? &r->beam_v : &r->beam_k) = to;
        ONX_TRY(onx_call_parallel(call, (size_t)(p->batch * st->heads), beam_task, &g));
    }
    return ONX_OK;
}

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

/* Part `part` of a tensor [batch, length, heads, parts, size]. */
static onx_rows unpack(const onx_operand *x, size_t part) {
    const int64_t *d = x->dims;
    onx_dtype dtype = (onx_dtype)x->dtype;
    onx_rows rows = {.data = x->data, .dtype = dtype, .head = (size_t)(d[3] * d[4])};
    rows.row = (size_t)d[2] * rows.head;
    rows.batch = (size_t)d[1] * rows.row;
    if (x->count) rows.data += part * (size_t)d[4] * (onx_dtype_bits(dtype) / 8);
    return rows;
}

static void get_rows(const onx_call *call, onx_ms_rows *r) {
    const onx_ms_state *st = call->state;
    const onx_operand *q = call->in[0], *k = onx_call_in(call, 1), *v = onx_call_in(call, 2);
    r->q = q->rank == 5 ? unpack(q, 0) : onx_rows_of(q, st->heads);
    r->k[1] = !k ? unpack(q, 1) : !v ? unpack(k, 0) : onx_rows_of(k, st->heads);
    r->v[1] = !k ? unpack(q, 2) : !v ? unpack(k, 1) : onx_rows_of(v, st->heads);
    if (onx_call_in(call, 6)) {
        r->k[0] = onx_rows_of(call->in[6], st->heads);
        r->v[0] = onx_rows_of(call->in[7], st->heads);
    }
    for (size_t i = 1; i < 3 && i < call->n_out; i++)
        if (call->out[i] && call->out[i]->count)
            *(i == 1 ? &r->present_k : &r->present_v) = onx_rows_of(call->out[i], st->heads);
    r->shown = call->n_out > 3 ? call->out[3] : NULL;
}

onx_status onx_ms_multi_head_run(onx_call *call) {
    const onx_ms_plan *p = call->plan;
    const onx_ms_state *st = call->state;
    bool cached = onx_call_in(call, 2) && call->in[2]->rank == 4;
    size_t width = (size_t)p->head * (size_t)st->heads;
    char *scratch = call->scratch;
    onx_ms_rows r = {0};
    get_rows(call, &r);
    ONX_TRY(add_bias(call, &r.q, 0, p->q_len, p->head, &scratch));
    if (!cached) { /* a cache has its bias already */
        ONX_TRY(add_bias(call, &r.k[1], width, p->kv_len, p->head, &scratch));
        ONX_TRY(add_bias(call, &r.v[1], 2 * width, p->kv_len, p->v_head, &scratch));
    }
    ONX_TRY(follow_beams(call, &r, scratch));
    return onx_ms_heads_run(call, &r);
}
