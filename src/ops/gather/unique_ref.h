/* unique_ref.h: kernel of Unique (unique_ref.c). */
#ifndef ONX_UNIQUE_REF_H
#define ONX_UNIQUE_REF_H

#include "rt/kernel.h"

onx_status onx_unique_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_unique_run(onx_call *call) ONX_MUST_CHECK;

#endif
