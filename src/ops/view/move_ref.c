/* move_ref.c: elements of any type as bytes to be moved; short lists of integers. */
#include "ops/view/move_ref.h"
#include "ir/dtype.h"
#include "rt/object.h"

static bool is_packed(onx_dtype dtype) {
    return onx_dtype_bits(dtype) % 8 != 0;
}

size_t onx_move_size(onx_dtype dtype) {
    if (dtype == ONX_DTYPE_STRING) return sizeof(onx_str);
    return is_packed(dtype) ? 1 : onx_dtype_bits(dtype) / 8;
}

/* Scratch for an operand: packed ones need it both ways, strings only as outputs. */
static bool scratch_of(const onx_operand *operand, bool output, size_t *bytes) {
    onx_dtype dtype = (onx_dtype)operand->dtype;
    bool needed = is_packed(dtype) || (output && dtype == ONX_DTYPE_STRING);
    *bytes = 0;
    if (!needed) return true;
    return onx_mul_size((size_t)operand->count, onx_move_size(dtype), bytes) &&
           onx_add_size(*bytes, 15, bytes) && (*bytes &= ~(size_t)15, true);
}

onx_status onx_move_bind(onx_call *call) {
    size_t total = 0, bytes;
    for (size_t i = 0; i < call->n_in + call->n_out; i++) {
        bool output = i >= call->n_in;
        const onx_operand *operand = output ? call->out[i - call->n_in] : call->in[i];
        if (!operand) continue;
        if (operand->kind != ONX_TYPE_TENSOR)
            return onx_call_fail(call, ONX_INVALID, "%s %zu is not a tensor",
                                 output ? "output" : "input", output ? i - call->n_in : i);
        if (!scratch_of(operand, output, &bytes) || !onx_add_size(total, bytes, &total))
            return onx_call_fail(call, ONX_LIMIT, "the tensors are too large for this machine");
    }
    call->scratch_bytes = total;
    return ONX_OK;
}

onx_mover onx_move_begin(onx_call *call) {
    return (onx_mover){call, call->scratch};
}

/* `bytes` of scratch for an operand that needs them. */
static char *take(onx_mover *mover, const onx_operand *operand, bool output) {
    size_t bytes = 0;
    char *area = mover->next;
    if (scratch_of(operand, output, &bytes)) mover->next += bytes;
    return area;
}

const char *onx_move_in(onx_mover *mover, size_t index) {
    const onx_operand *in = index < mover->call->n_in ? mover->call->in[index] : NULL;
    if (!in || !in->count) return NULL;
    if (in->dtype == ONX_DTYPE_STRING) return (const char *)in->object->strings;
    if (!is_packed((onx_dtype)in->dtype)) return in->data;
    char *area = take(mover, in, false);
    onx_dtype_unpack(onx_dtype_bits((onx_dtype)in->dtype), in->data, (uint8_t *)area,
                     (size_t)in->count);
    return area;
}

char *onx_move_out(onx_mover *mover, size_t index) {
    const onx_operand *out = index < mover->call->n_out ? mover->call->out[index] : NULL;
    if (!out || !out->count) return NULL;
    bool plain = out->dtype != ONX_DTYPE_STRING && !is_packed((onx_dtype)out->dtype);
    return plain ? out->data : take(mover, out, true);
}

/* A string tensor with copies of the strings. */
static onx_status give_strings(onx_call *call, size_t index, const char *elements) {
    const onx_operand *out = call->out[index];
    onx_object *object = NULL;
    ONX_TRY(
        onx_object_tensor(call->ctx, ONX_DTYPE_STRING, out->rank, out->dims, &object, call->diag));
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < out->count && !status; i++) {
        onx_str text;
        memcpy(&text, elements + (size_t)i * sizeof text, sizeof text);
        status = onx_object_set_string(object, i, text, call->diag);
    }
    if (!status) return onx_call_object(call, index, object);
    onx_object_release(object);
    return status;
}

