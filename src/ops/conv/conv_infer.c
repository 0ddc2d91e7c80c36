/* conv_infer.c: the sizes of convolutions, of transposed and deformable ones, and of Col2Im. */
#include "ops/conv/conv_infer.h"

#include "ops/conv/window.h"

static onx_status fail_with(onx_infer *in, const onx_diag *diag) {
    return onx_infer_fail(in, "%s", diag->message);
}

static const onx_sym *size_of(const onx_fact *fact, size_t axis) {
    return fact->ranked && axis < fact->rank ? fact->dims[axis] : NULL;
}

static onx_status check_groups(onx_infer *in, const onx_sym *channels, const char *what) {
    int64_t groups = onx_infer_int(in, "group"), n;
    if (groups < 1) return onx_infer_fail(in, "group is %lld", (long long)groups);
    if (onx_sym_is_int(channels, &n) && n % groups)
        return onx_infer_fail(in, "%s %lld channels, which are not %lld equal groups", what,
                              (long long)n, (long long)groups);
    return ONX_OK;
}

/* The window for these inputs. `rank` 0: neither is known, nor do the attributes tell. */
static onx_status read_window(onx_infer *in, const onx_fact *x, const onx_fact *w,
                              onx_window *window, size_t *rank) {
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_window_read(onx_infer_op(in), onx_infer_node(in), window, &diag))
        return fail_with(in, &diag);
    *rank = 0;
    if (!x->ranked && !w->ranked && !window->axes) return ONX_OK;
    *rank = x->ranked ? x->rank : w->ranked ? w->rank : window->axes + 2;
    if (onx_window_fit(window, *rank, &diag)) return fail_with(in, &diag);
    if (w->ranked && w->rank != *rank)
        return onx_infer_fail(in, "the weights have %zu dimensions, the input %zu", w->rank, *rank);
    return ONX_OK;
}

/* The kernel along an axis, from the weights or from kernel_shape. */
static onx_status kernel_size(onx_infer *in, onx_window *window, const onx_fact *w, size_t axis,
                              const onx_sym **out) {
    onx_diag diag = ONX_INIT(onx_diag);
    int64_t k;
    *out = size_of(w, axis + 2);
    if (onx_sym_is_int(*out, &k) && onx_window_size(window, axis, k, &diag))
        return fail_with(in, &diag);
    if (!onx_sym_is_int(*out, &k) && window->sized)
        *out = onx_sym_int(onx_infer_syms(in), window->kernel[axis]);
    return ONX_OK;
}

static onx_status check_bias(onx_infer *in, size_t bias, const onx_sym *channels) {
    onx_extent extent = {"number of output channels", channels};
    return onx_infer_unify(in, bias, 1, (onx_extent *[]){&extent});
}

/* ─ Conv ─────────────────────────────────────────────────────────────────────────────────────── */

/* Channels of X, weights and groups agree, as far as they are known. */
static onx_status check_channels(onx_infer *in, const onx_fact *x, const onx_fact *w) {
    int64_t groups = onx_infer_int(in, "group"), c, per_group, wanted;
    ONX_TRY(check_groups(in, size_of(w, 0), "the weights make"));
    if (!onx_sym_is_int(size_of(x, 1), &c) || !onx_sym_is_int(size_of(w, 1), &per_group))
        return ONX_OK;
    if (!onx_mul_i64(per_group, groups, &wanted) || wanted != c)
        return onx_infer_fail(in,
                              "the input has %lld channels; the weights take %lld in each of %lld "
                              "groups",
                              (long long)c, (long long)per_group, (long long)groups);
    return ONX_OK;
}

