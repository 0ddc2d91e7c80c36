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
    {13, "double[2,3] a, double l, double h", -1, 1, "k = Constant<value = double {0.2}>() "
     "s = Abs(h) t = Add(s, k) u = Abs(l) v = Neg(u) w = Sub(v, k) y = Clip(a, w, t)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Max(a, b, c)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Min(a, b, c)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Mean(a, b, c)"},
    {13, "double[2,3] a, double[3] b, double[2,1] c", -2, 2, "y = Sum(a, b, c)"},
    {13, "double[2,3] a, double[3] b", -2, 2, "c = Less(a, b) s = Sin(a) y = Where(c, s, b)"},
    {13, "double[2,3] a", -2, 2, "f = Floor(a) s = Sign(a) t = Add(f, s) y = Mul(t, a)"},
    {13, "double[2,3] a", -2, 2, "y = Identity(a)"},
    /* moves */
    {13, "double[2,3] a", -2, 2, "s = Constant<value = int64[2] {3, 2}>() y = Reshape(a, s)"},
    {13, "double[2,3,2] a", -2, 2, "y = Flatten<axis = 2>(a)"},
    {13, "double[2,1,3] a", -2, 2, "x = Constant<value = int64[1] {1}>() y = Squeeze(a, x)"},
    {12, "double[2,3] a", -2, 2, "y = Unsqueeze<axes = [1]>(a)"},
    {13, "double[2,3,4] a", -2, 2, "t = Transpose<perm = [2, 0, 1]>(a) s = Sin(t) y = Transpose(s)"},
    {13, "double[2,3] a, double[2,1] b, double[2,2] c", -2, 2, "y = Concat<axis = -1>(a, b, c)"},
    {13, "double[2,6] a", -2, 2, "n = Constant<value = int64[3] {1, 2, 3}>() "
     "p, q, r = Split<axis = 1>(a, n) s = Mul(p, q) t = ReduceSum<keepdims = 0>(r) y = Mul(s, t)"},
    {12, "double[2,6] a", -2, 2, "p, q = Split<axis = 1>(a) y = Sin(q)"},
    {13, "double[4,5] a", -2, 2, "b = Constant<value = int64[2] {3, 1}>() "
     "e = Constant<value = int64[2] {-9, 5}>() x = Constant<value = int64[2] {0, 1}>() "
     "s = Constant<value = int64[2] {-2, 3}>() y = Slice(a, b, e, x, s)"},
    {13, "double[2,3] a", -2, 2, "p = Constant<value = int64[4] {1, 0, 2, 1}>() y = Pad(a, p)"},
    {13, "double[3,4] a", -2, 2, "p = Constant<value = int64[4] {1, 2, 2, 1}>() "
     "y = Pad<mode = \"reflect\">(a, p)"},
    {13, "double[3,4] a", -2, 2, "i = Constant<value = int64[2,2] {0, -1, 2, 0}>() "
     "y = Gather<axis = 1>(a, i)"},
    {13, "double[3,4] a", -2, 2, "i = Constant<value = int64[2,3] {0, -1, 2, 0, 0, 1}>() "
     "y = GatherElements<axis = 1>(a, i)"},
    {13, "double[3,4] a", -2, 2, "i = Constant<value = int64[2,2] {0, 1, 2, 0}>() y = GatherND(a, i)"},
    {13, "double[2,1] a", -2, 2, "s = Constant<value = int64[3] {2, 1, 3}>() y = Expand(a, s)"},
    {13, "double[2,3] a", -2, 2, "s = Constant<value = int64[2] {2, 3}>() y = Tile(a, s)"},
    {14, "double[3,4] a", -2, 2, "y = Trilu<upper = 0>(a)"},
    {14, "double[3,4] a", -2, 2, "x = Constant<value = int32 {1}>() y = CumSum<exclusive = 1>(a, x)"},
    {13, "double[1,8,2,2] a", -2, 2, "y = DepthToSpace<blocksize = 2>(a)"},
    {13, "double[3,4] a", -2, 2, "k = Constant<value = int64[1] {2}>() y, i = TopK(a, k)"},
    {13, "double[3,4] a, double[2,2] u", -2, 2, "i = Constant<value = int64[2,2] {0, 1, 2, 0}>() "
     "y = ScatterElements(a, i, u)"},
    {13, "double[3,4] a, double[2,4] u", -2, 2, "i = Constant<value = int64[2,1] {0, 2}>() "
     "y = ScatterND(a, i, u)"},
    /* reductions */
    {13, "double[2,3,4] a", -2, 2, "x = Constant<value = int64[2] {0, -1}>() "
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
    {13, "double[2,2,3,2] a", -2, 2, "y = GlobalAveragePool(a)"},
    {13, "double[2,2,3,2] a", -2, 2, "y = GlobalMaxPool(a)"},
    /* products */
    {13, "double[2,3] a, double[3,4] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[3] a, double[3,4] b", -2, 2, "y = MatMul(a, b)"},
    {12, "double[5,2,3] a, double[3] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[3] a, double[3] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[3] a, double[2,3,4] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[2,1,2,3] a, double[4,3,2] b", -2, 2, "y = MatMul(a, b)"},
    {13, "double[2,3] a, double[3,4] b, double[4] c", -2, 2, "y = Gemm<alpha = 0.5, beta = 2.0>(a, b, c)"},
    {13, "double[3,2] a, double[3,4] b, double[2,1] c", -2, 2, "y = Gemm<transA = 1>(a, b, c)"},
    {13, "double[2,3] a, double[4,3] b", -2, 2, "y = Gemm<alpha = 3.0, transB = 1>(a, b)"},
    {13, "double[3,2] a, double[4,3] b, double c", -2, 2, "y = Gemm<transA = 1, transB = 1>(a, b, c)"},
    {13, "double[2,2,7] x, double[3,2,3] w, double[3] b", -1, 1,
     "y = Conv<strides = [2], pads = [1, 2]>(x, w, b)"},
    {13, "double[1,4,5,6] x, double[6,2,3,2] w, double[6] b", -1, 1,
     "y = Conv<group = 2, dilations = [2, 1], strides = [1, 2], pads = [2, 0, 1, 1]>(x, w, b)"},
    {13, "double[1,2,5,5] x, double[2,1,3,3] w", -1, 1,
     "y = Conv<group = 2, auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w)"},
    {13, "double[1,2,3,3,3] x, double[2,2,2,2,2] w", -1, 1, "y = Conv(x, w)"},
    {13, "double[1,1,4,4] x", -1, 1, "y = AveragePool<kernel_shape = [3, 2], pads = [1, 0, 1, 1], "
     "strides = [2, 1]>(x)"},
    {13, "double[1,2,5] x", -1, 1, "y = AveragePool<kernel_shape = [3], pads = [1, 1], "
     "count_include_pad = 1, ceil_mode = 1, strides = [2]>(x)"},
    {13, "double[1,2,5,5] x", -1, 1, "y = MaxPool<kernel_shape = [3, 2], strides = [2, 2], "
     "pads = [1, 0, 1, 0]>(x)"},
    {13, "double[1,2,5,4] x", -1, 1, "y = MaxPool<kernel_shape = [3, 2], storage_order = 1>(x)"},
    /* normalizations */
    {15, "double[2,3,2,2] x, double[3] s, double[3] b, double[3] m, double[3] v", 0.5, 2,
     "y = BatchNormalization<epsilon = 0.01>(x, s, b, m, v)"},
    {15, "double[2,3,2,2] x, double[3] s, double[3] b", -1, 2, "m = Constant<value = double[3] {0, 0, 0}>() "
     "y, n, v = BatchNormalization<training_mode = 1>(x, s, b, m, m)"},
    {15, "double[4,3] x, double[3] s, double[3] b", -1, 2, "m = Constant<value = double[3] {0, 0, 0}>() "
     "y, n, v = BatchNormalization<training_mode = 1>(x, s, b, m, m)"},
    {17, "double[2,3,4] x, double[3,4] s, double[3,4] b", -1, 2,
     "y = LayerNormalization<axis = 1>(x, s, b)"},
    {18, "double[2,3,4] x, double[4] s", -1, 2, "y = LayerNormalization(x, s)"},
    {13, "double[2,3,4] x, double[3] s, double[3] b", -1, 2, "y = InstanceNormalization(x, s, b)"},
    {21, "double[2,4,3] x, double[4] s, double[4] b", -1, 2,
     "y = GroupNormalization<num_groups = 2, stash_type = 11>(x, s, b)"},
    /* losses */
    {13, "double[3,4] x, double[4] w", 0.5, 2, "t = Constant<value = int64[3] {0, 3, 1}>() "
     "l = LogSoftmax(x) y = NegativeLogLikelihoodLoss(l, t, w)"},
    {13, "double[3,4] x, double[4] w", 0.5, 2, "t = Constant<value = int64[3] {0, 3, 1}>() "
     "y = SoftmaxCrossEntropyLoss(x, t, w)"},
    {13, "double[2,4,3] x", -1, 2, "t = Constant<value = int64[2,3] {0, 3, 1, 2, 2, 0}>() "
     "y = SoftmaxCrossEntropyLoss<reduction = \"none\", ignore_index = 2>(x, t)"},
    {12, "double[3,4] x", -1, 2, "t = Constant<value = int64[3] {0, 3, 1}>() "
     "y, p = SoftmaxCrossEntropyLoss<reduction = \"sum\">(x, t)"},
    /* several at once */
    {13, "double[2,3] a, double[3] b", -1, 1, "c = Mul(a, b) d = Add(c, a) e = Tanh(d) f = Mul(e, d) "
     "g = Exp(b) h = Add(f, g) y = Mul(h, h)"},
    {13, "double[2,3] a", -2, 2, "k = Mul(a, a) "
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

static void write_trial(trial *t, size_t at) {
    char xs[100] = "", outs[400] = "", grads[200] = "", names[200] = "";
    t->n = 0;
    read_inputs(t, derived[at].inputs, derived[at].lo, derived[at].hi, xs, outs, grads);
    for (size_t i = 0; xs[i]; i++)
        if (xs[i] != '"') names[strlen(names)] = xs[i];
    snprintf(t->text, sizeof t->text,
             "<ir_version: 10, opset_import: [\"\" : %d, " TRAINING "]>\n"
             "g (%s) => (double loss%s) {\n %s\n squares = Mul(y, y)\n"
             " loss = ReduceSum<keepdims = 0>(squares)\n"
             " %s = ai.onnx.preview.training.Gradient<xs = [%s], y = \"loss\">(%s)\n}\n",
             derived[at].opset, derived[at].inputs, outs, derived[at].nodes, grads, xs, names);
}

static double loss_of(onx_session *s, trial *t) {
    double loss = NAN;
    onx_arg out = {.data = &loss, .bytes = sizeof loss};
    return onx_session_run(s, t->n, t->in, 1, &out, NULL, NULL) == ONX_OK ? loss : NAN;
}

static size_t differ_from(onx_session *s, trial *t, size_t which, const double *grad) {
    size_t wrong = 0;
    for (size_t i = 0; i < count_of(&t->in[which]); i++) {
        double *x = &t->data[which][i], was = *x, step = 1e-5;
        *x = was + step;
        double above = loss_of(s, t);
        *x = was - step;
        double slope = (above - loss_of(s, t)) / (2 * step);
        *x = was;
        if (fabs(slope - grad[i]) <= 1e-6 * (1 + fabs(slope))) continue;
        if (!wrong++)
            fprintf(stderr, "    input %zu, element %zu: %.9g, by differences %.9g\n", which, i,
                    grad[i], slope);
    }
    return wrong;
}

static void try_case(size_t at, onx_level level) {
    trial t;
    onx_diag diag = ONX_INIT(onx_diag);
    write_trial(&t, at);
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
    for (size_t i = 0; i < ONX_COUNT(derived); i++) try_case(i, ONX_LEVEL_ALL);
}
TEST(not_optimized) {
    for (size_t i = 0; i < ONX_COUNT(derived); i++) try_case(i, ONX_LEVEL_NONE);
}

TEST_MAIN(E(differences) E(not_optimized))
