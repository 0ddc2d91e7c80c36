/* wide_ref.h: plain kernels that work element by element, for all types of numbers at once.
 *
 * Elements are widened, a tile at a time, to the largest type of their kind (double, int64 or
 * uint64), computed with, and narrowed again. So the floats round once, in the end; integers keep
 * the low bits, which is what wrapping arithmetic in their own type gives; and an operator needs at
 * most three functions. */
#ifndef ONX_WIDE_REF_H
#define ONX_WIDE_REF_H

#include "rt/kernel.h"

typedef double onx_wide_f64(double a, double b, double c);
typedef int64_t onx_wide_i64(int64_t a, int64_t b, int64_t c);
typedef uint64_t onx_wide_u64(uint64_t a, uint64_t b, uint64_t c);

/* What an operator does to elements. */
typedef struct onx_wide_rule {
    const char *op;
    onx_wide_f64 *f; /* NULL: as the instruction of tile programs (tile.h) */
    onx_wide_i64 *s; /* NULL: integers are computed as doubles, too */
    onx_wide_u64 *u;
    bool is_bool;         /* the result is */
    const char *attrs[2]; /* for `f` of its own: operands b and c, float or int */
    bool (*when)(const onx_call *call);
} onx_wide_rule;

/* init with the rule of the call's operator out of a table, bind and run. The state is made by
 * onx_wide_init. */
onx_status onx_wide_init(onx_call *call, const onx_wide_rule *rules, size_t n) ONX_MUST_CHECK;
onx_status onx_wide_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_wide_run(onx_call *call) ONX_MUST_CHECK;

enum { ONX_WIDE_TASK = 32768 }; /* elements of a task */

/* Elements at … at+n-1 of the broadcast of `operand` to the shape of `result`, to `to`: plain
 * copies (of strings: their spans). `behind` sizes of 1 are added behind those of the operand. */
void onx_wide_gather(const onx_operand *result, const onx_operand *operand, size_t behind,
                     int64_t at, size_t n, void *to);
size_t onx_wide_size(const onx_operand *operand); /* of one element */

/* Where, and Equal of strings (where_ref.c). */
onx_status onx_where_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_where_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_where_run_strings(onx_call *call) ONX_MUST_CHECK;
onx_status onx_equal_bind_strings(onx_call *call) ONX_MUST_CHECK;
onx_status onx_equal_run_strings(onx_call *call) ONX_MUST_CHECK;

#endif
