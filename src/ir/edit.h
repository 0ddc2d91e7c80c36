/* edit.h: the primitives that the editing functions of ir/ share: links, fields, errors. */
#ifndef ONX_EDIT_H
#define ONX_EDIT_H

#include "ir/ir.h"

onx_value *onx_value_find(const onx_graph *graph, onx_str name); /* in this graph alone */
/* A new value under a name that this graph does not have. The name must live as long as the model.
 * */
onx_value *onx_value_new(onx_graph *graph, onx_str name) ONX_MUST_CHECK;

onx_ref *onx_ref_new(onx_value *value, void *owner, onx_ref_kind kind, size_t index, onx_str *slot)
    ONX_MUST_CHECK;
bool onx_refs_push(onx_doc *doc, onx_refs *refs, onx_ref *ref) ONX_MUST_CHECK; /* NULL: false */
void onx_ref_attach(onx_ref *ref, onx_value *value);
void onx_ref_detach(onx_ref *ref);

/* The graph or function body that `msg` lies in, itself included. */
onx_graph *onx_msg_graph(const onx_msg *msg);
void onx_graph_adopt(onx_model *model, onx_graph *graph, onx_graph *outer);
bool onx_function_link(onx_model *model, onx_function *function) ONX_MUST_CHECK;
/* Make the value of output `index` of a node, from the name written there. */
onx_ref *onx_node_define(onx_node *node, size_t index) ONX_MUST_CHECK;
/* Links of the sharding specs and, for Gradient, of the attributes that name values. */
bool onx_node_link_notes(onx_node *node) ONX_MUST_CHECK;
void onx_node_unlink_notes(onx_node *node);
/* The same for one attribute, which need not be attached. */
bool onx_attr_link_notes(onx_node *node, onx_attr *attr) ONX_MUST_CHECK;
void onx_attr_unlink_notes(onx_node *node, onx_attr *attr);
bool onx_node_is_gradient(const onx_node *node);
/* Link everything below `root`, a message that has just entered the model. */
onx_status onx_graphs_link(onx_model *model, void *root, onx_diag *diag) ONX_MUST_CHECK;

/* Where the name of a ref is written. */
onx_str *onx_ref_slot(const onx_ref *ref);

/* A value that `name` would clash with in `graph`: there, around it, or inside it. */
onx_value *onx_name_conflict(const onx_graph *graph, onx_str name);
bool onx_graph_sees(const onx_graph *inner, const onx_graph *outer); /* inner is outer, or in it */
/* Does anything need the value: nodes, outputs, training bindings, quantization parameters? */
bool onx_value_is_needed(const onx_value *value);
/* The value lost its definition. Notes about it go; it goes itself when nothing refers to it any
 * more. */
void onx_value_drop(onx_value *value);
/* The attribute leaves its node: links of graphs inside it are undone. */
void onx_tensor_clear(onx_tensor *tensor);                  /* no payload, of any form */
void onx_tensor_set_raw(onx_tensor *tensor, onx_str bytes); /* in place of any other payload */
void onx_attr_unlink(onx_attr *attr);
void onx_node_unlink_uses(onx_node *node);

/* The first failure of a builder call is remembered. */
void onx_doc_error(onx_doc *doc, const onx_diag *diag);

/* Set a string or integer field of a message and mark it as edited. A string NULL clears the field.
 * */
onx_status onx_str_set(void *msg, const onx_field *field, const char *z) ONX_MUST_CHECK;
void onx_i64_set(void *msg, const onx_field *field, int64_t value);
void onx_i32_set(void *msg, const onx_field *field, int32_t value);

void *onx_list_at(const onx_list *list, size_t index);
onx_opset *onx_opset_find(const onx_list *opsets, const char *domain);
onx_status onx_opset_set(void *owner, const onx_field *row, const char *domain, int64_t version)
    ONX_MUST_CHECK;
onx_entry *onx_entry_find(const onx_list *entries, const char *key);
onx_status onx_entry_set(void *owner, const onx_field *row, const char *key, const char *value)
    ONX_MUST_CHECK;
/* After onx_msg_clone: what is known beyond the fields, such as where external data was found. */
onx_status onx_clone_links(const void *from, void *to, onx_diag *diag) ONX_MUST_CHECK;

static inline const char *onx_str_z(onx_str s) {
    return s.data ? s.data : "";
}

#endif
