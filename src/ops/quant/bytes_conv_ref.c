/* bytes_conv_ref.c: QConv with constant weights over packed panels (bytes_ref.h): convolutions in
 * two dimensions of images that have their channels last.
 *
 * Each output pixel is a row: pointers to its taps, where a pixel of the padding is a list of zero
 * points. When the channels are not a multiple of 4, the pixels of a line of the window are one tap,
 * whose last bytes, behind the window, meet weights that are 0: a line that is not all inside the
 * image is a copy. In groups, the row is a copy of all that the window sees. A task makes some tiles of rows with some panels. One channel to each group is another loop. */
#include "ops/quant/bytes_ref.h"

enum { TASK_OUTPUTS = 1 << 19 }; /* of depthwise convolutions, times taps */

typedef struct plan {
    onx_images images; /* first: bound by the plain kernel */
    onx_qend end;      /* of a steady node; its lists follow */
} plan;

static bool is_depthwise(const onx_qstate *st, const onx_operand *w) {
    return st->conv->groups == w->dims[0] && w->dims[1] == 1;
}

static size_t align(size_t bytes) {
    return (bytes + ONX_ALIGN - 1) / ONX_ALIGN * ONX_ALIGN;
}

/* What a row is made of. */
typedef enum form {
    TAPS,  /* pointers to pixels */
    LINES, /* pointers to pixels that follow one another */
    WHOLE, /* a copy of all that the window sees */
} form;

static form form_of(const onx_qstate *st, const onx_operand *w) {
    if (st->tier->dense) return WHOLE;
    if (w->dims[1] % 4 == 0) return TAPS;
    return st->conv->groups == 1 && st->conv->window.dilation[1] == 1 ? LINES : WHOLE;
}

/* Weights of group g; they are [groups*oc][ic][taps]. */
static onx_qweights weights_of(const onx_qstate *st, const onx_operand *w, size_t g) {
    size_t ic = (size_t)w->dims[1], taps = (size_t)(w->dims[2] * w->dims[3]);
    size_t oc = (size_t)(w->dims[0] / st->conv->groups);
    const size_t joined[] = {[TAPS] = 1, [LINES] = (size_t)w->dims[3], [WHOLE] = taps};
    return (onx_qweights){.data = (const uint8_t *)w->data + g * oc * ic * taps,
                          .n = oc,
                          .taps = taps,
                          .k = ic,
                          .column = ic * taps,
                          .tap = 1,
                          .step = taps,
                          .joined = joined[form_of(st, w)],
                          .multiple = st->tier->k,
                          .flip = w->dtype == ONX_DTYPE_U8 ? 128 : 0};
}

static onx_qplaces places_of(const onx_qstate *st, const onx_operand *w) {
    size_t oc = (size_t)(w->dims[0] / st->conv->groups), groups = (size_t)st->conv->groups;
    size_t columns = st->tier->columns, block = st->tier->depth->block;
    if (is_depthwise(st, w))
        return (onx_qplaces){.groups = 1,
                             .n = groups,
                             .places = (groups + block - 1) / block * block,
                             .at = st->tier->depth->channel_at};
    return (onx_qplaces){
        .groups = groups, .n = oc, .places = (oc + columns - 1) / columns * columns};
}

/* ── Packing ─────────────────────────────────────────────────────────────────────────────────── */

/* The least and the largest of the weights less their zero points. */
static void range_of(const onx_qins *in, int *low, int *high) {
    size_t taps = (size_t)(in->b->dims[2] * in->b->dims[3]);
    *low = *high = 0;
    for (size_t i = 0; i < (size_t)in->b->count; i++) {
        uint8_t byte = ((const uint8_t *)in->b->data)[i];
        int w = in->b->dtype == ONX_DTYPE_I8 ? (byte ^ 128) - 128 : byte;
        w -= onx_byte_zero(in->b_zero, i / taps);
        *low = w < *low ? w : *low;
        *high = w > *high ? w : *high;
    }
}

/* Are dense tiles worth it? They take about a sixth of the time of others, but ends take as long,
 * and so do copies of what windows see: about that of 3200 products a line, and 25 a byte. */
