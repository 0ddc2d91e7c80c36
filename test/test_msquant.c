/* test_msquant.c: the quantized operators of com.microsoft: against their definitions written out,
 * on every tier; refusals; and two quantized networks against their recorded outputs. */
#include "test.h"

#include <math.h>

#include "kernel.h"
#include "support.h"
#include "zoo.h"

#define MS "com.microsoft."

static int byte_at(onx_dtype dtype, const void *data, size_t at) {
    return dtype == ONX_DTYPE_I8 ? ((const int8_t *)data)[at] : ((const uint8_t *)data)[at];
}
static int clamped(onx_dtype dtype, double x) {
    return (int)(dtype == ONX_DTYPE_I8 ? fmin(fmax(x, -128), 127) : fmin(fmax(x, 0), 255));
}
static onx_operand bytes_of(onx_dtype dtype, const char *dims, uint8_t *data, unsigned seed) {
    onx_operand made = kernel_operand(dtype, dims, data);
    kernel_fill_bytes(data, made.bytes, seed);
    return made;
}

static const onx_dtype bytes[] = {ONX_DTYPE_U8, ONX_DTYPE_I8};

/* ─ Element by element ───────────────────────────────────────────────────────────────────────── */

/* How b meets a of [30,82]: its dimensions, and which of its elements is at a place. */
static const struct meeting {
    const char *dims;
    size_t step, period;
} meetings[] = {{"82", 1, 82}, {"30,1", 82, 30}, {"1,1", 1, 1}, {"30,82", 1, 30 * 82}};

static void try_binary(const char *tier, onx_dtype dtype, bool product, const struct meeting *m) {
    enum { ROWS = 30, COLS = 82 };
    static uint8_t a[ROWS * COLS + 1], b[ROWS * COLS];
    uint8_t az = 100, bz = 7, cz = 61;
    float as = 0.25f, bs = 0.5f, cs = product ? 40 : 0.75f;
    onx_operand in[] = {
        bytes_of(dtype, "30,82", a + 1, 1),      kernel_operand(ONX_DTYPE_F32, "", &as),
        kernel_operand(dtype, "", &az),          bytes_of(dtype, m->dims, b, 2),
        kernel_operand(ONX_DTYPE_F32, "1", &bs), kernel_operand(dtype, "1", &bz),
        kernel_operand(ONX_DTYPE_F32, "", &cs),  kernel_operand(dtype, "", &cz)};
    onx_operand *all[8];
    for (size_t i = 0; i < 8; i++) all[i] = &in[i];
    kernel_result r = kernel_run(tier, 21,
                                 product ? "y = " MS "QLinearMul(a, b, c, d, e, f, g, h)"
                                         : "y = " MS "QLinearAdd(a, b, c, d, e, f, g, h)",
                                 8, all, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == ROWS * COLS);
    size_t wrong = 0;
    for (size_t i = 0; i < ROWS * COLS; i++) {
        double x = 0.25 * (byte_at(dtype, a + 1, i) - byte_at(dtype, &az, 0));
        double y = 0.5 * (byte_at(dtype, b, i / m->step % m->period) - byte_at(dtype, &bz, 0));
        double z = product ? x * y / 40 : (x + y) / 0.75, noise = product ? 1e-5 : 1e-9;
        z += byte_at(dtype, &cz, 0);
        if (fabs(z - floor(z) - 0.5) < noise) continue; /* a tie, but for a rounding */
        wrong += byte_at(dtype, r.out[0].data, i) != clamped(dtype, nearbyint(z));
    }
    if (!CHECK(wrong == 0))
        fprintf(stderr, "    %zu: product %d, %s, %s\n", wrong, product, m->dims, tier);
    kernel_free(&r);
}

TEST(binary) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0, t = 0; i < 2 * ONX_COUNT(meetings); i++, t = i % 2) {
            try_binary(*tier, bytes[t], false, &meetings[i / 2]);
            try_binary(*tier, bytes[t], true, &meetings[i / 2]);
        }
}

