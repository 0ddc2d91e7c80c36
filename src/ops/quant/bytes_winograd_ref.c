/* bytes_winograd_ref.c: convolutions of bytes with windows of 3 x 3 by Winograd's F(2 x 2, 3 x 3)
 * and F(4 x 4, 3 x 3) in integers, which is exact. Of squares of 4 x 4 (6 x 6) pixels come as many
 * numbers for each channel, below 2^10 (2^15); of windows, times 4 (576), as many, below 2^11
 * (2^13); their products, summed over the channels, give 4 (576) times the sums of 2 x 2 (4 x 4)
 * outputs. Of all that only the lowest 32 bits are kept: the outputs are known modulo 2^30 (2^26,
 * 576 being 9 * 2^6), and smaller.
 *
 *     packed: sums of columns; [panels][numbers][ic / 2][columns][2], int16
 *
 * A task makes some squares, and with them all panels, or some where there are few squares. */
#include "ops/quant/bytes_conv_ref.h"

#include <stdlib.h>

enum {
    MOST_OUTS = 4,
    MOST = (MOST_OUTS + 2) * (MOST_OUTS + 2), /* numbers of a square */
    SQUARES = 24,                             /* of a task, at most */
    PIXELS = 144,                             /* outputs that pay for larger weights, */
    MANY_PIXELS = 576,                        /* and for much larger ones */
    CHANNELS = 1024                           /* sums of so many are below 2^29 */
};

static size_t numbers_of(const onx_qwinograd *form) {
    return (form->outs + 2) * (form->outs + 2);
}

static bool is_plain(const onx_window *window, const onx_operand *w) {
    for (int i = 0; i < 2; i++)
        if (w->dims[2 + i] != 3 || window->stride[i] != 1 || window->dilation[i] != 1) return false;
    return true;
}

/* Are outputs below 2^25, whatever the bytes? */
static bool outputs_fit(const onx_operand *w, uint8_t flip) {
    size_t n = (size_t)(w->count / w->dims[0]);
    const uint8_t *from = w->data;
    for (int64_t oc = 0; oc < w->dims[0]; oc++) {
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) sum += abs((int8_t)(*from++ ^ flip));
        if (sum * UINT8_MAX >= 1 << 25) return false;
    }
    return true;
}

const onx_qwinograd *onx_qwinograd_for(const onx_qstate *st, const onx_qins *in) {
    const onx_operand *w = in->b;
    const onx_qwinograd *forms = st->tier->winograd;
    int32_t flip = w->dtype == ONX_DTYPE_U8 ? 128 : 0;
    const int64_t ic = w->dims[1], pixels = in->a->dims[1] * in->a->dims[2];
    if (!forms || !in->y_zero || st->conv->groups != 1 || !is_plain(&st->conv->window, w))
        return NULL;
    for (int64_t i = 0; in->b_zero && i < in->b_zero->count; i++)
        if (onx_byte_zero(in->b_zero, (size_t)i) != flip) return NULL;
    if ((!in->b_zero && flip) || ic % 2 || ic < (int64_t)forms->least || ic > CHANNELS ||
        w->dims[0] < (int64_t)st->tier->columns / 2 || in->a->dims[1] <= 0 || in->a->dims[2] <= 0 ||
        pixels < PIXELS)
        return NULL;
    forms += pixels >= MANY_PIXELS && outputs_fit(w, (uint8_t)flip);
    return forms->outs < st->tier->winograd_outs ? NULL : forms;
}

/* ── Packing ─────────────────────────────────────────────────────────────────────────────────── */

static size_t panel_length(const onx_qstate *st, size_t ic) {
    return numbers_of(st->winograd) * ic * st->tier->columns;
}

size_t onx_qwinograd_bytes(const onx_qstate *st, const onx_operand *w) {
    size_t panels = ((size_t)w->dims[0] + st->tier->columns - 1) / st->tier->columns;
    return panels * panel_length(st, (size_t)w->dims[1]) * sizeof(int16_t);
}

/* A weight, or a number, of each column of a panel. */
typedef int16_t lanes __attribute__((vector_size(ONX_QCOLUMNS * sizeof(int16_t))));

/* Of three weights outs + 2 numbers: 2G g; or of 0, 1, -1, 2, -2 and infinity 4, 6, 6, 24, 24 times
 * and once what it is there. All have `step`. */
