/* eltwise.c: arithmetic, comparisons and logic, element by element: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_eltwise;
onx_op_rows onx_ops_eltwise = {
    {0},
};
