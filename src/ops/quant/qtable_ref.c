/* qtable_ref.c: QTable: each byte is looked up in a table of 256: plain kernel. */
#include "ops/quant/quant_ref.h"

enum { TASK = 1 << 15 };

onx_status onx_qtable_bind(onx_call *call) {
    const onx_operand *x = call->in[0], *table = call->in[1];
    if (table->rank != 1 || table->dims[0] != 256)
        return onx_call_fail(call, ONX_INVALID, "the table must be a list of 256");
    return onx_call_shape(call, 0, (onx_dtype)table->dtype, x->rank, x->dims);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const uint8_t *table = user, *x = (const uint8_t *)call->in[0]->data + index * TASK;
    uint8_t *y = (uint8_t *)call->out[0]->data + index * TASK;
    size_t left = (size_t)call->in[0]->count - index * TASK, n = left < TASK ? left : TASK;
    (void)scratch;
    for (size_t i = 0; i < n; i++) y[i] = table[x[i]];
    return ONX_OK;
}

onx_status onx_qtable_run(onx_call *call) {
    size_t all = (size_t)call->in[0]->count;
    uint8_t table[256];
    memcpy(table, call->in[1]->data, sizeof table);
    return onx_call_parallel(call, all / TASK + (all % TASK != 0), task, table);
}
