/* fft.c: Fourier transforms: DFT along one axis after another.
 *
 * DFT of ONNX takes pairs (last axis 2) or real numbers (last axis 1), pads or cuts to a length,
 * and divides by that length in the inverse direction. What real results leave out is put back by
 * their symmetry before the inverse transform. */
#include "export/aten/lowering.h"

#include <math.h>

/* Of PyTorch's decomposed operators, by number: nothing, 1/sqrt(n), 1/n. */
typedef enum scale { NONE, ROOT, FULL } scale;

static scale scale_of(onx_export *x, const onx_xv *norm, bool inverse) {
    if (norm->kind == ONX_X_NONE || onx_str_is(norm->str, "backward")) return inverse ? FULL : NONE;
    if (onx_str_is(norm->str, "ortho")) return ROOT;
    if (!onx_str_is(norm->str, "forward"))
        onx_x_fail(x, ONX_INVALID, "norm '%.*s': backward, ortho and forward are known",
                   ONX_FMT(norm->str));
    return inverse ? NONE : FULL;
}

/* `n` numbers were transformed: what DFT did to their size becomes what was asked for. */
static onx_value *scaled(onx_export *x, onx_value *v, onx_xv n, scale s, bool inverse) {
    if (!v || s == (inverse ? FULL : NONE)) return v;
    onx_value *size = onx_x_as(x, &n, onx_x_dtype(x, v));
    if (s == ROOT) size = onx_emit(x, "Sqrt", size);
    return onx_emit(x, inverse ? "Mul" : "Div", v, size);
}

/* ─ One axis ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct axis_plan {
    int64_t axis;
    const onx_xv *length; /* NULL: as long as it is */
    bool inverse, onesided;
} axis_plan;

static onx_value *transform(onx_export *x, onx_value *v, axis_plan p) {
    onx_value *length = p.length ? onx_x_scalar(x, p.length, ONX_DTYPE_I64) : NULL;
    onx_xattr attrs[] = {ONX_AI("inverse", p.inverse),
                         ONX_AI("onesided", p.onesided),
                         ONX_AI("axis", p.axis),
                         {.name = NULL}};
    if (onx_x_built(x) < 20) return onx_emit_with(x, "DFT", attrs, v, length);
    attrs[2].name = NULL;
    return onx_emit_with(x, "DFT", attrs, v, length, onx_x_int(x, p.axis));
}

/* ─ Several axes ─────────────────────────────────────────────────────────────────────────────── */

typedef struct plan {
    size_t n;
    int64_t axes[ONX_RANK_MAX];
    const onx_xv *lengths[ONX_RANK_MAX]; /* NULL: as long as it is */
} plan;

/* The axes of `dims` (None: all, or as many of the last as there are lengths), the lengths of `s`.
 */
static bool plan_of(onx_export *x, const onx_xv *v, const onx_xv *s, const onx_xv *dims, plan *p) {
    size_t rank = onx_xv_rank(x, v);
    *p = (plan){.n = 0};
    if (rank == SIZE_MAX) return false;
    p->n = onx_x_axes(x, dims, rank, p->axes);
    const onx_xlist *list = onx_xv_is_list(s) ? s->list : NULL;
    if (!p->n) {
        p->n = list ? list->n : rank;
        for (size_t i = 0; i < p->n; i++) p->axes[i] = (int64_t)(rank - p->n + i);
    }
    for (size_t i = 0; list && i < list->n && i < p->n; i++) {
        int64_t known;
        bool as_is = onx_xv_known_int(&list->v[i], &known) && known == -1;
        p->lengths[i] = as_is ? NULL : &list->v[i];
    }
    return onx_x_ok(x);
}

static onx_xv length_of(onx_export *x, onx_value *v, const plan *p, size_t i) {
    return p->lengths[i] ? *p->lengths[i] : onx_x_size_of(x, v, (size_t)p->axes[i]);
}

static onx_xv length_of_all(onx_export *x, onx_value *v, const plan *p) {
    onx_xv n = onx_xv_int(x, 1);
    for (size_t i = 0; i < p->n; i++) n = onx_x_arith(x, "mul", n, length_of(x, v, p, i));
    return n;
}

/* Complex to complex, of the first `n` axes. */
static onx_value *all_axes(onx_export *x, onx_value *v, const plan *p, size_t n, bool inverse) {
    for (size_t i = 0; i < n; i++)
        v = transform(x, v, (axis_plan){p->axes[i], p->lengths[i], inverse, false});
    return v;
}

