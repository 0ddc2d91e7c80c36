/* tile_ref.c: fused elementwise programs: registers, operands against the shape of the result, and
 * the plain kernel, which takes one element after the other. Each instruction is computed in double
 * precision and rounded to float, so results are within half a unit in the last place of what the
 * instructions mean, up to the error of C's functions. */
#include "ops/tile/tile_ref.h"

#include <math.h>

/* ─ The instructions ─────────────────────────────────────────────────────────────────────────── */

static double ref_set(double x) {
    return x;
}
static double ref_select(int m, double a, double b) {
    return m ? a : b;
}
static double ref_max(double a, double b) {
    return a > b ? a : b;
}
static double ref_min(double a, double b) {
    return a < b ? a : b;
}
static double ref_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
static double ref_softplus(double x) {
    return ref_max(0, x) + log1p(exp(-fabs(x)));
}
static double ref_gelu(double x) {
    return 0.5 * x * (1 + erf(x * 0.70710678118654752));
}
#define ref_abs fabs
#define ref_sqrt sqrt
#define ref_floor floor
#define ref_ceil ceil
#define ref_round nearbyint
#define ref_exp exp
#define ref_expm1 expm1
#define ref_log log
#define ref_erf erf
#define ref_tanh tanh
#define ref_sin sin
#define ref_cos cos
#define ref_tan tan
#define ref_sinh sinh
#define ref_cosh cosh
#define ref_asin asin
#define ref_acos acos
#define ref_atan atan
#define ref_asinh asinh
#define ref_acosh acosh
#define ref_atanh atanh
#define ref_pow pow

#define F(name) ref_##name
#define K(x) ((double)(x))
#define B(m) ((m) ? 1.0 : 0.0)
#define FUNCTION(name, arity, is_bool, expression)                                                 \
    static double eval_##name(double a, double b, double c) {                                      \
        (void)b, (void)c;                                                                          \
        return expression;                                                                         \
    }
ONX_TILE_OPS(FUNCTION)

onx_tile_fn *onx_tile_function(onx_tile_op op) {
    static onx_tile_fn *const functions[] = {
#define ENTRY(name, arity, is_bool, expression) eval_##name,
        ONX_TILE_OPS(ENTRY)};
    return functions[op];
}

/* ─ Registers ────────────────────────────────────────────────────────────────────────────────── */

static uint8_t slot_of(const onx_tile_program *p, const uint8_t *registers, uint8_t operand) {
    if (operand < ONX_TILE_CONST) return operand;
    if (operand < ONX_TILE_VALUE) return (uint8_t)(p->n_in + operand - ONX_TILE_CONST);
    return (uint8_t)(p->n_in + p->n_consts + registers[operand - ONX_TILE_VALUE]);
}

#define TILE_TYPES (ONX_T(F32) | ONX_T(BOOL) | ONX_T(F16) | ONX_T(BF16))

/* A value keeps its register up to the instruction that reads it last, which may write its own
 * result there. Operands that an instruction does not have repeat its first. */
static void assign_registers(onx_tile *tile) {
    const onx_tile_program *p = &tile->program;
    size_t last_use[ONX_TILE_CODE];
    uint8_t registers[ONX_TILE_CODE];
    bool taken[ONX_TILE_CODE] = {false};
    for (size_t i = 0; i < p->n_code; i++) {
        last_use[i] = i;
        for (size_t k = 0; k < onx_tile_arity(p->code[i].op); k++)
            if (p->code[i].args[k] >= ONX_TILE_VALUE)
                last_use[p->code[i].args[k] - ONX_TILE_VALUE] = i;
    }
    for (size_t i = 0; i < p->n_code; i++) {
        onx_tile_step *step = &tile->steps[i];
        step->op = p->code[i].op;
        for (size_t k = 0; k < 3; k++)
            step->from[k] =
                slot_of(p, registers, p->code[i].args[k < onx_tile_arity(step->op) ? k : 0]);
        for (size_t j = 0; j < i; j++)
            if (last_use[j] == i) taken[registers[j]] = false;
        while (taken[step->to]) step->to++;
        taken[step->to] = last_use[i] > i;
        registers[i] = step->to;
        if (step->to >= tile->n_registers) tile->n_registers = (size_t)step->to + 1;
    }
}

