/* training.c: training steps of a model: their graphs, and which result belongs to which
 * variable. */
#include "ir/edit.h"

size_t onx_model_training_count(const onx_model *model) {
    return model->training_info.count;
}

onx_training *onx_model_training_first(const onx_model *model) {
    return (onx_training *)model->training_info.first;
}

onx_training *onx_training_next(const onx_training *training) {
    return (onx_training *)training->msg.next;
}

onx_graph *onx_training_initialization(const onx_training *training) {
    return training->initialization;
}

onx_graph *onx_training_algorithm(const onx_training *training) {
    return training->algorithm;
}

const onx_entry *onx_training_initial_first(const onx_training *training) {
    return (const onx_entry *)training->initialization_binding.first;
}

const onx_entry *onx_training_update_first(const onx_training *training) {
    return (const onx_entry *)training->update_binding.first;
}

onx_training *onx_model_add_training(onx_model *model) {
    if (!model) return NULL;
    onx_training *training = onx_msg_new(model->msg.doc, &onx_desc_training);
    if (training) {
        onx_msg_append(model, ONX_ROW(model, training_info), training);
    } else {
        onx_diag diag;
        onx_fail_nomem(&diag);
        onx_doc_error(model->msg.doc, &diag);
    }
    return training;
}

static onx_graph *add_graph(onx_training *t, const onx_field *row, const char *name) {
    if (!t) return NULL;
    bool free = !t->msg.dead && !onx_msg_has(t, row);
    onx_graph *graph = free ? onx_msg_new(t->msg.doc, &onx_desc_graph) : NULL;
    if (!graph || onx_str_set(graph, ONX_ROW(graph, name), name ? name : "")) {
        onx_diag diag;
        onx_fail(&diag, free ? ONX_NO_MEMORY : ONX_CONFLICT, "the %s cannot be added%s", row->name,
                 free ? "" : ": the training step has one, or was removed");
        onx_doc_error(t->msg.doc, &diag);
        return NULL;
    }
    onx_model *model = (onx_model *)t->msg.parent;
    onx_msg_append(t, row, graph);
    onx_graph_adopt(model, graph, model->graph);
    return graph;
}

onx_graph *onx_training_add_initialization(onx_training *training, const char *name) {
    return add_graph(training, ONX_ROW(training, initialization), name);
}

onx_graph *onx_training_add_algorithm(onx_training *training, const char *name) {
    return add_graph(training, ONX_ROW(training, algorithm), name);
}

/* A new binding is linked in its place, which tells where its names are looked up. */
static onx_status link_binding(onx_entry *e, onx_value *variable, onx_value *result,
                               onx_diag *diag) {
    ONX_TRY(onx_value_check_seen(variable, onx_note_scope(&e->msg, &e->key), diag));
    ONX_TRY(onx_value_check_seen(result, onx_note_scope(&e->msg, &e->value), diag));
    return onx_notes_link(e) ? ONX_OK : onx_fail_nomem(diag);
}

static onx_status bind(onx_training *t, const onx_field *row, onx_value *variable,
                       onx_value *result, onx_diag *diag) {
    if (!t || t->msg.dead || !variable || !result)
        return onx_fail(diag, ONX_USAGE, "a binding needs a training step and two values");
    onx_entry *entry = onx_msg_new(t->msg.doc, &onx_desc_entry);
    if (!entry) return onx_fail_nomem(diag);
    entry->key = variable->name;
    entry->value = result->name;
    onx_msg_set_has(entry, ONX_ROW(entry, key));
    onx_msg_set_has(entry, ONX_ROW(entry, value));
    onx_msg_append(t, row, entry);
    onx_status status = link_binding(entry, variable, result, diag);
    if (!status) return ONX_OK;
    onx_notes_unlink(entry);
    onx_msg_remove(entry);
    return status;
}

onx_status onx_training_bind_initial(onx_training *training, onx_value *variable, onx_value *result,
                                     onx_diag *diag) {
    return bind(training, ONX_ROW(training, initialization_binding), variable, result, diag);
}

onx_status onx_training_bind_update(onx_training *training, onx_value *variable, onx_value *result,
                                    onx_diag *diag) {
    return bind(training, ONX_ROW(training, update_binding), variable, result, diag);
}

onx_status onx_training_remove(onx_training *training) {
    if (training->msg.dead) return ONX_USAGE;
    onx_msg_unlink_names(training);
    onx_msg_remove(training);
    return ONX_OK;
}
