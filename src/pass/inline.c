/* inline.c: every call of a function of the model becomes a copy of its nodes; then, where that is
 * wanted, nodes of operators that are functions become theirs.
 *
 * Graphs are gone through from front to back; after a call is replaced, the walk goes on at the
 * first node of the copy, so that calls in it are found in their turn. Nothing recurses: graphs
 * that are still to be gone through stand on a list.
 *
 * A copy means what the function meant: where caller and function import different versions of a
 * domain, every operator of the function must be the same in both (ops/keeps.c). */
#include "pass/inline.h"

#include "ir/edit.h"

#include <stdio.h>

/* What copies may take in a model, unless the caller says: so much, and so many times the model. */
static const size_t some_bytes = (size_t)320 << 20, times_the_model = 16;

typedef struct inliner {
    onx_model *model;
    const onx_inline *how;
    onx_calls calls;
    onx_arena arena;
    onx_map bodies;    /* row to onx_model: bodies that do not depend on the node */
    onx_model **owned; /* these */
    size_t n_owned, cap_owned;
    onx_map names;    /* of nodes */
    uint64_t n_names; /* that were made up */
    onx_graph **todo; /* graphs to be gone through */
    size_t n_todo, cap_todo;
    void *root;       /* the model, or the function whose body is gone through */
    onx_facts *facts; /* of the graphs of the model; NULL: not of these */
    bool expanding;   /* operators, no longer functions */
    size_t left;      /* bytes that copies may still take */
    onx_diag *diag;
} inliner;

static void describe(inliner *in, const onx_node *node) {
    onx_str name = node->name.size ? node->name : node->output.n ? node->output.v[0] : node->name;
    onx_diag_place(in->diag, "graph '%.60s', node '%.*s' (%.*s)", onx_graph_name(node->graph),
                   ONX_FMT(name), ONX_FMT(node->op_type));
}

static onx_status fail_limit(inliner *in) {
    onx_fail(in->diag, ONX_LIMIT, "inlined, the functions would make the model far too large");
    onx_diag_hint(in->diag, "functions that call each other many times multiply; raise max_bytes"
                            " if the model is to be trusted");
    return ONX_LIMIT;
}

/* ── Opsets ──────────────────────────────────────────────────────────────────────────────────── */

static bool is_in(const onx_node *node, onx_str domain) {
    return onx_str_eq(onx_domain_plain(node->domain), onx_domain_plain(domain));
}

static onx_list *imports_of(const void *root) {
    const onx_msg *msg = root;
    const onx_field *row = msg->desc == &onx_desc_model ? ONX_ROW(model, opset_import)
                                                        : ONX_ROW(function, opset_import);
    return onx_field_ptr(root, row);
}

/* The version that is imported where the walk is; 0: none. Models older than imports mean 1. */
static int64_t imported(const inliner *in, onx_str domain) {
    ONX_EACH (onx_opset, o, *imports_of(in->root))
        if (onx_str_eq(onx_domain_plain(o->domain), onx_domain_plain(domain))) return o->version;
    return in->model->ir_version < 3 && !onx_domain_plain(domain).size ? 1 : 0;
}

/* Does every operator of that domain in the function mean the same by version `now`? */
static onx_status check_import(inliner *in, const onx_function *f, const onx_opset *was,
                               int64_t now) {
    onx_context *ctx = in->model->msg.doc->ctx;
    onx_str domain = was->domain.size ? was->domain : ONX_LIT("ai.onnx");
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(f); (msg = onx_walk_next(&w));) {
        const onx_node *node = (const onx_node *)msg;
        bool keeps;
        if (msg->desc != &onx_desc_node || !is_in(node, was->domain)) continue;
        if (onx_calls_find(&in->calls, node)) continue;
        ONX_TRY(onx_op_keeps(onx_op_lookup(ctx, node->domain, node->op_type, was->version),
                             onx_op_lookup(ctx, node->domain, node->op_type, now), ctx, &keeps,
                             in->diag));
        if (keeps) continue;
        onx_fail(in->diag, ONX_UNSUPPORTED,
                 "the function '%.*s' means version %lld of '%.*s', but is called where version "
                 "%lld is imported, and %.*s is not the same in both",
                 ONX_FMT(f->name), (long long)was->version, ONX_FMT(domain), (long long)now,
                 ONX_FMT(node->op_type));
        onx_diag_hint(in->diag, "bring the model and its functions to one version first: onx "
                                "convert --opset");
        return ONX_UNSUPPORTED;
    }
    return ONX_OK;
}

