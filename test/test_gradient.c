/* test_gradient.c: Gradient: each derivative against differences, in double precision; derivatives
 * of derivatives, at other values, inside subgraphs; what has none; and a network that learns. */
#include "rt/session.h"
#include "support.h"
#include "test.h"

#include <math.h>

#define TRAINING "\"ai.onnx.preview.training\" : 1"
enum { INPUTS = 6, ELEMENTS = 400 };

static onx_session *open_text(const char *text, onx_level level, onx_diag *diag) {
    onx_model *model = NULL;
    onx_session *session = NULL;
    onx_load_options load = ONX_INIT(onx_load_options);
    onx_session_options options = ONX_INIT(onx_session_options);
    load.format = ONX_FORMAT_TEXT;
    load.copy = true;
    options.level = level;
    options.threads = 2;
    if (onx_model_load_memory(NULL, text, strlen(text), &load, &model, diag) == ONX_OK)
        (void)onx_session_new(model, &options, &session, diag);
    onx_model_free(model);
    return session;
}

/* ─ Differences ──────────────────────────────────────────────────────────────────────────────── */

/* y is computed from the inputs, all double; what is differentiated is the sum of its squares. */
static const struct {
    int opset;
    const char *inputs;
    double lo, hi;
    const char *nodes;
} derived[] = {
    {13, "double[2,3] a, double[3] b", -2, 2, "y = Add(a, b)"},
    {13, "double[2,3] a, double[2,1] b", -2, 2, "y = Sub(a, b)"},
    {13, "double[2,3] a, double[4,1,3] b", -2, 2, "y = Mul(a, b)"},
    {13, "double[2,3] a, double b", 1, 2, "y = Div(a, b)"},
    {13, "double[2,3] a, double[3] b", 1, 2, "y = Pow(a, b)"},
    {13, "double[2,3] a", -2, 2, "e = Constant<value = float {2}>() y = Pow(a, e)"},
    {13, "double[2,3] a", -2, 2, "y = Abs(a)"},
    {13, "double[2,3] a", -0.9, 0.9, "y = Acos(a)"},
    {13, "double[2,3] a", 1.5, 3, "y = Acosh(a)"},
    {13, "double[2,3] a", -0.9, 0.9, "y = Asin(a)"},
    {13, "double[2,3] a", -2, 2, "y = Asinh(a)"},
    {13, "double[2,3] a", -2, 2, "y = Atan(a)"},
    {13, "double[2,3] a", -0.9, 0.9, "y = Atanh(a)"},
    {13, "double[2,3] a", -2, 2, "y = Cos(a)"},
    {13, "double[2,3] a", -2, 2, "y = Cosh(a)"},
    {13, "double[2,3] a", -2, 2, "y = Elu<alpha = 0.7>(a)"},
    {13, "double[2,3] a", -2, 2, "y = Erf(a)"},
    {13, "double[2,3] a", -2, 2, "y = Exp(a)"},
    {20, "double[2,3] a", -2, 2, "y = Gelu(a)"},
    {20, "double[2,3] a", -2, 2, "y = Gelu<approximate = \"tanh\">(a)"},
    {13, "double[2,3] a", -4, 4, "y = HardSigmoid<alpha = 0.3>(a)"},
    {14, "double[2,3] a", -4, 4, "y = HardSwish(a)"},
    {13, "double[2,3] a", -2, 2, "y = LeakyRelu<alpha = 0.3>(a)"},
    {13, "double[2,3] a", 1, 2, "y = Log(a)"},
    {18, "double[2,3] a", -2, 2, "y = Mish(a)"},
    {13, "double[2,3] a", -2, 2, "y = Neg(a)"},
    {13, "double[2,3] a, double[3] s", -2, 2, "y = PRelu(a, s)"},
    {13, "double[2,3] a", 1, 2, "y = Reciprocal(a)"},
    {13, "double[2,3] a", -2, 2, "y = Relu(a)"},
    {13, "double[2,3] a", -2, 2, "y = Selu(a)"},
    {13, "double[2,3] a", -2, 2, "y = Sigmoid(a)"},
    {13, "double[2,3] a", -2, 2, "y = Sin(a)"},
    {13, "double[2,3] a", -2, 2, "y = Sinh(a)"},
    {13, "double[2,3] a", -2, 2, "y = Softplus(a)"},
    {13, "double[2,3] a", -2, 2, "y = Softsign(a)"},
    {13, "double[2,3] a", 1, 2, "y = Sqrt(a)"},
    {13, "double[2,3] a", -1, 1, "y = Tan(a)"},
    {13, "double[2,3] a", -2, 2, "y = Tanh(a)"},
    {13, "double[2,3] a", -2, 2, "y = ThresholdedRelu<alpha = 0.5>(a)"},
    {13, "double[2,3] a, double l, double h", -2, 2,
     "t = Exp(h) e = Exp(l) w = Neg(e) y = Clip(a, w, t)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Max(a, b, c)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Min(a, b, c)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Mean(a, b, c)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Sum(a, b, c)"},
    {13, "double[2,3] a, double[3] b", -2, 2, "c = Less(a, b) s = Sin(a) y = Where(c, s, b)"},
    {13, "double[2,3] a", -2, 2, "f = Floor(a) s = Sign(a) t = Add(f, s) y = Mul(t, a)"},
    {13, "double[2,3] a", -2, 2, "y = Identity(a)"},
    {13, "double[2,3] a, double[3] b", 1, 3, "k = Mul(a, a) y = Mod<fmod = 1>(k, b)"},
    /* moves */
    {13, "double[2,3] a", -2, 2, "s = Constant<value = int64[2] {3, 2}>() y = Reshape(a, s)"},
    {13, "double[2,3,2] a", -2, 2, "y = Flatten<axis = 2>(a)"},
    {13, "double[2,1,3] a", -2, 2, "x = Constant<value = int64[1] {1}>() y = Squeeze(a, x)"},
    {12, "double[2,3] a", -2, 2, "y = Unsqueeze<axes = [1]>(a)"},
    {13, "double[2,3,4] a", -2, 2,
     "t = Transpose<perm = [2, 0, 1]>(a) s = Sin(t) y = Transpose(s)"},
    {13, "double[2,3] a, double[2,1] b, double[2,2] c", -2, 2, "y = Concat<axis = -1>(a, b, c)"},
    {13, "double[2,6] a", -2, 2,
     "n = Constant<value = int64[3] {1, 2, 3}>() "
     "p, q, r = Split<axis = 1>(a, n) s = Mul(p, q) t = ReduceSum<keepdims = 0>(r) y = Mul(s, t)"},
    {12, "double[2,6] a", -2, 2, "p, q = Split<axis = 1>(a) y = Sin(q)"},
    {13, "double[4,5] a", -2, 2,
     "b = Constant<value = int64[2] {3, 1}>() "
     "e = Constant<value = int64[2] {-9, 5}>() x = Constant<value = int64[2] {0, 1}>() "
     "s = Constant<value = int64[2] {-2, 3}>() y = Slice(a, b, e, x, s)"},
    {13, "double[2,3] a", -2, 2, "p = Constant<value = int64[4] {1, 0, 2, 1}>() y = Pad(a, p)"},
    {13, "double[3,4] a", -2, 2,
     "p = Constant<value = int64[4] {1, 2, 2, 1}>() "
     "y = Pad<mode = \"reflect\">(a, p)"},
    {13, "double[3,4] a", -2, 2,
     "i = Constant<value = int64[2,2] {0, -1, 2, 0}>() "
     "y = Gather<axis = 1>(a, i)"},
    {13, "double[3,4] a", -2, 2,
     "i = Constant<value = int64[2,3] {0, -1, 2, 0, 0, 1}>() "
     "y = GatherElements<axis = 1>(a, i)"},
    {13, "double[3,4] a", -2, 2,
     "i = Constant<value = int64[2,2] {0, 1, 2, 0}>() y = GatherND(a, i)"},
    {13, "double[2,1] a", -2, 2, "s = Constant<value = int64[3] {2, 1, 3}>() y = Expand(a, s)"},
    {13, "double[2,3] a", -2, 2, "s = Constant<value = int64[2] {2, 3}>() y = Tile(a, s)"},
    {14, "double[3,4] a", -2, 2, "y = Trilu<upper = 0>(a)"},
    {14, "double[3,4] a", -2, 2,
     "x = Constant<value = int32 {1}>() y = CumSum<exclusive = 1>(a, x)"},
    {13, "double[1,8,2,2] a", -2, 2, "y = DepthToSpace<blocksize = 2>(a)"},
    {13, "double[3,4] a", -2, 2, "k = Constant<value = int64[1] {2}>() y, i = TopK(a, k)"},
    {13, "double[3,4] a, double[2,2] u", -2, 2,
     "i = Constant<value = int64[2,2] {0, 1, 2, 0}>() "
     "y = ScatterElements(a, i, u)"},
    {13, "double[3,4] a, double[2,4] u", -2, 2,
     "i = Constant<value = int64[2,1] {0, 2}>() "
     "y = ScatterND(a, i, u)"},
    {13, "double[1,1,2,3] a", -2, 2,
     "s = Constant<value = float[4] {1, 1, 2, 1.5}>() y = Resize(a, , s)"},
    {14, "double[0,3] a, double[3] b", -2, 2,
     "i = Constant<value = int64[1] {1}>() c = Add(a, b) d = Gather<axis = 1>(c, i) "
     "s = Constant<value = int64[1] {-1}>() e = Reshape(d, s) f = ReduceSum(e) "
     "g = ReduceSum(b) y = Add(f, g)"},
    /* reductions */
    {13, "double[2,3,4] a", -2, 2,
     "x = Constant<value = int64[2] {0, -1}>() "
     "y = ReduceSum<keepdims = 0>(a, x)"},
    {12, "double[2,3,4] a", -2, 2, "y = ReduceSum<axes = [1], keepdims = 0>(a)"},
    {13, "double[2,3,4] a", -2, 2, "y = ReduceMean<axes = [0, 2], keepdims = 0>(a)"},
    {18, "double[2,3,4] a", -2, 2, "x = Constant<value = int64[1] {1}>() y = ReduceMean(a, x)"},
    {13, "double[2,3,4] a", -2, 2, "y = ReduceMax<axes = [1], keepdims = 0>(a)"},
    {18, "double[2,3,4] a", -2, 2, "x = Constant<value = int64[2] {1, 0}>() y = ReduceMin(a, x)"},
    {18, "double[2,3,4] a", -2, 2, "x = Constant<value = int64[1] {1}>() y = ReduceL1(a, x)"},
    {13, "double[2,3,4] a", -2, 2, "y = ReduceL2<axes = [1], keepdims = 0>(a)"},
    {13, "double[2,3,4] a", 1, 2, "y = ReduceLogSum<axes = [1]>(a)"},
    {13, "double[2,3,4] a", -2, 2, "y = ReduceLogSumExp<axes = [1], keepdims = 0>(a)"},
    {13, "double[2,3,4] a", 1, 2, "y = ReduceProd<axes = [1], keepdims = 0>(a)"},
    {13, "double[2,3,4] a", -2, 2, "y = ReduceSumSquare<keepdims = 0>(a)"},
    {13, "double[2,3,4] a", -2, 2, "y = Softmax<axis = 1>(a)"},
    {12, "double[2,3,4] a", -2, 2, "y = Softmax<axis = 1>(a)"},
    {13, "double[2,3,4] a", -2, 2, "y = LogSoftmax<axis = 1>(a)"},
    {12, "double[2,3,4] a", -2, 2, "y = LogSoftmax<axis = 0>(a)"},
    {13, "double[2,3,4] a", -2, 2, "y = LpNormalization<p = 1, axis = 1>(a)"},
    {22, "double[2,3,4] a", -2, 2, "s = Sin(a) t = LpNormalization(s) y = Mul(t, a)"},
    {13, "double[2,2,3,2] a", -2, 2, "y = GlobalAveragePool(a)"},
    {13, "double[2,2,3,2] a", -2, 2, "y = GlobalMaxPool(a)"},
    /* products */
    {13, "double[2,3] a, double[3,4] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[3] a, double[3,4] b", -2, 2, "y = MatMul(a, b)"},
    {12, "double[5,2,3] a, double[3] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[3] a, double[3] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[3] a, double[2,3,4] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[2,1,2,3] a, double[4,3,2] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[2,3] a, double[3,4] b, double[4] c", -2, 2,
     "y = Gemm<alpha = 0.5, beta = 2.0>(a, b, c)"},
    {13, "double[3,2] a, double[3,4] b, double[2,1] c", -2, 2, "y = Gemm<transA = 1>(a, b, c)"},
    {13, "double[2,3] a, double[4,3] b", -2, 2, "y = Gemm<alpha = 3.0, transB = 1>(a, b)"},
    {13, "double[3,2] a, double[4,3] b, double c", -2, 2,
     "y = Gemm<transA = 1, transB = 1>(a, b, c)"},
    {13, "double[2,2,7] x, double[3,2,3] w, double[3] b", -1, 1,
     "y = Conv<strides = [2], pads = [1, 2]>(x, w, b)"},
    {13, "double[1,4,5,6] x, double[6,2,3,2] w, double[6] b", -1, 1,
     "y = Conv<group = 2, dilations = [2, 1], strides = [1, 2], pads = [2, 0, 1, 1]>(x, w, b)"},
    {13, "double[1,2,5,5] x, double[2,1,3,3] w", -1, 1,
     "y = Conv<group = 2, auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w)"},
    {13, "double[1,2,3,3,3] x, double[2,2,2,2,2] w", -1, 1, "y = Conv(x, w)"},
    {13, "double[2,3] a, double[3,4] b", -2, 2, "y = Einsum<equation = \"ij, jk -> ik\">(a, b)"},
    {13, "double[2,3] a, double[4,3] b, double[2] c", -2, 2,
     "y = Einsum<equation = \"ij,kj,i->k\">(a, b, c)"},
    {13, "double[2,3,4] a", -2, 2, "y = Einsum<equation = \"ijk->j\">(a)"},
    {13, "double[2,3] a", -2, 2, "y = Einsum<equation = \"ij->\">(a)"},
    {13, "double[5,2,3] a, double[1,3,4] b", -2, 2,
     "y = Einsum<equation = \"...ij,...jk->...ki\">(a, b)"},
    {13, "double[1,2,4] x, double[2,3,3] w, double[3] b", -1, 1,
     "y = ConvTranspose<strides = [2], pads = [1, 0], output_padding = [1]>(x, w, b)"},
    {13, "double[2,4,3,4] x, double[4,3,3,2] w, double[6] b", -1, 1,
     "y = ConvTranspose<group = 2, dilations = [1, 2], strides = [2, 1]>(x, w, b)"},
    {13, "double[1,1,3,4] x, double[1,2,3,3] w", -1, 1,
     "y = ConvTranspose<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w)"},
    {13, "double[1,1,3,4] x, double[1,2,3,3] w", -1, 1,
     "y = ConvTranspose<output_shape = [6, 8], strides = [2, 2]>(x, w)"},
    {13, "double[1,1,4,4] x", -1, 1,
     "y = AveragePool<kernel_shape = [3, 2], pads = [1, 0, 1, 1], "
     "strides = [2, 1]>(x)"},
    {13, "double[1,2,5] x", -1, 1,
     "y = AveragePool<kernel_shape = [3], pads = [1, 1], "
     "count_include_pad = 1, ceil_mode = 1, strides = [2]>(x)"},
    {13, "double[1,2,5,5] x", -1, 1,
     "y = MaxPool<kernel_shape = [3, 2], strides = [2, 2], "
     "pads = [1, 0, 1, 0]>(x)"},
    {13, "double[1,2,5,4] x", -1, 1, "y = MaxPool<kernel_shape = [3, 2], storage_order = 1>(x)"},
    /* normalizations */
    {15, "double[2,3,2,2] x, double[3] s, double[3] b, double[3] m, double[3] v", 0.5, 2,
     "y = BatchNormalization<epsilon = 0.01>(x, s, b, m, v)"},
    {15, "double[2,3,2,2] x, double[3] s, double[3] b", -1, 2,
     "m = Constant<value = double[3] {0, 0, 0}>() "
     "y, n, v = BatchNormalization<training_mode = 1>(x, s, b, m, m)"},
    {15, "double[4,3] x, double[3] s, double[3] b", -1, 2,
     "m = Constant<value = double[3] {0, 0, 0}>() "
     "y, n, v = BatchNormalization<training_mode = 1>(x, s, b, m, m)"},
    {17, "double[2,3,4] x, double[3,4] s, double[3,4] b", -1, 2,
     "y = LayerNormalization<axis = 1>(x, s, b)"},
    {18, "double[2,3,4] x, double[4] s", -1, 2, "y = LayerNormalization(x, s)"},
    {13, "double[2,3,4] x, double[3] s, double[3] b", -1, 2, "y = InstanceNormalization(x, s, b)"},
    {21, "double[2,4,3] x, double[4] s, double[4] b", -1, 2,
     "y = GroupNormalization<num_groups = 2, stash_type = 11>(x, s, b)"},
    /* losses */
    {13, "double[3,4] x, double[4] w", 0.5, 2,
     "t = Constant<value = int64[3] {0, 3, 1}>() "
     "l = LogSoftmax(x) y = NegativeLogLikelihoodLoss(l, t, w)"},
    {13, "double[3,4] x, double[4] w", 0.5, 2,
     "t = Constant<value = int64[3] {0, 3, 1}>() "
     "y = SoftmaxCrossEntropyLoss(x, t, w)"},
    {13, "double[2,4,3] x", -1, 2,
     "t = Constant<value = int64[2,3] {0, 3, 1, 2, 2, 0}>() "
     "y = SoftmaxCrossEntropyLoss<reduction = \"none\", ignore_index = 2>(x, t)"},
    {12, "double[3,4] x", -1, 2,
     "t = Constant<value = int64[3] {0, 3, 1}>() "
     "y, p = SoftmaxCrossEntropyLoss<reduction = \"sum\">(x, t)"},
    {13, "double[4,5] a", -2, 2,
     "t = Constant<value = bool {1}>() r = Constant<value = float {0.4}>() k = Mul(a, a) "
     "y = Dropout<seed = 3>(k, r, t)"},
    {13, "double[4,5] a", -2, 2, "t = Constant<value = bool {1}>() y = Dropout<seed = 3>(a, , t)"},
    /* several at once */
    {13, "double[2,3] a, double[3] b", -1, 1,
     "c = Mul(a, b) d = Add(c, a) e = Tanh(d) f = Mul(e, d) "
     "g = Exp(b) h = Add(f, g) y = Mul(h, h)"},
    {13, "double[2,3] a", -2, 2,
     "k = Mul(a, a) "
     "r = Constant<value = float {0.5}>() y = Dropout(k, r)"},
};

