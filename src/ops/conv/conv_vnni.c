/* conv_vnni.c: ConvBlocked with weights of float16 in 16-bit integers (cpu/conv_half_vnni.c). All
 * but the products is that of avx512. */
#undef ONX_ISA
#define ONX_ISA avx512 /* whose blocks and programs these are */
#include "ops/conv/conv_plan_simd.h"

static onx_status init(onx_call *call) {
    return onx_conv_blocked_init_staged_avx512(call, &onx_conv_half_vnni);
}

extern onx_kernel_rows onx_kernels_conv_vnni;
onx_kernel_rows onx_kernels_conv_vnni = {
    {.op = "ConvBlocked",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F16), ONX_T(F32), ONX_T(F32)},
     .name = "conv_blocked_f16",
     .overwrite = 1 << 3,
     .packs = 1 << 1,
     .plan_bytes = sizeof(onx_conv_plan),
     .domain = "onx.internal",
     .init = init,
     .pack_bytes = onx_conv_pack_bytes_avx512,
     .pack = onx_conv_pack_avx512,
     .bind = onx_conv_blocked_bind_avx512,
     .run = onx_conv_blocked_run_avx512},
    {0},
};
