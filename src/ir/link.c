/* link.c: names to links. Two walks over the model: what is defined, then who refers to it; and one
 * back, for what leaves. */
#include "ir/edit.h"

static onx_value *value_here(onx_graph *graph, onx_str name) {
    onx_value *value = onx_value_find(graph, name);
    return value ? value : onx_value_new(graph, name);
}

onx_ref *onx_ref_new(onx_value *value, void *owner, onx_ref_kind kind, size_t index,
                     onx_str *slot) {
    onx_ref *ref = onx_arena_alloc(&value->graph->model->msg.doc->arena, sizeof *ref);
    if (!ref) return NULL;
    *ref = (onx_ref){.owner = owner, .slot = slot, .index = (uint32_t)index, .kind = (uint8_t)kind};
    onx_ref_attach(ref, value);
    return ref;
}

bool onx_refs_push(onx_doc *doc, onx_refs *refs, onx_ref *ref) {
    if (!ref || !onx_arena_grow(&doc->arena, &refs->v, &refs->cap, refs->n, sizeof *refs->v))
        return false;
    refs->v[refs->n++] = ref;
    return true;
}

void onx_ref_attach(onx_ref *ref, onx_value *value) {
    ref->value = value;
    ref->prev = value->last;
    ref->next = NULL;
    *(value->last ? &value->last->next : &value->first) = ref;
    value->last = ref;
    value->n_uses += ref->kind == ONX_REF_INPUT;
}

void onx_ref_detach(onx_ref *ref) {
    onx_value *value = ref->value;
    *(ref->prev ? &ref->prev->next : &value->first) = ref->next;
    *(ref->next ? &ref->next->prev : &value->last) = ref->prev;
    value->n_uses -= ref->kind == ONX_REF_INPUT;
    ref->value = NULL;
    ref->prev = ref->next = NULL;
}

onx_graph *onx_msg_graph(const onx_msg *msg) {
    for (; msg; msg = msg->parent) {
        if (msg->desc == &onx_desc_graph) return (onx_graph *)(uintptr_t)msg;
        if (msg->desc == &onx_desc_function) return &((onx_function *)(uintptr_t)msg)->body;
    }
    return NULL;
}

void onx_graph_adopt(onx_model *model, onx_graph *graph, onx_graph *outer) {
    graph->model = model;
    graph->outer = outer;
    if (!outer) return;
    graph->prev_sub = outer->last_sub;
    *(outer->last_sub ? &outer->last_sub->next_sub : &outer->first_sub) = graph;
    outer->last_sub = graph;
}

/* Definitions. A second one of the same name gets a value of its own. */

static bool define_input(onx_graph *graph, onx_value_info *info) {
    onx_value *value = value_here(graph, info->name);
    if (value && (value->input || value->def)) value = onx_value_twin(value);
    if (!value) return false;
    value->input = info;
    info->ref = onx_ref_new(value, info, ONX_REF_INFO, 0, &info->name);
    return onx_refs_push(info->msg.doc, &graph->ins, info->ref);
}

static bool define_init(onx_graph *graph, onx_tensor *tensor, onx_sparse *sparse) {
    onx_value *value = value_here(graph, tensor->name);
    if (value && (value->init || value->def)) value = onx_value_twin(value);
    if (!value) return false;
    value->init = tensor;
    value->sparse = sparse;
    return (tensor->ref = onx_ref_new(value, tensor, ONX_REF_INIT, 0, &tensor->name)) != NULL;
}

onx_ref *onx_node_define(onx_node *node, size_t index) {
    onx_str name = node->output.v[index];
    onx_value *value = value_here(node->graph, name);
    if (value && onx_value_is_defined(value)) value = onx_value_twin(value);
    onx_ref *ref = value ? onx_ref_new(value, node, ONX_REF_OUTPUT, index, NULL) : NULL;
    if (ref) {
        value->def = node;
        value->def_index = (uint32_t)index;
    } else if (value) {
        onx_value_unclaim(value);
    }
    return ref;
}

static bool define_node(onx_node *node) {
    onx_arena *arena = &node->msg.doc->arena;
    node->graph = onx_msg_graph(node->msg.parent);
    node->ins_cap = node->input.n;
    node->outs_cap = node->output.n;
    node->ins = onx_arena_array(arena, node->ins_cap, sizeof *node->ins);
    node->outs = onx_arena_array(arena, node->outs_cap, sizeof *node->outs);
    if (!node->ins || !node->outs) return false;
    for (size_t i = 0; i < node->output.n; i++)
        if (node->output.v[i].size && !(node->outs[i] = onx_node_define(node, i))) return false;
    return true;
}

bool onx_function_link(onx_model *model, onx_function *f) {
    f->body.msg.doc = model->msg.doc;
    f->body.msg.parent = &f->msg;
    f->body.model = model;
    f->body.function = f;
    for (size_t i = 0; i < f->input.n; i++) {
        onx_value *value = value_here(&f->body, f->input.v[i]);
        if (!value) return false;
        value->parameter = true;
        onx_ref *ref = onx_ref_new(value, f, ONX_REF_FUNCTION_IN, i, NULL);
        if (!onx_refs_push(f->msg.doc, &f->body.ins, ref)) return false;
    }
    return true;
}

static onx_graph *outer_of(const onx_model *model, const onx_graph *graph) {
    const onx_msg *parent = graph->msg.parent;
    if (parent && parent->desc == &onx_desc_training) return model->graph;
    return onx_msg_graph(parent);
}

