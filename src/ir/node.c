/* node.c: nodes: fields, inputs and outputs, place in the graph. */
#include "ir/edit.h"

onx_node *onx_node_next(const onx_node *node) {
    return (onx_node *)node->msg.next;
}

onx_node *onx_node_prev(const onx_node *node) {
    return (onx_node *)node->msg.prev;
}

onx_graph *onx_node_graph(const onx_node *node) {
    return node->graph;
}

const char *onx_node_name(const onx_node *node) {
    return onx_str_z(node->name);
}

onx_status onx_node_set_name(onx_node *node, const char *name) {
    return onx_str_set(node, ONX_ROW(node, name), name);
}

const char *onx_node_op(const onx_node *node) {
    return onx_str_z(node->op_type);
}

const char *onx_node_domain(const onx_node *node) {
    return onx_str_is(node->domain, "ai.onnx") ? "" : onx_str_z(node->domain);
}

const char *onx_node_overload(const onx_node *node) {
    return onx_str_z(node->overload);
}

/* Attributes of Gradient name values, those of other operators do not. */
static bool link_attrs(onx_node *node) {
    ONX_EACH (onx_attr, a, node->attribute)
        if (!onx_notes_link(a)) return false;
    return true;
}

static void unlink_attrs(onx_node *node) {
    ONX_EACH (onx_attr, a, node->attribute) onx_notes_unlink(a);
}

onx_status onx_node_set_overload(onx_node *node, const char *overload) {
    return onx_str_set(node, ONX_ROW(node, overload), overload);
}

/* "domain::Op" or "Op"; "::Op" writes the default domain out. */
onx_status onx_node_set_op(onx_node *node, const char *op) {
    if (!op || !*op || node->msg.dead) return ONX_USAGE;
    const char *colons = strstr(op, "::");
    onx_str domain = {op, colons ? (size_t)(colons - op) : 0};
    onx_str type = onx_str_of(colons ? colons + 2 : op);
    if (!onx_doc_str(node->msg.doc, domain, &domain) || !onx_doc_str(node->msg.doc, type, &type))
        return ONX_NO_MEMORY;
    const onx_node before = *node, after = {.op_type = type, .domain = domain};
    bool was = onx_node_is_gradient(node), is = onx_node_is_gradient(&after);
    if (was && !is) unlink_attrs(node);
    node->op_type = type;
    node->domain = domain;
    onx_msg_set_has(node, ONX_ROW(node, op_type));
    if (colons)
        onx_msg_set_has(node, ONX_ROW(node, domain));
    else if (before.domain.size)
        onx_msg_clear(node, ONX_ROW(node, domain));
    if (is && !was && !link_attrs(node)) {
        unlink_attrs(node);
        *node = before;
        return ONX_NO_MEMORY;
    }
    onx_msg_touch(node);
    return ONX_OK;
}

const char *onx_node_doc(const onx_node *node) {
    return onx_str_z(node->doc_string);
}

onx_status onx_node_set_doc(onx_node *node, const char *doc) {
    return onx_str_set(node, ONX_ROW(node, doc_string), doc);
}

size_t onx_node_input_count(const onx_node *node) {
    return node->input.n;
}

onx_value *onx_node_input(const onx_node *node, size_t index) {
    return index < node->input.n && node->ins[index] ? node->ins[index]->value : NULL;
}

size_t onx_node_output_count(const onx_node *node) {
    return node->output.n;
}

onx_value *onx_node_output(const onx_node *node, size_t index) {
    return index < node->output.n && node->outs[index] ? node->outs[index]->value : NULL;
}

/* Room for one more name and the ref beside it. */
static bool grow_slot(onx_node *node, onx_strs *names, onx_ref ***refs, size_t *cap) {
    onx_doc *doc = node->msg.doc;
    size_t n = names->n;
    if (!onx_arena_grow(&doc->arena, refs, cap, n, sizeof **refs)) return false;
    (*refs)[n] = NULL;
    return onx_strs_push(doc, names, (onx_str){"", 0});
}

