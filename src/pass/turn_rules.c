/* turn_rules.c: see turns.h. */
#include "pass/turns.h"

typedef enum kind {
    UNARY,  /* element by element of input 0; others are settings */
    BROAD,  /* element by element of all inputs, which broadcast */
    JOIN,   /* Concat: all inputs are alike */
    ALONG,  /* along the dimension `axis` */
    REDUCE, /* over the dimensions `axes` */
    PADS,   /* sizes at the start and the end of each dimension */
    PART,   /* Slice: some of the dimensions `axes` */
} kind;

static const struct {
    const char *op;
    kind kind;
    int32_t since;
} rules[] = {
    {"Relu", UNARY, 1},        {"LeakyRelu", UNARY, 1},   {"Sigmoid", UNARY, 1},
    {"Tanh", UNARY, 1},        {"Exp", UNARY, 1},         {"Log", UNARY, 1},
    {"Sqrt", UNARY, 1},        {"Neg", UNARY, 1},         {"Abs", UNARY, 1},
    {"Erf", UNARY, 1},         {"Elu", UNARY, 1},         {"Selu", UNARY, 1},
    {"HardSigmoid", UNARY, 1}, {"HardSwish", UNARY, 1},   {"Softplus", UNARY, 1},
    {"Clip", UNARY, 1},        {"Cast", UNARY, 6},        {"Floor", UNARY, 1},
    {"Ceil", UNARY, 1},        {"Reciprocal", UNARY, 1},  {"Gelu", UNARY, 1},
    {"Mish", UNARY, 1},        {"Identity", UNARY, 1},    {"Not", UNARY, 1},
    {"Add", BROAD, 7},         {"Sub", BROAD, 7},         {"Mul", BROAD, 7},
    {"Div", BROAD, 7},         {"Pow", BROAD, 7},         {"Max", BROAD, 8},
    {"Min", BROAD, 8},         {"Sum", BROAD, 8},         {"Mean", BROAD, 8},
    {"Where", BROAD, 9},       {"Greater", BROAD, 7},     {"Less", BROAD, 7},
    {"Equal", BROAD, 7},       {"And", BROAD, 7},         {"Or", BROAD, 7},
    {"PRelu", BROAD, 7},       {"Concat", JOIN, 4},       {"Softmax", ALONG, 13},
    {"LogSoftmax", ALONG, 13}, {"ReduceMean", REDUCE, 1}, {"ReduceSum", REDUCE, 1},
    {"ReduceMax", REDUCE, 1},  {"ReduceMin", REDUCE, 1},  {"ReduceL2", REDUCE, 1},
    {"Pad", PADS, 2},          {"Slice", PART, 10},
};

static bool kind_of(const onx_pass_ctx *ctx, const onx_node *node, kind *out) {
    const onx_op *op = onx_pass_op(ctx, node);
    if (!op || op->domain || node->output.n != 1 || !onx_node_output(node, 0)) return false;
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (onx_pass_is(op, rules[i].op) && op->since >= rules[i].since) {
            *out = rules[i].kind;
            return true;
        }
    return false;
}

/* ─ Which can ────────────────────────────────────────────────────────────────────────────────── */

/* Can the constant be turned with its operation? */
static bool turns_constant(const onx_pass_ctx *ctx, const onx_value *value, const onx_turn *turn) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    uint64_t count;
    return t && onx_tensor_rank(t) <= turn->n && !onx_tensor_count(t, &count, NULL) && count &&
           onx_dtype_bits(onx_tensor_dtype(t)) >= 8;
}

static bool each_turns(const onx_pass_ctx *ctx, const onx_node *node, const onx_turn *turn,
                       bool (*is_turned)(const void *user, const onx_value *value),
                       const void *user) {
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *in = onx_node_input(node, i);
        if (!in || (!is_turned(user, in) && !turns_constant(ctx, in, turn))) return false;
    }
    return onx_pass_takes_constants(node->graph);
}

/* The axes of a reduction or a part, where they are written; made non-negative. */
static bool axes_of(const onx_pass_ctx *ctx, const onx_node *node, size_t index, size_t rank,
                    size_t *n, int64_t *axes) {
    if (!onx_pass_ints(ctx, node, "axes", index, ONX_RANK_MAX, axes, n) || *n == 0) return false;
    for (size_t i = 0; i < *n; i++) {
        size_t axis;
        if (!onx_axis(axes[i], rank, &axis)) return false;
        axes[i] = (int64_t)axis;
    }
    return true;
}