static onx_status spatial_dims(onx_infer *in, onx_window *window, const onx_fact *x,
                               const onx_fact *w, const onx_sym **dims) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_syms *syms = onx_infer_syms(in);
    for (size_t i = 0; i < window->axes; i++) {
        const onx_sym *kernel = NULL, *size = size_of(x, i + 2);
        int64_t k, n;
        onx_span span;
        ONX_TRY(kernel_size(in, window, w, i, &kernel));
        bool fixed = onx_sym_is_int(kernel, &k) && onx_sym_is_int(size, &n);
        if (fixed && onx_window_span(window, i, n, &span, &diag)) return fail_with(in, &diag);
        dims[i + 2] =
            fixed ? onx_sym_int(syms, span.out) : onx_window_out(window, i, syms, size, kernel);
    }
    return ONX_OK;
}

onx_status onx_infer_conv(onx_infer *in, size_t x_index, size_t w_index, size_t bias,
                          onx_dtype dtype) {
    const onx_fact *x = onx_infer_in(in, x_index), *w = onx_infer_in(in, w_index);
    const onx_sym *dims[ONX_RANK_MAX] = {NULL};
    onx_window window;
    size_t rank = 0;
    ONX_TRY(read_window(in, x, w, &window, &rank));
    if (!rank) return onx_infer_unranked(in, 0, dtype);
    ONX_TRY(check_channels(in, x, w));
    dims[0] = size_of(x, 0);
    dims[1] = size_of(w, 0);
    ONX_TRY(check_bias(in, bias, dims[1]));
    ONX_TRY(spatial_dims(in, &window, x, w, dims));
    return onx_infer_tensor(in, 0, dtype, rank, dims);
}

/* ─ ConvTranspose ────────────────────────────────────────────────────────────────────────────── */

/* A list with one element of 0 or more for each spatial dimension; NULL: it is not there. */
static onx_status spatial_list(onx_infer *in, const char *name, size_t axes, const int64_t **out) {
    size_t n;
    *out = onx_op_ints(onx_infer_node(in), name, &n);
    if (!n) *out = NULL;
    if (*out && n != axes)
        return onx_infer_fail(in, "attribute %s has %zu elements for %zu spatial dimensions", name,
                              n, axes);
    for (size_t i = 0; *out && i < n; i++)
        if ((*out)[i] < 0)
            return onx_infer_fail(in, "attribute %s has the element %lld, which is below 0", name,
                                  (long long)(*out)[i]);
    return ONX_OK;
}

/* (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding, less the padding. That of SAME
 * makes it in * stride, but is never negative. */
static const onx_sym *spread(onx_syms *syms, const onx_window *w, size_t axis, const onx_sym *in,
                             const onx_sym *kernel, int64_t more) {
    const onx_sym *one = onx_sym_int(syms, 1), *stride = onx_sym_int(syms, w->stride[axis]);
    const onx_sym *last = onx_sym_mul(syms, onx_sym_sub(syms, in, one), stride);
    const onx_sym *reach =
        onx_sym_mul(syms, onx_sym_sub(syms, kernel, one), onx_sym_int(syms, w->dilation[axis]));
    const onx_sym *all = onx_sym_add(syms, onx_sym_add(syms, last, reach),
                                     onx_sym_add(syms, one, onx_sym_int(syms, more)));
    if (w->auto_pad == ONX_AUTO_PAD_SAME_UPPER || w->auto_pad == ONX_AUTO_PAD_SAME_LOWER)
        return onx_sym_min(syms, all, onx_sym_mul(syms, in, stride));
    all = onx_sym_sub(syms, all, onx_sym_int(syms, w->before[axis]));
    return onx_sym_sub(syms, all, onx_sym_int(syms, w->after[axis]));
}

static onx_status spread_dims(onx_infer *in, onx_window *window, const onx_fact *x,
                              const onx_fact *w, const onx_sym **dims) {
    onx_syms *syms = onx_infer_syms(in);
    const int64_t *more = NULL, *sizes = NULL;
    ONX_TRY(spatial_list(in, "output_padding", window->axes, &more));
    ONX_TRY(spatial_list(in, "output_shape", window->axes, &sizes));
    for (size_t i = 0; i < window->axes; i++) {
        const onx_sym *kernel = NULL;
        ONX_TRY(kernel_size(in, window, w, i, &kernel));
        dims[i + 2] = sizes
                          ? onx_sym_int(syms, sizes[i])
                          : spread(syms, window, i, size_of(x, i + 2), kernel, more ? more[i] : 0);
    }
    return ONX_OK;
}

