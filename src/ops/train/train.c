/* train.c: ai.onnx.preview.training: gradients and optimizers: meaning. */
#include "ops/op.h"

static void put_same(onx_infer *in, size_t output, size_t input) {
    onx_fact *out = onx_infer_out(in, output);
    *out = *onx_infer_in(in, input);
    out->constant = NULL;
    out->elems = NULL;
    out->n_elems = 0;
}

/* R, T, then all X, all their gradients, and one or two lists of states; out come the new X and the
 * new states. */
static onx_status infer_optimizer(onx_infer *in) {
    size_t lists = strcmp(onx_infer_op(in)->name, "Adam") == 0 ? 4 : 3;
    size_t all = onx_infer_n_in(in) > 2 ? onx_infer_n_in(in) - 2 : 0, n = all / lists;
    if (all % lists)
        return onx_infer_fail(in, "%zu inputs after R and T are not %zu for each optimized tensor",
                              all, lists);
    for (size_t i = 0; i < all; i++)
        if (!onx_infer_has_in(in, 2 + i)) return onx_infer_fail(in, "input %zu is missing", 2 + i);
    if (onx_infer_n_out(in) != n * (lists - 1))
        return onx_infer_fail(in, "%zu optimized tensors have %zu outputs, not %zu", n,
                              n * (lists - 1), onx_infer_n_out(in));
    for (size_t i = 0; i < n * (lists - 1); i++) put_same(in, i, i < n ? 2 + i : 2 + n + i);
    return ONX_OK;
}

/* The gradient by each of `xs` is like its value, which is the input at that place. */
static onx_status infer_gradient(onx_infer *in) {
    const onx_attr *xs = onx_node_attr(onx_infer_node(in), "xs");
    const onx_attr *zs = onx_node_attr(onx_infer_node(in), "zs");
    if (!xs || xs->ref_attr_name.size || (zs && zs->ref_attr_name.size)) return ONX_OK;
    size_t n = onx_attr_count(xs), all = n + (zs ? onx_attr_count(zs) : 0);
    if (onx_infer_n_in(in) != all)
        return onx_infer_fail(in, "xs and zs name %zu values; there are %zu inputs", all,
                              onx_infer_n_in(in));
    if (onx_infer_n_out(in) > n)
        return onx_infer_fail(in, "xs names %zu values; there are %zu outputs", n,
                              onx_infer_n_out(in));
    for (size_t i = 0; i < onx_infer_n_out(in); i++) put_same(in, i, i);
    return ONX_OK;
}

#define DOMAIN "ai.onnx.preview.training"

extern onx_op_rows onx_ops_train;
onx_op_rows onx_ops_train = {
    {"Adagrad", 1,
     "(R:T1, T:T2, inputs**:T3) -> (outputs**:T3) {decay_factor:float=0.0, epsilon:float=1e-06, "
     "norm_coefficient:float=0.0} [T1:float|double, T2:int64, T3:float|double]",
     .infer = infer_optimizer, .domain = DOMAIN},
    {"Adam", 1,
     "(R:T1, T:T2, inputs**:T3) -> (outputs**:T3) {alpha:float=0.9, beta:float=0.999, "
     "epsilon:float=1e-06, norm_coefficient:float=0.0, norm_coefficient_post:float=0.0} "
     "[T1:float|double, T2:int64, T3:float|double]",
     .infer = infer_optimizer, .domain = DOMAIN},
    {"Gradient", 1,
     "(Inputs**:T1) -> (Outputs**:T2) {xs:strings, y:string, zs?:strings} [T1:all1, T2:f0]",
     .infer = infer_gradient, .domain = DOMAIN},
    {"Momentum", 1,
     "(R:T1, T:T2, inputs**:T3) -> (outputs**:T3) {alpha:float, beta:float, mode:string, "
     "norm_coefficient:float} [T1:float|double, T2:int64, T3:float|double]",
     .infer = infer_optimizer, .domain = DOMAIN},
    {0},
};
