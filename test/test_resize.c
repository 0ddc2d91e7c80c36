/* test_resize.c: Resize and Upsample: against their definition written out by coordinates, in every
 * mode and type, and what they must refuse. */
#include "test.h"

#include <float.h>
#include <math.h>

#include "kernel.h"

enum { LARGE = 1 << 14 };

/* ── The definition ── */

/* One axis, as the operator's text has it. */
typedef struct axis {
    int in, out;
    double scale, start, end;
} axis;

typedef struct example {
    const char *mode, *coords, *nearest;
    bool antialias, exclude;
    double a;
} example;

static double original(const example *e, const axis *x, int o) {
    const char *c = e->coords;
    double length = x->scale * x->in, last = x->in - 1;
    if (!strcmp(c, "half_pixel")) return (o + 0.5) / x->scale - 0.5;
    if (!strcmp(c, "half_pixel_symmetric"))
        return x->in / 2.0 * (1 - x->out / length) + (o + 0.5) / x->scale - 0.5;
    if (!strcmp(c, "pytorch_half_pixel")) return length > 1 ? (o + 0.5) / x->scale - 0.5 : 0;
    if (!strcmp(c, "tf_half_pixel_for_nn")) return (o + 0.5) / x->scale;
    if (!strcmp(c, "align_corners")) return length > 1 ? o * last / (length - 1) : 0;
    if (!strcmp(c, "asymmetric")) return o / x->scale;
    return length > 1 ? x->start * last + o * (x->end - x->start) * last / (length - 1)
                      : 0.5 * (x->start + x->end) * last;
}

static double filter(const example *e, double t) {
    t = fabs(t);
    if (!strcmp(e->mode, "linear")) return t < 1 ? 1 - t : 0;
    if (t < 1) return (e->a + 2) * t * t * t - (e->a + 3) * t * t + 1;
    return t < 2 ? e->a * (t * t * t - 5 * t * t + 8 * t - 4) : 0;
}

static int nearest_of(const example *e, double x) {
    if (!strcmp(e->nearest, "floor")) return (int)floor((double)(float)x);
    if (!strcmp(e->nearest, "ceil")) return (int)ceil((double)(float)x);
    if (!strcmp(e->nearest, "round_prefer_ceil")) return (int)floor((double)(float)x + 0.5);
    return (int)ceil((double)(float)x - 0.5);
}

static int inside(int at, int n) {
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

/* The weight of element i of the input in element o of the output; *out: o lies outside. */
static double weight_of(const example *e, const axis *x, int o, int i, bool *out) {
    double at = original(e, x, o), sum = 0, mine = 0;
    bool crops = !strcmp(e->coords, "tf_crop_and_resize");
    double squeeze = e->antialias && x->scale < 1 ? x->scale : 1;
    *out = crops && (at < 0 || at > x->in - 1);
    if (*out) return 0;
    if (!crops && x->scale == 1) return o == i; /* left alone, wherever the pixels are */
    if (!strcmp(e->mode, "nearest")) return inside(nearest_of(e, at), x->in) == i;
    for (int k = (int)floor(at - 2 / squeeze) - 1; k <= at + 2 / squeeze + 1; k++) {
        double w = filter(e, (k - at) * squeeze);
        if (e->exclude && (k < 0 || k >= x->in)) continue;
        sum += w;
        if (inside(k, x->in) == i) mine += w;
    }
    return mine / sum;
}

/* A plane [y.in][x.in] at one place of the output. */
static double value_at(const example *e, const axis *y, const axis *x, const double *plane, int oy,
                       int ox, double outside) {
    double sum = 0;
    bool out_y, out_x;
    for (int i = 0; i < y->in; i++)
        for (int k = 0; k < x->in; k++) {
            double w = weight_of(e, y, oy, i, &out_y);
            w *= weight_of(e, x, ox, k, &out_x);
            if (out_y || out_x) return outside;
            if (w != 0) sum += w * plane[i * x->in + k];
        }
    return sum;
}

/* ── All modes ── */

static const char *const all_coords[] = {
    "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn",
    "align_corners", "asymmetric",           "tf_crop_and_resize"};
static const char *const all_nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};

