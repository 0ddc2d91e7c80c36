/* Every row of every table that this machine can run, without a list of them: each is given the
 * cases of its operator, from the backend tests and from the few below, also in other types and
 * sizes, and must do as the plain row does, wherever its operands lie and whatever is known ahead.
 * A row that no case reaches is a failure, unless it stands in `elsewhere`.
 *
 * With ONX_TIME in the environment, rows are timed instead, beside the plain ones, with the
 * operands that are large enough for several tasks (bench/kernels). */
#include "test.h"

#include "kernel_case.h"
#include "kernel_place.h"

#include "base/thread.h"
#include "rt/engine.h"

#include <dirent.h>
#include <math.h>

/* Operators with tests of their own: those that only the lowering makes, that run subgraphs, and
 * that make sequences and optionals. */
static const struct {
    const char *domain, *op, *where;
} elsewhere[] = {
    {"", "If", "test_control"},
    {"", "Loop", "test_control"},
    {"", "Scan", "test_control"},
    {"", "SequenceEmpty", "test_control"},
    {"", "SequenceConstruct", "test_control"},
    {"", "SequenceInsert", "test_control"},
    {"", "SequenceErase", "test_control"},
    {"", "SequenceAt", "test_control"},
    {"", "SequenceLength", "test_control"},
    {"", "SplitToSequence", "test_control"},
    {"", "ConcatFromSequence", "test_control"},
    {"", "Optional", "test_control"},
    {"ai.onnx.ml", "CastMap", "test_ml_maps"},
    {"ai.onnx.ml", "DictVectorizer", "test_ml_maps"},
    {"ai.onnx.ml", "ZipMap", "test_ml_maps"},
    {"", "Bernoulli", "test_random"},
    {"", "RandomNormal", "test_random"},
    {"", "RandomNormalLike", "test_random"},
    {"", "RandomUniform", "test_random"},
    {"", "RandomUniformLike", "test_random"},
    {"", "Multinomial", "test_random"},
    {"onx.internal", "AddAt", "test_gradient"},
    {"onx.internal", "AveragePoolGrad", "test_gradient"},
    {"onx.internal", "ConvGradW", "test_gradient"},
    {"onx.internal", "ConvGradX", "test_gradient"},
    {"onx.internal", "SumTo", "test_gradient"},
    {"onx.internal", "ConvBlocked", "test_conv"},
    {"onx.internal", "ToBlocked", "test_conv"},
    {"onx.internal", "FromBlocked", "test_conv"},
    {"onx.internal", "Channels", "test_conv"},
    {"onx.internal", "ResizeBlocked", "test_conv"},
    {"onx.internal", "MaxPoolBlocked", "test_conv"},
    {"onx.internal", "AveragePoolBlocked", "test_conv"},
    {"onx.internal", "GlobalAveragePoolBlocked", "test_conv"},
    {"onx.internal", "Attend", "test_attend"},
    {"onx.internal", "LayerNormalization", "test_softmax_norm_reduce"},
    {"onx.internal", "Gemm", "test_matmul"},
    {"onx.internal", "MatMul", "test_matmul"},
    {"onx.internal", "MatMulTile", "test_matmul"},
    {"onx.internal", "RMSNormalization", "test_softmax_norm_reduce"},
    {"onx.internal", "Rotate", "test_attend"},
    {"onx.internal", "QConv", "test_qbytes"},
    {"onx.internal", "QConvInteger", "test_qbytes"},
    {"onx.internal", "QMaxPool", "test_qbytes"},
    {"onx.internal", "QTable", "test_qbytes"},
    {"onx.internal", "Tile", "test_tile"},
};

#define ML "ai.onnx.ml."
#define TREE                                                                                       \
    "nodes_treeids=[0,0,0], nodes_nodeids=[0,1,2], nodes_featureids=[1,0,0], "                     \
    "nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"], nodes_values=[2.5,0.0,0.0], "                 \
    "nodes_truenodeids=[1,0,0], nodes_falsenodeids=[2,0,0]"

