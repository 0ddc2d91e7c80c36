/* lower_half.c: models of half precision, computed in float.
 *
 * widen: a node that computes gets a twin before it, that works on floats, and itself becomes the
 * way back. Values are rounded where something wants them as they were, not in between.
 *
 *     y = Op(x, c)        y' = Op(x', c')      x': the twin of x, or Cast(x)
 *                         y  = Cast(y')        c': a constant c as floats
 *
 * It begins with what takes long, and goes on where an operand has a twin. bfloat16 has so few bits
 * that roundings show: there it begins only where something is multiplied by weights.
 *
 * Weights stay as they are, behind a Cast, until `weights`, the last of all rewrites: then those
 * that are multiplied are read as they are, and the rest become floats. */
#include "rt/lower/lower.h"

#include <stdio.h>

/* Operators that take long, and those that may follow; each name between blanks. */
static const char beginning[] =
    " Attention BatchNormalization Conv ConvTranspose Einsum Gemm GroupNormalization GRU"
    " InstanceNormalization LayerNormalization LogSoftmax LpNormalization LSTM MatMul"
    " RMSNormalization RNN Softmax ";
static const char following[] =
    " Abs Add AveragePool Clip Concat Cos DepthToSpace Div Elu Erf Exp Expand Flatten Gather"
    " GatherElements GatherND Gelu GlobalAveragePool GlobalMaxPool HardSigmoid HardSwish"
    " Identity IsNaN LeakyRelu Log Max MaxPool Mean Min Mish Mul Neg Pad Pow PRelu Reciprocal"
    " ReduceL2 ReduceMax ReduceMean ReduceMin ReduceSum Relu Reshape Resize RotaryEmbedding Selu"
    " Sigmoid Sin Slice Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tanh"
    " Tile Transpose Trilu Unsqueeze Where ";

typedef struct widening {
    onx_pass_ctx *ctx;
    onx_map twins; /* value to its twin of floats */
} widening;

/* Is its name one of the words? */
static bool is_among(const onx_op *op, const char *words) {
    size_t n = strlen(op->name);
    for (const char *at = words; (at = strstr(at, op->name)); at += n)
        if (at[-1] == ' ' && at[n] == ' ') return true;
    return false;
}

static bool is_half(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    return value && fact->kind == ONX_TYPE_TENSOR &&
           (fact->dtype == ONX_DTYPE_F16 || fact->dtype == ONX_DTYPE_BF16);
}

static onx_value *twin_of(const widening *w, const onx_value *value) {
    return value ? onx_map_get(&w->twins, value, (onx_str){0}) : NULL;
}
static onx_status set_twin(widening *w, const onx_value *value, onx_value *twin) {
    bool put = onx_map_put(&w->twins, value, (onx_str){0}, twin);
    return put ? ONX_OK : onx_fail_nomem(w->ctx->diag);
}

/* A constant as floats; *out is not set where there is no room for that. */
static onx_status float_constant(onx_pass_ctx *ctx, const onx_tensor *constant, onx_graph *graph,
                                 onx_value **out) {
    int64_t dims[ONX_RANK_MAX];
    uint64_t count;
    size_t rank = onx_tensor_rank(constant), bytes;
    if (rank > ONX_RANK_MAX || onx_tensor_count(constant, &count, NULL)) return ONX_OK;
    if (!onx_mul_size((size_t)count, sizeof(float), &bytes) || !onx_pass_takes_constants(graph) ||
        !onx_pass_afford(ctx, bytes))
        return ONX_OK;
    float *data = onx_mem_alloc(ctx->arena.ctx, bytes + 1);
    if (!data) return onx_fail_nomem(ctx->diag);
    for (size_t i = 0; i < rank; i++) dims[i] = onx_tensor_dim(constant, i);
    onx_status status = onx_tensor_read_as(constant, ONX_DTYPE_F32, data, bytes, ctx->diag);
    if (!status) status = onx_pass_add_floats(ctx, graph, "wide", rank, dims, data, out);
    onx_mem_free(ctx->arena.ctx, data, bytes + 1);
    return status;
}

/* Are these the weights of a product, that may stay as they are? */
static bool is_weight(const onx_op *op, size_t index) {
    return index == 1 &&
           (onx_pass_is(op, "Conv") || onx_pass_is(op, "MatMul") || onx_pass_is(op, "Gemm"));
}

static onx_status cast(widening *w, onx_value *value, onx_node *before, onx_value **out) {
    ONX_TRY(onx_pass_add_node(w->ctx, before, "Cast", 1, &value, out));
    if (onx_node_set_int((*out)->def, "to", ONX_DTYPE_F32)) return onx_fail_nomem(w->ctx->diag);
    return set_twin(w, value, *out);
}

