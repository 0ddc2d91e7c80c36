/* ms_group_query_ref.c: GroupQueryAttention: plain kernel, as ONNX Runtime has it on the CPU.
 *
 * Each batch has seqlens_k + 1 keys, the last of which are new; those before them are the first
 * rows of the past. The present has all of them, and zeros behind. With sliding_window_cache the
 * past is a buffer that holds only the last keys, and seqlens_k counts also those that it has
 * forgotten. The caches may hold integers (ms_cache_ref.c): then new keys and values become such
 * before they are looked at. Declined, as there: norms of query and key. */
#include "ops/attention/rotary_ref.h"
#include "ops/microsoft/ms_cache_ref.h"

#include <math.h>

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    LENGTHS,
    TOTAL,
    COS,
    SIN,
    PLACES,
    BIAS,
    SINK,
    K_SCALE,
    V_SCALE
};

typedef struct state {
    int64_t q_heads, kv_heads, window, show; /* window -1: none */
    float scale, cap;
    bool causal, turns, alternate, smooth, slides;
    unsigned bits; /* of the caches; 0: they are floats */
    bool by_channel;
} state;

typedef struct plan {
    int64_t batch, q_len, kv_len, head;
    int64_t past, total, present; /* rows of the past, keys of the longest batch, rows to keep */
    int64_t most;                 /* keys of any batch, at most */
    bool packed;                  /* query, key and value are one */
    bool prompt;                  /* there is nothing before */
    int64_t stored;               /* elements of a row of a cache */
    size_t keys_at;               /* in scratch: keys that are turned, behind the queries */
    size_t cache_at;              /* then: new keys and values as integers */
} plan;
_Static_assert(sizeof(plan) <= ONX_MS_PLAN, "ONX_MS_PLAN is too small");

/* From seqlens_k on. */
static const uint32_t types[] = {ONX_T(I32),    ONX_T(I32), ONX_MS_FLOATS,
                                 ONX_MS_FLOATS, ONX_T(I64), ONX_MS_FLOATS,
                                 ONX_MS_FLOATS, ONX_T(F32), ONX_T(F32)};

/* What the caches hold. */
static onx_status read_cache(const onx_call *call, state *st) {
    onx_str k = onx_call_string(call, "k_quant_type"), v = onx_call_string(call, "v_quant_type");
    int64_t bits = onx_call_int(call, "kv_cache_bit_width");
    bool none = onx_str_is(k, "NONE");
    st->by_channel = onx_str_is(k, "PER_CHANNEL");
    if (!onx_str_eq(k, v) || (!none && !st->by_channel && !onx_str_is(k, "PER_TENSOR")))
        return onx_call_fail(call, ONX_INVALID,
                             "k_quant_type and v_quant_type must be both NONE, PER_TENSOR or "
                             "PER_CHANNEL");
    if (none ? bits != 0 : bits != 4 && bits != 8)
        return onx_call_fail(call, ONX_INVALID,
                             "kv_cache_bit_width is %lld; it must be 4 or 8 for caches of "
                             "integers, and else 0",
                             (long long)bits);
    st->bits = (unsigned)bits;
    if (bits && (!onx_call_in(call, K_SCALE) || !onx_call_in(call, V_SCALE)))
        return onx_call_fail(call, ONX_INVALID, "caches of integers need k_scale and v_scale");
    for (size_t i = PAST_KEY; i <= PAST_VALUE; i++) {
        const onx_operand *in = onx_call_in(call, i);
        if (in && (onx_dtype)in->dtype != onx_ms_cache_dtype(st->bits, call->in[QUERY]))
            return onx_call_fail(call, ONX_UNSUPPORTED, "caches of %u bits cannot be of %s",
                                 st->bits, onx_dtype_name((onx_dtype)in->dtype));
    }
    return ONX_OK;
}

