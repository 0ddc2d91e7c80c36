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

/* Is it part of the model, with all that is around it? */
static bool is_in(const onx_model *model, const onx_msg *msg) {
    for (; msg && !msg->dead; msg = msg->parent)
        if (msg == &model->msg) return true;
    return false;
}

/* One name of a node, function or declaration, and the link beside it. */
static onx_status check_name(const void *owner, onx_str name, const onx_ref *ref, onx_diag *diag) {
    if (!ref || !ref->value) return broken(owner, "a name has no link", name, diag);
    if (ref->owner != owner) return broken(owner, "a link has another owner", name, diag);
    if (!onx_str_eq(ref->value->name, name))
        return broken(owner, "a link has another name", name, diag);
    if (ref->value->dead) return broken(owner, "a link leads to a removed value", name, diag);
    if ((ref->prev ? ref->prev->next : ref->value->first) != ref)
        return broken(owner, "a value does not know its user", name, diag);
    return ONX_OK;
}

static onx_status check_slot(const onx_node *node, onx_str name, const onx_ref *ref,
                             onx_diag *diag) {
    if (name.size) return check_name(node, name, ref, diag);
    return ref ? broken(node, "an empty name has a link", name, diag) : ONX_OK;
}

static onx_status check_node(const onx_node *node, onx_diag *diag) {
    if (onx_msg_graph(node->msg.parent) != node->graph)
        return broken(node, "a node does not know its graph", node->name, diag);
    for (size_t i = 0; i < node->input.n; i++)
        ONX_TRY(check_slot(node, node->input.v[i], node->ins[i], diag));
    for (size_t i = 0; i < node->output.n; i++) {
        ONX_TRY(check_slot(node, node->output.v[i], node->outs[i], diag));
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
        ONX_TRY(check_name(f, f->input.v[i], f->body.ins.v[i], diag));
    for (size_t i = 0; i < f->output.n; i++)
        ONX_TRY(check_name(f, f->output.v[i], f->body.outs.v[i], diag));
    return ONX_OK;
}

static bool defines(const onx_ref *r) {
    bool input = r->kind == ONX_REF_INFO && r->owner->parent->desc == &onx_desc_graph &&
                 &onx_desc_graph.fields[r->owner->field] == ONX_ROW(graph, input);
    return input || r->kind == ONX_REF_OUTPUT || r->kind == ONX_REF_INIT ||
           r->kind == ONX_REF_FUNCTION_IN;
}

/* The places that name a value: each is in the model, says its name, and means it. */
static onx_status check_places(const onx_model *model, const onx_value *v, onx_diag *diag) {
    size_t uses = 0;
    for (const onx_ref *r = v->first; r; r = r->next) {
        if (r->value != v || !is_in(model, r->owner))
            return broken(r->owner, "a value has a stale link", v->name, diag);
        if (!onx_str_eq(*onx_ref_slot(r), v->name))
            return broken(r->owner, "a name was not renamed", v->name, diag);
        bool here = defines(r) || !v->name.size ||
                    onx_value_lookup(onx_note_scope(r->owner, r->slot), v->name) == v;
        if (!here) return broken(r->owner, "the name means another value", v->name, diag);
        uses += r->kind == ONX_REF_INPUT;
    }
    return uses == v->n_uses ? ONX_OK : broken(v->graph, "uses are miscounted", v->name, diag);
}

/* What is known of a value besides its places. */
static onx_status check_facts(const onx_model *model, const onx_value *v, onx_diag *diag) {
    const onx_value_info *infos[] = {v->input, v->output, v->info};
    const onx_msg *facts[] = {v->def ? &v->def->msg : NULL, v->init ? &v->init->msg : NULL,
                              v->input ? &v->input->msg : NULL, v->output ? &v->output->msg : NULL,
                              v->info ? &v->info->msg : NULL};
    for (size_t i = 0; i < ONX_COUNT(facts); i++)
        if (facts[i] && !is_in(model, facts[i]))
            return broken(facts[i], "a value knows what is gone", v->name, diag);
    for (size_t i = 0; i < ONX_COUNT(infos); i++)
        if (infos[i] && infos[i]->ref->value != v)
            return broken(infos[i], "a value has the declaration of another", v->name, diag);
    if (v->init && v->init->ref->value != v)
        return broken(v->init, "a value has the initializer of another", v->name, diag);
    return ONX_OK;
}

/* The table leads to one value of each name; the others stand in its ring. */
static onx_status check_table(const onx_value *v, onx_diag *diag) {
    const onx_value *named = onx_value_find(v->graph, v->name);
    if (v->dead) return named != v ? ONX_OK : broken(v->graph, "a dead name", v->name, diag);
    if (!v->name.size) return ONX_OK;
    if (!named || named->dead || !onx_str_eq(named->name, v->name))
        return broken(v->graph, "a name leads nowhere", v->name, diag);
    bool ring = v->younger && v->younger->older == v && v->older->younger == v;
    return named == v || ring ? ONX_OK : broken(v->graph, "a twin is lost", v->name, diag);
}

static onx_status check_graph(const onx_model *model, const onx_graph *g, onx_diag *diag) {
    bool counted = g->function || (g->ins.n == g->input.count && g->outs.n == g->output.count);
    if (!counted) return broken(g, "inputs or outputs are miscounted", g->name, diag);
    bool listed = !g->outer || (g->prev_sub ? g->prev_sub->next_sub : g->outer->first_sub) == g;
    if (!listed || g->model != model)
        return broken(g, "a graph is not where it belongs", g->name, diag);
    for (const onx_value *v = g->values; v; v = v->next) {
        ONX_TRY(check_table(v, diag));
        if (v->dead && !v->first) continue;
        ONX_TRY(check_places(model, v, diag));
        ONX_TRY(check_facts(model, v, diag));
    }
    return ONX_OK;
}

static onx_status check(const onx_model *model, const onx_msg *m, onx_diag *diag) {
    if (m->desc == &onx_desc_node) return check_node((const onx_node *)m, diag);
    if (m->desc == &onx_desc_graph) return check_graph(model, (const onx_graph *)m, diag);
    if (m->desc == &onx_desc_value_info)
        return check_name(m, ((const onx_value_info *)m)->name, ((const onx_value_info *)m)->ref,
                          diag);
    if (m->desc != &onx_desc_function) return ONX_OK;
    ONX_TRY(check_function((const onx_function *)m, diag));
    return check_graph(model, &((const onx_function *)m)->body, diag);
}

onx_status onx_model_verify(const onx_model *model, onx_diag *diag) {
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));)
        ONX_TRY(check(model, m, diag));
    return ONX_OK;
}
