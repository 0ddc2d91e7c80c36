/* test_qbytes.c: products of bytes with packed weights, on every tier, against the plain kernels: the
 * same bits, for all types, zero points, groups and windows. */
#include "test.h"

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

static void try_conv(const char *tier, const shape *s, onx_dtype xt, onx_dtype wt, bool many,
                     bool zeros) {
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
}

TEST(convolutions) {
    static const shape shapes[] = {
        {1, 7, 9, 1, 3, 5, 3, 3, 2, 1, 1},     {2, 5, 6, 1, 4, 33, 1, 1, 1, 1, 0},
        {1, 9, 8, 1, 16, 40, 3, 3, 1, 1, 1},   {1, 11, 10, 1, 20, 16, 3, 3, 2, 2, 2},
        {2, 6, 7, 2, 8, 20, 3, 3, 1, 1, 1},    {1, 14, 14, 1, 64, 64, 1, 1, 1, 1, 0},
        {1, 6, 5, 3, 5, 7, 2, 2, 1, 1, 1},     {1, 20, 20, 1, 3, 8, 7, 7, 2, 1, 3},
        {1, 7, 7, 1, 1, 2, 3, 3, 1, 1, 1},     {1, 8, 70, 5, 1, 1, 3, 3, 1, 1, 1},
        {2, 9, 9, 80, 1, 1, 3, 3, 2, 1, 1},    {1, 12, 11, 64, 1, 1, 5, 5, 1, 1, 2},
        {1, 9, 50, 33, 1, 1, 3, 3, 1, 2, 2},   {1, 3, 3, 130, 1, 1, 3, 3, 1, 1, 0},
        {1, 6, 6, 4, 1, 2, 3, 3, 1, 1, 1},     {1, 5, 5, 16, 1, 1, 9, 1, 1, 1, 4},
        {1, 1, 1, 1, 128, 100, 1, 1, 1, 1, 0},
    };
    static const onx_dtype bytes[] = {ONX_DTYPE_U8, ONX_DTYPE_I8};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(shapes); i++)
            for (unsigned how = 0; how < 16; how++)
                try_conv(*tier, &shapes[i], bytes[how & 1], bytes[how >> 1 & 1], how & 4, how & 8);
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

TEST_MAIN(E(convolutions) E(max_pools))
