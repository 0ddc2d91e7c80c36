/* quant_simd.c: QuantizeLinear and DequantizeLinear between floats and bytes, and products of
 * bytes: vectors. The same bits as the plain kernels. */
#include "cpu/qgemm.h"
#include "cpu/vec_look.h"
#include "ops/quant/qmaxpool_ref.h"
#include "ops/quant/quant_ref.h"

enum { TASK = 1 << 15 };

static inline vf load_bytes(const uint8_t *p, size_t n, int32_t flip) {
    return vf_float((vi_load_bytes(p, n) ^ flip) - flip);
}

static inline void store_bytes(uint8_t *p, size_t n, vf x) {
    vi_store_bytes(p, vf_int(x), n);
}

static vf load_floats(const float *p, size_t n) {
    return n >= VF ? vf_load(p) : vf_load_n(p, n);
}

/* Scales and zero points of some elements, all the same, or one each. */
typedef struct params {
    const float *scale;
    const uint8_t *zero; /* NULL: 0 */
    size_t each;         /* 0 or 1 */
    int32_t flip;        /* int8 is uint8 with the highest bit turned, less 128 */
} params;

static vf scale_at(const params *p, size_t i, size_t n) {
    float one;
    if (p->each) return load_floats(p->scale + i, n);
    memcpy(&one, p->scale, sizeof one);
    return vf_set(one);
}
static vf zero_at(const params *p, size_t i, size_t n) {
    if (!p->zero) return vf_zero();
    if (p->each) return load_bytes(p->zero + i, n, p->flip);
    return vf_set((float)((*p->zero ^ p->flip) - p->flip));
}

static void quantize(const params *p, const void *from, void *to, size_t n) {
    float lo = p->flip ? -128 : 0;
    vf scale = scale_at(p, 0, n), zero = zero_at(p, 0, n);
    for (size_t i = 0; i < n; i += VF) {
        if (p->each) scale = scale_at(p, i, n - i), zero = zero_at(p, i, n - i);
        vf x = load_floats((const float *)from + i, n - i) / scale;
        x = vf_min(vf_max(x, lo - zero), lo + 255 - zero);
        store_bytes((uint8_t *)to + i, n - i, vf_round(x) + zero);
    }
}

static void dequantize(const params *p, const void *from, void *to, size_t n) {
    vf scale = scale_at(p, 0, n), zero = zero_at(p, 0, n);
    for (size_t i = 0; i < n; i += VF) {
        if (p->each) scale = scale_at(p, i, n - i), zero = zero_at(p, i, n - i);
        vf y = (load_bytes((const uint8_t *)from + i, n - i, p->flip) - zero) * scale;
        if (n - i >= VF)
            vf_store((float *)to + i, y);
        else
            vf_store_n((float *)to + i, y, n - i);
    }
}

typedef void span_fn(const params *p, const void *from, void *to, size_t n);

/* TASK elements, run by run. */
static void do_task(onx_call *call, size_t index, bool is_signed, size_t from_size, size_t to_size,
                    span_fn *span) {
    const onx_operand *x = call->in[0], *zero = onx_call_in(call, 2);
    size_t at = index * TASK, all = (size_t)x->count, end = all - at < TASK ? all : at + TASK;
    params p = {.flip = is_signed ? 128 : 0};
    while (at < end) {
        size_t param, n = onx_grid_run(call->plan, at, end - at, &param, &p.each);
        p.scale = (const float *)call->in[1]->data + param;
        p.zero = zero ? (const uint8_t *)zero->data + param : NULL;
        span(&p, (const char *)x->data + at * from_size, (char *)call->out[0]->data + at * to_size,
             n);
        at += n;
    }
}

static onx_status quantize_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    do_task(call, index, call->out[0]->dtype == ONX_DTYPE_I8, sizeof(float), 1, quantize);
    return ONX_OK;
}
static onx_status dequantize_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    do_task(call, index, call->in[0]->dtype == ONX_DTYPE_I8, 1, sizeof(float), dequantize);
    return ONX_OK;
}

static onx_status run(onx_call *call, onx_task *task) {
    size_t all = (size_t)call->in[0]->count;
    return onx_call_parallel(call, all / TASK + (all % TASK != 0), task, NULL);
}
static onx_status run_quantize(onx_call *call) {
    return run(call, quantize_task);
}
static onx_status run_dequantize(onx_call *call) {
    return run(call, dequantize_task);
}

static onx_status init_quantize(onx_call *call) {
    ONX_TRY(onx_quantize_init(call));
    const onx_quantize_state *st = call->state;
    bool bytes = st->dtype == ONX_DTYPE_U8 || st->dtype == ONX_DTYPE_I8;
    return bytes && st->precision == ONX_DTYPE_F32 ? ONX_OK : ONX_UNSUPPORTED;
}
static onx_status init_dequantize(onx_call *call) {
    ONX_TRY(onx_dequantize_init(call));
    const onx_quantize_state *st = call->state;
    return st->dtype == ONX_DTYPE_F32 ? ONX_OK : ONX_UNSUPPORTED;
}

/* ── Products: the plain kernels with wider vectors in the innermost loop ───────────────────── */

