/* conv_half_amx.c: convolution with weights of float16 on tiles of AMX, in the blocked layout.
 *
 * A number is the sum of two of bfloat16, its rounded upper half and the rounded rest: a float16
 * exactly, a float but for 2^-16 of it. Of the four products of such sums the three larger ones are
 * made; they are exact, and added up in float. The fourth is below 2^-16 of the first.
 *
 *     in     x, blocked ──▶ [pairs of blocks][phases][rows][pitch] pixels of 128 bytes: 16 channels
 *            of two blocks side by side, {block 0, block 1}, upper halves and then lower ones
 *     out    32 pixels by 32 channels at a time: a tile of A is 16 pixels in a row, as seen through
 *            one tap, B the weights of a pair for that tap, which are split into a strip of scratch
 *
 * The image has its padding, and a phase of it holds pixels that a stride apart: so what a tap sees
 * of any pixels in a row is in a row, too. At the ends of rows there are pixels of no output, which
 * are computed and dropped. Weights are packed as float16, in the order in which tiles want them:
 * [pair of output blocks][pair of input blocks][tap][block][channel][2][16 outputs]. */
#include "cpu/amx.h"
#include "cpu/conv_tile.h"

enum {
    SIDE = 16, /* of a tile */
    LINE = 64, /* bytes of a row of a tile */
    TILE = SIDE * LINE,
    PIXEL = 2 * LINE, /* bytes */
    ROWS = 2 * SIDE,  /* pixels, and */
    COLS = 2 * SIDE,  /* outputs that are computed at a time */
    STRIP = 8,       /* steps, each a pair of blocks and a tap, whose weights are split at a time */
    STEP = 4 * TILE, /* bytes of their weights, split */
    PACKED = 2 * COLS * SIDE, /* elements of them, packed */
    RANGE = 512,              /* pixels of a task */
    STRIDE_MAX = 4,
    REACH_MAX = 8,    /* from the first tap to the last */
    SLICES = 8,       /* tasks of `in`, at least */
    TASK_STEPS = 512, /* of ROWS pixels */
    BAND_ROWS = 4,    /* at least */
    BAND_BYTES = 1 << 20,
    LARGEST = 0x7f000000, /* bits of 2^127: what is below stays finite */
};

typedef struct sizes {
    size_t taps, in_blocks, pairs, panels; /* of 2 blocks of inputs, of outputs */
    size_t down, across;                   /* phases */
    size_t reach, pitch;                   /* rows beyond those of outputs; pixels of a row */
    size_t first, rows;                    /* those of outputs in the band */
    size_t span, image;                    /* pixels that are computed; of a phase */
} sizes;

static size_t round_up(size_t n, size_t unit) {
    return ceil_div(n, unit) * unit;
}

/* What does not depend on the band, and what does. */
static sizes sizes_of(const onx_conv *c, size_t first, size_t rows) {
    sizes s = {.taps = c->kh * c->kw, .in_blocks = ceil_div(c->ic, VF), .first = first};
    s.pairs = ceil_div(s.in_blocks, 2);
    s.panels = ceil_div(c->oc, COLS);
    s.down = c->kh > 1 ? c->sh : 1;
    s.across = c->kw > 1 ? c->sw : 1;
    s.reach = (c->kh - 1) * c->dh / c->sh;
    s.pitch = c->ow + (c->kw - 1) * c->dw / c->sw;
    s.rows = rows;
    s.span = round_up(rows * s.pitch, ROWS);
    s.image = s.span + (s.reach + 1) * s.pitch;
    return s;
}
static sizes sizes_in(const onx_conv *c, onx_conv_band band) {
    size_t first = onx_part_at(c->oh, band.count, band.index);
    return sizes_of(c, first, onx_part_at(c->oh, band.count, band.index + 1) - first);
}

static bool window_fits(size_t size, size_t dilation, size_t stride) {
    return stride <= STRIDE_MAX &&
           (size == 1 || (dilation <= REACH_MAX && (size - 1) * dilation <= REACH_MAX));
}
static bool half_fits(const onx_conv *c) {
    return c->groups == 1 && c->ic >= VF && c->oc >= VF && window_fits(c->kh, c->dh, c->sh) &&
           window_fits(c->kw, c->dw, c->sw);
}
static bool half_worth(const onx_conv *c) {
    (void)c;
    return true;
}

/* ── Two halves ── */

typedef struct halves {
    __m512i upper, lower;
} halves;

/* The upper and the lower half of each of 16 numbers, in the upper half of 32 bits. */
static inline halves halves_of(__m512 v) {
    const __m512i up = _mm512_set1_epi32(0x8000), mask = _mm512_set1_epi32(-0x10000);
    __m512i bits = _mm512_castps_si512(v);
    __m512i upper = _mm512_and_si512(_mm512_add_epi32(bits, up), mask);
    __m512i rest = _mm512_castps_si512(_mm512_sub_ps(v, _mm512_castsi512_ps(upper)));
    return (halves){upper, _mm512_and_si512(_mm512_add_epi32(rest, up), mask)};
}

