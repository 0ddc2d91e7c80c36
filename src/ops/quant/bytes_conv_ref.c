/* bytes_conv_ref.c: QConv and QConvInteger with constant weights over packed panels (bytes_ref.h):
 * convolutions in two dimensions of images that have their channels last. A task makes some tiles
 * of rows, which are found by bytes_rows_ref.c, with some panels; one channel to each group is
 * another loop (bytes_depth_ref.c). */
#include "ops/quant/bytes_conv_ref.h"

typedef struct plan {
    onx_images images; /* first: bound by the plain kernel */
    onx_qend end;      /* of a steady node; its lists follow */
} plan;

static bool is_depthwise(const onx_qstate *st, const onx_operand *w) {
    return st->conv->groups == w->dims[0] && w->dims[1] == 1;
}

/* Weights are packed by it. */
static onx_qform form_of(const onx_qstate *st, const onx_operand *w) {
    if (st->tier->dense) return ONX_QFORM_WHOLE;
    if (w->dims[1] % 4 == 0) return ONX_QFORM_TAPS;
    return st->conv->groups == 1 && st->conv->window.dilation[1] == 1 ? ONX_QFORM_LINES
                                                                      : ONX_QFORM_WHOLE;
}

/* Weights of group g; they are [groups*oc][ic][taps]. */
static onx_qweights weights_of(const onx_qstate *st, const onx_operand *w, size_t g) {
    size_t ic = (size_t)w->dims[1], taps = (size_t)(w->dims[2] * w->dims[3]);
    size_t oc = (size_t)(w->dims[0] / st->conv->groups);
    const size_t joined[] = {
        [ONX_QFORM_TAPS] = 1, [ONX_QFORM_LINES] = (size_t)w->dims[3], [ONX_QFORM_WHOLE] = taps};
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
    if (!w->constant || !w->data || w->rank != 4 || in.a->rank != 4 || !w->count ||
        w->dims[0] % st->conv->groups || (in.b_zero && !in.b_zero->constant))
        return ONX_UNSUPPORTED;
    if (!in.y_zero && is_depthwise(st, w)) return ONX_UNSUPPORTED;
    st->tier = tier;
    ONX_TRY(onx_bytes_fit(call, w->dims[0]));
    if (is_depthwise(st, w) ? !onx_qdepth_fits(&in, tier->depth) : !is_worth(st, w))
        return ONX_UNSUPPORTED;
    onx_qplaces places = places_of(st, w);
    if (st->steady && !onx_qend_bytes(&places, &bytes)) return ONX_UNSUPPORTED;
    call->plan_bytes = bytes;
    st->winograd = onx_qwinograd_for(st, &in);
    uint64_t outs = st->winograd ? st->winograd->outs : 0;
    call->pack_format = (uint64_t)st->conv->groups << 5 | outs << 2 | form_of(st, w);
    return ONX_OK;
}

/* Sums of the columns by place, then panels. */
static size_t sums_bytes(const onx_qstate *st, const onx_operand *w) {
    onx_qplaces p = places_of(st, w);
    return onx_align_up(p.groups * p.places * sizeof(int32_t));
}

