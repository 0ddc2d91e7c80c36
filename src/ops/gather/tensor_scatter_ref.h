/* tensor_scatter_ref.h: kernel of TensorScatter (tensor_scatter_ref.c). */
#ifndef ONX_TENSOR_SCATTER_REF_H
#define ONX_TENSOR_SCATTER_REF_H

#include "rt/kernel.h"

onx_status onx_tensor_scatter_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tensor_scatter_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tensor_scatter_run(onx_call *call) ONX_MUST_CHECK;

#endif
