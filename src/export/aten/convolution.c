/* convolution.c: convolutions and transposed convolutions of PyTorch, in one, two or three
 * dimensions, with padding by numbers or by name, with or without a batch. Groups that only the
 * model can count (as many as images, where each image has filters of its own) are a Loop. */
#include "export/aten/nn_args.h"
#include "export/if_loop.h"

typedef struct conv {
    onx_value *input, *weight, *bias;
    size_t axes;
    int64_t stride[ONX_NN_AXES], dilation[ONX_NN_AXES], pads[2 * ONX_NN_AXES];
    int64_t output_padding[ONX_NN_AXES], kernel[ONX_NN_AXES];
    onx_xv groups;
    bool transposed, sized; /* sized: `kernel` is known */
    bool same;              /* padding that only the model can count */
} conv;

static bool read_tensors(onx_export *x, conv *c, const onx_xv *input, const onx_xv *weight,
                         const onx_xv *bias) {
    c->input = onx_nn_tensor(x, input);
    c->weight = onx_nn_tensor(x, weight);
    c->bias = onx_nn_tensor(x, bias);
    size_t rank = onx_x_rank(x, c->weight);
    if (rank == SIZE_MAX) return false;
    if (rank < 3 || rank > ONX_NN_AXES + 2) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a convolution with a weight of %zu dimensions", rank);
        return false;
    }
    c->axes = rank - 2;
    c->sized = true;
    for (size_t i = 0; i < c->axes; i++)
        c->sized &= onx_x_known_dim(x, c->weight, i + 2, &c->kernel[i]);
    return true;
}

static bool read_window(onx_export *x, conv *c, const onx_xv *stride, const onx_xv *dilation,
                        const onx_xv *groups) {
    c->groups = *groups;
    return onx_nn_ints(x, stride, "stride", c->axes, c->stride) &&
           onx_nn_ints(x, dilation, "dilation", c->axes, c->dilation);
}

/* As much before as after. */
static bool pad_evenly(onx_export *x, conv *c, const onx_xv *padding) {
    if (!onx_nn_ints(x, padding, "padding", c->axes, c->pads)) return false;
    for (size_t i = 0; i < c->axes; i++) c->pads[c->axes + i] = c->pads[i];
    return true;
}

/* "same": the odd one goes after. */
static bool pad_by_name(onx_export *x, conv *c, const onx_xv *padding) {
    memset(c->pads, 0, sizeof c->pads);
    if (onx_xv_is(padding, ONX_X_STR) && onx_str_is(padding->str, "valid")) return true;
    if (!onx_xv_is(padding, ONX_X_STR) || !onx_str_is(padding->str, "same")) {
        onx_x_fail(x, ONX_UNSUPPORTED, "padding that is neither 'same' nor 'valid'");
        return false;
    }
    c->same = !c->sized;
    for (size_t i = 0; c->sized && i < c->axes; i++) {
        int64_t total = c->dilation[i] * (c->kernel[i] - 1);
        c->pads[i] = total / 2;
        c->pads[c->axes + i] = total - total / 2;
    }
    return true;
}

static onx_value *convolve(onx_export *x, const conv *c, onx_value *input, onx_value *weight,
                           onx_value *bias, int64_t groups) {
    onx_xattr attrs[8] = {{.name = NULL}}, *at = attrs;
    if (c->same) *at++ = ONX_AS("auto_pad", "SAME_UPPER");
    at = onx_nn_attr(at, "dilations", c->axes, c->dilation, 1);
    if (groups != 1) *at++ = ONX_AI("group", groups);
    if (c->sized) *at++ = ONX_AL("kernel_shape", c->axes, c->kernel);
    if (c->transposed) at = onx_nn_attr(at, "output_padding", c->axes, c->output_padding, 0);
    at = onx_nn_attr(at, "pads", 2 * c->axes, c->pads, 0);
    at = onx_nn_attr(at, "strides", c->axes, c->stride, 1);
    return onx_emit_wide_with(x, c->transposed ? "ConvTranspose" : "Conv", attrs, input, weight,
                              bias);
}

/* [… groups * n …] as [… groups, n …]. */
static onx_value *split_axis(onx_export *x, onx_value *value, size_t axis, onx_xv groups) {
    onx_xv sizes[ONX_NN_AXES + 3];
    size_t rank = onx_x_rank(x, value);
    if (rank > ONX_NN_AXES + 2) return onx_x_fail(x, ONX_INVALID, "an input of %zu axes", rank);
    for (size_t i = 0; i < rank; i++) sizes[i + (i > axis)] = onx_x_size_of(x, value, i);
    sizes[axis + 1] = onx_x_arith(x, "floordiv", sizes[axis], groups);
    sizes[axis] = groups;
    return onx_x_reshape(x, value, rank + 1, sizes);
}

