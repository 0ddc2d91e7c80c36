/* check.c: onx_model_check: the two walks, and what they meet. */
#include "base/options.h"
#include "check/checker.h"

enum { MOST_PROBLEMS = 1000 };

typedef void visit_fn(onx_checker *c, const onx_msg *msg);

/* ── Structure ───────────────────────────────────────────────────────────────────────────────── */

static void visit_node(onx_checker *c, const onx_msg *msg) {
    onx_check_enter_node(c, (const onx_node *)msg);
    onx_check_node(c, (const onx_node *)msg);
}

#define VISIT(name, type)                                                                          \
    static void visit_##name(onx_checker *c, const onx_msg *msg) {                                 \
        onx_check_##name(c, (const type *)msg);                                                    \
    }
VISIT(model, onx_model)
VISIT(graph, onx_graph)
VISIT(attr, onx_attr)
VISIT(tensor, onx_tensor)
VISIT(sparse, onx_sparse)
VISIT(value_info, onx_value_info)
VISIT(type, onx_type)
VISIT(function, onx_function)
VISIT(training, onx_training)
VISIT(node_device, onx_node_device)
#undef VISIT

typedef struct visitor {
    const onx_desc *desc;
    visit_fn *visit;
    bool leaf; /* what is below is not visited */
} visitor;

static const visitor structure[] = {
    {&onx_desc_node, visit_node, false},
    {&onx_desc_attr, visit_attr, false},
    {&onx_desc_tensor, visit_tensor, true},
    {&onx_desc_value_info, visit_value_info, false},
    {&onx_desc_type, visit_type, true},
    {&onx_desc_graph, visit_graph, false},
    {&onx_desc_sparse, visit_sparse, false},
    {&onx_desc_function, visit_function, false},
    {&onx_desc_node_device, visit_node_device, true},
    {&onx_desc_training, visit_training, false},
    {&onx_desc_model, visit_model, false},
    {NULL, NULL, false},
};

/* ── Edges ───────────────────────────────────────────────────────────────────────────────────── */

static void visit_edges(onx_checker *c, const onx_msg *msg) {
    onx_check_enter_node(c, (const onx_node *)msg);
    onx_check_edges(c, (const onx_node *)msg);
    onx_check_findings(c, (const onx_node *)msg);
}

static void visit_body(onx_checker *c, const onx_msg *msg) {
    c->function = (const onx_function *)msg;
}

static const visitor edges[] = {
    {&onx_desc_node, visit_edges, false},
    {&onx_desc_function, visit_body, false},
    {&onx_desc_tensor, NULL, true},
    {&onx_desc_value_info, NULL, true},
    {NULL, NULL, false},
};

/* ── Walks ───────────────────────────────────────────────────────────────────────────────────── */

static void walk(onx_checker *c, const visitor *visitors) {
    const onx_msg *msg;
    c->depth = 0;
    c->function = NULL;
    for (onx_walk w = onx_walk_begin(c->model); (msg = onx_walk_next(&w)) && !c->no_memory;) {
        const visitor *v = visitors;
        while (v->desc && v->desc != msg->desc) v++;
        if (v->visit) v->visit(c, msg);
        if (v->leaf) onx_walk_skip(&w);
    }
}

/* A model that is too much for inference is checked without it. */
static onx_status check_edges(onx_checker *c) {
    onx_facts *facts;
    onx_status status = onx_check_infer(c, &facts);
    if (status) return status == ONX_NO_MEMORY ? status : ONX_OK;
    c->facts = facts;
    walk(c, edges);
    c->facts = NULL;
    onx_facts_free(facts);
    return ONX_OK;
}

static onx_status check(onx_checker *c) {
    if (!onx_check_functions(c, c->model)) return ONX_NO_MEMORY;
    walk(c, structure);
    onx_check_leave_all(c);
    onx_check_recursion(c);
    if (c->no_memory) return ONX_NO_MEMORY;
    ONX_TRY(check_edges(c));
    return c->no_memory ? ONX_NO_MEMORY : ONX_OK;
}

onx_status onx_model_check(const onx_model *model, const onx_check_options *options,
                           onx_diag *first) {
    if (!model) return onx_fail(first, ONX_USAGE, "onx_model_check needs a model");
    onx_checker c = {.ctx = model->msg.doc->ctx, .model = model, .first = first};
    ONX_TRY(ONX_OPTIONS(&c.options, options, first));
    if (!c.options.max_problems) c.options.max_problems = MOST_PROBLEMS;
    onx_map *maps[] = {&c.names, &c.imports,  &c.functions, &c.callees,
                       &c.wrong, &c.unsorted, &c.findings};
    onx_arena_init(&c.arena, c.ctx);
    for (size_t i = 0; i < ONX_COUNT(maps); i++) onx_map_init(maps[i], c.ctx);
    onx_status status = check(&c);
    for (size_t i = 0; i < ONX_COUNT(maps); i++) onx_map_fini(maps[i]);
    onx_arena_fini(&c.arena);
    if (status) return onx_fail_nomem(first);
    return c.n_errors ? ONX_INVALID : ONX_OK;
}