static bool uses(const onx_function *f, onx_str domain) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(f); (msg = onx_walk_next(&w));)
        if (msg->desc == &onx_desc_node && is_in((const onx_node *)msg, domain)) return true;
    return false;
}

/* Make sure that what the function imports is imported where it goes. */
static onx_status agree(inliner *in, const onx_function *f) {
    ONX_EACH (onx_opset, was, f->opset_import) {
        int64_t now = imported(in, was->domain);
        if (now && now != was->version) ONX_TRY(check_import(in, f, was, now));
        if (now || !uses(f, was->domain)) continue;
        const char *domain = onx_str_z(was->domain);
        onx_status status = in->root == in->model
                                ? onx_model_set_opset(in->model, domain, was->version)
                                : onx_function_set_opset(in->root, domain, was->version);
        if (status) return onx_fail_nomem(in->diag);
    }
    return ONX_OK;
}

/* ── Names of nodes ──────────────────────────────────────────────────────────────────────────── */

/* They need not differ by the rules of ONNX, but tools expect it: what differed still does. */
static onx_status list_names(inliner *in) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(in->model); (msg = onx_walk_next(&w));) {
        onx_node *node = msg->desc == &onx_desc_node ? (onx_node *)(uintptr_t)msg : NULL;
        if (node && node->name.size && !onx_map_put(&in->names, NULL, node->name, node))
            return onx_fail_nomem(in->diag);
        if (msg->desc == &onx_desc_function) onx_walk_skip(&w);
    }
    return ONX_OK;
}

static onx_status name_node(inliner *in, onx_node *node) {
    char name[256];
    onx_str wanted = node->name;
    while (onx_map_get(&in->names, NULL, node->name)) {
        snprintf(name, sizeof name, "%.*s_%llu", ONX_FMT(wanted),
                 (unsigned long long)++in->n_names);
        if (onx_node_set_name(node, name)) return onx_fail_nomem(in->diag);
    }
    return onx_map_put(&in->names, NULL, node->name, node) ? ONX_OK : onx_fail_nomem(in->diag);
}

/* Of a copy, which reaches from `node` to before `end`. */
static onx_status name_nodes(inliner *in, onx_node *node, const onx_node *end) {
    onx_msg *msg;
    for (; node && node != end; node = onx_node_next(node))
        for (onx_walk w = onx_walk_begin(node); (msg = onx_walk_next(&w));)
            if (msg->desc == &onx_desc_node && ((onx_node *)msg)->name.size)
                ONX_TRY(name_node(in, (onx_node *)msg));
    return ONX_OK;
}

/* ── Calls ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status spend(inliner *in, const onx_node *call, const onx_function *f) {
    size_t bytes = onx_node_inline_bytes(call, f);
    if (bytes > in->left) return fail_limit(in);
    in->left -= bytes;
    return ONX_OK;
}

static onx_status put_copy(inliner *in, onx_node *node, const onx_function *f, onx_node **next) {
    const onx_node *end = onx_node_next(node);
    ONX_TRY(spend(in, node, f));
    ONX_TRY(onx_node_inline(node, f, next, in->diag));
    return name_nodes(in, *next, end);
}

static onx_status replace_call(inliner *in, onx_node *node, onx_callee *callee, onx_node **next) {
    if (callee->agrees != in->root) ONX_TRY(agree(in, callee->function));
    callee->agrees = in->root;
    return put_copy(in, node, callee->function, next);
}

/* ── Operators ───────────────────────────────────────────────────────────────────────────────── */

