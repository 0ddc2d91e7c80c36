/* test_spread.c: ConvTranspose, Col2Im, DeformConv and MaxUnpool: against their definitions written
 * out, in one to three dimensions and in every type, and what they must refuse. */
#include "test.h"

#include <math.h>

#include "kernel.h"

enum { LARGE = 1 << 14 };

/* ── ConvTranspose: every element is spread over the output ── */

/* Volumes; images and lines have sizes of 1. Attributes are those of the last `axes` of them. */
typedef struct example {
    const char *attrs;
    int axes, batch, groups, ic, oc; /* channels per group */
    int in[3], out[3], kernel[3], stride[3], dilation[3], before[3];
} example;

static const example examples[] = {
    {"strides=[3,2], pads=[1,2,0,1], dilations=[2,1]",
     2,
     2,
     1,
     3,
     2,
     {1, 4, 5},
     {1, 13, 9},
     {1, 3, 4},
     {1, 3, 2},
     {1, 2, 1},
     {0, 1, 2}},
    {"group=3, strides=[2,2], output_padding=[1,0]",
     2,
     1,
     3,
     2,
     2,
     {1, 3, 3},
     {1, 8, 6},
     {1, 3, 2},
     {1, 2, 2},
     {1, 1, 1},
     {0, 0, 0}},
    {"auto_pad=\"SAME_UPPER\", strides=[2,3]",
     2,
     1,
     1,
     1,
     2,
     {1, 3, 4},
     {1, 6, 12},
     {1, 5, 4},
     {1, 2, 3},
     {1, 1, 1},
     {0, 1, 0}},
    {"auto_pad=\"SAME_LOWER\", strides=[2,3]",
     2,
     1,
     1,
     1,
     2,
     {1, 3, 4},
     {1, 6, 12},
     {1, 5, 4},
     {1, 2, 3},
     {1, 1, 1},
     {0, 2, 1}},
    {"auto_pad=\"SAME_UPPER\", strides=[3,3]",
     2,
     1,
     1,
     1,
     1,
     {1, 3, 3},
     {1, 7, 8},
     {1, 1, 2},
     {1, 3, 3},
     {1, 1, 1},
     {0, 0, 0}},
    {"output_shape=[5,12], strides=[2,3]",
     2,
     1,
     1,
     1,
     1,
     {1, 3, 3},
     {1, 5, 12},
     {1, 4, 4},
     {1, 2, 3},
     {1, 1, 1},
     {0, 2, 0}},
    {"output_shape=[5,9], strides=[2,3], auto_pad=\"SAME_UPPER\"",
     2,
     1,
     1,
     1,
     1,
     {1, 3, 3},
     {1, 5, 9},
     {1, 4, 4},
     {1, 2, 3},
     {1, 1, 1},
     {0, 1, 0}},
    {"group=2, strides=[4], dilations=[3]",
     1,
     2,
     2,
     1,
     3,
     {1, 1, 6},
     {1, 1, 27},
     {1, 1, 3},
     {1, 1, 4},
     {1, 1, 3},
     {0, 0, 0}},
    {"pads=[0,1,0,1,0,1]",
     3,
     1,
     1,
     2,
     2,
     {3, 2, 4},
     {3, 3, 4},
     {2, 3, 2},
     {1, 1, 1},
     {1, 1, 1},
     {0, 1, 0}},
    /* Several pieces of elements; several bunches of taps; lines that end before the image. */
    {"strides=[2], pads=[3,4]",
     1,
     1,
     1,
     2,
     5,
     {1, 1, 1100},
     {1, 1, 2196},
     {1, 1, 5},
     {1, 1, 2},
     {1, 1, 1},
     {0, 0, 3}},
    {"strides=[2,1,3], dilations=[1,3,1], pads=[2,1,30,0,1,20], group=2",
     3,
     2,
     2,
     3,
     2,
     {2, 3, 5},
     {4, 10, 2},
     {4, 4, 40},
     {2, 1, 3},
     {1, 3, 1},
     {2, 1, 30}},
};