static bool is_worth(const onx_qstate *st, const onx_operand *w) {
    const onx_window *window = &st->conv->window;
    int64_t n = w->dims[0] / st->conv->groups, k = w->count / w->dims[0];
    bool copies = w->dims[2] * w->dims[3] > 1 || window->stride[0] > 1 || window->stride[1] > 1;
    if (!st->tier->dense) return true;
    return copies ? k * (n - 25) > 3200 * w->dims[2] : k > 32;
}

onx_status onx_bytes_conv_init(onx_call *call, const onx_qgemm *tier) {
    ONX_TRY(onx_qconv_init(call));
    onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_operand *w = in.b;
    size_t bytes = sizeof(plan);
    int low, high;
    if (!w->constant || !w->data || w->rank != 4 || in.a->rank != 4 || !w->count ||
        w->dims[0] % st->conv->groups || !in.b_scale || !in.y_zero ||
        (in.b_zero && !in.b_zero->constant))
        return ONX_UNSUPPORTED;
    st->tier = tier;
    ONX_TRY(onx_bytes_fit(call, w->dims[0]));
    if (is_depthwise(st, w)) {
        range_of(&in, &low, &high);
        if (!tier->depth->fits(low, high)) return ONX_UNSUPPORTED;
    } else if (!is_worth(st, w))
        return ONX_UNSUPPORTED;
    onx_qplaces places = places_of(st, w);
    if (st->steady && !onx_qend_bytes(&places, &bytes)) return ONX_UNSUPPORTED;
    call->plan_bytes = bytes;
    call->pack_format = (uint64_t)st->conv->groups;
    return ONX_OK;
}

/* Sums of the columns by place, then panels. */
static size_t sums_bytes(const onx_qstate *st, const onx_operand *w) {
    onx_qplaces p = places_of(st, w);
    return align(p.groups * p.places * sizeof(int32_t));
}

size_t onx_bytes_conv_pack_bytes(const onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    size_t sums = sums_bytes(st, in.b);
    if (is_depthwise(st, in.b))
        return sums + st->tier->depth->bytes((size_t)in.b->dims[0], (size_t)in.b->dims[2],
                                             (size_t)in.b->dims[3]);
    onx_qweights w = weights_of(st, in.b, 0);
    onx_qplaces p = places_of(st, in.b);
    return sums + p.groups * (p.places / st->tier->columns) * onx_qweights_panel(&w, st->tier);
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_qplaces p = places_of(st, in.b);
    size_t columns = st->tier->columns, panels = p.places / columns;
    onx_qweights w = weights_of(st, in.b, index / panels);
    char *out = user;
    (void)scratch;
    onx_qweights_pack(&w, st->tier, index % panels * columns,
                      (int8_t *)out + sums_bytes(st, in.b) +
                          index * onx_qweights_panel(&w, st->tier),
                      (int32_t *)user + index * columns);
    return ONX_OK;
}

static onx_status pack_depthwise(onx_call *call, char *out) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_qplaces p = places_of(st, in.b);
    size_t taps = (size_t)(in.b->dims[2] * in.b->dims[3]), count = (size_t)in.b->count;
    int32_t *sums = (int32_t *)(void *)out;
    int16_t *less = onx_mem_alloc(call->ctx, count * sizeof *less);
    if (!less) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < count; i++) {
        uint8_t byte = ((const uint8_t *)in.b->data)[i];
        int w = in.b->dtype == ONX_DTYPE_I8 ? (byte ^ 128) - 128 : byte;
        less[i] = (int16_t)(w - onx_byte_zero(in.b_zero, i / taps));
    }
    for (size_t i = 0; i < p.places; i++) {
        size_t c = p.at(i);
        sums[i] = 0;
        for (size_t t = 0; c < p.n && t < taps; t++) sums[i] += less[c * taps + t];
    }
    st->tier->depth->pack(less, p.n, (size_t)in.b->dims[2], (size_t)in.b->dims[3],
                          out + sums_bytes(st, in.b));
    onx_mem_free(call->ctx, less, count * sizeof *less);
    return ONX_OK;
}

onx_status onx_bytes_conv_pack(onx_call *call, void *out) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    if (is_depthwise(st, in.b)) return pack_depthwise(call, out);
    const onx_qplaces p = places_of(st, in.b);
    return onx_call_parallel(call, p.groups * (p.places / st->tier->columns), pack_task, out);
}

/* ── Shapes ──────────────────────────────────────────────────────────────────────────────────── */

