/* bytes_depth_ref.c: convolutions of bytes with one channel to each group. A task makes some lines
 * of outputs; weights are packed less their zero points. */
#include "ops/quant/bytes_conv_ref.h"

enum { TASK_OUTPUTS = 1 << 19 }; /* times taps */

/* Weight i less its zero point. */
static int weight_at(const onx_qins *in, size_t i, size_t taps) {
    uint8_t byte = ((const uint8_t *)in->b->data)[i];
    int w = in->b->dtype == ONX_DTYPE_I8 ? (byte ^ 128) - 128 : byte;
    return w - onx_byte_zero(in->b_zero, i / taps);
}

static size_t taps_of(const onx_qins *in) {
    return (size_t)(in->b->dims[2] * in->b->dims[3]);
}

bool onx_qdepth_fits(const onx_qins *in, const onx_qdepth *depth) {
    int low = 0, high = 0;
    for (size_t i = 0; i < (size_t)in->b->count; i++) {
        int w = weight_at(in, i, taps_of(in));
        low = w < low ? w : low;
        high = w > high ? w : high;
    }
    return depth->fits(low, high);
}

onx_status onx_qdepth_pack(onx_call *call, const onx_qplaces *places, int32_t *sums, void *out) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    size_t taps = taps_of(&in), count = (size_t)in.b->count;
    int16_t *less = onx_mem_alloc(call->ctx, count * sizeof *less);
    if (!less) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < count; i++) less[i] = (int16_t)weight_at(&in, i, taps);
    for (size_t i = 0; i < places->places; i++) {
        size_t c = places->at(i);
        sums[i] = 0;
        for (size_t t = 0; c < places->n && t < taps; t++) sums[i] += less[c * taps + t];
    }
    st->tier->depth->pack(less, places->n, (size_t)in.b->dims[2], (size_t)in.b->dims[3], out);
    onx_mem_free(call->ctx, less, count * sizeof *less);
    return ONX_OK;
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

/* Pointers to rows come first. */
static size_t pointers_of(const onx_qdepth_row *row) {
    return onx_align_up((row->kh + row->lines) * sizeof(void *));
}

bool onx_qdepth_scratch(const onx_qstate *st, const onx_images *m, size_t *bytes) {
    const onx_qdepth_row row = depth_row(st, m);
    /* Positions are below 2^31 each, so that these products can be counted. */
    *bytes = 0;
    return !m->out_pixels || onx_add_size(st->tier->depth->scratch(&row), pointers_of(&row), bytes);
}

/* Up to `most` lines of outputs, from oy on; returns how many. */
static size_t depth_outputs(const onx_qconv *j, size_t image, size_t oy, size_t most,
                            char *scratch) {
    const onx_images *m = j->m;
    onx_qdepth_row row = depth_row(j->st, m);
    const uint8_t **rows = (const uint8_t **)(void *)scratch;
    size_t y0 = oy * (size_t)m->window.stride[0] - (size_t)m->span[0].before;
    row.scratch = scratch + pointers_of(&row);
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
    const onx_qconv *j = user;
    size_t row = index * j->lines, all = j->m->batch * j->m->out[0];
    size_t end = all - row < j->lines ? all : row + j->lines;
    (void)call;
    while (row < end)
        row += depth_outputs(j, row / j->m->out[0], row % j->m->out[0], end - row, scratch);
    return ONX_OK;
}

onx_status onx_qdepth_run(onx_call *call, onx_qconv *j) {
    const onx_images *m = j->m;
    size_t work = m->out[1] * m->groups * (m->taps + 8), all = m->batch * m->out[0];
    size_t lines = depth_row(j->st, m).lines;
    j->lines = work < TASK_OUTPUTS ? TASK_OUTPUTS / work + 1 : 1;
    j->lines = (j->lines + lines - 1) / lines * lines;
    return onx_call_parallel(call, (all - 1) / j->lines + 1, depth_task, j);
}
