/* conv_amx.c: convolution of float32 in the blocked layout by products of bfloat16 tiles.
 *
 * Every float is the sum of three bfloat16: x = x0 + x1 + x2, exactly, each at most 2^-8 of the one
 * before it. Of the nine products of two floats six are made, the smallest first, and added in
 * float32; those left out are together less than 2^-24 of the product. So the error is that of
 * float32 sums and one rounding more for each product (conv.h).
 *
 * `in` splits the input: padded, and dealt out to sh*sw decks as in conv_plain_simd.c, so that for
 * any stride and dilation the inputs of neighbouring outputs are neighbours and a tap is an offset:
 *
 *     [ic/32][part][deck][rows*columns + 16 more][32 channels]
 *
 * Outputs are counted along the columns of a deck: those in the columns past the image are made,
 * too, and dropped. `out` makes a piece of them for a pair of output blocks: it splits the weights
 * of some input channels (they are packed as for `direct`), and multiplies 2 x 2 tiles at a time.
 *
 * Tiles flush numbers below 2^-126 to zero. */
#include "cpu/amx.h"
#include "cpu/conv_tile.h"

enum {
    PARTS = 3,
    ROWS = 16,               /* of a tile: outputs */
    DEPTH = 32,              /* channels in a row of a tile */
    TILE = ROWS * DEPTH,     /* bfloat16 in a tile */
    STEP = PARTS * 2 * TILE, /* those of the weights for one tap and DEPTH channels */
    PIECE = 512,             /* outputs of a task */
    STEPS = 16,              /* of weights that are split at a time */
};
#define LARGEST 0x71800000 /* bits of 2^100 */
#define IN_FLOATS ((size_t)1 << 15)

/* ── Sizes ── */

typedef struct sizes {
    size_t taps, depths, pairs;         /* depths: DEPTH channels each */
    size_t down, across, rows, columns; /* decks, and what is in one */
    size_t deck, part, depth;           /* bfloat16 of each in the split input */
    size_t outputs, pieces, piece;
    size_t in_rows, in_pieces; /* of a deck, in a task of `in` */
} sizes;

static sizes sizes_of(const onx_conv *c) {
    size_t high = (c->kh - 1) * c->dh, wide = (c->kw - 1) * c->dw;
    sizes s = {.taps = c->kh * c->kw, .depths = ceil_div(c->ic, DEPTH)};
    s.pairs = ceil_div(ceil_div(c->oc, VF), WIDE);
    s.down = smaller(c->sh, high + 1), s.across = smaller(c->sw, wide + 1);
    s.rows = c->oh + high / c->sh, s.columns = c->ow + wide / c->sw;
    s.deck = (s.rows * s.columns + ROWS) * DEPTH;
    s.part = s.down * s.across * s.deck;
    s.depth = PARTS * s.part;
    s.outputs = (c->oh - 1) * s.columns + c->ow;
    s.pieces = ceil_div(s.outputs, PIECE);
    s.piece = ceil_div(ceil_div(s.outputs, s.pieces), ROWS) * ROWS;
    s.in_rows = larger(1, IN_FLOATS / (s.down * s.across * s.columns * DEPTH));
    s.in_pieces = ceil_div(s.rows, s.in_rows);
    return s;
}

/* Where the input of output 0 is for a tap, in the split input of a part. */
static size_t tap_at(const onx_conv *c, const sizes *s, size_t tap) {
    size_t y = tap / c->kw * c->dh, x = tap % c->kw * c->dw;
    size_t deck = y % c->sh * s->across + x % c->sw;
    return deck * s->deck + (y / c->sh * s->columns + x / c->sw) * DEPTH;
}

/* ── Splitting ── */

/* What is left of v when it is rounded to bfloat16, which the upper halves of *rounded are. */
TILE_INLINE vf split(vf v, vi *rounded) {
    *rounded = vf_bits(v) + 0x8000;
    return v - vi_bits(*rounded & (int32_t)0xffff0000);
}

static inline vi largest(vi most, vf v) {
    return (vi)_mm512_max_epi32((__m512i)most, (__m512i)(vf_bits(v) & 0x7fffffff));
}
static inline bool fits(vi most) {
    return !vf_any(most > LARGEST);
}