/* 16 pairs of numbers, {a, b}: a row of the tile of upper halves, and of that of lower ones. */
static inline void store_pairs(__m512 a, __m512 b, char *upper, char *lower) {
    halves first = halves_of(a), second = halves_of(b);
    _mm512_storeu_si512(upper, _mm512_or_si512(_mm512_srli_epi32(first.upper, 16), second.upper));
    _mm512_storeu_si512(lower, _mm512_or_si512(_mm512_srli_epi32(first.lower, 16), second.lower));
}

/* ── Weights ── */

static size_t half_weights(const onx_conv *c) {
    sizes s = sizes_of(c, 0, 0);
    return s.panels * s.pairs * s.taps * PACKED * sizeof(uint16_t) / sizeof(float);
}
static size_t half_parts(const onx_conv *c) {
    return ceil_div(c->oc, COLS);
}

/* The 16 outputs from oc on of one input channel and tap. */
static __m512 gather_weights(const onx_conv *c, const float *w, size_t oc, size_t ic, size_t tap) {
    float all[VF] = {0};
    size_t taps = c->kh * c->kw;
    for (size_t i = 0; i < VF && ic < c->ic && oc + i < c->oc; i++)
        all[i] = load_any(w + ((oc + i) * c->ic + ic) * taps + tap);
    return _mm512_loadu_ps(all);
}

static bool half_pack(const onx_conv *c, const float *w, size_t part, float *packed) {
    sizes s = sizes_of(c, 0, 0);
    uint16_t *to = (uint16_t *)(void *)packed + part * s.pairs * s.taps * PACKED;
    __m512i most = _mm512_setzero_si512();
    for (size_t step = 0; step < s.pairs * s.taps; step++)
        for (size_t i = 0; i < 4 * SIDE; i++, to += VF) { /* block, channel, and which of a pair */
            size_t ic = (step / s.taps * 2 + i % 2) * VF + i / 2 % SIDE;
            __m512 v = gather_weights(c, w, part * COLS + i / ROWS * VF, ic, step % s.taps);
            vf_store_f16(to, (vf)v);
            most = _mm512_max_epu32(most, _mm512_castps_si512(_mm512_abs_ps(v)));
        }
    return _mm512_reduce_max_epu32(most) <= 0x477fe000; /* 65504, the largest float16 */
}

/* The weights of n steps: for each, tiles of the upper halves of two blocks, and of the lower. */
static void split_weights(const uint16_t *from, size_t n, char *to) {
    for (size_t step = 0; step < n; step++, to += STEP)
        for (size_t i = 0; i < 2 * SIDE; i++, from += 2 * VF)
            store_pairs((__m512)vf_load_f16(from), (__m512)vf_load_f16(from + VF), to + i * LINE,
                        to + 2 * TILE + i * LINE);
}

/* ── Inputs ── */

static size_t slices(const onx_conv *c) {
    return ceil_div(SLICES, ceil_div(c->ic, 2 * VF));
}
static size_t half_in_tasks(const onx_conv *c) {
    return ceil_div(c->ic, 2 * VF) * slices(c);
}

/* Two blocks of inputs that are split. */
typedef struct source {
    const float *block[2];
    __mmask16 lanes[2];
    __m512i most; /* magnitude so far */
} source;

/* n pixels, `step` apart, from `pixel` on. */
static void split_pixels(source *from, size_t pixel, size_t step, size_t n, char *to) {
    const float *a = from->block[0] + pixel * VF, *b = from->block[1] + pixel * VF;
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    for (; n--; a += step * VF, b += step * VF, to += PIXEL) {
        __m512 first = _mm512_maskz_loadu_ps(from->lanes[0], a);
        __m512 second = _mm512_maskz_loadu_ps(from->lanes[1], b);
        __m512i most = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(first), magnitude),
                                        _mm512_and_si512(_mm512_castps_si512(second), magnitude));
        from->most = _mm512_max_epu32(from->most, most);
        store_pairs(first, second, to, to + LINE);
    }
}

/* Row y of the input, or zeros if there is none, in the columns of phase `phase`. */
static void split_row(const onx_conv *c, const sizes *s, source *from, size_t y, size_t phase,
                      char *to) {
    size_t first = c->left > phase ? ceil_div(c->left - phase, c->sw) : 0;
    size_t end = c->left + c->iw > phase ? ceil_div(c->left + c->iw - phase, c->sw) : 0;
    end = smaller(end, s->pitch);
    if (y >= c->ih || first >= end) first = end = s->pitch;
    memset(to, 0, first * PIXEL);
    if (first < end)
        split_pixels(from, y * c->iw + first * c->sw + phase - c->left, c->sw, end - first,
                     to + first * PIXEL);
    memset(to + end * PIXEL, 0, (s->pitch - end) * PIXEL);
}

