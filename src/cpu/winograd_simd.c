/* winograd_simd.c: convolution by Winograd's F(4x4, 3x3) and F(2x2, 5x5), in the blocked layout.
 *
 * A tile of 4x4 outputs (2x2 of a 5x5 kernel) is made of 6x6 inputs with 36 products for each pair
 * of channels instead of 144 (100), by interpolation (Cook and Toom) at the points 0, a, -a, 2a,
 * -2a and infinity along each axis:
 *
 *     V = B' d B     6x6 inputs d, transformed            once per tile and input channel
 *     U = G w G'     3x3 weights w, transformed           when they are packed, in double
 *     M = sum U V    over input channels, elementwise     36 matrix products [tiles,ic][ic,oc]
 *     y = A' M A     4x4 outputs                          once per tile and output channel
 *
 * With a = 3/4 the transforms lose least: the error is about twice that of direct sums (conv.h).
 * V lies as [36][ic/b][tiles][b], a vector longer for each of the 36 so that they do not all fall
 * into the same lines of a cache; U as [pair of output blocks][36][ic][WIDE*b]. V is 2.25 (9)
 * times as large as the image: large ones are made in bands, each of about as many tiles.
 */
#include "cpu/conv_tile.h"
#include "cpu/vec_transpose.h"

enum {
    IN = 6,
    POINTS = IN * IN,
    MOST_TAPS = 5,
    MOST_OUT = 4,
    CHUNK = 2 * PIXELS /* tiles of a task */
};
#define A1 0.75f /* a, and its powers: all exact */
#define A2 (A1 * A1)
#define A3 (A2 * A1)
#define A4 (A2 * A2)
#define LARGEST_X 0x1p80f /* sum of magnitudes that cannot overflow on the way */
#define LARGEST_W 0x1p20f
#define BAND_FLOATS ((size_t)1 << 20)        /* of V */
#define CACHE_FLOATS ((size_t)VF * 10 << 10) /* of U, to stay in the second-level cache */

/* Outputs of a tile along an axis. */
static size_t out_of(const onx_conv *c) {
    return IN + 1 - c->kh;
}

typedef struct sizes {
    size_t across;              /* tiles in a row */
    size_t first, tiles;        /* those of a band */
    size_t ic_blocks, oc_pairs; /* oc_pairs: an odd last block counts as one */
    size_t point;               /* floats of V for a point */
    size_t chunks;              /* of tiles */
} sizes;

static size_t all_tiles(const onx_conv *c) {
    return ceil_div(c->ow, out_of(c)) * ceil_div(c->oh, out_of(c));
}

static sizes sizes_of(const onx_conv *c, onx_conv_band band) {
    sizes s = {.across = ceil_div(c->ow, out_of(c))};
    s.first = onx_part_at(all_tiles(c), band.count, band.index);
    s.tiles = onx_part_at(all_tiles(c), band.count, band.index + 1) - s.first;
    s.ic_blocks = ceil_div(c->ic, VF);
    s.oc_pairs = ceil_div(ceil_div(c->oc, VF), WIDE);
    s.point = s.ic_blocks * s.tiles * VF + VF;
    s.chunks = ceil_div(s.tiles, CHUNK);
    return s;
}

static bool winograd_fits(const onx_conv *c) {
    return (c->kh == 3 || c->kh == 5) && c->kw == c->kh && c->sh == 1 && c->sw == 1 && c->dh == 1 &&
           c->dw == 1 && c->groups == 1;
}

/* ── Weights ── */

static size_t winograd_weights(const onx_conv *c) {
    return POINTS * ceil_div(c->ic, VF) * VF * ceil_div(c->oc, VF) * VF;
}

/* Half of VF output channels: as doubles they fill a vector. */
enum { HALF = VF / 2 };
typedef double vd __attribute__((vector_size(HALF * sizeof(double))));
typedef float vh __attribute__((vector_size(HALF * sizeof(float))));

