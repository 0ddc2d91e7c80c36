/* eval.h: compute one node, outside a program: constant folding, and tests of kernels. */
#ifndef ONX_EVAL_H
#define ONX_EVAL_H

#include "rt/provider.h"

/* Outputs that are not wanted are NULL; the others come back as dense tensors (their data is to be
 * freed) or objects (to be released): onx_eval_clear does both. UNSUPPORTED when no row of the
 * provider takes the node. `kernel`, when not NULL, tells which one ran. */
onx_status onx_eval_node(onx_context *ctx, const onx_provider *provider, const onx_node *node,
                         size_t n_in, onx_operand *const *in, size_t n_out, onx_operand *const *out,
                         const onx_kernel **kernel, onx_diag *diag) ONX_MUST_CHECK;
void onx_eval_clear(onx_context *ctx, onx_operand *operand);
/* The value of a tensor as an operand, its bytes in place where they lie densely. Clear it in the
 * end if `*copied`. */
onx_status onx_operand_of_tensor(onx_context *ctx, const onx_tensor *tensor, onx_operand *out,
                                 bool *copied, onx_diag *diag) ONX_MUST_CHECK;

/* Is it a row for that version of an operator? Types are not looked at. */
bool onx_kernel_is_for(const onx_kernel *row, const onx_op *op);
/* Find a row for a call whose operands say what is known of them, and run its `init`. UNSUPPORTED:
 * there is none; the sentence says why. The call has node, op, ctx, diag, arena, operands. */
onx_status onx_kernel_select(const onx_provider *provider, onx_call *call, const char **tier)
    ONX_MUST_CHECK;
/* End a state that a row's init made. */
static inline void onx_kernel_end(const onx_kernel *kernel, void *state) {
    if (kernel && kernel->fini && state) kernel->fini(kernel, state);
}

#endif