static onx_status make_body(inliner *in, const onx_op *op, const onx_node *node, onx_model **out) {
    static const onx_fact nothing = {.kind = ONX_TYPE_NONE};
    const onx_fact **ins = onx_arena_array(&in->arena, node->input.n + 1, sizeof(onx_fact *));
    if (!ins) return onx_fail_nomem(in->diag);
    for (size_t i = 0; i < node->input.n; i++)
        ins[i] = in->facts ? onx_facts_of(in->facts, onx_node_input(node, i)) : &nothing;
    return onx_op_body(op, node, node->input.n, ins, in->model->msg.doc->ctx, out, in->diag);
}

static onx_status keep_body(inliner *in, const onx_op *op, onx_model *body) {
    if (onx_arena_grow(&in->arena, &in->owned, &in->cap_owned, in->n_owned, sizeof *in->owned) &&
        onx_map_put(&in->bodies, op, (onx_str){NULL, 0}, body)) {
        in->owned[in->n_owned++] = body;
        return ONX_OK;
    }
    onx_model_free(body);
    return onx_fail_nomem(in->diag);
}

/* The body, which is kept until the end if it is the same for all nodes. */
static onx_status get_body(inliner *in, const onx_op *op, const onx_node *node, onx_model **out) {
    if (op->body) return make_body(in, op, node, out);
    onx_model *body = onx_map_get(&in->bodies, op, (onx_str){NULL, 0});
    if (!body) {
        ONX_TRY(make_body(in, op, node, &body));
        ONX_TRY(keep_body(in, op, body));
    }
    *out = body;
    return ONX_OK;
}

/* Facts about the values in a copy, which reaches from `node` to before `end`. */
static onx_status learn(inliner *in, const onx_node *node, const onx_node *end) {
    for (; node && node != end && in->facts; node = onx_node_next(node))
        ONX_TRY(onx_facts_update(in->facts, node, in->diag));
    return ONX_OK;
}

static onx_status put_body(inliner *in, onx_node *node, const onx_function *f, onx_node **next) {
    const onx_node *end = onx_node_next(node);
    ONX_TRY(agree(in, f));
    ONX_TRY(put_copy(in, node, f, next));
    return learn(in, *next, end);
}

/* A node without a usable body stays: `*next` is left as it is. */
static onx_status expand(inliner *in, onx_node *node, const onx_op *op, onx_node **next) {
    onx_model *body = NULL;
    onx_status status = get_body(in, op, node, &body);
    if (!status) status = put_body(in, node, onx_model_function_first(body), next);
    if (op->body) onx_model_free(body);
    bool stays = status == ONX_NOT_FOUND || status == ONX_UNSUPPORTED;
    if (!stays || !in->how->must_expand) return stays ? ONX_OK : status;
    if (in->diag) in->diag->status = ONX_UNSUPPORTED;
    return ONX_UNSUPPORTED;
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status push(inliner *in, onx_graph *graph) {
    if (!onx_arena_grow(&in->arena, &in->todo, &in->cap_todo, in->n_todo, sizeof *in->todo))
        return onx_fail_nomem(in->diag);
    in->todo[in->n_todo++] = graph;
    return ONX_OK;
}

static onx_status push_graphs(inliner *in, const onx_node *node) {
    ONX_EACH (onx_attr, attr, node->attribute) {
        if (attr->g) ONX_TRY(push(in, attr->g));
        ONX_EACH (onx_graph, graph, attr->graphs) ONX_TRY(push(in, graph));
    }
    return ONX_OK;
}

static onx_status visit(inliner *in, onx_node *node, onx_node **next) {
    onx_callee *callee = onx_calls_find(&in->calls, node);
    if (callee && callee->function->msg.dead) callee = NULL; /* inlined everywhere, and removed */
    if (!in->expanding && callee && callee->wanted) return replace_call(in, node, callee, next);
    const onx_op *op = in->expanding && !callee ? onx_op_of(node) : NULL;
    onx_node *after = onx_node_next(node);
    *next = after;
    if (onx_op_has_body(op) && in->how->expands(in->how->user, node, op))
        ONX_TRY(expand(in, node, op, next));
    return node->msg.dead ? ONX_OK : push_graphs(in, node);
}

/* All of `graph`, and the graphs inside it. */
static onx_status go_through(inliner *in, onx_graph *graph) {
    ONX_TRY(push(in, graph));
    while (in->n_todo) {
        onx_graph *g = in->todo[--in->n_todo];
        for (onx_node *node = onx_graph_node_first(g), *next; node; node = next) {
            onx_status status = visit(in, node, &next);
            if (status && in->diag && !in->diag->place[0]) describe(in, node);
            if (status) return status;
        }
    }
    return in->calls.key.failed ? onx_fail_nomem(in->diag) : ONX_OK;
}

/* What stays in the model: its graphs, those of training, functions that are not inlined. */
static onx_status go_through_all(inliner *in) {
    in->root = in->model;
    if (in->model->graph) ONX_TRY(go_through(in, in->model->graph));
    onx_facts *facts = in->facts;
    in->facts = NULL; /* nothing is known about the rest */
    onx_status status = ONX_OK;
    ONX_EACH (onx_training, t, in->model->training_info) {
        if (!status && t->initialization) status = go_through(in, t->initialization);
        if (!status && t->algorithm) status = go_through(in, t->algorithm);
    }
    for (size_t i = 0; i < in->calls.n && !status; i++) {
        in->root = in->calls.callees[i].function;
        if (!in->calls.callees[i].wanted)
            status = go_through(in, &in->calls.callees[i].function->body);
    }
    in->facts = facts;
    return status;
}

/* Finding facts takes time: is there anything to be expanded? */
static bool has_work(inliner *in) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(in->model); (msg = onx_walk_next(&w));) {
        const onx_op *op = msg->desc == &onx_desc_node ? onx_op_of((const onx_node *)msg) : NULL;
        if (onx_op_has_body(op) && in->how->expands(in->how->user, (const onx_node *)msg, op))
            return true;
        if (msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type) onx_walk_skip(&w);
    }
    return false;
}

