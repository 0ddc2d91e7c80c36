/* view.c: the same elements in another shape: Reshape, Squeeze, Unsqueeze, Flatten, Identity; and Shape, Size: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_view;
onx_op_rows onx_ops_view = {
    {0},
};
