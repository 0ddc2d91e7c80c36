/* bytes_matmul_ref.c: matrix products of bytes over packed panels (bytes_ref.h): MatMulInteger,
 * QLinearMatMul, QGemm, MatMulIntegerToFloat and DynamicQuantizeMatMul. A constant B is packed
 * once, another one in each run.
 *
 * Rows of A are read where they are, or copied when they are not whole fours of bytes in a row. A
 * task makes some tiles of rows with some panels. */
#include "ops/quant/bytes_ref.h"

typedef struct plan {
    onx_matmul_plan m; /* first: bound by the plain kernel */
    onx_qend end;      /* of a steady node; its lists follow */
} plan;

/* How the work is cut: `sets` of rows, each with one matrix of B. */
typedef struct layout {
    size_t matrices, panels, panel_bytes, sums; /* of B; sums: bytes of theirs */
    size_t sets, rows, tiles, blocks;           /* rows and tiles of a set */
    size_t k;                                   /* bytes of a row in tiles */
    bool copies;
} layout;

static onx_qweights weights_of(const onx_qins *in, const onx_qstate *st, size_t k, size_t n) {
    bool turned = st->gemm.turn_b;
    return (onx_qweights){.data = in->b->data,
                          .n = n,
                          .taps = 1,
                          .k = k,
                          .column = turned ? k : 1,
                          .step = turned ? 1 : n,
                          .joined = 1,
                          .multiple = st->tier->k,
                          .flip = in->b->dtype == ONX_DTYPE_U8 ? 128 : 0};
}

/* Sizes of the last two dimensions of B; in init, what is not known is -1. */
static void sizes_of(const onx_qstate *st, const onx_operand *b, size_t *k, size_t *n) {
    size_t rank = b->rank, rows = (size_t)b->dims[rank - 2], columns = (size_t)b->dims[rank - 1];
    *k = st->gemm.turn_b ? columns : rows;
    *n = st->gemm.turn_b ? rows : columns;
}

static onx_qplaces places_of(const onx_qgemm *tier, size_t matrices, size_t n) {
    return (onx_qplaces){.groups = matrices,
                         .n = n,
                         .places = (n + tier->columns - 1) / tier->columns * tier->columns,
                         .repeats = true};
}

static bool is_packed(const onx_operand *b) {
    return b->constant && b->data && b->rank == 2 && b->count > 0;
}

onx_status onx_bytes_matmul_init(onx_call *call, const onx_qgemm *tier) {
    ONX_TRY(onx_qmatmul_init(call));
    onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    size_t k, n, bytes = sizeof(plan);
    st->tier = tier;
    if (in.b->rank < 2 || in.b->rank == ONX_RANK_UNKNOWN || in.a->rank < 1) return ONX_UNSUPPORTED;
    sizes_of(st, in.b, &k, &n);
    ONX_TRY(onx_bytes_fit(call, (int64_t)n));
    st->steady = st->steady && is_packed(in.b);
    if (st->steady) {
        onx_qplaces places = places_of(tier, 1, n);
        if (!onx_qend_bytes(&places, &bytes)) return ONX_UNSUPPORTED;
    }
    call->plan_bytes = bytes;
    call->pack_format = st->gemm.turn_b;
    return ONX_OK;
}

/* ── Packing: sums of the columns by place, then panels ──────────────────────────────────────── */

size_t onx_bytes_matmul_pack_bytes(const onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    size_t k, n;
    if (!is_packed(in.b)) return 0;
    sizes_of(st, in.b, &k, &n);
    onx_qplaces p = places_of(st->tier, 1, n);
    onx_qweights w = weights_of(&in, st, k, n);
    return onx_align_up(p.places * sizeof(int32_t)) +
           p.places / st->tier->columns * onx_qweights_panel(&w, st->tier);
}

