/* blocked_channels.c: channels put together, taken apart and shuffled, in the blocked layout: all
 * become onx.internal::Channels (ops/concat/channels_simd.c), and one after another becomes one.
 *
 *     Concat(x, …)                                along the channels
 *     Split(x), Slice(x)                          along the channels
 *     Reshape(Transpose(Reshape(x)))              [N, C, H, W] as [N, g, C/g, H, W], g and C/g
 *                                                 exchanged
 */
#include "ops/slice/slice.h"
#include "rt/lower/blocked.h"

/* Output channel c is channel from[c] of the inputs put together. */
typedef struct channels {
    size_t n_in, n;
    onx_value **in; /* blocked */
    int64_t *sizes; /* channels of each */
    int64_t *from;
} channels;

static bool has_kernel(const onx_blocked *b) {
    return onx_lower_has(b->ctx, "Channels");
}

/* Channels of a blocked image; -1: not one, or not known. */
static int64_t channels_of(const onx_blocked *b, const onx_value *value) {
    if (!onx_blocked_twin(b, value) || !onx_blocked_image(b->ctx, value)) return -1;
    return onx_blocked_size(b->ctx, value, 2);
}

static bool channels_new(onx_blocked *b, size_t n_in, int64_t n, channels *c) {
    onx_arena *arena = &b->ctx->arena;
    *c = (channels){.n_in = n_in, .n = (size_t)n};
    c->in = onx_arena_array(arena, n_in, sizeof *c->in);
    c->sizes = onx_arena_array(arena, n_in, sizeof *c->sizes);
    c->from = onx_arena_array(arena, c->n, sizeof *c->from);
    return c->in && c->sizes && c->from;
}

/* n channels of the one value `x`; their places are for the caller to fill in. */
static onx_status channels_from(onx_blocked *b, const onx_value *x, int64_t n, channels *c) {
    if (!channels_new(b, 1, n, c)) return onx_fail_nomem(b->ctx->diag);
    c->in[0] = onx_blocked_twin(b, x);
    c->sizes[0] = channels_of(b, x);
    return ONX_OK;
}

/* What is taken from other Channels is taken from their inputs. */
static onx_status look_through(onx_blocked *b, channels *c) {
    const onx_node *def = c->in[0]->def;
    size_t n_sizes, n_from;
    if (c->n_in != 1 || !def || !onx_lower_is(def, "Channels")) return ONX_OK;
    const int64_t *sizes = onx_op_ints(def, "sizes", &n_sizes);
    const int64_t *from = onx_op_ints(def, "from", &n_from);
    channels through;
    if (!channels_new(b, def->input.n, (int64_t)c->n, &through))
        return onx_fail_nomem(b->ctx->diag);
    for (size_t i = 0; i < through.n_in; i++) {
        through.in[i] = onx_node_input(def, i);
        through.sizes[i] = sizes[i];
    }
    for (size_t i = 0; i < c->n; i++) through.from[i] = from[c->from[i]];
    *c = through;
    return ONX_OK;
}

/* `value`, an output of `node`, gets its twin. */
static onx_status put(onx_blocked *b, const onx_value *value, onx_node *node, channels *c) {
    ONX_TRY(look_through(b, c));
    ONX_TRY(onx_blocked_add_twin(b, value, ONX_INTERNAL "::Channels", c->n_in, c->in, node, false));
    onx_node *made = onx_blocked_twin(b, value)->def;
    if (onx_node_set_ints(made, "sizes", c->n_in, c->sizes) ||
        onx_node_set_ints(made, "from", c->n, c->from))
        return onx_fail_nomem(b->ctx->diag);
    return ONX_OK;
}

static onx_status put_only(onx_blocked *b, onx_node *node, channels *c, bool *done) {
    const onx_value *out = onx_node_output(node, 0);
    *done = true;
    ONX_TRY(put(b, out, node, c));
    return onx_blocked_back(b, node, onx_blocked_twin(b, out));
}

static bool is_convolved(const onx_pass_ctx *ctx, const onx_value *value) {
    onx_use use = {0};
    while (onx_value_use_next(value, &use))
        if (onx_pass_named(ctx, use.node, "Conv")) return true;
    return false;
}

/* Can all inputs be put together in blocks? Those that are plain only for a convolution. */
static bool joins(const onx_blocked *b, const onx_node *node, int64_t *all) {
    bool some = false, others = false;
    *all = 0;
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        int64_t n = onx_blocked_image(b->ctx, value) ? onx_blocked_size(b->ctx, value, 2) : -1;
        if (n < 1 || !onx_add_i64(*all, n, all) || *all > INT32_MAX) return false;
        if (onx_blocked_twin(b, value))
            some = true;
        else
            others = true;
    }
    return some && (!others || is_convolved(b->ctx, onx_node_output(node, 0)));
}

onx_status onx_blocked_join(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    size_t axis;
    int64_t all;
    channels c;
    if (!onx_pass_is(op, "Concat") || op->since < 4 || !has_kernel(b)) return ONX_OK;
    if (!onx_axis(onx_op_int(op, node, "axis"), 4, &axis) || axis != 1) return ONX_OK;
    if (!joins(b, node, &all)) return ONX_OK;
    if (!channels_new(b, node->input.n, all, &c)) return onx_fail_nomem(b->ctx->diag);
    for (size_t i = 0; i < c.n_in; i++) {
        ONX_TRY(onx_blocked_need(b, onx_node_input(node, i), node, &c.in[i]));
        c.sizes[i] = channels_of(b, onx_node_input(node, i));
    }
    for (size_t i = 0; i < c.n; i++) c.from[i] = (int64_t)i;
    return put_only(b, node, &c, done);
}

