/* cumsum.c: running sums: CumSum: meaning. */
#include "ops/op.h"

#define CUM_SUM "(x:T, axis:T2) -> (y:T) {exclusive:int=0, reverse:int=0} "

extern onx_op_rows onx_ops_cumsum;
onx_op_rows onx_ops_cumsum = {
    {"CumSum", 11, CUM_SUM "[T:w|double|float, T2:int32|int64]", .infer = onx_infer_same},
    {"CumSum", 14, CUM_SUM "[T:f|w, T2:int32|int64]", .infer = onx_infer_same},
    {0},
};
