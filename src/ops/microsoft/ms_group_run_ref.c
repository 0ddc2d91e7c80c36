/* ms_group_run_ref.c: GroupQueryAttention: what a run does: which keys each batch has, what queries
 * see of them, and what the caches keep. ms_group_query_ref.c has checked all sizes; lengths and
 * positions are data, and checked here. */
#include "ops/attention/rotary_ref.h"
#include "ops/microsoft/ms_group_ref.h"

#include <math.h>

/* ─ Lengths ──────────────────────────────────────────────────────────────────────────────────── */

/* How many rows a sliding cache of `room` holds after `n` keys: when it is full, it forgets as many
 * as it need not keep for the window. */
static int64_t held(int64_t n, int64_t room, int64_t window) {
    int64_t step = room - window + 1;
    return n <= room ? n : n - (n - room + step - 1) / step * step;
}

static int64_t keys_of(const onx_attend *of, int64_t b, int64_t *past) {
    const onx_ms_group_plan *p = of->call->plan;
    const onx_ms_group *st = of->call->state;
    int64_t keys = onx_operand_int(of->call->in[LENGTHS], b) + 1;
    int64_t before = keys > p->q_len ? keys - p->q_len : 0;
    if (st->slides)
        *past = held(before, p->past, st->window);
    else
        *past = !p->past ? 0 : p->kv_len == 0 ? keys : p->prompt ? 0 : before;
    int64_t all = *past + p->kv_len; /* a prompt may be shorter than others are */
    return st->slides || keys > all ? all : keys;
}

static onx_status check_lengths(const onx_call *call) {
    const onx_ms_group_plan *p = call->plan;
    const onx_ms_group *st = call->state;
    for (int64_t b = 0; b < p->batch; b++) {
        int64_t keys = onx_operand_int(call->in[LENGTHS], b) + 1;
        bool follows = st->slides || !p->prompt;
        bool fits =
            keys >= 1 && (st->slides || keys <= p->present) && (!follows || keys >= p->q_len);
        if (p->kv_len == 0) fits = fits && keys <= p->past;
        if (p->kv_len && follows && !st->slides) fits = fits && keys - p->q_len <= p->past;
        if (!fits)
            return onx_call_fail(call, ONX_INVALID,
                                 "seqlens_k of batch %lld is %lld, which does not fit %lld "
                                 "queries, a past of %lld and %lld keys in all",
                                 (long long)b, (long long)keys - 1, (long long)p->q_len,
                                 (long long)p->past, (long long)p->total);
    }
    return ONX_OK;
}

/* ─ What is seen ─────────────────────────────────────────────────────────────────────────────── */

static onx_seen see(const onx_attend *of, int64_t b, int64_t h, int64_t s, int64_t keys,
                    double *scores) {
    const onx_ms_group_plan *p = of->call->plan;
    const onx_ms_group *st = of->call->state;
    const onx_operand *bias = onx_call_in(of->call, BIAS);
    int64_t past;
    (void)keys_of(of, b, &past);
    if (p->kv_len == 0) past = p->prompt ? 0 : keys - p->q_len;
    onx_seen seen = {0, keys};
    if (st->causal && past + s + 1 < keys) seen.end = past + s + 1;
    if (st->window >= 0 && seen.end > st->window) seen.first = seen.end - st->window;
    if (!bias || !scores) return seen;
    onx_rows rows = onx_rows_of(bias, 0);
    size_t at = onx_rows_at(&rows, bias->dims[0] == 1 ? 0 : b, bias->dims[1] == 1 ? 0 : h, s);
    double some[64];
    for (int64_t j = seen.first; j < seen.end && j < p->total; j += 64) {
        int64_t end = seen.end < p->total ? seen.end : p->total, n = end - j < 64 ? end - j : 64;
        onx_rows_get(&rows, at + (size_t)j, n, some);
        for (int64_t i = 0; i < n; i++) scores[j + i] += some[i];
    }
    return seen;
}

/* ─ Positions ────────────────────────────────────────────────────────────────────────────────── */

/* A prompt begins at the first position that is given, in all batches. */
static int64_t place(const onx_rotary *r, int64_t b, int64_t s) {
    const onx_call *call = r->more;
    const onx_ms_group_plan *p = call->plan;
    const onx_operand *places = onx_call_in(call, PLACES);
    if (places && !p->prompt) return onx_operand_int(places, b * p->q_len + s);
    if (p->prompt) {
        int64_t first = places ? onx_operand_int(places, 0) : 0;
        return first < 0 || first >= r->rows ? first : first + s;
    }
    return onx_operand_int(call->in[LENGTHS], b) + 1 - p->q_len + s;
}

static onx_status turn(onx_call *call, onx_rows *rows, int64_t heads, size_t at) {
    const onx_ms_group_plan *p = call->plan;
    const onx_ms_group *st = call->state;
    const onx_operand *c = call->in[COS], *s = call->in[SIN];
    onx_rotary r = {.x = *rows, .cosines = c, .sines = s, .batch = p->batch, .heads = heads};
    r.y = onx_rows_in((char *)call->scratch + at, rows->dtype, heads, p->q_len, p->head);
    r.length = p->q_len, r.head = p->head;
    r.turned = 2 * c->dims[1];
    r.alternate = st->alternate;
    r.rows = c->dims[0] < s->dims[0] ? c->dims[0] : s->dims[0];
    r.place = place;
    r.more = call;
    *rows = r.y;
    return onx_rotary_run(call, &r);
}

