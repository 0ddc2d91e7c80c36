/* code_c_plan.c: what of a model cannot be built in C with the functions of onx.h, and is merged as
 * text: nodes that use what is defined after them or nowhere, names with two definitions of which
 * one sees the other, and messages with fields that the functions do not set. */
#include "ir/type_text.h"
#include "text/code_c.h"

static const onx_str no_name = {NULL, 0};

static const onx_graph *root_of(const onx_graph *graph) {
    while (graph->outer) graph = graph->outer;
    return graph;
}

/* Three tables in one: (graph, name) to its value, (graph + 1 byte, name) for names that clash,
 * (value, no name) for values that exist. */
static const void *clash_key(const onx_graph *root) {
    return (const char *)root + 1;
}

static bool set_clash(onx_code *code, const onx_graph *root, onx_str name) {
    return onx_map_put(&code->names, clash_key(root), name, code);
}

static bool is_clash(const onx_code *code, const onx_graph *graph, onx_str name) {
    return onx_map_get(&code->names, clash_key(root_of(graph)), name) != NULL;
}

static bool set_odd(onx_code *code, const void *msg) {
    return onx_map_put(&code->odd, msg, no_name, code);
}

bool onx_code_c_is_odd(const onx_code *code, const void *msg) {
    return onx_map_get(&code->odd, msg, no_name) != NULL;
}

/* ── Names ───────────────────────────────────────────────────────────────────────────────────── */

static bool define(onx_code *code, const onx_graph *root, onx_value *value) {
    if (!value || !value->name.size) return true;
    const onx_value *other = onx_map_get(&code->names, root, value->name);
    if (other && other != value && !set_clash(code, root, value->name)) return false;
    return (other || onx_map_put(&code->names, root, value->name, value)) &&
           onx_map_put(&code->names, value, no_name, value);
}

static bool enter_graph(onx_code *code, const onx_graph *graph) {
    const onx_graph *root = root_of(graph);
    for (size_t i = 0; i < graph->ins.n; i++)
        if (!define(code, root, graph->ins.v[i]->value)) return false;
    ONX_EACH (onx_tensor, t, graph->initializer)
        if (t->ref && !define(code, root, t->ref->value)) return false;
    ONX_EACH (onx_sparse, s, graph->sparse_initializer)
        if (s->values && s->values->ref && !define(code, root, s->values->ref->value)) return false;
    return true;
}

/* What is used before it exists. Whoever defines it later must not mind that the name is there. */
static bool visit_node(onx_code *code, const onx_node *node) {
    const onx_graph *root = root_of(node->graph);
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        if (!value || onx_map_get(&code->names, value, no_name)) continue;
        if (!set_odd(code, node) || !set_clash(code, root, value->name)) return false;
    }
    for (size_t i = 0; i < node->output.n; i++)
        if (!define(code, root, onx_node_output(node, i))) return false;
    return true;
}

/* In the order in which the program makes things. */
static bool visit_names(onx_code *code, const void *root) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(root); (msg = onx_walk_next(&w));) {
        if (msg->desc == &onx_desc_graph && !enter_graph(code, (const onx_graph *)msg))
            return false;
        if (msg->desc == &onx_desc_node && !visit_node(code, (const onx_node *)msg)) return false;
        if (msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type) onx_walk_skip(&w);
    }
    return true;
}

/* ── Fields ──────────────────────────────────────────────────────────────────────────────────── */

static bool has_only(const onx_msg *msg, uint32_t needed, uint32_t allowed) {
    return (msg->has & needed) == needed && !(msg->has & ~(needed | allowed)) && !msg->unknown;
}

static bool has_nul(onx_str s) {
    return s.size && memchr(s.data, '\0', s.size);
}

static bool is_named_twice(const onx_node *node) {
    if (node->attribute.count > 64) return true; /* better safe than slow */
    ONX_EACH (onx_attr, a, node->attribute) {
        if (!a->name.size || has_nul(a->name)) return true;
        for (const onx_msg *m = a->msg.next; m; m = m->next)
            if (onx_str_eq(((const onx_attr *)m)->name, a->name)) return true;
    }
    return false;
}

static bool is_colon(onx_str s) {
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] == ':' || s.data[i] == '\0') return true;
    return false;
}

static bool names_ok(const onx_strs *names) {
    for (size_t i = 0; i < names->n; i++)
        if (has_nul(names->v[i])) return false;
    return true;
}

static bool is_regular_node(const onx_code *code, const onx_node *node) {
    for (size_t i = 0; i < node->output.n; i++)
        if (is_clash(code, node->graph, node->output.v[i])) return false;
    return has_only(&node->msg, ONX_BIT(node, op_type),
                    ONX_BIT(node, name) | ONX_BIT(node, domain) | ONX_BIT(node, doc_string) |
                        ONX_BIT(node, overload)) &&
           node->op_type.size && !is_colon(node->op_type) && !is_colon(node->domain) &&
           !has_nul(node->name) && !has_nul(node->doc_string) && !has_nul(node->overload) &&
           names_ok(&node->input) && names_ok(&node->output) &&
           !node->device_configurations.count && !is_named_twice(node);
}

