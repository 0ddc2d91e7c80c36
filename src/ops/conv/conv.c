/* conv.c: Conv: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_conv;
onx_op_rows onx_ops_conv = {
    {0},
};
