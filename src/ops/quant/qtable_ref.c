/* qtable_ref.c: QTable: each byte is looked up in a table of 256: plain kernel. */
#include "ops/quant/quant_ref.h"

enum { TASK = 1 << 15 };

onx_status onx_qtable_bind(onx_call *call) {
    const onx_operand *x = call->in[0], *table = call->in[1];
    if (table->rank != 1 || table->dims[0] != 256)
        return onx_call_fail(call, ONX_INVALID, "the table must be a list of 256");
    return onx_call_shape(call, 0, (onx_dtype)table->dtype, x->rank, x->dims);
}

void onx_look(const uint8_t *table, size_t rows, size_t n, const uint8_t *from, uint8_t *to,
              size_t to_row) {
    for (size_t r = 0; r < rows; r++, from += n, to += to_row)
        for (size_t i = 0; i < n; i++) to[i] = table[from[i]];
}

typedef struct job {
    onx_look_fn *look;
    uint8_t table[256];
} job;

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const uint8_t *x = (const uint8_t *)call->in[0]->data + index * TASK;
    uint8_t *y = (uint8_t *)call->out[0]->data + index * TASK;
    size_t left = (size_t)call->in[0]->count - index * TASK, n = left < TASK ? left : TASK;
    (void)scratch;
    j->look(j->table, 1, n, x, y, n);
    return ONX_OK;
}

onx_status onx_qtable_run_with(onx_call *call, onx_look_fn *look) {
    size_t all = (size_t)call->in[0]->count;
    job j = {.look = look};
    memcpy(j.table, call->in[1]->data, sizeof j.table);
    return onx_call_parallel(call, all / TASK + (all % TASK != 0), task, &j);
}

onx_status onx_qtable_run(onx_call *call) {
    return onx_qtable_run_with(call, onx_look);
}