/* u[6] = G w[taps], each with its step. */
TILE_INLINE void transform_weights(const vd *w, size_t w_step, size_t taps, vd *u, size_t u_step) {
    static const double a = 0.75, a4 = a * a * a * a;
    static const double points[IN - 1] = {0, a, -a, 2 * a, -2 * a};
    static const double scales[IN - 1] = {1 / (4 * a4), -1 / (6 * a4), -1 / (6 * a4), 1 / (24 * a4),
                                          1 / (24 * a4)};
    VF_UNROLL for (size_t i = 0; i < IN - 1; i++) {
        vd sum = w[(taps - 1) * w_step];
        VF_UNROLL for (size_t k = taps - 1; k-- > 0;) sum = w[k * w_step] + points[i] * sum;
        u[i * u_step] = sum * scales[i];
    }
    u[(IN - 1) * u_step] = w[(taps - 1) * w_step];
}

/* w: [taps][taps], u: [36], vectors of which HALF are used; those of u are `u_step` apart. */
TILE_INLINE void transform_kernel(const float *w, size_t taps, float *u, size_t u_step) {
    vd wide[MOST_TAPS * MOST_TAPS], rows[IN * MOST_TAPS], all[IN];
    VF_UNROLL for (size_t i = 0; i < taps * taps; i++) {
        vh v;
        memcpy(&v, w + i * VF, sizeof v);
        wide[i] = __builtin_convertvector(v, vd);
    }
    VF_UNROLL for (size_t x = 0; x < taps; x++) {
        transform_weights(wide + x, taps, taps, rows + x, taps);
    }
    VF_UNROLL for (size_t y = 0; y < IN; y++) {
        transform_weights(rows + y * taps, 1, taps, all, 1);
        VF_UNROLL for (size_t x = 0; x < IN; x++) {
            vh v = __builtin_convertvector(all[x], vh);
            memcpy(u + (y * IN + x) * u_step, &v, sizeof v);
        }
    }
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
    float kernels[VF * MOST_TAPS * MOST_TAPS * VF], u[POINTS * SOME * VF];
    size_t ic_end = ceil_div(c->ic, VF) * VF, oc_end = ceil_div(c->oc, VF) * VF, oc = part * VF;
    size_t pair = oc / (WIDE * VF) * (WIDE * VF), width = smaller(WIDE * VF, oc_end - pair);
    size_t area = c->kh * c->kh, row = c->ic * area, lanes = smaller(VF, c->oc - oc);
    float *out = packed + pair * ic_end * POINTS + oc - pair;
    bool fit = true;
    w += oc * row;
    read_ahead(w, lanes * row);
    for (size_t ic = 0; ic < ic_end; ic += SOME, out += SOME * width) {
        if (ic % VF == 0)
            fit &= load_kernels(w + ic * area, row, lanes, row - ic * area, area, kernels);
        for (size_t i = 0; i < SOME * VF; i += HALF) {
            const float *from = kernels + (ic % VF * VF + i / VF * VF) * area + i % VF;
            if (c->kh == 3)
                transform_kernel(from, 3, u + i, SOME * VF);
            else
                transform_kernel(from, 5, u + i, SOME * VF);
        }
        for (size_t i = 0; i < POINTS * SOME; i++)
            vf_store(out + (i / SOME * ic_end + i % SOME) * width, vf_load(u + i * VF));
    }
    return fit;
}

/* ── Inputs ── */

/* v[6] = B' d[6], d and v with their steps. */
TILE_INLINE void transform_input(const vf *d, size_t d_step, vf *v, size_t v_step) {
    vf d0 = d[0], d1 = d[d_step], d2 = d[2 * d_step], d3 = d[3 * d_step], d4 = d[4 * d_step];
    vf d5 = d[5 * d_step];
    vf even = vf_fma(vf_set(-4 * A2), d2, d4), odd = A1 * d3 - (4 * A3) * d1;
    vf even2 = vf_fma(vf_set(-A2), d2, d4), odd2 = (2 * A1) * d3 - (2 * A3) * d1;
    v[0] = vf_fma(vf_set(4 * A4), d0, vf_fma(vf_set(-5 * A2), d2, d4));
    v[v_step] = even + odd;
    v[2 * v_step] = even - odd;
    v[3 * v_step] = even2 + odd2;
    v[4 * v_step] = even2 - odd2;
    v[5 * v_step] = vf_fma(vf_set(4 * A4), d1, vf_fma(vf_set(-5 * A2), d3, d5));
}

