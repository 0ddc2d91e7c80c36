/* ms_attention.c: attention, its embeddings and its normalizations in com.microsoft: inference. */
#include "ops/attention/attention.h"
#include "ops/microsoft/microsoft.h"

static onx_status read_heads(onx_infer *in, const char *attribute, onx_extent *heads) {
    int64_t n = onx_infer_int(in, attribute);
    if (n < 1)
        return onx_infer_fail(in, "%s is %lld; it must be at least 1", attribute, (long long)n);
    heads->size = onx_sym_int(onx_infer_syms(in), n);
    return ONX_OK;
}

static size_t rank_of(const onx_infer *in, size_t index) {
    const onx_fact *fact = onx_infer_in(in, index);
    return fact->ranked ? fact->rank : 0;
}

/* The same type and shape as input 0. */
static onx_status put_same(onx_infer *in, size_t output) {
    return onx_infer_like(in, output, onx_infer_in(in, 0)->dtype, onx_infer_in(in, 0));
}

/* ── Attention ───────────────────────────────────────────────────────────────────────────────── */

/* Weights for query, key and value stand side by side, of equal width unless the node says how wide
 * each is. */
static onx_status read_widths(onx_infer *in, onx_heads *s, onx_extent *width) {
    onx_syms *syms = onx_infer_syms(in);
    size_t n;
    const int64_t *widths = onx_op_ints(onx_infer_node(in), "qkv_hidden_sizes", &n);
    if (widths && n != 3)
        return onx_infer_fail(in, "qkv_hidden_sizes has %zu elements; it needs 3", n);
    int64_t all;
    const onx_sym *third = onx_sym_floordiv(syms, width->size, onx_sym_int(syms, 3));
    if (!widths && onx_sym_is_int(width->size, &all) && all % 3)
        return onx_infer_fail(in, "the weights are %lld wide, which is not three equal parts",
                              (long long)all);
    s->q_hidden.size = widths ? onx_sym_int(syms, widths[0]) : third;
    s->k_hidden.size = widths ? onx_sym_int(syms, widths[1]) : third;
    s->v_hidden.size = widths ? onx_sym_int(syms, widths[2]) : third;
    if (!widths) return ONX_OK;
    const onx_sym *sum = onx_sym_add(syms, s->q_hidden.size, s->k_hidden.size);
    return onx_infer_meet(in, width, onx_sym_add(syms, sum, s->v_hidden.size));
}

onx_status onx_infer_ms_attention(onx_infer *in) {
    onx_heads s = onx_heads_unknown;
    onx_syms *syms = onx_infer_syms(in);
    onx_extent hidden = {"hidden size of the input", NULL}, width = {"width of the weights", NULL};
    onx_extent two = {"size for key and value", onx_sym_int(syms, 2)};
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    ONX_TRY(read_heads(in, "num_heads", &s.q_heads));
    ONX_TRY(onx_infer_unify(in, 0, 3, ONX_SIZES(&s.batch, &s.q_len, &hidden)));
    ONX_TRY(onx_infer_unify(in, 1, 2, ONX_SIZES(&hidden, &width)));
    ONX_TRY(onx_infer_unify(in, 2, 1, ONX_SIZES(&width)));
    ONX_TRY(read_widths(in, &s, &width));
    ONX_TRY(onx_infer_heads(in, &s.q_hidden, s.q_heads.size, &s.head));
    ONX_TRY(onx_infer_unify(in, 4, 5, ONX_SIZES(&two, &s.batch, &s.q_heads, &s.past, &s.head)));
    s.total.size = !onx_infer_has_in(in, 4) ? s.q_len.size
                   : onx_infer_int(in, "past_present_share_buffer")
                       ? s.past.size
                       : onx_sym_add(syms, s.past.size, s.q_len.size);
    ONX_TRY(onx_infer_extents(in, 0, dtype, 3, ONX_SIZES(&s.batch, &s.q_len, &s.v_hidden)));
    return onx_infer_extents(in, 1, dtype, 5,
                             ONX_SIZES(&two, &s.batch, &s.q_heads, &s.total, &s.head));
}

/* ── MultiHeadAttention ──────────────────────────────────────────────────────────────────────── */

