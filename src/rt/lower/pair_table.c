/* pair_table.c: what is done to bytes one by one is a table of 256:
 *
 *     Q(f(g(DQ(x))))        onx.internal::QTable(x, table)
 *
 * for functions of one number, computed by their own kernels: the same results. */
#include "rt/lower/pairs.h"

enum { DEEPEST = 6 };

/* Is it a function of each element of input 0, its other inputs being constants? */
static bool is_function(const onx_pass_ctx *ctx, const onx_node *node) {
    static const char *const names[] = {
        "Abs",       "Celu",        "Clip",      "Elu",  "Erf",   "Exp",  "Gelu",
        "HardSwish", "HardSigmoid", "LeakyRelu", "Mish", "Neg",   "Relu", "Selu",
        "Sigmoid",   "Softplus",    "Softsign",  "Sqrt", "Swish", "Tanh", "ThresholdedRelu",
    };
    const onx_op *op = onx_pass_op(ctx, node);
    bool found = false;
    for (size_t i = 0; i < ONX_COUNT(names) && !found; i++) found = onx_pass_is(op, names[i]);
    for (size_t i = 1; i < node->input.n && found; i++)
        found = !onx_node_input(node, i) || onx_pass_constant(ctx, onx_node_input(node, i));
    return found && node->output.n == 1;
}

/* The nodes from q up to, and with, a DequantizeLinear; 0: there is more than functions. */
static size_t find_chain(const onx_pass_ctx *ctx, const onx_coded *q, onx_node *chain[],
                         onx_coded *from) {
    const onx_value *value = q->x;
    size_t index;
    chain[0] = q->node;
    for (size_t n = 1; n < DEEPEST && value; n++) {
        bool last = onx_coded_of(ctx, value, from);
        if (last && (!from->single || from->dtype == ONX_DTYPE_I32)) return 0;
        chain[n] = value->def;
        if (last) return n + 1;
        if (!chain[n] || !is_function(ctx, chain[n]) ||
            onx_pass_only_use(ctx, value, &index) != chain[n - 1])
            return 0;
        value = onx_node_input(chain[n], 0);
    }
    return 0;
}

/* The node's result from `x`, which is freed. */
static onx_status apply(onx_pass_ctx *ctx, const onx_node *node, onx_tensor **x) {
    const onx_tensor *in[4];
    onx_tensor *out = NULL;
    onx_status status = node->input.n <= ONX_COUNT(in) ? ONX_OK : ONX_UNSUPPORTED;
    for (size_t i = 0; i < node->input.n && !status; i++)
        in[i] = i ? onx_pass_constant(ctx, onx_node_input(node, i)) : *x;
    if (!status) status = ctx->eval(ctx->user, node, node->input.n, in, 1, &out);
    onx_tensor_free(*x);
    *x = out;
    return status;
}

static onx_status make_table(onx_pass_ctx *ctx, onx_node *const *chain, size_t n, onx_dtype dtype,
                             onx_tensor **out) {
    uint8_t all[256];
    for (size_t i = 0; i < sizeof all; i++) all[i] = (uint8_t)i;
    onx_status status = onx_tensor_new(ctx->arena.ctx, NULL, dtype, 1, (int64_t[]){256}, all,
                                       sizeof all, out, NULL);
    while (n-- > 0 && !status) status = apply(ctx, chain[n], out);
    return status;
}

onx_status onx_pairs_table(onx_pass_ctx *ctx, const onx_coded *q, bool *done) {
    onx_node *chain[DEEPEST];
    onx_coded from;
    onx_tensor *table = NULL;
    size_t n = find_chain(ctx, q, chain, &from);
    if (!n || !ctx->eval || !onx_lower_has(ctx, "QTable") || onx_pass_constant(ctx, from.x))
        return ONX_OK;
    onx_status status = make_table(ctx, chain, n, from.dtype, &table);
    if (status) {
        onx_tensor_free(table);
        bool stop = status == ONX_NO_MEMORY || status == ONX_CANCELLED;
        return stop ? onx_fail(ctx->diag, status, "a table could not be computed") : ONX_OK;
    }
    const char *name = onx_graph_new_name(q->node->graph, "table");
    onx_value *in[] = {from.x, name ? onx_graph_add_tensor(q->node->graph, name, table) : NULL};
    onx_tensor_free(table);
    if (!in[1]) return onx_fail_nomem(ctx->diag);
    *done = true;
    ONX_TRY(onx_pass_remake(ctx, q->node, ONX_INTERNAL "::QTable", 2, in));
    for (size_t i = 1; i + 1 < n; i++) ONX_TRY(onx_pass_remove(ctx, chain[i]));
    return ONX_OK;
}
