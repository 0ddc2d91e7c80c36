/* registry.c: the table of all operator families. A program that defines onx_op_table itself does
 * not link this file, nor the families it leaves out. */
#include "ops/op.h"

#include "ops/families.def"

#define ONX_FAMILY_EXTERN(name) extern onx_op_rows onx_ops_##name;
ONX_FAMILIES(ONX_FAMILY_EXTERN, ONX_FAMILY_EXTERN)

const onx_family onx_op_table[] = {
#define ONX_FAMILY_ROW(name) {#name, onx_ops_##name},
    ONX_FAMILIES(ONX_FAMILY_ROW, ONX_FAMILY_ROW){NULL, NULL},
};
