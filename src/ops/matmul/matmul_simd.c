/* matmul_simd.c: MatMul and Gemm of floats over cpu/gemm.h, and MatMul with a program of
 * elementwise operations on its result.
 *
 * A constant B is packed once. Another B is packed as part of each run: by the task that uses it
 * when no other does, else all of it in a loop of its own; or read in place when A has few rows. So
 * is a large constant that lies turned, as in fully connected layers, until A has more rows.
 * Tasks are the tiles of all products. The small floats are widened, computed as floats, and
 * rounded once in the end. Numerics: the bound of cpu/gemm.h. */
#include "cpu/gemm.h"
#include "cpu/gemm_turned.h"
#include "ops/matmul/matmul_ref.h"
#include "ops/tile/tile_simd.h"

enum {
    IN_PLACE_ROWS = 8,         /* up to so many rows of A, packing B costs more than it gains */
    TURNED_FLOATS = 1 << 20,   /* from here on a turned constant is not packed for few rows of A */
    TILE_FLOATS_MAX = 1 << 19, /* of B, packed by a task for itself */
    PACK_TASK_FLOATS = 1 << 16,
    SHARED_FLOATS_MAX = 1 << 22, /* of A, packed for all */
    TASK_PRODUCTS = 1 << 19,     /* small tiles go together into one task */
    CONVERT_TASK = 1 << 16,      /* elements */
};
static const onx_gemm *const gemm = &ONX_TIER(onx_gemm);

typedef enum b_form { B_PACKED, B_PACK_ALL, B_PACK_TILE, B_IN_PLACE, B_TURNED } b_form;

typedef struct simd_plan {
    onx_matmul_plan shape;
    onx_gemm_tiling tiling;
    size_t n_tiles; /* of all products */
    size_t tiles;   /* of a task */
    b_form b;
    size_t b_count;     /* matrices in B */
    size_t b_floats;    /* in one of them, packed */
    size_t pack_panels; /* of a task of packing */
    size_t pack_groups;
    size_t a_count;     /* matrices in A that are packed for all tasks; 0: they are not */
    size_t a_at;        /* in the shared scratch: A, packed */
    size_t tile_at;     /* in a worker's scratch: its own panels of B */
    size_t program_at;  /* in a worker's scratch: for the program */
    size_t float_at[4]; /* in the shared scratch: A, B, C and Y, where they are not float */
    onx_tile_plan program;
} simd_plan;

/* A, B, C and Y, as floats; what is empty points to nothing of use. */
typedef struct operands {
    const float *in[3];
    float *y;
} operands;

static size_t align_up(size_t bytes) {
    return (bytes + ONX_ALIGN - 1) / ONX_ALIGN * ONX_ALIGN;
}

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

/* The sizes of a constant B; false when it is not one, or empty. */
static bool constant_b(const onx_call *call, onx_matmul_plan *p) {
    const onx_matmul_state *state = call->state;
    const onx_operand *b = call->in[1];
    if (!b->constant || !b->count || !b->rank) return false;
    size_t rows = (size_t)b->dims[b->rank > 1 ? b->rank - 2 : 0];
    size_t cols = b->rank > 1 ? (size_t)b->dims[b->rank - 1] : 1;
    p->k = state->turn_b ? cols : rows;
    p->n = state->turn_b ? rows : cols;
    p->b_row = state->turn_b ? 1 : cols;
    p->b_col = state->turn_b ? cols : 1;
    return true;
}

/* May A have as few rows as it takes to read a constant B where it lies? */
static bool may_stay(const onx_call *call) {
    const onx_matmul_state *state = call->state;
    const onx_operand *a = call->in[0];
    return state->turn_b && !state->turn_a && a->dtype == ONX_DTYPE_F32 && a->rank == 2 &&
           a->dims[0] <= IN_PLACE_ROWS && call->in[1]->count >= TURNED_FLOATS;
}

static size_t pack_bytes(const onx_call *call) {
    onx_matmul_plan p;
    size_t floats, bytes;
    if (!call->pack_late && may_stay(call)) return 0;
    if (!constant_b(call, &p) || !onx_gemm_packed_size(gemm, p.k, p.n, &floats)) return 0;
    size_t count = (size_t)call->in[1]->count / (p.k * p.n);
    return onx_mul_size(floats * sizeof(float), count, &bytes) ? bytes : 0;
}

