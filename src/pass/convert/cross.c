/* cross.c: nodes cross the boundaries between versions, in the order of the versions.
 *
 *     bucket 13: Pad, Softmax, Add …      every node waits in the bucket of the next boundary of
 *     bucket 14: Add, Relu …              its operator, then in that of the one after it
 *
 * So the work is linear in the steps taken, and at any time all nodes are of the same version: that
 * of the import, which is moved along. Nodes that hold graphs cross after the nodes in these, since
 * a step may copy them. A node that cannot cross is reported and stays behind, so
 * that all of them are found. */
#include "pass/convert/step.h"

enum { MAX_VERSION = 64, MAX_DEPTH = 16 };

typedef struct waiting {
    onx_node *node;
    const onx_op *row; /* that it is of */
    struct waiting *next;
} waiting;

typedef struct bucket {
    waiting *first, *last;
} bucket;

struct onx_work {
    bucket plain[MAX_VERSION];
    bucket holders[MAX_VERSION]; /* of graphs */
    int64_t from, to;            /* the way that nodes go */
};

/* ─ Buckets ──────────────────────────────────────────────────────────────────────────────────── */

/* The next row of the same operator, in the table of its family. */
static const onx_op *newer(const onx_op *op) {
    const onx_op *next = op + 1;
    bool same = next->name && strcmp(next->name, op->name) == 0 &&
                strcmp(next->domain ? next->domain : "", op->domain ? op->domain : "") == 0;
    return same ? next : NULL;
}

/* A function of the model hides an operator; other domains stay as they are. */
static bool concerns(const onx_convert *c, const onx_node *node) {
    return onx_str_eq(onx_domain_plain(node->domain), c->domain) &&
           !(c->model->functions.count &&
             onx_model_function_find(c->model, onx_node_domain(node), onx_node_op(node),
                                     onx_node_overload(node)));
}

/* The boundary that a node of that row crosses next, as its newer side; 0: none. */
static int64_t next_boundary(const onx_convert *c, const onx_op *row) {
    if (!row) return 0;
    if (c->at.work->from > c->at.work->to) return row->since > c->at.work->to ? row->since : 0;
    const onx_op *next = newer(row);
    return next && next->since <= c->at.work->to ? next->since : 0;
}

static bool holds_graphs(const onx_node *node) {
    ONX_EACH (onx_attr, attr, node->attribute)
        if (attr->g || attr->graphs.count) return true;
    return false;
}

static onx_status wait_at(onx_convert *c, onx_node *node, const onx_op *row, int64_t version) {
    waiting *w = onx_arena_alloc(&c->arena, sizeof *w);
    if (!w) return onx_fail_nomem(&c->diag);
    w->node = node;
    w->row = row;
    onx_work *work = c->at.work;
    bucket *to = holds_graphs(node) ? &work->holders[version] : &work->plain[version];
    *(to->last ? &to->last->next : &to->first) = w;
    to->last = w;
    return ONX_OK;
}

bool onx_convert_is_gone(const onx_node *node) {
    for (const onx_msg *msg = &node->msg; msg; msg = msg->parent)
        if (msg->dead) return true;
    return false;
}

static size_t depth_of(const onx_node *node) {
    size_t depth = 0;
    for (const onx_graph *graph = node->graph->outer; graph; graph = graph->outer) depth++;
    return depth;
}

/* ─ Problems ─────────────────────────────────────────────────────────────────────────────────── */

static void name_place(onx_convert *c, const onx_node *node) {
    onx_str name = node->name.size ? node->name : node->output.n ? node->output.v[0] : node->name;
    const onx_graph *graph = node->graph;
    onx_diag_place(&c->diag, "%s '%.60s', node '%.*s' (%.*s)",
                   graph->function ? "function" : "graph", onx_graph_name(graph), ONX_FMT(name),
                   ONX_FMT(node->op_type));
}

static onx_status add_problem(onx_convert *c, const onx_node *node) {
    if (!c->diag.place[0]) name_place(c, node);
    if (c->report) c->report(c->user, &c->diag);
    if (!c->problems++) c->first = c->diag;
    c->diag = ONX_INIT(onx_diag);
    return ONX_OK;
}

/* Say between which versions it stopped. */
static onx_status stop(onx_convert *c, const onx_node *node, int64_t boundary) {
    char why[sizeof c->diag.message], hint[sizeof c->diag.hint];
    memcpy(why, c->diag.message, sizeof why);
    memcpy(hint, c->diag.hint, sizeof hint);
    onx_fail(&c->diag, ONX_UNSUPPORTED, "%.*s %lld to %lld: %.400s", ONX_FMT(node->op_type),
             (long long)(c->at.up ? boundary - 1 : boundary),
             (long long)(c->at.up ? boundary : boundary - 1), why);
    onx_diag_hint(&c->diag, "%s", hint);
    return add_problem(c, node);
}