onx_status onx_tile_new(onx_call *call, const onx_tile_program *program, const onx_tile **out) {
    onx_tile *tile = onx_call_state(call, sizeof *tile);
    if (!tile) return onx_fail_nomem(call->diag);
    tile->program = *program;
    tile->types = TILE_TYPES;
    assign_registers(tile);
    tile->scratch = ((program->n_in + tile->n_registers) * ONX_TILE_SPAN +
                     program->n_consts * (ONX_ALIGN / sizeof(float))) *
                    sizeof(float);
    *out = tile;
    return ONX_OK;
}

/* ─ Shapes ───────────────────────────────────────────────────────────────────────────────────── */

/* The sizes of an operand in the order of memory, aligned at the end to `rank` of them, with 1 in
 * front. Blocks of channels are a dimension of their own: [N][C/b][H][W][b]. A plain operand
 * against a blocked result must have no sizes but N and C, and whole blocks: then its elements lie
 * in that order too. False when it does not fit. */
static bool view_dims(const onx_operand *operand, unsigned block, size_t rank, int64_t *dims) {
    size_t plain = block ? rank - 1 : rank;
    for (size_t d = 0; d < rank; d++) dims[d] = 1;
    if (operand->count == 1 && !operand->layout) return true; /* one number, of any rank */
    if (operand->rank > plain || (operand->layout && operand->layout != block)) return false;
    size_t front = plain - operand->rank;
    for (size_t d = 0; d < plain; d++) dims[d] = d < front ? 1 : operand->dims[d - front];
    if (!block) return true;
    dims[4] = dims[1] == 1 && !operand->layout ? 1 : block;
    bool whole = dims[1] % dims[4] == 0;
    dims[1] = dims[1] / dims[4] + !whole;
    return operand->layout || (whole && dims[2] == 1 && dims[3] == 1);
}

/* Strides in elements, 0 where one element serves all; false when it does not broadcast. */
static bool view_strides(size_t rank, const int64_t *dims, const int64_t *result,
                         int64_t *strides) {
    int64_t stride = 1;
    for (size_t d = rank; d-- > 0;) {
        if (dims[d] != 1 && dims[d] != result[d]) return false;
        strides[d] = dims[d] == 1 ? 0 : stride;
        if (!onx_mul_i64(stride, dims[d], &stride)) stride = 0; /* of an empty result: not used */
    }
    return true;
}

/* May sizes d and d+1 be one, for every operand? */
static bool merges(const onx_tile_plan *plan, size_t d) {
    for (size_t i = 0; i < plan->tile->program.n_in; i++) {
        const int64_t *strides = plan->views[i].strides;
        if (strides[d] != strides[d + 1] * plan->dims[d + 1]) return false;
    }
    return true;
}

static void drop_dim(onx_tile_plan *plan, size_t d) {
    size_t tail = (plan->rank - d - 1) * sizeof *plan->dims;
    memmove(&plan->dims[d], &plan->dims[d + 1], tail);
    for (size_t i = 0; i < plan->tile->program.n_in; i++) {
        int64_t *strides = plan->views[i].strides;
        memmove(&strides[d], &strides[d + 1], tail);
    }
    plan->rank--;
}

static void collapse(onx_tile_plan *plan) {
    for (size_t d = plan->rank; d-- > 0;)
        if (plan->dims[d] == 1) drop_dim(plan, d);
    for (size_t d = plan->rank; d-- > 0;) {
        if (d + 1 >= plan->rank || !merges(plan, d)) continue;
        plan->dims[d + 1] *= plan->dims[d];
        drop_dim(plan, d);
    }
    plan->inner = plan->rank ? plan->dims[plan->rank - 1] : 1;
}

static uint8_t mode_of(const onx_tile_plan *plan, const onx_tile_view *view) {
    int64_t stride = 1;
    bool full = true, scalar = true;
    for (size_t d = plan->rank; d-- > 0;) {
        full = full && view->strides[d] == stride;
        scalar = scalar && view->strides[d] == 0;
        stride *= plan->dims[d];
    }
    return scalar ? ONX_TILE_SCALAR : full ? ONX_TILE_FULL : ONX_TILE_SPREAD;
}

