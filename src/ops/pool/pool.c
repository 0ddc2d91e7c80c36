/* pool.c: MaxPool, AveragePool, LpPool and the global pools, MaxUnpool, MaxRoiPool, and what the
 * engine makes of them in the blocked layout: meaning. */
#include "ops/conv/window.h"

/* The first dimension that windows slide along: channels come before, unless the node puts them
 * last. */
static size_t first_spatial(const onx_infer *in) {
    return onx_infer_int(in, "channels_last") ? 1 : 2;
}

static onx_status infer_pool(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const onx_sym *dims[ONX_RANK_MAX] = {NULL};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_window window;
    onx_syms *syms = onx_infer_syms(in);
    if (onx_window_read(onx_infer_op(in), onx_infer_node(in), &window, &diag))
        return onx_infer_fail(in, "%s", diag.message);
    if (!window.sized) return onx_infer_fail(in, "attribute kernel_shape is missing");
    if (onx_window_fit(&window, x->ranked ? x->rank : window.axes + 2, &diag))
        return onx_infer_fail(in, "%s", diag.message);
    for (size_t i = 0; i < window.axes + 2 && x->ranked; i++) dims[i] = x->dims[i];
    const onx_sym **spatial = dims + first_spatial(in);
    for (size_t i = 0; i < window.axes; i++) {
        int64_t size;
        onx_span span;
        bool fixed = spatial[i] && onx_sym_is_int(spatial[i], &size);
        if (fixed && onx_window_span(&window, i, size, &span, &diag))
            return onx_infer_fail(in, "%s", diag.message);
        spatial[i] = fixed ? onx_sym_int(syms, span.out)
                           : onx_window_out(&window, i, syms, spatial[i],
                                            onx_sym_int(syms, window.kernel[i]));
    }
    ONX_TRY(onx_infer_tensor(in, 0, x->dtype, window.axes + 2, dims));
    return onx_infer_tensor(in, 1, ONX_DTYPE_I64, window.axes + 2, dims);
}

static onx_status infer_global(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const onx_sym *dims[ONX_RANK_MAX];
    if (!x->ranked) return onx_infer_unranked(in, 0, x->dtype);
    if (x->rank < 2 || x->rank > ONX_RANK_MAX)
        return onx_infer_fail(in, "the input has %zu dimensions; it needs batch and channels",
                              x->rank);
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    for (size_t i = 0; i + 2 < x->rank; i++)
        dims[first_spatial(in) + i] = onx_sym_int(onx_infer_syms(in), 1);
    return onx_infer_tensor(in, 0, x->dtype, x->rank, dims);
}

/* Where output_shape says nothing: (in - 1) * stride + kernel, less the padding. */
static const onx_sym *unpooled(onx_syms *syms, const onx_window *w, size_t axis,
                               const onx_sym *in) {
    const onx_sym *last = onx_sym_sub(syms, in, onx_sym_int(syms, 1));
    const onx_sym *begin = onx_sym_mul(syms, last, onx_sym_int(syms, w->stride[axis]));
    int64_t rest = (int64_t)w->kernel[axis] - w->before[axis] - w->after[axis];
    return onx_sym_add(syms, begin, onx_sym_int(syms, rest));
}

static onx_status infer_unpool(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *shape = onx_infer_in(in, 2);
    onx_extent sizes[ONX_RANK_MAX] = {{0}}, *extents[ONX_RANK_MAX];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_window window;
    if (onx_window_read(onx_infer_op(in), onx_infer_node(in), &window, &diag))
        return onx_infer_fail(in, "%s", diag.message);
    if (!window.sized) return onx_infer_fail(in, "attribute kernel_shape is missing");
    if (onx_window_fit(&window, x->ranked ? x->rank : window.axes + 2, &diag))
        return onx_infer_fail(in, "%s", diag.message);
    size_t rank = window.axes + 2;
    for (size_t i = 0; i < rank; i++) {
        sizes[i] = (onx_extent){"size of X and of I", NULL};
        extents[i] = &sizes[i];
    }
    ONX_TRY(onx_infer_unify(in, 0, rank, extents));
    ONX_TRY(onx_infer_unify(in, 1, rank, extents));
    onx_extent n = {"number of elements of output_shape",
                    onx_sym_int(onx_infer_syms(in), (int64_t)rank)};
    ONX_TRY(onx_infer_unify(in, 2, 1, (onx_extent *[]){&n}));
    for (size_t i = 0; i < rank; i++)
        if (onx_infer_has_in(in, 2))
            sizes[i].size = shape->elems && i < shape->n_elems ? shape->elems[i] : NULL;
        else if (i > 1)
            sizes[i].size = unpooled(onx_infer_syms(in), &window, i - 2, sizes[i].size);
    return onx_infer_extents(in, 0, x->dtype, rank, extents);
}

static onx_status infer_roi_pool(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    onx_extent channels = {"number of channels", NULL}, rois = {"number of rois", NULL};
    onx_extent five = {"number of elements of a roi", onx_sym_int(syms, 5)};
    size_t n;
    const int64_t *pooled = onx_op_ints(onx_infer_node(in), "pooled_shape", &n);
    if (!pooled || n != 2 || pooled[0] < 1 || pooled[1] < 1)
        return onx_infer_fail(in, "attribute pooled_shape must be two positive sizes");
    ONX_TRY(onx_infer_unify(in, 0, 4, (onx_extent *[]){NULL, &channels, NULL, NULL}));
    ONX_TRY(onx_infer_unify(in, 1, 2, (onx_extent *[]){&rois, &five}));
    const onx_sym *dims[] = {rois.size, channels.size, onx_sym_int(syms, pooled[0]),
                             onx_sym_int(syms, pooled[1])};
    return onx_infer_tensor(in, 0, onx_infer_in(in, 0)->dtype, 4, dims);
}

