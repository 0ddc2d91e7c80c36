/* graph.c: graphs: contents, inputs and outputs, initializers, names, order. */
#include "ir/edit.h"
#include "ir/type_text.h"

#include <stdio.h>

const char *onx_graph_name(const onx_graph *graph) {
    return graph->function ? onx_str_z(graph->function->name) : onx_str_z(graph->name);
}

onx_status onx_graph_set_name(onx_graph *graph, const char *name) {
    return graph->function ? ONX_USAGE : onx_str_set(graph, ONX_ROW(graph, name), name);
}

const char *onx_graph_doc(const onx_graph *graph) {
    return graph->function ? onx_str_z(graph->function->doc_string) : onx_str_z(graph->doc_string);
}

onx_status onx_graph_set_doc(onx_graph *graph, const char *doc) {
    return graph->function ? onx_str_set(graph->function, ONX_ROW(function, doc_string), doc)
                           : onx_str_set(graph, ONX_ROW(graph, doc_string), doc);
}

onx_model *onx_graph_model(const onx_graph *graph) {
    return graph->model;
}

onx_graph *onx_graph_outer(const onx_graph *graph) {
    return graph->outer;
}

onx_node *onx_graph_owner(const onx_graph *graph) {
    const onx_msg *attr = graph->msg.parent;
    const onx_msg *node = attr && attr->desc == &onx_desc_attr ? attr->parent : NULL;
    return node && node->desc == &onx_desc_node ? (onx_node *)(uintptr_t)node : NULL;
}

onx_function *onx_graph_function(const onx_graph *graph) {
    return graph->function;
}

size_t onx_graph_node_count(const onx_graph *graph) {
    return graph->node.count;
}

onx_node *onx_graph_node_first(const onx_graph *graph) {
    return (onx_node *)graph->node.first;
}

onx_node *onx_graph_node_last(const onx_graph *graph) {
    return (onx_node *)graph->node.last;
}

size_t onx_graph_input_count(const onx_graph *graph) {
    return graph->ins.n;
}

size_t onx_graph_output_count(const onx_graph *graph) {
    return graph->outs.n;
}

onx_value *onx_graph_input(const onx_graph *graph, size_t index) {
    return index < graph->ins.n ? graph->ins.v[index]->value : NULL;
}

onx_value *onx_graph_output(const onx_graph *graph, size_t index) {
    return index < graph->outs.n ? graph->outs.v[index]->value : NULL;
}

size_t onx_graph_initializer_count(const onx_graph *graph) {
    return graph->initializer.count;
}

onx_tensor *onx_graph_initializer_first(const onx_graph *graph) {
    return (onx_tensor *)graph->initializer.first;
}

onx_value *onx_graph_find(const onx_graph *graph, const char *name) {
    return onx_value_find(graph, onx_str_of(name));
}

onx_value *onx_graph_lookup(const onx_graph *graph, const char *name) {
    return onx_value_lookup(graph, onx_str_of(name));
}

onx_value *onx_graph_value_first(const onx_graph *graph) {
    onx_value *value = graph->values;
    return value && value->dead ? onx_value_next(value) : value;
}

onx_graph *onx_graph_sub_first(const onx_graph *graph) {
    return graph->first_sub;
}

onx_graph *onx_graph_sub_next(const onx_graph *graph) {
    return graph->next_sub;
}

const char *onx_graph_new_name(onx_graph *graph, const char *hint) {
    onx_model *model = graph->model;
    char name[256];
    onx_str out;
    int n = snprintf(name, sizeof name, "%.200s", hint && *hint ? hint : "value");
    for (uint64_t i = model->next_name; onx_name_conflict(graph, onx_str_of(name)); i++) {
        snprintf(name + n, sizeof name - (size_t)n, "_%llu", (unsigned long long)i + 1);
        model->next_name = i + 1;
    }
    return onx_doc_str(model->msg.doc, onx_str_of(name), &out) ? out.data : NULL;
}

/* Builder functions: one exit that remembers what went wrong. */

