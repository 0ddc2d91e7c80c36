/* matmul_shape_ref.c: attributes and sizes of MatMul and Gemm, for the kernels of every tier. */
#include "ops/matmul/matmul_ref.h"

onx_status onx_matmul_init(onx_call *call) {
    onx_matmul_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->alpha = 1;
    return ONX_OK;
}

onx_status onx_matmul_init_gemm(onx_call *call) {
    ONX_TRY(onx_matmul_init(call));
    onx_matmul_state *state = call->state;
    state->alpha = onx_call_float(call, "alpha");
    state->beta = onx_call_float(call, "beta");
    state->turn_a = onx_call_int(call, "transA") != 0;
    state->turn_b = onx_call_int(call, "transB") != 0;
    call->pack_format = state->turn_b;
    return ONX_OK;
}

/* The operand that the first instruction adds to input 0, if no other one reads that; else 0. */
static uint8_t first_added(const onx_tile_program *p) {
    const onx_tile_ins *first = p->code;
    uint8_t other = (uint8_t)(first->args[0] + first->args[1]);
    if (!p->n_code || first->op != ONX_TILE_ADD || (first->args[0] && first->args[1])) return 0;
    for (size_t i = 1; i < p->n_code; i++)
        for (size_t k = 0; k < onx_tile_arity((onx_tile_op)p->code[i].op); k++)
            if (p->code[i].args[k] == 0) return 0;
    return other < p->n_in ? other : 0;
}

/* The program without its first instruction, whose value is input 0. */
static void drop_first(onx_tile_program *p) {
    p->n_code--;
    for (size_t i = 0; i < p->n_code; i++) {
        p->code[i] = p->code[i + 1];
        for (size_t k = 0; k < 3; k++) {
            uint8_t *arg = &p->code[i].args[k];
            if (*arg >= ONX_TILE_VALUE) *arg = *arg == ONX_TILE_VALUE ? 0 : (uint8_t)(*arg - 1);
        }
    }
}

onx_status onx_matmul_init_tile(onx_call *call) {
    ONX_TRY(onx_matmul_init(call));
    onx_matmul_state *state = call->state;
    onx_tile_program program;
    ONX_TRY(onx_tile_get(call->node, call->n_in - 1, &program, call->diag));
    if (onx_tile_dtype(&program) != ONX_DTYPE_F32)
        return onx_call_fail(call, ONX_UNSUPPORTED, "the program of MatMulTile must give floats");
    ONX_TRY(onx_tile_new(call, &program, &state->tile));
    uint8_t added = first_added(&program);
    if (!added) return ONX_OK;
    state->bias = added + 1u;
    drop_first(&program);
    return program.n_code ? onx_tile_new(call, &program, &state->rest) : ONX_OK;
}

/* The sizes before the last two, from the right. */
static size_t batch_dim(const onx_operand *x, size_t rank, size_t i) {
    size_t own = x->rank > 2 ? x->rank - 2u : 0;
    return i + own < rank ? 1 : (size_t)x->dims[i + own - rank];
}

static onx_status bind_batch(const onx_call *call, onx_matmul_plan *p) {
    const onx_operand *a = call->in[0], *b = call->in[1];
    size_t most = a->rank > b->rank ? a->rank : b->rank;
    size_t a_step = 1, b_step = 1;
    p->rank = most > 2 ? most - 2 : 0;
    p->batches = 1;
    for (size_t i = p->rank; i-- > 0;) {
        size_t x = batch_dim(a, p->rank, i), y = batch_dim(b, p->rank, i);
        if (x != y && x != 1 && y != 1)
            return onx_call_fail(call, ONX_INVALID,
                                 "MatMul needs operands whose sizes before the last two broadcast:"
                                 " %zu and %zu do not",
                                 x, y);
        p->dims[i] = x == 1 ? y : x;
        p->a_steps[i] = x == 1 ? 0 : a_step;
        p->b_steps[i] = y == 1 ? 0 : b_step;
        if (!onx_mul_size(p->batches, p->dims[i], &p->batches) ||
            !onx_mul_size(a_step, x, &a_step) || !onx_mul_size(b_step, y, &b_step))
            return onx_call_fail(call, ONX_INVALID, "the sizes of the operands are too large");
    }
    return ONX_OK;
}

/* With one B for all of A, A is one matrix: rows that lie one after the other. */
static void join_batches(onx_matmul_plan *p) {
    size_t rows, steps = 1;
    for (size_t i = p->rank; i-- > 0; steps *= p->dims[i])
        if (p->b_steps[i] || (p->dims[i] != 1 && p->a_steps[i] != steps)) return;
    if (!onx_mul_size(p->m, p->batches, &rows)) return;
    p->m = rows;
    p->batches = 1;
    p->rank = 0;
}

