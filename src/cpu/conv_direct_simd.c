/* conv_direct_simd.c: convolution from blocked to blocked, by sums held in registers.
 *
 * A tile is PIXELS neighbouring outputs (in row-major order, across rows) of WIDE channel blocks.
 * For each block of input channels and each tap of the kernel, every pixel of the tile has the
 * address of its input: a true one, or that of zeros where it lies in the padding. So strides,
 * dilations, borders and short rows all run the same inner loop,
 *
 *     for each input channel of the block:  sum[pixel][0..WIDE] += x[pixel] * w[0..WIDE]
 *
 * which loads WIDE vectors of weights for PIXELS * WIDE products. Packed weights stream in order:
 *
 *     [group][pair of output blocks][ic/b][kh][kw][b input channels][WIDE*b output channels]
 *
 * the last pair being a single block when their number is odd.
 */
#include "cpu/conv_tile.h"
#include "cpu/vec_transpose.h"

#include <math.h>

enum { SLOTS = (TALL + 7) / 8 * 8 };    /* so that loops over pixels are whole vectors */
#define OUTSIDE UINT64_MAX              /* an input in the padding */
#define CACHE_FLOATS ((size_t)VF << 13) /* of weights, to stay in the second-level cache */
/* Of a kernel that is a single point: input channels that are summed in one go if there are many
 * more, the fewest pairs of output blocks of a task, and the fewest tiles for each of these. */
#if defined(__AVX512F__) /* which comes with larger caches */
#define POINT_CHANNELS ((size_t)512)
#else
#define POINT_CHANNELS ((size_t)128)
#endif
#define POINT_PAIRS ((size_t)64 / VF)
#define POINT_TILES ((size_t)24 / PIXELS)
#define STRIP_FLOATS ((size_t)4 << 10)  /* of its inputs, to stay in the first-level cache */
#define TASK_PRODUCTS ((size_t)1 << 19) /* work worth a task */

#if defined(__clang__)
#define AS_LOOP
#else
#define AS_LOOP _Pragma("GCC unroll 1") /* gcc makes vectors of loops, not of what it unrolled */
#endif

static const float zeros[VF];

typedef struct tap {
    uint64_t at[SLOTS]; /* where each pixel's input is in the image, in bytes, or OUTSIDE */
    size_t weights;     /* where its weights begin, of a single output block */
    size_t even;        /* inputs are so many bytes apart, one after the other; or 0 */
} tap;

typedef struct tile {
    const float *x; /* [blocks][x_step] */
    const float *w; /* [blocks][w_step] */
    const tap *taps;
    size_t blocks, x_step, w_step, n_taps;
    size_t last;       /* lanes of the last block that are channels */
    size_t count;      /* tiles, one after the other; more than one only of single points */
    const char *ahead; /* fetched for later, `ahead_step` bytes for each input channel */
    size_t ahead_step;
    tile_ends ends;
} tile;

/* The weights for VF input channels of one tap, and what is fetched meanwhile. */
typedef struct weights {
    const float *w; /* [lanes][wide*b] */
    size_t lanes;
    const char *ahead;
    size_t step;
} weights;

/* in: each pixel's [lanes]. */
TILE_INLINE void add_products(weights k, const float *const in[SLOTS], vf sum[][WIDE],
                              size_t pixels, size_t wide) {
    for (size_t i = 0; i < k.lanes; i++, k.w += wide * VF, k.ahead += k.step) {
        vf weight[WIDE];
        __builtin_prefetch(k.ahead, 0, 2);
        VF_UNROLL for (size_t j = 0; j < wide; j++) weight[j] = vf_load(k.w + j * VF);
        VF_UNROLL for (size_t p = 0; p < pixels; p++) {
            vf x = vf_set(in[p][i]);
            VF_UNROLL for (size_t j = 0; j < wide; j++) sum[p][j] = vf_fma(x, weight[j], sum[p][j]);
        }
    }
}

/* The same for inputs `step` bytes apart, the first of which is at `in`. Every third address is in
 * a register; a processor adds the step, or twice the step, at no cost. */
