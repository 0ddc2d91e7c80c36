/* rules_eltwise.c: derivatives of operators that work element by element. At points where there is
 * no derivative it is one of those beside; of equal largest elements each gets its share. */
#include "pass/grad/gradient.h"

/* Sum, Mean, Max, Min: any number of inputs, which broadcast. */
static onx_status write_sum(onx_grad *g) {
    for (size_t i = 0; i < g->node->input.n; i++)
        if (onx_grad_wants(g, i)) onx_grad_put(g, "dx%zu = Identity (dy0)", i);
    return ONX_OK;
}

static onx_status write_mean(onx_grad *g) {
    onx_grad_put(g, "share = Div (dy0, $%zu)", g->node->input.n);
    for (size_t i = 0; i < g->node->input.n; i++)
        if (onx_grad_wants(g, i)) onx_grad_put(g, "dx%zu = Identity (share)", i);
    return ONX_OK;
}

static onx_status write_extreme(onx_grad *g) {
    size_t n = g->node->input.n;
    for (size_t i = 0; i < n; i++)
        onx_grad_put(g, "is%zu = Equal (x%zu, y0) one%zu = Where (is%zu, $1, $0)", i, i, i, i);
    onx_buf_puts(&g->text, "all = Sum (");
    for (size_t i = 0; i < n; i++) onx_buf_printf(&g->text, "%sone%zu", i ? ", " : "", i);
    onx_grad_put(g, ") share = Div (dy0, all)");
    for (size_t i = 0; i < n; i++)
        if (onx_grad_wants(g, i)) onx_grad_put(g, "dx%zu = Mul (share, one%zu)", i, i);
    return ONX_OK;
}

/* The exponent may have another type. */
static onx_status write_pow(onx_grad *g) {
    onx_dtype base = onx_grad_in(g, 0)->dtype, exponent = onx_grad_in(g, 1)->dtype;
    if (!base || !exponent)
        return onx_fail(g->diag, ONX_UNSUPPORTED,
                        "the derivative of Pow needs the types of its inputs");
    onx_grad_put(g, "p = Cast <to: int = %d> (x1)", (int)base);
    if (onx_grad_wants(g, 0))
        onx_grad_put(g, "less = Sub (p, $1) power = Pow (x0, less) slope = Mul (p, power) "
                        "flat = Equal (p, $0) some = Where (flat, $0, slope) "
                        "dx0 = Mul (dy0, some)");
    if (onx_grad_wants(g, 1))
        onx_grad_put(g,
                     "nil = Equal (x0, $0) one = Where (nil, $1, x0) log = Log (one) "
                     "grows = Mul (y0, log) wide = Mul (dy0, grows) "
                     "dx1 = Cast <to: int = %d> (wide)",
                     (int)exponent);
    return ONX_OK;
}

static onx_status write_cast(onx_grad *g) {
    onx_dtype dtype = onx_grad_in(g, 0)->dtype;
    if (!dtype)
        return onx_fail(g->diag, ONX_UNSUPPORTED,
                        "the derivative of %s needs the type of its input", g->op->name);
    onx_grad_put(g, "dx0 = Cast <to: int = %d> (dy0)", (int)dtype);
    return ONX_OK;
}

/* Mod <fmod = 1>: x0 - x1 * n, with n rounded towards 0. */
static onx_status write_mod(onx_grad *g) {
    if (onx_grad_wants(g, 0)) onx_grad_put(g, "dx0 = Identity (dy0)");
    if (onx_grad_wants(g, 1))
        onx_grad_put(g, "rest = Sub (y0, x0) times = Div (rest, x1) n = Round (times) "
                        "dx1 = Mul (dy0, n)");
    return ONX_OK;
}

/* What training leaves is scaled; the mask tells what that is. */
static onx_status write_dropout(onx_grad *g) {
    onx_dtype dtype = onx_grad_in(g, 0)->dtype;
    if (g->op->since < 12 || !onx_node_input(g->node, 2)) {
        onx_grad_put(g, "dx0 = Identity (dy0)");
        return ONX_OK;
    }
    if (onx_node_input(g->node, 1))
        onx_grad_put(g, "ratio = Cast <to: int = %d> (x1)", (int)dtype);
    else
        onx_grad_put(g, "ratio = Identity ($0.5)");
    onx_grad_put(g, "stays = Sub ($1, ratio) up = Div ($1, stays) scale = Where (x2, up, $1) "
                    "scaled = Mul (dy0, scale) dx0 = Where (y1, scaled, $0)");
    return ONX_OK;
}

#define FLAT(op_)                                                                                  \
    { .op = op_, .constant = true }

