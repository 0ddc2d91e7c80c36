/* rules_linear.c: derivatives of products of matrices, of convolutions and of pools. */
#include "ops/einsum/einsum.h"
#include "pass/grad/gradient.h"

#include <stdio.h>

/* ─ MatMul ───────────────────────────────────────────────────────────────────────────────────── */

/* to = from with its last two of `rank` dimensions exchanged. */
static void put_turned(onx_grad *g, const char *to, const char *from, size_t rank) {
    onx_buf_printf(&g->text, "%s = Transpose <perm: ints = [", to);
    for (size_t i = 0; i + 2 < rank; i++) onx_buf_printf(&g->text, "%zu, ", i);
    onx_grad_put(g, "%zu, %zu]> (%s)", rank - 1, rank - 2, from);
}

/* to = from with a new dimension of 1; axes were an attribute before 13. */
static void put_wider(onx_grad *g, const char *to, const char *from, int axis) {
    if (g->opset < 13)
        onx_grad_put(g, "%s = Unsqueeze <axes: ints = [%d]> (%s)", to, axis, from);
    else
        onx_grad_put(g,
                     "%s_axes = Constant <value: tensor = int64[1] {%d}> () "
                     "%s = Unsqueeze (%s, %s_axes)",
                     to, axis, to, from, to);
}

/* A vector is a row on the left, and a column on the right, in a, b and the gradient. */
static onx_status write_matmul(onx_grad *g) {
    size_t ra, rb;
    ONX_TRY(onx_grad_rank(g, 0, &ra));
    ONX_TRY(onx_grad_rank(g, 1, &rb));
    if (!ra || !rb) return onx_fail(g->diag, ONX_INVALID, "MatMul of a scalar");
    if (ra == 1)
        put_wider(g, "a", "x0", 0);
    else
        onx_grad_put(g, "a = Identity (x0)");
    if (rb == 1)
        put_wider(g, "b", "x1", -1);
    else
        onx_grad_put(g, "b = Identity (x1)");
    const char *half = ra == 1 ? "half" : "dy0", *dy = rb == 1 ? "dy" : half;
    if (ra == 1) put_wider(g, "half", "dy0", rb == 1 ? -1 : -2);
    if (rb == 1) put_wider(g, "dy", half, -1);
    if (onx_grad_wants(g, 0)) {
        put_turned(g, "bt", "b", rb < 2 ? 2 : rb);
        onx_grad_put(g, "da = MatMul (%s, bt) sa = onx.internal.SumTo (da, a)", dy);
        onx_grad_put_like(g, "dx0", "sa", "x0");
    }
    if (onx_grad_wants(g, 1)) {
        put_turned(g, "at", "a", ra < 2 ? 2 : ra);
        onx_grad_put(g, "db = MatMul (at, %s) sb = onx.internal.SumTo (db, b)", dy);
        onx_grad_put_like(g, "dx1", "sb", "x1");
    }
    return ONX_OK;
}

/* ─ Gemm: alpha * A' * B' + beta * C ─────────────────────────────────────────────────────────── */

static void put_product(onx_grad *g, const char *to, const char *a, const char *b, bool turn_a,
                        bool turn_b) {
    onx_grad_put(g,
                 "%s = Gemm <alpha: float = @alpha, transA: int = %d, transB: int = %d> (%s, %s)",
                 to, turn_a, turn_b, a, b);
}

static onx_status write_gemm(onx_grad *g) {
    bool ta = onx_op_int(g->op, g->node, "transA") != 0;
    bool tb = onx_op_int(g->op, g->node, "transB") != 0;
    if (onx_grad_wants(g, 0))
        put_product(g, "dx0", ta ? "x1" : "dy0", ta ? "dy0" : "x1", ta && tb, ta || !tb);
    if (onx_grad_wants(g, 1))
        put_product(g, "dx1", tb ? "dy0" : "x0", tb ? "x0" : "dy0", tb || !ta, tb && ta);
    if (onx_grad_wants(g, 2))
        onx_grad_put(g, "c = Mul (dy0, $beta) dx2 = onx.internal.SumTo (c, x2)");
    return ONX_OK;
}

