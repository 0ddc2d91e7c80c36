/* conv_bench.c: how fast the convolutions of cpu/conv.h are, on one thread. Compiled by bench/conv,
 * against the static library.
 *
 *     conv_bench [avx512|avx2|base] [ROUNDS [PART OF A LAYER'S NAME]]
 *
 * Prints, for layers of well-known networks, GFLOP/s and the share of the peak: that of a loop of
 * multiply-adds on registers alone, measured in the same run. */
#define _DEFAULT_SOURCE
#include "cpu/conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others on the machine count less */
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 12 chains of multiply-adds hide the latency of any of the processors. */
#define CHAINS 12
#define PEAK(name, isa, bytes)                                                                     \
    __attribute__((target(isa), optimize("fp-contract=fast", "O3"))) static double name(void) {    \
        typedef float v __attribute__((vector_size(bytes)));                                       \
        volatile float one = 0.999f, tiny = 1e-6f;                                                 \
        v a[CHAINS], b = one - (v){0}, c = tiny - (v){0};                                          \
        const size_t n = 1 << 20;                                                                  \
        for (int i = 0; i < CHAINS; i++) a[i] = b + (float)i;                                      \
        double start = now();                                                                      \
        for (size_t k = 0; k < n; k++)                                                             \
            for (int i = 0; i < CHAINS; i++) a[i] = a[i] * b + c;                                  \
        double took = now() - start;                                                               \
        volatile float sink = 0;                                                                   \
        for (int i = 0; i < CHAINS; i++) sink += a[i][0];                                          \
        return 2.0 * CHAINS * (double)n * (bytes / sizeof(float)) / took / 1e9;                    \
    }
#if defined(__x86_64__)
PEAK(peak_avx512, "avx512f,fma", 64)
PEAK(peak_avx2, "avx2,fma", 32)
PEAK(peak_base, "sse2", 16)
#elif defined(__aarch64__)
PEAK(peak_neon, "arch=armv8-a", 16)
#else
PEAK(peak_base, "default", 16)
#endif

