/* quant_ref.c: QuantizeLinear and DequantizeLinear: plain kernels, for every type; and the table of
 * the family.
 *
 * The quotient is rounded to the precision of the division, which is that of the scale where the
 * node does not say; then to integers, ties to even, before the zero point is added. Products are
 * rounded once. */
#include "ops/quant/quant_ref.h"
#include "ir/dtype.h"
#include "ops/quant/dynamic_ref.h"
#include "ops/quant/product_ref.h"
#include "ops/quant/qmaxpool_ref.h"

enum {
    SPAN = 256, /* elements that are widened at a time; whole bytes of every type */
    TASK = 64 * SPAN,
};

#define FLOATS (ONX_T(F32) | ONX_T(F16) | ONX_T(BF16))
#define F8 (ONX_T(F8E4M3FN) | ONX_T(F8E4M3FNUZ) | ONX_T(F8E5M2) | ONX_T(F8E5M2FNUZ))
#define BYTES (ONX_T(I8) | ONX_T(U8))
#define FEW                                                                                        \
    (BYTES | ONX_T(I16) | ONX_T(U16) | ONX_T(I4) | ONX_T(U4) | ONX_T(I2) | ONX_T(U2) | F8 |        \
     ONX_T(F4E2M1) | ONX_T(F6E2M3) | ONX_T(F6E3M2))
#define SCALES (FLOATS | ONX_T(I32) | ONX_T(F8E8M0))

static onx_status bad_type(const onx_call *call, const char *attribute, int64_t value) {
    return onx_call_fail(call, ONX_INVALID, "%s is %lld, which is not a type that it can be",
                         attribute, (long long)value);
}

/* An attribute that names one of these types; 0: it is not there. */
static onx_status read_type(const onx_call *call, const char *attribute, uint32_t types,
                            onx_dtype *out) {
    int64_t value = onx_call_int(call, attribute);
    if (value < 0 || value > 31 || (value && !(types >> value & 1)))
        return bad_type(call, attribute, value);
    if (value) *out = (onx_dtype)value;
    return ONX_OK;
}

static onx_quantize_state *new_state(onx_call *call) {
    onx_quantize_state *st = onx_call_state(call, sizeof *st);
    if (!st) return NULL;
    st->axis = onx_call_int(call, "axis");
    st->block = onx_call_int(call, "block_size");
    return st;
}

onx_status onx_quantize_init(onx_call *call) {
    onx_dtype scale = (onx_dtype)call->in[1]->dtype, named = ONX_DTYPE_NONE;
    const onx_operand *zero = onx_call_in(call, 2);
    onx_quantize_state *st = new_state(call);
    if (!st) return onx_fail_nomem(call->diag);
    st->saturate = onx_call_int(call, "saturate") != 0 || call->op->since < 19;
    st->precision = FLOATS >> scale & 1 ? scale : ONX_DTYPE_F64;
    ONX_TRY(read_type(call, "precision", FLOATS | ONX_T(F64), &st->precision));
    ONX_TRY(read_type(call, "output_dtype", FEW, &named));
    st->dtype = zero ? (onx_dtype)zero->dtype : named ? named : ONX_DTYPE_U8;
    if (!named || named == st->dtype) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "output_dtype says %s, the zero point is %s",
                         onx_dtype_name(named), onx_dtype_name(st->dtype));
}

onx_status onx_dequantize_init(onx_call *call) {
    const onx_operand *zero = onx_call_in(call, 2);
    onx_quantize_state *st = new_state(call);
    if (!st) return onx_fail_nomem(call->diag);
    st->dtype = call->op->since < 19 ? ONX_DTYPE_F32 : (onx_dtype)call->in[1]->dtype;
    ONX_TRY(read_type(call, "output_dtype", FLOATS, &st->dtype));
    if (!(FLOATS >> st->dtype & 1))
        return onx_call_fail(call, ONX_INVALID,
                             "with scales of %s, output_dtype must say the type of y",
                             onx_dtype_name(st->dtype));
    if (zero && zero->dtype != call->in[0]->dtype)
        return onx_call_fail(call, ONX_INVALID, "x is %s, its zero point %s",
                             onx_dtype_name((onx_dtype)call->in[0]->dtype),
                             onx_dtype_name((onx_dtype)zero->dtype));
    return ONX_OK;
}

onx_status onx_quantize_bind(onx_call *call) {
    const onx_quantize_state *st = call->state;
    const onx_operand *x = call->in[0], *scale = call->in[1], *zero = onx_call_in(call, 2);
    ONX_TRY(onx_grid_bind(call, x, scale, st->axis, st->block, call->plan));
    ONX_TRY(onx_param_match(call, scale, zero));
    if (!onx_param_bytes(scale, &call->scratch_bytes) ||
        !onx_param_bytes(zero, &call->scratch_bytes))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    return onx_call_shape(call, 0, st->dtype, x->rank, x->dims);
}

/* ── Elements ────────────────────────────────────────────────────────────────────────────────── */

typedef struct job job;
struct job {
    const onx_grid *grid;
    const onx_quantize_state *state;
    const double *scale, *zero;
    onx_range range;
    /* n elements x, their scales and zero points: what becomes of them, in x. */
    void (*apply)(const job *j, size_t n, double *x, double *scale, const double *zero);
};

