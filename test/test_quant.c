/* test_quant.c: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and products of quantized
 * tensors: against their definitions written out by coordinates, in every type and on every tier;
 * odd values, odd sizes, refusals. */
#include "test.h"

#include <math.h>

#include "kernel.h"

enum { LARGE = 1 << 17 };

static double as_double(onx_dtype dtype, const void *data, size_t at) {
    static double all[LARGE];
    (void)onx_dtype_convert(dtype, data, ONX_DTYPE_F64, all, at + 1, false);
    return all[at];
}

/* Through a type and back: what of a number is left in it. */
static double through(onx_dtype dtype, double x) {
    char small[16];
    (void)onx_dtype_convert(ONX_DTYPE_F64, &x, dtype, small, 1, true);
    (void)onx_dtype_convert(dtype, small, ONX_DTYPE_F64, &x, 1, false);
    return x;
}

static onx_operand of_doubles(onx_dtype dtype, const char *dims, const double *values, char *data) {
    onx_operand made = kernel_operand(dtype, dims, data);
    (void)onx_dtype_convert(ONX_DTYPE_F64, values, dtype, data, (uint64_t)made.count, true);
    return made;
}

/* ─ QuantizeLinear and DequantizeLinear ──────────────────────────────────────────────────────── */

/* x is [3,20,7]; which scale belongs to (i, j, k). */
enum { N0 = 3, N1 = 20, N2 = 7, COUNT = N0 * N1 * N2 };
static size_t all_at(size_t i, size_t j, size_t k) {
    (void)i, (void)j, (void)k;
    return 0;
}
static size_t first_at(size_t i, size_t j, size_t k) {
    (void)j, (void)k;
    return i;
}
static size_t middle_at(size_t i, size_t j, size_t k) {
    (void)i, (void)k;
    return j;
}
static size_t last_at(size_t i, size_t j, size_t k) {
    (void)i, (void)j;
    return k;
}
static size_t block_middle_at(size_t i, size_t j, size_t k) {
    return (i * 3 + j / 8) * N2 + k;
}
static size_t block_last_at(size_t i, size_t j, size_t k) {
    return (i * N1 + j) * 2 + k / 4;
}
static size_t block_first_at(size_t i, size_t j, size_t k) {
    return (i / 2 * N1 + j) * N2 + k;
}
static const struct {
    const char *attributes, *dims; /* of the scales */
    size_t (*at)(size_t i, size_t j, size_t k);
} grids[] = {
    {"", "", all_at},
    {"axis=9, ", "1", all_at},
    {"axis=0, ", "3", first_at},
    {"", "20", middle_at},
    {"axis=-1, ", "7", last_at},
    {"block_size=8, ", "3,3,7", block_middle_at},
    {"axis=-1, block_size=4, ", "3,20,2", block_last_at},
    {"axis=0, block_size=2, ", "2,20,7", block_first_at},
};

static const struct {
    onx_dtype dtype;
    double lo, hi; /* of integers */
    double spread; /* of the numbers to be quantized */
} types[] = {
    {ONX_DTYPE_U8, 0, 255, 600},      {ONX_DTYPE_I8, -128, 127, 300},
    {ONX_DTYPE_U16, 0, 65535, 90000}, {ONX_DTYPE_I16, -32768, 32767, 50000},
    {ONX_DTYPE_U4, 0, 15, 40},        {ONX_DTYPE_I4, -8, 7, 20},
    {ONX_DTYPE_U2, 0, 3, 8},          {ONX_DTYPE_I2, -2, 1, 5},
    {ONX_DTYPE_F8E4M3FN, 0, 0, 900},  {ONX_DTYPE_F8E4M3FNUZ, 0, 0, 400},
    {ONX_DTYPE_F8E5M2, 0, 0, 100000}, {ONX_DTYPE_F8E5M2FNUZ, 0, 0, 100000},
    {ONX_DTYPE_F4E2M1, 0, 0, 10},     {ONX_DTYPE_F6E2M3, 0, 0, 12},
    {ONX_DTYPE_F6E3M2, 0, 0, 40},
};
static const onx_dtype floats[] = {ONX_DTYPE_F32, ONX_DTYPE_F16, ONX_DTYPE_BF16};

