/* transpose.c: Transpose: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_transpose;
onx_op_rows onx_ops_transpose = {
    {0},
};
