/* attr.c: attributes of nodes: reading. Setting is in attr_set.c. */
#include "ir/edit.h"

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

enum { FEW = 16 }; /* attributes that are compared with each other; more are hashed */

/* Is there an attribute of that name before `end` (NULL: anywhere)? */
static bool is_among(const onx_node *node, onx_str name, const onx_attr *end) {
    ONX_EACH (onx_attr, a, node->attribute) {
        if (a == end) return false;
        if (onx_str_eq(a->name, name)) return true;
    }
    return false;
}

bool onx_attr_is_first(const onx_node *node, const onx_attr *attr, onx_map *many, bool *full) {
    if (node->attribute.count <= FEW) return !is_among(node, attr->name, attr);
    if (onx_map_get(many, &node->attribute, attr->name)) return false;
    if (!onx_map_put(many, &node->attribute, attr->name, (void *)(uintptr_t)attr)) *full = true;
    return true;
}

bool onx_node_has_attr(const onx_node *node, onx_str name, const onx_map *many) {
    if (node->attribute.count <= FEW) return is_among(node, name, NULL);
    return onx_map_get(many, &node->attribute, name) != NULL;
}

const char *onx_attr_name(const onx_attr *attr) {
    return onx_str_z(attr->name);
}

const char *onx_attr_ref(const onx_attr *attr) {
    return onx_str_z(attr->ref_attr_name);
}

const char *onx_attr_doc(const onx_attr *attr) {
    return onx_str_z(attr->doc_string);
}

onx_status onx_attr_set_doc(onx_attr *attr, const char *doc) {
    return onx_str_set(attr, ONX_ROW(attr, doc_string), doc);
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

onx_data *onx_attr_sparse(const onx_attr *attr) {
    return (onx_data *)attr->sparse_tensor;
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

onx_data *onx_attr_sparse_at(const onx_attr *attr, size_t index) {
    return onx_list_at(&attr->sparse_tensors, index);
}

const onx_type *onx_attr_type_at(const onx_attr *attr, size_t index) {
    return onx_list_at(&attr->type_protos, index);
}
