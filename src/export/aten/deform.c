/* deform.c: torchvision's convolution with windows that are bent: DeformConv, and before opset 19
 * what it is: the input sampled where the taps are, and a convolution over the taps.
 *
 *     offset [N, groups of offsets * taps * (y, x), H, W]
 *     -> grid [N * groups, taps * H, W, (x, y)] -> GridSample -> [N, C, taps, H, W] -> Conv */
#include "export/aten/nn_args.h"

typedef struct deform {
    onx_value *input, *weight, *offset, *mask, *bias;                 /* mask NULL: none */
    int64_t stride[2], pad[2], dilation[2], kernel[2], groups, bends; /* bends: groups of offsets */
} deform;

static void make(onx_export *x, const deform *d, onx_xv *out) {
    int64_t pads[] = {d->pad[0], d->pad[1], d->pad[0], d->pad[1]};
    onx_xattr attrs[8] = {{.name = NULL}}, *at = attrs;
    at = onx_nn_attr(at, "dilations", 2, d->dilation, 1);
    if (d->groups != 1) *at++ = ONX_AI("group", d->groups);
    *at++ = ONX_AL("kernel_shape", 2, d->kernel);
    if (d->bends != 1) *at++ = ONX_AI("offset_group", d->bends);
    at = onx_nn_attr(at, "pads", 4, pads, 0);
    onx_nn_attr(at, "strides", 2, d->stride, 1);
    onx_x_give(x, out,
               onx_emit_wide_with(x, "DeformConv", attrs, d->input, d->weight, d->offset, d->bias,
                                  d->mask));
}

/* ─ By parts ─────────────────────────────────────────────────────────────────────────────────── */

/* Where the taps are along y (0) or x (1) before they are bent: [taps, H, 1] or [taps, 1, W]. */
static onx_value *places(onx_export *x, const deform *d, size_t axis) {
    int64_t taps = d->kernel[0] * d->kernel[1], dims[] = {taps, 1, 1};
    onx_xv size = onx_x_size_of(x, d->offset, axis + 2);
    double *v = onx_x_array(x, (size_t)taps, sizeof *v);
    for (int64_t k = 0; v && k < taps; k++) {
        int64_t tap = axis ? k % d->kernel[1] : k / d->kernel[1];
        v[k] = (double)(tap * d->dilation[axis] - d->pad[axis]);
    }
    onx_value *from = v ? onx_nn_floats(x, ONX_DTYPE_F32, 3, dims, v) : NULL;
    onx_value *at = onx_x_cast(x, onx_x_count(x, &size), ONX_DTYPE_F32);
    at = onx_nn_times(x, at, (double)d->stride[axis]);
    return onx_emit(x, "Add", axis ? at : onx_x_unsqueeze(x, at, 1), from);
}

/* Those of the bent taps, from -1 to 1 over the image: (2 * place + 1) / size - 1. */
static onx_value *coordinates(onx_export *x, const deform *d, onx_value *offset, size_t axis) {
    onx_dtype dtype = onx_x_dtype(x, d->input);
    onx_xv size = onx_x_size_of(x, d->input, axis + 2);
    onx_value *all = onx_x_scalar(x, &size, dtype);
    onx_value *straight = onx_x_cast(x, places(x, d, axis), dtype);
    if (!straight || !all) return NULL;
    straight = onx_emit(x, "Div", onx_nn_plus(x, onx_nn_times(x, straight, 2), 1), all);
    onx_value *step = onx_emit(x, "Div", onx_x_number(x, dtype, 2), all);
    onx_value *bent = onx_emit(x, "Mul", onx_x_pick(x, offset, 2, (int64_t)axis), step);
    bent = onx_emit(x, "Add", bent, onx_nn_plus(x, straight, -1));
    return onx_x_unsqueeze(x, bent, -1);
}

static onx_value *grid_of(onx_export *x, const deform *d, int64_t taps, const onx_xv *size) {
    onx_xv rest = onx_xv_int(x, -1), two = onx_xv_int(x, 2);
    onx_xv apart[] = {rest, onx_xv_int(x, taps), two, size[0], size[1]};
    onx_value *offset = onx_x_reshape(x, d->offset, 5, apart);
    onx_value *xy[] = {coordinates(x, d, offset, 1), coordinates(x, d, offset, 0)};
    onx_xv flat[] = {rest, onx_x_arith(x, "mul", onx_xv_int(x, taps), size[0]), size[1], two};
    return onx_x_ok(x) ? onx_x_reshape(x, onx_x_concat(x, 2, xy, -1), 4, flat) : NULL;
}

