/* gradient.c: Gradient nodes, one after the other, replaced by the nodes that compute them.
 *
 * Those on whose results others depend go first, so that derivatives of derivatives need nothing of
 * their own. The nodes are put at the end of the graph, and sorted. */
#include "pass/grad/gradient.h"

#include "pass/inline.h"

#include <stdio.h>

static const onx_str no_name = {NULL, 0};
/* Work that may be done on a model: looking at a node is 1, differentiating it is more. */
enum { SOME_WORK = 2000000, WORK_PER_NODE = 1600, RULE = 100 };

typedef struct differ { /* the work on one Gradient */
    onx_model *model;
    const onx_facts_options *infer;
    onx_gradient_note *note;
    void *user;   /* of `note` */
    size_t *left; /* work that may still be done */
    onx_diag *diag;
    onx_node *node;
    onx_graph *graph;
    int64_t opset;
    size_t n_x, n; /* of the names: xs, and all */
    onx_value *y, **named, **given;
    onx_arena arena;
    onx_facts *facts;
    onx_grad_path path;
    onx_map grads;   /* value to its gradient so far */
    onx_map expands; /* nodes that are to become their bodies */
} differ;

static onx_status spend(differ *d, size_t work) {
    if (work > *d->left)
        return onx_fail(d->diag, ONX_LIMIT, "the derivatives would make the model far too large");
    *d->left -= work;
    return ONX_OK;
}

/* ─ Names ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status find_name(differ *d, onx_str name, const char *attribute, onx_value **out) {
    *out = name.size ? onx_value_lookup(d->graph, name) : NULL;
    if (*out && onx_value_is_defined(*out)) return ONX_OK;
    return onx_fail(d->diag, ONX_INVALID, "%s names '%.*s', which the graph does not have",
                    attribute, ONX_FMT(name));
}

static onx_status find_names(differ *d) {
    const onx_attr *xs = onx_node_attr(d->node, "xs"), *zs = onx_node_attr(d->node, "zs");
    const onx_attr *y = onx_node_attr(d->node, "y");
    d->n_x = xs ? xs->strings.n : 0;
    d->n = d->n_x + (zs ? zs->strings.n : 0);
    if (!d->n_x || !y) return onx_fail(d->diag, ONX_INVALID, "xs and y must be given");
    if (d->node->input.n != d->n || d->node->output.n > d->n_x)
        return onx_fail(d->diag, ONX_INVALID,
                        "xs and zs name %zu and %zu values; there are %zu inputs, %zu outputs",
                        d->n_x, d->n - d->n_x, d->node->input.n, d->node->output.n);
    d->named = onx_arena_array(&d->arena, d->n, sizeof(onx_value *));
    d->given = onx_arena_array(&d->arena, d->n, sizeof(onx_value *));
    if (!d->named || !d->given) return onx_fail_nomem(d->diag);
    for (size_t i = 0; i < d->n; i++) {
        bool x = i < d->n_x;
        ONX_TRY(find_name(d, x ? xs->strings.v[i] : zs->strings.v[i - d->n_x], x ? "xs" : "zs",
                          &d->named[i]));
        d->given[i] = onx_node_input(d->node, i);
        if (!d->given[i]) return onx_fail(d->diag, ONX_INVALID, "input %zu is missing", i);
    }
    return find_name(d, y->s, "y", &d->y);
}

/* Where other values are given than those named, y is computed again from them. */
static onx_status substitute(differ *d) {
    onx_value **from = onx_arena_array(&d->arena, d->n, sizeof(onx_value *));
    onx_value **to = onx_arena_array(&d->arena, d->n, sizeof(onx_value *));
    size_t n = 0;
    if (!from || !to) return onx_fail_nomem(d->diag);
    for (size_t i = 0; i < d->n; i++) {
        if (d->given[i] == d->named[i]) continue;
        /* One of its own, for one value may be given for several. */
        from[n] = d->named[i];
        to[n] = onx_graph_add_op(d->graph, "Identity", NULL, d->given[i]);
        if (!to[n]) return onx_fail_nomem(d->diag);
        d->given[i] = to[n++];
    }
    return n ? onx_grad_path_copy(&d->path, d->graph, n, from, to, &d->y, d->diag) : ONX_OK;
}

/* ─ Operators ────────────────────────────────────────────────────────────────────────────────── */

