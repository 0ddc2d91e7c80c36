/* norm.c: LayerNormalization, BatchNormalization and others: meaning. */
#include "ops/rows.h"

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

/* From opset 14 on the node gives the statistics if, and only if, it trains. */
static onx_status check_statistics(onx_infer *in) {
    size_t needed = 1;
    if (onx_infer_op(in)->since < 14) return ONX_OK;
    if (onx_infer_int(in, "training_mode") != 0) needed = 3;
    if (onx_infer_n_out(in) == needed) return ONX_OK;
    return onx_infer_fail(in, "there are %zu outputs; with training_mode %d there must be %zu",
                          onx_infer_n_out(in), needed == 3, needed);
}

/* The statistics have the type and shape of those that come in. */
static onx_status infer_batch(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *mean = onx_infer_in(in, 3);
    onx_extent channels = {"number of channels", NULL};
    ONX_TRY(onx_infer_same(in));
    ONX_TRY(check_statistics(in));
    if (x->ranked) /* one dimension alone is the batch */
        channels.size = x->rank > 1 ? x->dims[1] : onx_sym_int(onx_infer_syms(in), 1);
    for (size_t i = 1; onx_infer_op(in)->since >= 9 && i < 5; i++) /* before, some have more */
        ONX_TRY(onx_infer_unify(in, i, 1, (onx_extent *[]){&channels}));
    for (size_t i = 1; i < onx_infer_n_out(in); i++) {
        if (mean->ranked)
            ONX_TRY(onx_infer_tensor(in, i, mean->dtype, mean->rank, mean->dims));
        else
            ONX_TRY(onx_infer_unranked(in, i, mean->dtype));
    }
    return ONX_OK;
}

static onx_status infer_mean_variance(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    static const int64_t usual[] = {0, 2, 3};
    size_t n, ignored;
    const int64_t *axes = onx_op_ints(onx_infer_node(in), "axes", &n);
    if (!onx_op_has(onx_infer_node(in), "axes")) axes = usual, n = 3;
    for (size_t i = 0; x->ranked && i < n; i++)
        if (!onx_axis(axes[i], x->rank, &ignored))
            return onx_infer_fail(in, "axis %lld is not a dimension of rank %zu",
                                  (long long)axes[i], x->rank);
    return onx_infer_same(in);
}

/* The parameters of InstanceNormalization are lists with an element for each channel. */
static onx_status infer_instance(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_extent channels = {"number of channels", x->ranked && x->rank > 1 ? x->dims[1] : NULL};
    for (size_t i = 1; i < 3; i++) ONX_TRY(onx_infer_unify(in, i, 1, (onx_extent *[]){&channels}));
    return onx_infer_same(in);
}

/* Groups of as many channels each, which have a scale and a bias each from opset 21 on. */
static onx_status infer_group(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    int64_t groups = onx_infer_int(in, "num_groups"), size;
    onx_extent channels = {"number of channels", x->ranked && x->rank > 1 ? x->dims[1] : NULL};
    if (groups < 1) return onx_infer_fail(in, "num_groups is %lld", (long long)groups);
    if (onx_sym_is_int(channels.size, &size) && size % groups != 0)
        return onx_infer_fail(in, "%lld channels do not divide into %lld groups", (long long)size,
                              (long long)groups);
    for (size_t i = 1; onx_infer_op(in)->since >= 21 && i < 3; i++)
        ONX_TRY(onx_infer_unify(in, i, 1, (onx_extent *[]){&channels}));
    return onx_infer_same(in);
}