/* Query, key and value in one, [batch, length, heads, 3, size]; or key and value in one, or all
 * alone. Key and value of rank 4 come from a cache. */
static onx_status read_multi_head(onx_infer *in, onx_heads *s) {
    onx_syms *syms = onx_infer_syms(in);
    onx_extent packed = {"size for what is packed", onx_sym_int(syms, 3)};
    if (rank_of(in, 0) == 5) {
        ONX_TRY(onx_infer_unify(in, 0, 5,
                                ONX_SIZES(&s->batch, &s->q_len, &s->q_heads, &packed, &s->head)));
        s->kv_len.size = s->q_len.size;
        s->v_head.size = s->head.size;
        s->v_hidden.size = onx_sym_mul(syms, s->q_heads.size, s->head.size);
        return ONX_OK;
    }
    ONX_TRY(onx_infer_unify(in, 0, 3, ONX_SIZES(&s->batch, &s->q_len, &s->q_hidden)));
    ONX_TRY(onx_infer_heads(in, &s->q_hidden, s->q_heads.size, &s->head));
    if (!onx_infer_has_in(in, 2)) s->v_hidden.size = s->q_hidden.size;
    packed.size = onx_sym_int(syms, 2);
    if (rank_of(in, 1) == 5)
        ONX_TRY(onx_infer_unify(in, 1, 5,
                                ONX_SIZES(&s->batch, &s->kv_len, &s->q_heads, &packed, &s->head)));
    else if (rank_of(in, 1) == 4)
        ONX_TRY(onx_infer_unify(in, 1, 4, ONX_SIZES(&s->batch, &s->q_heads, &s->kv_len, &s->head)));
    else
        ONX_TRY(onx_infer_unify(in, 1, 3, ONX_SIZES(&s->batch, &s->kv_len, &s->k_hidden)));
    if (rank_of(in, 2) == 4) {
        ONX_TRY(
            onx_infer_unify(in, 2, 4, ONX_SIZES(&s->batch, &s->q_heads, &s->kv_len, &s->v_head)));
        s->v_hidden.size = onx_sym_mul(syms, s->q_heads.size, s->v_head.size);
    } else
        ONX_TRY(onx_infer_unify(in, 2, 3, ONX_SIZES(&s->batch, &s->kv_len, &s->v_hidden)));
    ONX_TRY(onx_infer_heads(in, &s->k_hidden, s->q_heads.size, &s->head));
    return onx_infer_heads(in, &s->v_hidden, s->q_heads.size, &s->v_head);
}

onx_status onx_infer_ms_multi_head(onx_infer *in) {
    onx_heads s = onx_heads_unknown;
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    ONX_TRY(read_heads(in, "num_heads", &s.q_heads));
    ONX_TRY(read_multi_head(in, &s));
    ONX_TRY(onx_infer_unify(in, 6, 4, ONX_SIZES(&s.batch, &s.q_heads, &s.past, &s.head)));
    ONX_TRY(onx_infer_unify(in, 7, 4, ONX_SIZES(&s.batch, &s.q_heads, &s.past, &s.v_head)));
    bool shared = onx_infer_has_in(in, 8); /* past and present are one buffer */
    s.total.size = !onx_infer_has_in(in, 6) ? s.kv_len.size
                   : shared                 ? s.past.size
                            : onx_sym_add(onx_infer_syms(in), s.past.size, s.kv_len.size);
    ONX_TRY(onx_infer_extents(in, 0, dtype, 3, ONX_SIZES(&s.batch, &s.q_len, &s.v_hidden)));
    ONX_TRY(onx_infer_extents(in, 1, dtype, 4, ONX_SIZES(&s.batch, &s.q_heads, &s.total, &s.head)));
    ONX_TRY(
        onx_infer_extents(in, 2, dtype, 4, ONX_SIZES(&s.batch, &s.q_heads, &s.total, &s.v_head)));
    if (shared) s.total.size = NULL;
    return onx_infer_extents(in, 3, ONX_DTYPE_NONE, 4,
                             ONX_SIZES(&s.batch, &s.q_heads, &s.q_len, &s.total));
}

/* ── GroupQueryAttention ─────────────────────────────────────────────────────────────────────── */

