/* scatter_ref.h: ScatterElements and ScatterND, for the table in gather_ref.c. */
#ifndef ONX_SCATTER_REF_H
#define ONX_SCATTER_REF_H

#include "ops/view/move_ref.h"

onx_status onx_scatter_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_scatter_elements_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_scatter_elements_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_scatter_nd_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_scatter_nd_run(onx_call *call) ONX_MUST_CHECK;

#endif