static void make_end(const onx_call *call, char *memory, onx_qend *out) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_qplaces places = places_of(st, in.b);
    const onx_qsums sums = {
        .b_sums = call->packed,
        .depth = is_depthwise(st, in.b) ? 0 : (size_t)in.b->count / (size_t)in.b->dims[0]};
    onx_qend_make(call, &places, &sums, &memory, out);
}

/* What a task of tiles needs: pointers, copies, sums. */
typedef struct room {
    size_t pointers, copies, sums, row_sums; /* bytes, in this order */
} room;

static bool room_of(const onx_qgemm *tier, form kind, const onx_qweights *w, room *r) {
    size_t rows = onx_qgemm_tiles(tier) * tier->rows, each;
    r->sums = tier->rows * tier->columns * sizeof(int32_t);
    r->row_sums = rows * sizeof(int32_t);
    r->copies = 0;
    if (!onx_mul_size(rows * sizeof(void *), onx_qweights_taps(w), &r->pointers)) return false;
    r->pointers = align(r->pointers);
    if (kind != TAPS && !onx_mul_size(rows * onx_qweights_taps(w), onx_qweights_k(w), &r->copies))
        return false;
    r->copies = align(r->copies);
    return onx_add_size(r->pointers, r->copies, &each) &&
           onx_add_size(each, r->sums + r->row_sums, &each);
}

static onx_qdepth_row depth_row(const onx_qstate *st, const onx_images *m) {
    bool steps = m->window.stride[0] == 1 && m->window.dilation[0] == 1;
    return (onx_qdepth_row){.channels = m->groups,
                            .lines =
                                steps ? st->tier->depth->lines((size_t)m->window.kernel[0]) : 1,
                            .y_line = m->out[1] * m->groups,
                            .kh = (size_t)m->window.kernel[0],
                            .kw = (size_t)m->window.kernel[1],
                            .iw = m->in[1],
                            .stride = (size_t)m->window.stride[1],
                            .dilation = (size_t)m->window.dilation[1],
                            .n = m->out[1] < ONX_QPIXELS ? m->out[1] : ONX_QPIXELS};
}

static onx_status bind_scratch(onx_call *call, const onx_images *m) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_qplaces places = places_of(st, in.b);
    const onx_qweights w = weights_of(st, in.b, 0);
    room r;
    call->scratch_bytes = call->scratch_each = 0;
    if (!st->steady && !onx_qend_bytes(&places, &call->scratch_bytes)) return ONX_LIMIT;
    if (is_depthwise(st, in.b)) {
        onx_qdepth_row row = depth_row(st, m);
        /* Positions are below 2^31 each, so that these products can be counted. */
        size_t pointers = align((row.kh + row.lines) * sizeof(void *));
        return m->out_pixels &&
                       !onx_add_size(st->tier->depth->scratch(&row), pointers, &call->scratch_each)
                   ? ONX_LIMIT
                   : ONX_OK;
    }
    if (!room_of(st->tier, form_of(st, in.b), &w, &r)) return ONX_LIMIT;
    call->scratch_each = r.pointers + r.copies + r.sums + r.row_sums;
    /* Bytes of the taps are memory, and so are their offsets, about. */
    return onx_add_size(call->scratch_bytes, onx_qweights_taps(&w) * sizeof(size_t),
                        &call->scratch_bytes) &&
                   onx_add_size(call->scratch_bytes, onx_qweights_k(&w), &call->scratch_bytes)
               ? ONX_OK
               : ONX_LIMIT;
}

onx_status onx_bytes_conv_bind(onx_call *call) {
    const onx_qstate *st = call->state;
    plan *p = call->plan;
    ONX_TRY(onx_qconv_bind(call));
    if (bind_scratch(call, &p->images))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    if (st->steady) make_end(call, (char *)(p + 1), &p->end);
    return ONX_OK;
}

/* ── Tiles ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const onx_qstate *st;
    const onx_images *m;
    const onx_qend *end;
    const uint8_t *x, *pad;
    uint8_t *y;
    const char *packed; /* behind the sums */
    onx_qweights w;     /* of any group */
    form form;
    room room;
    uint8_t flip;
    bool is_signed;
    bool plain;                 /* rows are the pixels of x */
    const size_t *offsets;      /* of taps, from the first one on */
    size_t inner, outer;        /* outputs of a line whose windows are inside: from, to */
    size_t rows, tiles, blocks; /* all; blocks of TILES tiles */
    size_t panels, all_panels;  /* of a group; of all */
    size_t chunk;               /* panels of a task */
    size_t rows_of_task;        /* depthwise: image rows */
} job;

