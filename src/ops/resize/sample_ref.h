/* sample_ref.h: the plain kernels of GridSample and AffineGrid. */
#ifndef ONX_SAMPLE_REF_H
#define ONX_SAMPLE_REF_H

#include "rt/kernel.h"

onx_status onx_grid_sample_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_grid_sample_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_grid_sample_run(onx_call *call) ONX_MUST_CHECK;

onx_status onx_affine_grid_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_affine_grid_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_affine_grid_run(onx_call *call) ONX_MUST_CHECK;

#endif
