/* kept.c: constants that are no floats, in a model for a version before 9, whose Constant is for
 * floats alone. They stay what they are until all nodes have crossed, for steps read them; then
 * they become initializers or, where there can be none, casts. */
#include "pass/convert/step.h"

onx_status onx_convert_keep(onx_convert *c, onx_node *node) {
    const onx_attr *attr = onx_node_attr(node, "value");
    const onx_tensor *tensor = attr && !attr->ref_attr_name.size ? onx_attr_tensor(attr) : NULL;
    onx_constraint floats = {ONX_LIT("T"), ONX_LIT("f0")};
    if (!tensor || onx_constraint_allows(&floats, onx_tensor_dtype(tensor))) return ONX_OK;
    if (!onx_arena_grow(&c->arena, &c->constants, &c->cap_constants, c->n_constants, sizeof node))
        return onx_fail_nomem(&c->diag);
    c->constants[c->n_constants++] = node;
    return ONX_OK;
}

/* ─ Initializers ─────────────────────────────────────────────────────────────────────────────── */

static onx_status become_initializer(onx_convert *c, onx_node *node, const onx_tensor *tensor) {
    onx_value *value = onx_node_output(node, 0);
    onx_graph *graph = node->graph;
    onx_str name = value->name;
    const char *other = onx_graph_new_name(graph, onx_str_z(name));
    onx_value *init = other ? onx_graph_add_tensor(graph, other, tensor) : NULL;
    if (!init) return onx_fail_nomem(&c->diag);
    ONX_TRY(onx_value_replace(value, init, &c->diag));
    if (onx_value_is_needed(value)) return ONX_OK;
    ONX_TRY(onx_node_remove(node, &c->diag));
    if (onx_str_eq(init->name, name)) return ONX_OK;
    /* Another definition of the name may be in the way: then it has the other one. */
    onx_status status = onx_value_rename(init, onx_str_z(name), NULL);
    return status == ONX_NO_MEMORY ? onx_fail_nomem(&c->diag) : ONX_OK;
}

/* ─ Casts ────────────────────────────────────────────────────────────────────────────────────── */

/* Are all of them numbers that a double holds? */
static bool are_exact(const double *numbers, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (!(numbers[i] > -0x1p53 && numbers[i] < 0x1p53)) return false;
    return true;
}

/* The type is a word before version 6: "INT64". */
static onx_status set_to(onx_convert *c, onx_node *node, onx_dtype dtype) {
    char word[32] = "";
    const char *name = onx_dtype_name(dtype);
    for (size_t i = 0; name[i] && i + 1 < sizeof word; i++)
        word[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    onx_status status = c->at.version < 6 ? onx_node_set_string(node, "to", word)
                                          : onx_node_set_int(node, "to", (int64_t)dtype);
    return status ? onx_fail_nomem(&c->diag) : ONX_OK;
}

static onx_status become_cast(onx_convert *c, onx_node *node, const onx_tensor *tensor) {
    uint64_t n;
    size_t bytes;
    onx_value *value;
    onx_dtype dtype = onx_tensor_dtype(tensor);
    if (dtype == ONX_DTYPE_STRING || onx_tensor_check(tensor, NULL) ||
        onx_tensor_count(tensor, &n, NULL) || !onx_dtype_bytes(ONX_DTYPE_F64, n, &bytes))
        return onx_convert_refuse(c, "constants are floats before version 9");
    double *numbers = onx_arena_alloc(&c->arena, bytes + 1);
    if (!numbers) return onx_fail_nomem(&c->diag);
    if (onx_tensor_read_as(tensor, ONX_DTYPE_F64, numbers, bytes, NULL) || !are_exact(numbers, n))
        return onx_convert_refuse(c, "constants are floats before version 9, which do not hold it");
    ONX_TRY(onx_convert_tensor(c, "constant", ONX_DTYPE_F64, onx_tensor_rank(tensor),
                               onx_tensor_dims(tensor), numbers, bytes, &value));
    ONX_TRY(onx_convert_set_input(c, node, 0, value));
    ONX_TRY(onx_convert_drop_attr(c, node, "value"));
    if (onx_node_set_op(node, "Cast")) return onx_fail_nomem(&c->diag);
    return set_to(c, node, dtype);
}

/* ─ All of them ──────────────────────────────────────────────────────────────────────────────── */

/* One that nobody uses goes. */
static onx_status replace(onx_convert *c, onx_node *node, const onx_tensor *tensor) {
    const onx_value *value = onx_node_output(node, 0);
    if (!value || !onx_value_is_needed(value)) return onx_node_remove(node, &c->diag);
    bool no_initializers = node->graph->function || c->model->ir_version < 4;
    return no_initializers ? become_cast(c, node, tensor) : become_initializer(c, node, tensor);
}

onx_status onx_convert_constants(onx_convert *c, onx_node **unkept) {
    for (size_t i = 0; i < c->n_constants; i++) {
        onx_node *node = c->constants[i];
        const onx_attr *attr = onx_node_attr(node, "value");
        if (onx_convert_is_gone(node) || !attr || !onx_attr_tensor(attr)) continue;
        c->at.node = *unkept = node;
        ONX_TRY(replace(c, node, onx_attr_tensor(attr)));
    }
    c->n_constants = 0;
    return ONX_OK;
}
