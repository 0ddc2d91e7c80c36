/* lower.c: running the rewrites of the engine. */
#include "rt/lower/lower.h"

#include "rt/lower/lower.def"

#define ONX_LOWER_EXTERN(name) extern onx_pass_fn onx_lower_##name;
ONX_LOWERS(ONX_LOWER_EXTERN)

static const onx_pass rewrites[] = {
#define ONX_LOWER_ROW(rewrite)                                                                     \
    {.name = #rewrite, .run = onx_lower_##rewrite, .level = ONX_LEVEL_ALL},
    ONX_LOWERS(ONX_LOWER_ROW)};

static onx_status run(onx_pass_ctx *ctx, const char *name, onx_level level) {
    ONX_TRY(onx_pass_begin(ctx));
    for (size_t i = 0; i < ONX_COUNT(rewrites); i++)
        if (name ? strcmp(name, rewrites[i].name) == 0 : onx_pass_wanted(ctx, &rewrites[i], level))
            ONX_TRY(onx_pass_apply(ctx, &rewrites[i]));
    if (!ctx->changes) return ONX_OK;
    return onx_model_set_opset(ctx->model, ONX_INTERNAL, 1) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

static onx_status run_all(onx_pass_ctx *ctx, const char *name, onx_level level) {
    if (!ctx->model->graph || ctx->model->training_info.count) return ONX_OK;
    onx_status status = run(ctx, name, level);
    onx_pass_end(ctx);
    return status;
}

onx_status onx_lower_run(onx_pass_ctx *ctx, onx_level level) {
    return level < ONX_LEVEL_ALL && !ctx->enable ? ONX_OK : run_all(ctx, NULL, level);
}

onx_status onx_lower_run_one(onx_pass_ctx *ctx, const char *name) {
    for (size_t i = 0; i < ONX_COUNT(rewrites); i++)
        if (strcmp(name, rewrites[i].name) == 0) return run_all(ctx, name, ONX_LEVEL_ALL);
    return onx_fail(ctx->diag, ONX_NOT_FOUND, "there is no rewrite '%.100s'", name);
}

const onx_pass *onx_lower_at(size_t index) {
    return index < ONX_COUNT(rewrites) ? &rewrites[index] : NULL;
}

bool onx_lower_knows(onx_str name) {
    for (size_t i = 0; i < ONX_COUNT(rewrites); i++)
        if (onx_str_is(name, rewrites[i].name)) return true;
    return onx_passes_has(name);
}

bool onx_lower_is(const onx_node *node, const char *op) {
    return onx_str_is(node->domain, ONX_INTERNAL) && onx_str_is(node->op_type, op);
}

bool onx_lower_has(const onx_pass_ctx *ctx, const char *op) {
    return ctx->has_kernel && ctx->has_kernel(ctx->user, op);
}

bool onx_lower_scalar(const onx_pass_ctx *ctx, const onx_value *value, float *out, size_t *rank) {
    const onx_tensor *tensor = onx_pass_constant(ctx, value);
    uint64_t count;
    if (!tensor || onx_tensor_count(tensor, &count, NULL) || count != 1) return false;
    *rank = onx_tensor_rank(tensor);
    return onx_tensor_read_as(tensor, ONX_DTYPE_F32, out, sizeof *out, NULL) == ONX_OK;
}

bool onx_lower_spatial_mean(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op) {
    int64_t read[2];
    size_t n = 0;
    if (!onx_pass_is(op, "ReduceMean") || !onx_op_int(op, node, "keepdims")) return false;
    const int64_t *axes = op->since < 18 ? onx_op_ints(node, "axes", &n) : read;
    const onx_tensor *constant =
        op->since < 18 ? NULL : onx_pass_constant(ctx, onx_node_input(node, 1));
    if (constant && onx_tensor_rank(constant) == 1 && onx_tensor_dim(constant, 0) == 2 &&
        onx_tensor_read_as(constant, ONX_DTYPE_I64, read, sizeof read, NULL) == ONX_OK)
        n = 2;
    if (!axes || n != 2) return false;
    size_t first, second;
    return onx_axis(axes[0], 4, &first) && onx_axis(axes[1], 4, &second) && first + second == 2 + 3;
}

static bool is_wanted(const onx_pass_ctx *ctx, const onx_node *node) {
    bool ours = onx_str_is(node->domain, ONX_INTERNAL);
    if (!ours && !onx_pass_pure(onx_pass_op(ctx, node), node)) return true;
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *out = onx_node_output(node, i);
        if (out && (out->n_uses || onx_pass_held(ctx, out))) return true;
    }
    return false;
}

onx_status onx_lower_sweep(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_last(graph), *prev; node; node = prev) {
        prev = onx_node_prev(node);
        if (!is_wanted(ctx, node)) ONX_TRY(onx_pass_remove(ctx, node));
    }
    return ONX_OK;
}