static onx_value *fail(onx_graph *graph, onx_diag *diag) {
    onx_doc_error(graph->model->msg.doc, diag);
    return NULL;
}

static onx_status new_value(onx_graph *graph, const char *name, onx_value **out, onx_diag *diag) {
    onx_str copy;
    if (!name || !*name) return onx_fail(diag, ONX_USAGE, "a value needs a name");
    onx_value *value = onx_value_find(graph, onx_str_of(name));
    if (value && !onx_value_is_defined(value)) {
        *out = value;
        return ONX_OK;
    }
    if (onx_name_conflict(graph, onx_str_of(name)))
        return onx_fail(diag, ONX_CONFLICT, "there is a value '%.200s' already", name);
    if (!onx_doc_str(graph->model->msg.doc, onx_str_of(name), &copy)) return onx_fail_nomem(diag);
    value = onx_value_new(graph, copy);
    if (!value) return onx_fail_nomem(diag);
    *out = value;
    return ONX_OK;
}

/* A value info in one of the three lists of a graph, or in the value infos of a function. `refs` is
 * the graph's list of inputs or outputs beside it, or NULL. */
static onx_status add_info(onx_value *value, void *owner, const onx_field *row, const char *type,
                           onx_refs *refs, onx_value_info **slot, onx_diag *diag) {
    onx_doc *doc = value->graph->model->msg.doc;
    onx_value_info *info = onx_msg_new(doc, &onx_desc_value_info);
    onx_type *parsed = NULL;
    if (!info) return onx_fail_nomem(diag);
    if (type) ONX_TRY(onx_type_parse(doc, onx_str_of(type), &parsed, diag));
    onx_ref *ref = onx_ref_new(value, info, ONX_REF_INFO, 0, &info->name);
    if (!ref) return onx_fail_nomem(diag);
    if (refs && !onx_refs_push(doc, refs, ref)) {
        onx_ref_detach(ref);
        return onx_fail_nomem(diag);
    }
    info->ref = ref;
    info->name = value->name;
    onx_msg_set_has(info, ONX_ROW(value_info, name));
    if (parsed) onx_msg_append(info, ONX_ROW(value_info, type), parsed);
    onx_msg_append(owner, row, info);
    if (!*slot && onx_msg_graph(owner) == value->graph) *slot = info;
    return ONX_OK;
}

static onx_status add_parameter(onx_graph *graph, onx_value *value, bool output, onx_diag *diag) {
    onx_function *f = graph->function;
    onx_strs *names = output ? &f->output : &f->input;
    onx_refs *refs = output ? &graph->outs : &graph->ins;
    onx_ref_kind kind = output ? ONX_REF_FUNCTION_OUT : ONX_REF_FUNCTION_IN;
    if (!onx_strs_push(f->msg.doc, names, value->name)) return onx_fail_nomem(diag);
    onx_ref *ref = onx_ref_new(value, f, kind, names->n - 1, NULL);
    if (!onx_refs_push(f->msg.doc, refs, ref)) {
        if (ref) onx_ref_detach(ref);
        names->n--;
        return onx_fail_nomem(diag);
    }
    if (!output) value->parameter = true;
    onx_msg_touch(f);
    return ONX_OK;
}

static onx_status add_body_type(onx_value *value, const char *type, onx_diag *diag) {
    if (!type) return ONX_OK;
    if (value->info) return onx_value_set_type(value, type, diag);
    return add_info(value, value->graph->function, ONX_ROW(function, value_info), type, NULL,
                    &value->info, diag);
}

onx_value *onx_graph_add_input(onx_graph *graph, const char *name, const char *type) {
    onx_diag diag;
    onx_value *value;
    if (!graph) return NULL;
    onx_status status = new_value(graph, name, &value, &diag);
    if (!status && graph->function) {
        status = add_parameter(graph, value, false, &diag);
        if (!status) status = add_body_type(value, type, &diag);
    } else if (!status) {
        status =
            add_info(value, graph, ONX_ROW(graph, input), type, &graph->ins, &value->input, &diag);
    }
    if (!status) return value;
    onx_diag_place(&diag, "input '%.100s' of graph '%.100s'", name ? name : "",
                   onx_graph_name(graph));
    return fail(graph, &diag);
}

