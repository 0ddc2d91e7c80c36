/* matmul_bf16.c: see matmul_bf16.h; and the rows of the tier bf16. */
#include "ops/matmul/matmul_bf16.h"

#undef ONX_ISA
#define ONX_ISA avx512 /* whose programs run here, too */
#include "ops/tile/tile_simd.h"

enum {
    LEAST_SIZE = 16,       /* of depth and columns of many products */
    PACK_TASK_A = 1 << 14, /* elements */
    PACK_TASK_B = 1 << 16,
    TASK_PRODUCTS = 4 << 20, /* small tiles go together into one task; less */
    OWN_PRODUCTS = 1 << 20,  /* where nothing has to be waited for between packing and them */
};

/* ─ Init and packing ─────────────────────────────────────────────────────────────────────────── */

/* Many small matrices, each of which would be padded. */
static bool is_small(const onx_operand *b) {
    if (b->rank == ONX_RANK_UNKNOWN || b->rank < 3) return false;
    int64_t rows = b->dims[b->rank - 2], cols = b->dims[b->rank - 1];
    return (rows >= 0 && rows < LEAST_SIZE) || (cols >= 0 && cols < LEAST_SIZE);
}

onx_status onx_matmul_init_bf16(onx_call *call) {
    return is_small(call->in[1]) ? ONX_UNSUPPORTED : onx_matmul_init(call);
}
onx_status onx_matmul_init_gemm_bf16(onx_call *call) {
    return is_small(call->in[1]) ? ONX_UNSUPPORTED : onx_matmul_init_gemm(call);
}
onx_status onx_matmul_init_tile_bf16(onx_call *call) {
    return is_small(call->in[1]) ? ONX_UNSUPPORTED : onx_matmul_init_tile(call);
}

/* Elements of a packed matrix of `lines` rows or columns, and bytes of `count` of them; false when
 * there are too many to count. */
static bool packed_size(size_t lines, size_t k, size_t count, size_t *each, size_t *bytes) {
    size_t depth;
    if (!onx_add_size(k, ONX_BF16_DEPTH - 1, &depth)) return false;
    depth -= depth % ONX_BF16_DEPTH;
    return onx_mul_size(lines, depth, each) && onx_mul_size(*each, count, bytes) &&
           onx_mul_size(*bytes, sizeof(uint16_t), bytes);
}
static size_t round_up(size_t n, size_t unit) {
    return onx_bf16_ceil(n, unit) * unit;
}

/* B, if it is constant: the first of its matrices, and how many there are. */
static bool constant_b(const onx_call *call, onx_bf16_source *out, size_t *count) {
    const onx_matmul_state *state = call->state;
    const onx_operand *b = call->in[1];
    if (!b->constant || !b->count || !b->rank) return false;
    size_t rows = (size_t)b->dims[b->rank > 1 ? b->rank - 2 : 0];
    size_t cols = b->rank > 1 ? (size_t)b->dims[b->rank - 1] : 1;
    bool rounded = b->dtype == ONX_DTYPE_BF16;
    *out = state->turn_b ? (onx_bf16_source){b->data, cols, rows, 1, cols, rounded}
                         : (onx_bf16_source){b->data, rows, cols, cols, 1, rounded};
    *count = (size_t)b->count / (rows * cols);
    return true;
}

size_t onx_matmul_pack_bytes_bf16(const onx_call *call) {
    onx_bf16_source b;
    size_t count, each, bytes;
    if (!constant_b(call, &b, &count)) return 0;
    bool fits = packed_size(round_up(b.cols, ONX_BF16_COLS), b.rows, count, &each, &bytes);
    return fits ? bytes : 0;
}

/* Panels, or blocks, of many matrices: `task` of them are a task. */
typedef struct packing {
    onx_bf16_source first;
    size_t units, count, unit, task; /* of one matrix; matrices; elements of a unit */
    uint16_t *to;
    void (*pack)(const onx_bf16_source *from, size_t first, size_t count, uint16_t *packed);
} packing;

static size_t pack_tasks(const packing *p) {
    return onx_bf16_ceil(p->units * p->count, p->task);
}
static void pack_units(const packing *p, size_t matrix, size_t unit, size_t n) {
    onx_bf16_source from = p->first;
    size_t each = from.rounded ? sizeof(uint16_t) : sizeof(float);
    from.data = (const char *)from.data + matrix * from.rows * from.cols * each;
    p->pack(&from, unit, n, p->to + (matrix * p->units + unit) * p->unit);
}
static void pack_some(const packing *p, size_t index) {
    size_t end = p->units * p->count;
    if (end - index * p->task > p->task) end = (index + 1) * p->task;
    for (size_t at = index * p->task, n; at < end; at += n) {
        size_t unit = at % p->units;
        n = p->units - unit < end - at ? p->units - unit : end - at;
        pack_units(p, at / p->units, unit, n);
    }
}

