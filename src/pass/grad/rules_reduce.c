/* rules_reduce.c: derivatives of reductions, of Softmax and of the global pools.
 *
 * Of equal largest elements each gets its share. */
#include "pass/grad/gradient.h"

/* `kept` and `grad`: the output and its gradient with all dimensions of the input, so that they
 * broadcast to it. Where the node drops dimensions, it is computed once more with them. */
static onx_status put_kept(onx_grad *g) {
    if (onx_op_int(g->op, g->node, "keepdims")) {
        onx_grad_put(g, "kept = Identity (y0) grad = Identity (dy0)");
        return ONX_OK;
    }
    bool noop = strstr(g->op->signature, "noop_with_empty_axes") != NULL;
    bool attr = strstr(g->op->signature, "axes?:ints") != NULL;
    onx_grad_put(g, "kept = %s <keepdims: int = 1%s%s> (x0%s)", g->op->name,
                 attr ? ", axes: ints = @axes" : "",
                 noop ? ", noop_with_empty_axes: int = @noop_with_empty_axes" : "",
                 onx_node_input(g->node, 1) ? ", x1" : "");
    onx_grad_put_like(g, "grad", "dy0", "kept");
    return ONX_OK;
}

/* The derivative of the kept output by an element, times `grad`: dx0. */
static const struct slope {
    const char *op, *text;
} slopes[] = {
    {"ReduceL1", "sign = Sign (x0) dx0 = Mul (grad, sign)"},
    {"ReduceL2", "nil = Equal (kept, $0) norm = Where (nil, $1, kept) unit = Div (x0, norm) "
                 "dx0 = Mul (grad, unit)"},
    {"ReduceLogSum", "sum = Exp (kept) each = Div (grad, sum) shape = Shape (x0) "
                     "dx0 = Expand (each, shape)"},
    {"ReduceLogSumExp", "low = Sub (x0, kept) part = Exp (low) dx0 = Mul (grad, part)"},
    {"ReduceMax", "is = Equal (x0, kept) one = Where (is, $1, $0) "
                  "n = onx.internal.SumTo (one, kept) share = Div (grad, n) "
                  "dx0 = Mul (share, one)"},
    {"ReduceMean", "all = Size (x0) sums = Size (kept) n = Div (all, sums) "
                   "each = Cast <to: int = TYPE> (n) share = Div (grad, each) shape = Shape (x0) "
                   "dx0 = Expand (share, shape)"},
    {"ReduceProd", "part = Div (kept, x0) dx0 = Mul (grad, part)"},
    {"ReduceSum", "shape = Shape (x0) dx0 = Expand (grad, shape)"},
    {"ReduceSumSquare", "twice = Mul (x0, $2) dx0 = Mul (grad, twice)"},
};

static onx_status write_reduce(onx_grad *g) {
    const struct slope *slope = slopes;
    bool smallest = strcmp(g->op->name, "ReduceMin") == 0;
    while (strcmp(slope->op, smallest ? "ReduceMax" : g->op->name) != 0) slope++;
    ONX_TRY(put_kept(g));
    const char *type = strstr(slope->text, "TYPE");
    if (type)
        onx_grad_put(g, "%.*s%d%s", (int)(type - slope->text), slope->text,
                     (int)onx_grad_in(g, 0)->dtype, type + 4);
    else
        onx_grad_put(g, "%s", slope->text);
    return ONX_OK;
}

/* ─ Softmax ──────────────────────────────────────────────────────────────────────────────────── */

/* The axes it works on: one since 13, before that all from one on. */
static onx_status put_sum(onx_grad *g, const char *to, const char *from) {
    int64_t axis = onx_op_int(g->op, g->node, "axis");
    size_t rank = 0, first = 0;
    if (g->op->since >= 13) {
        onx_grad_put_reduce(g, "ReduceSum", to, from, axis, 1);
        return ONX_OK;
    }
    ONX_TRY(onx_grad_rank(g, 0, &rank));
    if (!onx_axis(axis, rank, &first)) first = rank;
    if (first == rank)
        onx_grad_put(g, "%s = Identity (%s)", to, from);
    else
        onx_grad_put_reduce(g, "ReduceSum", to, from, (int64_t)first, rank - first);
    return ONX_OK;
}

static onx_status write_softmax(onx_grad *g) {
    onx_grad_put(g, "part = Mul (dy0, y0)");
    ONX_TRY(put_sum(g, "sum", "part"));
    onx_grad_put(g, "rest = Sub (dy0, sum) dx0 = Mul (y0, rest)");
    return ONX_OK;
}

static onx_status write_log_softmax(onx_grad *g) {
    ONX_TRY(put_sum(g, "sum", "dy0"));
    onx_grad_put(g, "soft = Exp (y0) part = Mul (soft, sum) dx0 = Sub (dy0, part)");
    return ONX_OK;
}

/* ─ LpNormalization: y = x / norm, and 0 where that is 0 ─────────────────────────────────────── */

static onx_status write_lp(onx_grad *g) {
    bool one = onx_op_int(g->op, g->node, "p") == 1;
    int64_t axis = onx_op_int(g->op, g->node, "axis");
    onx_grad_put_reduce(g, one ? "ReduceL1" : "ReduceL2", "norm", "x0", axis, 1);
    onx_grad_put(g, "part = Mul (dy0, y0)");
    onx_grad_put_reduce(g, "ReduceSum", "sum", "part", axis, 1);
    onx_grad_put(g,
                 "along = %s (%s) tilt = Mul (along, sum) rest = Sub (dy0, tilt) "
                 "nil = Equal (norm, $0) some = Where (nil, $1, norm) "
                 "slope = Div (rest, some) dx0 = Where (nil, $0, slope)",
                 one ? "Sign" : "Identity", one ? "x0" : "y0");
    return ONX_OK;
}

/* ─ Global pools ─────────────────────────────────────────────────────────────────────────────── */

static onx_status write_global_average(onx_grad *g) {
    onx_grad_put(g,
                 "all = Size (x0) sums = Size (y0) n = Div (all, sums) "
                 "each = Cast <to: int = %d> (n) share = Div (dy0, each) shape = Shape (x0) "
                 "dx0 = Expand (share, shape)",
                 (int)onx_grad_in(g, 0)->dtype);
    return ONX_OK;
}

#define REDUCE(op_)                                                                                \
    { .op = op_, .write = write_reduce }

const onx_grad_rule onx_grad_reduce[] = {
    {"GlobalAveragePool", .write = write_global_average},
    {"GlobalMaxPool",
     .by = {"is = Equal (x0, y0) one = Where (is, $1, $0) n = onx.internal.SumTo (one, y0) "
            "share = Div (dy0, n) dx0 = Mul (share, one)"}},
    {"LogSoftmax", .write = write_log_softmax},
    {"LpNormalization", .write = write_lp},
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceLogSum"),
    REDUCE("ReduceLogSumExp"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    REDUCE("ReduceSum"),
    REDUCE("ReduceSumSquare"),
    {"Softmax", .write = write_softmax},
    {.op = NULL},
};