TEST(concat) {
    uint8_t a[] = {0, 10, 20, 30, 40, 255}, b[] = {100, 200}, az = 10, bz = 100, yz = 5;
    float as = 1, bs = 0.5f, ys = 2;
    onx_operand in[] = {
        kernel_operand(ONX_DTYPE_F32, "", &ys), kernel_operand(ONX_DTYPE_U8, "", &yz),
        kernel_operand(ONX_DTYPE_U8, "2,3", a), kernel_operand(ONX_DTYPE_F32, "", &as),
        kernel_operand(ONX_DTYPE_U8, "", &az),  kernel_operand(ONX_DTYPE_U8, "2,1", b),
        kernel_operand(ONX_DTYPE_F32, "", &bs), kernel_operand(ONX_DTYPE_U8, "", &bz)};
    onx_operand *all[8];
    for (size_t i = 0; i < 8; i++) all[i] = &in[i];
    kernel_result r = kernel_run(
        "ref", 21, "y = " MS "QLinearConcat<axis=-1>(a, b, c, d, e, f, g, h)", 8, all, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 8);
    CHECK(memcmp(r.out[0].data, (uint8_t[]){0, 5, 10, 5, 15, 20, 127, 30}, 8) == 0);
    kernel_free(&r);
}

TEST(sigmoid) {
    uint8_t x[256], zero = 128, yz = 0;
    float scale = 0.05f, ys = 1.0f / 256;
    for (size_t i = 0; i < 256; i++) x[i] = (uint8_t)i;
    onx_operand in[] = {
        kernel_operand(ONX_DTYPE_U8, "256", x), kernel_operand(ONX_DTYPE_F32, "", &scale),
        kernel_operand(ONX_DTYPE_U8, "", &zero), kernel_operand(ONX_DTYPE_F32, "", &ys),
        kernel_operand(ONX_DTYPE_U8, "", &yz)};
    kernel_result r = kernel_run("ref", 21, "y = " MS "QLinearSigmoid(a, b, c, d, e)", 5,
                                 (onx_operand *[]){&in[0], &in[1], &in[2], &in[3], &in[4]}, 0);
    REQUIRE(r.status == ONX_OK);
    for (int i = 0; i < 256; i++) {
        double y = 256 / (1 + exp(-0.05 * (i - 128)));
        CHECK_EQ(((uint8_t *)r.out[0].data)[i], clamped(ONX_DTYPE_U8, nearbyint(y)));
    }
    kernel_free(&r);
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

enum { M = 9, K = 33, N = 67 };

/* QGemm with each of A and B turned or not; and without a scale of the result. */
static void try_gemm(const char *tier, bool turn_a, bool turn_b, bool quantized) {
    static uint8_t a[M * K], b[K * N], bz[N];
    static float bs[N], as = 0.01f, ys = 3;
    static int32_t c[N];
    uint8_t az = 120, yz = 200;
    char node[160];
    for (size_t j = 0; j < N; j++) bs[j] = 0.125f + (float)j / 64, c[j] = (int32_t)j * 1000 - 9000;
    onx_operand in[] = {bytes_of(ONX_DTYPE_U8, turn_a ? "33,9" : "9,33", a, 1),
                        kernel_operand(ONX_DTYPE_F32, "", &as),
                        kernel_operand(ONX_DTYPE_U8, "", &az),
                        bytes_of(ONX_DTYPE_I8, turn_b ? "67,33" : "33,67", b, 2),
                        kernel_operand(ONX_DTYPE_F32, "67", bs),
                        bytes_of(ONX_DTYPE_I8, "67", bz, 3),
                        kernel_operand(ONX_DTYPE_I32, "67", c),
                        kernel_operand(ONX_DTYPE_F32, "", &ys),
                        kernel_operand(ONX_DTYPE_U8, "", &yz)};
    onx_operand *all[9];
    for (size_t i = 0; i < 9; i++) all[i] = &in[i];
    (void)snprintf(node, sizeof node, "y = " MS "QGemm<alpha=0.5, transA=%d, transB=%d>(%s)",
                   turn_a, turn_b, quantized ? "a, b, c, d, e, f, g, h, i" : "a, b, c, d, e, f, g");
    kernel_result r = kernel_run(tier, 21, node, quantized ? 9 : 7, all, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == M * N);
    size_t wrong = 0;
    for (size_t i = 0; i < M * N; i++) {
        size_t row = i / N, col = i % N;
        int32_t sum = c[col];
        for (size_t k = 0; k < K; k++)
            sum += (a[turn_a ? k * M + row : row * K + k] - az) *
                   ((int8_t)b[turn_b ? col * K + k : k * N + col] - (int8_t)bz[col]);
        float y = (float)sum * (0.5f * as * bs[col] / (quantized ? ys : 1));
        if (quantized)
            wrong +=
                ((uint8_t *)r.out[0].data)[i] != clamped(ONX_DTYPE_U8, nearbyint((double)y) + yz);
        else
            wrong += ((float *)r.out[0].data)[i] != y;
    }
    if (!CHECK(wrong == 0)) fprintf(stderr, "    %zu: %s, %s\n", wrong, node, tier);
    kernel_free(&r);
}

TEST(gemm) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (int i = 0; i < 8; i++) try_gemm(*tier, i & 1, i & 2, i & 4);
}

