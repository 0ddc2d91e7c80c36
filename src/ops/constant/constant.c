/* constant.c: Constant, ConstantOfShape, Range: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_constant;
onx_op_rows onx_ops_constant = {
    {0},
};
