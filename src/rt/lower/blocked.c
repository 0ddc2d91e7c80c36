/* blocked.c: convolutional networks in the blocked layout (rt/kernel.h: onx_layout).
 *
 * A node that is understood gets a twin before it, that works on the blocked values, and itself
 * becomes the way back:
 *
 *     y = Conv(x, W)      y' = ConvBlocked(x', W)      x': the blocked twin of x, from the
 *                         y  = FromBlocked(y')             node that made x, or from a ToBlocked
 *
 * Channels that are not whole blocks stay plain: ConvBlocked reads a plain x, or writes a plain y.
 *
 * In the end the ways back that nobody takes are removed. What follows a convolution and can be
 * done while its result is stored goes into it:
 *
 *     Add(y, r)           ConvBlocked(x', W, B, r')         of equal shapes
 *     Relu(y), Clip(y)    ConvBlocked(…) { lo, hi }         after the sum
 *
 * Elementwise nodes work on blocked values as they are, where all their inputs have the shape of
 * the result, or one element for each channel, or only one; so does Concat along the channels. */
#include "rt/lower/lower.h"

#include <math.h>
#include <stdio.h>

typedef struct blocked {
    onx_pass_ctx *ctx;
    onx_map twins; /* value to its blocked twin */
    onx_tile_group group;
} blocked;

static onx_value *twin_of(const blocked *b, const onx_value *value) {
    return value ? onx_map_get(&b->twins, value, (onx_str){0}) : NULL;
}

static onx_status set_twin(blocked *b, const onx_value *value, onx_value *twin) {
    bool put = onx_map_put(&b->twins, value, (onx_str){0}, twin);
    return put ? onx_pass_inherit(b->ctx, twin, value) : onx_fail_nomem(b->ctx->diag);
}

static onx_status take_name(blocked *b, onx_node *node, const onx_node *from) {
    onx_status status = onx_node_set_name(node, from->name.size ? onx_node_name(from) : NULL);
    return status ? onx_fail_nomem(b->ctx->diag) : ONX_OK;
}

/* A node of onx.internal before `before`, with its name and its attributes when `like` is true,
 * whose output is the twin of `value`. */
static onx_status add_twin(blocked *b, const onx_value *value, const char *op, size_t n_in,
                           onx_value *const *in, onx_node *before, bool like) {
    onx_graph *graph = before->graph;
    char hint[100] = "blocked"; /* a name that is longer might be cut inside a character */
    if (value->name.size < 80)
        (void)snprintf(hint, sizeof hint, "%s_c%zu", onx_value_name(value), b->ctx->block);
    const char *name = onx_graph_new_name(graph, hint);
    onx_node *node = name ? onx_graph_add_node(graph, op, n_in, in, 1, &name) : NULL;
    if (!node || onx_node_move(node, before)) return onx_fail_nomem(b->ctx->diag);
    ONX_TRY(take_name(b, node, before));
    if (like) ONX_TRY(onx_pass_copy_attrs(b->ctx, node, before));
    b->ctx->changes++;
    return set_twin(b, value, onx_node_output(node, 0));
}

static onx_status need_twin(blocked *b, onx_value *value, onx_node *before, onx_value **out) {
    if (!twin_of(b, value))
        ONX_TRY(add_twin(b, value, ONX_INTERNAL "::ToBlocked", 1, &value, before, false));
    *out = twin_of(b, value);
    return ONX_OK;
}

/* The node's work is done by `twin`; what wants its output plain gets it by way of the node. */
static onx_status way_back(blocked *b, onx_node *node, onx_value *twin) {
    ONX_TRY(set_twin(b, onx_node_output(node, 0), twin));
    return onx_pass_remake(b->ctx, node, ONX_INTERNAL "::FromBlocked", 1, &twin);
}

static onx_status replace(blocked *b, onx_node *node, const char *op, size_t n_in,
                          onx_value *const *in, bool like) {
    const onx_value *out = onx_node_output(node, 0);
    ONX_TRY(add_twin(b, out, op, n_in, in, node, like));
    return way_back(b, node, twin_of(b, out));
}

static bool is_image(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    return value && fact->kind == ONX_TYPE_TENSOR && fact->dtype == ONX_DTYPE_F32 && fact->ranked &&
           fact->rank == 4;
}

