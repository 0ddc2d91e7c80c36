/* attrs.c: attributes of a node, with the defaults of its operator. Does not allocate. */
#include "base/number.h"
#include "ops/signature.h"

/* The attribute, if the node has it with that type and a value of its own. */
static const onx_attr *written(const onx_node *node, const char *name, onx_attr_type type) {
    const onx_attr *attr = onx_node_attr(node, name);
    return attr && onx_attr_type_of(attr) == type && !attr->ref_attr_name.size ? attr : NULL;
}

/* The default as text, if it has one of that type. */
static onx_str default_of(const onx_op *op, const char *name, onx_attr_type type) {
    onx_attr_decl decl;
    bool found = op && onx_signature_attr(op->signature, name, &decl) && decl.type == type;
    return found && decl.text.data ? decl.text : (onx_str){"", 0};
}

int64_t onx_op_int(const onx_op *op, const onx_node *node, const char *name) {
    const onx_attr *attr = written(node, name, ONX_ATTR_INT);
    int64_t value;
    if (attr) return attr->i;
    return onx_parse_i64(default_of(op, name, ONX_ATTR_INT), &value) ? value : 0;
}

float onx_op_float(const onx_op *op, const onx_node *node, const char *name) {
    const onx_attr *attr = written(node, name, ONX_ATTR_FLOAT);
    float value;
    if (attr) return attr->f;
    return onx_parse_f32(default_of(op, name, ONX_ATTR_FLOAT), &value) ? value : 0.0f;
}

onx_str onx_op_string(const onx_op *op, const onx_node *node, const char *name) {
    const onx_attr *attr = written(node, name, ONX_ATTR_STRING);
    if (attr) return attr->s;
    onx_str quoted = default_of(op, name, ONX_ATTR_STRING);
    return quoted.size < 2 ? (onx_str){"", 0} : (onx_str){quoted.data + 1, quoted.size - 2};
}

const int64_t *onx_op_ints(const onx_node *node, const char *name, size_t *n) {
    const onx_attr *attr = written(node, name, ONX_ATTR_INTS);
    static const int64_t none[1] = {0};
    *n = attr ? attr->ints.n : 0;
    return !attr ? NULL : attr->ints.v ? attr->ints.v : none;
}

const float *onx_op_floats(const onx_node *node, const char *name, size_t *n) {
    const onx_attr *attr = written(node, name, ONX_ATTR_FLOATS);
    static const float none[1] = {0};
    *n = attr ? attr->floats.n : 0;
    return !attr ? NULL : attr->floats.v ? attr->floats.v : none;
}

bool onx_op_has(const onx_node *node, const char *name) {
    return onx_node_attr(node, name) != NULL;
}
