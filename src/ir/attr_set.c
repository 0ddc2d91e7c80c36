/* attr_set.c: attributes of nodes: setting. A new message takes the place of the old one, where it
 * stood. */
#include "ir/edit.h"
#include "ir/type_text.h"

void onx_attr_leave(onx_attr *attr) {
    onx_msg_unlink_names(attr);
    onx_msg_remove(attr);
}

onx_status onx_node_remove_attr(onx_node *node, const char *name) {
    onx_attr *attr = onx_node_attr(node, name);
    if (!attr) return ONX_NOT_FOUND;
    onx_attr_leave(attr);
    return ONX_OK;
}

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

/* NULL from fresh: which of the two it was. */
static onx_status refused(const onx_node *node, const char *name) {
    return is_misused(node, name) ? ONX_USAGE : ONX_NO_MEMORY;
}

static void put(onx_node *node, onx_attr *attr) {
    onx_attr *old = onx_node_attr(node, onx_str_z(attr->name));
    onx_msg_insert(node, ONX_ROW(node, attribute), old, attr);
    if (old) onx_attr_leave(old);
}

/* Its names are linked before it stands in the list: it must know its node for that. */
static onx_status place(onx_node *node, onx_attr *attr) {
    attr->msg.parent = &node->msg;
    if (onx_notes_link(attr)) {
        put(node, attr);
        return ONX_OK;
    }
    onx_notes_unlink(attr);
    return ONX_NO_MEMORY;
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

/* Copies of messages of one kind: tensors, or sparse tensors. */
static onx_status set_messages(onx_node *node, const char *name, onx_attr_type type,
                               const onx_field *row, size_t n, const void *const *values) {
    for (size_t i = 0; i < n; i++)
        if (!values[i] || ((const onx_msg *)values[i])->desc != row->child) return ONX_USAGE;
    onx_attr *attr = fresh(node, name, type);
    if (!attr) return refused(node, name);
    for (size_t i = 0; i < n; i++) {
        onx_msg *copy;
        ONX_TRY(onx_msg_copy(node->msg.doc, values[i], &copy, NULL));
        onx_msg_append(attr, row, copy);
    }
    return place(node, attr);
}

onx_status onx_node_set_tensor(onx_node *node, const char *name, const onx_tensor *value) {
    const void *values[] = {value};
    return set_messages(node, name, ONX_ATTR_TENSOR, ONX_ROW(attr, t), 1, values);
}

onx_status onx_node_set_tensors(onx_node *node, const char *name, size_t n,
                                const onx_tensor *const *values) {
    return set_messages(node, name, ONX_ATTR_TENSORS, ONX_ROW(attr, tensors), n,
                        (const void *const *)values);
}

onx_status onx_node_set_sparse(onx_node *node, const char *name, const onx_data *value) {
    const void *values[] = {value};
    return set_messages(node, name, ONX_ATTR_SPARSE_TENSOR, ONX_ROW(attr, sparse_tensor), 1,
                        values);
}

onx_status onx_node_set_sparses(onx_node *node, const char *name, size_t n,
                                const onx_data *const *values) {
    return set_messages(node, name, ONX_ATTR_SPARSE_TENSORS, ONX_ROW(attr, sparse_tensors), n,
                        (const void *const *)values);
}

static onx_status set_types(onx_node *node, const char *name, onx_attr_type type,
                            const onx_field *row, size_t n, const char *const *types,
                            onx_diag *diag) {
    onx_attr *attr = fresh(node, name, type);
    if (!attr) return onx_fail(diag, refused(node, name), "the attribute cannot be set");
    for (size_t i = 0; i < n; i++) {
        onx_type *parsed;
        ONX_TRY(onx_type_parse(node->msg.doc, onx_str_of(types[i]), &parsed, diag));
        onx_msg_append(attr, row, parsed);
    }
    return place(node, attr) ? onx_fail_nomem(diag) : ONX_OK;
}

onx_status onx_node_set_type(onx_node *node, const char *name, const char *type, onx_diag *diag) {
    return set_types(node, name, ONX_ATTR_TYPE, ONX_ROW(attr, tp), 1, &type, diag);
}

onx_status onx_node_set_types(onx_node *node, const char *name, size_t n, const char *const *types,
                              onx_diag *diag) {
    return set_types(node, name, ONX_ATTR_TYPES, ONX_ROW(attr, type_protos), n, types, diag);
}

onx_status onx_node_set_ref(onx_node *node, const char *name, const char *parameter,
                            onx_attr_type type) {
    onx_attr *attr = fresh(node, name, type);
    if (!attr) return refused(node, name);
    ONX_TRY(onx_str_set(attr, ONX_ROW(attr, ref_attr_name), parameter));
    return place(node, attr);
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

/* A new graph in field `row` of `attr`, which is new (NULL: there was no memory for it) or stands
 * in its node already. */
static onx_graph *add_graph(onx_node *node, onx_attr *attr, const onx_field *row,
                            const char *attribute, const char *graph_name) {
    onx_graph *graph = attr ? onx_msg_new(node->msg.doc, &onx_desc_graph) : NULL;
    if (!graph || onx_str_set(graph, ONX_ROW(graph, name), graph_name ? graph_name : "") ||
        (attr->msg.parent == NULL && place(node, attr))) {
        onx_diag diag;
        onx_fail(&diag, refused(node, attribute), "a subgraph cannot be added");
        if (node) onx_doc_error(node->msg.doc, &diag);
        return NULL;
    }
    onx_msg_append(attr, row, graph);
    onx_graph_adopt(node->graph->model, graph, node->graph);
    return graph;
}

onx_graph *onx_node_add_graph(onx_node *node, const char *attribute, const char *graph_name) {
    onx_attr *attr = fresh(node, attribute, ONX_ATTR_GRAPH);
    return add_graph(node, attr, ONX_ROW(attr, g), attribute, graph_name);
}

onx_graph *onx_node_append_graph(onx_node *node, const char *attribute, const char *graph_name) {
    onx_attr *attr = is_misused(node, attribute) ? NULL : onx_node_attr(node, attribute);
    if (!attr || onx_attr_type_of(attr) != ONX_ATTR_GRAPHS)
        attr = fresh(node, attribute, ONX_ATTR_GRAPHS);
    return add_graph(node, attr, ONX_ROW(attr, graphs), attribute, graph_name);
}

/* ── Copies ──────────────────────────────────────────────────────────────────────────────────── */

/* A name that a graph in the copy defines must not be one that is seen there from around it. */
static onx_status check_names(const onx_attr *attr, const onx_graph *around, onx_diag *diag) {
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(attr); (m = onx_walk_next(&w));) {
        if (m->desc != &onx_desc_graph) continue;
        for (const onx_value *v = ((const onx_graph *)m)->values; v; v = v->next) {
            if (!onx_value_is_defined(v) || !onx_value_lookup(around, v->name)) continue;
            onx_fail(diag, ONX_CONFLICT,
                     "graph '%.100s' defines '%.*s', which is seen there already",
                     onx_graph_name((const onx_graph *)m), ONX_FMT(v->name));
            onx_diag_hint(diag, "rename one of the two first: onx_value_rename");
            return ONX_CONFLICT;
        }
    }
    return ONX_OK;
}

onx_status onx_attr_copy(onx_graph *graph, void *parent, const onx_attr *attr, onx_attr **out,
                         onx_diag *diag) {
    onx_attr *copy;
    ONX_TRY(onx_msg_copy(((onx_msg *)parent)->doc, attr, &copy, diag));
    copy->msg.parent = parent;
    ONX_TRY(onx_msg_link_names(graph->model, copy, diag));
    onx_status status = check_names(copy, graph, diag);
    if (status)
        onx_msg_unlink_names(copy);
    else
        *out = copy;
    return status;
}

onx_status onx_node_set_attr(onx_node *node, const onx_attr *attr, onx_diag *diag) {
    onx_attr *copy;
    if (!attr || is_misused(node, onx_attr_name(attr)))
        return onx_fail(diag, ONX_USAGE, "there is no such node or attribute");
    ONX_TRY(onx_attr_copy(node->graph, node, attr, &copy, diag));
    put(node, copy);
    return ONX_OK;
}
