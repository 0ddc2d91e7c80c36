/* strings.c: StringConcat: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_strings;
onx_op_rows onx_ops_strings = {
    {"StringConcat", 20, "(X:T, Y:T) -> (Z:T) [T:string]", .infer = onx_infer_broadcast},
    {0},
};
