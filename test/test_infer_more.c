/* test_infer_more.c: inference of single nodes, one line each: attention, text, ai.onnx.ml,
 * training and com.microsoft. And the backend tests of these operators: what is inferred of their
 * outputs is what was recorded. */
#include "test.h"

#include "infer/infer.h"
#include "support.h"

/* ── One node ────────────────────────────────────────────────────────────────────────────────── */

typedef struct line {
    int opset, ml;
    const char *inputs, *node;
    const char *facts; /* of the outputs, in their order, with a space between them */
    const char *fails; /* words of the sentence with which it is refused; NULL: it is not */
} line;

static onx_model *load(const line *l) {
    char text[4096];
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    (void)snprintf(text, sizeof text,
                   "<ir_version: 11, opset_import: [\"\" : %d, \"ai.onnx.ml\" : %d, "
                   "\"com.microsoft\" : 1, \"ai.onnx.preview\" : 1, "
                   "\"ai.onnx.preview.training\" : 1]>\ng (%s) => () {\n %s\n}\n",
                   l->opset, l->ml ? l->ml : 5, l->inputs, l->node);
    options.format = ONX_FORMAT_TEXT;
    if (onx_model_load_memory(NULL, text, strlen(text), &options, &model, &diag))
        fprintf(stderr, "    %s: %s\n%s\n", diag.place, diag.message, text);
    return model;
}

/* The facts of what the last node gives, as in the tables. */
static void print_outputs(const onx_facts *facts, const onx_model *model, onx_buf *out) {
    const onx_node *node = onx_graph_node_last(onx_model_graph(model));
    for (size_t i = 0; i < onx_node_output_count(node); i++) {
        if (!onx_node_output(node, i)) continue;
        if (out->size) onx_buf_putc(out, ' ');
        onx_fact_print(onx_facts_of(facts, onx_node_output(node, i)), out);
    }
    onx_buf_putc(out, '\0');
}

static bool holds(const line *l) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_facts *facts = NULL;
    onx_buf found;
    onx_model *model = load(l);
    if (!model) return false;
    onx_buf_init(&found, onx_context_or_default(NULL));
    onx_status status = onx_facts_new(model, NULL, &facts, &diag);
    if (!status) print_outputs(facts, model, &found);
    bool good = l->fails ? status == ONX_INVALID && strstr(diag.message, l->fails)
                         : !status && strcmp(found.data, l->facts) == 0;
    if (!good) fprintf(stderr, "    %s\n    %s\n", l->node, status ? diag.message : found.data);
    onx_buf_fini(&found);
    if (!status) onx_facts_free(facts);
    onx_model_free(model);
    return good;
}

#define HOLD(lines)                                                                                \
    do {                                                                                           \
        for (size_t i = 0; i < sizeof(lines) / sizeof *(lines); i++) CHECK(holds(&(lines)[i]));    \
    } while (0)

/* ── Attention ───────────────────────────────────────────────────────────────────────────────── */

#define QKV4 "float[B,8,S,64] q, float[B,2,T,64] k, float[B,2,T,32] v"
#define QKV3 "float[B,S,512] q, float[B,T,128] k, float[B,T,64] v"
#define HEADS "q_num_heads = 8, kv_num_heads = 2"
#define PAST "float[B,2,P,64] pk, float[B,2,P,32] pv"

