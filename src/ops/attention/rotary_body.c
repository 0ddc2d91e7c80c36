/* rotary_body.c: RotaryEmbedding as a function: its body, for one call. */
#include "ops/attention/attention.h"

/* `x1` and `x2` from `from`: its halves, or what alternates in it. */
static void put_pairs(onx_buf *out, const char *from, bool alternate) {
    onx_buf_printf(out,
                   alternate ? "pairs_shape = Constant <value_ints = [0, 0, 0, -1, 2]> ()\n"
                               "pairs = Reshape (%s, pairs_shape)\n"
                               "x1_one, x2_one = Split <axis = -1, num_outputs = 2> (pairs)\n"
                               "x1 = Squeeze (x1_one, last)\n"
                               "x2 = Squeeze (x2_one, last)\n"
                             : "x1, x2 = Split <axis = -1, num_outputs = 2> (%s)\n",
                   from);
}

/* `to` from the pairs that were turned. */
static void put_joined(onx_buf *out, const char *from, const char *to, bool alternate) {
    if (!alternate) {
        onx_buf_printf(out, "%s = Concat <axis = -1> (real, imaginary)\n", to);
        return;
    }
    onx_buf_printf(out,
                   "real_one = Unsqueeze (real, last)\n"
                   "imaginary_one = Unsqueeze (imaginary, last)\n"
                   "both = Concat <axis = -1> (real_one, imaginary_one)\n"
                   "part_shape = Shape (%s)\n"
                   "%s = Reshape (both, part_shape)\n",
                   from, to);
}

static void put_angles(onx_buf *out, bool flat, bool placed) {
    const char *cosines = "cos_cache", *sines = "sin_cache";
    if (placed) {
        onx_buf_puts(out, "cos_here = Gather (cos_cache, position_ids)\n"
                          "sin_here = Gather (sin_cache, position_ids)\n");
        cosines = "cos_here", sines = "sin_here";
    }
    onx_buf_printf(out,
                   "heads_axis = Constant <value_ints = [%d]> ()\n"
                   "cosine = Unsqueeze (%s, heads_axis)\n"
                   "sine = Unsqueeze (%s, heads_axis)\n",
                   flat ? 2 : 1, cosines, sines);
}

onx_status onx_rotary_body(const onx_op *op, const onx_node *node, size_t n_in,
                           const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    int64_t turned = onx_op_int(op, node, "rotary_embedding_dim");
    int64_t heads = onx_op_int(op, node, "num_heads");
    bool alternate = onx_op_int(op, node, "interleaved") != 0;
    if (!n_in || !ins[0]->ranked || (ins[0]->rank == 3 && heads < 1) || turned < 0)
        return onx_fail(diag, ONX_NOT_FOUND, "the rank of X is not known, or num_heads is missing");
    /* [batch, length, heads * size], else [batch, heads, length, size] */
    bool flat = ins[0]->rank == 3;
    onx_buf_puts(out, "last = Constant <value_ints = [-1]> ()\n");
    if (flat)
        onx_buf_printf(out,
                       "split = Constant <value_ints = [0, 0, %lld, -1]> ()\n"
                       "x = Reshape (X, split)\n",
                       (long long)heads);
    const char *whole = flat ? "x" : "X", *part = turned ? "part" : whole;
    if (turned)
        onx_buf_printf(out,
                       "begin = Constant <value_ints = [0]> ()\n"
                       "until = Constant <value_ints = [%lld]> ()\n"
                       "end = Constant <value_ints = [9223372036854775807]> ()\n"
                       "part = Slice (%s, begin, until, last)\n"
                       "rest = Slice (%s, until, end, last)\n",
                       (long long)turned, whole, whole);
    put_angles(out, flat, onx_node_input(node, 3) != NULL);
    put_pairs(out, part, alternate);
    onx_buf_puts(out, "x1_cos = Mul (x1, cosine)\n"
                      "x2_sin = Mul (x2, sine)\n"
                      "real = Sub (x1_cos, x2_sin)\n"
                      "x1_sin = Mul (x1, sine)\n"
                      "x2_cos = Mul (x2, cosine)\n"
                      "imaginary = Add (x1_sin, x2_cos)\n");
    const char *result = flat ? "y" : "Y";
    put_joined(out, part, turned ? "turned" : result, alternate);
    if (turned) onx_buf_printf(out, "%s = Concat <axis = -1> (turned, rest)\n", result);
    if (flat)
        onx_buf_puts(out, "x_shape = Shape (X)\n"
                          "Y = Reshape (y, x_shape)\n");
    return ONX_OK;
}
