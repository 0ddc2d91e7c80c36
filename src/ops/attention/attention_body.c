/* attention_body.c: Attention and FlexAttention as functions: their bodies, for one call each. What
 * is known of the inputs is made use of; what is not is computed there. */
#include "ops/attention/attention.h"

typedef struct call {
    const onx_op *op;
    const onx_node *node;
    size_t n_in;
    const onx_fact *const *ins;
    const char *q, *k, *v; /* what stands for query, key and value, of rank 4 */
    onx_buf *out;
} call;

static bool has(const call *c, size_t input) {
    return onx_node_input(c->node, input) != NULL;
}

static const onx_fact *fact_of(const call *c, size_t input) {
    static const onx_fact nothing = {0};
    return input < c->n_in ? c->ins[input] : &nothing;
}

/* The size of a dimension of an input; -1: not known. */
static int64_t size_of(const call *c, size_t input, size_t rank, size_t dim) {
    const onx_fact *fact = fact_of(c, input);
    int64_t size;
    return fact->ranked && fact->rank == rank && onx_sym_is_int(fact->dims[dim], &size) ? size : -1;
}

static void put(const call *c, const char *nodes) {
    onx_buf_puts(c->out, nodes);
}

/* ── Heads ───────────────────────────────────────────────────────────────────────────────────── */

/* Input `from`, of rank 3, taken apart: [batch, heads, length, size]. */
static void put_split(const call *c, size_t input, const char *from, const char *to,
                      int64_t heads) {
    int64_t hidden = size_of(c, input, 3, 2);
    long long size = hidden >= 0 && hidden % heads == 0 ? hidden / heads : -1;
    onx_buf_printf(c->out,
                   "%s_shape = Constant <value_ints = [0, 0, %lld, %lld]> ()\n"
                   "%s_parts = Reshape (%s, %s_shape)\n"
                   "%s = Transpose <perm = [0, 2, 1, 3]> (%s_parts)\n",
                   to, (long long)heads, size, to, from, to, to, to);
}

/* Each head of `from` as often as query heads share it. */
static void put_repeat(const call *c, const char *from, const char *to) {
    onx_buf_printf(c->out,
                   "%s_one = Unsqueeze (%s, two)\n"
                   "%s_each = Expand (%s_one, spread)\n"
                   "%s_rows = Shape <start = 2> (%s)\n"
                   "%s_all = Concat <axis = 0> (batch, heads, %s_rows)\n"
                   "%s = Reshape (%s_each, %s_all)\n",
                   to, from, to, to, to, from, to, to, to, to, to);
}

/* Key and value with as many heads as the query has. `equal`: they have. */
static void put_groups(call *c, bool equal) {
    if (equal) return;
    onx_buf_printf(c->out,
                   "batch = Shape <start = 0, end = 1> (%s)\n"
                   "heads = Shape <start = 1, end = 2> (%s)\n"
                   "shared = Shape <start = 1, end = 2> (%s)\n"
                   "times = Div (heads, shared)\n"
                   "two = Constant <value_ints = [2]> ()\n"
                   "ones = Constant <value_ints = [1, 1]> ()\n"
                   "spread = Concat <axis = 0> (ones, times, ones)\n",
                   c->q, c->q, c->k);
    put_repeat(c, c->k, "k_heads");
    put_repeat(c, c->v, "v_heads");
    c->k = "k_heads";
    c->v = "v_heads";
}

/* The products of query and key, each of them scaled by the root of the scale. */
static void put_products(const call *c) {
    if (onx_op_has(c->node, "scale"))
        put(c, "scale_f = Constant <value_float: float = @scale> ()\n");
    else
        onx_buf_printf(c->out,
                       "size = Shape <start = 3, end = 4> (%s)\n"
                       "size_f = Cast <to = 1> (size)\n"
                       "size_root = Sqrt (size_f)\n"
                       "scale_f = Reciprocal (size_root)\n",
                       c->q);
    onx_buf_printf(c->out,
                   "root_f = Sqrt (scale_f)\n"
                   "root = CastLike (root_f, Q)\n"
                   "q_scaled = Mul (%s, root)\n"
                   "k_scaled = Mul (%s, root)\n"
                   "k_turned = Transpose <perm = [0, 1, 3, 2]> (k_scaled)\n"
                   "products = MatMul (q_scaled, k_turned)\n",
                   c->q, c->k);
}