/* ─ Convolution ──────────────────────────────────────────────────────────────────────────────── */

/* Can the channels be cut into blocks? `plain`: not those of the input; `whole`: those of the
 * output can. */
static bool channels_fit(const onx_pass_ctx *ctx, const onx_tensor *w, int64_t groups, bool *plain,
                         bool *whole) {
    int64_t block = (int64_t)ctx->block, out = onx_tensor_dim(w, 0), in = onx_tensor_dim(w, 1);
    if (groups < 1 || out < 1 || in < 1 || out % groups) return false;
    *plain = groups == 1 && in % block != 0;
    *whole = out % block == 0;
    if (groups == 1) return *whole || !*plain;
    if (in < block && block % in == 0 && out == groups * in)
        return *whole; /* groups do not leave their block */
    return in % block == 0 && out / groups % block == 0;
}

static bool conv_fits(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op, bool *plain,
                      bool *whole) {
    const onx_value *x = onx_node_input(node, 0), *bias = onx_node_input(node, 2);
    const onx_tensor *w = onx_pass_constant(ctx, onx_node_input(node, 1));
    if (!w || onx_tensor_dtype(w) != ONX_DTYPE_F32 || onx_tensor_rank(w) != 4) return false;
    if (bias && onx_pass_fact(ctx, bias)->dtype != ONX_DTYPE_F32) return false;
    return is_image(ctx, x) && is_image(ctx, onx_node_output(node, 0)) &&
           channels_fit(ctx, w, onx_op_int(op, node, "group"), plain, whole);
}

/* The channels of the result are not whole blocks: it is plain, but a blocked input is read. */
static onx_status read_blocked(blocked *b, onx_node *node, bool *done) {
    onx_value *x = twin_of(b, onx_node_input(node, 0));
    if (!x) return ONX_OK;
    *done = true;
    b->ctx->changes++;
    ONX_TRY(onx_node_set_input(node, 0, x, b->ctx->diag));
    onx_status status = onx_node_set_op(node, ONX_INTERNAL "::ConvBlocked");
    return status ? onx_fail_nomem(b->ctx->diag) : ONX_OK;
}

static onx_status visit_conv(blocked *b, onx_node *node, const onx_op *op, bool *done) {
    bool plain, whole;
    onx_value *in[3];
    if (!onx_pass_is(op, "Conv") || node->input.n > 3 ||
        !conv_fits(b->ctx, node, op, &plain, &whole))
        return ONX_OK;
    if (!whole) return read_blocked(b, node, done);
    for (size_t i = 0; i < node->input.n; i++) in[i] = onx_node_input(node, i);
    if (!plain) ONX_TRY(need_twin(b, in[0], node, &in[0]));
    *done = true;
    return replace(b, node, ONX_INTERNAL "::ConvBlocked", node->input.n, in, true);
}

/* The convolution that computes the twin of `value`, if only `user` wants it, plain or blocked, and
 * nothing but the sum is done in it yet. */
static onx_node *open_conv(const blocked *b, const onx_value *value, const onx_node *user) {
    size_t index;
    const onx_value *twin = twin_of(b, value);
    onx_node *conv = twin ? twin->def : NULL;
    if (!conv || !onx_lower_is(conv, "ConvBlocked") || twin->n_uses != 1) return NULL;
    if (onx_pass_only_use(b->ctx, value, &index) != user) return NULL;
    return onx_op_has(conv, "lo") || onx_op_has(conv, "hi") ? NULL : conv;
}

/* What `node` makes of `value` is now done by the convolution. */
static onx_status join(blocked *b, onx_node *node, onx_node *conv, const onx_value *value) {
    onx_node *back = value->def;
    ONX_TRY(way_back(b, node, onx_node_output(conv, 0)));
    ONX_TRY(take_name(b, conv, node));
    return onx_pass_remove(b->ctx, back);
}

static bool clamp_of(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op, float *lo,
                     float *hi) {
    size_t rank;
    *lo = -INFINITY;
    *hi = INFINITY;
    if (onx_pass_is(op, "Relu")) return *lo = 0, true;
    if (!onx_pass_is(op, "Clip")) return false;
    if (op->since < 11) {
        *lo = onx_op_float(op, node, "min");
        *hi = onx_op_float(op, node, "max");
        return true;
    }
    const onx_value *min = onx_node_input(node, 1), *max = onx_node_input(node, 2);
    return (!min || onx_lower_scalar(ctx, min, lo, &rank)) &&
           (!max || onx_lower_scalar(ctx, max, hi, &rank));
}

