/* pair_table.c: what is done to bytes one by one is a table of 256:
 *
 *     Q(f(DQ(x)))                         onx.internal::QTable(x, table)
 *     Q(f(DQ(x), g(DQ(x)), number))       also with several ways from x, through tables that were
 *     QLinearMul(x, …, QTable(x), …)      made before
 *
 * for functions of numbers, computed by their own kernels: the same results. */
#include "rt/lower/pairs.h"

enum { NODES = 12, ROUNDS = NODES };

/* The nodes between x and the result, the last one first. */
typedef struct group {
    onx_pass_ctx *ctx;
    size_t n;
    onx_node *nodes[NODES];
    onx_tensor *results[NODES]; /* for each byte of x */
    onx_value *x;
    onx_tensor *all; /* bytes, if x is seen as it is */
    size_t rank;     /* of the constants, at most */
} group;

static bool is_named(const onx_op *op, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(op->name, names[i]) == 0) return true;
    return false;
}

/* Is each element of its result a function of the elements at the same place? */
static bool is_function(const onx_pass_ctx *ctx, const onx_node *node) {
    static const char *const one[] = {
        "Abs",       "Celu",        "Clip",      "Elu",  "Erf",   "Exp",  "Gelu",
        "HardSwish", "HardSigmoid", "LeakyRelu", "Mish", "Neg",   "Relu", "Selu",
        "Sigmoid",   "Softplus",    "Softsign",  "Sqrt", "Swish", "Tanh", "ThresholdedRelu",
    };
    static const char *const two[] = {"Add", "Div", "Mul", "Pow", "Sub"};
    const onx_op *op = onx_pass_op(ctx, node);
    if (!op || op->domain || node->output.n != 1) return false;
    return is_named(op, one, ONX_COUNT(one)) ||
           (op->since >= 7 && is_named(op, two, ONX_COUNT(two)));
}

bool onx_pairs_maps_bytes(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_op *op = onx_pass_op(ctx, node);
    return onx_pass_is_microsoft(op, "QLinearAdd") || onx_pass_is_microsoft(op, "QLinearMul") ||
           onx_pass_is_microsoft(op, "QLinearSigmoid");
}

static bool takes_bytes(const group *g, const onx_node *node) {
    return onx_pass_named(g->ctx, node, "DequantizeLinear") || onx_pairs_maps_bytes(g->ctx, node);
}

static size_t find(const group *g, const onx_node *node) {
    size_t i = 0;
    while (i < g->n && g->nodes[i] != node) i++;
    return i;
}

/* ─ Finding ──────────────────────────────────────────────────────────────────────────────────── */

static const onx_tensor *table_of(const group *g, const onx_value *value) {
    const onx_node *node = value->def;
    bool is_table = node && onx_lower_is(node, "QTable");
    return is_table ? onx_pass_constant(g->ctx, onx_node_input(node, 1)) : NULL;
}

/* Bytes must be those of x, or looked up by them. */
static bool add_bytes(group *g, onx_value *value) {
    onx_value *x = table_of(g, value) ? onx_node_input(value->def, 0) : value;
    if (!g->x) g->x = x;
    return g->x == x;
}

static bool add_node(group *g, const onx_value *value) {
    onx_node *node = value->def;
    onx_coded c;
    if (!node || node->graph != g->nodes[0]->graph) return false;
    if (find(g, node) < g->n) return true;
    bool bytes = onx_coded_of(g->ctx, value, &c) && c.single && c.dtype != ONX_DTYPE_I32;
    if (g->n == NODES || (!bytes && !is_function(g->ctx, node))) return false;
    g->nodes[g->n++] = node;
    return true;
}

static bool add_constant(group *g, const onx_tensor *t) {
    uint64_t count;
    size_t rank = onx_tensor_rank(t);
    if (rank > g->rank) g->rank = rank;
    return rank < 2 && !onx_tensor_count(t, &count, NULL) && count == 1;
}

/* Does nobody else see what is between? */
static bool is_closed(const group *g) {
    for (size_t i = 1; i < g->n; i++) {
        const onx_value *out = onx_node_output(g->nodes[i], 0);
        onx_use use = {0};
        if (takes_bytes(g, g->nodes[i])) continue;
        while (onx_value_use_next(out, &use))
            if (!use.node || find(g, use.node) == g->n) return false;
        if (onx_pass_held(g->ctx, out)) return false;
    }
    return true;
}

