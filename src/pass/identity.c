/* identity.c: nodes that give what they get make way for it. */
#include "pass/pass.h"

typedef bool noop_test(const onx_pass_ctx *ctx, const onx_node *node);

static const onx_fact *in_fact(const onx_pass_ctx *ctx, const onx_node *node) {
    return onx_pass_fact(ctx, onx_node_input(node, 0));
}
static const onx_fact *out_fact(const onx_pass_ctx *ctx, const onx_node *node) {
    return onx_pass_fact(ctx, onx_node_output(node, 0));
}

static bool always(const onx_pass_ctx *ctx, const onx_node *node) {
    (void)ctx, (void)node;
    return true;
}

static bool one_input(const onx_pass_ctx *ctx, const onx_node *node) {
    (void)ctx;
    return node->input.n == 1;
}

static bool same_type(const onx_pass_ctx *ctx, const onx_node *node) {
    return onx_pass_same_type(in_fact(ctx, node), out_fact(ctx, node));
}

static bool same_shape(const onx_pass_ctx *ctx, const onx_node *node) {
    return onx_pass_same_shape(in_fact(ctx, node), out_fact(ctx, node));
}

static bool in_order(const onx_pass_ctx *ctx, const onx_node *node) {
    size_t n = 0;
    const int64_t *perm = onx_op_ints(node, "perm", &n);
    const onx_fact *in = in_fact(ctx, node);
    if (!perm) return in->ranked && in->rank < 2; /* else axes are reversed */
    for (size_t i = 0; i < n; i++)
        if (perm[i] != (int64_t)i) return false;
    return true;
}

/* Before version 7 the attribute is_test says that nothing is dropped; from version 12 on the input
 * training_mode must not say otherwise. */
static bool drops_nothing(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_value *mask = onx_node_output(node, 1), *mode = onx_node_input(node, 2);
    const onx_attr *test = onx_node_attr(node, "is_test");
    int64_t version = onx_model_opset(ctx->model, "");
    if (mask && (mask->n_uses || onx_pass_held(ctx, mask))) return false;
    if (version < 7) return test && onx_attr_int(test) == 1;
    if (!mode) return true;
    const onx_tensor *constant = onx_pass_constant(ctx, mode);
    uint8_t training = 1;
    return constant && onx_tensor_dtype(constant) == ONX_DTYPE_BOOL &&
           onx_tensor_read(constant, &training, 1, NULL) == ONX_OK && !training;
}

/* Not backwards, and nothing is left out. */
static bool takes_all(const onx_pass_ctx *ctx, const onx_node *node) {
    int64_t steps[ONX_RANK_MAX];
    size_t n = 0;
    if (!same_shape(ctx, node)) return false;
    if (onx_node_input(node, 4) && !onx_pass_ints(ctx, node, "", 4, ONX_RANK_MAX, steps, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (steps[i] < 1) return false;
    return true;
}

static bool pads_nothing(const onx_pass_ctx *ctx, const onx_node *node) {
    int64_t pads[2 * ONX_RANK_MAX];
    size_t n;
    if (!onx_pass_ints(ctx, node, "pads", 1, ONX_COUNT(pads), pads, &n)) return false;
    for (size_t i = 0; i < n; i++)
        if (pads[i]) return false;
    return true;
}

static const struct {
    const char *op;
    noop_test *is_noop;
} rules[] = {
    {"Identity", always},    {"Cast", same_type},        {"CastLike", same_type},
    {"Transpose", in_order}, {"Dropout", drops_nothing}, {"Concat", one_input},
    {"Reshape", same_shape}, {"Expand", same_shape},     {"Flatten", same_shape},
    {"Squeeze", same_shape}, {"Unsqueeze", same_shape},  {"Tile", same_shape},
    {"Slice", takes_all},    {"Pad", pads_nothing},      {"Sum", one_input},
    {"Max", one_input},      {"Min", one_input},         {"Mean", one_input},
};

extern onx_pass_fn onx_pass_identity;
onx_status onx_pass_identity(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        onx_value *in = onx_node_input(node, 0), *out = onx_node_output(node, 0);
        bool done = false;
        for (size_t i = 0; i < ONX_COUNT(rules) && !done; i++)
            if (onx_pass_named(ctx, node, rules[i].op) && onx_pass_can_replace(ctx, out, in) &&
                rules[i].is_noop(ctx, node))
                ONX_TRY(onx_pass_replace(ctx, out, in, &done));
        if (done) ONX_TRY(onx_pass_remove(ctx, node));
    }
    return ONX_OK;
}
