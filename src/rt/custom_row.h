/* custom_row.h: kernels of programs (onx_kernel_def) as rows of the engine. */
#ifndef ONX_CUSTOM_ROW_H
#define ONX_CUSTOM_ROW_H

#include "rt/kernel.h"

/* Which function of the kernel is running: what it may ask for depends on it. */
enum { ONX_PHASE_NONE, ONX_PHASE_INIT, ONX_PHASE_BIND, ONX_PHASE_RUN };

/* A table of all kernels that were added to the context, in the arena; NULL: there are none. */
onx_status onx_custom_rows(const onx_context *ctx, onx_arena *arena, const onx_kernel **out,
                           onx_diag *diag) ONX_MUST_CHECK;

#endif
