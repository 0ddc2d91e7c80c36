/* microsoft_ref.h: the kernels of com.microsoft; their rows are in microsoft_ref.c. */
#ifndef ONX_MICROSOFT_REF_H
#define ONX_MICROSOFT_REF_H

#include "rt/kernel.h"

#define ONX_MS_FLOATS (ONX_T(F32) | ONX_T(F16) | ONX_T(BF16))

/* ms_matmul_ref.c */
onx_status onx_ms_matmul_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_matmul_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_gemm_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_gemm_run(onx_call *call) ONX_MUST_CHECK;

/* ms_norm_ref.c */
onx_status onx_ms_norm_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_skip_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_skip_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_embed_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_embed_run(onx_call *call) ONX_MUST_CHECK;

/* ms_rotary_ref.c */
onx_status onx_ms_rotary_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_rotary_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_rotary_run(onx_call *call) ONX_MUST_CHECK;

/* ms_attention_ref.c, ms_multi_head_ref.c (with ms_heads_ref.c), ms_group_query_ref.c. Their plans
 * are at most this large. */
enum { ONX_MS_PLAN = 192 };
onx_status onx_ms_attention_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_attention_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_attention_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_multi_head_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_multi_head_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_multi_head_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_group_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_group_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_ms_group_run(onx_call *call) ONX_MUST_CHECK;

#endif
