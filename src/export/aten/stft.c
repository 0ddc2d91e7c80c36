/* stft.c: Fourier transforms of pieces of a signal, and back. */
#include "export/aten/lowering.h"

typedef struct frames {
    int64_t n_fft, hop, win;
    onx_value *window; /* n_fft elements */
} frames;

/* The window in the middle of n_fft elements; without one, ones. */
static onx_value *window_of(onx_export *x, const onx_xv *window, onx_dtype dtype, const frames *f) {
    int64_t left = (f->n_fft - f->win) / 2, pads[2] = {left, f->n_fft - f->win - left};
    onx_xv size = onx_xv_int(x, f->win);
    onx_value *w = onx_xv_is(window, ONX_X_NONE)
                       ? onx_x_fill(x, onx_x_number(x, dtype, 1), 1, &size)
                       : onx_x_as(x, window, dtype);
    return f->win == f->n_fft ? w : onx_emit(x, "Pad", w, onx_x_ints(x, 2, pads));
}

/* `a`: self, n_fft, hop_length, win_length, window. */
static bool frames_of(onx_export *x, const onx_xv *a, onx_dtype dtype, frames *f) {
    f->n_fft = onx_xv_whole(x, &a[1], 0);
    f->hop = onx_xv_whole(x, &a[2], f->n_fft / 4);
    f->win = onx_xv_whole(x, &a[3], f->n_fft);
    if (f->n_fft < 1 || f->hop < 1 || f->win < 1 || f->win > f->n_fft)
        return onx_x_fail(x, ONX_INVALID, "pieces of %lld elements every %lld, a window of %lld",
                          (long long)f->n_fft, (long long)f->hop, (long long)f->win);
    f->window = window_of(x, &a[4], dtype, f);
    return onx_x_ok(x);
}

typedef struct choice { /* the arguments behind the window */
    const onx_xv *normalized, *onesided, *return_complex;
} choice;

/* [batch, length] to [batch, frequencies, pieces], complex. */
static void give_stft(onx_export *x, onx_value *v, const frames *f, choice c, onx_xv *out) {
    static const int64_t turn[] = {0, 2, 1, 3};
    bool single = onx_x_rank(x, v) == 1,
         half = c.onesided->kind == ONX_X_NONE || onx_xv_true(c.onesided);
    if (single) v = onx_x_unsqueeze(x, v, 0);
    v = onx_emit_with(x, "STFT", ONX_ATTRS(ONX_AI("onesided", half)), v, onx_x_int(x, f->hop),
                      f->window, onx_x_int(x, f->n_fft));
    v = onx_x_transpose(x, v, 4, turn);
    if (onx_xv_true(c.normalized)) {
        onx_value *n = v ? onx_x_number(x, onx_x_dtype(x, v), (double)f->n_fft) : NULL;
        v = onx_emit(x, "Div", v, onx_emit(x, "Sqrt", n));
    }
    if (single) v = onx_x_squeeze(x, v, 0);
    *out = onx_xv_true(c.return_complex) ? onx_xv_complex(x, v) : onx_xv_tensor(x, v);
}

static void lower_stft(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    frames f;
    if (v && frames_of(x, a, onx_x_dtype(x, v), &f))
        give_stft(x, v, &f, (choice){&a[5], &a[6], &a[7]}, out);
}

/* Half a piece more on both sides. */
static onx_value *centered(onx_export *x, onx_value *v, int64_t n_fft, onx_str mode) {
    int64_t pads[4] = {0}, side = n_fft / 2;
    size_t rank = onx_x_rank(x, v);
    if (rank == SIZE_MAX || rank > 2) return NULL;
    pads[rank - 1] = pads[2 * rank - 1] = side;
    bool reflect = onx_str_is(mode, "reflect"), zero = onx_str_is(mode, "constant");
    if (!reflect && !zero && !onx_str_is(mode, "replicate"))
        return onx_x_fail(x, ONX_UNSUPPORTED, "pad_mode '%.*s'", ONX_FMT(mode));
    return onx_emit_with(x, "Pad",
                         ONX_ATTRS(ONX_AS("mode", reflect ? "reflect"
                                                  : zero  ? "constant"
                                                          : "edge")),
                         v, onx_x_ints(x, 2 * rank, pads));
}

