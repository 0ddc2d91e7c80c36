/* strings.c: strings: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_strings;
onx_op_rows onx_ops_strings = {
    {0},
};