static size_t tile_start(const job *j, size_t tile) {
    return onx_qgemm_start(j->st->tier, tile, j->tiles, j->rows);
}

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

/* Where taps are, from the first one on; and which windows of a line are inside the image. */
static void measure(job *j, size_t *offsets) {
    const onx_images *m = j->m;
    size_t kw = j->form == LINES ? 1 : (size_t)m->window.kernel[1], channels = m->groups * m->ic;
    size_t down = (size_t)m->window.dilation[0] * m->in[1], stride = (size_t)m->window.stride[1];
    size_t before = (size_t)m->span[1].before, all = m->in[1] + before;
    size_t wide = (size_t)(m->window.kernel[1] - 1) * (size_t)m->window.dilation[1] + 1;
    for (size_t t = 0; t < onx_qweights_taps(&j->w); t++)
        offsets[t] = (t / kw * down + t % kw * (size_t)m->window.dilation[1]) * channels;
    j->offsets = offsets;
    j->inner = (before + stride - 1) / stride;
    j->outer = all < wide ? 0 : (all - wide) / stride + 1;
    j->outer = j->outer < m->out[1] ? j->outer : m->out[1];
}

/* How many windows from w on, which is that of output ox of its line, are inside the image. */
static size_t count_inside(const job *j, const window *w, size_t ox, size_t most) {
    const onx_images *m = j->m;
    size_t high = (size_t)(m->window.kernel[0] - 1) * (size_t)m->window.dilation[0];
    if (ox < j->inner || ox >= j->outer || w->y0 >= m->in[0] || w->y0 + high >= m->in[0]) return 0;
    return j->outer - ox < most ? j->outer - ox : most;
}

/* Pointers to the taps of n windows that are inside; false: not all can be read, because bytes
 * behind a line are not there. */
static bool point_inside(const job *j, const window *w, const uint8_t **to, size_t step, size_t n) {
    const onx_images *m = j->m;
    size_t channels = m->groups * m->ic, taps = onx_qweights_taps(&j->w);
    size_t along = (size_t)m->window.stride[1] * channels;
    const uint8_t *x = w->x + (w->y0 * m->in[1] + w->x0) * channels;
    const uint8_t *end = j->x + m->batch * m->in_pixels * channels;
    const uint8_t *last = x + j->offsets[taps - 1] + (n - 1) * along;
    if ((size_t)(end - last) < onx_qweights_k(&j->w)) return false;
    for (size_t t = 0; t < taps; t++, to += step) {
        const uint8_t *tap = x + j->offsets[t];
        for (size_t i = 0; i < n; i++) to[i] = tap + i * along;
    }
    return true;
}

/* Pointers to the taps of a window, `step` apart. */
static void point(const job *j, const window *w, const uint8_t **to, size_t step) {
    const onx_images *m = j->m;
    size_t channels = m->groups * m->ic, kh = (size_t)m->window.kernel[0];
    size_t kw = (size_t)m->window.kernel[1], across = (size_t)m->window.dilation[1] * channels;
    for (size_t ky = 0; ky < kh; ky++) {
        size_t iy = w->y0 + ky * (size_t)m->window.dilation[0], ix = w->x0;
        const uint8_t *row = w->x + (iy * m->in[1] + ix) * channels;
        for (size_t kx = 0; kx < kw; kx++, to += step, row += across) {
            *to = iy < m->in[0] && ix < m->in[1] ? row : j->pad;
            ix += (size_t)m->window.dilation[1];
        }
    }
}

/* Pointers to the lines of a window, `step` apart; copies of those that are not all inside the
 * image, or end less than `k` bytes before the end of x. */
