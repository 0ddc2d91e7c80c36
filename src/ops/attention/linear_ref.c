/* linear_ref.c: LinearAttention: plain loops, all types, in double precision.
 *
 * Each head of key and value has a state of [size of a key, size of a value]. At each place
 *
 *     state = exp (decay) state                  rows fade
 *     news  = beta (v - k state), or v           what the key does not yet lead to
 *     state = state + k news
 *     y     = scale q state                      for each query head that shares it
 *
 * Columns of the state do not know of each other: blocks of them are tasks. */
#include "ops/attention/linear_ref.h"

#include <math.h>

enum { COLUMNS = 32 };

onx_status onx_linear_init(onx_call *call) {
    onx_linear_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    onx_str rule = onx_call_string(call, "update_rule");
    bool delta = onx_str_is(rule, "delta"), both = onx_str_is(rule, "gated_delta");
    bool gated = onx_str_is(rule, "gated");
    if (!delta && !both && !gated && !onx_str_is(rule, "linear"))
        return onx_call_fail(call, ONX_INVALID, "there is no update rule '%.*s'", ONX_FMT(rule));
    if ((onx_call_in(call, 4) != NULL) != (gated || both) ||
        (onx_call_in(call, 5) != NULL) != (delta || both))
        return onx_call_fail(call, ONX_INVALID,
                             "decay goes with the rules gated and gated_delta, beta with delta and "
                             "gated_delta");
    st->q_heads = onx_call_int(call, "q_num_heads");
    st->kv_heads = onx_call_int(call, "kv_num_heads");
    st->scale = onx_call_float(call, "scale");
    if (st->q_heads < 1 || st->kv_heads < 1 || st->q_heads % st->kv_heads)
        return onx_call_fail(call, ONX_INVALID,
                             "%lld query heads cannot share %lld heads of key and value evenly",
                             (long long)st->q_heads, (long long)st->kv_heads);
    return ONX_OK;
}

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

static bool is_long(const onx_operand *x, const onx_operand *like) {
    return x->rank == 3 && x->dims[0] == like->dims[0] && x->dims[1] == like->dims[1];
}

static onx_status bind_more(const onx_call *call, onx_linear_plan *p) {
    const onx_operand *q = call->in[0], *state = onx_call_in(call, 3);
    const onx_operand *decay = onx_call_in(call, 4), *beta = onx_call_in(call, 5);
    const int64_t sizes[4] = {p->batch, p->kv_heads, p->head, p->v_head};
    for (size_t i = 0; i < 4 && state; i++)
        if (state->rank != 4 || state->dims[i] != sizes[i])
            return onx_call_fail(call, ONX_INVALID, "past_state has other sizes than the heads");
    if (decay) {
        int64_t n = is_long(decay, q) ? decay->dims[2] : -1;
        p->decays = n == p->kv_heads ? 1 : p->head;
        if (n < 0 || (n != p->kv_heads && n != call->in[1]->dims[2]))
            return onx_call_fail(call, ONX_INVALID,
                                 "decay needs a number for each head of key and "
                                 "value, or for each element of its key");
    }
    if (beta) {
        p->rates = is_long(beta, q) ? beta->dims[2] : -1;
        if (p->rates != 1 && p->rates != p->kv_heads)
            return onx_call_fail(call, ONX_INVALID,
                                 "beta needs one number, or one for each head of key and value");
    }
    return ONX_OK;
}

onx_status onx_linear_bind(onx_call *call) {
    const onx_linear_state *st = call->state;
    onx_linear_plan *p = call->plan;
    const onx_operand *q = call->in[0], *k = call->in[1], *v = call->in[2];
    const onx_operand *past = onx_call_in(call, 3);
    if (q->rank != 3 || !is_long(k, q) || !is_long(v, q))
        return onx_call_fail(call, ONX_INVALID,
                             "query, key and value need 3 dimensions, the first two in common");
    *p = (onx_linear_plan){q->dims[0], q->dims[1], st->q_heads, st->kv_heads, 0, 0, 0, 0};
    p->head = q->dims[2] / p->q_heads;
    p->v_head = v->dims[2] / p->kv_heads;
    if (q->dims[2] % p->q_heads || k->dims[2] % p->kv_heads || v->dims[2] % p->kv_heads ||
        k->dims[2] / p->kv_heads != p->head)
        return onx_call_fail(call, ONX_INVALID,
                             "the last sizes of query, key and value are not those of heads");
    ONX_TRY(bind_more(call, p));
    int64_t dims[3] = {p->batch, p->length}, state[4] = {p->batch, p->kv_heads, p->head, p->v_head};
    if (!onx_mul_i64(p->q_heads, p->v_head, &dims[2]))
        return onx_call_fail(call, ONX_LIMIT, "output 0 is too large for this machine");
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)q->dtype, 3, dims));
    ONX_TRY(onx_call_shape(call, 1, (onx_dtype)(past ? past->dtype : q->dtype), 4, state));
    size_t bytes;
    if (!p->batch || !p->v_head) return ONX_OK;
    if (!onx_add_size((size_t)p->head, COLUMNS, &bytes) ||
        !onx_mul_size(bytes, (COLUMNS + 3) * sizeof(double), &call->scratch_each))
        return onx_fail_nomem(call->diag);
    return ONX_OK;
}

