/* operand.c: sizes and elements of operands, and the shapes that rows have in common. */
#include "rt/kernel.h"

bool onx_operand_shape(onx_operand *operand, onx_dtype dtype, size_t rank, const int64_t *dims) {
    int64_t count = 1;
    size_t bytes = 0;
    bool empty = false;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        empty |= dims[i] == 0;
    }
    for (size_t i = 0; i < rank && !empty; i++)
        if (!onx_mul_i64(count, dims[i], &count)) return false;
    if (empty) count = 0;
    if (dtype != ONX_DTYPE_STRING && !onx_dtype_bytes(dtype, (uint64_t)count, &bytes)) return false;
    operand->kind = ONX_TYPE_TENSOR;
    operand->dtype = (uint8_t)dtype;
    operand->rank = (uint8_t)rank;
    operand->count = count;
    operand->bytes = bytes;
    operand->layout = ONX_LAYOUT_PLAIN;
    if (rank) memmove(operand->dims, dims, rank * sizeof *dims);
    return true;
}

onx_status onx_call_shape(onx_call *call, size_t index, onx_dtype dtype, size_t rank,
                          const int64_t *dims) {
    onx_operand unwanted = {0};
    onx_operand *out = index < call->n_out && call->out[index] ? call->out[index] : &unwanted;
    if (rank > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_UNSUPPORTED,
                             "output %zu has %zu dimensions; %d are possible", index, rank,
                             ONX_RANK_MAX);
    if (onx_operand_shape(out, dtype, rank, dims)) return ONX_OK;
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0)
            return onx_call_fail(call, ONX_INVALID, "dimension %zu of output %zu would be %lld", i,
                                 index, (long long)dims[i]);
    return onx_call_fail(call, ONX_LIMIT, "output %zu is too large for this machine", index);
}

bool onx_operand_layout(onx_operand *operand, unsigned layout) {
    int64_t block = layout, channels = operand->rank > 1 ? operand->dims[1] : 0, count;
    operand->layout = (uint8_t)layout;
    if (layout == ONX_LAYOUT_PLAIN || !operand->count) return true;
    if (!channels || !onx_add_i64(channels, block - 1, &count)) return false;
    return onx_mul_i64(operand->count / channels, count / block * block, &count) &&
           onx_dtype_bytes((onx_dtype)operand->dtype, (uint64_t)count, &operand->bytes);
}

onx_status onx_call_layout(onx_call *call, size_t index, unsigned layout) {
    onx_operand *out = index < call->n_out ? call->out[index] : NULL;
    if (!out || onx_operand_layout(out, layout)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "output %zu is too large for this machine", index);
}

static _Alignas(ONX_ALIGN) const char nothing[ONX_ALIGN];

static void point(onx_operand *operand) {
    if (operand && !operand->data && !operand->bytes) operand->data = (void *)(uintptr_t)nothing;
}
static void unpoint(onx_operand *operand) {
    if (operand && operand->data == nothing) operand->data = NULL;
}

void onx_call_point(onx_call *call) {
    for (size_t i = 0; i < call->n_in; i++) point(call->in[i]);
    for (size_t i = 0; i < call->n_out; i++) point(call->out[i]);
}
void onx_call_unpoint(onx_call *call) {
    for (size_t i = 0; i < call->n_in; i++) unpoint(call->in[i]);
    for (size_t i = 0; i < call->n_out; i++) unpoint(call->out[i]);
}

onx_status onx_bind_same(onx_call *call) {
    const onx_operand *in = call->in[0];
    unsigned layout = in->layout;
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)in->dtype, in->rank, in->dims));
    return onx_call_layout(call, 0, layout);
}

/* Inputs in a blocked layout are of one shape: the lowering sees to that. */
onx_status onx_bind_broadcast(onx_call *call, onx_dtype dtype) {
    size_t rank = 0;
    int64_t dims[ONX_RANK_MAX];
    unsigned layout = ONX_LAYOUT_PLAIN;
    for (size_t i = 0; i < call->n_in; i++)
        if (call->in[i] && call->in[i]->rank > rank) rank = call->in[i]->rank;
    for (size_t i = 0; i < rank; i++) dims[i] = 1;
    for (size_t i = 0; i < call->n_in; i++) {
        const onx_operand *in = call->in[i];
        if (!in) continue;
        if (in->layout) layout = in->layout;
        for (size_t d = 0; d < in->rank; d++) {
            int64_t *out = &dims[rank - in->rank + d];
            if (in->dims[d] == 1 || in->dims[d] == *out) continue;
            if (*out != 1)
                return onx_call_fail(call, ONX_INVALID,
                                     "the shapes do not broadcast: %lld and %lld differ, and "
                                     "neither is 1",
                                     (long long)*out, (long long)in->dims[d]);
            *out = in->dims[d];
        }
    }
    ONX_TRY(onx_call_shape(call, 0, dtype, rank, dims));
    return onx_call_layout(call, 0, layout);
}

void onx_operand_get(const onx_operand *operand, size_t at, size_t n, double *to) {
    (void)onx_dtype_convert((onx_dtype)operand->dtype, onx_operand_at(operand, at), ONX_DTYPE_F64,
                            to, n, false);
}

void onx_operand_put(const onx_operand *operand, size_t at, size_t n, const double *from) {
    (void)onx_dtype_convert(ONX_DTYPE_F64, from, (onx_dtype)operand->dtype,
                            onx_operand_at(operand, at), n, false);
}
