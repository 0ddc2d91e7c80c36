/* prepacked.c: layers of models that were optimized for phones (optimize_for_mobile): their weights
 * are packed together with the bounds of the activation behind them.
 *
 *     linear              (weight, bias, output_min, output_max)
 *     conv2d              (weight, bias, stride, padding, dilation, groups, output_min, …)
 *     conv2d_transpose    (weight, bias, stride, padding, output_padding, dilation, groups, …) */
#include "export/aten/nn_args.h"

/* Within bounds, which may be None. */
static void finish(onx_export *x, onx_xv y, const onx_xv *bounds, onx_xv *out) {
    onx_xv args[] = {y, bounds[0], bounds[1]};
    bool open = onx_xv_is(&bounds[0], ONX_X_NONE) && onx_xv_is(&bounds[1], ONX_X_NONE);
    bool relu = onx_xv_is_one(x, &bounds[0], 0) && onx_xv_is(&bounds[1], ONX_X_NONE);
    if (!onx_x_ok(x)) return;
    *out = open ? y : onx_aten_do(x, relu ? "relu" : "clamp", relu ? 1 : 3, args);
}

/* What torch.jit.optimize_for_inference writes: weights in a layout that files cannot hold. */
static void lower_mkldnn(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)a, (void)out;
    onx_x_fail(x, ONX_UNSUPPORTED, "the file has no weights: they were converted for oneDNN");
    onx_x_hint(x, "save the module before torch.jit.optimize_for_inference");
}

static const onx_xv *parts_of(onx_export *x, const onx_xv *packed, size_t n) {
    if (packed->list->n == n) return packed->list->v;
    return onx_x_fail(x, ONX_UNSUPPORTED, "packed weights of another form");
}

/* (X, W_prepack) */
static void lower_linear(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xv *w = parts_of(x, &a[1], 4);
    if (!w) return;
    onx_xv args[] = {a[0], w[0], w[1]};
    finish(x, onx_aten_do(x, "linear", 3, args), &w[2], out);
}
static void lower_conv(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xv *w = parts_of(x, &a[1], 8);
    if (!w) return;
    onx_xv args[] = {a[0], w[0], w[1], w[2], w[3], w[4], w[5]};
    finish(x, onx_aten_do(x, "conv2d", 7, args), &w[6], out);
}
static void lower_transposed(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xv *w = parts_of(x, &a[1], 9);
    if (!w) return;
    onx_xv args[] = {a[0], w[0], w[1], w[2], w[3], w[4], w[6], w[5]};
    finish(x, onx_aten_do(x, "conv_transpose2d", 8, args), &w[7], out);
}

static void lower_linear_pack(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_list(x, ONX_X_TUPLE, 4, a);
}
static void lower_conv_pack(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_list(x, ONX_X_TUPLE, 8, a);
}
static void lower_transposed_pack(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_list(x, ONX_X_TUPLE, 9, a);
}

#define P "prepacked::"
#define RUN "_run(Tensor X, Packed W_prepack)"
#define BOUNDS "Scalar? output_min=None, Scalar? output_max=None)"

const onx_aten onx_aten_prepacked[] = {
    {P "linear_clamp" RUN, lower_linear, NULL},
    {P "conv2d_clamp" RUN, lower_conv, NULL},
    {P "conv2d_transpose_clamp" RUN, lower_transposed, NULL},
    {P "linear_clamp_prepack(Tensor W, Tensor? B=None, " BOUNDS, lower_linear_pack, NULL},
    {P "conv2d_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, "
       "int[2] dilation, int groups, " BOUNDS,
     lower_conv_pack, NULL},
    {P "conv2d_transpose_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, "
       "int[2] output_padding, int[2] dilation, int groups, " BOUNDS,
     lower_transposed_pack, NULL},
    {"to_mkldnn(Tensor self, ScalarType? dtype=None)", lower_mkldnn, NULL},
    {"prim::ConstantMKLDNNTensor()", lower_mkldnn, NULL},
    {.schema = NULL},
};
