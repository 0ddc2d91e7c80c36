/* ml.c: ai.onnx.ml, classical machine learning: meaning. Models that were learned are inferred in
 * ml_models.c; here are their rows, and what makes features for them. */
#include "ops/ml/ml.h"

/* ── Tables ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status infer_floats(onx_infer *in) {
    return onx_infer_like(in, 0, ONX_DTYPE_F32, onx_infer_in(in, 0));
}

/* Columns, as many as there are indices. A row alone becomes a table. */
static onx_status infer_extractor(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *y = onx_infer_in(in, 1);
    if (!x->ranked) return onx_infer_unranked(in, 0, x->dtype);
    if (!x->rank) return onx_infer_fail(in, "a scalar has no features");
    size_t rank = x->rank > 1 ? x->rank : 2;
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    dims[0] = onx_sym_int(onx_infer_syms(in), 1);
    for (size_t i = 0; i + 1 < x->rank; i++) dims[i] = x->dims[i];
    dims[rank - 1] = y->ranked ? onx_infer_product(in, y->rank, y->dims) : NULL;
    return onx_infer_tensor(in, 0, x->dtype, rank, dims);
}

/* Tables side by side. `inputdimensions` says how wide each is made. */
static onx_status infer_vectorizer(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    onx_extent rows = {"number of rows", NULL};
    const onx_sym *width = onx_sym_int(syms, 0);
    size_t n_in = onx_infer_n_in(in), n;
    const int64_t *given = onx_op_ints(onx_infer_node(in), "inputdimensions", &n);
    if (given && n != n_in)
        return onx_infer_fail(in, "inputdimensions has %zu elements; there are %zu inputs", n,
                              n_in);
    for (size_t i = 0; i < n_in; i++) {
        const onx_fact *x = onx_infer_in(in, i);
        if (x->ranked && x->rank != 1 && x->rank != 2)
            return onx_infer_fail(in, "input %zu has %zu dimensions; it needs 1 or 2", i, x->rank);
        if (x->ranked && x->rank == 2) ONX_TRY(onx_infer_meet(in, &rows, x->dims[0]));
        const onx_sym *own = x->ranked ? x->dims[x->rank - 1] : NULL;
        width = onx_sym_add(syms, width, given ? onx_sym_int(syms, given[i]) : own);
    }
    const onx_sym *dims[2] = {rows.size, width};
    return onx_infer_tensor(in, 0, ONX_DTYPE_F32, 2, dims);
}

static onx_status infer_one_hot(onx_infer *in) {
    static const char *const names[] = {"cats_int64s", "cats_strings", NULL};
    const onx_fact *x = onx_infer_in(in, 0);
    onx_ml_list list;
    ONX_TRY(onx_ml_one_of(in, names, &list));
    if (!list.name)
        return onx_infer_fail(in, "there are no categories: give cats_int64s or cats_strings");
    if (!x->ranked) return onx_infer_unranked(in, 0, ONX_DTYPE_F32);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[x->rank] = onx_ml_count(in, &list);
    return onx_infer_tensor(in, 0, ONX_DTYPE_F32, x->rank + 1, dims);
}

/* ── Labels ──────────────────────────────────────────────────────────────────────────────────── */

/* Strings to integers, and integers to strings. */
static onx_status infer_swap(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_dtype dtype = x->dtype == ONX_DTYPE_STRING ? ONX_DTYPE_I64
                      : x->dtype == ONX_DTYPE_I64  ? ONX_DTYPE_STRING
                                                   : ONX_DTYPE_NONE;
    return onx_infer_like(in, 0, dtype, x);
}

static onx_status infer_category(onx_infer *in) {
    static const char *const ints[] = {"cats_int64s", NULL}, *const strings[] = {"cats_strings",
                                                                                 NULL};
    onx_ml_list a, b;
    ONX_TRY(onx_ml_one_of(in, ints, &a));
    ONX_TRY(onx_ml_one_of(in, strings, &b));
    if (!a.name || !b.name)
        return onx_infer_fail(in, "a category is a number and a name: give both cats_int64s and"
                                  " cats_strings");
    if (a.n >= 0 && b.n >= 0 && a.n != b.n)
        return onx_infer_fail(in, "cats_int64s has %lld elements, cats_strings %lld",
                              (long long)a.n, (long long)b.n);
    return infer_swap(in);
}

static onx_status check_default(onx_infer *in, onx_dtype dtype) {
    const onx_attr *attr = onx_node_attr(onx_infer_node(in), "default_tensor");
    if (!attr || !attr->t || !onx_tensor_dtype(attr->t)) return ONX_OK;
    if (dtype && onx_tensor_dtype(attr->t) != dtype)
        return onx_infer_fail(in, "default_tensor is of %s, the values of %s",
                              onx_dtype_name(onx_tensor_dtype(attr->t)), onx_dtype_name(dtype));
    if (onx_tensor_rank(attr->t) != 1 || onx_tensor_dim(attr->t, 0) != 1)
        return onx_infer_fail(in, "default_tensor must be a list of one element");
    return ONX_OK;
}

