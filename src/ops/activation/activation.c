/* activation.c: Relu and other functions of one element: meaning. */
#include "ops/rows.h"

static onx_status infer_test(onx_infer *in) {
    ONX_TRY(onx_infer_same(in));
    onx_infer_out(in, 0)->dtype = ONX_DTYPE_BOOL;
    return ONX_OK;
}

/* ── Elements ────────────────────────────────────────────────────────────────────────────────── */

static const onx_sym *zero(const onx_infer *in) {
    return onx_sym_int(onx_infer_syms(in), 0);
}
static const onx_sym *negated(onx_infer *in, size_t n, const onx_sym *const *x) {
    (void)n;
    return onx_sym_sub(onx_infer_syms(in), zero(in), x[0]);
}
static const onx_sym *absolute(onx_infer *in, size_t n, const onx_sym *const *x) {
    return onx_sym_max(onx_infer_syms(in), x[0], negated(in, n, x));
}
static const onx_sym *positive(onx_infer *in, size_t n, const onx_sym *const *x) {
    (void)n;
    return onx_sym_max(onx_infer_syms(in), x[0], zero(in));
}
static const onx_sym *down(onx_infer *in, size_t n, const onx_sym *const *x) {
    (void)n;
    return onx_sym_floor(onx_infer_syms(in), x[0]);
}
static const onx_sym *up(onx_infer *in, size_t n, const onx_sym *const *x) {
    (void)n;
    return onx_sym_ceil(onx_infer_syms(in), x[0]);
}
static const onx_sym *inverted(onx_infer *in, size_t n, const onx_sym *const *x) {
    (void)n;
    return onx_sym_sub(onx_infer_syms(in), onx_sym_int(onx_infer_syms(in), 1), x[0]);
}
static const onx_sym *reciprocal(onx_infer *in, size_t n, const onx_sym *const *x) {
    double value;
    (void)n;
    if (!onx_sym_is_real(onx_infer_syms(in), x[0], &value) || value == 0) return NULL;
    bool single = onx_infer_in(in, 0)->dtype == ONX_DTYPE_F32;
    return onx_sym_real(onx_infer_syms(in), single ? (double)(float)(1 / value) : 1 / value);
}
/* A bound that is absent is not known, and none is needed. */
static const onx_sym *clipped(onx_infer *in, size_t n, const onx_sym *const *x) {
    const onx_sym *value = x[0];
    if (onx_infer_has_in(in, 1)) value = onx_sym_max(onx_infer_syms(in), value, x[1]);
    if (n > 2 && onx_infer_has_in(in, 2)) value = onx_sym_min(onx_infer_syms(in), value, x[2]);
    return value;
}