typedef struct image {
    const char *dims; /* N, C, y, x */
    int planes;
    axis y, x;
} image;

/* Scales and rois, all of them exact in float, and the sizes that follow. */
static const image images[] = {
    {"1,2,5,7", 2, {5, 12, 2.5, 0.125, 0.75}, {7, 4, 0.625, -0.25, 1.125}},
    {"2,1,6,4", 2, {6, 1, 0.25, 0.5, 0.875}, {4, 4, 1, 0.75, 0.25}},
    {"1,1,1,9", 1, {1, 3, 3, 0, 1}, {9, 20, 2.25, 0.25, 0.5}},
    {"1,3,33,40", 3, {33, 4, 0.125, 0.0625, 0.9375}, {40, 60, 1.5, 0, 1}},
};

static kernel_result run_resize(const example *e, const image *m, onx_operand *x) {
    char node[512];
    float roi[] = {0, 0, (float)m->y.start, (float)m->x.start,
                   1, 1, (float)m->y.end,   (float)m->x.end};
    float scales[] = {1, 1, (float)m->y.scale, (float)m->x.scale};
    onx_operand r = kernel_operand(ONX_DTYPE_F32, "8", roi);
    onx_operand s = kernel_operand(ONX_DTYPE_F32, "4", scales);
    (void)snprintf(node, sizeof node,
                   "y = Resize<mode=\"%s\", coordinate_transformation_mode=\"%s\", "
                   "nearest_mode=\"%s\", antialias=%d, exclude_outside=%d, cubic_coeff_a=%g, "
                   "extrapolation_value=-7.0>(x, r, s)",
                   e->mode, e->coords, e->nearest, e->antialias, e->exclude, e->a);
    return kernel_run("ref", 19, node, 3, (onx_operand *[]){x, &r, &s}, 0);
}