onx_status onx_infer_conv_transpose(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *w = onx_infer_in(in, 1);
    const onx_sym *dims[ONX_RANK_MAX] = {NULL};
    onx_dtype dtype = x->dtype ? x->dtype : w->dtype;
    onx_extent channels = {"number of input channels", size_of(x, 1)};
    onx_window window;
    size_t rank = 0;
    ONX_TRY(read_window(in, x, w, &window, &rank));
    if (window.auto_pad != ONX_AUTO_PAD_NOTSET && onx_infer_op(in)->since > 1 &&
        onx_op_has(onx_infer_node(in), "pads"))
        return onx_infer_fail(in, "attributes pads and auto_pad say both what the padding is");
    if (!rank) return onx_infer_unranked(in, 0, dtype);
    ONX_TRY(check_groups(in, channels.size, "the input has"));
    ONX_TRY(onx_infer_meet(in, &channels, size_of(w, 0)));
    dims[0] = size_of(x, 0);
    dims[1] = onx_sym_mul(onx_infer_syms(in), size_of(w, 1),
                          onx_sym_int(onx_infer_syms(in), onx_infer_int(in, "group")));
    ONX_TRY(check_bias(in, 2, dims[1]));
    ONX_TRY(spread_dims(in, &window, x, w, dims));
    return onx_infer_tensor(in, 0, dtype, rank, dims);
}

/* ─ DeformConv ───────────────────────────────────────────────────────────────────────────────── */

/* offset and mask: [batch, offset_group * (elements of the kernel) * per, sizes of the output…]. */
static onx_status meet_offsets(onx_infer *in, size_t index, const onx_fact *w, int64_t per,
                               size_t rank, onx_extent *const *extents) {
    onx_syms *syms = onx_infer_syms(in);
    int64_t groups = onx_infer_int(in, "offset_group");
    const onx_sym *n = onx_sym_mul(syms, onx_sym_int(syms, groups), onx_sym_int(syms, per));
    onx_extent channels = {
        index == 2 ? "number of channels of offset" : "number of channels of mask", NULL};
    onx_extent *all[ONX_RANK_MAX];
    if (groups < 1) return onx_infer_fail(in, "offset_group is %lld", (long long)groups);
    for (size_t i = 0; i < rank; i++) all[i] = i == 1 ? &channels : extents[i];
    channels.size =
        w->ranked ? onx_sym_mul(syms, n, onx_infer_product(in, rank - 2, w->dims + 2)) : NULL;
    return onx_infer_unify(in, index, rank, all);
}

onx_status onx_infer_deform_conv(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *w = onx_infer_in(in, 1);
    onx_extent sizes[ONX_RANK_MAX] = {{0}}, *extents[ONX_RANK_MAX];
    onx_dtype dtype = x->dtype ? x->dtype : w->dtype;
    ONX_TRY(onx_infer_conv(in, 0, 1, 3, dtype));
    onx_fact conv = *onx_infer_out(in, 0);
    if (!conv.ranked) return ONX_OK;
    for (size_t i = 0; i < conv.rank; i++) {
        sizes[i] = (onx_extent){i ? "size of the output" : "batch size", conv.dims[i]};
        extents[i] = &sizes[i];
    }
    int64_t axes = (int64_t)conv.rank - 2;
    ONX_TRY(meet_offsets(in, 2, w, axes, conv.rank, extents));
    ONX_TRY(meet_offsets(in, 4, w, 1, conv.rank, extents));
    return onx_infer_extents(in, 0, dtype, conv.rank, extents);
}