/* Functions that sizes go through, on their way to other sizes. */
static onx_status infer_followed(onx_infer *in) {
    static const struct {
        const char *op;
        onx_elem_fn *fn;
    } rows[] = {
        {"Neg", negated}, {"Abs", absolute}, {"Relu", positive}, {"Floor", down},
        {"Ceil", up},     {"Not", inverted}, {"Clip", clipped},  {"Reciprocal", reciprocal}};
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    ONX_TRY(onx_infer_same(in));
    bool exact = dtype == ONX_DTYPE_I64 || dtype == ONX_DTYPE_I32 || dtype == ONX_DTYPE_BOOL ||
                 dtype == ONX_DTYPE_F32 || dtype == ONX_DTYPE_F64;
    for (size_t i = 0; exact && i < ONX_COUNT(rows); i++)
        if (strcmp(rows[i].op, onx_infer_op(in)->name) == 0)
            return onx_infer_elementwise(in, rows[i].fn);
    return ONX_OK;
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

static const char celu_body[] = "Alpha = Constant <value_float: float = @alpha> ()"
                                " AlphaCast = CastLike (Alpha, X)"
                                " XScaled = Div (X, AlphaCast)"
                                " EluResult = Elu <alpha: float = 1> (XScaled)"
                                " Y = Mul (AlphaCast, EluResult)";

static const char elu_body[] = "<18>"
                               " Alpha = Constant <value_float: float = @alpha> ()"
                               " AlphaCast = CastLike (Alpha, X)"
                               " Zero = Constant <value = float {0}> ()"
                               " ZeroCast = CastLike (Zero, X)"
                               " One = Constant <value = float {1}> ()"
                               " OneCast = CastLike (One, X)"
                               " XLessThanZero = Less (X, ZeroCast)"
                               " ExpX = Exp (X)"
                               " ExpXSubOne = Sub (ExpX, OneCast)"
                               " AlphaMulExpXSubOne = Mul (AlphaCast, ExpXSubOne)"
                               " Y = Where (XLessThanZero, AlphaMulExpXSubOne, X)";

static const char hard_sigmoid_body[] =
    "<18>"
    " Alpha = Constant <value_float: float = @alpha> ()"
    " AlphaCast = CastLike (Alpha, X)"
    " Beta = Constant <value_float: float = @beta> ()"
    " BetaCast = CastLike (Beta, X)"
    " Zero = Constant <value = float {0}> ()"
    " ZeroCast = CastLike (Zero, X)"
    " One = Constant <value = float {1}> ()"
    " OneCast = CastLike (One, X)"
    " AlphaMulX = Mul (X, AlphaCast)"
    " AlphaMulXAddBeta = Add (AlphaMulX, BetaCast)"
    " MinOneOrAlphaMulXAddBeta = Min (AlphaMulXAddBeta, OneCast)"
    " Y = Max (MinOneOrAlphaMulXAddBeta, ZeroCast)";

static const char hard_swish_body[] =
    "HS_X = HardSigmoid <alpha: float = 0.16666667, beta: float = 0.5> (X)"
    " Y = Mul (X, HS_X)";

static const char leaky_relu_body[] = "Alpha = Constant <value_float: float = @alpha> ()"
                                      " AlphaCast = CastLike (Alpha, X)"
                                      " Zero = Constant <value = float {0}> ()"
                                      " ZeroCast = CastLike (Zero, X)"
                                      " XLessThanZero = Less (X, ZeroCast)"
                                      " AlphaMulX = Mul (AlphaCast, X)"
                                      " Y = Where (XLessThanZero, AlphaMulX, X)";

static const char mish_body[] = "Softplus_X = Softplus (X)"
                                " TanHSoftplusX = Tanh (Softplus_X)"
                                " Y = Mul (X, TanHSoftplusX)";

static const char relu_body[] = "<18>"
                                " Zero = Constant <value = float {0}> ()"
                                " ZeroCast = CastLike (Zero, X)"
                                " Y = Max (X, ZeroCast)";

static const char selu_body[] = "<18>"
                                " Alpha = Constant <value_float: float = @alpha> ()"
                                " AlphaCast = CastLike (Alpha, X)"
                                " Gamma = Constant <value_float: float = @gamma> ()"
                                " GammaCast = CastLike (Gamma, X)"
                                " Zero = Constant <value = float {0}> ()"
                                " ZeroCast = CastLike (Zero, X)"
                                " ExpX = Exp (X)"
                                " AlphaMulExpX = Mul (AlphaCast, ExpX)"
                                " AlphaMulExpXSubAlpha = Sub (AlphaMulExpX, AlphaCast)"
                                " Neg = Mul (GammaCast, AlphaMulExpXSubAlpha)"
                                " Pos = Mul (GammaCast, X)"
                                " XLessThanZero = Less (X, ZeroCast)"
                                " Y = Where (XLessThanZero, Neg, Pos)";

static const char shrink_body[] =
    "<18>"
    " Lambd = Constant <value_float: float = @lambd> ()"
    " LambdCast = CastLike (Lambd, input)"
    " Bias = Constant <value_float: float = @bias> ()"
    " BiasCast = CastLike (Bias, input)"
    " Zero = Constant <value = float {0}> ()"
    " ZeroCast = CastLike (Zero, input)"
    " NegLmbda = Neg (LambdCast)"
    " InputLessThanNegLambda = Less (input, NegLmbda)"
    " InputAddBias = Add (input, BiasCast)"
    " InputSubBias = Sub (input, BiasCast)"
    " LambdaLessThanInput = Less (LambdCast, input)"
    " InputSubBiasOrZero = Where (LambdaLessThanInput, InputSubBias, ZeroCast)"
    " output = Where (InputLessThanNegLambda, InputAddBias, InputSubBiasOrZero)";

static const char softplus_body[] = "<18>"
                                    " exp_x = Exp (X)"
                                    " one = Constant <value = float {1}> ()"
                                    " one_cast = CastLike (one, X)"
                                    " exp_x_add_one = Add (exp_x, one_cast)"
                                    " Y = Log (exp_x_add_one)";

static const char softsign_body[] = "<18>"
                                    " One = Constant <value = float {1}> ()"
                                    " OneCast = CastLike (One, input)"
                                    " AbsInput = Abs (input)"
                                    " OneAddAbsInput = Add (OneCast, AbsInput)"
                                    " output = Div (input, OneAddAbsInput)";

static const char swish_body[] = "Alpha = Constant <value_float: float = @alpha> ()"
                                 " AlphaCast = CastLike (Alpha, X)"
                                 " AlphaMulX = Mul (AlphaCast, X)"
                                 " SigmoidAlphaMulX = Sigmoid (AlphaMulX)"
                                 " Y = Mul (X, SigmoidAlphaMulX)";

static const char thresholded_relu_body[] = "<18>"
                                            " Alpha = Constant <value_float: float = @alpha> ()"
                                            " AlphaCast = CastLike (Alpha, X)"
                                            " Zero = Constant <value = float {0}> ()"
                                            " ZeroCast = CastLike (Zero, X)"
                                            " AlphaLessThanX = Less (AlphaCast, X)"
                                            " Y = Where (AlphaLessThanX, X, ZeroCast)";

static onx_status write_celu(const onx_op *op, const onx_node *node, size_t n_in,
                             const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)op, (void)node, (void)n_in, (void)ins, (void)diag;
    onx_buf_puts(out, "alpha = Constant <value_float: float = @alpha> ()"
                      " X_alpha = Div (X, alpha)"
                      " Elu_Result = Elu <alpha = 1.0> (X_alpha)"
                      " Y = Mul (alpha, Elu_Result)");
    return ONX_OK;
}