static void list(char *names, size_t size, const char *name) {
    size_t n = strlen(names);
    if (!strstr(names, name) && n + strlen(name) + 3 < size)
        (void)snprintf(names + n, size - n, "%s%s", n ? ", " : "", name);
}

/* What has no derivative: an operator, or one of its inputs. */
static void list_lacks(const differ *d, const onx_node *node, const onx_grad_rule *rule,
                       char *names, size_t size) {
    char name[200];
    (void)snprintf(name, sizeof name, "%.*s", ONX_FMT(node->op_type));
    if (!rule) {
        list(names, size, name);
        return;
    }
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        bool fine = onx_grad_rule_has(rule, i) || onx_grad_rule_ignores(rule, i);
        if (!value || !onx_grad_path_has(&d->path, value) || fine) continue;
        (void)snprintf(name, sizeof name, "%.*s by input %zu", ONX_FMT(node->op_type), i);
        list(names, size, name);
    }
}

/* Which nodes on the way have no rule: those that are functions are noted, the others are a
 * failure. */
static onx_status check_rules(differ *d, bool *expands) {
    char lacks[400] = "";
    for (size_t i = 0; i < d->path.n; i++) {
        onx_node *node = d->path.nodes[i];
        if (!onx_grad_path_has(&d->path, node)) continue;
        const onx_op *op = onx_op_of(node);
        const onx_grad_rule *rule = onx_grad_rule_find(op);
        if (rule || !onx_op_has_body(op)) {
            list_lacks(d, node, rule, lacks, sizeof lacks);
            continue;
        }
        if (!onx_map_put(&d->expands, node, no_name, node) || !d->note(d->user, op))
            return onx_fail_nomem(d->diag);
        *expands = true;
    }
    if (!*lacks) return ONX_OK;
    return onx_fail(d->diag, ONX_UNSUPPORTED, "there is no derivative of %s", lacks);
}

static bool is_noted(void *user, const onx_node *node, const onx_op *op) {
    (void)op;
    return onx_map_get(&((differ *)user)->expands, node, no_name) != NULL;
}

static onx_status sort(differ *d) {
    for (onx_graph *g = d->graph; g; g = g->outer) ONX_TRY(onx_graph_sort(g, d->diag));
    return ONX_OK;
}

static onx_status look(differ *d, bool *expands) {
    onx_facts_options options = d->infer ? *d->infer : (onx_facts_options){.n_sizes = 0};
    if (!options.report) options.report = onx_facts_ignore;
    options.sceptical = true;
    onx_facts_free(d->facts);
    d->facts = NULL;
    ONX_TRY(spend(d, d->graph->node.count));
    ONX_TRY(sort(d));
    ONX_TRY(onx_facts_new(d->model, &options, &d->facts, d->diag));
    onx_grad_path_fini(&d->path);
    onx_grad_path_init(&d->path, d->arena.ctx);
    ONX_TRY(onx_grad_path_find(&d->path, d->y, d->n, d->given, d->diag));
    ONX_TRY(onx_grad_path_spread(&d->path, d->n_x, d->given, d->facts, d->diag));
    return check_rules(d, expands);
}

/* The way, once all nodes on it have rules. Each round takes one layer off the functions. */
static onx_status prepare(differ *d) {
    onx_inline how = {.user = d, .expands = is_noted, .must_expand = true, .infer = d->infer};
    for (bool expands = true; expands;) {
        expands = false;
        ONX_TRY(look(d, &expands));
        if (expands) ONX_TRY(onx_inline_run(d->model, &how, d->diag));
    }
    return ONX_OK;
}

/* ─ The way back ─────────────────────────────────────────────────────────────────────────────── */

static onx_value *grad_of(const differ *d, const onx_value *value) {
    return value ? onx_map_get(&d->grads, value, no_name) : NULL;
}

static onx_status add_grad(differ *d, const onx_value *value, onx_value *grad) {
    onx_value *before = grad_of(d, value);
    if (before) grad = onx_graph_add_op(d->graph, "Add", NULL, before, grad);
    return grad && onx_map_put(&d->grads, value, no_name, grad) ? ONX_OK : onx_fail_nomem(d->diag);
}