static bool matches(const example *e, const image *m, onx_dtype dtype, double tolerance) {
    static float values[LARGE];
    static double in[LARGE], got[LARGE];
    static char memory[LARGE * 8 + 1];
    onx_operand x = kernel_operand(dtype, m->dims, memory + 1); /* not aligned */
    kernel_fill(values, (size_t)x.count, 5, 0, 100);
    (void)onx_dtype_convert(ONX_DTYPE_F32, values, dtype, x.data, (uint64_t)x.count, false);
    (void)onx_dtype_convert(dtype, x.data, ONX_DTYPE_F64, in, (uint64_t)x.count, false);
    kernel_result r = run_resize(e, m, &x);
    int pixels = m->y.out * m->x.out;
    bool same = r.status == ONX_OK && r.out[0].count == m->planes * pixels;
    if (r.status != ONX_OK) fprintf(stderr, "    %s\n", r.diag.message);
    if (same)
        (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, got, (uint64_t)r.out[0].count,
                                false);
    for (int i = 0; same && i < m->planes * pixels; i++) {
        const double *plane = in + i / pixels * m->y.in * m->x.in;
        double want = value_at(e, &m->y, &m->x, plane, i % pixels / m->x.out, i % m->x.out, -7);
        if (dtype == ONX_DTYPE_U8) want = want < 0 ? 0 : want > 255 ? 255 : want;
        same = fabs(got[i] - want) <= tolerance * (fabs(want) + 1);
        if (!same) fprintf(stderr, "    element %d is %.9g, not %.9g\n", i, got[i], want);
    }
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

static void try_example(const example *e, onx_dtype dtype, double tolerance) {
    for (size_t i = 0; i < ONX_COUNT(images); i++)
        if (!CHECK(matches(e, &images[i], dtype, tolerance)))
            fprintf(stderr, "    %s, %s, %s, antialias %d, exclude %d, %s of %s\n", e->mode,
                    e->coords, e->nearest, e->antialias, e->exclude, images[i].dims,
                    onx_dtype_name(dtype));
}

TEST(written_out) {
    for (size_t c = 0; c < ONX_COUNT(all_coords); c++) {
        for (size_t n = 0; n < ONX_COUNT(all_nearest); n++)
            try_example(&(example){"nearest", all_coords[c], all_nearest[n], false, false, -0.75},
                        ONX_DTYPE_F32, 0);
        for (int k = 0; k < 8; k++)
            try_example(&(example){k & 4 ? "linear" : "cubic", all_coords[c], "floor", k & 1, k & 2,
                                   k & 2 ? -0.5 : -0.75},
                        ONX_DTYPE_F32, 1e-6);
    }
}

/* Which axes are resized, on all tiers as on the plain one: lines, images, volumes, channels last,
 * and axes with others between them. */
TEST(axes) {
    static const struct {
        const char *dims;
        size_t rank;
        float scales[5];
    } cases[] = {
        {"2,3,37", 3, {1, 1, 2.25f}},
        {"19", 1, {1.75f}},
        {"2,3,4,5,18", 5, {1, 1, 2, 1.5f, 0.75f}},
        {"1,2,3,4,21", 5, {1, 1, 1, 2.5f, 1}},
        {"2,5,6,19", 4, {1, 2, 1.5f, 1}},
        {"2,7,33", 3, {1, 0.5f, 1}},
        {"3,4,5,6", 4, {2, 1, 1, 2}},
        {"2,3,4,5", 4, {2, 1.5f, 1, 1}},
        {"2,2,2,2,9", 5, {1.5f, 2, 1, 2, 2}},
    };
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static float values[LARGE];
    kernel_fill(values, LARGE, 3, -1, 1);
    for (size_t i = 0; i < 3 * ONX_COUNT(cases); i++) {
        char node[64], n[8];
        float scales[5];
        memcpy(scales, cases[i / 3].scales, sizeof scales);
        (void)snprintf(n, sizeof n, "%zu", cases[i / 3].rank);
        (void)snprintf(node, sizeof node, "y = Resize<mode=\"%s\">(x, , s)", modes[i % 3]);
        onx_operand x = kernel_operand(ONX_DTYPE_F32, cases[i / 3].dims, values);
        onx_operand s = kernel_operand(ONX_DTYPE_F32, n, scales);
        onx_operand *in[] = {&x, NULL, &s};
        kernel_result want = kernel_run("ref", 19, node, 3, in, 0);
        REQUIRE(want.status == ONX_OK);
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            kernel_result r = kernel_run(*tier, 19, node, 3, in, 0);
            if (!CHECK(r.status == ONX_OK && kernel_distance(&r.out[0], &want.out[0]) < 2e-6))
                fprintf(stderr, "    %s: %s of %s\n", *tier, modes[i % 3], cases[i / 3].dims);
            if (r.status == ONX_OK) kernel_free(&r);
        }
        kernel_free(&want);
    }
}

TEST(types) {
    static const struct {
        onx_dtype dtype;
        double tolerance;
    } types[] = {{ONX_DTYPE_F64, 1e-13}, {ONX_DTYPE_F16, 1e-3}, {ONX_DTYPE_BF16, 8e-3},
                 {ONX_DTYPE_U8, 0.5},    {ONX_DTYPE_I8, 0.5},   {ONX_DTYPE_I32, 0.5},
                 {ONX_DTYPE_I64, 0.5},   {ONX_DTYPE_U64, 0.5},  {ONX_DTYPE_U16, 0.5}};
    for (size_t i = 0; i < ONX_COUNT(types); i++) {
        example e = {"linear", "half_pixel", "floor", false, false, -0.75};
        try_example(&e, types[i].dtype, types[i].tolerance);
        e.mode = "nearest";
        try_example(&e, types[i].dtype, 0);
    }
}