TILE_INLINE void add_even_products(weights k, const float *in, size_t step, vf sum[][WIDE],
                                   size_t pixels, size_t wide) {
    const char *at[TALL / 3 + 1];
    VF_UNROLL for (size_t p = 0; p < pixels; p += 3) at[p / 3] = (const char *)in + p * step;
    for (size_t i = 0; i < k.lanes; i++, k.w += wide * VF, k.ahead += k.step) {
        vf weight[WIDE];
        __builtin_prefetch(k.ahead, 0, 2);
        VF_UNROLL for (size_t j = 0; j < wide; j++) weight[j] = vf_load(k.w + j * VF);
        VF_UNROLL for (size_t p = 0; p < pixels; p++) {
            vf x = vf_set(*(const float *)(at[p / 3] + p % 3 * step));
            VF_UNROLL for (size_t j = 0; j < wide; j++) sum[p][j] = vf_fma(x, weight[j], sum[p][j]);
        }
        VF_UNROLL for (size_t p = 0; p < pixels; p += 3) at[p / 3] += sizeof *in;
    }
}

typedef uint64_t addresses __attribute__((vector_size(VF_BYTES)));

/* In vectors: for a loop over pixels compilers make branches. */
TILE_INLINE void find_inputs(const float *x, const tap *tap_at, const float *in[SLOTS],
                             size_t pixels) {
    addresses image = (uintptr_t)x - (addresses){0}, zero = (uintptr_t)zeros - (addresses){0};
    VF_UNROLL for (size_t p = 0; p < pixels; p += sizeof(addresses) / sizeof(uint64_t)) {
        addresses at;
        memcpy(&at, tap_at->at + p, sizeof at);
        addresses outside = (addresses)(at == OUTSIDE);
        at = ((image + at) & ~outside) | (zero & outside);
        memcpy(in + p, &at, sizeof at);
    }
}

/* Addresses are written one tap ahead: those just written would be waited for. */
TILE_INLINE void run_tile(const tile *t, size_t pixels, size_t wide) {
    vf sum[TALL][WIDE];
    const float *x = t->x, *w = t->w, *in[2][SLOTS];
    const tap *end = t->taps + t->n_taps;
    weights some = {NULL, VF, t->ahead, t->ahead_step};
    size_t turn = 0;
    tile_start(&t->ends, sum, pixels, wide);
    if (t->n_taps && !t->taps->even) find_inputs(x, t->taps, in[0], pixels);
    for (size_t left = t->blocks; left; left--, w += t->w_step) {
        const float *next = x + t->x_step;
        if (left == 1) some.lanes = t->last;
        for (const tap *now = t->taps; now < end; now++) {
            const tap *then = now + 1 < end ? now + 1 : t->taps;
            some.w = w + now->weights * wide;
            if (!then->even && (now + 1 < end || left > 1))
                find_inputs(now + 1 < end ? x : next, then, in[turn ^ 1], pixels);
            if (now->even)
                add_even_products(some, x + now->at[0] / sizeof *x, now->even, sum, pixels, wide);
            else
                add_products(some, in[turn], sum, pixels, wide);
            turn ^= 1;
            some.ahead += VF * some.step;
        }
        x = next;
    }
    tile_end(&t->ends, sum, pixels, wide);
}

/* One input channel, and two of them at a time: less to do beside the products. in: a pixel's VF
 * channels after the other. */
TILE_INLINE void add_channel(const float *w, const float *in, vf sum[][WIDE], size_t pixels,
                             size_t wide) {
    vf weight[WIDE];
    VF_UNROLL for (size_t j = 0; j < wide; j++) weight[j] = vf_load(w + j * VF);
    VF_UNROLL for (size_t p = 0; p < pixels; p++) {
        vf x = vf_set(in[p * VF]);
        VF_UNROLL for (size_t j = 0; j < wide; j++) sum[p][j] = vf_fma(x, weight[j], sum[p][j]);
    }
}
/* next: the inputs that come after these. They and weights a little further on come from the
 * second-level cache meanwhile. */
TILE_INLINE void add_points(weights k, const float *in, const float *next, vf sum[][WIDE],
                            size_t pixels, size_t wide) {
    enum { LINE = 64 / sizeof(float), SOON = 16 * LINE };
    for (size_t i = 0; i < k.lanes / 2; i++, k.w += 2 * wide * VF, in += 2, next += 2 * VF) {
        __builtin_prefetch(k.ahead + 2 * i * k.step, 0, 2);
        VF_UNROLL for (size_t j = 0; j < 2 * VF; j += LINE) __builtin_prefetch(next + j);
        VF_UNROLL for (size_t j = 0; j < 2 * wide * VF; j += LINE)
            __builtin_prefetch(k.w + SOON + j);
        add_channel(k.w, in, sum, pixels, wide);
        add_channel(k.w + wide * VF, in + 1, sum, pixels, wide);
    }
    if (k.lanes % 2) add_channel(k.w, in, sum, pixels, wide);
}

