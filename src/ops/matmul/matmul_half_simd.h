/* matmul_half_simd.h: MatMul, Gemm and MatMulTile whose B is a constant matrix of float16, over one
 * of the products of cpu/gemm_half.h, HALF_GEMM: their rows. B is packed as
 *
 *     [flags: 64 bytes, of which the first is 1 if it is not finite] [panels]
 */
#ifndef ONX_MATMUL_HALF_SIMD_H
#define ONX_MATMUL_HALF_SIMD_H

#include "cpu/gemm_half.h"
#include "ops/matmul/matmul_ref.h"

#include <stdatomic.h>

#undef ONX_ISA
#define ONX_ISA avx512 /* whose programs run here, too */
#include "ops/tile/tile_simd.h"

enum {
    PART_ROWS = 256,  /* of a task */
    TASK_STEPS = 256, /* of 32 rows and 32 columns, each of 32 products */
    PACK_BLOCKS = 4,  /* of a task */
};

typedef struct half_plan {
    onx_matmul_plan shape;
    size_t ranges, groups; /* tasks: of rows, of panels */
    size_t odd_at;         /* in the shared scratch, which begins with A; bytes */
    onx_tile_plan program;
} half_plan;

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

/* Sizes of a constant B; false: it is not one. */
static bool matrix_b(const onx_call *call, onx_matmul_plan *p) {
    const onx_matmul_state *state = call->state;
    const onx_operand *b = call->in[1];
    if (!b->constant || !b->data || b->rank != 2 || !b->count || state->turn_a) return false;
    size_t rows = (size_t)b->dims[0], cols = (size_t)b->dims[1];
    p->k = state->turn_b ? cols : rows;
    p->n = state->turn_b ? rows : cols;
    p->b_row = state->turn_b ? 1 : cols;
    p->b_col = state->turn_b ? cols : 1;
    return true;
}

/* Where sizes are so large that bytes cannot be counted, there is no room for B either. */
static size_t half_pack_bytes(const onx_call *call) {
    onx_matmul_plan p;
    size_t bytes;
    if (!matrix_b(call, &p) || p.k > SIZE_MAX / 128 ||
        !onx_mul_size(ceil_div(p.n, ONX_HALF_COLS), HALF_GEMM.panel_bytes(p.k), &bytes) ||
        !onx_add_size(bytes, ONX_ALIGN, &bytes))
        return 0;
    return bytes;
}

static bool is_finite(const onx_operand *b) {
    const char *data = b->data;
    uint16_t odd = 0;
    for (int64_t i = 0; i < b->count; i++) {
        uint16_t x;
        memcpy(&x, data + i * (int64_t)sizeof x, sizeof x);
        odd |= (x & 0x7c00) == 0x7c00;
    }
    return !odd;
}

static onx_status init_half(onx_call *call, onx_status (*init)(onx_call *call)) {
    ONX_TRY(init(call));
    bool fits = half_pack_bytes(call) && (!HALF_GEMM.finite || is_finite(call->in[1]));
    return fits ? ONX_OK : ONX_UNSUPPORTED;
}
static onx_status init_half_matmul(onx_call *call) {
    return init_half(call, onx_matmul_init);
}
static onx_status init_half_gemm(onx_call *call) {
    return init_half(call, onx_matmul_init_gemm);
}
static onx_status init_half_tile(onx_call *call) {
    return init_half(call, onx_matmul_init_tile);
}

typedef struct packing {
    onx_matmul_plan shape;
    char *to;
    atomic_bool odd;
} packing;

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    packing *k = user;
    const onx_matmul_plan *p = &k->shape;
    (void)scratch;
    if (!HALF_GEMM.pack_b(p->k, p->n, call->in[1]->data, p->b_row, p->b_col, index, k->to))
        atomic_store(&k->odd, true);
    return ONX_OK;
}

static onx_status half_pack(onx_call *call, void *out) {
    packing k = {.to = (char *)out + ONX_ALIGN};
    if (!matrix_b(call, &k.shape)) return ONX_OK;
    memset(out, 0, ONX_ALIGN);
    ONX_TRY(onx_call_parallel(call, ceil_div(k.shape.n, ONX_HALF_COLS), pack_task, &k));
    *(unsigned char *)out = atomic_load(&k.odd);
    return ONX_OK;
}

