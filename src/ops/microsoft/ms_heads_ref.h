/* ms_heads_ref.h: what Attention and MultiHeadAttention of com.microsoft share: attributes, masks,
 * the past, and the run of what they have made of their inputs. */
#ifndef ONX_MS_HEADS_REF_H
#define ONX_MS_HEADS_REF_H

#include "ops/attention/attend_ref.h"
#include "ops/microsoft/microsoft_ref.h"

typedef struct onx_ms_state {
    int64_t heads;
    float scale, filter; /* scale 0: by the size of a head; filter: what hides a key */
    bool causal;
    bool shared;                       /* past and present, if there are any, are of one size */
    int64_t widths[3];                 /* of query, key and value; 0: equal */
    const onx_attend_vectors *vectors; /* of the tier; NULL: none */
} onx_ms_state;

typedef struct onx_ms_plan {
    int64_t batch, q_len, kv_len, head, v_head;
    int64_t past;              /* rows of the past; if it is shared, what it could hold */
    int64_t most;              /* keys, at most */
    bool shared;               /* the past fills a part of its tensor; new keys go behind it */
    size_t mask, bias, length; /* inputs: the mask, what is added, how long a shared past is */
} onx_ms_plan;

/* Query, key and value, and what was there before and is to be kept; `data` NULL: absent. */
typedef struct onx_ms_rows {
    onx_rows q, k[2], v[2], present_k, present_v;
    onx_rows beam_k, beam_v; /* the past as it is looked at, if it is not that which is kept */
    onx_operand *shown;
} onx_ms_rows;

onx_status onx_ms_heads_init(onx_call *call) ONX_MUST_CHECK;
/* bind: shapes of attention_bias, and scratch. */
onx_status onx_ms_heads_bind(onx_call *call, const onx_ms_plan *plan) ONX_MUST_CHECK;
/* run: how many rows of the past count. */
onx_status onx_ms_heads_past(const onx_call *call, int64_t *past) ONX_MUST_CHECK;
onx_status onx_ms_heads_run(onx_call *call, const onx_ms_rows *rows) ONX_MUST_CHECK;

#endif