/* ─ Einsum ───────────────────────────────────────────────────────────────────────────────────── */

/* Terms of an equation: labels, and '.' for "...". The output is the last one. */
enum { TERMS = 12, LABELS = 60 };
typedef struct equation {
    size_t n; /* operands */
    char terms[TERMS + 1][LABELS];
} equation;

/* False: it is longer than that, or has a label twice in a term, or cannot be read. */
static bool read_equation(onx_str text, equation *e) {
    size_t at = 0;
    for (;;) {
        char c = onx_einsum_take(&text), *term = e->terms[e->n];
        bool label = onx_einsum_is_letter(c) || c == ONX_EINSUM_DOTS;
        if (label && (at + 1 == LABELS || strchr(term, c))) return false;
        if (label) {
            term[at++] = c;
            continue;
        }
        if (c == ONX_EINSUM_END) return true;
        if ((c != ONX_EINSUM_COMMA && c != ONX_EINSUM_ARROW) || ++e->n > TERMS) return false;
        at = 0;
    }
}

static void put_term(onx_grad *g, const char *term) {
    for (; *term; term++) {
        char label[2] = {*term, '\0'};
        onx_buf_puts(&g->text, *term == '.' ? "..." : label);
    }
}

static bool is_elsewhere(const equation *e, size_t but, char label) {
    for (size_t i = 0; i <= e->n; i++)
        if (i != but && strchr(e->terms[i], label)) return true;
    return false;
}

/* The product of the gradient and the other operands, over the labels they have; along others the
 * gradient is the same everywhere. */
static onx_status put_factor(onx_grad *g, const equation *e, size_t i) {
    char kept[LABELS] = "", name[60], shape[60];
    size_t n = 0;
    for (const char *c = e->terms[i]; *c; c++)
        if (is_elsewhere(e, i, *c)) kept[n++] = *c;
    onx_buf_printf(&g->text, "part%zu = Einsum <equation: string = \"", i);
    put_term(g, e->terms[e->n]);
    for (size_t k = 0; k < e->n; k++) {
        if (k == i) continue;
        onx_buf_puts(&g->text, ",");
        put_term(g, e->terms[k]);
    }
    onx_buf_puts(&g->text, "->");
    put_term(g, kept);
    onx_buf_puts(&g->text, "\"> (dy0");
    for (size_t k = 0; k < e->n; k++)
        if (k != i) onx_buf_printf(&g->text, ", x%zu", k);
    onx_grad_put(g, ")");
    (void)snprintf(name, sizeof name, "part%zu", i);
    for (size_t at = 0; e->terms[i][at]; at++) {
        if (strchr(kept, e->terms[i][at])) continue;
        (void)snprintf(shape, sizeof shape, "wide%zu_%zu", i, at);
        put_wider(g, shape, name, (int)at);
        strcpy(name, shape);
    }
    if (strchr(e->terms[i], '.'))
        onx_grad_put(g, "dx%zu = onx.internal.SumTo (%s, x%zu)", i, name, i);
    else
        onx_grad_put(g, "shape%zu = Shape (x%zu) dx%zu = Expand (%s, shape%zu)", i, i, i, name, i);
    return ONX_OK;
}

static onx_status write_einsum(onx_grad *g) {
    equation e = {.n = 0};
    bool fit =
        read_equation(onx_op_string(g->op, g->node, "equation"), &e) && e.n == g->node->input.n;
    for (size_t i = 0; fit && i < e.n; i++) /* dots go with the output, and with no axis added */
        if (onx_grad_wants(g, i))
            for (const char *c = e.terms[i]; *c && strchr(e.terms[i], '.'); c++)
                fit = fit &&
                      (*c == '.' ? strchr(e.terms[e.n], '.') != NULL : is_elsewhere(&e, i, *c));
    if (!fit)
        return onx_fail(g->diag, ONX_UNSUPPORTED,
                        "there is no derivative of an Einsum whose equation has no arrow, a label "
                        "twice in a term, or dots that are summed");
    for (size_t i = 0; i < e.n; i++)
        if (onx_grad_wants(g, i)) ONX_TRY(put_factor(g, &e, i));
    return ONX_OK;
}

