/* suppress_ref.h: NonMaxSuppression, but for how a box is compared with those that were kept. */
#ifndef ONX_SUPPRESS_REF_H
#define ONX_SUPPRESS_REF_H

#include "ops/detect/detect_ref.h"

typedef struct onx_suppress_box {
    float x0, y0, x1, y1, area;
} onx_suppress_box;

enum { ONX_SUPPRESS_PARTS = 5 }; /* x0, y0, x1, y1, area: each of all boxes together */
typedef struct onx_suppress_kept {
    float *part[ONX_SUPPRESS_PARTS];
    size_t n;
} onx_suppress_kept;

/* Does the box overlap one of those kept, by more than the threshold? */
typedef bool onx_suppress_any(const onx_suppress_kept *kept, const onx_suppress_box *box,
                              float threshold);
onx_status onx_suppress_run_by(onx_call *call, onx_suppress_any *any) ONX_MUST_CHECK;

#endif
