/* matmul_simd.c: MatMul and Gemm of floats over cpu/gemm.h, and MatMul with a program of
 * elementwise operations on its result.
 *
 * A constant B is packed once. Another B is packed as part of each run: by the task that uses it
 * when no other does, else all of it in a loop of its own; or read in place when A has few rows. So
 * is a large constant that lies turned, as in fully connected layers, until A has more rows.
 * Tasks are the tiles of all products. Halves are widened where they are packed or, as constants,
 * panel by panel where they are used; a tile of floats is rounded once in the end. Numerics: the
 * bound of cpu/gemm.h. */
#include "cpu/gemm.h"
#include "cpu/gemm_turned.h"
#include "ops/matmul/matmul_f64_simd.h"
#include "ops/matmul/matmul_ref.h"
#include "ops/tile/tile_simd.h"

enum {
    IN_PLACE_ROWS = 8,         /* up to so many rows of A, packing B costs more than it gains */
    TURNED_FLOATS = 1 << 20,   /* from here on a turned constant is not packed for few rows of A */
    TILE_FLOATS_MAX = 1 << 19, /* of B, packed by a task for itself */
    PACK_TASK_FLOATS = 1 << 16,
    SHARED_FLOATS_MAX = 1 << 22, /* of A, packed for all */
    TASK_PRODUCTS = 1 << 19,     /* small tiles go together into one task */
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
    size_t a_count;    /* matrices in A that are packed for all tasks; 0: they are not */
    size_t a_at;       /* in the shared scratch: A, packed */
    size_t tile_at;    /* in a worker's scratch: its own panels of B */
    size_t program_at; /* in a worker's scratch: for the program; or its tile of Y, in floats */
    onx_gemm_type type, b_type; /* of all operands but B; of B */
    const onx_tile *tile;       /* what is done with the product; NULL: nothing */
    size_t bias;                /* input that is C of the product, one row; 0: none */
    onx_tile_plan program;
} simd_plan;

/* A, B, C and Y; what is empty points to nothing of use. */
typedef struct operands {
    const void *in[3];
    void *y;
} operands;

static onx_gemm_type type_of(const onx_operand *operand) {
    return operand->dtype == ONX_DTYPE_F32   ? ONX_GEMM_F32
           : operand->dtype == ONX_DTYPE_F16 ? ONX_GEMM_F16
                                             : ONX_GEMM_BF16;
}
static size_t type_size(onx_gemm_type type) {
    return type == ONX_GEMM_F32 ? sizeof(float) : sizeof(uint16_t);
}
/* Element `at` of a tensor of that type. */
static const void *element(const void *data, onx_gemm_type type, size_t at) {
    return (const char *)data + at * type_size(type);
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
    return state->turn_b && !state->turn_a && call->in[1]->dtype == ONX_DTYPE_F32 && a->rank == 2 &&
           a->dims[0] <= IN_PLACE_ROWS && call->in[1]->count >= TURNED_FLOATS;
}

static size_t pack_bytes(const onx_call *call) {
    onx_matmul_plan p;
    size_t floats, bytes;
    if (!call->pack_late && may_stay(call)) return 0;
    if (!constant_b(call, &p) || !onx_gemm_packed_size(gemm, p.k, p.n, &floats)) return 0;
    size_t count = (size_t)call->in[1]->count / (p.k * p.n);
    return onx_mul_size(floats * type_size(type_of(call->in[1])), count, &bytes) ? bytes : 0;
}

/* Constant B: `PACK_PANELS` panels of one matrix are a task. */
enum { PACK_PANELS = 4 };
typedef struct packing {
    const onx_matmul_plan *plan;
    onx_gemm_type type;
    const void *from;
    void *to;
    size_t panels, groups; /* of one matrix */
} packing;