static bool half_in(const onx_conv *c, const float *x, float *shared, onx_conv_band band,
                    size_t task) {
    sizes s = sizes_in(c, band);
    size_t pair = task / slices(c), slice = task % slices(c), n = s.rows + s.reach;
    size_t plane = c->ih * c->iw * VF, block = pair * 2,
           other = smaller(block + 1, s.in_blocks - 1);
    source from = {.block = {x + block * plane, x + other * plane}};
    from.lanes[0] = (__mmask16)((1u << smaller(VF, c->ic - block * VF)) - 1);
    if (other > block) from.lanes[1] = (__mmask16)((1u << smaller(VF, c->ic - other * VF)) - 1);
    for (size_t f = 0; f < s.down * s.across; f++) {
        char *to = (char *)shared + (pair * s.down * s.across + f) * s.image * PIXEL;
        for (size_t row = n * slice / slices(c); row < n * (slice + 1) / slices(c); row++) {
            size_t y = (s.first + row) * c->sh + f / s.across - c->top; /* modulo 2^64 */
            split_row(c, &s, &from, y, f % s.across, to + row * s.pitch * PIXEL);
        }
    }
    return _mm512_reduce_max_epu32(from.most) < LARGEST;
}

/* ── Products ── */

/* Steps at work on a tile of outputs. */
typedef struct strip {
    const char *a[STRIP]; /* the pixels as each step sees them */
    const char *b;        /* [n][STEP] */
    size_t n;
    float *sums[2]; /* of either block of outputs: [ROWS][VF] */
    bool more;      /* they are added to */
    const char *ahead;
    size_t lines; /* to fetch with each step */
} strip;

