/* test_conv.c: convolution and pooling: every instruction set against sums in double, and the rows
 * of the operators against the plain kernels and ONNX's own cases. */
#include "cpu/pool.h"
#include "kernel.h"
#include "ops/tile/tile.h"
#include "test.h"

#include <math.h>

typedef struct set {
    const char *name;
    const onx_conv_algorithm *direct, *plain, *depthwise;
    const onx_conv_staged *winograd;
    const onx_pool_algorithm *max, *average;
    const onx_block_algorithm *block;
} set;
#define TIER(isa)                                                                                  \
    {#isa,                                                                                         \
     &onx_conv_direct_##isa,                                                                       \
     &onx_conv_plain_##isa,                                                                        \
     &onx_conv_depthwise_##isa,                                                                    \
     &onx_conv_winograd_##isa,                                                                     \
     &onx_pool_max_##isa,                                                                          \
     &onx_pool_average_##isa,                                                                      \
     &onx_block_##isa},
static const set tiers[] = {ONX_ISAS(TIER)};

/* The first that this processor has; those after it, it has too, and all with one of ONX_EXTRAS. */
static const set *first_tier(void) {
    for (const set *t = tiers; t < tiers + ONX_COUNT(tiers); t++)
        if (!strcmp(t->name, onx_cpu_best())) return t;
    return tiers;
}
#define EACH_TIER(t) for (const set *t = first_tier(); t < tiers + ONX_COUNT(tiers); t++)

/* Without fused multiply-add each product is rounded, too. */
static double eps_of(const set *t) {
    return strcmp(t->name, "base") ? 0x1p-24 : 0x1p-23;
}

static uint32_t seed = 1;
static size_t pick(size_t n) { /* 0 … n-1 */
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}
static float number(void) {
    return (float)pick(2001) / 1000 - 1;
}

/* Exactly `n` floats, so that a sanitizer sees a step past them. */
static float *room(size_t n) {
    float *p = malloc(n ? n * sizeof *p : 1);
    if (!p) exit(1);
    return p;
}
static float *numbers(size_t n) {
    float *p = room(n);
    for (size_t i = 0; i < n; i++) p[i] = number();
    return p;
}

static size_t round_up(size_t n, size_t b) {
    return (n + b - 1) / b * b;
}

/* [n*groups][channels][pixels] to blocks, each group beginning a new one; and back. */
static float *to_blocked(const set *t, const float *x, size_t groups, size_t channels,
                         size_t pixels) {
    size_t b = t->block->block, wide = round_up(channels, b);
    float *y = room(groups * wide * pixels);
    for (size_t g = 0; g < groups; g++)
        for (size_t c = 0; c < channels; c += b)
            t->block->to(x + (g * channels + c) * pixels, channels - c < b ? channels - c : b,
                         pixels, y + (g * wide + c) * pixels);
    return y;
}
static float *from_blocked(const set *t, const float *x, size_t groups, size_t channels,
                           size_t pixels) {
    size_t b = t->block->block, wide = round_up(channels, b);
    float *y = room(groups * channels * pixels);
    for (size_t g = 0; g < groups; g++)
        for (size_t c = 0; c < channels; c += b)
            t->block->from(x + (g * wide + c) * pixels, channels - c < b ? channels - c : b, pixels,
                           y + (g * channels + c) * pixels);
    return y;
}

TEST(blocked_layout_and_back) {
    static const size_t sizes[][3] = {{1, 1, 1},   {1, 3, 5},  {2, 16, 49}, {1, 17, 16},
                                      {3, 20, 31}, {1, 64, 1}, {1, 33, 100}};
    EACH_TIER(t) {
        for (size_t i = 0; i < ONX_COUNT(sizes); i++) {
            size_t n = sizes[i][0], c = sizes[i][1], p = sizes[i][2], b = t->block->block;
            float *x = numbers(n * c * p), *y = to_blocked(t, x, n, c, p);
            float *z = from_blocked(t, y, n, c, p);
            bool same = true;
            size_t wide = round_up(c, b);
            for (size_t k = 0; k < n * wide * p; k++) {
                size_t image = k / (wide * p), channel = k / (b * p) % (wide / b) * b + k % b;
                size_t pixel = k / b % p;
                float want = channel < c ? x[(image * c + channel) * p + pixel] : 0;
                same = same && y[k] == want;
            }
            CHECK(same);
            CHECK(memcmp(x, z, n * c * p * sizeof *x) == 0);
            free(x), free(y), free(z);
        }
    }
}

/* The exact sum for one output, and the sum of magnitudes that bounds its error. */
typedef struct exact {
    double value, magnitude;
    size_t taps;
} exact;

static exact exact_sum(const onx_conv *c, const float *x, const float *w, size_t image, size_t oc,
                       size_t oy, size_t ox) {
    exact e = {0};
    size_t group = oc / c->oc;
    for (size_t i = 0; i < c->ic; i++)
        for (size_t ky = 0; ky < c->kh; ky++)
            for (size_t kx = 0; kx < c->kw; kx++) {
                size_t iy = oy * c->sh + ky * c->dh - c->top,
                       ix = ox * c->sw + kx * c->dw - c->left;
                if (iy >= c->ih || ix >= c->iw) continue;
                size_t channel = (image * c->groups + group) * c->ic + i;
                double p = (double)x[(channel * c->ih + iy) * c->iw + ix] *
                           (double)w[((oc * c->ic + i) * c->kh + ky) * c->kw + kx];
                e.value += p;
                e.magnitude += fabs(p);
                e.taps++;
            }
    return e;
}

static void run_conv(const onx_conv_algorithm *run, const onx_conv *c, const onx_conv_args *a,
                     bool backwards) {
    size_t bytes = run->scratch(c), n = run->tasks(c);
    void *scratch = room(bytes / sizeof(float) + 16);
    for (size_t i = 0; i < n; i++) run->run(c, a, backwards ? n - 1 - i : i, scratch);
    free(scratch);
}

/* One convolution by one algorithm: within the bound that conv.h states, and the same whatever the
 * order of tasks. */
static void check_conv(const set *t, const onx_conv_algorithm *run, const onx_conv *c,
                       bool residual, float lo, float hi) {
    size_t channels = c->groups * c->ic, out = c->groups * c->oc, in_pixels = c->ih * c->iw;
    size_t pixels = c->oh * c->ow, images = c->n * c->groups;
    bool each = run == t->depthwise, plain = run == t->plain;
    size_t groups = each ? c->n : images, oc = each ? out : c->oc;
    float *x = numbers(c->n * channels * in_pixels), *w = numbers(out * c->ic * c->kh * c->kw);
    float *bias = numbers(out), *r = numbers(c->n * out * pixels);
    float *xb = plain ? NULL : to_blocked(t, x, groups, each ? channels : c->ic, in_pixels);
    float *rb = to_blocked(t, r, groups, oc, pixels), *packed = room(run->weights(c));
    size_t floats = groups * round_up(oc, run->block) * pixels;
    float *y1 = room(floats), *y2 = room(floats);
    for (size_t i = 0; i < run->parts(c); i++) run->pack(c, w, i, packed);
    onx_conv_args a = {.x = plain ? x : xb, .w = packed, .bias = bias, .lo = lo, .hi = hi, .y = y1};
    if (residual) a.residual = rb;
    run_conv(run, c, &a, false);
    a.y = y2;
    if (residual) memcpy(y2, rb, floats * sizeof *y2), a.residual = y2; /* in place */
    a.fetches = true;                                                   /* which changes nothing */
    a.ahead = (const char *)w;
    a.ahead_bytes = out * c->ic * c->kh * c->kw * sizeof *w;
    run_conv(run, c, &a, true);
    CHECK(memcmp(y1, y2, floats * sizeof *y1) == 0);
    float *y = from_blocked(t, y1, groups, oc, pixels);
    double eps = eps_of(t);
    size_t wrong = 0;
    for (size_t k = 0; k < c->n * out * pixels; k++) {
        size_t channel = k / pixels % out;
        exact e = exact_sum(c, x, w, k / pixels / out, channel, k % pixels / c->ow, k % c->ow);
        double start = bias[channel] + (residual ? (double)r[k] : 0);
        double most =
            fabs((double)bias[channel]) + (residual ? fabs((double)r[k]) : 0) + e.magnitude;
        double want = fmin((double)hi, fmax((double)lo, start + e.value));
        wrong += !(fabs((double)y[k] - want) <= (double)(c->ic * c->kh * c->kw + 2) * eps * most);
    }
    if (!CHECK(wrong == 0))
        fprintf(stderr,
                "    %s: %zu wrong; n %zu groups %zu ic %zu oc %zu in %zux%zu out %zux%zu "
                "kernel %zux%zu stride %zu,%zu dilation %zu,%zu pad %zu,%zu\n",
                t->name, wrong, c->n, c->groups, c->ic, c->oc, c->ih, c->iw, c->oh, c->ow, c->kh,
                c->kw, c->sh, c->sw, c->dh, c->dw, c->top, c->left);
    free(x), free(w), free(bias), free(r), free(xb), free(rb), free(packed), free(y1), free(y2),
        free(y);
}

/* A geometry with everything odd about it; pads may be larger than the kernel. */
static onx_conv pick_conv(bool dilated) {
    for (;;) {
        onx_conv c = {.n = 1 + pick(2),
                      .groups = 1,
                      .ih = 1 + pick(12),
                      .iw = 1 + pick(40),
                      .kh = 1 + pick(4),
                      .kw = 1 + pick(5),
                      .sh = 1 + pick(3),
                      .sw = 1 + pick(4),
                      .dh = 1,
                      .dw = 1,
                      .top = pick(6),
                      .left = pick(7)};
        if (dilated) c.dh += pick(3), c.dw += pick(3);
        size_t h = c.ih + c.top + pick(6), w = c.iw + c.left + pick(7);
        size_t high = (c.kh - 1) * c.dh + 1, wide = (c.kw - 1) * c.dw + 1;
        if (h < high || w < wide) continue;
        c.oh = (h - high) / c.sh + 1, c.ow = (w - wide) / c.sw + 1;
        return c;
    }
}

static void check_pair(const set *t, const onx_conv_algorithm *run, const onx_conv *c) {
    check_conv(t, run, c, false, -INFINITY, INFINITY);
    check_conv(t, run, c, true, 0, pick(2) ? 1 : INFINITY);
}

TEST(direct) {
    EACH_TIER(t) {
        seed = 1;
        for (int i = 0; i < 60; i++) {
            onx_conv c = pick_conv(true);
            c.groups = 1 + pick(3), c.ic = 1 + pick(40), c.oc = 1 + pick(70);
            check_pair(t, t->direct, &c);
        }
    }
}

/* So many channels that the sums are made in several goes. */
TEST(direct_in_chunks) {
    onx_conv c = {.n = 1,
                  .groups = 1,
                  .ic = 700,
                  .oc = 40,
                  .ih = 7,
                  .iw = 7,
                  .oh = 7,
                  .ow = 7,
                  .kh = 3,
                  .kw = 3,
                  .sh = 1,
                  .sw = 1,
                  .dh = 1,
                  .dw = 1,
                  .top = 1,
                  .left = 1};
    EACH_TIER(t) check_pair(t, t->direct, &c);
}

/* Single taps: strips of tiles, inputs that are gathered, sums in several goes. */
TEST(points) {
    EACH_TIER(t) {
        seed = 7;
        for (int i = 0; i < 40; i++) {
            onx_conv c = {.n = 1 + pick(2), .kh = 1, .kw = 1, .dh = 1, .dw = 1};
            c.groups = 1 + pick(2), c.ic = i % 8 ? 1 + pick(150) : 513 + pick(300);
            c.oc = 1 + pick(70), c.oh = 1 + pick(13), c.ow = 1 + pick(40);
            c.sh = 1 + pick(3), c.sw = 1 + pick(3);
            if (i % 2) c.sh = c.sw = 1;
            c.ih = (c.oh - 1) * c.sh + 1 + pick(3), c.iw = (c.ow - 1) * c.sw + 1 + pick(2);
            check_pair(t, t->direct, &c);
        }
    }
}

TEST(plain) {
    EACH_TIER(t) {
        seed = 2;
        for (int i = 0; i < 60; i++) {
            onx_conv c = pick_conv(false);
            c.groups = 1 + pick(3), c.ic = 1 + pick(5), c.oc = 1 + pick(70);
            check_pair(t, t->plain, &c);
        }
    }
}

TEST(depthwise) {
    EACH_TIER(t) {
        seed = 3;
        for (int i = 0; i < 60; i++) {
            onx_conv c = pick_conv(true);
            c.groups = 1 + pick(70), c.ic = 1, c.oc = 1;
            check_pair(t, t->depthwise, &c);
            c.groups = 1 + pick(20), c.ic = c.oc = t->block->block >> (1 + pick(2));
            check_pair(t, t->depthwise, &c);
        }
    }
}

/* Square kernels that keep the size, or halve it, of images of every width. */
TEST(depthwise_usual) {
    EACH_TIER(t) {
        seed = 8;
        for (size_t i = 0; i < 90; i++) {
            size_t k = 3 + i % 3 * 2, width = 1 + i / 3;
            onx_conv c = {.n = 1, .groups = 1 + pick(20), .ic = 1, .oc = 1, .dh = 1, .dw = 1};
            c.kh = c.kw = k, c.top = c.left = k / 2, c.sh = c.sw = 1 + pick(2);
            c.ih = 1 + pick(9), c.iw = width;
            c.oh = (c.ih - 1) / c.sh + 1, c.ow = (c.iw - 1) / c.sw + 1;
            check_pair(t, t->depthwise, &c);
        }
    }
}

TEST(nothing) {
    onx_conv c = {.n = 0,
                  .groups = 2,
                  .ic = 3,
                  .oc = 5,
                  .ih = 4,
                  .iw = 4,
                  .oh = 4,
                  .ow = 4,
                  .kh = 1,
                  .kw = 1,
                  .sh = 1,
                  .sw = 1,
                  .dh = 1,
                  .dw = 1};
    EACH_TIER(t) {
        CHECK_EQ(t->direct->tasks(&c), 0);
        CHECK_EQ(t->plain->tasks(&c), 0);
        CHECK_EQ(t->max->tasks(&c), 0);
    }
}

/* ── Winograd ── */

/* All parts; do they fit? */
static bool pack_winograd(const onx_conv_staged *run, const onx_conv *c, const float *w,
                          float *packed) {
    bool fit = true;
    for (size_t i = 0; i < run->parts(c); i++) fit &= run->pack(c, w, i, packed);
    return fit;
}

static bool run_winograd(const onx_conv_staged *run, const onx_conv *c, const onx_conv_args *a,
                         bool backwards) {
    onx_conv_band band = {0, run->bands(c) + pick(4)};
    float *shared = room(run->shared(c, band.count));
    float *scratch = room(run->scratch(c) / sizeof(float));
    bool fit = true;
    for (; band.index < band.count; band.index++) {
        for (size_t i = 0; i < run->in_tasks(c); i++) fit &= run->in(c, a->x, shared, band, i);
        for (size_t i = 0, n = run->out_tasks(c, band); i < n && fit; i++)
            run->out(c, a, shared, band, backwards ? n - 1 - i : i, scratch);
    }
    free(shared), free(scratch);
    return fit;
}

/* The largest inputs of each tile: [tiles][ic]. */
static float *largest_inputs(const onx_conv *c, const float *x, size_t out) {
    size_t across = (c->ow + out - 1) / out, tiles = (c->oh + out - 1) / out * across;
    size_t in = (out - 1) * c->sh + c->kh;
    float *most = room(tiles * c->ic);
    for (size_t i = 0; i < tiles * c->ic; i++) {
        const float *from = x + i % c->ic * c->ih * c->iw;
        size_t tile = i / c->ic;
        most[i] = 0;
        for (size_t k = 0; k < in * in; k++) {
            size_t iy = tile / across * out * c->sh + k / in - c->top;
            size_t ix = tile % across * out * c->sw + k % in - c->left;
            if (iy < c->ih && ix < c->iw) most[i] = fmaxf(most[i], fabsf(from[iy * c->iw + ix]));
        }
    }
    return most;
}

/* The sum that conv.h measures errors of Winograd's algorithm by; most: [ic], w: [ic][taps]. */
static double winograd_measure(const onx_conv *c, const float *most, const float *w) {
    double sum = 0;
    for (size_t i = 0; i < c->ic; i++) {
        double weights = 0;
        for (size_t k = 0; k < c->kh * c->kh; k++) weights += fabs((double)*w++);
        sum += (double)most[i] * weights;
    }
    return sum;
}

static void check_winograd(const set *t, const onx_conv *c) {
    const onx_conv_staged *run = t->winograd;
    size_t pixels = c->oh * c->ow, wrong = 0;
    float *x = numbers(c->ic * c->ih * c->iw), *w = numbers(c->oc * c->ic * c->kh * c->kh);
    float *bias = numbers(c->oc), *r = numbers(c->oc * pixels), *packed = room(run->weights(c));
    float *xb = to_blocked(t, x, 1, c->ic, c->ih * c->iw), *rb = to_blocked(t, r, 1, c->oc, pixels);
    size_t floats = round_up(c->oc, t->block->block) * pixels;
    float *y1 = room(floats), *y2 = room(floats);
    CHECK(run->fits(c) && pack_winograd(run, c, w, packed));
    onx_conv_args a = {.x = xb, .w = packed, .bias = bias, .residual = rb, .lo = -1, .hi = 2};
    a.y = y1;
    CHECK(run_winograd(run, c, &a, false));
    memcpy(y2, rb, floats * sizeof *y2);
    a.y = y2, a.residual = y2; /* in place */
    a.fetches = true;
    CHECK(run_winograd(run, c, &a, true));
    CHECK(memcmp(y1, y2, floats * sizeof *y1) == 0);
    float *y = from_blocked(t, y1, 1, c->oc, pixels);
    size_t out = c->kh == 5 ? 2 : 4;
    float *most = largest_inputs(c, x, out);
    for (size_t k = 0; k < c->oc * pixels; k++) {
        size_t oc = k / pixels, oy = k % pixels / c->ow, ox = k % c->ow;
        size_t tile = oy / out * ((c->ow + out - 1) / out) + ox / out;
        double want = exact_sum(c, x, w, 0, oc, oy, ox).value + (double)bias[oc] + (double)r[k];
        double bound = winograd_measure(c, most + tile * c->ic, w + oc * c->ic * c->kh * c->kh);
        bound = 8 * eps_of(t) * (2 + bound);
        wrong += !(fabs((double)y[k] - fmin(2, fmax(-1, want))) <= bound);
    }
    CHECK_EQ(wrong, 0);
    free(x), free(w), free(bias), free(r), free(packed), free(xb), free(rb), free(y1), free(y2);
    free(y), free(most);
}

static onx_conv winograd_conv(size_t taps, size_t stride, size_t ic, size_t oc, size_t ih,
                              size_t iw, size_t pad) {
    return (onx_conv){.n = 1,
                      .groups = 1,
                      .ic = ic,
                      .oc = oc,
                      .ih = ih,
                      .iw = iw,
                      .oh = (ih + 2 * pad - taps) / stride + 1,
                      .ow = (iw + 2 * pad - taps) / stride + 1,
                      .kh = taps,
                      .kw = taps,
                      .sh = stride,
                      .sw = stride,
                      .dh = 1,
                      .dw = 1,
                      .top = pad,
                      .left = pad};
}

TEST(winograd) {
    EACH_TIER(t) {
        seed = 5;
        for (int i = 0; i < 60; i++) {
            size_t taps = i % 3 ? 3 : 5, stride = 1 + (i % 3 == 2);
            onx_conv c = winograd_conv(taps, stride, 1 + pick(40), 1 + pick(70),
                                       taps + pick(20 * stride), taps + pick(30 * stride), pick(4));
            check_winograd(t, &c);
        }
        onx_conv wide = winograd_conv(3, 2, 300, 40, 17, 61, 1);
        check_winograd(t, &wide);
        wide = winograd_conv(3, 1, 300, 40, 9, 30, 1);
        check_winograd(t, &wide);
        CHECK(t->winograd->fits(&wide));
        wide.sw = 2;
        CHECK(!t->winograd->fits(&wide));
    }
}

/* What it cannot do, it refuses before it writes. */
static void check_refuses(const set *t, size_t stride) {
    static const float hostile[] = {NAN, INFINITY, -INFINITY, 1e30f};
    onx_conv c = winograd_conv(3, stride, 16, 16, 8, 8, 1);
    float *x = numbers(16 * 64), *w = numbers(16 * 16 * 9),
          *packed = room(t->winograd->weights(&c)), *y = room(16 * 64);
    for (size_t i = 0; i < ONX_COUNT(hostile); i++) {
        onx_conv_args a = {.x = x, .w = packed, .lo = -INFINITY, .hi = INFINITY, .y = y};
        float kept = x[700];
        CHECK(pack_winograd(t->winograd, &c, w, packed));
        x[700] = hostile[i];
        CHECK(!run_winograd(t->winograd, &c, &a, false));
        x[700] = kept;
        kept = w[100];
        w[100] = hostile[i];
        CHECK(!pack_winograd(t->winograd, &c, w, packed));
        w[100] = kept;
    }
    free(x), free(w), free(packed), free(y);
}
TEST(winograd_refuses) {
    EACH_TIER(t) {
        check_refuses(t, 1);
        check_refuses(t, 2);
    }
}

/* What a pool makes of the taps of one output. */
static double pool_exact(const onx_conv *c, const onx_pool_args *a, const float *x, size_t oy,
                         size_t ox, bool max) {
    double value = max ? -INFINITY : 0;
    size_t inside = 0, padded = 0;
    for (size_t ky = 0; ky < c->kh; ky++)
        for (size_t kx = 0; kx < c->kw; kx++) {
            size_t y = oy * c->sh + ky * c->dh, px = ox * c->sw + kx * c->dw;
            padded += y < c->top + c->ih + a->bottom && px < c->left + c->iw + a->right;
            if (y - c->top >= c->ih || px - c->left >= c->iw) continue;
            double v = (double)x[(y - c->top) * c->iw + px - c->left];
            value = !max ? value + v : v > value || v != v ? v : value;
            inside++;
        }
    size_t n = a->count_padding ? padded : inside;
    return max ? value : value / (double)(n ? n : 1);
}

static void check_pool(const set *t, bool max, const onx_conv *c, onx_pool_args *a) {
    const onx_pool_algorithm *run = max ? t->max : t->average;
    size_t channels = c->groups, in_pixels = c->ih * c->iw, pixels = c->oh * c->ow, wrong = 0;
    float *x = numbers(c->n * channels * in_pixels);
    if (max) x[pick(channels * in_pixels)] = NAN;
    float *xb = to_blocked(t, x, c->n, channels, in_pixels);
    float *yb = room(c->n * round_up(channels, run->block) * pixels);
    a->x = xb, a->y = yb;
    for (size_t i = run->tasks(c); i-- > 0;) run->run(c, a, i);
    float *y = from_blocked(t, yb, c->n, channels, pixels);
    for (size_t k = 0; k < c->n * channels * pixels; k++) {
        const float *plane = x + k / pixels * in_pixels;
        double want = pool_exact(c, a, plane, k % pixels / c->ow, k % c->ow, max);
        double bound = max ? 0 : (double)(c->kh * c->kw + 2) * 0x1p-24;
        bool same = isnan(want) ? isnan(y[k]) : (double)y[k] == want;
        wrong += !same && !(fabs((double)y[k] - want) <= bound);
    }
    CHECK_EQ(wrong, 0);
    free(x), free(xb), free(yb), free(y);
}

TEST(pools) {
    EACH_TIER(t) {
        seed = 4;
        for (int i = 0; i < 120; i++) {
            onx_conv c = pick_conv(true);
            c.groups = 1 + pick(40), c.ic = 1, c.oc = 1;
            onx_pool_args a = {.bottom = pick(3), .right = pick(3), .count_padding = pick(2)};
            check_pool(t, i % 2, &c, &a);
        }
    }
}

/* ── The operators' rows ── */

/* A node with its inputs: dims, "" is absent. */
typedef struct row_case {
    const char *node;
    int opset;
    const char *x, *w, *b;
} row_case;

static const row_case conv_cases[] = {
    {"y = Conv(x, w, b)", 22, "1,3,9,11", "5,3,3,3", "5"},
    {"y = Conv<pads=[1,1,1,1]>(x, w, b)", 11, "2,20,7,7", "33,20,3,3", "33"},
    {"y = Conv<pads=[5,0,0,4], strides=[2,3], dilations=[2,1]>(x, w)", 1, "1,16,9,14", "32,16,3,4",
     ""},
    {"y = Conv<group=4, pads=[1,2,0,1]>(x, w, b)", 22, "2,8,6,6", "12,2,2,2", "12"},
    {"y = Conv<group=40, pads=[1,1,1,1], strides=[2,2]>(x, w, b)", 22, "2,40,13,9", "40,1,3,3",
     "40"},
    {"y = Conv<group=2, auto_pad=\"SAME_UPPER\", strides=[2,2]>(x, w)", 11, "1,64,9,10",
     "96,32,3,3", ""},
    {"y = Conv<auto_pad=\"SAME_LOWER\", strides=[2,3], dilations=[2,2]>(x, w)", 11, "1,3,9,10",
     "8,3,3,4", ""},
    {"y = Conv<auto_pad=\"VALID\", kernel_shape=[3,2]>(x, w)", 11, "1,3,9,10", "8,3,3,2", ""},
    {"y = Conv<pads=[2,1], strides=[2]>(x, w, b)", 22, "3,17,25", "19,17,4", "19"},
    {"y = Conv<pads=[1,1]>(x, w, b)", 22, "1,181,133", "67,181,3", "67"},
    {"y = Conv<group=2, strides=[16,16]>(x, w, b)", 22, "2,6,80,49", "66,3,16,16", "66"},
    {"y = Conv<pads=[1,0,1,0,1,1]>(x, w, b)", 22, "1,2,4,5,6", "3,2,2,3,2", "3"},
    {"y = Conv<pads=[1,1,1,1,1,1]>(x, w, b)", 22, "2,20,3,7,37", "33,20,3,3,3", "33"},
    {"y = Conv<pads=[0,5,4,2,0,9], strides=[2,1,3], dilations=[1,2,2]>(x, w)", 22, "1,6,5,6,14",
     "150,6,2,3,4", ""},
    {"y = Conv<group=3, pads=[1,1,9,1,1,9], dilations=[1,1,9]>(x, w, b)", 22, "2,6,4,3,3",
     "6,2,1,3,3", "6"},
    {"y = Conv<pads=[1,1,1,1,1,1]>(x, w, b)", 22, "1,0,3,4,5", "7,0,3,3,3", "7"},
    {"y = Conv<pads=[1,1,1,1]>(x, w, b)", 22, "0,3,4,4", "5,3,3,3", "5"},
    {"y = Conv<pads=[2,2,2,2]>(x, w, b)", 22, "2,3,0,4", "5,3,3,3", "5"},
    {"y = Conv<pads=[1,1,1,1]>(x, w, b)", 22, "2,0,4,4", "5,0,3,3", "5"},
};

static onx_operand filled(const char *dims, uint64_t number_seed) {
    onx_operand o = kernel_operand(ONX_DTYPE_F32, dims, NULL);
    o.data = room((size_t)o.count);
    kernel_fill(o.data, (size_t)o.count, number_seed, -1, 1);
    return o;
}

static bool ran(const kernel_result *r) {
    if (r->status) fprintf(stderr, "    %s\n", r->diag.message);
    return CHECK(r->status == ONX_OK);
}

/* All tiers give what the plain kernel gives, with weights constant or not. */
TEST(conv_rows) {
    for (size_t i = 0; i < ONX_COUNT(conv_cases); i++) {
        const row_case *c = &conv_cases[i];
        onx_operand x = filled(c->x, 1), w = filled(c->w, 2), b = filled(c->b, 3);
        onx_operand *in[] = {&x, &w, *c->b ? &b : NULL};
        kernel_result want = kernel_run("ref", c->opset, c->node, 3, in, 0);
        if (!ran(&want)) continue;
        for (const char *const *tier = kernel_tiers_fast(); *tier; tier++)
            for (uint32_t constant = 0; constant < 2; constant++) {
                double most = kernel_is_fast(*tier) ? 0.1 : 1e-4; /* about 25 and more is summed */
                kernel_result got = kernel_run(*tier, c->opset, c->node, 3, in, constant << 1);
                if (ran(&got) && !CHECK(kernel_distance(&got.out[0], &want.out[0]) < most))
                    fprintf(stderr, "    %s [%s]\n", c->node, *tier);
                kernel_free(&got);
            }
        kernel_free(&want);
        free(x.data), free(w.data), free(b.data);
    }
}

static onx_operand narrowed(const onx_operand *x, onx_dtype dtype) {
    onx_operand half = *x;
    half.dtype = (uint8_t)dtype;
    half.bytes = (size_t)x->count * 2;
    half.data = malloc(half.bytes + 1);
    if (!half.data) exit(1);
    (void)onx_dtype_convert(ONX_DTYPE_F32, x->data, dtype, half.data, (uint64_t)x->count, false);
    return half;
}

TEST(conv_half) {
    static const onx_dtype dtypes[] = {ONX_DTYPE_F16, ONX_DTYPE_BF16};
    for (size_t i = 0; i < 2 * ONX_COUNT(conv_cases); i++) {
        const row_case *c = &conv_cases[i / 2];
        onx_operand x = filled(c->x, 1), w = filled(c->w, 2), b = filled(c->b, 3);
        onx_operand hx = narrowed(&x, dtypes[i % 2]), hw = narrowed(&w, dtypes[i % 2]);
        onx_operand hb = narrowed(&b, dtypes[i % 2]), *in[] = {&hx, &hw, *c->b ? &hb : NULL};
        kernel_result want = kernel_run("ref", 22, c->node, 3, in, 0);
        for (const char *const *tier = kernel_tiers(); *tier && ran(&want); tier++)
            for (uint32_t constant = 0; constant < 2; constant++) {
                kernel_result got = kernel_run(*tier, 22, c->node, 3, in, constant << 1);
                double step = i % 2 ? 0x1p-7 : 0x1p-10;
                if (ran(&got)) CHECK(kernel_distance(&got.out[0], &want.out[0]) <= step);
                kernel_free(&got);
            }
        kernel_free(&want);
        free(x.data), free(w.data), free(b.data), free(hx.data), free(hw.data), free(hb.data);
    }
}

TEST(conv_mistakes) {
    static const row_case cases[] = {
        {"y = Conv(x, w)", 22, "1,3,9,9", "5,4,3,3", "has 3 channels"},
        {"y = Conv<group=2>(x, w)", 22, "1,4,9,9", "5,2,3,3", "not 2 equal groups"},
        {"y = Conv<group=0>(x, w)", 22, "1,4,9,9", "5,2,3,3", "group is 0"},
        {"y = Conv<group=-9223372036854775807>(x, w)", 22, "1,4,9,9", "5,2,3,3", "group is -9"},
        {"y = Conv<strides=[0,1]>(x, w)", 22, "1,3,9,9", "5,3,3,3", "not positive"},
        {"y = Conv<strides=[1]>(x, w)", 22, "1,3,9,9", "5,3,3,3", "spatial dimensions"},
        {"y = Conv<pads=[1,1,1]>(x, w)", 22, "1,3,9,9", "5,3,3,3", "pads has 3 elements"},
        {"y = Conv<pads=[-1,0,0,0]>(x, w)", 22, "1,3,9,9", "5,3,3,3", "not 0 or more"},
        {"y = Conv<dilations=[4294967296,1]>(x, w)", 22, "1,3,9,9", "5,3,3,3", "below 2^31"},
        {"y = Conv<dilations=[2147483647,1]>(x, w)", 22, "1,3,9,9", "5,3,3,3", "the window spans"},
        {"y = Conv<kernel_shape=[2,3]>(x, w)", 22, "1,3,9,9", "5,3,3,3", "the weights 3"},
        {"y = Conv<auto_pad=\"ALL\">(x, w)", 22, "1,3,9,9", "5,3,3,3", "auto_pad is 'ALL'"},
        {"y = Conv(x, w)", 22, "1,3,9,9", "5,3,3", "weights have 3 dimensions"},
        {"y = Conv(x, w)", 22, "1,3", "5,3", "the input has 2 dimensions"},
        {"y = Conv(x, w)", 22, "1,3,9,9", "5,3,0,3", "the kernel is 0"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        const row_case *c = &cases[i];
        onx_operand x = filled(c->x, 1), w = filled(c->w, 2), *in[] = {&x, &w};
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            kernel_result r = kernel_run(*tier, c->opset, c->node, 2, in, 2);
            CHECK_EQ(r.status, ONX_INVALID);
            if (!CHECK(strstr(r.diag.message, c->b)))
                fprintf(stderr, "    %s [%s]: %s\n", c->node, *tier, r.diag.message);
        }
        free(x.data), free(w.data);
    }
}

/* The blocked forms against the plain ones: the input goes to blocks, the result comes back. */
static const struct blocked_case {
    const char *plain, *blocked, *x, *w, *b;
    bool from_plain; /* the input stays plain */
} blocked_cases[] = {
    {"y = Conv<pads=[1,1,1,1]>(x, w, b)", "y = onx.internal.ConvBlocked<pads=[1,1,1,1]>(x, w, b)",
     "2,32,7,7", "48,32,3,3", "48", false},
    {"y = Conv<pads=[3,3,3,3], strides=[2,2]>(x, w, b)",
     "y = onx.internal.ConvBlocked<pads=[3,3,3,3], strides=[2,2]>(x, w, b)", "1,3,31,30",
     "32,3,7,7", "32", true},
    {"y = Conv<group=2, dilations=[2,1]>(x, w, b)",
     "y = onx.internal.ConvBlocked<group=2, dilations=[2,1]>(x, w, b)", "1,64,9,7", "32,32,3,3",
     "32", false},
    {"y = Conv<group=48, strides=[1,2]>(x, w, b)",
     "y = onx.internal.ConvBlocked<group=48, strides=[1,2]>(x, w, b)", "2,48,9,7", "48,1,3,2", "48",
     false},
    {"y = Conv(x, w, b)", "y = onx.internal.ConvBlocked(x, w, b)", "2,32,9,7", "23,32,3,3", "23",
     false},
    {"y = Conv(x, w, b)", "y = onx.internal.ConvBlocked(x, w, b)", "2,23,9,7", "32,23,3,3", "32",
     true},
    {"y = Conv(x, w, b)", "y = onx.internal.ConvBlocked(x, w, b)", "2,23,9,7", "37,23,3,3", "37",
     false},
    {"y = Conv<pads=[1,1,1,1]>(x, w, b)", "y = onx.internal.ConvBlocked<pads=[1,1,1,1]>(x, w, b)",
     "2,23,14,13", "37,23,3,3", "37", false},
    {"y = Conv(x, w, b)", "y = onx.internal.ConvBlocked(x, w, b)", "2,3,5,7", "2,3,1,1", "2",
     false},
    {"y = Conv<group=37>(x, w, b)", "y = onx.internal.ConvBlocked<group=37>(x, w, b)", "2,37,9,7",
     "37,1,3,2", "37", false},
    {"y = Conv<group=13, pads=[1,1,1,1]>(x, w, b)",
     "y = onx.internal.ConvBlocked<group=13, pads=[1,1,1,1]>(x, w, b)", "2,52,5,5", "52,4,3,3",
     "52", false},
    {"y = Conv<group=4>(x, w, b)", "y = onx.internal.ConvBlocked<group=4>(x, w, b)", "1,32,5,5",
     "64,8,2,3", "64", false},
    {"y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)",
     "y = onx.internal.MaxPoolBlocked<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)",
     "2,32,9,10", "", "", false},
    {"y = MaxPool<kernel_shape=[3,3]>(x)", "y = onx.internal.MaxPoolBlocked<kernel_shape=[3,3]>(x)",
     "2,19,9,10", "", "", false},
    {"y = GlobalAveragePool(x)", "y = onx.internal.GlobalAveragePoolBlocked(x)", "2,19,7,7", "", "",
     false},
    {"y = GlobalAveragePool(x)", "y = onx.internal.GlobalAveragePoolBlocked(x)", "2,19,0,7", "", "",
     false},
#define RESIZE(attributes)                                                                         \
    {                                                                                              \
        "y = Resize<" attributes ", axes=[2,3]>(x, , s)",                                          \
            "y = onx.internal.ResizeBlocked<" attributes ", axes=[2,3]>(x, , s)", "2,19,5,7", "",  \
            "", false                                                                              \
    }
    RESIZE("mode=\"nearest\""),
    RESIZE("mode=\"linear\", coordinate_transformation_mode=\"align_corners\""),
    RESIZE("mode=\"linear\", antialias=1"),
    RESIZE("mode=\"cubic\", exclude_outside=1"),
    {"y = AveragePool<kernel_shape=[3,2], ceil_mode=1, strides=[2,3], count_include_pad=1, "
     "pads=[1,0,1,1]>(x)",
     "y = onx.internal.AveragePoolBlocked<kernel_shape=[3,2], ceil_mode=1, strides=[2,3], "
     "count_include_pad=1, pads=[1,0,1,1]>(x)",
     "2,32,9,10", "", "", false},
    {"y = GlobalAveragePool(x)", "y = onx.internal.GlobalAveragePoolBlocked(x)", "2,32,7,7", "", "",
     false},
};

/* Lanes past the last channel hold anything. */
static void spoil_lanes(onx_operand *x) {
    size_t b = x->layout, c = (size_t)x->dims[1], pixels = (size_t)(x->dims[2] * x->dims[3]);
    size_t n = x->count ? x->bytes / sizeof(float) : 0;
    for (size_t i = 0; i < n; i++)
        if (i / (b * pixels) % ((c + b - 1) / b) * b + i % b >= c)
            ((float *)x->data)[i] = i % 3 ? NAN : INFINITY;
}

TEST(blocked_rows) {
    EACH_TIER(t) {
        for (size_t i = 0; i < ONX_COUNT(blocked_cases); i++) {
            const struct blocked_case *c = &blocked_cases[i];
            onx_operand x = filled(c->x, 1), w = filled(c->w, 2), b = filled(c->b, 3);
            float scales[2] = {1.7f, 0.6f};
            onx_operand s = kernel_operand(ONX_DTYPE_F32, "2", scales);
            bool resized = strstr(c->plain, "Resize");
            size_t n = *c->w || resized ? 3 : 1;
            kernel_result want = kernel_run(
                "ref", 22, c->plain, n,
                (onx_operand *[]){&x, resized ? NULL : &w, resized ? &s : &b}, resized ? 4 : 0);
            kernel_result to = kernel_run(t->name, 22, "y = onx.internal.ToBlocked(x)", 1,
                                          (onx_operand *[]){&x}, 0);
            onx_operand *in[] = {c->from_plain ? &x : &to.out[0], resized ? NULL : &w,
                                 resized ? &s : &b};
            if (ran(&to)) spoil_lanes(&to.out[0]);
            kernel_result got = kernel_run(t->name, 22, c->blocked, n, in, resized ? 4 : 2);
            kernel_result back = {0};
            bool blocked = got.out[0].layout != ONX_LAYOUT_PLAIN;
            if (ran(&want) && ran(&got) && blocked) {
                CHECK_EQ(got.out[0].layout, t->block->block);
                back = kernel_run(t->name, 22, "y = onx.internal.FromBlocked(x)", 1,
                                  (onx_operand *[]){&got.out[0]}, 0);
            }
            if (!CHECK(kernel_distance(blocked ? &back.out[0] : &got.out[0], &want.out[0]) < 1e-4))
                fprintf(stderr, "    %s [%s]\n", c->blocked, t->name);
            kernel_free(&want), kernel_free(&to), kernel_free(&got), kernel_free(&back);
            free(x.data), free(w.data), free(b.data);
        }
    }
}

/* A program after that: what a Tile makes of it. */
static void channels_with_program(const set *t, onx_operand *a, onx_operand *b) {
#define FROM "sizes=[19,37], from=[3,4,5,50,51,18,19,20,1]"
    onx_operand p = filled("1,9,1,1", 5);
    kernel_result to =
        kernel_run(t->name, 22, "y = onx.internal.ToBlocked(x)", 1, (onx_operand *[]){&p}, 0);
    kernel_result copied = kernel_run(t->name, 22, "y = onx.internal.Channels<" FROM ">(a, b)", 2,
                                      (onx_operand *[]){a, b}, 0);
    REQUIRE(ran(&to) && ran(&copied));
    char tile[200], with[200];
    (void)snprintf(tile, sizeof tile, "y = onx.internal.Tile<code=[%d,0,1,0, %d,128,0,0]>(c, p)",
                   ONX_TILE_MUL, ONX_TILE_RELU);
    (void)snprintf(with, sizeof with,
                   "y = onx.internal.Channels<" FROM ", code=[%d,0,1,0, %d,128,0,0]>(a, b, p)",
                   ONX_TILE_MUL, ONX_TILE_RELU);
    kernel_result want =
        kernel_run(t->name, 22, tile, 2, (onx_operand *[]){&copied.out[0], &to.out[0]}, 0);
    kernel_result got = kernel_run(t->name, 22, with, 3, (onx_operand *[]){a, b, &to.out[0]}, 0);
    REQUIRE(ran(&want) && ran(&got));
    kernel_result plain[2];
    for (int i = 0; i < 2; i++)
        plain[i] = kernel_run(t->name, 22, "y = onx.internal.FromBlocked(x)", 1,
                              (onx_operand *[]){i ? &got.out[0] : &want.out[0]}, 0);
    REQUIRE(ran(&plain[0]) && ran(&plain[1]));
    CHECK(kernel_distance(&plain[0].out[0], &plain[1].out[0]) == 0);
    kernel_free(&plain[0]), kernel_free(&plain[1]), kernel_free(&want), kernel_free(&got);
    kernel_free(&copied), kernel_free(&to);
    free(p.data);
}

/* Channels put together, taken apart and in another order: from two images of 19 and 37. */
TEST(channels) {
    enum { N = 2, A = 19, B = 37, PIXELS = 5 * 7 };
    static const struct {
        int64_t first, step, n;
    } cases[] = {{0, 1, A + B}, {0, 1, 16},   {16, 1, 3}, {A, 1, B},
                 {5, 1, 40},    {55, -1, 56}, {1, 2, 28}, {3, 17, 4}};
    EACH_TIER(t) {
        onx_operand a = filled("2,19,5,7", 1), b = filled("2,37,5,7", 2);
        kernel_result to[2] = {0};
        for (int i = 0; i < 2; i++) {
            to[i] = kernel_run(t->name, 22, "y = onx.internal.ToBlocked(x)", 1,
                               (onx_operand *[]){i ? &b : &a}, 0);
            REQUIRE(ran(&to[i]));
            spoil_lanes(&to[i].out[0]);
        }
        for (size_t i = 0; i < ONX_COUNT(cases); i++) {
            char node[1000];
            int at = snprintf(node, sizeof node, "y = onx.internal.Channels<sizes=[19,37], from=[");
            for (int64_t k = 0; k < cases[i].n; k++)
                at += snprintf(node + at, sizeof node - (size_t)at, "%s%d", k ? "," : "",
                               (int)(cases[i].first + k * cases[i].step));
            (void)snprintf(node + at, sizeof node - (size_t)at, "]>(a, b)");
            kernel_result got = kernel_run(t->name, 22, node, 2,
                                           (onx_operand *[]){&to[0].out[0], &to[1].out[0]}, 0);
            REQUIRE(ran(&got));
            kernel_result back = kernel_run(t->name, 22, "y = onx.internal.FromBlocked(x)", 1,
                                            (onx_operand *[]){&got.out[0]}, 0);
            REQUIRE(ran(&back));
            size_t wrong = 0;
            for (size_t k = 0; k < (size_t)back.out[0].count; k++) {
                size_t image = k / PIXELS / (size_t)cases[i].n;
                size_t c =
                    (size_t)(cases[i].first + (int64_t)(k / PIXELS) % cases[i].n * cases[i].step);
                const float *from = c < A ? (float *)a.data + (image * A + c) * PIXELS
                                          : (float *)b.data + (image * B + c - A) * PIXELS;
                wrong += ((float *)back.out[0].data)[k] != from[k % PIXELS];
            }
            CHECK_EQ(wrong, 0);
            kernel_free(&got), kernel_free(&back);
        }
        channels_with_program(t, &to[0].out[0], &to[1].out[0]);
        kernel_result bad =
            kernel_run(t->name, 22, "y = onx.internal.Channels<sizes=[19,37], from=[56]>(a, b)", 2,
                       (onx_operand *[]){&to[0].out[0], &to[1].out[0]}, 0);
        CHECK_EQ(bad.status, ONX_INVALID);
        kernel_free(&bad), kernel_free(&to[0]), kernel_free(&to[1]);
        free(a.data), free(b.data);
    }
}

/* Residual and clamp: what Conv, Add and Clip give. */
TEST(residual_and_clamp) {
    EACH_TIER(t) {
        onx_operand x = filled("1,32,5,6", 1), w = filled("32,32,3,3", 2), b = filled("32", 3);
        x.layout = (uint8_t)t->block->block;
        const char *node = "y = onx.internal.ConvBlocked<pads=[1,1,1,1]>(x, w, b)";
        kernel_result sum = kernel_run(t->name, 22, node, 3, (onx_operand *[]){&x, &w, &b}, 2);
        REQUIRE(ran(&sum));
        node = "y = onx.internal.ConvBlocked<pads=[1,1,1,1], lo=-0.5, hi=2.0>(x, w, b, r)";
        onx_operand *in[] = {&x, &w, &b, &x};
        kernel_result got = kernel_run(t->name, 22, node, 4, in, 2);
        REQUIRE(ran(&got));
        const float *s = sum.out[0].data, *r = x.data, *y = got.out[0].data;
        size_t wrong = 0;
        for (size_t i = 0; i < (size_t)x.count; i++)
            wrong += !(fabsf(y[i] - fminf(2, fmaxf(-0.5f, s[i] + r[i]))) < 1e-4f);
        CHECK_EQ(wrong, 0);
        CHECK(got.out[0].layout == x.layout);
        kernel_free(&sum), kernel_free(&got);
        free(x.data), free(w.data), free(b.data);
    }
}

/* An elementwise program in the same step: each algorithm, a plain output, an empty input. */
TEST(program) {
    static const struct {
        const char *attributes, *x, *w, *b;
        bool from_plain;
    } cases[] = {
        {"strides=[2,2]", "2,32,9,9", "48,32,3,3", "48", false},
        {"pads=[1,1,1,1]", "2,32,14,13", "48,32,3,3", "48", false},
        {"pads=[1,1,1,1]", "1,3,14,13", "48,3,3,3", "48", true},
        {"pads=[1,1,1,1], group=32", "2,32,14,13", "32,1,3,3", "32", false},
        {"pads=[1,1,1,1]", "1,32,5,6", "23,32,3,3", "23", false},
        {"pads=[2,2,2,2]", "2,23,0,4", "37,23,3,3", "37", false},
        {"pads=[2,2,2,2]", "2,32,0,4", "48,32,3,3", "48", false},
    };
    EACH_TIER(t) {
        for (size_t i = 0; i < ONX_COUNT(cases); i++) {
            char plain[200], with[200];
            onx_operand x = filled(cases[i].x, 1), w = filled(cases[i].w, 2);
            onx_operand b = filled(cases[i].b, 3), *in[] = {&x, &w, &b};
            if (!cases[i].from_plain) REQUIRE(onx_operand_layout(&x, (unsigned)t->block->block));
            (void)snprintf(plain, sizeof plain, "y = onx.internal.ConvBlocked<%s>(x, w, b)",
                           cases[i].attributes);
            (void)snprintf(with, sizeof with,
                           "y = onx.internal.ConvBlocked<%s, code=[%d,0,0,0]>(x, w, b)",
                           cases[i].attributes, ONX_TILE_HARD_SWISH);
            kernel_result before = kernel_run(t->name, 22, plain, 3, in, 2);
            kernel_result got = kernel_run(t->name, 22, with, 3, in, 2);
            if (ran(&before) && ran(&got)) {
                float *v = before.out[0].data;
                for (size_t k = 0; k < (size_t)before.out[0].count; k++)
                    v[k] *= fminf(1, fmaxf(0, v[k] / 6 + 0.5f));
                CHECK(kernel_distance(&got.out[0], &before.out[0]) < 1e-5);
            }
            kernel_free(&before), kernel_free(&got);
            free(x.data), free(w.data), free(b.data);
        }
    }
}

/* ConvBlocked, from an input that is not, beside Conv. */
static void check_blocked(const set *t, const char *attributes, onx_operand *x, onx_operand *w,
                          onx_operand *b) {
    char plain[120], node[120];
    onx_operand *in[] = {x, w, b};
    (void)snprintf(plain, sizeof plain, "y = Conv<%s>(x, w, b)", attributes);
    (void)snprintf(node, sizeof node, "y = onx.internal.ConvBlocked<%s>(x, w, b)", attributes);
    kernel_result want = kernel_run("ref", 22, plain, 3, in, 2);
    kernel_result to = kernel_run(t->name, 22, "y = onx.internal.ToBlocked(x)", 1, in, 0);
    in[0] = &to.out[0];
    kernel_result got = kernel_run(t->name, 22, node, 3, in, 2);
    in[0] = &got.out[0];
    kernel_result back = kernel_run(t->name, 22, "y = onx.internal.FromBlocked(x)", 1, in, 0);
    if (ran(&want) && ran(&got) && ran(&back))
        CHECK(kernel_distance(&back.out[0], &want.out[0]) < 1e-4);
    kernel_free(&want), kernel_free(&to), kernel_free(&got), kernel_free(&back);
}

/* Winograd's algorithm in the row: an image with infinity or NaN gives what direct sums give, and
 * so do those after it. */
TEST(blocked_not_finite) {
    static const char *const attributes[] = {"pads=[1,1,1,1]", "pads=[1,1,1,1], strides=[2,2]"};
    static const char *const images[] = {"3,32,14,13", "3,32,53,54"};
    EACH_TIER(t) {
        for (int i = 0; i < 8; i++) {
            onx_operand x = filled(images[i / 4], 1), w = filled("48,32,3,3", 2),
                        b = filled("48", 3);
            size_t each = (size_t)x.count / 3;
            if (i % 4 > 0)
                ((float *)x.data)[each * (i % 4 - 1) + 1000] = i % 4 == 2 ? INFINITY : NAN;
            if (i % 4 == 3) ((float *)w.data)[77] = 1e30f; /* too large, but finite */
            check_blocked(t, attributes[i / 4], &x, &w, &b);
            free(x.data), free(w.data), free(b.data);
        }
    }
}

/* An image so large that it is made in bands, one after the other or at the same time, of which the
 * last has NaN: what direct sums give; and without NaN. */
TEST(blocked_bands) {
    EACH_TIER(t) {
        onx_conv few = winograd_conv(3, 1, 32, 16, 150, 130, 1);
        onx_conv many = winograd_conv(3, 1, 150, 32, 60, 58, 1);
        CHECK(t->winograd->bands(&few) > 1 && t->winograd->apart(&few));
        CHECK(t->winograd->bands(&many) > 1 && !t->winograd->apart(&many));
        for (int i = 0; i < 4; i++) {
            onx_operand x = filled(i / 2 ? "1,150,60,58" : "1,32,150,130", 1);
            onx_operand w = filled(i / 2 ? "32,150,3,3" : "16,32,3,3", 2), b = filled("32", 3);
            if (!(i / 2)) b.count = b.dims[0] = 16;
            if (i % 2) ((float *)x.data)[x.count - 200] = NAN;
            check_blocked(t, "pads=[1,1,1,1]", &x, &w, &b);
            free(x.data), free(w.data), free(b.data);
        }
    }
}

/* The same with all that a step may have besides, and with weights of half precision: direct sums
 * are what weights that are not constant give. */
TEST(blocked_not_finite_with_more) {
    char nodes[3][120];
    (void)snprintf(nodes[0], sizeof nodes[0],
                   "y = onx.internal.ConvBlocked<pads=[1,1,1,1], lo=-0.5, hi=2.0>(x, w, b, r)");
    (void)snprintf(nodes[1], sizeof nodes[1],
                   "y = onx.internal.ConvBlocked<pads=[1,1,1,1], code=[%d,0,0,0]>(x, w, b, r)",
                   ONX_TILE_HARD_SWISH);
    (void)snprintf(nodes[2], sizeof nodes[2], "y = onx.internal.ConvBlocked<pads=[1,1,1,1]>(x, w)");
    EACH_TIER(t) {
        onx_operand x = filled("3,32,14,13", 1), w = filled("80,32,3,3", 2), b = filled("80", 3);
        onx_operand r = filled("3,80,14,13", 4),
                    half = kernel_operand(ONX_DTYPE_F16, "80,32,3,3", 0);
        x.layout = r.layout = (uint8_t)t->block->block;
        half.data = room((size_t)half.count);
        (void)onx_dtype_convert(ONX_DTYPE_F32, w.data, ONX_DTYPE_F16, half.data, (size_t)w.count,
                                false);
        ((float *)x.data)[32 * 14 * 13 + 1000] = INFINITY;
        ((float *)x.data)[32 * 14 * 13 + 2000] = NAN;
        for (size_t i = 0; i < 6; i++) {
            onx_operand *in[] = {&x, i % 2 ? &half : &w, &b, &r};
            size_t n = i / 2 < 2 ? 4 : 2;
            kernel_result want = kernel_run(t->name, 22, nodes[i / 2], n, in, 0);
            kernel_result got = kernel_run(t->name, 22, nodes[i / 2], n, in, 2);
            if (ran(&want) && ran(&got)) {
                size_t image = (size_t)want.out[0].bytes / 3;
                CHECK(kernel_distance(&got.out[0], &want.out[0]) < 1e-4);
                CHECK(memcmp((char *)got.out[0].data + image, (char *)want.out[0].data + image,
                             2 * image) == 0);
            }
            kernel_free(&want), kernel_free(&got);
        }
        free(x.data), free(w.data), free(b.data), free(r.data), free(half.data);
    }
}

static const row_case pool_cases[] = {
    {"y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)", 12, "2,20,11,9", "", ""},
    {"y = MaxPool<kernel_shape=[2], ceil_mode=1, strides=[3], dilations=[4]>(x)", 12, "2,3,25", "",
     ""},
    {"y = MaxPool<kernel_shape=[2,2,3], pads=[1,0,1,0,1,1]>(x)", 22, "1,2,4,5,6", "", ""},
    {"y = MaxPool<kernel_shape=[3,2,3], dilations=[2,1,2], strides=[2,1,3], ceil_mode=1>(x)", 22,
     "2,3,9,4,37", "", ""},
    {"y = AveragePool<kernel_shape=[2,2,2], strides=[2,2,2], pads=[1,0,1,0,1,1]>(x)", 22,
     "2,3,5,6,37", "", ""},
    {"y = AveragePool<kernel_shape=[2,3,3], pads=[1,2,2,1,0,1], count_include_pad=1, "
     "strides=[1,2,2], "
     "ceil_mode=1>(x)",
     22, "1,3,4,6,19", "", ""},
    {"y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,2,1,0]>(x)", 7, "2,20,11,9", "",
     ""},
    {"y = AveragePool<kernel_shape=[3,3], pads=[2,2,2,2], count_include_pad=1>(x)", 22, "1,3,5,5",
     "", ""},
    {"y = AveragePool<kernel_shape=[3,2], ceil_mode=1, strides=[2,2], dilations=[2,1]>(x)", 22,
     "1,3,8,7", "", ""},
    {"y = AveragePool<kernel_shape=[3,2], auto_pad=\"SAME_LOWER\", strides=[2,2]>(x)", 22,
     "1,3,8,7", "", ""},
    {"y = GlobalMaxPool(x)", 1, "2,5,7,9", "", ""},
    {"y = GlobalAveragePool(x)", 22, "2,5,7,9", "", ""},
    {"y = GlobalAveragePool(x)", 22, "2,5,170", "", ""},
    {"y = GlobalAveragePool(x)", 22, "2,5", "", ""},
    {"y = GlobalMaxPool(x)", 22, "0,5,7", "", ""},
    {"y = GlobalMaxPool(x)", 22, "3,5,0", "", ""},
};

TEST(pool_rows) {
    for (size_t i = 0; i < ONX_COUNT(pool_cases); i++) {
        const row_case *c = &pool_cases[i];
        onx_operand x = filled(c->x, 1), *in[] = {&x};
        kernel_result want = kernel_run("ref", c->opset, c->node, 1, in, 0);
        if (!ran(&want)) continue;
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            kernel_result got = kernel_run(*tier, c->opset, c->node, 1, in, 0);
            if (ran(&got) && !CHECK(kernel_distance(&got.out[0], &want.out[0]) < 1e-5))
                fprintf(stderr, "    %s [%s]\n", c->node, *tier);
            kernel_free(&got);
        }
        kernel_free(&want);
        free(x.data);
    }
}

