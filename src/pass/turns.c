/* turns.c: transpositions: two in a row become one, and one goes on past nodes that do not mind
 * where in the end there are fewer. From each one the region of nodes is searched that could work
 * before it:
 *
 *     x ─ T ─ Relu ─ Add ─ T⁻¹ ─ Conv          gain: each T that nothing outside needs (a source),
 *     y ─ T ────────┘   └─── MatMul                  and each T⁻¹; cost: a T where a result leaves
 *
 * Regions are at most MAX_REGION nodes long. */
#include "pass/turns.h"

enum { MAX_REGION = 256, MAX_VISITS = 1024 };

/* A value that is turned, and what it is before the turn. */
typedef struct turned {
    onx_value *value, *before; /* before: unless it is a source; see before_turn */
    size_t waiting;            /* uses that were not met yet */
    bool source, leaves;       /* of a Transpose; is needed turned */
} turned;

typedef struct region {
    onx_pass_ctx *ctx;
    onx_turn turn, back;
    onx_map index; /* value to `turned` */
    turned list[MAX_REGION];
    onx_node *nodes[MAX_REGION]; /* that take a turned value without minding */
    size_t n_list, n_nodes;
    size_t waiting; /* uses of turned values ahead */
    size_t ends;    /* transpositions back that were met */
} region;

/* ─ Transpositions ───────────────────────────────────────────────────────────────────────────── */

static bool read_turn(const onx_pass_ctx *ctx, const onx_node *node, onx_turn *out) {
    const onx_fact *in = onx_pass_fact(ctx, onx_node_input(node, 0));
    size_t n = 0;
    bool seen[ONX_RANK_MAX] = {false};
    if (!onx_pass_named(ctx, node, "Transpose") || !onx_node_output(node, 0)) return false;
    const int64_t *perm = onx_op_ints(node, "perm", &n);
    if (!perm) n = in->ranked ? in->rank : 0;
    if (n < 2 || n > ONX_RANK_MAX) return false;
    for (size_t i = 0; i < n; i++) {
        int64_t at = perm ? perm[i] : (int64_t)(n - 1 - i);
        if (at < 0 || at >= (int64_t)n || seen[at]) return false;
        seen[at] = true;
        out->at[i] = (uint8_t)at;
    }
    out->n = n;
    return true;
}