/* Without key and value, they stand behind the query in input 0. */
static onx_status read_group_query(onx_infer *in, onx_heads *s) {
    onx_syms *syms = onx_infer_syms(in);
    ONX_TRY(read_heads(in, "num_heads", &s->q_heads));
    ONX_TRY(read_heads(in, "kv_num_heads", &s->kv_heads));
    ONX_TRY(onx_infer_grouped(in, s->q_heads.size, s->kv_heads.size));
    ONX_TRY(onx_infer_unify(in, 0, 3, ONX_SIZES(&s->batch, &s->q_len, &s->q_hidden)));
    if (onx_infer_has_in(in, 1) != onx_infer_has_in(in, 2))
        return onx_infer_fail(in, "key and value go together: give both or none");
    if (!onx_infer_has_in(in, 1)) {
        const onx_sym *all = onx_sym_mul(syms, s->kv_heads.size, onx_sym_int(syms, 2));
        all = onx_sym_add(syms, s->q_heads.size, all);
        ONX_TRY(onx_infer_heads(in, &s->q_hidden, all, &s->head));
        s->kv_len.size = s->q_len.size;
        s->q_hidden.size = onx_infer_joined(in, s->q_hidden.size, all, s->q_heads.size);
        return ONX_OK;
    }
    ONX_TRY(onx_infer_unify(in, 1, 3, ONX_SIZES(&s->batch, &s->kv_len, &s->k_hidden)));
    ONX_TRY(onx_infer_unify(in, 2, 3, ONX_SIZES(&s->batch, &s->kv_len, &s->v_hidden)));
    ONX_TRY(onx_infer_heads(in, &s->q_hidden, s->q_heads.size, &s->head));
    return onx_infer_heads(in, &s->k_hidden, s->kv_heads.size, &s->head);
}

/* The cache that comes out: as long as the one that went in, or as all there is to keep if that is
 * more. A cache of small integers may pack two of them in one, so its rows are like those that went
 * in. */
static onx_status put_cache(onx_infer *in, const onx_heads *s, size_t output, size_t input) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_fact *past = onx_infer_in(in, input), *total = onx_infer_in(in, 6);
    const onx_sym *length = total->elems && total->n_elems == 1 ? total->elems[0] : NULL;
    const onx_sym *dims[4] = {s->batch.size, s->kv_heads.size, length, s->head.size};
    if (!onx_infer_has_in(in, input)) {
        int64_t bits = onx_infer_int(in, "kv_cache_bit_width");
        onx_dtype own = onx_infer_in(in, 0)->dtype;
        onx_dtype dtype = bits == 8 ? ONX_DTYPE_I8 : bits == 4 ? ONX_DTYPE_U8 : own;
        if (!length) dims[2] = s->kv_len.size;
        if (bits == 4) /* two in one */
            dims[3] = onx_sym_floordiv(syms, onx_sym_add(syms, dims[3], onx_sym_int(syms, 1)),
                                       onx_sym_int(syms, 2));
        return onx_infer_tensor(in, output, dtype, 4, dims);
    }
    if (past->ranked && past->rank != 4)
        return onx_infer_fail(in, "input %zu has %zu dimensions; it needs 4", input, past->rank);
    dims[3] = past->ranked ? past->dims[3] : NULL;
    const onx_sym *before = past->ranked ? past->dims[2] : NULL;
    bool window = onx_infer_int(in, "sliding_window_cache") == 1;
    dims[2] = window ? before : onx_sym_max(syms, before, length);
    if (!window && !length)
        onx_infer_lost(in, output, 2, "it depends on what '%s' says", onx_infer_in_name(in, 6));
    return onx_infer_tensor(in, output, past->dtype, 4, dims);
}

