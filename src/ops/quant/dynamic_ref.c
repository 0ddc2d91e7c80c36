/* dynamic_ref.c: see dynamic_ref.h. Every step is made in float, as the function that the operator
 * is has it: of data that are all 0 the scale is 0. Outputs nobody wants are left out. */
#include "ops/quant/dynamic_ref.h"
#include "ops/quant/grid_ref.h"

enum { SPAN = 4096, TASK = 16 * SPAN };

static float float_at(const onx_operand *x, size_t at) {
    float value;
    memcpy(&value, (const char *)x->data + at * sizeof value, sizeof value);
    return value;
}

/* NaN, once met, stays. */
onx_status onx_dynamic_of(const onx_call *call, const onx_operand *x, onx_dynamic *out) {
    float lo = 0, hi = 0;
    for (size_t i = 0; i < (size_t)x->count; i++) {
        float value = float_at(x, i);
        lo = value < lo || value != value ? value : lo;
        hi = value > hi || value != value ? value : hi;
        if (i % SPAN == 0) ONX_TRY(onx_call_check(call));
    }
    const onx_range bytes = onx_range_of(ONX_DTYPE_U8);
    out->scale = (hi - lo) / 255;
    out->zero = (uint8_t)onx_range_round((double)(0 - lo / out->scale), 0, &bytes);
    return ONX_OK;
}

typedef struct job {
    const onx_operand *x;
    const onx_dynamic *with;
    uint8_t *to;
} job;

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_range bytes = onx_range_of(ONX_DTYPE_U8);
    size_t first = index * TASK, left = (size_t)j->x->count - first;
    (void)call, (void)scratch;
    for (size_t i = first; i < first + (left < TASK ? left : TASK); i++)
        j->to[i] = (uint8_t)onx_range_round((double)(float_at(j->x, i) / j->with->scale),
                                            (double)j->with->zero, &bytes);
    return ONX_OK;
}

onx_status onx_dynamic_quantize(onx_call *call, const onx_operand *x, const onx_dynamic *with,
                                uint8_t *to) {
    size_t all = (size_t)x->count;
    return onx_call_parallel(call, all / TASK + (all % TASK != 0), task, &(job){x, with, to});
}

onx_status onx_dynamic_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_U8, x->rank, x->dims));
    ONX_TRY(onx_call_shape(call, 1, ONX_DTYPE_F32, 0, NULL));
    return onx_call_shape(call, 2, ONX_DTYPE_U8, 0, NULL);
}

onx_status onx_dynamic_run(onx_call *call) {
    onx_operand *y = call->out[0], *scale = call->n_out > 1 ? call->out[1] : NULL,
                *zero = call->n_out > 2 ? call->out[2] : NULL;
    onx_dynamic with;
    ONX_TRY(onx_dynamic_of(call, call->in[0], &with));
    if (scale) memcpy(scale->data, &with.scale, sizeof with.scale);
    if (zero) memcpy(zero->data, &with.zero, sizeof with.zero);
    return y ? onx_dynamic_quantize(call, call->in[0], &with, y->data) : ONX_OK;
}
