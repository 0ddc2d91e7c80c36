/* decoder.h: a small transformer decoder with made-up weights, as models and as plain arithmetic,
 * so that a test can compare what an engine computes with what is right.
 *
 *     token, position ─▶ embedding ─▶ layers × (norm, attention over past and present, norm, MLP)
 *                     ─▶ norm ─▶ logits ─▶ the most likely next token */
#ifndef TEST_DECODER_H
#define TEST_DECODER_H

#include "onx.h"

typedef struct decoder {
    size_t d_model, heads, layers, vocab; /* d_model: a multiple of heads */
    size_t positions;                     /* how many tokens there can be */
} decoder;

/* One token: inputs token int64[1,1], position int64[1], past_k_0, past_v_0 …
 * float[1,heads,past,d_model/heads]; outputs logits float[1,1,vocab], next int64[1,1], present_k_0,
 * present_v_0 …, which are longer by one. */
onx_model *decoder_step_model(const decoder *d);
/* Many tokens, in a Loop: inputs steps int64, token int64[1,1]; outputs tokens int64[steps,1,1],
 * all_logits float[steps,1,1,vocab]. */
onx_model *decoder_loop_model(const decoder *d);
/* The same without any engine, in double: tokens[steps] and logits[steps][vocab]. False when there
 * is no memory. */
bool decoder_compute(const decoder *d, int64_t token, size_t steps, int64_t *tokens,
                     double *logits);

#endif
