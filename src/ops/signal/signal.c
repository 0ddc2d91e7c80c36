/* signal.c: signals and their spectra: DFT, STFT, the windows, MelWeightMatrix: meaning. */
#include "ops/op.h"

/* ─ DFT ──────────────────────────────────────────────────────────────────────────────────────── */

/* Half of a spectrum, with both ends: what is different when the signal is real. */
static const onx_sym *half(onx_syms *syms, const onx_sym *n) {
    return onx_sym_add(syms, onx_sym_floordiv(syms, n, onx_sym_int(syms, 2)), onx_sym_int(syms, 1));
}

/* The last dimension holds real numbers (1) or complex ones (2). */
static onx_status check_parts(onx_infer *in, const onx_sym *parts, bool real, bool complex) {
    int64_t n;
    if (!onx_sym_is_int(parts, &n) || (n == 1 && real) || (n == 2 && complex)) return ONX_OK;
    return onx_infer_fail(in, "the last dimension is %lld; it must be %s", (long long)n,
                          !complex ? "1, of real numbers"
                          : !real  ? "2, of complex numbers"
                                   : "1, of real numbers, or 2, of complex ones");
}

/* The axis of the signal; false: it is not known. */
static onx_status dft_axis(onx_infer *in, size_t rank, size_t *axis, bool *known) {
    bool attribute = onx_infer_op(in)->since < 20;
    int64_t at = attribute ? onx_infer_int(in, "axis") : -2;
    const onx_sym *given = NULL;
    if (!attribute) ONX_TRY(onx_infer_scalar(in, 2, &given));
    *known = !onx_sym_is_int(given, &at) && !attribute ? !onx_infer_has_in(in, 2) : true;
    if (!*known) return ONX_OK;
    if (!onx_axis(at, rank, axis) || *axis == rank - 1)
        return onx_infer_fail(in,
                              "axis %lld is out of range for rank %zu: it must be before the "
                              "last dimension",
                              (long long)at, rank);
    return ONX_OK;
}

/* The size along the axis, of input size `n`. */
static onx_status dft_length(onx_infer *in, bool onesided, bool inverse, const onx_sym **n) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *length = NULL, *two = onx_sym_int(syms, 2);
    int64_t value;
    ONX_TRY(onx_infer_scalar(in, 1, &length));
    if (onx_sym_is_int(length, &value) && value < 1)
        return onx_infer_fail(in, "dft_length is %lld, which is not positive", (long long)value);
    if (onx_infer_has_in(in, 1))
        *n = onesided && !inverse ? half(syms, length) : length;
    else if (onesided && inverse)
        *n = onx_sym_mul(syms, onx_sym_sub(syms, *n, onx_sym_int(syms, 1)), two);
    else if (onesided)
        *n = half(syms, *n);
    return ONX_OK;
}

static onx_status infer_dft(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    bool onesided = onx_infer_int(in, "onesided") != 0, inverse = onx_infer_int(in, "inverse") != 0;
    bool known = false;
    size_t axis = 0;
    if (!x->ranked) return onx_infer_unranked(in, 0, x->dtype);
    if (x->rank < 2)
        return onx_infer_fail(in,
                              "the input has %zu dimensions; it needs a signal and the parts "
                              "of its numbers",
                              x->rank);
    ONX_TRY(check_parts(in, x->dims[x->rank - 1], !onesided || !inverse, !onesided || inverse));
    ONX_TRY(dft_axis(in, x->rank, &axis, &known));
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    bool resized = onesided || onx_infer_has_in(in, 1);
    for (size_t i = 0; i < x->rank; i++) dims[i] = known || !resized ? x->dims[i] : NULL;
    if (known) ONX_TRY(dft_length(in, onesided, inverse, &dims[axis]));
    dims[x->rank - 1] = onx_sym_int(onx_infer_syms(in), onesided && inverse ? 1 : 2);
    return onx_infer_tensor(in, 0, x->dtype, x->rank, dims);
}

/* ─ STFT ─────────────────────────────────────────────────────────────────────────────────────── */

/* signal[batch, length, 1 or 2] in frames, each with its spectrum: [batch, frames, bins, 2]. */
static onx_status infer_stft(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_fact *x = onx_infer_in(in, 0);
    bool onesided = onx_infer_int(in, "onesided") != 0;
    const onx_sym *step = NULL, *given = NULL, *one = onx_sym_int(syms, 1);
    onx_extent frame = {"length of a frame and of the window", NULL};
    int64_t n;
    if (x->ranked && (x->rank < 2 || x->rank > 3))
        return onx_infer_fail(in, "the signal has %zu dimensions; it needs 3", x->rank);
    if (x->ranked && x->rank == 3) ONX_TRY(check_parts(in, x->dims[2], true, true));
    ONX_TRY(onx_infer_scalar(in, 1, &step));
    ONX_TRY(onx_infer_scalar(in, 3, &given));
    if (onx_sym_is_int(step, &n) && n < 1)
        return onx_infer_fail(in, "frame_step is %lld, which is not positive", (long long)n);
    bool whole = !onx_infer_has_in(in, 2) && !onx_infer_has_in(in, 3); /* one frame */
    ONX_TRY(onx_infer_meet(in, &frame, whole && x->ranked ? x->dims[1] : given));
    ONX_TRY(onx_infer_unify(in, 2, 1, (onx_extent *[]){&frame}));
    const onx_sym *rest = onx_sym_sub(syms, x->ranked ? x->dims[1] : NULL, frame.size);
    const onx_sym *dims[] = {x->ranked ? x->dims[0] : NULL,
                             onx_sym_add(syms, onx_sym_floordiv(syms, rest, step), one),
                             onesided ? half(syms, frame.size) : frame.size, onx_sym_int(syms, 2)};
    return onx_infer_tensor(in, 0, x->dtype, 4, dims);
}

