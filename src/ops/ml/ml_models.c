/* ml_models.c: ai.onnx.ml: models that were learned, linear, of support vectors and of trees:
 * inference. */
#include "ops/ml/ml.h"

/* ── What they share ─────────────────────────────────────────────────────────────────────────── */

static bool get_list(const onx_node *node, const char *name, onx_ml_list *out) {
    const onx_attr *attr = onx_node_attr(node, name);
    if (!attr) return false;
    bool is_parameter = attr->ref_attr_name.size > 0;
    *out = (onx_ml_list){name, ONX_DTYPE_NONE, is_parameter ? -1 : (int64_t)onx_attr_count(attr)};
    switch (onx_attr_type_of(attr)) {
    case ONX_ATTR_INTS: out->dtype = ONX_DTYPE_I64; break;
    case ONX_ATTR_FLOATS: out->dtype = ONX_DTYPE_F32; break;
    case ONX_ATTR_STRINGS: out->dtype = ONX_DTYPE_STRING; break;
    case ONX_ATTR_TENSOR:
        out->dtype = attr->t ? onx_tensor_dtype(attr->t) : ONX_DTYPE_NONE;
        out->n = attr->t && onx_tensor_rank(attr->t) == 1 ? onx_tensor_dim(attr->t, 0) : -1;
        break;
    default: return false; /* the checker reports the type */
    }
    return true;
}

onx_status onx_ml_one_of(onx_infer *in, const char *const *names, onx_ml_list *out) {
    *out = (onx_ml_list){NULL, ONX_DTYPE_NONE, 0};
    for (; *names; names++) {
        onx_ml_list list;
        if (!get_list(onx_infer_node(in), *names, &list)) continue;
        if (out->name)
            return onx_infer_fail(in, "%s and %s exclude each other: leave one out", out->name,
                                  list.name);
        *out = list;
    }
    return ONX_OK;
}

const onx_sym *onx_ml_count(const onx_infer *in, const onx_ml_list *list) {
    return list->n < 0 ? NULL : onx_sym_int(onx_infer_syms(in), list->n);
}

onx_status onx_ml_rows(onx_infer *in, const onx_sym **rows, const onx_sym **columns) {
    const onx_fact *x = onx_infer_in(in, 0);
    *rows = *columns = NULL;
    if (!x->ranked) return ONX_OK;
    if (x->rank != 1 && x->rank != 2)
        return onx_infer_fail(in, "the input has %zu dimensions; it needs 2, or 1 for one row",
                              x->rank);
    *rows = x->rank == 2 ? x->dims[0] : onx_sym_int(onx_infer_syms(in), 1);
    *columns = x->dims[x->rank - 1];
    return ONX_OK;
}

onx_status onx_ml_labels(onx_infer *in, const char *ints, onx_ml_list *out) {
    const char *const names[] = {"classlabels_strings", ints};
    *out = (onx_ml_list){NULL, ONX_DTYPE_I64, 0};
    for (size_t i = 0; i < 2; i++) {
        onx_ml_list list;
        if (!get_list(onx_infer_node(in), names[i], &list) || !list.n) continue;
        if (out->name)
            return onx_infer_fail(in, "labels are strings or integers: leave %s or %s out",
                                  names[0], names[1]);
        *out = list;
    }
    return ONX_OK;
}

/* Y: a label for each row; Z: a score for each row and class. */
static onx_status put_classes(onx_infer *in, onx_dtype label, const onx_sym *rows,
                              const onx_sym *classes) {
    const onx_sym *scores[2] = {rows, classes};
    ONX_TRY(onx_infer_tensor(in, 0, label, 1, &rows));
    return onx_infer_tensor(in, 1, ONX_DTYPE_F32, 2, scores);
}

static onx_status put_targets(onx_infer *in, onx_dtype dtype, const onx_sym *targets) {
    const onx_sym *dims[2] = {NULL, targets}, *columns;
    ONX_TRY(onx_ml_rows(in, &dims[0], &columns));
    return onx_infer_tensor(in, 0, dtype, 2, dims);
}

/* ── Linear models ───────────────────────────────────────────────────────────────────────────── */

/* As many scores as there are intercepts, or rows of coefficients; one score can stand for two
 * classes. */
onx_status onx_infer_linear_classifier(onx_infer *in) {
    const onx_sym *rows, *columns, *classes = NULL;
    onx_ml_list labels, intercepts, weights;
    int64_t width, n = -1;
    ONX_TRY(onx_ml_rows(in, &rows, &columns));
    ONX_TRY(onx_ml_labels(in, "classlabels_ints", &labels));
    if (get_list(onx_infer_node(in), "intercepts", &intercepts) && intercepts.n)
        n = intercepts.n;
    else if (get_list(onx_infer_node(in), "coefficients", &weights) && weights.n > 0 &&
             onx_sym_is_int(columns, &width) && width > 0 && weights.n % width == 0)
        n = weights.n / width;
    if (n == 1 && labels.n < 0) n = -1;
    if (n == 1 && labels.n == 2) n = 2;
    if (n >= 0) classes = onx_sym_int(onx_infer_syms(in), n);
    return put_classes(in, labels.dtype, rows, classes);
}

onx_status onx_infer_linear_regressor(onx_infer *in) {
    int64_t targets = onx_infer_int(in, "targets");
    if (targets < 1)
        return onx_infer_fail(in, "targets is %lld; it must be at least 1", (long long)targets);
    return put_targets(in, ONX_DTYPE_F32, onx_sym_int(onx_infer_syms(in), targets));
}

/* ── Support vectors ─────────────────────────────────────────────────────────────────────────── */