static onx_status visit_clamp(blocked *b, onx_node *node, const onx_op *op, bool *done) {
    float lo, hi;
    onx_node *conv = open_conv(b, onx_node_input(node, 0), node);
    if (!conv || !clamp_of(b->ctx, node, op, &lo, &hi) || !(lo <= hi)) return ONX_OK;
    if ((lo > -INFINITY && onx_node_set_float(conv, "lo", lo)) ||
        (hi < INFINITY && onx_node_set_float(conv, "hi", hi)))
        return onx_fail_nomem(b->ctx->diag);
    *done = true;
    return join(b, node, conv, onx_node_input(node, 0));
}

/* The convolution moves to where the residual is there, too. */
static onx_status add_residual(blocked *b, onx_node *node, onx_node *conv, const onx_value *sum,
                               onx_value *residual) {
    ONX_TRY(need_twin(b, residual, node, &residual));
    ONX_TRY(join(b, node, conv, sum));
    if (conv->input.n < 3) ONX_TRY(onx_node_set_input(conv, 2, NULL, b->ctx->diag));
    ONX_TRY(onx_node_set_input(conv, 3, residual, b->ctx->diag));
    return onx_node_move(conv, node);
}

static onx_status visit_add(blocked *b, onx_node *node, const onx_op *op, bool *done) {
    if (!onx_pass_is(op, "Add") || op->since < 7 || node->input.n != 2) return ONX_OK;
    for (size_t i = 0; i < 2; i++) {
        onx_value *sum = onx_node_input(node, i), *other = onx_node_input(node, 1 - i);
        onx_node *conv = open_conv(b, sum, node);
        if (!conv || conv->input.n > 3 || !is_image(b->ctx, other)) continue;
        if (!onx_pass_same_shape(onx_pass_fact(b->ctx, sum), onx_pass_fact(b->ctx, other)))
            continue;
        *done = true;
        return add_residual(b, node, conv, sum, other);
    }
    return ONX_OK;
}

/* ─ Nodes between convolutions ───────────────────────────────────────────────────────────────── */

/* ReduceMean over height and width that leaves their dimensions is a GlobalAveragePool. */
static bool is_spatial_mean(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op) {
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

static onx_status visit_pool(blocked *b, onx_node *node, const onx_op *op, bool *done) {
    static const struct {
        const char *op, *blocked;
    } pools[] = {
        {"MaxPool", ONX_INTERNAL "::MaxPoolBlocked"},
        {"AveragePool", ONX_INTERNAL "::AveragePoolBlocked"},
        {"GlobalAveragePool", ONX_INTERNAL "::GlobalAveragePoolBlocked"},
    };
    bool mean = is_spatial_mean(b->ctx, node, op);
    onx_value *x = twin_of(b, onx_node_input(node, 0));
    if (!x || node->output.n != 1) return ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(pools); i++) {
        if (!onx_pass_is(op, pools[i].op) && !(mean && i == 2)) continue;
        if (!onx_lower_has(b->ctx, pools[i].blocked + strlen(ONX_INTERNAL "::"))) return ONX_OK;
        *done = true;
        return replace(b, node, pools[i].blocked, 1, &x, !mean);
    }
    return ONX_OK;
}

/* Size `index` of a value, counted from the last one: -1: not known; 1 in front of the first. */
static int64_t size_from_end(const onx_pass_ctx *ctx, const onx_value *value, size_t index) {
    const onx_tensor *constant = onx_pass_constant(ctx, value);
    const onx_fact *fact = onx_pass_fact(ctx, value);
    size_t rank = constant ? onx_tensor_rank(constant) : fact->rank;
    int64_t dim;
    if (!constant && (fact->kind != ONX_TYPE_TENSOR || !fact->ranked)) return -1;
    if (index >= rank) return 1;
    if (constant) return onx_tensor_dim(constant, rank - 1 - index);
    const onx_sym *sym = fact->dims[rank - 1 - index];
    return sym && onx_sym_is_int(sym, &dim) ? dim : -1;
}

