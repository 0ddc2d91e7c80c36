/* detect_ref.h: the plain kernels of NonMaxSuppression and RoiAlign. */
#ifndef ONX_DETECT_REF_H
#define ONX_DETECT_REF_H

#include "rt/kernel.h"

onx_status onx_suppress_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_suppress_run(onx_call *call) ONX_MUST_CHECK;

onx_status onx_roi_align_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_roi_align_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_roi_align_run(onx_call *call) ONX_MUST_CHECK;

#endif
