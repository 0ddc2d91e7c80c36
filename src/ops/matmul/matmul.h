/* matmul.h: the shapes of products, for the families that have products of their own. */
#ifndef ONX_MATMUL_H
#define ONX_MATMUL_H

#include "ops/op.h"

/* Output 0 is the product, of `dtype`: A[…,m,k] B[…,k,n], where the sizes before the last two
 * broadcast. One dimension alone is k, and no dimension of the result comes of it. */
onx_status onx_infer_matmul(onx_infer *in, const onx_fact *a, const onx_fact *b, onx_dtype dtype)
    ONX_MUST_CHECK;
/* Output 0 is A B + C, of matrices, turned over as transA and transB say. */
onx_status onx_infer_gemm(onx_infer *in, size_t a_index, size_t b_index, size_t c_index,
                          onx_dtype dtype) ONX_MUST_CHECK;

#endif