static bool gives(int opset, const char *node, size_t n, onx_operand *const *in, size_t bytes,
                  const void *want) {
    kernel_result r = kernel_run("ref", opset, node, n, in, 0);
    bool same =
        r.status == ONX_OK && r.out[0].bytes == bytes && memcmp(r.out[0].data, want, bytes) == 0;
    if (r.status != ONX_OK) fprintf(stderr, "    %s: %s\n", node, r.diag.message);
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

/* Complex numbers, both parts; integers, halves to even; one scalar. */
TEST(odd_types) {
    float pair[] = {1, -2, 3, 4}, scale[] = {2};
    int16_t ints[] = {1, 2};
    onx_operand c = kernel_operand(ONX_DTYPE_C64, "2", pair),
                s = kernel_operand(ONX_DTYPE_F32, "1", scale);
    onx_operand i = kernel_operand(ONX_DTYPE_I16, "2", ints),
                one = kernel_operand(ONX_DTYPE_F32, "", pair);
    onx_operand none = kernel_operand(ONX_DTYPE_F32, "0", NULL);
    const char *linear =
        "y = Resize<mode=\"linear\", coordinate_transformation_mode=\"asymmetric\">(x, , s)";
    CHECK(gives(19, linear, 3, (onx_operand *[]){&c, NULL, &s}, 32,
                (float[]){1, -2, 2, 1, 3, 4, 3, 4}));
    CHECK(gives(19, linear, 3, (onx_operand *[]){&i, NULL, &s}, 8, (int16_t[]){1, 2, 2, 2}));
    CHECK(gives(11, "y = Resize(x, r, s)", 3, (onx_operand *[]){&one, &none, &none}, 4, pair));
}

/* What was before there were coordinates to choose from. */
TEST(old_versions) {
    float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, scales[] = {1, 1, 0.6f, 0.6f}, twice[] = {1, 1, 1, 2};
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "1,1,2,4", x), *args[2] = {&in};
    onx_operand down = kernel_operand(ONX_DTYPE_F32, "4", scales);
    onx_operand up = kernel_operand(ONX_DTYPE_F32, "4", twice);
    const float nearest[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8};
    const float linear[] = {1, 1.5, 2, 2.5, 3, 3.5, 4, 4, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8};
    args[1] = &down;
    CHECK(gives(10, "y = Resize(x, s)", 2, args, 8, (float[]){1, 3}));
    args[1] = &up;
    CHECK(gives(10, "y = Resize(x, s)", 2, args, 64, nearest));
    CHECK(gives(10, "y = Resize<mode=\"linear\">(x, s)", 2, args, 64, linear));
    CHECK(gives(9, "y = Upsample(x, s)", 2, args, 64, nearest));
    CHECK(gives(9, "y = Upsample<mode=\"linear\">(x, s)", 2, args, 64, linear));
    CHECK(gives(10, "y = Upsample<mode=\"linear\">(x, s)", 2, args, 64, linear));
    CHECK(gives(7, "y = Upsample<scales=[1.0,1.0,1.0,2.0]>(x)", 1, args, 64, nearest));
    CHECK(gives(7, "y = Upsample<scales=[1.0,1.0,1.0,2.0], mode=\"linear\">(x)", 1, args, 64,
                linear));
    CHECK(gives(1, "y = Upsample<height_scale=1.0, width_scale=2.0>(x)", 1, args, 64, nearest));
    CHECK(gives(1, "y = Upsample<height_scale=1.0, width_scale=2.0, mode=\"bilinear\">(x)", 1, args,
                64, linear));
}

/* A third is not exact in float, but meant. */
TEST(thirds) {
    float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, third[] = {1.0f / 3};
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "9", x);
    onx_operand s = kernel_operand(ONX_DTYPE_F32, "1", third);
    CHECK(gives(19,
                "y = Resize<coordinate_transformation_mode=\"asymmetric\", "
                "nearest_mode=\"floor\">(x, , s)",
                3, (onx_operand *[]){&in, NULL, &s}, 12, (float[]){0, 3, 6}));
}