/* Constant B: `PACK_PANELS` panels of one matrix are a task. */
enum { PACK_PANELS = 4 };
typedef struct packing {
    const onx_matmul_plan *plan;
    const float *from;
    float *to;
    size_t panels, groups; /* of one matrix */
} packing;

static onx_status pack_constant(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const packing *k = user;
    const onx_matmul_plan *p = k->plan;
    size_t i = index / k->groups, first = index % k->groups * PACK_PANELS;
    size_t n = k->panels - first < PACK_PANELS ? k->panels - first : PACK_PANELS;
    const float *from = k->from + i * p->k * p->n;
    gemm->pack_b(p->k, p->n, from, p->b_row, p->b_col, first, n,
                 k->to + (i * k->panels + first) * gemm->nr * p->k);
    if (p->b_row == 1 && k->from == call->in[1]->data) { /* nobody else reads these columns */
        size_t col = first * gemm->nr, cols = n * gemm->nr < p->n - col ? n * gemm->nr : p->n - col;
        onx_call_spent(call, from + col * p->k, cols * p->k * sizeof *from);
    }
    return ONX_OK;
}

static onx_status pack(onx_call *call, void *out) {
    onx_matmul_plan p;
    if (!constant_b(call, &p)) return ONX_OK;
    const onx_operand *b = call->in[1];
    size_t count = (size_t)b->count, matrix = p.k * p.n, panels = onx_gemm_panels(gemm, p.n);
    const float *from = b->data;
    float *wide = NULL;
    if (b->dtype != ONX_DTYPE_F32) {
        size_t bytes;
        wide = onx_mul_size(count, sizeof *wide, &bytes) ? onx_mem_alloc(call->ctx, bytes) : NULL;
        if (!wide) return onx_fail_nomem(call->diag);
        (void)onx_dtype_convert((onx_dtype)b->dtype, b->data, ONX_DTYPE_F32, wide, count, false);
        from = wide;
    }
    packing k = {&p, from, out, panels, (panels - 1) / PACK_PANELS + 1};
    onx_status status = onx_call_parallel(call, count / matrix * k.groups, pack_constant, &k);
    if (wide) onx_mem_free(call->ctx, wide, count * sizeof *wide);
    return status;
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const operands *o = user;
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t panels = onx_gemm_panels(gemm, p->n), groups = (panels - 1) / plan->pack_panels + 1;
    size_t i = index / groups, first = index % groups * plan->pack_panels;
    size_t n = panels - first < plan->pack_panels ? panels - first : plan->pack_panels;
    const float *b = o->in[1] + i * p->k * p->n;
    float *to = (float *)call->scratch + i * plan->b_floats + first * p->k * gemm->nr;
    gemm->pack_b(p->k, p->n, b, p->b_row, p->b_col, first, n, to);
    return ONX_OK;
}

static onx_status pack_a_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const operands *o = user;
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t groups = onx_gemm_groups(gemm, p->m), tasks = (groups - 1) / plan->pack_groups + 1;
    size_t i = index / tasks, first = index % tasks * plan->pack_groups;
    size_t end = groups - first < plan->pack_groups ? groups : first + plan->pack_groups;
    size_t row = onx_gemm_group_at(gemm, p->m, first), row_end = onx_gemm_group_at(gemm, p->m, end);
    onx_gemm_args args = {.m = p->m, .k = p->k, .a_row = p->a_row, .a_col = p->a_col};
    args.a = o->in[0] + i * p->m * p->k;
    float *to = (float *)((char *)call->scratch + plan->a_at) + (i * p->m + row) * p->k;
    gemm->pack_a(&args, row, row_end, to);
    return ONX_OK;
}

/* ─ Binding ──────────────────────────────────────────────────────────────────────────────────── */

static b_form choose_form(const onx_call *call, const simd_plan *plan, size_t tile_floats) {
    if (call->packed) return B_PACKED;
    if (plan->shape.b_row == 1 && plan->shape.a_col == 1 && plan->shape.m <= IN_PLACE_ROWS)
        return B_TURNED;
    if (plan->shape.b_col == 1 && plan->shape.m <= IN_PLACE_ROWS) return B_IN_PLACE;
    return plan->tiling.n_down == 1 && tile_floats <= TILE_FLOATS_MAX ? B_PACK_TILE : B_PACK_ALL;
}