static bool convolve_group(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                           onx_xv *go) {
    const conv *c = user;
    onx_value *i = onx_x_scalar(x, &turn, ONX_DTYPE_I64);
    onx_value *input = onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", 1)), c->input, i);
    onx_value *weight = onx_emit_with(x, "Gather", NULL, c->weight, i);
    onx_x_give(x, stacked, convolve(x, c, input, weight, NULL, 1));
    (void)carried, (void)go;
    return onx_x_ok(x);
}

/* One group after the other: what the turns give is [groups, batch, n, …]. */
static onx_value *convolve_groups(onx_export *x, const conv *c, onx_value *input) {
    conv split = *c;
    onx_xv each = {.kind = ONX_X_NONE}, sizes[ONX_NN_AXES + 2];
    onx_xloop loop = {.trips = &c->groups, .n_stacked = 1, .stacked = &each};
    split.input = split_axis(x, input, 1, c->groups);
    split.weight = split_axis(x, c->weight, 0, c->groups);
    loop.body = convolve_group;
    loop.user = &split;
    if (!onx_x_ok(x) || !onx_x_loop(x, &loop)) return NULL;
    onx_value *y = onx_x_swap(x, onx_xv_value(x, &each), 0, 1);
    for (size_t i = 0; i < c->axes + 2; i++) sizes[i] = onx_x_size_of(x, y, i + (i > 1));
    sizes[1] = onx_x_arith(x, "mul", c->groups, onx_x_size_of(x, y, 2));
    y = onx_x_reshape(x, y, c->axes + 2, sizes);
    onx_value *bias = c->bias;
    for (size_t i = 0; bias && i < c->axes; i++) bias = onx_x_unsqueeze(x, bias, (int64_t)i + 1);
    return bias ? onx_emit(x, "Add", y, bias) : y;
}

static void make(onx_export *x, const conv *c, onx_xv *out) {
    bool added;
    int64_t groups;
    if (!onx_x_ok(x)) return;
    onx_value *batch = onx_nn_batch(x, c->input, c->axes, &added);
    onx_value *y = onx_xv_known_int(&c->groups, &groups)
                       ? convolve(x, c, batch, c->weight, c->bias, groups)
                       : convolve_groups(x, c, batch);
    onx_x_give(x, out, onx_nn_unbatch(x, y, added));
}

/* (input, weight, bias, stride, padding, dilation, groups) */
static void lower_conv(onx_export *x, const onx_xv *a, onx_xv *out) {
    conv c = {.transposed = false};
    if (read_tensors(x, &c, &a[0], &a[1], &a[2]) && read_window(x, &c, &a[3], &a[5], &a[6]) &&
        (onx_xv_is(&a[4], ONX_X_STR) ? pad_by_name(x, &c, &a[4]) : pad_evenly(x, &c, &a[4])))
        make(x, &c, out);
}

/* (input, weight, bias, stride, padding, output_padding, groups, dilation) */
static void lower_conv_transpose(onx_export *x, const onx_xv *a, onx_xv *out) {
    conv c = {.transposed = true};
    if (read_tensors(x, &c, &a[0], &a[1], &a[2]) && read_window(x, &c, &a[3], &a[7], &a[6]) &&
        pad_evenly(x, &c, &a[4]) &&
        onx_nn_ints(x, &a[5], "output_padding", c.axes, c.output_padding))
        make(x, &c, out);
}

/* (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups …) */
static void lower_convolution(onx_export *x, const onx_xv *a, onx_xv *out) {
    conv c = {.transposed = onx_xv_true(&a[6])};
    if (!read_tensors(x, &c, &a[0], &a[1], &a[2]) || !read_window(x, &c, &a[3], &a[5], &a[8]) ||
        !pad_evenly(x, &c, &a[4]))
        return;
    if (!c.transposed || onx_nn_ints(x, &a[7], "output_padding", c.axes, c.output_padding))
        make(x, &c, out);
}

