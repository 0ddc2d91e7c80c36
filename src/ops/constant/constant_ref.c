/* constant_ref.c: tensors from nothing, or from a shape: Constant, ConstantOfShape, Range, EyeLike:
 * kernels. */
#include "ops/constant/constant.h"
#include "ops/view/move_ref.h"

#include <math.h>

/* ── Constant ────────────────────────────────────────────────────────────────────────────────── */

typedef struct constant {
    onx_dtype dtype;
    size_t rank;
    const int64_t *dims;
    const void *data; /* bytes, or strings */
    size_t count;     /* of strings */
} constant;

static onx_status read_strings(onx_call *call, const onx_tensor *tensor, constant *state) {
    size_t n = tensor->string_data.n;
    onx_str *strings = onx_arena_array(call->arena, n + 1, sizeof *strings);
    if (!strings) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < n; i++)
        if (!onx_arena_str(call->arena, tensor->string_data.v[i], &strings[i]))
            return onx_fail_nomem(call->diag);
    state->data = strings;
    state->count = n;
    return ONX_OK;
}

static onx_status read_tensor(onx_call *call, const onx_tensor *tensor, constant *state) {
    size_t bytes;
    ONX_TRY(onx_tensor_check(tensor, call->diag));
    state->dtype = onx_tensor_dtype(tensor);
    state->rank = onx_tensor_rank(tensor);
    int64_t *dims = onx_arena_array(call->arena, state->rank + 1, sizeof *dims);
    if (!dims) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < state->rank; i++) dims[i] = onx_tensor_dim(tensor, i);
    state->dims = dims;
    if (state->dtype == ONX_DTYPE_STRING) return read_strings(call, tensor, state);
    ONX_TRY(onx_tensor_bytes(tensor, &bytes, call->diag));
    void *data = onx_arena_alloc(call->arena, bytes + 1);
    if (!data) return onx_fail_nomem(call->diag);
    state->data = data;
    return onx_tensor_read(tensor, data, bytes, call->diag);
}

static onx_status constant_init(onx_call *call) {
    constant *state = onx_call_state(call, sizeof *state);
    const onx_tensor *tensor;
    if (!state) return onx_fail_nomem(call->diag);
    ONX_TRY(onx_constant_tensor(call->node, call->arena, &tensor, call->diag));
    return read_tensor(call, tensor, state);
}

static onx_status constant_bind(onx_call *call) {
    const constant *state = call->state;
    ONX_TRY(onx_call_shape(call, 0, state->dtype, state->rank, state->dims));
    bool wanted = call->n_out && call->out[0] && state->dtype == ONX_DTYPE_STRING;
    if (wanted && call->out[0]->count != (int64_t)state->count)
        return onx_call_fail(call, ONX_INVALID, "there are %zu strings for %lld elements",
                             state->count, (long long)call->out[0]->count);
    return ONX_OK;
}

static onx_status constant_run(onx_call *call) {
    const constant *state = call->state;
    onx_operand *out = call->out[0];
    if (state->dtype == ONX_DTYPE_STRING) return onx_move_end(call, 0, state->data);
    if (out->bytes) onx_mem_copy(out->data, state->data, out->bytes);
    return ONX_OK;
}

/* ── ConstantOfShape ─────────────────────────────────────────────────────────────────────────── */

typedef struct filler {
    onx_dtype dtype;
    char value[16]; /* one element, as it is moved */
} filler;

static onx_status filler_init(onx_call *call) {
    filler *state = onx_call_state(call, sizeof *state);
    const onx_attr *attr = onx_node_attr(call->node, "value");
    uint64_t count;
    size_t bytes;
    if (!state) return onx_fail_nomem(call->diag);
    state->dtype = ONX_DTYPE_F32;
    if (!attr || !attr->t) return ONX_OK;
    ONX_TRY(onx_tensor_count(attr->t, &count, call->diag));
    ONX_TRY(onx_tensor_bytes(attr->t, &bytes, call->diag));
    if (count != 1) return onx_call_fail(call, ONX_INVALID, "'value' is not one element");
    state->dtype = onx_tensor_dtype(attr->t);
    /* A packed element lies in the low bits of its byte, as it does when unpacked. */
    return onx_tensor_read(attr->t, state->value, bytes, call->diag);
}

static onx_status filler_bind(onx_call *call) {
    const filler *state = call->state;
    onx_ints shape;
    ONX_TRY(onx_ints_input(call, 0, &shape));
    ONX_TRY(onx_call_shape(call, 0, state->dtype, shape.n, shape.v));
    return onx_move_bind(call);
}

static onx_status filler_run(onx_call *call) {
    const filler *state = call->state;
    onx_mover mover = onx_move_begin(call);
    char *to = onx_move_out(&mover, 0);
    onx_copy fill = onx_copy_begin(onx_move_size(state->dtype));
    onx_copy_dim(&fill, call->out[0]->count, 0, 1);
    ONX_TRY(onx_copy_run(call, &fill, state->value, to));
    return onx_move_end(call, 0, to);
}

/* ── Range ───────────────────────────────────────────────────────────────────────────────────── */

static double real_of(const onx_operand *operand) {
    double value = 0;
    onx_operand_get(operand, 0, 1, &value);
    return value;
}

static int64_t whole_of(const onx_operand *operand) {
    int64_t value = 0;
    (void)onx_dtype_convert((onx_dtype)operand->dtype, operand->data, ONX_DTYPE_I64, &value, 1,
                            true);
    return value;
}

static bool is_real(const onx_operand *operand) {
    return ONX_T_FLOATS >> operand->dtype & 1;
}

