/* branch.c: an If whose condition is constant makes way for the nodes of the branch it takes. Where
 * those have graphs inside it is left alone: so the innermost go first. */
#include "pass/pass.h"

/* What values of the branch are outside; others are outside already. */
typedef struct moving {
    onx_pass_ctx *ctx;
    onx_node *node;
    onx_map values;
} moving;

static const onx_graph *branch_of(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_tensor *condition = onx_pass_constant(ctx, onx_node_input(node, 0));
    uint64_t count;
    uint8_t taken;
    if (!condition || onx_tensor_dtype(condition) != ONX_DTYPE_BOOL ||
        onx_tensor_count(condition, &count, NULL) || count != 1 ||
        onx_tensor_read(condition, &taken, 1, NULL))
        return NULL;
    const onx_attr *attr = onx_node_attr(node, taken ? "then_branch" : "else_branch");
    return attr ? attr->g : NULL;
}

static bool is_flat(const onx_graph *graph) {
    if (graph->first_sub || graph->sparse_initializer.count) return false;
    ONX_EACH (onx_node, node, graph->node)
        for (size_t i = 0; i < node->output.n; i++)
            if (!onx_node_output(node, i)) return false;
    return true;
}

static onx_status know(moving *m, const onx_value *inside, onx_value *outside) {
    if (!outside || !onx_map_put(&m->values, inside, (onx_str){0}, outside))
        return onx_fail_nomem(m->ctx->diag);
    return onx_pass_inherit(m->ctx, outside, inside);
}

static onx_value *moved(const moving *m, onx_value *value) {
    onx_value *outside = value ? onx_map_get(&m->values, value, (onx_str){0}) : NULL;
    return outside ? outside : value;
}

/* "Relu", or "com.microsoft::Gelu"; NULL: no memory. */
static const char *op_of(const moving *m, const onx_node *node) {
    static const char between[] = "::";
    size_t n = node->domain.size;
    if (!n) return onx_node_op(node);
    char *text = onx_arena_alloc(&m->ctx->arena, n + node->op_type.size + sizeof between);
    if (!text) return NULL;
    memcpy(text, node->domain.data, n);
    memcpy(text + n, between, 2);
    memcpy(text + n + 2, node->op_type.data, node->op_type.size);
    text[n + 2 + node->op_type.size] = '\0';
    return text;
}

static onx_status move_node(moving *m, const onx_node *node) {
    onx_pass_ctx *ctx = m->ctx;
    onx_graph *to = m->node->graph;
    size_t n_in = node->input.n, n_out = node->output.n;
    onx_value **in = onx_arena_array(&ctx->arena, n_in, sizeof *in);
    const char **out = onx_arena_array(&ctx->arena, n_out, sizeof *out);
    const char *op = op_of(m, node);
    if (!in || !out || !op) return onx_fail_nomem(ctx->diag);
    for (size_t i = 0; i < n_in; i++) in[i] = moved(m, onx_node_input(node, i));
    for (size_t i = 0; i < n_out; i++)
        if (!(out[i] = onx_graph_new_name(to, onx_value_name(onx_node_output(node, i)))))
            return onx_fail_nomem(ctx->diag);
    onx_node *made = onx_graph_add_node(to, op, n_in, in, n_out, out);
    if (!made || onx_node_move(made, m->node) ||
        (node->name.size && onx_node_set_name(made, onx_node_name(node))) ||
        (node->overload.size && onx_node_set_overload(made, onx_node_overload(node))))
        return onx_fail_nomem(ctx->diag);
    ONX_TRY(onx_pass_copy_attrs(ctx, made, node));
    for (size_t i = 0; i < n_out; i++)
        ONX_TRY(know(m, onx_node_output(node, i), onx_node_output(made, i)));
    return ONX_OK;
}

static onx_status move_constants(moving *m, const onx_graph *branch) {
    onx_graph *to = m->node->graph;
    ONX_EACH (onx_tensor, tensor, branch->initializer) {
        const onx_value *value = tensor->ref ? tensor->ref->value : NULL;
        const char *name = value ? onx_graph_new_name(to, onx_value_name(value)) : NULL;
        if (!value) continue;
        ONX_TRY(know(m, value, name ? onx_graph_add_tensor(to, name, tensor) : NULL));
    }
    return ONX_OK;
}

/* The results of the If are those of the branch; a single one that must keep its name is a copy. */
static onx_status take_results(moving *m, const onx_graph *branch) {
    for (size_t i = 0; i < m->node->output.n; i++) {
        onx_value *y = onx_node_output(m->node, i), *x = moved(m, onx_graph_output(branch, i));
        bool done = false;
        if (!y) continue;
        if (onx_pass_can_replace(m->ctx, y, x)) ONX_TRY(onx_pass_replace(m->ctx, y, x, &done));
        if (done) continue;
        return m->node->output.n == 1 ? onx_pass_remake(m->ctx, m->node, "Identity", 1, &x)
                                      : ONX_OK; /* it goes on as it was */
    }
    return onx_pass_remove(m->ctx, m->node);
}

/* Can the results take the place of those of the If? */
static bool can_take(const onx_pass_ctx *ctx, const onx_node *node, const onx_graph *branch) {
    if (onx_graph_output_count(branch) != node->output.n) return false;
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *y = onx_node_output(node, i), *x = onx_graph_output(branch, i);
        bool held = y && onx_pass_held(ctx, y) && node->output.n > 1;
        bool defined = x && (x->graph != branch || x->def || x->init);
        if (y && (held || !defined)) return false;
    }
    return true;
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    const onx_graph *branch = onx_pass_named(ctx, node, "If") ? branch_of(ctx, node) : NULL;
    if (!branch || !is_flat(branch) || !can_take(ctx, node, branch)) return ONX_OK;
    if (branch->initializer.count && !onx_pass_takes_constants(node->graph)) return ONX_OK;
    moving m = {.ctx = ctx, .node = node};
    onx_map_init(&m.values, ctx->arena.ctx);
    onx_status status = move_constants(&m, branch);
    for (const onx_node *n = onx_graph_node_first(branch); n && !status; n = onx_node_next(n))
        status = move_node(&m, n);
    if (!status) status = take_results(&m, branch);
    onx_map_fini(&m.values);
    return status;
}

extern onx_pass_fn onx_pass_branch;
onx_status onx_pass_branch(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(ctx, node));
    }
    return ONX_OK;
}
