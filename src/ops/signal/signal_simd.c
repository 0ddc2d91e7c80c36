/* signal_simd.c: DFT and STFT of float32, several lines at a time: real signals in double, complex
 * ones in float, with the steps of the plain kernel. Lengths that it does not take apart, and very
 * large ones, are left to that. Roots are computed when sizes are bound, if the length is known
 * when the kernel is chosen; else in each run. */
#include "cpu/vec.h"
#include "ops/signal/dft_ref.h"

enum { FFT_LARGEST = 11, LENGTH_MOST = 1 << 14 };

static const onx_operand *window_of(const onx_call *call) {
    return strcmp(call->op->name, "STFT") == 0 ? onx_call_in(call, 2) : NULL;
}

#define T double
#define LANES (VF / 2)
#define LANED(name) name##_f64
#define FFT_FOURS true
#include "ops/signal/fft_lanes_simd.h"

#define T float
#define LANES VF
#define LANED(name) name##_f32
#define FFT_FOURS false
#include "ops/signal/fft_lanes_simd.h"

typedef struct state {
    onx_dft_state dft; /* first: that of the plain kernel */
    int64_t known;     /* the length, or 0 */
} state;

typedef struct plan {
    onx_dft_plan dft; /* first: that of the plain kernel */
    bool other;       /* … which runs */
    bool ready;       /* roots are computed */
    double roots[];
} plan;

/* ── Sizes ── */

static int64_t number_of(const onx_operand *in, int64_t otherwise) {
    if (!in) return otherwise;
    return in->constant && in->data && in->count == 1 ? onx_operand_int(in, 0) : 0;
}

/* The length of the transforms as far as it is known; 0: it is not. A guess, until it is bound. */
static int64_t known_length(const onx_call *call, const onx_dft_state *dft) {
    const onx_operand *x = call->in[0], *window = window_of(call);
    if (strcmp(call->op->name, "STFT") == 0)
        return number_of(onx_call_in(call, 3), window && window->rank == 1 ? window->dims[0] : 0);
    int64_t at = call->op->since < 20 ? dft->axis : number_of(onx_call_in(call, 2), -2);
    size_t axis;
    if (x->rank == ONX_RANK_UNKNOWN || !onx_axis(at, x->rank, &axis)) return 0;
    int64_t room = x->dims[axis];
    return number_of(onx_call_in(call, 1),
                     dft->inverse && dft->onesided && room > 0 ? 2 * (room - 1) : room);
}

static onx_status init(onx_call *call) {
    ONX_TRY(onx_dft_init(call));
    state *s = onx_call_state(call, sizeof *s);
    if (!s) return onx_fail_nomem(call->diag);
    s->dft = *(const onx_dft_state *)call->state;
    call->state = s;
    int64_t n = known_length(call, &s->dft);
    s->known = n > 0 && n <= LENGTH_MOST ? n : 0;
    call->plan_bytes = sizeof(plan) + (size_t)s->known * 2 * sizeof(double);
    return ONX_OK;
}

static void find_roots(size_t n, bool single, void *to) {
    double *wide = to;
    float *narrow = to;
    for (size_t k = 0; k < n; k++) {
        onx_cplx w = onx_fft_root(k, n);
        if (single) {
            narrow[2 * k] = (float)w.re;
            narrow[2 * k + 1] = (float)w.im;
        } else {
            wide[2 * k] = w.re;
            wide[2 * k + 1] = w.im;
        }
    }
}

static bool is_single(const onx_dft_plan *p) {
    return p->parts == 2;
}

static onx_status place(onx_call *call) {
    plan *p = call->plan;
    size_t n = (size_t)p->dft.n, rest = n, factor;
    while (rest > 1 && (factor = onx_fft_factor(rest)) != 0) rest /= factor;
    p->other = rest != 1 || n > LENGTH_MOST || !call->out[0] || !call->out[0]->count;
    if (p->other) return ONX_OK;
    p->ready = p->dft.n == ((const state *)call->state)->known;
    if (p->ready) find_roots(n, is_single(&p->dft), p->roots);
    call->scratch_bytes = p->ready ? 0 : 2 * n * sizeof(double);
    call->scratch_each = 2 * n * sizeof(cplx_f64);
    return ONX_OK;
}

static onx_status bind_dft(onx_call *call) {
    ONX_TRY(onx_dft_bind(call));
    return place(call);
}
static onx_status bind_stft(onx_call *call) {
    ONX_TRY(onx_stft_bind(call));
    return place(call);
}

static onx_status run(onx_call *call) {
    plan *p = call->plan;
    void *roots = p->ready ? p->roots : call->scratch;
    if (p->other) return onx_dft_run(call);
    bool single = is_single(&p->dft);
    if (!p->ready) find_roots((size_t)p->dft.n, single, roots);
    int64_t lanes = single ? VF : VF / 2;
    return onx_call_parallel(call, (size_t)((p->dft.lines + lanes - 1) / lanes),
                             single ? task_f32 : task_f64, roots);
}

#define F32 ONX_T(F32)
#define ROW(op_, host_, name_, bind_, ...)                                                         \
    {                                                                                              \
        .op = op_, .first = 17, .types = {__VA_ARGS__}, .name = name_, .host = host_,              \
        .init = init, .bind = bind_, .run = run                                                    \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_signal);
onx_kernel_rows ONX_TIER(onx_kernels_signal) = {
    ROW("DFT", 6, "dft_f32", bind_dft, F32, ONX_T_INDEX, ONX_T(I64)),
    ROW("STFT", 10, "stft_f32", bind_stft, F32, ONX_T_INDEX, F32, ONX_T_INDEX),
    {0},
};
