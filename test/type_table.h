/* type_table.h: the types that a version of an operator allows, and which of them cases cover. */
#ifndef ONX_TEST_TYPE_TABLE_H
#define ONX_TEST_TYPE_TABLE_H

#include "ops/op.h"

enum { TYPE_CELLS = 400, TYPE_NAME = 64 };

typedef struct type_table {
    const onx_op *op;
    size_t n;
    char names[TYPE_CELLS][TYPE_NAME]; /* "T=seq(float)" */
    bool covered[TYPE_CELLS];
} type_table;

/* A cell for each alternative of each type variable that an input or output has. */
void type_table_init(type_table *t, const onx_op *op);
/* Does a node that is of version `is` mean the same in version `was`, as far as attributes go? */
bool type_table_keeps(const onx_op *was, const onx_op *is, const onx_node *node);
/* Mark what the node has: by the types that inference finds for its inputs and outputs. False: one
 * of them is not allowed, or the node has something else that this version does not know. */
bool type_table_cover(type_table *t, const onx_inference *inference, const onx_node *node);
size_t type_table_covered(const type_table *t);

#endif