static void point_lines(const job *j, const window *w, const uint8_t **to, size_t step,
                        uint8_t *copy) {
    const onx_images *m = j->m;
    size_t kw = (size_t)m->window.kernel[1], k = onx_qweights_k(&j->w);
    const uint8_t *end = j->x + m->batch * m->in_pixels * m->ic;
    bool across = w->x0 < m->in[1] && w->x0 + kw <= m->in[1];
    for (size_t ky = 0; ky < (size_t)m->window.kernel[0]; ky++, to += step, copy += k) {
        size_t iy = w->y0 + ky * (size_t)m->window.dilation[0];
        const uint8_t *line = w->x + (iy * m->in[1] + w->x0) * m->ic;
        *to = iy < m->in[0] ? line : j->pad;
        if (iy >= m->in[0] || (across && (size_t)(end - line) >= k)) continue;
        for (size_t kx = 0; kx < kw; kx++)
            memcpy(copy + kx * m->ic, w->x0 + kx < m->in[1] ? line + kx * m->ic : j->pad, m->ic);
        *to = copy;
    }
}

/* A copy of what the window sees. What is added to reach a multiple of 4 counts as 0. */
static void copy_window(const job *j, const window *w, uint8_t *to) {
    const onx_images *m = j->m;
    size_t channels = m->groups * m->ic, kw = (size_t)m->window.kernel[1];
    size_t last = (kw - 1) * (size_t)m->window.dilation[1], used = 0;
    bool dense = m->groups == 1 && m->window.dilation[1] == 1;
    for (int32_t ky = 0; ky < m->window.kernel[0]; ky++) {
        size_t iy = w->y0 + (size_t)ky * (size_t)m->window.dilation[0];
        const uint8_t *row = w->x + iy * m->in[1] * channels;
        if (dense && iy < m->in[0] && w->x0 < m->in[1] && w->x0 + last < m->in[1]) {
            copy_bytes(to + used, row + w->x0 * channels, kw * m->ic);
            used += kw * m->ic;
            continue;
        }
        for (size_t kx = 0; kx < kw; kx++, used += m->ic) {
            size_t ix = w->x0 + kx * (size_t)m->window.dilation[1];
            bool inside = iy < m->in[0] && ix < m->in[1];
            memcpy(to + used, inside ? row + ix * channels : j->pad, m->ic);
        }
    }
    memset(to + used, j->flip, onx_qweights_k(&j->w) - used);
}

static int32_t sum_row(const job *j, const onx_qtile *t, size_t i) {
    uint32_t sum = 0;
    for (size_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *row = t->rows[tap * t->m + i];
        for (size_t k = 0; k < j->w.joined * j->w.k; k++)
            sum += t->is_signed ? (uint32_t)(int8_t)row[k] : (uint32_t)(row[k] ^ j->flip);
    }
    return (int32_t)sum;
}

/* The row of one window, which may be in the padding. */
static void find_row(const job *j, const window *w, const uint8_t **to, size_t step,
                     uint8_t *copy) {
    if (j->form == TAPS)
        point(j, w, to, step);
    else if (j->form == LINES)
        point_lines(j, w, to, step, copy);
    else
        copy_window(j, w, copy), *to = copy;
}

/* Can the tile be read where it lies? What follows a row, up to a multiple, meets weights of 0. */
static bool reads_plain(const job *j, size_t first, size_t m, size_t group) {
    size_t dense = j->st->tier->dense, stride = j->m->groups * j->m->ic;
    size_t last = (first + m - 1) * stride + group * j->m->ic;
    return j->plain &&
           (!dense || (m % dense == 0 && last + onx_qweights_k(&j->w) <= j->rows * stride));
}

/* The rows of a tile, in the memory of its number in the task. */
static void find_rows(const job *j, size_t tile, size_t number, size_t group, char *scratch,
                      onx_qtile *t) {
    const onx_qgemm *tier = j->st->tier;
    size_t first = tile_start(j, tile), k = onx_qweights_k(&j->w);
    size_t taps = onx_qweights_taps(&j->w);
    const uint8_t **rows = (const uint8_t **)(void *)scratch + number * tier->rows * taps;
    uint8_t *copies = (uint8_t *)scratch + j->room.pointers + number * tier->rows * taps * k;
    *t = (onx_qtile){.rows = rows,
                     .m = tile_start(j, tile + 1) - first,
                     .taps = taps,
                     .k = k,
                     .stride = k,
                     .flip = j->flip * 0x01010101u,
                     .is_signed = j->is_signed};
    const onx_images *m = j->m;
    if (reads_plain(j, first, t->m, group)) {
        for (size_t i = 0; i < t->m; i++)
            rows[i] = j->x + ((first + i) * m->groups + group) * m->ic;
        t->stride = m->groups * m->ic;
        return;
    }
    size_t pixel = first % m->out_pixels, ox = pixel % m->out[1], oy = pixel / m->out[1];
    const uint8_t *x = j->x + first / m->out_pixels * m->in_pixels * m->groups * m->ic;
    for (size_t i = 0, n; i < t->m; i += n) {
        window w = {x + group * m->ic, oy * (size_t)m->window.stride[0] - (size_t)m->span[0].before,
                    ox * (size_t)m->window.stride[1] - (size_t)m->span[1].before};
        n = j->form == WHOLE ? 0 : count_inside(j, &w, ox, t->m - i);
        if (!n || !point_inside(j, &w, rows + i, t->m, n)) {
            find_row(j, &w, rows + i, t->m, copies + i * taps * k);
            n = 1;
        }
        if ((ox += n) < m->out[1]) continue;
        ox = 0;
        if (++oy < m->out[0]) continue;
        oy = 0;
        x += m->in_pixels * m->groups * m->ic;
    }
}

