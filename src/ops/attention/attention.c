/* attention.c: Attention and what goes with it (positions that turn, linear attention, convolution
 * with a state): meaning. Their bodies as functions are in the files *_body.c. */
#include "ops/attention/attention.h"
#include "ops/attention/attend_view.h"

/* ── Attention ───────────────────────────────────────────────────────────────────────────────── */

const onx_heads onx_heads_unknown = {
    .batch = {"batch size", NULL},
    .q_heads = {"number of query heads", NULL},
    .kv_heads = {"number of heads of key and value", NULL},
    .q_len = {"length of the query", NULL},
    .kv_len = {"length of key and value", NULL},
    .head = {"head size", NULL},
    .v_head = {"head size of the value", NULL},
    .past = {"length of the past", NULL},
    .total = {"length of past, key and value", NULL},
    .q_hidden = {"hidden size of the query", NULL},
    .k_hidden = {"hidden size of the key", NULL},
    .v_hidden = {"hidden size of the value", NULL},
};

onx_status onx_infer_heads(onx_infer *in, const onx_extent *hidden, const onx_sym *heads,
                           onx_extent *head) {
    int64_t h, n;
    bool fixed = onx_sym_is_int(hidden->size, &h) && onx_sym_is_int(heads, &n);
    if (fixed && (n < 1 || h % n))
        return onx_infer_fail(in, "the %s, %lld, is not a multiple of the number of heads, %lld",
                              hidden->name, (long long)h, (long long)n);
    return onx_infer_meet(in, head, onx_sym_floordiv(onx_infer_syms(in), hidden->size, heads));
}

onx_status onx_infer_grouped(onx_infer *in, const onx_sym *q_heads, const onx_sym *kv_heads) {
    int64_t q, kv;
    if (!onx_sym_is_int(q_heads, &q) || !onx_sym_is_int(kv_heads, &kv)) return ONX_OK;
    if (kv > 0 && q % kv == 0) return ONX_OK;
    return onx_infer_fail(in, "%lld query heads cannot share %lld heads of key and value evenly",
                          (long long)q, (long long)kv);
}

const onx_sym *onx_infer_joined(onx_infer *in, const onx_sym *hidden, const onx_sym *heads,
                                const onx_sym *others) {
    onx_syms *syms = onx_infer_syms(in);
    if (heads && heads == others) return hidden;
    return onx_sym_mul(syms, onx_sym_floordiv(syms, hidden, heads), others);
}

static onx_status read_4d(onx_infer *in, onx_heads *s) {
    ONX_TRY(onx_infer_unify(in, 0, 4, ONX_SIZES(&s->batch, &s->q_heads, &s->q_len, &s->head)));
    ONX_TRY(onx_infer_unify(in, 1, 4, ONX_SIZES(&s->batch, &s->kv_heads, &s->kv_len, &s->head)));
    return onx_infer_unify(in, 2, 4, ONX_SIZES(&s->batch, &s->kv_heads, &s->kv_len, &s->v_head));
}

static onx_status read_3d(onx_infer *in, onx_heads *s) {
    int64_t q = onx_infer_int(in, "q_num_heads"), kv = onx_infer_int(in, "kv_num_heads");
    if (q < 1 || kv < 1)
        return onx_infer_fail(in, "inputs of rank 3 need q_num_heads and kv_num_heads of at least"
                                  " 1");
    ONX_TRY(onx_infer_meet(in, &s->q_heads, onx_sym_int(onx_infer_syms(in), q)));
    ONX_TRY(onx_infer_meet(in, &s->kv_heads, onx_sym_int(onx_infer_syms(in), kv)));
    ONX_TRY(onx_infer_unify(in, 0, 3, ONX_SIZES(&s->batch, &s->q_len, &s->q_hidden)));
    ONX_TRY(onx_infer_unify(in, 1, 3, ONX_SIZES(&s->batch, &s->kv_len, &s->k_hidden)));
    ONX_TRY(onx_infer_unify(in, 2, 3, ONX_SIZES(&s->batch, &s->kv_len, &s->v_hidden)));
    ONX_TRY(onx_infer_heads(in, &s->q_hidden, s->q_heads.size, &s->head));
    ONX_TRY(onx_infer_heads(in, &s->k_hidden, s->kv_heads.size, &s->head));
    return onx_infer_heads(in, &s->v_hidden, s->kv_heads.size, &s->v_head);
}

