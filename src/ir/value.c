/* value.c: values: what they are, who uses them, new names for them, others in their place. */
#include "ir/edit.h"

const char *onx_value_name(const onx_value *value) {
    return value ? onx_str_z(value->name) : NULL;
}

onx_graph *onx_value_graph(const onx_value *value) {
    return value->graph;
}

onx_node *onx_value_node(const onx_value *value) {
    return value->def;
}

size_t onx_value_node_index(const onx_value *value) {
    return value->def_index;
}

bool onx_value_is_input(const onx_value *value) {
    return value->input || value->parameter;
}

bool onx_value_is_output(const onx_value *value) {
    if (!value->graph->function) return value->output != NULL;
    for (const onx_ref *r = value->first; r; r = r->next)
        if (r->kind == ONX_REF_FUNCTION_OUT) return true;
    return false;
}

onx_tensor *onx_value_initializer(const onx_value *value) {
    return value->init;
}

bool onx_value_is_defined(const onx_value *value) {
    return value->def || value->init || onx_value_is_input(value);
}

const onx_type *onx_value_type(const onx_value *value) {
    const onx_value_info *infos[] = {value->input, value->output, value->info};
    for (size_t i = 0; i < ONX_COUNT(infos); i++)
        if (infos[i] && infos[i]->type) return infos[i]->type;
    return NULL;
}

onx_value *onx_value_next(const onx_value *value) {
    onx_value *next = value->next;
    while (next && next->dead) next = next->next;
    return next;
}

size_t onx_value_use_count(const onx_value *value) {
    return value->n_uses;
}

bool onx_value_use_next(const onx_value *value, onx_use *use) {
    const onx_ref *ref = use->cursor ? ((const onx_ref *)use->cursor)->next : value->first;
    while (ref && ref->kind != ONX_REF_INPUT) ref = ref->next;
    if (!ref) return false;
    *use = (onx_use){(onx_node *)ref->owner, ref->index, ref};
    return true;
}

onx_str *onx_ref_slot(const onx_ref *ref) {
    switch ((onx_ref_kind)ref->kind) {
    case ONX_REF_INPUT: return &((onx_node *)ref->owner)->input.v[ref->index];
    case ONX_REF_OUTPUT: return &((onx_node *)ref->owner)->output.v[ref->index];
    case ONX_REF_FUNCTION_IN: return &((onx_function *)ref->owner)->input.v[ref->index];
    case ONX_REF_FUNCTION_OUT: return &((onx_function *)ref->owner)->output.v[ref->index];
    default: return ref->slot;
    }
}

static void ref_write(onx_ref *ref, onx_str name) {
    *onx_ref_slot(ref) = name;
    if (ref->kind == ONX_REF_INFO) onx_msg_set_has(ref->owner, ONX_ROW(value_info, name));
    if (ref->kind == ONX_REF_INIT) onx_msg_set_has(ref->owner, ONX_ROW(tensor, name));
    onx_msg_touch(ref->owner);
}

/* The next graph of the tree below `root`, outer ones first. */
static onx_graph *graph_next(const onx_graph *root, onx_graph *at) {
    if (at->first_sub) return at->first_sub;
    while (at != root && !at->next_sub) at = at->outer;
    return at == root ? NULL : at->next_sub;
}

onx_value *onx_name_conflict(const onx_graph *graph, onx_str name) {
    onx_value *value = onx_value_lookup(graph, name);
    for (onx_graph *g = (onx_graph *)(uintptr_t)graph; g && !value; g = graph_next(graph, g))
        value = onx_value_find(g, name);
    return value;
}

static void value_write_name(onx_value *value, onx_str name) {
    value->name = name;
    for (onx_ref *r = value->first; r; r = r->next) ref_write(r, name);
}

/* Write a name, which is free, at all places of the value. */
static onx_status value_take_name(onx_value *value, onx_str name) {
    onx_map *map = &value->graph->model->values;
    bool known = onx_map_get(map, value->graph, value->name) == value;
    if (!onx_map_put(map, value->graph, name, value)) return ONX_NO_MEMORY;
    if (known) onx_map_remove(map, value->graph, value->name);
    value_write_name(value, name);
    return ONX_OK;
}

onx_status onx_value_rename(onx_value *value, const char *name, onx_diag *diag) {
    if (!value || !name || !*name)
        return onx_fail(diag, ONX_USAGE, "a value needs a name that is not empty");
    onx_str wanted = onx_str_of(name), copy;
    if (onx_str_eq(value->name, wanted)) return ONX_OK;
    if (onx_name_conflict(value->graph, wanted)) {
        onx_fail(diag, ONX_CONFLICT, "'%.*s' cannot be renamed to '%.*s': the name is taken",
                 ONX_FMT(value->name), ONX_FMT(wanted));
        onx_diag_hint(diag, "rename the other value first, or take a name from onx_graph_new_name");
        return ONX_CONFLICT;
    }
    if (!onx_doc_str(value->graph->model->msg.doc, wanted, &copy)) return onx_fail_nomem(diag);
    return value_take_name(value, copy) ? onx_fail_nomem(diag) : ONX_OK;
}

