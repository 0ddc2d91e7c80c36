/* test_qbytes.c: products of bytes with packed weights, on every tier, against the plain kernels:
 * the same bits, for all types, zero points, groups and windows. */
#include "test.h"

#include <math.h>

#include "kernel.h"

enum { LARGE = 1 << 17 };

static uint64_t seed = 1;
static size_t pick(size_t n) { /* 0 … n-1 */
    uint8_t bytes[4];
    uint32_t x;
    kernel_fill_bytes(bytes, sizeof bytes, seed++);
    memcpy(&x, bytes, sizeof x);
    return x % n;
}

static void compare(const char *tier, const char *node, size_t n, onx_operand *const *in,
                    uint32_t constant) {
    kernel_result want = kernel_run("ref", 21, node, n, in, 0);
    kernel_result got = kernel_run(tier, 21, node, n, in, constant);
    REQUIRE(want.status == ONX_OK);
    bool same = got.status == ONX_OK && got.out[0].bytes == want.out[0].bytes &&
                memcmp(got.out[0].data, want.out[0].data, want.out[0].bytes) == 0;
    if (!CHECK(same))
        fprintf(stderr, "    %s on %s (%s): %s\n", node, tier, got.kernel ? got.kernel->name : "",
                got.diag.message);
    kernel_free(&want);
    kernel_free(&got);
}

/* ─ QConv ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct shape {
    int n, h, w, groups, ic, oc, kh, kw, stride, dilation, pad; /* ic, oc: of a group */
} shape;

/* The same node without scales. */
static void try_integers(const char *tier, const char *node, onx_operand *const *in) {
    char integers[300] = "y = onx.internal.QConvInteger";
    (void)snprintf(integers + strlen(integers), sizeof integers - strlen(integers), "%s",
                   strchr(node, '<'));
    compare(tier, integers, 4, in, 0xa);
}

/* `least`: all weights are the least there are, and all bytes the largest. */
static void try_conv(const char *tier, const shape *s, onx_dtype xt, onx_dtype wt, bool many,
                     bool zeros, bool least) {
    static uint8_t x[LARGE + 1], w[LARGE + 1], wz[512];
    static float ws[512];
    static int32_t bias[512];
    uint8_t xz = (uint8_t)pick(256), yz = (uint8_t)pick(256), plain = wt == ONX_DTYPE_U8 ? 128 : 0;
    float xs = 0.02f, ys = 0.7f + (float)(s->ic * s->kh * s->kw) / 50;
    size_t channels = (size_t)(s->groups * s->oc);
    char dims[3][64], node[300];
    REQUIRE(s->n * s->h * s->w * s->groups * s->ic < LARGE);
    REQUIRE(s->groups * s->oc * s->ic * s->kh * s->kw < LARGE && channels <= 512);
    kernel_fill_bytes(x, sizeof x, seed++);
    kernel_fill_bytes(w, sizeof w, seed++);
    kernel_fill_bytes(wz, sizeof wz, seed++);
    kernel_fill(ws, channels, seed++, 0.01f, 0.5f);
    kernel_fill_bytes((uint8_t *)bias, channels, seed++);
    for (size_t i = 0; i < sizeof wz; i++) wz[i] = zeros ? wz[i] % 32 : plain;
    if (least) {
        memset(x, xt == ONX_DTYPE_I8 ? 127 : 255, sizeof x);
        memset(w, wt == ONX_DTYPE_I8 ? 128 : 0, sizeof w);
        ys = 2000;
    }
    (void)snprintf(dims[0], sizeof dims[0], "%d,%d,%d,%d", s->n, s->h, s->w, s->groups * s->ic);
    (void)snprintf(dims[1], sizeof dims[1], "%zu,%d,%d,%d", channels, s->ic, s->kh, s->kw);
    (void)snprintf(dims[2], sizeof dims[2], "%zu", channels);
    (void)snprintf(node, sizeof node,
                   "y = onx.internal.QConv<group=%d, strides=[%d,%d], dilations=[%d,%d], "
                   "pads=[%d,%d,%d,%d]>(a, b, c, d, e, f, g, h, i)",
                   s->groups, s->stride, s->stride, s->dilation, s->dilation, s->pad, s->pad,
                   s->pad, s->pad);
    onx_operand in[] = {kernel_operand(xt, dims[0], x + 1),
                        kernel_operand(ONX_DTYPE_F32, "", &xs),
                        kernel_operand(xt, "", &xz),
                        kernel_operand(wt, dims[1], w + 1),
                        kernel_operand(ONX_DTYPE_F32, many ? dims[2] : "", ws),
                        kernel_operand(wt, many ? dims[2] : "", wz),
                        kernel_operand(ONX_DTYPE_F32, "", &ys),
                        kernel_operand(xt, "", &yz),
                        kernel_operand(ONX_DTYPE_I32, dims[2], bias)};
    onx_operand *all[9];
    for (size_t i = 0; i < 9; i++) all[i] = &in[i];
    compare(tier, node, many ? 9 : 8, all, many ? 0x1fe : 0x38);
    char *inputs = strstr(node, "(a,");
    (void)snprintf(inputs, 30, "(a, b, c, d)");
    try_integers(tier, node, (onx_operand *[]){all[0], all[3], all[2], all[5]});
}