onx_status onx_infer_ms_group_query(onx_infer *in) {
    onx_heads s = onx_heads_unknown;
    const onx_fact *total = onx_infer_in(in, 6);
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    ONX_TRY(read_group_query(in, &s));
    if (rank_of(in, 5) == 1) /* or [batch, 1], as some exporters have it */
        ONX_TRY(onx_infer_unify(in, 5, 1, ONX_SIZES(&s.batch)));
    for (size_t i = 3; i < 5; i++)
        if (rank_of(in, i) == 4)
            ONX_TRY(onx_infer_unify(in, i, 4, ONX_SIZES(&s.batch, &s.kv_heads, NULL, NULL)));
    ONX_TRY(onx_infer_extents(in, 0, dtype, 3, ONX_SIZES(&s.batch, &s.q_len, &s.q_hidden)));
    ONX_TRY(put_cache(in, &s, 1, 3));
    ONX_TRY(put_cache(in, &s, 2, 4));
    if (total->elems && total->n_elems == 1) s.total.size = total->elems[0];
    return onx_infer_extents(in, 3, dtype, 4, ONX_SIZES(&s.batch, &s.q_heads, &s.q_len, &s.total));
}

/* ── Around it ───────────────────────────────────────────────────────────────────────────────── */

onx_status onx_infer_ms_rotary(onx_infer *in) {
    size_t rank = rank_of(in, 0);
    onx_extent rows = {"length of the caches", NULL}, angles = {"width of the caches", NULL};
    if (rank && rank != 3 && rank != 4)
        return onx_infer_fail(in, "the input has %zu dimensions; it needs 3 or 4", rank);
    ONX_TRY(onx_infer_unify(in, 2, 2, ONX_SIZES(&rows, &angles)));
    ONX_TRY(onx_infer_unify(in, 3, 2, ONX_SIZES(&rows, &angles)));
    return put_same(in, 0);
}

/* One statistic for each row. */
static onx_status put_rows(onx_infer *in, size_t output) {
    const onx_fact *x = onx_infer_in(in, 0);
    if (!x->ranked) return onx_infer_unranked(in, output, ONX_DTYPE_F32);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[x->rank - 1] = onx_sym_int(onx_infer_syms(in), 1);
    return onx_infer_tensor(in, output, ONX_DTYPE_F32, x->rank, dims);
}

/* SkipLayerNormalization and its simplified form: gamma, beta and bias are as wide as the rows. */
onx_status onx_infer_ms_skip_norm(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_extent hidden = {"hidden size", NULL};
    if (x->ranked && !x->rank) return onx_infer_fail(in, "a scalar has no rows");
    if (x->ranked) hidden.size = x->dims[x->rank - 1];
    for (size_t i = 2; i < 5; i++) ONX_TRY(onx_infer_unify(in, i, 1, ONX_SIZES(&hidden)));
    ONX_TRY(put_same(in, 0));
    ONX_TRY(put_rows(in, 1));
    ONX_TRY(put_rows(in, 2));
    return put_same(in, 3);
}

onx_status onx_infer_ms_embed_norm(onx_infer *in) {
    onx_extent batch = {"batch size", NULL}, length = {"sequence length", NULL};
    onx_extent hidden = {"hidden size", NULL};
    onx_dtype dtype = onx_infer_in(in, 2)->dtype;
    ONX_TRY(onx_infer_unify(in, 0, 2, ONX_SIZES(&batch, &length)));
    ONX_TRY(onx_infer_unify(in, 1, 2, ONX_SIZES(&batch, &length)));
    for (size_t i = 2; i < 5; i++) ONX_TRY(onx_infer_unify(in, i, 2, ONX_SIZES(NULL, &hidden)));
    for (size_t i = 5; i < 7; i++) ONX_TRY(onx_infer_unify(in, i, 1, ONX_SIZES(&hidden)));
    ONX_TRY(onx_infer_extents(in, 0, dtype, 3, ONX_SIZES(&batch, &length, &hidden)));
    ONX_TRY(onx_infer_extents(in, 1, ONX_DTYPE_I32, 1, ONX_SIZES(&batch)));
    return onx_infer_extents(in, 2, dtype, 3, ONX_SIZES(&batch, &length, &hidden));
}

/* BiasGelu and FastGelu: the bias is as wide as the rows. */
onx_status onx_infer_ms_bias_gelu(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_extent hidden = {"size of the last dimension", NULL};
    if (x->ranked && x->rank) hidden.size = x->dims[x->rank - 1];
    ONX_TRY(onx_infer_unify(in, 1, 1, ONX_SIZES(&hidden)));
    return put_same(in, 0);
}
