/* cumsum.c: running sums and products: CumSum, CumProd: meaning. */
#include "ops/op.h"

#define CUMULATE "(x:T, axis:T2) -> (y:T) {exclusive:int=0, reverse:int=0} "

extern onx_op_rows onx_ops_cumsum;
onx_op_rows onx_ops_cumsum = {
    {"CumSum", 11, CUMULATE "[T:w|double|float, T2:int32|int64]", .infer = onx_infer_same},
    {"CumSum", 14, CUMULATE "[T:f|w, T2:int32|int64]", .infer = onx_infer_same},
    {"CumProd", 26, CUMULATE "[T:f|w, T2:int32|int64]", .infer = onx_infer_same},
    {0},
};