/* ─ The present ──────────────────────────────────────────────────────────────────────────────── */

typedef struct keeping {
    const onx_attend *of;
    const onx_rows *parts;
    onx_operand *out;
} keeping;

/* Rows of one head: of those of the past and the new ones, as many as are held, then zeros. */
static onx_status keep_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const keeping *k = user;
    const onx_ms_group_plan *p = call->plan;
    const onx_ms_group *st = call->state;
    int64_t b = (int64_t)index / st->kv_heads, h = (int64_t)index % st->kv_heads, past;
    onx_rows to = onx_rows_of(k->out, st->kv_heads);
    size_t size = onx_dtype_bits(to.dtype) / 8, row = (size_t)p->stored * size;
    (void)keys_of(k->of, b, &past);
    int64_t all = past + p->kv_len, n = all < p->present ? all : p->present, skip = 0;
    if (st->slides) {
        n = held(onx_operand_int(call->in[LENGTHS], b) + 1, p->past, st->window);
        skip = all - n;
    }
    char *data = to.data + onx_rows_at(&to, b, h, 0) * size;
    for (int64_t i = 0; i < n; i++) {
        bool old = i + skip < past;
        const onx_rows *from = &k->parts[!old];
        size_t at = onx_rows_at(from, b, h, i + skip - (old ? 0 : past));
        memcpy(data + (size_t)i * row, from->data + at * size, row);
    }
    memset(data + (size_t)n * row, 0, (size_t)(p->present - n) * row);
    return ONX_OK;
}

static onx_status keep(onx_call *call, const onx_attend *of, size_t index) {
    const onx_ms_group *st = call->state;
    onx_operand *out = index < call->n_out ? call->out[index] : NULL;
    if (!out || !out->count) return ONX_OK;
    keeping k = {of, index == 1 ? of->k : of->v, out};
    return onx_call_parallel(call, (size_t)(of->batch * st->kv_heads), keep_task, &k);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

static void get_rows(const onx_call *call, onx_attend *of) {
    const onx_ms_group_plan *p = call->plan;
    const onx_ms_group *st = call->state;
    of->q = onx_rows_of(call->in[QUERY], st->q_heads);
    if (p->packed) {
        size_t size = onx_dtype_bits(of->q.dtype) / 8, head = (size_t)p->head;
        of->q.head = head;
        of->k[1] = of->v[1] = of->q;
        if (!call->in[QUERY]->count) return;
        of->k[1].data += (size_t)st->q_heads * head * size;
        of->v[1].data += (size_t)(st->q_heads + st->kv_heads) * head * size;
    } else {
        of->k[1] = onx_rows_of(call->in[KEY], st->kv_heads);
        of->v[1] = onx_rows_of(call->in[VALUE], st->kv_heads);
    }
    if (!call->in[PAST_KEY]) return;
    of->k[0] = onx_rows_of(call->in[PAST_KEY], st->kv_heads);
    of->v[0] = onx_rows_of(call->in[PAST_VALUE], st->kv_heads);
}

/* All keys and values as integers, with their scales. */
static onx_status pack(onx_call *call, onx_attend *of) {
    const onx_ms_group_plan *p = call->plan;
    const onx_ms_group *st = call->state;
    char *to = (char *)call->scratch + p->cache_at;
    for (size_t i = 0; i < 2; i++) {
        onx_rows *parts = i ? of->v : of->k;
        onx_ms_cache cache = {parts[1], st->bits,     call->in[K_SCALE + i],
                              p->batch, st->kv_heads, p->kv_len,
                              p->head,  p->stored};
        parts[0].bits = st->bits;
        parts[0].scales = cache.scales;
        if (p->batch && p->kv_len && p->head) ONX_TRY(onx_ms_cache_pack(call, &cache, to));
        parts[1] = onx_ms_cache_rows(&cache, to);
        to += (size_t)p->batch * parts[1].batch;
    }
    return ONX_OK;
}

onx_status onx_ms_group_run(onx_call *call) {
    const onx_ms_group_plan *p = call->plan;
    const onx_ms_group *st = call->state;
    onx_attend of = {.call = call, .batch = p->batch, .q_heads = st->q_heads};
    of.kv_heads = st->kv_heads, of.q_len = p->q_len, of.head = of.v_head = p->head;
    ONX_TRY(check_lengths(call));
    get_rows(call, &of);
    if (st->turns && call->in[QUERY]->count) {
        ONX_TRY(turn(call, &of.q, st->q_heads, 0));
        if (p->kv_len) ONX_TRY(turn(call, &of.k[1], st->kv_heads, p->keys_at));
    }
    if (st->bits) ONX_TRY(pack(call, &of));
    ONX_TRY(keep(call, &of, 1));
    ONX_TRY(keep(call, &of, 2));
    of.stage = of.soft = ONX_DTYPE_F32;
    of.root = 1;
    of.scale = (double)(st->scale != 0 ? st->scale : 1.0f / sqrtf((float)p->head));
    of.cap = st->cap > 0 ? (double)st->cap : 0;
    of.y = onx_rows_of(call->out[0], st->q_heads);
    of.count = keys_of;
    of.bias = see;
    of.hides = !onx_call_in(call, BIAS);
    of.sink = onx_call_in(call, SINK);
    of.smooth = st->smooth;
    of.shown = call->n_out > 3 ? call->out[3] : NULL;
    of.show = st->show == 2 ? 3 : 2;
    of.bare = true;
    of.vectors = st->vectors;
    return onx_attend_run(call, &of, p->most);
}