TEST(sizes) {
    static const struct {
        const char *node, *dims;
        int64_t sizes[4];
        size_t n;
        int64_t want[4];
    } cases[] = {
        {"y = Resize(x, , , z)", "1,1,2,4", {2, 3, 4, 5}, 4, {2, 3, 4, 5}},
        {"y = Resize<axes=[-1,2]>(x, , , z)", "1,1,2,4", {8, 3}, 2, {1, 1, 3, 8}},
        {"y = Resize<axes=[2,3], keep_aspect_ratio_policy=\"not_larger\">(x, , , z)",
         "1,1,2,4",
         {7, 8},
         2,
         {1, 1, 4, 8}},
        {"y = Resize<axes=[2,3], keep_aspect_ratio_policy=\"not_smaller\">(x, , , z)",
         "1,1,2,4",
         {7, 8},
         2,
         {1, 1, 7, 14}},
        {"y = Resize(x, , , z)", "1,1,2,4", {1, 0, 4, 5}, 4, {1, 0, 4, 5}},
        {"y = Resize(x, , , z)", "0,1,2,4", {0, 1, 4, 5}, 4, {0, 1, 4, 5}},
    };
    float data[8] = {0};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char n[8];
        (void)snprintf(n, sizeof n, "%zu", cases[i].n);
        onx_operand x = kernel_operand(ONX_DTYPE_F32, cases[i].dims, data);
        onx_operand z = kernel_operand(ONX_DTYPE_I64, n, (void *)cases[i].sizes);
        kernel_result r =
            kernel_run("ref", 19, cases[i].node, 4, (onx_operand *[]){&x, NULL, NULL, &z}, 0);
        if (!CHECK(r.status == ONX_OK && memcmp(r.out[0].dims, cases[i].want, 32) == 0))
            fprintf(stderr, "    case %zu: %s\n", i, r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

/* ── Refusals ── */

static void refuse(int opset, const char *node, size_t n, onx_operand *const *in, onx_status status,
                   const char *words) {
    kernel_result r = kernel_run("ref", opset, node, n, in, 0);
    if (!CHECK(r.status == status && strstr(r.diag.message, words)))
        fprintf(stderr, "    %s: %s, %s\n", node, onx_status_name(r.status), r.diag.message);
    if (r.status == ONX_OK) kernel_free(&r);
}

TEST(scales_refused) {
    static const struct {
        float scale;
        onx_status status;
        const char *words;
    } cases[] = {{0, ONX_INVALID, "positive"},    {-1, ONX_INVALID, "positive"},
                 {NAN, ONX_INVALID, "positive"},  {INFINITY, ONX_INVALID, "positive"},
                 {1e30f, ONX_LIMIT, "too large"}, {-FLT_MIN, ONX_INVALID, "positive"}};
    float data[8] = {0};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "1,1,2,4", data);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        float scales[] = {1, 1, 1, cases[i].scale};
        onx_operand s = kernel_operand(ONX_DTYPE_F32, "4", scales);
        refuse(19, "y = Resize(x, , s)", 3, (onx_operand *[]){&x, NULL, &s}, cases[i].status,
               cases[i].words);
        refuse(9, "y = Upsample(x, s)", 2, (onx_operand *[]){&x, &s}, cases[i].status,
               cases[i].words);
    }
    float tiny[] = {1, 1, 1, 1e-30f}; /* nothing is left */
    onx_operand s = kernel_operand(ONX_DTYPE_F32, "4", tiny);
    kernel_result r =
        kernel_run("ref", 19, "y = Resize(x, , s)", 3, (onx_operand *[]){&x, NULL, &s}, 0);
    CHECK(r.status == ONX_OK && r.out[0].count == 0 && r.out[0].dims[2] == 2);
    kernel_free(&r);
}

