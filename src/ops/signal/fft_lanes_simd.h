/* fft_lanes_simd.h: Fourier transforms of several lines at a time, one in each lane of vectors.
 * Included once for each type: T, LANES, and LANED(name), which names what it defines. Steps and
 * their order are those of fft_ref.c, but that lengths are taken apart by 4 where `fours` says so.
 */

typedef T LANED(vec) __attribute__((vector_size(LANES * sizeof(T))));
typedef struct LANED(cplx) {
    LANED(vec) re, im;
} LANED(cplx);

static inline LANED(cplx) LANED(add)(LANED(cplx) a, LANED(cplx) b) {
    return (LANED(cplx)){a.re + b.re, a.im + b.im};
}
static inline LANED(cplx) LANED(sub)(LANED(cplx) a, LANED(cplx) b) {
    return (LANED(cplx)){a.re - b.re, a.im - b.im};
}

/* y: the transform of the p numbers x; p is 2, 4 or odd. */
static inline __attribute__((always_inline)) void LANED(butterfly)(size_t p, size_t m,
                                                                   const T *roots,
                                                                   const LANED(cplx) * x,
                                                                   LANED(cplx) * y) {
    LANED(cplx) sum[FFT_LARGEST / 2 + 1], gap[FFT_LARGEST / 2 + 1];
    if (p == 2) {
        y[0] = LANED(add)(x[0], x[1]);
        y[1] = LANED(sub)(x[0], x[1]);
        return;
    }
    if (p == 4) {
        LANED(cplx) a = LANED(add)(x[0], x[2]), b = LANED(sub)(x[0], x[2]);
        LANED(cplx) c = LANED(add)(x[1], x[3]), d = LANED(sub)(x[1], x[3]);
        y[0] = LANED(add)(a, c);
        y[2] = LANED(sub)(a, c);
        y[1] = (LANED(cplx)){b.re + d.im, b.im - d.re};
        y[3] = (LANED(cplx)){b.re - d.im, b.im + d.re};
        return;
    }
    y[0] = x[0];
    for (size_t j = 1; j <= p / 2; j++) {
        sum[j] = LANED(add)(x[j], x[p - j]);
        gap[j] = LANED(sub)(x[j], x[p - j]);
        y[0] = LANED(add)(y[0], sum[j]);
    }
    for (size_t k = 1; k <= p / 2; k++) {
        LANED(cplx) even = x[0], odd = {{0}, {0}};
        for (size_t j = 1; j <= p / 2; j++) {
            const T *w = roots + 2 * (j * k % p * (m / p));
            even = (LANED(cplx)){even.re + sum[j].re * w[0], even.im + sum[j].im * w[0]};
            odd = (LANED(cplx)){odd.re + gap[j].re * w[1], odd.im + gap[j].im * w[1]};
        }
        y[k] = (LANED(cplx)){even.re - odd.im, even.im + odd.re};
        y[p - k] = (LANED(cplx)){even.re + odd.im, even.im - odd.re};
    }
}

/* From a[after][p][rest] to b[p][after][rest]. */
static inline __attribute__((always_inline)) void LANED(pass)(size_t p, size_t m, const T *roots,
                                                              size_t after, size_t rest,
                                                              const LANED(cplx) * a,
                                                              LANED(cplx) * b) {
    LANED(cplx) x[FFT_LARGEST], y[FFT_LARGEST];
    for (size_t k = 0; k < after; k++)
        for (size_t i = 0; i < rest; i++) {
            for (size_t j = 0; j < p; j++) x[j] = a[(k * p + j) * rest + i];
            LANED(butterfly)(p, m, roots, x, y);
            for (size_t j = 0; j < p; j++) {
                const T *w = roots + 2 * j * after * i;
                LANED(cplx) v = y[j];
                if (i && j) v = (LANED(cplx)){v.re * w[0] - v.im * w[1], v.re * w[1] + v.im * w[0]};
                b[(j * after + k) * rest + i] = v;
            }
        }
}

