/* rewrite.c: what passes ask about values and nodes, and the changes they make. */
#include "ir/edit.h"
#include "pass/pass.h"

/* ─ Values ───────────────────────────────────────────────────────────────────────────────────── */

const onx_fact *onx_pass_fact(const onx_pass_ctx *ctx, const onx_value *value) {
    static const onx_fact nothing;
    const onx_value *from = value ? onx_map_get(&ctx->inherits, value, (onx_str){0}) : NULL;
    const onx_fact *fact =
        ctx->facts && value ? onx_facts_of(ctx->facts, from ? from : value) : NULL;
    return fact ? fact : &nothing;
}

onx_status onx_pass_inherit(onx_pass_ctx *ctx, const onx_value *value, const onx_value *from) {
    const onx_value *root = onx_map_get(&ctx->inherits, from, (onx_str){0});
    bool put =
        onx_map_put(&ctx->inherits, value, (onx_str){0}, (void *)(uintptr_t)(root ? root : from));
    return put ? ONX_OK : onx_fail_nomem(ctx->diag);
}

bool onx_pass_same_shape(const onx_fact *a, const onx_fact *b) {
    if (a->kind != ONX_TYPE_TENSOR || b->kind != ONX_TYPE_TENSOR) return false;
    if (!a->ranked || !b->ranked || a->rank != b->rank) return false;
    for (size_t i = 0; i < a->rank; i++)
        if (!a->dims[i] || a->dims[i] != b->dims[i]) return false;
    return true;
}

bool onx_pass_same_type(const onx_fact *a, const onx_fact *b) {
    return a->kind == ONX_TYPE_TENSOR && b->kind == ONX_TYPE_TENSOR && a->dtype == b->dtype &&
           a->dtype != ONX_DTYPE_NONE;
}

const onx_tensor *onx_pass_constant(const onx_pass_ctx *ctx, const onx_value *value) {
    if (!value || value->dead || value->sparse) return NULL;
    if (value->init && !value->input) return value->init;
    return onx_pass_fact(ctx, value)->constant;
}

/* Is it an output, or asked for by name? */
static bool is_asked(const onx_pass_ctx *ctx, const onx_value *value) {
    return onx_value_is_output(value) || (ctx->pinned && ctx->pinned(ctx->user, value));
}

bool onx_pass_held(const onx_pass_ctx *ctx, const onx_value *value) {
    if (is_asked(ctx, value)) return true;
    for (const onx_ref *r = value->first; r; r = r->next) {
        if (r->kind == ONX_REF_OTHER) return true;
        if (r->kind == ONX_REF_INPUT && ((onx_node *)r->owner)->graph != value->graph) return true;
        if (r->kind == ONX_REF_INFO && onx_ref_is_use(r))
            return true; /* output of a graph inside */
    }
    return false;
}

onx_node *onx_pass_only_use(const onx_pass_ctx *ctx, const onx_value *value, size_t *index) {
    onx_use use = {0};
    if (!value || value->n_uses != 1 || onx_pass_held(ctx, value)) return NULL;
    onx_value_use_next(value, &use);
    *index = use.index;
    return use.node;
}

onx_status onx_pass_replace(onx_pass_ctx *ctx, onx_value *from, onx_value *to, bool *done) {
    onx_status status = onx_value_replace(from, to, NULL);
    if (status == ONX_NO_MEMORY) return onx_fail_nomem(ctx->diag);
    *done = status == ONX_OK;
    ctx->changes += *done;
    return ONX_OK;
}

bool onx_pass_can_replace(const onx_pass_ctx *ctx, const onx_value *from, const onx_value *to) {
    if (!from || !to || from == to) return false;
    if (!onx_pass_held(ctx, from)) return true;
    bool only_output = onx_value_is_output(from) && !(ctx->pinned && ctx->pinned(ctx->user, from));
    for (const onx_ref *r = from->first; r; r = r->next)
        if (r->kind == ONX_REF_OTHER) return false;
    return only_output && to->def && to->graph == from->graph && !onx_pass_held(ctx, to);
}

/* ─ Nodes ────────────────────────────────────────────────────────────────────────────────────── */

static bool is_function(const onx_pass_ctx *ctx, const onx_node *node) {
    return ctx->model->functions.count &&
           onx_model_function_find(ctx->model, onx_node_domain(node), onx_node_op(node),
                                   onx_node_overload(node));
}

bool onx_pass_named(const onx_pass_ctx *ctx, const onx_node *node, const char *name) {
    return onx_str_is(node->op_type, name) && onx_domain_plain(node->domain).size == 0 &&
           !is_function(ctx, node);
}

