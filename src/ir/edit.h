/* edit.h: the primitives that the editing functions of ir/ share: links, fields, errors. */
#ifndef ONX_EDIT_H
#define ONX_EDIT_H

#include "ir/ir.h"

/* name.c: what names mean. */
onx_value *onx_value_find(const onx_graph *graph, onx_str name); /* in this graph alone */
/* A new value under a name that this graph does not have; one that no name leads to; and one for
 * another definition of the name of `value`. The name must live as long as the model. */
onx_value *onx_value_new(onx_graph *graph, onx_str name) ONX_MUST_CHECK;
onx_value *onx_value_bare(onx_graph *graph, onx_str name) ONX_MUST_CHECK;
onx_value *onx_value_twin(onx_value *value) ONX_MUST_CHECK;
/* The name of `value` no longer leads to it. */
void onx_value_unname(onx_value *value);
/* A name that is free, in place of the old one; `to` gets the name of `from`, which has it, and
 * `from` a fresh one. Only in the table: what is written elsewhere is the caller's business. */
bool onx_value_take_name(onx_value *value, onx_str name) ONX_MUST_CHECK;
bool onx_value_swap_name(onx_value *from, onx_value *to, onx_str fresh) ONX_MUST_CHECK;
/* A value to be defined under `name`: a new one, or one that is used or declared already. If
 * nothing comes of it, it is given back. */
onx_status onx_value_claim(onx_graph *graph, const char *name, onx_value **out, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_value_unclaim(onx_value *value);
/* A value that `name` would clash with in `graph`: there, around it, or inside it. */
onx_value *onx_name_conflict(const onx_graph *graph, onx_str name);
/* The next graph of the tree below `root`, outer ones first; NULL after the last one. */
onx_graph *onx_graph_inner(const onx_graph *root, const onx_graph *at);
bool onx_graph_sees(const onx_graph *inner, const onx_graph *outer); /* inner is outer, or in it */
/* Does the name of `value`, written in graph `from`, mean it? If not, why. */
onx_status onx_value_check_seen(const onx_value *value, const onx_graph *from, onx_diag *diag)
    ONX_MUST_CHECK;

/* link.c: links from names, and the end of them. */
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
/* Link everything below `root`, a message that has just entered the model; and undo that for one
 * that is about to leave it. On failure nothing stays linked. */
onx_status onx_msg_link_names(onx_model *model, void *root, onx_diag *diag) ONX_MUST_CHECK;
void onx_msg_unlink_names(void *root);

/* notes.c: the names in one message that is a note; others have none. */
bool onx_notes_link(void *msg) ONX_MUST_CHECK;
/* Each place in it where a name is written, until `visit` says false. */
typedef bool onx_note_fn(onx_msg *msg, onx_str *slot, void *user);
bool onx_notes_each(void *msg, onx_note_fn *visit, void *user);
void onx_notes_unlink(void *msg);
bool onx_node_is_gradient(const onx_node *node); /* then its attributes are notes */
/* The graph in which a name is read: one of a note, or of any message in a graph. */
onx_graph *onx_note_scope(const onx_msg *msg, const onx_str *slot);

/* value.c */
onx_str *onx_ref_slot(const onx_ref *ref);   /* where the name is written */
void onx_value_write_name(onx_value *value); /* its name, at all places that refer to it */
/* Does the place use the value, rather than define it or tell about it? */
bool onx_ref_is_use(const onx_ref *ref);
/* Does anything need the value: nodes, outputs, training bindings, quantization parameters? */
bool onx_value_is_needed(const onx_value *value);
/* The value may have lost its definition: when nothing needs it, it goes, and notes about it. */
void onx_value_drop(onx_value *value);

/* tensor.c: its elements are the bytes of `blob`, which it takes over, also on failure; they are as
 * many as the type and the sizes ask for. */
onx_status onx_tensor_set_blob(onx_tensor *tensor, onx_dtype dtype, size_t rank,
                               const int64_t *dims, struct onx_blob *blob, onx_diag *diag)
    ONX_MUST_CHECK;
/* dense.c: a sparse tensor written out, as a detached message of `doc`. INVALID when its parts do
 * not fit; LIMIT when it would be out of proportion. The second only looks at type and sizes. */
onx_status onx_sparse_dense(onx_doc *doc, const onx_sparse *sparse, onx_tensor **out,
                            onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_sparse_check(const onx_sparse *sparse, onx_diag *diag) ONX_MUST_CHECK;
/* initializer.c: a detached tensor of this model's document becomes the initializer of a value of
 * the graph that no node computes, in place of the one it may have. */
onx_status onx_value_set_init(onx_value *value, onx_tensor *tensor, onx_diag *diag) ONX_MUST_CHECK;

/* graph.c: CONFLICT, because it is still used */
onx_status onx_value_fail_used(const onx_value *value, onx_diag *diag);

/* A declaration, without a type yet, that is neither of an input nor of an output. */
onx_status onx_value_declare(onx_value *value, onx_diag *diag) ONX_MUST_CHECK;

/* node.c */
void onx_node_unlink_inputs(onx_node *node);
/* Take the last output away; CONFLICT while anything needs it. */
onx_status onx_node_remove_output(onx_node *node, onx_diag *diag) ONX_MUST_CHECK;
/* Into the list of a graph or function body; links are the caller's business. */
void onx_node_insert(onx_graph *graph, onx_node *node, onx_node *before);
void onx_info_insert(onx_graph *graph, onx_value_info *info); /* graph.c: among the value infos */

/* attr_set.c */
void onx_attr_leave(onx_attr *attr);
/* A copy of `attr` below a node or function, linked but not yet in its list. */
onx_status onx_attr_copy(onx_graph *graph, void *parent, const onx_attr *attr, onx_attr **out,
                         onx_diag *diag) ONX_MUST_CHECK;

/* payload.c */
void onx_tensor_clear(onx_tensor *tensor);                  /* no payload, of any form */
void onx_tensor_set_raw(onx_tensor *tensor, onx_str bytes); /* in place of any other payload */

/* The first failure of a builder call is remembered. */
void onx_doc_error(onx_doc *doc, const onx_diag *diag);

/* Set a string or integer field of a message and mark it as edited. A string NULL clears the
 * field. */
onx_status onx_str_set(void *msg, const onx_field *field, const char *z) ONX_MUST_CHECK;
void onx_i64_set(void *msg, const onx_field *field, int64_t value);
void onx_i32_set(void *msg, const onx_field *field, int32_t value);

void *onx_list_at(const onx_list *list, size_t index);
onx_entry *onx_entry_find(const onx_list *entries, const char *key);
onx_status onx_entry_set(void *owner, const onx_field *row, const char *key, const char *value)
    ONX_MUST_CHECK;

static inline const char *onx_str_z(onx_str s) {
    return s.data ? s.data : "";
}

#endif