static const line attention[] = {
    {23, 0, QKV4, "y = Attention (q, k, v)", "float[B,8,S,32]", NULL},
    {23, 0, QKV3, "y = Attention <" HEADS "> (q, k, v)", "float[B,S,256]", NULL},
    {23, 0, "float[B,S,D] q, float[B,T,D] k, float[B,T,E] v",
     "y = Attention <q_num_heads = 4, kv_num_heads = 4> (q, k, v)", "float[B,S,E]", NULL},
    {23, 0, "float16[B,8,S,64] q, float16[B,8,T,64] k, bfloat16[B,8,T,32] v",
     "y, a, b, c = Attention (q, k, v)",
     "float16[B,8,S,32] float16[B,8,T,64] bfloat16[B,8,T,32] float16[B,8,S,T]", NULL},
    {24, 0, QKV3 ", " PAST, "y, a, b, c = Attention <" HEADS "> (q, k, v, , pk, pv)",
     "float[B,S,256] float[B,2,T + P,64] float[B,2,T + P,32] float[B,8,S,T + P]", NULL},
    {25, 0, "float[2,8,3,64] q, float[B,2,T,64] k, float[B,2,7,32] v, bool[3,5] m, int64[2] n",
     "y, , , c = Attention <left_window_size = 4> (q, k, v, m, , , n)",
     "float[2,8,3,32] float[2,8,3,7]", NULL},
    {25, 0, "float[] q, float[B,2,T,64] k, float[] v", "y = Attention (q, k, v)",
     "float[B,?0,?1,?2]", NULL},
    {23, 0, "float[] q, float[] k, float[] v", "y = Attention (q, k, v)", "float[]", NULL},
    {23, 0, "float[2,3] q, float[] k, float[] v", "y = Attention (q, k, v)", NULL, "3 or 4"},
    {23, 0, QKV3, "y = Attention (q, k, v)", NULL, "q_num_heads and kv_num_heads"},
    {23, 0, QKV3, "y = Attention <q_num_heads = 0, kv_num_heads = 2> (q, k, v)", NULL, "at least"},
    {23, 0, QKV3, "y = Attention <q_num_heads = 7, kv_num_heads = 2> (q, k, v)", NULL,
     "512, is not a multiple"},
    {23, 0, QKV3, "y = Attention <q_num_heads = 8, kv_num_heads = 4> (q, k, v)", NULL,
     "head size is 64 and 32"},
    {23, 0, "float[B,8,S,64] q, float[B,3,T,64] k, float[B,3,T,32] v", "y = Attention (q, k, v)",
     NULL, "8 query heads cannot share 3"},
    {23, 0, "float[2,8,S,64] q, float[3,8,T,64] k, float[B,8,T,32] v", "y = Attention (q, k, v)",
     NULL, "batch size is 2 and 3"},
    {23, 0, "float[B,8,S,64] q, float[B,8,T,32] k, float[B,8,T,32] v", "y = Attention (q, k, v)",
     NULL, "head size is 64 and 32"},
    {23, 0, "float[B,8,S,64] q, float[B,8,5,64] k, float[B,8,6,32] v", "y = Attention (q, k, v)",
     NULL, "length of key and value is 5 and 6"},
    {23, 0, "float[B,8,S,64] q, float[B,5,512] k, float[] v", "y = Attention (q, k, v)", NULL,
     "input 1 has 3 dimensions"},
    {23, 0, QKV4 ", " PAST, "y = Attention (q, k, v, , pk)", NULL, "go together"},
    {23, 0, QKV4, "y, a = Attention (q, k, v)", NULL, "go together"},
    {23, 0, QKV4 ", float[4,5] m", "y = Attention (q, k, v, m)", "float[B,8,S,32]", NULL},
    {23, 0, "float[B,8,3,64] q, float[B,8,5,64] k, float[B,8,5,64] v, float[3,4] m",
     "y = Attention (q, k, v, m)", NULL, "dimension 1 of attn_mask is 4"},
    {24, 0, "float[B,8,3,64] q, float[B,8,5,64] k, float[B,8,5,64] v, float[3,4] m",
     "y = Attention (q, k, v, m)", "float[B,8,3,64]", NULL},
    {24, 0, "float[B,8,3,64] q, float[B,8,5,64] k, float[B,8,5,64] v, float[2,4] m",
     "y = Attention (q, k, v, m)", NULL, "dimension 0 of attn_mask is 2"},
    {23, 0, QKV4 ", float[1,1,1,1,1] m", "y = Attention (q, k, v, m)", NULL, "5 dimensions"},
    {25, 0, QKV4, "y = Attention <left_window_size = -2> (q, k, v)", NULL, "left_window_size"},
    {25, 0, QKV4, "y = Attention <q_num_heads = 8> (q, k, v)", NULL, "for inputs of rank 3"},
    {25, 0, QKV4 ", " PAST ", int64[B] n", "y = Attention (q, k, v, , pk, pv, n)", NULL,
     "cache outside"},
    {25, 0, QKV4 ", int64[B,1] n", "y = Attention (q, k, v, , , , n)", NULL, "input 6 has 2"},
};

static const line flex[] = {
    {23, 0, QKV4 "", "y = ai.onnx.preview.FlexAttention (q, k, v)", "float[B,8,S,32]", NULL},
    {23, 0, QKV4,
     "y = ai.onnx.preview.FlexAttention <score_mod = m (float[B,H,L,S] a) => (b) "
     "{ b = Abs (a) }> (q, k, v)",
     "float[B,8,S,32]", NULL},
    {23, 0, QKV4,
     "y = ai.onnx.preview.FlexAttention <score_mod = m (a, b) => (b) { c = Abs (a) }> (q, k, v)",
     NULL, "takes 2 values"},
    {23, 0, QKV4,
     "y = ai.onnx.preview.FlexAttention <prob_mod = m (a) => (b) { b = ReduceMax<keepdims=0> (a) }>"
     " (q, k, v)",
     NULL, "gives 0 dimensions"},
    {23, 0, QKV4,
     "y = ai.onnx.preview.FlexAttention <prob_mod = m (a) => (b) { b = Cast<to = 10> (a) }>"
     " (q, k, v)",
     NULL, "gives float16"},
    {23, 0, QKV4, "y = ai.onnx.preview.FlexAttention <softmax_precision = 7> (q, k, v)", NULL,
     "not a type of floats"},
    {23, 0, "float[B,8,3] q, float[] k, float[] v", "y = ai.onnx.preview.FlexAttention (q, k, v)",
     NULL, "input 0 has 3 dimensions"},
};