/* [N, channels, taps, H, W] by what each tap of each group of channels counts. */
static onx_value *masked(onx_export *x, const deform *d, onx_value *v, int64_t taps,
                         int64_t channels, const onx_xv *size) {
    onx_xv batch = onx_x_size_of(x, d->offset, 0), many = onx_xv_int(x, taps);
    onx_xv groups = onx_xv_int(x, d->bends), each = onx_xv_int(x, channels / d->bends);
    onx_xv split[] = {batch, groups, each, many, size[0], size[1]};
    onx_xv mask[] = {batch, groups, onx_xv_int(x, 1), many, size[0], size[1]};
    onx_xv joined[] = {batch, onx_xv_int(x, channels), many, size[0], size[1]};
    if (!d->mask) return onx_x_reshape(x, v, 5, joined);
    v = onx_emit(x, "Mul", onx_x_reshape(x, v, 6, split), onx_x_reshape(x, d->mask, 6, mask));
    return onx_x_reshape(x, v, 5, joined);
}

static void make_parts(onx_export *x, const deform *d, onx_xv *out) {
    int64_t taps = d->kernel[0] * d->kernel[1], channels;
    onx_xv size[] = {onx_x_size_of(x, d->offset, 2), onx_x_size_of(x, d->offset, 3)};
    if (!onx_x_known_dim(x, d->input, 1, &channels) || channels % d->bends) {
        onx_x_fail(x, ONX_UNSUPPORTED, "the number of channels is not known");
        return;
    }
    onx_xv rest = onx_xv_int(x, -1), one = onx_xv_int(x, 1);
    onx_xv parts[] = {rest, onx_xv_int(x, channels / d->bends), onx_x_size_of(x, d->input, 2),
                      onx_x_size_of(x, d->input, 3)};
    onx_xv filter[] = {onx_x_size_of(x, d->weight, 0), onx_x_size_of(x, d->weight, 1),
                       onx_xv_int(x, taps), one, one};
    onx_value *input = d->bends > 1 ? onx_x_reshape(x, d->input, 4, parts) : d->input;
    onx_value *v = onx_emit_wide(x, "GridSample", input, grid_of(x, d, taps, size));
    v = masked(x, d, v, taps, channels, size);
    onx_xattr attrs[] = {ONX_AI("group", d->groups), {.name = NULL}};
    v = onx_emit_wide_with(x, "Conv", d->groups > 1 ? attrs : NULL, v,
                           onx_x_reshape(x, d->weight, 5, filter), d->bias);
    onx_x_give(x, out, onx_x_squeeze(x, v, 2));
}

/* (input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
 * groups, offset_groups, use_mask) */
static void lower_deform_conv(onx_export *x, const onx_xv *a, onx_xv *out) {
    deform d = {.input = onx_nn_tensor(x, &a[0]),
                .weight = onx_nn_tensor(x, &a[1]),
                .offset = onx_nn_tensor(x, &a[2]),
                .mask = onx_xv_true(&a[13]) ? onx_nn_tensor(x, &a[3]) : NULL,
                .bias = onx_nn_tensor(x, &a[4]),
                .groups = onx_xv_whole(x, &a[11], 1),
                .bends = onx_xv_whole(x, &a[12], 1)};
    for (size_t i = 0; i < 2; i++) {
        d.stride[i] = onx_xv_whole(x, &a[5 + i], 1);
        d.pad[i] = onx_xv_whole(x, &a[7 + i], 0);
        d.dilation[i] = onx_xv_whole(x, &a[9 + i], 1);
        if (!onx_x_known_dim(x, d.weight, 2 + i, &d.kernel[i]) || d.kernel[i] > INT16_MAX)
            onx_x_fail(x, ONX_UNSUPPORTED, "the size of the window is not known");
    }
    if (!onx_x_ok(x) || d.bends < 1) return;
    if (x->opset >= 19)
        make(x, &d, out);
    else
        make_parts(x, &d, out);
}

const onx_aten onx_aten_deform[] = {
    {"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, "
     "Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, "
     "int dilation_w, int groups, int offset_groups, bool use_mask)",
     lower_deform_conv, NULL},
    {.schema = NULL},
};
