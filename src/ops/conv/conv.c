/* conv.c: Conv, and what the engine makes of it in the blocked layout: meaning. */
#include "ops/conv/window.h"

static onx_status fail_with(onx_infer *in, const onx_diag *diag) {
    return onx_infer_fail(in, "%s", diag->message);
}

static bool known(const onx_sym *sym, int64_t *value) {
    return sym && onx_sym_is_int(sym, value);
}

/* Channels of X, weights and groups agree, as far as they are known. */
static onx_status check_channels(onx_infer *in, const onx_fact *x, const onx_fact *w) {
    int64_t groups = onx_infer_int(in, "group"), c, per_group, out, wanted;
    if (groups < 1) return onx_infer_fail(in, "group is %lld", (long long)groups);
    if (w->ranked && known(w->dims[0], &out) && out % groups)
        return onx_infer_fail(in, "the weights make %lld channels, which are not %lld equal groups",
                              (long long)out, (long long)groups);
    if (!x->ranked || !w->ranked || !known(x->dims[1], &c) || !known(w->dims[1], &per_group))
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
        const onx_sym *kernel = w->ranked ? w->dims[i + 2] : NULL;
        const onx_sym *size = x->ranked ? x->dims[i + 2] : NULL;
        int64_t k, n;
        onx_span span;
        if (known(kernel, &k) && onx_window_size(window, i, k, &diag)) return fail_with(in, &diag);
        if (!kernel && window->sized) kernel = onx_sym_int(syms, window->kernel[i]);
        bool fixed = known(kernel, &k) && known(size, &n);
        if (fixed && onx_window_span(window, i, n, &span, &diag)) return fail_with(in, &diag);
        dims[i + 2] =
            fixed ? onx_sym_int(syms, span.out) : onx_window_out(window, i, syms, size, kernel);
    }
    return ONX_OK;
}

static onx_status infer_conv(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0), *w = onx_infer_in(in, 1);
    const onx_sym *dims[ONX_RANK_MAX] = {NULL};
    onx_dtype dtype = x->dtype ? x->dtype : w->dtype;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_window window;
    if (onx_window_read(onx_infer_op(in), onx_infer_node(in), &window, &diag))
        return fail_with(in, &diag);
    size_t rank = x->ranked ? x->rank : w->ranked ? w->rank : window.axes ? window.axes + 2 : 0;
    if (!rank) return onx_infer_unranked(in, 0, dtype);
    if (onx_window_fit(&window, rank, &diag)) return fail_with(in, &diag);
    if (w->ranked && w->rank != rank)
        return onx_infer_fail(in, "the weights have %zu dimensions, the input %zu", w->rank, rank);
    ONX_TRY(check_channels(in, x, w));
    dims[0] = x->ranked ? x->dims[0] : NULL;
    dims[1] = w->ranked ? w->dims[0] : NULL;
    ONX_TRY(spatial_dims(in, &window, x, w, dims));
    return onx_infer_tensor(in, 0, dtype, rank, dims);
}

#define CONV_ATTRS                                                                                 \
    "auto_pad:string=\"NOTSET\", dilations?:ints, group:int=1, kernel_shape?:ints, pads?:ints, "   \
    "strides?:ints"
#define CONV "(X:T, W:T, B?:T) -> (Y:T) {" CONV_ATTRS "}"

/* ConvBlocked: R is added to the sum, which is then clamped to lo … hi and goes through the program
 * in code and consts (ops/tile/tile.h), of one input. */
#define CONV_BLOCKED                                                                               \
    "(X:float, W:float, B?:float, R?:float) -> (Y:float) {" CONV_ATTRS                             \
    ", lo:float=-inf, hi:float=inf, code?:ints, consts?:floats}"
/* Z is added to the sum, which then goes through the activation. */
#define FUSED                                                                                      \
    "(X:T, W:T, B?:T, Z?:T) -> (Y:T) {activation?:string, activation_params?:floats, " CONV_ATTRS  \
    "} "
#define TRANSPOSE                                                                                  \
    "(X:T, W:T, B?:T) -> (Y:T) {" CONV_ATTRS ", output_padding?:ints, output_shape?:ints} "
#define DEFORM                                                                                     \
    "(X:T, W:T, offset:T, B?:T, mask?:T) -> (Y:T) {dilations?:ints, group:int=1, "                 \
    "kernel_shape?:ints, offset_group:int=1, pads?:ints, strides?:ints} "
#define COL2IM                                                                                     \
    "(input:T, image_shape:int64, block_shape:int64) -> (output:T) {dilations?:ints, pads?:ints, " \
    "strides?:ints} "
#define REORDER "(X:float) -> (Y:float)"

extern onx_op_rows onx_ops_conv;
onx_op_rows onx_ops_conv = {
    {"Conv", 1, CONV " [T:f0]", .infer = infer_conv},
    {"Conv", 11, CONV " [T:f0]", .infer = infer_conv},
    {"Conv", 22, CONV " [T:f]", .infer = infer_conv},
    {"FusedConv", 1, FUSED "[T:f0]", .infer = infer_conv, .domain = "com.microsoft"},
    {"ConvTranspose", 1, TRANSPOSE "[T:f0]", .infer = NULL},
    {"ConvTranspose", 11, TRANSPOSE "[T:f0]", .infer = NULL},
    {"ConvTranspose", 22, TRANSPOSE "[T:f]", .infer = NULL},
    {"DeformConv", 19, DEFORM "[T:f0]", .infer = NULL},
    {"DeformConv", 22, DEFORM "[T:f]", .infer = NULL},
    {"Col2Im", 18, COL2IM "[T:all13]", .infer = NULL},
    {"ConvBlocked", 1, CONV_BLOCKED, .infer = infer_conv, .domain = "onx.internal"},
    {"ToBlocked", 1, REORDER, .infer = onx_infer_same, .domain = "onx.internal"},
    {"FromBlocked", 1, REORDER, .infer = onx_infer_same, .domain = "onx.internal"},
    {0},
};
