/* matmul.h: inference of matrix products, for the families that have some. */
#ifndef ONX_MATMUL_H
#define ONX_MATMUL_H

#include "ops/op.h"

/* Output 0: the product of inputs `a` and `b`, as numpy.matmul makes it. */
onx_status onx_infer_matmul(onx_infer *in, size_t a, size_t b, onx_dtype dtype) ONX_MUST_CHECK;

#endif