/* Without the reduced dimensions, do the others stand in their order before the turn, too? */
static bool keeps_order(const onx_turn *turn, size_t n, const int64_t *axes) {
    size_t last = 0;
    for (size_t i = 0; i < turn->n; i++) {
        bool reduced = false;
        for (size_t a = 0; a < n; a++) reduced |= axes[a] == (int64_t)i;
        if (reduced) continue;
        if (turn->at[i] < last) return false;
        last = turn->at[i];
    }
    return true;
}

static onx_turn_way way_of_reduction(const onx_pass_ctx *ctx, const onx_node *node,
                                     const onx_turn *turn) {
    int64_t axes[ONX_RANK_MAX];
    size_t n;
    if (!axes_of(ctx, node, 1, turn->n, &n, axes) || !onx_pass_takes_constants(node->graph))
        return ONX_TURN_NOT;
    if (onx_op_int(onx_pass_op(ctx, node), node, "keepdims")) return ONX_TURN_PASS;
    return keeps_order(turn, n, axes) ? ONX_TURN_END : ONX_TURN_NOT;
}

/* Others than the first are no data: they must not be turned. */
static bool only_first(const onx_node *node,
                       bool (*is_turned)(const void *user, const onx_value *value),
                       const void *user) {
    for (size_t i = 1; i < node->input.n; i++) {
        const onx_value *in = onx_node_input(node, i);
        if (in && is_turned(user, in)) return false;
    }
    return true;
}

onx_turn_way onx_turn_way_of(const onx_pass_ctx *ctx, const onx_node *node, const onx_turn *turn,
                             bool (*is_turned)(const void *user, const onx_value *value),
                             const void *user) {
    kind is;
    size_t axis, n;
    int64_t pads[2 * ONX_RANK_MAX], axes[ONX_RANK_MAX];
    if (!kind_of(ctx, node, &is)) return ONX_TURN_NOT;
    bool passes = only_first(node, is_turned, user);
    switch (is) {
    case UNARY: break;
    case BROAD: passes = each_turns(ctx, node, turn, is_turned, user); break;
    case JOIN:
        passes = each_turns(ctx, node, turn, is_turned, user) &&
                 onx_axis(onx_op_int(onx_pass_op(ctx, node), node, "axis"), turn->n, &axis);
        for (size_t i = 0; i < node->input.n && passes; i++) {
            const onx_tensor *t = onx_pass_constant(ctx, onx_node_input(node, i));
            passes = is_turned(user, onx_node_input(node, i)) || onx_tensor_rank(t) == turn->n;
        }
        break;
    case ALONG:
        passes = onx_axis(onx_op_int(onx_pass_op(ctx, node), node, "axis"), turn->n, &axis);
        break;
    case REDUCE: return passes ? way_of_reduction(ctx, node, turn) : ONX_TURN_NOT;
    case PART:
        passes = passes && onx_pass_takes_constants(node->graph) &&
                 axes_of(ctx, node, 3, turn->n, &n, axes);
        break;
    case PADS:
        passes = passes && !onx_node_input(node, 3) && onx_pass_takes_constants(node->graph) &&
                 onx_pass_ints(ctx, node, "pads", 1, ONX_COUNT(pads), pads, &n) && n == 2 * turn->n;
        break;
    }
    return passes ? ONX_TURN_PASS : ONX_TURN_NOT;
}

/* ─ How ──────────────────────────────────────────────────────────────────────────────────────── */

/* The bytes of a constant in the order that they have before the turn. */
static void turn_bytes(const onx_turn *turn, const int64_t *from, size_t size, const char *in,
                       char *out, uint64_t count) {
    size_t steps[ONX_RANK_MAX], at[ONX_RANK_MAX] = {0}, step = size;
    int64_t to[ONX_RANK_MAX];
    for (size_t i = 0; i < turn->n; i++) to[turn->at[i]] = from[i];
    for (size_t i = turn->n; i-- > 0; step *= (size_t)from[i]) steps[turn->at[i]] = step;
    for (uint64_t e = 0; e < count; e++, out += size) {
        size_t place = 0;
        for (size_t i = 0; i < turn->n; i++) place += at[i] * steps[i];
        memcpy(out, in + place, size);
        for (size_t i = turn->n; i-- > 0 && ++at[i] == (size_t)to[i];) at[i] = 0;
    }
}