typedef struct trial {
    char text[4000];
    size_t n;
    onx_arg in[INPUTS];
    double data[INPUTS][ELEMENTS];
} trial;

static size_t count_of(const onx_arg *arg) {
    size_t n = 1;
    for (size_t d = 0; d < arg->rank; d++) n *= (size_t)arg->dims[d];
    return n;
}

/* "double[2,3] a, …" to arguments, and the types and names of the gradients. */
static void read_inputs(trial *t, const char *inputs, double lo, double hi, char *xs, char *outs,
                        char *grads) {
    uint64_t seed = 7;
    for (const char *c = inputs; *c; t->n++) {
        onx_arg *arg = &t->in[t->n];
        *arg = (onx_arg){.dtype = ONX_DTYPE_F64, .data = t->data[t->n]};
        const char *type = c;
        c += strlen("double");
        if (*c == '[')
            for (c++; c[-1] != ']';) {
                char *after;
                arg->dims[arg->rank++] = strtoll(c, &after, 10);
                c = after + 1;
            }
        int n_type = (int)(c - type), n_name = (int)strcspn(++c, ",");
        sprintf(xs + strlen(xs), "%s\"%.*s\"", t->n ? ", " : "", n_name, c);
        sprintf(outs + strlen(outs), ", %.*s d_%.*s", n_type, type, n_name, c);
        sprintf(grads + strlen(grads), "%sd_%.*s", t->n ? ", " : "", n_name, c);
        c += n_name + (c[n_name] ? 2 : 0);
        arg->bytes = count_of(arg) * sizeof(double);
        for (size_t i = 0; i < count_of(arg); i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            t->data[t->n][i] = lo + (hi - lo) * (double)(seed >> 11) / 9007199254740992.0;
        }
    }
}

