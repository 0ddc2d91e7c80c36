/* winograd_simd.c: convolution by Winograd's F(4x4, 3x3) and F(2x2, 5x5), and of 3x3 with stride 2,
 * in the blocked layout.
 *
 * A tile of 4x4 outputs (2x2 of a 5x5 kernel) is made of 6x6 inputs with 36 products for each pair
 * of channels instead of 144 (100); with stride 2 of 9x9 inputs, with 81 instead of 144:
 *
 *     V = B' d B     inputs d, transformed                once per tile and input channel
 *     U = G w G'     weights w, transformed               when they are packed, in double
 *     M = sum U V    over input channels, elementwise     36 (81) products [tiles,ic][ic,oc]
 *     y = A' M A     outputs                              once per tile and output channel
 *
 * winograd_form.h has the transforms. V lies as [points][groups of tiles][ic/b][tiles][b], in the
 * order in which products read it, and a vector longer for each point so that they do not all fall
 * into the same lines of a cache; U as [pair of output blocks][36][ic][WIDE*b]. V is 2.25 (9; with
 * stride 2: 1.27) times as large as the image: large ones are made in bands, each of about as many
 * tiles.
 */
#include "cpu/vec_transpose.h"
#include "cpu/winograd_form.h"

enum { GROUPS = 2, CHUNK = GROUPS * PIXELS }; /* of tiles, most for a task */
#define LARGEST_X 0x1p80f /* sum of magnitudes that cannot overflow on the way */
#define LARGEST_W 0x1p20f
#define BAND_FLOATS ((size_t)1 << 20)        /* of V, */
#define APART_FLOATS ((size_t)VF << 12)      /* and where bands are made apart, with */
#define CACHE_FLOATS ((size_t)VF * 10 << 10) /* of U, to stay in the second-level cache */
#define SMALL_FLOATS ((size_t)160 << 10)     /* of U, or nearly so */

typedef struct sizes {
    const form *form;
    size_t across;              /* tiles in a row */
    size_t first, tiles;        /* those of a band */
    size_t ic_blocks, oc_pairs; /* oc_pairs: an odd last block counts as one */
    size_t groups, chunks;      /* of tiles */
    size_t most;                /* tiles in a group */
    size_t point, group;        /* floats of V for a point, and for a group there */
} sizes;

static size_t all_tiles(const onx_conv *c) {
    size_t out = form_of(c)->out;
    return ceil_div(c->ow, out) * ceil_div(c->oh, out);
}
static size_t points_of(const onx_conv *c) {
    size_t in = form_of(c)->in;
    return in * in;
}

static sizes sizes_of(const onx_conv *c, onx_conv_band band) {
    sizes s = {.form = form_of(c)};
    s.across = ceil_div(c->ow, s.form->out);
    s.first = onx_part_at(all_tiles(c), band.count, band.index);
    s.tiles = onx_part_at(all_tiles(c), band.count, band.index + 1) - s.first;
    s.ic_blocks = ceil_div(c->ic, VF);
    s.oc_pairs = ceil_div(ceil_div(c->oc, VF), WIDE);
    s.groups = ceil_div(s.tiles, PIXELS);
    s.chunks = ceil_div(s.groups, GROUPS);
    s.most = s.groups ? ceil_div(s.tiles, s.groups) : 0;
    s.group = s.ic_blocks * s.most * VF;
    s.point = s.groups * s.group + VF;
    return s;
}

/* The first tile of a group. */
static size_t group_at(const sizes *s, size_t group) {
    return group * s->tiles / s->groups;
}

static bool winograd_fits(const onx_conv *c) {
    return form_of(c) != NULL;
}

/* ── Weights ── */

static size_t winograd_weights(const onx_conv *c) {
    return UNITS * ceil_div(c->ic, VF) * VF * ceil_div(c->oc, VF) * VF;
}

/* The kernels of VF input channels: [VF][area] vectors of output channels, from w: [lanes][row], of
 * which `n` are left. Is the sum of magnitudes small enough for each? */
