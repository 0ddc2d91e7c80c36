/* info.c: the operators of the tables, one by one, and that of a node. */
#include "ops/op.h"

static onx_op_info info_of(const onx_op *op, const char *family) {
    return (onx_op_info){op->domain ? op->domain : "", op->name, op->since, op->signature, family};
}

bool onx_op_info_at(size_t index, onx_op_info *out) {
    for (const onx_family *family = onx_op_table; out && family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++) {
            if (index--) continue;
            *out = info_of(op, family->name);
            return true;
        }
    return false;
}

static const char *family_of(const onx_op *op) {
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *row = family->ops; row->name; row++)
            if (row == op) return family->name;
    return NULL;
}

bool onx_node_op_info(const onx_node *node, onx_op_info *out) {
    const onx_op *op = node && out ? onx_op_of(node) : NULL;
    if (op) *out = info_of(op, family_of(op));
    return op != NULL;
}