static onx_status pack_constant(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const packing *k = user;
    const onx_matmul_plan *p = k->plan;
    size_t i = index / k->groups, first = index % k->groups * PACK_PANELS;
    size_t n = k->panels - first < PACK_PANELS ? k->panels - first : PACK_PANELS;
    const void *from = element(k->from, k->type, i * p->k * p->n);
    char *to = (char *)k->to + (i * k->panels + first) * gemm->nr * p->k * type_size(k->type);
    if (k->type)
        gemm->pack_half(k->type, true, p->k, p->n, from, p->b_row, p->b_col, first, n, to);
    else
        gemm->pack_b(p->k, p->n, from, p->b_row, p->b_col, first, n, (float *)(void *)to);
    if (p->b_row == 1) { /* nobody else reads these columns */
        size_t col = first * gemm->nr, cols = n * gemm->nr < p->n - col ? n * gemm->nr : p->n - col;
        onx_call_spent(call, element(from, k->type, col * p->k), cols * p->k * type_size(k->type));
    }
    return ONX_OK;
}

static onx_status pack(onx_call *call, void *out) {
    onx_matmul_plan p;
    if (!constant_b(call, &p)) return ONX_OK;
    const onx_operand *b = call->in[1];
    size_t matrices = (size_t)b->count / (p.k * p.n), panels = onx_gemm_panels(gemm, p.n);
    packing k = {&p, type_of(b), b->data, out, panels, (panels - 1) / PACK_PANELS + 1};
    return onx_call_parallel(call, matrices * k.groups, pack_constant, &k);
}

/* Panels of matrix `index` of B, as floats. */
static void pack_panels(const simd_plan *plan, const void *b, size_t index, size_t first,
                        size_t count, float *to) {
    const onx_matmul_plan *p = &plan->shape;
    const void *from = element(b, plan->b_type, index * p->k * p->n);
    if (plan->b_type)
        gemm->pack_half(plan->b_type, false, p->k, p->n, from, p->b_row, p->b_col, first, count,
                        to);
    else
        gemm->pack_b(p->k, p->n, from, p->b_row, p->b_col, first, count, to);
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const operands *o = user;
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t panels = onx_gemm_panels(gemm, p->n), groups = (panels - 1) / plan->pack_panels + 1;
    size_t i = index / groups, first = index % groups * plan->pack_panels;
    size_t n = panels - first < plan->pack_panels ? panels - first : plan->pack_panels;
    float *to = (float *)call->scratch + i * plan->b_floats + first * p->k * gemm->nr;
    pack_panels(plan, o->in[1], i, first, n, to);
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
    args.a = element(o->in[0], plan->type, i * p->m * p->k);
    args.a_type = plan->type;
    float *to = (float *)((char *)call->scratch + plan->a_at) + (i * p->m + row) * p->k;
    gemm->pack_a(&args, row, row_end, to);
    return ONX_OK;
}

/* ─ Binding ──────────────────────────────────────────────────────────────────────────────────── */

static b_form choose_form(const onx_call *call, const simd_plan *plan, size_t tile_floats) {
    if (call->packed) return B_PACKED;
    bool few = !plan->b_type && plan->shape.m <= IN_PLACE_ROWS;
    if (few && plan->shape.b_row == 1 && plan->shape.a_col == 1) return B_TURNED;
    if (few && plan->shape.b_col == 1) return B_IN_PLACE;
    return plan->tiling.n_down == 1 && tile_floats <= TILE_FLOATS_MAX ? B_PACK_TILE : B_PACK_ALL;
}

/* Packs A once when several tiles want the same rows; and a single row of halves, which is read as
 * floats then. */
