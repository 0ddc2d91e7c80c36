/* step_signal.c: DFT and STFT below version 17: products with matrices of cosines and sines, and
 * frames that are gathered.
 *
 *     out[k] = Σ x[j] · e^(∓2πi · jk / n)        jk is taken modulo n before it is a float */
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
    if (!window && !length) return onx_convert_refuse(c, "the length of a frame is not known");
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<17>\n"
                        "zero = Constant <value = int64 {0}> ()\n"
                        "one = Constant <value = int64 {1}> ()\n"
                        "along = Constant <value = int64[1] {1}> ()\n"
                        "column = Constant <value = int64[2] {-1, 1}> ()\n"
                        "none = Constant <value = int64[0] {}> ()\n"
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
                        "frames = Gather <axis = 1> (signal, places)\n");
    onx_buf_puts(&text, window ? "weights = Reshape (window, column)\n"
                                 "weighted = Mul (frames, weights)\n"
                               : "weighted = Identity (frames)\n");
    onx_buf_puts(&text, "output = DFT <axis = 2, onesided: int = @onesided> (weighted)\n");
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_dft = {NULL, dft_down, NULL};
const onx_convert_step onx_step_stft = {NULL, stft_down, NULL};
