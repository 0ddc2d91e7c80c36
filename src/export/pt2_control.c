/* pt2_control.c: operators of torch.export that are given graphs: branches, loops, and graphs that
 * are only run.
 *
 *     cond(pred, then, else, operands)                       If
 *     while_loop(cond, body, carried, additional)            Loop
 *     scan(combine, init, xs, additional)                    Loop over the first axis of xs
 *     map_impl(body, xs, additional)                         the same, with nothing carried
 *     wrap…(…, graph, operands…), invoke_subgraph(…) …       as if its nodes stood here */
#include "export/if_loop.h"
#include "export/pt2_walk.h"
#include "export/told.h"

typedef struct operands {
    onx_xv *v;
    size_t n;
} operands;

typedef struct call {
    onx_pt2_walk *w;
    const onx_pt2_graph *graphs[2];
    size_t n_graphs;
    operands lists[3]; /* those after the graphs, in order */
    size_t n_lists;
    operands all; /* after the graphs, one after the other */
    onx_xv first; /* the argument before the graphs */
} call;

/* ─ Graphs ───────────────────────────────────────────────────────────────────────────────────── */

/* Run a graph on these values, and give those that it gives. */
static bool apply(onx_pt2_walk *w, const onx_pt2_graph *graph, size_t n, const onx_xv *in,
                  size_t n_out, onx_xv *out) {
    if (graph->n_in != n || graph->n_out < n_out)
        return onx_x_fail(w->x, ONX_MALFORMED, "a graph takes %zu values, and is given %zu",
                          graph->n_in, n);
    for (size_t i = 0; i < n; i++)
        if (!onx_pt2_bind(w, graph, &graph->in[i], in[i])) return false;
    if (!onx_pt2_run(w, graph)) return false;
    for (size_t i = 0; i < n_out; i++) out[i] = onx_pt2_value(w, graph, &graph->out[i]);
    return onx_x_ok(w->x);
}

static onx_xv *values(onx_export *x, size_t n) {
    return onx_x_array(x, n + 1, sizeof(onx_xv));
}

static bool join(onx_export *x, operands *out, const operands *a, const operands *b) {
    out->v = values(x, a->n + b->n);
    if (!out->v) return false;
    if (a->n) memcpy(out->v, a->v, a->n * sizeof *a->v);
    if (b->n) memcpy(out->v + a->n, b->v, b->n * sizeof *b->v);
    out->n = a->n + b->n;
    return true;
}

/* ─ cond ─────────────────────────────────────────────────────────────────────────────────────── */

static bool run_side(onx_export *x, void *user, bool then, onx_xv *out) {
    const call *c = user;
    const onx_pt2_graph *graph = c->graphs[then ? 0 : 1];
    (void)x;
    return apply(c->w, graph, c->all.n, c->all.v, c->graphs[0]->n_out, out);
}

static bool run_cond(call *c, onx_xv *out) {
    onx_export *x = c->w->x;
    bool known;
    if (c->graphs[1]->n_out != c->graphs[0]->n_out)
        return onx_x_fail(x, ONX_MALFORMED, "the sides of a branch give %zu and %zu values",
                          c->graphs[0]->n_out, c->graphs[1]->n_out);
    if (onx_xv_is_number(&c->first) && onx_xv_known_bool(&c->first, &known))
        return run_side(x, c, known, out);
    onx_value *cond = x->survey ? NULL : onx_x_cast(x, onx_xv_value(x, &c->first), ONX_DTYPE_BOOL);
    if (cond) return onx_x_if(x, cond, c->graphs[0]->n_out, run_side, c, out);
    return x->survey && run_side(x, c, true, out) && run_side(x, c, false, out);
}

/* ─ Loops ────────────────────────────────────────────────────────────────────────────────────── */

static bool holds(call *c, const onx_xv *carried, onx_xv *go) {
    operands now = {(onx_xv *)(uintptr_t)carried, c->lists[0].n}, all;
    if (!join(c->w->x, &all, &now, &c->lists[1])) return false;
    if (!apply(c->w, c->graphs[0], all.n, all.v, 1, go)) return false;
    if (go->kind == ONX_X_TENSOR) *go = onx_x_item(c->w->x, go->tensor);
    return onx_x_ok(c->w->x);
}