static onx_status infer_encoder(onx_infer *in) {
    static const char *const keys[] = {"keys_tensor", "keys_strings", "keys_int64s", "keys_floats",
                                       NULL};
    static const char *const values[] = {"values_tensor", "values_strings", "values_int64s",
                                         "values_floats", NULL};
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    onx_ml_list from, to;
    ONX_TRY(onx_ml_one_of(in, keys, &from));
    ONX_TRY(onx_ml_one_of(in, values, &to));
    if (!from.name || !to.name)
        return onx_infer_fail(in, "there are no %s: give one of the attributes %s_*",
                              from.name ? "values" : "keys", from.name ? "values" : "keys");
    if (dtype && from.dtype && dtype != from.dtype)
        return onx_infer_fail(in, "%s are of %s, the input of %s", from.name,
                              onx_dtype_name(from.dtype), onx_dtype_name(dtype));
    if (from.n >= 0 && to.n >= 0 && from.n != to.n)
        return onx_infer_fail(in, "%s has %lld elements, %s %lld", from.name, (long long)from.n,
                              to.name, (long long)to.n);
    ONX_TRY(check_default(in, to.dtype));
    return onx_infer_like(in, 0, to.dtype, onx_infer_in(in, 0));
}

/* ── Maps ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status infer_cast_map(onx_infer *in) {
    static const struct {
        const char *name;
        onx_dtype dtype;
    } targets[] = {
        {"TO_FLOAT", ONX_DTYPE_F32}, {"TO_INT64", ONX_DTYPE_I64}, {"TO_STRING", ONX_DTYPE_STRING}};
    onx_str to = onx_infer_string(in, "cast_to");
    onx_infer_lost(in, 0, ONX_LOST_SHAPE, "it is as long as the map in '%s'",
                   onx_infer_in_name(in, 0));
    for (size_t i = 0; i < ONX_COUNT(targets); i++)
        if (onx_str_is(to, targets[i].name)) return onx_infer_unranked(in, 0, targets[i].dtype);
    return onx_infer_fail(in, "cast_to is '%.*s'; it can be TO_FLOAT, TO_INT64 or TO_STRING",
                          ONX_FMT(to));
}

static onx_status infer_dict(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    bool is_map = x->kind == ONX_TYPE_MAP && x->elem;
    onx_infer_lost(in, 0, ONX_LOST_SHAPE, "a vector or a table of one row, as runtimes have it");
    return onx_infer_unranked(in, 0, is_map ? x->elem->dtype : ONX_DTYPE_NONE);
}

/* A map for each row, from labels to the numbers of the row. */
static onx_status infer_zip_map(onx_infer *in) {
    onx_extent width = {"number of labels and columns", NULL};
    const onx_sym *rows;
    onx_ml_list labels;
    ONX_TRY(onx_ml_labels(in, "classlabels_int64s", &labels));
    ONX_TRY(onx_ml_rows(in, &rows, &width.size));
    if (labels.n > 0) ONX_TRY(onx_infer_meet(in, &width, onx_ml_count(in, &labels)));
    if (!labels.name)
        return onx_infer_fail(in, "there are no labels: give classlabels_int64s or"
                                  " classlabels_strings");
    onx_fact *parts = onx_arena_array(onx_infer_arena(in), 2, sizeof *parts);
    if (!parts) return ONX_NO_MEMORY;
    parts[0] = (onx_fact){.kind = ONX_TYPE_TENSOR, .dtype = ONX_DTYPE_F32, .ranked = true};
    parts[1] = (onx_fact){.kind = ONX_TYPE_MAP, .dtype = labels.dtype, .elem = &parts[0]};
    *onx_infer_out(in, 0) = (onx_fact){.kind = ONX_TYPE_SEQUENCE, .elem = &parts[1]};
    return ONX_OK;
}

/* ── Rows ────────────────────────────────────────────────────────────────────────────────────── */

#define ML "ai.onnx.ml"
#define NUMBERS "float|double|int32|int64"

#define NODES_1                                                                                    \
    "nodes_falsenodeids?:ints, nodes_featureids?:ints, nodes_hitrates?:floats, "                   \
    "nodes_missing_value_tracks_true?:ints, nodes_modes?:strings, nodes_nodeids?:ints, "           \
    "nodes_treeids?:ints, nodes_truenodeids?:ints, nodes_values?:floats"
