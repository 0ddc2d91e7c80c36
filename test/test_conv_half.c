/* test_conv_half.c: convolution with weights of float16, or all rounded to bfloat16, on tiles
 * (cpu/conv_half_amx.c): those of the processor, if it has them, and plain ones; and in integers
 * (cpu/conv_half_vnni.c). */
#include "cpu/conv.h"
#include "cpu/cpu.h"
#include "cpu/gemm_bf16.h"
#include "kernel.h"
#include "test.h"

#include <math.h>

enum { B = 16 }; /* channels of a block */

static uint32_t seed = 1;
static size_t pick(size_t n) { /* 0 … n-1 */
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}
static float *room(size_t n) { /* exactly so many, so that a sanitizer sees a step past them */
    float *p = aligned_alloc(64, n ? (n * sizeof *p + 63) / 64 * 64 : 64);
    if (!p) exit(1);
    return p;
}
static float *numbers(size_t n) {
    float *p = room(n);
    for (size_t i = 0; i < n; i++)
        p[i] = ldexpf((float)pick(1 << 24) - 0x1p23f, -23 - (int)pick(6));
    return p;
}
static void round_to_half(float *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint16_t half;
        (void)onx_dtype_convert(ONX_DTYPE_F32, p + i, ONX_DTYPE_F16, &half, 1, false);
        (void)onx_dtype_convert(ONX_DTYPE_F16, &half, ONX_DTYPE_F32, p + i, 1, false);
    }
}
static size_t round_up(size_t n) {
    return (n + B - 1) / B * B;
}
/* Where channel `c` of a pixel is, in blocks. */
static size_t at(size_t c, size_t pixel, size_t pixels) {
    return (c / B * pixels + pixel) * B + c % B;
}

enum { TILES = 4, INTEGERS = TILES };

#if defined(__x86_64__)
extern const onx_conv_staged onx_conv_half_plain, onx_conv_rounded_plain;

static const onx_conv_staged *algorithm(size_t i) {
    bool has[] = {__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"),
                  strcmp(onx_cpu_best(), "amx") == 0};
    const onx_conv_staged *all[] = {&onx_conv_half_plain, &onx_conv_half_amx,
                                    &onx_conv_rounded_plain, &onx_conv_rounded_amx};
    if (i == INTEGERS)
        return has[0] && __builtin_cpu_supports("avx512vnni") ? &onx_conv_half_vnni : NULL;
    return has[i % 2] ? all[i] : NULL;
}
static bool is_rounded(const onx_conv_staged *t) {
    return t == &onx_conv_rounded_plain || t == &onx_conv_rounded_amx;
}
#else
static bool is_rounded(const onx_conv_staged *t) {
    (void)t;
    return false;
}
static const onx_conv_staged *algorithm(size_t i) {
    (void)i;
    return NULL;
}
#endif
#define EACH_ALGORITHM(t)                                                                          \
    for (size_t i_ = 0; i_ < TILES; i_++)                                                          \
        for (const onx_conv_staged *t = algorithm(i_); t; t = NULL)

static bool pack(const onx_conv_staged *t, const onx_conv *c, const float *w, float *packed) {
    bool fit = true;
    for (size_t i = t->parts(c); i-- > 0;) fit &= t->pack(c, w, i, packed);
    return fit;
}
static bool run(const onx_conv_staged *t, const onx_conv *c, const onx_conv_args *a, size_t bands,
                bool backwards) {
    float *shared = room(t->shared(c, bands)), *scratch = room(t->scratch(c) / sizeof(float));
    bool fit = true;
    for (onx_conv_band band = {0, bands}; band.index < bands && fit; band.index++) {
        for (size_t i = t->in_tasks(c); i-- > 0;) fit &= t->in(c, a->x, shared, band, i);
        for (size_t i = 0, n = t->out_tasks(c, band); i < n && fit; i++)
            t->out(c, a, shared, band, backwards ? n - 1 - i : i, scratch);
    }
    free(shared), free(scratch);
    return fit;
}

