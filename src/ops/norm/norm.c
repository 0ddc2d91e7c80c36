/* norm.c: LayerNormalization, BatchNormalization and others: meaning. */
#include "ops/op.h"

static onx_status infer_layer(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const char *name = onx_infer_op(in)->name;
    bool rms =
        strcmp(name, "RMSNormalization") == 0 || strcmp(name, "SimplifiedLayerNormalization") == 0;
    int64_t axis = onx_infer_int(in, "axis");
    int64_t type = onx_infer_int(in, "stash_type");
    onx_dtype stash =
        type == ONX_DTYPE_BF16 || type == ONX_DTYPE_F64 ? (onx_dtype)type : ONX_DTYPE_F32;
    size_t first;
    ONX_TRY(onx_infer_same(in));
    if (rms) onx_infer_out(in, 0)->dtype = onx_infer_in(in, 1)->dtype;
    for (size_t i = 1; i < onx_infer_n_out(in); i++) ONX_TRY(onx_infer_unranked(in, i, stash));
    if (!x->ranked) return ONX_OK;
    if (!onx_axis(axis, x->rank, &first))
        return onx_infer_fail(in, "axis %lld is not a dimension of rank %zu", (long long)axis,
                              x->rank);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t d = 0; d < x->rank; d++)
        dims[d] = d < first ? x->dims[d] : onx_sym_int(onx_infer_syms(in), 1);
    for (size_t i = 1; i < onx_infer_n_out(in); i++)
        ONX_TRY(onx_infer_tensor(in, i, stash, x->rank, dims));
    return ONX_OK;
}

/* The statistics have the type and shape of those that come in. */
static onx_status infer_batch(onx_infer *in) {
    const onx_fact *mean = onx_infer_in(in, 3);
    ONX_TRY(onx_infer_same(in));
    for (size_t i = 1; i < onx_infer_n_out(in); i++) {
        if (mean->ranked)
            ONX_TRY(onx_infer_tensor(in, i, mean->dtype, mean->rank, mean->dims));
        else
            ONX_TRY(onx_infer_unranked(in, i, mean->dtype));
    }
    return ONX_OK;
}

#define OP(name, since, signature, infer_)                                                         \
    { name, since, signature, .infer = infer_ }
extern onx_op_rows onx_ops_norm;
onx_op_rows onx_ops_norm = {
    OP("BatchNormalization", 1,
       "(X:T, scale:T, B:T, mean:T, var:T) -> (Y:T, mean?:T, var?:T, saved_mean?:T, saved_var?:T) "
       "{consumed_inputs:ints, momentum:float=0.9, epsilon:float=1e-05, is_test:int=0, "
       "spatial:int=1} [T:f0]",
       infer_batch),
    OP("BatchNormalization", 6,
       "(X:T, scale:T, B:T, mean:T, var:T) -> (Y:T, mean?:T, var?:T, saved_mean?:T, saved_var?:T) "
       "{momentum:float=0.9, epsilon:float=1e-05, is_test:int=0, spatial:int=1} [T:f0]",
       infer_batch),
    OP("BatchNormalization", 7,
       "(X:T, scale:T, B:T, mean:T, var:T) -> (Y:T, mean?:T, var?:T, saved_mean?:T, saved_var?:T) "
       "{momentum:float=0.9, epsilon:float=1e-05, spatial:int=1} [T:f0]",
       infer_batch),
    OP("BatchNormalization", 9,
       "(X:T, scale:T, B:T, mean:T, var:T) -> (Y:T, mean?:T, var?:T, saved_mean?:T, saved_var?:T) "
       "{momentum:float=0.9, epsilon:float=1e-05} [T:f0]",
       infer_batch),
    OP("BatchNormalization", 14,
       "(X:T, scale:T, B:T, input_mean:U, input_var:U) -> (Y:T, running_mean?:U, running_var?:U) "
       "{training_mode:int=0, momentum:float=0.9, epsilon:float=1e-05} [T:f, U:f]",
       infer_batch),
    OP("BatchNormalization", 15,
       "(X:T, scale:T1, B:T1, input_mean:T2, input_var:T2) -> (Y:T, running_mean?:T2, "
       "running_var?:T2) {training_mode:int=0, momentum:float=0.9, epsilon:float=1e-05} [T:f, "
       "T1:f, T2:f]",
       infer_batch),
    {"GroupNormalization", 18,
     "(X:T, scale:T, bias:T) -> (Y:T) {num_groups:int, epsilon:float=1e-05} [T:f]",
     .infer = onx_infer_same, .deprecated = true},
    OP("GroupNormalization", 21,
       "(X:T, scale:T, bias:T) -> (Y:T) {stash_type:int=1, num_groups:int, epsilon:float=1e-05} "
       "[T:f]",
       onx_infer_same),
    OP("InstanceNormalization", 1,
       "(input:T, scale:T, B:T) -> (output:T) {epsilon:float=1e-05, consumed_inputs?:ints} [T:f0]",
       onx_infer_same),
    OP("InstanceNormalization", 6,
       "(input:T, scale:T, B:T) -> (output:T) {epsilon:float=1e-05} [T:f0]", onx_infer_same),
    OP("InstanceNormalization", 22,
       "(input:T, scale:T, B:T) -> (output:T) {epsilon:float=1e-05} [T:f]", onx_infer_same),
    OP("LRN", 1,
       "(X:T) -> (Y:T) {bias:float=1.0, beta:float=0.75, alpha:float=1e-04, size:int} [T:f0]",
       onx_infer_same),
    OP("LRN", 13,
       "(X:T) -> (Y:T) {bias:float=1.0, beta:float=0.75, alpha:float=1e-04, size:int} [T:f]",
       onx_infer_same),
    OP("LayerNormalization", 17,
       "(X:T, Scale:T, B?:T) -> (Y:T, Mean?:U, InvStdDev?:U) {stash_type:int=1, "
       "epsilon:float=1e-05, axis:int=-1} [T:f, U:float|bfloat16]",
       infer_layer),
    OP("LpNormalization", 1, "(input:T) -> (output:T) {p:int=2, axis:int=-1} [T:f0]",
       onx_infer_same),
    OP("LpNormalization", 22, "(input:T) -> (output:T) {p:int=2, axis:int=-1} [T:f]",
       onx_infer_same),
    OP("MeanVarianceNormalization", 9, "(X:T) -> (Y:T) {axes:ints=[0, 2, 3]} [T:f0]",
       onx_infer_same),
    OP("MeanVarianceNormalization", 13, "(X:T) -> (Y:T) {axes:ints=[0, 2, 3]} [T:f]",
       onx_infer_same),
    OP("RMSNormalization", 23,
       "(X:T, scale:V) -> (Y:V) {stash_type:int=1, epsilon:float=1e-05, axis:int=-1} [T:f, V:f]",
       infer_layer),
    OP("SimplifiedLayerNormalization", 1, /* ONNX Runtime's, though it stands in ai.onnx */
       "(X:T, scale:V) -> (Y:V, inv_std_var?:U) {axis:int=-1, epsilon:float=1e-05, "
       "stash_type:int=1} [T:f, U:float|double, V:f]",
       infer_layer),
    {0},
};
