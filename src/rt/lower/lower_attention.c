/* lower_attention.c: the nodes that compute attention to one onx.internal::Attend:
 *
 *     MatMul(Q, Kᵀ)  Mul  Add  Where  Softmax  [Where IsNaN]  MatMul(, V)  [Transpose]
 *
 * with any of the numbers and biases in between that stand in that order, and V first with chances
 * transposed. What only shows Q, K and V differently before that (heads that are split off or
 * repeated, parts of one tensor) becomes part of their views (trace.h). Scores, chances and all
 * between must have no other use. */
#include "rt/lower/lower_attention.h"
#include "rt/lower/lower.h"

#include <math.h>

enum { STEPS = 12, CHOICES = 1 << ONX_ATTEND_BIASES };

typedef struct match {
    onx_pass_ctx *ctx;
    onx_node *softmax, *product, *last; /* last: its output is the result */
    onx_value *q, *k, *v;               /* k, v: as the products have them */
    bool turned;                        /* Vᵀ times chances transposed */
    bool guard;
    size_t rank;
    float scale;
    size_t n_biases; /* the last one first */
    onx_value *bias[ONX_ATTEND_BIASES];
    int64_t mode[ONX_ATTEND_BIASES];
    float fill[ONX_ATTEND_BIASES];
    int64_t order[ONX_VIEW_DIMS];
} match;

static bool named(const match *m, const onx_node *node, const char *name) {
    return node && onx_pass_is(onx_pass_op(m->ctx, node), name);
}

static bool is_float(const onx_fact *fact) {
    return fact->kind == ONX_TYPE_TENSOR && fact->dtype == ONX_DTYPE_F32 && fact->ranked;
}

static bool same_shape(const match *m, const onx_value *a, const onx_value *b) {
    return onx_pass_same_shape(onx_pass_fact(m->ctx, a), onx_pass_fact(m->ctx, b));
}

/* ─ Nodes ────────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_attend_make(onx_pass_ctx *ctx, onx_node *node, const onx_attend_parts *parts) {
    static const char *const names[] = {"q", "k", "v"};
    int64_t ints[ONX_VIEW_INTS];
    size_t n = parts->n_biases;
    ONX_TRY(onx_pass_remake(ctx, node, ONX_INTERNAL "::Attend", 3 + n, parts->in));
    onx_status status = onx_node_set_float(node, "scale", parts->scale);
    for (size_t i = 0; i < 3 && !status; i++)
        status = onx_node_set_ints(node, names[i], onx_view_write(&parts->views[i], ints), ints);
    if (!status) status = onx_node_set_ints(node, "y", parts->rank, parts->order);
    if (!status && n) status = onx_node_set_ints(node, "modes", n, parts->mode);
    if (!status && n) status = onx_node_set_floats(node, "fills", n, parts->fill);
    if (!status && parts->causal) status = onx_node_set_int(node, "causal", parts->causal);
    if (!status && parts->guard) status = onx_node_set_int(node, "guard", parts->guard);
    return status ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

onx_node *onx_attend_turned(onx_pass_ctx *ctx, onx_node *node, size_t rank, int64_t *order) {
    size_t n = 0, index;
    int64_t plain[ONX_VIEW_DIMS];
    onx_node *user = onx_pass_only_use(ctx, onx_node_output(node, 0), &index);
    bool turns = user && onx_pass_is(onx_pass_op(ctx, user), "Transpose");
    const int64_t *perm = turns ? onx_op_ints(user, "perm", &n) : NULL;
    if (!perm || n != rank) return node;
    for (size_t i = 0; i < n; i++)
        if (perm[i] < 0 || perm[i] >= (int64_t)n) return node;
    memcpy(plain, order, n * sizeof *plain);
    for (size_t i = 0; i < n; i++) order[i] = plain[perm[i]];
    return user;
}

/* ─ Before the softmax ───────────────────────────────────────────────────────────────────────── */