static double quantized(size_t t, onx_dtype precision, double x, double scale, double zero) {
    double q = through(precision, x / scale);
    if (types[t].hi == 0) return through(types[t].dtype, q);
    q = nearbyint(q) + zero;
    return fmin(fmax(q, types[t].lo), types[t].hi);
}

/* Every type, from and to every float type, on every grid; data are not aligned. */
static void try_grid(const char *tier, size_t g, size_t t, onx_dtype dtype) {
    static float random[COUNT];
    static double x[COUNT], scale[COUNT], zero[COUNT];
    static char xs[COUNT * 4 + 1], ss[COUNT * 4 + 1], zs[COUNT * 4 + 1];
    char node[160];
    kernel_fill(random, COUNT, 5, -1, 1);
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = through(dtype, (double)random[i] * types[t].spread);
        scale[i] = through(dtype, 0.4 + (double)(i % 13) / 8);
        zero[i] = types[t].hi == 0 ? 0 : (double)(i % 3) - (types[t].lo < 0);
    }
    onx_operand in[] = {of_doubles(dtype, "3,20,7", x, xs + 1),
                        of_doubles(dtype, grids[g].dims, scale, ss + 1),
                        of_doubles(types[t].dtype, grids[g].dims, zero, zs + 1)};
    (void)snprintf(node, sizeof node, "y = QuantizeLinear<%ssaturate=1>(x, s, z)",
                   grids[g].attributes);
    kernel_result q = kernel_run(tier, 28, node, 3, (onx_operand *[]){&in[0], &in[1], &in[2]}, 0);
    REQUIRE(q.status == ONX_OK && q.out[0].count == COUNT && q.out[0].dtype == types[t].dtype);
    (void)snprintf(node, sizeof node, "y = DequantizeLinear<%soutput_dtype=%d>(x, s, z)",
                   grids[g].attributes, (int)dtype);
    kernel_result d =
        kernel_run(tier, 28, node, 3, (onx_operand *[]){&q.out[0], &in[1], &in[2]}, 0);
    REQUIRE(d.status == ONX_OK && d.out[0].count == COUNT && d.out[0].dtype == dtype);
    static double code[COUNT], back[COUNT];
    (void)onx_dtype_convert(types[t].dtype, q.out[0].data, ONX_DTYPE_F64, code, COUNT, false);
    (void)onx_dtype_convert(dtype, d.out[0].data, ONX_DTYPE_F64, back, COUNT, false);
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        size_t at = grids[g].at(i / (N1 * N2), i / N2 % N1, i % N2);
        wrong += code[i] != quantized(t, dtype, x[i], scale[at], zero[at]);
        wrong += back[i] != through(dtype, (code[i] - zero[at]) * scale[at]);
    }
    if (!CHECK(wrong == 0))
        fprintf(stderr, "    %zu of %s to %s, scales [%s], %s\n", wrong, onx_dtype_name(dtype),
                onx_dtype_name(types[t].dtype), grids[g].dims, tier);
    kernel_free(&q);
    kernel_free(&d);
}

TEST(grids) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t g = 0; g < ONX_COUNT(grids); g++)
            for (size_t t = 0; t < ONX_COUNT(types); t++)
                for (size_t f = 0; f < ONX_COUNT(floats); f++) try_grid(*tier, g, t, floats[f]);
}

static double one(const char *tier, const char *node, onx_dtype x_type, double x, onx_dtype s_type,
                  double s, onx_dtype z_type, double z) {
    char data[3][16];
    onx_operand in[] = {of_doubles(x_type, "1", &x, data[0]), of_doubles(s_type, "", &s, data[1]),
                        of_doubles(z_type, "", &z, data[2])};
    kernel_result r = kernel_run(tier, 28, node, 3, (onx_operand *[]){&in[0], &in[1], &in[2]}, 0);
    if (!CHECK(r.status == ONX_OK)) return fprintf(stderr, "    %s\n", r.diag.message), -999;
    double y = as_double((onx_dtype)r.out[0].dtype, r.out[0].data, 0);
    kernel_free(&r);
    return y;
}

