/* ml.c: ai.onnx.ml, classical machine learning: meaning. */
#include "ops/op.h"

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
    {"ArrayFeatureExtractor", 1, "(X:T, Y:int64) -> (Z:T) [T:" NUMBERS "|string]", .domain = ML},
    {"Binarizer", 1, "(X:T) -> (Y:T) {threshold:float=0.0} [T:" NUMBERS "]", .domain = ML},
    {"CastMap", 1,
     "(X:T1) -> (Y:T2) {cast_to:string=\"TO_FLOAT\", map_form:string=\"DENSE\", max_map:int=1} "
     "[T1:map(int64, string)|map(int64, float), T2:float|int64|string]",
     .domain = ML},
    {"CategoryMapper", 1,
     "(X:T1) -> (Y:T2) {cats_int64s?:ints, cats_strings?:strings, default_int64:int=-1, "
     "default_string:string=\"_Unused\"} [T1:int64|string, T2:int64|string]",
     .domain = ML},
    {"DictVectorizer", 1,
     "(X:T1) -> (Y:T2) {int64_vocabulary?:ints, string_vocabulary?:strings} [T1:map(string, "
     "int64)|map(int64, string)|map(int64, float)|map(int64, double)|map(string, "
     "float)|map(string, double), T2:float|double|int64|string]",
     .domain = ML},
    {"FeatureVectorizer", 1, "(X*:T1) -> (Y:float) {inputdimensions?:ints} [T1:" NUMBERS "]",
     .domain = ML},
    {"Imputer", 1,
     "(X:T) -> (Y:T) {imputed_value_floats?:floats, imputed_value_int64s?:ints, "
     "replaced_value_float:float=0.0, replaced_value_int64:int=0} [T:" NUMBERS "]",
     .domain = ML},
    {"LabelEncoder", 1,
     "(X:T1) -> (Y:T2) {classes_strings?:strings, default_int64:int=-1, "
     "default_string:string=\"_Unused\"} [T1:int64|string, T2:int64|string]",
     .domain = ML},
    {"LabelEncoder", 2,
     "(X:T1) -> (Y:T2) {default_float:float=-0.0, default_int64:int=-1, "
     "default_string:string=\"_Unused\", keys_floats?:floats, keys_int64s?:ints, "
     "keys_strings?:strings, values_floats?:floats, values_int64s?:ints, values_strings?:strings} "
     "[T1:float|int64|string, T2:float|int64|string]",
     .domain = ML},
    {"LabelEncoder", 4,
     "(X:T1) -> (Y:T2) {default_float:float=-0.0, default_int64:int=-1, "
     "default_string:string=\"_Unused\", default_tensor?:tensor, keys_floats?:floats, "
     "keys_int64s?:ints, keys_strings?:strings, keys_tensor?:tensor, values_floats?:floats, "
     "values_int64s?:ints, values_strings?:strings, values_tensor?:tensor} "
     "[T1:float|double|int16|int32|int64|string, T2:float|double|int16|int32|int64|string]",
     .domain = ML},
    {"LinearClassifier", 1,
     "(X:T1) -> (Y:T2, Z:float) {classlabels_ints?:ints, classlabels_strings?:strings, "
     "coefficients:floats, intercepts?:floats, multi_class:int=0, post_transform:string=\"NONE\"} "
     "[T1:" NUMBERS ", T2:int64|string]",
     .domain = ML},
    {"LinearRegressor", 1,
     "(X:T) -> (Y:float) {coefficients?:floats, intercepts?:floats, "
     "post_transform:string=\"NONE\", targets:int=1} [T:" NUMBERS "]",
     .domain = ML},
    {"Normalizer", 1, "(X:T) -> (Y:float) {norm:string=\"MAX\"} [T:" NUMBERS "]", .domain = ML},
    {"OneHotEncoder", 1,
     "(X:T) -> (Y:float) {cats_int64s?:ints, cats_strings?:strings, zeros:int=1} [T:" NUMBERS
     "|string]",
     .domain = ML},
    {"SVMClassifier", 1,
     "(X:T1) -> (Y:T2, Z:float) {classlabels_ints?:ints, classlabels_strings?:strings, "
     "coefficients?:floats, kernel_params?:floats, kernel_type:string=\"LINEAR\", "
     "post_transform:string=\"NONE\", prob_a?:floats, prob_b?:floats, rho?:floats, "
     "support_vectors?:floats, vectors_per_class?:ints} [T1:" NUMBERS ", T2:int64|string]",
     .domain = ML},
    {"SVMRegressor", 1,
     "(X:T) -> (Y:float) {coefficients?:floats, kernel_params?:floats, "
     "kernel_type:string=\"LINEAR\", n_supports:int=0, one_class:int=0, "
     "post_transform:string=\"NONE\", rho?:floats, support_vectors?:floats} [T:" NUMBERS "]",
     .domain = ML},
    {"Scaler", 1, "(X:T) -> (Y:float) {offset?:floats, scale?:floats} [T:" NUMBERS "]",
     .domain = ML},
    {"TreeEnsemble", 5,
     "(X:T) -> (Y:T) {aggregate_function:int=1, leaf_targetids:ints, leaf_weights:tensor, "
     "membership_values?:tensor, n_targets?:int, nodes_falseleafs:ints, nodes_falsenodeids:ints, "
     "nodes_featureids:ints, nodes_hitrates?:tensor, nodes_missing_value_tracks_true?:ints, "
     "nodes_modes:tensor, nodes_splits:tensor, nodes_trueleafs:ints, nodes_truenodeids:ints, "
     "post_transform:int=0, tree_roots:ints} [T:f0]",
     .domain = ML},
    {"TreeEnsembleClassifier", 1, TREE_CLASSIFIER_1, .domain = ML},
    {"TreeEnsembleClassifier", 3, TREE_CLASSIFIER_3, .domain = ML},
    {"TreeEnsembleClassifier", 5, TREE_CLASSIFIER_3, .deprecated = true, .domain = ML},
    {"TreeEnsembleRegressor", 1, TREE_REGRESSOR_1, .domain = ML},
    {"TreeEnsembleRegressor", 3, TREE_REGRESSOR_3, .domain = ML},
    {"TreeEnsembleRegressor", 5, TREE_REGRESSOR_3, .deprecated = true, .domain = ML},
    {"ZipMap", 1,
     "(X:float) -> (Z:T) {classlabels_int64s?:ints, classlabels_strings?:strings} "
     "[T:seq(map(string, float))|seq(map(int64, float))]",
     .domain = ML},
    {0},
};
