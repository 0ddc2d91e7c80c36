/* attend_bf16.h: onx.internal::Attend with products in bfloat16 (cpu/gemm_bf16.h), for numerics
 * FAST: what the tiers bf16 and amx share.
 *
 *     S [key][lane] = K Qᵀ            K and Qᵀ rounded
 *     P = exp(S - largest)            rounded, but not its sum
 *     Yᵀ [column][lane] += Vᵀ P       V rounded
 *
 * K and Vᵀ of every head are packed before, once for all rows. */
#ifndef ONX_ATTEND_BF16_H
#define ONX_ATTEND_BF16_H

#include "cpu/gemm_bf16.h"
#include "ops/attention/fused_simd.h"

/* The functions of an onx_attend_other; those that multiply are given the kernel. */
bool onx_attend_bind_bf16(const onx_fused_plan *p, size_t *shared, size_t *each);
bool onx_attend_by_rows_bf16(const onx_fused_plan *p);
onx_status onx_attend_pack_bf16(onx_call *call, const onx_fused_plan *p, void *shared)
    ONX_MUST_CHECK;
void onx_attend_begin_bf16(const onx_attend_unit *u);
void onx_attend_scores_bf16(const onx_attend_unit *u, int64_t key, size_t n,
                            onx_bf16_kernel *kernel);
void onx_attend_values_bf16(const onx_attend_unit *u, int64_t key, size_t n,
                            onx_bf16_kernel *kernel);

#define ONX_ATTEND_ROWS_BF16(bind_, run_)                                                          \
    {                                                                                              \
        {.op = "Attend",                                                                           \
         .first = 1,                                                                               \
         .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32), ONX_T(F32) | ONX_T(BOOL)},                  \
         .name = "attend_fast",                                                                    \
         .flags = ONX_KERNEL_FAST,                                                                 \
         .plan_bytes = sizeof(onx_attend_plan),                                                    \
         .domain = "onx.internal",                                                                 \
         .init = onx_fused_init,                                                                   \
         .bind = bind_,                                                                            \
         .run = run_},                                                                             \
            {0},                                                                                   \
    }

#endif
