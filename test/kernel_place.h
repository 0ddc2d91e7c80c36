/* kernel_place.h: run a kernel as an engine may: operands at odd addresses or over one another,
 * inputs constant, little known ahead, several threads; and see that it keeps the contract of
 * rt/kernel.h. */
#ifndef ONX_TEST_KERNEL_PLACE_H
#define ONX_TEST_KERNEL_PLACE_H

#include "kernel.h"

typedef struct kernel_way {
    size_t shift;    /* operands begin so many bytes past a multiple of ONX_ALIGN */
    uint8_t pattern; /* what outputs and scratch are filled with before the run */
    bool over;       /* output 0 is the memory of input `which` */
    bool vague;      /* init knows types, but no sizes */
    size_t which;
    uint32_t constant; /* bit i: input i is */
    onx_run *run;      /* for its threads; NULL: none */
} kernel_way;

/* init sees types, sizes and constants; bind also inputs of the mask `host`; nothing else may be
 * looked at. Inputs lie in memory of just their size, outputs between guards. The status is that of
 * the kernel; CHANGED when bytes beyond an output were written, UNSUPPORTED and no kernel when no
 * row takes the node, or does not allow the way. Free the result with kernel_free. */
kernel_result kernel_run_way(const onx_provider *provider, const onx_node *node, size_t n_in,
                             onx_operand *const *in, const kernel_way *way);

/* As kernel_run, but output 0 is the memory of in[which], which is changed. False when no row takes
 * the node, the row does not allow it, or the run fails. */
bool kernel_in_place(const char *tier, int opset, const char *node, size_t n_in,
                     onx_operand *const *in, size_t which);

#endif