typedef struct tier {
    const char *name;
    double (*peak)(void);
    const onx_conv_algorithm *direct, *plain, *depthwise;
    const onx_conv_staged *winograd;
} tier;
#define TIER(isa)                                                                                  \
    {#isa,                                                                                         \
     peak_##isa,                                                                                   \
     &onx_conv_direct_##isa,                                                                       \
     &onx_conv_plain_##isa,                                                                        \
     &onx_conv_depthwise_##isa,                                                                    \
     &onx_conv_winograd_##isa},
static const tier tiers[] = {ONX_ISAS(TIER)};

typedef struct layer {
    const char *name;
    char algorithm; /* d, p (plain input) or w (depthwise) */
    size_t ic, oc, size, kernel, stride, pad;
    size_t groups, dilation; /* 0: 1 */
} layer;
static const layer layers[] = {
    {"resnet 7x7 s2   3> 64 @224", 'p', 3, 64, 224, 7, 2, 3},
    {"resnet 3x3     64> 64 @56", 'd', 64, 64, 56, 3, 1, 1},
    {"resnet 3x3 s2  64>128 @56", 'd', 64, 128, 56, 3, 2, 1},
    {"resnet 1x1 s2  64>128 @56", 'd', 64, 128, 56, 1, 2, 0},
    {"resnet 3x3    128>128 @28", 'd', 128, 128, 28, 3, 1, 1},
    {"resnet 3x3 s2 128>256 @28", 'd', 128, 256, 28, 3, 2, 1},
    {"resnet 1x1 s2 128>256 @28", 'd', 128, 256, 28, 1, 2, 0},
    {"resnet 3x3    256>256 @14", 'd', 256, 256, 14, 3, 1, 1},
    {"resnet 3x3 s2 256>512 @14", 'd', 256, 512, 14, 3, 2, 1},
    {"resnet 1x1 s2 256>512 @14", 'd', 256, 512, 14, 1, 2, 0},
    {"resnet 3x3    512>512 @7", 'd', 512, 512, 7, 3, 1, 1},
    {"resnet 1x1 s2 1024>2048 @14", 'd', 1024, 2048, 14, 1, 2, 0},
    {"resnet 1x1   1024>512 @14", 'd', 1024, 512, 14, 1, 1, 0},
    {"1x1            64>256 @56", 'd', 64, 256, 56, 1, 1, 0},
    {"1x1           256> 64 @56", 'd', 256, 64, 56, 1, 1, 0},
    {"1x1          512>2048 @7", 'd', 512, 2048, 7, 1, 1, 0},
    {"1x1          2048>512 @7", 'd', 2048, 512, 7, 1, 1, 0},
    {"1x1          1024>256 @14", 'd', 1024, 256, 14, 1, 1, 0},
    {"1x1          512>128 @28", 'd', 512, 128, 28, 1, 1, 0},
    {"densenet 1x1  512>128 @14", 'd', 512, 128, 14, 1, 1, 0},
    {"densenet 3x3  128> 32 @56", 'd', 128, 32, 56, 3, 1, 1},
    {"densenet 3x3  128> 32 @14", 'd', 128, 32, 14, 3, 1, 1},
    {"densenet 3x3  128> 32 @7", 'd', 128, 32, 7, 3, 1, 1},
    {"squeeze 1x1  512>1000 @13", 'd', 512, 1000, 13, 1, 1, 0},
    {"squeeze 1x1   512> 64 @13", 'd', 512, 64, 13, 1, 1, 0},
    {"squeeze 1x1    16> 64 @55", 'd', 16, 64, 55, 1, 1, 0},
    {"mobile 1x1     96>576 @14", 'd', 96, 576, 14, 1, 1, 0},
    {"mobile 1x1    960>160 @7", 'd', 960, 160, 7, 1, 1, 0},
    {"mobile 1x1     16> 96 @112", 'd', 16, 96, 112, 1, 1, 0},
    {"mobile 1x1     32> 32 @56", 'd', 32, 32, 56, 1, 1, 0},
    {"mobile 1x1     64>192 @28", 'd', 64, 192, 28, 1, 1, 0},
    {"mobile 3x3 s2  32> 32 @112", 'd', 32, 32, 112, 3, 2, 1},
    {"mobile 3x3 s2  32> 96 @56", 'd', 32, 96, 56, 3, 2, 1},
    {"alexnet 5x5    64>192 @27", 'd', 64, 192, 27, 5, 1, 2},
    {"alexnet 11x11 s4 3>64 @224", 'p', 3, 64, 224, 11, 4, 2},
    {"deeplab 3x3 d12 960>256 @28", 'd', 960, 256, 28, 3, 1, 12, 0, 12},
    {"resnext 3x3 g32 512>512 @14", 'd', 512, 512, 14, 3, 1, 1, 32},
    {"regnet 3x3 g13 208>208 @14", 'd', 208, 208, 14, 3, 1, 1, 13},
    {"regnet 3x3 g26 208>208 @14", 'w', 208, 208, 14, 3, 1, 1, 26},
    {"mobile 3x3 s2   3> 32 @224", 'p', 3, 32, 224, 3, 2, 1},
    {"mobile dw 3x3  96     @112", 'w', 96, 96, 112, 3, 1, 1},
    {"mobile dw 3x3 576     @14", 'w', 576, 576, 14, 3, 1, 1},
    {"mobile dw 3x3 960     @7", 'w', 960, 960, 7, 3, 1, 1},
    {"mobile dw 3x3 s2 96   @112", 'w', 96, 96, 112, 3, 2, 1},
    {"mobile dw 5x5 240     @28", 'w', 240, 240, 28, 5, 1, 2},
    {"mobile dw 5x5 s2 240  @28", 'w', 240, 240, 28, 5, 2, 2},
    {"mobile dw 5x5 960     @7", 'w', 960, 960, 7, 5, 1, 2},
    {"convnext dw 7x7 96    @56", 'w', 96, 96, 56, 7, 1, 3},
    {"convnext dw 7x7 384   @14", 'w', 384, 384, 14, 7, 1, 3},
};

static float *room(size_t floats) {
    float *p = aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64);
    if (!p) exit(1);
    for (size_t i = 0; i < floats; i++) p[i] = (float)(i * 2654435761u % 1024) / 1024 - 0.5f;
    return p;
}

static onx_conv conv_of(const layer *l) {
    size_t dilation = l->dilation ? l->dilation : 1, reach = (l->kernel - 1) * dilation + 1;
    size_t groups = l->groups ? l->groups : l->algorithm == 'w' ? l->ic : 1;
    size_t out = (l->size + 2 * l->pad - reach) / l->stride + 1;
    return (onx_conv){.n = 1,
                      .groups = groups,
                      .ic = l->ic / groups,
                      .oc = l->oc / groups,
                      .ih = l->size,
                      .iw = l->size,
                      .oh = out,
                      .ow = out,
                      .kh = l->kernel,
                      .kw = l->kernel,
                      .sh = l->stride,
                      .sw = l->stride,
                      .dh = dilation,
                      .dw = dilation,
                      .top = l->pad,
                      .left = l->pad};
}