static onx_status bind_view(const onx_call *call, onx_tile_plan *plan, const onx_operand *result,
                            size_t index, const onx_operand *operand) {
    int64_t dims[ONX_RANK_MAX + 1];
    bool lanes = !operand->layout || operand->dims[1] == result->dims[1];
    if (!(plan->tile->types >> operand->dtype & 1))
        return onx_call_fail(call, ONX_UNSUPPORTED,
                             "operand %zu is %s: a tile program reads floats and bool", index,
                             onx_dtype_name((onx_dtype)operand->dtype));
    if (!lanes || !view_dims(operand, result->layout, plan->rank, dims))
        return onx_call_fail(call, ONX_UNSUPPORTED,
                             "rank or layout of operand %zu do not fit those of the result", index);
    plan->views[index].dtype = operand->dtype;
    if (view_strides(plan->rank, dims, plan->dims, plan->views[index].strides)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "operand %zu does not broadcast to the shape of the result", index);
}

onx_status onx_tile_bind(const onx_call *call, const onx_tile *tile, const onx_operand *result,
                         onx_operand *const *operands, onx_tile_plan *plan) {
    unsigned block = result->layout;
    *plan = (onx_tile_plan){.tile = tile, .dtype = result->dtype, .count = result->count};
    if (block && result->count)
        plan->count = (int64_t)(result->bytes / (onx_dtype_bits((onx_dtype)result->dtype) / 8));
    plan->rank = block ? 5 : result->rank;
    if ((block && result->rank != 4) || !view_dims(result, block, plan->rank, plan->dims))
        return onx_call_fail(call, ONX_UNSUPPORTED, "the result is not of a blocked shape");
    for (size_t i = 0; i < tile->program.n_in; i++)
        ONX_TRY(bind_view(call, plan, result, i, operands[i] ? operands[i] : result));
    if (plan->count == 0) return ONX_OK;
    collapse(plan);
    for (size_t i = 0; i < tile->program.n_in; i++)
        plan->views[i].mode = operands[i] ? mode_of(plan, &plan->views[i]) : ONX_TILE_FULL;
    return ONX_OK;
}

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

/* The program of a Tile node, or the one instruction (or few) that another node is. */
static onx_status program_of(const onx_call *call, onx_tile_program *program, uint32_t *scalars) {
    if (call->op->domain) return onx_tile_get(call->node, call->n_in, program, call->diag);
    uint8_t operands[ONX_TILE_INPUTS], value;
    const onx_tile_form *form = onx_tile_form_of(call->op, call->node);
    *program = (onx_tile_program){.n_in = call->n_in};
    for (size_t i = 0; i < call->n_in && i < ONX_TILE_INPUTS; i++)
        operands[i] = call->in[i] ? (uint8_t)i : ONX_TILE_ABSENT;
    if (!form || call->n_in > ONX_TILE_INPUTS ||
        !onx_tile_add(program, form, call->op, call->node, call->n_in, operands, &value))
        return onx_call_fail(call, ONX_UNSUPPORTED, "%s is not a tile program here",
                             call->op->name);
    *scalars = form->scalars;
    return ONX_OK;
}

onx_status onx_tile_init(onx_call *call) {
    onx_tile_program program;
    const onx_tile *tile;
    uint32_t scalars = 0;
    ONX_TRY(program_of(call, &program, &scalars));
    ONX_TRY(onx_tile_new(call, &program, &tile));
    ((onx_tile *)call->state)->scalars = scalars;
    return ONX_OK;
}

onx_status onx_tile_init_float(onx_call *call) {
    ONX_TRY(onx_tile_init(call));
    const onx_tile *tile = call->state;
    if (onx_tile_dtype(&tile->program) == ONX_DTYPE_F32) return ONX_OK;
    return onx_call_fail(call, ONX_UNSUPPORTED, "the program gives bool");
}

static onx_dtype result_type(const onx_call *call, const onx_tile *tile) {
    if (tile->to) return (onx_dtype)tile->to;
    onx_dtype dtype = onx_tile_dtype(&tile->program);
    for (size_t i = 0; i < call->n_in && dtype == ONX_DTYPE_F32; i++)
        if (call->in[i] && call->in[i]->dtype != ONX_DTYPE_BOOL)
            return (onx_dtype)call->in[i]->dtype;
    return dtype;
}