static bool load_kernels(const float *w, size_t row, size_t lanes, size_t n, size_t area,
                         float *kernels) {
    vf v[VF];
    vi large = {0};
    for (size_t i = 0; i < area; i++) {
        size_t at = smaller(i * VF, n);
        vf_columns(w + at, row, lanes, n - at, v);
        memcpy(kernels + i * VF * VF, v, sizeof v);
    }
    for (size_t k = 0; k < VF; k++) {
        vf sum = vf_zero();
        for (size_t i = 0; i < area; i++) sum += vf_abs(vf_load(kernels + (k * area + i) * VF));
        large |= ~(sum <= vf_set(LARGEST_W));
    }
    return !vf_any(large);
}

static size_t winograd_parts(const onx_conv *c) {
    return ceil_div(c->oc, VF);
}

/* U is written for SOME input channels at a time: the points lie far apart. */
static bool winograd_pack(const onx_conv *c, const float *w, size_t part, float *packed) {
    enum { SOME = 4 };
    float kernels[VF * MOST_TAPS * MOST_TAPS * VF], u[UNITS * SOME * VF];
    size_t ic_end = ceil_div(c->ic, VF) * VF, oc_end = ceil_div(c->oc, VF) * VF, oc = part * VF;
    size_t pair = oc / (WIDE * VF) * (WIDE * VF), width = smaller(WIDE * VF, oc_end - pair);
    size_t area = c->kh * c->kh, row = c->ic * area, lanes = smaller(VF, c->oc - oc);
    float *out = packed + pair * ic_end * UNITS + oc - pair;
    const form *f = form_of(c);
    bool fit = true;
    w += oc * row;
    read_ahead(w, lanes * row);
    for (size_t ic = 0; ic < ic_end; ic += SOME, out += SOME * width) {
        if (ic % VF == 0)
            fit &= load_kernels(w + ic * area, row, lanes, row - ic * area, area, kernels);
        for (size_t i = 0; i < SOME * VF; i += HALF) {
            const float *from = kernels + (ic % VF * VF + i / VF * VF) * area + i % VF;
            f->weights(from, u + i, SOME * VF);
        }
        for (size_t i = 0; i < UNITS * SOME; i++)
            vf_store(out + (i / SOME * ic_end + i % SOME) * width, vf_load(u + i * VF));
    }
    return fit;
}

/* ── Inputs ── */

/* Are tasks in the order of tiles, and so threads have their own part of the image? Else they have
 * their own weights, where these are more, or too many for each to have them all. */
static bool goes_by_tiles(const onx_conv *c) {
    return all_tiles(c) > c->oc && winograd_weights(c) <= CACHE_FLOATS;
}

/* Of the tiles, for tasks of `in`. */
static size_t slices_of(const onx_conv *c) {
    enum { SLICES = 8 };
    return goes_by_tiles(c) ? SLICES : 1;
}
static size_t winograd_in_tasks(const onx_conv *c) {
    return slices_of(c) * ceil_div(c->ic, VF);
}

/* Is each sum of magnitudes small enough, of the first `lanes`? */
static bool sums_fit(vf sum, size_t lanes) {
    float all[VF];
    vf_store(all, sum);
    return !vf_any(~(vf_load_n(all, lanes) <= vf_set(LARGEST_X)));
}

/* A slice of one block of input channels. */
static bool winograd_in(const onx_conv *c, const float *x, float *shared, onx_conv_band band,
                        size_t task) {
    sizes s = sizes_of(c, band);
    size_t block = task % s.ic_blocks, slice = task / s.ic_blocks;
    size_t g = onx_share_at(s.groups, slices_of(c), slice);
    size_t end = onx_share_at(s.groups, slices_of(c), slice + 1);
    size_t step = s.form->out * s.form->stride;
    vf sum = vf_zero();
    x += block * c->ih * c->iw * VF;
    for (; g < end; g++) {
        float *v = shared + g * s.group + block * s.most * VF;
        for (size_t t = group_at(&s, g); t < group_at(&s, g + 1); t++, v += VF) {
            size_t row = (s.first + t) / s.across, col = (s.first + t) % s.across;
            sum += s.form->inputs(c, x, row * step - c->top, col * step - c->left, v, s.point);
        }
    }
    return sums_fit(sum, smaller(VF, c->ic - block * VF));
}

