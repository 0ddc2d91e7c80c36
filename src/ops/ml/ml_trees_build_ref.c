/* ml_trees_build_ref.c: trees from attributes, which are hostile: every index is looked at, in time
 * that goes with their length, and without recursion. */
#include "ops/ml/ml_trees_ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ── Lists ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status wrong_length(const onx_call *call, const char *name, size_t n, size_t needed) {
    return onx_call_fail(call, ONX_INVALID, "%s has %zu elements; it must have %zu", name, n,
                         needed);
}

onx_status onx_trees_ints(onx_call *call, const char *name, size_t n, const int64_t **out) {
    size_t own = 0;
    *out = onx_op_ints(call->node, name, &own);
    if (!own) *out = NULL;
    return own && own != n ? wrong_length(call, name, own, n) : ONX_OK;
}

/* One that must be there, unless it is empty. */
static onx_status need_ints(onx_call *call, const char *name, size_t n, const int64_t **out) {
    ONX_TRY(onx_trees_ints(call, name, n, out));
    return n && !*out ? wrong_length(call, name, 0, n) : ONX_OK;
}

/* Numbers of a name, or of the same with "_as_tensor"; `wide`: they are doubles. */
static onx_status need_doubles(onx_call *call, const char *name, size_t n, const double **out,
                               bool *wide) {
    char other[64];
    size_t own = 0;
    ONX_TRY(onx_ml_doubles(call, name, out, &own));
    if (!own) {
        const onx_attr *attr;
        (void)snprintf(other, sizeof other, "%s_as_tensor", name);
        ONX_TRY(onx_ml_doubles(call, other, out, &own));
        attr = onx_node_attr(call->node, other);
        if (wide) *wide = attr && attr->t && onx_tensor_dtype(attr->t) == ONX_DTYPE_F64;
    }
    return own == n ? ONX_OK : wrong_length(call, name, own, n);
}

static onx_status take_nodes(onx_call *call, onx_trees *trees, size_t nodes, size_t weights) {
    if (nodes > UINT32_MAX || weights > UINT32_MAX)
        return onx_call_fail(call, ONX_LIMIT, "%zu nodes with %zu weights are too many", nodes,
                             weights);
    trees->nodes = onx_arena_array(call->arena, nodes + 1, sizeof *trees->nodes);
    trees->weights = onx_arena_array(call->arena, weights + 1, sizeof *trees->weights);
    trees->n_nodes = nodes;
    trees->n_weights = weights;
    return trees->nodes && trees->weights ? ONX_OK : onx_fail_nomem(call->diag);
}

/* What a branch looks at, checked. */
static onx_status set_feature(const onx_call *call, onx_trees *trees, size_t i, int64_t feature) {
    if (feature < 0 || feature >= UINT32_MAX)
        return onx_call_fail(call, ONX_INVALID, "node %zu asks for feature %lld", i,
                             (long long)feature);
    trees->nodes[i].feature = (uint32_t)feature;
    if (trees->columns <= (size_t)feature) trees->columns = (size_t)feature + 1;
    return ONX_OK;
}

/* ── Checks of the whole ─────────────────────────────────────────────────────────────────────── */

static onx_status check_targets(const onx_call *call, onx_trees *trees) {
    size_t most = 0;
    trees->positive = trees->one_class = true;
    trees->the_class = trees->n_weights ? trees->weights[0].target : 0;
    for (size_t i = 0; i < trees->n_weights; i++) {
        const onx_tree_weight *weight = &trees->weights[i];
        most = weight->target >= most ? weight->target + 1 : most;
        trees->positive &= weight->value >= 0;
        trees->one_class &= weight->target == trees->the_class;
    }
    if (!trees->targets) trees->targets = most ? most : 1;
    if (most <= trees->targets) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "a weight is for target or class %zu of %zu", most - 1,
                         trees->targets);
}

/* Nodes are taken away from above: first those that nobody leads to. What is left in the end are
 * circles. parents[i]: how many branches lead to node i; the rest is a stack. */
