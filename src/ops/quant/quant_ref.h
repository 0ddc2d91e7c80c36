/* quant_ref.h: what the kernels of QuantizeLinear and DequantizeLinear share. The plan is an
 * onx_grid. */
#ifndef ONX_QUANT_REF_H
#define ONX_QUANT_REF_H

#include "ops/quant/grid_ref.h"

typedef struct onx_quantize_state {
    int64_t axis, block;
    onx_dtype dtype;     /* of the output */
    onx_dtype precision; /* of the division */
    bool saturate;
} onx_quantize_state;

onx_status onx_quantize_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dequantize_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_quantize_bind(onx_call *call) ONX_MUST_CHECK;

/* qtable_ref.c: QTable. */
onx_status onx_qtable_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qtable_run(onx_call *call) ONX_MUST_CHECK;

#endif
