/* dynamic_ref.h: scale and zero point from the range of the data: DynamicQuantizeLinear. */
#ifndef ONX_DYNAMIC_REF_H
#define ONX_DYNAMIC_REF_H

#include "rt/kernel.h"

/* The range of floats, with 0 in it, spread over 0 … 255. */
typedef struct onx_dynamic {
    float scale;
    uint8_t zero;
} onx_dynamic;

/* run: of all elements of a float tensor, which may be unaligned; and, in parallel, its elements
 * quantized, where `to` is not NULL. */
onx_status onx_dynamic_quantize(onx_call *call, const onx_operand *x, onx_dynamic *out, uint8_t *to)
    ONX_MUST_CHECK;
/* The least and the largest of n floats and of *lo and *hi, both NaN once one is; and n floats
 * quantized. */
typedef struct onx_dynamic_fns {
    void (*range)(const float *x, size_t n, float *lo, float *hi);
    void (*quantize)(const float *x, size_t n, const onx_dynamic *with, uint8_t *to);
} onx_dynamic_fns;
/* run: the same with these. */
onx_status onx_dynamic_with(onx_call *call, const onx_operand *x, const onx_dynamic_fns *fns,
                            onx_dynamic *out, uint8_t *to) ONX_MUST_CHECK;
onx_status onx_dynamic_run_with(onx_call *call, const onx_dynamic_fns *fns) ONX_MUST_CHECK;

onx_status onx_dynamic_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_dynamic_run(onx_call *call) ONX_MUST_CHECK;

#endif