#define ONE "(X:T) -> (Y:T) "
#define TWO "(X:T) -> (Y:T, Indices?:I) "
#define BASE "auto_pad:string=\"NOTSET\", kernel_shape:ints, pads?:ints, strides?:ints"
#define MAX8 TWO "{" BASE ", storage_order:int=0} "
#define MAX10 TWO "{" BASE ", storage_order:int=0, ceil_mode:int=0, dilations?:ints} "
#define AVERAGE7 ONE "{" BASE ", count_include_pad:int=0} "
#define AVERAGE10 ONE "{" BASE ", count_include_pad:int=0, ceil_mode:int=0} "
#define AVERAGE19 ONE "{" BASE ", count_include_pad:int=0, ceil_mode:int=0, dilations?:ints} "
#define LP1                                                                                        \
    ONE "{auto_pad:string=\"NOTSET\", kernel_shape?:ints, pads?:ints, strides?:ints, "             \
        "p:float=2.0} "
#define LP2 ONE "{" BASE ", p:int=2} "
#define LP18 ONE "{" BASE ", p:int=2, ceil_mode:int=0, dilations?:ints} "
#define UNPOOL                                                                                     \
    "(X:T1, I:T2, output_shape?:T2) -> (output:T1) {kernel_shape:ints, pads?:ints, "               \
    "strides?:ints} "
#define ROI "(X:T, rois:T) -> (Y:T) {pooled_shape:ints, spatial_scale:float=1.0} "
#define QUANTIZED "(X:T, x_scale:float, x_zero_point?:T, y_scale:float, y_zero_point?:T) -> (Y:T) "
#define QUANTIZED_GLOBAL                                                                           \
    "(X:T, x_scale:float, x_zero_point:T, y_scale:float, y_zero_point:T) -> (Y:T) "
#define MICROSOFT .domain = "com.microsoft"
#define INTERNAL .domain = "onx.internal"

extern onx_op_rows onx_ops_pool;
onx_op_rows onx_ops_pool = {
    {"MaxPool", 1, ONE "{" BASE "} [T:f0]", .infer = infer_pool},
    {"MaxPool", 8, MAX8 "[T:f0, I:int64]", .infer = infer_pool},
    {"MaxPool", 10, MAX10 "[T:f0, I:int64]", .infer = infer_pool},
    {"MaxPool", 11, MAX10 "[T:f0, I:int64]", .infer = infer_pool},
    {"MaxPool", 12, MAX10 "[T:f0|int8|uint8, I:int64]", .infer = infer_pool},
    {"MaxPool", 22, MAX10 "[T:f|int8|uint8, I:int64]", .infer = infer_pool},
    {"AveragePool", 1, ONE "{" BASE "} [T:f0]", .infer = infer_pool},
    {"AveragePool", 7, AVERAGE7 "[T:f0]", .infer = infer_pool},
    {"AveragePool", 10, AVERAGE10 "[T:f0]", .infer = infer_pool},
    {"AveragePool", 11, AVERAGE10 "[T:f0]", .infer = infer_pool},
    {"AveragePool", 19, AVERAGE19 "[T:f0]", .infer = infer_pool},
    {"AveragePool", 22, AVERAGE19 "[T:f]", .infer = infer_pool},
    {"GlobalAveragePool", 1, ONE "[T:f0]", .infer = infer_global},
    {"GlobalAveragePool", 22, ONE "[T:f]", .infer = infer_global},
    {"GlobalMaxPool", 1, ONE "[T:f0]", .infer = infer_global},
    {"GlobalMaxPool", 22, ONE "[T:f]", .infer = infer_global},
    {"LpPool", 1, LP1 "[T:f0]", .infer = infer_pool},
    {"LpPool", 2, LP2 "[T:f0]", .infer = infer_pool},
    {"LpPool", 11, LP2 "[T:f0]", .infer = infer_pool},
    {"LpPool", 18, LP18 "[T:f0]", .infer = infer_pool},
    {"LpPool", 22, LP18 "[T:f]", .infer = infer_pool},
    {"GlobalLpPool", 1, ONE "{p:float=2.0} [T:f0]", .infer = infer_global},
    {"GlobalLpPool", 2, ONE "{p:int=2} [T:f0]", .infer = infer_global},
    {"GlobalLpPool", 22, ONE "{p:int=2} [T:f]", .infer = infer_global},
    {"QLinearAveragePool", 1,
     QUANTIZED "{" BASE ", ceil_mode:int=0, channels_last:int=0, count_include_pad:int=0} "
               "[T:int8|uint8]",
     .infer = infer_pool, MICROSOFT},
    {"QLinearGlobalAveragePool", 1, QUANTIZED_GLOBAL "{channels_last:int=0} [T:int8|uint8]",
     .infer = infer_global, MICROSOFT},
    {"MaxUnpool", 9, UNPOOL "[T1:f0, T2:int64]", .infer = infer_unpool},
    {"MaxUnpool", 11, UNPOOL "[T1:f0, T2:int64]", .infer = infer_unpool},
    {"MaxUnpool", 22, UNPOOL "[T1:f, T2:int64]", .infer = infer_unpool},
    {"MaxRoiPool", 1, ROI "[T:f0]", .infer = infer_roi_pool},
    {"MaxRoiPool", 22, ROI "[T:f]", .infer = infer_roi_pool},
    {"MaxPoolBlocked", 1, MAX10 "[T:float, I:int64]", .infer = infer_pool, INTERNAL},
    {"AveragePoolBlocked", 1, AVERAGE19 "[T:float]", .infer = infer_pool, INTERNAL},
    {"GlobalAveragePoolBlocked", 1, ONE "[T:float]", .infer = infer_global, INTERNAL},
    {0},
};