/* Scales for each row and column, also when they have changed places; and a bias. */
static void try_to_float(bool changed) {
    static uint8_t a[M * K], b[K * N];
    static float as[M], bs[N], bias[N];
    uint8_t az = 77;
    for (size_t i = 0; i < M; i++) as[i] = 0.5f + (float)i;
    for (size_t j = 0; j < N; j++) bs[j] = 0.125f + (float)j / 64, bias[j] = (float)j - 30;
    onx_operand in[] = {
        bytes_of(ONX_DTYPE_I8, "9,33", a, 1),     bytes_of(ONX_DTYPE_U8, "33,67", b, 2),
        kernel_operand(ONX_DTYPE_F32, "9,1", as), kernel_operand(ONX_DTYPE_F32, "67", bs),
        kernel_operand(ONX_DTYPE_I8, "", &az),    kernel_operand(ONX_DTYPE_F32, "67", bias)};
    onx_operand *all[] = {&in[0], &in[1], &in[changed ? 3 : 2], &in[changed ? 2 : 3], &in[4],
                          NULL,   &in[5]};
    kernel_result r =
        kernel_run("ref", 21, "y = " MS "MatMulIntegerToFloat(a, b, c, d, e, , g)", 7, all, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == M * N);
    for (size_t i = 0; i < M * N; i++) {
        double sum = 0;
        for (size_t k = 0; k < K; k++)
            sum += ((int8_t)a[i / N * K + k] - (int8_t)az) * b[k * N + i % N];
        double y = sum * (double)as[i / N] * (double)bs[i % N] + (double)bias[i % N];
        if (!CHECK(fabs(((float *)r.out[0].data)[i] - y) <= 1e-6 * fabs(y) + 1e-3)) break;
    }
    kernel_free(&r);
}

TEST(to_float) {
    try_to_float(false);
    try_to_float(true);
}

/* A with the range 0 … 255 is quantized as it is. */
TEST(dynamic) {
    float a[] = {0, 255, 3, 7.4f, 9, 100.5f}, bs[] = {0.5f, 2}, bias[] = {1, -1};
    int8_t b[] = {1, -2, 3, 4, -5, 6}, bz[] = {1, -1};
    onx_operand in[] = {
        kernel_operand(ONX_DTYPE_F32, "2,3", a), kernel_operand(ONX_DTYPE_I8, "3,2", b),
        kernel_operand(ONX_DTYPE_F32, "2", bs), kernel_operand(ONX_DTYPE_I8, "2", bz),
        kernel_operand(ONX_DTYPE_F32, "2", bias)};
    kernel_result r = kernel_run("ref", 21, "y = " MS "DynamicQuantizeMatMul(a, b, c, d, e)", 5,
                                 (onx_operand *[]){&in[0], &in[1], &in[2], &in[3], &in[4]}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 4);
    static const float want[] = {247, 2591, -290, 1475};
    CHECK(memcmp(r.out[0].data, want, sizeof want) == 0);
    kernel_free(&r);
}

/* ─ MatMulNBits ──────────────────────────────────────────────────────────────────────────────── */

enum { NK = 37, NN = 5, BLOCK = 16, BLOCKS = 3, ROWS = 3 };

static unsigned code_at(const uint8_t *data, unsigned bits, size_t at) { /* bit by bit */
    unsigned code = 0;
    for (unsigned b = 0; b < bits; b++) {
        size_t bit = at * bits + b;
        code |= (unsigned)(data[bit / 8] >> bit % 8 & 1) << b;
    }
    return code;
}

typedef enum zero_kind { NO_ZEROS, PACKED_ZEROS, FLOAT_ZEROS } zero_kind;

