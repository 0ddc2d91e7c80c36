/* test_sample.c: GridSample and AffineGrid: against their definitions written out, in every mode;
 * positions that are no numbers, or far away. */
#include "test.h"

#include <math.h>

#include "kernel.h"

enum { LARGE = 4096 };

/* ── The definition, for volumes ── */

typedef struct example {
    const char *mode, *padding;
    bool corners;
    int in[3], out[3];
} example;

/* Step by step between the ends until it is inside. */
static double reflect(double x, double low, double high) {
    if (low == high) return low;
    while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
    return x;
}

static double cubic(double t) {
    t = fabs(t);
    if (t < 1) return 1.25 * t * t * t - 2.25 * t * t + 1;
    return t < 2 ? -0.75 * (t * t * t - 5 * t * t + 8 * t - 4) : 0;
}

/* The weight of element i of an axis of n for the grid's coordinate g. */
static double weight_of(const example *e, double g, int n, int i) {
    double low = e->corners ? 0 : -0.5, high = e->corners ? n - 1 : n - 0.5, sum = 0;
    double x = e->corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    bool nearest = !strcmp(e->mode, "nearest");
    if (nearest) x = nearbyint(x);
    if (!strcmp(e->padding, "border") && (x < low || x > high)) x = x < 0 ? 0 : n - 1;
    if (!strcmp(e->padding, "reflection")) x = reflect(x, low, high);
    for (int k = (int)floor(x) - 2; k <= floor(x) + 3; k++) {
        double t = fabs(k - x), w = nearest ? t < 0.5 : t < 1 ? 1 - t : 0;
        int at = k;
        if (!strcmp(e->mode, "cubic")) w = cubic(t);
        if (!strcmp(e->padding, "border")) at = k < 0 ? 0 : k >= n ? n - 1 : k;
        if (!strcmp(e->padding, "reflection")) at = (int)reflect(k, low, high);
        if (at == i) sum += w;
    }
    return sum;
}

static double value_at(const example *e, const float *volume, const float *g) {
    double sum = 0;
    for (int z = 0; z < e->in[0]; z++)
        for (int y = 0; y < e->in[1]; y++)
            for (int x = 0; x < e->in[2]; x++) {
                double w = weight_of(e, (double)g[2], e->in[0], z);
                w *= weight_of(e, (double)g[1], e->in[1], y);
                w *= weight_of(e, (double)g[0], e->in[2], x);
                if (w != 0) sum += w * (double)volume[(z * e->in[1] + y) * e->in[2] + x];
            }
    return sum;
}

