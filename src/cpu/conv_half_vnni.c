/* conv_half_vnni.c: convolution of 1x1 with weights of float16 by cpu/half_vnni.h, in the blocked
 * layout. A row of A is a pixel, a step a pair of blocks of input channels.
 *
 *     in     x, blocked ──▶ [pairs of blocks][pixels of the band] as rows of A
 *     out    6 pixels by 32 channels at a time, RANGE pixels for each panel of weights
 *
 * Other windows are left to Winograd's algorithm and to direct sums. */
#include "cpu/conv_tile.h"
#include "cpu/half_vnni.h"

enum {
    RANGE = 16 * ROWS, /* pixels of a task */
    SLICES = 8,        /* tasks of `in`, at least */
    TASK = 1 << 21,    /* products of a task of `out`, at least, if it has several panels */
    BAND_BYTES = 1 << 19,
    BAND_ROWS = 4, /* at least */
    PIXEL = LINE + sizeof(float),
};

typedef struct sizes {
    size_t pairs, panels; /* of 2 blocks of inputs, of outputs */
    size_t first, pixels; /* of the band */
} sizes;

static sizes sizes_of(const onx_conv *c) {
    return (sizes){.pairs = ceil_div(c->ic, 2 * VF), .panels = ceil_div(c->oc, COLS)};
}
static sizes sizes_in(const onx_conv *c, onx_conv_band band) {
    sizes s = sizes_of(c);
    s.first = onx_part_at(c->oh, band.count, band.index) * c->ow;
    s.pixels = onx_part_at(c->oh, band.count, band.index + 1) * c->ow - s.first;
    return s;
}

/* Few outputs do not pay for the integers of their inputs. */
static bool half_fits(const onx_conv *c) {
    return c->groups == 1 && c->kh == 1 && c->kw == 1 && !c->top && !c->left && c->ic >= 2 * VF &&
           c->oc >= 2 * COLS;
}
static bool half_worth(const onx_conv *c) {
    (void)c;
    return true;
}

/* ── Weights ── */

static size_t half_weights(const onx_conv *c) {
    sizes s = sizes_of(c);
    return s.panels * s.pairs * STEP / sizeof(float);
}
static size_t half_parts(const onx_conv *c) {
    return sizes_of(c).panels;
}

static bool half_pack(const onx_conv *c, const float *w, size_t part, float *packed) {
    sizes s = sizes_of(c);
    char *to = (char *)packed + part * s.pairs * STEP;
    bool fits = true;
    for (size_t step = 0; step < s.pairs; step++, to += STEP)
        for (size_t half = 0; half < 2; half++) {
            float all[DEPTH][VF] = {0};
            size_t ic = step * DEPTH, n = smaller(DEPTH, c->ic - ic);
            for (size_t i = 0, oc; i < VF && (oc = part * COLS + half * VF + i) < c->oc; i++)
                for (size_t k = 0; k < n; k++) all[k][i] = load_any(w + oc * c->ic + ic + k);
            fits &= fix_columns(all, half, to);
        }
    return fits;
}

/* ── Inputs ── */

static size_t slices(const onx_conv *c) {
    return ceil_div(SLICES, sizes_of(c).pairs);
}
static size_t half_in_tasks(const onx_conv *c) {
    return sizes_of(c).pairs * slices(c);
}

static float *scales_of(const sizes *s, const float *shared) {
    return (float *)(void *)((char *)(void *)(uintptr_t)shared + s->pairs * s->pixels * LINE);
}

static bool half_in(const onx_conv *c, const float *x, float *shared, onx_conv_band band,
                    size_t task) {
    sizes s = sizes_in(c, band);
    size_t pair = task / slices(c), slice = task % slices(c), plane = c->ih * c->iw * VF;
    size_t left = c->ic - pair * DEPTH, end = onx_part_at(s.pixels, slices(c), slice + 1);
    const __mmask16 first = (__mmask16)((1u << smaller(VF, left)) - 1);
    const __mmask16 last = (__mmask16)(left > VF ? (1u << smaller(VF, left - VF)) - 1 : 0);
    int16_t *to = (int16_t *)(void *)shared + pair * s.pixels * DEPTH;
    float *scales = scales_of(&s, shared) + pair * s.pixels;
    bool fits = true;
    for (size_t p = onx_part_at(s.pixels, slices(c), slice); p < end; p++) {
        size_t oy = (s.first + p) / c->ow, ox = (s.first + p) % c->ow;
        const float *from = x + 2 * pair * plane + (oy * c->sh * c->iw + ox * c->sw) * VF;
        vf a = (vf)_mm512_maskz_loadu_ps(first, from);
        vf b = last ? (vf)_mm512_maskz_loadu_ps(last, from + plane) : vf_zero();
        fits &= fix(a, b, to + p * DEPTH, scales + p);
    }
    return fits;
}

