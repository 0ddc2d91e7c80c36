/* topk_ref.h: TopK, for the table in gather_ref.c. */
#ifndef ONX_TOPK_REF_H
#define ONX_TOPK_REF_H

#include "rt/kernel.h"

onx_status onx_topk_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_topk_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_topk_run(onx_call *call) ONX_MUST_CHECK;

#endif
