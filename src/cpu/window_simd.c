/* window_simd.c: pooling, in the blocked layout.
 *
 * A row of the output is cut where the window leaves the image at the left and at the right.
 * Between those columns SPAN neighbouring pixels are made at once, in registers; the others one by
 * one, with the taps that they have.
 */
#include "cpu/conv_tile.h"
#include "cpu/pool.h"

#include <math.h>

enum { SPAN = 8 };
#define TASK_PRODUCTS ((size_t)1 << 18)

typedef enum kind { MAXIMUM, AVERAGE } kind;

/* One block of channels of one image. */
typedef struct plane {
    const onx_conv *c;
    const onx_pool_args *pool; /* of an average */
    const float *x;            /* [ih][iw][b] */
    float *y;                  /* [oh][ow][b] */
} plane;

/* The taps [first, last) of `n` that fall on [0, size) from an origin `pad` before `at`. */
typedef struct range {
    size_t first, last;
} range;

static range taps_inside(size_t at, size_t pad, size_t n, size_t d, size_t size) {
    range r = {at < pad ? smaller(ceil_div(pad - at, d), n) : 0, n};
    r.last = at < size + pad ? smaller(n, ceil_div(size + pad - at, d)) : 0;
    if (r.first > r.last) r.first = r.last;
    return r;
}

/* Over how much an average is taken. */
static float divisor(const plane *f, size_t oy, size_t ox, range ky, range kx) {
    const onx_conv *c = f->c;
    if (f->pool->count_padding) {
        ky = taps_inside(oy * c->sh, 0, c->kh, c->dh, c->top + c->ih + f->pool->bottom);
        kx = taps_inside(ox * c->sw, 0, c->kw, c->dw, c->left + c->iw + f->pool->right);
    }
    size_t n = (ky.last - ky.first) * (kx.last - kx.first);
    return n ? (float)n : 1;
}

static inline vf larger_or_nan(vf a, vf b) {
    return vf_select((b > a) | (b != b), b, a);
}

/* `pixels` outputs from (oy, ox), all with the taps ky and kx. */
TILE_INLINE void run_span(const plane *f, size_t oy, size_t ox, range ky, range kx, kind op,
                          size_t pixels) {
    const onx_conv *c = f->c;
    size_t step = c->sw * VF, out = (oy * c->ow + ox) * VF;
    vf v[SPAN];
    VF_UNROLL for (size_t p = 0; p < pixels; p++) {
        v[p] = op == MAXIMUM ? vf_set(-INFINITY) : vf_zero();
    }
    for (size_t y = ky.first; y < ky.last; y++) {
        size_t iy = oy * c->sh + y * c->dh - c->top, ix = ox * c->sw + kx.first * c->dw - c->left;
        const float *x = f->x + (iy * c->iw + ix) * VF;
        for (size_t k = kx.first; k < kx.last; k++, x += c->dw * VF) {
            VF_UNROLL for (size_t p = 0; p < pixels; p++) {
                vf in = vf_load(x + p * step);
                v[p] = op == MAXIMUM ? larger_or_nan(v[p], in) : v[p] + in;
            }
        }
    }
    vf n = op == AVERAGE ? vf_set(divisor(f, oy, ox, ky, kx)) : vf_zero();
    VF_UNROLL for (size_t p = 0; p < pixels; p++) {
        if (op == AVERAGE) v[p] = v[p] / n;
        vf_store(f->y + out + p * VF, v[p]);
    }
}

/* Without taps no address may be made, so the ranges are emptied together. */
TILE_INLINE void run_pixel(const plane *f, size_t oy, size_t ox, range ky, kind op) {
    const onx_conv *c = f->c;
    range kx = taps_inside(ox * c->sw, c->left, c->kw, c->dw, c->iw);
    if (kx.first == kx.last) ky.last = ky.first;
    run_span(f, oy, ox, ky, kx, op, 1);
}

TILE_INLINE void run_row(const plane *f, size_t oy, kind op) {
    const onx_conv *c = f->c;
    range ky = taps_inside(oy * c->sh, c->top, c->kh, c->dh, c->ih), all = {0, c->kw};
    size_t reach = (c->kw - 1) * c->dw + 1, ox = 0; /* columns that a window spans */
    size_t first = smaller(ceil_div(c->left, c->sw), c->ow), last = 0;
    if (c->iw + c->left >= reach) last = smaller((c->iw + c->left - reach) / c->sw + 1, c->ow);
    for (; ox < first; ox++) run_pixel(f, oy, ox, ky, op);
    for (; ox + SPAN <= last; ox += SPAN) run_span(f, oy, ox, ky, all, op, SPAN);
    for (; ox + SPAN / 2 <= last; ox += SPAN / 2) run_span(f, oy, ox, ky, all, op, SPAN / 2);
    for (; ox < c->ow; ox++) run_pixel(f, oy, ox, ky, op);
}

static onx_shares shares_of(const onx_conv *c) {
    size_t blocks = ceil_div(c->groups, VF), work = c->kh * c->kw * VF * blocks * c->oh * c->ow;
    return onx_shares_of(c->ih * c->iw, c->oh, blocks, onx_tasks_worth(work, TASK_PRODUCTS));
}
static size_t window_tasks(const onx_conv *c) {
    onx_shares s = shares_of(c);
    return c->n * s.pieces * s.parts;
}

static void run_max(const plane *f, size_t oy) {
    run_row(f, oy, MAXIMUM);
}
static void run_average(const plane *f, size_t oy) {
    run_row(f, oy, AVERAGE);
}

static void run_task(const onx_conv *c, const plane *from, size_t task,
                     void (*run)(const plane *f, size_t oy)) {
    onx_shares all = shares_of(c);
    onx_share s = onx_share_of(&all, task);
    for (size_t i = s.block; i < s.block_end; i++) {
        plane f = *from;
        f.x += (s.image * all.blocks + i) * c->ih * c->iw * VF;
        f.y += (s.image * all.blocks + i) * c->oh * c->ow * VF;
        for (size_t oy = s.row; oy < s.row_end; oy++) run(&f, oy);
    }
}

static void max_run(const onx_conv *c, const onx_pool_args *a, size_t task) {
    run_task(c, &(plane){.c = c, .x = a->x, .y = a->y}, task, run_max);
}
static void average_run(const onx_conv *c, const onx_pool_args *a, size_t task) {
    run_task(c, &(plane){.c = c, .pool = a, .x = a->x, .y = a->y}, task, run_average);
}
const onx_pool_algorithm ONX_TIER(onx_pool_max) = {VF, window_tasks, max_run};
const onx_pool_algorithm ONX_TIER(onx_pool_average) = {VF, window_tasks, average_run};