#define NODES_3 NODES_1 ", nodes_hitrates_as_tensor?:tensor, nodes_values_as_tensor?:tensor"
#define TREE_CLASSIFIER_1                                                                          \
    "(X:T1) -> (Y:T2, Z:float) {base_values?:floats, class_ids?:ints, class_nodeids?:ints, "       \
    "class_treeids?:ints, class_weights?:floats, classlabels_int64s?:ints, "                       \
    "classlabels_strings?:strings, post_transform:string=\"NONE\", " NODES_1 "} [T1:" NUMBERS      \
    ", T2:int64|string]"
#define TREE_CLASSIFIER_3                                                                          \
    "(X:T1) -> (Y:T2, Z:float) {base_values?:floats, base_values_as_tensor?:tensor, "              \
    "class_ids?:ints, class_nodeids?:ints, class_treeids?:ints, class_weights?:floats, "           \
    "class_weights_as_tensor?:tensor, classlabels_int64s?:ints, classlabels_strings?:strings, "    \
    "post_transform:string=\"NONE\", " NODES_3 "} [T1:" NUMBERS ", T2:int64|string]"
#define TREE_REGRESSOR_1                                                                           \
    "(X:T) -> (Y:float) {aggregate_function:string=\"SUM\", base_values?:floats, n_targets?:int, " \
    "post_transform:string=\"NONE\", target_ids?:ints, target_nodeids?:ints, "                     \
    "target_treeids?:ints, target_weights?:floats, " NODES_1 "} [T:" NUMBERS "]"
#define TREE_REGRESSOR_3                                                                           \
    "(X:T) -> (Y:float) {aggregate_function:string=\"SUM\", base_values?:floats, "                 \
    "base_values_as_tensor?:tensor, n_targets?:int, post_transform:string=\"NONE\", "              \
    "target_ids?:ints, target_nodeids?:ints, target_treeids?:ints, target_weights?:floats, "       \
    "target_weights_as_tensor?:tensor, " NODES_3 "} [T:" NUMBERS "]"