/* (self, weight, kernel_size, bias, stride, padding[, dilation]): what conv2d is made of. */
static void lower_by_kernel(onx_export *x, const onx_xv *a, bool dilated, onx_xv *out) {
    conv c = {.transposed = false};
    onx_xv one = onx_xv_int(x, 1);
    onx_xv ones = onx_xv_list(x, ONX_X_LIST, 1, &one);
    if (read_tensors(x, &c, &a[0], &a[1], &a[3]) &&
        read_window(x, &c, &a[4], dilated ? &a[6] : &ones, &one) && pad_evenly(x, &c, &a[5]))
        make(x, &c, out);
}
static void lower_slow_conv(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_by_kernel(x, a, false, out);
}
static void lower_dilated_conv(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_by_kernel(x, a, true, out);
}
/* The same with a filter for each channel. */
static void lower_depthwise(onx_export *x, const onx_xv *a, onx_xv *out) {
    conv c = {.transposed = false};
    onx_xv groups = onx_x_size_of(x, onx_nn_tensor(x, &a[0]), 1);
    if (read_tensors(x, &c, &a[0], &a[1], &a[3]) && read_window(x, &c, &a[4], &a[6], &groups) &&
        pad_evenly(x, &c, &a[5]))
        make(x, &c, out);
}

/* (self[T,B,I], weight[K,I,O], bias, pad): time first. */
static void lower_conv_tbc(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t into[] = {1, 2, 0}, turned[] = {2, 1, 0}, back[] = {2, 0, 1};
    int64_t pad = onx_xv_whole(x, &a[3], 0), pads[] = {pad, pad};
    onx_xattr attrs[2] = {{.name = NULL}};
    onx_nn_attr(attrs, "pads", 2, pads, 0);
    onx_value *input = onx_x_transpose(x, onx_nn_tensor(x, &a[0]), 3, into);
    onx_value *weight = onx_x_transpose(x, onx_nn_tensor(x, &a[1]), 3, turned);
    onx_value *y = onx_emit_wide_with(x, "Conv", attrs, input, weight, onx_nn_tensor(x, &a[2]));
    onx_x_give(x, out, onx_x_transpose(x, y, 3, back));
}

#define TENSORS "(Tensor input, Tensor weight, Tensor? bias"
#define CONV(n)                                                                                    \
    TENSORS "=None, int[" n "] stride=1, int[" n "] padding=0, int[" n "] dilation=1, "            \
            "int groups=1)"
#define BY_NAME(n)                                                                                 \
    TENSORS "=None, int[" n "] stride=1, str padding=\"valid\", int[" n "] dilation=1, "           \
            "int groups=1)"
#define TRANSPOSED(n)                                                                              \
    TENSORS "=None, int[" n "] stride=1, int[" n "] padding=0, int[" n "] output_padding=0, "      \
            "int groups=1, int[" n "] dilation=1)"
#define ANY                                                                                        \
    TENSORS ", int[] stride, int[] padding, int[] dilation, bool transposed, "                     \
            "int[] output_padding, int groups"
#define BY_KERNEL(n)                                                                               \
    "(Tensor self, Tensor weight, int[" n "] kernel_size, Tensor? bias=None, "                     \
    "int[" n "] stride=1, int[" n "] padding=0"

const onx_aten onx_aten_convolution[] = {
    {"conv1d" CONV("1"), lower_conv, NULL},
    {"conv1d.padding" BY_NAME("1"), lower_conv, NULL},
    {"conv2d" CONV("2"), lower_conv, NULL},
    {"conv2d.padding" BY_NAME("2"), lower_conv, NULL},
    {"conv3d" CONV("3"), lower_conv, NULL},
    {"conv3d.padding" BY_NAME("3"), lower_conv, NULL},
    {"conv_transpose1d" TRANSPOSED("1"), lower_conv_transpose, NULL},
    {"conv_transpose2d.input" TRANSPOSED("2"), lower_conv_transpose, NULL},
    {"conv_transpose3d.input" TRANSPOSED("3"), lower_conv_transpose, NULL},
    {"convolution" ANY ")", lower_convolution, NULL},
    {"convolution_overrideable" ANY ")", lower_convolution, NULL},
    {"_convolution" ANY ", bool benchmark, bool deterministic, bool cudnn_enabled, "
     "bool allow_tf32=False)",
     lower_convolution, NULL},
    {"_convolution_mode" TENSORS ", int[] stride, str padding, int[] dilation, int groups)",
     lower_conv, NULL},
    {"thnn_conv2d" BY_KERNEL("2") ")", lower_slow_conv, NULL},
    {"slow_conv3d" BY_KERNEL("3") ")", lower_slow_conv, NULL},
    {"slow_conv_dilated2d" BY_KERNEL("2") ", int[2] dilation=1)", lower_dilated_conv, NULL},
    {"slow_conv_dilated3d" BY_KERNEL("3") ", int[3] dilation=1)", lower_dilated_conv, NULL},
    {"_conv_depthwise2d" BY_KERNEL("2") ", int[2] dilation=1)", lower_depthwise, NULL},
    {"conv_depthwise3d" BY_KERNEL("3") ", int[3] dilation=1)", lower_depthwise, NULL},
    {"conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0)", lower_conv_tbc, NULL},
    {.schema = NULL},
};
