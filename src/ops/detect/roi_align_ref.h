/* roi_align_ref.h: where the points of RoiAlign lie: the same for all kernels. */
#ifndef ONX_ROI_ALIGN_REF_H
#define ONX_ROI_ALIGN_REF_H

#include "ops/detect/detect_ref.h"
#include "ops/eltwise/widen_ref.h"

typedef struct onx_align_state {
    bool max, half_pixel;
    int64_t height, width, ratio;
    double scale;
} onx_align_state;

typedef struct onx_align_plan {
    size_t channels, height, width; /* of X */
    size_t points[2];               /* room for those of one region, along y and x */
} onx_align_plan;

/* A point along one axis: between the pixels `low` and `high`. */
typedef struct onx_align_point {
    size_t low, high;
    double to_low, to_high; /* weights */
} onx_align_point;

/* The points of a bin along one axis. */
typedef struct onx_align_bin {
    size_t first, n;
    bool outside; /* there are others, outside the image */
} onx_align_bin;

typedef struct onx_align_axis {
    double grid; /* points in a bin, with those outside */
    onx_align_bin *bins;
    onx_align_point *points;
} onx_align_axis;

typedef struct onx_align_job {
    const onx_align_state *state;
    const onx_align_plan *plan;
    onx_wide x, rois;
    bool is_double;
    size_t blocks; /* of channels */
} onx_align_job;

/* The axes of a region; `scratch` has the bytes of scratch_each that binding asked for. */
void onx_roi_align_axes(const onx_align_job *j, size_t roi, void *scratch, onx_align_axis *y,
                        onx_align_axis *x);
/* The job of a call whose indices are checked; INVALID. */
onx_status onx_roi_align_begin(onx_call *call, onx_align_job *j) ONX_MUST_CHECK;

#endif
