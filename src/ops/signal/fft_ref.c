/* fft_ref.c: see fft_ref.h. Every root is computed by itself, so that errors do not add up along
 * the tables. */
#include "ops/signal/fft_ref.h"

#include <math.h>

enum { LARGEST = 11, CHECK_EVERY = 1 << 16 }; /* prime factor; steps until a look at the call */

/* Volatile, for gcc 12 vectorizes pairs of such conversions into none. */
static double fit(bool single, double x) {
    if (!single) return x;
    volatile float rounded = (float)x;
    return (double)rounded;
}
static onx_cplx mul(bool s, onx_cplx a, onx_cplx b) {
    return (onx_cplx){fit(s, fit(s, a.re * b.re) - fit(s, a.im * b.im)),
                      fit(s, fit(s, a.re * b.im) + fit(s, a.im * b.re))};
}
static onx_cplx add(bool s, onx_cplx a, onx_cplx b) {
    return (onx_cplx){fit(s, a.re + b.re), fit(s, a.im + b.im)};
}
static onx_cplx sub(bool s, onx_cplx a, onx_cplx b) {
    return (onx_cplx){fit(s, a.re - b.re), fit(s, a.im - b.im)};
}
static onx_cplx scaled(bool s, onx_cplx a, double by) {
    return (onx_cplx){fit(s, a.re * by), fit(s, a.im * by)};
}

/* exp(-2 pi i k / n), k < n: the angle is brought into an eighth of the circle first, where sine
 * and cosine are exact at the ends. */
static onx_cplx root(uint64_t k, uint64_t n) {
    const double circle = 6.283185307179586476925286766559;
    uint64_t eighth = 8 * k / n, rest = 8 * k % n; /* k / n = (eighth + rest / n) / 8 */
    bool odd = eighth & 1;
    double angle = circle * (double)(odd ? n - rest : rest) / (8 * (double)n);
    double c = cos(angle), s = sin(angle), x = odd ? s : c, y = odd ? c : s;
    switch (eighth / 2) {
    case 0: return (onx_cplx){x, -y};
    case 1: return (onx_cplx){-y, -x};
    case 2: return (onx_cplx){-x, y};
    default: return (onx_cplx){y, x};
    }
}

/* The smallest prime factor, if it is small; else 0. */
static size_t factor_of(size_t n) {
    size_t p = 2;
    while (p <= LARGEST && n % p) p++;
    return p <= LARGEST ? p : 0;
}

/* The length of the transforms that are taken apart: the convolution takes 2n - 1. */
static size_t length_of(size_t n) {
    size_t rest = n, p, m = 1;
    while (rest > 1 && (p = factor_of(rest)) != 0) rest /= p;
    if (rest == 1) return n;
    while (m < 2 * n - 1) m *= 2;
    return m;
}

bool onx_fft_bytes(size_t n, size_t *shared, size_t *each) {
    if (n > SIZE_MAX / 32 / sizeof(onx_cplx)) return false;
    size_t m = length_of(n);
    *each = 2 * m * sizeof(onx_cplx);
    *shared = (m + (m == n ? 0 : n + m)) * sizeof(onx_cplx);
    return true;
}

/* ── Lengths that are taken apart ────────────────────────────────────────────────────────────── */

/* y: the transform of the p numbers x; p is 2 or odd. Those that stand opposite each other share
 * their products. */
static void butterfly(const onx_fft *fft, size_t p, const onx_cplx *x, onx_cplx *y) {
    bool s = fft->single;
    onx_cplx sum[LARGEST / 2 + 1], gap[LARGEST / 2 + 1];
    if (p == 2) {
        y[0] = add(s, x[0], x[1]);
        y[1] = sub(s, x[0], x[1]);
        return;
    }
    y[0] = x[0];
    for (size_t j = 1; j <= p / 2; j++) {
        sum[j] = add(s, x[j], x[p - j]);
        gap[j] = sub(s, x[j], x[p - j]);
        y[0] = add(s, y[0], sum[j]);
    }
    for (size_t k = 1; k <= p / 2; k++) {
        onx_cplx even = x[0], odd = {0, 0};
        for (size_t j = 1; j <= p / 2; j++) {
            onx_cplx w = fft->roots[j * k % p * (fft->m / p)];
            even = add(s, even, scaled(s, sum[j], w.re));
            odd = add(s, odd, scaled(s, gap[j], w.im));
        }
        onx_cplx turned = {-odd.im, odd.re};
        y[k] = add(s, even, turned);
        y[p - k] = sub(s, even, turned);
    }
}