/* ── Outputs ── */

/* Tasks: ranges of pixels times groups of panels. */
typedef struct cut {
    size_t ranges, groups;
} cut;
static cut cut_of(const sizes *s) {
    size_t ranges = ceil_div(s->pixels, RANGE), each = RANGE * COLS * s->pairs * DEPTH;
    size_t most = TASK / each + 1;
    return (cut){ranges, ceil_div(s->panels, most)};
}
static size_t half_out_tasks(const onx_conv *c, onx_conv_band band) {
    sizes s = sizes_in(c, band);
    cut k = cut_of(&s);
    return k.ranges * k.groups;
}
static size_t half_scratch(const onx_conv *c) {
    (void)c;
    return 0;
}

/* Pixels [first, last) of the band, of two output blocks. */
static void run_panel(const onx_conv *c, const onx_conv_args *a, const sizes *s,
                      const float *shared, size_t panel, size_t first, size_t last) {
    float sums[2][ROWS * VF];
    size_t blocks = smaller(2, ceil_div(c->oc - panel * COLS, VF)), at[2];
    vf bias[2] = {vf_zero(), vf_zero()};
    for (size_t j = 0; j < blocks; j++) {
        size_t channel = panel * COLS + j * VF;
        at[j] = ((panel * 2 + j) * c->oh * c->ow + s->first) * VF;
        if (a->bias) bias[j] = vf_load_n(a->bias + channel, smaller(VF, c->oc - channel));
    }
    tile t = {.a_step = s->pixels,
              .steps = s->pairs,
              .b = (const char *)a->w + panel * s->pairs * STEP,
              .sums = {sums[0], sums[1]}};
    for (size_t p = first, n; p < last; p += n) {
        n = smaller(ROWS, last - p);
        t.a = (const int16_t *)(const void *)shared + p * DEPTH;
        t.scales = scales_of(s, shared) + p;
        multiply(&t, n);
        for (size_t j = 0; j < blocks; j++) finish_sums(a, at[j] + p * VF, n, sums[j], bias[j]);
    }
    for (size_t j = 0; a->then && j < blocks; j++)
        a->then(a->user, a->y + at[j] + first * VF, (last - first) * VF);
}

static void half_out(const onx_conv *c, const onx_conv_args *a, const float *shared,
                     onx_conv_band band, size_t task, void *scratch) {
    sizes s = sizes_in(c, band);
    cut k = cut_of(&s);
    size_t range = task / k.groups, group = task % k.groups;
    size_t first = onx_part_at(s.pixels, k.ranges, range), end;
    size_t last = onx_part_at(s.pixels, k.ranges, range + 1);
    (void)scratch;
    end = onx_part_at(s.panels, k.groups, group + 1);
    for (size_t panel = onx_part_at(s.panels, k.groups, group); panel < end; panel++)
        run_panel(c, a, &s, shared, panel, first, last);
}

/* ── Memory ── */

static size_t half_shared(const onx_conv *c, size_t bands) {
    return sizes_of(c).pairs * ceil_div(c->oh, bands) * c->ow * PIXEL / sizeof(float);
}
static size_t half_bands(const onx_conv *c) {
    size_t all = half_shared(c, 1) * sizeof(float);
    return smaller(ceil_div(all, BAND_BYTES), ceil_div(c->oh, BAND_ROWS));
}

const onx_conv_staged onx_conv_half_vnni = {
    half_fits,     half_worth, half_weights,   half_parts,   half_pack, half_bands, half_shared,
    half_in_tasks, half_in,    half_out_tasks, half_scratch, half_out,  NULL,
};
