/* constant.h: the value of a Constant node; for the files of this folder. */
#ifndef ONX_CONSTANT_H
#define ONX_CONSTANT_H

#include "ir/ir.h"

/* The tensor that the node stands for, whichever attribute it is written in: one of the model, or a
 * new one in the arena that borrows the attribute's bytes. INVALID when there is none or more than
 * one, UNSUPPORTED when it is sparse. */
onx_status onx_constant_tensor(const onx_node *node, onx_arena *arena, const onx_tensor **out,
                               onx_diag *diag) ONX_MUST_CHECK;

#endif