/* The same where the kernel is a single point and inputs lie as outputs do, tile after tile. */
TILE_INLINE void run_points(const tile *t, size_t pixels, size_t wide) {
    const float *x = t->x;
    const char *ahead = t->ahead;
    tile_ends ends = t->ends, *now = &ends;
    for (size_t i = 0; i < t->count; i++, x += pixels * VF) {
        vf sum[TALL][WIDE];
        weights some = {t->w, VF, ahead, t->ahead_step};
        const float *in = x;
        __asm__("" : "+r"(now) : : "memory"); /* registers are for sums, not for limits */
        tile_start(now, sum, pixels, wide);
        for (size_t left = t->blocks; left; left--, in += t->x_step, some.w += t->w_step) {
            if (left == 1) some.lanes = t->last;
            add_points(some, in, left > 1 ? in + t->x_step : in, sum, pixels, wide);
            some.ahead += VF * some.step;
        }
        ahead = some.ahead;
        tile_end(now, sum, pixels, wide);
        tile_ends_step(now, pixels);
    }
}
#define TILE_TYPE tile
#define TILE_FUNCTION run_tile
EACH_SIZE(TILE_RUN)
EACH_TALL(TILE_TALL)
static void (*const tiles[TALL][WIDE])(const tile *) = {EACH_SIZE(TILE_ENTRY)
                                                            EACH_TALL(TILE_TALL_ENTRY)};
#undef TILE_FUNCTION
#define TILE_FUNCTION run_points
EACH_SIZE(TILE_RUN)
EACH_TALL(TILE_TALL)
static void (*const points[TALL][WIDE])(const tile *) = {EACH_SIZE(TILE_ENTRY)
                                                             EACH_TALL(TILE_TALL_ENTRY)};

/* A single tap, and no padding: what run_points is for. The kernels for any processor (conv_tile.h)
 * are small, and do without it. */
static bool is_point(const onx_conv *c) {
    return TALL > 4 && c->kh * c->kw == 1 && !c->top && !c->left && (c->oh - 1) * c->sh < c->ih &&
           (c->ow - 1) * c->sw < c->iw;
}

/* Of a single tap: inputs lie as outputs do. */
static bool is_dense(const onx_conv *c) {
    return c->sh == 1 && c->sw == 1 && c->ow == c->iw;
}

/* How the work of one image is cut: in parts of the pairs of output blocks of all groups, whose
 * weights stay in the cache, times pieces of its tiles. Where there are more weights than pixels,
 * threads rather have their own weights, elsewhere their own part of the image, which they made
 * themselves of the layer before. */
typedef struct split {
    size_t taps, ic_blocks, oc_blocks, pixels;
    size_t most;                /* pixels of a tile */
    size_t tiles, each, longer; /* pixels of each; how many have one more */
    size_t chunk;               /* input blocks that are summed in one go */
    size_t pairs;               /* of a group */
    size_t parts, pieces;
} split;

static split split_of(const onx_conv *c) {
    split s = {.taps = c->kh * c->kw, .pixels = c->oh * c->ow};
    s.ic_blocks = ceil_div(c->ic, VF);
    s.oc_blocks = ceil_div(c->oc, VF);
    s.most = s.oc_blocks == 1 ? TALL : PIXELS;
    s.tiles = ceil_div(s.pixels, s.most);
    s.each = s.pixels / s.tiles;
    s.longer = s.pixels % s.tiles;
    s.pairs = ceil_div(s.oc_blocks, WIDE);
    size_t pair_floats = s.taps * VF * WIDE * VF; /* weights of a pair and one input block */
    s.chunk = smaller(larger(1, CACHE_FLOATS / pair_floats), s.ic_blocks);
    if (is_point(c) && c->ic > 4 * POINT_CHANNELS) s.chunk = POINT_CHANNELS / VF;
    size_t pairs = c->groups * s.pairs, floats = pair_floats * s.ic_blocks * pairs;
    s.parts = ceil_div(pairs, larger(1, CACHE_FLOATS / (pair_floats * s.chunk)));
    size_t image = c->groups * (s.ic_blocks * c->ih * c->iw + s.oc_blocks * s.pixels) * VF;
    size_t tasks = onx_tasks_worth(floats * s.pixels, TASK_PRODUCTS);
    size_t own = is_point(c) ? ceil_div(pairs, POINT_PAIRS) : pairs;
    if (floats > image) s.parts = larger(s.parts, smaller(tasks, own));
    s.pieces = ceil_div(tasks, s.parts) * (pairs % s.parts ? 2 : 1);
    s.pieces = smaller(s.pieces, is_point(c) ? larger(1, s.tiles / POINT_TILES) : s.tiles);
    return s;
}