/* ── Products ── */

typedef struct tile {
    const float *v; /* [channels/b][most][b] */
    const float *u; /* [channels][wide*b] */
    size_t channels, most;
    const char *ahead; /* fetched for later, `ahead_step` bytes for each channel */
    size_t ahead_step;
    float *m; /* [wide][m_step] */
    size_t m_step;
} tile;

TILE_INLINE void run_tile(const tile *t, size_t pixels, size_t wide) {
    vf sum[PIXELS][WIDE];
    const float *u = t->u;
    const char *ahead = t->ahead;
    VF_UNROLL for (size_t p = 0; p < pixels; p++) {
        VF_UNROLL for (size_t j = 0; j < wide; j++) sum[p][j] = vf_zero();
    }
    for (size_t k = 0; k < t->channels; k += VF) {
        const float *v = t->v + k * t->most;
        for (size_t i = 0; i < smaller(VF, t->channels - k); i++, u += wide * VF) {
            vf weight[WIDE];
            __builtin_prefetch(ahead, 0, 2);
            ahead += t->ahead_step;
            VF_UNROLL for (size_t j = 0; j < wide; j++) weight[j] = vf_load(u + j * VF);
            VF_UNROLL for (size_t p = 0; p < pixels; p++) {
                vf x = vf_set(v[p * VF + i]);
                VF_UNROLL for (size_t j = 0; j < wide; j++) {
                    sum[p][j] = vf_fma(x, weight[j], sum[p][j]);
                }
            }
        }
    }
    VF_UNROLL for (size_t j = 0; j < wide; j++) {
        VF_UNROLL for (size_t p = 0; p < pixels; p++)
            vf_store(t->m + j * t->m_step + p * VF, sum[p][j]);
    }
}
#define TILE_TYPE tile
#define TILE_FUNCTION run_tile
EACH_SIZE(TILE_RUN)
static void (*const tiles[PIXELS][WIDE])(const tile *) = {EACH_SIZE(TILE_ENTRY)};

/* ── Outputs ── */

enum { M_STEP = WIDE * CHUNK * VF + VF }; /* M: [points][WIDE][CHUNK][b], and a vector */

/* Tile t of an output block: m [points][M_STEP]; y, add [oh][ow][b], add may be NULL. */
static void store_tile(const onx_conv *c, const onx_conv_args *a, const sizes *s, size_t t,
                       const float *m, vf bias, const float *add, float *y) {
    vf lo = vf_set(a->lo), hi = vf_set(a->hi);
    float done[MOST_OUT * MOST_OUT * VF];
    size_t n = s->form->out, oy = t / s->across * n, ox = t % s->across * n;
    s->form->outputs(m, M_STEP, done);
    for (size_t i = 0; i < n * n; i++) {
        size_t iy = oy + i / n, ix = ox + i % n;
        bool inside = add && iy < c->oh && ix < c->ow;
        vf v =
            vf_load(done + i * VF) + (inside ? bias + vf_load(add + (iy * c->ow + ix) * VF) : bias);
        vf_store(done + i * VF, vf_min(hi, vf_max(lo, v)));
    }
    if (a->then) a->then(a->user, done, n * n * VF);
    for (size_t i = 0; i < n && oy + i < c->oh; i++)
        memcpy(y + ((oy + i) * c->ow + ox) * VF, done + i * n * VF,
               smaller(n, c->ow - ox) * VF * sizeof *y);
}

static size_t winograd_out_tasks(const onx_conv *c, onx_conv_band band) {
    sizes s = sizes_of(c, band);
    return s.oc_pairs * s.chunks;
}

static size_t winograd_scratch(const onx_conv *c) {
    return points_of(c) * M_STEP * sizeof(float);
}

/* Groups [first, end) of one pair, at all points, those of the same weights together. Meanwhile the
 * next weights may come from memory. */
