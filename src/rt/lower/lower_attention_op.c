/* lower_attention_op.c: Attention of ai.onnx, and MultiHeadAttention of com.microsoft, to
 * onx.internal::Attend: of floats, without a past, a cap, or an output of scores. Tensors of three
 * dimensions are split into heads by their views. */
#include "rt/lower/lower.h"
#include "rt/lower/lower_attention.h"

#include <math.h>

typedef struct sizes {
    size_t rank;
    int64_t heads[3]; /* of Q, K and V */
    int64_t column;   /* of Q */
    int64_t hidden;   /* columns of all heads of the result */
} sizes;

static bool size_at(const onx_fact *fact, size_t d, int64_t *out) {
    return fact->dims[d] && onx_sym_is_int(fact->dims[d], out);
}

/* Numbers of heads and the size of one are known, and heads are shared evenly. */
static bool find_sizes(onx_pass_ctx *ctx, const onx_node *node, int64_t q_heads, int64_t kv_heads,
                       sizes *out) {
    const onx_fact *q = onx_pass_fact(ctx, onx_node_input(node, 0));
    out->rank = q->rank;
    if (!q->ranked || (q->rank != 3 && q->rank != 4)) return false;
    for (size_t i = 0; i < 3; i++) {
        const onx_fact *x = onx_pass_fact(ctx, onx_node_input(node, i));
        int64_t last;
        if (x->kind != ONX_TYPE_TENSOR || x->dtype != ONX_DTYPE_F32 || !x->ranked ||
            x->rank != q->rank || !size_at(x, x->rank - 1, &last))
            return false;
        out->heads[i] = i ? kv_heads : q_heads;
        if (x->rank == 4 && !size_at(x, 1, &out->heads[i])) return false;
        if (out->heads[i] < 1 || out->heads[0] % out->heads[i]) return false;
        if (x->rank == 3 && last % out->heads[i]) return false;
        int64_t column = x->rank == 4 ? last : last / out->heads[i];
        if (i == 0) out->column = column;
        if (i == 2 && !onx_mul_i64(column, out->heads[0], &out->hidden)) return false;
    }
    return out->column > 0;
}

static bool is_plain(const onx_node *node, const onx_op *op) {
    if (node->output.n > 1 || onx_op_float(op, node, "softcap") != 0) return false;
    for (size_t i = 4; i < node->input.n; i++)
        if (onx_node_input(node, i)) return false;
    if (op->since >= 25 && (onx_op_int(op, node, "left_window_size") != -1 ||
                            onx_op_int(op, node, "right_window_size") != -1))
        return false;
    return !onx_op_has(node, "softmax_precision") ||
           onx_op_int(op, node, "softmax_precision") == ONX_DTYPE_F32;
}

/* From version 24 on the mask may know of fewer keys: then it is left alone. */
static bool find_mask(onx_pass_ctx *ctx, const onx_node *node, const onx_op *op,
                      onx_attend_parts *parts) {
    onx_value *mask = onx_node_input(node, 3);
    const onx_fact *fact = onx_pass_fact(ctx, mask);
    const onx_fact *k = onx_pass_fact(ctx, onx_node_input(node, 1));
    if (!mask) return true;
    bool bools = fact->dtype == ONX_DTYPE_BOOL;
    if (!fact->ranked || fact->rank > 4 || (!bools && fact->dtype != ONX_DTYPE_F32)) return false;
    const onx_sym *keys = k->dims[k->rank - 2]; /* of three dimensions, too */
    if (op->since >= 24 && (!fact->rank || !keys || fact->dims[fact->rank - 1] != keys))
        return false;
    parts->in[3] = mask;
    parts->n_biases = 1;
    parts->mode[0] = bools ? ONX_ATTEND_FILL_FALSE : ONX_ATTEND_ADD;
    parts->fill[0] = -INFINITY;
    return true;
}

