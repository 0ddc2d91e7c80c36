/* trace.c: following a value back through nodes that only show their input differently. */
#include "rt/lower/trace.h"

#include "rt/lower/lower.h"

enum { STEPS = 24 };

typedef struct onx_trace_dim dim;
typedef struct onx_trace_piece piece;

static bool is_one(const onx_sym *size) {
    int64_t n;
    return size && onx_sym_is_int(size, &n) && n == 1;
}

static bool begin(onx_trace *t, onx_value *value) {
    const onx_fact *fact = onx_pass_fact(t->ctx, value);
    if (fact->kind != ONX_TYPE_TENSOR || fact->dtype != ONX_DTYPE_F32 || !fact->ranked ||
        fact->rank > ONX_VIEW_AXES)
        return false;
    *t = (onx_trace){
        .ctx = t->ctx, .base = value, .scaled = t->scaled, .scale = 1, .rank = fact->rank};
    for (size_t i = 0; i < t->rank; i++) {
        t->dims[i].n = !is_one(fact->dims[i]);
        t->dims[i].pieces[0] = (piece){(int64_t)i, (int64_t)i, 1, fact->dims[i], true};
    }
    return true;
}

/* ─ Numbers of nodes ─────────────────────────────────────────────────────────────────────────── */

/* A list that is an attribute or a constant input; its length, or -1. */
static int ints_of(const onx_pass_ctx *ctx, const onx_node *node, const char *name, size_t input,
                   int64_t out[ONX_VIEW_AXES]) {
    size_t n;
    uint64_t count;
    const int64_t *list = onx_op_ints(node, name, &n);
    const onx_tensor *t = list ? NULL : onx_pass_constant(ctx, onx_node_input(node, input));
    if (list && n <= ONX_VIEW_AXES) {
        memcpy(out, list, n * sizeof *out);
        return (int)n;
    }
    if (!t || onx_tensor_count(t, &count, NULL) || count > ONX_VIEW_AXES) return -1;
    if (onx_tensor_read_as(t, ONX_DTYPE_I64, out, count * sizeof *out, NULL)) return -1;
    return (int)count;
}

static bool axis_of(int64_t axis, size_t rank, size_t *out) {
    if (axis < 0) axis += (int64_t)rank;
    *out = (size_t)axis;
    return axis >= 0 && axis < (int64_t)rank;
}

static bool size_of(const onx_pass_ctx *ctx, const onx_value *value, size_t axis, int64_t *out) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    return fact->ranked && axis < fact->rank && fact->dims[axis] &&
           onx_sym_is_int(fact->dims[axis], out);
}

/* ─ One node ─────────────────────────────────────────────────────────────────────────────────── */

static bool step_transpose(onx_trace *t, const onx_node *node, const onx_value *out) {
    (void)out;
    dim was[ONX_VIEW_AXES];
    size_t n;
    const int64_t *perm = onx_op_ints(node, "perm", &n);
    memcpy(was, t->dims, sizeof was);
    if (perm && n != t->rank) return false;
    for (size_t i = 0; i < t->rank; i++) {
        size_t from = perm ? (size_t)perm[i] : t->rank - 1 - i;
        if (from >= t->rank) return false;
        t->dims[i] = was[from];
    }
    return true;
}

/* Elements from `at` on along a dimension, `size` of them. */
static bool cut(onx_trace *t, size_t axis, int64_t at, const onx_sym *size) {
    dim *d = &t->dims[axis];
    if (d->n == 0) return at == 0 && is_one(size);
    if (d->n != 1 || at < 0) return false;
    piece *p = &d->pieces[0];
    int64_t start;
    if (!onx_mul_i64(at, p->step, &start) ||
        !onx_add_i64(t->start[p->axis], start, &t->start[p->axis]))
        return false;
    p->whole = p->whole && at == 0 && size == p->size;
    p->size = size;
    d->n = !is_one(size);
    return true;
}

static void drop(onx_trace *t, size_t axis) {
    t->rank--;
    for (size_t i = axis; i < t->rank; i++) t->dims[i] = t->dims[i + 1];
}