TEST(odd_values) {
    const char *q = "y = QuantizeLinear(x, s, z)", *d = "y = DequantizeLinear(x, s, z)";
    const onx_dtype f32 = ONX_DTYPE_F32, i8 = ONX_DTYPE_I8, u8 = ONX_DTYPE_U8, i32 = ONX_DTYPE_I32;
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        CHECK(one(*tier, q, f32, NAN, f32, 1, i8, 5) == -128);
        CHECK(one(*tier, q, f32, INFINITY, f32, 1, i8, 5) == 127);
        CHECK(one(*tier, q, f32, -INFINITY, f32, 1, u8, 5) == 0);
        CHECK(one(*tier, q, f32, 3e38, f32, 1e-30, u8, 5) == 255);
        CHECK(one(*tier, q, f32, 7, f32, 0, u8, 5) == 255);
        CHECK(one(*tier, q, f32, 0, f32, 0, u8, 5) == 0);
        CHECK(one(*tier, q, f32, 7, f32, NAN, u8, 5) == 0);
        CHECK(one(*tier, q, f32, 7, f32, -1, i8, 3) == -4);
        CHECK(one(*tier, q, f32, 0.5, f32, 1, u8, 1) ==
              1); /* ties before the zero point is added */
        CHECK(one(*tier, q, f32, 1.5, f32, 1, u8, 1) == 3);
        CHECK(one(*tier, q, f32, -2.5, f32, 1, i8, 0) == -2);
        CHECK(one(*tier, q, i32, 7, i32, 2, u8, 0) == 4);
        CHECK(one(*tier, q, i32, 2147483647, f32, 1e8f, i8, 1) == 22);
        CHECK(isnan(one(*tier, q, f32, NAN, f32, 1, ONX_DTYPE_F8E4M3FN, 0)));
        CHECK(one(*tier, q, f32, 1e9, f32, 1, ONX_DTYPE_F8E4M3FN, 0) == 448);
        CHECK(one(*tier, q, f32, 2, f32, 1, ONX_DTYPE_F8E4M3FN, 1.5) == 3.5);
        CHECK(isnan(one(*tier, "y = QuantizeLinear<saturate=0>(x, s, z)", f32, 1e9, f32, 1,
                        ONX_DTYPE_F8E4M3FN, 0)));
        CHECK(one(*tier, "y = QuantizeLinear<saturate=0>(x, s, z)", f32, 1e9, f32, 1, i8, 0) ==
              127);
        /* 2049 is 2048 in half precision. */
        CHECK(one(*tier, q, f32, 2049, f32, 1, ONX_DTYPE_I16, 0) == 2049);
        CHECK(one(*tier, "y = QuantizeLinear<precision=10>(x, s, z)", f32, 2049, f32, 1,
                  ONX_DTYPE_I16, 0) == 2048);
        CHECK(one(*tier, q, f32, 2049, ONX_DTYPE_F16, 1, ONX_DTYPE_I16, 0) == 2048);
        CHECK(one(*tier, q, f32, 12, ONX_DTYPE_F8E8M0, 8, ONX_DTYPE_F4E2M1, 0) == 1.5);
        CHECK(one(*tier, d, i32, 16777217, f32, 1, i32, 0) == 16777216);
        CHECK(one(*tier, d, i32, -2147483648.0, f32, 1, i32, 2147483647) == -4294967296.0);
        CHECK(isnan(one(*tier, d, i8, 3, f32, NAN, i8, 3)));
        CHECK(one(*tier, "y = DequantizeLinear<output_dtype=10>(x, s, z)", ONX_DTYPE_F4E2M1, 6,
                  ONX_DTYPE_F8E8M0, 0.25, ONX_DTYPE_F4E2M1, 0.5) == 1.375);
    }
}

/* ─ DynamicQuantizeLinear ────────────────────────────────────────────────────────────────────── */