onx_status onx_ms_group_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->q_heads = onx_call_int(call, "num_heads");
    st->kv_heads = onx_call_int(call, "kv_num_heads");
    st->window = onx_call_int(call, "local_window_size");
    st->show = onx_call_int(call, "qk_output");
    st->scale = onx_call_float(call, "scale");
    st->cap = onx_call_float(call, "softcap");
    st->causal = onx_call_int(call, "causal") != 0;
    st->turns = onx_call_int(call, "do_rotary") == 1;
    st->alternate = onx_call_int(call, "rotary_interleaved") == 1;
    st->smooth = onx_call_int(call, "smooth_softmax") == 1;
    st->slides = onx_call_int(call, "sliding_window_cache") == 1;
    if (st->window < 0) st->window = -1;
    if (st->q_heads < 1 || st->kv_heads < 1 || st->q_heads % st->kv_heads)
        return onx_call_fail(call, ONX_INVALID,
                             "%lld query heads cannot share %lld heads of key and value evenly",
                             (long long)st->q_heads, (long long)st->kv_heads);
    if (st->show < 0 || st->show > 2 || (st->window >= 0 && !st->causal))
        return onx_call_fail(call, ONX_INVALID,
                             "qk_output must be 0, 1 or 2, and only what is causal has a window");
    ONX_TRY(read_cache(call, st));
    if (onx_call_in(call, V_SCALE + 1) || onx_call_in(call, V_SCALE + 2))
        return onx_call_fail(call, ONX_UNSUPPORTED, "norms of query and key are not supported");
    return onx_attend_types(call, ONX_COUNT(types), types);
}

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status bind_inputs(const onx_call *call, plan *p) {
    const state *st = call->state;
    const onx_operand *q = call->in[QUERY], *k = call->in[KEY], *v = call->in[VALUE];
    if (q->rank != 3 || !k != !v)
        return onx_call_fail(call, ONX_INVALID,
                             "query needs 3 dimensions; key and value go together");
    int64_t heads = st->q_heads;
    p->packed = !k;
    if (p->packed &&
        (!onx_add_i64(heads, st->kv_heads, &heads) || !onx_add_i64(heads, st->kv_heads, &heads)))
        heads = INT64_MAX;
    p->batch = q->dims[0], p->q_len = q->dims[1], p->head = q->dims[2] / heads;
    p->kv_len = k && k->rank == 3 ? k->dims[1] : p->q_len;
    bool fits = q->dims[2] % heads == 0;
    for (size_t i = KEY; i <= VALUE && k; i++) {
        const onx_operand *x = call->in[i];
        fits = fits && x->rank == 3 && x->dims[0] == p->batch && x->dims[1] == p->kv_len &&
               x->dims[2] % st->kv_heads == 0 && x->dims[2] / st->kv_heads == p->head;
    }
    if (!fits)
        return onx_call_fail(call, ONX_INVALID, "the sizes of query, key and value disagree");
    if (p->kv_len == p->q_len || (p->kv_len == 0 && call->in[PAST_KEY])) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "there are %lld queries and %lld keys; there must be as many",
                         (long long)p->q_len, (long long)p->kv_len);
}

static onx_status bind_past(const onx_call *call, plan *p) {
    const state *st = call->state;
    const onx_operand *k = call->in[PAST_KEY], *v = call->in[PAST_VALUE];
    p->stored = st->bits == 4 ? p->head / 2 + p->head % 2 : p->head;
    const int64_t dims[4] = {p->batch, st->kv_heads, k && k->rank == 4 ? k->dims[2] : 0, p->stored};
    if (!k != !v)
        return onx_call_fail(call, ONX_INVALID,
                             "past_key and past_value go together: give both or none");
    for (size_t i = 0; k && i < 4; i++)
        if (k->rank != 4 || v->rank != 4 || k->dims[i] != dims[i] || v->dims[i] != dims[i])
            return onx_call_fail(call, ONX_INVALID,
                                 "past_key and past_value need the sizes [batch, heads, length, "
                                 "size]");
    if (st->slides && (!k || !p->kv_len || st->window < 1 || dims[2] < st->window))
        return onx_call_fail(call, ONX_INVALID,
                             "sliding_window_cache needs a local_window_size, and a past of at "
                             "least that length, with new keys");
    p->past = dims[2];
    return ONX_OK;
}