size_t onx_bytes_conv_pack_bytes(const onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    size_t sums = sums_bytes(st, in.b);
    if (is_depthwise(st, in.b))
        return sums + st->tier->depth->bytes((size_t)in.b->dims[0], (size_t)in.b->dims[2],
                                             (size_t)in.b->dims[3]);
    if (st->winograd) return sums + onx_qwinograd_bytes(st, in.b);
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

onx_status onx_bytes_conv_pack(onx_call *call, void *out) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_qplaces p = places_of(st, in.b);
    if (is_depthwise(st, in.b))
        return onx_qdepth_pack(call, &p, out, (char *)out + sums_bytes(st, in.b));
    if (st->winograd) return onx_qwinograd_pack(call, out, (char *)out + sums_bytes(st, in.b));
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

static bool room_of(const onx_qgemm *tier, onx_qform form, const onx_qweights *w, onx_qroom *r) {
    size_t rows = onx_qgemm_tiles(tier) * tier->rows, each;
    r->sums = tier->rows * tier->columns * sizeof(int32_t);
    r->row_sums = rows * sizeof(int32_t);
    r->copies = 0;
    if (!onx_mul_size(rows * sizeof(void *), onx_qweights_taps(w), &r->pointers)) return false;
    r->pointers = onx_align_up(r->pointers);
    if (form != ONX_QFORM_TAPS &&
        !onx_mul_size(rows * onx_qweights_taps(w), onx_qweights_k(w) * onx_qgemm_size(tier),
                      &r->copies))
        return false;
    r->copies = onx_align_up(r->copies);
    return onx_add_size(r->pointers, r->copies, &each) &&
           onx_add_size(each, r->sums + r->row_sums, &each);
}

/* Bytes of an image whose elements are wide; 0: tiles have bytes. */
static bool wide_bytes(const onx_qstate *st, const onx_operand *a, size_t *bytes) {
    *bytes = 0;
    if (!st->tier->widen) return true;
    if (!onx_mul_size((size_t)a->count, sizeof(uint16_t), bytes)) return false;
    return onx_add_size(*bytes, ONX_ALIGN - 1, bytes) && (*bytes -= *bytes % ONX_ALIGN, true);
}

static onx_status bind_scratch(onx_call *call, const onx_images *m) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_qplaces places = places_of(st, in.b);
    const onx_qweights w = weights_of(st, in.b, 0);
    size_t wide;
    onx_qroom r;
    call->scratch_bytes = call->scratch_each = 0;
    if (!st->steady && !onx_qend_bytes(&places, &call->scratch_bytes)) return ONX_LIMIT;
    if (is_depthwise(st, in.b))
        return onx_qdepth_scratch(st, m, &call->scratch_each) ? ONX_OK : ONX_LIMIT;
    if (st->winograd) {
        call->scratch_each = onx_qwinograd_scratch(st, m);
        return onx_add_size(call->scratch_bytes, m->ic, &call->scratch_bytes) ? ONX_OK : ONX_LIMIT;
    }
    if (!room_of(st->tier, form_of(st, in.b), &w, &r) || !wide_bytes(st, in.a, &wide))
        return ONX_LIMIT;
    call->scratch_each = r.pointers + r.copies + r.sums + r.row_sums;
    /* Bytes of the taps are memory, and so are their offsets, about. */
    size_t taps = onx_qweights_taps(&w) * sizeof(size_t);
    size_t pad = onx_qweights_k(&w) * onx_qgemm_size(st->tier);
    return onx_add_size(call->scratch_bytes, wide, &call->scratch_bytes) &&
                   onx_add_size(call->scratch_bytes, taps + pad, &call->scratch_bytes)
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

/* The tiles of a task with one panel. */
static void run_panel(const onx_qconv *j, size_t panel, const onx_qtile *tiles, size_t n,
                      size_t first, char *scratch) {
    const onx_qgemm *tier = j->st->tier;
    size_t group = panel / j->panels, col = panel % j->panels * tier->columns;
    size_t channel = group * j->m->oc + col, channels = j->m->groups * j->m->oc;
    size_t width = j->m->oc - col < tier->columns ? j->m->oc - col : tier->columns;
    char *sums = scratch + j->room.pointers + j->room.copies;
    const char *weights = j->packed + panel * onx_qweights_panel(&j->w, tier);
    onx_qend end = *j->end;
    for (size_t i = 0; i < n; i++) {
        onx_qtile t = tiles[i];
        t.panel = weights;
        t.n = width;
        t.sums = (int32_t *)(void *)sums;
        end.row_sums = (int32_t *)(void *)(sums + j->room.sums) + i * tier->rows;
        size_t at = onx_qconv_start(j, first + i) * channels + channel;
        onx_qgemm_results(tier, &t, &end, panel * tier->columns, (char *)j->y + at * j->y_size,
                          channels * j->y_size);
    }
}

static onx_status tiles_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_qconv *j = user;
    onx_qtile tiles[ONX_QTILES];
    size_t chunks = (j->all_panels - 1) / j->chunk + 1;
    size_t block = index / chunks, first = block * j->tiles / j->blocks;
    size_t n = (block + 1) * j->tiles / j->blocks - first, group = SIZE_MAX;
    size_t panel = index % chunks * j->chunk;
    size_t end = j->all_panels - panel < j->chunk ? j->all_panels : panel + j->chunk;
    int32_t *sums =
        (int32_t *)(void *)((char *)scratch + j->room.pointers + j->room.copies + j->room.sums);
    onx_qgemm_enter(j->st->tier);
    for (; panel < end && !onx_call_stopped(call); panel++) {
        for (size_t i = 0; panel / j->panels != group && i < n; i++) {
            onx_qrows_find(j, first + i, i, panel / j->panels, scratch, &tiles[i]);
            for (size_t r = 0; j->end->zeros && r < tiles[i].m; r++)
                sums[i * j->st->tier->rows + r] = onx_qrows_sum(j, &tiles[i], r);
        }
        group = panel / j->panels;
        run_panel(j, panel, tiles, n, first, scratch);
    }
    onx_qgemm_leave(j->st->tier);
    return panel < end ? ONX_CANCELLED : ONX_OK;
}

