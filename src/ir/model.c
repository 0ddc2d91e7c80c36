/* model.c: models: life, header fields, device configurations. */
#include "ir/edit.h"

/* The lowest IR version whose models may import each opset of the default domain. */
static const struct {
    int64_t opset, ir;
} ir_versions[] = {{8, 3},  {9, 4},   {10, 5},  {11, 6},  {14, 7},  {18, 8},
                   {20, 9}, {22, 10}, {23, 11}, {24, 12}, {27, 13}, {INT64_MAX, 14}};

int64_t onx_ir_version_for(int64_t opset) {
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
    onx_i64_set(model, ONX_ROW(model, ir_version), onx_ir_version_for(opset));
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
    if (model->packed.release) model->packed.release(model->packed.object);
    if (model->values.ctx) onx_map_fini(&model->values);
    onx_doc_free(model->msg.doc);
}

bool onx_external_share(const void *from, onx_msg_keep *keep, void *user, void *to) {
    onx_walk u = onx_walk_begin(from), v = onx_walk_begin(to);
    const onx_msg *a;
    while ((a = onx_walk_next(&u))) {
        if (keep && !keep(user, a)) {
            onx_walk_skip(&u);
            continue;
        }
        onx_msg *b = onx_walk_next(&v);
        if (a->desc != &onx_desc_tensor) continue;
        onx_str external = ((const onx_tensor *)a)->external;
        if (!onx_doc_share(b->doc, a->doc, external, &((onx_tensor *)b)->external)) return false;
    }
    return true;
}

/* What is known beyond the fields: where external data was found. */
static onx_status clone_links(const onx_model *from, onx_msg_keep *keep, void *user, onx_model *to,
                              onx_diag *diag) {
    onx_str folder = {NULL, 0};
    if (!onx_external_share(from, keep, user, to)) return onx_fail_nomem(diag);
    if (from->folder && !onx_doc_str(to->msg.doc, onx_str_of(from->folder), &folder))
        return onx_fail_nomem(diag);
    to->folder = folder.data;
    return ONX_OK;
}

static onx_status clone_some(onx_context *ctx, const onx_model *model, onx_msg_keep *keep,
                             void *user, onx_model **out, onx_diag *diag) {
    onx_doc *doc;
    onx_model *copy = NULL;
    ONX_TRY(onx_doc_new(ctx, &doc, diag));
    onx_status status = onx_msg_clone_some(doc, model, keep, user, &copy, diag);
    if (!status) status = clone_links(model, keep, user, copy, diag);
    if (status) {
        onx_doc_free(doc);
        return status;
    }
    doc->root = &copy->msg;
    doc->error = model->msg.doc->error;
    *out = copy;
    return ONX_OK;
}

onx_status onx_model_clone_some(const onx_model *model, onx_msg_keep *keep, void *user,
                                onx_model **out, onx_diag *diag) {
    return clone_some(model->msg.doc->ctx, model, keep, user, out, diag);
}

onx_status onx_model_clone(const onx_model *model, onx_model **out, onx_diag *diag) {
    return onx_model_clone_to(model->msg.doc->ctx, model, out, diag);
}

onx_status onx_model_clone_to(onx_context *ctx, const onx_model *model, onx_model **out,
                              onx_diag *diag) {
    onx_model *copy;
    ONX_TRY(clone_some(ctx, model, NULL, NULL, &copy, diag));
    onx_status status = onx_model_link(copy, diag);
    if (status)
        onx_model_free(copy);
    else
        *out = copy;
    return status;
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
    onx_str before = model->producer_name;
    uint32_t has = model->msg.has;
    ONX_TRY(onx_str_set(model, ONX_ROW(model, producer_name), name));
    onx_status status = onx_str_set(model, ONX_ROW(model, producer_version), version);
    if (status) model->producer_name = before, model->msg.has = has;
    return status;
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