/* What was there before, and must be given for key and value alike. */
static onx_status read_past(onx_infer *in, onx_heads *s) {
    const onx_node *node = onx_infer_node(in);
    bool past = onx_infer_has_in(in, 4), external = onx_infer_has_in(in, 6);
    bool present = onx_node_output(node, 1) != NULL;
    if (past != onx_infer_has_in(in, 5))
        return onx_infer_fail(in, "past_key and past_value go together: give both or none");
    if (present != (onx_node_output(node, 2) != NULL))
        return onx_infer_fail(in,
                              "present_key and present_value go together: ask for both or none");
    if (onx_infer_op(in)->since >= 25 && external && (past || present))
        return onx_infer_fail(in, "nonpad_kv_seqlen means a cache outside: there can be no past"
                                  " and no present");
    ONX_TRY(onx_infer_unify(in, 4, 4, ONX_SIZES(&s->batch, &s->kv_heads, &s->past, &s->head)));
    ONX_TRY(onx_infer_unify(in, 5, 4, ONX_SIZES(&s->batch, &s->kv_heads, &s->past, &s->v_head)));
    ONX_TRY(onx_infer_unify(in, 6, 1, ONX_SIZES(&s->batch)));
    s->total.size =
        past ? onx_sym_add(onx_infer_syms(in), s->past.size, s->kv_len.size) : s->kv_len.size;
    return ONX_OK;
}

/* The mask broadcasts to the scores; since version 24 its rows may be shorter than theirs. */
static onx_status check_mask(onx_infer *in, const onx_heads *s) {
    const onx_fact *mask = onx_infer_in(in, 3);
    const onx_sym *scores[] = {s->batch.size, s->q_heads.size, s->q_len.size, s->total.size};
    if (!mask->ranked) return ONX_OK;
    if (mask->rank > 4)
        return onx_infer_fail(in, "attn_mask has %zu dimensions; the scores have 4", mask->rank);
    for (size_t i = 0; i < mask->rank; i++) {
        size_t at = 4 - mask->rank + i;
        int64_t has, wants;
        if (!onx_sym_is_int(mask->dims[i], &has) || !onx_sym_is_int(scores[at], &wants)) continue;
        bool shorter = at == 3 && onx_infer_op(in)->since >= 24 && has <= wants;
        if (has == wants || has == 1 || shorter) continue;
        return onx_infer_fail(in, "dimension %zu of attn_mask is %lld, where the scores have %lld",
                              i, (long long)has, (long long)wants);
    }
    return ONX_OK;
}

static onx_status check_windows(onx_infer *in) {
    static const char *const names[] = {"left_window_size", "right_window_size"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        int64_t size = onx_infer_int(in, names[i]);
        if (size < -1)
            return onx_infer_fail(in, "%s is %lld; it must be at least -1", names[i],
                                  (long long)size);
    }
    return ONX_OK;
}

static onx_status put_attention(onx_infer *in, size_t rank, onx_heads *s) {
    onx_dtype q = onx_infer_in(in, 0)->dtype, v = onx_infer_in(in, 2)->dtype;
    onx_dtype dtype = q ? q : onx_infer_in(in, 1)->dtype;
    onx_extent hidden = {"hidden size",
                         onx_infer_joined(in, s->v_hidden.size, s->kv_heads.size, s->q_heads.size)};
    if (rank == 3)
        ONX_TRY(onx_infer_extents(in, 0, dtype, 3, ONX_SIZES(&s->batch, &s->q_len, &hidden)));
    else if (rank == 4)
        ONX_TRY(onx_infer_extents(in, 0, dtype, 4,
                                  ONX_SIZES(&s->batch, &s->q_heads, &s->q_len, &s->v_head)));
    else
        ONX_TRY(onx_infer_unranked(in, 0, dtype));
    ONX_TRY(onx_infer_extents(in, 1, dtype, 4,
                              ONX_SIZES(&s->batch, &s->kv_heads, &s->total, &s->head)));
    ONX_TRY(
        onx_infer_extents(in, 2, v, 4, ONX_SIZES(&s->batch, &s->kv_heads, &s->total, &s->v_head)));
    return onx_infer_extents(in, 3, dtype, 4,
                             ONX_SIZES(&s->batch, &s->q_heads, &s->q_len, &s->total));
}

