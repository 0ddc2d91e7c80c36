/* ml_trees_ref.c: TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor: walks, and what the
 * leaves add up to. ml_trees_build_ref.c makes the trees. */
#include "ops/ml/ml_trees_ref.h"

#include <math.h>

/* ── Walks ───────────────────────────────────────────────────────────────────────────────────── */

static bool is_member(const onx_trees *trees, onx_tree_span set, double x) {
    size_t low = set.first, high = set.end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trees->members[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set.end && trees->members[low] == x;
}

static bool goes_yes(const onx_trees *trees, const onx_tree_node *node, double x) {
    if (isnan(x)) return node->missing;
    switch ((onx_tree_mode)node->mode) {
    case ONX_TREE_LEQ: return x <= node->value;
    case ONX_TREE_LT: return x < node->value;
    case ONX_TREE_GTE: return x >= node->value;
    case ONX_TREE_GT: return x > node->value;
    case ONX_TREE_EQ: return x == node->value;
    case ONX_TREE_NEQ: return x != node->value;
    case ONX_TREE_MEMBER: return is_member(trees, node->span, x);
    case ONX_TREE_LEAF: break;
    }
    return false;
}

static onx_tree_span leaf_of(const onx_trees *trees, uint32_t root, const double *x) {
    const onx_tree_node *node = &trees->nodes[root];
    while (node->mode != ONX_TREE_LEAF)
        node = &trees->nodes[goes_yes(trees, node, x[node->feature]) ? node->yes : node->no];
    return node->span;
}

/* ── Sums ────────────────────────────────────────────────────────────────────────────────────── */

static void add(onx_tree_aggregate aggregate, double value, double *sum, double *seen) {
    if (*seen == 0)
        *sum = value;
    else if (aggregate == ONX_TREE_MIN)
        *sum = value < *sum ? value : *sum;
    else if (aggregate == ONX_TREE_MAX)
        *sum = value > *sum ? value : *sum;
    else
        *sum += value;
    *seen = 1;
}

/* Scores of all targets; false: the run was stopped. Where weights are floats, so are sums: what
 * looks like a tie then is one. */
static bool aggregate(const onx_call *call, const onx_trees *trees, const double *x, double *sums,
                      double *seen) {
    memset(sums, 0, trees->targets * sizeof *sums);
    memset(seen, 0, trees->targets * sizeof *seen);
    for (size_t t = 0; t < trees->n_roots; t++) {
        if (t % 1024 == 1023 && onx_call_stopped(call)) return false;
        onx_tree_span leaf = leaf_of(trees, trees->roots[t], x);
        for (size_t w = leaf.first; w < leaf.end; w++) {
            const onx_tree_weight *weight = &trees->weights[w];
            add(trees->aggregate, weight->value, &sums[weight->target], &seen[weight->target]);
        }
    }
    for (size_t i = 0; i < trees->targets; i++) {
        if (trees->aggregate == ONX_TREE_AVERAGE && trees->n_roots)
            sums[i] /= (double)trees->n_roots;
        if (i < trees->n_base) sums[i] += trees->base[i];
        if (!trees->wide) sums[i] = (double)(float)sums[i];
    }
    return true;
}

static bool score_targets(const onx_call *call, const onx_ml_model *model, const onx_ml_plan *plan,
                          const double *x, double *scores, double *work, size_t *pick) {
    const onx_trees *trees = (const onx_trees *)model;
    (void)plan, (void)pick;
    if (!aggregate(call, trees, x, scores, work)) return false;
    onx_ml_transform_run(model->transform, scores, trees->targets);
    return true;
}

/* Two classes may share one score: that of the second, whichever its weights are said to be for.
 * One class alone is in a row, or not: then its label is the second one, which init has added. */
static bool score_classes(const onx_call *call, const onx_ml_model *model, const onx_ml_plan *plan,
                          const double *x, double *scores, double *work, size_t *pick) {
    const onx_trees *trees = (const onx_trees *)model;
    double threshold = trees->positive ? 0.5 : 0;
    bool one = trees->targets == 2 && trees->one_class;
    (void)plan;
    if (!aggregate(call, trees, x, scores, work)) return false;
    *pick = one                   ? scores[trees->the_class] > threshold
            : trees->targets == 1 ? !(scores[0] > 0)
                                  : onx_ml_largest(scores, trees->targets);
    if (one && trees->the_class == 0)
        onx_ml_transform_pair(model->transform, !trees->positive, scores);
    else
        onx_ml_transform_run(model->transform, scores, trees->targets);
    return true;
}

/* ── Setting up ──────────────────────────────────────────────────────────────────────────────── */

static onx_status fit(const onx_call *call, const onx_ml_model *model, onx_ml_plan *plan) {
    const onx_trees *trees = (const onx_trees *)model;
    plan->scores = trees->targets;
    if (plan->columns >= trees->columns) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "feature %zu is asked for, but there are %zu columns",
                         trees->columns - 1, plan->columns);
}

