/* sample_ref.h: the plain kernels of GridSample and AffineGrid. */
#ifndef ONX_SAMPLE_REF_H
#define ONX_SAMPLE_REF_H

#include "rt/kernel.h"

typedef enum onx_sampling { ONX_SAMPLE_LINEAR, ONX_SAMPLE_NEAREST, ONX_SAMPLE_CUBIC } onx_sampling;
typedef enum onx_sample_padding {
    ONX_SAMPLE_ZEROS,
    ONX_SAMPLE_BORDER,
    ONX_SAMPLE_REFLECTION
} onx_sample_padding;

typedef struct onx_sample_state {
    onx_sampling mode;
    onx_sample_padding padding;
    bool corners; /* -1 and 1 are the centers of the first and last elements */
} onx_sample_state;

typedef struct onx_sample_plan {
    size_t axes;
    int64_t dims[ONX_RANK_MAX];
    size_t pixels, points;  /* of a channel: in the image, in the output */
    size_t channels, parts; /* parts: 2 for complex numbers that are computed with */
} onx_sample_plan;

onx_status onx_grid_sample_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_grid_sample_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_grid_sample_run(onx_call *call) ONX_MUST_CHECK;

onx_status onx_affine_grid_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_affine_grid_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_affine_grid_run(onx_call *call) ONX_MUST_CHECK;

#endif
