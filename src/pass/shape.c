/* shape.c: integers that inference knows become constants: sizes, and what is computed from them.
 * The nodes that computed them go, or are left without users. */
#include "pass/pass.h"

/* Nobody has a shape of more dimensions. */
enum { MAX_ELEMS = ONX_RANK_MAX * 4 };

static bool known_elems(const onx_fact *fact, int64_t *elems) {
    if (fact->kind != ONX_TYPE_TENSOR || !fact->ranked || fact->rank > 1) return false;
    if (!fact->elems || fact->n_elems > MAX_ELEMS) return false;
    for (size_t i = 0; i < fact->n_elems; i++)
        if (!fact->elems[i] || !onx_sym_is_int(fact->elems[i], &elems[i])) return false;
    return true;
}

/* The tensor, if its type has room for the elements; else NULL. */
static onx_status make_tensor(const onx_pass_ctx *ctx, const onx_fact *fact, const int64_t *elems,
                              onx_tensor **out) {
    int64_t data[MAX_ELEMS] = {0}, back[MAX_ELEMS] = {0};
    int64_t dim = (int64_t)fact->n_elems;
    size_t bytes;
    if (fact->dtype == ONX_DTYPE_STRING || !onx_dtype_bytes(fact->dtype, fact->n_elems, &bytes) ||
        bytes > sizeof data ||
        onx_dtype_convert(ONX_DTYPE_I64, elems, fact->dtype, data, fact->n_elems, true) ||
        onx_dtype_convert(fact->dtype, data, ONX_DTYPE_I64, back, fact->n_elems, true) ||
        memcmp(elems, back, fact->n_elems * sizeof *elems) != 0)
        return ONX_OK;
    return onx_tensor_new(ctx->model->msg.doc->ctx, NULL, fact->dtype, fact->rank, &dim, data,
                          bytes, out, ctx->diag);
}

/* Is every output that somebody wants known? Then `tensors` has them. */
static onx_status know_outputs(const onx_pass_ctx *ctx, const onx_node *node, onx_tensor **tensors,
                               bool *known) {
    size_t n_known = 0;
    *known = false;
    for (size_t i = 0; i < node->output.n; i++) {
        int64_t elems[MAX_ELEMS];
        const onx_value *value = onx_node_output(node, i);
        if (!value || (!value->n_uses && !onx_pass_held(ctx, value))) continue;
        const onx_fact *fact = onx_pass_fact(ctx, value);
        if (!known_elems(fact, elems)) return ONX_OK;
        ONX_TRY(make_tensor(ctx, fact, elems, &tensors[i]));
        if (!tensors[i]) return ONX_OK;
        n_known++;
    }
    *known = n_known > 0;
    return ONX_OK;
}

static onx_status resolve(onx_pass_ctx *ctx, onx_node *node) {
    bool known;
    size_t n = node->output.n;
    onx_tensor **tensors = onx_arena_array(&ctx->arena, n, sizeof(onx_tensor *));
    if (!tensors) return onx_fail_nomem(ctx->diag);
    onx_status status = know_outputs(ctx, node, tensors, &known);
    if (!status && known) status = onx_pass_become(ctx, node, (const onx_tensor *const *)tensors);
    for (size_t i = 0; i < n; i++) onx_tensor_free(tensors[i]);
    return status;
}

extern onx_pass_fn onx_pass_shape;
onx_status onx_pass_shape(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        if (onx_pass_pure(onx_pass_op(ctx, node), node)) ONX_TRY(resolve(ctx, node));
    }
    return ONX_OK;
}
