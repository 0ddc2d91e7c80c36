/* reduce_ref.h: which elements of a tensor go into which of the result; for all kernels that reduce
 * along axes. */
#ifndef ONX_REDUCE_REF_H
#define ONX_REDUCE_REF_H

#include "rt/kernel.h"

typedef struct onx_reduce_state {
    bool keepdims, noop; /* noop: without axes nothing is reduced, else everything */
    bool by_input;       /* axes are input 1 */
    size_t n_axes;
    int64_t axes[ONX_RANK_MAX]; /* of the attribute */
    const void *rule;           /* the kernel's */
} onx_reduce_state;

/* Sizes and strides (in elements) of the input, kept and reduced ones apart; neighbours that lie
 * together are one. The result lies in the order of the kept ones. */
typedef struct onx_reduce_axes {
    size_t n;
    int64_t count; /* product of the sizes */
    int64_t dims[ONX_RANK_MAX], strides[ONX_RANK_MAX];
} onx_reduce_axes;
typedef struct onx_reduce_plan {
    onx_reduce_axes kept, reduced;
} onx_reduce_plan;

onx_status onx_reduce_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_reduce_bind(onx_call *call) ONX_MUST_CHECK;
/* The dimensions that go away, and the plan for that. */
onx_status onx_reduce_mark(const onx_call *call, const onx_reduce_state *st, bool *reduced)
    ONX_MUST_CHECK;
void onx_reduce_split(const onx_operand *in, const bool *reduced, onx_reduce_plan *plan);
/* The plan and the shape of output 0 when the dimensions marked in `reduced` go away. */
onx_status onx_reduce_shape(onx_call *call, onx_dtype dtype, const bool *reduced, bool keepdims,
                            onx_reduce_plan *plan) ONX_MUST_CHECK;

/* The offset of number `at` (below count) along such axes. */
static inline int64_t onx_reduce_offset(const onx_reduce_axes *axes, int64_t at) {
    int64_t offset = 0;
    if (!axes->n) return 0;
    for (size_t d = axes->n - 1; d > 0; at /= axes->dims[d--])
        offset += at % axes->dims[d] * axes->strides[d];
    return offset + at * axes->strides[0];
}
/* Elements number at … at+n-1 of those that go into the result at `base`: plain copies. */
void onx_reduce_gather(const onx_operand *in, const onx_reduce_axes *axes, int64_t base, int64_t at,
                       size_t n, void *to);
/* How many results make a task of about 64K elements. */
static inline int64_t onx_reduce_grain(const onx_reduce_plan *plan, int64_t least) {
    int64_t grain = 65536 / (plan->reduced.count > 0 ? plan->reduced.count : 1);
    return grain > least ? grain : least;
}

/* ArgMax, ArgMin. */
typedef struct onx_arg_state {
    int64_t axis;
    bool keepdims, last, min;
} onx_arg_state;
onx_status onx_arg_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_arg_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_arg_run(onx_call *call) ONX_MUST_CHECK;

#endif
