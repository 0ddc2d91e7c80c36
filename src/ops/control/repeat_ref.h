/* repeat_ref.h: a body that runs again and again: what Loop and Scan share.
 *
 *     ins     [ … | carried … | … ]        temporaries around what is carried
 *     outs    [ carried … | stacked … ]    outs[i] becomes ins[shift + i]; the rest is collected
 *
 * What is carried is given back as soon as the next iteration has replaced it. What is stacked is
 * kept as bytes, which grow by doubling: how many iterations there are need not be known. The
 * arrays lie in the plan of the call, and bytes are temporaries of the run: a run that is like the
 * one before allocates nothing. */
#ifndef ONX_REPEAT_REF_H
#define ONX_REPEAT_REF_H

#include "ops/control/control.h"
#include "rt/kernel.h"

/* One value of those that are stacked: as declared, and then as the first iteration gave it. */
typedef struct onx_stack_type {
    uint8_t dtype, rank;
    int64_t dims[ONX_RANK_MAX];
} onx_stack_type;

/* Made in init, read in run. */
typedef struct onx_repeat_state {
    size_t which, n_in, n_out; /* of the body */
    size_t shift, n_carried;
    size_t scalar_rank[2]; /* of the body's inputs 0 and 1 */
    onx_stack_type *types; /* of the body's outputs */
    bool *optional;        /* is input i of the body declared as optional? */
} onx_repeat_state;

typedef struct onx_stack {
    onx_stack_type type;
    int64_t count;     /* values so far */
    onx_operand *data; /* bytes, of which `used` are values; NULL: none yet */
    size_t used;
    onx_object *strings; /* of strings: a sequence of them */
} onx_stack;

typedef struct onx_repeat {
    onx_call *call;
    const onx_repeat_state *state;
    onx_operand **ins, **outs;
    bool *own;         /* is ins[i] to be released? */
    onx_stack *stacks; /* of the body's outputs */
} onx_repeat;

/* The state of a row; `state` is NULL, or larger memory that begins with one. */
onx_status onx_repeat_init(onx_call *call, onx_repeat_state *state, size_t shift, size_t n_carried)
    ONX_MUST_CHECK;

/* To be ended in any case. */
void onx_repeat_start(onx_repeat *repeat, onx_call *call, const onx_repeat_state *state);
void onx_repeat_end(onx_repeat *repeat);
/* ins[at] is this operand from now on; what was there is released. */
void onx_repeat_set(onx_repeat *repeat, size_t at, onx_operand *value, bool own);
/* The same for an object, which is taken over, also on failure. */
onx_status onx_repeat_set_object(onx_repeat *repeat, size_t at, onx_object *object) ONX_MUST_CHECK;
/* One iteration; temporaries, which is all that is not carried, are released after it. */
onx_status onx_repeat_step(onx_repeat *repeat) ONX_MUST_CHECK;
/* Add a value to a stack. */
onx_status onx_repeat_add(onx_repeat *repeat, size_t stack, const onx_operand *value)
    ONX_MUST_CHECK;
/* Output `index` of the node is that stack: the values along new axes of sizes `lead`, inserted at
 * `axis`; from the last to the first if `reverse`. With two of them, axis must be 0. */
onx_status onx_repeat_give(onx_repeat *repeat, size_t index, size_t stack, size_t n_lead,
                           const int64_t *lead, int64_t axis, bool reverse) ONX_MUST_CHECK;

#endif