/* ─ One node, one boundary ───────────────────────────────────────────────────────────────────── */

static onx_status apply(onx_convert *c, onx_node *node) {
    onx_step_fn *fn = c->at.up ? c->at.step->up : c->at.step->down;
    if (fn) ONX_TRY(fn(c, node));
    if (node->msg.dead) return ONX_OK;
    bool same = c->at.up && onx_str_is(node->op_type, c->at.before->name);
    c->at.after = same ? newer(c->at.before) : onx_op_find(c->domain, node->op_type, c->at.version);
    return onx_convert_fit(c, node);
}

/* Where the step refuses, but the operator is a function, its body means the same. */
static onx_status apply_or_expand(onx_convert *c, onx_node *node) {
    onx_status status = apply(c, node);
    if (status != ONX_UNSUPPORTED || c->at.up || node->msg.dead || !onx_op_has_body(c->at.before))
        return status;
    onx_diag why = c->diag;
    status = onx_convert_expand_body(c, node);
    if (status == ONX_NOT_FOUND) c->diag = why, status = ONX_UNSUPPORTED;
    return status;
}

static onx_status go_on(onx_convert *c, onx_node *node, const onx_op *row) {
    int64_t boundary = next_boundary(c, row);
    return boundary ? wait_at(c, node, row, boundary) : ONX_OK;
}

/* Nodes that were made, and those in their graphs, are of version `at`, and go on from there. */
static onx_status take_in(onx_convert *c, onx_node *node, int64_t at) {
    return concerns(c, node) ? go_on(c, node, onx_op_find(c->domain, node->op_type, at)) : ONX_OK;
}

static onx_status take_in_graph(onx_convert *c, onx_graph *root, int64_t at) {
    for (onx_graph *g = root; g; g = onx_graph_inner(root, g))
        ONX_EACH (onx_node, node, g->node) ONX_TRY(take_in(c, node, at));
    return ONX_OK;
}

static onx_status take_in_made(onx_convert *c, onx_node *node, int64_t at) {
    if (node->msg.dead) return ONX_OK;
    ONX_TRY(take_in(c, node, at));
    ONX_EACH (onx_attr, attr, node->attribute) {
        if (attr->g) ONX_TRY(take_in_graph(c, attr->g, at));
        ONX_EACH (onx_graph, graph, attr->graphs) ONX_TRY(take_in_graph(c, graph, at));
    }
    return ONX_OK;
}

/* A node that was made must be one of its version, too: of types that are allowed there. */
static onx_status settle(onx_convert *c, onx_node *node, int64_t boundary) {
    if (node->msg.dead) return ONX_OK;
    c->at.node = node;
    ONX_TRY(onx_facts_update(c->facts, node, &c->diag));
    if (concerns(c, node)) {
        c->at.before = c->at.after = onx_op_find(c->domain, node->op_type, c->at.version);
        onx_status status = c->at.after ? onx_convert_fit(c, node)
                                        : onx_convert_refuse(c, "there is no such operator there");
        if (status == ONX_UNSUPPORTED || status == ONX_INVALID) return stop(c, node, boundary);
        if (status) return status;
    }
    return take_in_made(c, node, c->at.version);
}

static onx_status cross(onx_convert *c, const waiting *w, int64_t boundary) {
    onx_node *node = w->node;
    if (onx_convert_is_gone(node)) return ONX_OK;
    c->at.node = node;
    c->at.n_made = 0;
    c->at.before = w->row;
    c->at.step = onx_step_find(c->domain, node->op_type, boundary);
    onx_status status = c->at.step ? apply_or_expand(c, node)
                                   : onx_convert_refuse(c, "what changed there is not known");
    if (status == ONX_UNSUPPORTED || status == ONX_INVALID) return stop(c, node, boundary);
    if (status) return status;
    const onx_op *row = c->at.after;
    for (size_t i = 0; i < c->at.n_made; i++) ONX_TRY(settle(c, c->at.made[i], boundary));
    return node->msg.dead ? ONX_OK : go_on(c, node, row);
}

/* ─ All of them ──────────────────────────────────────────────────────────────────────────────── */