/* Of the second order, what is differentiated is the sum of the squares of the first gradient. */
static void write_trial(trial *t, size_t at, int order) {
    char xs[100] = "", outs[400] = "", grads[200] = "", names[200] = "", again[400] = "";
    t->n = 0;
    read_inputs(t, derived[at].inputs, derived[at].lo, derived[at].hi, xs, outs, grads);
    for (size_t i = 0; xs[i]; i++)
        if (xs[i] != '"') names[strlen(names)] = xs[i];
    if (order == 2)
        snprintf(
            again, sizeof again,
            " slope = ai.onnx.preview.training.Gradient<xs = [\"%.*s\"], y = \"first\">(%.*s)\n"
            " steep = Mul(slope, slope)\n loss = ReduceSum<keepdims = 0>(steep)\n",
            (int)strcspn(names, ","), names, (int)strcspn(names, ","), names);
    snprintf(t->text, sizeof t->text,
             "<ir_version: 10, opset_import: [\"\" : %d, " TRAINING "]>\n"
             "g (%s) => (double loss%s) {\n %s\n squares = Mul(y, y)\n"
             " %s = ReduceSum<keepdims = 0>(squares)\n%s"
             " %s = ai.onnx.preview.training.Gradient<xs = [%s], y = \"loss\">(%s)\n}\n",
             derived[at].opset, derived[at].inputs, outs, derived[at].nodes,
             order == 1 ? "loss" : "first", again, grads, xs, names);
}

