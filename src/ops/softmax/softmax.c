/* softmax.c: Softmax, LogSoftmax, Hardmax: meaning. */
#include "ops/rows.h"

static onx_status infer_softmax(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    int64_t axis = onx_infer_int(in, "axis");
    size_t d;
    bool behind = onx_infer_op(in)->since < 11 && axis == (int64_t)x->rank;
    if (onx_infer_op(in)->since >= 11) ONX_TRY(onx_infer_check_rank(in, 0, 1, SIZE_MAX));
    if (x->ranked && x->rank > 0 && !behind && !onx_axis(axis, x->rank, &d))
        return onx_infer_fail(in, "axis %lld is not a dimension of rank %zu", (long long)axis,
                              x->rank);
    return onx_infer_same(in);
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

/* With the axis of ReduceMax as its version wants it. */
static void put_exponents(const onx_op *op, const onx_node *node, onx_buf *out) {
    long long axis = onx_op_int(op, node, "axis");
    bool old = onx_op_opset(node) < 18;
    onx_buf_printf(out, "%s axes = Constant <value_ints = [%lld]> ()", old ? "" : "<18>", axis);
    if (old)
        onx_buf_printf(out, " X_ReduceMax = ReduceMax <axes = [%lld]> (input)", axis);
    else
        onx_buf_puts(out, " X_ReduceMax = ReduceMax (input, axes)");
    onx_buf_puts(out, " X_Sub = Sub (input, X_ReduceMax)"
                      " X_Exp = Exp (X_Sub)"
                      " X_ReduceSum = ReduceSum (X_Exp, axes)");
}

static onx_status write_softmax(const onx_op *op, const onx_node *node, size_t n_in,
                                const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)n_in, (void)ins, (void)diag;
    put_exponents(op, node, out);
    onx_buf_puts(out, " output = Div (X_Exp, X_ReduceSum)");
    return ONX_OK;
}

static onx_status write_log_softmax(const onx_op *op, const onx_node *node, size_t n_in,
                                    const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)n_in, (void)ins, (void)diag;
    put_exponents(op, node, out);
    onx_buf_puts(out, " X_Log = Log (X_ReduceSum) output = Sub (X_Sub, X_Log)");
    return ONX_OK;
}

extern onx_op_rows onx_ops_softmax;
onx_op_rows onx_ops_softmax = {
    OP("Hardmax", 1, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("Hardmax", 11, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("Hardmax", 13, "(input:T) -> (output:T) {axis:int=-1} [T:f]", infer_softmax),
    OP("LogSoftmax", 1, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("LogSoftmax", 11, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    BY("LogSoftmax", 13, "(input:T) -> (output:T) {axis:int=-1} [T:f]", infer_softmax,
       write_log_softmax),
    OP("Softmax", 1, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    OP("Softmax", 11, "(input:T) -> (output:T) {axis:int=1} [T:f0]", infer_softmax),
    BY("Softmax", 13, "(input:T) -> (output:T) {axis:int=-1} [T:f]", infer_softmax, write_softmax),
    {0},
};