/* What the backend tests lack: opset, initializers (they are the inputs), node. */
static const struct {
    int opset;
    const char *inputs, *node;
} own[] = {
    {21,
     "float[1,2,2] x = {0.5,-0.5,1,-0.5}, "
     "float[2,6] w = {2,1,2,1,1,0.5,-1.5,2,0.25,2,-1,1}, "
     "float[6] b = {-1.5,-1,-1.5,-0.5,0.25,2}, int32[1,2] m = {1,0}",
     "com.microsoft.Attention<num_heads=2, unidirectional=1>(x, w, b, m)"},
    {21,
     "int32[1,2] i = {1,0}, float[2,3] w = {-1,0.25,0.5,-1.5,0.5,-1}, "
     "float[2,3] p = {-1.5,1,-1,0.25,-0.5,-1}, float[3] g = {2,2,0.25}, "
     "float[3] b = {-1,2,2}",
     "com.microsoft.EmbedLayerNormalization(i, , w, p, , g, b)"},
    {21,
     "float[2,3] a = {-1.5,-1,0.5,0.5,0.25,-1}, float[2,3] b = {-1,-1.5,2,-1.5,-1,2}, "
     "float[2] c = {-1,-1}",
     "com.microsoft.FusedGemm<transB=1, activation=\"Relu\">(a, b, c)"},
    {21,
     "float[3,2,2] a = {2,-1,-0.5,-0.5,-1,0.5,1,1,-1,-1,1,-1}, "
     "float[1,3,2] b = {0.25,-0.5,-1.5,-0.5,0.25,-1}",
     "com.microsoft.FusedMatMul<alpha=0.5, transA=1, transBatchA=1>(a, b)"},
    {21,
     "float[1,1,4] q = {-1,-0.5,-1.5,-0.5}, float[1,1,2] k = {-0.5,2}, "
     "float[1,1,2] v = {0.5,0.5}, float[1,1,2,2] p = {-1.5,0.5,1,1}, "
     "float[1,1,2,2] o = {-0.5,-1.5,-0.5,-0.5}, int32[1] n = {2}, int32[1] t = {3}, "
     "float[4,1] c = {2,-0.5,0.25,1}, float[4,1] s = {-0.5,-1,0.25,0.25}",
     "com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1, do_rotary=1>(q, k, v, p, o, "
     "n, t, c, s)"},
    {21,
     "float[1,2,4] q = {1,-1,-1.5,-0.5,-1.5,1,-0.5,2}, "
     "float[1,3,4] k = {0.25,-1.5,0.5,2,0.25,-0.5,0.25,0.5,2,-1.5,0.25,-1.5}, "
     "float[1,3,4] v = {1,-1,0.5,-1,-1.5,2,-1,2,0.25,-0.5,0.5,-0.5}, "
     "float[12] b = {0.5,-0.5,2,0.25,-1.5,0.5,1,2,2,-0.5,2,-0.5}, int32[1,3] m = {1,0,1}",
     "com.microsoft.MultiHeadAttention<num_heads=2>(q, k, v, b, m)"},
    {21,
     "float[1,2,4] x = {-1.5,0.25,-1.5,-1,-0.5,0.5,0.5,-0.5}, int64[1] p = {1}, "
     "float[3,2] c = {-1,-0.5,-0.5,1,0.5,-1.5}, float[3,2] s = {-0.5,1,-0.5,-0.5,-1,2}",
     "com.microsoft.RotaryEmbedding<interleaved=1>(x, p, c, s)"},
    {21,
     "float[1,2,3] x = {-1.5,1,-1,1,1,-0.5}, float[2,3] s = {0.25,-1,1,-1.5,-1.5,0.5}, "
     "float[3] g = {0.5,0.25,-1.5}, float[3] b = {-1,1,0.5}",
     "com.microsoft.SkipLayerNormalization(x, s, g, b)"},
    {21,
     "float[1,2,3] x = {-0.5,2,-0.5,0.25,1,0.25}, "
     "float[1,2,3] s = {-1,-1.5,1,-1.5,2,0.25}, float[3] g = {-0.5,2,-1}",
     "com.microsoft.SkipSimplifiedLayerNormalization(x, s, g)"},
    {21, "float[2,3] x = {-1,1,0.5,-1,1,2}, float[3] g = {0.25,-1.5,-1}",
     "SimplifiedLayerNormalization(x, g)"},
    {1, "float[2,2] x = {1,2,3,4}, float t = {2}, float a = {1}", "Tile(x, t, a)"},
    {18, "string[1,2,2] x = {\"a\",\"b\",\"c\",\"d\"}, int64[2] s = {1,4}, int64[2] b = {1,2}",
     "Col2Im<strides=[1,2]>(x, s, b)"},
    {9, "float[2,3] x = {1,2,3,4,5,6}, int64[1,2] i = {0,1}, float[1,2] u = {7,8}",
     "Scatter(x, i, u)"},
    {2, "float[1,2,3,1] x = {1,-2,3,-4,5,-6}", "GlobalLpPool<p=3>(x)"},
    {19, "float[3] x = {1,-2.5,3e20}", "Cast<to=8>(x)"},
    {19, "string[3] x = {\"1\",\"-2.5\",\"3e20\"}", "Cast<to=1>(x)"},
    {19, "float[3] x = {1,-2.5,3e20}, string[1] s = {\"\"}", "CastLike(x, s)"},
    {19, "bool[2] c = {1,0}, string[1] x = {\"a\"}, string[3,1] z = {\"b\",\"\",\"d\"}",
     "Where(c, x, z)"},
    {21, "string[2,1] x = {\"a\",\"b\"}, int64[1] s = {2}", "Reshape(x, s)"},
    {21, "string[2,1] x = {\"a\",\"b\"}", "Flatten(x)"},
    {21, "string[2,1] x = {\"a\",\"b\"}, int64[1] s = {1}", "Squeeze(x, s)"},
    {21, "string[2,1] x = {\"a\",\"b\"}, int64[1] s = {1}", "Unsqueeze(x, s)"},
    {21, "string[2,1] x = {\"a\",\"b\"}", "Shape(x)"},
    {21, "string[2,1] x = {\"a\",\"b\"}", "Size(x)"},
    {28, "string[2,2] x = {\"a\",\"b\",\"c\",\"\"}, int64[2] n = {2,1}", "ReverseSequence(x, n)"},
    {22, "float[2,2,3] x = {1,-2,3,4,-5,6,7,-8,9,10,11,12}", "GlobalLpPool<p=3>(x)"},
    {1, "float[1,2,2,2] x = {1,2,3,4,5,6,7,8}, float[1,5] r = {0,0,0,1,1}",
     "MaxRoiPool<pooled_shape=[2,1]>(x, r)"},
    {10, "float[1,1,2,2] x = {1,2,3,4}, float[4] s = {1,1,2,1.5}", "Resize<mode=\"linear\">(x, s)"},
    {7, "float[1,1,2,2] x = {1,2,3,4}", "Upsample<scales=[1.0,1.0,2.0,3.0]>(x)"},
    {21, "float[2,3] a = {1,-2,3,4,-5,6}, int8[3,2] b = {1,-2,3,4,-5,6}, float[2] s = {0.5,2}",
     "com.microsoft.DynamicQuantizeMatMul(a, b, s)"},
    {21,
     "uint8[2,8] x = {1,2,3,4,5,6,7,8,90,100,110,120,130,140,150,255}, int64[1,3] i = {1,-2,1}, "
     "float[2,1] s = {0.5,2}",
     "com.microsoft.GatherBlockQuantized<block_size=16>(x, i, s)"},
    {21,
     "uint8[2,3] a = {1,2,3,4,5,255}, int8[3,2] b = {1,-2,3,4,-5,6}, float r = {0.5}, "
     "float[2] s = {0.5,2}, uint8 z = {3}",
     "com.microsoft.MatMulIntegerToFloat(a, b, r, s, z)"},
    {21,
     "float[1,2,3] a = {1,-2,3,4,-5,6}, float[2,1] s = {0.5,2}, uint8[2,1] z = {3,10}, "
     "uint8[2,1,8] b = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,255}",
     "com.microsoft.MatMulNBits<K=3, N=2, block_size=16>(a, b, s, z)"},
    {21,
     "float[2,3] a = {1,-2,3,4,-5,6}, float[2,1] s = {0.5,2}, uint8[2,1] z = {3,10}, "
     "uint8[2,1,16] b = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,255,1,22,3,44,5,66,7,88,9,10,11,12,13,"
     "14,15,250}",
     "com.microsoft.MatMulNBits<K=3, N=2, block_size=32>(a, b, s, z)"},
    {21,
     "uint8[2,3] a = {1,2,3,4,5,255}, int8[3,2] b = {1,-2,3,4,-5,6}, float s = {0.5}, "
     "uint8 z = {3}, int8 w = {-3}, int32[2] c = {100,-7}",
     "com.microsoft.QGemm<alpha=2.0>(a, s, z, b, s, w, c, s, z)"},
    {21, "uint8[2,3] a = {1,2,3,4,5,255}, uint8[3] b = {9,8,7}, float s = {0.5}, uint8 z = {3}",
     "com.microsoft.QLinearAdd(a, s, z, b, s, z, s, z)"},
    {21, "int8[2,3] a = {1,-2,3,4,5,127}, int8[3] b = {9,8,-7}, float s = {0.5}, int8 z = {-3}",
     "com.microsoft.QLinearMul(a, s, z, b, s, z, s, z)"},
    {21,
     "int8[2,3] a = {1,-2,3,4,5,127}, int8[2,1] b = {9,8}, float s = {0.5}, float t = {0.75}, "
     "int8 z = {-3}",
     "com.microsoft.QLinearConcat<axis=1>(t, z, a, s, z, b, t, z)"},
    {21, "uint8[2,3] a = {1,2,3,4,5,255}, float s = {0.05}, uint8 z = {3}",
     "com.microsoft.QLinearSigmoid(a, s, z, s, z)"},
    {21, "uint8[1,2,3] a = {1,2,3,4,5,255}, float s = {0.5}, uint8 z = {3}",
     "com.microsoft.QLinearAveragePool<kernel_shape=[2], pads=[1,0]>(a, s, z, s, z)"},
    {21, "int8[1,2,3] a = {1,2,3,4,5,-128}, float s = {0.5}, int8 z = {3}",
     "com.microsoft.QLinearGlobalAveragePool<channels_last=1>(a, s, z, s, z)"},
    {17, "string[2] x = {\"a bc\",\"\"}",
     "com.microsoft.Tokenizer<mark=1,mincharnum=1,pad_value=\"#\",tokenexp=\"[a-z]+\">(x)"},
    {17, "string[2,2] x = {\"a\",\"b\",\"c\",\"\"}, int64[2] i = {1,1}",
     ML "ArrayFeatureExtractor(x, i)"},
    {17, "int64[2,2] x = {1,2,3,4}",
     ML "CategoryMapper<cats_int64s=[1,3],cats_strings=[\"a\",\"b\"]>(x)"},
    {17, "string[2] x = {\"a\",\"\"}",
     ML "CategoryMapper<cats_int64s=[1,3],cats_strings=[\"a\",\"b\"]>(x)"},
    {17, "float[2,2] x = {1,2,3,4}, float[2,1] z = {5,6}",
     ML "FeatureVectorizer<inputdimensions=[1,3]>(x, z)"},
    {17, "float[2,2] x = {1,0,3,4}", ML "Imputer<imputed_value_floats=[7.0,8.0]>(x)"},
    {17, "int64[2,2] x = {1,0,3,4}", ML "Imputer<imputed_value_int64s=[7]>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}",
     ML "LinearRegressor<coefficients=[1.0,2.0,3.0,4.0],intercepts=[0.5,0.25],targets=2>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}",
     ML "LinearClassifier<coefficients=[1.0,2.0],intercepts=[0.5],classlabels_ints=[3,4]>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}", ML "Normalizer<norm=\"L2\">(x)"},
    {17, "float[2,2] x = {1,2,-3,4}", ML "OneHotEncoder<cats_int64s=[4,1]>(x)"},
    {17, "string[2] x = {\"a\",\"b\"}", ML "OneHotEncoder<cats_strings=[\"b\",\"c\"]>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}",
     ML "SVMRegressor<coefficients=[1.0,2.0],support_vectors=[1.0,1.0,0.0,2.0],n_supports=2,"
        "kernel_type=\"RBF\",kernel_params=[0.5,0.0,3.0],rho=[0.25]>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}",
     ML "SVMClassifier<coefficients=[1.0,-2.0],support_vectors=[1.0,1.0,0.0,2.0],rho=[0.25],"
        "vectors_per_class=[1,1],classlabels_strings=[\"a\",\"b\"]>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}", ML "Scaler<offset=[1.0],scale=[2.0,0.5]>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}",
     ML "TreeEnsembleClassifier<" TREE ", class_treeids=[0,0], class_nodeids=[1,2], "
        "class_ids=[0,1], class_weights=[1.0,2.0], classlabels_strings=[\"a\",\"b\"]>(x)"},
    {17, "float[2,2] x = {1,2,-3,4}",
     ML "TreeEnsembleRegressor<" TREE ", target_treeids=[0,0], target_nodeids=[1,2], "
        "target_ids=[0,0], target_weights=[1.0,2.0], n_targets=1>(x)"},
};