/* ── Attention: what is hidden ───────────────────────────────────────────────────────────────── */

/* Keys more than `most` after the place of a query, or less than `least`, are hidden. The limits of
 * int64_t: there is no such bound. */
static void get_bounds(const call *c, int64_t *least, int64_t *most) {
    int64_t left = -1, right = -1;
    if (c->op->since >= 25) {
        left = onx_op_int(c->op, c->node, "left_window_size");
        right = onx_op_int(c->op, c->node, "right_window_size");
    }
    *least = left >= 0 ? -left : INT64_MIN;
    *most = onx_op_int(c->op, c->node, "is_causal") == 1 ? 0 : right >= 0 ? right : INT64_MAX;
}

/* `distance`: how far each key is after the place of each query. Places count from the beginning of
 * the past; in a cache outside, from the end of what is valid of it. */
static void put_distance(const call *c) {
    onx_buf_printf(c->out,
                   "q_len = Shape <start = 2, end = 3> (%s)\n"
                   "q_size = Squeeze (q_len)\n"
                   "row = Range (zero, q_size, one)\n"
                   "last = Constant <value_ints = [-1]> ()\n"
                   "rows = Unsqueeze (row, last)\n",
                   c->q);
    if (has(c, 4))
        put(c, "before = Shape <start = 2, end = 3> (past_key)\n"
               "places = Add (rows, before)\n");
    else if (has(c, 6))
        put(c, "before = Sub (valid, q_len)\n"
               "places = Add (rows, before)\n");
    onx_buf_printf(c->out, "distance = Sub (columns, %s)\n",
                   has(c, 4) || has(c, 6) ? "places" : "rows");
}

/* `hidden`: which keys a query does not see, by their places; false: it sees all. */
static bool put_hidden(const call *c) {
    int64_t least, most;
    get_bounds(c, &least, &most);
    bool after = most != INT64_MAX, before = least != INT64_MIN, padded = has(c, 6);
    if (!after && !before && !padded) return false;
    onx_buf_printf(c->out,
                   "zero = Constant <value_int = 0> ()\n"
                   "one = Constant <value_int = 1> ()\n"
                   "k_len = Shape <start = 2, end = 3> (%s)\n"
                   "k_size = Squeeze (k_len)\n"
                   "columns = Range (zero, k_size, one)\n",
                   c->k);
    if (padded)
        put(c, "inner = Constant <value_ints = [1, 2, 3]> ()\n"
               "valid = Unsqueeze (nonpad_kv_seqlen, inner)\n");
    if (after || before) put_distance(c);
    if (after)
        onx_buf_printf(c->out,
                       "most = Constant <value_int = %lld> ()\n"
                       "after = Greater (distance, most)\n",
                       (long long)most);
    if (before)
        onx_buf_printf(c->out,
                       "least = Constant <value_int = %lld> ()\n"
                       "before_window = Less (distance, least)\n",
                       (long long)least);
    const char *bounds = after && before ? "outside" : after ? "after" : "before_window";
    if (after && before) put(c, "outside = Or (after, before_window)\n");
    if (padded) put(c, "padding = GreaterOrEqual (columns, valid)\n");
    if (padded && (after || before))
        onx_buf_printf(c->out, "hidden = Or (%s, padding)\n", bounds);
    else
        onx_buf_printf(c->out, "hidden = Identity (%s)\n", padded ? "padding" : bounds);
    return true;
}

/* `mask`: attn_mask as what is added to the scores. From version 24 on, it may be shorter than the
 * keys, of which it then hides the rest. */
static void put_mask(const call *c) {
    bool is_bool = fact_of(c, 3)->dtype == ONX_DTYPE_BOOL;
    const char *given = "attn_mask", *rest = is_bool ? "no" : "never";
    if (!is_bool) {
        put(c, "mask_t = CastLike (attn_mask, Q)\n");
        given = "mask_t";
    }
    if (c->op->since >= 24) {
        if (is_bool) put(c, "no = Constant <value = bool {0}> ()\n");
        onx_buf_printf(c->out,
                       "all_len = Shape <start = 2, end = 3> (%s)\n"
                       "mask_len = Shape <start = -1> (attn_mask)\n"
                       "missing = Sub (all_len, mask_len)\n"
                       "none = Constant <value_ints = [0]> ()\n"
                       "ends = Concat <axis = 0> (none, missing)\n"
                       "end = Constant <value_ints = [-1]> ()\n"
                       "mask_long = Pad (%s, ends, %s, end)\n",
                       c->k, given, rest);
        given = "mask_long";
    }
    onx_buf_printf(
        c->out, is_bool ? "mask = Where (%s, nothing, never)\n" : "mask = Identity (%s)\n", given);
}

