/* product_ref.c: see product_ref.h. */
#include "ops/quant/product_ref.h"
#include "ir/dtype.h"

static const onx_qroles roles[] = {
    {"MatMulInteger", 0, -1, 2, 1, -1, 3, -1, -1, -1},
    {"ConvInteger", 0, -1, 2, 1, -1, 3, -1, -1, -1},
    {"QLinearMatMul", 0, 1, 2, 3, 4, 5, -1, 6, 7},
    {"QLinearConv", 0, 1, 2, 3, 4, 5, 8, 6, 7},
    {"QConv", 0, 1, 2, 3, 4, 5, 8, 6, 7},
    {"QConvInteger", 0, -1, 2, 1, -1, 3, -1, -1, -1},
    {"QGemm", 0, 1, 2, 3, 4, 5, 6, 7, 8},
    {"MatMulIntegerToFloat", 0, 2, 4, 1, 3, 5, 6, -1, -1},
    {"DynamicQuantizeMatMul", 0, -1, -1, 1, 2, 3, 4, -1, -1},
};

onx_qstate *onx_qstate_new(onx_call *call) {
    onx_qstate *st = onx_call_state(call, sizeof *st);
    const onx_qroles *found = roles;
    if (!st) return NULL;
    while (strcmp(found->op, call->op->name) != 0) found++; /* the rows have no other operators */
    st->roles = *found;
    st->gemm.alpha = st->gemm.beta = 1;
    return st;
}

static onx_operand *input(const onx_call *call, int8_t role) {
    return role < 0 ? NULL : onx_call_in(call, (size_t)role);
}

/* In MatMulIntegerToFloat the scales may have changed places: each goes where its shape fits. */
static void order_scales(onx_qins *in) {
    const onx_operand *a = in->a_scale, *b = in->b_scale;
    bool one = a->rank == 0 || (a->rank == 1 && a->dims[0] == 1);
    bool changed = one ? b->rank > 1 && b->rank <= ONX_RANK_MAX && b->dims[b->rank - 2] != 1
                       : a->rank == 1 || (a->rank <= ONX_RANK_MAX && a->dims[a->rank - 1] != 1);
    if (!changed) return;
    onx_operand *held = in->a_scale;
    in->a_scale = in->b_scale;
    in->b_scale = held;
}

onx_qins onx_qins_of(const onx_call *call) {
    const onx_qroles *r = &((const onx_qstate *)call->state)->roles;
    onx_qins in = {
        input(call, r->a),    input(call, r->a_scale), input(call, r->a_zero),
        input(call, r->b),    input(call, r->b_scale), input(call, r->b_zero),
        input(call, r->bias), input(call, r->y_scale), input(call, r->y_zero),
    };
    if (r->a_scale > r->b) order_scales(&in); /* only there */
    return in;
}

void onx_qview_of(const onx_call *call, onx_qview *out) {
    onx_qins in = onx_qins_of(call);
    *out = (onx_qview){.call = *call, .in = {in.a, in.b, in.bias}};
    out->call.in = out->in;
    out->call.n_in = in.bias ? 3 : 2;
}

/* What rows do not say, of inputs behind the sixth. */
static onx_status check_types(const onx_call *call, const onx_qins *in) {
    const onx_qroles *r = &((const onx_qstate *)call->state)->roles;
    uint32_t bytes = ONX_T(I8) | ONX_T(U8) | ONX_T(F8E4M3FN) | ONX_T(F8E4M3FNUZ) | ONX_T(F8E5M2) |
                     ONX_T(F8E5M2FNUZ);
    uint32_t biases = r->y_zero < 0 ? ONX_T(F32) | ONX_T(F16) : ONX_T(I32);
    if ((in->a_zero && in->a_zero->dtype != in->a->dtype) ||
        (in->b_zero && in->b_zero->dtype != in->b->dtype))
        return onx_call_fail(call, ONX_INVALID, "zero points must have the type of their tensors");
    if (in->y_zero && !(bytes >> in->y_zero->dtype & 1))
        return onx_call_fail(call, ONX_INVALID, "the result cannot be %s",
                             onx_dtype_name((onx_dtype)in->y_zero->dtype));
    if (in->bias && !(biases >> in->bias->dtype & 1))
        return onx_call_fail(call, ONX_INVALID, "the bias cannot be %s",
                             onx_dtype_name((onx_dtype)in->bias->dtype));
    return ONX_OK;
}

onx_status onx_qins_check(const onx_call *call, const onx_qins *in) {
    ONX_TRY(check_types(call, in));
    if ((in->y_scale && !onx_param_single(in->y_scale)) ||
        (in->y_zero && !onx_param_single(in->y_zero)))
        return onx_call_fail(call, ONX_INVALID,
                             "scale and zero point of the result must be scalars");
    if (!in->y_zero || in->y_scale) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "the result has a zero point, but no scale");
}

/* ── Parameters ──────────────────────────────────────────────────────────────────────────────── */

static bool is_byte(const onx_operand *x) {
    return x->dtype == ONX_DTYPE_U8 || x->dtype == ONX_DTYPE_I8 || x->dtype == ONX_DTYPE_F32;
}

size_t onx_product_size(const onx_qins *in) {
    return is_byte(in->a) && is_byte(in->b) ? sizeof(int16_t) : sizeof(float);
}

