/* control_ref.c: If, Loop, Scan: plain loops. The work is in the graphs, which the engine runs. */
#include "ops/control/scan_ref.h"

enum { LATE = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS };

static onx_status read_bool(const onx_call *call, const onx_operand *operand, bool *out) {
    if (operand->kind != ONX_TYPE_TENSOR || operand->dtype != ONX_DTYPE_BOOL ||
        operand->count != 1 || !operand->data)
        return onx_call_fail(call, ONX_INVALID, "the condition must be one bool; it is %s",
                             operand->dtype == ONX_DTYPE_BOOL ? "empty or more"
                                                              : "of another type");
    *out = *(const uint8_t *)operand->data != 0;
    return ONX_OK;
}

/* ─ If ───────────────────────────────────────────────────────────────────────────────────────── */

typedef struct if_state {
    size_t which[2], n_out[2]; /* else, then */
} if_state;

static onx_status if_init(onx_call *call) {
    static const char *const names[2] = {"else_branch", "then_branch"};
    if_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < 2; i++) {
        onx_body body;
        if (!onx_body_find(call->node, names[i], &body))
            return onx_call_fail(call, ONX_INVALID, "attribute '%s' is missing", names[i]);
        if (body.n_in != 0 || body.n_out < call->n_out)
            return onx_call_fail(call, ONX_INVALID,
                                 "'%s' has %zu inputs and %zu outputs; it must have none and %zu",
                                 names[i], body.n_in, body.n_out, call->n_out);
        state->which[i] = body.which;
        state->n_out[i] = body.n_out;
        size_t bytes = 0;
        if (!onx_mul_size(body.n_out, sizeof(onx_operand *), &bytes))
            return onx_fail_nomem(call->diag);
        if (bytes > call->plan_bytes) call->plan_bytes = bytes;
    }
    return ONX_OK;
}

static onx_status if_run(onx_call *call) {
    const if_state *state = call->state;
    bool cond = false;
    ONX_TRY(read_bool(call, call->in[0], &cond));
    size_t n = state->n_out[cond];
    onx_operand **outs = call->plan; /* n of them */
    onx_status status = onx_call_graph(call, state->which[cond], 0, NULL, n, outs);
    bool ran = status == ONX_OK;
    for (size_t i = 0; ran && i < n; i++) {
        if (status == ONX_OK && i < call->n_out && call->out[i])
            status = onx_call_give(call, i, outs[i]);
        onx_call_release(call, outs[i]);
    }
    return status;
}

/* ─ Loop ─────────────────────────────────────────────────────────────────────────────────────── */

/* Body: (counter, condition, carried…) -> (condition, carried…, stacked…). The condition is carried
 * like the others. */
static onx_status loop_init(onx_call *call) {
    size_t n = call->n_in > 2 ? call->n_in - 2 : 0;
    ONX_TRY(onx_repeat_init(call, NULL, 1, 1 + n));
    const onx_repeat_state *state = call->state;
    if (state->n_in == 2 + n && state->n_out >= 1 + call->n_out) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "the body has %zu inputs and %zu outputs; it must have %zu and at least "
                         "%zu",
                         state->n_in, state->n_out, 2 + n, 1 + call->n_out);
}

static onx_status set_scalar(onx_repeat *r, size_t at, onx_dtype dtype, int64_t value) {
    onx_operand *operand = NULL;
    ONX_TRY(
        onx_call_temporary(r->call, dtype, r->state->scalar_rank[at], (int64_t[]){1}, &operand));
    memcpy(operand->data, &value, operand->bytes);
    onx_repeat_set(r, at, operand, true);
    return ONX_OK;
}

static onx_status loop_trips(const onx_call *call, int64_t *trips) {
    const onx_operand *m = onx_call_in(call, 0);
    *trips = INT64_MAX;
    if (!m) return ONX_OK;
    if (m->count != 1)
        return onx_call_fail(call, ONX_INVALID, "M has %lld elements; it must be a scalar",
                             (long long)m->count);
    *trips = onx_operand_int(m, 0);
    return ONX_OK;
}

static onx_status loop_inputs(onx_repeat *r) {
    onx_call *call = r->call;
    if (onx_call_in(call, 1))
        onx_repeat_set(r, 1, call->in[1], false);
    else
        ONX_TRY(set_scalar(r, 1, ONX_DTYPE_BOOL, 1));
    for (size_t i = 2; i < call->n_in; i++) {
        if (!call->in[i])
            return onx_call_fail(call, ONX_INVALID, "input %zu, which the loop carries, is missing",
                                 i);
        onx_repeat_set(r, i, call->in[i], false);
    }
    return ONX_OK;
}

static onx_status loop_outputs(onx_repeat *r, int64_t trips) {
    onx_call *call = r->call;
    size_t n = r->state->n_carried - 1;
    for (size_t i = 0; i < call->n_out; i++) {
        if (!call->out[i]) continue;
        if (i < n)
            ONX_TRY(onx_call_give(call, i, r->ins[2 + i]));
        else
            ONX_TRY(onx_repeat_give(r, i, 1 + i, 1, &trips, 0, false));
    }
    return ONX_OK;
}

static onx_status loop_all(onx_repeat *r) {
    onx_call *call = r->call;
    bool conditional = onx_call_in(call, 1), go = true;
    int64_t trips = 0, i = 0;
    ONX_TRY(loop_trips(call, &trips));
    ONX_TRY(loop_inputs(r));
    for (; i < trips; i++) {
        if (conditional) ONX_TRY(read_bool(call, r->ins[1], &go));
        if (!go) break;
        ONX_TRY(set_scalar(r, 0, ONX_DTYPE_I64, i));
        ONX_TRY(onx_repeat_step(r));
    }
    return loop_outputs(r, i);
}

static onx_status loop_run(onx_call *call) {
    onx_repeat repeat;
    onx_repeat_start(&repeat, call, call->state);
    onx_status status = loop_all(&repeat);
    onx_repeat_end(&repeat);
    return status;
}

extern onx_kernel_rows onx_kernels_control_ref;
onx_kernel_rows onx_kernels_control_ref = {
    {"If", 1, 0, {ONX_T(BOOL)}, "if", LATE, .host = 1, .init = if_init, .run = if_run},
    {"Loop",
     1,
     0,
     {ONX_T(I64), ONX_T(BOOL), 0},
     "loop",
     LATE,
     .host = 3,
     .init = loop_init,
     .run = loop_run},
    {"Scan",
     8,
     8,
     {ONX_T(I64), 0},
     "scan_batch",
     LATE,
     .host = 1,
     .init = onx_scan8_init,
     .run = onx_scan8_run},
    {"Scan", 9, 0, {0}, "scan", LATE, .init = onx_scan_init, .run = onx_scan_run},
    {0},
};
