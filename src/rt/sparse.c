/* sparse.c: the sparse tensors of a model, written out: kernels know dense ones alone. */
#include "rt/session.h"

#include "ir/edit.h"

static onx_status write_out_initializers(onx_graph *graph, onx_diag *diag) {
    onx_msg *next = NULL;
    for (onx_msg *msg = graph->sparse_initializer.first; msg; msg = next) {
        onx_sparse *sparse = (onx_sparse *)msg;
        onx_tensor *dense = NULL;
        next = msg->next;
        onx_value *value =
            sparse->values && sparse->values->ref ? sparse->values->ref->value : NULL;
        if (!value || value->sparse != sparse) continue; /* nobody knows it */
        ONX_TRY(onx_sparse_dense(graph->msg.doc, sparse, &dense, diag));
        ONX_TRY(onx_value_set_init(value, dense, diag));
    }
    return ONX_OK;
}

static onx_status write_out_constant(onx_node *node, onx_diag *diag) {
    const onx_attr *attr = onx_node_attr(node, "sparse_value");
    onx_tensor *dense = NULL;
    bool constant = onx_str_is(node->op_type, "Constant") && !onx_domain_plain(node->domain).size;
    if (!constant || !attr || !attr->sparse_tensor || onx_node_attr(node, "value")) return ONX_OK;
    onx_status status = onx_sparse_dense(node->msg.doc, attr->sparse_tensor, &dense, diag);
    if (status) {
        onx_diag_place(diag, "node '%.*s' (Constant)", ONX_FMT(node->name));
        return status;
    }
    if (onx_node_remove_attr(node, "sparse_value") || onx_node_set_tensor(node, "value", dense))
        return onx_fail_nomem(diag);
    return ONX_OK;
}

onx_status onx_session_write_out(onx_model *model, onx_diag *diag) {
    for (onx_graph *g = model->graph; g; g = onx_graph_inner(model->graph, g)) {
        ONX_TRY(write_out_initializers(g, diag));
        ONX_EACH (onx_node, node, g->node) ONX_TRY(write_out_constant(node, diag));
    }
    return ONX_OK;
}