static void scatter(const example *e, const double *x, const double *w, const double *b,
                    double *y) {
    int pixels = e->in[0] * e->in[1] * e->in[2], taps = e->kernel[0] * e->kernel[1] * e->kernel[2];
    int places = e->out[0] * e->out[1] * e->out[2], outs = e->groups * e->oc;
    for (int i = 0; i < e->batch * outs * places; i++) y[i] = b[i / places % outs];
    for (int i = 0; i < e->batch * e->groups * e->ic * pixels; i++)
        for (int m = 0; m < e->oc; m++)
            for (int k = 0; k < taps; k++) {
                int c = i / pixels % (e->groups * e->ic), image = i / pixels / (e->groups * e->ic);
                int p = i % pixels, tap = k, to = 0, step = 1;
                for (int d = 2; d >= 0; d--) {
                    int at = p % e->in[d] * e->stride[d] + tap % e->kernel[d] * e->dilation[d] -
                             e->before[d];
                    if (at < 0 || at >= e->out[d]) break;
                    to += at * step;
                    step *= e->out[d];
                    p /= e->in[d];
                    tap /= e->kernel[d];
                    if (d == 0)
                        y[(image * outs + c / e->ic * e->oc + m) * places + to] +=
                            x[i] * w[(c * e->oc + m) * taps + k];
                }
            }
}

/* n random numbers of a type, at an address that is not aligned, and as doubles. */
static onx_operand random_of(onx_dtype dtype, const char *dims, uint64_t seed, char *memory,
                             double *wide) {
    static float values[LARGE];
    onx_operand x = kernel_operand(dtype, dims, memory + 1);
    kernel_fill(values, (size_t)x.count, seed, -1, 1);
    (void)onx_dtype_convert(ONX_DTYPE_F32, values, dtype, x.data, (uint64_t)x.count, false);
    (void)onx_dtype_convert(dtype, x.data, ONX_DTYPE_F64, wide, (uint64_t)x.count, false);
    return x;
}

static char *dims_of(char *text, size_t size, int a, int b, const int *sizes, int axes) {
    int n = snprintf(text, size, "%d,%d", a, b);
    for (int i = 3 - axes; i < 3; i++) n += snprintf(text + n, size - (size_t)n, ",%d", sizes[i]);
    return text;
}

static bool near(const kernel_result *r, onx_dtype dtype, const double *want, int n,
                 double tolerance) {
    static double got[LARGE];
    if (r->status != ONX_OK) fprintf(stderr, "    %s\n", r->diag.message);
    if (r->status != ONX_OK || r->out[0].count != n) return false;
    (void)onx_dtype_convert(dtype, r->out[0].data, ONX_DTYPE_F64, got, (uint64_t)n, false);
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            return fprintf(stderr, "    element %d is %g, not %g\n", i, got[i], want[i]), false;
    return true;
}

static const struct {
    onx_dtype dtype;
    double tolerance;
} types[] = {
    {ONX_DTYPE_F32, 1e-6}, {ONX_DTYPE_F64, 1e-13}, {ONX_DTYPE_F16, 2e-3}, {ONX_DTYPE_BF16, 1e-2}};

