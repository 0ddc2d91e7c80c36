/* test_ml.c: ai.onnx.ml: what its operators mean, beyond the few backend tests: results as ONNX
 * Runtime 1.30 gives them where ONNX's text leaves it open; refusals; large and hostile trees. */
#include "test.h"

#include "kernel.h"
#include "kernel_case.h"

#include <math.h>

/* ─ One node ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct node_run {
    kernel_case c;
    onx_status status;
    onx_diag diag;
    onx_operand out[2];
} node_run;

/* `values`: initializers in ONNX text, the inputs among them; `node`: with its outputs. */
static node_run run_node(int version, const char *values, const char *node) {
    node_run r = {.diag = ONX_INIT(onx_diag), .status = ONX_USAGE};
    size_t size = strlen(values) + strlen(node) + 200;
    char *text = malloc(size);
    onx_cpu cpu;
    onx_operand *out[2] = {&r.out[0], &r.out[1]};
    if (!text) abort();
    (void)snprintf(text, size,
                   "<ir_version: 10, opset_import: [\"\" : 17, \"ai.onnx.ml\" : %d]>\n"
                   "g () => () <%s>\n{ %s }",
                   version, values, node);
    bool ok = CHECK(kernel_case_text(text, &r.c));
    free(text);
    if (!ok || !CHECK(onx_cpu_init(&cpu, "ref", NULL) == ONX_OK)) return r;
    r.status = onx_eval_node(onx_context_or_default(NULL), &cpu.provider, r.c.node, r.c.n_in,
                             r.c.in, onx_node_output_count(r.c.node), out, NULL, &r.diag);
    return r;
}

static void end_node(node_run *r) {
    for (size_t i = 0; i < 2; i++) onx_eval_clear(onx_context_or_default(NULL), &r->out[i]);
    kernel_case_free(&r->c);
}

static bool same_strings(const onx_operand *a, const onx_operand *b) {
    if (a->dtype != b->dtype || a->count != b->count || a->rank != b->rank) return false;
    for (int64_t i = 0; i < a->count; i++)
        if (!onx_str_eq(a->object->strings[i], b->object->strings[i])) return false;
    return true;
}

static bool is_wanted(const onx_operand *got, const onx_tensor *want) {
    onx_operand wanted = {0};
    bool copied = false;
    onx_context *ctx = onx_context_or_default(NULL);
    if (onx_operand_of_tensor(ctx, want, &wanted, &copied, NULL) != ONX_OK) return false;
    bool same = wanted.dtype == ONX_DTYPE_STRING ? same_strings(got, &wanted)
                                                 : kernel_distance(got, &wanted) <= 2e-5;
    if (copied) onx_eval_clear(ctx, &wanted);
    return same;
}

/* ─ Results ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct example {
    int version;
    const char *values; /* the inputs, and `p`, `q`: what the outputs must be */
    const char *node;
} example;

static void check_examples(const example *examples, size_t n) {
    for (size_t i = 0; i < n; i++) {
        node_run r = run_node(examples[i].version, examples[i].values, examples[i].node);
        const onx_graph *graph = r.c.model ? onx_model_graph(r.c.model) : NULL;
        if (!CHECK(r.status == ONX_OK))
            fprintf(stderr, "    %s\n    %s\n", examples[i].node, r.diag.message);
        for (size_t o = 0; o < 2 && r.status == ONX_OK && graph; o++) {
            const onx_value *want = onx_graph_find(graph, o ? "q" : "p");
            if (want && !CHECK(is_wanted(&r.out[o], onx_value_initializer(want))))
                fprintf(stderr, "    output %zu of %s\n", o, examples[i].node);
        }
        end_node(&r);
    }
}

#define ML "y = ai.onnx.ml."
#define MLS "y, z = ai.onnx.ml."

