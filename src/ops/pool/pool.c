/* pool.c: pooling: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_pool;
onx_op_rows onx_ops_pool = {
    {0},
};
