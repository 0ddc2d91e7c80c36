/* conv_half_amx.c: convolution on tiles of AMX, in the blocked layout: with weights of float16, or
 * with all numbers rounded to bfloat16. A step of cpu/half_amx.h is a pair of blocks of input
 * channels seen through one tap.
 *
 *     in     x, blocked ──▶ [pairs of blocks][phases][rows][pitch] pixels, as rows of A
 *     out    32 pixels by 32 channels at a time: a tile of A is 16 pixels in a row, as seen through
 *            the tap, B the weights of the pair for it
 *
 * The image has its padding, and a phase of it holds pixels a stride apart: so what a tap sees of
 * any pixels in a row is in a row, too. At the ends of rows there are pixels of no output, which
 * are computed and dropped. Weights are packed as
 * [pair of output blocks][pair of input blocks][tap][block][channel][2][16 outputs], those that are
 * rounded as tiles of B: [16 outputs][2] in the end. */
#include "cpu/conv_tile.h"
#include "cpu/half_amx.h"

enum {
    RANGE = 512, /* pixels of a task */
    STRIDE_MAX = 4,
    REACH_MAX = 8,   /* from the first tap to the last */
    IN_TASKS = 16,   /* at most */
    TASKS = 16,      /* of `out`, if they are large, and there is that much to cut, */
    TASK_STEPS = 96, /* of ROWS pixels each, at least */
    BAND_ROWS = 4,   /* at least */
    BAND_BYTES = 1 << 20,
    LARGEST = 0x7f000000, /* bits of 2^127: what is below stays finite */
};

typedef struct sizes {
    size_t taps, in_blocks, pairs, panels; /* of 2 blocks of inputs, of outputs */
    size_t down, across;                   /* phases */
    size_t reach, pitch;                   /* rows beyond those of outputs; pixels of a row */
    size_t first, rows;                    /* those of outputs in the band */
    size_t span, image;                    /* pixels that are computed; of a phase */
    bool rounded;                          /* to bfloat16 */
    size_t pixel;                          /* bytes */
} sizes;

static size_t round_up(size_t n, size_t unit) {
    return ceil_div(n, unit) * unit;
}

/* What does not depend on the band, and what does. */
static sizes sizes_of(const onx_conv *c, size_t first, size_t rows, bool rounded) {
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
    s.rounded = rounded;
    s.pixel = rounded ? LINE : PIXEL;
    return s;
}
static sizes sizes_in(const onx_conv *c, onx_conv_band band, bool rounded) {
    size_t first = onx_part_at(c->oh, band.count, band.index);
    return sizes_of(c, first, onx_part_at(c->oh, band.count, band.index + 1) - first, rounded);
}

/* Are tasks of both steps parts of the image? Then a thread finds in its cache what it made. */
static bool is_large(const onx_conv *c) {
    return c->oh * c->ow > RANGE;
}

static bool window_fits(size_t size, size_t dilation, size_t stride) {
    return stride <= STRIDE_MAX &&
           (size == 1 || (dilation <= REACH_MAX && (size - 1) * dilation <= REACH_MAX));
}
/* With few channels tiles would be filled with zeros. */
static bool half_fits(const onx_conv *c) {
    return c->groups == 1 && c->ic >= VF && c->ic * c->kh * c->kw > VF && c->oc > VF &&
           window_fits(c->kh, c->dh, c->sh) && window_fits(c->kw, c->dw, c->sw);
}
static bool half_worth(const onx_conv *c) {
    (void)c;
    return true;
}

/* ── Weights ── */