/* The view of Q, K or V as [batch, head, row, column], and the value that it is of. */
static bool find_view(onx_pass_ctx *ctx, const sizes *s, size_t which, onx_attend_parts *parts) {
    static const int order[2][ONX_VIEW_DIMS] = {{0, 2, 1, 3}, {0, 1, 2, 3}};
    onx_value *value = parts->in[which];
    for (int far = 1; far >= 0; far--) {
        onx_trace t;
        bool good =
            far ? onx_trace_back(ctx, value, which < 2, &t) : onx_trace_none(ctx, value, &t);
        if (good && s->rank == 3) good = onx_trace_split(&t, 2, s->heads[which]);
        if (good) good = onx_trace_repeat(&t, s->rank == 3 ? 2 : 1, s->heads[0] / s->heads[which]);
        if (!good || !onx_trace_view(&t, order[s->rank - 3], &parts->views[which])) continue;
        parts->in[which] = t.base;
        if (which < 2) parts->scale *= t.scale;
        return true;
    }
    return false;
}

/* The result, in the order of the node's; of three dimensions, heads and columns become one after
 * that. */
static onx_status finish(onx_pass_ctx *ctx, onx_node *node, const sizes *s,
                         onx_attend_parts *parts) {
    static const int64_t orders[2][4] = {{0, 2, 1, 3}, {0, 1, 2, 3}};
    onx_graph *graph = node->graph;
    parts->rank = 4;
    memcpy(parts->order, orders[s->rank - 3], sizeof parts->order);
    if (s->rank == 4)
        return onx_attend_make(ctx, onx_attend_turned(ctx, node, 4, parts->order), parts);
    const char *name = onx_graph_new_name(graph, "flat");
    const int64_t three = 3, flat[] = {0, 0, s->hidden};
    onx_value *to =
        name ? onx_graph_add_initializer(graph, name, ONX_DTYPE_I64, 1, &three, flat, sizeof flat)
             : NULL;
    onx_value *heads = to ? onx_graph_add_op(graph, "Identity", NULL, parts->in[0]) : NULL;
    if (!heads || onx_node_move(heads->def, node)) return onx_fail_nomem(ctx->diag);
    ONX_TRY(onx_attend_make(ctx, heads->def, parts));
    return onx_pass_remake(ctx, node, "Reshape", 2, (onx_value *const[]){heads, to});
}

static bool find_inputs(onx_pass_ctx *ctx, const onx_node *node, int64_t q_heads, int64_t kv_heads,
                        sizes *s, onx_attend_parts *parts) {
    for (size_t i = 0; i < 3; i++)
        if (!(parts->in[i] = onx_node_input(node, i))) return false;
    return onx_node_output(node, 0) && find_sizes(ctx, node, q_heads, kv_heads, s);
}

static onx_status lower(onx_pass_ctx *ctx, onx_node *node, const onx_op *op) {
    onx_attend_parts parts = {.guard = 2};
    sizes s;
    if (!is_plain(node, op) ||
        !find_inputs(ctx, node, onx_op_int(op, node, "q_num_heads"),
                     onx_op_int(op, node, "kv_num_heads"), &s, &parts) ||
        !find_mask(ctx, node, op, &parts))
        return ONX_OK;
    parts.scale =
        onx_op_has(node, "scale") ? onx_op_float(op, node, "scale") : 1.0f / sqrtf((float)s.column);
    parts.causal = onx_op_int(op, node, "is_causal") == 1;
    for (size_t i = 0; i < 3; i++)
        if (!find_view(ctx, &s, i, &parts)) return ONX_OK;
    return finish(ctx, node, &s, &parts);
}

/* ─ MultiHeadAttention ───────────────────────────────────────────────────────────────────────── */

static const onx_sym *dim_of(onx_pass_ctx *ctx, const onx_value *x, size_t d) {
    const onx_fact *f = onx_pass_fact(ctx, x);
    return f->ranked && d < f->rank ? f->dims[d] : NULL;
}