typedef struct sum {
    double value, magnitude;
    double roots; /* of 1x1: products of roots of sums of squares, for each 32 channels */
} sum;
static sum exact(const onx_conv *c, const float *x, const float *w, size_t oc, size_t pixel) {
    sum s = {0};
    double squares[2] = {0};
    for (size_t ic = 0; ic < c->ic; ic++)
        for (size_t tap = 0; tap < c->kh * c->kw; tap++) {
            size_t iy = pixel / c->ow * c->sh + tap / c->kw * c->dh - c->top;
            size_t ix = pixel % c->ow * c->sw + tap % c->kw * c->dw - c->left;
            if (iy >= c->ih || ix >= c->iw) continue;
            double f = (double)x[at(ic, iy * c->iw + ix, c->ih * c->iw)];
            double g = (double)w[(oc * c->ic + ic) * c->kh * c->kw + tap];
            if (ic % 32 == 0) squares[0] = squares[1] = 0;
            squares[0] += f * f, squares[1] += g * g;
            if (ic % 32 == 31 || ic + 1 == c->ic) s.roots += sqrt(squares[0] * squares[1]);
            s.value += f * g;
            s.magnitude += fabs(f * g);
        }
    return s;
}

static void add_one(void *user, float *y, size_t n) {
    *(size_t *)user += n;
    for (size_t i = 0; i < n; i++) y[i] += 1;
}

static void check_conv(const onx_conv_staged *t, const onx_conv *c, bool half) {
    size_t in = c->ih * c->iw, pixels = c->oh * c->ow, wrong = 0, done = 0, taps = c->kh * c->kw;
    size_t nx = round_up(c->ic) * in, nw = c->oc * c->ic * taps, ny = round_up(c->oc) * pixels;
    float *x = numbers(nx), *w = numbers(nw), *bias = numbers(c->oc), *r = numbers(ny);
    float *packed = room(t->weights(c)), *y1 = room(ny), *y2 = room(ny);
    round_to_half(w, nw);
    if (half) round_to_half(x, nx);
    for (size_t i = c->ic; i < round_up(c->ic); i++) /* lanes that may be anything */
        for (size_t p = 0; p < in; p++) x[at(i, p, in)] = NAN;
    CHECK(t->fits(c) && pack(t, c, w, packed));
    onx_conv_args a = {.x = x, .w = packed, .bias = bias, .residual = r, .lo = -3, .hi = 4};
    a.y = y1, a.then = add_one, a.user = &done;
    CHECK(run(t, c, &a, t->bands(c), false));
    CHECK_EQ(done, ny);
    memcpy(y2, r, ny * sizeof *r);
    a.y = y2, a.residual = y2; /* in place */
    CHECK(run(t, c, &a, 1 + pick(c->oh), true));
    for (size_t k = 0; k < c->oc * pixels; k++) {
        size_t oc = k / pixels, to = at(oc, k % pixels, pixels);
        sum s = exact(c, x, w, oc, k % pixels);
        double want = s.value + (double)bias[oc] + (double)r[to];
        double bound = (half ? 0x1p9 : 0x1p10) + 3 * (double)(c->ic * taps) + 2;
        if (is_rounded(t)) bound = onx_bf16_bound(c->ic * taps);
        if (t == algorithm(INTEGERS))
            bound = 0x1.7p11 + (double)c->ic / 32 + 3, s.magnitude = s.roots;
        bound *= 0x1p-24 * (s.magnitude + fabs((double)bias[oc]) + fabs((double)r[to]));
        wrong += !(fabs((double)y1[to] - 1 - fmin(4, fmax(-3, want))) <= bound + 0x1p-22);
        wrong += y1[to] != y2[to];
    }
    CHECK_EQ(wrong, 0);
    free(x), free(w), free(bias), free(r), free(packed), free(y1), free(y2);
}