static bool is_regular_info(const onx_value_info *info) {
    return has_only(&info->msg, ONX_BIT(value_info, name), ONX_BIT(value_info, type)) &&
           !info->metadata_props.count && info->name.size && !has_nul(info->name) &&
           (!info->type || onx_type_is_plain(info->type));
}

/* Would setting the type of the value fill in this declaration, and no other? */
static bool is_own_info(const onx_value_info *info) {
    const onx_value *value = info->ref ? info->ref->value : NULL;
    if (!value || value->info != info || value->input || !info->type) return false;
    if (!onx_value_is_defined(value) && !value->parameter) return false;
    for (const onx_ref *r = value->first; r; r = r->next)
        if (r->kind == ONX_REF_INFO && r->owner != &info->msg && r->owner->field == info->msg.field)
            return false;
    return true;
}

static bool is_regular_declaration(const onx_code *code, const onx_value_info *info) {
    const onx_msg *parent = info->msg.parent;
    const onx_graph *graph = info->ref ? info->ref->value->graph : NULL;
    if (!graph || !is_regular_info(info)) return false;
    if (parent->desc == &onx_desc_function) return is_own_info(info);
    const onx_field *field = &parent->desc->fields[info->msg.field];
    if (field == ONX_ROW(graph, input)) return !is_clash(code, graph, info->name);
    if (field == ONX_ROW(graph, output)) return onx_value_is_defined(info->ref->value);
    return is_own_info(info);
}

bool onx_code_c_plain_entries(const onx_list *entries) {
    if (entries->count > 32) return false; /* better safe than slow */
    ONX_EACH (onx_entry, e, *entries) {
        if (!has_only(&e->msg, ONX_BIT(entry, key) | ONX_BIT(entry, value), 0) || has_nul(e->key) ||
            has_nul(e->value))
            return false;
        for (const onx_msg *m = e->msg.next; m; m = m->next)
            if (onx_str_eq(((const onx_entry *)m)->key, e->key)) return false;
    }
    return true;
}

/* ── Functions ───────────────────────────────────────────────────────────────────────────────── */

static bool is_regular_opset(const onx_opset *opset) {
    return has_only(&opset->msg, ONX_BIT(opset, version), ONX_BIT(opset, domain)) &&
           opset->version > 0 && !has_nul(opset->domain);
}

static bool is_regular_function(const onx_code *code, const onx_function *f) {
    bool good = has_only(&f->msg, ONX_BIT(function, name) | ONX_BIT(function, domain),
                         ONX_BIT(function, doc_string) | ONX_BIT(function, overload));
    good = good && f->name.size && !has_nul(f->name) && !has_nul(f->domain) &&
           !has_nul(f->doc_string) && !has_nul(f->overload) && names_ok(&f->attribute) &&
           f->opset_import.count <= 16 && f->attribute.n <= 64;
    ONX_EACH (onx_opset, o, f->opset_import) {
        good = good && is_regular_opset(o);
        for (const onx_msg *m = o->msg.next; m && good; m = m->next)
            good = !onx_str_eq(((const onx_opset *)m)->domain, o->domain);
    }
    for (size_t i = 0; i < f->body.ins.n && good; i++) {
        const onx_value *value = f->body.ins.v[i]->value;
        good = value && value->first == f->body.ins.v[i] && value->name.size &&
               !has_nul(value->name) && !is_clash(code, &f->body, value->name);
    }
    for (size_t i = 0; i < f->body.outs.n && good; i++) {
        const onx_value *value = f->body.outs.v[i]->value;
        good = value && (onx_value_is_defined(value) || value->parameter);
    }
    return good;
}

/* ── The whole ───────────────────────────────────────────────────────────────────────────────── */

static bool is_regular(const onx_code *code, const onx_msg *msg) {
    if (msg->desc == &onx_desc_node) return is_regular_node(code, (const onx_node *)msg);
    if (msg->desc == &onx_desc_value_info)
        return is_regular_declaration(code, (const onx_value_info *)msg);
    if (msg->desc == &onx_desc_function)
        return is_regular_function(code, (const onx_function *)msg);
    if (msg->desc == &onx_desc_attr)
        return msg->parent->desc == &onx_desc_node && onx_code_attr_fits((const onx_attr *)msg);
    if (msg->desc != &onx_desc_tensor || msg->parent->desc != &onx_desc_graph) return true;
    const onx_str name = ((const onx_tensor *)msg)->name;
    return name.size && !has_nul(name) && !is_clash(code, (const onx_graph *)msg->parent, name);
}

static bool visit_fields(onx_code *code, const void *root) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(root); (msg = onx_walk_next(&w));) {
        if (!is_regular(code, msg) && !set_odd(code, msg)) return false;
        if (msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type) onx_walk_skip(&w);
    }
    return true;
}

bool onx_code_c_plan(onx_code *code) {
    const onx_model *model = code->model;
    if (!visit_names(code, model->graph)) return false;
    ONX_EACH (onx_function, f, model->functions)
        if (!enter_graph(code, &f->body) || !visit_names(code, f)) return false;
    if (!visit_fields(code, model->graph)) return false;
    ONX_EACH (onx_function, f, model->functions)
        if (!visit_fields(code, f)) return false;
    return true;
}
