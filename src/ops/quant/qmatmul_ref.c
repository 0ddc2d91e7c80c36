/* qmatmul_ref.c: matrix products of quantized tensors: MatMulInteger, QLinearMatMul, and those of
 * com.microsoft: plain kernels.
 *
 * The terms of B are made first, column after column; then tasks make those of a few rows of A at a
 * time, and all products of both lie together in memory. */
#include "ops/quant/product_ref.h"

enum {
    ROWS = 8,     /* of A, for one way through B */
    COLUMNS = 64, /* sums between two roundings */
    TASK_PRODUCTS = 1 << 20,
};

onx_status onx_qmatmul_init(onx_call *call) {
    onx_qstate *st = onx_qstate_new(call);
    if (!st) return onx_fail_nomem(call->diag);
    st->is_gemm = strcmp(call->op->name, "QGemm") == 0;
    st->dynamic = strcmp(call->op->name, "DynamicQuantizeMatMul") == 0;
    if (!st->is_gemm) return ONX_OK;
    st->gemm.alpha = onx_call_float(call, "alpha");
    st->gemm.turn_a = onx_call_int(call, "transA") != 0;
    st->gemm.turn_b = onx_call_int(call, "transB") != 0;
    return ONX_OK;
}

/* ── Shapes ──────────────────────────────────────────────────────────────────────────────────── */

/* A parameter for each row or column of `x`, whose dimension that is: a list, or of the rank of x
 * with 1 for the other of the last two dimensions, and with the batch of x or without. */
static bool fits_along(const onx_operand *x, const onx_operand *param, size_t dim) {
    size_t other = x->rank < 2 ? 0 : 2u * x->rank - 3 - dim;
    bool all = true, none = true;
    if (!param || onx_param_single(param)) return true;
    if (x->rank < 2) return false;
    if (param->rank == 1) return param->dims[0] == x->dims[dim];
    if (param->rank != x->rank || param->dims[dim] != x->dims[dim] || param->dims[other] != 1)
        return false;
    for (size_t i = 0; i + 2 < x->rank; i++) {
        all = all && param->dims[i] == x->dims[i];
        none = none && param->dims[i] == 1;
    }
    return all || none;
}

static onx_status check_params(const onx_call *call, const onx_qins *in) {
    const onx_qstate *st = call->state;
    size_t row = in->a->rank > 1 ? in->a->rank - 2u : 0, col = in->b->rank ? in->b->rank - 1u : 0;
    if (st->is_gemm) col = !st->gemm.turn_b;
    if (st->is_gemm && !(onx_param_single(in->a_scale) && onx_param_single(in->a_zero)))
        return onx_call_fail(call, ONX_INVALID, "scale and zero point of A must be scalars");
    if (!fits_along(in->a, in->a_scale, row) || !fits_along(in->a, in->a_zero, row))
        return onx_call_fail(call, ONX_INVALID,
                             "scale and zero point of A must be scalars, or one for each row");
    if (!fits_along(in->b, in->b_scale, col) || !fits_along(in->b, in->b_zero, col))
        return onx_call_fail(call, ONX_INVALID,
                             "scale and zero point of B must be scalars, or one for each column");
    return onx_qins_check(call, in);
}

static onx_dtype result_type(const onx_qins *in, bool dynamic) {
    if (in->y_zero) return (onx_dtype)in->y_zero->dtype;
    if (in->b_scale) return dynamic ? ONX_DTYPE_F32 : (onx_dtype)in->b_scale->dtype;
    return ONX_DTYPE_I32;
}

static onx_status bind_scratch(onx_call *call, const onx_qins *in, const onx_matmul_plan *p) {
    const onx_qstate *st = call->state;
    ONX_TRY(onx_product_scratch(call, (size_t)in->b->count));
    size_t more = st->dynamic ? (size_t)in->a->count : 0, row;
    if (onx_add_size(call->scratch_bytes, more, &call->scratch_bytes) &&
        onx_mul_size(p->k, onx_product_size(in), &row) &&
        onx_mul_size(row, ROWS, &call->scratch_each))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

onx_status onx_qmatmul_bind(onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    onx_matmul_plan *p = call->plan;
    const onx_operand *y = call->out[0];
    onx_qview view;
    onx_qview_of(call, &view);
    view.call.state = (void *)(uintptr_t)&st->gemm;
    ONX_TRY(st->is_gemm ? onx_matmul_bind_gemm(&view.call, p) : onx_matmul_bind(&view.call, p));
    ONX_TRY(check_params(call, &in));
    if (in.bias && !st->is_gemm && (in.bias->rank > 1 || (size_t)in.bias->count != p->n))
        return onx_call_fail(call, ONX_INVALID, "the bias must be a list of %zu", p->n);
    ONX_TRY(bind_scratch(call, &in, p));
    return onx_call_shape(call, 0, result_type(&in, st->dynamic), y->rank, y->dims);
}

/* ── Products ────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    onx_product product;
    const onx_matmul_plan *plan;
    const uint8_t *a, *b;
    char *terms; /* of B: columns of k */
    size_t size; /* of a term */
    size_t rows; /* of a task */
} job;

static double zero_of(const double *zero, size_t n, size_t at) {
    return zero ? zero[at % n] : 0;
}

