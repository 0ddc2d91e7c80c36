/* qmaxpool_ref.h: QMaxPool: the largest byte of a window, over images with their channels last. The
 * plan is an onx_images, as if the channels were not last. */
#ifndef ONX_QMAXPOOL_REF_H
#define ONX_QMAXPOOL_REF_H

#include "ops/conv/conv_ref.h"

onx_status onx_qmaxpool_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qmaxpool_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qmaxpool_run(onx_call *call) ONX_MUST_CHECK;
/* to[i] becomes the largest of to[i] and all x[j][i], with these bits turned. */
typedef void onx_larger_fn(uint8_t *to, size_t count, const uint8_t *const *x, size_t n,
                           uint8_t flip);
onx_status onx_qmaxpool_run_with(onx_call *call, onx_larger_fn *larger) ONX_MUST_CHECK;

#endif