/* `bias`, of what is hidden and of the mask; false: there is none. */
static bool put_bias(const call *c) {
    bool masked = has(c, 3);
    bool hides = put_hidden(c);
    if (!masked && !hides) return false;
    put(c, "nothing_f = Constant <value_float = 0.0> ()\n"
           "never_f = Constant <value_float = -inf> ()\n"
           "nothing = CastLike (nothing_f, Q)\n"
           "never = CastLike (never_f, Q)\n");
    if (masked) put_mask(c);
    if (hides) put(c, "places_bias = Where (hidden, never, nothing)\n");
    put(c, masked && hides ? "bias = Add (mask, places_bias)\n"
           : masked        ? "bias = Identity (mask)\n"
                           : "bias = Identity (places_bias)\n");
    return true;
}

/* ── Attention ───────────────────────────────────────────────────────────────────────────────── */

/* Query, key and value of rank 4, with what was there before; and the present. */
static void put_inputs(call *c, bool flat) {
    if (flat) {
        int64_t q = onx_op_int(c->op, c->node, "q_num_heads");
        int64_t kv = onx_op_int(c->op, c->node, "kv_num_heads");
        put_split(c, 0, "Q", "query", q);
        put_split(c, 1, "K", "key", kv);
        put_split(c, 2, "V", "value", kv);
        c->q = "query", c->k = "key", c->v = "value";
    }
    if (has(c, 4)) {
        onx_buf_printf(c->out,
                       "keys = Concat <axis = 2> (past_key, %s)\n"
                       "values = Concat <axis = 2> (past_value, %s)\n",
                       c->k, c->v);
        c->k = "keys", c->v = "values";
    }
    if (onx_node_output(c->node, 1)) onx_buf_printf(c->out, "present_key = Identity (%s)\n", c->k);
    if (onx_node_output(c->node, 2))
        onx_buf_printf(c->out, "present_value = Identity (%s)\n", c->v);
}

/* From products to chances; the names of the stages are those that qk_matmul_output can show. */
static void put_chances(const call *c, bool biased, const char *stages[4]) {
    const char *at = stages[0] = "products";
    if (onx_op_float(c->op, c->node, "softcap") != 0.0f) {
        put(c, "cap_f = Constant <value_float: float = @softcap> ()\n"
               "cap = CastLike (cap_f, Q)\n"
               "part = Div (products, cap)\n"
               "bent = Tanh (part)\n"
               "capped = Mul (bent, cap)\n");
        at = "capped";
    }
    stages[1] = at;
    if (biased) {
        onx_buf_printf(c->out, "scores = Add (%s, bias)\n", at);
        at = "scores";
    }
    stages[2] = at;
    if (onx_op_has(c->node, "softmax_precision"))
        onx_buf_printf(c->out,
                       "scores_p = Cast <to: int = @softmax_precision> (%s)\n"
                       "chances_p = Softmax (scores_p)\n"
                       "chances = CastLike (chances_p, Q)\n",
                       at);
    else
        onx_buf_printf(c->out, "chances = Softmax (%s)\n", at);
    stages[3] = "chances";
    if (!biased) return;
    /* a query that sees nothing has no chances at all, rather than such that are no numbers */
    put(c, "row_axis = Constant <value_ints = [-1]> ()\n"
           "best = ReduceMax (bias, row_axis)\n"
           "blind = Equal (best, never)\n"
           "seen = Where (blind, nothing, chances)\n");
    stages[3] = "seen";
}

