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

/* qtable_ref.c: QTable. Rows of n bytes through a table of 256: they follow one another, and are
 * to_row apart in the result; to may be from. */
typedef void onx_look_fn(const uint8_t *table, size_t rows, size_t n, const uint8_t *from,
                         uint8_t *to, size_t to_row);
onx_look_fn onx_look;
onx_status onx_qtable_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qtable_run_with(onx_call *call, onx_look_fn *look) ONX_MUST_CHECK;
onx_status onx_qtable_run(onx_call *call) ONX_MUST_CHECK;

#endif