static void turn(const lanes *g, size_t step, size_t outs, lanes *to) {
    lanes a = g[0], b = g[step], c = g[2 * step], ends = a + c, far = a + 4 * c, twice = b + b;
    if (outs == 2) {
        to[0] = a + a;
        to[step] = ends + b;
        to[2 * step] = ends - b;
        to[3 * step] = c + c;
    } else {
        to[0] = a;
        to[step] = -ends - b;
        to[2 * step] = b - ends;
        to[3 * step] = far + twice;
        to[4 * step] = far - twice;
        to[5 * step] = c;
    }
}

/* Of windows [9]. */
static void turn_windows(const lanes *g, size_t outs, lanes *to) {
    lanes t[3 * (MOST_OUTS + 2)];
    for (size_t x = 0; x < 3; x++) turn(g + x, 3, outs, t + x);
    for (size_t y = 0; y < outs + 2; y++) turn(t + 3 * y, 1, outs, to + (outs + 2) * y);
}

typedef struct packing {
    int32_t *sums;
    int16_t *to;
} packing;

/* The windows of a channel for n columns, from `w` on, `next` apart; adds up their weights. */
static void take_windows(const uint8_t *w, size_t next, uint8_t flip, size_t n, lanes *g,
                         int32_t *sums) {
    for (size_t i = 0; i < n; i++, w += next)
        for (size_t k = 0; k < 9; k++) sums[i] += g[k][i] = (int8_t)(w[k] ^ flip);
}

/* A panel, two channels at a time. */
static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const packing *j = user;
    const onx_qstate *st = call->state;
    const onx_operand *w = onx_qins_of(call).b;
    size_t oc = (size_t)w->dims[0], ic = (size_t)w->dims[1], columns = st->tier->columns;
    size_t first = index * columns, n = oc - first < columns ? oc - first : columns;
    uint8_t flip = w->dtype == ONX_DTYPE_U8 ? 128 : 0;
    const uint8_t *from = (const uint8_t *)w->data + first * ic * 9;
    int16_t *to = j->to + index * panel_length(st, ic);
    lanes g[2][9] = {{{0}}}, all[2][MOST];
    (void)scratch;
    memset(j->sums + first, 0, columns * sizeof *j->sums);
    for (size_t c = 0; c < ic; c += 2, to += 2 * columns)
        for (size_t o = 0; o < 2; o++) {
            take_windows(from + (c + o) * 9, ic * 9, flip, n, g[o], j->sums + first);
            turn_windows(g[o], st->winograd->outs, all[o]);
            for (size_t f = 0; o && f < numbers_of(st->winograd); f++)
                for (size_t i = 0; i < columns; i++) {
                    to[f * ic * columns + 2 * i] = all[0][f][i];
                    to[f * ic * columns + 2 * i + 1] = all[1][f][i];
                }
        }
    return ONX_OK;
}

onx_status onx_qwinograd_pack(onx_call *call, int32_t *sums, void *out) {
    const onx_qstate *st = call->state;
    size_t oc = (size_t)onx_qins_of(call).b->dims[0], columns = st->tier->columns;
    return onx_call_parallel(call, (oc - 1) / columns + 1, pack_task, &(packing){sums, out});
}

/* ── Squares ─────────────────────────────────────────────────────────────────────────────────── */

/* Scratch of a worker: [numbers][SQUARES][ic], and their sums [numbers][SQUARES][columns]. */
static size_t numbers_bytes(const onx_qstate *st, size_t ic) {
    return numbers_of(st->winograd) * SQUARES * ic * sizeof(int16_t);
}
size_t onx_qwinograd_scratch(const onx_qstate *st, const onx_images *m) {
    return numbers_bytes(st, m->ic) +
           numbers_of(st->winograd) * SQUARES * st->tier->columns * sizeof(int32_t);
}

static size_t squares_along(const onx_qconv *j, size_t axis) {
    size_t outs = j->st->winograd->outs;
    return (j->m->out[axis] + outs - 1) / outs;
}
static size_t squares_of(const onx_qconv *j) { /* of an image */
    return squares_along(j, 0) * squares_along(j, 1);
}