static bool has_circles(const onx_trees *trees, uint32_t *parents, uint32_t *stack) {
    size_t top = 0, gone = 0;
    for (size_t i = 0; i < trees->n_nodes; i++)
        if (trees->nodes[i].mode != ONX_TREE_LEAF)
            parents[trees->nodes[i].yes]++, parents[trees->nodes[i].no]++;
    for (size_t i = 0; i < trees->n_nodes; i++)
        if (!parents[i]) stack[top++] = (uint32_t)i;
    for (; top; gone++) {
        const onx_tree_node *node = &trees->nodes[stack[--top]];
        if (node->mode == ONX_TREE_LEAF) continue;
        if (!--parents[node->yes]) stack[top++] = node->yes;
        if (!--parents[node->no]) stack[top++] = node->no;
    }
    return gone < trees->n_nodes;
}

onx_status onx_trees_check(onx_call *call, onx_trees *trees) {
    size_t bytes;
    ONX_TRY(check_targets(call, trees));
    if (!onx_mul_size(trees->n_nodes + 1, 2 * sizeof(uint32_t), &bytes))
        return onx_fail_nomem(call->diag);
    uint32_t *parents = onx_mem_alloc(call->ctx, bytes);
    if (!parents) return onx_fail_nomem(call->diag);
    memset(parents, 0, bytes);
    bool circles = has_circles(trees, parents, parents + trees->n_nodes);
    onx_mem_free(call->ctx, parents, bytes);
    return circles ? onx_call_fail(call, ONX_INVALID, "nodes of the trees lead in circles")
                   : ONX_OK;
}

/* ── TreeEnsembleClassifier, TreeEnsembleRegressor ───────────────────────────────────────────── */

/* Nodes are named by tree and number. */
typedef struct names {
    onx_call *call;
    onx_trees *trees;
    onx_map map;
    int64_t (*ids)[2];
    size_t bytes;
} names;

static onx_str name_of(const int64_t id[2]) {
    return (onx_str){(const char *)id, 2 * sizeof *id};
}

/* The node; n_nodes: there is none. */
static size_t find_node(const names *n, int64_t tree, int64_t node) {
    int64_t id[2] = {tree, node};
    uintptr_t found = (uintptr_t)onx_map_get(&n->map, NULL, name_of(id));
    return found ? (size_t)found - 1 : n->trees->n_nodes;
}

/* The first node of a tree is its root. Trees are kept in the same map, with another owner. */
static onx_status add_root(names *n, size_t i) {
    onx_str tree = {(const char *)n->ids[i], sizeof n->ids[i][0]};
    if (onx_map_get(&n->map, n->trees, tree)) return ONX_OK;
    n->trees->roots[n->trees->n_roots++] = (uint32_t)i;
    return onx_map_put(&n->map, n->trees, tree, n->trees) ? ONX_OK : onx_fail_nomem(n->call->diag);
}

static onx_status name_nodes(names *n) {
    onx_call *call = n->call;
    const int64_t *trees = NULL, *numbers = NULL;
    ONX_TRY(need_ints(call, "nodes_treeids", n->trees->n_nodes, &trees));
    ONX_TRY(need_ints(call, "nodes_nodeids", n->trees->n_nodes, &numbers));
    for (size_t i = 0; i < n->trees->n_nodes; i++) {
        n->ids[i][0] = trees[i];
        n->ids[i][1] = numbers[i];
        if (onx_map_get(&n->map, NULL, name_of(n->ids[i])))
            return onx_call_fail(call, ONX_INVALID, "tree %lld has two nodes %lld",
                                 (long long)trees[i], (long long)numbers[i]);
        if (!onx_map_put(&n->map, NULL, name_of(n->ids[i]), (void *)(uintptr_t)(i + 1)))
            return onx_fail_nomem(call->diag);
        ONX_TRY(add_root(n, i));
    }
    return ONX_OK;
}

