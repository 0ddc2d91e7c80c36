/* grid_ref.h: which scale and zero point belongs to an element: one for the whole tensor, one for
 * each index of an axis, or one for each block along it. And what all kernels that quantize round
 * with.
 *
 * The tensor is [outer][n][inner], with the axis in the middle; element (o, i, j) has the parameter
 * o * outer_step + i / block * axis_step + j * inner_step. */
#ifndef ONX_GRID_REF_H
#define ONX_GRID_REF_H

#include "rt/kernel.h"

typedef struct onx_grid {
    size_t outer, n, inner, block;
    size_t outer_step, axis_step, inner_step;
} onx_grid;

/* bind: the grid of `scale` over `x`; block 0: not in blocks. INVALID, with a sentence, where the
 * shapes do not fit. */
onx_status onx_grid_bind(const onx_call *call, const onx_operand *x, const onx_operand *scale,
                         int64_t axis, int64_t block, onx_grid *out) ONX_MUST_CHECK;
/* The same for a tensor of these sizes, with one scale for each block along the axis. */
onx_grid onx_grid_blocks(size_t rank, const int64_t *dims, size_t axis, size_t block);
/* How many elements from `at` on, n at most, share parameter *param (*each is 0), or have those
 * from *param on, one each (*each is 1). */
size_t onx_grid_run(const onx_grid *grid, size_t at, size_t n, size_t *param, size_t *each);
/* The parameters of elements at … at+n-1. */
void onx_grid_fill(const onx_grid *grid, size_t at, size_t n, const double *params, double *out);

/* One scale or zero point? Written as a scalar, or as a list of one. */
bool onx_param_single(const onx_operand *operand);
/* Zero points have the shape of the scales. INVALID. `zero` may be NULL. */
onx_status onx_param_match(const onx_call *call, const onx_operand *scale, const onx_operand *zero)
    ONX_MUST_CHECK;
/* bind: scratch for parameters as doubles, to be added to *bytes. False: it cannot be counted. */
bool onx_param_bytes(const onx_operand *operand, size_t *bytes) ONX_MUST_CHECK;
/* run: all of them, in scratch that is taken from *scratch; NULL: the operand is absent. */
double *onx_param_read(const onx_operand *operand, char **scratch);
/* run: the only one; `absent` where there is none. */
double onx_param_one(const onx_operand *operand, double absent);

/* What integers of a type can hold, and float types (as infinities). */
typedef struct onx_range {
    double lo, hi;
    bool real; /* a float type: nothing is rounded to integers */
} onx_range;
onx_range onx_range_of(onx_dtype dtype);

/* The nearest integer, ties to even, in the range once `zero` is added; NaN is the lowest. */
static inline double onx_range_round(double x, double zero, const onx_range *range) {
    const double far = 1 << 20, shift = 0x1.8p52; /* far: beyond all types that are quantized to */
    x = x > -far ? x : -far;
    x = x < far ? x : far;
    x = (x + shift) - shift + zero;
    x = x > range->lo ? x : range->lo;
    return x < range->hi ? x : range->hi;
}

#endif
