/* linear_body.c: LinearAttention and CausalConvWithState as functions: their bodies, for one call
 * each. */
#include "ops/attention/attention.h"

/* ── LinearAttention ─────────────────────────────────────────────────────────────────────────── */

/* Input `from` as [length, batch, heads, size], for a Scan along its length. */
static void put_steps(onx_buf *out, const char *from, const char *shape) {
    onx_buf_printf(out,
                   "%s_parts = Reshape (%s, %s)\n"
                   "%s_steps = Transpose <perm = [1, 0, 2, 3]> (%s_parts)\n",
                   from, from, shape, from, from);
}

static void put_linear_inputs(onx_buf *out, int64_t heads, int64_t kv_heads, bool decays,
                              bool corrects) {
    onx_buf_printf(out,
                   "q_shape = Constant <value_ints = [0, 0, %lld, -1]> ()\n"
                   "kv_shape = Constant <value_ints = [0, 0, %lld, -1]> ()\n",
                   (long long)heads, (long long)kv_heads);
    put_steps(out, "query", "q_shape");
    put_steps(out, "key", "kv_shape");
    put_steps(out, "value", "kv_shape");
    if (decays) put_steps(out, "decay", "kv_shape");
    if (!corrects) return;
    onx_buf_puts(out, "beta_shape = Constant <value_ints = [0, 0, -1, 1]> ()\n");
    put_steps(out, "beta", "beta_shape");
}

/* The state at the beginning, and the scale, both in float. */
static void put_linear_start(onx_buf *out, const onx_op *op, const onx_node *node,
                             int64_t kv_heads) {
    onx_buf_printf(out,
                   "kv_heads = Constant <value_ints = [%lld]> ()\n"
                   "k_size = Shape <start = 3> (key_parts)\n"
                   "v_size = Shape <start = 3> (value_parts)\n"
                   "batch = Shape <start = 0, end = 1> (query)\n",
                   (long long)kv_heads);
    onx_buf_puts(out, onx_node_input(node, 3)
                          ? "start = Cast <to = 1> (past_state)\n"
                          : "state_shape = Concat <axis = 0> (batch, kv_heads, k_size, v_size)\n"
                            "start = ConstantOfShape (state_shape)\n");
    onx_buf_puts(out, onx_op_float(op, node, "scale") != 0.0f
                          ? "scale_f = Constant <value_float: float = @scale> ()\n"
                          : "size_f = Cast <to = 1> (k_size)\n"
                            "size_root = Sqrt (size_f)\n"
                            "scale_f = Reciprocal (size_root)\n");
}

/* One step: the state fades, takes up what the key does not yet lead to, and is asked. Query heads
 * that share a state ask it together. */
static void put_linear_step(onx_buf *out, bool decays, bool corrects, int64_t heads,
                            int64_t kv_heads) {
    onx_buf_puts(out, "last = Constant <value_ints = [-1]> ()\n"
                      "row = Constant <value_ints = [-2]> ()\n"
                      "q_f = Cast <to = 1> (q)\n"
                      "k_f = Cast <to = 1> (k)\n"
                      "v_f = Cast <to = 1> (v)\n"
                      "k_column = Unsqueeze (k_f, last)\n"
                      "v_row = Unsqueeze (v_f, row)\n");
    if (decays)
        onx_buf_puts(out, "d_f = Cast <to = 1> (d)\n"
                          "fade = Exp (d_f)\n"
                          "fade_column = Unsqueeze (fade, last)\n"
                          "kept = Mul (state, fade_column)\n");
    const char *kept = decays ? "kept" : "state";
    if (corrects)
        onx_buf_printf(out,
                       "b_f = Cast <to = 1> (b)\n"
                       "rate = Unsqueeze (b_f, last)\n"
                       "k_row = Unsqueeze (k_f, row)\n"
                       "known = MatMul (k_row, %s)\n"
                       "news = Sub (v_row, known)\n"
                       "written = Mul (rate, news)\n",
                       kept);
    onx_buf_printf(out,
                   "outer = MatMul (k_column, %s)\n"
                   "next = Add (%s, outer)\n"
                   "groups = Constant <value_ints = [0, %lld, %lld, -1]> ()\n"
                   "q_groups = Reshape (q_f, groups)\n"
                   "answers = MatMul (q_groups, next)\n"
                   "heads = Constant <value_ints = [0, %lld, -1]> ()\n"
                   "answer = Reshape (answers, heads)\n"
                   "scaled = Mul (answer, scale_f)\n"
                   "o = CastLike (scaled, q)\n",
                   corrects ? "written" : "v_row", kept, (long long)kv_heads,
                   (long long)(heads / kv_heads), (long long)heads);
}

