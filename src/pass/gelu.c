/* gelu.c: Gelu, written out, to the operator, from opset 20 on:
 *
 *     0.5 x (1 + erf(x / sqrt(2)))                                 the factors in any order
 *     0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))              approximate = "tanh" */
#include "pass/pass.h"

#include <math.h>

typedef struct match {
    onx_pass_ctx *ctx;
    onx_value *x;
    onx_node *last; /* its output is the result */
} match;

static onx_node *made_by(const match *m, const onx_value *value, const char *op) {
    onx_node *node = value ? value->def : NULL;
    return node && onx_pass_is(onx_pass_op(m->ctx, node), op) ? node : NULL;
}

static bool is_number(const match *m, const onx_value *value, double number) {
    const onx_tensor *t = onx_pass_constant(m->ctx, value);
    uint64_t count;
    float x;
    if (!t || onx_tensor_count(t, &count, NULL) || count != 1) return false;
    return onx_tensor_read_as(t, ONX_DTYPE_F32, &x, sizeof x, NULL) == ONX_OK &&
           fabs((double)x - number) <= 1e-6 * number;
}

/* The other operand of a node of that operator that makes the value, of which one is the number. */
static onx_value *other(const match *m, const onx_value *value, const char *op, double number) {
    const onx_node *node = made_by(m, value, op);
    for (size_t i = 0; node && i < 2; i++)
        if (is_number(m, onx_node_input(node, i), number)) return onx_node_input(node, 1 - i);
    return NULL;
}

static bool is_cube(const match *m, const onx_value *value, const onx_value *x) {
    const onx_node *pow = made_by(m, value, "Pow"), *mul = made_by(m, value, "Mul");
    if (pow) return onx_node_input(pow, 0) == x && is_number(m, onx_node_input(pow, 1), 3);
    for (size_t i = 0; mul && i < 2; i++) {
        const onx_node *square = made_by(m, onx_node_input(mul, i), "Mul");
        if (square && onx_node_input(mul, 1 - i) == x && onx_node_input(square, 0) == x &&
            onx_node_input(square, 1) == x)
            return true;
    }
    return false;
}

/* x of erf(x / sqrt(2)). */
static onx_value *under_erf(const match *m, const onx_node *erf) {
    const onx_value *in = onx_node_input(erf, 0);
    const onx_node *div = made_by(m, in, "Div");
    if (!div) return other(m, in, "Mul", 0.70710678118654752);
    bool root = is_number(m, onx_node_input(div, 1), 1.4142135623730951);
    return root ? onx_node_input(div, 0) : NULL;
}

/* x of tanh(sqrt(2/pi) (x + 0.044715 x^3)). */
static onx_value *under_tanh(const match *m, const onx_node *tanh_) {
    const onx_value *sum = other(m, onx_node_input(tanh_, 0), "Mul", 0.79788456080286536);
    const onx_node *add = made_by(m, sum, "Add");
    for (size_t i = 0; add && i < 2; i++) {
        onx_value *x = onx_node_input(add, i);
        if (x && is_cube(m, other(m, onx_node_input(add, 1 - i), "Mul", 0.044715), x)) return x;
    }
    return NULL;
}

/* From 1 + erf to its product with x and 0.5, which it has no other use than. */
static bool find_product(match *m, onx_value *gate) {
    bool half = false, whole = false;
    while (!half || !whole) {
        size_t index;
        onx_node *mul = onx_pass_only_use(m->ctx, gate, &index);
        if (!mul || !onx_pass_is(onx_pass_op(m->ctx, mul), "Mul")) return false;
        const onx_value *factor = onx_node_input(mul, 1 - index);
        bool both = other(m, factor, "Mul", 0.5) == m->x && !half && !whole;
        bool is_half = !half && is_number(m, factor, 0.5), is_x = !whole && factor == m->x;
        if (!both && !is_half && !is_x) return false;
        half = half || both || is_half;
        whole = whole || both || is_x;
        m->last = mul;
        gate = onx_node_output(mul, 0);
    }
    return true;
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    match m = {.ctx = ctx};
    size_t index;
    const onx_op *op = onx_pass_op(ctx, node);
    bool tanh_ = onx_pass_is(op, "Tanh");
    if (!tanh_ && !onx_pass_is(op, "Erf")) return ONX_OK;
    m.x = tanh_ ? under_tanh(&m, node) : under_erf(&m, node);
    const onx_fact *fact = onx_pass_fact(ctx, m.x);
    if (!m.x || fact->kind != ONX_TYPE_TENSOR || fact->dtype != ONX_DTYPE_F32) return ONX_OK;
    onx_node *add = onx_pass_only_use(ctx, onx_node_output(node, 0), &index);
    if (!add || !onx_pass_is(onx_pass_op(ctx, add), "Add")) return ONX_OK;
    if (!is_number(&m, onx_node_input(add, 1 - index), 1)) return ONX_OK;
    if (!find_product(&m, onx_node_output(add, 0))) return ONX_OK;
    if (!onx_pass_same_shape(fact, onx_pass_fact(ctx, onx_node_output(m.last, 0)))) return ONX_OK;
    ONX_TRY(onx_pass_remake(ctx, m.last, "Gelu", 1, &m.x));
    bool failed = tanh_ && onx_node_set_string(m.last, "approximate", "tanh");
    return failed ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

extern onx_pass_fn onx_pass_gelu;
onx_status onx_pass_gelu(onx_pass_ctx *ctx, onx_graph *graph) {
    if (onx_model_opset(ctx->model, "") < 20) return ONX_OK;
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(ctx, node));
    }
    return ONX_OK;
}
