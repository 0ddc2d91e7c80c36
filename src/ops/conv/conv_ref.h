/* conv_ref.h: what the kernels of Conv and of the pools have in common: windows over images. */
#ifndef ONX_CONV_REF_H
#define ONX_CONV_REF_H

#include "ops/conv/window.h"
#include "ops/eltwise/widen_ref.h"
#include "ops/tile/tile_ref.h"
#include "rt/kernel.h"

/* A window over images of any number of spatial dimensions. */
typedef struct onx_images {
    onx_window window;
    size_t batch, groups, ic, oc;       /* ic, oc: channels per group; pools: 1 */
    size_t in_pixels, out_pixels, taps; /* of one channel */
    size_t in[ONX_RANK_MAX], out[ONX_RANK_MAX];
    onx_span span[ONX_RANK_MAX];
} onx_images;

/* init: the attributes, into the state of the call. */
typedef struct onx_conv_state {
    onx_window window;
    int64_t groups;
    size_t bias;   /* the input */
    float lo, hi;  /* the result is clamped to these, in ConvBlocked */
    bool blocked;  /* the input is in blocks */
    size_t merged; /* so many groups are computed as one, with zeros between them; 0: one */
    const struct onx_conv_staged *staged; /* that of ConvBlocked where it is worth it, or NULL */
    bool alone;                           /* weights are packed for `staged` only */
    const struct onx_conv_columns_other *columns; /* products with columns on another tier */
    const onx_tile *tile;                         /* the program of ConvBlocked, or NULL */
} onx_conv_state;
onx_status onx_conv_init(onx_call *call) ONX_MUST_CHECK;
/* bind: checks X, W and B, gives output 0 its shape, and tells the sizes. */
onx_status onx_conv_bind(onx_call *call, onx_images *out) ONX_MUST_CHECK;
/* bind: the spatial sizes for input 0; dims: of the output, its spatial part is filled. LIMIT: a
 * size cannot be counted. */
onx_status onx_images_place(onx_call *call, onx_images *images, int64_t *dims) ONX_MUST_CHECK;

/* The elements that output `pixel` sees through tap `tap`: false in the padding; else where it is
 * in its channel. */
bool onx_images_at(const onx_images *images, size_t pixel, size_t tap, size_t *at);

#endif