static onx_status write_clip(const onx_op *op, const onx_node *node, size_t n_in,
                             const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)op, (void)n_in, (void)ins, (void)diag;
    bool min = onx_node_input(node, 1), max = onx_node_input(node, 2);
    const char *raised = min ? "raised" : "input";
    if (min)
        onx_buf_printf(out, "low = Less (input, min) %s = Where (low, min, input) ",
                       max ? raised : "output");
    if (max)
        onx_buf_printf(out, "high = Less (max, %s) output = Where (high, max, %s)", raised, raised);
    if (!min && !max) onx_buf_puts(out, "output = Identity (input)");
    return ONX_OK;
}

static const char gelu_body[] = "Half = Constant <value = float {0.5}> ()"
                                " HalfCast = CastLike (Half, X)"
                                " One = Constant <value = float {1}> ()"
                                " OneCast = CastLike (One, X)"
                                " Two = Constant <value = float {2}> ()"
                                " TwoCast = CastLike (Two, X)"
                                " SqrtTwo = Sqrt (TwoCast)"
                                " XSqrt = Div (X, SqrtTwo)"
                                " ErfXSqrt = Erf (XSqrt)"
                                " Phi = Sum (OneCast, ErfXSqrt)"
                                " MultX = Mul (HalfCast, X)"
                                " Y = Mul (MultX, Phi)";

static const char gelu_tanh_body[] = "Half = Constant <value = float {0.5}> ()"
                                     " HalfCast = CastLike (Half, X)"
                                     " One = Constant <value = float {1}> ()"
                                     " OneCast = CastLike (One, X)"
                                     " TwoOverPi = Constant <value = float {0.63661975}> ()"
                                     " TwoOverPiCast = CastLike (TwoOverPi, X)"
                                     " C0 = Constant <value = float {0.044715}> ()"
                                     " C0Cast = CastLike (C0, X)"
                                     " SqrtTwoOverPi = Sqrt (TwoOverPiCast)"
                                     " Three = Constant <value = float {3}> ()"
                                     " ThreeCast = CastLike (Three, X)"
                                     " XCubed = Pow (X, ThreeCast)"
                                     " XCubedC0 = Mul (C0Cast, XCubed)"
                                     " XC0XCubed = Sum (X, XCubedC0)"
                                     " TanhInput = Mul (SqrtTwoOverPi, XC0XCubed)"
                                     " ErfApprox = Tanh (TanhInput)"
                                     " PhiApprox = Sum (OneCast, ErfApprox)"
                                     " MultX = Mul (HalfCast, X)"
                                     " Y = Mul (MultX, PhiApprox)";

static onx_status write_gelu(const onx_op *op, const onx_node *node, size_t n_in,
                             const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)n_in, (void)ins, (void)diag;
    bool is_tanh = onx_str_is(onx_op_string(op, node, "approximate"), "tanh");
    onx_buf_puts(out, is_tanh ? gelu_tanh_body : gelu_body);
    return ONX_OK;
}