static onx_status bind_lengths(const onx_call *call, plan *p) {
    const state *st = call->state;
    const onx_operand *lengths = call->in[LENGTHS], *total = call->in[TOTAL];
    if (lengths->rank == 0 || lengths->count != p->batch || total->count != 1 || total->rank > 1)
        return onx_call_fail(call, ONX_INVALID,
                             "seqlens_k needs one element for each batch, and "
                             "total_sequence_length one in all");
    p->total = onx_operand_int(total, 0);
    if (p->total < 1)
        return onx_call_fail(call, ONX_INVALID, "total_sequence_length is %lld",
                             (long long)p->total);
    p->prompt = p->q_len == p->total;
    if (p->q_len > 1 && !p->prompt && p->batch != 1)
        return onx_call_fail(call, ONX_INVALID,
                             "several queries of several batches cannot follow a past");
    p->present = st->slides || p->past > p->total ? p->past : p->total;
    if (!onx_add_i64(p->past, p->kv_len, &p->most))
        return onx_call_fail(call, ONX_LIMIT, "there are too many keys");
    return ONX_OK;
}

static onx_status bind_more(const onx_call *call, const plan *p) {
    const state *st = call->state;
    const onx_operand *bias = onx_call_in(call, BIAS), *sink = onx_call_in(call, SINK);
    const onx_operand *c = onx_call_in(call, COS), *s = onx_call_in(call, SIN);
    const onx_operand *places = onx_call_in(call, PLACES);
    if (!c != !s || (st->turns && !c))
        return onx_call_fail(call, ONX_INVALID,
                             "cos_cache and sin_cache go together, and do_rotary needs them");
    if (c && (c->rank != 2 || s->rank != 2 || c->dims[1] != s->dims[1]))
        return onx_call_fail(call, ONX_INVALID,
                             "cos_cache and sin_cache need two dimensions, rows of one size");
    if (st->turns) ONX_TRY(onx_rotary_check(call, p->head, 2 * c->dims[1], c->dims[1]));
    if (places && (places->rank != 2 || places->dims[0] != p->batch || places->dims[1] < p->q_len))
        return onx_call_fail(call, ONX_INVALID,
                             "position_ids needs a number for each place of each batch");
    if (bias &&
        (st->slides || bias->rank != 4 || (bias->dims[0] != 1 && bias->dims[0] != p->batch) ||
         (bias->dims[1] != 1 && bias->dims[1] != st->q_heads) || bias->dims[2] != p->q_len ||
         bias->dims[3] != p->total))
        return onx_call_fail(call, ONX_INVALID,
                             "attention_bias needs the sizes [batch or 1, heads or 1, queries, "
                             "keys], and no sliding_window_cache");
    for (size_t i = K_SCALE; i <= V_SCALE && st->bits; i++)
        if (call->in[i]->count != (st->by_channel ? p->head * st->kv_heads : 1))
            return onx_call_fail(call, ONX_INVALID,
                                 "input %zu needs one element, or one for each "
                                 "element of a key, as it is by tensor or by "
                                 "channel",
                                 i);
    if (sink && (sink->rank != 1 || sink->dims[0] != st->q_heads))
        return onx_call_fail(call, ONX_INVALID, "head_sink needs one element for each head");
    return ONX_OK;
}

static onx_status bind_outputs(onx_call *call, const plan *p) {
    const state *st = call->state;
    onx_dtype dtype = (onx_dtype)call->in[QUERY]->dtype;
    int64_t y[3] = {p->batch, p->q_len, p->head * st->q_heads};
    onx_dtype cache = onx_ms_cache_dtype(st->bits, call->in[QUERY]);
    int64_t kept[4] = {p->batch, st->kv_heads, p->present, p->stored};
    int64_t shown[4] = {p->batch, st->q_heads, p->q_len, p->total};
    bool wanted = call->n_out > 3 && call->out[3];
    if (wanted ? st->slides : st->show != 0)
        return onx_call_fail(call, ONX_INVALID,
                             "qk_output goes with the output output_qk, and not with "
                             "sliding_window_cache");
    ONX_TRY(onx_call_shape(call, 0, dtype, 3, y));
    ONX_TRY(onx_call_shape(call, 1, cache, 4, kept));
    ONX_TRY(onx_call_shape(call, 2, cache, 4, kept));
    return onx_call_shape(call, 3, dtype, 4, shown);
}