/* Ones or zeros like a value. */
static onx_status fill_like(differ *d, onx_value *like, const char *number, onx_value **out) {
    char text[64];
    onx_dtype dtype = onx_facts_of(d->facts, like)->dtype;
    if (!dtype)
        return onx_fail(d->diag, ONX_UNSUPPORTED, "the type of '%.*s' is not known",
                        ONX_FMT(like->name));
    (void)snprintf(text, sizeof text, "shape = Shape (x0) dx0 = Expand (%s, shape)", number);
    return onx_grad_emit(d->graph, d->opset, dtype, text, like, NULL, out, d->diag);
}

/* Outputs that a rule takes, and that nobody has asked for so far. */
static onx_status give_outputs(differ *d, onx_node *node, size_t n) {
    while (node->output.n && !onx_node_output(node, node->output.n - 1))
        ONX_TRY(onx_node_remove_output(node, d->diag));
    while (node->output.n < n)
        if (!onx_node_add_output(node, NULL)) return onx_fail_nomem(d->diag);
    return ONX_OK;
}

static onx_status gather_outputs(differ *d, onx_grad *g, bool *any) {
    size_t knows = g->rule->outputs ? g->rule->outputs : 1;
    for (size_t i = 0; i < g->node->output.n; i++) {
        g->dys[i] = grad_of(d, onx_node_output(g->node, i));
        *any |= g->dys[i] != NULL;
        if (g->dys[i] && i >= knows)
            return onx_fail(d->diag, ONX_UNSUPPORTED, "there is no derivative of output %zu of %s",
                            i, g->op->name);
    }
    return ONX_OK;
}

static onx_status go_through(differ *d, onx_node *node) {
    onx_grad g = {
        .node = node, .op = onx_op_of(node), .opset = d->opset, .facts = d->facts, .diag = d->diag};
    bool any = false;
    g.rule = onx_grad_rule_find(g.op);
    if (g.rule->constant) return ONX_OK;
    if (g.rule->needs) ONX_TRY(give_outputs(d, node, g.rule->needs));
    size_t n_in = node->input.n;
    onx_value **dxs = onx_arena_array(&d->arena, n_in + 1, sizeof(onx_value *));
    g.wants = onx_arena_array(&d->arena, n_in + 1, sizeof(bool));
    g.dys = onx_arena_array(&d->arena, node->output.n + 1, sizeof(onx_value *));
    if (!dxs || !g.wants || !g.dys) return onx_fail_nomem(d->diag);
    ONX_TRY(gather_outputs(d, &g, &any));
    if (!any) return ONX_OK;
    for (size_t i = 0; i < n_in; i++) {
        const onx_value *value = onx_node_input(node, i);
        g.wants[i] = value && onx_grad_path_has(&d->path, value);
    }
    ONX_TRY(spend(d, RULE));
    ONX_TRY(onx_grad_apply(&g, d->graph, dxs));
    for (size_t i = 0; i < n_in; i++)
        if (dxs[i]) ONX_TRY(add_grad(d, onx_node_input(node, i), dxs[i]));
    return ONX_OK;
}

static onx_status go_back(differ *d) {
    onx_value *one = NULL;
    ONX_TRY(fill_like(d, d->y, "$1", &one));
    ONX_TRY(add_grad(d, d->y, one));
    for (size_t i = d->path.n; i-- > 0;)
        if (onx_grad_path_has(&d->path, d->path.nodes[i])) ONX_TRY(go_through(d, d->path.nodes[i]));
    return ONX_OK;
}

/* ─ The results ──────────────────────────────────────────────────────────────────────────────── */

/* y does not depend on what has no gradient. */
static onx_status find_result(differ *d, size_t index, onx_value **out) {
    *out = grad_of(d, d->given[index]);
    return *out ? ONX_OK : fill_like(d, d->given[index], "$0", out);
}

/* An output of the node becomes that of an Identity: it keeps its name, and all who use it. */
static onx_status put_result(differ *d, size_t index) {
    onx_value *output = onx_node_output(d->node, index), *grad = NULL;
    if (!output) return ONX_OK;
    ONX_TRY(find_result(d, index, &grad));
    return onx_node_set_input(d->node, index, grad, d->diag);
}

