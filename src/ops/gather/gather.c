/* gather.c: Gather and its kin: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_gather;
onx_op_rows onx_ops_gather = {
    {0},
};
