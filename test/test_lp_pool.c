/* test_lp_pool.c: LpPool and GlobalLpPool: against norms written out, in every type and on every
 * tier, and odd cases. */
#include "test.h"

#include <math.h>

#include "kernel.h"

enum { LARGE = 4096 };

/* Norms over windows of a plane [ih][iw], by coordinates: zero outside. */
typedef struct example {
    const char *node;
    int opset;
    const char *dims; /* of x: N, C, ih, iw */
    int planes, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, top, left;
    double p;
} example;

static double norm_at(const example *e, const double *plane, int oy, int ox) {
    double sum = 0;
    for (int ky = 0; ky < e->kh; ky++)
        for (int kx = 0; kx < e->kw; kx++) {
            int y = oy * e->sh + ky * e->dh - e->top, x = ox * e->sw + kx * e->dw - e->left;
            if (y >= 0 && y < e->ih && x >= 0 && x < e->iw)
                sum += pow(fabs(plane[y * e->iw + x]), e->p);
        }
    return pow(sum, 1 / e->p);
}

static const example examples[] = {
    {"y = LpPool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]>(x)", 22, "2,3,7,5", 6, 7, 5, 4,
     5, 3, 2, 2, 1, 1, 1, 1, 0, 2},
    {"y = LpPool<kernel_shape=[2,2], dilations=[2,3], p=3, ceil_mode=1, strides=[3,3]>(x)", 18,
     "1,2,9,8", 2, 9, 8, 3, 3, 2, 2, 3, 3, 2, 3, 0, 0, 3},
    {"y = LpPool<kernel_shape=[3,3], auto_pad=\"SAME_LOWER\", strides=[2,2], p=1>(x)", 11,
     "1,3,8,7", 3, 8, 7, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1},
    {"y = LpPool<kernel_shape=[3,3], p=1>(x)", 2, "1,1,5,5", 1, 5, 5, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0,
     1},
    {"y = LpPool<kernel_shape=[3,3], p=0.5>(x)", 1, "1,1,5,5", 1, 5, 5, 3, 3, 3, 3, 1, 1, 1, 1, 0,
     0, 0.5},
    {"y = GlobalLpPool(x)", 22, "2,3,7,9", 6, 7, 9, 1, 1, 7, 9, 1, 1, 1, 1, 0, 0, 2},
    {"y = GlobalLpPool<p=5>(x)", 2, "2,3,1,40", 6, 1, 40, 1, 1, 1, 40, 1, 1, 1, 1, 0, 0, 5},
    {"y = GlobalLpPool<p=1.5>(x)", 1, "1,2,7,9", 2, 7, 9, 1, 1, 7, 9, 1, 1, 1, 1, 0, 0, 1.5},
};

static const struct {
    onx_dtype dtype;
    double tolerance;
} types[] = {
    {ONX_DTYPE_F32, 1e-6}, {ONX_DTYPE_F64, 1e-13}, {ONX_DTYPE_F16, 1e-3}, {ONX_DTYPE_BF16, 8e-3}};

