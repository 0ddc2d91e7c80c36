/* step_signal.c: DFT and STFT below version 17: products with matrices of cosines and sines, and
 * frames that are gathered.
 *
 *     out[k] = Σ x[j] · e^(∓2πi · jk / n)        jk is taken modulo n before it is a float
 *
 * Col2Im below 18: a transposed convolution that puts each element of a block to its place. */
#include "pass/convert/steps.h"

/* cosines, sines [signal, bins], of the type of the input; `n` is the length, `count` that of the
 * signal. */
static void put_waves(onx_buf *text, bool inverse, bool half, onx_dtype dtype) {
    onx_buf_puts(text, "zero = Constant <value = int64 {0}> ()\n"
                       "one = Constant <value = int64 {1}> ()\n"
                       "two = Constant <value = int64 {2}> ()\n"
                       "along = Constant <value = int64[1] {1}> ()\n"
                       "turn = Constant <value = double {6.283185307179586}> ()\n");
    onx_buf_puts(text, half ? "n_half = Div (n, two)\nbins = Add (n_half, one)\n"
                            : "bins = Identity (n)\n");
    onx_buf_puts(text, "j_row = Range (zero, count, one)\n"
                       "j = Unsqueeze (j_row, along)\n"
                       "k = Range (zero, bins, one)\n"
                       "jk = Mul (j, k)\n"
                       "phase = Mod (jk, n)\n"
                       "phase_wide = Cast <to = 11> (phase)\n"
                       "n_wide = Cast <to = 11> (n)\n"
                       "part = Div (phase_wide, n_wide)\n"
                       "angle = Mul (part, turn)\n"
                       "cos_wide = Cos (angle)\n"
                       "sin_wide = Sin (angle)\n");
    onx_buf_puts(text, inverse ? "cos_part = Div (cos_wide, n_wide)\n"
                                 "sin_part = Div (sin_wide, n_wide)\n"
                               : "cos_part = Identity (cos_wide)\n"
                                 "sin_part = Neg (sin_wide)\n");
    onx_buf_printf(text,
                   "cosines = Cast <to = %d> (cos_part)\n"
                   "sines = Cast <to = %d> (sin_part)\n",
                   (int)dtype, (int)dtype);
}

static void put_perm(onx_buf *text, const char *out, const char *in, size_t rank, size_t axis) {
    onx_buf_printf(text, "%s = Transpose <perm = [", out);
    for (size_t i = 0; i < rank; i++)
        onx_buf_printf(text, "%s%zu", i ? ", " : "",
                       i == axis       ? rank - 2
                       : i == rank - 2 ? axis
                                       : i);
    onx_buf_printf(text, "]> (%s)\n", in);
}

/* The axis changes places with the one before the parts of the numbers, which is the last. */
static void put_dft(onx_buf *text, size_t rank, size_t axis, bool complex) {
    put_perm(text, "turned", "signal_cut", rank, axis);
    onx_buf_puts(text, "re = Gather <axis = -1> (turned, zero)\n"
                       "re_cos = MatMul (re, cosines)\n"
                       "re_sin = MatMul (re, sines)\n");
    onx_buf_puts(text, complex ? "im = Gather <axis = -1> (turned, one)\n"
                                 "im_cos = MatMul (im, cosines)\n"
                                 "im_sin = MatMul (im, sines)\n"
                                 "re_all = Sub (re_cos, im_sin)\n"
                                 "im_all = Add (re_sin, im_cos)\n"
                               : "re_all = Identity (re_cos)\n"
                                 "im_all = Identity (re_sin)\n");
    onx_buf_puts(text, "last = Constant <value = int64[1] {-1}> ()\n"
                       "re_out = Unsqueeze (re_all, last)\n"
                       "im_out = Unsqueeze (im_all, last)\n"
                       "both = Concat <axis = -1> (re_out, im_out)\n");
    put_perm(text, "output", "both", rank, axis);
}

