/* model.c: models: life, header fields, opsets, metadata. */
#include "ir/edit.h"

/* The lowest IR version whose models may import each opset of the default domain. */
static const struct {
    int64_t opset, ir;
} ir_versions[] = {{8, 3},  {9, 4},   {10, 5},  {11, 6},  {14, 7},  {18, 8},
                   {20, 9}, {22, 10}, {23, 11}, {24, 12}, {27, 13}, {INT64_MAX, 14}};

static int64_t ir_version_for(int64_t opset) {
    size_t i = 0;
    while (ir_versions[i].opset < opset) i++;
    return ir_versions[i].ir;
}

onx_status onx_str_set(void *msg, const onx_field *field, const char *z) {
    onx_msg *m = msg;
    onx_str copy;
    if (!z) {
        onx_msg_clear(msg, field);
    } else {
        if (!onx_doc_str(m->doc, onx_str_of(z), &copy)) return ONX_NO_MEMORY;
        *(onx_str *)onx_field_ptr(msg, field) = copy;
        onx_msg_set_has(msg, field);
    }
    onx_msg_touch(msg);
    return ONX_OK;
}

void onx_i64_set(void *msg, const onx_field *field, int64_t value) {
    *(int64_t *)onx_field_ptr(msg, field) = value;
    onx_msg_set_has(msg, field);
    onx_msg_touch(msg);
}

void onx_i32_set(void *msg, const onx_field *field, int32_t value) {
    *(int32_t *)onx_field_ptr(msg, field) = value;
    onx_msg_set_has(msg, field);
    onx_msg_touch(msg);
}

void onx_doc_error(onx_doc *doc, const onx_diag *diag) {
    if (doc->error.status == ONX_OK) doc->error = *diag;
}

const onx_diag *onx_model_error(const onx_model *model) {
    return model && model->msg.doc->error.status ? &model->msg.doc->error : NULL;
}

/* Everything a model needs besides its memory. */
static onx_status model_fill(onx_model *model, const char *name, int64_t opset) {
    onx_graph *graph = onx_msg_new(model->msg.doc, &onx_desc_graph);
    if (!graph) return ONX_NO_MEMORY;
    onx_i64_set(model, ONX_ROW(model, ir_version), ir_version_for(opset));
    onx_msg_append(model, ONX_ROW(model, graph), graph);
    onx_map_init(&model->values, model->msg.doc->ctx);
    onx_graph_adopt(model, graph, NULL);
    ONX_TRY(onx_str_set(model, ONX_ROW(model, producer_name), "onx"));
    ONX_TRY(onx_str_set(model, ONX_ROW(model, producer_version), ONX_VERSION));
    ONX_TRY(onx_str_set(graph, ONX_ROW(graph, name), name));
    return onx_model_set_opset(model, "", opset);
}

onx_model *onx_model_new(onx_context *ctx, const char *name, int64_t opset) {
    onx_doc *doc;
    if (onx_doc_new(ctx, &doc, NULL)) return NULL;
    onx_model *model = onx_msg_new(doc, &onx_desc_model);
    if (!model || model_fill(model, name ? name : "", opset)) {
        if (model) onx_map_fini(&model->values);
        onx_doc_free(doc);
        return NULL;
    }
    doc->root = &model->msg;
    return model;
}

void onx_model_free(onx_model *model) {
    if (!model) return;
    if (model->values.ctx) onx_map_fini(&model->values);
    onx_doc_free(model->msg.doc);
}

onx_status onx_model_clone(const onx_model *model, onx_model **out, onx_diag *diag) {
    onx_doc *doc;
    onx_model *copy = NULL;
    ONX_TRY(onx_doc_new(model->msg.doc->ctx, &doc, diag));
    onx_status status = onx_doc_keep_all(doc, model->msg.doc, diag);
    if (!status) status = onx_msg_clone(doc, model, &copy, diag);
    if (!status) status = onx_clone_links(model, copy, diag);
    if (!status) status = onx_model_link(copy, diag);
    if (status) {
        if (copy && copy->values.ctx) onx_map_fini(&copy->values);
        onx_doc_free(doc);
        return status;
    }
    doc->root = &copy->msg;
    *out = copy;
    return ONX_OK;
}