onx_status onx_move_end(onx_call *call, size_t index, const char *elements) {
    const onx_operand *out = index < call->n_out ? call->out[index] : NULL;
    if (!out) return ONX_OK;
    if (out->dtype == ONX_DTYPE_STRING) return give_strings(call, index, elements);
    if (out->count && is_packed((onx_dtype)out->dtype))
        onx_dtype_pack(onx_dtype_bits((onx_dtype)out->dtype), (const uint8_t *)elements, out->data,
                       (size_t)out->count);
    return ONX_OK;
}

void onx_strides(const onx_operand *operand, int64_t strides[ONX_RANK_MAX]) {
    int64_t stride = operand->count ? 1 : 0; /* of an empty tensor, none is needed */
    for (size_t i = operand->rank; i-- > 0;) {
        strides[i] = stride;
        stride *= operand->count ? operand->dims[i] : 0;
    }
}

int64_t onx_inner_count(const onx_operand *operand, size_t at) {
    int64_t n = 1;
    for (size_t i = at; i < operand->rank && operand->count; i++) n *= operand->dims[i];
    return operand->count ? n : 0;
}

/* ── Lists of integers ───────────────────────────────────────────────────────────────────────── */

onx_status onx_ints_attr(const onx_call *call, const char *name, onx_ints *out) {
    size_t n = 0;
    const int64_t *values = onx_op_ints(call->node, name, &n);
    *out = (onx_ints){.given = values != NULL, .n = n};
    if (n > ONX_COUNT(out->v))
        return onx_call_fail(call, ONX_UNSUPPORTED, "'%s' has %zu entries", name, n);
    for (size_t i = 0; i < n; i++) out->v[i] = values[i];
    return ONX_OK;
}

bool onx_ints_at(const onx_operand *in, int64_t at, int64_t *out) {
    double x;
    if (ONX_T_INDEX >> in->dtype & 1) {
        *out = onx_operand_int(in, at);
        return true;
    }
    onx_dtype dtype = (onx_dtype)in->dtype;
    const char *data = (const char *)in->data + (size_t)at * (onx_dtype_bits(dtype) / 8);
    if (onx_dtype_convert(dtype, data, ONX_DTYPE_F64, &x, 1, false)) return false;
    *out = x > -0x1p53 && x < 0x1p53 ? (int64_t)x : 0;
    return (double)*out == x;
}

onx_status onx_ints_input(const onx_call *call, size_t index, onx_ints *out) {
    const onx_operand *in = index < call->n_in ? call->in[index] : NULL;
    *out = (onx_ints){.given = in != NULL};
    if (!in) return ONX_OK;
    bool numbers = (ONX_T_INDEX | ONX_T_FLOATS) >> in->dtype & 1;
    if (in->kind != ONX_TYPE_TENSOR || !numbers || in->rank > 1 || (in->count && !in->data))
        return onx_call_fail(call, ONX_INVALID, "input %zu is not a list of integers", index);
    if (in->count > (int64_t)ONX_COUNT(out->v))
        return onx_call_fail(call, ONX_UNSUPPORTED, "input %zu has %lld entries", index,
                             (long long)in->count);
    out->n = (size_t)in->count;
    for (size_t i = 0; i < out->n; i++)
        if (!onx_ints_at(in, (int64_t)i, &out->v[i]))
            return onx_call_fail(call, ONX_INVALID, "entry %zu of input %zu is not an integer", i,
                                 index);
    return ONX_OK;
}

onx_status onx_ints_init(onx_call *call, const char *name) {
    onx_ints *state = onx_call_state(call, sizeof *state);
    return state ? onx_ints_attr(call, name, state) : onx_fail_nomem(call->diag);
}

onx_status onx_ints_of(const onx_call *call, size_t index, onx_ints *out) {
    ONX_TRY(onx_ints_input(call, index, out));
    if (!out->given && call->state) *out = *(const onx_ints *)call->state;
    return ONX_OK;
}

onx_status onx_axis_of(const onx_call *call, int64_t axis, size_t rank, size_t *out) {
    if (onx_axis(axis, rank, out)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "axis %lld is out of range for rank %zu",
                         (long long)axis, rank);
}