/* ─ Col2Im ───────────────────────────────────────────────────────────────────────────────────── */

/* How many blocks there are along an axis of the image; the window's kernel is the block. */
static const onx_sym *blocks_along(onx_infer *in, const onx_window *window, size_t axis) {
    const onx_fact *image = onx_infer_in(in, 1), *block = onx_infer_in(in, 2);
    if (!image->elems || axis >= image->n_elems || !block->elems || axis >= block->n_elems)
        return NULL;
    return onx_window_out(window, axis, onx_infer_syms(in), image->elems[axis], block->elems[axis]);
}

/* How many spatial dimensions there are, by the inputs and the attributes; 0: not known. */
static onx_status image_axes(onx_infer *in, const onx_window *window, size_t *out) {
    onx_extent axes = {"number of spatial dimensions", NULL};
    int64_t n;
    if (window->axes) axes.size = onx_sym_int(onx_infer_syms(in), (int64_t)window->axes);
    ONX_TRY(onx_infer_unify(in, 1, 1, (onx_extent *[]){&axes}));
    ONX_TRY(onx_infer_unify(in, 2, 1, (onx_extent *[]){&axes}));
    if (!onx_sym_is_int(axes.size, &n)) return *out = 0, ONX_OK;
    if (n < 1 || n > ONX_RANK_MAX - 2)
        return onx_infer_fail(in, "an image cannot have %lld dimensions", (long long)n);
    *out = (size_t)n;
    return ONX_OK;
}

/* Channels of the image: those of the input over the elements of a block. */
static onx_status image_channels(onx_infer *in, const onx_fact *block, size_t axes,
                                 const onx_sym *rows, const onx_sym **out) {
    int64_t n, size;
    if (!block->elems || block->n_elems != axes) return *out = NULL, ONX_OK;
    for (size_t i = 0; i < axes; i++)
        if (onx_sym_is_int(block->elems[i], &n) && n < 1)
            return onx_infer_fail(in, "block_shape has the element %lld, which is not positive",
                                  (long long)n);
    const onx_sym *elements = onx_infer_product(in, axes, block->elems);
    if (onx_sym_is_int(elements, &n) && onx_sym_is_int(rows, &size) && size % n)
        return onx_infer_fail(in,
                              "dimension 1 of the input, %lld, does not divide into blocks of "
                              "%lld elements",
                              (long long)size, (long long)n);
    *out = onx_sym_floordiv(onx_infer_syms(in), rows, elements);
    return ONX_OK;
}

onx_status onx_infer_col2im(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *image = onx_infer_in(in, 1);
    const onx_sym *dims[ONX_RANK_MAX] = {NULL}, *count = onx_sym_int(onx_infer_syms(in), 1);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_extent batch = {"batch size", NULL}, rows = {"size", NULL},
               blocks = {"number of blocks", NULL};
    onx_window window;
    size_t axes = 0;
    if (onx_window_read(onx_infer_op(in), onx_infer_node(in), &window, &diag))
        return fail_with(in, &diag);
    ONX_TRY(image_axes(in, &window, &axes));
    ONX_TRY(onx_infer_unify(in, 0, 3, (onx_extent *[]){&batch, &rows, &blocks}));
    if (!axes) return onx_infer_unranked(in, 0, x->dtype);
    dims[0] = batch.size;
    ONX_TRY(image_channels(in, onx_infer_in(in, 2), axes, rows.size, &dims[1]));
    for (size_t i = 0; i < axes; i++) {
        if (image->elems && i < image->n_elems) dims[i + 2] = image->elems[i];
        count = onx_sym_mul(onx_infer_syms(in), count, blocks_along(in, &window, i));
    }
    ONX_TRY(onx_infer_meet(in, &blocks, count));
    return onx_infer_tensor(in, 0, x->dtype, axes + 2, dims);
}
