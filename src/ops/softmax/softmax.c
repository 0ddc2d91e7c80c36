/* softmax.c: Softmax, LogSoftmax, Hardmax: meaning. */
#include "ops/op.h"

static onx_status infer_softmax(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    int64_t axis = onx_infer_int(in, "axis");
    size_t d;
    bool behind = onx_infer_op(in)->since < 13 && axis == (int64_t)x->rank;
    if (x->ranked && x->rank > 0 && !behind && !onx_axis(axis, x->rank, &d))
        return onx_infer_fail(in, "axis %lld is not a dimension of rank %zu", (long long)axis,
                              x->rank);
    return onx_infer_same(in);
}

#define OP(name, since, signature, infer_)                                                         \
    { name, since, signature, .infer = infer_ }
extern onx_op_rows onx_ops_softmax;
onx_op_rows onx_ops_softmax = {
    OP("Hardmax", 1, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("Hardmax", 11, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("Hardmax", 13, "(input:T) -> (output:T) {axis:int=-1} [T:f]", infer_softmax),
    OP("LogSoftmax", 1, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("LogSoftmax", 11, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("LogSoftmax", 13, "(input:T) -> (output:T) {axis:int=-1} [T:f]", infer_softmax),
    OP("Softmax", 1, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("Softmax", 11, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("Softmax", 13, "(input:T) -> (output:T) {axis:int=-1} [T:f]", infer_softmax),
    {0},
};
