/* spread_ref.h: windows the other way: elements that are spread over an image, as ConvTranspose and
 * Col2Im do it. Element i of an axis, through tap k, goes to i * stride + k * dilation - before.
 *
 * Images are made row by row, of the last axis: for a row, each tap along the other axes names one
 * row of elements, or none; in it, a run of elements goes to places `stride` apart. */
#ifndef ONX_SPREAD_REF_H
#define ONX_SPREAD_REF_H

#include "ops/conv/conv_ref.h"
#include "ops/view/move_ref.h"

typedef struct onx_spread {
    size_t axes;
    size_t in[ONX_RANK_MAX], out[ONX_RANK_MAX]; /* elements; the image */
    size_t kernel[ONX_RANK_MAX], stride[ONX_RANK_MAX], dilation[ONX_RANK_MAX];
    int64_t before[ONX_RANK_MAX];
    size_t in_pixels, out_pixels, taps; /* of a channel */
    size_t rows, row_taps;              /* of the image; along all axes but the last */
} onx_spread;

/* The counts, from the sizes. False: they cannot be counted. */
bool onx_spread_count(onx_spread *spread) ONX_MUST_CHECK;
/* The row of elements that `tap`, of the axes before the last, brings to a row of the image. */
bool onx_spread_row(const onx_spread *spread, size_t row, size_t tap, size_t *at);

/* Elements first … first+n-1 of a row go through tap k to places to, to + stride, … */
typedef struct onx_spread_run {
    size_t first, n, to;
} onx_spread_run;
onx_spread_run onx_spread_run_of(const onx_spread *spread, size_t k);

/* ConvTranspose. */
typedef struct onx_transpose_state {
    onx_window window;
    int64_t groups;
    onx_ints more, sizes; /* output_padding, output_shape */
} onx_transpose_state;

typedef struct onx_transpose_plan {
    onx_spread spread;
    size_t groups, ic, oc; /* channels per group */
} onx_transpose_plan;

/* DeformConv. */
typedef struct onx_deform_state {
    onx_conv_state conv;
    int64_t offset_groups;
} onx_deform_state;

typedef struct onx_deform_plan {
    onx_images images;
    size_t offset_groups;
    size_t products; /* taps of all channels */
} onx_deform_plan;

/* Kernels. */
onx_status onx_conv_transpose_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_conv_transpose_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_conv_transpose_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_col2im_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_col2im_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_col2im_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_col2im_run_strings(onx_call *call) ONX_MUST_CHECK;
onx_status onx_deform_conv_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_deform_conv_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_deform_conv_run(onx_call *call) ONX_MUST_CHECK;

#endif