typedef struct packing {
    char *to;
    size_t matrices;
} packing;

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const packing *j = user;
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    size_t k, n, columns = st->tier->columns;
    (void)scratch;
    sizes_of(st, in.b, &k, &n);
    onx_qplaces p = places_of(st->tier, j->matrices, n);
    onx_qweights w = weights_of(&in, st, k, n);
    w.data += index / (p.places / columns) * k * n;
    onx_qweights_pack(&w, st->tier, index % (p.places / columns) * columns,
                      (int8_t *)j->to + onx_align_up(p.groups * p.places * sizeof(int32_t)) +
                          index * onx_qweights_panel(&w, st->tier),
                      (int32_t *)(void *)j->to + index * columns);
    return ONX_OK;
}

static onx_status pack(onx_call *call, size_t matrices, size_t n, char *to) {
    const onx_qgemm *tier = ((const onx_qstate *)call->state)->tier;
    const onx_qplaces p = places_of(tier, matrices, n);
    return onx_call_parallel(call, matrices * (p.places / tier->columns), pack_task,
                             &(packing){to, matrices});
}

onx_status onx_bytes_matmul_pack(onx_call *call, void *out) {
    const onx_qins in = onx_qins_of(call);
    size_t k, n;
    sizes_of(call->state, in.b, &k, &n);
    return pack(call, 1, n, out);
}

/* ── Shapes ──────────────────────────────────────────────────────────────────────────────────── */

static layout layout_of(const onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_matmul_plan *p = call->plan;
    const onx_qweights w = weights_of(&in, st, p->k, p->n);
    const onx_qplaces places = places_of(st->tier, 1, p->n);
    layout l = {.panels = places.places / st->tier->columns,
                .panel_bytes = onx_qweights_panel(&w, st->tier),
                .matrices = p->k && p->n ? (size_t)in.b->count / (p->k * p->n) : 1,
                .k = onx_qweights_k(&w),
                .copies =
                    p->k % st->tier->k || p->a_col != 1 || st->tier->dense || st->tier->widen};
    bool shared = l.matrices == 1 && p->a_col == 1;
    l.sets = shared ? 1 : p->batches;
    l.rows = shared ? p->m * p->batches : p->m;
    l.tiles = (l.rows + st->tier->rows - 1) / st->tier->rows;
    l.blocks = (l.tiles + onx_qgemm_tiles(st->tier) - 1) / onx_qgemm_tiles(st->tier);
    l.sums = onx_align_up(l.matrices * places.places * sizeof(int32_t));
    return l;
}

static void make_end(const onx_call *call, const layout *l, const onx_dynamic *a,
                     const void *b_sums, char *memory, onx_qend *out) {
    const onx_matmul_plan *p = call->plan;
    const onx_qplaces places =
        places_of(((const onx_qstate *)call->state)->tier, l->matrices, p->n);
    onx_qend_make(call, &places, &(onx_qsums){b_sums, p->k, a}, &memory, out);
}

/* Bytes for each worker: pointers, copies, sums, sums of rows. */
typedef struct room {
    size_t pointers, copies, sums, all;
} room;
static bool room_of(const onx_qgemm *tier, const layout *l, room *r) {
    size_t rows = onx_qgemm_tiles(tier) * tier->rows;
    r->pointers = onx_align_up(rows * sizeof(void *));
    r->sums = tier->rows * tier->columns * sizeof(int32_t);
    if (!onx_mul_size(rows * onx_qgemm_size(tier), l->copies ? l->k : 0, &r->copies)) return false;
    r->copies = onx_align_up(r->copies);
    return onx_add_size(r->copies, r->pointers + r->sums + rows * sizeof(int32_t), &r->all);
}

/* Shared scratch: A as bytes, B in panels, lists. */
static bool bind_scratch(onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const onx_matmul_plan *p = call->plan;
    layout l = layout_of(call);
    onx_qplaces places = places_of(st->tier, l.matrices, p->n);
    size_t panels = 0;
    room r;
    call->scratch_bytes = st->dynamic ? onx_align_up((size_t)in.a->count) : 0;
    if (!call->packed && (!onx_mul_size(l.panel_bytes, l.panels * l.matrices, &panels) ||
                          !onx_add_size(panels, l.sums, &panels)))
        return false;
    if (!onx_add_size(call->scratch_bytes, panels, &call->scratch_bytes)) return false;
    if (!st->steady && !onx_qend_bytes(&places, &call->scratch_bytes)) return false;
    if (!room_of(st->tier, &l, &r)) return false;
    call->scratch_each = r.all;
    return true;
}

