/* bytes_winograd_ref.c: convolutions of bytes with windows of 3 x 3 by Winograd's F(2 x 2, 3 x 3)
 * in integers, which is exact: of squares of 4 x 4 pixels come 16 numbers for each channel, below
 * 2^10; of windows, times 4, as many below 2^11; their products, summed over the channels, give 4
 * times the sums of 2 x 2 outputs. Those are known modulo 2^30, and smaller.
 *
 *     packed: sums of columns; [panels][16][ic / 2][columns][2], int16
 *
 * A task makes some squares, and with them all panels, or some where there are few squares. */
#include "ops/quant/bytes_conv_ref.h"

enum {
    SQUARE = 16,
    SQUARES = 24,   /* of a task, at most */
    PIXELS = 144,   /* outputs that pay for larger weights */
    CHANNELS = 1024 /* sums of so many are below 2^29 */
};

static bool is_plain(const onx_window *window, const onx_operand *w) {
    for (int i = 0; i < 2; i++)
        if (w->dims[2 + i] != 3 || window->stride[i] != 1 || window->dilation[i] != 1) return false;
    return true;
}

bool onx_qwinograd_fits(const onx_qstate *st, const onx_qins *in) {
    const onx_operand *w = in->b;
    int32_t flip = w->dtype == ONX_DTYPE_U8 ? 128 : 0;
    const int64_t ic = w->dims[1], pixels = in->a->dims[1] * in->a->dims[2];
    if (!st->tier->winograd || !in->y_zero || st->conv->groups != 1 ||
        !is_plain(&st->conv->window, w))
        return false;
    for (int64_t i = 0; in->b_zero && i < in->b_zero->count; i++)
        if (onx_byte_zero(in->b_zero, (size_t)i) != flip) return false;
    return (in->b_zero || !flip) && ic % 2 == 0 && ic >= (int64_t)st->tier->winograd->least &&
           ic <= CHANNELS && w->dims[0] >= (int64_t)st->tier->columns / 2 && in->a->dims[1] > 0 &&
           in->a->dims[2] > 0 && pixels >= PIXELS;
}

/* ── Packing ─────────────────────────────────────────────────────────────────────────────────── */

static size_t panel_length(const onx_qgemm *tier, size_t ic) {
    return SQUARE * ic * tier->columns;
}

size_t onx_qwinograd_bytes(const onx_qgemm *tier, const onx_operand *w) {
    size_t panels = ((size_t)w->dims[0] + tier->columns - 1) / tier->columns;
    return panels * panel_length(tier, (size_t)w->dims[1]) * sizeof(int16_t);
}

/* 2G g (2G)': of the weights of a window. */
static void turn_window(const uint8_t *w, uint8_t flip, int to[SQUARE], int32_t *sum) {
    int g[9], t[12];
    for (int i = 0; i < 9; i++) *sum += g[i] = (int8_t)(w[i] ^ flip);
    for (int x = 0; x < 3; x++) {
        int ends = g[x] + g[6 + x];
        t[x] = 2 * g[x], t[9 + x] = 2 * g[6 + x];
        t[3 + x] = ends + g[3 + x], t[6 + x] = ends - g[3 + x];
    }
    for (int y = 0; y < 4; y++) {
        const int *r = t + 3 * y;
        to[4 * y] = 2 * r[0], to[4 * y + 3] = 2 * r[2];
        to[4 * y + 1] = r[0] + r[1] + r[2], to[4 * y + 2] = r[0] - r[1] + r[2];
    }
}