static double loss_of(onx_session *s, trial *t) {
    double loss = NAN;
    onx_arg out = {.data = &loss, .bytes = sizeof loss};
    return onx_session_run(s, t->n, t->in, 1, &out, NULL, NULL) == ONX_OK ? loss : NAN;
}

/* By four values of the loss: the error goes with the fourth power of the step. */
static double slope_of(onx_session *s, trial *t, double *x) {
    double was = *x, step = 1e-4, slope = 0;
    static const double at[] = {1, -1, 2, -2}, factor[] = {8, -8, -1, 1};
    for (size_t i = 0; i < 4; i++) {
        *x = was + at[i] * step;
        slope += factor[i] * loss_of(s, t);
    }
    *x = was;
    return slope / (12 * step);
}

static size_t differ_from(onx_session *s, trial *t, size_t which, const double *grad) {
    size_t wrong = 0;
    for (size_t i = 0; i < count_of(&t->in[which]); i++) {
        double slope = slope_of(s, t, &t->data[which][i]);
        if (fabs(slope - grad[i]) <= 1e-6 * (1 + fabs(slope))) continue;
        if (!wrong++)
            fprintf(stderr, "    input %zu, element %zu: %.9g, by differences %.9g\n", which, i,
                    grad[i], slope);
    }
    return wrong;
}