static void measure(const tier *t, const layer *l, double peak, int rounds) {
    const onx_conv_algorithm *run = l->algorithm == 'd'   ? t->direct
                                    : l->algorithm == 'p' ? t->plain
                                                          : t->depthwise;
    if (!run) return;
    onx_conv c = conv_of(l);
    size_t plain_weights = c.groups * c.oc * c.ic * c.kh * c.kw;
    float *w = room(plain_weights), *packed = room(run->weights(&c));
    float *x = room((l->ic + 16 * c.groups) * l->size * l->size),
          *y = room((l->oc + 16 * c.groups) * c.oh * c.ow);
    float *bias = room(l->oc), *scratch = room(run->scratch(&c) / sizeof(float) + 16);
    for (size_t i = 0; i < run->parts(&c); i++) run->pack(&c, w, i, packed);
    onx_conv_args a = {.x = x, .w = packed, .bias = bias, .lo = 0, .hi = INFINITY, .y = y};
    double best = 1e30;
    for (int i = 0; i < rounds; i++) {
        double start = now();
        for (size_t k = 0, n = run->tasks(&c); k < n; k++) run->run(&c, &a, k, scratch);
        double took = now() - start;
        if (took < best) best = took;
    }
    double gflops = 2.0 * (double)plain_weights * (double)(c.oh * c.ow) / best / 1e9;
    printf("%-28s %8.3f ms %8.1f GFLOP/s %5.1f%%  %zu tasks\n", l->name, best * 1e3, gflops,
           100 * gflops / peak, run->tasks(&c));
    free(w), free(packed), free(x), free(y), free(bias), free(scratch);
}

/* 3x3 layers by Winograd's algorithm: the share is that of the products which the
 * direct sums take. */
static void measure_winograd(const tier *t, const layer *l, double peak, int rounds) {
    const onx_conv_staged *run = t->winograd;
    onx_conv c = conv_of(l);
    if (l->algorithm != 'd' || l->pad != 1 || !run->fits(&c)) return;
    size_t pixels = c.oh * c.ow;
    float *w = room(9 * l->ic * l->oc), *packed = room(run->weights(&c));
    float *x = room(l->ic * l->size * l->size), *y = room(l->oc * pixels), *bias = room(l->oc);
    onx_conv_band band = {0, run->bands(&c)};
    float *shared = room(run->shared(&c, band.count));
    float *scratch = room(run->scratch(&c) / sizeof(float));
    onx_conv_args a = {.x = x, .w = packed, .bias = bias, .lo = 0, .hi = INFINITY, .y = y};
    for (size_t i = 0; i < run->parts(&c); i++)
        if (!run->pack(&c, w, i, packed)) exit(1);
    double best = 1e30, best_in = 1e30;
    for (int i = 0; i < rounds; i++) {
        double start = now(), in = 0;
        for (band.index = 0; band.index < band.count; band.index++) {
            double begun = now();
            for (size_t k = 0, n = run->in_tasks(&c); k < n; k++)
                if (!run->in(&c, x, shared, band, k)) exit(1);
            in += now() - begun;
            for (size_t k = 0, n = run->out_tasks(&c, band); k < n; k++)
                run->out(&c, &a, shared, band, k, scratch);
        }
        double took = now() - start;
        if (took < best) best = took;
        if (in < best_in) best_in = in;
    }
    double gflops = 18.0 * (double)(l->ic * l->oc * pixels) / best / 1e9;
    printf("%-28s %8.3f ms %8.1f GFLOP/s %5.1f%%  %zu bands, inputs %.3f ms (Winograd)\n", l->name,
           best * 1e3, gflops, 100 * gflops / peak, band.count, best_in * 1e3);
    free(w), free(packed), free(x), free(y), free(bias), free(shared), free(scratch);
}

int main(int argc, char **argv) {
    const char *wanted = argc > 1 ? argv[1] : tiers[0].name;
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    const char *part = argc > 3 ? argv[3] : "";
    for (size_t i = 0; i < ONX_COUNT(tiers); i++) {
        if (strcmp(tiers[i].name, wanted)) continue;
        double peak = 0;
        for (int k = 0; k < 20; k++) peak = fmax(peak, tiers[i].peak());
        printf("%s: peak %.1f GFLOP/s\n", wanted, peak);
        for (size_t k = 0; k < ONX_COUNT(layers); k++)
            if (strstr(layers[k].name, part)) measure(&tiers[i], &layers[k], peak, rounds);
        for (size_t k = 0; k < ONX_COUNT(layers); k++)
            if (strstr(layers[k].name, part)) measure_winograd(&tiers[i], &layers[k], peak, rounds);
        return 0;
    }
    fprintf(stderr, "conv_bench: no instruction set '%s' here\n", wanted);
    return 1;
}