static bool transposes(const char *tier, const example *e, onx_dtype dtype, double tolerance,
                       uint32_t constant) {
    static char memory[3][LARGE * 8 + 1];
    static double x[LARGE], w[LARGE], b[LARGE], want[LARGE];
    char node[300], text[64];
    onx_operand in[] = {
        random_of(dtype, dims_of(text, sizeof text, e->batch, e->groups * e->ic, e->in, e->axes), 1,
                  memory[0], x),
        random_of(dtype, dims_of(text, sizeof text, e->groups * e->ic, e->oc, e->kernel, e->axes),
                  2, memory[1], w),
        random_of(dtype, (snprintf(text, sizeof text, "%d", e->groups * e->oc), text), 3, memory[2],
                  b)};
    (void)snprintf(node, sizeof node, "y = ConvTranspose<%s>(x, w, b)", e->attrs);
    scatter(e, x, w, b, want);
    kernel_result r = kernel_run(tier, dtype == ONX_DTYPE_BF16 ? 22 : 11, node, 3,
                                 (onx_operand *[]){&in[0], &in[1], &in[2]}, constant);
    int n = e->batch * e->groups * e->oc * e->out[0] * e->out[1] * e->out[2];
    bool same = near(&r, dtype, want, n, tolerance) && r.out[0].dims[e->axes + 1] == e->out[2];
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

TEST(conv_transpose) {
    for (size_t i = 0; i < ONX_COUNT(examples); i++)
        for (size_t t = 0; t < ONX_COUNT(types); t++)
            if (!CHECK(transposes("ref", &examples[i], types[t].dtype, types[t].tolerance, 0)))
                fprintf(stderr, "    %s of %s\n", examples[i].attrs,
                        onx_dtype_name(types[t].dtype));
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < 2 * ONX_COUNT(examples); i++)
            if (!CHECK(transposes(*tier, &examples[i / 2], ONX_DTYPE_F32, 2e-6, i % 2 ? 2 : 0)))
                fprintf(stderr, "    %s on %s\n", examples[i / 2].attrs, *tier);
}

/* ── Col2Im ── */

