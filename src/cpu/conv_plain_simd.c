/* conv_plain_simd.c: convolution from plain to blocked: few input channels, as in a first layer.
 *
 * A task makes some rows of the output. It first copies the rows of the input that they need, with
 * zeros for the padding, and with the columns dealt out to `sw` decks (as far as taps reach them):
 *
 *     [ic][rows][decks][columns]      deck d, column i: the input of output 0 at x = i*sw + d
 *
 * so that for any stride the inputs of neighbouring outputs are neighbours, and a tap is an offset.
 * Packed weights: [group][pair of output blocks][ic][kh][kw][WIDE*b output channels].
 * Dilations spread the copied rows and columns: the caller keeps to dh = dw = 1.
 */
#include "cpu/conv_tile.h"

#define COPY_FLOATS ((size_t)16 << 10) /* wanted at most, to stay in a cache */
#define TASK_PRODUCTS ((size_t)8 << 20)

typedef struct tile {
    const float *x;       /* the first pixel's input of the first tap */
    const float *w;       /* [taps][wide*b] */
    const size_t *offset; /* [taps], into x */
    size_t taps;
    size_t count; /* tiles, one after the other */
    tile_ends ends;
} tile;

TILE_INLINE void run_tile(const tile *t, size_t pixels, size_t wide) {
    const float *x = t->x;
    tile_ends ends = t->ends, *now = &ends;
    for (size_t i = 0; i < t->count; i++, x += pixels) {
        vf sum[PIXELS][WIDE];
        __asm__("" : "+r"(now) : : "memory"); /* registers are for sums, not for limits */
        tile_start(now, sum, pixels, wide);
        for (size_t k = 0; k < t->taps; k++) {
            const float *in = x + t->offset[k], *w = t->w + k * wide * VF;
            vf weight[WIDE];
            VF_UNROLL for (size_t j = 0; j < wide; j++) weight[j] = vf_load(w + j * VF);
            VF_UNROLL for (size_t p = 0; p < pixels; p++) {
                vf v = vf_set(in[p]);
                VF_UNROLL for (size_t j = 0; j < wide; j++) sum[p][j] =
                    vf_fma(v, weight[j], sum[p][j]);
            }
        }
        tile_end(now, sum, pixels, wide);
        tile_ends_step(now, pixels);
    }
}
#define TILE_TYPE tile
#define TILE_FUNCTION run_tile
EACH_SIZE(TILE_RUN)
static void (*const tiles[PIXELS][WIDE])(const tile *) = {EACH_SIZE(TILE_ENTRY)};

/* The shape of the copy, and how many rows of the output a task makes. */
typedef struct split {
    size_t taps, decks, columns, out_rows, in_rows, pieces;
} split;

static split split_of(const onx_conv *c) {
    split s = {.taps = c->ic * c->kh * c->kw, .decks = smaller(c->sw, c->kw)};
    s.columns = c->ow + (c->kw - 1) / c->sw;
    size_t per_row = c->ic * s.decks * s.columns, first = c->kh * per_row;
    size_t more = first < COPY_FLOATS ? (COPY_FLOATS - first) / per_row / c->sh : 0;
    size_t worth = TASK_PRODUCTS / s.taps / (ceil_div(c->oc, VF) * VF) / c->ow;
    s.pieces = ceil_div(c->oh, smaller(1 + more, larger(1, worth)));
    s.out_rows = ceil_div(c->oh, s.pieces);
    s.in_rows = (s.out_rows - 1) * c->sh + c->kh;
    return s;
}

static size_t plain_tasks(const onx_conv *c) {
    return c->n * c->groups * split_of(c).pieces;
}

static size_t plain_scratch(const onx_conv *c) {
    split s = split_of(c);
    return s.taps * sizeof(size_t) + c->ic * s.in_rows * s.decks * s.columns * sizeof(float);
}

/* The lanes of a and b that are even. */
#if defined(__AVX512F__)
#define EVEN(a, b)                                                                                 \
    __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#elif defined(__AVX2__)
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#else
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#endif

/* Every `step`-th of the floats at x, n of them. */
static void pick(const float *x, size_t step, size_t n, float *out) {
    size_t i = 0;
    if (step == 1) {
        memcpy(out, x, n * sizeof *out);
        return;
    }
    for (; step == 2 && i + VF < n; i += VF) /* the last of 2 * VF floats is not picked */
        vf_store(out + i, EVEN(vf_load(x + 2 * i), vf_load(x + 2 * i + VF)));
    for (; i < n; i++) out[i] = load_any(x + i * step);
}

