/* qwinograd_simd.c: what surrounds the products of a convolution of bytes by Winograd's
 * F(2 x 2, 3 x 3) in integers (ops/quant/bytes_winograd_ref.c): of a square of 4 x 4 pixels, 16
 * numbers for each channel; of 16 sums for each column, 2 x 2 outputs. All of it is exact. */
#include "cpu/qbytes.h"
#include "cpu/qgemm.h"
#include "cpu/vec_pairs.h"

enum { SIDE = 4, SQUARE = SIDE * SIDE, VECTORS = 2, COLUMNS = VECTORS * VF };

/* B' d B for V16 channels. */
static inline void in_some(const uint8_t *const *pixels, size_t c, uint8_t flip, int16_t *to,
                           size_t next) {
    v16 d[SQUARE], t[SQUARE];
    VF_UNROLL
    for (size_t i = 0; i < SQUARE; i++) d[i] = v16_load_u8(pixels[i] + c, flip);
    VF_UNROLL
    for (size_t x = 0; x < SIDE; x++) {
        t[x] = d[x] - d[8 + x];
        t[4 + x] = d[4 + x] + d[8 + x];
        t[8 + x] = d[8 + x] - d[4 + x];
        t[12 + x] = d[4 + x] - d[12 + x];
    }
    VF_UNROLL
    for (size_t y = 0; y < SIDE; y++) {
        const v16 *r = t + y * SIDE;
        v16 all[SIDE] = {r[0] - r[2], r[1] + r[2], r[2] - r[1], r[1] - r[3]};
        VF_UNROLL
        for (size_t x = 0; x < SIDE; x++)
            memcpy(to + (y * SIDE + x) * next + c, &all[x], sizeof all[x]);
    }
}

static void in(const uint8_t *const *pixels, size_t channels, uint8_t flip, int16_t *to,
               size_t next) {
    for (size_t c = 0; c < channels; c += V16)
        in_some(pixels, channels - c < V16 ? channels - V16 : c, flip, to, next);
}

/* A' m A of VF columns, which is 4 times the sums. */
static inline void out_some(const int32_t *sums, size_t next, vi out[4]) {
    vu m[SQUARE], t[2 * SIDE];
    VF_UNROLL
    for (size_t i = 0; i < SQUARE; i++) memcpy(&m[i], sums + i * next, sizeof m[i]);
    VF_UNROLL
    for (size_t x = 0; x < SIDE; x++) {
        t[x] = m[x] + m[4 + x] + m[8 + x];
        t[4 + x] = m[4 + x] - m[8 + x] - m[12 + x];
    }
    VF_UNROLL
    for (size_t y = 0; y < 2; y++) {
        const vu *r = t + y * SIDE;
        out[2 * y] = (vi)(r[0] + r[1] + r[2]) >> 2;
        out[2 * y + 1] = (vi)(r[1] - r[2] - r[3]) >> 2;
    }
}

static void out(const int32_t *sums, size_t next, const onx_qend *end, size_t col, size_t n,
                uint8_t *const y[4]) {
    const vq q = vq_of(end);
    vi all[VECTORS][4];
    VF_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        vu offsets;
        memcpy(&offsets, end->offsets + col + v * VF, sizeof offsets);
        vf factors = vf_load(end->factors + col + v * VF);
        out_some(sums + v * VF, next, all[v]);
        VF_UNROLL
        for (size_t i = 0; i < 4; i++)
            all[v][i] = vq_round(&q, (vi)((vu)all[v][i] + offsets), factors);
    }
    for (size_t i = 0; i < 4; i += 2) {
        vo two = vq_bytes(&q, all[0][i], all[1][i], all[0][i + 1], all[1][i + 1]);
        for (size_t o = 0; o < 2; o++) {
            const char *from = (const char *)&two + o * COLUMNS;
            if (y[i + o] && n >= COLUMNS)
                memcpy(y[i + o], from, COLUMNS);
            else if (y[i + o])
                memcpy(y[i + o], from, n);
        }
    }
}

const onx_qwinograd ONX_TIER(onx_qwinograd) = {.least = V16, .in = in, .out = out};