/* ─ Cases ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct named_case {
    char name[256];
    kernel_case c;
    struct named_case *next;
} named_case;

static named_case *first_case;
static size_t n_cases;

static named_case *new_case(const char *name) {
    named_case *made = calloc(1, sizeof *made);
    if (!made) abort();
    (void)snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

static void keep_case(named_case *made, bool ok) {
    if (!ok) {
        free(made);
        return;
    }
    made->next = first_case;
    first_case = made;
    n_cases++;
}

static bool load_cases(void) {
    const char *data = getenv("ONX_DATA");
    char folder[512], path[1024];
    (void)snprintf(folder, sizeof folder, "%s/node", data ? data : "");
    DIR *dir = data ? opendir(folder) : NULL;
    if (!dir) return false;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, "test_", 5) != 0) continue;
        named_case *made = new_case(e->d_name);
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        keep_case(made, kernel_case_load(path, &made->c));
    }
    (void)closedir(dir);
    for (size_t i = 0; i < ONX_COUNT(own); i++) {
        named_case *made = new_case(own[i].node);
        (void)snprintf(path, sizeof path,
                       "<ir_version: 10, opset_import: [\"\" : %d, \"ai.onnx.ml\" : 3, "
                       "\"com.microsoft\" : 1]>\ng () => () <%s>\n{ y = %s }",
                       own[i].opset, own[i].inputs, own[i].node);
        keep_case(made, CHECK(kernel_case_text(path, &made->c)));
    }
    return true;
}

static void free_cases(void) {
    for (named_case *next; first_case; first_case = next) {
        next = first_case->next;
        kernel_case_free(&first_case->c);
        free(first_case);
    }
    n_cases = 0;
}

/* ─ Cases changed ────────────────────────────────────────────────────────────────────────────── */