static onx_status get_mode(const onx_call *call, onx_str name, uint8_t *out) {
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
    for (uint8_t i = 0; i < ONX_COUNT(modes); i++) {
        *out = i;
        if (i != ONX_TREE_MEMBER && onx_str_is(name, modes[i])) return ONX_OK;
    }
    return onx_call_fail(call, ONX_INVALID, "there is no mode '%.*s' of nodes", ONX_FMT(name));
}

static onx_status link_node(names *n, size_t i, int64_t id, uint32_t *out) {
    size_t found = find_node(n, n->ids[i][0], id);
    *out = (uint32_t)found;
    if (found < n->trees->n_nodes) return ONX_OK;
    return onx_call_fail(n->call, ONX_INVALID,
                         "node %lld of tree %lld leads to %lld, which is none",
                         (long long)n->ids[i][1], (long long)n->ids[i][0], (long long)id);
}

static onx_status fill_nodes(names *n, const onx_attr *modes) {
    onx_call *call = n->call;
    onx_trees *trees = n->trees;
    size_t count = trees->n_nodes;
    const int64_t *features, *yes, *no, *missing;
    const double *values;
    ONX_TRY(need_ints(call, "nodes_featureids", count, &features));
    ONX_TRY(need_ints(call, "nodes_truenodeids", count, &yes));
    ONX_TRY(need_ints(call, "nodes_falsenodeids", count, &no));
    ONX_TRY(onx_trees_ints(call, "nodes_missing_value_tracks_true", count, &missing));
    ONX_TRY(need_doubles(call, "nodes_values", count, &values, NULL));
    for (size_t i = 0; i < count; i++) {
        onx_tree_node *node = &trees->nodes[i];
        ONX_TRY(get_mode(call, modes->strings.v[i], &node->mode));
        if (node->mode == ONX_TREE_LEAF) continue;
        node->value = values[i];
        node->missing = missing && missing[i];
        ONX_TRY(set_feature(call, trees, i, features[i]));
        ONX_TRY(link_node(n, i, yes[i], &node->yes));
        ONX_TRY(link_node(n, i, no[i], &node->no));
    }
    return ONX_OK;
}

/* What the weights are: of which leaf, for whom. */
typedef struct weight_lists {
    const int64_t *trees, *nodes, *ids;
    const double *values;
} weight_lists;

static onx_status get_weights(onx_call *call, onx_trees *trees, const char *prefix, size_t n,
                              weight_lists *out) {
    char name[32];
    (void)snprintf(name, sizeof name, "%s_treeids", prefix);
    ONX_TRY(need_ints(call, name, n, &out->trees));
    (void)snprintf(name, sizeof name, "%s_nodeids", prefix);
    ONX_TRY(need_ints(call, name, n, &out->nodes));
    (void)snprintf(name, sizeof name, "%s_ids", prefix);
    ONX_TRY(need_ints(call, name, n, &out->ids));
    (void)snprintf(name, sizeof name, "%s_weights", prefix);
    ONX_TRY(need_doubles(call, name, n, &out->values, &trees->wide));
    for (size_t i = 0; i < n; i++)
        if (out->ids[i] < 0)
            return onx_call_fail(call, ONX_INVALID, "a weight is for target or class %lld",
                                 (long long)out->ids[i]);
    return ONX_OK;
}

/* Weights lie together by leaf: counted, then placed. Those of branches are for nobody, but they
 * are read all the same: whether all weights are positive counts them, too. */
static onx_status place_weights(names *n, const weight_lists *w) {
    onx_trees *trees = n->trees;
    uint32_t *ends = onx_arena_array(n->call->arena, trees->n_nodes + 1, sizeof *ends), at = 0;
    if (!ends) return onx_fail_nomem(n->call->diag);
    for (size_t i = 0; i < trees->n_weights; i++) {
        size_t node = find_node(n, w->trees[i], w->nodes[i]);
        if (node == trees->n_nodes)
            return onx_call_fail(n->call, ONX_INVALID,
                                 "a weight is of node %lld of tree %lld,"
                                 " which there is not",
                                 (long long)w->nodes[i], (long long)w->trees[i]);
        ends[node]++;
    }
    for (size_t i = 0; i < trees->n_nodes; i++) {
        uint32_t first = at;
        at += ends[i];
        ends[i] = first;
        if (trees->nodes[i].mode == ONX_TREE_LEAF)
            trees->nodes[i].span = (onx_tree_span){first, at};
    }
    for (size_t i = 0; i < trees->n_weights; i++) {
        size_t node = find_node(n, w->trees[i], w->nodes[i]);
        trees->weights[ends[node]++] = (onx_tree_weight){w->values[i], (size_t)w->ids[i]};
    }
    return ONX_OK;
}

