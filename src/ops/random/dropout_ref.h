/* dropout_ref.h: Dropout, for the table of its family. */
#ifndef ONX_DROPOUT_REF_H
#define ONX_DROPOUT_REF_H

#include "rt/kernel.h"

#define ONX_DROPOUT_TYPES                                                                          \
    (ONX_T_FLOATS | ONX_T(F8E4M3FN) | ONX_T(F8E4M3FNUZ) | ONX_T(F8E5M2) | ONX_T(F8E5M2FNUZ))

/* For nodes that surely drop nothing, and whose mask nobody wants. */
onx_status onx_dropout_init_none(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dropout_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dropout_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dropout_run(onx_call *call) ONX_MUST_CHECK;

#endif