/* Does the ref stand in this list of a graph or function? */
static bool is_listed_in(const onx_ref *r, const onx_field *list) {
    const onx_msg *parent = r->kind == ONX_REF_INFO ? r->owner->parent : NULL;
    return parent && &parent->desc->fields[r->owner->field] == list;
}

/* Notes that stand or fall with the value: its declared type, its annotation. */
static bool is_own_note(const onx_ref *r) {
    if (r->kind == ONX_REF_OTHER)
        return r->owner->desc == &onx_desc_annotation || r->owner->desc == &onx_desc_sharding_spec;
    return is_listed_in(r, ONX_ROW(graph, value_info)) ||
           is_listed_in(r, ONX_ROW(function, value_info));
}

bool onx_value_is_needed(const onx_value *value) {
    for (const onx_ref *r = value->first; r; r = r->next)
        if (r->kind != ONX_REF_OUTPUT && r->kind != ONX_REF_INIT &&
            r->kind != ONX_REF_FUNCTION_IN && !is_listed_in(r, ONX_ROW(graph, input)) &&
            !is_own_note(r))
            return true;
    return false;
}

void onx_value_drop(onx_value *value) {
    if (onx_value_is_defined(value)) return;
    for (onx_ref *r = value->first, *next; r; r = next) {
        next = r->next;
        if (!is_own_note(r)) continue;
        onx_ref_detach(r);
        onx_msg_remove(r->owner);
    }
    value->info = NULL;
    if (value->first) return; /* still named somewhere: an undefined value */
    onx_map *map = &value->graph->model->values;
    if (onx_map_get(map, value->graph, value->name) == value)
        onx_map_remove(map, value->graph, value->name);
    value->dead = true;
}

bool onx_graph_sees(const onx_graph *inner, const onx_graph *outer) {
    while (inner && inner != outer) inner = inner->outer;
    return inner != NULL;
}

/* Move the uses at any depth from one value to the other: inputs of nodes, and outputs of inner
 * graphs. */
static void move_uses(onx_value *from, onx_value *to) {
    for (onx_ref *r = from->first, *next; r; r = next) {
        next = r->next;
        bool inner =
            is_listed_in(r, ONX_ROW(graph, output)) && r->owner->parent != &from->graph->msg;
        if (r->kind != ONX_REF_INPUT && !inner) continue;
        onx_ref_detach(r);
        onx_ref_attach(r, to);
        ref_write(r, to->name);
    }
}

/* `to` becomes the output that `from` was: it takes the name, and the places that tell of the
 * output. */
static onx_status take_output(onx_value *from, onx_value *to) {
    onx_graph *graph = from->graph;
    onx_map *map = &graph->model->values;
    onx_str name = from->name, fresh = onx_str_of(onx_graph_new_name(graph, onx_str_z(name)));
    if (!fresh.data || !onx_map_put(map, graph, fresh, from)) return ONX_NO_MEMORY;
    bool known = onx_map_get(map, graph, to->name) == to;
    if (!onx_map_put(map, graph, name, to)) {
        onx_map_remove(map, graph, fresh);
        return ONX_NO_MEMORY;
    }
    if (known) onx_map_remove(map, graph, to->name);
    value_write_name(from, fresh);
    value_write_name(to, name);
    for (onx_ref *r = from->first, *next; r; r = next) {
        next = r->next;
        bool output = r->kind == ONX_REF_FUNCTION_OUT || is_listed_in(r, ONX_ROW(graph, output));
        bool note = r->kind == ONX_REF_OTHER;
        if (!output && !note) continue;
        onx_ref_detach(r);
        onx_ref_attach(r, to);
        ref_write(r, name);
    }
    to->output = from->output;
    from->output = NULL;
    return ONX_OK;
}

/* `to` cannot take the name of an output: Identity(to) does. This is no builder call: a failure does not
 * stay with the model. */
static onx_status add_identity(onx_value *from, onx_value *to) {
    onx_diag *error = &from->graph->model->msg.doc->error, before = *error;
    onx_value *copy = onx_graph_add_op(from->graph, "Identity", NULL, to);
    *error = before;
    if (!copy) return ONX_NO_MEMORY;
    onx_status status = take_output(from, copy);
    if (status) (void)!onx_node_remove(copy->def, NULL);
    return status;
}

onx_status onx_value_replace(onx_value *from, onx_value *to, onx_diag *diag) {
    if (!from || !to) return onx_fail(diag, ONX_USAGE, "onx_value_replace needs two values");
    if (from == to) return ONX_OK;
    if (!from->name.size || !to->name.size)
        return onx_fail(diag, ONX_USAGE,
                        "a value without a name can neither be replaced nor replace one");
    if (!onx_graph_sees(from->graph, to->graph))
        return onx_fail(diag, ONX_USAGE, "'%.*s' cannot replace '%.*s': it lies in another graph",
                        ONX_FMT(to->name), ONX_FMT(from->name));
    bool is_output = onx_value_is_output(from);
    bool direct = to->graph == from->graph && to->def && !to->init && !onx_value_is_output(to);
    if (is_output && (direct ? take_output(from, to) : add_identity(from, to)))
        return onx_fail_nomem(diag);
    move_uses(from, to);
    return ONX_OK;
}