TEST(dynamic) {
    static const struct {
        float x[4], scale;
        uint8_t y[4], zero;
    } cases[] = {
        {{0, 255, 10, 0.5f}, 1, {0, 255, 10, 0}, 0},      {{-1, 0, 254, 1}, 1, {0, 1, 255, 2}, 1},
        {{3, 4, 5, 510}, 2, {2, 2, 2, 255}, 0}, /* 0 belongs to the range */
        {{-510, -4, -5, -3}, 2, {0, 253, 253, 253}, 255}, {{0, 0, 0, 0}, 0, {0, 0, 0, 0}, 0},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char memory[17];
        memcpy(memory + 1, cases[i].x, 16);
        onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,2", memory + 1);
        kernel_result r = kernel_run("ref", 21, "y, s, z = DynamicQuantizeLinear(x)", 1,
                                     (onx_operand *[]){&x}, 0);
        REQUIRE(r.status == ONX_OK);
        CHECK(memcmp(r.out[0].data, cases[i].y, 4) == 0);
        CHECK(*(float *)r.out[1].data == cases[i].scale);
        CHECK_EQ(*(uint8_t *)r.out[2].data, cases[i].zero);
        kernel_free(&r);
    }
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static int byte_at(onx_dtype dtype, const uint8_t *data, size_t at) {
    return dtype == ONX_DTYPE_I8 ? (int8_t)data[at] : data[at];
}

/* A [2,M,K] by B [2,K,N], with zero points for each row of A and each column of B. */
static void try_matmul(const char *tier, onx_dtype a_type, onx_dtype b_type, const char *a_dims,
                       const char *b_dims) {
    enum { M = 11, K = 37, N = 70 };
    static uint8_t a[2 * M * K + 1], b[2 * K * N + 1], az[2 * M], bz[2 * N];
    kernel_fill_bytes(a, sizeof a, 1);
    kernel_fill_bytes(b, sizeof b, 2);
    kernel_fill_bytes(az, sizeof az, 3);
    kernel_fill_bytes(bz, sizeof bz, 4);
    onx_operand in[] = {kernel_operand(a_type, "2,11,37", a + 1),
                        kernel_operand(b_type, "2,37,70", b + 1),
                        kernel_operand(a_type, a_dims, az), kernel_operand(b_type, b_dims, bz)};
    kernel_result r = kernel_run(tier, 21, "y = MatMulInteger(a, b, c, d)", 4,
                                 (onx_operand *[]){&in[0], &in[1], &in[2], &in[3]}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 2 * M * N);
    size_t wrong = 0, a_n = (size_t)in[2].count, b_n = (size_t)in[3].count;
    for (size_t i = 0; i < 2 * M; i++)
        for (size_t j = 0; j < N; j++) {
            size_t batch = i / M, col = batch * N + j;
            int32_t sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += (byte_at(a_type, a + 1, i * K + k) - byte_at(a_type, az, i % a_n)) *
                       (byte_at(b_type, b + 1, (batch * K + k) * N + j) -
                        byte_at(b_type, bz, col % b_n));
            wrong += ((int32_t *)r.out[0].data)[i * N + j] != sum;
        }
    if (!CHECK(wrong == 0))
        fprintf(stderr, "    %zu: %s by %s, [%s] [%s], %s\n", wrong, onx_dtype_name(a_type),
                onx_dtype_name(b_type), a_dims, b_dims, tier);
    kernel_free(&r);
}

TEST(matmul_integer) {
    static const onx_dtype bytes[] = {ONX_DTYPE_U8, ONX_DTYPE_I8};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t a = 0; a < 2; a++)
            for (size_t b = 0; b < 2; b++) {
                try_matmul(*tier, bytes[a], bytes[b], "", "1");
                try_matmul(*tier, bytes[a], bytes[b], "11", "70");
                try_matmul(*tier, bytes[a], bytes[b], "2,11,1", "2,1,70");
                try_matmul(*tier, bytes[a], bytes[b], "1,11,1", "1,1,70");
            }
}