/* Deal one row of the input, or NULL for one in the padding, out to the decks. */
static void deal_row(const onx_conv *c, const split *s, const float *row, float *out) {
    for (size_t d = 0; d < s->decks; d++, out += s->columns) {
        size_t left = c->left > d ? c->left - d : 0; /* columns i with i*sw + d < left are zeros */
        size_t i = smaller(ceil_div(left, c->sw), s->columns), x = i * c->sw + d - c->left;
        size_t n = row && x < c->iw ? smaller(ceil_div(c->iw - x, c->sw), s->columns - i) : 0;
        memset(out, 0, i * sizeof *out);
        if (n) pick(row + x, c->sw, n, out + i);
        memset(out + i + n, 0, (s->columns - i - n) * sizeof *out);
    }
}

/* The rows from `first` (counted in the padded image) of each channel of a group. */
static void deal_rows(const onx_conv *c, const split *s, const float *x, size_t first, float *out) {
    for (size_t i = 0; i < c->ic; i++, x += c->ih * c->iw)
        for (size_t r = first; r < first + s->in_rows; r++, out += s->decks * s->columns) {
            bool inside = r >= c->top && r - c->top < c->ih;
            deal_row(c, s, inside ? x + (r - c->top) * c->iw : NULL, out);
        }
}

static void find_offsets(const onx_conv *c, const split *s, size_t *offset) {
    for (size_t i = 0; i < c->ic; i++)
        for (size_t ky = 0; ky < c->kh; ky++)
            for (size_t kx = 0; kx < c->kw; kx++) {
                size_t deck = (i * s->in_rows + ky) * s->decks + kx % c->sw;
                *offset++ = deck * s->columns + kx / c->sw;
            }
}

/* One row of the output, from the dealt rows at x, for all channels of a group (of all images), in
 * tiles of about equal size: first those that have a pixel more. */
static void run_row(const onx_conv *c, const onx_conv_args *a, size_t group, size_t oy, tile *t,
                    const float *x) {
    size_t n = ceil_div(c->ow, PIXELS), each = c->ow / n, longer = c->ow % n;
    size_t blocks = ceil_div(c->oc, VF);
    for (size_t block = 0; block < blocks; block += WIDE) {
        size_t wide = smaller(WIDE, blocks - block), first = longer * (each + 1);
        t->w = a->w + (group % c->groups * blocks + block) * t->taps * VF;
        t->x = x;
        t->count = longer;
        t->ends = tile_ends_at(c, a, group, block, wide, oy * c->ow);
        if (longer) tiles[each][wide - 1](t);
        t->x = x + first;
        t->count = n - longer;
        tile_ends_step(&t->ends, first);
        tiles[each - 1][wide - 1](t);
    }
}

static void plain_run(const onx_conv *c, const onx_conv_args *a, size_t task, void *scratch) {
    split s = split_of(c);
    size_t group = task / s.pieces, first = task % s.pieces * s.out_rows;
    size_t *offset = scratch;
    float *rows = (float *)(offset + s.taps);
    tile t = {.offset = offset, .taps = s.taps};
    find_offsets(c, &s, offset);
    deal_rows(c, &s, a->x + group * c->ic * c->ih * c->iw, first * c->sh, rows);
    for (size_t r = 0; r < s.out_rows && first + r < c->oh; r++)
        run_row(c, a, group, first + r, &t, rows + r * c->sh * s.decks * s.columns);
    size_t last = smaller(first + s.out_rows, c->oh);
    if (first < last)
        finish_blocks(c, a, group, 0, ceil_div(c->oc, VF), first * c->ow, last * c->ow);
}

static size_t plain_weights(const onx_conv *c) {
    return c->groups * c->ic * ceil_div(c->oc, VF) * VF * c->kh * c->kw;
}

static size_t plain_parts(const onx_conv *c) {
    return c->groups;
}

static void plain_pack(const onx_conv *c, const float *w, size_t group, float *packed) {
    size_t taps = c->ic * c->kh * c->kw, oc_end = ceil_div(c->oc, VF) * VF;
    packed += group * oc_end * taps;
    w += group * c->oc * taps;
    for (size_t oc0 = 0; oc0 < oc_end; oc0 += WIDE * VF)
        for (size_t k = 0; k < taps; k++)
            for (size_t oc = oc0; oc < smaller(oc0 + WIDE * VF, oc_end); oc++)
                *packed++ = oc < c->oc ? load_any(w + oc * taps + k) : 0;
}

const onx_conv_algorithm ONX_TIER(onx_conv_plain) = {
    VF, plain_weights, plain_parts, plain_pack, plain_tasks, plain_scratch, plain_run,
};
