/* dft_simd.c: DFT and STFT of floats, as many lines at once as a vector has doubles: lane i is line
 * i of a few. The steps are those of fft_ref.h, so the numerics are the plain kernel's, too; only
 * real signals go by factors of 4, in double. Lengths with a large prime factor are left to it. */
#include "cpu/vec_double.h"
#include "ops/signal/dft_ref.h"

enum { LANES = VD, LARGEST = 11 };
typedef struct cplx {
    vd re, im;
} cplx;

/* ── Transforms ──────────────────────────────────────────────────────────────────────────────── */

#define INLINE static inline __attribute__((always_inline))
/* s: rounded to float. */
INLINE vd fit(bool s, vd x) {
    float rounded[VD];
    if (!s) return x;
    vd_store_f32(rounded, x);
    return vd_load_f32(rounded);
}
INLINE cplx mul(bool s, cplx a, onx_cplx b) {
    return (cplx){fit(s, fit(s, a.re * b.re) - fit(s, a.im * b.im)),
                  fit(s, fit(s, a.re * b.im) + fit(s, a.im * b.re))};
}
INLINE cplx add(bool s, cplx a, cplx b) {
    return (cplx){fit(s, a.re + b.re), fit(s, a.im + b.im)};
}
INLINE cplx sub(bool s, cplx a, cplx b) {
    return (cplx){fit(s, a.re - b.re), fit(s, a.im - b.im)};
}
INLINE cplx scaled(bool s, cplx a, double by) {
    return (cplx){fit(s, a.re * by), fit(s, a.im * by)};
}
INLINE cplx turned(cplx a) { /* times i */
    return (cplx){-a.im, a.re};
}

INLINE void butterfly_4(const cplx *x, cplx *y) {
    cplx a = add(false, x[0], x[2]), b = sub(false, x[0], x[2]);
    cplx c = add(false, x[1], x[3]), d = turned(sub(false, x[1], x[3]));
    y[0] = add(false, a, c);
    y[1] = sub(false, b, d);
    y[2] = sub(false, a, c);
    y[3] = add(false, b, d);
}
/* p is odd: see fft_ref.c. */
static __attribute__((noinline)) void butterfly_odd(const onx_fft *fft, size_t p, const cplx *x,
                                                    cplx *y) {
    bool s = fft->single;
    cplx sum[LARGEST / 2 + 1], gap[LARGEST / 2 + 1];
    y[0] = x[0];
    for (size_t j = 1; j <= p / 2; j++) {
        sum[j] = add(s, x[j], x[p - j]);
        gap[j] = sub(s, x[j], x[p - j]);
        y[0] = add(s, y[0], sum[j]);
    }
    for (size_t k = 1; k <= p / 2; k++) {
        cplx even = x[0], odd = {{0}, {0}};
        for (size_t j = 1; j <= p / 2; j++) {
            onx_cplx w = fft->roots[j * k % p * (fft->m / p)];
            even = add(s, even, scaled(s, sum[j], w.re));
            odd = add(s, odd, scaled(s, gap[j], w.im));
        }
        y[k] = add(s, even, turned(odd));
        y[p - k] = sub(s, even, turned(odd));
    }
}

/* From a[after][p][rest] to b[p][after][rest], as in fft_ref.c. */
INLINE void pass(const onx_fft *fft, bool s, size_t p, size_t after, size_t rest, const cplx *a,
                 cplx *b) {
    cplx x[LARGEST], y[LARGEST];
    for (size_t k = 0; k < after; k++)
        for (size_t i = 0; i < rest; i++) {
            for (size_t j = 0; j < p; j++) x[j] = a[(k * p + j) * rest + i];
            if (p == 2)
                y[0] = add(s, x[0], x[1]), y[1] = sub(s, x[0], x[1]);
            else if (p == 4)
                butterfly_4(x, y);
            else
                butterfly_odd(fft, p, x, y);
            for (size_t j = 0; j < p; j++) {
                onx_cplx w = fft->roots[j * after * i];
                b[(j * after + k) * rest + i] = i && j ? mul(s, y[j], w) : y[j];
            }
        }
}