onx_status onx_bytes_matmul_bind(onx_call *call) {
    const onx_qstate *st = call->state;
    plan *p = call->plan;
    ONX_TRY(onx_qmatmul_bind(call));
    if (!bind_scratch(call))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    if (!st->steady) return ONX_OK;
    layout l = layout_of(call);
    make_end(call, &l, NULL, call->packed, (char *)(p + 1), &p->end);
    return ONX_OK;
}

/* ── Tiles ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const onx_qgemm *tier;
    const onx_matmul_plan *m;
    layout l;
    room room;
    const onx_qend *end;
    const uint8_t *a;
    const char *panels;
    char *y;
    size_t y_size; /* of an element */
    uint8_t flip;
    bool is_signed; /* native: rows are int8 */
    size_t chunk;   /* panels of a task */
} job;

static size_t tile_start(const job *j, size_t tile) {
    return onx_qgemm_start(j->tier, tile, j->l.tiles, j->l.rows);
}

static void copy_wide(const job *j, const uint8_t *from, uint16_t *to) {
    size_t k = j->m->k, step = j->m->a_col;
    if (step == 1)
        j->tier->widen(from, k, j->flip, to);
    else
        for (size_t i = 0; i < k; i++) to[i] = from[i * step] ^ j->flip;
    memset(to + k, 0, (j->l.k - k) * sizeof *to);
}

static void copy_row(const job *j, const uint8_t *from, uint8_t *to) {
    size_t k = j->m->k, step = j->m->a_col;
    if (j->tier->widen) {
        copy_wide(j, from, (uint16_t *)(void *)to);
        return;
    }
    if (step == 1)
        memcpy(to, from, k);
    else
        for (size_t i = 0; i < k; i++) to[i] = from[i * step];
    memset(to + k, j->flip, j->l.k - k);
}

static int32_t sum_row(const job *j, const uint8_t *row) {
    bool wide = j->tier->widen;
    return (int32_t)onx_bytes_sum(row, j->m->k, wide ? 0 : j->flip, j->is_signed,
                                  onx_qgemm_size(j->tier));
}

/* Tile `number` of the task; `a`: the matrix. */
static void find_rows(const job *j, const uint8_t *a, size_t tile, size_t number, char *scratch,
                      onx_qtile *t) {
    size_t first = tile_start(j, tile), at = number * j->tier->rows;
    size_t row_bytes = j->l.k * onx_qgemm_size(j->tier);
    const uint8_t **rows = (const uint8_t **)(void *)scratch + at;
    uint8_t *copies = (uint8_t *)scratch + j->room.pointers + at * row_bytes;
    int32_t *sums = (int32_t *)(void *)(scratch + j->room.pointers + j->room.copies + j->room.sums);
    *t = (onx_qtile){.rows = rows,
                     .m = tile_start(j, tile + 1) - first,
                     .taps = 1,
                     .k = j->l.k,
                     .stride = j->l.k,
                     .flip = j->flip * 0x01010101u,
                     .is_signed = j->is_signed};
    bool whole = j->m->k % j->tier->k == 0 && j->m->a_col == 1 && j->tier->dense &&
                 t->m % j->tier->dense == 0,
         copies_rows = j->l.copies && !whole;
    if (whole) t->stride = j->m->a_row;
    for (size_t i = 0; i < t->m; i++) {
        rows[i] = a + (first + i) * j->m->a_row;
        if (copies_rows) {
            copy_row(j, rows[i], copies + i * row_bytes);
            rows[i] = copies + i * row_bytes;
        }
        if (j->end->zeros) sums[at + i] = sum_row(j, rows[i]);
    }
}

