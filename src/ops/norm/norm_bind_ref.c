/* norm_bind_ref.c: attributes and shapes of normalization. */
#include "ops/norm/norm_ref.h"

onx_status onx_norm_init(onx_call *call) {
    onx_norm_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    int32_t since = call->op->since;
    bool batch = strcmp(call->op->name, "BatchNormalization") == 0;
    st->axis = onx_call_int(call, "axis");
    st->groups = onx_call_int(call, "num_groups");
    st->epsilon = onx_call_float(call, "epsilon");
    st->momentum = onx_call_float(call, "momentum");
    int64_t stash = onx_call_int(call, "stash_type");
    st->stash =
        stash == ONX_DTYPE_BF16 || stash == ONX_DTYPE_F64 ? (onx_dtype)stash : ONX_DTYPE_F32;
    st->simplified = strcmp(call->op->name, "SimplifiedLayerNormalization") == 0;
    st->centred = !st->simplified && strcmp(call->op->name, "RMSNormalization") != 0;
    st->spatial = since >= 9 || onx_call_int(call, "spatial") != 0;
    st->training = batch && since >= 14 && onx_call_int(call, "training_mode") != 0;
    /* Before opset 14, training is what more than one output asks for. */
    for (size_t i = 1; batch && since < 14 && i < call->n_out; i++)
        if (call->out[i]) st->training = true;
    return ONX_OK;
}

static bool broadcasts(const onx_operand *in, const onx_operand *x) {
    if (in->rank > x->rank) return false;
    for (size_t d = 0; d < in->rank; d++)
        if (in->dims[d] != 1 && in->dims[d] != x->dims[x->rank - in->rank + d]) return false;
    return true;
}

/* Has it exactly the sizes of x from `axis` on? */
static bool is_row(const onx_operand *in, const onx_operand *x, size_t axis) {
    for (size_t d = 0; d < in->rank; d++) {
        size_t at = x->rank - in->rank + d;
        if (in->dims[d] != (at < axis ? 1 : x->dims[at])) return false;
    }
    for (size_t at = axis; at + in->rank < x->rank; at++)
        if (x->dims[at] != 1) return false;
    return true;
}

onx_status onx_norm_bind_layer(onx_call *call) {
    const onx_norm_state *st = call->state;
    const onx_operand *x = call->in[0];
    onx_norm_plan *plan = call->plan;
    int64_t dims[ONX_RANK_MAX], n = 1;
    size_t axis;
    if (!onx_axis(st->axis, x->rank, &axis))
        return onx_call_fail(call, ONX_INVALID, "axis %lld is not a dimension of rank %u",
                             (long long)st->axis, (unsigned)x->rank);
    plan->spread = false;
    for (size_t i = 1; i < call->n_in && i < 3; i++) {
        if (!call->in[i]) continue;
        if (!broadcasts(call->in[i], x))
            return onx_call_fail(call, ONX_INVALID,
                                 "input %zu does not broadcast to the shape of input 0", i);
        plan->spread |= !is_row(call->in[i], x, axis);
    }
    for (size_t d = 0; d < x->rank; d++) dims[d] = d < axis ? x->dims[d] : 1;
    for (size_t d = axis; d < x->rank && x->count; d++) n *= x->dims[d];
    const onx_operand *typed = st->centred ? x : call->in[1]; /* RMSNormalization: as the scale */
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)typed->dtype, x->rank, x->dims));
    onx_operand mean = {0}, *saved = &mean;
    for (size_t i = 1; i < call->n_out && i < 3; i++) {
        ONX_TRY(onx_call_shape(call, i, st->stash, x->rank, dims));
        if (call->out[i]) saved = call->out[i];
    }
    plan->n = x->count ? n : 0;
    plan->rows = x->count ? x->count / n : saved->count;
    plan->divisor = 1;
    plan->modulus = n;
    return ONX_OK;
}

/* Scale and bias (inputs 1 and 2, or more) must be one number for each of `n`. */
static onx_status check_params(const onx_call *call, size_t last, int64_t n) {
    for (size_t i = 1; i <= last; i++)
        if (call->in[i]->count != n)
            return onx_call_fail(call, ONX_INVALID, "input %zu must have %lld elements, not %lld",
                                 i, (long long)n, (long long)call->in[i]->count);
    return ONX_OK;
}

static onx_status check_channels(const onx_call *call) {
    if (call->in[0]->rank >= 2) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "input 0 has no channels: its rank is below 2");
}

onx_status onx_norm_bind_instance(onx_call *call) {
    const onx_operand *x = call->in[0];
    onx_norm_plan *plan = call->plan;
    ONX_TRY(check_channels(call));
    ONX_TRY(check_params(call, 2, x->dims[1]));
    if (x->count) {
        plan->rows = x->dims[0] * x->dims[1];
        plan->n = plan->divisor = x->count / plan->rows;
        plan->modulus = x->dims[1];
    }
    return onx_bind_same(call);
}

onx_status onx_norm_bind_group(onx_call *call) {
    const onx_norm_state *st = call->state;
    const onx_operand *x = call->in[0];
    onx_norm_plan *plan = call->plan;
    ONX_TRY(check_channels(call));
    int64_t channels = x->dims[1], groups = st->groups;
    if (groups <= 0 || channels % groups != 0)
        return onx_call_fail(call, ONX_INVALID, "%lld channels are not divided by %lld groups",
                             (long long)channels, (long long)groups);
    bool by_group = call->op->since < 21;
    ONX_TRY(check_params(call, 2, by_group ? groups : channels));
    if (x->count) {
        plan->rows = x->dims[0] * groups;
        plan->n = x->count / plan->rows;
        plan->divisor = by_group ? plan->n : x->count / x->dims[0] / channels;
        plan->modulus = by_group ? groups : channels;
    }
    return onx_bind_same(call);
}

onx_status onx_norm_bind_batch(onx_call *call) {
    const onx_norm_state *st = call->state;
    const onx_operand *x = call->in[0];
    onx_norm_plan *plan = call->plan;
    int64_t channels = x->rank >= 2 ? x->dims[1] : 1, params = channels;
    for (size_t d = 2; d < x->rank && !st->spatial; d++)
        if (!onx_mul_i64(params, x->dims[d], &params)) params = -1;
    ONX_TRY(check_params(call, 4, params));
    if (st->training && !st->spatial)
        return onx_call_fail(call, ONX_UNSUPPORTED, "training with spatial=0 is not supported");
    if (x->count) {
        int64_t batch = x->rank ? x->dims[0] : 1;
        plan->divisor = x->count / batch / params;
        plan->modulus = params;
        plan->n = x->count / batch / channels;
        plan->rows = batch * channels;
    }
    size_t bytes = 0;
    if (st->training && !onx_mul_size((size_t)params, 2 * sizeof(double), &bytes))
        return onx_fail_nomem(call->diag);
    call->scratch_bytes = bytes;
    for (size_t i = 1; i < call->n_out; i++)
        ONX_TRY(onx_call_shape(call, i, (onx_dtype)call->in[3]->dtype, 1, &params));
    return onx_bind_same(call);
}