/* What is known about a message beyond its fields: where external data was found. */
onx_status onx_clone_links(const void *from, void *to, onx_diag *diag) {
    onx_walk u = onx_walk_begin(from), v = onx_walk_begin(to);
    const onx_msg *a;
    onx_msg *b;
    while ((a = onx_walk_next(&u)) && (b = onx_walk_next(&v)))
        if (a->desc == &onx_desc_tensor)
            ((onx_tensor *)b)->external = ((const onx_tensor *)a)->external;
    const onx_model *model = from;
    if (model->msg.desc != &onx_desc_model || !model->folder) return ONX_OK;
    onx_str folder;
    if (!onx_doc_str(((onx_msg *)to)->doc, onx_str_of(model->folder), &folder))
        return onx_fail_nomem(diag);
    ((onx_model *)to)->folder = folder.data;
    return ONX_OK;
}

onx_status onx_model_compact(onx_model **model, onx_diag *diag) {
    onx_model *copy;
    ONX_TRY(onx_model_clone(*model, &copy, diag));
    onx_model_free(*model);
    *model = copy;
    return ONX_OK;
}

bool onx_model_equal(const onx_model *a, const onx_model *b, onx_diag *diag) {
    return onx_msg_equal(a, b, diag);
}

void onx_model_touch(onx_model *model) {
    onx_msg_touch_all(model);
}

onx_graph *onx_model_graph(const onx_model *model) {
    return model ? model->graph : NULL;
}

int64_t onx_model_ir_version(const onx_model *model) {
    return model->ir_version;
}

onx_status onx_model_set_ir_version(onx_model *model, int64_t version) {
    onx_i64_set(model, ONX_ROW(model, ir_version), version);
    return ONX_OK;
}

const char *onx_model_producer(const onx_model *model) {
    return onx_str_z(model->producer_name);
}

const char *onx_model_producer_version(const onx_model *model) {
    return onx_str_z(model->producer_version);
}

const char *onx_model_domain(const onx_model *model) {
    return onx_str_z(model->domain);
}

int64_t onx_model_version(const onx_model *model) {
    return model->model_version;
}

const char *onx_model_doc(const onx_model *model) {
    return onx_str_z(model->doc_string);
}

onx_status onx_model_set_producer(onx_model *model, const char *name, const char *version) {
    ONX_TRY(onx_str_set(model, ONX_ROW(model, producer_name), name));
    return onx_str_set(model, ONX_ROW(model, producer_version), version);
}

onx_status onx_model_set_domain(onx_model *model, const char *domain) {
    return onx_str_set(model, ONX_ROW(model, domain), domain);
}

onx_status onx_model_set_version(onx_model *model, int64_t version) {
    onx_i64_set(model, ONX_ROW(model, model_version), version);
    return ONX_OK;
}

onx_status onx_model_set_doc(onx_model *model, const char *doc) {
    return onx_str_set(model, ONX_ROW(model, doc_string), doc);
}

/* Opsets, of models and functions. */

static onx_str plain_domain(onx_str domain) {
    return onx_str_is(domain, "ai.onnx") ? ONX_LIT("") : domain;
}

onx_opset *onx_opset_find(const onx_list *opsets, const char *domain) {
    onx_str wanted = plain_domain(onx_str_of(domain));
    ONX_EACH (onx_opset, o, *opsets)
        if (onx_str_eq(plain_domain(o->domain), wanted)) return o;
    return NULL;
}