/* ─ Places ───────────────────────────────────────────────────────────────────────────────────── */

/* Some columns of the state of one head, [size of a key][COLUMNS]; and what one place needs. */
typedef struct columns {
    const onx_call *call;
    int64_t b, h, first, n;
    double scale;
    double *state, *key, *fade, *query, *value, *news;
} columns;

static void get(const columns *c, size_t input, int64_t heads, int64_t h, int64_t s, int64_t from,
                int64_t n, double *out) {
    onx_rows rows = onx_rows_of(c->call->in[input], heads);
    onx_rows_get(&rows, onx_rows_at(&rows, c->b, h, s) + (size_t)from, n, out);
}

static void write_place(const columns *c, int64_t s) {
    const onx_linear_plan *p = c->call->plan;
    double rate = 1;
    get(c, 1, p->kv_heads, c->h, s, 0, p->head, c->key);
    get(c, 2, p->kv_heads, c->h, s, c->first, c->n, c->value);
    if (p->decays) get(c, 4, p->kv_heads, c->h, s, 0, p->decays, c->fade);
    if (p->rates) get(c, 5, p->rates, p->rates > 1 ? c->h : 0, s, 0, 1, &rate);
    for (int64_t j = 0; j < c->n; j++) c->news[j] = c->value[j];
    for (int64_t i = 0; i < p->head && p->decays; i++) {
        double fade = exp(c->fade[p->decays > 1 ? i : 0]);
        for (int64_t j = 0; j < c->n; j++) c->state[i * COLUMNS + j] *= fade;
    }
    for (int64_t i = 0; i < p->head && p->rates; i++)
        for (int64_t j = 0; j < c->n; j++) c->news[j] -= c->key[i] * c->state[i * COLUMNS + j];
    for (int64_t j = 0; j < c->n; j++) c->news[j] *= rate;
    for (int64_t i = 0; i < p->head; i++)
        for (int64_t j = 0; j < c->n; j++) c->state[i * COLUMNS + j] += c->key[i] * c->news[j];
}

static void ask_place(const columns *c, int64_t s) {
    const onx_linear_plan *p = c->call->plan;
    int64_t shared = p->q_heads / p->kv_heads;
    onx_rows y = onx_rows_of(c->call->out[0], p->q_heads);
    for (int64_t h = c->h * shared; h < (c->h + 1) * shared; h++) {
        get(c, 0, p->q_heads, h, s, 0, p->head, c->query);
        for (int64_t j = 0; j < c->n; j++) c->news[j] = 0;
        for (int64_t i = 0; i < p->head; i++)
            for (int64_t j = 0; j < c->n; j++)
                c->news[j] += c->query[i] * c->state[i * COLUMNS + j];
        for (int64_t j = 0; j < c->n; j++) c->news[j] *= c->scale;
        onx_rows_put(&y, onx_rows_at(&y, c->b, h, s) + (size_t)c->first, c->n, c->news);
    }
}

/* The state from an input, or to an output. */
static void begin(const columns *c) {
    const onx_linear_plan *p = c->call->plan;
    const onx_operand *past = onx_call_in(c->call, 3);
    for (int64_t i = 0; i < p->head * COLUMNS; i++) c->state[i] = 0;
    if (!past) return;
    onx_rows rows = onx_rows_of(past, p->kv_heads);
    for (int64_t i = 0; i < p->head; i++)
        onx_rows_get(&rows, onx_rows_at(&rows, c->b, c->h, i) + (size_t)c->first, c->n,
                     c->state + i * COLUMNS);
}

static void end(const columns *c) {
    const onx_linear_plan *p = c->call->plan;
    if (c->call->n_out < 2 || !c->call->out[1]) return;
    onx_rows rows = onx_rows_of(c->call->out[1], p->kv_heads);
    for (int64_t i = 0; i < p->head; i++)
        onx_rows_put(&rows, onx_rows_at(&rows, c->b, c->h, i) + (size_t)c->first, c->n,
                     c->state + i * COLUMNS);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user;
    const onx_linear_plan *p = call->plan;
    const onx_linear_state *st = call->state;
    int64_t blocks = (p->v_head - 1) / COLUMNS + 1, head = (int64_t)index / blocks;
    columns c = {.call = call, .b = head / p->kv_heads, .h = head % p->kv_heads};
    c.first = (int64_t)index % blocks * COLUMNS;
    c.n = p->v_head - c.first < COLUMNS ? p->v_head - c.first : COLUMNS;
    c.scale = (double)(st->scale != 0 ? st->scale : 1.0f / sqrtf((float)p->head));
    c.state = scratch;
    c.key = c.state + p->head * COLUMNS;
    c.fade = c.key + p->head;
    c.query = c.fade + p->head;
    c.value = c.query + p->head;
    c.news = c.value + COLUMNS;
    begin(&c);
    for (int64_t s = 0; s < p->length; s++) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        write_place(&c, s);
        ask_place(&c, s);
    }
    end(&c);
    return ONX_OK;
}

onx_status onx_linear_run(onx_call *call) {
    const onx_linear_plan *p = call->plan;
    if (!p->batch || !p->v_head) return ONX_OK;
    int64_t blocks = (p->v_head - 1) / COLUMNS + 1;
    return onx_call_parallel(call, (size_t)(p->batch * p->kv_heads * blocks), task, NULL);
}