const onx_grad_rule onx_grad_eltwise[] = {
    {"Abs", .by = {"sign = Sign (x0) dx0 = Mul (dy0, sign)"}},
    {"Acos",
     .by = {"q = Mul (x0, x0) r = Sub ($1, q) s = Sqrt (r) t = Div (dy0, s) dx0 = Neg (t)"}},
    {"Acosh", .by = {"q = Mul (x0, x0) r = Sub (q, $1) s = Sqrt (r) dx0 = Div (dy0, s)"}},
    {"Add", .by = {"dx0 = Identity (dy0)", "dx1 = Identity (dy0)"}, .broadcasts = true},
    {"Asin", .by = {"q = Mul (x0, x0) r = Sub ($1, q) s = Sqrt (r) dx0 = Div (dy0, s)"}},
    {"Asinh", .by = {"q = Mul (x0, x0) r = Add (q, $1) s = Sqrt (r) dx0 = Div (dy0, s)"}},
    {"Atan", .by = {"q = Mul (x0, x0) r = Add (q, $1) dx0 = Div (dy0, r)"}},
    {"Atanh", .by = {"q = Mul (x0, x0) r = Sub ($1, q) dx0 = Div (dy0, r)"}},
    FLAT("Bernoulli"),
    {"Cast", .write = write_cast},
    {"CastLike", .write = write_cast, .ignores = 1 << 1},
    FLAT("Ceil"),
    {"Clip",
     .by = {"same = Equal (x0, y0) dx0 = Where (same, dy0, $0)",
            "low = Less (x0, x1) dx1 = Where (low, dy0, $0)",
            "high = Greater (x0, x2) dx2 = Where (high, dy0, $0)"},
     .broadcasts = true},
    {"Cos", .by = {"s = Sin (x0) t = Mul (dy0, s) dx0 = Neg (t)"}},
    {"Cosh", .by = {"s = Sinh (x0) dx0 = Mul (dy0, s)"}},
    {"Div", .by = {"dx0 = Div (dy0, x1)", "q = Div (y0, x1) r = Mul (dy0, q) dx1 = Neg (r)"},
     .broadcasts = true},
    {"Dropout", .write = write_dropout, .needs = 2},
    {"Elu", .by = {"low = Less (x0, $0) s = Add (y0, $alpha) t = Mul (dy0, s) "
                   "dx0 = Where (low, t, dy0)"}},
    {"Erf", .by = {"q = Mul (x0, x0) r = Neg (q) s = Exp (r) t = Mul (s, $1.1283791670955126) "
                   "dx0 = Mul (dy0, t)"}},
    {"Exp", .by = {"dx0 = Mul (dy0, y0)"}},
    FLAT("EyeLike"),
    FLAT("Floor"),
    FLAT("Hardmax"),
    {"HardSigmoid", .by = {"low = Greater (y0, $0) high = Less (y0, $1) within = And (low, high) "
                           "s = Mul (dy0, $alpha) dx0 = Where (within, s, $0)"}},
    {"Identity", .by = {"dx0 = Identity (dy0)"}},
    {"LeakyRelu", .by = {"low = Less (x0, $0) s = Mul (dy0, $alpha) dx0 = Where (low, s, dy0)"}},
    {"Log", .by = {"dx0 = Div (dy0, x0)"}},
    {"Max", .write = write_extreme, .broadcasts = true},
    {"Mean", .write = write_mean, .broadcasts = true},
    {"Min", .write = write_extreme, .broadcasts = true},
    {"Mod", .write = write_mod, .broadcasts = true},
    {"Mul", .by = {"dx0 = Mul (dy0, x1)", "dx1 = Mul (dy0, x0)"}, .broadcasts = true},
    {"Neg", .by = {"dx0 = Neg (dy0)"}},
    {"PRelu", .common = "low = Less (x0, $0)",
     .by = {"s = Mul (dy0, x1) dx0 = Where (low, s, dy0)",
            "part = Where (low, x0, $0) dx1 = Mul (dy0, part)"},
     .broadcasts = true},
    {"Pow", .write = write_pow, .broadcasts = true},
    FLAT("RandomNormalLike"),
    FLAT("RandomUniformLike"),
    {"Reciprocal", .by = {"q = Mul (y0, y0) r = Mul (dy0, q) dx0 = Neg (r)"}},
    {"Relu", .by = {"high = Greater (x0, $0) dx0 = Where (high, dy0, $0)"}},
    FLAT("Round"),
    {"Selu", .by = {"low = Less (x0, $0) both = Mul ($alpha, $gamma) s = Add (y0, both) "
                    "t = Mul (dy0, s) u = Mul (dy0, $gamma) dx0 = Where (low, t, u)"}},
    {"Sigmoid", .by = {"r = Sub ($1, y0) s = Mul (y0, r) dx0 = Mul (dy0, s)"}},
    FLAT("Sign"),
    {"Sin", .by = {"s = Cos (x0) dx0 = Mul (dy0, s)"}},
    {"Sinh", .by = {"s = Cosh (x0) dx0 = Mul (dy0, s)"}},
    {"Softplus", .by = {"s = Sigmoid (x0) dx0 = Mul (dy0, s)"}},
    {"Softsign", .by = {"size = Abs (x0) r = Add (size, $1) q = Mul (r, r) dx0 = Div (dy0, q)"}},
    {"Sqrt", .by = {"s = Mul (y0, $2) dx0 = Div (dy0, s)"}},
    {"Sub", .by = {"dx0 = Identity (dy0)", "dx1 = Neg (dy0)"}, .broadcasts = true},
    {"Sum", .write = write_sum, .broadcasts = true},
    {"Tan", .by = {"q = Mul (y0, y0) r = Add (q, $1) dx0 = Mul (dy0, r)"}},
    {"Tanh", .by = {"q = Mul (y0, y0) r = Sub ($1, q) dx0 = Mul (dy0, r)"}},
    {"ThresholdedRelu", .by = {"high = Greater (x0, $alpha) dx0 = Where (high, dy0, $0)"}},
    {"Where", .by = {NULL, "dx1 = Where (x0, dy0, $0)", "dx2 = Where (x0, $0, dy0)"},
     .broadcasts = true},
    {.op = NULL},
};
