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

/* The sum of n numbers of a type, not rounded in the end. In bfloat16, runs of 8 are summed in the
 * type: so rows of so many give what NumPy gives, which rounds after every addition, and longer
 * ones do not lose what they would lose there, where a sum of ones ends at 256. */
double onx_softmax_sum(onx_dtype dtype, const double *x, int64_t n);

onx_status onx_softmax_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_softmax_bind(onx_call *call) ONX_MUST_CHECK;

#endif
