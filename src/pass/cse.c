/* cse.c: a node that computes what one before it in the same graph has computed makes way for it.
 * Small constants are the same when their elements are. */
#include "base/io.h"
#include "pass/pass.h"

enum {
    MAX_KEY = 4096,     /* attributes that are larger are not compared */
    MAX_CONSTANT = 64,  /* bytes of a small constant */
    MAX_CONST_RANK = 4, /* and its rank */
};

static void put_str(onx_buf *key, onx_str s) {
    onx_buf_put(key, &s.size, sizeof s.size);
    onx_buf_put(key, s.data, s.size);
}

static void put_input(const onx_pass_ctx *ctx, onx_buf *key, const onx_value *value) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    char data[MAX_CONSTANT];
    size_t bytes;
    bool small = t && onx_tensor_rank(t) <= MAX_CONST_RANK && !onx_tensor_bytes(t, &bytes, NULL) &&
                 bytes <= sizeof data && onx_tensor_read(t, data, bytes, NULL) == ONX_OK;
    onx_buf_putc(key, small ? 'c' : 'v');
    if (!small) {
        onx_buf_put(key, &value, sizeof value);
        return;
    }
    onx_dtype dtype = onx_tensor_dtype(t);
    onx_buf_put(key, &dtype, sizeof dtype);
    put_str(key, (onx_str){(const char *)onx_tensor_dims(t), onx_tensor_rank(t) * sizeof(int64_t)});
    put_str(key, (onx_str){data, bytes});
}

/* Operator, inputs, attributes: what two nodes must have in common. False: it is too long. */
static onx_status make_key(const onx_pass_ctx *ctx, const onx_node *node, onx_buf *key,
                           bool *fits) {
    onx_diag *diag = ctx->diag;
    onx_writer writer = onx_buf_writer(key);
    key->size = 0;
    *fits = false;
    put_str(key, node->op_type);
    put_str(key, node->domain);
    put_str(key, node->overload);
    onx_buf_put(key, &node->input.n, sizeof node->input.n);
    for (size_t i = 0; i < node->input.n; i++) put_input(ctx, key, onx_node_input(node, i));
    ONX_EACH (onx_attr, a, node->attribute) {
        uint64_t size;
        ONX_TRY(onx_wire_size(a, &size, diag));
        if (size > MAX_KEY) return ONX_OK;
        onx_buf_put(key, &size, sizeof size);
        onx_status status = onx_wire_encode(a, &writer, diag);
        if (status && !key->failed) return status;
    }
    *fits = true;
    return key->failed ? onx_fail_nomem(diag) : ONX_OK;
}

/* Has `first` all outputs that anybody wants of `node`, and are those free to go? */
static bool can_merge(const onx_pass_ctx *ctx, const onx_node *node, const onx_node *first) {
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *out = onx_node_output(node, i);
        if (!out) continue;
        if (onx_pass_held(ctx, out) || (out->n_uses && !onx_node_output(first, i))) return false;
    }
    return true;
}

static onx_status merge(onx_pass_ctx *ctx, onx_node *node, onx_node *first) {
    bool all = true;
    for (size_t i = 0; i < node->output.n; i++) {
        onx_value *from = onx_node_output(node, i), *to = onx_node_output(first, i);
        bool done = true;
        if (from && to) ONX_TRY(onx_pass_replace(ctx, from, to, &done));
        all = all && done;
    }
    return all ? onx_pass_remove(ctx, node) : ONX_OK;
}

static onx_status visit(onx_pass_ctx *ctx, onx_map *seen, onx_buf *key, onx_node *node) {
    bool fits;
    onx_str name = {0};
    if (!onx_pass_pure(onx_pass_op(ctx, node), node)) return ONX_OK;
    ONX_TRY(make_key(ctx, node, key, &fits));
    if (!fits) return ONX_OK;
    onx_str probe = {key->data, key->size};
    onx_node *first = onx_map_get(seen, NULL, probe);
    if (first) return can_merge(ctx, node, first) ? merge(ctx, node, first) : ONX_OK;
    bool put = onx_arena_str(&ctx->arena, probe, &name) && onx_map_put(seen, NULL, name, node);
    return put ? ONX_OK : onx_fail_nomem(ctx->diag);
}

extern onx_pass_fn onx_pass_cse;
onx_status onx_pass_cse(onx_pass_ctx *ctx, onx_graph *graph) {
    onx_map seen;
    onx_buf key;
    onx_status status = ONX_OK;
    onx_map_init(&seen, ctx->arena.ctx);
    onx_buf_init(&key, ctx->arena.ctx);
    for (onx_node *node = onx_graph_node_first(graph), *next; node && !status; node = next) {
        next = onx_node_next(node);
        status = visit(ctx, &seen, &key, node);
    }
    onx_buf_fini(&key);
    onx_map_fini(&seen);
    return status;
}
