/* einsum_product.c: Einsum of two factors is a product, of matrices or, without a sum, of elements:
 *
 *     bhid,bjhd->bhij     MatMul (a, Transpose <perm = [0, 2, 3, 1]> (b))
 *     bixy,xyj->bij       MatMul (Reshape <shape = [b, i, xy]> (a), Reshape <shape = [xy, j]> (b))
 *     i,j->ij             Mul (Unsqueeze <axes = [1]> (a), Unsqueeze <axes = [0]> (b))
 *
 * Indices of one factor alone are rows or columns. Where there are several, or several sums, they
 * become one dimension; where their sizes are not known well enough for that, all rows and columns
 * but the last are dimensions that the other factor is broadcast to. What has repeated or implied
 * indices, an ellipsis or a sum of one factor alone stays. One term is a sum, and turned. The
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

typedef struct roles {
    term shared, rows, columns, sums;
} roles;

static bool assign(const term t[TERMS], roles *r) {
    for (size_t i = 0; i < t[A].n; i++) {
        char c = t[A].at[i];
        bool in_b = has(&t[B], c), out = has(&t[OUT], c);
        if (in_b && out)
            (void)put(&r->shared, c);
        else if (out)
            (void)put(&r->rows, c);
        else if (in_b)
            (void)put(&r->sums, c);
        else
            return false;
    }
    for (size_t i = 0; i < t[B].n; i++) {
        char c = t[B].at[i];
        if (!has(&t[A], c) && !has(&t[OUT], c)) return false;
        if (!has(&t[A], c)) (void)put(&r->columns, c);
    }
    return r->shared.n + r->rows.n + r->columns.n == t[OUT].n;
}
/* One of each: a product as it is. */
static bool is_plain(const roles *r) {
    return r->rows.n == 1 && r->columns.n == 1 && r->sums.n == 1;
}

static void put_all(term *t, const term *more) {
    for (size_t i = 0; i < more->n; i++) (void)put(t, more->at[i]);
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

/* ─ A product of matrices ────────────────────────────────────────────────────────────────────── */

/* Shared, then nothing or its own for each of the rows and columns but the last. */
static void order_factor(const roles *r, bool of_a, term *order) {
    *order = r->shared;
    for (size_t i = 0; i + 1 < r->rows.n; i++) (void)put(order, of_a ? r->rows.at[i] : 0);
    for (size_t i = 0; i + 1 < r->columns.n; i++) (void)put(order, of_a ? 0 : r->columns.at[i]);
    (void)put(order, of_a ? r->rows.at[r->rows.n - 1] : r->sums.at[0]);
    (void)put(order, of_a ? r->sums.at[0] : r->columns.at[r->columns.n - 1]);
}

static void order_product(const roles *r, term *order) {
    *order = r->shared;
    for (size_t i = 0; i + 1 < r->rows.n; i++) (void)put(order, r->rows.at[i]);
    for (size_t i = 0; i + 1 < r->columns.n; i++) (void)put(order, r->columns.at[i]);
    (void)put(order, r->rows.at[r->rows.n - 1]);
    (void)put(order, r->columns.at[r->columns.n - 1]);
}

/* The node becomes `product`, whose dimensions are in that order. */
static onx_status turn(onx_pass_ctx *ctx, onx_node *node, const term *order, const term *out,
                       onx_value *product) {
    int64_t perm[ONX_RANK_MAX];
    for (size_t i = 0; i < out->n; i++) perm[i] = (int64_t)place(order, out->at[i]);
    ONX_TRY(onx_pass_remake(ctx, node, "Transpose", 1, &product));
    return onx_node_set_ints(node, "perm", out->n, perm) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}
static bool is_same(const term *a, const term *b) {
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

static onx_status replace(onx_pass_ctx *ctx, onx_node *node, const term t[TERMS], const roles *r) {
    onx_value *in[2], *product;
    term order;
    for (size_t i = A; i <= B; i++) {
        order_factor(r, i == A, &order);
        ONX_TRY(arrange(ctx, node, onx_node_input(node, i), &t[i], &order, &in[i]));
    }
    order_product(r, &order);
    if (is_same(&order, &t[OUT])) return onx_pass_remake(ctx, node, "MatMul", 2, in);
    ONX_TRY(onx_pass_add_node(ctx, node, "MatMul", 2, in, &product));
    return turn(ctx, node, &order, &t[OUT], product);
}

/* The same with rows, columns and sums that become one dimension each. */
typedef struct shape { /* for Reshape, if it is needed */
    int64_t at[ONX_RANK_MAX];
    size_t n, unknown;
    bool needed;
} shape;
typedef struct merged {
    shape in[2], out;
} merged;

/* The product of the sizes that the labels have in factor `i`; -1: not known, or nothing. */
static int64_t size_of(const onx_pass_ctx *ctx, const onx_node *node, const term t[TERMS], size_t i,
                       const char *labels, size_t n) {
    const onx_fact *f = onx_pass_fact(ctx, onx_node_input(node, i));
    int64_t all = 1, size;
    for (size_t k = 0; k < n; k++)
        if (!onx_sym_is_int(f->dims[place(&t[i], labels[k])], &size) || size <= 0 ||
            __builtin_mul_overflow(all, size, &all))
            return -1;
    return all;
}
static void add_size(shape *s, int64_t size) {
    s->at[s->n++] = size;
    s->unknown += size < 0;
}

/* At most one size may be unknown. */
static bool is_possible(const shape *s) {
    return !s->needed || s->unknown < 2;
}

/* False: a factor would have too many dimensions, or sizes that are not known. */
static bool merge(const onx_pass_ctx *ctx, const onx_node *node, const term t[TERMS],
                  const roles *r, merged *m) {
    if (r->shared.n + 2 > ONX_RANK_MAX) return false;
    *m = (merged){.out = {.needed = r->rows.n != 1 || r->columns.n != 1}};
    m->in[A].needed = r->rows.n != 1 || r->sums.n != 1;
    m->in[B].needed = r->columns.n != 1 || r->sums.n != 1;
    for (size_t i = 0; i < r->shared.n; i++) { /* as they are */
        for (size_t k = A; k <= B; k++) add_size(&m->in[k], 0);
        add_size(&m->out, 0);
    }
    add_size(&m->in[A], size_of(ctx, node, t, A, r->rows.at, r->rows.n));
    add_size(&m->in[A], size_of(ctx, node, t, A, r->sums.at, r->sums.n));
    add_size(&m->in[B], size_of(ctx, node, t, B, r->sums.at, r->sums.n));
    add_size(&m->in[B], size_of(ctx, node, t, B, r->columns.at, r->columns.n));
    for (size_t i = 0; i < r->rows.n; i++)
        add_size(&m->out, size_of(ctx, node, t, A, &r->rows.at[i], 1));
    for (size_t i = 0; i < r->columns.n; i++)
        add_size(&m->out, size_of(ctx, node, t, B, &r->columns.at[i], 1));
    return is_possible(&m->in[A]) && is_possible(&m->in[B]) && is_possible(&m->out);
}

static onx_status reshape(onx_pass_ctx *ctx, onx_node *node, const shape *s, onx_value **x) {
    onx_value *in[2] = {*x};
    if (!s->needed) return ONX_OK;
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "shape", s->n, s->at, &in[1]));
    return onx_pass_add_node(ctx, node, "Reshape", 2, in, x);
}

