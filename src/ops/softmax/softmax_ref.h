/* softmax_ref.h: what is normalized together: n elements, `inner` apart, for each of outer * inner
 * places. */
#ifndef ONX_SOFTMAX_REF_H
#define ONX_SOFTMAX_REF_H

#include "rt/kernel.h"

typedef struct onx_softmax_state {
    int64_t axis;
    bool flat; /* before opset 13: everything from the axis on is one */
    bool log, hard;
} onx_softmax_state;
typedef struct onx_softmax_plan {
    int64_t outer, n, inner; /* the input is [outer][n][inner] */
} onx_softmax_plan;

onx_status onx_softmax_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_softmax_bind(onx_call *call) ONX_MUST_CHECK;

#endif
