/* qwinograd_simd.c: what surrounds the products of a convolution of bytes by Winograd's algorithm
 * in integers (ops/quant/bytes_winograd_ref.c): of a square of pixels, as many numbers for each
 * channel; of as many sums for each column, the outputs. All of it is exact. */
#include "cpu/qbytes.h"
#include "cpu/qgemm.h"
#include "cpu/vec_pairs.h"

enum { MOST_OUTS = 4, MOST_SIDE = MOST_OUTS + 2, VECTORS = 2, COLUMNS = VECTORS * VF };
#define INLINE static inline __attribute__((always_inline))

/* ── Pixels ── */

/* B' d. */
INLINE void in_line(const v16 *d, size_t step, size_t outs, v16 *to) {
    v16 d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (outs == 2) {
        to[0] = d0 - d2;
        to[step] = d1 + d2;
        to[2 * step] = d2 - d1;
        to[3 * step] = d1 - d3;
        return;
    }
    v16 d4 = d[4 * step], d5 = d[5 * step];
    v16 even = d4 - (d2 << 2), odd = d3 - (d1 << 2), even2 = d4 - d2, odd2 = (d3 - d1) << 1;
    to[0] = ((d0 - d2) << 2) + even2;
    to[step] = even + odd;
    to[2 * step] = even - odd;
    to[3 * step] = even2 + odd2;
    to[4 * step] = even2 - odd2;
    to[5 * step] = ((d1 - d3) << 2) + (d5 - d3);
}

/* Of V16 channels. */
INLINE void in_some(const uint8_t *const *pixels, size_t c, uint8_t flip, size_t outs, int16_t *to,
                    size_t next) {
    const size_t side = outs + 2;
    v16 d[MOST_SIDE * MOST_SIDE], t[MOST_SIDE * MOST_SIDE];
    VF_UNROLL
    for (size_t x = 0; x < side; x++) {
        VF_UNROLL
        for (size_t y = 0; y < side; y++)
            d[y * side + x] = v16_load_u8(pixels[y * side + x] + c, flip);
        in_line(d + x, side, outs, t + x);
    }
    VF_UNROLL
    for (size_t y = 0; y < side; y++) {
        in_line(t + y * side, 1, outs, d);
        VF_UNROLL
        for (size_t x = 0; x < side; x++) memcpy(to + (y * side + x) * next + c, &d[x], sizeof *d);
    }
}

INLINE void in_all(const uint8_t *const *pixels, size_t channels, uint8_t flip, size_t outs,
                   int16_t *to, size_t next) {
    for (size_t c = 0; c < channels; c += V16)
        in_some(pixels, channels - c < V16 ? channels - V16 : c, flip, outs, to, next);
}
static void in_2(const uint8_t *const *pixels, size_t channels, uint8_t flip, int16_t *to,
                 size_t next) {
    in_all(pixels, channels, flip, 2, to, next);
}
static void in_4(const uint8_t *const *pixels, size_t channels, uint8_t flip, int16_t *to,
                 size_t next) {
    in_all(pixels, channels, flip, 4, to, next);
}

/* ── Outputs ── */

/* A' m; of the larger squares 24 times that, of m that lack parts of 24. */
INLINE void out_line(const vu *m, size_t outs, vu *to, size_t step) {
    vu m0 = m[0], sum = m[1] + m[2], less = m[1] - m[2];
    if (outs == 2) {
        to[0] = m0 + sum;
        to[step] = less - m[3];
        return;
    }
    vu sum2 = m[3] + m[4], less2 = m[3] - m[4], m5 = m[5];
    vu less4 = less << 2;
    to[0] = (m0 << 2) + (m0 << 1) + (sum << 2) + sum2;
    to[step] = less4 + (less2 << 1);
    to[2 * step] = (sum + sum2) << 2;
    to[3 * step] = less4 + ((less2 + m5) << 3) + (m5 << 4);
}

/* Of VF columns: the sums of products. */
INLINE void out_some(const int32_t *sums, size_t next, size_t outs, vi *out) {
    const size_t side = outs + 2;
    vu m[MOST_SIDE], t[MOST_OUTS * MOST_SIDE], all[MOST_OUTS];
    VF_UNROLL
    for (size_t x = 0; x < side; x++) {
        VF_UNROLL
        for (size_t y = 0; y < side; y++) memcpy(&m[y], sums + (y * side + x) * next, sizeof m[y]);
        out_line(m, outs, t + x, side);
    }
    VF_UNROLL
    for (size_t y = 0; y < outs; y++) {
        out_line(t + y * side, outs, all, 1);
        VF_UNROLL
        for (size_t x = 0; x < outs; x++)
            out[y * outs + x] =
                outs == 2 ? (vi)all[x] >> 2 : (vi)(all[x] * 954437177u) >> 6; /* 9 * that is 1 */
    }
}

INLINE void out_all(const int32_t *sums, size_t next, const onx_qend *end, size_t col, size_t n,
                    size_t outs, uint8_t *const *y) {
    const vq q = vq_of(end);
    vi all[VECTORS][MOST_OUTS * MOST_OUTS];
    VF_UNROLL
    for (size_t v = 0; v < VECTORS; v++) {
        vu offsets;
        memcpy(&offsets, end->offsets + col + v * VF, sizeof offsets);
        vf factors = vf_load(end->factors + col + v * VF);
        out_some(sums + v * VF, next, outs, all[v]);
        VF_UNROLL
        for (size_t i = 0; i < outs * outs; i++)
            all[v][i] = vq_round(&q, (vi)((vu)all[v][i] + offsets), factors);
    }
    for (size_t i = 0; i < outs * outs; i += 2) {
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
static void out_2(const int32_t *sums, size_t next, const onx_qend *end, size_t col, size_t n,
                  uint8_t *const *y) {
    out_all(sums, next, end, col, n, 2, y);
}
static void out_4(const int32_t *sums, size_t next, const onx_qend *end, size_t col, size_t n,
                  uint8_t *const *y) {
    out_all(sums, next, end, col, n, 4, y);
}

const onx_qwinograd ONX_TIER(onx_qwinograd)[ONX_QWINOGRADS] = {
    {.outs = 2, .least = V16, .in = in_2, .out = out_2},
    {.outs = 4, .least = V16, .in = in_4, .out = out_4},
};