onx_status onx_product_scratch(onx_call *call, size_t terms_of_b) {
    onx_qins in = onx_qins_of(call);
    if (onx_mul_size(terms_of_b, onx_product_size(&in), &call->scratch_bytes) &&
        onx_param_bytes(in.a_zero, &call->scratch_bytes) &&
        onx_param_bytes(in.b_zero, &call->scratch_bytes) &&
        onx_param_bytes(in.a_scale, &call->scratch_bytes) &&
        onx_param_bytes(in.b_scale, &call->scratch_bytes))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

static size_t count_of(const onx_operand *param) {
    return param ? (size_t)param->count : 1;
}

static void read_codes(const onx_operand *x, float codes[256]) {
    uint8_t all[256];
    for (size_t i = 0; i < sizeof all; i++) all[i] = (uint8_t)i;
    (void)onx_dtype_convert((onx_dtype)x->dtype, all, ONX_DTYPE_F32, codes, sizeof all, false);
}

void onx_product_begin(const onx_call *call, onx_dots_fn *dots, onx_product *p, char **scratch) {
    const onx_qstate *st = call->state;
    const onx_qins in = p->in = onx_qins_of(call);
    p->dots = dots;
    p->real = onx_product_size(&in) != sizeof(int16_t);
    if (p->real) {
        read_codes(in.a, p->codes[0]);
        read_codes(in.b, p->codes[1]);
    }
    p->a_zero = onx_param_read(in.a_zero, scratch);
    p->b_zero = onx_param_read(in.b_zero, scratch);
    p->a_scale = onx_param_read(in.a_scale, scratch);
    p->b_scale = onx_param_read(in.b_scale, scratch);
    p->n_a_zero = count_of(in.a_zero);
    p->n_b_zero = count_of(in.b_zero);
    p->n_a_scale = count_of(in.a_scale);
    p->n_b_scale = count_of(in.b_scale);
    p->alpha = (double)st->gemm.alpha;
    p->y_scale = onx_param_one(in.y_scale, 1);
    p->y_zero = onx_param_one(in.y_zero, 0);
    p->precision = in.b_scale ? (onx_dtype)in.b_scale->dtype : ONX_DTYPE_F32;
    p->dtype = (onx_dtype)call->out[0]->dtype;
    p->range = onx_range_of(p->dtype);
}

/* ── Terms ───────────────────────────────────────────────────────────────────────────────────── */

static void terms_i16(bool is_signed, const uint8_t *from, size_t step, size_t n, int zero,
                      int16_t *to) {
    int flip = is_signed ? 128 : 0; /* int8 is uint8 with the highest bit turned, less 128 */
    for (size_t i = 0; i < n; i++) to[i] = (int16_t)((from[i * step] ^ flip) - flip - zero);
}

void onx_product_terms(const onx_product *p, int side, const uint8_t *from, size_t step, size_t n,
                       double zero, void *to) {
    const onx_operand *x = side ? p->in.b : p->in.a;
    float *real = to;
    if (!p->real) {
        terms_i16(x->dtype == ONX_DTYPE_I8, from, step, n, (int)zero, to);
        return;
    }
    for (size_t i = 0; i < n; i++) real[i] = p->codes[side][from[i * step]] - (float)zero;
}

void onx_dots_plain(const int16_t *x, const int16_t *rows, size_t count, size_t n, int32_t *sums) {
    onx_dots(x, rows, count, n, sums);
}

double onx_dot_f32(const float *a, const float *b, size_t n) {
    enum { LANES = 8 };
    double sums[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++) sums[l] += (double)a[i + l] * (double)b[i + l];
    for (size_t l = 0; l < LANES; l++) sum += sums[l];
    for (; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

void onx_product_dots(const onx_product *p, const void *x, const void *rows, size_t count, size_t n,
                      double *sums) {
    enum { FEW = 64 };
    int32_t some[FEW];
    for (size_t at = 0; p->real && at < count; at++)
        sums[at] = onx_dot_f32(x, (const float *)rows + at * n, n);
    for (size_t at = 0; !p->real && at < count; at += FEW) {
        size_t few = count - at < FEW ? count - at : FEW;
        p->dots(x, (const int16_t *)rows + at * n, few, n, some);
        for (size_t i = 0; i < few; i++) sums[at + i] = (double)some[i];
    }
}

/* ── Results ─────────────────────────────────────────────────────────────────────────────────── */

void onx_product_factors(const onx_product *p, size_t row, size_t col, size_t n, double *out) {
    double a = (p->a_scale ? p->a_scale[row % p->n_a_scale] : 1) * p->alpha;
    onx_dtype_round(p->precision, &a, 1);
    for (size_t i = 0; i < n; i++)
        out[i] = a * (p->b_scale ? p->b_scale[(col + i) % p->n_b_scale] : 1);
    onx_dtype_round(p->precision, out, n);
    for (size_t i = 0; i < n; i++) out[i] /= p->y_scale;
    onx_dtype_round(p->precision, out, n);
}

/* Integers of 8 bits, ready to be stored. */
static void end_bytes(const onx_product *p, size_t n, const double *x, uint8_t *to) {
    const onx_range range = p->range;
    double zero = p->y_zero;
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(int)onx_range_round(x[i], zero, &range);
}

void onx_product_end(const onx_product *p, size_t n, double *sums, const double *factors,
                     size_t step, const double *bias, void *to) {
    for (size_t i = 0; p->in.b_scale && i < n; i++)
        sums[i] = (double)((float)sums[i] * (float)factors[i * step]);
    for (size_t i = 0; bias && i < n; i++) sums[i] += bias[i];
    if (!p->range.real) {
        end_bytes(p, n, sums, to);
        return;
    }
    for (size_t i = 0; p->y_zero != 0 && i < n; i++) sums[i] += p->y_zero;
    (void)onx_dtype_convert(ONX_DTYPE_F64, sums, p->dtype, to, n, true);
}