/* A bias of at most `rank` dimensions. */
static bool add_bias(match *m, onx_value *bias, size_t rank, onx_attend_mode mode, float fill) {
    const onx_fact *fact = onx_pass_fact(m->ctx, bias);
    onx_dtype dtype = mode == ONX_ATTEND_ADD ? ONX_DTYPE_F32 : ONX_DTYPE_BOOL;
    if (m->n_biases == ONX_ATTEND_BIASES || m->scale != 1 || !bias || !fact->ranked ||
        fact->rank > rank)
        return false;
    if (fact->kind != ONX_TYPE_TENSOR || fact->dtype != dtype) return false;
    m->bias[m->n_biases] = bias;
    m->mode[m->n_biases] = mode;
    m->fill[m->n_biases++] = fill;
    return true;
}

/* Scores as [batch / w, w, head, row, key], a bias [1, w, …] on them, and back again: what stands
 * before that. NULL: it is something else. */
static onx_value *across_windows(match *m, const onx_node *back) {
    size_t index;
    const onx_value *sum = onx_node_input(back, 0);
    const onx_node *add = sum ? sum->def : NULL;
    if (!named(m, add, "Add") || onx_pass_only_use(m->ctx, sum, &index) != back) return NULL;
    for (size_t i = 0; i < 2; i++) {
        onx_value *wide = onx_node_input(add, i), *bias = onx_node_input(add, 1 - i);
        const onx_fact *fact = onx_pass_fact(m->ctx, bias);
        int64_t one;
        if (!wide || !named(m, wide->def, "Reshape") || !same_shape(m, wide, sum)) continue;
        onx_value *scores = onx_node_input(wide->def, 0);
        if (onx_pass_only_use(m->ctx, wide, &index) != add || !scores) continue;
        const onx_fact *outer = onx_pass_fact(m->ctx, wide);
        if (!same_shape(m, scores, onx_node_output(back, 0)) || fact->rank != 5) continue;
        if (!fact->ranked || !fact->dims[0] || !onx_sym_is_int(fact->dims[0], &one) || one != 1)
            continue;
        if (outer->rank != 5 || !fact->dims[1] || fact->dims[1] != outer->dims[1]) continue;
        const onx_fact *inner = onx_pass_fact(m->ctx, scores);
        bool tail = inner->rank == 4;
        for (size_t d = 1; tail && d < 4; d++) tail = inner->dims[d] == outer->dims[d + 1];
        if (tail && add_bias(m, bias, 5, ONX_ATTEND_ADD, 0)) return scores;
    }
    return NULL;
}

static onx_value *across_where(match *m, const onx_node *node) {
    float fill;
    size_t rank;
    for (size_t i = 1; i < 3; i++) {
        onx_value *scores = onx_node_input(node, 3 - i);
        if (!onx_lower_scalar(m->ctx, onx_node_input(node, i), &fill, &rank)) continue;
        if (fill == 0 || isnan(fill)) return NULL;
        onx_attend_mode mode = i == 1 ? ONX_ATTEND_FILL_TRUE : ONX_ATTEND_FILL_FALSE;
        return add_bias(m, onx_node_input(node, 0), m->rank, mode, fill) ? scores : NULL;
    }
    return NULL;
}

static onx_value *across_scale(match *m, const onx_node *node) {
    float factor;
    size_t rank;
    bool divides = named(m, node, "Div");
    for (size_t i = 0; i < (divides ? 1 : 2); i++)
        if (onx_lower_scalar(m->ctx, onx_node_input(node, 1 - i), &factor, &rank)) {
            m->scale = divides ? m->scale / factor : m->scale * factor;
            return onx_node_input(node, i);
        }
    return NULL;
}

/* What the node is given as scores; bit `n_biases` of `choice` says which term of a sum they
 * are. */
static onx_value *across(match *m, const onx_node *node, unsigned choice) {
    if (named(m, node, "Add")) {
        size_t which = choice >> m->n_biases & 1;
        onx_value *scores = onx_node_input(node, which);
        return add_bias(m, onx_node_input(node, 1 - which), m->rank, ONX_ATTEND_ADD, 0) ? scores
                                                                                        : NULL;
    }
    if (named(m, node, "Where")) return across_where(m, node);
    if (named(m, node, "Reshape")) return across_windows(m, node);
    if (named(m, node, "Mul") || named(m, node, "Div")) return across_scale(m, node);
    return NULL;
}