static bool same_turn(const onx_turn *a, const onx_turn *b) {
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

static bool is_none(const onx_turn *turn) {
    for (size_t i = 0; i < turn->n; i++)
        if (turn->at[i] != i) return false;
    return true;
}

static onx_status set_turn(onx_pass_ctx *ctx, onx_node *node, const onx_turn *turn) {
    int64_t perm[ONX_RANK_MAX];
    for (size_t i = 0; i < turn->n; i++) perm[i] = turn->at[i];
    return onx_node_set_ints(node, "perm", turn->n, perm) ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

/* The Transpose `node` of what another one by `first` makes of x: one of x. */
static onx_status join(onx_pass_ctx *ctx, onx_node *node, const onx_turn *first, onx_value *x) {
    onx_turn turn, both = {.n = first->n};
    onx_value *y = onx_node_output(node, 0);
    bool done = false;
    if (!read_turn(ctx, node, &turn) || turn.n != first->n) return ONX_OK;
    for (size_t i = 0; i < turn.n; i++) both.at[i] = first->at[turn.at[i]];
    if (is_none(&both)) {
        if (onx_pass_can_replace(ctx, y, x)) ONX_TRY(onx_pass_replace(ctx, y, x, &done));
        return done ? onx_pass_remove(ctx, node)
                    : onx_pass_remake(ctx, node, "Identity", 1, (onx_value *const[]){x});
    }
    ONX_TRY(onx_pass_remake(ctx, node, "Transpose", 1, (onx_value *const[]){x}));
    return set_turn(ctx, node, &both);
}

static onx_status join_with_last(onx_pass_ctx *ctx, onx_node *node, bool *done) {
    onx_turn first, turn;
    const onx_value *x = onx_node_input(node, 0);
    onx_node *last = x ? x->def : NULL;
    if (!last || last->graph != node->graph || !read_turn(ctx, node, &turn) ||
        !read_turn(ctx, last, &first) || first.n != turn.n)
        return ONX_OK;
    *done = true;
    return join(ctx, node, &first, onx_node_input(last, 0));
}

/* ─ The region ───────────────────────────────────────────────────────────────────────────────── */

static turned *find(const region *r, const onx_value *value) {
    return value ? onx_map_get(&r->index, value, (onx_str){0}) : NULL;
}

static bool add(region *r, onx_value *value, bool source) {
    if (r->n_list == MAX_REGION) return false;
    turned *t = &r->list[r->n_list++];
    *t = (turned){.value = value, .waiting = value->n_uses, .source = source};
    t->leaves = onx_pass_held(r->ctx, value);
    r->waiting += value->n_uses;
    return onx_map_put(&r->index, value, (onx_str){0}, t);
}

static bool touches(const region *r, const onx_node *node) {
    for (size_t i = 0; i < node->input.n; i++)
        if (find(r, onx_node_input(node, i))) return true;
    return false;
}

/* Is it in the region, or the result of a Transpose that could be? One of a value of the region is
 * joined with others, and so no source. */
static bool is_turned(const void *user, const onx_value *value) {
    const region *r = user;
    onx_turn turn;
    return find(r, value) || (value->def && value->graph == r->list[0].value->graph &&
                              read_turn(r->ctx, value->def, &turn) && same_turn(&turn, &r->turn) &&
                              !touches(r, value->def));
}

/* The uses of the node are met; those that mind make values leave. */
static void meet(region *r, const onx_node *node, bool minds) {
    for (size_t i = 0; i < node->input.n; i++) {
        turned *t = find(r, onx_node_input(node, i));
        if (!t) continue;
        t->waiting--;
        r->waiting--;
        t->leaves |= minds;
    }
}

/* False: the region is too large, or memory ran out. */
static bool visit(region *r, onx_node *node) {
    onx_turn turn;
    if (!touches(r, node)) return true;
    if (read_turn(r->ctx, node, &turn) && turn.n == r->turn.n) {
        bool ends = same_turn(&turn, &r->back) && !onx_pass_held(r->ctx, onx_node_output(node, 0));
        r->ends += ends;
        r->nodes[r->n_nodes++] = node;
        meet(r, node, false);
        return true;
    }
    onx_turn_way way = onx_turn_way_of(r->ctx, node, &r->turn, is_turned, r);
    for (size_t i = 0; i < node->input.n && way != ONX_TURN_NOT; i++) {
        onx_value *in = onx_node_input(node, i);
        if (in && !find(r, in) && is_turned(r, in) && !add(r, in, true)) return false;
    }
    if (way == ONX_TURN_PASS && !add(r, onx_node_output(node, 0), false)) return false;
    if (way != ONX_TURN_NOT) r->nodes[r->n_nodes++] = node;
    meet(r, node, way == ONX_TURN_NOT);
    return true;
}

/* More transpositions go than come. Uses that were not met are outside. */
static bool pays(region *r) {
    size_t gain = r->ends, cost = 0;
    for (size_t i = 0; i < r->n_list; i++) {
        turned *t = &r->list[i];
        t->leaves |= t->waiting > 0;
        gain += t->source && !t->leaves;
        cost += !t->source && t->leaves;
    }
    return gain > cost;
}

/* ─ The change ───────────────────────────────────────────────────────────────────────────────── */

/* What the value is before the turn; of a source that may have changed in the meantime. */
static onx_value *before_turn(const turned *t) {
    if (!t) return NULL;
    return t->source ? onx_node_input(t->value->def, 0) : t->before;
}

static onx_status shift(region *r, onx_node *node) {
    onx_pass_ctx *ctx = r->ctx;
    onx_value *y = onx_node_output(node, 0), *made;
    turned *result = find(r, y);
    onx_value **in = onx_arena_array(&ctx->arena, node->input.n, sizeof *in);
    if (!in) return onx_fail_nomem(ctx->diag);
    for (size_t i = 0; i < node->input.n; i++)
        in[i] = before_turn(find(r, onx_node_input(node, i)));
    ONX_TRY(onx_turn_remake(ctx, node, &r->turn, in, &made));
    if (result) result->before = made;
    if (result && !result->leaves) return ONX_OK;
    ONX_TRY(onx_pass_remake(ctx, node, result ? "Transpose" : "Identity", 1, &made));
    return result ? set_turn(ctx, node, &r->turn) : ONX_OK;
}

/* The last ones first: what is left of them nobody uses. */
static onx_status remove_old(region *r) {
    for (size_t i = r->n_list; i-- > 0;) {
        const turned *t = &r->list[i];
        if (!t->source && !t->leaves) ONX_TRY(onx_pass_remove(r->ctx, t->value->def));
    }
    return ONX_OK;
}

static onx_status change(region *r) {
    for (size_t i = 0; i < r->n_nodes; i++) {
        onx_node *node = r->nodes[i];
        onx_value *before = before_turn(find(r, onx_node_input(node, 0)));
        onx_turn turn;
        if (read_turn(r->ctx, node, &turn))
            ONX_TRY(join(r->ctx, node, &r->turn, before));
        else
            ONX_TRY(shift(r, node));
    }
    return remove_old(r);
}

static onx_status search(region *r, onx_node *seed) {
    bool fits = add(r, onx_node_output(seed, 0), true);
    onx_node *node = onx_node_next(seed);
    for (int i = 0; i < MAX_VISITS && node && fits && r->waiting; i++, node = onx_node_next(node))
        fits = r->n_nodes < MAX_REGION && visit(r, node);
    return fits && r->n_nodes && pays(r) ? change(r) : ONX_OK;
}

static onx_status push(onx_pass_ctx *ctx, onx_node *seed, const onx_turn *turn) {
    region r;
    r.ctx = ctx;
    r.turn = *turn;
    r.back.n = turn->n;
    for (size_t i = 0; i < turn->n; i++) r.back.at[turn->at[i]] = (uint8_t)i;
    r.n_list = r.n_nodes = r.waiting = r.ends = 0;
    onx_map_init(&r.index, ctx->arena.ctx);
    onx_status status = search(&r, seed);
    onx_map_fini(&r.index);
    return status;
}

extern onx_pass_fn onx_pass_transpose;
onx_status onx_pass_transpose(onx_pass_ctx *ctx, onx_graph *graph) {
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        onx_turn turn;
        bool joined = false;
        next = onx_node_next(node);
        if (!read_turn(ctx, node, &turn)) continue;
        ONX_TRY(join_with_last(ctx, node, &joined));
        if (joined || onx_pass_constant(ctx, onx_node_input(node, 0))) continue;
        ONX_TRY(push(ctx, node, &turn));
        next = onx_node_next(node); /* those behind it may be others now */
    }
    return ONX_OK;
}