static bool while_body(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                       onx_xv *go) {
    call *c = user;
    operands now = {carried, c->lists[0].n}, all;
    (void)turn, (void)stacked;
    return join(x, &all, &now, &c->lists[1]) &&
           apply(c->w, c->graphs[1], all.n, all.v, c->lists[0].n, carried) && holds(c, carried, go);
}

static bool run_while(call *c, onx_xv *out) {
    onx_xv go;
    size_t n = c->lists[0].n;
    if (!holds(c, c->lists[0].v, &go)) return false;
    if (n) memcpy(out, c->lists[0].v, n * sizeof *out);
    onx_xloop loop = {.go = &go, .n = n, .carried = out, .body = while_body, .user = c};
    return onx_x_loop(c->w->x, &loop);
}

/* Row `turn` of each of the operands. */
static bool rows(onx_export *x, const operands *xs, onx_xv turn, onx_xv *out) {
    onx_value *index = onx_x_scalar(x, &turn, ONX_DTYPE_I64);
    for (size_t i = 0; i < xs->n; i++) {
        onx_value *all = xs->v[i].kind == ONX_X_TENSOR ? onx_xt_value(x, xs->v[i].tensor) : NULL;
        out[i] = onx_xv_tensor(x, all && index ? onx_emit(x, "Gather", all, index) : NULL);
        if (xs->v[i].kind == ONX_X_UNKNOWN) out[i] = xs->v[i];
        if (out[i].kind == ONX_X_TENSOR) out[i].tensor->dtype = xs->v[i].tensor->dtype;
    }
    return onx_x_ok(x);
}

/* scan: lists are init, xs, additional; map: xs, additional, and nothing before. */
static bool scan_body(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                      onx_xv *go) {
    call *c = user;
    const onx_pt2_graph *graph = c->graphs[0];
    operands now = {carried, c->lists[0].n}, slice = {values(x, c->lists[1].n), c->lists[1].n};
    operands some, all;
    onx_xv *out = values(x, graph->n_out);
    (void)go;
    if (!slice.v || !out || !rows(x, &c->lists[1], turn, slice.v)) return false;
    if (!join(x, &some, &now, &slice) || !join(x, &all, &some, &c->lists[2])) return false;
    if (!apply(c->w, graph, all.n, all.v, graph->n_out, out)) return false;
    if (now.n) memcpy(carried, out, now.n * sizeof *out);
    memcpy(stacked, out + now.n, (graph->n_out - now.n) * sizeof *out);
    return true;
}

static bool run_scan(call *c, onx_xv *out) {
    onx_export *x = c->w->x;
    const operands *init = &c->lists[0], *xs = &c->lists[1];
    size_t n_out = c->graphs[0]->n_out;
    if (!xs->n || n_out < init->n)
        return onx_x_fail(x, ONX_MALFORMED, "a scan over %zu tensors gives %zu values", xs->n,
                          n_out);
    onx_xv trips = {.kind = ONX_X_UNKNOWN};
    if (xs->v[0].kind == ONX_X_TENSOR)
        trips = onx_x_size_of(x, onx_xt_value(x, xs->v[0].tensor), 0);
    if (init->n) memcpy(out, init->v, init->n * sizeof *out);
    onx_xloop loop = {.trips = &trips,
                      .n = init->n,
                      .carried = out,
                      .n_stacked = n_out - init->n,
                      .stacked = out + init->n,
                      .body = scan_body,
                      .user = c};
    if (!x->survey) return onx_x_loop(x, &loop);
    onx_xv go;
    return scan_body(x, c, trips, out, out + init->n, &go);
}

static bool run_map(call *c, onx_xv *out) {
    c->lists[2] = c->lists[1];
    c->lists[1] = c->lists[0];
    c->lists[0] = (operands){NULL, 0};
    return run_scan(c, out);
}

/* ─ By name ──────────────────────────────────────────────────────────────────────────────────── */

static bool run_plain(call *c, onx_xv *out) {
    const onx_pt2_graph *graph = c->graphs[0];
    return apply(c->w, graph, c->all.n, c->all.v, graph->n_out, out);
}

