/* microsoft_ref.c: attention, norms and products of com.microsoft: the rows of their plain kernels.
 * The activations among them run by their bodies. */
#include "ops/microsoft/microsoft_ref.h"
#include "ops/attention/rotary_ref.h"
#include "ops/einsum/contract_ref.h"
#include "ops/matmul/matmul_ref.h"

#define F32 ONX_MS_FLOATS
#define PRODUCT (ONX_T_FLOATS | ONX_T(I32) | ONX_T(I64) | ONX_T(U32) | ONX_T(U64))
#define I32 ONX_T(I32)
#define MS "com.microsoft"

#define SKIP(op_, name_)                                                                           \
    {                                                                                              \
        .op = op_, .first = 1, .types = {F32, F32, F32, F32, F32}, .name = name_, .domain = MS,    \
        .init = onx_ms_norm_init, .bind = onx_ms_skip_bind, .run = onx_ms_skip_run                 \
    }

extern onx_kernel_rows onx_kernels_microsoft_ref;
onx_kernel_rows onx_kernels_microsoft_ref = {
    {.op = "Attention",
     .first = 1,
     .types = {F32, F32, F32, I32, F32, 0},
     .name = "ms_attention",
     .plan_bytes = ONX_MS_PLAN,
     .domain = MS,
     .init = onx_ms_attention_init,
     .bind = onx_ms_attention_bind,
     .run = onx_ms_attention_run},
    {.op = "EmbedLayerNormalization",
     .first = 1,
     .types = {I32, I32, ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, 0},
     .name = "embed_norm",
     .domain = MS,
     .init = onx_ms_norm_init,
     .bind = onx_ms_embed_bind,
     .run = onx_ms_embed_run},
    {.op = "FusedGemm",
     .first = 1,
     .types = {PRODUCT, PRODUCT, PRODUCT},
     .name = "fused_gemm",
     .plan_bytes = sizeof(onx_matmul_plan),
     .domain = MS,
     .init = onx_ms_gemm_init,
     .bind = onx_matmul_bind_ref_gemm,
     .run = onx_ms_gemm_run},
    {.op = "FusedMatMul",
     .first = 1,
     .types = {ONX_T_FLOATS, ONX_T_FLOATS},
     .name = "fused_matmul",
     .domain = MS,
     .init = onx_ms_matmul_init,
     .bind = onx_ms_matmul_bind,
     .run = onx_contract_run},
    {.op = "GroupQueryAttention",
     .first = 1,
     .types = {F32, F32, F32, F32 | ONX_T(I8) | ONX_T(U8), F32 | ONX_T(I8) | ONX_T(U8), 0},
     .name = "group_query",
     .host = 1 << 6, /* total_sequence_length */
     .plan_bytes = ONX_MS_PLAN,
     .domain = MS,
     .init = onx_ms_group_init,
     .bind = onx_ms_group_bind,
     .run = onx_ms_group_run},
    {.op = "MultiHeadAttention",
     .first = 1,
     .types = {F32, F32, F32, F32, I32, 0},
     .name = "multi_head",
     .plan_bytes = ONX_MS_PLAN,
     .domain = MS,
     .init = onx_ms_multi_head_init,
     .bind = onx_ms_multi_head_bind,
     .run = onx_ms_multi_head_run},
    {.op = "RotaryEmbedding",
     .first = 1,
     .types = {F32, ONX_T(I64), F32, F32},
     .name = "ms_rotary",
     .overwrite = 1,
     .plan_bytes = sizeof(onx_rotary_plan),
     .domain = MS,
     .init = onx_ms_rotary_init,
     .bind = onx_ms_rotary_bind,
     .run = onx_ms_rotary_run},
    SKIP("SkipLayerNormalization", "skip_norm"),
    SKIP("SkipSimplifiedLayerNormalization", "skip_simplified_norm"),
    {0},
};