static void quantize(const job *j, size_t n, double *x, double *scale, const double *zero) {
    onx_dtype_round(j->state->precision, x, n);
    for (size_t i = 0; i < n; i++) x[i] /= scale[i];
    onx_dtype_round(j->state->precision, x, n);
    if (j->range.real) {
        for (size_t i = 0; i < n; i++) x[i] = zero[i] == 0 ? x[i] : x[i] + zero[i];
        return;
    }
    for (size_t i = 0; i < n; i++) x[i] = onx_range_round(x[i], zero[i], &j->range);
}

static void dequantize(const job *j, size_t n, double *x, double *scale, const double *zero) {
    (void)j;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(float)(zero[i] == 0 ? x[i] : x[i] - zero[i]) * scale[i];
}

static char *element(const onx_operand *operand, size_t at) { /* at: a multiple of 8 */
    return (char *)operand->data + at / 8 * onx_dtype_bits((onx_dtype)operand->dtype);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_operand *in = call->in[0], *out = call->out[0];
    size_t at = index * TASK, all = (size_t)in->count, end = all - at < TASK ? all : at + TASK;
    double x[SPAN], scale[SPAN], zero[SPAN] = {0};
    (void)scratch;
    for (; at < end; at += SPAN) {
        size_t n = end - at < SPAN ? end - at : SPAN;
        (void)onx_dtype_convert((onx_dtype)in->dtype, element(in, at), ONX_DTYPE_F64, x, n, false);
        onx_grid_fill(j->grid, at, n, j->scale, scale);
        if (j->zero) onx_grid_fill(j->grid, at, n, j->zero, zero);
        j->apply(j, n, x, scale, zero);
        (void)onx_dtype_convert(ONX_DTYPE_F64, x, (onx_dtype)out->dtype, element(out, at), n,
                                j->state->saturate);
    }
    return ONX_OK;
}

static onx_status run(onx_call *call, job *j) {
    char *scratch = call->scratch;
    double *scale = onx_param_read(call->in[1], &scratch);
    j->grid = call->plan;
    j->state = call->state;
    j->range = onx_range_of(j->state->dtype);
    j->scale = scale;
    j->zero = onx_param_read(onx_call_in(call, 2), &scratch);
    if (j->state->precision)
        onx_dtype_round(j->state->precision, scale, (size_t)call->in[1]->count);
    size_t all = (size_t)call->in[0]->count;
    return onx_call_parallel(call, all / TASK + (all % TASK != 0), task, j);
}
static onx_status run_quantize(onx_call *call) {
    return run(call, &(job){.apply = quantize});
}
static onx_status run_dequantize(onx_call *call) {
    return run(call, &(job){.apply = dequantize});
}

extern onx_kernel_rows onx_kernels_quant_ref;
onx_kernel_rows onx_kernels_quant_ref = {
    {.op = "QuantizeLinear",
     .first = 10,
     .types = {FLOATS | ONX_T(I32), SCALES, FEW},
     .name = "quantize",
     .overwrite = 1,
     .plan_bytes = sizeof(onx_grid),
     .init = onx_quantize_init,
     .bind = onx_quantize_bind,
     .run = run_quantize},
    {.op = "DequantizeLinear",
     .first = 10,
     .types = {FEW | ONX_T(I32), FLOATS | ONX_T(F8E8M0), FEW | ONX_T(I32)},
     .name = "dequantize",
     .overwrite = 1,
     .plan_bytes = sizeof(onx_grid),
     .init = onx_dequantize_init,
     .bind = onx_quantize_bind,
     .run = run_dequantize},
    {.op = "DynamicQuantizeLinear",
     .first = 11,
     .types = {ONX_T(F32)},
     .name = "dynamic_quantize",
     .bind = onx_dynamic_bind,
     .run = onx_dynamic_run},
    {.op = "MatMulInteger",
     .first = 10,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "matmul_integer",
     .plan_bytes = sizeof(onx_matmul_plan),
     .init = onx_qmatmul_init,
     .bind = onx_qmatmul_bind,
     .run = onx_qmatmul_run},
    {.op = "QLinearMatMul",
     .first = 10,
     .types = {BYTES | F8, FLOATS, BYTES | F8, BYTES | F8, FLOATS},
     .name = "qlinear_matmul",
     .plan_bytes = sizeof(onx_matmul_plan),
     .init = onx_qmatmul_init,
     .bind = onx_qmatmul_bind,
     .run = onx_qmatmul_run},
    {.op = "ConvInteger",
     .first = 10,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "conv_integer",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qconv_init,
     .bind = onx_qconv_bind,
     .run = onx_qconv_run},
    {.op = "QLinearConv",
     .first = 10,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "qlinear_conv",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qconv_init,
     .bind = onx_qconv_bind,
     .run = onx_qconv_run},
    {.op = "QConv",
     .first = 1,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "q_conv",
     .domain = "onx.internal",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qconv_init,
     .bind = onx_qconv_bind,
     .run = onx_qconv_run},
    {.op = "QConvInteger",
     .first = 1,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "q_conv_integer",
     .domain = "onx.internal",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qconv_init,
     .bind = onx_qconv_bind,
     .run = onx_qconv_run},
    {.op = "QTable",
     .first = 1,
     .types = {BYTES, BYTES},
     .name = "q_table",
     .domain = "onx.internal",
     .overwrite = 1,
     .bind = onx_qtable_bind,
     .run = onx_qtable_run},
    {.op = "QMaxPool",
     .first = 1,
     .types = {BYTES},
     .name = "q_max_pool",
     .domain = "onx.internal",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qmaxpool_init,
     .bind = onx_qmaxpool_bind,
     .run = onx_qmaxpool_run},
    {0},
};
