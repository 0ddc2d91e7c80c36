/* ms_group_query_ref.c: GroupQueryAttention: plain kernel, as ONNX Runtime has it on the CPU.
 *
 * Each batch has seqlens_k + 1 keys, the last of which are new; those before them are the first
 * rows of the past. The present has all of them, and zeros behind. With sliding_window_cache the
 * past is a buffer that holds only the last keys, and seqlens_k counts also those that it has
 * forgotten. The caches may hold integers (ms_cache_ref.c): then new keys and values become such
 * before they are looked at. Declined, as there: norms of query and key. Here are attributes and
 * sizes; ms_group_run_ref.c has the run. */
#include "ops/attention/rotary_ref.h"
#include "ops/microsoft/ms_group_ref.h"

_Static_assert(sizeof(onx_ms_group_plan) <= ONX_MS_PLAN, "ONX_MS_PLAN is too small");

/* From seqlens_k on. */
static const uint32_t types[] = {ONX_T(I32),    ONX_T(I32), ONX_MS_FLOATS,
                                 ONX_MS_FLOATS, ONX_T(I64), ONX_MS_FLOATS,
                                 ONX_MS_FLOATS, ONX_T(F32), ONX_T(F32)};

/* What the caches hold. */
static onx_status read_cache(const onx_call *call, onx_ms_group *st) {
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
    onx_ms_group *st = onx_call_state(call, sizeof *st);
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

static onx_status bind_inputs(const onx_call *call, onx_ms_group_plan *p) {
    const onx_ms_group *st = call->state;
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

static onx_status bind_past(const onx_call *call, onx_ms_group_plan *p) {
    const onx_ms_group *st = call->state;
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

static onx_status bind_lengths(const onx_call *call, onx_ms_group_plan *p) {
    const onx_ms_group *st = call->state;
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

static onx_status bind_more(const onx_call *call, const onx_ms_group_plan *p) {
    const onx_ms_group *st = call->state;
    const onx_operand *bias = onx_call_in(call, BIAS), *sink = onx_call_in(call, SINK);
    const onx_operand *c = onx_call_in(call, COS), *s = onx_call_in(call, SIN);
    const onx_operand *places = onx_call_in(call, PLACES);
    if (!c != !s || (st->turns && !c))
        return onx_call_fail(call, ONX_INVALID,
                             "cos_cache and sin_cache go together, and do_rotary needs them");
    if (c && (c->rank != 2 || s->rank != 2 || c->dims[1] != s->dims[1]))
        return onx_call_fail(call, ONX_INVALID,
                             "cos_cache and sin_cache need two dimensions, rows of one size");
    int64_t turned = 0;
    if (st->turns && !onx_mul_i64(2, c->dims[1], &turned)) turned = INT64_MAX;
    if (st->turns) ONX_TRY(onx_rotary_check(call, p->head, turned, c->dims[1]));
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

static onx_status bind_outputs(onx_call *call, const onx_ms_group_plan *p) {
    const onx_ms_group *st = call->state;
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
static onx_status bind_room(onx_call *call, onx_ms_group_plan *p) {
    const onx_ms_group *st = call->state;
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
    const onx_ms_group *st = call->state;
    onx_ms_group_plan *p = call->plan;
    *p = (onx_ms_group_plan){0};
    ONX_TRY(bind_inputs(call, p));
    ONX_TRY(bind_past(call, p));
    ONX_TRY(bind_lengths(call, p));
    ONX_TRY(bind_more(call, p));
    ONX_TRY(bind_outputs(call, p));
    if (!call->in[QUERY]->count) return ONX_OK;
    ONX_TRY(onx_attend_scratch(call, p->q_len, p->most, p->head, p->head));
    return st->turns || st->bits ? bind_room(call, p) : ONX_OK;
}
