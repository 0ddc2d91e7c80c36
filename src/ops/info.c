/* info.c: the operators of the tables, one by one. */
#include "ops/op.h"

bool onx_op_info_at(size_t index, onx_op_info *out) {
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++) {
            if (index--) continue;
            *out = (onx_op_info){op->domain ? op->domain : "", op->name, op->since, op->signature,
                                 family->name};
            return true;
        }
    return false;
}
