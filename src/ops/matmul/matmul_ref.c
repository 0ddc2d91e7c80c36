/* matmul_ref.c: MatMul and Gemm: plain loops for every type.
 *
 * Sums are made in double; of integers modulo 2^64, of which the type keeps the low bits. The small
 * floats are widened to float first, also where B alone has them. Each task makes some rows of Y.
 */
#include "ops/matmul/matmul_ref.h"
#include "ops/matmul/det_ref.h"

enum {
    COLUMNS = 64, /* of a row, summed at once */
    TASK_PRODUCTS = 1 << 18,
};

/* One row of Y: pointers to the row of A, to B, to the row of C (or NULL) and of Y. */
typedef struct row_args {
    const onx_matmul_plan *plan;
    const onx_matmul_state *state;
    const char *a, *b, *c;
    char *y;
} row_args;
typedef void row_fn(const row_args *r);

static double scaled(const row_args *r, double sum, double c) {
    return (double)r->state->alpha * sum + (r->c ? (double)r->state->beta * c : 0);
}

/* What becomes of a sum and an element of C. */
#define FLOAT_RESULT(T, dtype_)                                                                    \
    T y = (T)scaled(r, sums[j], (double)c);                                                        \
    memcpy(to, &y, sizeof y)
#define INT_RESULT(T, dtype_)                                                                      \
    if (r->state->alpha == 1 && (!r->c || r->state->beta == 1)) {                                  \
        T y = (T)(sums[j] + (uint64_t)c);                                                          \
        memcpy(to, &y, sizeof y);                                                                  \
    } else {                                                                                       \
        double y = scaled(r, (double)(T)sums[j], (double)c);                                       \
        (void)onx_dtype_convert(ONX_DTYPE_F64, &y, dtype_, to, 1, false);                          \
    }

