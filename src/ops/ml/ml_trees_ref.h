/* ml_trees_ref.h: ensembles of trees, as they are walked. Both ways in which attributes tell them
 * become one array of nodes:
 *
 *     branch    feature, value or set of values, nodes to go on with
 *     leaf      a run of weights, each for a target
 *
 * Every node, feature but for the number of columns, weight and set is in range, and there are no
 * cycles, so that a walk ends. */
#ifndef ONX_ML_TREES_REF_H
#define ONX_ML_TREES_REF_H

#include "ops/ml/ml_ref.h"

typedef enum onx_tree_mode {
    ONX_TREE_LEQ,
    ONX_TREE_LT,
    ONX_TREE_GTE,
    ONX_TREE_GT,
    ONX_TREE_EQ,
    ONX_TREE_NEQ,
    ONX_TREE_MEMBER,
    ONX_TREE_LEAF,
} onx_tree_mode;

typedef enum onx_tree_aggregate {
    ONX_TREE_AVERAGE,
    ONX_TREE_SUM,
    ONX_TREE_MIN,
    ONX_TREE_MAX,
} onx_tree_aggregate;

typedef struct onx_tree_span {
    uint32_t first, end;
} onx_tree_span;

typedef struct onx_tree_node {
    union {
        double value;
        onx_tree_span span; /* MEMBER: of the members, rising; LEAF: of the weights */
    };
    uint32_t feature, yes, no;
    uint8_t mode;
    bool missing; /* NaN goes to `yes` */
} onx_tree_node;

typedef struct onx_tree_weight {
    double value;
    size_t target;
} onx_tree_weight;

typedef struct onx_trees {
    onx_ml_model model;
    onx_tree_node *nodes;
    onx_tree_weight *weights;
    const double *members, *base;
    uint32_t *roots;
    size_t n_nodes, n_roots, n_weights, n_members, n_base;
    size_t targets, columns; /* columns: that the input must have at least */
    onx_tree_aggregate aggregate;
    bool wide;      /* weights are doubles */
    bool positive;  /* no weight is negative */
    bool one_class; /* all weights are for one class: */
    size_t the_class;
} onx_trees;

/* init: from the attributes of TreeEnsembleClassifier and TreeEnsembleRegressor, whose weights are
 * named `prefix`_weights, and from those of TreeEnsemble. `targets` is 0 when nobody says how many
 * there are: then as many as weights are for. */
onx_status onx_trees_build_old(onx_call *call, onx_trees *trees, const char *prefix) ONX_MUST_CHECK;
onx_status onx_trees_build(onx_call *call, onx_trees *trees) ONX_MUST_CHECK;
/* init, when all is filled in: INVALID where targets are out of range or nodes lead in circles. */
onx_status onx_trees_check(onx_call *call, onx_trees *trees) ONX_MUST_CHECK;
/* A list of `n` integers; NULL: there is none. INVALID: it has another length. */
onx_status onx_trees_ints(onx_call *call, const char *name, size_t n, const int64_t **out)
    ONX_MUST_CHECK;

#endif