/* The first pixel of a tile: they are of about equal size. */
static size_t tile_at(const split *s, size_t i) {
    return i * s->each + smaller(i, s->longer);
}

static size_t direct_tasks(const onx_conv *c) {
    split s = split_of(c);
    return c->n * s.parts * s.pieces;
}

static size_t direct_scratch(const onx_conv *c) {
    split s = split_of(c);
    size_t gathered = larger(STRIP_FLOATS, s.chunk * VF * s.most) * sizeof(float);
    return c->kh * c->kw * sizeof(tap) + (is_point(c) ? gathered : 0);
}

/* The taps of the pixels [first, first + count) if these are neighbours in a row, and all of their
 * taps touch the image; else 0. They are even: one address will do. */
static size_t find_inner_taps(const onx_conv *c, size_t first, size_t count, tap *taps) {
    size_t oy = first / c->ow, ox = first % c->ow, n = 0;
    size_t y = oy * c->sh - c->top, x = ox * c->sw - c->left; /* modulo 2^64, as below */
    bool inside = ox + count <= c->ow && y < c->ih && y + (c->kh - 1) * c->dh < c->ih &&
                  x < c->iw && x + (count - 1) * c->sw + (c->kw - 1) * c->dw < c->iw;
    for (size_t ky = 0; ky < c->kh && inside; ky++)
        for (size_t kx = 0; kx < c->kw; kx++, n++) {
            taps[n].at[0] = ((y + ky * c->dh) * c->iw + x + kx * c->dw) * VF_BYTES;
            taps[n].weights = n * VF * VF;
            taps[n].even = c->sw * VF_BYTES;
        }
    return n;
}

/* The taps that touch the image from any of the pixels [first, first + count); how many. */
static size_t find_taps(const onx_conv *c, size_t first, size_t count, tap *taps) {
    uint64_t y[SLOTS], x[SLOTS], at[SLOTS]; /* modulo 2^64: negative ones are large */
    size_t n = 0, oy = first / c->ow, ox = first % c->ow, slots = (count + 7) / 8 * 8;
    for (size_t p = 0; p < slots; p++) {
        y[p] = oy * c->sh - c->top;
        x[p] = ox * c->sw - c->left;
        at[p] = (y[p] * c->iw + x[p]) * VF_BYTES;
        if (p + 1 < count && ++ox == c->ow) ox = 0, oy++;
    }
    for (size_t k = 0; k < c->kh * c->kw; k++) {
        size_t dy = k / c->kw * c->dh, dx = k % c->kw * c->dw, d = (dy * c->iw + dx) * VF_BYTES;
        uint64_t any = 0, all = UINT64_MAX;
        AS_LOOP for (size_t p = 0; p < slots; p++) {
            uint64_t inside = -(uint64_t)((y[p] + dy < c->ih) & (x[p] + dx < c->iw));
            any |= inside, all &= inside;
            taps[n].at[p] = (at[p] + d) | ~inside;
        }
        taps[n].weights = k * VF * VF;
        /* Those that begin a row are all as far from the one before them. */
        size_t step = c->sw * VF_BYTES;
        taps[n].even = all && at[count - 1] - at[0] == (count - 1) * step ? step : 0;
        n += any != 0;
    }
    return n;
}

/* Part of the output of an image. */
typedef struct region {
    size_t image;
    size_t pair, last_pair; /* of output blocks, of all groups */
    size_t first, last;     /* pixels */
    size_t tiles;           /* that they are, all of one size */
} region;

/* While weights are used by a few tiles, those of the next chunk or part come from memory, a share
 * with each tile; with the last part, those of a later convolution. A single tile waits for memory
 * anyhow; many make little of it. */