extern onx_op_rows onx_ops_activation;
onx_op_rows onx_ops_activation = {
    OP("Abs", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", infer_followed),
    OP("Abs", 6, "(X:T) -> (Y:T) [T:n0]", infer_followed),
    OP("Abs", 13, "(X:T) -> (Y:T) [T:n]", infer_followed),
    OP("Acos", 7, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Acos", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Acosh", 9, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Acosh", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Asin", 7, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Asin", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Asinh", 9, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Asinh", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Atan", 7, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Atan", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Atanh", 9, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Atanh", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("BitwiseNot", 18, "(X:T) -> (Y:T) [T:i]", onx_infer_same),
    OP("Ceil", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", infer_followed),
    OP("Ceil", 6, "(X:T) -> (Y:T) [T:f0]", infer_followed),
    OP("Ceil", 13, "(X:T) -> (Y:T) [T:f]", infer_followed),
    BY("Celu", 12, "(X:T) -> (Y:T) {alpha:float=1.0} [T:float]", onx_infer_same, write_celu),
    FN("Celu", 28, "(X:T) -> (Y:T) {alpha:float=1.0} [T:f]", onx_infer_same, celu_body),
    OP("Clip", 1, "(input:T) -> (output:T) {consumed_inputs?:ints, max?:float, min?:float} [T:f0]",
       onx_infer_same),
    OP("Clip", 6,
       "(input:T) -> (output:T) {max:float=3.4028235e+38, min:float=-3.4028235e+38} [T:f0]",
       onx_infer_same),
    OP("Clip", 11, "(input:T, min?:T, max?:T) -> (output:T) [T:f0]", infer_followed),
    OP("Clip", 12, "(input:T, min?:T, max?:T) -> (output:T) [T:n0]", infer_followed),
    BY("Clip", 13, "(input:T, min?:T, max?:T) -> (output:T) [T:n]", infer_followed, write_clip),
    OP("Cos", 7, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Cos", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Cosh", 9, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Cosh", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Elu", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints, alpha:float=1.0} [T:f0]", onx_infer_same),
    FN("Elu", 6, "(X:T) -> (Y:T) {alpha:float=1.0} [T:f0]", onx_infer_same, elu_body),
    FN("Elu", 22, "(X:T) -> (Y:T) {alpha:float=1.0} [T:f]", onx_infer_same, elu_body),
    OP("Erf", 9, "(input:T) -> (output:T) [T:n0]", onx_infer_same),
    OP("Erf", 13, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Exp", 1, "(input:T) -> (output:T) {consumed_inputs?:ints} [T:f0]", onx_infer_same),
    OP("Exp", 6, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Exp", 13, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Floor", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", infer_followed),
    OP("Floor", 6, "(X:T) -> (Y:T) [T:f0]", infer_followed),
    OP("Floor", 13, "(X:T) -> (Y:T) [T:f]", infer_followed),
    BY("Gelu", 20, "(X:T) -> (Y:T) {approximate:string=\"none\"} [T:f]", onx_infer_same,
       write_gelu),
    OP("HardSigmoid", 1,
       "(X:T) -> (Y:T) {consumed_inputs?:ints, beta:float=0.5, alpha:float=0.2} [T:f0]",
       onx_infer_same),
    FN("HardSigmoid", 6, "(X:T) -> (Y:T) {beta:float=0.5, alpha:float=0.2} [T:f0]", onx_infer_same,
       hard_sigmoid_body),
    FN("HardSigmoid", 22, "(X:T) -> (Y:T) {beta:float=0.5, alpha:float=0.2} [T:f]", onx_infer_same,
       hard_sigmoid_body),
    FN("HardSwish", 14, "(X:T) -> (Y:T) [T:f0]", onx_infer_same, hard_swish_body),
    FN("HardSwish", 22, "(X:T) -> (Y:T) [T:f]", onx_infer_same, hard_swish_body),
    OP("IsInf", 10,
       "(X:T1) -> (Y:T2) {detect_negative:int=1, detect_positive:int=1} [T1:float|double, T2:bool]",
       infer_test),
    OP("IsInf", 20,
       "(X:T1) -> (Y:T2) {detect_negative:int=1, detect_positive:int=1} [T1:f|f8, T2:bool]",
       infer_test),
    OP("IsNaN", 9, "(X:T1) -> (Y:T2) [T1:f0, T2:bool]", infer_test),
    OP("IsNaN", 13, "(X:T1) -> (Y:T2) [T1:f, T2:bool]", infer_test),
    OP("IsNaN", 20, "(X:T1) -> (Y:T2) [T1:f|f8, T2:bool]", infer_test),
    OP("LeakyRelu", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints, alpha:float=0.01} [T:f0]",
       onx_infer_same),
    OP("LeakyRelu", 6, "(X:T) -> (Y:T) {alpha:float=0.01} [T:f0]", onx_infer_same),
    FN("LeakyRelu", 16, "(X:T) -> (Y:T) {alpha:float=0.01} [T:f]", onx_infer_same, leaky_relu_body),
    OP("Log", 1, "(input:T) -> (output:T) {consumed_inputs?:ints} [T:f0]", onx_infer_same),
    OP("Log", 6, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Log", 13, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    FN("Mish", 18, "(X:T) -> (Y:T) [T:f0]", onx_infer_same, mish_body),
    FN("Mish", 22, "(X:T) -> (Y:T) [T:f]", onx_infer_same, mish_body),
    OP("Neg", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", infer_followed),
    OP("Neg", 6, "(X:T) -> (Y:T) [T:f0|s]", infer_followed),
    OP("Neg", 13, "(X:T) -> (Y:T) [T:f|s]", infer_followed),
    OP("Not", 1, "(X:T) -> (Y:T) [T:bool]", infer_followed),
    OP("Reciprocal", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", infer_followed),
    OP("Reciprocal", 6, "(X:T) -> (Y:T) [T:f0]", infer_followed),
    OP("Reciprocal", 13, "(X:T) -> (Y:T) [T:f]", infer_followed),
    OP("Relu", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", infer_followed),
    OP("Relu", 6, "(X:T) -> (Y:T) [T:f0]", infer_followed),
    OP("Relu", 13, "(X:T) -> (Y:T) [T:f]", infer_followed),
    FN("Relu", 14, "(X:T) -> (Y:T) [T:f|s]", infer_followed, relu_body),
    OP("Round", 11, "(X:T) -> (Y:T) [T:f0]", onx_infer_same),
    OP("Round", 22, "(X:T) -> (Y:T) [T:f]", onx_infer_same),
    OP("Selu", 1,
       "(X:T) -> (Y:T) {consumed_inputs?:ints, gamma:float=1.0507, alpha:float=1.6732} [T:f0]",
       onx_infer_same),
    FN("Selu", 6, "(X:T) -> (Y:T) {gamma:float=1.050701, alpha:float=1.6732632} [T:f0]",
       onx_infer_same, selu_body),
    FN("Selu", 22, "(X:T) -> (Y:T) {gamma:float=1.050701, alpha:float=1.6732632} [T:f]",
       onx_infer_same, selu_body),
    FN("Shrink", 9, "(input:T) -> (output:T) {bias:float=0.0, lambd:float=0.5} [T:n0]",
       onx_infer_same, shrink_body),
    OP("Sigmoid", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", onx_infer_same),
    OP("Sigmoid", 6, "(X:T) -> (Y:T) [T:f0]", onx_infer_same),
    OP("Sigmoid", 13, "(X:T) -> (Y:T) [T:f]", onx_infer_same),
    OP("Sign", 9, "(input:T) -> (output:T) [T:n0]", onx_infer_same),
    OP("Sign", 13, "(input:T) -> (output:T) [T:n]", onx_infer_same),
    OP("Sin", 7, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Sin", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Sinh", 9, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Sinh", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    FN("Softplus", 1, "(X:T) -> (Y:T) [T:f0]", onx_infer_same, softplus_body),
    FN("Softplus", 22, "(X:T) -> (Y:T) [T:f]", onx_infer_same, softplus_body),
    FN("Softsign", 1, "(input:T) -> (output:T) [T:f0]", onx_infer_same, softsign_body),
    FN("Softsign", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same, softsign_body),
    OP("Sqrt", 1, "(X:T) -> (Y:T) {consumed_inputs?:ints} [T:f0]", onx_infer_same),
    OP("Sqrt", 6, "(X:T) -> (Y:T) [T:f0]", onx_infer_same),
    OP("Sqrt", 13, "(X:T) -> (Y:T) [T:f]", onx_infer_same),
    FN("Swish", 24, "(X:T) -> (Y:T) {alpha:float=1.0} [T:f]", onx_infer_same, swish_body),
    OP("Tan", 7, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Tan", 22, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    OP("Tanh", 1, "(input:T) -> (output:T) {consumed_inputs?:ints} [T:f0]", onx_infer_same),
    OP("Tanh", 6, "(input:T) -> (output:T) [T:f0]", onx_infer_same),
    OP("Tanh", 13, "(input:T) -> (output:T) [T:f]", onx_infer_same),
    FN("ThresholdedRelu", 10, "(X:T) -> (Y:T) {alpha:float=1.0} [T:f0]", onx_infer_same,
       thresholded_relu_body),
    FN("ThresholdedRelu", 22, "(X:T) -> (Y:T) {alpha:float=1.0} [T:f]", onx_infer_same,
       thresholded_relu_body),
    {0},
};