static void try_case(size_t at, onx_level level, int order) {
    trial t;
    onx_diag diag = ONX_INIT(onx_diag);
    write_trial(&t, at, order);
    onx_session *s = open_text(t.text, level, &diag);
    onx_arg out[INPUTS + 1] = {{0}};
    onx_status status = s ? onx_session_run(s, t.n, t.in, t.n + 1, out, NULL, &diag) : diag.status;
    if (!CHECK(status == ONX_OK))
        fprintf(stderr, "    %d %s\n    %s: %s\n", derived[at].opset, derived[at].nodes, diag.place,
                diag.message);
    for (size_t i = 0; i < t.n && status == ONX_OK; i++) {
        bool same = out[i + 1].bytes == t.in[i].bytes && out[i + 1].rank == t.in[i].rank;
        if (!CHECK(same && differ_from(s, &t, i, out[i + 1].data) == 0))
            fprintf(stderr, "    %d %s\n", derived[at].opset, derived[at].nodes);
    }
    for (size_t i = 0; i <= t.n; i++) onx_arg_clear(&out[i]);
    onx_session_free(s);
}

TEST(differences) {
    for (size_t i = 0; i < ONX_COUNT(derived); i++) try_case(i, ONX_LEVEL_ALL, 1);
}
TEST(not_optimized) {
    for (size_t i = 0; i < ONX_COUNT(derived); i++) try_case(i, ONX_LEVEL_NONE, 1);
}
TEST(second_order) {
    for (size_t i = 0; i < ONX_COUNT(derived); i++) try_case(i, ONX_LEVEL_ALL, 2);
}

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

/* The text with another type in place of double. */
static void retype(const char *text, const char *type, char *out) {
    const char *at;
    *out = '\0';
    for (; (at = strstr(text, "double")); text = at + strlen("double"))
        sprintf(out + strlen(out), "%.*s%s", (int)(at - text), text, type);
    strcat(out, text);
}

/* The gradients of a case in a type, as doubles; false: it does not run. */
static bool gradients_as(size_t at, onx_dtype dtype, double out[INPUTS][ELEMENTS]) {
    static char text[6000];
    static double raw[INPUTS][ELEMENTS];
    trial t;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg got[INPUTS + 1] = {{0}};
    write_trial(&t, at, 1);
    retype(t.text, onx_dtype_name(dtype), text);
    for (size_t i = 0; i < t.n; i++) {
        (void)onx_dtype_convert(ONX_DTYPE_F64, t.data[i], dtype, raw[i], count_of(&t.in[i]), false);
        t.in[i].dtype = dtype;
        t.in[i].data = raw[i];
        t.in[i].bytes = count_of(&t.in[i]) * (onx_dtype_bits(dtype) / 8);
    }
    onx_session *s = open_text(text, ONX_LEVEL_ALL, &diag);
    bool ran = s && onx_session_run(s, t.n, t.in, t.n + 1, got, NULL, &diag) == ONX_OK;
    if (!ran) fprintf(stderr, "    %s: %s: %s\n", derived[at].nodes, diag.place, diag.message);
    for (size_t i = 0; i < t.n && ran; i++)
        (void)onx_dtype_convert(dtype, got[i + 1].data, ONX_DTYPE_F64, out[i], count_of(&t.in[i]),
                                false);
    for (size_t i = 0; i <= t.n; i++) onx_arg_clear(&got[i]);
    onx_session_free(s);
    return ran;
}

TEST(in_other_types) {
    static double wide[INPUTS][ELEMENTS], narrow[INPUTS][ELEMENTS];
    static const struct {
        onx_dtype dtype;
        double tolerance;
    } types[] = {{ONX_DTYPE_F32, 1e-4}, {ONX_DTYPE_F16, 0.2}};
    for (size_t k = 0; k < ONX_COUNT(types); k++)
        for (size_t i = 0; i < ONX_COUNT(derived); i++) {
            memset(wide, 0, sizeof wide);
            memset(narrow, 0, sizeof narrow);
            if (!CHECK(gradients_as(i, ONX_DTYPE_F64, wide) &&
                       gradients_as(i, types[k].dtype, narrow)))
                continue;
            size_t wrong = 0;
            for (size_t e = 0; e < INPUTS * ELEMENTS; e++) {
                double want = wide[e / ELEMENTS][e % ELEMENTS];
                double difference = fabs(want - narrow[e / ELEMENTS][e % ELEMENTS]);
                wrong += !(difference <= types[k].tolerance * (1 + fabs(want)));
            }
            if (!CHECK(wrong == 0))
                fprintf(stderr, "    %s: %s, %zu elements\n", onx_dtype_name(types[k].dtype),
                        derived[i].nodes, wrong);
        }
}

/* ─ Forms ────────────────────────────────────────────────────────────────────────────────────── */

#define HEADER(opset) "<ir_version: 10, opset_import: [\"\" : " #opset ", " TRAINING "]>\n"
#define GRADIENT "ai.onnx.preview.training.Gradient"