static void try_bits(unsigned bits, zero_kind kind, bool groups, onx_dtype dtype) {
    static uint8_t b[NN * BLOCKS * BLOCK], packed[NN * BLOCKS];
    static float a[ROWS * NK], s[NN * BLOCKS], z[NN * BLOCKS], bias[NN];
    static char as[ROWS * NK * 4], ss[NN * BLOCKS * 4], zs[NN * BLOCKS * 4], cs[NN * 4];
    int32_t g[NK];
    char node[160], b_dims[32], z_dims[32];
    size_t row = (BLOCKS * bits + 7) / 8, column = BLOCKS * BLOCK * bits / 8;
    kernel_fill(a, ROWS * NK, 1, -1, 1);
    kernel_fill(s, NN * BLOCKS, 2, 0.5f, 2);
    kernel_fill(z, NN * BLOCKS, 3, 0, 5);
    kernel_fill(bias, NN, 4, -1, 1);
    kernel_fill_bytes(b, sizeof b, 5);
    kernel_fill_bytes(packed, sizeof packed, 6);
    for (size_t k = 0; k < NK; k++) g[k] = (int32_t)(k * 7 % BLOCKS);
    (void)snprintf(b_dims, sizeof b_dims, "%d,%d,%u", NN, BLOCKS, BLOCK * bits / 8);
    (void)snprintf(z_dims, sizeof z_dims, "%zu", NN * row);
    onx_operand in[] = {kernel_operand(dtype, "1,3,37", as),
                        kernel_operand(ONX_DTYPE_U8, b_dims, b),
                        kernel_operand(dtype, "5,3", ss),
                        kind == PACKED_ZEROS ? kernel_operand(ONX_DTYPE_U8, z_dims, packed)
                                             : kernel_operand(dtype, "15", zs),
                        kernel_operand(ONX_DTYPE_I32, "37", g),
                        kernel_operand(dtype, "5", cs)};
    const float *from[] = {a, NULL, s, z, NULL, bias};
    char *to[] = {as, NULL, ss, zs, NULL, cs};
    static const size_t counts[] = {ROWS * NK, 0, NN * BLOCKS, NN * BLOCKS, 0, NN};
    for (size_t i = 0; i < 6; i++) { /* what the type can hold of them */
        if (!from[i]) continue;
        (void)onx_dtype_convert(ONX_DTYPE_F32, from[i], dtype, to[i], counts[i], false);
        (void)onx_dtype_convert(dtype, to[i], ONX_DTYPE_F32, (float *)(uintptr_t)from[i], counts[i],
                                false);
    }
    (void)snprintf(node, sizeof node,
                   "y = " MS "MatMulNBits<K=37, N=5, bits=%u, block_size=16>(a, b, s, %s, %s, c)",
                   bits, kind ? "z" : "", groups ? "g" : "");
    kernel_result r = kernel_run("ref", 21, node, 6,
                                 (onx_operand *[]){&in[0], &in[1], &in[2], kind ? &in[3] : NULL,
                                                   groups ? &in[4] : NULL, &in[5]},
                                 0);
    if (!CHECK(r.status == ONX_OK)) fprintf(stderr, "    %s: %s\n", node, r.diag.message);
    REQUIRE(r.status == ONX_OK && r.out[0].count == ROWS * NN);
    static float got[ROWS * NN];
    (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F32, got, ROWS * NN, false);
    for (size_t i = 0; i < ROWS * NN; i++) {
        size_t n = i % NN;
        double y = (double)bias[n];
        for (size_t k = 0; k < NK; k++) {
            size_t block = groups ? (size_t)g[k] : k / BLOCK;
            double zero = kind == FLOAT_ZEROS    ? (double)z[n * BLOCKS + block]
                          : kind == PACKED_ZEROS ? code_at(packed + n * row, bits, block)
                                                 : pow(2, bits - 1);
            y += (double)a[i / NN * NK + k] * (code_at(b + n * column, bits, k) - zero) *
                 (double)s[n * BLOCKS + block];
        }
        double tolerance = dtype == ONX_DTYPE_F32 ? 1e-5 : dtype == ONX_DTYPE_F16 ? 1e-3 : 1e-2;
        if (!CHECK(fabs((double)got[i] - y) <= tolerance * (fabs(y) + 1))) {
            fprintf(stderr, "    %s: %g, not %g\n", node, (double)got[i], y);
            break;
        }
    }
    kernel_free(&r);
}

TEST(n_bits) {
    static const onx_dtype dtypes[] = {ONX_DTYPE_F32, ONX_DTYPE_F16, ONX_DTYPE_BF16};
    for (unsigned bits = 2; bits <= 8; bits++)
        for (int kind = NO_ZEROS; kind <= FLOAT_ZEROS; kind++)
            for (int groups = 0; groups < 2; groups++)
                for (size_t t = 0; t < 3; t++) try_bits(bits, (zero_kind)kind, groups, dtypes[t]);
}

/* ─ GatherBlockQuantized ─────────────────────────────────────────────────────────────────────── */