static const line around_attention[] = {
    {23, 0, "float16[B,H,S,64] x, float16[M,32] c, float16[M,32] s, int64[B,S] p",
     "y = RotaryEmbedding (x, c, s, p)", "float16[B,H,S,64]", NULL},
    {23, 0, "float[B,S,512] x, float[B,S,16] c, float[B,S,16] s",
     "y = RotaryEmbedding <num_heads = 8, rotary_embedding_dim = 32> (x, c, s)", "float[B,S,512]",
     NULL},
    {23, 0, "float[B,S,512] x, float[M,32] c, float[M,32] s, int64[B,S] p",
     "y = RotaryEmbedding (x, c, s, p)", NULL, "needs num_heads"},
    {23, 0, "float[B,S] x, float[M,32] c, float[M,32] s, int64[B,S] p",
     "y = RotaryEmbedding (x, c, s, p)", NULL, "input 0 has 2 dimensions"},
    {23, 0, "float[B,H,S,64] x, float[M,31] c, float[M,31] s, int64[B,S] p",
     "y = RotaryEmbedding (x, c, s, p)", NULL, "rows of 31"},
    {23, 0, "float[B,H,S,64] x, float[M,32] c, float[M,32] s", "y = RotaryEmbedding (x, c, s)",
     NULL, "input 1 has 2 dimensions"},
    {23, 0, "float[B,H,S,63] x, float[M,32] c, float[M,32] s, int64[B,S] p",
     "y = RotaryEmbedding (x, c, s, p)", NULL, "must be even"},
    {23, 0, "float[B,H,S,64] x, float[M,40] c, float[M,40] s, int64[B,S] p",
     "y = RotaryEmbedding <rotary_embedding_dim = 80> (x, c, s, p)", NULL, "only 64"},
    {27, 0, "float16[B,C,L] x, float16[6,1,4] w, float16[6] b",
     "y, s = CausalConvWithState (x, w, b)", "float16[B,6,L] float16[B,6,3]", NULL},
    {27, 0, "float[B,C,L] x, float[C,1,K] w, float[2,C,3] p",
     "y, s = CausalConvWithState (x, w, , p)", "float[2,C,L] float[2,C,3]", NULL},
    {27, 0, "float[B,C,L] x, float[C,1,K] w", "y, s = CausalConvWithState (x, w)",
     "float[B,C,L] float[B,C,K - 1]", NULL},
    {27, 0, "float[B,6,L] x, float[6,2,4] w", "y, s = CausalConvWithState (x, w)", NULL,
     "middle size of the weight is 1 and 2"},
    {27, 0, "float[B,6,L] x, float[6,1,4] w, float[B,6,4] p",
     "y, s = CausalConvWithState (x, w, , p)", NULL, "length of the state is 4 and 3"},
    {27, 0, "float[B,6,L] x, float[6,1,0] w", "y, s = CausalConvWithState (x, w)", NULL,
     "at least 1"},
    {27, 0, "float[B,6,L] x, float[6,1,4] w",
     "y, s = CausalConvWithState <activation = \"relu\"> (x, w)", NULL, "none silu swish"},
    {27, 0, "float16[B,T,32] q, float16[B,T,16] k, float16[B,T,24] v",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"> (q, k, "
     "v)",
     "float16[B,T,48] float16[B,2,8,12]", NULL},
    {27, 0, "float16[B,T,32] q, float16[B,T,16] k, float16[B,T,X] v, float[B,2,8,12] p",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"> "
     "(q, k, v, p)",
     "float16[B,T,4*floor(X/2)] float[B,2,8,12]", NULL},
    {27, 0, "float[B,T,32] q, float[B,T,16] k, float[B,T,24] v, float[B,T,2] d, float[B,T,1] b",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, , d, b)",
     "float[B,T,48] float[B,2,8,12]", NULL},
    {27, 0, "float[B,T,32] q, float[B,T,16] k, float[B,T,24] v, float[B,T,3] d, float[B,T,1] b",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, , d, b)", NULL,
     "it can be 2 or 16"},
    {27, 0, "float[B,T,32] q, float[B,T,16] k, float[B,T,24] v",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)", NULL, "needs decay"},
    {27, 0, "float[B,T,32] q, float[B,T,16] k, float[B,T,24] v, float[B,T,2] d",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"> "
     "(q, k, v, , d)",
     NULL, "knows no decay"},
    {27, 0, "float[B,T,32] q, float[B,T,16] k, float[B,T,24] v",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 3, update_rule = \"linear\"> "
     "(q, k, v)",
     NULL, "multiple"},
    {27, 0, "float[B,T,32] q, float[B,T,16] k, float[B,T,24] v",
     "y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = \"none\"> (q, k, v)",
     NULL, "update_rule is 'none'"},
};

TEST(attentions) {
    HOLD(attention);
    HOLD(flex);
    HOLD(around_attention);
}

/* ── Text ────────────────────────────────────────────────────────────────────────────────────── */

static const line text[] = {
    {20, 0, "string[N,3] x", "y = RegexFullMatch <pattern = \"a\"> (x)", "bool[N,3]", NULL},
    {20, 0, "string[N,3] x", "y, z = StringSplit (x)", "string[N,3,?0] int64[N,3]", NULL},
    {20, 0, "string[] x", "y, z = StringSplit (x)", "string[] int64[]", NULL},
    {10, 0, "string[4] x", "y = StringNormalizer (x)", "string[4]", NULL},
    {10, 0, "string[1,4] x", "y = StringNormalizer <stopwords = [\"a\"]> (x)", "string[1,?0]",
     NULL},
    {10, 0, "string[0] x", "y = StringNormalizer (x)", "string[?0]", NULL},
    {10, 0, "string[2,4] x", "y = StringNormalizer (x)", NULL, "[C] or [1,C]"},
    {10, 0, "string x", "y = StringNormalizer (x)", NULL, "[C] or [1,C]"},
    {9, 0, "int64[N,6] x",
     "y = TfIdfVectorizer <mode = \"TF\", min_gram_length = 1, max_gram_length = 1, max_skip_count "
     "= 0, ngram_counts = [0], ngram_indexes = [3, 0, 5]> (x)",
     "float[N,6]", NULL},
    {9, 0, "int64[6] x", "y = TfIdfVectorizer <ngram_indexes = [1, 0]> (x)", "float[2]", NULL},
    {9, 0, "int64[6] x", "y = TfIdfVectorizer <ngram_indexes = [1, -1]> (x)", NULL, "has -1"},
    {9, 0, "int64[2,2,2] x", "y = TfIdfVectorizer <ngram_indexes = [1]> (x)", NULL, "1 or 2"},
};