static const example features[] = {
    {1, "float[2,3] x={1,2,3,4,5,6}, int64[1,2] i={2,0}, float[2,2] p={3,1,6,4}",
     ML "ArrayFeatureExtractor(x, i)"},
    {1, "int64[3] x={7,8,9}, int64[2] i={1,1}, int64[1,2] p={8,8}",
     ML "ArrayFeatureExtractor(x, i)"},
    {1, "string[2,2] x={\"a\",\"b\",\"c\",\"d\"}, int64[1] i={1}, string[2,1] p={\"b\",\"d\"}",
     ML "ArrayFeatureExtractor(x, i)"},
    {1, "float[2,3] x={1,2,3,4,5,6}, int64[0] i={}, float[2,0] p={}",
     ML "ArrayFeatureExtractor(x, i)"},
    {1, "float[4] x={1,0.5,-1,nan}, float[4] p={1,0,0,0}", ML "Binarizer<threshold=0.5>(x)"},
    {1, "int64[3] x={9007199254740993,1,-9223372036854775808}, int64[3] p={1,0,0}",
     ML "Binarizer<threshold=9007199254740992.0>(x)"},
    {1, "int64[2] x={-9223372036854775808,9223372036854775807}, int64[2] p={1,1}",
     ML "Binarizer<threshold=-1e30>(x)"},
    {1, "int32[2] x={2147483647,-5}, int32[2] p={0,0}", ML "Binarizer<threshold=nan>(x)"},
    {1, "float[2,2] x={1,2,3,4}, float[2,1] w={5,6}, float[2,4] p={1,2,0,5,3,4,0,6}",
     ML "FeatureVectorizer<inputdimensions=[3,1]>(x, w)"},
    {1, "int64[3] x={1,2,3}, int64[2] w={4,5}, float[1,4] p={1,2,4,5}",
     ML "FeatureVectorizer<inputdimensions=[2,2]>(x, w)"},
    {1, "float[2,3] x={1,nan,3,0,5,6}, float[2,3] p={1,8,3,0,5,6}",
     ML "Imputer<imputed_value_floats=[7.0,8.0,9.0],replaced_value_float=nan>(x)"},
    {1, "int64[1,2] x={9007199254740993,4}, int64[1,2] p={9007199254740993,5}",
     ML "Imputer<imputed_value_int64s=[5],replaced_value_int64=4>(x)"},
    {1, "double[2] x={0,1}, double[2] p={2,1}", ML "Imputer<imputed_value_floats=[2.0]>(x)"},
    {1, "int32[3] x={0,1,0}, int32[3] p={4,1,6}", ML "Imputer<imputed_value_int64s=[4,5,6]>(x)"},
    {1, "float[3,3] x={1,-2,-4,0,0,0,-1,-2,-3}, float[3,3] p={1,-2,-4,0,0,0,1,2,3}",
     ML "Normalizer(x)"},
    {1,
     "float[2,3] x={1,-2,-4,0,0,0},"
     " float[2,3] p={0.14285715,-0.2857143,-0.5714286,0,0,0}",
     ML "Normalizer<norm=\"L1\">(x)"},
    {1, "double[3] x={3e200,0,-4e200}, float[3] p={0.6,0,-0.8}", ML "Normalizer<norm=\"L2\">(x)"},
    {1, "float[2,2] x={1,2,3,4}, float[2,2] p={0,0,4,6}",
     ML "Scaler<offset=[1.0,2.0],scale=[2.0,3.0]>(x)"},
    {1, "int64[2,2] x={1,2,3,4}, float[2,2] p={0.5,1,1.5,2}", ML "Scaler<scale=[0.5]>(x)"},
};

TEST(features) {
    check_examples(features, ONX_COUNT(features));
}

static const example labels[] = {
    {1, "string[3] x={\"a\",\"b\",\"c\"}, int64[3] p={2,1,-1}",
     ML "LabelEncoder<classes_strings=[\"a\",\"b\",\"a\"]>(x)"},
    {1, "int64[3] x={1,0,7}, string[3] p={\"b\",\"a\",\"?\"}",
     ML "LabelEncoder<classes_strings=[\"a\",\"b\"],default_string=\"?\">(x)"},
    {2, "float[4] x={1,nan,-0.0,9}, string[4] p={\"x\",\"n\",\"z\",\"_Unused\"}",
     ML "LabelEncoder<keys_floats=[1.0,nan,0.0],values_strings=[\"x\",\"n\",\"z\"]>(x)"},
    {2, "int64[3] x={5,9007199254740993,9007199254740992}, float[3] p={1.5,2.5,-0.0}",
     ML "LabelEncoder<keys_int64s=[5,9007199254740993],values_floats=[1.5,2.5]>(x)"},
    {4, "int16[3] x={1,2,3}, double[3] p={0.5,-0.0,0.25}",
     ML "LabelEncoder<keys_tensor=int16[3] {1,3,3},values_tensor=double[3] {0.5,7.0,0.25}>(x)"},
    {4, "double[3] x={1.5,nan,2}, int32[3] p={7,8,-1}",
     ML "LabelEncoder<keys_tensor=double[2] {1.5,nan},values_tensor=int32[2] {7,8}>(x)"},
    {4, "int32[2,1] x={1,2}, string[2,1] p={\"u\",\"d\"}",
     ML "LabelEncoder<keys_tensor=int32[1] {1},values_strings=[\"u\"],"
        "default_tensor=string[1] {\"d\"}>(x)"},
    {1, "string[2,2] x={\"a\",\"b\",\"\",\"a\"}, int64[2,2] p={3,2,-7,3}",
     ML "CategoryMapper<cats_strings=[\"a\",\"b\",\"a\"],cats_int64s=[1,2,3],"
        "default_int64=-7>(x)"},
    {1, "int64[2] x={3,1}, string[2] p={\"c\",\"_Unused\"}",
     ML "CategoryMapper<cats_strings=[\"a\",\"c\"],cats_int64s=[2,3]>(x)"},
    {1, "float[4] x={1,2.7,nan,1e30}, float[4,3] p={0,0,1,0,1,0,0,0,0,0,0,0}",
     ML "OneHotEncoder<cats_int64s=[1,2,1]>(x)"},
    {1, "string[1,2] x={\"b\",\"a\"}, float[1,2,2] p={0,0,1,0}",
     ML "OneHotEncoder<cats_strings=[\"a\",\"c\"]>(x)"},
    {1, "int32[2] x={-1,4}, float[2,2] p={1,0,0,1}",
     ML "OneHotEncoder<cats_int64s=[-1,4],zeros=0>(x)"},
};