/* Elements of an input, at most: for short runs, and for several tasks. */
enum { FEW = 1 << 16, MANY = 1 << 18 };

/* Inputs of a case, some of them in another type or size. */
typedef struct variant {
    size_t n_in;
    onx_operand operand[KERNEL_INS], *in[KERNEL_INS];
    void *owned[KERNEL_INS];
} variant;

static void variant_begin(variant *v, const kernel_case *c) {
    *v = (variant){.n_in = c->n_in};
    for (size_t i = 0; i < c->n_in; i++) {
        if (!c->in[i]) continue;
        v->operand[i] = *c->in[i];
        v->in[i] = &v->operand[i];
    }
}

static void variant_free(variant *v) {
    for (size_t i = 0; i < v->n_in; i++) free(v->owned[i]);
}

static void variant_own(variant *v, size_t i, void *data) {
    free(v->owned[i]);
    v->owned[i] = v->operand[i].data = data;
}

static bool convert(variant *v, size_t i, onx_dtype to) {
    onx_operand *o = &v->operand[i], made = *o;
    if (!onx_operand_shape(&made, to, o->rank, o->dims)) return false;
    void *data = calloc(1, made.bytes + 1);
    if (!data || onx_dtype_convert((onx_dtype)o->dtype, o->data, to, data, (uint64_t)o->count,
                                   false) != ONX_OK) {
        free(data);
        return false;
    }
    *o = made;
    variant_own(v, i, data);
    return true;
}