/* Parts of blocked values are wanted plain seldom: then the node makes them as before. */
onx_status onx_blocked_split(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    size_t axis;
    const onx_value *x = onx_node_input(node, 0);
    int64_t left = channels_of(b, x), at = 0;
    if (!onx_pass_is(op, "Split") || op->since < 2 || left < 1 || !has_kernel(b)) return ONX_OK;
    if (!onx_axis(onx_op_int(op, node, "axis"), 4, &axis) || axis != 1) return ONX_OK;
    for (size_t i = 0; i < node->output.n; i++) {
        const onx_value *out = onx_node_output(node, i);
        int64_t some = out ? onx_blocked_size(b->ctx, out, 2) : -1;
        if (some < 1 || some > left) return ONX_OK;
        left -= some;
    }
    *done = true;
    for (size_t i = 0; i < node->output.n; i++) {
        channels c;
        const onx_value *out = onx_node_output(node, i);
        ONX_TRY(channels_from(b, x, onx_blocked_size(b->ctx, out, 2), &c));
        for (size_t k = 0; k < c.n; k++) c.from[k] = at++;
        ONX_TRY(put(b, out, node, &c));
    }
    return ONX_OK;
}

/* The one number that input `index` always is; `absent` where there is none. */
static bool one_int(const onx_pass_ctx *ctx, const onx_node *node, size_t index, int64_t absent,
                    int64_t *out) {
    const onx_value *value = onx_node_input(node, index);
    const onx_tensor *constant = onx_pass_constant(ctx, value);
    *out = absent;
    if (!value) return true;
    return constant && onx_tensor_rank(constant) == 1 && onx_tensor_dim(constant, 0) == 1 &&
           onx_tensor_read_as(constant, ONX_DTYPE_I64, out, sizeof *out, NULL) == ONX_OK;
}

onx_status onx_blocked_slice(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    const onx_value *x = onx_node_input(node, 0);
    int64_t size = channels_of(b, x), start, end, axis, step, first;
    size_t at;
    channels c;
    if (!onx_pass_is(op, "Slice") || op->since < 10 || size < 1 || !has_kernel(b)) return ONX_OK;
    if (!one_int(b->ctx, node, 1, 0, &start) || !one_int(b->ctx, node, 2, 0, &end) ||
        !one_int(b->ctx, node, 3, 0, &axis) || !one_int(b->ctx, node, 4, 1, &step))
        return ONX_OK;
    if (!onx_axis(axis, 4, &at) || at != 1 || step == 0) return ONX_OK;
    int64_t n = onx_slice_range(size, start, end, step, &first);
    if (n < 1) return ONX_OK;
    ONX_TRY(channels_from(b, x, n, &c));
    for (size_t i = 0; i < c.n; i++) c.from[i] = first + (int64_t)i * step;
    return put_only(b, node, &c, done);
}

static const onx_node *made_by(const onx_pass_ctx *ctx, const onx_value *value, const char *op) {
    const onx_node *def = value ? value->def : NULL;
    return def && onx_pass_named(ctx, def, op) ? def : NULL;
}

/* Is `to` [N, g, C/g, H, W] of `from` [N, C, H, W]? */
static bool cuts_channels(const onx_fact *from, const onx_fact *to, int64_t *groups,
                          int64_t *each) {
    int64_t all;
    return to->kind == ONX_TYPE_TENSOR && to->ranked && to->rank == 5 && to->dims[0] &&
           to->dims[0] == from->dims[0] && to->dims[3] && to->dims[3] == from->dims[2] &&
           to->dims[4] && to->dims[4] == from->dims[3] && to->dims[1] && to->dims[2] &&
           from->dims[1] && onx_sym_is_int(to->dims[1], groups) &&
           onx_sym_is_int(to->dims[2], each) && onx_sym_is_int(from->dims[1], &all) &&
           *groups > 0 && *each > 0 && all / *each == *groups && all % *each == 0;
}

static bool exchanges_groups(const onx_node *node) {
    static const int64_t wanted[] = {0, 2, 1, 3, 4};
    size_t n = 0;
    const int64_t *perm = onx_op_ints(node, "perm", &n);
    return perm && n == 5 && memcmp(perm, wanted, sizeof wanted) == 0;
}

onx_status onx_blocked_shuffle(onx_blocked *b, onx_node *node, const onx_op *op, bool *done) {
    const onx_pass_ctx *ctx = b->ctx;
    int64_t groups, each;
    channels c;
    if (!onx_pass_is(op, "Reshape") || !has_kernel(b)) return ONX_OK;
    const onx_node *exchange = made_by(ctx, onx_node_input(node, 0), "Transpose");
    if (!exchange || !exchanges_groups(exchange)) return ONX_OK;
    const onx_node *cut = made_by(ctx, onx_node_input(exchange, 0), "Reshape");
    const onx_value *x = cut ? onx_node_input(cut, 0) : NULL;
    if (channels_of(b, x) < 1) return ONX_OK;
    const onx_fact *fact = onx_pass_fact(ctx, x);
    if (!onx_pass_same_shape(fact, onx_pass_fact(ctx, onx_node_output(node, 0))) ||
        !cuts_channels(fact, onx_pass_fact(ctx, onx_node_output(cut, 0)), &groups, &each))
        return ONX_OK;
    ONX_TRY(channels_from(b, x, groups * each, &c));
    for (int64_t i = 0; i < groups * each; i++) c.from[i] = i % groups * each + i / groups;
    return put_only(b, node, &c, done);
}