/* 2 * VF channels of a pixel, to a row of each part. */
TILE_INLINE void split_channels(vf low, vf high, uint16_t *out, size_t step) {
    static const uint16_t upper[2 * VF] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                           23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                           45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    __m512i order = _mm512_loadu_si512(upper);
    UNROLL for (size_t p = 0; p < PARTS; p++, out += step) {
        vi a, b;
        low = split(low, &a), high = split(high, &b);
        _mm512_storeu_si512(out, _mm512_permutex2var_epi16((__m512i)a, order, (__m512i)b));
    }
}

/* The weights of VF outputs for two channels, to a row of each part: a pair for each output. */
TILE_INLINE void split_weights(vf even, vf odd, uint16_t *out, size_t step) {
    UNROLL for (size_t p = 0; p < PARTS; p++, out += step) {
        vi a, b;
        even = split(even, &a), odd = split(odd, &b);
        __m512i low = _mm512_srli_epi32((__m512i)a, 16);
        _mm512_storeu_si512(out, _mm512_mask_blend_epi16(0xaaaaaaaa, low, (__m512i)b));
    }
}

/* ── Inputs ── */

static bool amx_fits(const onx_conv *c) {
    return c->groups == 1 && c->ic >= VF;
}
/* Rows of tiles that hold no output take as long as those that do. */
static bool amx_worth(const onx_conv *c) {
    return 2 * c->oh * c->ow >= ceil_div(sizes_of(c).outputs, ROWS) * ROWS;
}

/* Weights are those of `direct`: a part is looked at only. */
static size_t amx_weights(const onx_conv *c) {
    (void)c;
    return 0;
}
static size_t amx_parts(const onx_conv *c) {
    return ceil_div(c->oc, VF);
}
static bool amx_pack(const onx_conv *c, const float *w, size_t part, float *packed) {
    size_t each = c->ic * c->kh * c->kw, n = smaller(VF, c->oc - part * VF) * each;
    vi most = vi_set(0);
    w += part * VF * each;
    for (size_t i = 0; i < n; i += VF) most = largest(most, vf_load_n(w + i, smaller(VF, n - i)));
    (void)packed;
    return fits(most);
}

static size_t amx_shared(const onx_conv *c) {
    sizes s = sizes_of(c);
    return s.depths * s.depth / 2; /* two bfloat16 to a float */
}
static size_t amx_in_tasks(const onx_conv *c) {
    sizes s = sizes_of(c);
    return s.depths * s.in_pieces;
}

/* A row of a deck: columns b, b + sw … of row y of the padded image, both counted from its corner;
 * of `channels` channels at x. */
static vi split_row(const onx_conv *c, const sizes *s, const float *x, size_t channels, size_t y,
                    size_t b, uint16_t *out) {
    size_t first = smaller(channels, VF), second = smaller(channels - first, VF);
    vi most = vi_set(0);
    y -= c->top, b -= c->left; /* modulo 2^64 */
    for (size_t i = 0; i < s->columns; i++, b += c->sw, out += DEPTH) {
        const float *from = x + (y * c->iw + b) * VF;
        bool inside = y < c->ih && b < c->iw;
        vf low = inside ? vf_load_n(from, first) : vf_zero();
        vf high = inside && second ? vf_load_n(from + c->ih * c->iw * VF, second) : vf_zero();
        most = largest(largest(most, low), high);
        split_channels(low, high, out, s->part);
    }
    return most;
}

static bool amx_in(const onx_conv *c, const float *x, float *shared, size_t task) {
    sizes s = sizes_of(c);
    size_t depth = task / s.in_pieces, first = task % s.in_pieces * s.in_rows;
    uint16_t *out = (uint16_t *)shared + depth * s.depth;
    vi most = vi_set(0);
    x += 2 * depth * c->ih * c->iw * VF;
    for (size_t deck = 0; deck < s.down * s.across; deck++, out += s.deck)
        for (size_t r = first; r < smaller(first + s.in_rows, s.rows); r++) {
            vi row = split_row(c, &s, x, c->ic - depth * DEPTH, r * c->sh + deck / s.across,
                               deck % s.across, out + r * s.columns * DEPTH);
            most = (vi)_mm512_max_epi32((__m512i)most, (__m512i)row);
        }
    return fits(most);
}

