/* notes.c: names of values in notes: places other than inputs, outputs and declared types.
 *
 *     ShardingSpecProto                the tensor it is about
 *     TensorAnnotation                 the tensor it is about; in its entries, scale and zero point
 *     bindings of TrainingInfoProto    a variable, and the result it gets
 *     xs, zs, y of Gradient            what is differentiated, and by what
 *
 * A note about a name that means nothing is left alone.
 */
#include "ir/edit.h"

bool onx_node_is_gradient(const onx_node *node) {
    return onx_str_is(node->op_type, "Gradient") &&
           onx_str_is(node->domain, "ai.onnx.preview.training");
}

static bool is_in(const onx_msg *msg, const onx_desc *desc) {
    return msg->parent && msg->parent->desc == desc;
}

/* In a binding, the variable is one of the step or of the model; the result is one of the step. */
onx_graph *onx_note_scope(const onx_msg *msg, const onx_str *slot) {
    if (msg->desc != &onx_desc_entry || !is_in(msg, &onx_desc_training)) return onx_msg_graph(msg);
    const onx_training *t = (const onx_training *)msg->parent;
    const onx_field *list = &onx_desc_training.fields[msg->field];
    if (slot == &((const onx_entry *)msg)->value)
        return list == ONX_ROW(training, update_binding) ? t->algorithm : t->initialization;
    return t->algorithm ? t->algorithm : ((const onx_model *)t->msg.parent)->graph;
}

static onx_value *meant(const onx_msg *msg, const onx_str *slot) {
    const onx_graph *graph = slot->size ? onx_note_scope(msg, slot) : NULL;
    bool linked = graph && graph->model; /* not, where linking ended half way */
    return linked ? onx_value_lookup(graph, *slot) : NULL;
}

static bool refer(onx_msg *msg, onx_str *slot, void *user) {
    (void)user;
    onx_value *value = meant(msg, slot);
    return !value || onx_ref_new(value, msg, ONX_REF_OTHER, 0, slot);
}

static bool forget(onx_msg *msg, onx_str *slot, void *user) {
    (void)user;
    const onx_value *value = meant(msg, slot);
    onx_ref *r = value ? value->first : NULL;
    while (r && r->slot != slot) r = r->next;
    if (r) onx_ref_detach(r);
    return true;
}

static bool each_in_attr(onx_attr *a, onx_note_fn *visit, void *user) {
    bool names = onx_str_is(a->name, "xs") || onx_str_is(a->name, "zs") || onx_str_is(a->name, "y");
    if (!names || !is_in(&a->msg, &onx_desc_node) ||
        !onx_node_is_gradient((const onx_node *)a->msg.parent))
        return true;
    for (size_t i = 0; i < a->strings.n; i++)
        if (!visit(&a->msg, &a->strings.v[i], user)) return false;
    return visit(&a->msg, &a->s, user);
}

bool onx_notes_each(void *note, onx_note_fn *visit, void *user) {
    onx_msg *msg = note;
    if (msg->desc == &onx_desc_attr) return each_in_attr(note, visit, user);
    if (msg->desc == &onx_desc_sharding_spec)
        return visit(msg, &((onx_sharding_spec *)msg)->tensor_name, user);
    if (msg->desc == &onx_desc_annotation)
        return visit(msg, &((onx_annotation *)msg)->tensor_name, user);
    if (msg->desc != &onx_desc_entry) return true;
    onx_entry *e = (onx_entry *)msg;
    if (is_in(msg, &onx_desc_annotation)) return visit(msg, &e->value, user);
    return !is_in(msg, &onx_desc_training) ||
           (visit(msg, &e->key, user) && visit(msg, &e->value, user));
}

bool onx_notes_link(void *msg) {
    return onx_notes_each(msg, refer, NULL);
}

void onx_notes_unlink(void *msg) {
    onx_notes_each(msg, forget, NULL);
}
