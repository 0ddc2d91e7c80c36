/* cast.c: element types: Cast, CastLike: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_cast;
onx_op_rows onx_ops_cast = {
    {0},
};