static onx_conv pick_conv(void) {
    onx_conv c = {.n = 1, .groups = 1, .ic = B + 1 + pick(70), .oc = B + 1 + pick(70)};
    c.kh = 1 + pick(4), c.kw = 1 + pick(4), c.sh = 1 + pick(4), c.sw = 1 + pick(4);
    c.dh = 1 + pick(2), c.dw = 1 + pick(2), c.top = pick(4), c.left = pick(4);
    c.oh = 1 + pick(9), c.ow = 1 + pick(9);
    c.ih = (c.oh - 1) * c.sh + (c.kh - 1) * c.dh + 1 + pick(2), c.iw = (c.ow - 1) * c.sw + 8;
    c.ih = c.ih > 2 * c.top ? c.ih - c.top : c.ih; /* some of the padding is below */
    return c;
}

TEST(sums) {
    EACH_ALGORITHM(t) {
        seed = 7;
        for (int i = 0; i < 60; i++) {
            onx_conv c = pick_conv();
            check_conv(t, &c, i % 2);
        }
    }
}

static onx_conv square(size_t ic, size_t oc, size_t size, size_t kernel, size_t stride) {
    size_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
    return (onx_conv){1,      1,      ic,     oc,     size, size, out, out,
                      kernel, kernel, stride, stride, 1,    1,    pad, pad};
}

/* Several ranges of pixels, strips of weights, groups of panels, bands. */
TEST(large) {
    static const size_t cases[][5] = {
        {64, 64, 30, 3, 1}, {512, 48, 30, 1, 1}, {40, 300, 29, 1, 2}, {160, 32, 7, 3, 1}};
    EACH_ALGORITHM(t)
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        const size_t *s = cases[i];
        onx_conv c = square(s[0], s[1], s[2], s[3], s[4]);
        check_conv(t, &c, false);
    }
    EACH_ALGORITHM(t) {
        onx_conv wide = square(512, 16, 60, 1, 1);
        onx_conv narrow = {1, 1, 64, 40, 600, 1, 600, 1, 1, 1, 1, 1, 1, 1, 0, 0};
        for (int i = 0; i < 4; i++) check_conv(t, &narrow, false);
        CHECK(t->bands(&wide) > 1 && t->out_tasks(&wide, (onx_conv_band){0, 1}) > 1);
    }
}

/* Windows of 1x1 with any stride, in integers. */
TEST(integers) {
    static const float hostile[] = {NAN, INFINITY, -INFINITY, 3e38f};
    const onx_conv_staged *t = algorithm(INTEGERS);
    if (!t) SKIP("the processor has no VNNI");
    for (int i = 0; i < 30; i++) {
        onx_conv c = square(32 + pick(90), 64 + pick(90), 1 + pick(20), 1, 1 + pick(3));
        check_conv(t, &c, i % 2);
    }
    onx_conv large = square(512, 64, 40, 1, 1), other = square(32, 64, 5, 3, 1);
    CHECK(t->bands(&large) > 1 && t->out_tasks(&large, (onx_conv_band){0, 1}) > 1);
    CHECK(!t->fits(&other));
    other = square(32, 64, 5, 1, 1);
    float *x = numbers(32 * 25), *w = numbers(64 * 32), *packed = room(t->weights(&other));
    float *y = room((size_t)64 * 25);
    onx_conv_args a = {.x = x, .w = packed, .lo = -INFINITY, .hi = INFINITY, .y = y};
    for (size_t i = 0; i < ONX_COUNT(hostile); i++) {
        size_t where = pick(32 * 25), weight = pick(64 * 32);
        float kept = x[where], kept_weight = w[weight];
        CHECK(pack(t, &other, w, packed) && run(t, &other, &a, 1, false));
        x[where] = hostile[i];
        CHECK(!run(t, &other, &a, 1, false));
        x[where] = kept;
        w[weight] = hostile[i];
        CHECK(!pack(t, &other, w, packed));
        w[weight] = kept_weight;
    }
    free(x), free(w), free(packed), free(y);
}