TEST(texts) {
    HOLD(text);
}

/* ── ai.onnx.ml and training ─────────────────────────────────────────────────────────────────── */

#define ML "ai.onnx.ml."

static const line features[] = {
    {20, 1, "double[N,4] x, int64[2] i", "y = " ML "ArrayFeatureExtractor (x, i)", "double[N,2]",
     NULL},
    {20, 1, "string[4] x, int64[1,K] i", "y = " ML "ArrayFeatureExtractor (x, i)", "string[1,K]",
     NULL},
    {20, 1, "string x, int64[1] i", "y = " ML "ArrayFeatureExtractor (x, i)", NULL, "a scalar"},
    {20, 1, "int64[N,4] x", "y = " ML "Binarizer (x)", "int64[N,4]", NULL},
    {20, 1, "int64[N,4] x", "y = " ML "Imputer (x)", "int64[N,4]", NULL},
    {20, 1, "int64[N,4] x", "y = " ML "Normalizer (x)", "float[N,4]", NULL},
    {20, 1, "double[N,4] x", "y = " ML "Scaler (x)", "float[N,4]", NULL},
    {20, 1, "map(int64, float) x", "y = " ML "CastMap <cast_to = \"TO_STRING\"> (x)", "string[]",
     NULL},
    {20, 1, "map(int64, float) x", "y = " ML "CastMap <cast_to = \"TO_INT\"> (x)", NULL,
     "cast_to is 'TO_INT'"},
    {20, 1, "map(string, double) x", "y = " ML "DictVectorizer (x)", "double[]", NULL},
    {20, 1, "string[N] x",
     "y = " ML "CategoryMapper <cats_int64s = [1, 2], cats_strings = [\"a\", \"b\"]> (x)",
     "int64[N]", NULL},
    {20, 1, "string[N] x", "y = " ML "CategoryMapper <cats_int64s = [1, 2]> (x)", NULL,
     "a number and a name"},
    {20, 1, "string[N] x",
     "y = " ML "CategoryMapper <cats_int64s = [1, 2], cats_strings = [\"a\"]> (x)", NULL,
     "cats_strings 1"},
    {20, 1, "int64[N,2] a, int64[N,K] b", "y = " ML "FeatureVectorizer (a, b)", "float[N,K + 2]",
     NULL},
    {20, 1, "int64[N,2] a, int64[N,K] b",
     "y = " ML "FeatureVectorizer <inputdimensions = [2, 5]> (a, b)", "float[N,7]", NULL},
    {20, 1, "int64[N,2] a, int64[N,K] b",
     "y = " ML "FeatureVectorizer <inputdimensions = [2]> (a, b)", NULL, "there are 2 inputs"},
    {20, 1, "int64[3,2] a, int64[4,2] b", "y = " ML "FeatureVectorizer (a, b)", NULL,
     "number of rows is 3 and 4"},
    {20, 1, "int64[N,4] x", "y = " ML "OneHotEncoder <cats_int64s = [3, 5, 7]> (x)", "float[N,4,3]",
     NULL},
    {20, 1, "int64[N,4] x", "y = " ML "OneHotEncoder (x)", NULL, "no categories"},
    {20, 1, "int64[N,4] x",
     "y = " ML "OneHotEncoder <cats_int64s = [3], cats_strings = [\"a\"]> (x)", NULL,
     "exclude each other"},
    {20, 1, "string[N,4] x", "y = " ML "LabelEncoder (x)", "int64[N,4]", NULL},
    {20, 2, "string[N,4] x",
     "y = " ML "LabelEncoder <keys_strings = [\"a\"], values_floats = [1.5]> (x)", "float[N,4]",
     NULL},
    {20, 4, "int16[N,4] x",
     "y = " ML "LabelEncoder <keys_tensor = int16[2] {1, 2}, values_tensor = double[2] {1, 2}> (x)",
     "double[N,4]", NULL},
    {20, 2, "string[N,4] x", "y = " ML "LabelEncoder <keys_strings = [\"a\"]> (x)", NULL,
     "no values"},
    {20, 2, "int64[N,4] x",
     "y = " ML "LabelEncoder <keys_strings = [\"a\"], values_floats = [1.5]> (x)", NULL,
     "are of string, the input of int64"},
    {20, 2, "string[N,4] x",
     "y = " ML "LabelEncoder <keys_strings = [\"a\"], values_floats = [1.5, 2.5]> (x)", NULL,
     "values_floats 2"},
    {20, 4, "int16[N,4] x",
     "y = " ML "LabelEncoder <keys_tensor = int16[1] {1}, values_tensor = double[1] {1}, "
     "default_tensor = float[1] {1}> (x)",
     NULL, "default_tensor is of float"},
    {20, 1, "float[N,2] x", "y = " ML "ZipMap <classlabels_strings = [\"a\", \"b\"]> (x)",
     "seq(map(string, float))", NULL},
    {20, 1, "float[N,3] x", "y = " ML "ZipMap (x)", NULL, "no labels"},
    {20, 1, "float[N,3] x", "y = " ML "ZipMap <classlabels_strings = [\"a\", \"b\"]> (x)", NULL,
     "number of labels and columns is 3 and 2"},
};

