/* initializer.c: initializers, dense and sparse: adding, listing, removing. */
#include "ir/edit.h"

size_t onx_graph_initializer_count(const onx_graph *graph) {
    return graph->initializer.count;
}

onx_tensor *onx_graph_initializer_first(const onx_graph *graph) {
    return (onx_tensor *)graph->initializer.first;
}

onx_data *onx_graph_sparse_first(const onx_graph *graph) {
    return (onx_data *)graph->sparse_initializer.first;
}

onx_tensor *onx_value_initializer(const onx_value *value) {
    return value->init;
}

onx_data *onx_value_sparse(const onx_value *value) {
    return (onx_data *)value->sparse;
}

/* The value for a new initializer: also an input that has none yet. */
static onx_status claim(onx_graph *graph, const char *name, onx_value **out, onx_diag *diag) {
    if (graph->function) {
        onx_fail(diag, ONX_USAGE, "functions have no initializers");
        onx_diag_hint(diag, "use a Constant node");
        return ONX_USAGE;
    }
    onx_value *value = name && *name ? onx_value_find(graph, onx_str_of(name)) : NULL;
    if (!value || !value->input || value->init) return onx_value_claim(graph, name, out, diag);
    *out = value;
    return ONX_OK;
}

/* Put what is finished, detached and of this model's document among the initializers: a tensor or,
 * with `sparse`, the tensor of its values. */
static onx_status attach(onx_graph *graph, const char *name, onx_tensor *tensor, onx_sparse *sparse,
                         onx_value **out, onx_diag *diag) {
    onx_value *value;
    ONX_TRY(claim(graph, name, &value, diag));
    tensor->ref = onx_ref_new(value, tensor, ONX_REF_INIT, 0, &tensor->name);
    if (!tensor->ref) {
        onx_value_unclaim(value);
        return onx_fail_nomem(diag);
    }
    tensor->name = value->name;
    onx_msg_set_has(tensor, ONX_ROW(tensor, name));
    onx_msg_touch(tensor);
    value->init = tensor;
    value->sparse = sparse;
    if (sparse)
        onx_msg_append(graph, ONX_ROW(graph, sparse_initializer), sparse);
    else
        onx_msg_append(graph, ONX_ROW(graph, initializer), tensor);
    *out = value;
    return ONX_OK;
}

/* The end of every builder function here. */
static onx_value *finish(onx_graph *graph, const char *name, onx_tensor *tensor, onx_sparse *sparse,
                         onx_status status, onx_diag *diag) {
    onx_value *value = NULL;
    if (!status) status = attach(graph, name, tensor, sparse, &value, diag);
    if (!status) return value;
    onx_diag_place(diag, "initializer '%.100s' of graph '%.100s'", name ? name : "",
                   onx_graph_name(graph));
    onx_doc_error(graph->model->msg.doc, diag);
    return NULL;
}

onx_value *onx_graph_add_initializer(onx_graph *graph, const char *name, onx_dtype dtype,
                                     size_t rank, const int64_t *dims, const void *data,
                                     size_t bytes) {
    if (!graph) return NULL;
    onx_diag diag;
    onx_tensor *tensor = onx_msg_new(graph->model->msg.doc, &onx_desc_tensor);
    onx_status status = tensor ? onx_tensor_set(tensor, dtype, rank, dims, data, bytes, &diag)
                               : onx_fail_nomem(&diag);
    return finish(graph, name, tensor, NULL, status, &diag);
}

onx_value *onx_graph_add_strings(onx_graph *graph, const char *name, size_t rank,
                                 const int64_t *dims, const char *const *strings) {
    if (!graph) return NULL;
    onx_diag diag;
    onx_tensor *tensor = onx_msg_new(graph->model->msg.doc, &onx_desc_tensor);
    onx_status status =
        tensor ? onx_tensor_set_strings(tensor, rank, dims, strings, &diag) : onx_fail_nomem(&diag);
    return finish(graph, name, tensor, NULL, status, &diag);
}

onx_value *onx_graph_add_tensor(onx_graph *graph, const char *name, const onx_tensor *tensor) {
    if (!graph) return NULL;
    onx_diag diag;
    onx_tensor *copy = NULL;
    onx_status status = tensor ? onx_msg_copy(graph->model->msg.doc, tensor, &copy, &diag)
                               : onx_fail(&diag, ONX_USAGE, "there is no tensor to add");
    if (!name && tensor) name = onx_tensor_name(tensor);
    return finish(graph, name, copy, NULL, status, &diag);
}

onx_value *onx_graph_add_sparse(onx_graph *graph, const char *name, const onx_data *sparse) {
    if (!graph) return NULL;
    onx_diag diag;
    onx_sparse *copy = NULL;
    bool fits = onx_data_kind_of(sparse) == ONX_DATA_SPARSE_TENSOR && onx_data_tensor(sparse);
    onx_status status = fits ? onx_msg_copy(graph->model->msg.doc, sparse, &copy, &diag)
                             : onx_fail(&diag, ONX_USAGE, "there is no sparse tensor to add");
    if (!name && fits) name = onx_data_name(sparse);
    return finish(graph, name, copy ? copy->values : NULL, copy, status, &diag);
}

onx_status onx_value_set_init(onx_value *value, onx_tensor *tensor, onx_diag *diag) {
    tensor->ref = onx_ref_new(value, tensor, ONX_REF_INIT, 0, &tensor->name);
    if (!tensor->ref) return onx_fail_nomem(diag);
    if (value->init) {
        onx_ref_detach(value->init->ref);
        onx_msg_remove(value->sparse ? (void *)value->sparse : (void *)value->init);
    }
    tensor->name = value->name;
    onx_msg_set_has(tensor, ONX_ROW(tensor, name));
    onx_msg_touch(tensor);
    value->init = tensor;
    value->sparse = NULL;
    onx_msg_append(value->graph, ONX_ROW(graph, initializer), tensor);
    return ONX_OK;
}

onx_status onx_graph_remove_initializer(onx_graph *graph, onx_value *value, onx_diag *diag) {
    if (!value || value->graph != graph || !value->init)
        return onx_fail(diag, ONX_USAGE, "the value is not an initializer of the graph");
    if (!value->input && onx_value_is_needed(value)) return onx_value_fail_used(value, diag);
    onx_ref_detach(value->init->ref);
    onx_msg_remove(value->sparse ? (void *)value->sparse : (void *)value->init);
    value->init = NULL;
    value->sparse = NULL;
    onx_value_drop(value);
    return ONX_OK;
}