onx_status onx_node_set_input(onx_node *node, size_t index, onx_value *value, onx_diag *diag) {
    if (!node || index > node->input.n)
        return onx_fail(diag, ONX_USAGE, "input %zu of a node with %zu inputs", index,
                        node ? node->input.n : 0);
    if (node->msg.dead) return onx_fail(diag, ONX_USAGE, "the node was removed");
    if (value) ONX_TRY(onx_value_check_seen(value, node->graph, diag));
    bool appended = index == node->input.n;
    if (appended && !grow_slot(node, &node->input, &node->ins, &node->ins_cap))
        return onx_fail_nomem(diag);
    onx_ref *ref = node->ins[index];
    if (ref) onx_ref_detach(ref);
    if (ref && value)
        onx_ref_attach(ref, value);
    else if (value)
        ref = onx_ref_new(value, node, ONX_REF_INPUT, index, NULL);
    if (value && !ref) {
        node->input.n -= appended;
        return onx_fail_nomem(diag);
    }
    node->ins[index] = value ? ref : NULL;
    node->input.v[index] = value ? value->name : (onx_str){"", 0};
    onx_msg_touch(node);
    return ONX_OK;
}

onx_status onx_node_remove_input(onx_node *node, size_t index) {
    if (index >= node->input.n) return ONX_USAGE;
    if (node->ins[index]) onx_ref_detach(node->ins[index]);
    for (size_t i = index; i + 1 < node->input.n; i++) {
        node->input.v[i] = node->input.v[i + 1];
        node->ins[i] = node->ins[i + 1];
        if (node->ins[i]) node->ins[i]->index = (uint32_t)i;
    }
    node->input.n--;
    onx_msg_touch(node);
    return ONX_OK;
}

/* `name` NULL: a generated one; "": the output is missing. */
static onx_status add_output(onx_node *node, const char *name, onx_diag *diag) {
    onx_graph *graph = node->graph;
    onx_value *value = NULL;
    if (node->msg.dead) return onx_fail(diag, ONX_USAGE, "the node was removed");
    if (!name) name = onx_graph_new_name(graph, onx_str_z(node->op_type));
    if (!name) return onx_fail_nomem(diag);
    if (*name) ONX_TRY(onx_value_claim(graph, name, &value, diag));
    if (!grow_slot(node, &node->output, &node->outs, &node->outs_cap)) {
        if (value) onx_value_unclaim(value);
        return onx_fail_nomem(diag);
    }
    size_t index = node->output.n - 1;
    if (value) {
        node->output.v[index] = value->name;
        node->outs[index] = onx_node_define(node, index);
    }
    if (value && !node->outs[index]) {
        node->output.n--;
        return onx_fail_nomem(diag);
    }
    onx_msg_touch(node);
    return ONX_OK;
}

onx_value *onx_node_add_output(onx_node *node, const char *name) {
    onx_diag diag;
    if (!node) return NULL;
    if (add_output(node, name, &diag)) {
        onx_doc_error(node->msg.doc, &diag);
        return NULL;
    }
    return onx_node_output(node, node->output.n - 1);
}

static const onx_field *node_row(const onx_graph *graph) {
    return graph->function ? ONX_ROW(function, node) : ONX_ROW(graph, node);
}

static void *graph_msg(onx_graph *graph) {
    return graph->function ? (void *)&graph->function->msg : (void *)&graph->msg;
}

void onx_node_insert(onx_graph *graph, onx_node *node, onx_node *before) {
    onx_msg_insert(graph_msg(graph), node_row(graph), before, node);
}

onx_status onx_node_move(onx_node *node, onx_node *before) {
    bool there = !before || (before->graph == node->graph && !before->msg.dead);
    if (node->msg.dead || !there) return ONX_USAGE;
    if (node == before) return ONX_OK;
    onx_msg_remove(node);
    onx_node_insert(node->graph, node, before);
    return ONX_OK;
}

