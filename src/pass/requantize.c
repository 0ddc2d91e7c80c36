/* requantize.c: what is dequantized and quantized again in the same way is what it was: with b
 * bits, ((q - z) * s) / s is off by less than 2^(b - 22), and rounds back to q - z. Scales must be
 * normal numbers, and of float32. */
#include "pass/pass.h"

#include <math.h>

static void *bytes_of(onx_pass_ctx *ctx, const onx_tensor *tensor, size_t bytes) {
    void *data = onx_arena_alloc(&ctx->arena, bytes);
    return data && !onx_tensor_read(tensor, data, bytes, NULL) ? data : NULL;
}

/* The same constant tensors, byte by byte. */
static bool same_constant(onx_pass_ctx *ctx, const onx_value *a, const onx_value *b) {
    size_t bytes;
    const onx_tensor *x = onx_pass_constant(ctx, a), *y = onx_pass_constant(ctx, b);
    if (!x || !y || onx_tensor_dtype(x) != onx_tensor_dtype(y)) return false;
    if (onx_tensor_rank(x) != onx_tensor_rank(y)) return false;
    for (size_t i = 0; i < onx_tensor_rank(x); i++)
        if (onx_tensor_dim(x, i) != onx_tensor_dim(y, i)) return false;
    if (a == b || onx_tensor_bytes(x, &bytes, NULL)) return a == b;
    const void *in = bytes_of(ctx, x, bytes), *on = bytes_of(ctx, y, bytes);
    return in && on && memcmp(in, on, bytes) == 0;
}

static bool is_normal(onx_pass_ctx *ctx, const onx_value *scale) {
    const onx_tensor *t = onx_pass_constant(ctx, scale);
    uint64_t count;
    size_t bytes;
    if (!t || onx_tensor_dtype(t) != ONX_DTYPE_F32 || onx_tensor_count(t, &count, NULL) ||
        onx_tensor_bytes(t, &bytes, NULL))
        return false;
    const float *values = bytes_of(ctx, t, bytes);
    for (uint64_t i = 0; values && i < count; i++)
        if (!(values[i] > 0x1p-100f && values[i] < 0x1p100f)) return false;
    return values != NULL;
}

static bool same_setting(const onx_op *a, const onx_node *x, const onx_op *b, const onx_node *y) {
    return onx_op_int(a, x, "axis") == onx_op_int(b, y, "axis") &&
           onx_op_int(a, x, "block_size") == onx_op_int(b, y, "block_size");
}

static bool undoes(onx_pass_ctx *ctx, const onx_node *quantize, const onx_node *dequantize) {
    const onx_op *q = onx_pass_op(ctx, quantize), *d = onx_pass_op(ctx, dequantize);
    const onx_value *z = onx_node_input(quantize, 2), *was = onx_node_input(dequantize, 2);
    const onx_fact *in = onx_pass_fact(ctx, onx_node_input(dequantize, 0));
    const onx_fact *middle = onx_pass_fact(ctx, onx_node_input(quantize, 0));
    const onx_fact *out = onx_pass_fact(ctx, onx_node_output(quantize, 0));
    if (!onx_pass_is(q, "QuantizeLinear") || !onx_pass_is(d, "DequantizeLinear")) return false;
    if (!onx_pass_same_type(in, out) || !same_setting(q, quantize, d, dequantize)) return false;
    if (middle->dtype != ONX_DTYPE_F32 || onx_op_has(quantize, "precision")) return false;
    if (in->dtype != ONX_DTYPE_I8 && in->dtype != ONX_DTYPE_U8 && in->dtype != ONX_DTYPE_I16 &&
        in->dtype != ONX_DTYPE_U16)
        return false;
    if ((z || was) && (!z || !was || !same_constant(ctx, z, was))) return false;
    return same_constant(ctx, onx_node_input(quantize, 1), onx_node_input(dequantize, 1)) &&
           is_normal(ctx, onx_node_input(quantize, 1));
}

extern onx_pass_fn onx_pass_requantize;
onx_status onx_pass_requantize(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        const onx_value *x = onx_node_input(node, 0);
        onx_value *y = onx_node_output(node, 0);
        const onx_node *before = x ? x->def : NULL;
        bool done = false;
        if (!before || before->graph != graph || !undoes(ctx, node, before)) continue;
        onx_value *was = onx_node_input(before, 0);
        if (onx_pass_can_replace(ctx, y, was)) ONX_TRY(onx_pass_replace(ctx, y, was, &done));
        if (done) ONX_TRY(onx_pass_remove(ctx, node));
    }
    return ONX_OK;
}