static void share_a(const onx_call *call, simd_plan *plan) {
    const onx_matmul_plan *p = &plan->shape;
    size_t floats = (size_t)call->in[0]->count, matrix = p->m * p->k;
    onx_gemm_args args = {.m = p->m, .a_row = p->a_row, .a_col = p->a_col, .a_type = plan->type};
    bool wanted = onx_gemm_shares_a(gemm, &plan->tiling, &args) || (plan->type && p->m == 1);
    bool shared = matrix && wanted && plan->b != B_TURNED && floats <= SHARED_FLOATS_MAX;
    plan->a_count = shared ? floats / matrix : 0;
    plan->pack_groups = 1 + PACK_TASK_FLOATS / (p->k * gemm->mr + 1);
}
static bool place_a(onx_call *call, simd_plan *plan) {
    size_t bytes = plan->a_count * plan->shape.m * plan->shape.k * sizeof(float);
    plan->a_at = onx_align_up(call->scratch_bytes);
    return plan->a_at >= call->scratch_bytes &&
           onx_add_size(plan->a_at, onx_align_up(bytes), &call->scratch_bytes);
}

/* Scratch: of a worker, for the product, its panels of B, and the program or floats of Y; shared,
 * for all of B and of A. */
static onx_status bind_product(onx_call *call) {
    simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t matrix = p->k * p->n, tile_floats;
    if (!call->n_out || !call->out[0] || !call->out[0]->count) return ONX_OK; /* nothing will run */
    plan->type = type_of(call->out[0]);
    plan->b_type = type_of(call->in[1]);
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
    args.b_type = plan->b == B_PACKED ? plan->b_type : ONX_GEMM_F32;
    plan->tile_at = onx_align_up(onx_gemm_scratch(gemm, &args, plan->tiling.rows));
    plan->program_at = plan->tile_at;
    if (plan->b == B_PACK_TILE) plan->program_at += onx_align_up(tile_floats * sizeof(float));
    call->scratch_each = plan->program_at + (plan->tile ? plan->tile->scratch : 0);
    if (plan->type)
        call->scratch_each += plan->tiling.rows * plan->tiling.panels * gemm->nr * sizeof(float);
    if (plan->b == B_PACK_ALL &&
        !onx_mul_size(plan->b_floats * sizeof(float), plan->b_count, &call->scratch_bytes))
        return onx_fail_nomem(call->diag);
    return place_a(call, plan) ? ONX_OK : onx_fail_nomem(call->diag);
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
    const onx_matmul_state *state = call->state;
    simd_plan *plan = call->plan;
    ONX_TRY(onx_matmul_bind(call, &plan->shape));
    if (!call->n_out || !call->out[0]) return ONX_OK;
    bool once = plan->shape.k <= ONX_GEMM_DEPTH; /* else C would not be added last */
    plan->bias = once && onx_matmul_adds_row(call, &plan->shape) ? state->bias : 0;
    plan->tile = plan->bias ? state->rest : state->tile;
    ONX_TRY(bind_product(call));
    if (!plan->tile) return ONX_OK;
    onx_operand *inputs[ONX_TILE_INPUTS];
    onx_matmul_program_inputs(call, inputs);
    return onx_tile_bind(call, plan->tile, call->out[0], inputs, &plan->program);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* D of the product: C where it lies, or beta C in the place of the product. */
static void add_c(const onx_call *call, const void *c, onx_gemm_args *args, onx_gemm_part part) {
    const onx_matmul_state *state = call->state;
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    if (!plan->type && state->beta == 1 && p->c_col == 1) {
        args->d = c;
        args->ldd = p->c_row;
        return;
    }
    args->d = args->c;
    args->ldd = args->ldc;
    size_t col = part.panel * gemm->nr, end = part.panel_end * gemm->nr;
    if (end > p->n) end = p->n;
    for (size_t i = part.row; i < part.row_end; i++)
        for (size_t j = col; j < end; j++) {
            const void *from = element(c, plan->type, i * p->c_row + j * p->c_col);
            float x;
            if (plan->type)
                gemm->widen(plan->type, from, 1, &x);
            else
                memcpy(&x, from, sizeof x);
            x *= state->beta;
            memcpy(args->c + (i - args->c_row) * args->ldc + (j - args->c_col), &x, sizeof x);
        }
}

/* B of the product: matrix `index` of b. */
static void set_b(const onx_call *call, const void *b, onx_gemm_args *args, onx_gemm_part part,
                  size_t index, float *own) {
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    if (plan->b == B_IN_PLACE || plan->b == B_TURNED) {
        args->b = element(b, plan->b_type, index * p->k * p->n);
        args->ldb = p->n;
    } else if (plan->b == B_PACK_TILE) {
        pack_panels(plan, b, index, part.panel, part.panel_end - part.panel, own);
        args->b = own;
        args->b_first = part.panel;
    } else {
        args->b_type = plan->b == B_PACKED ? plan->b_type : ONX_GEMM_F32;
        args->b = element(plan->b == B_PACKED ? call->packed : call->scratch, args->b_type,
                          index * plan->b_floats);
    }
}

/* What is read after the part's panels of a packed B, of which it is matrix `index`: those of the
 * part beside it, or weights of a later step. */
static const void *read_next(const onx_call *call, onx_gemm_part part, size_t index) {
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    if (plan->b != B_PACKED) return NULL;
    if (part.panel_end == onx_gemm_panels(gemm, p->n)) return call->ahead;
    size_t at = index * plan->b_floats + part.panel_end * gemm->nr * p->k;
    return element(call->packed, plan->b_type, at);
}

/* A of the product: matrix `index`. */
static void set_a(const onx_call *call, const void *a, onx_gemm_args *args, size_t index) {
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    const void *packed = (const char *)call->scratch + plan->a_at;
    args->a_packed = plan->a_count != 0;
    args->a_type = args->a_packed ? ONX_GEMM_F32 : plan->type;
    args->a = element(args->a_packed ? packed : a, args->a_type, index * p->m * p->k);
    args->a_row = p->a_row;
    args->a_col = p->a_col;
}

/* Y as floats for a while, in `own`: only the part. */
static void set_own_c(const simd_plan *plan, onx_gemm_args *args, onx_gemm_part part, float *own) {
    args->c = own;
    args->c_row = part.row;
    args->c_col = part.panel * gemm->nr;
    args->ldc = plan->tiling.panels * gemm->nr;
}
static void round_own_c(const simd_plan *plan, const onx_gemm_args *args, onx_gemm_part part,
                        void *y) {
    size_t n = args->n - args->c_col < args->ldc ? args->n - args->c_col : args->ldc;
    for (size_t i = part.row; i < part.row_end; i++)
        gemm->narrow(plan->type, args->c + (i - part.row) * args->ldc, n,
                     (uint16_t *)y + i * args->n + args->c_col);
}

static void run_tile(const onx_call *call, const operands *o, size_t index, void *scratch) {
    const onx_matmul_state *state = call->state;
    const simd_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    size_t tiles = plan->tiling.n_down * plan->tiling.n_across, batch = index / tiles, a, b;
    onx_gemm_part part = onx_gemm_tile_at(gemm, &plan->tiling, p->m, p->n, index % tiles);
    char *own = scratch, *y = (char *)o->y + batch * p->m * p->n * type_size(plan->type);
    onx_matmul_at(p, batch, &a, &b);
    onx_gemm_args args = {.m = p->m, .n = p->n, .k = p->k, .alpha = state->alpha, .ldc = p->n};
    args.c = (float *)(void *)y;
    if (plan->type) set_own_c(plan, &args, part, (float *)(void *)(own + plan->program_at));
    set_a(call, o->in[0], &args, a);
    set_b(call, o->in[1], &args, part, b, (float *)(void *)(own + plan->tile_at));
    args.ahead = read_next(call, part, b);
    if (p->has_c) add_c(call, o->in[2], &args, part);
    if (plan->bias) args.d = call->in[plan->bias]->data; /* ldd 0: the same for all rows */
    onx_tile_end e;
    onx_operand *inputs[ONX_TILE_INPUTS];
    if (plan->tile) {
        onx_matmul_program_inputs(call, inputs);
        e.row = batch * p->m;
        e.n = p->n;
        ONX_TIER(onx_tile_begin)(&e.work, &plan->program, inputs, own + plan->program_at);
        args.epilogue = ONX_TIER(onx_tile_finish);
        args.user = &e;
    }
    size_t end = part.panel_end * gemm->nr;
    if (plan->b == B_TURNED)
        ONX_TIER(onx_gemm_turned)(&args, part.panel * gemm->nr, end < p->n ? end : p->n);
    else
        gemm->run(&args, part, scratch);
    if (plan->type) round_own_c(plan, &args, part, y);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const simd_plan *plan = call->plan;
    size_t tile = index * plan->tiles;
    size_t end = plan->n_tiles - tile < plan->tiles ? plan->n_tiles : tile + plan->tiles;
    for (; tile < end; tile++) run_tile(call, user, tile, scratch);
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
    if (plan->b == B_PACK_ALL) {
        size_t groups = (onx_gemm_panels(gemm, plan->shape.n) - 1) / plan->pack_panels + 1;
        ONX_TRY(onx_call_parallel(call, plan->b_count * groups, pack_task, &o));
    }
    if (plan->a_count) {
        size_t tasks = (onx_gemm_groups(gemm, plan->shape.m) - 1) / plan->pack_groups + 1;
        ONX_TRY(onx_call_parallel(call, plan->a_count * tasks, pack_a_task, &o));
    }
    return onx_call_parallel(call, (plan->n_tiles - 1) / plan->tiles + 1, task, &o);
}

#define F32 ONX_T(F32)
#define SMALL (ONX_T(F16) | ONX_T(BF16))
#define MORE (ONX_T(F32) | ONX_T(BOOL))
#define INTERNAL "onx.internal"
#define ROW(op_, domain_, name_, a_, b_, more_, init_, bind_)                                      \
    {                                                                                              \
        .op = op_, .first = 1, .types = {a_, b_, more_, more_, more_, more_}, .name = name_,       \
        .packs = 2, .plan_bytes = sizeof(simd_plan), .domain = domain_, .init = init_,             \
        .pack_bytes = pack_bytes, .pack = pack, .bind = bind_, .run = run                          \
    }
#define ROW_F64(op_, name_, init_, bind_)                                                          \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(F64), ONX_T(F64), ONX_T(F64)}, .name = name_,       \
        .plan_bytes = sizeof(onx_matmul_plan), .init = init_, .bind = ONX_TIER(bind_),             \
        .run = ONX_TIER(onx_matmul_run_f64)                                                        \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_matmul);
