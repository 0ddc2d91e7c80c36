/* fold_eval.c: constant folding with the kernels of a provider. */
#include "rt/eval.h"
#include "rt/lower/lower.h"

typedef struct evaluation {
    onx_context *ctx;
    size_t n_in, n_out;
    onx_operand *in, *out, **in_at, **out_at;
    bool *copied;
} evaluation;

static bool make_room(evaluation *e, onx_arena *arena) {
    return (e->in = onx_arena_array(arena, e->n_in, sizeof(onx_operand))) &&
           (e->out = onx_arena_array(arena, e->n_out, sizeof(onx_operand))) &&
           (e->in_at = onx_arena_array(arena, e->n_in, sizeof(onx_operand *))) &&
           (e->out_at = onx_arena_array(arena, e->n_out, sizeof(onx_operand *))) &&
           (e->copied = onx_arena_array(arena, e->n_in, sizeof(bool)));
}

static onx_status compute(evaluation *e, const onx_provider *provider, const onx_node *node,
                          const onx_tensor *const *in) {
    for (size_t i = 0; i < e->n_in; i++) {
        if (!in[i]) continue;
        ONX_TRY(onx_operand_of_tensor(e->ctx, in[i], &e->in[i], &e->copied[i], NULL));
        e->in[i].constant = true;
        e->in_at[i] = &e->in[i];
    }
    for (size_t i = 0; i < e->n_out; i++)
        if (onx_node_output(node, i)) e->out_at[i] = &e->out[i];
    return onx_eval_node(e->ctx, provider, node, e->n_in, e->in_at, e->n_out, e->out_at, NULL,
                         NULL);
}

static onx_status to_tensors(const evaluation *e, onx_tensor **out) {
    for (size_t i = 0; i < e->n_out; i++) {
        const onx_operand *value = e->out_at[i];
        if (!value) continue;
        if (value->object || value->kind != ONX_TYPE_TENSOR) return ONX_UNSUPPORTED;
        ONX_TRY(onx_tensor_new(e->ctx, NULL, (onx_dtype)value->dtype, value->rank, value->dims,
                               value->data, value->bytes, &out[i], NULL));
    }
    return ONX_OK;
}

onx_status onx_lower_eval(onx_context *ctx, const onx_provider *provider, const onx_node *node,
                          size_t n_in, const onx_tensor *const *in, size_t n_out,
                          onx_tensor **out) {
    evaluation e = {.ctx = ctx, .n_in = n_in, .n_out = n_out};
    onx_arena arena;
    onx_arena_init(&arena, ctx);
    bool room = make_room(&e, &arena);
    onx_status status = room ? compute(&e, provider, node, in) : ONX_NO_MEMORY;
    for (size_t i = 0; i < n_out; i++) out[i] = NULL;
    if (!status) status = to_tensors(&e, out);
    for (size_t i = 0; i < n_in && room; i++)
        if (e.copied[i]) onx_eval_clear(ctx, &e.in[i]);
    for (size_t i = 0; i < n_out && room; i++) onx_eval_clear(ctx, &e.out[i]);
    for (size_t i = 0; i < n_out && status; i++) {
        onx_tensor_free(out[i]);
        out[i] = NULL;
    }
    onx_arena_fini(&arena);
    return status;
}