TEST(convolutions) {
    static const shape shapes[] = {
        {1, 7, 9, 1, 3, 5, 3, 3, 2, 1, 1},      {2, 5, 6, 1, 4, 33, 1, 1, 1, 1, 0},
        {1, 9, 8, 1, 16, 40, 3, 3, 1, 1, 1},    {1, 11, 10, 1, 20, 16, 3, 3, 2, 2, 2},
        {2, 6, 7, 2, 8, 20, 3, 3, 1, 1, 1},     {1, 14, 14, 1, 64, 64, 1, 1, 1, 1, 0},
        {1, 6, 5, 3, 5, 7, 2, 2, 1, 1, 1},      {1, 20, 20, 1, 3, 8, 7, 7, 2, 1, 3},
        {1, 7, 7, 1, 1, 2, 3, 3, 1, 1, 1},      {1, 8, 70, 5, 1, 1, 3, 3, 1, 1, 1},
        {2, 9, 9, 80, 1, 1, 3, 3, 2, 1, 1},     {1, 12, 11, 64, 1, 1, 5, 5, 1, 1, 2},
        {1, 9, 50, 33, 1, 1, 3, 3, 1, 2, 2},    {1, 3, 3, 130, 1, 1, 3, 3, 1, 1, 0},
        {1, 6, 6, 4, 1, 2, 3, 3, 1, 1, 1},      {1, 5, 5, 16, 1, 1, 9, 1, 1, 1, 4},
        {1, 1, 1, 1, 128, 100, 1, 1, 1, 1, 0},  {2, 9, 40, 1, 3, 20, 3, 3, 1, 1, 0},
        {2, 4, 30, 1, 5, 7, 1, 1, 1, 1, 0},     {1, 9, 30, 1, 2, 9, 2, 5, 3, 1, 1},
        {2, 30, 30, 1, 8, 16, 3, 3, 2, 1, 1},   {1, 2, 3, 1, 8, 16, 5, 5, 1, 1, 3},
        {1, 9, 8, 1, 32, 100, 3, 3, 1, 1, 1},   {1, 6, 7, 1, 48, 60, 1, 1, 1, 1, 0},
        {2, 7, 7, 1, 80, 70, 1, 1, 1, 1, 0},    {1, 9, 9, 2, 40, 90, 1, 1, 1, 1, 0},
        {1, 12, 9, 1, 20, 110, 2, 3, 2, 1, 1},  {1, 8, 8, 1, 64, 130, 1, 1, 2, 1, 0},
        {2, 13, 12, 1, 32, 40, 3, 3, 1, 1, 1},  {1, 12, 15, 1, 38, 17, 3, 3, 1, 1, 0},
        {1, 13, 13, 1, 70, 100, 3, 3, 1, 1, 2}, {1, 25, 26, 1, 32, 40, 3, 3, 1, 1, 1},
        {1, 24, 27, 1, 38, 17, 3, 3, 1, 1, 0},  {1, 25, 29, 1, 34, 50, 3, 3, 1, 1, 2},
    };
    static const onx_dtype bytes[] = {ONX_DTYPE_U8, ONX_DTYPE_I8};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(shapes); i++)
            for (unsigned how = 0; how < 16; how++)
                try_conv(*tier, &shapes[i], bytes[how & 1], bytes[how >> 1 & 1], how & 4, how & 8,
                         false);
}

/* Sums as large as they get, of as many channels as Winograd's algorithm can always have, and of
 * more. */
TEST(largest_sums) {
    static const shape shapes[] = {{1, 24, 25, 1, 112, 20, 3, 3, 1, 1, 1},
                                   {1, 26, 24, 1, 132, 16, 3, 3, 1, 1, 1},
                                   {1, 13, 12, 1, 160, 20, 3, 3, 1, 1, 1}};
    static const onx_dtype bytes[] = {ONX_DTYPE_U8, ONX_DTYPE_I8};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(shapes); i++)
            for (unsigned how = 0; how < 4; how++)
                try_conv(*tier, &shapes[i], bytes[how & 1], bytes[how >> 1 & 1], true, false, true);
}