onx_kernel_rows ONX_TIER(onx_kernels_matmul) = {
    ROW("MatMul", NULL, "matmul_f32", F32, F32, F32, onx_matmul_init, bind_matmul),
    ROW("Gemm", NULL, "gemm_f32", F32, F32, F32, onx_matmul_init_gemm, bind_gemm),
    ROW("MatMul", INTERNAL, "matmul_by_half", F32, SMALL, F32, onx_matmul_init, bind_matmul),
    ROW("Gemm", INTERNAL, "gemm_by_half", F32, SMALL, F32, onx_matmul_init_gemm, bind_gemm),
    ROW("MatMul", NULL, "matmul_half", SMALL, SMALL, SMALL, onx_matmul_init, bind_matmul),
    ROW("Gemm", NULL, "gemm_half", SMALL, SMALL, SMALL, onx_matmul_init_gemm, bind_gemm),
    ROW("MatMulTile", INTERNAL, "matmul_tile_f32", F32, F32 | SMALL, MORE, onx_matmul_init_tile,
        bind_tile),
    ROW_F64("MatMul", "matmul_f64", onx_matmul_init, onx_matmul_bind_f64),
    ROW_F64("Gemm", "gemm_f64", onx_matmul_init_gemm, onx_gemm_bind_f64),
    {0},
};