onx_status onx_infer_svm_classifier(onx_infer *in) {
    const onx_sym *rows, *columns;
    onx_ml_list labels;
    ONX_TRY(onx_ml_rows(in, &rows, &columns));
    ONX_TRY(onx_ml_labels(in, "classlabels_ints", &labels));
    onx_infer_lost(in, 1, 1,
                   "a score for each class, or for each pair of classes, by the kind of"
                   " model");
    return put_classes(in, labels.dtype, rows, NULL);
}

onx_status onx_infer_svm_regressor(onx_infer *in) {
    return put_targets(in, ONX_DTYPE_F32, onx_sym_int(onx_infer_syms(in), 1));
}

/* ── Trees ───────────────────────────────────────────────────────────────────────────────────── */

/* The same numbers as floats or as a tensor, not both. */
static onx_status check_pairs(onx_infer *in) {
    static const char *const pairs[][3] = {
        {"nodes_values", "nodes_values_as_tensor", NULL},
        {"nodes_hitrates", "nodes_hitrates_as_tensor", NULL},
        {"class_weights", "class_weights_as_tensor", NULL},
        {"target_weights", "target_weights_as_tensor", NULL},
        {"base_values", "base_values_as_tensor", NULL},
    };
    const onx_fact *x = onx_infer_in(in, 0);
    onx_ml_list ignored;
    if (onx_infer_op(in)->since < 3) return ONX_OK;
    if (x->ranked && x->rank != 2)
        return onx_infer_fail(in, "the input has %zu dimensions; it needs 2", x->rank);
    for (size_t i = 0; i < ONX_COUNT(pairs); i++) ONX_TRY(onx_ml_one_of(in, pairs[i], &ignored));
    return ONX_OK;
}

onx_status onx_infer_tree_classifier(onx_infer *in) {
    const onx_sym *rows, *columns;
    onx_ml_list labels;
    ONX_TRY(check_pairs(in));
    ONX_TRY(onx_ml_rows(in, &rows, &columns));
    ONX_TRY(onx_ml_labels(in, "classlabels_int64s", &labels));
    if (!labels.name && onx_infer_op(in)->since >= 3)
        return onx_infer_fail(in, "there are no labels: give classlabels_int64s or"
                                  " classlabels_strings");
    return put_classes(in, labels.dtype, rows, labels.name ? onx_ml_count(in, &labels) : NULL);
}

static const onx_sym *targets_of(onx_infer *in) {
    const onx_attr *attr = onx_node_attr(onx_infer_node(in), "n_targets");
    if (!attr) onx_infer_lost(in, 0, 1, "the attribute n_targets is not there");
    if (!attr || attr->ref_attr_name.size) return NULL;
    return onx_sym_int(onx_infer_syms(in), onx_infer_int(in, "n_targets"));
}

onx_status onx_infer_tree_regressor(onx_infer *in) {
    ONX_TRY(check_pairs(in));
    return put_targets(in, ONX_DTYPE_F32, targets_of(in));
}

/* A list of the ensemble has a type and a length; ONX_DTYPE_NONE, -1: any. */
static onx_status check_list(onx_infer *in, const char *name, onx_dtype dtype, int64_t n) {
    onx_ml_list list;
    if (!get_list(onx_infer_node(in), name, &list)) return ONX_OK;
    if (dtype && list.dtype && list.dtype != dtype)
        return onx_infer_fail(in, "%s is of %s; it must be of %s", name, onx_dtype_name(list.dtype),
                              onx_dtype_name(dtype));
    if (n >= 0 && list.n >= 0 && list.n != n)
        return onx_infer_fail(in, "%s has %lld elements; it must have %lld", name,
                              (long long)list.n, (long long)n);
    return ONX_OK;
}

onx_status onx_infer_tree_ensemble(onx_infer *in) {
    static const struct {
        const char *name;
        onx_dtype dtype;
    } nodes[] = {
        {"nodes_featureids", ONX_DTYPE_I64},   {"nodes_hitrates", ONX_DTYPE_F32},
        {"nodes_modes", ONX_DTYPE_U8},         {"nodes_truenodeids", ONX_DTYPE_I64},
        {"nodes_falsenodeids", ONX_DTYPE_I64}, {"nodes_trueleafs", ONX_DTYPE_I64},
        {"nodes_falseleafs", ONX_DTYPE_I64},   {"nodes_missing_value_tracks_true", ONX_DTYPE_I64}};
    static const char *const tensors[] = {"nodes_splits", "leaf_weights", "membership_values"};
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    const onx_node *node = onx_infer_node(in);
    onx_ml_list splits = {NULL, ONX_DTYPE_NONE, -1}, leaves = {NULL, ONX_DTYPE_NONE, -1};
    ONX_TRY(check_pairs(in));
    for (size_t i = 0; i < ONX_COUNT(tensors); i++) {
        const onx_attr *attr = onx_node_attr(node, tensors[i]);
        ONX_TRY(check_list(in, tensors[i], dtype, -1));
        if (attr && attr->t && onx_tensor_rank(attr->t) != 1)
            return onx_infer_fail(in, "%s has %zu dimensions; it needs 1", tensors[i],
                                  onx_tensor_rank(attr->t));
    }
    get_list(node, "nodes_splits", &splits);
    get_list(node, "leaf_weights", &leaves);
    for (size_t i = 0; i < ONX_COUNT(nodes); i++)
        ONX_TRY(check_list(in, nodes[i].name, nodes[i].dtype, splits.n));
    ONX_TRY(check_list(in, "leaf_targetids", ONX_DTYPE_I64, leaves.n));
    return put_targets(in, dtype, targets_of(in));
}
