/* views.c: nodes that only change the shape: one in place of several, and with constants for their
 * shapes, so that what computed those is not needed.
 *
 * A constant shape says "0" for a size that stays in its place and "-1" for one that is left over;
 * both at once would be wrong where a size turns out to be 0, and are not used together. */
#include "pass/pass.h"

enum { MAX_CHAIN = 16 };

static bool is_ranked(const onx_fact *fact) {
    return fact->kind == ONX_TYPE_TENSOR && fact->ranked && fact->rank <= ONX_RANK_MAX;
}

static bool is_one(const onx_sym *size) {
    int64_t n;
    return size && onx_sym_is_int(size, &n) && n == 1;
}

/* Does it only move dimensions of size 1? */
static bool moves_ones(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_fact *in = onx_pass_fact(ctx, onx_node_input(node, 0));
    size_t n = 0, last = 0;
    const int64_t *perm = onx_op_ints(node, "perm", &n);
    if (!perm || !is_ranked(in) || in->rank != n) return false;
    for (size_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= (int64_t)n) return false;
        if (is_one(in->dims[perm[i]])) continue;
        if ((size_t)perm[i] < last) return false;
        last = (size_t)perm[i];
    }
    return true;
}

static bool is_view(const onx_pass_ctx *ctx, const onx_node *node) {
    static const char *const names[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (onx_pass_named(ctx, node, names[i])) return true;
    return onx_pass_named(ctx, node, "Transpose") && moves_ones(ctx, node);
}

/* What the chain of such nodes that ends in `node` shows. */
static onx_value *root_of(const onx_pass_ctx *ctx, const onx_node *node) {
    onx_value *x = onx_node_input(node, 0);
    for (int i = 0; i < MAX_CHAIN && x && x->def && x->def->graph == node->graph; i++) {
        if (!is_view(ctx, x->def)) break;
        x = onx_node_input(x->def, 0);
    }
    return x;
}

/* The shape of `out` for a Reshape of `in`; false: constants cannot say it. */
static bool write_shape(const onx_fact *in, const onx_fact *out, int64_t *shape) {
    size_t kept = 0, open = 0;
    for (size_t i = 0; i < out->rank; i++) {
        const onx_sym *size = out->dims[i];
        bool stays = size && i < in->rank && in->dims[i] == size;
        if (!size) return false;
        if (onx_sym_is_int(size, &shape[i])) {
            if (shape[i] < 1) return false;
            continue;
        }
        shape[i] = stays ? 0 : -1;
        kept += stays;
        open += !stays;
    }
    return open == 0 || (open == 1 && kept == 0);
}

static onx_status reshape(onx_pass_ctx *ctx, onx_node *node, onx_value *root) {
    const onx_fact *in = onx_pass_fact(ctx, root);
    const onx_fact *out = onx_pass_fact(ctx, onx_node_output(node, 0));
    onx_value *constant, *value = onx_node_output(node, 0);
    int64_t shape[ONX_RANK_MAX];
    bool done = false;
    if (!is_ranked(in) || !is_ranked(out)) return ONX_OK;
    if (onx_pass_same_shape(in, out) && onx_pass_can_replace(ctx, value, root)) {
        ONX_TRY(onx_pass_replace(ctx, value, root, &done));
        return done ? onx_pass_remove(ctx, node) : ONX_OK;
    }
    if (!onx_pass_takes_constants(node->graph) || !write_shape(in, out, shape)) return ONX_OK;
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "shape", out->rank, shape, &constant));
    return onx_pass_remake(ctx, node, "Reshape", 2, (onx_value *const[]){root, constant});
}

static onx_status visit_view(onx_pass_ctx *ctx, onx_node *node) {
    onx_value *root = root_of(ctx, node), *shape = onx_node_input(node, 1);
    bool computed = onx_pass_named(ctx, node, "Reshape") && !onx_pass_constant(ctx, shape);
    bool turned = onx_pass_named(ctx, node, "Transpose");
    if (!root || (root == onx_node_input(node, 0) && !computed && !turned)) return ONX_OK;
    return reshape(ctx, node, root);
}

/* A size that stays is 1 in the shape of an Expand. */
static onx_status visit_expand(onx_pass_ctx *ctx, onx_node *node) {
    const onx_fact *in = onx_pass_fact(ctx, onx_node_input(node, 0));
    const onx_fact *out = onx_pass_fact(ctx, onx_node_output(node, 0));
    int64_t shape[ONX_RANK_MAX];
    onx_value *constant;
    if (onx_pass_constant(ctx, onx_node_input(node, 1)) || !is_ranked(in) || !is_ranked(out))
        return ONX_OK;
    if (in->rank > out->rank || !onx_pass_takes_constants(node->graph)) return ONX_OK;
    for (size_t i = 0, shift = out->rank - in->rank; i < out->rank; i++) {
        bool stays = i >= shift && out->dims[i] && in->dims[i - shift] == out->dims[i];
        if (stays)
            shape[i] = 1;
        else if (!out->dims[i] || !onx_sym_is_int(out->dims[i], &shape[i]))
            return ONX_OK;
    }
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "shape", out->rank, shape, &constant));
    ctx->changes++, ctx->touched++;
    return onx_node_set_input(node, 1, constant, ctx->diag);
}

extern onx_pass_fn onx_pass_views;
onx_status onx_pass_views(onx_pass_ctx *ctx, onx_graph *graph) {
    if (onx_model_opset(ctx->model, "") < 5) return ONX_OK; /* shapes were attributes */
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        if (is_view(ctx, node))
            ONX_TRY(visit_view(ctx, node));
        else if (onx_pass_named(ctx, node, "Expand"))
            ONX_TRY(visit_expand(ctx, node));
    }
    return ONX_OK;
}