/* Packs A once when several tiles want the same rows. */
static void share_a(const onx_call *call, simd_plan *plan) {
    const onx_matmul_plan *p = &plan->shape;
    size_t floats = (size_t)call->in[0]->count, matrix = p->m * p->k;
    bool shared = matrix && plan->b != B_TURNED && floats <= SHARED_FLOATS_MAX &&
                  onx_gemm_shares_a(&plan->tiling);
    plan->a_count = shared ? floats / matrix : 0;
    plan->pack_groups = 1 + PACK_TASK_FLOATS / (p->k * gemm->mr + 1);
}
static bool place_a(onx_call *call, simd_plan *plan) {
    size_t bytes = plan->a_count * plan->shape.m * plan->shape.k * sizeof(float);
    plan->a_at = align_up(call->scratch_bytes);
    return plan->a_at >= call->scratch_bytes &&
           onx_add_size(plan->a_at, align_up(bytes), &call->scratch_bytes);
}

/* Room for operands that are not float, after what is taken already. */
static bool place_floats(onx_call *call, simd_plan *plan) {
    size_t end = call->scratch_bytes, bytes;
    if (call->in[0]->dtype == ONX_DTYPE_F32) return true;
    for (size_t i = 0; i < 4; i++) {
        const onx_operand *x = i == 3 ? call->out[0] : i < call->n_in ? call->in[i] : NULL;
        if (!x || (i == 1 && call->packed)) continue;
        plan->float_at[i] = end;
        if (!onx_mul_size((size_t)x->count, sizeof(float), &bytes) ||
            !onx_add_size(bytes, ONX_ALIGN, &bytes) || !onx_add_size(end, bytes, &end))
            return false;
        end = align_up(end - ONX_ALIGN);
    }
    call->scratch_bytes = end;
    return true;
}

/* Scratch: of a worker, for the product, its panels of B and the program; shared, for all of B. */
static onx_status bind_product(onx_call *call) {
    const onx_matmul_state *state = call->state;
    simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t matrix = p->k * p->n, tile_floats;
    if (!call->n_out || !call->out[0] || !call->out[0]->count) return ONX_OK; /* nothing will run */
    plan->tiling = onx_gemm_tile(gemm, p->m, p->n, p->k, p->batches);
    double tile_products =
        (double)(plan->tiling.rows * plan->tiling.panels * gemm->nr) * ((double)p->k + 1);
    plan->n_tiles = p->batches * plan->tiling.n_down * plan->tiling.n_across;
    plan->tiles = 1 + (size_t)(TASK_PRODUCTS / tile_products);
    plan->b_count = matrix ? (size_t)call->in[1]->count / matrix : 0;
    if (!onx_gemm_packed_size(gemm, p->k, p->n, &plan->b_floats)) return onx_fail_nomem(call->diag);
    tile_floats = plan->tiling.panels * p->k * gemm->nr;
    plan->b = choose_form(call, plan, tile_floats);
    plan->pack_panels = 1 + PACK_TASK_FLOATS / (p->k * gemm->nr + 1);
    share_a(call, plan);
    onx_gemm_args args = {.m = p->m, .k = p->k, .a_packed = plan->a_count != 0};
    args.ldb = plan->b == B_IN_PLACE;
    plan->tile_at = align_up(onx_gemm_scratch(gemm, &args, plan->tiling.rows));
    plan->program_at = plan->tile_at;
    if (plan->b == B_PACK_TILE) plan->program_at += align_up(tile_floats * sizeof(float));
    call->scratch_each = plan->program_at + (state->tile ? state->tile->scratch : 0);
    if (plan->b == B_PACK_ALL &&
        !onx_mul_size(plan->b_floats * sizeof(float), plan->b_count, &call->scratch_bytes))
        return onx_fail_nomem(call->diag);
    return place_a(call, plan) && place_floats(call, plan) ? ONX_OK : onx_fail_nomem(call->diag);
}

static onx_status bind_matmul(onx_call *call) {
    ONX_TRY(onx_matmul_bind(call, &((simd_plan *)call->plan)->shape));
    return bind_product(call);
}
static onx_status bind_gemm(onx_call *call) {
    simd_plan *plan = call->plan;
    ONX_TRY(onx_matmul_bind_gemm(call, &plan->shape));
    call->pack_late = call->in[1]->constant && !call->packed && plan->shape.m > IN_PLACE_ROWS;
    return bind_product(call);
}

