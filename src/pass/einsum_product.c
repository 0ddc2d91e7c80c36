/* einsum_product.c: Einsum of two factors with at most one index summed over is a product, of
 * matrices or of elements:
 *
 *     bhid,bjhd->bhij     MatMul (a, Transpose <perm = [0, 2, 3, 1]> (b))
 *     i,j->ij             Mul (Unsqueeze <axes = [1]> (a), Unsqueeze <axes = [0]> (b))
 *
 * Indices of one factor alone are rows or columns; where it has more, all but the last are
 * dimensions that the other factor is broadcast to. What has repeated or implied indices, an
 * ellipsis, another sum, or no rows or columns for it, stays. One term is a sum, and turned. The
 * FusedMatMul of com.microsoft is a product, too, but where a batch is turned:
 *
 *     alpha a bᵀ          Mul (MatMul (a, Transpose <perm = [0, 2, 1]> (b)), alpha) */
#include "pass/pass.h"

enum { A, B, OUT, TERMS };

typedef struct term {
    char at[ONX_RANK_MAX];
    size_t n;
} term;

static bool has(const term *t, char label) {
    return memchr(t->at, label, t->n);
}
static size_t place(const term *t, char label) {
    return (size_t)((const char *)memchr(t->at, label, t->n) - t->at);
}
static bool put(term *t, char label) {
    if (t->n == ONX_RANK_MAX) return false;
    t->at[t->n++] = label;
    return true;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "ab,bc->ac" or "ab->b", without repeated indices in a term. */
static bool parse(onx_str text, term out[TERMS]) {
    size_t t = A;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == ' ') continue;
        if (c == ',' && t == A)
            t = B;
        else if (c == '-' && t != OUT && i + 1 < text.size && text.data[i + 1] == '>')
            t = OUT, i++;
        else if (!is_letter(c) || has(&out[t], c) || !put(&out[t], c))
            return false;
    }
    return t == OUT;
}

/* The order of dimensions: shared, those of A alone, of B alone, row, column; and the sum. */
typedef struct roles {
    term shared, rows, columns;
    char sum;
} roles;

static bool assign(const term t[TERMS], roles *r) {
    for (size_t i = 0; i < t[A].n; i++) {
        char c = t[A].at[i];
        bool in_b = has(&t[B], c), out = has(&t[OUT], c);
        if (in_b && out)
            (void)put(&r->shared, c);
        else if (out)
            (void)put(&r->rows, c);
        else if (in_b && !r->sum)
            r->sum = c;
        else
            return false;
    }
    for (size_t i = 0; i < t[B].n; i++) {
        char c = t[B].at[i];
        if (!has(&t[A], c) && !has(&t[OUT], c)) return false;
        if (!has(&t[A], c)) (void)put(&r->columns, c);
    }
    size_t all = r->shared.n + r->rows.n + r->columns.n;
    return (!r->sum || (r->rows.n && r->columns.n)) && all == t[OUT].n;
}

/* A factor with its dimensions as in `order`; none where that has 0. */
static onx_status arrange(onx_pass_ctx *ctx, onx_node *node, onx_value *x, const term *from,
                          const term *order, onx_value **out) {
    int64_t perm[ONX_RANK_MAX], axes[ONX_RANK_MAX];
    size_t n = 0, n_axes = 0;
    bool same = true;
    for (size_t i = 0; i < order->n; i++) {
        if (!order->at[i]) {
            axes[n_axes++] = (int64_t)i;
            continue;
        }
        perm[n] = (int64_t)place(from, order->at[i]);
        same = same && perm[n] == (int64_t)n;
        n++;
    }
    *out = x;
    if (!same) {
        ONX_TRY(onx_pass_add_node(ctx, node, "Transpose", 1, &x, out));
        if (onx_node_set_ints((*out)->def, "perm", n, perm)) return onx_fail_nomem(ctx->diag);
    }
    if (!n_axes) return ONX_OK;
    onx_value *in[2] = {*out};
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "axes", n_axes, axes, &in[1]));
    return onx_pass_add_node(ctx, node, "Unsqueeze", 2, in, out);
}