/* Data [3,4,40] in blocks of 16 along `quantize`, gathered along `gather`. */
static void try_gather(onx_dtype dtype, unsigned bits, size_t gather, size_t quantize, bool zeros) {
    static uint8_t data[3 * 4 * 40], zero[3 * 4 * 40];
    static float scales[3 * 4 * 40];
    static const size_t dims[] = {3, 4, 40};
    size_t groups[] = {3, 4, 40}, per = 8 / bits, rows = 12, count = 1;
    int32_t indices[] = {2, -1, 0, -3};
    char node[160], d_dims[40], s_dims[40], z_dims[40];
    bool packed = dtype == ONX_DTYPE_U8;
    groups[quantize] = (dims[quantize] + 15) / 16;
    for (size_t i = 0; i < 3; i++) count *= groups[i];
    size_t zero_row = packed ? (groups[2] + per - 1) / per : groups[2];
    kernel_fill(scales, count, 1, 0.5f, 2);
    kernel_fill_bytes(data, sizeof data, 2);
    kernel_fill_bytes(zero, sizeof zero, 3);
    (void)snprintf(d_dims, sizeof d_dims, "3,4,%zu", packed ? 40 / per : 40);
    (void)snprintf(s_dims, sizeof s_dims, "%zu,%zu,%zu", groups[0], groups[1], groups[2]);
    (void)snprintf(z_dims, sizeof z_dims, "%zu,%zu,%zu", groups[0], groups[1], zero_row);
    onx_operand in[] = {
        kernel_operand(dtype, d_dims, data), kernel_operand(ONX_DTYPE_I32, "2,2", indices),
        kernel_operand(ONX_DTYPE_F32, s_dims, scales), kernel_operand(dtype, z_dims, zero)};
    (void)snprintf(node, sizeof node,
                   "y = " MS "GatherBlockQuantized<bits=%u, block_size=16, gather_axis=%zu, "
                   "quantize_axis=%zu>(d, i, s%s)",
                   bits, gather, quantize, zeros ? ", z" : "");
    kernel_result r = kernel_run("ref", 21, node, zeros ? 4 : 3,
                                 (onx_operand *[]){&in[0], &in[1], &in[2], &in[3]}, 0);
    if (!CHECK(r.status == ONX_OK)) fprintf(stderr, "    %s: %s\n", node, r.diag.message);
    REQUIRE(r.status == ONX_OK && (size_t)r.out[0].count == rows * 40 / dims[gather] * 4);
    size_t wrong = 0, at = 0, outer = 1;
    for (size_t i = 0; i < gather; i++) outer *= dims[i];
    size_t inner = rows * 40 / dims[gather] / outer;
    for (size_t o = 0; o < outer; o++)
        for (size_t n = 0; n < 4; n++)
            for (size_t e = 0; e < inner; e++, at++) {
                size_t index = (size_t)(indices[n] + (indices[n] < 0 ? (int32_t)dims[gather] : 0));
                size_t from = (o * dims[gather] + index) * inner + e;
                size_t x[] = {from / 160, from / 40 % 4, from % 40};
                x[quantize] /= 16;
                size_t s = (x[0] * groups[1] + x[1]) * groups[2] + x[2];
                size_t z = packed ? (x[0] * groups[1] + x[1]) * zero_row * per + x[2] : s;
                int code = (int)code_at(data, bits, from);
                int less = zeros ? (int)code_at(zero, bits, z) : packed ? 1 << (bits - 1) : 0;
                if (dtype == ONX_DTYPE_I4) code = (code ^ 8) - 8, less = (less ^ 8) - 8;
                if (dtype == ONX_DTYPE_I4 && !zeros) less = 0;
                wrong += ((float *)r.out[0].data)[at] != (float)(code - less) * scales[s];
            }
    if (!CHECK(wrong == 0)) fprintf(stderr, "    %zu: %s\n", wrong, node);
    kernel_free(&r);
}

TEST(gather) {
    for (int zeros = 0; zeros < 2; zeros++) {
        for (size_t gather = 0; gather < 3; gather++)
            for (size_t quantize = 0; quantize < 3; quantize++) {
                try_gather(ONX_DTYPE_I4, 4, gather, quantize, zeros);
                try_gather(ONX_DTYPE_U4, 4, gather, quantize, zeros);
            }
        for (unsigned bits = 2; bits <= 8; bits *= 2) try_gather(ONX_DTYPE_U8, bits, 0, 2, zeros);
    }
}

/* ─ Pools ────────────────────────────────────────────────────────────────────────────────────── */