onx_value *onx_graph_add_output(onx_graph *graph, onx_value *value, const char *type) {
    onx_diag diag;
    onx_status status;
    if (!graph || !value) return NULL;
    if (!onx_graph_sees(graph, value->graph)) {
        status = onx_fail(&diag, ONX_USAGE, "the value lies in another graph");
    } else if (graph->function) {
        status = add_parameter(graph, value, true, &diag);
        if (!status) status = add_body_type(value, type, &diag);
    } else {
        status = add_info(value, graph, ONX_ROW(graph, output), type, &graph->outs, &value->output,
                          &diag);
    }
    if (!status) return value;
    onx_diag_place(&diag, "output '%.*s' of graph '%.100s'", ONX_FMT(value->name),
                   onx_graph_name(graph));
    return fail(graph, &diag);
}

onx_status onx_value_set_type(onx_value *value, const char *type, onx_diag *diag) {
    onx_value_info *infos[] = {value->input, value->output, value->info};
    bool any = false;
    for (size_t i = 0; i < ONX_COUNT(infos); i++) {
        onx_type *parsed = NULL;
        if (!infos[i]) continue;
        any = true;
        if (type) ONX_TRY(onx_type_parse(infos[i]->msg.doc, onx_str_of(type), &parsed, diag));
        if (parsed)
            onx_msg_append(infos[i], ONX_ROW(value_info, type), parsed);
        else
            onx_msg_clear(infos[i], ONX_ROW(value_info, type));
        onx_msg_touch(infos[i]);
    }
    if (any || !type) return ONX_OK;
    if (value->graph->function) return add_body_type(value, type, diag);
    return add_info(value, value->graph, ONX_ROW(graph, value_info), type, NULL, &value->info,
                    diag);
}

/* Put a finished tensor, detached and of this model's document, among the initializers. */
static onx_value *add_initializer(onx_graph *graph, const char *name, onx_tensor *tensor,
                                  onx_diag *diag) {
    onx_value *value = onx_value_find(graph, onx_str_of(name));
    bool overridable = value && value->input && !value->init && !value->def;
    if (graph->function) {
        onx_fail(diag, ONX_USAGE, "functions have no initializers");
        onx_diag_hint(diag, "use a Constant node");
        return NULL;
    }
    if (!overridable && new_value(graph, name, &value, diag)) return NULL;
    tensor->ref = onx_ref_new(value, tensor, ONX_REF_INIT, 0, &tensor->name);
    if (!tensor->ref) {
        onx_fail_nomem(diag);
        return NULL;
    }
    tensor->name = value->name;
    onx_msg_set_has(tensor, ONX_ROW(tensor, name));
    value->init = tensor;
    onx_msg_append(graph, ONX_ROW(graph, initializer), tensor);
    return value;
}

static onx_value *finish_initializer(onx_graph *graph, const char *name, onx_tensor *tensor,
                                     onx_status status, onx_diag *diag) {
    onx_value *value = status ? NULL : add_initializer(graph, name, tensor, diag);
    if (value) return value;
    onx_diag_place(diag, "initializer '%.100s' of graph '%.100s'", name ? name : "",
                   onx_graph_name(graph));
    return fail(graph, diag);
}

onx_value *onx_graph_add_initializer(onx_graph *graph, const char *name, onx_dtype dtype,
                                     size_t rank, const int64_t *dims, const void *data,
                                     size_t bytes) {
    if (!graph) return NULL;
    onx_diag diag;
    onx_tensor *tensor = onx_msg_new(graph->model->msg.doc, &onx_desc_tensor);
    onx_status status = tensor ? onx_tensor_set(tensor, dtype, rank, dims, data, bytes, &diag)
                               : onx_fail_nomem(&diag);
    return finish_initializer(graph, name, tensor, status, &diag);
}

