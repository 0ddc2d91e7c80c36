/* conv.h: two-dimensional convolution of float32, into the blocked layout.
 *
 * The blocked layout keeps b neighbouring channels together, b being the lanes of a vector:
 *
 *     plain    [n][c][h][w]            blocked    [n][ceil(c/b)][h][w][b]
 *
 * Lanes past the last channel exist in memory; as inputs they may be anything and reach no other
 * lane, as outputs they are written. With groups, each group begins a new block.
 *
 * Three algorithms share one interface: `direct` reads a blocked input, `plain` a plain one (the
 * first layer of a network, few channels), `depthwise` has one channel per group. The work is cut
 * into tasks by shape alone and each output is summed by one task in one order, so results do not
 * depend on who runs which task. Nothing here allocates or fails: the caller has checked the
 * geometry, and that every tensor's size fits in memory.
 *
 * Accuracy: |y - exact| <= (ic*kh*kw + 2) * eps * (|bias| + |residual| + sum |x||w|), eps = 2^-24
 * (2^-23 where the instruction set has no fused multiply-add).
 */
#ifndef ONX_CONV_H
#define ONX_CONV_H

#include "base/base.h"

/* Geometry. Output (oy, ox) reads input (oy*sh - top + ky*dh, ox*sw - left + kx*dw), or zero where
 * that is outside. Every count is at least 1 except n. */
typedef struct onx_conv {
    size_t n, groups, ic, oc; /* ic, oc: channels per group */
    size_t ih, iw, oh, ow, kh, kw;
    size_t sh, sw, dh, dw, top, left;
} onx_conv;

typedef struct onx_conv_args {
    const float *x;        /* as the algorithm reads it */
    const float *w;        /* packed */
    const float *bias;     /* [groups*oc], or NULL */
    const float *residual; /* as y, added before the clamp; may be y itself; or NULL */
    float lo, hi;          /* y is clamped to these; NaN stays NaN */
    float *y;              /* [n][groups*ceil(oc/b)][oh][ow][b] */
    bool fetches;          /* weights are fetched into the second-level cache before their time */
    const char *ahead;     /* and so are these bytes, by `direct`; NULL: none */
    size_t ahead_bytes;
    /* Done last, to n finished outputs at a time (whole vectors) that are in the cache; or NULL. */
    void (*then)(void *user, float *y, size_t n);
    void *user;
} onx_conv_args;

typedef struct onx_conv_algorithm {
    size_t block; /* b */
    /* Floats of the packed weights, or 0 when that is too many to count. */
    size_t (*weights)(const onx_conv *c);
    /* w: [groups*oc][ic][kh][kw]. Packs one of so many parts of the weights: in any order, or at
     * the same time. */
    size_t (*parts)(const onx_conv *c);
    void (*pack)(const onx_conv *c, const float *w, size_t part, float *packed);
    size_t (*tasks)(const onx_conv *c);
    size_t (*scratch)(const onx_conv *c); /* bytes that `run` needs, aligned to 64 */
    void (*run)(const onx_conv *c, const onx_conv_args *a, size_t task, void *scratch);
} onx_conv_algorithm;

/* One of `count` bands in which an image is made. */
typedef struct onx_conv_band {
    size_t index, count;
} onx_conv_band;

/* Algorithms in two steps, one band of an image at a time: `in` makes what all tasks of `out` read.
 * They are faster where they fit and are worth it, but neither infinity nor NaN stays within its
 * window: `pack` and `in` return false when weights or inputs have them, or are so large that sums
 * could overflow. Then the caller computes the image by `direct`; only bands before that one have
 * been written to y. */
typedef struct onx_conv_staged {
    bool (*fits)(const onx_conv *c);
    bool (*worth)(const onx_conv *c);     /* for images of this size */
    size_t (*weights)(const onx_conv *c); /* floats; 0: `out` reads those of `direct` */
    size_t (*parts)(const onx_conv *c);   /* of the weights: packed in any order */
    bool (*pack)(const onx_conv *c, const float *w, size_t part, float *packed);
    size_t (*bands)(const onx_conv *c); /* that need little memory; the caller may make fewer */
    size_t (*shared)(const onx_conv *c, size_t bands); /* floats, for each band */
    size_t (*in_tasks)(const onx_conv *c);
    bool (*in)(const onx_conv *c, const float *x, float *shared, onx_conv_band band, size_t task);
    size_t (*out_tasks)(const onx_conv *c, onx_conv_band band);
    size_t (*scratch)(const onx_conv *c); /* bytes */
    void (*out)(const onx_conv *c, const onx_conv_args *a, const float *shared, onx_conv_band band,
                size_t task, void *scratch);
    /* Are bands best made at the same time, each by one thread with a `shared` of its own? Then
     * all of y may have been written when one does not fit. NULL: never. */
    bool (*apart)(const onx_conv *c);
} onx_conv_staged;

/* Winograd's algorithm for kernels of 3x3 and 5x5 with stride 1, and 3x3 with stride 2. Of 3x3 a
 * quarter of the products (with stride 2: 56%) and four times the weights, of 5x5 36% and 1.44
 * times. Outputs are made in tiles of 4x4 (2x2) from 6x6 (9x9) inputs, and errors are relative to
 * the largest of those:
 *
 *     |y - exact| <= 205 * (ic + 20) * eps * S       S = sum over ic of max|x| sum|w|
 *
 * (plus that of adding bias and residual) is certain; on data that are not made for it the error
 * stays below 8 * eps * S, about twice that of direct sums, or with stride 2 as large as that. */
#define ONX_CONV_TIER(isa)                                                                         \
    extern const onx_conv_algorithm onx_conv_direct_##isa, onx_conv_plain_##isa,                   \
        onx_conv_depthwise_##isa;                                                                  \
    extern const onx_conv_staged onx_conv_winograd_##isa;
#include "cpu/isa.def"
ONX_ISAS(ONX_CONV_TIER)

/* For weights that are float16, in the blocks of avx512: any sizes, strides up to 4, small windows.
 *
 *     |y - exact| <= (2^10 + 3*ic*kh*kw + 2) * eps * (|bias| + |residual| + sum |x||w|)
 *
 * is certain; with half of the 2^10 where x is float16, too. */
extern const onx_conv_staged onx_conv_half_amx;
/* The same for windows of 1x1, in 16-bit integers: with |.| the root of the sum of squares over 32
 * neighbouring channels,
 *
 *     |y - exact| <= 2^-12.5 sum |x||w|  + (ic/32 + 3) * eps * (|bias| + |residual| + sum |x||w|)
 */
extern const onx_conv_staged onx_conv_half_vnni;

/* For numerics FAST, as that: all factors are rounded to bfloat16 (cpu/gemm_bf16.h). */
extern const onx_conv_staged onx_conv_rounded_amx;

#endif
