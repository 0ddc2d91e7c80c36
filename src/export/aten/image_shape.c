/* image_shape.c: images of PyTorch rearranged and sampled: pixel and channel shuffles, im2col and
 * col2im, affine grids. */
#include "export/aten/nn_args.h"

/* ─ Shuffles ─────────────────────────────────────────────────────────────────────────────────── */

/* All axes but the last three as one batch; those that were, in `dims`. */
static onx_value *as_images(onx_export *x, onx_value *v, const onx_sym **dims, size_t *rank) {
    *rank = onx_x_rank(x, v);
    if (*rank == SIZE_MAX || *rank > ONX_RANK_MAX) return NULL;
    if (*rank < 3) return onx_x_fail(x, ONX_INVALID, "an image of %zu dimensions", *rank);
    for (size_t i = 0; i < *rank; i++) dims[i] = onx_x_dim(x, v, i);
    if (*rank == 4) return v;
    onx_xv shape[4] = {onx_xv_int(x, -1)};
    for (size_t i = 0; i < 3; i++) shape[i + 1] = onx_x_size_of(x, v, *rank - 3 + i);
    return onx_x_reshape(x, v, 4, shape);
}

/* Back to the axes that were. */
static onx_value *from_images(onx_export *x, onx_value *v, const onx_sym **dims, size_t rank) {
    if (!v || rank == 4) return v;
    for (size_t i = 0; i < 3; i++) dims[rank - 3 + i] = onx_x_dim(x, v, i + 1);
    return onx_x_reshape_to(x, v, rank, dims);
}

static void lower_pixel_shuffle(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_sym *dims[ONX_RANK_MAX];
    size_t rank;
    int64_t factor = onx_xv_whole(x, &a[1], 1);
    onx_value *v = as_images(x, onx_nn_tensor(x, &a[0]), dims, &rank);
    if (!v) return;
    v = onx_emit_wide_with(x, "DepthToSpace",
                           ONX_ATTRS(ONX_AI("blocksize", factor), ONX_AS("mode", "CRD")), v);
    onx_x_give(x, out, from_images(x, v, dims, rank));
}

static void lower_pixel_unshuffle(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t perm[] = {0, 1, 3, 5, 2, 4};
    const onx_sym *dims[ONX_RANK_MAX];
    size_t rank;
    int64_t factor = onx_xv_whole(x, &a[1], 1), channels;
    onx_value *v = as_images(x, onx_nn_tensor(x, &a[0]), dims, &rank);
    if (!v) return;
    if (onx_x_known_dim(x, v, 1, &channels) && channels == 1) {
        v = onx_emit_wide_with(x, "SpaceToDepth", ONX_ATTRS(ONX_AI("blocksize", factor)), v);
    } else {
        onx_xv by = onx_xv_int(x, factor), size[4];
        for (size_t i = 0; i < 4; i++) size[i] = onx_x_size_of(x, v, i);
        onx_xv h = onx_x_arith(x, "floordiv", size[2], by);
        onx_xv w = onx_x_arith(x, "floordiv", size[3], by);
        onx_xv all = onx_x_arith(x, "mul", size[1], onx_xv_int(x, factor * factor));
        onx_xv cut[] = {size[0], size[1], h, by, w, by}, joined[] = {size[0], all, h, w};
        v = onx_x_transpose(x, onx_x_reshape(x, v, 6, cut), 6, perm);
        v = onx_x_reshape(x, v, 4, joined);
    }
    onx_x_give(x, out, from_images(x, v, dims, rank));
}

static void lower_channel_shuffle(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]);
    size_t rank = onx_x_rank(x, v);
    onx_xv shape[ONX_RANK_MAX + 1];
    if (rank == SIZE_MAX || rank < 2 || rank >= ONX_RANK_MAX) return;
    const onx_sym *const *dims = onx_x_fact(x, v)->dims;
    shape[0] = onx_x_size_of(x, v, 0);
    shape[1] = a[1];
    shape[2] = onx_x_arith(x, "floordiv", onx_x_size_of(x, v, 1), a[1]);
    for (size_t i = 2; i < rank; i++) shape[i + 1] = onx_x_size_of(x, v, i);
    onx_value *y = onx_x_swap(x, onx_x_reshape(x, v, rank + 1, shape), 1, 2);
    onx_x_give(x, out, onx_x_reshape_to(x, y, rank, dims));
}