static void give_c2c(onx_export *x, const onx_xv *a, const plan *p, bool inverse, scale s,
                     onx_xv *out) {
    onx_value *v = onx_xv_is_complex(a) ? onx_xv_value(x, a) : onx_x_floating(x, a);
    onx_xv n = onx_x_ok(x) ? length_of_all(x, v, p) : onx_xv_int(x, 1);
    if (!onx_xv_is_complex(a)) v = onx_x_unsqueeze(x, v, -1);
    *out = onx_xv_complex(x, scaled(x, all_axes(x, v, p, p->n, inverse), n, s, inverse));
}

/* Of real numbers: the last axis first, of which the first half tells all. */
static void give_r2c(onx_export *x, const onx_xv *a, const plan *p, bool onesided, scale s,
                     onx_xv *out) {
    onx_value *v = onx_x_floating(x, a);
    size_t last = p->n - 1;
    onx_xv n = onx_x_ok(x) ? length_of_all(x, v, p) : onx_xv_int(x, 1);
    v = transform(x, onx_x_unsqueeze(x, v, -1),
                  (axis_plan){p->axes[last], p->lengths[last], false, onesided});
    *out = onx_xv_complex(x, scaled(x, all_axes(x, v, p, last, false), n, s, false));
}

/* (1, -1) on the last axis. */
static onx_value *conjugate(onx_export *x, onx_value *pairs) {
    onx_xv v = onx_xv_complex(x, pairs);
    onx_xv c = onx_x_ok(x) ? onx_aten_do(x, "conj", 1, &v) : v;
    return onx_x_ok(x) ? onx_xv_value(x, &c) : NULL;
}

/* All n numbers of an axis of which the first n/2 + 1 are there: the rest mirrors them. */
static onx_value *mirrored(onx_export *x, onx_value *v, size_t axis, onx_xv n) {
    onx_xv one = onx_xv_int(x, 1), zero = onx_xv_int(x, 0);
    onx_xv half = onx_x_arith(x, "add", onx_x_arith(x, "floordiv", n, onx_xv_int(x, 2)), one);
    onx_xv rest = onx_x_arith(x, "sub", n, half);
    onx_xv is = onx_x_arith(x, "eq", onx_x_size_of(x, v, axis), half);
    if (!onx_xv_true(&is)) v = onx_x_slice(x, v, (int64_t)axis, zero, half, 1);
    onx_value *back = onx_x_slice(x, v, (int64_t)axis, rest, zero, -1);
    onx_value *both[2] = {v, conjugate(x, back)};
    return onx_x_ok(x) ? onx_x_concat(x, 2, both, (int64_t)axis) : NULL;
}

/* To real numbers: the other axes first; n numbers along the last one. */
static onx_value *c2r(onx_export *x, onx_value *v, const plan *p, onx_xv n, scale s) {
    size_t last = p->n - 1, axis = (size_t)p->axes[last];
    onx_xv all = onx_xv_int(x, 1);
    for (size_t i = 0; i < last; i++) all = onx_x_arith(x, "mul", all, length_of(x, v, p, i));
    all = onx_x_arith(x, "mul", all, n);
    v = mirrored(x, all_axes(x, v, p, last, true), axis, n);
    v = transform(x, v, (axis_plan){(int64_t)axis, NULL, true, false});
    return scaled(x, onx_complex_re(x, v), all, s, true);
}

static void give_c2r(onx_export *x, const onx_xv *a, const plan *p, scale s, onx_xv *out) {
    size_t last = p->n - 1;
    onx_value *v = onx_xv_value(x, a);
    if (!onx_xv_is_complex(a))
        v = onx_complex_binary(x, "Add", a, &(onx_xv){.kind = ONX_X_COMPLEX});
    onx_xv n;
    if (p->lengths[last]) {
        n = *p->lengths[last];
    } else {
        onx_xv size = onx_x_size_of(x, v, (size_t)p->axes[last]);
        n = onx_x_arith(x, "mul", onx_x_arith(x, "sub", size, onx_xv_int(x, 1)), onx_xv_int(x, 2));
    }
    onx_x_give(x, out, onx_x_ok(x) ? c2r(x, v, p, n, s) : NULL);
}

/* ─ Rows: fft_fft(self, n, dim, norm) and fft_fftn(self, s, dim, norm) ───────────────────────── */

