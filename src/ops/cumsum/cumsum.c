/* cumsum.c: running sums and products: CumSum, CumProd: meaning. */
#include "ops/op.h"

#define CUMULATE "(x:T, axis:T2) -> (y:T) {exclusive:int=0, reverse:int=0} "

static onx_status infer_cumulate(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const int64_t *axes;
    size_t n, ignored;
    bool known = x->ranked && onx_infer_ints(in, 1, &n, &axes);
    if (known && n != 1) return onx_infer_fail(in, "there are %zu axes; there must be one", n);
    if (known && !onx_axis(axes[0], x->rank, &ignored))
        return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)axes[0],
                              x->rank);
    return onx_infer_same(in);
}

extern onx_op_rows onx_ops_cumsum;
onx_op_rows onx_ops_cumsum = {
    {"CumSum", 11, CUMULATE "[T:w|double|float, T2:int32|int64]", .infer = infer_cumulate},
    {"CumSum", 14, CUMULATE "[T:f|w, T2:int32|int64]", .infer = infer_cumulate},
    {"CumProd", 26, CUMULATE "[T:f|w, T2:int32|int64]", .infer = infer_cumulate},
    {0},
};