static onx_status build_node(onx_node *node, const char *op, size_t n_inputs,
                             onx_value *const *inputs, size_t n_outputs, const char *const *outputs,
                             onx_diag *diag) {
    onx_status status = onx_node_set_op(node, op);
    if (status) return onx_fail(diag, status, "a node needs an operator");
    for (size_t i = 0; i < n_inputs; i++)
        ONX_TRY(onx_node_set_input(node, i, inputs ? inputs[i] : NULL, diag));
    for (size_t i = 0; i < n_outputs; i++)
        ONX_TRY(add_output(node, outputs ? outputs[i] : NULL, diag));
    return ONX_OK;
}

void onx_node_unlink_inputs(onx_node *node) {
    for (size_t i = 0; node->ins && i < node->input.n; i++) {
        if (node->ins[i]) onx_ref_detach(node->ins[i]);
        node->ins[i] = NULL;
    }
}

/* What the node defined is gone; or, for one that was never finished, as it was before: a value may
 * have been named and declared, but not defined. */
static void unlink_outputs(onx_node *node, bool finished) {
    for (size_t i = 0; i < node->output.n; i++) {
        onx_ref *ref = node->outs[i];
        if (!ref) continue;
        onx_value *value = ref->value;
        onx_ref_detach(ref);
        node->outs[i] = NULL;
        value->def = NULL;
        if (finished)
            onx_value_drop(value);
        else
            onx_value_unclaim(value);
    }
}

onx_status onx_node_remove_output(onx_node *node, onx_diag *diag) {
    size_t last = node->output.n - 1;
    onx_value *value = node->output.n ? onx_node_output(node, last) : NULL;
    if (!node->output.n || (value && onx_value_is_needed(value)))
        return onx_fail(diag, ONX_CONFLICT, "the last output of the node is still used");
    if (value) {
        onx_ref_detach(node->outs[last]);
        node->outs[last] = NULL;
        value->def = NULL;
        onx_value_drop(value);
    }
    node->output.n--;
    onx_msg_touch(node);
    return ONX_OK;
}

onx_node *onx_graph_add_node(onx_graph *graph, const char *op, size_t n_inputs,
                             onx_value *const *inputs, size_t n_outputs,
                             const char *const *outputs) {
    if (!graph) return NULL;
    onx_doc *doc = graph->model->msg.doc;
    onx_diag diag;
    onx_node *node = onx_msg_new(doc, &onx_desc_node);
    if (!node) {
        onx_fail_nomem(&diag);
        onx_doc_error(doc, &diag);
        return NULL;
    }
    node->graph = graph;
    if (build_node(node, op, n_inputs, inputs, n_outputs, outputs, &diag)) {
        onx_diag_place(&diag, "node '%.100s' of graph '%.100s'", op ? op : "",
                       onx_graph_name(graph));
        onx_node_unlink_inputs(node);
        unlink_outputs(node, false);
        onx_doc_error(doc, &diag);
        return NULL;
    }
    onx_node_insert(graph, node, NULL);
    return node;
}

onx_value *onx_graph_add_op_array(onx_graph *graph, const char *op, const char *output,
                                  size_t n_inputs, onx_value *const *inputs) {
    onx_node *node = onx_graph_add_node(graph, op, n_inputs, inputs, 1, &output);
    return node ? onx_node_output(node, 0) : NULL;
}

onx_status onx_node_remove(onx_node *node, onx_diag *diag) {
    if (!node || node->msg.dead) return onx_fail(diag, ONX_USAGE, "there is no such node");
    for (size_t i = 0; i < node->output.n; i++) {
        onx_value *value = onx_node_output(node, i);
        if (!value || !onx_value_is_needed(value)) continue;
        onx_fail(diag, ONX_CONFLICT, "the node computes '%.*s', which is still used",
                 ONX_FMT(value->name));
        onx_diag_place(diag, "node '%.*s' (%.*s)", ONX_FMT(node->name), ONX_FMT(node->op_type));
        onx_diag_hint(diag, "replace the value first: onx_value_replace");
        return ONX_CONFLICT;
    }
    onx_msg_unlink_names(node);
    unlink_outputs(node, true);
    onx_msg_remove(node);
    return ONX_OK;
}