/* How many steps from start to limit; -1: more than can be counted. */
static int64_t range_count(const onx_call *call) {
    if (is_real(call->in[0])) {
        double n = ceil((real_of(call->in[1]) - real_of(call->in[0])) / real_of(call->in[2]));
        return n > 0 ? n < 9e15 ? (int64_t)n : -1 : n == n ? 0 : -1;
    }
    int64_t start = whole_of(call->in[0]), limit = whole_of(call->in[1]);
    int64_t delta = whole_of(call->in[2]);
    uint64_t pace = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta, n;
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    n = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    n = (n - 1) / pace + 1;
    return n > INT64_MAX ? -1 : (int64_t)n;
}

static onx_status range_bind(onx_call *call) {
    for (size_t i = 0; i < 3; i++)
        if (call->in[i]->count != 1 || !call->in[i]->data ||
            call->in[i]->dtype != call->in[0]->dtype)
            return onx_call_fail(call, ONX_INVALID, "input %zu is not one number of their type", i);
    bool still = is_real(call->in[0]) ? real_of(call->in[2]) == 0 : whole_of(call->in[2]) == 0;
    if (still) return onx_call_fail(call, ONX_INVALID, "delta is 0");
    int64_t n = range_count(call);
    if (n < 0) return onx_call_fail(call, ONX_INVALID, "the range has no number of elements");
    return onx_call_shape(call, 0, (onx_dtype)call->in[0]->dtype, 1, &n);
}

/* Element i is start + i * delta, computed anew for each, so that floats do not drift. */
static onx_status range_run(onx_call *call) {
    enum { CHUNK = 1024 };
    onx_operand *out = call->out[0];
    onx_dtype dtype = (onx_dtype)out->dtype;
    size_t size = onx_dtype_bits(dtype) / 8;
    bool is_float = is_real(call->in[0]);
    double reals[CHUNK], start = real_of(call->in[0]), delta = real_of(call->in[2]);
    uint64_t wholes[CHUNK], first = (uint64_t)whole_of(call->in[0]);
    uint64_t step = (uint64_t)whole_of(call->in[2]);
    for (int64_t at = 0; at < out->count; at += CHUNK) {
        int64_t n = out->count - at < CHUNK ? out->count - at : CHUNK;
        for (int64_t i = 0; i < n; i++) {
            reals[i] = start + (double)(at + i) * delta;
            wholes[i] = first + (uint64_t)(at + i) * step;
        }
        ONX_TRY(onx_call_check(call));
        ONX_TRY(onx_dtype_convert(is_float ? ONX_DTYPE_F64 : ONX_DTYPE_I64,
                                  is_float ? (const void *)reals : wholes, dtype,
                                  (char *)out->data + (size_t)at * size, (uint64_t)n, true));
    }
    return ONX_OK;
}

/* ── EyeLike ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct eye {
    int64_t dtype, k;
} eye;

static onx_status eye_init(onx_call *call) {
    eye *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (eye){onx_call_int(call, "dtype"), onx_call_int(call, "k")};
    bool known = state->dtype >= 0 && state->dtype < ONX_DTYPE_COUNT;
    bool dense = known && (!state->dtype || onx_dtype_bits((onx_dtype)state->dtype) >= 8);
    return dense ? ONX_OK
                 : onx_call_fail(call, ONX_UNSUPPORTED, "EyeLike of element type %lld",
                                 (long long)state->dtype);
}

static onx_status eye_bind(onx_call *call) {
    const eye *state = call->state;
    const onx_operand *in = call->in[0];
    onx_dtype dtype = state->dtype ? (onx_dtype)state->dtype : (onx_dtype)in->dtype;
    if (in->rank != 2)
        return onx_call_fail(call, ONX_INVALID, "the input has rank %u, not 2", (unsigned)in->rank);
    return onx_call_shape(call, 0, dtype, 2, in->dims);
}

static onx_status eye_run(onx_call *call) {
    const eye *state = call->state;
    onx_operand *out = call->out[0];
    size_t size = onx_dtype_bits((onx_dtype)out->dtype) / 8;
    char one[16] = {0};
    float f = 1.0f;
    if (!out->count) return ONX_OK;
    ONX_TRY(onx_dtype_convert(ONX_DTYPE_F32, &f, (onx_dtype)out->dtype, one, 1, true));
    memset(out->data, 0, out->bytes);
    int64_t rows = out->dims[0], cols = out->dims[1];
    if (state->k <= -rows || state->k >= cols) return ONX_OK;
    for (int64_t r = state->k < 0 ? -state->k : 0; r < rows && r + state->k < cols; r++)
        memcpy((char *)out->data + (size_t)(r * cols + r + state->k) * size, one, size);
    return ONX_OK;
}

#define RANGE (ONX_T_FLOATS | ONX_T(I16) | ONX_T_INDEX)

extern onx_kernel_rows onx_kernels_constant_ref;
onx_kernel_rows onx_kernels_constant_ref = {
    {.op = "Constant",
     .first = 1,
     .name = "constant",
     .flags = ONX_KERNEL_OBJECTS,
     .init = constant_init,
     .bind = constant_bind,
     .run = constant_run},
    {.op = "ConstantOfShape",
     .first = 9,
     .types = {ONX_T(I64)},
     .name = "constant_of_shape",
     .host = 1,
     .init = filler_init,
     .bind = filler_bind,
     .run = filler_run},
    {.op = "Range",
     .first = 11,
     .types = {RANGE, RANGE, RANGE},
     .name = "range",
     .host = 1 | 2 | 4,
     .bind = range_bind,
     .run = range_run},
    {.op = "EyeLike",
     .first = 9,
     .types = {ONX_T_NUMBERS | ONX_T(BOOL)},
     .name = "eye_like",
     .flags = ONX_KERNEL_SHAPE,
     .init = eye_init,
     .bind = eye_bind,
     .run = eye_run},
    {0},
};
