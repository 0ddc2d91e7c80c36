/* einsum.c: Einsum: meaning. */
#include "ops/op.h"

#define EINSUM "(Inputs*:T) -> (Output:T) {equation:string} "

extern onx_op_rows onx_ops_einsum;
onx_op_rows onx_ops_einsum = {
    {"Einsum", 12, EINSUM "[T:n0]", .infer = NULL},
    {"Einsum", 28, EINSUM "[T:n]", .infer = NULL},
    {0},
};