static onx_status bind_tile(onx_call *call) {
    ONX_TRY(bind_matmul(call));
    return onx_matmul_bind_program(call, &((simd_plan *)call->plan)->program);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* What the epilogue needs: the program at work, and how many rows lie before this product. */
typedef struct epilogue {
    onx_tile_work work;
    size_t row, n;
} epilogue;

static void run_program(void *user, float *c, size_t row, size_t n_rows, size_t col, size_t n_cols,
                        size_t ldc) {
    epilogue *e = user;
    ONX_TIER(onx_tile_rows)
    (&e->work, c, ldc, (int64_t)e->n, (int64_t)(e->row + row), n_rows, (int64_t)col, n_cols);
}

/* D of the product: C where it lies, or beta C in the place of Y. */
static void add_c(const onx_call *call, const float *c, onx_gemm_args *args, onx_gemm_part part) {
    const onx_matmul_state *state = call->state;
    const onx_matmul_plan *p = &((const simd_plan *)call->plan)->shape;
    if (state->beta == 1 && p->c_col == 1) {
        args->d = c;
        args->ldd = p->c_row;
        return;
    }
    args->d = args->c;
    args->ldd = args->ldc;
    size_t end = part.panel_end * gemm->nr < p->n ? part.panel_end * gemm->nr : p->n;
    for (size_t i = part.row; i < part.row_end; i++)
        for (size_t j = part.panel * gemm->nr; j < end; j++) {
            float x;
            memcpy(&x, c + i * p->c_row + j * p->c_col, sizeof x);
            x *= state->beta;
            memcpy(args->c + i * args->ldc + j, &x, sizeof x);
        }
}

/* B of the product: matrix `index` of b. */
static void set_b(const onx_call *call, const float *b, onx_gemm_args *args, onx_gemm_part part,
                  size_t index, float *own) {
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    const float *packed = call->packed ? call->packed : call->scratch;
    args->b = b + index * p->k * p->n;
    if (plan->b == B_TURNED) return;
    if (plan->b == B_IN_PLACE) {
        args->ldb = p->n;
    } else if (plan->b == B_PACK_TILE) {
        gemm->pack_b(p->k, p->n, args->b, p->b_row, p->b_col, part.panel,
                     part.panel_end - part.panel, own);
        args->b = own;
        args->b_first = part.panel;
    } else {
        args->b = packed + index * plan->b_floats;
    }
}

static void run_tile(const onx_call *call, const operands *o, size_t index, void *scratch) {
    const onx_matmul_state *state = call->state;
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t tiles = plan->tiling.n_down * plan->tiling.n_across, batch = index / tiles, a, b;
    onx_gemm_part part = onx_gemm_tile_at(gemm, &plan->tiling, p->m, p->n, index % tiles);
    onx_matmul_at(p, batch, &a, &b);
    onx_gemm_args args = {.m = p->m, .n = p->n, .k = p->k, .alpha = state->alpha, .ldc = p->n};
    args.a_packed = plan->a_count != 0;
    args.a = args.a_packed ? (float *)((char *)call->scratch + plan->a_at) : o->in[0];
    args.a += a * p->m * p->k;
    args.a_row = p->a_row;
    args.a_col = p->a_col;
    args.c = o->y + batch * p->m * p->n;
    set_b(call, o->in[1], &args, part, b, (float *)((char *)scratch + plan->tile_at));
    if (p->has_c) add_c(call, o->in[2], &args, part);
    epilogue e;
    onx_operand *inputs[ONX_TILE_INPUTS];
    if (state->tile) {
        onx_matmul_program_inputs(call, inputs);
        e.row = batch * p->m;
        e.n = p->n;
        ONX_TIER(onx_tile_begin)
        (&e.work, &plan->program, inputs, (char *)scratch + plan->program_at);
        args.epilogue = run_program;
        args.user = &e;
    }
    size_t end = part.panel_end * gemm->nr;
    if (plan->b == B_TURNED)
        ONX_TIER(onx_gemm_turned)(&args, part.panel * gemm->nr, end < p->n ? end : p->n);
    else
        gemm->run(&args, part, scratch);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const simd_plan *plan = call->plan;
    size_t tile = index * plan->tiles;
    size_t end = plan->n_tiles - tile < plan->tiles ? plan->n_tiles : tile + plan->tiles;
    for (; tile < end; tile++) run_tile(call, user, tile, scratch);
    return ONX_OK;
}

/* ─ Small floats ─────────────────────────────────────────────────────────────────────────────── */

typedef struct conversion {
    onx_dtype from, to;
    const char *src;
    char *dst;
    size_t count;
} conversion;

static onx_status convert_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call, (void)scratch;
    const conversion *c = user;
    size_t at = index * CONVERT_TASK;
    size_t n = c->count - at < CONVERT_TASK ? c->count - at : CONVERT_TASK;
    return onx_dtype_convert(c->from, c->src + at * onx_dtype_bits(c->from) / 8, c->to,
                             c->dst + at * onx_dtype_bits(c->to) / 8, n, false);
}
static onx_status convert(onx_call *call, conversion c) {
    return onx_call_parallel(call, c.count / CONVERT_TASK + (c.count % CONVERT_TASK != 0),
                             convert_task, &c);
}

