/* rotate_ref.h: onx.internal::Rotate, what the kernels of it share:
 *
 *     Y = X cos + (-X₂, X₁) sin
 *
 * X is a view [batch, head, row, column] (attend_view.h), X₁ and X₂ are the halves of its rows. It
 * broadcasts with cos and sin, but for the columns, which all have; Y is dense. */
#ifndef ONX_ROTATE_REF_H
#define ONX_ROTATE_REF_H

#include "ops/attention/fused_ref.h"

typedef struct onx_rotate_plan {
    onx_strides x;
    size_t factors[2][ONX_VIEW_COL]; /* steps of cos and sin for batch, head and row */
    int64_t dims[ONX_VIEW_DIMS];     /* of Y */
    int64_t rows;                    /* of all heads and batches */
} onx_rotate_plan;
typedef struct onx_rotate_row {
    const float *x, *cos, *sin;
    float *y;
} onx_rotate_row;

onx_status onx_rotate_init(onx_call *call) ONX_MUST_CHECK; /* the state is an onx_view */
onx_status onx_rotate_bind(onx_call *call) ONX_MUST_CHECK;
onx_rotate_row onx_rotate_at(const onx_call *call, int64_t row);
/* Rows of a task. */
static inline int64_t onx_rotate_grain(const onx_rotate_plan *p) {
    return 1 + 32768 / p->dims[ONX_VIEW_COL];
}
onx_status onx_rotate_run(onx_call *call) ONX_MUST_CHECK; /* the plain one */

#endif