static uint32_t mask_of(const onx_kernel *row, size_t i) {
    uint32_t mask = row->types[i < ONX_COUNT(row->types) ? i : ONX_COUNT(row->types) - 1];
    return mask ? mask : ~ONX_T(STRING);
}

/* The inputs that have the type of the first one that could be `to`, in that type. */
static bool retype(variant *v, const onx_kernel *row, onx_dtype to) {
    size_t p = 0;
    while (p < v->n_in && (!v->in[p] || !(mask_of(row, p) >> to & 1))) p++;
    if (p == v->n_in) return false;
    onx_dtype from = (onx_dtype)v->in[p]->dtype;
    if (from == to) return true;
    if (from == ONX_DTYPE_STRING) return false;
    for (size_t i = p; i < v->n_in; i++)
        if (v->in[i] && v->in[i]->dtype == from && mask_of(row, i) >> to & 1)
            if (!convert(v, i, to)) return false;
    return true;
}

/* Element `at` of `to` is where it was, or a repetition of what was there. */
static size_t source_of(const onx_operand *to, const onx_operand *from, size_t at) {
    size_t result = 0, stride = 1;
    for (size_t d = to->rank; d-- > 0;) {
        size_t index = at % (size_t)to->dims[d];
        at /= (size_t)to->dims[d];
        result += index % (size_t)from->dims[d] * stride;
        stride *= (size_t)from->dims[d];
    }
    return result;
}

static bool resize(variant *v, size_t i, size_t axis, int64_t size) {
    onx_operand *o = &v->operand[i], made = *o;
    size_t each = onx_dtype_bits((onx_dtype)o->dtype) / 8;
    made.dims[axis] = size;
    if (!each || !o->count || o->object ||
        !onx_operand_shape(&made, (onx_dtype)o->dtype, o->rank, made.dims) || made.count > MANY)
        return false;
    char *data = malloc(made.bytes + 1);
    if (!data) abort();
    for (size_t e = 0; e < (size_t)made.count; e++)
        memcpy(data + e * each, (char *)o->data + source_of(&made, o, e) * each, each);
    *o = made;
    variant_own(v, i, data);
    if (!made.bytes) o->data = NULL;
    return true;
}

/* Dimension `axis`, counted from the end, of input `which`; and where `together`, that dimension of
 * all inputs that have the same size there. */
typedef struct change {
    size_t which, axis;
    int64_t size;
    bool together;
} change;

static bool change_size(variant *v, const change *c) {
    const onx_operand *o = c->which < v->n_in ? v->in[c->which] : NULL;
    if (!o || c->axis >= o->rank) return false;
    int64_t was = o->dims[o->rank - 1 - c->axis];
    if (was == c->size) return false;
    bool any = false;
    for (size_t i = 0; i < v->n_in; i++) {
        o = v->in[i];
        if (!o || (i != c->which && !c->together) || c->axis >= o->rank) continue;
        size_t axis = o->rank - 1 - c->axis;
        if (o->dims[axis] == was) any |= resize(v, i, axis, c->size);
    }
    return any;
}

/* ─ Results ──────────────────────────────────────────────────────────────────────────────────── */

