/* transpose_ref.h: Transpose, but for how a tile is moved; for the files of this folder. */
#ifndef ONX_TRANSPOSE_REF_H
#define ONX_TRANSPOSE_REF_H

#include "ops/view/move_ref.h"

onx_status onx_transpose_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_transpose_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_transpose_run(onx_call *call, onx_copy_tile *tile)
    ONX_MUST_CHECK; /* NULL: plain loops */

#endif