static bool step_gather(onx_trace *t, const onx_node *node, const onx_value *out) {
    (void)out;
    int64_t index[ONX_VIEW_AXES], size;
    size_t axis;
    const onx_op *op = onx_pass_op(t->ctx, node);
    const onx_tensor *which = onx_pass_constant(t->ctx, onx_node_input(node, 1));
    if (!which || onx_tensor_rank(which) != 0) return false;
    if (ints_of(t->ctx, node, "", 1, index) != 1) return false;
    if (!axis_of(onx_op_int(op, node, "axis"), t->rank, &axis)) return false;
    if (!size_of(t->ctx, onx_node_input(node, 0), axis, &size)) return false;
    if (index[0] < 0) index[0] += size;
    onx_syms *syms = onx_facts_syms(t->ctx->facts);
    if (index[0] < 0 || index[0] >= size || !cut(t, axis, index[0], onx_sym_int(syms, 1)))
        return false;
    drop(t, axis);
    return true;
}

static bool step_slice(onx_trace *t, const onx_node *node, const onx_value *out) {
    int64_t starts[ONX_VIEW_AXES], axes[ONX_VIEW_AXES], steps[ONX_VIEW_AXES], size;
    const onx_fact *fact = onx_pass_fact(t->ctx, out);
    int n = ints_of(t->ctx, node, "starts", 1, starts);
    if (n < 0 || !fact->ranked || fact->rank != t->rank) return false;
    bool all = !onx_node_input(node, 3) && !onx_op_has(node, "axes");
    if (!all && ints_of(t->ctx, node, "axes", 3, axes) != n) return false;
    if (onx_node_input(node, 4) && ints_of(t->ctx, node, "steps", 4, steps) != n) return false;
    for (int i = 0; i < n; i++) {
        size_t axis = (size_t)i;
        if (!all && !axis_of(axes[i], t->rank, &axis)) return false;
        if (axis >= t->rank || !fact->dims[axis]) return false;
        if (onx_node_input(node, 4) && steps[i] != 1) return false;
        bool sized = size_of(t->ctx, onx_node_input(node, 0), axis, &size);
        if (starts[i] < 0 && sized) starts[i] += size;
        if (starts[i] < 0 || (starts[i] > 0 && (!sized || starts[i] > size))) return false;
        if (!cut(t, axis, starts[i], fact->dims[axis])) return false;
    }
    return true;
}

static bool step_split(onx_trace *t, const onx_node *node, const onx_value *out) {
    int64_t start = 0, size;
    size_t axis, i = 0;
    const onx_fact *fact = onx_pass_fact(t->ctx, out);
    const onx_op *op = onx_pass_op(t->ctx, node);
    if (!axis_of(onx_op_int(op, node, "axis"), t->rank, &axis)) return false;
    for (; i < node->output.n && onx_node_output(node, i) != out; i++)
        if (!size_of(t->ctx, onx_node_output(node, i), axis, &size) ||
            !onx_add_i64(start, size, &start))
            return false;
    return fact->ranked && fact->rank == t->rank && fact->dims[axis] &&
           cut(t, axis, start, fact->dims[axis]);
}

/* The piece as the last one of a dimension; with the one before it as one, where they lie so. */
static void join(onx_syms *syms, dim *d, const piece *p) {
    piece *last = d->n ? &d->pieces[d->n - 1] : NULL;
    int64_t size, step;
    bool next = last && last->whole && p->whole && last->axis + 1 == p->first;
    bool apart = last && !last->whole && !p->whole && last->axis == p->axis && p->step &&
                 onx_sym_is_int(p->size, &size) && onx_mul_i64(p->step, size, &step) &&
                 last->step == step;
    if (next || apart)
        *last = (piece){apart ? p->first : last->first, p->axis, p->step,
                        onx_sym_mul(syms, last->size, p->size), next};
    else
        d->pieces[d->n++] = *p;
}

