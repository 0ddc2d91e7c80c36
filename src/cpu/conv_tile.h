/* conv_tile.h: what the convolutions share: a tile of sums held in registers, PIXELS outputs of
 * WIDE channel blocks each; how it starts (bias, residual) and ends (clamp, store); and one
 * instance of a tile function per size, in a table. For *_simd.c files. */
#ifndef ONX_CONV_TILE_H
#define ONX_CONV_TILE_H

#include "cpu/conv.h"
#include "cpu/shares.h"
#include "cpu/vec.h"

#if defined(__AVX512F__) || defined(__ARM_NEON) /* 32 registers */
enum { WIDE = 2, PIXELS = 14, TALL = 14 };
#define EACH_TALL(X)
#define EACH_SIZE(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#elif defined(__AVX2__)
enum { WIDE = 2, PIXELS = 6, TALL = 12 };
#define EACH_TALL(X) X(7) X(8) X(9) X(10) X(11) X(12)
#define EACH_SIZE(X) X(1) X(2) X(3) X(4) X(5) X(6)
#else /* any processor: small rather than fast */
enum { WIDE = 2, PIXELS = 4, TALL = 4 };
#define EACH_TALL(X)
#define EACH_SIZE(X) X(1) X(2) X(3) X(4)
#endif

/* A file defines TILE_TYPE and TILE_FUNCTION, an inline function of (const TILE_TYPE *, pixels,
 * wide). EACH_SIZE(TILE_RUN) makes an instance of it for each size, with its loops unrolled and its
 * sums in registers, and {EACH_SIZE(TILE_ENTRY)} a table of them: [pixels - 1][wide - 1]. A tile
 * of a single block may have up to TALL pixels: EACH_TALL and so on, for the others. */
#define TILE_INLINE static inline __attribute__((always_inline))
#define TILE_JOIN(function, pixels, wide) function##_##pixels##_##wide
#define TILE_NAME(function, pixels, wide) TILE_JOIN(function, pixels, wide)
#define TILE_RUN(pixels)                                                                           \
    static void TILE_NAME(TILE_FUNCTION, pixels, 1)(const TILE_TYPE *t) {                          \
        TILE_FUNCTION(t, pixels, 1);                                                               \
    }                                                                                              \
    static void TILE_NAME(TILE_FUNCTION, pixels, 2)(const TILE_TYPE *t) {                          \
        TILE_FUNCTION(t, pixels, 2);                                                               \
    }
#define TILE_TALL(pixels)                                                                          \
    static void TILE_NAME(TILE_FUNCTION, pixels, 1)(const TILE_TYPE *t) {                          \
        TILE_FUNCTION(t, pixels, 1);                                                               \
    }
#define TILE_TALL_ENTRY(pixels) {TILE_NAME(TILE_FUNCTION, pixels, 1), NULL},
#define TILE_ENTRY(pixels)                                                                         \
    {TILE_NAME(TILE_FUNCTION, pixels, 1), TILE_NAME(TILE_FUNCTION, pixels, 2)},

/* Where a tile's sums come from and go to. */
typedef struct tile_ends {
    const float *bias[WIDE]; /* [lanes] of each block, or NULL */
    size_t lanes[WIDE];
    const float *add; /* as y, or NULL */
    float *y;         /* [WIDE][y_step], the pixels of the tile first */
    size_t y_step;
    float lo, hi;
} tile_ends;

TILE_INLINE void tile_start(const tile_ends *e, vf sum[][WIDE], size_t pixels, size_t wide) {
    VF_UNROLL for (size_t j = 0; j < wide; j++) {
        vf bias = e->bias[j] ? vf_load_n(e->bias[j], e->lanes[j]) : vf_zero();
        VF_UNROLL for (size_t p = 0; p < pixels; p++) sum[p][j] = bias;
        if (!e->add) continue;
        VF_UNROLL for (size_t p = 0; p < pixels; p++) {
            sum[p][j] += vf_load(e->add + j * e->y_step + p * VF);
        }
    }
}

TILE_INLINE void tile_end(const tile_ends *e, vf sum[][WIDE], size_t pixels, size_t wide) {
    vf lo = vf_set(e->lo), hi = vf_set(e->hi); /* first, so that NaN stays NaN */
    VF_UNROLL for (size_t j = 0; j < wide; j++) {
        VF_UNROLL for (size_t p = 0; p < pixels; p++) {
            vf_store(e->y + j * e->y_step + p * VF, vf_min(hi, vf_max(lo, sum[p][j])));
        }
    }
}

static inline size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}
static inline size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}
static inline size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* A float that need not be aligned: weights and inputs may lie in a file. */
static inline float load_any(const float *p) {
    float v;
    memcpy(&v, (const void *)p, sizeof v);
    return v;
}

/* What is going to be read at a stride comes into the cache faster when it is read in order. */
static inline void read_ahead(const float *p, size_t n) {
    for (size_t i = 0; i < n; i += 16) (void)*(const volatile char *)(p + i);
}

/* The ends of a tile of `wide` blocks from output block `block` of group `group` (of all images),
 * beginning at `pixel`. */
static inline tile_ends tile_ends_at(const onx_conv *c, const onx_conv_args *a, size_t group,
                                     size_t block, size_t wide, size_t pixel) {
    size_t y_step = c->oh * c->ow * VF, blocks = ceil_div(c->oc, VF);
    size_t at = (group * blocks + block) * y_step + pixel * VF;
    tile_ends e = {.y = a->y + at, .y_step = y_step, .lo = a->lo, .hi = a->hi};
    if (a->residual) e.add = a->residual + at;
    for (size_t j = 0; j < wide && a->bias; j++) {
        e.bias[j] = a->bias + group % c->groups * c->oc + (block + j) * VF;
        e.lanes[j] = smaller(VF, c->oc - (block + j) * VF);
    }
    return e;
}

/* Those of the tile `pixels` further on. */
static inline void tile_ends_step(tile_ends *e, size_t pixels) {
    e->y += pixels * VF;
    if (e->add) e->add += pixels * VF;
}

/* The sums of n pixels of an output block, of which the first is at `at`, become outputs. */
static inline void finish_sums(const onx_conv_args *a, size_t at, size_t n, const float *sums,
                               vf bias) {
    vf lo = vf_set(a->lo), hi = vf_set(a->hi);
    for (size_t i = 0; i < n * VF; i += VF) {
        vf v = vf_load(sums + i) + bias;
        if (a->residual) v += vf_load(a->residual + at + i);
        vf_store(a->y + at + i, vf_min(hi, vf_max(lo, v)));
    }
}

/* What is done last with the pixels [first, last) of the output blocks [block, last_block) of a
 * group (of all images). */
static inline void finish_blocks(const onx_conv *c, const onx_conv_args *a, size_t group,
                                 size_t block, size_t last_block, size_t first, size_t last) {
    size_t plane = c->oh * c->ow * VF;
    float *y = a->y + group * ceil_div(c->oc, VF) * plane;
    for (; block < last_block && a->then; block++)
        a->then(a->user, y + block * plane + first * VF, (last - first) * VF);
}

#endif
