/* compress_ref.h: Compress and NonZero, for the table in gather_ref.c. */
#ifndef ONX_COMPRESS_REF_H
#define ONX_COMPRESS_REF_H

#include "rt/kernel.h"

onx_status onx_compress_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_compress_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_nonzero_run(onx_call *call) ONX_MUST_CHECK;

#endif