static onx_status dft_down(onx_convert *c, onx_node *node) {
    size_t rank, axis;
    int64_t parts;
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    static const char *const names[] = {"axis", "inverse", "onesided"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) ONX_TRY(onx_convert_plain(c, node, names[i]));
    bool inverse = onx_convert_int(c, node, "inverse"), half = onx_convert_int(c, node, "onesided");
    if (!onx_convert_is_float(dtype) || !onx_convert_rank(c, node, 0, &rank) || rank < 2 ||
        rank > ONX_RANK_MAX || !onx_axis(onx_convert_int(c, node, "axis"), rank, &axis) ||
        axis + 1 == rank || !onx_convert_dim(c, node, 0, rank - 1, &parts))
        return onx_convert_refuse(c, "the type and the rank of 'input' are not known");
    if (inverse && half) return onx_convert_refuse(c, "the inverse of one half is not kept");
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "<16>\n"
                   "own = Constant <value = int64 {%zu}> ()\n"
                   "own_list = Constant <value = int64[1] {%zu}> ()\n"
                   "first = Constant <value = int64[1] {0}> ()\n"
                   "rest = Constant <value = int64[1] {-1}> ()\n"
                   "none = Constant <value = int64[0] {}> ()\n",
                   axis, axis);
    onx_buf_puts(&text, onx_convert_has(node, 1)
                            ? "length = Cast <to = 7> (dft_length)\n"
                              "n = Reshape (length, none)\n"
                              "n_list = Reshape (length, rest)\n"
                              "signal_cut = Slice (input, first, n_list, own_list)\n"
                              "shape = Shape (signal_cut)\n"
                              "count = Gather (shape, own)\n"
                            : "signal_cut = Identity (input)\n"
                              "shape = Shape (input)\n"
                              "count = Gather (shape, own)\n"
                              "n = Identity (count)\n");
    put_waves(&text, inverse, half, dtype);
    put_dft(&text, rank, axis, parts == 2);
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status stft_down(onx_convert *c, onx_node *node) {
    bool window = onx_convert_has(node, 2), length = onx_convert_has(node, 3);
    size_t rank;
    if (!onx_convert_rank(c, node, 0, &rank))
        return onx_convert_refuse(c, "how many dimensions 'signal' has is not known");
    if (!window && !length) return onx_convert_refuse(c, "the length of a frame is not known");
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<17>\n"
                        "zero = Constant <value = int64 {0}> ()\n"
                        "one = Constant <value = int64 {1}> ()\n"
                        "along = Constant <value = int64[1] {1}> ()\n"
                        "column = Constant <value = int64[2] {-1, 1}> ()\n"
                        "none = Constant <value = int64[0] {}> ()\n"
                        "last = Constant <value = int64[1] {-1}> ()\n"
                        "shape = Shape (signal)\n"
                        "n = Gather (shape, one)\n"
                        "step_wide = Cast <to = 7> (frame_step)\n"
                        "step = Reshape (step_wide, none)\n");
    onx_buf_puts(&text, length ? "length_wide = Cast <to = 7> (frame_length)\n"
                                 "length = Reshape (length_wide, none)\n"
                               : "window_shape = Shape (window)\n"
                                 "length = Gather (window_shape, zero)\n");
    onx_buf_puts(&text, "span = Sub (n, length)\n"
                        "steps = Div (span, step)\n"
                        "n_frames = Add (steps, one)\n"
                        "frame = Range (zero, n_frames, one)\n"
                        "starts = Mul (frame, step)\n"
                        "rows = Unsqueeze (starts, along)\n"
                        "counted = Range (zero, length, one)\n"
                        "places = Add (rows, counted)\n"
                        "frames_flat = Gather <axis = 1> (signal, places)\n");
    onx_buf_puts(&text, rank == 2 ? "frames = Unsqueeze (frames_flat, last)\n"
                                  : "frames = Identity (frames_flat)\n");
    onx_buf_puts(&text, window ? "weights = Reshape (window, column)\n"
                                 "weighted = Mul (frames, weights)\n"
                               : "weighted = Identity (frames)\n");
    onx_buf_puts(&text, "output = DFT <axis = 2, onesided: int = @onesided> (weighted)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Col2Im ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct blocks { /* along one axis of the image */
    int64_t image, kernel, dilation, stride, before, after;
    int64_t n, rest; /* how many there are; what is left over at the end */
} blocks;

static int64_t attr_at(const onx_node *node, const char *name, size_t index, int64_t otherwise) {
    size_t n = 0;
    const int64_t *values = onx_op_ints(node, name, &n);
    return values && index < n ? values[index] : otherwise;
}