static onx_status replace_merged(onx_pass_ctx *ctx, onx_node *node, const term t[TERMS],
                                 const roles *r, const merged *m) {
    onx_value *in[2], *product;
    term order;
    for (size_t i = A; i <= B; i++) {
        order = r->shared;
        put_all(&order, i == A ? &r->rows : &r->sums);
        put_all(&order, i == A ? &r->sums : &r->columns);
        ONX_TRY(arrange(ctx, node, onx_node_input(node, i), &t[i], &order, &in[i]));
        ONX_TRY(reshape(ctx, node, &m->in[i], &in[i]));
    }
    ONX_TRY(onx_pass_add_node(ctx, node, "MatMul", 2, in, &product));
    ONX_TRY(reshape(ctx, node, &m->out, &product));
    order = r->shared;
    put_all(&order, &r->rows);
    put_all(&order, &r->columns);
    return turn(ctx, node, &order, &t[OUT], product);
}

/* ─ Others ───────────────────────────────────────────────────────────────────────────────────── */

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
    int64_t axes[ONX_RANK_MAX];
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
    return turn(ctx, node, &kept, &t[OUT], in[0]);
}

/* What is summed must be of one size: of MatMul it is not broadcast. */
static bool fits(const onx_pass_ctx *ctx, const onx_node *node, const term t[TERMS],
                 const term *sums) {
    const onx_fact *f[2];
    for (size_t i = A; i <= B; i++) {
        f[i] = onx_pass_fact(ctx, onx_node_input(node, i));
        if (f[i]->kind != ONX_TYPE_TENSOR || !f[i]->ranked || f[i]->rank != t[i].n) return false;
    }
    for (size_t i = 0; i < sums->n; i++) {
        const onx_sym *k = f[A]->dims[place(&t[A], sums->at[i])];
        if (!k || k != f[B]->dims[place(&t[B], sums->at[i])]) return false;
    }
    return f[A]->dtype == ONX_DTYPE_F32 || f[A]->dtype == ONX_DTYPE_F16 ||
           f[A]->dtype == ONX_DTYPE_BF16;
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
    roles r = {.sums = {{0}, 0}};
    if (onx_pass_is_microsoft(op, "FusedMatMul")) return visit_fused(ctx, node, op);
    if (!onx_pass_is(op, "Einsum") || node->input.n > 2) return ONX_OK;
    if (!parse(onx_op_string(op, node, "equation"), t)) return ONX_OK;
    if (node->input.n == 1 && !t[B].n && onx_model_opset(ctx->model, "") >= 13)
        return replace_one(ctx, node, t);
    if (node->input.n != 2 || !assign(t, &r) || !fits(ctx, node, t, &r.sums)) return ONX_OK;
    if (is_plain(&r)) return replace(ctx, node, t, &r);
    /* the rest may need constants, and Unsqueeze with an input */
    if (onx_model_opset(ctx->model, "") < 13 || !onx_pass_takes_constants(node->graph))
        return ONX_OK;
    if (!r.sums.n) return replace_elements(ctx, node, t);
    merged m;
    if (merge(ctx, node, t, &r, &m)) return replace_merged(ctx, node, t, &r, &m);
    return r.sums.n == 1 && r.rows.n && r.columns.n ? replace(ctx, node, t, &r) : ONX_OK;
}

extern onx_pass_fn onx_pass_einsum;
onx_status onx_pass_einsum(onx_pass_ctx *ctx, onx_graph *graph) {
    ONX_EACH (onx_node, node, graph->node) ONX_TRY(visit(ctx, node));
    return ONX_OK;
}