/* Scalars in, scalars out: at most 4 of each. */
static const struct {
    const char *what, *text;
    double in[4], out[4];
} forms[] = {
    {"by an intermediate value",
     HEADER(13) "g (double a, double b) => (double dh, double db) {\n"
                " h = Mul(a, a)  y = Mul(h, b)\n"
                " dh, db = " GRADIENT "<xs = [\"h\", \"b\"], y = \"y\">(h, b)\n}",
     {3, 5},
     {5, 9}},
    {"with others held",
     HEADER(13) "g (double a, double b) => (double da) {\n"
                " h = Mul(a, b)  y = Mul(h, a)\n"
                " da = " GRADIENT "<xs = [\"a\"], zs = [\"h\"], y = \"y\">(a, h)\n}",
     {3, 5},
     {15}},
    {"at other values",
     HEADER(13) "g (double a, double b) => (double da, double y) {\n"
                " h = Mul(a, b)  y = Mul(h, a)\n two = Add(b, b)\n"
                " da = " GRADIENT "<xs = [\"a\"], zs = [\"b\"], y = \"y\">(two, a)\n}",
     {3, 5},
     {60, 45}},
    {"one value for two",
     HEADER(13) "g (double a, double b) => (double da, double db) {\n"
                " h = Mul(a, b)  y = Mul(h, a)\n"
                " da, db = " GRADIENT "<xs = [\"a\", \"b\"], y = \"y\">(b, b)\n}",
     {3, 5},
     {50, 25}},
    {"y does not depend on it",
     HEADER(13) "g (double a, double b) => (double da, double db) {\n y = Mul(a, a)\n"
                " da, db = " GRADIENT "<xs = [\"a\", \"b\"], y = \"y\">(a, b)\n}",
     {3, 5},
     {6, 0}},
    {"y itself",
     HEADER(13) "g (double a) => (double d) {\n y = Mul(a, a)\n"
                " d = " GRADIENT "<xs = [\"y\"], y = \"y\">(y)\n}",
     {3},
     {1}},
    {"an output that nobody wants",
     HEADER(13) "g (double a, double b) => (double db) {\n y = Mul(a, b)\n"
                " , db = " GRADIENT "<xs = [\"a\", \"b\"], y = \"y\">(a, b)\n}",
     {3, 5},
     {3}},
    {"before y is computed",
     HEADER(13) "g (double a) => (double d, double e) {\n"
                " d = " GRADIENT "<xs = [\"a\"], y = \"y\">(a)\n e = Neg(d)\n y = Mul(a, a)\n}",
     {3},
     {6, -6}},
    {"the third derivative",
     HEADER(13) "g (double a) => (double d, double e, double f) {\n"
                " b = Mul(a, a) c = Mul(b, a) y = Mul(c, a)\n"
                " f = " GRADIENT "<xs = [\"a\"], y = \"e\">(a)\n"
                " e = " GRADIENT "<xs = [\"a\"], y = \"d\">(a)\n"
                " d = " GRADIENT "<xs = [\"a\"], y = \"y\">(a)\n}",
     {3},
     {108, 108, 72}},
    {"in a branch",
     HEADER(13) "g (double a, double b) => (double d) {\n y = Mul(a, a)\n c = Less(a, b)\n"
                " d = If(c) <then_branch = t () => (double u) {\n"
                "   z = Mul(y, b)\n   u = " GRADIENT "<xs = [\"a\"], y = \"z\">(a)\n },\n"
                " else_branch = e () => (double v) { v = Identity(b) }>\n}",
     {3, 5},
     {30}},
    {"in a loop",
     HEADER(13) "g (double a) => (double w) {\n n = Constant<value = int64 {3}>()\n"
                " c = Constant<value = bool {1}>()\n"
                " w = Loop(n, c, a) <body = b (int64 i, bool k, double v) => (bool m, double u) {\n"
                "   m = Identity(k)  z = Mul(v, v)\n"
                "   d = " GRADIENT "<xs = [\"v\"], y = \"z\">(v)\n   u = Sub(v, d)\n }>\n}",
     {3},
     {-3}},
    {"inside a function",
     HEADER(13) "g (double a) => (double d) {\n d = my.slope(a)\n}\n"
                "<domain: \"my\", opset_import: [\"\" : 13, " TRAINING "]>\n"
                "slope (x) => (d) {\n y = Mul(x, x)\n"
                " d = " GRADIENT "<xs = [\"x\"], y = \"y\">(x)\n}",
     {3},
     {6}},
    {"through a function",
     "<ir_version: 10, opset_import: [\"\" : 13, \"my\" : 1, " TRAINING "]>\n"
     "g (double a) => (double d) {\n y = my.cube(a)\n"
     " d = " GRADIENT "<xs = [\"a\"], y = \"y\">(a)\n}\n"
     "<domain: \"my\", opset_import: [\"\" : 13]>\n"
     "cube (x) => (y) {\n b = Mul(x, x)\n y = Mul(b, x)\n}",
     {3},
     {27}},
};

TEST(in_all_forms) {
    for (size_t i = 0; i < ONX_COUNT(forms); i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_session *s = open_text(forms[i].text, ONX_LEVEL_DEFAULT, &diag);
        onx_arg in[4], out[4];
        double got[4] = {0};
        size_t n_in = s ? onx_session_input_count(s) : 0,
               n_out = s ? onx_session_output_count(s) : 0;
        for (size_t k = 0; k < 4; k++) {
            in[k] = (onx_arg){.dtype = ONX_DTYPE_F64, .bytes = 8};
            in[k].data = (void *)(uintptr_t)&forms[i].in[k];
            out[k] = (onx_arg){.data = &got[k], .bytes = 8};
        }
        bool ran = s && onx_session_run(s, n_in, in, n_out, out, NULL, &diag) == ONX_OK;
        if (!CHECK(ran)) fprintf(stderr, "    %s: %s\n", forms[i].what, diag.message);
        for (size_t k = 0; k < n_out && ran; k++)
            if (!CHECK(got[k] == forms[i].out[k]))
                fprintf(stderr, "    %s, output %zu: %g\n", forms[i].what, k, got[k]);
        onx_session_free(s);
    }
}

/* ─ What has no derivative, or no sense ──────────────────────────────────────────────────────── */