TEST(refuses) {
    static const float hostile[] = {NAN, INFINITY, -INFINITY, 3e38f};
    EACH_ALGORITHM(t) {
        onx_conv c = square(32, 20, 5, 3, 1), other = c;
        float *x = numbers(32 * 25), *w = numbers(20 * 32 * 9), *packed = room(t->weights(&c));
        float *y = room(2 * B * 25);
        onx_conv_args a = {.x = x, .w = packed, .lo = -INFINITY, .hi = INFINITY, .y = y};
        for (size_t i = 0; i < ONX_COUNT(hostile); i++) {
            size_t where = pick(32 * 25), weight = pick(20 * 32 * 9);
            float kept = x[where], kept_weight = w[weight];
            CHECK(pack(t, &c, w, packed) && run(t, &c, &a, 1, false));
            x[where] = hostile[i];
            CHECK(!run(t, &c, &a, 1, false));
            x[where] = kept;
            w[weight] = hostile[i];
            CHECK(!pack(t, &c, w, packed));
            w[weight] = kept_weight;
        }
        other.dh = (size_t)1 << 62;
        CHECK(!t->fits(&other));
        other = c, other.sw = 5;
        CHECK(!t->fits(&other));
        other = c, other.groups = 2;
        CHECK(!t->fits(&other));
        other = c, other.oc = B;
        CHECK(t->fits(&c) && !t->fits(&other));
        free(x), free(w), free(packed), free(y);
    }
}

/* The row: in blocks, with weights that are constant; also where the tiles refuse. */
static kernel_result run_row(const char *tier, onx_operand *x, onx_operand *w, onx_operand *b) {
    static const char node[] = "y = onx.internal.ConvBlocked<pads=[1,1,1,1]>(x, w, b)";
    kernel_result to =
        kernel_run(tier, 22, "y = onx.internal.ToBlocked(x)", 1, (onx_operand *[]){x}, 0);
    kernel_result got = kernel_run(tier, 22, node, 3, (onx_operand *[]){&to.out[0], w, b}, 2);
    kernel_result back = kernel_run(tier, 22, "y = onx.internal.FromBlocked(x)", 1,
                                    (onx_operand *[]){&got.out[0]}, 0);
    CHECK(!to.status && !got.status && !back.status);
    kernel_free(&to), kernel_free(&got);
    return back;
}

TEST(row) {
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,40,9,7", NULL);
    onx_operand w = kernel_operand(ONX_DTYPE_F16, "37,40,3,3", NULL), wide;
    onx_operand b = kernel_operand(ONX_DTYPE_F32, "37", numbers(37));
    wide = kernel_operand(ONX_DTYPE_F32, "37,40,3,3", numbers((size_t)w.count));
    round_to_half(wide.data, (size_t)w.count);
    x.data = numbers((size_t)x.count);
    w.data = room((size_t)w.count);
    (void)onx_dtype_convert(ONX_DTYPE_F32, wide.data, ONX_DTYPE_F16, w.data, (uint64_t)w.count,
                            false);
    for (int i = 0; i < 2; i++) {
        if (i) ((float *)x.data)[45 * 63 + 30] = INFINITY; /* of the second image */
        kernel_result want = kernel_run("ref", 22, "y = Conv<pads=[1,1,1,1]>(x, w, b)", 3,
                                        (onx_operand *[]){&x, &wide, &b}, 0);
        for (const char *const *tier = kernel_tiers_fast(); *tier; tier++) {
            if (strcmp(*tier, "ref") == 0) continue;
            kernel_result got = run_row(*tier, &x, &w, &b);
            double most = kernel_is_fast(*tier) ? 0.1 : 1e-4; /* about 10 and more is summed */
            if (!CHECK(kernel_distance(&got.out[0], &want.out[0]) < most))
                fprintf(stderr, "    %s\n", *tier);
            kernel_free(&got);
        }
        kernel_free(&want);
    }
    free(x.data), free(w.data), free(b.data), free(wide.data);
}

TEST_MAIN(E(sums) E(large) E(integers) E(refuses) E(row))