extern onx_op_rows onx_ops_ml;
onx_op_rows onx_ops_ml = {
    {"ArrayFeatureExtractor", 1, "(X:T, Y:int64) -> (Z:T) [T:" NUMBERS "|string]",
     .infer = infer_extractor, .domain = ML},
    {"Binarizer", 1, "(X:T) -> (Y:T) {threshold:float=0.0} [T:" NUMBERS "]",
     .infer = onx_infer_same, .domain = ML},
    {"CastMap", 1,
     "(X:T1) -> (Y:T2) {cast_to:string=\"TO_FLOAT\", map_form:string=\"DENSE\", max_map:int=1} "
     "[T1:map(int64, string)|map(int64, float), T2:float|int64|string]",
     .infer = infer_cast_map, .domain = ML},
    {"CategoryMapper", 1,
     "(X:T1) -> (Y:T2) {cats_int64s?:ints, cats_strings?:strings, default_int64:int=-1, "
     "default_string:string=\"_Unused\"} [T1:int64|string, T2:int64|string]",
     .infer = infer_category, .domain = ML},
    {"DictVectorizer", 1,
     "(X:T1) -> (Y:T2) {int64_vocabulary?:ints, string_vocabulary?:strings} [T1:map(string, "
     "int64)|map(int64, string)|map(int64, float)|map(int64, double)|map(string, "
     "float)|map(string, double), T2:float|double|int64|string]",
     .infer = infer_dict, .domain = ML},
    {"FeatureVectorizer", 1, "(X*:T1) -> (Y:float) {inputdimensions?:ints} [T1:" NUMBERS "]",
     .infer = infer_vectorizer, .domain = ML},
    {"Imputer", 1,
     "(X:T) -> (Y:T) {imputed_value_floats?:floats, imputed_value_int64s?:ints, "
     "replaced_value_float:float=0.0, replaced_value_int64:int=0} [T:" NUMBERS "]",
     .infer = onx_infer_same, .domain = ML},
    {"LabelEncoder", 1,
     "(X:T1) -> (Y:T2) {classes_strings?:strings, default_int64:int=-1, "
     "default_string:string=\"_Unused\"} [T1:int64|string, T2:int64|string]",
     .infer = infer_swap, .domain = ML},
    {"LabelEncoder", 2,
     "(X:T1) -> (Y:T2) {default_float:float=-0.0, default_int64:int=-1, "
     "default_string:string=\"_Unused\", keys_floats?:floats, keys_int64s?:ints, "
     "keys_strings?:strings, values_floats?:floats, values_int64s?:ints, values_strings?:strings} "
     "[T1:float|int64|string, T2:float|int64|string]",
     .infer = infer_encoder, .domain = ML},
    {"LabelEncoder", 4,
     "(X:T1) -> (Y:T2) {default_float:float=-0.0, default_int64:int=-1, "
     "default_string:string=\"_Unused\", default_tensor?:tensor, keys_floats?:floats, "
     "keys_int64s?:ints, keys_strings?:strings, keys_tensor?:tensor, values_floats?:floats, "
     "values_int64s?:ints, values_strings?:strings, values_tensor?:tensor} "
     "[T1:float|double|int16|int32|int64|string, T2:float|double|int16|int32|int64|string]",
     .infer = infer_encoder, .domain = ML},
    {"LinearClassifier", 1,
     "(X:T1) -> (Y:T2, Z:float) {classlabels_ints?:ints, classlabels_strings?:strings, "
     "coefficients:floats, intercepts?:floats, multi_class:int=0, post_transform:string=\"NONE\"} "
     "[T1:" NUMBERS ", T2:int64|string]",
     .infer = onx_infer_linear_classifier, .domain = ML},
    {"LinearRegressor", 1,
     "(X:T) -> (Y:float) {coefficients?:floats, intercepts?:floats, "
     "post_transform:string=\"NONE\", targets:int=1} [T:" NUMBERS "]",
     .infer = onx_infer_linear_regressor, .domain = ML},
    {"Normalizer", 1, "(X:T) -> (Y:float) {norm:string=\"MAX\"} [T:" NUMBERS "]",
     .infer = infer_floats, .domain = ML},
    {"OneHotEncoder", 1,
     "(X:T) -> (Y:float) {cats_int64s?:ints, cats_strings?:strings, zeros:int=1} [T:" NUMBERS
     "|string]",
     .infer = infer_one_hot, .domain = ML},
    {"SVMClassifier", 1,
     "(X:T1) -> (Y:T2, Z:float) {classlabels_ints?:ints, classlabels_strings?:strings, "
     "coefficients?:floats, kernel_params?:floats, kernel_type:string=\"LINEAR\", "
     "post_transform:string=\"NONE\", prob_a?:floats, prob_b?:floats, rho?:floats, "
     "support_vectors?:floats, vectors_per_class?:ints} [T1:" NUMBERS ", T2:int64|string]",
     .infer = onx_infer_svm_classifier, .domain = ML},
    {"SVMRegressor", 1,
     "(X:T) -> (Y:float) {coefficients?:floats, kernel_params?:floats, "
     "kernel_type:string=\"LINEAR\", n_supports:int=0, one_class:int=0, "
     "post_transform:string=\"NONE\", rho?:floats, support_vectors?:floats} [T:" NUMBERS "]",
     .infer = onx_infer_svm_regressor, .domain = ML},
    {"Scaler", 1, "(X:T) -> (Y:float) {offset?:floats, scale?:floats} [T:" NUMBERS "]",
     .infer = infer_floats, .domain = ML},
    {"TreeEnsemble", 5,
     "(X:T) -> (Y:T) {aggregate_function:int=1, leaf_targetids:ints, leaf_weights:tensor, "
     "membership_values?:tensor, n_targets?:int, nodes_falseleafs:ints, nodes_falsenodeids:ints, "
     "nodes_featureids:ints, nodes_hitrates?:tensor, nodes_missing_value_tracks_true?:ints, "
     "nodes_modes:tensor, nodes_splits:tensor, nodes_trueleafs:ints, nodes_truenodeids:ints, "
     "post_transform:int=0, tree_roots:ints} [T:f0]",
     .infer = onx_infer_tree_ensemble, .domain = ML},
    {"TreeEnsembleClassifier", 1, TREE_CLASSIFIER_1, .infer = onx_infer_tree_classifier,
     .domain = ML},
    {"TreeEnsembleClassifier", 3, TREE_CLASSIFIER_3, .infer = onx_infer_tree_classifier,
     .domain = ML},
    {"TreeEnsembleClassifier", 5, TREE_CLASSIFIER_3, .infer = onx_infer_tree_classifier,
     .domain = ML, .deprecated = true},
    {"TreeEnsembleRegressor", 1, TREE_REGRESSOR_1, .infer = onx_infer_tree_regressor, .domain = ML},
    {"TreeEnsembleRegressor", 3, TREE_REGRESSOR_3, .infer = onx_infer_tree_regressor, .domain = ML},
    {"TreeEnsembleRegressor", 5, TREE_REGRESSOR_3, .infer = onx_infer_tree_regressor, .domain = ML,
     .deprecated = true},
    {"ZipMap", 1,
     "(X:float) -> (Z:T) {classlabels_int64s?:ints, classlabels_strings?:strings} "
     "[T:seq(map(string, float))|seq(map(int64, float))]",
     .infer = infer_zip_map, .domain = ML},
    {0},
};
