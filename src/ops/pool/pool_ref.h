/* pool_ref.h: what the kernels of the pools have in common. */
#ifndef ONX_POOL_REF_H
#define ONX_POOL_REF_H

#include "ops/conv/conv_ref.h"

typedef struct onx_pooling_state {
    onx_window window;
    bool count_padding; /* count_include_pad */
    bool columns;       /* storage_order: the first spatial dimension is the fastest in indices */
    double p;           /* of LpPool and GlobalLpPool, which has nothing else */
    bool channels_last; /* of the quantized pools */
} onx_pooling_state;

/* For MaxPool, AveragePool and LpPool. The images have `batch` times `groups` planes, one per
 * channel. */
onx_status onx_pooling_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_pooling_bind(onx_call *call, onx_images *out) ONX_MUST_CHECK;

/* The part of a window that lies on the input. A window may be far larger than the input. */
typedef struct onx_pool_part {
    size_t taps;                                     /* that lie on the input */
    size_t padded;                                   /* on the input or its padding */
    size_t first[ONX_RANK_MAX], count[ONX_RANK_MAX]; /* where they begin; their number */
} onx_pool_part;
onx_pool_part onx_pool_part_of(const onx_images *images, size_t pixel);
/* Where a tap of the part is in its plane. */
size_t onx_pool_part_at(const onx_images *images, const onx_pool_part *part, size_t tap);

/* For the global pools: the output's shape; how many planes of how many pixels. */
onx_status onx_global_bind(onx_call *call) ONX_MUST_CHECK;
typedef struct onx_planes {
    size_t count, pixels;
} onx_planes;
onx_planes onx_planes_of(const onx_operand *x);

/* pool_quant_ref.c: QLinearAveragePool and QLinearGlobalAveragePool. */
onx_status onx_qpool_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qpool_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qpool_run(onx_call *call) ONX_MUST_CHECK;
/* How bytes stand for numbers, before and after. */
typedef struct onx_qpool_coding {
    float x_scale, y_scale;
    int x_zero, y_zero, flip; /* flip: int8 is uint8 with the highest bit turned, less 128 */
} onx_qpool_coding;
/* n averages: y[i] of x[0][i] … x[count-1][i], whose sum is divided by `taps`. */
typedef void onx_qpool_fn(const onx_qpool_coding *c, size_t count, const uint8_t *const *x,
                          size_t n, float taps, uint8_t *y);
onx_qpool_fn onx_qpool_average;
onx_status onx_qpool_run_with(onx_call *call, onx_qpool_fn *average) ONX_MUST_CHECK;
onx_status onx_qglobal_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qglobal_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qglobal_run(onx_call *call) ONX_MUST_CHECK;

#endif
