/* conv_infer.h: inference of convolutions, for the families that have some. */
#ifndef ONX_CONV_INFER_H
#define ONX_CONV_INFER_H

#include "ops/op.h"

/* Output 0 of a convolution of input `x` with the weights of input `w`, and the bias of input
 * `bias`, which need not be there. */
onx_status onx_infer_conv(onx_infer *in, size_t x, size_t w, size_t bias, onx_dtype dtype)
    ONX_MUST_CHECK;
onx_infer_fn onx_infer_conv_transpose, onx_infer_deform_conv, onx_infer_col2im;
onx_body_fn onx_write_fused_conv; /* fused_conv.c */

#endif