onx_status onx_opset_set(void *owner, const onx_field *row, const char *domain, int64_t version) {
    onx_doc *doc = ((onx_msg *)owner)->doc;
    onx_opset *opset = onx_opset_find(onx_field_ptr(owner, row), domain ? domain : "");
    if (!opset) {
        opset = onx_msg_new(doc, &onx_desc_opset);
        if (!opset) return ONX_NO_MEMORY;
        ONX_TRY(onx_str_set(opset, ONX_ROW(opset, domain), domain ? domain : ""));
        onx_msg_append(owner, row, opset);
    }
    onx_i64_set(opset, ONX_ROW(opset, version), version);
    return ONX_OK;
}

const onx_opset *onx_model_opset_first(const onx_model *model) {
    return (const onx_opset *)model->opset_import.first;
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

size_t onx_model_opset_count(const onx_model *model) {
    return model->opset_import.count;
}

void *onx_list_at(const onx_list *list, size_t index) {
    onx_msg *m = list->first;
    while (m && index--) m = m->next;
    return m;
}

const char *onx_model_opset_domain(const onx_model *model, size_t index) {
    const onx_opset *opset = onx_list_at(&model->opset_import, index);
    return opset ? onx_str_z(opset->domain) : NULL;
}

int64_t onx_model_opset_version(const onx_model *model, size_t index) {
    const onx_opset *opset = onx_list_at(&model->opset_import, index);
    return opset ? opset->version : 0;
}

int64_t onx_model_opset(const onx_model *model, const char *domain) {
    const onx_opset *opset = onx_opset_find(&model->opset_import, domain ? domain : "");
    return opset ? opset->version : 0;
}

onx_status onx_model_set_opset(onx_model *model, const char *domain, int64_t version) {
    return onx_opset_set(model, ONX_ROW(model, opset_import), domain, version);
}

/* Metadata, of any message that has it. */

onx_entry *onx_entry_find(const onx_list *entries, const char *key) {
    ONX_EACH (onx_entry, e, *entries)
        if (onx_str_is(e->key, key)) return e;
    return NULL;
}

onx_status onx_entry_set(void *owner, const onx_field *row, const char *key, const char *value) {
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

const onx_entry *onx_model_meta_first(const onx_model *model) {
    return (const onx_entry *)model->metadata_props.first;
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

size_t onx_model_meta_count(const onx_model *model) {
    return model->metadata_props.count;
}

const char *onx_model_meta_key(const onx_model *model, size_t index) {
    const onx_entry *entry = onx_list_at(&model->metadata_props, index);
    return entry ? onx_str_z(entry->key) : NULL;
}

const char *onx_model_meta_value(const onx_model *model, size_t index) {
    const onx_entry *entry = onx_list_at(&model->metadata_props, index);
    return entry ? onx_str_z(entry->value) : NULL;
}

const char *onx_model_meta(const onx_model *model, const char *key) {
    const onx_entry *entry = onx_entry_find(&model->metadata_props, key);
    return entry ? onx_str_z(entry->value) : NULL;
}

onx_status onx_model_set_meta(onx_model *model, const char *key, const char *value) {
    return key ? onx_entry_set(model, ONX_ROW(model, metadata_props), key, value) : ONX_USAGE;
}

size_t onx_model_training_count(const onx_model *model) {
    return model->training_info.count;
}

const onx_device *onx_model_device_first(const onx_model *model) {
    return (const onx_device *)model->configuration.first;
}

const onx_device *onx_device_next(const onx_device *device) {
    return (const onx_device *)device->msg.next;
}

const char *onx_device_name(const onx_device *device) {
    return onx_str_z(device->name);
}

int64_t onx_device_count(const onx_device *device) {
    return device->num_devices;
}

size_t onx_model_device_count(const onx_model *model) {
    return model->configuration.count;
}

const char *onx_model_device_name(const onx_model *model, size_t index) {
    const onx_device *device = onx_list_at(&model->configuration, index);
    return device ? onx_str_z(device->name) : NULL;
}