static onx_status empty_bucket(onx_convert *c, int64_t boundary) {
    onx_work *work = c->at.work;
    size_t deepest = 0;
    for (const waiting *w = work->plain[boundary].first; w; w = w->next)
        ONX_TRY(cross(c, w, boundary));
    for (const waiting *w = work->holders[boundary].first; w; w = w->next)
        if (depth_of(w->node) > deepest) deepest = depth_of(w->node);
    for (size_t depth = deepest + 1; depth-- > 0;)
        for (const waiting *w = work->holders[boundary].first; w; w = w->next)
            if (depth_of(w->node) == depth) ONX_TRY(cross(c, w, boundary));
    return ONX_OK;
}

static onx_status travel(onx_convert *c) {
    int64_t from = c->at.work->from, to = c->at.work->to, step = from < to ? 1 : -1;
    for (int64_t at = from; at != to; at += step) {
        c->at.up = step > 0;
        c->at.version = at + step;
        c->import->version = c->at.version;
        ONX_TRY(empty_bucket(c, c->at.up ? at + 1 : at));
    }
    return ONX_OK;
}

/* Operators that a program has added have one meaning: they stay. */
static onx_status check_known(onx_convert *c, const onx_node *node) {
    int64_t version = c->at.work->from;
    if (onx_op_lookup(c->model->msg.doc->ctx, c->domain, node->op_type, version)) return ONX_OK;
    onx_convert_refuse(c, "%.*s is no operator of version %lld: what it means is not known",
                       ONX_FMT(node->op_type), (long long)version);
    return add_problem(c, node);
}

static onx_status take_in_first(onx_convert *c, onx_graph *root) {
    for (onx_graph *g = root; g; g = onx_graph_inner(root, g)) {
        ONX_EACH (onx_node, node, g->node) {
            if (!concerns(c, node)) continue;
            const onx_op *row = onx_op_find(c->domain, node->op_type, c->at.work->from);
            ONX_TRY(row ? go_on(c, node, row) : check_known(c, node));
        }
    }
    return ONX_OK;
}

static onx_status arrive(onx_convert *c, int64_t version) {
    onx_node *node = NULL;
    if (c->domain.size || version >= 9) {
        c->n_constants = 0;
        return ONX_OK;
    }
    onx_status status = onx_convert_constants(c, &node);
    return status == ONX_UNSUPPORTED ? add_problem(c, node) : status;
}

onx_status onx_convert_graph(onx_convert *c, onx_graph *graph, int64_t from, int64_t to) {
    if (from < 0 || from >= MAX_VERSION || to < 0 || to >= MAX_VERSION)
        return onx_fail(&c->diag, ONX_UNSUPPORTED, "version %lld is not known",
                        (long long)(from < 0 || from >= MAX_VERSION ? from : to));
    onx_work work = {.from = from, .to = to};
    c->at = (onx_crossing){.work = &work};
    c->to = to;
    onx_status status = take_in_first(c, graph);
    if (!status) status = travel(c);
    c->at.work = NULL;
    return status ? status : arrive(c, to);
}

/* They stand together: between the nodes around them, whatever becomes of them. */
static onx_status list_between(onx_convert *c, const onx_graph *graph, onx_node *before,
                               const onx_node *end) {
    onx_node *node = before ? onx_node_next(before) : onx_graph_node_first(graph);
    for (c->at.n_made = 0; node && node != end; node = onx_node_next(node)) {
        if (!onx_arena_grow(&c->arena, &c->at.made, &c->at.cap_made, c->at.n_made, sizeof node))
            return onx_fail_nomem(&c->diag);
        c->at.made[c->at.n_made++] = node;
    }
    return ONX_OK;
}

onx_status onx_convert_catch_up(onx_convert *c, int64_t version) {
    const onx_crossing outer = c->at;
    if (version == outer.version || !outer.n_made) return ONX_OK;
    if (version < 1 || version >= MAX_VERSION || outer.depth >= MAX_DEPTH)
        return onx_convert_refuse(c, "its body is of version %lld", (long long)version);
    onx_node *before = onx_node_prev(outer.made[0]);
    const onx_graph *graph = outer.made[0]->graph;
    const onx_node *end = onx_node_next(outer.made[outer.n_made - 1]);
    onx_work work = {.from = version, .to = outer.version};
    c->at = (onx_crossing){.work = &work, .depth = outer.depth + 1};
    c->import->version = version;
    onx_status status = ONX_OK;
    for (size_t i = 0; i < outer.n_made && !status; i++) {
        status = onx_facts_update(c->facts, outer.made[i], &c->diag);
        if (!status) status = take_in_made(c, outer.made[i], version);
    }
    if (!status) status = travel(c);
    c->at = outer;
    c->import->version = outer.version;
    return status ? status : list_between(c, graph, before, end);
}
