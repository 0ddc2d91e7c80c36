/* typed_ref.h: operators element by element in the type that the elements have: how operands get to
 * the loops of an instruction set (typed_simd.h), which know vectors alone. */
#ifndef ONX_TYPED_REF_H
#define ONX_TYPED_REF_H

#include "ops/tile/tile_ref.h"

/* An operand: whole vectors (of conditions, bools for as many lanes), `step` bytes apart; 0: the
 * same one for all. */
typedef struct onx_typed_arg {
    const char *data;
    size_t step;
} onx_typed_arg;
/* n vectors of elements of a type. */
typedef void onx_typed_fn(onx_dtype dtype, char *y, onx_typed_arg a, onx_typed_arg b,
                          onx_typed_arg c, size_t n);

enum {
    ONX_TYPED_BOOL = 1,    /* gives bools, one for each lane */
    ONX_TYPED_FOLDS = 2,   /* over any number of inputs */
    ONX_TYPED_SWAPS = 4,   /* operands 0 and 1 */
    ONX_TYPED_BOUNDS = 8,  /* operands 1 and 2 are one element each, or absent */
    ONX_TYPED_CHOICE = 16, /* operand 0 is a condition */
};
typedef struct onx_typed_rule {
    const char *op;
    onx_typed_fn *run;
    uint32_t types; /* that it has loops for */
    unsigned how;
    bool (*when)(const onx_call *call);
} onx_typed_rule;

/* init with the rule of the call's operator out of a table, for vectors of so many bytes, at most
 * ONX_ALIGN; bind is onx_tile_bind_call. UNSUPPORTED: there is none for these types. */
onx_status onx_typed_new(onx_call *call, const onx_typed_rule *rules, size_t n, size_t vector)
    ONX_MUST_CHECK;
onx_status onx_typed_run(onx_call *call) ONX_MUST_CHECK;

#endif
