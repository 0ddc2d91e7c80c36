/* concat.c: Concat, Split, Expand, Tile: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_concat;
onx_op_rows onx_ops_concat = {
    {0},
};