static onx_status put_results(differ *d) {
    size_t n = d->node->output.n;
    for (size_t i = 0; i < n; i++) ONX_TRY(put_result(d, i));
    while (d->node->input.n > n) ONX_TRY(onx_node_remove_input(d->node, d->node->input.n - 1));
    if (onx_node_set_op(d->node, "Grad")) return onx_fail_nomem(d->diag);
    return onx_grad_give(d->node, d->opset, d->diag);
}

/* ─ All of them ──────────────────────────────────────────────────────────────────────────────── */

static onx_status differentiate(differ *d) {
    ONX_TRY(substitute(d));
    ONX_TRY(prepare(d));
    ONX_TRY(go_back(d));
    ONX_TRY(put_results(d));
    return sort(d);
}

/* `*done`: not, while y depends on another one. */
static onx_status start(differ *d, bool *done) {
    d->opset = onx_op_opset(d->node);
    if (d->opset < 11) {
        onx_fail(d->diag, ONX_UNSUPPORTED, "Gradient needs opset 11 or later, not %lld",
                 (long long)d->opset);
        onx_diag_hint(d->diag, "onx convert --opset 12");
        return ONX_UNSUPPORTED;
    }
    ONX_TRY(find_names(d));
    ONX_TRY(onx_grad_path_find(&d->path, d->y, d->n, d->named, d->diag));
    ONX_TRY(spend(d, d->path.n + 1));
    *done = !d->path.blocked;
    return *done ? differentiate(d) : ONX_OK;
}

/* `d` has what all of them share. */
static onx_status expand(differ d, onx_node *node, bool *done) {
    onx_context *ctx = d.model->msg.doc->ctx;
    onx_str name = node->name;
    d.node = node;
    d.graph = node->graph;
    onx_arena_init(&d.arena, ctx);
    onx_map_init(&d.grads, ctx);
    onx_map_init(&d.expands, ctx);
    onx_grad_path_init(&d.path, ctx);
    onx_status status = start(&d, done);
    onx_facts_free(d.facts);
    onx_grad_path_fini(&d.path);
    onx_map_fini(&d.expands);
    onx_map_fini(&d.grads);
    onx_arena_fini(&d.arena);
    if (status && status != ONX_NO_MEMORY)
        onx_diag_place(d.diag, "node '%.*s' (Gradient)", ONX_FMT(name));
    return status;
}

static onx_node *next_gradient(onx_walk *walk) {
    onx_msg *msg;
    while ((msg = onx_walk_next(walk))) {
        if (msg->desc == &onx_desc_node && onx_node_is_gradient((onx_node *)msg))
            return (onx_node *)msg;
        if (msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type) onx_walk_skip(walk);
    }
    return NULL;
}

/* All that can be now. The list is made first, for the graph changes. */
static onx_status expand_some(const differ *d, onx_arena *arena, size_t *found, size_t *expanded) {
    onx_node **nodes = NULL, *node;
    size_t cap = 0;
    *found = *expanded = 0;
    for (onx_walk w = onx_walk_begin(d->model->graph); (node = next_gradient(&w));) {
        if (!onx_arena_grow(arena, &nodes, &cap, *found, sizeof *nodes))
            return onx_fail_nomem(d->diag);
        nodes[(*found)++] = node;
    }
    if (*found && onx_model_set_opset(d->model, "onx.internal", 1)) return onx_fail_nomem(d->diag);
    for (size_t i = 0; i < *found; i++) {
        bool done = false;
        ONX_TRY(expand(*d, nodes[i], &done));
        *expanded += done;
    }
    return ONX_OK;
}

onx_status onx_gradient_expand(onx_model *model, const onx_facts_options *infer,
                               onx_gradient_note *note, void *user, onx_diag *diag) {
    onx_diag own = ONX_INIT(onx_diag);
    size_t left = SOME_WORK + WORK_PER_NODE * onx_graph_node_count(model->graph);
    size_t found = 0, expanded = 0;
    differ d = {.model = model, .infer = infer, .note = note, .user = user, .left = &left};
    d.diag = diag ? diag : &own;
    onx_arena arena;
    onx_arena_init(&arena, model->msg.doc->ctx);
    onx_status status = expand_some(&d, &arena, &found, &expanded);
    while (!status && expanded && expanded < found)
        status = expand_some(&d, &arena, &found, &expanded);
    onx_arena_fini(&arena);
    if (!status && found != expanded)
        status = onx_fail(diag, ONX_INVALID, "Gradient nodes are differentiated by each other");
    return status;
}