/* From a[after][p][rest], in the order [slow][fast], to b[p][after][rest]; as Stockham does it:
 * `after` transforms were one number long before, and are p times as long now. */
static void pass(const onx_fft *fft, size_t p, size_t after, size_t rest, const onx_cplx *a,
                 onx_cplx *b) {
    onx_cplx x[LARGEST], y[LARGEST];
    for (size_t k = 0; k < after; k++) {
        for (size_t i = 0; i < rest; i++) {
            if ((k * rest + i) % CHECK_EVERY == 0 && onx_call_stopped(fft->call)) return;
            for (size_t j = 0; j < p; j++) x[j] = a[(k * p + j) * rest + i];
            butterfly(fft, p, x, y);
            for (size_t j = 0; j < p; j++) {
                onx_cplx w = fft->roots[j * after * i];
                b[(j * after + k) * rest + i] = i && j ? mul(fft->single, y[j], w) : y[j];
            }
        }
    }
}

/* `line` has room for 2m numbers. */
static void transform(const onx_fft *fft, onx_cplx *line) {
    onx_cplx *a = line, *b = line + fft->m;
    for (size_t rest = fft->m, after = 1, p; rest > 1; after *= p) {
        p = factor_of(rest);
        rest /= p;
        pass(fft, p, after, rest, a, b);
        onx_cplx *t = a;
        a = b;
        b = t;
    }
    if (a != line) memcpy(line, a, fft->m * sizeof *line);
}

/* ── All lengths ─────────────────────────────────────────────────────────────────────────────── */

onx_fft onx_fft_init(const onx_call *call, size_t n, bool single, void *memory, onx_cplx *work) {
    onx_fft fft = {.n = n, .m = length_of(n), .roots = memory, .call = call};
    fft.single = single && fft.m == n;
    for (size_t k = 0; k < fft.m; k++) {
        if (k % CHECK_EVERY == 0 && onx_call_stopped(call)) return fft;
        onx_cplx w = root(k, fft.m);
        fft.roots[k] = (onx_cplx){fit(fft.single, w.re), fit(fft.single, w.im)};
    }
    if (fft.m == n) return fft;
    fft.chirp = fft.roots + fft.m;
    fft.filter = fft.chirp + n;
    memset(work, 0, fft.m * sizeof *work);
    for (size_t k = 0, square = 0; k < n; k++) { /* square: k^2 modulo 2n */
        fft.chirp[k] = root(square, 2 * n);
        onx_cplx conjugate = {fft.chirp[k].re, -fft.chirp[k].im};
        work[k] = work[(fft.m - k) & (fft.m - 1)] = conjugate;
        square = (square + 2 * k + 1) % (2 * n);
    }
    transform(&fft, work);
    memcpy(fft.filter, work, fft.m * sizeof *work);
    return fft;
}

/* With real and imaginary parts exchanged, a transform is its own inverse. */
static void exchange(onx_cplx *a, size_t n) {
    for (size_t i = 0; i < n; i++) a[i] = (onx_cplx){a[i].im, a[i].re};
}

static void convolve(const onx_fft *fft, onx_cplx *a) {
    size_t n = fft->n, m = fft->m;
    double scale = 1 / (double)m;
    for (size_t i = 0; i < n; i++) a[i] = mul(false, a[i], fft->chirp[i]);
    memset(a + n, 0, (m - n) * sizeof *a);
    transform(fft, a);
    for (size_t i = 0; i < m; i++) a[i] = mul(false, a[i], fft->filter[i]);
    exchange(a, m);
    transform(fft, a);
    exchange(a, n);
    for (size_t i = 0; i < n; i++) a[i] = scaled(false, mul(false, a[i], fft->chirp[i]), scale);
}

void onx_fft_run(const onx_fft *fft, bool inverse, onx_cplx *line) {
    if (inverse) exchange(line, fft->n);
    if (fft->m == fft->n)
        transform(fft, line);
    else
        convolve(fft, line);
    if (inverse) exchange(line, fft->n);
}