static void multiply(const onx_conv *c, const sizes *s, const float *shared, const float *u,
                     bool fetches, size_t wide, size_t first, size_t end, float *m) {
    tile t = {.channels = c->ic, .most = s->most, .m_step = CHUNK * VF};
    size_t each = s->ic_blocks * VF * wide * VF, in = s->form->in;
    t.ahead_step = fetches ? wide * VF_BYTES / (end - first) : 0;
    for (size_t i = 0; i < UNITS; i++) {
        size_t row = i / SIX, column = i % SIX;
        t.u = u + i * each;
        for (size_t y = row; y < (row + 1 < SIX ? row + 1 : in); y++)
            for (size_t x = column; x < (column + 1 < SIX ? column + 1 : in); x++) {
                t.ahead = (const char *)(t.u + (fetches && i + 1 < UNITS ? each : 0));
                for (size_t g = first; g < end; g++, t.ahead += c->ic * t.ahead_step) {
                    t.v = shared + (y * in + x) * s->point + g * s->group;
                    t.m = m + (y * in + x) * M_STEP + (g - first) * PIXELS * VF;
                    tiles[group_at(s, g + 1) - group_at(s, g) - 1][wide - 1](&t);
                }
            }
    }
}

static void winograd_out(const onx_conv *c, const onx_conv_args *a, const float *shared,
                         onx_conv_band band, size_t task, void *scratch) {
    sizes s = sizes_of(c, band);
    bool by_tiles = goes_by_tiles(c);
    size_t chunk = by_tiles ? task / s.oc_pairs : task % s.chunks;
    size_t block = (by_tiles ? task % s.oc_pairs : task / s.chunks) * WIDE;
    size_t first = chunk * s.groups / s.chunks, end = (chunk + 1) * s.groups / s.chunks;
    size_t plane = c->oh * c->ow * VF;
    size_t wide = smaller(WIDE, ceil_div(c->oc, VF) - block);
    multiply(c, &s, shared, a->w + block * VF * s.ic_blocks * VF * UNITS, a->fetches, wide, first,
             end, scratch);
    for (size_t j = 0; j < wide; j++) {
        size_t channel = (block + j) * VF, at = (block + j) * plane;
        vf bias = a->bias ? vf_load_n(a->bias + channel, smaller(VF, c->oc - channel)) : vf_zero();
        for (size_t g = first; g < end; g++) {
            const float *m = (float *)scratch + (j * CHUNK + (g - first) * PIXELS) * VF;
            for (size_t t = group_at(&s, g); t < group_at(&s, g + 1); t++, m += VF)
                store_tile(c, a, &s, s.first + t, m, bias, a->residual ? a->residual + at : NULL,
                           a->y + at);
        }
    }
}

/* Where the weights are few, V may stay in the second-level cache. */
static bool winograd_apart(const onx_conv *c) {
    return winograd_weights(c) <= SMALL_FLOATS;
}
static size_t winograd_bands(const onx_conv *c) {
    size_t each = points_of(c) * ceil_div(c->ic, VF) * VF;
    size_t most = winograd_apart(c) ? APART_FLOATS : BAND_FLOATS;
    return larger(1, ceil_div(all_tiles(c), larger(CHUNK, most / each)));
}
static size_t winograd_shared(const onx_conv *c, size_t bands) {
    return points_of(c) * sizes_of(c, (onx_conv_band){0, bands}).point;
}
/* With few tiles, reading so many more weights takes longer; the sooner, the fewer products are
 * saved. */
static bool winograd_worth(const onx_conv *c) {
    return all_tiles(c) >= (c->sh == 1 ? 8 : 40);
}

const onx_conv_staged ONX_TIER(onx_conv_winograd) = {
    winograd_fits,    winograd_worth,  winograd_weights,  winograd_parts, winograd_pack,
    winograd_bands,   winograd_shared, winograd_in_tasks, winograd_in,    winograd_out_tasks,
    winograd_scratch, winograd_out,    winograd_apart,
};