/* What a mask [batch, key] hides gets a number added: [batch, 1, 1, key]. */
static onx_status make_mask(onx_pass_ctx *ctx, onx_node *node, onx_value *mask, float filter,
                            onx_value **out) {
    const int64_t axes[] = {1, 2}, zero = 0;
    const float nothing = 0;
    onx_value *in[3];
    in[0] = mask;
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "zero", 1, &zero, &in[1]));
    ONX_TRY(onx_pass_add_node(ctx, node, "Cast", 1, in, &in[0]));
    if (onx_node_set_int(in[0]->def, "to", ONX_DTYPE_I64)) return onx_fail_nomem(ctx->diag);
    ONX_TRY(onx_pass_add_node(ctx, node, "Greater", 2, in, &in[0]));
    ONX_TRY(onx_pass_add_floats(ctx, node->graph, "seen", 0, NULL, &nothing, &in[1]));
    ONX_TRY(onx_pass_add_floats(ctx, node->graph, "hidden", 0, NULL, &filter, &in[2]));
    ONX_TRY(onx_pass_add_node(ctx, node, "Where", 3, in, &in[0]));
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "axes", 2, axes, &in[1]));
    return onx_pass_add_node(ctx, node, "Unsqueeze", 2, in, out);
}

/* Masks of other forms, and those that may have fewer keys, are left alone; so are queries that are
 * not as many as keys, where those to come are hidden. */
static onx_status lower_heads(onx_pass_ctx *ctx, onx_node *node, const onx_op *op) {
    onx_attend_parts parts = {.guard = 0};
    sizes s;
    int64_t heads = onx_op_int(op, node, "num_heads");
    onx_value *mask = onx_node_input(node, 4), *bias = onx_node_input(node, 5);
    float filter = -10000;
    for (size_t i = 3; i < node->input.n; i++)
        if (i != 4 && i != 5 && onx_node_input(node, i)) return ONX_OK;
    for (size_t i = 1; i < node->output.n; i++)
        if (onx_node_output(node, i)) return ONX_OK;
    if (!find_inputs(ctx, node, heads, heads, &s, &parts) || s.rank != 3) return ONX_OK;
    const onx_sym *keys = dim_of(ctx, parts.in[1], 1), *batch = dim_of(ctx, parts.in[1], 0);
    bool same = keys && keys == dim_of(ctx, parts.in[0], 1);
    parts.causal = onx_op_int(op, node, "unidirectional") == 1;
    if (parts.causal && !same) return ONX_OK;
    if (mask && (onx_pass_fact(ctx, mask)->rank != 2 || !keys || keys != dim_of(ctx, mask, 1) ||
                 !batch || batch != dim_of(ctx, mask, 0)))
        return ONX_OK;
    if (bias && (onx_pass_fact(ctx, bias)->dtype != ONX_DTYPE_F32 ||
                 onx_pass_fact(ctx, bias)->rank != 4 || !keys || keys != dim_of(ctx, bias, 3)))
        return ONX_OK;
    parts.scale = onx_op_float(op, node, "scale");
    if (parts.scale == 0) parts.scale = 1.0f / sqrtf((float)s.column);
    for (size_t i = 0; i < 3; i++)
        if (!find_view(ctx, &s, i, &parts)) return ONX_OK;
    if (bias) parts.in[3 + parts.n_biases++] = bias;
    if (onx_op_has(node, "mask_filter_value")) filter = onx_op_float(op, node, "mask_filter_value");
    if (mask) ONX_TRY(make_mask(ctx, node, mask, filter, &parts.in[3 + parts.n_biases++]));
    return finish(ctx, node, &s, &parts);
}

onx_status onx_lower_attention_op(onx_pass_ctx *ctx, onx_node *node) {
    const onx_op *op = onx_pass_op(ctx, node);
    if (onx_pass_is(op, "Attention") && node->input.n >= 3) return lower(ctx, node, op);
    if (onx_pass_is_microsoft(op, "MultiHeadAttention") && onx_pass_takes_constants(node->graph) &&
        onx_model_opset(ctx->model, "") >= 13)
        return lower_heads(ctx, node, op);
    return ONX_OK;
}