static onx_status infer_attention(onx_infer *in) {
    onx_heads s = onx_heads_unknown;
    size_t rank = 0;
    for (size_t i = 0; i < 3 && !rank; i++) {
        const onx_fact *fact = onx_infer_in(in, i);
        if (!fact->ranked) continue;
        if (fact->rank != 3 && fact->rank != 4)
            return onx_infer_fail(in, "input %zu has %zu dimensions; it needs 3 or 4", i,
                                  fact->rank);
        rank = fact->rank;
    }
    bool counted = onx_op_has(onx_infer_node(in), "q_num_heads") ||
                   onx_op_has(onx_infer_node(in), "kv_num_heads");
    if (rank == 4 && counted && onx_infer_op(in)->since >= 25)
        return onx_infer_fail(in, "q_num_heads and kv_num_heads are for inputs of rank 3");
    ONX_TRY(rank == 4 ? read_4d(in, &s) : rank == 3 ? read_3d(in, &s) : ONX_OK);
    ONX_TRY(read_past(in, &s));
    ONX_TRY(onx_infer_grouped(in, s.q_heads.size, s.kv_heads.size));
    ONX_TRY(check_mask(in, &s));
    ONX_TRY(check_windows(in));
    return put_attention(in, rank, &s);
}

/* ── FlexAttention ───────────────────────────────────────────────────────────────────────────── */

onx_dtype onx_flex_precision(const onx_op *op, const onx_node *node, onx_dtype dtype) {
    if (onx_op_has(node, "softmax_precision")) {
        int64_t wanted = onx_op_int(op, node, "softmax_precision");
        return wanted > 0 && wanted < ONX_DTYPE_COUNT ? (onx_dtype)wanted : ONX_DTYPE_NONE;
    }
    return dtype == ONX_DTYPE_F64 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
}

/* A graph that changes scores, or probabilities: one of them goes in, one like it comes out. */
static onx_status infer_modifier(onx_infer *in, const char *name, const onx_fact *scores) {
    const onx_attr *attr = onx_node_attr(onx_infer_node(in), name);
    onx_fact out = {0};
    if (!attr || !attr->g) return ONX_OK;
    if (attr->g->ins.n != 1 || attr->g->outs.n != 1)
        return onx_infer_fail(in, "%s takes %zu values and gives %zu; it must be one each", name,
                              attr->g->ins.n, attr->g->outs.n);
    ONX_TRY(onx_infer_graph(in, attr->g, 1, &scores, 1, &out));
    if (out.kind > ONX_TYPE_TENSOR || (out.dtype && scores->dtype && out.dtype != scores->dtype))
        return onx_infer_fail(in, "%s gives %s; it must give %s, as it takes", name,
                              onx_dtype_name(out.dtype), onx_dtype_name(scores->dtype));
    if (out.ranked && out.rank != 4)
        return onx_infer_fail(in, "%s gives %zu dimensions; it must give 4", name, out.rank);
    for (size_t i = 0; out.ranked && scores->ranked && i < 4; i++) {
        onx_extent size = {"size of a dimension that a modifier takes and gives", scores->dims[i]};
        ONX_TRY(onx_infer_meet(in, &size, out.dims[i]));
    }
    return ONX_OK;
}

