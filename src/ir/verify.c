/* verify.c: do names and links agree? For tests and fuzzers; a model that only went through our
 * functions always passes. */
#include "ir/edit.h"

static onx_status broken(const void *msg, const char *what, onx_str name, onx_diag *diag) {
    char path[160];
    onx_msg_path(msg, path, sizeof path);
    onx_fail(diag, ONX_INVALID, "%s: '%.*s'", what, ONX_FMT(name));
    onx_diag_place(diag, "%s", path);
    return ONX_INVALID;
}

static bool is_listed(const onx_ref *ref) {
    for (const onx_ref *r = ref->value->first; r; r = r->next)
        if (r == ref) return true;
    return false;
}

/* One name of a node or function, and the link beside it. */
static onx_status check_name(const void *owner, const onx_graph *graph, onx_str name, onx_ref *ref,
                             bool use, onx_diag *diag) {
    if (!name.size)
        return ref && use ? broken(owner, "an empty name has a link", name, diag) : ONX_OK;
    if (!ref || !ref->value) return broken(owner, "a name has no link", name, diag);
    if (ref->owner != owner) return broken(owner, "a link has another owner", name, diag);
    if (!onx_str_eq(ref->value->name, name))
        return broken(owner, "a link has another name", name, diag);
    if (ref->value->dead) return broken(owner, "a link leads to a removed value", name, diag);
    if (!is_listed(ref)) return broken(owner, "a value does not know its user", name, diag);
    if (use && onx_value_lookup(graph, name) != ref->value)
        return broken(owner, "the name means another value", name, diag);
    return ONX_OK;
}

static onx_status check_node(const onx_node *node, onx_diag *diag) {
    if (onx_msg_graph(node->msg.parent) != node->graph)
        return broken(node, "a node does not know its graph", node->name, diag);
    for (size_t i = 0; i < node->input.n; i++)
        ONX_TRY(check_name(node, node->graph, node->input.v[i], node->ins[i], true, diag));
    for (size_t i = 0; i < node->output.n; i++) {
        ONX_TRY(check_name(node, node->graph, node->output.v[i], node->outs[i], false, diag));
        const onx_value *value = onx_node_output(node, i);
        if (value && (value->def != node || value->def_index != i))
            return broken(node, "a value does not know its node", value->name, diag);
    }
    return ONX_OK;
}

static onx_status check_function(const onx_function *f, onx_diag *diag) {
    if (f->body.ins.n != f->input.n || f->body.outs.n != f->output.n)
        return broken(f, "inputs or outputs are miscounted", f->name, diag);
    for (size_t i = 0; i < f->input.n; i++)
        ONX_TRY(check_name(f, &f->body, f->input.v[i], f->body.ins.v[i], false, diag));
    for (size_t i = 0; i < f->output.n; i++)
        ONX_TRY(check_name(f, &f->body, f->output.v[i], f->body.outs.v[i], false, diag));
    return ONX_OK;
}

static onx_status check_values(const onx_graph *graph, onx_diag *diag) {
    bool counted = graph->function ||
                   (graph->ins.n == graph->input.count && graph->outs.n == graph->output.count);
    if (!counted) return broken(&graph->msg, "inputs or outputs are miscounted", graph->name, diag);
    for (const onx_value *v = graph->values; v; v = v->next) {
        size_t uses = 0;
        for (const onx_ref *r = v->first; r; r = r->next) {
            if (r->value != v || r->owner->dead)
                return broken(&graph->msg, "a value has a stale link", v->name, diag);
            if (!onx_str_eq(*onx_ref_slot(r), v->name))
                return broken(r->owner, "a name was not renamed", v->name, diag);
            uses += r->kind == ONX_REF_INPUT;
        }
        if (uses != v->n_uses) return broken(&graph->msg, "uses are miscounted", v->name, diag);
    }
    return ONX_OK;
}

onx_status onx_model_verify(const onx_model *model, onx_diag *diag) {
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_node) ONX_TRY(check_node((const onx_node *)m, diag));
        if (m->desc == &onx_desc_graph) ONX_TRY(check_values((const onx_graph *)m, diag));
        if (m->desc == &onx_desc_function) {
            ONX_TRY(check_function((const onx_function *)m, diag));
            ONX_TRY(check_values(&((const onx_function *)m)->body, diag));
        }
    }
    return ONX_OK;
}