TEST(labels) {
    check_examples(labels, ONX_COUNT(labels));
}

#define X4 "float[4,1] x={1,-1,0.3,0}, "
#define ONE_FOR_TWO                                                                                \
    MLS "LinearClassifier<coefficients=[0.5],intercepts=[0.1],classlabels_ints=[10,20]"
#define THREE MLS "LinearClassifier<coefficients=[0.5,0.2,0.1],intercepts=[0.1,0.0,0.3]"
#define XS "float[4,2] x={1,0.5,-1,2,0.3,0,0,0}, "
#define SVS "support_vectors=[1.0,2.0,-1.0,1.0,0.5,0.5],kernel_params=[0.5,0.1,2.0]"
#define TWO_SV                                                                                     \
    MLS "SVMClassifier<coefficients=[0.5,-0.7,0.3],vectors_per_class=[1,2],rho=[0.1],"             \
        "classlabels_ints=[10,20],kernel_type=\"RBF\"," SVS
#define THREE_SV                                                                                   \
    MLS "SVMClassifier<coefficients=[0.5,-0.7,0.3,0.1,0.2,-0.4],vectors_per_class=[1,1,1],"        \
        "rho=[0.1,0.2,0.3],kernel_type=\"RBF\"," SVS

static const example linear[] = {
    {1, X4 "int64[4] p={20,10,20,20}, float[4,2] q={0.4,0.6,1.4,-0.4,0.75,0.25,0.9,0.1}",
     ONE_FOR_TWO ">(x)"},
    {1,
     X4 "float[4,2] q={0.3543437,0.6456563,0.5986876,0.4013124,0.4378235,0.5621765,0.4750208,"
        "0.5249792}",
     ONE_FOR_TWO ",post_transform=\"LOGISTIC\">(x)"},
    {1, X4 "float[4,2] q={0.4,0.6,1.4,-0.4,0.75,0.25,0.9,0.1}",
     ONE_FOR_TWO ",post_transform=\"SOFTMAX\">(x)"},
    {1, X4 "int64[4] p={1,0,1,1}, float[4,1] q={0.6,-0.4,0.25,0.1}",
     MLS "LinearClassifier<coefficients=[0.5],intercepts=[0.1]>(x)"},
    {1,
     X4 "int64[4] p={1,3,3,3}, float[4,3] q={0.4017596,0.2693075,0.3289329,0.2473092,0.3020641,"
        "0.4506267,0.3436135,0.2841544,0.3722321,0.3198731,0.2894331,0.3906938}",
     THREE ",classlabels_ints=[1,2,3],post_transform=\"SOFTMAX\">(x)"},
    {1,
     X4 "string[4] p={\"a\",\"c\",\"c\",\"c\"}, float[4,3] q={0.4017596,0.2693075,0.3289329,"
        "0.2473092,0.3020641,0.4506267,0.3436135,0.2841544,0.3722321,0.450166,0,0.549834}",
     THREE ",classlabels_strings=[\"a\",\"b\",\"c\"],post_transform=\"SOFTMAX_ZERO\">(x)"},
    {1, "int64[1,2] x={2,3}, int64[1] p={1}, float[1,2] q={2,9}",
     MLS "LinearClassifier<coefficients=[1.0,0.0,0.0,3.0]>(x)"},
    {1, "double[2] x={1,2}, float[1,2] p={0.5249792,0.5}",
     ML "LinearRegressor<coefficients=[0.1,0.0,0.0,0.0],intercepts=[0.0,0.0],targets=2,"
        "post_transform=\"LOGISTIC\">(x)"},
    {1, X4 "float[4,2] p={0.25335,0,nan,-1.28171,-0.67457,-0.35847,-1.28171,-0.52445}",
     ML "LinearRegressor<coefficients=[0.5,0.2],intercepts=[0.1,0.3],targets=2,"
        "post_transform=\"PROBIT\">(x)"},
    {1, X4 "float[4,1] p={1.0245714,0.1754439,0.6563745,0.498}",
     ML "SVMRegressor<coefficients=[0.5,0.7],support_vectors=[1.0,2.0],n_supports=2,rho=[0.1],"
        "kernel_params=[0.5,0.1,3.0],kernel_type=\"RBF\">(x)"},
    {1, X4 "float[4,1] p={1,1,1,1}",
     ML "SVMRegressor<coefficients=[0.5,0.7],support_vectors=[1.0,2.0],n_supports=2,rho=[0.1],"
        "kernel_params=[0.5,0.1,3.0],kernel_type=\"RBF\",one_class=1>(x)"},
    {1, XS "float[4,1] p={0.7,0,0.25,0.1}", ML "SVMRegressor<coefficients=[0.5,0.2],rho=[0.1]>(x)"},
    {1, XS "float[4,1] p={0.5002495,0.5608343,0.2224593,0.149834}",
     ML "SVMRegressor<coefficients=[0.5],support_vectors=[1.0,2.0],n_supports=1,rho=[0.1],"
        "kernel_type=\"SIGMOID\",kernel_params=[0.5,0.1,2.0]>(x)"},
    {1,
     XS "int64[4] p={10,20,10,10}, float[4,2] q={-0.44347,0.44347,0.22528,-0.22528,-0.23009,"
        "0.23009,-0.11717,0.11717}",
     TWO_SV ">(x)"},
    {1, XS "float[4,2] q={0.39091,0.60909,0.55608,0.44392,0.44273,0.55727,0.47074,0.52926}",
     TWO_SV ",post_transform=\"LOGISTIC\">(x)"},
    {1, XS "float[4,2] q={0.55653,0.44347,1.22528,-0.22528,0.76991,0.23009,0.88283,0.11717}",
     TWO_SV ",post_transform=\"SOFTMAX\">(x)"},
    {1,
     XS "int64[4] p={10,20,10,10}, float[4,2] q={0.56048,0.43952,0.39418,0.60582,0.50752,"
        "0.49248,0.4793,0.5207}",
     TWO_SV ",prob_a=[-1.0],prob_b=[0.2]>(x)"},
    {1,
     XS "string[4] p={\"a\",\"b\",\"b\",\"b\"}, float[4,3] q={0.17872,0.49721,-0.02911,-0.2569,"
        "0.24515,0.37915,-0.02941,0.4701,0.0061,-0.11647,0.44185,0.06206}",
     THREE_SV ",classlabels_strings=[\"a\",\"b\",\"c\"]>(x)"},
    {1,
     XS "int64[4] p={5,6,6,6}, float[4,3] q={0.34499,0.33725,0.31776,0.28429,0.3961,0.31961,"
        "0.32164,0.35895,0.31942,0.31,0.37019,0.31982}",
     THREE_SV ",classlabels_ints=[5,6,7],prob_a=[-1.0,-0.5,-0.3],prob_b=[0.2,0.1,0.0]>(x)"},
    {1, XS "int64[4] p={20,20,20,20}, float[4,2] q={0.25,0.45,-1.8,0,0.25,0.19,0.1,0.1}",
     MLS "SVMClassifier<coefficients=[0.5,-0.7,0.3,0.1],rho=[0.1],classlabels_ints=[10,20]>(x)"},
    {1,
     XS "int64[4] p={20,30,10,10}, float[4,3] q={0.25,0.45,0.3,-1.8,0,0.4,0.25,0.19,0.13,0.1,0.1,"
        "0.1}",
     MLS "SVMClassifier<coefficients=[0.5,-0.7,0.3,0.1,0.1,0.2],rho=[0.1,0.2,0.3],"
         "classlabels_ints=[10,20,30]>(x)"},
};

