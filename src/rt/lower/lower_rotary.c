/* lower_rotary.c: the rotation of positions, as models write it, to one onx.internal::Rotate:
 *
 *     Add(Mul(x, cos), Mul(Concat(Neg(second half of x), first half of x), sin))
 *
 * along the last axis of four. What only shows x differently before that becomes part of its view
 * (trace.h). */
#include "rt/lower/lower.h"
#include "rt/lower/trace.h"

enum { RANK = 4 };

static bool named(const onx_pass_ctx *ctx, const onx_node *node, const char *name) {
    return node && onx_pass_is(onx_pass_op(ctx, node), name);
}

static onx_node *def_of(const onx_pass_ctx *ctx, const onx_value *value, const char *name) {
    return value && named(ctx, value->def, name) ? value->def : NULL;
}

static bool last_size(const onx_pass_ctx *ctx, const onx_value *value, int64_t *out) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    return fact->kind == ONX_TYPE_TENSOR && fact->dtype == ONX_DTYPE_F32 && fact->ranked &&
           fact->rank >= 1 && fact->rank <= RANK && fact->dims[fact->rank - 1] &&
           onx_sym_is_int(fact->dims[fact->rank - 1], out);
}

/* Is `part` the half of x that begins at `start`? By a Slice or a Split, whose places the trace
 * tells: the same base and the same walks, but for a start along the axis of the columns. */
static bool is_half(onx_pass_ctx *ctx, onx_value *x, onx_value *part, int64_t start, int64_t half) {
    onx_trace whole, some;
    int64_t size;
    const onx_node *cut = part->def;
    if (!named(ctx, cut, "Slice") && !named(ctx, cut, "Split")) return false;
    if (onx_node_input(cut, 0) != x || !last_size(ctx, part, &size) || size != half) return false;
    if (!onx_trace_step(ctx, x, part, &some) || !onx_trace_none(ctx, x, &whole)) return false;
    for (size_t i = 0; i < ONX_VIEW_AXES; i++)
        if (some.start[i] != (i == RANK - 1 ? start : 0)) return false;
    for (size_t d = 0; d + 1 < RANK; d++)
        if (some.dims[d].n != whole.dims[d].n || some.dims[d].n > 1 ||
            (some.dims[d].n && some.dims[d].pieces[0].size != whole.dims[d].pieces[0].size))
            return false;
    return some.rank == RANK;
}

/* x of Concat(Neg(second half), first half); NULL: it is something else. */
static onx_value *turned(onx_pass_ctx *ctx, const onx_value *value) {
    const onx_node *concat = def_of(ctx, value, "Concat");
    int64_t size;
    if (!concat || concat->input.n != 2 || !last_size(ctx, value, &size) || size % 2) return NULL;
    int64_t axis = onx_op_int(onx_pass_op(ctx, concat), concat, "axis");
    if (axis != -1 && axis != RANK - 1) return NULL;
    const onx_node *neg = def_of(ctx, onx_node_input(concat, 0), "Neg");
    onx_value *second = neg ? onx_node_input(neg, 0) : NULL, *first = onx_node_input(concat, 1);
    onx_value *x = first && first->def ? onx_node_input(first->def, 0) : NULL;
    if (!second || !second->def || !x || onx_pass_fact(ctx, x)->rank != RANK) return NULL;
    if (!last_size(ctx, x, &axis) || axis != size) return NULL;
    bool halves =
        is_half(ctx, x, first, 0, size / 2) && is_half(ctx, x, second, size / 2, size / 2);
    return halves ? x : NULL;
}

/* The factor of a product that is not `x`. */
static onx_value *factor(const onx_node *mul, const onx_value *x) {
    for (size_t i = 0; i < 2; i++)
        if (onx_node_input(mul, i) == x) return onx_node_input(mul, 1 - i);
    return NULL;
}

/* Numbers for all columns; how the rest broadcasts is settled in the run. */
static bool fits(const onx_pass_ctx *ctx, const onx_value *f, const onx_value *x) {
    int64_t columns, size;
    return f && last_size(ctx, f, &columns) && last_size(ctx, x, &size) && columns == size;
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    static const int which[] = {0, 1, 2, 3};
    int64_t ints[ONX_VIEW_INTS];
    for (size_t i = 0; i < 2 && named(ctx, node, "Add"); i++) {
        const onx_node *straight = def_of(ctx, onx_node_input(node, i), "Mul");
        const onx_node *across = def_of(ctx, onx_node_input(node, 1 - i), "Mul");
        onx_value *x = NULL, *halves = NULL;
        for (size_t k = 0; straight && across && !x && k < 2; k++)
            x = turned(ctx, halves = onx_node_input(across, k));
        if (!x) continue;
        onx_value *cos = factor(straight, x), *sin = factor(across, halves);
        onx_trace trace;
        onx_view view;
        if (!fits(ctx, cos, x) || !fits(ctx, sin, x)) continue;
        if (!onx_trace_back(ctx, x, false, &trace) || !onx_trace_view(&trace, which, &view)) {
            if (!onx_trace_none(ctx, x, &trace) || !onx_trace_view(&trace, which, &view)) continue;
        }
        ONX_TRY(onx_pass_remake(ctx, node, ONX_INTERNAL "::Rotate", 3,
                                (onx_value *const[]){trace.base, cos, sin}));
        return onx_node_set_ints(node, "x", onx_view_write(&view, ints), ints)
                   ? onx_fail_nomem(ctx->diag)
                   : ONX_OK;
    }
    return ONX_OK;
}

extern onx_pass_fn onx_lower_rotary, onx_pass_dce;
onx_status onx_lower_rotary(onx_pass_ctx *ctx, onx_graph *graph) {
    size_t before = ctx->changes;
    if (!onx_lower_has(ctx, "Rotate")) return ONX_OK;
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(ctx, node));
    }
    return ctx->changes == before ? ONX_OK : onx_pass_dce(ctx, graph);
}
