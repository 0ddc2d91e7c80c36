/* dynamic_ref.c: see dynamic_ref.h. Every step is made in float, as the function that the operator
 * is has it: of data that are all 0 the scale is 0. Outputs nobody wants are left out. */
#include "ops/quant/dynamic_ref.h"
#include "ops/quant/grid_ref.h"

enum { SPAN = 1 << 14, TASK = 1 << 16 };

static float float_at(const float *x, size_t at) { /* it may be unaligned */
    float value;
    memcpy(&value, (const char *)x + at * sizeof value, sizeof value);
    return value;
}

/* NaN, once met, stays. */
static void range(const float *x, size_t n, float *lo, float *hi) {
    for (size_t i = 0; i < n; i++) {
        float value = float_at(x, i);
        *lo = value < *lo || value != value ? value : *lo;
        *hi = value > *hi || value != value ? value : *hi;
    }
}

static void quantize(const float *x, size_t n, const onx_dynamic *with, uint8_t *to) {
    const onx_range bytes = onx_range_of(ONX_DTYPE_U8);
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)onx_range_round((double)(float_at(x, i) / with->scale), (double)with->zero,
                                         &bytes);
}

static const onx_dynamic_fns plain = {range, quantize};

static onx_status find_range(const onx_call *call, const onx_operand *x, const onx_dynamic_fns *fns,
                             onx_dynamic *out) {
    const onx_range bytes = onx_range_of(ONX_DTYPE_U8);
    float lo = 0, hi = 0;
    for (size_t i = 0; i < (size_t)x->count; i += SPAN) {
        size_t left = (size_t)x->count - i;
        fns->range((const float *)x->data + i, left < SPAN ? left : SPAN, &lo, &hi);
        ONX_TRY(onx_call_check(call));
    }
    out->scale = (hi - lo) / 255;
    out->zero = (uint8_t)onx_range_round((double)(0 - lo / out->scale), 0, &bytes);
    return ONX_OK;
}

typedef struct job {
    const onx_operand *x;
    const onx_dynamic *with;
    const onx_dynamic_fns *fns;
    uint8_t *to;
} job;

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t first = index * TASK, left = (size_t)j->x->count - first;
    (void)call, (void)scratch;
    j->fns->quantize((const float *)j->x->data + first, left < TASK ? left : TASK, j->with,
                     j->to + first);
    return ONX_OK;
}

onx_status onx_dynamic_with(onx_call *call, const onx_operand *x, const onx_dynamic_fns *fns,
                            onx_dynamic *out, uint8_t *to) {
    size_t all = (size_t)x->count;
    ONX_TRY(find_range(call, x, fns, out));
    return onx_call_parallel(call, to ? all / TASK + (all % TASK != 0) : 0, task,
                             &(job){x, out, fns, to});
}

onx_status onx_dynamic_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_U8, x->rank, x->dims));
    ONX_TRY(onx_call_shape(call, 1, ONX_DTYPE_F32, 0, NULL));
    return onx_call_shape(call, 2, ONX_DTYPE_U8, 0, NULL);
}

onx_status onx_dynamic_run_with(onx_call *call, const onx_dynamic_fns *fns) {
    onx_operand *y = call->out[0], *scale = call->n_out > 1 ? call->out[1] : NULL,
                *zero = call->n_out > 2 ? call->out[2] : NULL;
    onx_dynamic with;
    ONX_TRY(onx_dynamic_with(call, call->in[0], fns, &with, y ? y->data : NULL));
    if (scale) memcpy(scale->data, &with.scale, sizeof with.scale);
    if (zero) memcpy(zero->data, &with.zero, sizeof with.zero);
    return ONX_OK;
}

onx_status onx_dynamic_run(onx_call *call) {
    return onx_dynamic_run_with(call, &plain);
}

onx_status onx_dynamic_quantize(onx_call *call, const onx_operand *x, onx_dynamic *out,
                                uint8_t *to) {
    return onx_dynamic_with(call, x, &plain, out, to);
}
