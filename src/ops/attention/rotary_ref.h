/* rotary_ref.h: positions that turn pairs of elements of a head, for the operators that do it. */
#ifndef ONX_ROTARY_REF_H
#define ONX_ROTARY_REF_H

#include "ops/attention/attend_ref.h"

typedef struct onx_rotary onx_rotary;
/* The row of the caches for place `s` of batch `b`. */
typedef int64_t onx_rotary_place(const onx_rotary *rotary, int64_t b, int64_t s);

struct onx_rotary {
    onx_rows x, y;
    const onx_operand *cosines, *sines; /* of float types; rows of turned / 2 elements */
    int64_t batch, heads, length, head;
    int64_t turned; /* elements of a head, from the first on; the rest stays */
    bool alternate; /* pairs are neighbours; else an element of each half */
    int64_t rows;   /* of the caches */
    onx_rotary_place *place;
    const void *more; /* for `place` */
};

/* INVALID when a place is not a row of the caches. Computed in double, rounded once; halves of
 * floats in float. */
onx_status onx_rotary_run(onx_call *call, const onx_rotary *rotary) ONX_MUST_CHECK;
/* bind: scratch for each worker. */
onx_status onx_rotary_scratch(onx_call *call, int64_t head) ONX_MUST_CHECK;
/* bind: whether heads of that size can be turned by caches with rows of `width`; `turned` 0: all of
 * the head. */
onx_status onx_rotary_check(const onx_call *call, int64_t head, int64_t turned, int64_t width)
    ONX_MUST_CHECK;

/* The kernel of ai.onnx (its row is in attention_ref.c). */
typedef struct onx_rotary_state {
    int64_t heads, turned;
    bool alternate;
} onx_rotary_state;
typedef struct onx_rotary_plan {
    int64_t batch, heads, length, head, turned, rows;
} onx_rotary_plan;
onx_status onx_rotary_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_rotary_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_rotary_run_rows(onx_call *call) ONX_MUST_CHECK;
/* run: with a plan and state of these types, the caches in inputs `caches` and the one behind. */
onx_status onx_rotary_run_plan(onx_call *call, size_t caches, onx_rotary_place *of,
                               const onx_operand *places) ONX_MUST_CHECK;

#endif