static onx_status infer_flex(onx_infer *in) {
    onx_heads s = onx_heads_unknown;
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    onx_dtype precision = onx_flex_precision(onx_infer_op(in), onx_infer_node(in), dtype);
    bool is_float = precision == ONX_DTYPE_F32 || precision == ONX_DTYPE_F16 ||
                    precision == ONX_DTYPE_BF16 || precision == ONX_DTYPE_F64;
    if (!is_float) return onx_infer_fail(in, "softmax_precision is not a type of floats");
    ONX_TRY(read_4d(in, &s));
    ONX_TRY(onx_infer_grouped(in, s.q_heads.size, s.kv_heads.size));
    const onx_sym *sizes[] = {s.batch.size, s.q_heads.size, s.q_len.size, s.kv_len.size};
    const onx_sym **dims = onx_arena_alloc(onx_infer_arena(in), sizeof sizes);
    if (!dims) return ONX_NO_MEMORY;
    memcpy(dims, sizes, sizeof sizes); /* facts of the graphs go on pointing to them */
    onx_fact scores = {
        .kind = ONX_TYPE_TENSOR, .dtype = precision, .ranked = true, .rank = 4, .dims = dims};
    ONX_TRY(infer_modifier(in, "score_mod", &scores));
    ONX_TRY(infer_modifier(in, "prob_mod", &scores));
    return onx_infer_extents(in, 0, dtype, 4, ONX_SIZES(&s.batch, &s.q_heads, &s.q_len, &s.v_head));
}

/* ── RotaryEmbedding ─────────────────────────────────────────────────────────────────────────── */

/* The part of a head that is turned has an even size, and as many angles as pairs. */
static onx_status check_turned(onx_infer *in, const onx_sym *head, const onx_sym *angles) {
    int64_t size, pairs, turned = onx_infer_int(in, "rotary_embedding_dim");
    if (turned < 0 || turned % 2)
        return onx_infer_fail(in, "rotary_embedding_dim is %lld; it must be even, and not negative",
                              (long long)turned);
    bool known = onx_sym_is_int(head, &size);
    if (known && turned > size)
        return onx_infer_fail(in, "rotary_embedding_dim is %lld, but a head has only %lld",
                              (long long)turned, (long long)size);
    if (known && !turned && size % 2)
        return onx_infer_fail(in, "the head size is %lld; it must be even", (long long)size);
    if (!turned) turned = known ? size : 0;
    if (turned && onx_sym_is_int(angles, &pairs) && pairs != turned / 2)
        return onx_infer_fail(in, "the caches have rows of %lld; %lld values need %lld",
                              (long long)pairs, (long long)turned, (long long)turned / 2);
    return ONX_OK;
}

static onx_status infer_rotary(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_extent batch = {"batch size", NULL}, length = {"sequence length", NULL};
    onx_extent hidden = {"hidden size", NULL}, head = {"head size", NULL};
    onx_extent rows = {"length of the caches", NULL}, angles = {"width of the caches", NULL};
    int64_t heads = onx_infer_int(in, "num_heads");
    ONX_TRY(onx_infer_same(in));
    if (x->ranked && x->rank == 3) {
        if (heads < 1) return onx_infer_fail(in, "an input of rank 3 needs num_heads");
        ONX_TRY(onx_infer_unify(in, 0, 3, ONX_SIZES(&batch, &length, &hidden)));
        ONX_TRY(onx_infer_heads(in, &hidden, onx_sym_int(onx_infer_syms(in), heads), &head));
    } else {
        ONX_TRY(onx_infer_unify(in, 0, 4, ONX_SIZES(&batch, NULL, &length, &head)));
    }
    bool placed = onx_infer_has_in(in, 3);
    onx_extent *const *cache =
        placed ? ONX_SIZES(&rows, &angles) : ONX_SIZES(&batch, &length, &angles);
    ONX_TRY(onx_infer_unify(in, 1, placed ? 2 : 3, cache));
    ONX_TRY(onx_infer_unify(in, 2, placed ? 2 : 3, cache));
    ONX_TRY(onx_infer_unify(in, 3, 2, ONX_SIZES(&batch, &length)));
    return check_turned(in, head.size, angles.size);
}

/* ── CausalConvWithState ─────────────────────────────────────────────────────────────────────── */