TEST(linear) {
    check_examples(linear, ONX_COUNT(linear));
}

/* x <= 0: leaf 1, else leaf 2. */
#define STUMP                                                                                      \
    "nodes_treeids=[0,0,0],nodes_nodeids=[0,1,2],nodes_featureids=[0,0,0],"                        \
    "nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"],nodes_values=[0.0,0.0,0.0],"                   \
    "nodes_truenodeids=[1,0,0],nodes_falsenodeids=[2,0,0],"
#define CLASSES(ids, weights)                                                                      \
    MLS "TreeEnsembleClassifier<" STUMP "class_treeids=[0,0],class_nodeids=[1,2],class_ids=" ids   \
        ",class_weights=" weights ",classlabels_int64s=[10,20]"
#define BOTH                                                                                       \
    MLS "TreeEnsembleClassifier<" STUMP "class_treeids=[0,0,0,0],class_nodeids=[1,1,2,2],"         \
        "class_ids=[0,1,0,1],class_weights=[0.3,0.1,0.2,0.9]"
#define X2 "float[2,1] x={1,-1}, "
/* Two stumps on two features. */
#define STUMPS                                                                                     \
    "nodes_treeids=[7,7,7,3,3,3],nodes_nodeids=[4,1,2,0,1,2],nodes_featureids=[0,0,0,1,0,0],"      \
    "nodes_modes=[\"BRANCH_LT\",\"LEAF\",\"LEAF\",\"BRANCH_GTE\",\"LEAF\",\"LEAF\"],"              \
    "nodes_values=[0.0,0.0,0.0,2.0,0.0,0.0],nodes_truenodeids=[1,0,0,1,0,0],"                      \
    "nodes_falsenodeids=[2,0,0,2,0,0],"
#define TARGETS                                                                                    \
    "target_treeids=[7,7,3,3],target_nodeids=[1,2,1,2],target_ids=[0,0,0,0],"                      \
    "target_weights=[1.0,2.0,10.0,20.0]"
#define X22 "float[3,2] x={-1,5,1,5,1,nan}, "

