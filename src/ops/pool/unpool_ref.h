/* unpool_ref.h: the plain kernels of MaxUnpool and MaxRoiPool. */
#ifndef ONX_UNPOOL_REF_H
#define ONX_UNPOOL_REF_H

#include "rt/kernel.h"

onx_status onx_unpool_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_unpool_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_unpool_run(onx_call *call) ONX_MUST_CHECK;

onx_status onx_roi_pool_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_roi_pool_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_roi_pool_run(onx_call *call) ONX_MUST_CHECK;

#endif