static bool define(onx_model *model, onx_msg *msg) {
    const onx_msg *parent = msg->parent;
    if (msg->desc == &onx_desc_graph) {
        onx_graph *graph = (onx_graph *)msg;
        onx_graph_adopt(model, graph, outer_of(model, graph));
        return true;
    }
    if (msg->desc == &onx_desc_function) return onx_function_link(model, (onx_function *)msg);
    if (msg->desc == &onx_desc_node) return define_node((onx_node *)msg);
    if (!parent || parent->desc != &onx_desc_graph) return true;
    onx_graph *graph = (onx_graph *)(uintptr_t)parent;
    const onx_field *field = &parent->desc->fields[msg->field];
    if (field == ONX_ROW(graph, input)) return define_input(graph, (onx_value_info *)msg);
    if (field == ONX_ROW(graph, initializer)) return define_init(graph, (onx_tensor *)msg, NULL);
    if (field == ONX_ROW(graph, sparse_initializer) && ((onx_sparse *)msg)->values)
        return define_init(graph, ((onx_sparse *)msg)->values, (onx_sparse *)msg);
    return true;
}

/* References. Node inputs and declared types get an undefined value where there is none; notes
 * about a value that does not exist are left alone. */

static onx_value *use_value(onx_graph *graph, onx_str name) {
    onx_value *value = onx_value_lookup(graph, name);
    return value ? value : onx_value_new(graph, name);
}

static bool refer_node(onx_node *node) {
    for (size_t i = 0; i < node->input.n; i++) {
        if (!node->input.v[i].size) continue;
        onx_value *value = use_value(node->graph, node->input.v[i]);
        node->ins[i] = value ? onx_ref_new(value, node, ONX_REF_INPUT, i, NULL) : NULL;
        if (!node->ins[i]) return false;
    }
    return true;
}

static bool refer_info(onx_value_info *info) {
    onx_graph *graph = onx_msg_graph(info->msg.parent);
    bool is_output = !graph->function &&
                     &info->msg.parent->desc->fields[info->msg.field] == ONX_ROW(graph, output);
    onx_value *value =
        info->name.size ? use_value(graph, info->name) : onx_value_bare(graph, info->name);
    if (!value) return false;
    onx_value_info **first = is_output ? &value->output : &value->info;
    if (!*first && value->graph == graph) *first = info; /* not of a value from around the graph */
    info->ref = onx_ref_new(value, info, ONX_REF_INFO, 0, &info->name);
    return is_output ? onx_refs_push(info->msg.doc, &graph->outs, info->ref) : info->ref != NULL;
}

static bool refer_function(onx_function *f) {
    for (size_t i = 0; i < f->output.n; i++) {
        onx_value *value = value_here(&f->body, f->output.v[i]);
        onx_ref *ref = value ? onx_ref_new(value, f, ONX_REF_FUNCTION_OUT, i, NULL) : NULL;
        if (!onx_refs_push(f->msg.doc, &f->body.outs, ref)) return false;
    }
    return true;
}

static bool refer_message(onx_msg *msg) {
    if (msg->desc == &onx_desc_node) return refer_node((onx_node *)msg);
    if (msg->desc == &onx_desc_function) return refer_function((onx_function *)msg);
    if (msg->desc == &onx_desc_value_info && !((onx_value_info *)msg)->ref)
        return refer_info((onx_value_info *)msg);
    return onx_notes_link(msg);
}

static bool is_leaf(const onx_msg *msg) {
    return msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type;
}

static bool link_all(onx_model *model, void *root) {
    onx_msg *msg;
    for (onx_walk w = onx_walk_begin(root); (msg = onx_walk_next(&w));) {
        if (!define(model, msg)) return false;
        if (is_leaf(msg)) onx_walk_skip(&w);
    }
    for (onx_walk w = onx_walk_begin(root); (msg = onx_walk_next(&w));) {
        if (!refer_message(msg)) return false;
        if (is_leaf(msg)) onx_walk_skip(&w);
    }
    return true;
}

onx_status onx_msg_link_names(onx_model *model, void *root, onx_diag *diag) {
    if (link_all(model, root)) return ONX_OK;
    onx_msg_unlink_names(root);
    return onx_doc_fail(model->msg.doc, diag);
}

onx_status onx_model_link(onx_model *model, onx_diag *diag) {
    onx_map_init(&model->values, model->msg.doc->ctx);
    return link_all(model, model) ? ONX_OK : onx_doc_fail(model->msg.doc, diag);
}

/* The end of links. */

/* Out of the graph around it; its values are gone. */
static void graph_leave(onx_graph *graph) {
    onx_graph *outer = graph->outer;
    if (outer) {
        *(graph->prev_sub ? &graph->prev_sub->next_sub : &outer->first_sub) = graph->next_sub;
        *(graph->next_sub ? &graph->next_sub->prev_sub : &outer->last_sub) = graph->prev_sub;
        graph->outer = graph->next_sub = graph->prev_sub = NULL;
    }
    for (onx_value *v = graph->values; v; v = v->next) {
        onx_map_remove(&graph->model->values, graph, v->name);
        v->dead = true;
    }
}

void onx_msg_unlink_names(void *root) {
    onx_msg *m;
    for (onx_walk w = onx_walk_begin(root); (m = onx_walk_next(&w));) {
        onx_ref *ref = m->desc == &onx_desc_value_info ? ((onx_value_info *)m)->ref : NULL;
        if (ref && ref->value) onx_ref_detach(ref);
        if (m->desc == &onx_desc_node) onx_node_unlink_inputs((onx_node *)m);
        onx_notes_unlink(m);
    }
    for (onx_walk w = onx_walk_begin(root); (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_graph) graph_leave((onx_graph *)m);
        if (m->desc == &onx_desc_function) graph_leave(&((onx_function *)m)->body);
    }
}