/* The m numbers of a, which come to lie in a or in b: where. */
static LANED(cplx) *
    LANED(transform)(size_t m, const T *roots, bool fours, LANED(cplx) * a, LANED(cplx) * b) {
    for (size_t rest = m, after = 1, p; rest > 1; after *= p) {
        p = fours && rest % 4 == 0 ? 4 : onx_fft_factor(rest);
        rest /= p;
        if (p == 2)
            LANED(pass)(2, m, roots, after, rest, a, b);
        else if (p == 4 && FFT_FOURS)
            LANED(pass)(4, m, roots, after, rest, a, b);
        else
            LANED(pass)(p | 1, m, roots, after, rest, a, b); /* as it is: for the compiler */
        LANED(cplx) *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* Lines first … first+n-1, n <= LANES, as numbers; zeros where there are none. */
static void LANED(read)(const onx_call *call, int64_t first, int64_t n, LANED(cplx) * line) {
    const onx_dft_plan *plan = call->plan;
    const onx_operand *window = window_of(call);
    memset(line, 0, (size_t)plan->n * sizeof *line);
    for (int64_t l = 0; l < n; l++) {
        int64_t frame = (first + l) % plan->frames, signal = (first + l) / plan->frames;
        int64_t at = (signal / plan->inner * plan->room + frame * plan->step) * plan->inner +
                     signal % plan->inner;
        const char *x = (const char *)call->in[0]->data + at * plan->parts * 4;
        T *to = (T *)line + l;
        for (int64_t i = 0; i < plan->taken; i++, to += 2 * LANES) {
            float part[2] = {0, 0}, weight = 1;
            memcpy(part, x + i * plan->inner * plan->parts * 4, (size_t)plan->parts * 4);
            if (window) memcpy(&weight, (const char *)window->data + i * 4, 4);
            to[0] = (T)part[0] * (T)weight;
            to[LANES] = (T)part[1] * (T)weight;
        }
    }
}

/* The second half of the spectrum of a real signal mirrors the first. */
static void LANED(mirror)(LANED(cplx) * line, int64_t n) {
    line[0].im = (LANED(vec)){0};
    if (n % 2 == 0) line[n / 2].im = (LANED(vec)){0};
    for (int64_t i = 1; 2 * i < n; i++) line[n - i] = (LANED(cplx)){line[i].re, -line[i].im};
}

static void LANED(write)(const onx_call *call, int64_t first, int64_t n, bool exchanged,
                         double scale, const LANED(cplx) * line) {
    const onx_dft_plan *plan = call->plan;
    for (int64_t l = 0; l < n; l++) {
        int64_t outer = (first + l) / plan->inner, at = (first + l) % plan->inner;
        char *y = (char *)call->out[0]->data +
                  (outer * plan->bins * plan->inner + at) * plan->out_parts * 4;
        const T *from = (const T *)line + l;
        for (int64_t i = 0; i < plan->bins; i++, from += 2 * LANES) {
            float parts[2] = {(float)((double)from[exchanged ? LANES : 0] * scale),
                              (float)((double)from[exchanged ? 0 : LANES] * scale)};
            memcpy(y + i * plan->inner * plan->out_parts * 4, parts, (size_t)plan->out_parts * 4);
        }
    }
}

static onx_status LANED(task)(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_dft_plan *plan = call->plan;
    const onx_dft_state *state = call->state;
    int64_t first = (int64_t)index * LANES, n = plan->lines - first;
    LANED(cplx) *line = scratch, *swap;
    if (n > LANES) n = LANES;
    if (onx_call_stopped(call)) return ONX_CANCELLED;
    LANED(read)(call, first, n, line);
    if (state->inverse && state->onesided) LANED(mirror)(line, plan->n);
    for (int64_t i = 0; i < plan->n && state->inverse; i++) /* then it is its own inverse */
        line[i] = (LANED(cplx)){line[i].im, line[i].re};
    swap = line + plan->n;
    line = LANED(transform)((size_t)plan->n, user, FFT_FOURS, line, swap);
    LANED(write)(call, first, n, state->inverse, state->inverse ? 1 / (double)plan->n : 1, line);
    return ONX_OK;
}

#undef T
#undef LANES
#undef LANED
#undef FFT_FOURS