static void load_sums(const strip *t) {
    if (t->more) {
        _tile_loadd(0, t->sums[0], LINE);
        _tile_loadd(1, t->sums[1], LINE);
        _tile_loadd(2, t->sums[0] + SIDE * VF, LINE);
        _tile_loadd(3, t->sums[1] + SIDE * VF, LINE);
        return;
    }
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

/* Lower by upper, upper by upper, upper by lower. A tile is loaded as soon as it was used for the
 * last time, those of the next step at the end of this one. */
static void multiply(const strip *t) {
    const char *a = t->a[0], *b = t->b, *ahead = t->ahead;
    onx_amx_fence();
    load_sums(t);
    _tile_loadd(4, a + LINE, PIXEL);
    _tile_loadd(6, b, LINE);
    _tile_loadd(7, b + TILE, LINE);
    _tile_loadd(5, a + LINE + SIDE * PIXEL, PIXEL);
    for (size_t i = 1; i <= t->n; i++) {
        const char *next = t->a[i < t->n ? i : 0], *more = i < t->n ? b + STEP : t->b;
        for (size_t l = 0; l < t->lines; l++, ahead += LINE) _mm_prefetch(ahead, _MM_HINT_T1);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(4, a, PIXEL);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(5, a + SIDE * PIXEL, PIXEL);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(6, b + 2 * TILE, LINE);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(7, b + 3 * TILE, LINE);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(6, more, LINE);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(4, next + LINE, PIXEL);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(7, more + TILE, LINE);
        _tile_loadd(5, next + LINE + SIDE * PIXEL, PIXEL);
        a = next, b = more;
    }
    _tile_stored(0, t->sums[0], LINE);
    _tile_stored(1, t->sums[1], LINE);
    _tile_stored(2, t->sums[0] + SIDE * VF, LINE);
    _tile_stored(3, t->sums[1] + SIDE * VF, LINE);
    onx_amx_fence();
}

/* ── Outputs ── */

/* The sums of pixels in a row of an output block become n outputs. */
static void finish(const onx_conv_args *a, size_t at, size_t n, const float *sums, vf bias) {
    vf lo = vf_set(a->lo), hi = vf_set(a->hi);
    for (size_t i = 0; i < n * VF; i += VF) {
        vf v = vf_load(sums + i) + bias;
        if (a->residual) v += vf_load(a->residual + at + i);
        vf_store(a->y + at + i, vf_min(hi, vf_max(lo, v)));
    }
    if (a->then) a->then(a->user, a->y + at, n * VF);
}

/* Those of ROWS pixels from q on that are outputs. */
static void finish_pixels(const onx_conv *c, const onx_conv_args *a, const sizes *s, size_t block,
                          size_t q, const float *sums) {
    size_t lanes = smaller(VF, c->oc - block * VF), end = smaller(q + ROWS, s->rows * s->pitch);
    vf bias = a->bias ? vf_load_n(a->bias + block * VF, lanes) : vf_zero();
    for (size_t p = q, n; p < end; p += n) {
        size_t row = p / s->pitch, col = p % s->pitch;
        n = smaller(end - p, s->pitch - col);
        if (col < c->ow)
            finish(a, ((block * c->oh + s->first + row) * c->ow + col) * VF,
                   smaller(n, c->ow - col), sums + (p - q) * VF, bias);
    }
}

/* How the pixels of a band and the panels of weights are cut into tasks. */
typedef struct cut {
    size_t ranges, groups;
} cut;
static cut cut_of(const sizes *s) {
    size_t ranges = ceil_div(s->span, RANGE), steps = s->span / ROWS * s->pairs * s->taps;
    return (cut){ranges, ceil_div(s->panels, 1 + TASK_STEPS * ranges / (steps + 1))};
}
static size_t half_out_tasks(const onx_conv *c, onx_conv_band band) {
    sizes s = sizes_in(c, band);
    cut k = cut_of(&s);
    return k.ranges * k.groups;
}

static size_t half_scratch(const onx_conv *c) {
    (void)c;
    return STRIP * STEP + 2 * RANGE * VF * sizeof(float);
}

/* Where the pixels are that output 0 sees in step `index`. */
static const char *see(const onx_conv *c, const sizes *s, const char *shared, size_t index) {
    size_t tap = index % s->taps, y = tap / c->kw * c->dh, x = tap % c->kw * c->dw;
    size_t phase = y % c->sh * s->across + x % c->sw;
    size_t image = index / s->taps * s->down * s->across + phase;
    return shared + (image * s->image + y / c->sh * s->pitch + x / c->sw) * PIXEL;
}

/* Pixels [first, last) of two output blocks. */
static void run_panel(const onx_conv *c, const onx_conv_args *a, const sizes *s, const char *shared,
                      size_t panel, size_t first, size_t last, char *scratch) {
    const size_t steps = s->pairs * s->taps;
    const uint16_t *w = (const uint16_t *)(const void *)a->w + panel * steps * PACKED;
    float *sums = (float *)(void *)(scratch + STRIP * STEP);
    const char *seen[STRIP];
    strip t = {.b = scratch};
    for (size_t k = 0; k < steps; k += t.n, w += t.n * PACKED) {
        t.n = smaller(STRIP, steps - k);
        t.more = k;
        split_weights(w, t.n, scratch);
        for (size_t i = 0; i < t.n; i++) seen[i] = see(c, s, shared, k + i);
        t.ahead = (const char *)(w + t.n * PACKED);
        t.lines = ceil_div(PACKED * sizeof *w / LINE, (last - first) / ROWS);
        if (k + t.n == steps && panel + 1 == s->panels) t.lines = 0;
        for (size_t q = first; q < last; q += ROWS, t.ahead += t.lines * t.n * LINE) {
            for (size_t i = 0; i < t.n; i++) t.a[i] = seen[i] + q * PIXEL;
            t.sums[0] = sums + (q - first) * VF;
            t.sums[1] = t.sums[0] + RANGE * VF;
            multiply(&t);
            for (size_t j = 0; k + t.n == steps && j < 2 && (panel * 2 + j) * VF < c->oc; j++)
                finish_pixels(c, a, s, panel * 2 + j, q, t.sums[j]);
        }
    }
}

static void half_out(const onx_conv *c, const onx_conv_args *a, const float *shared,
                     onx_conv_band band, size_t task, void *scratch) {
    sizes s = sizes_in(c, band);
    cut k = cut_of(&s);
    size_t range = task / k.groups, group = task % k.groups, end;
    size_t first = onx_part_at(s.span / ROWS, k.ranges, range) * ROWS;
    size_t last = onx_part_at(s.span / ROWS, k.ranges, range + 1) * ROWS;
    end = onx_part_at(s.panels, k.groups, group + 1);
    onx_amx_begin();
    for (size_t panel = onx_part_at(s.panels, k.groups, group); panel < end; panel++)
        run_panel(c, a, &s, (const char *)shared, panel, first, last, scratch);
    onx_amx_end();
}

/* ── Memory ── */

static size_t half_shared(const onx_conv *c, size_t bands) {
    sizes s = sizes_of(c, 0, ceil_div(c->oh, bands));
    return s.pairs * s.down * s.across * s.image * PIXEL / sizeof(float);
}
static size_t half_bands(const onx_conv *c) {
    size_t all = half_shared(c, 1) * sizeof(float);
    return smaller(ceil_div(all, BAND_BYTES), ceil_div(c->oh, BAND_ROWS));
}

const onx_conv_staged onx_conv_half_amx = {
    half_fits,   half_worth,    half_weights, half_parts,     half_pack,    half_bands,
    half_shared, half_in_tasks, half_in,      half_out_tasks, half_scratch, half_out,
};