static bool same_strings(const onx_object *a, const onx_object *b) {
    if (a->dtype != ONX_DTYPE_STRING || b->dtype != ONX_DTYPE_STRING) return false;
    for (int64_t i = 0; i < a->count; i++)
        if (a->strings[i].size != b->strings[i].size ||
            (a->strings[i].size &&
             memcmp(a->strings[i].data, b->strings[i].data, a->strings[i].size) != 0))
            return false;
    return true;
}

static bool same(const onx_operand *a, const onx_operand *b) {
    if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank || a->count != b->count ||
        memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)
        return false;
    if (a->object && onx_operand_is_object(a))
        return b->object && same_strings(a->object, b->object);
    return !a->bytes || memcmp(a->data, b->data, a->bytes) == 0;
}

static double tolerance(onx_dtype dtype) {
    switch ((int)dtype) {
    case ONX_DTYPE_F64: return 1e-12;
    case ONX_DTYPE_F32: return 2e-5;
    case ONX_DTYPE_F16: return 4e-3;
    case ONX_DTYPE_BF16: return 3e-2;
    default: return 0;
    }
}

static bool near(const onx_operand *a, const onx_operand *b) {
    return same(a, b) || kernel_distance(a, b) <= tolerance((onx_dtype)b->dtype);
}

static bool near_most(const onx_operand *a, const onx_operand *b, double part) {
    double most = 1;
    const float *x = b->data;
    if (b->dtype != ONX_DTYPE_F32) return near(a, b);
    for (int64_t i = 0; i < b->count; i++) most = fmax(most, fabs((double)x[i]));
    return same(a, b) || kernel_distance(a, b) <= part * most;
}
/* Rows for numerics FAST: relative to the largest element. */
static bool near_fast(const onx_operand *a, const onx_operand *b) {
    return near_most(a, b, 2e-2);
}
/* Rows that round factors to 15 bits, as MatMulNBits allows. */
static bool near_half(const onx_operand *a, const onx_operand *b) {
    return near_most(a, b, 1e-3);
}

typedef bool compare_fn(const onx_operand *a, const onx_operand *b);

static bool agree(const kernel_result *a, const kernel_result *b, compare_fn *compare) {
    for (size_t i = 0; i < a->n_out; i++)
        if (!compare(&a->out[i], &b->out[i])) return false;
    return true;
}

static bool as_recorded(const kernel_case *c, const kernel_result *r) {
    for (size_t o = 0; o < c->outputs.n; o++)
        for (size_t i = 0; i < r->n_out; i++)
            if (onx_node_output(c->node, i) == onx_graph_output(onx_model_graph(c->model), o) &&
                !same(&r->out[i], &c->outputs.operand[o]) &&
                !(kernel_distance(&r->out[i], &c->outputs.operand[o]) <= 1e-2))
                return false;
    return true;
}

/* ─ One row ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct walker {
    const char *tier;
    const onx_kernel *row;
    onx_provider provider; /* that has just this row */
    const onx_provider *ref;
    const named_case *now;
    char what[64]; /* how the case was changed */
    onx_run *crew;
    compare_fn *near;
    bool timed;                  /* rather than tested */
    size_t reached, runs, wrong; /* cases that the row took; runs of it; complaints */
} walker;

static void complain(walker *w, const char *way, const char *why) {
    test_failures++;
    if (w->wrong++ < 3)
        fprintf(stderr, "%s [%s] %s, %s, %s: %s\n", w->row->name, w->tier, w->now->name, w->what,
                way, why);
}

static kernel_result run_row(walker *w, const variant *v, const kernel_way *way) {
    w->runs++;
    return kernel_run_way(&w->provider, w->now->c.node, v->n_in, v->in, way);
}

/* The row in another way gives what it gave before. A way that it does not take is no failure. */
static void again(walker *w, const variant *v, const kernel_way *way, const char *name,
                  const kernel_result *before, compare_fn *compare) {
    kernel_result r = run_row(w, v, way);
    if (r.status == ONX_UNSUPPORTED && !r.kernel) return;
    if (r.status != ONX_OK)
        complain(w, name, r.diag.message);
    else if (!agree(&r, before, compare))
        complain(w, name, "another result");
    kernel_free(&r);
}

static void every_way(walker *w, const variant *v, const kernel_result *before) {
    again(w, v, &(kernel_way){.shift = 1, .pattern = 0x5a}, "unaligned", before, same);
    again(w, v, &(kernel_way){.vague = true, .pattern = 0x33}, "sizes not known", before, w->near);
    again(w, v, &(kernel_way){.constant = ~0u, .shift = 3}, "all constant", before, w->near);
    again(w, v, &(kernel_way){.constant = ~1u, .pattern = 0xff}, "constant", before, w->near);
    again(w, v, &(kernel_way){.run = w->crew, .pattern = 0x77}, "threads", before, same);
    for (size_t i = 0; i < v->n_in && i < 32; i++)
        if (w->row->overwrite >> i & 1)
            again(w, v, &(kernel_way){.over = true, .which = i}, "in place", before, same);
}

