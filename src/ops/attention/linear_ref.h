/* linear_ref.h: the kernels of LinearAttention and CausalConvWithState; rows in attention_ref.c. */
#ifndef ONX_LINEAR_REF_H
#define ONX_LINEAR_REF_H

#include "ops/attention/attend_ref.h"

typedef struct onx_linear_state {
    int64_t q_heads, kv_heads;
    float scale; /* 0: by the size of a head */
} onx_linear_state;
typedef struct onx_linear_plan {
    int64_t batch, length, q_heads, kv_heads, head, v_head;
    int64_t decays; /* of a head: 1, or its size; 0: none */
    int64_t rates;  /* betas of a place: 1, or one for each head; 0: none */
} onx_linear_plan;
onx_status onx_linear_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_linear_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_linear_run(onx_call *call) ONX_MUST_CHECK;

typedef struct onx_causal_conv_state {
    bool activates;
} onx_causal_conv_state;
onx_status onx_causal_conv_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_causal_conv_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_causal_conv_run(onx_call *call) ONX_MUST_CHECK;

#endif