static onx_status infer_causal_conv(onx_infer *in) {
    onx_extent batch = {"batch size", NULL}, channels = {"number of channels", NULL};
    onx_extent length = {"length", NULL}, kernel = {"kernel size", NULL};
    onx_extent state = {"length of the state", NULL};
    onx_syms *syms = onx_infer_syms(in);
    onx_extent one = {"middle size of the weight", onx_sym_int(syms, 1)};
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    int64_t k;
    ONX_TRY(onx_infer_choice(in, "activation", "none silu swish"));
    ONX_TRY(onx_infer_unify(in, 0, 3, ONX_SIZES(&batch, &channels, &length)));
    ONX_TRY(onx_infer_unify(in, 1, 3, ONX_SIZES(&channels, &one, &kernel)));
    ONX_TRY(onx_infer_unify(in, 2, 1, ONX_SIZES(&channels)));
    ONX_TRY(onx_infer_unify(in, 3, 3, ONX_SIZES(&batch, &channels, &state)));
    if (onx_sym_is_int(kernel.size, &k) && k < 1)
        return onx_infer_fail(in, "the kernel size is %lld; it must be at least 1", (long long)k);
    ONX_TRY(onx_infer_meet(in, &state, onx_sym_sub(syms, kernel.size, onx_sym_int(syms, 1))));
    ONX_TRY(onx_infer_extents(in, 0, dtype, 3, ONX_SIZES(&batch, &channels, &length)));
    return onx_infer_extents(in, 1, dtype, 3, ONX_SIZES(&batch, &channels, &state));
}

/* ── LinearAttention ─────────────────────────────────────────────────────────────────────────── */

typedef struct rule {
    const char *name;
    bool decays, corrects; /* needs decay; needs beta */
} rule;
static const rule rules[] = {{"linear", false, false},
                             {"gated", true, false},
                             {"delta", false, true},
                             {"gated_delta", true, true}};

static onx_status check_rule(onx_infer *in) {
    onx_str name = onx_infer_string(in, "update_rule");
    for (size_t i = 0; i < ONX_COUNT(rules); i++) {
        if (!onx_str_is(name, rules[i].name)) continue;
        if (onx_infer_has_in(in, 4) != rules[i].decays)
            return onx_infer_fail(in, "the update rule '%s' %s decay", rules[i].name,
                                  rules[i].decays ? "needs" : "knows no");
        if (onx_infer_has_in(in, 5) != rules[i].corrects)
            return onx_infer_fail(in, "the update rule '%s' %s beta", rules[i].name,
                                  rules[i].corrects ? "needs" : "knows no");
        return ONX_OK;
    }
    return onx_infer_fail(
        in, "update_rule is '%.*s'; it can be linear, gated, delta or gated_delta", ONX_FMT(name));
}

/* The last size of decay and beta is one of two. */
static onx_status check_last(onx_infer *in, size_t index, const onx_sym *a, const onx_sym *b) {
    const onx_fact *fact = onx_infer_in(in, index);
    int64_t size, x, y;
    if (!fact->ranked || !onx_sym_is_int(fact->dims[2], &size) || !onx_sym_is_int(a, &x) ||
        !onx_sym_is_int(b, &y) || size == x || size == y)
        return ONX_OK;
    return onx_infer_fail(in, "the last size of input %zu is %lld; it can be %lld or %lld", index,
                          (long long)size, (long long)x, (long long)y);
}

static onx_status infer_linear(onx_infer *in) {
    onx_heads s = onx_heads_unknown;
    onx_syms *syms = onx_infer_syms(in);
    onx_dtype dtype = onx_infer_in(in, 0)->dtype, state = onx_infer_in(in, 3)->dtype;
    ONX_TRY(check_rule(in));
    s.kv_len.name = s.q_len.name = "sequence length";
    ONX_TRY(read_3d(in, &s));
    ONX_TRY(onx_infer_grouped(in, s.q_heads.size, s.kv_heads.size));
    ONX_TRY(onx_infer_meet(in, &s.q_len, s.kv_len.size));
    ONX_TRY(onx_infer_unify(in, 3, 4, ONX_SIZES(&s.batch, &s.kv_heads, &s.head, &s.v_head)));
    ONX_TRY(onx_infer_unify(in, 4, 3, ONX_SIZES(&s.batch, &s.q_len, NULL)));
    ONX_TRY(onx_infer_unify(in, 5, 3, ONX_SIZES(&s.batch, &s.q_len, NULL)));
    ONX_TRY(check_last(in, 4, s.kv_heads.size, onx_sym_mul(syms, s.kv_heads.size, s.head.size)));
    ONX_TRY(check_last(in, 5, s.kv_heads.size, onx_sym_int(syms, 1)));
    onx_extent hidden = {"hidden size",
                         onx_infer_joined(in, s.v_hidden.size, s.kv_heads.size, s.q_heads.size)};
    if (!hidden.size) hidden.size = onx_sym_mul(syms, s.v_head.size, s.q_heads.size);
    ONX_TRY(onx_infer_extents(in, 0, dtype, 3, ONX_SIZES(&s.batch, &s.q_len, &hidden)));
    return onx_infer_extents(in, 1, state ? state : dtype, 4,
                             ONX_SIZES(&s.batch, &s.kv_heads, &s.head, &s.v_head));
}