/* ─ Windows and weights ──────────────────────────────────────────────────────────────────────── */

static onx_status infer_window(onx_infer *in) {
    const onx_sym *size = NULL;
    onx_dtype dtype = ONX_DTYPE_NONE;
    int64_t n;
    ONX_TRY(onx_infer_elem_type(in, "output_datatype", &dtype));
    ONX_TRY(onx_infer_scalar(in, 0, &size));
    if (onx_sym_is_int(size, &n) && n < 1)
        return onx_infer_fail(in, "size is %lld, which is not positive", (long long)n);
    return onx_infer_tensor(in, 0, dtype, 1, &size);
}

static onx_status infer_mel(onx_infer *in) {
    const onx_sym *bins = NULL, *length = NULL, *ignored;
    onx_dtype dtype = ONX_DTYPE_NONE;
    ONX_TRY(onx_infer_elem_type(in, "output_datatype", &dtype));
    ONX_TRY(onx_infer_scalar(in, 0, &bins));
    ONX_TRY(onx_infer_scalar(in, 1, &length));
    for (size_t i = 2; i < 5; i++) ONX_TRY(onx_infer_scalar(in, i, &ignored));
    const onx_sym *dims[] = {half(onx_infer_syms(in), length), bins};
    return onx_infer_tensor(in, 0, dtype, 2, dims);
}

/* a0 - a1 cos(t) + a2 cos(2t), where t goes once around the circle, up to 2 pi or, symmetric, with
 * it. */
#define COSINE_SUM(a0, a1, a2)                                                                     \
    "A0 = Constant <value = float {" a0 "}> ()"                                                    \
    " A1 = Constant <value = float {" a1 "}> ()"                                                   \
    " A2 = Constant <value = float {" a2 "}> ()"                                                   \
    " Zero = Constant <value = float {0}> ()"                                                      \
    " One = Constant <value = float {1}> ()"                                                       \
    " Two = Constant <value = float {2}> ()"                                                       \
    " Circle = Constant <value = float {6.2831853}> ()"                                            \
    " Size = Cast <to = 1> (size)"                                                                 \
    " SizeLess1 = Sub (Size, One)"                                                                 \
    " Periodic = Constant <value_int: int = @periodic> ()"                                         \
    " IsPeriodic = Cast <to = 1> (Periodic)"                                                       \
    " IsSymmetric = Sub (One, IsPeriodic)"                                                         \
    " StepsPeriodic = Mul (Size, IsPeriodic)"                                                      \
    " StepsSymmetric = Mul (SizeLess1, IsSymmetric)"                                               \
    " Steps = Add (StepsPeriodic, StepsSymmetric)"                                                 \
    " Step = Div (Circle, Steps)"                                                                  \
    " Index = Range (Zero, Size, One)"                                                             \
    " Angle = Mul (Index, Step)"                                                                   \
    " Angle2 = Mul (Angle, Two)"                                                                   \
    " Cos2 = Cos (Angle2)"                                                                         \
    " Term2 = Mul (A2, Cos2)"                                                                      \
    " Cos1 = Cos (Angle)"                                                                          \
    " Term1 = Mul (A1, Cos1)"                                                                      \
    " Sum01 = Sub (A0, Term1)"                                                                     \
    " Sum = Add (Sum01, Term2)"                                                                    \
    " output = Cast <to: int = @output_datatype> (Sum)"
#define BLACKMAN COSINE_SUM("0.42", "0.5", "0.08")
#define HAMMING COSINE_SUM("0.54347825", "0.45652175", "0")
#define HANN COSINE_SUM("0.5", "0.5", "0")

/* ─ Signatures ───────────────────────────────────────────────────────────────────────────────── */

#define DFT17                                                                                      \
    "(input:T1, dft_length?:T2) -> (output:T1) {axis:int=1, inverse:int=0, onesided:int=0} "
#define DFT20                                                                                      \
    "(input:T1, dft_length?:T2, axis?:int64) -> (output:T1) {inverse:int=0, onesided:int=0} "
#define STFT                                                                                       \
    "(signal:T1, frame_step:T2, window?:T1, frame_length?:T2) -> (output:T1) {onesided:int=1} "
#define WINDOW                                                                                     \
    "(size:T1) -> (output:T2) {output_datatype:int=1, periodic:int=1} [T1:int32|int64, T2:n]"
#define MEL                                                                                        \
    "(num_mel_bins:T1, dft_length:T1, sample_rate:T1, lower_edge_hertz:T2, upper_edge_hertz:T2) "  \
    "-> (output:T3) {output_datatype:int=1} [T1:int32|int64, T2:f, T3:n]"

extern onx_op_rows onx_ops_signal;
onx_op_rows onx_ops_signal = {
    {"DFT", 17, DFT17 "[T1:f, T2:int32|int64]", .infer = infer_dft},
    {"DFT", 20, DFT20 "[T1:f, T2:int32|int64]", .infer = infer_dft},
    {"STFT", 17, STFT "[T1:f, T2:int32|int64]", .infer = infer_stft},
    {"BlackmanWindow", 17, WINDOW, .infer = infer_window, .function = BLACKMAN},
    {"HammingWindow", 17, WINDOW, .infer = infer_window, .function = HAMMING},
    {"HannWindow", 17, WINDOW, .infer = infer_window, .function = HANN},
    {"MelWeightMatrix", 17, MEL, .infer = infer_mel},
    {0},
};