/* The tiles of a task with one panel. */
static void run_panel(const job *j, size_t panel, const onx_qtile *tiles, size_t n, size_t first,
                      char *scratch) {
    const onx_qgemm *tier = j->st->tier;
    size_t group = panel / j->panels, col = panel % j->panels * tier->columns;
    size_t channel = group * j->m->oc + col, channels = j->m->groups * j->m->oc;
    size_t width = j->m->oc - col < tier->columns ? j->m->oc - col : tier->columns;
    char *sums = scratch + j->room.pointers + j->room.copies;
    onx_qend end = *j->end;
    for (size_t i = 0; i < n; i++) {
        onx_qtile t = tiles[i];
        t.panel = j->packed + panel * onx_qweights_panel(&j->w, tier);
        t.n = width;
        t.sums = (int32_t *)(void *)sums;
        end.row_sums = (int32_t *)(void *)(sums + j->room.sums) + i * tier->rows;
        onx_qgemm_results(tier, &t, &end, panel * tier->columns,
                          (char *)j->y + tile_start(j, first + i) * channels + channel, channels);
    }
}

static onx_status tiles_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    onx_qtile tiles[ONX_QTILES];
    size_t most = onx_qgemm_tiles(j->st->tier), first = index % j->blocks * most,
           panel = index / j->blocks * j->chunk;
    size_t n = j->tiles - first < most ? j->tiles - first : most, group = SIZE_MAX;
    size_t end = j->all_panels - panel < j->chunk ? j->all_panels : panel + j->chunk;
    int32_t *sums =
        (int32_t *)(void *)((char *)scratch + j->room.pointers + j->room.copies + j->room.sums);
    onx_qgemm_enter(j->st->tier);
    for (; panel < end && !onx_call_stopped(call); panel++) {
        for (size_t i = 0; panel / j->panels != group && i < n; i++) {
            find_rows(j, first + i, i, panel / j->panels, scratch, &tiles[i]);
            for (size_t r = 0; j->end->zeros && r < tiles[i].m; r++)
                sums[i * j->st->tier->rows + r] = sum_row(j, &tiles[i], r);
        }
        group = panel / j->panels;
        run_panel(j, panel, tiles, n, first, scratch);
    }
    onx_qgemm_leave(j->st->tier);
    return panel < end ? ONX_CANCELLED : ONX_OK;
}

/* Does each output see the pixel at its place, and only that? */
static bool is_plain(const onx_images *m) {
    return m->taps == 1 && m->window.stride[0] == 1 && m->window.stride[1] == 1 &&
           !m->span[0].before && !m->span[1].before && m->in_pixels == m->out_pixels;
}

static onx_status run_tiles(onx_call *call, job *j, const onx_operand *w) {
    const onx_qgemm *tier = j->st->tier;
    const onx_qplaces places = places_of(j->st, w);
    (void)room_of(tier, j->form, &j->w, &j->room);
    j->plain = (j->form == TAPS || tier->dense) && is_plain(j->m);
    j->panels = places.places / tier->columns;
    j->all_panels = j->panels * places.groups;
    j->rows = j->m->batch * j->m->out_pixels;
    j->tiles = (j->rows - 1) / tier->rows + 1;
    size_t most = onx_qgemm_tiles(tier);
    j->blocks = (j->tiles - 1) / most + 1;
    size_t rows = j->rows < most * tier->rows ? j->rows : most * tier->rows;
    size_t products = rows * tier->columns * (j->w.k * j->w.taps + 16);
    j->chunk = products < tier->work ? tier->work / products : 1;
    return onx_call_parallel(call, j->blocks * ((j->all_panels - 1) / j->chunk + 1), tiles_task, j);
}