static onx_status infer_lp(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    int64_t axis = onx_infer_int(in, "axis");
    size_t ignored;
    if (x->ranked && !onx_axis(axis, x->rank, &ignored))
        return onx_infer_fail(in, "axis %lld is not a dimension of rank %zu", (long long)axis,
                              x->rank);
    return onx_infer_same(in);
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

static const char mean_variance_normalization_body[] =
    "Exponent = Constant <value = float {2}> ()"
    " Epsilon = Constant <value = float {1e-09}> ()"
    " X_RM = ReduceMean <axes: ints = @axes> (X)"
    " EX_squared = Pow (X_RM, Exponent)"
    " X_squared = Pow (X, Exponent)"
    " E_Xsquared = ReduceMean <axes: ints = @axes> (X_squared)"
    " Variance = Sub (E_Xsquared, EX_squared)"
    " STD = Sqrt (Variance)"
    " X_variance = Sub (X, X_RM)"
    " Processed_STD = Add (STD, Epsilon)"
    " Y = Div (X_variance, Processed_STD)";

static const char mean_variance_normalization13_body[] =
    "<18>"
    " Exponent = Constant <value = float {2}> ()"
    " Epsilon = Constant <value = float {1e-09}> ()"
    " axes = Constant <value_ints: ints = @axes> ()"
    " X_RM = ReduceMean (X, axes)"
    " EX_squared = Pow (X_RM, Exponent)"
    " X_squared = Pow (X, Exponent)"
    " E_Xsquared = ReduceMean (X_squared, axes)"
    " Variance = Sub (E_Xsquared, EX_squared)"
    " STD = Sqrt (Variance)"
    " X_variance = Sub (X, X_RM)"
    " Processed_STD = Add (STD, Epsilon)"
    " Y = Div (X_variance, Processed_STD)";

static onx_status fail_type(const onx_op *op, onx_diag *diag) {
    return onx_fail(diag, ONX_NOT_FOUND, "the type of the inputs of %s is not known", op->name);
}

static onx_dtype type_of(size_t n_in, const onx_fact *const *ins, size_t index) {
    return index < n_in ? ins[index]->dtype : ONX_DTYPE_NONE;
}

/* Version 18 computes in the type of the input, and scales each group; version 21 computes in
 * stash_type, and scales each channel. */
static onx_status write_group(const onx_op *op, const onx_node *node, size_t n_in,
                              const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_dtype type = type_of(n_in, ins, 0);
    bool stash = op->since >= 21;
    long long inner = stash ? onx_op_int(op, node, "stash_type") : type;
    if (!type) return fail_type(op, diag);
    onx_buf_printf(out,
                   "FloatEpsilon = Constant <value_float: float = @epsilon> ()"
                   " Epsilon = Cast <to = %lld> (FloatEpsilon)"
                   " XU = Cast <to = %lld> (X)"
                   " XShape = Shape (X)"
                   " C = Shape <start = 1, end = 2> (X)"
                   " NumGroups = Constant <value_ints = [%lld]> ()"
                   " GroupSize = Div (C, NumGroups)"
                   " N = Shape <start = 0, end = 1> (X)"
                   " InstanceShape = Shape <start = 2> (X)"
                   " NewShape = Concat <axis = 0> (N, NumGroups, GroupSize, InstanceShape)",
                   inner, inner, (long long)onx_op_int(op, node, "num_groups"));
    onx_buf_puts(out, " XReshaped = Reshape (XU, NewShape)"
                      " Shape3D = Constant <value_ints = [0, 0, -1]> ()"
                      " X3D = Reshape (XReshaped, Shape3D)"
                      " Axes2 = Constant <value_ints = [2]> ()"
                      " Mean = ReduceMean (X3D, Axes2)"
                      " Square = Mul (X3D, X3D)"
                      " MeanOfSquare = ReduceMean (Square, Axes2)"
                      " SquareOfMean = Mul (Mean, Mean)"
                      " Var = Sub (MeanOfSquare, SquareOfMean)"
                      " VarPlusEpsilon = Add (Var, Epsilon)"
                      " StdDev = Sqrt (VarPlusEpsilon)"
                      " Deviation = Sub (X3D, Mean)"
                      " Normalized = Div (Deviation, StdDev)");
    if (stash)
        onx_buf_puts(out, " OriginalShape = Reshape (Normalized, XShape)"
                          " Channels = Reshape (OriginalShape, Shape3D)");
    onx_buf_printf(out,
                   " NormalizedT = Cast <to = %d> (%s)"
                   " ScaleShape = Constant <value_ints = [1, -1, 1]> ()"
                   " ScaleReshaped = Reshape (scale, ScaleShape)"
                   " BiasReshaped = Reshape (bias, ScaleShape)"
                   " Scaled = Mul (ScaleReshaped, NormalizedT)"
                   " Biased = Add (Scaled, BiasReshaped)"
                   " Y = Reshape (Biased, XShape)",
                   (int)type, stash ? "Channels" : "Normalized");
    return ONX_OK;
}

/* Everything from the axis on is one row of a matrix. ReduceMean takes its axes as its version
 * wants them. */
static onx_status write_layer(const onx_op *op, const onx_node *node, size_t n_in,
                              const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_dtype type = type_of(n_in, ins, 0);
    long long axis = onx_op_int(op, node, "axis");
    bool old = onx_op_opset(node) < 18;
    const char *axes = old ? " <axes = [1]>" : "", *input = old ? "" : ", Axes1";
    if (!type) return fail_type(op, diag);
    if (!old) onx_buf_puts(out, "<18> Axes1 = Constant <value_ints = [1]> () ");
    onx_buf_printf(out,
                   "FloatEpsilon = Constant <value_float: float = @epsilon> ()"
                   " Epsilon = Cast <to: int = @stash_type> (FloatEpsilon)"
                   " XShape = Shape (X)"
                   " Rank = Size (XShape)"
                   " Zero1D = Constant <value_ints = [0]> ()"
                   " Axis1D = Constant <value_ints = [%lld]> ()"
                   " PrefixShape = Slice (XShape, Zero1D, Axis1D)"
                   " NumReducedAxes = %s"
                   " SuffixShape = ConstantOfShape <value = int64[1] {1}> (NumReducedAxes)"
                   " ReducedShape = Concat <axis = 0> (PrefixShape, SuffixShape)"
                   " X2D = Flatten <axis = %lld> (X)"
                   " XU = Cast <to: int = @stash_type> (X2D)",
                   axis, axis < 0 ? "Neg (Axis1D)" : "Sub (Rank, Axis1D)", axis);
    onx_buf_printf(out,
                   " Mean2D = ReduceMean%s (XU%s)"
                   " Square = Mul (XU, XU)"
                   " MeanOfSquare = ReduceMean%s (Square%s)",
                   axes, input, axes, input);
    onx_buf_printf(out,
                   " SquareOfMean = Mul (Mean2D, Mean2D)"
                   " Var = Sub (MeanOfSquare, SquareOfMean)"
                   " VarPlusEpsilon = Add (Var, Epsilon)"
                   " StdDev = Sqrt (VarPlusEpsilon)"
                   " Deviation = Sub (XU, Mean2D)"
                   " Normalized = Div (Deviation, StdDev)"
                   " NormalizedT = Cast <to = %d> (Normalized)"
                   " Scale2D = Flatten <axis = 0> (Scale)"
                   " Scaled = Mul (NormalizedT, Scale2D)",
                   (int)type);
    onx_buf_puts(out, onx_node_input(node, 2) ? " B2D = Flatten <axis = 0> (B)"
                                                " Biased = Add (Scaled, B2D)"
                                                " Y = Reshape (Biased, XShape)"
                                              : " Y = Reshape (Scaled, XShape)");
    if (onx_node_output(node, 1)) onx_buf_puts(out, " Mean = Reshape (Mean2D, ReducedShape)");
    if (onx_node_output(node, 2))
        onx_buf_puts(out, " InvStdDev2D = Reciprocal (StdDev)"
                          " InvStdDev = Reshape (InvStdDev2D, ReducedShape)");
    return ONX_OK;
}

static onx_status write_rms(const onx_op *op, const onx_node *node, size_t n_in,
                            const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_dtype type = type_of(n_in, ins, 1);
    if (!type) return fail_type(op, diag);
    onx_buf_printf(out,
                   "FloatEpsilon = Constant <value_float: float = @epsilon> ()"
                   " Epsilon = Cast <to: int = @stash_type> (FloatEpsilon)"
                   " XShape = Shape (X)"
                   " Rank = Size (XShape)"
                   " Axis = Constant <value_int: int = @axis> ()"
                   " PosAxis = %s"
                   " One = Constant <value_int = 1> ()"
                   " ReduceAxes = Range (PosAxis, Rank, One)"
                   " XU = Cast <to: int = @stash_type> (X)"
                   " XSquared = Mul (XU, XU)"
                   " XSquaredMean = ReduceMean (XSquared, ReduceAxes)"
                   " MeanSquareEpsilon = Add (XSquaredMean, Epsilon)"
                   " RMS = Sqrt (MeanSquareEpsilon)"
                   " Normalized = Div (XU, RMS)"
                   " NormalizedT = Cast <to = %d> (Normalized)"
                   " Y = Mul (NormalizedT, scale)",
                   onx_op_int(op, node, "axis") < 0 ? "Add (Rank, Axis)" : "Identity (Axis)",
                   (int)type);
    return ONX_OK;
}

#define LAYER                                                                                      \
    "(X:T, Scale:T, B?:T) -> (Y:T, Mean?:U, InvStdDev?:U) {stash_type:int=1, "                     \
    "epsilon:float=1e-05, axis:int=-1} [T:f, U:float|bfloat16]"
#define RMS                                                                                        \
    "(X:T, scale:V) -> (Y:V) {stash_type:int=1, epsilon:float=1e-05, axis:int=-1} [T:f, V:f]"

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
     .infer = infer_group, .body = write_group, .deprecated = true},
    BY("GroupNormalization", 21,
       "(X:T, scale:T, bias:T) -> (Y:T) {stash_type:int=1, num_groups:int, epsilon:float=1e-05} "
       "[T:f]",
       infer_group, write_group),
    OP("InstanceNormalization", 1,
       "(input:T, scale:T, B:T) -> (output:T) {epsilon:float=1e-05, consumed_inputs?:ints} [T:f0]",
       infer_instance),
    OP("InstanceNormalization", 6,
       "(input:T, scale:T, B:T) -> (output:T) {epsilon:float=1e-05} [T:f0]", infer_instance),
    OP("InstanceNormalization", 22,
       "(input:T, scale:T, B:T) -> (output:T) {epsilon:float=1e-05} [T:f]", infer_instance),
    OP("LRN", 1,
       "(X:T) -> (Y:T) {bias:float=1.0, beta:float=0.75, alpha:float=1e-04, size:int} [T:f0]",
       onx_infer_same),
    OP("LRN", 13,
       "(X:T) -> (Y:T) {bias:float=1.0, beta:float=0.75, alpha:float=1e-04, size:int} [T:f]",
       onx_infer_same),
    BY("LayerNormalization", 17, LAYER, infer_layer, write_layer),
    {"LayerNormalization", 1, LAYER, .infer = infer_layer, .domain = "onx.internal"},
    OP("LpNormalization", 1, "(input:T) -> (output:T) {p:int=2, axis:int=-1} [T:f0]", infer_lp),
    OP("LpNormalization", 22, "(input:T) -> (output:T) {p:int=2, axis:int=-1} [T:f]", infer_lp),
    FN("MeanVarianceNormalization", 9, "(X:T) -> (Y:T) {axes:ints=[0, 2, 3]} [T:f0]",
       infer_mean_variance, mean_variance_normalization_body),
    FN("MeanVarianceNormalization", 13, "(X:T) -> (Y:T) {axes:ints=[0, 2, 3]} [T:f]",
       infer_mean_variance, mean_variance_normalization13_body),
    BY("RMSNormalization", 23, RMS, infer_layer, write_rms),
    {"RMSNormalization", 1, RMS, .infer = infer_layer, .domain = "onx.internal"},
    OP("SimplifiedLayerNormalization", 1, /* ONNX Runtime's, though it stands in ai.onnx */
       "(X:T, scale:V) -> (Y:V, inv_std_var?:U) {axis:int=-1, epsilon:float=1e-05, "
       "stash_type:int=1} [T:f, U:float|double, V:f]",
       infer_layer),
    {0},
};