#define DEFINE(name, T, SUM, RESULT, dtype_)                                                       \
    static T load_##name(const char *p, size_t at) {                                               \
        T x;                                                                                       \
        memcpy(&x, p + at * sizeof x, sizeof x);                                                   \
        return x;                                                                                  \
    }                                                                                              \
    static void row_##name(const row_args *r) {                                                    \
        const onx_matmul_plan *p = r->plan;                                                        \
        for (size_t at = 0; at < p->n; at += COLUMNS) {                                            \
            size_t width = p->n - at < COLUMNS ? p->n - at : COLUMNS;                              \
            SUM sums[COLUMNS] = {0};                                                               \
            for (size_t l = 0; l < p->k; l++) {                                                    \
                SUM x = (SUM)load_##name(r->a, l * p->a_col);                                      \
                const char *b = r->b + (l * p->b_row + at * p->b_col) * sizeof(T);                 \
                for (size_t j = 0; j < width; j++)                                                 \
                    sums[j] += x * (SUM)load_##name(b, j * p->b_col);                              \
            }                                                                                      \
            for (size_t j = 0; j < width; j++) {                                                   \
                T c = r->c ? load_##name(r->c, (at + j) * p->c_col) : 0;                           \
                char *to = r->y + (at + j) * sizeof(T);                                            \
                RESULT(T, dtype_);                                                                 \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE(f32, float, double, FLOAT_RESULT, ONX_DTYPE_F32)
DEFINE(f64, double, double, FLOAT_RESULT, ONX_DTYPE_F64)
DEFINE(i32, int32_t, uint64_t, INT_RESULT, ONX_DTYPE_I32)
DEFINE(i64, int64_t, uint64_t, INT_RESULT, ONX_DTYPE_I64)
DEFINE(u32, uint32_t, uint64_t, INT_RESULT, ONX_DTYPE_U32)
DEFINE(u64, uint64_t, uint64_t, INT_RESULT, ONX_DTYPE_U64)

static const struct kind {
    onx_dtype dtype;
    size_t size; /* of an element as the loops see it */
    row_fn *row;
    bool widen; /* to float */
} kinds[] = {
    {ONX_DTYPE_F32, 4, row_f32, false}, {ONX_DTYPE_F64, 8, row_f64, false},
    {ONX_DTYPE_F16, 4, row_f32, true},  {ONX_DTYPE_BF16, 4, row_f32, true},
    {ONX_DTYPE_I32, 4, row_i32, false}, {ONX_DTYPE_I64, 8, row_i64, false},
    {ONX_DTYPE_U32, 4, row_u32, false}, {ONX_DTYPE_U64, 8, row_u64, false},
};
static const struct kind *kind_of(const onx_call *call) { /* the row's types allow no other */
    const struct kind *kind = kinds;
    while (kind->dtype != call->in[1]->dtype) kind++;
    return kind;
}

/* A, B, C and Y as the loops see them. */
typedef struct job {
    const struct kind *kind;
    const char *data[3];
    char *y;
    size_t rows; /* of a task */
} job;

static onx_status run_rows(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    const job *j = user;
    const onx_matmul_plan *p = call->plan;
    size_t row = index * j->rows, all = p->batches * p->m, size = j->kind->size;
    size_t end = all - row < j->rows ? all : row + j->rows;
    for (; row < end; row++) {
        size_t a, b, i = row % p->m;
        onx_matmul_at(p, row / p->m, &a, &b);
        row_args r = {.plan = p, .state = call->state};
        r.a = j->data[0] + (a * p->m * p->k + i * p->a_row) * size;
        r.b = j->data[1] + b * p->k * p->n * size;
        r.c = p->has_c ? j->data[2] + i * p->c_row * size : NULL;
        r.y = j->y + row * p->n * size;
        j->kind->row(&r);
    }
    return ONX_OK;
}

/* A, B, and C if it is one. */
static size_t n_operands(const onx_call *call) {
    return ((const onx_matmul_plan *)call->plan)->has_c ? 3 : 2;
}

/* Operands of a small float type, widened into scratch one after the other, Y last. */
static onx_status widen(const onx_call *call, job *j) {
    char *to = call->scratch;
    for (size_t i = 0; i < n_operands(call); i++) {
        const onx_operand *in = call->in[i];
        if (!in || !in->count) continue;
        ONX_TRY(onx_dtype_convert((onx_dtype)in->dtype, in->data, ONX_DTYPE_F32, to,
                                  (uint64_t)in->count, false));
        j->data[i] = to;
        to += (size_t)in->count * sizeof(float);
    }
    j->y = to;
    return ONX_OK;
}

onx_status onx_matmul_run_ref(onx_call *call) {
    static const char nothing[8];
    const onx_matmul_plan *p = call->plan;
    onx_operand *out = call->n_out ? call->out[0] : NULL;
    if (!out || !out->count) return ONX_OK;
    job j = {.kind = kind_of(call), .data = {nothing, nothing, nothing}, .y = out->data};
    for (size_t i = 0; i < 3 && i < call->n_in; i++)
        if (call->in[i] && call->in[i]->data) j.data[i] = call->in[i]->data;
    if (j.kind->widen) ONX_TRY(widen(call, &j));
    size_t products = p->n * (p->k + 1), rows = p->batches * p->m;
    j.rows = products < TASK_PRODUCTS ? TASK_PRODUCTS / products : 1;
    ONX_TRY(onx_call_parallel(call, (rows - 1) / j.rows + 1, run_rows, &j));
    if (!j.kind->widen) return ONX_OK;
    return onx_dtype_convert(ONX_DTYPE_F32, j.y, (onx_dtype)out->dtype, out->data,
                             (uint64_t)out->count, false);
}

/* Scratch for operands that are widened. */
static onx_status bind_scratch(onx_call *call) {
    size_t count = call->n_out && call->out[0] ? (size_t)call->out[0]->count : 0;
    for (size_t i = 0; i < n_operands(call); i++)
        if (!onx_add_size(count, (size_t)call->in[i]->count, &count))
            return onx_fail_nomem(call->diag);
    if (!kind_of(call)->widen) return ONX_OK;
    return onx_mul_size(count, sizeof(float), &call->scratch_bytes) ? ONX_OK
                                                                    : onx_fail_nomem(call->diag);
}

/* MatMulTile: the program over the product, element by element. */
typedef struct tile_plan {
    onx_matmul_plan shape; /* first: the product reads it */
    onx_tile_plan program;
} tile_plan;

static onx_status bind_tile(onx_call *call) {
    tile_plan *plan = call->plan;
    ONX_TRY(onx_matmul_bind(call, &plan->shape));
    ONX_TRY(bind_scratch(call));
    return onx_matmul_bind_program(call, &plan->program);
}

static onx_status run_tile(onx_call *call) {
    const tile_plan *plan = call->plan;
    onx_operand *inputs[ONX_TILE_INPUTS];
    ONX_TRY(onx_matmul_run_ref(call));
    onx_matmul_program_inputs(call, inputs);
    for (int64_t i = 0; call->n_out && call->out[0] && i < call->out[0]->count; i++) {
        char *y = (char *)call->out[0]->data + (size_t)i * sizeof(float);
        float value = onx_tile_at(&plan->program, inputs, i, load_f32(y, 0));
        memcpy(y, &value, sizeof value);
    }
    return ONX_OK;
}

static onx_status bind_matmul(onx_call *call) {
    ONX_TRY(onx_matmul_bind(call, call->plan));
    return bind_scratch(call);
}
onx_status onx_matmul_bind_ref_gemm(onx_call *call) {
    ONX_TRY(onx_matmul_bind_gemm(call, call->plan));
    return bind_scratch(call);
}

#define TYPES (ONX_T_FLOATS | ONX_T(I32) | ONX_T(I64) | ONX_T(U32) | ONX_T(U64))
#define MORE (ONX_T(F32) | ONX_T(BOOL))
#define ROW(op_, domain_, name_, init_, bind_)                                                     \
    {                                                                                              \
        .op = op_, .first = 1, .types = {TYPES, TYPES, TYPES}, .name = name_,                      \
        .plan_bytes = sizeof(onx_matmul_plan), .domain = domain_, .init = init_, .bind = bind_,    \
        .run = onx_matmul_run_ref                                                                  \
    }

extern onx_kernel_rows onx_kernels_matmul_ref;
onx_kernel_rows onx_kernels_matmul_ref = {
    ROW("MatMul", NULL, "matmul", onx_matmul_init, bind_matmul),
    ROW("Gemm", NULL, "gemm", onx_matmul_init_gemm, onx_matmul_bind_ref_gemm),
    ROW("MatMul", "onx.internal", "matmul_by_half", onx_matmul_init, bind_matmul),
    ROW("Gemm", "onx.internal", "gemm_by_half", onx_matmul_init_gemm, onx_matmul_bind_ref_gemm),
    {.op = "MatMulTile",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F32) | ONX_T(F16) | ONX_T(BF16), MORE, MORE, MORE, MORE},
     .name = "matmul_tile",
     .plan_bytes = sizeof(tile_plan),
     .domain = "onx.internal",
     .init = onx_matmul_init_tile,
     .bind = bind_tile,
     .run = run_tile},
    {.op = "Det",
     .first = 11,
     .types = {ONX_T_FLOATS},
     .name = "det",
     .bind = onx_det_bind,
     .run = onx_det_run},
    {0},
};