/* From the softmax back to the product of Q and K. */
static bool find_product(match *m, unsigned choice) {
    size_t index;
    onx_value *x = onx_node_input(m->softmax, 0);
    onx_node *user = m->softmax;
    m->n_biases = 0;
    m->scale = 1;
    for (size_t i = 0; i < STEPS && x && x->def; i++) {
        if (!named(m, user, "Reshape") && onx_pass_only_use(m->ctx, x, &index) != user)
            return false;
        if (onx_pass_fact(m->ctx, x)->rank != m->rank) return false;
        onx_node *node = x->def;
        if (named(m, node, "MatMul")) {
            m->product = node;
            m->q = onx_node_input(node, 0);
            m->k = onx_node_input(node, 1);
            return m->q && m->k;
        }
        x = across(m, node, choice);
        user = node;
        if (x && named(m, node, "Reshape")) {
            onx_use use = {0};
            if (x->n_uses != 1 || onx_pass_held(m->ctx, x)) return false;
            onx_value_use_next(x, &use);
            user = use.node;
        }
    }
    return false;
}

/* ─ After the softmax ────────────────────────────────────────────────────────────────────────── */

/* Where(IsNaN(x), 0, x), both uses of x: its result, else x. */
static onx_value *across_guard(match *m, onx_value *x) {
    onx_use use = {0};
    onx_node *nodes[2] = {NULL};
    size_t n = 0, rank, index;
    float zero;
    if (x->n_uses != 2 || onx_pass_held(m->ctx, x)) return x;
    while (n < 2 && onx_value_use_next(x, &use)) nodes[n++] = use.node;
    if (n < 2) return x;
    size_t is = named(m, nodes[0], "IsNaN") ? 0 : 1;
    onx_node *nan = nodes[is], *where = nodes[1 - is];
    if (!named(m, nan, "IsNaN") || !named(m, where, "Where")) return x;
    if (onx_node_input(where, 0) != onx_node_output(nan, 0) || onx_node_input(where, 2) != x)
        return x;
    if (onx_pass_only_use(m->ctx, onx_node_output(nan, 0), &index) != where) return x;
    if (!onx_lower_scalar(m->ctx, onx_node_input(where, 1), &zero, &rank) || zero != 0) return x;
    m->guard = true;
    return onx_node_output(where, 0);
}

/* Is the node a Transpose of the last two dimensions? */
static bool swaps(const match *m, const onx_node *node) {
    size_t n;
    const int64_t *perm = named(m, node, "Transpose") ? onx_op_ints(node, "perm", &n) : NULL;
    if (!perm || n != m->rank || n < 2) return false;
    for (size_t i = 0; i + 2 < n; i++)
        if (perm[i] != (int64_t)i) return false;
    return perm[n - 2] == (int64_t)n - 1 && perm[n - 1] == (int64_t)n - 2;
}

static bool find_values(match *m) {
    size_t index;
    onx_value *x = onx_node_output(m->softmax, 0);
    x = x ? across_guard(m, x) : NULL;
    onx_node *user = x ? onx_pass_only_use(m->ctx, x, &index) : NULL;
    if (user && swaps(m, user)) {
        m->turned = true;
        user = onx_pass_only_use(m->ctx, onx_node_output(user, 0), &index);
    }
    if (!named(m, user, "MatMul") || index != m->turned) return false;
    m->v = onx_node_input(user, 1 - index);
    m->last = user;
    return m->v != NULL;
}

/* The dimensions of the result, those of a Transpose after it too. */
static void find_order(match *m) {
    size_t lack = ONX_VIEW_DIMS - m->rank;
    for (size_t i = 0; i < m->rank; i++) m->order[i] = (int64_t)(i + lack);
    if (m->turned) {
        m->order[m->rank - 2] = ONX_VIEW_COL;
        m->order[m->rank - 1] = ONX_VIEW_ROW;
    }
    m->last = onx_attend_turned(m->ctx, m->last, m->rank, m->order);
}

