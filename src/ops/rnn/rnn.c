/* rnn.c: LSTM: meaning. */
#include "ops/op.h"

extern onx_op_rows onx_ops_rnn;
onx_op_rows onx_ops_rnn = {
    {0},
};