onx_status onx_matmul_bind(onx_call *call, onx_matmul_plan *p) {
    const onx_operand *a = call->in[0], *b = call->in[1];
    if (a->rank == 0 || b->rank == 0)
        return onx_call_fail(call, ONX_INVALID, "MatMul needs operands of at least one dimension");
    int64_t a_k = a->dims[a->rank - 1], b_k = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (a_k != b_k)
        return onx_call_fail(call, ONX_INVALID,
                             "MatMul needs as many columns in A as there are rows in B, not %lld"
                             " and %lld",
                             (long long)a_k, (long long)b_k);
    *p = (onx_matmul_plan){.k = (size_t)a_k, .m = 1, .n = 1};
    ONX_TRY(bind_batch(call, p));
    int64_t dims[ONX_RANK_MAX];
    size_t rank = p->rank;
    for (size_t i = 0; i < rank; i++) dims[i] = (int64_t)p->dims[i];
    if (a->rank > 1) p->m = (size_t)(dims[rank++] = a->dims[a->rank - 2]);
    if (b->rank > 1) p->n = (size_t)(dims[rank++] = b->dims[b->rank - 1]);
    p->a_row = p->k;
    p->b_row = p->n;
    p->a_col = p->b_col = 1;
    join_batches(p);
    return onx_call_shape(call, 0, (onx_dtype)a->dtype, rank, dims);
}

static onx_status bind_c(const onx_call *call, onx_matmul_plan *p) {
    const onx_matmul_state *state = call->state;
    const onx_operand *c = onx_call_in(call, 2);
    if (!c) return ONX_OK;
    int64_t rows = c->rank > 1 ? c->dims[c->rank - 2] : 1;
    int64_t cols = c->rank > 0 ? c->dims[c->rank - 1] : 1;
    if (c->rank > 2 || (rows != 1 && (size_t)rows != p->m) || (cols != 1 && (size_t)cols != p->n))
        return onx_call_fail(call, ONX_INVALID,
                             "Gemm needs a C that broadcasts to [%zu,%zu], the product of A and B",
                             p->m, p->n);
    p->has_c = state->beta != 0;
    p->c_row = rows == 1 ? 0 : (size_t)cols;
    p->c_col = cols == 1 ? 0 : 1;
    return ONX_OK;
}

onx_status onx_matmul_bind_gemm(onx_call *call, onx_matmul_plan *p) {
    const onx_matmul_state *state = call->state;
    const onx_operand *a = call->in[0], *b = call->in[1];
    if (a->rank != 2 || b->rank != 2)
        return onx_call_fail(call, ONX_INVALID, "Gemm needs matrices, not %d and %d dimensions",
                             a->rank, b->rank);
    int64_t dims[2] = {a->dims[state->turn_a], b->dims[!state->turn_b]};
    if (a->dims[!state->turn_a] != b->dims[state->turn_b])
        return onx_call_fail(call, ONX_INVALID,
                             "Gemm needs as many columns in A as there are rows in B, after transA"
                             " and transB, not %lld and %lld",
                             (long long)a->dims[!state->turn_a], (long long)b->dims[state->turn_b]);
    size_t m = (size_t)dims[0], n = (size_t)dims[1], k = (size_t)b->dims[state->turn_b];
    *p = (onx_matmul_plan){.m = m, .k = k, .n = n, .batches = 1};
    p->a_row = state->turn_a ? 1 : k;
    p->a_col = state->turn_a ? m : 1;
    p->b_row = state->turn_b ? 1 : n;
    p->b_col = state->turn_b ? k : 1;
    ONX_TRY(bind_c(call, p));
    return onx_call_shape(call, 0, (onx_dtype)a->dtype, 2, dims);
}

void onx_matmul_program_inputs(const onx_call *call, onx_operand *inputs[ONX_TILE_INPUTS]) {
    for (size_t i = 0; i < ONX_TILE_INPUTS; i++)
        inputs[i] = i > 0 && i + 1 < call->n_in ? call->in[i + 1] : NULL;
}

bool onx_matmul_adds_row(const onx_call *call, const onx_matmul_plan *p) {
    const onx_matmul_state *state = call->state;
    const onx_operand *bias = state->bias ? call->in[state->bias] : NULL;
    return bias && bias->dtype == ONX_DTYPE_F32 && bias->rank > 0 &&
           bias->rank <= call->out[0]->rank && (size_t)bias->count == p->n &&
           (size_t)bias->dims[bias->rank - 1] == p->n;
}

onx_status onx_matmul_bind_program(onx_call *call, onx_tile_plan *program) {
    const onx_matmul_state *state = call->state;
    onx_operand *inputs[ONX_TILE_INPUTS];
    if (!call->n_out || !call->out[0]) return ONX_OK;
    onx_matmul_program_inputs(call, inputs);
    return onx_tile_bind(call, state->tile, call->out[0], inputs, program);
}

void onx_matmul_at(const onx_matmul_plan *p, size_t batch, size_t *a, size_t *b) {
    *a = *b = 0;
    for (size_t i = p->rank; i-- > 0; batch /= p->dims[i]) {
        *a += batch % p->dims[i] * p->a_steps[i];
        *b += batch % p->dims[i] * p->b_steps[i];
    }
}