/* Sums are modulo 2^32. */
TEST(wrapping) {
    enum { K = 100000 };
    uint8_t *a = malloc(K), zero = 0;
    REQUIRE(a != NULL);
    memset(a, 255, K);
    onx_operand in[] = {kernel_operand(ONX_DTYPE_U8, "1,100000", a),
                        kernel_operand(ONX_DTYPE_U8, "100000,1", a),
                        kernel_operand(ONX_DTYPE_U8, "", &zero)};
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 21, "y = MatMulInteger(a, b, z, z)", 4,
                                     (onx_operand *[]){&in[0], &in[1], &in[2], &in[2]}, 0);
        if (CHECK(r.status == ONX_OK))
            CHECK_EQ(*(int32_t *)r.out[0].data, (int32_t)(uint32_t)(UINT64_C(65025) * K));
        kernel_free(&r);
    }
    free(a);
}

/* Floats of 8 bits, and scales of half precision. */
TEST(qlinear_matmul_floats) {
    double a[] = {1, -2, 0.5, 8}, b[] = {3, 0.25, -1, 16}, none = 0, scale[] = {0.5, 2};
    char data[6][16];
    onx_operand in[] = {of_doubles(ONX_DTYPE_F8E4M3FN, "2,2", a, data[0]),
                        of_doubles(ONX_DTYPE_F16, "2", scale, data[1]),
                        of_doubles(ONX_DTYPE_F8E4M3FN, "", &none, data[2]),
                        of_doubles(ONX_DTYPE_F8E5M2, "2,2", b, data[3]),
                        of_doubles(ONX_DTYPE_F16, "", scale, data[4]),
                        of_doubles(ONX_DTYPE_F8E5M2, "", &none, data[5])};
    onx_operand *all[] = {&in[0], &in[1], &in[2], &in[3], &in[4], &in[5], &in[4], &in[2]};
    kernel_result r = kernel_run("ref", 21, "y = QLinearMatMul(a, b, c, d, e, f, g, h)", 8, all, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].dtype == ONX_DTYPE_F8E4M3FN);
    static const double want[] = {2.5, -16, -13, 256}; /* of -15.875 and 256.25 */
    for (size_t i = 0; i < 4; i++)
        CHECK(as_double(ONX_DTYPE_F8E4M3FN, r.out[0].data, i) == want[i]);
    kernel_free(&r);
}

/* ─ Convolutions ─────────────────────────────────────────────────────────────────────────────── */

/* x [2,6,9,8], w [4,3,3,2] in 2 groups; strides 2 and 1, dilations 1 and 2, pads 1,0 and 2,1. */
enum { IC = 6, IH = 9, IW = 8, OC = 4, KH = 3, KW = 2, OH = 5, OW = 7, IMAGES = 2, GROUP_IC = 3 };

static int32_t conv_at(onx_dtype xt, const uint8_t *x, int xz, onx_dtype wt, const uint8_t *w,
                       const uint8_t *wz, bool many, size_t at) {
    size_t ox = at % OW, oy = at / OW % OH, oc = at / OW / OH % OC, n = at / OW / OH / OC;
    int zero = byte_at(wt, wz, many ? oc : 0);
    int32_t sum = 0;
    for (size_t c = 0; c < GROUP_IC; c++)
        for (size_t ky = 0; ky < KH; ky++)
            for (size_t kx = 0; kx < KW; kx++) {
                size_t y = oy * 2 + ky - 1, px = ox + kx * 2 - 0;
                if (y >= IH || px >= IW) continue;
                size_t channel = oc / (OC / 2) * GROUP_IC + c;
                sum += (byte_at(xt, x, ((n * IC + channel) * IH + y) * IW + px) - xz) *
                       (byte_at(wt, w, ((oc * GROUP_IC + c) * KH + ky) * KW + kx) - zero);
            }
    return sum;
}

#define CONV_ATTRIBUTES "<group=2, strides=[2,1], dilations=[1,2], pads=[1,0,2,1]>"