static const example trees[] = {
    {3, X2 "int64[2] p={20,10}, float[2,2] q={0.2,0.8,0.7,0.3}",
     CLASSES("[0,0]", "[0.3,0.8]") ">(x)"},
    {1, X2 "int64[2] p={20,10}, float[2,2] q={0.1,0.9,0.6,0.4}",
     CLASSES("[0,0]", "[0.3,0.8]") ",base_values=[0.1]>(x)"},
    {3, X2 "int64[2] p={20,10}, float[2,2] q={0.31002,0.68997,0.42556,0.57444}",
     CLASSES("[0,0]", "[0.3,0.8]") ",post_transform=\"LOGISTIC\">(x)"},
    {5, X2 "int64[2] p={20,10}, float[2,2] q={-0.8,0.8,0.3,-0.3}",
     CLASSES("[0,0]", "[-0.3,0.8]") ",post_transform=\"SOFTMAX\">(x)"},
    {3, X2 "int64[2] p={20,10}, float[2,2] q={0,0.8,0,0.3}", CLASSES("[1,1]", "[0.3,0.8]") ">(x)"},
    {3, X2 "int64[2] p={20,10}, float[2,2] q={0.2,0.9,0.3,0.1}",
     BOTH ",classlabels_int64s=[10,20]>(x)"},
    {3,
     X2 "string[2] p={\"b\",\"a\"}, float[2,3] q={0.2858717,0.6362192,0.0779091,"
        "0.4648062,0.420574,0.1146198}",
     BOTH ",classlabels_strings=[\"a\",\"b\",\"c\"],post_transform=\"SOFTMAX\","
          "base_values=[0.1,0.2,-1.0]>(x)"},
    {3, "int64[2,1] x={1,-1}, int64[2] p={1,0}, float[2,1] q={0.8,-0.3}",
     MLS "TreeEnsembleClassifier<" STUMP "class_treeids=[0,0],class_nodeids=[1,2],class_ids=[0,0],"
         "class_weights=[-0.3,0.8],classlabels_int64s=[1]>(x)"},
    {3, X22 "float[3,1] p={11,12,22}",
     ML "TreeEnsembleRegressor<" STUMPS TARGETS ",n_targets=1>(x)"},
    {3, X22 "float[3,1] p={11,12,12}",
     ML "TreeEnsembleRegressor<" STUMPS TARGETS
        ",n_targets=1,nodes_missing_value_tracks_true=[0,0,0,1,0,0]>(x)"},
    {1, X22 "float[3,1] p={6,6.5,11.5}",
     ML "TreeEnsembleRegressor<" STUMPS TARGETS
        ",n_targets=1,aggregate_function=\"AVERAGE\",base_values=[0.5]>(x)"},
    {3, X22 "float[3,1] p={1,2,2}",
     ML "TreeEnsembleRegressor<" STUMPS TARGETS ",n_targets=1,aggregate_function=\"MIN\">(x)"},
    {3, X22 "float[3,2] p={10,5,10,5,20,5}",
     ML "TreeEnsembleRegressor<" STUMPS TARGETS
        ",n_targets=2,aggregate_function=\"MAX\",base_values=[0.0,5.0]>(x)"},
    {3, "double[2,1] x={1.0000000001,1}, float[2,1] p={2,1}",
     ML "TreeEnsembleRegressor<nodes_treeids=[0,0,0],nodes_nodeids=[0,1,2],"
        "nodes_featureids=[0,0,0],nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"],"
        "nodes_values_as_tensor=double[3] {1.00000000005,0.0,0.0},nodes_truenodeids=[1,0,0],"
        "nodes_falsenodeids=[2,0,0],target_treeids=[0,0],target_nodeids=[1,2],target_ids=[0,0],"
        "target_weights_as_tensor=double[2] {1.0,2.0},n_targets=1>(x)"},
    {5, "float16[3,1] x={16896,17408,32256}, float16[3,2] p={14336,0,0,13312,14336,0}",
     ML "TreeEnsemble<nodes_splits=float16[1] {0},nodes_featureids=[0],"
        "nodes_modes=uint8[1] {6},nodes_truenodeids=[1],nodes_falsenodeids=[0],"
        "nodes_trueleafs=[1],nodes_falseleafs=[1],leaf_targetids=[1,0],"
        "leaf_weights=float16[2] {13312,14336},tree_roots=[0],n_targets=2,"
        "nodes_missing_value_tracks_true=[1],membership_values=float16[4] "
        "{18176,16896,48128,32256}>(x)"},
    {5, "double[1,1] x={0}, double[1,2] p={0.7310585786300049,0.2689414213699951}",
     ML "TreeEnsemble<nodes_splits=double[1] {0.0},nodes_featureids=[0],"
        "nodes_modes=uint8[1] {5},nodes_truenodeids=[1],nodes_falsenodeids=[0],"
        "nodes_trueleafs=[1],nodes_falseleafs=[1],leaf_targetids=[0,1],"
        "leaf_weights=double[2] {1.0,0.5},tree_roots=[0],n_targets=2,post_transform=1>(x)"},
};

TEST(trees) {
    check_examples(trees, ONX_COUNT(trees));
}