#define TREE                                                                                       \
    "n_targets = 2, tree_roots = [0], nodes_featureids = [0], nodes_modes = uint8[1] {0}, "        \
    "nodes_truenodeids = [0], nodes_falsenodeids = [1], nodes_trueleafs = [1], "                   \
    "nodes_falseleafs = [1], leaf_targetids = [0, 1], "

static const line models[] = {
    {20, 1, "float[N,3] x",
     "y, z = " ML "LinearClassifier <coefficients = [1.0, 1.0, 1.0], intercepts = [0.5], "
     "classlabels_ints = [4, 7]> (x)",
     "int64[N] float[N,2]", NULL},
    {20, 1, "float[N,3] x",
     "y, z = " ML "LinearClassifier <coefficients = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "
     "classlabels_strings = [\"a\", \"b\"]> (x)",
     "string[N] float[N,2]", NULL},
    {20, 1, "float[3] x",
     "y, z = " ML "LinearClassifier <coefficients = [1.0, 1.0, 1.0], intercepts = [0.5, 0.5, 0.5]>"
     " (x)",
     "int64[1] float[1,3]", NULL},
    {20, 1, "float[N,3,3] x", "y, z = " ML "LinearClassifier <coefficients = [1.0]> (x)", NULL,
     "3 dimensions"},
    {20, 1, "float[N,3] x",
     "y, z = " ML "LinearClassifier <coefficients = [1.0], classlabels_ints = [1], "
     "classlabels_strings = [\"a\"]> (x)",
     NULL, "strings or integers"},
    {20, 1, "double[N,3] x", "y = " ML "LinearRegressor <targets = 4> (x)", "float[N,4]", NULL},
    {20, 1, "double[N,3] x", "y = " ML "LinearRegressor <targets = 0> (x)", NULL, "targets is 0"},
    {20, 1, "double[N,3] x", "y, z = " ML "SVMClassifier <classlabels_strings = [\"a\"]> (x)",
     "string[N] float[N,?0]", NULL},
    {20, 1, "double[N,3] x", "y = " ML "SVMRegressor (x)", "float[N,1]", NULL},
    {20, 3, "double[N,3] x",
     "y, z = " ML "TreeEnsembleClassifier <classlabels_int64s = [1, 2, 3]> (x)",
     "int64[N] float[N,3]", NULL},
    {20, 3, "double[N,3] x", "y, z = " ML "TreeEnsembleClassifier (x)", NULL, "no labels"},
    {20, 3, "double[3] x", "y, z = " ML "TreeEnsembleClassifier <classlabels_int64s = [1]> (x)",
     NULL, "it needs 2"},
    {20, 3, "double[N,3] x",
     "y = " ML "TreeEnsembleRegressor <base_values = [1.0], base_values_as_tensor = double[1] {1}>"
     " (x)",
     NULL, "exclude each other"},
    {20, 1, "double[N,3] x", "y = " ML "TreeEnsembleRegressor <n_targets = 2> (x)", "float[N,2]",
     NULL},
    {20, 1, "double[N,3] x", "y = " ML "TreeEnsembleRegressor (x)", "float[N,?0]", NULL},
    {20, 5, "double[N,3] x",
     "y = " ML "TreeEnsemble <" TREE
     "nodes_splits = double[1] {1}, leaf_weights = double[2] {1, 2}>"
     " (x)",
     "double[N,2]", NULL},
    {20, 5, "double[N,3] x",
     "y = " ML "TreeEnsemble <" TREE "nodes_splits = float[1] {1}, leaf_weights = double[2] {1, 2}>"
     " (x)",
     NULL, "nodes_splits is of float"},
    {20, 5, "double[N,3] x",
     "y = " ML "TreeEnsemble <" TREE
     "nodes_splits = double[2] {1, 2}, leaf_weights = double[2] {1, 2}> (x)",
     NULL, "it must have 2"},
    {20, 5, "double[N,3] x",
     "y = " ML "TreeEnsemble <" TREE "nodes_splits = double[1] {1}, leaf_weights = double[1] {1}>"
     " (x)",
     NULL, "leaf_targetids has 2"},
};

#define TRAIN "ai.onnx.preview.training."

static const line training[] = {
    {20, 0,
     "float r, int64 t, float[A] x, float[B] y, float[A] g, float[B] f, float[A] h, float[B] i",
     "a, b, c, d = " TRAIN "Adagrad (r, t, x, y, g, f, h, i)",
     "float[A] float[B] float[A] float[B]", NULL},
    {20, 0, "float r, int64 t, double[A] x, double[A] g, double[A] v, double[A] h",
     "a, b, c = " TRAIN "Adam (r, t, x, g, v, h)", "double[A] double[A] double[A]", NULL},
    {20, 0, "float r, int64 t, double[A] x, double[A] g, double[A] v, double[A] h",
     "a, b = " TRAIN "Adam (r, t, x, g, v, h)", NULL, "have 3 outputs, not 2"},
    {20, 0, "float r, int64 t, float[A] x, float[A] g", "a, b = " TRAIN "Momentum (r, t, x, g)",
     NULL, "2 inputs after R and T"},
    {20, 0, "float[A] x, float[B] z",
     "a = " TRAIN "Gradient <xs = [\"x\"], zs = [\"z\"], y = \"y\">"
     " (x, z)",
     "float[A]", NULL},
    {20, 0, "float[A] x, float[B] z", "a = " TRAIN "Gradient <xs = [\"x\"], y = \"y\"> (x, z)",
     NULL, "name 1 values; there are 2 inputs"},
};