/* ── Rows ────────────────────────────────────────────────────────────────────────────────────── */

#define ATTENTION_IN "(Q:T1, K:T1, V:T2, attn_mask?:U, past_key?:T1, past_value?:T2"
#define ATTENTION_OUT                                                                              \
    ") -> (Y:T1, present_key?:T1, present_value?:T2, qk_matmul_output?:T1) {is_causal:int=0, "     \
    "kv_num_heads?:int, q_num_heads?:int, qk_matmul_output_mode:int=0, scale?:float, "             \
    "softcap:float=0.0, softmax_precision?:int"
#define ATTENTION_TYPES "} [T1:f, T2:f, U:n|bool]"
#define F32 "float16|bfloat16|float"

extern onx_op_rows onx_ops_attention;
onx_op_rows onx_ops_attention = {
    {"Attention", 23, ATTENTION_IN ATTENTION_OUT ATTENTION_TYPES, .infer = infer_attention,
     .body = onx_attention_body},
    {"Attention", 24, ATTENTION_IN ", nonpad_kv_seqlen?:int64" ATTENTION_OUT ATTENTION_TYPES,
     .infer = infer_attention, .body = onx_attention_body},
    {"Attention", 25,
     ATTENTION_IN ", nonpad_kv_seqlen?:int64" ATTENTION_OUT
                  ", left_window_size:int=-1, right_window_size:int=-1" ATTENTION_TYPES,
     .infer = infer_attention, .body = onx_attention_body},
    {"CausalConvWithState", 27,
     "(input:T, weight:T, bias?:T, past_state?:T) -> (output:T, present_state:T) "
     "{activation:string=\"none\"} [T:" F32 "]",
     .infer = infer_causal_conv, .body = onx_causal_conv_body},
    {"LinearAttention", 27,
     "(query:T, key:T, value:T, past_state?:S, decay?:T, beta?:T) -> (output:T, present_state:S) "
     "{chunk_size:int=64, kv_num_heads:int, q_num_heads:int, scale:float=0.0, "
     "update_rule:string=\"gated_delta\"} [T:" F32 ", S:" F32 "]",
     .infer = infer_linear, .body = onx_linear_attention_body},
    {"RotaryEmbedding", 23,
     "(X:T, cos_cache:T, sin_cache:T, position_ids?:M) -> (Y:T) {interleaved:int=0, "
     "num_heads?:int, rotary_embedding_dim:int=0} [T:" F32 ", M:int64]",
     .infer = infer_rotary, .body = onx_rotary_body},
    {"FlexAttention", 1,
     "(Q:T1, K:T1, V:T1) -> (Y:T1) {prob_mod?:graph, scale?:float, score_mod?:graph, "
     "softmax_precision?:int} [T1:f]",
     .infer = infer_flex, .body = onx_flex_attention_body, .domain = "ai.onnx.preview"},
    {"Attend", 1,
     "(Q:float, K:float, V:float, bias?:T, bias2?:U) -> (Y:float) {q:ints, k:ints, v:ints, y:ints, "
     "modes?:ints, fills?:floats, scale:float=1.0, causal:int=0, guard:int=0} "
     "[T:float|bool, U:float|bool]",
     .infer = onx_infer_attend, .domain = "onx.internal"},
    {"Rotate", 1, "(X:float, cos:float, sin:float) -> (Y:float) {x:ints}",
     .infer = onx_infer_rotate, .domain = "onx.internal"},
    {0},
};