static const struct {
    const char *text;
    onx_status status;
    const char *words;
} refused[] = {
    {HEADER(13) "g (double[2,2] a) => (double[2,2] d) {\n b = LRN<size = 3>(a) c = Det(b) y = "
                "Add(c, c)\n"
                " d = " GRADIENT "<xs = [\"a\"], y = \"y\">(a)\n}",
     ONX_UNSUPPORTED, "no derivative of LRN, Det"},
    {HEADER(13) "g (double[2] a, double v) => (double d) {\n"
                " p = Constant<value = int64[2] {1, 1}>() b = Pad(a, p, v) y = ReduceSum(b)\n"
                " d = " GRADIENT "<xs = [\"v\"], y = \"y\">(v)\n}",
     ONX_UNSUPPORTED, "Pad"},
    {HEADER(13) "g (double a) => (double d) {\n y = Mul(a, a)\n"
                " d = " GRADIENT "<xs = [\"b\"], y = \"y\">(a)\n}",
     ONX_INVALID, "xs names 'b'"},
    {HEADER(13) "g (double a) => (double d) {\n"
                " d = " GRADIENT "<xs = [\"a\"], y = \"y\">(a)\n}",
     ONX_INVALID, "y names 'y'"},
    {HEADER(13) "g (double a) => (double d) {\n y = Mul(a, a)\n"
                " d = " GRADIENT "<xs = [\"a\"], zs = [\"a\"], y = \"y\">(a)\n}",
     ONX_INVALID, "1 inputs"},
    {HEADER(13) "g (double a) => (double d, double e) {\n y = Mul(a, a)\n"
                " d, e = " GRADIENT "<xs = [\"a\"], y = \"y\">(a)\n}",
     ONX_INVALID, "2 outputs"},
    {HEADER(13) "g (double a) => (double d, double e) {\n"
                " d = " GRADIENT "<xs = [\"a\"], y = \"e\">(a)\n"
                " e = " GRADIENT "<xs = [\"a\"], y = \"d\">(a)\n}",
     ONX_INVALID, "by each other"},
    {HEADER(10) "g (double a) => (double d) {\n y = Mul(a, a)\n"
                " d = " GRADIENT "<xs = [\"a\"], y = \"y\">(a)\n}",
     ONX_UNSUPPORTED, "opset 11"},
};

TEST(refusals) {
    for (size_t i = 0; i < ONX_COUNT(refused); i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_session *s = open_text(refused[i].text, ONX_LEVEL_DEFAULT, &diag);
        CHECK(!s);
        CHECK_EQ(diag.status, refused[i].status);
        if (!CHECK(strstr(diag.message, refused[i].words)))
            fprintf(stderr, "    %s\n", diag.message);
        onx_session_free(s);
    }
}

/* Each Gradient of the last one's result multiplies the nodes: an error, and soon. */
TEST(towers_end) {
    char text[8000] = HEADER(13) "g (double a) => (double d0) {\n y0 = Tanh(a)\n";
    size_t n = strlen(text);
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              " y%d = " GRADIENT "<xs = [\"a\"], y = \"y%d\">(a)\n", i + 1, i);
    snprintf(text + n, sizeof text - n, " d0 = Identity(y40)\n}");
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *s = open_text(text, ONX_LEVEL_NONE, &diag);
    CHECK(!s);
    CHECK_EQ(diag.status, ONX_LIMIT);
    onx_session_free(s);
}

/* Every allocation fails, in turn, while a session is made: at other values, through the body of a
 * function, and of the second order. */
TEST(memory_runs_out) {
    static const char text[] =
        HEADER(13) "g (double[2,3] a, double[3] b) => (double[2,3] d, double[2,3] e) {\n"
                   " t = Constant<value = int64[2] {0, 2}>()\n c = Mul(a, b)\n"
                   " y = SoftmaxCrossEntropyLoss(c, t)\n two = Add(a, a)\n"
                   " d = " GRADIENT "<xs = [\"a\"], zs = [\"b\"], y = \"y\">(two, b)\n"
                   " z = ReduceSum(d)\n e = " GRADIENT "<xs = [\"a\"], y = \"z\">(a)\n}";
    size_t n = 1, failed = 1;
    for (; failed; n += n < 100 ? 1 : 7) {
        test_heap heap = {.fail_count = 1};
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = NULL;
        onx_session *s = NULL;
        onx_load_options load = ONX_INIT(onx_load_options);
        onx_session_options options = ONX_INIT(onx_session_options);
        load.format = ONX_FORMAT_TEXT;
        options.threads = 1;
        REQUIRE(onx_model_load_memory(ctx, text, strlen(text), &load, &model, NULL) == ONX_OK);
        heap.calls = 0;
        heap.fail_at = n;
        onx_status status = onx_session_new(model, &options, &s, NULL);
        failed = heap.failed;
        CHECK(status == ONX_OK || (failed && status == ONX_NO_MEMORY));
        onx_session_free(s);
        onx_model_free(model);
        onx_context_free(ctx);
        if (!CHECK(heap.bytes == 0)) fprintf(stderr, "    allocation %zu\n", n);
    }
    CHECK(n > 500);
}

/* ─ A network learns ─────────────────────────────────────────────────────────────────────────── */

/* Conv, BatchNormalization, Relu, MaxPool, Conv, Relu, GlobalAveragePool, Gemm and the loss: all
 * weights by Adam. Out come the loss, then new weights and states in the order of the inputs. */