/* ─ Convolutions ─────────────────────────────────────────────────────────────────────────────── */

#define ATTRS                                                                                      \
    " <auto_pad: string = @auto_pad, dilations: ints = @dilations, group: int = @group, "          \
    "kernel_shape: ints = @kernel_shape, pads: ints = @pads, strides: ints = @strides> "

/* The bias: summed over all but the channels. */
static onx_status put_bias(onx_grad *g) {
    size_t rank;
    if (!onx_grad_wants(g, 2)) return ONX_OK;
    ONX_TRY(onx_grad_rank(g, 0, &rank));
    onx_buf_puts(&g->text, "column_sizes = Constant <value: tensor = int64[");
    onx_buf_printf(&g->text, "%zu] {-1", rank - 1);
    for (size_t i = 2; i < rank; i++) onx_buf_puts(&g->text, ", 1");
    onx_grad_put(g, "}> () column = Reshape (x2, column_sizes) "
                    "sums = onx.internal.SumTo (dy0, column)");
    onx_grad_put_like(g, "dx2", "sums", "x2");
    return ONX_OK;
}

static onx_status write_conv(onx_grad *g) {
    if (onx_grad_wants(g, 0))
        onx_grad_put(g, "dx0 = onx.internal.ConvGradX" ATTRS "(x0, x1, , dy0)");
    if (onx_grad_wants(g, 1))
        onx_grad_put(g, "dx1 = onx.internal.ConvGradW" ATTRS "(x0, x1, , dy0)");
    return put_bias(g);
}

/* ConvTranspose may leave its padding open: it follows from the sizes. */
static onx_status put_pads(onx_grad *g) {
    const onx_fact *x = onx_grad_in(g, 0), *w = onx_grad_in(g, 1), *y = onx_grad_out(g, 0);
    onx_str pad = onx_op_string(g->op, g->node, "auto_pad");
    size_t n, n_strides, n_dilations, n_more;
    const int64_t *strides = onx_op_ints(g->node, "strides", &n_strides);
    const int64_t *dilations = onx_op_ints(g->node, "dilations", &n_dilations);
    const int64_t *more = onx_op_ints(g->node, "output_padding", &n_more);
    int64_t pads[2 * ONX_RANK_MAX] = {0};
    ONX_TRY(onx_grad_rank(g, 0, &n));
    n -= n < 2 ? n : 2;
    for (size_t i = 0; i < n; i++) {
        int64_t in, kernel, out, s = i < n_strides ? strides[i] : 1;
        int64_t d = i < n_dilations ? dilations[i] : 1, p = i < n_more ? more[i] : 0;
        bool known = w->ranked && y->ranked && w->rank == n + 2 && y->rank == n + 2 &&
                     onx_sym_is_int(x->dims[i + 2], &in) &&
                     onx_sym_is_int(w->dims[i + 2], &kernel) &&
                     onx_sym_is_int(y->dims[i + 2], &out);
        known = known && s <= INT32_MAX && d <= INT32_MAX && p <= INT32_MAX && in <= INT32_MAX &&
                kernel <= INT32_MAX;
        int64_t all = known ? s * (in - 1) + p + (kernel - 1) * d + 1 - out : -1;
        if (all < 0)
            return onx_fail(g->diag, ONX_UNSUPPORTED,
                            "the derivative of ConvTranspose with auto_pad or output_shape needs "
                            "all sizes, and none beyond what its input covers");
        bool upper = onx_str_is(pad, "SAME_UPPER");
        pads[i] = upper ? all / 2 : all - all / 2;
        pads[n + i] = all - pads[i];
    }
    onx_buf_puts(&g->text, ", pads: ints = [");
    for (size_t i = 0; i < 2 * n; i++)
        onx_buf_printf(&g->text, "%s%lld", i ? ", " : "", (long long)pads[i]);
    onx_buf_puts(&g->text, "]");
    return ONX_OK;
}