static bool plan_of_row(onx_export *x, const onx_xv *a, plan *p) {
    if (!plan_of(x, &a[0], &a[1], &a[2], p)) return false;
    if (onx_xv_is_number(&a[1])) p->lengths[0] = &a[1];
    if (p->n) return true;
    onx_x_fail(x, ONX_INVALID, "a transform over no dimension");
    return false;
}

static void lower_fft(onx_export *x, const onx_xv *a, onx_xv *out) {
    plan p;
    if (plan_of_row(x, a, &p)) give_c2c(x, a, &p, false, scale_of(x, &a[3], false), out);
}
static void lower_ifft(onx_export *x, const onx_xv *a, onx_xv *out) {
    plan p;
    if (plan_of_row(x, a, &p)) give_c2c(x, a, &p, true, scale_of(x, &a[3], true), out);
}
static void lower_rfft(onx_export *x, const onx_xv *a, onx_xv *out) {
    plan p;
    if (plan_of_row(x, a, &p)) give_r2c(x, a, &p, true, scale_of(x, &a[3], false), out);
}
static void lower_irfft(onx_export *x, const onx_xv *a, onx_xv *out) {
    plan p;
    if (plan_of_row(x, a, &p)) give_c2r(x, a, &p, scale_of(x, &a[3], true), out);
}

/* The decomposed ones have a number for the scale. */
static scale scale_number(onx_export *x, const onx_xv *v) {
    int64_t s = onx_xv_whole(x, v, 0);
    return s == 1 ? ROOT : s == 2 ? FULL : NONE;
}

static void lower_fft_c2c(onx_export *x, const onx_xv *a, onx_xv *out) {
    plan p;
    onx_xv none = {.kind = ONX_X_NONE};
    if (plan_of(x, a, &none, &a[1], &p))
        give_c2c(x, a, &p, !onx_xv_true(&a[3]), scale_number(x, &a[2]), out);
}
static void lower_fft_r2c(onx_export *x, const onx_xv *a, onx_xv *out) {
    plan p;
    onx_xv none = {.kind = ONX_X_NONE};
    if (plan_of(x, a, &none, &a[1], &p))
        give_r2c(x, a, &p, onx_xv_true(&a[3]), scale_number(x, &a[2]), out);
}
static void lower_fft_c2r(onx_export *x, const onx_xv *a, onx_xv *out) {
    plan p;
    onx_xv none = {.kind = ONX_X_NONE};
    if (!plan_of(x, a, &none, &a[1], &p)) return;
    p.lengths[p.n - 1] = &a[3];
    give_c2r(x, a, &p, scale_number(x, &a[2]), out);
}

/* Of signals that are symmetric in time: the inverse transform of what is conjugated, with the
 * scale of the other direction. */
static void give_hermitian(onx_export *x, const onx_xv *a, bool inverse, onx_xv *out) {
    bool ortho = onx_xv_is(&a[3], ONX_X_STR) && onx_str_is(a[3].str, "ortho");
    bool forward = onx_xv_is(&a[3], ONX_X_STR) && onx_str_is(a[3].str, "forward");
    onx_xv norm = onx_xv_str(onx_str_of(ortho ? "ortho" : forward ? "backward" : "forward"));
    onx_xv args[4] = {inverse ? a[0] : onx_aten_do(x, "conj", 1, a), a[1], a[2], norm};
    onx_str op = onx_x_op(x);
    bool one = op.data[op.size - 1] == 't'; /* hfft, hfft2, hfftn */
    const char *forth = one ? "fft_rfft" : "fft_rfftn", *back = one ? "fft_irfft" : "fft_irfftn";
    if (onx_x_ok(x)) *out = onx_aten_do(x, inverse ? forth : back, 4, args);
    if (onx_x_ok(x) && inverse) *out = onx_aten_do(x, "conj", 1, out);
}
static void lower_hfft(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_hermitian(x, a, false, out);
}
static void lower_ihfft(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_hermitian(x, a, true, out);
}

/* ─ Around them ──────────────────────────────────────────────────────────────────────────────── */