static size_t factor_of(const onx_fft *fft, size_t rest) {
    size_t p = 2;
    if (!fft->single && rest % 4 == 0) return 4;
    while (rest % p) p++;
    return p;
}
/* `line` has room for 2n numbers; the result is in one half of it. */
static cplx *transform(const onx_fft *fft, cplx *line) {
    cplx *a = line, *b = line + fft->n;
    for (size_t rest = fft->n, after = 1, p; rest > 1; after *= p) {
        p = factor_of(fft, rest);
        rest /= p;
        if (p == 4)
            pass(fft, false, 4, after, rest, a, b);
        else
            pass(fft, fft->single, p, after, rest, a, b);
        cplx *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* ── Lines ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    onx_fft fft;
    const float *window;
} job;

static float load(const float *p) { /* it may lie at any byte */
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Lane `lane` of the numbers: line `index` of the input, weighted, and zeros behind. */
static void read_line(const onx_call *call, const job *j, int64_t index, size_t lane, cplx *to) {
    const onx_dft_plan *plan = call->plan;
    int64_t frame = index % plan->frames, signal = index / plan->frames;
    int64_t outer = signal / plan->inner, at = signal % plan->inner;
    int64_t first = (outer * plan->room + frame * plan->step) * plan->inner + at;
    const float *x = (const float *)call->in[0]->data + first * plan->parts;
    for (int64_t i = 0; i < plan->taken; i++, x += plan->inner * plan->parts) {
        double weight = j->window ? (double)load(j->window + i) : 1;
        to[i].re[lane] = (double)load(x) * weight;
        to[i].im[lane] = plan->parts == 2 ? (double)load(x + 1) * weight : 0;
    }
    for (int64_t i = plan->taken; i < plan->n; i++) to[i].re[lane] = to[i].im[lane] = 0;
}

/* The second half of the spectrum of a real signal mirrors the first. */
static void mirror(cplx *line, int64_t n) {
    line[0].im = (vd){0};
    if (n % 2 == 0) line[n / 2].im = (vd){0};
    for (int64_t i = 1; 2 * i < n; i++) line[n - i] = (cplx){line[i].re, -line[i].im};
}

static void write_line(const onx_call *call, int64_t index, size_t lane, double scale,
                       const cplx *line) {
    const onx_dft_plan *plan = call->plan;
    int64_t outer = index / plan->inner, at = index % plan->inner;
    float *y =
        (float *)call->out[0]->data + (outer * plan->bins * plan->inner + at) * plan->out_parts;
    for (int64_t i = 0; i < plan->bins; i++, y += plan->inner * plan->out_parts) {
        float parts[] = {(float)(line[i].re[lane] * scale), (float)(line[i].im[lane] * scale)};
        memcpy(y, parts, (size_t)plan->out_parts * sizeof *parts);
    }
}

/* With real and imaginary parts exchanged, a transform is its own inverse. */
static void exchange(cplx *line, int64_t n) {
    for (int64_t i = 0; i < n; i++) line[i] = (cplx){line[i].im, line[i].re};
}

static onx_status lines_task(void *user, onx_call *call, size_t task, void *scratch) {
    const onx_dft_plan *plan = call->plan;
    const onx_dft_state *state = call->state;
    const job *j = user;
    cplx *line = scratch;
    int64_t first = (int64_t)task * LANES, left = plan->lines - first;
    size_t count = left < LANES ? (size_t)left : LANES;
    for (size_t i = 0; i < LANES; i++) /* lanes past the last repeat it */
        read_line(call, j, first + (int64_t)(i < count ? i : count - 1), i, line);
    if (state->inverse && state->onesided) mirror(line, plan->n);
    if (state->inverse) exchange(line, plan->n);
    line = transform(&j->fft, line);
    if (state->inverse) exchange(line, plan->n);
    double scale = state->inverse ? 1 / (double)plan->n : 1;
    for (size_t i = 0; i < count; i++) write_line(call, first + (int64_t)i, i, scale, line);
    return ONX_OK;
}

/* ── Rows ────────────────────────────────────────────────────────────────────────────────────── */

/* Of as many lines as there are lanes. */
static onx_status more_scratch(onx_call *call) {
    if (!onx_mul_size(call->scratch_each, LANES, &call->scratch_each))
        return onx_call_fail(call, ONX_LIMIT, "the transform is too large");
    return ONX_OK;
}
static onx_status bind_dft(onx_call *call) {
    ONX_TRY(onx_dft_bind(call));
    return more_scratch(call);
}
static onx_status bind_stft(onx_call *call) {
    ONX_TRY(onx_stft_bind(call));
    return more_scratch(call);
}

static onx_status run(onx_call *call) {
    const onx_dft_plan *plan = call->plan;
    const onx_operand *window = onx_dft_window(call);
    size_t n = (size_t)plan->n, shared = 0, each = 0;
    if (!call->out[0]->count || n == 0 || !onx_fft_bytes(n, &shared, &each) ||
        each != 2 * n * sizeof(onx_cplx))
        return onx_dft_run(call);
    job j = {.window = window ? window->data : NULL};
    j.fft = onx_fft_init(call, n, plan->parts == 2, call->scratch, NULL);
    ONX_TRY(onx_call_check(call)); /* before what may not be ready is used */
    return onx_call_parallel(call, (size_t)((plan->lines + LANES - 1) / LANES), lines_task, &j);
}

#define ROW(op_, host_, name_, bind_, ...)                                                         \
    {                                                                                              \
        .op = op_, .first = 17, .types = {ONX_T(F32), ONX_T_INDEX, __VA_ARGS__}, .name = name_,    \
        .host = host_, .plan_bytes = sizeof(onx_dft_plan), .init = onx_dft_init, .bind = bind_,    \
        .run = run                                                                                 \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_signal);
onx_kernel_rows ONX_TIER(onx_kernels_signal) = {
    ROW("DFT", 6, "dft_f32", bind_dft, ONX_T(I64)),
    ROW("STFT", 10, "stft_f32", bind_stft, ONX_T(F32), ONX_T_INDEX),
    {0},
};