static onx_status get_aggregate(onx_call *call, onx_trees *trees) {
    int which;
    ONX_TRY(onx_call_choice(call, "aggregate_function", "AVERAGE, SUM, MIN, MAX", &which));
    trees->aggregate = (onx_tree_aggregate)which;
    return ONX_OK;
}

static onx_status get_targets(onx_call *call, onx_trees *trees) {
    int64_t targets = onx_call_int(call, "n_targets");
    trees->targets = (size_t)targets;
    if (!onx_op_has(call->node, "n_targets") || targets > 0) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "n_targets is %lld", (long long)targets);
}

/* A base for each target; with two classes one is enough. */
static onx_status get_base(onx_call *call, onx_trees *trees) {
    static const char *const names[] = {"base_values", "base_values_as_tensor", NULL};
    for (size_t i = 0; names[i] && !trees->n_base; i++)
        ONX_TRY(onx_ml_doubles(call, names[i], &trees->base, &trees->n_base));
    bool fewer = trees->model.classifies && trees->targets == 2 && trees->n_base == 1;
    if (!trees->n_base || trees->n_base == trees->targets || fewer) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "there are %zu base_values for %zu targets",
                         trees->n_base, trees->targets);
}

static onx_status init_new(onx_call *call, onx_trees *trees) {
    int64_t aggregate_ = onx_call_int(call, "aggregate_function");
    int64_t transform = onx_call_int(call, "post_transform");
    if (aggregate_ < ONX_TREE_AVERAGE || aggregate_ > ONX_TREE_MAX)
        return onx_call_fail(call, ONX_INVALID, "there is no aggregate_function %lld",
                             (long long)aggregate_);
    if (transform < ONX_ML_NONE || transform > ONX_ML_PROBIT)
        return onx_call_fail(call, ONX_INVALID, "there is no post_transform %lld",
                             (long long)transform);
    trees->aggregate = (onx_tree_aggregate)aggregate_;
    trees->model.transform = (onx_ml_transform)transform;
    trees->model.dtype = (onx_dtype)call->in[0]->dtype;
    ONX_TRY(get_targets(call, trees));
    return onx_trees_build(call, trees);
}

/* What a single class is not, behind it. */
static onx_status add_label(onx_call *call, onx_ml_values *labels) {
    int64_t *numbers = onx_arena_array(call->arena, 2, sizeof *numbers);
    onx_str *names = onx_arena_array(call->arena, 2, sizeof *names);
    if (!numbers || !names) return onx_fail_nomem(call->diag);
    if (labels->strings)
        names[0] = labels->strings[0], names[1] = (onx_str){"", 0};
    else
        memcpy(numbers, labels->data, sizeof *numbers);
    *labels = (onx_ml_values){labels->dtype, 2, (char *)numbers, labels->strings ? names : NULL};
    return ONX_OK;
}

static onx_status init_old(onx_call *call, onx_trees *trees) {
    ONX_TRY(onx_ml_transform_get(call, &trees->model.transform));
    if (trees->model.classifies) {
        trees->aggregate = ONX_TREE_SUM;
        trees->targets = trees->model.labels.n;
        if (trees->targets == 1) ONX_TRY(add_label(call, &trees->model.labels));
    } else {
        ONX_TRY(get_aggregate(call, trees));
        ONX_TRY(get_targets(call, trees));
    }
    return onx_trees_build_old(call, trees, trees->model.classifies ? "class" : "target");
}

onx_status onx_ml_trees_init(onx_call *call) {
    onx_trees *trees = onx_call_state(call, sizeof *trees);
    bool classifies = strcmp(call->op->name, "TreeEnsembleClassifier") == 0;
    bool old = classifies || strcmp(call->op->name, "TreeEnsembleRegressor") == 0;
    if (!trees) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_ml_model_init(call, &trees->model, classifies ? "classlabels_int64s" : NULL));
    trees->model.fit = fit;
    trees->model.score = classifies ? score_classes : score_targets;
    ONX_TRY(old ? init_old(call, trees) : init_new(call, trees));
    ONX_TRY(onx_trees_check(call, trees));
    ONX_TRY(get_base(call, trees));
    trees->model.work = trees->targets;
    trees->model.cost = 16 * trees->n_roots + trees->targets;
    return ONX_OK;
}