static size_t half_weights(const onx_conv *c) {
    sizes s = sizes_of(c, 0, 0, false);
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
    sizes s = sizes_of(c, 0, 0, false);
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

static bool rounded_pack(const onx_conv *c, const float *w, size_t part, float *packed) {
    sizes s = sizes_of(c, 0, 0, true);
    uint16_t *to = (uint16_t *)(void *)packed + part * s.pairs * s.taps * PACKED;
    __m512i most = _mm512_setzero_si512();
    for (size_t step = 0; step < s.pairs * s.taps; step++)
        for (size_t i = 0; i < 2 * SIDE; i++, to += 2 * VF) { /* block, channel */
            size_t ic = step / s.taps * 2 * VF + i % SIDE, oc = part * COLS + i / SIDE * VF;
            __m512 low = gather_weights(c, w, oc, ic, step % s.taps);
            __m512 high = gather_weights(c, w, oc, ic + VF, step % s.taps);
            vf_store_bf16_pairs(to, (vf)low, (vf)high);
            most = _mm512_max_epu32(most, _mm512_castps_si512(_mm512_abs_ps(low)));
            most = _mm512_max_epu32(most, _mm512_castps_si512(_mm512_abs_ps(high)));
        }
    return _mm512_reduce_max_epu32(most) < LARGEST;
}

/* ── Inputs ── */

static onx_shares in_shares(const onx_conv *c) {
    size_t pairs = ceil_div(c->ic, 2 * VF), rows = smaller(IN_TASKS, c->oh);
    return (onx_shares){.rows = c->oh,
                        .blocks = pairs,
                        .pieces = is_large(c) ? rows : 1,
                        .parts = is_large(c) ? 1 : smaller(IN_TASKS, pairs)};
}
static size_t half_in_tasks(const onx_conv *c) {
    onx_shares shares = in_shares(c);
    return shares.pieces * shares.parts;
}

/* Two blocks of inputs. */
typedef struct source {
    const float *block[2];
    __mmask16 lanes[2];
    __m512i most; /* magnitude so far */
} source;

/* n pixels, `step` apart, from `pixel` on. */
static void put_pixels(source *from, size_t pixel, size_t step, size_t n, bool rounded, char *to) {
    const float *a = from->block[0] + pixel * VF, *b = from->block[1] + pixel * VF;
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    for (; n--; a += step * VF, b += step * VF, to += rounded ? LINE : PIXEL) {
        __m512 first = _mm512_maskz_loadu_ps(from->lanes[0], a);
        __m512 second = _mm512_maskz_loadu_ps(from->lanes[1], b);
        __m512i most = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(first), magnitude),
                                        _mm512_and_si512(_mm512_castps_si512(second), magnitude));
        from->most = _mm512_max_epu32(from->most, most);
        if (rounded)
            vf_store_bf16_pairs(to, (vf)first, (vf)second);
        else
            store_pairs(first, second, to, to + LINE);
    }
}

/* Row y of the input, or zeros if there is none, in the columns of phase `phase`. */
static void put_row(const onx_conv *c, const sizes *s, source *from, size_t y, size_t phase,
                    char *to) {
    size_t first = c->left > phase ? ceil_div(c->left - phase, c->sw) : 0;
    size_t end = c->left + c->iw > phase ? ceil_div(c->left + c->iw - phase, c->sw) : 0;
    end = smaller(end, s->pitch);
    if (y >= c->ih || first >= end) first = end = s->pitch;
    size_t pixel = y * c->iw + first * c->sw + phase - c->left;
    memset(to, 0, first * s->pixel);
    if (first < end) put_pixels(from, pixel, c->sw, end - first, s->rounded, to + first * s->pixel);
    memset(to + end * s->pixel, 0, (s->pitch - end) * s->pixel);
}

/* Rows [row, row_end) of the band for a pair of blocks; false if some do not fit. */
static bool put_pair(const onx_conv *c, const sizes *s, const float *x, size_t pair, size_t row,
                     size_t row_end, char *shared) {
    size_t plane = c->ih * c->iw * VF, block = pair * 2;
    size_t other = smaller(block + 1, s->in_blocks - 1);
    source from = {.block = {x + block * plane, x + other * plane}};
    from.lanes[0] = (__mmask16)((1u << smaller(VF, c->ic - block * VF)) - 1);
    if (other > block) from.lanes[1] = (__mmask16)((1u << smaller(VF, c->ic - other * VF)) - 1);
    for (size_t f = 0; f < s->down * s->across; f++) {
        char *to = shared + (pair * s->down * s->across + f) * s->image * s->pixel;
        for (size_t i = row; i < row_end; i++) {
            size_t y = (s->first + i) * c->sh + f / s->across - c->top; /* modulo 2^64 */
            put_row(c, s, &from, y, f % s->across, to + i * s->pitch * s->pixel);
        }
    }
    return _mm512_reduce_max_epu32(from.most) < LARGEST;
}

static bool make_in(const onx_conv *c, const float *x, float *shared, onx_conv_band band,
                    size_t task, bool rounded) {
    sizes s = sizes_in(c, band, rounded);
    onx_shares shares = in_shares(c);
    shares.rows = s.rows + s.reach;
    onx_share mine = onx_share_of(&shares, task);
    bool fits = true;
    for (size_t pair = mine.block; pair < mine.block_end; pair++)
        fits &= put_pair(c, &s, x, pair, mine.row, mine.row_end, (char *)shared);
    return fits;
}