static void try_conv(const char *tier, onx_dtype xt, onx_dtype wt, bool many) {
    static uint8_t x[IMAGES * IC * IH * IW + 1], w[OC * GROUP_IC * KH * KW + 1];
    uint8_t xz = 100, wz[OC] = {7, 200, 0, 90}, yz = 33;
    float xs = 0.02f, ws[OC] = {0.5f, 0.25f, 0.125f, 0.3f}, ys = 1.5f;
    int32_t bias[OC] = {100, -3000, 0, 12345};
    kernel_fill_bytes(x, sizeof x, 9);
    kernel_fill_bytes(w, sizeof w, 10);
    const char *dims = many ? "4" : "";
    onx_operand in[] = {kernel_operand(xt, "2,6,9,8", x + 1),
                        kernel_operand(ONX_DTYPE_F32, "", &xs),
                        kernel_operand(xt, "1", &xz),
                        kernel_operand(wt, "4,3,3,2", w + 1),
                        kernel_operand(ONX_DTYPE_F32, dims, ws),
                        kernel_operand(wt, dims, wz),
                        kernel_operand(ONX_DTYPE_F32, "", &ys),
                        kernel_operand(xt, "", &yz),
                        kernel_operand(ONX_DTYPE_I32, "4", bias)};
    onx_operand *all[9], *some[] = {&in[0], &in[3], &in[2], &in[5]};
    for (size_t i = 0; i < 9; i++) all[i] = &in[i];
    kernel_result r = kernel_run(
        tier, 21, "y = QLinearConv" CONV_ATTRIBUTES "(a, b, c, d, e, f, g, h, i)", 9, all, 0);
    kernel_result s =
        kernel_run(tier, 21, "y = ConvInteger" CONV_ATTRIBUTES "(a, b, c, d)", 4, some, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == IMAGES * OC * OH * OW);
    REQUIRE(s.status == ONX_OK && s.out[0].count == r.out[0].count);
    size_t wrong = 0;
    for (size_t i = 0; i < IMAGES * OC * OH * OW; i++) {
        size_t oc = i / OW / OH % OC;
        int32_t sum = conv_at(xt, x + 1, byte_at(xt, &xz, 0), wt, w + 1, wz, many, i);
        float y = (float)(sum + bias[oc]) * (xs * ws[many ? oc : 0] / ys);
        double q = nearbyint((double)y) + byte_at(xt, &yz, 0);
        q = xt == ONX_DTYPE_I8 ? fmin(fmax(q, -128), 127) : fmin(fmax(q, 0), 255);
        wrong += ((int32_t *)s.out[0].data)[i] != sum;
        wrong += byte_at(xt, r.out[0].data, i) != (int)q;
    }
    if (!CHECK(wrong == 0)) fprintf(stderr, "    %zu wrong on %s\n", wrong, tier);
    kernel_free(&r);
    kernel_free(&s);
}

TEST(conv) {
    static const onx_dtype bytes[] = {ONX_DTYPE_U8, ONX_DTYPE_I8};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t x = 0; x < 2; x++)
            for (size_t w = 0; w < 2; w++) {
                try_conv(*tier, bytes[x], bytes[w], false);
                try_conv(*tier, bytes[x], bytes[w], true);
            }
}

/* A batch of none, a product over nothing, a window that sees nothing but padding. */
TEST(nothing) {
    uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, zero = 3;
    float one_ = 1;
    onx_operand a = kernel_operand(ONX_DTYPE_U8, "2,0", NULL), s;
    onx_operand b = kernel_operand(ONX_DTYPE_U8, "0,2", NULL), z;
    s = kernel_operand(ONX_DTYPE_F32, "", &one_);
    z = kernel_operand(ONX_DTYPE_U8, "", &zero);
    onx_operand *all[] = {&a, &s, &z, &b, &s, &z, &s, &z};
    kernel_result r = kernel_run("ref", 21, "y = QLinearMatMul(a, b, c, d, e, f, g, h)", 8, all, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 4);
    CHECK(memcmp(r.out[0].data, (uint8_t[]){3, 3, 3, 3}, 4) == 0);
    kernel_free(&r);
    onx_operand x = kernel_operand(ONX_DTYPE_U8, "1,1,2", data);
    onx_operand w = kernel_operand(ONX_DTYPE_U8, "1,1,1", data);
    r = kernel_run("ref", 21, "y = ConvInteger<pads=[3,0]>(x, w, z)", 3,
                   (onx_operand *[]){&x, &w, &z}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 5);
    CHECK(memcmp(r.out[0].data, (int32_t[]){0, 0, 0, -2, -1}, 20) == 0);
    kernel_free(&r);
    x = kernel_operand(ONX_DTYPE_U8, "0,9223372036854775807,3", NULL);
    r = kernel_run("ref", 21, "y = DequantizeLinear(x, s, z)", 3, (onx_operand *[]){&x, &s, &z}, 0);
    CHECK(r.status == ONX_OK && r.out[0].count == 0);
    kernel_free(&r);
}