/* Room for queries and keys that are turned, and for keys and values as integers. */
static onx_status bind_room(onx_call *call, plan *p) {
    const state *st = call->state;
    size_t size = onx_dtype_bits((onx_dtype)call->in[QUERY]->dtype) / 8, rows, q, k, room;
    bool fits = onx_mul_size((size_t)p->batch, (size_t)p->q_len, &rows) &&
                onx_mul_size(rows, (size_t)p->head, &q) && onx_mul_size(q, size, &q) &&
                onx_mul_size(q, (size_t)st->kv_heads, &k) &&
                onx_mul_size(q, (size_t)st->q_heads, &q) && onx_add_size(q, k, &room);
    if (!fits) return onx_fail_nomem(call->diag);
    p->keys_at = q;
    p->cache_at = st->turns ? room : 0; /* integers take less room than floats: twice `k` will do */
    if (!onx_add_size(k, k, &k) || !onx_add_size(p->cache_at, st->bits ? k : 0, &room))
        return onx_fail_nomem(call->diag);
    call->scratch_bytes = room;
    return onx_rotary_scratch(call, p->head);
}

onx_status onx_ms_group_bind(onx_call *call) {
    const state *st = call->state;
    plan *p = call->plan;
    *p = (plan){0};
    ONX_TRY(bind_inputs(call, p));
    ONX_TRY(bind_past(call, p));
    ONX_TRY(bind_lengths(call, p));
    ONX_TRY(bind_more(call, p));
    ONX_TRY(bind_outputs(call, p));
    if (!call->in[QUERY]->count) return ONX_OK;
    ONX_TRY(onx_attend_scratch(call, p->q_len, p->most, p->head, p->head));
    return st->turns || st->bits ? bind_room(call, p) : ONX_OK;
}

/* ─ Lengths ──────────────────────────────────────────────────────────────────────────────────── */

/* How many rows a sliding cache of `room` holds after `n` keys: when it is full, it forgets as many
 * as it need not keep for the window. */
static int64_t held(int64_t n, int64_t room, int64_t window) {
    int64_t step = room - window + 1;
    return n <= room ? n : n - (n - room + step - 1) / step * step;
}

static int64_t keys_of(const onx_attend *of, int64_t b, int64_t *past) {
    const plan *p = of->call->plan;
    const state *st = of->call->state;
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
    const plan *p = call->plan;
    const state *st = call->state;
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
    const plan *p = of->call->plan;
    const state *st = of->call->state;
    const onx_operand *bias = onx_call_in(of->call, BIAS);
    int64_t past;
    (void)keys_of(of, b, &past);
    if (p->kv_len == 0) past = p->prompt ? 0 : keys - p->q_len;
    onx_seen seen = {0, keys};
    if (st->causal && past + s + 1 < keys) seen.end = past + s + 1;
    if (st->window >= 0 && seen.end > st->window) seen.first = seen.end - st->window;
    if (!bias) return seen;
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
    const plan *p = call->plan;
    const onx_operand *places = onx_call_in(call, PLACES);
    if (places && !p->prompt) return onx_operand_int(places, b * p->q_len + s);
    if (p->prompt) {
        int64_t first = places ? onx_operand_int(places, 0) : 0;
        return first < 0 || first >= r->rows ? first : first + s;
    }
    return onx_operand_int(call->in[LENGTHS], b) + 1 - p->q_len + s;
}

static onx_status turn(onx_call *call, onx_rows *rows, int64_t heads, size_t at) {
    const plan *p = call->plan;
    const state *st = call->state;
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
    const plan *p = call->plan;
    const state *st = call->state;
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
    const state *st = call->state;
    onx_operand *out = index < call->n_out ? call->out[index] : NULL;
    if (!out || !out->count) return ONX_OK;
    keeping k = {of, index == 1 ? of->k : of->v, out};
    return onx_call_parallel(call, (size_t)(of->batch * st->kv_heads), keep_task, &k);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

static void get_rows(const onx_call *call, onx_attend *of) {
    const plan *p = call->plan;
    const state *st = call->state;
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
    const plan *p = call->plan;
    const state *st = call->state;
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
    const plan *p = call->plan;
    const state *st = call->state;
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
    of.sink = onx_call_in(call, SINK);
    of.smooth = st->smooth;
    of.shown = call->n_out > 3 ? call->out[3] : NULL;
    of.show = st->show == 2 ? 3 : 2;
    of.bare = true;
    return onx_attend_run(call, &of, p->most);
}