/* ── Outputs ── */

/* The sums of pixels in a row of an output block become n outputs. */
static void finish(const onx_conv_args *a, size_t at, size_t n, const float *sums, vf bias) {
    finish_sums(a, at, n, sums, bias);
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

/* How the pixels of a band and the panels of weights are cut into tasks: ranges of pixels times
 * groups of panels. */
typedef struct cut {
    size_t ranges, groups;
} cut;
static cut cut_of(const onx_conv *c, const sizes *s) {
    size_t rows = s->span / ROWS, steps = rows * s->pairs * s->taps;
    size_t ranges = larger(ceil_div(s->span, RANGE), is_large(c) ? smaller(2, rows) : 1);
    size_t task = larger(TASK_STEPS, steps * s->panels / TASKS) * ranges;
    return (cut){ranges, ceil_div(s->panels, larger(1, task / (steps + 1)))};
}
static size_t half_out_tasks(const onx_conv *c, onx_conv_band band) {
    sizes s = sizes_in(c, band, false);
    cut k = cut_of(c, &s);
    return k.ranges * k.groups;
}

static size_t half_scratch(const onx_conv *c) {
    (void)c;
    return 2 * SPLIT * STEP + 2 * RANGE * VF * sizeof(float);
}

/* Where the pixels are that output 0 sees in step `index`. */
static const char *see(const onx_conv *c, const sizes *s, const char *shared, size_t index) {
    size_t tap = index % s->taps, y = tap / c->kw * c->dh, x = tap % c->kw * c->dw;
    size_t phase = y % c->sh * s->across + x % c->sw;
    size_t image = index / s->taps * s->down * s->across + phase;
    return shared + (image * s->image + y / c->sh * s->pitch + x / c->sw) * s->pixel;
}

/* Where the outputs from pixel q of the band on will be, and what is added to them. */
static void fetch_outputs(const onx_conv *c, const onx_conv_args *a, const sizes *s, size_t panel,
                          size_t q, ahead to[4]) {
    size_t row = s->first + q / s->pitch, col = smaller(q % s->pitch, c->ow);
    size_t lines = ceil_div(ROWS, STRIP);
    for (size_t i = 0; i < 4; i++) {
        size_t block = smaller(panel * 2 + i % 2, ceil_div(c->oc, VF) - 1);
        const float *from = i < 2 ? a->y : a->residual;
        if (!from) continue;
        to[i].at = (const char *)(from + ((block * c->oh + row) * c->ow + col) * VF);
        to[i].lines = lines;
    }
}

/* As `multiply` of half_amx.h, with one product of what is rounded. */
static void multiply_rounded(strip *t) {
    const char *a = t->a[0], *b = t->b;
    onx_amx_fence();
    load_sums(t);
    _tile_loadd(6, b, LINE);
    _tile_loadd(4, a, LINE);
    _tile_loadd(5, a + t->a_next, LINE);
    _tile_loadd(7, b + TILE, LINE);
    for (size_t i = 1; i <= t->n; i++) {
        const char *next = t->a[i < t->n ? i : 0], *more = i < t->n ? b + 2 * TILE : t->b;
        prepare(t, i - 1);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(6, more, LINE);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(4, next, LINE);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(5, next + t->a_next, LINE);
        _tile_loadd(7, more + TILE, LINE);
        a = next, b = more;
    }
    store_sums(t);
}

/* A task: pixels [first, last) of panels [panel, end). */
typedef struct piece {
    size_t first, last, panel, end;
} piece;

/* Strip t, from step k on, of a panel. */
static void run_strip(const onx_conv *c, const onx_conv_args *a, const sizes *s, const char *shared,
                      piece p, size_t k, float *sums, strip *t) {
    const char *seen[STRIP];
    bool end = k + t->n == s->pairs * s->taps;
    t->more = k;
    memset(t->ahead + 1, 0, sizeof t->ahead - sizeof *t->ahead);
    for (size_t i = 0; i < t->n; i++) seen[i] = see(c, s, shared, k + i);
    for (size_t q = p.first; q < p.last; q += ROWS) {
        for (size_t i = 0; i < t->n; i++) t->a[i] = seen[i] + q * s->pixel;
        t->sums[0] = sums + (q - p.first) * VF;
        t->sums[1] = t->sums[0] + RANGE * VF;
        if (end) fetch_outputs(c, a, s, p.panel, q, t->ahead + 1);
        (s->rounded ? multiply_rounded : multiply)(t);
        t->ahead[0].at += t->ahead[0].lines * t->n * LINE;
        for (size_t j = 0; end && j < 2 && (p.panel * 2 + j) * VF < c->oc; j++)
            finish_pixels(c, a, s, p.panel * 2 + j, q, t->sums[j]);
    }
}

/* Strips of weights, of one panel after the other, are split in turns to two places: that after
 * this one while this one is used. Rounded ones are used where they are. */
static void run_piece(const onx_conv *c, const onx_conv_args *a, const sizes *s, const char *shared,
                      piece p, char *scratch) {
    const size_t steps = s->pairs * s->taps, rows = (p.last - p.first) / ROWS;
    const uint16_t *all = (const uint16_t *)(const void *)a->w;
    const uint16_t *w = all + p.panel * steps * PACKED, *w_end = all + s->panels * steps * PACKED;
    const size_t most = s->rounded ? STRIP : SPLIT;
    char *split[2] = {scratch, scratch + SPLIT * STEP};
    float *sums = (float *)(void *)(scratch + 2 * SPLIT * STEP);
    strip t = {.a_next = SIDE * s->pixel, .split = {.from = w, .end = w_end}};
    if (!s->rounded) split_now(&t.split, strip_steps(most, steps, 0), split[0]);
    for (size_t turn = 0; p.panel < p.end; p.panel++)
        for (size_t k = 0; k < steps; k += t.n, turn = !turn) {
            t.n = strip_steps(most, steps - k, 0);
            size_t next = strip_steps(most, steps - k - t.n, p.panel + 1 < p.end ? steps : 0);
            if (s->rounded) {
                t.b = (const char *)w;
                w += t.n * PACKED;
                t.ahead[0] = (ahead){(const char *)w, w < w_end ? ceil_div(LINES, rows) : 0};
            } else {
                t.b = split[turn];
                split_next(&t.split, next, split[!turn], t.n * rows);
            }
            run_strip(c, a, s, shared, p, k, sums, &t);
        }
}

static void make_out(const onx_conv *c, const onx_conv_args *a, const float *shared,
                     onx_conv_band band, size_t task, void *scratch, bool rounded) {
    sizes s = sizes_in(c, band, rounded);
    cut k = cut_of(c, &s);
    size_t range = task / k.groups, group = task % k.groups;
    piece p = {.first = onx_part_at(s.span / ROWS, k.ranges, range) * ROWS,
               .last = onx_part_at(s.span / ROWS, k.ranges, range + 1) * ROWS,
               .panel = onx_part_at(s.panels, k.groups, group),
               .end = onx_part_at(s.panels, k.groups, group + 1)};
    onx_amx_begin();
    run_piece(c, a, &s, (const char *)shared, p, scratch);
    onx_amx_end();
}

/* ── Memory ── */

static size_t shared_of(const onx_conv *c, size_t bands, bool rounded) {
    sizes s = sizes_of(c, 0, ceil_div(c->oh, bands), rounded);
    return s.pairs * s.down * s.across * s.image * s.pixel / sizeof(float);
}
static size_t bands_of(const onx_conv *c, bool rounded) {
    size_t all = shared_of(c, 1, rounded) * sizeof(float);
    return smaller(ceil_div(all, BAND_BYTES), ceil_div(c->oh, BAND_ROWS));
}

#define STAGED(name, rounded)                                                                      \
    static size_t name##_bands(const onx_conv *c) {                                                \
        return bands_of(c, rounded);                                                               \
    }                                                                                              \
    static size_t name##_shared(const onx_conv *c, size_t bands) {                                 \
        return shared_of(c, bands, rounded);                                                       \
    }                                                                                              \
    static bool name##_in(const onx_conv *c, const float *x, float *shared, onx_conv_band band,    \
                          size_t task) {                                                           \
        return make_in(c, x, shared, band, task, rounded);                                         \
    }                                                                                              \
    static void name##_out(const onx_conv *c, const onx_conv_args *a, const float *shared,         \
                           onx_conv_band band, size_t task, void *scratch) {                       \
        make_out(c, a, shared, band, task, scratch, rounded);                                      \
    }                                                                                              \
    const onx_conv_staged onx_conv_##name##_amx = {                                                \
        half_fits,    half_worth,    half_weights,  half_parts, name##_pack,                       \
        name##_bands, name##_shared, half_in_tasks, name##_in,  half_out_tasks,                    \
        half_scratch, name##_out,    NULL};
STAGED(half, false)
STAGED(rounded, true)