TEST(pool_mistakes) {
    static const row_case cases[] = {
        {"y = MaxPool(x)", 22, "1,3,9,9", "", "kernel_shape is missing"},
        {"y = MaxPool<kernel_shape=[3]>(x)", 22, "1,3,9,9", "", "for 1 spatial dimensions"},
        {"y = AveragePool<kernel_shape=[30,30]>(x)", 22, "1,3,9,9", "", "the window spans 30"},
        {"y = AveragePool<kernel_shape=[3], strides=[-1]>(x)", 22, "1,3,9", "", "not positive"},
        {"y = GlobalMaxPool(x)", 22, "5", "", "needs batch and channels"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        const row_case *c = &cases[i];
        onx_operand x = filled(c->x, 1), *in[] = {&x};
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            kernel_result r = kernel_run(*tier, c->opset, c->node, 1, in, 0);
            CHECK_EQ(r.status, ONX_INVALID);
            if (!CHECK(strstr(r.diag.message, c->b)))
                fprintf(stderr, "    %s [%s]: %s\n", c->node, *tier, r.diag.message);
        }
        free(x.data);
    }
}

/* Ties give the first; NaN wins; the order of indices follows storage_order. */
TEST(max_pool_indices) {
    float data[] = {1, 5, 5, 2, NAN, 0, 7, 7, -1};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "1,1,3,3", data), *in[] = {&x};
    const char *node = "y, i = MaxPool<kernel_shape=[2,2], storage_order=0>(x)";
    kernel_result r = kernel_run(kernel_tiers()[0], 12, node, 1, in, 0);
    REQUIRE(ran(&r));
    static const int64_t rows[] = {4, 4, 4, 4};
    CHECK(memcmp(r.out[1].data, rows, sizeof rows) == 0 && isnan(*(float *)r.out[0].data));
    kernel_free(&r);
    data[4] = 3;
    node = "y, i = MaxPool<kernel_shape=[2,2], storage_order=1>(x)";
    r = kernel_run(kernel_tiers()[0], 12, node, 1, in, 0);
    REQUIRE(ran(&r));
    static const int64_t columns[] = {3, 3, 2, 5};
    CHECK(memcmp(r.out[1].data, columns, sizeof columns) == 0);
    kernel_free(&r);
}