/* ─ The whole ────────────────────────────────────────────────────────────────────────────────── */

/* Matrices of the same number of dimensions, that many: what they broadcast to is settled in the
 * run. */
static bool fits(const match *m) {
    const onx_value *factors[] = {m->q, m->k, m->v};
    for (size_t i = 0; i < 3; i++) {
        const onx_fact *x = onx_pass_fact(m->ctx, factors[i]);
        if (!is_float(x) || x->rank != m->rank) return false;
    }
    return true;
}

/* The view of a factor, and the value it is of: as far back as it goes, or the factor itself. With
 * `scale`, numbers on the way are multiplied to that. */
static bool view_of(match *m, onx_value **value, bool turned, float *scale, onx_view *view) {
    int which[ONX_VIEW_DIMS] = {-1, -1, -1, -1}, rank = (int)m->rank;
    onx_trace trace;
    for (int d = 4 - rank; d < 2; d++) which[d] = d - (4 - rank);
    which[ONX_VIEW_ROW] = rank - (turned ? 1 : 2);
    which[ONX_VIEW_COL] = rank - (turned ? 2 : 1);
    if (!onx_trace_back(m->ctx, *value, scale != NULL, &trace)) return false;
    if (!onx_trace_view(&trace, which, view)) {
        *view = (onx_view){0};
        for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
            view->n[d] = which[d] >= 0;
            view->walks[d][0] =
                (onx_view_walk){which[d] >= 0 ? which[d] : 0, which[d] >= 0 ? which[d] : 0, 1, -1};
        }
        return true;
    }
    *value = trace.base;
    if (scale) *scale *= trace.scale;
    return true;
}

static onx_status fuse(match *m) {
    onx_attend_parts parts = {.in = {m->q, m->k, m->v}, .scale = m->scale, .rank = m->rank};
    size_t n = parts.n_biases = m->n_biases;
    parts.guard = m->guard;
    memcpy(parts.order, m->order, sizeof parts.order);
    if (!view_of(m, &parts.in[0], false, &parts.scale, &parts.views[0]) ||
        !view_of(m, &parts.in[1], true, &parts.scale, &parts.views[1]) ||
        !view_of(m, &parts.in[2], m->turned, NULL, &parts.views[2]))
        return ONX_OK;
    for (size_t i = 0; i < n; i++) {
        parts.in[3 + i] = m->bias[n - 1 - i];
        parts.mode[i] = m->mode[n - 1 - i];
        parts.fill[i] = m->fill[n - 1 - i];
    }
    return onx_attend_make(m->ctx, m->last, &parts);
}

static bool is_last_axis(const onx_pass_ctx *ctx, const onx_node *node, size_t rank) {
    int64_t axis = onx_op_int(onx_pass_op(ctx, node), node, "axis");
    return axis == -1 || axis == (int64_t)rank - 1;
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    match m = {.ctx = ctx, .softmax = node};
    const onx_fact *scores = onx_pass_fact(ctx, onx_node_input(node, 0));
    if (!named(&m, node, "Softmax") || !is_float(scores)) return ONX_OK;
    m.rank = scores->rank;
    if (m.rank < 2 || m.rank > ONX_VIEW_DIMS || !is_last_axis(ctx, node, m.rank)) return ONX_OK;
    unsigned choice = 0;
    while (choice < CHOICES && !find_product(&m, choice)) choice++;
    if (choice == CHOICES || !find_values(&m) || !fits(&m)) return ONX_OK;
    find_order(&m);
    return fuse(&m);
}

extern onx_pass_fn onx_lower_attention, onx_pass_dce;
onx_status onx_lower_attention(onx_pass_ctx *ctx, onx_graph *graph) {
    size_t before = ctx->changes;
    if (!onx_lower_has(ctx, "Attend")) return ONX_OK;
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(ctx, node));
        ONX_TRY(onx_lower_attention_op(ctx, node));
    }
    return ctx->changes == before ? ONX_OK : onx_pass_dce(ctx, graph);
}
