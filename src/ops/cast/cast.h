/* cast.h: what Cast's attribute `to` means, for its rows and for the kernel. */
#ifndef ONX_CAST_H
#define ONX_CAST_H

#include "ops/op.h"

/* The type that a Cast node gives; ONX_DTYPE_NONE when `to` is none of them. */
onx_dtype onx_cast_to(const onx_op *op, const onx_node *node);

#endif