onx_status onx_linear_attention_body(const onx_op *op, const onx_node *node, size_t n_in,
                                     const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    int64_t heads = onx_op_int(op, node, "q_num_heads");
    int64_t kv_heads = onx_op_int(op, node, "kv_num_heads");
    bool decays = onx_node_input(node, 4) != NULL, corrects = onx_node_input(node, 5) != NULL;
    (void)n_in, (void)ins;
    if (heads < 1 || kv_heads < 1 || heads % kv_heads)
        return onx_fail(diag, ONX_NOT_FOUND, "q_num_heads is not a multiple of kv_num_heads");
    put_linear_inputs(out, heads, kv_heads, decays, corrects);
    put_linear_start(out, op, node, kv_heads);
    onx_buf_printf(out,
                   "end, steps = Scan <num_scan_inputs = %d, body = step (state, q, k, v%s%s) => "
                   "(next, o) {\n",
                   3 + decays + corrects, decays ? ", d" : "", corrects ? ", b" : "");
    put_linear_step(out, decays, corrects, heads, kv_heads);
    onx_buf_printf(out, "}> (start, query_steps, key_steps, value_steps%s%s)\n",
                   decays ? ", decay_steps" : "", corrects ? ", beta_steps" : "");
    onx_buf_printf(out,
                   "parts = Transpose <perm = [1, 0, 2, 3]> (steps)\n"
                   "joined = Constant <value_ints = [0, 0, -1]> ()\n"
                   "output = Reshape (parts, joined)\n"
                   "present_state = CastLike (end, %s)\n",
                   onx_node_input(node, 3) ? "past_state" : "query");
    return ONX_OK;
}

/* ── CausalConvWithState ─────────────────────────────────────────────────────────────────────── */

/* The number of channels, which Conv needs to know; -1: nothing tells it. */
static int64_t channels_of(size_t n_in, const onx_fact *const *ins) {
    int64_t n;
    for (size_t i = 0; i < 2 && i < n_in; i++)
        if (ins[i]->ranked && ins[i]->rank == 3 && onx_sym_is_int(ins[i]->dims[!i], &n)) return n;
    return -1;
}

onx_status onx_causal_conv_body(const onx_op *op, const onx_node *node, size_t n_in,
                                const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    bool activates = !onx_str_is(onx_op_string(op, node, "activation"), "none");
    int64_t channels = channels_of(n_in, ins);
    if (channels < 0) return onx_fail(diag, ONX_NOT_FOUND, "the number of channels is not known");
    if (!onx_node_input(node, 3))
        onx_buf_puts(out, "kernel = Shape <start = 2, end = 3> (weight)\n"
                          "one = Constant <value_ints = [1]> ()\n"
                          "before = Sub (kernel, one)\n"
                          "planes = Shape <start = 0, end = 2> (input)\n"
                          "zeros_shape = Concat <axis = 0> (planes, before)\n"
                          "zeros_f = ConstantOfShape (zeros_shape)\n"
                          "zeros = CastLike (zeros_f, input)\n");
    onx_buf_printf(out,
                   "all = Concat <axis = 2> (%s, input)\n"
                   "%s = Conv <group = %lld> (all, weight%s)\n",
                   onx_node_input(node, 3) ? "past_state" : "zeros", activates ? "sums" : "output",
                   (long long)channels, onx_node_input(node, 2) ? ", bias" : "");
    if (activates)
        onx_buf_puts(out, "sums_f = Cast <to = 1> (sums)\n"
                          "gate = Sigmoid (sums_f)\n"
                          "output_f = Mul (sums_f, gate)\n"
                          "output = CastLike (output_f, input)\n");
    onx_buf_puts(out, "length = Shape <start = 2, end = 3> (input)\n"
                      "end = Shape <start = 2, end = 3> (all)\n"
                      "axis = Constant <value_ints = [2]> ()\n"
                      "present_state = Slice (all, length, end, axis)\n");
    return ONX_OK;
}
