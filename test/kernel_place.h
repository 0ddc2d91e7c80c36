/* kernel_place.h: run a kernel with its output written over one of its inputs, as the planner
 * arranges it where the row allows that. */
#ifndef ONX_TEST_KERNEL_PLACE_H
#define ONX_TEST_KERNEL_PLACE_H

#include "kernel.h"

/* As kernel_run, but output 0 is the memory of in[which], which is changed. False when no row takes
 * the node, the row does not allow it, or the run fails. */
bool kernel_in_place(const char *tier, int opset, const char *node, size_t n_in,
                     onx_operand *const *in, size_t which);

#endif