static const char network[] = HEADER(
    15) "g (int64 t, float[6,4,3,3] w1, float[6] s, float[6] b, float[8,6,3,3] w2, float[8] b2, "
        "float[2,8] w3, float[2] b3, "
        "float[6,4,3,3] vw1, float[6] vs, float[6] vb, float[8,6,3,3] vw2, float[8] vb2, "
        "float[2,8] vw3, float[2] vb3, "
        "float[6,4,3,3] hw1, float[6] hs, float[6] hb, float[8,6,3,3] hw2, float[8] hb2, "
        "float[2,8] hw3, float[2] hb3, float[8,4,8,8] x, int64[8] label) => (float loss, "
        "float[6,4,3,3] nw1, float[6] ns, float[6] nb, float[8,6,3,3] nw2, float[8] nb2, "
        "float[2,8] nw3, float[2] nb3, "
        "float[6,4,3,3] nvw1, float[6] nvs, float[6] nvb, float[8,6,3,3] nvw2, float[8] nvb2, "
        "float[2,8] nvw3, float[2] nvb3, "
        "float[6,4,3,3] nhw1, float[6] nhs, float[6] nhb, float[8,6,3,3] nhw2, float[8] nhb2, "
        "float[2,8] nhw3, float[2] nhb3) {\n"
        " nil = Constant<value = float[6] {0, 0, 0, 0, 0, 0}>()\n"
        " c1 = Conv<pads = [1, 1, 1, 1]>(x, w1)\n"
        " n1, rm, rv = BatchNormalization<training_mode = 1>(c1, s, b, nil, nil)\n"
        " r1 = Relu(n1)\n p1 = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r1)\n"
        " c2 = Conv<pads = [1, 1, 1, 1]>(p1, w2, b2)\n r2 = Relu(c2)\n"
        " a = GlobalAveragePool(r2)\n f = Flatten(a)\n o = Gemm<transB = 1>(f, w3, b3)\n"
        " loss = SoftmaxCrossEntropyLoss(o, label)\n"
        " g1, g2, g3, g4, g5, g6, g7 = " GRADIENT
        "<xs = [\"w1\", \"s\", \"b\", \"w2\", \"b2\", \"w3\", "
        "\"b3\"], zs = [\"x\", \"label\"], y = \"loss\">(w1, s, b, w2, b2, w3, b3, x, label)\n"
        " rate = Constant<value = float {0.01}>()\n"
        " nw1, ns, nb, nw2, nb2, nw3, nb3, nvw1, nvs, nvb, nvw2, nvb2, nvw3, nvb3, nhw1, nhs, nhb, "
        "nhw2, nhb2, nhw3, nhb3 = ai.onnx.preview.training.Adam(rate, t, w1, s, b, w2, b2, w3, b3, "
        "g1, g2, g3, g4, g5, g6, g7, vw1, vs, vb, vw2, vb2, vw3, vb3, hw1, hs, hb, hw2, hb2, hw3, "
        "hb3)\n}";

enum { WEIGHTS = 7, STATES = 3 * WEIGHTS };
static const struct {
    size_t rank;
    int64_t dims[4];
} weight_shapes[WEIGHTS] = {{4, {6, 4, 3, 3}}, {1, {6}},    {1, {6}}, {4, {8, 6, 3, 3}},
                            {1, {8}},          {2, {2, 8}}, {1, {2}}};

static onx_arg argument(onx_dtype dtype, size_t rank, const int64_t *dims, void *data) {
    onx_arg arg = {.dtype = dtype, .rank = rank, .data = data};
    for (size_t d = 0; d < rank; d++) arg.dims[d] = dims[d];
    arg.bytes = count_of(&arg) * (dtype == ONX_DTYPE_I64 ? 8 : 4);
    return arg;
}

static float drawn(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(*seed >> 40) / 8388608.0f - 1;
}

/* Images of class 1 are brighter in their left half. */
static void fill_images(float *x, int64_t *labels) {
    uint64_t seed = 3;
    for (int i = 0; i < 8; i++) {
        labels[i] = i % 2;
        for (int p = 0; p < 4 * 8 * 8; p++)
            x[i * 256 + p] = drawn(&seed) + (i % 2 && p % 8 < 4 ? 1.0f : 0.0f);
    }
}

/* Fills losses of 30 steps. */
static bool train(onx_level level, float *losses) {
    static float state[2][STATES][8 * 6 * 3 * 3], x[8 * 4 * 8 * 8];
    int64_t labels[8], step = 0;
    uint64_t seed = 1;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *s = open_text(network, level, &diag);
    if (!s) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    memset(state, 0, sizeof state);
    for (size_t w = 0; w < WEIGHTS; w++)
        for (size_t i = 0; i < 8 * 6 * 3 * 3; i++)
            state[0][w][i] = w == 1 ? 1 : w == 2 ? 0 : 0.3f * drawn(&seed);
    fill_images(x, labels);
    onx_status status = s ? ONX_OK : ONX_INVALID;
    for (; step < 30 && !status; step++) {
        onx_arg in[STATES + 3], out[STATES + 1];
        int now = (int)(step % 2);
        in[0] = argument(ONX_DTYPE_I64, 0, NULL, &step);
        out[0] = (onx_arg){.data = &losses[step], .bytes = sizeof(float)};
        for (size_t w = 0; w < STATES; w++) {
            size_t rank = weight_shapes[w % WEIGHTS].rank;
            in[1 + w] =
                argument(ONX_DTYPE_F32, rank, weight_shapes[w % WEIGHTS].dims, state[now][w]);
            out[1 + w] = (onx_arg){.data = state[!now][w], .bytes = in[1 + w].bytes};
        }
        in[STATES + 1] = argument(ONX_DTYPE_F32, 4, (int64_t[]){8, 4, 8, 8}, x);
        in[STATES + 2] = argument(ONX_DTYPE_I64, 1, (int64_t[]){8}, labels);
        status = onx_session_run(s, STATES + 3, in, STATES + 1, out, NULL, &diag);
        if (status) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    }
    onx_session_free(s);
    return status == ONX_OK;
}

/* The losses are those that PyTorch's autograd gives, in double precision: tool/train-oracle.py. */
TEST(a_network_learns) {
    static const struct {
        size_t step;
        double loss;
    } recorded[] = {{0, 0.854836206},  {1, 0.630425801},    {2, 0.572350048},    {5, 0.381952076},
                    {10, 0.130560946}, {20, 0.00535159941}, {29, 0.000609759681}};
    static const onx_level levels[] = {ONX_LEVEL_ALL, ONX_LEVEL_NONE};
    for (size_t l = 0; l < ONX_COUNT(levels); l++) {
        float losses[30];
        REQUIRE(train(levels[l], losses));
        for (size_t i = 0; i < ONX_COUNT(recorded); i++) {
            double got = (double)losses[recorded[i].step], want = recorded[i].loss;
            if (!CHECK(fabs(got - want) <= 1e-4 * want))
                fprintf(stderr, "    step %zu: %g\n", recorded[i].step, got);
        }
    }
}

TEST_MAIN(E(differences) E(not_optimized) E(second_order) E(in_other_types) E(in_all_forms)
              E(refusals) E(towers_end) E(memory_runs_out) E(a_network_learns))
