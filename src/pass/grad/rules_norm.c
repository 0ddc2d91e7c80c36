/* rules_norm.c: derivatives of normalizations.
 *
 * All are y = scale * n + bias with n = (x - mean) * r, r = 1 / sqrt (variance + epsilon). Where
 * mean and variance are those of x, the gradient h = dy * scale goes through them, too:
 *
 *     dx = r * (h - mean (h) - n * mean (h * n))                                                */
#include "pass/grad/gradient.h"

/* A run of axes that mean and variance are taken over, or everything but one of them. */
typedef struct axes {
    size_t first, n;
    bool batch; /* and axis 0 */
} axes;

static void put_mean(onx_grad *g, const char *to, const char *from, axes over) {
    char half[40];
    if (!over.batch) {
        onx_grad_put_reduce(g, "ReduceMean", to, from, (int64_t)over.first, over.n);
        return;
    }
    (void)strncat(strcpy(half, to), "_half", 10);
    onx_grad_put_reduce(g, "ReduceMean", half, from, 0, 1);
    if (over.n)
        onx_grad_put_reduce(g, "ReduceMean", to, half, (int64_t)over.first, over.n);
    else
        onx_grad_put(g, "%s = Identity (%s)", to, half);
}

/* n and r, of mean and variance of x. */
static void put_normal(onx_grad *g, axes over) {
    put_mean(g, "mean", "x0", over);
    onx_grad_put(g, "low = Sub (x0, mean) square = Mul (low, low)");
    put_mean(g, "variance", "square", over);
    onx_grad_put(g, "more = Add (variance, $epsilon) deviation = Sqrt (more) "
                    "r = Div ($1, deviation) n = Mul (low, r)");
}

static void put_through(onx_grad *g, axes over) {
    put_mean(g, "level", "h", over);
    onx_grad_put(g, "product = Mul (h, n)");
    put_mean(g, "slope", "product", over);
    onx_grad_put(g, "tilt = Mul (n, slope) even = Sub (h, level) rest = Sub (even, tilt) "
                    "dx0 = Mul (r, rest)");
}

/* to = x as [C, 1, 1 …], for an input of `rank` dimensions. */
static void put_column(onx_grad *g, const char *to, size_t x, size_t rank) {
    onx_buf_printf(&g->text, "%s_sizes = Constant <value: tensor = int64[%zu] {-1", to, rank - 1);
    for (size_t i = 2; i < rank; i++) onx_buf_puts(&g->text, ", 1");
    onx_grad_put(g, "}> () %s = Reshape (x%zu, %s_sizes)", to, x, to);
}

/* dx = from, summed to the shape of `like`, in the shape of the input. */
static void put_sum(onx_grad *g, size_t x, const char *from, const char *like) {
    char to[24] = "dx0", sums[24] = "sums0", name[24] = "x0";
    to[2] = sums[4] = name[1] = (char)('0' + x);
    onx_grad_put(g, "%s = onx.internal.SumTo (%s, %s)", sums, from, like);
    onx_grad_put_like(g, to, sums, name);
}

/* Scale and bias of channels: inputs 1 and 2. */
static void put_affine(onx_grad *g, const char *like) {
    if (onx_grad_wants(g, 1)) {
        onx_grad_put(g, "weighted = Mul (dy0, n)");
        put_sum(g, 1, "weighted", like);
    }
    if (onx_grad_wants(g, 2)) put_sum(g, 2, "dy0", like);
}

/* ─ BatchNormalization ───────────────────────────────────────────────────────────────────────── */

/* Mean and variance are inputs 3 and 4. */
static void put_given(onx_grad *g, size_t rank) {
    put_column(g, "mean", 3, rank);
    put_column(g, "variance", 4, rank);
    onx_grad_put(g, "low = Sub (x0, mean) more = Add (variance, $epsilon) "
                    "deviation = Sqrt (more) r = Div ($1, deviation) n = Mul (low, r)");
    if (onx_grad_wants(g, 0)) onx_grad_put(g, "dx0 = Mul (h, r)");
    if (onx_grad_wants(g, 3)) {
        onx_grad_put(g, "pull = Mul (h, r) away = Neg (pull)");
        put_sum(g, 3, "away", "mean");
    }
    if (onx_grad_wants(g, 4)) {
        onx_grad_put(g, "a = Mul (h, n) b = Mul (a, r) c = Mul (b, r) d = Div (c, $2) "
                        "shrink = Neg (d)");
        put_sum(g, 4, "shrink", "mean");
    }
}

static bool trains(const onx_grad *g) {
    if (g->op->since >= 14) return onx_op_int(g->op, g->node, "training_mode") != 0;
    for (size_t i = 1; i < g->node->output.n; i++)
        if (onx_node_output(g->node, i)) return true;
    return false;
}

static onx_status write_batch(onx_grad *g) {
    size_t rank;
    ONX_TRY(onx_grad_rank(g, 0, &rank));
    if (rank < 2) return onx_fail(g->diag, ONX_INVALID, "BatchNormalization of rank %zu", rank);
    put_column(g, "scale", 1, rank);
    onx_grad_put(g, "h = Mul (dy0, scale)");
    if (!trains(g)) {
        put_given(g, rank);
    } else {
        axes over = {2, rank - 2, true};
        put_normal(g, over);
        if (onx_grad_wants(g, 0)) put_through(g, over);
        for (size_t i = 3; i < 5; i++)
            if (onx_grad_wants(g, i))
                onx_grad_put(g, "shape%zu = Shape (x%zu) dx%zu = Expand ($0, shape%zu)", i, i, i,
                             i);
    }
    put_affine(g, "scale");
    return ONX_OK;
}

static onx_status write_instance(onx_grad *g) {
    size_t rank;
    ONX_TRY(onx_grad_rank(g, 0, &rank));
    if (rank < 3) return onx_fail(g->diag, ONX_INVALID, "InstanceNormalization of rank %zu", rank);
    axes over = {2, rank - 2, false};
    put_column(g, "scale", 1, rank);
    onx_grad_put(g, "h = Mul (dy0, scale)");
    put_normal(g, over);
    if (onx_grad_wants(g, 0)) put_through(g, over);
    put_affine(g, "scale");
    return ONX_OK;
}

static onx_status write_layer(onx_grad *g) {
    size_t rank, first;
    int64_t axis = onx_op_int(g->op, g->node, "axis");
    ONX_TRY(onx_grad_rank(g, 0, &rank));
    if (!onx_axis(axis, rank, &first))
        return onx_fail(g->diag, ONX_INVALID, "axis %lld is not a dimension of rank %zu",
                        (long long)axis, rank);
    axes over = {first, rank - first, false};
    onx_grad_put(g, "h = Mul (dy0, x1)");
    put_normal(g, over);
    if (onx_grad_wants(g, 0)) put_through(g, over);
    if (onx_grad_wants(g, 1))
        onx_grad_put(g, "weighted = Mul (dy0, n) dx1 = onx.internal.SumTo (weighted, x1)");
    if (onx_grad_wants(g, 2)) onx_grad_put(g, "dx2 = onx.internal.SumTo (dy0, x2)");
    return ONX_OK;
}

const onx_grad_rule onx_grad_norm[] = {
    {"BatchNormalization", .write = write_batch},
    {"InstanceNormalization", .write = write_instance},
    {"LayerNormalization", .write = write_layer},
    {.op = NULL},
};
