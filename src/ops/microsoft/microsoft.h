/* microsoft.h: inference of the operators of com.microsoft; the rows are in microsoft.c. */
#ifndef ONX_MICROSOFT_H
#define ONX_MICROSOFT_H

#include "ops/op.h"

/* ms_attention.c */
onx_infer_fn onx_infer_ms_attention, onx_infer_ms_multi_head, onx_infer_ms_group_query,
    onx_infer_ms_rotary, onx_infer_ms_skip_norm, onx_infer_ms_embed_norm, onx_infer_ms_bias_gelu;
/* ms_matmul.c */
onx_infer_fn onx_infer_ms_fused_matmul, onx_infer_ms_fused_gemm;

#endif
