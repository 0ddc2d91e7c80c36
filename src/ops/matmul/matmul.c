/* matmul.c: MatMul, Gemm: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_matmul;
onx_op_rows onx_ops_matmul = {
    {0},
};