/* Blocks of 2x3 over an image 4x5, padded by 1 before: each element goes to one place. */
TEST(col2im) {
    static const onx_dtype all[] = {ONX_DTYPE_F32, ONX_DTYPE_F64, ONX_DTYPE_F16, ONX_DTYPE_BF16,
                                    ONX_DTYPE_I8,  ONX_DTYPE_U16, ONX_DTYPE_I32, ONX_DTYPE_U64};
    static float values[2 * 12 * 6];
    int64_t image[] = {4, 5}, block[] = {2, 3};
    onx_operand i = kernel_operand(ONX_DTYPE_I64, "2", image),
                k = kernel_operand(ONX_DTYPE_I64, "2", block);
    double want[2 * 2 * 20] = {0};
    char memory[sizeof values * 2 + 1];
    for (int n = 0; n < 144; n++) {
        values[n] = (float)(n % 5);
        int by = n % 6 / 3, bx = n % 3, row = n / 6, ky = row % 6 / 3, kx = row % 3;
        int y = by * 2 + ky - 1, x = bx * 2 + kx - 1;
        if (y >= 0 && y < 4 && x >= 0 && x < 5) want[row / 6 * 20 + y * 5 + x] += n % 5;
    }
    for (size_t t = 0; t < ONX_COUNT(all); t++) {
        onx_operand x = kernel_operand(all[t], "2,12,6", memory + 1);
        (void)onx_dtype_convert(ONX_DTYPE_F32, values, all[t], x.data, 144, false);
        kernel_result r =
            kernel_run("ref", 18, "y = Col2Im<strides=[2,2], pads=[1,1,0,1]>(x, i, k)", 3,
                       (onx_operand *[]){&x, &i, &k}, 0);
        if (!CHECK(near(&r, all[t], want, 80, 0)))
            fprintf(stderr, "    %s\n", onx_dtype_name(all[t]));
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

/* Two blocks of two on one place each, and one on both. */
static bool folds(onx_dtype dtype, void *data, size_t bytes, const void *want) {
    int64_t image[] = {3}, block[] = {2};
    onx_operand x = kernel_operand(dtype, "1,2,2", data);
    onx_operand i = kernel_operand(ONX_DTYPE_I64, "1", image),
                k = kernel_operand(ONX_DTYPE_I64, "1", block);
    kernel_result r =
        kernel_run("ref", 18, "y = Col2Im(x, i, k)", 3, (onx_operand *[]){&x, &i, &k}, 0);
    bool same =
        r.status == ONX_OK && r.out[0].bytes == bytes && memcmp(r.out[0].data, want, bytes) == 0;
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

TEST(col2im_sums) {
    CHECK(folds(ONX_DTYPE_I8, (int8_t[]){1, 100, 100, 4}, 3, (int8_t[]){1, -56, 4}));
    CHECK(folds(ONX_DTYPE_BOOL, (uint8_t[]){0, 1, 1, 0}, 3, (uint8_t[]){0, 1, 0}));
    CHECK(folds(ONX_DTYPE_U64, (uint64_t[]){1, UINT64_MAX, 2, 4}, 24, (uint64_t[]){1, 1, 4}));
    CHECK(
        folds(ONX_DTYPE_C64, (float[]){1, 2, 3, 4, 5, 6, 7, 8}, 24, (float[]){1, 2, 8, 10, 7, 8}));
}

/* ── DeformConv ── */

/* Without offsets it is a convolution; offsets by whole elements move the image. */
static bool deforms(const char *dims, const char *w_dims, const char *o_dims, const char *attrs,
                    float shift, const char *conv) {
    static float x[LARGE], w[LARGE], offset[LARGE];
    char node[200];
    onx_operand in = kernel_operand(ONX_DTYPE_F32, dims, x),
                k = kernel_operand(ONX_DTYPE_F32, w_dims, w);
    onx_operand o = kernel_operand(ONX_DTYPE_F32, o_dims, offset);
    kernel_fill(x, (size_t)in.count, 1, -1, 1);
    kernel_fill(w, (size_t)k.count, 2, -1, 1);
    for (int64_t i = 0; i < o.count; i++) offset[i] = shift;
    (void)snprintf(node, sizeof node, "y = DeformConv<%s>(x, w, o)", attrs);
    kernel_result a = kernel_run("ref", 22, node, 3, (onx_operand *[]){&in, &k, &o}, 0);
    (void)snprintf(node, sizeof node, "y = Conv<%s>(x, w)", conv);
    kernel_result b = kernel_run("ref", 22, node, 2, (onx_operand *[]){&in, &k}, 0);
    bool same =
        a.status == ONX_OK && b.status == ONX_OK && kernel_distance(&a.out[0], &b.out[0]) < 1e-6;
    if (a.status != ONX_OK) fprintf(stderr, "    %s\n", a.diag.message);
    if (a.status == ONX_OK) kernel_free(&a);
    if (b.status == ONX_OK) kernel_free(&b);
    return same;
}

TEST(deform_conv) {
    CHECK(deforms("2,4,6,7", "6,2,3,2", "2,24,3,6",
                  "group=2, offset_group=2, strides=[2,1], pads=[0,0,1,0]", 0,
                  "group=2, strides=[2,1], pads=[0,0,1,0]"));
    CHECK(deforms("1,2,9", "3,2,2", "1,2,8", "pads=[0,0]", 0, "pads=[0,0]"));
    CHECK(deforms("1,2,4,5,3", "1,2,2,2,2", "1,24,3,4,2", "group=1", 0, "group=1"));
    CHECK(deforms("1,1,6,6", "1,1,3,3", "1,18,6,6", "pads=[2,2,0,0]", 1, "pads=[1,1,1,1]"));
    CHECK(deforms("1,2,7", "1,2,3", "1,3,7", "pads=[0,2]", -2, "pads=[2,0]"));
}

/* Between elements; and where there are none. */
/* Offsets anywhere, on every tier as on the plain one. */
TEST(deform_tiers) {
    static float x[2 * 8 * 9 * 11], w[6 * 4 * 6], offset[2 * 48 * 80], mask[2 * 24 * 80], b[6];
    onx_operand in[] = {
        kernel_operand(ONX_DTYPE_F32, "2,8,9,11", x), kernel_operand(ONX_DTYPE_F32, "6,4,3,2", w),
        kernel_operand(ONX_DTYPE_F32, "2,48,8,10", offset), kernel_operand(ONX_DTYPE_F32, "6", b),
        kernel_operand(ONX_DTYPE_F32, "2,24,8,10", mask)};
    onx_operand *const all[] = {&in[0], &in[1], &in[2], &in[3], &in[4]};
    for (size_t i = 0; i < ONX_COUNT(in); i++)
        kernel_fill(in[i].data, (size_t)in[i].count, i, i == 2 ? -4 : -1, i == 2 ? 4 : 1);
    offset[7] = NAN, offset[100] = INFINITY, offset[1000] = -1e30f, x[50] = INFINITY;
    const char *node = "y = DeformConv<group=2, offset_group=4, dilations=[1,2], pads=[0,1,1,0]>"
                       "(x, w, o, b, m)";
    for (size_t n = 3; n <= 5; n++) {
        kernel_result want = kernel_run("ref", 22, node, n, all, 0);
        if (want.status != ONX_OK) fprintf(stderr, "    %s\n", want.diag.message);
        REQUIRE(want.status == ONX_OK);
        for (const char *const *tier = kernel_tiers(); *tier; tier++)
            for (uint32_t constant = 0; constant < 4; constant += 2) {
                kernel_result r = kernel_run(*tier, 22, node, n, all, constant);
                REQUIRE(r.status == ONX_OK && r.out[0].count == want.out[0].count);
                const float *y = r.out[0].data, *z = want.out[0].data;
                bool same = true;
                for (int64_t i = 0; i < want.out[0].count; i++)
                    same = same && (isfinite(z[i]) ? fabsf(y[i] - z[i]) < 1e-5f : !isfinite(y[i]));
                if (!CHECK(same)) fprintf(stderr, "    %s, %zu inputs\n", *tier, n);
                kernel_free(&r);
            }
        kernel_free(&want);
    }
}

TEST(deform_places) {
    float x[] = {1, 3, 7}, one[] = {1}, mask[] = {1, 2, 1, 1, 1, 1};
    static const struct {
        float offset, want;
    } cases[] = {{0.5f, 2}, {-0.25f, 0.75f}, {2.5f, 3.5f},  {-1, 0},
                 {3, 0},    {NAN, 0},        {INFINITY, 0}, {-1e38f, 0}};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        float offset[] = {cases[i].offset, 0, 0};
        onx_operand in[] = {
            kernel_operand(ONX_DTYPE_F32, "1,1,3", x), kernel_operand(ONX_DTYPE_F32, "1,1,1", one),
            kernel_operand(ONX_DTYPE_F32, "1,1,3", offset), kernel_operand(ONX_DTYPE_F32, "1", one),
            kernel_operand(ONX_DTYPE_F32, "1,1,3", mask)};
        kernel_result r = kernel_run("ref", 19, "y = DeformConv(x, w, o, b, m)", 5,
                                     (onx_operand *[]){&in[0], &in[1], &in[2], &in[3], &in[4]}, 0);
        REQUIRE(r.status == ONX_OK);
        const float *y = r.out[0].data;
        CHECK(y[0] == cases[i].want + 1 && y[1] == 7 && y[2] == 8);
        kernel_free(&r);
    }
}

/* ── MaxUnpool ── */

TEST(max_unpool) {
    float x[] = {5, 7, 9}, y[6];
    int64_t at[] = {1, 3, 4}, sizes[] = {1, 1, 8}, far[] = {1, 6, 3}, before[] = {-1, 0, 0};
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "1,1,3", x),
                i = kernel_operand(ONX_DTYPE_I64, "1,1,3", at);
    onx_operand s = kernel_operand(ONX_DTYPE_I64, "3", sizes);
    const char *node = "y = MaxUnpool<kernel_shape=[2], strides=[2]>(x, i)";
    kernel_result r = kernel_run("ref", 11, node, 2, (onx_operand *[]){&in, &i}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 6);
    memcpy(y, r.out[0].data, sizeof y);
    CHECK(memcmp(y, (float[]){0, 5, 0, 7, 9, 0}, sizeof y) == 0);
    kernel_free(&r);
    r = kernel_run("ref", 11, "y = MaxUnpool<kernel_shape=[2], strides=[2]>(x, i, s)", 3,
                   (onx_operand *[]){&in, &i, &s}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 8);
    CHECK(memcmp(r.out[0].data, (float[]){0, 5, 0, 7, 9, 0, 0, 0}, 32) == 0);
    kernel_free(&r);
    i.data = far;
    r = kernel_run("ref", 11, node, 2, (onx_operand *[]){&in, &i}, 0);
    CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "element 6"));
    i.data = before;
    r = kernel_run("ref", 11, node, 2, (onx_operand *[]){&in, &i}, 0);
    CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "element -1"));
}