/* Input `index` of the node as floats. */
static onx_status widen_input(widening *w, onx_node *node, const onx_op *op, size_t index,
                              onx_value **out) {
    onx_value *value = onx_node_input(node, index), *twin = twin_of(w, value);
    const onx_tensor *constant = onx_pass_constant(w->ctx, value);
    *out = twin ? twin : value;
    if (twin || !is_half(w->ctx, value)) return ONX_OK;
    if (constant && !is_weight(op, index)) {
        ONX_TRY(float_constant(w->ctx, constant, node->graph, out));
        if (*out != value) return set_twin(w, value, *out);
    }
    return cast(w, value, node, out);
}

/* A node like it, of floats. */
static onx_status add_twin(widening *w, onx_node *node, const onx_op *op, onx_value *const *in,
                           onx_node **out) {
    onx_pass_ctx *ctx = w->ctx;
    char name[100];
    (void)snprintf(name, sizeof name, "%s%s%s", op->domain ? op->domain : "",
                   op->domain ? "::" : "", op->name);
    *out = onx_graph_add_node(node->graph, name, node->input.n, in, node->output.n, NULL);
    if (!*out || onx_node_move(*out, node)) return onx_fail_nomem(ctx->diag);
    if (onx_node_set_name(*out, node->name.size ? onx_node_name(node) : NULL))
        return onx_fail_nomem(ctx->diag);
    ctx->changes++;
    return onx_pass_copy_attrs(ctx, *out, node);
}

/* The node gives what its twin does, in its own type. */
static onx_status make_back(widening *w, onx_node *node, onx_value *twin) {
    const onx_value *out = onx_node_output(node, 0);
    onx_dtype dtype = (onx_dtype)onx_pass_fact(w->ctx, out)->dtype;
    ONX_TRY(set_twin(w, out, twin));
    ONX_TRY(onx_pass_remake(w->ctx, node, "Cast", 1, &twin));
    return onx_node_set_int(node, "to", dtype) ? onx_fail_nomem(w->ctx->diag) : ONX_OK;
}

/* The same for several outputs: each has a way back of its own. */
static onx_status make_backs(widening *w, onx_node *node, const onx_node *twin) {
    for (size_t i = 0; i < node->output.n; i++) {
        onx_value *out = onx_node_output(node, i), *wide = onx_node_output(twin, i), *back;
        bool done;
        if (!out) continue;
        onx_dtype dtype = (onx_dtype)onx_pass_fact(w->ctx, out)->dtype;
        ONX_TRY(onx_pass_add_node(w->ctx, node, "Cast", 1, &wide, &back));
        if (onx_node_set_int(back->def, "to", dtype)) return onx_fail_nomem(w->ctx->diag);
        ONX_TRY(onx_pass_inherit(w->ctx, back, out));
        ONX_TRY(set_twin(w, back, wide));
        ONX_TRY(onx_pass_replace(w->ctx, out, back, &done));
    }
    return ONX_OK;
}

/* Are all outputs of half precision, and, where there are several, free to be replaced? */
static bool outputs_fit(const onx_pass_ctx *ctx, const onx_node *node) {
    size_t halves = 0;
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *out = onx_node_output(node, i);
        bool pinned = out && node->output.n > 1 && ctx->pinned && ctx->pinned(ctx->user, out);
        if (out && (pinned || !is_half(ctx, out))) return false;
        halves += out != NULL;
    }
    return halves > 0;
}
static bool outputs_differ(const onx_pass_ctx *ctx, const onx_node *node) {
    for (size_t i = 0; i < node->output.n; i++)
        if (is_half(ctx, onx_node_output(node, i))) return false;
    return true;
}

static onx_status widen_node(widening *w, onx_node *node, const onx_op *op) {
    onx_node *twin;
    onx_value **in = onx_arena_array(&w->ctx->arena, node->input.n + 1, sizeof(onx_value *));
    if (!in) return onx_fail_nomem(w->ctx->diag);
    for (size_t i = 0; i < node->input.n; i++) ONX_TRY(widen_input(w, node, op, i, &in[i]));
    if (outputs_differ(w->ctx, node)) {
        for (size_t i = 0; i < node->input.n; i++)
            ONX_TRY(onx_node_set_input(node, i, in[i], w->ctx->diag));
        return ONX_OK;
    }
    ONX_TRY(add_twin(w, node, op, in, &twin));
    return node->output.n == 1 ? make_back(w, node, onx_node_output(twin, 0))
                               : make_backs(w, node, twin);
}

/* A Cast to float of what is float already. */
static onx_status skip_cast(widening *w, onx_node *node) {
    onx_value *twin = twin_of(w, onx_node_input(node, 0)), *out = onx_node_output(node, 0);
    bool done;
    if (!twin || onx_pass_fact(w->ctx, out)->dtype != ONX_DTYPE_F32) return ONX_OK;
    if (!onx_pass_can_replace(w->ctx, out, twin)) return onx_node_set_input(node, 0, twin, NULL);
    return onx_pass_replace(w->ctx, out, twin, &done);
}