/* Some columns of B, of all its matrices in a row. */
static onx_status task_b(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_matmul_plan *p = j->plan;
    const onx_product *q = &j->product;
    size_t each = TASK_PRODUCTS / (8 * p->k) + 1, first = index * each;
    size_t all = (size_t)q->in.b->count / p->k, end = all - first < each ? all : first + each;
    (void)call, (void)scratch;
    for (size_t c = first; c < end; c++)
        onx_product_terms(q, 1, j->b + c / p->n * p->k * p->n + c % p->n * p->b_col, p->b_row, p->k,
                          zero_of(q->b_zero, q->n_b_zero, c), j->terms + c * p->k * j->size);
    return ONX_OK;
}

static onx_status make_terms_of_b(onx_call *call, job *j) {
    size_t k = j->plan->k, each = k ? TASK_PRODUCTS / (8 * k) + 1 : 1;
    size_t all = k ? (size_t)j->product.in.b->count / k : 0;
    return onx_call_parallel(call, all / each + (all % each != 0), task_b, j);
}

/* What is added to sums of a row: C of QGemm, modulo 2^32, or the bias, after the factors. */
static const double *add_bias(const job *j, size_t row, size_t col, size_t n, double *sums,
                              double *bias) {
    const onx_operand *c = j->product.in.bias;
    const onx_matmul_plan *p = j->plan;
    if (!c) return NULL;
    bool before = c->dtype == ONX_DTYPE_I32;
    size_t step = before ? p->c_col : 1, at = (before ? row * p->c_row : 0) + col * step;
    onx_operand_get(c, at, step ? n : 1, bias);
    if (!before) return bias;
    for (size_t i = 0; i < n; i++)
        sums[i] = (double)(int32_t)((uint32_t)(int32_t)sums[i] + (uint32_t)(int32_t)bias[i * step]);
    return NULL;
}

/* Some rows of one matrix of Y, from `first` of all on: a pass through the terms of B. */
static onx_status make_rows(const job *j, onx_call *call, size_t first, size_t n, char *terms) {
    const onx_matmul_plan *p = j->plan;
    const onx_product *q = &j->product;
    double sums[COLUMNS], factors[COLUMNS], bias[COLUMNS];
    size_t a, b, row = first % p->m, bytes = onx_dtype_bits(q->dtype) / 8, line = p->k * j->size;
    onx_matmul_at(p, first / p->m, &a, &b);
    for (size_t i = 0; i < n; i++)
        onx_product_terms(q, 0, j->a + a * p->m * p->k + (row + i) * p->a_row, p->a_col, p->k,
                          zero_of(q->a_zero, q->n_a_zero, a * p->m + row + i), terms + i * line);
    for (size_t col = 0; col < p->n; col += COLUMNS) {
        size_t width = p->n - col < COLUMNS ? p->n - col : COLUMNS;
        const char *columns = j->terms + (b * p->n + col) * line;
        for (size_t i = 0; i < n; i++) {
            if (onx_call_stopped(call)) return ONX_CANCELLED;
            onx_product_dots(q, terms + i * line, columns, width, p->k, sums);
            onx_product_factors(q, a * p->m + row + i, b * p->n + col, width, factors);
            const double *more = add_bias(j, row + i, col, width, sums, bias);
            onx_product_end(q, width, sums, factors, 1, more,
                            (char *)call->out[0]->data + ((first + i) * p->n + col) * bytes);
        }
    }
    return ONX_OK;
}

static onx_status task_rows(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t m = j->plan->m, all = m * j->plan->batches, row = index * j->rows;
    size_t end = all - row < j->rows ? all : row + j->rows;
    while (row < end) {
        size_t n = end - row < ROWS ? end - row : ROWS;
        if (n > m - row % m) n = m - row % m;
        ONX_TRY(make_rows(j, call, row, n, scratch));
        row += n;
    }
    return ONX_OK;
}

/* A of DynamicQuantizeMatMul as bytes, with what it was quantized with. */
static onx_status quantize_a(onx_call *call, job *j, double param[2], char **scratch) {
    onx_dynamic with;
    uint8_t *to = (uint8_t *)*scratch;
    ONX_TRY(onx_dynamic_quantize(call, j->product.in.a, &with, to));
    param[0] = (double)with.scale;
    param[1] = (double)with.zero;
    j->product.a_scale = param;
    j->product.a_zero = param + 1;
    j->a = to;
    *scratch += j->product.in.a->count;
    return ONX_OK;
}

onx_status onx_qmatmul_run_with(onx_call *call, onx_dots_fn *dots) {
    const onx_qstate *st = call->state;
    const onx_matmul_plan *p = call->plan;
    char *scratch = call->scratch;
    double param[2];
    job j = {.plan = p};
    if (!call->out[0]->count) return ONX_OK;
    onx_product_begin(call, dots, &j.product, &scratch);
    j.a = j.product.in.a->data;
    j.b = j.product.in.b->data;
    j.size = onx_product_size(&j.product.in);
    j.terms = scratch;
    scratch += (size_t)j.product.in.b->count * j.size;
    if (st->dynamic) ONX_TRY(quantize_a(call, &j, param, &scratch));
    ONX_TRY(make_terms_of_b(call, &j));
    size_t rows = p->batches * p->m, products = p->n * (p->k + 1);
    j.rows = products * ROWS < TASK_PRODUCTS ? TASK_PRODUCTS / products : ROWS;
    return onx_call_parallel(call, (rows - 1) / j.rows + 1, task_rows, &j);
}

onx_status onx_qmatmul_run(onx_call *call) {
    return onx_qmatmul_run_with(call, onx_dots_plain);
}