static onx_status widen(onx_call *call, operands *o) {
    const simd_plan *plan = call->plan;
    char *scratch = call->scratch;
    for (size_t i = 0; i < 3 && i < call->n_in; i++) {
        const onx_operand *x = call->in[i];
        if (!x || !x->count || (i == 1 && call->packed)) continue;
        o->in[i] = (float *)(scratch + plan->float_at[i]);
        ONX_TRY(convert(call, (conversion){(onx_dtype)x->dtype, ONX_DTYPE_F32, x->data,
                                           scratch + plan->float_at[i], (size_t)x->count}));
    }
    o->y = (float *)(scratch + plan->float_at[3]);
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    static const float nothing[1];
    const simd_plan *plan = call->plan;
    onx_operand *out = call->n_out ? call->out[0] : NULL;
    if (!out || !out->count) return ONX_OK;
    operands o = {{nothing, nothing, nothing}, out->data};
    for (size_t i = 0; i < 3 && i < call->n_in; i++)
        if (call->in[i] && call->in[i]->data) o.in[i] = call->in[i]->data;
    bool small = out->dtype != ONX_DTYPE_F32;
    if (small) ONX_TRY(widen(call, &o));
    if (plan->b == B_PACK_ALL) {
        size_t groups = (onx_gemm_panels(gemm, plan->shape.n) - 1) / plan->pack_panels + 1;
        ONX_TRY(onx_call_parallel(call, plan->b_count * groups, pack_task, &o));
    }
    if (plan->a_count) {
        size_t tasks = (onx_gemm_groups(gemm, plan->shape.m) - 1) / plan->pack_groups + 1;
        ONX_TRY(onx_call_parallel(call, plan->a_count * tasks, pack_a_task, &o));
    }
    ONX_TRY(onx_call_parallel(call, (plan->n_tiles - 1) / plan->tiles + 1, task, &o));
    if (!small) return ONX_OK;
    return convert(call, (conversion){ONX_DTYPE_F32, (onx_dtype)out->dtype, (const char *)o.y,
                                      out->data, (size_t)out->count});
}

#define F32 ONX_T(F32)
#define SMALL (ONX_T(F16) | ONX_T(BF16))
#define MORE (ONX_T(F32) | ONX_T(BOOL))
#define ROW(op_, domain_, name_, type_, more_, init_, bind_)                                       \
    {                                                                                              \
        .op = op_, .first = 1, .types = {type_, type_, more_, more_, more_, more_}, .name = name_, \
        .packs = 2, .plan_bytes = sizeof(simd_plan), .domain = domain_, .init = init_,             \
        .pack_bytes = pack_bytes, .pack = pack, .bind = bind_, .run = run                          \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_matmul);
onx_kernel_rows ONX_TIER(onx_kernels_matmul) = {
    ROW("MatMul", NULL, "matmul_f32", F32, F32, onx_matmul_init, bind_matmul),
    ROW("Gemm", NULL, "gemm_f32", F32, F32, onx_matmul_init_gemm, bind_gemm),
    ROW("MatMul", NULL, "matmul_half", SMALL, SMALL, onx_matmul_init, bind_matmul),
    ROW("Gemm", NULL, "gemm_half", SMALL, SMALL, onx_matmul_init_gemm, bind_gemm),
    ROW("MatMulTile", "onx.internal", "matmul_tile_f32", F32, MORE, onx_matmul_init_tile,
        bind_tile),
    {0},
};