onx_status onx_tile_bind_call(onx_call *call) {
    const onx_tile *tile = call->state;
    for (size_t i = 0; i < call->n_in; i++)
        if ((tile->scalars >> i & 1) && call->in[i] && call->in[i]->count != 1)
            return onx_call_fail(call, ONX_INVALID, "input %zu must have one element, not %lld", i,
                                 (long long)call->in[i]->count);
    ONX_TRY(tile->scalars ? onx_bind_same(call)
                          : onx_bind_broadcast(call, result_type(call, tile)));
    call->scratch_each = tile->scratch;
    return onx_tile_bind(call, tile, call->out[0], call->in, call->plan);
}

/* ─ The plain kernel ─────────────────────────────────────────────────────────────────────────── */

/* Element `at` of the result, of operand `index`. */
static float element(const onx_tile_plan *plan, const onx_operand *operand, size_t index,
                     int64_t at) {
    const onx_tile_view *view = &plan->views[index];
    int64_t offset = 0;
    for (size_t d = plan->rank; d-- > 0; at /= plan->dims[d])
        offset += at % plan->dims[d] * view->strides[d];
    float value = 0;
    size_t size = onx_dtype_bits((onx_dtype)view->dtype) / 8;
    (void)onx_dtype_convert((onx_dtype)view->dtype,
                            (const char *)operand->data + (size_t)offset * size, ONX_DTYPE_F32,
                            &value, 1, false);
    return value;
}

static float evaluate(const onx_tile *tile, float *slots) {
    const onx_tile_program *p = &tile->program;
    float *registers = slots + p->n_in + p->n_consts, value = 0;
    for (size_t i = 0; i < p->n_code; i++) {
        const onx_tile_step *step = &tile->steps[i];
        value = (float)onx_tile_function(step->op)((double)slots[step->from[0]],
                                                   (double)slots[step->from[1]],
                                                   (double)slots[step->from[2]]);
        registers[step->to] = value;
    }
    return value;
}

float onx_tile_at(const onx_tile_plan *plan, onx_operand *const *operands, int64_t at,
                  float block) {
    const onx_tile_program *p = &plan->tile->program;
    float slots[ONX_TILE_INPUTS + ONX_TILE_CONSTS + ONX_TILE_CODE];
    for (size_t i = 0; i < p->n_in; i++)
        slots[i] = operands[i] ? element(plan, operands[i], i, at) : block;
    for (size_t i = 0; i < p->n_consts; i++) slots[p->n_in + i] = p->consts[i];
    return evaluate(plan->tile, slots);
}

static onx_status run_tile(onx_call *call) {
    const onx_tile_plan *plan = call->plan;
    char *out = call->out[0]->data;
    for (int64_t at = 0; at < plan->count; at++) {
        if (at % ONX_TILE_TASK == 0) ONX_TRY(onx_call_check(call));
        float value = onx_tile_at(plan, call->in, at, 0);
        if (plan->dtype == ONX_DTYPE_BOOL)
            out[at] = value != 0;
        else
            memcpy(out + (size_t)at * sizeof value, &value, sizeof value);
    }
    return ONX_OK;
}

#define TYPES (ONX_T(F32) | ONX_T(BOOL))
#define ROW(name_, init_, overwrite_)                                                              \
    {                                                                                              \
        .op = "Tile", .first = 1, .types = {TYPES, TYPES, TYPES, TYPES, TYPES, TYPES},             \
        .name = name_, .flags = ONX_KERNEL_LAYOUTS, .overwrite = overwrite_,                       \
        .plan_bytes = sizeof(onx_tile_plan), .domain = "onx.internal", .init = init_,              \
        .bind = onx_tile_bind_call, .run = run_tile                                                \
    }

extern onx_kernel_rows onx_kernels_tile_ref;
onx_kernel_rows onx_kernels_tile_ref = {
    ROW("tile_f32", onx_tile_init_float, 0xff),
    ROW("tile_bool", onx_tile_init, 0),
    {0},
};