static void look_ahead(const onx_conv *c, const onx_conv_args *a, const split *s, const region *r,
                       size_t k, size_t pair, tile *t) {
    enum { FEW = 16 };
    size_t all = c->groups * s->oc_blocks * s->ic_blocks * s->taps * VF * VF;
    size_t each = t->blocks * t->w_step, next = (size_t)(t->w - a->w);
    size_t count = r->last - r->first, pairs = r->last_pair - r->pair, share = 0;
    bool ends = k + t->blocks == s->ic_blocks;
    next += ends ? (pairs * s->ic_blocks - k) * t->w_step : each;
    t->ahead = (const char *)t->w, t->ahead_step = 0;
    if (s->pixels <= s->most) return;
    if (next + each > all && a->ahead_bytes) {
        share = a->ahead_bytes / (pairs * s->pixels);
        t->ahead = a->ahead + share * (r->first * pairs + (pair - r->pair) * count);
    } else if (next + each <= all && a->fetches && s->pixels <= FEW * s->most) {
        share = each * sizeof *a->w / s->pixels;
        t->ahead = (const char *)(a->w + next) + share * r->first;
    }
    size_t steps = t->count * t->blocks * t->n_taps * VF;
    if (share) t->ahead_step = ceil_div(share * count, larger(1, steps));
}

/* The inputs of a kernel that is a single point: where they lie, or one after the other in `room`
 * where it leaves some out. */
static void find_points(const onx_conv *c, const region *r, tile *t, float *room) {
    size_t oy = r->first / c->ow, ox = r->first % c->ow, pixels = r->last - r->first;
    if (is_dense(c)) {
        t->x += r->first * VF;
        return;
    }
    for (size_t p = 0; p < pixels; p++) {
        const float *from = t->x + (oy * c->sh * c->iw + ox * c->sw) * VF;
        for (size_t i = 0; i < t->blocks; i++)
            vf_store(room + (i * pixels + p) * VF, vf_load(from + i * t->x_step));
        if (++ox == c->ow) ox = 0, oy++;
    }
    t->x = room;
    t->x_step = pixels * VF;
}

/* The inputs of a group (of all images). */
static void find_group(const onx_conv *c, const onx_conv_args *a, const split *s, const region *r,
                       size_t group, size_t k, tile *t) {
    t->x_step = c->ih * c->iw * VF;
    t->x = a->x + (group * s->ic_blocks + k) * t->x_step;
    if (is_point(c)) find_points(c, r, t, (float *)((tap *)t->taps + 1));
}

/* A few tiles of each pair, summed over the input blocks [k, k + chunk). */
static void run_region(const onx_conv *c, const onx_conv_args *a, const split *s, const region *r,
                       size_t k, tap *taps) {
    size_t blocks = smaller(s->chunk, s->ic_blocks - k), size = (r->last - r->first) / r->tiles;
    tile t = {.blocks = blocks, .count = r->tiles, .taps = taps, .n_taps = 1};
    void (*const(*kind)[WIDE])(const tile *) = is_point(c) ? points : tiles;
    t.last = smaller(VF, c->ic - (k + blocks - 1) * VF);
    if (!is_point(c)) t.n_taps = find_inner_taps(c, r->first, r->last - r->first, taps);
    if (!t.n_taps) t.n_taps = find_taps(c, r->first, r->last - r->first, taps);
    for (size_t pair = r->pair; pair < r->last_pair; pair++) {
        size_t group = pair / s->pairs, block = pair % s->pairs * WIDE;
        size_t wide = smaller(WIDE, s->oc_blocks - block);
        size_t before = (group * s->oc_blocks + block) * s->ic_blocks + k * wide;
        if (block == 0 || pair == r->pair)
            find_group(c, a, s, r, r->image * c->groups + group, k, &t);
        t.w = a->w + before * s->taps * VF * VF;
        t.w_step = s->taps * VF * wide * VF;
        look_ahead(c, a, s, r, k, pair, &t);
        t.ends = tile_ends_at(c, a, r->image * c->groups + group, block, wide, r->first);
        if (k) { /* y has the sums so far */
            t.ends.add = t.ends.y;
            memset(t.ends.bias, 0, sizeof t.ends.bias);
        }
        if (k + blocks < s->ic_blocks) t.ends.lo = -INFINITY, t.ends.hi = INFINITY;
        kind[size - 1][wide - 1](&t);
    }
}

/* How many tiles from i on are run in one go: where there is little to sum, that saves much. */
static size_t strip_at(const onx_conv *c, const split *s, size_t i, size_t end) {
    size_t same = (i < s->longer ? smaller(s->longer, end) : end) - i;
    size_t few = STRIP_FLOATS / (s->chunk * VF * s->most);
    return is_point(c) ? smaller(same, larger(1, few)) : 1;
}