/* Few values, so that many are equal, some NaN or infinite; and the input is not aligned. */
TEST(max_pool_places) {
    static const row_case cases[] = {
        {"y, i = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)", 12, "2,3,8,70", "", ""},
        {"y, i = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)", 12, "1,5,11,75",
         "", ""},
        {"y, i = MaxPool<kernel_shape=[3,3], pads=[1,0,2,1]>(x)", 12, "2,2,9,41", "", ""},
        {"y, i = MaxPool<kernel_shape=[5], strides=[3], dilations=[4], ceil_mode=1>(x)", 12,
         "2,3,95", "", ""},
        {"y, i = MaxPool<kernel_shape=[5,5,2], strides=[2,1,2], pads=[2,2,0,2,2,1]>(x)", 22,
         "1,2,7,6,39", "", ""},
        {"y, i = MaxPool<kernel_shape=[2,2], storage_order=1, strides=[2,2]>(x)", 12, "2,3,8,38",
         "", ""},
        {"y, i = MaxPool<kernel_shape=[3,3], strides=[2,2]>(x)", 12, "2,0,9,9", "", ""},
    };
    static const float values[] = {-INFINITY, -1, 0, -0.0f, 1, 2, 2, NAN};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        const row_case *c = &cases[i];
        onx_operand x = filled(c->x, 1), *in[] = {&x};
        char *apart = malloc((size_t)x.bytes + 1);
        REQUIRE(apart);
        for (int64_t k = 0; k < x.count; k++) {
            float v = values[(size_t)(k * k * 31 + k / 7) % (k % 3 ? 7 : 8)];
            memcpy(apart + 1 + k * (int64_t)sizeof v, &v, sizeof v);
        }
        free(x.data);
        x.data = apart + 1;
        kernel_result want = kernel_run("ref", c->opset, c->node, 1, in, 0);
        REQUIRE(ran(&want));
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            kernel_result got = kernel_run(*tier, c->opset, c->node, 1, in, 0);
            if (ran(&got) &&
                !CHECK((!want.out[1].bytes ||
                        !memcmp(got.out[1].data, want.out[1].data, (size_t)want.out[1].bytes)) &&
                       kernel_distance(&got.out[0], &want.out[0]) == 0))
                fprintf(stderr, "    %s [%s]\n", c->node, *tier);
            kernel_free(&got);
        }
        kernel_free(&want);
        free(apart);
    }
}

TEST(backend) {
    static const char *const prefixes[] = {"conv_",       "basic_conv",    "maxpool",
                                           "averagepool", "globalaverage", "globalmax"};
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++) {
        size_t failed = 0, n = kernel_backend(prefixes[i], "", &failed);
        if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
        CHECK(n > 0);
        CHECK_EQ(failed, 0);
    }
}

TEST_MAIN(E(blocked_layout_and_back) E(direct) E(direct_in_chunks) E(points) E(plain) E(depthwise)
              E(depthwise_usual) E(nothing) E(winograd) E(winograd_refuses) E(pools) E(conv_rows)
                  E(conv_half) E(conv_mistakes) E(blocked_rows) E(channels) E(residual_and_clamp)
                      E(program) E(blocked_not_finite) E(blocked_bands)
                          E(blocked_not_finite_with_more) E(pool_rows) E(pool_mistakes)
                              E(max_pool_indices) E(max_pool_places) E(backend))