/* [2,C,7,6] or [2,7,6,C]; windows of 3 by 2, strides 2 and 1, a row of padding above. */
static void try_pool(onx_dtype dtype, bool last, bool padded) {
    enum { C = 3, IH = 7, IW = 6, OH = 3, OW = 5 };
    static uint8_t x[2 * C * IH * IW];
    uint8_t xz = 100, yz = 31;
    float xs = 0.5f, ys = 0.25f;
    char node[200];
    onx_operand in[] = {bytes_of(dtype, last ? "2,7,6,3" : "2,3,7,6", x, 1),
                        kernel_operand(ONX_DTYPE_F32, "", &xs), kernel_operand(dtype, "", &xz),
                        kernel_operand(ONX_DTYPE_F32, "", &ys), kernel_operand(dtype, "", &yz)};
    (void)snprintf(node, sizeof node,
                   "y = " MS
                   "QLinearAveragePool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,0,0], "
                   "channels_last=%d, count_include_pad=%d>(a, b, c, d, e)",
                   last, padded);
    kernel_result r = kernel_run("ref", 21, node, 5,
                                 (onx_operand *[]){&in[0], &in[1], &in[2], &in[3], &in[4]}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 2 * C * OH * OW);
    size_t wrong = 0;
    for (size_t i = 0; i < 2 * C * OH * OW; i++) {
        size_t ox = i % OW, oy = i / OW % OH, c = i / OW / OH % C, n = i / OW / OH / C;
        float sum = 0;
        size_t seen = 0;
        for (size_t y = oy * 2 - 1; y != oy * 2 + 2; y++)
            for (size_t px = ox; px < ox + 2; px++) {
                if (y >= IH) continue;
                size_t at =
                    last ? ((n * IH + y) * IW + px) * C + c : ((n * C + c) * IH + y) * IW + px;
                sum += xs * (float)(byte_at(dtype, x, at) - byte_at(dtype, &xz, 0));
                seen++;
            }
        float y = sum / (float)(padded ? 6 : seen) / ys + (float)byte_at(dtype, &yz, 0);
        size_t at = last ? ((n * OH + oy) * OW + ox) * C + c : i;
        wrong += byte_at(dtype, r.out[0].data, at) != clamped(dtype, nearbyint((double)y));
    }
    if (!CHECK(wrong == 0)) fprintf(stderr, "    %zu: %s\n", wrong, node);
    kernel_free(&r);
}

TEST(pools) {
    for (int i = 0; i < 8; i++) try_pool(bytes[i & 1], i & 2, i & 4);
}

TEST(global_pool) {
    uint8_t x[] = {0, 2, 4, 10, 20, 31}, zero = 3;
    float scale = 0.5f;
    onx_operand s = kernel_operand(ONX_DTYPE_F32, "", &scale), z;
    z = kernel_operand(ONX_DTYPE_U8, "", &zero);
    static const struct {
        const char *dims, *node;
        uint8_t want[3];
        int64_t count;
    } cases[] = {
        {"1,2,3", "y = " MS "QLinearGlobalAveragePool(a, b, c, b, c)", {2, 20}, 2},
        {"1,2,3",
         "y = " MS "QLinearGlobalAveragePool<channels_last=1>(a, b, c, b, c)",
         {5, 11, 17},
         3},
        {"1,2,0", "y = " MS "QLinearGlobalAveragePool(a, b, c, b, c)", {3, 3}, 2},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_operand in = kernel_operand(ONX_DTYPE_U8, cases[i].dims, x);
        kernel_result r =
            kernel_run("ref", 21, cases[i].node, 5, (onx_operand *[]){&in, &s, &z, &s, &z}, 0);
        REQUIRE(r.status == ONX_OK && r.out[0].count == cases[i].count);
        CHECK(memcmp(r.out[0].data, cases[i].want, (size_t)cases[i].count) == 0);
        kernel_free(&r);
    }
}

/* ─ Refusals ─────────────────────────────────────────────────────────────────────────────────── */