TEST(refusals) {
    float data[16] = {0}, ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t sizes[] = {1, 1, 2, -4}, two[] = {1, 1, 2, 4};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "1,1,2,4", data),
                s4 = kernel_operand(ONX_DTYPE_F32, "4", ones);
    onx_operand s3 = kernel_operand(ONX_DTYPE_F32, "3", ones),
                z = kernel_operand(ONX_DTYPE_I64, "4", sizes);
    onx_operand ok = kernel_operand(ONX_DTYPE_I64, "4", two),
                empty = kernel_operand(ONX_DTYPE_F32, "1,1,0,4", NULL);
    onx_operand *by_s[] = {&x, NULL, &s4}, *by_z[] = {&x, NULL, NULL, &z};
    refuse(19, "y = Resize(x)", 1, (onx_operand *[]){&x}, ONX_INVALID, "neither scales nor sizes");
    refuse(19, "y = Resize(x, , s)", 3, (onx_operand *[]){&x, NULL, &s3}, ONX_INVALID,
           "3 elements for 4 dimensions");
    refuse(19, "y = Resize(x, , s, z)", 4, (onx_operand *[]){&x, NULL, &s4, &ok}, ONX_INVALID,
           "scales and sizes");
    refuse(19, "y = Resize(x, , , z)", 4, by_z, ONX_INVALID, "below 0");
    refuse(19, "y = Resize(x, , , z)", 4, (onx_operand *[]){&empty, NULL, NULL, &ok}, ONX_INVALID,
           "nothing to sample");
    refuse(19, "y = Resize<mode=\"area\">(x, , s)", 3, by_s, ONX_INVALID, "mode is 'area'");
    refuse(19, "y = Resize<nearest_mode=\"up\">(x, , s)", 3, by_s, ONX_INVALID, "nearest_mode");
    refuse(19, "y = Resize<coordinate_transformation_mode=\"no\">(x, , s)", 3, by_s, ONX_INVALID,
           "coordinate_transformation_mode");
    refuse(19, "y = Resize<coordinate_transformation_mode=\"tf_crop_and_resize\">(x, , s)", 3, by_s,
           ONX_INVALID, "roi");
    refuse(19, "y = Resize<keep_aspect_ratio_policy=\"not_larger\">(x, , s)", 3, by_s, ONX_INVALID,
           "is for sizes");
    refuse(19, "y = Resize<axes=[0,1,2,-2]>(x, , s)", 3, by_s, ONX_INVALID, "twice");
    refuse(19, "y = Resize<axes=[0,1,2,4]>(x, , s)", 3, by_s, ONX_INVALID, "axis 4");
    refuse(19, "y = Resize<axes=[0,1,2,3,0]>(x, , s)", 3, by_s, ONX_INVALID, "5 elements");
    refuse(7, "y = Upsample<scales=[1.0,2.0]>(x)", 1, by_s, ONX_INVALID, "2 scales for 4");
    refuse(7, "y = Upsample<scales=[1.0,1.0,0.0,1.0]>(x)", 1, by_s, ONX_INVALID, "positive");
}

/* A roi that is no number, that is turned around, or beyond everything. */
TEST(odd_regions) {
    float data[] = {1, 2, 3, 4};
    int64_t sizes[] = {3};
    const char *node =
        "y = Resize<mode=\"linear\", coordinate_transformation_mode=\"tf_crop_and_resize\", "
        "extrapolation_value=9.0>(x, r, , z)";
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "4", data),
                z = kernel_operand(ONX_DTYPE_I64, "1", sizes);
    static const struct {
        float roi[2], want[3];
    } cases[] = {{{NAN, 1}, {9, 9, 9}},
                 {{-INFINITY, INFINITY}, {9, 9, 9}},
                 {{1, 0}, {4, 2.5, 1}},
                 {{-1e38f, 1e38f}, {9, 1, 9}},
                 {{0, 0}, {1, 1, 1}}};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_operand r = kernel_operand(ONX_DTYPE_F32, "2", (void *)cases[i].roi);
        CHECK(gives(19, node, 4, (onx_operand *[]){&x, &r, NULL, &z}, 12, cases[i].want));
    }
}

TEST(backend) {
    size_t failed = 0, ran = kernel_backend("resize_", "", &failed);
    ran += kernel_backend("upsample_", "", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK(ran >= 40);
}

TEST_MAIN(E(written_out) E(axes) E(types) E(odd_types) E(old_versions) E(thirds) E(sizes)
              E(scales_refused) E(refusals) E(odd_regions) E(backend))