/* The row, and the plain row for the same; true: it took the case and succeeded, and *out is to be
 * freed. */
static bool once(walker *w, const variant *v, kernel_result *out) {
    kernel_way way = {.pattern = 0xa5};
    kernel_result r = run_row(w, v, &way);
    if (r.status == ONX_UNSUPPORTED) return false;
    kernel_result ref = kernel_run_way(w->ref, w->now->c.node, v->n_in, v->in, &way);
    if (r.status != ref.status)
        complain(w, "aligned", r.status ? r.diag.message : "only the plain row fails");
    else if (r.status != ONX_OK && !r.diag.message[0])
        complain(w, "aligned", "fails without a sentence");
    else if (r.status == ONX_OK && !agree(&r, &ref, w->near))
        complain(w, "aligned", "not as the plain row");
    kernel_free(&ref);
    *out = r;
    return r.status == ONX_OK;
}

static bool try_variant(walker *w, const variant *v, bool record) {
    kernel_result r;
    if (!once(w, v, &r)) return false;
    if (record && !as_recorded(&w->now->c, &r)) complain(w, "aligned", "not as recorded");
    every_way(w, v, &r);
    kernel_free(&r);
    return true;
}

static void copy_variant(variant *v, const variant *base) {
    *v = *base;
    for (size_t i = 0; i < v->n_in; i++) {
        v->owned[i] = NULL;
        if (v->in[i]) v->in[i] = &v->operand[i];
    }
}

static bool is_short(const variant *v) {
    for (size_t i = 0; i < v->n_in; i++)
        if (v->in[i] && v->in[i]->count > FEW) return false;
    return true;
}

static void try_change(walker *w, const variant *base, const change *c) {
    kernel_result r;
    variant v;
    copy_variant(&v, base);
    (void)snprintf(w->what, sizeof w->what, "input %zu%s, size -%zu as %d", c->which,
                   c->together ? " and others" : "", c->axis + 1, (int)c->size);
    if (change_size(&v, c) && is_short(&v) && once(w, &v, &r)) {
        if (c->together) every_way(w, &v, &r);
        kernel_free(&r);
    }
    variant_free(&v);
}

/* Empty, broadcast, past the width of any vector. */
static void try_changes(walker *w, const variant *base) {
    static const int64_t sizes[] = {0, 1, 37};
    for (size_t which = 0; which < 2; which++)
        for (size_t axis = 0; axis < 4; axis++)
            for (size_t s = 0; s < ONX_COUNT(sizes); s++) {
                try_change(w, base, &(change){which, axis, sizes[s], false});
                try_change(w, base, &(change){which, axis, sizes[s], true});
            }
}

/* Microseconds of the fastest of a few runs, with all that surrounds a kernel. */
static double time_of(const walker *w, const onx_provider *provider, const variant *v) {
    enum { TIMES = 15, SECONDS = 2 };
    double best = HUGE_VAL;
    int64_t first = onx_clock_ns(), now = first;
    for (int i = 0; i < TIMES && now - first < SECONDS * 1000000000ll; i++) {
        int64_t start = now;
        kernel_result r =
            kernel_run_way(provider, w->now->c.node, v->n_in, v->in, &(kernel_way){0});
        now = onx_clock_ns();
        kernel_free(&r);
        best = fmin(best, (double)(now - start) / 1e3);
    }
    return best;
}

static void tell_time(const walker *w, const variant *v) {
    double us = time_of(w, &w->provider, v), plain = time_of(w, w->ref, v);
    printf("%10.1f %10.1f %8.2f  %-28s %-7s %s, %s\n", us, plain, us / plain, w->row->name, w->tier,
           w->now->name, w->what);
}

/* Large enough for several tasks: alone, and with a crew. */
static void try_threads(walker *w, const variant *base) {
    for (size_t axis = 0; axis < 4; axis++) {
        const onx_operand *first = base->n_in ? base->in[0] : NULL;
        if (!first || axis >= first->rank || !first->count) return;
        variant v;
        int64_t size = MANY / 2 / first->count * first->dims[first->rank - 1 - axis] + 3;
        copy_variant(&v, base);
        (void)snprintf(w->what, sizeof w->what, "size -%zu as %d", axis + 1, (int)size);
        if (change_size(&v, &(change){0, axis, size, true})) {
            kernel_result r = run_row(w, &v, &(kernel_way){0});
            if (r.status == ONX_OK && w->timed)
                tell_time(w, &v);
            else if (r.status == ONX_OK)
                again(w, &v, &(kernel_way){.run = w->crew, .pattern = 1}, "threads", &r, same);
            kernel_free(&r);
        }
        variant_free(&v);
    }
}