static onx_status build_named(names *n, const onx_attr *modes, const weight_lists *weights) {
    ONX_TRY(name_nodes(n));
    ONX_TRY(fill_nodes(n, modes));
    return place_weights(n, weights);
}

onx_status onx_trees_build_old(onx_call *call, onx_trees *trees, const char *prefix) {
    const onx_attr *modes = onx_node_attr(call->node, "nodes_modes");
    size_t count = modes ? modes->strings.n : 0, weights = 0;
    char name[32];
    names n = {.call = call, .trees = trees};
    weight_lists lists;
    (void)snprintf(name, sizeof name, "%s_ids", prefix);
    (void)onx_op_ints(call->node, name, &weights);
    ONX_TRY(take_nodes(call, trees, count, weights));
    ONX_TRY(get_weights(call, trees, prefix, weights, &lists));
    trees->roots = onx_arena_array(call->arena, count + 1, sizeof *trees->roots);
    if (!trees->roots || !onx_mul_size(count + 1, sizeof *n.ids, &n.bytes))
        return onx_fail_nomem(call->diag);
    n.ids = onx_mem_alloc(call->ctx, n.bytes);
    if (!n.ids) return onx_fail_nomem(call->diag);
    onx_map_init(&n.map, call->ctx);
    onx_status status = build_named(&n, modes, &lists);
    onx_map_fini(&n.map);
    onx_mem_free(call->ctx, n.ids, n.bytes);
    return status;
}

/* ── TreeEnsemble ────────────────────────────────────────────────────────────────────────────── */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets follow each other in the order of the nodes they are for, with a NaN behind each. */
static onx_status take_sets(onx_call *call, onx_trees *trees, size_t branches) {
    size_t n = 0, at = 0;
    const double *all = NULL;
    ONX_TRY(onx_ml_doubles(call, "membership_values", &all, &n));
    double *members = (double *)(uintptr_t)all;
    if (n > UINT32_MAX) return onx_call_fail(call, ONX_LIMIT, "there are too many members of sets");
    for (size_t i = 0; i < branches; i++) {
        size_t first = at;
        if (trees->nodes[i].mode != ONX_TREE_MEMBER) continue;
        while (at < n && !isnan(members[at])) at++;
        if (first == n)
            return onx_call_fail(call, ONX_INVALID, "membership_values has no set for node %zu", i);
        qsort(members + first, at - first, sizeof *members, by_value);
        trees->nodes[i].span = (onx_tree_span){(uint32_t)first, (uint32_t)at};
        at += at < n;
    }
    trees->members = members;
    trees->n_members = n;
    return at == n ? ONX_OK
                   : onx_call_fail(call, ONX_INVALID,
                                   "membership_values has more sets than there are nodes for them");
}

/* Where a branch leads: to a leaf, which stand behind the branches, or to a branch. */
static onx_status link_branch(const onx_call *call, const onx_trees *trees, size_t branches,
                              int64_t leaf, int64_t id, uint32_t *out) {
    size_t n = leaf ? trees->n_nodes - branches : branches;
    if (id < 0 || (uint64_t)id >= n)
        return onx_call_fail(call, ONX_INVALID, "a node leads to %s %lld of %zu",
                             leaf ? "leaf" : "node", (long long)id, n);
    *out = (uint32_t)((size_t)id + (leaf ? branches : 0));
    return ONX_OK;
}

