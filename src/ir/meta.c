/* meta.c: what is said about things: imported opsets, descriptions, metadata. */
#include "ir/edit.h"

void *onx_list_at(const onx_list *list, size_t index) {
    onx_msg *m = list->first;
    while (m && index--) m = m->next;
    return m;
}

/* ── Opsets, of models and functions ─────────────────────────────────────────────────────────── */

static onx_str plain_domain(onx_str domain) {
    return onx_str_is(domain, "ai.onnx") ? ONX_LIT("") : domain;
}

static onx_opset *opset_find(const onx_list *opsets, const char *domain) {
    onx_str wanted = plain_domain(onx_str_of(domain));
    ONX_EACH (onx_opset, o, *opsets)
        if (onx_str_eq(plain_domain(o->domain), wanted)) return o;
    return NULL;
}

static int64_t opset_get(const onx_list *opsets, const char *domain) {
    const onx_opset *opset = opset_find(opsets, domain);
    return opset ? opset->version : 0;
}

static onx_status opset_set(void *owner, const onx_field *row, const char *domain,
                            int64_t version) {
    onx_opset *opset = opset_find(onx_field_ptr(owner, row), domain);
    if (version == 0) {
        if (opset) onx_msg_remove(opset);
        return ONX_OK;
    }
    if (!opset) {
        opset = onx_msg_new(((onx_msg *)owner)->doc, &onx_desc_opset);
        if (!opset) return ONX_NO_MEMORY;
        ONX_TRY(onx_str_set(opset, ONX_ROW(opset, domain), domain));
        onx_msg_append(owner, row, opset);
    }
    onx_i64_set(opset, ONX_ROW(opset, version), version);
    return ONX_OK;
}

const onx_opset *onx_model_opset_first(const onx_model *model) {
    return (const onx_opset *)model->opset_import.first;
}

const onx_opset *onx_function_opset_first(const onx_function *function) {
    return (const onx_opset *)function->opset_import.first;
}

const onx_opset *onx_opset_next(const onx_opset *opset) {
    return (const onx_opset *)opset->msg.next;
}

const char *onx_opset_domain(const onx_opset *opset) {
    return onx_str_z(opset->domain);
}

int64_t onx_opset_version(const onx_opset *opset) {
    return opset->version;
}

int64_t onx_model_opset(const onx_model *model, const char *domain) {
    return opset_get(&model->opset_import, domain);
}

int64_t onx_function_opset(const onx_function *function, const char *domain) {
    return opset_get(&function->opset_import, domain);
}

onx_status onx_model_set_opset(onx_model *model, const char *domain, int64_t version) {
    return opset_set(model, ONX_ROW(model, opset_import), domain, version);
}

onx_status onx_function_set_opset(onx_function *function, const char *domain, int64_t version) {
    return opset_set(function, ONX_ROW(function, opset_import), domain, version);
}

/* ── Entries ─────────────────────────────────────────────────────────────────────────────────── */

onx_entry *onx_entry_find(const onx_list *entries, const char *key) {
    ONX_EACH (onx_entry, e, *entries)
        if (onx_str_is(e->key, key)) return e;
    return NULL;
}

onx_status onx_entry_set(void *owner, const onx_field *row, const char *key, const char *value) {
    if (!key) return ONX_USAGE;
    onx_entry *entry = onx_entry_find(onx_field_ptr(owner, row), key);
    if (!value) {
        if (entry) onx_msg_remove(entry);
        return ONX_OK;
    }
    if (entry) return onx_str_set(entry, ONX_ROW(entry, value), value);
    entry = onx_msg_new(((onx_msg *)owner)->doc, &onx_desc_entry);
    if (!entry) return ONX_NO_MEMORY;
    ONX_TRY(onx_str_set(entry, ONX_ROW(entry, key), key));
    ONX_TRY(onx_str_set(entry, ONX_ROW(entry, value), value));
    onx_msg_append(owner, row, entry);
    return ONX_OK;
}

const onx_entry *onx_entry_next(const onx_entry *entry) {
    return (const onx_entry *)entry->msg.next;
}

const char *onx_entry_key(const onx_entry *entry) {
    return onx_str_z(entry->key);
}