TEST(refusals) {
    static const struct {
        const char *node;
        const char *dims[9];
        const char *types; /* b: uint8, s: int8, f: float, i: int32, 4: uint4 */
        const char *words;
    } cases[] = {
        {"QLinearAdd", {"2", "2", "", "2", "", "", "", ""}, "bfbbfbfb", "must be a scalar"},
        {"QLinearAdd", {"2", "", "", "2", "", "", "", "0"}, "bfbbfbfb", "must be a scalar"},
        {"QLinearAdd", {"2", "", "", "3", "", "", "", ""}, "bfbbfbfb", ""},
        {"QLinearAdd", {"2", "", "", "2", "", "", "", ""}, "bfbsfsfb", ""},
        {"QLinearSigmoid", {"2", "", "", "2", ""}, "bfbfb", "must be a scalar"},
        {"QLinearConcat<axis=0>", {"", "", "2", ""}, "fbbf", "4 inputs are not"},
        {"QLinearConcat<axis=1>", {"", "", "2", "", ""}, "fbbfb", "axis"},
        {"QLinearConcat<axis=0>", {"", "", "2", "", ""}, "fbsfb", "inputs 2 to 4"},
        {"QLinearConcat<axis=0>", {"", "", "2", "", "", "2,1", "", ""}, "fbbfbbfb", "dimensions"},
        {"QLinearConcat<axis=0>",
         {"", "", "2,2", "", "", "2,1", "", ""},
         "fbbfbbfb",
         "dimension 1"},
        {"QGemm", {"2,3", "", "", "3,2", "", "", "3", "", ""}, "bfbbfbifb", "broadcasts to"},
        {"QGemm", {"2,3", "2", "", "3,2", "", "", "2", "", ""}, "bfbbfbifb", "of A must be"},
        {"QGemm", {"2,3", "", "", "3,2", "3", "", "2", "", ""}, "bfbbfbifb", "of B must be"},
        {"QGemm", {"2,3", "", "", "3,2", "", "", "2", "", ""}, "bfbbfbffb", "bias cannot"},
        {"QGemm", {"1,2,3", "", "", "3,2", "", ""}, "bfbbfb", "needs matrices"},
        {"MatMulIntegerToFloat", {"2,3", "3,2", "", "3"}, "bbff", "of B must be"},
        {"MatMulIntegerToFloat", {"2,3", "3,2", "", "", "", "", "3"}, "bbffbbf", "the bias must"},
        {"DynamicQuantizeMatMul", {"2,3", "3,2", "3"}, "fbf", "of B must be"},
        {"MatMulNBits<K=0, N=2, block_size=16>", {"1,1", "2,1,8", "2"}, "fbf", "K is 0"},
        {"MatMulNBits<K=3, N=2, block_size=24>", {"1,3", "2,1,8", "2"}, "fbf", "power of two"},
        {"MatMulNBits<K=3, N=2, block_size=0>", {"1,3", "2,1,8", "2"}, "fbf", "power of two"},
        {"MatMulNBits<K=3, N=2, bits=9, block_size=16>", {"1,3", "2,1,8", "2"}, "fbf", "bits is 9"},
        {"MatMulNBits<K=3, N=2, block_size=16>", {"1,4", "2,1,8", "2"}, "fbf", "rows of 3"},
        {"MatMulNBits<K=3, N=2, block_size=16>", {"", "2,1,8", "2"}, "fbf", "rows of 3"},
        {"MatMulNBits<K=3, N=2, block_size=16>", {"1,3", "2,1,7", "2"}, "fbf", "B must be [2,1,8]"},
        {"MatMulNBits<K=3, N=2, block_size=16>", {"1,3", "2,1,8", "3"}, "fbf", "scales must be"},
        {"MatMulNBits<K=3, N=2, block_size=16>", {"1,3", "2,1,8", "2", "3"}, "fbfb", "zero_points"},
        {"MatMulNBits<K=3, N=2, block_size=4611686018427387904>",
         {"1,3", "2,1,8", "2"},
         "fbf",
         "too large"},
        {"MatMulNBits<K=4611686018427387904, N=4611686018427387904, block_size=16>",
         {"1,3", "2,1,8", "2"},
         "fbf",
         "rows of 4611686018427387904"},
        {"MatMulNBits<K=3, N=2, block_size=16>", {"1,3", "2,1,8", "2", "2", "4"}, "fbfbi", "g_idx"},
        {"GatherBlockQuantized<block_size=8>", {"2,8", "1", "2,1"}, "bif", "power of two"},
        {"GatherBlockQuantized<block_size=16, bits=3>", {"2,8", "1", "2,1"}, "bif", "bits is 3"},
        {"GatherBlockQuantized<block_size=16, bits=8>", {"2,8", "1", "2,1"}, "4if", "bits is 8"},
        {"GatherBlockQuantized<block_size=16>", {"8", "1", "1"}, "bif", "at least 2"},
        {"GatherBlockQuantized<block_size=16, gather_axis=1>",
         {"2,8", "1", "2,1"},
         "bif",
         "of bytes"},
        {"GatherBlockQuantized<block_size=16, quantize_axis=2>",
         {"2,8", "1", "2,1"},
         "bif",
         "axis"},
        {"GatherBlockQuantized<block_size=16>", {"2,8", "1", "2,2"}, "bif", "scales must have"},
        {"GatherBlockQuantized<block_size=16>", {"2,8", "1", "2,1", "2,2"}, "bifb", "zero_points"},
        {"QLinearAveragePool<kernel_shape=[2]>", {"1,1,4", "2", "", "", ""}, "bfbfb", "scalar"},
        {"QLinearAveragePool<kernel_shape=[2]>", {"1,4", "", "", "", ""}, "bfbfb", "dimensions"},
        {"QLinearAveragePool<kernel_shape=[6], channels_last=1>",
         {"1,4,9", "", "", "", ""},
         "bfbfb",
         "the window spans 6"},
        {"QLinearGlobalAveragePool", {"1,4", "", "", "", ""}, "bfbfb", "dimensions"},
    };
    static char data[256];
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        static const onx_dtype of[] = {['b'] = ONX_DTYPE_U8,
                                       ['s'] = ONX_DTYPE_I8,
                                       ['f'] = ONX_DTYPE_F32,
                                       ['i'] = ONX_DTYPE_I32,
                                       ['4'] = ONX_DTYPE_U4};
        onx_operand in[9], *all[9];
        size_t n = strlen(cases[i].types);
        char node[200];
        (void)snprintf(node, sizeof node, "y = " MS "%s(a", cases[i].node);
        for (size_t k = 0; k < n; k++) {
            in[k] = kernel_operand(of[(unsigned char)cases[i].types[k]], cases[i].dims[k], data);
            all[k] = &in[k];
            if (k) (void)snprintf(node + strlen(node), 8, ", %c", (char)('a' + k));
        }
        strcat(node, ")");
        kernel_result r = kernel_run("ref", 21, node, n, all, 0);
        if (!CHECK((r.status == ONX_INVALID || r.status == ONX_LIMIT) && r.diag.message[0] &&
                   strstr(r.diag.message, cases[i].words)))
            fprintf(stderr, "    %s: %s, %s\n", node, onx_status_name(r.status), r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

/* Indices are looked at before anything is done with them. */
TEST(bad_indices) {
    static const int64_t bad[] = {2, -3, INT64_MAX, INT64_MIN};
    static const int32_t bad_groups[] = {1, -1, INT32_MAX, INT32_MIN};
    uint8_t data[16] = {0};
    float scales[2] = {1, 1}, a[16] = {0};
    for (size_t i = 0; i < ONX_COUNT(bad); i++) {
        int64_t indices[] = {0, bad[i]};
        int32_t groups[16] = {[15] = bad_groups[i]};
        onx_operand in[] = {kernel_operand(ONX_DTYPE_U8, "2,8", data),
                            kernel_operand(ONX_DTYPE_I64, "2", indices),
                            kernel_operand(ONX_DTYPE_F32, "2,1", scales),
                            kernel_operand(ONX_DTYPE_F32, "1,16", a),
                            kernel_operand(ONX_DTYPE_U8, "2,1,8", data),
                            kernel_operand(ONX_DTYPE_I32, "16", groups)};
        kernel_result r =
            kernel_run("ref", 21, "y = " MS "GatherBlockQuantized<block_size=16>(a, b, c)", 3,
                       (onx_operand *[]){&in[0], &in[1], &in[2]}, 0);
        CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "out of range"));
        r = kernel_run("ref", 21, "y = " MS "MatMulNBits<K=16, N=2, block_size=16>(a, b, c, , d)",
                       5, (onx_operand *[]){&in[3], &in[4], &in[2], NULL, &in[5]}, 0);
        CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "g_idx has"));
    }
}

/* ─ Networks ─────────────────────────────────────────────────────────────────────────────────── */

static void try_zoo(const char *name) {
    zoo_model zoo;
    onx_session *session = NULL;
    REQUIRE(zoo_load(NULL, name, &zoo));
    REQUIRE(onx_session_new(zoo.model, NULL, &session, NULL) == ONX_OK);
    onx_arg out = {0};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_session_run(session, zoo.n_in, zoo.in, 1, &out, NULL, &diag);
    if (!CHECK(status == ONX_OK)) fprintf(stderr, "    %s: %s\n", name, diag.message);
    if (status == ONX_OK) {
        double distance = zoo_distance(&zoo, 0, &out);
        if (!CHECK(distance <= 1e-2)) fprintf(stderr, "    %s: %g\n", name, distance);
    }
    onx_arg_clear(&out);
    onx_session_free(session);
    zoo_free(&zoo);
}

TEST(networks) {
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    try_zoo("mobilenet_v2_qop");
    try_zoo("resnet18_qdq");
}

TEST_MAIN(E(binary) E(concat) E(sigmoid) E(gemm) E(to_float) E(dynamic) E(n_bits) E(gather) E(pools)
              E(global_pool) E(refusals) E(bad_indices) E(networks))