/* Does it take long in its own type? */
static bool begins(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op) {
    const onx_value *x = onx_node_input(node, 0), *weights = onx_node_input(node, 1);
    bool coarse = onx_pass_fact(ctx, x)->dtype == ONX_DTYPE_BF16;
    return is_half(ctx, x) && is_among(op, beginning) &&
           (!coarse || (is_weight(op, 1) && onx_pass_constant(ctx, weights)));
}

static bool follows(const widening *w, const onx_node *node, const onx_op *op) {
    size_t twins = 0;
    for (size_t i = 0; i < node->input.n; i++) twins += twin_of(w, onx_node_input(node, i)) != NULL;
    return twins && (is_among(op, beginning) || is_among(op, following));
}

static onx_status visit(widening *w, onx_node *node) {
    const onx_op *op = onx_pass_op(w->ctx, node);
    if (!op || !onx_pass_pure(op, node) || (op->domain && strcmp(op->domain, ONX_INTERNAL)))
        return ONX_OK;
    if (onx_pass_is(op, "Cast")) return skip_cast(w, node);
    bool fits = outputs_fit(w->ctx, node) || outputs_differ(w->ctx, node);
    return fits && (begins(w->ctx, node, op) || follows(w, node, op)) ? widen_node(w, node, op)
                                                                      : ONX_OK;
}

extern onx_pass_fn onx_lower_widen, onx_lower_weights;
onx_status onx_lower_widen(onx_pass_ctx *ctx, onx_graph *graph) {
    widening w = {.ctx = ctx};
    size_t before = ctx->changes;
    onx_status status = ONX_OK;
    if (onx_model_opset(ctx->model, "") < 6) return ONX_OK; /* Cast's `to` was a string */
    onx_map_init(&w.twins, ctx->arena.ctx);
    for (onx_node *node = onx_graph_node_first(graph), *next; node && !status; node = next) {
        next = onx_node_next(node);
        status = visit(&w, node);
    }
    onx_map_fini(&w.twins);
    if (status || ctx->changes == before) return status;
    ONX_TRY(onx_lower_sweep(ctx, graph));
    return onx_pass_refresh(ctx);
}

/* ─ Weights ──────────────────────────────────────────────────────────────────────────────────── */

onx_value *onx_lower_uncast(const onx_pass_ctx *ctx, onx_value *value) {
    const onx_node *node = value ? value->def : NULL;
    if (!node || !onx_pass_is(onx_pass_op(ctx, node), "Cast") || onx_pass_held(ctx, value))
        return value;
    onx_value *from = onx_node_input(node, 0);
    const onx_tensor *constant = onx_pass_constant(ctx, from);
    onx_dtype dtype = constant ? onx_tensor_dtype(constant) : ONX_DTYPE_NONE;
    bool half = dtype == ONX_DTYPE_F16 || dtype == ONX_DTYPE_BF16;
    return half && onx_op_int(onx_pass_op(ctx, node), node, "to") == ONX_DTYPE_F32 ? from : value;
}

/* The operator that takes halves as its second factor, if this use is one; NULL: it is not. */
static const char *by_half(const onx_pass_ctx *ctx, const onx_use *use) {
    const onx_op *op = use->node ? onx_pass_op(ctx, use->node) : NULL;
    if (!use->node || use->index != 1) return NULL;
    if (onx_pass_is(op, "MatMul")) return ONX_INTERNAL "::MatMul";
    if (onx_pass_is(op, "Gemm")) return ONX_INTERNAL "::Gemm";
    return onx_lower_is(use->node, "MatMulTile") ? ONX_INTERNAL "::MatMulTile" : NULL;
}

/* What is multiplied by the value is multiplied by `from`. */
static onx_status use_halves(onx_pass_ctx *ctx, const onx_value *value, onx_value *from) {
    onx_use use = {0};
    while (onx_value_use_next(value, &use)) {
        const char *op = by_half(ctx, &use);
        if (!op) continue;
        if (onx_node_set_op(use.node, op)) return onx_fail_nomem(ctx->diag);
        ONX_TRY(onx_node_set_input(use.node, 1, from, ctx->diag));
        ctx->changes++;
        use = (onx_use){0}; /* a use is gone */
    }
    return ONX_OK;
}

static onx_status settle(onx_pass_ctx *ctx, onx_node *node) {
    onx_value *out = onx_node_output(node, 0), *from = onx_lower_uncast(ctx, out), *wide = NULL;
    bool done;
    if (!out || from == out) return ONX_OK;
    ONX_TRY(use_halves(ctx, out, from));
    if (out->n_uses) ONX_TRY(float_constant(ctx, onx_pass_constant(ctx, from), node->graph, &wide));
    if (wide) ONX_TRY(onx_pass_replace(ctx, out, wide, &done));
    return out->n_uses ? ONX_OK : onx_pass_remove(ctx, node);
}

onx_status onx_lower_weights(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        if (onx_pass_named(ctx, node, "Cast")) ONX_TRY(settle(ctx, node));
    }
    return ONX_OK;
}