/* Scratch: A in an even number of blocks, and a byte for each row. */
static onx_status bind_half(onx_call *call) {
    const onx_matmul_state *state = call->state;
    half_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    if (!call->n_out || !call->out[0] || !call->out[0]->count) return ONX_OK; /* nothing will run */
    if (p->batches != 1) return onx_call_fail(call, ONX_LIMIT, "A has too many rows");
    size_t tiles = ceil_div(p->m, ONX_HALF_PART), panels = ceil_div(p->n, ONX_HALF_COLS);
    plan->ranges = ceil_div(p->m, PART_ROWS);
    double each = (double)ceil_div(tiles, plan->ranges) * (double)ceil_div(p->k, ONX_HALF_DEPTH);
    plan->groups = ceil_div(panels, 1 + (size_t)(TASK_STEPS / each));
    if (!onx_mul_size(2 * tiles, HALF_GEMM.block_bytes(p->k), &plan->odd_at) ||
        !onx_add_size(plan->odd_at, p->m, &call->scratch_bytes))
        return onx_fail_nomem(call->diag);
    call->scratch_each = HALF_GEMM.scratch(PART_ROWS) + (state->tile ? state->tile->scratch : 0);
    return ONX_OK;
}
static onx_status bind_half_matmul(onx_call *call) {
    ONX_TRY(onx_matmul_bind(call, &((half_plan *)call->plan)->shape));
    return bind_half(call);
}
static onx_status bind_half_gemm(onx_call *call) {
    ONX_TRY(onx_matmul_bind_gemm(call, &((half_plan *)call->plan)->shape));
    return bind_half(call);
}
static onx_status bind_half_tile(onx_call *call) {
    ONX_TRY(bind_half_matmul(call));
    return onx_matmul_bind_program(call, &((half_plan *)call->plan)->program);
}

static onx_status pack_a_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_half_args *args = user;
    size_t end = ceil_div(args->m, ONX_HALF_ROWS);
    (void)call, (void)scratch;
    for (size_t i = index * PACK_BLOCKS; i < end && i < (index + 1) * PACK_BLOCKS; i++)
        HALF_GEMM.pack_a(args, i);
    return ONX_OK;
}

static onx_status product_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_matmul_state *state = call->state;
    const half_plan *plan = call->plan;
    onx_half_args args = *(const onx_half_args *)user;
    size_t range = index / plan->groups, group = index % plan->groups;
    size_t tiles = ceil_div(args.m, ONX_HALF_PART), panels = ceil_div(args.n, ONX_HALF_COLS);
    size_t row_end = onx_part_at(tiles, plan->ranges, range + 1) * ONX_HALF_PART;
    onx_gemm_part part = {.row = onx_part_at(tiles, plan->ranges, range) * ONX_HALF_PART,
                          .row_end = row_end < args.m ? row_end : args.m,
                          .panel = onx_part_at(panels, plan->groups, group),
                          .panel_end = onx_part_at(panels, plan->groups, group + 1)};
    onx_tile_end e = {.row = 0, .n = args.n};
    onx_operand *inputs[ONX_TILE_INPUTS];
    if (state->tile) {
        onx_matmul_program_inputs(call, inputs);
        onx_tile_begin_avx512(&e.work, &plan->program, inputs,
                              (char *)scratch + HALF_GEMM.scratch(PART_ROWS));
        args.epilogue = onx_tile_finish_avx512;
        args.user = &e;
    }
    HALF_GEMM.run(&args, part, scratch);
    return ONX_OK;
}

static onx_status run_half(onx_call *call) {
    const onx_matmul_state *state = call->state;
    const half_plan *plan = call->plan;
    const onx_matmul_plan *p = &plan->shape;
    if (!call->n_out || !call->out[0] || !call->out[0]->count) return ONX_OK;
    onx_half_args args = {.m = p->m, .n = p->n, .k = p->k, .a_row = p->a_row, .ldc = p->n};
    args.a = call->in[0]->data;
    args.packed_a = call->scratch;
    args.odd = (unsigned char *)call->scratch + plan->odd_at;
    args.b = (const char *)call->packed + ONX_ALIGN;
    args.b_odd = *(const unsigned char *)call->packed;
    args.c = call->out[0]->data;
    args.alpha = state->alpha;
    if (p->has_c) {
        args.beta = state->beta;
        args.d = call->in[2]->data;
        args.ldd = p->c_row;
        args.d_col = p->c_col;
    }
    size_t blocks = ceil_div(p->m, ONX_HALF_ROWS);
    ONX_TRY(onx_call_parallel(call, ceil_div(blocks, PACK_BLOCKS), pack_a_task, &args));
    return onx_call_parallel(call, plan->ranges * plan->groups, product_task, &args);
}

#define HALF_ROW(op_, name_, more_, kind_)                                                         \
    {                                                                                              \
        .op = op_, .first = 1, .types = {ONX_T(F32), ONX_T(F16), more_, more_, more_, more_},      \
        .name = name_, .packs = 2, .plan_bytes = sizeof(half_plan), .domain = "onx.internal",      \
        .init = init_half_##kind_, .pack_bytes = half_pack_bytes, .pack = half_pack,               \
        .bind = bind_half_##kind_, .run = run_half                                                 \
    }
#define HALF_ROWS                                                                                  \
    HALF_ROW("MatMul", "matmul_by_f16", ONX_T(F32), matmul),                                       \
        HALF_ROW("Gemm", "gemm_by_f16", ONX_T(F32), gemm),                                         \
        HALF_ROW("MatMulTile", "matmul_tile_by_f16", ONX_T(F32) | ONX_T(BOOL), tile)

#endif