/* ─ Refusals ─────────────────────────────────────────────────────────────────────────────────── */

#define X12 "float[1,2] x={1,2}"
#define ENSEMBLE(splits, features, modes, yes, no, leaf)                                           \
    ML "TreeEnsemble<nodes_splits=float[1] {" splits "},nodes_featureids=[" features               \
       "],nodes_modes=uint8[1] {" modes "},nodes_truenodeids=[" yes "],nodes_falsenodeids=[" no    \
       "],nodes_trueleafs=[" leaf "],nodes_falseleafs=[1],leaf_targetids=[0],"                     \
       "leaf_weights=float[1] {0.25},"

static const struct {
    int version;
    const char *values, *node, *words;
} refusals[] = {
    {1, "float[2] x={1,2}, int64[1] i={2}", ML "ArrayFeatureExtractor(x, i)", "index 2"},
    {1, "float[2] x={1,2}, int64[1] i={-1}", ML "ArrayFeatureExtractor(x, i)", "index -1"},
    {1, "float[2] x={1,2}, int64[1] i={-9223372036854775808}", ML "ArrayFeatureExtractor(x, i)",
     "not a column"},
    {1, "float x={1}, int64[1] i={0}", ML "ArrayFeatureExtractor(x, i)", "scalar"},
    {1, X12, ML "FeatureVectorizer<inputdimensions=[1,1]>(x)", "1 inputs"},
    {1, X12, ML "FeatureVectorizer<inputdimensions=[-1]>(x)", "-1"},
    {1, X12, ML "FeatureVectorizer<inputdimensions=[9223372036854775807]>(x)", "too"},
    {1, X12 ", float[2,1] w={1,2}", ML "FeatureVectorizer<inputdimensions=[1,1]>(x, w)", "rows"},
    {1, X12, ML "Imputer<imputed_value_int64s=[1]>(x)", "imputed_value_floats"},
    {1, X12, ML "Imputer<imputed_value_floats=[1.0,2.0,3.0]>(x)", "3 elements"},
    {1, X12, ML "Scaler<offset=[1.0,2.0,3.0]>(x)", "offset"},
    {1, X12, ML "Normalizer<norm=\"L3\">(x)", "L3"},
    {1, "float[1,1,1] x={1}", ML "Normalizer(x)", "3 dimensions"},
    {1, X12, ML "OneHotEncoder<zeros=0,cats_int64s=[1]>(x)", "no category"},
    {1, X12, ML "OneHotEncoder(x)", "no categories"},
    {1, X12, ML "OneHotEncoder<cats_strings=[\"a\"]>(x)", "keys"},
    {2, X12, ML "LabelEncoder<keys_floats=[1.0],values_int64s=[1,2]>(x)", "2 values"},
    {2, X12, ML "LabelEncoder<keys_int64s=[1],values_int64s=[1]>(x)", "keys are of type"},
    {2, X12, ML "LabelEncoder<keys_floats=[1.0]>(x)", "no values"},
    {4, X12,
     ML "LabelEncoder<keys_floats=[1.0],values_int64s=[1],default_tensor=float[1] {1.0}>(x)",
     "default_tensor"},
    {4, X12, ML "LabelEncoder<keys_floats=[1.0],keys_int64s=[1],values_int64s=[1]>(x)", "exclude"},
    {1, "int64[1] x={1}", ML "CategoryMapper<cats_int64s=[1],cats_strings=[\"a\",\"b\"]>(x)",
     "values"},
    {1, X12, ML "LinearRegressor<coefficients=[1.0]>(x)", "coefficients"},
    {1, X12, ML "LinearRegressor<coefficients=[1.0,2.0],targets=0>(x)", "targets is 0"},
    {1, X12, ML "LinearRegressor<coefficients=[1.0,2.0],targets=9223372036854775807>(x)",
     "coefficients"},
    {1, X12, ML "LinearRegressor<coefficients=[1.0,2.0],intercepts=[1.0,2.0]>(x)", "intercepts"},
    {1, X12, ML "LinearRegressor<coefficients=[1.0,2.0],post_transform=\"EXP\">(x)", "EXP"},
    {1, X12, MLS "LinearClassifier<coefficients=[1.0,2.0,3.0]>(x)", "coefficients"},
    {1, X12, MLS "LinearClassifier<coefficients=[1.0,2.0],classlabels_ints=[1,2,3]>(x)", "labels"},
    {1, X12,
     MLS "LinearClassifier<coefficients=[1.0,2.0],classlabels_ints=[1],"
         "classlabels_strings=[\"a\"]>(x)",
     "strings or integers"},
    {1, "float[1,1,2] x={1,2}", MLS "LinearClassifier<coefficients=[1.0,2.0]>(x)", "dimensions"},
    {1, X12, ML "SVMRegressor<coefficients=[1.0],n_supports=1,support_vectors=[1.0]>(x)",
     "2 columns"},
    {1, X12, ML "SVMRegressor<coefficients=[1.0],n_supports=-1>(x)", "-1"},
    {1, X12, ML "SVMRegressor<coefficients=[1.0],n_supports=4611686018427387904>(x)",
     "coefficients"},
    {1, X12, ML "SVMRegressor<coefficients=[1.0,2.0],kernel_type=\"COSINE\">(x)", "COSINE"},
    {1, X12, ML "SVMRegressor<coefficients=[1.0,2.0],kernel_params=[1.0]>(x)", "kernel_params"},
    {1, X12, MLS "SVMClassifier<vectors_per_class=[-1,2]>(x)", "-1"},
    {1, X12, MLS "SVMClassifier<vectors_per_class=[9223372036854775807,9223372036854775807]>(x)",
     "vectors_per_class"},
    {1, X12,
     MLS "SVMClassifier<vectors_per_class=[1,1],coefficients=[1.0,2.0],"
         "support_vectors=[1.0,2.0,3.0,4.0]>(x)",
     "rho has 0"},
    {1, X12,
     MLS "SVMClassifier<vectors_per_class=[1,1],coefficients=[1.0,2.0],rho=[1.0],prob_a=[1.0],"
         "support_vectors=[1.0,2.0,3.0,4.0]>(x)",
     "prob_b 0"},
    {1, X12,
     MLS "SVMClassifier<vectors_per_class=[1,1],coefficients=[1.0],rho=[1.0],"
         "support_vectors=[1.0,2.0,3.0,4.0]>(x)",
     "coefficients"},
    {3, X12, ML "TreeEnsembleRegressor<" STUMP TARGETS ",n_targets=1>(x)", "tree 7"},
    {3, "float[2,0] x={}", ML "TreeEnsembleRegressor<" STUMPS TARGETS ",n_targets=1>(x)",
     "feature"},
    {3, X12, ML "TreeEnsembleRegressor<" STUMPS TARGETS ",n_targets=-5>(x)", "n_targets is -5"},
    {3, X12, ML "TreeEnsembleRegressor<" STUMPS TARGETS ",n_targets=3,base_values=[1.0]>(x)",
     "base_values"},
    {3, X12,
     ML "TreeEnsembleRegressor<" STUMPS TARGETS ",n_targets=1,aggregate_function=\"MEDIAN\">(x)",
     "MEDIAN"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0,0],nodes_nodeids=[1,1],nodes_featureids=[0,0],"
        "nodes_modes=[\"LEAF\",\"LEAF\"],nodes_values=[0.0,0.0],nodes_truenodeids=[0,0],"
        "nodes_falsenodeids=[0,0],n_targets=1>(x)",
     "two nodes 1"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0,0],nodes_nodeids=[0,1],nodes_featureids=[0,0],"
        "nodes_modes=[\"BRANCH_LT\",\"BRANCH_GT\"],nodes_values=[0.0,0.0],"
        "nodes_truenodeids=[1,0],nodes_falsenodeids=[1,0],n_targets=1>(x)",
     "circles"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0],nodes_nodeids=[0],nodes_featureids=[0],"
        "nodes_modes=[\"BRANCH_LT\"],nodes_values=[0.0],nodes_truenodeids=[0],"
        "nodes_falsenodeids=[0],n_targets=1>(x)",
     "circles"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0],nodes_nodeids=[0],nodes_featureids=[-1],"
        "nodes_modes=[\"BRANCH_LT\"],nodes_values=[0.0],nodes_truenodeids=[5],"
        "nodes_falsenodeids=[0],n_targets=1>(x)",
     "feature -1"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0],nodes_nodeids=[0],nodes_featureids=[0],"
        "nodes_modes=[\"BRANCH_LT\"],nodes_values=[0.0],nodes_truenodeids=[5],"
        "nodes_falsenodeids=[0],n_targets=1>(x)",
     "leads to 5"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0],nodes_nodeids=[0],nodes_featureids=[0],"
        "nodes_modes=[\"BRANCH_MEMBER\"],nodes_values=[0.0],nodes_truenodeids=[0],"
        "nodes_falsenodeids=[0],n_targets=1>(x)",
     "BRANCH_MEMBER"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0],nodes_nodeids=[0,1],nodes_featureids=[0],"
        "nodes_modes=[\"LEAF\"],nodes_values=[0.0],nodes_truenodeids=[0],"
        "nodes_falsenodeids=[0],n_targets=1>(x)",
     "nodes_nodeids has 2"},
    {3, X12,
     ML "TreeEnsembleRegressor<nodes_treeids=[0],nodes_nodeids=[0],nodes_featureids=[0],"
        "nodes_modes=[\"LEAF\"],nodes_truenodeids=[0],nodes_falsenodeids=[0],n_targets=1>(x)",
     "nodes_values has 0"},
    {3, "float[1,1] x={1}", CLASSES("[0,2]", "[0.3,0.8]") ">(x)", "class 2"},
    {3, "float[1,1] x={1}", CLASSES("[0,-2]", "[0.3,0.8]") ">(x)", "class -2"},
    {3, "float[1,1] x={1}", CLASSES("[0,1]", "[0.3]") ">(x)", "class_weights"},
    {5, X12, ENSEMBLE("0.0", "0", "7", "0", "0", "1") "tree_roots=[0],n_targets=1>(x)", "mode 7"},
    {5, X12, ENSEMBLE("0.0", "0", "0", "1", "0", "1") "tree_roots=[0],n_targets=1>(x)", "leaf 1"},
    {5, X12, ENSEMBLE("0.0", "0", "0", "0", "0", "0") "tree_roots=[0],n_targets=1>(x)", "circles"},
    {5, X12, ENSEMBLE("0.0", "0", "0", "0", "0", "1") "tree_roots=[1],n_targets=1>(x)",
     "begins with node 1"},
    {5, X12, ENSEMBLE("0.0", "2", "0", "0", "0", "1") "tree_roots=[0],n_targets=1>(x)",
     "feature 2"},
    {5, X12, ENSEMBLE("0.0", "0", "6", "0", "0", "1") "tree_roots=[0],n_targets=1>(x)", "no set"},
    {5, X12,
     ENSEMBLE("0.0", "0", "0", "0", "0",
              "1") "tree_roots=[0],n_targets=1,membership_values=float[1] {1.0}>(x)",
     "more sets"},
    {5, X12,
     ENSEMBLE("0.0", "0", "0", "0", "0", "1") "tree_roots=[0],n_targets=1,"
                                              "post_transform=5>(x)",
     "post_transform 5"},
    {5, X12,
     ENSEMBLE("0.0", "0", "0", "0", "0", "1") "tree_roots=[0],n_targets=1,"
                                              "aggregate_function=-1>(x)",
     "aggregate_function -1"},
};

