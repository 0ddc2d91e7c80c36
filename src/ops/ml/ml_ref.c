/* ml_ref.c: ai.onnx.ml: the rows of its plain kernels. */
#include "ops/ml/ml_ref.h"

#define ML "ai.onnx.ml"
#define NUMBERS (ONX_T(F32) | ONX_T(F64) | ONX_T(I32) | ONX_T(I64))
#define LABELS (NUMBERS | ONX_T(I16) | ONX_T(STRING))

/* Elements of a table are computed where they are. */
#define FEATURES(op_, name_, init_)                                                                \
    {                                                                                              \
        .op = op_, .first = 1, .types = {NUMBERS}, .name = name_, .domain = ML, .overwrite = 1,    \
        .init = init_, .bind = onx_ml_features_bind, .run = onx_ml_features_run                    \
    }
#define LOOK_UP(op_, name_, init_)                                                                 \
    {                                                                                              \
        .op = op_, .first = 1, .types = {LABELS}, .name = name_, .domain = ML,                     \
        .flags = ONX_KERNEL_OBJECTS, .init = init_, .bind = onx_ml_labels_bind,                    \
        .run = onx_ml_labels_run                                                                   \
    }
#define MODEL(op_, first_, types_, name_, init_)                                                   \
    {                                                                                              \
        .op = op_, .first = first_, .types = {types_}, .name = name_, .domain = ML,                \
        .plan_bytes = sizeof(onx_ml_plan), .init = init_, .bind = onx_ml_model_bind,               \
        .run = onx_ml_model_run                                                                    \
    }
#define MAPS(op_, name_, types_, init_, run_)                                                      \
    {                                                                                              \
        .op = op_, .first = 1, .types = {types_}, .name = name_, .domain = ML,                     \
        .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS, .init = init_, .run = run_                  \
    }

extern onx_kernel_rows onx_kernels_ml_ref;
onx_kernel_rows onx_kernels_ml_ref = {
    {.op = "ArrayFeatureExtractor",
     .first = 1,
     .types = {NUMBERS | ONX_T(STRING), ONX_T(I64)},
     .name = "array_feature_extractor",
     .domain = ML,
     .flags = ONX_KERNEL_OBJECTS,
     .bind = onx_ml_extractor_bind,
     .run = onx_ml_extractor_run},
    FEATURES("Binarizer", "binarizer", onx_ml_binarizer_init),
    MAPS("CastMap", "cast_map", 0, onx_ml_cast_map_init, onx_ml_cast_map_run),
    LOOK_UP("CategoryMapper", "category_mapper", onx_ml_category_mapper_init),
    MAPS("DictVectorizer", "dict_vectorizer", 0, onx_ml_dict_vectorizer_init,
         onx_ml_dict_vectorizer_run),
    {.op = "FeatureVectorizer",
     .first = 1,
     .types = {NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS},
     .name = "feature_vectorizer",
     .domain = ML,
     .plan_bytes = sizeof(onx_ml_plan),
     .init = onx_ml_vectorizer_init,
     .bind = onx_ml_vectorizer_bind,
     .run = onx_ml_vectorizer_run},
    FEATURES("Imputer", "imputer", onx_ml_imputer_init),
    LOOK_UP("LabelEncoder", "label_encoder", onx_ml_label_encoder_init),
    MODEL("LinearClassifier", 1, NUMBERS, "linear_classifier", onx_ml_linear_classifier_init),
    MODEL("LinearRegressor", 1, NUMBERS, "linear_regressor", onx_ml_linear_regressor_init),
    {.op = "Normalizer",
     .first = 1,
     .types = {NUMBERS},
     .name = "normalizer",
     .domain = ML,
     .overwrite = 1,
     .plan_bytes = sizeof(onx_ml_plan),
     .init = onx_ml_normalizer_init,
     .bind = onx_ml_normalizer_bind,
     .run = onx_ml_normalizer_run},
    {.op = "OneHotEncoder",
     .first = 1,
     .types = {NUMBERS | ONX_T(STRING)},
     .name = "one_hot_encoder",
     .domain = ML,
     .flags = ONX_KERNEL_OBJECTS,
     .init = onx_ml_one_hot_encoder_init,
     .bind = onx_ml_one_hot_encoder_bind,
     .run = onx_ml_one_hot_encoder_run},
    MODEL("SVMClassifier", 1, NUMBERS, "svm_classifier", onx_ml_svm_classifier_init),
    MODEL("SVMRegressor", 1, NUMBERS, "svm_regressor", onx_ml_svm_regressor_init),
    FEATURES("Scaler", "scaler", onx_ml_scaler_init),
    MODEL("TreeEnsemble", 5, ONX_T_FLOATS, "tree_ensemble", onx_ml_trees_init),
    MODEL("TreeEnsembleClassifier", 1, NUMBERS, "tree_ensemble_classifier", onx_ml_trees_init),
    MODEL("TreeEnsembleRegressor", 1, NUMBERS, "tree_ensemble_regressor", onx_ml_trees_init),
    MAPS("ZipMap", "zip_map", ONX_T(F32), onx_ml_zip_map_init, onx_ml_zip_map_run),
    {0},
};