/* Both halves change places; of an odd number, the first is one longer. */
static void give_shift(onx_export *x, const onx_xv *a, bool back, onx_xv *out) {
    plan p;
    onx_xv none = {.kind = ONX_X_NONE}, zero = onx_xv_int(x, 0), one = onx_xv_int(x, 1);
    onx_xv end = onx_xv_int(x, INT64_MAX), two = onx_xv_int(x, 2);
    onx_value *v = onx_xv_value(x, a);
    if (!plan_of(x, a, &none, &a[1], &p)) return;
    for (size_t i = 0; i < p.n && onx_x_ok(x); i++) {
        onx_xv n = onx_x_size_of(x, v, (size_t)p.axes[i]);
        onx_xv cut = onx_x_arith(x, "floordiv", back ? n : onx_x_arith(x, "add", n, one), two);
        onx_value *parts[2] = {onx_x_slice(x, v, p.axes[i], cut, end, 1),
                               onx_x_slice(x, v, p.axes[i], zero, cut, 1)};
        if (onx_x_ok(x)) v = onx_x_concat(x, 2, parts, p.axes[i]);
    }
    *out = onx_xv_is_complex(a) ? onx_xv_complex(x, v) : onx_xv_tensor(x, v);
}
static void lower_fftshift(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_shift(x, a, false, out);
}
static void lower_ifftshift(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_shift(x, a, true, out);
}

static void give_frequencies(onx_export *x, const onx_xv *a, bool half, onx_xv *out) {
    int64_t n = onx_xv_whole(x, &a[0], 1), count = half ? n / 2 + 1 : n;
    double d = onx_xv_real(x, &a[1], 1);
    onx_dtype dtype = onx_xv_dtype(x, &a[2]);
    if (n < 1 || n > 1 << 20) {
        onx_x_fail(x, ONX_INVALID, "the frequencies of %lld numbers", (long long)n);
        return;
    }
    double *f = onx_x_array(x, (size_t)count, sizeof *f);
    for (int64_t i = 0; f && i < count; i++)
        f[i] = (double)(half || i < (n + 1) / 2 ? i : i - n) / ((double)n * d);
    if (!f) return;
    onx_value *v = onx_x_constant(x, ONX_DTYPE_F64, 1, &count, f, (size_t)count * sizeof *f);
    onx_x_give(x, out, onx_x_cast(x, v, dtype ? dtype : ONX_DTYPE_F32));
}
static void lower_fftfreq(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_frequencies(x, a, false, out);
}
static void lower_rfftfreq(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_frequencies(x, a, true, out);
}

#define ONE(name, lower)                                                                           \
    { name "(Tensor self, int? n=None, int dim=-1, str? norm=None)", lower, NULL }
#define TWO(name, lower)                                                                           \
    { name "(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None)", lower, NULL }
#define MANY(name, lower)                                                                          \
    { name "(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None)", lower, NULL }
#define OPTIONS                                                                                    \
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
const onx_aten onx_aten_fft[] = {
    ONE("fft_fft", lower_fft),
    ONE("fft_ifft", lower_ifft),
    ONE("fft_rfft", lower_rfft),
    ONE("fft_irfft", lower_irfft),
    ONE("fft_hfft", lower_hfft),
    ONE("fft_ihfft", lower_ihfft),
    TWO("fft_fft2", lower_fft),
    TWO("fft_ifft2", lower_ifft),
    TWO("fft_rfft2", lower_rfft),
    TWO("fft_irfft2", lower_irfft),
    TWO("fft_hfft2", lower_hfft),
    TWO("fft_ihfft2", lower_ihfft),
    MANY("fft_hfftn", lower_hfft),
    MANY("fft_ihfftn", lower_ihfft),
    MANY("fft_fftn", lower_fft),
    MANY("fft_ifftn", lower_ifft),
    MANY("fft_rfftn", lower_rfft),
    MANY("fft_irfftn", lower_irfft),
    {"_fft_c2c(Tensor self, int[] dim, int normalization, bool forward)", lower_fft_c2c, NULL},
    {"_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided)", lower_fft_r2c, NULL},
    {"_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size)", lower_fft_c2r, NULL},
    {"fft_fftshift(Tensor self, int[1]? dim=None)", lower_fftshift, NULL},
    {"fft_ifftshift(Tensor self, int[1]? dim=None)", lower_ifftshift, NULL},
    {"fft_fftfreq(int n, float d=1., *, " OPTIONS ")", lower_fftfreq, NULL},
    {"fft_rfftfreq(int n, float d=1., *, " OPTIONS ")", lower_rfftfreq, NULL},
    {NULL, NULL, NULL},
};
