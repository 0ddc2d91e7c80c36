/* attr.c: attributes of nodes: reading and setting. */
#include "ir/edit.h"
#include "ir/type_text.h"

static const char *const type_names[] = {
    "undefined",      "float",      "int",        "string",  "tensor", "graph",
    "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

const char *onx_attr_type_name(onx_attr_type type) {
    return (size_t)type < ONX_COUNT(type_names) ? type_names[type] : "?";
}

size_t onx_node_attr_count(const onx_node *node) {
    return node->attribute.count;
}

onx_attr *onx_node_attr_first(const onx_node *node) {
    return (onx_attr *)node->attribute.first;
}

onx_attr *onx_attr_next(const onx_attr *attr) {
    return (onx_attr *)attr->msg.next;
}

onx_attr *onx_node_attr(const onx_node *node, const char *name) {
    ONX_EACH (onx_attr, a, node->attribute)
        if (onx_str_is(a->name, name)) return a;
    return NULL;
}

const char *onx_attr_name(const onx_attr *attr) {
    return onx_str_z(attr->name);
}

const char *onx_attr_ref(const onx_attr *attr) {
    return onx_str_z(attr->ref_attr_name);
}

/* Files of the first IR version have no type: what is set tells. */
onx_attr_type onx_attr_type_of(const onx_attr *attr) {
    static const struct {
        enum onx_row row;
        onx_attr_type type;
    } set[] = {
        {ONX_ROW_attr_f, ONX_ATTR_FLOAT},
        {ONX_ROW_attr_i, ONX_ATTR_INT},
        {ONX_ROW_attr_s, ONX_ATTR_STRING},
        {ONX_ROW_attr_t, ONX_ATTR_TENSOR},
        {ONX_ROW_attr_g, ONX_ATTR_GRAPH},
        {ONX_ROW_attr_floats, ONX_ATTR_FLOATS},
        {ONX_ROW_attr_ints, ONX_ATTR_INTS},
        {ONX_ROW_attr_strings, ONX_ATTR_STRINGS},
        {ONX_ROW_attr_tensors, ONX_ATTR_TENSORS},
        {ONX_ROW_attr_graphs, ONX_ATTR_GRAPHS},
        {ONX_ROW_attr_sparse_tensor, ONX_ATTR_SPARSE_TENSOR},
        {ONX_ROW_attr_sparse_tensors, ONX_ATTR_SPARSE_TENSORS},
        {ONX_ROW_attr_tp, ONX_ATTR_TYPE},
        {ONX_ROW_attr_type_protos, ONX_ATTR_TYPES},
    };
    if (attr->type > 0 && attr->type <= ONX_ATTR_TYPES) return (onx_attr_type)attr->type;
    for (size_t i = 0; i < ONX_COUNT(set); i++)
        if (onx_msg_has(attr, &onx_desc_attr.fields[set[i].row - ONX_ROW_attr_before - 1]))
            return set[i].type;
    return ONX_ATTR_UNDEFINED;
}

int64_t onx_attr_int(const onx_attr *attr) {
    return attr->i;
}

float onx_attr_float(const onx_attr *attr) {
    return attr->f;
}

onx_str onx_attr_string(const onx_attr *attr) {
    return attr->s;
}

onx_tensor *onx_attr_tensor(const onx_attr *attr) {
    return attr->t;
}

onx_graph *onx_attr_graph(const onx_attr *attr) {
    return attr->g;
}

const onx_type *onx_attr_type_value(const onx_attr *attr) {
    return attr->tp;
}

size_t onx_attr_count(const onx_attr *attr) {
    switch (onx_attr_type_of(attr)) {
    case ONX_ATTR_UNDEFINED: return 0;
    case ONX_ATTR_FLOATS: return attr->floats.n;
    case ONX_ATTR_INTS: return attr->ints.n;
    case ONX_ATTR_STRINGS: return attr->strings.n;
    case ONX_ATTR_TENSORS: return attr->tensors.count;
    case ONX_ATTR_GRAPHS: return attr->graphs.count;
    case ONX_ATTR_SPARSE_TENSORS: return attr->sparse_tensors.count;
    case ONX_ATTR_TYPES: return attr->type_protos.count;
    default: return 1;
    }
}

const int64_t *onx_attr_ints(const onx_attr *attr) {
    return attr->ints.v;
}

const float *onx_attr_floats(const onx_attr *attr) {
    return attr->floats.v;
}

onx_str onx_attr_string_at(const onx_attr *attr, size_t index) {
    return index < attr->strings.n ? attr->strings.v[index] : (onx_str){NULL, 0};
}

onx_tensor *onx_attr_tensor_at(const onx_attr *attr, size_t index) {
    return onx_list_at(&attr->tensors, index);
}

onx_graph *onx_attr_graph_at(const onx_attr *attr, size_t index) {
    return onx_list_at(&attr->graphs, index);
}

static void leave(onx_node *node, onx_attr *attr) {
    onx_attr_unlink_notes(node, attr);
    onx_msg_unlink_names(attr);
    onx_msg_remove(attr);
}

onx_status onx_node_remove_attr(onx_node *node, const char *name) {
    onx_attr *attr = onx_node_attr(node, name);
    if (!attr) return ONX_NOT_FOUND;
    leave(node, attr);
    return ONX_OK;
}

/* Setting. A new message takes the place of the old one, where it stood. */

static bool is_misused(const onx_node *node, const char *name) {
    return !node || node->msg.dead || !name || !*name;
}

static onx_attr *fresh(onx_node *node, const char *name, onx_attr_type type) {
    if (is_misused(node, name)) return NULL;
    onx_attr *attr = onx_msg_new(node->msg.doc, &onx_desc_attr);
    if (!attr || onx_str_set(attr, ONX_ROW(attr, name), name)) return NULL;
    onx_i32_set(attr, ONX_ROW(attr, type), (int32_t)type);
    return attr;
}

static onx_status place(onx_node *node, onx_attr *attr) {
    onx_attr *old = onx_node_attr(node, onx_str_z(attr->name));
    if (!onx_attr_link_notes(node, attr)) {
        onx_attr_unlink_notes(node, attr);
        return ONX_NO_MEMORY;
    }
    onx_msg_insert(node, ONX_ROW(node, attribute), old, attr);
    if (old) leave(node, old);
    return ONX_OK;
}

/* NULL from fresh: which of the two it was. */
static onx_status refused(const onx_node *node, const char *name) {
    return is_misused(node, name) ? ONX_USAGE : ONX_NO_MEMORY;
}

onx_status onx_node_set_int(onx_node *node, const char *name, int64_t value) {
    onx_attr *attr = fresh(node, name, ONX_ATTR_INT);
    if (!attr) return refused(node, name);
    onx_i64_set(attr, ONX_ROW(attr, i), value);
    return place(node, attr);
}

onx_status onx_node_set_float(onx_node *node, const char *name, float value) {
    onx_attr *attr = fresh(node, name, ONX_ATTR_FLOAT);
    if (!attr) return refused(node, name);
    attr->f = value;
    onx_msg_set_has(attr, ONX_ROW(attr, f));
    return place(node, attr);
}

onx_status onx_node_set_bytes(onx_node *node, const char *name, const void *data, size_t size) {
    onx_attr *attr = fresh(node, name, ONX_ATTR_STRING);
    if (!attr) return refused(node, name);
    if (!onx_doc_str(node->msg.doc, (onx_str){data, size}, &attr->s)) return ONX_NO_MEMORY;
    onx_msg_set_has(attr, ONX_ROW(attr, s));
    return place(node, attr);
}

onx_status onx_node_set_string(onx_node *node, const char *name, const char *value) {
    return value ? onx_node_set_bytes(node, name, value, strlen(value)) : ONX_USAGE;
}

onx_status onx_node_set_ints(onx_node *node, const char *name, size_t n, const int64_t *values) {
    onx_attr *attr = fresh(node, name, ONX_ATTR_INTS);
    if (!attr) return refused(node, name);
    for (size_t i = 0; i < n; i++)
        if (!onx_i64s_push(node->msg.doc, &attr->ints, values[i])) return ONX_NO_MEMORY;
    return place(node, attr);
}

onx_status onx_node_set_floats(onx_node *node, const char *name, size_t n, const float *values) {
    onx_attr *attr = fresh(node, name, ONX_ATTR_FLOATS);
    if (!attr) return refused(node, name);
    for (size_t i = 0; i < n; i++)
        if (!onx_f32s_push(node->msg.doc, &attr->floats, values[i])) return ONX_NO_MEMORY;
    return place(node, attr);
}

onx_status onx_node_set_strings(onx_node *node, const char *name, size_t n,
                                const char *const *values) {
    onx_attr *attr = fresh(node, name, ONX_ATTR_STRINGS);
    if (!attr) return refused(node, name);
    for (size_t i = 0; i < n; i++) {
        onx_str copy;
        if (!onx_doc_str(node->msg.doc, onx_str_of(values[i]), &copy) ||
            !onx_strs_push(node->msg.doc, &attr->strings, copy))
            return ONX_NO_MEMORY;
    }
    return place(node, attr);
}

onx_status onx_node_set_tensor(onx_node *node, const char *name, const onx_tensor *value) {
    onx_attr *attr = value ? fresh(node, name, ONX_ATTR_TENSOR) : NULL;
    onx_tensor *copy;
    if (!attr) return value ? refused(node, name) : ONX_USAGE;
    ONX_TRY(onx_msg_copy(node->msg.doc, value, &copy, NULL));
    onx_msg_append(attr, ONX_ROW(attr, t), copy);
    return place(node, attr);
}

onx_status onx_node_set_type(onx_node *node, const char *name, const char *type, onx_diag *diag) {
    onx_attr *attr = fresh(node, name, ONX_ATTR_TYPE);
    onx_type *parsed;
    if (!attr) return onx_fail(diag, refused(node, name), "the attribute cannot be set");
    ONX_TRY(onx_type_parse(node->msg.doc, onx_str_of(type), &parsed, diag));
    onx_msg_append(attr, ONX_ROW(attr, tp), parsed);
    return place(node, attr) ? onx_fail_nomem(diag) : ONX_OK;
}

onx_status onx_node_set_ref(onx_node *node, const char *name, const char *parameter,
                            onx_attr_type type) {
    onx_attr *attr = fresh(node, name, type);
    if (!attr) return refused(node, name);
    ONX_TRY(onx_str_set(attr, ONX_ROW(attr, ref_attr_name), parameter));
    return place(node, attr);
}

onx_graph *onx_node_add_graph(onx_node *node, const char *attribute, const char *graph_name) {
    onx_attr *attr = fresh(node, attribute, ONX_ATTR_GRAPH);
    onx_graph *graph = attr ? onx_msg_new(node->msg.doc, &onx_desc_graph) : NULL;
    if (!graph || onx_str_set(graph, ONX_ROW(graph, name), graph_name ? graph_name : "") ||
        (onx_msg_append(attr, ONX_ROW(attr, g), graph), place(node, attr))) {
        onx_diag diag;
        onx_fail(&diag, refused(node, attribute), "a subgraph cannot be added");
        if (node) onx_doc_error(node->msg.doc, &diag);
        return NULL;
    }
    onx_graph_adopt(node->graph->model, graph, node->graph);
    return graph;
}