static onx_status run_tiles(onx_call *call, onx_qconv *j, const onx_operand *w) {
    const onx_qgemm *tier = j->st->tier;
    const onx_qplaces places = places_of(j->st, w);
    (void)room_of(tier, j->form, &j->w, &j->room);
    j->panels = places.places / tier->columns;
    j->all_panels = j->panels * places.groups;
    j->rows = j->m->batch * j->m->out_pixels;
    j->tiles = (j->rows - 1) / tier->rows + 1;
    size_t most = onx_qgemm_tiles(tier);
    j->blocks = (j->tiles - 1) / most + 1;
    size_t rows = j->rows < most * tier->rows ? j->rows : most * tier->rows;
    j->chunk = onx_qgemm_chunk(tier, rows, j->w.k * j->w.taps, j->blocks * j->all_panels);
    return onx_call_parallel(call, j->blocks * ((j->all_panels - 1) / j->chunk + 1), tiles_task, j);
}

enum { WIDEN = 1 << 16 }; /* elements of a task */

typedef struct widening {
    const onx_operand *x;
    uint8_t flip;
    uint16_t *to;
} widening;

static onx_status widen_task(void *user, onx_call *call, size_t index, void *scratch) {
    const widening *j = user;
    const onx_qstate *st = call->state;
    size_t at = index * WIDEN, left = (size_t)j->x->count - at;
    (void)scratch;
    st->tier->widen((const uint8_t *)j->x->data + at, left < WIDEN ? left : WIDEN, j->flip,
                    j->to + at);
    return ONX_OK;
}

/* The image with wide elements, in *scratch, which is moved on. */
static onx_status widen(onx_call *call, onx_qconv *j, const onx_operand *x, char **scratch) {
    widening w = {x, j->flip, (uint16_t *)(void *)*scratch};
    size_t bytes;
    if (!x->count || !wide_bytes(j->st, x, &bytes) || !bytes) return ONX_OK;
    ONX_TRY(onx_call_parallel(call, ((size_t)x->count - 1) / WIDEN + 1, widen_task, &w));
    j->x = (const uint8_t *)w.to;
    *scratch += bytes;
    return ONX_OK;
}

/* A pixel of the padding. */
static void fill_pad(onx_qconv *j, uint8_t zero, char *to) {
    size_t k = onx_qweights_k(&j->w);
    j->pad = (const uint8_t *)to;
    memset(to, zero, k);
    for (size_t i = 0; j->x_size > 1 && i < k; i++) ((uint16_t *)(void *)to)[i] = zero ^ j->flip;
}

onx_status onx_bytes_conv_run(onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const plan *p = call->plan;
    uint8_t zero = (uint8_t)onx_byte_zero(in.a_zero, 0);
    char *scratch = call->scratch;
    onx_qend end = p->end;
    onx_qconv j = {
        .st = st, .m = &p->images, .end = &end, .x = in.a->data, .y = call->out[0]->data};
    if (!call->out[0]->count) return ONX_OK;
    j.y_size = onx_dtype_bits((onx_dtype)call->out[0]->dtype) / 8;
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
    if (is_depthwise(st, in.b)) return onx_qdepth_run(call, &j);
    if (st->winograd) {
        j.pad = memset(scratch, zero, j.m->ic);
        return onx_qwinograd_run(call, &j);
    }
    j.w = weights_of(st, in.b, 0);
    j.form = form_of(st, in.b);
    j.x_size = onx_qgemm_size(st->tier);
    ONX_TRY(widen(call, &j, in.a, &scratch));
    onx_qrows_measure(&j, (size_t *)(void *)scratch);
    fill_pad(&j, zero, scratch + onx_qweights_taps(&j.w) * sizeof(size_t));
    if (st->tier->widen) j.flip = 0;
    return run_tiles(call, &j, in.b);
}