onx_value *onx_graph_add_strings(onx_graph *graph, const char *name, size_t rank,
                                 const int64_t *dims, const char *const *strings) {
    if (!graph) return NULL;
    onx_diag diag;
    onx_tensor *tensor = onx_msg_new(graph->model->msg.doc, &onx_desc_tensor);
    onx_status status =
        tensor ? onx_tensor_set_strings(tensor, rank, dims, strings, &diag) : onx_fail_nomem(&diag);
    return finish_initializer(graph, name, tensor, status, &diag);
}

onx_value *onx_graph_add_tensor(onx_graph *graph, const char *name, const onx_tensor *tensor) {
    if (!graph || !tensor) return NULL;
    onx_diag diag;
    onx_tensor *copy = NULL;
    onx_status status = onx_tensor_copy(graph->model->msg.doc, tensor, &copy, &diag);
    return finish_initializer(graph, name ? name : onx_tensor_name(tensor), copy, status, &diag);
}

/* Removal. */

static onx_status fail_used(const onx_value *value, onx_diag *diag) {
    onx_fail(diag, ONX_CONFLICT, "'%.*s' is still used", ONX_FMT(value->name));
    onx_diag_hint(diag, "replace it first: onx_value_replace");
    return ONX_CONFLICT;
}

/* The reference leaves the inputs or outputs of its graph: close the gap, also among a function's
 * names. */
static void remove_ref(onx_graph *graph, onx_refs *refs, onx_ref *ref) {
    size_t at = 0;
    while (refs->v[at] != ref) at++;
    onx_strs *names = !graph->function      ? NULL
                      : refs == &graph->ins ? &graph->function->input
                                            : &graph->function->output;
    for (; at + 1 < refs->n; at++) {
        refs->v[at] = refs->v[at + 1];
        if (!names) continue;
        names->v[at] = names->v[at + 1];
        refs->v[at]->index = (uint32_t)at;
    }
    refs->n--;
    if (names) names->n--;
    onx_ref_detach(ref);
    if (names)
        onx_msg_touch(graph->function);
    else
        onx_msg_remove(ref->owner);
}

static onx_ref *find_ref(const onx_refs *refs, const onx_value *value) {
    for (size_t i = 0; i < refs->n; i++)
        if (refs->v[i]->value == value) return refs->v[i];
    return NULL;
}

onx_status onx_graph_remove_input(onx_graph *graph, onx_value *value, onx_diag *diag) {
    onx_ref *ref = graph && value ? find_ref(&graph->ins, value) : NULL;
    if (!ref) return onx_fail(diag, ONX_USAGE, "the value is not an input of the graph");
    bool stays = value->init || value->def;
    if (!stays && onx_value_is_needed(value)) return fail_used(value, diag);
    remove_ref(graph, &graph->ins, ref);
    value->parameter = false;
    value->input = NULL;
    onx_value_drop(value);
    return ONX_OK;
}

onx_status onx_graph_remove_output(onx_graph *graph, onx_value *value, onx_diag *diag) {
    onx_ref *ref = graph && value ? find_ref(&graph->outs, value) : NULL;
    if (!ref) return onx_fail(diag, ONX_USAGE, "the value is not an output of the graph");
    remove_ref(graph, &graph->outs, ref);
    ref = find_ref(&graph->outs, value); /* the same value may be an output twice */
    if (value->graph == graph && !graph->function)
        value->output = ref ? (onx_value_info *)ref->owner : NULL;
    onx_value_drop(value);
    return ONX_OK;
}

onx_status onx_graph_remove_initializer(onx_graph *graph, onx_value *value, onx_diag *diag) {
    if (!value || value->graph != graph || !value->init)
        return onx_fail(diag, ONX_USAGE, "the value is not an initializer of the graph");
    bool stays = value->input || value->def;
    if (!stays && onx_value_is_needed(value)) return fail_used(value, diag);
    onx_ref_detach(value->init->ref);
    onx_msg_remove(value->sparse ? (void *)value->sparse : (void *)value->init);
    value->init = NULL;
    value->sparse = NULL;
    onx_value_drop(value);
    return ONX_OK;
}
