/* causal_conv_ref.c: CausalConvWithState: plain loops, all types. Each channel is convolved with
 * its own weights over what was there before it and itself:
 *
 *     y[t] = bias + sum of weight[i] x[t - kernel + 1 + i]      x below 0: the past state, or zeros
 *
 * Sums are rounded to the type before the activation, as in the body of the operator. */
#include "ops/attention/linear_ref.h"

#include <math.h>

enum { SPAN = 256 };

onx_status onx_causal_conv_init(onx_call *call) {
    onx_causal_conv_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    onx_str name = onx_call_string(call, "activation");
    st->activates = onx_str_is(name, "silu") || onx_str_is(name, "swish");
    if (!st->activates && !onx_str_is(name, "none"))
        return onx_call_fail(call, ONX_INVALID,
                             "activation is '%.*s'; it can be none, silu or swish", ONX_FMT(name));
    return ONX_OK;
}

onx_status onx_causal_conv_bind(onx_call *call) {
    const onx_operand *x = call->in[0], *w = call->in[1];
    const onx_operand *bias = onx_call_in(call, 2), *past = onx_call_in(call, 3);
    if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 ||
        w->dims[2] < 1)
        return onx_call_fail(call, ONX_INVALID,
                             "input needs the sizes [batch, channels, length], and weight "
                             "[channels, 1, kernel]");
    if (bias && (bias->rank != 1 || bias->dims[0] != x->dims[1]))
        return onx_call_fail(call, ONX_INVALID, "bias needs a number for each channel");
    int64_t dims[3] = {x->dims[0], x->dims[1], w->dims[2] - 1};
    for (size_t i = 0; i < 3 && past; i++)
        if (past->rank != 3 || past->dims[i] != dims[i])
            return onx_call_fail(call, ONX_INVALID,
                                 "past_state needs the sizes [batch, channels, kernel - 1]");
    ONX_TRY(onx_call_shape(call, 1, (onx_dtype)x->dtype, 3, dims));
    ONX_TRY(onx_bind_same(call));
    size_t width;
    if (!w->count) return ONX_OK;
    if (!onx_add_size((size_t)dims[2], SPAN, &width) ||
        !onx_add_size(width, (size_t)w->dims[2], &width) ||
        !onx_mul_size(width, sizeof(double), &call->scratch_each))
        return onx_fail_nomem(call->diag);
    return ONX_OK;
}

/* Elements from `at` of what was before, then the input, of one channel. */
static void get(const onx_call *call, int64_t row, int64_t at, int64_t n, double *out) {
    const onx_operand *x = call->in[0], *past = onx_call_in(call, 3);
    int64_t before = call->in[1]->dims[2] - 1, length = x->dims[2];
    onx_rows rows = {.data = x->data, .dtype = (onx_dtype)x->dtype};
    int64_t old = at < before ? (before - at < n ? before - at : n) : 0;
    for (int64_t i = 0; i < old; i++) out[i] = 0;
    if (past && old) {
        onx_rows state = {.data = past->data, .dtype = (onx_dtype)past->dtype};
        onx_rows_get(&state, (size_t)(row * before + at), old, out);
    }
    if (n > old)
        onx_rows_get(&rows, (size_t)(row * length + at + old - before), n - old, out + old);
}

static void convolve(const onx_call *call, int64_t row, int64_t at, int64_t n, const double *w,
                     double *x) {
    const onx_causal_conv_state *st = call->state;
    int64_t kernel = call->in[1]->dims[2];
    onx_rows y = {.data = call->out[0]->data, .dtype = (onx_dtype)call->out[0]->dtype};
    double bias = 0, out[SPAN];
    if (onx_call_in(call, 2)) {
        onx_rows biases = {.data = call->in[2]->data, .dtype = (onx_dtype)call->in[2]->dtype};
        onx_rows_get(&biases, (size_t)(row % call->in[0]->dims[1]), 1, &bias);
    }
    get(call, row, at, n + kernel - 1, x);
    for (int64_t t = 0; t < n; t++) out[t] = bias;
    for (int64_t i = 0; i < kernel; i++)
        for (int64_t t = 0; t < n; t++) out[t] += w[i] * x[t + i];
    onx_dtype_round(y.dtype, out, n);
    for (int64_t t = 0; t < n && st->activates; t++) out[t] /= 1 + exp(-out[t]);
    onx_rows_put(&y, (size_t)(row * call->in[0]->dims[2] + at), n, out);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user;
    const onx_operand *x = call->in[0];
    int64_t row = (int64_t)index, kernel = call->in[1]->dims[2], length = x->dims[2];
    double *w = scratch, *some = w + kernel;
    onx_rows weights = {.data = call->in[1]->data, .dtype = (onx_dtype)call->in[1]->dtype};
    onx_rows_get(&weights, (size_t)(row % x->dims[1] * kernel), kernel, w);
    for (int64_t at = 0; at < length; at += SPAN) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        convolve(call, row, at, length - at < SPAN ? length - at : SPAN, w, some);
    }
    if (call->n_out < 2 || !call->out[1]) return ONX_OK;
    onx_rows end = {.data = call->out[1]->data, .dtype = (onx_dtype)call->out[1]->dtype};
    get(call, row, length, kernel - 1, some);
    onx_rows_put(&end, (size_t)(row * (kernel - 1)), kernel - 1, some);
    return ONX_OK;
}

onx_status onx_causal_conv_run(onx_call *call) {
    const onx_operand *w = call->in[1];
    if (!w->count || !call->in[0]->dims[0]) return ONX_OK;
    return onx_call_parallel(call, (size_t)(call->in[0]->dims[0] * w->dims[0]), task, NULL);
}