/* Vectors of 4 are what the plain kernels have already. */
static onx_status run_matmul(onx_call *call) {
    return onx_qmatmul_run_with(call, VF > 4 ? onx_dots : onx_dots_plain);
}
static onx_status run_conv(onx_call *call) {
    return onx_qconv_run_with(call, VF > 4 ? onx_dots : onx_dots_plain);
}

static onx_status init_bytes_conv(onx_call *call) {
    return onx_bytes_conv_init(call, &ONX_TIER(onx_qgemm));
}

/* ── QMaxPool: channels lie together ─────────────────────────────────────────────────────────── */

static void larger(uint8_t *to, size_t count, const uint8_t *const *x, size_t n, uint8_t flip) {
    size_t i = 0;
    for (; i + VF_BYTES <= n; i += VF_BYTES) {
        vo most = vo_load(to + i) ^ flip;
        for (size_t j = 0; j < count; j++) most = vo_max(most, vo_load(x[j] + i) ^ flip);
        most ^= flip;
        memcpy(to + i, &most, sizeof most);
    }
    if (i == n) return;
    vo most = vo_load_n(to + i, n - i) ^ flip;
    for (size_t j = 0; j < count; j++) most = vo_max(most, vo_load_n(x[j] + i, n - i) ^ flip);
    vo_store_n(to + i, most ^ flip, n - i);
}
static onx_status run_max_pool(onx_call *call) {
    return onx_qmaxpool_run_with(call, larger);
}

static onx_status run_table(onx_call *call) {
    return onx_qtable_run_with(call, look);
}

static onx_status init_bytes_matmul(onx_call *call) {
    return onx_bytes_matmul_init(call, &ONX_TIER(onx_qgemm));
}
static onx_status run_dynamic(onx_call *call) {
    return onx_dynamic_run_with(call, &ONX_TIER(onx_dynamic));
}

#define BYTES (ONX_T(U8) | ONX_T(I8))
#define FLOATS (ONX_T(F32) | ONX_T(F16) | ONX_T(BF16))
#define MATMUL                                                                                     \
    .plan_bytes = sizeof(onx_matmul_plan), .init = onx_qmatmul_init, .bind = onx_qmatmul_bind,     \
    .run = run_matmul
#define CONV                                                                                       \
    .plan_bytes = sizeof(onx_images), .init = onx_qconv_init, .bind = onx_qconv_bind,              \
    .run = run_conv

extern onx_kernel_rows ONX_TIER(onx_kernels_quant);
onx_kernel_rows ONX_TIER(onx_kernels_quant) = {
    {.op = "QuantizeLinear",
     .first = 10,
     .types = {ONX_T(F32), ONX_T(F32), BYTES},
     .name = "quantize_f32",
     .plan_bytes = sizeof(onx_grid),
     .init = init_quantize,
     .bind = onx_quantize_bind,
     .run = run_quantize},
    {.op = "DequantizeLinear",
     .first = 10,
     .types = {BYTES, ONX_T(F32), BYTES},
     .name = "dequantize_f32",
     .plan_bytes = sizeof(onx_grid),
     .init = init_dequantize,
     .bind = onx_quantize_bind,
     .run = run_dequantize},
    {.op = "DynamicQuantizeLinear",
     .first = 11,
     .types = {ONX_T(F32)},
     .name = "dynamic_quantize_f32",
     .bind = onx_dynamic_bind,
     .run = run_dynamic},
    {.op = "MatMulInteger",
     .first = 10,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "matmul_integer_bytes",
     ONX_BYTES_MATMUL(init_bytes_matmul, 1)},
    {.op = "QLinearMatMul",
     .first = 10,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "qlinear_matmul_bytes",
     ONX_BYTES_MATMUL(init_bytes_matmul, 3)},
    {.op = "MatMulInteger",
     .first = 10,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "matmul_integer_i16",
     MATMUL},
    {.op = "QLinearMatMul",
     .first = 10,
     .types = {BYTES, FLOATS, BYTES, BYTES, FLOATS},
     .name = "qlinear_matmul_i16",
     MATMUL},
    {.op = "ConvInteger",
     .first = 10,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "conv_integer_i16",
     CONV},
    {.op = "QLinearConv",
     .first = 10,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "qlinear_conv_i16",
     CONV},
    {.op = "QConv",
     .first = 1,
     .types = {BYTES, ONX_T(F32), BYTES, BYTES, ONX_T(F32)},
     .name = "q_conv_bytes",
     .domain = "onx.internal",
     ONX_BYTES_CONV(init_bytes_conv)},
    {.op = "QConvInteger",
     .first = 1,
     .types = {BYTES, BYTES, BYTES, BYTES},
     .name = "q_conv_integer_bytes",
     .domain = "onx.internal",
     ONX_BYTES_CONV_INTEGER(init_bytes_conv)},
    {.op = "QMaxPool",
     .first = 1,
     .types = {BYTES},
     .name = "q_max_pool_bytes",
     .domain = "onx.internal",
     .plan_bytes = sizeof(onx_images),
     .init = onx_qmaxpool_init,
     .bind = onx_qmaxpool_bind,
     .run = run_max_pool},
    {.op = "QTable",
     .first = 1,
     .types = {BYTES, BYTES},
     .name = "q_table_bytes",
     .domain = "onx.internal",
     .overwrite = 1,
     .bind = onx_qtable_bind,
     .run = run_table},
    {0},
};