/* All pieces in order, cut and put together to the sizes of the result. */
static bool reshape(onx_trace *t, size_t rank, const onx_sym *const *dims) {
    piece all[ONX_VIEW_AXES * ONX_TRACE_PIECES + 1];
    size_t n = 0, at = 0;
    onx_syms *syms = onx_facts_syms(t->ctx->facts);
    for (size_t i = 0; i < t->rank; i++)
        for (size_t k = 0; k < t->dims[i].n; k++) {
            all[n] = t->dims[i].pieces[k];
            if (!all[n++].size) return false;
        }
    for (size_t i = 0; i < rank; i++) {
        dim *d = &t->dims[i];
        const onx_sym *left = dims[i], *some = onx_sym_int(syms, 1);
        int64_t want, have;
        if (!left) return false;
        for (d->n = 0; some != left;) {
            if (at == n || d->n == ONX_TRACE_PIECES) return false;
            piece *p = &all[at];
            const onx_sym *next = onx_sym_mul(syms, some, p->size);
            if (next == left || !onx_sym_is_int(left, &want) || !onx_sym_is_int(next, &have) ||
                have <= want) { /* all of it, and perhaps more */
                join(syms, d, p);
                some = next;
                at++;
                continue;
            }
            int64_t part, before;
            if (!want || !onx_sym_is_int(some, &before) || want % before || have % want)
                return false;
            part = want / before;
            int64_t rest = have / want; /* of the piece, for the dimensions after this one */
            d->pieces[d->n++] =
                (piece){p->axis, p->axis, p->step * rest, onx_sym_int(syms, part), false};
            *p = (piece){p->axis, p->axis, p->step, onx_sym_int(syms, rest), false};
            some = left;
        }
    }
    t->rank = rank;
    return at == n;
}

static bool step_reshape(onx_trace *t, const onx_node *node, const onx_value *out) {
    (void)node;
    const onx_fact *fact = onx_pass_fact(t->ctx, out);
    return fact->ranked && fact->rank <= ONX_VIEW_AXES && reshape(t, fact->rank, fact->dims);
}

static bool step_expand(onx_trace *t, const onx_node *node, const onx_value *out) {
    (void)node;
    dim was[ONX_VIEW_AXES];
    const onx_fact *fact = onx_pass_fact(t->ctx, out);
    const onx_fact *from = onx_pass_fact(t->ctx, onx_node_input(node, 0));
    if (!fact->ranked || fact->rank > ONX_VIEW_AXES || fact->rank < t->rank) return false;
    if (!from->ranked || from->rank != t->rank) return false;
    memcpy(was, t->dims, sizeof was);
    size_t more = fact->rank - t->rank;
    for (size_t i = 0; i < fact->rank; i++) {
        const onx_sym *size = fact->dims[i], *had = i < more ? NULL : from->dims[i - more];
        int64_t number;
        if (!size) return false;
        t->dims[i] = i < more ? (dim){0} : was[i - more];
        if (size == had || is_one(size)) continue;
        if ((i >= more && !is_one(had)) || t->dims[i].n || !onx_sym_is_int(size, &number))
            return false;
        t->dims[i] = (dim){1, {{0, 0, 0, size, false}}};
    }
    t->rank = fact->rank;
    return true;
}

/* A product or quotient with one number. */
static bool step_scale(onx_trace *t, const onx_node *node, const onx_value *out) {
    float factor;
    size_t rank;
    const onx_fact *fact = onx_pass_fact(t->ctx, out);
    bool divides = onx_str_is(node->op_type, "Div");
    size_t which = onx_lower_scalar(t->ctx, onx_node_input(node, 1), &factor, &rank);
    if (!t->scaled) return false;
    if (!which && (divides || !onx_lower_scalar(t->ctx, onx_node_input(node, 0), &factor, &rank)))
        return false;
    t->scale = divides ? t->scale / factor : t->scale * factor;
    return fact->ranked && fact->rank == t->rank && rank <= t->rank;
}

/* ─ All of them ──────────────────────────────────────────────────────────────────────────────── */

static const struct {
    const char *op;
    bool (*step)(onx_trace *t, const onx_node *node, const onx_value *out);
} steps[] = {
    {"Transpose", step_transpose}, {"Reshape", step_reshape},   {"Flatten", step_reshape},
    {"Squeeze", step_reshape},     {"Unsqueeze", step_reshape}, {"Gather", step_gather},
    {"Slice", step_slice},         {"Split", step_split},       {"Expand", step_expand},
    {"Mul", step_scale},           {"Div", step_scale},
};

