/* ml_ref.h: what the kernels of ai.onnx.ml share: lists from attributes, dictionaries, and models
 * that give each row of a table scores. */
#ifndef ONX_ML_REF_H
#define ONX_ML_REF_H

#include "rt/object.h"

/* ── Lists from attributes (ml_lists_ref.c) ──────────────────────────────────────────────────── */

typedef struct onx_ml_values {
    onx_dtype dtype; /* NONE: there is no such attribute */
    size_t n;
    char *data;       /* of numbers: `n` elements, aligned */
    onx_str *strings; /* of strings */
} onx_ml_values;

/* init: a copy of the list, or of the tensor, in an attribute. */
onx_status onx_ml_values_get(onx_call *call, const char *name, onx_ml_values *out) ONX_MUST_CHECK;
/* init: the first of these attributes that is there (names end with NULL). INVALID: more are. */
onx_status onx_ml_values_one(onx_call *call, const char *const *names, onx_ml_values *out)
    ONX_MUST_CHECK;
/* init: of floats, or of a tensor; as doubles. */
onx_status onx_ml_doubles(onx_call *call, const char *name, const double **out, size_t *n)
    ONX_MUST_CHECK;

/* bind: output `index` has this shape and the type of `values`, of which `count` are picked;
 * scratch for the picks is asked for. */
onx_status onx_ml_pick_bind(onx_call *call, onx_dtype dtype, size_t rank, const int64_t *dims)
    ONX_MUST_CHECK;
/* run: element i of output 0 is element picks[i] of the values. */
onx_status onx_ml_pick(onx_call *call, const onx_ml_values *values, const size_t *picks)
    ONX_MUST_CHECK;

/* ── Dictionaries (ml_dict_ref.c) ────────────────────────────────────────────────────────────── */

/* Where a key stands in a list; of equal ones the last counts. All NaN are one key, and so are 0
 * and -0. */
typedef struct onx_ml_dict {
    size_t n, mask;
    uint64_t seed;
    const onx_str *strings;
    const int64_t *numbers; /* integers, or the bits of doubles */
    size_t *slots;          /* place + 1; 0: free */
    bool real;              /* keys are doubles */
    bool truncates;         /* and what is looked up loses its fraction */
} onx_ml_dict;

/* init: the dictionary of `keys`, for looking up elements of type `dtype`, integers or floats as
 * the keys; but in integers floats can be looked up, too: their whole part. INVALID: the types do
 * not go together. */
onx_status onx_ml_dict_make(onx_call *call, const onx_ml_values *keys, onx_dtype dtype,
                            onx_ml_dict *out) ONX_MUST_CHECK;
size_t onx_ml_dict_string(const onx_ml_dict *dict, onx_str key); /* the place; `n`: there is none */
size_t onx_ml_dict_number(const onx_ml_dict *dict, int64_t key);
/* run: the places of all elements of input 0. */
onx_status onx_ml_dict_find(onx_call *call, const onx_ml_dict *dict, size_t *places) ONX_MUST_CHECK;

/* ── Models (ml_model_ref.c) ─────────────────────────────────────────────────────────────────── */

typedef enum onx_ml_transform {
    ONX_ML_NONE,
    ONX_ML_SOFTMAX,
    ONX_ML_LOGISTIC,
    ONX_ML_SOFTMAX_ZERO,
    ONX_ML_PROBIT,
} onx_ml_transform;

/* Scores in place. */
void onx_ml_transform_run(onx_ml_transform transform, double *scores, size_t n);
/* Two scores of two classes from the one of the second: 1 - s and s, or, when it is `signed_`,
 * -s and s. As ONNX Runtime has it, softmax leaves them alone. */
void onx_ml_transform_pair(onx_ml_transform transform, bool signed_, double *scores);
double onx_ml_logistic(double x);
size_t onx_ml_largest(const double *scores, size_t n); /* the first of the largest; 0 of none */

typedef struct onx_ml_plan {
    size_t rows, columns; /* of the table in input 0 */
    size_t scores;        /* of each row */
    size_t grain;         /* rows of a task */
} onx_ml_plan;

typedef struct onx_ml_model onx_ml_model;
/* One row: `x` has as many elements as there are columns, `scores` is filled. *pick is the place of
 * its label, for classifiers. False: the run was stopped. */
typedef bool onx_ml_score(const onx_call *call, const onx_ml_model *model, const onx_ml_plan *plan,
                          const double *x, double *scores, double *work, size_t *pick);

/* The state of a model's kernel begins with this. */
struct onx_ml_model {
    bool classifies;      /* output 0: labels; 1: scores. Else: output 0 has the scores */
    onx_ml_values labels; /* where there are none, they are 0, 1 … */
    onx_dtype dtype;      /* of the scores */
    onx_ml_transform transform;
    size_t cost; /* of a row: multiplications, roughly */
    size_t work; /* doubles that `score` needs */
    /* bind: is a table with so many columns right, and how many scores are there? */
    onx_status (*fit)(const onx_call *call, const onx_ml_model *model, onx_ml_plan *plan);
    onx_ml_score *score;
};

/* init: labels and transform. `labels` is the attribute of integer labels; NULL: no classifier. */
onx_status onx_ml_model_init(onx_call *call, onx_ml_model *model, const char *labels)
    ONX_MUST_CHECK;
/* The transform by its name; INVALID: there is none. */
onx_status onx_ml_transform_get(onx_call *call, onx_ml_transform *out) ONX_MUST_CHECK;
onx_status onx_ml_model_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ml_model_run(onx_call *call) ONX_MUST_CHECK;
/* bind: input 0 as rows of a table, [N,C] or [C]. */
onx_status onx_ml_table(const onx_call *call, size_t index, size_t *rows, size_t *columns)
    ONX_MUST_CHECK;

/* ── Rows ────────────────────────────────────────────────────────────────────────────────────── */

typedef onx_status onx_ml_step(onx_call *call);

/* ml_features_ref.c */
onx_ml_step onx_ml_binarizer_init, onx_ml_scaler_init, onx_ml_imputer_init, onx_ml_normalizer_init;
onx_ml_step onx_ml_features_bind, onx_ml_features_run;
onx_ml_step onx_ml_normalizer_bind, onx_ml_normalizer_run;
onx_ml_step onx_ml_vectorizer_init, onx_ml_vectorizer_bind, onx_ml_vectorizer_run;
onx_ml_step onx_ml_extractor_bind, onx_ml_extractor_run;
/* ml_labels_ref.c */
onx_ml_step onx_ml_label_encoder_init, onx_ml_category_mapper_init, onx_ml_labels_bind,
    onx_ml_labels_run;
onx_ml_step onx_ml_one_hot_encoder_init, onx_ml_one_hot_encoder_bind, onx_ml_one_hot_encoder_run;
/* ml_maps_ref.c */
onx_ml_step onx_ml_cast_map_init, onx_ml_cast_map_run, onx_ml_dict_vectorizer_init,
    onx_ml_dict_vectorizer_run;
onx_ml_step onx_ml_zip_map_init, onx_ml_zip_map_run;
/* ml_linear_ref.c, ml_svm_ref.c, ml_trees_ref.c */
onx_ml_step onx_ml_linear_classifier_init, onx_ml_linear_regressor_init;
onx_ml_step onx_ml_svm_classifier_init, onx_ml_svm_regressor_init;
onx_ml_step onx_ml_trees_init;

#endif