static void lower_stft_center(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    frames f;
    if (!v || !frames_of(x, a, onx_x_dtype(x, v), &f)) return;
    if (onx_xv_true(&a[5])) v = centered(x, v, f.n_fft, a[6].str);
    if (v) give_stft(x, v, &f, (choice){&a[7], &a[8], &a[9]}, out);
}

/* Pieces [batch, n_fft, count] put over each other, every `hop` elements: [batch, length]. */
static onx_value *overlapped(onx_export *x, onx_value *v, const frames *f) {
    int64_t block[2] = {1, f->n_fft}, strides[2] = {1, f->hop}, last[2] = {1, 2};
    onx_xv count = onx_x_size_of(x, v, 2), one = onx_xv_int(x, 1);
    onx_xv more = onx_x_arith(x, "mul", onx_x_arith(x, "sub", count, one), onx_xv_int(x, f->hop));
    onx_xv image[2] = {one, onx_x_arith(x, "add", more, onx_xv_int(x, f->n_fft))};
    v = onx_emit_with(x, "Col2Im", ONX_ATTRS(ONX_AL("strides", 2, strides)), v,
                      onx_x_shape(x, 2, image), onx_x_ints(x, 2, block));
    return v ? onx_emit(x, "Squeeze", v, onx_x_ints(x, 2, last)) : NULL;
}

/* [batch, frequencies, pieces] to pieces [batch, n_fft, pieces] of the signal, windowed. */
static onx_value *pieces_of(onx_export *x, const onx_xv *v, const frames *f, bool normalized,
                            bool half) {
    onx_xv axis = onx_xv_int(x, 1), dims = onx_xv_list(x, ONX_X_LIST, 1, &axis);
    onx_xv args[4] = {*v, dims, onx_xv_int(x, normalized ? 1 : 2), onx_xv_int(x, f->n_fft)};
    if (!half) args[3] = onx_xv_bool(x, false);
    onx_xv real = onx_aten_do(x, half ? "_fft_c2r" : "_fft_c2c", 4, args);
    if (!onx_x_ok(x) || real.kind != ONX_X_TENSOR) return NULL;
    onx_value *pieces = onx_xv_value(x, &real);
    if (!half) pieces = onx_complex_re(x, pieces);
    return onx_emit(x, "Mul", pieces, onx_x_unsqueeze(x, f->window, 1));
}

/* The pieces together, divided by what the windows add up to. */
static void lower_istft(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    frames f;
    if (!v || !frames_of(x, a, onx_x_dtype(x, v), &f)) return;
    onx_xv pairs = onx_xv_is_complex(a) ? *a : onx_xv_complex(x, v);
    bool single = onx_xv_rank(x, &pairs) == 2, half = a[7].kind == ONX_X_NONE || onx_xv_true(&a[7]);
    if (single) pairs = onx_xv_complex(x, onx_x_unsqueeze(x, onx_xv_value(x, &pairs), 0));
    if (!onx_x_ok(x)) return;
    onx_value *pieces = pieces_of(x, &pairs, &f, onx_xv_true(&a[6]), half);
    if (!pieces) return;
    onx_xv shape[3] = {onx_xv_int(x, 1), onx_xv_int(x, f.n_fft), onx_x_size_of(x, pieces, 2)};
    onx_value *square = onx_x_unsqueeze(x, onx_emit(x, "Mul", f.window, f.window), 1);
    onx_value *weight = onx_emit(x, "Expand", square, onx_x_shape(x, 3, shape));
    onx_value *signal = onx_emit(x, "Div", overlapped(x, pieces, &f), overlapped(x, weight, &f));
    int64_t side = onx_xv_true(&a[5]) ? f.n_fft / 2 : 0;
    onx_xv from = onx_xv_int(x, side), to = onx_xv_int(x, side ? -side : INT64_MAX);
    if (!onx_xv_is(&a[8], ONX_X_NONE)) to = onx_x_arith(x, "add", from, a[8]);
    signal = onx_x_slice(x, signal, 1, from, to, 1);
    onx_x_give(x, out, single ? onx_x_squeeze(x, signal, 0) : signal);
}

const onx_aten onx_aten_stft[] = {
    {"stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool normalized=False, bool? onesided=None, "
     "bool? return_complex=None, bool? align_to_window=None)",
     lower_stft, NULL},
    {"stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, "
     "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None)",
     lower_stft_center, NULL},
    {"istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, "
     "int? length=None, bool return_complex=False)",
     lower_istft, NULL},
    {NULL, NULL, NULL},
};
