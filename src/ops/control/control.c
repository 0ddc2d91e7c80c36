/* control.c: If, Loop, Scan: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_control;
onx_op_rows onx_ops_control = {
    {0},
};