typedef struct packing {
    int32_t *sums;
    int16_t *to;
} packing;

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const packing *j = user;
    const onx_qstate *st = call->state;
    const onx_operand *w = onx_qins_of(call).b;
    size_t oc = (size_t)w->dims[0], ic = (size_t)w->dims[1], columns = st->tier->columns;
    uint8_t flip = w->dtype == ONX_DTYPE_U8 ? 128 : 0;
    int16_t *to = j->to + index * panel_length(st->tier, ic);
    (void)scratch;
    memset(to, 0, panel_length(st->tier, ic) * sizeof *to);
    for (size_t i = 0; i < columns; i++) {
        size_t column = index * columns + i;
        j->sums[column] = 0;
        for (size_t c = 0; column < oc && c < ic; c++) {
            int all[SQUARE];
            turn_window((const uint8_t *)w->data + (column * ic + c) * 9, flip, all,
                        &j->sums[column]);
            for (size_t f = 0; f < SQUARE; f++)
                to[((f * ic + c - c % 2) * columns) + 2 * i + c % 2] = (int16_t)all[f];
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

/* Scratch of a worker: numbers of squares [16][SQUARES][ic], sums [16][SQUARES][columns]. */
static size_t numbers_bytes(size_t ic) {
    return SQUARE * SQUARES * ic * sizeof(int16_t);
}
size_t onx_qwinograd_scratch(const onx_qgemm *tier, const onx_images *m) {
    return numbers_bytes(m->ic) + SQUARE * SQUARES * tier->columns * sizeof(int32_t);
}

static size_t across(const onx_images *m) {
    return (m->out[1] + 1) / 2;
}
static size_t squares_of(const onx_images *m) { /* of an image */
    return (m->out[0] + 1) / 2 * across(m);
}

/* The numbers of a square, which is number `at` of its task. */
static void take(const onx_qconv *j, size_t square, size_t at, int16_t *numbers) {
    const onx_images *m = j->m;
    const uint8_t *pixels[SQUARE];
    size_t image = square / squares_of(m), place = square % squares_of(m);
    size_t y0 = 2 * (place / across(m)) - (size_t)m->span[0].before; /* before it: large */
    size_t x0 = 2 * (place % across(m)) - (size_t)m->span[1].before;
    for (size_t i = 0; i < SQUARE; i++) {
        size_t y = y0 + i / 4, x = x0 + i % 4;
        bool inside = y < m->in[0] && x < m->in[1];
        pixels[i] = inside ? j->x + (image * m->in_pixels + y * m->in[1] + x) * m->ic : j->pad;
    }
    j->st->tier->winograd->in(pixels, m->ic, j->flip, numbers + at * m->ic, SQUARES * m->ic);
}

/* The outputs of a square in columns col …. */
static void give(const onx_qconv *j, size_t square, size_t col, const int32_t *sums) {
    const onx_images *m = j->m;
    const onx_qgemm *tier = j->st->tier;
    uint8_t *y[4];
    size_t image = square / squares_of(m), place = square % squares_of(m);
    size_t oy = 2 * (place / across(m)), ox = 2 * (place % across(m));
    for (size_t i = 0; i < 4; i++) {
        size_t row = oy + i / 2, x = ox + i % 2;
        bool inside = row < m->out[0] && x < m->out[1];
        size_t pixel = image * m->out_pixels + row * m->out[1] + x;
        y[i] = inside ? j->y + pixel * m->oc + col : NULL;
    }
    tier->winograd->out(sums, SQUARES * tier->columns, j->end, col, m->oc - col, y);
}

/* Sums of n squares with a panel: 16 products of matrices. */
static void multiply(const onx_qconv *j, size_t panel, size_t n, const int16_t *numbers,
                     int32_t *sums) {
    const onx_qgemm *tier = j->st->tier;
    size_t ic = j->m->ic;
    const int16_t *w = (const int16_t *)(const void *)j->packed + panel * panel_length(tier, ic);
    for (size_t f = 0; f < SQUARE; f++, w += ic * tier->columns)
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
    size_t all = j->m->batch * squares_of(j->m), first = block * all / j->blocks;
    size_t n = (block + 1) * all / j->blocks - first, panel = index % chunks * j->chunk;
    size_t end = j->panels - panel < j->chunk ? j->panels : panel + j->chunk;
    int16_t *numbers = scratch;
    int32_t *sums = (int32_t *)(void *)((char *)scratch + numbers_bytes(j->m->ic));
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
    j->blocks = (j->m->batch * squares_of(j->m) - 1) / SQUARES + 1;
    j->chunk = j->blocks < SEVERAL && j->panels > FEW ? FEW : j->panels;
    return onx_call_parallel(call, j->blocks * ((j->panels - 1) / j->chunk + 1), task, j);
}