TEST(machine_learning) {
    HOLD(features);
    HOLD(models);
    HOLD(training);
}

/* ── com.microsoft ───────────────────────────────────────────────────────────────────────────── */

#define MS "com.microsoft."

static const line ms_attention[] = {
    {17, 0, "float[B,S,16] x, float[16,48] w, float[48] b, float[2,B,4,P,4] p",
     "y, z = " MS "Attention <num_heads = 4> (x, w, b, , p)", "float[B,S,16] float[2,B,4,S + P,4]",
     NULL},
    {17, 0, "float[B,S,16] x, float[16,40] w",
     "y = " MS "Attention <num_heads = 4, qkv_hidden_sizes = [16, 16, 8]> (x, w)", "float[B,S,8]",
     NULL},
    {17, 0, "float[B,S,16] x, float[16,40] w",
     "y = " MS "Attention <num_heads = 4, qkv_hidden_sizes = [16, 16]> (x, w)", NULL, "needs 3"},
    {17, 0, "float[B,S,16] x, float[16,40] w", "y = " MS "Attention <num_heads = 4> (x, w)", NULL,
     "three equal parts"},
    {17, 0, "float[B,S,16] x, float[15,48] w", "y = " MS "Attention <num_heads = 4> (x, w)", NULL,
     "hidden size of the input is 16 and 15"},
    {17, 0, "float[B,S,16] q, float[B,T,16] k, float[B,T,24] v",
     "y, a, b = " MS "MultiHeadAttention <num_heads = 4> (q, k, v)",
     "float[B,S,24] float[B,4,T,4] float[B,4,T,6]", NULL},
    {17, 0, "float[B,S,16] q, float[B,S,16] k, float[B,S,16] v, float[B,4,P,4] p, float[B,4,P,4] r",
     "y, a, b = " MS "MultiHeadAttention <num_heads = 4> (q, k, v, , , , p, r)",
     "float[B,S,16] float[B,4,S + P,4] float[B,4,S + P,4]", NULL},
    {17, 0, "float[B,S,4,3,8] q", "y = " MS "MultiHeadAttention <num_heads = 4> (q)",
     "float[B,S,32]", NULL},
    {17, 0, "float[B,S,16] q, float[B,4,T,4] k, float[B,4,T,5] v",
     "y = " MS "MultiHeadAttention <num_heads = 4> (q, k, v)", "float[B,S,20]", NULL},
    {17, 0, "float[B,S,16] q", "y = " MS "MultiHeadAttention <num_heads = 0> (q)", NULL,
     "num_heads is 0"},
    {17, 0,
     "float16[B,S,32] q, float16[B,S,16] k, float16[B,S,16] v, float16[B,2,P,8] p, "
     "float16[B,2,P,8] r, int32[B] l, float16[M,T] mask",
     "d = Shape<start = 1> (mask)\n t = Cast<to = 6> (d)\n"
     "y, a, b = " MS "GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, p, r, l, t)",
     "float16[B,S,32] float16[B,2,max(P, T),8] float16[B,2,max(P, T),8]", NULL},
    {17, 0, "float[B,S,64] q, int32[B] l, int32 t",
     "y, a, b = " MS "GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, , , , , l, t)",
     "float[B,S,32] float[B,2,S,8] float[B,2,S,8]", NULL},
    {17, 0, "float[2,S,64] q, int32[B,1] l, int32 t",
     "y = " MS "GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, , , , , l, t)",
     "float[2,S,32]", NULL},
    {17, 0, "float[2,S,64] q, int32[3] l, int32 t",
     "y = " MS "GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, , , , , l, t)", NULL,
     "batch size is 2 and 3"},
    {17, 0, "float[B,S,64] q, float[B,S,64] k, int32[B] l, int32 t",
     "y = " MS "GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, , , , l, t)", NULL,
     "go together"},
    {17, 0, "float[B,S,64] q, int32[B] l, int32 t",
     "y = " MS "GroupQueryAttention <num_heads = 4, kv_num_heads = 3> (q, , , , , l, t)", NULL,
     "4 query heads cannot share 3"},
    {17, 0, "float[B,S,16] x, int64[B,S] p, float[M,2] c, float[M,2] s",
     "y = " MS "RotaryEmbedding (x, p, c, s)", "float[B,S,16]", NULL},
    {17, 0, "float16[B,S,16] x, float16[B,S,16] k, float16[16] g",
     "y, m, v, z = " MS "SkipLayerNormalization (x, k, g)",
     "float16[B,S,16] float[B,S,1] float[B,S,1] float16[B,S,16]", NULL},
    {17, 0, "float[B,S,16] x, float[B,S,16] k, float[15] g",
     "y = " MS "SkipSimplifiedLayerNormalization (x, k, g)", NULL, "hidden size is 16 and 15"},
    {17, 0,
     "int32[B,S] i, int32[B,S] s, float[V,16] w, float[M,16] p, float[2,16] t, float[16] g, "
     "float[16] b",
     "y, m, z = " MS "EmbedLayerNormalization (i, s, w, p, t, g, b)",
     "float[B,S,16] int32[B] float[B,S,16]", NULL},
    {17, 0, "float16[B,S,16] x, float16[16] b", "y = " MS "FastGelu (x, b)", "float16[B,S,16]",
     NULL},
    {17, 0, "float[B,S,16] x, float[15] b", "y = " MS "BiasGelu (x, b)", NULL, "is 16 and 15"},
    {17, 0, "float[B,S,16] x", "y = " MS "QuickGelu (x)", "float[B,S,16]", NULL},
    {17, 0, "float[B,S,16] x", "y = " MS "Gelu (x)", "float[B,S,16]", NULL},
    {17, 0, "float16[B,S,16] x, float[16] g", "y, v = SimplifiedLayerNormalization (x, g)",
     "float[B,S,16] float[B,S,1]", NULL},
};