/* d: 6x6 pixels of x [ih][iw][b] from (y, x0), modulo 2^64; zeros outside. Adds magnitudes. */
static inline vf load_pixels(const onx_conv *c, const float *x, size_t y, size_t x0, vf d[POINTS]) {
    vf sum = vf_zero();
    for (size_t i = 0; i < IN; i++)
        for (size_t j = 0; j < IN; j++) {
            bool inside = y + i < c->ih && x0 + j < c->iw;
            vf v = inside ? vf_load(x + ((y + i) * c->iw + x0 + j) * VF) : vf_zero();
            d[i * IN + j] = v;
            sum += vf_abs(v);
        }
    return sum;
}

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
    size_t t = onx_share_at(s.tiles, slices_of(c), slice);
    size_t end = onx_share_at(s.tiles, slices_of(c), slice + 1);
    vf sum = vf_zero(), d[POINTS], half[POINTS], v[POINTS];
    x += block * c->ih * c->iw * VF;
    for (; t < end; t++) {
        size_t row = (s.first + t) / s.across, col = (s.first + t) % s.across;
        sum += load_pixels(c, x, row * out_of(c) - c->top, col * out_of(c) - c->left, d);
        VF_UNROLL for (size_t i = 0; i < IN; i++) transform_input(d + i, IN, half + i, IN);
        VF_UNROLL for (size_t i = 0; i < IN; i++) {
            transform_input(half + i * IN, 1, v + i * IN, 1);
        }
        float *out = shared + (block * s.tiles + t) * VF;
        for (size_t i = 0; i < POINTS; i++) vf_store(out + i * s.point, v[i]);
    }
    return sums_fit(sum, smaller(VF, c->ic - block * VF));
}

/* ── Products ── */