TEST(max_pools) {
    static uint8_t x[LARGE];
    kernel_fill_bytes(x, sizeof x, 5);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (int i = 0; i < 2; i++) {
            onx_operand in = kernel_operand(i ? ONX_DTYPE_I8 : ONX_DTYPE_U8, "2,9,11,37", x + i);
            compare(*tier,
                    "y = onx.internal.QMaxPool<kernel_shape=[3,2], strides=[2,1], dilations=[1,2], "
                    "pads=[1,0,2,1]>(x)",
                    1, (onx_operand *[]){&in}, 0);
        }
}

TEST(average_pools) {
    static uint8_t x[LARGE];
    static const char *const how[] = {
        "kernel_shape=[3,2], strides=[2,1], pads=[1,0,2,1]",
        "kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1",
        "kernel_shape=[9,8], strides=[9,1]", /* more taps than are gathered */
        "kernel_shape=[2,2], strides=[2,2], ceil_mode=1",
    };
    uint8_t xz = 100, yz = 31;
    float xs = 0.5f, ys = 0.37f;
    char node[300];
    kernel_fill_bytes(x, sizeof x, 6);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < 2 * ONX_COUNT(how); i++) {
            onx_dtype type = i & 1 ? ONX_DTYPE_I8 : ONX_DTYPE_U8;
            onx_operand in[] = {
                kernel_operand(type, "2,9,11,37", x + i), kernel_operand(ONX_DTYPE_F32, "", &xs),
                kernel_operand(type, "", &xz), kernel_operand(ONX_DTYPE_F32, "", &ys),
                kernel_operand(type, "", &yz)};
            (void)snprintf(node, sizeof node,
                           "y = com.microsoft.QLinearAveragePool<channels_last=1, %s>"
                           "(a, b, c, d, e)",
                           how[i / 2]);
            compare(*tier, node, 5, (onx_operand *[]){&in[0], &in[1], &in[2], &in[3], &in[4]}, 0);
        }
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct product {
    const char *node;
    const char *inputs; /* a x b: matrices; s t u: scales of a, b, y; y v z: zero points of a, b, y;
                           i f: bias */
} product;

/* `how`: bits: types of a and b; a list of scales; odd zero points of b; a constant b. */
static void try_product(const char *tier, const product *p, size_t m, size_t k, size_t n,
                        unsigned how) {
    static uint8_t a[LARGE + 1], b[LARGE + 1], bz[512];
    static float fa[LARGE], bs[512], fbias[512];
    static int32_t bias[512];
    onx_dtype at = how & 1 ? ONX_DTYPE_I8 : ONX_DTYPE_U8;
    onx_dtype bt = how & 2 ? ONX_DTYPE_I8 : ONX_DTYPE_U8;
    bool many = how & 4, batched = strstr(p->node, "Gemm") == NULL;
    uint8_t az = (uint8_t)pick(256), yz = (uint8_t)pick(256);
    float as = 0.02f, ys = 1.1f;
    char dims[3][64], node[300];
    REQUIRE(2 * m * k < LARGE && k * n < LARGE && n <= 512);
    kernel_fill_bytes(a, sizeof a, seed++);
    kernel_fill_bytes(b, sizeof b, seed++);
    kernel_fill_bytes(bz, sizeof bz, seed++);
    kernel_fill(fa, 2 * m * k, seed++, -2, 3);
    kernel_fill(bs, n, seed++, 0.01f, 0.1f);
    kernel_fill(fbias, n, seed++, -1, 1);
    kernel_fill_bytes((uint8_t *)bias, n, seed++);
    for (size_t i = 0; i < sizeof bz && !(how & 8); i++) bz[i] = bt == ONX_DTYPE_U8 ? 128 : 0;
    bool turned = strstr(p->node, "transB=1") != NULL, left = strstr(p->node, "transA=1") != NULL;
    (void)snprintf(dims[0], sizeof dims[0], "%s%zu,%zu", batched ? "2," : "", left ? k : m,
                   left ? m : k);
    (void)snprintf(dims[1], sizeof dims[1], "%zu,%zu", turned ? n : k, turned ? k : n);
    (void)snprintf(dims[2], sizeof dims[2], "%zu", n);
    onx_operand in[] = {
        kernel_operand(at, dims[0], a + 1),
        kernel_operand(bt, dims[1], b + 1),
        kernel_operand(ONX_DTYPE_F32, "", &as),
        kernel_operand(ONX_DTYPE_F32, many ? dims[2] : "", bs),
        kernel_operand(at, "", &az),
        kernel_operand(bt, many ? dims[2] : "", bz),
        kernel_operand(ONX_DTYPE_F32, "", &ys),
        kernel_operand(at, "", &yz),
        kernel_operand(ONX_DTYPE_I32, dims[2], bias),
        kernel_operand(ONX_DTYPE_F32, dims[2], fbias),
        kernel_operand(ONX_DTYPE_F32, dims[0], fa),
    };
    onx_operand *all[10];
    size_t n_in = strlen(p->inputs), used = (size_t)snprintf(node, sizeof node, "y = %s(", p->node);
    uint32_t constant = 0;
    for (size_t i = 0; i < n_in; i++) {
        all[i] = &in[strchr("abstyvuzifx", p->inputs[i]) - "abstyvuzifx"];
        if (strchr("tvif", p->inputs[i]) || (how & 16 && p->inputs[i] == 'b')) constant |= 1u << i;
        used += (size_t)snprintf(node + used, sizeof node - used, "%s%c", i ? ", " : "",
                                 (int)('a' + i));
    }
    (void)snprintf(node + used, sizeof node - used, ")");
    compare(tier, node, n_in, all, constant);
}

