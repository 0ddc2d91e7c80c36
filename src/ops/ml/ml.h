/* ml.h: what the files of this family share. */
#ifndef ONX_ML_H
#define ONX_ML_H

#include "ops/op.h"

/* A list in an attribute: of which type, and how many. */
typedef struct onx_ml_list {
    const char *name; /* of the attribute; NULL: there is none */
    onx_dtype dtype;
    int64_t n; /* -1: not known, for it is a parameter of a function */
} onx_ml_list;

/* The list that one of these attributes has (names end with NULL). INVALID: more than one has. */
onx_status onx_ml_one_of(onx_infer *in, const char *const *names, onx_ml_list *out) ONX_MUST_CHECK;
/* The labels of classes, in classlabels_strings or `ints`; without any, integers that nobody named.
 * An empty list is none. */
onx_status onx_ml_labels(onx_infer *in, const char *ints, onx_ml_list *out) ONX_MUST_CHECK;
/* As a size; NULL: not known. */
const onx_sym *onx_ml_count(const onx_infer *in, const onx_ml_list *list);
/* Rows of a table: input 0 is [N,C], or [C], which is one row. */
onx_status onx_ml_rows(onx_infer *in, const onx_sym **rows, const onx_sym **columns) ONX_MUST_CHECK;

onx_infer_fn onx_infer_linear_classifier, onx_infer_linear_regressor, onx_infer_svm_classifier,
    onx_infer_svm_regressor, onx_infer_tree_classifier, onx_infer_tree_regressor,
    onx_infer_tree_ensemble;

#endif
