/* conv_plan_simd.h: what Conv (conv_simd.c) and ConvBlocked (conv_blocked_simd.c) share: which
 * algorithm of cpu/conv.h runs, packed weights, sizes.
 *
 * Constant weights are packed once, others in scratch. Where ConvBlocked uses an algorithm in two
 * steps they are packed as
 *
 *     [b: 1 if they fit, or 0] [weights for direct sums] [weights for that algorithm]
 *
 * or, where it is certain to be used, one of the two: those for direct sums if they do not fit.
 */
#ifndef ONX_CONV_PLAN_SIMD_H
#define ONX_CONV_PLAN_SIMD_H

#include "ops/conv/blocks_simd.h"
#include "ops/conv/conv_ref.h"
#include "ops/tile/tile_simd.h"

typedef struct onx_conv_plan {
    onx_conv conv;
    const onx_conv_algorithm *algorithm;
    size_t x_floats, y_floats, w_floats; /* blocked or packed in scratch, in this order; 0: not */
    size_t wide_floats;                  /* after them: tensors of half precision as floats */
    bool staged;                         /* by the algorithm of the state, */
    size_t bands;                        /* in so many bands of an image, */
    bool apart;                          /* which are tasks, */
    size_t shared_at;                    /* with what their steps share there in the scratch */
    onx_tile_plan program;               /* of ConvBlocked, where it has one */
    size_t program_at;                   /* its scratch, in that of a worker */
} onx_conv_plan;

/* Groups that do not leave a block: of 1 channel, or 2, 4 … */
static inline bool onx_conv_is_depthwise(const onx_conv *c) {
    return c->groups > 1 && c->ic == c->oc && c->ic < VF && VF % c->ic == 0;
}

/* What weights and attributes say: enough to choose an algorithm, and for packing. False: not for
 * these kernels, or wrong, which the plain kernel will say. */
bool ONX_TIER(onx_conv_of_weights)(const onx_call *call, onx_conv *c);
/* init, with the state complete. */
onx_status ONX_TIER(onx_conv_init_plan)(onx_call *call) ONX_MUST_CHECK;
size_t ONX_TIER(onx_conv_pack_bytes)(const onx_call *call);
onx_status ONX_TIER(onx_conv_pack)(onx_call *call, void *out) ONX_MUST_CHECK;

/* bind: plan and scratch. `y_blocked`: the output is in blocks; the input is as its layout says. */
onx_status ONX_TIER(onx_conv_bind_plan)(onx_call *call, bool y_blocked) ONX_MUST_CHECK;
/* run: all of it, or tasks [first, last) with arguments that are ready. */
onx_status ONX_TIER(onx_conv_run)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_conv_run_tasks)(onx_call *call, const onx_conv_args *a, size_t first,
                                        size_t last) ONX_MUST_CHECK;
onx_conv_args ONX_TIER(onx_conv_args_of)(const onx_call *call);
/* The arguments for a task, with the program at work. */
onx_conv_args ONX_TIER(onx_conv_task_args)(const onx_call *call, const onx_conv_args *a,
                                           onx_tile_work *work, void *scratch);

/* conv_blocked_simd.c */
onx_status ONX_TIER(onx_conv_blocked_init)(onx_call *call) ONX_MUST_CHECK;
/* init: with that algorithm, whatever the sizes; UNSUPPORTED where it does not fit. */
onx_status ONX_TIER(onx_conv_blocked_init_staged)(onx_call *call, const onx_conv_staged *staged)
    ONX_MUST_CHECK;
onx_status ONX_TIER(onx_conv_blocked_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_conv_blocked_run)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_to_blocked_init)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_to_blocked_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_to_blocked_run)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_from_blocked_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_from_blocked_run)(onx_call *call) ONX_MUST_CHECK;

#endif
