/* tile_ref.h: a program ready to run: decoded once per node, bound once per signature of shapes.
 *
 *     init    onx_tile_new          the program with its registers, in the state of the kernel
 *     bind    onx_tile_bind         how each operand lies against the shape of the result
 *     run     onx_tile_rows         (tile_simd.h, per tier) on a block of a kernel's own output
 *             onx_tile_span         the same for one stretch, and on operands in memory
 *
 * Flat indices count the elements of the result in the order in which they lie in memory. */
#ifndef ONX_TILE_REF_H
#define ONX_TILE_REF_H

#include "ops/tile/tile.h"
#include "rt/kernel.h"

enum {
    ONX_TILE_SPAN = 1024,  /* elements of a register */
    ONX_TILE_TASK = 65536, /* elements of a task */
};

/* An instruction over slots: inputs, then constants, then registers. */
typedef struct onx_tile_step {
    uint8_t op, to; /* to: a register, counted from 0 */
    uint8_t from[3];
} onx_tile_step;

typedef struct onx_tile {
    onx_tile_program program;
    uint8_t to; /* type of the result, for onx_tile_bind_call; NONE: bool, or that of the inputs */
    uint32_t types;   /* ONX_T mask of inputs */
    uint32_t scalars; /* bit i: input i has one element (onx_tile_form) */
    size_t n_registers;
    size_t scratch; /* bytes that a worker needs: add them to scratch_each */
    onx_tile_step steps[ONX_TILE_CODE];
} onx_tile;

typedef enum onx_tile_mode {
    ONX_TILE_UNUSED,
    ONX_TILE_FULL,   /* element i of the result is made of element i */
    ONX_TILE_SCALAR, /* one element for all */
    ONX_TILE_SPREAD, /* by strides */
} onx_tile_mode;

typedef struct onx_tile_view {
    uint8_t mode;  /* onx_tile_mode */
    uint8_t dtype; /* F32, BOOL, F16 or BF16 */
    int64_t strides[ONX_RANK_MAX + 1];
} onx_tile_view;

/* Sizes that lie together are one: at the end, `inner` elements in which every view has stride 0
 * or 1. */
typedef struct onx_tile_plan {
    const onx_tile *tile;
    uint8_t dtype; /* of the result */
    size_t rank;
    int64_t count, inner;
    int64_t dims[ONX_RANK_MAX + 1];
    onx_tile_view views[ONX_TILE_INPUTS];
} onx_tile_plan;

/* Where a view's next row begins, of `inner` elements; from anywhere in the row at `index`, which
 * is brought there, too. */
static inline int64_t onx_tile_next_row(const onx_tile_plan *plan, const onx_tile_view *view,
                                        int64_t *index, int64_t offset) {
    size_t last = plan->rank - 1;
    offset -= index[last] * view->strides[last];
    index[last] = 0;
    for (size_t d = last; d-- > 0;) {
        offset += view->strides[d];
        if (++index[d] < plan->dims[d]) break;
        offset -= index[d] * view->strides[d];
        index[d] = 0;
    }
    return offset;
}

/* init: the program, decoded, in memory of the call (call->state when that is not set yet). */
onx_status onx_tile_new(onx_call *call, const onx_tile_program *program, const onx_tile **out)
    ONX_MUST_CHECK;
/* bind: operands[i] is input i of the program, i < n_in; the one whose place is taken by the block
 * (onx_tile_rows) is NULL. INVALID when one does not broadcast to the shape of `result`,
 * UNSUPPORTED when its type or layout does not fit. */
onx_status onx_tile_bind(const onx_call *call, const onx_tile *tile, const onx_operand *result,
                         onx_operand *const *operands, onx_tile_plan *plan) ONX_MUST_CHECK;

/* Element `at` of the result, for plain kernels; `block` is that of the input whose operand is
 * NULL. */
float onx_tile_at(const onx_tile_plan *plan, onx_operand *const *operands, int64_t at, float block);
/* The meaning of an instruction, in double precision, for plain kernels. */
typedef double onx_tile_fn(double a, double b, double c);
onx_tile_fn *onx_tile_function(onx_tile_op op);

/* The functions of rows that are one node or a Tile node: init for either, and bind. `state` is the
 * onx_tile, `plan` an onx_tile_plan. A row that may be written over its operands must use
 * onx_tile_init_float: it is not for programs that give bool. */
onx_status onx_tile_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tile_init_float(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tile_bind_call(onx_call *call) ONX_MUST_CHECK;

#endif