static packing packing_of_b(onx_bf16_source b, size_t count, uint16_t *to) {
    size_t unit = onx_bf16_panel_size(b.rows);
    return (packing){b,
                     onx_bf16_ceil(b.cols, ONX_BF16_COLS),
                     count,
                     unit,
                     1 + PACK_TASK_B / (unit + 1),
                     to,
                     onx_bf16_pack_b};
}
/* An even number of tasks, so that a thread packs the rows it multiplies, or nearly so. */
static packing packing_of_a(onx_bf16_source a, size_t count, uint16_t *to) {
    size_t unit = onx_bf16_block_size(a.cols), rows = onx_bf16_ceil(a.rows, ONX_BF16_ROWS);
    size_t all = rows * count, tasks = 2 * (1 + all * unit / (2 * PACK_TASK_A));
    size_t task = all ? onx_bf16_ceil(all, tasks) : 1;
    return (packing){a, rows, count, unit, task, to, onx_bf16_pack_a};
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call, (void)scratch;
    pack_some(user, index);
    return ONX_OK;
}

onx_status onx_matmul_pack_bf16(onx_call *call, void *out) {
    onx_bf16_source b;
    size_t count;
    if (!constant_b(call, &b, &count)) return ONX_OK;
    packing p = packing_of_b(b, count, out);
    return onx_call_parallel(call, pack_tasks(&p), pack_task, &p);
}

/* ─ Binding ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status bind_product(onx_call *call) {
    const onx_matmul_state *state = call->state;
    onx_matmul_plan_bf16 *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t a_bytes, b_bytes, a_elements = p->m * p->k, b_elements = p->k * p->n;
    if (!call->n_out || !call->out[0] || !call->out[0]->count) return ONX_OK; /* nothing will run */
    plan->tiling = onx_bf16_tile(p->m, p->n, p->k);
    plan->n_tiles = p->batches * plan->tiling.n_down * plan->tiling.n_across;
    plan->a_count = a_elements ? (size_t)call->in[0]->count / a_elements : 0;
    plan->b_count = b_elements ? (size_t)call->in[1]->count / b_elements : 0;
    plan->own_rows =
        call->packed && plan->a_count == p->batches && onx_bf16_shares_rows(p->m, p->n, p->k);
    double work = (double)plan->tiling.rows * (double)plan->tiling.panels * ONX_BF16_COLS;
    double least = plan->own_rows ? OWN_PRODUCTS : TASK_PRODUCTS;
    plan->tiles = 1 + (size_t)(least / (work * ((double)p->k + ONX_BF16_DEPTH)));
    if (plan->own_rows) plan->tiles = round_up(plan->tiles, plan->tiling.n_across);
    if (!packed_size(round_up(p->m, ONX_BF16_ROWS), p->k, plan->a_count, &plan->a_size, &a_bytes) ||
        !packed_size(round_up(p->n, ONX_BF16_COLS), p->k, plan->b_count, &plan->b_size, &b_bytes))
        return onx_fail_nomem(call->diag);
    plan->a_at = call->packed ? 0 : b_bytes;
    call->scratch_each = state->tile ? state->tile->scratch : 0;
    return onx_add_size(plan->a_at, a_bytes, &call->scratch_bytes) ? ONX_OK
                                                                   : onx_fail_nomem(call->diag);
}