static bool read_blocks(const onx_node *node, size_t axis, size_t axes, blocks *b) {
    b->dilation = attr_at(node, "dilations", axis, 1);
    b->stride = attr_at(node, "strides", axis, 1);
    b->before = attr_at(node, "pads", axis, 0);
    b->after = attr_at(node, "pads", axes + axis, 0);
    const int64_t all[] = {b->image, b->kernel, b->dilation, b->stride, b->before, b->after};
    for (size_t i = 0; i < ONX_COUNT(all); i++)
        if (all[i] < (i < 4) || all[i] > INT32_MAX / 64) return false;
    int64_t room = b->image + b->before + b->after - b->dilation * (b->kernel - 1) - 1;
    b->n = room / b->stride + 1;
    b->rest = room % b->stride;
    return room >= 0;
}

static void put_attr(onx_buf *text, const char *name, size_t n, const int64_t *values) {
    onx_buf_printf(text, "%s = [", name);
    for (size_t i = 0; i < n; i++)
        onx_buf_printf(text, "%s%lld", i ? ", " : "", (long long)values[i]);
    onx_buf_puts(text, "]");
}

enum { MOST_AXES = 4 };

static void put_blocks(onx_buf *text, const blocks *b, size_t axes, int64_t channels) {
    int64_t in[MOST_AXES + 2] = {-1, 1}, out[MOST_AXES + 2] = {-1, channels}, strides[MOST_AXES],
                           dilations[MOST_AXES], rest[MOST_AXES], pads[2 * MOST_AXES],
                           kernel[MOST_AXES + 2] = {-1, 1};
    for (size_t i = 0; i < axes; i++) {
        in[1] *= b[i].kernel;
        in[i + 2] = b[i].n, out[i + 2] = b[i].image, kernel[i + 2] = b[i].kernel;
        strides[i] = b[i].stride, dilations[i] = b[i].dilation, rest[i] = b[i].rest;
        pads[i] = b[i].before, pads[axes + i] = b[i].after;
    }
    onx_convert_put_list(text, "in_shape", axes + 2, in);
    onx_convert_put_list(text, "out_shape", axes + 2, out);
    onx_convert_put_list(text, "kernel_shape", axes + 2, kernel);
    onx_buf_printf(text, "size = Constant <value = int64[2] {%lld, %lld}> ()\n", (long long)in[1],
                   (long long)in[1]);
    onx_buf_puts(text, "square = ConstantOfShape (size)\n"
                       "eye = EyeLike (square)\n"
                       "own_eye = CastLike (eye, input)\n"
                       "weights = Reshape (own_eye, kernel_shape)\n"
                       "spread = Reshape (input, in_shape)\n"
                       "images = ConvTranspose <");
    put_attr(text, "strides", axes, strides);
    put_attr(text, ", dilations", axes, dilations);
    put_attr(text, ", pads", 2 * axes, pads);
    put_attr(text, ", output_padding", axes, rest);
    onx_buf_puts(text, "> (spread, weights)\noutput = Reshape (images, out_shape)\n");
}

static onx_status col2im_down(onx_convert *c, onx_node *node) {
    static const char *const names[] = {"dilations", "pads", "strides"};
    blocks b[MOST_AXES] = {0};
    size_t axes, n;
    int64_t *image, *kernel, channels, size = 1;
    for (size_t i = 0; i < ONX_COUNT(names); i++) ONX_TRY(onx_convert_plain(c, node, names[i]));
    if (!onx_convert_is_float(onx_convert_in(c, node, 0)->dtype))
        return onx_convert_refuse(c, "ConvTranspose takes its place there, which is for floats");
    if (!onx_convert_ints(c, node, 1, &axes, &image) ||
        !onx_convert_ints(c, node, 2, &n, &kernel) || n != axes || axes < 1 || axes > MOST_AXES ||
        !onx_convert_dim(c, node, 0, 1, &channels))
        return onx_convert_refuse(c, "the shapes of the image and of its blocks are not known");
    for (size_t i = 0; i < axes; i++) {
        b[i].image = image[i], b[i].kernel = kernel[i];
        if (!read_blocks(node, i, axes, &b[i]) || size > INT32_MAX / kernel[i])
            return onx_convert_refuse(c, "the blocks do not fit the image");
        size *= kernel[i];
    }
    if (channels < 1 || channels % size)
        return onx_convert_refuse(c, "the blocks do not fit the channels");
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<17>\n");
    put_blocks(&text, b, axes, channels / size);
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_col2im = {NULL, col2im_down, NULL};
const onx_convert_step onx_step_dft = {NULL, dft_down, NULL};
const onx_convert_step onx_step_stft = {NULL, stft_down, NULL};