const onx_op *onx_pass_op(const onx_pass_ctx *ctx, const onx_node *node) {
    onx_map *rows = (onx_map *)(uintptr_t)&ctx->rows; /* a memory of what was found */
    return is_function(ctx, node) ? NULL : onx_op_recall(rows, node);
}

bool onx_pass_is(const onx_op *op, const char *name) {
    return op && !op->domain && strcmp(op->name, name) == 0;
}

bool onx_pass_is_microsoft(const onx_op *op, const char *name) {
    return op && op->domain && strcmp(op->domain, "com.microsoft") == 0 &&
           strcmp(op->name, name) == 0;
}

bool onx_pass_pure(const onx_op *op, const onx_node *node) {
    static const char *const random[] = {
        "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
        "Multinomial",  "Bernoulli",        "Dropout",
    };
    if (!op || op->varies) return false;
    for (size_t i = 0; i < ONX_COUNT(random); i++)
        if (onx_pass_is(op, random[i])) return false;
    ONX_EACH (onx_attr, a, node->attribute)
        if (a->g || a->graphs.count || a->ref_attr_name.size) return false;
    return true;
}

onx_status onx_pass_remove(onx_pass_ctx *ctx, onx_node *node) {
    ONX_TRY(onx_node_remove(node, ctx->diag));
    ctx->changes++, ctx->touched++;
    return ONX_OK;
}

onx_status onx_pass_remake(onx_pass_ctx *ctx, onx_node *node, const char *op, size_t n_in,
                           onx_value *const *in) {
    while (node->attribute.first) onx_attr_leave((onx_attr *)node->attribute.first);
    if (onx_node_set_op(node, op)) return onx_fail_nomem(ctx->diag);
    for (size_t i = 0; i < n_in; i++) ONX_TRY(onx_node_set_input(node, i, in[i], ctx->diag));
    while (node->input.n > n_in) ONX_TRY(onx_node_remove_input(node, node->input.n - 1));
    ctx->changes++, ctx->touched++;
    return ONX_OK;
}

onx_status onx_pass_copy_attrs(onx_pass_ctx *ctx, onx_node *to, const onx_node *from) {
    ONX_EACH (const onx_attr, a, from->attribute)
        if (*onx_str_z(a->name)) ONX_TRY(onx_node_set_attr(to, a, ctx->diag));
    return ONX_OK;
}

const char *onx_pass_pick(onx_pass_ctx *ctx, const char *internal, int64_t since) {
    static const char domain[] = "onx.internal";
    const char *name = internal + strlen(domain) + strlen("::");
    if (onx_model_opset(ctx->model, "") >= since) return name;
    bool has = ctx->has_kernel && ctx->has_kernel(ctx->user, name);
    return has && onx_model_set_opset(ctx->model, domain, 1) == ONX_OK ? internal : NULL;
}

/* ─ Constants in place of nodes ──────────────────────────────────────────────────────────────── */

bool onx_pass_afford(onx_pass_ctx *ctx, size_t bytes) {
    if (bytes > ctx->growth) return false;
    ctx->growth -= bytes;
    return true;
}

bool onx_pass_takes_constants(const onx_graph *graph) {
    return !graph->function && graph->model->ir_version >= 4;
}

/* Do notes name it, that would go with it? Or is its name defined twice? */
static bool is_tied(const onx_pass_ctx *ctx, const onx_value *value) {
    (void)ctx;
    for (const onx_ref *r = value->first; r; r = r->next)
        if (r->kind == ONX_REF_OTHER) return true;
    return onx_value_lookup(value->graph, value->name) != value;
}

static bool any_output(const onx_pass_ctx *ctx, const onx_node *node,
                       bool (*is)(const onx_pass_ctx *ctx, const onx_value *value)) {
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *value = onx_node_output(node, i);
        if (value && is(ctx, value)) return true;
    }
    return false;
}

/* The initializer has another name until the node that has its name is gone. */
static onx_status add_initializer(onx_pass_ctx *ctx, onx_value *value, const onx_tensor *tensor,
                                  onx_value **out) {
    onx_graph *graph = value->graph;
    const char *name = onx_graph_new_name(graph, onx_str_z(value->name));
    onx_value *init = name ? onx_graph_add_tensor(graph, name, tensor) : NULL;
    if (!init) return onx_fail_nomem(ctx->diag);
    *out = init;
    return onx_value_replace(value, init, ctx->diag);
}

