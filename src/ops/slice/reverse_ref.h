/* reverse_ref.h: ReverseSequence, for the table in slice_ref.c. */
#ifndef ONX_REVERSE_REF_H
#define ONX_REVERSE_REF_H

#include "rt/kernel.h"

onx_status onx_reverse_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_reverse_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_reverse_run(onx_call *call) ONX_MUST_CHECK;

#endif