static onx_status fill_branches(onx_call *call, onx_trees *trees, size_t n,
                                const onx_ml_values *modes) {
    const int64_t *features, *yes, *no, *yes_leaf, *no_leaf, *missing;
    const double *splits;
    ONX_TRY(need_ints(call, "nodes_featureids", n, &features));
    ONX_TRY(need_ints(call, "nodes_truenodeids", n, &yes));
    ONX_TRY(need_ints(call, "nodes_falsenodeids", n, &no));
    ONX_TRY(need_ints(call, "nodes_trueleafs", n, &yes_leaf));
    ONX_TRY(need_ints(call, "nodes_falseleafs", n, &no_leaf));
    ONX_TRY(onx_trees_ints(call, "nodes_missing_value_tracks_true", n, &missing));
    ONX_TRY(need_doubles(call, "nodes_splits", n, &splits, NULL));
    for (size_t i = 0; i < n; i++) {
        onx_tree_node *node = &trees->nodes[i];
        node->mode = (uint8_t)modes->data[i];
        if (node->mode > ONX_TREE_MEMBER)
            return onx_call_fail(call, ONX_INVALID, "node %zu has mode %d", i, node->mode);
        node->value = splits[i];
        node->missing = missing && missing[i];
        ONX_TRY(set_feature(call, trees, i, features[i]));
        ONX_TRY(link_branch(call, trees, n, yes_leaf[i], yes[i], &node->yes));
        ONX_TRY(link_branch(call, trees, n, no_leaf[i], no[i], &node->no));
    }
    return take_sets(call, trees, n);
}

static onx_status fill_leaves(onx_call *call, onx_trees *trees, size_t branches) {
    const int64_t *ids;
    const double *values;
    size_t n = trees->n_weights;
    ONX_TRY(need_ints(call, "leaf_targetids", n, &ids));
    ONX_TRY(need_doubles(call, "leaf_weights", n, &values, NULL));
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0)
            return onx_call_fail(call, ONX_INVALID, "leaf %zu is for target %lld", i,
                                 (long long)ids[i]);
        trees->weights[i] = (onx_tree_weight){values[i], (size_t)ids[i]};
        trees->nodes[branches + i] =
            (onx_tree_node){.mode = ONX_TREE_LEAF, .span = {(uint32_t)i, (uint32_t)i + 1}};
    }
    return ONX_OK;
}

static onx_status fill_roots(onx_call *call, onx_trees *trees, size_t branches) {
    size_t n = 0;
    const int64_t *roots = onx_op_ints(call->node, "tree_roots", &n);
    trees->roots = onx_arena_array(call->arena, n + 1, sizeof *trees->roots);
    if (!trees->roots) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < n; i++) {
        if (roots[i] < 0 || (uint64_t)roots[i] >= branches)
            return onx_call_fail(call, ONX_INVALID, "a tree begins with node %lld of %zu",
                                 (long long)roots[i], branches);
        trees->roots[i] = (uint32_t)roots[i];
    }
    trees->n_roots = n;
    return ONX_OK;
}

onx_status onx_trees_build(onx_call *call, onx_trees *trees) {
    onx_ml_values modes;
    size_t leaves = 0, nodes;
    ONX_TRY(onx_ml_values_get(call, "nodes_modes", &modes));
    (void)onx_op_ints(call->node, "leaf_targetids", &leaves);
    if (modes.n && modes.dtype != ONX_DTYPE_U8)
        return onx_call_fail(call, ONX_INVALID, "nodes_modes is of type %s; it must be of uint8",
                             onx_dtype_name(modes.dtype));
    if (!onx_add_size(modes.n, leaves, &nodes)) return onx_fail_nomem(call->diag);
    ONX_TRY(take_nodes(call, trees, nodes, leaves));
    ONX_TRY(fill_branches(call, trees, modes.n, &modes));
    ONX_TRY(fill_leaves(call, trees, modes.n));
    trees->wide = true;
    return fill_roots(call, trees, modes.n);
}
