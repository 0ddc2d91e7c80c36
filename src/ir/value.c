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

void onx_value_write_name(onx_value *value) {
    for (onx_ref *r = value->first; r; r = r->next) ref_write(r, value->name);
}

onx_status onx_value_rename(onx_value *value, const char *name, onx_diag *diag) {
    if (!value || !name || !*name)
        return onx_fail(diag, ONX_USAGE, "a value needs a name that is not empty");
    onx_str wanted = onx_str_of(name), copy;
    if (value->dead) return onx_fail(diag, ONX_USAGE, "the value was removed");
    if (onx_str_eq(value->name, wanted)) return ONX_OK;
    if (onx_name_conflict(value->graph, wanted)) {
        onx_fail(diag, ONX_CONFLICT, "'%.*s' cannot be renamed to '%.*s': the name is taken",
                 ONX_FMT(value->name), ONX_FMT(wanted));
        onx_diag_hint(diag, "rename the other value first, or take a name from onx_graph_new_name");
        return ONX_CONFLICT;
    }
    if (!onx_doc_str(value->graph->model->msg.doc, wanted, &copy) ||
        !onx_value_take_name(value, copy))
        return onx_fail_nomem(diag);
    onx_value_write_name(value);
    return ONX_OK;
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

static bool is_definition(const onx_ref *r) {
    return r->kind == ONX_REF_OUTPUT || r->kind == ONX_REF_INIT || r->kind == ONX_REF_FUNCTION_IN ||
           is_listed_in(r, ONX_ROW(graph, input));
}

bool onx_ref_is_use(const onx_ref *r) {
    return !is_definition(r) && !is_own_note(r);
}

bool onx_value_is_needed(const onx_value *value) {
    for (const onx_ref *r = value->first; r; r = r->next)
        if (onx_ref_is_use(r)) return true;
    return false;
}

void onx_value_drop(onx_value *value) {
    if (onx_value_is_defined(value) || onx_value_is_needed(value)) return;
    while (value->first) { /* only notes are left */
        onx_msg *note = value->first->owner;
        onx_ref_detach(value->first);
        onx_msg_unlink_names(note); /* an annotation names other values, too */
        onx_msg_remove(note);
    }
    value->info = NULL;
    onx_value_unname(value);
    value->dead = true;
}

/* Putting one value in the place of another. */

/* Does the ref say that the value is an output of its own graph? */
static bool is_own_output(const onx_ref *r, const onx_value *value) {
    return r->kind == ONX_REF_FUNCTION_OUT ||
           (is_listed_in(r, ONX_ROW(graph, output)) && r->owner->parent == &value->graph->msg);
}

static void move_ref(onx_ref *r, onx_value *to) {
    onx_ref_detach(r);
    onx_ref_attach(r, to);
    ref_write(r, to->name);
}

/* Can `to` be named wherever `from` is used? */
static onx_status check_uses(const onx_value *from, const onx_value *to, onx_diag *diag) {
    for (const onx_ref *r = from->first; r; r = r->next)
        if (onx_ref_is_use(r))
            ONX_TRY(onx_value_check_seen(to, onx_note_scope(r->owner, r->slot), diag));
    return onx_value_check_seen(to, from->graph, diag);
}

static void move_uses(onx_value *from, onx_value *to) {
    for (onx_ref *r = from->first, *next; r; r = next) {
        next = r->next;
        if (onx_ref_is_use(r) && !is_own_output(r, from)) move_ref(r, to);
    }
}

/* Could `to` have the name of `from`? It must be computed here, be no output under its own name,
 * and no use of it may lie where the name means something else. */
static bool can_take_output(const onx_value *from, const onx_value *to) {
    if (to->graph != from->graph || !to->def || onx_value_is_output(to)) return false;
    for (const onx_ref *r = to->first; r; r = r->next)
        if (onx_value_lookup(onx_note_scope(r->owner, r->slot), from->name) != from) return false;
    return true;
}

/* `to` becomes the output that `from` was: it takes the name, and the places that tell of the
 * output. */
static onx_status take_output(onx_value *from, onx_value *to) {
    onx_str fresh = onx_str_of(onx_graph_new_name(from->graph, onx_str_z(from->name)));
    if (!fresh.data || !onx_value_swap_name(from, to, fresh)) return ONX_NO_MEMORY;
    onx_value_write_name(from);
    onx_value_write_name(to);
    for (onx_ref *r = from->first, *next; r; r = next) {
        next = r->next;
        if (is_own_output(r, from) || r->kind == ONX_REF_OTHER) move_ref(r, to);
    }
    to->output = from->output;
    from->output = NULL;
    return ONX_OK;
}

/* `to` cannot take the name of an output: Identity(to) does. This is no builder call: a failure
 * does not stay with the model. */
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
    ONX_TRY(onx_value_check_seen(from, from->graph, diag));
    ONX_TRY(check_uses(from, to, diag));
    bool is_output = onx_value_is_output(from);
    if (is_output && onx_value_is_input(from))
        return onx_fail(diag, ONX_CONFLICT,
                        "'%.*s' is an input and an output of its graph: both keep their names",
                        ONX_FMT(from->name));
    bool direct = is_output && can_take_output(from, to);
    if (is_output && (direct ? take_output(from, to) : add_identity(from, to)))
        return onx_fail_nomem(diag);
    move_uses(from, to);
    return ONX_OK;
}