static void walk_case(walker *w, bool record) {
    variant v;
    variant_begin(&v, &w->now->c);
    (void)snprintf(w->what, sizeof w->what, "as recorded");
    if (try_variant(w, &v, record)) {
        if (!w->reached++) try_threads(w, &v);
        if (!w->timed) try_changes(w, &v);
    }
    variant_free(&v);
}

/* A few cases in each type that the row takes. */
static void walk_type(walker *w, onx_dtype to, const char *op) {
    size_t taken = 0;
    for (w->now = first_case; w->now && taken < 3; w->now = w->now->next) {
        variant v;
        if (!onx_str_is(w->now->c.node->op_type, op)) continue;
        variant_begin(&v, &w->now->c);
        (void)snprintf(w->what, sizeof w->what, "as %s", onx_dtype_name(to));
        if (retype(&v, w->row, to) && try_variant(w, &v, false)) {
            taken++;
            if (!w->reached++) try_threads(w, &v);
            try_changes(w, &v);
        }
        variant_free(&v);
    }
}

static bool is_of(const onx_kernel *row, size_t i) {
    return strcmp(elsewhere[i].op, row->op) == 0 &&
           strcmp(elsewhere[i].domain, row->domain ? row->domain : "") == 0;
}

static bool is_elsewhere(const onx_kernel *row) {
    size_t i = 0;
    while (i < ONX_COUNT(elsewhere) && !is_of(row, i)) i++;
    return i < ONX_COUNT(elsewhere);
}

static size_t walk_row(const char *tier, const onx_kernel *row, const onx_provider *ref,
                       onx_run *crew) {
    const onx_kernel rows[] = {*row, {0}}, *tables[] = {rows, NULL};
    bool fast = row->flags & ONX_KERNEL_FAST;
    walker w = {.tier = tier, .row = row, .ref = ref, .crew = crew};
    w.provider =
        (onx_provider){.name = "cpu", .host = true, .fast = fast, .tables = tables, .tiers = &tier};
    w.near = fast ? near_fast : strcmp(row->op, "MatMulNBits") == 0 ? near_half : near;
    w.timed = getenv("ONX_TIME") != NULL;
    for (w.now = first_case; w.now && !(w.timed && w.reached); w.now = w.now->next)
        if (onx_str_is(w.now->c.node->op_type, row->op)) walk_case(&w, !fast);
    for (int t = 1; t < ONX_DTYPE_COUNT && t < 32 && !(w.timed && w.reached); t++)
        walk_type(&w, (onx_dtype)t, row->op);
    if (!CHECK(w.reached > 0)) fprintf(stderr, "    no case for %s [%s]\n", row->name, tier);
    return w.runs;
}

static bool has_tier(const char *tier) {
    for (const char *const *t = kernel_tiers(); *t; t++)
        if (strcmp(*t, tier) == 0) return true;
    return false;
}

static void walk(bool plain) {
    onx_cpu ref;
    size_t rows = 0, runs = 0;
    onx_engine engine = {.ctx = onx_context_or_default(NULL), .threads = 3};
    onx_run crew = {.engine = &engine};
    if (!load_cases()) SKIP("ONX_DATA is not set");
    REQUIRE(onx_cpu_init(&ref, "ref", NULL) == ONX_OK);
    REQUIRE(onx_workers_retain(engine.ctx, engine.threads, &engine.workers, NULL) == ONX_OK);
    for (const onx_cpu_rows *table = onx_cpu_table; table->tier; table++) {
        if (!has_tier(table->tier) || (strcmp(table->tier, "ref") == 0) != plain) continue;
        for (const onx_kernel *row = table->rows; row->op; row++) {
            if (is_elsewhere(row)) continue;
            runs += walk_row(table->tier, row, &ref.provider, &crew);
            rows++;
        }
    }
    printf("%zu rows, %zu cases, %zu runs\n", rows, n_cases, runs);
    onx_workers_release(engine.workers);
    free_cases();
}

TEST(vectors) {
    walk(false);
}
TEST(plain) {
    walk(true);
}

/* The list has nothing in it that is no more. */
TEST(elsewhere) {
    for (size_t i = 0; i < ONX_COUNT(elsewhere); i++) {
        bool seen = false;
        for (const onx_cpu_rows *table = onx_cpu_table; table->tier; table++)
            for (const onx_kernel *row = table->rows; row->op; row++) seen |= is_of(row, i);
        if (!CHECK(seen)) fprintf(stderr, "    no row of %s\n", elsewhere[i].op);
    }
}

TEST_MAIN(E(vectors) E(plain) E(elsewhere))
