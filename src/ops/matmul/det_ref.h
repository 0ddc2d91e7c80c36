/* det_ref.h: kernel of Det (det_ref.c). */
#ifndef ONX_DET_REF_H
#define ONX_DET_REF_H

#include "rt/kernel.h"

onx_status onx_det_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_det_run(onx_call *call) ONX_MUST_CHECK;

#endif