/* ── Products ── */

/* What a block of outputs is made of: n_depths times all taps. */
typedef struct block {
    const uint16_t *a; /* the split input at its first output */
    const uint16_t *b; /* [n_depths][taps][part][2][TILE] */
    const size_t *taps;
    size_t n_taps, n_depths, part, depth;
    float *sums; /* [2 tiles of outputs][2][ROWS][VF] */
    bool more;   /* sums has some already */
} block;

#define LOAD_A(part_)                                                                              \
    _tile_loadd(4, a + (part_)*k->part, DEPTH * 2);                                                \
    if (high > 1) _tile_loadd(5, a + (part_)*k->part + TILE, DEPTH * 2);
#define LOAD_B(part_)                                                                              \
    _tile_loadd(6, b + (part_)*2 * TILE, DEPTH * 2);                                               \
    if (wide > 1) _tile_loadd(7, b + (part_)*2 * TILE + TILE, DEPTH * 2);
#define MULTIPLY                                                                                   \
    _tile_dpbf16ps(0, 4, 6);                                                                       \
    if (wide > 1) _tile_dpbf16ps(1, 4, 7);                                                         \
    if (high > 1) _tile_dpbf16ps(2, 5, 6);                                                         \
    if (high > 1 && wide > 1) _tile_dpbf16ps(3, 5, 7);
#define EACH_SUM(DO)                                                                               \
    DO(0, k->sums, VF * 4);                                                                        \
    if (wide > 1) DO(1, k->sums + ROWS * VF, VF * 4);                                              \
    if (high > 1) DO(2, k->sums + 2 * ROWS * VF, VF * 4);                                          \
    if (high > 1 && wide > 1) DO(3, k->sums + 3 * ROWS * VF, VF * 4);