onx_status onx_matmul_bind_bf16(onx_call *call) {
    ONX_TRY(onx_matmul_bind(call, &((onx_matmul_plan_bf16 *)call->plan)->shape));
    return bind_product(call);
}
onx_status onx_matmul_bind_gemm_bf16(onx_call *call) {
    ONX_TRY(onx_matmul_bind_gemm(call, &((onx_matmul_plan_bf16 *)call->plan)->shape));
    return bind_product(call);
}
onx_status onx_matmul_bind_tile_bf16(onx_call *call) {
    ONX_TRY(onx_matmul_bind_bf16(call));
    return onx_matmul_bind_program(call, &((onx_matmul_plan_bf16 *)call->plan)->program);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct running {
    packing a, b;
    onx_bf16_run *product;
    bool half; /* C and Y are bfloat16 */
} running;

static onx_status pack_both(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call, (void)scratch;
    const running *r = user;
    size_t first = pack_tasks(&r->a);
    if (index < first)
        pack_some(&r->a, index);
    else
        pack_some(&r->b, index - first);
    return ONX_OK;
}

/* The rows of A that a tile needs. */
static void pack_own(const onx_call *call, const running *r, size_t index) {
    const onx_matmul_plan_bf16 *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t tiles = plan->tiling.n_down * plan->tiling.n_across, a, b;
    onx_gemm_part part = onx_bf16_tile_at(&plan->tiling, p->m, p->n, p->k, index % tiles);
    onx_matmul_at(p, index / tiles, &a, &b);
    size_t first = part.row / ONX_BF16_ROWS;
    pack_units(&r->a, a, first, onx_bf16_ceil(part.row_end, ONX_BF16_ROWS) - first);
}

static void run_tile(const onx_call *call, const running *r, size_t index, void *scratch) {
    const onx_matmul_state *state = call->state;
    const onx_matmul_plan_bf16 *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t tiles = plan->tiling.n_down * plan->tiling.n_across, batch = index / tiles, a, b;
    onx_gemm_part part = onx_bf16_tile_at(&plan->tiling, p->m, p->n, p->k, index % tiles);
    onx_matmul_at(p, batch, &a, &b);
    onx_bf16_args args = {.m = p->m, .n = p->n, .k = p->k, .ldc = p->n, .half = r->half};
    args.alpha = state->alpha;
    args.a = r->a.to + a * plan->a_size;
    args.b = (call->packed ? (const uint16_t *)call->packed : r->b.to) + b * plan->b_size;
    args.c = onx_operand_at(call->out[0], batch * p->m * p->n);
    if (p->has_c) {
        args.beta = state->beta;
        args.d = call->in[2]->data;
        args.ldd = p->c_row;
        args.d_col = p->c_col;
    }
    onx_tile_end e;
    onx_operand *inputs[ONX_TILE_INPUTS];
    if (state->tile) {
        onx_matmul_program_inputs(call, inputs);
        e.row = batch * p->m;
        e.n = p->n;
        onx_tile_begin_avx512(&e.work, &plan->program, inputs, scratch);
        args.epilogue = onx_tile_finish_avx512;
        args.user = &e;
    }
    r->product(&args, part);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_matmul_plan_bf16 *plan = call->plan;
    size_t tile = index * plan->tiles;
    size_t end = plan->n_tiles - tile < plan->tiles ? plan->n_tiles : tile + plan->tiles;
    for (; tile < end; tile++) {
        if (plan->own_rows && tile % plan->tiling.n_across == 0) pack_own(call, user, tile);
        run_tile(call, user, tile, scratch);
    }
    return ONX_OK;
}

onx_status onx_matmul_run_bf16(onx_call *call, onx_bf16_run *product) {
    const onx_matmul_plan_bf16 *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    if (!call->n_out || !call->out[0] || !call->out[0]->count) return ONX_OK;
    bool a_half = call->in[0]->dtype == ONX_DTYPE_BF16,
         b_half = call->in[1]->dtype == ONX_DTYPE_BF16;
    onx_bf16_source a = {call->in[0]->data, p->m, p->k, p->a_row, p->a_col, a_half};
    onx_bf16_source b = {call->in[1]->data, p->k, p->n, p->b_row, p->b_col, b_half};
    char *scratch = call->scratch;
    running r = {.product = product, .half = a_half};
    r.a = packing_of_a(a, plan->a_count, (uint16_t *)(scratch + plan->a_at));
    r.b = packing_of_b(b, call->packed ? 0 : plan->b_count, (uint16_t *)scratch);
    if (!plan->own_rows)
        ONX_TRY(onx_call_parallel(call, pack_tasks(&r.a) + pack_tasks(&r.b), pack_both, &r));
    return onx_call_parallel(call, (plan->n_tiles - 1) / plan->tiles + 1, task, &r);
}

static onx_status run(onx_call *call) {
    return onx_matmul_run_bf16(call, onx_gemm_run_bf16);
}

extern onx_kernel_rows onx_kernels_matmul_bf16;
onx_kernel_rows onx_kernels_matmul_bf16 = {ONX_MATMUL_ROWS_BF16(run), {0}};