static bool run_autocast(call *c, onx_xv *out) {
    bool outer = c->w->autocast;
    c->w->autocast = true;
    bool ok = run_plain(c, out);
    c->w->autocast = outer;
    return ok;
}

static const struct {
    const char *name;
    size_t graphs, lists;
    bool (*run)(call *c, onx_xv *out);
} rules[] = {
    {"cond", 2, 0, run_cond},
    {"while_loop", 2, 1, run_while},
    {"scan", 1, 2, run_scan},
    {"map_impl", 1, 1, run_map},
    {"wrap", 1, 0, run_plain},
    {"wrap_with_set_grad_enabled", 1, 0, run_plain},
    {"wrap_with_autocast", 1, 0, run_autocast},
    {"wrap_activation_checkpoint", 1, 0, run_plain},
    {"tag_activation_checkpoint", 1, 0, run_plain},
    {"invoke_subgraph", 1, 0, run_plain},
    {"strict_mode", 1, 0, run_plain},
    {"hints_wrapper", 1, 0, run_plain},
};

/* Sort the arguments: what comes before the graphs, the graphs, and what they are given. */
static bool sort_args(call *c, const onx_pt2_graph *graph, const onx_pt2_node *node) {
    onx_export *x = c->w->x;
    for (size_t i = 0; i < node->n_in; i++) {
        const onx_pt2_arg *arg = &node->in[i];
        onx_xv v = onx_pt2_value(c->w, graph, arg);
        if (!onx_x_ok(x)) return false;
        operands more = {&v, 1};
        if (arg->kind == ONX_PT2_GRAPH) {
            if (c->n_graphs == 2) return onx_x_fail(x, ONX_UNSUPPORTED, "more than two graphs");
            c->graphs[c->n_graphs++] = arg->graph;
        } else if (!c->n_graphs) {
            c->first = v;
        } else if (arg->kind == ONX_PT2_STR || arg->kind == ONX_PT2_DICT || arg->name.size) {
            continue; /* what a graph is called; hints */
        } else {
            if (arg->kind == ONX_PT2_LIST) {
                more = (operands){v.list->v, v.list->n};
                if (c->n_lists < 3) c->lists[c->n_lists++] = more;
            }
            operands before = c->all;
            if (!join(x, &c->all, &before, &more)) return false;
        }
    }
    return true;
}

static bool bind_all(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node,
                     size_t n, const onx_xv *out) {
    if (node->n_out == 1 && node->out[0].kind == ONX_PT2_LIST)
        return onx_pt2_bind(w, graph, &node->out[0], onx_xv_list(w->x, ONX_X_LIST, n, out));
    if (node->n_out > n)
        return onx_x_fail(w->x, ONX_MALFORMED, "a graph gives %zu values, but %zu are used", n,
                          node->n_out);
    for (size_t i = 0; i < node->n_out; i++)
        if (!onx_pt2_bind(w, graph, &node->out[i], out[i])) return false;
    return true;
}

static bool give_unknown(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node) {
    const onx_xv unknown = {.kind = ONX_X_UNKNOWN};
    onx_x_missing(w->x, node->target, ONX_LIT("graph"));
    for (size_t i = 0; i < node->n_out && onx_x_ok(w->x); i++)
        (void)onx_pt2_bind(w, graph, &node->out[i], unknown);
    return onx_x_ok(w->x);
}

bool onx_pt2_higher(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node,
                    onx_str name) {
    call c = {.w = w};
    size_t k = 0;
    if (!sort_args(&c, graph, node)) return false;
    while (k < ONX_COUNT(rules) && !onx_str_is(name, rules[k].name)) k++;
    if (k == ONX_COUNT(rules) || c.n_graphs != rules[k].graphs || c.n_lists < rules[k].lists)
        return give_unknown(w, graph, node);
    size_t n = c.graphs[rules[k].run == run_while ? 1 : 0]->n_out;
    onx_xv *out = values(w->x, n + c.all.n);
    if (!out || !rules[k].run(&c, out)) return false;
    return bind_all(w, graph, node, n, out);
}