typedef struct tile {
    const float *v; /* [channels/b][v_step]: the tiles' vectors first */
    const float *u; /* [channels][wide*b] */
    size_t channels, v_step;
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
        const float *v = t->v + k / VF * t->v_step;
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

/* y[n] = A' m[6], n: 2 or 4. */
TILE_INLINE void transform_output(const vf *m, size_t m_step, vf *y, size_t y_step, size_t n) {
    vf m0 = m[0], m5 = m[5 * m_step];
    vf sum = m[m_step] + m[2 * m_step], difference = m[m_step] - m[2 * m_step];
    vf sum2 = m[3 * m_step] + m[4 * m_step], difference2 = m[3 * m_step] - m[4 * m_step];
    y[0] = m0 + sum + sum2;
    y[y_step] = A1 * difference + (2 * A1) * difference2;
    if (n == 2) y[y_step] += m5;
    if (n == 2) return;
    y[2 * y_step] = A2 * sum + (4 * A2) * sum2;
    y[3 * y_step] = A3 * difference + (8 * A3) * difference2 + m5;
}

/* out[n][n] from m [36][m_step]. */
TILE_INLINE void transform_tile(const float *m, size_t m_step, size_t n, vf *out) {
    vf all[POINTS], half[MOST_OUT * IN];
    for (size_t i = 0; i < POINTS; i++) all[i] = vf_load(m + i * m_step);
    VF_UNROLL for (size_t i = 0; i < IN; i++) transform_output(all + i, IN, half + i, IN, n);
    VF_UNROLL for (size_t i = 0; i < n; i++) {
        transform_output(half + i * IN, 1, out + i * n, 1, n);
    }
}

/* Tile t of an output block: m [36][m_step]; y, add [oh][ow][b], add may be NULL. */
TILE_INLINE void store_outputs(const onx_conv *c, const onx_conv_args *a, size_t t, const float *m,
                               size_t m_step, vf bias, const float *add, float *y, size_t n) {
    vf out[MOST_OUT * MOST_OUT], lo = vf_set(a->lo), hi = vf_set(a->hi);
    float done[MOST_OUT * MOST_OUT * VF];
    size_t across = ceil_div(c->ow, n), oy = t / across * n, ox = t % across * n;
    transform_tile(m, m_step, n, out);
    for (size_t i = 0; i < n * n; i++) {
        size_t iy = oy + i / n, ix = ox + i % n;
        bool inside = add && iy < c->oh && ix < c->ow;
        vf v = out[i] + (inside ? bias + vf_load(add + (iy * c->ow + ix) * VF) : bias);
        vf_store(done + i * VF, vf_min(hi, vf_max(lo, v)));
    }
    if (a->then) a->then(a->user, done, n * n * VF);
    for (size_t i = 0; i < n && oy + i < c->oh; i++)
        memcpy(y + ((oy + i) * c->ow + ox) * VF, done + i * n * VF,
               smaller(n, c->ow - ox) * VF * sizeof *y);
}

static void store_tile(const onx_conv *c, const onx_conv_args *a, size_t t, const float *m,
                       size_t m_step, vf bias, const float *add, float *y) {
    if (out_of(c) == 4)
        store_outputs(c, a, t, m, m_step, bias, add, y, 4);
    else
        store_outputs(c, a, t, m, m_step, bias, add, y, 2);
}

static size_t winograd_out_tasks(const onx_conv *c, onx_conv_band band) {
    sizes s = sizes_of(c, band);
    return s.oc_pairs * s.chunks;
}

enum { M_STEP = WIDE * CHUNK * VF + VF }; /* M: [36][WIDE][CHUNK][b], and a vector */

static size_t winograd_scratch(const onx_conv *c) {
    (void)c;
    return POINTS * M_STEP * sizeof(float);
}

/* All 36 products for tiles [first, first + n) of one pair. Meanwhile the weights of the next point
 * may come from memory. */
static void multiply(const onx_conv *c, const sizes *s, const float *shared, const float *u,
                     bool fetches, size_t wide, size_t first, size_t n, float *m) {
    size_t groups = ceil_div(n, PIXELS);
    tile t = {.channels = c->ic, .v_step = s->tiles * VF, .m_step = CHUNK * VF};
    size_t each = s->ic_blocks * VF * wide * VF;
    for (size_t i = 0; i < POINTS; i++) {
        t.u = u + i * each;
        t.ahead = (const char *)(t.u + (fetches && i + 1 < POINTS ? each : 0));
        t.ahead_step = fetches ? wide * VF_BYTES / groups : 0;
        for (size_t g = 0; g < groups; g++, t.ahead += c->ic * t.ahead_step) {
            size_t from = g * n / groups, to = (g + 1) * n / groups;
            t.v = shared + i * s->point + (first + from) * VF;
            t.m = m + i * M_STEP + from * VF;
            tiles[to - from - 1][wide - 1](&t);
        }
    }
}

static void winograd_out(const onx_conv *c, const onx_conv_args *a, const float *shared,
                         onx_conv_band band, size_t task, void *scratch) {
    sizes s = sizes_of(c, band);
    bool by_tiles = goes_by_tiles(c);
    size_t chunk = by_tiles ? task / s.oc_pairs : task % s.chunks;
    size_t block = (by_tiles ? task % s.oc_pairs : task / s.chunks) * WIDE;
    size_t first = chunk * s.tiles / s.chunks, n = (chunk + 1) * s.tiles / s.chunks - first;
    size_t plane = c->oh * c->ow * VF;
    size_t wide = smaller(WIDE, ceil_div(c->oc, VF) - block);
    multiply(c, &s, shared, a->w + block * VF * s.ic_blocks * VF * POINTS, a->fetches, wide, first,
             n, scratch);
    for (size_t j = 0; j < wide; j++) {
        size_t channel = (block + j) * VF, at = (block + j) * plane;
        vf bias = a->bias ? vf_load_n(a->bias + channel, smaller(VF, c->oc - channel)) : vf_zero();
        for (size_t t = 0; t < n; t++)
            store_tile(c, a, s.first + first + t, (float *)scratch + (j * CHUNK + t) * VF, M_STEP,
                       bias, a->residual ? a->residual + at : NULL, a->y + at);
    }
}

static size_t winograd_bands(const onx_conv *c) {
    size_t each = POINTS * ceil_div(c->ic, VF) * VF;
    return larger(1, ceil_div(all_tiles(c), larger(CHUNK, BAND_FLOATS / each)));
}
static size_t winograd_shared(const onx_conv *c, size_t bands) {
    return POINTS * sizes_of(c, (onx_conv_band){0, bands}).point;
}
static bool winograd_worth(const onx_conv *c) {
    return all_tiles(c) >= 8; /* with fewer, reading so many more weights takes longer */
}

const onx_conv_staged ONX_TIER(onx_conv_winograd) = {
    winograd_fits, winograd_worth,     winograd_weights, winograd_parts,
    winograd_pack, winograd_bands,     winograd_shared,  winograd_in_tasks,
    winograd_in,   winograd_out_tasks, winograd_scratch, winograd_out,
};