static bool collect(group *g) {
    for (size_t i = 0; i < g->n; i++) {
        const onx_node *node = g->nodes[i];
        bool bytes = takes_bytes(g, node);
        for (size_t k = 0; k < node->input.n; k++) {
            onx_value *value = onx_node_input(node, k);
            const onx_tensor *t = onx_pass_constant(g->ctx, value);
            if (!value) continue;
            if (t ? !add_constant(g, t) : bytes ? !add_bytes(g, value) : !add_node(g, value))
                return false;
        }
    }
    const onx_fact *fact = g->x ? onx_pass_fact(g->ctx, g->x) : NULL;
    return fact && (!g->rank || (fact->ranked && fact->rank >= g->rank)) && is_closed(g);
}

/* ─ Computing ────────────────────────────────────────────────────────────────────────────────── */

static const onx_tensor *known(const group *g, bool bytes, const onx_value *value) {
    const onx_tensor *t = onx_pass_constant(g->ctx, value);
    if (t || !bytes) return t ? t : g->results[find(g, value->def)];
    return value == g->x ? g->all : table_of(g, value);
}

/* The node's result, if all of its operands are known. */
static onx_status compute(group *g, size_t at) {
    enum { INPUTS = 8 };
    const onx_node *node = g->nodes[at];
    const onx_tensor *in[INPUTS];
    bool bytes = takes_bytes(g, node);
    if (node->input.n > INPUTS) return ONX_UNSUPPORTED;
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        in[i] = value ? known(g, bytes, value) : NULL;
        if (value && !in[i]) return ONX_OK;
    }
    return g->ctx->eval(g->ctx->user, node, node->input.n, in, 1, &g->results[at]);
}

static bool is_table(const onx_tensor *t) {
    onx_dtype dtype = t ? onx_tensor_dtype(t) : ONX_DTYPE_NONE;
    return (dtype == ONX_DTYPE_U8 || dtype == ONX_DTYPE_I8) && onx_tensor_rank(t) == 1 &&
           onx_tensor_dim(t, 0) == 256;
}

static onx_status compute_all(group *g) {
    uint8_t all[256];
    onx_dtype dtype = (onx_dtype)onx_pass_fact(g->ctx, g->x)->dtype;
    for (size_t i = 0; i < sizeof all; i++) all[i] = (uint8_t)i;
    onx_status status = onx_tensor_new(g->ctx->arena.ctx, NULL, dtype, 1, (int64_t[]){256}, all,
                                       sizeof all, &g->all, NULL);
    for (int round = 0; round < ROUNDS && !g->results[0]; round++)
        for (size_t i = g->n; i-- > 0 && !status;)
            if (!g->results[i]) status = compute(g, i);
    return !status && !is_table(g->results[0]) ? ONX_UNSUPPORTED : status;
}

static onx_status become_table(group *g) {
    onx_node *node = g->nodes[0];
    const char *name = onx_graph_new_name(node->graph, "table");
    onx_value *table = name ? onx_graph_add_tensor(node->graph, name, g->results[0]) : NULL;
    if (!table) return onx_fail_nomem(g->ctx->diag);
    return onx_pass_remake(g->ctx, node, ONX_INTERNAL "::QTable", 2, (onx_value *[]){g->x, table});
}

onx_status onx_pairs_table(onx_pass_ctx *ctx, onx_node *node, bool *done) {
    group g = {.ctx = ctx, .n = 1, .nodes = {node}};
    if (!ctx->eval || !onx_lower_has(ctx, "QTable") || !collect(&g)) return ONX_OK;
    onx_status status = compute_all(&g);
    *done = !status;
    if (status == ONX_NO_MEMORY || status == ONX_CANCELLED)
        status = onx_fail(ctx->diag, status, "a table could not be computed");
    else
        status = status ? ONX_OK : become_table(&g);
    for (size_t i = 0; i < g.n; i++) onx_tensor_free(g.results[i]);
    onx_tensor_free(g.all);
    return status;
}