TEST(refusals) {
    for (size_t i = 0; i < ONX_COUNT(refusals); i++) {
        node_run r = run_node(refusals[i].version, refusals[i].values, refusals[i].node);
        if (!CHECK(r.status != ONX_OK && strstr(r.diag.message, refusals[i].words)))
            fprintf(stderr, "    %s\n    %d: '%s'\n", refusals[i].node, r.status, r.diag.message);
        end_node(&r);
    }
}

/* ─ Large ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct text {
    char *data;
    size_t n, cap;
} text;

static void put(text *t, const char *words) {
    size_t n = strlen(words);
    if (t->n + n >= t->cap) {
        t->cap = 2 * (t->n + n) + 1;
        t->data = realloc(t->data, t->cap);
        if (!t->data) abort();
    }
    memcpy(t->data + t->n, words, n + 1);
    t->n += n;
}

/* `name`=[v(0),v(1)…] */
static void put_list(text *t, const char *name, int n, int (*value)(int i, int n)) {
    char number[32];
    put(t, name);
    for (int i = 0; i < n; i++) {
        (void)snprintf(number, sizeof number, "%s%d", i ? "," : "=[", value(i, n));
        put(t, number);
    }
    put(t, "],");
}

static int zero(int i, int n) {
    return (void)i, (void)n, 0;
}
static int itself(int i, int n) {
    return (void)n, i;
}
static int next(int i, int n) {
    return i + 1 < n ? i + 1 : 0;
}
static int last(int i, int n) {
    return (void)i, n - 1;
}

