/* embed.c: rows of a table by their numbers, alone or summed in bags, and numbers as rows of ones
 * and zeros. */
#include "export/aten/nn_args.h"

#include <math.h>

/* (weight, indices …) */
static void lower_embedding(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_emit(x, "Gather", onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[1])));
}

/* (self, num_classes): -1: one more than the largest. */
static void lower_one_hot(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t off_on[] = {0, 1};
    onx_value *v = onx_nn_tensor(x, &a[0]), *depth;
    int64_t n;
    if (!v) return;
    if (onx_xv_known_int(&a[1], &n) && n < 0)
        depth = onx_nn_plus(x, onx_x_reduce(x, "ReduceMax", v, 0, NULL, false), 1);
    else
        depth = onx_x_scalar(x, &a[1], ONX_DTYPE_I64);
    onx_x_give(x, out, onx_emit(x, "OneHot", v, depth, onx_x_ints(x, 2, off_on)));
}

/* ─ Bags ─────────────────────────────────────────────────────────────────────────────────────── */

typedef struct bags {
    onx_value *rows;   /* [indices, width] */
    onx_value *inside; /* [bags, indices]: is it in that bag? */
    onx_dtype dtype;
} bags;

/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx): bag i is from offset i up to the next, or to the end. */
static bool open_bags(onx_export *x, const onx_xv *a, const onx_xv *padding, bags *b) {
    onx_value *weight = onx_nn_tensor(x, &a[0]), *indices = onx_nn_tensor(x, &a[1]);
    onx_value *offsets = onx_x_as(x, &a[2], ONX_DTYPE_I64), *each = onx_nn_tensor(x, &a[6]);
    onx_xv zero = onx_xv_int(x, 0), one = onx_xv_int(x, 1), last = onx_xv_int(x, -1);
    onx_xv most = onx_xv_int(x, INT64_MAX);
    int64_t padded;
    if (!weight || !indices || !offsets || onx_x_rank(x, indices) != 1) return false;
    onx_xv count = onx_x_size_of(x, indices, 0);
    onx_value *end = onx_x_slice(x, offsets, 0, one, most, 1);
    if (onx_xv_true(&a[7])) {
        offsets = onx_x_slice(x, offsets, 0, zero, last, 1);
    } else {
        onx_value *ends[] = {end, onx_x_shape(x, 1, &count)};
        end = onx_x_concat(x, 2, ends, 0);
    }
    onx_value *at = onx_x_count(x, &count);
    b->dtype = onx_x_dtype(x, weight);
    b->rows = onx_emit(x, "Gather", weight, indices);
    if (each) b->rows = onx_emit(x, "Mul", b->rows, onx_x_unsqueeze(x, each, 1));
    onx_value *begun = onx_emit(x, "GreaterOrEqual", at, onx_x_unsqueeze(x, offsets, 1));
    b->inside = onx_emit(x, "And", begun, onx_emit(x, "Less", at, onx_x_unsqueeze(x, end, 1)));
    if (onx_xv_known_int(padding, &padded) && padded >= 0) {
        onx_value *number = onx_x_number(x, onx_x_dtype(x, indices), (double)padded);
        onx_value *real = onx_emit(x, "Not", onx_emit(x, "Equal", indices, number));
        b->inside = onx_emit(x, "And", b->inside, real);
    }
    return onx_x_ok(x);
}

/* How many are in each bag, at least 1: [bags, 1]. */
static onx_value *bag_sizes(onx_export *x, const bags *b, onx_value *inside) {
    static const int64_t axis = 1;
    onx_value *n = onx_x_reduce(x, "ReduceSum", inside, 1, &axis, true);
    return onx_emit(x, "Max", n, onx_x_number(x, b->dtype, 1));
}

/* The largest of each bag, and 0 of those that are empty. */
static onx_value *bag_max(onx_export *x, const bags *b) {
    static const int64_t axis = 1;
    onx_value *in = onx_x_unsqueeze(x, b->inside, 2);
    onx_value *all = onx_emit(x, "Where", in, b->rows, onx_x_number(x, b->dtype, -INFINITY));
    onx_value *y = onx_x_reduce(x, "ReduceMax", all, 1, &axis, false);
    onx_value *none = onx_emit(x, "IsInf", onx_x_cast(x, y, ONX_DTYPE_F32));
    return onx_emit(x, "Where", none, onx_x_number(x, b->dtype, 0), y);
}

static void embed_bags(onx_export *x, const onx_xv *a, const onx_xv *padding, onx_xv *out) {
    bags b;
    int64_t mode = onx_xv_whole(x, &a[4], 0);
    if (!open_bags(x, a, padding, &b)) return;
    onx_value *y;
    if (mode == 2) {
        y = bag_max(x, &b);
    } else {
        onx_value *inside = onx_x_cast(x, b.inside, b.dtype);
        y = onx_emit(x, "MatMul", inside, b.rows);
        if (mode == 1) y = onx_emit(x, "Div", y, bag_sizes(x, &b, inside));
    }
    onx_x_give(x, &out[0], y);
    for (size_t i = 1; i < 4; i++) onx_nn_give_nothing(x, ONX_DTYPE_I64, &out[i]);
}

static void lower_embedding_bag(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv none = {.kind = ONX_X_NONE};
    embed_bags(x, a, &none, out);
}
static void lower_padded_bag(onx_export *x, const onx_xv *a, onx_xv *out) {
    embed_bags(x, a, &a[8], out);
}

#define BAG                                                                                        \
    "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "              \
    "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "                             \
    "bool include_last_offset=False"
#define FOUR " -> (Tensor, Tensor, Tensor, Tensor)"

const onx_aten onx_aten_embed[] = {
    {"embedding(Tensor weight, Tensor indices, int padding_idx=-1, "
     "bool scale_grad_by_freq=False, bool sparse=False)",
     lower_embedding, NULL},
    {"one_hot(Tensor self, int num_classes=-1)", lower_one_hot, NULL},
    {"embedding_bag" BAG ")" FOUR, lower_embedding_bag, NULL},
    {"embedding_bag.padding_idx" BAG ", int? padding_idx=None)" FOUR, lower_padded_bag, NULL},
    {"_embedding_bag" BAG ", int padding_idx=-1)" FOUR, lower_padded_bag, NULL},
    {"_embedding_bag_forward_only" BAG ", int padding_idx=-1)" FOUR, lower_padded_bag, NULL},
    {.schema = NULL},
};
