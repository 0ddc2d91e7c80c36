/* conv_amx.c: ConvBlocked with weights of float16, or for numerics FAST, on tiles of AMX
 * (cpu/conv_half_amx.c), and Conv with its products on them (conv_bf16.h). All but the products is
 * that of avx512. */
#undef ONX_ISA
#define ONX_ISA avx512 /* whose blocks and programs these are */
#include "cpu/amx.h"
#include "ops/conv/conv_bf16.h"
#include "ops/conv/conv_plan_simd.h"

static onx_status init_half(onx_call *call) {
    return onx_conv_blocked_init_staged_avx512(call, &onx_conv_half_amx);
}
static onx_status init_rounded(onx_call *call) {
    return onx_conv_blocked_init_staged_avx512(call, &onx_conv_rounded_amx);
}

static void multiply(const void *weights, const void *panel, size_t k, size_t row, size_t end,
                     float *sums) {
    onx_conv_multiply_bf16(weights, panel, k, row, end, sums, onx_bf16_kernel_amx);
}
static const onx_conv_columns_other products =
    ONX_CONV_OTHER_BF16(onx_amx_begin, multiply, onx_amx_end);

static onx_status init_fast(onx_call *call) {
    return onx_conv_columns_init_other_avx512(call, &products);
}

extern onx_kernel_rows onx_kernels_conv_amx;
#define BLOCKED(name_, flags_, weights, init_)                                                     \
    {                                                                                              \
        .op = "ConvBlocked", .first = 1, .types = {ONX_T(F32), weights, ONX_T(F32), ONX_T(F32)},   \
        .name = name_, .flags = flags_, .overwrite = 1 << 3, .packs = 1 << 1,                      \
        .plan_bytes = sizeof(onx_conv_plan), .domain = "onx.internal", .init = init_,              \
        .pack_bytes = onx_conv_pack_bytes_avx512, .pack = onx_conv_pack_avx512,                    \
        .bind = onx_conv_blocked_bind_avx512, .run = onx_conv_blocked_run_avx512                   \
    }
onx_kernel_rows onx_kernels_conv_amx = {
    BLOCKED("conv_blocked_fast", ONX_KERNEL_FAST, ONX_T(F32) | ONX_T(F16), init_rounded),
    BLOCKED("conv_blocked_f16", 0, ONX_T(F16), init_half),
    ONX_CONV_ROW_BF16(init_fast),
    {0},
};