TEST(products) {
#define MS "com.microsoft."
    static const product products[] = {
        {"MatMulInteger", "abyv"},
        {"QLinearMatMul", "asybtvuz"},
        {MS "QGemm<alpha=0.5, transB=1>", "asybtviuz"},
        {MS "QGemm<transA=1>", "asybtvi"},
        {MS "MatMulIntegerToFloat", "abstyvf"},
        {MS "DynamicQuantizeMatMul", "xbtvf"},
    };
    static const size_t sizes[][3] = {{1, 64, 33}, {5, 7, 3},    {13, 32, 64}, {30, 100, 20},
                                      {3, 1, 1},   {50, 16, 17}, {1, 255, 70}, {101, 12, 100}};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(products); i++)
            for (size_t s = 0; s < ONX_COUNT(sizes); s++)
                for (unsigned how = 0; how < 32; how++)
                    try_product(*tier, &products[i], sizes[s][0], sizes[s][1], sizes[s][2], how);
}

/* Both sides have many matrices. */
TEST(batches) {
    static uint8_t a[2 * 3 * 5 * 24], b[3 * 24 * 40];
    uint8_t az = 7, bz = 200, yz = 100;
    float as = 0.02f, bs = 0.05f, ys = 1.5f;
    kernel_fill_bytes(a, sizeof a, 3);
    kernel_fill_bytes(b, sizeof b, 4);
    onx_operand in[] = {
        kernel_operand(ONX_DTYPE_U8, "2,3,5,24", a), kernel_operand(ONX_DTYPE_F32, "", &as),
        kernel_operand(ONX_DTYPE_U8, "", &az),       kernel_operand(ONX_DTYPE_U8, "3,24,40", b),
        kernel_operand(ONX_DTYPE_F32, "", &bs),      kernel_operand(ONX_DTYPE_U8, "", &bz),
        kernel_operand(ONX_DTYPE_F32, "", &ys),      kernel_operand(ONX_DTYPE_U8, "", &yz)};
    onx_operand *all[8];
    for (size_t i = 0; i < 8; i++) all[i] = &in[i];
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (uint32_t constant = 0; constant < 256; constant += 51)
            compare(*tier, "y = QLinearMatMul(a, b, c, d, e, f, g, h)", 8, all, constant);
}

TEST(dynamic_ranges) {
    static float x[1000];
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t n = 1; n < 1000; n += 37)
            for (int odd = 0; odd < 2; odd++) {
                char dims[20];
                kernel_fill(x, n, n, -3, 2);
                if (odd) x[n / 2] = (float)NAN;
                (void)snprintf(dims, sizeof dims, "%zu", n);
                onx_operand in = kernel_operand(ONX_DTYPE_F32, dims, x);
                compare(*tier, "y, s, z = DynamicQuantizeLinear(x)", 1, (onx_operand *[]){&in}, 0);
            }
}