static void direct_run(const onx_conv *c, const onx_conv_args *a, size_t task, void *scratch) {
    split s = split_of(c);
    size_t part = task / s.pieces % s.parts, piece = task % s.pieces, pairs = c->groups * s.pairs;
    size_t first = onx_share_at(s.tiles, s.pieces, piece);
    size_t end = onx_share_at(s.tiles, s.pieces, piece + 1);
    region r = {.image = task / s.pieces / s.parts, .pair = onx_share_at(pairs, s.parts, part)};
    r.last_pair = onx_share_at(pairs, s.parts, part + 1);
    for (size_t k = 0; k < s.ic_blocks; k += s.chunk)
        for (size_t i = first; i < end; i += r.tiles) {
            r.tiles = strip_at(c, &s, i, end);
            r.first = tile_at(&s, i);
            r.last = tile_at(&s, i + r.tiles);
            run_region(c, a, &s, &r, k, scratch);
        }
    for (size_t pair = r.pair; pair < r.last_pair && a->then; pair++) {
        size_t group = r.image * c->groups + pair / s.pairs, block = pair % s.pairs * WIDE;
        finish_blocks(c, a, group, block, smaller(block + WIDE, s.oc_blocks), tile_at(&s, first),
                      tile_at(&s, end));
    }
}

static size_t direct_weights(const onx_conv *c) {
    size_t ic = ceil_div(c->ic, VF) * VF, oc = ceil_div(c->oc, VF) * VF;
    return c->groups * ic * oc * c->kh * c->kw;
}

/* The [lanes][n] floats at `from`, rows of which lie `row` apart and hold `taps` of each input
 * channel, as columns of out: [taps][VF ic][width]. */
static void pack_lanes(const float *from, size_t row, size_t lanes, size_t n, size_t taps,
                       size_t width, float *out) {
    for (size_t p = 0, ic = 0, k = 0; p < n; p += VF) {
        size_t some = smaller(VF, n - p);
        vf v[VF];
        vf_columns(from + p, row, lanes, some, v);
        for (size_t i = 0; i < some; i++) {
            vf_store(out + (k * VF + ic) * width, v[i]);
            if (++k == taps) k = 0, ic++;
        }
    }
}

/* out: [taps][VF ic][width oc], from (oc0, ic0) on; zeros where there are no such channels. Reads
 * in the order of w: what is written at a stride is small enough for the cache. */
static void pack_block(const onx_conv *c, const float *w, size_t oc0, size_t width, size_t ic0,
                       float *out) {
    size_t taps = c->kh * c->kw, n_ic = smaller(VF, c->ic - ic0), row = c->ic * taps;
    size_t n_oc = smaller(width, c->oc - oc0);
    if (n_ic < VF || n_oc < width) memset(out, 0, taps * VF * width * sizeof *out);
    for (size_t oc = 0; oc < n_oc; oc += VF)
        pack_lanes(w + (oc0 + oc) * row + ic0 * taps, row, smaller(VF, n_oc - oc), n_ic * taps,
                   taps, width, out + oc);
}

/* A part: a tile of output channels of one group. */
static size_t direct_parts(const onx_conv *c) {
    return c->groups * ceil_div(ceil_div(c->oc, VF), WIDE);
}

static void direct_pack(const onx_conv *c, const float *w, size_t part, float *packed) {
    size_t taps = c->kh * c->kw, ic_end = ceil_div(c->ic, VF) * VF;
    size_t oc_end = ceil_div(c->oc, VF) * VF, parts = ceil_div(oc_end, WIDE * VF);
    size_t group = part / parts, oc0 = part % parts * (WIDE * VF);
    size_t width = smaller(WIDE * VF, oc_end - oc0);
    packed += (group * oc_end + oc0) * ic_end * taps;
    w += group * c->oc * c->ic * taps;
    read_ahead(w + oc0 * c->ic * taps, smaller(width, c->oc - oc0) * c->ic * taps);
    for (size_t ic0 = 0; ic0 < ic_end; ic0 += VF, packed += taps * VF * width)
        pack_block(c, w, oc0, width, ic0, packed);
}

const onx_conv_algorithm ONX_TIER(onx_conv_direct) = {
    VF, direct_weights, direct_parts, direct_pack, direct_tasks, direct_scratch, direct_run,
};