static bool matches(const example *e, const char *tier, onx_dtype dtype, double tolerance) {
    static float values[LARGE];
    static double x[LARGE], got[LARGE];
    static char memory[LARGE * 8 + 1];
    onx_operand in = kernel_operand(dtype, e->dims, memory + 1); /* not aligned */
    kernel_fill(values, (size_t)in.count, 7, -3, 3);
    (void)onx_dtype_convert(ONX_DTYPE_F32, values, dtype, in.data, (uint64_t)in.count, false);
    (void)onx_dtype_convert(dtype, in.data, ONX_DTYPE_F64, x, (uint64_t)in.count, false);
    kernel_result r = kernel_run(tier, e->opset, e->node, 1, (onx_operand *[]){&in}, 0);
    bool same = r.status == ONX_OK && r.out[0].rank == 4 && r.out[0].dims[2] == e->oh &&
                r.out[0].dims[3] == e->ow && r.out[0].count == e->planes * e->oh * e->ow;
    if (r.status != ONX_OK) fprintf(stderr, "    %s\n", r.diag.message);
    if (same)
        (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, got, (uint64_t)r.out[0].count,
                                false);
    for (int i = 0; same && i < e->planes * e->oh * e->ow; i++) {
        const double *plane = x + i / (e->oh * e->ow) * e->ih * e->iw;
        double want = norm_at(e, plane, i / e->ow % e->oh, i % e->ow);
        same = fabs(got[i] - want) <= tolerance * want;
        if (!same) fprintf(stderr, "    %g, not %g\n", got[i], want);
    }
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

TEST(written_out) {
    for (size_t i = 0; i < ONX_COUNT(examples); i++)
        for (size_t t = 0; t < ONX_COUNT(types); t++)
            for (const char *const *tier = kernel_tiers(); *tier; tier++)
                if (!CHECK(matches(&examples[i], *tier, types[t].dtype, types[t].tolerance)))
                    fprintf(stderr, "    %s of %s [%s]\n", examples[i].node,
                            onx_dtype_name(types[t].dtype), *tier);
}

static double global(onx_dtype dtype, const char *dims, void *data, const char *node) {
    onx_operand x = kernel_operand(dtype, dims, data);
    kernel_result r = kernel_run("ref", 22, node, 1, (onx_operand *[]){&x}, 0);
    double y = -1;
    if (r.status == ONX_OK)
        (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, &y, 1, false);
    if (r.status == ONX_OK) kernel_free(&r);
    return y;
}

/* Powers that overflow or vanish though the norm does not; and what is no number. */
TEST(range) {
    const char *two = "y = GlobalLpPool(x)", *many = "y = GlobalLpPool<p=1000000>(x)";
    CHECK(fabs(global(ONX_DTYPE_F64, "1,1,2", (double[]){3e200, -4e200}, two) / 5e200 - 1) < 1e-14);
    CHECK(fabs(global(ONX_DTYPE_F64, "1,1,2", (double[]){3e-200, 4e-200}, two) / 5e-200 - 1) <
          1e-14);
    CHECK(fabs(global(ONX_DTYPE_F32, "1,1,3", (float[]){1, -7, 7}, many) - 7) < 1e-4);
    CHECK(global(ONX_DTYPE_F32, "1,1,2", (float[]){0, -0.0f}, two) == 0);
    CHECK(global(ONX_DTYPE_F32, "1,1,0", NULL, two) == 0);
    CHECK(global(ONX_DTYPE_F32, "1,1", (float[]){-3}, two) == 3);
    CHECK(isinf(global(ONX_DTYPE_F32, "1,1,3", (float[]){INFINITY, 1, -INFINITY}, two)));
    CHECK(isnan(global(ONX_DTYPE_F32, "1,1,3", (float[]){NAN, 1, 2}, two)));
    CHECK(isnan(global(ONX_DTYPE_F32, "1,1,3", (float[]){0, NAN, INFINITY}, two)));
    CHECK(isnan(global(ONX_DTYPE_F32, "1,1,2", (float[]){0, NAN}, two)));
}

/* Windows far larger than the input: what they cost is the input. The last one sees all of it. */
TEST(large_windows) {
    static const char window[] =
        "kernel_shape=[2147483647,2147483647], pads=[2147483646,2147483646,0,0]";
    static const struct {
        const char *op, *all;
    } cases[] = {{"LpPool", "GlobalLpPool"},
                 {"MaxPool", "GlobalMaxPool"},
                 {"AveragePool", "GlobalAveragePool"}};
    double data[16];
    float values[16];
    kernel_fill(values, 16, 3, -1, 1);
    for (size_t i = 0; i < 16; i++) data[i] = values[i];
    onx_operand x = kernel_operand(ONX_DTYPE_F64, "1,1,4,4", data), *in[] = {&x};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char node[160], all[80];
        (void)snprintf(node, sizeof node, "y = %s<%s>(x)", cases[i].op, window);
        (void)snprintf(all, sizeof all, "y = %s(x)", cases[i].all);
        kernel_result r = kernel_run("ref", 22, node, 1, in, 0);
        kernel_result whole = kernel_run("ref", 22, all, 1, in, 0);
        REQUIRE(r.status == ONX_OK && whole.status == ONX_OK && r.out[0].count == 16);
        CHECK(fabs(((double *)r.out[0].data)[15] - *(double *)whole.out[0].data) < 1e-15);
        kernel_free(&r);
        kernel_free(&whole);
    }
}

TEST(refusals) {
    static const struct {
        const char *node;
        int opset;
        const char *dims, *words;
    } cases[] = {
        {"y = LpPool<kernel_shape=[2], p=0>(x)", 22, "1,1,4", "p is 0"},
        {"y = LpPool<kernel_shape=[2], p=-9223372036854775808>(x)", 22, "1,1,4", "p is -9"},
        {"y = LpPool<kernel_shape=[2], p=-1.5>(x)", 1, "1,1,4", "p is -1.5"},
        {"y = LpPool(x)", 1, "1,1,4", "kernel_shape is missing"},
        {"y = LpPool<kernel_shape=[2,2]>(x)", 22, "1,1,4", "for 2 spatial dimensions"},
        {"y = LpPool<kernel_shape=[5]>(x)", 22, "1,1,3", "the window spans 5"},
        {"y = LpPool<kernel_shape=[2], dilations=[0]>(x)", 22, "1,1,4", "not positive"},
        {"y = LpPool<kernel_shape=[2147483647], pads=[2147483647, 2147483647],"
         " dilations=[2147483647]>(x)",
         22, "1,1,4", "the window spans"},
        {"y = LpPool<kernel_shape=[1]>(x)", 22, "4", "it needs batch, channels"},
        {"y = GlobalLpPool<p=0>(x)", 2, "1,1,4", "p is 0"},
        {"y = GlobalLpPool(x)", 22, "4", "it needs batch and channels"},
    };
    float data[4] = {0};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_operand x = kernel_operand(ONX_DTYPE_F32, cases[i].dims, data);
        kernel_result r =
            kernel_run("ref", cases[i].opset, cases[i].node, 1, (onx_operand *[]){&x}, 0);
        if (!CHECK(r.status == ONX_INVALID && strstr(r.diag.message, cases[i].words)))
            fprintf(stderr, "    %s: %s, %s\n", cases[i].node, onx_status_name(r.status),
                    r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

TEST(backend) {
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    size_t failed = 0;
    CHECK_EQ(kernel_backend("lppool_", "", &failed), 8);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(written_out) E(range) E(large_windows) E(refusals) E(backend))