/* ─ Refusals ─────────────────────────────────────────────────────────────────────────────────── */

TEST(refusals) {
    static const struct {
        const char *node;
        int opset;
        const char *x, *scale, *zero, *words;
    } cases[] = {
        {"y = QuantizeLinear(x, s, z)", 13, "2,3", "2", "2", "one for each index of axis 1"},
        {"y = QuantizeLinear(x, s, z)", 13, "2,3", "3", "2", "the same shape"},
        {"y = QuantizeLinear(x, s, z)", 13, "2,3", "3", "", "the same shape"},
        {"y = QuantizeLinear(x, s, z)", 13, "2,3", "1,3", "1,3", "must be a scalar, or a list"},
        {"y = QuantizeLinear(x, s, z)", 10, "2,3", "3", "3", "before opset 13"},
        {"y = QuantizeLinear<axis=2>(x, s, z)", 21, "2,3", "3", "3", "axis 2 is not"},
        {"y = QuantizeLinear<axis=-9223372036854775808>(x, s, z)", 21, "2,3", "3", "3", "axis -9"},
        {"y = QuantizeLinear<block_size=-1>(x, s, z)", 21, "2,3", "2,3", "2,3", "block_size is -1"},
        {"y = QuantizeLinear<block_size=2>(x, s, z)", 21, "2,3", "2,1", "2,1", "it must be 2"},
        {"y = QuantizeLinear<block_size=2>(x, s, z)", 21, "2,3", "1,2", "1,2", "it must be 2"},
        {"y = QuantizeLinear<block_size=9223372036854775807>(x, s, z)", 21, "2,3", "2,2", "2,2",
         "it must be 1"},
        {"y = QuantizeLinear<output_dtype=3>(x, s, z)", 21, "2,3", "", "",
         "output_dtype says int8"},
        {"y = QuantizeLinear<output_dtype=1>(x, s)", 21, "2,3", "", "", "not a type"},
        {"y = QuantizeLinear<output_dtype=-1>(x, s)", 21, "2,3", "", "", "not a type"},
        {"y = QuantizeLinear<output_dtype=4294967298>(x, s)", 21, "2,3", "", "", "not a type"},
        {"y = QuantizeLinear<precision=7>(x, s, z)", 23, "2,3", "", "", "not a type"},
        {"y = QuantizeLinear(x, s, z)", 21, "", "2", "2", "axis 1 is not"},
    };
    static float data[64];
    static uint8_t zeros[64];
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_operand x = kernel_operand(ONX_DTYPE_F32, cases[i].x, data);
        onx_operand s = kernel_operand(ONX_DTYPE_F32, cases[i].scale, data);
        onx_operand z = kernel_operand(ONX_DTYPE_U8, cases[i].zero, zeros);
        size_t n = strstr(cases[i].node, "z)") ? 3 : 2;
        kernel_result r =
            kernel_run("ref", cases[i].opset, cases[i].node, n, (onx_operand *[]){&x, &s, &z}, 0);
        if (!CHECK(r.status == ONX_INVALID && strstr(r.diag.message, cases[i].words)))
            fprintf(stderr, "    %s: %s, %s\n", cases[i].node, onx_status_name(r.status),
                    r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

/* Of products: the shapes of their inputs, in order, the ninth of int32. */
TEST(product_refusals) {
    static const struct {
        const char *node;
        const char *dims[9];
        const char *types; /* b: uint8, f: float, i: int32 */
        const char *words;
    } cases[] = {
        {"MatMulInteger", {"2,3", "4,2"}, "bb", "as many columns in A"},
        {"MatMulInteger", {"2,3", "3,2", "3"}, "bbb", "zero point of A"},
        {"MatMulInteger", {"2,3", "3,2", "1,3"}, "bbb", "zero point of A"},
        {"MatMulInteger", {"2,3", "3,2", "0"}, "bbb", "zero point of A"},
        {"MatMulInteger", {"2,3", "3,2", "", "3"}, "bbbb", "zero point of B"},
        {"MatMulInteger", {"3", "3", "", "3"}, "bbbb", "zero point of B"},
        {"MatMulInteger", {"2,2,3", "2,3,2", "", "3,1,2"}, "bbbb", "zero point of B"},
        {"MatMulInteger", {"", "3,2"}, "bb", "at least one dimension"},
        {"QLinearMatMul", {"2,3", "", "", "3,2", "", "", "2", ""}, "bfbbfbfb", "must be scalars"},
        {"QLinearMatMul", {"2,3", "", "", "3,2", "", "", "", "2"}, "bfbbfbfb", "must be scalars"},
        {"QLinearMatMul", {"2,3", "", "", "3,2", "", "", "", ""}, "bfbbfbfi", "cannot be int32"},
        {"QLinearMatMul", {"2,3", "3", "", "3,2", "", "", "", ""}, "bfbbfbfb", "scale and zero"},
        {"ConvInteger", {"1,2,4", "2,2,2", "2"}, "bbb", "of x must be scalars"},
        {"ConvInteger", {"1,2,4", "2,2,2", "", "3"}, "bbbb", "lists of 2"},
        {"ConvInteger", {"1,2,4", "2,2,2", "", "2,1"}, "bbbb", "lists of 2"},
        {"ConvInteger", {"1,2,4", "2,3,2"}, "bb", "the input has 2 channels"},
        {"ConvInteger<group=0>", {"1,2,4", "2,2,2"}, "bb", "group is 0"},
        {"ConvInteger", {"1,2,4", "2,2,9"}, "bb", "the window spans 9"},
        {"QLinearConv", {"1,2,4", "", "", "2,2,2", "3", "", "", ""}, "bfbbfbfb", "lists of 2"},
        {"QLinearConv", {"1,2,4", "", "", "2,2,2", "", "", "", "", "3"}, "bfbbfbfbi", "the bias"},
        {"QLinearConv",
         {"1,2,4", "", "", "2,2,2", "", "", "", "", "2"},
         "bfbbfbfbf",
         "bias cannot"},
    };
    static char data[256];
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        static const onx_dtype of[] = {
            ['b'] = ONX_DTYPE_U8, ['f'] = ONX_DTYPE_F32, ['i'] = ONX_DTYPE_I32};
        onx_operand in[9], *all[9];
        size_t n = strlen(cases[i].types);
        char node[200];
        (void)snprintf(node, sizeof node, "y = %s(a", cases[i].node);
        for (size_t k = 0; k < n; k++) {
            in[k] = kernel_operand(of[(unsigned char)cases[i].types[k]], cases[i].dims[k], data);
            all[k] = &in[k];
            if (k) (void)snprintf(node + strlen(node), 8, ", %c", (char)('a' + k));
        }
        strcat(node, ")");
        kernel_result r = kernel_run("ref", 21, node, n, all, 0);
        if (!CHECK(r.status == ONX_INVALID && strstr(r.diag.message, cases[i].words)))
            fprintf(stderr, "    %s: %s, %s\n", node, onx_status_name(r.status), r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

TEST(backend) {
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    static const struct {
        const char *prefix;
        size_t n;
    } cases[] = {{"quantizelinear", 13}, {"dequantizelinear", 14}, {"dynamicquantizelinear", 3},
                 {"matmulinteger", 1},   {"convinteger", 2},       {"qlinear", 9}};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        size_t failed = 0;
        CHECK_EQ(kernel_backend(cases[i].prefix, "", &failed), cases[i].n);
        CHECK_EQ(failed, 0);
    }
}

TEST_MAIN(E(grids) E(odd_values) E(dynamic) E(matmul_integer) E(wrapping) E(qlinear_matmul_floats)
              E(conv) E(nothing) E(refusals) E(product_refusals) E(backend))
