/* combine_ref.h: two elements of any type become one: the reductions of the Scatter operators. */
#ifndef ONX_COMBINE_REF_H
#define ONX_COMBINE_REF_H

#include "rt/kernel.h"

typedef enum onx_reduction {
    ONX_REDUCE_NONE,
    ONX_REDUCE_ADD,
    ONX_REDUCE_MUL,
    ONX_REDUCE_MAX,
    ONX_REDUCE_MIN,
} onx_reduction;

/* Is it defined for elements of this type? Strings have no product; packed types are not
 * combined. */
bool onx_combine_knows(onx_dtype dtype, onx_reduction how);
/* *to = *to `how` *from. Strings are an onx_str each, and sums of them lie in the arena; `own`: *to
 * is such a sum already. False: no memory. */
bool onx_combine(onx_dtype dtype, onx_reduction how, char *to, const char *from, bool own,
                 onx_arena *arena) ONX_MUST_CHECK;

#endif