/* The attributes of the Conv that ConvTranspose is the way back through. */
static onx_status put_transposed(onx_grad *g, const char *op, const char *inputs) {
    onx_str pad = onx_op_string(g->op, g->node, "auto_pad");
    bool open = onx_op_has(g->node, "output_shape") || onx_str_is(pad, "SAME_UPPER") ||
                onx_str_is(pad, "SAME_LOWER");
    onx_buf_printf(&g->text,
                   "%s <dilations: ints = @dilations, group: int = @group, "
                   "kernel_shape: ints = @kernel_shape, strides: ints = @strides",
                   op);
    if (open)
        ONX_TRY(put_pads(g));
    else
        onx_buf_puts(&g->text, ", auto_pad: string = @auto_pad, pads: ints = @pads");
    onx_grad_put(g, "> (%s)", inputs);
    return ONX_OK;
}

/* ConvTranspose is a Conv backwards: its input is the other's output. */
static onx_status write_conv_transpose(onx_grad *g) {
    if (onx_grad_wants(g, 0)) ONX_TRY(put_transposed(g, "dx0 = Conv", "dy0, x1"));
    if (onx_grad_wants(g, 1))
        ONX_TRY(put_transposed(g, "dx1 = onx.internal.ConvGradW", "dy0, x1, , x0"));
    return put_bias(g);
}

/* ConvGradX (X, W, none, dY) depends on W and dY; ConvGradW on X and dY. */
static onx_status write_conv_x(onx_grad *g) {
    if (onx_grad_wants(g, 1))
        onx_grad_put(g, "dx1 = onx.internal.ConvGradW" ATTRS "(dy0, x1, , x3)");
    if (onx_grad_wants(g, 3)) onx_grad_put(g, "dx3 = Conv" ATTRS "(dy0, x1)");
    return ONX_OK;
}
static onx_status write_conv_w(onx_grad *g) {
    if (onx_grad_wants(g, 0))
        onx_grad_put(g, "dx0 = onx.internal.ConvGradX" ATTRS "(x0, dy0, , x3)");
    if (onx_grad_wants(g, 3)) onx_grad_put(g, "dx3 = Conv" ATTRS "(x0, dy0)");
    return ONX_OK;
}

/* ─ Pools ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status write_max_pool(onx_grad *g) {
    const char *places = "y1";
    if (onx_op_int(g->op, g->node, "storage_order")) {
        places = "places";
        onx_grad_put(g, "other, places = MaxPool <auto_pad: string = @auto_pad, "
                        "ceil_mode: int = @ceil_mode, dilations: ints = @dilations, "
                        "kernel_shape: ints = @kernel_shape, pads: ints = @pads, "
                        "strides: ints = @strides> (x0)");
    }
    onx_grad_put(g, "dx0 = onx.internal.AddAt (dy0, %s, x0)", places);
    return ONX_OK;
}

static onx_status write_average_pool(onx_grad *g) {
    onx_buf_puts(&g->text, "dx0 = onx.internal.AveragePoolGrad");
    ONX_TRY(onx_grad_put_attrs(g));
    onx_grad_put(g, " (x0, dy0)");
    return ONX_OK;
}

/* Attributes that are not written stay away: older versions lack some. */
static onx_status write_average_pool_grad(onx_grad *g) {
    onx_buf_puts(&g->text, "dx1 = AveragePool");
    ONX_TRY(onx_grad_put_attrs(g));
    onx_grad_put(g, " (dy0)");
    return ONX_OK;
}

const onx_grad_rule onx_grad_linear[] = {
    {"AveragePool", .write = write_average_pool},
    {"AveragePoolGrad", .domain = "onx.internal", .write = write_average_pool_grad,
     .ignores = 1 << 0},
    {"Conv", .write = write_conv},
    {"ConvGradW", .domain = "onx.internal", .write = write_conv_w, .ignores = 1 << 1},
    {"ConvGradX", .domain = "onx.internal", .write = write_conv_x, .ignores = 1 << 0},
    {"ConvTranspose", .write = write_conv_transpose},
    {"Einsum", .write = write_einsum},
    {"Gemm", .write = write_gemm},
    {"MatMul", .write = write_matmul},
    {"MaxPool", .write = write_max_pool, .needs = 2},
    {.op = NULL},
};
