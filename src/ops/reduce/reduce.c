/* reduce.c: reductions and ArgMax: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_reduce;
onx_op_rows onx_ops_reduce = {
    {0},
};