static onx_status tiles_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const layout *l = &j->l;
    onx_qtile tiles[ONX_QTILES];
    size_t chunks = (l->panels - 1) / j->chunk + 1, panel = index % chunks * j->chunk;
    size_t most = onx_qgemm_tiles(j->tier), first = index / chunks % l->blocks * most;
    size_t n = l->tiles - first < most ? l->tiles - first : most;
    size_t set = index / chunks / l->blocks, a, b;
    size_t end = l->panels - panel < j->chunk ? l->panels : panel + j->chunk;
    char *sums = (char *)scratch + j->room.pointers + j->room.copies;
    onx_qend e = *j->end;
    onx_matmul_at(j->m, set, &a, &b);
    for (size_t i = 0; i < n; i++)
        find_rows(j, j->a + a * j->m->m * j->m->k, first + i, i, scratch, &tiles[i]);
    onx_qgemm_enter(j->tier);
    for (; panel < end && !onx_call_stopped(call); panel++) {
        size_t col = panel * j->tier->columns, place = (b * l->panels + panel) * j->tier->columns;
        size_t width = j->m->n - col < j->tier->columns ? j->m->n - col : j->tier->columns;
        for (size_t i = 0; i < n; i++) {
            onx_qtile t = tiles[i];
            t.panel = j->panels + (b * l->panels + panel) * l->panel_bytes;
            t.n = width;
            t.sums = (int32_t *)(void *)sums;
            e.row_sums = (int32_t *)(void *)(sums + j->room.sums) + i * j->tier->rows;
            size_t row = set * l->rows + tile_start(j, first + i);
            onx_qgemm_results(j->tier, &t, &e, place, j->y + (row * j->m->n + col) * j->y_size,
                              j->m->n * j->y_size);
        }
    }
    onx_qgemm_leave(j->tier);
    return panel < end ? ONX_CANCELLED : ONX_OK;
}

static onx_status run_tiles(onx_call *call, job *j) {
    const layout *l = &j->l;
    size_t most = onx_qgemm_tiles(j->tier) * j->tier->rows, rows = l->rows < most ? l->rows : most;
    j->chunk = onx_qgemm_chunk(j->tier, rows, l->k, l->sets * l->blocks * l->panels);
    (void)room_of(j->tier, l, &j->room);
    return onx_call_parallel(call, l->sets * l->blocks * ((l->panels - 1) / j->chunk + 1),
                             tiles_task, j);
}

onx_status onx_bytes_matmul_run(onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    const plan *p = call->plan;
    char *scratch = call->scratch;
    onx_qend end = p->end;
    onx_dynamic with;
    if (!call->out[0]->count) return ONX_OK;
    job j = {.tier = st->tier, .m = &p->m, .l = layout_of(call), .end = &end};
    j.a = in.a->data;
    j.y = call->out[0]->data;
    j.y_size = onx_dtype_bits((onx_dtype)call->out[0]->dtype) / 8;
    j.is_signed = in.a->dtype == ONX_DTYPE_I8 && st->tier->native;
    j.flip = in.a->dtype == ONX_DTYPE_I8 && !j.is_signed ? 128 : 0;
    if (st->dynamic) {
        ONX_TRY(onx_dynamic_with(call, in.a, st->tier->dynamic, &with, (uint8_t *)scratch));
        j.a = (uint8_t *)scratch;
        scratch += onx_align_up((size_t)in.a->count);
    }
    const char *packed = call->packed ? call->packed : scratch;
    if (!call->packed) {
        ONX_TRY(pack(call, j.l.matrices, p->m.n, scratch));
        scratch += j.l.sums + j.l.panel_bytes * j.l.panels * j.l.matrices;
    }
    j.panels = packed + j.l.sums;
    if (!st->steady) make_end(call, &j.l, st->dynamic ? &with : NULL, packed, scratch, &end);
    return run_tiles(call, &j);
}
