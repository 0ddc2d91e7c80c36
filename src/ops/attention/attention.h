/* attention.h: what the operators of attention share, those of com.microsoft too. */
#ifndef ONX_ATTENTION_H
#define ONX_ATTENTION_H

#include "ops/op.h"

#define ONX_SIZES(...) ((onx_extent *const[]){__VA_ARGS__})

/* The sizes that query, key, value and what was there before have in common. */
typedef struct onx_heads {
    onx_extent batch, q_heads, kv_heads, q_len, kv_len, head, v_head, past, total;
    onx_extent q_hidden, k_hidden, v_hidden; /* of tensors of rank 3: heads * size of a head */
} onx_heads;
extern const onx_heads onx_heads_unknown; /* to begin with: they have only their names */

/* A hidden size is `heads` times the size of a head. */
onx_status onx_infer_heads(onx_infer *in, const onx_extent *hidden, const onx_sym *heads,
                           onx_extent *head) ONX_MUST_CHECK;
/* Query heads share those of key and value evenly. */
onx_status onx_infer_grouped(onx_infer *in, const onx_sym *q_heads, const onx_sym *kv_heads)
    ONX_MUST_CHECK;
/* The hidden size with `others` heads, of the size that they have where `heads` make `hidden`. */
const onx_sym *onx_infer_joined(onx_infer *in, const onx_sym *hidden, const onx_sym *heads,
                                const onx_sym *others);
/* The type that FlexAttention computes scores in; NONE: the attribute names no type. */
onx_dtype onx_flex_precision(const onx_op *op, const onx_node *node, onx_dtype dtype);

/* attention_body.c, rotary_body.c, linear_body.c */
onx_body_fn onx_attention_body, onx_flex_attention_body, onx_rotary_body, onx_linear_attention_body,
    onx_causal_conv_body;

#endif