/* ─ Columns ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct block {
    int64_t kernel[2], dilation[2], pads[4], stride[2];
} block;

/* (kernel_size, dilation, padding, stride) */
static bool read_block(onx_export *x, const onx_xv *a, block *b) {
    if (!onx_nn_ints(x, &a[0], "kernel_size", 2, b->kernel) ||
        !onx_nn_ints(x, &a[1], "dilation", 2, b->dilation) ||
        !onx_nn_ints(x, &a[2], "padding", 2, b->pads) ||
        !onx_nn_ints(x, &a[3], "stride", 2, b->stride))
        return false;
    b->pads[2] = b->pads[0], b->pads[3] = b->pads[1];
    return true;
}

static void block_attrs(const block *b, onx_xattr *at) {
    at = onx_nn_attr(at, "dilations", 2, b->dilation, 1);
    at = onx_nn_attr(at, "pads", 4, b->pads, 0);
    onx_nn_attr(at, "strides", 2, b->stride, 1);
}

/* A filter for each place of the kernel and each channel, which is 1 at that place. */
static onx_value *picking_filters(onx_export *x, onx_dtype dtype, int64_t channels,
                                  const block *b) {
    int64_t taps = b->kernel[0] * b->kernel[1];
    int64_t dims[] = {channels * taps, 1, b->kernel[0], b->kernel[1]};
    if (taps < 1 || taps > 1 << 12 || channels < 1 || channels > (1 << 26) / taps / taps)
        return onx_x_fail(x, ONX_LIMIT, "a kernel of %lld places over %lld channels",
                          (long long)taps, (long long)channels);
    double *w = onx_x_array(x, (size_t)(dims[0] * taps), sizeof *w);
    for (int64_t i = 0; w && i < dims[0]; i++) w[i * taps + i % taps] = 1;
    return w ? onx_nn_floats(x, dtype, 4, dims, w) : NULL;
}

/* A convolution that picks, so that images may have any size. Channels of an unknown number are
 * images of their own. */
static void lower_im2col(onx_export *x, const onx_xv *a, onx_xv *out) {
    block b;
    bool added;
    int64_t channels;
    onx_xattr attrs[6] = {{.name = NULL}};
    onx_value *v = onx_nn_batch(x, onx_nn_tensor(x, &a[0]), 2, &added);
    if (!v || !read_block(x, &a[1], &b)) return;
    onx_xv batch = onx_x_size_of(x, v, 0), all = onx_x_size_of(x, v, 1);
    onx_xv alone[] = {onx_xv_int(x, -1), onx_xv_int(x, 1), onx_x_size_of(x, v, 2),
                      onx_x_size_of(x, v, 3)};
    if (!onx_x_known_dim(x, v, 1, &channels)) {
        v = onx_x_reshape(x, v, 4, alone);
        channels = 1;
    }
    onx_value *filters = v ? picking_filters(x, onx_x_dtype(x, v), channels, &b) : NULL;
    attrs[0] = ONX_AI("group", channels);
    attrs[1] = ONX_AL("kernel_shape", 2, b.kernel);
    block_attrs(&b, &attrs[2]);
    onx_value *y = onx_emit_wide_with(x, "Conv", attrs, v, filters);
    onx_xv taps = onx_xv_int(x, b.kernel[0] * b.kernel[1]);
    onx_xv columns[] = {batch, onx_x_arith(x, "mul", all, taps), onx_xv_int(x, -1)};
    onx_x_give(x, out, onx_nn_unbatch(x, onx_x_reshape(x, y, 3, columns), added));
}

/* (self, output_size, kernel_size, dilation, padding, stride) */
static void lower_col2im(onx_export *x, const onx_xv *a, onx_xv *out) {
    block b;
    bool added;
    onx_xattr attrs[6] = {{.name = NULL}};
    onx_value *v = onx_nn_batch(x, onx_nn_tensor(x, &a[0]), 1, &added);
    if (!v || !onx_xv_is_list(&a[1]) || !read_block(x, &a[2], &b)) return;
    block_attrs(&b, attrs);
    onx_value *y =
        onx_emit_wide_with(x, "Col2Im", attrs, v, onx_x_shape(x, a[1].list->n, a[1].list->v),
                           onx_x_ints(x, 2, b.kernel));
    onx_x_give(x, out, onx_nn_unbatch(x, y, added));
}

/* ─ Grids ────────────────────────────────────────────────────────────────────────────────────── */