/* ── Refusals ── */

TEST(refusals) {
    static const struct {
        const char *node, *a, *b, *c;
    } cases[] = {
        {"y = ConvTranspose<group=0>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<group=3>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<group=-9223372036854775808>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose(x, w)", "1,2,4", "3,1,2", NULL},
        {"y = ConvTranspose(x, w)", "1,2,4", "2,1,2,2", NULL},
        {"y = ConvTranspose(x, w)", "1,2", "2,1", NULL},
        {"y = ConvTranspose(x, w)", "1,2,4", "2,1,0", NULL},
        {"y = ConvTranspose(x, w, b)", "1,2,4", "2,1,2", "2"},
        {"y = ConvTranspose(x, w, b)", "1,2,4", "2,1,2", "1,1"},
        {"y = ConvTranspose<strides=[0]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<dilations=[-1]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<pads=[1]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<pads=[3,3]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<output_padding=[-1]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<output_padding=[1,1]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<output_shape=[9223372036854775807]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = ConvTranspose<kernel_shape=[3]>(x, w)", "1,2,4", "2,1,2", NULL},
        {"y = DeformConv(x, w, o)", "1,2,4", "1,2,2", "1,2,4"},
        {"y = DeformConv(x, w, o)", "1,2,4", "1,2,2", "1,1,3"},
        {"y = DeformConv(x, w, o)", "1,2,4", "1,2,2", "2,2,3"},
        {"y = DeformConv(x, w, o)", "1,2,4", "1,2,2", "1,2,3,1"},
        {"y = DeformConv<offset_group=0>(x, w, o)", "1,2,4", "1,2,2", "1,2,3"},
        {"y = DeformConv<offset_group=3>(x, w, o)", "1,2,4", "1,2,2", "1,6,3"},
        {"y = DeformConv<offset_group=9223372036854775807>(x, w, o)", "1,2,4", "1,2,2", "1,2,3"},
        {"y = DeformConv<group=2>(x, w, o)", "1,2,4", "1,2,2", "1,2,3"},
        {"y = MaxUnpool<kernel_shape=[2]>(x, w)", "1,1,2", "1,1,3", NULL},
    };
    static float data[64];
    static int64_t indices[64];
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        bool unpools = strstr(cases[i].node, "MaxUnpool");
        onx_operand a = kernel_operand(ONX_DTYPE_F32, cases[i].a, data);
        onx_operand b = kernel_operand(unpools ? ONX_DTYPE_I64 : ONX_DTYPE_F32, cases[i].b,
                                       unpools ? (void *)indices : data);
        onx_operand c = kernel_operand(ONX_DTYPE_F32, cases[i].c ? cases[i].c : "", data);
        kernel_result r = kernel_run("ref", 22, cases[i].node, cases[i].c ? 3 : 2,
                                     (onx_operand *[]){&a, &b, &c}, 0);
        if (!CHECK(r.status == ONX_INVALID || r.status == ONX_LIMIT))
            fprintf(stderr, "    %s: %s\n", cases[i].node, onx_status_name(r.status));
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

TEST(col2im_refusals) {
    static const struct {
        const char *node, *dims, *n;
        int64_t image[3], block[3];
    } cases[] = {
        {"y = Col2Im(x, i, k)", "1,4,5", "2", {3, 3}, {2, 2}},
        {"y = Col2Im(x, i, k)", "1,5,4", "2", {3, 3}, {2, 2}},
        {"y = Col2Im(x, i, k)", "4,4", "2", {3, 3}, {2, 2}},
        {"y = Col2Im(x, i, k)", "1,4,4", "2", {3, 3}, {0, 2}},
        {"y = Col2Im(x, i, k)", "1,4,4", "2", {3, 3}, {-2, -2}},
        {"y = Col2Im(x, i, k)", "1,4,4", "2", {-3, 3}, {2, 2}},
        {"y = Col2Im(x, i, k)", "1,4,4", "2", {3, 1}, {2, 2}},
        {"y = Col2Im(x, i, k)", "1,4,4", "2", {INT64_MAX, INT64_MAX}, {2, 2}},
        {"y = Col2Im(x, i, k)", "1,4,4", "2", {3, 3}, {INT64_MAX, 2}},
        {"y = Col2Im(x, i, k)", "1,4,4", "0", {0}, {0}},
        {"y = Col2Im<strides=[0,1]>(x, i, k)", "1,4,4", "2", {3, 3}, {2, 2}},
        {"y = Col2Im<pads=[0,1]>(x, i, k)", "1,4,4", "2", {3, 3}, {2, 2}},
        {"y = Col2Im<dilations=[1,1,1]>(x, i, k)", "1,4,4", "2", {3, 3}, {2, 2}},
    };
    static float data[64];
    for (size_t c = 0; c < ONX_COUNT(cases); c++) {
        onx_operand x = kernel_operand(ONX_DTYPE_F32, cases[c].dims, data);
        onx_operand i = kernel_operand(ONX_DTYPE_I64, cases[c].n, (void *)cases[c].image);
        onx_operand k = kernel_operand(ONX_DTYPE_I64, cases[c].n, (void *)cases[c].block);
        kernel_result r = kernel_run("ref", 18, cases[c].node, 3, (onx_operand *[]){&x, &i, &k}, 0);
        if (!CHECK(r.status == ONX_INVALID || r.status == ONX_LIMIT))
            fprintf(stderr, "    case %zu: %s\n", c, onx_status_name(r.status));
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

/* Weights and blocks without elements may have any size: what they cost is the output. */
TEST(empty) {
    int64_t image[] = {4}, block[] = {2147483647};
    float bias[] = {3};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "1,0,1,1", NULL);
    onx_operand w = kernel_operand(ONX_DTYPE_F32, "0,1,2147483647,2", NULL);
    onx_operand b = kernel_operand(ONX_DTYPE_F32, "1", bias);
    kernel_result r = kernel_run("ref", 22, "y = ConvTranspose<output_shape=[2,2]>(x, w, b)", 3,
                                 (onx_operand *[]){&x, &w, &b}, 0);
    CHECK(r.status == ONX_OK && r.out[0].count == 4 && ((float *)r.out[0].data)[3] == 3);
    if (r.status == ONX_OK) kernel_free(&r);
    onx_operand blocks = kernel_operand(ONX_DTYPE_F32, "1,2147483647,0", NULL);
    onx_operand i = kernel_operand(ONX_DTYPE_I64, "1", image),
                k = kernel_operand(ONX_DTYPE_I64, "1", block);
    r = kernel_run("ref", 18, "y = Col2Im<pads=[2147483642,0]>(x, i, k)", 3,
                   (onx_operand *[]){&blocks, &i, &k}, 0);
    CHECK(r.status == ONX_OK && r.out[0].count == 4 && ((float *)r.out[0].data)[3] == 0);
    if (r.status == ONX_OK) kernel_free(&r);
}

TEST(backend) {
    static const char *const prefixes[] = {"convtranspose", "col2im", "deform_conv",
                                           "basic_deform_conv", "maxunpool"};
    size_t failed = 0, ran = 0;
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK(ran >= 22);
}

TEST_MAIN(E(conv_transpose) E(col2im) E(col2im_sums) E(deform_conv) E(deform_tiers) E(deform_places)
              E(max_unpool) E(refusals) E(col2im_refusals) E(empty) E(backend))
