/* bytes_rows_ref.c: the rows of tiles of a convolution of bytes.
 *
 * Each output pixel is a row: pointers to its taps, where a pixel of the padding is a list of zero
 * points. When the channels are not a multiple of 4, the pixels of a line of the window are one
 * tap, whose last bytes, behind the window, meet weights that are 0: a line that is not all inside
 * the image is a copy. In groups, and for dense tiles, the row is a copy of all that the window
 * sees, unless rows are the pixels of the image. */
#include "ops/quant/bytes_conv_ref.h"

static inline void copy_bytes(uint8_t *to, const uint8_t *from, size_t n) {
    size_t i = 0;
    if (n >= 64) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        for (; i + 8 <= n; i += 8) memcpy(to + i, from + i, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else
        for (; i < n; i++) to[i] = from[i];
}

/* The window of an output: where it begins, in the image that x points at. */
typedef struct window {
    const uint8_t *x;
    size_t y0, x0; /* modulo 2^64: what lies before the image is large */
} window;

/* Bytes of a pixel, of a group's channels in it, and of a row at each tap. */
static size_t pixel_bytes(const onx_qconv *j) {
    return j->m->groups * j->m->ic * j->x_size;
}
static size_t group_bytes(const onx_qconv *j) {
    return j->m->ic * j->x_size;
}
static size_t row_bytes(const onx_qconv *j) {
    return onx_qweights_k(&j->w) * j->x_size;
}

/* Does each output see the pixel at its place, and only that? */
static bool is_plain(const onx_images *m) {
    return m->taps == 1 && m->window.stride[0] == 1 && m->window.stride[1] == 1 &&
           !m->span[0].before && !m->span[1].before && m->in_pixels == m->out_pixels;
}

void onx_qrows_measure(onx_qconv *j, size_t *offsets) {
    const onx_images *m = j->m;
    size_t kw = j->form == ONX_QFORM_LINES ? 1 : (size_t)m->window.kernel[1],
           pixel = pixel_bytes(j);
    size_t down = (size_t)m->window.dilation[0] * m->in[1], stride = (size_t)m->window.stride[1];
    size_t before = (size_t)m->span[1].before, all = m->in[1] + before;
    size_t wide = (size_t)(m->window.kernel[1] - 1) * (size_t)m->window.dilation[1] + 1;
    for (size_t t = 0; t < onx_qweights_taps(&j->w); t++)
        offsets[t] = (t / kw * down + t % kw * (size_t)m->window.dilation[1]) * pixel;
    j->offsets = offsets;
    j->inner = (before + stride - 1) / stride;
    j->outer = all < wide ? 0 : (all - wide) / stride + 1;
    j->outer = j->outer < m->out[1] ? j->outer : m->out[1];
    j->plain = (j->form == ONX_QFORM_TAPS || j->st->tier->dense) && is_plain(m);
}

/* How many windows from w on, which is that of output ox of its line, are inside the image. */
static size_t count_inside(const onx_qconv *j, const window *w, size_t ox, size_t most) {
    const onx_images *m = j->m;
    size_t high = (size_t)(m->window.kernel[0] - 1) * (size_t)m->window.dilation[0];
    if (ox < j->inner || ox >= j->outer || w->y0 >= m->in[0] || w->y0 + high >= m->in[0]) return 0;
    return j->outer - ox < most ? j->outer - ox : most;
}

/* Pointers to the taps of n windows that are inside; false: not all can be read, because bytes
 * behind a line are not there. */
static bool point_inside(const onx_qconv *j, const window *w, const uint8_t **to, size_t step,
                         size_t n) {
    const onx_images *m = j->m;
    size_t pixel = pixel_bytes(j), taps = onx_qweights_taps(&j->w);
    size_t along = (size_t)m->window.stride[1] * pixel;
    const uint8_t *x = w->x + (w->y0 * m->in[1] + w->x0) * pixel;
    const uint8_t *end = j->x + m->batch * m->in_pixels * pixel;
    const uint8_t *last = x + j->offsets[taps - 1] + (n - 1) * along;
    if ((size_t)(end - last) < row_bytes(j)) return false;
    for (size_t t = 0; t < taps; t++, to += step) {
        const uint8_t *tap = x + j->offsets[t];
        for (size_t i = 0; i < n; i++) to[i] = tap + i * along;
    }
    return true;
}

/* Pointers to the taps of a window, `step` apart. */
static void point(const onx_qconv *j, const window *w, const uint8_t **to, size_t step) {
    const onx_images *m = j->m;
    size_t pixel = pixel_bytes(j), kh = (size_t)m->window.kernel[0];
    size_t kw = (size_t)m->window.kernel[1], across = (size_t)m->window.dilation[1] * pixel;
    for (size_t ky = 0; ky < kh; ky++) {
        size_t iy = w->y0 + ky * (size_t)m->window.dilation[0], ix = w->x0;
        const uint8_t *row = w->x + (ptrdiff_t)((iy * m->in[1] + ix) * pixel);
        for (size_t kx = 0; kx < kw; kx++, to += step, row += across) {
            *to = iy < m->in[0] && ix < m->in[1] ? row : j->pad;
            ix += (size_t)m->window.dilation[1];
        }
    }
}

/* Pointers to the lines of a window, `step` apart; copies of those that are not all inside the
 * image, or end less than `k` bytes before the end of x. */
static void point_lines(const onx_qconv *j, const window *w, const uint8_t **to, size_t step,
                        uint8_t *copy) {
    const onx_images *m = j->m;
    size_t kw = (size_t)m->window.kernel[1], k = row_bytes(j), pixel = pixel_bytes(j);
    const uint8_t *end = j->x + m->batch * m->in_pixels * pixel;
    bool across = w->x0 < m->in[1] && w->x0 + kw <= m->in[1];
    for (size_t ky = 0; ky < (size_t)m->window.kernel[0]; ky++, to += step, copy += k) {
        size_t iy = w->y0 + ky * (size_t)m->window.dilation[0];
        const uint8_t *line = w->x + (ptrdiff_t)((iy * m->in[1] + w->x0) * pixel);
        *to = iy < m->in[0] ? line : j->pad;
        if (iy >= m->in[0] || (across && (size_t)(end - line) >= k)) continue;
        for (size_t kx = 0; kx < kw; kx++)
            memcpy(copy + kx * pixel, w->x0 + kx < m->in[1] ? line + kx * pixel : j->pad, pixel);
        *to = copy;
    }
}

/* A copy of what the window sees. What is added to reach a multiple of 4 counts as 0. */
static void copy_window(const onx_qconv *j, const window *w, uint8_t *to) {
    const onx_images *m = j->m;
    size_t pixel = pixel_bytes(j), part = group_bytes(j), kw = (size_t)m->window.kernel[1];
    size_t last = (kw - 1) * (size_t)m->window.dilation[1], used = 0;
    bool dense = m->groups == 1 && m->window.dilation[1] == 1;
    for (int32_t ky = 0; ky < m->window.kernel[0]; ky++) {
        size_t iy = w->y0 + (size_t)ky * (size_t)m->window.dilation[0];
        const uint8_t *row = w->x + (ptrdiff_t)(iy * m->in[1] * pixel);
        if (dense && iy < m->in[0] && w->x0 < m->in[1] && w->x0 + last < m->in[1]) {
            copy_bytes(to + used, row + w->x0 * pixel, kw * part);
            used += kw * part;
            continue;
        }
        for (size_t kx = 0; kx < kw; kx++, used += part) {
            size_t ix = w->x0 + kx * (size_t)m->window.dilation[1];
            bool inside = iy < m->in[0] && ix < m->in[1];
            memcpy(to + used, inside ? row + ix * pixel : j->pad, part);
        }
    }
    memset(to + used, j->flip, row_bytes(j) - used);
}

int32_t onx_qrows_sum(const onx_qconv *j, const onx_qtile *t, size_t i) {
    uint32_t sum = 0;
    for (size_t tap = 0; tap < t->taps; tap++)
        sum += onx_bytes_sum(t->rows[tap * t->m + i], j->w.joined * j->w.k, j->flip, t->is_signed,
                             j->x_size);
    return (int32_t)sum;
}

/* The row of one window, which may be in the padding. */
static void find_row(const onx_qconv *j, const window *w, const uint8_t **to, size_t step,
                     uint8_t *copy) {
    if (j->form == ONX_QFORM_TAPS)
        point(j, w, to, step);
    else if (j->form == ONX_QFORM_LINES)
        point_lines(j, w, to, step, copy);
    else
        copy_window(j, w, copy), *to = copy;
}

/* Can the tile be read where it lies? What follows a row, up to a multiple, meets weights of 0. */
static bool reads_plain(const onx_qconv *j, size_t first, size_t m, size_t group) {
    size_t dense = j->st->tier->dense, stride = j->m->groups * j->m->ic;
    size_t last = (first + m - 1) * stride + group * j->m->ic;
    return j->plain &&
           (!dense || (m % dense == 0 && last + onx_qweights_k(&j->w) <= j->rows * stride));
}

void onx_qrows_find(const onx_qconv *j, size_t tile, size_t number, size_t group, char *scratch,
                    onx_qtile *t) {
    const onx_qgemm *tier = j->st->tier;
    size_t first = onx_qconv_start(j, tile), k = onx_qweights_k(&j->w);
    size_t taps = onx_qweights_taps(&j->w), pixel = pixel_bytes(j), part = group_bytes(j);
    const uint8_t **rows = (const uint8_t **)(void *)scratch + number * tier->rows * taps;
    uint8_t *copies =
        (uint8_t *)scratch + j->room.pointers + number * tier->rows * taps * row_bytes(j);
    *t = (onx_qtile){.rows = rows,
                     .m = onx_qconv_start(j, tile + 1) - first,
                     .taps = taps,
                     .k = k,
                     .stride = k,
                     .flip = j->flip * 0x01010101u,
                     .is_signed = j->is_signed};
    const onx_images *m = j->m;
    if (reads_plain(j, first, t->m, group)) {
        for (size_t i = 0; i < t->m; i++) rows[i] = j->x + (first + i) * pixel + group * part;
        t->stride = m->groups * m->ic;
        return;
    }
    size_t at = first % m->out_pixels, ox = at % m->out[1], oy = at / m->out[1];
    const uint8_t *x = j->x + first / m->out_pixels * m->in_pixels * pixel;
    for (size_t i = 0, n; i < t->m; i += n) {
        window w = {x + group * part, oy * (size_t)m->window.stride[0] - (size_t)m->span[0].before,
                    ox * (size_t)m->window.stride[1] - (size_t)m->span[1].before};
        n = j->form == ONX_QFORM_WHOLE ? 0 : count_inside(j, &w, ox, t->m - i);
        if (!n || !point_inside(j, &w, rows + i, t->m, n)) {
            find_row(j, &w, rows + i, t->m, copies + i * taps * row_bytes(j));
            n = 1;
        }
        if ((ox += n) < m->out[1]) continue;
        ox = 0;
        if (++oy < m->out[0]) continue;
        oy = 0;
        x += m->in_pixels * pixel;
    }
}