/* n points from -1 to 1: at the ends, or in the middle of n parts. */
static onx_value *points(onx_export *x, onx_dtype dtype, onx_xv n, bool corners) {
    onx_value *i = onx_x_cast(x, onx_x_count(x, &n), dtype);
    onx_value *size = onx_x_scalar(x, &n, dtype);
    if (!i || !size) return NULL;
    if (corners && !onx_xv_is_one(x, &n, 1)) { /* the middle is the one point */
        onx_value *steps = onx_emit(x, "Max", onx_nn_plus(x, size, -1), onx_x_number(x, dtype, 1));
        return onx_nn_plus(x, onx_emit(x, "Div", onx_nn_times(x, i, 2), steps), -1);
    }
    onx_value *middle = onx_nn_plus(x, onx_nn_times(x, i, 2), 1);
    return onx_nn_plus(x, onx_emit(x, "Div", middle, size), -1);
}

/* [sizes …, axes + 1]: the places of a grid as x, y(, z), 1. */
static onx_value *base_grid(onx_export *x, onx_dtype dtype, size_t axes, const onx_xv *size,
                            bool corners) {
    onx_value *parts[ONX_NN_AXES + 1];
    onx_xv shape[ONX_NN_AXES + 1];
    shape[axes] = onx_xv_int(x, 1);
    for (size_t i = 0; i < axes; i++) {
        onx_xv one[ONX_NN_AXES + 1];
        shape[i] = size[i];
        for (size_t k = 0; k <= axes; k++) one[k] = onx_xv_int(x, k == i ? -1 : 1);
        onx_value *line = points(x, dtype, size[i], corners);
        parts[axes - 1 - i] = onx_x_reshape(x, line, axes + 1, one);
    }
    onx_value *whole = onx_x_shape(x, axes + 1, shape);
    for (size_t i = 0; whole && i < axes; i++) parts[i] = onx_emit(x, "Expand", parts[i], whole);
    parts[axes] = onx_x_fill(x, onx_x_number(x, dtype, 1), axes + 1, shape);
    return onx_x_concat(x, axes + 1, parts, (int64_t)axes);
}

/* (theta[N, axes, axes + 1], size, align_corners) */
static void lower_affine_grid(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *theta = onx_nn_tensor(x, &a[0]);
    bool corners = onx_xv_true(&a[2]);
    if (!theta || !onx_xv_is_list(&a[1]) || a[1].list->n < 4 || a[1].list->n > 5) return;
    size_t axes = a[1].list->n - 2;
    const onx_xv *size = a[1].list->v;
    if (x->opset >= 20) {
        onx_x_give(x, out,
                   onx_emit_with(x, "AffineGrid", ONX_ATTRS(ONX_AI("align_corners", corners)),
                                 theta, onx_x_shape(x, axes + 2, size)));
        return;
    }
    onx_xv flat[] = {onx_xv_int(x, -1), onx_xv_int(x, (int64_t)axes + 1)}, shape[5];
    onx_value *grid = base_grid(x, onx_x_dtype(x, theta), axes, size + 2, corners);
    grid = onx_x_reshape(x, grid, 2, flat);
    onx_value *y = onx_emit(x, "MatMul", grid, onx_x_swap(x, theta, 1, 2));
    shape[0] = size[0];
    for (size_t i = 0; i < axes; i++) shape[i + 1] = size[i + 2];
    shape[axes + 1] = onx_xv_int(x, (int64_t)axes);
    onx_x_give(x, out, onx_x_reshape(x, y, axes + 2, shape));
}

#define BLOCK "int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)"

const onx_aten onx_aten_image_shape[] = {
    {"pixel_shuffle(Tensor self, int upscale_factor)", lower_pixel_shuffle, NULL},
    {"pixel_unshuffle(Tensor self, int downscale_factor)", lower_pixel_unshuffle, NULL},
    {"channel_shuffle(Tensor self, int groups)", lower_channel_shuffle, NULL},
    {"native_channel_shuffle(Tensor self, int groups)", lower_channel_shuffle, NULL},
    {"im2col(Tensor self, " BLOCK, lower_im2col, NULL},
    {"col2im(Tensor self, int[2] output_size, " BLOCK, lower_col2im, NULL},
    {"affine_grid_generator(Tensor theta, int[] size, bool align_corners)", lower_affine_grid,
     NULL},
    {.schema = NULL},
};