static bool matches(const char *tier, const example *e, float reach) {
    static float x[LARGE], grid[LARGE];
    char node[200], x_dims[64], g_dims[64];
    int points = e->out[0] * e->out[1] * e->out[2], pixels = e->in[0] * e->in[1] * e->in[2];
    (void)snprintf(node, sizeof node,
                   "y = GridSample<mode=\"%s\", padding_mode=\"%s\", align_corners=%d>(x, g)",
                   e->mode, e->padding, e->corners);
    (void)snprintf(x_dims, sizeof x_dims, "2,2,%d,%d,%d", e->in[0], e->in[1], e->in[2]);
    (void)snprintf(g_dims, sizeof g_dims, "2,%d,%d,%d,3", e->out[0], e->out[1], e->out[2]);
    kernel_fill(x, (size_t)(4 * pixels), 1, -1, 1);
    kernel_fill(grid, (size_t)(6 * points), 2, -reach, reach);
    onx_operand in = kernel_operand(ONX_DTYPE_F32, x_dims, x);
    onx_operand g = kernel_operand(ONX_DTYPE_F32, g_dims, grid);
    kernel_result r = kernel_run(tier, 22, node, 2, (onx_operand *[]){&in, &g}, 0);
    bool same = r.status == ONX_OK && r.out[0].count == 4 * points;
    if (r.status != ONX_OK) fprintf(stderr, "    %s\n", r.diag.message);
    for (int i = 0; same && i < 4 * points; i++) {
        double want =
            value_at(e, x + i / points * pixels, grid + (i / points / 2 * points + i % points) * 3);
        same = fabs((double)((float *)r.out[0].data)[i] - want) < 2e-5 * (1 + (double)reach);
        if (!same) fprintf(stderr, "    %g, not %g\n", (double)((float *)r.out[0].data)[i], want);
    }
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

TEST(written_out) {
    static const char *const modes[] = {"linear", "nearest", "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    for (size_t m = 0; m < 3; m++)
        for (size_t p = 0; p < 3; p++)
            for (int k = 0; k < 8; k++) {
                example e = {modes[m], paddings[p], k & 1, {3, 4, 5}, {2, 3, 11}};
                if (k & 2) e.in[1] = 1, e.in[0] = 2;
                for (const char *const *tier = kernel_tiers(); *tier; tier++)
                    if (!CHECK(matches(*tier, &e, k & 4 ? 7 : 1.1f)))
                        fprintf(stderr, "    %s: %s, %s, %d\n", *tier, modes[m], paddings[p], k);
            }
}

/* ── Odd positions and types ── */

static bool samples_on(const char *tier, const char *attrs, onx_dtype dtype, void *data,
                       const char *dims, float *grid, const char *grid_dims, size_t bytes,
                       const void *want) {
    char node[200];
    (void)snprintf(node, sizeof node, "y = GridSample<%s>(x, g)", attrs);
    onx_operand x = kernel_operand(dtype, dims, data);
    onx_operand g = kernel_operand(ONX_DTYPE_F32, grid_dims, grid);
    kernel_result r = kernel_run(tier, 22, node, 2, (onx_operand *[]){&x, &g}, 0);
    bool same = r.status == ONX_OK && r.out[0].bytes == bytes &&
                (!bytes || memcmp(r.out[0].data, want, bytes) == 0);
    if (r.status != ONX_OK) fprintf(stderr, "    %s\n", r.diag.message);
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

static bool samples(const char *attrs, onx_dtype dtype, void *data, const char *dims, float *grid,
                    const char *grid_dims, size_t bytes, const void *want) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        if (!samples_on(*tier, attrs, dtype, data, dims, grid, grid_dims, bytes, want))
            return fprintf(stderr, "    %s\n", *tier), false;
    return true;
}

TEST(odd_positions) {
    float x[] = {1, 2, 3, 4}, grid[] = {NAN, INFINITY, -INFINITY, 1e38f, -1e38f, 1};
    static const char *const modes[] = {"linear", "nearest", "cubic"};
    for (size_t m = 0; m < 3; m++) {
        char attrs[100];
        (void)snprintf(attrs, sizeof attrs, "mode=\"%s\", align_corners=1", modes[m]);
        CHECK(samples(attrs, ONX_DTYPE_F32, x, "1,1,4", grid, "1,6,1", 24,
                      (float[]){1, 0, 0, 0, 0, 4}));
        (void)snprintf(attrs, sizeof attrs, "mode=\"%s\", align_corners=1, padding_mode=\"border\"",
                       modes[m]);
        CHECK(samples(attrs, ONX_DTYPE_F32, x, "1,1,4", grid, "1,6,1", 24,
                      (float[]){1, 4, 1, 4, 1, 4}));
        (void)snprintf(attrs, sizeof attrs,
                       "mode=\"%s\", align_corners=1, padding_mode=\"reflection\"", modes[m]);
        CHECK(samples(attrs, ONX_DTYPE_F32, x, "1,1,1", grid, "1,6,1", 24,
                      (float[]){1, 1, 1, 1, 1, 1}));
    }
    CHECK(samples("mode=\"linear\"", ONX_DTYPE_F32, NULL, "1,2,0,3", grid, "1,1,3,2", 24,
                  (float[6]){0}));
    CHECK(samples("mode=\"linear\"", ONX_DTYPE_F32, x, "1,1,2,2", NULL, "1,0,3,2", 0, NULL));
}

TEST(types) {
    float grid[] = {-1, 0, 0.5f, 3}, pairs[] = {1, -1, 3, 5};
    int8_t ints[] = {-7, 4};
    bool bools[] = {true, false};
    CHECK(samples("align_corners=1", ONX_DTYPE_C64, pairs, "1,1,2", grid, "1,4,1", 32,
                  (float[]){1, -1, 2, 2, 2.5f, 3.5f, 0, 0}));
    CHECK(samples("align_corners=1", ONX_DTYPE_I8, ints, "1,1,2", grid, "1,4,1", 4,
                  (int8_t[]){-7, -1, 1, 0}));
    CHECK(samples("mode=\"nearest\", align_corners=1", ONX_DTYPE_BOOL, bools, "1,1,2", grid,
                  "1,4,1", 4, (bool[]){true, true, false, false}));
}

TEST(refusals) {
    static const struct {
        const char *node;
        int opset;
        const char *dims, *grid, *words;
    } cases[] = {
        {"y = GridSample<mode=\"area\">(x, g)", 22, "1,1,2,2", "1,2,2,2", "mode is 'area'"},
        {"y = GridSample<mode=\"bilinear\">(x, g)", 22, "1,1,2,2", "1,2,2,2", "mode is"},
        {"y = GridSample<mode=\"linear\">(x, g)", 16, "1,1,2,2", "1,2,2,2", "mode is"},
        {"y = GridSample<padding_mode=\"wrap\">(x, g)", 22, "1,1,2,2", "1,2,2,2", "padding_mode"},
        {"y = GridSample(x, g)", 22, "1,1,2,2", "1,2,2,3", "2 coordinates"},
        {"y = GridSample(x, g)", 22, "1,1,2,2", "1,2,2", "rank 4"},
        {"y = GridSample(x, g)", 22, "1,1,2,2", "2,1,2,2", "1 images and 2 grids"},
        {"y = GridSample(x, g)", 22, "2,2", "2,2", "at least one more"},
        {"y = GridSample(x, g)", 16, "1,1,4", "1,2,1", "two more"},
        {"y = GridSample<padding_mode=\"border\">(x, g)", 22, "1,1,0,2", "1,2,2,2", "nothing"},
    };
    float data[16] = {0};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_operand x = kernel_operand(ONX_DTYPE_F32, cases[i].dims, data);
        onx_operand g = kernel_operand(ONX_DTYPE_F32, cases[i].grid, data);
        kernel_result r =
            kernel_run("ref", cases[i].opset, cases[i].node, 2, (onx_operand *[]){&x, &g}, 0);
        if (!CHECK(r.status == ONX_INVALID && strstr(r.diag.message, cases[i].words)))
            fprintf(stderr, "    %s: %s, %s\n", cases[i].node, onx_status_name(r.status),
                    r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

/* ── AffineGrid ── */

static kernel_result affine(const char *node, double *theta, const char *dims, const int64_t *size,
                            const char *n) {
    onx_operand t = kernel_operand(ONX_DTYPE_F64, dims, theta);
    onx_operand s = kernel_operand(ONX_DTYPE_I64, n, (void *)size);
    return kernel_run("ref", 20, node, 2, (onx_operand *[]){&t, &s}, 0);
}

TEST(affine_grid) {
    double theta[] = {1, 2, 3, 4, 5, 6}, *y;
    kernel_result r = affine("y = AffineGrid(t, s)", theta, "1,2,3", (int64_t[]){1, 1, 2, 4}, "4");
    REQUIRE(r.status == ONX_OK && r.out[0].count == 16);
    y = r.out[0].data; /* the element at row 1, column 2: (0.25, 0.5) */
    CHECK(fabs(y[12] - (0.25 + 2 * 0.5 + 3)) < 1e-15 && fabs(y[13] - (1 + 2.5 + 6)) < 1e-15);
    kernel_free(&r);
    r = affine("y = AffineGrid<align_corners=1>(t, s)", theta, "1,2,3", (int64_t[]){1, 1, 1, 3},
               "4");
    REQUIRE(r.status == ONX_OK && r.out[0].count == 6);
    y = r.out[0].data; /* column 2 of the only row: (1, -1) */
    CHECK(y[4] == 1 - 2 + 3 && y[5] == 4 - 5 + 6);
    kernel_free(&r);
}

TEST(affine_refusals) {
    static const struct {
        const char *dims, *n;
        int64_t size[5];
    } cases[] = {{"1,2,3", "3", {1, 1, 2}},
                 {"1,2,3", "5", {1, 1, 2, 2, 2}},
                 {"1,2,2", "4", {1, 1, 2, 2}},
                 {"1,2,3", "4", {2, 1, 2, 2}},
                 {"1,2,3", "4", {1, 1, -2, 2}},
                 {"2,3", "4", {1, 1, 2, 2}},
                 {"1,2,3", "4", {1, 1, INT64_MAX, 2}},
                 {"1,2,3", "4", {1, 1, 2, INT64_MIN}}};
    double theta[6] = {0};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        kernel_result r =
            affine("y = AffineGrid(t, s)", theta, cases[i].dims, cases[i].size, cases[i].n);
        if (!CHECK(r.status == ONX_INVALID || r.status == ONX_LIMIT))
            fprintf(stderr, "    case %zu: %s\n", i, r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

TEST(backend) {
    size_t failed = 0, ran = kernel_backend("gridsample", "", &failed);
    ran += kernel_backend("affine_grid_", "expanded", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK(ran >= 22);
}

TEST_MAIN(E(written_out) E(odd_positions) E(types) E(refusals) E(affine_grid) E(affine_refusals)
              E(backend))