static const line ms_rest[] = {
    {17, 0, "float[B,H,4,S] a, float[B,H,T,4] b",
     "y = " MS "FusedMatMul <transA = 1, transB = 1> (a, b)", "float[B,H,S,T]", NULL},
    {17, 0, "float[S,B,H,4] a, float[B,H,4,T] b", "y = " MS "FusedMatMul <transBatchA = 1> (a, b)",
     "float[B,H,S,T]", NULL},
    {17, 0, "float[M,4] a, float[N,4] b, float[N] c",
     "y = " MS "FusedGemm <transB = 1, activation = \"Relu\"> (a, b, c)", "float[M,N]", NULL},
    {17, 0, "float[M,4] a, float[5,N] b", "y = " MS "FusedGemm (a, b)", NULL, "as many columns"},
    {17, 0, "float[N,3,H,8] x, float[4,3,3,3] w",
     "y = " MS "FusedConv <pads = [1, 1, 1, 1], strides = [1, 2], activation = \"Relu\"> (x, w)",
     "float[N,4,H,4]", NULL},
    {17, 0, "float[B,M,4] a, uint8[4,N] b, float s", "y = " MS "DynamicQuantizeMatMul (a, b, s)",
     "float[B,M,N]", NULL},
    {17, 0, "int8[B,M,4] a, uint8[4,N] b, float16 s, float16 t",
     "y = " MS "MatMulIntegerToFloat (a, b, s, t)", "float16[B,M,N]", NULL},
    {17, 0, "uint8[M,4] a, float s, uint8 z, int8[4,N] b, float t, int8 y0",
     "y = " MS "QGemm (a, s, z, b, t, y0)", "float[M,N]", NULL},
    {17, 0, "uint8[M,4] a, float s, uint8 z, int8[4,N] b, float t, int8 y0, float u, uint8 w",
     "y = " MS "QGemm (a, s, z, b, t, y0, , u, w)", "uint8[M,N]", NULL},
    {17, 0, "float16[B,S,4096] a, uint8[100,128,16] b, float16[100,128] s",
     "y = " MS "MatMulNBits <K = 4096, N = 100, bits = 4, block_size = 32> (a, b, s)",
     "float16[B,S,100]", NULL},
    {17, 0, "float16[B,S,4095] a, uint8[100,128,16] b, float16[100,128] s",
     "y = " MS "MatMulNBits <K = 4096, N = 100, bits = 4, block_size = 32> (a, b, s)", NULL,
     "rows of 4095"},
    {17, 0, "float16[B,S,4096] a, uint8[100,127,16] b, float16[100,128] s",
     "y = " MS "MatMulNBits <K = 4096, N = 100, bits = 4, block_size = 32> (a, b, s)", NULL,
     "100 rows of 128 blocks"},
    {17, 0, "float16[B,S,4096] a, uint8[100,128,16] b, float16[100,128] s",
     "y = " MS "MatMulNBits <K = 4096, N = 100, bits = 4, block_size = 24> (a, b, s)", NULL,
     "power of two"},
    {17, 0, "uint8[B,5,4] a, float s, uint8 z, uint8[5,1] b",
     "y = " MS "QLinearAdd (a, s, z, b, s, z, s, z)", "uint8[B,5,4]", NULL},
    {17, 0, "uint8[B,5,4] a, float s, uint8 z, uint8[3,1] b",
     "y = " MS "QLinearMul (a, s, z, b, s, z, s, z)", NULL, "do not broadcast"},
    {17, 0, "uint8[B,K] a, float s, uint8 z, uint8[B,3] b",
     "y = " MS "QLinearConcat <axis = -1> (s, z, a, s, z, b, s, z)", "uint8[B,K + 3]", NULL},
    {17, 0, "uint8[2,K] a, float s, uint8 z, uint8[4,3] b",
     "y = " MS "QLinearConcat <axis = 1> (s, z, a, s, z, b, s, z)", NULL, "is 2 and 4"},
    {17, 0, "uint8[2,K] a, float s, uint8 z", "y = " MS "QLinearConcat <axis = 1> (s, z, a, s)",
     NULL, "3 for each tensor"},
    {17, 0, "uint8[2,K] a, float s, uint8 z", "y = " MS "QLinearSigmoid (a, s, z, s, z)",
     "uint8[2,K]", NULL},
    {17, 0, "uint8[N,3,9,W] a, float s, uint8 z",
     "y = " MS "QLinearAveragePool <kernel_shape = [3, 3], strides = [2, 1]> (a, s, z, s, z)",
     "uint8[N,3,4,W - 2]", NULL},
    {17, 0, "uint8[N,9,W,3] a, float s, uint8 z",
     "y = " MS "QLinearAveragePool <kernel_shape = [3, 3], strides = [2, 1], channels_last = 1> "
     "(a, s, z, s, z)",
     "uint8[N,4,W - 2,3]", NULL},
    {17, 0, "uint8[N,9,W,3] a, float s, uint8 z",
     "y = " MS "QLinearGlobalAveragePool <channels_last = 1> (a, s, z, s, z)", "uint8[N,1,1,3]",
     NULL},
    {17, 0, "uint8[V,32] d, int64[B,S] i, float16[V,4] s",
     "y = " MS "GatherBlockQuantized <block_size = 16> (d, i, s)", "float16[B,S,64]", NULL},
    {17, 0, "int4[V,64] d, int64[B,S] i, float[V,4] s",
     "y = " MS "GatherBlockQuantized <block_size = 16> (d, i, s)", "float[B,S,64]", NULL},
    {17, 0, "uint8[V,32] d, int64[B,S] i, float[V,5] s",
     "y = " MS "GatherBlockQuantized <block_size = 16> (d, i, s)", NULL, "it must be 4"},
    {17, 0, "uint8[V,32] d, int64[B,S] i, float[V,4] s",
     "y = " MS "GatherBlockQuantized <block_size = 16, gather_axis = 1> (d, i, s)", NULL,
     "of bytes it must be 0"},
};

