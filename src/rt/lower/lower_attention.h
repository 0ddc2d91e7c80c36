/* lower_attention.h: what makes nodes of onx.internal::Attend (ops/attention/attend_view.h). */
#ifndef ONX_LOWER_ATTENTION_H
#define ONX_LOWER_ATTENTION_H

#include "rt/lower/trace.h"

typedef struct onx_attend_parts {
    onx_value *in[3 + ONX_ATTEND_BIASES]; /* Q, K, V, and the biases */
    onx_view views[3];
    float scale;
    size_t n_biases;
    int64_t mode[ONX_ATTEND_BIASES];
    float fill[ONX_ATTEND_BIASES];
    size_t rank; /* of the result */
    int64_t order[ONX_VIEW_DIMS];
    int64_t causal, guard;
} onx_attend_parts;

/* The node becomes that. */
onx_status onx_attend_make(onx_pass_ctx *ctx, onx_node *node, const onx_attend_parts *parts)
    ONX_MUST_CHECK;
/* A Transpose is all that is done with the result of `node`: the node that it is, and its order
 * of dimensions to that of the result; else `node`, and the order stays. */
onx_node *onx_attend_turned(onx_pass_ctx *ctx, onx_node *node, size_t rank, int64_t *order);

/* lower_attention_op.c: a node of ai.onnx's Attention, or com.microsoft's MultiHeadAttention, where
 * it has no past. */
onx_status onx_lower_attention_op(onx_pass_ctx *ctx, onx_node *node) ONX_MUST_CHECK;

#endif
