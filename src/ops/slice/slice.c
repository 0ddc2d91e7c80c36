/* slice.c: Slice, Pad: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_slice;
onx_op_rows onx_ops_slice = {
    {0},
};
