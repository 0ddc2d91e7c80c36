/* script_debug.h: where the user's Python wrote what a file of TorchScript's source says, from the
 * pickle beside it. Never fails: what cannot be read is not known. */
#ifndef ONX_SCRIPT_DEBUG_H
#define ONX_SCRIPT_DEBUG_H

#include "export/script.h"

typedef struct onx_script_debug onx_script_debug;

onx_script_debug *onx_script_debug_new(onx_context *ctx, onx_str bytes); /* NULL: no memory */
void onx_script_debug_free(onx_script_debug *debug);                     /* may be NULL */
/* "model.py:12", in `arena`, of the byte `at` of the source; empty: not known. */
onx_str onx_script_debug_find(onx_script_debug *debug, onx_arena *arena, uint32_t at);

#endif