static void put_result(const call *c, bool flat, const char *chances) {
    onx_dtype q = fact_of(c, 0)->dtype, v = fact_of(c, 2)->dtype;
    const char *value = c->v;
    if (q && v && q != v) {
        onx_buf_printf(c->out, "v_t = CastLike (%s, Q)\n", value);
        value = "v_t";
    }
    onx_buf_printf(c->out, "%s = MatMul (%s, %s)\n", flat ? "y" : "Y", chances, value);
    if (!flat) return;
    int64_t hidden = size_of(c, 2, 3, 2), kv = onx_op_int(c->op, c->node, "kv_num_heads"), width;
    bool known = hidden >= 0 && hidden % kv == 0 &&
                 onx_mul_i64(hidden / kv, onx_op_int(c->op, c->node, "q_num_heads"), &width);
    onx_buf_printf(c->out,
                   "y_turned = Transpose <perm = [0, 2, 1, 3]> (y)\n"
                   "y_shape = Constant <value_ints = [0, 0, %lld]> ()\n"
                   "Y = Reshape (y_turned, y_shape)\n",
                   known ? (long long)width : -1);
}

onx_status onx_attention_body(const onx_op *op, const onx_node *node, size_t n_in,
                              const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    call c = {op, node, n_in, ins, "Q", "K", "V", out};
    int64_t q = onx_op_int(op, node, "q_num_heads"), kv = onx_op_int(op, node, "kv_num_heads");
    const onx_fact *query = fact_of(&c, 0);
    bool flat = query->ranked ? query->rank == 3 : q > 0;
    if (flat && (q < 1 || kv < 1))
        return onx_fail(diag, ONX_NOT_FOUND, "Attention of rank 3 needs q_num_heads, kv_num_heads");
    if (has(&c, 3) && !fact_of(&c, 3)->dtype)
        return onx_fail(diag, ONX_NOT_FOUND, "the type of attn_mask is not known");
    if (!flat) q = size_of(&c, 0, 4, 1), kv = size_of(&c, 1, 4, 1);
    const char *stages[4];
    put_inputs(&c, flat);
    bool biased = put_bias(&c);
    put_groups(&c, q >= 0 && q == kv);
    put_products(&c);
    put_chances(&c, biased, stages);
    if (onx_node_output(node, 3)) {
        int64_t mode = onx_op_int(op, node, "qk_matmul_output_mode");
        onx_buf_printf(out, "qk_matmul_output = Identity (%s)\n",
                       stages[mode >= 0 && mode < 4 ? mode : 0]);
    }
    put_result(&c, flat, stages[3]);
    return ONX_OK;
}

/* ── FlexAttention ───────────────────────────────────────────────────────────────────────────── */

/* A graph that changes `from`, run once: as the body of a Scan over one element. */
static const char *put_modifier(const call *c, const char *name, const char *from, const char *to) {
    if (!onx_op_has(c->node, name)) return from;
    onx_buf_printf(c->out,
                   "%s_one = Unsqueeze (%s, first)\n"
                   "%s_done = Scan <body: graph = @%s, num_scan_inputs = 1> (%s_one)\n"
                   "%s = Squeeze (%s_done, first)\n",
                   to, from, to, name, to, to, to);
    return to;
}

onx_status onx_flex_attention_body(const onx_op *op, const onx_node *node, size_t n_in,
                                   const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    call c = {op, node, n_in, ins, "Q", "K", "V", out};
    onx_dtype dtype = fact_of(&c, 0)->dtype, precision = onx_flex_precision(op, node, dtype);
    int64_t opset = onx_op_opset(node), q = size_of(&c, 0, 4, 1);
    if (!dtype || !precision)
        return onx_fail(diag, ONX_NOT_FOUND,
                        "the type of the inputs of FlexAttention is not known");
    /* the graphs in its attributes mean the opset of the model */
    onx_buf_printf(out, "<%lld>\n", (long long)(opset < 18 ? 18 : opset));
    put_groups(&c, q >= 0 && q == size_of(&c, 1, 4, 1));
    put_products(&c);
    onx_buf_printf(out,
                   "first = Constant <value_ints = [0]> ()\n"
                   "scores = Cast <to = %d> (products)\n",
                   (int)precision);
    onx_buf_printf(out, "chances = Softmax (%s)\n",
                   put_modifier(&c, "score_mod", "scores", "changed"));
    const char *chances = put_modifier(&c, "prob_mod", "chances", "weights");
    if (precision == dtype) {
        onx_buf_printf(out, "Y = MatMul (%s, %s)\n", chances, c.v);
        return ONX_OK;
    }
    onx_buf_printf(out,
                   "v_p = Cast <to = %d> (%s)\n"
                   "y_p = MatMul (%s, v_p)\n"
                   "Y = Cast <to = %d> (y_p)\n",
                   (int)precision, c.v, chances, (int)dtype);
    return ONX_OK;
}