static onx_status expand_all(inliner *in) {
    if (!has_work(in)) return ONX_OK;
    onx_facts_options options =
        in->how->infer ? *in->how->infer : (onx_facts_options){.n_sizes = 0};
    if (!options.report) options.report = onx_facts_ignore;
    ONX_TRY(onx_facts_new(in->model, &options, &in->facts, in->diag));
    in->expanding = true;
    onx_status status = go_through_all(in);
    onx_facts_free(in->facts);
    return status;
}

static onx_status remove_functions(inliner *in) {
    for (size_t i = 0; i < in->calls.n; i++)
        if (in->calls.callees[i].wanted)
            ONX_TRY(onx_function_remove(in->calls.callees[i].function));
    return ONX_OK;
}

static onx_status run(inliner *in) {
    size_t bytes = onx_copy_bytes(in->model);
    if (!onx_mul_size(bytes, times_the_model, &bytes) || !onx_add_size(bytes, some_bytes, &bytes))
        bytes = SIZE_MAX;
    in->left = in->how->max_bytes ? in->how->max_bytes : bytes;
    if (in->calls.growth > in->left) return fail_limit(in);
    if (in->calls.growth || in->how->expands) ONX_TRY(list_names(in));
    if (in->calls.growth) ONX_TRY(go_through_all(in));
    if (!in->how->keep) ONX_TRY(remove_functions(in));
    return in->how->expands ? expand_all(in) : ONX_OK;
}

onx_status onx_inline_run(onx_model *model, const onx_inline *how, onx_diag *diag) {
    onx_context *ctx = model->msg.doc->ctx;
    onx_diag own = ONX_INIT(onx_diag);
    inliner in = {.model = model, .how = how, .diag = diag ? diag : &own};
    in.diag->place[0] = '\0';
    ONX_TRY(onx_calls_init(&in.calls, model, how, in.diag));
    onx_arena_init(&in.arena, ctx);
    onx_map_init(&in.bodies, ctx);
    onx_map_init(&in.names, ctx);
    onx_status status = run(&in);
    for (size_t i = 0; i < in.n_owned; i++) onx_model_free(in.owned[i]);
    onx_map_fini(&in.names);
    onx_map_fini(&in.bodies);
    onx_arena_fini(&in.arena);
    onx_calls_fini(&in.calls);
    return status;
}