const char *onx_entry_value(const onx_entry *entry) {
    return onx_str_z(entry->value);
}

static const onx_entry *first(const onx_list *entries) {
    return (const onx_entry *)entries->first;
}

static const char *get(const onx_list *entries, const char *key) {
    const onx_entry *entry = key ? onx_entry_find(entries, key) : NULL;
    return entry ? onx_str_z(entry->value) : NULL;
}

/* ── Metadata ────────────────────────────────────────────────────────────────────────────────── */

const onx_entry *onx_model_meta_first(const onx_model *model) {
    return first(&model->metadata_props);
}

const char *onx_model_meta(const onx_model *model, const char *key) {
    return get(&model->metadata_props, key);
}

onx_status onx_model_set_meta(onx_model *model, const char *key, const char *value) {
    return onx_entry_set(model, ONX_ROW(model, metadata_props), key, value);
}

static const onx_list *graph_entries(const onx_graph *graph) {
    return graph->function ? &graph->function->metadata_props : &graph->metadata_props;
}

const onx_entry *onx_graph_meta_first(const onx_graph *graph) {
    return first(graph_entries(graph));
}

const char *onx_graph_meta(const onx_graph *graph, const char *key) {
    return get(graph_entries(graph), key);
}

onx_status onx_graph_set_meta(onx_graph *graph, const char *key, const char *value) {
    return graph->function
               ? onx_entry_set(graph->function, ONX_ROW(function, metadata_props), key, value)
               : onx_entry_set(graph, ONX_ROW(graph, metadata_props), key, value);
}

const onx_entry *onx_node_meta_first(const onx_node *node) {
    return first(&node->metadata_props);
}

const char *onx_node_meta(const onx_node *node, const char *key) {
    return get(&node->metadata_props, key);
}

onx_status onx_node_set_meta(onx_node *node, const char *key, const char *value) {
    return onx_entry_set(node, ONX_ROW(node, metadata_props), key, value);
}

const onx_entry *onx_tensor_meta_first(const onx_tensor *tensor) {
    return first(&tensor->metadata_props);
}

const char *onx_tensor_meta(const onx_tensor *tensor, const char *key) {
    return get(&tensor->metadata_props, key);
}

onx_status onx_tensor_set_meta(onx_tensor *tensor, const char *key, const char *value) {
    return onx_entry_set(tensor, ONX_ROW(tensor, metadata_props), key, value);
}

/* ── Values: said where their types are declared ─────────────────────────────────────────────── */

static onx_value_info *info_of(const onx_value *value) {
    return value->input ? value->input : value->output ? value->output : value->info;
}

/* Say something about a value, in a place that is made for it if there is none. */
static onx_status say(onx_value *value, const onx_field *row, const char *key, const char *text) {
    bool made = text && !info_of(value);
    if (value->dead) return ONX_USAGE;
    if (made) ONX_TRY(onx_value_declare(value, NULL));
    onx_value_info *info = info_of(value);
    if (!info) return ONX_OK;
    onx_status status = row->kind == ONX_FIELD_STR ? onx_str_set(info, row, text)
                                                   : onx_entry_set(info, row, key, text);
    if (status && made) {
        onx_ref_detach(info->ref);
        onx_msg_remove(info);
        value->info = NULL;
    }
    return status;
}

const char *onx_value_doc(const onx_value *value) {
    const onx_value_info *info = info_of(value);
    return info ? onx_str_z(info->doc_string) : "";
}

onx_status onx_value_set_doc(onx_value *value, const char *doc) {
    return say(value, ONX_ROW(value_info, doc_string), NULL, doc);
}

const onx_entry *onx_value_meta_first(const onx_value *value) {
    const onx_value_info *info = info_of(value);
    return info ? first(&info->metadata_props) : NULL;
}

const char *onx_value_meta(const onx_value *value, const char *key) {
    const onx_value_info *info = info_of(value);
    return info ? get(&info->metadata_props, key) : NULL;
}

onx_status onx_value_set_meta(onx_value *value, const char *key, const char *text) {
    return say(value, ONX_ROW(value_info, metadata_props), key, text);
}