TEST(microsoft) {
    HOLD(ms_attention);
    HOLD(ms_rest);
}

/* ── Backend tests ───────────────────────────────────────────────────────────────────────────── */

/* Of these, the size of an output depends on what is in the strings. */
static bool depends_on_data(const char *op) {
    return strcmp(op, "StringSplit") == 0 || strcmp(op, "StringNormalizer") == 0;
}

static bool is_ours(const onx_node *node) {
    static const char *const families[] = {"attention", "ml", "strings", "train"};
    const onx_op *op = onx_op_of(node);
    for (size_t i = 0; op && i < ONX_COUNT(families); i++)
        for (const onx_family *f = onx_op_table; f->name; f++)
            for (const onx_op *row = f->ops; row->name && strcmp(f->name, families[i]) == 0; row++)
                if (row == op) return true;
    return false;
}

/* Is the fact true of this tensor, and all of its sizes known? */
static bool describes(const onx_fact *fact, const onx_tensor *tensor, bool open) {
    if (fact->kind != ONX_TYPE_TENSOR || fact->dtype != onx_tensor_dtype(tensor)) return false;
    if (!fact->ranked || fact->rank != onx_tensor_rank(tensor)) return false;
    for (size_t i = 0; i < fact->rank; i++) {
        int64_t size;
        bool known = onx_sym_is_int(fact->dims[i], &size);
        if (known ? size != onx_tensor_dim(tensor, i) : !open) return false;
    }
    return true;
}

static bool describes_outputs(const onx_facts *facts, const onx_model *model, const char *path,
                              size_t *n) {
    const onx_graph *graph = onx_model_graph(model);
    bool good = true, open = depends_on_data(onx_node_op(onx_graph_node_first(graph)));
    for (size_t i = 0; i < onx_graph_output_count(graph) && good; i++) {
        char file[1024];
        onx_data *data;
        (void)snprintf(file, sizeof file, "%.*stest_data_set_0/output_%zu.pb",
                       (int)(strlen(path) - strlen("model.onnx")), path, i);
        if (onx_data_load(NULL, file, ONX_DATA_TENSOR, &data, NULL)) continue;
        good =
            describes(onx_facts_of(facts, onx_graph_output(graph, i)), onx_data_tensor(data), open);
        onx_data_free(data);
        *n += 1;
    }
    return good;
}

/* The outputs of a model, as inferred without their declared types, against those recorded. */
static bool infers_recorded(const char *path, size_t *n) {
    onx_model *model = NULL;
    onx_facts *facts = NULL;
    if (onx_model_load(NULL, path, NULL, &model, NULL)) return true;
    onx_graph *graph = onx_model_graph(model);
    const onx_node *node = onx_graph_node_first(graph);
    bool good = true;
    if (node && !onx_node_next(node) && is_ours(node)) {
        for (size_t i = 0; i < onx_graph_output_count(graph); i++)
            good = good && !onx_value_set_type(onx_graph_output(graph, i), NULL, NULL);
        good = good && !onx_facts_new(model, NULL, &facts, NULL);
        if (good) good = describes_outputs(facts, model, path, n);
        if (facts) onx_facts_free(facts);
    }
    onx_model_free(model);
    if (!good) fprintf(stderr, "    %s\n", path);
    return good;
}

TEST(recorded) {
    char node[512];
    size_t n = 0;
    if (!test_data()) SKIP("ONX_DATA is not set");
    (void)snprintf(node, sizeof node, "%s/node", test_data());
    test_files files = test_files_find(node, "/model.onnx");
    for (size_t i = 0; i < files.count; i++) CHECK(infers_recorded(files.paths[i], &n));
    test_files_free(&files);
    CHECK(n >= 200);
}

TEST_MAIN(E(attentions) E(texts) E(machine_learning) E(microsoft) E(recorded))