/* Has it no height and width? Then its elements lie in blocks as they lie plain. */
static bool is_flat(const onx_pass_ctx *ctx, const onx_value *value) {
    return size_from_end(ctx, value, 0) == 1 && size_from_end(ctx, value, 1) == 1 &&
           size_from_end(ctx, value, 4) == 1;
}

/* Can the operands of the program be used with a blocked result? At least one has its shape. */
static bool operands_fit(const blocked *b, const onx_fact *out) {
    bool full = false;
    for (size_t i = 0; i < b->group.program.n_in; i++) {
        const onx_value *value = b->group.in[i];
        bool same = onx_pass_same_shape(onx_pass_fact(b->ctx, value), out);
        if (same ? !twin_of(b, value) : !is_flat(b->ctx, value)) return false;
        full |= same;
    }
    return full;
}

static onx_status visit_elementwise(blocked *b, onx_node *node, const onx_op *op, bool *done) {
    onx_value *in[ONX_TILE_INPUTS];
    const onx_fact *out = onx_pass_fact(b->ctx, onx_node_output(node, 0));
    if (onx_pass_is(op, "Identity") || onx_pass_is(op, "Cast")) return ONX_OK; /* plain alone */
    if (out->dtype != ONX_DTYPE_F32 || !onx_tile_group_init(&b->group, b->ctx, node) ||
        !operands_fit(b, out))
        return ONX_OK;
    for (size_t i = 0; i < node->input.n; i++) {
        onx_value *value = onx_node_input(node, i), *twin = twin_of(b, value);
        in[i] = twin ? twin : value;
    }
    *done = true;
    return replace(b, node, op->name, node->input.n, in, true);
}

static onx_status visit_concat(blocked *b, onx_node *node, const onx_op *op, bool *done) {
    size_t axis, n = node->input.n;
    if (!onx_pass_is(op, "Concat") || op->since < 4) return ONX_OK;
    if (!onx_axis(onx_op_int(op, node, "axis"), 4, &axis) || axis != 1) return ONX_OK;
    onx_value **in = onx_arena_array(&b->ctx->arena, n, sizeof(onx_value *));
    if (!in) return onx_fail_nomem(b->ctx->diag);
    for (size_t i = 0; i < n; i++)
        if (!(in[i] = twin_of(b, onx_node_input(node, i)))) return ONX_OK;
    *done = true;
    return replace(b, node, op->name, n, in, true);
}

typedef onx_status visitor(blocked *b, onx_node *node, const onx_op *op, bool *done);
static visitor *const visitors[] = {visit_conv, visit_add,    visit_clamp,
                                    visit_pool, visit_concat, visit_elementwise};

static onx_status visit(blocked *b, onx_node *node) {
    const onx_op *op = onx_pass_op(b->ctx, node);
    bool done = !op || op->domain || !onx_node_output(node, 0);
    for (size_t i = 0; i < ONX_COUNT(visitors) && !done; i++)
        ONX_TRY(visitors[i](b, node, op, &done));
    return ONX_OK;
}

static onx_status walk(blocked *b, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(b, node));
    }
    for (onx_node *node = onx_graph_node_last(graph), *prev; node; node = prev) {
        prev = onx_node_prev(node);
        const onx_value *out = onx_node_output(node, 0);
        if (onx_lower_is(node, "FromBlocked") && out && !out->n_uses && !onx_pass_held(b->ctx, out))
            ONX_TRY(onx_pass_remove(b->ctx, node));
    }
    return ONX_OK;
}

extern onx_pass_fn onx_lower_blocked;
onx_status onx_lower_blocked(onx_pass_ctx *ctx, onx_graph *graph) {
    static const char *const needs[] = {"ConvBlocked", "ToBlocked", "FromBlocked"};
    if (!ctx->block) return ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(needs); i++)
        if (!onx_lower_has(ctx, needs[i])) return ONX_OK;
    blocked *b = onx_arena_alloc(&ctx->arena, sizeof *b);
    if (!b) return onx_fail_nomem(ctx->diag);
    b->ctx = ctx;
    onx_map_init(&b->twins, ctx->arena.ctx);
    onx_status status = walk(b, graph);
    onx_map_fini(&b->twins);
    return status;
}
