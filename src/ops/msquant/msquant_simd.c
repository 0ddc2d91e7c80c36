/* msquant_simd.c: products of bytes in com.microsoft, and bytes element by element: the plain
 * kernels with vectors in the innermost loop. The same bits. */
#include "cpu/nbits.h"
#include "cpu/qgemm.h"
#include "cpu/vec_look.h"
#include "ops/msquant/msquant_ref.h"
#include "ops/quant/product_ref.h"

static onx_status run(onx_call *call) {
    return onx_qmatmul_run_with(call, VF > 4 ? onx_dots : onx_dots_plain);
}

static inline vf less(const uint8_t *p, size_t n, int32_t flip, int32_t zero) {
    return vf_float((vi_load_bytes(p, n) ^ flip) - (flip + zero));
}

static inline void some(const onx_qbinary *j, size_t n, const uint8_t *a, const uint8_t *b,
                        uint8_t *to) {
    vf p = less(a, n, j->flip, j->a_zero), q = less(b, n, j->flip, j->b_zero);
    vf x = j->product ? p * q * j->by_a : p * j->by_a + q * j->by_b;
    x = vf_min(vf_max(x + (float)j->c_zero, vf_set((float)j->lo)), vf_set((float)(j->lo + 255)));
    vi_store_bytes(to, vf_int(x), n);
}

static void span(const onx_qbinary *j, size_t n, const uint8_t *a, const uint8_t *b, uint8_t *to) {
    const onx_qbinary held = *j;
    size_t i = 0;
    for (; i + VF <= n; i += VF) some(&held, VF, a + i, b + i, to + i);
    if (i < n) some(&held, n - i, a + i, b + i, to + i);
}
static onx_status run_add(onx_call *call) {
    return onx_qbinary_run(call, false, span);
}
static onx_status run_mul(onx_call *call) {
    return onx_qbinary_run(call, true, span);
}

static onx_status run_concat(onx_call *call) {
    return onx_qconcat_run_with(call, look);
}
static onx_status run_sigmoid(onx_call *call) {
    return onx_qsigmoid_run_with(call, look);
}

#define F32 ONX_T(F32)
#define BYTES (ONX_T(I8) | ONX_T(U8))
static onx_status init(onx_call *call) {
    return onx_bytes_matmul_init(call, &ONX_TIER(onx_qgemm));
}

#define BYTES_ROW(op_, name_, b_)                                                                  \
    .op = op_, .first = 1, .name = name_, .domain = "com.microsoft", ONX_BYTES_MATMUL(init, b_)
#define ROW(op_, name_)                                                                            \
    .op = op_, .first = 1, .name = name_, .domain = "com.microsoft",                               \
    .plan_bytes = sizeof(onx_matmul_plan), .init = onx_qmatmul_init, .bind = onx_qmatmul_bind,     \
    .run = run

#define BINARY(op_, name_, run_)                                                                   \
    .op = op_, .first = 1, .name = name_, .domain = "com.microsoft",                               \
    .types = {BYTES, F32, BYTES, BYTES, F32}, .overwrite = 1 | 1 << 3, .bind = onx_qbinary_bind,   \
    .run = run_

extern onx_kernel_rows ONX_TIER(onx_kernels_msquant);
onx_kernel_rows ONX_TIER(onx_kernels_msquant) = {
    {BYTES_ROW("DynamicQuantizeMatMul", "dynamic_quantize_matmul_bytes", 1),
     .types = {F32, BYTES, F32, BYTES, F32}},
    {BYTES_ROW("MatMulIntegerToFloat", "matmul_integer_to_float_bytes", 1),
     .types = {BYTES, BYTES, F32, F32, BYTES}},
    {BYTES_ROW("QGemm", "q_gemm_bytes", 3), .types = {BYTES, F32, BYTES, BYTES, F32}},
    {ROW("DynamicQuantizeMatMul", "dynamic_quantize_matmul_i16"),
     .types = {F32, BYTES, F32, BYTES, F32}},
    {ROW("MatMulIntegerToFloat", "matmul_integer_to_float_i16"),
     .types = {BYTES, BYTES, F32 | ONX_T(F16), F32 | ONX_T(F16), BYTES}},
    {ROW("QGemm", "q_gemm_i16"), .types = {BYTES, F32, BYTES, BYTES, F32}},
    {.op = "MatMulNBits",
     .first = 1,
     .name = "matmul_n_bits_i16",
     .domain = "com.microsoft",
     .types = {F32, ONX_T(U8), F32, ONX_T(U8), 0, F32},
     .init = ONX_TIER(onx_nbits_fixed_init),
     .bind = ONX_TIER(onx_nbits_fixed_bind),
     .run = ONX_TIER(onx_nbits_fixed_run)},
    {.op = "MatMulNBits",
     .first = 1,
     .name = "matmul_n_bits_f32",
     .domain = "com.microsoft",
     .types = {F32, ONX_T(U8), F32, ONX_T(U8), 0, F32},
     .init = ONX_TIER(onx_nbits_init),
     .bind = ONX_TIER(onx_nbits_bind),
     .run = ONX_TIER(onx_nbits_run)},
    {BINARY("QLinearAdd", "qlinear_add_bytes", run_add)},
    {BINARY("QLinearMul", "qlinear_mul_bytes", run_mul)},
    {.op = "QLinearConcat",
     .first = 1,
     .name = "qlinear_concat_bytes",
     .domain = "com.microsoft",
     .types = {F32, BYTES},
     .init = onx_qconcat_init,
     .bind = onx_qconcat_bind,
     .run = run_concat},
    {.op = "QLinearSigmoid",
     .first = 1,
     .name = "qlinear_sigmoid_bytes",
     .domain = "com.microsoft",
     .types = {BYTES, F32, BYTES, F32, BYTES},
     .overwrite = 1,
     .bind = onx_qsigmoid_bind,
     .run = run_sigmoid},
    {0},
};
