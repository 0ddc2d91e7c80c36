/* dynamic_ref.h: scale and zero point from the range of the data: DynamicQuantizeLinear. */
#ifndef ONX_DYNAMIC_REF_H
#define ONX_DYNAMIC_REF_H

#include "rt/kernel.h"

/* The range of floats, with 0 in it, spread over 0 … 255. */
typedef struct onx_dynamic {
    float scale;
    uint8_t zero;
} onx_dynamic;

/* run: of all elements of a float tensor, which may be unaligned. */
onx_status onx_dynamic_of(const onx_call *call, const onx_operand *x, onx_dynamic *out)
    ONX_MUST_CHECK;
/* run: its elements quantized, in parallel. */
onx_status onx_dynamic_quantize(onx_call *call, const onx_operand *x, const onx_dynamic *with,
                                uint8_t *to) ONX_MUST_CHECK;

onx_status onx_dynamic_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dynamic_run(onx_call *call) ONX_MUST_CHECK;

#endif