/* The numbers of a square, which is number `at` of its task. */
static void take(const onx_qconv *j, size_t square, size_t at, int16_t *numbers) {
    const onx_images *m = j->m;
    const onx_qwinograd *form = j->st->winograd;
    const uint8_t *pixels[MOST];
    size_t image = square / squares_of(j), place = square % squares_of(j), side = form->outs + 2;
    size_t y0 = form->outs * (place / squares_along(j, 1)) - (size_t)m->span[0].before;
    size_t x0 = form->outs * (place % squares_along(j, 1)) - (size_t)m->span[1].before;
    for (size_t i = 0; i < side * side; i++) {
        size_t y = y0 + i / side, x = x0 + i % side; /* before the image: large */
        bool inside = y < m->in[0] && x < m->in[1];
        pixels[i] = inside ? j->x + (image * m->in_pixels + y * m->in[1] + x) * m->ic : j->pad;
    }
    form->in(pixels, m->ic, j->flip, numbers + at * m->ic, SQUARES * m->ic);
}

/* The outputs of a square in columns col …. */
static void give(const onx_qconv *j, size_t square, size_t col, const int32_t *sums) {
    const onx_images *m = j->m;
    const onx_qwinograd *form = j->st->winograd;
    uint8_t *y[MOST_OUTS * MOST_OUTS];
    size_t image = square / squares_of(j), place = square % squares_of(j), outs = form->outs;
    size_t oy = outs * (place / squares_along(j, 1)), ox = outs * (place % squares_along(j, 1));
    for (size_t i = 0; i < outs * outs; i++) {
        size_t row = oy + i / outs, x = ox + i % outs;
        bool inside = row < m->out[0] && x < m->out[1];
        size_t pixel = image * m->out_pixels + row * m->out[1] + x;
        y[i] = inside ? j->y + pixel * m->oc + col : NULL;
    }
    form->out(sums, SQUARES * j->st->tier->columns, j->end, col, m->oc - col, y);
}

/* Sums of n squares with a panel: as many products of matrices as there are numbers. */
static void multiply(const onx_qconv *j, size_t panel, size_t n, const int16_t *numbers,
                     int32_t *sums) {
    const onx_qgemm *tier = j->st->tier;
    size_t ic = j->m->ic;
    const int16_t *w = (const int16_t *)(const void *)j->packed + panel * panel_length(j->st, ic);
    for (size_t f = 0; f < numbers_of(j->st->winograd); f++, w += ic * tier->columns)
        for (size_t at = 0; at < n; at += tier->rows) {
            const uint8_t *rows[ONX_QROWS];
            onx_qtile t = {.rows = rows,
                           .m = n - at < tier->rows ? n - at : tier->rows,
                           .taps = 1,
                           .k = ic,
                           .panel = w,
                           .n = tier->columns,
                           .sums = sums + (f * SQUARES + at) * tier->columns};
            for (size_t i = 0; i < t.m; i++)
                rows[i] = (const uint8_t *)(numbers + (f * SQUARES + at + i) * ic);
            tier->wide(&t);
        }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_qconv *j = user;
    size_t chunks = (j->panels - 1) / j->chunk + 1, block = index / chunks;
    size_t all = j->m->batch * squares_of(j), first = block * all / j->blocks;
    size_t n = (block + 1) * all / j->blocks - first, panel = index % chunks * j->chunk;
    size_t end = j->panels - panel < j->chunk ? j->panels : panel + j->chunk;
    int16_t *numbers = scratch;
    int32_t *sums = (int32_t *)(void *)((char *)scratch + numbers_bytes(j->st, j->m->ic));
    size_t columns = j->st->tier->columns;
    for (size_t i = 0; i < n; i++) take(j, first + i, i, numbers);
    for (; panel < end && !onx_call_stopped(call); panel++) {
        multiply(j, panel, n, numbers, sums);
        for (size_t i = 0; i < n; i++) give(j, first + i, panel * columns, sums + i * columns);
    }
    return panel < end ? ONX_CANCELLED : ONX_OK;
}

onx_status onx_qwinograd_run(onx_call *call, onx_qconv *j) {
    enum { SEVERAL = 8, FEW = 4 };
    j->panels = (j->m->oc - 1) / j->st->tier->columns + 1;
    j->blocks = (j->m->batch * squares_of(j) - 1) / SQUARES + 1;
    j->chunk = j->blocks < SEVERAL && j->panels > FEW ? FEW : j->panels;
    return onx_call_parallel(call, j->blocks * ((j->panels - 1) / j->chunk + 1), task, j);
}