/* Shared, then `own` or nothing for each of the rows and columns but the last. */
static void order_factor(const roles *r, bool of_a, term *order) {
    *order = r->shared;
    for (size_t i = 0; i + 1 < r->rows.n; i++) (void)put(order, of_a ? r->rows.at[i] : 0);
    for (size_t i = 0; i + 1 < r->columns.n; i++) (void)put(order, of_a ? 0 : r->columns.at[i]);
    (void)put(order, of_a ? r->rows.at[r->rows.n - 1] : r->sum);
    (void)put(order, of_a ? r->sum : r->columns.at[r->columns.n - 1]);
}

static void order_product(const roles *r, term *order) {
    *order = r->shared;
    for (size_t i = 0; i + 1 < r->rows.n; i++) (void)put(order, r->rows.at[i]);
    for (size_t i = 0; i + 1 < r->columns.n; i++) (void)put(order, r->columns.at[i]);
    (void)put(order, r->rows.at[r->rows.n - 1]);
    (void)put(order, r->columns.at[r->columns.n - 1]);
}

static onx_status replace(onx_pass_ctx *ctx, onx_node *node, const term t[TERMS], const roles *r) {
    onx_value *in[2], *product;
    term order;
    int64_t perm[ONX_RANK_MAX];
    bool same = true;
    for (size_t i = A; i <= B; i++) {
        order_factor(r, i == A, &order);
        ONX_TRY(arrange(ctx, node, onx_node_input(node, i), &t[i], &order, &in[i]));
    }
    order_product(r, &order);
    for (size_t i = 0; i < t[OUT].n; i++) {
        perm[i] = (int64_t)place(&order, t[OUT].at[i]);
        same = same && perm[i] == (int64_t)i;
    }
    if (same) return onx_pass_remake(ctx, node, "MatMul", 2, in);
    ONX_TRY(onx_pass_add_node(ctx, node, "MatMul", 2, in, &product));
    ONX_TRY(onx_pass_remake(ctx, node, "Transpose", 1, &product));
    return onx_node_set_ints(node, "perm", t[OUT].n, perm) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

/* Without a sum: both factors with the dimensions of the output. */
static onx_status replace_elements(onx_pass_ctx *ctx, onx_node *node, const term t[TERMS]) {
    onx_value *in[2];
    for (size_t i = A; i <= B; i++) {
        term order = t[OUT];
        for (size_t d = 0; d < order.n; d++)
            if (!has(&t[i], order.at[d])) order.at[d] = 0;
        ONX_TRY(arrange(ctx, node, onx_node_input(node, i), &t[i], &order, &in[i]));
    }
    return onx_pass_remake(ctx, node, "Mul", 2, in);
}

/* One term: what is not in the output is summed, the rest turned. */
static onx_status replace_one(onx_pass_ctx *ctx, onx_node *node, const term t[TERMS]) {
    onx_value *in[2] = {onx_node_input(node, 0)};
    int64_t perm[ONX_RANK_MAX], axes[ONX_RANK_MAX];
    size_t n_axes = 0;
    term kept = {{0}, 0};
    const onx_fact *f = onx_pass_fact(ctx, in[0]);
    if (f->kind != ONX_TYPE_TENSOR || !f->ranked || f->rank != t[A].n) return ONX_OK;
    for (size_t i = 0; i < t[A].n; i++)
        if (has(&t[OUT], t[A].at[i]))
            (void)put(&kept, t[A].at[i]);
        else
            axes[n_axes++] = (int64_t)i;
    if (kept.n != t[OUT].n || (n_axes && !onx_pass_takes_constants(node->graph))) return ONX_OK;
    if (n_axes) {
        ONX_TRY(onx_pass_add_ints(ctx, node->graph, "axes", n_axes, axes, &in[1]));
        ONX_TRY(onx_pass_add_node(ctx, node, "ReduceSum", 2, in, &in[0]));
        if (onx_node_set_int(in[0]->def, "keepdims", 0)) return onx_fail_nomem(ctx->diag);
    }
    for (size_t i = 0; i < kept.n; i++) perm[i] = (int64_t)place(&kept, t[OUT].at[i]);
    ONX_TRY(onx_pass_remake(ctx, node, "Transpose", 1, in));
    return onx_node_set_ints(node, "perm", kept.n, perm) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

/* The sum must be of one size: of MatMul it is not broadcast. */
static bool fits(const onx_pass_ctx *ctx, const onx_node *node, const term t[TERMS], char sum) {
    const onx_fact *f[2];
    for (size_t i = A; i <= B; i++) {
        f[i] = onx_pass_fact(ctx, onx_node_input(node, i));
        if (f[i]->kind != ONX_TYPE_TENSOR || !f[i]->ranked || f[i]->rank != t[i].n) return false;
    }
    const onx_sym *k = sum ? f[A]->dims[place(&t[A], sum)] : NULL;
    bool floats = f[A]->dtype == ONX_DTYPE_F32 || f[A]->dtype == ONX_DTYPE_F16 ||
                  f[A]->dtype == ONX_DTYPE_BF16;
    return floats && (!sum || (k && k == f[B]->dims[place(&t[B], sum)]));
}

static onx_status visit_fused(onx_pass_ctx *ctx, onx_node *node, const onx_op *op) {
    static const char *const turns[] = {"transA", "transB"};
    float alpha = onx_op_float(op, node, "alpha");
    onx_value *in[2], *product;
    if (onx_op_int(op, node, "transBatchA") || onx_op_int(op, node, "transBatchB")) return ONX_OK;
    if (alpha != 1 && !onx_pass_takes_constants(node->graph)) return ONX_OK;
    for (size_t i = A; i <= B; i++) {
        const onx_fact *f = onx_pass_fact(ctx, onx_node_input(node, i));
        bool known = f->kind == ONX_TYPE_TENSOR && f->ranked && f->rank > 1;
        if (!known || f->dtype != ONX_DTYPE_F32 || onx_model_opset(ctx->model, "") < 7)
            return ONX_OK;
    }
    for (size_t i = A; i <= B; i++) {
        term from = {{0}, 0}, order;
        size_t rank = onx_pass_fact(ctx, onx_node_input(node, i))->rank;
        for (size_t d = 0; d < rank; d++) (void)put(&from, (char)(d + 1));
        order = from;
        if (onx_op_int(op, node, turns[i]))
            order.at[rank - 2] = (char)rank, order.at[rank - 1] = (char)(rank - 1);
        ONX_TRY(arrange(ctx, node, onx_node_input(node, i), &from, &order, &in[i]));
    }
    if (alpha == 1) return onx_pass_remake(ctx, node, "MatMul", 2, in);
    ONX_TRY(onx_pass_add_node(ctx, node, "MatMul", 2, in, &product));
    in[0] = product;
    ONX_TRY(onx_pass_add_floats(ctx, node->graph, "alpha", 0, NULL, &alpha, &in[1]));
    return onx_pass_remake(ctx, node, "Mul", 2, in);
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    const onx_op *op = onx_pass_op(ctx, node);
    term t[TERMS] = {{{0}, 0}};
    roles r = {.sum = 0};
    if (onx_pass_is_microsoft(op, "FusedMatMul")) return visit_fused(ctx, node, op);
    if (!onx_pass_is(op, "Einsum") || node->input.n > 2) return ONX_OK;
    if (!parse(onx_op_string(op, node, "equation"), t)) return ONX_OK;
    if (node->input.n == 1 && !t[B].n && onx_model_opset(ctx->model, "") >= 13)
        return replace_one(ctx, node, t);
    if (node->input.n != 2 || !assign(t, &r)) return ONX_OK;
    bool more = r.sum ? r.rows.n > 1 || r.columns.n > 1 : r.rows.n || r.columns.n;
    /* needs constants, and Unsqueeze with an input */
    if (more && (onx_model_opset(ctx->model, "") < 13 || !onx_pass_takes_constants(node->graph)))
        return ONX_OK;
    if (!fits(ctx, node, t, r.sum)) return ONX_OK;
    return r.sum ? replace(ctx, node, t, &r) : replace_elements(ctx, node, t);
}

extern onx_pass_fn onx_pass_einsum;
onx_status onx_pass_einsum(onx_pass_ctx *ctx, onx_graph *graph) {
    ONX_EACH (onx_node, node, graph->node) ONX_TRY(visit(ctx, node));
    return ONX_OK;
}