static size_t step_of(const onx_pass_ctx *ctx, const onx_node *node) {
    const onx_op *op = node ? onx_pass_op(ctx, node) : NULL;
    size_t i = 0;
    while (i < ONX_COUNT(steps) && !onx_pass_is(op, steps[i].op)) i++;
    return i;
}

/* What the node shows: of a product, the factor that is no number. */
static onx_value *shown(const onx_pass_ctx *ctx, const onx_node *node) {
    float number;
    size_t rank;
    bool product = onx_str_is(node->op_type, "Mul");
    return onx_node_input(node, product &&
                                    onx_lower_scalar(ctx, onx_node_input(node, 0), &number, &rank));
}

bool onx_trace_back(onx_pass_ctx *ctx, onx_value *value, bool scaled, onx_trace *out) {
    onx_value *chain[STEPS];
    size_t n = 0;
    out->ctx = ctx;
    out->scaled = scaled;
    if (!ctx->facts) return false;
    for (; n < STEPS && step_of(ctx, value->def) < ONX_COUNT(steps); n++) {
        onx_value *from = shown(ctx, value->def);
        if (!from || from->graph != value->graph || onx_pass_constant(ctx, from)) break;
        chain[n] = value;
        value = from;
    }
    bool good = begin(out, value);
    for (; n > 0; n--) {
        const onx_node *node = chain[n - 1]->def;
        good = good && steps[step_of(ctx, node)].step(out, node, chain[n - 1]);
        if (!good) good = begin(out, chain[n - 1]);
    }
    return good;
}

bool onx_trace_none(onx_pass_ctx *ctx, onx_value *value, onx_trace *out) {
    *out = (onx_trace){.ctx = ctx};
    return begin(out, value);
}

bool onx_trace_step(onx_pass_ctx *ctx, onx_value *base, const onx_value *value, onx_trace *out) {
    size_t i = step_of(ctx, value->def);
    return ctx->facts && onx_trace_none(ctx, base, out) && i < ONX_COUNT(steps) &&
           steps[i].step(out, value->def, value);
}

bool onx_trace_split(onx_trace *trace, size_t axis, int64_t size) {
    onx_syms *syms = onx_facts_syms(trace->ctx->facts);
    const onx_sym *dims[ONX_VIEW_AXES + 1];
    int64_t all = 1, some;
    if (trace->rank == ONX_VIEW_AXES || size < 1) return false;
    for (size_t i = 0; i < trace->rank; i++) {
        const onx_sym *n = onx_sym_int(syms, 1);
        for (size_t k = 0; k < trace->dims[i].n; k++)
            n = onx_sym_mul(syms, n, trace->dims[i].pieces[k].size);
        dims[i + (i > axis)] = n;
        if (i != axis) continue;
        if (!n || !onx_sym_is_int(n, &all) || all % size) return false;
        some = all / size;
        dims[i] = onx_sym_int(syms, size);
        dims[i + 1] = onx_sym_int(syms, some);
    }
    return reshape(trace, trace->rank + 1, dims);
}

bool onx_trace_repeat(onx_trace *trace, size_t axis, int64_t times) {
    dim *d = &trace->dims[axis];
    if (times == 1) return true;
    if (d->n == ONX_TRACE_PIECES) return false;
    const onx_sym *size = onx_sym_int(onx_facts_syms(trace->ctx->facts), times);
    d->pieces[d->n++] = (piece){0, 0, 0, size, false};
    return true;
}

bool onx_trace_view(const onx_trace *trace, const int which[ONX_VIEW_DIMS], onx_view *out) {
    *out = (onx_view){0};
    memcpy(out->start, trace->start, sizeof out->start);
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
        if (which[d] < 0) continue;
        const dim *from = &trace->dims[which[d]];
        if (from->n > (d < ONX_VIEW_ROW ? ONX_VIEW_WALKS : 1)) return false;
        out->n[d] = from->n;
        for (size_t i = 0; i < from->n; i++) {
            const piece *p = &from->pieces[i];
            int64_t size = -1;
            if (!p->whole && (!p->size || !onx_sym_is_int(p->size, &size))) return false;
            out->walks[d][i] = (onx_view_walk){p->first, p->axis, p->step, size};
        }
    }
    return true;
}