TEST(tables) {
    uint8_t table[256], x[1000];
    kernel_fill_bytes(table, sizeof table, 1);
    kernel_fill_bytes(x, sizeof x, 2);
    onx_operand in[] = {kernel_operand(ONX_DTYPE_I8, "10,100", x),
                        kernel_operand(ONX_DTYPE_U8, "256", table),
                        kernel_operand(ONX_DTYPE_U8, "4,64", table)};
    kernel_result r = kernel_run("ref", 21, "y = onx.internal.QTable(x, t)", 2,
                                 (onx_operand *[]){&in[0], &in[1]}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].dtype == ONX_DTYPE_U8 && r.out[0].count == 1000);
    for (size_t i = 0; i < 1000; i++) CHECK(((uint8_t *)r.out[0].data)[i] == table[x[i]]);
    kernel_free(&r);
    r = kernel_run("ref", 21, "y = onx.internal.QTable(x, t)", 2, (onx_operand *[]){&in[0], &in[2]},
                   0);
    CHECK_EQ(r.status, ONX_INVALID);
    kernel_free(&r);
}

/* ─ MatMulNBits ──────────────────────────────────────────────────────────────────────────────── */

static void try_bits(const char *tier, size_t m, size_t k, size_t n, size_t block, unsigned bits,
                     bool zeros, bool bias, int level) {
    static float a[LARGE], scales[LARGE], more[512];
    static uint8_t b[LARGE], z[LARGE];
    size_t blocks = (k + block - 1) / block;
    char dims[5][64], node[200];
    REQUIRE(m * k < LARGE && n * blocks * block / 8 * bits < LARGE && n <= 512);
    kernel_fill(a, m * k, seed++, -1, 1);
    kernel_fill(scales, n * blocks, seed++, 0.01f, 0.1f);
    kernel_fill(more, n, seed++, -1, 1);
    kernel_fill_bytes(b, sizeof b, seed++);
    kernel_fill_bytes(z, sizeof z, seed++);
    (void)snprintf(dims[0], sizeof dims[0], "%zu,%zu", m, k);
    (void)snprintf(dims[1], sizeof dims[1], "%zu,%zu,%zu", n, blocks, block * bits / 8);
    (void)snprintf(dims[2], sizeof dims[2], "%zu,%zu", n, blocks);
    (void)snprintf(dims[3], sizeof dims[3], "%zu,%zu", n, (blocks * bits + 7) / 8);
    (void)snprintf(dims[4], sizeof dims[4], "%zu", n);
    (void)snprintf(node, sizeof node,
                   "y = com.microsoft.MatMulNBits<K=%zu, N=%zu, bits=%u, block_size=%zu, "
                   "accuracy_level=%d>(a, b, s, %s, , %s)",
                   k, n, bits, block, level, zeros ? "z" : "", bias ? "c" : "");
    onx_operand in[] = {
        kernel_operand(ONX_DTYPE_F32, dims[0], a), kernel_operand(ONX_DTYPE_U8, dims[1], b),
        kernel_operand(ONX_DTYPE_F32, dims[2], scales), kernel_operand(ONX_DTYPE_U8, dims[3], z),
        kernel_operand(ONX_DTYPE_F32, dims[4], more)};
    onx_operand *all[] = {
        &in[0], &in[1], &in[2], zeros ? &in[3] : NULL, NULL, bias ? &in[4] : NULL};
    kernel_result want = kernel_run("ref", 21, node, 6, all, 0);
    kernel_result got = kernel_run(tier, 21, node, 6, all, 0);
    REQUIRE(want.status == ONX_OK && got.status == ONX_OK);
    /* Else A may be rounded to 15 bits, and sums are up to a thousand times as large as a. */
    if (!CHECK(kernel_distance(&got.out[0], &want.out[0]) < (level == 1 ? 1e-4 : 2e-2)))
        fprintf(stderr, "    %s on %s\n", node, tier);
    kernel_free(&want);
    kernel_free(&got);
}

TEST(few_bits) {
    static const size_t sizes[][4] = {{1, 64, 5, 32},    {1, 300, 33, 64}, {3, 70, 20, 16},
                                      {7, 256, 17, 128}, {1, 33, 1, 256},  {5, 96, 40, 32},
                                      {19, 80, 45, 16},  {6, 100, 3, 16},  {40, 64, 70, 32}};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(sizes); i++)
            for (unsigned how = 0; how < 16; how++)
                try_bits(*tier, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], how & 1 ? 8 : 4,
                         how & 2, how & 4, how & 8 ? 1 : 0);
}

TEST_MAIN(E(convolutions) E(largest_sums) E(max_pools) E(average_pools) E(products) E(batches)
              E(dynamic_ranges) E(tables) E(few_bits))
