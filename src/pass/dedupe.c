/* dedupe.c: initializers of one graph with the same bytes become one. Candidates are found by type,
 * shape and their first bytes, so that large weights are read only where they are probably the
 * same. */
#include "pass/pass.h"

enum { SAMPLE = 64 };

static bool is_free(const onx_pass_ctx *ctx, const onx_value *value) {
    return value && value->init && !value->input && !value->dead && !onx_pass_held(ctx, value);
}

/* Type, shape, and the first bytes. */
static void make_key(const onx_tensor *tensor, onx_str bytes, onx_buf *key) {
    onx_dtype dtype = onx_tensor_dtype(tensor);
    key->size = 0;
    onx_buf_put(key, &dtype, sizeof dtype);
    onx_buf_put(key, onx_tensor_dims(tensor), onx_tensor_rank(tensor) * sizeof(int64_t));
    onx_buf_put(key, bytes.data, bytes.size < SAMPLE ? bytes.size : SAMPLE);
}

static onx_status visit(onx_pass_ctx *ctx, onx_map *seen, onx_buf *key, onx_tensor *tensor) {
    onx_value *value = tensor->ref ? tensor->ref->value : NULL;
    onx_str bytes = is_free(ctx, value) ? onx_tensor_view(tensor) : (onx_str){NULL, 0}, name;
    bool done;
    if (!bytes.data) return ONX_OK;
    make_key(tensor, bytes, key);
    if (key->failed) return onx_fail_nomem(ctx->diag);
    onx_str probe = {key->data, key->size};
    onx_value *first = onx_map_get(seen, NULL, probe);
    if (!first) {
        bool put = onx_arena_str(&ctx->arena, probe, &name) && onx_map_put(seen, NULL, name, value);
        return put ? ONX_OK : onx_fail_nomem(ctx->diag);
    }
    onx_str other = onx_tensor_view(first->init);
    if (other.data != bytes.data && !onx_str_eq(other, bytes)) return ONX_OK;
    ONX_TRY(onx_pass_replace(ctx, value, first, &done));
    ctx->touched += done;
    return ONX_OK;
}

extern onx_pass_fn onx_pass_dedupe;
onx_status onx_pass_dedupe(onx_pass_ctx *ctx, onx_graph *graph) {
    onx_map seen;
    onx_buf key;
    onx_status status = ONX_OK;
    onx_map_init(&seen, ctx->arena.ctx);
    onx_buf_init(&key, ctx->arena.ctx);
    for (onx_tensor *t = onx_graph_initializer_first(graph); t && !status; t = onx_tensor_next(t))
        status = visit(ctx, &seen, &key, t);
    onx_buf_fini(&key);
    onx_map_fini(&seen);
    return status;
}
