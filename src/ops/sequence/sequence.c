/* sequence.c: sequences and optionals: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_sequence;
onx_op_rows onx_ops_sequence = {
    {0},
};