static onx_status to_initializers(onx_pass_ctx *ctx, onx_node *node,
                                  const onx_tensor *const *tensors) {
    size_t n = node->output.n;
    onx_value **inits = onx_arena_array(&ctx->arena, n, sizeof(onx_value *));
    onx_str *names = onx_arena_array(&ctx->arena, n, sizeof(onx_str));
    if (!inits || !names) return onx_fail_nomem(ctx->diag);
    for (size_t i = 0; i < n; i++) {
        onx_value *value = onx_node_output(node, i);
        if (!value || !tensors[i]) continue;
        names[i] = value->name;
        ONX_TRY(add_initializer(ctx, value, tensors[i], &inits[i]));
    }
    ONX_TRY(onx_pass_remove(ctx, node));
    for (size_t i = 0; i < n; i++) { /* the name may be taken by another definition of it */
        onx_status status =
            inits[i] ? onx_value_rename(inits[i], onx_str_z(names[i]), NULL) : ONX_OK;
        if (status == ONX_NO_MEMORY) return onx_fail_nomem(ctx->diag);
    }
    return ONX_OK;
}

/* All that a Constant holds before version 9. */
static bool holds_float(const onx_tensor *tensor) {
    onx_dtype dtype = onx_tensor_dtype(tensor);
    return dtype == ONX_DTYPE_F32 || dtype == ONX_DTYPE_F16 || dtype == ONX_DTYPE_F64;
}

onx_status onx_pass_become(onx_pass_ctx *ctx, onx_node *node, const onx_tensor *const *tensors) {
    if (any_output(ctx, node, is_tied)) return ONX_OK;
    if (onx_pass_takes_constants(node->graph) && !any_output(ctx, node, is_asked))
        return to_initializers(ctx, node, tensors);
    bool is_constant = onx_str_is(node->op_type, "Constant");
    if (node->output.n != 1 || !tensors[0] || is_constant) return ONX_OK;
    if (onx_model_opset(ctx->model, "") < 9 && !holds_float(tensors[0])) return ONX_OK;
    ONX_TRY(onx_pass_remake(ctx, node, "Constant", 0, NULL));
    return onx_node_set_tensor(node, "value", tensors[0]) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

onx_status onx_pass_add_floats(onx_pass_ctx *ctx, onx_graph *graph, const char *hint, size_t rank,
                               const int64_t *dims, const float *data, onx_value **out) {
    size_t bytes = sizeof *data;
    for (size_t i = 0; i < rank; i++) bytes *= (size_t)dims[i];
    const char *name = onx_graph_new_name(graph, hint);
    *out = name ? onx_graph_add_initializer(graph, name, ONX_DTYPE_F32, rank, dims, data, bytes)
                : NULL;
    return *out ? ONX_OK : onx_fail_nomem(ctx->diag);
}

onx_status onx_pass_add_ints(onx_pass_ctx *ctx, onx_graph *graph, const char *hint, size_t n,
                             const int64_t *data, onx_value **out) {
    int64_t dim = (int64_t)n;
    const char *name = onx_graph_new_name(graph, hint);
    *out = name ? onx_graph_add_initializer(graph, name, ONX_DTYPE_I64, 1, &dim, data,
                                            n * sizeof *data)
                : NULL;
    return *out ? ONX_OK : onx_fail_nomem(ctx->diag);
}

onx_status onx_pass_add_node(onx_pass_ctx *ctx, onx_node *node, const char *op, size_t n_in,
                             onx_value *const *in, onx_value **out) {
    onx_node *made = onx_graph_add_node(node->graph, op, n_in, in, 1, NULL);
    if (!made || onx_node_move(made, node)) return onx_fail_nomem(ctx->diag);
    *out = onx_node_output(made, 0);
    ctx->changes++;
    return ONX_OK;
}

/* ─ Reading constants ────────────────────────────────────────────────────────────────────────── */

bool onx_pass_ints(const onx_pass_ctx *ctx, const onx_node *node, const char *attribute,
                   size_t index, size_t max, int64_t *out, size_t *n) {
    const onx_tensor *tensor = index ? onx_pass_constant(ctx, onx_node_input(node, index)) : NULL;
    uint64_t count;
    if (tensor) {
        if (onx_tensor_count(tensor, &count, NULL) || count > max) return false;
        *n = (size_t)count;
        return !onx_tensor_read_as(tensor, ONX_DTYPE_I64, out, *n * sizeof *out, NULL);
    }
    const int64_t *ints = onx_op_ints(node, attribute, n);
    if (!ints || *n > max) return false;
    memcpy(out, ints, *n * sizeof *out);
    return true;
}

bool onx_pass_is_uniform(const onx_pass_ctx *ctx, const onx_value *value, double number) {
    enum { MOST = 4096 };
    double elems[MOST];
    const onx_tensor *tensor = onx_pass_constant(ctx, value);
    uint64_t count;
    if (!tensor || onx_tensor_count(tensor, &count, NULL) || count > MOST ||
        onx_tensor_read_as(tensor, ONX_DTYPE_F64, elems, (size_t)count * sizeof *elems, NULL))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (elems[i] != number) return false;
    return count > 0;
}