TILE_INLINE void run_block(const block *k, size_t high, size_t wide) {
    const uint16_t *b = k->b;
    if (k->more) {
        EACH_SUM(_tile_loadd)
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (size_t d = 0; d < k->n_depths; d++)
        for (size_t t = 0; t < k->n_taps; t++, b += STEP) {
            const uint16_t *a = k->a + d * k->depth + k->taps[t];
            LOAD_A(2)
            LOAD_B(0)
            MULTIPLY LOAD_A(1) MULTIPLY LOAD_B(1) MULTIPLY LOAD_A(0) MULTIPLY LOAD_B(0)
                MULTIPLY LOAD_B(2) MULTIPLY
        }
    EACH_SUM(_tile_stored)
}
static void block_1_1(const block *k) {
    run_block(k, 1, 1);
}
static void block_1_2(const block *k) {
    run_block(k, 1, 2);
}
static void block_2_1(const block *k) {
    run_block(k, 2, 1);
}
static void block_2_2(const block *k) {
    run_block(k, 2, 2);
}
static void (*const blocks[2][2])(const block *) = {{block_1_1, block_1_2}, {block_2_1, block_2_2}};

/* ── Outputs ── */

static size_t amx_out_tasks(const onx_conv *c) {
    sizes s = sizes_of(c);
    return s.pairs * s.pieces;
}

/* Of a task: sums of a piece, split weights, taps. */
static size_t amx_scratch(const onx_conv *c) {
    sizes s = sizes_of(c);
    size_t steps = larger(STEPS / s.taps, 1) * s.taps;
    return ceil_div(s.piece, 2 * ROWS) * 4 * ROWS * VF * sizeof(float) +
           steps * STEP * sizeof(uint16_t) + s.taps * sizeof(size_t);
}

/* The weights of `wide` output blocks for n input depths from `depth` on; w: those of the pair. */
static void split_depths(const onx_conv *c, const sizes *s, const float *w, size_t wide,
                         size_t depth, size_t n, uint16_t *out) {
    size_t in_blocks = ceil_div(c->ic, VF), block_floats = s->taps * VF * wide * VF;
    for (size_t d = depth; d < depth + n; d++)
        for (size_t t = 0; t < s->taps; t++, out += STEP)
            for (size_t i = 0; i < DEPTH; i += 2) { /* input channels */
                size_t in = 2 * d + i / VF;
                const float *row = w + in * block_floats + (t * VF + i % VF) * wide * VF;
                for (size_t j = 0; j < wide; j++) {
                    vf even = in < in_blocks ? vf_load(row + j * VF) : vf_zero();
                    vf odd = in < in_blocks ? vf_load(row + (wide + j) * VF) : vf_zero();
                    split_weights(even, odd, out + j * TILE + i * VF, 2 * TILE);
                }
            }
}

/* The outputs [first, last) of output block `at`, from tile `j` of each sum. */
static void store_outputs(const onx_conv *c, const onx_conv_args *a, const sizes *s, size_t at,
                          size_t j, size_t first, size_t last, const float *sums) {
    vf lo = vf_set(a->lo), hi = vf_set(a->hi);
    size_t plane = at * c->oh * c->ow * VF, channel = at * VF;
    vf bias = a->bias ? vf_load_n(a->bias + channel, smaller(VF, c->oc - channel)) : vf_zero();
    for (size_t oy = first / s->columns; oy * s->columns < last; oy++) {
        size_t from = larger(first, oy * s->columns);
        size_t to = smaller(last, oy * s->columns + c->ow);
        if (from >= to) continue;
        size_t pixel = plane + (oy * c->ow + (from - oy * s->columns)) * VF;
        float *y = a->y + pixel;
        const float *add = a->residual ? a->residual + pixel : NULL;
        for (size_t v = from; v < to; v++) {
            size_t i = v - first;
            vf sum = bias + vf_load(sums + ((i / ROWS * 2 + j) * ROWS + i % ROWS) * VF);
            if (add) sum += vf_load(add + (v - from) * VF);
            vf_store(y + (v - from) * VF, vf_min(hi, vf_max(lo, sum)));
        }
        if (a->then) a->then(a->user, y, (to - from) * VF);
    }
}

static void amx_out(const onx_conv *c, const onx_conv_args *a, const float *shared, size_t task,
                    void *scratch) {
    sizes s = sizes_of(c);
    size_t at = task / s.pieces * WIDE, first = task % s.pieces * s.piece;
    size_t last = smaller(first + s.piece, s.outputs), per = larger(STEPS / s.taps, 1);
    size_t wide = smaller(WIDE, ceil_div(c->oc, VF) - at), tiles = ceil_div(last - first, ROWS);
    const float *w = a->w + at * VF * ceil_div(c->ic, VF) * VF * s.taps;
    float *sums = scratch;
    uint16_t *parts = (uint16_t *)(sums + ceil_div(s.piece, 2 * ROWS) * 4 * ROWS * VF);
    size_t *taps = (size_t *)(parts + per * s.taps * STEP);
    if (first >= last) return;
    for (size_t t = 0; t < s.taps; t++) taps[t] = tap_at(c, &s, t);
    block k = {.b = parts, .taps = taps, .n_taps = s.taps, .part = s.part, .depth = s.depth};
    onx_amx_begin();
    for (size_t d = 0; d < s.depths; d += per) {
        k.n_depths = smaller(per, s.depths - d), k.more = d;
        split_depths(c, &s, w, wide, d, k.n_depths, parts);
        onx_amx_fence();
        for (size_t i = 0; i < tiles; i += 2) {
            k.a = (const uint16_t *)shared + d * s.depth + (first + i * ROWS) * DEPTH;
            k.sums = sums + i * 2 * ROWS * VF;
            blocks[tiles - i > 1][wide - 1](&k);
        }
    }
    onx_amx_end();
    onx_amx_fence();
    for (size_t j = 0; j < wide; j++) store_outputs(c, a, &s, at + j, j, first, last, sums);
}

const onx_conv_staged onx_conv_tiles_amx = {
    amx_fits,     amx_worth, amx_weights,   amx_parts,   amx_pack, amx_shared,
    amx_in_tasks, amx_in,    amx_out_tasks, amx_scratch, amx_out,
};
