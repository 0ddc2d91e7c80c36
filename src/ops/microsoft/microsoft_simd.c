/* microsoft_simd.c: attention of com.microsoft in float32: the plain kernels, with products and
 * powers on vectors (ops/attention/attend_rows_simd.c). */
#include "cpu/vec.h"
#include "ops/microsoft/ms_group_ref.h"
#include "ops/microsoft/ms_heads_ref.h"

extern const onx_attend_vectors ONX_TIER(onx_attend_vectors);

static onx_status with_vectors(onx_call *call) {
    ((onx_ms_state *)call->state)->vectors = &ONX_TIER(onx_attend_vectors);
    return ONX_OK;
}
static onx_status attention_init(onx_call *call) {
    ONX_TRY(onx_ms_attention_init(call));
    return with_vectors(call);
}
static onx_status multi_head_init(onx_call *call) {
    ONX_TRY(onx_ms_multi_head_init(call));
    return with_vectors(call);
}
static onx_status group_init(onx_call *call) {
    ONX_TRY(onx_ms_group_init(call));
    ((onx_ms_group *)call->state)->vectors = &ONX_TIER(onx_attend_vectors);
    return ONX_OK;
}

#define F32 ONX_T(F32)
#define MS "com.microsoft"

extern onx_kernel_rows ONX_TIER(onx_kernels_microsoft);
onx_kernel_rows ONX_TIER(onx_kernels_microsoft) = {
    {.op = "Attention",
     .first = 1,
     .types = {F32, F32, F32, ONX_T(I32), F32, 0},
     .name = "ms_attention_f32",
     .plan_bytes = ONX_MS_PLAN,
     .domain = MS,
     .init = attention_init,
     .bind = onx_ms_attention_bind,
     .run = onx_ms_attention_run},
    {.op = "GroupQueryAttention",
     .first = 1,
     .types = {F32, F32, F32, F32, F32, 0},
     .name = "group_query_f32",
     .host = 1 << 6, /* total_sequence_length */
     .plan_bytes = ONX_MS_PLAN,
     .domain = MS,
     .init = group_init,
     .bind = onx_ms_group_bind,
     .run = onx_ms_group_run},
    {.op = "MultiHeadAttention",
     .first = 1,
     .types = {F32, F32, F32, F32, ONX_T(I32), 0},
     .name = "multi_head_f32",
     .plan_bytes = ONX_MS_PLAN,
     .domain = MS,
     .init = multi_head_init,
     .bind = onx_ms_multi_head_bind,
     .run = onx_ms_multi_head_run},
    {0},
};
