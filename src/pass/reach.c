/* reach.c: which parts of a model a set of values needs. Linear, without recursion; cycles and
 * undefined names do no harm. */
#include "ir/edit.h"
#include "ops/op.h"
#include "pass/surgery.h"

static const onx_str no_name = {NULL, 0};

onx_status onx_reach_init(onx_reach *r, const onx_model *model, bool whole, onx_diag *diag) {
    onx_context *ctx = model->msg.doc->ctx;
    *r = (onx_reach){.model = model, .whole = whole};
    onx_arena_init(&r->arena, ctx);
    onx_map_init(&r->because, ctx);
    onx_map_init(&r->stops, ctx);
    onx_map_init(&r->domains, ctx);
    onx_operators_init(&r->functions, ctx);
    return onx_operators_add(&r->functions, model) ? ONX_OK : onx_fail_nomem(diag);
}

void onx_reach_fini(onx_reach *r) {
    onx_operators_fini(&r->functions);
    onx_map_fini(&r->domains);
    onx_map_fini(&r->stops);
    onx_map_fini(&r->because);
    onx_arena_fini(&r->arena);
}

static void *unconst(const void *object) {
    return (void *)(uintptr_t)object;
}

bool onx_reach_stop(onx_reach *r, const onx_value *value) {
    return onx_map_put(&r->stops, value, no_name, unconst(value));
}

bool onx_reach_has(const onx_reach *r, const void *object) {
    return onx_map_get(&r->because, object, no_name) != NULL;
}

bool onx_reach_is_stop(const onx_reach *r, const onx_value *value) {
    return onx_map_get(&r->stops, value, no_name) != NULL;
}

bool onx_reach_has_domain(const onx_reach *r, onx_str domain) {
    return onx_map_get(&r->domains, NULL, onx_domain_plain(domain)) != NULL;
}

/* Values of graphs inside a node that stays whole are not looked at one by one. */
static bool need(onx_reach *r, onx_value *value, const onx_value *by) {
    if (!value || onx_reach_has(r, value)) return true;
    if (r->whole && value->graph->outer) return true;
    if (!onx_arena_grow(&r->arena, &r->stack, &r->cap, r->n, sizeof(onx_value *)) ||
        !onx_map_put(&r->because, value, no_name, unconst(by ? by : value)))
        return false;
    r->stack[r->n++] = value;
    return true;
}

static bool need_name(onx_reach *r, const onx_graph *graph, onx_str name, const onx_value *by) {
    return !name.size || need(r, onx_value_lookup(graph, name), by);
}

static bool need_outputs(onx_reach *r, const onx_graph *graph, const onx_value *by) {
    for (size_t i = 0; i < graph->outs.n; i++)
        if (!need(r, graph->outs.v[i]->value, by)) return false;
    return true;
}

/* The operator of a node: its domain, and the function it is. */
static bool need_operator(onx_reach *r, const onx_node *node) {
    if (!onx_map_put(&r->domains, NULL, onx_domain_plain(node->domain), unconst(node)))
        return false;
    const onx_function *f = onx_operators_of(&r->functions, node);
    if (!f || onx_reach_has(r, f)) return true;
    if (!onx_map_put(&r->because, f, no_name, unconst(f))) return false;
    ONX_EACH (onx_opset, o, f->opset_import)
        if (!onx_map_put(&r->domains, NULL, onx_domain_plain(o->domain), o)) return false;
    if (!need_outputs(r, &f->body, NULL)) return false;
    for (onx_node *n = onx_graph_node_first(&f->body); r->whole && n; n = onx_node_next(n))
        for (size_t i = 0; i < n->output.n; i++)
            if (!need(r, onx_node_output(n, i), NULL)) return false;
    return true;
}

static bool need_attr(onx_reach *r, const onx_attr *a, const onx_node *node, const onx_value *by) {
    bool names =
        onx_node_is_gradient(node) &&
        (onx_str_is(a->name, "xs") || onx_str_is(a->name, "zs") || onx_str_is(a->name, "y"));
    for (size_t i = 0; names && i < a->strings.n; i++)
        if (!need_name(r, node->graph, a->strings.v[i], by)) return false;
    if (names && !need_name(r, node->graph, a->s, by)) return false;
    ONX_EACH (onx_graph, g, a->graphs)
        if (!need_outputs(r, g, by)) return false;
    return !a->g || need_outputs(r, a->g, by);
}

/* One node, without the nodes inside it. */
static bool need_parts(onx_reach *r, const onx_node *node, const onx_value *by) {
    if (!need_operator(r, node)) return false;
    for (size_t i = 0; i < node->input.n; i++)
        if (!need(r, onx_node_input(node, i), by)) return false;
    ONX_EACH (onx_attr, a, node->attribute)
        if (!need_attr(r, a, node, by)) return false;
    return true;
}

static bool need_node(onx_reach *r, onx_node *node, const onx_value *by) {
    if (onx_reach_has(r, node)) return true;
    if (!onx_map_put(&r->because, node, no_name, node)) return false;
    if (!r->whole) return need_parts(r, node, by);
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(node); (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_tensor || m->desc == &onx_desc_type) onx_walk_skip(&w);
        if (m->desc == &onx_desc_node && !need_parts(r, (const onx_node *)m, by)) return false;
    }
    return true;
}

/* Scale and zero point, where an annotation is about the value. */
static bool need_annotations(onx_reach *r, const onx_value *value) {
    for (const onx_ref *ref = value->first; ref; ref = ref->next) {
        if (ref->kind != ONX_REF_OTHER || ref->owner->desc != &onx_desc_annotation) continue;
        const onx_annotation *note = (const onx_annotation *)ref->owner;
        ONX_EACH (onx_entry, e, note->quant_parameter_tensor_names)
            if (!need_name(r, value->graph, e->value, value)) return false;
    }
    return true;
}

onx_status onx_reach_add(onx_reach *r, onx_value *root, onx_diag *diag) {
    bool ok = need(r, root, NULL);
    while (ok && r->n) {
        const onx_value *value = r->stack[--r->n];
        if (onx_reach_is_stop(r, value)) continue;
        ok = need_annotations(r, value) && (!value->def || need_node(r, value->def, value));
    }
    return ok ? ONX_OK : onx_fail_nomem(diag);
}