static onx_status turn_constant(onx_pass_ctx *ctx, onx_node *node, const onx_turn *turn,
                                const onx_value *value, onx_value **out) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    int64_t from[ONX_RANK_MAX], to[ONX_RANK_MAX];
    size_t bytes, rank = onx_tensor_rank(t), size = onx_dtype_bits(onx_tensor_dtype(t)) / 8;
    uint64_t count;
    if (onx_tensor_count(t, &count, NULL) || onx_tensor_bytes(t, &bytes, NULL))
        return onx_fail(ctx->diag, ONX_INVALID, "a constant cannot be read");
    *out = (onx_value *)(uintptr_t)value;
    if (count == 1) return ONX_OK; /* wherever it stands */
    for (size_t i = 0; i < turn->n; i++) {
        from[i] = i + rank < turn->n ? 1 : onx_tensor_dim(t, i + rank - turn->n);
        to[turn->at[i]] = from[i];
    }
    char *in = onx_arena_alloc(&ctx->arena, bytes), *turned = onx_arena_alloc(&ctx->arena, bytes);
    if (!in || !turned) return onx_fail_nomem(ctx->diag);
    ONX_TRY(onx_tensor_read(t, in, bytes, ctx->diag));
    turn_bytes(turn, from, size, in, turned, count);
    const char *name = onx_graph_new_name(node->graph, onx_value_name(value));
    *out = name ? onx_graph_add_initializer(node->graph, name, onx_tensor_dtype(t), turn->n, to,
                                            turned, bytes)
                : NULL;
    return *out ? ONX_OK : onx_fail_nomem(ctx->diag);
}

/* The list of integers that is attribute or input `index` of the node, of another content. */
static onx_status set_list(onx_pass_ctx *ctx, onx_node *node, const char *name, size_t index,
                           size_t n, const int64_t *list) {
    onx_value *value;
    if (onx_op_has(node, name))
        return onx_node_set_ints(node, name, n, list) ? onx_fail_nomem(ctx->diag) : ONX_OK;
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, name, n, list, &value));
    return onx_node_set_input(node, index, value, ctx->diag);
}

static onx_status set_axis(onx_pass_ctx *ctx, onx_node *made, const onx_node *node,
                           const onx_turn *turn) {
    size_t axis;
    if (!onx_axis(onx_op_int(onx_pass_op(ctx, node), node, "axis"), turn->n, &axis)) return ONX_OK;
    return onx_node_set_int(made, "axis", turn->at[axis]) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

static onx_status set_axes(onx_pass_ctx *ctx, onx_node *made, const onx_node *node, size_t index,
                           const onx_turn *turn) {
    int64_t axes[ONX_RANK_MAX];
    size_t n = 0;
    if (!axes_of(ctx, node, index, turn->n, &n, axes)) return ONX_OK;
    for (size_t i = 0; i < n; i++) axes[i] = turn->at[axes[i]];
    return set_list(ctx, made, "axes", index, n, axes);
}

static onx_status set_pads(onx_pass_ctx *ctx, onx_node *made, const onx_node *node,
                           const onx_turn *turn) {
    int64_t pads[2 * ONX_RANK_MAX], turned[2 * ONX_RANK_MAX];
    size_t n = 0;
    if (!onx_pass_ints(ctx, node, "pads", 1, ONX_COUNT(pads), pads, &n)) return ONX_OK;
    for (size_t i = 0; i < n; i++) turned[i / turn->n * turn->n + turn->at[i % turn->n]] = pads[i];
    return set_list(ctx, made, "pads", 1, n, turned);
}

onx_status onx_turn_remake(onx_pass_ctx *ctx, onx_node *node, const onx_turn *turn,
                           onx_value *const *in, onx_value **out) {
    kind is = UNARY;
    size_t n = node->input.n;
    onx_value **ins = onx_arena_array(&ctx->arena, n, sizeof *ins);
    if (!ins) return onx_fail_nomem(ctx->diag);
    (void)kind_of(ctx, node, &is);
    for (size_t i = 0; i < n; i++) {
        ins[i] = in[i] ? in[i] : onx_node_input(node, i);
        if (!in[i] && (is == BROAD || is == JOIN))
            ONX_TRY(turn_constant(ctx, node, turn, onx_node_input(node, i), &ins[i]));
    }
    ONX_TRY(onx_pass_add_node(ctx, node, onx_node_op(node), n, ins, out));
    onx_node *made = (*out)->def;
    ONX_TRY(onx_pass_copy_attrs(ctx, made, node));
    if (is == JOIN || is == ALONG) return set_axis(ctx, made, node, turn);
    if (is == REDUCE || is == PART) return set_axes(ctx, made, node, is == PART ? 3 : 1, turn);
    return is == PADS ? set_pads(ctx, made, node, turn) : ONX_OK;
}
