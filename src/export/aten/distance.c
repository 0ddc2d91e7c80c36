/* distance.c: distances and angles between vectors. */
#include "export/aten/lowering.h"

static void lower_dist(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *w;
    if (onx_x_pair(x, &a[0], &a[1], &v, &w))
        onx_x_give(
            x, out,
            onx_x_norm(x, onx_emit(x, "Sub", v, w), onx_xv_real(x, &a[2], 2), 0, NULL, false));
}

static void lower_pairwise_distance(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v, *w;
    int64_t last = -1;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &w)) return;
    double eps = onx_xv_real(x, &a[3], 1e-6);
    onx_value *gap = onx_emit(x, "Sub", v, w);
    if (eps != 0) gap = onx_emit_number(x, "Add", gap, eps);
    onx_x_give(x, out, onx_x_norm(x, gap, onx_xv_real(x, &a[2], 2), 1, &last, onx_xv_true(&a[4])));
}

/* Every row of one with every row of the other. */
static void give_cdist(onx_export *x, const onx_xv *a, double p, onx_xv *out) {
    onx_value *v, *w;
    int64_t last = -1;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &w)) return;
    onx_value *gap = onx_emit(x, "Sub", onx_x_unsqueeze(x, v, -2), onx_x_unsqueeze(x, w, -3));
    onx_x_give(x, out, onx_x_norm(x, gap, p, 1, &last, false));
}
static void lower_cdist(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cdist(x, a, onx_xv_real(x, &a[2], 2), out);
}
static void lower_euclidean_dist(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cdist(x, a, 2, out);
}

/* Each row with every later one: the places of the upper triangle. */
static void lower_pdist(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    int64_t last = -1;
    if (!v) return;
    onx_xv n = onx_x_size_of(x, v, 0);
    onx_value *rows = onx_x_count(x, &n);
    onx_value *places =
        onx_emit(x, "NonZero", onx_emit(x, "Less", onx_x_unsqueeze(x, rows, 1), rows));
    onx_value *gap = onx_emit(x, "Sub", onx_emit(x, "Gather", v, onx_x_pick(x, places, 0, 0)),
                              onx_emit(x, "Gather", v, onx_x_pick(x, places, 0, 1)));
    onx_x_give(x, out, onx_x_norm(x, gap, onx_xv_real(x, &a[1], 2), 1, &last, false));
}

/* Both of length 1, at least eps before, times each other. */
static void lower_cosine_similarity(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v[2];
    if (!onx_x_pair(x, &a[0], &a[1], &v[0], &v[1])) return;
    size_t rank = onx_x_rank(x, v[0]), other = onx_x_rank(x, v[1]), axis;
    if (!onx_x_ok(x)) return;
    if (other > rank) rank = other;
    if (!onx_x_axis(x, onx_xv_whole(x, &a[2], 1), rank, &axis)) return;
    int64_t back = (int64_t)axis - (int64_t)rank; /* ranks may differ */
    double eps = onx_xv_real(x, &a[3], 1e-8);
    for (size_t i = 0; i < 2; i++) {
        onx_value *norm = onx_x_norm(x, v[i], 2, 1, &back, true);
        v[i] = onx_emit(x, "Div", v[i], onx_emit_number(x, "Max", norm, eps));
    }
    onx_x_give(x, out,
               onx_x_reduce(x, "ReduceSum", onx_emit(x, "Mul", v[0], v[1]), 1, &back, false));
}

/* a[1]·b[2] - a[2]·b[1], and so on around. */
static void give_cross(onx_export *x, const onx_xv *a, int64_t dim, onx_xv *out) {
    static const int64_t next[] = {1, 2, 0}, after[] = {2, 0, 1};
    onx_value *v, *w;
    if (!onx_x_pair(x, &a[0], &a[1], &v, &w)) return;
    const onx_xattr *at = ONX_ATTRS(ONX_AI("axis", dim));
    onx_value *one = onx_x_ints(x, 3, next), *two = onx_x_ints(x, 3, after);
    onx_value *plus = onx_emit(x, "Mul", onx_emit_with(x, "Gather", at, v, one),
                               onx_emit_with(x, "Gather", at, w, two));
    onx_value *minus = onx_emit(x, "Mul", onx_emit_with(x, "Gather", at, v, two),
                                onx_emit_with(x, "Gather", at, w, one));
    onx_x_give(x, out, onx_emit(x, "Sub", plus, minus));
}

/* Without a dimension: the first one of size 3. */
static void lower_cross(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t dim = 0, size = 0;
    onx_value *v = onx_xv_value(x, a);
    if (onx_xv_is(&a[2], ONX_X_NONE)) {
        size_t rank = onx_x_rank(x, v);
        if (rank == SIZE_MAX) return;
        while ((size_t)dim < rank && !(onx_x_known_dim(x, v, (size_t)dim, &size) && size == 3))
            dim++;
    } else {
        dim = onx_xv_whole(x, &a[2], -1);
    }
    give_cross(x, a, dim, out);
}
static void lower_linalg_cross(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cross(x, a, onx_xv_whole(x, &a[2], -1), out);
}

const onx_aten onx_aten_distance[] = {
    {"dist(Tensor self, Tensor other, Scalar p=2)", lower_dist, NULL},
    {"pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False)",
     lower_pairwise_distance, NULL},
    {"cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None)", lower_cdist, NULL},
    {"_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode)", lower_cdist, NULL},
    {"_euclidean_dist(Tensor x1, Tensor x2)", lower_euclidean_dist, NULL},
    {"pdist(Tensor self, float p=2.)", lower_pdist, NULL},
    {"_pdist_forward(Tensor self, float p=2.)", lower_pdist, NULL},
    {"cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", lower_cosine_similarity,
     NULL},
    {"cross(Tensor self, Tensor other, int? dim=None)", lower_cross, NULL},
    {"linalg_cross(Tensor self, Tensor other, *, int dim=-1)", lower_linalg_cross, NULL},
    {NULL, NULL, NULL},
};