/* ── One channel to each group ───────────────────────────────────────────────────────────────── */

/* Up to `most` lines of outputs, from oy on; returns how many. */
static size_t depth_outputs(const job *j, size_t image, size_t oy, size_t most, char *scratch) {
    const onx_images *m = j->m;
    onx_qdepth_row row = depth_row(j->st, m);
    const uint8_t **rows = (const uint8_t **)(void *)scratch;
    size_t y0 = oy * (size_t)m->window.stride[0] - (size_t)m->span[0].before;
    row.scratch = scratch + align((row.kh + row.lines) * sizeof(void *));
    if (row.lines > most) row.lines = most;
    if (row.lines > m->out[0] - oy) row.lines = m->out[0] - oy;
    for (size_t ky = 0; ky < row.kh + row.lines - 1; ky++) {
        size_t iy = y0 + ky * (size_t)m->window.dilation[0];
        rows[ky] = iy < m->in[0] ? j->x + (image * m->in[0] + iy) * m->in[1] * m->groups : NULL;
    }
    row.rows = rows;
    row.flip = j->flip;
    row.zero = *j->pad ^ j->flip;
    row.weights = j->packed;
    row.end = j->end;
    for (size_t ox = 0; ox < m->out[1]; ox += ONX_QPIXELS) {
        row.first = (ptrdiff_t)(ox * row.stride) - (ptrdiff_t)m->span[1].before;
        row.n = m->out[1] - ox < ONX_QPIXELS ? m->out[1] - ox : ONX_QPIXELS;
        row.y = j->y + ((image * m->out[0] + oy) * m->out[1] + ox) * m->groups;
        j->st->tier->depth->run(&row);
    }
    return row.lines;
}

static onx_status depth_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t row = index * j->rows_of_task, all = j->m->batch * j->m->out[0];
    size_t end = all - row < j->rows_of_task ? all : row + j->rows_of_task;
    (void)call;
    while (row < end)
        row += depth_outputs(j, row / j->m->out[0], row % j->m->out[0], end - row, scratch);
    return ONX_OK;
}

static onx_status run_depthwise(onx_call *call, job *j) {
    const onx_images *m = j->m;
    size_t work = m->out[1] * m->groups * (m->taps + 8), all = m->batch * m->out[0];
    size_t lines = depth_row(j->st, m).lines;
    j->rows_of_task = work < TASK_OUTPUTS ? TASK_OUTPUTS / work + 1 : 1;
    j->rows_of_task = (j->rows_of_task + lines - 1) / lines * lines;
    return onx_call_parallel(call, (all - 1) / j->rows_of_task + 1, depth_task, j);
}

onx_status onx_bytes_conv_run(onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const plan *p = call->plan;
    uint8_t zero = (uint8_t)onx_byte_zero(in.a_zero, 0);
    char *scratch = call->scratch;
    onx_qend end = p->end;
    job j = {.st = st, .m = &p->images, .end = &end, .x = in.a->data, .y = call->out[0]->data};
    if (!call->out[0]->count) return ONX_OK;
    j.is_signed = in.a->dtype == ONX_DTYPE_I8 && st->tier->native && !is_depthwise(st, in.b);
    j.flip = in.a->dtype == ONX_DTYPE_I8 && !j.is_signed ? 128 : 0;
    j.packed = (const char *)call->packed + sums_bytes(st, in.b);
    j.pad = &zero;
    if (!st->steady) {
        make_end(call, scratch, &end);
        const onx_qplaces places = places_of(st, in.b);
        size_t bytes = 0;
        if (onx_qend_bytes(&places, &bytes)) scratch += bytes;
    }
    if (is_depthwise(st, in.b)) return run_depthwise(call, &j);
    j.w = weights_of(st, in.b, 0);
    j.form = form_of(st, in.b);
    measure(&j, (size_t *)(void *)scratch);
    scratch += onx_qweights_taps(&j.w) * sizeof(size_t);
    memset(scratch, zero, onx_qweights_k(&j.w));
    j.pad = (const uint8_t *)scratch;
    return run_tiles(call, &j, in.b);
}