/* A chain: every node leads to the next one, and the last one is a leaf, or leads back. */
static void put_chain(text *t, int n, bool ends) {
    put(t, ML "TreeEnsembleRegressor<");
    put_list(t, "nodes_treeids", n, zero);
    put_list(t, "nodes_nodeids", n, itself);
    put_list(t, "nodes_featureids", n, zero);
    put_list(t, "nodes_truenodeids", n, next);
    put_list(t, "nodes_falsenodeids", n, last);
    put(t, "nodes_values=[");
    for (int i = 0; i < n; i++) put(t, i ? ",1.0" : "1.0");
    put(t, "],nodes_modes=[");
    for (int i = 0; i + 1 < n; i++) put(t, "\"BRANCH_LEQ\",");
    put(t, ends ? "\"LEAF\"]," : "\"BRANCH_LEQ\"],");
}

TEST(deep_chain) {
    enum { N = 100000 };
    text t = {0};
    put_chain(&t, N, true);
    put(&t, "target_treeids=[0],target_nodeids=[99999],target_ids=[0],target_weights=[3.5]>(x)");
    node_run r = run_node(3, "float[2,1] x={0,5}, float[2,1] p={3.5,3.5}", t.data);
    if (CHECK(r.status == ONX_OK))
        CHECK(((float *)r.out[0].data)[0] == 3.5f && ((float *)r.out[0].data)[1] == 3.5f);
    end_node(&r);
    t.n = 0;
    put_chain(&t, N, false);
    put(&t, "n_targets=1>(x)");
    r = run_node(3, "float[2,1] x={0,5}", t.data);
    CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "circles"));
    end_node(&r);
    free(t.data);
}

TEST(backend) {
    size_t failed = 0, ran = kernel_backend("ai_onnx_ml_", "", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK_EQ(ran, 8);
}

TEST_MAIN(E(features) E(labels) E(linear) E(trees) E(refusals) E(deep_chain) E(backend))
